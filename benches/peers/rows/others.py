"""Other programs that people use for the same ends. They do other things, so only the costs compare."""

import importlib.util
from pathlib import Path

import numpy as np
from scipy.special import psi
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.neural_network import BernoulliRBM

import environment
from ours import Ours
from pairs import Race, Skipped, race
from rows import problem

TOPICS = 64
BATCH = 100
ITERATIONS = 5


def lda(run):
    """scikit-learn's batch LDA: a pass over the corpus against an iteration of our LDA, and one of our grid."""
    ours, shape = run.ours, run.draw()
    counts = problem.counts(ours, shape["features"])
    ours.ask("topics", 1, TOPICS)
    ours.ask("topics", "run", run.late)
    topics = problem.topics(ours)
    # One batch of everything: an update from all documents, without the evaluation that `fit` adds at its end.
    # Both have priors of 1 / K, float32 and the same test of convergence: a mean change of 1e-3, or 100 sweeps.
    model = LatentDirichletAllocation(TOPICS, total_samples=shape["bags"], batch_size=shape["bags"], n_jobs=1)
    model.partial_fit(counts[:1])

    def theirs():
        model.components_ = (topics + model.topic_word_prior_).astype(np.float32)
        # What `partial_fit` derives from the topics at the end of an update.
        expected = psi(model.components_) - psi(model.components_.sum(axis=1))[:, np.newaxis]
        model.exp_dirichlet_component_ = np.exp(expected)
        return run.clock(lambda: model.partial_fit(counts))

    peer = f"scikit-learn LDA, {TOPICS} topics"
    yield race(
        f"LDA iteration, {TOPICS} topics",
        peer,
        lambda: ours.seconds("topics"),
        theirs,
        run.pairs,
        goal=1,
        note=f"both from the topics after {run.late} iterations",
    )
    ours.ask("start", 1)
    ours.ask("run", run.late)
    yield race("EM iteration of a grid", peer, lambda: ours.seconds("iteration"), theirs, run.pairs)


def rbm(run):
    """An epoch of CD-1 with 64 normal topics against persistent CD with 64 binary units, in batches of 100,
    float32, on 10,000 binary documents over 2,000 words: the same products and as many draws of words."""
    ours = run.ours
    sizes = run.sizes or ("bags=10000", "features=2000")
    shape = ours.ask("draw", 1, *sizes)
    words = problem.counts(ours, shape["features"])
    words.data[:] = 1
    for kind, rows in (("sparse", words), ("dense", words.toarray())):
        model = BernoulliRBM(TOPICS, learning_rate=0.01, batch_size=BATCH, random_state=1)
        starts = range(0, rows.shape[0], BATCH)

        def epoch():
            for start in starts:
                model.partial_fit(rows[start : start + BATCH])

        yield race(
            "harmonium, CD-1 epoch",
            f"scikit-learn BernoulliRBM, {kind} rows",
            lambda: ours.seconds("cd1", TOPICS),
            lambda: run.clock(epoch),
            run.pairs,
            1,
        )


def counting_grids_py(run):
    """The size of CountingGridsPy's own test; a whole fit with what it sets up, from the same start."""
    what = f"fit of {ITERATIONS} iterations, dense counts"
    if run.counting_grids_py is None:
        yield Skipped(what, "--counting-grids-py PATH gives a clone of microsoft/browsecloud")
        return
    model = load(run.counting_grids_py).CountingGridModel
    ours = run.ours
    shape = ours.ask("dense", 1, *run.dense)
    data = problem.counts(ours, shape["features"]).toarray().astype(np.float64)
    ours.ask("start", 1)
    pi, _ = problem.state(ours)
    pi = np.moveaxis(pi.reshape(shape["features"], *shape["extents"]), 0, -1).astype(np.float64)
    extents, window = np.array(shape["extents"]), np.array(shape["window"])

    def fit():
        grid = model(extents, window)
        return run.clock(lambda: grid.fit(data, max_iter=ITERATIONS, pi=pi.copy(), writeOutput=False))

    own = lambda: ours.seconds("fit", 1, ITERATIONS)
    yield race(what, "CountingGridsPy", own, fit, run.pairs, 10)


def load(path):
    """The module of the model alone, for the package asks for torch."""
    found = sorted(Path(path).expanduser().rglob("models/CountingGridModel.py"))
    if not found:
        raise SystemExit(
            f"{path}: holds no models/CountingGridModel.py; give a clone of microsoft/browsecloud"
        )
    spec = importlib.util.spec_from_file_location("CountingGridModel", found[0])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def threads(run):
    """Two threads against one, a whole fit by the clock on the wall."""
    result = Race("whole fit, two threads", "ours, one thread", 1.8)
    program = environment.build("rounds", "rayon")
    with Ours(program, threads=2) as two, Ours(program, threads=1) as one:
        for side in (two, one):
            side.ask("draw", 1, *run.sizes)
        same = True
        for pair in range(run.pairs + 1):
            fast, slow = (side.ask("time", "fit", 1, run.late) for side in (two, one))
            same = same and fast["digest"] == slow["digest"]
            if pair:
                result.add(fast["wall"], slow["wall"])
    result.note = "wall clock; " + ("identical bits" if same else "DIFFERENT BITS")
    yield result
