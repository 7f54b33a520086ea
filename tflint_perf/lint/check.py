"""One source to findings: screen, parse, model, rules, suppressions."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from functools import cache, partial
from typing import TYPE_CHECKING, TypeVar

import libcst as cst

from tflint_perf.abstract import AbstractModule, abstract_module
from tflint_perf.analysis.model import Model
from tflint_perf.analysis.values.outside import NOTHING, AskedAboutCallers, Outside
from tflint_perf.catalogue.plugins import ON_FILE
from tflint_perf.catalogue.registry import rules_about
from tflint_perf.catalogue.rules import catalogue
from tflint_perf.config.settings import Settings
from tflint_perf.finding import Edit, Finding, Fix
from tflint_perf.lint.asking import InternalError, Reports, guarded, reports_of, tolerant
from tflint_perf.lint.early_findings import edited_tree, expects_some, go_on, is_waited_for, tell
from tflint_perf.lint.guards import lost_by
from tflint_perf.lint.step_loop_paths import each_step, in_cells, rows_of
from tflint_perf.lint.suppress import has_suppressions, names_us, suppress
from tflint_perf.records import dataclass
from tflint_perf.rule import Beside, Refusal, Repair, Report, Rule
from tflint_perf.text.layout import odd_line
from tflint_perf.text.source import Source
from tflint_perf.text.trees import room_for_trees, whole_module

if TYPE_CHECKING:
    from tflint_perf.analysis.links.hindrances import Hindrances
    from tflint_perf.analysis.links.summary import Summary, Use
    from tflint_perf.edit import Editor
    from tflint_perf.text.positions import Positions
    from tflint_perf.text.trees import EditedTree

T = TypeVar("T")
_UNUSED = "TFP001"
# Where a string that is not raw would not parse: a path of Windows, mostly, `"C:\\Users"`.
_SHORT_ESCAPE = re.compile(r"\\(?:U(?![0-9a-fA-F]{8})|u(?![0-9a-fA-F]{4})|x(?![0-9a-fA-F]{2})|N(?!\{))")


@dataclass(frozen=True, slots=True)
class Checked:
    """The findings of a source, sorted by place, without the `suppressed` ones.

    `open` names the functions of which it matters to the findings who in other files calls them, methods with the
    paths of their class's bases; it is `unasked` where no other file calls any. `problems` are lines about rules of
    plugins that failed; the other rules' findings are there.
    """

    findings: tuple[Finding, ...]
    suppressed: int = 0
    open: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    unasked: bool = False


@dataclass(frozen=True, slots=True)
class _Opened:
    """What is open, and whether that was not asked, as in `Checked`."""

    open: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unasked: bool = False


def check_source(
    source: Source, settings: Settings, outside: Outside = NOTHING, *, ask: bool = False
) -> Checked:
    """The findings of one source, given what other files say; with `ask`, also what is open.

    Raises:
        InternalError: a rule failed on this source.
    """
    text = source.text
    faults = source.broken()
    # What does not parse counts as for a script, whole or not at all: for the words that stand in it.
    rules = rules_about(source.written if faults else text, settings.rules)
    heed = not settings.ignore_noqa and has_suppressions(text)
    if not rules:
        return _only_suppressions(source, settings) if heed else Checked(())
    with room_for_trees():
        checked = _check(source, settings, rules, heed, outside, ask)
    if not faults:
        return checked
    from tflint_perf.text.syntax import with_faults

    # Whether a suppression is unused cannot be told while a part of the program is not known.
    known = (finding for finding in checked.findings if finding.code != _UNUSED)
    return replace(checked, findings=with_faults(known, source))


def summarise_source(source: Source) -> Summary:
    """What a file says to others; nothing where it does not parse.

    Raises:
        InternalError: the model failed on this source.
    """
    from tflint_perf.analysis.links.paths import PATHS
    from tflint_perf.analysis.links.summary import Summary, summarise

    return _asked(source, PATHS, summarise) or Summary({}, (), {})


def hindrances_in_source(source: Source) -> Hindrances:
    """What stands against tracing the functions of a file; nothing where it does not parse.

    Raises:
        InternalError: the model failed on this source.
    """
    from tflint_perf.analysis.links.hindrances import Hindrances, hindrances
    from tflint_perf.analysis.links.paths import PATHS

    return _asked(source, PATHS, hindrances) or Hindrances({}, {})


def uses_in_source(source: Source, outside: Outside) -> tuple[Use, ...]:
    """What a file does with what it imports, given what other files say.

    Raises:
        InternalError: the model failed on this source.
    """
    from tflint_perf.analysis.links.uses import uses

    found = _asked(source, outside, lambda model: tuple(uses(model))) or ()
    return tuple(use.seen_to(each_step=in_cells(use.seen.each_step, source)) for use in found)


def _asked(source: Source, outside: Outside, question: Callable[[Model], T]) -> T | None:
    """What the model of a source answers, which needs the code alone; None where it does not parse."""
    with room_for_trees():
        module: cst.Module | None = abstract_module(source.text)
        if module is None:
            try:
                module = whole_module(source.text)
            except (cst.ParserSyntaxError, RecursionError):
                return None
        row = module.rows.get if isinstance(module, AbstractModule) else rows_of(module, source)
        model = guarded("model", partial(Model, module, source.text, outside, row, source.form))
        try:
            return guarded("summary", partial(question, model))
        finally:
            model.release()


def _only_suppressions(source: Source, settings: Settings) -> Checked:
    remaining, suppressed = suppress(source, (), (), settings, _known_codes())
    return Checked(tuple(remaining), suppressed)


def _check(
    source: Source, settings: Settings, rules: list[type[Rule]], heed: bool, outside: Outside, ask: bool
) -> Checked:
    if _SHORT_ESCAPE.search(source.text):
        from tflint_perf.text.syntax import fault_of_escape, invalid_syntax

        fault = fault_of_escape(source.text)
        if fault is not None:
            return Checked((invalid_syntax(source, *fault),))
    opened: _Opened | None = None
    looked = None
    asked = rules
    if not (heed and names_us(source.text)) and not expects_some():
        looked = _first_look(source, rules, outside, ask)
        if looked is not None:
            rules, opened = looked
            if not rules and opened is not None:
                return Checked((), 0, opened.open, (), opened.unasked)
    go_on()
    edited = edited_tree()
    try:
        module = whole_module(source.text) if edited is None else edited.of(source.text)
    except cst.ParserSyntaxError as error:
        from tflint_perf.text.syntax import invalid_syntax, is_for_this_python

        place = error.raw_line, error.raw_column + 1
        if is_for_this_python(source.text):
            row = source.place(source.offset(*place)).row
            problem = f"{source.path}:{row}: not linted: Python accepts this layout, but the parser does not ({error.message})"
            return Checked((), problems=(problem,))
        return Checked((invalid_syntax(source, *place, error.message),))
    except RecursionError:
        raise InternalError("the code is nested too deeply to be parsed") from None
    model = guarded("model", partial(Model, module, source.text, outside, form=source.form))
    try:
        problems: list[str] = []
        reports = reports_of(model, rules, problems)
        positions = cache(partial(_positions, model, edited))
        if is_waited_for() and not source.broken():
            bare = [(rule, replace(report, fix=None, bold=None)) for rule, report in reports]
            tell(_findings(model, source, settings, bare, heed, [], positions, True)[0])
        if opened is None:
            opened = _opened(model, asked, reports, outside, ask)
        findings, suppressed = _findings(
            model, source, settings, reports, heed, problems, positions, looked is not None
        )
        told = tuple(f"{problem}{ON_FILE}{source.path}" for problem in problems)
        return Checked(findings, suppressed, opened.open, told, opened.unasked)
    finally:
        model.release()


def _positions(model: Model, edited: EditedTree | None) -> Positions:
    from tflint_perf.text.positions import Positions

    extents = edited.extents() if edited is not None else ()
    return guarded("positions", partial(Positions, model.module, model.text, extents))


def _first_look(
    source: Source, rules: list[type[Rule]], outside: Outside, ask: bool
) -> tuple[list[type[Rule]], _Opened | None] | None:
    """The rules that have something to report, by the code alone, and what is open; most files need no second look.

    None where that takes the whole tree. Where somebody waits for findings and there are some, what is open is to be
    found out when they have been told.
    """
    # Only the rules of this project are known to ask for nothing but code.
    if any(catalogue()[rule.code].plugin is not None for rule in rules):
        return None
    module = abstract_module(source.text)
    if module is None:
        return None
    try:
        model = guarded("model", partial(Model, module, source.text, outside, form=source.form))
        try:
            reports = reports_of(model, rules, [])
            reporting = {rule for rule, _ in reports}
            if not (reporting or source.broken()):
                tell(())
            opened = None if reporting and is_waited_for() else _opened(model, rules, reports, outside, ask)
            return [rule for rule in rules if rule in reporting], opened
        finally:
            model.release()
    except InternalError:
        return None  # a second look at the whole tree shows whether it was for want of white space


def _opened(model: Model, rules: list[type[Rule]], reports: Reports, outside: Outside, ask: bool) -> _Opened:
    """The functions that are open, where one asks, and anything depended on who calls them."""
    if not (ask and isinstance(outside, AskedAboutCallers)):
        return _Opened()
    from tflint_perf.lint.left_open import depends_on_callers, is_called_by_none, left_open

    if not guarded("callers", partial(depends_on_callers, model, outside)):
        return _Opened()
    if guarded("callers", partial(is_called_by_none, model, outside)):
        return _Opened(unasked=True)
    return _Opened(left_open(model, rules, reports, outside))


def _findings(
    model: Model,
    source: Source,
    settings: Settings,
    reports: Reports,
    heed: bool,
    problems: list[str],
    positions_of_all: Callable[[], Positions],
    parsed: bool,
) -> tuple[tuple[Finding, ...], int]:
    """The findings that remain, and how many are suppressed; `parsed` says that Python's own parser took the text."""
    # A bare suppression comment with nothing to suppress is nobody's business.
    if not reports and not (heed and names_us(model.text)):
        return (), 0
    from tflint_perf.edit import Editor

    positions = positions_of_all()
    editor = Editor(model, positions, source)
    barred = _unwritable(source, parsed) if any(report.fix is not None for _, report in reports) else ""
    findings = [
        finding
        for rule, report in reports
        if (
            finding := tolerant(
                rule,
                partial(
                    _finding, rule, report, model, editor, positions, source, barred, settings.bold_fixes
                ),
                problems,
            )
        )
    ]
    findings.sort(key=lambda finding: (finding.start.offset, finding.code))
    if not heed:
        return tuple(findings), 0
    statements = [positions.span(statement) for statement in model.walk.at]
    remaining, suppressed = suppress(source, findings, statements, settings, _known_codes())
    return tuple(remaining), suppressed


