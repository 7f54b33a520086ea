"""What eager code does and a graph doesn't, written so that both do the same.

Results are left on an object for whoever looks at them, as attention weights for a plot, `self.weights = weights`: a trace
would leave a symbolic tensor there, once. `tf.maximum(0, x)` is an op on integers in a graph, whatever `x` holds. A graph makes
no variable on each call, which may only have been meant for a tape to watch. And a function
that a step calls may fetch a tensor, or have NumPy compute of it, for nobody but the caller of the step: `np.abs(target - q)`.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tflint_perf.analysis.apis.facts import library
from tflint_perf.analysis.execution.op_loops import is_read
from tflint_perf.analysis.execution.tapes import GRADIENTS
from tflint_perf.analysis.model import Model
from tflint_perf.analysis.python.scopes import Block, Function
from tflint_perf.analysis.python.syntax import argument, callee_name, has_stars, keyword_argument
from tflint_perf.analysis.rewriting.ops_for_numpy import op_for
from tflint_perf.edit.editor import Editor
from tflint_perf.finding import Edit
from tflint_perf.rule import Repair

from .compiling import first_parameter


def means_the_same_in_graph(edit: Editor, obstacle: cst.CSTNode | None) -> Repair | None:
    """The fix of what keeps code from being compiled as it stands; the code is compiled by another one."""
    if isinstance(obstacle, cst.Call):
        return _write_float(edit, obstacle) or _write_tensors(edit, obstacle)
    return _keep_for_eager_calls(edit, obstacle)


def _write_tensors(edit: Editor, call: cst.Call) -> Repair | None:
    """Write a tensor for a variable that a function makes on each call and only reads, and for others that it makes."""
    function = edit.model.function_at(call)
    made = (
        [other for other in function.calls if _is_only_read(edit.model, other)]
        if function is not None
        else []
    )
    if call not in made:
        return None
    edits = list[Edit]()
    for other in made:
        value, dtype = argument(other, 0, "initial_value"), keyword_argument(other, "dtype")
        # What a compiled function is given is a tensor already, of another type perhaps.
        spelled, imports = edit.spell("cast" if dtype is not None else "convert_to_tensor", other)
        given = ", ".join(edit.text(part) for part in (value, dtype) if part is not None)
        edits += [*imports, edit.replace(other, f"{spelled}({given})")]
    return Repair(
        f"Make a tensor on each call of `{function.name if function is not None else ''}`, not a variable",
        edits,
        safe=False,
        may_change="what other tapes follow",
        bold=True,
    )


def _is_only_read(model: Model, call: cst.Call) -> bool:
    """Whether a call makes a variable for a name of its function, which is read in part, computed with, handed on or watched."""
    statement = model.parent(call)
    match statement:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name() as name)]):
            pass
        case _:
            return False
    keywords = {arg.keyword.value for arg in call.args if arg.keyword is not None}
    if (
        model.value(call).kind != "variable"
        or has_stars(call)
        or not keywords <= {"initial_value", "dtype", "name", "trainable"}
        or sum(arg.keyword is None for arg in call.args) > 1
        or argument(call, 0, "initial_value") is None
    ):
        return False
    function = model.function_at(call)
    home = model.names.home(name)
    if function is None or home is None or home.function is not function:
        return False
    mentions = [mention for mention in model.names.mentions_in(function, name.value) if mention is not name]
    return all(_takes_tensor_as_well(model, mention) for mention in mentions) and _is_followed(
        model, mentions
    )


def _takes_tensor_as_well(model: Model, use: cst.Name) -> bool:
    match model.parent(use):
        case cst.Subscript(value=whole) if whole is use:
            return True
        case cst.Attribute(value=whole, attr=cst.Name(name)):
            return whole is use and name in ("shape", "dtype")
        case cst.Arg(star="") | cst.BinaryOperation() | cst.AssignTarget() | cst.Element():
            return True
    return False


def _is_followed(model: Model, uses: Sequence[cst.Name]) -> bool:
    """Whether a tape that is asked for the gradient by one of them has been told to watch it: no tape does that of itself."""
    taken = [call for use in uses if isinstance(call := _around(model, use), cst.Call)]
    asked = any(callee_name(call) in GRADIENTS for call in taken)
    return not asked or any(callee_name(call) == "watch" for call in taken)


def _around(model: Model, use: cst.CSTNode) -> cst.CSTNode | None:
    """The call that a name, or a list of such, is an argument of."""
    current = model.parent(use)
    while isinstance(current, cst.Element | cst.List | cst.Tuple | cst.Arg):
        current = model.parent(current)
    return current


def stays_on_device(edit: Editor, obstacle: cst.CSTNode | None) -> Repair | None:
    """The fix of a function that fetches a tensor, or has NumPy compute of it, and gives that back: an op does it."""
    function = edit.model.function_at(obstacle) if isinstance(obstacle, cst.Call) else None
    if function is None:
        return None
    others = [other.node for other in edit.model.tracing.obstacles_in(function) if not other.may]
    written = [_op_instead(edit, other) for other in others if isinstance(other, cst.Call)]
    if not written or len(written) < len(others):
        return None
    edits = [change for each in written if each is not None for change in each]
    if None in written:
        return None
    return Repair(
        f"Give a tensor back from `{function.name}`, which a graph can compute",
        list(dict.fromkeys(edits)),
        safe=False,
        may_change="whether its results are arrays",
        bold=True,
    )


def _op_instead(edit: Editor, call: cst.Call) -> list[Edit] | None:
    """The edits that write for a call of the host an op on the tensor that it gets, through which no gradient goes either."""
    model = edit.model
    fetched = isinstance(call.func, cst.Attribute) and call.func.attr.value == "numpy" and not call.args
    op = None if fetched else op_for(model.qualified(call.func), call)
    given = (
        [call.func.value]
        if isinstance(call.func, cst.Attribute) and fetched
        else [a.value for a in call.args]
    )
    if not (fetched or op) or not any(model.value(each).kind == "tensor" for each in given):
        return None
    if not _may_be_tensor(model, call):
        return None
    stop, imports = edit.spell("stop_gradient", call)
    if fetched:
        return [*imports, edit.replace(call, f"{stop}({edit.text(given[0])})")]
    spelled, more = edit.spell(op or "", call)
    return [
        *imports,
        *more,
        edit.replace(call.func, f"{stop}({spelled}"),
        edit.edit(edit.end(call), edit.end(call), ")"),
    ]


def _may_be_tensor(model: Model, node: cst.CSTNode) -> bool:
    """Whether a result goes nowhere but out of its function and into arithmetic and ops."""
    parent = model.parent(node)
    match parent:
        case cst.Return():
            return True
        case cst.Element() | cst.Tuple() | cst.BinaryOperation():
            return _may_be_tensor(model, parent)
        case cst.Arg():
            call = model.parent(parent)
            return isinstance(call, cst.Call) and library(model.qualified(call.func)) == "tensorflow"
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name() as name)]):
            mentions = model.names.mentions_in(model.function_at(node), name.value)
            return all(mention is name or _may_be_tensor(model, mention) for mention in mentions)
    return False


def _write_float(edit: Editor, call: cst.Call) -> Repair | None:
    """Write the integer that tells the type of an op's numbers in a graph as the float that eager code makes of it."""
    if not edit.model.tracing.mixed_types(call):
        return None
    number = edit.model.tracing.numbers_in_graph(call)[0]
    text = edit.text(number)
    if not text.lstrip("-").isdecimal():
        return None
    return Repair(
        f"Write `{text}.0`, which a graph takes for a float, too",
        [edit.replace(number, f"{text}.0")],
        safe=False,
        may_change=f"whether `{callee_name(call)}` takes integers",
        bold=True,
    )


