"""Grids, componential grids and mixtures fitted to bags of counts that lie on a Spark cluster, and vocabularies of texts.

The model has the bytes that `fit` gives on one machine with the same rows, options and seed, whatever executors there are and whichever
of their tasks fail: sums over leaves of 16,384 rows are added up in one fixed tree. Jobs are those of ordinary RDDs: no barriers, no
connections between tasks. Executors need this package, as they need NumPy. Words are those that `TextVectorizer` selects on one machine.

>>> from pyspark.sql import SparkSession                                     # doctest: +SKIP
>>> from countgrid import CountingGrid
>>> from countgrid.distributed import spark as countgrid_spark
>>> frame = SparkSession.builder.getOrCreate().read.parquet("bags")          # doctest: +SKIP
>>> grid = CountingGrid((8, 8), (3, 3), random_state=1)
>>> grid = countgrid_spark.fit(grid, frame, column="features")               # doctest: +SKIP
>>> places = countgrid_spark.transform(grid, frame, column="features")       # doctest: +SKIP
"""

from __future__ import annotations

import contextlib
import os
import pickle
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, Iterable, Iterator, Sequence

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

try:
    import pyarrow as pa
    from py4j.protocol import Py4JError
    from pyspark import RDD, StorageLevel
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame
    from pyspark.sql.types import ArrayType, DoubleType, StructField, StructType
except ImportError as error:
    raise ImportError("countgrid.distributed.spark needs Spark: pip install countgrid[spark]") from error

from .. import _core
from .._text import TextVectorizer, texts
from ._parts import Cluster, Selection, Training, checked, columns_of, documents, leaves_of_part

__all__ = ["fit", "transform"]

#: What Spark raises in this process if a job fails, or if the driver is lost.
_ERRORS = (Py4JError, PySparkException, ConnectionError)

#: Documents of a record, estimated: far from the 2 GiB that Spark allows, however much denser than the mean its rows are.
_RECORD_BYTES = 2**28

#: Sums that come to the driver as they are; more are merged by a stage of their own first.
_MOST_COLLECTED = 8

#: Numbers of posteriors of a batch of a data frame.
_PLACED = 2**22


