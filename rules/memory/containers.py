"""Lists and dicts that are added to in a loop: how long they live, and what becomes of what they hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeGuard

import libcst as cst

from tflint_perf.analysis.apis.facts import has, library
from tflint_perf.analysis.conventions import names_a_metric, names_a_part, names_evaluation
from tflint_perf.analysis.execution.counters import Counters
from tflint_perf.analysis.execution.iterations import Iterations
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.execution.tapes import is_under_tape
from tflint_perf.analysis.limits import CALLS_DEEP, NAMES_DEEP
from tflint_perf.analysis.python.conditions import conditions
from tflint_perf.analysis.python.reach import remembered
from tflint_perf.analysis.python.scopes import Binding, Function, Loop
from tflint_perf.analysis.python.syntax import (
    callee_name,
    calls_below,
    descendants,
    last_name,
    last_statement,
    mentions,
    same_code,
    target_names,
    whole_of,
)
from tflint_perf.analysis.python.walk import Walk
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.iterables import counts_to
from tflint_perf.analysis.values.named_calls import builtin_or_qualified
from tflint_perf.analysis.values.new_containers import made_by
from tflint_perf.analysis.values.parts import Part
from tflint_perf.records import dataclass

# "step": emptied or made anew per step, or bounded; "round": per iteration of an outer loop, an epoch or episode
# for instance; "run": never.
Life = Literal["step", "round", "run", "unknown"]

_GROWING = ("append", "appendleft", "extend")
_SHRINKING = frozenset(["clear", "pop", "popleft", "popitem", "remove"])
# A loop that counts to no more makes the layers or parts of one thing.
_FEW = 16
# No more than this is kept to be shown.
_MOST_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Addition:
    """One place where a container grows: `losses.append(loss)`, `history["loss"].append(x)`, `losses += [loss]`.

    `container` is the name or attribute that holds it all, `added` what one run of `node` adds.
    """

    node: cst.Call | cst.AugAssign
    container: cst.Name | cst.Attribute
    added: tuple[cst.BaseExpression, ...]


class Containers(Part):
    """Answers how long containers that grow live."""

    _infer: Inference
    _calls: CallGraph
    _loops: Loops
    _iterations: Iterations

    def life(self, addition: Addition) -> Life:
        """How long the container of `addition` lives; "unknown" for what may be none."""
        if isinstance(addition.node, cst.Call) and self._calls.targets(addition.node):
            return "unknown"
        return self._life(addition.container, addition.node, 0)

    @remembered
    def _life(self, container: cst.BaseExpression, node: cst.CSTNode, depth: int) -> Life:
        bindings = self.bindings(container)
        if not bindings or depth > NAMES_DEEP:
            return "unknown"
        lives = {self._life_from(binding, node, depth) for binding in bindings}
        if len(lives) > 1 and all(self._may_be_list(binding) for binding in bindings):
            lives.discard("unknown")  # one that is made here, or one that a function gives in its stead
        lives |= {self._life_at(place) for place in self._shrinkings(container)}
        return next((life for life in ("unknown", "step", "round") if life in lives), "run")

    def bindings(self, container: cst.BaseExpression) -> list[Binding]:
        """What gives the container's name or attribute its value there."""
        return [b for b in self._infer.given_to(container) if b.kind != "augment"]

    def _life_from(self, binding: Binding, node: cst.CSTNode, depth: int) -> Life:
        """How long the container that `binding` makes lives."""
        if binding.kind == "param":
            function = self._calls.function_at(node)
            given = self._calls.arguments(function, binding.name) if function is not None else []
            lives = {self._life(value, value, depth + 1) for value in given}
            return lives.pop() if len(lives) == 1 else "unknown"
        if binding.kind != "assign" or binding.value is None or not self._is_new_container(binding):
            return "unknown"
        if isinstance(binding.node, cst.Attribute) and self._is_in_constructor(binding):
            return "run"
        return self._life_at(binding.node)

    def _may_be_list(self, binding: Binding) -> bool:
        """Whether `binding` makes a container, or calls what may give one, outside step loops."""
        if binding.kind != "assign" or self._is_new_container(binding):
            return binding.kind == "assign"
        return isinstance(binding.value, cst.Call) and not self._loops.is_per_step(binding.node)

    def _is_in_constructor(self, binding: Binding) -> bool:
        function = self._calls.function_at(binding.node)
        return function is not None and function.name in ("__init__", "build", "setup")

    def _is_new_container(self, binding: Binding) -> bool:
        """Whether `binding` makes a container that can grow without limit; a deque with a greatest length is none."""
        made = made_by(self._infer, binding)
        return made is not None and not made.is_bounded

    def _life_at(self, place: cst.CSTNode) -> Life:
        """How long the container that is made or emptied at `place` lives."""
        if self._loops.is_per_step(place):
            return "step"
        return "round" if self._loops.batches.is_made_anew(place) else "run"

    def _shrinkings(self, container: cst.BaseExpression) -> list[cst.CSTNode]:
        """Where the container loses what it holds: `clear()`, `pop()`, `del c[:]`, `c = c[-n:]`."""
        found: list[cst.CSTNode] = []
        for use in self.uses(container):
            parent = self._walk.parents.get(use)
            if isinstance(parent, cst.Attribute) and parent.attr.value in _SHRINKING:
                found.append(parent)
            while isinstance(parent, cst.Subscript):
                use, parent = parent, self._walk.parents.get(parent)
                if _loses(parent, use):
                    found.append(parent)
        return found

    # What becomes of it

    def uses(self, container: cst.BaseExpression) -> list[cst.BaseExpression]:
        """Every mention of a container that is no assignment to it."""
        if isinstance(container, cst.Attribute):
            nodes: list[cst.BaseExpression] = list(self._walk.attributes.get(container.attr.value, ()))
            return [node for node in nodes if not self._is_target(node)]
        if not isinstance(container, cst.Name):
            return []
        home = self._infer.names.home(container)
        mentions = self._infer.names.mentions(container.value, home) if home is not None else []
        return [node for node in mentions if not self._is_target(node)]

    def _is_target(self, node: cst.CSTNode) -> bool:
        parent = self._walk.parents.get(node)
        while isinstance(parent, cst.Element | cst.Tuple | cst.List):
            parent = self._walk.parents.get(parent)
        return isinstance(parent, cst.AssignTarget)

    def reads(self, addition: Addition) -> Iterator[cst.BaseExpression]:
        """Every use of the container of `addition` that does not make it grow."""
        made = self.bindings(addition.container)
        for use in self.uses(addition.container):
            if self._is_of_other(use, made):
                continue
            outer = use
            parent = self._walk.parents.get(outer)
            while isinstance(parent, cst.Subscript):
                outer, parent = parent, self._walk.parents.get(parent)
            if isinstance(parent, cst.Attribute) and parent.attr.value in (*_GROWING, *_SHRINKING):
                continue
            if not isinstance(parent, cst.AugAssign):
                yield use

    def _is_of_other(self, use: cst.BaseExpression, made: list[Binding]) -> bool:
        """Whether a name stands for something else by now: `outputs = tf.concat(outputs, 0)`."""
        bindings = self._infer.bindings(use)
        return bool(bindings) and not any(each.kind == "augment" or each in made for each in bindings)

    def is_bounded(self, addition: Addition) -> bool:
        """Whether the loop around `addition` takes a fixed number of elements, written in the code: `dataset.take(50)`,
        `if n > 16: break`."""
        loop = self._loops.innermost_loop(addition.node)
        if loop is not None and self._loops.is_per_step(loop.node):
            return False  # a few elements on each step
        if loop is not None and self._breaks_soon(loop):
            return True
        return loop is not None and self._infer.integers.cut(loop.iterable) is not None

    def _breaks_soon(self, loop: Loop) -> bool:
        """Whether `loop` ends when the count of its iterations reaches a small number."""
        counter = Counters(self._infer).name(loop)
        for line in loop.node.body.body if counter and not isinstance(loop.node, cst.CompFor) else ():
            if not isinstance(line, cst.If) or not isinstance(last_statement(line.body), cst.Break):
                continue
            match line.test:
                case cst.Comparison(
                    left=cst.Name(value=left),
                    comparisons=[
                        cst.ComparisonTarget(
                            operator=cst.GreaterThan() | cst.GreaterThanEqual() | cst.Equal(),
                            comparator=bound,
                        )
                    ],
                ) if left == counter and self._infer.integers.most(bound) in range(_MOST_SHOWN + 1):
                    return True
        return False

    def filled_by(self, addition: Addition) -> Loop | None:
        """The loop around `addition`, if the container is a function's own and is made anew right before each run of
        that."""
        loop = self._loops.innermost_loop(addition.node)
        if loop is None or not isinstance(addition.container, cst.Name):
            return None
        for made in self.bindings(addition.container):
            block = made.at.block
            if made.kind != "assign" or block.loop is not loop.parent or block.function is not loop.function:
                return None
        return loop

    def runs_at_most(self, addition: Addition) -> int | None:
        """How often `addition` runs at most while its container lives, if the loops between are all that runs it and count."""
        bindings = self.bindings(addition.container) if isinstance(addition.container, cst.Name) else []
        function = self._calls.function_at(addition.node)
        if not bindings or any(made.at.block.function is not function for made in bindings):
            return None
        outer = {made.at.block.loop for made in bindings}
        runs, loop = 1, self._loops.innermost_loop(addition.node)
        while loop is not None and loop not in outer:
            most = self._iterations.at_most(loop)
            if most is None:
                return None
            runs, loop = runs * most, loop.parent
        return runs if {loop} == outer else None

    # Loops that are no step loops

    def is_store(self, addition: Addition) -> bool:
        """Whether a loop that trains nothing fills the container of `addition` with tensors that it makes, for other
        loops to read.

        Containers that are passed on or returned are none: layers of a model and time steps end in `tf.concat`.
        """
        loop = self._loops.innermost_loop(addition.node)
        if loop is None or loop.parent is not None or not self._is_long(loop):
            return False
        if self._loops.kind(loop) != "none":
            return False  # one value an epoch is no store
        made = all(
            isinstance(value, cst.Call) and library(self._infer.names.qualified(value.func)) == "tensorflow"
            for value in addition.added
        )
        reads = list(self.reads(addition))
        return (
            made
            and bool(reads)
            and all(isinstance(self._walk.parents.get(read), cst.For | cst.Subscript) for read in reads)
        )

    def _is_long(self, loop: Loop) -> bool:
        """Whether `loop` counts to an unknown number, or to more than a few."""
        stop = counts_to(self._infer, loop.iterable)
        if stop is None or (isinstance(stop, cst.Name | cst.Attribute) and names_a_part(last_name(stop))):
            return False  # the layers of a model
        number = self._infer.integers.most(stop)
        return number is None or number > _FEW


