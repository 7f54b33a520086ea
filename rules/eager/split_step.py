"""Splitting a step: what a device can do becomes a compiled function, what only the host can do stays where it is.

A statement of the step goes one of three ways. *Traced*, it moves into the new function. On the host and reading nothing
that was traced, it goes *before* the call; on the host and reading what the call gives back, *behind* it. A part of a
traced statement that the host computes beforehand (`int(done)`) becomes an argument, as does an attribute that changes
between calls. Whether all that pays, and learns the same, a run decides: the fix is bold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain

import libcst as cst

from tflint_perf.analysis.apis.facts import fact, has, library
from tflint_perf.analysis.execution.sizes import is_of_environment
from tflint_perf.analysis.model import Model
from tflint_perf.analysis.python.obstacles import Obstacle
from tflint_perf.analysis.python.scopes import Block, Function
from tflint_perf.analysis.python.syntax import (
    callee_name,
    descendants,
    dotted_name,
    integer,
    is_constant,
    is_name,
    names_read,
    names_written,
)
from tflint_perf.analysis.values.mutations import names_changed
from tflint_perf.analysis.values.named_calls import builtin_or_qualified
from tflint_perf.analysis.values.readers import Readers
from tflint_perf.edit.arguments import for_all_shapes
from tflint_perf.edit.editor import Editor
from tflint_perf.edit.judged import TRACED
from tflint_perf.finding import Edit
from tflint_perf.rule import Refusal, Repair

from .ahead_of_tape import move_ahead_of_tape
from .compiling import first_parameter, switched_off
from .crossing import Crossings, deletes_only
from .forward_function import Forward, ForwardFunction, forward_function, rest_of
from .graph_differences import means_the_same_in_graph, stays_on_device
from .inlining import inline_what_hides
from .numpy_twins import Twin, Twins
from .optimizer_updates import Update, made_ahead, update_apart
from .shapes import Shapes
from .step_arguments import Arguments, Split, names_of_tapes
from .trace_per_object import TRACED_FOR, TracedFor

_KEPT_WHOLE = (cst.FunctionDef, cst.ClassDef, cst.Return, cst.Raise, cst.Import, cst.ImportFrom)
# Methods of NumPy's arrays that tensors do not have.
_OF_ARRAYS = frozenset(
    [
        "argmax",
        "argmin",
        "astype",
        "clip",
        "copy",
        "cumsum",
        "dot",
        "flatten",
        "item",
        "max",
        "mean",
        "min",
        "ravel",
        "repeat",
        "reshape",
        "round",
        "squeeze",
        "sum",
        "tolist",
        "transpose",
    ]
)
# What facts mark that takes data of the host, and gives a tensor of them.
_OF_HOST_DATA = ("makes-tensor", "same-when-traced")
_OF_CONTAINERS = frozenset({"append", "extend", "numpy", "get", "items", "keys", "values", "format", "join"})
# What runs a part of itself now and then, or again and again.
_CONDITIONS = (
    cst.If,
    cst.For,
    cst.While,
    cst.Try,
    cst.IfExp,
    cst.BooleanOperation,
    cst.Lambda,
    cst.CompFor,
    cst.GeneratorExp,
    cst.ListComp,
    cst.DictComp,
    cst.SetComp,
)
_VARIABLES = frozenset({"trainable_variables", "trainable_weights", "variables", "weights"})
_UPDATING = frozenset({"apply_gradients", "minimize", "assign", "assign_add", "assign_sub"})
# What may do something for a tape.
_RECORDED = frozenset(
    {"variable", "model", "layer", "tape", "metric", "optimizer", "loss", "tensor", "instance"}
)
# What a tape follows by itself.
_FOLLOWED = frozenset({"variable", "model", "layer"})
# How far above a step what belongs to it is looked for, past statements of the host.
_FURTHEST = 8
_WIDTH = 100


def split(edit: Editor, first: cst.CSTNode, calls: Sequence[cst.CSTNode], name: str) -> Repair | Refusal:
    """Move a step, from its tape to the calls that end it, into a `tf.function` beside the function around it."""
    model = edit.model
    off = switched_off(model, first)
    if off is not None:
        return off
    block = model.walk.at[first].block
    ends = [model.own(Crossings).in_block(call, block) for call in calls]
    if any(end is None for end in ends):
        return Refusal("the step is spread over several blocks", first)
    numbers = [block.statements.index(statement) for statement in (first, *ends) if statement is not None]
    start, end = min(numbers), max(numbers) + 1
    start = _with_tapes(model, block, start, end)
    end = _with_deletions(block, start, end)
    wider = _widened(model, block, start, end)
    several = (wider[0], _with_next_steps(model, block, first, wider[1]))
    in_parts: list[_Step] = []
    for low, high in dict.fromkeys([several, wider, (start, end)]):
        step = _Step(edit, block, block.statements[low:high], first)
        made = step.repair(name if high <= wider[1] else "train_step")
        if isinstance(made, Repair):
            return made
        if made.in_parts and high <= wider[1]:
            in_parts.append(step)
    assert isinstance(made, Refusal)
    same = _same_in_graph(edit, block.statements[start:end], made.node)
    inlined = same or inline_what_hides(edit, block.statements[start:end], made.node)
    whole = inlined or step.moved_ahead()
    return whole or next(filter(None, (part.rest_left(name) for part in in_parts)), made)


def _same_in_graph(
    edit: Editor, statements: Sequence[cst.CSTNode], node: cst.CSTNode | None
) -> Repair | None:
    """The fix of what a graph would do otherwise, where all that is in the way of a step can be mended so or handed over."""
    model = edit.model
    obstacles = (
        obstacle.node
        for statement in statements
        for obstacle in model.tracing.obstacles_in_statement(
            statement, model.function_at(statement), statements
        )
        if not obstacle.may
    )
    inside = set(chain.from_iterable(map(descendants, statements)))

    def mended(other: cst.CSTNode | None) -> Repair | None:
        there = stays_on_device(edit, other) if other not in inside else None
        return means_the_same_in_graph(edit, other) or there

    hard = (other for other in obstacles if not isinstance(other, cst.Attribute | cst.Name))
    return mended(node) if all(map(mended, hard)) else None


def split_forward(edit: Editor, call: cst.Call, name: str) -> Repair | Refusal:
    """Move a statement that runs a model, and what is computed of that, into a `tf.function`: ops, losses and metrics."""
    model = edit.model
    statement = model.statement_of(call)
    if not isinstance(statement, cst.Assign) and _updated_metric(model, statement) is None:
        return Refusal("the forward pass is not a statement of its own", call)
    stretch = pass_with_results(model, call)
    evaluates = is_evaluated(model, stretch)
    made = _Step(edit, model.walk.at[stretch[0]].block, stretch, stretch[0]).repair(
        "test_step" if evaluates else name
    )
    if isinstance(made, Refusal) and len(stretch) > 1:
        made = _Step(edit, model.walk.at[stretch[0]].block, stretch[:1], stretch[0]).repair(name)
    if isinstance(made, Refusal):
        return means_the_same_in_graph(edit, made.node) or made
    return made


def pass_with_results(model: Model, call: cst.Call) -> list[cst.CSTNode]:
    """The statement that runs a model, or the tape around it that nobody asks for a gradient, with those right behind it that
    compute something of what it gives, or update a metric by that, and can be traced."""
    tape = model.tapes.around(call)
    first = model.statement_of(call) if tape is None or model.tapes.record(call) else tape
    block = model.walk.at[first].block
    start = block.statements.index(first)
    return block.statements[start : _with_results(model, block, start, start + 1)]


def _with_results(model: Model, block: Block, start: int, end: int) -> int:
    """The end of a stretch with what stands right behind it and computes something of its results, or updates a metric by them,
    and can be traced."""
    function = model.function_at(block.statements[start])
    for later in block.statements[end:]:
        is_op = isinstance(later, cst.Assign) and model.value(later.value).kind in ("tensor", "unknown")
        if not is_op and _updated_metric(model, later) is None:
            break
        computed = later.value if isinstance(later, cst.Assign) else later
        read = {part.value for part in descendants(computed) if isinstance(part, cst.Name)}
        if not read & names_written(block.statements[start:end]):
            break
        if model.tracing.obstacles_in_statement(later, function, block.statements[start : end + 1]):
            break
        end += 1
    return end


def is_evaluated(model: Model, stretch: Sequence[cst.CSTNode]) -> bool:
    """Whether what a model gives is compared with what is right: some statements compute a loss or update a metric."""
    return any(
        isinstance(part, cst.Call)
        and (model.value(part.func).kind in ("loss", "metric") or callee_name(part) == "update_state")
        for statement in stretch
        for part in descendants(statement)
    )


def has_results_behind(model: Model, first: cst.CSTNode, calls: Sequence[cst.CSTNode]) -> bool:
    """Whether a metric is updated right behind a step, by what it gives: what is compiled without that leaves its ops eager."""
    block = model.walk.at[first].block
    ends = [model.own(Crossings).in_block(call, block) for call in calls]
    numbers = [block.statements.index(statement) for statement in (first, *ends) if statement is not None]
    end = _with_deletions(block, min(numbers), max(numbers) + 1)
    behind = block.statements[end : _with_results(model, block, min(numbers), end)]
    return any(_updated_metric(model, statement) is not None for statement in behind)


def _updated_metric(model: Model, statement: cst.CSTNode) -> cst.BaseExpression | None:
    """The metric that a statement updates and does nothing else: `accuracy.update_state(labels, logits)`."""
    match statement:
        case cst.Expr(value=cst.Call(func=cst.Attribute(value=metric, attr=cst.Name("update_state")))):
            return metric if model.value(metric).kind == "metric" else None
        case cst.Expr(value=cst.Call(func=metric)):
            return metric if model.value(metric).kind == "metric" else None
    return None


def _widened(model: Model, block: Block, start: int, end: int) -> tuple[int, int]:
    """The step with the forward passes and losses made above it, and the updates below it, that belong to it."""
    low = start
    for at in range(start - 1, max(start - 1 - _FURTHEST, -1), -1):
        statement = block.statements[at]
        if not isinstance(statement, cst.Assign | cst.Expr | cst.AugAssign):
            break
        if _runs_a_model(model, statement) or (
            _prepares(model, statement) and _is_read_within(model, block, at, end)
        ):
            low = at
    high = end
    while high < len(block.statements) and _updates(model, block.statements[high]):
        high += 1
    high = _with_deletions(block, low, high)
    return low, _with_results(model, block, low, high)


def _with_next_steps(model: Model, block: Block, first: cst.CSTNode, end: int) -> int:
    """The end of a step with the gradient steps right behind it: a critic's, another critic's, an actor's."""
    applied = [call for step in model.steps.of(model.function_at(first)) for call in step.applied]
    ends = {model.own(Crossings).in_block(call, block) for call in applied}
    last = end
    for at in range(end, len(block.statements)):
        statement = block.statements[at]
        if at > last + _FURTHEST or isinstance(statement, cst.For | cst.While | cst.Try):
            break
        if statement in ends or _updates(model, statement):
            last = at + 1
    return _with_deletions(block, end, last) if last > end else end


