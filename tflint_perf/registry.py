"""The rules that are installed: those of the package `tflint_perf.rules`, found by listing it, and those of plugins."""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABCMeta
from collections.abc import Iterator
from functools import cache
from types import MappingProxyType, ModuleType

from tflint_perf.plugins import plugins
from tflint_perf.rule import Rule


@cache
def all_rules() -> MappingProxyType[str, type[Rule]]:
    """Every rule by its code, in the order of the codes.

    A plugin's file that can't be run is noted as its trouble; the others remain.
    """
    found = [*house_rules(), *_rules_of_plugins()]
    return MappingProxyType({rule.code: rule for rule in sorted(found, key=lambda rule: rule.code)})


@cache
def house_rules() -> tuple[type[Rule], ...]:
    """The rules of this project.

    Raises:
        RuntimeError: two rules of this project have the same code or the same name.
    """
    package = importlib.import_module("tflint_perf.rules")
    found: list[type[Rule]] = []
    for module_info in pkgutil.iter_modules(package.__path__):
        found += rules_in(importlib.import_module(f"{package.__name__}.{module_info.name}"))
    for attribute in ("code", "name"):
        values = [getattr(rule, attribute) for rule in found]
        if repeated := sorted({value for value in values if values.count(value) > 1}):
            raise RuntimeError(f"rules with the same {attribute}: {', '.join(repeated)}")
    return tuple(found)


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
        from tflint_perf.catalogue import catalogue

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
