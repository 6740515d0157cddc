"""Code and worst-case stack of operations, from a linked program.

    measure.py PROGRAM PREFIX...    a Markdown row for every function whose name begins with one of the prefixes

Code is the function with everything it calls, bytes; the elementary and soft-float functions that several share are
counted for each. Stack is the deepest chain of frames. What only a panic would
reach is left out. Indirect calls would be missed, so they are refused.
"""

import re
import subprocess
import sys

program, *prefixes = sys.argv[1:]
run = lambda *command: subprocess.run(command, check=True, capture_output=True, text=True).stdout

sizes, calls, name, indirect = {}, {}, None, set()
for line in run("arm-none-eabi-nm", "-S", program).splitlines():
    parts = line.split()
    if len(parts) == 4 and parts[2] in "tTwW":
        sizes[parts[3]] = int(parts[1], 16)
for line in run("arm-none-eabi-objdump", "-d", "--no-show-raw-insn", program).splitlines():
    if found := re.match(r"[0-9a-f]+ <(.*)>:$", line):
        name = found[1]
        calls.setdefault(name, set())
    elif found := re.search(r"\tbl?[a-z.]*\t.*<([^>+]*)>", line):
        if not re.search("panicking|_fail|rust_begin_unwind", found[1]):
            calls[name].add(found[1])
    elif re.search(r"\tblx\t", line):
        indirect.add(name)

frames = {}
listing = run("llvm-readobj-19", "--stack-sizes", program)
for functions, size in re.findall(r"Functions: \[(.*?)\]\s*Size: (0x[0-9A-Fa-f]+)", listing):
    for function in functions.split(", "):
        frames[function] = int(size, 16)


def reached(function, seen):
    if function not in seen:
        seen.add(function)
        for callee in calls.get(function, ()):
            reached(callee, seen)
    return seen


def deepest(function, above=()):
    if function in above:
        sys.exit(f"{function} calls itself")
    callees = calls.get(function, set()) - {function}
    return frames.get(function, 0) + max((deepest(callee, (*above, function)) for callee in callees), default=0)


print("| operation | code | stack |\n|---|---|---|")
for prefix in prefixes:
    for function in sorted(sizes):
        plain = re.search(rf"(?:^|\d)({prefix}[a-z0-9_]*?)(?:17h[0-9a-f]{{16}}E)?$", function)
        if plain and function in calls:
            chain = reached(function, set())
            if chain & indirect:
                sys.exit(f"{function} calls through a pointer: {chain & indirect}")
            print(f"| `{plain[1]}` | {sum(sizes.get(f, 0) for f in chain):,} | {deepest(function):,} |")
