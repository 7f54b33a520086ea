"""From nodes to text edits: where things stand in the text, and how a rule says what to change."""

from __future__ import annotations

import libcst as cst

from tflint_perf.finding import Edit, Place


class Editor:
    """Positions of nodes and edits made from them."""
