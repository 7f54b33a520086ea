"""What was last found in texts that parsed: it stays, and moves with what is typed, while they do not parse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import attrs
from lsprotocol import types

from tflint_perf.server.texts import Text


@dataclass(frozen=True, slots=True)
class Splice:
    """A change of a text by offsets: what stood from `start` to `end` has become `length` characters."""

    start: int
    end: int
    length: int


def splice_of(text: Text, change: types.TextDocumentContentChangeEvent) -> Splice:
    """The change as a splice; a whole new text is the old one but for what lies between what both begin and end with."""
    if not isinstance(change, types.TextDocumentContentChangeWholeDocument):
        start, end = text.offset(change.range.start), text.offset(change.range.end)
        return Splice(start, end, len(change.text))
    old, new = text.whole, change.text
    head = _alike(old, new)
    tail = _alike(old[head:][::-1], new[head:][::-1])
    return Splice(head, len(old) - tail, len(new) - tail - head)


@dataclass(frozen=True, slots=True)
class _Kept:
    start: int
    end: int
    shown: types.Diagnostic

    def moved(self, by: Splice) -> _Kept | None:
        """Where it is after a change; None where the change took all of its code."""
        shift = by.length - (by.end - by.start)
        inside = by.start + by.length
        start, end = self.start, self.end
        if start >= by.end:
            start += shift
        elif start > by.start:
            start = inside
        if end > by.start:
            end = end + shift if end >= by.end else inside
        return None if start >= end and self.start < self.end else replace(self, start=start, end=end)


@dataclass(slots=True)
class Staying:
    """What is kept of scripts and cells, by their URIs."""

    _kept: dict[str, list[_Kept]] = field(default_factory=dict)

    def keep(self, uri: str, text: Text, shown: Sequence[types.Diagnostic]) -> None:
        """Keep what is shown of a text that parses."""
        self._kept[uri] = [
            _Kept(text.offset(each.range.start), text.offset(each.range.end), each) for each in shown
        ]

    def move(self, uri: str, by: Splice) -> None:
        """Take over a change of the text."""
        if uri in self._kept:
            self._kept[uri] = [moved for kept in self._kept[uri] if (moved := kept.moved(by)) is not None]

    def shown(self, uri: str, text: Text) -> list[types.Diagnostic]:
        """What was last kept, where it stands in the present text."""
        return [
            attrs.evolve(kept.shown, range=text.range(kept.start, kept.end))
            for kept in self._kept.get(uri, ())
        ]

    def forget(self, uri: str) -> None:
        self._kept.pop(uri, None)


def _alike(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    least, most = 0, min(len(one), len(other))
    while least < most:
        half = (least + most + 1) // 2
        if one[least:half] == other[least:half]:
            least = half
        else:
            most = half - 1
    return least
