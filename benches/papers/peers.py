"""Maps and topics beside those of other libraries, on the same documents and by the same measures.

    pip install crates/python scikit-learn umap-learn tomotopy gensim
    python3 benches/papers/peers.py maps TABLE [--label COLUMN] [--seeds 5] [--documents N]
    python3 benches/papers/peers.py topics TABLE [--seeds 3] [--topics 12,36,100] [--documents N]

`TABLE` is a TSV or CSV file, gzipped or not, with a column `text` or, without one, columns of counts.

`maps`: the layouts of t-SNE, UMAP and principal components of tf-idf (cosines; all words of three documents or more, and again the words
of the grid), and the places of counting grids. Shares of documents whose label is that of most of the 15 nearest in the plane;
trustworthiness and continuity at 15 (Venna & Kaski 2001) to the cosines of the tf-idf of all words of three documents or more, which is what
the layouts of the others are made from. Distances on grids go around the torus; documents at one place are ordered at random.

`topics`: fitted to four fifths of the documents over the same words. Log-likelihood of half of the tokens of each other document, given the
other half, as perplexity; the halves are the same for all. Topics of all libraries are evaluated by one evaluator in float64, with the
prior that the library has or has learned; a grid by its exact posterior. Coherence is gensim's `c_npmi` and `c_v` of ten top words in whole
documents, diversity the share of different words among 25; of a grid they are of at most 100 windows, evenly spaced.

Mean and standard error over seeds, and processor seconds of the fits.
"""

import argparse
import csv
import gzip
import statistics
import time
import warnings

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp, psi
from sklearn.decomposition import NMF, LatentDirichletAllocation, TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.manifold import TSNE
from sklearn.preprocessing import normalize

import countgrid

NEAREST = 15
BLOCK = 256


