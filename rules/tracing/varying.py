"""Arguments whose shape changes from call to call: padded batches, growing lists and arrays, slices to a counter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import libcst as cst

from tflint_perf.analysis.apis.facts import has
from tflint_perf.analysis.execution.filled_lists import is_empty_list
from tflint_perf.analysis.execution.invariance import Invariance
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.pipelines.elementwise import is_elementwise, mapped_function
from tflint_perf.analysis.python.flow import loops_around
from tflint_perf.analysis.python.scopes import Binding, Function, Loop
from tflint_perf.analysis.python.syntax import (
    argument,
    callee_name,
    descendants,
    is_constant,
    is_name,
    keyword_argument,
    names_read,
)
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.iterables import is_count, taken_part
from tflint_perf.analysis.values.library_calls import LibraryCalls
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.values import Pipeline, Stage

# "grown": it is longer on each call; "episode": as long as an episode; "list": either of both as a Python list.
Variation = Literal["padded", "grown", "episode", "sliced", "list"]

_JOINING = frozenset({"concat", "concatenate", "append", "vstack", "hstack"})
_CONVERTING = frozenset({"array", "asarray", "stack", "vstack", "hstack", "concatenate", "convert_to_tensor", "constant",
                         "concat"})  # fmt: skip
_CUTTING = frozenset({"resize", "resize_with_crop_or_pad", "resize_with_pad", "random_crop", "resize_images"})
_SHRINKING = frozenset({"pop", "popleft", "clear", "remove"})


class Varying(Part):
    """Answers how the shape of an argument changes from call to call."""

    _infer: Inference
    _calls: CallGraph
    _loops: Loops
    _invariance: Invariance

    def variation(self, node: cst.BaseExpression) -> Variation | None:
        """How the shape of `node` differs between the calls that a loop makes; None where nothing says so."""
        loop = self._loops.innermost_loop(node)
        if loop is None:
            return None
        match node:
            case cst.Name():
                return self._of_name(node, loop)
            case cst.Subscript() if self._is_cut_at_counter(node):
                return "sliced"
            case cst.Call() if callee_name(node) in _CONVERTING and node.args:
                given = node.args[0].value
                if isinstance(given, cst.Name):
                    return self._growth_of_list(given, loop)
        return None

    def _of_name(self, node: cst.Name, loop: Loop) -> Variation | None:
        bindings = self._infer.bindings(node)
        if bindings and all(self._is_of_padded(binding) for binding in bindings):
            return "padded"
        if self._is_joined_to_itself(node, loop):
            return "grown"
        if self._growth_of_list(node, loop) is not None:
            return "list"
        if len(bindings) == 1 and bindings[0].kind == "assign" and bindings[0].path == ():
            value = bindings[0].value
            if isinstance(value, cst.Call) and self._invariance.is_bound_in(bindings[0], loop):
                return self.variation(value) if callee_name(value) in _CONVERTING else None
        return None

    # Padded batches

    def _is_of_padded(self, binding: Binding) -> bool:
        """Whether `binding` takes batches that are padded to the longest element in each."""
        if binding.value is None or binding.path is None:
            return False
        value, path = binding.value, binding.path
        if binding.kind == "assign":
            if not isinstance(value, cst.Call) or callee_name(value) != "next" or not value.args:
                return False
            value = value.args[0].value
        elif binding.kind != "for":
            return False
        found = taken_part(self._infer, value, path)
        if found is None:
            return False
        value, path = found
        pipelines = self._infer.value(value).pipelines
        return bool(pipelines) and all(self._ends_padded(pipeline, path) for pipeline in pipelines)

    def _ends_padded(self, pipeline: Pipeline, path: tuple[int, ...]) -> bool:
        for index, stage in enumerate(pipeline):
            if stage.name == "padded_batch" and not any(
                s.name == "padded_batch" for s in pipeline[index + 1 :]
            ):
                return (
                    self._pads_to_longest(stage, path)
                    and not any(map(self._cuts_to_size, pipeline[:index]))
                    and all(map(self._keeps_shape, pipeline[index + 1 :]))
                )
        return False

    def _pads_to_longest(self, stage: Stage, path: tuple[int, ...]) -> bool:
        """Whether the `padded_batch` of `stage` leaves the length of the part that is asked for to the batch."""
        shapes = argument(stage.call, 1, "padded_shapes")
        if shapes is None or is_name(shapes, "None"):
            return True
        for index in path:
            if isinstance(shapes, cst.Tuple) and index < len(shapes.elements):
                shapes = shapes.elements[index].value
        lengths = [
            part
            for part in descendants(shapes)
            if is_name(part, "None") or isinstance(part, cst.UnaryOperation)
        ]
        return bool(lengths)

    def _cuts_to_size(self, stage: Stage) -> bool:
        """Whether `stage` makes all images the same size, so that nothing is padded."""
        if stage.name != "map" or not stage.call.args:
            return False
        function = mapped_function(self._infer, stage.call.args[0].value)
        return function is not None and any(
            callee_name(call) in _CUTTING and not isinstance(call.func, cst.Name) for call in function.calls
        )

    def _keeps_shape(self, stage: Stage) -> bool:
        """Whether `stage`, after batching, leaves the shapes of batches as they are."""
        if stage.name != "map":
            return stage.name not in (
                "batch",
                "unbatch",
                "flat_map",
                "interleave",
                "window",
                "apply",
                "rebatch",
            )
        function = mapped_function(self._infer, stage.call.args[0].value) if stage.call.args else None
        return function is not None and is_elementwise(self._infer, function)

    # Slices

    def _is_cut_at_counter(self, node: cst.Subscript) -> bool:
        """Whether the slice `node` ends, or begins, at a loop's counter: `x[:, :i]`."""
        return any(
            isinstance(part.slice, cst.Slice)
            and (bound := _only_bound(part.slice)) is not None
            and self._follows_counter(bound, node)
            for part in node.slice
        )

    def _follows_counter(self, bound: cst.BaseExpression, node: cst.CSTNode) -> bool:
        if any(isinstance(part, cst.Call | cst.Attribute | cst.IfExp) for part in descendants(bound)):
            return False
        around = loops_around(self._loops.innermost_loop(node))
        for name in names_read(bound):
            for binding in self._infer.bindings(name):
                if is_count(self._infer, binding) and any(binding.at is loop.at for loop in around):
                    return True
        return False

    # What grows

    def _is_joined_to_itself(self, name: cst.Name, loop: Loop) -> bool:
        """Whether `loop` joins something to `name` in each iteration: `x = tf.concat([x, y], axis)`, and nothing else
        there gives `x` a value."""
        found = self._infer.names.lookup(name.value, self._infer.names.scope_of(name))
        inside = [b for b in (found[1] if found is not None else ()) if self._invariance.is_bound_in(b, loop)]
        return bool(inside) and all(self._joins(binding) for binding in inside)

    @staticmethod
    def _joins(binding: Binding) -> bool:
        value = binding.value
        if binding.kind != "assign" or not isinstance(value, cst.Call) or callee_name(value) not in _JOINING:
            return False
        given = [value.args[0].value] if value.args else []
        if given and isinstance(given[0], cst.List | cst.Tuple):
            given = [element.value for element in given[0].elements]
        return any(is_name(part, binding.name) for part in given)

    def _growth_of_list(self, name: cst.Name, loop: Loop) -> Literal["grown", "episode"] | None:
        """How the list `name` has a different length on each call: it grows in the loop, or is as long as an episode;
        None for other lists, and for what is none."""
        found = self._infer.names.lookup(name.value, self._infer.names.scope_of(name))
        if found is None or not all(is_empty_list(self._infer, binding) for binding in found[1]):
            return None
        if any(parent.attr.value in _SHRINKING for parent in self._methods_of(name)):
            return None
        appended = [
            self._loops.innermost_loop(parent)
            for parent in self._methods_of(name)
            if parent.attr.value == "append"
        ]
        made_anew = any(self._invariance.is_bound_in(binding, loop) for binding in found[1])
        if not made_anew:
            return "grown" if any(grown is loop for grown in appended) else None
        as_episodes = bool(appended) and all(
            grown is not None and grown is not loop and loop in loops_around(grown) and _ends_anywhere(grown)
            for grown in appended
        )
        return "episode" if as_episodes else None

    def _methods_of(self, name: cst.Name) -> Iterator[cst.Attribute]:
        for use in self._infer.names.mentions(name.value, self._infer.names.home(name)):
            parent = self._walk.parents.get(use)
            if isinstance(parent, cst.Attribute) and parent.value is use:
                yield parent


