"""Every rule there is, those of `rules/` and the engine's own, as the command line shows and selects them."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

from tflint_perf.own_rules import OWN_RULES

if TYPE_CHECKING:
    from tflint_perf.rule import Claim, Rule


@dataclass(frozen=True, slots=True)
class RuleInfo:
    """What is known of a rule without running it."""

    code: str
    name: str
    summary: str
    explanation: str
    fixes: Literal["safe", "unsafe", "both", "none"]
    claim: Claim | None = None
    always_on: bool = False
    triggers: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    opt_in: bool = False


@cache
def catalogue() -> Mapping[str, RuleInfo]:
    """Every rule by its code, in the order of the codes."""
    own = [RuleInfo(code, *rule) for code, rule in OWN_RULES.items()]
    rules = [
        RuleInfo(
            rule.code,
            rule.name,
            rule.summary(),
            rule.explanation(),
            rule.fixes,
            rule.claim,
            rule.always_on,
            rule.triggers,
            rule.needs,
            rule.opt_in,
        )
        for rule in _rules()
    ]
    return {info.code: info for info in sorted(own + rules, key=lambda info: info.code)}


def _rules() -> Iterable[type[Rule]]:
    from tflint_perf.declared import NotDeclaredError, declared_rules

    try:
        return declared_rules(importlib.import_module("tflint_perf.rules").__path__)
    except NotDeclaredError:
        from tflint_perf.registry import all_rules  # imports every rule, and with them libcst

        return all_rules().values()
