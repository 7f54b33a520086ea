"""The fixes that the linter would make in a project, and the project's files with any of them made.

A fix is known by its rule, its file and its row before anything was fixed. What a fix brings about, further fixes of later
rounds, comes and goes with it. Fixes of one rule that do the same at several places are a group.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from pathlib import Path

from tflint_perf.config.discover import Group, discover
from tflint_perf.config.files import settings_for
from tflint_perf.config.resolve import Config, Configs
from tflint_perf.config.settings import Settings
from tflint_perf.edit.judged import TRACED
from tflint_perf.finding import Finding
from tflint_perf.lint.applicability import applicability, is_applicable
from tflint_perf.lint.fix import ROUNDS, Work
from tflint_perf.project.linting import Neighbours, lint_beside, lint_files
from tflint_perf.project.roots import project_root
from tflint_perf.text.source import Source

# What stands in a fix's title between what it does and what it may change.
_MAY_CHANGE = "; may change "


@dataclass(frozen=True, slots=True, order=True)
class PlacedFix:
    """A fix at a place: `file` is relative to the project's root, with slashes; rows count inside the cell of a notebook.

    From `row` to `last_row` stands what was found; `title` says what the fix does. Several findings of one rule in a row
    are one of these.
    """

    file: str
    row: int
    code: str
    bold: bool = False
    cell: int | None = None
    last_row: int = field(default=0, compare=False)
    name: str = field(default="", compare=False)
    message: str = field(default="", compare=False)
    title: str = field(default="", compare=False)
    safe: bool = field(default=True, compare=False)

    @property
    def place(self) -> str:
        """`train.py:14`, `n.ipynb:cell 2:3`."""
        cell = f"cell {self.cell}:" if self.cell is not None else ""
        return f"{self.file}:{cell}{self.row}"

    @property
    def label(self) -> str:
        """The code of the rule, the file and the row: `<code> train.py:14`."""
        return f"{self.code} {self.place}"

    @property
    def changes_on_purpose(self) -> bool:
        """Whether it says that it may change more than what any compiled code may: an order, values, what is written."""
        may_change = self.title.partition(_MAY_CHANGE)[2]
        return bool(may_change) and TRACED not in may_change


# The program with these fixes made in it.
Version = frozenset[PlacedFix]
# Fixes that do the same, in their order; one that no other is like is a group of its own.
Alike = tuple[PlacedFix, ...]


def what_it_does(title: str) -> str:
    """What a fix does, of its title, without what it may change."""
    return title.partition(_MAY_CHANGE)[0]


def groups_of(fixes: Iterable[PlacedFix]) -> list[Alike]:
    """The fixes in groups, of those that say of themselves that they do the same.

    What is said names what is changed where that matters: functions that are compiled are not alike, calls that are replaced by
    a certain other one are. A fix that only a run can judge, or that may change something, does not do the same as one that is sure.
    """
    groups: dict[tuple[str, str, bool, bool], list[PlacedFix]] = {}
    for fix in fixes:
        groups.setdefault((fix.code, what_it_does(fix.title), fix.bold, fix.safe), []).append(fix)
    return [tuple(group) for group in groups.values()]


@dataclass(frozen=True, slots=True)
class Fixable:
    """A file in which there is something to fix, as it was: `path` is the user's own, `data` its bytes.

    `others` are the fixes to try where one that stands at the same place does not pay.
    """

    file: str
    path: Path
    data: bytes
    settings: Settings
    # By code and row, counted through the whole text.
    fixes: Mapping[tuple[str, int], PlacedFix]
    others: Mapping[PlacedFix, PlacedFix] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fixes:
    """What could be fixed in a project; `unsafe` counts the fixes that only --unsafe-fixes would make, `bold` those that
    only --bold-fixes would try."""

    files: tuple[Fixable, ...]
    neighbours: Neighbours
    unsafe: int = 0
    bold: int = 0
    troubles: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[PlacedFix, ...]:
        """Each fix, in the order of the files and rows."""
        return tuple(sorted(fix for file in self.files for fix in file.fixes.values()))

    @property
    def others(self) -> dict[PlacedFix, PlacedFix]:
        """By a fix, the one to try where it does not pay."""
        return {fix: other for file in self.files for fix, other in file.others.items()}

    def made(self, wanted: Collection[PlacedFix]) -> dict[str, bytes]:
        """The files that change, with the wanted fixes made in them, by their paths from the root."""
        changed = {file.file: self._made_in(file, wanted) for file in self.files}
        return {file.file: changed[file.file] for file in self.files if changed[file.file] != file.data}

    def _made_in(self, file: Fixable, wanted: Collection[PlacedFix]) -> bytes:
        if not any(fix in wanted for fix in (*file.fixes.values(), *file.others.values())):
            return file.data
        looking = replace(file.settings, fix="no")
        work = Work(Source.from_bytes(file.data, str(file.path)))
        origins = Origins(work.source, file.fixes)
        for _ in range(ROUNDS):
            found, _ = lint_beside(work.source.encode(), str(file.path), looking, self.neighbours)
            origin_of = origins.now(work.source)
            ours = []
            for finding in work.possible(found.findings, replace(file.settings, fix="diff")):
                origin = origin_of(finding)
                if origin is None or origin in wanted:
                    ours.append(finding)
                elif file.others.get(origin) in wanted and finding.other is not None:
                    ours.append(replace(finding, fix=finding.other))
            before = len(work.applied)
            if not work.make(ours):
                break
            origins.done.update(filter(None, map(origin_of, work.applied[before:])))
        return work.source.encode()


class Origins:
    """Which of the fixes that there were at first a finding in the changed text is; None for what fixes brought about."""

    def __init__(self, source: Source, fixes: Mapping[tuple[str, int], PlacedFix]) -> None:
        self._lines = _stripped(source)
        self._fixes = fixes
        self.done: set[PlacedFix] = set()

    def now(self, source: Source) -> Callable[[Finding], PlacedFix | None]:
        """The same question, for the findings of what the source is now."""
        rows = _rows_before(self._lines, _stripped(source))
        kept = frozenset(rows.values())

        def origin(finding: Finding) -> PlacedFix | None:
            row = rows.get(source.row(finding.start.offset))
            if row is not None:
                return self._fixes.get((finding.code, row))
            # It stands in text that a fix has written, moved perhaps from a row that is no more.
            return next(
                (
                    fix
                    for (code, row), fix in self._fixes.items()
                    if code == finding.code and row not in kept and fix not in self.done
                ),
                None,
            )

        return origin


def _stripped(source: Source) -> list[str]:
    return [line.strip() for line in source.lines(1, source.row(len(source.text)))]


def _rows_before(before: Sequence[str], after: Sequence[str]) -> dict[int, int]:
    """By the row of a line, from 1, that it had before; lines that were written or changed have none."""
    rows: dict[int, int] = {}
    for old, new, size in SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks():
        rows.update((new + at + 1, old + at + 1) for at in range(size))
    return rows


def find_fixes(
    root: Path,
    program: str | None,
    configs: Configs,
    config: Config,
    read: Callable[[str], bytes | None],
    jobs: int,
) -> Fixes:
    """All fixes that `--fix` would make in the project, by the user's configuration.

    `program` is its file from the root, which counts also where it would be left out; `read` gives the bytes of a file as it
    was copied.
    """
    paths = [str(root), *([str(root / program)] if program is not None else [])]
    groups, troubles = discover(paths, configs, config)
    groups = [replace(group, settings=replace(group.settings, fix="no")) for group in groups]
    every = [path for group in groups for path in group.files]
    if not every:
        return Fixes((), Neighbours(root), troubles=tuple(troubles))
    neighbours = Neighbours(project_root(every, config.settings))
    files: list[Fixable] = []
    unsafe = bold = 0
    for group in groups:
        for path, left, to_prove in _with_fixes(group, jobs):
            unsafe += left
            bold += to_prove
            file = path.relative_to(root).as_posix() if path.is_relative_to(root) else None
            data = read(file) if file is not None else None
            if file is None or data is None:
                continue
            # Whoever calls what is fixed is among these files, also where nothing marks the root of a project.
            settings = replace(group.settings, project_root=neighbours.root)
            fixable = _fixable(file, path, data, settings, neighbours)
            if fixable.fixes:
                files.append(fixable)
    return Fixes(tuple(files), neighbours, unsafe, bold, tuple(troubles))


def _with_fixes(group: Group, jobs: int) -> Iterable[tuple[Path, int, int]]:
    """The files of a group in which there is something to fix, and how much only unsafe fixes would mend, or bold ones."""
    for path, result in zip(group.files, lint_files(group.files, group.settings, jobs), strict=True):
        own = replace(settings_for(path, group.settings), fix="diff")
        possible = [finding for finding in result.findings if applicability(finding, own) is not None]
        bold = sum(finding.to_prove and not own.bold_fixes for finding in result.findings)
        if possible or bold:
            yield path, sum(not is_applicable(finding, own) for finding in possible), bold


def _fixable(file: str, path: Path, data: bytes, settings: Settings, neighbours: Neighbours) -> Fixable:
    source = Source.from_bytes(data, str(path))
    found, _ = lint_beside(data, str(path), settings, neighbours)
    settings = replace(settings, fix="diff")  # as one that shows all fixes, and makes none
    others: dict[PlacedFix, PlacedFix] = {}
    fixes: dict[tuple[str, int], PlacedFix] = {}
    for finding in Work(source).possible(found.findings, settings):
        key = (finding.code, source.row(finding.start.offset))
        level = applicability(finding, settings)
        if finding.fix is None or key in fixes:
            continue
        placed = fixes[key] = PlacedFix(
            file,
            finding.start.row,
            finding.code,
            level == "bold",
            finding.start.cell,
            finding.end.row,
            finding.name,
            finding.message,
            finding.fix.message,
            level == "safe",
        )
        if (other := finding.other) is not None and is_applicable(replace(finding, fix=other), settings):
            others[placed] = replace(placed, bold=other.bold, title=other.message, safe=other.safe)
    return Fixable(file, path, data, replace(settings, fix="no"), fixes, others)
