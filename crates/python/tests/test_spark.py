"""Fits on Spark executors have the bytes of fits on one machine."""

import contextlib
import logging
import os
import shutil
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

pyspark = pytest.importorskip("pyspark", reason="Spark is not installed: pip install countgrid[spark]")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs Java 17 or later, and there is none", allow_module_level=True)

import bags  # noqa: E402
import pyarrow as pa  # noqa: E402
from bags import COLUMNS, GRID, OTHERS, ROWS, TEXTS, WORDS, rows  # noqa: E402
from pyspark import cloudpickle  # noqa: E402
from pyspark.ml.linalg import Vectors, VectorUDT  # noqa: E402
from pyspark.sql import SparkSession, types  # noqa: E402

from countgrid import CountingGrid, LatentDirichlet, MultinomialMixture, TextVectorizer  # noqa: E402
from countgrid.distributed import spark as parts  # noqa: E402


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """Two threads of one machine, each with processes of Python; a task may fail once."""
    own = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    before = {name: os.environ.get(name) for name in own}
    os.environ.update(own)
    session = (
        SparkSession.builder.master("local[2,2]")
        .config("spark.local.dir", str(tmp_path_factory.mktemp("spark")))
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "OFF")
        .getOrCreate()
    )
    try:
        yield session
    finally:
        session.stop()
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


# Functions of this module would be looked for in a module that workers do not have: those within functions travel whole, and those of
# `bags`, which is told.
cloudpickle.register_pickle_by_value(bags)


def blocks(session, *borders, partitions=2, fraction=False):
    """Blocks with borders that are not those of leaves."""
    ends = [0, *borders, ROWS]

    def made(cut):
        return rows(*cut, fraction)

    return session.sparkContext.parallelize(list(zip(ends, ends[1:])), partitions).map(made)


@pytest.mark.parametrize("partitions", [1, 2, 3])
def test_bytes_of_partitions(session, partitions, expected):
    X = blocks(session, 7, 20_000, 20_000, 39_999, partitions=partitions)
    assert parts.fit(CountingGrid(**GRID), X).to_bytes() == expected


def test_bytes_of_larger_parts_and_stages_that_merge(session, expected, monkeypatch):
    monkeypatch.setattr(parts, "_MOST_COLLECTED", 1)
    X = blocks(session, 20_000, partitions=3)  # of two blocks
    assert parts.fit(CountingGrid(**GRID), X).to_bytes() == expected
    # Two parts, of two leaves and of one, in one record or in two.
    monkeypatch.setattr(parts, "leaves_of_part", lambda leaves, workers: 2)
    assert parts.fit(CountingGrid(**GRID), X).to_bytes() == expected
    monkeypatch.setattr(parts, "_RECORD_BYTES", 1)
    assert parts.fit(CountingGrid(**GRID), X).to_bytes() == expected


class During(logging.Handler):
    """Calls a function once, when the first iteration has ended and the fit is not over."""

    def __init__(self, act):
        super().__init__()
        self.act, self.called = act, False

    def __enter__(self):
        self.log = logging.getLogger("countgrid")
        self.before = self.log.level
        self.log.addHandler(self)
        self.log.setLevel(logging.DEBUG)

    def __exit__(self, *_):
        self.log.setLevel(self.before)
        self.log.removeHandler(self)
        assert self.called, "there was no iteration"

    def emit(self, record):
        if not self.called and "iteration 0" in record.getMessage():
            self.called = True
            self.act()


@pytest.mark.parametrize("how", ["raises", "is killed"])
def test_a_failed_task_is_repeated(session, expected, monkeypatch, tmp_path, how):
    marker, sums, fail = str(tmp_path / "failed"), parts._sums, signal.SIGKILL

    def once(state, jobs, number, records):
        if number == 1 and os.path.exists(f"{marker}-armed") and not os.path.exists(marker):
            with open(marker, "x"):
                pass
            if how == "raises":
                raise OSError("the disk is gone")
            os.kill(os.getpid(), fail)
        yield from sums(state, jobs, number, records)

    monkeypatch.setattr(parts, "_sums", once)
    with During(lambda: open(f"{marker}-armed", "x").close()):
        grid = parts.fit(CountingGrid(**GRID), blocks(session, 10_000, 30_000))
    assert os.path.exists(marker), "no task has failed"
    assert grid.to_bytes() == expected


