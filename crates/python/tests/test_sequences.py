"""Hidden Markov models, and the features of a dual wing."""

import itertools
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import countgrid

TEXTS = ["acgtacgt", "aaccggtt", "ttggccaa", "gattaca", "cattag"] * 3
NUMBERS = [np.array(["acgt".index(letter) for letter in text]) for text in TEXTS]
MODEL = countgrid.HiddenMarkov(3, max_iter=10, n_init=2, random_state=4)


def test_every_way_to_give_sequences_is_the_same():
    expected = clone(MODEL).fit(NUMBERS)
    flat, lengths = np.concatenate(NUMBERS), [len(sequence) for sequence in NUMBERS]
    ways = [
        ([sequence.tolist() for sequence in NUMBERS], None),
        (flat, lengths),
        (flat.reshape(-1, 1), lengths),
        ([sequence.astype(np.uint8) for sequence in NUMBERS], None),
    ]
    for X, counts in ways:
        assert clone(MODEL).fit(X, lengths=counts).to_bytes() == expected.to_bytes()
    matrix = np.array([NUMBERS[0], NUMBERS[1]])
    assert clone(MODEL).fit(matrix).to_bytes() == clone(MODEL).fit(list(matrix)).to_bytes()
    letters = clone(MODEL).fit(TEXTS)
    assert letters.symbols_ == ["a", "c", "g", "t"] and expected.symbols_ == ["0", "1", "2", "3"]
    assert np.array_equal(letters.emissionprob_, expected.emissionprob_)
    assert clone(MODEL).fit([list(text) for text in TEXTS]).to_bytes() == letters.to_bytes()
    assert clone(MODEL).fit(pd.Series(TEXTS)).to_bytes() == letters.to_bytes()


def test_it_is_what_its_equations_say():
    """Likelihood, posterior and best path of a short sequence by summing over all paths."""
    model = clone(MODEL).fit(TEXTS)
    start, trans, emit = model.startprob_, model.transmat_, model.emissionprob_
    x = [model.symbols_.index(letter) for letter in "gatta"]
    paths = list(itertools.product(range(3), repeat=len(x)))

    def probability(path):
        p = start[path[0]] * emit[path[0], x[0]]
        for before, state, symbol in zip(path, path[1:], x[1:]):
            p *= trans[before, state] * emit[state, symbol]
        return p

    p = np.array([probability(path) for path in paths])
    assert np.isclose(model.score_samples(["gatta"])[0], np.log(p.sum()), rtol=1e-12)
    assert model.predict(["gatta"])[0].tolist() == list(paths[p.argmax()])
    marginals = [[p[[path[n] == state for path in paths]].sum() / p.sum() for state in range(3)] for n in range(len(x))]
    assert np.allclose(model.predict_proba(["gatta"])[0], marginals, atol=1e-12)


def test_paths_come_in_the_shape_of_the_sequences():
    model = clone(MODEL).fit(TEXTS)
    paths = model.predict(TEXTS)
    assert [len(path) for path in paths] == [len(text) for text in TEXTS]
    numbered = clone(MODEL).fit(NUMBERS)
    flat, lengths = np.concatenate(NUMBERS), [len(sequence) for sequence in NUMBERS]
    assert np.array_equal(numbered.predict(flat, lengths=lengths), np.concatenate(paths))
    matrix = np.array([NUMBERS[0], NUMBERS[1]])
    assert numbered.predict(matrix).shape == (2, 8) and numbered.predict_proba(matrix).shape == (2, 8, 3)
    assert np.isclose(numbered.score(flat, lengths=lengths), model.score_samples(TEXTS).sum())


def test_files_pickles_warm_starts_and_seeds(tmp_path):
    model = clone(MODEL).fit(TEXTS).describe(title="Letters")
    model.save(tmp_path / "hmm")
    again = countgrid.load(tmp_path / "hmm")
    assert type(again) is countgrid.HiddenMarkov and again.to_bytes() == model.to_bytes()
    assert again.get_params()["n_components"] == 3 and again.model_.title == "Letters"
    for copy in (again, pickle.loads(pickle.dumps(model))):
        assert np.array_equal(copy.score_samples(TEXTS), model.score_samples(TEXTS))
    joblib.dump(model, tmp_path / "pickle")
    assert joblib.load(tmp_path / "pickle").to_bytes() == model.to_bytes()
    threads = clone(MODEL).set_params(n_jobs=3).fit(TEXTS)
    assert threads.to_bytes() == clone(MODEL).fit(TEXTS).to_bytes()
    warm = clone(MODEL).set_params(max_iter=2, tol=0.0, warm_start=True).fit(TEXTS)
    first = warm.bound_per_token_
    assert warm.fit(TEXTS).bound_per_token_ > first
    with pytest.raises(ValueError, match="'x' is not in the alphabet"):
        warm.fit(["ax"])


