"""Labels of the nearest documents in topic space: harmoniums beside LSI and LDA, for several numbers of topics.

    python3 benches/papers/topic_neighbours.py target/release/countgrid DATA [METHOD ...]

`DATA` is a folder with news-20-same and classic3; without names all methods run. Prints the commands and a row of a table for
each: accuracy in percent, mean and standard error over folds, for each number of topics, and the seconds of processor time that they took
together.
"""

import csv
import os
import resource
import statistics
import subprocess
import sys
import tempfile

SETS = {"news-20-same": "news-20-same/news-20-same.tsv.gz", "classic3": "classic3/classic3.tsv.gz"}
TOPICS = [4, 8, 16, 32]
COMMON = "--classifier nearest --folds 5 --max-words 300 --threads 1 --quiet"
MAXIMUM = "--model harmonium --step-size 0.006"
LANGEVIN = f"{MAXIMUM} --method langevin --draws 300"
METHODS = {
    "LSI": "--model lsi --features posterior --metric cosine",
    "ML": f"{MAXIMUM} --features posterior",
    "ML, cosine": f"{MAXIMUM} --features posterior --metric cosine",
    "RAP": "--model rap --features posterior",
    "Bayes, mean of samples": f"{LANGEVIN} --features posterior",
    "Bayes, mean of samples, cosine": f"{LANGEVIN} --features posterior --metric cosine",
    "Bayes, E[V]": f"{LANGEVIN} --features samples",
    "LDA": "--model lda --iterations 20 --features posterior",
}


def accuracies(program: str, path: str, options: str, topics: int) -> list[float]:
    """The accuracy of each fold, in percent."""
    with tempfile.TemporaryDirectory() as folder:
        told = os.path.join(folder, "told.csv")
        words = [*COMMON.split(), *options.split(), "--topics", str(topics), "--output", told]
        subprocess.run([program, "crossval", path, *words], check=True)
        right: dict[str, list[bool]] = {}
        with open(told, newline="", encoding="utf-8") as rows:
            for row in csv.DictReader(rows):
                right.setdefault(row["fold"], []).append(row["label"] == row["found"])
    return [100 * sum(fold) / len(fold) for fold in right.values()]


def seconds_of_processor() -> float:
    """Of all programs that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    program, data, *wanted = sys.argv[1:]
    for name, options in METHODS.items():
        if wanted and name not in wanted:
            continue
        print(f"\n{name}: countgrid crossval PATH {COMMON} {options} --topics J", flush=True)
        for collection, path in SETS.items():
            began, cells = seconds_of_processor(), []
            for topics in TOPICS:
                folds = accuracies(program, os.path.join(data, path), options, topics)
                error = statistics.stdev(folds) / len(folds) ** 0.5
                cells.append(f"{statistics.mean(folds):.1f} ± {error:.1f}")
            seconds = seconds_of_processor() - began
            print(f"| {collection} | {name} | {' | '.join(cells)} | {seconds:.0f} |", flush=True)


main()
