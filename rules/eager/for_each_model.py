"""A step that is given one model after the other, as in cross-validation: compiled anew for each, above the loop that trains it.

One `tf.function` for all of them would have to make the variables of the second model and of its optimizer in a trace that is
not the first.
"""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.python.flow import loops_around
from tflint_perf.analysis.python.scopes import Function, Loop
from tflint_perf.analysis.python.syntax import descendants, has_stars
from tflint_perf.edit.arguments import for_all_shapes
from tflint_perf.edit.editor import Editor
from tflint_perf.edit.judged import TRACED
from tflint_perf.finding import Edit
from tflint_perf.rule import Repair

from .compiling import not_compiled
from .shapes import Shapes

_WITH_VARIABLES = frozenset({"model", "layer", "optimizer", "metric"})


def compile_for_each_model(edit: Editor, function: Function) -> Repair | None:
    """Make a `tf.function` of a function above each loop that calls it, where the loop has one model and another loop, or another
    run of it, has another; None where that is not so, or not all there is to it."""
    model = edit.model
    if (
        not model.tracing.is_given_models(function)
        or function.decorators
        or model.calls.callers_outside(function)
        or not_compiled(model, function.node) is not None
    ):
        return None
    obstacle = model.tracing.obstacle_in_function(function, one_model=True)
    if obstacle is not None and not obstacle.may:
        return None
    options = ""
    if model.own(Shapes).vary_for(function):
        if model.own(Shapes).asked_for([function.node]) is not None:
            return None
        options = f", {for_all_shapes(edit)}"
    edits = _edits(edit, function, options)
    if edits is None:
        return None
    return Repair(
        f"Compile `{function.name}` for each model that it is given",
        edits,
        safe=False,
        may_change=TRACED,
        bold=True,
    )


def _edits(edit: Editor, function: Function, options: str) -> list[Edit] | None:
    """The edits at all calls; None where one of them is in no loop that keeps to its model."""
    sites, edits = edit.model.calls.sites(function), list[Edit]()
    for site in sites:
        loop = None if has_stars(site) else _loop_of_one_model(edit, site)
        if loop is None:
            return None
        # A call of another model in the same loop has another one.
        first = next(s for s in sites if _objects(edit, s) == _objects(edit, site) and _is_in(edit, s, loop))
        name = edit.fresh_name(f"compiled_{function.name.strip('_')}", first)
        spelled, imports = edit.spell("function", loop.node)
        if site is first:
            made = f"{name} = {spelled}({edit.text(site.func)}{options})\n"
            edits += [*imports, edit.insert_above(loop.node, made)]
        edits.append(edit.replace(site.func, name))
    return edits or None


def _loop_of_one_model(edit: Editor, site: cst.Call) -> Loop | None:
    """The outermost loop around a call that gives none of the objects that the call hands on; None where the innermost does,
    or where that runs on each step, which would trace for its few iterations."""
    model, found = edit.model, None
    names = [part for arg in site.args for part in descendants(arg.value) if isinstance(part, cst.Name)]
    objects = [name for name in names if model.value(name).kind in _WITH_VARIABLES]
    reaching = [model.infer.bindings_reaching(name) for name in objects]
    bindings = [binding for reached in reaching if reached is not None for binding in reached[1]]
    for loop in loops_around(model.loops.innermost_loop(site)):
        if None in reaching or any(model.invariance.is_bound_in(binding, loop) for binding in bindings):
            break
        found = loop
    return found if found is None or not model.is_per_step(found.node) else None


def _objects(edit: Editor, site: cst.Call) -> list[str]:
    """What a call hands on that may have variables of its own, as code."""
    values = [arg.value for arg in site.args]
    return [edit.text(value) for value in values if edit.model.value(value).kind in _WITH_VARIABLES]


def _is_in(edit: Editor, site: cst.Call, loop: Loop) -> bool:
    return loop in loops_around(edit.model.loops.innermost_loop(site))
