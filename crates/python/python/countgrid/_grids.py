"""Estimators of grids and mixtures."""

from __future__ import annotations

import json
from typing import Any, Iterable

import numpy as np
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._base import StepwiseModel, precision_is_double
from ._data import jobs_of, repeated, validated
from ._page import MapPage
from ._text import texts


class _GridModel(StepwiseModel):
    """A grid or a mixture."""

    _file_kind = "counting grid"
    _names = {**StepwiseModel._names, "n_init": "restarts", "pseudocount": "pseudocount"}

    def _double(self) -> bool:
        return precision_is_double(self.precision)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fits the model to the rows of X, a matrix of counts (dense, sparse or a data frame); y is not used.

        `sample_weight` says how many times each row counts, a whole number; the fit is that of the repeated rows.
        """
        warm = self._warm_start()
        X = validated(self, X, reset=not warm)
        return self._fit_rows(repeated(X, sample_weight), self.model_ if warm else None)

    @classmethod
    def _parameters(cls, model: _core.Model) -> dict[str, Any]:
        precision = "f64" if model.double else "f32"
        report = json.loads(model.fit)
        found = {"precision": precision, **super()._parameters(model)}
        if report.get("pseudocount") is not None:
            found["pseudocount"] = report["pseudocount"]
        return found

    @property
    def pi_(self) -> np.ndarray:
        """The distribution over features at each cell, or of each component: (features, extents)."""
        return self.model_.table("pi")


class _GridOfCells(_GridModel):
    """A grid of cells with windows: what is drawn."""

    extents_: tuple[int, ...]
    window_: tuple[int, ...]
    _names = {
        **_GridModel._names,
        "learn_prior": "learn_prior",
        "inner_passes": "inner_passes",
        "schedule": "schedule",
    }

    def _options(self, going_on: bool = False) -> dict[str, Any]:
        start: Any = None
        if self.anneal is not None and self.batch_size is not None:
            raise ValueError("anneal and batch_size are two ways to begin a fit; give one of them")
        if self.anneal == 1:
            start = "plain"
        elif self.anneal is not None:
            start = {"annealed": {"beta": self.anneal, "iterations": self.anneal_iterations}}
        elif self.batch_size is not None:
            start = {"mini-batches": {"size": self.batch_size, "passes": self.passes}}
        # It goes on with the grid that is there, also where its size was chosen from the first data.
        extents, window = self.extents, self.window
        if going_on:
            extents = self.extents_ if extents is None else extents
            window = self.window_ if window is None else window
        return {**super()._options(going_on), "extents": _sides(extents), "window": _sides(window), "start": start}

    def _after(self) -> None:
        super()._after()
        extents, window = _layout(self.model_)
        self.extents_, self.window_ = tuple(extents), tuple(window)

    @classmethod
    def _parameters(cls, model: _core.Model) -> dict[str, Any]:
        extents, window = _layout(model)
        return {"extents": tuple(extents), "window": tuple(window), **super()._parameters(model)}

    def map(
        self,
        documents: Any,
        *,
        labels: Iterable[Any] | None = None,
        dates: Iterable[Any] | None = None,
        titles: Iterable[str] | None = None,
        title: str | None = None,
        layer: int = 0,
    ) -> MapPage:
        """The page of the grid with documents: texts, if the model was described by a vectorizer, or rows of counts.

        Labels give documents colours; dates, of which the page has a slider, are days: `datetime.date`, NumPy's `datetime64`, pandas'
        time stamps, or texts that begin with YYYY-MM-DD, and None where there is none. `layer` is that of a grid of more than two axes. The value shows itself in Jupyter.
        """
        check_is_fitted(self, "model_")
        model = self.model_
        if hasattr(documents, "shape"):
            data = self._bags(documents)
            titles = [f"document {number + 1}" for number in range(len(data))] if titles is None else titles
        else:
            data = _core.Data.from_texts(texts(documents), model)
        data.set_vocabulary(model.title, model.vocabulary)
        if titles is not None:
            data.set_titles([str(title) for title in titles])
        if labels is not None:
            data.set_labels([None if label is None else str(label) for label in labels])
        if dates is not None:
            data.set_dates([_day(date) for date in dates])
        pages = model.pages(data, model.title if title is None else str(title), jobs_of(self.n_jobs))
        if not 0 <= layer < len(pages):
            raise ValueError(f"layer is {layer}, and the grid has {len(pages)}")
        return MapPage(pages[layer])

    def plot(self, X: Any, *, ax: Any = None) -> Any:
        """Draws, with matplotlib, the share of the rows of X at each cell of a grid of one or two axes; returns the axes."""
        import matplotlib.pyplot as plt

        shares = self.transform(X).mean(axis=0).reshape(self.extents_)
        if shares.ndim > 2:
            raise ValueError(f"the grid has {shares.ndim} axes; one or two can be drawn")
        if ax is None:
            ax = plt.gca()
        image = ax.imshow(np.atleast_2d(shares), origin="upper", interpolation="nearest")
        ax.figure.colorbar(image, ax=ax, label="share of rows")
        return ax


def _day(date: Any) -> str | None:
    """A day as ISO 8601 has it; what is after it, a time, is left out."""
    text = str(date)
    return None if date is None or text in ("", "NaT", "nan") else text[:10]


class CountingGrid(_GridOfCells):
    """A counting grid: a torus of distributions over features, on which a row of counts is explained by one window.

    Parameters
    ----------
    extents : sequence of int or None
        Cells along each axis. By default a square with about half as many cells as rows, 8 x 8 to 64 x 64.
    window : int, sequence of int or None
        Cells of a window along each axis. By default a sixth of the grid's, 2 to 8.
    max_iter : int
        The most iterations on the full grid, after those of `anneal` or `batch_size` where these are given.
    tol : float
        The fit ends once two iterations in a row change the objective by no more than this share of it.
    n_init : int
        Random starts of which the best is kept.
    pseudocount : float or None
        Tokens that every feature is given at every cell. By default 0.01, within a fiftieth and a quarter of
        tokens / (cells x features).
    learn_prior : bool
        Whether the prior over positions is learned rather than uniform.
    inner_passes : int
        Passes of an M-step over the same expected counts.
    schedule : 'coarse-to-fine' or 'single'
        Whether the fit begins on a small grid.
    anneal : float or None
        Inverse temperature at which annealing of the full grid begins, in (0, 1]; 1 for no annealing. By default 4 / the
        mean sum of a row, within 0.01 and 0.5; 1 with `batch_size` and for windows of one cell.
    anneal_iterations : int
        Iterations until it is 1, with `anneal`; without, annealing takes the first third of `max_iter`, at most 20.
    batch_size : int or None
        Rows of a mini-batch, with which the fit of the full grid then begins.
    passes : int
        Passes over all rows in mini-batches.
    precision : 'f32' or 'f64'
        The numbers of the model.
    warm_start : bool
        Whether `fit` goes on from the model that is there.
    random_state : int, RandomState or None
        The seed, or where it is drawn from. The same seed gives the same bits, whatever `n_jobs` is.
    n_jobs : int or None
        Threads, of a pool of this call alone; None is 1, -1 is all processors.
    verbose : bool
        Whether each iteration is printed.

    Attributes
    ----------
    extents_, window_ : tuple of int
        The grid and its window.
    pi_ : ndarray of shape (n_features, *extents_)
        The distribution over features at each cell.
    prior_ : ndarray of shape extents_
        The prior over positions.
    n_iter_ : int
        Iterations on the full grid.
    bound_per_token_ : float
        The bound on the log evidence per token, in nats.

    Examples
    --------
    >>> import numpy as np
    >>> from countgrid import CountingGrid
    >>> X = np.array([[5, 1, 0], [4, 2, 0], [0, 1, 6], [0, 2, 5]])
    >>> grid = CountingGrid(extents=(4, 4), window=2, random_state=1).fit(X)
    >>> grid.transform(X).sum(axis=1).round(5).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """

    _kind = "grid"

    def __init__(
        self,
        extents: Any = None,
        window: Any = None,
        *,
        max_iter: int = 60,
        tol: float = 1e-5,
        n_init: int = 1,
        pseudocount: float | None = None,
        learn_prior: bool = False,
        inner_passes: int = 1,
        schedule: str = "coarse-to-fine",
        anneal: float | None = None,
        anneal_iterations: int = 20,
        batch_size: int | None = None,
        passes: int = 3,
        precision: str = "f32",
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.extents = extents
        self.window = window
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.pseudocount = pseudocount
        self.learn_prior = learn_prior
        self.inner_passes = inner_passes
        self.schedule = schedule
        self.anneal = anneal
        self.anneal_iterations = anneal_iterations
        self.batch_size = batch_size
        self.passes = passes
        self.precision = precision
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def prior_(self) -> np.ndarray:
        """The prior over positions: (extents)."""
        return self.model_.table("prior")


class ComponentialGrid(_GridOfCells):
    """A componential counting grid: the words of a row come from several windows of a torus of distributions over features, as those
    of a row under latent Dirichlet allocation come from several topics (Perina et al. 2013).

    Parameters
    ----------
    extents, window
        As those of `CountingGrid`, as which the fit begins.
    concentration : float
        Sum of the parameters of the Dirichlet distribution of a row's proportions of windows, in tokens; where a learned one starts.
    learn_concentration : bool
        Whether it is learned.
    componential_iter : int
        The most iterations of the componential grid, after those of the counting grid.
    max_iter, tol, n_init, pseudocount, learn_prior, inner_passes, schedule
        As those of `CountingGrid`; of `n_init` starts the best componential grid is kept.
    anneal, anneal_iterations, batch_size, passes, precision, warm_start, random_state, n_jobs, verbose
        As those of `CountingGrid`.

    Attributes
    ----------
    extents_, window_ : tuple of int
        The grid and its window.
    pi_ : ndarray of shape (n_features, *extents_)
        The distribution over features at each cell.
    alpha_ : ndarray of shape extents_
        The Dirichlet parameter of proportions of windows.
    n_iter_ : int
        Iterations of the componential grid.
    bound_per_token_ : float
        The bound on the log evidence per token, in nats.

    Examples
    --------
    >>> import numpy as np
    >>> from countgrid import ComponentialGrid
    >>> X = np.array([[5, 1, 0], [4, 2, 0], [0, 1, 6], [5, 2, 5]])
    >>> grid = ComponentialGrid(extents=(4, 4), window=2, random_state=1).fit(X)
    >>> grid.transform(X).sum(axis=1).round(5).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """

    _kind = "componential"
    _file_kind = "componential counting grid"

    def __init__(
        self,
        extents: Any = None,
        window: Any = None,
        *,
        concentration: float = 5.0,
        learn_concentration: bool = False,
        componential_iter: int = 40,
        max_iter: int = 60,
        tol: float = 1e-5,
        n_init: int = 1,
        pseudocount: float | None = None,
        learn_prior: bool = False,
        inner_passes: int = 1,
        schedule: str = "coarse-to-fine",
        anneal: float | None = None,
        anneal_iterations: int = 20,
        batch_size: int | None = None,
        passes: int = 3,
        precision: str = "f32",
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.extents = extents
        self.window = window
        self.concentration = concentration
        self.learn_concentration = learn_concentration
        self.componential_iter = componential_iter
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.pseudocount = pseudocount
        self.learn_prior = learn_prior
        self.inner_passes = inner_passes
        self.schedule = schedule
        self.anneal = anneal
        self.anneal_iterations = anneal_iterations
        self.batch_size = batch_size
        self.passes = passes
        self.precision = precision
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _options(self, going_on: bool = False) -> dict[str, Any]:
        return {
            "iterations": self.componential_iter,
            "concentration": self.concentration,
            "learn_concentration": self.learn_concentration,
            "grid": super()._options(going_on),
        }

    def _seeded(self, options: dict[str, Any], seed: int) -> dict[str, Any]:
        return {**options, "grid": {**options["grid"], "seed": seed}}

    @classmethod
    def _parameters(cls, model: _core.Model) -> dict[str, Any]:
        report = json.loads(model.fit)
        known = {name: report.get(name) for name in ("concentration", "learn_concentration")}
        return {**super()._parameters(model), **{name: value for name, value in known.items() if value is not None}}

    @property
    def alpha_(self) -> np.ndarray:
        """The Dirichlet parameter of proportions of windows: (extents)."""
        return self.model_.table("alpha")

    def transform(self, X: Any) -> np.ndarray:
        """The mean of the posterior of every row's proportions of windows: (rows, cells)."""
        return super().transform(X)


