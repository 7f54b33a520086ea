"""Notebooks: one Python text out of their cells, and edits back into the JSON to the letter."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.notebooks import cell, notebook
from tflint_perf.finding import Edit
from tflint_perf.text.source import EditError, Source, SourceError


def read(data: bytes) -> Source:
    return Source.from_bytes(data, "n.ipynb")


def replace(of: Source, *changes: tuple[str, str]) -> Source:
    edits = []
    for old, new in changes:
        at = of.text.index(old)
        edits.append(Edit(of.place(at), of.place(at + len(old)), new))
    return of.apply(edits)


def test_text_joins_the_code_cells() -> None:
    of = read(notebook("a = 1", cell("# not code", "markdown"), "b = a\n", "", cell("%%bash\nls"), "c = b"))
    assert of.text == "a = 1\n\nb = a\n\nc = b\n"
    assert of.is_notebook
    assert of.cells() == ((1, "a = 1"), (3, "b = a\n"), (6, "c = b"))


def test_cells_are_counted_over_all_cells_and_rows_in_the_cell() -> None:
    of = read(notebook(cell("text", "markdown"), "a = 1\nb = 2", "c = 3"))
    for name, cell_number, row in [("a", 2, 1), ("b", 2, 2), ("c", 3, 1)]:
        place = of.place(of.text.index(name))
        assert (place.cell, place.row, place.column) == (cell_number, row, 1)
    assert of.row(of.text.index("c")) == 4


STYLES: list[dict[str, Any]] = [
    {},
    {"indent": 4},
    {"indent": "\t"},
    {"indent": None},
    {"indent": None, "separators": (",", ":")},
    {"ensure_ascii": True},
    {"sort_keys": True},
]
LINES = ["# é\n", "a = 1\n", "b = 'x'\n", "c = 3"]


@pytest.mark.parametrize("style", STYLES, ids=str)
def test_a_changed_line_is_all_that_differs(style: dict[str, Any]) -> None:
    of = read(notebook(cell("é", "markdown"), cell(LINES), cell(["d = 'ü'"]), **style))
    edited = replace(of, ("b = 'x'", "b = 'ö'\nb2 = 2"))
    expected = [*LINES[:2], "b = 'ö'\n", "b2 = 2\n", LINES[3]]
    assert edited.encode() == notebook(cell("é", "markdown"), cell(expected), cell(["d = 'ü'"]), **style)


@pytest.mark.parametrize("style", STYLES, ids=str)
def test_a_cell_of_one_line_grows_in_the_notebook_s_style(style: dict[str, Any]) -> None:
    of = read(notebook(cell(["a = 1"]), cell(LINES), **style))
    expected = notebook(cell(["a = 1\n", "z"]), cell(LINES), **style)
    assert replace(of, ("a = 1", "a = 1\nz")).encode() == expected


@pytest.mark.parametrize("style", STYLES, ids=str)
def test_a_source_in_one_string_is_kept_as_one(style: dict[str, Any]) -> None:
    of = read(notebook(cell("# é\na = 'x'\nb\n"), **style))
    assert replace(of, ("'x'", '"ö"')).encode() == notebook(cell('# é\na = "ö"\nb\n'), **style)


CHANGES: list[tuple[Sequence[str], tuple[str, str], Sequence[str]]] = [
    (["a\n", "b\n", "c"], ("b\n", ""), ["a\n", "c"]),
    (["a\n", "b\n", "c"], ("c\n", ""), ["a\n", "b"]),
    (["a\n", "b\n", "c"], ("b\nc\n", ""), ["a"]),
    (["a\n", "b\n", "c"], ("a\nb\nc\n", ""), []),
    (["a\n", "b\n", "c"], ("c\n", "c\nd\n"), ["a\n", "b\n", "c\n", "d"]),
    (["a\n", "b\n", "c"], ("a\n", "z\na\n"), ["z\n", "a\n", "b\n", "c"]),
    (["a\n", "b\n", "c"], ("a\nb", "a b"), ["a b\n", "c"]),
    (["a\n", "b\n", "c\n"], ("c\n", ""), ["a\n", "b\n"]),
    (["a\n", "b\n", "c\n"], ("c\n", "d\n"), ["a\n", "b\n", "d\n"]),
    (["a\nb\n", "c"], ("c", "d"), ["a\nb\n", "d"]),
]


@pytest.mark.parametrize(("before", "change", "after"), CHANGES)
def test_lines_come_and_go(before: Sequence[str], change: tuple[str, str], after: Sequence[str]) -> None:
    as_list = replace(read(notebook(cell(list(before)), "z")), change)
    assert as_list.encode() == notebook(cell(list(after)), "z")
    as_string = replace(read(notebook(cell("".join(before)), "z")), change)
    assert as_string.encode() == notebook(cell("".join(after)), "z")


def test_a_line_goes_behind_the_last_one() -> None:
    of = read(notebook("a", "b"))
    end = of.place(len(of.text))
    assert of.apply([Edit(end, end, "c\n")]).encode() == notebook("a", "b\nc")


def test_edits_in_several_cells_are_made_together() -> None:
    of = read(notebook("a\nb", cell("b", "markdown"), "c\n%m\nd"))
    edited = replace(of, ("a", "A"), ("b", "B"), ("c", "C"), ("d", "D"))
    assert edited.encode() == notebook("A\nB", cell("b", "markdown"), "C\n%m\nD")
    assert edited.text == "A\nB\n\nC\n_#\nD\n"


def test_unusual_spelling_of_other_lines_stays() -> None:
    data = rb"""{"metadata": {}, "nbformat":4,
 "cells": [ {"source":   ["\u0061 = 1\n"  ,
   "b = '\/'\n","c = 3" ], "outputs": [{"x": 1.0e5}], "cell_type": "code"} ] , "nbformat_minor": 2 }"""
    assert replace(read(data), ("c = 3", "c = 4")).encode() == data.replace(b"c = 3", b"c = 4")


def test_escapes_around_an_edit_in_one_string_stay() -> None:
    data = (
        rb"""{"cells":[{"cell_type":"code","source":"\u0061 = '\ud83d\ude00\t\/'\nb = 2"}],"metadata":{}}"""
    )
    assert replace(read(data), ("2", "3")).encode() == data.replace(b"2", b"3")


@pytest.mark.parametrize("ends", [b"\r\n", b"\n"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_mark_of_the_json_stay(ends: bytes, bom: bytes) -> None:
    def file(*cells: str) -> bytes:
        return bom + notebook(*cells).replace(b"\n", ends)

    assert read(file("a\nb")).encode() == file("a\nb")
    assert replace(read(file("a\nb")), ("a", "a\nc")).encode() == file("a\nc\nb")


@pytest.mark.parametrize(
    ("change", "why"),
    [(("a\n\nb", "ab"), "more than one cell"), (("pass#", "x"), "magic"), (("b\n_#\nc", "x"), "magic")],
)
def test_an_edit_that_touches_two_cells_or_a_magic_is_refused(change: tuple[str, str], why: str) -> None:
    with pytest.raises(EditError, match=why):
        replace(read(notebook("a", "b\n%m\nc", "!list")), change)


BROKEN = [
    (b"", "n.ipynb:1:1: not a notebook: Expecting value"),
    (b'{"cells": [}', "n.ipynb:1:12: not a notebook: Expecting value"),
    (b"[]", "n.ipynb: not a notebook: it has no list of cells"),
    (b'{"cells": {}}', "n.ipynb: not a notebook: it has no list of cells"),
    (b'{"cells": [1]}', "n.ipynb:cell 1: not a cell"),
    (b'{"cells": [{"cell_type": "code"}]}', "n.ipynb:cell 1: a code cell without source"),
    (b'{"cells": [{"cell_type": "code", "source": [1]}]}', "n.ipynb:cell 1: a code cell without source"),
    (b'{"cells": [{"cell_type": "code", "source": "\\u0000"}]}', "n.ipynb:cell 1: a NUL character"),
    (b'{"cells": [{"cell_type": "code", "source": "\\ud800"}]}', "n.ipynb:cell 1: half of a surrogate"),
    (b'{"cells": []} x', "n.ipynb:1:14: not a notebook: Extra data"),
    (b"\xff{}", "n.ipynb: not a notebook: byte 0xff is not UTF-8"),
    (b"[" * 100_000, "n.ipynb: not a notebook: nested too deeply"),
    (b'{"worksheets": []}', "n.ipynb: a notebook of format 3"),
]


@pytest.mark.parametrize(("data", "message"), BROKEN, ids=[message for _, message in BROKEN])
def test_a_broken_notebook_gets_one_line_with_the_place(data: bytes, message: str) -> None:
    with pytest.raises(SourceError) as raised:
        read(data)
    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)


def test_what_nbformat_writes_it_would_write_again_after_an_edit(tmp_path: Path) -> None:
    book = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_markdown_cell("# é"),
            nbformat.v4.new_code_cell("import a\n%matplotlib inline\nx = 'é'\n\n"),
        ]
    )
    path = tmp_path / "n.ipynb"
    nbformat.write(book, path)
    edited = replace(read(path.read_bytes()), ("x = 'é'", "x = 'é'\ny = 2"))
    path.write_bytes(edited.encode())
    nbformat.write(nbformat.read(path, as_version=4), path)
    assert path.read_bytes() == edited.encode()
