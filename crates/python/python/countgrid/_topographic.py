"""Estimators of topographic maps."""

from __future__ import annotations

from typing import Any

from . import _core
from ._base import CountModel, precision_is_double


class TopographicMap(CountModel):
    """A generative topographic map of counts: rows are points of a plane or a torus.

    Parameters
    ----------
    points : pair of int
        Latent points along each axis.
    emission : str
        'zip' (zero-inflated Poisson by row), 'zip-latent' (by latent point), 'poisson', 'bernoulli', 'multinomial' or 'gaussian'.
    latent : 'grid', 'torus' or 'random'
        How latent points are arranged.
    basis : 'rbf' or 'sinh'
        The kind of basis functions.
    basis_functions : pair of int
        Basis functions along each axis.
    width : float or None
        Width of the functions, where the plane reaches from -1 to 1.
    exposure : 'none' or 'length'
        Whether rates are per token of a row.
    initial_spread : float
        Standard deviation of the initial responsibilities, in latent units.
    newton_steps : int
        Newton steps of an iteration for each feature.
    max_iter, tol, precision, random_state, n_jobs, verbose
        As those of `CountingGrid`.

    Attributes
    ----------
    n_iter_ : int
        Iterations.
    bound_per_token_ : float
        The log-likelihood per token, in nats.

    Examples
    --------
    >>> import numpy as np
    >>> from countgrid import TopographicMap
    >>> X = np.array([[5, 1, 0], [4, 2, 0], [0, 1, 6], [0, 2, 5]])
    >>> TopographicMap((4, 4), basis_functions=(2, 2), random_state=1).fit(X).transform(X).shape
    (4, 16)
    """

    _kind = "topographic"
    _file_kind = "topographic map"
    _names = {
        **CountModel._names,
        "points": "points",
        "emission": "emission_model",
        "latent": "latent",
        "basis": "basis",
        "basis_functions": "basis_functions",
        "width": "width",
        "exposure": "exposure",
        "initial_spread": "initial_spread",
        "newton_steps": "newton_steps",
    }

    def __init__(
        self,
        points: Any = (18, 15),
        *,
        emission: str = "zip",
        latent: str = "grid",
        basis: str = "rbf",
        basis_functions: Any = (5, 5),
        width: float | None = None,
        exposure: str = "none",
        initial_spread: float = 0.3,
        newton_steps: int = 3,
        max_iter: int = 60,
        tol: float = 1e-5,
        precision: str = "f64",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.points = points
        self.emission = emission
        self.latent = latent
        self.basis = basis
        self.basis_functions = basis_functions
        self.width = width
        self.exposure = exposure
        self.initial_spread = initial_spread
        self.newton_steps = newton_steps
        self.max_iter = max_iter
        self.tol = tol
        self.precision = precision
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _double(self) -> bool:
        return precision_is_double(self.precision)

    @classmethod
    def _parameters(cls, model: _core.Model) -> dict[str, Any]:
        return {"precision": "f64" if model.double else "f32", **super()._parameters(model)}
