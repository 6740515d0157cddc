"""Grids, componential grids and mixtures fitted to matrices of counts that lie on the workers of a Dask cluster, and vocabularies of texts.

The model has the bytes that `fit` gives on one machine with the same rows, options and seed, whatever workers there are and whichever
of them are lost: sums over leaves of 16,384 rows are added up in one fixed tree. Rows are put into leaves by the workers, wherever
the borders of blocks are. Words are those that `TextVectorizer` selects on one machine.

>>> from dask.distributed import Client                                      # doctest: +SKIP
>>> from countgrid import CountingGrid
>>> from countgrid.distributed import dask as countgrid_dask
>>> client = Client()                                                        # doctest: +SKIP
>>> grid = countgrid_dask.fit(CountingGrid((8, 8), (3, 3), random_state=1), blocks)  # doctest: +SKIP
>>> places = countgrid_dask.transform(grid, blocks)                          # doctest: +SKIP

>>> from countgrid import TextVectorizer
>>> words = countgrid_dask.fit(TextVectorizer(), texts)                      # doctest: +SKIP
>>> blocks = countgrid_dask.transform(words, texts)                          # doctest: +SKIP
"""

from __future__ import annotations

import os
import uuid
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

try:
    import dask
    import dask.array
    from dask.distributed import CancelledError, Client, KilledWorker, get_client
    from distributed.comm import CommClosedError
except ImportError as error:
    raise ImportError("countgrid.distributed.dask needs Dask: pip install countgrid[dask]") from error