def read(path, wanted, label):
    """Texts or a matrix of counts, and labels."""
    csv.field_size_limit(1 << 30)
    opened = gzip.open if path.endswith(".gz") else open
    delimiter, quoting = ("\t", csv.QUOTE_NONE) if ".tsv" in path else (",", csv.QUOTE_MINIMAL)
    with opened(path, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter=delimiter, quoting=quoting))
    if wanted is not None and wanted < len(rows):
        rows = [rows[n * len(rows) // wanted] for n in range(wanted)]
    labels = np.array([row[label] for row in rows])
    if "text" in rows[0]:
        return [row["text"] for row in rows], labels
    columns = [name for name in rows[0] if name not in (label, "set", "id")]
    return sp.csr_matrix([[float(row[name]) for name in columns] for row in rows]), labels


def counts(documents, **words):
    """A matrix of counts of texts, and the words."""
    if sp.issparse(documents):
        return documents, None
    vectorizer = countgrid.TextVectorizer(**words)
    return vectorizer.fit_transform(documents), vectorizer.get_feature_names_out()


def tf_idf(matrix):
    return TfidfTransformer().fit_transform(matrix)


# --- maps ---------------------------------------------------------------------------------------------


class Plane:
    """Points with Euclidean distance."""

    def __init__(self, points):
        self.points = points

    def distances(self, rows):
        return ((self.points[rows, None] - self.points[None]) ** 2).sum(axis=2)


class Torus:
    """Cells of a grid, whose edges meet."""

    def __init__(self, cells, extents):
        self.places, self.extents = np.stack(np.unravel_index(cells, extents), axis=1), np.array(extents)

    def distances(self, rows):
        away = np.abs(self.places[rows, None] - self.places[None])
        return (np.minimum(away, self.extents - away) ** 2).sum(axis=2).astype(float)


class Cosines:
    """Rows with one less the cosine of their angle."""

    def __init__(self, matrix):
        self.matrix = normalize(matrix)

    def distances(self, rows):
        return 1 - (self.matrix[rows] @ self.matrix.T).toarray()


def ranks(space, rows, random):
    """The order of all others by distance from each row, and the rank of each other, from 1; ties are in random order."""
    found = space.distances(rows)
    found[np.arange(len(rows)), rows] = -1
    order = np.lexsort((random.random(found.shape), found), axis=1)
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(order.shape[1])[None].repeat(len(rows), axis=0), axis=1)
    return order[:, 1:], rank


def measures(space, reference, labels):
    """15-NN, trustworthiness and continuity."""
    n, k = len(labels), NEAREST
    random = np.random.default_rng(0)
    _, codes = np.unique(labels, return_inverse=True)
    agree = intruders = lost = 0.0
    for first in range(0, n, BLOCK):
        rows = np.arange(first, min(first + BLOCK, n))
        order, rank = ranks(space, rows, random)
        true_order, true_rank = ranks(reference, rows, random)
        near, true_near = order[:, :k], true_order[:, :k]
        intruders += np.maximum(np.take_along_axis(true_rank, near, axis=1) - k, 0).sum()
        lost += np.maximum(np.take_along_axis(rank, true_near, axis=1) - k, 0).sum()
        for row, others in zip(rows, near):
            votes = np.bincount(codes[others], minlength=codes.max() + 1)
            agree += (votes[codes[row]] == votes.max()) / (votes == votes.max()).sum()
    scale = 2 / (n * k * (2 * n - 3 * k - 1))
    return agree / n, 1 - scale * intruders, 1 - scale * lost


def maps_of(documents, everything):
    """Ways to lay documents out: name, and the function of a seed."""
    import umap

    few, _ = counts(documents)
    spaces = {"": tf_idf(everything), ", words of the grid": tf_idf(few)}
    ways = {}
    for name, space in spaces.items():
        if name and sp.issparse(documents):
            continue
        ways["UMAP" + name] = lambda seed, x=space: Plane(
            umap.UMAP(metric="cosine", random_state=seed, n_jobs=1).fit_transform(x)
        )
        ways["t-SNE" + name] = lambda seed, x=space: Plane(
            TSNE(metric="cosine", init="random", random_state=seed, n_jobs=1).fit_transform(x)
        )
    ways["principal components"] = lambda seed: Plane(
        TruncatedSVD(2, random_state=seed).fit_transform(normalize(spaces[""]))
    )
    grids = {"counting grid": few}
    if not sp.issparse(documents):
        grids["counting grid, 10,000 words"] = counts(documents, max_words=10_000, min_count=3)[0]

    def grid(seed, x):
        model = countgrid.CountingGrid(random_state=seed, n_jobs=1).fit(x)
        return Torus(model.transform(x).argmax(axis=1), model.extents_)

    for name, matrix in grids.items():
        ways[name] = lambda seed, x=matrix: grid(seed, x)
    return ways


def maps(documents, labels, seeds):
    everything, _ = counts(documents, min_count=3, max_words=10**9)
    reference = Cosines(tf_idf(everything))
    print(f"{len(labels)} documents, {everything.shape[1]} words, {seeds} seeds")
    print("| map | 15-NN | trustworthiness | continuity | seconds |\n|---|---|---|---|---|", flush=True)
    for name, way in maps_of(documents, everything).items():
        figures, seconds = [], []
        for seed in range(1, seeds + 1):
            began = time.process_time()
            space = way(seed)
            seconds.append(time.process_time() - began)
            figures.append(measures(space, reference, labels))
        cells = [mean(each, 3) for each in zip(*figures)]
        print(f"| {name} | {' | '.join(cells)} | {statistics.mean(seconds):.1f} |", flush=True)


# --- topics -------------------------------------------------------------------------------------------


def halves(matrix):
    """Two matrices of counts: half of the tokens of each row, drawn, and the others."""
    random = np.random.default_rng(0)
    parts = [sp.lil_matrix(matrix.shape), sp.lil_matrix(matrix.shape)]
    for row in range(matrix.shape[0]):
        own = matrix[row]
        tokens = random.permutation(np.repeat(own.indices, own.data.astype(int)))
        if len(tokens) < 2:
            continue
        for part, half in zip(parts, np.array_split(tokens, 2)):
            words, times = np.unique(half, return_counts=True)
            part[row, words] = times
    return [part.tocsr() for part in parts]


def infer(beta, alpha, words, times):
    """The mean proportions of a document, by coordinate ascent to 1e-6 (Blei et al. 2003)."""
    rows = beta[:, words]
    gamma = alpha + times.sum() / len(beta)
    for _ in range(2000):
        e = psi(gamma)
        x = np.exp(e - e.max())
        new = alpha + x * (rows @ (times / (x @ rows)))
        change, gamma = np.abs(new - gamma).mean(), new
        if change < 1e-6:
            break
    return gamma / gamma.sum()


def completed_by_topics(beta, alpha, given, scored):
    """Nats per token."""
    log = 0.0
    for row in range(given.shape[0]):
        seen, rest = given[row], scored[row]
        if rest.nnz:
            log += rest.data @ np.log(infer(beta, alpha, seen.indices, seen.data) @ beta[:, rest.indices])
    return log / scored.sum()


def windows_of(model):
    """The distributions of all windows: (words, cells)."""
    pi = model.pi_.astype(float)
    total = np.zeros_like(pi)
    for offset in np.ndindex(*model.window_):
        total += np.roll(pi, [-step for step in offset], axis=tuple(range(1, pi.ndim)))
    return (total / np.prod(model.window_)).reshape(len(pi), -1)


def completed_by_grid(h, prior, given, scored):
    log = given @ np.log(h) + np.log(prior)
    posterior = np.exp(log - logsumexp(log, axis=1, keepdims=True))
    found = 0.0
    for row in range(given.shape[0]):
        rest = scored[row]
        if rest.nnz:
            found += rest.data @ np.log(h[rest.indices] @ posterior[row])
    return found / scored.sum()


def fitted_topics(matrix, topics, seed, words):
    """Ways to find so many topics: name, and a function that gives distributions (topics, words) and a prior."""
    import tomotopy

    def of_sklearn():
        model = LatentDirichletAllocation(topics, random_state=seed, max_iter=50, n_jobs=1).fit(matrix)
        return normalize(model.components_, norm="l1"), np.full(topics, model.doc_topic_prior_)

    def of_tomotopy():
        model = tomotopy.LDAModel(k=topics, seed=seed)
        for row in range(matrix.shape[0]):
            own = matrix[row]
            if own.nnz:
                model.add_doc([words[word] for word in np.repeat(own.indices, own.data.astype(int))])
        model.train(1000, workers=1)
        place = {word: n for n, word in enumerate(words)}
        beta = np.full((topics, len(words)), 1e-9)
        beta[:, [place[word] for word in model.used_vocabs]] = [
            model.get_topic_word_dist(topic) for topic in range(topics)
        ]
        return normalize(beta, norm="l1"), np.array(model.alpha)

    def of_countgrid():
        model = countgrid.LatentDirichlet(topics, random_state=seed, n_jobs=1).fit(matrix)
        return normalize(model.components_.astype(float), norm="l1"), np.broadcast_to(model.alpha_, topics).astype(float)

    def of_nmf():
        space = tf_idf(matrix)
        model = NMF(topics, init="nndsvda", random_state=seed, max_iter=400).fit(space)
        return normalize(model.components_ + 1e-12, norm="l1"), None

    return {
        "LDA of scikit-learn": of_sklearn,
        "LDA of tomotopy": of_tomotopy,
        "LDA of countgrid": of_countgrid,
        "NMF of tf-idf": of_nmf,
    }


def qualities(tables, matrix, words):
    """Coherences and diversity of topics (topics, words)."""
    from gensim.corpora import Dictionary
    from gensim.models import CoherenceModel

    texts = [[words[word] for word in np.repeat(row.indices, row.data.astype(int))] for row in matrix]
    top = np.argsort(-tables, axis=1)
    found = []
    for kind in ("c_npmi", "c_v"):
        chosen = [[words[word] for word in row[:10]] for row in top]
        model = CoherenceModel(topics=chosen, texts=texts, dictionary=Dictionary(texts), coherence=kind, window_size=10**6)
        found.append(np.nanmean(model.get_coherence_per_topic()))
    return (*found, len(np.unique(top[:, :25])) / top[:, :25].size)


def topics(documents, numbers, seeds):
    matrix, words = counts(documents)
    held = np.arange(matrix.shape[0]) % 5 == 0
    fit, (given, scored) = matrix[~held].tocsr(), halves(matrix[held].tocsr())
    print(f"{fit.shape[0]} documents, {held.sum()} held out, {len(words)} words, {seeds} seeds")
    print("| model | topics | perplexity | c_npmi | c_v | diversity | seconds |\n|---|---|---|---|---|---|---|", flush=True)

    def show(name, number, figures, seconds):
        cells = [mean(each, digits) if None not in each else "-" for each, digits in zip(zip(*figures), (0, 3, 3, 3))]
        print(f"| {name} | {number} | {' | '.join(cells)} | {statistics.mean(seconds):.1f} |", flush=True)

    figures, seconds, model = [], [], None
    for seed in range(1, seeds + 1):
        began = time.process_time()
        model = countgrid.CountingGrid(random_state=seed, n_jobs=1).fit(fit)
        seconds.append(time.process_time() - began)
        h = windows_of(model)
        chosen = np.linspace(0, h.shape[1], 100, endpoint=False).astype(int)
        perplexity = np.exp(-completed_by_grid(h, model.prior_.astype(float).ravel(), given, scored))
        figures.append((perplexity, *qualities(h.T[chosen], fit, words)))
    show("counting grid", "x".join(map(str, model.extents_)), figures, seconds)
    for number in numbers:
        rows = {}
        for seed in range(1, seeds + 1):
            for name, way in fitted_topics(fit, number, seed, words).items():
                began = time.process_time()
                beta, alpha = way()
                spent = time.process_time() - began
                perplexity = None if alpha is None else np.exp(-completed_by_topics(beta, alpha, given, scored))
                rows.setdefault(name, []).append(((perplexity, *qualities(beta, fit, words)), spent))
        for name, found in rows.items():
            show(name, number, [each for each, _ in found], [spent for _, spent in found])


def mean(figures, digits):
    error = statistics.stdev(figures) / len(figures) ** 0.5 if len(figures) > 1 else float("nan")
    return f"{statistics.mean(figures):.{digits}f} ± {error:.{digits}f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["maps", "topics"])
    parser.add_argument("table")
    parser.add_argument("--label", default="class", help="column of labels [default: class]")
    parser.add_argument("--seeds", type=int, help="fits of each [default: 5 maps, 3 of topics]")
    parser.add_argument("--documents", type=int, help="take so many, evenly spaced [default: all]")
    parser.add_argument("--topics", default="12,36,100", help="numbers of topics [default: 12,36,100]")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    documents, labels = read(args.table, args.documents, args.label)
    if args.what == "maps":
        maps(documents, labels, args.seeds or 5)
    else:
        topics(documents, [int(number) for number in args.topics.split(",")], args.seeds or 3)


if __name__ == "__main__":
    main()
