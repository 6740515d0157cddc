#!/usr/bin/env python3
"""One table of ratios: this project against the public peers, measured in turns, in one run, on one thread.

Run it with any Python 3.11 or later; it makes a virtual environment with pinned peers and builds the Rust side.
"""

import argparse

import environment

ROWS = ("product", "windows", "iteration", "lda", "hmm", "rbm", "counting-grids-py", "threads")


class Run:
    """What the rows share."""

    def __init__(self, args):
        from ours import Ours
        from pairs import Clock

        self.ours = Ours(environment.build("rounds"), clock=args.clock)
        self.clock = Clock(args.clock)
        self.with_torch, self.counting_grids_py = args.torch, args.counting_grids_py
        self.pairs = args.pairs or (2 if args.quick else 9)
        self.late = 10 if args.quick else 20
        self.sizes = ("bags=1000", "features=500") if args.quick else ()
        self.chains = ("sequences=20", "length=100") if args.quick else ()
        self.dense = ("bags=100", "features=50") if args.quick else ("bags=1000", "features=500")

    def draw(self):
        """Draws the standard corpus, or a small one."""
        return self.ours.ask("draw", 1, *self.sizes)

    def torch(self):
        """The module, on one thread; `None` if it is left out."""
        if not self.with_torch:
            return None
        import torch

        torch.set_num_threads(1)
        return torch

    def rows(self, name):
        from rows import iteration, others, product, sequences, windows

        subjects = (
            product.rows,
            windows.rows,
            iteration.rows,
            others.lda,
            sequences.rows,
            others.rbm,
            others.counting_grids_py,
            others.threads,
        )
        return dict(zip(ROWS, subjects))[name](self)


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rows", nargs="*", metavar="ROWS", help=f"only these: {', '.join(ROWS)}")
    parser.add_argument("--quick", action="store_true", help="small sizes, two pairs: does it run?")
    parser.add_argument("--pairs", type=int, metavar="N", help="pairs of times for each ratio (default 9)")
    parser.add_argument(
        "--clock", choices=("cpu", "wall"), default="cpu", help="processor time, or the wall's"
    )
    parser.add_argument("--counting-grids-py", metavar="PATH", help="a clone of microsoft/browsecloud")
    parser.add_argument("--without-torch", dest="torch", action="store_false", help="do not install torch")
    args = parser.parse_args()
    unknown = set(args.rows) - set(ROWS)
    if unknown:
        parser.error(f"no such rows: {', '.join(sorted(unknown))}; there are {', '.join(ROWS)}")
    return args


def main():
    args = arguments()
    environment.enter(args.torch)
    from pairs import table

    run = Run(args)
    print(environment.machine())
    print(
        f"ours: {run.ours.ask('machine')['level']}, times are {args.clock} seconds, medians of pairs",
        flush=True,
    )
    rows = []
    for name in args.rows or ROWS:
        print(f"measuring {name} ...", flush=True)
        rows.extend(run.rows(name))
    print(f"\n{table(rows)}")


if __name__ == "__main__":
    main()
