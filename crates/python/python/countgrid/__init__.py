"""Counting grids, topics, mixtures, topographic maps, harmoniums and hidden Markov models as scikit-learn estimators.

Everything is computed by Rust libraries of the same name; a model file is the same whoever writes it: the program, Rust or
this package.

>>> import countgrid
>>> texts = ["Ants follow trails.", "Trails of red ants", "Red sky, red dust", "Dust in the sky"]
>>> counts = countgrid.TextVectorizer().fit_transform(texts)
>>> grid = countgrid.CountingGrid(extents=(4, 4), window=(2, 2), random_state=1).fit(counts)
>>> grid.transform(counts).shape
(4, 16)
"""

from ._classifier import CountingGridClassifier
from ._core import __version__
from ._features import FisherScores, FreeEnergyScores
from ._models import (
    ComponentialGrid,
    CountingGrid,
    Harmonium,
    HiddenMarkov,
    LatentDirichlet,
    MultinomialMixture,
    TopographicMap,
    load,
)
from ._page import MapPage
from ._text import TextVectorizer

__all__ = [
    "ComponentialGrid",
    "CountingGrid",
    "CountingGridClassifier",
    "FisherScores",
    "FreeEnergyScores",
    "Harmonium",
    "HiddenMarkov",
    "LatentDirichlet",
    "MapPage",
    "MultinomialMixture",
    "TextVectorizer",
    "TopographicMap",
    "__version__",
    "load",
]
