"""What a finding is known by when its file changes around it: its rule and its code, never its row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from tflint_perf.finding import Finding

# The code of the rule, the source, and how many findings with the same of both come before it in its file.
Identity = tuple[str, str, int]


def content(finding: Finding) -> str:
    """The source lines of a finding as they are compared: how far they are indented does not count."""
    return "\n".join(line.strip() for line in finding.lines)


def identities(findings: Iterable[Finding]) -> Iterator[Identity]:
    """The identity of each of the findings of one file, which are in their order; no two are the same."""
    seen: Counter[tuple[str, str]] = Counter()
    for finding in findings:
        known = finding.code, content(finding)
        yield (*known, seen[known])
        seen[known] += 1
