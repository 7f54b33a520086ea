"""Bytes to text and back."""

from __future__ import annotations

import ast

import pytest

from tflint_perf.finding import Edit
from tflint_perf.text.source import EditError, Source, SourceError

BOM = b"\xef\xbb\xbf"


def source(data: bytes | str) -> Source:
    return Source.from_bytes(data.encode() if isinstance(data, str) else data, "train.py")


def edit(of: Source, start: int, end: int, content: str) -> Edit:
    return Edit(of.place(start), of.place(end), content)


def replace(of: Source, old: str, new: str) -> Source:
    at = of.text.index(old)
    return of.apply([edit(of, at, at + len(old), new)])


WRITINGS = {
    "empty": b"",
    "plain": b"a = 1\n",
    "no end of line": b"a = 1",
    "crlf": b"a = 1\r\nb = 2\r\n",
    "cr": b"a = 1\rb = 2\r",
    "mixed": b"a = 1\r\nb = 2\nc = 3\r",
    "tabs": b"if a:\n\tb\n",
    "bom": BOM + b"a = '\xc3\xa9'\n",
    "bom and declaration": BOM + b"# -*- coding: utf-8 -*-\na = 1\n",
    "latin-1": b"# coding: latin-1\na = '\xe9'\n",
    "declared in the second row": b"#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\na = '\x80'\n",
    "declared before a lone cr": b"#!/usr/bin/python\r# coding: latin-1\ra = '\xe9'\r",
    "shift-jis": "# coding: shift_jis\na = '日本'\n".encode("shift_jis"),
    "form feed": b"a = 1\n\x0c\nb = 2\n",
    "line separator": "a = '\u2028'\n".encode(),
}


@pytest.mark.parametrize("data", WRITINGS.values(), ids=WRITINGS)
def test_a_file_is_written_back_as_it_was(data: bytes) -> None:
    assert source(data).encode() == data


@pytest.mark.parametrize("name", [name for name in WRITINGS if name != "empty"])
def test_an_edit_changes_no_other_byte(name: str) -> None:
    of = source(WRITINGS[name])
    assert replace(of, of.text[:1], of.text[:1]).encode() == WRITINGS[name]
    end = len(of.text)
    grown = of.apply([edit(of, end, end, "z")])
    assert grown.encode() == WRITINGS[name] + b"z"


@pytest.mark.parametrize("data", WRITINGS.values(), ids=WRITINGS)
def test_text_is_what_python_reads(data: bytes) -> None:
    assert ast.dump(ast.parse(source(data).text)) == ast.dump(ast.parse(data))


BROKEN = [
    (b"a = 1\nb = '\0'\n", "train.py:2:6: a NUL byte: not Python source"),
    ("a = 1\n".encode("utf-16"), "train.py:1:4: UTF-16, which Python does not read"),
    (b"a = 1\r\nb = '\xc3\xa9\xe9'\r\n", "train.py:2:7: byte 0xe9 is not UTF-8"),
    (b"\xff", "train.py:1:1: byte 0xff is not UTF-8"),
    (BOM + b"a = '\xe9'\n", "train.py:1:6: byte 0xe9 is not UTF-8"),
    (b"# coding: ascii\na = '\xe9'\n", "train.py:2:6: byte 0xe9 is not `ascii`"),
    (b"# coding: no-such\n", "train.py:1: unknown encoding: no-such"),
    (b"# coding: rot13\n", "train.py:1: `rot13` is not an encoding of text"),
    (
        BOM + b"# coding: latin-1\n",
        "train.py:1: declares an encoding, but begins with the UTF-8 byte order mark",
    ),
]


@pytest.mark.parametrize(("data", "message"), BROKEN, ids=[message for _, message in BROKEN])
def test_undecodable_bytes_get_one_line_with_the_place(data: bytes, message: str) -> None:
    with pytest.raises(SourceError) as raised:
        source(data)
    assert str(raised.value) == message


def test_rows_end_where_python_ends_them() -> None:
    of = source("a\r\nb\rc\n\x0cd\u2028e\x0b\nf")
    assert [of.row(of.text.index(name)) for name in "abcdef"] == [1, 2, 3, 4, 4, 5]
    assert of.lines(1, 5) == ("a", "b", "c", "\x0cd\u2028e\x0b", "f")
    assert of.lines(2, 3) == ("b", "c")


def test_a_place_counts_rows_and_characters_from_1() -> None:
    of = source("é = 1\r\nb = 2\n")
    place = of.place(of.text.index("2"))
    assert (place.row, place.column, place.cell, place.offset) == (2, 5, None, 11)
    end = of.place(len(of.text))
    assert (end.row, end.column) == (3, 1)


NEWLINES = [
    ("a\r\nb\r\n", "b", "x\ny", "a\r\nx\r\ny\r\n"),
    ("a\rb\r", "a", "x\ny", "x\ry\rb\r"),
    ("a\nb", "b", "x\ny", "a\nx\ny"),
    ("a\r\nb", "b", "x\ny", "a\r\nx\r\ny"),
    ("a", "a", "x\ny", "x\ny"),
    ("a\r\nb\nc\r\n", "b", "x\ny", "a\r\nx\ny\nc\r\n"),  # mixed: as around the edit
    ("a\r\nb\nc\r\n", "c", "x\ny", "a\r\nb\nx\r\ny\r\n"),
    ("a\r\nb\n", "b", "x\r\ny", "a\r\nx\r\ny\n"),  # text that was moved keeps its own
]


@pytest.mark.parametrize(("text", "old", "new", "expected"), NEWLINES)
def test_inserted_line_ends_are_the_file_s(text: str, old: str, new: str, expected: str) -> None:
    assert replace(source(text), old, new).encode() == expected.encode()


def test_edits_are_made_all_at_once_in_any_order() -> None:
    of = source("a b c\n")
    edited = of.apply([edit(of, 4, 5, "C"), edit(of, 0, 1, "A"), edit(of, 2, 2, "-")])
    assert edited.text == "A -b C\n"
    assert of.text == "a b c\n"
    assert of.apply([]) is of


@pytest.mark.parametrize("pair", [((0, 2), (1, 3)), ((0, 3), (1, 2)), ((1, 1), (1, 1)), ((0, 2), (1, 1))])
def test_overlapping_edits_are_refused(pair: tuple[tuple[int, int], tuple[int, int]]) -> None:
    of = source("abcd\n")
    with pytest.raises(EditError, match="overlap"):
        of.apply(edit(of, start, end, "x") for start, end in pair)


def test_a_fix_that_the_encoding_cannot_write_is_refused() -> None:
    of = source(b"# coding: latin-1\na = 1\n")
    with pytest.raises(EditError, match="cannot write"):
        replace(of, "1", "'日'")


def test_a_file_that_would_not_be_written_back_the_same_is_not_edited() -> None:
    data = b"# coding: utf-7\na = '+AOk-+AOk-'\n"  # one shift would do for both letters
    of = source(data)
    assert of.encode() == data
    with pytest.raises(EditError, match="written back"):
        replace(of, "a", "b")
