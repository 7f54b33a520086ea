"""The language server: it keeps what is open, lints what changed, and answers what the editor asks.

Linting is done by one thread beside the one that talks to the editor. What has become out of date before its turn
is left out, and what becomes so meanwhile is given up. Findings are shown before their fixes are known, and what other
files have to say, where that was right the last time.

An editor that asks for findings (`textDocument/diagnostic`) is answered; to others they are sent.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, TypeVar

from lsprotocol import types
from pygls.capabilities import get_capability
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method
from pygls.uris import to_fs_path

from tflint_perf.problems import ConfigError
from tflint_perf.server.diagnostics import diagnostics
from tflint_perf.server.documents import Documents, Snapshot
from tflint_perf.server.linting import Linted, Linter, warm_up
from tflint_perf.server.preferences import Preferences, preferences
from tflint_perf.version import __version__

T = TypeVar("T")

# Seconds of quiet before a text that is being typed is linted. Linting is given up when typing goes on.
_QUIET = 0.05
# What decides on findings beside the code; the last is what `tflint-perf run -o run.json` writes.
CONFIGURATION = ("**/pyproject.toml", "**/tflint-perf.toml", "**/run.json")


class Protocol(LanguageServerProtocol):
    """pygls's protocol without its own copies of documents, which take form feeds and the like for line ends."""

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(
        self, params: types.DidChangeTextDocumentParams
    ) -> Generator[Any, Any, None]:
        yield self.fm.features[types.TEXT_DOCUMENT_DID_CHANGE], (params,), None

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def lsp_notebook_document__did_change(
        self, params: types.DidChangeNotebookDocumentParams
    ) -> Generator[Any, Any, None]:
        yield self.fm.features[types.NOTEBOOK_DOCUMENT_DID_CHANGE], (params,), None


@dataclass(frozen=True, slots=True)
class _Known:
    """What was last found in a document, numbered so that an action can say which it is from."""

    number: int
    linted: Linted


@dataclass(slots=True)
class _Shown:
    """What is shown of a document, by the URI of each of its parts; each time that it changes it gets a new number.

    `early` says whether it was what came of linting in the end that was told early, the last time; `is_early` whether that
    is what is shown now.
    """

    number: int = 0
    snapshot: Snapshot | None = None
    parts: dict[str, tuple[types.Diagnostic, ...]] = field(default_factory=dict)
    early: bool = False
    is_early: bool = False
    news: asyncio.Event = field(default_factory=asyncio.Event)


