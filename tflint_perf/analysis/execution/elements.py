"""Elements of datasets in loops: what they are taken from, and whether they are made batches of one by hand."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.python.syntax import (
    argument,
    callee_name,
    descendants,
    integer,
    keyword_argument,
    last_name,
)

# Wrappers that hand on the elements of what they are given first.
_WRAPPERS = frozenset({"enumerate", "iter", "tqdm", "trange", "as_numpy", "progress_bar", "track", "cycle",
                       "islice", "tqdm_notebook"})  # fmt: skip


def iterated_with(
    iterable: cst.BaseExpression, target: cst.BaseExpression | None
) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression | None]]:
    """The expressions that a loop takes elements from, each with the target that gets them."""
    items = [element.value for element in target.elements] if isinstance(target, cst.Tuple) else []
    counted = _enumerated(iterable)
    if counted is not None:
        yield from iterated_with(counted, items[1] if len(items) == 2 else None)
        return
    if isinstance(iterable, cst.Call) and iterable.args:
        name = callee_name(iterable)
        first = iterable.args[0].value
        if name == "zip" and isinstance(iterable.func, cst.Name):
            for index, arg in enumerate(iterable.args):
                yield from iterated_with(arg.value, items[index] if index < len(items) else None)
            return
        if name in _WRAPPERS:
            inner = target if name != "enumerate" else items[1] if len(items) == 2 else None
            yield from iterated_with(first, inner)
            return
    if isinstance(iterable, cst.Call) and callee_name(iterable) == "as_numpy_iterator":
        assert isinstance(iterable.func, cst.Attribute)
        iterable = iterable.func.value
    yield iterable, target


def _enumerated(iterable: cst.BaseExpression) -> cst.BaseExpression | None:
    """The dataset that `dataset.enumerate()` counts the elements of."""
    if not isinstance(iterable, cst.Call) or not isinstance(iterable.func, cst.Attribute):
        return None
    counts = callee_name(iterable) == "enumerate" and (not iterable.args or _starts_at(iterable))
    return iterable.func.value if counts else None


def _starts_at(call: cst.Call) -> bool:
    """Whether all that `enumerate` is given is the number to begin with."""
    start = argument(call, 0, "start")
    return len(call.args) == 1 and (integer(start) is not None or keyword_argument(call, "start") is not None)


def adds_batch_axis(node: cst.CSTNode) -> bool:
    """Whether code makes a batch of one by hand: `tf.expand_dims(x, 0)`, `x[tf.newaxis, …]`, `tf.reshape(x, (1, 9))`."""
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
