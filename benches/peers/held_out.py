#!/usr/bin/env python3
"""How well topics predict documents that were held out: ours against scikit-learn's, on texts of a TSV file.

Both fit the same documents with as many topics, priors and iterations. What is compared are the topics alone: one
evaluator, written here in float64, infers every held-out document under either matrix, `(n + eta)` normalised (for
scikit-learn the mean of its posterior), with the same `alpha`. It gives the bound per token and, for the second half of
every document's tokens given the first, the log-likelihood per token.
"""

import argparse
import csv
import gzip
import sys
import tempfile
from pathlib import Path

import environment


def texts(path):
    """The column `text` of a gzipped TSV file."""
    csv.field_size_limit(1 << 30)
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return [row["text"] for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]


def halves(document, rng):
    """The tokens of a document in two halves, as counts."""
    import numpy as np

    words, counts = document
    tokens = rng.permutation(np.repeat(words, counts.astype(int)))
    return [np.unique(half, return_counts=True) for half in np.array_split(tokens, 2)]


def infer(beta, alpha, words, counts):
    """`gamma` and the bound of a document, by coordinate ascent to 1e-6 (Blei et al. 2003)."""
    import numpy as np
    from scipy.special import gammaln, psi

    rows, topics = beta[:, words], len(beta)
    gamma = np.full(topics, alpha + counts.sum() / topics)
    for _ in range(2000):
        e = psi(gamma)
        x = np.exp(e - e.max())
        mass = x @ rows
        new = alpha + x * (rows @ (counts / mass))
        change, gamma = np.abs(new - gamma).mean(), new
        if change < 1e-6:
            break
    bound = gammaln(topics * alpha) - topics * gammaln(alpha) + gammaln(gamma).sum() - gammaln(gamma.sum())
    return gamma, bound + counts @ np.log(mass) - (gamma - alpha) @ (e - e.max())


def evaluate(beta, alpha, documents):
    """Bound, and log-likelihood of second halves, in nats a token."""
    import numpy as np

    rng = np.random.default_rng(0)
    bound = tokens = completed = rest = 0.0
    for document in documents:
        words, counts = document
        if counts.sum() < 2:
            continue
        bound += infer(beta, alpha, words, counts)[1]
        tokens += counts.sum()
        (seen, seen_counts), (unseen, unseen_counts) = halves(document, rng)
        gamma, _ = infer(beta, alpha, seen, seen_counts)
        completed += unseen_counts @ np.log(gamma / gamma.sum() @ beta[:, unseen])
        rest += unseen_counts.sum()
    return bound / tokens, completed / rest


def ours(program, counts, topics, iterations, seed):
    import numpy as np

    from ours import Ours
    from rows import problem

    with Ours(program) as process, tempfile.TemporaryDirectory() as folder:
        arrays = {"indptr": np.int64, "indices": np.int32, "data": np.float32}
        for name, kind in arrays.items():
            file = "counts" if name == "data" else name
            np.save(Path(folder) / f"{file}.npy", getattr(counts, name).astype(kind))
        process.ask("read", folder, counts.shape[1])
        process.ask("topics", seed, topics)
        process.ask("topics", "run", iterations)
        return problem.topics(process).astype(np.float64)


def theirs(counts, topics, iterations, seed):
    import numpy as np
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(topics, max_iter=iterations, random_state=seed)
    return model.fit(counts.astype(np.float32)).components_.astype(np.float64) - model.topic_word_prior_


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.tsv.gz")
    parser.add_argument("--topics", type=int, default=20)
    parser.add_argument("--iterations", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--program", help="the built program `rounds`")
    args = parser.parse_args()
    if args.program is None:
        environment.enter(torch=False)
        args.program = environment.build("rounds")
    import numpy as np
    from sklearn.feature_extraction.text import CountVectorizer

    prior = 1 / args.topics
    for path in args.files:
        words = CountVectorizer(min_df=5, max_df=0.5, stop_words="english", token_pattern="[a-z]{2,}")
        counts = words.fit_transform(texts(path)).tocsr()
        counts.sort_indices()
        order = np.random.default_rng(0).permutation(counts.shape[0])
        fitted, held_out = np.split(order, [len(order) * 4 // 5])
        documents = [(row.indices, row.data.astype(float)) for row in (counts[t] for t in held_out)]
        print(
            f"{path.name}: {len(fitted)} documents fitted, {len(held_out)} held out, {counts.shape[1]} words"
        )
        for seed in range(1, args.seeds + 1):
            for name, fit in (("ours", lambda *a: ours(args.program, *a)), ("scikit-learn", theirs)):
                n = fit(counts[fitted], args.topics, args.iterations, seed) + prior
                bound, completed = evaluate(n / n.sum(axis=1, keepdims=True), prior, documents)
                print(f"  seed {seed}  {name:12}  bound {bound:.4f}  completion {completed:.4f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
