"""Where batches are taken from that Python makes: a generator, an object with batches or a flow of Keras's, by
whatever name, parameter, helper or class of this file or another it comes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import libcst as cst

from tflint_perf.analysis.apis.facts import methods
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.limits import MANY_PLACES
from tflint_perf.analysis.python.flow import loops_around
from tflint_perf.analysis.python.scopes import Binding, Class, Function, Scope
from tflint_perf.analysis.python.syntax import callee_name
from tflint_perf.analysis.values.caller import Batch
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.iterables import source
from tflint_perf.analysis.values.keras_flows import is_flow
from tflint_perf.analysis.values.values import Value

# What gives no batches made by Python, whoever made it.
_OTHERS = frozenset(
    {"dataset", "tensor", "array", "variable", "number", "string", "model", "layer", "session"}
)


class BatchSources:
    """Answers how the batches are made that a loop, `next()` or `fit` takes from an expression."""

    def __init__(
        self,
        infer: Inference,
        calls: CallGraph,
        of_function: Callable[[Function], Batch | None],
        of_class: Callable[[Class], Batch | None],
    ) -> None:
        self._infer = infer
        self._calls = calls
        self._of_function = of_function
        self._of_class = of_class
        self._asked: set[tuple[cst.CSTNode, tuple[int, ...]]] = set()
        self._has_any: bool | None = None

    def of(self, node: cst.BaseExpression, path: tuple[int, ...] = ()) -> Batch | None:
        """How the batches that `node` gives, or the part of it that is asked for, are made; None where it gives none."""
        self._asked.clear()
        return self._of(node, path)

    def has_flows(self) -> bool:
        """Whether the file has any flow of Keras's."""
        return not methods("ImageDataGenerator", "flows").isdisjoint(self._infer.walk.calls)

    def of_binding(self, binding: Binding, scope: Scope) -> Batch | None:
        """How the batches that `binding` gives its name are made."""
        self._asked.clear()
        return self._of_binding(binding, scope, ())

    def returned(self, function: Function, *part: int) -> Batch | None:
        """How the batches are made that what a function gives, or a part of it, gives in turn."""
        self._asked.clear()
        return self._returned(function, part)

    def given_by(self, function: Function, *part: int) -> Batch | None:
        """The same of generators and Keras's flows alone: a file that has neither needs no second look."""
        if self._has_any is None:
            functions = self._infer.walk.functions.values()
            self._has_any = self.has_flows() or any(each.yields for each in functions)
        return self.returned(function, *part) if self._has_any else None

    def parts_given_by(self, function: Function) -> tuple[Batch | None, ...]:
        """The same of the parts that all tuples have which a function returns, be they of several lengths."""
        tuples = [each.value for each in function.returns if isinstance(each.value, cst.Tuple)]
        fewest = min((len(each.elements) for each in tuples), default=0)
        return tuple(self.given_by(function, at) for at in range(fewest))

    def _of(self, node: cst.BaseExpression, path: tuple[int, ...]) -> Batch | None:
        if (node, path) in self._asked or len(self._asked) > MANY_PLACES:
            return None
        self._asked.add((node, path))
        if not path:
            value = self._infer.value(node)
            how = self._of_value(value)
            if how is not None or value.kind in _OTHERS:
                return how
        match node:
            case cst.Tuple() | cst.List() if path and path[0] < len(node.elements):
                return self._of(node.elements[path[0]].value, path[1:])
            case cst.Call():
                return self._of_call(node, path)
            case cst.Name():
                found = self._infer.bindings_reaching(node)
                bindings = found[1] if found is not None else []
                if not path and self._may_be_dataset(b.value for b in bindings if b.path == ()):
                    return None
                return _first(self._of_binding(b, found[0], path) for b in bindings if found is not None)
            case cst.Attribute():
                return self._of_attribute(node, path)
        return None

    def _of_value(self, value: Value) -> Batch | None:
        """How a generator makes its batches, or an object of a class, in this file or another."""
        if value.either:
            ways = [self._of_value(each) for each in value.either]
            return ways[0] if None not in ways else None
        if value.kind == "generator" and value.function is not None and value.function.yields:
            return self._of_generator(value.function)
        if value.klass is not None:
            return self._of_class(value.klass) if value.kind == "instance" else None
        return self._infer.outside.makes_batches(value.outside) if value.outside.endswith("()") else None

    def _of_call(self, call: cst.Call, path: tuple[int, ...]) -> Batch | None:
        if not path and (inner := source(self._infer, call)) is not call:
            return self._of(inner, ())
        if callee_name(call) in methods("ImageDataGenerator", "flows"):
            return "augmented" if not path and is_flow(self._infer, call) else None
        callee = self._infer.value(call.func)
        if callee.outside or callee.either:
            gives = self._infer.outside.gives_batches
            ways = [gives(each.outside, path) if each.outside else None for each in callee.alternatives]
            return ways[0] if None not in ways else None
        if isinstance(call.func, cst.Attribute) and not self._calls.targets(call):
            gives = self._infer.outside.gives_batches
            return self._by_objects(call.func, lambda member: gives(member, path))
        return _first(self._returned(target, path) for target in self._calls.targets(call))

    def _returned(self, function: Function, path: tuple[int, ...]) -> Batch | None:
        if function.yields:
            return None if path else self._of_generator(function)
        given = [returned.value for returned in function.returns]
        if not path and self._may_be_dataset(given):
            return None
        return _first(self._of(value, path) for value in given if value is not None)

    def _may_be_dataset(self, given: Iterable[cst.BaseExpression | None]) -> bool:
        """Whether one of several ways to make the batches is a dataset: then it depends on the settings whether Python does."""
        return any(each is not None and self._infer.value(each).kind == "dataset" for each in given)

    def _of_generator(self, function: Function) -> Batch | None:
        """How the generator `function` makes its batches: by itself, or by flows of Keras's that it goes through."""
        flows = any(
            callee_name(call) in methods("ImageDataGenerator", "flows") and is_flow(self._infer, call)
            for call in function.calls
        )
        return self._of_function(function) or ("augmented" if flows else None)

    def _of_attribute(self, node: cst.Attribute, path: tuple[int, ...]) -> Batch | None:
        base = self._infer.value(node.value)
        if base.outside and not path:
            return self._infer.outside.makes_batches(f"{base.outside}.{node.attr.value}")
        if base.klass is None:
            dotted = self._infer.names.dotted(node)
            if path or dotted:
                return self._infer.outside.makes_batches(dotted) if dotted and not path else None
            return self._by_objects(node, self._infer.outside.makes_batches)
        scope = base.klass.scope
        return _first(self._of_binding(b, scope, path) for b in self._infer.classes.bindings_of(node))

    def _of_binding(self, binding: Binding, scope: Scope, path: tuple[int, ...]) -> Batch | None:
        if binding.path is None:
            return None
        path = (*binding.path, *path)
        match binding.kind:
            case "import" if not path:
                return self._infer.outside.makes_batches(binding.imported)
            case "assign" if binding.value is not None:
                return self._of(binding.value, path)
            case "param" if scope.function is not None and not path:
                return _first(self._of_parameter(scope.function, binding.name))
        return None

    def _of_parameter(self, function: Function, name: str) -> Iterator[Batch | None]:
        """How the batches are made that callers, here or in other files, give `function` as the parameter `name`."""
        for given in self._calls.arguments(function, name):
            yield self._of(given, ())
        for there in self._calls.given_outside(function, name):
            yield there.how

    def by_method(self, func: cst.Attribute) -> Batch | None:
        """How a method makes batches of an object that another file gives as a parameter: `loader.next_batch`."""
        return self._by_objects(func, self._infer.outside.makes_batches)

    def by_index(self, item: cst.Subscript) -> Batch | None:
        """How an item is made of an object that another file gives as a parameter: `photos[step]`."""
        found = self._infer.bindings_reaching(item.value) if isinstance(item.value, cst.Name) else None
        if found is None or found[0].function is None or not isinstance(item.slice[0].slice, cst.Index):
            return None
        return _first(
            there.how
            for binding in found[1]
            if binding.kind == "param"
            for there in self._calls.given_outside(found[0].function, binding.name)
            if there.path or there.name == "*"
        )

    def _by_objects(self, member: cst.Attribute, ask: Callable[[str], Batch | None]) -> Batch | None:
        """What there is to say of a member of an object that another file gives as a parameter, which `ask` is asked by
        its path."""
        found = self._infer.bindings_reaching(member.value) if isinstance(member.value, cst.Name) else None
        return _first(
            given.how
            if given.name == "*"
            else ask(f"{given.path}.{member.attr.value}")
            if given.path
            else None
            for binding in (found[1] if found is not None else ())
            if binding.kind == "param" and (function := found[0].function) is not None  # type: ignore[index]
            for given in self._calls.given_outside(function, binding.name)
        )


def _first(found: Iterable[Batch | None]) -> Batch | None:
    return next((how for how in found if how is not None), None)


def calls_for_each(loops: Loops, function: Function) -> list[cst.Call]:
    """The calls in a function; of a generator those that it makes for each batch, in the loops that yield."""
    yielding = {loops.innermost_loop(node) for node in function.yields}
    if not yielding or None in yielding:
        return function.calls
    return [
        call for call in function.calls if not yielding.isdisjoint(loops_around(loops.innermost_loop(call)))
    ]
