"""Rust functions and types of the package, for its own modules: what is public is in `countgrid`."""

from typing import Callable

import numpy as np
from numpy.typing import NDArray

__version__: str

class Data:
    """Documents as bags of counts, in the precision of a model."""

    @staticmethod
    def from_csr(features: int, indptr: object, indices: object, counts: object, double: bool) -> Data:
        """Bags from the three arrays of a matrix in compressed sparse rows."""
    @staticmethod
    def from_dense(counts: object, double: bool) -> Data:
        """Bags from the rows of a matrix."""
    @staticmethod
    def from_texts(texts: list[str], model: Model) -> Data:
        """Bags of texts, counted as the model's file says, with their titles."""
    def set_vocabulary(self, name: str, words: list[str]) -> None:
        """Gives the features their words and the whole a name."""
    def set_text(self, options: str) -> None:
        """Says how texts became these words, as `select_words` gives it."""
    def set_labels(self, labels: list[str | None]) -> None:
        """Gives each document a label, or none."""
    def set_dates(self, dates: list[str | None]) -> None:
        """Gives each document a day, written YYYY-MM-DD, or none."""
    def set_titles(self, titles: list[str]) -> None:
        """Gives each document a title."""
    def __len__(self) -> int: ...

class Model:
    """A fitted model of any kind; a pickle holds the bytes of its file."""

    @staticmethod
    def from_bytes(bytes: bytes) -> Model:
        """The model in the bytes of a file."""
    def to_bytes(self) -> bytes:
        """The bytes of its file."""
    @staticmethod
    def load(path: str) -> Model:
        """Reads a model."""
    def save(self, path: str) -> None:
        """Writes its file, whole or not at all."""
    @property
    def kind(self) -> str:
        """What the text `kind` of its file is."""
    @property
    def title(self) -> str:
        """Its title."""
    @property
    def vocabulary(self) -> list[str]:
        """The words, in the order of features."""
    @property
    def fit(self) -> str:
        """How it was fitted, as JSON."""
    @property
    def double(self) -> bool:
        """Whether its data are in double precision."""
    @property
    def layout(self) -> tuple[list[int], list[int]] | None:
        """Cells of a grid along each axis, and of its window."""
    @property
    def components(self) -> int:
        """Cells of a grid, topics, points of a map, or states."""
    @property
    def harmonium(self) -> str | None:
        """The kind of a harmonium."""
    def table(self, name: str) -> NDArray[np.float64]:
        """A table of its file, in the type that it has there."""
    def titled(self, title: str) -> Model:
        """The same model with another title."""
    def features(self, data: Data, kind: str, jobs: int) -> NDArray[np.float64]:
        """Features of every bag: (bags, columns)."""
    def log_likelihoods(self, data: Data, jobs: int) -> NDArray[np.float64]:
        """The log-likelihood of every bag in nats, or the bound on it: (bags,)."""
    def described(self, data: Data, words: str, jobs: int) -> Model:
        """The same model with the title, the words and, of a grid, the labels of data."""
    def pages(self, data: Data, title: str, jobs: int) -> list[str]:
        """The pages of a grid, one of each layer, as HTML."""
    def top_words(self, component: int, count: int) -> list[tuple[str, float]]:
        """The most probable words of a component, with their probabilities."""

class Sequences:
    """Sequences of symbols that are numbers below that of the alphabet."""

    @staticmethod
    def from_arrays(alphabet: int, lengths: object, symbols: object) -> Sequences:
        """One after the other: `lengths` of `symbols`, all below `alphabet`."""
    def __len__(self) -> int: ...

Arrays = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]

def fit(
    kind: str,
    options: str,
    data: Data,
    jobs: int,
    start: Model | None = None,
    progress: Callable[[int, int, int, float | None, float], None] | None = None,
) -> Model:
    """Fits a model of a kind by options in JSON; `progress` is called with restart, stage, iteration, bound per token and the
    share of the work that is done."""

State = dict[str, object]

def fit_step(
    kind: str,
    options: str,
    data: Data,
    jobs: int,
    seed: int,
    start: Model | None = None,
    state: State | None = None,
) -> tuple[Model, State]:
    """One step of stepwise expectation maximisation over a part of the data: the model, and the state to go on from, whose `sums`
    are an array in the precision of the model."""

