"""Window sums on a torus, over a table `[feature, row, column]`."""

from functools import partial

import cv2
import numpy as np
from scipy.ndimage import uniform_filter

from counting_grid import window_sums
from pairs import Skipped, race
from rows import problem


def rows(run):
    ours, shape = run.ours, run.draw()
    window, volume = shape["window"], np.float32(np.prod(shape["window"]))
    peers = [
        ("scipy uniform_filter(wrap)", lambda table: scipy_means(table, window), 6),
        ("numpy pad, cumsum, corners", lambda table: corner_sums(table, window), 15),
        ("numpy shifted additions", lambda table: window_sums(table, window, -1), None),
        ("cv2 wrapped border, boxFilter", lambda table: cv2_sums(table, window), None),
    ]
    torch = run.torch()
    if torch is None:
        yield Skipped("window sums against torch", "torch is left out")
    else:
        peers.append(("torch circular pad, avg_pool2d", lambda table: torch_sums(torch, table, window), None))
    table, sums = problem.sums(ours)
    large = np.resize(table, (shape["features"], *shape["extents"]))
    for name, peer, goal in peers:
        scale = volume if "uniform" in name else 1  # means, which serve a fit as well
        close = np.allclose(peer(table) * scale, sums, rtol=1e-4, atol=1e-4)
        assert close, f"{name} computes something else"
        theirs = partial(run.clock, partial(peer, large))
        yield race("window sums", name, lambda: ours.seconds("window_sums"), theirs, run.pairs, goal)
    yield share(run, "window sums, share of a copy", "window_sums", 0.4)
    yield share(run, "the same, D = 1, 25 cells", "window_sums_1d", 0.7)


def share(run, what, name, goal):
    """Theirs: copying the table."""
    ours = run.ours
    pairs = 4 * run.pairs + 1  # each is over in a moment
    return race(what, "memcpy", lambda: ours.seconds(name), lambda: ours.seconds("copy"), pairs, goal)


def scipy_means(table, window):
    shift = [0, *(-(side // 2) for side in window)]  # from centred windows to windows that start at a cell
    return uniform_filter(table, size=(1, *window), mode="wrap", origin=shift)


def corner_sums(table, window):
    """A summed-area table, and four corners of it."""
    height, width = window
    padded = np.pad(table, ((0, 0), (1, height - 1), (1, width - 1)), "wrap")
    padded[:, 0] = 0
    padded[:, :, 0] = 0
    area = padded.cumsum(axis=1).cumsum(axis=2)
    return (
        area[:, height:, width:]
        - area[:, :-height, width:]
        - area[:, height:, :-width]
        + area[:, :-height, :-width]
    )


def cv2_sums(table, window):
    height, width = window
    sums = np.empty_like(table)
    for plane, out in zip(table, sums):
        wide = cv2.copyMakeBorder(plane, 0, height - 1, 0, width - 1, cv2.BORDER_WRAP)
        sum_of = cv2.boxFilter(wide, -1, (width, height), anchor=(0, 0), normalize=False)
        out[:] = sum_of[: plane.shape[0], : plane.shape[1]]
    return sums


def torch_sums(torch, table, window):
    height, width = window
    planes = torch.from_numpy(table)[None]
    padded = torch.nn.functional.pad(planes, (0, width - 1, 0, height - 1), mode="circular")
    return torch.nn.functional.avg_pool2d(padded, (height, width), stride=1, divisor_override=1)[0].numpy()
