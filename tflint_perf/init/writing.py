"""The first configuration of a project: what it says, and how it comes into a file without changing anything else there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from tflint_perf.catalogue.rules import of_programs
from tflint_perf.config.files import reason
from tflint_perf.config.patterns import literal
from tflint_perf.config.reading import OWN_FILE, PYPROJECT, is_file, nearest_config, toml_of
from tflint_perf.finding import Finding
from tflint_perf.init.looking import BASELINE, Project
from tflint_perf.problems import ConfigError
from tflint_perf.project.roots import is_root
from tflint_perf.records import dataclass

TABLE = "[tool.tflint-perf]"
# With more findings than these, people begin with what is new.
MANY = 10
# The oldest release of TensorFlow that has all that fixes write; `reduce_retracing` came last.
FIXES_ARE_FOR = (2, 9)


@dataclass(frozen=True, slots=True)
class Target:
    """The file that takes the configuration, and what it holds: None if it is not there yet.

    `above` is the configuration that has counted for the project so far, as the file has to name it.
    """

    path: Path
    old: bytes | None
    above: str | None = None

    def with_settings(self, lines: str) -> bytes:
        """What the file is to hold. All that it held stays as it was, byte for byte.

        Raises:
            ConfigError: a table cannot be added to it.
        """
        if self.old is None:
            return lines.encode()
        end = "\r\n" if b"\r\n" in self.old else "\n"
        gap = "" if not self.old else end if self.old.endswith(b"\n") else end * 2
        new = self.old + (gap + f"{TABLE}\n{lines}".replace("\n", end)).encode()
        try:
            toml_of(new.decode())
        except ValueError:
            raise ConfigError(
                f"its table `tool` is written so that {TABLE} cannot be added; use a {OWN_FILE}",
                str(self.path),
            ) from None
        return new


def target_in(folder: Path) -> Target:
    """The `pyproject.toml` of a folder or, where there is none, a new file.

    A part of a project that is configured needs no configuration of its own; a project in a project may have one.

    Raises:
        ConfigError: the folder is configured already, or cannot be.
    """
    if not folder.is_dir():
        raise ConfigError("no such folder", str(folder))
    real = folder.resolve()
    there, above = nearest_config(real), None
    if there is not None and (there.parent == real or not is_root(real)):
        what = f"has {TABLE}" if there.name == PYPROJECT else "is there"
        if there.parent == real:
            raise ConfigError(f"{what} already; nothing was written", str(folder / there.name))
        raise ConfigError(
            f"{what} already, for {real.relative_to(there.parent)} too; nothing was written", str(there)
        )
    if there is not None:
        above = Path(os.path.relpath(there, real)).as_posix()
    path = folder / PYPROJECT
    if not is_file(path):
        return Target(folder / OWN_FILE, None, above)
    try:
        old = path.read_bytes()
        toml_of(old.decode())
    except OSError as error:
        raise ConfigError(reason(error), str(path)) from None
    except ValueError as error:
        raise ConfigError(f"not TOML: {error}; nothing was written", str(path)) from None
    return Target(path, old, above)


def settings_of(project: Project, findings: Sequence[Finding] = (), above: str | None = None) -> str:
    """The settings, each below a comment that says what it is for; `findings` are what there is without them."""
    return "\n".join(_settings(project, findings, above)) + "\n"


def about_programs(findings: Sequence[Finding]) -> dict[str, str]:
    """The rules among those that found something whose findings are about programs and no step: names by code."""
    return {finding.code: finding.name for finding in findings if finding.code in of_programs()}


def _settings(project: Project, findings: Sequence[Finding], above: str | None) -> Iterator[str]:
    if above is not None:
        yield "# Start from the configuration above this folder."
        yield f"extend = {_toml(above)}"
    yield "# Rules in addition to the default ones, and rules to leave out: codes, code prefixes, names."
    yield "# `tflint-perf rule --all` explains them."
    yield "extend-select = []"
    for code, name in about_programs(findings).items():
        yield f"# {code} is about programs as a whole; if it is of no use here, `ignore = {_toml([name])}` leaves it out."
    yield "ignore = []"
    if project.vendored:
        yield "# Other people's code."
        yield f"extend-exclude = {_toml(list(map(literal, project.vendored)))}"
    if project.notebooks.all:
        yield "# Notebooks are linted like scripts; without their pattern they are not."
        yield 'include = ["*.py", "*.ipynb"]'
    if project.tests.using:
        yield "# Test files use TensorFlow here, and are left out: a test is not training."
        yield "include-tests = false"
    if not project.is_marked:
        yield "# When a single file is linted, as in an editor, the others below this folder count as its callers."
        yield 'project-root = "."'
    if old := [named for named in project.tensorflow if named.is_older_than(FIXES_ARE_FOR)]:
        release = ".".join(map(str, FIXES_ARE_FOR))
        yield f"# {old[0].file} asks for TensorFlow {old[0].asked}, and fixes are written for {release} and later:"
        yield "# show them, and apply none unless --unsafe-fixes is given."
        yield 'extend-unsafe-fixes = ["ALL"]'
    if project.has_baseline:
        yield "# The findings of the time when --write-baseline was run; only new ones are shown."
        yield f"baseline = {_toml(BASELINE)}"
    elif len(findings) > MANY:
        yield "# Once --write-baseline has written this file, only new findings are shown."
        yield f"# baseline = {_toml(BASELINE)}"


def _toml(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
