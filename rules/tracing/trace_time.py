"""Calls of Python in compiled code that fail there, or run only when the function is traced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import libcst as cst

from tflint_perf.analysis.apis.facts import has, library
from tflint_perf.analysis.conventions import names_a_loss, names_a_metric, names_a_model, tells_of_tracing
from tflint_perf.analysis.execution.once import Once
from tflint_perf.analysis.execution.symbolic import Symbolic
from tflint_perf.analysis.limits import NAMES_DEEP
from tflint_perf.analysis.python.scopes import Binding, Function
from tflint_perf.analysis.python.syntax import (
    callee_name,
    descendants,
    dotted_name,
    is_constant,
    same_code,
    string,
)
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.named_calls import builtin_or_qualified
from tflint_perf.analysis.values.parts import Part
from tflint_perf.records import dataclass

from .keras_code import KerasCode

Kind = Literal["value", "number", "print", "numpy", "random", "time", "append"]

_TAKES_VALUE = frozenset({"numpy", "item", "tolist"})
_FORMATS = frozenset({"str", "repr", "format"})
# What an optimizer keeps in variables.
_OF_OPTIMIZERS = frozenset({"lr", "learning_rate", "iterations"})


@dataclass(frozen=True, slots=True)
class HostCall:
    """A call of Python in compiled code, what is the matter with it, and how it is called."""

    call: cst.Call
    kind: Kind
    shown: str


class TraceTime(Part):
    """Finds what compiled code asks of Python."""

    own = (KerasCode,)

    _infer: Inference
    _calls: CallGraph
    _symbolic: Symbolic
    _once: Once
    _keras: KerasCode

    def host_calls(self) -> Iterator[HostCall]:
        """The calls of Python in code that is known to be compiled, the outermost of each statement."""
        for function in self._symbolic.traced_functions():
            yield from self._in_function(function, self._judge)
        for function in self._keras.functions():
            yield from self._in_function(function, self._constant)

    def _in_function(
        self, function: Function, judge: Callable[[cst.Call], HostCall | None]
    ) -> Iterator[HostCall]:
        if self._once.sets_up(function):
            return
        seen: set[cst.CSTNode | Kind] = set()
        for call in function.calls:
            statement = self._infer.walk.statement_of(call)
            if statement in seen:
                continue
            found = judge(call)
            # The times of one function are taken for one reason, and in one other place.
            if found is None or (found.kind == "time" and "time" in seen) or self._symbolic.is_guarded(call):
                continue
            seen |= {statement, found.kind}
            yield found

    def _constant(self, call: cst.Call) -> HostCall | None:
        """What a trace makes a constant of, and never fails: authors of layers see nothing of it."""
        name = builtin_or_qualified(self._infer, call.func)
        kind = self._by_name(name, call) if has(name, "draws-on-host") or has(name, "clock") else None
        return HostCall(call, kind, f"{dotted_name(call.func)}()") if kind is not None else None

    def _judge(self, call: cst.Call) -> HostCall | None:
        name = builtin_or_qualified(self._infer, call.func)
        if name:
            kind = self._by_name(name, call)
            return HostCall(call, kind, f"{dotted_name(call.func)}()") if kind is not None else None
        if not isinstance(call.func, cst.Attribute):
            return None
        method, base = call.func.attr.value, call.func.value
        if method in _TAKES_VALUE and not call.args and self._has_no_value(base):
            return HostCall(call, "value", f".{method}()")
        if method == "append" and len(call.args) == 1 and self._is_kept_outside(base):
            if any(map(self._symbolic.is_symbolic, _parts(call.args[0].value))):
                return HostCall(call, "append", ".append()")
        return None

    def _by_name(self, name: str, call: cst.Call) -> Kind | None:
        if name == "print":
            return "print" if self._prints_tensor(call) else None
        if name in ("bool", "round") or (name in ("float", "int") and not self._symbolic.is_converted(call)):
            return "number" if any(map(self._holds_tensor, call.args)) else None
        if has(name, "clock"):
            return "time" if not (self._once.runs_seldom(call) or self._runs_eagerly_too(call)) else None
        if has(name, "draws-on-host"):
            chosen_once = self._once.runs_seldom(call) or self._is_seed(call) or self._is_part_of_name(call)
            return "random" if not chosen_once else None
        if library(name) == "numpy" and not has(name, "of-attributes") and not has(name, "varies"):
            return "numpy" if any(map(self._holds_tensor, call.args)) else None
        return None

    def _runs_eagerly_too(self, call: cst.Call) -> bool:
        """Whether eager code of other files runs, through models of theirs, the function around `call`: that is where the time
        is right."""
        function = self._calls.function_at(call)
        return function is not None and any(
            caller.also_eager for caller in self._calls.callers_outside(function)
        )

    # Values

    def _has_no_value(self, node: cst.BaseExpression) -> bool:
        """Whether `node` is a tensor of the graph, or a variable: neither can be read while it is traced."""
        return self._symbolic.is_symbolic(node) or self._symbolic.is_variable(node)

    def _holds_tensor(self, arg: cst.Arg) -> bool:
        """Whether `arg` is a tensor, or a list or tuple with one."""
        value = arg.value
        if isinstance(value, cst.List | cst.Tuple):
            return any(self._has_no_value(element.value) for element in value.elements)
        return self._has_no_value(value)

    def _is_part_of_name(self, call: cst.Call) -> bool:
        """Whether what `call` draws becomes part of a string, for a name that nothing else in the graph has."""
        parent = self._infer.walk.parents.get(call)
        if isinstance(parent, cst.FormattedStringExpression):
            return True
        outer = self._infer.walk.parents.get(parent) if isinstance(parent, cst.Arg) else None
        return isinstance(outer, cst.Call) and callee_name(outer) in ("str", "format")

    def _is_seed(self, call: cst.Call) -> bool:
        parent = self._infer.walk.parents.get(call)
        return isinstance(parent, cst.Arg) and parent.keyword is not None and "seed" in parent.keyword.value

    def _prints_tensor(self, call: cst.Call) -> bool:
        texts = (string(part) for part in descendants(call))
        # Who prints these means to see when the function is traced.
        if any(text is not None and tells_of_tracing(text) for text in texts):
            return False
        if any(
            isinstance(part, cst.FormattedStringText) and tells_of_tracing(part.value)
            for part in descendants(call)
        ):
            return False
        values = [value for arg in call.args for value in shown(arg.value)]
        return any(self._has_no_value(value) or self._seems_computed(value) for value in values)

    def _seems_computed(self, node: cst.BaseExpression, depth: int = 0) -> bool:
        """Whether `node`, of unknown kind, is an optimizer's variable, or what models, losses and arithmetic made of
        tensors."""
        if self._infer.value(node).kind not in ("unknown", "tensor", "variable") or depth > NAMES_DEEP:
            return False
        match node:
            case cst.Attribute():
                return node.attr.value in _OF_OPTIMIZERS and self._infer.value(node.value).kind in (
                    "optimizer",
                    "unknown",
                )
            case cst.Name():
                bindings = [b for b in self._infer.bindings(node) if b.kind != "augment"]
                return bool(bindings) and all(
                    binding.kind == "assign"
                    and binding.value is not None
                    and self._symbolic.is_traced(binding.at.block.function)
                    and self._is_computed(binding.value, depth + 1)
                    for binding in bindings
                )
            case cst.BinaryOperation():
                sides = (node.left, node.right)
                return any(self._is_computed(side, depth + 1) for side in sides)
            case cst.Call():
                return _computes_by_name(callee_name(node)) and any(
                    self._holds_tensor(arg)
                    or self._is_unknown_parameter(arg.value)
                    or self._seems_computed(arg.value, depth + 1)
                    for arg in node.args
                )
        return False

    def _is_unknown_parameter(self, node: cst.BaseExpression) -> bool:
        """Whether `node` is an argument of the `tf.function` around it that nothing shows to be a Python value."""
        found = self._infer.bindings_reaching(node) if isinstance(node, cst.Name) else None
        if found is None or self._infer.value(node).kind != "unknown":
            return False
        function = found[0].function
        return (
            function is not None
            and all(binding.kind == "param" for binding in found[1])
            and any(self._infer.compiles(decorator.decorator) for decorator in function.decorators)
        )

    def _is_computed(self, node: cst.BaseExpression, depth: int) -> bool:
        return self._has_no_value(node) or self._seems_computed(node, depth)

    def _is_kept_outside(self, container: cst.BaseExpression) -> bool:
        """Whether the list `container` lives where eager code made it, and no compiled code empties it."""
        if isinstance(container, cst.Attribute):
            bindings = [b for b in self._infer.classes.bindings_of(container) if not _is_cut(b)]
            return bool(bindings) and not any(
                self._symbolic.is_traced(binding.at.block.function) for binding in bindings
            )
        if not isinstance(container, cst.Name):
            return False
        found = self._infer.names.lookup(container.value, self._infer.names.scope_of(container))
        if found is None or found[0].kind not in ("module", "function") or self._is_shared(found[0].function):
            return False
        return all(binding.kind == "assign" for binding in found[1])

    def _is_shared(self, home: Function | None) -> bool:
        """Whether a function that makes a list may be traced itself."""
        return home is not None and (self._symbolic.is_traced(home) or not self._symbolic.is_eager(home))


def _is_cut(binding: Binding) -> bool:
    """Whether a binding keeps part of what a list held: `self.images = self.images[-50:]`."""
    value = binding.value
    return (
        isinstance(value, cst.Subscript)
        and isinstance(binding.node, cst.BaseExpression)
        and same_code(value.value, binding.node)
        and isinstance(value.slice[0].slice, cst.Slice)
    )


def _parts(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The elements of `node`, a tuple, list or dict that is written out; else the expression itself."""
    match node:
        case cst.Tuple() | cst.List():
            return [element.value for element in node.elements]
        case cst.Dict():
            return [element.value for element in node.elements]
    return [node]


