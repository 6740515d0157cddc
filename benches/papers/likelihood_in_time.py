"""How likely documents are that were held out, and the processor time that it took to get there: grids beside topics of other libraries.

    pip install scikit-learn tomotopy gensim safetensors matplotlib
    python3 benches/papers/likelihood_in_time.py target/release/countgrid TABLE [--label COLUMN] [--topics 100] [--effort 1]
        [--models grid,componential,scikit-learn,tomotopy,gensim] [--plot FILE.svg]

`TABLE` is as for peers.py, from which words, halves and evaluators are: one document in 50, at most 2,000, is held out, and the log-likelihood of
half of its tokens given the other half is in nats per token, with the standard error of its mean over documents.

So many topics of a library have as many parameters as a grid of so many cells, a square if its side is whole; a grid of the size that it
has by itself is beside them. Each row is a fit: a grid's after so many passes in mini-batches or by its defaults, a componential grid's after
so many iterations, of the others after so many passes or sweeps, all of which `--effort` multiplies. Seconds are of the processor, on one thread, of the fit
alone; a grid's have the reading of counts, too. MB are what a library takes at most besides the matrix of counts that it is given, and of a
grid all that the program has.
"""

import argparse
import math
import os
import warnings

import numpy as np
from peers import (
    COMPONENTIAL,
    Grid,
    add_documents,
    completed_by_grid,
    completed_by_topics,
    counts,
    forget_peak,
    halves,
    peak_memory,
    processor_seconds,
    read,
    topics_of,
)
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.preprocessing import normalize

SEED = 1
HELD_OUT, AT_MOST = 50, 2000
MODELS = ["grid", "scikit-learn", "tomotopy", "gensim"]
SLOW = ["componential"]


def said(number, one="pass", many="passes"):
    return f"{number} {one if number == 1 else many}"


def passes(effort, *numbers):
    return sorted({max(1, round(effort * number)) for number in numbers})


def of_sklearn(fit, words, topics, effort):
    """Online, in mini-batches of 1,024 documents, of which each pass has its own order."""
    model = LatentDirichletAllocation(topics, random_state=SEED, total_samples=fit.shape[0], n_jobs=1)
    random, done, spent = np.random.default_rng(SEED), 0, 0.0
    for until in passes(effort, 1, 2, 4):
        began = processor_seconds()
        for _ in range(done, until):
            order = random.permutation(fit.shape[0])
            for first in range(0, len(order), 1024):
                model.partial_fit(fit[order[first : first + 1024]])
        spent, done = spent + processor_seconds() - began, until
        beta = normalize(model.components_, norm="l1")
        yield said(until), spent, beta, np.full(topics, model.doc_topic_prior_)


def of_tomotopy(fit, words, topics, effort):
    import tomotopy

    model, done, spent = tomotopy.LDAModel(k=topics, seed=SEED), 0, 0.0
    add_documents(model, fit, words)
    for until in passes(effort, 25, 50, 100, 200):
        began = processor_seconds()
        model.train(until - done, workers=1)
        spent, done = spent + processor_seconds() - began, until
        yield f"{until} sweeps", spent, topics_of(model, range(topics), words), np.array(model.alpha)


def of_gensim(fit, words, topics, effort):
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LdaModel

    rows, named = list(Sparse2Corpus(fit, documents_columns=False)), dict(enumerate(words))
    for number in passes(effort, 1, 3):
        began = processor_seconds()
        options = {"alpha": "auto", "passes": number, "random_state": SEED, "eval_every": None}
        model = LdaModel(rows, num_topics=topics, id2word=named, **options)
        spent = processor_seconds() - began
        yield said(number), spent, np.maximum(model.get_topics().astype(float), 1e-12), model.alpha.astype(float)


