"""A plugin of pytest: `LatentDirichlet` takes the place of scikit-learn's `LatentDirichletAllocation` in scikit-learn's own tests."""

import json
import os

import sklearn.decomposition

import countgrid


class LatentDirichletAllocation(countgrid.LatentDirichlet):
    """The names that scikit-learn has for parameters, where there is one here; others are ignored."""

    def __init__(
        self,
        n_components=10,
        *,
        doc_topic_prior=None,
        topic_word_prior=None,
        learning_method="batch",
        learning_offset=10.0,
        max_iter=10,
        evaluate_every=-1,
        total_samples=1e6,
        n_jobs=None,
        verbose=0,
        random_state=None,
    ):
        super().__init__(n_components, max_iter=max_iter, n_jobs=n_jobs, random_state=random_state, verbose=2 * verbose)
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.learning_method = learning_method
        self.learning_offset = learning_offset
        self.evaluate_every = evaluate_every
        self.total_samples = total_samples


sklearn.decomposition.LatentDirichletAllocation = LatentDirichletAllocation
OUTCOMES = {}


def pytest_runtest_logreport(report):
    """A test has passed if all of its cases have."""
    if report.when == "call" or report.failed:
        name = report.nodeid.split("::")[-1].split("[")[0]
        OUTCOMES[name] = OUTCOMES.get(name, True) and report.passed


def pytest_sessionfinish():
    with open(os.environ["OUTCOMES"], "w", encoding="utf-8") as file:
        json.dump(OUTCOMES, file)
