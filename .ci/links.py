"""Checks the links between the files of the repository in all of its Markdown pages.

    links.py                    prints how many pages and links were found; fails and lists what is broken
    links.py docs/x.md=FILE     the same, with the text of FILE in place of the page's

A link is relative to its page, or the project's address on GitHub with a path. The file or folder is one that Git would
commit; an `#anchor` is that of a heading by GitHub's rules, or the name of an `<a>`. A link that begins with a slash or
`file:`, which works on GitHub or on one machine alone, is an error. So is a path in backticks that begins with a folder of
the repository and is neither there nor beside the page; `*` stands for anything, `::` ends it, and so does a blank. The changelog speaks of
what was: its paths in backticks are not checked. Pages elsewhere in the network are not visited.
"""

import fnmatch
import html
import pathlib
import posixpath
import re
import subprocess
import sys
import urllib.parse
from functools import cache

ROOT = pathlib.Path(__file__).resolve().parent.parent
OURS = re.compile(r"https://github\.com/countgrid/countgrid(?:/(?:blob|tree|raw)/main(?:/|$)([^#]*))?(#.*)?$")
FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
# The text of a link may hold brackets of its own, such as an image; the target blanks in angle brackets, or a title after it.
INLINE = re.compile(r"\]\(\s*(?:<([^<>]*)>|([^\s()]*(?:\([^\s()]*\)[^\s()]*)*))(?:\s+[\"'(][^)]*)?\s*\)")
DEFINED = re.compile(r"^ {0,3}\[[^\]^]+\]:\s*<?([^\s>]+)")
IN_HTML = re.compile(r"<(?:a|img|source)\b[^>]*\b(?:href|src)=[\"']([^\"']*)", re.IGNORECASE)
NAMED = re.compile(r"<a\b[^>]*\b(?:id|name)=[\"']([^\"']*)", re.IGNORECASE)
FOLDERS = re.compile(r"(?:\.ci|benches|crates|docs|examples|fuzz)/[\w./*-]+")

listed = subprocess.run(
    ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
).stdout.split("\0")
files = {name for name in listed if name and (ROOT / name).exists()}
folders = {""} | {str(parent) for name in files for parent in pathlib.PurePosixPath(name).parents if str(parent) != "."}
instead = dict(argument.split("=", 1) for argument in sys.argv[1:])


@cache
def lines(page):
    """Number and text of the lines of a page that are not in a block of code."""
    text = pathlib.Path(instead.get(page, ROOT / page)).read_text(encoding="utf-8")
    kept, fence = [], None
    for number, line in enumerate(text.splitlines(), 1):
        found = FENCE.match(line)
        if fence is not None:
            if found and found[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = None
        elif found:
            fence = found[1]
        else:
            kept.append((number, line))
    return kept


def slug(heading):
    """The anchor of a heading: its letters, digits, underscores and hyphens in small letters, blanks as hyphens."""
    heading = re.sub(r"!?\[((?:[^\[\]]|\[[^\]]*\])*)\](?:\([^)]*\)|\[[^\]]*\])", r"\1", heading)
    codes = []
    heading = CODE.sub(lambda found: codes.append(found[2]) or f"\0{len(codes) - 1}\0", heading)
    heading = re.sub(r"<[^>]*>", "", heading)
    heading = re.sub(r"(?<!\w)(\*{1,2}|_{1,2})(?=\S)(.+?)(?<=\S)\1(?!\w)", r"\2", html.unescape(heading))
    heading = re.sub(r"\0(\d+)\0", lambda found: codes[int(found[1])], heading)
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@cache
def anchors(page):
    found, seen, before = set(), {}, ""
    for _, line in lines(page):
        found.update(NAMED.findall(line))
        heading = re.match(r" {0,3}#{1,6}(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$", line)
        under = re.fullmatch(r" {0,3}(=+|-{2,})[ \t]*", line) and before.strip() and not before.lstrip().startswith(("|", "-", "#"))
        if heading or under:
            name = slug(heading[1] or "" if heading else before)
            found.add(f"{name}-{seen[name]}" if name in seen else name)
            seen[name] = seen.get(name, 0) + 1
        before = line
    return found


def broken(page, target):
    """Why a link does not work; nothing if it does, `None` if it leads elsewhere."""
    if target.startswith(("/", "file:")):
        return "absolute"
    ours = OURS.match(target)
    if ours:
        path, anchor = posixpath.normpath(ours[1]) if ours[1] else "", (ours[2] or "")[1:]
    elif re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:", target):
        return None
    else:
        path, _, anchor = target.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), urllib.parse.unquote(path))) if path else page
    path = "" if path == "." else path
    if path not in files and path not in folders:
        return "no such file"
    if path in folders:
        path = posixpath.join(path, "README.md")
    if anchor and path.endswith(".md") and urllib.parse.unquote(anchor) not in (anchors(path) if path in files else ()):
        return "no such heading"
    return ""


def path_is_there(page, path):
    """As a path from the root, or from the folder of the page; what builds leave behind need not be there."""
    if "/target" in path:
        return True
    path = path.rstrip("./").removesuffix("/*")
    places = path, posixpath.join(posixpath.dirname(page), path)
    return any(fnmatch.filter(names, place) for names in (files, folders) for place in places)


def main():
    pages, count, paths, wrong = sorted(name for name in files if name.endswith(".md")), 0, 0, []
    for page in pages:
        for number, line in lines(page):
            for _, code in CODE.findall(line):
                found = FOLDERS.match(code)
                if found is None or page == "CHANGELOG.md":
                    continue
                paths += 1
                if not path_is_there(page, found[0]):
                    wrong.append(f"{page}, line {number}: no path `{found[0]}`")
            line = CODE.sub("`code`", line)
            targets = [one or other for one, other in INLINE.findall(line)] + DEFINED.findall(line) + IN_HTML.findall(line)
            for target in map(html.unescape, targets):
                why = broken(page, target)
                count += why is not None
                if why:
                    wrong.append(f"{page}, line {number}: {why}: {target}")
    print(f"{len(pages)} pages, {count} links between files, {paths} paths in backticks")
    if not count or not paths:
        wrong.append("no link or no path was found")
    if wrong:
        sys.exit("\n".join(wrong))


main()
