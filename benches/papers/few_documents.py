"""The figure of docs/harmonium.md from what the example `few_documents` has printed.

    cargo run --release -p countgrid-harmonium --example few_documents > few.txt
    python3 benches/papers/few_documents.py few.txt docs/few_documents.svg

Mean absolute error of V against the number of documents, with standard errors, a panel for each design and a line for each
estimate.
"""

import html
import math
import re
import sys

COLOURS = ["#999999", "#000000", "#d62728", "#ff9896", "#1f77b4", "#9467bd", "#2ca02c", "#bcbd22"]
CELL = re.compile(r"([\d.]+)±([\d.]+) \([\d.]+\)")
WIDTH, HEIGHT, LEFT, TOP, GAP = 330, 300, 60, 40, 70
LOW, HIGH = math.log10(0.005), math.log10(2.0)


def panels(text: str) -> list[tuple[str, list[int], dict[str, list[tuple[float, float]]]]]:
    """Title, numbers of documents, and mean and standard error of each estimate, of each design."""
    found: list[tuple[str, list[int], dict[str, list[tuple[float, float]]]]] = []
    before = ""
    for line in text.splitlines():
        if line.startswith("estimate of V"):
            found.append((before, [int(n) for n in re.findall(r"N=(\d+)", line)], {}))
        elif found and (cells := CELL.findall(line)):
            name = line[: line.index(cells[0][0] + "±")].strip()
            found[-1][2][name] = [(float(mean), float(error)) for mean, error in cells]
        before = line or before
    return found


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as source:
        designs = panels(source.read())
    out = []

    def text(x: float, y: float, what: str, anchor: str = "middle") -> None:
        out.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(what)}</text>')

    def line(x: float, y: float, to_x: float, to_y: float, colour: str, width: float = 1) -> None:
        out.append(
            f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" stroke="{colour}" stroke-width="{width}"/>'
        )

    def height(mae: float) -> float:
        return TOP + HEIGHT * (HIGH - math.log10(max(mae, 1e-9))) / (HIGH - LOW)

    for panel, (title, documents, rows) in enumerate(designs):
        left = LEFT + panel * (WIDTH + GAP)
        first, last = math.log(documents[0]), math.log(documents[-1])
        across = [left + 15 + (WIDTH - 30) * (math.log(n) - first) / (last - first) for n in documents]
        text(left + WIDTH / 2, TOP - 14, title)
        for mae in (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2):
            line(left, height(mae), left + WIDTH, height(mae), "#e0e0e0")
            text(left - 6, height(mae) + 4, f"{mae:g}", "end")
        for x, n in zip(across, documents):
            text(x, TOP + HEIGHT + 16, str(n))
        text(left + WIDTH / 2, TOP + HEIGHT + 34, "documents N")
        out.append(f'<rect x="{left}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="black"/>')
        for colour, (name, cells) in zip(COLOURS, rows.items()):
            points = " ".join(f"{x:.1f},{height(mean):.1f}" for x, (mean, _) in zip(across, cells))
            out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
            for x, (mean, error) in zip(across, cells):
                low, high = height(mean - error), height(mean + error)
                line(x, low, x, high, colour, 1.5)
                line(x - 3, low, x + 3, low, colour, 1.5)
                line(x - 3, high, x + 3, high, colour, 1.5)
    text(14, TOP - 14, "mae of V", "start")
    for place, (colour, name) in enumerate(zip(COLOURS, designs[0][2])):
        x, y = LEFT + 370 * (place % 2), TOP + HEIGHT + 60 + 18 * (place // 2)
        line(x, y - 4, x + 24, y - 4, colour, 2)
        text(x + 30, y, name, "start")
    across, down = LEFT + 2 * WIDTH + GAP + 20, TOP + HEIGHT + 60 + 18 * 4
    with open(sys.argv[2], "w", encoding="utf-8") as target:
        target.write(
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{across}" height="{down}" viewBox="0 0 {across} {down}" '
            f'font-family="sans-serif" font-size="12">\n<rect width="100%" height="100%" fill="white"/>\n'
        )
        target.write("\n".join(out) + "\n</svg>\n")


main()
