"""The first look at a file, at its bytes: most files need no second one."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from tflint_perf.catalogue.rules import catalogue, prefixes

_TENSORFLOW = re.compile(rb"tensorflow|keras")
# How a line begins by which a module runs something: a main guard, a loop, a call.
_RUNS = re.compile(rb"(?m)^(?:if|for|while|with|try)\b|^(?:[\w, ]+=[ ]*)?[\w.]+\(")

# How a function begins.
_DEFINES = re.compile(rb"(?m)^[ \t]*def ")

# To make a pattern of words takes as long as to look for them one by one in so many files.
_FEW = 8


class _AnyOf:
    """Some words, any of which may be in a text."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self._words = [word.encode() for word in sorted(words)]
        self._looks = 0
        self._pattern: re.Pattern[bytes] | None = None

    def is_in(self, data: bytes) -> bool:
        """Whether one of them is."""
        if self._pattern is None:
            self._looks += 1
            if self._looks <= _FEW:
                return any(word in data for word in self._words)
            self._pattern = re.compile(b"|".join(map(re.escape, self._words)))
        return self._pattern.search(data) is not None


@lru_cache(maxsize=64)
def _words(rules: frozenset[str]) -> tuple[tuple[_AnyOf, _AnyOf | None], ...]:
    """For each rule what a file must contain: one of its triggers, and one of what it needs.

    Rules that need the same are asked for together.
    """
    triggers: dict[tuple[str, ...], set[str]] = {}
    for code, rule in catalogue().items():
        if code in rules and rule.triggers:
            triggers.setdefault(rule.needs, set()).update(rule.triggers)
    return tuple(
        (_any_of(tuple(words)), _any_of(needs) if needs else None) for needs, words in triggers.items()
    )


def _has_words(data: bytes, triggers: tuple[str, ...], needs: tuple[str, ...]) -> bool:
    return all(_any_of(words).is_in(data) for words in (triggers, needs) if words)


@cache
def _any_of(words: tuple[str, ...]) -> _AnyOf:
    return _AnyOf(words)


@cache
def naming_us() -> str:
    """The pattern of suppressions that name this tool or its codes."""
    return rf"#\s*(?:tflint-perf\s*:|noqa\s*:[^\r\n]*\b(?:{'|'.join(prefixes())}))"


@cache
def _naming_us_in_bytes() -> re.Pattern[bytes]:
    return re.compile(naming_us().encode(), re.IGNORECASE)


def names_framework(data: bytes) -> bool:
    """Whether a file says TensorFlow's name, or that of Keras."""
    return _TENSORFLOW.search(data) is not None


def names_us(data: bytes) -> bool:
    """Whether a file may hold a suppression that can be unused: one that names this tool or its codes."""
    return _naming_us_in_bytes().search(data) is not None


def through_imports(data: bytes, rules: frozenset[str]) -> frozenset[str]:
    """Those of `rules` that may have a finding in a program that names no framework, for what it imports."""
    if names_framework(data) or (_RUNS.search(data) or _DEFINES.search(data)) is None:
        return frozenset()
    return frozenset(
        code
        for code, rule in catalogue().items()
        if code in rules and rule.through_imports and _has_words(data, rule.triggers, rule.needs)
    )


def through_callers(data: bytes, rules: frozenset[str]) -> frozenset[str]:
    """Those of `rules` that may have a finding in a module that names no framework, for what other files run of it."""
    if names_framework(data) or _DEFINES.search(data) is None:
        return frozenset()
    return frozenset(
        code
        for code, rule in catalogue().items()
        if code in rules and rule.through_callers and _any_of(rule.through_callers).is_in(data)
    )


def passes(data: bytes, rules: frozenset[str]) -> bool:
    """Whether a file with these bytes can have a finding of one of `rules`."""
    if not names_framework(data):
        return False
    return any(
        triggers.is_in(data) and (needs is None or needs.is_in(data)) for triggers, needs in _words(rules)
    )
