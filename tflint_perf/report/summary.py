"""What stands after the findings: what was fixed, how many findings there are, and what `--fix` would do."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import groupby

from tflint_perf.report import Outcome, printable
from tflint_perf.report.style import Style


def summary(outcome: Outcome, style: Style, fix_only: bool = False) -> Iterator[str]:
    """The last lines of a report for people."""
    fixed, remaining = len(outcome.fixed), len(outcome.findings)
    if outcome.fix == "diff":
        if fixed:
            yield f"Would fix {_findings(fixed)}{_more(outcome)}."
        elif _hidden(outcome):
            yield _only_hidden(outcome)
    elif fix_only:
        if fixed:
            yield f"Fixed {_findings(fixed)}."
    else:
        if fixed:
            yield f"Found {_findings(fixed + remaining)} ({fixed} fixed, {remaining} remaining)."
        elif remaining:
            yield f"Found {_findings(remaining)}."
        elif not outcome.failures:
            yield style.strong("All checks passed!")
        yield from _fixable(outcome, style)


def _fixable(outcome: Outcome, style: Style) -> Iterator[str]:
    # After --fix, what is still marked could not be applied, so it is no promise.
    marked = 0 if outcome.fix == "apply" else sum(entry.marked for entry in outcome.findings)
    if marked:
        yield f"{style.fixable('[*]')} {marked} fixable with the --fix option{_more(outcome)}."
    elif _hidden(outcome):
        yield _only_hidden(outcome)
    bold = sum(entry.may_be_bold for entry in outcome.findings)
    if bold:
        them = "it" if bold == 1 else "them"
        yield (
            f"{bold} without a fix may have a bold one: --diff --bold-fixes shows {them}, and `tflint-perf prove "
            f"--bold-fixes` tries {them}."
        )


def _hidden(outcome: Outcome) -> int:
    return sum(entry.fix == "unsafe" and not entry.marked for entry in outcome.findings)


def _more(outcome: Outcome) -> str:
    hidden = _hidden(outcome)
    return f" ({hidden} more with --unsafe-fixes)" if hidden else ""


def _only_hidden(outcome: Outcome) -> str:
    return f"{_hidden(outcome)} fixable with the --fix and --unsafe-fixes options."


def fixes(outcome: Outcome, style: Style) -> Iterator[str]:
    """The list of `--show-fixes`: how often each rule was fixed, file by file."""
    if not outcome.fixed:
        return
    verb = "Would fix" if outcome.fix == "diff" else "Fixed"
    yield f"{verb} {_findings(len(outcome.fixed))}:"
    for path, entries in groupby(outcome.fixed, key=lambda entry: entry.path):
        yield f"- {style.strong(printable(path))}:"
        counts = Counter((entry.finding.code, entry.finding.name) for entry in entries)
        width = len(str(max(counts.values())))
        for (code, name), count in sorted(counts.items()):
            yield f"    {count:>{width}} \N{MULTIPLICATION SIGN} {style.code(code)} ({name})"
    yield ""


def statistics(outcome: Outcome, style: Style) -> Iterator[str]:
    """The rules by how many findings they have, with `[*]` where all can be fixed and `[-]` where some can."""
    for code, name, count, marked in _counts(outcome):
        mark = "[*]" if marked == count else "[-]" if marked else "[ ]"
        yield f"{count}\t{style.code(code)}\t{style.fixable(mark)} {name}"


def statistics_json(outcome: Outcome) -> Iterator[str]:
    """The same as a list of objects."""
    yield json.dumps(
        [
            {"code": code, "name": name, "count": count, "fixable": marked > 0, "fixable_count": marked}
            for code, name, count, marked in _counts(outcome)
        ],
        indent=2,
    )


def _counts(outcome: Outcome) -> list[tuple[str, str, int, int]]:
    found = Counter((entry.finding.code, entry.finding.name) for entry in outcome.findings)
    marked = Counter(entry.finding.code for entry in outcome.findings if entry.marked)
    return [
        (code, name, count, marked[code])
        for (code, name), count in sorted(found.items(), key=lambda item: (-item[1], item[0]))
    ]


def counted(count: int, thing: str) -> str:
    """The number with the word: `1 finding`, `2 findings`."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def _findings(count: int) -> str:
    return counted(count, "finding")