def _with_tapes(model: Model, block: Block, start: int, end: int) -> int:
    """The beginning of a step with the tapes above it that it asks for gradients, too: `tape1` of a critic, `tape2` of another."""
    for statement in block.statements[start:end]:
        for name in names_read(statement):
            found = model.infer.bindings_reaching(name) if model.value(name).kind == "tape" else None
            for binding in found[1] if found is not None else ():
                opened = model.own(Crossings).in_block(binding.node, block)
                if opened is not None:
                    start = min(start, block.statements.index(opened))
    return start


def _with_deletions(block: Block, start: int, end: int) -> int:
    """The end of a step with the `del tape` below it."""
    written = names_written(block.statements[start:end])
    while end < len(block.statements) and deletes_only(block.statements[end], written):
        end += 1
    return end


def _runs_a_model(model: Model, statement: cst.CSTNode) -> bool:
    return isinstance(statement, cst.Assign) and any(
        isinstance(part, cst.Call) and model.value(part.func).kind in ("model", "layer")
        for part in descendants(statement)
    )


def _prepares(model: Model, statement: cst.CSTNode) -> bool:
    """Whether a statement gives a name to a model's variables, or makes a loss, which holds none: a trace makes one for all calls."""
    match statement:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name())], value=cst.Attribute(attr=attribute)):
            return attribute.value in _VARIABLES
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name())], value=cst.Call() as call):
            return fact(model.qualified(call.func), "gives") == "loss"
    return False


