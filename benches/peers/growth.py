#!/usr/bin/env python3
"""Time of an iteration against the size of the problem, and the memory of the standard one.

Writes growth.csv and growth.png: seconds against nonzero counts times cells, for more and more bags and for larger and
larger grids, the first iteration from a random start and later ones, with fitted exponents. An exponent of 1 is linear.
"""

import argparse
import csv
from pathlib import Path

import environment

BAGS, SIDE = 10_000, 40
MANY_BAGS = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
MANY_SIDES = (20, 40, 60, 80, 120)
LATE = 10  # iterations before those that count as late
TIMED = 3


def measure(program, bags, side, features):
    """Rows for one problem, in a process of its own."""
    from statistics import median

    from ours import Ours

    with Ours(program) as ours:
        shape = ours.ask("draw", 1, f"bags={bags}", f"side={side}", f"features={features}")
        ours.ask("start", 1)
        seconds = {"first": ours.seconds("iteration")}
        ours.ask("run", LATE - 1)
        seconds["late"] = median(ours.seconds("iteration") for _ in range(TIMED))
        peak = ours.ask("memory")["peak"]
    sizes = {name: shape[name] for name in ("bags", "cells", "features", "nonzeros")}
    pairs = shape["nonzeros"] * shape["cells"]
    return [
        {**sizes, "phase": phase, "pairs": pairs, "seconds": spent, "peak_bytes": peak}
        for phase, spent in seconds.items()
    ]


def fits(rows, bags):
    """Straight lines through the logarithms, with `bags` bags or on the standard grid: exponents, and the rows."""
    import numpy as np

    sweeps = {"bags": lambda row: row["cells"] == SIDE * SIDE, "cells": lambda row: row["bags"] == bags}
    found = {}
    for sweep, belongs in sweeps.items():
        for phase in ("first", "late"):
            chosen = sorted((r for r in rows if belongs(r) and r["phase"] == phase), key=lambda r: r["pairs"])
            x, y = (np.log([row[key] for row in chosen]) for key in ("pairs", "seconds"))
            found[sweep, phase] = (np.polyfit(x, y, 1)[0], chosen)
    return found


def draw(lines, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 5))
    colours, marks = {"bags": "tab:blue", "cells": "tab:orange"}, {"first": "s--", "late": "o-"}
    for (sweep, phase), (exponent, rows) in lines.items():
        points = [[row[key] for row in rows] for key in ("pairs", "seconds")]
        label = f"more {sweep}, {phase}: exponent {exponent:.2f}"
        axes.loglog(*points, marks[phase], color=colours[sweep], label=label)
    axes.set(xlabel="nonzero counts x cells", ylabel="seconds an iteration")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=120, bbox_inches="tight")


def peak_memory(program, sizes):
    """The most memory that a fit of the standard problem takes, corpus included."""
    from ours import Ours

    with Ours(program) as ours:
        ours.ask("draw", 1, *sizes)
        ours.ask("start", 1)
        ours.ask("run", 3)
        return ours.ask("memory")["peak"]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a few small sizes: does it run?")
    parser.add_argument("--output", type=Path, default=environment.BENCHES / "target", metavar="DIR")
    parser.add_argument("--without-torch", dest="torch", action="store_false", help="do not install torch")
    args = parser.parse_args()
    environment.enter(args.torch)

    program = environment.build("rounds")
    print(environment.machine(), flush=True)
    features = 500 if args.quick else 5_000
    many_bags, many_sides = ((500, 1_000, 2_000), (20, 40)) if args.quick else (MANY_BAGS, MANY_SIDES)
    bags = 1_000 if args.quick else BAGS
    memory = peak_memory(program, (f"bags={bags}", f"features={features}"))
    sizes = {(t, SIDE) for t in many_bags} | {(bags, side) for side in many_sides}
    rows = []
    for size in sorted(sizes):
        for row in measure(program, *size, features):
            rows.append(row)
            print("{bags} bags, {cells} cells, {phase}: {seconds:.3f} s".format(**row), flush=True)
    args.output.mkdir(parents=True, exist_ok=True)
    with open(args.output / "growth.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    lines = fits(rows, bags)
    draw(lines, args.output / "growth.png")
    for (sweep, phase), (exponent, _) in lines.items():
        print(f"more {sweep}, {phase} iteration: seconds grow as (nonzeros x cells)^{exponent:.3f}")
    print(f"peak memory of a fit, {'small' if args.quick else 'standard'} problem: {memory / 1e6:.0f} MB")
    print(f"wrote {args.output / 'growth.csv'} and growth.png")


if __name__ == "__main__":
    main()
