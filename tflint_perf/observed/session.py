"""A run of `tflint-perf run`: lint the program's project, watch the program, settle the findings, report."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from tflint_perf.cli.clean import cache_folder
from tflint_perf.cli.options import cores
from tflint_perf.cli.requirements import FOR_FIGURES, refuse_what_is_missing
from tflint_perf.cli.run import say
from tflint_perf.config.discover import discover
from tflint_perf.config.files import reason
from tflint_perf.config.reading import Values
from tflint_perf.config.resolve import Configs
from tflint_perf.errors import SourceError
from tflint_perf.measured.record import ENOUGH_STEPS, Line, Record, Spot
from tflint_perf.observed.blocks import Blocks
from tflint_perf.observed.formats import FOR_PROGRAMS, Format, render
from tflint_perf.observed.process import NotWatchedError, root_of, watch
from tflint_perf.observed.request import Request
from tflint_perf.observed.seen import seen_in_a_run
from tflint_perf.observed.settle import Located, Watched, in_order
from tflint_perf.observed.wording import summary
from tflint_perf.problems import ConfigError
from tflint_perf.project.linting import Neighbours, lint_files
from tflint_perf.project.roots import is_root, project_root
from tflint_perf.report.style import Style, style_for
from tflint_perf.report.summary import counted
from tflint_perf.text.source import Source

_FAILURE = 2
_STEP = re.compile(r"(?P<file>.+?)(?::cell (?P<cell>\d+))?:(?P<row>\d+)", re.DOTALL)
_STANDARD_ERROR = 2


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asks for."""

    program: tuple[str, ...]
    steps: int
    seconds: float
    step: str | None
    python: str
    select: list[str] | None
    ignore: list[str] | None
    extend_select: list[str] | None
    output_format: Format
    output_file: Path | None
    report: Path | None
    quiet: bool


def run(asked: Asked) -> int:
    """Do all of it; the exit code is the program's.

    Raises:
        ConfigError: it cannot be done as it was asked for.
    """
    step = _step(asked.step)
    refuse_what_is_missing("run", asked.python, FOR_FIGURES)
    if 0 < asked.steps < ENOUGH_STEPS and not asked.quiet:
        say(
            f"{counted(asked.steps, 'step')} are few to say what lines cost; {ENOUGH_STEPS} or more are enough"
        )
    with _output_of(asked.output_file) as output:
        found, rules = findings(asked)
        request = Request(
            program=asked.program,
            python=asked.python,
            steps=asked.steps or None,
            seconds=asked.seconds or None,
            step=step,
            probes=tuple(dict.fromkeys(_probes(found))),
            quiet=asked.quiet,
        )
        alone = asked.output_format in FOR_PROGRAMS and output is None
        sys.stdout.flush()
        try:
            seen = watch(request, stdout=_STANDARD_ERROR) if alone else watch(request)
        except NotWatchedError as error:
            say(f"{asked.program[-1] if asked.program[0] == '-m' else asked.program[0]}: {error}")
            return _FAILURE
        if seen.code and asked.quiet:
            sys.stderr.write(seen.stderr)  # why it failed is to be known
        record, blocks = settled(seen.record, found, rules)
        _show(asked, record, found, blocks, output)
    if asked.report is not None:
        _write_page(record, asked.report)
    return seen.code


def _show(asked: Asked, record: Record, found: list[Located], blocks: Blocks, output: TextIO | None) -> None:
    stream = output or sys.stdout
    style = Style() if output else style_for(stream)
    width = shutil.get_terminal_size((100, 24)).columns
    if not output and asked.output_format == "text" and not asked.quiet:
        stream.write("\n")  # what the program printed ends here
    lines = render(asked.output_format, record, found, blocks, style, width)
    stream.writelines(f"{line}\n" for line in lines)
    stream.flush()
    if output:
        print(*summary(record), sep="\n")
        sys.stdout.flush()
        say(f"the report is in {asked.output_file}")


