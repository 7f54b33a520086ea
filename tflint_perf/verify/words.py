"""How reports say what is claimed."""

from __future__ import annotations

from tflint_perf.rule import Claim


def claimed(claim: Claim) -> str:
    """A claim in words: `step time at least 2×`, `growth of host memory at least 1.2×`."""
    growth = "growth of " if claim.kind == "growth" else ""
    return f"{growth}{claim.metric} at least {claim.least:g}×"
