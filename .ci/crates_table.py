"""The table of docs/crates.md: what each crate costs those who depend on it.

    python3 .ci/crates_table.py [--build] >docs/crates.md

Needs the nightly toolchain, for the shares of documented items; the public items are counted in docs/api. With --build each
crate is built from nothing, optimised, without features and with all, which takes an hour.
"""

import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BARE, ALL = ("--no-default-features",), ("--all-features",)


def run(*command, **environment):
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout


def tree(name, features):
    """How many other crates are compiled."""
    lines = run("cargo", "tree", "--locked", "-p", name, "-e", "normal,build", "--prefix", "none", *features).splitlines()
    return len({line.removesuffix(" (*)").strip() for line in lines if line.strip()}) - 1


def coverage(name):
    """Shares of items that are documented, and of those that could have an example that do."""
    options = ("--", "-Z", "unstable-options", "--show-coverage", "--output-format", "json")
    command = ("cargo", "+nightly", "rustdoc", "--locked", "-q", "-p", name, "--lib", *ALL, *options)
    files = json.loads(run(*command, CARGO_TARGET_DIR=str(ROOT / "target/api"))).values()
    total = {key: sum(file[key] for file in files) for key in ("total", "with_docs", "total_examples", "with_examples")}
    return total["with_docs"] / total["total"], total["with_examples"] / max(1, total["total_examples"])


def seconds(name, features):
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        run("cargo", "build", "--locked", "-q", "--release", "-p", name, *features, CARGO_TARGET_DIR=folder, CARGO_INCREMENTAL="0")
        return time.monotonic() - start


def main(arguments):
    build = arguments == ["--build"]
    if arguments and not build:
        sys.exit(__doc__)
    metadata = json.loads(run("cargo", "metadata", "--locked", "--no-deps", "--format-version", "1"))
    packages = [package for package in metadata["packages"] if package["publish"] is None]
    run("cargo", "package", "--locked", "--allow-dirty", "--no-verify", "-q", *(f"-p{package['name']}" for package in packages))
    compiler = run("rustc", "--version").split(" (")[0]
    print(f"""# The crates in figures

Made by `python3 .ci/crates_table.py`, version {packages[0]["version"]}, {compiler}, {platform.machine()}.

*Dependencies* are the crates that are compiled besides it, those of this workspace included; *package* is what is downloaded,
compressed. *Items* are the lines of [the record](api) of public items. *Documented* is the share of items with
documentation and *examples* that of the items which can have one by themselves, both as rustdoc counts them with all features,
which leaves methods out; a type's example often serves its methods.{" Seconds are of an optimised build from nothing on " + str(os.cpu_count()) + " cores." if build else ""}
""")
    print("| crate | dependencies, no features | all features | package, kB | items | documented | examples |", end="")
    print(" build, s, no features | all features |" if build else "")
    print("|---|" + "--:|" * (8 if build else 6))
    for package in sorted(packages, key=lambda package: package["name"]):
        name = package["name"]
        library = any("lib" in target["kind"] for target in package["targets"])
        archive = pathlib.Path(metadata["target_directory"]) / "package" / f"{name}-{package['version']}.crate"
        documented, examples = coverage(name) if library else (None, None)
        cells = [
            f"[`{name}`](../{pathlib.Path(package['manifest_path']).parent.relative_to(ROOT)})",
            tree(name, BARE),
            tree(name, ALL),
            round(archive.stat().st_size / 1000),
            len((ROOT / f"docs/api/{name}.txt").read_text().splitlines()) if library else "",
            f"{documented:.0%}" if library else "",
            f"{examples:.0%}" if library else "",
        ]
        if build:
            cells += [f"{seconds(name, BARE):.0f}", f"{seconds(name, ALL):.0f}"]
        print("|", " | ".join(str(cell) for cell in cells), "|", flush=True)


main(sys.argv[1:])