def mini_batches(documents, number):
    """Options of a grid's fit in so many passes, with mini-batches as a map of many documents has them."""
    many = str(min(max(documents // 25, 1000), 16384))
    return ["--batch", many, "--passes", str(number), "--iterations", "1"]


def size_of(size):
    return [] if size is None else ["--grid", size]


def of_grid(program, fit, size, effort):
    ways = {said(number): mini_batches(fit.shape[0], number) for number in passes(effort, 1, 2, 4, 8)}
    for name, options in {**ways, "by default": []}.items():
        yield name, Grid(program, fit, SEED, [*size_of(size), *options], places=False)


def of_componential(program, fit, size, effort):
    for number in passes(effort, 5, 10, 20, 40):
        options = [*COMPONENTIAL, *size_of(size), "--iterations", str(number)]
        yield said(number, "iteration", "iterations"), Grid(program, fit, SEED, options, places=False)


def document_errors(log, given, scored):
    """Mean log-likelihood of a token, and its standard error, from those of documents one by one."""
    tokens, found = [], []
    for row in range(scored.shape[0]):
        if scored[row].nnz:
            tokens.append(scored[row].sum())
            found.append(log(given[row], scored[row]) * tokens[-1])
    tokens, found = np.array(tokens), np.array(found)
    mean = found.sum() / tokens.sum()
    return mean, np.sqrt(((found - mean * tokens) ** 2).sum()) / tokens.sum()


def drawn(rows, path):
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "countgrid"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7.5, 4.5))
    for name in dict.fromkeys(name for name, *_ in rows):
        own = sorted((seconds, mean, error) for of, _, _, seconds, mean, error in rows if of == name)
        seconds, means, errors = zip(*own)
        axes.errorbar(seconds, means, errors, marker="o", capsize=2, label=name)
    axes.set(xscale="log", xlabel="seconds of the processor, one thread", ylabel="nats per token, held out")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def arguments(description):
    """A parser of what fits are of."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("table")
    parser.add_argument("--label", default="label", help="column of labels [default: label]")
    parser.add_argument("--topics", type=int, default=100)
    return parser


def main():
    parser = arguments(__doc__)
    parser.add_argument("--effort", type=float, default=1.0, help="multiplies passes and sweeps [default: 1]")
    parser.add_argument("--models", default=",".join(MODELS), help="which, with commas between them [default: all but componential]")
    parser.add_argument("--plot", help="an SVG file")
    args = parser.parse_args()
    if unknown := set(args.models.split(",")) - {*MODELS, *SLOW}:
        parser.error(f"--models has {', '.join(sorted(unknown))}, needs to be of {', '.join(MODELS + SLOW)}")
    warnings.filterwarnings("ignore")
    documents, _ = read(args.table, None, args.label)
    matrix, words = counts(documents, 3, 3000)
    held = np.arange(matrix.shape[0]) % max(HELD_OUT, math.ceil(matrix.shape[0] / AT_MOST)) == 0
    fit, (given, scored) = matrix[~held].tocsr(), halves(matrix[held].tocsr())
    print(f"{fit.shape[0]} documents of {fit.sum() / fit.shape[0]:.1f} tokens, {held.sum()} held out, {len(words)} words")
    shares = np.maximum(np.asarray(fit.sum(axis=0)).ravel() / fit.sum(), 1e-9)
    print(f"By the frequencies of words alone: {np.asarray(scored.sum(axis=0)).ravel() @ np.log(shares) / scored.sum():.4f}")
    print("| model | parameters | after | seconds | MB | nats per token |\n|---|---|---|---|---|---|", flush=True)
    rows = []

    def show(name, parameters, after, seconds, megabytes, log):
        mean, error = document_errors(log, given, scored)
        rows.append((name, parameters, after, seconds, mean, error))
        print(f"| {name} | {parameters:,} | {after} | {seconds:.1f} | {megabytes:,.0f} | {mean:.4f} ± {error:.4f} |", flush=True)

    side = math.isqrt(args.topics)
    same = f"{side}x{side}" if side * side == args.topics else f"1x{args.topics}"
    chosen = args.models.split(",")
    for size in (None, same):
        for after, grid in of_grid(args.program, fit, size, args.effort) if "grid" in chosen else ():
            h, extents = grid.windows(), "x".join(map(str, grid.extents))
            log = lambda one, rest: completed_by_grid(h, grid.of_windows, one, rest)  # noqa: E731
            show(f"grid {extents}", h.size, after, grid.seconds, grid.megabytes, log)
    for after, grid in of_componential(args.program, fit, same, args.effort) if "componential" in chosen else ():
        beta = np.ascontiguousarray(grid.windows().T)
        log = lambda one, rest: completed_by_topics(beta, grid.of_windows, one, rest)  # noqa: E731
        show(f"componential grid {same}", beta.size, after, grid.seconds, grid.megabytes, log)
    libraries = {"scikit-learn": of_sklearn, "tomotopy": of_tomotopy, "gensim": of_gensim}
    for name, library in libraries.items():
        before = forget_peak()
        for after, seconds, beta, alpha in library(fit, words, args.topics, args.effort) if name in chosen else ():
            megabytes = peak_memory(os.getpid()) - before
            log = lambda one, rest: completed_by_topics(beta, alpha, one, rest)  # noqa: E731
            show(f"LDA of {name}{', online' if name == 'scikit-learn' else ''}", beta.size, after, seconds, megabytes, log)
            forget_peak()
    if args.plot:
        drawn(rows, args.plot)


if __name__ == "__main__":
    main()
