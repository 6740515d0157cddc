"""Matrices to bags of counts."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, validate_data

from . import _core

#: Types that are read as they are; others are converted first.
TYPES = [np.float64, np.float32, np.int64, np.int32]

#: Rows that there are at most, once they are repeated.
MOST_ROWS = 2**31 - 1


def validated(estimator: Any, X: Any, *, reset: bool) -> Any:
    """The matrix X as scikit-learn wants it checked: two axes, finite, not negative, of one of `TYPES`."""
    return validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse="csr",
        dtype=TYPES,
        ensure_non_negative=True,
    )


def repeated(X: Any, sample_weight: Any) -> Any:
    """The rows of a matrix that was validated, each as many times as its weight says."""
    if sample_weight is None:
        return X
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
    whole = (weights >= 0) & (weights == np.floor(weights))
    if not whole.all():
        place = int(np.flatnonzero(~whole)[0])
        raise ValueError(f"sample_weight[{place}] is {weights[place]}, and should be a whole number from 0")
    if weights.sum() > MOST_ROWS:
        raise ValueError(f"sample_weight adds up to {weights.sum():.0f} rows, and should to at most {MOST_ROWS}")
    return X if (weights == 1).all() else X[np.repeat(np.arange(len(weights)), weights.astype(np.int64))]


def bags(X: Any, *, double: bool) -> _core.Data:
    """The rows of a matrix that was validated. Its arrays are read where they are."""

    def aligned(array: Any) -> Any:
        return np.require(array, requirements="A")

    if not sp.issparse(X):
        return _core.Data.from_dense(aligned(X), double)
    if len(X.indptr) != X.shape[0] + 1:
        raise ValueError(f"indptr has {len(X.indptr)} elements, and should have {X.shape[0] + 1}")
    return _core.Data.from_csr(X.shape[1], aligned(X.indptr), aligned(X.indices), aligned(X.data), double)


def seed_of(random_state: Any) -> int:
    """A seed: an integer is one; a `RandomState` draws one, and None is numpy's own."""
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool):
        if not 0 <= int(random_state) < 2**64:
            raise ValueError(f"random_state is {random_state}, and should be from 0 to 2**64 - 1")
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def jobs_of(n_jobs: int | None) -> int:
    """Threads: None is 1 but in a `joblib.parallel_config`, -1 is all processors."""
    return min(effective_n_jobs(n_jobs), 1024)


def plain(value: Any) -> Any:
    """A number or an array as JSON has it."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"{value!r} of type {type(value).__name__} is no option")
