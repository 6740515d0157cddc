"""Ways to fit a map, measured by `countgrid compare`: neighbourhoods and topics on the documents of the fit, likelihoods on others.

    python3 benches/papers/map_measures.py target/release/countgrid TABLE [--seeds N] [--documents N] [--sizes SIDES,...] [OPTION ...]

`TABLE` is a CSV or TSV file with a header, gzipped or not, of documents or of counts. Every fifth document is held out. Prints a row
of a table for each way, or for each size of the grid instead: mean and standard error over the seeds, and the processor time of a fit.
Other options are those of
`countgrid fit` for every way, such as `--label-column class`.
"""

import argparse
import gzip
import json
import math
import os
import resource
import subprocess
import tempfile

# Options of each way, and its pseudocount as a share of the mean, tokens / (cells × words), of which a first fit tells.
WAYS = {
    "default": ("", None),
    "no annealing, 0.02 of the mean": ("--anneal 1", 0.02),
    "no annealing": ("--anneal 1", None),
    "0.02 of the mean": ("", 0.02),
    "0.1 of the mean": ("", 0.1),
    "0.25 of the mean": ("", 0.25),
    "0.5 of the mean": ("", 0.5),
    "from 0.01": ("--anneal 0.01", None),
    "from 0.1": ("--anneal 0.1", None),
    "from 0.3": ("--anneal 0.3", None),
    "10 iterations": ("--anneal-iterations 10", None),
    "40 iterations": ("--anneal-iterations 40", None),
    "10,000 words": ("--max-words 10000 --min-count 3", None),
    "mini-batches": ("--batch 1200 --passes 6 --iterations 5", None),  # of a map of 30,000 documents
}
OF_FIT = ["neighbour_labels", "neighbour_vote", "trustworthiness", "continuity", "c_npmi", "c_v", "diversity"]
HELD_OUT = ["neighbour_vote", "completion_log_likelihood", "bound_per_token"]


def compare(program: str, models: list[str], data: str, folder: str) -> tuple[dict, dict]:
    """Measures of the only group, and its stability."""
    output = os.path.join(folder, "comparison")
    subprocess.run([program, "compare", *models, data, "-o", output, "--quiet"], check=True)
    with open(os.path.join(output, "comparison.json"), encoding="utf-8") as file:
        (group,) = json.load(file)["groups"]
    return group["measures"], group["stability"]


def processor_seconds() -> float:
    """Of all that was run."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def mean_count(about: dict) -> float:
    """Tokens that a word has at a cell on average."""
    return about["fit"]["tokens"] / (math.prod(about["grid"]) * about["vocabulary"])


def shown(measure: dict | None) -> str:
    if measure is None:
        return "-"
    error = measure["standard_error"]
    return f"{measure['value']:.3f}" + (f" ± {error:.3f}" if error is not None else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("table")
    parser.add_argument("--seeds", type=int, default=3, help="fits of each way [default: 3]")
    parser.add_argument("--documents", type=int, help="take so many, evenly spaced [default: all]")
    parser.add_argument("--sizes", type=lambda sizes: sizes.split(","), help="sizes of the grid instead of ways")
    args, given = parser.parse_known_args()
    ways = {size: (f"--grid {size}", None) for size in args.sizes} if args.sizes else WAYS
    program, seeds = args.program, args.seeds
    suffix = ".csv" if args.table.removesuffix(".gz").endswith(".csv") else ".tsv"
    opened = gzip.open if args.table.endswith(".gz") else open
    with opened(args.table, "rt", encoding="utf-8", newline="\n") as file:
        header, *rows = file.readlines()
    if args.documents:
        rows = [rows[n * len(rows) // args.documents] for n in range(args.documents)]
    with tempfile.TemporaryDirectory() as folder:
        parts = {
            "fit": [row for n, row in enumerate(rows) if n % 5],
            "held-out": [row for n, row in enumerate(rows) if n % 5 == 0],
        }
        for name, own in parts.items():
            with open(os.path.join(folder, name + suffix), "w", encoding="utf-8") as file:
                file.writelines([header, *own])
        fit, held_out = (os.path.join(folder, name + suffix) for name in parts)
        print(f"{len(parts['fit'])} documents, {len(parts['held-out'])} held out, {seeds} seeds")
        columns = ["way", *OF_FIT, "stability", *(name + ", held out" for name in HELD_OUT), "seconds"]
        print("| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|", flush=True)
        about = None
        for way, (options, share) in ways.items():
            models, own = [], options.split()
            if share is not None:
                own += ["--pseudocount", str(share * mean_count(about))]
            if "--anneal-iterations" in own:
                own += ["--anneal", str(about["fit"]["anneal"])]
            began = processor_seconds()
            for seed in range(1, seeds + 1):
                models.append(os.path.join(folder, f"{seed}.safetensors"))
                command = [program, "fit", fit, "--keep-duplicates", "--seed", str(seed), "-o", models[-1], *given, *own, "--quiet"]
                subprocess.run(command, check=True)
            seconds = (processor_seconds() - began) / seeds
            if about is None:
                told = subprocess.run([program, "info", models[0], "--json"], check=True, capture_output=True)
                about = json.loads(told.stdout)
            measures, stability = compare(program, models, fit, folder)
            held, _ = compare(program, models, held_out, folder)
            cells = [way, *(shown(measures[name]) for name in OF_FIT), f"{stability['neighbours']:.3f}"]
            cells += [*(shown(held[name]) for name in HELD_OUT), f"{seconds:.1f}"]
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
