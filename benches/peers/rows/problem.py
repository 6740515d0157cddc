"""What the Rust side wrote, as NumPy and SciPy arrays."""

import tempfile
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array


def counts(ours, features):
    """The bags of the present problem, `[bag, feature]`, float32."""
    with tempfile.TemporaryDirectory() as folder:
        ours.ask("bags", folder)
        values, indices, starts = (load(folder, name) for name in ("counts", "indices", "indptr"))
    return csr_array((values, indices, starts.astype(np.int32)), shape=(len(starts) - 1, features))


def state(ours):
    """The present grid: `pi` and the logarithms of its windows, `[feature, cell]`."""
    with tempfile.TemporaryDirectory() as folder:
        ours.ask("state", folder)
        return load(folder, "pi"), load(folder, "log_h")


def topics(ours):
    """Expected counts of the present topics, `[topic, feature]`."""
    with tempfile.TemporaryDirectory() as folder:
        ours.ask("topics", "state", folder)
        return load(folder, "topics")


def sums(ours):
    """Some planes and their window sums, `[feature, row, column]`."""
    with tempfile.TemporaryDirectory() as folder:
        ours.ask("sums", folder)
        return load(folder, "table"), load(folder, "sums")


def load(folder, name):
    return np.load(Path(folder) / f"{name}.npy")
