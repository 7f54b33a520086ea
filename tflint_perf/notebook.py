"""A Jupyter notebook: its code cells as one Python text, and edits of it back into the JSON.

Cells are counted from 1 over all cells of the notebook, text cells included, as Ruff counts them: a reader finds
the cell by going down the page, and the number stays right when outputs are cleared.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tflint_perf import json_spans
from tflint_perf.decoding import Piece, spliced
from tflint_perf.errors import EditError, SourceError
from tflint_perf.json_spans import Value
from tflint_perf.magics import Range, mask

_BOM = b"\xef\xbb\xbf"
_ESCAPED_LETTER = re.compile(r"\\u(?!00[0-7])[0-9a-fA-F]{4}")


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of Python code.

    `start` is its offset in the notebook's text, `source` where its source stands in the JSON, and `magics`
    where in the text something is masked. `closed` tells that a line end was added, which is not in the file.
    """

    number: int
    start: int
    written: str
    masked: str
    closed: bool
    source: Value
    magics: tuple[Range, ...]

    @property
    def end(self) -> int:
        """The offset behind the cell in the notebook's text."""
        return self.start + len(self.masked)

    def own(self, pieces: Sequence[Piece]) -> list[Piece]:
        """Pieces of the notebook's text as pieces of the cell's source.

        Raises:
            EditError: one of them touches a magic.
        """
        length = len(self.written)
        own = []
        for start, end, content in pieces:
            if any(start < magic_end and magic < end for magic, magic_end in self.magics):
                raise EditError("the fix touches a magic")
            start, end = start - self.start, end - self.start
            if self.closed and end > length:
                content = ("\n" if start > length else "") + content.removesuffix("\n")
                start, end = min(start, length), length
            own.append((start, end, content))
        return own


@dataclass(frozen=True, slots=True)
class Notebook:
    """A notebook's bytes, the JSON text in them, and the Python text of its code cells."""

    data: bytes
    json_text: str
    cells: tuple[Cell, ...]
    text: str
    path: str

    @classmethod
    def from_bytes(cls, data: bytes, path: str) -> Notebook:
        """Read a notebook of format 4.

        Raises:
            SourceError: it is no JSON, no notebook, or of an older format.
        """
        try:
            text = data.removeprefix(_BOM).decode()
            whole = json_spans.document(text)
        except UnicodeDecodeError as error:
            raise SourceError(
                f"{path}: not a notebook: byte 0x{data[error.start]:02x} is not UTF-8"
            ) from None
        except json.JSONDecodeError as error:
            raise SourceError(f"{path}:{error.lineno}:{error.colno}: not a notebook: {error.msg}") from None
        except RecursionError:
            raise SourceError(f"{path}: not a notebook: nested too deeply") from None
        cells = _cells(text, whole, path)
        return cls(data, text, cells, "".join(cell.masked for cell in cells), path)

    @property
    def written(self) -> str:
        """The text with the magics as they were written."""
        return "".join(cell.written + "\n" * cell.closed for cell in self.cells)

    def cell_at(self, offset: int) -> Cell | None:
        """The cell in which an offset of the text stands; the last one for the text's end."""
        index = bisect_right(self.cells, offset, key=lambda cell: cell.start) - 1
        return self.cells[index] if self.cells else None

    def replaced(self, pieces: Sequence[Piece]) -> Notebook:
        """The notebook with pieces of its text replaced: (start, end, content), sorted, apart.

        Raises:
            EditError: a piece touches two cells or a magic.
        """
        by_cell: dict[int, list[Piece]] = {}
        for piece in pieces:
            cell = self.cell_at(piece[0])
            if cell is None or piece[1] > cell.end:
                raise EditError("the fix reaches over more than one cell")
            by_cell.setdefault(self.cells.index(cell), []).append(piece)
        changed = [
            (cell.source.start, cell.source.end, self._with_pieces(cell, own))
            for cell, own in ((self.cells[index], own) for index, own in by_cell.items())
        ]
        bom = _BOM if self.data.startswith(_BOM) else b""
        try:
            return Notebook.from_bytes(bom + spliced(self.json_text, changed).encode(), self.path)
        except SourceError as error:
            raise EditError(str(error)) from None

    def _with_pieces(self, cell: Cell, pieces: Sequence[Piece]) -> str:
        own = cell.own(pieces)
        if cell.closed:
            own = _without_last_line_end(cell.written, own)
        if isinstance(cell.source.value, str):
            return json_spans.replaced_in_string(self.json_text, cell.source, own, self._ascii_only())
        return json_spans.replaced_in_lines(
            self.json_text, cell.source, own, self._ascii_only(), self._separator()
        )

    def _ascii_only(self) -> bool:
        return self.json_text.isascii() and _ESCAPED_LETTER.search(self.json_text) is not None

    def _separator(self) -> str | None:
        """What stands between two lines of a source anywhere in the notebook."""
        for cell in self.cells:
            if isinstance(cell.source.value, list) and len(cell.source.value) > 1:
                first, second = json_spans.items(self.json_text, cell.source)[:2]
                return self.json_text[first.end : second.start]
        return None