def _unwritable(source: Source, parsed: bool) -> str:
    """Why no fix can be made in a file, whatever it does; "" where any can."""
    from tflint_perf.text.syntax import is_too_new

    odd = odd_line(source.text)
    if odd is not None:
        at, what = odd
        return f"no fix: {what} (line {source.place(at).row})"
    new = None if parsed else is_too_new(source.text)
    if new is None:
        return ""
    running = ".".join(map(str, sys.version_info[:2]))
    place = source.place(source.offset(new.row, 1))
    return f"no fix: the file needs a newer Python than the {running} that runs tflint-perf, so a fix can't be checked (line {place.row})"


def _finding(
    rule: type[Rule],
    report: Report,
    model: Model,
    editor: Editor,
    positions: Positions,
    source: Source,
    barred: str,
    bold: bool,
) -> Finding:
    node = report.node
    fixes = _fixes(report, editor, source, barred, bold)
    start = source.place(positions.start(_named(node, positions, source)))
    end = source.place(positions.header_end(node))
    statement = model.statement_of(node)
    first, last = source.row(start.offset), source.row(end.offset)
    noqa_row = start.row + max(source.row(positions.header_end(statement)), last) - first
    return Finding(
        rule.code,
        rule.name,
        report.message,
        start,
        end,
        source.lines(first, last),
        noqa_row,
        fixes.fix,
        fixes.note,
        fixes.other,
        each_step(rule, report, model, positions, source),
        to_prove=fixes.to_prove,
        minor=report.minor,
        beside="; ".join(_said(beside, editor) for beside in report.beside),
        as_measured=report.as_measured and not fixes.in_parts,
    )


