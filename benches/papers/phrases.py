"""Maps with phrases and without, in pairs of one seed each.

    python3 benches/papers/phrases.py target/release/countgrid TABLE [--seeds N] [--documents N] [OPTION ...]

Every fifth document of `TABLE` is held out, as in `map_measures.py`. Prints a row for each measure: without phrases, with them, and the
difference with its standard error over the seeds. Bounds per token are none of them, since tokens differ. Then the phrases among the
600 words of greatest weight on the map. Other options are those of `countgrid fit` and `countgrid map`.
"""

import argparse
import gzip
import json
import os
import re
import statistics
import subprocess
import tempfile

from map_measures import OF_FIT, processor_seconds

TOP = 600


def evaluate(program: str, model: str, data: str, folder: str) -> dict:
    output = os.path.join(folder, "measures.json")
    subprocess.run([program, "evaluate", model, data, "-o", output, "--quiet"], check=True)
    with open(output, encoding="utf-8") as file:
        return json.load(file)["measures"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("table")
    parser.add_argument("--seeds", type=int, default=3, help="fits of each way [default: 3]")
    parser.add_argument("--documents", type=int, help="take so many, evenly spaced [default: all]")
    args, given = parser.parse_known_args()
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
        found: dict[str, dict[str, list[float]]] = {"none": {}, "auto": {}}
        for seed in range(1, args.seeds + 1):
            for which, values in found.items():
                model, began = os.path.join(folder, "model.safetensors"), processor_seconds()
                options = ["--seed", str(seed), "--phrases", which, *given, "--quiet"]
                subprocess.run([args.program, "fit", fit, "--keep-duplicates", "-o", model, *options], check=True)
                seconds = processor_seconds() - began
                measures = evaluate(args.program, model, fit, folder)
                held = evaluate(args.program, model, held_out, folder)
                own = {name: measures[name] for name in OF_FIT} | {"neighbour_vote, held out": held["neighbour_vote"]}
                own = {name: measure["value"] for name, measure in own.items() if measure is not None}
                for name, value in (own | {"processor seconds": seconds}).items():
                    values.setdefault(name, []).append(value)
        print(f"{len(parts['fit'])} documents, {len(parts['held-out'])} held out, {args.seeds} seeds\n")
        print("| measure | without | with phrases | difference |\n|---|---|---|---|")
        for name, before in found["none"].items():
            after = found["auto"][name]
            differences = [b - a for a, b in zip(before, after)]
            error = statistics.stdev(differences) / len(differences) ** 0.5 if len(differences) > 1 else float("nan")
            means = " | ".join(f"{statistics.mean(values):.3f}" for values in (before, after))
            print(f"| {name} | {means} | {statistics.mean(differences):+.4f} ± {error:.4f} |")
        command = [args.program, "map", fit, "--keep-duplicates", "-o", folder, "--phrases", "auto", *given, "--quiet"]
        subprocess.run(command, check=True)
        with open(os.path.join(folder, "map.html"), encoding="utf-8") as file:
            page = json.loads(re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', file.read(), re.DOTALL)[1])
    heaviest = sorted(range(len(page["words"])), key=lambda n: -page["weights"][n])[:TOP]
    words = {page["words"][n] for n in heaviest}
    phrases = sorted(word for word in words if " " in word)
    print(f"\n{len(phrases)} of {len(words)} words drawn most are phrases: {', '.join(phrases)}")
    for level in page.get("regions", [])[:1]:
        print("Regions: " + "; ".join(", ".join(name) for name in level["names"]))


if __name__ == "__main__":
    main()
