"""Forward passes outside training: models and layers called one step at a time, with nothing to learn from it."""

from __future__ import annotations

from collections.abc import Iterator, Set

import libcst as cst

from tflint_perf.analysis.execution.decided import Decided
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.python.dead_code import never_runs
from tflint_perf.analysis.python.flow import runs_beside
from tflint_perf.analysis.python.scopes import Function, Loop
from tflint_perf.analysis.python.syntax import (
    callee_name,
    children,
    descendants,
    mentions,
    names_read,
    names_written,
    same_code,
    target_names,
)
from tflint_perf.analysis.rewriting.tracing import Tracing
from tflint_perf.analysis.training.parts_of_steps import PartsOfSteps
from tflint_perf.analysis.training.single_passes import Passes, SinglePasses
from tflint_perf.analysis.training.train_calls import TrainCalls
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part
from tflint_perf.records import dataclass

from .model_calls import ModelCalls
from .shapes import GrownLists


@dataclass(frozen=True, slots=True)
class ForwardPass:
    """A model or layer that one function, or one loop of it, calls per step, and the layers that get what it gives."""

    function: Function | None
    loop: Loop | None
    calls: list[cst.Call]


class ForwardPasses(Part):
    """Finds eager forward passes that run per step and belong to no gradient step."""

    own = (ModelCalls,)

    _infer: Inference
    _calls: CallGraph
    _loops: Loops
    _train_calls: TrainCalls
    _single_passes: SinglePasses
    _parts_of_steps: PartsOfSteps
    _tracing: Tracing
    _decided: Decided
    _model_calls: ModelCalls

    def all(self) -> Iterator[ForwardPass]:
        """The passes, in the order of the text, but for those that are compiled with the pass of what calls their function."""
        if self._train_calls.is_graph_code():
            return
        found = list(self._all())
        whole = {one.function for one in found if one.loop is None and one.function is not None}
        yield from (one for one in found if not self._is_part_of_caller(one, whole))

    def _is_part_of_caller(self, one: ForwardPass, whole: Set[Function]) -> bool:
        """Whether all that calls the function of a pass are functions with passes of their own, nothing of which stands
        against a trace: the trace runs through this one, too."""
        function = one.function
        if function is None or one.loop is not None or self._calls.callers_outside(function):
            return False
        sites = self._calls.sites(function)
        callers = {self._calls.function_at(site) for site in sites if self._loops.is_per_step(site)}
        return (
            bool(callers)
            and function not in callers
            and callers <= whole
            and not any(map(self._loops.training_loop, sites))
            and not any(caller and self._tracing.obstacle_in_function(caller) for caller in callers)
        )

    def _all(self) -> Iterator[ForwardPass]:
        found: dict[tuple[Function | None, Loop | None], list[cst.Call]] = {}
        for call in self._found():
            place = (self._calls.function_at(call), self._loops.innermost_loop(call))
            found.setdefault(place, []).append(call)
        for (function, loop), calls in found.items():
            told: list[ForwardPass] = []
            for one_pass in self._passes(calls):
                one = ForwardPass(function, loop, one_pass)
                if (
                    not self._is_left_out(one)
                    and not self._is_in_single_pass(one)
                    and not any(self._is_instead(one, other) for other in told)
                ):
                    told.append(one)
                    yield one

    def _is_left_out(self, one: ForwardPass) -> bool:
        """Whether no step makes the pass, but one in another branch."""
        call = one.calls[0]
        return never_runs(self._infer.walk, call) or self._decided.is_left_out_of_steps(call)

    def _is_instead(self, one: ForwardPass, other: ForwardPass) -> bool:
        """Whether a step makes one pass or the other, and what compiles that compiles both: one model that is given the
        like in each branch, or their function."""
        first, second = one.calls[0], other.calls[0]
        if runs_beside(self._infer.place(first), self._infer.place(second)):
            return False
        if same_code(first.func, second.func) and _keywords(first) == _keywords(second):
            return True
        return (
            one.loop is None
            and one.function is not None
            and self._tracing.obstacle_in_function(one.function) is None
        )

    def _is_in_single_pass(self, found: ForwardPass) -> bool:
        """Whether the pass runs over data once, or makes a text once, so that each of its lengths would be traced."""
        return self._single_passes.hold(found.calls[0], Passes(counted=self.grows(found), of_results=False))

    def _passes(self, calls: list[cst.Call]) -> list[list[cst.Call]]:
        """The calls of one place, together those of one statement, or of which one, a layer's, takes what the other
        gives: several models that are asked one after the other are several passes."""
        place = self._infer.place
        calls.sort(key=lambda call: place(call).order)
        passes: list[list[cst.Call]] = []
        for call in calls:
            is_layer = passes and self._infer.value(call.func).kind == "layer"
            taken = self._taken_by(call) if is_layer else set()
            for before in passes:
                if place(before[-1]) is place(call) or not taken.isdisjoint(before):
                    before.append(call)
                    break
            else:
                passes.append([call])
        return passes

    def _taken_by(self, call: cst.Call) -> set[cst.CSTNode]:
        """All that is computed on the way to the arguments of `call`, by its function."""
        found: set[cst.CSTNode] = set()
        waiting: list[cst.BaseExpression] = [arg.value for arg in call.args]
        while waiting:
            for part in descendants(waiting.pop()):
                if part in found or part is call:
                    continue
                found.add(part)
                waiting += [b.value for b in self._infer.bindings(part) if b.value is not None]
        return found

    def _found(self) -> Iterator[cst.Call]:
        for call in self._model_calls.all():
            if not self._parts_of_steps.has(call) and not self._tracing.obstacle_in_call(call):
                yield call

    def grows(self, found: ForwardPass) -> bool:
        """Whether an input gets longer with each call, as text does that a model generates."""
        sites = self._calls.sites(found.function) if found.function is not None and not found.loop else ()
        return any(
            gets_longer(self._loops, call) or self._is_of_what_is_added_to(call)
            for call in (*found.calls, *sites)
        )

    def _is_of_what_is_added_to(self, call: cst.Call) -> bool:
        """Whether the loop around `call` adds to a text or list, whose tokens `call` is then given: `text += word`."""
        loop = self._loops.innermost_loop(call)
        if loop is None:
            return False
        lists = GrownLists(self._infer)
        return any(
            name not in _made_anew(loop) for arg in call.args for name in lists.behind(arg.value, loop)
        )


