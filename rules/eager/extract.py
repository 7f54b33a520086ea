"""Moving an inline step of a loop into a function of its own."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from tflint_perf.analysis.model import Model
from tflint_perf.analysis.python.obstacles import Obstacle
from tflint_perf.edit.arguments import for_all_shapes
from tflint_perf.edit.editor import Editor
from tflint_perf.edit.judged import TRACED
from tflint_perf.records import dataclass
from tflint_perf.rule import Refusal, Repair

from .crossing import Crossing, Crossings, Stretch
from .shapes import Shapes


def extract(edit: Editor, stretch: Stretch, name: str) -> Repair | Refusal:
    """Move a stretch into a `@tf.function` above the loop, and call it where it stood."""
    model = edit.model
    function = model.function_at(stretch.first)
    obstacle = model.tracing.obstacle_in_statements(stretch.statements, function, moved=True)
    if obstacle is not None:
        return Refusal(obstacle.reason, obstacle.node)
    refusal = _immovable(edit, stretch)
    if refusal is not None:
        return refusal
    crossing = model.own(Crossings).of(stretch)
    if isinstance(crossing, Obstacle):
        return Refusal(crossing.reason, crossing.node)
    varies = _shapes_vary(model, stretch, crossing)
    if varies:
        static = model.own(Shapes).asked_for(stretch.statements)
        if static is not None:
            return Refusal(
                "the code reads the static shape, which a trace for varying shapes does not know", static
            )
    home = _home(edit, stretch, name)
    return home if isinstance(home, Refusal) else _edits(edit, stretch, home, crossing, varies)


@dataclass(frozen=True, slots=True)
class _Home:
    """Where the new function goes: above `node`. `given` are parameters that it gets besides those of the loop."""

    node: cst.CSTNode
    name: str
    given: list[str]
    # The first parameter of a method.
    owner: str = ""


def _home(edit: Editor, stretch: Stretch, name: str) -> _Home | Refusal:
    """Above the loop; beside the function of the loop where a loop calls that, or each call would trace anew."""
    model = edit.model
    function = model.function_at(stretch.first)
    nested = _Home(stretch.loop.node, edit.fresh_name(name), [])
    sites = model.calls.sites(function) if function is not None else []
    again = next((site for site in sites if model.loops.innermost_loop(site) is not None), None)
    per_batch = function is not None and model.loops.is_function_per_batch(function)
    elsewhere = function is not None and any(
        caller.how == "call" and caller.looped for caller in model.calls.callers_outside(function)
    )
    if function is None or (again is None and not elsewhere and not per_batch):
        return nested
    anew = Refusal(f"a loop calls `{function.name}`, and each call would retrace it", again or function.node)
    if function.outer is not None or function.decorators:
        return anew
    given = model.own(Crossings).parameters_read(stretch, function)
    if given is None:
        # A function that is given a model may get another one with each call; a method trains its object's own. To trace
        # once for each call pays where that is an epoch.
        return nested if function.owner is None and not per_batch else anew
    if function.owner is None:
        return replace(nested, node=function.node, given=given)
    owner = function.positional[0] if function.positional else ""
    if not owner or model.walk.at[function.owner.node].block.owner is not model.module:
        return anew
    classes = model.infer.classes
    # What a base class may have a method of that name for.
    derived = classes.keras_kind(function.owner) or classes.has_foreign_base(function.owner)
    name = f"_{nested.name}" if derived else nested.name
    return _Home(function.node, name, [parameter for parameter in given if parameter != owner], owner)


def _immovable(edit: Editor, stretch: Stretch) -> Refusal | None:
    """Why the lines of a stretch can't be moved."""
    if edit.model.names.scope_of(stretch.first).kind == "class":
        return Refusal("it is in the body of a class, whose names a function does not see", stretch.first)
    for node in stretch.nodes():
        if isinstance(node, cst.SimpleString | cst.FormattedString) and "\n" in edit.text(node):
            return Refusal("a string of several lines can't be moved", node)
    for statement in (stretch.first, stretch.last):
        line = edit.model.parent(statement)
        if isinstance(line, cst.SimpleStatementSuite) or (
            isinstance(line, cst.SimpleStatementLine) and not set(line.body) <= set(stretch.statements)
        ):
            return Refusal("the step shares a line with other statements", statement)
    return None


def _shapes_vary(model: Model, stretch: Stretch, crossing: Crossing) -> bool:
    loop = model.loops.innermost_loop(stretch.first)
    return (loop is not None and model.own(Shapes).vary_in(loop)) or any(
        isinstance(node, cst.Name)
        and node.value in crossing.parameters
        and model.own(Shapes).is_as_long_as_an_episode(node)
        for node in stretch.nodes()
    )


def _edits(edit: Editor, stretch: Stretch, home: _Home, crossing: Crossing, varies: bool) -> Repair:
    decorator, imports = edit.spell("function", home.node)
    if varies:
        decorator += f"({for_all_shapes(edit)})"
    given = []
    for parameter in crossing.parameters:
        if parameter in crossing.numbers:
            constant, more = edit.spell("constant", stretch.first)
            imports = imports or more
            given.append(f"{constant}({parameter})")
        else:
            given.append(parameter)
    besides = [parameter for parameter in home.given if parameter not in crossing.parameters]
    parameters = [*([home.owner] if home.owner else []), *besides, *crossing.parameters]
    old = edit.indent(stretch.first)
    new = edit.one_indent(old)
    results = ", ".join(crossing.returned)
    # PEP 8: two blank lines around a function of the module, one around an inner one.
    gap = "\n" if edit.indent(home.node) else "\n\n"
    before = gap[edit.blank_lines_above(home.node) :]
    head = f"{before}@{decorator}\ndef {home.name}({', '.join(parameters)}):\n"
    tail = (f"{new}return {results}\n" if results else "") + gap
    call = (f"{results} = " if results else "") + (f"{home.owner}." if home.owner else "")
    start, end = edit.lines_start(stretch.first), edit.lines_end(stretch.last)
    where = "loop" if home.node is stretch.loop.node else "function"
    return Repair(
        f"Move the step to a `@{decorator}` above the {where}",
        [
            *imports,
            edit.insert_above(home.node, head + _body(edit, stretch, old, new) + tail),
            edit.edit(start, end, f"{old}{call}{home.name}({', '.join([*besides, *given])})\n"),
        ],
        safe=False,
        may_change=TRACED,
    )


def _body(edit: Editor, stretch: Stretch, old: str, new: str) -> str:
    """The lines of a stretch, indented as the body of a function."""
    lines = [
        new + line[len(old) :] if line.startswith(old) and line.strip() else line
        for line in edit.lines(stretch.first, stretch.last).splitlines(keepends=True)
    ]
    if not lines[-1].endswith(("\n", "\r")):
        lines[-1] += "\n"
    return "".join(lines)
