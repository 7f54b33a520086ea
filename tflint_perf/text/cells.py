"""The code cells of a notebook: which of them are Python, and each one's own text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from tflint_perf.errors import EditError, SourceError
from tflint_perf.records import dataclass
from tflint_perf.text import json_spans
from tflint_perf.text.decoding import Piece, spliced
from tflint_perf.text.json_spans import Value
from tflint_perf.text.magics import Range, mask
from tflint_perf.text.syntax import Fault, fault_of

Form = Literal["script", "loose script", "own notebook", "notebook", "hosted notebook"]

_TEXT = re.compile(r"[^\r\n]")
_ROW_END = re.compile(r"\r\n|\r|\n")
_LAST_ROW_END = re.compile(r"(?:\r\n|\r|\n)\Z")
_INDENTED = re.compile(r"(?:[ \t]*(?:\r\n|\r|\n))*[ \t]+\S")
_BLOCK = "if True:\n"
# Kernels whose notebooks say no language, by how their names begin.
_OTHER_KERNELS = re.compile(
    r"(?:ir|irkernel|julia|swift|scala|spark|sparkr|almond|toree|bash|javascript|deno|tslab|xcpp|xeus-cling|rust|evcxr"
    r"|gophernotes|gonb|\.net|octave|matlab|imatlab|sas|sos|stata|ruby|haskell|ihaskell|ocaml|java|ijava|kotlin|maxima|wolfram)"
    r"(?![a-z])",
    re.IGNORECASE,
)
# Whose metadata a notebook has that Colab or Kaggle saved, and what these call their kernel.
_HOSTS = frozenset({"colab", "kaggle"})
_KERNEL_OF_HOSTS = "Python 3"
# The first line by which notebooks of Databricks say what the whole cell is.
_OF_DATABRICKS = re.compile(r"\s*%(?:md|md-sandbox|sql|scala|r|sh|fs|html)(?!\S)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of Python code.

    `lead` is what stands before it in the notebook's text and not in the file, `start` the offset behind that, and
    `closing` the line end behind it that is not in the file. `source` is where its source stands in the JSON, and
    `magics` where in the text something is masked. A cell with a `fault` does not parse: its text is blank.
    """

    number: int
    lead: str
    start: int
    written: str
    masked: str
    closing: str
    source: Value
    magics: tuple[Range, ...]
    fault: Fault | None = None

    @property
    def end(self) -> int:
        """The offset behind the cell in the notebook's text."""
        return self.start + len(self.masked)

    def own(self, pieces: Sequence[Piece]) -> list[Piece]:
        """Pieces of the notebook's text as pieces of the cell's source.

        Raises:
            EditError: one of them touches a magic, or is put before one that is about the whole cell.
        """
        length = len(self.written)
        own = []
        for start, end, content in pieces:
            if any(start < magic_end and magic < end for magic, magic_end in self.magics):
                raise EditError("the fix touches a magic")
            start, end = start - self.start, end - self.start
            if self.closing and end > length:
                content = (self.closing if start > length else "") + content.removesuffix(self.closing)
                start, end = min(start, length), length
            own.append((start, end, content))
        return _without_last_line_end(self.written, own) if self.closing else own


def cells_of(text: str, cells: Value, path: str) -> Iterator[Cell]:
    """The cells of Python code that have any, of a notebook in Python, by its list of cells in the JSON text.

    Raises:
        SourceError: something there is no cell.
    """
    at = 0
    for number, item in enumerate(json_spans.items(text, cells), 1):
        where = f"{path}:cell {number}"
        if not isinstance(item.value, dict):
            raise SourceError(f"{where}: not a cell")
        if item.value.get("cell_type") != "code" or not _is_python_cell(item.value):
            continue
        source = json_spans.members(text, item).get("source")
        written = _joined(source.value if source else None)
        if source is None or written is None:
            raise SourceError(f"{where}: a code cell without source")
        _check(written, where)
        cell = _cell(number, at, written, source)
        if cell is not None:
            at = cell.end
            yield cell


def _cell(number: int, at: int, written: str, source: Value) -> Cell | None:
    """The cell, behind what ends at the offset `at`; None if it has no Python code."""
    masked = mask(written) if written else None
    if masked is None:
        return None
    text, magics = masked
    # A line of its own between two cells: what belongs below the one is not taken for what stands above the other.
    lead = "\n" if at else ""
    fault = fault_of(text)
    if fault is not None and _INDENTED.match(text) and fault_of(_BLOCK + text) is None:
        lead, fault = lead + _BLOCK, None  # IPython takes the indentation away
    if fault is not None:
        if _OF_DATABRICKS.match(written):
            return None
        text, magics = _TEXT.sub(" ", text), ((-1, len(text) + 1),)
    closing = "" if written.endswith(("\n", "\r")) else _line_end(written)
    start = at + len(lead)
    placed = tuple((start + first, start + last) for first, last in magics)
    return Cell(number, lead, start, written, text + closing, closing, source, placed, fault)


def _line_end(text: str) -> str:
    match = _ROW_END.search(text)
    return match[0] if match else "\n"


def _without_last_line_end(source: str, pieces: list[Piece]) -> list[Piece]:
    """The pieces, changed so that a source that had no line end at its end gets none."""
    if not pieces or not spliced(source, pieces).endswith(("\n", "\r")):
        return pieces
    start, end, content = pieces[-1]
    if content.endswith(("\n", "\r")):
        return [*pieces[:-1], (start, end, _LAST_ROW_END.sub("", content))]
    # The last lines were taken out: the line end before them goes too.
    before = _LAST_ROW_END.search(source[:start])
    return [*pieces[:-1], (before.start() if before else start, end, content)]


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


def is_python(notebook: Mapping[str, Any]) -> bool:
    """Whether a notebook's language is Python: by its name, by the kernel's, or because nothing else is said."""
    metadata = _mapping(notebook.get("metadata"))
    kernel = _mapping(metadata.get("kernelspec"))
    language = _mapping(metadata.get("language_info")).get("name") or kernel.get("language")
    if isinstance(language, str):
        return language.lower() in ("python", "ipython")
    name = kernel.get("name")
    return not isinstance(name, str) or _OTHER_KERNELS.match(name) is None


def is_of_python_2(notebook: Mapping[str, Any]) -> bool:
    """Whether a notebook says that its language is Python 2, of which `print "x"` is a statement: by the version, or else the
    kernel's name."""
    metadata = _mapping(notebook.get("metadata"))
    version = _mapping(metadata.get("language_info")).get("version")
    if isinstance(version, str):
        return version.startswith("2.")
    return _mapping(metadata.get("kernelspec")).get("name") == "python2"


def form_of(notebook: Mapping[str, Any]) -> Form:
    """Whether Colab or Kaggle saved a notebook last. Others leave their metadata alone, and write their own kernel's name."""
    metadata = _mapping(notebook.get("metadata"))
    kernel = _mapping(metadata.get("kernelspec")).get("display_name", _KERNEL_OF_HOSTS)
    if kernel != _KERNEL_OF_HOSTS:
        return "own notebook"
    return "notebook" if metadata.keys().isdisjoint(_HOSTS) else "hosted notebook"


def _is_python_cell(cell: Mapping[str, Any]) -> bool:
    # An editor's own mark on a cell in another language, for instance SQL.
    language = _mapping(_mapping(cell.get("metadata")).get("vscode")).get("languageId")
    return not isinstance(language, str) or language == "python"


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
