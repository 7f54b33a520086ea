"""What `tflint-perf rules` prints: all rules in a table, or those that a symptom leads to, cause by cause."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tflint_perf.catalogue.cost import WHAT_COSTS_ARE, cost_of, figures_of
from tflint_perf.catalogue.own_rules import OWN_RULES
from tflint_perf.catalogue.rules import RuleInfo
from tflint_perf.catalogue.symptoms import (
    SYMPTOMS,
    Cause,
    Elsewhere,
    Symptom,
    causes_of,
    claims_it,
    codes_of,
    symptoms_of,
)
from tflint_perf.cli.pages import OnRecord, status
from tflint_perf.config.selection import default_rules
from tflint_perf.report.style import Style

Rules = Mapping[str, RuleInfo]

_FIXES = {"both": "safe, unsafe"}
_COLUMNS = ("code", "name", "fix", "default", "cost")
# Sentences are broken at the width of pages that people read.
_WIDTH = 100


def fixes_of(rule: RuleInfo) -> str:
    """Which fixes a rule has, in words: `safe, unsafe`, `unsafe, bold`, `none`."""
    said = _FIXES.get(rule.fixes, rule.fixes)
    return f"{said}, bold" if rule.bold else said


def cost_in_words(rule: RuleInfo, on_record: OnRecord) -> str:
    """What a rule was measured to cost, or why there is no figure."""
    evidence = on_record.get(rule.code, ())
    cost = cost_of(evidence)
    if cost is not None:
        return cost
    if rule.claim is None:
        return "none: about a comment" if rule.code in OWN_RULES else "not time, but what the program does"
    known = status(rule, evidence)
    return (
        "not measured: its script needs a GPU, and has not been run on one"
        if known == "not measurable"
        else known
    )


def rules_text(rules: Rules, on_record: OnRecord, style: Style) -> Iterator[str]:
    """A table of all rules, and the symptoms that lead to some of them."""
    rows = _rows(rules.values(), on_record)
    yield from _table([_COLUMNS, *rows], style, headed=True)
    yield WHAT_COSTS_ARE
    yield ""
    yield style.strong("What do you see?")
    width = max(len(symptom.name) for symptom in SYMPTOMS)
    for symptom in SYMPTOMS:
        yield f"  {symptom.name:<{width}}  {symptom.title}"
    yield 'Narrow the rules by one, in its words or yours: tflint-perf rules --symptom "out of memory"'


def symptom_text(symptom: Symptom, rules: Rules, on_record: OnRecord, style: Style) -> Iterator[str]:
    """What a symptom is, its rules cause by cause, and what to do next."""
    yield style.strong(symptom.title)
    yield style.frame("=" * len(symptom.title))
    yield from textwrap.wrap(symptom.says, _WIDTH)
    causes = ranked_causes(symptom, rules, on_record)
    lines = iter(_table(_rows((rules[code] for cause in causes for code in cause.codes), on_record), style))
    for cause in causes:
        yield ""
        yield from textwrap.wrap(cause.why, _WIDTH)
        yield from (f"  {next(lines)}" for _ in cause.codes)
    yield ""
    yield from textwrap.wrap(WHAT_COSTS_ARE, _WIDTH)
    for other in SYMPTOMS:
        if other.name in symptom.beside:
            yield f"See also: {other.name} ({other.title})"
    yield "Look for them in your code:"
    yield f"  tflint-perf --select {','.join(sorted(codes_of(symptom, rules)))}"


def elsewhere_text(elsewhere: Elsewhere) -> Iterator[str]:
    """Where to look for what no rule finds."""
    yield from textwrap.wrap(elsewhere.says, _WIDTH)


def ranked_causes(symptom: Symptom, rules: Rules, on_record: OnRecord) -> list[Cause]:
    """The causes of a symptom, those at the end of whose rules none is on by default; the rules of each by their rank.

    First those that are on and whose cost is confirmed, of these the ones that claim what the symptom shows, and the
    larger cost before the smaller.
    """
    on = default_rules(rules, on_record)

    def rank(code: str) -> tuple[bool, bool, bool, float]:
        confirmed = [
            cost.value for cost in figures_of(on_record.get(code, ())) if cost.verdict == "confirmed"
        ]
        return (
            code not in on,
            not confirmed,
            not claims_it(rules[code], symptom),
            -max(confirmed, default=0.0),
        )

    causes = [Cause(cause.why, tuple(sorted(cause.codes, key=rank))) for cause in causes_of(symptom, rules)]
    return sorted(causes, key=lambda cause: on.isdisjoint(cause.codes))


def rule_row(rule: RuleInfo, rules: Rules, on_record: OnRecord) -> dict[str, Any]:
    """A rule of the list for machines."""
    return {
        "code": rule.code,
        "name": rule.name,
        "summary": rule.summary,
        "fix": rule.fixes,
        "bold": rule.bold,
        "default": rule.code in default_rules(rules, on_record),
        "cost": cost_of(on_record.get(rule.code, ())),
        "status": status(rule, on_record.get(rule.code, ())),
        "symptoms": [symptom.name for symptom in symptoms_of(rule.code, rules)],
    }


def _rows(rules: Iterable[RuleInfo], on_record: OnRecord) -> list[tuple[str, ...]]:
    known = list(rules)
    on = default_rules({rule.code: rule for rule in known}, on_record)
    return [
        (
            rule.code,
            rule.name,
            fixes_of(rule),
            "on" if rule.code in on else "off",
            cost_in_words(rule, on_record),
        )
        for rule in known
    ]


def _table(rows: Sequence[Sequence[str]], style: Style, *, headed: bool = False) -> Iterator[str]:
    """Rows with their columns below each other; the codes of rules look as they do in findings."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        code, *others = map(str.ljust, row, widths)
        if headed and number == 0:
            yield style.strong("  ".join((code, *others)).rstrip())
        else:
            yield "  ".join((style.code(code), *others)).rstrip()
