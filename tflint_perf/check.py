"""One source to findings: screen, parse, model, rules, suppressions."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import TypeVar

import libcst as cst

from tflint_perf.caller import Caller, Given
from tflint_perf.catalogue import catalogue
from tflint_perf.cost import with_cost
from tflint_perf.edit import Editor
from tflint_perf.finding import Finding, Fix
from tflint_perf.linked import Linked
from tflint_perf.model import Model
from tflint_perf.model.outside import NOTHING, Outside, name_outside
from tflint_perf.model.summary import Summary, Use, paths_of_bases
from tflint_perf.plugins import ON_FILE
from tflint_perf.positions import Positions
from tflint_perf.registry import rules_about
from tflint_perf.rule import Refusal, Report, Rule
from tflint_perf.settings import Settings
from tflint_perf.source import Source
from tflint_perf.suppress import has_suppressions, names_us, suppress
from tflint_perf.syntax import invalid_syntax, with_faults

T = TypeVar("T")
_Reports = list[tuple[type[Rule], Report]]
_PER_STEP = Caller(
    "call",
    "eager",
    per_step=True,
    always=True,
    fates=frozenset({"shown"}),
    given=(Given("*", -1, "stacked"),),
    fed=True,
    trains=True,
)
_COMPILED = Caller("compile", "compiled")
_ONCE = Caller("call", "eager")
_CONSUMING = Caller("consume", which="*")

_UNUSED = "TFP001"

# Deeply nested code needs deep recursion, in the walk and in code generation.
_RECURSION_LIMIT = 8_000


class InternalError(Exception):
    """A rule or the model failed on a file. The message is one line that names where."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The findings of a source, sorted by place, without the `suppressed` ones.

    `open` names the functions of which it matters to the findings who in other files calls them, methods with the
    paths of their class's bases. `problems` are
    lines about rules of plugins that failed; the other rules' findings are there.
    """

    findings: tuple[Finding, ...]
    suppressed: int = 0
    open: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


@cache
def _instance(rule: type[Rule]) -> Rule:
    return rule()


def _parsed(text: str) -> cst.Module:
    """The tree of a module, whose nodes are right as the parser makes them: checking each takes an eighth of the time.

    Raises:
        ParserSyntaxError, RecursionError: it can't be parsed.
    """
    cst.CSTNode.__post_init__ = _unchecked  # type: ignore[method-assign,assignment]
    try:
        return cst.parse_module(text)
    finally:
        cst.CSTNode.__post_init__ = _CHECKED  # type: ignore[method-assign]


# The one that a node has by itself, also where several threads parse at once.
_CHECKED = cst.CSTNode.__post_init__


def _unchecked(node: cst.CSTNode) -> None:
    """In place of a node's own check."""


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the garbage collector from walking a growing tree again and again: parsing is a third quicker.

    The tree is let go before it is switched on again (`Model.release`), so that it finds nothing to do.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


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
    if sys.getrecursionlimit() < _RECURSION_LIMIT:
        sys.setrecursionlimit(_RECURSION_LIMIT)
    with _no_collection():
        checked = _check(source, settings, rules, heed, outside, ask)
    if not faults:
        return checked
    # Whether a suppression is unused cannot be told while a part of the program is not known.
    known = (finding for finding in checked.findings if finding.code != _UNUSED)
    return replace(checked, findings=with_faults(known, source))


def summarise_source(source: Source) -> Summary:
    """What a file says to others; nothing where it does not parse.

    Raises:
        InternalError: the model failed on this source.
    """
    from tflint_perf.model.paths import PATHS
    from tflint_perf.model.summary import summarise

    return _asked(source, PATHS, summarise) or Summary({}, (), {})


def uses_in_source(source: Source, outside: Outside) -> tuple[Use, ...]:
    """What a file does with what it imports, given what other files say.

    Raises:
        InternalError: the model failed on this source.
    """
    from tflint_perf.model.uses import uses

    return _asked(source, outside, lambda model: tuple(uses(model))) or ()


def _asked(source: Source, outside: Outside, question: Callable[[Model], T]) -> T | None:
    """What the model of a source answers; None where it does not parse."""
    if sys.getrecursionlimit() < _RECURSION_LIMIT:
        sys.setrecursionlimit(_RECURSION_LIMIT)
    with _no_collection():
        try:
            module = _parsed(source.text)
        except (cst.ParserSyntaxError, RecursionError):
            return None
        model = _guarded("model", partial(Model, module, source.text, outside))
        try:
            return _guarded("summary", partial(question, model))
        finally:
            model.release()


def _only_suppressions(source: Source, settings: Settings) -> Checked:
    remaining, suppressed = suppress(source, (), (), settings, _known_codes())
    return Checked(tuple(remaining), suppressed)


def _check(
    source: Source, settings: Settings, rules: list[type[Rule]], heed: bool, outside: Outside, ask: bool
) -> Checked:
    try:
        module = _parsed(source.text)
    except cst.ParserSyntaxError as error:
        return Checked((invalid_syntax(source, error.raw_line, error.raw_column + 1, error.message),))
    except RecursionError:
        raise InternalError("the code is nested too deeply to be parsed") from None
    model = _guarded("model", partial(Model, module, source.text, outside))
    try:
        problems: list[str] = []
        reports = _reports(model, rules, problems)
        left_open: Mapping[str, tuple[str, ...]] = {}
        if ask and isinstance(outside, Linked) and outside.asked:
            left_open = _open_to_any(model, rules, reports, outside)
        checked = _findings(model, source, settings, reports, heed, left_open, problems)
        told = tuple(f"{problem}{ON_FILE}{source.path}" for problem in problems)
        return replace(checked, problems=told) if told else checked
    finally:
        model.release()


