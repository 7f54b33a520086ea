"""Watching the patterns of the analysis: a word of the user that matches one is evidence, and should be told.

A compiled pattern says nothing to `sys.setprofile` of what it was given. So for as long as one watches, the modules find
in place of each pattern of theirs one that notes what matched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from tflint_perf.why.recording import Asked, Question

# What users call things is a word or a path of words; a whole line or file that matches says little.
_NAME = re.compile(r"[\w.\-/ ]{1,60}")
_MATCHING = frozenset({"search", "match", "fullmatch"})


class _Watched:
    """A pattern, and whoever wants to know what matches it."""

    def __init__(self, pattern: re.Pattern[Any], asked: Asked, note: Callable[[Question], None]) -> None:
        self._pattern, self._asked, self._note = pattern, asked, note

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._pattern, name)
        return self._noting(found) if name in _MATCHING else found

    def _noting(self, method: Callable[..., re.Match[Any] | None]) -> Callable[..., re.Match[Any] | None]:
        def noted(text: Any, *bounds: int) -> re.Match[Any] | None:
            matched = method(text, *bounds)
            if matched is not None and isinstance(text, str) and _NAME.fullmatch(text):
                self._note(Question(self._asked, {"name": text}, True))
            return matched

        return noted


@contextmanager
def watched(modules: Iterable[ModuleType], note: Callable[[Question], None]) -> Iterator[None]:
    """Note each name that matches a pattern of these modules."""
    before: list[tuple[dict[str, Any], str, re.Pattern[Any]]] = []
    for module in modules:
        names = vars(module)
        for name, value in list(names.items()):
            if isinstance(value, re.Pattern):
                before.append((names, name, value))
                words = name.strip("_").lower().replace("_", " ")
                asked = Asked(
                    module.__name__,
                    name,
                    f"Whether the name `name` fits the pattern for {words}",
                    ("name",),
                    "name",
                )
                names[name] = _Watched(value, asked, note)
    try:
        yield
    finally:
        for names, name, pattern in before:
            names[name] = pattern
