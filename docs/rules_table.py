"""The README's table of rules, from the rules themselves and the evidence on record.

python docs/rules_table.py README.md     # puts it where it belongs
python docs/rules_table.py               # prints it
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tflint_perf.catalogue.evidence import all_evidence
from tflint_perf.catalogue.judged import all_judged
from tflint_perf.catalogue.rules import RuleInfo, catalogue
from tflint_perf.cli.rules_list import cost_in_words
from tflint_perf.config.selection import default_rules

BETWEEN = re.compile(r"(?s)(<!-- rules -->\n).*?(<!-- end of rules -->)")
RULES = Path(__file__).parent.parent / "rules"
_OWN = ("unused-suppression", "unknown-code-in-suppression")
_FIXES = {"both": "safe, unsafe", "none": ""}


def rows() -> Iterator[str]:
    """The table, line by line."""
    yield "| code | finds | fix | by default | measured |"
    yield "|---|---|---|---|---|"
    # Packages that are installed here may bring rules, too.
    own = {code: rule for code, rule in catalogue().items() if rule.plugin is None}
    rules = {code: rule for code, rule in own.items() if rule.name not in _OWN}
    on = default_rules(rules, all_evidence())
    for code, rule in rules.items():
        fix = _FIXES.get(rule.fixes, rule.fixes)
        yield f"| {link_to(rule)} | {finds(rule)} | {fix} | {_default(code, code in on)} | {measured(rule)} |"


def _default(code: str, is_on: bool) -> str:
    """Whether a rule is on, and where readers made it be off, what they said."""
    judged = all_judged().get(code)
    seldom = not is_on and judged is not None and judged.is_seldom_right
    return f"off: {judged.right} of {judged.all} right" if seldom and judged else "on" if is_on else "off"


def table() -> str:
    """The table as one text."""
    return "\n".join(rows()) + "\n"


def judged_table() -> str:
    """What readers said of the findings of each rule of which there were enough, the best first."""
    on = default_rules(catalogue(), all_evidence())
    rows = sorted(all_judged().items(), key=lambda row: -row[1].right / row[1].all)
    lines = [
        f"| {code} | {found.all} | {found.right / found.all:.0%} | {found.arguable / found.all:.0%} | "
        f"{found.wrong / found.all:.0%} | {'on' if code in on else 'off'} |"
        for code, found in rows
        if found.is_enough
    ]
    head = ["| rule | judged | right | arguable | wrong | by default |", "|---|---|---|---|---|---|"]
    return "\n".join([*head, *lines])


def link_to(rule: RuleInfo, up: str = "") -> str:
    """The code, which leads to the file whose docstring is the rule's page, `up` from where the link stands."""
    found = sorted(RULES.glob(f"*/{rule.code.lower()}_*.py"))
    return f"[{rule.code}]({up}{found[0].relative_to(RULES.parent).as_posix()})" if found else rule.code


def finds(rule: RuleInfo) -> str:
    words = rule.summary.rstrip(".")
    return words if words.startswith(("`", "Python")) else words[0].lower() + words[1:]


def measured(rule: RuleInfo) -> str:
    return cost_in_words(rule, all_evidence())


def main(arguments: list[str]) -> None:
    """Print the table, or put it into the file that is named."""
    if not arguments:
        print(table(), end="")
        return
    path = Path(arguments[0])
    text = path.read_text(encoding="utf-8")
    path.write_text(BETWEEN.sub(lambda match: match[1] + table() + match[2], text), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
