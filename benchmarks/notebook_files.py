"""A notebook's file: what its cells hold, how it is written, and what two of them differ in."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import nbformat

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")
_STYLES = [
    {"indent": indent, "ensure_ascii": ascii_only, "separators": separators}
    for indent, ascii_only, separators in product(
        (1, 2, 4, None, 3, 0, "\t"), (False, True), ((",", ": "), (", ", ": "), (",", ":"))
    )
]


class NotebooksError(Exception):
    """A notebook of the list can't be had, or the linter itself failed."""


def verdict(data: bytes) -> str:
    """What nbformat's validator says of a notebook: `valid`, or its first line."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            text = data.decode("utf-8-sig")
            nbformat.validate(nbformat.reads(text, nbformat.NO_CONVERT))  # type: ignore[no-untyped-call]
    except (nbformat.ValidationError, ValueError, AttributeError) as error:
        return " ".join((str(error).splitlines() or [type(error).__name__])[0].split())[:100]
    return "valid"


def style_of(data: bytes) -> Callable[[Any], bytes] | None:
    """How a notebook was written, as a function that writes one like it; None where no usual way gives its bytes."""
    text = data.decode("utf-8-sig")
    mark = b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b""
    line_end = "\r\n" if "\r\n" in text else "\n"
    tail = text[len(text.rstrip()) :]
    document = json.loads(text)
    for style in _STYLES:

        def written(document: Any, style: Mapping[str, Any] = style) -> bytes:
            plain = json.dumps(document, **style).replace("\n", line_end)
            return mark + (plain + tail).encode("utf-8", "surrogatepass")

        if written(document) == data:
            return written
    return None


def name_of(data: bytes) -> str:
    """A notebook's way of writing, in a few words."""
    text = data.decode("utf-8-sig")
    indent = re.match(r"\{\r?\n([ \t]*)", text)
    words = [f"indent {len(indent[1])}" if indent else "one line"]
    words += ["CRLF"] if "\r\n" in text else []
    words += [] if text.endswith("\n") else ["no last line end"]
    words += [] if text.isascii() else ["non-ASCII"]
    words += [] if style_of(data) else ["by hand"]
    return ", ".join(words)


def source_of(cell: Mapping[str, Any]) -> str:
    """The source of a cell as one text."""
    source = cell.get("source", "")
    return source if isinstance(source, str) else "".join(source)


def code_cells(document: Mapping[str, Any]) -> dict[int, str]:
    """The sources of the code cells, by the cells' numbers from 1."""
    return {
        number: source_of(cell)
        for number, cell in enumerate(document.get("cells", ()), 1)
        if cell.get("cell_type") == "code"
    }


# What is held against each notebook: each gives a complaint, or nothing.


def changed_elsewhere(before: Any, after: Any) -> str | None:
    """Whether anything but sources of code cells differs, or a source changed its kind."""
    if len(before["cells"]) != len(after["cells"]):
        return "the number of cells differs"
    for number, (old, new) in enumerate(zip(before["cells"], after["cells"], strict=True), 1):
        if old == new:
            continue
        if old.get("cell_type") != "code" or {**old, "source": 0} != {**new, "source": 0}:
            return f"cell {number} differs beside its source"
        if type(old["source"]) is not type(new["source"]):
            return f"the source of cell {number} is of another kind"
        if isinstance(new["source"], list) and not are_lines(old["source"], new["source"]):
            return f"the source of cell {number} is not a list of lines"
    rest = [{**document, "cells": 0} for document in (before, after)]
    return None if rest[0] == rest[1] else "the metadata differ"


def are_lines(old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether a source is a list of lines, as far as it was one before."""
    kept = set(old)
    return all(line in kept or re.fullmatch(r"[^\n]*\n?", line) for line in new) and all(
        line.endswith("\n") or line in kept for line in new[:-1]
    )


def other_bytes(before: bytes, after: bytes) -> str | None:
    """Whether bytes changed that need not, for what was intended."""
    written = style_of(before)
    if written is not None:
        same = written(json.loads(after.decode("utf-8-sig"))) == after
        return None if same else "is written in another way"
    pieces = [around_sources(data) for data in (before, after)]
    return None if pieces[0] == pieces[1] else "bytes outside of the changed sources differ"


def around_sources(data: bytes) -> list[str]:
    """What stands in the file between the sources of its cells, by decoding it piece by piece."""
    text, pieces, at = data.decode("utf-8-sig"), [data[:3].hex()], 0
    decoder = json.JSONDecoder(strict=False)
    for match in re.finditer(r'"source"\s*:\s*', text):
        if match.start() < at:  # inside a source
            continue
        _, end = decoder.raw_decode(text, match.end())
        pieces.append(text[at : match.end()])
        at = end
    return [*pieces, text[at:]]


def patched(sources: Mapping[int, str], diff: Mapping[int, str]) -> dict[int, str]:
    """The sources after the hunks of a unified diff of each cell.

    Raises:
        NotebooksError: a hunk does not fit.
    """
    return {number: _patched(source, diff.get(number, "")) for number, source in sources.items()}


def _patched(source: str, diff: str) -> str:
    """A source after a diff, in which the last line of a cell ends like all others."""
    old: list[str] = re.findall(r"[^\n]*\n", source + "\n" * (not source.endswith("\n")))
    new: list[str] = []
    at = 0
    for row in re.findall(r"[^\n]*\n", diff):
        if hunk := _HUNK.match(row):
            first = int(hunk[1]) - (hunk[2] != "0")
            new += old[at:first]
            at = first
        elif row[0] in " -":
            if at >= len(old) or old[at] != row[1:]:
                raise NotebooksError("a hunk of the diff does not fit")
            new += [old[at]] * (row[0] == " ")
            at += 1
        elif row[0] == "+":
            new.append(row[1:])
    text = "".join([*new, *old[at:]])
    return text if source.endswith("\n") else text.removesuffix("\n")


def diffs_by_cell(out: str) -> dict[str, dict[int, str]]:
    """The hunks that `--diff` printed, by notebook and cell."""
    found: dict[str, dict[int, str]] = {}
    for part in re.split(r"(?m)^--- a/", out)[1:]:
        name, rest = part.split("\n", 1)
        path, _, cell = name.rpartition(":cell ")
        found.setdefault(path, {})[int(cell)] = rest.split("\n", 1)[1]
    return found
