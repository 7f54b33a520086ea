"""A text as an editor holds it: positions in the units that were agreed on, changes, and edits to another text."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from lsprotocol import types
from pygls.workspace import PositionCodec

# The protocol's line ends, which are Python's. `str.splitlines` knows more, form feeds for instance.
_ROW_END = re.compile(r"\r\n|\r|\n")
_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class Text:
    """A text and how positions in it are counted: rows from 0, and in them units of the codec."""

    whole: str
    codec: PositionCodec
    _starts: list[int] = field(default_factory=lambda: [0], init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        self._starts.extend(match.end() for match in _ROW_END.finditer(self.whole))

    @property
    def mark(self) -> str:
        """The byte-order mark, where the editor shows it to us: it is no part of the Python text."""
        return _BOM if self.whole.startswith(_BOM) else ""

    def position(self, row: int, column: int) -> types.Position:
        """Where a row and column of the Python text stand, both from 1, the columns in characters."""
        starts = self._starts
        row = min(max(row, 1), len(starts))
        start = starts[row - 1] + (len(self.mark) if row == 1 else 0)
        return self._position_at(min(start + column - 1, len(self.whole)))

    @property
    def end(self) -> types.Position:
        """Where the text ends."""
        return self._position_at(len(self.whole))

    def range(self, start: int, end: int) -> types.Range:
        """The range between two offsets."""
        return types.Range(self._position_at(start), self._position_at(end))

    def offset(self, position: types.Position) -> int:
        """How many characters stand before a position; one behind the end of its row is the row's end."""
        starts = self._starts
        if position.line >= len(starts):
            return len(self.whole)
        start = starts[position.line]
        row = self._row_from(start)
        units = 0
        for at, character in enumerate(row):
            if units >= position.character:
                return start + at
            units += self.codec.client_num_units(character)
        return start + len(row)

    def changed(self, change: types.TextDocumentContentChangeEvent) -> Text:
        """The text after a change: of a range, or of everything."""
        if isinstance(change, types.TextDocumentContentChangeWholeDocument):
            return Text(change.text, self.codec)
        start, end = self.offset(change.range.start), self.offset(change.range.end)
        return Text(self.whole[:start] + change.text + self.whole[end:], self.codec)

    def edits_to(self, new: str) -> list[types.TextEdit]:
        """The edits, small and apart, that make the new text of this one."""
        edits = []
        for start, end, content in _pieces(self.whole, new):
            edits.append(types.TextEdit(self.range(start, end), content))
        return edits

    def _position_at(self, offset: int) -> types.Position:
        row = bisect_right(self._starts, offset) - 1
        start = self._starts[row]
        # No position stands between the two characters of a line end.
        before = self._row_from(start)[: offset - start]
        return types.Position(row, self.codec.client_num_units(before))

    def _row_from(self, start: int) -> str:
        end = _ROW_END.search(self.whole, start)
        return self.whole[start : end.start() if end else None]


def _pieces(old: str, new: str) -> Iterator[tuple[int, int, str]]:
    """What differs, by rows and within them: (start, end, content) by offsets into the old text."""
    rows, new_rows = _split(old), _split(new)
    starts = [0]
    for row in rows:
        starts.append(starts[-1] + len(row))
    matcher = SequenceMatcher(None, rows, new_rows, autojunk=False)
    for tag, first, last, new_first, new_last in matcher.get_opcodes():
        if tag != "equal":
            content = "".join(new_rows[new_first:new_last])
            yield _trimmed(starts[first], "".join(rows[first:last]), content)


def _split(text: str) -> list[str]:
    ends = [match.end() for match in _ROW_END.finditer(text)]
    rows = [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    rest = text[ends[-1] :] if ends else text
    return [*rows, rest] if rest else rows


def _trimmed(start: int, old: str, new: str) -> tuple[int, int, str]:
    """A piece without what is alike at its beginning and its end, line ends apart."""
    most = min(len(old), len(new))
    head = 0
    while head < most and old[head] == new[head] and old[head] not in "\r\n":
        head += 1
    tail = 0
    while tail < most - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    # A `\r\n` stays whole.
    if (
        tail
        and old[len(old) - tail] == "\n"
        and (old[: len(old) - tail].endswith("\r") or new[: len(new) - tail].endswith("\r"))
    ):
        tail -= 1
    return start + head, start + len(old) - tail, new[head : len(new) - tail]
