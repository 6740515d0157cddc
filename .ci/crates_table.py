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
    """Shares of public items that are documented, and of types, traits, functions and macros that have an example."""
    options = ("--", "-Z", "unstable-options", "--output-format", "json")
    folder = ROOT / "target/api" # rustdoc's JSON takes the place of its pages
    run("cargo", "+nightly", "rustdoc", "--locked", "-q", "-p", name, "--lib", *ALL, *options, CARGO_TARGET_DIR=str(folder))
    index = json.loads((folder / f"doc/{name.replace('-', '_')}.json").read_text())["index"]
    items = {key: (*item["inner"].items(),)[0] for key, item in index.items() if item["crate_id"] == 0}
    impls = [inner for kind, inner in items.values() if kind == "impl"]
    implied = {str(key) for impl in impls if impl["trait"] for key in impl["items"]}  # documented by the trait
    for kind, inner in items.values():
        if kind == "variant" and isinstance(inner["kind"], dict) and "struct" in inner["kind"]:
            implied.update(map(str, inner["kind"]["struct"]["fields"]))  # by the variant
    example = {key for key, item in index.items() if "```" in (item["docs"] or "")}
    methods = {}  # of each type
    for impl in impls:
        if not impl["trait"] and "resolved_path" in impl["for"]:
            methods.setdefault(str(impl["for"]["resolved_path"]["id"]), set()).update(map(str, impl["items"]))
    for key, (kind, inner) in items.items():
        if kind == "trait":
            methods[key] = set(map(str, inner["items"]))
    inside = set().union(*methods.values()) if methods else set()
    said, all_said, shown, all_shown = 0, 0, 0, 0
    for key, (kind, _) in items.items():
        if kind in ("impl", "use") or key in implied or index[key]["name"] is None or index[key]["name"].isdigit():
            continue
        all_said += 1
        said += bool(index[key]["docs"])
        if kind in ("struct", "enum", "trait", "macro") or (kind == "function" and key not in inside):
            all_shown += 1
            shown += key in example or bool(methods.get(key, set()) & example)
    return said / all_said, shown / max(1, all_shown)


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
compressed. *Items* are the lines of [the record](api) of public items. *Documented* is the share of public items that have
documentation, methods, fields and variants among them, and *examples* that of types, traits, functions and macros that have an
example, be it at a method; both with all features.{" Seconds are of an optimised build from nothing on " + str(os.cpu_count()) + " cores." if build else ""}
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