def additions(walk: Walk) -> Iterator[Addition]:
    """Every place where a list, deque or dict of lists may grow; methods of the file's own among them."""
    for method in _GROWING:
        for call in walk.calls.get(method, ()):
            if isinstance(call.func, cst.Attribute) and len(call.args) == 1:
                container = _base(call.func.value)
                if container is not None:
                    yield Addition(call, container, _items(call.args[0].value, method))
    for statement in walk.at:
        if isinstance(statement, cst.AugAssign) and isinstance(statement.operator, cst.AddAssign):
            container = _base(statement.target)
            if container is not None and isinstance(statement.value, cst.List):
                yield Addition(statement, container, _items(statement.value, "extend"))


def _loses(parent: cst.CSTNode | None, part: cst.Subscript) -> TypeGuard[cst.CSTNode]:
    """Whether the container gets smaller by what is done to `part`: `del c[:]`, `c[:] = []`, `c[i].pop()`."""
    match parent:
        case cst.Del():
            return True
        case cst.AssignTarget():
            return isinstance(part.slice[0].slice, cst.Slice)
        case cst.Attribute():
            return parent.attr.value in _SHRINKING
    return False


def _base(node: cst.BaseExpression) -> cst.Name | cst.Attribute | None:
    """The container that `node` is an item of: `d` for `d[k][j]`."""
    whole = whole_of(node)
    return whole if isinstance(whole, cst.Name | cst.Attribute) else None


