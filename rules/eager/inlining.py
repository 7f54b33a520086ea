"""Writing what a function of one expression does in the place of its call."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import descendants, has_stars
from tflint_perf.edit.editor import Editor
from tflint_perf.rule import Repair

# What may be written several times, or elsewhere, and means the same.
_SIMPLE = (cst.Name, cst.Attribute, cst.Integer, cst.Float, cst.SimpleString)


def inline_what_hides(
    edit: Editor, statements: Sequence[cst.CSTNode], hidden: cst.CSTNode | None
) -> Repair | None:
    """Write the expression that a function returns in the place of its call, where `hidden` stands in that function.

    What it does can be split then: of `def predict(self, x): return self.model(np.array(x))`, the host's part from the
    model's.
    """
    for statement in statements:
        for call in descendants(statement):
            if not isinstance(call, cst.Call):
                continue
            targets = edit.model.calls.targets(call)
            if len(targets) == 1 and hidden in set(descendants(targets[0].node)):
                text = _expression(edit, call, targets[0])
                if text is not None:
                    return Repair(
                        f"Replace the call by what `{targets[0].name}` does",
                        [edit.replace(call, text)],
                        safe=False,
                        may_change="which function runs, where a subclass has its own",
                        bold=True,
                    )
    return None


def _expression(edit: Editor, call: cst.Call, function: Function) -> str | None:
    """What a function returns, in the names of its caller; None where it does more, or they can't be told."""
    model = edit.model
    node = function.node
    if not isinstance(node, cst.FunctionDef) or function.decorators or has_stars(call):
        return None
    returned = _only_return(node)
    if returned is None or "\n" in edit.text(returned):
        return None
    given = _given(edit, call, function)
    if given is None:
        return None
    changes = []
    for name in descendants(returned):
        if not isinstance(name, cst.Name):
            continue
        if name.value in given and isinstance(model.parent(name), cst.Attribute | cst.Arg | cst.Subscript):
            changes.append((edit.start(name), edit.end(name), given[name.value]))
        elif name.value in given:
            changes.append((edit.start(name), edit.end(name), f"({given[name.value]})"))
        elif not _means_the_same(edit, name, call):
            return None
    text, at = "", edit.start(returned)
    for low, high, content in sorted(changes):
        text += edit.whole_text[at:low] + content
        at = high
    return text + edit.whole_text[at : edit.end(returned)]


def _only_return(node: cst.FunctionDef) -> cst.BaseExpression | None:
    body = [
        small
        for line in node.body.body
        for small in (line.body if isinstance(line, cst.SimpleStatementLine) else [line])
        if not (isinstance(small, cst.Expr) and isinstance(small.value, cst.SimpleString))
    ]
    match body:
        case [cst.Return(value=cst.BaseExpression() as value)]:
            return value
    return None


def _given(edit: Editor, call: cst.Call, function: Function) -> dict[str, str] | None:
    """The text of what each parameter gets."""
    names = list(function.positional)
    given: dict[str, str] = {}
    if function.owner is not None:
        if not isinstance(call.func, cst.Attribute) or not names:
            return None
        given[names.pop(0)] = edit.text(call.func.value)
    for at, arg in enumerate(call.args):
        name = arg.keyword.value if arg.keyword is not None else names[at] if at < len(names) else ""
        if name not in names or not isinstance(arg.value, _SIMPLE):
            return None
        given[name] = edit.text(arg.value)
    return given if set(names) <= given.keys() else None


def _means_the_same(edit: Editor, name: cst.Name, call: cst.Call) -> bool:
    """Whether a name of the function's body means at its call what it means there: one of the module, or of Python."""
    parent = edit.model.parent(name)
    if (isinstance(parent, cst.Attribute) and parent.attr is name) or (
        isinstance(parent, cst.Arg) and parent.keyword is name
    ):
        return True
    names = edit.model.names
    there = names.lookup(name.value, names.scope_of(name))
    here = names.lookup(name.value, names.scope_of(call))
    return (there is None and here is None) or (
        there is not None and here is not None and there[0] is here[0] is edit.model.walk.top
    )
