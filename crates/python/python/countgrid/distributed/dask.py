"""Grids, componential grids and mixtures fitted to matrices of counts that lie on the workers of a Dask cluster.

The model has the bytes that `fit` gives on one machine with the same rows, options and seed, whatever workers there are and whichever
of them are lost: sums over leaves of 16,384 rows are added up in one fixed tree. Rows are put into leaves by the workers, wherever
the borders of blocks are.

>>> from dask.distributed import Client                                      # doctest: +SKIP
>>> from countgrid import CountingGrid
>>> from countgrid.distributed import dask as countgrid_dask
>>> client = Client()                                                        # doctest: +SKIP
>>> grid = countgrid_dask.fit(CountingGrid((8, 8), (3, 3), random_state=1), blocks)  # doctest: +SKIP
>>> places = countgrid_dask.transform(grid, blocks)                          # doctest: +SKIP
"""

from __future__ import annotations

import contextlib
import os
import uuid
from typing import Any, Callable, Iterator

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

try:
    import dask
    import dask.array
    from dask.distributed import CancelledError, Client, KilledWorker, get_client
    from distributed.comm import CommClosedError
except ImportError as error:
    raise ImportError("countgrid.distributed.dask needs Dask: pip install countgrid[dask]") from error

from .. import _core
from .._data import TYPES, bags, jobs_of
from .._grids import _GridModel
from .._progress import shown

__all__ = ["fit", "transform"]


