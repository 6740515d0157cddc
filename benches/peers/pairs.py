"""Ratios of times measured in turns, and the table they end up in."""

import time
from dataclasses import dataclass, field
from statistics import median


@dataclass
class Race:
    """Times of both sides, pair by pair, in seconds."""

    what: str
    peer: str
    goal: float | None = None  # the ratio that the project wants to reach
    note: str = ""
    ours: list = field(default_factory=list)
    theirs: list = field(default_factory=list)

    def add(self, ours, theirs):
        self.ours.append(ours)
        self.theirs.append(theirs)

    def ratios(self):
        return [theirs / ours for ours, theirs in zip(self.ours, self.theirs)]


@dataclass
class Skipped:
    """A row that was not measured, and why."""

    what: str
    why: str


class Clock:
    """Times a call in this process, by processor time or by the clock on the wall."""

    def __init__(self, kind):
        self.now = time.process_time if kind == "cpu" else time.perf_counter

    def __call__(self, work):
        """Seconds of one call."""
        return self.result(work)[0]

    def result(self, work):
        """Seconds of one call, and what it returned."""
        start = self.now()
        result = work()
        return self.now() - start, result


def race(what, peer, ours, theirs, pairs, goal=None, note=""):
    """Runs both sides in turns, the first pair for warming up; who goes first changes from pair to pair.

    `ours` and `theirs` return seconds.
    """
    result = Race(what, peer, goal, note)
    for pair in range(pairs + 1):
        if pair % 2:
            own, other = ours(), theirs()
        else:
            other, own = theirs(), ours()
        if pair:
            result.add(own, other)
    return result


def table(rows):
    """All rows as aligned text."""
    header = ("what", "against", "ours", "theirs", "ratio", "min .. max", "pairs", "goal", "")
    lines = [header] + [line(row) for row in rows if isinstance(row, Race)]
    widths = [max(len(cells[column]) for cells in lines) for column in range(len(header))]
    text = ["  ".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip() for cells in lines]
    text.insert(1, "-" * max(map(len, text)))
    text += [f"skipped: {row.what}: {row.why}" for row in rows if isinstance(row, Skipped)]
    return "\n".join(text)


def line(row):
    ratios = row.ratios()
    middle = median(ratios)
    goal = verdict = ""
    if row.goal is not None:
        goal = f">= {row.goal:g}"
        verdict = "" if middle >= row.goal else "missed"
    return (
        row.what,
        row.peer,
        duration(median(row.ours)),
        duration(median(row.theirs)),
        f"{middle:.2f}",
        f"{min(ratios):.2f} .. {max(ratios):.2f}",
        str(len(ratios)),
        goal,
        "; ".join(filter(None, [verdict, row.note])),
    )


def duration(seconds):
    return f"{seconds * 1e3:.2f} ms" if seconds < 1 else f"{seconds:.2f} s"
