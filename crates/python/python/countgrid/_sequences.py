"""Estimators of sequences."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._base import FileModel
from ._data import jobs_of
from ._progress import shown

#: Symbols that there can be.
MOST = 1 << 16


class HiddenMarkov(FileModel):
    """A hidden Markov model of sequences of symbols, in double precision.

    Sequences are given as a list: of strings, whose symbols are letters, or of lists or arrays of whole numbers or of strings; as a
    matrix of whole numbers, whose rows are sequences; or, with `lengths`, as one array of all symbols, as those of `hmmlearn` are
    (a vector, or a column).

    Parameters
    ----------
    n_components : int
        States.
    pseudocount : float
        Pseudocount of every parameter.
    max_iter, tol, n_init, warm_start, random_state, n_jobs, verbose
        As those of `CountingGrid`.

    Attributes
    ----------
    symbols_ : list of str
        The symbols, in the order of columns; of numbers these, from 0 to the largest.
    startprob_ : ndarray of shape (n_components,)
        Probabilities of the first state.
    transmat_ : ndarray of shape (n_components, n_components)
        Of the next state, given a state.
    emissionprob_ : ndarray of shape (n_components, n_symbols)
        Of symbols, given a state.
    n_iter_ : int
        Iterations.
    bound_per_token_ : float
        The log-likelihood per symbol, in nats.

    Examples
    --------
    >>> from countgrid import HiddenMarkov
    >>> model = HiddenMarkov(2, n_init=5, random_state=1).fit(["aaaabbbb", "aaabbb", "aabbbb"])
    >>> path, = model.predict(["aaabb"])
    >>> bool(path[0] == path[2] != path[3] == path[4])
    True
    """

    _file_kind = "hidden Markov model"
    _names = {**FileModel._names, "n_components": "states", "n_init": "restarts", "pseudocount": "pseudocount"}

    def __init__(
        self,
        n_components: int = 4,
        *,
        pseudocount: float = 0.1,
        max_iter: int = 60,
        tol: float = 1e-5,
        n_init: int = 1,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.pseudocount = pseudocount
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, *, lengths: Any = None) -> HiddenMarkov:
        """Fits the model to sequences; y is not used."""
        warm = self._warm_start()
        symbols, counts = _flat(X, lengths)
        names = self.symbols_ if warm else _alphabet(symbols)
        sequences = _core.Sequences.from_arrays(len(names), counts, _numbers(symbols, names))
        options, start = self._request(warm), self.model_ if warm else None
        with shown(self) as progress:
            self.model_ = _core.fit_sequences(options, sequences, names, jobs_of(self.n_jobs), start, progress)
        self._of_file(self.model_)
        self._ended()
        return self

    def score_samples(self, X: Any, *, lengths: Any = None) -> np.ndarray:
        """The log-likelihood of every sequence in nats, minus infinity of one that is impossible: (sequences,)."""
        sequences, _ = self._sequences(X, lengths)
        return _core.sequence_log_likelihoods(self.model_, sequences, jobs_of(self.n_jobs))

    def score(self, X: Any, y: Any = None, *, lengths: Any = None) -> float:
        """The sum of `score_samples`, which is that of `hmmlearn`."""
        return float(np.sum(self.score_samples(X, lengths=lengths)))

    def predict(self, X: Any, *, lengths: Any = None) -> Any:
        """The most probable path of states: a list of arrays for a list, a matrix for a matrix, one array for one array."""
        sequences, counts = self._sequences(X, lengths)
        return _like(X, lengths, counts, _core.sequence_states(self.model_, sequences)[0])

    def predict_proba(self, X: Any, *, lengths: Any = None) -> Any:
        """The posterior of states at each position: as `predict`, with an axis of states at the end."""
        sequences, counts = self._sequences(X, lengths)
        return _like(X, lengths, counts, _core.sequence_states(self.model_, sequences)[1])

    def describe(self, *, title: str) -> HiddenMarkov:
        """Writes a title into the model. Returns the estimator itself."""
        check_is_fitted(self, "model_")
        self.model_ = self.model_.titled(title)
        return self

    def _features(self, X: Any, kind: str) -> np.ndarray:
        sequences, _ = self._sequences(X, None)
        return _core.sequence_features(self.model_, sequences, kind, jobs_of(self.n_jobs))

    def _sequences(self, X: Any, lengths: Any) -> tuple[_core.Sequences, np.ndarray]:
        check_is_fitted(self, "model_")
        symbols, counts = _flat(X, lengths)
        numbers = _numbers(symbols, self.symbols_)
        return _core.Sequences.from_arrays(len(self.symbols_), counts, numbers), counts

    def _of_file(self, model: _core.Model) -> None:
        self.symbols_ = model.vocabulary

    @classmethod
    def _parameters(cls, model: _core.Model) -> dict[str, Any]:
        pseudocount = json.loads(model.fit).get("pseudocount")
        found = {"n_components": model.components, **super()._parameters(model)}
        return found if pseudocount is None else {**found, "pseudocount": pseudocount}

    @property
    def startprob_(self) -> np.ndarray:
        """Probabilities of the first state: (states,)."""
        return self.model_.table("start")

    @property
    def transmat_(self) -> np.ndarray:
        """Probabilities of the next state, given a state: (states, states)."""
        return self.model_.table("trans")

    @property
    def emissionprob_(self) -> np.ndarray:
        """Probabilities of symbols, given a state: (states, symbols)."""
        return self.model_.table("emit").T

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags


def _flat(X: Any, lengths: Any) -> tuple[np.ndarray, np.ndarray]:
    """All symbols, whole numbers or strings, one sequence after the other, and how many are of each."""
    if isinstance(X, (str, bytes)):
        raise ValueError("X is one string, and should be a list of sequences")
    if lengths is not None or (isinstance(X, np.ndarray) and X.dtype.kind in "iu"):
        array = np.asarray(X)
        column = array.ndim == 2 and array.shape[1] == 1
        if lengths is not None:
            if not (array.ndim == 1 or column):
                raise ValueError(f"with lengths X is a vector or a column of symbols, not of shape {array.shape}")
            counts = np.asarray(lengths)
            if counts.ndim != 1 or (counts.dtype.kind not in "iu" and counts.size):
                raise ValueError("lengths are whole numbers")
        elif array.ndim == 1 or column:
            counts = np.array([array.size])
        elif array.ndim == 2:
            counts = np.full(array.shape[0], array.shape[1])
        else:
            raise ValueError(f"X has {array.ndim} axes, and should have one or two")
        return _symbols(array.ravel()), counts.astype(np.int64)
    if hasattr(X, "tolist") and not isinstance(X, np.ndarray):
        X = X.tolist()
    sequences = [_symbols(list(sequence) if isinstance(sequence, str) else sequence) for sequence in X]
    kinds = {sequence.dtype.kind for sequence in sequences if sequence.size}
    if len(kinds) > 1:
        raise TypeError("some symbols are numbers, some are strings")
    counts = np.array([sequence.size for sequence in sequences], np.int64)
    return np.concatenate(sequences) if sequences else np.zeros(0, np.int64), counts


def _symbols(sequence: Any) -> np.ndarray:
    """A vector of whole numbers or of strings."""
    array = np.asarray(sequence)
    if array.ndim != 1:
        raise ValueError(f"a sequence has {array.ndim} axes, and should have one")
    if array.size == 0:
        return np.zeros(0, np.int64)
    if array.dtype.kind == "U":
        return array
    if array.dtype.kind in "iu":
        if array.dtype == np.uint64 and array.max() >= MOST:
            raise ValueError(f"a symbol is {array.max()}, and should be below {MOST}")
        return array.astype(np.int64)
    raise TypeError(f"symbols are of type {array.dtype}, and should be whole numbers or strings")


def _alphabet(symbols: np.ndarray) -> list[str]:
    """Names of all symbols: strings in their order, numbers from 0 to the largest."""
    if symbols.dtype.kind == "U":
        names = np.unique(symbols).tolist()
    else:
        largest = int(symbols.max()) if symbols.size else -1
        if largest >= MOST:
            raise ValueError(f"a symbol is {largest}, and should be below {MOST}")
        names = [str(number) for number in range(largest + 1)]
    if len(names) > MOST:
        raise ValueError(f"there are {len(names)} symbols, and should be at most {MOST}")
    return names


def _numbers(symbols: np.ndarray, names: list[str]) -> np.ndarray:
    """The numbers of symbols in an alphabet."""
    if symbols.dtype.kind != "U":
        return symbols
    own, places = np.unique(symbols, return_inverse=True)
    numbers = {name: number for number, name in enumerate(names)}
    unknown = [name for name in own.tolist() if name not in numbers]
    if unknown:
        raise ValueError(f"the symbol {unknown[0]!r} is not in the alphabet of {len(names)} symbols")
    return np.array([numbers[name] for name in own.tolist()], np.int64)[places.ravel()]


def _like(X: Any, lengths: Any, counts: np.ndarray, found: np.ndarray) -> Any:
    """What was found at each position in the shape that the sequences came in."""
    if lengths is not None:
        return found
    if isinstance(X, np.ndarray) and X.dtype.kind in "iu":
        matrix = X.ndim == 2 and X.shape[1] != 1
        return found.reshape(*X.shape, *found.shape[1:]) if matrix else found
    return np.split(found, np.cumsum(counts)[:-1])
