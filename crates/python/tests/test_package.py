"""Files, pickles, inputs, threads, pages: what scikit-learn's checks do not ask."""

import contextlib
import importlib.metadata
import json
import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import countgrid
from countgrid import _core

TEXTS = [
    "Ants follow trails of other ants to the nest.",
    "Red ants and black ants leave trails of scent.",
    "The nest of ants lies under the red stones.",
    "Dust in the sky makes the evening red.",
    "Evening sky with dust and clouds over stones.",
    "Clouds and rain in the evening sky.",
] * 4
COUNTS = np.random.default_rng(3).poisson(1.0, (40, 7))

MODELS = [
    countgrid.CountingGrid(extents=(5, 4), window=2, max_iter=8, random_state=3),
    countgrid.CountingGrid(extents=(6,), window=2, max_iter=8, precision="f64", random_state=3),
    countgrid.MultinomialMixture(3, max_iter=8, n_init=2, random_state=3),
    countgrid.LatentDirichlet(3, max_iter=8, random_state=3),
    countgrid.TopographicMap((3, 3), basis_functions=(2, 2), max_iter=5, random_state=3),
    countgrid.ComponentialGrid((4, 3), 2, max_iter=6, componential_iter=5, random_state=3),
    countgrid.ComponentialGrid((5,), 2, max_iter=6, componential_iter=5, learn_concentration=True, precision="f64", random_state=3),
    countgrid.Harmonium(3, max_iter=4, random_state=3),
    countgrid.Harmonium(2, kind="rap", method="persistent", max_iter=3, trials=4, precision="f64", random_state=3),
]
OTHERS = [
    countgrid.FreeEnergyScores(MODELS[0], kind="nfess"),
    countgrid.FisherScores(MODELS[2]),
]
by_name = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
every = pytest.mark.parametrize("model", MODELS + OTHERS, ids=lambda model: type(model).__name__)


@by_name
def test_a_file_is_the_same_after_reading(model, tmp_path):
    fitted = clone(model).fit(COUNTS)
    fitted.save(tmp_path / "model.safetensors")
    again = countgrid.load(tmp_path / "model.safetensors")
    assert again.to_bytes() == fitted.to_bytes()
    assert np.array_equal(again.transform(COUNTS), fitted.transform(COUNTS))
    assert type(model).load(tmp_path / "model.safetensors").n_features_in_ == 7
    assert type(model).from_bytes(fitted.to_bytes()).to_bytes() == fitted.to_bytes()
    # The parameters of the class that was read are valid ones.
    clone(again).fit(COUNTS)


def test_a_file_of_another_kind_is_refused(tmp_path):
    countgrid.LatentDirichlet(2, random_state=1).fit(COUNTS).save(tmp_path / "lda")
    with pytest.raises(ValueError, match="not of a counting grid"):
        countgrid.CountingGrid.load(tmp_path / "lda")
    (tmp_path / "broken").write_bytes(b"12345678")
    with pytest.raises((OSError, ValueError)):
        countgrid.load(tmp_path / "broken")
    with pytest.raises(OSError):
        countgrid.load(tmp_path / "absent")


@every
def test_pickles_and_joblib_keep_every_bit(model, tmp_path):
    fitted = clone(model).fit(COUNTS)
    expected = fitted.transform(COUNTS)
    assert np.array_equal(pickle.loads(pickle.dumps(fitted)).transform(COUNTS), expected)
    joblib.dump(fitted, tmp_path / "model")
    assert np.array_equal(joblib.load(tmp_path / "model").transform(COUNTS), expected)
    if hasattr(fitted, "model_"):
        assert fitted.model_.__reduce__()[1] == (fitted.to_bytes(),)