def _reports(model: Model, rules: list[type[Rule]], problems: list[str]) -> _Reports:
    return [
        (rule, report)
        for rule in rules
        for report in _tolerant(rule, partial(_ask, rule, model), problems) or ()
    ]


def _tolerant(rule: type[Rule], work: Callable[[], T], problems: list[str]) -> T | None:
    """Let a rule do a piece of work; where one of a plugin fails, note it and go on with the others."""
    try:
        return _guarded(rule.code, work)
    except InternalError as error:
        info = catalogue().get(rule.code)
        if info is None or info.plugin is None:
            raise
        problems.append(f"plugin `{info.plugin.name}`: {error}")
        return None


def _open_to_any(
    model: Model, rules: list[type[Rule]], reports: _Reports, outside: Linked
) -> Mapping[str, tuple[str, ...]]:
    """The functions that are open by any rule: if only by those selected, a rule's findings would depend on the others."""
    house = {code for code, info in catalogue().items() if info.plugin is None}
    others = [rule for rule in rules_about(model.text, house) if rule not in rules]
    try:
        return _open(model, [*rules, *others], [*reports, *_reports(model, others, [])], outside)
    except InternalError:
        return _open(model, rules, reports, outside)  # a rule that is left out because it fails


def _open(
    model: Model, rules: list[type[Rule]], reports: _Reports, outside: Linked
) -> Mapping[str, tuple[str, ...]]:
    """The functions whose callers in other files may decide on a finding: on one that is there, or one more.

    Which these are shows when the rules are asked again: supposing that all functions run per step, there may
    be more findings; supposing that all are compiled, or run once, there may be fewer, and more of rules about
    compiled code.
    """
    found = {report.node for _, report in reports}
    differ = _supposing((_PER_STEP, _CONSUMING), model, rules, outside) ^ found
    if found:
        for caller in (_COMPILED, _ONCE):
            differ |= found - _supposing((caller,), model, rules, outside)
    if compiled := [rule for rule in rules if rule.in_compiled_code]:
        differ |= _supposing((_COMPILED,), model, compiled, outside) - found
    functions = model.calls.functions_outside(differ)
    named = {name_outside(function): function.owner for function in functions}
    offered = dict.fromkeys(model.offered.names_of(differ), ())
    return offered | {
        name: paths_of_bases(model, owner) if owner is not None else ()
        for name, owner in sorted(named.items(), key=lambda pair: pair[0])
    }


def _supposing(
    callers: tuple[Caller, ...], model: Model, rules: list[type[Rule]], outside: Linked
) -> set[cst.CSTNode]:
    """What would be reported if every function had these callers."""
    other = model.with_callers(outside.supposing(*callers))
    nodes = {report.node for _, report in _reports(other, rules, [])}
    other.forget()
    return nodes


def _findings(
    model: Model,
    source: Source,
    settings: Settings,
    reports: _Reports,
    heed: bool,
    left_open: Mapping[str, tuple[str, ...]],
    problems: list[str],
) -> Checked:
    # A bare suppression comment with nothing to suppress is nobody's business.
    if not reports and not (heed and names_us(model.text)):
        return Checked((), 0, left_open)
    positions = _guarded("positions", partial(Positions, model.module, model.text))
    editor = Editor(model, positions, source)
    findings = [
        finding
        for rule, report in reports
        if (
            finding := _tolerant(
                rule, partial(_finding, rule, report, model, editor, positions, source), problems
            )
        )
    ]
    findings.sort(key=lambda finding: (finding.start.offset, finding.code))
    if not heed:
        return Checked(tuple(findings), 0, left_open)
    statements = [positions.span(statement) for statement in model.walk.at]
    remaining, suppressed = suppress(source, findings, statements, settings, _known_codes())
    return Checked(tuple(remaining), suppressed, left_open)


def _ask(rule: type[Rule], model: Model) -> list[Report]:
    return list(_instance(rule).check(model))


def _guarded(where: str, work: Callable[[], T]) -> T:
    """Do a piece of work; whatever goes wrong in it becomes an `InternalError` that names where."""
    try:
        return work()
    except RecursionError:
        raise InternalError(f"{where}: the code is nested too deeply") from None
    except Exception as error:
        import traceback

        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{last.filename.rsplit('/', 1)[-1]}:{last.lineno}"
        raise InternalError(
            f"{where}: {type(error).__name__}: {error} ({place})".replace("\n", " ")
        ) from error


def _finding(
    rule: type[Rule], report: Report, model: Model, editor: Editor, positions: Positions, source: Source
) -> Finding:
    node = report.node
    fix, note = None, None
    if report.fix is not None:
        made = report.fix(editor)
        if isinstance(made, Refusal):
            where = f" (line {editor.row(made.node)})" if made.node is not None else ""
            note = f"no fix: {made.reason}{where}"
        elif made is not None:
            fix = Fix(made.message, tuple(made.edits), made.safe)
    start = source.place(positions.start(node))
    end = source.place(positions.header_end(node))
    statement = model.statement_of(node)
    first, last = source.row(start.offset), source.row(end.offset)
    noqa_row = start.row + max(source.row(positions.header_end(statement)), last) - first
    message = with_cost(rule.code, report.message) if report.as_measured else report.message
    return Finding(rule.code, rule.name, message, start, end, source.lines(first, last), noqa_row, fix, note)


@cache
def _known_codes() -> dict[str, str]:
    return {code: rule.name for code, rule in catalogue().items()}
