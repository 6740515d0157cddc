"""Texts to counts."""

from __future__ import annotations

import json
from typing import Any, Iterable

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._data import plain


class TextVectorizer(TransformerMixin, BaseEstimator):
    """Texts to counts of words: the same words that the program `countgrid` counts.

    Parameters
    ----------
    language : 'auto', str or list of str
        The language of the texts by code or English name, or several, the first of which is that of texts too short to tell; by
        default that of each text is found.
    stop_words : 'auto', 'english', None or list of str
        Words that are left out; by default the stop words of each text's language.
    stem : bool
        Whether all words of one stem are one word, by each text's language.
    keep_noise : bool
        Whether mail headers, quoted lines, addresses, hosts, hashes and encoded data count like words.
    phrases : bool
        Whether phrases of two or three words that are found in the texts, such as "hard drive", count as words.
    ngrams : int or None
        Texts are sequences, and words are runs of so many letters.
    min_count : int or None
        In how many documents at least a word must be; by default 1 to 5, the more documents the more, and 1 with `ngrams`.
    max_share : float or None
        In which share of the documents at most, in (0, 1]; by default 0.5, and 1 with `ngrams`.
    max_words : int
        How many words at most: those that distinguish most pairs of documents.

    Attributes
    ----------
    vocabulary_ : dict of str to int
        The column of each word.
    languages_ : list of str
        The languages that were found, by code, that of most texts first.

    Examples
    --------
    >>> from countgrid import TextVectorizer
    >>> vectorizer = TextVectorizer().fit(["Ants follow trails.", "Trails of red ants", "Red sky, red dust"])
    >>> vectorizer.get_feature_names_out().tolist()
    ['ants', 'dust', 'follow', 'red', 'sky', 'trails']
    >>> vectorizer.transform(["A red, red bee"]).toarray().tolist()
    [[0.0, 0.0, 0.0, 2.0, 0.0, 0.0]]
    """

    def __init__(
        self,
        *,
        language: Any = "auto",
        stop_words: Any = "auto",
        stem: bool = False,
        keep_noise: bool = False,
        phrases: bool = False,
        ngrams: int | None = None,
        min_count: int | None = None,
        max_share: float | None = None,
        max_words: int = 3000,
    ) -> None:
        self.language = language
        self.stop_words = stop_words
        self.stem = stem
        self.keep_noise = keep_noise
        self.phrases = phrases
        self.ngrams = ngrams
        self.min_count = min_count
        self.max_share = max_share
        self.max_words = max_words

    def fit(self, raw_documents: Iterable[str], y: Any = None) -> TextVectorizer:
        """Selects the vocabulary."""
        self.fit_transform(raw_documents)
        return self

    def fit_transform(self, raw_documents: Iterable[str], y: Any = None) -> sp.csr_matrix:
        """Selects the vocabulary and counts its words: (documents, words)."""
        arrays, *selected = _core.select_words(texts(raw_documents), self._words(self.language))
        self._select(*selected)
        return self._matrix(arrays)

    def transform(self, raw_documents: Iterable[str]) -> sp.csr_matrix:
        """Counts the words of the vocabulary: (documents, words)."""
        check_is_fitted(self, "words_")
        return self._matrix(_core.count_words(texts(raw_documents), self.words_, self._words(self.languages_)))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The words, in the order of columns."""
        check_is_fitted(self, "words_")
        return np.asarray(self.words_, dtype=object)

    def _select(self, words: list[str], languages: list[str], text: str) -> None:
        self.words_ = words
        self._text = text
        self.languages_ = languages
        self.vocabulary_ = {word: place for place, word in enumerate(words)}

    def _matrix(self, arrays: Any) -> sp.csr_matrix:
        indptr, indices, data = arrays
        return sp.csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, len(self.words_)))

    def _words(self, language: Any) -> str:
        stop_words = "none" if self.stop_words is None else self.stop_words
        if not isinstance(stop_words, str):
            stop_words = list(stop_words)
        language = language if isinstance(language, str) else list(language)
        options = {name: getattr(self, name) for name in ("keep_noise", "phrases", "stem", "ngrams", "min_count", "max_share", "max_words")}
        return json.dumps({"language": language, "stop_words": stop_words, **options}, default=plain)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def texts(raw_documents: Any) -> list[str]:
    if isinstance(raw_documents, (str, bytes)):
        raise ValueError("Iterable over raw text documents expected, string object received.")
    documents = list(raw_documents)
    for place, text in enumerate(documents):
        if not isinstance(text, str):
            raise TypeError(f"document {place} is of type {type(text).__name__}, and should be a str")
    return documents
