"""Datasets whose elements have no shape that a graph knows: what Python gives to `tf.py_function` may have any.

open_shapes.left_by(value)     # "tf.py_function", for a dataset that a `map` with it makes, and that no `set_shape` follows
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.apis.facts import has
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import argument, callee_name
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.values import Pipeline, Value

# Stages behind which elements, or batches of them, have as many axes as is known before.
_KEEPS_OPEN = frozenset(
    {"batch", "shuffle", "prefetch", "repeat", "cache", "take", "skip", "shard", "filter", "with_options"}
)


class OpenShapes(Part):
    """Answers what leaves the shapes of a dataset's elements open."""

    _infer: Inference

    def left_by(self, value: Value) -> str:
        """The function of TensorFlow that does so; "" where none is seen to, in each way in which the dataset may be built."""
        ways = [self._along(way) for way in value.pipelines]
        return ways[0] if ways and all(ways) else ""

    def _along(self, pipeline: Pipeline) -> str:
        left = ""
        for stage in pipeline:
            if stage.origin is not None:
                left = stage.origin.shapes_left_by
            elif stage.name == "map":
                given = argument(stage.call, 0, "map_func")
                function = self._infer.value(given).function if given is not None else None
                left = self._left_by_function(function) if function is not None else ""
            elif stage.name not in _KEEPS_OPEN:
                left = ""
        return left

    def _left_by_function(self, function: Function) -> str:
        """What gives a part of what `function` returns, as it comes from Python."""
        if any(callee_name(call) == "set_shape" for call in function.calls):
            return ""
        node = function.node
        given = [node.body] if isinstance(node, cst.Lambda) else [back.value for back in function.returns]
        left = [next(filter(None, map(self._python_behind, _parts(part))), "") for part in given]
        return left[0] if left and all(left) else ""

    def _python_behind(self, node: cst.BaseExpression) -> str:
        """What runs Python for the tensor that `node` is, as it comes."""
        made = node
        if isinstance(node, cst.Name):
            bindings = self._infer.bindings(node)
            if len(bindings) != 1 or bindings[0].kind != "assign" or bindings[0].value is None:
                return ""
            made = bindings[0].value
        name = self._infer.names.qualified(made.func) if isinstance(made, cst.Call) else ""
        return name if has(name, "runs-python") else ""


def _parts(node: cst.BaseExpression | None) -> Iterator[cst.BaseExpression]:
    """The parts of a tuple, list or dict that is written out, and of those in it."""
    match node:
        case cst.Tuple(elements=elements) | cst.List(elements=elements) | cst.Dict(elements=elements):
            for element in elements:
                yield from _parts(element.value)
        case cst.BaseExpression():
            yield node
