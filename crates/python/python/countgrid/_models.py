"""Estimators of models of counts."""

from __future__ import annotations

import json
import os
from typing import Any, Callable, Iterable

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._data import bags, jobs_of, plain, seed_of, validated
from ._page import MapPage
from ._text import TextVectorizer, _texts


class CountModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What all models have in common; not an estimator by itself."""

    model_: _core.Model
    _kind: str
    #: The text `kind` of its files.
    _file_kind: str
    #: Parameters and the names that the library has for them.
    _names: dict[str, str] = {"max_iter": "iterations", "tol": "tolerance"}

    def _double(self) -> bool:
        return True

    def _options(self) -> dict[str, Any]:
        """The options of the library, but for the seed."""
        return {option: getattr(self, name) for name, option in self._names.items()}

    def _warm_start(self) -> bool:
        return bool(getattr(self, "warm_start", False)) and hasattr(self, "model_")

    def fit(self, X: Any, y: Any = None) -> Any:
        """Fits the model to the rows of X, a matrix of counts (dense, sparse or a data frame); y is not used."""
        return self._fit(X)

    def _fit(self, X: Any) -> Any:
        warm = self._warm_start()
        X = validated(self, X, reset=not warm)
        options = json.dumps(
            {**self._options(), "seed": seed_of(self.random_state)}, default=plain, allow_nan=False
        )
        data = bags(X, double=self._double())
        names = [str(name) for name in getattr(self, "feature_names_in_", ())]
        if len(set(names)) == X.shape[1]:
            data.set_vocabulary("untitled", names)
        progress = _printer(type(self).__name__) if self.verbose else None
        start = self.model_ if warm else None
        self.model_ = _core.fit(self._kind, options, data, jobs_of(self.n_jobs), start, progress)
        self._after()
        return self

    def _after(self) -> None:
        """Attributes that are read off the model."""
        report = json.loads(self.model_.fit)
        self.n_iter_ = int(report.get("iterations", 0))
        self.bound_per_token_ = report.get("bound_per_token")

    def _bags(self, X: Any) -> _core.Data:
        check_is_fitted(self, "model_")
        return bags(validated(self, X, reset=False), double=self.model_.double)

    def _features(self, X: Any, kind: str) -> np.ndarray:
        data = self._bags(X)
        return self.model_.features(data, kind, jobs_of(self.n_jobs))

    def transform(self, X: Any) -> np.ndarray:
        """The posterior of every row over the components of the model: (rows, components)."""
        return self._features(X, "posterior")

    def score_samples(self, X: Any) -> np.ndarray:
        """The log-likelihood of every row in nats, or the bound on it, without the multinomial coefficient: (rows,)."""
        data = self._bags(X)
        return self.model_.log_likelihoods(data, jobs_of(self.n_jobs))

    def score(self, X: Any, y: Any = None) -> float:
        """The mean of `score_samples`."""
        return float(np.mean(self.score_samples(X)))

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
        estimator.n_features_in_ = len(model.vocabulary)
        estimator._after()
        return estimator

    @classmethod
    def _parameters(cls, model: _core.Model) -> dict[str, Any]:
        """Parameters that the file says."""
        report = json.loads(model.fit)
        known = {"tol": report.get("tolerance"), "random_state": report.get("seed"), "n_init": report.get("restarts")}
        names = cls._get_param_names()
        return {name: value for name, value in known.items() if value is not None and name in names}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags


class _GridModel(CountModel):
    """A grid or a mixture."""

    _file_kind = "counting grid"
    _names = {**CountModel._names, "n_init": "restarts", "pseudocount": "pseudocount"}

    def _double(self) -> bool:
        if self.precision not in ("f32", "f64"):
            raise ValueError(f"precision is {self.precision!r}, and should be 'f32' or 'f64'")
        return self.precision == "f64"

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


class CountingGrid(_GridModel):
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
    _names = {
        **_GridModel._names,
        "learn_prior": "learn_prior",
        "inner_passes": "inner_passes",
        "schedule": "schedule",
    }

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

    def _options(self) -> dict[str, Any]:
        start: Any = None
        if self.anneal is not None and self.batch_size is not None:
            raise ValueError("anneal and batch_size are two ways to begin a fit; give one of them")
        if self.anneal == 1:
            start = "plain"
        elif self.anneal is not None:
            start = {"annealed": {"beta": self.anneal, "iterations": self.anneal_iterations}}
        elif self.batch_size is not None:
            start = {"mini-batches": {"size": self.batch_size, "passes": self.passes}}
        # A warm start goes on with the grid that is there, also where its size was chosen from the first data.
        extents, window = self.extents, self.window
        if self._warm_start():
            extents = self.extents_ if extents is None else extents
            window = self.window_ if window is None else window
        return {**super()._options(), "extents": _sides(extents), "window": _sides(window), "start": start}

    def _after(self) -> None:
        super()._after()
        extents, window = _layout(self.model_)
        self.extents_, self.window_ = tuple(extents), tuple(window)

    @classmethod
    def _parameters(cls, model: _core.Model) -> dict[str, Any]:
        extents, window = _layout(model)
        return {"extents": tuple(extents), "window": tuple(window), **super()._parameters(model)}

    @property
    def prior_(self) -> np.ndarray:
        """The prior over positions: (extents)."""
        return self.model_.table("prior")

    def map(
        self,
        documents: Any,
        *,
        labels: Iterable[Any] | None = None,
        titles: Iterable[str] | None = None,
        title: str | None = None,
        layer: int = 0,
    ) -> MapPage:
        """The page of the grid with documents: texts, if the model was described by a vectorizer, or rows of counts.

        Labels give documents colours; `layer` is that of a grid of more than two axes. The value shows itself in Jupyter.
        """
        check_is_fitted(self, "model_")
        model = self.model_
        if hasattr(documents, "shape"):
            data = self._bags(documents)
            titles = [f"document {number + 1}" for number in range(len(data))] if titles is None else titles
        else:
            data = _core.Data.from_texts(_texts(documents), model)
        data.set_vocabulary(model.title, model.vocabulary)
        if titles is not None:
            data.set_titles([str(title) for title in titles])
        if labels is not None:
            data.set_labels([None if label is None else str(label) for label in labels])
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

    def _options(self) -> dict[str, Any]:
        return {**super()._options(), "components": self.n_components}

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


class LatentDirichlet(CountModel):
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
    _names = {**CountModel._names, "n_components": "topics", "n_init": "restarts", "smoothing": "smoothing"}

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

    _double = _GridModel._double

    @classmethod
    def _parameters(cls, model: _core.Model) -> dict[str, Any]:
        return {"precision": "f64" if model.double else "f32", **super()._parameters(model)}


def load(path: str | os.PathLike[str]) -> Any:
    """A fitted estimator of the class that goes with the model in a file, which the program, Rust or Python wrote."""
    model = _core.Model.load(os.fspath(path))
    kinds = (CountingGrid, LatentDirichlet, TopographicMap)
    for kind in kinds:
        if kind._file_kind == model.kind:
            return kind._of(model)
    raise ValueError(f"the file is of a {model.kind}, which no estimator has")


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


def _printer(name: str) -> Callable[..., None]:
    def show(restart: int, stage: int, iteration: int, bound: float | None, share: float) -> None:
        where = f"start {restart + 1}, stage {stage + 1}, iteration {iteration}"
        found = "" if bound is None else f", bound per token {bound:.4f}"
        print(f"[{name}] {where}{found}, {share:.0%}", flush=True)

    return show
