"""The language server: it keeps what is open, lints what changed, and answers what the editor asks.

Linting is done by one thread beside the one that talks to the editor. What has become out of date before its turn
is left out, and what becomes so meanwhile is thrown away.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types
from pygls.capabilities import get_capability
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method
from pygls.uris import to_fs_path

from tflint_perf.server.diagnostics import diagnostics
from tflint_perf.server.documents import Documents
from tflint_perf.server.linting import Linted, Linter, warm_up
from tflint_perf.version import __version__

T = TypeVar("T")

# Seconds of quiet before a text that is being typed is linted; more where linting takes longer.
_QUIET, _MOST_QUIET = 0.15, 2.0
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
    seconds: float


class Server(LanguageServer):
    """The state of one editor's session."""

    def __init__(self) -> None:
        cells = types.NotebookDocumentFilterWithCells([types.NotebookCellLanguage("python")])
        super().__init__(
            "tflint-perf",
            __version__,
            notebook_document_sync=types.NotebookDocumentSyncOptions([cells], save=True),
            protocol_cls=Protocol,
        )
        self.documents = Documents()
        self.may_stop = False
        self._linter = Linter()
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tflint-perf")
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._known: dict[str, _Known] = {}
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

    def refresh(self, uri: str, quiet: bool = False) -> asyncio.Task[None]:
        """Lint a document, with `quiet` once nothing was typed for a moment; what is under way for it is left."""
        self.forget(uri)
        known = self._known.get(uri)
        pause = min(max(_QUIET, known.seconds if known else 0), _MOST_QUIET) if quiet else 0
        task = self._tasks[uri] = asyncio.get_running_loop().create_task(self._lint(uri, pause))
        return task

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
        await asyncio.wait([self.refresh(uri)])
        known = self._known.get(uri)
        return known if known is not None and known.linted.snapshot is snapshot else None

    async def work(self, job: Callable[[], T]) -> T:
        """Have something done by the thread that lints."""
        return await asyncio.get_running_loop().run_in_executor(self._worker, job)

    def folders(self) -> list[Path]:
        """The folders that are open in the editor."""
        uris = list(self.workspace.folders) or [self.workspace.root_uri or ""]
        return [Path(path) for path in map(to_fs_path, uris) if path]

    async def _lint(self, uri: str, pause: float) -> None:
        if pause:
            await asyncio.sleep(pause)
        snapshot = self.documents.snapshot(uri)
        if snapshot is None:
            return
        started = time.perf_counter()
        linted = await self.work(partial(self._linter.lint, snapshot, self.folders()))
        if self.documents.snapshot(uri) is not snapshot:
            return
        self._number += 1
        self._known[uri] = _Known(self._number, linted, time.perf_counter() - started)
        for shown in diagnostics(linted):
            self.text_document_publish_diagnostics(shown)
        for line in filter(self._is_news, linted.problems):
            self.log(types.MessageType.Error, line)
        if linted.wrong is not None and self._is_news(linted.wrong):
            self.log(types.MessageType.Error, linted.wrong)
            message = f"tflint-perf: {linted.wrong}"
            self.window_show_message(types.ShowMessageParams(types.MessageType.Error, message))

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


def serve() -> int:
    """Serve until the editor goes; 1 if it went without a word."""
    from tflint_perf.server.features import register

    # Nothing but the protocol may go there; what anybody prints joins what is said to people.
    stream = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    server = Server()
    register(server)
    server.start_io(stdout=stream)
    stopped = server.may_stop
    server.stop()
    return 0 if stopped else 1
