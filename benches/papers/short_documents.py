#!/usr/bin/env python3
"""Many short documents with topics, such as titles, and where the time of a map of them goes.

    python3 benches/papers/short_documents.py draw titles.csv --documents 100000 --words 17 --seed 1
    python3 benches/papers/short_documents.py measure target/release/countgrid titles.csv [SEEDS] [--threads 2]
    python3 benches/papers/short_documents.py reach target/release/countgrid titles.csv [SEEDS] [--batch 4000] [--passes 6]
    python3 benches/papers/short_documents.py phases target/release/countgrid titles.csv [--threads 2]

`draw` writes a CSV file with the columns `id`, `label` and `text`. Words have Zipf frequencies; a document has one or two of
the topics, and half of its words are of them, the others of all. The length of a document is drawn, with the mean that is
asked for. The same arguments give the same file. `label` is the group of the first topic.

`measure` prints a row of a table for each way to fit: the log evidence per token of the final model, evaluated over all
documents, mean of seeds 1 to SEEDS (by itself 3) and range; seconds of processor, and on the clock, of the whole of
`countgrid map`, mean; and its peak memory, the largest.

`reach` prints for each seed the bound that plain EM ends with, over all documents, after how many seconds of the processor the fit does, and after
how many a fit has reached it that begins with mini-batches as a map of many documents does: on one thread, reading left out. That fit
looks at all documents only after its last pass; so it is also fitted with fewer passes, which is the same fit until then, and the number
is printed that reaches the bound first.

`phases` prints when each phase of `countgrid map` ends, on the clock and of the processor, and the peak memory until then.
"""

import argparse
import csv
import itertools
import json
import math
import os
import random
import subprocess
import tempfile
import time

TOPICS, GROUPS = 200, 20
VOCABULARY, OWN = 20_000, 60  # words, and those that are a topic's own
WAYS = {
    "the default": "",
    "annealing": "--anneal 0.3 --iterations 40",
    "plain EM": "--schedule single --anneal 1",
    "coarse to fine": "--anneal 1",
}


