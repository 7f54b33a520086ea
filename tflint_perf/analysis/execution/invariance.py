"""What changes from one iteration of a loop to the next, and what stays as it is."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator

import libcst as cst

from tflint_perf.analysis.apis.facts import has
from tflint_perf.analysis.python.scopes import Binding, Function, Loop, Scope
from tflint_perf.analysis.python.syntax import callee_name, descendants, is_of_names, target_names
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.mutations import ChangedPlaces, Written, changed_by_name
from tflint_perf.analysis.values.named_calls import builtin_or_qualified
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.values import UNKNOWN
from tflint_perf.records import dataclass

# Attributes that say something else once `trainable` has changed.
_FOLLOW_TRAINABLE = ("trainable_variables", "trainable_weights")


@dataclass(frozen=True, slots=True)
class Change:
    """Something that a loop changes, and where."""

    node: cst.CSTNode
    reason: str


class Invariance(Part):
    """Answers whether code means the same in each iteration of a loop."""

    _infer: Inference
    _calls: CallGraph

    def __post_init__(self) -> None:
        self._places: dict[Loop, ChangedPlaces] = {}

    def change(self, node: cst.CSTNode, loop: Loop) -> Change | None:
        """What `loop` changes of what `node` reads, directly or through functions of this file; None for nothing.

        `node` is an expression or a statement in the loop. Values that TensorFlow changes in place, variables
        for instance, are no change: a graph reads them when it runs.
        """
        inside = dict.fromkeys(descendants(node))
        written = self._written(loop, inside)
        for holder in (
            node,
            *(function.node for function in self.reached([node]) if function.node not in inside),
        ):
            within = inside if holder is node else dict.fromkeys(descendants(holder))
            for part in within:
                found = self._change_of(part, within, loop, written)
                if found is not None:
                    return found
        return None

    def changed_in_place(
        self, nodes: list[cst.CSTNode], loop: Loop, leaving_out: Collection[str]
    ) -> Change | None:
        """An attribute or container that `nodes`, or functions that they call, read and the rest of `loop` changes.

        Names in `leaving_out` are not looked at.
        """
        written = self._written(loop, {part for node in nodes for part in descendants(node)})
        # Set in each iteration, as GANs do, it is the same each time that the code is reached.
        set_anew = written.get("trainable")
        if set_anew is not None and self._is_conditional(set_anew, loop):
            set_anew = None
        for holder in (*nodes, *(function.node for function in self.reached(nodes))):
            for part in descendants(holder):
                match part:
                    case cst.Attribute(attr=cst.Name(value=name)) if not self._infer.names.dotted(part):
                        name = "trainable" if name in _FOLLOW_TRAINABLE else name
                        place = written.get(name)
                        if place not in (None, set_anew) and not self._is_method_call(part):
                            return Change(part, f"`.{name}` changes in the loop")
                    case cst.Name(value=name) if name not in leaving_out:
                        place = written.get(name)
                        if place is not None and place is not set_anew and self._is_same_place(part, place):
                            return Change(part, f"`{name}` changes in the loop")
        return None

    def _is_conditional(self, node: cst.CSTNode, loop: Loop) -> bool:
        """Whether a condition in `loop` decides whether `node` runs."""
        current: cst.CSTNode | None = node
        while current is not None and current is not loop.node:
            if isinstance(current, cst.If):
                return True
            current = self._walk.parents.get(current)
        return False

    def _is_same_place(self, name: cst.Name, place: cst.CSTNode) -> bool:
        """Whether a name is read, and is that of a changed container: both live in one scope."""
        while isinstance(place, cst.Subscript):
            place = place.value
        if name not in self._walk.parents or not isinstance(place, cst.Name) or self._is_target(name):
            return False
        scopes = [self._infer.names.lookup(n.value, self._infer.names.scope_of(n)) for n in (name, place)]
        return scopes[0] is not None and scopes[1] is not None and scopes[0][0] is scopes[1][0]

    def varies(self, node: cst.CSTNode, loop: Loop) -> bool:
        """Whether the value of `node` may differ between iterations of `loop`. `x` does not vary in `x = a + b`,
        computed anew in each iteration of a loop that changes neither `a` nor `b`.

        `x` does not vary in `x = a + b`, made in a loop that changes neither `a` nor `b`.
        """
        return self._varies(node, loop, set())

    def draws_random_numbers(self, node: cst.CSTNode) -> bool:
        """Whether `node`, or a function of this file that it calls, draws random numbers by TensorFlow."""
        return any(
            self._infer.names.is_call_that(call, "draws") or callee_name(call) == "sample"
            for call in self._all_calls([node])
        )

    def asks_the_host(self, node: cst.CSTNode) -> bool:
        """Whether `node`, or a function of this file that it calls, gets random numbers, the time or what comes next from
        Python, or anything from an object of another file: what that gives may be another thing each time."""
        return any(
            self._infer.names.is_call_that(call, "varies")
            or self._advances(call)
            or self._is_asked_elsewhere(call)
            for call in self._all_calls([node])
        )

    def _advances(self, call: cst.Call) -> bool:
        """Whether `call` takes the next of an iterator that it does not make itself: `next(paths)`."""
        name = builtin_or_qualified(self._infer, call.func)
        return has(name, "advances") and bool(call.args) and not isinstance(call.args[0].value, cst.Call)

    def _is_asked_elsewhere(self, call: cst.Call) -> bool:
        receiver = call.func.value if isinstance(call.func, cst.Attribute) else None
        value = self._infer.value(receiver) if isinstance(receiver, cst.Name | cst.Attribute) else UNKNOWN
        return any(each.kind == "instance" and each.outside for each in value.alternatives)

    # Names

    def _change_of(
        self, node: cst.CSTNode, inside: Container[cst.CSTNode], loop: Loop, written: Written
    ) -> Change | None:
        if isinstance(node, cst.Attribute):
            place = written.get(node.attr.value)
            if place is None or self._infer.names.dotted(node) or self._is_method_call(node):
                return None
            return Change(place, f"`.{node.attr.value}` changes in the loop")
        if not isinstance(node, cst.Name) or node not in self._walk.parents or self._is_target(node):
            return None
        found = self._infer.names.lookup(node.value, self._infer.names.scope_of(node))
        if found is None or found[0].node in inside:
            return None
        home, bindings = found
        for binding in bindings:
            if binding.node not in inside or isinstance(binding.node, cst.Name):
                if self.is_bound_in(binding, loop) or self._is_bound_by_call(binding, home):
                    return Change(binding.node, f"`{node.value}` changes in the loop")
        place = written.get(node.value)
        if place is not None and not any(binding.kind == "import" for binding in bindings):
            return Change(place, f"`{node.value}` changes in the loop")
        return None

    def _is_method_call(self, node: cst.Attribute) -> bool:
        parent = self._walk.parents.get(node)
        return isinstance(parent, cst.Call) and parent.func is node

    def _is_target(self, node: cst.Name) -> bool:
        current: cst.CSTNode = node
        parent = self._walk.parents.get(node)
        while isinstance(parent, cst.Element | cst.Tuple | cst.List | cst.StarredElement):
            current, parent = parent, self._walk.parents.get(parent)
        return isinstance(parent, cst.AssignTarget) or (
            isinstance(parent, cst.AnnAssign) and parent.target is current
        )

    @staticmethod
    def is_bound_in(binding: Binding, loop: Loop) -> bool:
        """Whether `binding` is in `loop`, its target and its condition included."""
        if binding.at is loop.at and binding.kind != "import":
            return True
        around = binding.at.block.loop
        while around is not None:
            if around is loop:
                return True
            around = around.parent
        return False

    @staticmethod
    def _is_bound_by_call(binding: Binding, home: Scope) -> bool:
        """Whether `binding` is in another function than the one that its name belongs to: some call may change it."""
        return binding.at.block.function is not home.function and binding.kind in (
            "assign",
            "augment",
            "delete",
            "for",
        )

    # What an iteration writes to

    def _written(self, loop: Loop, leaving_out: Container[cst.CSTNode]) -> Written:
        """What an iteration of `loop` changes, but for what `leaving_out` does."""
        places = self._places.get(loop)
        if places is None:
            body = [loop.node] if isinstance(loop.node, cst.CompFor) else [loop.node.body]
            holders = (*body, *(function.node for function in self.reached(body)))
            places = self._places[loop] = changed_by_name(holders)
        return Written(places, leaving_out)

    def reached(self, nodes: Iterable[cst.CSTNode]) -> list[Function]:
        """The functions of this file that code calls, through any number of calls."""
        reached: dict[Function, None] = {}
        waiting = [call for node in nodes for call in descendants(node) if isinstance(call, cst.Call)]
        while waiting:
            call = waiting.pop()
            given = [
                self._infer.value(arg.value).function
                for arg in call.args
                if isinstance(arg.value, cst.Name | cst.Attribute)
            ]
            for target in (*self._calls.targets(call), *given):
                if target is not None and target not in reached:
                    reached[target] = None
                    waiting += target.calls
        return list(reached)

    def _all_calls(self, nodes: list[cst.CSTNode]) -> Iterator[cst.Call]:
        for node in (*nodes, *(function.node for function in self.reached(nodes))):
            for below in descendants(node):
                if isinstance(below, cst.Call):
                    yield below

    # Values made anew

    def _varies(self, node: cst.CSTNode, loop: Loop, seen: set[Binding]) -> bool:
        if self.asks_the_host(node):
            return True
        found = self.change(node, loop)
        if found is None:
            return False
        for part in descendants(node):
            if isinstance(part, cst.Attribute) and self._change_of(
                part, set(), loop, self._written(loop, set())
            ):
                return True
            if (
                isinstance(part, cst.Name)
                and part in self._walk.parents
                and self._name_varies(part, loop, seen)
            ):
                return True
        return False

    def _name_varies(self, name: cst.Name, loop: Loop, seen: set[Binding]) -> bool:
        for binding in self._infer.bindings(name):
            if binding.kind == "import" or not self.is_bound_in(binding, loop):
                continue
            if binding in seen or binding.kind != "assign" or binding.value is None:
                return True
            if self._varies(binding.value, loop, seen | {binding}):
                return True
        return False


def bound_names(statement: cst.CSTNode) -> list[cst.Name] | None:
    """The names that a statement binds: a `def`, or an assignment to plain names; None for any other."""
    match statement:
        case cst.FunctionDef():
            return [statement.name]
        case cst.Assign():
            names = [name for target in statement.targets for name in target_names(target.target)]
            plain = all(is_of_names(target.target) for target in statement.targets)
            return names if plain and names else None
        case cst.AnnAssign() if isinstance(statement.target, cst.Name) and statement.value is not None:
            return [statement.target]
    return None