def shown(node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The values whose text an argument of `print` shows: those in an f-string, behind `%`, in `str(…)`."""
    match node:
        case cst.FormattedString():
            for part in node.parts:
                if isinstance(part, cst.FormattedStringExpression):
                    yield from shown(part.expression)
        case cst.ConcatenatedString():
            yield from shown(node.left)
            yield from shown(node.right)
        case cst.BinaryOperation(operator=cst.Modulo()) if _is_text(node.left):
            yield from shown(node.right)
        case cst.BinaryOperation(operator=cst.Add()) if _is_text(node.left) or _is_text(node.right):
            yield from shown(node.left)
            yield from shown(node.right)
        case cst.Tuple() | cst.List():
            for element in node.elements:
                yield from shown(element.value)
        case cst.Call() if callee_name(node) in _FORMATS:
            for arg in node.args:
                yield from shown(arg.value)
        case cst.Call(func=cst.Attribute(value=base)) if callee_name(node) in _TAKES_VALUE:
            yield base
        case _:
            if not is_constant(node):
                yield node


def _is_text(node: cst.BaseExpression) -> bool:
    if isinstance(node, cst.BinaryOperation):
        return _is_text(node.left) or _is_text(node.right)
    return isinstance(node, cst.SimpleString | cst.FormattedString | cst.ConcatenatedString) or (
        isinstance(node, cst.Call) and callee_name(node) in ("str", "repr")
    )


def _computes_by_name(name: str) -> bool:
    """Whether something computes with the tensors that it is given, by its name."""
    return bool(names_a_loss(name) or names_a_metric(name) or names_a_model(name))
