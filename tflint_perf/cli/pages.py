"""What `tflint-perf rule`, `tflint-perf config` and `--show-settings` print."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tflint_perf.catalogue.addresses import page_address
from tflint_perf.catalogue.cost import cost_of
from tflint_perf.catalogue.cost_over_sizes import SIZES_HEADER, cost_over_sizes, rows_of_sizes
from tflint_perf.catalogue.evidence import Evidence
from tflint_perf.catalogue.judged import all_judged
from tflint_perf.catalogue.measured import effect_of, figure_of, worse_of
from tflint_perf.catalogue.rules import RuleInfo, catalogue
from tflint_perf.catalogue.symptoms import symptoms_of
from tflint_perf.config.keys import Key
from tflint_perf.config.selection import default_rules
from tflint_perf.config.settings import Settings
from tflint_perf.report.style import Style

# The strongest thing that any device has shown decides what is said of a rule.
_VERDICTS = ("confirmed", "refuted", "inconclusive", "not measurable")
_FIXES = {
    "safe": "A safe fix.",
    "unsafe": "An unsafe fix.",
    "both": "A fix, safe or unsafe as the code allows.",
    "none": "No fix.",
}
_EVIDENCE = (
    "device",
    "TensorFlow",
    "Keras",
    "Python",
    "date",
    "slow",
    "fast",
    "effect (interval)",
    "verdict",
)
_NOTHING = "-"
_WIDTH = 120
# What goes on with no line above it.
_NEW = re.compile(r"\s*(?:$|- |\||#|```)")

# All the evidence on record, by code: whether a rule is on depends on whether there is any.
OnRecord = Mapping[str, Sequence[Evidence]]


def rule_object(rule: RuleInfo, on_record: OnRecord) -> dict[str, Any]:
    """A rule for machines; its `evidence` are the records as they stand on file, each with where it is from."""
    evidence = on_record.get(rule.code, ())
    return {
        "code": rule.code,
        "name": rule.name,
        "url": page_address(rule.code),
        "summary": rule.summary,
        "explanation": rule.explanation,
        "fix": rule.fixes,
        "bold": rule.bold,
        "default": _is_default(rule, on_record),
        "status": status(rule, evidence),
        "judged": asdict(all_judged()[rule.code]) if rule.code in all_judged() else None,
        "claim": asdict(rule.claim) if rule.claim else None,
        "evidence": [
            {"device": record.device, "versions": dict(record.versions), "date": record.date, **record.record}
            for record in evidence
        ],
    }


def status(rule: RuleInfo, evidence: Sequence[Evidence]) -> str:
    """What is known of the claim: a verdict, `not measured`, or `correctness` for a rule without a claim."""
    if rule.claim is None:
        return "correctness"
    verdicts = {record.verdict for record in evidence}
    return next((verdict for verdict in _VERDICTS if verdict in verdicts), "not measured")


def rule_markdown(rule: RuleInfo, on_record: OnRecord) -> Iterator[str]:
    """A rule's page: what it claims, its documentation, and its evidence."""
    evidence = on_record.get(rule.code, ())
    yield f"# {rule.name} ({rule.code})"
    yield ""
    yield f"{rule.summary.rstrip('.')}."
    yield ""
    yield from _facts(rule, on_record)
    yield ""
    yield rule.explanation.rstrip()
    if evidence:
        yield ""
        yield "## Evidence"
        yield ""
        yield "Measured on the rule's own small scripts, not on your program nor on the example above."
        yield ""
        yield from _evidence_table(evidence)


def rule_text(rule: RuleInfo, on_record: OnRecord, style: Style) -> Iterator[str]:
    """The same for a terminal: headings underlined, code set in."""
    in_code = False
    for line in _no_wider("\n".join(rule_markdown(rule, on_record)).split("\n")):
        if line.startswith("```"):
            in_code = not in_code
        elif in_code:
            yield f"    {line}".rstrip()
        elif heading := re.fullmatch(r"(#+) (.+)", line):
            yield style.strong(heading[2])
            yield style.frame(("=" if heading[1] == "#" else "-") * len(heading[2]))
        else:
            yield line


