"""Ways to fit a map, measured by `countgrid compare`: neighbourhoods and topics on the documents of the fit, likelihoods on others.

    python3 benches/papers/map_measures.py target/release/countgrid TABLE [SEEDS [DOCUMENTS]]

`TABLE` is a TSV file with a header, gzipped or not. Every fifth document is held out. Of `DOCUMENTS`, if given, only so many are
taken, evenly spaced. Prints a row of a table for each way: mean and standard error over seeds 1 to `SEEDS` (default 3), and
the seconds of a fit.
"""

import gzip
import json
import os
import subprocess
import sys
import tempfile
import time

# The pseudocount is a multiple of that which the program takes by default, which a first fit tells.
WAYS = {
    "default": ([], 1),
    "pseudocount x 4": ([], 4),
    "pseudocount x 12": ([], 12),
    "anneal 0.03 over 30": (["--anneal", "0.03", "--anneal-iterations", "30"], 1),
    "anneal 0.03 over 30, x 4": (["--anneal", "0.03", "--anneal-iterations", "30"], 4),
    "anneal 0.03 over 30, x 12": (["--anneal", "0.03", "--anneal-iterations", "30"], 12),
    "anneal 0.1, x 12": (["--anneal", "0.1"], 12),
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


def shown(measure: dict | None) -> str:
    if measure is None:
        return "-"
    error = measure["standard_error"]
    return f"{measure['value']:.3f}" + (f" ± {error:.3f}" if error is not None else "")


def main() -> None:
    program, table, *rest = sys.argv[1:]
    seeds = int(rest[0]) if rest else 3
    opened = gzip.open if table.endswith(".gz") else open
    with opened(table, "rt", encoding="utf-8", newline="\n") as file:
        header, *rows = file.readlines()
    if len(rest) > 1:
        rows = [rows[n * len(rows) // int(rest[1])] for n in range(int(rest[1]))]
    with tempfile.TemporaryDirectory() as folder:
        parts = {
            "fit": [row for n, row in enumerate(rows) if n % 5],
            "held-out": [row for n, row in enumerate(rows) if n % 5 == 0],
        }
        for name, own in parts.items():
            with open(os.path.join(folder, name + ".tsv"), "w", encoding="utf-8") as file:
                file.writelines([header, *own])
        fit, held_out = (os.path.join(folder, name + ".tsv") for name in parts)
        print(f"{len(parts['fit'])} documents, {len(parts['held-out'])} held out, {seeds} seeds")
        columns = ["way", *OF_FIT, "stability", *(name + ", held out" for name in HELD_OUT), "seconds"]
        print("| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|", flush=True)
        usual = None
        for way, (options, times) in WAYS.items():
            models, began = [], time.monotonic()
            own = [] if times == 1 else ["--pseudocount", str(usual * times)]
            for seed in range(1, seeds + 1):
                models.append(os.path.join(folder, f"{seed}.safetensors"))
                command = [program, "fit", fit, "--seed", str(seed), "-o", models[-1], *options, *own, "--quiet"]
                subprocess.run(command, check=True)
            seconds = (time.monotonic() - began) / seeds
            if usual is None:
                about = subprocess.run([program, "info", models[0], "--json"], check=True, capture_output=True)
                usual = json.loads(about.stdout)["fit"]["pseudocount"]
            measures, stability = compare(program, models, fit, folder)
            held, _ = compare(program, models, held_out, folder)
            cells = [way, *(shown(measures[name]) for name in OF_FIT), f"{stability['neighbours']:.3f}"]
            cells += [*(shown(held[name]) for name in HELD_OUT), f"{seconds:.0f}"]
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
