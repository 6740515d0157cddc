"""Fits on Dask workers have the bytes of fits on one machine."""

import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp

distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install countgrid[dask]")

import dask  # noqa: E402
import dask.array as da  # noqa: E402
from bags import COLUMNS, GRID, OTHERS, ROWS, TEXTS, WORDS, rows  # noqa: E402

from countgrid import CountingGrid, LatentDirichlet, MultinomialMixture, TextVectorizer  # noqa: E402
from countgrid.distributed import dask as parts  # noqa: E402


def delayed(*borders, fraction=False):
    """Blocks with borders that are not those of leaves."""
    ends = [0, *borders, ROWS]
    return [dask.delayed(rows)(low, high, fraction) for low, high in zip(ends, ends[1:])]


def cluster(workers):
    return distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
    )


@pytest.fixture(scope="module")
def client():
    with cluster(2) as two, distributed.Client(two) as client:
        yield client


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_bytes_on_workers(workers, expected):
    with cluster(workers) as own, distributed.Client(own) as client:
        grid = parts.fit(CountingGrid(**GRID), delayed(7, 20_000, 20_000, 39_999), client=client)
    assert grid.to_bytes() == expected


@contextlib.contextmanager
def during_iteration(number, act):
    """Calls a function once, when an iteration has ended and the fit is not over."""
    called = []

    class Act(logging.Handler):
        def emit(self, record):
            if not called and f"iteration {number}" in record.getMessage():
                called.append(True)
                act()

    log, handler = logging.getLogger("countgrid"), Act()
    before = log.level
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        log.setLevel(before)
        log.removeHandler(handler)
    assert called, f"there was no iteration {number}"


def holder(client):
    """The worker that has most, and its process."""
    has = client.has_what()
    worker = max(has, key=lambda worker: len(has[worker]))
    return worker, client.run(os.getpid, workers=[worker])[worker]


def test_a_killed_worker_is_made_up_for(expected):
    with cluster(3) as own, distributed.Client(own) as client:
        with during_iteration(2, lambda: os.kill(holder(client)[1], signal.SIGKILL)):
            grid = parts.fit(CountingGrid(**GRID), delayed(10_000, 30_000), client=client)
    assert grid.to_bytes() == expected