def _no_wider(lines: Iterable[str]) -> Iterator[str]:
    """Lines of prose that are too wide for a terminal broken, and their rest put before the line that goes on with it."""
    rest, in_code = "", False
    for line in lines:
        if rest and _NEW.match(line) is None and not rest.endswith("."):
            line = f"{rest} {line.strip()}"
        elif rest:
            yield rest
        rest = ""
        in_code ^= line.startswith("```")
        if in_code or len(line) <= _WIDTH or line.startswith("|"):
            yield line
            continue
        indent = " " * (len(line) - len(line.lstrip(" -")))
        *whole, rest = textwrap.wrap(
            line, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
        yield from whole
    if rest:
        yield rest


def _is_default(rule: RuleInfo, on_record: OnRecord) -> bool:
    return rule.code in default_rules({rule.code: rule}, on_record)


def _record(rule: RuleInfo) -> Iterator[str]:
    """What readers said of its findings, where it is enough to say something."""
    judged = all_judged().get(rule.code)
    if judged is not None and judged.is_enough:
        off = judged.is_seldom_right and not rule.always_on
        seldom = "; so it is off, and `prove` and `run` use it all the same" if off else ""
        yield f"{judged.said[0].upper()}{judged.said[1:]}{seldom}."


def _facts(rule: RuleInfo, on_record: OnRecord) -> Iterator[str]:
    yield from _what_is_seen(rule)
    bold = " `prove` also tries a bold one." if rule.bold else ""
    yield f"{_FIXES[rule.fixes]}{bold} {'On' if _is_default(rule, on_record) else 'Off'} by default."
    yield from _record(rule)
    if rule.of_programs:
        yield "Severity: info, since it is about a program and no step. It makes the exit code 1 unless `fail-on` is higher."
    if rule.adds_up:
        yield "Nothing is reported of what a program is seen to run a hundred times in all at most, or with a pause of half a second each time."
    if rule.claim is None:
        return
    evidence = on_record.get(rule.code, ())
    of = "last quarter of the steps over the first" if rule.claim.kind == "growth" else "slow over fast"
    device = ", needs a GPU" if rule.claim.needs_gpu else ""
    cost = cost_of(evidence)
    if cost is not None:
        yield f"Cost in the rule's own script, {cost}."
    yield f"Claim: {rule.claim.metric}, {of}, at least {rule.claim.least:g}×{device}; {_verdicts(rule, evidence)}."
    for record in evidence:
        if record.verdict == "refuted":
            effect = effect_of(record.record) or "no effect"
            yield f"Refuted on {record.where}: {effect} was measured, short of what the rule claims."


def _verdicts(rule: RuleInfo, evidence: Sequence[Evidence]) -> str:
    """What each device came to: `confirmed on CPU`."""
    said = dict.fromkeys(f"{record.verdict} on {record.where}" for record in evidence)
    return ", ".join(said) or status(rule, evidence)


def _what_is_seen(rule: RuleInfo) -> Iterator[str]:
    """The symptoms that lead to the rule, which are the words that people know it by."""
    titles = [symptom.title for symptom in symptoms_of(rule.code, {**catalogue(), rule.code: rule})]
    if titles:
        yield f"What you see: {'; '.join([titles[0], *(title[0].lower() + title[1:] for title in titles[1:])])}."


def _evidence_table(evidence: Sequence[Evidence]) -> Iterator[str]:
    yield from _table([_EVIDENCE, *map(_evidence_row, evidence)])
    for record in evidence:
        yield from _sizes(record)
        if record.verdict in ("not measurable", "failed") and (reason := record.record.get("reason")):
            yield ""
            yield f"{record.verdict.capitalize()} on {record.where}: {reason.rstrip('.')}."
        for worse in worse_of(record.record):
            yield ""
            yield f"The fast form does worse on {record.where}: {worse}."


def _sizes(evidence: Evidence) -> Iterator[str]:
    """What was measured at each size, where there are several, and what that says of the cost."""
    rows = list(rows_of_sizes(evidence.record))
    if len(rows) < 2:
        return
    said = cost_over_sizes(evidence.record)
    decides = evidence.record["size"]
    yield ""
    at = f"On {evidence.where}: {said}" if said else f"At {len(rows)} sizes on {evidence.where}"
    yield f"{at}. The verdict is that of the {decides} size."
    yield ""
    yield from _table([SIZES_HEADER, *rows])


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A Markdown table whose columns also stand below each other on a terminal; the first row heads it."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in (rows[0], ["-" * width for width in widths], *rows[1:]):
        yield f"| {' | '.join(map(str.ljust, row, widths))} |"


def _evidence_row(evidence: Evidence) -> Sequence[str]:
    return (
        evidence.device,
        *(evidence.versions.get(name, _NOTHING) for name in ("tensorflow", "keras", "python")),
        evidence.date,
        figure_of(evidence.record, "slow") or _NOTHING,
        figure_of(evidence.record, "fast") or _NOTHING,
        effect_of(evidence.record) or _NOTHING,
        evidence.verdict,
    )


def key_text(key: Key, style: Style) -> Iterator[str]:
    yield style.strong(key.name)
    yield f"  {key.description}"
    yield f"  Type: {key.type_name()}"
    yield f"  Default: {'not set' if key.default is None else key.default}"
    yield f"  Example: {key.example}"


def keys_text(keys: Mapping[str, Key], style: Style) -> Iterator[str]:
    for number, key in enumerate(keys.values()):
        if number:
            yield ""
        yield from key_text(key, style)


def key_object(key: Key) -> dict[str, Any]:
    return {
        "description": key.description,
        "type": key.type_name(),
        "default": key.default,
        "example": key.example,
    }


def settings_page(settings: Settings, config: Path | None) -> Iterator[str]:
    """The settings that files are linted with, as a configuration that would give them."""
    yield f"# {config or 'no configuration file'}; paths are relative to {settings.root}"
    values: dict[str, object] = {
        "select": sorted(settings.rules),
        "per-file-ignores": {pattern: sorted(codes) for pattern, codes in settings.per_file_ignores},
        "severity": dict(settings.severities),
        "fixable": sorted(settings.fixable),
        "extend-safe-fixes": sorted(settings.safe_by_request),
        "extend-unsafe-fixes": sorted(settings.unsafe_by_request),
        "fix": settings.fix == "apply",
        "unsafe-fixes": settings.unsafe_fixes,
        "bold-fixes": settings.bold_fixes,
        "exclude": list(settings.exclude),
        "include": list(settings.include),
        "include-tests": settings.include_tests,
        "force-exclude": settings.force_exclude,
        "respect-gitignore": settings.respect_gitignore,
    }
    if settings.project_root is not None:
        values["project-root"] = str(settings.project_root)
    if settings.measured is not None:
        values["measured"] = str(settings.measured)
    if settings.docs_url is not None:
        values["docs-url"] = settings.docs_url
    if settings.baseline is not None:
        values["baseline"] = str(settings.baseline)
    for name, value in values.items():
        yield f"{name} = {_toml(value)}"


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)
