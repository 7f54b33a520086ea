"""NumPy arrays in double precision that nobody asked for, and where a Keras model is fed with them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_perf.analysis.apis.facts import has, last_names, methods
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.execution.steps import GradientSteps
from tflint_perf.analysis.limits import CALLS_DEEP, NAMES_DEEP
from tflint_perf.analysis.pipelines.consumption import Consumption
from tflint_perf.analysis.pipelines.pipelines import Pipelines
from tflint_perf.analysis.python.reach import remembered
from tflint_perf.analysis.python.scopes import Binding
from tflint_perf.analysis.python.syntax import (
    argument,
    callee_name,
    descendants,
    has_stars,
    is_name,
    keyword_argument,
    target_names,
)
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.iterables import with_targets
from tflint_perf.analysis.values.named_calls import GENERATOR, builtin_or_qualified
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.values import Pipeline, Value
from tflint_perf.records import dataclass

if TYPE_CHECKING:
    pass

_INTEGER_DRAWS = frozenset({"randint", "integers"})
_ON_BATCH = ("train_on_batch", "test_on_batch", "predict_on_batch")
_INTEGER_TYPES = frozenset({"uint8", "int8", "int16", "int32", "int64", "uint16"})
# Words of a file that has thought of double precision.
_THOUGHT_OF = re.compile(r"float64|floatx|\bdouble\b", re.I)
_OPERATORS = (cst.Add, cst.Subtract, cst.Multiply, cst.Divide)


@dataclass(frozen=True, slots=True)
class DoubleFeed:
    """`node` is the array where it is fed, `made` the expression that makes it, whose value is given a name."""

    node: cst.BaseExpression
    made: cst.BaseExpression


class Doubles(Part):
    """Finds float64 arrays that a float32 model casts on each step."""

    _infer: Inference
    _calls: CallGraph
    _loops: Loops
    _steps: GradientSteps
    _pipelines: Pipelines
    _text: str

    def feeds(self) -> Iterator[DoubleFeed]:
        """Every float64 array that a model is fed, once. None in a file that speaks of double precision."""
        if _THOUGHT_OF.search(self._text) is not None:
            return
        seen: set[cst.BaseExpression] = set()
        for node in (*self._in_datasets(), *self._on_batches()):
            made = self._made(node)
            if made is not None and made not in seen:
                seen.add(made)
                yield DoubleFeed(node, made)

    # Feeds

    def _in_datasets(self) -> Iterator[cst.BaseExpression]:
        """The input arrays of the datasets that a model is trained on."""
        consumed = [
            c.value
            for c in self._pipelines.consumptions()
            if c.use == "train" and not self._is_only_compared(c)
        ]
        consumed += self._drawn()
        for value in consumed if consumed and self._runs_keras() else ():
            for pipeline in value.pipelines:
                given = _sliced(pipeline)
                if given is not None:
                    yield given

    def _is_only_compared(self, consumed: Consumption) -> bool:
        """Whether the loop that goes over a dataset, beside others, gives its elements to no model: a loss casts the targets."""
        node = consumed.loop.node if consumed.loop is not None else None
        if not isinstance(node, cst.For) or not isinstance(consumed.node, cst.Name):
            return False
        names = {
            name.value
            for given, target in with_targets(self._infer, node.iter, node.target)
            if isinstance(target, cst.Name) and is_name(given, consumed.node.value)
            for name in target_names(target)
        }
        given_to = [
            part
            for part in descendants(node.body)
            if isinstance(part, cst.Call)
            and any(isinstance(arg.value, cst.Name) and arg.value.value in names for arg in part.args)
        ]
        return bool(given_to) and not any(self._may_ask_model(call, 0) for call in given_to)

    def _may_ask_model(self, call: cst.Call, depth: int) -> bool:
        """Whether `call`, or what it runs, may be one of a model: all but functions of libraries, and of this file that call those
        alone."""
        if self._infer.value(call.func).kind in ("model", "layer"):
            return True
        if builtin_or_qualified(self._infer, call.func):
            return False
        targets = self._calls.targets(call) if depth < CALLS_DEEP else []
        return not targets or any(
            self._may_ask_model(below, depth + 1) for target in targets for below in target.calls
        )

    def _drawn(self) -> Iterator[Value]:
        """The iterators of which each gradient step takes a batch: `next(batches)`."""
        loops = [self._loops.step_loop(step.tape) for step in self._steps.all()]
        for call in self._walk.calls_named("next", "get_next"):
            if callee_name(call) == "next" and isinstance(call.func, cst.Name) and call.args:
                source = call.args[0].value
            elif isinstance(call.func, cst.Attribute):
                source = call.func.value
            else:
                continue
            value = self._infer.value(source)
            if value.kind == "iterator" and self._loops.step_loop(call) in loops:
                yield value

    def _runs_keras(self) -> bool:
        """Whether the file makes a Keras model by name, whose layers compute in float32."""
        return any(
            self._infer.value(call).kind == "model"
            for name in ("Sequential", "Model", "load_model", *self._keras_models())
            for call in self._walk.calls_named(name)
        )

    def _keras_models(self) -> list[str]:
        return [
            klass.name
            for klass in self._walk.classes.values()
            if self._infer.classes.keras_kind(klass) == "model"
        ]

    def _on_batches(self) -> Iterator[cst.BaseExpression]:
        """The arrays that a loop cuts into batches for `train_on_batch` and the like."""
        for call in self._walk.calls_named(*_ON_BATCH):
            if not isinstance(call.func, cst.Attribute) or self._infer.value(call.func.value).kind != "model":
                continue
            given = argument(call, 0, "x")
            if isinstance(given, cst.Name):
                binding = self._only_binding(given)
                given = binding.value if binding is not None and binding.path == () else None
            if isinstance(given, cst.Subscript) and self._loops.is_per_step(call):
                yield given.value

    # Arrays

    def _made(self, node: cst.BaseExpression) -> cst.BaseExpression | None:
        """The expression that makes the float64 array named `node`; outside of loops."""
        binding = self._only_binding(node) if isinstance(node, cst.Name) else None
        if binding is None or binding.at.block.loop is not None:
            return None
        value = _part(binding)
        return value if value is not None and self._is_double(value, 0) else None

    @remembered
    def _is_double(self, node: cst.BaseExpression, depth: int) -> bool:
        """Whether `node` is known to be a float64 array."""
        if depth > NAMES_DEEP:
            return False
        match node:
            case cst.Name():
                value = self._value_of(node)
                return value is not None and self._is_double(value, depth + 1)
            case cst.Subscript():
                return self._is_double(node.value, depth + 1)
            case cst.BinaryOperation() if isinstance(node.operator, _OPERATORS):
                return self._is_double_sum(node, depth)
            case cst.Call():
                return self._is_double_call(node, depth)
        return False

    def _is_double_sum(self, node: cst.BinaryOperation, depth: int) -> bool:
        left, right = (self._is_double(side, depth + 1) for side in (node.left, node.right))
        if left or right:
            kinds = [self._infer.value(side).kind for side in (node.left, node.right)]
            return all(kind in ("array", "number") for kind in kinds)
        # A quotient of integers is a float, and so is what they give with one: `(images - 127.5) / 127.5`.
        divides = isinstance(node.operator, cst.Divide) and self._infer.value(node.right).kind == "number"
        if divides or isinstance(node.right, cst.Float):
            return self._is_whole(node.left, depth + 1)
        return isinstance(node.left, cst.Float) and self._is_whole(node.right, depth + 1)

    def _is_double_call(self, call: cst.Call, depth: int) -> bool:
        name, last = self._infer.names.qualified(call.func), callee_name(call)
        if keyword_argument(call, "dtype") is not None:
            return False
        if has(name, "makes-doubles") and not has_stars(call):
            return len(call.args) == 1 or has(name, "any-arguments")
        if has(name, "draws-doubles") or (last in last_names("draws-doubles") and self._is_generator(call)):
            return bool(call.args)
        if last not in last_names("keeps-type"):
            return False
        if has(name, "keeps-type"):
            given = call.args[0].value if call.args else None
            if isinstance(given, cst.Tuple | cst.List):
                return bool(given.elements) and all(
                    self._is_double(e.value, depth + 1) for e in given.elements
                )
            return given is not None and self._is_double(given, depth + 1)
        return (
            not name and isinstance(call.func, cst.Attribute) and self._is_double(call.func.value, depth + 1)
        )

    def _is_generator(self, call: cst.Call) -> bool:
        return isinstance(call.func, cst.Attribute) and self._infer.value(call.func.value) == GENERATOR

    @remembered
    def _is_whole(self, node: cst.BaseExpression, depth: int) -> bool:
        """Whether `node` is known to be an array of integers, which a division makes float64."""
        if depth > NAMES_DEEP:
            return False
        if self._infer.value(node).kind == "array" and self._infer.value(node).dtype in _INTEGER_TYPES:
            return True
        match node:
            case cst.Name():
                binding = self._only_binding(node)
                if binding is None or binding.value is None:
                    return False
                if self._is_loaded(binding):
                    return True
                part = _part(binding)
                return part is not None and self._is_whole(part, depth + 1)
            case cst.Subscript():
                return self._is_whole(node.value, depth + 1)
            case cst.Call(func=cst.Attribute(value=base, attr=cst.Name(value=last))) if last in last_names(
                "keeps-type"
            ):
                named = self._infer.names.is_call_that(node, "keeps-type")
                given = (node.args[0].value if node.args else None) if named else base
                return given is not None and self._is_whole(given, depth + 1)
            case cst.Call() if keyword_argument(node, "dtype") is None:
                drawn = callee_name(node) in _INTEGER_DRAWS
                named = self._infer.names.is_call_that(node, "varies")
                return drawn and (named or self._is_generator(node))
        return False

    def _is_loaded(self, binding: Binding) -> bool:
        """Whether `binding` holds the 8-bit images of one of Keras's data sets."""
        value, path = binding.value, binding.path or ()
        for _ in range(NAMES_DEEP):
            outer = self._only_binding(value) if isinstance(value, cst.Name) else None
            if outer is None:
                break
            value, path = outer.value, (*(outer.path or ()), *path)
        loaded = self._infer.names.is_call_that(value, "eight-bit")
        return bool(loaded) and len(path) == 2 and path[1] == 0

    def _value_of(self, node: cst.Name) -> cst.BaseExpression | None:
        binding = self._only_binding(node)
        return _part(binding) if binding is not None else None

    def _only_binding(self, node: cst.Name) -> Binding | None:
        bindings = self._infer.bindings(node)
        if len(bindings) != 1 or bindings[0].kind != "assign":
            return None
        return bindings[0]


def _part(binding: Binding) -> cst.BaseExpression | None:
    """The expression that `binding` takes its value from: in `a, b = c, d`, the one in its place."""
    value = binding.value
    for index in binding.path if binding.path is not None else (-1,):
        if not isinstance(value, cst.Tuple) or not 0 <= index < len(value.elements):
            return None
        value = value.elements[index].value
    return value


def _sliced(pipeline: Pipeline) -> cst.BaseExpression | None:
    """The array that a dataset takes its inputs from, where no stage changes them."""
    source = pipeline[0]
    if source.name != "from_tensor_slices" or not source.call.args:
        return None
    if any(
        stage.name not in methods("Dataset", "keeps-elements")
        and stage.name not in methods("Dataset", "makes-batches")
        for stage in pipeline[1:]
    ):
        return None
    given = source.call.args[0].value
    return given.elements[0].value if isinstance(given, cst.Tuple) and given.elements else given
