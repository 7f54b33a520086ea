"""How long an editor waits for findings after a keystroke: one table.

A language server is started as an editor starts it, with a file of 500 lines and 18 findings open in a project of other
scripts (`script_to_edit`). Statements are typed key by key at several places of the file. After each key the benchmark waits
for the findings of that very version; a burst sends its keys as a person types and waits after the last. Time is by the
clock, and of the server's processor, which stays nearly the same on a machine that is busy with other things.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import psutil
from generated import ordinary
from generated_findings import script_to_edit
from lsprotocol import types
from pygls.lsp.client import LanguageClient
from table import Table, seconds

# After a keystroke, with the processor idle.
MOST = 0.3
PATIENCE = 60.0
# Seconds between the keys of somebody who types fast.
BETWEEN = 0.08
BESIDE = 20
TYPED = "scale = tf.constant(2.0)"


@dataclass(frozen=True, slots=True)
class Wait:
    """What one keystroke took: seconds by the clock, and of the server's processor."""

    parses: bool
    clock: float
    processor: float


@dataclass(slots=True)
class Session:
    """An editor with one file, which it edits."""

    client: LanguageClient
    server: psutil.Process
    uri: str
    lines: list[str]
    version: int = 1
    shown: dict[int, int] = field(default_factory=dict)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def insert(self, row: int, column: int, text: str) -> None:
        """Type a text into a row."""
        self.version += 1
        line = self.lines[row]
        self.lines[row : row + 1] = (line[:column] + text + line[column:]).split("\n")
        place = types.Position(row, column)
        change = types.TextDocumentContentChangePartial(types.Range(place, place), text)
        document = types.VersionedTextDocumentIdentifier(self.version, self.uri)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    async def findings(self) -> int:
        """How many findings are shown of the present version, once they are."""
        while self.version not in self.shown:
            self.news.clear()
            await asyncio.wait_for(self.news.wait(), PATIENCE)
        return self.shown[self.version]

    def used(self) -> float:
        """Seconds of the processor that the server has used."""
        times = self.server.cpu_times()
        return float(times.user + times.system)

    def parses(self) -> bool:
        try:
            compile("\n".join(self.lines), "train.py", "exec")
        except SyntaxError:
            return False
        return True


async def started(folder: Path, text: str) -> Session:
    """A server with the file open, and its first findings shown."""
    client = LanguageClient("editor", "1")
    uri = (folder / "train.py").as_uri()
    await client.start_io(sys.executable, "-m", "tflint_perf", "server", cwd=folder, env=dict(os.environ))
    process = client._server
    assert process is not None
    session = Session(client, psutil.Process(process.pid), uri, text.split("\n"))

    def publish(params: types.PublishDiagnosticsParams) -> None:
        if params.version is not None:
            session.shown[params.version] = len(params.diagnostics)
            session.news.set()

    client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(publish)
    await client.initialize_async(
        types.InitializeParams(types.ClientCapabilities(), process_id=os.getpid(), root_uri=folder.as_uri())
    )
    client.initialized(types.InitializedParams())
    item = types.TextDocumentItem(uri, "python", 1, text)
    client.text_document_did_open(types.DidOpenTextDocumentParams(item))
    await session.findings()
    return session


def places(lines: list[str], count: int) -> Iterator[int]:
    """Rows below which a statement can stand, spread over the file."""
    rows = [row for row, line in enumerate(lines) if line.lstrip().startswith("loss = ") and "(" in line]
    for number in range(count):
        yield rows[number * len(rows) // count]


async def typed(session: Session, row: int) -> list[Wait]:
    """Type a statement below a row, and wait after each key."""
    indent = len(session.lines[row]) - len(session.lines[row].lstrip())
    session.insert(row, len(session.lines[row]), "\n" + " " * indent)
    await session.findings()
    waits = []
    for column, key in enumerate(TYPED, indent):
        before, start = session.used(), perf_counter()
        session.insert(row + 1, column, key)
        await session.findings()
        waits.append(Wait(session.parses(), perf_counter() - start, session.used() - before))
    return waits


async def burst(session: Session, row: int) -> float:
    """Type a statement below a row at one go; seconds from the last key to its findings."""
    indent = len(session.lines[row]) - len(session.lines[row].lstrip())
    session.insert(row, len(session.lines[row]), "\n" + " " * indent)
    for column, key in enumerate(TYPED, indent):
        await asyncio.sleep(BETWEEN)
        session.insert(row + 1, column, key)
    start = perf_counter()
    await session.findings()
    return perf_counter() - start


async def measured(folder: Path, text: str, count: int) -> dict[str, Any]:
    start = perf_counter()
    session = await started(folder, text)
    first = perf_counter() - start
    findings = session.shown[1]
    waits: list[Wait] = []
    bursts: list[float] = []
    for row in list(places(session.lines, count)):
        waits += await typed(session, row + len(session.lines) - text.count("\n") - 1)
        bursts.append(await burst(session, row))
    await session.client.shutdown_async(None)
    session.client.exit(None)
    await session.client.stop()  # type: ignore[no-untyped-call]
    return {"first": first, "findings": findings, "waits": waits, "bursts": bursts}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--places", type=int, default=3, metavar="N", help="where in the file to type")
    options = parser.parse_args()
    (text,) = script_to_edit().values()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch).resolve()
        for name, content in {**ordinary(BESIDE), "train.py": text, "pyproject.toml": ""}.items():
            (folder / name).write_text(content, encoding="utf-8")
        answer = asyncio.run(measured(folder, text, options.places))
    table = Table()
    table.title(
        f"{text.count(chr(10))} lines, {answer['findings']} findings; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    )
    table.row("from starting the server to the first findings", seconds(answer["first"]))
    for what, parses in (("a key, the text parses", True), ("a key, the text does not parse", False)):
        waits = [wait for wait in answer["waits"] if wait.parses is parses]
        worst = max(wait.clock for wait in waits)
        processor = statistics.median(wait.processor for wait in waits)
        remark = f"worst {seconds(worst)}, processor {seconds(processor)}, {len(waits)} keys"
        table.limit(what, statistics.median(wait.clock for wait in waits), MOST, seconds, remark)
    table.limit(
        f"the last of {len(TYPED)} keys, {BETWEEN} s apart",
        statistics.median(answer["bursts"]),
        MOST,
        seconds,
    )
    return 1 if table.missed else 0


if __name__ == "__main__":
    sys.exit(main())
