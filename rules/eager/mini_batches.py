"""The mini-batches that `fit` makes of rows: whether one takes them all, and the loop of gradient steps over them that Keras makes."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.apis.facts import fact, has
from tflint_perf.analysis.execution.batches import ROWS_AT_A_TIME
from tflint_perf.analysis.limits import NAMES_DEEP
from tflint_perf.analysis.model import Model
from tflint_perf.analysis.python.scopes import Binding
from tflint_perf.analysis.python.syntax import (
    argument,
    is_constant,
    is_name,
    keyword_argument,
    part_at,
    same_code,
)
from tflint_perf.analysis.values.written import bindings_of
from tflint_perf.edit.editor import Editor
from tflint_perf.finding import Edit
from tflint_perf.records import dataclass
from tflint_perf.rule import Refusal

# What a function that is given the number of rows calls it.
_SIZE = "batch_size"


@dataclass(frozen=True, slots=True)
class MiniBatches:
    """How a call of `fit` cuts its rows: `size` at a time, as the function has it that loops over them, in an order that it draws
    or in that in which they come. `passed` is the code of the size where the function is given it."""

    size: str
    passed: tuple[str, ...] = ()
    shuffled: bool = True

    @property
    def parameters(self) -> tuple[str, ...]:
        """What the function is given behind the arrays."""
        return (_SIZE,) if self.passed else ()


def mini_batches(edit: Editor, call: cst.Call) -> MiniBatches | Refusal | None:
    """How `fit` cuts what it is given; None where one batch surely takes all of it."""
    rows, size = argument(call, 0, "x"), keyword_argument(call, "batch_size")
    if is_name(size, "None"):
        size = None
    if rows is not None and _takes_all(edit.model, rows, size):
        return None
    for given in (rows, argument(call, 1, "y"), keyword_argument(call, "sample_weight")):
        if given is not None and edit.model.value(given).kind in ("list", "tuple", "dict"):
            return Refusal("`fit` cuts several arrays into batches, or a list", given)
    shuffle = keyword_argument(call, "shuffle")
    if shuffle is not None and not (is_name(shuffle, "True") or is_name(shuffle, "False")):
        return Refusal("in which order `fit` takes the rows is not known here", shuffle)
    shuffled = not is_name(shuffle, "False")
    if size is None or is_constant(size):
        code = edit.text(size) if size is not None else str(ROWS_AT_A_TIME)
        return MiniBatches(code, shuffled=shuffled)
    return MiniBatches(_SIZE, (edit.text(size),), shuffled)


def in_turn(
    edit: Editor, home: cst.CSTNode, batches: MiniBatches, arrays: tuple[str, ...], step: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...], list[Edit]]:
    """The lines in front of the steps on each mini-batch and those of their loop, with the lines of one `step` on what the arrays
    are called in it, and the imports for both."""
    imports: list[Edit] = []

    def op(name: str) -> str:
        spelled, needed = edit.spell(name, home)
        imports.extend(needed)
        return spelled

    first, start = arrays[0], "start"
    ahead = [f"rows = {op('shape')}({first})[0]"]
    if batches.shuffled:
        ahead.append(f"order = {op('random.shuffle')}({op('range')}(rows))")
        gathered = ", ".join(f"{op('gather')}({array}, order)" for array in arrays)
        ahead.append(f"{', '.join(arrays)} = {gathered}")
    cut = ", ".join(f"{array}[{start} : {start} + {batches.size}]" for array in arrays)
    loop = (
        f"for {start} in {op('range')}(0, rows, {batches.size}):",
        f"    {', '.join(names_in_turn(arrays))} = {cut}",
        *(f"    {line}" for line in step),
    )
    return tuple(ahead), loop, list(dict.fromkeys(imports))


def names_in_turn(arrays: tuple[str, ...]) -> tuple[str, ...]:
    """What the arrays are called in one mini-batch."""
    return ("inputs", "targets", "weights")[: len(arrays)]


def _takes_all(model: Model, rows: cst.BaseExpression, size: cst.BaseExpression | None) -> bool:
    """Whether a batch of that size, or of Keras's own, takes all the rows."""
    if model.loops.batches.size(rows) == "sample" or model.infer.integers.is_length_of(size, rows):
        return True
    count = _count(model, rows)
    if isinstance(count, cst.BaseExpression) and size is not None and same_code(count, size):
        return True
    most = model.infer.integers.most(count) if isinstance(count, cst.BaseExpression) else count
    least = model.infer.integers.values(size)[:1] if size is not None else (ROWS_AT_A_TIME,)
    return most is not None and bool(least) and most <= least[0]


def _count(model: Model, rows: cst.BaseExpression, depth: int = 0) -> cst.BaseExpression | int | None:
    """How many rows an array or list has, at most: a number, or the expression that says so; None where nothing does."""
    length = model.infer.integers.length(rows)
    if length is not None or depth > NAMES_DEEP:
        return length
    match rows:
        case cst.Name():
            match bindings_of(model.infer, rows):
                case [Binding(kind="assign", value=cst.BaseExpression() as made, path=path)]:
                    part = part_at(made, path)
                    return _count(model, part, depth + 1) if part is not None else None
        case cst.ListComp(for_in=cst.CompFor(iter=items, inner_for_in=None)):
            return _count(model, items, depth + 1)
        case cst.Subscript(
            slice=[cst.SubscriptElement(cst.Slice(lower=lower, upper=upper, step=None)), *_]
        ) if upper is not None:
            return _between(lower, upper)
        case cst.Call(args=[first, *_]):
            return _count_of_call(model, rows, first.value, depth)
    return None


def _count_of_call(
    model: Model, call: cst.Call, first: cst.BaseExpression, depth: int
) -> cst.BaseExpression | int | None:
    name = model.infer.names.qualified(call.func)
    if place := fact(name, "items-at"):
        return argument(call, int(place), "k")
    if has(name, "takes-shape", "allocates"):
        match first:
            case cst.Tuple(elements=[rows, *_]) | cst.List(elements=[rows, *_]):
                return rows.value
            case cst.Tuple() | cst.List():
                return None
        return first
    if has(name, "makes-array", "elementwise") and argument(call, None, "axis") is None:
        return _count(model, first, depth + 1)
    return None


def _between(lower: cst.BaseExpression | None, upper: cst.BaseExpression) -> cst.BaseExpression | None:
    """How many rows lie between the bounds of a slice: `n` for `x[:n]` and `x[i : i + n]`."""
    if lower is None:
        return upper
    match upper:
        case cst.BinaryOperation(left=left, operator=cst.Add(), right=right) if same_code(left, lower):
            return right
    return None
