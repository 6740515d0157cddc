"""The peak memory of fits: grids of 64 x 64 cells, and of as many as topics, that begin with mini-batches, beside topics of
other libraries, on the same counts.

    pip install scikit-learn tomotopy gensim safetensors
    python3 benches/papers/fit_memory.py target/release/countgrid TABLE [--label COLUMN] [--topics 100]

`TABLE`, words and fits are those of likelihood_in_time.py, each after one pass, or 25 sweeps of tomotopy, on one thread. Megabytes of a
library are what a new process has at most beyond what it had with the counts as a SciPy matrix, of which the first line tells; those of a grid
are all of the process `countgrid fit`, with its reading of the counts.
"""

import math
import multiprocessing
import os
import warnings

from likelihood_in_time import SEED, arguments, mini_batches, of_gensim, of_sklearn, of_tomotopy, said
from peers import Grid, counts, read
from short_documents import peak_memory


def first_fit(library, fit, words, topics, found):
    """In a process of its own: what it is after, seconds, and megabytes beyond those it began with."""
    warnings.filterwarnings("ignore")
    with open("/proc/self/clear_refs", "w", encoding="utf-8") as file:
        file.write("5")  # the peak is from now on
    before = peak_memory(os.getpid())
    after, seconds, *_ = next(library(fit, words, topics, 1.0))
    found.put((after, seconds, peak_memory(os.getpid()) - before))


def main():
    args = arguments(__doc__).parse_args()
    documents, _ = read(args.table, None, args.label)
    fit, words = counts(documents, 3, 3000)
    fit = fit.tocsr()
    del documents
    size = sum(part.nbytes for part in (fit.data, fit.indices, fit.indptr)) / 1e6
    print(f"{fit.shape[0]} documents of {fit.sum() / fit.shape[0]:.1f} tokens, {len(words)} words, a matrix of {size:.0f} MB")
    print("| model | parameters | after | seconds | MB |\n|---|---|---|---|---|", flush=True)

    def show(name, parameters, after, seconds, megabytes):
        print(f"| {name} | {parameters:,} | {after} | {seconds:.1f} | {megabytes:.0f} |", flush=True)

    for size in (64, math.isqrt(args.topics)):
        name, options = f"{size}x{size}", mini_batches(fit.shape[0], 1)
        grid = Grid(args.program, fit, SEED, ["--grid", name, *options], places=False)
        show(f"grid {name}, the whole process", size * size * len(words), said(1), grid.seconds, grid.megabytes)
    # Of a forked process much of what it needs could be what this one has freed, and so not be seen.
    fresh = multiprocessing.get_context("spawn")
    libraries = {"scikit-learn, online": of_sklearn, "tomotopy": of_tomotopy, "gensim": of_gensim}
    for name, library in libraries.items():
        found = fresh.SimpleQueue()
        process = fresh.Process(target=first_fit, args=(library, fit, words, args.topics, found))
        process.start()
        show(f"LDA of {name}", args.topics * len(words), *found.get())
        process.join()


if __name__ == "__main__":
    main()
