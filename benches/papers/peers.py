"""Maps and topics beside those of other libraries, on the same counts and by the same measures.

    pip install scikit-learn umap-learn tomotopy gensim safetensors ./crates/python
    python3 benches/papers/peers.py maps target/release/countgrid TABLE [--label COLUMN] [--seeds 5] [--documents N]
    python3 benches/papers/peers.py topics target/release/countgrid TABLE [--seeds 3] [--topics 12,36,100] [--documents N]

`TABLE` is a TSV or CSV file, gzipped or not, with a column `text` or, without one, columns of counts. Words are scikit-learn's: runs of two
letters or more without its English stop words, in three documents or more and at most half of them.

`maps`: the layouts of t-SNE, UMAP and principal components of tf-idf (cosines; all words, and again the 3,000 most frequent), and the
places of counting grids on the same counts. Shares of documents whose label is that of most of the 15 nearest in the plane;
trustworthiness and continuity at 15 (Venna & Kaski 2001) to the cosines of the tf-idf of all words, which is what the layouts of the
others are made from. Distances on grids go around the torus; documents at one place are ordered at random.

`topics`: fitted to four fifths of the documents over the 3,000 most frequent words. Log-likelihood of half of the tokens of each other
document, given the other half, as perplexity; the halves are the same for all. Topics of all libraries and of componential grids are
evaluated by one evaluator in float64, with the prior that the library has or has learned; a counting grid by its exact posterior. Coherence
is gensim's `c_npmi` and `c_v` of ten top words in whole documents, diversity the share of different words among 25; of a grid they are of
at most 100 windows, evenly spaced. `LatentDirichlet` is of the Python package, where it is installed, and with `package` in place of the
program grids are, too. Variational fits end after 50 passes, gensim's learning its prior as ours does, tomotopy's after 1,000 sweeps.

Mean and standard error over seeds, and processor seconds of the fits.
"""

import argparse
import csv
import gzip
import json
import os
import resource
import statistics
import subprocess
import tempfile
import time
import warnings

import numpy as np
import scipy.sparse as sp
from safetensors import safe_open
from scipy.special import logsumexp, psi
from sklearn.decomposition import NMF, LatentDirichletAllocation, TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.manifold import TSNE
from sklearn.preprocessing import normalize
from short_documents import peak_memory

NEAREST = 15
WORDS = 3000
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


def counts(documents, min_documents, most=None):
    """A matrix of counts of texts, and the words: runs of letters that are no stop words, the most frequent of them."""
    if sp.issparse(documents):
        return documents, None
    vectorizer = CountVectorizer(stop_words="english", token_pattern=r"[^\W\d_]{2,}", min_df=min_documents, max_df=0.5, max_features=most)
    return vectorizer.fit_transform(documents).astype(float), vectorizer.get_feature_names_out()


