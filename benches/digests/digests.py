#!/usr/bin/env python3
"""Whether models, pages, tables and what is printed are the same bytes as before, for every command of README.md and of
benches/papers/README.md, and for some more.

    python3 benches/digests/digests.py record --binary target/release/countgrid
    python3 benches/digests/digests.py compare --binary target/release/countgrid [--quick] [--only REGEX]
    python3 benches/digests/digests.py compare --binary NEW --against OLD

`record` runs all commands and writes the digests of their outputs to recorded.json; `compare` runs them again and says
what differs, from recorded.json or from another binary, with exit code 1 if anything does. Python 3.11 or later, a POSIX
shell, awk and zcat are all that is needed, and the shared data beside the clone; what needs absent data is skipped and
said to be.

Nothing but time and memory is taken out before a digest: seconds and peak memory, in lines for people and in JSON, and
the column of seconds in results.csv. In results.json what a sweep notes of its
options, `protocol`, has a digest of its own.
"""

import argparse
import concurrent.futures
import csv
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True
import commands
import data

ROOT = Path(__file__).resolve().parents[2]
RECORDED = Path(__file__).with_name("recorded.json")
LIMIT = 600  # seconds a command may take

# --- digests -----------------------------------------------------------------------------------------------

# What varies from run to run, in what is printed and in results.json.
TIMES = [
    (re.compile(rb'"(seconds|seconds_left|peak_memory)": ?(null|[-+.0-9e]+)'), rb'"\1":0'),
    (re.compile(rb", \d+\.\d s(?=,|$)", re.MULTILINE), b""),
    (re.compile(rb", (?:\d+ (?:h|min|s) )+left$", re.MULTILINE), b""),
]


def without_times(content: bytes) -> bytes:
    for pattern, instead in TIMES:
        content = pattern.sub(instead, content)
    return content


def without_seconds(content: bytes) -> bytes:
    """Of a table."""
    rows = list(csv.DictReader(io.StringIO(content.decode())))
    return json.dumps([{name: cell for name, cell in row.items() if name != "seconds"} for row in rows]).encode()


def digests(name: str, content: bytes) -> dict[str, str]:
    """Of an output, under its name."""
    parts = {name: content}
    if name in ("stdout", "stderr"):
        parts[name] = without_times(content)
    elif name.endswith("results.csv"):
        parts[name] = without_seconds(content)
    elif name.endswith("results.json"):
        lines = without_times(content).splitlines(keepends=True)
        protocol = [line for line in lines if line.lstrip().startswith(b'"protocol"')]
        parts[name] = b"".join(line for line in lines if line not in protocol)
        parts[f"{name}: protocol"] = b"".join(protocol)
    return {part: hashlib.sha256(content).hexdigest() for part, content in parts.items()}


# --- running -----------------------------------------------------------------------------------------------


def state(folder: Path) -> dict[str, tuple]:
    """All files of a folder and when they were written; links are to data and left out."""
    found = {}
    for at, folders, names in os.walk(folder):
        for path in (Path(at, name) for name in names):
            if not path.is_symlink():
                about = path.stat()
                found[str(path.relative_to(folder))] = (about.st_ino, about.st_mtime_ns, about.st_size)
    return found


class Failed(Exception):
    pass


