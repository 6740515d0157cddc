"""Fits on Dask workers have the bytes of fits on one machine."""

import logging
import os
import signal

import numpy as np
import pytest
import scipy.sparse as sp

distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install countgrid[dask]")

import dask  # noqa: E402
import dask.array as da  # noqa: E402
from countgrid import ComponentialGrid, CountingGrid, LatentDirichlet, MultinomialMixture  # noqa: E402
from countgrid.distributed import dask as parts  # noqa: E402

ROWS, COLUMNS = 40_000, 12  # three leaves
GRID = dict(extents=(8, 8), window=(3, 3), max_iter=4, random_state=3)


def rows(first, last, fraction=False):
    """Rows of three tokens, each a function of its number, so that a block can be made anywhere."""
    tokens = np.arange(first * 3, last * 3)
    words = (tokens // 3 // 5 + tokens * tokens % 4) % COLUMNS
    counts = 1.0 + (tokens % 7) / 10 if fraction else np.ones(len(tokens))
    shape = (last - first, COLUMNS)
    return sp.csr_matrix((counts, (tokens // 3 - first, words)), shape=shape)


def delayed(*borders, fraction=False):
    """Blocks with borders that are not those of leaves."""
    ends = [0, *borders, ROWS]
    return [dask.delayed(rows)(low, high, fraction) for low, high in zip(ends, ends[1:])]


@pytest.fixture(scope="module")
def whole():
    return rows(0, ROWS)


@pytest.fixture(scope="module")
def expected(whole):
    one = CountingGrid(**GRID, n_jobs=1).fit(whole).to_bytes()
    assert CountingGrid(**GRID, n_jobs=2).fit(whole).to_bytes() == one
    return one


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


def test_a_killed_worker_is_made_up_for(expected):
    with cluster(3) as own, distributed.Client(own) as client:
        killed = []

        class Kill(logging.Handler):
            def emit(self, record):
                if len(killed) == 0 and "iteration 2" in record.getMessage():
                    has = client.has_what()
                    victim = max(has, key=lambda worker: len(has[worker]))
                    killed.append(client.run(os.getpid, workers=[victim])[victim])
                    os.kill(killed[0], signal.SIGKILL)

        log, handler = logging.getLogger("countgrid"), Kill()
        before = log.level
        log.addHandler(handler)
        log.setLevel(logging.DEBUG)
        try:
            grid = parts.fit(CountingGrid(**GRID), delayed(10_000, 30_000), client=client)
        finally:
            log.setLevel(before)
            log.removeHandler(handler)
    assert killed, "no worker was killed"
    assert grid.to_bytes() == expected


def test_a_dask_array_is_fitted_and_placed(client, expected, whole):
    X = da.from_array(whole.toarray(), chunks=(9_000, COLUMNS))
    grid = parts.fit(CountingGrid(**GRID), X, client=client)
    assert grid.to_bytes() == expected
    np.testing.assert_array_equal(parts.transform(grid, X).compute(), grid.transform(whole))


@pytest.mark.parametrize(
    "estimator",
    [
        MultinomialMixture(4, max_iter=3, random_state=1),
        ComponentialGrid((4, 4), (2, 2), max_iter=2, componential_iter=2, random_state=1),
        CountingGrid((4, 4), (2, 2), max_iter=2, n_init=2, precision="f64", random_state=1),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
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