def vectors(session, matrix, partitions=2):
    """A data frame of sparse and dense vectors, with the numbers of rows."""
    schema = types.StructType(
        [types.StructField("number", types.IntegerType()), types.StructField("features", VectorUDT())]
    )
    rows = [
        (number, Vectors.dense(row.toarray()[0]) if number % 3 == 0 else Vectors.sparse(row.shape[1], row.indices, row.data))
        for number, row in enumerate(matrix)
    ]
    return session.createDataFrame(session.sparkContext.parallelize(rows, partitions), schema)


def test_a_data_frame_of_vectors_is_fitted_and_placed(session):
    matrix = rows(0, 300)
    matrix.sum_duplicates()
    X = vectors(session, matrix)
    grid = parts.fit(CountingGrid(**GRID), X)
    assert grid.to_bytes() == CountingGrid(**GRID).fit(matrix).to_bytes()
    places = parts.transform(grid, X, output="place")
    assert places.columns == ["number", "features", "place"]
    found = places.collect()
    assert [row.number for row in found] == list(range(300))
    np.testing.assert_array_equal([row.place for row in found], grid.transform(matrix))
    assert found[1].features == Vectors.sparse(COLUMNS, matrix[1].indices, matrix[1].data)


def test_a_data_frame_of_arrays_is_fitted_and_placed(session, whole, expected, monkeypatch):
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 3_001)
    numbers = session.range(0, ROWS, numPartitions=3)
    X = numbers.selectExpr(
        "transform(array(0, 1, 2), t -> cast((id div 5 + (id * 3 + t) * (id * 3 + t) % 4) % 12 as int)) words",
        "array(1, 1, 1) `how.many`",
    )
    of = dict(column=("words", "how.many"), n_features=COLUMNS)
    grid = parts.fit(CountingGrid(**GRID), X, **of)
    assert grid.to_bytes() == expected
    monkeypatch.setattr(parts, "_PLACED", 64_000)  # a thousand rows at a time
    places = parts.transform(grid, X.limit(5_000), **of).toPandas()
    np.testing.assert_array_equal(np.stack(places.posterior), grid.transform(whole[:5_000]))


def test_blocks_are_placed(session, whole, expected):
    X = blocks(session, 20_000, 20_000)
    grid = parts.fit(CountingGrid(**GRID), X)
    places = parts.transform(grid, X).collect()
    assert [len(block) for block in places] == [20_000, 0, 20_000]
    np.testing.assert_array_equal(np.vstack(places), grid.transform(whole))


@pytest.mark.parametrize("estimator", OTHERS, ids=lambda estimator: type(estimator).__name__)
def test_other_models_and_fractions(session, estimator):
    one = type(estimator)(**estimator.get_params()).fit(rows(0, ROWS, True)).to_bytes()
    assert parts.fit(estimator, blocks(session, 5_000, 25_000, fraction=True)).to_bytes() == one


def test_tokens_have_the_roundings_of_one_machine():
    """Whole numbers are added up in any order, and others in that of rows, also where a part has both."""
    rng = np.random.default_rng(1)
    for fractions in (0.0, 0.5, 1.0):
        counts = rng.integers(1, 9, (50, 7)) + np.where(rng.random((50, 1)) < fractions, rng.random((50, 7)), 0)
        whole = sp.csr_matrix(counts)
        one = parts._core.add_tokens(0.0, whole.indptr, whole.data)
        keyed = [(0, (start, whole[start : start + 10])) for start in (20, 0, 40, 10, 30)]
        (record,) = parts._documents(1, True, keyed)
        assert (parts._numbers(record)[2] is None) == (fractions > 0)

        class Local:
            def map(self, function):
                self.found = [function(record)]
                return self

            def toLocalIterator(self):
                return iter(self.found)

        assert parts._tokens(Local(), [parts._numbers(record)[2]]) == one
        assert parts._tokens(Local(), [None]) == one


def test_a_checkpoint_goes_on(session, expected, tmp_path):
    path = tmp_path / "state"

    class Enough(Exception):
        pass

    def stop():
        raise Enough

    X = blocks(session, 100)
    with pytest.raises(Enough), During(stop):
        parts.fit(CountingGrid(**GRID), X, checkpoint=path)
    with pytest.raises(ValueError, match="other options, another seed or other rows"):
        parts.fit(CountingGrid(**{**GRID, "random_state": 4}), X, checkpoint=path)
    for _ in range(2):  # the second time, it has ended
        assert parts.fit(CountingGrid(**GRID), X, checkpoint=path).to_bytes() == expected


