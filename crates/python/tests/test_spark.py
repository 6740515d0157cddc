"""Fits on Spark executors have the bytes of fits on one machine."""

import logging
import os
import shutil
import signal
import sys

import numpy as np
import pytest
import scipy.sparse as sp

pyspark = pytest.importorskip("pyspark", reason="Spark is not installed: pip install countgrid[spark]")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs Java 17 or later, and there is none", allow_module_level=True)

from pyspark.ml.linalg import Vectors, VectorUDT  # noqa: E402
from pyspark.sql import SparkSession, types  # noqa: E402

from countgrid import ComponentialGrid, CountingGrid, LatentDirichlet, MultinomialMixture  # noqa: E402
from countgrid.distributed import spark as parts  # noqa: E402

ROWS, COLUMNS = 40_000, 12  # three leaves
GRID = dict(extents=(8, 8), window=(3, 3), max_iter=4, random_state=3)


def rows(first, last, fraction=False):
    """Rows of three tokens, each a function of its number, so that a block can be made anywhere."""
    tokens = np.arange(first * 3, last * 3)
    words = (tokens // 3 // 5 + tokens * tokens % 4) % COLUMNS
    counts = 1.0 + (tokens % 7) / 10 if fraction else np.ones(len(tokens))
    return sp.csr_matrix((counts, (tokens // 3 - first, words)), shape=(last - first, COLUMNS))


@pytest.fixture(scope="module")
def whole():
    return rows(0, ROWS)


@pytest.fixture(scope="module")
def expected(whole):
    return CountingGrid(**GRID, n_jobs=1).fit(whole).to_bytes()


@pytest.fixture(scope="module")
def session():
    """Two threads of one machine, each with processes of Python; a task may fail three times."""
    own = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    before = {name: os.environ.get(name) for name in own}
    os.environ.update(own)
    session = (
        SparkSession.builder.master("local[2,4]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "OFF")
        .config("spark.python.authenticate.socketTimeout", "60s")
        .getOrCreate()
    )
    try:
        yield session
    finally:
        session.stop()
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


# Functions of this module would be looked for in a module that workers do not have: those within functions travel whole.
def blocks(session, *borders, partitions=2, fraction=False):
    """Blocks with borders that are not those of leaves."""
    ends = [0, *borders, ROWS]
    columns = COLUMNS

    def made(cut):
        first, last = cut
        tokens = np.arange(first * 3, last * 3)
        words = (tokens // 3 // 5 + tokens * tokens % 4) % columns
        counts = 1.0 + (tokens % 7) / 10 if fraction else np.ones(len(tokens))
        return sp.csr_matrix((counts, (tokens // 3 - first, words)), shape=(last - first, columns))

    return session.sparkContext.parallelize(list(zip(ends, ends[1:])), partitions).map(made)


@pytest.mark.parametrize("partitions", [1, 2, 3, 6])  # six are more than there are blocks
def test_bytes_of_partitions(session, partitions, expected):
    X = blocks(session, 7, 20_000, 20_000, 39_999, partitions=partitions)
    assert parts.fit(CountingGrid(**GRID), X).to_bytes() == expected


def test_bytes_of_larger_parts_and_stages_that_merge(session, expected, monkeypatch):
    monkeypatch.setattr(parts, "_MOST_COLLECTED", 1)
    X = blocks(session, 20_000)
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
        if not self.called and "iteration 1" in record.getMessage():
            self.called = True
            self.act()


@pytest.mark.parametrize("how", ["raises", "is killed"])
def test_a_failed_task_is_repeated(session, expected, monkeypatch, tmp_path, how):
    marker, inner, fail = str(tmp_path / "failed"), parts._core.leaf_sums, signal.SIGKILL
    sums, number = parts._sums, []

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


def test_rows_that_are_lost_are_read_again(session, expected, monkeypatch):
    """As after the loss of an executor, which had them."""
    held = []
    sums_of = parts._sums_of

    def seen(records, *arguments):
        held[:] = [records]
        return sums_of(records, *arguments)

    monkeypatch.setattr(parts, "_sums_of", seen)
    with During(lambda: held[0].unpersist(blocking=True)):
        grid = parts.fit(CountingGrid(**GRID), blocks(session, 10_000, 30_000))
    assert grid.to_bytes() == expected
