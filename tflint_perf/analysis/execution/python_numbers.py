"""Python numbers: which expressions give an `int`, a `float` or a `bool`, and which of them change between calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

import libcst as cst

from tflint_perf.analysis.apis.facts import fact, library
from tflint_perf.analysis.execution.compiled import Compiled
from tflint_perf.analysis.execution.invariance import Invariance
from tflint_perf.analysis.execution.iterations import FEW
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.limits import NAMES_DEEP
from tflint_perf.analysis.python.reach import remembered
from tflint_perf.analysis.python.scopes import Binding, Function, Loop
from tflint_perf.analysis.python.syntax import argument, callee_name, names_read
from tflint_perf.analysis.values.caller import Change, NumberType
from tflint_perf.analysis.values.calls import CallGraph, given_by
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.iterables import counting, counts_in_python, is_counting, taken_part
from tflint_perf.analysis.values.named_calls import builtin_or_qualified
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.written import written_out

# "?" is a type that is being worked out: it says nothing against others.
_Found = NumberType | None | Literal["?"]


class Numbers(Part):
    """Answers the type of a Python number, and how often it changes from call to call."""

    _infer: Inference
    _calls: CallGraph
    _compiled: Compiled
    _loops: Loops
    _invariance: Invariance

    def __post_init__(self) -> None:
        self._types: dict[cst.CSTNode, _Found] = {}

    def type_of(self, node: cst.BaseExpression) -> NumberType | None:
        """The type of the Python number `node`; None for everything else, NumPy's numbers too."""
        found = self._type(node)
        return None if found == "?" else found

    def _type(self, node: cst.BaseExpression) -> _Found:
        if node in self._types:
            return self._types[node]
        self._types[node] = "?"
        result = self._types[node] = self._work_out(node)
        return result

    def _work_out(self, node: cst.BaseExpression) -> _Found:
        match node:
            case cst.Integer():
                return "int"
            case cst.Float():
                return "float"
            case cst.Name(value="True" | "False") | cst.UnaryOperation(operator=cst.Not()):
                return "bool"
            case cst.Comparison():
                return "bool" if self._infer.value(node).kind == "number" else None
            case cst.Name():
                found = self._infer.bindings_reaching(node)
                return _join(self._of_binding(b) for b in found[1]) if found is not None else None
            case cst.Attribute():
                return self._attribute(node)
            case cst.Subscript(value=settings) if self._infer.value(settings).keys:
                return "number" if self._infer.value(node).kind == "number" else None
            case cst.UnaryOperation():
                return self._type(node.expression)
            case cst.BinaryOperation():
                return _arithmetic(node.operator, self._type(node.left), self._type(node.right))
            case cst.BooleanOperation():
                return _join([self._type(node.left), self._type(node.right)])
            case cst.IfExp():
                return _join([self._type(node.body), self._type(node.orelse)])
            case cst.Call():
                return self._call(node)
        return None

    def _attribute(self, node: cst.Attribute) -> _Found:
        bindings = self._infer.classes.bindings_of(node)
        return _join(map(self._of_binding, bindings)) if bindings else self._elsewhere(node)

    def _elsewhere(self, node: cst.Attribute | cst.Call) -> _Found:
        """A number that another file has or gives: `Config.start`, `schedule(step)`."""
        of = node.value if isinstance(node, cst.Attribute) else node.func
        from_there = bool(self._infer.value(of).outside)
        return "number" if from_there and self._infer.value(node).kind == "number" else None

    def _of_binding(self, binding: Binding) -> _Found:
        if binding.path is None:
            return None
        match binding.kind:
            case "assign" if binding.value is not None:
                return self._part(binding.value, binding.path)
            case "augment" if binding.value is not None:
                statement = self._infer.walk.parents.get(binding.node)
                added = self._type(binding.value)
                divides = isinstance(statement, cst.AugAssign) and isinstance(
                    statement.operator, cst.DivideAssign
                )
                return "float" if divides and added is not None else added
            case "for" | "comprehension" if binding.value is not None:
                return self._element(binding.value, binding.path)
            case "param":
                return self._parameter(binding)
            case "import":
                return "number" if self._infer.outside.value(binding.imported).kind == "number" else None
        return None

    def _parameter(self, binding: Binding) -> _Found:
        annotation = binding.node.annotation if isinstance(binding.node, cst.Param) else None
        told = getattr(annotation.annotation, "value", None) if annotation is not None else None
        if told in ("int", "float", "bool"):
            return told  # type: ignore[no-any-return]
        types = [
            *map(self._type, self._calls.given(binding)),
            *(t for t, _ in self._given_elsewhere(binding)),
        ]
        return _join(types) if types else None

    def _given_elsewhere(self, parameter: Binding) -> Iterator[tuple[NumberType | None, Change | None]]:
        """The type of what each caller in another file passes as a parameter, if it is a Python number that changes, and
        how often it does."""
        function = self._infer.names.function_with.get(parameter.node)
        if function is None:
            return
        for caller in self._calls.callers_outside(function):
            given = [each for each in given_by(caller, function, parameter.name) if each.number]
            yield from [(each.number or None, each.changes or None) for each in given] or [(None, None)]

    def _part(self, value: cst.BaseExpression, path: tuple[int, ...]) -> _Found:
        if not path:
            return self._type(value)
        if isinstance(value, cst.Tuple | cst.List) and path[0] < len(value.elements):
            return self._part(value.elements[path[0]].value, path[1:])
        return None

    def _element(self, iterable: cst.BaseExpression, path: tuple[int, ...]) -> _Found:
        """The type of what a loop over `iterable` assigns to its target."""
        found = taken_part(self._infer, iterable, path)
        if found is None:
            return "int" if counts_in_python(self._infer, iterable, path) else None
        iterable, path = found
        items = written_out(self._infer, iterable) if not path else None
        if items is not None:
            return _join(map(self._type, items))
        if not isinstance(iterable, cst.Call) or path:
            return None
        # What the ops and NumPy count is no Python number.
        of_python = library(builtin_or_qualified(self._infer, iterable.func)) not in ("tensorflow", "numpy")
        return "int" if of_python and is_counting(self._infer, iterable) else None

    def _call(self, call: cst.Call) -> _Found:
        name = builtin_or_qualified(self._infer, call.func)
        number = fact(name, "number")
        if number:
            # A draw of NumPy's with a size is an array.
            at = fact(name, "size-at")
            drawn = not at or argument(call, int(at), "size") is None
            return number if drawn else None  # type: ignore[return-value]
        if name == "round":
            return "float" if len(call.args) > 1 else "int"
        if name in ("min", "max", "abs", "sum"):
            return _join(self._type(arg.value) for arg in call.args)
        if callee_name(call) == "item" and isinstance(call.func, cst.Attribute) and not name:
            return "number"
        targets = self._calls.targets(call)
        return _join(self._returned(target) for target in targets) if targets else self._elsewhere(call)

    def _returned(self, function: Function) -> _Found:
        if function.yields or self._compiled.is_traced(function):
            return None
        return _join(
            self._type(given.value) if given.value is not None else None for given in function.returns
        )

    # Change

    def changes(self, node: cst.BaseExpression) -> Change | None:
        """How often the value of `node` differs, by a loop around it, here or where the function is called: from step
        to step, or only from one epoch to the next; None where it stays."""
        found = self._changes(node, 0)
        return "step" if "step" in found else "epoch" if found else None

    @remembered
    def _changes(self, node: cst.BaseExpression, depth: int) -> frozenset[Change]:
        """The kinds of the loops that change `node`; what the innermost of these says is enough."""
        loop, inner = self._loops.innermost_loop(node), None
        while loop is not None and not self._runs_trainings(loop, inner):
            if self._invariance.varies(node, loop):
                return self._at(loop)
            loop, inner = loop.parent, loop
        if depth > NAMES_DEEP:
            return frozenset()
        found: frozenset[Change] = frozenset()
        for name in names_read(node):
            for binding in self._infer.bindings(name):
                if binding.kind == "param":
                    found |= frozenset().union(
                        *(self._changes(v, depth + 1) for v in self._calls.given(binding))
                    )
                    found |= {change for _, change in self._given_elsewhere(binding) if change is not None}
                elif binding.kind == "assign" and binding.value is not None and binding.at.block.loop is None:
                    found |= self._changes(binding.value, depth + 1)
        return found | self._counts(node) if isinstance(node, cst.Attribute) else found

    def _at(self, loop: Loop | None) -> frozenset[Change]:
        """What changes in each iteration of a loop changes as often as that says; outside of loops, as often as may be."""
        return frozenset(["epoch" if loop is not None and self._loops.kind(loop) == "epoch" else "step"])

    def _runs_trainings(self, loop: Loop, inner: Loop | None) -> bool:
        """Whether `loop`, around epochs, runs a few trainings, or phases of one, one after the other: over a list of
        datasets or resolutions. What differs between them is traced once for each."""
        if inner is None or self._loops.kind(inner) == "step" or loop.iterable is None:
            return False
        counted = counting(self._infer, loop.iterable)
        if counted is None:
            return True
        number = self._infer.integers.length(counted)
        return number is not None and number <= FEW

    def _counts(self, node: cst.Attribute) -> frozenset[Change]:
        """How often the attribute `node` changes where it is a counter: `self.step += 1` somewhere."""
        klass = self._infer.value(node.value).klass
        found: frozenset[Change] = frozenset()
        for owner in self._infer.classes.lineage(klass) if klass is not None else ():
            for binding in owner.attributes.get(node.attr.value, ()):
                if binding.kind == "augment":
                    found |= self._at(self._loops.innermost_loop(binding.node))
        return found


def _join(types: Iterable[_Found]) -> _Found:
    """The type of a value that is one of several."""
    found = set(types) - {"?"}
    if not found:
        return "?"
    if None in found:
        return None
    if len(found) == 1:
        return found.pop()
    if "number" in found:
        return "number"
    return "float" if "float" in found else "int"


def _arithmetic(operator: cst.BaseBinaryOp, left: _Found, right: _Found) -> _Found:
    joined = _join([left, right])
    if joined is None or joined == "?":
        return joined
    if isinstance(operator, cst.Divide):
        return "float"
    return "int" if joined == "bool" else joined
