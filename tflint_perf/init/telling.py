"""What `tflint-perf init` says: what it found, what it wrote, what to do next."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from textwrap import indent

from tflint_perf.config.reading import PYPROJECT
from tflint_perf.finding import Finding
from tflint_perf.init.looking import BASELINE, HOOKS, Files, Project
from tflint_perf.init.writing import MANY, TABLE, Target, about_programs
from tflint_perf.lint.applicability import Applicability
from tflint_perf.project.dependencies import Named
from tflint_perf.records import dataclass
from tflint_perf.report.style import Style
from tflint_perf.report.summary import counted

_HOOK = """\
- repo: local
  hooks:
    - id: tflint-perf
      name: tflint-perf
      entry: tflint-perf check --force-exclude
      language: system
      types_or: [python, jupyter]
      require_serial: true
"""
_WIDTH = 12
# What the tool itself needs; the project's code may be for another.
_PYTHON = (3, 10)


@dataclass(frozen=True, slots=True)
class Linted:
    """What linting came to: the findings, how far the best of their fixes is to be trusted, and files that do not parse."""

    findings: tuple[Finding, ...]
    fixable: Applicability | None
    unread: tuple[str, ...]
    failures: tuple[str, ...]


def found(project: Project, linted: Linted, style: Style) -> Iterator[str]:
    yield style.strong("Found")
    yield _fact("scripts", _counted(project.scripts, "file"))
    if project.notebooks.all:
        yield _fact("notebooks", _counted(project.notebooks, "notebook"))
    if project.tests.all:
        yield _fact("tests", f"{_counted(project.tests, 'file')}; left out")
    for vendored, count in project.vendored.items():
        yield _fact("vendored", f"{vendored} ({counted(count, 'file')}); left out")
    if project.tensorflow:
        yield _fact("TensorFlow", _asked(project.tensorflow))
    if project.python:
        own = any(named.is_older_than(_PYTHON) for named in project.python)
        yield _fact(
            "Python", _asked(project.python) + ("; tflint-perf runs with 3.10 and later" if own else "")
        )
    if project.graphs:
        yield _fact("graphs", f"{_some(project.graphs)}, in TensorFlow 1 style")
    if project.has_hooks:
        yield _fact("pre-commit", f"{HOOKS} {'with' if project.has_our_hook else 'without'} tflint-perf")
    if linted.unread:
        yield _fact("not parsed", f"{_some(linted.unread)}: what they contain is not known")
    yield _fact("findings", _findings(linted.findings))


def _fact(name: str, text: str) -> str:
    return f"  {name:<{_WIDTH}}{text}"


def _counted(files: Files, thing: str) -> str:
    of_them = f", {len(files.using)} with TensorFlow or Keras" if files.all else ""
    return f"{counted(len(files.all), thing)}{of_them}"


def _some(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - 2} more" if len(paths) > 2 else ""
    return ", ".join(paths[:2]) + more


def _asked(versions: Sequence[Named]) -> str:
    return ", ".join(f"{named.asked} in {named.file}" for named in versions)


def _findings(findings: Sequence[Finding]) -> str:
    counts = Counter(finding.code for finding in findings)
    most = ", ".join(f"{code} {count}\N{MULTIPLICATION SIGN}" for code, count in _ordered(counts)[:3])
    more = ", …" if len(counts) > 3 else ""
    return f"{len(findings)} ({most}{more})" if findings else "none"


def _ordered(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def written(target: Target, lines: str, style: Style) -> Iterator[str]:
    table = [TABLE] if target.path.name == PYPROJECT else []
    yield style.strong(f"Added {TABLE} to {target.path}" if table else f"Wrote {target.path}")
    yield from (f"  {line}".rstrip() for line in (*table, *lines.splitlines()))


def next_steps(project: Project, linted: Linted, target: Target, style: Style) -> Iterator[str]:
    here = str(project.folder) == "."
    yield style.strong("Next" if here else f"Next, in {project.folder}")
    steps = list(_steps(linted, many=len(linted.findings) > MANY and not project.has_baseline, target=target))
    width = max(len(command) for command, _ in steps)
    for command, what in steps:
        yield f"  {command:<{width}}  # {what}"
    if linted.unread:
        yield f"  Fix what does not parse, or leave it out: extend-exclude = [{json.dumps(linted.unread[0])}]"
    if project.has_hooks and not project.has_our_hook:
        yield f"  Add the hook to {HOOKS}, below `repos:`"
        yield ""
        yield from indent(_HOOK, project.indent).splitlines()


def _steps(linted: Linted, many: bool, target: Target) -> Iterator[tuple[str, str]]:
    if many:
        yield "tflint-perf --statistics", "how many findings each rule has"
    else:
        yield "tflint-perf", "the findings" if linted.findings else "lint again when something has changed"
    if linted.findings:
        code = _ordered(Counter(finding.code for finding in linted.findings))[0][0]
        yield f"tflint-perf rule {code}", "what a rule finds, why it matters, what it costs"
        for other in about_programs(linted.findings).keys() - {code}:
            yield (
                f"tflint-perf rule {other}",
                "about programs as a whole; in `ignore`, if it is of no use here",
            )
    if linted.fixable == "safe":
        yield "tflint-perf --diff", "what --fix would change"
    elif linted.fixable == "unsafe":
        yield (
            "tflint-perf --diff --unsafe-fixes",
            "what fixes would change; look at them before you apply any",
        )
    if many:
        yield (
            f"tflint-perf --write-baseline {BASELINE}",
            (f"record all current findings; then remove the # from `baseline` in {target.path.name}"),
        )