def merge_states(
    kind: str, options: str, none: Data, jobs: int, model: Model, states: tuple[State, State]
) -> tuple[Model, State]:
    """The update from the sums of two states, from the parameters of a model; `none` are no rows, described as the model is."""

def leaf_size() -> int:
    """Documents of a leaf but the last."""

def leaf_documents(data: Data, first_leaf: int) -> tuple[bytes, list[int], int]:
    """The documents of consecutive leaves as a file, the digest of each leaf, and how many documents are not empty."""

def add_tokens(before: float, indptr: object, counts: NDArray[np.float64]) -> float:
    """The sum of all counts, from that of the rows before on."""

def start_state(
    kind: str,
    options: str,
    totals: tuple[int, int, int, float],
    digests: list[int],
    names: list[str] | None,
    double: bool,
) -> bytes:
    """The first state of a training on documents of which features, rows, rows that are not empty and tokens, the digests of all
    leaves and the names of columns are known."""

def leaf_sums(state: bytes, documents: bytes, jobs: int) -> bytes:
    """The sums of documents under the model of a state."""

def merge_sums(one: bytes, other: bytes) -> bytes:
    """Sums of other leaves under the same state, added up in the tree of leaves."""

def step_state(
    state: bytes, sums: bytes, jobs: int
) -> tuple[bytes, tuple[int, int, int, float | None, float], bool]:
    """The state after that of which these are the sums of all leaves; what `progress` of `fit` is called with; whether it has
    ended."""

def finish_state(state: bytes) -> Model | None:
    """The model of a training that has ended; None if it has not."""

def same_training(first: bytes, state: bytes) -> bool:
    """Whether a state is of the training that begins with another: the same options and rows."""

def fit_harmonium(
    options: str,
    data: Data,
    features: tuple[list[str], NDArray[np.float64]] | None,
    jobs: int,
    progress: Callable[[int, int, int, float | None, float], None] | None = None,
) -> Model:
    """Fits a harmonium by options in JSON, a dual wing with features: their names and values (bags, features)."""

def harmonium_topics(
    model: Model, data: Data, features: tuple[list[str], NDArray[np.float64]] | None, jobs: int
) -> NDArray[np.float64]:
    """Expected topics of every bag, given its features, too: (bags, topics)."""

def fit_sequences(
    options: str,
    sequences: Sequences,
    symbols: list[str],
    jobs: int,
    start: Model | None = None,
    progress: Callable[[int, int, int, float | None, float], None] | None = None,
) -> Model:
    """Fits a hidden Markov model by options in JSON; `symbols` are the names of symbols."""

def sequence_features(model: Model, sequences: Sequences, kind: str, jobs: int) -> NDArray[np.float64]:
    """Features of every sequence, 'fess', 'nfess' or 'fisher': (sequences, columns)."""

def sequence_log_likelihoods(model: Model, sequences: Sequences, jobs: int) -> NDArray[np.float64]:
    """The log-likelihood of every sequence in nats, minus infinity if it is impossible: (sequences,)."""

def sequence_states(model: Model, sequences: Sequences) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The most probable path of states of every sequence, one after the other, (positions,), and the posterior of states at each
    position, (positions, states)."""

def defaults(kind: str) -> str:
    """The options of a kind as they are unless others are given, as JSON."""

def select_words(texts: list[str], options: str) -> tuple[Arrays, list[str], list[str], str]:
    """Selects the vocabulary of texts: their counts in compressed sparse rows, the words, the languages that were found, and how
    texts became words."""

def part_languages(texts: list[str], options: str) -> bytes:
    """The language of each text of a part, by itself."""

def settle_languages(options: str, parts: list[bytes]) -> list[bytes]:
    """How the texts of each part are to be counted, from the languages of all parts in their order."""

def part_words(texts: list[str], part: bytes) -> bytes:
    """Counts the words of the texts of a part."""

def merge_words(one: bytes, other: bytes) -> bytes:
    """Adds up the words of two parts."""

def select_merged(words: bytes, part: bytes) -> tuple[list[str], list[str], str]:
    """The vocabulary of the words of all parts, the languages that were found, and how texts became words."""

def count_words(texts: list[str], vocabulary: list[str], options: str) -> Arrays:
    """Counts the words of a vocabulary in texts."""
