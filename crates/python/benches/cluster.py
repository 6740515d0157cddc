"""Bytes that move in an iteration of a fit on a Dask cluster, counted from its messages, and its seconds, beside a model of them.

    python3 crates/python/benches/cluster.py [--leaves 8] [--words 1000] [--grid 32] [--iterations 8] [--workers 1 2 3 4]

Workers are processes of one thread on this machine. Every message is counted where it is written: by the scheduler and the client,
which are this process, and by each worker. An iteration moves

    (W + 1) states + (2 + x) sums + what schedules the tasks

of which a state goes from the client to the scheduler, to one worker, and from workers to the other W - 1; the last sums go to the
scheduler and to the client; and x are the tables that are merged on another worker than the one they were computed on, at most P - 1 of
P parts. The model of seconds is

    leaves / min(W, processors) x leaf + levels x (merge + sums / rate) + (2 + log2 W) x state / rate + step + 2 sums / rate + tasks x task

with what is measured by itself: a leaf, a merge and a step in one process, the rate of bytes between two workers, and a task that does
nothing. For more workers than there are here it takes one processor for each and as many leaves as are said with `--of`.
"""

import argparse
import logging
import math
import os
import statistics
import time

import numpy as np
import scipy.sparse as sp

import dask
import distributed
from countgrid import CountingGrid, _core
from countgrid._data import bags
from countgrid.distributed import dask as parts


def rows(number, words):
    """A leaf of rows of ten tokens."""
    rng, size = np.random.default_rng(number), _core.leaf_size()
    topic = rng.integers(0, 20, size)[:, None] * (words // 20)
    found = (topic + rng.integers(0, words // 10, (size, 10))) % words
    return sp.csr_matrix((np.ones(found.size), (np.repeat(np.arange(size), 10), found.ravel())), shape=(size, words))


def count_messages():
    """From now on, counts what this process writes to others."""
    from distributed.comm.tcp import TCP

    if hasattr(TCP, "written"):
        return
    write, TCP.written = TCP.write, 0

    async def counted(self, *arguments, **options):
        size = await write(self, *arguments, **options)
        TCP.written += size
        return size

    TCP.write = counted


def written():
    from distributed.comm.tcp import TCP

    return TCP.written


def seconds(function, times=5):
    """The median."""
    found = []
    for _ in range(times):
        begun = time.perf_counter()
        function()
        found.append(time.perf_counter() - begun)
    return statistics.median(found)


class Iterations(logging.Handler):
    """When iterations have ended, and what was written until the first and the last of them."""

    def __init__(self, client, last):
        super().__init__()
        self.client, self.last, self.ends, self.bytes = client, last, [], []

    def emit(self, record):
        if "iteration" in record.getMessage():
            self.ends.append(time.perf_counter())
            if len(self.ends) in (2, self.last):
                self.bytes.append((written(), list(self.client.run(written).values())))


def measured(workers, options):
    """Seconds of an iteration, bytes of an iteration by this process and by each worker."""
    with distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
    ) as cluster, distributed.Client(cluster) as client:
        count_messages()
        client.run(count_messages)
        log, handler = logging.getLogger("countgrid"), Iterations(client, options.iterations)
        log.addHandler(handler)
        log.setLevel(logging.DEBUG)
        blocks = [dask.delayed(rows)(number, options.words) for number in range(options.leaves)]
        parts.fit(estimator(options), blocks, client=client)
        log.removeHandler(handler)
        (own, theirs), (own_last, theirs_last) = handler.bytes
        times = len(handler.ends[2 : options.iterations])
        gaps = [b - a for a, b in zip(handler.ends[2:], handler.ends[3:])]
        each = [(last - first) / times for first, last in zip(theirs, theirs_last)]
        numbers = 4_000_000
        rate = task = None
        if workers == 2:
            one, other = client.nthreads()
            held = client.submit(np.zeros, numbers, workers=[one])
            distributed.wait(held)

            def move():
                distributed.wait(client.submit(len, held, workers=[other], pure=False))

            begun = time.perf_counter()
            move()
            rate = 8 * numbers / (time.perf_counter() - begun)
            task = seconds(lambda: client.gather([client.submit(abs, 1, pure=False) for _ in range(200)])) / 200
        return statistics.median(gaps), (own_last - own) / times, each, rate, task


def estimator(options):
    side = options.grid
    return CountingGrid(
        (side, side), (4, 4), max_iter=options.iterations, tol=1e-30, anneal=1, schedule="single", random_state=1
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--leaves", type=int, default=8)
    parser.add_argument("--words", type=int, default=1000)
    parser.add_argument("--grid", type=int, default=32)
    parser.add_argument("--iterations", type=int, default=8)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 3, 4])
    parser.add_argument("--of", type=int, default=2048)
    options = parser.parse_args()

    model, block = estimator(options), rows(0, options.words)
    documents, digests, full = _core.leaf_documents(bags(block, double=False), 0)
    other, more, _ = _core.leaf_documents(bags(rows(1, options.words), double=False), 1)
    totals = (options.words, 2 * block.shape[0], 2 * full, 2 * float(block.sum()))
    state = _core.start_state(model._kind, model._request(False), totals, digests + more, None, False)
    for _ in range(options.iterations // 2):  # a leaf takes longest under the first models, where no window is unlikely
        one, two = _core.leaf_sums(state, documents, 1), _core.leaf_sums(state, other, 1)
        merged = _core.merge_sums(one, two)
        before, (state, _, _) = state, _core.step_state(state, merged, 1)
    state = before
    leaf = seconds(lambda: _core.leaf_sums(state, documents, 1))
    merge = seconds(lambda: _core.merge_sums(one, two))
    step = seconds(lambda: _core.step_state(state, merged, 1))

    found = {workers: measured(workers, options) for workers in sorted({*options.workers, 2})}
    rate, task = found[2][3:]
    print(f"leaf {leaf:.3f} s, merge {merge:.4f} s, step {step:.3f} s, {rate / 1e6:.0f} MB/s, task {1e3 * task:.2f} ms")
    print(f"state {len(state)} bytes, sums {len(one)} bytes")

    def model_of(workers, leaves, processors):
        count = -(-leaves // parts._leaves_of_part(leaves, workers))
        levels = math.ceil(math.log2(count))
        tasks = 2 * count
        return (
            leaves / min(workers, processors) * leaf
            + levels * (merge + len(one) / rate)
            + (2 + math.ceil(math.log2(workers))) * len(state) / rate
            + step + 2 * len(one) / rate + tasks * task
        )

    print("workers  parts  seconds  model  MB in all  MB by client and scheduler  MB by a worker  sums moved between workers")
    for workers in options.workers:
        gap, own, each, _, _ = found[workers]
        count = -(-options.leaves // parts._leaves_of_part(options.leaves, workers))
        moved = (own + sum(each) - (workers + 1) * len(state)) / len(one) - 2
        print(
            f"{workers:7} {count:6} {gap:8.2f} {model_of(workers, options.leaves, os.cpu_count()):6.2f} {(own + sum(each)) / 1e6:10.1f} "
            f"{own / 1e6:27.1f} {statistics.mean(each) / 1e6:15.1f} {moved:12.2f}"
        )
    print(f"model for {options.of} leaves, a processor for each worker: workers, seconds, share of the processors' time in leaves")
    for workers in (1, 3, 10, 30, 100, 300, 1000):
        total = model_of(workers, options.of, workers)
        print(f"{workers:7} {total:9.2f} {options.of / workers * leaf / total:6.2f}")


if __name__ == "__main__":
    main()