class Server(LanguageServer):
    """The state of one editor's session."""

    def __init__(self, linter: Linter | None = None) -> None:
        cells = types.NotebookDocumentFilterWithCells([types.NotebookCellLanguage("python")])
        super().__init__(
            "tflint-perf",
            __version__,
            notebook_document_sync=types.NotebookDocumentSyncOptions([cells], save=True),
            protocol_cls=Protocol,
        )
        self.documents = Documents()
        self.may_stop = False
        self._linter = linter or Linter()
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tflint-perf")
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._known: dict[str, _Known] = {}
        self._shown: dict[str, _Shown] = {}
        self._asked: set[str] = set()
        self._number = 0
        self._told: set[str] = set()
        self._worker.submit(warm_up)

    def report_server_error(self, error: Exception, source: Any) -> None:
        """What goes wrong is said in the log, not in the user's way."""
        self.log(
            types.MessageType.Error, f"internal error: {type(error).__name__}: {error}; please report it"
        )

    def log(self, kind: types.MessageType, message: str) -> None:
        self.window_log_message(types.LogMessageParams(kind, message))

    def supports(self, field: Any, *wanted: object) -> bool:
        """Whether the editor says so of itself, or names all that is wanted."""
        value: Any = get_capability(self.client_capabilities, field, None)
        return all(item in (value or ()) for item in wanted) if wanted else bool(value)

    @property
    def preferences(self) -> Preferences:
        """The settings that the editor gave."""
        return self._linter.preferences

    def prefer(self, given: object) -> None:
        """Take over settings from the editor; of wrong ones it is told, and those of before go on to count."""
        try:
            self._linter.preferences = preferences(given)
        except ConfigError as error:
            self._complain(str(error))

    @property
    def is_asked(self) -> bool:
        """Whether the editor asks for findings, so that none are sent to it."""
        return get_capability(self.client_capabilities, "text_document.diagnostic", None) is not None

    def refresh(self, uri: str, quiet: bool = False, show: bool = True) -> asyncio.Task[None]:
        """Lint a document, with `quiet` once nothing was typed for a moment; what is under way for it is left."""
        self.forget(uri)
        pause = _QUIET if quiet else 0
        task = self._tasks[uri] = asyncio.get_running_loop().create_task(self._lint(uri, pause, show))
        return task

    def typed(self, uri: str) -> None:
        """Lint a document that is being changed, unless that is to be done on saving."""
        self.forget(uri)
        if not self.preferences.on_save:
            self.refresh(uri, quiet=True)

    def refresh_all(self, but: str | None = None) -> None:
        """Lint all that is open, since something beside it has changed."""
        for uri in self.documents.uris():
            if uri != but:
                self.refresh(uri)

    def forget(self, uri: str) -> None:
        """Stop what is under way for a document."""
        task = self._tasks.pop(uri, None)
        if task is not None:
            task.cancel()

    async def current(self, uri: str) -> _Known | None:
        """What is to be said of a document as it is now; None where that can't be known, or changed meanwhile."""
        snapshot = self.documents.snapshot(uri)
        known = self._known.get(uri)
        if snapshot is None or (known is not None and known.linted.snapshot is snapshot):
            return known
        await asyncio.wait([self.refresh(uri, show=not self.preferences.on_save)])
        known = self._known.get(uri)
        return known if known is not None and known.linted.snapshot is snapshot else None

    async def shown(self, uri: str, part: str) -> tuple[str, tuple[types.Diagnostic, ...]]:
        """What is to be shown of a part of a document, once it is known, and what that state of it is called.

        Where the document changes meanwhile, it is what was last known: the editor is going to ask again.
        """
        snapshot = self.documents.snapshot(uri)
        if snapshot is None:
            return "", ()
        known = self._shown.setdefault(uri, _Shown())
        if not (known.snapshot and self.preferences.on_save):
            await self._showing(uri, snapshot, known)
        if known.snapshot is self.documents.snapshot(uri):
            return str(known.number), known.parts.get(part, ())
        text = next((each.text for each in snapshot.parts if each.uri == part), None)
        return "", tuple(self.documents.staying.shown(part, text)) if text is not None else ()

    async def _showing(self, uri: str, snapshot: Snapshot, known: _Shown) -> None:
        """Wait until findings of a document are shown, also where linting begins anew meanwhile, or it changes."""
        self._asked.add(uri)
        task: asyncio.Task[None] | None = None
        while known.snapshot is not snapshot and self.documents.snapshot(uri) is snapshot:
            under_way = self._tasks.get(uri)
            if under_way is None or under_way.done():
                if task is not None and not task.cancelled():
                    break  # nothing came of it
                under_way = self.refresh(uri)
            task = under_way
            known.news.clear()
            news = asyncio.ensure_future(known.news.wait())
            await asyncio.wait([task, news], return_when=asyncio.FIRST_COMPLETED)
            news.cancel()
        self._asked.discard(uri)

    async def work(self, job: Callable[[], T]) -> T:
        """Have something done by the thread that lints."""
        return await asyncio.get_running_loop().run_in_executor(self._worker, job)

    def folders(self) -> list[Path]:
        """The folders that are open in the editor."""
        uris = list(self.workspace.folders) or [self.workspace.root_uri or ""]
        return [Path(path) for path in map(to_fs_path, uris) if path]

    async def _lint(self, uri: str, pause: float, show: bool) -> None:
        if pause:
            await asyncio.sleep(pause)
        snapshot = self.documents.snapshot(uri)
        if snapshot is None:
            return
        loop, gone = asyncio.get_running_loop(), Event()
        told: list[Linted] = []

        def early(linted: Linted) -> None:
            told.append(linted)
            if show and not gone.is_set():
                loop.call_soon_threadsafe(self._show_early, uri, linted)

        try:
            lint = partial(self._linter.lint, snapshot, self.folders(), early, gone.is_set)
            linted = await self.work(lint)
        except asyncio.CancelledError:
            gone.set()
            raise
        if self.documents.snapshot(uri) is not snapshot:
            return
        self._number += 1
        self._known[uri] = _Known(self._number, linted)
        if show:
            self._show(uri, linted)
        if told:
            self._shown.setdefault(uri, _Shown()).early = _places(told[0]) == _places(linted)
        for line in filter(self._is_news, linted.problems):
            self.log(types.MessageType.Error, line)
        if linted.wrong is not None and self._is_news(linted.wrong):
            self._complain(linted.wrong)

    def _complain(self, wrong: str) -> None:
        """Tell the user what is wrong with the configuration."""
        self.log(types.MessageType.Error, wrong)
        self.window_show_message(types.ShowMessageParams(types.MessageType.Error, f"tflint-perf: {wrong}"))

    def _show_early(self, uri: str, linted: Linted) -> None:
        known = self._known.get(uri)
        is_current = self.documents.snapshot(uri) is linted.snapshot
        if is_current and self._shown.setdefault(uri, _Shown()).early:
            if known is None or known.linted.snapshot is not linted.snapshot:
                self._show(uri, linted, is_early=True)

    def _show(self, uri: str, linted: Linted, is_early: bool = False) -> None:
        """Show what was found in a document as it is now, unless it was shown early."""
        shown = self._shown.setdefault(uri, _Shown())
        parts = diagnostics(linted, self.documents.staying, self.preferences.syntax_errors)
        same = shown.parts == parts and shown.snapshot is linted.snapshot
        if not same:
            self._number += 1
            shown.number = self._number
        if not same or (not shown.is_early and not self.is_asked):
            shown.snapshot, shown.parts = linted.snapshot, parts
            self._send(uri, linted.snapshot, shown)
        shown.is_early = is_early
        shown.news.set()

    def _send(self, uri: str, snapshot: Snapshot, shown: _Shown) -> None:
        """Send what is shown, or see to it that the editor asks for it."""
        if not self.is_asked:
            for part in snapshot.parts:
                params = types.PublishDiagnosticsParams(part.uri, shown.parts[part.uri], part.version)
                self.text_document_publish_diagnostics(params)
        elif uri not in self._asked and self.supports("workspace.diagnostics.refresh_support"):
            self.workspace_diagnostic_refresh(None)

    def _is_news(self, line: str) -> bool:
        """Whether a line has not been said before: the same text is linted again and again."""
        news = line not in self._told
        self._told.add(line)
        return news

    def clear(self, uris: Iterable[str]) -> None:
        """Show nothing more for documents and cells that are gone."""
        for uri in uris:
            self.forget(uri)
            self._known.pop(uri, None)
            self._shown.pop(uri, None)
            self._asked.discard(uri)
            if not self.is_asked:
                self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def known(self, uri: str, number: int) -> Linted | None:
        """What was found in a document when that number was given, if nothing has changed since."""
        known = self._known.get(uri)
        if known is None or known.number != number:
            return None
        return known.linted if known.linted.snapshot is self.documents.snapshot(uri) else None

    def stop(self) -> None:
        """Finish: the editor has asked for it."""
        self.may_stop = True
        for uri in list(self._tasks):
            self.forget(uri)
        self._worker.shutdown(wait=False, cancel_futures=True)


def _places(linted: Linted) -> list[tuple[str, int]]:
    return [(finding.code, finding.start.offset) for finding in linted.findings]


def serve(linter: Linter) -> int:
    """Serve until the editor goes; 1 if it went without a word."""
    from tflint_perf.server.features import register

    # Nothing but the protocol may go there; what anybody prints joins what is said to people.
    stream = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    server = Server(linter)
    register(server)
    server.start_io(stdout=stream)
    stopped = server.may_stop
    server.stop()
    return 0 if stopped else 1