def test_a_slow_worker_is_waited_for(expected):
    with cluster(2) as own, distributed.Client(own) as client:

        paused = []

        def pause():
            _, process = holder(client)
            os.kill(process, signal.SIGSTOP)
            paused.append(time.monotonic())
            threading.Timer(1.5, os.kill, (process, signal.SIGCONT)).start()

        with during_iteration(2, pause):
            grid = parts.fit(CountingGrid(**GRID), delayed(10_000, 30_000), client=client)
        assert time.monotonic() - paused[0] > 1.5, "the fit has ended without it"
    assert grid.to_bytes() == expected


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")
def test_a_worker_out_of_memory_is_made_up_for(expected):
    """Its nanny ends it and starts another."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit="1 GiB"
    ) as own, distributed.Client(own) as client:
        ended = []

        def fill():
            worker, process = holder(client)
            ended.append(process)
            client.run(_fill_memory, workers=[worker], on_error="ignore")
            deadline = time.monotonic() + 30
            while os.path.exists(f"/proc/{process}") and time.monotonic() < deadline:
                time.sleep(0.05)

        with during_iteration(2, fill):
            grid = parts.fit(CountingGrid(**GRID), delayed(10_000, 30_000), client=client)
        assert ended[0] not in client.run(os.getpid).values(), "the worker was not ended"
    assert grid.to_bytes() == expected


def _fill_memory():
    """Soon holds as much as the worker may have."""

    def fill():
        held = []
        while sum(map(len, held)) < 1 << 30:
            held.append(bytearray(os.urandom(1 << 20) * 16))
            time.sleep(0.005)
        time.sleep(30)

    threading.Thread(target=fill, daemon=True).start()


def _end_of_the_process():
    os._exit(1)


def test_rows_that_no_worker_survives():
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
        with cluster(1) as own, distributed.Client(own) as client:
            with pytest.raises(RuntimeError, match="the cluster was lost while rows were read .*died while running it"):
                parts.fit(CountingGrid(**GRID), [dask.delayed(_end_of_the_process)()], client=client)


def _started(*command):
    """A process of a module, which finds this one: the blocks are made by it."""
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.abspath(__file__))}
    null = subprocess.DEVNULL
    return subprocess.Popen([sys.executable, "-m", *command], env=environment, stdout=null, stderr=null)


def test_a_restarted_scheduler_goes_on_from_the_checkpoint(expected, tmp_path):
    path, processes = tmp_path / "state", []
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"

    def start():
        scheduler = _started("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
        worker = _started("distributed.cli.dask_worker", address, "--no-nanny", "--nthreads", "1", "--no-dashboard")
        processes.extend((scheduler, worker))
        return scheduler

    def blocks():
        return [dask.delayed(rows)(low, high) for low, high in ((0, 15_000), (15_000, ROWS))]

    try:
        scheduler = start()
        with dask.config.set({"distributed.comm.timeouts.connect": "20s"}):
            with distributed.Client(address, timeout=20) as client, during_iteration(2, scheduler.kill):
                with pytest.raises(RuntimeError, match="(?s)the cluster was lost in iteration .*fit again with it to go on"):
                    parts.fit(CountingGrid(**GRID), blocks(), client=client, checkpoint=path)
            scheduler.wait()
            start()
            with distributed.Client(address, timeout=20) as client:
                grid = parts.fit(CountingGrid(**GRID), blocks(), client=client, checkpoint=path)
        assert grid.to_bytes() == expected
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_a_dask_array_is_fitted_and_placed(client, expected, whole):
    X = da.from_array(whole.toarray(), chunks=(9_000, COLUMNS))
    grid = parts.fit(CountingGrid(**GRID), X, client=client)
    assert grid.to_bytes() == expected
    np.testing.assert_array_equal(parts.transform(grid, X).compute(), grid.transform(whole))


def test_a_dense_block_may_be_empty(client):
    blocks = [np.ones((0, COLUMNS)), rows(0, 40), np.ones((0, COLUMNS))]
    one = MultinomialMixture(2, random_state=1).fit(rows(0, 40)).to_bytes()
    assert parts.fit(MultinomialMixture(2, random_state=1), blocks, client=client).to_bytes() == one


@pytest.mark.parametrize("estimator", OTHERS, ids=lambda estimator: type(estimator).__name__)
def test_other_models_and_fractions(client, estimator):
    one = type(estimator)(**estimator.get_params()).fit(rows(0, ROWS, True)).to_bytes()
    assert parts.fit(estimator, delayed(5_000, 25_000, fraction=True), client=client).to_bytes() == one


def test_a_checkpoint_goes_on(client, expected, tmp_path):
    path = tmp_path / "state"

    class Enough(Exception):
        pass

    class Stop(logging.Handler):
        def emit(self, record):
            raise Enough

    log, handler = logging.getLogger("countgrid"), Stop()
    before = log.level
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    try:
        with pytest.raises(Enough):
            parts.fit(CountingGrid(**GRID), delayed(100), client=client, checkpoint=path)
    finally:
        log.setLevel(before)
        log.removeHandler(handler)
    with pytest.raises(ValueError, match="other options, another seed or other rows"):
        parts.fit(CountingGrid(**{**GRID, "random_state": 4}), delayed(100), client=client, checkpoint=path)
    for _ in range(2):  # the second time, it has ended
        grid = parts.fit(CountingGrid(**GRID), delayed(100), client=client, checkpoint=path)
        assert grid.to_bytes() == expected


def test_what_is_refused(client):
    with pytest.raises(TypeError, match="LatentDirichlet cannot be fitted in parts"):
        parts.fit(LatentDirichlet(2), delayed(), client=client)
    with pytest.raises(ValueError, match="mini-batches"):
        parts.fit(CountingGrid(**GRID, batch_size=10), delayed(), client=client)
    with pytest.raises(ValueError, match="block 1 has 3 columns, and block 0 has 12"):
        parts.fit(CountingGrid(**GRID), [rows(0, 5), sp.csr_matrix((2, 3))], client=client)
    with pytest.raises(ValueError, match="there are no blocks"):
        parts.fit(CountingGrid(**GRID), [], client=client)
    with pytest.raises(ValueError, match="rechunk"):
        parts.fit(CountingGrid(**GRID), da.ones((4, 4), chunks=(2, 2)), client=client)


@pytest.mark.parametrize("options", WORDS)
def test_words_are_selected_as_on_one_machine(client, options):
    whole = TextVectorizer(**options).fit(TEXTS)
    blocks = [dask.delayed(TEXTS[low:high]) for low, high in ((0, 1), (1, 1), (1, 40), (40, len(TEXTS)))]
    parts_of = parts.fit(TextVectorizer(**options), blocks, client=client)
    assert parts_of.__dict__ == whole.__dict__
    counts = dask.compute(*parts.transform(parts_of, blocks))
    assert (sp.vstack(counts) != whole.transform(TEXTS)).nnz == 0


def test_texts_of_bags_and_series(client):
    pandas = pytest.importorskip("pandas")
    import dask.bag

    expected = TextVectorizer().fit(TEXTS).vocabulary_
    bag = dask.bag.from_sequence(TEXTS, npartitions=3)
    assert parts.fit(TextVectorizer(), bag, client=client).vocabulary_ == expected
    series = [dask.delayed(pandas.Series(part.tolist())) for part in np.array_split(TEXTS, 4)]
    words = parts.fit(TextVectorizer(), series, client=client)
    assert words.vocabulary_ == expected
    # From texts to a grid without a row on this machine.
    grid = parts.fit(CountingGrid((4, 4), (2, 2), max_iter=2, random_state=1), parts.transform(words, bag), client=client)
    own = CountingGrid((4, 4), (2, 2), max_iter=2, random_state=1).fit(words.transform(TEXTS))
    assert grid.to_bytes() == own.to_bytes()


def test_a_worker_lost_while_words_are_counted():
    """Its texts are read again."""
    with cluster(2) as own, distributed.Client(own) as client:
        place = next(iter(own.workers.values())).pid

        def block(low, high):
            if low == 0 and os.getpid() == place:
                os.kill(os.getpid(), signal.SIGKILL)
            return TEXTS[low:high]

        blocks = [dask.delayed(block)(low, low + 9) for low in range(0, len(TEXTS), 9)]
        words = parts.fit(TextVectorizer(), blocks, client=client)
    assert words.vocabulary_ == TextVectorizer().fit(TEXTS).vocabulary_


def test_texts_that_cannot_be_counted_are_refused(client):
    with pytest.raises(TypeError, match="document 1 is of type int, and should be a str"):
        parts.fit(TextVectorizer(), [dask.delayed(["ants", 3])], client=client)
    with pytest.raises(ValueError, match="there are no blocks of texts"):
        parts.fit(TextVectorizer(), [], client=client)
    with pytest.raises(ValueError, match="phrases are looked for in whole collections"):
        parts.fit(TextVectorizer(phrases=True), [TEXTS], client=client)
    with pytest.raises(ValueError, match="have no checkpoint"):
        parts.fit(TextVectorizer(), [TEXTS], client=client, checkpoint="state")
    with pytest.raises(TypeError, match="X is a str, and needs to be a Dask bag"):
        parts.fit(TextVectorizer(), "ants", client=client)
    with pytest.raises(ValueError, match="X has 2 axes"):
        parts.fit(TextVectorizer(), da.ones((2, 2)), client=client)
    with pytest.raises(ValueError) as error:
        parts.fit(TextVectorizer(), [["a", "an"], ["the"]], client=client)
    with pytest.raises(ValueError) as alone:
        TextVectorizer().fit(["a", "an", "the"])
    assert str(error.value) == str(alone.value)
