"""Estimators of harmoniums."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from sklearn.utils import check_array

from . import _core
from ._base import BagModel, precision_is_double
from ._data import bags, jobs_of, validated
from ._progress import shown


class Harmonium(BagModel):
    """An exponential family harmonium: words, and perhaps numeric features, under topics (Welling, Rosen-Zvi & Hinton 2004).

    Counts are whole numbers; of `harmonium` and `dual-wing` those above `trials` are truncated to it, with one trial to whether a
    feature is there at all. A harmonium has no likelihood that could be computed: its normaliser is a sum over all rows that there
    could be.

    Parameters
    ----------
    n_components : int
        Topics.
    kind : 'harmonium', 'rap' or 'dual-wing'
        Binomial words under normal topics; the rate adapting Poisson model, Poisson words under binomial topics; binomial words and
        normal features under the same normal topics.
    method : 'cd', 'persistent' or 'langevin'
        Contrastive divergence, persistent Gibbs chains, or Langevin sampling of the posterior of the couplings after contrastive
        divergence.
    gibbs_steps : int
        Steps of a Gibbs chain before each gradient.
    max_iter : int
        Passes over all rows, in mini-batches.
    batch_size : int
        Rows of a mini-batch.
    draws, chains : int
        Langevin steps of a chain, and chains, with 'langevin'.
    prior : float, 'empirical', 'empirical-pooled' or None
        Standard deviation of the couplings' prior with 'langevin', or how it is learned; by default 0.1.
    step_size : float or None
        Step of the couplings; by default one within which no direction is unstable.
    trials : int
        Trials of the binomial units.
    feature_variance : float
        Variance of a feature of a dual wing given the topics; in the data it has variance 1.
    precision, random_state, n_jobs, verbose
        As those of `CountingGrid`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Couplings of topics and words.
    n_iter_ : int
        Passes.

    Examples
    --------
    >>> import numpy as np
    >>> from countgrid import Harmonium
    >>> X = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]])
    >>> Harmonium(2, max_iter=20, random_state=1).fit(X).transform(X).shape
    (4, 2)
    """

    _kind = "harmonium"
    _file_kind = "harmonium"
    _names = {
        "n_components": "topics",
        "kind": "kind",
        "method": "method",
        "gibbs_steps": "gibbs_steps",
        "max_iter": "epochs",
        "batch_size": "batch",
        "draws": "draws",
        "chains": "chains",
        "step_size": "step_size",
        "trials": "trials",
        "feature_variance": "feature_variance",
    }

    def __init__(
        self,
        n_components: int = 8,
        *,
        kind: str = "harmonium",
        method: str = "cd",
        gibbs_steps: int = 1,
        max_iter: int = 100,
        batch_size: int = 100,
        draws: int = 1000,
        chains: int = 1,
        prior: Any = None,
        step_size: float | None = None,
        trials: int = 1,
        feature_variance: float = 0.5,
        precision: str = "f32",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.kind = kind
        self.method = method
        self.gibbs_steps = gibbs_steps
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.draws = draws
        self.chains = chains
        self.prior = prior
        self.step_size = step_size
        self.trials = trials
        self.feature_variance = feature_variance
        self.precision = precision
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _double(self) -> bool:
        return precision_is_double(self.precision)

    def _options(self, going_on: bool = False) -> dict[str, Any]:
        prior = self.prior if self.prior is None or isinstance(self.prior, str) else {"fixed": self.prior}
        return {**super()._options(), "prior": prior}

    def fit(self, X: Any, y: Any = None, *, features: Any = None) -> Harmonium:
        """Fits the model to the rows of X; `features`, (rows, columns), are the numeric features of a dual wing. y is not used."""
        X = validated(self, X, reset=True)
        options = self._request(False)
        data = bags(X, double=self._double())
        self._name(data, X.shape[1])
        wing = _features(features, X.shape[0])
        with shown(self) as progress:
            self.model_ = _core.fit_harmonium(options, data, wing, jobs_of(self.n_jobs), progress)
        self._ended()
        return self

    def transform(self, X: Any, *, features: Any = None) -> np.ndarray:
        """Expected topics of every row, of a dual wing given its features where there are some: (rows, topics)."""
        data = self._bags(X)
        return _core.harmonium_topics(self.model_, data, _features(features, len(data)), jobs_of(self.n_jobs))

    def fit_transform(self, X: Any, y: Any = None, *, features: Any = None) -> np.ndarray:
        """Fits the model to the rows of X, and gives their expected topics."""
        return self.fit(X, features=features).transform(X, features=features)

    def _after(self) -> None:
        self.n_iter_ = int(json.loads(self.model_.fit).get("epochs", 0))

    @classmethod
    def _parameters(cls, model: _core.Model) -> dict[str, Any]:
        report = json.loads(model.fit)
        known = {
            "kind": model.harmonium,
            "method": report.get("method"),
            "gibbs_steps": report.get("steps"),
            "max_iter": report.get("epochs"),
            "batch_size": report.get("batch"),
            "trials": report.get("trials"),
            "draws": report.get("draws"),
            "chains": report.get("chains"),
            "random_state": report.get("seed"),
        }
        found = {name: value for name, value in known.items() if value is not None}
        return {"n_components": model.components, "precision": "f64" if model.double else "f32", **found}

    @property
    def components_(self) -> np.ndarray:
        """Couplings of topics and words: (topics, words)."""
        return self.model_.table("w").T

    def top_words(self, component: int, count: int = 10) -> list[tuple[str, float]]:
        """The words with the largest couplings above zero to a topic, with these."""
        return super().top_words(component, count)


def _features(features: Any, rows: int) -> tuple[list[str], np.ndarray] | None:
    """Names and values of the features of rows."""
    if features is None:
        return None
    names = getattr(features, "columns", None)
    values = check_array(features, dtype=np.float64)
    if len(values) != rows:
        raise ValueError(f"{len(values)} rows of features for {rows} rows of counts")
    named = [f"z{column}" for column in range(values.shape[1])] if names is None else [str(name) for name in names]
    return named, values
