"""The commands: those of README.md and of benches/papers/README.md, read from these pages, and those of `further`.

A statement of a fenced block of sh is a command. So is, in a table of benches/papers/README.md, what has options in
backticks: `ROWS` says what they are options of. What is not known here is an error, and so is what is known here and not
there any more. Where a command is not run as it stands, it says here what becomes of it, and why.
"""

import dataclasses
import re
from pathlib import Path

import further
import pages

README, PAPERS = "README.md", "benches/papers/README.md"


class Unknown(Exception):
    """The pages and the tables below do not agree."""


@dataclasses.dataclass
class Group:
    """Commands that run in one folder, one after the other."""

    title: str
    commands: list[str]
    quick: bool


# Statements that are no commands of the program.
NOT_OURS = {
    "cargo test --workspace --tests": "the tests",
    "cargo test --workspace -- --include-ignored": "all tests",
}

# What a block takes for granted.
BEFORE = {"countgrid firmware model.safetensors --table 8 -o firmware": "countgrid map papers.csv"}

# In statements that match: what becomes what, and why. All of them have to be of use.
INSTEAD = [
    ("^cargo run", "cargo run --release --", "countgrid", "the binary that is asked for"),
    ("sweep DATA/promoters", "--repeats 3", "--folds 2 --iterations 10", "takes minutes"),
    (
        "sweep DATA/scenes8",
        "--classifier labels",
        "--classifier labels --folds 2 --iterations 5",
        "takes minutes",
    ),
    ("--select mrmr .*--repeats 3", "--max-words 2000", "--max-words 200 --inner-folds 2", "takes minutes"),
    ("--select mrmr .*--repeats 3", "--repeats 3", "--repeats 2 --folds 3", "takes minutes"),
    ("--classifier svm-rbf --features fess --leave-one-out", "--leave-one-out", "--folds 20", "takes long"),
    ("sweep papers.csv", "papers.csv", "papers.csv --folds 3", "takes long"),
    ("--model zip-gtm", "--model zip-gtm", "--model zip-gtm --iterations 20", "takes long"),
    ("--method langevin --chains 4", "--chains 4", "--chains 4 --draws 200", "takes long"),
    ("^for part", "--inner-folds 3", "--inner-folds 2 --folds 3", "takes minutes"),
    ("^for part", "penalty=1,10,100", "penalty=1,10", "takes minutes"),
    ("^for part", "gamma=0.1,0.3,1", "gamma=0.1,0.3", "takes minutes"),
    ("^for part", "OPTIONS", "OPTIONS --output $part.predictions.csv", "to compare predictions"),
    ("DATA/scenes8", "DATA/", "LESS/", "takes minutes"),
    ("DATA/promoters", "DATA/", "LESS/", "takes minutes"),
]

# What the options in the tables of benches/papers/README.md are options of: for each row that has some, a command with `{}`
# where they go; BLOCK is the statement of the section that has OPTIONS in it. LESS is DATA with a part of the documents
# of each label. Then what becomes of the command, and why.
BLOCK = "BLOCK"
FESS = "--classifier svm-rbf --features fess --inner-folds 2 --try penalty=1,10 --try gamma=0.1,0.3"
HMM = "countgrid crossval LESS/promoters/promoters.csv --leave-one-out --model hmm --states 4"
BRAIN = (
    "--classifier labels --window 3x3 --inner-folds 2 --try grid=6x6,9x9 --try select=variance,information "
    "--try max-words=100,500 --try tokens=300,1000"
)
NEWS = "countgrid crossval LESS/news-20-same/news-20-same.tsv.gz"
ALL_WORDS = "--min-count 2 --max-share 1 --max-words 1000000 --folds 5"
TELLING = "--max-words 2000 --select information --folds 3"
FIT_NEWS = "countgrid fit DATA/news-20-same/news-20-same.tsv.gz --threads 1 --json --iterations 15 {}"
LONG = "takes minutes"
FEWER_TRIES = {"penalty=1,10,100": "penalty=1,10", "gamma=0.1,0.3,1": "gamma=0.1,0.3"}
ROWS = {
    "The tables of the papers": {
        "promoters": [
            ("countgrid crossval DATA/promoters/{}", {"--seed S": "--seed 1"}, "one of ten seeds"),
            ("countgrid crossval DATA/promoters/{}", {}, ""),
            (f"{HMM} --restarts 3 --inner-folds 2 {{}}", FEWER_TRIES, LONG),
            (f"{HMM} {FESS} {{}}", {"--restarts 10": "--restarts 5"}, LONG),
            (f"{HMM} --classifier svm-rbf {{}}", {}, ""),
            (f"{HMM} --classifier svm-rbf --restarts 3 {{}}", {}, ""),
            (f"{HMM} --classifier svm-rbf --restarts 3 {{}}", {}, ""),
        ],
        "colon": [("countgrid crossval LESS/colon/{} --inner-folds 2", {}, LONG)],
        "brain": [
            ("countgrid crossval LESS/brain/{}", {"--inner-folds 3": "--inner-folds 2"}, LONG),
            (
                f"countgrid crossval DATA/brain/brain.csv.gz --scale shift {BRAIN} {{}}",
                {" --repeats 3": ""},
                LONG,
            ),
        ],
        "prostate": [
            (
                "countgrid crossval LESS/prostate/{}",
                {"--folds 10": "--folds 5", "--repeats 3 ...": BRAIN},
                "options as for brain",
            ),
            (f"countgrid crossval LESS/prostate/prostate.csv.gz --scale log=20 {BRAIN} {{}}", {}, ""),
        ],
        "scenes8": [
            (
                "countgrid crossval LESS/scenes8/{}",
                {"--repeats 3 --inner-folds 3": "--folds 3 --inner-folds 2"},
                LONG,
            )
        ],
        "news-20-same": [
            ("countgrid crossval LESS/news-20-same/{}", {"--repeats 10": "--folds 3"}, LONG),
            ("countgrid crossval LESS/news-20-same/{}", {}, ""),
            (f"{NEWS} {ALL_WORDS} {{}}", {}, ""),
            (f"{NEWS} {ALL_WORDS} {{}}", {}, ""),
        ],
    },
    "Ways to fit": {
        "": [(FIT_NEWS, {}, LONG)] * 9,
    },
    "Features of free energies on scenes": {
        "": [
            (BLOCK, {" --repeats 3": ""}, LONG),
            (BLOCK, {"OPTIONS": "--model grid --grid 10x10 --window 4x4 OPTIONS"}, "the same with"),
            (BLOCK, {"OPTIONS": "--model grid --grid 10x10 --window 4x4 OPTIONS"}, "the same with"),
            (BLOCK, {" --repeats 3": "", "--topics 20": "--topics 8"}, LONG),
        ],
    },
    "Features of free energies on sequences and texts": {
        "HS3D donor sites": [
            ("countgrid crossval LESS/hs3d_donor/{}", {}, ""),
            ("countgrid crossval LESS/hs3d_donor/hs3d_donor.csv {}", {}, ""),
        ],
        "splice": [
            ("countgrid crossval LESS/splice/{}", {}, ""),
            ("countgrid crossval LESS/splice/splice.csv {}", {}, ""),
            ("countgrid crossval LESS/splice/splice.csv {}", {}, ""),
        ],
        "news-20-same": [
            (f"{NEWS} {TELLING} {{}}", {}, LONG),
        ]
        * 3,
    },
}