def _without_last_line_end(source: str, pieces: list[Piece]) -> list[Piece]:
    """The pieces, changed so that a source that had no line end at its end gets none."""
    new = spliced(source, pieces)
    surplus = len(new) - len(new.rstrip("\n"))
    if not surplus or not pieces:
        return pieces
    start, end, content = pieces[-1]
    if content.endswith("\n"):
        return [*pieces[:-1], (start, end, content[:-1])]
    # The last lines were taken out: the line end before them goes too.
    return [*pieces[:-1], (start - 1, end, content)] if source[start - 1 : start] == "\n" else pieces


def _cells(text: str, whole: Value, path: str) -> tuple[Cell, ...]:
    top = json_spans.members(text, whole) if isinstance(whole.value, dict) else {}
    if "worksheets" in top:
        raise SourceError(
            f"{path}: a notebook of format 3; `jupyter nbconvert --to notebook --inplace` brings it to format 4"
        )
    if "cells" not in top or not isinstance(top["cells"].value, list):
        raise SourceError(f"{path}: not a notebook: it has no list of cells")
    if not _is_python(whole.value):
        return ()
    cells: list[Cell] = []
    for number, item in enumerate(json_spans.items(text, top["cells"]), 1):
        if not isinstance(item.value, dict):
            raise SourceError(f"{path}:cell {number}: not a cell")
        if item.value.get("cell_type") != "code" or not _is_python_cell(item.value):
            continue
        source = json_spans.members(text, item).get("source")
        written = _joined(source.value if source else None)
        if source is None or written is None:
            raise SourceError(f"{path}:cell {number}: a code cell without source")
        _check(written, f"{path}:cell {number}")
        if not written or (masked := mask(written)) is None:
            continue
        start = cells[-1].end if cells else 0
        closed = not written.endswith(("\n", "\r"))
        magics = tuple((start + first, start + last) for first, last in masked[1])
        cells.append(Cell(number, start, written, masked[0] + "\n" * closed, closed, source, magics))
    return tuple(cells)


def _joined(source: object) -> str | None:
    if isinstance(source, str):
        return source
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        return "".join(source)
    return None


def _check(written: str, where: str) -> None:
    if "\0" in written:
        raise SourceError(f"{where}: a NUL character: not Python source")
    try:
        written.encode()
    except UnicodeEncodeError:
        raise SourceError(f"{where}: half of a surrogate pair: not Python source") from None


def _is_python(notebook: Mapping[str, object]) -> bool:
    metadata = _mapping(notebook.get("metadata"))
    language = _mapping(metadata.get("language_info")).get("name") or _mapping(
        metadata.get("kernelspec")
    ).get("language")
    return not isinstance(language, str) or language.lower() in ("python", "ipython")


def _is_python_cell(cell: Mapping[str, object]) -> bool:
    # An editor's own mark on a cell in another language, for instance SQL.
    language = _mapping(_mapping(cell.get("metadata")).get("vscode")).get("languageId")
    return not isinstance(language, str) or language == "python"


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}
