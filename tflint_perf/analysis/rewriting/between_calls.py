"""What changes between the calls of a function: its trace, and the variables that a trace may make, are the first call's."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.conventions import names_a_schedule, names_an_optimizer
from tflint_perf.analysis.execution.trains import METHODS
from tflint_perf.analysis.python.flow import loops_around, runs_beside
from tflint_perf.analysis.python.reach import remembered
from tflint_perf.analysis.python.scopes import At, Binding, Function, Loop
from tflint_perf.analysis.python.syntax import (
    callee_name,
    descendants,
    dotted_name,
    integer,
    is_constant,
    last_name,
    same_code,
)
from tflint_perf.analysis.rewriting.in_place import InPlace
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.iterables import counting

# What makes its variables when it is first used.
_MAKES_VARIABLES = frozenset({"model", "layer", "optimizer", "metric"})
_CONTAINERS = frozenset({"list", "dict", "array"})
_CONSTRUCTORS = frozenset({"__init__", "build", "setup", "__new__"})
# Attributes of layers and optimizers that are Python numbers or functions.
_SETTINGS = (
    "rate", "clipnorm", "clipvalue", "global_clipnorm", "activation", "weight_decay", "momentum", "learning_rate"
)  # fmt: skip
_OF_OPTIMIZERS = frozenset({"clipnorm", "clipvalue", "global_clipnorm", "learning_rate"})

# Where calls stand that lead to a place, by the function that they stand in.
_Ways = dict[Function | None, list[At]]


class BetweenCalls:
    """Answers what may change from one call of a function to the next."""

    def __init__(self, infer: Inference, calls: CallGraph, in_place: InPlace) -> None:
        self._infer = infer
        self._calls = calls
        self._in_place = in_place

    def may_come_between(self, change: cst.CSTNode, use: cst.CSTNode) -> bool:
        """Whether a run of the program may come to `use`, then to `change`, and to `use` again, as far as this file shows."""
        changes, uses = self._ways_to(change), self._ways_to(use)
        return self._may_follow(changes, uses) and self._may_follow(uses, changes)

    def _may_follow(self, later: _Ways, earlier: _Ways) -> bool:
        return any(
            self._may_be_after(one, other)
            for function, places in earlier.items()
            for other in places
            for one in later.get(function, ())
        )

    def _ways_to(self, node: cst.CSTNode) -> _Ways:
        """Where a node stands, and where the calls stand that lead to it, by the function that they stand in."""
        ways: _Ways = {}
        waiting = [node]
        while waiting:
            current = waiting.pop()
            function = self._calls.function_at(current)
            if function is not None and function not in ways:
                waiting += self._calls.sites(function)
            ways.setdefault(function, []).append(self._infer.place(current))
        return ways

    @staticmethod
    def _may_be_after(later: At, earlier: At) -> bool:
        around = loops_around(earlier.block.loop)
        if any(loop in around for loop in loops_around(later.block.loop)):
            return True
        return later.order > earlier.order and runs_beside(earlier, later)

    def sets_trainable(self, use: cst.CSTNode) -> bool:
        """Whether something may decide anew, between two runs of `use`, what is trained: `base.trainable = True`."""
        return any(self.may_come_between(place, use) for place in self._set("trainable"))

    def sets_attribute(self, read: cst.Attribute) -> bool:
        """Whether code outside a constructor may set, between two runs, the attribute that is read."""
        return any(
            self._may_be_of_one_object(place, read) and self.may_come_between(place, read)
            for place in self._set(read.attr.value)
            if (function := self._calls.function_at(place)) is None or function.name not in _CONSTRUCTORS
        )

    @remembered
    def _set(self, name: str) -> list[cst.Attribute]:
        """Where an attribute of that name is assigned to."""
        return [
            node
            for node in self._infer.walk.attributes.get(name, ())
            if isinstance(
                parent := self._infer.walk.parents.get(node),
                cst.AssignTarget | cst.AugAssign | cst.AnnAssign,
            )
            and parent.target is node
        ]

    def _may_be_of_one_object(self, place: cst.Attribute, read: cst.Attribute) -> bool:
        names = {dotted_name(node.value, "…") for node in (place, read)}
        if len(names) == 1 or "self" not in names:
            return len(names) == 1
        classes = [self._infer.value(node.value).klass for node in (place, read)]
        return None in classes or classes[0] is classes[1]

    def changes_container(self, read: cst.Name) -> bool:
        """Whether a list, dict or array of an outer scope may be changed in place between two runs of what reads it."""
        if self._infer.value(read).kind not in _CONTAINERS:
            return False
        names = self._infer.names
        home = names.lookup(read.value, names.scope_of(read))
        return any(
            self._in_place.changes(part, 0) and self.may_come_between(part, read)
            for part in self._infer.walk.names.get(read.value, ())
            if home is not None
            and (found := names.lookup(part.value, names.scope_of(part))) is not None
            and found[0] is home[0]
        )

    def setting_changed(self, use: cst.CSTNode) -> cst.Attribute | None:
        """Where, between two runs of `use`, a layer or optimizer gets a setting that a trace holds: `drop.rate = 0.1`."""
        for name in _SETTINGS:
            for place in self._set(name):
                if self._holds_setting(place) and self.may_come_between(place, use):
                    return place
        return None

    def _holds_setting(self, place: cst.Attribute) -> bool:
        of_layers = isinstance(place.value, cst.Subscript) and last_name(place.value.value) == "layers"
        by_name = names_an_optimizer(last_name(place.value)) and place.attr.value in _OF_OPTIMIZERS
        if not (of_layers or by_name) and self._infer.value(place.value).kind not in ("layer", "optimizer"):
            return False
        if place.attr.value != "learning_rate":
            return True
        # A number goes into a variable; a schedule takes that variable's place.
        given = self._infer.walk.parents.get(self._infer.walk.parents[place])
        value = given.value if isinstance(given, cst.Assign) else None
        return isinstance(value, cst.Call) and bool(names_a_schedule(callee_name(value)))

    def object_given_anew(self, function: Function) -> cst.BaseExpression | None:
        """An argument that is another model or optimizer on some later call: a trace for that may make no variables."""
        for parameter in function.parameters:
            given = self._calls.arguments(function, parameter.name.value)
            if any(self._infer.value(value).kind in _MAKES_VARIABLES for value in given):
                found = self._another(given, function, set())
                if found is not None:
                    return found
        return None

    def _another(
        self, given: list[cst.BaseExpression], function: Function, seen: set[tuple[Function, str]]
    ) -> cst.BaseExpression | None:
        """One of the arguments that is not the same object on all calls of a function."""
        origins = set()
        for value in given:
            if self._infer.value(value).kind not in (*_MAKES_VARIABLES, "unknown"):
                continue  # `None`
            if self._is_made_again(value, function, seen):
                return value
            origins.add(self._origin(value, 0))
            if len(origins) > 1:
                return value
        return None

    def _is_made_again(
        self, value: cst.BaseExpression, function: Function, seen: set[tuple[Function, str]]
    ) -> bool:
        """Whether an argument is made where the program may come by several times."""
        if isinstance(value, cst.Call):
            return self._runs_again(value, function)
        found = self._infer.bindings_reaching(value) if isinstance(value, cst.Name) else None
        if found is None or found[0].function in _around(function):
            return False
        for binding in found[1]:
            if binding.kind in ("for", "comprehension"):
                return True
            if binding.kind == "param" and found[0].function is not None:
                key = (found[0].function, binding.name)
                if key not in seen:
                    seen.add(key)
                    if self._another(self._calls.arguments(*key), function, seen) is not None:
                        return True
            elif binding.kind == "assign" and self._runs_again(binding.node, function):
                return True
        return False

    def _runs_again(self, node: cst.CSTNode, inner: Function) -> bool:
        """Whether a loop, or more than one call, leads to a node, within what lies around `inner`."""
        waiting, seen = [node], set()
        while waiting:
            current = waiting.pop()
            if self.comes_again(self._infer.place(current)):
                return True
            function = self._calls.function_at(current)
            if function is None or function in seen or function in _around(inner):
                continue
            seen.add(function)
            sites = self._calls.sites(function)
            if len(sites) > 1 or any(caller.looped for caller in self._calls.callers_outside(function)):
                return True
            waiting += sites
        return False

    def comes_again(self, place: At) -> bool:
        """Whether a loop around a place runs it again, and is not written to go round once: `for run in range(1):`."""
        return not all(map(self._goes_round_once, loops_around(place.block.loop)))

    def _goes_round_once(self, loop: Loop) -> bool:
        if isinstance(loop.iterable, cst.List | cst.Tuple):
            return len(loop.iterable.elements) == 1 and isinstance(loop.iterable.elements[0], cst.Element)
        counted = counting(self._infer, loop.iterable)
        # Not what is only a default, of the command line perhaps.
        bounds = [self._written_out(arg.value) for arg in counted.args] if counted is not None else []
        numbers = [bound for bound in bounds if bound is not None]
        return 0 < len(bounds) == len(numbers) < 3 and len(range(*numbers)) <= 1

    def _written_out(self, node: cst.BaseExpression) -> int | None:
        """An integer that is written here, or where its name is bound."""
        match self._infer.bindings(node):
            case [Binding(kind="assign", path=(), value=cst.BaseExpression() as value)]:
                return integer(value)
        return integer(node)

    def _origin(self, value: cst.BaseExpression, depth: int) -> object:
        """What tells an object from others: the bindings that it may come from, or the code that names it."""
        found = self._infer.bindings_reaching(value) if isinstance(value, cst.Name) else None
        if found is None:
            return dotted_name(value, "…")
        if depth < 4 and found[0].function is not None and all(b.kind == "param" for b in found[1]):
            given = self._calls.arguments(found[0].function, found[1][0].name)
            origins = {self._origin(each, depth + 1) for each in given}
            if len(origins) == 1:
                return origins.pop()
        return frozenset(found[1])

    def switches_on_optimizer(self, node: cst.If, function: Function | None) -> bool:
        """Whether a Python value that callers change decides whether an optimizer is applied, and makes its variables."""
        if function is None:
            return False
        names = {part.value for part in descendants(node.test) if isinstance(part, cst.Name)}
        changed = [p.name.value for p in function.parameters if p.name.value in names]
        if not any(self._changes(function, name) for name in changed):
            return False
        inside = set(_applied(node.body)) | (set(_applied(node.orelse)) if node.orelse is not None else set())
        everywhere = list(_applied(function.node))
        within = [*_applied(node)]
        return any(within.count(name) == everywhere.count(name) for name in inside)

    def _changes(self, function: Function, name: str) -> bool:
        """Whether callers give a parameter different Python values, or one that is worked out."""
        given = self._calls.arguments(function, name)
        kinds = {self._infer.value(value).kind for value in given}
        if not given or "tensor" in kinds or "variable" in kinds:
            return False
        return not all(is_constant(value) and same_code(value, given[0]) for value in given)


def _around(function: Function) -> list[Function]:
    """The functions that a function is nested in."""
    around = []
    outer = function.outer
    while outer is not None:
        around.append(outer)
        outer = outer.outer
    return around


def _applied(node: cst.CSTNode) -> Iterator[str]:
    """The optimizers that a piece of code applies, by the code that names them."""
    for part in descendants(node):
        if (
            isinstance(part, cst.Call)
            and isinstance(part.func, cst.Attribute)
            and METHODS.get(callee_name(part)) == "update"
        ):
            yield dotted_name(part.func.value, "…")
