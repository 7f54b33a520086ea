"""An object a line."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tflint_perf.report import Outcome
from tflint_perf.report.json import as_object
from tflint_perf.report.style import Style


def render(outcome: Outcome, style: Style) -> Iterator[str]:
    for entry in outcome.findings:
        yield json.dumps(as_object(entry))
