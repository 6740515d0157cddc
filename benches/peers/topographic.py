"""Topographic maps beside ugtm, the public Gaussian GTM: nearest-neighbour accuracy and time an iteration.

    cargo build --release -p countgrid-gtm --example places
    pip install -r requirements.txt ugtm==2.3.0 && python topographic.py PROGRAM CLASSIC3 [DRAWS]
    python topographic.py PROGRAM CLASSIC3 full

Equal work: the same rows (square roots of relative counts of the 329 stems or words in most documents, of those in at
most a quarter), 16 x 16 latent points, 5 x 5 RBFs as wide as their spacing, a ridge of 0.1, 25 iterations of EM from
principal components, one thread. Seconds are processor time, and of ugtm those of 26 iterations less those of one, so
that neither start nor last projection counts. Accuracy is that of the nearest other place, on posterior means.

`full` takes all documents and the 5,000 words in most of them, again of those in at most a quarter, and 5 iterations.
"""

import csv
import gzip
import json
import os
import random
import re
import subprocess
import sys
import time

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[threads] = "1"

import numpy  # noqa: E402
import ugtm  # noqa: E402

SIDE, CENTRES, ITERATIONS, FULL, TERMS = 16, 5, 25, 5, 329
CLASSES = ["MED", "CISI", "CRAN"]


def read(path):
    with gzip.open(path, "rt") as lines:
        rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [(CLASSES.index(row["class"]), re.findall(r"[a-z]{3,}", row["text"].lower())) for row in rows]


def draw(texts, seed):
    """200 documents of each class as counts of words, and their classes."""
    chance = random.Random(seed)
    chosen = [text for label in range(3) for text in chance.sample([t for t in texts if t[0] == label], 200)]
    chance.shuffle(chosen)
    return count(chosen, TERMS)


def count(chosen, terms):
    spread = {}
    for _, words in chosen:
        for word in set(words):
            spread[word] = spread.get(word, 0) + 1
    kept = sorted((word for word in spread if spread[word] <= len(chosen) // 4), key=lambda w: (-spread[w], w))
    place = {word: j for j, word in enumerate(kept[:terms])}
    counts = numpy.zeros((len(chosen), len(place)))
    for n, (_, words) in enumerate(chosen):
        for word in words:
            if word in place:
                counts[n, place[word]] += 1
    return counts, numpy.array([label for label, _ in chosen])


def accuracy(places, labels):
    distances = ((places[:, None, :] - places[None, :, :]) ** 2).sum(2)
    numpy.fill_diagonal(distances, numpy.inf)
    return float((labels[distances.argmin(1)] == labels).mean())


def theirs(rows, iterations):
    begun = time.process_time()
    map = ugtm.runGTM(rows, k=SIDE, m=CENTRES, s=1.0, regul=0.1, niter=iterations, doPCA=False, missing=False)
    return map.matMeans, time.process_time() - begun


def ours(program, law, rows, iterations):
    text = "\n".join(" ".join(map(repr, map(float, row))) for row in rows)
    run = subprocess.run(
        [program, law, str(SIDE), str(CENTRES), str(iterations)], input=text, capture_output=True, text=True, check=True
    )
    places = numpy.array([line.split() for line in run.stdout.splitlines()], float)
    report = json.loads(run.stderr)
    return places, report["seconds"] / report["iterations"]


def main(program, path, draws=6):
    texts, table, iterations = read(path), {}, FULL if draws == "full" else ITERATIONS
    sets = [count(texts, 5_000)] if draws == "full" else (draw(texts, seed) for seed in range(1, int(draws) + 1))
    for counts, labels in sets:
        hellinger = numpy.sqrt(counts / numpy.maximum(counts.sum(1, keepdims=True), 1))
        _, once = theirs(hellinger, 1)
        places, often = theirs(hellinger, iterations + 1)
        figures = {"ugtm": (accuracy(places, labels), (often - once) / iterations)}
        for law, rows in (("gaussian", hellinger), ("zip", counts), ("poisson", counts), ("multinomial", counts)):
            places, seconds = ours(program, law, rows, iterations)
            figures[law] = (accuracy(places, labels), seconds)
        for name, figure in figures.items():
            table.setdefault(name, []).append(figure)
    print("| map | 1-NN | ms an iteration | ugtm's time over it |")
    print("|---|---|---|---|")
    reference = numpy.median([seconds for _, seconds in table["ugtm"]])
    for name, figures in table.items():
        told, seconds = numpy.mean([a for a, _ in figures]), numpy.median([s for _, s in figures])
        print(f"| {name} | {told:.3f} | {1e3 * seconds:.1f} | {reference / seconds:.1f} |")


if __name__ == "__main__":
    main(*sys.argv[1:])
