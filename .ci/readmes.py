"""Readmes of the crates, made from the documentation of their crate roots, which is tested.

    cargo doc --release --workspace --no-deps --all-features
    python3 .ci/readmes.py [DOCS]           fails if a readme is not what it would be; DOCS is target/doc
    python3 .ci/readmes.py --write [DOCS]   writes them

A readme is the crate's documentation with a title, a section on how to depend on the crate, and its licence. Links to items
point to docs.rs, hidden lines of examples are left out. What items are called there is read from the pages of rustdoc. The
program's readme is written by hand and tested by crates/cli/tests/readme.rs. The Rust example of the workspace's readme must
be one of the crates'.
"""

import html
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WRITTEN_BY_HAND = {"countgrid-cli"}
# A link, or code, in which there is none.
LINK = re.compile(r"\[((?:`[^`]*`|[^\]\[`])+)\](?:\(([^()]*)\))?|`[^`]*`")


class Mismatch(Exception):
    pass


def crate_docs(root):
    """The lines of the inner documentation of a crate root, files that it includes among them."""
    lines = []
    for line in root.read_text().splitlines():
        if line.startswith("//!"):
            lines.append(line[4:])
        elif included := re.match(r'#!\[doc = include_str!\("(.*)"\)\]', line):
            lines += ["", *(root.parent / included[1]).read_text().splitlines()]
    return lines


def resolved_links(page, name):
    """Text and address of every link in the crate's documentation on its page, in their order."""
    if not page.exists():
        raise Mismatch(f"{page} does not exist: `cargo doc` makes it")
    text = page.read_text()
    start = text.index('<details class="toggle top-doc"') if "top-doc" in text else None
    if start is None:
        raise Mismatch(f"{page}: no documentation")
    body = text[start : text.index("</details>", start)]
    links = []
    for attributes, inner in re.findall(r"<a\b([^>]*)>(.*?)</a>", body, re.S):
        if 'class="doc-anchor"' in attributes or 'class="test-arrow"' in attributes:
            continue
        href = html.unescape(re.search(r'href="([^"]*)"', attributes)[1])
        links.append((html.unescape(re.sub(r"<[^>]*>", "", inner)), absolute(href, name)))
    return links


def absolute(href, name):
    if href.startswith("https://doc.rust-lang.org/"):
        return re.sub(r"(rust-lang\.org)/(nightly|beta|\d[^/]*)/", r"\1/stable/", href)
    if href.startswith("http"):
        return href
    crate = name.replace("-", "_")
    if href.startswith("../"):
        crate, href = href.removeprefix("../").split("/", 1)
        name = crate.replace("_", "-")
    return f"https://docs.rs/{name}/latest/{crate}/{href}"


def readme(package, docs):
    name = package["name"]
    (root,) = (t["src_path"] for t in package["targets"] if {"lib", "rlib", "cdylib"} & set(t["kind"]))
    links = iter(resolved_links(docs / name.replace("-", "_") / "index.html", name))
    definitions, body, fence = {}, [], False

    def link(match):
        label, target = match[1], match[2]
        if label is None:
            return match[0]
        text, address = next(links, (None, None))
        if text != label.replace("`", ""):
            raise Mismatch(f"{name}: `{match[0]}` is no link on the page of rustdoc, where `{text}` comes next")
        if target is not None:
            return f"[{label}]({address})"
        definitions[label] = address
        return match[0]

    for line in crate_docs(pathlib.Path(root)):
        if line.startswith("```"):
            fence = not fence
            body.append("```rust" if fence and line == "```" else line)
        elif fence:
            if line != "#" and not line.startswith("# "):
                body.append(line)
        else:
            line = re.sub(r"^(#+) ", r"\1# ", line)
            body.append(LINK.sub(link, line))
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(body)).strip()
    use = "## Use\n\n"
    if package["publish"] is None:
        examples = "".join(rust_blocks(text))
        others = set(re.findall(r"\b(countgrid\w*|rand_chacha|tempfile)::", examples)) # those of the examples so far
        others = {other.replace("_", "-") if "countgrid" in other else other for other in others}
        others = sorted(others - {name})
        lines = [f"cargo add {name}"]
        if others:
            lines.append(f"cargo add {' '.join(others)} # for the example")
        if "no-std::no-alloc" in package["categories"] and "std" in package["features"]:
            model = " --features grid" if "grid" in package["features"] else ""
            lines.append(f"cargo add {name} --no-default-features{model} # instead, without `std` and an allocator")
        use += "```sh\n" + "\n".join(lines) + "\n```\n\n"
        use += f"Rust {package['rust_version']} or later. Documentation: <https://docs.rs/{name}>.\n"
    repository = package["repository"]
    return (
        f"# {name}\n\n{text}\n\n{use}Part of [countgrid]({repository}), whose "
        f"[changelog]({repository}/blob/main/CHANGELOG.md) names every change of results.\n\n"
        "Licensed under either of [Apache License, Version 2.0](LICENSE-APACHE) or [MIT license](LICENSE-MIT) at your option.\n"
        + "".join(f"\n[{label}]: {address}" for label, address in definitions.items())
        + ("\n" if definitions else "")
    )


def rust_blocks(text):
    return re.findall(r"```rust\n(.*?)```", text, re.S)


def main(arguments):
    write = arguments[:1] == ["--write"]
    docs = pathlib.Path((arguments[write:] or [ROOT / "target/doc"])[0])
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--no-deps"]
    packages = json.loads(subprocess.run(command, check=True, capture_output=True, cwd=ROOT).stdout)["packages"]
    different, examples = [], []
    for package in packages:
        path = pathlib.Path(package["manifest_path"]).parent / "README.md"
        if package["name"] in WRITTEN_BY_HAND:
            if not path.exists():
                different.append(path)
            continue
        made = readme(package, docs)
        examples += rust_blocks(made)
        if package["publish"] is None and not rust_blocks(made): # of a JavaScript module the page is tested
            sys.exit(f"{package['name']}: no example")
        if write:
            path.write_text(made)
        elif not path.exists() or path.read_text() != made:
            different.append(path)
    hidden = re.compile(r"^#( .*)?\n", re.M)
    for example in rust_blocks((ROOT / "README.md").read_text()):
        if hidden.sub("", example) not in examples:
            sys.exit("README.md has an example that no crate's documentation has, so that nothing tests it")
    if different:
        names = " ".join(str(path.relative_to(ROOT)) for path in different)
        sys.exit(f"not what the crates' documentation says: {names}\npython3 .ci/readmes.py --write mends it")
    print(f"{len(packages)} readmes are their crates' documentation")


try:
    main(sys.argv[1:])
except Mismatch as problem:
    sys.exit(str(problem))
