"""How a rule says what to change: edits made from nodes, and whole moves of code made of them."""

from tflint_perf.edit.editor import Editor
from tflint_perf.finding import Edit

__all__ = ["Edit", "Editor"]