def _is_read_within(model: Model, block: Block, at: int, end: int) -> bool:
    """Whether nothing but the step, to its `end`, reads the names that a statement gives."""
    inside = set(chain.from_iterable(map(descendants, block.statements[at:end])))
    names, scope = model.names, model.names.scope_of(block.statements[at])
    homes = {name: names.lookup(name, scope) for name in names_written([block.statements[at]])}
    return all(
        home is not None and inside.issuperset(names.mentions(name, home[0])) for name, home in homes.items()
    )


def _updates(model: Model, statement: cst.CSTNode) -> bool:
    """Whether a statement assigns to variables, itself or in a function that it calls."""
    calls = [part for part in descendants(statement) if isinstance(part, cst.Call)]
    bodies = [target.node.body for call in calls for target in model.calls.targets(call)]
    return not isinstance(statement, _KEPT_WHOLE) and any(
        isinstance(part, cst.Call) and callee_name(part) in ("assign", "assign_add", "assign_sub")
        for code in (statement, *bodies)
        for part in descendants(code)
    )


class _Step:
    """One stretch of statements that is to be split."""

    def __init__(
        self, edit: Editor, block: Block, statements: Sequence[cst.CSTNode], tape: cst.CSTNode
    ) -> None:
        self._edit = edit
        self._model = edit.model
        self._block = block
        self._statements = statements
        self._tape = tape
        self._function = edit.model.function_at(tape)
        self._self = first_parameter(self._function)
        self._split = Split()
        self._handed_over: list[cst.BaseExpression] = []
        self._traced_for = TracedFor(edit, statements, self._function)
        # What of a statement only the host can do.
        self._kept_on_host: dict[cst.CSTNode, Obstacle] = {}
        # What only the host can do, and the device needs.
        self._late: list[cst.CSTNode] = []
        # What of the host's part is compiled by itself.
        self._updates: list[Update] = []
        self._readers = Readers(edit.model.infer)

    def repair(self, name: str) -> Repair | Refusal:
        """The fix, or what stands in the way of it."""
        return (
            self._home_refused()
            or self._unmovable()
            or self._sort(self._statements)
            or self._out_of_order()
            or self._only_updates()
            or self._made(name)
        )

    def _only_updates(self) -> Refusal | None:
        """Why there is little to gain: what would be compiled only applies gradients that eager code computes."""
        calls = [part for part in self._traced_code() if isinstance(part, cst.Call)]
        if self._split.tapes or any(map(self._runs_code, calls)):
            return None
        why = self._kept_on_host.get(self._tape)
        if why is not None:
            return Refusal(why.reason, why.node)
        return Refusal("what computes the gradients would stay in eager mode", self._tape)

    def _runs_code(self, call: cst.Call) -> bool:
        """Whether a call may run more than a single op or an update of variables."""
        name = builtin_or_qualified(self._model.infer, call.func)
        return not name and callee_name(call) not in _UPDATING

    def moved_ahead(self) -> Repair | None:
        """The fix that has the host do ahead of the tape what stood in the way of `repair`."""
        for tape in self._split.tapes:
            inner = self._inside(tape)
            of_host = list(filter(self._ends_gradients, inner))
            if self._late and all(statement in of_host for statement in self._late):
                return move_ahead_of_tape(self._edit, inner, self._split.traced, self._late, of_host)
        return None

    def rest_left(self, name: str) -> Repair | None:
        """The fix that compiles a step as far as the gradients, and leaves the rest to the host, which has something to do before:
        it makes an optimizer, asks how large the gradients are, or ends the loop by what the loss is. The updates are compiled by
        themselves where they can be."""
        split, place = self._split, self._model.infer.place
        late = [statement for statement in self._late if statement in split.behind]
        first = min(
            (place(traced).order for traced in split.traced if any(self._waits_for(traced, s) for s in late)),
            default=None,
        )
        if first is None:
            return None
        rest = [statement for statement in split.traced if place(statement).order >= first]
        tapes = names_of_tapes(split.tapes)
        if any(
            self._reads(statement, tapes) or any(self._holds(tape, statement) for tape in split.tapes)
            for statement in rest
        ):
            return None
        inside = {part for statement in rest for part in descendants(statement)}
        split.traced = [statement for statement in split.traced if statement not in rest]
        if any(
            place(t).order > place(s).order and self._changes_variables(t) for s in late for t in split.traced
        ):
            return None
        split.behind = sorted([*split.behind, *rest], key=lambda s: place(s).order)
        split.given = [part for part in split.given if part not in inside]
        split.set_here = [part for part in split.set_here if part not in inside]
        split.twins = [twin for twin in split.twins if twin.call not in inside]
        behind = names_changed(split.behind)
        if not any(self._reads(s, tapes) for s in split.traced) or any(
            self._reads(moved, behind) for moved in split.before
        ):
            return None
        calls = (part for statement in rest for part in descendants(statement) if isinstance(part, cst.Call))
        self._updates = [apart for call in calls if (apart := update_apart(self._edit, call))]
        made = self._made(name)
        return replace(made, in_parts=True) if isinstance(made, Repair) else None

    def _waits_for(self, later: cst.CSTNode, moved: cst.CSTNode) -> bool:
        """Whether a statement has to run behind one above it: it reads what that changes, or changes what that reads."""
        place = self._model.infer.place
        if place(later).order <= place(moved).order or self._holds(later, moved):
            return False
        if self._leaves(moved) and not self._may_pass(later):
            return True
        return self._reads(later, names_changed([moved])) or self._reads(moved, names_changed([later]))

    def _may_pass(self, later: cst.CSTNode) -> bool:
        """Whether a statement may run ahead of one that may leave the step: it gives names that nothing else reads to gradients, or
        to what ops compute of these."""
        if not isinstance(later, cst.Assign) or self._changes_variables(later) or self._runs_model(later):
            return False
        names, inside = self._model.names, set(chain.from_iterable(map(descendants, self._statements)))
        for name in names_written([later]):
            home = names.lookup(name, names.scope_of(later))
            readers = self._readers.of(name, home[0]) if home is not None else {}
            uses = {use for node in descendants(later) for use in readers.get(node, ())} - inside
            if not all(self._is_bound_anew(use) for use in uses if self._model.own(Crossings).is_read(use)):
                return False
        return all(map(self._is_pure, (part for part in descendants(later) if isinstance(part, cst.Call))))

    def _is_bound_anew(self, use: cst.Name) -> bool:
        """Whether a statement above it, in its own block, gives a name that is read outside of the step another value."""
        statement = self._model.statement_of(use)
        block = self._model.walk.at[statement].block.statements
        return any(
            isinstance(above, cst.Assign)
            and above not in self._statements
            and use.value in names_written([above])
            for above in block[: block.index(statement)]
        )

    def _is_pure(self, call: cst.Call) -> bool:
        """Whether a call asks a tape for gradients, or is an op that gives the same at any time."""
        name = builtin_or_qualified(self._model.infer, call.func)
        if name:
            return name == "zip" or (library(name) == "tensorflow" and not has(name, "draws"))
        return callee_name(call) == "gradient"

    # Where the function goes

    def _home_refused(self) -> Refusal | None:
        function = self._function
        if function is None:
            return None
        if isinstance(function.node, cst.Lambda) or function.yields or self._is_async(function):
            return Refusal("the step is in a generator, a lambda or an `async` function", self._tape)
        if function.outer is not None and self._model.is_per_step(function.node):
            return Refusal("it is redefined on each step, and would be retraced each time", function.node)
        if function.owner is not None and not self._self:
            return Refusal("the method has no object of its own", function.node)
        if any(self._model.infer.compiles(given.decorator) for given in function.decorators):
            return Refusal("it is a `tf.function`, which the file has run in eager mode", function.node)
        return None

    @staticmethod
    def _is_async(function: Function) -> bool:
        return isinstance(function.node, cst.FunctionDef) and function.node.asynchronous is not None

    def _unmovable(self) -> Refusal | None:
        for statement in self._statements:
            line = self._edit.model.parent(statement)
            if isinstance(line, cst.SimpleStatementSuite) or (
                isinstance(line, cst.SimpleStatementLine) and len(line.body) > 1
            ):
                return Refusal("the step shares a line with other statements", statement)
            for node in descendants(statement):
                if isinstance(node, cst.SimpleString | cst.FormattedString) and "\n" in self._edit.text(node):
                    return Refusal("a string of several lines can't be moved", node)
        return None

    # What goes where

    def _sort(self, statements: Sequence[cst.CSTNode]) -> Refusal | None:
        for statement in statements:
            if self._is_tape(statement):
                assert isinstance(statement, cst.With)
                self._split.tapes.append(statement)
                inner = self._inside(statement)
                refusal = self._sort(inner)
                if refusal is None and not any(part in self._split.traced for part in inner):
                    refusal = Refusal("nothing under the tape can be traced", statement)
            else:
                refusal = self._sort_one(statement)
            if refusal is not None:
                return refusal
        return None

    def _inside(self, tape: cst.With) -> list[cst.CSTNode]:
        """The statements under a tape."""
        return [statement for statement, at in self._model.walk.at.items() if at.block.owner is tape]

    def _is_tape(self, statement: cst.CSTNode) -> bool:
        return isinstance(statement, cst.With) and any(
            callee_name(item.item) == "GradientTape"
            for item in statement.items
            if isinstance(item.item, cst.Call)
        )

    def _sort_one(self, statement: cst.CSTNode) -> Refusal | None:
        already_set = len(self._split.set_here)
        traced = self._names_traced()
        hard = self._obstacles_to(statement, traced)
        twins = self._twins_in(statement, hard, traced)
        done = {call for twin in twins for call in twin.calls}
        hard = [obstacle for obstacle in hard if obstacle.node not in done]
        # Where another function has the tape, its call is the step.
        computes = statement is self._tape or any(map(self._computes, descendants(statement)))
        reads_traced = self._reads(statement, traced)
        in_the_way = hard[0] if hard else None
        if in_the_way is not None and (computes or reads_traced):
            in_the_way = self._not_given_beforehand(statement, hard, traced)
            if in_the_way is not None:  # what only may be in the way is tried
                sure = [obstacle for obstacle in hard if not obstacle.may]
                in_the_way = self._not_given_beforehand(statement, sure, traced)
        if in_the_way is None:
            self._split.traced.append(statement)
            self._split.twins += twins
            return None
        del self._split.set_here[already_set:]  # the host sets it where the statement goes
        return self._leave_to_host(statement, in_the_way, computes=computes, reads_traced=reads_traced)

    def _obstacles_to(self, statement: cst.CSTNode, traced: set[str]) -> list[Obstacle]:
        """What stands against tracing a statement, but for values that can be handed over."""
        obstacles = self._model.tracing.obstacles_in_statement(
            statement, self._function, self._statements, self._traced_for.includes
        )
        inside = set(descendants(statement))
        # What a function does that the step calls goes its own way.
        hard = [o for o in obstacles if o.node not in inside or not self._is_handed_over(o)]
        hard += [
            Obstacle(call, f"`.{callee_name(call)}()` is a method of arrays")
            for call in self._methods_of_arrays(statement, traced)
        ]
        hard += [
            Obstacle(call, f"`{callee_name(call)}` converts host data")
            for call in self._conversions(statement, traced)
        ]
        hard += [
            Obstacle(part, "rows of an array are picked on the host")
            for part in self._picked_rows(statement, traced)
        ]
        return hard

    def _not_given_beforehand(
        self, statement: cst.CSTNode, obstacles: Sequence[Obstacle], traced: set[str]
    ) -> Obstacle | None:
        """The first part of a statement that the host can't compute before the step, to be handed in; None where all are."""
        inside, own = set(descendants(statement)), traced | names_written([statement])
        given = [
            self._beforehand(obstacle.node, own) if obstacle.node in inside else None
            for obstacle in obstacles
        ]
        if None in given:
            return obstacles[given.index(None)]
        parts = [part for part in dict.fromkeys(given) if part is not None]
        # Of those that hold each other, the largest.
        self._split.given += [
            part for part in parts if not any(part is not one and self._holds(one, part) for one in parts)
        ]
        return None

    def _leave_to_host(
        self, statement: cst.CSTNode, in_the_way: Obstacle, *, computes: bool, reads_traced: bool
    ) -> Refusal | None:
        """Put a statement before the call or behind it, because of what is in the way of tracing it."""
        stands_in_the_way = Refusal(in_the_way.reason, in_the_way.node)
        if isinstance(statement, cst.If) and self._leaves(statement) and not self._is_under_tape(statement):
            self._split.behind.append(statement)
            self._kept_on_host[statement] = in_the_way
            return None
        if isinstance(statement, _KEPT_WHOLE) or self._leaves(statement):
            return stands_in_the_way
        if (
            not reads_traced
            and not computes
            and not self._comes_too_late(statement)
            and self._may_leave_the_tape(statement)
        ):
            self._split.before.append(statement)
            self._kept_on_host[statement] = in_the_way
            return None
        if computes and self._runs_model(statement):
            if not self._gives_arrays(statement):
                return stands_in_the_way
            self._late.append(statement)  # what is trained would give something else behind the step
        elif not (reads_traced or self._may_leave_the_tape(statement) or self._is_told(statement)):
            return stands_in_the_way
        self._split.behind.append(statement)
        self._kept_on_host[statement] = in_the_way
        return None

    def _gives_arrays(self, statement: cst.CSTNode) -> bool:
        """Whether a statement gives a name to an array of the host, through which no gradient goes: `best = model(x).numpy()`."""
        value = statement.value if isinstance(statement, cst.Assign) else None
        while value is not None and self._model.value(value).kind != "array":
            match value:
                case cst.Subscript(value=inner):
                    value = inner
                case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(method))) if (
                    not self._model.names.qualified(value.func)
                ):
                    if method == "numpy":
                        return True
                    value = inner if method in _OF_ARRAYS else None
                case cst.Call(func=function):
                    return (
                        builtin_or_qualified(self._model.infer, function) in ("int", "float")
                        or library(self._model.names.qualified(function)) == "numpy"
                    )
                case _:
                    return False
        return value is not None

    def _twins_in(
        self, statement: cst.CSTNode, obstacles: Iterable[Obstacle], traced: set[str]
    ) -> list[Twin]:
        """The ops for what NumPy computes in a statement of what the step does."""
        inside = set(descendants(statement))
        step = set(chain.from_iterable(map(descendants, self._statements)))
        found = (
            self._model.own(Twins).of(obstacle.node, step)
            for obstacle in obstacles
            if obstacle.node in inside
        )
        return [
            twin
            for twin in found
            if twin is not None
            and (self._reads(twin.of, traced) or any(map(self._computes, descendants(twin.of))))
        ]

    def _methods_of_arrays(self, statement: cst.CSTNode, traced: set[str]) -> list[cst.Call]:
        """Calls like `x.astype("float32")`, of what comes from outside: what is given as a tensor has no such method."""
        return [
            part
            for part in descendants(statement)
            if isinstance(part, cst.Call)
            and isinstance(part.func, cst.Attribute)
            and part.func.attr.value in _OF_ARRAYS
            and not self._model.names.qualified(part.func)
            and self._model.value(part.func.value).kind in ("unknown", "array", "list", "tuple")
            and not self._reads(part.func.value, traced)
        ]

    def _picked_rows(self, statement: cst.CSTNode, traced: set[str]) -> list[cst.Subscript]:
        """`images[rows]` of what the host has: a tensor takes no tensor of rows there, and an array none at all."""
        own, value = traced | names_written([statement]), self._model.value
        return [
            part
            for part in descendants(statement)
            if isinstance(part, cst.Subscript)
            and len(part.slice) == 1
            and isinstance(index := part.slice[0].slice, cst.Index)
            and isinstance(index.value, cst.Name)
            and (value(index.value).kind == "array" or value(part.value).kind == "array")
            and not self._reads(part, own)
            and value(part.value).kind in ("array", "unknown", "tensor")
            and self._comes_from_above(index.value)
        ]

    def _comes_from_above(self, name: cst.Name) -> bool:
        """Whether a name has another value on each run of the step, which it has got ahead of that."""
        found = self._model.infer.bindings_reaching(name)
        inside = set(chain.from_iterable(map(descendants, self._statements)))
        return found is not None and all(
            binding.node not in inside and (binding.kind == "param" or binding.at.block.loop is not None)
            for binding in found[1]
        )

    def _conversions(self, statement: cst.CSTNode, traced: set[str]) -> list[cst.Call]:
        """Calls like `tf.convert_to_tensor(x, tf.float32)`, of what comes from outside: of a tensor they may be refused."""
        own = traced | names_written([statement])
        return [
            part
            for part in descendants(statement)
            if self._model.names.is_call_that(part, "makes-tensor")
            and part.args
            and not is_constant(part.args[0].value)
            and self._model.value(part.args[0].value).kind != "tensor"
            and not self._reads(part, own)
        ]

    def _comes_too_late(self, statement: cst.CSTNode) -> bool:
        """Whether a statement of the host would meet another state, were it run before the step."""
        if names_changed([statement]) & self._names_read_so_far():
            return True
        if any(map(self._leaves, self._split.behind)):
            return True
        calls = any(isinstance(part, cst.Call) for part in descendants(statement))
        return calls and (bool(self._split.behind) or any(map(self._changes_variables, self._split.traced)))

    def _changes_variables(self, statement: cst.CSTNode) -> bool:
        return any(
            isinstance(part, cst.Call) and callee_name(part) in _UPDATING for part in descendants(statement)
        )

    def _leaves(self, statement: cst.CSTNode) -> bool:
        return any(
            isinstance(part, cst.Return | cst.Break | cst.Continue | cst.Yield)
            for part in descendants(statement)
        )

    def _is_handed_over(self, obstacle: Obstacle) -> bool:
        """Whether what changes between calls can be an argument, or what is set can be given back."""
        node = obstacle.node
        due = self._is_due(node)
        if due is not None:
            self._split.given += [due] if due not in self._split.given else []
            return True
        is_value = isinstance(node, cst.Attribute) and (self._is_own(node) or self._is_part_of_own(node))
        if (is_value or isinstance(node, cst.Name)) and not self._is_asked(node):
            assert isinstance(node, cst.BaseExpression)
            self._handed_over.append(node)
            return True
        if isinstance(node, cst.Assign) and len(node.targets) == 1:
            target = node.targets[0].target
            parts = [e.value for e in target.elements] if isinstance(target, cst.Tuple) else [target]
            own = [part for part in parts if isinstance(part, cst.Attribute) and self._is_own(part)]
            if own and all(part in own or isinstance(part, cst.Name) for part in parts):
                self._split.set_here += own
                return True
        return False

    def _is_due(self, node: cst.CSTNode) -> cst.Comparison | None:
        """The test `self.steps % self.every == 0` of an `if`, which asks for the counter `node`: the host answers it, and
        hands in a tensor, so that the first trace makes the variables of both branches."""
        counted = self._model.parent(node)
        test = self._model.parent(counted) if counted is not None else None
        branch = self._model.parent(test) if test is not None else None
        match counted, test, branch:
            case (
                cst.BinaryOperation(left=counter, operator=cst.Modulo(), right=every),
                cst.Comparison(comparisons=[cst.ComparisonTarget(comparator=rest)]),
                cst.If(test=asked),
            ) if counter is node and asked is test and integer(rest) is not None:
                settled = integer(every) is not None or (
                    isinstance(every, cst.Attribute) and self._is_own(every)
                )
                return test if isinstance(node, cst.Attribute) and self._is_own(node) and settled else None
        return None

    def _is_asked(self, node: cst.CSTNode) -> bool:
        """Whether a method of an object of the host is called, which a trace would do once."""
        parent = self._model.parent(node)
        above = self._model.parent(parent) if isinstance(parent, cst.Attribute) else None
        return (
            isinstance(above, cst.Call)
            and above.func is parent
            and isinstance(node, cst.BaseExpression)
            and self._model.value(node).kind
            not in ("model", "layer", "optimizer", "tensor", "variable", "loss", "metric")
        )

    def _is_own(self, node: cst.Attribute) -> bool:
        return bool(self._self) and is_name(node.value, self._self)

    def _is_part_of_own(self, node: cst.Attribute) -> bool:
        """Whether it is a model, or the like, of an object that the step's own one has: `self.actor.model`."""
        kind, path = self._model.value(node).kind, dotted_name(node, "…").split(".")
        set_here = {target.attr.value for target in self._split.set_here}
        return kind in TRACED_FOR and bool(self._self) and path[0] == self._self and path[1] not in set_here

    def _computes(self, node: cst.CSTNode) -> bool:
        """Whether a call is an op, or runs a model; what makes a tensor of the host's data is neither."""
        if not isinstance(node, cst.Call):
            return False
        name = self._model.names.qualified(node.func)
        return self._model.value(node.func).kind in ("model", "layer", "loss") or (
            library(name) in ("tensorflow", "keras") and not has(name, *_OF_HOST_DATA)
        )

    def _runs_model(self, statement: cst.CSTNode) -> bool:
        return any(
            isinstance(node, cst.Call) and self._model.value(node.func).kind in ("model", "layer")
            for node in descendants(statement)
        )

    def _beforehand(self, node: cst.CSTNode, traced: set[str]) -> cst.BaseExpression | None:
        """`node`, with what is called on it, if the host can compute that before the step; None where it can't."""
        if (
            not isinstance(node, cst.BaseExpression)
            or self._reads(node, traced)
            or self._may_not_run(node)
            or any(map(self._computes, descendants(node)))
            or not self._may_leave_the_tape(node)
        ):
            return None
        best = node
        while True:
            parent = self._model.parent(best)
            if isinstance(parent, cst.Arg):
                parent = self._model.parent(parent)
            if (
                not isinstance(parent, cst.Call | cst.Attribute)
                or (isinstance(parent, cst.Call) and self._model.calls.targets(parent))
                or self._reads(parent, traced)
                or any(map(self._computes, descendants(parent)))
            ):
                is_called = isinstance(parent, cst.Call) and parent.func is best
                return None if is_called else best
            best = parent

    def _may_leave_the_tape(self, node: cst.CSTNode) -> bool:
        """Whether no gradient goes through what a tape sees of some code: it runs nothing but Python and NumPy."""
        if not self._is_under_tape(node):
            return True
        return all(self._is_plain(part) for part in descendants(node) if isinstance(part, cst.Call))

    def _is_under_tape(self, node: cst.CSTNode) -> bool:
        return any(self._holds(tape, node) for tape in self._split.tapes)

    def _is_told(self, statement: cst.CSTNode) -> bool:
        """Whether a statement tells an object of the host something and takes no answer: `bar.update()`."""
        call = statement.value if isinstance(statement, cst.Expr) else None
        return (
            isinstance(call, cst.Call)
            and isinstance(call.func, cst.Attribute)
            and not self._model.qualified(call.func)
            and not self._model.calls.targets(call)
            and self._model.value(call.func.value).kind not in _RECORDED
            and all(
                part is call or self._is_plain(part)
                for part in descendants(call)
                if isinstance(part, cst.Call)
            )
        )

    def _is_plain(self, call: cst.Call) -> bool:
        name = builtin_or_qualified(self._model.infer, call.func)
        if name:
            return not (library(name) in ("tensorflow", "keras") and not has(name, *_OF_HOST_DATA))
        if self._is_of_environment(call):
            return True
        return isinstance(call.func, cst.Attribute) and (
            call.func.attr.value in _OF_ARRAYS or call.func.attr.value in _OF_CONTAINERS
        )

    def _is_of_environment(self, call: cst.Call) -> bool:
        """Whether an environment is asked that computes with NumPy, as Gym's do."""
        return is_of_environment(call) and not self._model.calls.targets(call)

    def _ends_gradients(self, statement: cst.CSTNode) -> bool:
        """Whether no gradient goes through what the host does in a statement: it gives a name to, or fills, an array, or says
        something."""
        match statement:
            case cst.Expr():
                return statement in self._split.behind
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Subscript())]):
                return statement in self._split.behind
            case cst.Assign(value=cst.Call() as call) if self._is_of_environment(call):
                return True
            case cst.Assign(value=value):
                calls = [part for part in descendants(value) if isinstance(part, cst.Call)]
                is_plain = all(map(self._is_plain, calls)) and not self._reads(value, self._names_traced())
                return is_plain or self._gives_arrays(statement)
        return False

    def _may_not_run(self, node: cst.CSTNode) -> bool:
        """Whether an expression runs under a condition, or several times: nothing to be computed beforehand."""
        current = self._model.parent(node)
        while current is not None and current not in self._split.tapes:
            if isinstance(current, _CONDITIONS):
                return True
            if current in self._statements:
                break
            current = self._model.parent(current)
        return False

    def _names_traced(self) -> set[str]:
        """The names that get their values in the traced part so far."""
        return names_written(self._split.traced) | names_of_tapes(self._split.tapes)

    def _reads(self, node: cst.CSTNode, names: set[str]) -> bool:
        own = {target.attr.value for target in self._split.set_here}
        return any(
            (isinstance(part, cst.Name) and part.value in names)
            or (isinstance(part, cst.Attribute) and self._is_own(part) and part.attr.value in own)
            for part in descendants(node)
        )

    def _names_read_so_far(self) -> set[str]:
        return _names_in(self._split.traced)

    def _out_of_order(self) -> Refusal | None:
        """Why a statement can't change places with those it passes."""
        late = self._late
        late += [s for s in self._split.behind if any(self._waits_for(t, s) for t in self._split.traced)]
        for moved in late:
            if not self._brought_forward(moved):
                why = self._kept_on_host[moved]
                return Refusal(
                    f"{why.reason}, and the rest of the step uses what it gives", why.node, in_parts=True
                )
        behind = names_changed(self._split.behind)
        for moved in self._split.before:
            if self._reads(moved, behind):
                return Refusal("what the host makes ready for the step needs what the step returns", moved)
        return None

    def _brought_forward(self, moved: cst.CSTNode) -> bool:
        """Put a statement of the host before the call, with those that it needs, if none of them runs an op: a mask made
        with NumPy of a slice of the batch."""
        split, place = self._split, self._model.infer.place
        group = self._needed_by(moved)
        stays = [s for s in (*split.traced, *split.behind) if s not in group]
        for statement in group:
            order = place(statement).order
            earlier = [s for s in stays if place(s).order < order]
            if (
                not self._may_be_early(statement)
                or any(self._leaves_open(s) for s in earlier if s in split.behind)
                or any(map(self._changes_variables, earlier))
                or names_changed([statement]) & (names_changed(earlier) | _names_in(earlier))
            ):
                return False
        split.traced = [s for s in split.traced if s not in group]
        split.behind = [s for s in split.behind if s not in group]
        split.before = sorted([*split.before, *group], key=lambda s: place(s).order)
        return any(not self._is_tape(s) for s in split.traced)

    def _needed_by(self, moved: cst.CSTNode) -> list[cst.CSTNode]:
        """A statement, and those above it in the step that give it a value."""
        place, group = self._model.infer.place, [moved]
        for statement in group:
            group += [
                s
                for s in (*self._split.traced, *self._split.behind)
                if s not in group
                and place(s).order < place(statement).order
                and self._reads(statement, names_changed([s]))
            ]
        return group

    def _may_be_early(self, statement: cst.CSTNode) -> bool:
        """Whether a statement gives names to what Python and NumPy compute, of nothing that a tape follows."""
        if not isinstance(statement, cst.Assign) or any(map(self._computes, descendants(statement))):
            return False
        read = [part for part in descendants(statement.value) if isinstance(part, cst.Name | cst.Attribute)]
        watched = {
            part.value
            for call in self._watching()
            for part in descendants(call)
            if isinstance(part, cst.Name)
        }
        return (
            all(isinstance(target.target, cst.Name | cst.Tuple) for target in statement.targets)
            and all(self._is_plain(part) for part in descendants(statement) if isinstance(part, cst.Call))
            and not any(self._model.value(part).kind in _FOLLOWED for part in read)
            and not self._reads(statement, watched | names_of_tapes(self._split.tapes))
        )

    def _watching(self) -> list[cst.Call]:
        calls = self._model.walk.calls.get("watch", ())
        return [call for call in calls if any(self._holds(tape, call) for tape in self._split.tapes)]

    @staticmethod
    def _leaves_open(statement: cst.CSTNode) -> bool:
        """Whether what a statement of the host does may matter to another: it calls something."""
        return any(isinstance(part, cst.Call) for part in descendants(statement))

    def _holds(self, outer: cst.CSTNode, inner: cst.CSTNode) -> bool:
        current: cst.CSTNode | None = inner
        while current is not None:
            if current is outer:
                return True
            current = self._model.parent(current)
        return False

    # The text

    def _made(self, name: str) -> Repair | Refusal:
        edit, function = self._edit, self._function
        below = self._traced_for.read_by(self._split.traced)
        arguments = Arguments(edit, self._split, self._handed_over, below, self._self, self._tape)
        refusal = arguments.find()
        if refusal is not None:
            return refusal
        home = function.node if function is not None else edit.outermost_loop(self._tape)
        if home is None:
            return Refusal("the step is in no loop and no function", self._tape)
        alone = self._call_alone(arguments, home, name)
        if alone is not None:
            inserted = [*alone.imports, *alone.edits]
            return self._repair(arguments, alone.decorator, inserted, alone.name, alone.model)
        decorator, imports = edit.spell("function", home)
        shapes = self._model.own(Shapes)
        if not shapes.stay(self._tape) and shapes.asked_for(list(self._split.traced)) is None:
            decorator += f"({for_all_shapes(edit)})"
        fresh = edit.fresh_name(f"_{name}" if self._self else name)
        old = edit.indent(self._statements[0])
        new = edit.one_indent(old)
        gap = "\n" if edit.indent(home) else "\n\n"
        before = gap[edit.blank_lines_above(home) :]
        parameters = [*([self._self] if self._self else []), *arguments.parameters]
        returned = ", ".join(arguments.returned_inside)
        body = self._traced_text(arguments, old, new)
        function_text = (
            f"{before}@{decorator}\n"
            + _call_of(f"def {fresh}", parameters, "", end=":")
            + "".join(
                f"{new}# Each `{name}` has a trace: what is called reads it.\n"
                for name in arguments.read_below
            )
            + body
            + (f"{new}return {returned}\n" if returned else "")
            + gap
        )
        return self._repair(arguments, decorator, [*imports, edit.insert_above(home, function_text)], fresh)

    def _call_alone(self, arguments: Arguments, home: cst.CSTNode, name: str) -> ForwardFunction | None:
        """The function for a step that does nothing but call a model: other calls of the model may share it."""
        match self._statements:
            case [
                cst.Assign(
                    targets=[cst.AssignTarget(target=cst.Name(answer))],
                    value=cst.Call(args=[cst.Arg(value=cst.Name(given), keyword=None, star=""), *_]) as call,
                ) as only
            ]:
                rest = rest_of(self._edit, call)
            case _:
                return None
        if (
            rest is None
            or self._split.traced != [only]
            or (arguments.parameters, arguments.returned) != ([given], [answer])
            or arguments.renamed
            or self._model.value(call.func).kind not in ("model", "layer", "unknown")
            or "#" in self._edit.lines(only, only)
        ):
            return None
        return forward_function(self._edit, call, home, Forward(call.func, self._self, rest=rest), name)

    def _repair(
        self, arguments: Arguments, decorator: str, inserted: Sequence[Edit], fresh: str, given: str = ""
    ) -> Repair:
        """The fix that calls the function `fresh`, which is `inserted`, in the place of the step; one of the module that is
        `given` a model, or else a method where the step stands in one."""
        edit, old = self._edit, self._edit.indent(self._statements[0])
        target = f"{', '.join(arguments.returned)} = " if arguments.returned else ""
        owner = f"{self._self}." if self._self and not given else ""
        passed = [*([given] if given else []), *arguments.passed]
        call = _call_of(f"{old}{target}{owner}{fresh}", passed, old)
        replacement = (
            "".join(self._moved_text(statement, old) for statement in self._split.before)
            + made_ahead(edit, self._traced_code(), self._may_be_another, old)
            + call
            + "".join(self._moved_text(statement, old) for statement in self._split.behind)
        )
        start, end = edit.lines_start(self._statements[0]), edit.lines_end(self._statements[-1])
        written = " and ".join(f"`{new}` for `{old}`" for old, new in arguments.twins.items())
        places = [twin.call for twin in self._split.twins if twin.is_place]
        return Repair(
            f"Move what a device can do to a `@{decorator.partition('(')[0]}` of its own"
            + (f", with {written}" if written else ""),
            [
                *inserted,
                *chain.from_iterable(update.inserted for update in self._updates),
                *arguments.imports,
                edit.edit(start, end, replacement),
            ],
            safe=False,
            may_change=(f"what `{edit.text(places[0].func)}` makes of NaN, " if places else "") + TRACED,
            bold=True,
        )

    def _traced_code(self) -> list[cst.CSTNode]:
        return [part for statement in self._split.traced for part in descendants(statement)]

    def _may_be_another(self, node: cst.BaseExpression) -> bool:
        """Whether the step is handed an object that is another one on a later call."""
        found = self._model.infer.bindings_reaching(node) if isinstance(node, cst.Name) else None
        is_given = found is not None and any(binding.kind == "param" for binding in found[1])
        return node in self._handed_over or (
            is_given
            and self._function is not None
            and found is not None
            and found[0] is self._function.scope
            and self._model.tracing.is_given_models(self._function)
        )

    def _traced_text(self, arguments: Arguments, old: str, new: str) -> str:
        """The lines of the traced statements, with their arguments' names in them, as the body of a function."""
        edit = self._edit
        start, end = edit.lines_start(self._statements[0]), edit.lines_end(self._statements[-1])
        changes = [(*edit.outer_span(node), name) for node, name in arguments.renamed]
        changes += arguments.rewritten
        for statement in (*self._split.before, *self._split.behind):
            changes.append((edit.lines_start(statement), edit.lines_end(statement), ""))
        text, at = [], start
        for low, high, content in sorted(changes):
            if low < at:  # inside what goes as a whole
                continue
            text += [edit.whole_text[at:low], content]
            at = high
        text.append(edit.whole_text[at:end])
        lines = "".join(text).splitlines()
        kept = [
            line
            for number, line in enumerate(lines)
            if line.strip() or (number and lines[number - 1].strip())
        ]
        while kept and not kept[-1].strip():
            kept.pop()
        while kept and not kept[0].strip():
            kept.pop(0)
        return "".join((new + line.removeprefix(old) if line.strip() else line) + "\n" for line in kept)

    def _moved_text(self, statement: cst.CSTNode, old: str) -> str:
        """The lines of a statement of the host, at the indentation of the step."""
        edit, own = self._edit, self._edit.indent(statement)
        text, start = edit.lines(statement, statement), edit.lines_start(statement)
        for update in sorted(self._updates, key=lambda update: edit.start(update.call), reverse=True):
            low, high = edit.start(update.call) - start, edit.end(update.call) - start
            if 0 <= low < len(text):
                text = text[:low] + update.text + text[high:]
        lines = text.splitlines()
        return "".join((old + line.removeprefix(own) if line.strip() else line) + "\n" for line in lines)


def _names_in(statements: Iterable[cst.CSTNode]) -> set[str]:
    return {
        part.value
        for statement in statements
        for part in descendants(statement)
        if isinstance(part, cst.Name)
    }


def _call_of(head: str, arguments: Sequence[str], indent: str, end: str = "") -> str:
    """`head(a, b)`; with each argument on a line of its own, where that gets too long."""
    text = f"{head}({', '.join(arguments)}){end}\n"
    if len(text) <= _WIDTH or not arguments:
        return text
    lines = "".join(f"{indent}    {argument},\n" for argument in arguments)
    return f"{head}(\n{lines}{indent}){end}\n"
