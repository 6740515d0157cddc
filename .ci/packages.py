"""Questions about the workspace's packages, answered from `cargo metadata` on standard input.

    packages.py bare    the options that select the crates which promise to do without std and an allocator,
                        with all models of the facade
    packages.py kernels the test programs of these crates, each with its folder: from what cargo says as it builds the tests
    packages.py msrv    fails if a package of the workspace, or anything it depends on, asks for a newer
                        compiler than the workspace states
    packages.py libraries   the libraries that are published, one a line
    packages.py published   what is published, with its version, one a line
"""

import json
import sys
from pathlib import Path

if sys.argv[1] != "kernels":
    metadata = json.load(sys.stdin)
    packages = {package["id"]: package for package in metadata["packages"]}
    members = [packages[name] for name in metadata["workspace_members"]]


def bare():
    print("--no-default-features")
    for package in members:
        if "no-std::no-alloc" in package["categories"]:
            models = [name for name, parts in package["features"].items() if f"dep:countgrid-{name}" in parts]
            print(f"--package={package['name']}", *(f"--features={package['name']}/{name}" for name in models))


def kernels():
    """Not of programs, files and words, and of what fits with the kernels: those take long."""
    others = {"cli", "corpus", "estimators", "evaluation", "io", "map", "text", "wasm"}
    for message in map(json.loads, sys.stdin):
        if message.get("executable") and message["profile"]["test"]:
            folder = Path(message["manifest_path"]).parent
            if folder.name not in others:
                print(folder, message["executable"])


def version(text):
    return tuple(int(part) for part in text.split("."))[:2]


def msrv():
    (stated,) = {package["rust_version"] for package in members}
    rising = sorted(packages.values(), key=lambda package: package["name"])
    newer = [
        f"{package['name']} {package['version']} asks for {package['rust_version']}"
        for package in rising
        if package["rust_version"] and version(package["rust_version"]) > version(stated)
    ]
    silent = sum(package["rust_version"] is None for package in rising)
    print(f"{len(rising)} packages, stated version {stated}, {silent} state none of their own")
    if newer:
        sys.exit("\n".join(newer))


def libraries():
    for package in members:
        if package["publish"] is None and any("lib" in target["kind"] for target in package["targets"]):
            print(package["name"])


def published():
    for package in members:
        if package["publish"] is None:
            print(package["name"], package["version"])


{function.__name__: function for function in (bare, kernels, libraries, msrv, published)}[sys.argv[1]]()
