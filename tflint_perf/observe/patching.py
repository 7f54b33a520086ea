"""How something is put in the place of what a module has, as soon as the module has been imported."""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import ModuleType
from typing import Any

# What is to be called once a module has been imported, by its name.
ByModule = Mapping[str, Callable[[ModuleType], None]]


def replace(owner: Any, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Put what `make` gives for the original in its place; nothing where there is none."""
    original = owner.__dict__.get(name)
    if original is None or not callable(original):
        return
    made = make(original)
    functools.update_wrapper(made, original)
    with suppress(TypeError, ValueError):
        # Keras asks constructors for their parameters, and does not look behind wrappers.
        made.__signature__ = inspect.signature(original)  # type: ignore[attr-defined]
    setattr(owner, name, made)


def hook_now_and_later(hooks: ByModule) -> None:
    """Call the hooks of the modules that are there, and those of the others once they are."""
    for name, hook in hooks.items():
        module = sys.modules.get(name)
        if module is not None:
            hook(module)
    sys.meta_path.insert(0, Finder({name: hook for name, hook in hooks.items() if name not in sys.modules}))


def each_after_the_other(first: ByModule, second: ByModule) -> dict[str, Callable[[ModuleType], None]]:
    """Both: what `second` puts in place of something surrounds what `first` does."""

    def both(module: ModuleType) -> None:
        for hooks in (first, second):
            if module.__name__ in hooks:
                hooks[module.__name__](module)

    return dict.fromkeys((*first, *second), both)


class Finder(importlib.abc.MetaPathFinder):
    """Calls a hook once its module has been imported."""

    def __init__(self, hooks: Mapping[str, Callable[[ModuleType], None]]) -> None:
        self._hooks = hooks

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        hook = self._hooks.get(name)
        if hook is None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            hook(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
