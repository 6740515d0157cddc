"""Checks that every item and every test that docs/equations.md names exists.

    equations.py [PAGE]     prints how many equations, items and tests were found; fails and lists what is missing

A row of a table there has four cells: equation, what it says, items, tests. Items are written `crate::function`,
`crate::Type` or `crate::Type::member` in backticks: the first name is public in the crate's root, a member is a public or
a trait's function, a variant or a field of that type, or what a public module exports. Tests are written `crates/NAME/tests/FILE.rs::function`: a function
with the attribute `#[test]`, one that a macro there makes tests of, or a kind of golden vectors. A row without an item
says `none:` and why.
"""

import pathlib
import re
import sys
from functools import cache

root = pathlib.Path(__file__).resolve().parent.parent
page = pathlib.Path(sys.argv[1]) if sys.argv[1:] else root / "docs" / "equations.md"

HEADER = re.compile(r"\b(impl|trait|struct|enum)\b([^;{}()]*(?:\([^)]*\)[^;{}()]*)*)\{")


def code(text):
    """Source without comments, strings and characters, in which braces balance."""
    text = re.sub(r'//[^\n]*|/\*.*?\*/|b?r?"(?:\\.|[^"\\])*"', " ", text, flags=re.DOTALL)
    return re.sub(r"b?'(?:\\.[^']*|[^'\\])'", " ", text)


def body(text, start):
    """What stands between the brace before `start` and the one that closes it."""
    depth = 1
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return text[start:at]
    return text[start:]


def without_generics(header):
    """`<T: Real> Fit<B> for Learner<T, S> where ...` without what stands in angle brackets."""
    kept, depth = [], 0
    for at, letter in enumerate(header):
        if letter == ">" and header[at - 1] != "-":
            depth -= 1
        elif letter == "<":
            depth += 1
        elif depth == 0:
            kept.append(letter)
    return "".join(kept).split(" where ")[0]


@cache
def crate(name):
    """The names that the root of a crate exports, and by type what can follow it after `::`; `None` without the crate."""
    folder = root / "crates" / (name if name == "countgrid" else name.removeprefix("countgrid_").replace("_", "-"))
    if not name.startswith("countgrid") or not (folder / "src" / "lib.rs").is_file():
        return None
    exported = set()
    library = code((folder / "src" / "lib.rs").read_text(encoding="utf-8"))
    for use in re.findall(r"\bpub use ([^;]*);", library):
        exported.update(re.findall(r"(\w+)\s*(?=[,}]|$)", use))
    exported.update(re.findall(r"\bpub (?:const |unsafe )*(?:fn|struct|enum|trait|type|const|mod) (\w+)", library))
    members = {}
    for module in re.findall(r"\bpub mod (\w+);", library):
        path = folder / "src" / module / "mod.rs"
        uses = re.findall(r"\bpub use ([^;]*);", code(path.read_text(encoding="utf-8"))) if path.is_file() else []
        members[module] = {name for use in uses for name in re.findall(r"(\w+)\s*(?=[,}]|$)", use)}
    for path in sorted((folder / "src").rglob("*.rs")):
        text = code(path.read_text(encoding="utf-8"))
        for found in HEADER.finditer(text):
            kind, header = found[1], without_generics(found[2])
            of_trait = kind == "impl" and " for " in header
            owner = re.search(r"\w+", header.split(" for ")[1] if of_trait else header.split(":")[0])
            if owner is None:
                continue
            inside, public = body(text, found.end()), "" if of_trait or kind == "trait" else r"\bpub "
            if kind in ("impl", "trait"):
                names = re.findall(public + r"(?:const |unsafe )*\bfn (\w+)|" + public + r"\bconst (\w+):", inside)
            elif kind == "struct":
                names = re.findall(r"\bpub (\w+)():", inside)
            else:
                names = re.findall(r"(?:^|[,}\]])\s*([A-Z]\w*)()(?=\s*[,({=]|\s*$)", inside.strip())
            members.setdefault(owner[0], set()).update(name for pair in names for name in pair if name)
    return exported, members


def item_is_there(path):
    first, *names = path.split("::")
    found = crate(first)
    if found is None or not 1 <= len(names) <= 2:
        return False
    exported, members = found
    return names[0] in exported and (len(names) == 1 or names[1] in members.get(names[0], ()))


@cache
def tests(file):
    """The names of the tests of a file."""
    path = root / file
    if not path.is_file():
        return set()
    text = path.read_text(encoding="utf-8")
    names = set(re.findall(r"#\[test\][^\n]*\n(?:\s*(?:#\[|//)[^\n]*\n)*\s*fn (\w+)", text))
    functions = set(re.findall(r"\bfn (\w+)", text))
    for listed in re.findall(r"^in_every_dimension! \{([\w,\s]*)\}", text, re.MULTILINE):
        names.update(functions.intersection(re.findall(r"\w+", listed)))
    main = path.parent / "main.rs"
    if path.parent.name == "golden" and main.is_file():
        kinds = re.findall(rf"\b{path.stem}::(\w+)::<f64>", main.read_text(encoding="utf-8"))
        names.update(functions.intersection(kinds))
    return names


def test_is_there(path):
    file, _, name = path.rpartition("::")
    return name in tests(file)


def main():
    rows, items, named, missing = 0, set(), set(), []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)]
        if not line.startswith("|") or set(line) <= set("|-: ") or cells[-2] == "test":
            continue
        rows += 1
        if len(cells) != 6:
            missing.append(f"line {number}: {len(cells) - 2} cells, not 4")
            continue
        own_items, own_tests = (re.findall(r"`([^`]+)`", cell) for cell in cells[3:5])
        if cells[3].startswith("none"):
            if not re.match(r"none: \w", cells[3]):
                missing.append(f"line {number}: no reason for having no item")
            own_items = []
        elif not own_items:
            missing.append(f"line {number}: no item, and no `none: ...`")
        elif not own_tests:
            missing.append(f"line {number}: no test")
        items.update(own_items)
        named.update(own_tests)
        missing += [f"line {number}: no item `{item}`" for item in own_items if not item_is_there(item)]
        missing += [f"line {number}: no test `{test}`" for test in own_tests if not test_is_there(test)]
    print(f"{rows} equations, {len(items)} items, {len(named)} tests named in {page.name}")
    if not rows:
        missing.append("no row was found")
    if missing:
        sys.exit("\n".join(missing))


main()
