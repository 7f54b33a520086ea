"""What makes a run fail: findings that are grave enough, or that cost enough."""

from __future__ import annotations

import re
from typing import cast

from tflint_perf.config.keys import SEVERITIES, Severity
from tflint_perf.records import dataclass

_TIMES = r"(?:[1-9][0-9]*|[1-9][0-9]*\.[0-9]+) ?[x×]"
_ONE = f"(?:{'|'.join(SEVERITIES)}|{_TIMES})"
# For the schema of the configuration too, so in the words that Python and JavaScript share.
PATTERN = f"^{_ONE}(?:, ?{_ONE})*$"
EXAMPLES = (*SEVERITIES, "2x")


@dataclass(frozen=True, slots=True)
class FailOn:
    """The least grave severity that fails, and the least factor by which a step or sample takes longer; None: none does."""

    severity: Severity | None = "info"
    times: float | None = None

    def is_grave(self, severity: Severity) -> bool:
        """Whether findings of a severity fail, whatever they cost."""
        return self.severity is not None and SEVERITIES.index(severity) <= SEVERITIES.index(self.severity)


def fail_on_of(text: str) -> FailOn:
    """What `error`, `2x` or `error,2x` says; of several of a kind the least counts.

    Raises:
        ValueError: it says nothing of that kind.
    """
    if not is_fail_on(text):
        raise ValueError(text)
    words = [word.strip() for word in text.split(",")]
    grave = [word for word in words if word in SEVERITIES]
    times = [float(word.rstrip("x× ")) for word in words if word not in SEVERITIES]
    least = cast("Severity", max(grave, key=SEVERITIES.index)) if grave else None
    return FailOn(least, min(times, default=None))


def is_fail_on(value: object) -> bool:
    """Whether a value says what makes a run fail."""
    return isinstance(value, str) and re.search(PATTERN, value) is not None
