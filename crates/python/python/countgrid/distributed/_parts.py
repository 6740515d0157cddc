"""What a fit in parts is on every engine: rows to leaves, sums of leaves, the fixed tree, and iterations that can be gone on with; texts to
words that are counted in parts.

An engine adds how parts are computed where their rows are, and how their sums come together.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Sequence

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from .. import _core
from .._data import TYPES, bags, jobs_of
from .._grids import _GridModel
from .._progress import shown
from .._text import TextVectorizer

#: Consecutive leaves as a file, the digest of each, and how many rows are not empty.
Documents = tuple[bytes, list[int], int]


@dataclass(frozen=True)
class Cluster:
    """Says when a cluster was lost, if it is, and what is kept."""

    errors: tuple[type[BaseException], ...]
    checkpoint: str | os.PathLike[str] | None
    what: str = "the cluster was lost"
    told: Callable[[BaseException], str] = str

    @contextlib.contextmanager
    def lost(self, when: Callable[[], str]) -> Iterator[None]:
        try:
            yield
        except self.errors as error:
            kept = "give a checkpoint to keep what is done"
            if self.checkpoint is not None and os.path.exists(self.checkpoint):
                path = os.fspath(self.checkpoint)
                kept = f"the state after the last whole iteration is in {path}; fit again with it to go on"
            raise RuntimeError(f"{self.what} {when()} ({self.told(error)}): {kept}") from error


class Training:
    """The training of an estimator on rows that lie elsewhere."""

    def __init__(self, estimator: Any, cluster: Cluster) -> None:
        if not isinstance(estimator, _GridModel):
            raise TypeError(
                f"{type(estimator).__name__} cannot be fitted in parts: grids, componential grids, mixtures and vectorizers can"
            )
        if getattr(estimator, "warm_start", False):
            raise ValueError(
                "warm_start is True, and a fit in parts begins anew: set it to False, or give a checkpoint"
            )
        self.estimator, self.cluster = estimator, cluster
        self.options, self.double, self.jobs = (
            estimator._request(False),
            estimator._double(),
            jobs_of(estimator.n_jobs),
        )

    def fit(self, totals: tuple[int, int, int, float], digests: list[int], sums_of: Callable[[int, bytes], bytes]) -> Any:
        """Fits the estimator to rows of which columns, rows, rows that are not empty and tokens are known, and the digests of all
        leaves. `sums_of` computes the sums of all leaves under the state of an iteration."""
        state = _core.start_state(self.estimator._kind, self.options, totals, digests, None, self.double)
        kept = _read(self.cluster.checkpoint)
        if kept is not None:
            if not _core.same_training(state, kept):
                raise ValueError(
                    f"{os.fspath(self.cluster.checkpoint)} is the state of a fit with other options, another seed or other rows: "
                    "give those, with an integer for random_state, or another file"
                )
            state = kept
        iteration, model = 0, _core.finish_state(state)
        with self.cluster.lost(lambda: f"in iteration {iteration + 1}"), shown(self.estimator) as progress:
            while model is None:
                state, at, done = _core.step_state(state, sums_of(iteration, state), self.jobs)
                _write(self.cluster.checkpoint, state)
                model = _core.finish_state(state) if done else None
                iteration += 1
                if progress is not None:
                    progress(*at)
        self.estimator.model_ = model
        self.estimator.__dict__.pop("_state", None)  # of partial_fit
        self.estimator.__dict__.pop("feature_names_in_", None)
        self.estimator.n_features_in_ = totals[0]
        self.estimator._ended()
        return self.estimator


class Selection:
    """The selection of a vectorizer's words from texts that lie elsewhere. Its options and what is passed on are bytes, or text."""

    def __init__(self, vectorizer: TextVectorizer, checkpoint: Any) -> None:
        if checkpoint is not None:
            raise ValueError("the words of a TextVectorizer are selected in two passes, and have no checkpoint: give none")
        self.vectorizer, self.options = vectorizer, vectorizer._words(vectorizer.language)

    def settle(self, languages: Sequence[bytes]) -> list[bytes]:
        """How the texts of each part are to be counted, of all parts in their order."""
        if not languages:
            raise ValueError("there are no blocks of texts")
        return _core.settle_languages(self.options, list(languages))

    def select(self, words: bytes, how: bytes) -> TextVectorizer:
        """The vectorizer, fitted to the words of all parts."""
        self.vectorizer._select(*_core.select_merged(words, how))
        return self.vectorizer


def columns_of(shapes: Sequence[tuple[int, int]]) -> int:
    """The columns of blocks of these shapes."""
    if not shapes:
        raise ValueError("there are no blocks of rows")
    columns = shapes[0][1]
    for number, (_, found) in enumerate(shapes):
        if found != columns:
            raise ValueError(f"block {number} has {found} columns, and block 0 has {columns}: all blocks need the same")
    if not any(rows for rows, _ in shapes):
        raise ValueError("the blocks have no rows")
    return columns


#: Parts at most: a client needs some three milliseconds for each in every iteration, for its sums and for adding them up.
MOST_PARTS = 512


def leaves_of_part(leaves: int, workers: int) -> int:
    """Leaves of a part: a power of two, so that its sums are one table; if there are enough, two parts for each worker."""
    group = 1
    while leaves // (2 * group) >= 2 * max(workers, 1) or leaves > MOST_PARTS * group:
        group *= 2
    return group


def checked(block: Any) -> Any:
    """A block of rows as SciPy's compressed rows."""
    shape = getattr(block, "shape", ())
    if len(shape) == 2 and shape[0] == 0:
        return sp.csr_matrix(shape)  # of whose counts scikit-learn wants the least
    return sp.csr_matrix(
        check_array(block, accept_sparse="csr", dtype=TYPES, ensure_non_negative=True, ensure_min_samples=0)
    )


def documents(first: int, double: bool, pieces: Sequence[Any]) -> Documents:
    """The rows of a part, whose first leaf has this number."""
    return _core.leaf_documents(bags(sp.vstack(pieces, format="csr"), double=double), first)


def tokens(before: float, block: Any) -> float:
    """The sum of all counts, from that of the rows before on."""
    # What comes over the network may lie anywhere in memory.
    return _core.add_tokens(before, np.require(block.indptr, requirements="A"), block.data.astype(np.float64))


def _read(path: Any) -> bytes | None:
    if path is None or not os.path.exists(path):
        return None
    with open(path, "rb") as file:
        return file.read()


def _write(path: Any, state: bytes) -> None:
    """Writes a state, whole or not at all."""
    if path is None:
        return
    beside = f"{os.fspath(path)}.{uuid.uuid4().hex[:8]}"
    try:
        with open(beside, "wb") as file:
            file.write(state)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    finally:
        if os.path.exists(beside):
            os.remove(beside)
