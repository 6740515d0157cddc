"""Counting-grid EM as one would write it with SciPy: sparse products, broadcasting, float32 throughout."""

import numpy as np

FLOOR = np.float32(1e-37)  # so that a word that a window does not know has a logarithm
CUT = np.float32(-30)  # nats below the best window


def window_sums(table, window, sign):
    """Sums over a torus window, `[feature, row, column]`, axis by axis. `sign` is -1 for windows that start at a
    cell, 1 for windows that end there. Adding shifted copies is NumPy's fastest way for small windows."""
    for axis, side in zip((1, 2), window):
        total = table.copy()
        for shift in range(1, side):
            total += np.roll(table, sign * shift, axis)
        table = total
    return table


class CountingGrid:
    """A grid that is fitted to sparse counts `[bag, feature]`; `pi` is `[feature, cell]`."""

    def __init__(self, counts, extents, window, pseudocount, pi):
        self.counts, self.transposed = counts, counts.T.tocsr()
        self.planes, self.window = (-1, *extents), window
        self.volume, self.pseudocount = np.float32(np.prod(window)), np.float32(pseudocount)
        self.tokens, self.pi = counts.sum(dtype=np.float64), pi.copy()

    def sums(self, table, sign):
        return window_sums(table.reshape(self.planes), self.window, sign).reshape(table.shape)

    def iterate(self):
        """One iteration; the log evidence per token, in nats, of the parameters before it."""
        h = self.sums(self.pi, -1) / self.volume
        q = self.counts @ np.log(np.maximum(h, FLOOR))
        best = q.max(axis=1, keepdims=True)
        q -= best
        q[q < CUT] = -np.inf  # beyond rounding, and subnormal numbers would slow everything down
        np.exp(q, out=q)
        mass = q.sum(axis=1, keepdims=True)
        q /= mass
        evidence = (best + np.log(mass)).sum(dtype=np.float64) - len(q) * np.log(q.shape[1])
        spread = self.sums((self.transposed @ q) / np.maximum(h * self.volume, FLOOR), 1)
        self.pi = self.pi * spread + self.pseudocount
        self.pi /= self.pi.sum(axis=0)
        return evidence / self.tokens
