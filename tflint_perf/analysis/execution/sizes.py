"""How much data an expression holds: a scalar, one sample, or a batch that is drawn anew for each step."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import libcst as cst

from tflint_perf.analysis.execution import size_of_calls
from tflint_perf.analysis.execution.filled_lists import appends_by_name, is_empty_list
from tflint_perf.analysis.execution.size_of_calls import BATCH_SIZE, is_flow, size_of_element
from tflint_perf.analysis.execution.size_of_parts import size_of_repeated, size_of_subscript
from tflint_perf.analysis.python.flow import loops_around
from tflint_perf.analysis.python.reach import remembered
from tflint_perf.analysis.python.scopes import Binding, Function
from tflint_perf.analysis.python.syntax import callee_name, last_name, names_read
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference

if TYPE_CHECKING:
    from tflint_perf.analysis.execution.loops import Loops

Size = Literal["scalar", "sample", "batch", "unknown"]

_DEEPEST = 12
# A list that is filled with the samples of one batch.
_COLLECTED = re.compile(r"(^|_)(mini)?batch(es)?(_|$)", re.I)
_MEASURE = re.compile(r"size|num|len|count|ind(ex|ic)|idx|shape|batches|(^|_)(n|i|id|ids)(_|$)", re.I)
_LIKE_THEIR_ARGUMENTS = frozenset(["enumerate", "zip", "list", "reversed", "tqdm"])
# What an agent is asked about: one observation, or one of each environment.
_OBSERVATION = re.compile(r"(^|_)(obs|state|observation)s?$", re.I)


class Sizes:
    """Answers the size of an expression; "unknown" where nothing shows it.

    A batch is what one step takes: a slice of whole arrays by something that the loop changes, a random draw, an
    element of a batched dataset. A sample is one row of it, an environment's observation, or anything given a
    first axis of length one. Whole arrays are "unknown".
    """

    def __init__(self, infer: Inference, calls: CallGraph, loops: Loops) -> None:
        self.infer = infer
        self.calls = calls
        self._loops = loops
        # None stands for a size that is being worked out: it says nothing against others.
        self._sizes: dict[cst.CSTNode, Size | None] = {}
        self._returned: dict[tuple[Function, tuple[int, ...]], Size | None] = {}

    def size(self, node: cst.BaseExpression) -> Size:
        """How much data `node` holds."""
        return self.partial(node) or "unknown"

    def partial(self, node: cst.BaseExpression) -> Size | None:
        """Like `size`, but None for what is being worked out."""
        if node in self._sizes:
            return self._sizes[node]
        self._sizes[node] = None
        result = self._sizes[node] = self._measure(node)
        return result

    def _measure(self, node: cst.BaseExpression) -> Size | None:
        match node:
            case cst.Integer() | cst.Float():
                return "scalar"
            case cst.Name():
                return self._name(node)
            case cst.Attribute():
                return self._attribute(node)
            case cst.Call():
                return size_of_calls.size_of_call(self, node)
            case cst.Subscript():
                return size_of_subscript(self, node)
            case cst.BinaryOperation():
                repeated = size_of_repeated(self, node)
                return repeated or _wider(self.partial(node.left), self.partial(node.right))
            case cst.UnaryOperation():
                return self.partial(node.expression)
            case cst.Comparison():
                return self.partial(node.left)
            case cst.IfExp():
                return join([self.partial(node.body), self.partial(node.orelse)])
            case cst.List() | cst.Tuple() if node.elements:
                return join(self.partial(element.value) for element in node.elements)
            case cst.ListComp() | cst.GeneratorExp():
                return self._of_parts(node.for_in.iter)
        return "unknown"

    def _of_parts(self, iterable: cst.BaseExpression) -> Size | None:
        """The size of a list that is made of the parts of a batch or of a sample."""
        if self._runs_over_batch(iterable):
            return "batch"
        return "sample" if self.partial(iterable) == "sample" else "unknown"

    def _runs_over_batch(self, iterable: cst.BaseExpression) -> bool:
        """Whether a loop runs over the samples of one batch."""
        if not isinstance(iterable, cst.Call):
            return self.partial(iterable) == "batch"
        name, args = callee_name(iterable), [arg.value for arg in iterable.args if not arg.star]
        if name == "range" and len(args) == 1:
            if BATCH_SIZE.search(last_name(args[0])):
                return True
            return any(map(self._runs_over_batch, size_of_calls.counted(self.sources(args[0]))))
        if name in _LIKE_THEIR_ARGUMENTS and args:
            return any(map(self._runs_over_batch, args))
        return self.partial(iterable) == "batch"

    def sources(self, node: cst.BaseExpression) -> list[cst.BaseExpression]:
        """`node`, and where it is a name the expressions that it is assigned."""
        found = self.infer.bindings_reaching(node) if isinstance(node, cst.Name) else None
        assigned = [b for b in found[1] if b.kind == "assign" and b.path == ()] if found is not None else []
        return [node, *(binding.value for binding in assigned if binding.value is not None)]

    # Names and attributes

    def _name(self, node: cst.Name) -> Size | None:
        found = self.infer.bindings_reaching(node)
        if found is None or not found[1]:
            return "unknown"
        if all(map(is_empty_list, found[1])) and (
            _COLLECTED.search(node.value) or self._is_filled_from_batch(node, found[1])
        ):
            return "batch"
        return join(self._binding(b) for b in found[1] if b.kind not in ("augment", "delete"))

    def _is_filled_from_batch(self, node: cst.Name, made: list[Binding]) -> bool:
        """Whether a loop over the samples of a batch adds to a list that is made outside it."""
        scope = self.infer.names.scope_of(node)
        filling = [
            loop
            for call in self._appends.get(node.value, ())
            if self.infer.names.scope_of(call) is scope
            and (loop := self._loops.innermost_loop(call)) is not None
            and not any(loop in loops_around(binding.at.block.loop) for binding in made)
            # What an environment gives, step by step, is a rollout, however long it is.
            and not any(map(size_of_calls.is_of_environment, loop.calls))
        ]
        return any(loop.iterable is not None and self._runs_over_batch(loop.iterable) for loop in filling)

    @cached_property
    def _appends(self) -> dict[str, list[cst.Call]]:
        """The calls that add to a list, by its name."""
        return appends_by_name(self.infer.walk)

    def _attribute(self, node: cst.Attribute) -> Size | None:
        if self.infer.names.dotted(node):
            return "unknown"
        if node.attr.value in ("T", "values"):
            return self.partial(node.value)
        bindings = self.infer.classes.bindings_of(node)
        if bindings:
            return join(self._binding(b) for b in bindings if b.kind == "assign")
        # A field of what a memory gives: `batch.states`.
        is_field = isinstance(node.value, cst.Name) and not _MEASURE.search(node.attr.value)
        return "batch" if is_field and self.partial(node.value) == "batch" else "unknown"

    def _binding(self, binding: Binding) -> Size | None:
        if binding.path is None:
            return "unknown"
        match binding.kind:
            case "assign" if binding.value is not None:
                return self.part(binding.value, binding.path)
            case "for" | "comprehension" if binding.value is not None:
                return self.element(binding.value, binding.path)
            case "param":
                given = self.given(binding)
                mapped = self.calls.mapped_over(self._functions.get(binding.node)) if not given else None
                if mapped is not None:
                    return self.element(mapped, ())
                if not given and (told := self._told_by_name(binding)) is not None:
                    return told
                sizes = {*(self.partial(value) for value in given), *self._told_outside(binding)}
                # One caller that is known to pass a batch is enough.
                return next((size for size in ("batch", "sample", "scalar") if size in sizes), "unknown")
        return "unknown"

    def given(self, parameter: Binding) -> list[cst.BaseExpression]:
        """What callers in the file pass as a parameter."""
        function = self._functions.get(parameter.node)
        return self.calls.arguments(function, parameter.name) if function is not None else []

    def _told_by_name(self, parameter: Binding) -> Size | None:
        """The size of a parameter that a step loop of another file gives, if it is called as an observation or batch is."""
        function = self._functions.get(parameter.node)
        by_name: Size | None = None
        if _OBSERVATION.search(parameter.name):
            by_name = "sample"
        elif _COLLECTED.search(parameter.name) and not _MEASURE.search(parameter.name):
            by_name = "batch"
        if function is None or by_name is None:
            return None
        return by_name if any(c.per_step for c in self.calls.callers_outside(function)) else None

    def _told_outside(self, parameter: Binding) -> set[Size]:
        """The sizes of what step loops of other files give as a parameter, as far as these files say them."""
        function = self._functions.get(parameter.node)
        if function is None:
            return set()
        told = self.calls.given_outside(function, parameter.name, per_step=True)
        return {given.size for given in told if given.size}

    @cached_property
    def _functions(self) -> dict[cst.CSTNode, Function]:
        """Functions by their parameters."""
        return {
            param: function
            for function in self.infer.walk.functions.values()
            for param in function.parameters
        }

    def part(self, value: cst.BaseExpression, path: tuple[int, ...]) -> Size | None:
        """The size of a part of an unpacked value."""
        if not path:
            return self.partial(value)
        if isinstance(value, cst.Tuple | cst.List) and path[0] < len(value.elements):
            return self.part(value.elements[path[0]].value, path[1:])
        if isinstance(value, cst.Call):
            if size_of_calls.is_of_environment(value):
                return "sample" if path == (0,) else "scalar"
            for target in self.calls.targets(value):
                returned = self.of_function(target, path)
                if returned != "unknown":
                    return returned
        return "batch" if self.partial(value) == "batch" else "unknown"

    def of_function(self, function: Function, path: tuple[int, ...]) -> Size | None:
        """The size of what a function of this file returns, or yields."""
        key = (function, path)
        if key in self._returned:
            return self._returned[key]
        self._returned[key] = None
        given: list[cst.CSTNode | None] = [given.value for given in function.yields or function.returns]
        if isinstance(function.node, cst.Lambda):
            given = [function.node.body]
        sizes = [self.part(value, path) for value in given if isinstance(value, cst.BaseExpression)]
        result = self._returned[key] = join(sizes) if sizes else "unknown"
        return result

    def element(self, iterable: cst.BaseExpression, path: tuple[int, ...]) -> Size | None:
        """The size of what a loop over `iterable` gives its target."""
        value = self.infer.value(iterable)
        if value.kind in ("dataset", "iterator"):
            return size_of_element(value)
        if isinstance(iterable, cst.Call):
            name, args = callee_name(iterable), [arg.value for arg in iterable.args if arg.keyword is None]
            if name == "enumerate" and args:
                return "scalar" if path[:1] == (0,) else self.element(args[0], path[1:])
            if name == "zip" and not path and iterable.args and iterable.args[0].star == "*":
                # The columns of a batch of transitions.
                return "batch" if self.partial(args[0]) == "batch" else "unknown"
            if name == "zip" and path and path[0] < len(args):
                return self.element(args[path[0]], path[1:])
            if name in ("tqdm", "list", "reversed", "iter") and args:
                return self.element(args[0], path)
            if name == "range":
                return "scalar"
            if name == "array_split":
                return "batch"
        if self.gives_batches(iterable):
            return "batch"
        if value.kind == "generator" and value.function is not None:
            return self.of_function(value.function, path)
        if isinstance(iterable, cst.Call) and size_of_calls.gives_batches_by_name(self, iterable):
            return "batch"
        return "sample" if self.partial(iterable) == "batch" else "unknown"

    def is_length_of_batch(self, length: cst.BaseExpression) -> bool:
        """Whether a number is how long a batch is: `len(images)`, `images.shape[0]`, or a name of that."""
        return any(self.size(name) == "batch" for part in self.sources(length) for name in names_read(part))

    def gives_batches(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is a Keras generator of batches: `generator.flow_from_directory(…)`, or a name of it."""
        if isinstance(node, cst.Name):
            found = self.infer.bindings_reaching(node)
            return found is not None and any(
                binding.kind == "assign" and binding.path == () and is_flow(binding.value)
                for binding in found[1]
            )
        return is_flow(node)

    @remembered
    def varies(self, node: cst.BaseExpression, depth: int = 0) -> bool:
        """Whether an expression has another value in each iteration of a loop, here or at a call site."""
        for name in names_read(node):
            found = self.infer.bindings_reaching(name)
            if found is not None and any(self._binding_varies(binding, depth) for binding in found[1]):
                return True
        return False

    def _binding_varies(self, binding: Binding, depth: int) -> bool:
        match binding.kind:
            case "for" | "comprehension":
                return True
            case "assign" | "augment" if binding.at.block.loop is not None:
                return True
            case "param" if depth < _DEEPEST:
                return any(self.varies(value, depth + 1) for value in self.given(binding))
            case "assign" if binding.value is not None and binding.path == () and depth < _DEEPEST:
                return self.varies(binding.value, depth + 1)
        return False

    @remembered
    def is_made_anew(self, node: cst.CSTNode, depth: int = 0) -> bool:
        """Whether a loop runs `node`, here or through a call, also of another file."""
        if self._loops.innermost_loop(node) is not None:
            return True
        function = self.calls.function_at(node)
        if function is None or depth >= _DEEPEST:
            return False
        if any(caller.looped for caller in self.calls.callers_outside(function)):
            return True
        return any(self.is_made_anew(site, depth + 1) for site in self.calls.sites(function))


def _wider(left: Size | None, right: Size | None) -> Size | None:
    """The size of an arithmetic result: a scalar changes nothing."""
    if left == "scalar":
        return right
    return right if left in (None, "unknown") and right in ("batch", "sample") else left


def join(sizes: Iterable[Size | None]) -> Size | None:
    """What several possible sizes have in common; one that is being worked out says nothing."""
    found = {size for size in sizes if size is not None}
    if len(found) == 1:
        return found.pop()
    if not found:
        return None
    return "batch" if found == {"sample", "batch"} else "unknown"
