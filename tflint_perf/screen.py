"""The first look at a file, at its bytes: most files need no second one."""

from __future__ import annotations

import re
from functools import lru_cache

from tflint_perf.catalogue import catalogue

_TENSORFLOW = re.compile(rb"tensorflow|keras")


@lru_cache(maxsize=64)
def _triggers(rules: frozenset[str]) -> re.Pattern[bytes] | None:
    known = catalogue()
    words = {word for code in rules if code in known for word in known[code].triggers}
    return re.compile(b"|".join(re.escape(word.encode()) for word in sorted(words))) if words else None


def passes(data: bytes, rules: frozenset[str]) -> bool:
    """Whether a file with these bytes can have a finding of one of `rules`."""
    if _TENSORFLOW.search(data) is None:
        return False
    triggers = _triggers(rules)
    return triggers is not None and triggers.search(data) is not None
