"""What an optimizer does with gradients: in a compiled function of its own, and with variables that are made ahead of a trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import libcst as cst

from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import descendants, is_name, last_name
from tflint_perf.edit.editor import Editor
from tflint_perf.finding import Edit
from tflint_perf.records import dataclass

from .compiling import first_parameter
from .forward_function import Forward, forward_function

_TRAINABLE = frozenset({"trainable_variables", "trainable_weights"})
_TRAINED = _TRAINABLE | {"variables", "weights"}
# What a function is given, where it is no other's to see, or may be another one later.
_GIVEN = frozenset({"model", "layer", "optimizer", "unknown"})


@dataclass(frozen=True, slots=True)
class Update:
    """What is `inserted` for a compiled update, and the `text` that takes the place of the `call` of the optimizer."""

    call: cst.Call
    text: str
    inserted: tuple[Edit, ...]


def applied(call: cst.CSTNode) -> tuple[cst.BaseExpression, cst.BaseExpression, cst.BaseExpression] | None:
    """The optimizer, the gradients and the variables of `optimizer.apply_gradients(zip(gradients, model.trainable_variables))`."""
    match call:
        case cst.Call(
            func=cst.Attribute(value=optimizer, attr=cst.Name("apply_gradients")),
            args=[
                cst.Arg(
                    value=cst.Call(
                        func=cst.Name("zip"), args=[cst.Arg(value=gradients), cst.Arg(value=trained)]
                    )
                ),
                *_,
            ],
        ):
            return optimizer, gradients, trained
    return None


def made_ahead(
    edit: Editor,
    code: Iterable[cst.CSTNode],
    is_another: Callable[[cst.BaseExpression], bool],
    indent: str,
) -> str:
    """The lines that make the variables of the optimizers that `code` applies gradients by, and that may be others later.

    The first trace of a `tf.function` may make variables, and no later one. In Keras, `build` makes an optimizer's, and does
    nothing where they are made; those of the model have to be there.
    """
    lines: dict[str, None] = {}
    for optimizer, _, trained in filter(None, map(applied, code)):
        if (
            isinstance(trained, cst.Attribute)
            and trained.attr.value in _TRAINABLE
            and edit.model.value(optimizer).kind == "optimizer"
            and is_another(optimizer)
        ):
            ahead = f"{edit.text(optimizer)}.build({edit.text(trained)})"
            deeper = indent + edit.one_indent(indent)
            lines[f"{indent}if {edit.text(trained.value)}.built:\n{deeper}{ahead}\n"] = None
    return "".join(lines)


def update_apart(edit: Editor, call: cst.Call) -> Update | None:
    """Have a compiled function give gradients to the optimizer: `optimizer.apply_gradients(zip(gradients,
    model.trainable_variables))`; None where that is more than one statement, or can't be compiled."""
    model, function, statement = edit.model, edit.model.function_at(call), edit.model.statement_of(call)
    parts = applied(call)
    if parts is None or len(call.args) > 1:
        return None
    optimizer, gradients, trained = parts
    if not (
        isinstance(statement, cst.Expr) and statement.value is call and _has_lines_of_its_own(edit, statement)
    ):
        return None
    home = function.node if function is not None else edit.outermost_loop(call)
    given = _given(edit, (optimizer, trained), function)
    if not _are_variables(trained) or home is None or isinstance(home, cst.Lambda) or given is None:
        return None
    obstacles = model.tracing.obstacles_in_statement(statement, function, [statement])
    if any(obstacle.node not in given for obstacle in obstacles):
        return None
    if optimizer not in given and model.tracing.obstacle_to_keeping(optimizer, function, as_seen=True):
        return None
    owner = first_parameter(function)
    inside: dict[cst.CSTNode, str] = {node: last_name(node).strip("_") for node in given}
    does = f"{_text(edit, call.func, inside)}(zip(gradients, {_text(edit, trained, inside)}))"
    parameters = dict.fromkeys(inside.values())
    if "gradients" in parameters or len(parameters) < len({edit.text(node) for node in given}):
        return None
    escaped = does.replace("{", "{{").replace("}", "}}")
    forward = Forward(optimizer, owner, inputs=(*parameters, "gradients"), does=(escaped,), varies=False)
    name = f"update_{last_name(trained.value).strip('_')}" if isinstance(trained, cst.Attribute) else "update"
    own = forward_function(edit, call, home, forward, "update" if name == "update_self" else name)
    target = f"{owner}.{own.name}" if owner else own.name
    passed = ", ".join([*dict.fromkeys(map(edit.text, given)), edit.text(gradients)])
    indent = edit.indent(statement)
    is_given_several = function is not None and model.tracing.is_given_models(function)
    others = [node for node in given if is_given_several or isinstance(node, cst.Attribute)]
    ahead = made_ahead(edit, [call], lambda node: node in others, indent)
    return Update(call, f"{ahead}{indent}{target}({passed})".lstrip(), (*own.imports, *own.edits))


