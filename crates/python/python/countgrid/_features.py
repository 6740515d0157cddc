"""Features of counts under a model, for classifiers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from ._data import validated
from ._models import CountModel, HiddenMarkov, MultinomialMixture


class _ModelFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    def _feature_kind(self) -> str:
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None) -> Any:
        """Fits a clone of the model to X, rows of counts or, of a `HiddenMarkov`, sequences; y is not used."""
        estimator = MultinomialMixture(random_state=1) if self.estimator is None else self.estimator
        if not isinstance(estimator, (CountModel, HiddenMarkov)):
            raise TypeError(
                f"estimator is of type {type(estimator).__name__}, and should be a model of this package with a likelihood"
            )
        if isinstance(estimator, CountModel):
            X = validated(self, X, reset=True)
        self.estimator_ = clone(estimator).fit(X)
        # Columns are known from one row; a kind that the model does not have is refused now.
        self._n_features_out = self.estimator_._features(X[:1], self._feature_kind()).shape[1]
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The features of every row: (rows, features)."""
        check_is_fitted(self, "estimator_")
        if isinstance(self.estimator_, CountModel):
            X = validated(self, X, reset=False)
        return self.estimator_._features(X, self._feature_kind())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        sequences = isinstance(self.estimator, HiddenMarkov)
        tags.input_tags.sparse = tags.input_tags.positive_only = tags.input_tags.two_d_array = not sequences
        tags.input_tags.string = sequences
        return tags


class FreeEnergyScores(_ModelFeatures):
    """Terms of the free energy of a row under a model (Perina et al. 2009).

    Parameters
    ----------
    estimator : a model of this package, or None
        What is fitted; by default a `MultinomialMixture`.
    kind : 'fess', 'nfess', 'fess-words' or 'fess-sources'
        Terms by window position, component or topic, of sequences of one length by position and state; the same per token, of
        sequences of any length the mean over positions; by word; of a grid by the cell of each word.

    Examples
    --------
    >>> import numpy as np
    >>> from countgrid import FreeEnergyScores, MultinomialMixture
    >>> X = np.array([[5, 1, 0], [4, 2, 0], [0, 1, 6], [0, 2, 5]])
    >>> FreeEnergyScores(MultinomialMixture(2, random_state=1)).fit_transform(X).shape[0]
    4
    >>> from countgrid import HiddenMarkov
    >>> scores = FreeEnergyScores(HiddenMarkov(2, random_state=1), kind="nfess")
    >>> scores.fit(["aaabbb", "aabb", "abbb"]).transform(["ab", "aaab"]).shape[0]
    2
    """

    def __init__(self, estimator: Any = None, *, kind: str = "fess") -> None:
        self.estimator = estimator
        self.kind = kind

    def _feature_kind(self) -> str:
        kinds = ("fess", "nfess", "fess-words", "fess-sources")
        if self.kind not in kinds:
            raise ValueError(f"kind is {self.kind!r}, and should be one of {', '.join(kinds)}")
        return self.kind


class FisherScores(_ModelFeatures):
    """Gradients of the log-likelihood of a row in the logarithms of a model's parameters (Jaakkola & Haussler 1998).

    Parameters
    ----------
    estimator : a model of this package, or None
        What is fitted; by default a `MultinomialMixture`.

    Examples
    --------
    >>> import numpy as np
    >>> from countgrid import FisherScores, MultinomialMixture
    >>> X = np.array([[5, 1, 0], [4, 2, 0], [0, 1, 6], [0, 2, 5]])
    >>> FisherScores(MultinomialMixture(2, random_state=1)).fit_transform(X).shape # 2 x 3 probabilities, 2 weights
    (4, 8)
    """

    def __init__(self, estimator: Any = None) -> None:
        self.estimator = estimator

    def _feature_kind(self) -> str:
        return "fisher"
