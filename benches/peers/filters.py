#!/usr/bin/env python3
"""Box filters of images and volumes against imageproc, OpenCV and SciPy: measured in turns, in one run, on one thread.

Run it with any Python 3.11 or later; it makes a virtual environment with pinned peers and builds the Rust side.
"""

import argparse
import tempfile
from functools import partial
from pathlib import Path

import environment

SIZES = {2: 1024, 3: 128}


def best(clock, work):
    """As the other side measures: the best of five."""
    return min(clock(work) for _ in range(5))


def rows(pairs, clock_kind):
    import cv2
    import numpy as np
    from scipy.ndimage import uniform_filter

    from ours import Ours
    from pairs import Clock, race

    cv2.setNumThreads(1)
    clock = Clock(clock_kind)
    with Ours(environment.build("filters", "imageproc"), clock=clock_kind) as ours:
        for axes, side in SIZES.items():
            for radius in (2, 20):
                width = 2 * radius + 1
                with tempfile.TemporaryDirectory() as folder:
                    file = Path(folder) / "both"
                    ours.ask("write", "u8", axes, side, radius, file)
                    table, means = np.fromfile(file, np.uint8).reshape(2, *[side] * axes)
                exact = uniform_filter(table.astype(float), width, mode="nearest")
                assert np.abs(means - exact).max() <= 0.5 + 1e-6, "we compute something else"
                for kind in ("u8", "f32"):
                    image = table.astype({"u8": np.uint8, "f32": np.float32}[kind])
                    out = np.empty_like(image)
                    peers = {
                        "SciPy uniform_filter": partial(
                            uniform_filter, image, width, output=out, mode="nearest"
                        )
                    }
                    if axes == 2:
                        peers["OpenCV boxFilter"] = partial(
                            cv2.boxFilter, image, -1, (width, width), dst=out, borderType=cv2.BORDER_REPLICATE
                        )
                    own = partial(ours.seconds, kind, axes, side, radius)
                    what = f"{kind}, {' x '.join([str(side)] * axes)}, radius {radius}"
                    if axes == 2 and kind == "u8":
                        theirs = partial(ours.seconds, "imageproc", axes, side, radius)
                        yield race(what, "imageproc box_filter", own, theirs, pairs, 1)
                    for name, peer in peers.items():
                        peer()
                        # SciPy cuts off what does not fit a byte after each axis.
                        assert np.abs(out - exact).max() <= (axes if kind == "u8" else 1e-3), name
                        yield race(what, name, own, partial(best, clock, peer), pairs, 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=9, metavar="N", help="pairs of times for each ratio")
    parser.add_argument("--clock", choices=("cpu", "wall"), default="cpu", help="processor time, or the wall's")
    args = parser.parse_args()
    environment.enter(torch=False)
    from pairs import table

    print(environment.machine(), flush=True)
    print(table(list(rows(args.pairs, args.clock))))


if __name__ == "__main__":
    main()