def _keywords(call: cst.Call) -> list[str | None]:
    """The keywords of its arguments, None for those by position."""
    return [arg.keyword.value if arg.keyword is not None else None for arg in call.args]


# Inputs that get longer with each call, as text does that a model writes.


_JOINING = frozenset({"concat", "concatenate", "append", "vstack", "hstack", "stack", "pad"})


def gets_longer(loops: Loops, call: cst.Call) -> bool:
    """Whether the loop around `call` joins something to what it gives that call."""
    loop = loops.innermost_loop(call)
    if loop is None:
        return False
    if _read_by(call) & _joined_in(loop) - _made_anew(loop):
        return True
    for node in descendants(loop.node):
        match node:
            case cst.Call(func=cst.Attribute(value=added_to, attr=cst.Name(value="append")), args=[_]):
                if any(same_code(part, added_to) for arg in call.args for part in descendants(arg.value)):
                    return True
    return False


def is_cut_from_what_gets_longer(loops: Loops, call: cst.Call) -> bool:
    """Whether what `call` is given is a part of what the loop around it joins something to: as long as that at first,
    `context = text[:, -128:]`."""
    loop = loops.innermost_loop(call)
    if loop is None:
        return False
    longer = _joined_in(loop) - _made_anew(loop)
    return any(
        isinstance(node, cst.Assign)
        and isinstance(node.value, cst.Subscript)
        and mentions(node.value.value, longer)
        and any(mentions(target.target, _read_by(call)) for target in node.targets)
        for node in descendants(loop.node)
    )