def _has_lines_of_its_own(edit: Editor, statement: cst.CSTNode) -> bool:
    line = edit.model.parent(statement)
    return isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1


def _are_variables(node: cst.BaseExpression) -> bool:
    """Whether it is the variables of a model, or of several one behind the other."""
    match node:
        case cst.Attribute(attr=cst.Name(attribute)):
            return attribute in _TRAINED
        case cst.BinaryOperation(left=left, operator=cst.Add(), right=right):
            return _are_variables(left) and _are_variables(right)
    return False


def _given(
    edit: Editor, parts: tuple[cst.BaseExpression, ...], function: Function | None
) -> list[cst.Name | cst.Attribute] | None:
    """The models and optimizers that a function beside `function` must be given; None where one is anything else."""
    found = [node for part in parts for node in _objects(edit, part, first_parameter(function))]
    given = [node for node in found if _must_be_given(edit, node, function)]
    if any(edit.model.value(node).kind not in _GIVEN or _is_made_anew(edit, node) for node in given):
        return None
    return given


def _is_made_anew(edit: Editor, node: cst.Name | cst.Attribute) -> bool:
    """Whether each step makes it, and would have a trace of its own."""
    loop = edit.model.loops.innermost_loop(node)
    found = edit.model.infer.bindings_reaching(node) if isinstance(node, cst.Name) else None
    return found is not None and any(
        isinstance(binding.value, cst.Call)
        and (loop is None or edit.model.invariance.is_bound_in(binding, loop))
        for binding in found[1]
    )


def _objects(edit: Editor, part: cst.BaseExpression, owner: str) -> Iterator[cst.Name | cst.Attribute]:
    """The names in an expression, and the attributes of the method's own object."""
    for node in descendants(part):
        parent = edit.model.parent(node)
        if isinstance(node, cst.Attribute) and owner and is_name(node.value, owner):
            yield node
        elif isinstance(node, cst.Name) and node.value != owner:
            if not (isinstance(parent, cst.Attribute) and parent.attr is node):
                yield node


def _must_be_given(edit: Editor, node: cst.Name | cst.Attribute, function: Function | None) -> bool:
    """Whether it is local to the function, or may be another object later."""
    if isinstance(node, cst.Attribute):
        if node.attr.value in _TRAINED:
            return False
        return edit.model.tracing.obstacle_to_keeping(node, function) is not None
    found = edit.model.infer.bindings_reaching(node)
    return found is not None and function is not None and found[0] is function.scope


def _text(edit: Editor, node: cst.BaseExpression, inside: dict[cst.CSTNode, str]) -> str:
    """The code of an expression, with what it is given by the names of its parameters."""
    text, start = edit.text(node), edit.start(node)
    here = set(descendants(node)) & inside.keys()
    for part in sorted(here, key=edit.start, reverse=True):
        low, high = edit.start(part) - start, edit.end(part) - start
        text = text[:low] + inside[part] + text[high:]
    return text
