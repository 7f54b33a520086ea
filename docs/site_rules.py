"""The site's pages of the rules: the documentation that stands in each rule, its evidence drawn, and its two scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, tostring

from rules_table import finds, link_to, measured

from tflint_perf.catalogue.evidence import Evidence, all_evidence, read_evidence
from tflint_perf.catalogue.measured import effect_of, runs_of
from tflint_perf.catalogue.rules import RuleInfo, catalogue
from tflint_perf.catalogue.symptoms import ELSEWHERE, SYMPTOMS, Symptom, codes_of
from tflint_perf.cli.pages import OnRecord, rule_markdown
from tflint_perf.cli.rules_list import fixes_of, ranked_causes
from tflint_perf.config.selection import default_rules
from tflint_perf.verify.beliefs import FOLDER, all_beliefs
from tflint_perf.verify.chart import draw, draw_effect, heading_of
from tflint_perf.verify.experiment import fixtures
from tflint_perf.verify.markup import element
from tflint_perf.verify.series import charts_of, last_steps

# What the first digit of a code says.
_GROUPS = {
    "1": "Python execution",
    "2": "Tracing and graphs",
    "3": "Host and device",
    "4": "Memory",
    "5": "Input pipeline",
    "6": "Left on and out of date",
    "0": "Suppressions",
}
_EVIDENCE = "## Evidence"
_FIXES = {"both": "safe, unsafe", "none": ""}
_COLUMNS = ("rule", "finds", "fix", "default", "measured", "beside the claim")


def rules_pages(on_record: OnRecord) -> dict[str, str]:
    """The overview and a page for each rule, by their paths."""
    pages = {"rules/index.md": "\n".join(_overview(on_record))}
    for rule in _rules().values():
        pages[_path(rule)] = "\n".join(_page(rule, on_record)) + "\n"
    return pages


def groups() -> list[dict[str, Any]]:
    """The rules for the navigation, group by group."""
    return [
        {name: [{f"{rule.code} {rule.name}": _path(rule)} for rule in rules]} for name, rules in _by_group()
    ]


def chart_style() -> str:
    """The style sheet of the charts, which the reports of `tflint-perf verify` use too."""
    return files("tflint_perf.verify").joinpath("chart.css").read_text(encoding="utf-8")


def belief_charts(markdown: str) -> str:
    """The page of beliefs with the charts of each below what was measured of it."""
    on_record = read_evidence(fixtures() / FOLDER / "evidence")
    for name, belief in all_beliefs().items():
        charts = [chart for record in on_record.get(name, ()) for chart in _charts(record, belief.title)]
        before, anchor, after = markdown.partition(f'<a id="{name}"></a>')
        markdown = before + anchor + after.replace("\n**Why**", "\n".join(["", *charts, "**Why**"]), 1)
    return markdown


def symptoms() -> str:
    """What people see, in their words, and the rules that each of it leads to."""
    seen = (line for symptom in SYMPTOMS for line in _symptom(symptom))
    others = (line for other in ELSEWHERE for line in _head(other.title, other.says, other.phrases))
    return "\n".join([*seen, *others])


def _symptom(symptom: Symptom) -> Iterator[str]:
    rules = _rules()
    yield from (f'<a id="{symptom.name}"></a>', "")
    yield from _head(symptom.title, symptom.says, symptom.phrases)
    for cause in ranked_causes(symptom, rules, all_evidence()):
        yield from (f"**{cause.why}**", "", '<div class="rules" markdown>', "")
        yield "| rule | finds | fix | measured |"
        yield "|---|---|---|---|"
        for rule in (rules[code] for code in cause.codes):
            yield f"| {link_to(rule, '../')}<br>{rule.name} | {finds(rule)} | {fixes_of(rule)} | {measured(rule)} |"
        yield from ("", "</div>", "")
    alike = [f"[{other.title}](#{other.name})" for other in SYMPTOMS if other.name in symptom.beside]
    if alike:
        yield from (f"See also: {', '.join(alike)}.", "")
    codes = ",".join(sorted(codes_of(symptom, rules)))
    yield from ("```console", f"$ tflint-perf --select {codes}", "```", "")


def _head(title: str, says: str, phrases: Sequence[str]) -> Iterator[str]:
    yield from (f"## {title}", "", says, "")
    yield from ('<div class="words" markdown>', f"In other words: {', '.join(phrases)}.", "</div>", "")


def _rules() -> Mapping[str, RuleInfo]:
    """This project's rules, without those of plugins that happen to be installed."""
    return {code: rule for code, rule in catalogue().items() if rule.plugin is None}


def _by_group() -> Iterator[tuple[str, Sequence[RuleInfo]]]:
    for digit, name in _GROUPS.items():
        rules = [rule for rule in _rules().values() if re.sub(r"\D", "", rule.code)[0] == digit]
        if rules:
            yield name, rules


