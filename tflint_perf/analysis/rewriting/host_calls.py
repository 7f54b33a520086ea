"""Calls that run on the host, or make something that must be made once: they mean something else in traced code."""

from __future__ import annotations

from collections.abc import Collection

import libcst as cst

from tflint_perf.analysis.apis.facts import fact, has, last_names, library
from tflint_perf.analysis.execution.sizes import draws_batch, is_of_environment
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import (
    callee_name,
    descendants,
    has_stars,
    is_constant,
    is_name,
    keyword_argument,
    last_name,
)
from tflint_perf.analysis.rewriting.side_effects import is_outer
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.made_kinds import MadeKinds

_HOST_METHODS = frozenset({"numpy", "item", "tolist", "fit", "predict", "evaluate", "train_on_batch", "test_on_batch",
                           "predict_on_batch", "get_weights", "set_weights", "fit_generator", "save", "save_weights", "load_weights", "savefig",
                           "set_description", "set_postfix", "set_postfix_str", "add_scalar", "writerow", "info", "debug",
                           "warning"})  # fmt: skip
_HOST_BUILTINS = frozenset(
    ["print", "breakpoint", "float", "int", "bool", "open", "input", "round", "id", "iter", "next"]
)
# Methods of arrays that tensors don't have, and whether they are given anything.
_ARRAY_METHODS = {"reshape": True, "astype": True, "flatten": False, "ravel": False, "squeeze": False}
_GROWING = frozenset({"append", "extend", "insert", "add", "update", "pop", "popleft", "appendleft", "remove", "clear",
                      "setdefault", "put", "push"})  # fmt: skip
# What an environment says it takes and gives, from which it draws.
_SPACES = frozenset({"action_space", "observation_space"})
_STATE = frozenset({"variable", "model", "layer", "optimizer", "metric"})


