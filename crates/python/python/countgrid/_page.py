"""Pages of fitted grids."""

from __future__ import annotations

import html
import os
from pathlib import Path


class MapPage:
    """A page that shows a fitted grid: one HTML file that needs nothing else. Jupyter shows it where it is the value of a cell.

    Attributes
    ----------
    html : str
        The file.
    """

    def __init__(self, html: str, height: int = 640) -> None:
        self.html = html
        self.height = height

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the file."""
        Path(path).write_text(self.html, encoding="utf-8", newline="\n")

    def _repr_html_(self) -> str:
        page = html.escape(self.html, quote=True)
        return (
            f'<iframe srcdoc="{page}" sandbox="allow-scripts" '
            f'style="width: 100%; height: {self.height}px; border: 0"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<MapPage of {len(self.html)} characters: .save(path) writes it>"