@dataclass(frozen=True, slots=True)
class _Fixes:
    """What a finding offers, as `Finding` has it, and whether its cost can't be saved whole."""

    fix: Fix | None = None
    note: str | None = None
    other: Fix | None = None
    to_prove: bool = False
    in_parts: bool = False


def _fixes(report: Report, editor: Editor, source: Source, barred: str, bold: bool) -> _Fixes:
    """The fixes of a report, or why it has none."""
    if report.fix is None:
        return _Fixes()
    # What comes first has the choice of names.
    first = (
        report.bold(editor) if bold and report.bold_first and report.bold is not None and not barred else None
    )
    made, cell = report.fix(editor), editor.cell(report.node)
    if barred:
        # What the rule itself has against it stays true when the layout is mended.
        return _Fixes(note=_mended(made, editor, source, cell)[1] if isinstance(made, Refusal) else barred)
    fix, note = _mended(made, editor, source, cell)
    if report.bold is None or not (bold or (fix is None and note)):
        return _Fixes(fix, note, in_parts=_is_in_parts(made))
    bolder = first if first is not None else report.bold(editor)
    other, why_not = _mended(bolder, editor, source, cell)
    in_parts = fix is None and (_is_in_parts(bolder) or (other is None and _is_in_parts(made)))
    if not bold:
        # What a bold fix can't get around is in the way of the other one as well, and there may be much more of that.
        return _Fixes(
            note=note if other is not None else why_not or note,
            to_prove=other is not None,
            in_parts=in_parts,
        )
    # A fix in parts leaves more in eager mode than any other does.
    if report.bold_first and other is not None and not (fix is not None and _is_in_parts(bolder)):
        fix, other = other, fix
    elif fix is None:
        fix, other, note = other, None, why_not or note
    return _Fixes(fix, None if fix is not None else note, other, in_parts=in_parts)


