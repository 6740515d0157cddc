"""What a fit shows of itself."""

from __future__ import annotations

import contextlib
import logging
from typing import Any, Callable, Iterator

#: The end of each fit at level INFO, each iteration at level DEBUG.
LOG = logging.getLogger("countgrid")
LOG.addHandler(logging.NullHandler())

Progress = Callable[[int, int, int, "float | None", float], None]


@contextlib.contextmanager
def shown(estimator: Any) -> Iterator[Progress | None]:
    """What is called after each iteration, or None if nobody looks.

    `verbose=True` shows a bar if tqdm is there, else a line for each iteration, as `verbose=2` always does.
    """
    name = type(estimator).__name__
    verbose, debug = int(estimator.verbose), LOG.isEnabledFor(logging.DEBUG)
    if not verbose and not debug:
        yield None
        return
    bar = _bar(name) if verbose == 1 else None

    def show(restart: int, stage: int, iteration: int, bound: float | None, share: float) -> None:
        where = f"start {restart + 1}, stage {stage + 1}, iteration {iteration}"
        found = "" if bound is None else f", bound per token {bound:.4f}"
        if debug:
            LOG.debug("%s: %s%s, %.0f%%", name, where, found, 100 * share)
        if bar is not None:
            bar.set_postfix_str(where + found, refresh=False)
            bar.update(100 * share - bar.n)
        elif verbose:
            print(f"[{name}] {where}{found}, {share:.0%}", flush=True)

    try:
        yield show
    finally:
        if bar is not None:
            bar.close()


def _bar(name: str) -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(total=100, desc=name, bar_format="{desc}: {percentage:3.0f}%|{bar}| {elapsed}{postfix}")
