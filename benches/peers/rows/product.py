"""The E-step against the matrix product that it contains; against itself without pruning; against the cache."""

import warnings

import numpy as np
from scipy.special import logsumexp

from pairs import Race, Skipped, race
from rows import problem


def rows(run):
    """The peers do the product alone. This side also normalises and adds up expected counts."""
    ours, shape = run.ours, run.draw()
    ours.ask("start", 1)
    ours.ask("run", run.late)
    counts = problem.counts(ours, shape["features"])
    _, log_h = problem.state(ours)
    agree(ours, counts, log_h)

    def e_step():
        return ours.seconds("e_step_full")

    def against(name, product, goal):
        return race("E-step, every window", name, e_step, lambda: run.clock(product), run.pairs, goal)

    yield against("scipy sparse @ dense", lambda: counts @ log_h, 5)
    yield from torch_rows(run, counts, log_h, against)
    dense, scores = counts.toarray(), np.empty((shape["bags"], shape["cells"]), np.float32)
    yield against("numpy dense BLAS", lambda: np.matmul(dense, log_h, out=scores), 20)
    yield bandwidth(run)
    yield pruned(run)


def torch_rows(run, counts, log_h, against):
    torch = run.torch()
    if torch is None:
        yield Skipped("E-step against torch sparse CSR", "torch is left out")
        return
    indices = (torch.from_numpy(x.astype(np.int64)) for x in (counts.indptr, counts.indices))
    warnings.filterwarnings("ignore", message="Sparse")  # that the format is in beta
    sparse = torch.sparse_csr_tensor(*indices, torch.from_numpy(counts.data), counts.shape)
    dense = torch.from_numpy(log_h)
    yield against("torch sparse CSR mm", lambda: torch.mm(sparse, dense), 8)


def agree(ours, counts, log_h):
    """Whether both sides score the same thing."""
    scores = (counts @ log_h).astype(np.float64)
    evidence = (logsumexp(scores, axis=1) - np.log(scores.shape[1])).sum() / counts.sum(dtype=np.float64)
    found = ours.ask("time", "e_step_full")["bound"]
    print(
        f"log evidence per token: ours {found:.6f}, scipy's product {evidence:.6f}, apart {found - evidence:.1e}"
    )
    assert abs(found - evidence) < 1e-4, "the two sides do not compute the same"


def bandwidth(run):
    """Theirs: reading the table's rows from cache, in the E-step's order, and nothing else."""
    readings = []

    def reading():
        readings.append(run.ours.ask("bandwidth"))
        return readings[-1]["in_order_of_rows"][run.ours.clock]

    result = race(
        "share of the cache limit",
        "reading the rows",
        lambda: run.ours.seconds("e_step_full"),
        reading,
        run.pairs,
        0.85,
    )
    rates = [np.median([r[way]["gb_per_s"] for r in readings]) for way in ("in_order_of_rows", "in_sequence")]
    result.note = f"rows {rates[0]:.0f} GB/s, in sequence {rates[1]:.0f} GB/s"
    return result


def pruned(run):
    result = Race("E-step, pruned", "ours, every window", 3)
    same = True
    for pair in range(run.pairs + 1):
        fast, full = (run.ours.ask("time", name) for name in ("e_step", "e_step_full"))
        same = same and (fast["digest"], fast["bound"]) == (full["digest"], full["bound"])
        if pair:
            result.add(fast[run.ours.clock], full[run.ours.clock])
    result.note = "identical bits" if same else "DIFFERENT BITS"
    return result
