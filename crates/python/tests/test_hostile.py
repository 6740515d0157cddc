"""Arrays that no fit can take end in an exception, never in a crash."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings, strategies as st
from hypothesis.extra import numpy as arrays

import countgrid
from countgrid import _core

FITTED = countgrid.CountingGrid(extents=(3,), window=1, max_iter=2, random_state=1).fit(np.eye(4))
REFUSED = (ValueError, TypeError, MemoryError, OverflowError)
LIMITS = settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


def models():
    return [
        countgrid.CountingGrid(extents=(3,), window=1, max_iter=2, random_state=1),
        countgrid.MultinomialMixture(2, max_iter=2, random_state=1, precision="f64"),
        countgrid.LatentDirichlet(2, max_iter=2, random_state=1),
        countgrid.TopographicMap((2, 2), basis_functions=(2, 2), max_iter=2, random_state=1),
        countgrid.ComponentialGrid((3,), 1, max_iter=2, componential_iter=2, random_state=1),
        countgrid.Harmonium(2, max_iter=2, random_state=1),
        countgrid.Harmonium(2, kind="rap", max_iter=2, precision="f64", random_state=1),
    ]


def attempt(X):
    """Whether a fit took it; what it then says is finite."""
    taken = False
    for model in models():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                posterior = model.fit(X).transform(X)
        except REFUSED as error:
            assert str(error)
        else:
            taken = True
            assert np.isfinite(posterior).all()
    return taken


NUMBERS = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 1e-310, 1e30, 1e38, 1e39, 1e300, 1.7e308, float("nan")]),
    st.integers(0, 5).map(float),
)


@LIMITS
@given(arrays.arrays(np.float64, arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5), elements=NUMBERS))
def test_any_floats(X):
    attempt(X)


@LIMITS
@given(st.data())
def test_any_type(data):
    kinds = st.one_of(arrays.scalar_dtypes(), st.just(np.dtype(object)), arrays.array_dtypes(max_size=2))
    kind = data.draw(kinds)
    shape = data.draw(arrays.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=4))
    if kind == np.dtype(object):
        X = data.draw(arrays.arrays(object, shape, elements=st.sampled_from([None, 1, -1, "a", 2.5, [], object])))
    else:
        X = data.draw(arrays.arrays(kind, shape))
    attempt(X)


INDICES = st.lists(st.one_of(st.integers(-3, 8), st.sampled_from([2**31 - 1, -(2**31)])), max_size=8)


@LIMITS
@given(INDICES, INDICES, st.lists(NUMBERS, max_size=8), st.sampled_from([np.int32, np.int64]), st.booleans())
def test_any_three_arrays_of_a_sparse_matrix(indptr, indices, counts, kind, double):
    given_arrays = np.array(indptr, kind), np.array(indices, kind), np.array(counts, np.float64)
    try:
        data = _core.Data.from_csr(4, *given_arrays, double)
    except REFUSED:
        return
    assert len(data) == max(len(indptr) - 1, 0)


@LIMITS
@given(INDICES, INDICES)
def test_sparse_matrices_that_were_spoiled(indptr, indices):
    X = sp.csr_matrix(np.ones((3, 4)))
    X.indptr, X.indices = np.array(indptr, np.int32), np.array(indices, np.int32)
    for call in (models()[0].fit, FITTED.transform):
        try:
            call(X)
        except (*REFUSED, IndexError):
            pass


def test_a_read_only_memory_map(tmp_path):
    X = np.random.default_rng(0).poisson(1.0, (20, 4)).astype(np.float64)
    X.tofile(tmp_path / "counts")
    mapped = np.memmap(tmp_path / "counts", dtype=np.float64, mode="r", shape=(20, 4))
    for model, other in zip(models(), models()):
        assert model.fit(mapped).to_bytes() == other.fit(X).to_bytes()


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (0,), (2, 2, 2), ()])
def test_shapes_without_counts(shape):
    assert not attempt(np.ones(shape))


def test_a_matrix_with_more_columns_than_there_is_memory():
    """Nothing is made of each column before the size of the model was refused."""
    X = sp.csr_matrix(([1.0], ([0], [2**31 - 2])), shape=(2, 2**31 - 1))
    with pytest.raises(REFUSED):
        countgrid.CountingGrid(extents=(64, 64), window=2).fit(X)


def test_what_is_no_array():
    for X in (None, "counts", 3, {}, [[]], [["a"]], object(), [[1, 2], [3]]):
        assert not attempt(X)
    for wrong in (None, 3, [1.0], np.ones(3), np.ones((2, 2), np.complex128), np.ones((2, 2), ">f8")):
        with pytest.raises(REFUSED):
            _core.Data.from_dense(wrong, True)


def test_bytes_that_are_no_model():
    good = FITTED.to_bytes()
    for cut in range(0, len(good), max(1, len(good) // 60)):
        with pytest.raises(REFUSED):
            _core.Model.from_bytes(good[:cut])
    for place in range(0, len(good), max(1, len(good) // 200)):
        spoiled = bytearray(good)
        spoiled[place] ^= 0x55
        try:
            _core.Model.from_bytes(bytes(spoiled))
        except REFUSED:
            pass


def test_bags_of_another_precision_are_refused():
    data = _core.Data.from_dense(np.ones((2, 4)), True)
    with pytest.raises(ValueError, match="another precision"):
        FITTED.model_.features(data, "posterior", 1)
