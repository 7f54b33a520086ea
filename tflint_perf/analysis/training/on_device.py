"""Which tensors an op, a model or a compiled function made on the device, as opposed to host data in a tensor."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from typing import Any

import libcst as cst

from tflint_perf.analysis.apis.facts import has, library
from tflint_perf.analysis.conventions import names_an_optimizer
from tflint_perf.analysis.limits import NAMES_DEEP
from tflint_perf.analysis.python.scopes import Binding, Class, Function, Scope
from tflint_perf.analysis.python.syntax import (
    argument,
    callee_name,
    dotted_name,
    keyword_argument,
    last_name,
    string,
)
from tflint_perf.analysis.python.walk import Walk
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.iterables import taken_part
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.values import join

_CALLEES = ("model", "layer", "compiled", "loss", "metric")
_PYTHON = ("number", "string", "none")
HOLDERS = ("list", "tuple", "dict")
# Builtins that make something of elements, or a list of them.
_OF_ELEMENTS = frozenset({"sum", "max", "min", "list", "tuple", "sorted"})
# What optimizers call their rates.
_RATES = frozenset({"learning_rate", "lr"})
_CPU = re.compile(r"cpu", re.I)


class OnDevice(Part):
    """Answers whether a value is a tensor that the device made."""

    _infer: Inference
    _calls: CallGraph

    def __post_init__(self) -> None:
        self._known: dict[tuple[cst.BaseExpression, tuple[int, ...]], bool | None] = {}
        self._of_classes: dict[tuple[Class, str, tuple[int, ...]], bool | None] = {}
        # How many attributes are being asked about, and what got no answer meanwhile, be it for want of theirs.
        self._asking = 0
        self._unanswered: list[tuple[dict[Any, bool | None], Hashable]] = []

    def is_made_there(self, node: cst.BaseExpression) -> bool:
        """Whether `node` is a tensor, or a variable, whose value the device computed."""
        value = self._infer.value(node)
        if value.host or value.dtype == "string" or _is_read_as_text(self._walk, node):
            return False
        if value.kind not in ("tensor", "variable") and not self._is_of_optimizer(node):
            # What may be a number as well is a tensor where it is asked for its array.
            if value.kind != "unknown" or not _is_asked_for_its_array(self._walk, node):
                return False
        return not self._under_cpu(node) and self._ask(node, ()) is True

    def holds_what_is_made_there(self, node: cst.BaseExpression) -> bool:
        """Whether `node` is a list, tuple or dict of such tensors."""
        value = self._infer.value(node)
        held = value.element or (join(value.items) if value.items else None)
        if value.kind not in HOLDERS or held is None or held.kind != "tensor" or held.host:
            return False
        return held.dtype != "string" and not self._under_cpu(node) and self._ask(node, ()) is True

    def is_made_by(self, function: Function) -> bool:
        """Whether calling `function` gives something that the device computed."""
        return self._of_function(function, ()) is True

    def is_attribute_made_there(self, klass: Class, name: str) -> bool:
        """Whether a class gives its instances an attribute that the device made."""
        return self._of_class(klass, name, ()) is True

    def counts_steps(self, node: cst.BaseExpression) -> bool:
        """Whether `node` is `optimizer.iterations`, by which an optimizer counts its steps."""
        if not isinstance(node, cst.Attribute) or node.attr.value != "iterations":
            return False
        owner = self._infer.value(node.value)
        return owner.kind == "optimizer" or (
            not owner.known and bool(names_an_optimizer(last_name(node.value)))
        )

    def _is_of_optimizer(self, node: cst.BaseExpression) -> bool:
        """Whether `node` is a variable that an optimizer keeps: its count of steps, or its rate where that is asked for
        a number."""
        if self.counts_steps(node) or (isinstance(node, cst.Call) and self._is_scheduled(node)):
            return True
        if not isinstance(node, cst.Attribute) or node.attr.value not in _RATES:
            return False
        # A rate that is no variable, a schedule, has no such method.
        return self._infer.value(node.value).kind == "optimizer" and _is_asked_for_a_number(self._walk, node)

    def _is_scheduled(self, call: cst.Call) -> bool:
        """Whether `call` asks a schedule for the learning rate of a step, which it computes: `schedule(step)`,
        `optimizer.lr(step)`."""
        match call:
            case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(name)), args=[_]):
                return name in (*_RATES, "_decayed_lr") and self._infer.value(owner).kind == "optimizer"
            case cst.Call(func=cst.Name() as name, args=[_]):
                bindings = self._infer.bindings(name)
                made = bindings[0].value if len(bindings) == 1 else None
                return isinstance(made, cst.Call) and ".schedules." in self._infer.names.qualified(made.func)
        return False

    def _under_cpu(self, node: cst.CSTNode) -> bool:
        """Whether `node` stands in `with tf.device("/CPU:0")`."""
        current = self._walk.parents.get(node)
        while current is not None:
            for item in current.items if isinstance(current, cst.With) else ():
                if isinstance(item.item, cst.Call) and callee_name(item.item) == "device":
                    return bool(_CPU.search(string(argument(item.item, 0, "device_name")) or ""))
            current = self._walk.parents.get(current)
        return False

    def _ask(self, node: cst.BaseExpression, path: tuple[int, ...]) -> bool | None:
        """Whether `node`, or the part of it that is asked for, was made on the device; None where nothing tells."""
        key = (node, path)
        if len(path) > NAMES_DEEP:
            return None  # a function that takes a part of what it gives itself: `first, rest = split(x)` in `split`
        if key not in self._known:
            self._known[key] = None  # a value that depends on itself says nothing of itself
            made = self._known[key] = self._look(node, path)
            if self._asking and made is None:
                self._unanswered.append((self._known, key))
        return self._known[key]

    def _look(self, node: cst.BaseExpression, path: tuple[int, ...]) -> bool | None:
        match node:
            case cst.Tuple() | cst.List() if path:
                return (
                    self._ask(node.elements[path[0]].value, path[1:])
                    if path[0] < len(node.elements)
                    else None
                )
            case cst.Tuple() | cst.List():
                return _any(self._ask(element.value, ()) for element in node.elements)
            case cst.Dict():
                return _any(self._ask(element.value, ()) for element in node.elements)
            case cst.ListComp() | cst.GeneratorExp():
                return self._ask(node.elt, path)
            case cst.DictComp():
                return self._ask(node.value, ())
            case cst.Name():
                return self._of_name(node, path)
            case cst.Attribute():
                return self._of_attribute(node, path)
            case cst.Call():
                return self._of_call(node, path)
            case cst.BinaryOperation():
                return self._of_operands([node.left, node.right])
            case cst.Comparison():
                return self._of_operands([node.left, *(part.comparator for part in node.comparisons)])
            case cst.UnaryOperation():
                return self._of_operands([node.expression])
            case cst.Subscript():
                made = self._ask(node.value, ())
                # A part of what was brought there is cut out there, unless it is of whole numbers.
                return self._is_brought_there(node.value) or None if made is None else made
            case cst.IfExp():
                return _any([self._ask(node.body, path), self._ask(node.orelse, path)])
        return None

    def _is_brought_there(self, node: cst.BaseExpression) -> bool:
        """Whether `node` is a tensor, not of integers, that holds converted host data."""
        value = self._infer.value(node)
        return value.kind == "tensor" and not value.host and has(value.name, "brings")

    def _of_operands(self, operands: list[cst.BaseExpression]) -> bool | None:
        """What an op makes is made on the device, unless all that it gets is known to be in host memory."""
        values = [node for node in operands if self._infer.value(node).kind not in _PYTHON]
        if not values:
            return None
        return any(self._infer.value(node).host or self._ask(node, ()) is not False for node in values)

    def _of_name(self, name: cst.Name, path: tuple[int, ...]) -> bool | None:
        found = self._infer.bindings_reaching(name)
        if found is None:
            return None
        return _any(self._of_binding(binding, path, found[0]) for binding in found[1])

    def _of_binding(self, binding: Binding, path: tuple[int, ...], scope: Scope) -> bool | None:
        if binding.path is None:
            return None
        if self._infer.gradients.told(binding) is not None:
            return True
        path = (*binding.path, *path)
        match binding.kind:
            case "param" if scope.function is not None:
                given = self._calls.arguments(scope.function, binding.name)
                return _any(self._ask(value, path) for value in given)
            case "assign" if binding.value is not None and self._is_variable(binding.value):
                return self._is_on_device_as_variable(binding.value)
            case "assign" | "augment" if binding.value is not None:
                made = self._ask(binding.value, path)
                if made is None and self._infer.contents.holds(binding):
                    return _any(self._ask(put.value, ()) for put in self._infer.contents.puts(binding, scope))
                return made
            case "for" | "comprehension" if binding.value is not None:
                return self._of_element(binding.value, path)
        return None

    def _of_element(self, iterable: cst.BaseExpression, path: tuple[int, ...]) -> bool | None:
        """Whether what a loop gets of `iterable`, or a part of that, was made on the device."""
        found = taken_part(self._infer, iterable, path)
        if found is None:
            return None
        iterable, path = found
        match iterable:
            case cst.Call(func=cst.Attribute(value=holder, attr=cst.Name("items")), args=[]):
                return self._ask(holder, ()) if path == (1,) else None
            case cst.Call(func=cst.Attribute(value=holder, attr=cst.Name("values")), args=[]):
                return self._ask(holder, ())
        return (
            self._ask(iterable, ()) if self._infer.value(iterable).kind in ("tensor", *HOLDERS[:2]) else None
        )

    def _is_variable(self, node: cst.BaseExpression) -> bool:
        return self._infer.names.is_call_that(node, "variable")

    def _is_on_device_as_variable(self, node: cst.BaseExpression) -> bool:
        """Whether `node` is a variable on the device: all are but those of type int32, which TensorFlow keeps on the
        host."""
        assert isinstance(node, cst.Call)
        dtype = keyword_argument(node, "dtype")
        if dtype is not None:
            return dotted_name(dtype).rpartition(".")[2] not in ("int32", "string", "bool")
        initial = argument(node, 0, "initial_value")
        if initial is None:
            return False
        return _is_float(initial) or self._infer.value(initial).kind in ("tensor", "array")

    def _of_attribute(self, node: cst.Attribute, path: tuple[int, ...]) -> bool | None:
        if self._is_of_optimizer(node):
            return True
        base = self._infer.value(node.value)
        if base.kind == "tensor":
            return self._ask(node.value, ())
        writing = self._infer.classes.writing_class(node)
        if writing is None:
            return self._infer.outside.makes(f"{base.outside}.{node.attr.value}") if base.outside else None
        return self._of_class(writing, node.attr.value, path)

    def _of_class(self, klass: Class, name: str, path: tuple[int, ...]) -> bool | None:
        """Whether what a class writes to an attribute of its instances was made on the device."""
        key = (klass, name, path)
        if key in self._of_classes:
            return self._of_classes[key]
        self._of_classes[key] = None
        self._asking += 1
        bindings = [b for b in klass.attributes.get(name, ()) if b.kind in ("assign", "augment")]
        made = _any(self._of_binding(binding, path, klass.scope) for binding in bindings)
        self._asking -= 1
        self._of_classes[key] = made
        if self._asking and made is None:
            self._unanswered.append((self._of_classes, key))
        elif not self._asking:
            for answers, unanswered in self._unanswered:
                del answers[unanswered]
            self._unanswered.clear()
        return made

    def _of_call(self, call: cst.Call, path: tuple[int, ...]) -> bool | None:
        name = self._infer.names.qualified(call.func)
        if not name and self._is_scheduled(call):
            return True
        callee = self._infer.value(call.func)
        if callee.outside:
            return callee.kind in _CALLEES or self._infer.outside.makes(callee.outside)
        if name:
            return self._of_op(call, name)
        if callee.kind in _CALLEES:
            # Keras passes on what `call` returns, be it an array of the host.
            targets = self._calls.targets(call) if callee.kind in ("model", "layer") and path else []
            return not targets or _any(self._of_function(target, path) for target in targets) is not False
        if callee.either and len(callee.paths) == len(callee.either):
            return all(map(self._infer.outside.makes, callee.paths)) or None
        if isinstance(call.func, cst.Name) and call.func.value in _OF_ELEMENTS and len(call.args) == 1:
            return self._ask(call.args[0].value, ())
        base = self._infer.value(call.func.value).kind if isinstance(call.func, cst.Attribute) else ""
        if base in ("strategy", "tape") or (base == "metric" and callee_name(call) == "result"):
            return True
        targets = self._calls.targets(call)
        if targets:
            return _any(self._of_function(target, path) for target in targets)
        if base in ("tensor", "variable", *HOLDERS) and isinstance(call.func, cst.Attribute):
            return self._ask(call.func.value, ())
        # What is given a tensor of the device and gives a tensor has computed it there: a loss function that is a parameter.
        given = (arg.value for arg in call.args if not arg.star)
        return True if not callee.known and any(self._ask(node, ()) for node in given) else None

    def _of_op(self, call: cst.Call, name: str) -> bool | None:
        if library(name) not in ("tensorflow", "keras") or has(name, "gives-host-memory"):
            return False
        given = [arg.value for arg in call.args if arg.keyword is None]
        if has(name, "fills"):
            # A whole number without a type is of type int32, which TensorFlow keeps on the host.
            return False if len(call.args) == len(given) == 1 and isinstance(given[0], cst.Integer) else None
        return self._of_operands(given)

    def _of_function(self, function: Function, path: tuple[int, ...]) -> bool | None:
        if isinstance(function.node, cst.Lambda):
            return self._ask(function.node.body, path)
        return _any(self._ask(r.value, path) for r in function.returns if r.value is not None)


def _is_float(node: cst.BaseExpression) -> bool:
    """Whether `node` is a float, or a list of such: `0.5`, `-0.5`, `[0.5, 1.0]`."""
    match node:
        case cst.UnaryOperation():
            return _is_float(node.expression)
        case cst.List() | cst.Tuple():
            return any(_is_float(element.value) for element in node.elements)
    return isinstance(node, cst.Float)


def _is_asked_for_a_number(walk: Walk, node: cst.CSTNode) -> bool:
    """Whether `node` is asked for its Python number: `rate.numpy()`, `float(rate)`."""
    parent = walk.parents.get(node)
    if isinstance(parent, cst.Arg):
        call = walk.parents.get(parent)
        return isinstance(call, cst.Call) and callee_name(call) in ("float", "get_value")
    return _is_asked_for_its_array(walk, node)


def _is_asked_for_its_array(walk: Walk, node: cst.CSTNode) -> bool:
    """Whether `node` is asked for its array: `rate.numpy()`."""
    parent = walk.parents.get(node)
    return isinstance(parent, cst.Attribute) and parent.value is node and parent.attr.value == "numpy"


def _is_read_as_text(walk: Walk, node: cst.CSTNode) -> bool:
    """Whether `node` is asked for its text, which lies in host memory: `name.numpy().decode()`."""
    asked = walk.parents.get(node)
    call = walk.parents.get(asked) if asked is not None else None
    if not isinstance(call, cst.Call) or not _is_asked_for_its_array(walk, node):
        return False
    decode = walk.parents.get(call)
    return isinstance(decode, cst.Attribute) and decode.value is call and decode.attr.value == "decode"


def _any(answers: Iterable[bool | None]) -> bool | None:
    """True when one is, False when all are known not to be."""
    found = list(answers)
    if True in found:
        return True
    return None if None in found or not found else False
