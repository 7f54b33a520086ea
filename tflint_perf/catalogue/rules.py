"""Every rule there is, those of `rules/`, the engine's own and those of plugins, as the command line shows them."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Literal

from tflint_perf.catalogue.own_rules import OWN_RULES
from tflint_perf.catalogue.plugins import Plugin, plugins
from tflint_perf.records import dataclass

if TYPE_CHECKING:
    from tflint_perf.rule import Claim, Rule

# What the codes of this project's rules begin with. A plugin's begin with something else.
PREFIX = "TFP"
_CODE = re.compile(r"[A-Z]{2,}[0-9]+")
_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class RuleInfo:
    """What is known of a rule without running it. `plugin` is the package it comes from, if not this one."""

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
    through_imports: bool = False
    through_callers: tuple[str, ...] = ()
    plugin: Plugin | None = None
    of_programs: bool = False
    bold: bool = False
    adds_up: bool = False


@cache
def of_programs() -> frozenset[str]:
    """The codes of the rules that say something of a whole program."""
    return frozenset(code for code, rule in catalogue().items() if rule.of_programs)


@cache
def catalogue() -> Mapping[str, RuleInfo]:
    """Every rule by its code, in the order of the codes."""
    known = {code: RuleInfo(code, *rule) for code, rule in OWN_RULES.items()}
    known |= {rule.code: _info(rule) for rule in _rules()}
    for plugin in plugins():
        for info in _rules_of(plugin):
            fault = _fault(info, known)
            if fault:
                plugin.trouble(fault)
            else:
                known[info.code] = info
    return {code: known[code] for code in sorted(known)}


def prefix_of(code: str) -> str:
    """The letters of a code; of all rules of a package they are the same."""
    return code.rstrip("0123456789")


@cache
def prefixes() -> tuple[str, ...]:
    """What codes begin with: this project's and those of plugins."""
    return tuple(sorted({prefix_of(code) for code in catalogue()}))


def _info(rule: type[Rule], plugin: Plugin | None = None) -> RuleInfo:
    return RuleInfo(
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
        rule.through_imports,
        rule.through_callers,
        plugin,
        rule.of_programs,
        rule.bold,
        rule.adds_up,
    )


def _rules() -> Iterable[type[Rule]]:
    from tflint_perf.catalogue.declared import NotDeclaredError, declared_rules

    try:
        return declared_rules(importlib.import_module("tflint_perf.rules").__path__)
    except NotDeclaredError:
        from tflint_perf.catalogue.registry import house_rules  # imports every rule, and with them libcst

        return house_rules()


def _rules_of(plugin: Plugin) -> Iterator[RuleInfo]:
    """The rules of a plugin; what is wrong with one is noted, and the others remain."""
    from tflint_perf.catalogue.declared import NotDeclaredError, declared_rule

    for file in plugin.files:
        try:
            try:
                rules = [declared_rule(file)]
            except NotDeclaredError:
                from tflint_perf.catalogue.registry import rules_in

                rules = rules_in(plugin.load(file))
            yield from [_info(rule, plugin) for rule in rules]
        except (Exception, SystemExit) as error:
            plugin.trouble(f"{file.name}: {type(error).__name__}: {error}; its rules are left out")


def _fault(info: RuleInfo, known: Mapping[str, RuleInfo]) -> str:
    """Why a plugin's rule can't be one of the known rules; "" if it can."""
    names = {rule.name for rule in known.values()}
    if not isinstance(info.code, str) or _CODE.fullmatch(info.code) is None:
        return f"a code is capital letters and digits, not {info.code!r}; the rule is left out"
    if prefix_of(info.code) == PREFIX:
        return f"{info.code}: codes that begin with {PREFIX} are this tool's own; the rule is left out"
    if info.code in known:
        return f"{info.code}: there is another rule with this code; the rule is left out"
    if not isinstance(info.name, str) or _NAME.fullmatch(info.name) is None or info.name in names:
        return f"{info.code}: the name {info.name!r} is taken or not valid; the rule is left out"
    if not _has_its_types(info):
        return f"{info.code}: `triggers`, `needs`, `fixes` or `claim` is not valid; the rule is left out"
    return ""


def _has_its_types(info: RuleInfo) -> bool:
    from tflint_perf.rule import Claim

    words = (info.triggers, info.needs)
    return (
        all(isinstance(given, tuple) and all(isinstance(word, str) for word in given) for given in words)
        and info.fixes in ("safe", "unsafe", "both", "none")
        and (info.claim is None or isinstance(info.claim, Claim))
    )