def _read_by(call: cst.Call) -> set[str]:
    return {name.value for arg in call.args for name in names_read(arg.value)}


def _joined_in(loop: Loop) -> set[str]:
    """The names that a loop joins something to, and so makes longer: `text = tf.concat([text, word], 1)`."""
    cut = _cut_to_length(loop)
    return {
        name.value
        for node in descendants(loop.node)
        if isinstance(node, cst.Assign) and _joins(node.value)
        for target in node.targets
        for name in names_read(target.target)
        if name.value in (whole := _whole_names(node.value))
        and not (name.value in cut and _are_kept(whole - {name.value}, loop))
    }


def _cut_to_length(loop: Loop) -> set[str]:
    """The names of which each iteration of a loop keeps a part of a length of its own: `x = x[..., :n]`, `x = x[:, -n:]`."""
    return {
        node.targets[0].target.value
        for node in _in_each_iteration(loop.node.body if isinstance(loop.node, cst.For | cst.While) else None)
        if isinstance(node, cst.Assign)
        and isinstance(node.targets[0].target, cst.Name)
        and isinstance(node.value, cst.Subscript)
        and same_code(node.value.value, node.targets[0].target)
        and any(_has_own_length(part.slice, loop) for part in node.value.slice)
    }


def _in_each_iteration(body: cst.CSTNode | None) -> Iterator[cst.CSTNode]:
    """The statements of a block that run whenever it does, without those of blocks inside it."""
    if isinstance(body, cst.BaseSmallStatement):
        yield body
    elif isinstance(body, cst.BaseSuite | cst.SimpleStatementLine):
        for child in children(body):
            yield from _in_each_iteration(child)


def _has_own_length(part: cst.BaseSlice, loop: Loop) -> bool:
    """Whether a slice is as long in each iteration, as far as there is enough to take: `:n`, `-n:`."""
    match part:
        case cst.Slice(lower=None, upper=cst.BaseExpression() as end) if not _is_negative(end):
            return _are_kept({name.value for name in names_read(end)}, loop)
        case cst.Slice(lower=cst.UnaryOperation(operator=cst.Minus()) as begin, upper=None):
            return _are_kept({name.value for name in names_read(begin)}, loop)
    return False


def _is_negative(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus)


def _are_kept(names: set[str], loop: Loop) -> bool:
    """Whether no iteration of a loop binds one of `names`: a word that is made in each makes a text longer, until
    the text is as long as its window."""
    return names.isdisjoint(names_written([loop.node]))


def _made_anew(loop: Loop) -> set[str]:
    """The names that each iteration of a loop begins again: its targets, and `z = tf.random.normal(shape)`, before
    `z = tf.concat([z, y], 1)`."""
    begun = {
        name.value
        for node in descendants(loop.node)
        if isinstance(node, cst.Assign)
        for target in node.targets
        for name in target_names(target.target)
        if not mentions(node.value, {name.value})
    }
    targets = target_names(loop.node.target) if isinstance(loop.node, cst.For) else ()
    return begun | {name.value for name in targets}


def _joins(node: cst.BaseExpression) -> bool:
    """Whether `node` joins arrays: by itself, or one by one, `[np.concatenate([x, new]) for x in arrays]`."""
    made = node.elt if isinstance(node, cst.ListComp) else node
    return isinstance(made, cst.Call) and callee_name(made) in _JOINING


def _whole_names(node: cst.CSTNode) -> set[str]:
    """The names in an expression, but for those of which it takes a part: `np.append(frame, frames[1:])` gets no longer."""
    if isinstance(node, cst.Subscript):
        return set()
    if isinstance(node, cst.Name):
        return {node.value}
    return {name for child in children(node) for name in _whole_names(child)}
