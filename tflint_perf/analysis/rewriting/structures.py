"""Whether a value is one tensor or Python's own, which a trace can go over: `tape.gradient(loss, w)` or `tape.gradient(loss, [w])`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

import libcst as cst

from tflint_perf.analysis.apis.facts import fact, has, library, methods
from tflint_perf.analysis.conventions import names_a_tape
from tflint_perf.analysis.execution.tapes import GRADIENTS
from tflint_perf.analysis.limits import NAMES_DEEP
from tflint_perf.analysis.python.scopes import Binding, Function, Scope
from tflint_perf.analysis.python.syntax import COMPREHENSIONS, argument, callee_name, integer, last_name
from tflint_perf.analysis.values.bound_values import value_of_binding
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.iterables import taken_part
from tflint_perf.analysis.values.named_calls import builtin_or_qualified
from tflint_perf.analysis.values.values import Value, element

# "tensor": one tensor or variable. "several": a list, tuple, dict or another thing of Python's to go over. "gradient": what
# a tape gives for sources of unknown structure: one tensor, or several. "element": a whole element of a dataset.
Structure = Literal["tensor", "several", "gradient", "element", "number", "open"]

_CONTAINERS = frozenset({"list", "tuple", "set", "dict", "frozenset", "sorted", "zip", "enumerate", "range", "map", "filter",
                         "reversed", "iter"})  # fmt: skip
_HOLDING = frozenset({"list", "tuple", "dict", "generator", "string", "dataset", "iterator"})
# Attributes and methods of models, optimizers and dicts that hold several things.
_PARTS = frozenset({"trainable_variables", "trainable_weights", "variables", "weights", "non_trainable_variables", "layers",
                    "non_trainable_weights", "losses", "metrics", "shape", "submodules", "outputs", "inputs", "get_shape",
                    "as_list", "items", "values", "keys", "parameters"})  # fmt: skip
# Layers of Keras that give what they say, not one tensor.
_LAYERS_OF_SEVERAL = re.compile(r"RNN|LSTM|GRU|Attention|Bidirectional|TFSMLayer|Lambda|Wrapper")
# How a gradient goes from the optimizer of mixed precision.
_LIKE_FIRST = frozenset({"get_unscaled_gradients", "map_structure", "aggregate_gradients", "all_reduce"})


class Structures:
    """Answers what a value is to Python in code that is traced, or that would be."""

    def __init__(self, infer: Inference, calls: CallGraph) -> None:
        self._infer = infer
        self._calls = calls
        self._known: dict[cst.CSTNode, Structure] = {}
        self._depth = 0

    def of(self, node: cst.BaseExpression) -> Structure:
        """The structure of a value."""
        known = self._known.get(node)
        if known is not None:
            return known
        if self._depth >= NAMES_DEEP:
            return "open"
        self._known[node] = "open"  # what is made of itself
        self._depth += 1
        found = self._of(node)
        self._depth -= 1
        self._known[node] = found
        return found

    def sources(self, node: cst.BaseExpression) -> cst.BaseExpression | None:
        """What a tape was asked for the gradient by, where a value, or what a name was given, is that gradient."""
        if isinstance(node, cst.Name):
            made = [b.value for b in self._infer.bindings(node) if b.kind == "assign" and b.path == ()]
            node = made[0] if len(made) == 1 and made[0] is not None else node
        return (
            argument(node, 1, "sources") if isinstance(node, cst.Call) and self._is_gradient(node) else None
        )

    def is_tensor(self, node: cst.BaseExpression) -> bool:
        """Whether a value is surely one tensor, or a variable, which a trace goes over no better."""
        return self.of(node) == "tensor"

    def _of(self, node: cst.BaseExpression) -> Structure:
        match node:
            case (
                cst.List() | cst.Tuple() | cst.Set() | cst.Dict() | cst.FormattedString() | cst.SimpleString()
            ):
                return "several"
            case cst.Integer() | cst.Float() | cst.Lambda():
                return "number"
            case cst.NamedExpr():
                return self.of(node.value)
            case cst.BinaryOperation():
                return _computed(self.of(node.left), self.of(node.right), node.operator)
            case cst.UnaryOperation(operator=cst.Not()):
                return "number"
            case cst.UnaryOperation():
                found = self.of(node.expression)
                return "tensor" if found == "gradient" else found  # no list has a negative
            case cst.Comparison():
                parts = [node.left, *(target.comparator for target in node.comparisons)]
                return "tensor" if any(map(self.is_tensor, parts)) else "number"
            case cst.BooleanOperation():
                return _either([self.of(node.left), self.of(node.right)])
            case cst.IfExp():
                return _either([self.of(node.body), self.of(node.orelse)])
            case cst.Name():
                return self._of_name(node)
            case cst.Subscript():
                return self._of_part(node)
            case cst.Attribute():
                if node.attr.value == "T":
                    return self.of(node.value)
                of_value = _of_value(self._infer.value(node))
                return "several" if of_value == "open" and node.attr.value in _PARTS else of_value
            case cst.Call():
                return self._of_call(node)
        return "several" if isinstance(node, COMPREHENSIONS) else "open"

    # Names

    def _of_name(self, name: cst.Name) -> Structure:
        found = self._infer.bindings_reaching(name)
        if found is None or not found[1]:
            return "number" if name.value in ("None", "True", "False") else "open"
        made = [binding for binding in found[1] if binding.kind != "delete"]
        return _either(self.of_binding(binding, found[0]) for binding in made)

    def of_binding(self, binding: Binding, scope: Scope) -> Structure:
        """The structure of what a binding gives to its name."""
        match binding.kind:
            case "assign" | "with" if binding.value is not None and binding.path is not None:
                structure = self._at(binding.value, binding.path)
                return self._told(binding) if structure == "open" else structure
            case "augment" if binding.value is not None:
                added = self.of(binding.value)
                return added if added in ("tensor", "several") else "open"
            case "for" | "comprehension" if binding.value is not None and binding.path is not None:
                found = self._element(binding.value, binding.path)
                # Compiled code gets its arrays as tensors.
                is_array = binding.kind == "for" and self._kind(binding, scope) == "array"
                return "tensor" if is_array else found
            case "param":
                return self._of_parameter(binding, scope)
        return "open"

    def _kind(self, binding: Binding, scope: Scope) -> str:
        return value_of_binding(self._infer, binding, scope).kind

    def _told(self, binding: Binding) -> Structure:
        """A loss is one tensor, which a tape is asked for the gradient of."""
        told = self._infer.gradients.told(binding)
        return "tensor" if told is not None and told.kind == "tensor" else "open"

    def _of_parameter(self, binding: Binding, scope: Scope) -> Structure:
        function = scope.function
        if function is None or (function.is_bound and function.positional[:1] == [binding.name]):
            return "open"
        given = self._calls.arguments(function, binding.name)
        if given:
            is_array = self._kind(binding, scope) == "array"
            return "tensor" if is_array else _either(map(self.of, given))
        node = binding.node
        annotated = node.annotation if isinstance(node, cst.Param) else None
        if (
            annotated is not None
            and fact(self._infer.names.qualified(annotated.annotation), "instance") == "tensor"
        ):
            return "tensor"
        return "open"

    # Parts

    def _at(self, node: cst.BaseExpression, path: tuple[int, ...]) -> Structure:
        """The structure of a part of a value."""
        if not path:
            return self.of(node)
        if isinstance(node, cst.Tuple | cst.List):
            if any(isinstance(item, cst.StarredElement) for item in node.elements[: path[0] + 1]):
                return "open"
            return (
                self._at(node.elements[path[0]].value, path[1:]) if path[0] < len(node.elements) else "open"
            )
        if isinstance(node, cst.Call):
            returned = self._returned(node)
            if returned:
                return _either(self._at(value, path) for value in returned)
            return self._of_result(node, path)
        if isinstance(node, cst.IfExp):
            return _either([self._at(node.body, path), self._at(node.orelse, path)])
        if isinstance(node, cst.Name):
            bindings = self._infer.bindings(node)
            if bindings and self._depth < NAMES_DEEP:
                self._depth += 1
                parts = [
                    self._at(b.value, (*b.path, *path)) if b.kind == "assign" and b.value is not None and b.path is not None
                    else "open"
                    for b in bindings
                ]  # fmt: skip
                self._depth -= 1
                return _either(parts)
        whole = self.of(node)
        if whole == "tensor":
            return "tensor"
        value = self._infer.value(node)
        for index in path:
            value = (
                value.items[index] if value.items is not None and index < len(value.items) else element(value)
            )
        return _of_value(value)

    def _of_result(self, call: cst.Call, path: tuple[int, ...]) -> Structure:
        """The structure of a part of what a call gives that runs nothing of this file."""
        if self._is_gradient(call):
            sources = argument(call, 1, "sources")
            return self._at(sources, path) if isinstance(sources, cst.List | cst.Tuple) else "gradient"
        name = builtin_or_qualified(self._infer, call.func)
        last = name.rpartition(".")[2]
        if fact(name, "gives") == "tensors":
            if last == "clip_by_global_norm":
                return self.of(call.args[0].value) if path[0] == 0 and call.args else "tensor"
            return "tensor" if last != "meshgrid" or path else "several"
        whole = self.of(call)
        return "tensor" if whole == "tensor" else "open"

    def _of_part(self, node: cst.Subscript) -> Structure:
        index = node.slice[0].slice if len(node.slice) == 1 else None
        whole = self.of(node.value)
        if whole in ("tensor", "number") or (isinstance(index, cst.Slice) and whole != "open"):
            return whole
        at = integer(index.value) if isinstance(index, cst.Index) else None
        if isinstance(index, cst.Index) and whole in ("several", "gradient"):
            found = self._at(node.value, (at,)) if at is not None and at >= 0 else "open"
            if found != "open":
                return "tensor" if found == "gradient" else found
        if whole == "gradient":
            return "tensor"
        return _of_value(self._infer.value(node))

    def _element(self, iterable: cst.BaseExpression, path: tuple[int, ...]) -> Structure:
        """What going over a value gives, or the part of it that a target takes."""
        found = taken_part(self._infer, iterable, path)
        if found is None:
            return "number"
        iterable, path = found
        if isinstance(iterable, cst.Call) and builtin_or_qualified(self._infer, iterable.func) == "range":
            steered = any(self.is_tensor(arg.value) for arg in iterable.args if not arg.star)
            return "tensor" if steered else "number"
        if isinstance(iterable, cst.List | cst.Tuple):
            return _either(self._at(item.value, path) for item in iterable.elements)
        whole = self.of(iterable)
        if whole == "tensor" or (whole == "gradient" and not path):
            return "tensor"
        value = self._infer.value(iterable)
        if value.kind == "dataset":
            return "element" if not path else "open"
        value = element(value)
        for index in path:
            value = (
                value.items[index] if value.items is not None and index < len(value.items) else element(value)
            )
        return _of_value(value)

    # Calls

    def _is_gradient(self, call: cst.Call) -> bool:
        """Whether a call asks a tape for gradients."""
        if callee_name(call) not in GRADIENTS or not isinstance(call.func, cst.Attribute):
            return False
        tape = call.func.value
        return self._infer.value(tape).kind == "tape" or bool(names_a_tape(last_name(tape)))

    def _returned(self, call: cst.Call) -> list[cst.BaseExpression]:
        """What the functions of this file give that a call runs."""
        targets = self._calls.targets(call)
        return [value for target in targets for value in _results(target)] if targets else []

    def _of_call(self, call: cst.Call) -> Structure:
        if self._is_gradient(call):
            sources = argument(call, 1, "sources")
            found = self.of(sources) if sources is not None else "open"
            return found if found in ("tensor", "several") else "gradient"
        name, last = builtin_or_qualified(self._infer, call.func), callee_name(call)
        given = [arg.value for arg in call.args if not arg.star and arg.keyword is None]
        if name:
            if name in _CONTAINERS:
                return "several"
            if name in ("sum", "max", "min") and len(given) == 1:
                return "tensor" if self._element(given[0], ()) == "tensor" else "open"
            if has(name, "like-first") and given:
                return _computed(self.of(given[0]), "number", cst.Multiply())
            if name == "len":
                return "number"
            if has(name, "nests"):
                return "open" if last == "flatten" or not given else self.of(given[-1])
            kind = fact(name, "gives")
            if has(name, "gives-any"):
                return "open"
            if kind == "tensors":
                return "several"
            return _KINDS.get(kind, "open")
        targets = self._calls.targets(call)
        callee = self._infer.value(call.func)
        if targets and callee.kind != "compiled":
            return _either(map(self.of, self._returned(call)))
        match callee.kind:
            case "loss":
                return "tensor"
            case "model" if has(callee.name, "sequential") and callee.klass is None:
                return "tensor"
            case "layer" if callee.name and callee.klass is None:
                return "open" if _LAYERS_OF_SEVERAL.search(callee.name) else "tensor"
        if not isinstance(call.func, cst.Attribute):
            return "open"
        if last in _LIKE_FIRST and given:
            return self.of(given[-1] if last == "map_structure" else given[0])
        base = self.of(call.func.value)
        if last in _PARTS and base != "tensor":
            return "several"
        if base == "tensor" and (last in methods("Variable RaggedTensor", "gives") or last == "set_shape"):
            return "tensor"
        return _of_value(self._infer.value(call)) if callee.kind == "metric" else "open"


_KINDS: dict[str, Structure] = {
    "tensor": "tensor",
    "variable": "tensor",
    "number": "number",
    "string": "several",
    "dataset": "several",
}


def _of_value(value: Value) -> Structure:
    """What the kind of a value tells. Tensors whose origin is not in sight may be several: the results of a model."""
    if value.kind == "variable":
        return "tensor"
    if value.kind in ("number", "none", "array"):
        return "number"
    if value.kind == "tensor" and library(value.name) == "tensorflow":
        return "tensor"
    return "several" if value.kind in _HOLDING else "open"


def _either(structures: Iterable[Structure]) -> Structure:
    """What holds of a value that is one of several: a tensor where any is one."""
    found = set(structures)
    if "tensor" in found:
        return "tensor"
    found.discard("number")  # `None`, to begin with
    if not found:
        return "number"
    return found.pop() if len(found) == 1 else "open"


def _computed(left: Structure, right: Structure, operator: cst.BaseBinaryOp) -> Structure:
    """What arithmetic gives: one tensor wherever a tensor or a gradient takes part; but lists are joined."""
    sides = {left, right}
    if "tensor" in sides:
        return "tensor"
    if isinstance(operator, cst.Add | cst.Multiply | cst.Modulo) and "several" in sides:
        return "several"
    if "gradient" in sides:
        return "tensor"
    return "number" if sides == {"number"} else "open"


def _results(function: Function) -> list[cst.BaseExpression]:
    """What a function gives, as it is written."""
    if isinstance(function.node, cst.Lambda):
        return [function.node.body]
    return [statement.value for statement in function.returns if statement.value is not None]
