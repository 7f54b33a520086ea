"""Making a `tf.function` of a function by a decorator."""

from __future__ import annotations

import re

import libcst as cst

from tflint_perf.analysis.model import Model
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import last_name
from tflint_perf.analysis.values.frameworks import imports_keras_alone
from tflint_perf.edit.arguments import for_all_shapes
from tflint_perf.edit.editor import Editor
from tflint_perf.edit.judged import TRACED
from tflint_perf.rule import Refusal, Repair

from .shapes import Shapes

READS_SHAPE = "the code reads the static shape, which a trace for varying shapes does not know"

# A decorator that its author has made a comment of.
_SWITCHED_OFF = re.compile(r"#+\s*(@[\w.]*\bfunction\b.*)")


def once_switched_on(model: Model, remedy: str) -> str:
    """How to compile something, in a program that may have switched that off for everything."""
    off = model.compiled.is_nothing_compiled()
    return f"remove `run_functions_eagerly(True)`, then {remedy}" if off else remedy


def compile_function(
    edit: Editor, function: Function, *, bold: bool = False, as_seen: bool = False
) -> Repair | Refusal:
    """Decorate a function with `@tf.function`, unless tracing would change or break what it does: if `bold`, is sure to, and
    if `as_seen`, is seen to."""
    model = edit.model
    if any(model.infer.compiles(decorator.decorator) for decorator in function.decorators):
        return Refusal("it is a `tf.function`, which the file has run in eager mode", function.node)
    if (elsewhere := not_compiled(model, function.node)) is not None:
        return elsewhere
    if function.outer is not None and model.is_per_step(function.node):
        return Refusal("it is redefined on each step, and would be retraced each time", function.node)
    again = _traced_once_a_call(model, function)
    if again is not None:
        return again
    obstacle = model.tracing.obstacle_in_function(function, as_seen=as_seen)
    if obstacle is not None and not (bold and obstacle.may):
        return Refusal(obstacle.reason, obstacle.node)
    spelled, imports = edit.spell("function", function.node)
    if model.own(Shapes).vary_for(function):
        static = model.own(Shapes).asked_for([function.node])
        if static is not None:
            return Refusal(READS_SHAPE, static)
        spelled += f"({for_all_shapes(edit)})"
    comment, told = _switched_off(function)
    if comment is None:
        decorate = edit.insert_above_def(function.node, f"@{spelled}\n")
    elif told in (f"@{spelled}", f"@{spelled}()"):
        decorate = edit.replace(comment, told)
    else:
        return Refusal(f"a comment above it says `{told}`, which may not mean the same", comment)
    return Repair(
        f"Compile `{function.name}` with `@{spelled}`",
        [*imports, decorate],
        safe=False,
        may_change=TRACED,
        bold=as_seen or obstacle is not None,
    )


def not_compiled(model: Model, node: cst.CSTNode) -> Refusal | None:
    """Why a file that imports no TensorFlow is given no `tf.function`, or a program that compiles none."""
    if imports_keras_alone(model.walk):
        return Refusal("the file imports Keras alone, which may run on other backends than TensorFlow", node)
    return switched_off(model, node)


def switched_off(model: Model, node: cst.CSTNode) -> Refusal | None:
    """Why a `tf.function` would change nothing."""
    if not model.compiled.is_nothing_compiled():
        return None
    return Refusal("`run_functions_eagerly(True)` would run it in eager mode all the same", node)


def _traced_once_a_call(model: Model, function: Function) -> Refusal | None:
    """Why a function that another one defines would be traced for a single call: a loop calls that other one."""
    outer, sites = function.outer, model.calls.sites(function)
    if outer is None or not sites or any(map(model.loops.innermost_loop, sites)):
        return None
    callers = [site for site in model.calls.sites(outer) if model.loops.innermost_loop(site) is not None]
    if not callers and not model.loops.is_function_per_batch(outer):
        return None
    where = callers[0] if callers else outer.node
    return Refusal(f"a loop calls `{outer.name}`, and each call would retrace it", where)


def _switched_off(function: Function) -> tuple[cst.Comment | None, str]:
    """`# @tf.function` above a function, and what it says."""
    node = function.node
    lines = (*node.leading_lines, *node.lines_after_decorators) if isinstance(node, cst.FunctionDef) else ()
    for line in lines:
        if line.comment is not None and (found := _SWITCHED_OFF.fullmatch(line.comment.value)):
            return line.comment, found[1].strip()
    return None, ""


def first_parameter(function: Function | None) -> str:
    """`self`, in a method of an object."""
    if function is None or function.owner is None or not function.positional:
        return ""
    bound = {last_name(decorator.decorator) for decorator in function.decorators}
    return "" if bound & {"staticmethod", "classmethod", "property"} else function.positional[0]
