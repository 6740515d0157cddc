"""What all estimators of models have in common."""

from __future__ import annotations

import json
import os
from typing import Any, Callable, Iterable

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._data import bags, jobs_of, plain, seed_of, validated
from ._text import TextVectorizer


class FileModel(BaseEstimator):
    """What all models have in common: options, a model and its file; not an estimator by itself."""

    model_: _core.Model
    #: The text `kind` of its files.
    _file_kind: str
    #: Parameters and the names that the library has for them.
    _names: dict[str, str] = {"max_iter": "iterations", "tol": "tolerance"}

    def _options(self) -> dict[str, Any]:
        """The options of the library, but for the seed."""
        return {option: getattr(self, name) for name, option in self._names.items()}

    def _seeded(self, options: dict[str, Any], seed: int) -> dict[str, Any]:
        return {**options, "seed": seed}

    def _warm_start(self) -> bool:
        return bool(getattr(self, "warm_start", False)) and hasattr(self, "model_")

    def _progress(self) -> Callable[..., None] | None:
        return _printer(type(self).__name__) if self.verbose else None

    def _after(self) -> None:
        """Attributes that are read off the model."""
        report = json.loads(self.model_.fit)
        self.n_iter_ = int(report.get("iterations", 0))
        self.bound_per_token_ = report.get("bound_per_token")

    def to_bytes(self) -> bytes:
        """The bytes of the model's file."""
        check_is_fitted(self, "model_")
        return self.model_.to_bytes()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model's file (safetensors), which the program and the Rust libraries read, too."""
        check_is_fitted(self, "model_")
        self.model_.save(os.fspath(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Any:
        """A fitted estimator with the model of a file."""
        return cls._of(_core.Model.load(os.fspath(path)))

    @classmethod
    def from_bytes(cls, data: bytes) -> Any:
        """A fitted estimator with the model of a file's bytes."""
        return cls._of(_core.Model.from_bytes(data))

    @classmethod
    def _of(cls, model: _core.Model) -> Any:
        if model.kind != cls._file_kind:
            raise ValueError(f"the file is of a {model.kind}, not of a {cls._file_kind}")
        estimator = cls(**cls._parameters(model))
        estimator.model_ = model
        estimator._of_file(model)
        estimator._after()
        return estimator

    @classmethod
    def _parameters(cls, model: _core.Model) -> dict[str, Any]:
        """Parameters that the file says."""
        report = json.loads(model.fit)
        known = {"tol": report.get("tolerance"), "random_state": report.get("seed"), "n_init": report.get("restarts")}
        names = cls._get_param_names()
        return {name: value for name, value in known.items() if value is not None and name in names}

    def _of_file(self, model: _core.Model) -> None:
        """Attributes that a fit reads off its data."""


class BagModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, FileModel):
    """A model of rows of counts."""

    _kind: str

    def _double(self) -> bool:
        return True

    def fit(self, X: Any, y: Any = None) -> Any:
        """Fits the model to the rows of X, a matrix of counts (dense, sparse or a data frame); y is not used."""
        return self._fit(X)

    def _fit(self, X: Any) -> Any:
        warm = self._warm_start()
        X = validated(self, X, reset=not warm)
        options = json.dumps(
            self._seeded(self._options(), seed_of(self.random_state)), default=plain, allow_nan=False
        )
        data = bags(X, double=self._double())
        self._name(data, X.shape[1])
        start = self.model_ if warm else None
        self.model_ = _core.fit(self._kind, options, data, jobs_of(self.n_jobs), start, self._progress())
        self._after()
        return self

    def _name(self, data: _core.Data, columns: int) -> None:
        """Columns of a frame are the words of the file."""
        names = [str(name) for name in getattr(self, "feature_names_in_", ())]
        if len(set(names)) == columns:
            data.set_vocabulary("untitled", names)

    def _of_file(self, model: _core.Model) -> None:
        self.n_features_in_ = len(model.vocabulary)

    def _bags(self, X: Any) -> _core.Data:
        check_is_fitted(self, "model_")
        return bags(validated(self, X, reset=False), double=self.model_.double)

    def _features(self, X: Any, kind: str) -> np.ndarray:
        data = self._bags(X)
        return self.model_.features(data, kind, jobs_of(self.n_jobs))

    def transform(self, X: Any) -> np.ndarray:
        """The posterior of every row over the components of the model: (rows, components)."""
        return self._features(X, "posterior")

    @property
    def _n_features_out(self) -> int:
        return self.model_.components

    def top_words(self, component: int, count: int = 10) -> list[tuple[str, float]]:
        """The most probable words of a component (of a grid, of the window at a cell) with their probabilities."""
        check_is_fitted(self, "model_")
        return self.model_.top_words(component, count)

    def describe(
        self,
        X: Any = None,
        *,
        title: str | None = None,
        vectorizer: TextVectorizer | None = None,
        labels: Iterable[Any] | None = None,
    ) -> Any:
        """Writes into the model what its file says besides tables: a title, the words of a vectorizer and how it counts them,
        and the labels of the documents X that it was fitted to.

        Returns the estimator itself.
        """
        check_is_fitted(self, "model_")
        if labels is not None and X is None:
            raise ValueError("labels are those of documents: X is needed, too")
        if X is None:
            X = np.zeros((0, self.n_features_in_))
            data = bags(X, double=self.model_.double)
        else:
            data = self._bags(X)
        words = self.model_.vocabulary
        if vectorizer is not None:
            words = vectorizer.get_feature_names_out().tolist()
        data.set_vocabulary(self.model_.title if title is None else title, words)
        if labels is not None:
            data.set_labels([None if label is None else str(label) for label in labels])
        options = "{}" if vectorizer is None else vectorizer._words()
        self.model_ = self.model_.described(data, options, jobs_of(self.n_jobs))
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags


class CountModel(BagModel):
    """A model of rows of counts with a likelihood, or a bound on it."""

    def score_samples(self, X: Any) -> np.ndarray:
        """The log-likelihood of every row in nats, or the bound on it, without the multinomial coefficient: (rows,)."""
        data = self._bags(X)
        return self.model_.log_likelihoods(data, jobs_of(self.n_jobs))

    def score(self, X: Any, y: Any = None) -> float:
        """The mean of `score_samples`."""
        return float(np.mean(self.score_samples(X)))


def precision_is_double(precision: Any) -> bool:
    """Whether numbers of a model are in double precision."""
    if precision not in ("f32", "f64"):
        raise ValueError(f"precision is {precision!r}, and should be 'f32' or 'f64'")
    return bool(precision == "f64")


def _printer(name: str) -> Callable[..., None]:
    def show(restart: int, stage: int, iteration: int, bound: float | None, share: float) -> None:
        where = f"start {restart + 1}, stage {stage + 1}, iteration {iteration}"
        found = "" if bound is None else f", bound per token {bound:.4f}"
        print(f"[{name}] {where}{found}, {share:.0%}", flush=True)

    return show
