"""What each way to fit a counting grid is worth: the bound it ends at, and what that takes.

    python3 benches/papers/fitting_options.py target/release/countgrid DATA [SEEDS]

`DATA` is a folder with news-20-same and classic3. Prints a row of a table for each way: the log evidence per token in the
end, mean over seeds 1 to SEEDS (by itself 3) and range, and processor seconds of the whole program, reading included.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile

SETS = {"news-20-same": "news-20-same/news-20-same.tsv.gz", "classic3": "classic3/classic3.tsv.gz"}
COMMON = "--threads 1 --json"
WAYS = {
    "plain EM": "--schedule single --anneal 1",
    "plain EM, best of 3": "--schedule single --anneal 1 --restarts 3",
    "coarse to fine": "--anneal 1",
    "coarse to fine, best of 3": "--anneal 1 --restarts 3",
    "coarse to fine, then annealing (default)": "",
    "the same, best of 3": "--restarts 3",
    "the same, 3 passes of an M-step": "--inner-passes 3",
    "annealing alone": "--schedule single",
    "coarse to fine, then mini-batches": "--batch 500",
    "mini-batches alone": "--schedule single --batch 500",
    "the default, learned prior": "--learn-prior",
}


def seconds_of_processor() -> float:
    """Of all programs that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def bound(program: str, path: str, options: str, seed: int) -> float:
    """The log evidence per token that a fit ends at."""
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "model.safetensors")
        words = [*COMMON.split(), *options.split(), "--seed", str(seed), "--output", model]
        said = subprocess.run([program, "fit", path, "--keep-duplicates", *words], check=True, capture_output=True, text=True)
    return json.loads(said.stdout.splitlines()[-1])["bound_per_token"]


def main() -> None:
    program, data, *seeds = sys.argv[1:]
    for name, path in SETS.items():
        path = os.path.join(data, path)
        print(f"\n{name}: countgrid fit {path} {COMMON} OPTIONS\n", flush=True)
        print("| way | options | bound per token | seconds |\n|---|---|---|---|")
        for way, options in WAYS.items():
            before = seconds_of_processor()
            bounds = [bound(program, path, options, seed + 1) for seed in range(int(seeds[0]) if seeds else 3)]
            seconds = (seconds_of_processor() - before) / len(bounds)
            mean = sum(bounds) / len(bounds)
            spread = f"{mean:.4f} ({min(bounds):.4f} to {max(bounds):.4f})"
            print(f"| {way} | `{options}` | {spread} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
