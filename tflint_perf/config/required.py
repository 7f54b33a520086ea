"""The configuration's `required-version`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from types import MappingProxyType

from tflint_perf.problems import ConfigError

_CLAUSE = re.compile(r"\s*(==|!=|>=|<=|>|<)?\s*(\d+(?:\.\d+)*)\s*")
_COMPARE: MappingProxyType[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]] = MappingProxyType(
    {
        "==": operator.eq,
        "!=": operator.ne,
        ">=": operator.ge,
        "<=": operator.le,
        ">": operator.gt,
        "<": operator.lt,
    }
)


def check_version(required: str, present: str, where: str) -> None:
    """Check the version that runs against clauses such as `>=0.1,<1`; a version alone means `==`.

    Raises:
        ConfigError: the version does not meet a clause, or the clauses cannot be read.
    """
    release = re.match(r"\d+(?:\.\d+)*", present)
    for clause in required.split(","):
        parsed = _CLAUSE.fullmatch(clause)
        if parsed is None:
            raise ConfigError(
                f'`required-version` is not a list of versions such as ">=0.1,<1": {required!r}', where
            )
        wanted, running = _numbers(parsed[2]), _numbers(release[0] if release else "0")
        if not _COMPARE[parsed[1] or "=="](running, wanted):
            raise ConfigError(f"requires tflint-perf {required}, but this is {present}", where)


def _numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version without zeros at the end, so that 1.0 equals 1."""
    numbers = [int(number) for number in version.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
