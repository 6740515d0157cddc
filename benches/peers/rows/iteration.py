"""A whole EM iteration against SciPy's, from the same state."""

from counting_grid import CountingGrid
from pairs import Race
from rows import problem

FIRST = 5


def rows(run):
    ours, shape = run.ours, run.draw()
    counts = problem.counts(ours, shape["features"])

    def peer():
        pi, _ = problem.state(ours)
        return CountingGrid(counts, shape["extents"], shape["window"], shape["pseudocount"], pi)

    first = [Race(f"EM iteration {i + 1}", "scipy, 40 lines", 5) for i in range(FIRST)]
    apart = [0.0] * FIRST
    for _ in range(run.pairs):
        ours.ask("start", 1)
        other = peer()
        for i, result in enumerate(first):
            apart[i] = max(apart[i], pair(run, other, result))
    for result, difference in zip(first, apart):
        result.note = f"evidence per token apart {difference:.0e}"
    yield from first

    ours.ask("start", 1)
    ours.ask("run", run.late)
    other = peer()
    late = Race(f"EM iteration after {run.late}", "scipy, 40 lines", 8)
    difference = max(pair(run, other, late) for _ in range(run.pairs))
    late.note = f"evidence per token apart {difference:.0e}"
    yield late


def pair(run, other, result):
    """One iteration of both; how far apart their log evidence per token is, in nats."""
    own = run.ours.ask("time", "iteration")
    seconds, bound = run.clock.result(other.iterate)
    result.add(own[run.ours.clock], seconds)
    return abs(own["bound"] - bound)
