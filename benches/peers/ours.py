"""This project's side of a race: the Rust program `rounds`, asked line by line."""

import json
import os
import subprocess


class Ours:
    """One process. `threads` is what it may use; `clock` is `cpu` or `wall`."""

    def __init__(self, program, threads=1, clock="cpu"):
        environment = {**os.environ, "RAYON_NUM_THREADS": str(threads)}
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([program], stdin=pipe, stdout=pipe, text=True, env=environment)
        self.clock = clock

    def ask(self, *words):
        """Sends one command and returns the answer."""
        command = " ".join(map(str, words))
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        answer = json.loads(line) if line else {"error": "the program has ended"}
        if "error" in answer:
            raise RuntimeError(f"{command}: {answer['error']}")
        return answer

    def seconds(self, *words):
        """Times one run of something."""
        return self.ask("time", *words)[self.clock]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
