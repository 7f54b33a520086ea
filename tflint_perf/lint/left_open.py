"""Which functions of a file leave a finding open until it is known who calls them in other files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import libcst as cst

from tflint_perf.analysis.links.summary import paths_of_bases
from tflint_perf.analysis.model import Model
from tflint_perf.analysis.pipelines.given_streams import takers_of_streams
from tflint_perf.analysis.values.caller import Caller, Given, Passed
from tflint_perf.analysis.values.outside import PROGRAMS, AskedAboutCallers, name_given, name_outside
from tflint_perf.catalogue.registry import rules_about
from tflint_perf.catalogue.rules import catalogue
from tflint_perf.lint.asking import InternalError, Reports, reports_of
from tflint_perf.rule import Report, Rule

_PER_STEP = Caller(
    "call",
    "eager",
    per_step=True,
    always=True,
    fates=frozenset({"shown"}),
    given=(
        Given("*", -1, "stacked", made=True, size="batch", kind="model", number="number", changes="step"),
    ),
    passed=(Passed("*", -1),),
    fed=True,
    learned_from=True,
    trains=True,
    on_one_graph=True,
    looped=True,
    repeated=True,
    files=("*",),
    applied=True,
)
_COMPILED = Caller("compile", "compiled")
_ONCE = Caller(
    "call",
    "eager",
    given=(Given("*", -1, None, of_functional_model=True),),
    passed=(Passed("*", -1),),
    taped=True,
)
_IN_EAGER = Caller("import", "eager")
_CONSUMING = Caller("consume", which="*")


def depends_on_callers(model: Model, outside: AskedAboutCallers) -> bool:
    """Whether any answer depended on who calls the functions of this file, or may depend on what they are given."""
    return outside.asked or any(takers_of_streams(model.infer, model.calls))


def is_called_by_none(model: Model, outside: AskedAboutCallers) -> bool:
    """Whether it is known that no other file of the project runs anything of this one."""
    infer = model.infer
    return not model.compiled.hands_functions_over() and outside.is_called_by_none(
        base for klass in model.walk.classes.values() for base in infer.classes.bases_outside(klass)
    )


def left_open(
    model: Model, rules: list[type[Rule]], reports: Reports, outside: AskedAboutCallers
) -> Mapping[str, tuple[str, ...]]:
    """The functions that are open by any rule: if only by those selected, a rule's findings would depend on the others.

    Methods come with the paths of their class's bases.
    """
    house = {code for code, info in catalogue().items() if info.plugin is None}
    others = [rule for rule in rules_about(model.text, house) if rule not in rules]
    try:
        return _open(model, [*rules, *others], [*reports, *reports_of(model, others, [])], outside)
    except InternalError:
        return _open(model, rules, reports, outside)  # a rule that is left out because it fails


def _open(
    model: Model, rules: list[type[Rule]], reports: Reports, outside: AskedAboutCallers
) -> Mapping[str, tuple[str, ...]]:
    """The functions whose callers in other files may decide on a finding: on one that is there, or one more.

    Which these are shows when the rules are asked again: supposing that all functions run per step, there may
    be more findings; supposing that all are compiled, or run once in a gradient step, there may be fewer, and more of rules about
    compiled code; supposing that programs run nothing compiled, there may be fewer, too.
    """
    found = _nodes(reports)
    differ = _nodes(_supposing((_PER_STEP, _CONSUMING), model, rules, outside)) ^ found
    # There can only be fewer findings of the rules that have some.
    reporting = {rule for rule, _ in reports}
    if reporting:
        once = _supposing((_ONCE,), model, [rule for rule in rules if rule in reporting], outside)
        differ |= found - _nodes(once)
    of_compiled = [rule for rule in rules if rule.in_compiled_code]
    asked = [rule for rule in rules if rule in reporting or rule.in_compiled_code]
    if asked:
        compiled = _supposing((_COMPILED,), model, asked, outside)
        differ |= found - _nodes(compiled)
        differ |= _nodes(pair for pair in compiled if pair[0] in of_compiled) - found
    takers = {*takers_of_streams(model.infer, model.calls), *model.given_models.takers(differ)}
    programs = (PROGRAMS,) if _are_for_programs(model, reports, outside) else ()
    if not differ and not takers:
        return dict.fromkeys(programs, ())
    functions = model.calls.functions_outside(differ | model.draws.handed_on_from(differ))
    named = {name_outside(function): function.owner for function in functions}
    named |= {name: function.owner for function in takers if (name := name_given(function))}
    offered = dict.fromkeys((*programs, *sorted(model.exported_datasets.names_of(differ))), ())
    return offered | {
        name: paths_of_bases(model, owner) if owner is not None else ()
        for name, owner in sorted(named.items(), key=lambda pair: pair[0])
    }


def _are_for_programs(model: Model, reports: Reports, outside: AskedAboutCallers) -> bool:
    """Whether a finding would not be one in programs that have all compiled functions run in eager mode."""
    about = {rule for rule, report in reports if model.is_compiled(report.node)}
    if not about:
        return False
    found = _nodes(pair for pair in reports if pair[0] in about)
    return not found <= _nodes(_supposing((_IN_EAGER,), model, list(about), outside))


def _supposing(
    callers: tuple[Caller, ...], model: Model, rules: list[type[Rule]], outside: AskedAboutCallers
) -> Reports:
    """What would be reported if every function had these callers."""
    other = model.with_callers(outside.supposing(*callers))
    reports = reports_of(other, rules, [])
    other.forget()
    return reports


def _nodes(reports: Iterable[tuple[type[Rule], Report]]) -> set[cst.CSTNode]:
    return {report.node for _, report in reports}
