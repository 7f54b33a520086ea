"""A compiled function of its own for a model that is called in the middle of what only the host can do."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.model import Model
from tflint_perf.analysis.python.syntax import argument, has_stars, is_constant, is_name, last_name
from tflint_perf.analysis.values.frameworks import FRAMEWORKS, packages, packages_at_top
from tflint_perf.analysis.values.written import bindings_of
from tflint_perf.edit.editor import Editor
from tflint_perf.edit.judged import TRACED
from tflint_perf.finding import Edit
from tflint_perf.rule import Refusal, Repair

from .compiling import READS_SHAPE, first_parameter, not_compiled, switched_off
from .forward_function import Forward, Inputs, forward_function, more_inputs
from .shapes import Shapes
from .split_step import split_forward
from .step_arguments import is_taken_by_loop

# Arguments of `predict`, `evaluate` and `fit` that change nothing of a single batch.
DROPPED = frozenset({"verbose", "batch_size", "shuffle", "epochs", "nb_epoch"})


def compile_prediction(edit: Editor, call: cst.Call) -> Repair | Refusal:
    """Replace `model.predict(x)` by a compiled call of the model, whose results are arrays as those of `predict` are."""
    assert isinstance(call.func, cst.Attribute)
    if any(arg.keyword is not None and arg.keyword.value not in DROPPED for arg in call.args[1:]):
        return Refusal("`predict` is given more than its inputs", call)
    owner = call.func.value
    several = _several_outputs(edit, owner)
    if several is not None:
        return Refusal("the model may give several arrays", several)
    name = f"run_{last_name(owner).strip('_')}" if not is_name(owner, "self") else "run"
    return _call_alone(edit, call, name, owner, is_prediction=True)


def _several_outputs(edit: Editor, node: cst.BaseExpression) -> cst.CSTNode | None:
    """The outputs of a functional model where they are a list, or something of which nothing is known."""
    if not isinstance(node, cst.Name | cst.Attribute):
        return None
    for binding in bindings_of(edit.model.infer, node):
        made = binding.value if binding.path == () else None
        if not isinstance(made, cst.Call) or edit.model.value(made).kind != "model":
            continue
        outputs = argument(made, 1, "outputs")
        if outputs is not None and edit.model.value(outputs).kind in ("list", "tuple", "dict"):
            return outputs
    return None


def compile_forward(edit: Editor, call: cst.Call) -> Repair | Refusal:
    """Move a forward pass into a `tf.function`: with the ops on what it gives, or else the call of the model alone."""
    off = switched_off(edit.model, call)
    if off is not None:
        return off
    made = split_forward(edit, call, _name_for(call))
    if isinstance(made, Repair):
        return made
    varies = not edit.model.own(Shapes).stay(call)
    return _call_alone(edit, call, _name_for(call), call.func, varies=varies)


def compile_call(edit: Editor, call: cst.Call, *, varies: bool) -> Repair | Refusal:
    """Replace the call of a model by one of a `tf.function` that does nothing else, beside the function or loop around it.

    Refused where that would be another model on later calls. `varies` says that the inputs are known to vary in shape, so that one trace has to do for all of them."""
    elsewhere = not_compiled(edit.model, call)
    if elsewhere is not None:
        return elsewhere
    static = edit.model.own(Shapes).asked_for([call]) if varies else None
    if static is not None:
        return Refusal(READS_SHAPE, static)
    return _call_alone(edit, call, _name_for(call), call.func, bold=False, varies=varies)


def _name_for(call: cst.Call) -> str:
    return f"run_{last_name(call.func).strip('_') or 'model'}"


def _call_alone(
    edit: Editor,
    call: cst.Call,
    name: str,
    called_node: cst.BaseExpression,
    *,
    is_prediction: bool = False,
    bold: bool = True,
    varies: bool = True,
) -> Repair | Refusal:
    late = _imports_late(edit.model, call)
    if late is not None:
        return late
    if has_stars(call) or not call.args or call.args[0].keyword is not None:
        return Refusal("not all that the model is given can be seen here", call)
    function = edit.model.function_at(call)
    another = edit.model.tracing.obstacle_to_keeping(called_node, function, as_seen=bold)
    if another is not None:
        return Refusal(another.reason, another.node)
    more = Inputs(", training=False") if is_prediction else more_inputs(edit, call, sure=not bold)
    if more is None:
        return Refusal("the model is given more than its inputs", call.args[1].value)
    beside = home_beside(edit, call, called_node)
    if isinstance(beside, Refusal):
        return beside
    home, owner, given = beside
    forward = Forward(
        called_node,
        owner,
        bool(given),
        "model" if given and isinstance(called_node, cst.Attribute) else "",
        rest=more.rest,
        inputs=("inputs", *more.parameters),
        varies=varies,
    )
    own = forward_function(edit, call, home, forward, name)
    inputs = call.args[0].value
    tensors = as_tensors(edit, inputs)
    if isinstance(tensors, Refusal):
        return tensors
    passed, imports = tensors
    made = own.called(owner, given, _laid_out_as(edit, call, [passed, *more.passed]))
    made = _as_arrays(edit, call, made) if is_prediction else made
    return Repair(
        f"Call the model by a `@{own.decorator}` of its own",
        [*(own.imports or imports), *own.edits, edit.replace(call, made)],
        safe=False,
        may_change=TRACED,
        bold=bold,
    )


def _laid_out_as(edit: Editor, call: cst.Call, arguments: list[str]) -> str:
    """Arguments in as many lines as those of a call: one a line where it has several, at the indentation of the second."""
    text = edit.text(call)
    if len(arguments) == 1 or "\n" not in text:
        return ", ".join(arguments)
    second = text.split("\n")[1]
    return f",\n{second[: len(second) - len(second.lstrip())]}".join(arguments)


def home_beside(
    edit: Editor, call: cst.Call, called_node: cst.BaseExpression
) -> tuple[cst.CSTNode, str, list[str]] | Refusal:
    """Beside which statement the function for a model goes, whose method it becomes, and the names that it is given."""
    model, function = edit.model, edit.model.function_at(call)
    home = function.node if function is not None else edit.outermost_loop(call)
    if home is None or isinstance(home, cst.Lambda) or (function is not None and _is_made_anew(edit, call)):
        return Refusal("the model is run in no function that another could be put beside", call)
    owner = first_parameter(function)
    called = edit.text(called_node)
    given: list[str] = []
    if _is_one_of_several(called_node):
        return Refusal("the model is one of several, of which a trace keeps the first", called_node)
    if isinstance(called_node, cst.Name) and called != owner and function is not None:
        found = model.infer.bindings_reaching(called_node)
        if found is None:
            return Refusal("where the model comes from is not known", called_node)
        given = [called] if found[0] is function.scope else []
    elif function is not None and not (owner and f"{called}.".startswith(f"{owner}.")):
        given = [called]
        if "model" in called.split("."):
            return Refusal("the model is part of something else", called_node)
    return home, owner, given


def _is_one_of_several(node: cst.BaseExpression) -> bool:
    """Whether a model is told by more than its name and those of its owners: `self.models[i]`."""
    while isinstance(node, cst.Attribute | cst.Subscript):
        if isinstance(node, cst.Subscript) and not _is_constant_item(node):
            return True
        node = node.value
    return not isinstance(node, cst.Name)


def _is_constant_item(node: cst.Subscript) -> bool:
    return all(isinstance(part.slice, cst.Index) and is_constant(part.slice.value) for part in node.slice)


def _holds_numbers(element: cst.BaseElement) -> bool:
    return isinstance(element.value, cst.List | cst.Tuple) or is_constant(element.value)


def as_tensors(edit: Editor, inputs: cst.BaseExpression) -> tuple[str, list[Edit]] | Refusal:
    """What a model is given, made tensors, and the imports for that: each of several inputs by itself."""
    if isinstance(inputs, cst.List | cst.Tuple) and any(map(_holds_numbers, inputs.elements)):
        return Refusal("the model is given a list of Python's own", inputs)
    passed, kind = edit.text(inputs), edit.model.value(inputs).kind
    if kind in ("tensor", "variable") or (kind == "unknown" and is_taken_by_loop(edit.model, inputs)):
        return passed, []
    convert, imports = edit.spell("convert_to_tensor", inputs)
    if kind not in ("list", "tuple", "dict"):
        return f"{convert}({passed})", [*imports]
    each, more = edit.spell("nest.map_structure", inputs)
    return f"{each}({convert}, {passed})", list(dict.fromkeys([*imports, *more]))


def _as_arrays(edit: Editor, call: cst.Call, made: str) -> str:
    """The results of a call as arrays: one, or several where they get names of their own."""
    parent = edit.model.parent(call)
    unpacked = isinstance(parent, cst.Assign) and isinstance(parent.targets[0].target, cst.Tuple | cst.List)
    return f"(part.numpy() for part in {made})" if unpacked else f"{made}.numpy()"


def _is_made_anew(edit: Editor, call: cst.Call) -> bool:
    function = edit.model.function_at(call)
    return function is not None and function.outer is not None and edit.model.is_per_step(function.node)


def _imports_late(model: Model, node: cst.CSTNode) -> Refusal | None:
    """Why nothing of TensorFlow's is put at the top of a file that imports it only where it is needed."""
    if FRAMEWORKS.isdisjoint(packages(model.walk)) or not FRAMEWORKS.isdisjoint(packages_at_top(model.walk)):
        return None
    return Refusal("the file imports TensorFlow only where it needs it", node)
