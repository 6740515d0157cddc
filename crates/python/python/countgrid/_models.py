"""All estimators of models, and which of them goes with a file."""

from __future__ import annotations

import os
from typing import Any

from . import _core
from ._base import CountModel
from ._grids import ComponentialGrid, CountingGrid, MultinomialMixture
from ._harmonium import Harmonium
from ._sequences import HiddenMarkov
from ._topics import LatentDirichlet
from ._topographic import TopographicMap

__all__ = [
    "ComponentialGrid",
    "CountModel",
    "CountingGrid",
    "Harmonium",
    "HiddenMarkov",
    "LatentDirichlet",
    "MultinomialMixture",
    "TopographicMap",
    "load",
]


def load(path: str | os.PathLike[str]) -> Any:
    """A fitted estimator of the class that goes with the model in a file, which the program, Rust or Python wrote."""
    model = _core.Model.load(os.fspath(path))
    kinds = (CountingGrid, ComponentialGrid, LatentDirichlet, TopographicMap, Harmonium, HiddenMarkov)
    for kind in kinds:
        if kind._file_kind == model.kind:
            return kind._of(model)
    raise ValueError(f"the file is of a {model.kind}, which no estimator has")