class MultinomialMixture(_GridModel):
    """A mixture of multinomial distributions with weights: a counting grid whose windows are single cells.

    Parameters
    ----------
    n_components : int
        Components.
    max_iter, tol, n_init, pseudocount, precision, warm_start, random_state, n_jobs, verbose
        As those of `CountingGrid`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The distribution of each component.
    weights_ : ndarray of shape (n_components,)
        Their shares.
    n_iter_ : int
        Iterations.
    bound_per_token_ : float
        The log-likelihood per token, in nats.

    Examples
    --------
    >>> import numpy as np
    >>> from countgrid import MultinomialMixture
    >>> X = np.array([[5, 1, 0], [4, 2, 0], [0, 1, 6], [0, 2, 5]])
    >>> labels = MultinomialMixture(2, random_state=1).fit(X).predict(X)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    _kind = "mixture"

    def __init__(
        self,
        n_components: int = 8,
        *,
        max_iter: int = 60,
        tol: float = 1e-5,
        n_init: int = 1,
        pseudocount: float | None = None,
        precision: str = "f32",
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.pseudocount = pseudocount
        self.precision = precision
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _options(self, going_on: bool = False) -> dict[str, Any]:
        return {**super()._options(going_on), "components": self.n_components}

    @classmethod
    def _parameters(cls, model: _core.Model) -> dict[str, Any]:
        extents, window = _layout(model)
        if len(extents) != 1 or list(window) != [1]:
            raise ValueError(f"the file is of a grid of {extents} cells with a window of {window}, not of a mixture")
        return {"n_components": extents[0], **super()._parameters(model)}

    @property
    def components_(self) -> np.ndarray:
        """The distribution of each component: (components, features)."""
        return self.pi_.T

    @property
    def weights_(self) -> np.ndarray:
        """Shares of the components: (components,)."""
        return self.model_.table("prior")

    def predict(self, X: Any) -> np.ndarray:
        """The most probable component of every row: (rows,)."""
        return self.transform(X).argmax(axis=1)


def _layout(model: _core.Model) -> tuple[list[int], list[int]]:
    """Cells of a grid along each axis, and of its window."""
    layout = model.layout
    if layout is None:
        raise ValueError(f"the file is of a {model.kind}, which has no cells")
    return layout


def _sides(value: Any) -> Any:
    """Sides of a grid: one number is that of all axes."""
    if value is None:
        return None
    return [value] if np.ndim(value) == 0 else list(value)