@by_name
def test_every_kind_of_matrix_gives_the_same_bits(model):
    expected = clone(model).fit(COUNTS).to_bytes()
    float_counts = COUNTS.astype(float)
    wide = np.zeros((80, 14))
    wide[::2, ::2] = COUNTS
    packed = np.zeros(COUNTS.size * 8 + 1, np.uint8)[1:].view(np.float64).reshape(COUNTS.shape)
    packed[...] = COUNTS
    assert not packed.flags.aligned
    read_only = float_counts.copy()
    read_only.flags.writeable = False
    matrices = [
        float_counts,
        COUNTS.astype(np.float32),
        COUNTS.astype(np.int32),
        COUNTS.astype(np.uint8),
        COUNTS.astype(">f8"),
        COUNTS.astype(object),
        np.asfortranarray(COUNTS),
        wide[::2, ::2],
        float_counts[::-1][::-1],
        packed,
        read_only,
        sp.csr_matrix(COUNTS),
        sp.csr_array(float_counts),
        sp.csc_matrix(float_counts),
        sp.coo_matrix(COUNTS),
        pd.DataFrame(COUNTS),
    ]
    for matrix in matrices:
        assert clone(model).fit(matrix).to_bytes() == expected, type(matrix)
    large = sp.csr_matrix(float_counts)
    large.indptr, large.indices = large.indptr.astype(np.int64), large.indices.astype(np.int64)
    assert clone(model).fit(large).to_bytes() == expected


def test_columns_of_a_frame_are_the_words_of_the_file():
    frame = pd.DataFrame(COUNTS, columns=list("abcdefg"))
    grid = clone(MODELS[0]).set_output(transform="pandas").fit(frame)
    assert grid.model_.vocabulary == list("abcdefg")
    assert list(grid.transform(frame).columns) == [f"countinggrid{cell}" for cell in range(20)]
    assert {word for word, _ in grid.top_words(0, 3)} <= set("abcdefg")
    assert "CountingGrid" in grid._repr_html_()


SEQUENCES = ["aabbab", "bbaa", "abababab", "aaab"] * 10
every_fit = pytest.mark.parametrize(
    "model", [*MODELS, countgrid.HiddenMarkov(2, max_iter=10, random_state=3)], ids=lambda model: type(model).__name__
)


@every_fit
def test_threads_and_jobs_change_no_bit(model):
    """Eight threads begin together to fit to one matrix, some of them on threads of their own."""
    data = SEQUENCES if isinstance(model, countgrid.HiddenMarkov) else COUNTS
    expected = clone(model).fit(data).to_bytes()
    barrier = threading.Barrier(8)

    def fit(jobs):
        barrier.wait(timeout=60)
        return clone(model).set_params(n_jobs=jobs).fit(data).to_bytes()

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(fit, [1, 2, 3, 1, 4, 2, 1, -1]))
    assert found == [expected] * 8


@every
def test_threads_share_a_model(model):
    """Eight threads begin together to ask one estimator about one matrix: it is only read."""
    matrix = sp.csr_matrix(COUNTS)
    fitted = clone(model).fit(matrix)
    expected, barrier = fitted.transform(matrix), threading.Barrier(8)

    def ask(_):
        barrier.wait(timeout=60)
        return [fitted.transform(matrix) for _ in range(5)]

    with ThreadPoolExecutor(8) as pool:
        assert all(np.array_equal(found, expected) for each in pool.map(ask, range(8)) for found in each)


def test_seeds():
    model = MODELS[0]
    again = [clone(model).set_params(random_state=seed).fit(COUNTS).to_bytes() for seed in (1, np.int64(1), 2)]
    assert again[0] == again[1] != again[2]
    drawn = [
        clone(model).set_params(random_state=np.random.RandomState(seed)).fit(COUNTS).to_bytes() for seed in (5, 5)
    ]
    assert drawn[0] == drawn[1]
    clone(model).set_params(random_state=2**64 - 1).fit(COUNTS)
    for seed in (-1, 2**64, "a"):
        with pytest.raises(ValueError):
            clone(model).set_params(random_state=seed).fit(COUNTS)


