"""The edit that suppresses a finding where it stands."""

from __future__ import annotations

from tflint_perf.finding import Edit, Finding
from tflint_perf.lint.comments import directives
from tflint_perf.text.source import Source


def noqa(source: Source, finding: Finding) -> Edit:
    """Put `# noqa: CODE` at the end of the finding's row, or its code behind those that stand there."""
    row = source.row(finding.start.offset) + finding.noqa_row - finding.start.row
    for directive in directives(source.text):
        if directive.is_noqa and directive.comment.row == row and directive.items:
            end = source.place(directive.items[-1].end)
            return Edit(end, end, f", {finding.code}")
    (line,) = source.lines(row, row)
    start = source.offset(row, 1)
    return Edit(
        source.place(start + len(line.rstrip())), source.place(start + len(line)), f"  # noqa: {finding.code}"
    )