from .. import _core
from .._text import TextVectorizer, texts
from ._parts import Cluster, Documents, Selection, Training, checked, columns_of, leaves_of_part
from ._parts import documents as documents_of
from ._parts import tokens as tokens_of

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
    estimator : CountingGrid, ComponentialGrid, MultinomialMixture or TextVectorizer
        With any options but `batch_size`, `warm_start` and `phrases`. `n_jobs` is the threads of each task, `verbose` shows iterations
        here.
    X : dask array, or list of delayed or futures; of a TextVectorizer also a bag or a series
        Blocks of rows: SciPy matrices or NumPy arrays of counts, with all columns, whose names are not kept. What is delayed is
        computed again where a worker is lost; futures of data that were scattered cannot be. Of a TextVectorizer texts: blocks are
        lists of them.
    client : dask.distributed.Client, optional
        The present one if there is none.
    checkpoint : path, optional
        Where the state is kept after every iteration. If there is one, the fit goes on from it; a state of other options, another
        seed or other rows is refused.
    """
    cluster = Cluster((KilledWorker, CommClosedError, CancelledError), checkpoint)
    client = get_client() if client is None else client
    run = uuid.uuid4().hex[:8]

    def submit(name: str, place: object, function: Any, *arguments: Any) -> Any:
        # The part before the number is what the dashboard shows. None of the tasks has effects: a lost one is run again.
        return client.submit(function, *arguments, key=f"countgrid-{name}-{run}-{place}", pure=False)

    if isinstance(estimator, TextVectorizer):
        return _fit_words(Selection(estimator, checkpoint), X, client, cluster, submit)
    training = Training(estimator, cluster)
    with training.cluster.lost(lambda: "while rows were read"):
        blocks = [submit("read", number, checked, block) for number, block in enumerate(client.compute(_blocks(X)))]
        shapes = client.gather([submit("shape", number, _shape, block) for number, block in enumerate(blocks)])
        columns = columns_of(shapes)
        ends = np.cumsum([rows for rows, _ in shapes])
        rows, size = int(ends[-1]), _core.leaf_size()

        leaves = -(-rows // size)
        group = leaves_of_part(leaves, len(client.nthreads()))
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
            documents.append(submit("documents", first, _documents, first, training.double, cuts, *own))
        tokens: Any = 0.0
        for number, block in enumerate(blocks):
            tokens = submit("tokens", number, tokens_of, tokens, block)
        numbers = client.gather([submit("digests", number, _numbers, part) for number, part in enumerate(documents)])
        totals = (columns, rows, sum(non_empty for _, non_empty in numbers), tokens.result())
    digests = [digest for part, _ in numbers for digest in part]
    del blocks, tokens  # Dask keeps how they are made.

    def sums_of(iteration: int, state: bytes) -> bytes:
        # Through a task, so that it is there once for all, and again if its worker is lost.
        here = submit("state", iteration, _same, state)
        sums = [
            submit("sums", f"{iteration}-{number}", _sums, here, part, training.jobs)
            for number, part in enumerate(documents)
        ]
        return _added(submit, _core.merge_sums, sums, iteration).result()

    return training.fit(totals, digests, sums_of)


def _added(submit: Any, add: Any, parts: list[Any], place: object) -> Any:
    """The sum of parts, along the tree whose leaves they are."""
    level = 0
    while len(parts) > 1:
        pairs = [parts[first : first + 2] for first in range(0, len(parts), 2)]
        parts = [
            submit("merge", f"{place}-{level}-{number}", add, *pair) if len(pair) == 2 else pair[0]
            for number, pair in enumerate(pairs)
        ]
        level += 1
    return parts[0]


def _fit_words(selection: Selection, X: Any, client: Client, cluster: Cluster, submit: Any) -> TextVectorizer:
    with cluster.lost(lambda: "while words were counted"):
        blocks = client.compute(_text_blocks(X))
        blocks = [submit("texts", number, texts, block) for number, block in enumerate(blocks)]
        languages = [
            submit("languages", number, _core.part_languages, block, selection.options) for number, block in enumerate(blocks)
        ]
        settled = selection.settle(client.gather(languages))
        words = [
            submit("words", number, _core.part_words, block, how)
            for number, (block, how) in enumerate(zip(blocks, settled))
        ]
        return selection.select(_added(submit, _core.merge_words, words, "words").result(), settled[0])


def transform(estimator: Any, X: Any) -> Any:
    """The posterior of every row over the components of a fitted model: a Dask array, computed where the rows are. Of a TextVectorizer
    the counts of its words: a list of delayed blocks of rows, such as `fit` takes."""
    if isinstance(estimator, TextVectorizer):
        check_is_fitted(estimator, "words_")
        vectorizer = dask.delayed(estimator)
        return [dask.delayed(_place)(vectorizer, block) for block in _text_blocks(X)]
    check_is_fitted(estimator, "model_")
    fitted, width = dask.delayed(estimator), estimator._n_features_out
    place = dask.delayed(_place)
    parts = [
        dask.array.from_delayed(place(fitted, block), shape=(np.nan, width), dtype=np.float64) for block in _blocks(X)
    ]
    if not parts:
        raise ValueError("there are no blocks of rows")
    return dask.array.concatenate(parts, axis=0, allow_unknown_chunksizes=True)


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


def _text_blocks(X: Any) -> list[Any]:
    """The blocks of texts, delayed."""
    if isinstance(X, (list, tuple)):
        return [dask.delayed(block) for block in X]
    if not hasattr(X, "to_delayed"):
        raise TypeError(f"X is a {type(X).__name__}, and needs to be a Dask bag or series of texts or a list of delayed lists of them")
    ndim = getattr(X, "ndim", 1)
    if ndim != 1:
        raise ValueError(f"X has {ndim} axes, and needs to be one column of texts")
    return list(np.ravel(X.to_delayed()))


def _shape(block: Any) -> tuple[int, int]:
    return tuple(block.shape)


def _documents(first: int, double: bool, cuts: list[tuple[int, int]], *blocks: Any) -> Documents:
    return documents_of(first, double, [block[low:high] for block, (low, high) in zip(blocks, cuts)])


def _numbers(documents: Documents) -> tuple[list[int], int]:
    return documents[1:]


def _sums(state: bytes, documents: Documents, jobs: int) -> bytes:
    return _core.leaf_sums(state, documents[0], jobs)


def _same(state: bytes) -> bytes:
    return state


def _place(estimator: Any, block: Any) -> np.ndarray:
    return estimator.transform(block)
