"""Fits that see their data in parts, weights of rows, and what a fit says of itself."""

import logging
import pickle
import subprocess
import sys
import types

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import countgrid

COUNTS = np.random.default_rng(5).poisson(np.repeat([[3, 1, 0.2, 0.2, 1], [0.2, 0.2, 3, 1, 1]], 30, axis=0)).astype(float)
PARTS = [COUNTS[part::3] for part in range(3)]
MODELS = [
    countgrid.CountingGrid((4, 3), 2, precision="f64", random_state=2),
    countgrid.MultinomialMixture(3, precision="f64", random_state=2),
    countgrid.LatentDirichlet(3, random_state=2),
    countgrid.ComponentialGrid((4, 3), 2, random_state=2),
]
by_name = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


@by_name
def test_parts_teach_a_model(model):
    one = clone(model).partial_fit(COUNTS)
    first = one.score(COUNTS)
    for _ in range(8):
        for part in PARTS:
            one.partial_fit(part)
    assert one.score(COUNTS) > first and one.n_iter_ == 25
    with pytest.raises(ValueError, match="features"):
        one.partial_fit(COUNTS[:, :3])
    assert one.transform(COUNTS).shape[0] == len(COUNTS)


@by_name
def test_the_state_pickles_and_has_the_same_bits_on_any_threads(model):
    one, two = clone(model), clone(model).set_params(n_jobs=3)
    for part in PARTS:
        one.partial_fit(part)
        two = pickle.loads(pickle.dumps(two.partial_fit(sp.csr_matrix(part))))
    assert one.to_bytes() == two.to_bytes()


@by_name
def test_a_step_over_everything_is_an_iteration(model):
    """The first step has the weight 1, so that it is an iteration of a fit with as many rows that begins from the same model."""
    begun = clone(model).partial_fit(COUNTS)
    again = type(model).from_bytes(begun.to_bytes())
    step = clone(again).set_params(**model.get_params())
    step = type(model).from_bytes(begun.to_bytes()).partial_fit(COUNTS)
    warm = {"max_iter": 1, "tol": 0.0, "warm_start": True}
    if isinstance(model, countgrid.ComponentialGrid):
        warm["componential_iter"] = 1
    iteration = type(model).from_bytes(begun.to_bytes()).set_params(**warm).fit(COUNTS)
    assert np.allclose(step.score_samples(COUNTS), iteration.score_samples(COUNTS), rtol=1e-5)


@pytest.mark.parametrize("model", [MODELS[1], MODELS[2]], ids=lambda model: type(model).__name__)
def test_merged_steps_are_a_step_over_both(model):
    start = clone(model).partial_fit(COUNTS).to_bytes()
    a, b, both = (type(model).from_bytes(start) for _ in range(3))
    a.partial_fit(COUNTS[:25]).merge(b.partial_fit(COUNTS[25:]))
    both.partial_fit(COUNTS)
    assert np.allclose(a.components_, both.components_, atol=1e-9)
    assert np.allclose(a.score_samples(COUNTS), both.score_samples(COUNTS), rtol=1e-9)


def test_merged_grids_know_the_rows_of_both():
    start = clone(MODELS[0]).fit(COUNTS[:20]).to_bytes()
    a, b = (countgrid.CountingGrid.from_bytes(start) for _ in range(2))
    a.partial_fit(COUNTS[:30])
    alone = a.score(COUNTS)
    assert a.merge(b.partial_fit(COUNTS[30:])).score(COUNTS) > alone
    a.partial_fit(COUNTS)


def test_what_cannot_be_merged_is_refused():
    first = clone(MODELS[1]).partial_fit(COUNTS)
    other = clone(MODELS[1]).set_params(random_state=3).partial_fit(COUNTS)
    with pytest.raises(ValueError, match="began with other parameters"):
        first.merge(other)
    for wrong in (clone(MODELS[1]).fit(COUNTS), clone(MODELS[2]).partial_fit(COUNTS), None):
        with pytest.raises(ValueError, match="partial_fit last"):
            first.merge(wrong)
    with pytest.raises(ValueError, match="partial_fit last"):
        first.fit(COUNTS).merge(first)


def test_parts_without_counts_are_refused_and_change_nothing():
    model = clone(MODELS[1]).partial_fit(COUNTS)
    before = model.to_bytes()
    with pytest.raises(ValueError):
        model.partial_fit(np.zeros((3, 5)))
    assert model.to_bytes() == before
    model.partial_fit(COUNTS)