@pytest.mark.parametrize(
    "short",
    [
        countgrid.CountingGrid((5, 4), 2, max_iter=3),
        countgrid.ComponentialGrid((5, 4), 2, max_iter=3, componential_iter=2),
        countgrid.MultinomialMixture(4, max_iter=3),
        countgrid.LatentDirichlet(4, max_iter=3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_warm_start_goes_on(short):
    cold = clone(short).set_params(tol=0.0, random_state=1).fit(COUNTS)
    warm = clone(cold).set_params(warm_start=True).fit(COUNTS)
    first = warm.bound_per_token_
    assert first == cold.bound_per_token_
    before = warm.score(COUNTS)
    warm.fit(COUNTS)
    assert warm.bound_per_token_ > first
    assert warm.score(COUNTS) > before
    with pytest.raises(ValueError):
        warm.fit(COUNTS[:, :3])


def test_defaults_are_those_of_the_library():
    grid = countgrid.CountingGrid()
    options = json.loads(_core.defaults("grid"))
    asked = {**grid._options(), "seed": 1}
    assert asked == {name: options[name] for name in asked}
    assert grid.anneal_iterations == 20 and grid.passes == 3
    componential = countgrid.ComponentialGrid()
    options = json.loads(_core.defaults("componential"))
    asked = componential._seeded(componential._options(), 1)
    assert {**asked, "grid": 0} == {name: options[name] for name in asked} | {"grid": 0}
    assert asked["grid"] == {name: options["grid"][name] for name in asked["grid"]}
    topics = countgrid.LatentDirichlet()
    options = json.loads(_core.defaults("lda"))
    assert topics._options() == {name: options[name] for name in topics._options()}
    for model in (countgrid.Harmonium(), countgrid.HiddenMarkov()):
        options = json.loads(_core.defaults("harmonium" if hasattr(model, "draws") else "hmm"))
        assert model._options() == {name: options[name] for name in model._options()}
    points = countgrid.TopographicMap()
    options = json.loads(_core.defaults("topographic"))
    asked = json.loads(json.dumps(points._options()))
    assert asked == {name: options[name] for name in asked}


@pytest.mark.parametrize(
    "options",
    [
        {"extents": (0, 4)},
        {"extents": ()},
        {"extents": "large"},
        {"extents": (2,), "window": (3,)},
        {"extents": (10**9, 10**9)},
        {"max_iter": -1},
        {"max_iter": "many"},
        {"tol": float("nan")},
        {"tol": -1.0},
        {"n_init": 0},
        {"pseudocount": -1.0},
        {"schedule": "slow"},
        {"anneal": 2.0},
        {"anneal": 0.5, "batch_size": 3},
        {"batch_size": 0},
        {"precision": "f16"},
        {"n_jobs": 0},
        {"max_iter": object()},
    ],
)
def test_options_that_are_none(options):
    with pytest.raises((ValueError, TypeError, MemoryError)) as caught:
        countgrid.CountingGrid(**{"extents": (4,), **options}).fit(COUNTS)
    assert str(caught.value)


def test_starts():
    for options in ({"anneal": 0.3}, {"batch_size": 10, "passes": 2}, {"schedule": "single"}, {"learn_prior": True}):
        grid = countgrid.CountingGrid(extents=(9, 9), window=3, max_iter=5, random_state=1, **options).fit(COUNTS)
        assert grid.n_iter_ >= 1 and np.isfinite(grid.bound_per_token_)


def test_shapes():
    grid = clone(MODELS[0]).fit(COUNTS)
    assert grid.extents_ == (5, 4) and grid.window_ == (2, 2)
    assert grid.pi_.shape == (7, 5, 4) and grid.prior_.shape == (5, 4)
    assert np.allclose(grid.pi_.sum(axis=0), 1.0, atol=1e-5)
    mixture = clone(MODELS[2]).fit(COUNTS)
    assert mixture.components_.shape == (3, 7) and mixture.weights_.shape == (3,)
    topics = clone(MODELS[3]).fit(COUNTS)
    assert topics.components_.shape == (3, 7) and topics.alpha_.shape == (3,)


def test_a_mixture_is_what_its_equations_say():
    """The posterior and the log-likelihood from the tables, by definition."""
    mixture = clone(MODELS[2]).set_params(precision="f64").fit(COUNTS)
    joint = COUNTS @ np.log(mixture.components_.T) + np.log(mixture.weights_)
    evidence = np.logaddexp.reduce(joint, axis=1)
    assert np.allclose(mixture.score_samples(COUNTS), evidence, rtol=1e-10)
    assert np.allclose(mixture.transform(COUNTS), np.exp(joint - evidence[:, None]), atol=1e-10)


def test_texts_and_a_page(tmp_path):
    vectorizer = countgrid.TextVectorizer()
    counts = vectorizer.fit_transform(iter(TEXTS))
    assert (vectorizer.transform(TEXTS) != counts).nnz == 0
    assert vectorizer.vocabulary_["ants"] == vectorizer.get_feature_names_out().tolist().index("ants")
    grid = countgrid.CountingGrid(extents=(6, 6), window=2, random_state=1).fit(counts)
    labels = ["ants", "ants", "ants", "sky", "sky", None] * 4
    grid.describe(counts, title="Ants & sky", vectorizer=vectorizer, labels=labels)
    page = grid.map(TEXTS, labels=labels)
    assert "<title>Ants &amp; sky</title>" in page.html and "black ants" in page.html
    assert page._repr_html_().startswith("<iframe srcdoc=")
    page.save(tmp_path / "map.html")
    assert (tmp_path / "map.html").read_text(encoding="utf-8") == page.html
    of_counts = grid.map(counts, titles=TEXTS, title="Mine")
    assert "<title>Mine</title>" in of_counts.html
    componential = countgrid.ComponentialGrid((6, 6), 2, componential_iter=5, random_state=1).fit(counts)
    componential.describe(counts, title="Many windows", vectorizer=vectorizer, labels=labels)
    assert "<title>Many windows</title>" in componential.map(TEXTS, labels=labels).html
    assert {word for word, _ in componential.top_words(0, 3)} <= set(vectorizer.get_feature_names_out())
    for wrong in ({"labels": ["a"]}, {"titles": ["a"]}, {"layer": 1}):
        with pytest.raises(ValueError):
            grid.map(counts, **wrong)
    axes = pytest.importorskip("matplotlib.figure").Figure().subplots()
    assert grid.plot(counts, ax=axes) is axes and len(axes.images) == 1


def test_phrases_are_found_again():
    # Other pairs are what it stands out against: of a single pair nothing can be said.
    others = [f"word{n % 7}x word{n % 5}x" for n in range(40)]
    vectorizer = countgrid.TextVectorizer(phrases=True, max_share=1.0)
    counts = vectorizer.fit_transform([f"a hard drive, {other}" for other in others])
    assert "hard drive" in vectorizer.vocabulary_ and "drive" not in vectorizer.vocabulary_
    assert vectorizer.transform(["A hard drive.", "A hard, a drive."])[:, vectorizer.vocabulary_["hard drive"]].toarray().tolist() == [[1], [0]]
    assert counts.sum() == 40 * 3


def test_a_map_of_documents_with_days():
    """However a day is written, the page is the same, and one that is none is refused where it is."""
    grid = countgrid.CountingGrid(extents=(6, 6), window=2, random_state=1).fit(COUNTS)
    days = [None, *np.arange("2004-02-28", "2004-04-07", dtype="datetime64[D]")][: len(COUNTS)]
    texts = [None if day is None else str(day) for day in days]
    page = grid.map(COUNTS, dates=days).html
    assert page == grid.map(COUNTS, dates=texts).html
    assert page == grid.map(COUNTS, dates=pd.Series(pd.to_datetime(texts))).html
    assert page == grid.map(COUNTS, dates=["" if text is None else f"{text}T12:00:00" for text in texts]).html
    assert page != grid.map(COUNTS).html
    with pytest.raises(ValueError, match=r"dates\[1\] is .*2004-02-30.*YYYY-MM-DD"):
        grid.map(COUNTS, dates=[None, "2004-02-30"] + texts[2:])
    with pytest.raises(ValueError, match="1 dates for 40 documents"):
        grid.map(COUNTS, dates=["2004-02-28"])


def test_texts_that_are_none():
    with pytest.raises(ValueError, match="string object received"):
        countgrid.TextVectorizer().fit("a text")
    with pytest.raises(TypeError, match="document 1"):
        countgrid.TextVectorizer().fit(["a text", 3])
    with pytest.raises(ValueError):
        countgrid.TextVectorizer().fit([])
    for options in ({"stop_words": "french"}, {"max_share": 7.0}, {"max_words": -1}, {"ngrams": 0}, {"stem": "no"}):
        with pytest.raises(ValueError):
            countgrid.TextVectorizer(**options).fit(TEXTS)


def test_progress_is_quiet_unless_asked_for(capfd):
    clone(MODELS[0]).fit(COUNTS)
    assert capfd.readouterr() == ("", "")
    clone(MODELS[0]).set_params(verbose=2).fit(COUNTS)
    shown = capfd.readouterr().out.splitlines()
    assert shown and all(line.startswith("[CountingGrid] start 1, stage ") for line in shown)


INTERRUPTED = """
import logging, signal, threading, os, warnings, numpy as np, countgrid
signal.signal(signal.SIGINT, signal.default_int_handler)  # what begins in the background of a shell ignores it
X = np.random.default_rng(0).poisson(1.0, (3000, 200))
model = countgrid.{model}
class Handler(logging.Handler):  # interrupts once there is a model
    def emit(self, record):
        log.setLevel(logging.INFO)
        threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
log = logging.getLogger("countgrid")
log.setLevel(logging.DEBUG)
log.addHandler(Handler())
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    model.fit(X)
print([str(warning.message) for warning in caught], model.transform(X[:2]).shape[0])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")
@pytest.mark.parametrize(
    "model",
    [
        "CountingGrid((40, 40), 5, max_iter=10**6, tol=0.0, n_init=1000, random_state=1)",
        "LatentDirichlet(8, max_iter=10**6, tol=0.0, n_init=1000, random_state=1)",
        "Harmonium(20, max_iter=10**6, random_state=1)",
    ],
)
def test_ctrl_c_ends_a_fit(model):
    script = INTERRUPTED.format(model=model)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert done.stdout == "['the fit was interrupted, and the model is as it was then'] 2\n", done.stderr


def test_an_error_of_progress_ends_a_fit(monkeypatch):
    @contextlib.contextmanager
    def fail(estimator):
        def show(*_):
            raise ZeroDivisionError("of the caller")

        yield show

    monkeypatch.setattr("countgrid._base.shown", fail)
    with pytest.raises(ZeroDivisionError):
        countgrid.CountingGrid((9, 9), 3, max_iter=10**6, tol=0.0).fit(COUNTS)


def test_other_threads_run_while_a_fit_does(monkeypatch):
    """A thread that counts would stand still for the whole call if the interpreter were held."""
    counted, during, stop = [0], [], threading.Event()
    rust = _core.fit

    def watched(*arguments):
        before = counted[0]
        model = rust(*arguments)
        during.append(counted[0] - before)
        return model

    def count():
        while not stop.wait(0.001):
            counted[0] += 1

    monkeypatch.setattr(_core, "fit", watched)
    thread = threading.Thread(target=count)
    thread.start()
    X = np.random.default_rng(0).poisson(1.0, (1000, 50))
    countgrid.CountingGrid((20, 20), 4, max_iter=200, tol=0.0, random_state=1).fit(X)
    stop.set()
    thread.join()
    assert len(during) == 1 and during[0] > 2


PROGRAM = os.environ.get("COUNTGRID_PROGRAM")


@pytest.mark.skipif(not PROGRAM, reason="COUNTGRID_PROGRAM does not name the program")
@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("precision", ["f32", "f64"])
@pytest.mark.parametrize("componential", [False, True])
def test_the_file_is_that_of_the_program(tmp_path, labels, precision, componential):
    """Same texts, options and seed: the same bytes; and each reads the other's file."""
    names = ["x", "y", "z"] * 8
    rows = [{"text": text, **({"label": name} if labels else {})} for text, name in zip(TEXTS, names)]
    (tmp_path / "texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    model = tmp_path / "model.safetensors"
    options = ["--grid", "9x8", "--window", "3x2", "--iterations", "20", "--seed", "5", "--precision", precision]
    kind, own = countgrid.CountingGrid, {}
    if componential:
        options += ["--model", "componential", "--concentration", "3", "--learn-concentration"]
        options += ["--componential-iterations", "7"]
        kind, own = countgrid.ComponentialGrid, {"concentration": 3, "learn_concentration": True, "componential_iter": 7}
    subprocess.run([PROGRAM, "fit", tmp_path / "texts.jsonl", "-o", model, "-q", *options], check=True)

    vectorizer = countgrid.TextVectorizer()
    counts = vectorizer.fit_transform(TEXTS)
    grid = kind((9, 8), (3, 2), max_iter=20, random_state=5, precision=precision, **own).fit(counts)
    grid.describe(counts, title="texts", vectorizer=vectorizer, labels=names if labels else None)
    assert grid.to_bytes() == model.read_bytes()

    again = countgrid.load(model)
    assert again.to_bytes() == model.read_bytes()
    assert again.get_params()["extents"] == (9, 8)
    assert np.array_equal(again.transform(counts), grid.transform(counts))
    grid.save(tmp_path / "python.safetensors")
    said = [subprocess.run([PROGRAM, "info", path], capture_output=True, check=True).stdout.replace(str(path).encode(), b"")
            for path in (model, tmp_path / "python.safetensors")]
    assert said[0] == said[1]


def test_version():
    """Of what was compiled, which is that of what is installed."""
    assert countgrid.__version__ == importlib.metadata.version("countgrid")
