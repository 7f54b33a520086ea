"""The picture of the rooms, `docs/rooms.svg`, from the code: which there are, in which order, and which asks which.

python docs/rooms.py
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from html import escape
from itertools import chain
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "rooms.svg"
_ROW, _COLUMN, _TEXT, _HEAD = 19, 19, 790, 96
_ANALYSIS = "analysis"
# Rooms of one file; what stands in others at the top of the package is how it is started, and plain data.
_FILES = frozenset({"commands", "rule", "analysis.model"})
_STYLE = """
text { font: 13px ui-monospace, monospace; fill: #24292f }
.says { font-family: system-ui, sans-serif; fill: #57606a }
line { stroke: #d0d7de } circle { fill: #0969da } .own { fill: #d0d7de }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .says { fill: #9198a1 } line, .own { stroke: #3d444d; fill: #3d444d } circle { fill: #4493f8 }
}
"""


def rooms() -> list[str]:
    """The rooms from the top down: `rules`, then the layers to which import-linter holds the package and its analysis."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    outer, inner = (
        [name.strip() for layer in contract["layers"] for name in layer.split("|")]
        for contract in settings["tool"]["importlinter"]["contracts"]
        if contract["type"] == "layers"
    )
    whole = chain.from_iterable(
        [f"{_ANALYSIS}.{below}" for below in inner] if name == _ANALYSIS else [name] for name in outer
    )
    return ["rules", *(name for name in whole if _place(name).name == "__init__.py" or name in _FILES)]


def _place(room: str) -> Path:
    """The file at whose top a room says what it answers."""
    if room == "rules":
        return ROOT / "rules" / "__init__.py"
    path = ROOT / "tflint_perf" / room.replace(".", "/")
    return path.with_suffix(".py") if path.with_suffix(".py").exists() else path / "__init__.py"


def says(room: str) -> str:
    """The first sentence of a room's page."""
    page = ast.get_docstring(ast.parse(_place(room).read_text(encoding="utf-8"))) or ""
    return " ".join(page.partition("\n\n")[0].split()).split(". ")[0].rstrip(".").replace("`", "")


def asked(room: str, known: list[str]) -> set[str]:
    """The other rooms that a room imports from, for types alone or in a function, too."""
    place = _place(room)
    files = place.parent.rglob("*.py") if place.name == "__init__.py" else [place]
    found: set[str] = set()
    for file in files:
        found.update(_room_of(name, known) for name in _imported(file))
    return found - {room, ""}


@cache
def _imported(file: Path) -> list[str]:
    """The names that a file imports from modules, in full."""
    return [
        f"{node.module}.{alias.name}"
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0
        for alias in node.names
    ]


def _room_of(module: str, known: list[str]) -> str:
    """The room that a module, or what is imported from one, belongs to; "" for none."""
    path = module.removeprefix("tflint_perf.") + "."
    return next((room for room in known if module != path[:-1] and path.startswith(f"{room}.")), "")


def picture() -> str:
    """The picture: a row for each room, and dots in the columns of the rooms that it asks: to the right of the diagonal are those below it."""
    known = rooms()
    width, height = _TEXT + _COLUMN * len(known) + 90, _HEAD + _ROW * len(known) + 10
    return "".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
            f"<title>Which room asks which</title><style>{_STYLE}</style>\n",
            *_drawn(known),
            "</svg>\n",
        )
    )


def _drawn(known: list[str]) -> Iterator[str]:
    for at, room in enumerate(known):
        x, y = _TEXT + _COLUMN * at, _HEAD + _ROW * at
        yield f'<text x="4" y="{y + 14}">{room}</text>'
        yield f'<text class="says" x="180" y="{y + 14}">{escape(_short(says(room)))}</text>'
        yield f'<text transform="translate({x + 12} {_HEAD - 6}) rotate(-45)">{room.rpartition(".")[2]}</text>'
        yield f'<line x1="{x + 9}" x2="{x + 9}" y1="{_HEAD}" y2="{_HEAD + _ROW * len(known)}"/>'
        yield f'<circle class="own" cx="{x + 9}" cy="{y + 9}" r="3"/>'
        for other in sorted(asked(room, known), key=known.index):
            yield f'<circle cx="{_TEXT + _COLUMN * known.index(other) + 9}" cy="{y + 9}" r="5"/>'
        yield "\n"


def _short(text: str, most: int = 92) -> str:
    return text if len(text) <= most else text[:most].rpartition(" ")[0].rstrip(",:;") + " …"


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