def _path(rule: RuleInfo) -> str:
    return f"rules/{rule.code}.md"


def _overview(on_record: OnRecord) -> Iterator[str]:
    rules = _rules()
    on = default_rules(rules, on_record)
    verdicts = [record.verdict for code in rules for record in on_record.get(code, ())]
    # The tables take the room.
    yield from ("---", "hide:", "  - toc", "---")
    yield "# Rules"
    yield ""
    yield (
        f"{len(rules)} rules, {len(on)} of them on by default. Each but those about correctness claims a cost and has an "
        f"[experiment](../experiments.md) that shows it: {verdicts.count('confirmed')} verdicts on record confirm their "
        f"claim, {verdicts.count('refuted')} refute it. A bar shows the effect with its interval on a logarithmic "
        "scale whose lines are 1×, 10× and 100×; the dashed line is the least effect that the rule claims."
    )
    for name, members in _by_group():
        yield ""
        yield f"## {name}"
        yield ""
        yield from ('<div class="rules" markdown>', "")
        yield f"| {' | '.join(_COLUMNS)} |"
        yield f"|{'---|' * len(_COLUMNS)}"
        for rule in members:
            yield f"| {' | '.join(_row(rule, rule.code in on, on_record.get(rule.code, ())))} |"
        yield from ("", "</div>")


def _row(rule: RuleInfo, on: bool, evidence: Sequence[Evidence]) -> Iterator[str]:
    yield f"[{rule.code}]({rule.code}.md)<br>{rule.name}"
    yield finds(rule)
    yield _FIXES.get(rule.fixes, rule.fixes)
    yield "on" if on else "off"
    yield measured(rule)
    yield "<br>".join(_bar(record) for record in evidence if record.record.get("effect"))


def _bar(evidence: Evidence) -> str:
    least = evidence.record["claim"]["least"]
    say = f"{effect_of(evidence.record)} on {evidence.where}; claimed: at least {least:g}×"
    return _html(draw_effect(evidence.record["effect"], least, say))


def _page(rule: RuleInfo, on_record: OnRecord) -> Iterator[str]:
    for line in rule_markdown(rule, on_record):
        yield line
        if line == _EVIDENCE:
            yield from ("", '<div class="evidence" markdown>')
    if on_record.get(rule.code):
        yield from ("", "</div>")
    for record in on_record.get(rule.code, ()):
        yield from _charts(record, rule.name)
    folder = fixtures() / rule.code
    if folder.is_dir():
        yield ""
        yield "## Experiment"
        yield ""
        yield f"`tflint-perf verify {rule.code}` runs these two scripts in turn and compares them: "
        yield "[how the experiments work](../experiments.md)."
        yield ""
        yield from _scripts(folder)
    yield ""


def _charts(evidence: Evidence, name: str) -> Iterator[str]:
    """Step time and memory over the steps, slow against fast, if the experiment ran."""
    charts = charts_of(evidence.record)
    if not charts:
        return
    figures = [
        element("figure", element("figcaption", heading_of(chart)), draw(chart, name)) for chart in charts
    ]
    pairs, last = len(runs_of(evidence.record, "slow")), last_steps(evidence.record)
    whole = evidence.record["steps"]
    # What is timed ends with whole windows, so a run that was not ended early may lack a few steps.
    ended = [f"the {side} script came to step {at:,}" for side, at in last.items() if at < 0.9 * whole]
    early = f" A run ends when it has been timed long enough: {' and '.join(ended)}." if ended else ""
    yield ""
    yield (
        f"Slow against fast on {evidence.device}, up to {whole:,} steps a run, {pairs} runs each; the thick "
        f"line is the middle run of each script.{early}"
    )
    yield ""
    # Search would find nothing but the numbers at the axes.
    yield _html(element("div", *figures, class_="charts", data_search_exclude=""))
    yield ""


def _scripts(folder: Path) -> Iterator[str]:
    slow, fast = ((folder / name).read_text(encoding="utf-8") for name in ("slow.py", "fast.py"))
    changed = unified_diff(slow.splitlines(), fast.splitlines(), "slow.py", "fast.py", lineterm="")
    yield from _tab("slow.py", "python", slow.splitlines())
    yield from _tab("fast.py", "python", fast.splitlines())
    yield from _tab("What differs", "diff", list(changed))


def _tab(title: str, language: str, lines: Sequence[str]) -> Iterator[str]:
    yield f'=== "{title}"'
    yield ""
    yield f"    ```{language}"
    yield from (f"    {line}".rstrip() for line in lines)
    yield "    ```"
    yield ""


def _html(markup: Element) -> str:
    return tostring(markup, encoding="unicode", method="html")
