"""What a map draws: words that say nothing, and the names of its regions.

    pip install scikit-learn names
    python3 benches/papers/drawn_words.py target/release/countgrid TABLE [--show] [OPTION ...]

Draws the map of `TABLE` and reads the page. Of the words that it has, each as often as it stands on the map, and of the 600 of
greatest weight, the share is printed that are

- function words: in the list of scikit-learn, which is not the one in use, and has some nouns too (`system`, `fire`, `bill`);
- first names: of the 100 commonest of either sex in the census of 1990 that PyPI's `names` has, some of which are words too;
- hosts and addresses: a dot between letters, `@` or `/`;
- fragments: of two letters or less, abbreviations too (`os`, `nt`).

Then the regions of the two upper levels: name, documents, and the label that most of them have, with its share. Other options are
those of `countgrid map`.
"""

import argparse
import collections
import json
import os
import re
import subprocess
import tempfile

import names
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

TOP = 600


def first_names() -> set[str]:
    found = set()
    for sex in ("male", "female"):
        with open(names.FILES[f"first:{sex}"], encoding="ascii") as file:
            found.update(line.split()[0].lower() for line in list(file)[:100])
    return found


KINDS = {
    "function words": ENGLISH_STOP_WORDS.__contains__,
    "first names": first_names().__contains__,
    "hosts": lambda word: bool(re.search(r"[^\W\d]\.[^\W\d]{2}|@|/", word)),
    "fragments": lambda word: len(word) < 3,
}


def page(path: str) -> dict:
    with open(path, encoding="utf-8") as file:
        return json.loads(re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', file.read(), re.DOTALL)[1])


def junk(words: list[str], show: bool) -> None:
    kinds = {word: [kind for kind, holds in KINDS.items() if holds(word)] for word in set(words)}
    counts = collections.Counter(kind for word in words for kind in kinds[word])
    some = sum(bool(kinds[word]) for word in words)
    shares = [f"{100 * counts[kind] / len(words):.1f} %" for kind in KINDS]
    print(f"| {len(words)} | {len(kinds)} | {' | '.join(shares)} | {100 * some / len(words):.1f} % |")
    if show:
        for kind in KINDS:
            found = collections.Counter(word for word in words if kind in kinds[word])
            print(f"    {kind}: {', '.join(f'{word} {count}' for word, count in found.most_common(40))}")


def regions(data: dict, level: int) -> None:
    of_cell, found = data["regions"][level]["ofCell"], data["regions"][level]["names"]
    (rows, columns), (down, across) = data["extents"], data["window"]
    labels = [collections.Counter() for _ in found]
    for label, posterior in zip(data["documentLabels"], data["posteriors"]):
        if posterior:
            start = max(zip(posterior[::2], posterior[1::2]), key=lambda place: place[1])[0]
            row, column = (start // columns + down // 2) % rows, (start % columns + across // 2) % columns
            labels[of_cell[row * columns + column]][label] += 1
    print("\n| region | documents | most of them | share |\n|---|---|---|---|")
    majority = 0
    for name, own in sorted(zip(found, labels), key=lambda region: -region[1].total()):
        if own:
            label, count = own.most_common(1)[0]
            majority += count
            of = data["labels"][label] if label >= 0 else "no label"
            print(f"| {', '.join(name)} | {own.total()} | {of} | {count / own.total():.2f} |")
    print(f"\n{majority / sum(own.total() for own in labels):.3f} of the documents have the label of most of their region.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("table")
    parser.add_argument("--show", action="store_true", help="print the words in question")
    parser.add_argument("--page", help="read this page; draw none")
    args, options = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        if not args.page:
            subprocess.run([args.program, "map", args.table, "--keep-duplicates", "-o", folder, "--quiet", *options], check=True)
        data = page(args.page or os.path.join(folder, "map.html"))
    print(f"| words drawn | different | {' | '.join(KINDS)} | any |")
    print("|---|---|" + "---|" * (len(KINDS) + 1))
    junk(data["words"], args.show)
    heaviest = sorted(range(len(data["words"])), key=lambda n: -data["weights"][n])[:TOP]
    junk([data["words"][n] for n in heaviest], args.show)
    for level in range(min(2, len(data.get("regions", [])))):
        regions(data, level)


if __name__ == "__main__":
    main()
