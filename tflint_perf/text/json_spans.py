"""Where values stand in JSON text, so that one can be changed and the rest kept to the letter."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, chain, repeat
from typing import Any, NamedTuple

from tflint_perf.records import dataclass
from tflint_perf.text.decoding import Piece, spliced

_DECODER = json.JSONDecoder(strict=False)
_SPACE = re.compile(r"[ \t\r\n]*")
_LINES = re.compile(r"[^\n]*\n|[^\n]+")
# One character of a JSON string as it is spelled.
_SPELLED = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|.", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Value:
    """A decoded value and its place in the JSON text."""

    value: Any
    start: int
    end: int


def document(text: str) -> Value:
    """The whole text as one value.

    Raises:
        json.JSONDecodeError: it is no JSON.
    """
    value = _value(text, _SPACE.match(text).end())  # type: ignore[union-attr]  # matches everywhere
    if _skip(text, value.end) != len(text):
        raise json.JSONDecodeError("Extra data", text, value.end)
    return value


def members(text: str, of: Value) -> dict[str, Value]:
    """The members of an object; of repeated keys the last counts."""
    found = {}
    at = _skip(text, of.start + 1)
    while text[at] != "}":
        key = _value(text, at)
        value = _value(text, _skip(text, _skip(text, key.end) + 1))
        found[key.value] = value
        at = _after_comma(text, value.end)
    return found


def items(text: str, of: Value) -> list[Value]:
    """The items of an array."""
    found = []
    at = _skip(text, of.start + 1)
    while text[at] != "]":
        found.append(_value(text, at))
        at = _after_comma(text, found[-1].end)
    return found


def replaced_in_string(text: str, string: Value, pieces: Sequence[Piece], ascii_only: bool) -> str:
    """The JSON string's text with pieces of its value replaced; what is kept is spelled as before."""
    starts = [match.start() for match in _SPELLED.finditer(text, string.start + 1, string.end - 1)]
    starts.append(string.end - 1)
    return spliced(
        text[string.start : string.end],
        [
            (starts[start] - string.start, starts[end] - string.start, spelled(content, ascii_only)[1:-1])
            for start, end, content in pieces
        ],
    )


def replaced_in_lines(
    text: str, array: Value, pieces: Sequence[Piece], ascii_only: bool, separator: str | None
) -> str:
    """The text of an array of lines with pieces of the joined lines replaced.

    Lines that no piece touches keep their spelling and the space before them. New lines stand apart as the
    first two do; `separator` says how, where there is only one.
    """
    old = items(text, array)
    ends = [array.start + 1, *(item.end for item in old)]
    lines = [
        _Line(item.value, text[item.start : item.end], text[end : item.start])
        for item, end in zip(old, ends, strict=False)
    ]
    for piece in reversed(pieces):
        lines = _with_piece(lines, piece)
    if not lines:
        return "[]"
    first = text[array.start + 1 : old[0].start] if old else ""
    last = text[old[-1].end : array.end - 1] if old else ""
    if len(old) > 1:
        separator = text[old[0].end : old[1].start]
    elif separator is None:
        separator = f",{first}" if first else ", "
    parts = [f"[{first}"]
    for index, line in enumerate(lines):
        if index:
            parts.append(line.before if "," in line.before else separator)
        parts.append(line.spelling or spelled(line.value, ascii_only))
    return "".join([*parts, last, "]"])


def spelled(value: str, ascii_only: bool) -> str:
    """The value as a JSON string."""
    return json.dumps(value, ensure_ascii=ascii_only)


class _Line(NamedTuple):
    value: str
    spelling: str = ""  # as it stands in the file; empty for a new one
    before: str = ""  # what stands between the one before and it


def _with_piece(lines: list[_Line], piece: Piece) -> list[_Line]:
    start, end, content = piece
    starts = list(accumulate((len(line.value) for line in lines), initial=0))
    # A piece that begins where two lines meet touches the later one; one that ends there, both, lest what it
    # leaves of the first runs into the second.
    first = max(min(bisect_right(starts, start), len(lines)) - 1, 0)
    last = min(bisect_right(starts, end), len(lines))
    touched = lines[first:last]
    joined = "".join(line.value for line in touched)
    kept = {line.value: line for line in touched}
    new = spliced(joined, [(start - starts[first], end - starts[first], content)])
    places = chain((line.before for line in touched), repeat(""))
    values = zip(_LINES.findall(new), places, strict=False)
    changed = [kept.get(value) or _Line(value, before=before) for value, before in values]
    return [*lines[:first], *changed, *lines[last:]]


def _value(text: str, at: int) -> Value:
    value, end = _DECODER.raw_decode(text, at)
    return Value(value, at, end)


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _after_comma(text: str, at: int) -> int:
    at = _skip(text, at)
    return _skip(text, at + 1) if text[at] == "," else at
