"""Runs a program with the observer in it, in a process of its own, and takes what it leaves behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from tflint_perf.measured.record import Record, Spot, Steps
from tflint_perf.observe.user_code import cell_name
from tflint_perf.observed.assemble import record_of
from tflint_perf.observed.request import Request

_NOTEBOOK = ".ipynb"
_ENDED_BY_SIGNAL = 128
# How long a program may take to put its things in order once it was asked to.
_PATIENCE = 10.0


class NotWatchedError(Exception):
    """The program could not be watched: why, in one line."""


@dataclass(frozen=True)
class Seen:
    """A run that has ended: its record (without findings), its exit code as a shell would give it, what it printed if that was kept.

    `ends` is when each step ended, in seconds from the start of the program; `learned` is False where nothing was written to
    `Learning.out`. So many `optimizers` make a step. `record.ended` says how it came to its end; a program that failed has its traceback in the output.
    """

    record: Record
    code: int
    ends: tuple[float, ...]
    learned: bool = False
    stdout: str = ""
    stderr: str = ""
    optimizers: int = 1


def root_of(program: Sequence[str], folder: Path | None) -> Path:
    """The folder whose files are the user's: the git work tree of the program, else the current folder or the program's own."""
    folder = (folder or Path.cwd()).resolve()
    own = folder if program[0] == "-m" else (folder / program[0]).resolve().parent
    for above in (own, *own.parents):
        if (above / ".git").exists():
            return above
    return folder if own.is_relative_to(folder) else own


def watch(request: Request, stdout: int | None = None) -> Seen:
    """Run the program to its end, or until it is stopped. What it prints goes to the descriptor `stdout`, if one is given.

    Raises:
        NotWatchedError: it could not be started, or was given up.
    """
    root = root_of(request.program, request.folder)
    with tempfile.TemporaryDirectory(prefix="tflint-perf-") as scratch:
        settings = Path(scratch, "settings.json")
        out = Path(scratch, "seen.json")
        settings.write_text(json.dumps(_settings(request, root, out)), encoding="utf-8")
        code, output = _run(request, settings, Path(scratch), stdout)
        if not out.is_file():
            return Seen(_nothing(request, root, code), code, (), False, *output)
        seen = json.loads(out.read_text(encoding="utf-8"))
    record = record_of(seen, request.program, root)
    ends = tuple(step[0] for step in seen["steps"])
    return Seen(replace(record, code=code), code, ends, seen["learned"], *output, seen["optimizers"] or 1)


def _settings(request: Request, root: Path, out: Path) -> dict[str, Any]:
    folder = (request.folder or Path.cwd()).resolve()
    program = request.program
    settings: dict[str, Any] = {
        "root": str(root),
        "out": str(out),
        "steps": request.steps,
        "optimizers": request.optimizers,
        "seconds": request.seconds,
        "details": request.details,
        "step": _place(request.step, root) if request.step else None,
        "probes": _by_file(request.probes, root),
        "learning": {**asdict(request.learning), "out": str(request.learning.out)}
        if request.learning
        else None,
        "writable": request.environment.get("TFLINT_PERF_WRITABLE"),
        "argv0": program[0],
        "arguments": program[1:],
    }
    if program[0] == "-m":
        if len(program) < 2:
            raise NotWatchedError("-m needs the name of a module")
        return settings | {
            "form": "module",
            "target": program[1],
            "argv0": program[1],
            "arguments": program[2:],
        }
    path = folder / program[0]
    if not path.is_file():
        raise NotWatchedError(f"no such file: {program[0]}")
    if path.suffix == _NOTEBOOK:
        cells = [(cell_name(str(path.resolve()), number), text) for number, text in _cells(path)]
        return settings | {"form": "notebook", "target": str(path), "cells": cells}
    return settings | {"form": "script", "target": str(path.absolute())}


def _cells(path: Path) -> Iterator[tuple[int, str]]:
    """The numbers and the code of a notebook's code cells, without what only IPython understands."""
    from tflint_perf.observed.notebooks import code_cells
    from tflint_perf.text.source import Source

    yield from code_cells(Source.from_bytes(path.read_bytes(), str(path)).cells())


def _place(spot: Spot, root: Path) -> tuple[str, int]:
    file = str((root / spot.file).resolve())
    return (file if spot.cell is None else cell_name(file, spot.cell)), spot.row


def _by_file(spots: tuple[Spot, ...], root: Path) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for spot in spots:
        file, row = _place(spot, root)
        found.setdefault(file, []).append(row)
    return found


def _run(request: Request, settings: Path, scratch: Path, stdout: int | None) -> tuple[int, tuple[str, str]]:
    program = Path(import_module("tflint_perf.observe").__path__[0], "program.py")
    command = [request.python, str(program), str(settings)]
    files = [(scratch / name).open("w+b") for name in ("stdout", "stderr")] if request.quiet else []
    try:
        process = subprocess.Popen(
            command,
            cwd=request.folder,
            env={**os.environ, **request.environment},
            stdin=subprocess.DEVNULL if request.quiet else None,
            stdout=files[0] if files else stdout,
            stderr=files[1] if files else None,
            start_new_session=request.quiet and os.name == "posix",
        )
    except OSError as error:
        raise NotWatchedError(f"{request.python} does not start: {error.strerror}") from None
    if request.quiet:  # it is a process among others: who asks to end means all of them
        _wait(process, request)
    else:
        with _passing_on(process), suppress(KeyboardInterrupt):
            _wait(process, request)
    output = []
    for file in files:
        file.seek(0)
        output.append(file.read().decode("utf-8", "replace"))
        file.close()
    code = process.wait()
    return (code if code >= 0 else _ENDED_BY_SIGNAL - code), (output[0], output[1]) if output else ("", "")


def _wait(process: subprocess.Popen[bytes], request: Request) -> None:
    try:
        process.wait(request.timeout)
    except subprocess.TimeoutExpired:
        _end(process, request.quiet)
        raise NotWatchedError(f"took more than {request.timeout:g} s") from None
    except BaseException:
        _end(process, request.quiet)
        raise


def _end(process: subprocess.Popen[bytes], has_group: bool) -> None:
    """End a process, and what it has started."""
    for how in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
        with suppress(OSError):
            if has_group and hasattr(os, "killpg"):
                os.killpg(process.pid, how)
            else:
                process.send_signal(how)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_PATIENCE)
            return


@contextmanager
def _passing_on(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Let the program have the signals that are meant for it. Ctrl-C reaches it by itself, from the terminal."""

    def send(number: int, _: object) -> None:
        with suppress(OSError):
            process.send_signal(number)

    handlers: dict[int, Callable[[int, object], None] | int] = {signal.SIGINT: signal.SIG_IGN}
    handlers |= {
        number: send for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None
    }
    before: dict[int, Any] = {}
    try:
        for number, handler in handlers.items():
            with suppress(ValueError):  # only the main thread may
                before[number] = signal.signal(number, handler)
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def _nothing(request: Request, root: Path, code: int) -> Record:
    """The record of a program that died without a word."""
    steps = Steps(0, "none", None, None, ("the program ended at once, and what was seen of it is lost",))
    return Record(request.program, str(root), "", {}, "", "signal", code, 0.0, steps)
