"""A generative classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_non_negative, column_or_1d, validate_data

from ._data import TYPES, validated
from ._models import CountingGrid, CountModel


class CountingGridClassifier(ClassifierMixin, BaseEstimator):
    """A counting grid of each class; a row is of the class under which it is most probable, by Bayes' rule.

    Parameters
    ----------
    estimator : a model of this package, or None
        What is fitted to each class; by default `CountingGrid(random_state=1)`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    class_log_prior_ : ndarray of shape (n_classes,)
        Logarithms of their shares of the rows.
    estimators_ : list
        The models of the classes.

    Examples
    --------
    >>> import numpy as np
    >>> from countgrid import CountingGrid, CountingGridClassifier
    >>> X = np.array([[5, 1, 0], [4, 2, 0], [0, 1, 6], [0, 2, 5]])
    >>> grid = CountingGrid(extents=(2, 2), window=1, random_state=1)
    >>> CountingGridClassifier(grid).fit(X, ["a", "a", "b", "b"]).predict(X).tolist()
    ['a', 'a', 'b', 'b']
    """

    def __init__(self, estimator: Any = None) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> CountingGridClassifier:
        """Fits a clone of the model to the rows of each class."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=TYPES)
        check_non_negative(X, type(self).__name__)
        check_classification_targets(y)
        y = column_or_1d(y, warn=True)
        estimator = CountingGrid(random_state=1) if self.estimator is None else self.estimator
        if not isinstance(estimator, CountModel):
            raise TypeError(f"estimator is of type {type(estimator).__name__}, and should be a model of this package")
        self.classes_, numbers = np.unique(y, return_inverse=True)
        self.class_log_prior_ = np.log(np.bincount(numbers) / len(numbers))
        self.estimators_ = [
            clone(estimator).fit(X[np.flatnonzero(numbers == number)]) for number in range(len(self.classes_))
        ]
        return self

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """Log-probabilities of each class and the row, in nats, without the multinomial coefficient: (rows, classes)."""
        check_is_fitted(self, "estimators_")
        X = validated(self, X, reset=False)
        return np.stack([model.score_samples(X) for model in self.estimators_], axis=1) + self.class_log_prior_

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Log-probabilities of the classes: (rows, classes)."""
        joint = self.predict_joint_log_proba(X)
        return joint - logsumexp(joint, axis=1, keepdims=True)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes: (rows, classes)."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of every row: (rows,)."""
        best = self.predict_joint_log_proba(X).argmax(axis=1)
        return self.classes_[best]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        # Counts say which features a row has, not how many: blobs at distances from the origin are not what it tells apart.
        tags.classifier_tags.poor_score = True
        return tags