def test_a_job_that_fails_says_where_to_go_on(session, monkeypatch, tmp_path):
    path, marker = tmp_path / "state", str(tmp_path / "armed")
    own, sums, X = dict(n_components=3, random_state=1), parts._sums, session.sparkContext.parallelize([rows(0, 300)], 1)

    def fails(state, jobs, number, records):
        if os.path.exists(marker):
            raise OSError("the disk is gone")
        yield from sums(state, jobs, number, records)

    message = "Spark has given up in iteration 2 .OSError: the disk is gone.: the state .*state; fit again with it to go on"
    with monkeypatch.context() as patch:
        patch.setattr(parts, "_sums", fails)
        with pytest.raises(RuntimeError, match=message), During(lambda: open(marker, "x").close()):
            parts.fit(MultinomialMixture(**own), X, checkpoint=path)
    one = MultinomialMixture(**own).fit(rows(0, 300)).to_bytes()
    assert parts.fit(MultinomialMixture(**own), X, checkpoint=path).to_bytes() == one


def test_rows_that_change_are_refused(session, tmp_path):
    marker = str(tmp_path / "computed")

    def grows(count):
        if os.path.exists(marker):
            count += 1
        open(marker, "a").close()
        return sp.csr_matrix(np.ones((count, 3)))

    X = session.sparkContext.parallelize([5], 1).map(grows)
    message = "Spark has given up while rows were read .ValueError: partition 0 of X had 5 rows, and 6 when it was computed again"
    with pytest.raises(RuntimeError, match=message):
        parts.fit(MultinomialMixture(2), X)


def test_what_is_refused(session):
    context = session.sparkContext
    with pytest.raises(TypeError, match="LatentDirichlet cannot be fitted in parts"):
        parts.fit(LatentDirichlet(2), blocks(session))
    with pytest.raises(ValueError, match="mini-batches"):
        parts.fit(CountingGrid(**GRID, batch_size=10), blocks(session))
    with pytest.raises(TypeError, match="X is a csr_matrix, and needs to be a data frame or an RDD of Spark"):
        parts.fit(CountingGrid(**GRID), sp.csr_matrix((2, 3)))

    def refused(blocks, message):
        with pytest.raises(ValueError, match=message):
            parts.fit(CountingGrid(**GRID), context.parallelize(blocks, 2))

    refused([np.ones((5, 12)), sp.csr_matrix((2, 3))], "block 1 has 3 columns, and block 0 has 12")
    refused([np.ones((0, 12))], "the blocks have no rows")
    refused([-np.ones((2, 12))], "Negative values")

    X = session.createDataFrame([([0], [1.0]), ([1, 3], [1.0, 1.0])], "words array<int>, counts array<double>")
    for column, message in {
        "features": "X has no column 'features', but words, counts",
        ("words", "counts", "a"): "column is .*'a'",
        ("words", "counts"): "n_features is None",
    }.items():
        with pytest.raises(ValueError, match=message):
            parts.fit(CountingGrid(**GRID), X, column=column)
    with pytest.raises(ValueError, match="the index 3, and should have those from 0 to 2"):
        parts.fit(CountingGrid(**GRID), X, column=("words", "counts"), n_features=3)
    with pytest.raises(ValueError, match="X has a column 'features' already"):
        parts.transform(CountingGrid(**GRID).fit(np.ones((2, 2))), vectors(session, rows(0, 2)), output="features")


def test_columns_that_are_refused():
    remote = type("DataFrame", (), {"__module__": "pyspark.sql.connect.dataframe"})
    with pytest.raises(TypeError, match="X is a data frame of Spark Connect, which has no RDDs"):
        parts.fit(CountingGrid(**GRID), remote())

    def refused(message, *columns, n_features=3):
        names = ("words", "counts")[: len(columns)]
        with pytest.raises(ValueError, match=message):
            parts.checked(parts._matrix(columns, names, n_features))

    one = pa.array([[1.0]])
    refused("the index -1, and should have those from 0 to 2", pa.array([[-1]]), one)
    refused("a row has 2 indices in 'words' and 1 counts in 'counts'", pa.array([[0], [1, 2]]), pa.array([[1.0], [1.0]]))
    refused("'counts' has arrays with elements without a value", pa.array([[0]]), pa.array([[None]], one.type))
    refused("'words' has rows without a value", pa.array([None], one.type), one)
    refused("indices of type float64", one, one)
    refused("the type int64, and should have arrays", pa.array([1]), one)
    refused("has the type list.*should have vectors", one)
    refused("Negative values", pa.array([[0]]), pa.array([[-1.0]]))
    refused("NaN", pa.array([[0]]), pa.array([[float("nan")]]))

    def vectors(*vectors):
        kind = VectorUDT.sqlType()
        fields = [pa.field("type", pa.int8()), pa.field("size", pa.int32())]
        fields += [pa.field("indices", pa.list_(pa.int32())), pa.field("values", pa.list_(pa.float64()))]
        assert [field.name for field in fields] == kind.fieldNames()
        own = [dict(zip(kind.fieldNames(), VectorUDT().serialize(vector))) for vector in vectors]
        return pa.array(own, pa.struct(fields))

    sparse = Vectors.sparse(2, [0], [1.0])
    refused("vectors of 1 and of 2 elements: all need the same", vectors(Vectors.dense([1.0]), sparse))
    refused("vectors in column 'words' have 2 elements, and n_features is 3", vectors(sparse))
    part = vectors(sparse, Vectors.dense([0.0, 2.0]), sparse)[1:]  # as batches are cut
    np.testing.assert_array_equal(parts._matrix([part], ("words",), 2).toarray(), [[0, 2], [1, 0]])
    lists = pa.array([[0], [1, 2], []])[1:]
    np.testing.assert_array_equal(parts._matrix([lists, lists], ("words", "counts"), 3).toarray(), [[0, 1, 2], [0, 0, 0]])