def processor_seconds():
    """Of this process, and of those that it has run."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def forget_peak():
    """From now on the peak of this process is that of what follows; and its memory in MB as it is."""
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")
    return peak_memory(os.getpid())


class Grid:
    """A grid of the program, with its defaults but for these options, fitted to rows of counts in so many seconds of the processor and megabytes."""

    def __init__(self, program, matrix, seed, options=(), places=True):
        with tempfile.TemporaryDirectory() as folder:
            table, path, rows = (os.path.join(folder, name) for name in ("docword.made.txt", "model", "places.csv"))
            entries = matrix.tocoo()
            with open(table, "w", encoding="utf-8") as file:
                file.write(f"{matrix.shape[0]}\n{matrix.shape[1]}\n{entries.nnz}\n")
                for row, column, count in zip(entries.row, entries.col, entries.data):
                    file.write(f"{row + 1} {column + 1} {int(count)}\n")
            with open(os.path.join(folder, "vocab.made.txt"), "w", encoding="utf-8") as file:
                file.writelines(f"w{column}\n" for column in range(matrix.shape[1]))
            limits = ["--min-count", "1", "--max-share", "1", "--max-words", "1000000", "--stop-words", "none"]
            command = [program, "fit", table, "--seed", str(seed), "-o", path, "--threads", "1", "--quiet"]
            began, self.megabytes = processor_seconds(), 0.0
            with subprocess.Popen([*command, *limits, *options]) as child:
                # Not what Linux tells of a process that has ended, which counts what this one had when it began the other.
                while child.poll() is None:
                    self.megabytes = max(self.megabytes, peak_memory(child.pid))
                    time.sleep(0.02)
            if child.returncode:
                raise subprocess.CalledProcessError(child.returncode, command)
            self.seconds = processor_seconds() - began
            if places:
                subprocess.run([program, "embed", path, table, "-o", rows, "--quiet"], check=True)
            with safe_open(path, "numpy") as model:
                kept = [int(word[1:]) for word in json.loads(model.metadata()["vocabulary"])]
                pi, self.window = model.get_tensor("pi").astype(float), model.get_tensor("window")
                of_windows = "alpha" if "alpha" in model.keys() else "prior"
                self.of_windows = model.get_tensor(of_windows).astype(float).ravel()
            if places:
                with open(rows, encoding="utf-8", newline="") as file:
                    self.rows = list(csv.DictReader(file))
        self.extents = pi.shape[1:]
        self.pi = np.zeros((matrix.shape[1], *self.extents))
        self.pi[kept] = pi

    def places(self):
        """The likeliest window of each row, and the extents; of rows without counts the first."""
        coordinates = [[int(row[f"x{axis}"] or 0) for axis in range(len(self.extents))] for row in self.rows]
        return np.ravel_multi_index(np.array(coordinates).T, self.extents), self.extents

    def windows(self):
        """The distributions of all windows: (words, windows). Words that no document of the fit has are as rare as can be."""
        total = np.zeros_like(self.pi)
        for offset in np.ndindex(*self.window):
            total += np.roll(self.pi, [-step for step in offset], axis=tuple(range(1, self.pi.ndim)))
        return np.maximum(total / np.prod(self.window), 1e-9).reshape(len(self.pi), -1)


COMPONENTIAL = ("--model", "componential")


class PackageGrid(Grid):
    """A grid of the Python package, with its defaults, fitted to rows of counts."""

    def __init__(self, matrix, seed, options=()):
        import countgrid

        kind = countgrid.ComponentialGrid if options == COMPONENTIAL else countgrid.CountingGrid
        model = kind(random_state=seed, n_jobs=1).fit(matrix)
        self.pi, self.window, self.extents = model.pi_.astype(float), model.window_, model.extents_
        self.of_windows = (model.alpha_ if options == COMPONENTIAL else model.prior_).astype(float).ravel()


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
    """Cells of a grid, whose edges meet; those that are equally far are in random order."""

    def __init__(self, cells, extents):
        self.places, self.extents = np.stack(np.unravel_index(cells, extents), axis=1), np.array(extents)
        self.random = np.random.default_rng(0)

    def distances(self, rows):
        away = np.abs(self.places[rows, None] - self.places[None])
        squares = (np.minimum(away, self.extents - away) ** 2).sum(axis=2)
        return squares + self.random.random(squares.shape) / 2


class Cosines:
    """Rows with one less the cosine of their angle."""

    def __init__(self, matrix):
        self.matrix = normalize(matrix)

    def distances(self, rows):
        return 1 - (self.matrix[rows] @ self.matrix.T).toarray()


def blocks(space, n):
    """Rows, and their distances from all, of which that from itself is the least."""
    for first in range(0, n, BLOCK):
        rows = np.arange(first, min(first + BLOCK, n))
        found = space.distances(rows)
        found[np.arange(len(rows)), rows] = -1
        yield rows, found


def reference_of(space, n):
    """The nearest of each row, and the rank of every other, from 1."""
    near, rank = np.empty((n, NEAREST), int), np.empty((n, n), np.uint16)
    for rows, found in blocks(space, n):
        order = np.argsort(found, axis=1, kind="stable")
        near[rows] = order[:, 1 : NEAREST + 1]
        rank[rows[:, None], order] = np.arange(n, dtype=np.uint16)
    return near, rank


def measures(space, reference, labels):
    """15-NN, trustworthiness and continuity."""
    n, k = len(labels), NEAREST
    true_near, true_rank = reference
    _, codes = np.unique(labels, return_inverse=True)
    agree = intruders = lost = 0
    for rows, found in blocks(space, n):
        near = np.argpartition(found, k, axis=1)[:, : k + 1]
        for row, others, own in zip(rows, near, found):
            others = others[others != row]
            intruders += np.maximum(true_rank[row, others].astype(int) - k, 0).sum()
            ranks = [np.count_nonzero(own < own[other]) for other in true_near[row]]
            lost += np.maximum(np.array(ranks) - k, 0).sum()
            votes = np.bincount(codes[others], minlength=codes.max() + 1)
            agree += (votes[codes[row]] == votes.max()) / (votes == votes.max()).sum()
    scale = 2 / (n * k * (2 * n - 3 * k - 1))
    return agree / n, 1 - scale * intruders, 1 - scale * lost


def maps_of(documents, everything, program):
    """Ways to lay documents out: name, and the function of a seed."""
    import umap

    few, _ = counts(documents, 3, WORDS)
    spaces = {"": tf_idf(everything), ", words of the grid": tf_idf(few)}
    ways = {}
    for name, space in spaces.items():
        if name and sp.issparse(documents):
            continue
        ways["UMAP" + name] = lambda seed, x=space: Plane(umap.UMAP(metric="cosine", random_state=seed, n_jobs=1).fit_transform(x))
        ways["t-SNE" + name] = lambda seed, x=space: Plane(
            TSNE(metric="cosine", init="random", random_state=seed, n_jobs=1).fit_transform(x)
        )
    ways["principal components"] = lambda seed: Plane(TruncatedSVD(2, random_state=seed).fit_transform(normalize(spaces[""])))
    ways["counting grid"] = lambda seed: Torus(*Grid(program, few, seed).places())
    if not sp.issparse(documents):
        ways["counting grid, all words"] = lambda seed: Torus(*Grid(program, everything, seed).places())
    ways["componential grid"] = lambda seed: Torus(*Grid(program, few, seed, COMPONENTIAL).places())
    return ways


def maps(documents, labels, seeds, program):
    everything, _ = counts(documents, 3)
    reference = reference_of(Cosines(tf_idf(everything)), len(labels))
    print(f"{len(labels)} documents, {everything.shape[1]} words, {seeds} seeds")
    print("| map | 15-NN | trustworthiness | continuity | seconds |\n|---|---|---|---|---|", flush=True)
    for name, way in maps_of(documents, everything, program).items():
        figures, seconds = [], []
        for seed in range(1, seeds + 1):
            began = processor_seconds()
            space = way(seed)
            seconds.append(processor_seconds() - began)
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


def completed_by_grid(h, prior, given, scored):
    log = given @ np.log(h) + np.log(prior)
    posterior = np.exp(log - logsumexp(log, axis=1, keepdims=True))
    found = 0.0
    for row in range(given.shape[0]):
        rest = scored[row]
        if rest.nnz:
            found += rest.data @ np.log(h[rest.indices] @ posterior[row])
    return found / scored.sum()


def add_documents(model, matrix, words):
    """To a model of tomotopy."""
    for row in range(matrix.shape[0]):
        own = matrix[row]
        if own.nnz:
            model.add_doc([words[word] for word in np.repeat(own.indices, own.data.astype(int))])


def topics_of(model, found, words):
    """Distributions of these topics of a model of tomotopy; words that no document has are as rare as can be."""
    place = {word: n for n, word in enumerate(words)}
    beta = np.full((len(found), len(words)), 1e-9)
    beta[:, [place[word] for word in model.used_vocabs]] = [model.get_topic_word_dist(k) for k in found]
    return normalize(beta, norm="l1")


def fitted_topics(matrix, topics, seed, words, first):
    """Ways to find so many topics: name, and a function that gives distributions (topics, words) and a prior."""
    import tomotopy

    def of_sklearn():
        model = LatentDirichletAllocation(topics, random_state=seed, max_iter=50, n_jobs=1).fit(matrix)
        return normalize(model.components_, norm="l1"), np.full(topics, model.doc_topic_prior_)

    def trained(model, found):
        add_documents(model, matrix, words)
        model.train(1000, workers=1)
        return topics_of(model, found(), words), model

    def of_tomotopy():
        beta, model = trained(tomotopy.LDAModel(k=topics, seed=seed), lambda: range(topics))
        return beta, np.array(model.alpha)

    def of_hdp():
        model = tomotopy.HDPModel(initial_k=topics, seed=seed)
        beta, model = trained(model, lambda: [topic for topic in range(model.k) if model.is_live_topic(topic)])
        live = np.array([model.is_live_topic(topic) for topic in range(model.k)])
        shares = np.array(model.get_count_by_topics(), float)[live]
        return beta, model.alpha * shares / shares.sum()

    def of_gensim():
        from gensim.matutils import Sparse2Corpus
        from gensim.models import LdaModel

        rows = list(Sparse2Corpus(matrix, documents_columns=False))
        options = {"alpha": "auto", "passes": 50, "random_state": seed, "eval_every": None}
        model = LdaModel(rows, num_topics=topics, id2word=dict(enumerate(words)), **options)
        return np.maximum(model.get_topics().astype(float), 1e-12), model.alpha.astype(float)

    def of_package():
        model = countgrid.LatentDirichlet(topics, max_iter=50, random_state=seed, n_jobs=1).fit(matrix)
        return np.maximum(model.components_, 1e-12), model.alpha_

    def of_nmf():
        space = tf_idf(matrix)
        model = NMF(topics, init="nndsvda", random_state=seed, max_iter=400).fit(space)
        return normalize(model.components_ + 1e-12, norm="l1"), None

    ways = {"HDP of tomotopy": of_hdp} if first else {}
    try:
        import countgrid

        ways["LatentDirichlet"] = of_package
    except ImportError:
        pass
    return ways | {
        "LDA of scikit-learn": of_sklearn,
        "LDA of gensim": of_gensim,
        "LDA of tomotopy": of_tomotopy,
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


def topics(documents, numbers, seeds, program):
    matrix, words = counts(documents, 3, WORDS)
    held = np.arange(matrix.shape[0]) % 5 == 0
    fit, (given, scored) = matrix[~held].tocsr(), halves(matrix[held].tocsr())
    print(f"{fit.shape[0]} documents, {held.sum()} held out, {len(words)} words, {seeds} seeds")
    print("| model | topics | perplexity | c_npmi | c_v | diversity | seconds |\n|---|---|---|---|---|---|---|", flush=True)

    def show(name, number, figures, seconds):
        cells = [mean(each, digits) if None not in each else "-" for each, digits in zip(zip(*figures), (0, 3, 3, 3))]
        print(f"| {name} | {number} | {' | '.join(cells)} | {statistics.mean(seconds):.1f} |", flush=True)

    for name, options in {"counting grid": (), "componential grid": COMPONENTIAL}.items():
        figures, seconds, model = [], [], None
        for seed in range(1, seeds + 1):
            began = processor_seconds()
            model = PackageGrid(fit, seed, options) if program == "package" else Grid(program, fit, seed, options)
            seconds.append(processor_seconds() - began)
            h = model.windows()
            chosen = np.linspace(0, h.shape[1], 100, endpoint=False).astype(int)
            if options:
                log = completed_by_topics(np.ascontiguousarray(h.T), model.of_windows, given, scored)
            else:
                log = completed_by_grid(h, model.of_windows, given, scored)
            figures.append((np.exp(-log), *qualities(h.T[chosen], fit, words)))
        show(name, "x".join(map(str, model.extents)), figures, seconds)
    for number in numbers:
        rows = {}
        for seed in range(1, seeds + 1):
            for name, way in fitted_topics(fit, number, seed, words, number == numbers[0]).items():
                began = processor_seconds()
                beta, alpha = way()
                spent = processor_seconds() - began
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
    parser.add_argument("program", help="`countgrid`, or for topics `package`")
    parser.add_argument("table")
    parser.add_argument("--label", default="class", help="column of labels [default: class]")
    parser.add_argument("--seeds", type=int, help="fits of each [default: 5 maps, 3 of topics]")
    parser.add_argument("--documents", type=int, help="take so many, evenly spaced [default: all]")
    parser.add_argument("--topics", default="12,36,100", help="numbers of topics [default: 12,36,100]")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    documents, labels = read(args.table, args.documents, args.label)
    if args.what == "maps":
        maps(documents, labels, args.seeds or 5, args.program)
    else:
        topics(documents, [int(number) for number in args.topics.split(",")], args.seeds or 3, args.program)


if __name__ == "__main__":
    main()