def fit(
    estimator: Any,
    X: Any,
    *,
    client: Client | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Any:
    """Fits an estimator to rows that lie on workers, and returns it.

    Parameters
    ----------
    estimator : CountingGrid, ComponentialGrid or MultinomialMixture
        With any options but `batch_size` and `warm_start`. `n_jobs` is the threads of each task, `verbose` shows iterations here.
    X : dask array, or list of delayed or futures
        Blocks of rows: SciPy matrices or NumPy arrays of counts, with all columns, whose names are not kept. What is delayed is
        computed again where a worker is lost; futures of data that were scattered cannot be.
    client : dask.distributed.Client, optional
        The present one if there is none.
    checkpoint : path, optional
        Where the state is kept after every iteration. If there is one, the fit goes on from it; a state of other options, another
        seed or other rows is refused.
    """
    if not isinstance(estimator, _GridModel):
        raise TypeError(f"{type(estimator).__name__} cannot be fitted in parts: grids, componential grids and mixtures can")
    if getattr(estimator, "warm_start", False):
        raise ValueError("warm_start is True, and a fit in parts begins anew: set it to False, or give a checkpoint")
    options, double, jobs = estimator._request(False), estimator._double(), jobs_of(estimator.n_jobs)
    client = get_client() if client is None else client
    run = uuid.uuid4().hex[:8]

    def submit(name: str, place: object, function: Any, *arguments: Any) -> Any:
        # The part before the number is what the dashboard shows. None of the tasks has effects: a lost one is run again.
        return client.submit(function, *arguments, key=f"countgrid-{name}-{run}-{place}", pure=False)

    with _cluster(lambda: "while rows were read", checkpoint):
        blocks = [submit("read", number, _checked, block) for number, block in enumerate(client.compute(_blocks(X)))]
        if not blocks:
            raise ValueError("there are no blocks of rows")
        shapes = client.gather([submit("shape", number, _shape, block) for number, block in enumerate(blocks)])
        columns = shapes[0][1]
        for number, (_, found) in enumerate(shapes):
            if found != columns:
                raise ValueError(f"block {number} has {found} columns, and block 0 has {columns}: all blocks need the same")
        ends = np.cumsum([rows for rows, _ in shapes])
        rows, size = int(ends[-1]), _core.leaf_size()
        if rows == 0:
            raise ValueError("the blocks have no rows")

        leaves = -(-rows // size)
        group = _leaves_of_part(leaves, len(client.nthreads()))
        documents = []
        for first in range(0, leaves, group):
            start, end = first * size, min((first + group) * size, rows)
            pieces = []
            for number in range(int(np.searchsorted(ends, start, side="right")), len(blocks)):
                before = int(ends[number]) - shapes[number][0]
                if before >= end:
                    break
                if shapes[number][0]:
                    pieces.append((number, max(start - before, 0), min(end - before, shapes[number][0])))
            cuts = [(low, high) for _, low, high in pieces]
            own = [blocks[number] for number, _, _ in pieces]
            documents.append(submit("documents", first, _documents, first, double, cuts, *own))
        tokens: Any = 0.0
        for number, block in enumerate(blocks):
            tokens = submit("tokens", number, _tokens, tokens, block)
        numbers = client.gather([submit("digests", number, _numbers, part) for number, part in enumerate(documents)])
        totals = (columns, rows, sum(non_empty for _, non_empty in numbers), tokens.result())
    digests = [digest for part, _ in numbers for digest in part]
    del blocks, tokens  # Dask keeps how they are made.

    state = _core.start_state(estimator._kind, options, totals, digests, None, double)
    kept = _read(checkpoint)
    if kept is not None:
        if not _core.same_training(state, kept):
            raise ValueError(
                f"{os.fspath(checkpoint)} is the state of a fit with other options, another seed or other rows: give those, with "
                "an integer for random_state, or another file"
            )
        state = kept
    iteration, model = 0, _core.finish_state(state)
    with _cluster(lambda: f"in iteration {iteration + 1}", checkpoint):
        with shown(estimator) as progress:
            while model is None:
                # Through a task, so that it is there once for all, and again if its worker is lost.
                here = submit("state", iteration, _same, state)
                sums = [
                    submit("sums", f"{iteration}-{number}", _sums, here, part, jobs)
                    for number, part in enumerate(documents)
                ]
                level = 0
                while len(sums) > 1:
                    sums = [
                        submit("merge", f"{iteration}-{level}-{pair}", _merged, *sums[pair : pair + 2])
                        if len(sums[pair : pair + 2]) == 2
                        else sums[pair]
                        for pair in range(0, len(sums), 2)
                    ]
                    level += 1
                state, at, done = _core.step_state(state, sums[0].result(), jobs)
                _write(checkpoint, state)
                model = _core.finish_state(state) if done else None
                iteration += 1
                if progress is not None:
                    progress(*at)
    estimator.model_ = model
    estimator.__dict__.pop("_state", None)  # of partial_fit
    estimator.__dict__.pop("feature_names_in_", None)
    estimator.n_features_in_ = columns
    estimator._ended()
    return estimator


def transform(estimator: Any, X: Any) -> Any:
    """The posterior of every row over the components of a fitted model: a Dask array, computed where the rows are."""
    check_is_fitted(estimator, "model_")
    fitted, width = dask.delayed(estimator), estimator._n_features_out
    place = dask.delayed(_place)
    parts = [
        dask.array.from_delayed(place(fitted, block), shape=(np.nan, width), dtype=np.float64) for block in _blocks(X)
    ]
    if not parts:
        raise ValueError("there are no blocks of rows")
    return dask.array.concatenate(parts, axis=0, allow_unknown_chunksizes=True)


@contextlib.contextmanager
def _cluster(when: Callable[[], str], checkpoint: Any) -> Iterator[None]:
    """Says when the cluster was lost, if it is, and what is kept."""
    try:
        yield
    except (KilledWorker, CommClosedError, CancelledError) as error:
        kept = "give a checkpoint to keep what is done"
        if checkpoint is not None and os.path.exists(checkpoint):
            kept = f"the state after the last whole iteration is in {os.fspath(checkpoint)}; fit again with it to go on"
        raise RuntimeError(f"the cluster was lost {when()} ({error}): {kept}") from error


def _blocks(X: Any) -> list[Any]:
    """The blocks of rows, delayed."""
    if isinstance(X, dask.array.Array):
        if X.ndim != 2 or X.numblocks[1] != 1:
            raise ValueError(
                f"X is an array of {X.ndim} axes in {X.numblocks} blocks, and needs to be a matrix with all columns in each "
                "block: rechunk it with X.rechunk({1: -1})"
            )
        return list(X.to_delayed().ravel())
    if isinstance(X, (list, tuple)):
        return [dask.delayed(block) for block in X]
    raise TypeError(f"X is a {type(X).__name__}, and needs to be a Dask array or a list of delayed blocks of rows")


def _leaves_of_part(leaves: int, workers: int) -> int:
    """Leaves of a part: a power of two, so that its sums are one table; if there are enough, two parts for each worker."""
    group = 1
    while leaves // (2 * group) >= 2 * max(workers, 1):
        group *= 2
    return group


def _checked(block: Any) -> Any:
    return sp.csr_matrix(
        check_array(block, accept_sparse="csr", dtype=TYPES, ensure_non_negative=True, ensure_min_samples=0)
    )


def _shape(block: Any) -> tuple[int, int]:
    return tuple(block.shape)


def _documents(first: int, double: bool, cuts: list[tuple[int, int]], *blocks: Any) -> tuple[bytes, list[int], int]:
    rows = sp.vstack([block[low:high] for block, (low, high) in zip(blocks, cuts)], format="csr")
    return _core.leaf_documents(bags(rows, double=double), first)


def _numbers(documents: tuple[bytes, list[int], int]) -> tuple[list[int], int]:
    return documents[1:]


def _tokens(before: float, block: Any) -> float:
    # What comes over the network may lie anywhere in memory.
    return _core.add_tokens(before, np.require(block.indptr, requirements="A"), block.data.astype(np.float64))


def _sums(state: bytes, documents: tuple[bytes, list[int], int], jobs: int) -> bytes:
    return _core.leaf_sums(state, documents[0], jobs)


def _merged(one: bytes, other: bytes) -> bytes:
    return _core.merge_sums(one, other)


def _same(state: bytes) -> bytes:
    return state


def _place(estimator: Any, block: Any) -> np.ndarray:
    return estimator.transform(block)


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