# The last ones: Spark takes the one executor of this session for lost then, with results of any later job that are above 1 MiB.
@contextlib.contextmanager
def rows_lost(session, monkeypatch):
    """Rows are lost once the first iteration has ended, with what they were sorted from, as if all executors were."""
    held, sums_of = [], parts._sums_of

    def seen(records, *arguments):
        held[:] = [records]
        return sums_of(records, *arguments)

    def lose():
        held[0].unpersist(blocking=True)
        files = list(Path(session.conf.get("spark.local.dir")).rglob("shuffle_*"))
        assert files
        for file in files:
            file.unlink()

    with monkeypatch.context() as patch, During(lose):
        patch.setattr(parts, "_sums_of", seen)
        yield


def test_rows_that_are_lost_are_read_again(session, expected, monkeypatch, tmp_path):
    marker = str(tmp_path / "read")

    def seen(block):
        with open(marker, "a") as file:
            file.write(".")
        return block

    with rows_lost(session, monkeypatch):
        grid = parts.fit(CountingGrid(**GRID), blocks(session, 10_000, 30_000).map(seen))
    assert grid.to_bytes() == expected
    assert len(Path(marker).read_text()) == 3 * 3, "three blocks are counted, cut, and cut again"


def test_rows_that_have_changed_are_refused(session, monkeypatch, tmp_path):
    marker = str(tmp_path / "read")

    def changes(count):
        with open(marker, "a") as file:
            file.write(".")
        with open(marker) as file:
            return sp.csr_matrix(np.full((count, 3), len(file.read()) // 3 + 1.0))

    X = session.sparkContext.parallelize([50], 1).map(changes)
    with pytest.raises(RuntimeError, match="Spark has given up in iteration 2 .ValueError: the documents of leaf 0 are not those that"):
        with rows_lost(session, monkeypatch):
            parts.fit(MultinomialMixture(2, random_state=1), X)


@pytest.mark.parametrize("options", WORDS)
def test_words_are_selected_as_on_one_machine(session, options):
    whole = TextVectorizer(**options).fit(TEXTS)
    own = session.sparkContext.parallelize(TEXTS, 3)
    words = parts.fit(TextVectorizer(**options), own)
    assert words.__dict__ == whole.__dict__
    assert (sp.vstack(parts.transform(words, own).collect()) != whole.transform(TEXTS)).nnz == 0


def test_texts_of_a_data_frame(session):
    frame = session.createDataFrame([(number, text) for number, text in enumerate(TEXTS)], "number int, `the.text` string")
    words = parts.fit(TextVectorizer(), frame, column="the.text")
    assert words.vocabulary_ == TextVectorizer().fit(TEXTS).vocabulary_
    own = dict(max_iter=2, random_state=1)
    grid = parts.fit(CountingGrid((4, 4), (2, 2), **own), parts.transform(words, frame, column="the.text"))
    assert grid.to_bytes() == CountingGrid((4, 4), (2, 2), **own).fit(words.transform(TEXTS)).to_bytes()
    with pytest.raises(ValueError, match="X has no column 'text', but number, the.text"):
        parts.fit(TextVectorizer(), frame, column="text")


def test_texts_that_cannot_be_counted_are_refused(session):
    with pytest.raises(ValueError, match="document 1 is of type NoneType, and should be a str"):
        parts.fit(TextVectorizer(), session.sparkContext.parallelize(["ants", None], 1))
    with pytest.raises(ValueError, match="phrases are looked for in whole collections"):
        parts.fit(TextVectorizer(phrases=True), session.sparkContext.parallelize(TEXTS, 2))
