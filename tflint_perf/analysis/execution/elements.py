"""Whether elements of datasets are made batches of one by hand."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.python.syntax import (
    argument,
    callee_name,
    descendants,
    integer,
    last_name,
)


def adds_batch_axis(node: cst.CSTNode) -> bool:
    """Whether `node` makes a batch of one by hand: `tf.expand_dims(x, 0)`, `x[tf.newaxis, …]`, `tf.reshape(x, (1, 9))`."""
    for below in descendants(node):
        if isinstance(below, cst.Call) and callee_name(below) == "expand_dims":
            if integer(argument(below, 1, "axis")) in (0, None):
                return True
        elif isinstance(below, cst.Call) and callee_name(below) == "reshape" and below.args:
            shape = argument(below, len(below.args) - 1, "shape")
            if isinstance(shape, cst.Tuple | cst.List) and shape.elements:
                if integer(shape.elements[0].value) == 1:
                    return True
        elif isinstance(below, cst.Subscript) and isinstance(below.slice[0].slice, cst.Index):
            index = below.slice[0].slice.value
            if last_name(index) in ("None", "newaxis"):
                return True
    return False
