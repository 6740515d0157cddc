"""Bytes that move in an iteration of a fit on a Dask cluster, counted from its messages, and its seconds, beside a model of them.

    python3 crates/python/benches/cluster.py [--leaves 8] [--words 1000] [--grid 32] [--iterations 8] [--workers 1 2 3 4]

Workers are processes of one thread on this machine. Every message is counted where it is written: by the scheduler and the client,
which are this process, and by each worker. An iteration moves

    (W + 1) states + (2 + x) sums + what schedules the tasks

of which a state goes from the client to the scheduler, to one worker, and from workers to the other W - 1; the last sums go to the
scheduler and to the client; and x are the tables that are merged on another worker than the one they were computed on, at most P - 1 of
P parts. The model of seconds is

    P / A x part + merges x merge + step + there and back + 2 log2 W x move + tasks x task

with A = min(W, processors / threads) and the merges that follow each other when A are done at a time, and what is measured by itself: a
part, while A of them are worked out, a merge and a step in one process; a task that does nothing, a state that goes to a worker and
back, and one that goes from a worker to another, as states and sums do on their way to all and from them. For more workers than
there are here it takes a machine like this one for each, as many leaves as are said with `--of`, and parts whose seconds grow with
their leaves as those that are measured do.
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
from countgrid._data import bags, jobs_of
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
        return statistics.median(gaps), (own_last - own) / times, each


def costs(state, stacked, threads):
    """Seconds of a task that does nothing, for a state to go to a worker and back, and from one worker to another; and of a part of
    so many leaves, by how many run at a time on other workers."""
    processors = max(1, os.cpu_count() // threads)
    with distributed.LocalCluster(
        n_workers=max(2, processors), threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
    ) as cluster, distributed.Client(cluster) as client:
        workers = list(client.nthreads())
        one, other = workers[:2]
        task = seconds(lambda: client.gather([client.submit(abs, 1, pure=False) for _ in range(200)])) / 200
        there_and_back = seconds(lambda: client.submit(bytearray, state, pure=False).result(), 9)

        def move():
            held = client.submit(bytearray, there, workers=[one], pure=False)
            distributed.wait(held)
            begun = time.perf_counter()
            distributed.wait(client.submit(len, held, workers=[other], pure=False))
            return time.perf_counter() - begun

        def run(documents, at_once):
            there = 2 * workers[:at_once]  # one after the other, as a worker has two
            distributed.wait([client.submit(_core.leaf_sums, held, documents, threads, workers=[own], pure=False) for own in there])

        there = client.scatter(state)
        moved = max(0.0, statistics.median(move() for _ in range(9)) - task)
        held = client.scatter(state, broadcast=True)
        part = {}
        for size, documents in stacked.items():
            documents = client.scatter(documents, broadcast=True)
            for at_once in range(1, processors + 1):
                part[size, at_once] = seconds(lambda: run(documents, at_once)) / 2  # noqa: B023
        return task, there_and_back, moved, part


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

    model = estimator(options)
    threads, sizes = jobs_of(model.n_jobs), {parts.leaves_of_part(options.leaves, workers) for workers in options.workers} | {1, options.leaves}
    blocks = [rows(number, options.words) for number in range(options.leaves)]
    stacked = {size: _core.leaf_documents(bags(sp.vstack(blocks[:size], "csr"), double=False), 0) for size in sizes}
    everything, digests, full = stacked[options.leaves]
    totals = (options.words, sum(block.shape[0] for block in blocks), full, float(sum(block.sum() for block in blocks)))
    state = _core.start_state(model._kind, model._request(False), totals, digests, None, False)
    for _ in range((2 + options.iterations) // 2 + 1):  # as the median of those that are measured: a leaf takes longest under the first models
        sums = _core.leaf_sums(state, everything, threads)
        before, (state, _, _) = state, _core.step_state(state, sums, threads)
    state = before
    other = _core.leaf_documents(bags(blocks[1], double=False), 1)[0]
    one, two = _core.leaf_sums(state, stacked[1][0], threads), _core.leaf_sums(state, other, threads)
    merge = seconds(lambda: _core.merge_sums(one, two))
    step = seconds(lambda: _core.step_state(state, sums, threads))

    task, there_and_back, move, part = costs(state, {size: stacked[size][0] for size in sorted(sizes)}, threads)
    found = {workers: measured(workers, options) for workers in options.workers}
    shown = ", ".join(f"{size} leaves {taken:.3f} s, {at_once} at a time" for (size, at_once), taken in part.items())
    print(f"{threads} threads: {shown}\nmerge {merge:.4f} s, step {step:.3f} s, task {1e3 * task:.2f} ms, "
          f"state to a worker and back {there_and_back:.3f} s, to another {move:.3f} s")
    print(f"state {len(state)} bytes, sums {len(one)} bytes")

    def model_of(workers, leaves, at_once, size, part):
        """With `at_once` parts of so many leaves at a time."""
        count = -(-leaves // size)
        tasks = 2 * count
        moves = math.ceil(math.log2(workers))
        merges = sum(-(-(count >> level) // at_once) for level in range(1, math.ceil(math.log2(count)) + 1))
        return count / at_once * part + merges * merge + step + there_and_back + 2 * moves * move + tasks * task

    print("workers  parts  seconds  model  MB in all  MB by client and scheduler  MB by a worker  sums moved between workers")
    for workers in options.workers:
        gap, own, each = found[workers]
        size = parts.leaves_of_part(options.leaves, workers)
        count = -(-options.leaves // size)
        at_once = min(workers, max(1, os.cpu_count() // threads))
        total = model_of(workers, options.leaves, at_once, size, part[size, at_once])
        moved = (own + sum(each) - (workers + 1) * len(state)) / len(one) - 2
        print(
            f"{workers:7} {count:6} {gap:8.2f} {total:6.2f} {(own + sum(each)) / 1e6:10.1f} "
            f"{own / 1e6:27.1f} {statistics.mean(each) / 1e6:15.1f} {moved:12.2f}"
        )
    print(f"model for {options.of} leaves, a processor for each worker: workers, leaves of a part, seconds, share of them in parts")
    largest = max(size for size, _ in part)
    for workers in (1, 3, 10, 30, 100, 300, 1000):
        size = parts.leaves_of_part(options.of, workers)
        taken = part[1, 1] + (size - 1) * (part[largest, 1] - part[1, 1]) / (largest - 1)
        at_once = min(workers, -(-options.of // size))
        total = model_of(workers, options.of, at_once, size, taken)
        print(f"{workers:7} {size:6} {total:9.2f} {options.of / size / at_once * taken / total:6.2f}")


if __name__ == "__main__":
    main()
