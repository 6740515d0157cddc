"""What all estimators of models have in common."""

from __future__ import annotations

import json
import os
from typing import Any, Iterable

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._data import bags, jobs_of, plain, seed_of, validated
from ._progress import LOG, shown
from ._text import TextVectorizer


class FileModel(BaseEstimator):
    """What all models have in common: options, a model and its file; not an estimator by itself."""

    model_: _core.Model
    #: The text `kind` of its files.
    _file_kind: str
    #: Parameters and the names that the library has for them.
    _names: dict[str, str] = {"max_iter": "iterations", "tol": "tolerance"}

    def _options(self, going_on: bool = False) -> dict[str, Any]:
        """The options of the library, but for the seed; `going_on` from a model that is there."""
        return {option: getattr(self, name) for name, option in self._names.items()}

    def _seeded(self, options: dict[str, Any], seed: int) -> dict[str, Any]:
        return {**options, "seed": seed}

    def _warm_start(self) -> bool:
        return bool(getattr(self, "warm_start", False)) and hasattr(self, "model_")

    def _request(self, going_on: bool) -> str:
        options = self._seeded(self._options(going_on), seed_of(self.random_state))
        return json.dumps(options, default=plain, allow_nan=False)

    def _ended(self) -> None:
        """What is said at the end of a fit."""
        self._after()
        report = json.loads(self.model_.fit)
        said = (f"{name} {report[name]}" for name in ("iterations", "end", "bound_per_token") if name in report)
        LOG.info("%s: %s", type(self).__name__, ", ".join(said))

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
        return self._fit_rows(X, self.model_ if warm else None)

    def _fit_rows(self, X: Any, start: _core.Model | None) -> Any:
        """Fits the model to a matrix that was validated."""
        options = self._request(start is not None)
        data = bags(X, double=self._double())
        self._name(data, X.shape[1])
        with shown(self) as progress:
            self.model_ = _core.fit(self._kind, options, data, jobs_of(self.n_jobs), start, progress)
        self.__dict__.pop("_state", None)  # of partial_fit
        self._ended()
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
        options = "{}"
        if vectorizer is not None:
            data.set_text(vectorizer._text)
            options = vectorizer._words(vectorizer.language)
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

    def perplexity(self, X: Any) -> float:
        """The exponential of minus the log-likelihood per token, or of the bound on it."""
        check_is_fitted(self, "model_")
        scores, tokens = self.score_samples(X), float(validated(self, X, reset=False).sum())
        if not tokens > 0:
            raise ValueError("there are no counts, so that there is no perplexity")
        return float(np.exp(-np.sum(scores) / tokens))


class StepwiseModel(CountModel):
    """A model that can see its rows in parts."""

    #: Sums over the rows that `partial_fit` has seen, and what they were: it pickles.
    _state: dict[str, Any]

    def partial_fit(self, X: Any, y: Any = None) -> Any:
        """One step of stepwise expectation maximisation over a part of the rows; y is not used.

        The sums over all parts so far decay, the k-th step from 0 having the weight (k + 2) ** -0.7, the first 1 (Cappé & Moulines
        2009). The first part is where a model begins at random, unless there is one, of `fit` or of a file: then it begins from its
        parameters. The tables have the size that the options or the first part say.
        """
        going_on = hasattr(self, "model_")
        X = validated(self, X, reset=not going_on)
        data = bags(X, double=self._double())
        if going_on:
            data.set_vocabulary(self.model_.title, self.model_.vocabulary)
        else:
            self._name(data, X.shape[1])
        options, start = self._request(going_on), self.model_ if going_on else None
        seed = seed_of(self.random_state) if not hasattr(self, "_state") else 0  # of the first step alone
        self.model_, self._state = _core.fit_step(
            self._kind, options, data, jobs_of(self.n_jobs), seed, start, getattr(self, "_state", None)
        )
        self._after()
        return self

    def merge(self, other: Any) -> Any:
        """Takes in what another estimator has seen in `partial_fit`, and updates the parameters once. Returns the estimator itself.

        Both began from one model (of a file, or the same seed and first part) and saw other rows. After one step of each, the
        update of a mixture or of topics is that of a step over the rows of both, up to rounding; that of a grid, whose update
        depends on the grid before it, is one more step. After several the sums are of the models as they were on the way.
        """
        for name, estimator in (("this estimator", self), ("the other", other)):
            if type(estimator) is not type(self) or not hasattr(estimator, "_state"):
                raise ValueError(f"{name} is no {type(self).__name__} that was fitted with partial_fit last")
        none = bags(np.zeros((0, self.n_features_in_)), double=self.model_.double)
        none.set_vocabulary(self.model_.title, self.model_.vocabulary)
        self.model_, self._state = _core.merge_states(
            self._kind, self._request(True), none, jobs_of(self.n_jobs), self.model_, (self._state, other._state)
        )
        self._after()
        return self


def precision_is_double(precision: Any) -> bool:
    """Whether numbers of a model are in double precision."""
    if precision not in ("f32", "f64"):
        raise ValueError(f"precision is {precision!r}, and should be 'f32' or 'f64'")
    return bool(precision == "f64")
