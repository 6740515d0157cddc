"""What pages in Markdown have of commands: fenced blocks of sh, and options in tables."""

import dataclasses
import re


@dataclasses.dataclass
class Row:
    """A row of a table in which a cell has options in backticks."""

    data: str  # the first cell, or the last above it that is not empty; nothing unless its column is called data
    options: str


@dataclasses.dataclass
class Section:
    heading: str
    blocks: list[str]
    rows: list[Row]


def sections(page: str) -> list[Section]:
    found, fence, block, header, data = [Section("", [], [])], None, [], None, ""
    for line in page.splitlines():
        if fence is not None:
            if line == "```":
                if fence == "sh":
                    found[-1].blocks.append("\n".join(block))
                fence = None
            else:
                block.append(line)
        elif line.startswith("```"):
            fence, block = line[3:], []
        elif line.startswith("#"):
            found.append(Section(line.lstrip("# "), [], []))
        elif line.startswith("|"):
            cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            if header is None:
                header, data = cells, ""
            elif not set(line) <= set("|-: "):
                data = (cells[0] or data) if header[0] == "data" else ""
                spans = [re.findall(r"`([^`]*)`", cell) for cell in cells]
                if options := [" ".join(spans) for spans in spans if any("--" in span for span in spans)]:
                    found[-1].rows.append(Row(data, options[0]))
        else:
            header = None
    return found


def statements(block: str) -> list[str]:
    """Those of a block of sh, a line each, without comments and variables."""
    found, variables, loop = [], {}, []
    for line in block.replace("\\\n", " ").splitlines():
        line = " ".join(re.sub(r"(^|\s+)#.*", "", line).split())
        for name, value in variables.items():
            line = line.replace(f"${name}", value)
        if not line:
            continue
        if assigned := re.fullmatch(r"(\w+)=(\S*)", line):
            variables[assigned[1]] = assigned[2]
        elif loop or line.startswith("for "):
            loop.append(line)
            if line == "done":
                found.append("; ".join(loop).replace("do; ", "do "))
                loop = []
        else:
            found.append(line)
    return found


def options(page: str) -> set[str]:
    """All that are named in backticks."""
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", " ".join(re.findall(r"`([^`\n]+)`", page))))
