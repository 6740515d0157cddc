"""scikit-learn's own checks of estimators."""

import unittest

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import countgrid

# Small models, as the checks fit each a hundred times.
ESTIMATORS = [
    countgrid.CountingGrid(extents=(4, 4), window=2, max_iter=10),
    countgrid.CountingGrid(extents=(4,), window=2, max_iter=10, precision="f64"),
    countgrid.ComponentialGrid(extents=(4, 4), window=2, max_iter=10, componential_iter=5, precision="f64"),
    countgrid.LatentDirichlet(3, max_iter=10),
    countgrid.MultinomialMixture(3, max_iter=10, precision="f64"),
    countgrid.Harmonium(3, max_iter=5),
    countgrid.HiddenMarkov(2, max_iter=5),
    countgrid.TopographicMap((3, 3), basis_functions=(2, 2), max_iter=5),
    countgrid.FreeEnergyScores(countgrid.MultinomialMixture(3, max_iter=10, random_state=1)),
    countgrid.FreeEnergyScores(),
    countgrid.FisherScores(countgrid.MultinomialMixture(3, max_iter=10, random_state=1)),
    countgrid.FisherScores(countgrid.LatentDirichlet(3, max_iter=10, random_state=1)),
    countgrid.CountingGridClassifier(countgrid.CountingGrid(extents=(4,), window=1, max_iter=10, random_state=1)),
    countgrid.CountingGridClassifier(),
    countgrid.TextVectorizer(),
]


def expected_failures(estimator):
    """In single precision sums over rows in another order, which these two checks compare, differ in the last places: 1e-7 is allowed,
    1.7 units in the last place of a number just below one. Both pass in double precision. scikit-learn's own list of expected failures has
    these two for many of its estimators ("sample_weight is not equivalent to removing/repeating samples"), and another check where
    "dtypes are preserved but not at a close enough precision".
    """
    if getattr(estimator, "precision", None) == "f32" and isinstance(estimator, countgrid.CountingGrid):
        reason = "single precision, in which the order of rows is seen"
        return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}
    return {}


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn(estimator, check):
    """None is skipped."""
    try:
        check(estimator)
    except unittest.SkipTest as skipped:
        pytest.fail(f"skipped: {skipped}")