def _only_bound(part: cst.Slice) -> cst.BaseExpression | None:
    """The only end of the slice `part`, where it is no literal."""
    if (part.lower is None) == (part.upper is None) or part.step is not None:
        return None
    bound = part.lower or part.upper
    return bound if bound is not None and not is_constant(bound) else None


def _ends_anywhere(loop: Loop) -> bool:
    """Whether `loop` runs as often as what happens in it decides: `while not done`, or a `break`."""
    if isinstance(loop.node, cst.While):
        return not any(
            isinstance(part, cst.ComparisonTarget)
            and isinstance(part.operator, cst.LessThan | cst.LessThanEqual)
            for part in descendants(loop.node.test)
        )
    return isinstance(loop.node, cst.For) and any(
        isinstance(part, cst.Break) for part in descendants(loop.node.body)
    )


# How a `tf.function` meets arguments of other shapes: what it was told about them, and whether it reads them.


_FOR_ALL_SHAPES = ("input_signature", "reduce_retracing", "experimental_relax_shapes")
# Who asks for these wants a number, not a dimension that is left open.
_ASKS_FOR_SHAPE = frozenset({"shape", "get_shape", "unstack", "len", "as_list"})


class Retracing(Part):
    """Answers what made a compiled function, and whether it can do with shapes that are left open."""

    _infer: Inference
    _calls: CallGraph
    _library_calls: LibraryCalls

    def makers(self, function: Function | None) -> list[cst.BaseExpression]:
        """The decorators and calls in this file that make a `tf.function` of a function."""
        found = list[cst.BaseExpression]()
        if function is None:
            return found
        found += [d.decorator for d in function.decorators if self._infer.compiles(d.decorator)]
        for maker in self._library_calls.that("compiles"):
            given = argument(maker, 0, "func")
            if given is not None and self._infer.value(given).function is function:
                found.append(maker)
        return [
            maker
            for maker in found
            if has(self._infer.names.qualified(getattr(maker, "func", maker)), "compiles")
        ]

    def shape_read(self, function: Function) -> cst.CSTNode | None:
        """Where a function, or one of this file that it calls, asks for a static shape."""
        return self._shape_read(function, set())

    def _shape_read(self, function: Function, seen: set[Function]) -> cst.CSTNode | None:
        seen.add(function)
        for node in descendants(function.node.body):
            if self._asks_for_shape(node):
                return node
        for call in function.calls:
            for target in self._calls.targets(call):
                if target not in seen and (found := self._shape_read(target, seen)) is not None:
                    return found
        return None

    def _asks_for_shape(self, node: cst.CSTNode) -> bool:
        match node:
            case cst.Attribute():
                return node.attr.value in _ASKS_FOR_SHAPE and not self._infer.names.qualified(node)
            case cst.Call():
                if callee_name(node) in _ASKS_FOR_SHAPE:
                    return not self._infer.names.is_call_that(node, "gives-shape")
                # Of an axis whose length is left open, nobody knows whether it goes.
                return self._infer.names.is_call_that(node, "squeezes") and len(node.args) == 1
        return False


def serves_all_shapes(maker: cst.BaseExpression) -> bool:
    """Whether `maker` says what to do with arguments of other shapes."""
    return isinstance(maker, cst.Call) and (
        any(keyword_argument(maker, keyword) is not None for keyword in _FOR_ALL_SHAPES)
        or any(arg.star for arg in maker.args)
    )