WEIGHED = [model for model in MODELS if not isinstance(model, countgrid.LatentDirichlet)]


@pytest.mark.parametrize("model", WEIGHED, ids=lambda model: type(model).__name__)
def test_a_weight_is_how_often_a_row_is_there(model):
    weights = np.random.default_rng(1).integers(0, 4, len(COUNTS))
    weighed = clone(model).fit(COUNTS, sample_weight=weights).to_bytes()
    assert weighed == clone(model).fit(np.repeat(COUNTS, weights, axis=0)).to_bytes()
    assert weighed == clone(model).fit(sp.csr_matrix(COUNTS), sample_weight=weights.tolist()).to_bytes()
    for wrong in (weights + 0.5, weights - 1, weights[:3], weights * 1e9, weights * 0, np.full(len(COUNTS), np.nan)):
        with pytest.raises(ValueError):
            clone(model).fit(COUNTS, sample_weight=wrong)


def test_a_fit_is_logged(caplog):
    with caplog.at_level(logging.INFO, "countgrid"):
        model = clone(MODELS[1]).fit(COUNTS)
    (record,) = caplog.records
    assert record.getMessage().startswith(f"MultinomialMixture: iterations {model.n_iter_}, end ")
    caplog.clear()
    with caplog.at_level(logging.DEBUG, "countgrid"):
        model.fit(COUNTS)
    assert len(caplog.records) > 2 and caplog.records[0].levelno == logging.DEBUG


def test_a_bar_shows_progress(monkeypatch):
    bars = []

    class Bar:
        def __init__(self, **options):
            self.n, self.closed = 0.0, False
            bars.append(self)

        def set_postfix_str(self, text, refresh):
            self.text = text

        def update(self, more):
            self.n += more

        def close(self):
            self.closed = True

    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=Bar))
    clone(MODELS[1]).set_params(verbose=True).fit(COUNTS)
    (bar,) = bars
    assert bar.closed and 0 < bar.n <= 100 and "iteration" in bar.text
    clone(MODELS[1]).set_params(verbose=2).fit(COUNTS)
    assert len(bars) == 1


CHILDREN = """
import joblib, multiprocessing, numpy as np, countgrid, sys
from sklearn.base import clone
X = np.random.default_rng(0).poisson(1.0, (300, 20)).astype(float)
MODELS = [
    countgrid.CountingGrid((6, 6), 2, max_iter=10, random_state=1, n_jobs=2),
    countgrid.LatentDirichlet(3, max_iter=10, random_state=1, n_jobs=2),
]
def work(model):
    return clone(model).fit(X).to_bytes()
if __name__ == "__main__":
    expected = [work(model) for model in MODELS]  # pools were used before the fork
    if sys.argv[1] in multiprocessing.get_all_start_methods():
        with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
            found = pool.map(work, MODELS * 2)
    else:  # any matrix comes as a memory map that cannot be written to
        fits = joblib.Parallel(2, backend=sys.argv[1], max_nbytes=1)(joblib.delayed(clone(model).fit)(X) for model in MODELS * 2)
        found = [model.to_bytes() for model in fits]
    assert found == expected * 2
    print("same")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
@pytest.mark.parametrize("way", ["fork", "spawn", "forkserver", "loky", "multiprocessing", "threading"])
def test_children_have_the_same_bits(way, tmp_path):
    """Processes of every kind, and the backends of joblib: `loky` spawns, `multiprocessing` forks."""
    (tmp_path / "children.py").write_text(CHILDREN)
    command = [sys.executable, tmp_path / "children.py", way]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.stdout == "same\n", done.stderr


def test_parts_are_two_for_each_worker_and_not_too_many():
    from countgrid.distributed import _parts as parts

    def numbers(leaves, workers):
        group = parts.leaves_of_part(leaves, workers)
        assert group & (group - 1) == 0
        return group, -(-leaves // group)

    assert [numbers(*given) for given in [(1, 4), (8, 1), (8, 2), (8, 4), (9, 2)]] == [(1, 1), (4, 2), (2, 4), (1, 8), (2, 5)]
    for workers in (1, 3, 100, 1000):
        for leaves in (1, 511, 512, 513, 2048, 100_000):
            group, count = numbers(leaves, workers)
            assert count <= parts.MOST_PARTS
            assert count <= 4 * workers or group == 1
            # With half as many leaves in each there would be more than twice the workers, or more than the most.
            assert group == 1 or leaves // group >= 2 * workers or 2 * leaves > parts.MOST_PARTS * group