def _is_in_parts(made: Repair | Refusal | None) -> bool:
    return made is not None and made.in_parts


def _said(beside: Beside, editor: Editor) -> str:
    """What a remedy goes with, with the lines where that is: `lines 4 and 7 to 9`."""
    rows = sorted({editor.row(node) for node in beside.nodes})
    runs: list[list[int]] = []
    for row in rows:
        if runs and row == runs[-1][-1] + 1:
            runs[-1].append(row)
        else:
            runs.append([row])
    parts = [part for run in runs for part in (map(str, run) if len(run) < 3 else [f"{run[0]} to {run[-1]}"])]
    listed = " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))
    return beside.text.format(lines=f"line {listed}" if len(rows) == 1 else f"lines {listed}")


def _mended(
    made: Repair | Refusal | None, editor: Editor, source: Source, cell: int | None
) -> tuple[Fix | None, str | None]:
    """What a rule gives as a fix of what stands in `cell`, or why there is none."""
    if made is None:
        return None, None
    if isinstance(made, Refusal):
        return None, f"no fix: {made.reason}{_line(made.node, editor, cell)}"
    lost = lost_by(made.edits, source.text)
    if lost is not None:
        return None, f"no fix: it would lose a comment (line {source.place(lost.start).row})"
    return Fix(_title(made, editor, cell), tuple(_in_order(made.edits)), made.safe, made.bold), None


def _in_order(edits: Iterable[Edit]) -> Iterable[Edit]:
    """The edits of a fix; what it inserts at one place, an import and a function at the top of a file, is one edit."""
    made: dict[object, Edit] = {}
    for edit in dict.fromkeys(edits):
        place = edit.start if edit.start == edit.end else edit
        before = made.get(place)
        made[place] = edit if before is None else replace(before, content=before.content + edit.content)
    return made.values()


def _title(made: Repair, editor: Editor, cell: int | None) -> str:
    """What a fix does and, if it is unsafe, what it may change."""
    if made.safe or not made.may_change:
        return made.message
    return f"{made.message}; may change {made.may_change}{_line(made.shown_by, editor, cell)}"


def _line(node: cst.CSTNode | None, editor: Editor, cell: int | None) -> str:
    """The line of a node, and its cell where that is another one than `cell`."""
    if node is None:
        return ""
    other = editor.cell(node)
    return f" (line {editor.row(node)})" if other == cell else f" (cell {other}, line {editor.row(node)})"


def _named(node: cst.CSTNode, positions: Positions, source: Source) -> cst.CSTNode:
    """Where a finding begins: at the name of the method, if a chain of calls has that on a line of its own."""
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return node
    name = node.func.attr
    on_another_line = source.row(positions.start(name)) > source.row(positions.start(node))
    return name if on_another_line else node


@cache
def _known_codes() -> dict[str, str]:
    return {code: rule.name for code, rule in catalogue().items()}
