"""A run of `tflint-perf prove`: from its options to what is shown and written, and the exit code."""

from __future__ import annotations

import datetime
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TextIO

from tflint_perf.cli.requirements import FOR_FIGURES, from_anywhere, refuse_what_is_missing
from tflint_perf.cli.run import say
from tflint_perf.config.files import reason, replace_file
from tflint_perf.config.resolve import Configs
from tflint_perf.observed.process import Seen, watch
from tflint_perf.observed.request import Request as Watching
from tflint_perf.problems import ConfigError
from tflint_perf.prove.document import About, document_of, drawn
from tflint_perf.prove.fixes import Fixable, Fixes, find_fixes
from tflint_perf.prove.place import Project, project_of, scratch_of
from tflint_perf.prove.proving import Options, Proof, Stopped, prove, runs_needed
from tflint_perf.prove.running import Runner
from tflint_perf.prove.telling import markdown, text
from tflint_perf.report.style import Style, style_for
from tflint_perf.verify.records import as_text

PROVED, NOTHING_PAYS = 0, 1
# With the number of a signal, what a shell gives for what it has ended.
_SIGNAL = 128
_OF_RESULT = {
    "proved": PROVED,
    "nothing to fix": PROVED,
    "nothing pays": NOTHING_PAYS,
    "not confirmed": NOTHING_PAYS,
}


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line asks for. `seconds` and `timeout` are for one run."""

    program: tuple[str, ...]
    pairs: int
    steps: int
    seconds: float
    timeout: float | None
    seed: int
    python: str
    together: bool
    apply: bool
    report: Path | None
    output_format: Literal["text", "json", "markdown"]
    output_file: Path | None
    quiet: bool
    jobs: int


def run(request: Request, configs: Configs, watch: Callable[[Watching], Seen] = watch) -> int:
    """Prove, show what came of it, apply it if that was asked for, and return the exit code.

    Raises:
        ConfigError: it cannot be done.
    """
    project = project_of(request.program, Path.cwd())
    refuse_what_is_missing("prove", request.python, (*FOR_FIGURES, "rich"))
    with _output(request) as output, _ending_in_order():
        try:
            proof, about, found = _proved(request, project, configs, watch)
        except Stopped as stop:
            say("stopped before anything was known")
            return _SIGNAL + stop.number
        applied = apply(found, proof) if request.apply and proof.proved else []
        document = document_of(proof, about, [_shown(project.root / file) for file in applied])
        if request.report is not None:
            _write_page(document, proof, request.report)
        _show(document, request, output)
    return _SIGNAL + proof.stopped if proof.stopped else _OF_RESULT[document["result"]]


@contextmanager
def _ending_in_order() -> Iterator[None]:
    """End when that is asked for, with the run that goes on and the scratch folder: first tell what is known, then at once."""
    asked = False

    def leave(number: int, _: object) -> None:
        nonlocal asked
        asked, again = True, asked
        raise SystemExit(_SIGNAL + number) if again else Stopped(number)

    if threading.current_thread() is not threading.main_thread():  # only that one may
        yield
        return
    before = {
        number: signal.signal(number, leave)
        for number in (signal.SIGINT, signal.SIGTERM)
        if signal.getsignal(number) != signal.SIG_IGN
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _proved(
    request: Request, project: Project, configs: Configs, watch: Callable[[Watching], Seen]
) -> tuple[Proof, About, Fixes]:
    from tflint_perf.prove.progress import progress

    config, python = configs.of(configs.folder), from_anywhere(request.python)
    with scratch_of(project, python, os.environ) as scratch:
        found = find_fixes(project.root, project.script, configs, config, scratch.read, request.jobs)
        for trouble in found.troubles:
            say(trouble)
        options = Options(request.pairs, one_by_one=not request.together)
        with progress(runs_needed(found.all, options, found.others), request.quiet) as shown:
            runner = Runner(
                scratch,
                found.made,
                watch,
                python,
                request.steps,
                request.seconds,
                request.timeout,
                request.seed,
                shown.on_run,
            )
            proof = prove(found.all, runner, options, found.others, shown.expect)
    record = runner.record
    about = About(
        request.program,
        record.device if record is not None else "",
        record.versions if record is not None else {},
        datetime.date.today().isoformat(),
        tuple(scratch.linked),
        found.unsafe,
        request.pairs,
        found.bold,
    )
    return proof, about, found


def apply(found: Fixes, proof: Proof) -> list[str]:
    """Write the proved fixes into the user's files, all or none, and say into which.

    Raises:
        ConfigError: one of them was changed meanwhile, or cannot be written.
    """
    changed = found.made(frozenset(proof.proved))
    files = [file for file in found.files if file.file in changed]
    for file in files:
        if _read(file.path) != file.data:
            raise ConfigError("changed while it was proved, so nothing was applied", str(file.path))
    written: list[Fixable] = []
    for file in files:
        try:
            replace_file(file.path, file.data, changed[file.file])
        except OSError as error:
            for earlier in written:
                replace_file(earlier.path, changed[earlier.file], earlier.data)
            raise ConfigError(f"{reason(error)}; nothing was applied", str(file.path)) from None
        written.append(file)
    return [file.file for file in written]


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _shown(path: Path) -> str:
    here = Path.cwd().resolve()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _output(request: Request) -> nullcontext[None] | TextIO:
    """The file of --output-file, opened before the work so that its path can't be wrong afterwards."""
    if request.output_file is None:
        return nullcontext()
    try:
        return request.output_file.open("w", encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{request.output_file}: {reason(error)}", "--output-file") from None


def _show(document: dict[str, object], request: Request, output: TextIO | None) -> None:
    stream = output or sys.stdout
    lines: Iterable[str]
    if request.output_format == "json":
        lines = [as_text(document)]
    elif request.output_format == "markdown":
        lines = markdown(document)
    else:
        lines = text(document, Style() if output else style_for(stream))
    stream.writelines(f"{line}\n" for line in lines)
    stream.flush()
    if output is not None:
        print(next(text(document, style_for(sys.stdout))))
        sys.stdout.flush()
        say(f"the report is in {request.output_file}")


def _write_page(document: dict[str, object], proof: Proof, folder: Path) -> None:
    from tflint_perf.prove.page import write_page

    try:
        say(f"report in {write_page(document, drawn(proof), folder)}")
    except OSError as error:
        raise ConfigError(f"{folder}: {reason(error)}", "--report") from None