def fit(
    estimator: Any,
    X: Any,
    *,
    column: str | tuple[str, str] = "features",
    n_features: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Any:
    """Fits an estimator to rows that lie on executors, and returns it.

    Parameters
    ----------
    estimator : CountingGrid, ComponentialGrid, MultinomialMixture or TextVectorizer
        With any options but `batch_size`, `warm_start` and `phrases`. `n_jobs` is the threads of each task, which should be `spark.task.cpus`;
        `verbose` shows iterations here.
    X : DataFrame or RDD
        A data frame with a bag in each row, or an RDD of blocks of rows: SciPy matrices or NumPy arrays of counts, with all columns. Rows
        have the order in which `collect` gives them. X is computed twice, so that it should be persisted if that is dear, and gives
        the same rows each time: sort a data frame whose order is not that of its files. Of a TextVectorizer texts: a column of a
        data frame, or an RDD of them.
    column : str, or pair of str
        Of a data frame: the column of texts, or of vectors of `pyspark.ml.linalg`; or two columns of arrays, the indices from 0 of a bag's words and
        their counts.
    n_features : int
        With two columns of arrays: how many words there are.
    checkpoint : path, optional
        A file of the driver, where the state is kept after every iteration. If there is one, the fit goes on from it; a state of
        other options, another seed or other rows is refused.
    """
    cluster = Cluster(_ERRORS, checkpoint, "Spark has given up", _told)
    if isinstance(estimator, TextVectorizer):
        return _fit_words(Selection(estimator, checkpoint), _texts(X, column), cluster)
    training = Training(estimator, cluster)
    blocks = _blocks(X, column, n_features)
    context = blocks.context
    with training.cluster.lost(lambda: "while rows were read"):
        shapes: list[list[tuple[int, int, int]]] = []
        for part in blocks.mapPartitions(_shapes).collect():
            if isinstance(part, _Refused):
                raise ValueError(part.message)
            shapes.append(part)
        columns = columns_of([shape[:2] for part in shapes for shape in part])
        counts = [sum(rows for rows, _, _ in part) for part in shapes]
        starts = [0, *np.cumsum(counts).tolist()]
        rows, size = starts[-1], _core.leaf_size()

        leaves = -(-rows // size)
        group = of_record = leaves_of_part(leaves, context.defaultParallelism)
        bytes_of_leaf = 16 * sum(entries for part in shapes for _, _, entries in part) / leaves
        while of_record > 1 and of_record * bytes_of_leaf > _RECORD_BYTES:
            of_record //= 2
        parts = -(-leaves // group)
        cut = partial(_cut, starts, of_record * size, group // of_record)
        own = partial(_documents, of_record, training.double)
        records = blocks.mapPartitionsWithIndex(cut).partitionBy(parts, _itself).mapPartitions(own)
        records = records.setName("countgrid documents").persist(StorageLevel.MEMORY_AND_DISK)
    try:
        with training.cluster.lost(lambda: "while rows were read"):
            numbers = records.map(_numbers).collect()
            tokens = _tokens(records, [whole for _, _, whole in numbers])
        totals = (columns, rows, sum(non_empty for _, non_empty, _ in numbers), tokens)
        digests = [digest for record, _, _ in numbers for digest in record]

        def sums_of(_: int, state: bytes) -> bytes:
            return _sums_of(records, parts, state, training.jobs)

        return training.fit(totals, digests, sums_of)
    finally:
        with contextlib.suppress(*_ERRORS):
            records.unpersist()


def transform(
    estimator: Any,
    X: Any,
    *,
    column: str | tuple[str, str] = "features",
    n_features: int | None = None,
    output: str = "posterior",
) -> Any:
    """The posterior of every row over the components of a fitted model, computed where the rows are: of a data frame, the frame with a
    further column of arrays; of an RDD of blocks, an RDD of arrays of two axes. `column` and `n_features` are as in `fit`. Of a
    TextVectorizer the counts of its words: an RDD of blocks of rows, such as `fit` takes."""
    if isinstance(estimator, TextVectorizer):
        check_is_fitted(estimator, "words_")
        own = _texts(X, column)
        return own.mapPartitions(partial(_counted, own.context.broadcast(estimator)))
    check_is_fitted(estimator, "model_")
    _check_kind(X)
    if isinstance(X, RDD):
        return X.mapPartitions(partial(_placed, X.context.broadcast(estimator)))
    names = _names(X, column, n_features)
    if output in X.columns:
        raise ValueError(f"X has a column {output!r} already: name another with `output`")
    schema = StructType([*X.schema.fields, StructField(output, ArrayType(DoubleType(), False), False)])
    model = X.sparkSession.sparkContext.broadcast(estimator)
    places = partial(_placed_in_arrow, model, names, [X.columns.index(name) for name in names], n_features, schema.names)
    return _numbered(X).mapInArrow(places, schema)


def _fit_words(selection: Selection, own: RDD[Any], cluster: Cluster) -> TextVectorizer:
    with cluster.lost(lambda: "while words were counted"):
        languages = []
        for part in own.mapPartitions(partial(_languages, selection.options)).collect():
            if isinstance(part, _Refused):
                raise ValueError(part.message)
            languages.append(part)
        settled = selection.settle(languages)
        words = own.mapPartitionsWithIndex(partial(_words, own.context.broadcast(settled)))
        return selection.select(words.treeReduce(_core.merge_words), settled[0])


def _texts(X: Any, column: str | tuple[str, str]) -> RDD[Any]:
    """The texts, in their order."""
    _check_kind(X)
    if isinstance(X, RDD):
        return X
    name = column if isinstance(column, str) else None
    if name not in X.columns:
        raise ValueError(f"X has no column {column!r}, but {', '.join(X.columns)}")
    return _numbered(X).select(str(X.columns.index(name))).rdd.map(_first)


def _first(row: Any) -> Any:
    return row[0]


def _languages(options: str, own: Iterable[Any]) -> Iterator[bytes | _Refused]:
    try:
        yield _core.part_languages(texts(own), options)
    except (TypeError, ValueError) as error:
        yield _Refused(str(error))


def _words(settled: Any, number: int, own: Iterable[Any]) -> Iterator[bytes]:
    yield _core.part_words(texts(own), settled.value[number])


def _counted(vectorizer: Any, own: Iterable[Any]) -> Iterator[sp.csr_matrix]:
    yield vectorizer.value.transform(own)


@dataclass(frozen=True)
class _Refused:
    """Rows that are not bags. As a value: what a task raises makes Spark repeat it, and then comes as a stack of Java."""

    message: str


def _told(error: BaseException) -> str:
    """What a task raised, or the beginning of what Spark says; the whole, with stacks of both languages, is the cause."""
    text = str(error)
    for line in text.partition("Traceback (most recent call last):\n")[2].splitlines():
        if line and not line[0].isspace():
            return line[:500]
    return " ".join(text[:500].split())


def _check_kind(X: Any) -> None:
    if type(X).__module__.startswith("pyspark.sql.connect"):
        raise TypeError("X is a data frame of Spark Connect, which has no RDDs: make it in a session of the driver")
    if not isinstance(X, (RDD, DataFrame)):
        raise TypeError(f"X is a {type(X).__name__}, and needs to be a data frame or an RDD of Spark")


def _names(X: DataFrame, column: str | tuple[str, str], n_features: int | None) -> tuple[str, ...]:
    """The columns of a frame that have the bags."""
    names = (column,) if isinstance(column, str) else tuple(column)
    if len(names) > 2 or not names:
        raise ValueError(f"column is {column!r}, and should be the column of vectors, or those of indices and of counts")
    for name in names:
        if name not in X.columns:
            raise ValueError(f"X has no column {name!r}, but {', '.join(X.columns)}")
    if len(names) == 2 and (n_features is None or n_features < 1):
        raise ValueError(f"n_features is {n_features}, and should be how many words there are, of which arrays have some")
    return names


def _blocks(X: Any, column: str | tuple[str, str], n_features: int | None) -> RDD[Any]:
    """The blocks of rows, of which those that are not matrices are refused later."""
    _check_kind(X)
    if isinstance(X, RDD):
        return X
    names = _names(X, column, n_features)
    own = _numbered(X).select(*(str(X.columns.index(name)) for name in names))
    return own.mapInArrow(partial(_packed, names, n_features), "block binary").rdd.map(_unpacked)


def _numbered(X: DataFrame) -> DataFrame:
    """The frame with numbers for names: Spark does not map frames with names in which there are dots."""
    return X.toDF(*map(str, range(len(X.columns))))


def _packed(names: tuple[str, ...], n_features: int | None, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        try:
            block: Any = _matrix(batch.columns, names, n_features)
        except ValueError as error:
            block = _Refused(str(error))
        yield pa.record_batch([pa.array([pickle.dumps(block)], pa.binary())], names=["block"])


def _unpacked(row: Any) -> Any:
    return pickle.loads(row[0])


def _matrix(arrays: Sequence[Any], names: tuple[str, ...], n_features: int | None) -> Any:
    """The bags of a batch of rows, in one column or in two, with these names."""
    for name, array in zip(names, arrays):
        if array.null_count:
            raise ValueError(f"column {name!r} has rows without a value: leave them out")
    if len(names) == 2:
        (indices, ends), (counts, other) = (_lists(array, name) for array, name in zip(arrays, names))
        if not np.array_equal(ends, other):
            row = int(np.flatnonzero(ends != other)[0])
            have = int(np.diff(ends)[row - 1]), int(np.diff(other)[row - 1])
            raise ValueError(f"a row has {have[0]} indices in {names[0]!r} and {have[1]} counts in {names[1]!r}")
        columns = int(n_features or 0)
    else:
        indices, counts, ends, columns = _vectors(arrays[0], names[0])
        if n_features is not None and n_features != columns:
            raise ValueError(f"vectors in column {names[0]!r} have {columns} elements, and n_features is {n_features}")
    if not np.issubdtype(indices.dtype, np.integer):
        raise ValueError(f"column {names[0]!r} has indices of type {indices.dtype}, and should have integers")
    if len(indices) and not (0 <= indices.min() and indices.max() < columns):
        wrong = indices[(indices < 0) | (indices >= columns)][0]
        raise ValueError(f"column {names[0]!r} has the index {wrong}, and should have those from 0 to {columns - 1}")
    return sp.csr_matrix((counts, indices, ends), shape=(len(ends) - 1, columns))


def _lists(array: Any, name: str, lengths: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """The elements of lists, and where each list ends; where lists are missing, they are empty."""
    if not (pa.types.is_list(array.type) or pa.types.is_large_list(array.type)):
        raise ValueError(f"column {name!r} has the type {array.type}, and should have arrays or vectors")
    values = array.flatten()
    if values.null_count:
        raise ValueError(f"column {name!r} has arrays with elements without a value")
    lengths = array.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    return values.to_numpy(zero_copy_only=False), np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def _vectors(array: Any, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Indices, counts and ends of vectors, as Spark ML stores them, and how long all of them are."""
    fields = [field.name for field in array.type] if pa.types.is_struct(array.type) else []
    if fields != ["type", "size", "indices", "values"]:
        raise ValueError(
            f"column {name!r} has the type {array.type}, and should have vectors; with arrays, name the columns of indices and of counts"
        )
    kind, size, *lists = (array.field(number) for number in range(4))
    dense = kind.to_numpy(zero_copy_only=False) == 1
    (of_sparse, _), (counts, ends) = (_lists(field, name) for field in lists)
    sizes = np.where(dense, np.diff(ends), size.fill_null(0).to_numpy(zero_copy_only=False))
    if len(np.unique(sizes)) > 1:
        raise ValueError(f"column {name!r} has vectors of {sizes.min()} and of {sizes.max()} elements: all need the same")
    indices = np.arange(len(counts)) - np.repeat(ends[:-1], np.diff(ends))
    indices[~np.repeat(dense, np.diff(ends))] = of_sparse
    return indices, counts, ends, int(sizes[0]) if len(sizes) else 0


def _checked(blocks: Iterable[Any]) -> Iterator[Any]:
    for block in blocks:
        if isinstance(block, _Refused):
            raise ValueError(block.message)
        yield checked(block)


def _shapes(blocks: Iterable[Any]) -> Iterator[list[tuple[int, int, int]] | _Refused]:
    """Rows, columns and entries of each block of a partition."""
    try:
        yield [(*block.shape, block.nnz) for block in _checked(blocks)]
    except (TypeError, ValueError) as error:
        yield _Refused(str(error))


def _cut(
    starts: list[int], rows_of_record: int, records_of_part: int, number: int, blocks: Iterable[Any]
) -> Iterator[tuple[int, tuple[int, Any]]]:
    """Rows of a partition for the parts that they are of, cut at the borders of records."""
    start, end = starts[number : number + 2]
    at = start
    for block in _checked(blocks):
        low = 0
        while low < block.shape[0]:
            record = (at + low) // rows_of_record
            high = min(block.shape[0], (record + 1) * rows_of_record - at)
            yield record // records_of_part, (at + low, block[low:high])
            low = high
        at += block.shape[0]
    if at != end:
        raise ValueError(
            f"partition {number} of X had {end - start} rows, and {at - start} when it was computed again: persist X, or sort it"
        )


def _itself(number: int) -> int:
    return number


@dataclass(frozen=True)
class _Record:
    """Consecutive leaves, on an executor."""

    documents: bytes
    digests: list[int]
    non_empty: int
    tokens: np.ndarray  # of each row


def _documents(leaves: int, double: bool, keyed: Iterable[tuple[int, tuple[int, Any]]]) -> Iterator[_Record]:
    pieces = sorted((piece for _, piece in keyed), key=lambda piece: piece[0])
    while pieces:
        record = pieces[0][0] // (leaves * _core.leaf_size())
        end = (record + 1) * leaves * _core.leaf_size()
        count = sum(start < end for start, _ in pieces)
        own = [piece for _, piece in pieces[:count]]
        del pieces[:count]
        # One addition after the other, as the sum of all rows has them; a product with one is exact.
        tokens = np.concatenate([piece.astype(np.float64) @ np.ones(piece.shape[1]) for piece in own])
        yield _Record(*documents(record * leaves, double, own), tokens)


def _numbers(record: _Record) -> tuple[list[int], int, int | None]:
    """Digests, rows that are not empty, and the tokens, if they are a sum without rounding in any order."""
    whole = bool((record.tokens == np.floor(record.tokens)).all()) and record.tokens.max(initial=0) < 2.0**53
    return record.digests, record.non_empty, sum(map(int, record.tokens)) if whole else None


def _row_tokens(record: _Record) -> np.ndarray:
    return record.tokens


def _tokens(records: RDD[_Record], wholes: list[int | None]) -> float:
    """The sum of all counts, with the roundings of one machine's, which adds up one row after the other."""
    exact = sum(whole for whole in wholes if whole is not None)
    if None not in wholes and exact <= 2**53:
        return float(exact)
    tokens = 0.0
    for rows in records.map(_row_tokens).toLocalIterator():  # a record at a time
        tokens = _core.add_tokens(tokens, np.arange(len(rows) + 1), rows)
    return tokens


def _sums_of(records: RDD[_Record], parts: int, state: bytes, jobs: int) -> bytes:
    """The sums of all leaves under a state."""
    broadcast = records.context.broadcast(state)
    try:
        sums = records.mapPartitionsWithIndex(partial(_sums, broadcast, jobs))
        if parts > _MOST_COLLECTED:
            # As many at once as then come to the driver. Of a power of two parts, whose leaves are a node of the tree, there is one table.
            fan = 1
            while fan * fan < parts:
                fan *= 2
            sums = sums.map(partial(_node, fan)).partitionBy(-(-parts // fan), _itself).mapPartitions(_merged)
        return reduce(_core.merge_sums, sums.values().collect())
    finally:
        with contextlib.suppress(*_ERRORS):
            broadcast.destroy()


def _sums(state: Any, jobs: int, number: int, records: Iterable[_Record]) -> Iterator[tuple[int, bytes]]:
    yield number, reduce(_core.merge_sums, (_core.leaf_sums(state.value, record.documents, jobs) for record in records))


def _node(fan: int, sums: tuple[int, bytes]) -> tuple[int, bytes]:
    return sums[0] // fan, sums[1]


def _merged(sums: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    # In any order: sums know which leaves they are of.
    yield 0, reduce(_core.merge_sums, (own for _, own in sums))


def _placed(estimator: Any, blocks: Iterable[Any]) -> Iterator[np.ndarray]:
    for block in blocks:
        yield _posterior(estimator.value, block)


def _placed_in_arrow(
    estimator: Any,
    names: tuple[str, ...],
    numbers: list[int],
    n_features: int | None,
    columns: list[str],
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    model = estimator.value
    step = max(1, _PLACED // model._n_features_out)
    for batch in batches:
        for first in range(0, batch.num_rows, step):
            rows = batch.slice(first, step)
            places = _posterior(model, _matrix([rows.column(number) for number in numbers], names, n_features))
            ends = pa.array(np.arange(0, places.size + 1, places.shape[1]), pa.int32())
            lists = pa.ListArray.from_arrays(ends, pa.array(places.ravel()))
            yield pa.RecordBatch.from_arrays([*rows.columns, lists], names=columns)


def _posterior(estimator: Any, block: Any) -> np.ndarray:
    if block.shape[0] == 0:
        return np.empty((0, estimator._n_features_out))
    return estimator.transform(block).astype(np.float64, copy=False)
