"""A compiled function that assigns the variables of one model to those of another."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field

import libcst as cst

from tflint_perf.analysis.python.syntax import descendants, dotted_name, is_constant, last_name
from tflint_perf.analysis.values.frameworks import imports_keras_alone
from tflint_perf.edit.editor import Editor
from tflint_perf.edit.hoist import change
from tflint_perf.edit.judged import TRACED
from tflint_perf.finding import Edit
from tflint_perf.records import dataclass
from tflint_perf.rule import Refusal, Repair

from .assign_loops import AssignLoop, AssignLoops
from .weight_copies import WeightCopy
from .weight_lists import Listed, holder_of, listed

_DONE = "Assign variable to variable in a compiled function"
_SEVERAL = "the lists of weights are made in several statements"


@dataclass(frozen=True, slots=True)
class _Assignment:
    """What the function does to each variable: `for <new>, <old> in zip(…): <old>.assign(<value>)`.

    `parameters` are those behind the two models, by what they get, `variables` which of a model's it goes over, by the names of
    their items: `weights`, if nothing is said.
    """

    source: cst.BaseExpression
    names: dict[str, str]
    old: str
    value: str
    parameters: dict[str, str]
    variables: dict[str, str] = field(default_factory=dict)


def assign_compiled(edit: Editor, copy: WeightCopy) -> Repair | Refusal:
    """Replace a copy by a call of a compiled function, which is put above the first statement that needs one."""
    found = _whole(copy) if not isinstance(copy.given, cst.ListComp) else _blended(edit, copy)
    lists = listed(edit, copy) if isinstance(found, Refusal) and found.reason == _SEVERAL else None
    if lists is not None:
        found = _of_lists(edit, lists)
    if isinstance(found, Refusal):
        return found
    computed = lists.value if lists is not None and lists.value is not None else copy.given
    called = _called(edit, found, copy.call, copy.target, computed)
    if isinstance(called, Refusal):
        return called
    call, edits = called
    removed = lists.edits if lists is not None else []
    return Repair(
        _DONE,
        [*edits, *removed, edit.replace(edit.model.statement_of(copy.call), call)],
        safe=False,
        may_change="weights whose type differs between the two, which `set_weights` casts",
    )


def loop_compiled(edit: Editor, loop: AssignLoop, *, bold: bool = False) -> Repair | Refusal:
    """Replace a loop that assigns to variables by a call of a compiled function that does the same.

    What is traced before there are variables does nothing ever after; a bold fix is seen not to be.
    """
    if imports_keras_alone(edit.model.walk):
        return Refusal(
            "the file imports Keras alone, which may run on other backends than TensorFlow", loop.node
        )
    if loop.lists:
        return Refusal(
            "the variables come by other names, and a `tf.function` takes lists for tensors", loop.node
        )
    if not bold and not edit.model.own(AssignLoops).are_built(loop):
        return Refusal(
            "the models may have no variables yet, and what is traced then does nothing ever after"
        )
    if "#" in edit.text(loop.node):
        return Refusal("there is a comment in it", loop.node)
    parameters = _parameters(edit, loop.value, {*loop.over})
    if isinstance(parameters, Refusal):
        return parameters
    found = _Assignment(
        loop.source,
        {name: "target" if name == loop.old else "source" for name in loop.over},
        loop.old,
        _with_parameters(edit, loop.value, parameters),
        parameters,
        {name: variables.attr.value for name, variables in loop.over.items()},
    )
    called = _called(edit, found, loop.node, loop.target, loop.value)
    if isinstance(called, Refusal):
        return called
    call, edits = called
    end = max(edit.start(loop.node), edit.end(loop.node))
    return Repair(_DONE, [*edits, edit.edit(edit.start(loop.node), end, call)], safe=False, may_change=TRACED)


def _called(
    edit: Editor,
    found: _Assignment,
    place: cst.CSTNode,
    target: cst.BaseExpression,
    computed: cst.BaseExpression,
) -> tuple[str, list[Edit]] | Refusal:
    """The call of a function that does what was found, and the edits that add that above the first statement that needs one."""
    loop = edit.model.loops.innermost_loop(place)
    for node in descendants(computed):
        if isinstance(node, cst.Name | cst.Attribute) and edit.text(node) in found.parameters.values():
            changed = change(edit.model, node, loop) if loop is not None else None
            if changed is not None:
                return changed
    decorator, edits = edit.spell("function", _first_user(edit))
    wanted = "copy_weights" if found.value in found.names else "blend_weights"
    name, added = _function(edit, wanted, decorator, found, imported=bool(edits))
    given = [edit.text(found.source), edit.text(target), *found.parameters.values()]
    return f"{name}({', '.join(given)})", [*edits, *added]


def _of_lists(edit: Editor, lists: Listed) -> _Assignment | Refusal:
    """What several statements do to each pair of weights."""
    names = {"new": "source", "old": "target"}
    if lists.value is None:
        return _Assignment(lists.source, names, "old", "new", {})
    inner = {part for node in lists.named for part in descendants(node)}
    parameters = _parameters(edit, lists.value, {"new", "old"}, inner)
    if isinstance(parameters, Refusal):
        return parameters
    value = _with_parameters(edit, lists.value, parameters, lists.named)
    return _Assignment(lists.source, names, "old", value, parameters)


def _whole(copy: WeightCopy) -> _Assignment | Refusal:
    """`target.set_weights(source.get_weights())`."""
    if copy.given is not None and isinstance(copy.given, cst.Call) and len(copy.sources) == 1:
        return _Assignment(copy.sources[0], {"new": "source", "old": "target"}, "old", "new", {})
    return Refusal(_SEVERAL, copy.given)


def _blended(edit: Editor, copy: WeightCopy) -> _Assignment | Refusal:
    """`target.set_weights([… for w, t in zip(source.get_weights(), target.get_weights())])`."""
    comprehension = copy.given
    assert isinstance(comprehension, cst.ListComp)
    part = comprehension.for_in
    match part:
        case cst.CompFor(
            target=cst.Tuple(
                elements=[cst.Element(value=cst.Name() as one), cst.Element(value=cst.Name() as other)]
            ),
            iter=cst.Call(func=cst.Name("zip"), args=[cst.Arg(value=first), cst.Arg(value=second)]),
            ifs=[],
            inner_for_in=None,
        ):
            holders = {one.value: holder_of(first), other.value: holder_of(second)}
        case _:
            return Refusal(_SEVERAL, comprehension)
    target = dotted_name(copy.target)
    old = next(
        (name for name, holder in holders.items() if holder is not None and dotted_name(holder) == target), ""
    )
    new = next((name for name in holders if name != old), "")
    source = holders.get(new)
    if not old or not target or source is None or len(copy.sources) != 2:
        return Refusal(_SEVERAL, comprehension)
    parameters = _parameters(edit, comprehension.elt, {*holders})
    if isinstance(parameters, Refusal):
        return parameters
    value = _with_parameters(edit, comprehension.elt, parameters)
    names = {name: "target" if name == old else "source" for name in holders}
    return _Assignment(source, names, old, value, parameters)


def _parameters(
    edit: Editor, value: cst.BaseExpression, own: set[str], known: Collection[cst.CSTNode] = ()
) -> dict[str, str] | Refusal:
    """The names that an expression of numbers and names needs besides `own`, as parameters: `tau` for `self.tau`."""
    parameters: dict[str, str] = {}
    inner: set[cst.CSTNode] = set(known)
    for node in descendants(value):
        if node in inner:
            continue
        match node:
            case cst.Attribute() if dotted_name(node):
                inner |= set(descendants(node))
            case cst.Name():
                if node.value in own or _is_constant_of_module(edit, node):
                    continue
            case cst.BinaryOperation() | cst.UnaryOperation():
                continue
            case cst.BaseExpression() if is_constant(node):
                continue
            case _:
                return Refusal("more than arithmetic is done with the weights", value)
        name = last_name(node)
        if name in {*own, "source", "target"} or parameters.get(name, edit.text(node)) != edit.text(node):
            return Refusal(f"`{name}` would mean two things", node)
        parameters[name] = edit.text(node)
    return parameters


def _is_constant_of_module(edit: Editor, name: cst.Name) -> bool:
    """Whether a name stands for one number in the whole file."""
    bindings = edit.model.walk.top.bindings.get(name.value, [])
    found = edit.model.infer.bindings_reaching(name)
    return (
        found is not None
        and found[0] is edit.model.walk.top
        and len(bindings) == 1
        and bindings[0].value is not None
        and bindings[0].path == ()
        and is_constant(bindings[0].value)
    )


def _with_parameters(
    edit: Editor,
    value: cst.BaseExpression,
    parameters: dict[str, str],
    named: Mapping[cst.CSTNode, str] | None = None,
) -> str:
    """The text of an expression with the names of parameters, and of what is `named`, in it."""
    text, start = edit.text(value), edit.start(value)
    written = dict(named or {}) | {
        node: last_name(node)
        for node in descendants(value)
        if isinstance(node, cst.Attribute) and dotted_name(node) and edit.text(node) in parameters.values()
    }
    for node in sorted(written, key=edit.start, reverse=True):
        text = text[: edit.start(node) - start] + written[node] + text[edit.end(node) - start :]
    return text


def _function(
    edit: Editor, wanted: str, decorator: str, found: _Assignment, *, imported: bool
) -> tuple[str, list[Edit]]:
    """The name of a function that does this, and the edit that adds it where the file has none.

    `imported` says that an import is added too, which will stand above it where nothing does now.
    """
    tab = edit.one_indent()
    zipped = ", ".join(
        f"{holder}.{found.variables.get(name, 'weights')}" for name, holder in found.names.items()
    )
    body = (
        f"(source, target{''.join(f', {name}' for name in found.parameters)}):\n"
        f"{tab}for {', '.join(found.names)} in zip({zipped}):\n"
        f"{tab}{tab}{found.old}.assign({found.value})"
    )
    name, number = wanted, 2
    while (known := _known(edit, name)) is not None:
        if known == f"@{decorator}\ndef {name}{body}":
            return name, []
        name, number = f"{wanted}_{number}", number + 1
    place = _first_user(edit)
    blank = edit.blank_lines_above(place)
    gap = "\n\n" if imported and place is edit.model.module.body[0] else "\n\n"[blank:]
    return name, [edit.insert_above(place, f"{gap}@{decorator}\ndef {name}{body}\n\n\n")]


def _known(edit: Editor, name: str) -> str | None:
    """The text of a function of that name; "" for anything else that has it, None where nothing has."""
    walk = edit.model.walk
    if not edit.model.names.is_used(name):
        return None
    functions = [
        f.node for f in walk.functions.values() if f.name == name and f.outer is None and f.owner is None
    ]
    return edit.text(functions[0]).strip() if len(functions) == 1 else ""


def _first_user(edit: Editor) -> cst.CSTNode:
    """The first statement of the module that holds a call of `set_weights`, or a loop that assigns to variables."""
    model = edit.model
    users = [*model.walk.calls.get("set_weights", ()), *(loop.call for loop in model.own(AssignLoops).all())]
    return min(map(edit.outermost, users), key=edit.start)