class HostCalls:
    """Answers what stands against a call in traced code."""

    def __init__(self, infer: Inference, calls: CallGraph) -> None:
        self._infer = infer
        self._calls = calls
        self._made_kinds = MadeKinds(infer)

    def reason(
        self, call: cst.Call, function: Function | None, within: Collection[cst.CSTNode] | None
    ) -> str:
        """Why `call` can't be traced, in a function or in those statements alone; "" where nothing is known against it."""
        return (
            self._runs_on_host(call, function)
            or self._grows_outside(call, function, within)
            or self._makes_state(call)
            or self._name_argument(call)
        )

    def may_be_known(self, call: cst.Call) -> bool:
        """Whether NumPy is given nothing but what a trace may know: static shapes, and what an object's constructor sets."""
        name = self._infer.names.qualified(call.func)
        return (
            library(name) == "numpy"
            and ".random" not in name
            and bool(call.args)
            and all(self._is_static(arg.value) or self._is_set_once(arg.value) for arg in call.args)
        )

    def mixed_types(self, call: cst.Call) -> str:
        """Why a graph refuses an op on an integer and what may be floats: `tf.maximum(0, x)` is one of integers there."""
        numbers = self.numbers_in_graph(call)
        if not numbers or not _is_integer(numbers[0]) or all(map(self._is_of_integers, numbers[1:])):
            return ""
        first = f"{callee_name(call)}({'…, ' * (len(call.args) - len(numbers))}{_text(numbers[0])}, …)"
        return f"`{first}` is an op on integers in a graph"

    def numbers_in_graph(self, call: cst.Call) -> list[cst.BaseExpression]:
        """What `call` is given by place whose type a graph goes by, where the first of it tells that of the others."""
        name = self._infer.names.qualified(call.func)
        if not has(name, "first-tells-type") or has_stars(call):
            return []
        at = int(fact(name, "first-tells-type") or 0)
        return [arg.value for arg in call.args if arg.keyword is None][at:]

    def _is_of_integers(self, node: cst.BaseExpression) -> bool:
        value = self._infer.value(node)
        return (
            _is_integer(node)
            or value.dtype.startswith(("int", "uint"))
            or has(value.name, "gives-integers")
            or self._infer.integers.only(node) is not None
        )

    def _runs_on_host(self, call: cst.Call, function: Function | None) -> str:
        name = self._infer.names.qualified(call.func)
        last = callee_name(call)
        if last in last_names("works-on-arrays"):
            return f"`{last}` runs on the host"
        if name:
            return self._imported(call, name)
        if isinstance(call.func, cst.Attribute):
            reason = self._by_method(call, call.func, last, function)
            # A layer may go by such a name: `self.batch(inputs)`.
            return "" if reason and self._infer.value(call.func).kind in ("layer", "model") else reason
        if last in _HOST_BUILTINS and not self._infer.names.lookup(last, self._infer.names.scope_of(call)):
            if last not in ("float", "int", "bool", "round") or not self._takes_constant(call):
                return f"`{last}()` runs on the host"
        return ""

    def _by_method(self, call: cst.Call, method: cst.Attribute, last: str, function: Function | None) -> str:
        if last in _HOST_METHODS and not self._calls.targets(call):
            return f"`.{last}()` runs on the host"
        if self._is_of_arrays(call, method.value, function):
            return f"`.{last}()` is a method of arrays, which compiled code gets as tensors"
        if not self._calls.targets(call) and (
            is_of_environment(call) or draws_batch(call) or last_name(method.value) in _SPACES
        ):
            return f"`.{last}()` runs on the host"
        return ""

    def _grows_outside(
        self, call: cst.Call, function: Function | None, within: Collection[cst.CSTNode] | None
    ) -> str:
        last, method = callee_name(call), call.func
        if last not in _GROWING or not isinstance(method, cst.Attribute):
            return ""
        if self._infer.names.qualified(method) or not is_outer(self._infer, method.value, function, within):
            return ""
        if self._infer.value(method.value).kind in ("metric", "model", "layer", "optimizer"):
            return ""
        return f"`.{last}()` writes to a container outside the step"

    def _is_of_arrays(self, call: cst.Call, given: cst.BaseExpression, function: Function | None) -> bool:
        """Whether something that is handed in is asked for what an array has and a tensor has not: `x.reshape(n, 28)`."""
        last = callee_name(call)
        if (
            not isinstance(given, cst.Name)
            or last not in _ARRAY_METHODS
            or bool(call.args) != _ARRAY_METHODS[last]
        ):
            return False
        found = self._infer.bindings_reaching(given)
        if found is None or self._infer.value(given).kind not in ("array", "tensor", "unknown"):
            return False
        here = found[0].function is function
        return all(b.kind == "for" or (b.kind == "param" and here) for b in found[1])

    def _imported(self, call: cst.Call, name: str) -> str:
        on_host = f"`{name}` runs on the host"
        if has(name, "same-when-traced"):
            return "" if all(self._is_static(arg.value) for arg in call.args) else on_host
        if library(name) == "numpy" and call.args and ".random" not in name:
            return "" if all(is_constant(arg.value) or _is_rank(arg.value) for arg in call.args) else on_host
        return on_host if has(name, "host") else ""

    def _takes_constant(self, call: cst.Call) -> bool:
        return bool(call.args) and self._is_static(call.args[0].value)

    def _is_static(self, node: cst.BaseExpression) -> bool:
        """Constants, lengths, static shapes, an object's settings, and what Python computes of these."""
        if (
            isinstance(node, cst.BinaryOperation)
            and self._is_static(node.left)
            and self._is_static(node.right)
        ):
            return True
        return (
            is_constant(node)
            or (isinstance(node, cst.Call) and is_name(node.func, "len"))
            or (isinstance(node, cst.Attribute) and self._is_setting(node))
            or any(
                isinstance(part, cst.Attribute) and part.attr.value == "shape" for part in descendants(node)
            )
        )

    def _is_setting(self, node: cst.Attribute) -> bool:
        """Whether an attribute is what the constructor of a layer or model was given, or made of that by Python."""
        owner = self._infer.value(node.value).klass
        return (
            owner is not None
            and self._infer.classes.keras_kind(owner) in ("model", "layer")
            and self._is_set_once(node)
            and self._infer.value(node).kind in ("unknown", "number")
        )

    def _is_set_once(self, node: cst.BaseExpression) -> bool:
        """Whether it is an attribute that the constructor alone sets, to no tensor."""
        return (
            isinstance(node, cst.Attribute)
            and self._infer.classes.is_set_once(node)
            and self._infer.value(node).kind in ("unknown", "number", "list", "tuple", "array")
        )

    def _makes_state(self, call: cst.Call) -> str:
        """Why `call` may not run again and again: it makes a variable, or something that may hold variables."""
        if self._infer.names.is_call_that(call, "binds"):
            return ""
        made = self._infer.value(call).kind
        if made not in _STATE or self._calls.targets(call) or not self._creates(call):
            return ""
        if made == "layer" and self._made_kinds.makes_no_variable(call):
            return ""  # `keras.layers.Flatten()(x)` is made as often as the function is traced
        return "" if self._first_call_guard(call) else f"a {made} is created on each call"

    def _name_argument(self, call: cst.Call) -> str:
        given = keyword_argument(call, "name")
        if given is None or isinstance(given, cst.SimpleString | cst.FormattedString) or is_constant(given):
            return ""
        return "" if self._infer.value(given).kind == "string" else "`name=` is not a string"

    def _creates(self, call: cst.Call) -> bool:
        """Whether `call` makes a new object, rather than returns one that exists."""
        name = self._infer.names.qualified(call.func)
        value = self._infer.value(call.func)
        return bool(name) or value.kind == "class"

    def _first_call_guard(self, node: cst.CSTNode) -> bool:
        """Whether `node` stands behind `if x is None`."""
        current: cst.CSTNode | None = node
        while current is not None and not isinstance(current, cst.FunctionDef):
            if isinstance(current, cst.If) and any(map(_asks_whether_missing, descendants(current.test))):
                return True
            current = self._infer.walk.parents.get(current)
        return False


def _is_rank(node: cst.BaseExpression) -> bool:
    """Whether it is the number of axes, which a trace knows: `len(x.shape)`."""
    match node:
        case cst.Call(func=cst.Name("len"), args=[cst.Arg(value=cst.Attribute(attr=cst.Name("shape")))]):
            return True
    return False


def _asks_whether_missing(node: cst.CSTNode) -> bool:
    """Whether `node` asks whether something is missing: `x is None`, but not `x is not None`."""
    return (
        isinstance(node, cst.ComparisonTarget)
        and isinstance(node.operator, cst.Is | cst.Equal)
        and is_name(node.comparator, "None")
    )


def _is_integer(node: cst.BaseExpression) -> bool:
    """Whether an integer is written there, perhaps with a minus."""
    return isinstance(node.expression if isinstance(node, cst.UnaryOperation) else node, cst.Integer)


def _text(number: cst.BaseExpression) -> str:
    match number:
        case cst.UnaryOperation(expression=cst.Integer(value)):
            return f"-{value}"
        case cst.Integer(value):
            return value
    raise AssertionError(number)
