"""`tflint-perf check --why CODE:FILE:ROW`: why a rule has a finding at a row, or none."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from tflint_perf.catalogue.rules import RuleInfo, catalogue
from tflint_perf.cli.run import CLEAN, FAILURE, FOR_PEOPLE, Request, for_run, output_of, say
from tflint_perf.config.discover import discover
from tflint_perf.config.files import find_files, reason
from tflint_perf.config.reading import is_file
from tflint_perf.config.resolve import Config, Configs
from tflint_perf.config.settings import Settings
from tflint_perf.errors import SourceError
from tflint_perf.problems import LIKE_A_RULE, ConfigError, exclude, nearest
from tflint_perf.project.linting import Neighbours
from tflint_perf.project.roots import is_root, project_root
from tflint_perf.report.style import Style, style_for
from tflint_perf.report.summary import counted
from tflint_perf.text.source import Source
from tflint_perf.why.answering import Answer, Asking, Place, answer
from tflint_perf.why.choosing import BRIEF, VERBOSE
from tflint_perf.why.telling import as_object, text

OPTION = "--why"
_FORM = "not of the form CODE:FILE:ROW, or CODE:NOTEBOOK:cell N:ROW"
# A file's name with what stands behind it: a notebook's cell, the row, and the column that findings are shown with.
_PLACES = tuple(
    re.compile(rf"(?P<file>.+?)(?::cell (?P<cell>\d+))?:(?P<row>\d+){column}", re.DOTALL)
    for column in ("", r":\d+")
)


def why(asked: str, request: Request, configs: Configs) -> int:
    """Answer, and give the exit code: 0, also where there is a finding.

    Raises:
        ConfigError: it cannot be asked so.
    """
    config = for_run(configs.of(configs.folder), request)
    _refuse(request, config)
    code, _, at = asked.partition(":")
    matched = [match for pattern in _PLACES if (match := pattern.fullmatch(at)) is not None]
    if not (code and matched):
        raise ConfigError(f"{_FORM}: {asked}", OPTION)
    rule = _rule(code)
    path, cell, row = _at(matched)
    settings, notes = _settings(path, configs, config)
    shown = str(Path(path))
    try:
        data = Path(path).read_bytes()
        source = Source.from_bytes(data, shown)
        place = Place(shown, row, cell, _text_row(source, cell, row))
        settings = _with_project(settings, Path(path))
        neighbours = Neighbours(project_root([Path(path)], settings), request.place)
        limits = VERBOSE if request.verbose else BRIEF
        told = answer(Asking(place, rule, data, source, settings, neighbours, limits))
    except OSError as error:
        raise ConfigError(f"{shown}: {reason(error)}", OPTION) from None
    except SourceError as error:
        say(str(error))
        return FAILURE
    told = replace(told, notes=(*told.notes, *notes))
    with output_of(request) as output:
        _write(told, settings, config, output)
    return CLEAN


def _write(told: Answer, settings: Settings, config: Config, output: TextIO | None) -> None:
    stream = output or sys.stdout
    if config.output_format == "json":
        lines: Iterator[str] = iter([json.dumps(as_object(told, settings), indent=2)])
    else:
        lines = text(told, Style() if output else style_for(stream))
    stream.writelines(f"{line}\n" for line in lines)
    stream.flush()


def _refuse(request: Request, config: Config) -> None:
    exclude(
        OPTION,
        {
            "paths besides": bool(request.paths),
            "--fix": config.settings.fix == "apply",
            "--diff": request.diff,
            "--statistics": request.statistics,
            "--show-files": request.show_files,
            "--show-settings": request.show_settings,
            "--add-noqa": request.add_noqa,
            "--write-baseline": request.write_baseline is not None,
            "--watch": request.watch,
            "--stdin-filename": request.stdin_filename is not None,
            f"--engine {request.engine}": request.engine != "local",
        },
    )
    if config.output_format not in (*FOR_PEOPLE, "json"):
        raise ConfigError(f"not available in the format {config.output_format}", OPTION)


def _rule(code: str) -> RuleInfo:
    """The rule with a code or a name."""
    known = catalogue()
    found = next((rule for rule in known.values() if code.upper() == rule.code or code == rule.name), None)
    if found is None:
        if several := [one for one in known if one.startswith(code.upper())]:
            raise ConfigError(
                f"`{code}` matches several rules: {', '.join(several)}; name one of them", OPTION
            )
        names = [*known, *(rule.name for rule in known.values())]
        raise ConfigError(f"unknown rule `{code}`{nearest(code, names, LIKE_A_RULE)}", OPTION)
    return found


def _at(matched: list[re.Match[str]]) -> tuple[str, int | None, int]:
    """The file, the cell and the row, of all ways to read them; a colon may be part of a file's name."""
    # `train.py:12:5` is row 12 of one file, or row 5 of a file with an odd name.
    found = next((match for match in matched if is_file(Path(match["file"]))), matched[-1])
    path, cell = found["file"], None if found["cell"] is None else int(found["cell"])
    if path.endswith(".ipynb") and cell is None and is_file(Path(path)):
        raise ConfigError(f"a row of a notebook is one of a cell: {path}:cell N:{found['row']}", OPTION)
    return path, cell, int(found["row"])


def _settings(path: str, configs: Configs, config: Config) -> tuple[Settings, list[str]]:
    """The settings that the file is linted with, and what is to be said of files that runs leave out.

    Raises:
        ConfigError: there is no such file.
    """
    groups, failures = discover((path,), configs, config)
    if failures:
        raise ConfigError(failures[0], OPTION)
    if Path(path).is_dir():
        raise ConfigError(f"a folder has no rows: {path}", OPTION)
    settings = groups[0].settings if groups else configs.of((configs.folder / path).resolve().parent).settings
    if find_files([path], replace(settings, force_exclude=True)).files:
        return settings, []
    unless = "" if settings.force_exclude else ", unless it is named"
    return settings, [f"a run leaves out this file{unless}: it is excluded, or a test"]


def _with_project(settings: Settings, path: Path) -> Settings:
    """The settings with a project around the file: where nothing looks like one, the current folder, as in a run on it."""
    here = Path.cwd()
    if settings.project_root is not None or is_root(project_root([path], settings)):
        return settings
    return replace(settings, project_root=here) if here in path.resolve().parents else settings


def _text_row(source: Source, cell: int | None, row: int) -> int:
    """A row counted through the whole text.

    Raises:
        ConfigError: there is no such row, or no such cell.
    """
    if cell is None:
        rows = len(source.text) and source.row(len(source.text.rstrip("\r\n")))
        _refuse_row(row, rows, source.path)
        return row
    if not source.is_notebook:
        raise ConfigError(f"not a notebook, so it has no cells: {source.path}", OPTION)
    written = dict(source.cells())
    if cell not in written:
        cells = ", ".join(map(str, written)) or "none"
        raise ConfigError(f"{source.path} has no code cell {cell} (those with code: {cells})", OPTION)
    _refuse_row(row, len(written[cell].splitlines()), f"{source.path}:cell {cell}")
    first = source.row(len(source.text))
    while (place := source.place(source.offset(first, 1))).cell != cell or place.row != row:
        first -= 1
    return first


def _refuse_row(row: int, rows: int, what: str) -> None:
    if not 1 <= row <= rows:
        raise ConfigError(f"{what} has {counted(rows, 'row')}, and no row {row}", OPTION)
