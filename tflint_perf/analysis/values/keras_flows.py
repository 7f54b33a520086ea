"""Keras's own generators of images, which make batches on the host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_perf.analysis.apis.facts import methods
from tflint_perf.analysis.limits import CALLS_DEEP, NAMES_DEEP
from tflint_perf.analysis.python.scopes import Binding, Function
from tflint_perf.analysis.python.syntax import callee_name, keyword_argument
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.iterables import sources

if TYPE_CHECKING:
    from tflint_perf.analysis.values.calls import CallGraph


def is_flow(infer: Inference, call: cst.Call) -> bool:
    """Whether a call gives what an `ImageDataGenerator` of Keras makes."""
    return (
        callee_name(call) in methods("ImageDataGenerator", "flows")
        and isinstance(call.func, cst.Attribute)
        and _is_generator(infer, call.func.value, 0)
    )


def _makes_generator(infer: Inference, call: cst.Call) -> bool:
    return callee_name(call) != "" and infer.names.is_call_that(call, "image-generator")


def _is_generator(infer: Inference, node: cst.BaseExpression, depth: int) -> bool:
    match node:
        case cst.Call() if _makes_generator(infer, node):
            return True
        case cst.Call():
            function = infer.value(node.func).function
            returned = function.returns if function is not None and depth < CALLS_DEEP else ()
            return any(r.value is not None and _is_generator(infer, r.value, depth + 1) for r in returned)
    return depth < CALLS_DEEP and any(
        binding.value is not None and binding.path == () and _is_generator(infer, binding.value, depth + 1)
        for binding in infer.given_to(node)
    )


class Makers:
    """Finds where the generators of images are made that come to an expression: `flow`, and `images` before that."""

    def __init__(self, infer: Inference, calls: CallGraph) -> None:
        self._infer = infer
        self._calls = calls

    def of(self, node: cst.BaseExpression) -> Iterator[cst.Call]:
        """The calls of `ImageDataGenerator` in this file that make the batches of `node`."""
        yield from self._of(node, (), 0)

    def _of(self, node: cst.BaseExpression, path: tuple[int, ...], depth: int) -> Iterator[cst.Call]:
        if depth > NAMES_DEEP:
            return
        match node:
            case cst.Call() if _makes_generator(self._infer, node):
                yield node
            case cst.Call():
                yield from self._of_call(node, path, depth + 1)
            case cst.Tuple() | cst.List() if path and path[0] < len(node.elements):
                yield from self._of(node.elements[path[0]].value, path[1:], depth + 1)
            case cst.Name() | cst.Attribute():
                for binding in self._infer.given_to(node):
                    yield from self._of_binding(binding, path, depth + 1)

    def _of_call(self, call: cst.Call, path: tuple[int, ...], depth: int) -> Iterator[cst.Call]:
        if callee_name(call) in methods("ImageDataGenerator", "flows") and isinstance(
            call.func, cst.Attribute
        ):
            if not path:
                yield from self._of(call.func.value, (), depth)
        for given in sources(self._infer, call):
            if given is not call:
                yield from self._of(given, (), depth)
        for function in self._calls.targets(call):
            yield from self.given_by(function, path, depth)

    def given_by(self, function: Function, path: tuple[int, ...] = (), depth: int = 0) -> Iterator[cst.Call]:
        """The same of what calling a function gives, or a part of that."""
        if function.yields:
            for call in function.calls if not path else ():
                if callee_name(call) in methods("ImageDataGenerator", "flows"):
                    yield from self._of(call, (), depth)
            return
        for returned in function.returns:
            if returned.value is not None:
                yield from self._of(returned.value, path, depth)

    def _of_binding(self, binding: Binding, path: tuple[int, ...], depth: int) -> Iterator[cst.Call]:
        if binding.path is None:
            return
        if binding.kind == "assign" and binding.value is not None:
            yield from self._of(binding.value, (*binding.path, *path), depth)
        elif binding.kind == "param" and not path:
            function = self._infer.names.function_with.get(binding.node)
            if function is not None:
                for given in (
                    *self._calls.arguments(function, binding.name),
                    *self._by_threads(function, binding),
                ):
                    yield from self._of(given, (), depth)

    def _by_threads(self, function: Function, parameter: Binding) -> Iterator[cst.BaseExpression]:
        """What threads give a function as a parameter: `Thread(target=train, args=(images,))`."""
        place = function.place_of(parameter.name)
        for call in self._infer.walk.calls.get("Thread", ()):
            target, given = keyword_argument(call, "target"), keyword_argument(call, "args")
            if target is None or self._infer.value(target).function is not function:
                continue
            if isinstance(given, cst.Tuple | cst.List) and 0 <= place < len(given.elements):
                yield given.elements[place].value
