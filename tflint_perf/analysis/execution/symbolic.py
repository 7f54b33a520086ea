"""Code that is surely traced, and the symbolic tensors in it, which have no value before the graph runs."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.apis.facts import fact, library, methods
from tflint_perf.analysis.execution.compiled import Compiled
from tflint_perf.analysis.limits import NAMES_DEEP
from tflint_perf.analysis.python.reach import remembered_in_circles
from tflint_perf.analysis.python.scopes import Binding, Function
from tflint_perf.analysis.python.syntax import callee_name, descendants, is_name, keyword_argument, last_name
from tflint_perf.analysis.values.bound_values import value_of_binding
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.iterables import taken_part
from tflint_perf.analysis.values.named_calls import builtin_or_qualified
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.written import written_out

# Code that asks for one of these knows that it may run in both modes.
ASKS_THE_MODE = frozenset({"executing_eagerly", "inside_function", "init_scope", "is_symbolic_tensor",
                            "executing_eagerly_outside_functions", "functions_run_eagerly"})  # fmt: skip
_ASKS_FOR_THE_KIND = ASKS_THE_MODE | {
    "isinstance",
    "hasattr",
    "is_tensor",
    "is_keras_tensor",
    "callable",
    "getattr",
}
_COMPARISONS = (
    cst.LessThan,
    cst.LessThanEqual,
    cst.GreaterThan,
    cst.GreaterThanEqual,
    cst.Equal,
    cst.NotEqual,
)


class Symbolic(Part):
    """Answers whether code is traced and never run in eager mode, and whether a value in it is a symbolic tensor."""

    _infer: Inference
    _calls: CallGraph
    _compiled: Compiled
    _text: str

    # Where

    def traced_functions(self) -> Iterator[Function]:
        """The functions whose bodies are traced, whatever calls them."""
        return (function for function in self._walk.functions.values() if self.is_traced(function))

    @remembered_in_circles(False)
    def is_traced(self, function: Function | None) -> bool:
        """Whether the body of a function is traced, whatever calls it."""
        if function is None:
            return False
        if self._compiled.state(function) != "compiled":
            return False
        if any(callee_name(call) in ASKS_THE_MODE for call in function.calls):
            return False
        if any(self._infer.compiles(decorator.decorator) for decorator in function.decorators):
            return True
        sites, callers = self._calls.sites(function), self._calls.callers_outside(function)
        if any(not self._is_traced_call(call) for call in sites):
            return False
        if any(caller.how != "compile" and caller.state != "compiled" for caller in callers):
            return False
        return (
            bool(sites or callers)
            or self.is_traced(function.outer)
            or self._is_handed_to_tracer(function)
            or (function.name == "__call__" and self._compiled.is_traced(function))
            or self._is_fitted(function)
        )

    def _is_traced_call(self, call: cst.Call) -> bool:
        """Whether `call` runs a graph: of a `tf.function`, or from traced code."""
        return self._infer.value(call.func).kind == "compiled" or self.is_traced(
            self._calls.function_at(call)
        )

    def _is_handed_to_tracer(self, function: Function) -> bool:
        return self._compiled.is_for_dataset(function) or any(
            self._infer.compiles(call.func) for call in self._calls_given(function)
        )

    def _calls_given(self, function: Function) -> Iterator[cst.Call]:
        """The calls that take a function as an argument."""
        if isinstance(function.node, cst.Lambda):
            mentions: list[cst.CSTNode] = [function.node]
        else:
            mentions = [
                node
                for node in (
                    *self._walk.names.get(function.name, ()),
                    *self._walk.attributes.get(function.name, ()),
                )
                if self._infer.value(node).function is function
            ]
        for node in mentions:
            arg = self._walk.parents.get(node)
            call = self._walk.parents.get(arg) if isinstance(arg, cst.Arg) else None
            if isinstance(call, cst.Call):
                yield call

    def _is_fitted(self, function: Function) -> bool:
        """Whether `function` is a method of a Keras model that this file fits, and does not run eagerly."""
        owner = function.owner
        if owner is None or self._infer.classes.keras_kind(owner) != "model":
            return False
        if function.name not in methods("Model", "compiled") or "run_eagerly" in self._text:
            return False
        return any(
            isinstance(call.func, cst.Attribute)
            and (fitted := self._infer.value(call.func.value).klass) is not None
            and owner in self._infer.classes.lineage(fitted)
            for call in self._walk.calls.get("fit", ())
        )

    def is_eager(self, function: Function) -> bool:
        """Whether the body of a function is known to run in eager mode."""
        return self._compiled.state(function) == "eager"

    def is_converted(self, node: cst.CSTNode) -> bool:
        """Whether AutoGraph rewrites the code around `node`, as far as decorators say: `autograph=False`."""
        function = self._calls.function_at(node)
        while function is not None:
            for decorator in (d.decorator for d in function.decorators):
                if last_name(decorator) == "do_not_convert":
                    return False
                if isinstance(decorator, cst.Call) and is_name(
                    keyword_argument(decorator, "autograph"), "False"
                ):
                    return False
            function = function.outer
        return True

    def is_guarded(self, node: cst.CSTNode) -> bool:
        """Whether `node` runs under a check of the mode or of the kind of a value, or in a `try`."""
        child, current = node, self._walk.parents.get(node)
        while current is not None and not isinstance(current, cst.FunctionDef | cst.Lambda | cst.Module):
            match current:
                case cst.If() | cst.IfExp() if child is not current.test and self._asks(current.test):
                    return True
                case cst.BooleanOperation() if child is current.right and self._asks(current.left):
                    return True
                case cst.Try() | cst.TryStar() if child is current.body and current.handlers:
                    return True
                case cst.With() if any(self._asks(item.item) for item in current.items):
                    return True
            child, current = current, self._walk.parents.get(current)
        return False

    def _asks(self, test: cst.CSTNode) -> bool:
        """Whether a test is for the mode or the kind of a value, also where that is asked before: `if is_tensor:`."""
        asked = [test, *(value for part in descendants(test) for value in self._stands_for(part))]
        return any(
            isinstance(part, cst.Call) and callee_name(part) in _ASKS_FOR_THE_KIND
            for each in asked
            for part in descendants(each)
        )

    def _stands_for(self, node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
        """What a name was given, where it stands for one thing."""
        bindings = self._infer.bindings(node)
        if len(bindings) == 1 and bindings[0].kind == "assign":
            value = bindings[0].value
            if value is not None:
                yield value

    # What

    def is_symbolic(self, node: cst.CSTNode) -> bool:
        """Whether `node`, in traced code, is known to be a tensor that the graph computes."""
        return self._ask(node, (), 0)

    def is_variable(self, node: cst.CSTNode) -> bool:
        """Whether `node` is a `tf.Variable`."""
        return self._infer.value(node).kind == "variable"

    def _ask(self, node: cst.CSTNode, path: tuple[int, ...], depth: int) -> bool:
        """Whether `node`, or the part of it that is asked for, is symbolic."""
        if depth > NAMES_DEEP:
            return False
        below = depth + 1
        match node:
            case cst.Name():
                bindings = [b for b in self._infer.bindings(node) if b.kind != "augment"]
                return bool(bindings) and all(self._of_binding(b, path, below) for b in bindings)
            case cst.Tuple() | cst.List():
                if not path or path[0] >= len(node.elements):
                    return False
                return self._ask(node.elements[path[0]].value, path[1:], below)
            case cst.Call():
                return self._of_call(node, path, below)
            case cst.IfExp():
                return self._ask(node.body, path, below) and self._ask(node.orelse, path, below)
            case cst.NamedExpr():
                return self._ask(node.value, path, below)
            case cst.Subscript():
                return self._ask(node.value, (), below)
            case cst.BinaryOperation():
                return self._ask(node.left, (), below) or self._ask(node.right, (), below)
            case cst.UnaryOperation():
                return not isinstance(node.operator, cst.Not) and self._ask(node.expression, (), below)
            case cst.Comparison(comparisons=[comparison]) if isinstance(comparison.operator, _COMPARISONS):
                return self._ask(node.left, (), below) or self._ask(comparison.comparator, (), below)
        return False

    def _of_binding(self, binding: Binding, path: tuple[int, ...], depth: int) -> bool:
        if binding.kind == "param":
            return self._of_parameter(binding, path, depth)
        if binding.path is None or binding.value is None or not self.is_traced(binding.at.block.function):
            return False
        if binding.kind == "assign":
            return self._ask(binding.value, (*binding.path, *path), depth)
        if binding.kind in ("for", "comprehension"):
            return self._of_element(binding.value, (*binding.path, *path), depth)
        return False

    def _of_parameter(self, binding: Binding, path: tuple[int, ...], depth: int) -> bool:
        function = self._infer.names.function_with.get(binding.node)
        if function is None or not self.is_traced(function):
            return False
        if function.is_bound and function.positional[:1] == [binding.name]:
            return False
        value = value_of_binding(self._infer, binding, function.scope)
        for index in path:
            value = value.items[index] if value.items is not None and index < len(value.items) else value
        if any(self._infer.compiles(decorator.decorator) for decorator in function.decorators):
            # A `tf.function` makes tensors of the arrays that it is given.
            return value.kind in ("tensor", "array") or (
                not value.known and self._feeds_model(function, binding.name)
            )
        sites = self._calls.sites(function)
        if sites:
            given = self._calls.arguments(function, binding.name)
            return bool(given) and all(self._ask(argument, path, depth) for argument in given)
        if self._is_input_of_keras(function, binding.name):
            return not value.known or value.kind == "tensor"
        callers = self._calls.callers_outside(function)
        handed = bool(callers) and all(caller.how == "compile" for caller in callers)
        return handed or self._is_handed_to_tracer(function) or value.kind == "tensor"

    def _is_input_of_keras(self, function: Function, name: str) -> bool:
        """Whether the parameter `name` is the input of a model's or layer's `call`: tensors, where that is traced."""
        kind = self._infer.classes.keras_kind(function.owner) if function.owner is not None else ""
        return kind in ("model", "layer") and function.name == "call" and function.positional[1:2] == [name]

    def _feeds_model(self, function: Function, name: str) -> bool:
        """Whether `function` gives its parameter `name` to a model as its input, so that it must be a tensor."""
        return any(
            call.args
            and is_name(call.args[0].value, name)
            and self._infer.value(call.func).kind in ("model", "layer")
            and self._calls.function_at(call) is function
            for call in function.calls
        )

    def _of_element(self, iterable: cst.BaseExpression, path: tuple[int, ...], depth: int) -> bool:
        """Whether what iterating over `iterable` gives, or the part of it that is asked for, is symbolic."""
        found = taken_part(self._infer, iterable, path)
        if found is None:
            return False
        iterable, path = found
        value = self._infer.value(iterable)
        if value.kind == "dataset":
            return True
        items = written_out(self._infer, iterable)
        if items is not None:
            return all(self._ask(item, path, depth + 1) for item in items)
        return self._ask(iterable, (0, *path), depth + 1)

    def _of_call(self, call: cst.Call, path: tuple[int, ...], depth: int) -> bool:
        name = builtin_or_qualified(self._infer, call.func)
        if name:
            kind = fact(name, "gives") if library(name) in ("tensorflow", "keras") else ""
            return kind == "tensor" or (kind == "tensors" and bool(path))
        targets = self._calls.targets(call)
        if targets:
            return all(self._is_returned(target, path, depth) for target in targets)
        callee = self._infer.value(call.func).kind
        if callee in ("model", "layer", "loss", "metric"):
            return True
        if not isinstance(call.func, cst.Attribute):
            return False
        method, base = callee_name(call), call.func.value
        kind = self._infer.value(base).kind
        if kind == "tape":
            return method in ("gradient", "jacobian", "batch_jacobian")
        if kind in ("tensor", "variable") and method in methods("Variable RaggedTensor", "gives"):
            return kind == "variable" or self._ask(base, (), depth)
        return kind == "metric" and method == "result"

    def _is_returned(self, function: Function, path: tuple[int, ...], depth: int) -> bool:
        """Whether all that `function` returns, or the part of it that is asked for, is symbolic."""
        if function.yields or not self.is_traced(function):
            return False
        if isinstance(function.node, cst.Lambda):
            return self._ask(function.node.body, path, depth)
        given = [statement.value for statement in function.returns]
        return bool(given) and all(value is not None and self._ask(value, path, depth) for value in given)
