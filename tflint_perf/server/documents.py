"""The scripts and notebooks that are open in the editor, as they stand there."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from lsprotocol import types
from pygls.uris import to_fs_path
from pygls.workspace import PositionCodec

from tflint_perf.finding import Place
from tflint_perf.server.staying import Staying, splice_of
from tflint_perf.server.texts import Text
from tflint_perf.text.decoding import encoded

_PYTHON = "python"


@dataclass(frozen=True, slots=True)
class Part:
    """What one URI stands for: a script, or one cell of a notebook."""

    uri: str
    version: int | None
    language: str
    text: Text


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """A script or a notebook at one moment. A script is one part, a notebook has one for each of its cells.

    `path` is where it is, or would be if it were saved; `saved` tells which. `code` are the numbers of the parts,
    from 0, that hold code.
    """

    uri: str
    path: Path
    saved: bool
    parts: tuple[Part, ...]
    is_notebook: bool
    code: frozenset[int] = frozenset({0})

    @property
    def name(self) -> str:
        """The path by which it is linted: its ending tells a script from a notebook."""
        ending = ".ipynb" if self.is_notebook else ".py"
        right = self.path.suffix == ending or (not self.is_notebook and self.path.suffix != ".ipynb")
        return str(self.path if right else self.path.with_name(self.path.name + ending))

    @property
    def data(self) -> bytes:
        """The bytes that a file with this text would have."""
        if self.is_notebook:
            return json.dumps(self._notebook()).encode()
        return encoded(self.parts[0].text.whole, self.name)

    def part_of(self, place: Place) -> Part:
        """The part that a place of a finding stands in."""
        return self.parts[place.cell - 1 if place.cell is not None else 0]

    def range_of(self, start: Place, end: Place) -> types.Range:
        """The range of a finding or an edit in the part that it begins in."""
        text = self.part_of(start).text
        if end.cell == start.cell:
            return types.Range(text.position(start.row, start.column), text.position(end.row, end.column))
        return types.Range(text.position(start.row, start.column), text.end)  # where the next cell begins

    def _notebook(self) -> dict[str, object]:
        cells = [
            {"cell_type": "code" if number in self.code else "markdown", "source": part.text.whole}
            for number, part in enumerate(self.parts)
        ]
        return {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}


@dataclass(slots=True)
class _Notebook:
    version: int
    cells: list[types.NotebookCell]


@dataclass(slots=True)
class Documents:
    """What is open. Each change makes a new snapshot, so that two are the same only if nothing changed.

    `folder` is where documents would be saved that have no file yet.
    """

    codec: PositionCodec = field(default_factory=PositionCodec)
    folder: Path = field(default_factory=Path.cwd)
    staying: Staying = field(default_factory=Staying)
    _parts: dict[str, Part] = field(default_factory=dict)
    _notebooks: dict[str, _Notebook] = field(default_factory=dict)
    _notebook_of: dict[str, str] = field(default_factory=dict)
    _snapshots: dict[str, Snapshot] = field(default_factory=dict)

    def uris(self) -> list[str]:
        """The scripts and notebooks."""
        scripts = [
            uri for uri, part in self._parts.items() if uri not in self._notebook_of and _is_script(part)
        ]
        return [*scripts, *self._notebooks]

    def whole(self, uri: str) -> str:
        """The script or notebook that a URI belongs to: of a cell, its notebook."""
        return self._notebook_of.get(uri, uri)

    def snapshot(self, uri: str) -> Snapshot | None:
        """The script or notebook as it is now; None where it is not open, or no Python."""
        if uri not in self._snapshots and (made := self._made(uri)) is not None:
            self._snapshots[uri] = made
        return self._snapshots.get(uri)

    def open(self, items: Iterable[types.TextDocumentItem]) -> None:
        for item in items:
            text = Text(item.text, self.codec)
            self._put(Part(item.uri, item.version, item.language_id, text))

    def change(
        self,
        document: types.VersionedTextDocumentIdentifier,
        changes: Sequence[types.TextDocumentContentChangeEvent],
    ) -> None:
        part = self._parts.get(document.uri)
        if part is None:
            return
        text = part.text
        for change in changes:
            self.staying.move(document.uri, splice_of(text, change))
            text = text.changed(change)
        self._put(replace(part, version=document.version, text=text))

    def close(self, uris: Iterable[str]) -> None:
        for uri in uris:
            self._parts.pop(uri, None)
            self.staying.forget(uri)
            self._snapshots.pop(self.whole(uri), None)
            self._notebook_of.pop(uri, None)

    def open_notebook(self, params: types.DidOpenNotebookDocumentParams) -> None:
        notebook = params.notebook_document
        self._notebooks[notebook.uri] = _Notebook(notebook.version, list(notebook.cells))
        self._claim(notebook.uri, notebook.cells)
        self.open(params.cell_text_documents)

    def change_notebook(self, params: types.DidChangeNotebookDocumentParams) -> list[str]:
        """Take over a change; the URIs of cells that are gone."""
        uri, change = params.notebook_document.uri, params.change.cells
        notebook = self._notebooks.get(uri)
        if notebook is None:
            return []
        notebook.version = params.notebook_document.version
        self._snapshots.pop(uri, None)
        gone: list[str] = []
        if change is not None and (structure := change.structure) is not None:
            array = structure.array
            notebook.cells[array.start : array.start + array.delete_count] = array.cells or []
            gone = [document.uri for document in structure.did_close or []]
            self.close(gone)
            self._claim(uri, array.cells or [])
            self.open(structure.did_open or [])
        if change is not None:
            self._replace_cells(notebook, change.data or [])
            for content in change.text_content or []:
                self.change(content.document, content.changes)
        return gone

    def close_notebook(self, uri: str) -> list[str]:
        """Forget a notebook; the URIs of its cells."""
        cells = [cell for cell, notebook in self._notebook_of.items() if notebook == uri]
        self.close(cells)
        self._notebooks.pop(uri, None)
        self._snapshots.pop(uri, None)
        return cells

    def _replace_cells(self, notebook: _Notebook, new: Iterable[types.NotebookCell]) -> None:
        changed = {cell.document: cell for cell in new}
        notebook.cells = [changed.get(cell.document, cell) for cell in notebook.cells]

    def _claim(self, uri: str, cells: Iterable[types.NotebookCell]) -> None:
        self._notebook_of.update({cell.document: uri for cell in cells})

    def _put(self, part: Part) -> None:
        self._parts[part.uri] = part
        self._snapshots.pop(self.whole(part.uri), None)

    def _made(self, uri: str) -> Snapshot | None:
        path = to_fs_path(uri)
        where = Path(path) if path else self.folder / "untitled"
        if (notebook := self._notebooks.get(uri)) is not None:
            known = [cell for cell in notebook.cells if cell.document in self._parts]
            parts = tuple(self._parts[cell.document] for cell in known)
            code = frozenset(
                number
                for number, (cell, part) in enumerate(zip(known, parts, strict=True))
                if cell.kind == types.NotebookCellKind.Code and part.language == _PYTHON
            )
            return Snapshot(uri, where, path is not None, parts, True, code)
        part = self._parts.get(uri)
        if part is None or not _is_script(part):
            return None
        return Snapshot(uri, where, path is not None, (part,), False)


def _is_script(part: Part) -> bool:
    """Whether it is Python by what the editor calls it, or by its name."""
    return part.language == _PYTHON or part.uri.endswith(".py")
