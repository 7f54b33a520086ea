"""What an experiment is about, in words for people: a rule's name, a belief's title, or two scripts."""

from __future__ import annotations

from dataclasses import dataclass

from tflint_perf.catalogue.rules import catalogue
from tflint_perf.verify.beliefs import all_beliefs


@dataclass(frozen=True, slots=True)
class About:
    """`code` is empty unless a rule is tried; `summary` is empty where there is nothing to add.

    Backticks in `title` and `summary` set off code.
    """

    code: str
    title: str
    summary: str = ""

    @property
    def name(self) -> str:
        """The whole name as plain text."""
        return f"{self.code} {self.title}".strip().replace("`", "")


def about(key: str) -> About:
    """What the experiment is about whose result has this key in an evidence file."""
    if (rule := catalogue().get(key)) is not None:
        return About(rule.code, rule.name, rule.summary)
    if (belief := all_beliefs().get(key)) is not None:
        return About("", belief.title, belief.says)
    return About("", key)