def _items(value: cst.BaseExpression, method: str) -> tuple[cst.BaseExpression, ...]:
    """What is kept of `value`: the parts of a tuple, list or dict one by one."""
    if isinstance(value, cst.Dict):
        return tuple(element.value for element in value.elements)
    if isinstance(value, cst.Tuple) or (method == "extend" and isinstance(value, cst.List)):
        return tuple(element.value for element in value.elements)
    return (value,)


# What becomes of the tensors that containers keep.


_GRADIENT = ("gradient", "gradients", "apply_gradients")
# What makes one array of all that a list holds, as ops make one tensor.
_MAKING_ARRAYS = ("joins-arrays", "makes-array")
_IN_ARGUMENTS = (cst.Arg, cst.Element, cst.DictElement, cst.List, cst.Tuple, cst.Dict)


class Kept(Part):
    """Answers what is asked of the values that a container keeps."""

    own = (Containers,)

    _infer: Inference
    _calls: CallGraph
    _loops: Loops
    _containers: Containers

    def feeds_gradient(self, addition: Addition) -> bool:
        """Whether the container of `addition` grows, or is read, under a gradient tape: the gradient needs its tensors."""
        places: list[cst.CSTNode] = [*self._containers.reads(addition)]
        if not self._outlives_tape(addition):
            places.append(addition.node)
        return any(self._is_under_tape(place, 0) for place in places)

    def _outlives_tape(self, addition: Addition) -> bool:
        """Whether the list of `addition` grows under the tape of each step and lives through all of them: who reads it
        decides."""
        return is_under_tape(self._infer, addition.node) and self._containers.life(addition) == "run"

    def _is_under_tape(self, node: cst.CSTNode, depth: int) -> bool:
        if self._is_recorded_here(node):
            return True
        function = self._calls.function_at(node)
        return function is not None and depth < CALLS_DEEP and self._is_called_under_tape(function, depth)

    @remembered
    def _is_called_under_tape(self, function: Function, depth: int) -> bool:
        return any(self._is_under_tape(site, depth + 1) for site in self._calls.sites(function))

    @remembered
    def _is_recorded_here(self, node: cst.CSTNode) -> bool:
        return is_under_tape(self._infer, node) or self._is_given_to_gradient(node)

    def _is_given_to_gradient(self, node: cst.CSTNode) -> bool:
        current: cst.CSTNode | None = node
        while current is not None and current not in self._walk.at:
            if isinstance(current, cst.Call) and callee_name(current) in _GRADIENT:
                return True
            current = self._walk.parents.get(current)
        return False

    def is_asked_for(self, addition: Addition) -> bool:
        """Whether callers ask by a flag for what `addition` keeps: `if return_all:`."""
        tests = conditions(self._walk, addition.node, exits=False)
        names = [test for test in tests if isinstance(test, cst.Name)]
        found = filter(None, map(self._infer.bindings_reaching, names))
        return any(binding.kind == "param" for _, bindings in found for binding in bindings)

    def is_replaced(self, addition: Addition) -> bool:
        """Whether one tensor or array of all that the list of `addition` holds takes its place, in the function that fills
        it: `outputs = np.concatenate(outputs)`."""
        function = self._calls.function_at(addition.node)
        replacing = (
            binding.value
            for binding in self._infer.given_to(addition.container)
            if binding.value is not None and self._calls.function_at(binding.node) is function
        )
        return any(
            has(builtin_or_qualified(self._infer, call.func), "combines", *_MAKING_ARRAYS)
            and any(same_code(arg.value, addition.container) for arg in call.args)
            for value in replacing
            for call in calls_below(value)
        )

    def is_used_up(self, addition: Addition, *, arrays: bool = False) -> bool:
        """Whether all that the list of `addition` holds goes into ops, right after the loop that fills it and as often
        as it is made.

        It is then parts of a computation: `tf.stack(outputs)`, or of one array, where `arrays` count as well. In an
        evaluation, so are numbers for a mean.
        """
        container = addition.container
        found = self._infer.bindings_reaching(container) if isinstance(container, cst.Name) else None
        if found is None:
            return False
        loops = {binding.at.block.loop for binding in found[1]}
        function = self._calls.function_at(addition.node)
        reads = list(self._containers.reads(addition))
        return bool(reads) and all(
            self._infer.place(read).block.loop in loops
            and self._calls.function_at(read) is function
            and self._is_combined(
                read,
                reduced=function is not None
                and bool(names_evaluation(function.name) or names_a_metric(function.name)),
                arrays=arrays,
            )
            for read in reads
        )

    def _is_combined(self, node: cst.CSTNode, *, reduced: bool, arrays: bool) -> bool:
        """Whether an op makes one tensor of what a list holds; where there may be `arrays`, also NumPy one array, and where
        it may be `reduced`, one number."""
        parent = self._walk.parents.get(node)
        while isinstance(parent, _IN_ARGUMENTS):
            parent = self._walk.parents.get(parent)
        if not isinstance(parent, cst.Call) or parent.func is node:
            return False
        name = builtin_or_qualified(self._infer, parent.func)
        return (
            has(name, "combines")
            or (arrays and has(name, *_MAKING_ARRAYS))
            or (reduced and has(name, "one-number"))
        )

    def use_as_tensor(self, addition: Addition, *, besides_ops: bool = False) -> cst.CSTNode | None:
        """Where what `addition` keeps is asked for what only a tensor can do; with `besides_ops`, what takes a list of
        numbers as well, `tf.reduce_mean(losses)`, does not count."""
        for read in self._containers.reads(addition):
            outer: cst.CSTNode = read
            parent = self._walk.parents.get(outer)
            while isinstance(parent, cst.Subscript) and parent.value is outer:
                outer, parent = parent, self._walk.parents.get(parent)
            if outer is not read and isinstance(parent, cst.Attribute):
                return parent
            while parent is not None and outer not in self._walk.at:
                if besides_ops and self._takes_numbers(outer, parent):
                    break
                found = self._asks_for_tensor(outer, parent)
                if found is not None:
                    return found
                outer, parent = parent, self._walk.parents.get(parent)
        return None

    def _takes_numbers(self, node: cst.CSTNode, parent: cst.CSTNode) -> bool:
        """Whether a call makes the same of a list of numbers as of one of tensors."""
        if not isinstance(parent, cst.Call) or node is parent.func:
            return False
        return self._infer.names.is_call_that(parent, "reduces", "stacks-tensors", "makes-tensor")

    def _asks_for_tensor(self, node: cst.CSTNode, parent: cst.CSTNode) -> cst.CSTNode | None:
        match parent:
            case cst.For() | cst.CompFor() if parent.iter is node:
                names = {name.value for name in target_names(parent.target)}
                scope = self._walk.parents[parent] if isinstance(parent, cst.CompFor) else parent
                for below in descendants(scope):
                    if isinstance(below, cst.Attribute) and getattr(below.value, "value", "") in names:
                        return below
            case cst.Call() if node is not parent.func:
                if library(self._infer.names.qualified(parent.func)) in ("tensorflow", "keras"):
                    return parent
                if self._infer.value(parent.func).kind in ("model", "layer", "compiled", "loss", "metric"):
                    return parent
                for target in self._calls.targets(parent):
                    if _takes_values(target, _given_to(target, parent, node)):
                        return parent
            case cst.Assign():
                # What is made of numbers by arithmetic has no `numpy` of its own.
                names = {name.value for target in parent.targets for name in target_names(target.target)}
                for below in self._walk.attributes.get("numpy", ()):
                    if getattr(below.value, "value", "") in names:
                        return below
            case cst.Return() if "numpy" in self._walk.attributes:
                return parent
        return None


def _given_to(function: Function, call: cst.Call, node: cst.CSTNode) -> str:
    """The parameter by which a function gets an argument; "" where that does not show."""
    names = function.places
    for at, arg in enumerate(call.args):
        if arg.star:
            return ""
        if arg is node:
            return arg.keyword.value if arg.keyword is not None else names[at] if at < len(names) else ""
    return ""


def _takes_values(function: Function, parameter: str) -> bool:
    """Whether a function asks for `.numpy()` of what it gets, or of what it makes of that."""
    names = {parameter}
    for below in descendants(function.node) if parameter else ():
        match below:
            case cst.For() | cst.CompFor() if mentions(below.iter, names):
                names |= {name.value for name in target_names(below.target)}
            case cst.Assign() if mentions(below.value, names):
                names |= {name.value for part in below.targets for name in target_names(part.target)}
    return any(
        isinstance(below, cst.Attribute)
        and below.attr.value == "numpy"
        and (not parameter or mentions(below.value, names))
        for below in descendants(function.node)
    )