def test_scores_of_sequences_go_through_a_pipeline():
    texts = ["aaabbb", "aabbbb", "aaaabb", "ababab", "bababa", "abaaba"] * 3
    classes = ["runs", "runs", "runs", "mixed", "mixed", "mixed"] * 3
    hmm = countgrid.HiddenMarkov(2, random_state=1)
    fess = countgrid.FreeEnergyScores(hmm).fit(texts)
    # The terms of a free energy with an exact posterior sum to minus the log-likelihood.
    assert np.allclose(fess.transform(texts).sum(axis=1), -fess.estimator_.score_samples(texts))
    assert np.allclose(
        countgrid.FreeEnergyScores(hmm, kind="nfess").fit(texts).transform(texts).sum(axis=1) * 6,
        fess.transform(texts).sum(axis=1),
    )
    assert countgrid.FisherScores(hmm).fit_transform(texts).shape == (18, 2 + 4 + 4)
    with pytest.raises(ValueError, match="another length|different lengths|length"):
        fess.transform(["ab", "aab"])
    for scores in (countgrid.FreeEnergyScores(hmm, kind="nfess"), countgrid.FisherScores(hmm)):
        assert make_pipeline(scores, LogisticRegression()).fit(texts, classes).score(texts, classes) > 0.6


@pytest.mark.parametrize(
    ("X", "lengths"),
    [
        ("a string", None),
        ([], None),
        ([[]], None),
        ([[1], []], None),
        ([[1.5]], None),
        ([[-1]], None),
        ([[70000]], None),
        ([[2**63]], None),
        ([["a"], [1]], None),
        ([None], None),
        (3, None),
        ([[[1]]], None),
        (np.zeros((2, 2, 2), int), None),
        ([1, 2, 3], [1, 1]),
        ([1, 2, 3], [4]),
        ([1, 2, 3], [-1, 4]),
        ([1, 2, 3], [1.5, 1.5]),
        ([1, 2, 3], [0, 3]),
        ([[1, 2]], [2]),
    ],
)
def test_sequences_that_are_none(X, lengths):
    with pytest.raises((ValueError, TypeError)) as caught:
        clone(MODEL).fit(X, lengths=lengths)
    assert str(caught.value)


SYMBOLS = st.one_of(st.integers(-2, 5), st.text(max_size=2), st.floats(), st.none(), st.integers())


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.lists(st.one_of(st.text(max_size=5), st.lists(SYMBOLS, max_size=4)), max_size=4))
def test_any_lists(X):
    try:
        model = countgrid.HiddenMarkov(2, max_iter=2, random_state=1).fit(X)
    except (ValueError, TypeError, OverflowError) as error:
        assert str(error)
    else:
        assert np.isfinite(model.score_samples(X)).all()


def test_options_that_are_none():
    for options in ({"n_components": 0}, {"pseudocount": -1.0}, {"max_iter": "x"}, {"n_init": 0}, {"n_components": 2**62}):
        with pytest.raises((ValueError, TypeError, MemoryError)):
            countgrid.HiddenMarkov(**options).fit(TEXTS)
    for options in ({"kind": "x"}, {"method": "x"}, {"trials": 0}, {"chains": 2}, {"prior": "x"}, {"batch_size": 0}):
        with pytest.raises((ValueError, TypeError)):
            countgrid.Harmonium(**options).fit(np.eye(3))


def test_a_dual_wing_takes_features():
    rng = np.random.default_rng(2)
    topic = rng.integers(0, 2, 60)
    X = (rng.random((60, 6)) < np.where(topic[:, None] == (np.arange(6) < 3), 0.8, 0.1)).astype(int)
    features = pd.DataFrame({"size": topic * 3.0 + rng.normal(size=60), "hue": rng.normal(size=60)})
    model = countgrid.Harmonium(1, kind="dual-wing", max_iter=30, random_state=1, precision="f64").fit(X, features=features)
    with_features = model.transform(X, features=features)
    assert with_features.shape == (60, 1) and not np.array_equal(with_features, model.transform(X))
    # The topic tells the two kinds of rows apart.
    assert abs(np.corrcoef(with_features[:, 0], topic)[0, 1]) > 0.8
    again = countgrid.Harmonium.from_bytes(model.to_bytes())
    assert again.kind == "dual-wing" and np.array_equal(again.transform(X, features=features), with_features)
    for wrong in (None, features[:5], features.rename(columns={"hue": "tone"}), features * np.nan):
        with pytest.raises(ValueError):
            clone(model).fit(X, features=wrong).transform(X, features=features)
    with pytest.raises(ValueError, match="has one wing"):
        countgrid.Harmonium(1).fit(X, features=features)


def test_a_harmonium_samples_and_names_words():
    X = pd.DataFrame(np.repeat(np.eye(4, dtype=int), 10, axis=0)[:, [0, 0, 1, 1]], columns=list("abcd"))
    model = countgrid.Harmonium(2, method="langevin", draws=10, chains=2, max_iter=3, random_state=1).fit(X)
    assert model.components_.shape == (2, 4) and model.n_iter_ == 3
    words = model.top_words(0, 3)
    assert words and {word for word, _ in words} <= set("abcd") and all(coupling > 0 for _, coupling in words)
    assert model.top_words(9) == []
    with pytest.raises(TypeError, match="likelihood"):
        countgrid.FreeEnergyScores(model).fit(X)