def settled(record: Record, found: list[Located], rules: frozenset[str] | None) -> tuple[Record, Blocks]:
    """The record with what it says of the findings of the program's files, and those files."""
    blocks = Blocks(record.root)
    record = replace(record, lines=tuple(_with_source(record, blocks)))
    watched = Watched(record, blocks)
    rows = [(located, watched.rows(located)) for located in found]
    reached = [(located.finding.code, at) for located, at in rows if watched.is_reached(at)]
    judged = [watched.settled(located) for located in found]
    seen = seen_in_a_run(watched, reached, rules)
    return replace(record, findings=in_order([*judged, *seen])), blocks


def _with_source(record: Record, blocks: Blocks) -> Iterator[Line]:
    for line in record.lines:
        yield line if line.source else replace(line, source=blocks.line(line.spot))


def findings(asked: Asked) -> tuple[list[Located], frozenset[str]]:
    """The findings of the program and of what it imports of its project, and the rules that count.

    Rules that are off because their claim did not hold elsewhere count, too: here it is measured.
    """
    folder = Path.cwd()
    lists = {"select": asked.select, "ignore": asked.ignore, "extend-select": asked.extend_select}
    given = {key: value for key, value in lists.items() if value is not None}
    configs = Configs(folder, [Values(folder, given)], unproved=True)
    config = configs.of(folder)
    files = _files(asked.program, configs)
    groups, _ = discover([str(file) for file in files], configs, config)
    place = cache_folder(folder)
    found = [
        Located(result.path, finding)
        for group in groups
        for result in lint_files(group.files, replace(group.settings, fix="no"), cores(), place)
        for finding in result.findings
    ]
    return found, config.settings.rules


def _files(program: tuple[str, ...], configs: Configs) -> list[Path]:
    """The program's file, and those that it imports of its project, also through others; none where it isn't a file here."""
    path = _module(program[1]) if program[0] == "-m" else Path(program[0])
    if path is None or not path.is_file():
        return []
    settings = configs.of(path.resolve().parent).settings
    root = project_root([path], settings)
    if not is_root(root):
        root = root_of(program, None)  # the folder that it is run from, which it imports from
    neighbours = Neighbours(root)
    try:
        return [path, *(_from_here(file) for file in neighbours.texts.files_behind(path.resolve()))]
    except (OSError, SourceError):
        return [path]


def _from_here(path: Path) -> Path:
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _module(name: str) -> Path | None:
    """The file that `python -m` would run from here."""
    base = Path(*name.split("."))
    return next((file for file in (base.with_suffix(".py"), base / "__main__.py") if file.is_file()), None)


def _probes(found: list[Located]) -> Iterator[Spot]:
    for located in found:
        start = located.finding.start
        yield Spot(str(Path(located.path).resolve()), start.row, start.cell)


def _step(text: str | None) -> Spot | None:
    if text is None:
        return None
    match = _STEP.fullmatch(text)
    if match is None:
        raise ConfigError(f"not of the form FILE:ROW, or NOTEBOOK:cell N:ROW: {text}", "--step")
    path = Path(match["file"])
    if not path.is_file():
        raise ConfigError(f"no such file: {path}", "--step")
    cell = int(match["cell"]) if match["cell"] is not None else None
    try:
        source = Source.from_bytes(path.read_bytes(), str(path))
    except (OSError, SourceError) as error:
        raise ConfigError(str(error), "--step") from None
    text_of = dict(source.cells()).get(cell, "") if cell is not None else source.text
    if not 1 <= int(match["row"]) <= len(text_of.splitlines()):
        raise ConfigError(f"no such row: {text}", "--step")
    return Spot(str(path.resolve()), int(match["row"]), cell)


def _output_of(path: Path | None) -> AbstractContextManager[TextIO | None]:
    """The file of --output-file, opened before the work so that its path can't be wrong afterwards."""
    if path is None:
        return nullcontext()
    try:
        return path.open("w", encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise ConfigError(f"{path}: {reason(error)}", "--output-file") from None


def _write_page(record: Record, folder: Path) -> None:
    from tflint_perf.observed.page import write_page

    try:
        say(f"the report is in {write_page(record, folder)}")
    except OSError as error:
        raise ConfigError(f"{folder}: {reason(error)}", "--report") from None
