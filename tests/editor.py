"""A client of the language server: an editor without a screen, which talks to a server process over stdio."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from cattrs import Converter
from lsprotocol import types
from pygls.lsp.client import LanguageClient
from pygls.protocol import default_converter

from tests.forked import linters

SECONDS = 300
WHOLE = types.Range(types.Position(0, 0), types.Position(10_000, 0))
CAPABILITIES = types.ClientCapabilities(
    workspace=types.WorkspaceClientCapabilities(
        workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True),
        did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True),
    ),
    text_document=types.TextDocumentClientCapabilities(
        hover=types.HoverClientCapabilities(content_format=[types.MarkupKind.Markdown]),
        code_action=types.CodeActionClientCapabilities(
            resolve_support=types.ClientCodeActionResolveOptions(["edit"])
        ),
    ),
    notebook_document=types.NotebookDocumentClientCapabilities(
        synchronization=types.NotebookDocumentSyncClientCapabilities()
    ),
)


class Editor(LanguageClient):
    """What an editor knows of a session: what it has open, and what the server showed and said."""

    def __init__(self, folder: Path) -> None:
        super().__init__("editor", "1", converter_factory=_converter)
        self.folder = folder
        self.shown: dict[str, list[types.PublishDiagnosticsParams]] = {}
        self.logged: list[str] = []
        self.messages: list[str] = []
        self.watched: list[str] = []
        self.settings: dict[str, Any] | None = None
        self.refreshes = 0
        self.offered: types.ServerCapabilities = types.ServerCapabilities()
        self._versions: dict[str, int] = {}
        self._news = asyncio.Event()
        self._listen()

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def write(self, name: str, text: str) -> str:
        """Put a file on disk; its URI."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path.as_uri()

    def open(self, uri: str, text: str, language: str = "python") -> str:
        self._versions[uri] = 1
        item = types.TextDocumentItem(uri, language, 1, text)
        self.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def write_and_open(self, name: str, text: str) -> str:
        return self.open(self.write(name, text), text)

    def change(self, uri: str, *changes: types.TextDocumentContentChangeEvent | str) -> None:
        """Change the text: whole texts, or ranges of it."""
        self._versions[uri] += 1
        document = types.VersionedTextDocumentIdentifier(self._versions[uri], uri)
        made = [
            types.TextDocumentContentChangeWholeDocument(change) if isinstance(change, str) else change
            for change in changes
        ]
        self.text_document_did_change(types.DidChangeTextDocumentParams(document, made))

    def save(self, uri: str) -> None:
        self.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(uri)))

    def close(self, uri: str) -> None:
        self.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))

    def touch(self, uri: str) -> None:
        """Tell the server that a file on disk has changed."""
        event = types.FileEvent(uri, types.FileChangeType.Changed)
        self.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))

    async def diagnostics(self, uri: str, version: int | None = None) -> list[types.Diagnostic]:
        """What is shown for a version of a document, the present one if none is given."""
        wanted = version or self._versions.get(uri)

        def there() -> bool:
            return any(shown.version == wanted for shown in self.shown.get(uri, ()))

        await self.until(there)
        return list([shown for shown in self.shown[uri] if shown.version == wanted][-1].diagnostics)

    async def codes(self, uri: str, version: int | None = None) -> list[str]:
        return [str(shown.code) for shown in await self.diagnostics(uri, version)]

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait for the server to bring something about."""
        async with _within(SECONDS):
            while not true():
                self._news.clear()
                await self._news.wait()

    async def pulled(self, uri: str, previous: str | None = None) -> types.DocumentDiagnosticReport:
        """What the server answers where the editor asks for findings."""
        params = types.DocumentDiagnosticParams(
            types.TextDocumentIdentifier(uri), previous_result_id=previous
        )
        return await self.text_document_diagnostic_async(params)

    def configure(self, settings: dict[str, Any]) -> None:
        """Tell the server that the settings have changed."""
        self.settings = settings
        params = types.DidChangeConfigurationParams({"tflint-perf": settings})
        self.workspace_did_change_configuration(params)

    async def actions(
        self, uri: str, at: types.Range = WHOLE, only: Sequence[str] | None = None
    ) -> list[types.CodeAction]:
        document = types.TextDocumentIdentifier(uri)
        params = types.CodeActionParams(document, at, types.CodeActionContext([], only))
        made = await self.text_document_code_action_async(params)
        return [action for action in made or () if isinstance(action, types.CodeAction)]

    async def edits(self, action: types.CodeAction) -> dict[str, Sequence[types.TextEdit]]:
        """The edits of an action by document."""
        if action.edit is None:
            action = await self.code_action_resolve_async(action)
        assert action.edit is not None, "no edit"
        if action.edit.changes is not None:
            return dict(action.edit.changes)
        made: dict[str, Sequence[types.TextEdit]] = {}
        for change in action.edit.document_changes or ():
            assert isinstance(change, types.TextDocumentEdit)
            assert change.text_document.version == self._versions[change.text_document.uri]
            made[change.text_document.uri] = [
                edit for edit in change.edits if isinstance(edit, types.TextEdit)
            ]
        return made

    async def hover(self, uri: str, line: int, character: int) -> str | None:
        params = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(line, character))
        answer = await self.text_document_hover_async(params)
        if answer is None:
            return None
        assert isinstance(answer.contents, types.MarkupContent)
        return answer.contents.value

    def open_notebook(self, name: str, cells: Iterable[tuple[str, str]]) -> list[str]:
        """Open a notebook with cells of (language, text); their URIs."""
        notebook = self.uri(name)
        uris, kept, items = [], [], []
        for number, (language, text) in enumerate(cells):
            uri = f"vscode-notebook-cell:{notebook.removeprefix('file:')}#cell{number}"
            kind = types.NotebookCellKind.Markup if language == "markdown" else types.NotebookCellKind.Code
            kept.append(types.NotebookCell(kind, uri))
            items.append(types.TextDocumentItem(uri, language, 1, text))
            uris.append(uri)
            self._versions[uri] = 1
        document = types.NotebookDocument(notebook, "jupyter-notebook", 1, kept)
        self.notebook_document_did_open(types.DidOpenNotebookDocumentParams(document, items))
        return uris

    def change_notebook(self, name: str, change: types.NotebookDocumentCellChanges) -> None:
        for content in change.text_content or ():
            self._versions[content.document.uri] = content.document.version
        for item in (change.structure.did_open or ()) if change.structure else ():
            self._versions[item.uri] = item.version
        document = types.VersionedNotebookDocumentIdentifier(2, self.uri(name))
        event = types.NotebookDocumentChangeEvent(cells=change)
        self.notebook_document_did_change(types.DidChangeNotebookDocumentParams(document, event))

    async def leave(self) -> int:
        """Say goodbye as an editor does; the exit code of the server."""
        assert self._server is not None
        async with _within(SECONDS):
            await self.shutdown_async(None)
            self.exit(None)
            await self.stop()
        assert self._server.returncode is not None
        return self._server.returncode

    def _listen(self) -> None:
        @self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def publish(params: types.PublishDiagnosticsParams) -> None:
            self.shown.setdefault(params.uri, []).append(params)
            self._news.set()

        @self.feature(types.WINDOW_LOG_MESSAGE)
        def log(params: types.LogMessageParams) -> None:
            self.logged.append(params.message)
            self._news.set()

        @self.feature(types.WINDOW_SHOW_MESSAGE)
        def show(params: types.ShowMessageParams) -> None:
            self.messages.append(params.message)
            self._news.set()

        @self.feature(types.CLIENT_REGISTER_CAPABILITY)
        def register(params: types.RegistrationParams) -> None:
            for registration in params.registrations:
                options: Any = registration.register_options
                self.watched += [watcher["globPattern"] for watcher in options.get("watchers", ())]
            self._news.set()

        @self.feature(types.WORKSPACE_CONFIGURATION)
        def configuration(params: types.ConfigurationParams) -> list[Any]:
            return [self.settings if item.section == "tflint-perf" else None for item in params.items]

        @self.feature(types.WORKSPACE_DIAGNOSTIC_REFRESH)
        def refresh(params: None) -> None:
            self.refreshes += 1
            self._news.set()


def _converter() -> Converter:
    """The library's own, which can't read what a server says of the notebooks that it wants to see."""
    converter = default_converter()
    wanted = types.NotebookDocumentFilterWithCells
    converter.register_structure_hook(
        wanted, lambda given, _: wanted([types.NotebookCellLanguage(**cell) for cell in given["cells"]])
    )
    return converter


@asynccontextmanager
async def editor(
    folder: Path,
    *folders: Path,
    capabilities: types.ClientCapabilities = CAPABILITIES,
    options: Any = None,
    settings: dict[str, Any] | None = None,
    arguments: Sequence[str] = (),
    forked: bool = True,
) -> AsyncIterator[Editor]:
    """An editor that has opened some folders, the first of which is its own, with a server of its own.

    `options` are what it says at the start, `settings` what it answers when it is asked for them. The server is a fork of a process
    that has its imports behind it, or, as a user's is, a Python of its own.
    """
    client = Editor(folder)
    client.settings = settings
    variables = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    command = [sys.executable, "-m", "tflint_perf", "server", *arguments]
    with pytest.MonkeyPatch.context() as patch:
        if forked and sys.platform == "linux":
            patch.setattr(asyncio, "create_subprocess_exec", linters().serve)
        await client.start_io(*command, cwd=folder, env=variables)
    try:
        params = types.InitializeParams(
            capabilities,
            process_id=os.getpid(),
            root_uri=folder.as_uri(),
            initialization_options=options,
            workspace_folders=[
                types.WorkspaceFolder(each.as_uri(), each.name) for each in (folder, *folders)
            ],
        )
        answer = await client.initialize_async(params)
        client.offered = answer.capabilities
        client.initialized(types.InitializedParams())
        yield client
    finally:
        if not client.stopped:
            await client.leave()


@asynccontextmanager
async def _within(seconds: float) -> AsyncIterator[None]:
    """`asyncio.timeout`, which Python 3.10 does not have."""
    task = asyncio.current_task()
    assert task is not None
    timer = asyncio.get_running_loop().call_later(seconds, task.cancel)
    try:
        yield
    except asyncio.CancelledError:
        raise AssertionError(f"nothing came for {seconds} s") from None
    finally:
        timer.cancel()


def applied(text: str, edits: Iterable[types.TextEdit]) -> str:
    """A text after edits, made as an editor makes them; positions are in UTF-16."""
    rows = text.splitlines(keepends=True)

    def offset(position: types.Position) -> int:
        before = sum(map(len, rows[: position.line]))
        row = rows[position.line] if position.line < len(rows) else ""
        return before + len(row.encode("utf-16-le")[: 2 * position.character].decode("utf-16-le"))

    for edit in sorted(edits, key=lambda edit: offset(edit.range.start), reverse=True):
        text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]
    return text