def _keep_for_eager_calls(edit: Editor, obstacle: cst.CSTNode | None) -> Repair | None:
    """Leave the result that `obstacle` writes to an attribute there in eager calls only, if no step reads it anywhere else; None
    where that is not seen. What a program compiles afterwards no longer leaves any."""
    match obstacle:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Attribute(attr=cst.Name(kept)) as target)]):
            pass
        case _:
            return None
    model, function = edit.model, edit.model.function_at(obstacle)
    line = model.parent(obstacle)
    if (
        first_parameter(function) != edit.text(target.value)
        or not isinstance(line, cst.SimpleStatementLine)
        or len(line.body) > 1
    ):
        return None
    reads = _reads_behind(edit, obstacle, target)
    if reads is None or (reads and _is_bound_again(edit, obstacle.value)):
        return None
    asked, imports = edit.spell("executing_eagerly", obstacle)
    indent = edit.one_indent(edit.indent(obstacle))
    edits = list(imports)
    if isinstance(obstacle.value, cst.Name):
        name = obstacle.value.value
        edits.append(edit.insert_above(obstacle, f"if {asked}():\n", above_comments=False))
        edits.append(edit.edit(edit.start(obstacle), edit.start(obstacle), indent))
    else:
        name = edit.fresh_name(kept.lstrip("_"), obstacle)
        edits.append(edit.replace(target, name))
        edits.append(edit.insert_below(obstacle, f"if {asked}():\n{indent}{edit.text(target)} = {name}\n"))
    edits += [edit.replace(read, name) for read in reads]
    return Repair(
        f"Keep `{edit.text(target)}` of eager calls alone",
        edits,
        safe=False,
        may_change=f"what `{edit.text(target)}` is after compiled calls",
        bold=True,
    )


def _reads_behind(edit: Editor, written: cst.Assign, target: cst.Attribute) -> list[cst.Attribute] | None:
    """The reads of an attribute behind the one place of its class that gives it a value on a step; None where a step may read
    it anywhere else."""
    model, function = edit.model, edit.model.function_at(written)
    at, found = model.walk.at[written], []
    for use in model.walk.attributes.get(target.attr.value, ()):
        if use is target or _is_of_another_class(edit, use, function):
            continue
        holder = model.function_at(use)
        if holder is function and edit.text(use.value) == edit.text(target.value):
            behind = model.infer.place(use).order > at.order
            if (
                not behind
                or not is_read(model.walk.parents, use)
                or not _lies_in(at.block, model.infer.place(use).block)
            ):
                return None
            found.append(use)
        elif not is_read(model.walk.parents, use):
            if holder is None or holder.name != "__init__":
                return None
        elif model.is_per_step(use):
            return None
    return found


def _is_bound_again(edit: Editor, value: cst.BaseExpression) -> bool:
    """Whether `value` is a name that may stand for something else where the result is read."""
    home = edit.model.names.home(value) if isinstance(value, cst.Name) else None
    return isinstance(value, cst.Name) and (home is None or len(home.bindings.get(value.value, ())) > 1)


def _is_of_another_class(edit: Editor, use: cst.Attribute, method: Function | None) -> bool:
    """Whether an attribute is one of `self` in a method of a class that has nothing to do with that of `method`."""
    holder = edit.model.function_at(use)
    if method is None or method.owner is None or holder is None or holder.owner is None:
        return False
    lineage = edit.model.infer.classes.lineage
    return (
        first_parameter(holder) == edit.text(use.value)
        and method.owner not in lineage(holder.owner)
        and holder.owner not in lineage(method.owner)
    )


def _lies_in(outer: Block, block: Block | None) -> bool:
    while block is not None and block is not outer:
        block = block.parent
    return block is outer
