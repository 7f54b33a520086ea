"""Adding what a program must do first, below its imports."""

from __future__ import annotations

import re
from collections.abc import Sequence

import libcst as cst

from tflint_perf.edit.editor import Editor
from tflint_perf.finding import Edit
from tflint_perf.repair import Refusal

_REST_OF_LINE = re.compile(r"[^\r\n]*")
_CODE_BELOW = re.compile(r"(?:\r\n|\r|\n)[ \t]*(?=\S)")


def last_import_from(edit: Editor, first: cst.Import | cst.ImportFrom) -> cst.CSTNode | Refusal:
    """The last of the imports that follow `first` at the top of the file; in a notebook, of those in its cell."""
    imports = edit.model.programs.imports_from(first)
    if not imports:
        made_by = edit.model.programs.import_that_runs_ops()
        if made_by is not None and edit.start(made_by) <= edit.start(first):
            return Refusal("a module that is imported makes tensors or variables at once", made_by)
        return Refusal("TensorFlow is not imported on a line of its own at the top of the file", first)
    return [line for line in imports if edit.cell(line) == edit.cell(first)][-1]


def add_below(edit: Editor, last: cst.CSTNode, lines: Sequence[str], *, imports: bool) -> Edit:
    """Add lines below the import `last`, a blank line above them and one below if code follows.

    `imports` asks for an import of TensorFlow first. Stays in the same cell of a notebook.
    """
    content = "\n".join(["", *([edit.import_of_tensorflow] if imports else []), "", *lines])
    text = edit.model.text
    match = _REST_OF_LINE.match(text, edit.end(last))
    assert match is not None  # it matches nothing as well
    end = match.end()
    code = _CODE_BELOW.match(text, end)
    if code is not None and edit.edit(code.end(), code.end(), "").start.cell == edit.cell(last):
        content += "\n"
    return edit.edit(end, end, content)


def spell_below(edit: Editor, name: str, last: cst.CSTNode) -> tuple[str, bool]:
    """How code below `last` can say `tensorflow.<name>`, and whether that needs an import of TensorFlow."""
    spelled = edit.model.names.spelled(name)
    if spelled is not None:
        bindings = edit.model.walk.top.bindings.get(spelled.split(".")[0], [])
        if any(edit.start(binding.node) < edit.end(last) for binding in bindings):
            return spelled, False
    return f"{edit.tensorflow}.{name}", True
