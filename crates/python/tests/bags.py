"""Rows that fits in parts are tested on, and what is fitted to them."""

import numpy as np
import scipy.sparse as sp

from countgrid import ComponentialGrid, CountingGrid, MultinomialMixture

ROWS, COLUMNS = 40_000, 12  # three leaves
GRID = dict(extents=(8, 8), window=(3, 3), max_iter=4, random_state=3)
OTHERS = [
    MultinomialMixture(4, max_iter=3, random_state=1),
    ComponentialGrid((4, 4), (2, 2), max_iter=2, componential_iter=2, random_state=1),
    CountingGrid((4, 4), (2, 2), max_iter=2, n_init=2, precision="f64", random_state=1),
]


def rows(first, last, fraction=False):
    """Rows of three tokens, each a function of its number, so that a block can be made anywhere."""
    tokens = np.arange(first * 3, last * 3)
    words = (tokens // 3 // 5 + tokens * tokens % 4) % COLUMNS
    counts = 1.0 + (tokens % 7) / 10 if fraction else np.ones(len(tokens))
    return sp.csr_matrix((counts, (tokens // 3 - first, words)), shape=(last - first, COLUMNS))


#: Texts of four languages, some too short to tell theirs.
TEXTS = [
    "The ants follow the trail that other ants have left before them on their way to the food.",
    "Die Ameisen folgen der Spur, die andere Ameisen vor ihnen zum Futter gelegt haben.",
    "Les fourmis suivent la piste que d'autres fourmis ont laissée sur le chemin de la nourriture.",
    "Муравьи идут по следу, который другие муравьи оставили для них на пути к пище.",
    "Red trails and ants' trails",
    "Ameisen",
    "",
] * 9
WORDS = [dict(), dict(stem=True, min_count=2), dict(ngrams=3), dict(language=["de", "en"], stop_words=None, max_words=7)]
