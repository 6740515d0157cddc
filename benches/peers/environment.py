"""A virtual environment with the pinned peers, one thread for everybody, and the Rust side built."""

import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
BENCHES = HERE.parent
HOME = BENCHES / "target" / "peers"
ONE_THREAD = ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM", "NUMEXPR", "RAYON")


def enter(torch=True):
    """Starts the calling script again inside the environment, which is made first if it is not there."""
    if Path(sys.prefix) == HOME:
        return
    python = HOME / "bin" / "python"
    if not python.exists():
        print(f"making a virtual environment in {HOME}", file=sys.stderr)
        venv.create(HOME, with_pip=True)
    wanted = (HERE / "requirements.txt").read_text().splitlines()
    wanted = [line for line in wanted if torch or not line.startswith("torch=")]
    missing = sorted(set(wanted) - set(installed(python)))
    if missing:
        print(f"installing {', '.join(missing)}", file=sys.stderr)
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *missing)
    threads = {f"{name}_NUM_THREADS": "1" for name in ONE_THREAD}
    os.execve(python, [str(python), *sys.argv], {**os.environ, **threads, "PYTHONDONTWRITEBYTECODE": "1"})


def installed(python):
    """What pip has installed, as lines of a requirements file."""
    command = [python, "-m", "pip", "freeze", "--disable-pip-version-check"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def build(name, *features):
    """Builds a Rust program of this folder with the given features and returns the path of a copy of it."""
    manifest = BENCHES / "Cargo.toml"
    command = ["cargo", "build", "--release", "--locked", "--manifest-path", manifest, "--bin", name]
    command += [f"--features={feature}" for feature in features]
    messages = run(*command, "--message-format", "json-render-diagnostics", stdout=subprocess.PIPE).stdout
    for message in map(json.loads, messages.splitlines()):
        if message.get("executable") and message["target"]["name"] == name:
            return shutil.copy2(message["executable"], HOME / "-".join([name, *features]))
    raise SystemExit(f"cargo built no program {name}")


def run(*command, **options):
    """Runs a command whose failure ends the script."""
    try:
        return subprocess.run(list(map(str, command)), check=True, text=True, **options)
    except (OSError, subprocess.CalledProcessError) as error:
        raise SystemExit(f"{' '.join(map(str, command))}: {error}") from None


def machine():
    """A line about where this runs."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        name = "unknown processor"
    return f"{name}, {os.cpu_count()} logical processors, load {os.getloadavg()[0]:.1f}"