def groups(root: Path) -> list[Group]:
    """All that there is to run."""
    text = {name: (root / name).read_text() for name in (README, PAPERS)}
    used: set = set()
    found = [*of_blocks(README, text[README], used), *of_blocks(PAPERS, text[PAPERS], used)]
    found += of_rows(text[PAPERS], used)
    of_no_use = [line for line in (*INSTEAD, *NOT_OURS, *BEFORE) if line not in used]
    if of_no_use:
        raise Unknown(f"nothing in the pages matches {of_no_use[0]}")
    found += [
        Group(f"further: {title}", commands.strip().splitlines(), quick) for title, quick, commands in further.GROUPS
    ]
    run = " ".join(command for group in found for command in group.commands)
    for name, page in text.items():
        for option in sorted(pages.options(page) - further.NO_OPTIONS):
            if not re.search(rf"(?<!\S){option}(?!\S)", run):
                raise Unknown(f"{name} speaks of {option}, and no command has it: add one to further.py")
    return [dataclasses.replace(group, commands=[with_predictions(c) for c in group.commands]) for group in found]


def with_predictions(command: str) -> str:
    """So that all predictions are compared, not only how many of them are right."""
    if command.startswith("countgrid crossval") and " --output " not in command and "--help" not in command:
        command += " --output predictions.csv"
    return command


def of_blocks(name: str, page: str, used: set) -> list[Group]:
    found = []
    for section in pages.sections(page):
        for block in section.blocks:
            commands = []
            for statement in pages.statements(block):
                if statement in NOT_OURS:
                    used.add(statement)
                elif "OPTIONS" not in statement:
                    if statement in BEFORE:
                        used.add(statement)
                        commands.append(BEFORE[statement])
                    commands.append(instead(statement, used))
            if commands and not any("countgrid " in command for command in commands):
                raise Unknown(f"{name}, {section.heading}: no command of the program, and not in NOT_OURS: {commands}")
            if commands:
                found.append(Group(f"{name}: {section.heading}", commands, name == README))
    return found


def instead(command: str, used: set) -> str:
    for line in INSTEAD:
        pattern, this, that, _ = line
        if re.search(pattern, command):
            if this not in command:
                raise Unknown(f"INSTEAD has no {this} to replace in: {command}")
            used.add(line)
            command = command.replace(this, that)
    return command


def of_rows(page: str, used: set) -> list[Group]:
    found = []
    sections = [section for section in pages.sections(page) if section.rows]
    if differing := {section.heading for section in sections} ^ set(ROWS):
        raise Unknown(f"{PAPERS} and ROWS do not have the same tables: {differing}")
    for section in sections:
        known = ROWS[section.heading]
        if differing := {row.data for row in section.rows} ^ set(known):
            raise Unknown(f"{PAPERS}, {section.heading}: the table and ROWS do not have the same data: {differing}")
        for data, rules in known.items():
            rows = [row for row in section.rows if row.data == data]
            if len(rows) != len(rules):
                raise Unknown(
                    f"{PAPERS}, {section.heading}: {len(rows)} rows of {data or 'options'}, ROWS has {len(rules)}"
                )
            for row, (command, replaced, _) in zip(rows, rules):
                if command == BLOCK:
                    (command,) = [
                        instead(statement, used)
                        for block in section.blocks
                        for statement in pages.statements(block)
                        if "OPTIONS" in statement
                    ]
                    command = command.replace("OPTIONS", "{}")
                if "OPTIONS" in replaced:
                    command = command.replace("{}", replaced["OPTIONS"].replace("OPTIONS", "{}"))
                command = command.replace("{}", row.options)
                for this, that in replaced.items():
                    if this != "OPTIONS":
                        if this not in command:
                            raise Unknown(f"{PAPERS}, {section.heading}: ROWS has no {this} to replace in: {command}")
                        command = command.replace(this, that)
                found.append(Group(f"{PAPERS}: {section.heading}", [command], False))
    return found
