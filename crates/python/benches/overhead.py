"""What the package takes beside the program for the same fit: processor seconds and peak memory, in pairs, one after the other.

    python3 crates/python/benches/overhead.py PROGRAM [--documents 10000] [--iterations 60] [--grid 32] [--pairs 5]
    python3 crates/python/benches/overhead.py inside [--documents 10000] [--iterations 60] [--grid 32] [--pairs 5]

`inside` needs no program: of fits in this process, the share that is not the library's, which is checks of the matrix, its copy into
blocks, options and what is read off the model.

PROGRAM is the program `countgrid` built as the installed package was. Both are processes of their own, on one thread, and go from a
file with made-up texts to a model file, which is the same to the byte. Of the package the imports of Python, NumPy and scikit-learn are
taken out, which a session pays for once: a process that imports and does nothing else. The median over pairs of the ratio of
processor seconds, with the smallest and the largest.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

SCRIPT = """
import json, sys, countgrid
if len(sys.argv) > 1:
    path, model, grid, iterations = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        texts = [json.loads(line)["text"] for line in file]
    vectorizer = countgrid.TextVectorizer()
    counts = vectorizer.fit_transform(texts)
    size = (int(grid), int(grid))
    fitted = countgrid.CountingGrid(size, (5, 5), max_iter=int(iterations), random_state=1, n_jobs=1).fit(counts)
    fitted.describe(counts, title="texts", vectorizer=vectorizer).save(model)
"""


def measured(command):
    """Processor seconds and peak bytes of a process."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{command[0]} has ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def texts(documents):
    """Texts of 80 words of 5,000, a tenth of which are of a document's subject."""
    rng = np.random.default_rng(1)
    words = np.array([f"{a}{b}{c}" for a in "bdfgklmnprst" for b in ("ana", "eni", "olu") for c in range(139)])
    words = np.array(["".join(letter if letter.isalpha() else "abcdefghij"[int(letter)] for letter in word) for word in words])
    for _ in range(documents):
        subject = rng.integers(0, 50) * 100
        chosen = np.where(rng.random(80) < 0.1, subject + rng.integers(0, 100, 80), rng.zipf(1.3, 80) % len(words))
        yield " ".join(words[chosen % len(words)])


def inside(options):
    """What a fit takes around the library's."""
    import time

    import countgrid
    from countgrid import _core

    counts = countgrid.TextVectorizer().fit_transform(texts(options.documents))
    library, shares, seconds = _core.fit, [], []

    def fit(*arguments):
        start = time.process_time()
        model = library(*arguments)
        seconds.append(time.process_time() - start)
        return model

    _core.fit = fit
    size = (options.grid, options.grid)
    for _ in range(options.pairs):
        start = time.process_time()
        countgrid.CountingGrid(size, (5, 5), max_iter=options.iterations, random_state=1, n_jobs=1).fit(counts)
        whole = time.process_time() - start
        shares.append(whole / seconds[-1] - 1)
        print(f"whole {whole:.3f} s, the library {seconds[-1]:.3f} s", flush=True)
    middle = statistics.median(shares)
    print(f"beside the library's processor seconds: {middle:.2%} ({min(shares):.2%} to {max(shares):.2%})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    for name, value in (("documents", 10_000), ("iterations", 60), ("grid", 32), ("pairs", 5)):
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    if options.program == "inside":
        return inside(options)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "texts.jsonl"
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts(options.documents)), encoding="utf-8")
        models = [Path(folder) / name for name in ("program", "package")]
        sides = f"{options.grid}x{options.grid}"
        program = [options.program, "fit", path, "-o", models[0], "-q", "--grid", sides, "--window", "5x5"]
        program += ["--iterations", str(options.iterations), "--seed", "1", "--threads", "1"]
        package = [sys.executable, "-c", SCRIPT]
        ratios, peaks = [], ([], [], [])
        for _ in range(options.pairs):
            own, peak = measured(program)
            imports, least = measured(package)
            whole, its = measured([*package, path, models[1], str(options.grid), str(options.iterations)])
            ratios.append((whole - imports) / own)
            peaks[0].append(peak)
            peaks[1].append(its)
            peaks[2].append(least)
            print(f"program {own:.2f} s, package {whole:.2f} s of which imports {imports:.2f} s", flush=True)
        same = models[0].read_bytes() == models[1].read_bytes()
    if not same:
        sys.exit("the two models differ")
    middle = statistics.median(ratios)
    print(f"processor seconds, package / program: {middle:.3f} ({min(ratios):.3f} to {max(ratios):.3f}); the same bytes")
    print("peak memory: program {:.0f} MB, package {:.0f} MB of which imports {:.0f} MB".format(*(statistics.median(peak) / 1e6 for peak in peaks)))


if __name__ == "__main__":
    main()
