"""The rules that are installed: those of the package `tflint_perf.rules`, found by listing it, and those of plugins."""

from __future__ import annotations

import importlib
from abc import ABCMeta
from collections.abc import Collection, Iterator
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType, ModuleType

from tflint_perf.catalogue.declared import rule_files
from tflint_perf.catalogue.plugins import plugins
from tflint_perf.catalogue.rules import catalogue
from tflint_perf.rule import Rule


@cache
def all_rules() -> MappingProxyType[str, type[Rule]]:
    """Every rule by its code, in the order of the codes.

    A plugin's file that can't be run is noted as its trouble; the others remain.
    """
    found = [*house_rules(), *_rules_of_plugins()]
    return MappingProxyType({rule.code: rule for rule in sorted(found, key=lambda rule: rule.code)})


def rules_about(text: str, codes: Collection[str]) -> list[type[Rule]]:
    """Those of the rules with these codes that may find something in a text, by its words alone, in their order.

    Only their files are imported.
    """
    found = _words_in(text)

    def says(words: tuple[str, ...]) -> bool:
        for word in words:
            said = found.get(word)
            if said is None:
                said = found[word] = word in text
            if said:
                return True
        return False

    fitting = [
        code
        for code, info in catalogue().items()
        if code in codes and says(info.triggers) and (not info.needs or says(info.needs))
    ]
    return [rule for code in fitting if (rule := _rule(code)) is not None]


@lru_cache(maxsize=1)
def _words_in(text: str) -> dict[str, bool]:
    """Which words a text is known to hold, and which not: rules share words, and the same text is asked about again."""
    return {}


@cache
def _rule(code: str) -> type[Rule] | None:
    """The rule with a code; None where it can't be had."""
    if catalogue()[code].plugin is None:
        for module in _modules():
            if module.rpartition(".")[2].startswith(f"{code.lower()}_"):
                return next(
                    (rule for rule in rules_in(importlib.import_module(module)) if rule.code == code), None
                )
    return all_rules().get(code)


@cache
def house_rules() -> tuple[type[Rule], ...]:
    """The rules of this project.

    Raises:
        RuntimeError: two rules of this project have the same code or the same name.
    """
    found = [rule for module in _modules() for rule in rules_in(importlib.import_module(module))]
    for attribute in ("code", "name"):
        values = [getattr(rule, attribute) for rule in found]
        if repeated := sorted({value for value in values if values.count(value) > 1}):
            raise RuntimeError(f"rules with the same {attribute}: {', '.join(repeated)}")
    return tuple(found)


@cache
def _modules() -> tuple[str, ...]:
    """The modules of this project's rules, by their qualified names."""
    package = importlib.import_module("tflint_perf.rules")
    return tuple(
        ".".join((package.__name__, *file.relative_to(folder).with_suffix("").parts))
        for folder in map(Path, package.__path__)
        for file in rule_files(folder)
    )


def rules_in(module: ModuleType) -> list[type[Rule]]:
    """The rules that a module defines."""
    return [
        value
        for value in vars(module).values()
        # On Python 3.10 a generic alias such as `list[str]` is a type that is no class.
        if isinstance(value, ABCMeta) and issubclass(value, Rule) and value.__module__ == module.__name__
    ]


def _rules_of_plugins() -> Iterator[type[Rule]]:
    for plugin in plugins():
        for file in plugin.files:
            try:
                rules = rules_in(plugin.load(file))
            except (Exception, SystemExit) as error:
                plugin.trouble(f"{file.name}: {type(error).__name__}: {error}; its rules are left out")
                continue
            for rule in rules:
                info = catalogue().get(getattr(rule, "code", ""))
                if info is not None and info.plugin == plugin:
                    yield rule
