"""A Jupyter notebook: its code cells as one Python text, and edits of it back into the JSON.

Cells are counted from 1 over all cells of the notebook, text cells included, as Ruff counts them: a reader finds
the cell by going down the page, and the number stays right when outputs are cleared.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Sequence

from tflint_perf.errors import EditError, SourceError
from tflint_perf.records import dataclass
from tflint_perf.text import json_spans
from tflint_perf.text.cells import Cell, Form, cells_of, form_of, is_of_python_2, is_python
from tflint_perf.text.decoding import Piece, spliced
from tflint_perf.text.json_spans import Value

_BOM = b"\xef\xbb\xbf"
_ESCAPED_LETTER = re.compile(r"\\u(?!00[0-7])[0-9a-fA-F]{4}")


@dataclass(frozen=True, slots=True)
class Notebook:
    """A notebook's bytes, the JSON text in them, and the Python text of its code cells."""

    data: bytes
    json_text: str
    cells: tuple[Cell, ...]
    text: str
    path: str
    form: Form
    of_python_2: bool = False

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
        masked = "".join(cell.lead + cell.masked for cell in cells)
        return cls(data, text, cells, masked, path, form_of(whole.value), is_of_python_2(whole.value))

    @property
    def written(self) -> str:
        """The text with the magics as they were written."""
        return "".join(cell.lead + cell.written + cell.closing for cell in self.cells)

    def cell_at(self, offset: int) -> Cell | None:
        """The cell in which an offset of the text stands; the last one for the text's end."""
        return self.cells[self._index(offset)] if self.cells else None

    def _index(self, offset: int) -> int:
        return max(bisect_right(self.cells, offset, key=lambda cell: cell.start) - 1, 0)

    def replaced(self, pieces: Sequence[Piece]) -> Notebook:
        """The notebook with pieces of its text replaced: (start, end, content), sorted, apart.

        Raises:
            EditError: a piece touches two cells or a magic.
        """
        by_cell: dict[int, list[Piece]] = {}
        for piece in pieces:
            index, own = self._in_one_cell(piece)
            by_cell.setdefault(index, []).append(own)
        changed = [
            (cell.source.start, cell.source.end, self._with_pieces(cell, own))
            for cell, own in ((self.cells[index], own) for index, own in by_cell.items())
        ]
        bom = _BOM if self.data.startswith(_BOM) else b""
        try:
            return Notebook.from_bytes(bom + spliced(self.json_text, changed).encode(), self.path)
        except SourceError as error:
            raise EditError(str(error)) from None

    def _in_one_cell(self, piece: Piece) -> tuple[int, Piece]:
        """The index of the cell that a piece is about, and the piece without what stands between cells."""
        if not self.cells:
            raise EditError("the fix spans more than one cell")
        start, end, content = piece
        index = self._index(start)
        following = self.cells[index + 1].start if index + 1 < len(self.cells) else len(self.text)
        if self.cells[index].end <= start < end and following < end:
            index, start = index + 1, following
            following = self.cells[index + 1].start if index + 1 < len(self.cells) else len(self.text)
        if end > following:
            raise EditError("the fix spans more than one cell")
        last = self.cells[index].end
        return index, (min(start, last), min(end, last), content)

    def _with_pieces(self, cell: Cell, pieces: Sequence[Piece]) -> str:
        own = cell.own(pieces)
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


def _cells(text: str, whole: Value, path: str) -> tuple[Cell, ...]:
    top = json_spans.members(text, whole) if isinstance(whole.value, dict) else {}
    if "worksheets" in top:
        said = top["nbformat"].value if "nbformat" in top else 3
        raise SourceError(
            f"{path}: a notebook of format {said}; `jupyter nbconvert --to notebook --inplace` brings it to format 4"
        )
    if "cells" not in top or not isinstance(top["cells"].value, list):
        raise SourceError(f"{path}: not a notebook: it has no list of cells")
    return tuple(cells_of(text, top["cells"], path)) if is_python(whole.value) else ()