class Runs:
    """Runs commands with a binary."""

    def __init__(self, binary: Path, prepared: Path, work: Path):
        self.prepared, self.work = prepared, work
        (work / "bin").mkdir(parents=True)
        (work / "bin" / "countgrid").symlink_to(binary.resolve(strict=True))

    def folder(self, number: int) -> Path:
        """A fresh one, with the data."""
        folder = self.work / f"{number:02}"
        folder.mkdir()
        for path in self.prepared.iterdir():
            (folder / path.name).symlink_to(path)
        return folder

    def run(self, command: str, folder: Path) -> dict[str, str]:
        """The digests of all that it writes."""
        before = state(folder)
        path = f"{self.work / 'bin'}{os.pathsep}{os.environ['PATH']}"
        env = {"PATH": path, "TMPDIR": str(self.work), "LC_ALL": "C", "HOME": str(self.work)}
        try:
            done = subprocess.run(
                ["sh", "-e", "-c", command],
                cwd=folder,
                env=env,
                capture_output=True,
                timeout=LIMIT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise Failed(f"took more than {LIMIT} s") from None
        if done.returncode:
            raise Failed(f"exit code {done.returncode}: {done.stderr.decode(errors='replace').strip()}")
        after = state(folder)
        found = digests("stdout", done.stdout) | digests("stderr", done.stderr)
        for name in sorted(after):
            if before.get(name) != after[name]:
                found |= digests(name, (folder / name).read_bytes())
        return found


# --- the commands of this program --------------------------------------------------------------------------


class Session:
    """What record and compare share: the commands to run, the data, a place to run in."""

    def __init__(self, args, work: Path):
        self.args, self.work, self.lock = args, work, threading.Lock()
        self.groups = commands.groups(ROOT)
        self.prepared = work / "data"
        self.prepared.mkdir()
        self.data = data.prepare(args.data, self.prepared)
        self.skipped = self.failed = self.ran = self.outputs = 0

    def runs(self, binary: Path, name: str) -> Runs:
        return Runs(binary, self.prepared, self.work / name)

    def say(self, how: str, title: str, command: str, *details: str) -> None:
        with self.lock:
            print(
                f"{how:<8} {title}: {command}",
                *(f"           {line}" for line in details),
                sep="\n",
                flush=True,
            )

    def wanted(self, group: commands.Group) -> list[str]:
        """The commands that are asked for."""
        if getattr(self.args, "quick", False) and not group.quick:
            return []
        only = re.compile(self.args.only or "")
        return [command for command in group.commands if only.search(f"{group.title}: {command}")]

    def each(self, job) -> None:
        """Runs all groups that have something to run. What needs data that are absent is skipped, and said to be."""
        with concurrent.futures.ThreadPoolExecutor(self.args.jobs) as pool:
            pending = []
            for number, group in enumerate(self.groups):
                wanted = self.wanted(group)
                absent = set().union(*(data.absent(command, set(self.data)) for command in group.commands))
                if wanted and absent:
                    self.skipped += len(wanted)
                    for command in wanted:
                        self.say(
                            "SKIPPED",
                            group.title,
                            command,
                            f"{', '.join(sorted(absent))} not in {self.args.data}",
                        )
                elif wanted:
                    # Those before it may write what it reads.
                    until = max(group.commands.index(command) for command in wanted) + 1
                    pending.append(pool.submit(job, number, group.title, group.commands[:until], wanted))
            for result in concurrent.futures.as_completed(pending):
                result.result()


def record(args, work: Path) -> int:
    session = Session(args, work)
    runs = session.runs(args.binary, "binary")
    found: dict[str, dict[str, dict[str, str]]] = {}

    def job(number, title, some, wanted):
        folder = runs.folder(number)
        for command in some:
            began = time.monotonic()
            try:
                result = runs.run(command, folder)
            except Failed as why:
                session.failed += 1
                session.say("FAILED", title, command, str(why))
                return
            if command in wanted:
                with session.lock:
                    found.setdefault(title, {})[command] = result
                session.ran, session.outputs = session.ran + 1, session.outputs + len(result)
                session.say("recorded", title, f"{command} ({len(result)} outputs, {time.monotonic() - began:.1f} s)")

    session.each(job)
    if session.failed or session.skipped:
        print("nothing written: all has to run")
        return 1
    if args.only:
        before = json.loads(RECORDED.read_text())
        if before["data"] != session.data:
            raise commands.Unknown("recorded with other data: record all")
        for title, old in before["commands"].items():
            found[title] = old | found.get(title, {})
    ordered: dict = {}
    for group in session.groups:
        for command in group.commands:
            if command in found.get(group.title, {}):
                ordered.setdefault(group.title, {})[command] = found[group.title][command]
    RECORDED.write_text(json.dumps({"data": session.data, "commands": ordered}, indent=1) + "\n")
    print(f"{session.ran} commands with {session.outputs} outputs recorded")
    return 0


def compare(args, work: Path) -> int:
    session = Session(args, work)
    runs = session.runs(args.binary, "binary")
    others = session.runs(args.against, "against") if args.against else None
    recorded = {"data": {}, "commands": {}} if others else json.loads(RECORDED.read_text())
    if not others:
        agree(session, recorded)

    def job(number, title, some, wanted):
        folder, other = runs.folder(number), others and others.folder(number)
        for command in some:
            began, differing = time.monotonic(), []
            try:
                new = runs.run(command, folder)
                old = others.run(command, other) if others else recorded["commands"][title][command]
                differing = [
                    f"{name}: {old.get(name, 'not there')} before, {new.get(name, 'not there')} now"
                    for name in sorted(old.keys() | new.keys())
                    if old.get(name) != new.get(name)
                ]
            except Failed as why:
                new, differing = {}, [str(why)]
            if command in wanted:
                session.ran, session.outputs = session.ran + 1, session.outputs + len(new)
                session.failed += bool(differing)
                seconds = f"{time.monotonic() - began:.1f} s"
                how = "DIFFERS" if differing else "same"
                session.say(how, title, f"{command} ({len(new)} outputs, {seconds})", *differing)

    session.each(job)
    print(f"{session.ran} commands with {session.outputs} outputs: {session.failed} differ, {session.skipped} skipped")
    return 1 if session.failed else 0


def agree(session: Session, recorded: dict) -> None:
    """That what was recorded is what there is to run, with the same data."""
    for name in sorted(session.data.keys() & recorded["data"].keys()):
        if session.data[name] != recorded["data"][name]:
            raise commands.Unknown(f"{name} is not what it was when digests were recorded: record again")
    now = {(group.title, command) for group in session.groups for command in group.commands}
    before = {(title, command) for title, some in recorded["commands"].items() for command in some}
    for differing, why in (
        (now - before, "not recorded"),
        (before - now, "recorded, and not in the pages any more"),
    ):
        for title, command in sorted(differing):
            raise commands.Unknown(f"{why}: {title}: {command}")


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, prog="digests.py"
    )
    parser.set_defaults(quick=False)
    does = parser.add_subparsers(required=True, metavar="record|compare")
    for name, job in (("record", record), ("compare", compare)):
        one = does.add_parser(name)
        one.set_defaults(job=job)
        one.add_argument("--binary", type=Path, required=True, help="the program to run")
        one.add_argument("--only", metavar="REGEX", help="only commands of which this is in the section or text")
        one.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="where collections are")
        one.add_argument(
            "--jobs", type=int, default=os.cpu_count(), help="how many to run at a time [one for each core]"
        )
        one.add_argument("--keep", type=Path, metavar="DIR", help="leave what commands wrote in this folder")
        if name == "compare":
            one.add_argument("--quick", action="store_true", help="without what takes longest")
            one.add_argument(
                "--against", type=Path, metavar="BINARY", help="compare with this, not with what is recorded"
            )
    return parser.parse_args()


def main() -> int:
    args = arguments()
    try:
        if args.keep:
            args.keep.mkdir(parents=True)
            return args.job(args, args.keep.resolve())
        with tempfile.TemporaryDirectory(prefix="digests-") as work:
            return args.job(args, Path(work).resolve())
    except (commands.Unknown, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
