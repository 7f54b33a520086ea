"""How much data a part of an array holds, and a list of the same thing many times."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import libcst as cst

from tflint_perf.analysis.execution.size_of_calls import BATCH_SIZE
from tflint_perf.analysis.python.syntax import integer, last_name, names_read, same_code, string

if TYPE_CHECKING:
    from tflint_perf.analysis.execution.sizes import Size, Sizes

# How long a batch is.
_BATCH_LENGTH = re.compile(r"batch_?(size|len(gth)?)$|(^|_)bs$", re.I)


def size_of_subscript(sizes: Sizes, node: cst.Subscript) -> Size | None:
    """The size of `x[i]`, `x[a:b]`, `x[None]`."""
    first = node.slice[0].slice
    if isinstance(first, cst.Slice):
        return _size_of_slice(sizes, node.value, first)
    if not isinstance(first, cst.Index):
        return "unknown"
    index = first.value
    if last_name(index) in ("None", "newaxis"):
        return "sample"
    if sizes.gives_batches(node.value):
        return "batch"
    base = sizes.partial(node.value)
    if string(index) is not None or isinstance(index, cst.Ellipsis):
        return base
    if sizes.partial(index) == "batch":
        return "batch"
    if base == "batch":
        # `batch[0]` may be the first part of a tuple; `batch[i]` is a row.
        return "batch" if isinstance(index, cst.Integer) and len(node.slice) == 1 else "sample"
    return "unknown"


def _size_of_slice(sizes: Sizes, base: cst.BaseExpression, cut: cst.Slice) -> Size | None:
    of_base = sizes.partial(base)
    kept: Size | None = of_base if of_base in ("batch", "sample") else "unknown"
    if cut.step is None and integer(cut.upper) == 1 and (cut.lower is None or integer(cut.lower) == 0):
        return "sample"
    if integer(cut.lower) == -1 and cut.upper is None and cut.step is None:
        return "sample"
    if cut.step is None and _is_as_long_as_a_batch(cut):
        return "batch"
    if cut.lower is None or cut.upper is None or cut.step is not None:
        return kept
    match cut.upper:
        case cst.BinaryOperation(left=at, operator=cst.Add(), right=n) if same_code(at, cut.lower):
            if integer(n) == 1 or BATCH_SIZE.search(last_name(n)):
                return "sample" if integer(n) == 1 else "batch"
    return "batch" if sizes.varies(cut.lower) else kept


def is_batch_length(number: cst.BaseExpression | None) -> bool:
    """Whether a number is the size of a batch, by its name."""
    return number is not None and bool(_BATCH_LENGTH.search(last_name(number)))


def _is_as_long_as_a_batch(cut: cst.Slice) -> bool:
    """Whether a slice takes the first or the last samples, as many as a batch has: `order[:batch_size]`."""
    if cut.upper is None:
        match cut.lower:
            case cst.UnaryOperation(operator=cst.Minus(), expression=length):
                return is_batch_length(length)
        return False
    return (cut.lower is None or integer(cut.lower) == 0) and is_batch_length(cut.upper)


def size_of_repeated(sizes: Sizes, node: cst.BinaryOperation) -> Size | None:
    """The size of `[[1.0]] * batch_size`; None for what is no list that is repeated as often as a batch has samples."""
    if not isinstance(node.operator, cst.Multiply):
        return None
    for repeated, length in ((node.left, node.right), (node.right, node.left)):
        if isinstance(repeated, cst.List | cst.Tuple) and len(repeated.elements) == 1:
            named = any(map(is_batch_length, (length, *names_read(length))))
            return "batch" if named or sizes.is_length_of_batch(length) else None
    return None
