"""The files that commands read, made of the shared data: the same bytes whenever they are made.

README.md speaks of files that everybody has of their own, such as `papers.csv`. Here they are parts of public collections.
What is made of a collection that is absent is left out.
"""

import collections
import csv
import gzip
import hashlib
import io
import json
import re
from pathlib import Path

# Which collection each file is made of. A folder ends with a slash.
SOURCES = {
    "papers.csv": "classic3/classic3.tsv.gz",
    "new-papers.csv": "classic3/classic3.tsv.gz",
    "papers.tsv.gz": "classic3/classic3.tsv.gz",
    "papers.jsonl": "classic3/classic3.tsv.gz",
    "docword.papers.txt": "classic3/classic3.tsv.gz",
    "vocab.papers.txt": "classic3/classic3.tsv.gz",
    "stop.txt": "classic3/classic3.tsv.gz",
    "features.csv": "classic3/classic3.tsv.gz",
    "PATH/": "news-20-same/news-20-same.tsv.gz",
    "genes.csv": "colon/colon.csv.gz",
    "promoters.csv": "promoters/promoters.csv",
}

# Whole collections, under the names that benches/papers/README.md gives them.
WHOLE = (
    "brain/brain.csv.gz",
    "classic3/classic3.tsv.gz",
    "news-20-same/news-20-same.tsv.gz",
    "promoters/promoters.csv",
)

# Of each label every so manieth row: `LESS/` instead of `DATA/`.
LESS = {
    "brain/brain.csv.gz": 2,
    "colon/colon.csv.gz": 5,
    "hs3d_donor/hs3d_donor.csv": 20,
    "news-20-same/news-20-same.tsv.gz": 20,
    "promoters/promoters.csv": 3,
    "prostate/prostate.csv.gz": 5,
    "scenes8/scenes8.csv.gz": 15,
    "splice/splice.csv": 20,
}
SOURCES |= {f"DATA/{name}": name for name in WHOLE} | {f"LESS/{name}": name for name in LESS}


def lines(path: Path) -> list[str]:
    """The header and the rows of a table, which has no quoting."""
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).decode().splitlines()


def column(path: Path, header: str, name: str) -> tuple[str, int]:
    separator = "\t" if ".tsv" in path.name else ","
    return separator, header.split(separator).index(name)


def some(path: Path, step: int, first: int = 0) -> list[str]:
    """The header, and of each class every `step`-th row from the one of number `first` on."""
    header, *rows = lines(path)
    separator, place = column(path, header, "class")
    seen, kept = collections.Counter(), [header]
    for row in rows:
        label = row.split(separator)[place]
        if seen[label] % step == first:
            kept.append(row)
        seen[label] += 1
    return kept


def content(name: str, rows: list[str]) -> bytes:
    data = "".join(row + "\n" for row in rows).encode()
    return gzip.compress(data, mtime=0) if name.endswith(".gz") else data


def papers(path: Path, first: int, step: int) -> list[dict[str, str]]:
    """Abstracts, to which a year and a number of pages are made up."""
    header, *rows = (row.split("\t") for row in some(path, step, first))
    all = [dict(zip(header, row)) for row in rows]
    for number, row in enumerate(all):
        row["id"] = f"{row['class']}-{row['id']}"
        row["year"] = str(1960 + 7 * number % 23)
        row["pages"] = str(1 + len(row["text"]) // 250)
    return all


def table(rows: list[dict[str, str]], separator: str = ",") -> bytes:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), delimiter=separator, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def docword(rows: list[dict[str, str]]) -> tuple[bytes, bytes]:
    """A docword file in the format of UCI, and its vocabulary."""
    bags = [collections.Counter(re.findall(r"[a-z]{4,}", row["text"].lower())) for row in rows]
    words = sorted(set().union(*bags))
    number = {word: place for place, word in enumerate(words, 1)}
    counts = [f"{d} {number[word]} {bag[word]}" for d, bag in enumerate(bags, 1) for word in sorted(bag)]
    sizes = [str(len(bags)), str(len(words)), str(len(counts))]
    return content("", sizes + counts), content("", words)


def of_papers(path: Path) -> dict[str, bytes]:
    rows = papers(path, 0, 18)
    counts, vocabulary = docword(rows)
    return {
        "papers.csv": table(rows),
        "new-papers.csv": table(papers(path, 7, 60)),
        "papers.tsv.gz": gzip.compress(table(rows, "\t"), mtime=0),
        "papers.jsonl": "".join(json.dumps(row) + "\n" for row in rows).encode(),
        "docword.papers.txt": counts,
        "vocab.papers.txt": vocabulary,
        "stop.txt": b"the\nof\nand\nwas\nwith\nlibrary\n",
        "features.csv": table([{key: row[key] for key in ("id", "pages", "year")} for row in rows]),
    }


def folder_of_texts(path: Path) -> dict[str, bytes]:
    header, *rows = (row.split("\t") for row in some(path, 20))
    texts = (dict(zip(header, row)) for row in rows)
    return {f"PATH/{text['class']}/{text['id']}.txt": (text["text"] + "\n").encode() for text in texts}


def files(data: Path) -> dict[str, bytes]:
    """All of them, by their names."""
    made = {}

    def take(source, make):
        if (data / source).is_file():
            made.update(make(data / source))

    take("classic3/classic3.tsv.gz", of_papers)
    take("news-20-same/news-20-same.tsv.gz", folder_of_texts)
    take("colon/colon.csv.gz", lambda path: {"genes.csv": content("", some(path, 2))})
    take("promoters/promoters.csv", lambda path: {"promoters.csv": path.read_bytes()})
    made |= {f"DATA/{name}": (data / name).read_bytes() for name in WHOLE if (data / name).is_file()}
    made |= {
        f"LESS/{name}": content(name, some(data / name, step)) for name, step in LESS.items() if (data / name).is_file()
    }
    return made


def prepare(data: Path, into: Path) -> dict[str, str]:
    """Writes them to a folder; the digest of each, and one of each folder of texts."""
    digests, texts = {}, hashlib.sha256()
    for name, made in sorted(files(data).items()):
        (into / name).parent.mkdir(parents=True, exist_ok=True)
        (into / name).write_bytes(made)
        if name.startswith("PATH/"):
            texts.update(name.encode() + b"\0" + made)
            digests["PATH/"] = texts.hexdigest()
        else:
            # What compressed bytes are is up to the library that compresses.
            plain = gzip.decompress(made) if name.endswith(".gz") else made
            digests[name] = hashlib.sha256(plain).hexdigest()
    return digests


def absent(command: str, present: set[str]) -> set[str]:
    """The collections that a command asks for and that are not there."""
    named = {name for name in SOURCES if re.search(rf"(?<![\w./-]){re.escape(name.rstrip('/'))}(?![\w-])", command)}
    return {SOURCES[name] for name in named - present}
