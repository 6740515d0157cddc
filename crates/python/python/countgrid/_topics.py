"""Estimators of topics."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from . import _core
from ._base import StepwiseModel


class LatentDirichlet(StepwiseModel):
    """Latent Dirichlet allocation: rows are mixtures of topics, in double precision.

    Parameters
    ----------
    n_components : int
        Topics.
    smoothing : float
        Pseudo-tokens of every feature in every topic.
    max_iter, tol, n_init, warm_start, random_state, n_jobs, verbose
        As those of `CountingGrid`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The distribution of each topic.
    alpha_ : ndarray of shape (n_components,)
        The Dirichlet parameter of topics.
    n_iter_ : int
        Iterations.
    bound_per_token_ : float
        The bound on the log evidence per token, in nats.

    Examples
    --------
    >>> import numpy as np
    >>> from countgrid import LatentDirichlet
    >>> X = np.array([[5, 1, 0], [4, 2, 0], [0, 1, 6], [0, 2, 5]])
    >>> topics = LatentDirichlet(2, random_state=1).fit(X)
    >>> topics.transform(X).sum(axis=1).round(5).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """

    _kind = "lda"
    _file_kind = "latent Dirichlet allocation"
    _names = {**StepwiseModel._names, "n_components": "topics", "n_init": "restarts", "smoothing": "smoothing"}

    def __init__(
        self,
        n_components: int = 20,
        *,
        smoothing: float = 0.01,
        max_iter: int = 60,
        tol: float = 1e-5,
        n_init: int = 1,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.smoothing = smoothing
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @classmethod
    def _parameters(cls, model: _core.Model) -> dict[str, Any]:
        smoothing = json.loads(model.fit).get("smoothing")
        found = {"n_components": model.components, **super()._parameters(model)}
        return found if smoothing is None else {**found, "smoothing": smoothing}

    @property
    def components_(self) -> np.ndarray:
        """The distribution of each topic: (topics, features)."""
        return self.model_.table("beta").T

    @property
    def alpha_(self) -> np.ndarray:
        """The Dirichlet parameter of topics: (topics,)."""
        return self.model_.table("alpha")
