"""One `.py` file or notebook as Python text with places, and edits back into the file's own bytes."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import field
from itertools import pairwise
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING

from tflint_perf.errors import EditError, SourceError
from tflint_perf.finding import Edit, Place
from tflint_perf.records import dataclass
from tflint_perf.text.decoding import PythonFile

if TYPE_CHECKING:
    from tflint_perf.text.cells import Form
    from tflint_perf.text.notebook import Notebook
    from tflint_perf.text.syntax import Fault

__all__ = ["EditError", "Source", "SourceError"]

# Python's own line ends. A form feed or U+2028 ends no row, so `str.splitlines` won't do.
_ROW_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Source:
    """A file as it is analysed. Immutable: edits make a new one.

    `path` is the file's name as people see it. `text` is the Python text. In a notebook it joins the code
    cells, each on lines of its own; magics are masked there by text of the same length, so that offsets count
    for both, and cells that do not parse are blank.
    """

    path: str
    text: str
    _file: PythonFile | Notebook
    # Filled on the first question about a row: most files are never asked.
    _row_starts: list[int] = field(default_factory=list, compare=False, repr=False)

    @classmethod
    def from_bytes(cls, data: bytes, path: str) -> Source:
        """Decode a file; a name that ends in `.ipynb` makes it a notebook.

        Raises:
            SourceError: no text can be had from the bytes; the message is one line with the place.
        """
        if path.endswith(".ipynb"):
            from tflint_perf.text.notebook import Notebook  # scripts don't pay for it

            notebook = Notebook.from_bytes(data, path)
            return cls(path, notebook.text, notebook)
        file = PythonFile.from_bytes(data, path)
        return cls(path, file.written, file)

    @property
    def is_notebook(self) -> bool:
        """Whether places have cells."""
        return not isinstance(self._file, PythonFile)

    @property
    def form(self) -> Form:
        """What kind of file it is: of a notebook, by whoever saved it last; of a script, by whether an import can name it."""
        if not isinstance(self._file, PythonFile):
            return self._file.form
        # What is left behind the last dot is what Python imports from a package.
        return "loose script" if "." in PureWindowsPath(self.path).stem else "script"

    @property
    def written(self) -> str:
        """The text as the user wrote it: as long as `text`, with the magics."""
        return self._file.written

    def row(self, offset: int) -> int:
        """The row of an offset, from 1, counted through the whole text also in a notebook."""
        return bisect_right(self._rows(), offset)

    def place(self, offset: int) -> Place:
        """Where an offset into `text` stands for people: in a notebook, by cell and row in it."""
        rows = self._rows()
        row = bisect_right(rows, offset)
        column = offset - rows[row - 1] + 1
        if isinstance(self._file, PythonFile):
            return Place(offset, row, column)
        cell = self._file.cell_at(offset)
        if cell is None:  # a notebook without code
            return Place(offset, row, column, 1)
        return Place(offset, row - self.row(cell.start) + 1, column, cell.number)

    def offset(self, row: int, column: int) -> int:
        """The offset of a row and column of `text`, both from 1; past the end of the row, its end."""
        rows = self._rows()
        row = min(max(row, 1), len(rows))
        end = rows[row] - 1 if row < len(rows) else len(self.text)
        return max(min(rows[row - 1] + column - 1, end), rows[row - 1])

    def lines(self, first_row: int, last_row: int) -> tuple[str, ...]:
        """Rows of `text` from first to last, both included, as the user wrote them, without line ends."""
        rows = self._rows()
        written = self.written
        last_row = min(last_row, len(rows))
        ends = [*rows[first_row:last_row], rows[last_row] if last_row < len(rows) else len(written)]
        starts = rows[first_row - 1 : last_row]
        return tuple(written[start:end].rstrip("\r\n") for start, end in zip(starts, ends, strict=False))

    def apply(self, edits: Iterable[Edit]) -> Source:
        """A new source with the edits made; `\\n` in their content becomes the line end that is used there.

        Raises:
            EditError: edits overlap, touch a magic or two cells, or can't be written in the file's encoding.
        """
        pieces = sorted(
            (edit.start.offset, edit.end.offset, self._with_line_end_at(edit.start.offset, edit.content))
            for edit in edits
        )
        for (start, end, _), (following, _, _) in pairwise(pieces):
            if following < end or following == start == end:
                raise EditError("would make edits that overlap")
        if not pieces:
            return self
        file = self._file.replaced(pieces)
        return Source(self.path, file.written if isinstance(file, PythonFile) else file.text, file)

    def encode(self) -> bytes:
        """The file's bytes. Without edits, those that it came from."""
        return self._file.data

    def cells(self) -> tuple[tuple[int, str], ...]:
        """A notebook's code cells as the user wrote them, each with its number; none in a `.py` file."""
        if isinstance(self._file, PythonFile):
            return ()
        return tuple((cell.number, cell.written) for cell in self._file.cells)

    def broken(self) -> tuple[tuple[int, Fault], ...]:
        """A notebook's cells that do not parse: where each begins in the text, and why; none in a `.py` file."""
        if isinstance(self._file, PythonFile):
            return ()
        return tuple((cell.start, cell.fault) for cell in self._file.cells if cell.fault is not None)

    @property
    def is_of_python_2(self) -> bool:
        """Whether it is a notebook that says so of itself."""
        return not isinstance(self._file, PythonFile) and self._file.of_python_2

    def _rows(self) -> list[int]:
        if not self._row_starts:
            self._row_starts.append(0)
            self._row_starts.extend(match.end() for match in _ROW_END.finditer(self.text))
        return self._row_starts

    def _with_line_end_at(self, offset: int, content: str) -> str:
        if "\n" not in content:
            return content
        # The end of the edited row; behind the last one, that of the row before.
        end = _ROW_END.search(self.text, offset)
        if end is None:
            previous = self._rows()[self.row(offset) - 1]
            end = _ROW_END.search(self.text, max(previous - 2, 0), previous)
        # Text that was moved keeps its own `\r\n`.
        return content if end is None else re.sub(r"(?<!\r)\n", end[0], content)
