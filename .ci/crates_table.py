"""The table of docs/crates.md: what each crate costs those who depend on it.

    python3 .ci/crates_table.py [--build] >docs/crates.md
    python3 .ci/crates_table.py --peers >>docs/crates.md
    python3 .ci/crates_table.py --formats
    python3 .ci/crates_table.py --examples FILE ...

Needs the nightly toolchain, for the shares of documented items; the public items are counted in docs/api. With --build each
crate is built, optimised, without features and with all, which takes ten minutes. With --peers it has the same figures of
crates of others, and needs cargo-public-api. With --formats it is that of docs/guide/formats.md: what each feature of `countgrid-io` costs more
than `files`. With --examples it names the items in files of rustdoc's JSON that have neither an
example nor a link to one, and fails if there are any.
"""

import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BARE, ALL = ("--no-default-features",), ("--all-features",)


def run(*command, at=ROOT, **environment):
    done = subprocess.run(command, cwd=at, env={**os.environ, **environment}, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout


def tree(name, features):
    """How many other crates are compiled."""
    lines = run("cargo", "tree", "--locked", "-p", name, "-e", "normal,build", "--prefix", "none", *features).splitlines()
    return len({line.removesuffix(" (*)").strip() for line in lines if line.strip()}) - 1


def rustdoc(name):
    options = ("--", "-Z", "unstable-options", "--output-format", "json")
    folder = ROOT / "target/api" # rustdoc's JSON takes the place of its pages
    run("cargo", "+nightly", "rustdoc", "--locked", "-q", "-p", name, "--lib", *ALL, *options, CARGO_TARGET_DIR=str(folder))
    return folder / f"doc/{name.replace('-', '_')}.json"


def coverage(file):
    """Shares of public items that are documented, and of types, traits, functions and macros that have an example or, in their
    text, a link to one; which have neither."""
    crate = json.loads(file.read_text())
    index = crate["index"]
    named, modules = set(), [str(crate["root"])]  # what a path leads to from outside, unlike a trait that seals others
    while modules:
        for key in map(str, index[modules.pop()]["inner"]["module"]["items"]):
            kind, inner = (*index[key]["inner"].items(),)[0] if key in index else (None, None)
            key = str(inner["id"]) if kind == "use" else key
            if key in index and key not in named:
                named.add(key)
                modules += [key] if "module" in index[key]["inner"] else []
    items = {key: (*item["inner"].items(),)[0] for key, item in index.items() if item["crate_id"] == 0}
    impls = [inner for kind, inner in items.values() if kind == "impl"]
    implied = {str(key) for impl in impls if impl["trait"] for key in impl["items"]}  # documented by the trait
    for kind, inner in items.values():
        if kind == "variant" and isinstance(inner["kind"], dict) and "struct" in inner["kind"]:
            implied.update(map(str, inner["kind"]["struct"]["fields"]))  # by the variant
    methods = {}  # of each type
    for impl in impls:
        if not impl["trait"] and "resolved_path" in impl["for"]:
            methods.setdefault(str(impl["for"]["resolved_path"]["id"]), set()).update(map(str, impl["items"]))
    for key, (kind, inner) in items.items():
        if kind == "trait":
            methods[key] = set(map(str, inner["items"]))
    inside = set().union(*methods.values()) if methods else set()

    def at_it(what, key):
        """Of an item or one of its methods."""
        return any(what(index[part]) for part in {key} | methods.get(key, set()) if part in index)

    example = {key for key in items if at_it(lambda item: "```" in (item["docs"] or ""), key)}
    linked = lambda item: not example.isdisjoint(map(str, item["links"].values()))
    said, all_said, shown, neither = 0, 0, 0, []
    for key, (kind, _) in items.items():
        if kind in ("impl", "use") or key in implied or index[key]["name"] is None or index[key]["name"].isdigit():
            continue
        all_said += 1
        said += bool(index[key]["docs"])
        if kind in ("struct", "enum", "trait", "macro") or (kind == "function" and key not in inside):
            if key not in named:
                continue
            if key in example or at_it(linked, key):
                shown += 1
            else:
                neither.append(f"{file.stem}: {kind} `{index[key]['name']}` has no example and no link to one")
    return said / all_said, shown / max(1, shown + len(neither)), neither


WRAPPER = """#!/usr/bin/env python3
import os, resource, subprocess, sys
status = subprocess.call(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
unit = [argument for argument in sys.argv if argument.startswith("extra-filename=")]
if unit:
    with open(os.environ["COMPILER_LOG"], "a") as log:
        print(unit[0].removeprefix("extra-filename=-"), used.ru_utime + used.ru_stime, file=log)
sys.exit(status)
"""


def seconds(folder, options, root=ROOT):
    """Processor time of the compiler for a crate and all that it depends on, optimised. What several crates depend on, with the
    same features, is compiled once into `folder`, and counts for each."""
    wrapper, log = folder / "wrapper", folder / "log"
    if not wrapper.exists():
        wrapper.write_text(WRAPPER)
        wrapper.chmod(0o755)
    environment = {"CARGO_TARGET_DIR": str(folder / "target"), "RUSTC_WRAPPER": str(wrapper), "COMPILER_LOG": str(log)}
    made = run("cargo", "build", "-q", "--release", "--message-format", "json", *options, at=root, **environment)
    cost = {unit: float(time) for unit, time in (line.split() for line in log.read_text().splitlines())}
    messages = [json.loads(line) for line in made.splitlines()]
    files = [file for message in messages if message["reason"] == "compiler-artifact" for file in message["filenames"]]
    # A program has its plain name: a link to the file that has that of its unit.
    linked = {file.stat().st_ino: file.name for file in (folder / "target/release/deps").iterdir()}
    names = [linked.get(pathlib.Path(file).stat().st_ino, file) for file in files]
    units = {match[1] for name in names if (match := re.search(r"-([0-9a-f]{16})(?:\.|/|$)", name))}
    return sum(cost.get(unit, 0) for unit in units)


# Ours, and crates that do a part of the same.
PEERS = [
    ("countgrid-prefix", "imageproc", "0.26", "box filters"),
    ("countgrid-math", "statrs", "0.18", "gamma functions and their derivatives"),
    ("countgrid-em", "linfa-clustering", "0.8", "EM for a mixture, with restarts"),
    ("countgrid-classify", "linfa-svm", "0.8", "support vector machines"),
    ("countgrid-classify", "smartcore", "0.4", "support vector machines, nearest neighbours, folds"),
]


def peers(folder):
    """The same figures of other crates, with their default features."""
    print("\n## Crates that do a part of the same\n\nWith their default features; made by `python3 .ci/crates_table.py --peers`.\n")
    print("| ours | what both do | crate | dependencies | package, kB | items | documented | examples | build, s |")
    print("|---|---|---|--:|--:|--:|--:|--:|--:|")
    project = folder / "project"
    (project / "src").mkdir(parents=True)
    (project / "src/lib.rs").write_text("")
    for own, peer, version, what in PEERS:
        (project / "Cargo.toml").write_text(
            f'[package]\nname = "project"\nversion = "0.0.0"\nedition = "2024"\n[dependencies]\n{peer} = "{version}"\n[workspace]\n'
        )
        (project / "Cargo.lock").unlink(missing_ok=True)
        packages = json.loads(run("cargo", "metadata", "--format-version", "1", at=project))["packages"]
        [package] = [package for package in packages if package["name"] == peer]
        lines = run("cargo", "tree", "-p", peer, "-e", "normal,build", "--prefix", "none", at=project).splitlines()
        count = len({line.removesuffix(" (*)").strip() for line in lines if line.strip()}) - 1
        [archive] = pathlib.Path(package["manifest_path"]).parents[3].glob(f"cache/*/{peer}-{package['version']}.crate")
        items = run("cargo", "+nightly", "public-api", "-ss", "--color=never", "-p", peer, at=project, CARGO_TARGET_DIR=str(folder / "api"))
        documented, examples, _ = coverage(folder / f"api/doc/{peer.replace('-', '_')}.json")
        cells = [count, round(archive.stat().st_size / 1000), len(items.splitlines()), f"{documented:.0%}", f"{examples:.0%}"]
        time = seconds(folder, ("-p", peer), project)
        print("|", " | ".join(map(str, [f"`{own}`", what, f"`{peer}` {package['version']}", *cells, f"{time:.0f}"])), "|", flush=True)


def formats(folder):
    """What the features that read formats cost: crates, processor time of the compiler, and bytes of a program that reads a path."""
    manifest = json.loads(run("cargo", "metadata", "--locked", "--no-deps", "--format-version", "1"))
    [io] = [package for package in manifest["packages"] if package["name"] == "countgrid-io"]
    others = sorted(io["features"].keys() - {"default", "files", "fuzzing"})
    print("| features | crates | build, s | program, kB |\n|---|--:|--:|--:|")
    least = None
    for names in ["files", *(f"files,{name}" for name in others), ",".join(["files", *others])]:
        features = ("--no-default-features", "--features", names)
        crates = tree("countgrid-io", features)
        time = seconds(folder, ("--locked", "-p", "countgrid-io", *features))
        # Tests' dependencies are compiled too, so that their time does not count.
        seconds(folder, ("--locked", "-p", "countgrid-io", "--example", "documents", *features))
        size = (folder / "target/release/examples/documents").stat().st_size / 1000
        found = (crates, time, size)
        least = least or found
        more = [f"{own:.0f}" if names == "files" else f"+{own - before:.0f}" for own, before in zip(found, least)]
        name = names.removeprefix("files,") if names != ",".join(["files", *others]) else "all of them"
        print("|", " | ".join([f"`{name}`" if " " not in name else name, *more]), "|", flush=True)


def main(arguments):
    if arguments == ["--peers"]:
        return peers(folder)
    if arguments == ["--formats"]:
        return formats(folder)
    if arguments[:1] == ["--examples"]:
        missing = [item for file in arguments[1:] for item in coverage(pathlib.Path(file))[2]]
        sys.exit("\n".join(missing) or None)
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
example, be it at a method, or a link to one; both with all features.{" Seconds are processor time of the compiler for an optimised build from nothing, dependencies included." if build else ""}
""")
    print("| crate | dependencies, no features | all features | package, kB | items | documented | examples |", end="")
    print(" build, s, no features | all features |" if build else "")
    print("|---|" + "--:|" * (8 if build else 6))
    for package in sorted(packages, key=lambda package: package["name"]):
        name = package["name"]
        library = any("lib" in target["kind"] for target in package["targets"])
        archive = pathlib.Path(metadata["target_directory"]) / "package" / f"{name}-{package['version']}.crate"
        documented, examples, _ = coverage(rustdoc(name)) if library else (None, None, None)
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
            cells += [f"{seconds(folder, ('--locked', '-p', name, *features)):.0f}" for features in (BARE, ALL)]
        print("|", " | ".join(str(cell) for cell in cells), "|", flush=True)


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    main(sys.argv[1:])