def word(number: int) -> str:
    """A word of letters, another for each number, which no list of stop words has."""
    consonants, vowels = "bdfgklmnprstvz", "aeiou"
    letters = []
    for _ in range(4):
        number, syllable = divmod(number, len(consonants) * len(vowels))
        letters += [consonants[syllable // len(vowels)], vowels[syllable % len(vowels)]]
    return "".join(letters) + "x"


def draw(path: str, documents: int, words: float, seed: int) -> None:
    """Writes the documents one after the other, in memory that does not grow with them."""
    random.seed(seed)
    numbers = list(range(VOCABULARY))
    random.shuffle(numbers)
    names = [word(number) for number in numbers]
    common = list(itertools.accumulate(1.0 / (rank + 10) for rank in range(VOCABULARY)))
    own = list(itertools.accumulate(1.0 / (rank + 3) for rank in range(OWN)))
    topics = []
    for topic in range(TOPICS):
        # Half of a topic's words are also those of topics of its group.
        group = random.Random(seed * 1_000_003 + topic % GROUPS)
        shared = [group.randrange(VOCABULARY) for _ in range(OWN // 2)]
        single = [random.randrange(VOCABULARY) for _ in range(OWN - OWN // 2)]
        topics.append([number for pair in zip(single, shared) for number in pair])
    popular = list(itertools.accumulate(1.0 / (topic + 5) for topic in range(TOPICS)))
    with open(path, "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["id", "label", "text"])
        for document in range(documents):
            of = random.choices(range(TOPICS), cum_weights=popular, k=2)
            length = max(1, round(random.gauss(words, words / 4)))
            mine = sum(random.random() < 0.5 for _ in range(length))
            second = mine // 3 if random.random() < 0.4 else 0
            drawn = random.choices(range(VOCABULARY), cum_weights=common, k=length - mine)
            for topic, number in ((of[0], mine - second), (of[1], second)):
                drawn += random.choices(topics[topic], cum_weights=own, k=number)
            random.shuffle(drawn)
            rows.writerow([document, f"group {of[0] % GROUPS}", " ".join(names[number] for number in drawn)])


def run(command: list[str]) -> tuple[dict, float, float, float]:
    """What a command says as JSON, its processor seconds, those on the clock, and its peak memory in MB."""
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as said:
        child = subprocess.Popen(command, stdout=said)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise subprocess.CalledProcessError(child.returncode, command)
        said.seek(0)
        lines = said.read().splitlines()
    spent = used.ru_utime + used.ru_stime
    return json.loads(lines[-1]), spent, time.monotonic() - began, used.ru_maxrss / 1000


def measure(program: str, path: str, seeds: int, threads: int) -> None:
    common = ["--threads", str(threads), "--quiet", "--json"]
    print(f"{path}: countgrid map {' '.join(common)} OPTIONS\n", flush=True)
    print("| way | options | bound per token | processor | seconds | MB |\n|---|---|---|---|---|---|")
    for way, options in WAYS.items():
        bounds, spent, clock, memory = [], 0.0, 0.0, 0.0
        for seed in range(1, seeds + 1):
            with tempfile.TemporaryDirectory() as folder:
                out = os.path.join(folder, "map")
                command = [program, "map", path, *common, *options.split(), "--seed", str(seed), "-o", out]
                said, processor, seconds, peak = run(command)
                bounds.append(said["bound_per_token"])
                spent, clock, memory = spent + processor / seeds, clock + seconds / seeds, max(memory, peak)
        mean = sum(bounds) / seeds
        print(
            f"| {way} | `{options}` | {mean:.4f} ({min(bounds):.4f} to {max(bounds):.4f}) "
            f"| {spent:.1f} | {clock:.1f} | {memory:.0f} |",
            flush=True,
        )


def processor_seconds(process: int) -> float:
    """Of a process that runs, as Linux tells them."""
    with open(f"/proc/{process}/stat", encoding="utf-8") as file:
        user, system = file.read().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def bounds_in_time(program: str, path: str, options: list[str]) -> list[tuple[float, float]]:
    """Seconds of the processor since the fit began, and the bound per token, of every event of a fit that has one."""
    found, began = [], 0.0
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "fit", path, "--threads", "1", "--json", *options, "-o", os.path.join(folder, "model")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            for line in child.stdout:
                said = json.loads(line)
                if said.get("event") == "grid":
                    began = processor_seconds(child.pid)
                if "bound_per_token" in said:
                    found.append((processor_seconds(child.pid) - began, said["bound_per_token"]))
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, command)
    return found


def reach(program: str, path: str, seeds: int, batch: int, passes: int) -> None:
    iterations = 5
    heads = ["seed", "bound of plain EM", "seconds", "passes", "seconds", "ratio", f"{passes} passes: bound", "seconds", "ratio"]
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|", flush=True)
    for seed in range(1, seeds + 1):
        plain = bounds_in_time(program, path, ["--schedule", "single", "--anneal", "1", "--seed", str(seed)])
        bound = plain[-1][1]

        def after(events: list[tuple[float, float]], bound: float = bound) -> float:
            return next((seconds for seconds, reached in events if reached >= bound), math.inf)

        own, begun, whole = {}, [], 0.0
        for number in [passes, *range(1, passes)]:
            many = ["--batch", str(batch), "--passes", str(number), "--iterations", str(iterations), "--seed", str(seed)]
            # The last bounds are over all documents: after no to all iterations, of the model and of the summary. Those before are of coarser
            # grids and of mini-batches, as many as there are passes.
            events = bounds_in_time(program, path, many)
            first = len(events) - iterations - 3
            before, own[number] = [reached for _, reached in events[:first]], after(events[first:])
            if number == passes:
                begun, whole = before, events[-1][1]
            if before != begun[: len(before)]:
                raise ValueError(f"a fit of {number} passes does not begin as one of {passes} does")
            if number < passes and events[first][1] >= bound:
                break
        best = min(own, key=own.__getitem__)
        needed = after(plain)
        shown = [f"{seed}", f"{bound:.4f}", f"{needed:.1f}", f"{best}", f"{own[best]:.1f}", f"{needed / own[best]:.2f}"]
        shown += [f"{whole:.4f}", f"{own[passes]:.1f}", f"{needed / own[passes]:.2f}"]
        print(f"| {' | '.join(shown)} |", flush=True)


# Which event ends each phase of a map.
PHASES = {"grid": "read, select and count words", "fitted": "fit", "summary": "place, page, pictures and places"}


def peak_memory(process: int) -> float:
    """Of a process that runs, in MB; none of one that has just ended."""
    with open(f"/proc/{process}/status", encoding="utf-8") as file:
        return next((int(line.split()[1]) for line in file if line.startswith("VmHWM")), 0) / 1000


def phases(program: str, path: str, threads: int) -> None:
    print("| phase | ends after | processor seconds | peak MB so far |\n|---|---|---|---|", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "map", path, "--threads", str(threads), "--json", "-o", os.path.join(folder, "map")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
            for line in child.stdout:
                phase = PHASES.get(json.loads(line).get("event"))
                if phase:
                    seconds, spent = time.monotonic() - began, processor_seconds(child.pid)
                    print(f"| {phase} | {seconds:.1f} | {spent:.1f} | {peak_memory(child.pid):.0f} |", flush=True)
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, command)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    drawing = commands.add_parser("draw")
    drawing.add_argument("path")
    drawing.add_argument("--documents", type=int, default=100_000)
    drawing.add_argument("--words", type=float, default=17)
    drawing.add_argument("--seed", type=int, default=1)
    measuring = commands.add_parser("measure")
    measuring.add_argument("program")
    measuring.add_argument("path")
    measuring.add_argument("seeds", type=int, nargs="?", default=3)
    measuring.add_argument("--threads", type=int, default=2)
    reaching = commands.add_parser("reach")
    reaching.add_argument("program")
    reaching.add_argument("path")
    reaching.add_argument("seeds", type=int, nargs="?", default=3)
    reaching.add_argument("--batch", type=int, default=4000, help="documents of a mini-batch: one in 25 of 100,000")
    reaching.add_argument("--passes", type=int, default=6, help="of mini-batches, at most")
    timing = commands.add_parser("phases")
    timing.add_argument("program")
    timing.add_argument("path")
    timing.add_argument("--threads", type=int, default=2)
    given = vars(parser.parse_args())
    {"draw": draw, "measure": measure, "reach": reach, "phases": phases}[given.pop("command")](**given)


if __name__ == "__main__":
    main()
