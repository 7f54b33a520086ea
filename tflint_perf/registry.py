"""The rules that are installed, found by listing the package `tflint_perf.rules`."""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABCMeta
from functools import cache
from types import MappingProxyType

from tflint_perf.rule import Rule


@cache
def all_rules() -> MappingProxyType[str, type[Rule]]:
    """Every rule by its code, in the order of the codes.

    Raises:
        RuntimeError: two rules have the same code or the same name.
    """
    package = importlib.import_module("tflint_perf.rules")
    found: list[type[Rule]] = []
    for module_info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{module_info.name}")
        found += [
            value
            for value in vars(module).values()
            # On Python 3.10 a generic alias such as `list[str]` is a type that is no class.
            if isinstance(value, ABCMeta) and issubclass(value, Rule) and value.__module__ == module.__name__
        ]
    for attribute in ("code", "name"):
        values = [getattr(rule, attribute) for rule in found]
        if repeated := sorted({value for value in values if values.count(value) > 1}):
            raise RuntimeError(f"rules with the same {attribute}: {', '.join(repeated)}")
    return MappingProxyType({rule.code: rule for rule in sorted(found, key=lambda rule: rule.code)})
