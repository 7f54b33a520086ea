"""What a finding costs, as data: by the experiment of its rule, and by a run of the user's own program."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tflint_perf.catalogue.cost import costs_said
from tflint_perf.finding import Finding


def as_objects(finding: Finding) -> list[dict[str, Any]]:
    """A figure a device, each with where it was measured: in the rule's "experiment", or in a "run" of the program."""
    found = [{"measured": "experiment", **asdict(cost)} for cost in costs_said(finding.code, finding.message)]
    own = finding.own_cost
    if own is not None:
        found.append({"measured": "run", "metric": "step time", **asdict(own)})
    return found
