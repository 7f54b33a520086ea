"""The mini-batches that `fit` makes of rows: whether one takes them all, and the loop of gradient steps over them that Keras makes."""

from __future__ import annotations

from collections.abc import Sequence

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


@dataclass(frozen=True, slots=True)
class MiniBatches:
    """How a call of `fit` cuts its rows: `size` at a time, in an order that it draws or in that in which they come, `epochs` times.

    Both numbers are code, as the function has it that loops over the mini-batches: constants, or `parameters` that stand for what
    is `passed`.
    """

    size: str
    epochs: str = "1"
    shuffled: bool = True
    parameters: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()

    @property
    def again(self) -> bool:
        """Whether there are several epochs."""
        return self.epochs != "1"


def mini_batches(edit: Editor, call: cst.Call) -> MiniBatches | Refusal | None:
    """How `fit` cuts what it is given; None where one batch surely takes all of it, once."""
    rows, size = argument(call, 0, "x"), keyword_argument(call, "batch_size")
    if is_name(size, "None"):
        size = None
    epochs = keyword_argument(call, "epochs") or keyword_argument(call, "nb_epoch")
    again = epochs is not None and edit.model.infer.integers.only(epochs) != 1
    if rows is not None and not again and _takes_all(edit.model, rows, size):
        return None
    for given in (rows, argument(call, 1, "y"), keyword_argument(call, "sample_weight")):
        if given is not None and edit.model.value(given).kind in ("list", "tuple", "dict"):
            return Refusal("`fit` cuts several arrays into batches, or a list", given)
    shuffle = keyword_argument(call, "shuffle")
    if shuffle is not None and not (is_name(shuffle, "True") or is_name(shuffle, "False")):
        return Refusal("in which order `fit` takes the rows is not known here", shuffle)
    numbers = {"batch_size": size} if size is not None else {}
    if again and epochs is not None:
        numbers["epochs"] = epochs
    passed = {name: edit.text(number) for name, number in numbers.items() if not is_constant(number)}
    code = {name: name if name in passed else edit.text(number) for name, number in numbers.items()}
    return MiniBatches(
        code.get("batch_size", str(ROWS_AT_A_TIME)),
        code.get("epochs", "1"),
        not is_name(shuffle, "False"),
        tuple(passed),
        tuple(passed.values()),
    )


def in_turn(
    edit: Editor,
    home: cst.CSTNode,
    batches: MiniBatches,
    arrays: tuple[str, ...],
    step: tuple[str, ...],
    begins: tuple[str, ...] = (),
) -> tuple[tuple[str, ...], list[Edit]]:
    """The lines that take the mini-batches of `arrays` in turn, and the imports for them. An epoch begins with the lines `begins`,
    which set what the lines of a `step` on each mini-batch add to."""
    imports: list[Edit] = []

    def op(name: str) -> str:
        spelled, needed = edit.spell(name, home)
        imports.extend(needed)
        return spelled

    size = batches.size
    order = [f"order = {op('random.shuffle')}({op('range')}(rows))"] if batches.shuffled else []
    batch = [f"batch = order[start : start + {size}]"] if batches.shuffled else []
    cut = [
        f"{op('gather')}({array}, batch)" if batches.shuffled else f"{array}[start : start + {size}]"
        for array in arrays
    ]
    taken = f"{', '.join(names_in_turn(arrays))} = {', '.join(cut)}"
    each = _block(f"for start in {op('range')}(0, rows, {size}):", [*batch, taken, *step])
    lines = [*begins, *order, *each]
    if batches.again:  # what is read behind a loop in a graph is there before it
        lines = [*begins, *_block(f"for _ in {op('range')}({batches.epochs}):", lines)]
    return (f"rows = {op('shape')}({arrays[0]})[0]", *lines), list(dict.fromkeys(imports))


def _block(head: str, lines: Sequence[str]) -> list[str]:
    return [head, *(f"    {line}" for line in lines)]


def names_in_turn(arrays: tuple[str, ...]) -> tuple[str, ...]:
    """What the arrays are called in one mini-batch."""
    return ("inputs", "targets", "weights")[: len(arrays)]


def _takes_all(model: Model, rows: cst.BaseExpression, size: cst.BaseExpression | None) -> bool:
    """Whether a batch of that size, or of Keras's own, takes all the rows."""
    if _is_sample(model, rows) or model.infer.integers.is_length_of(size, rows):
        return True
    count = _count(model, rows)
    if isinstance(count, cst.BaseExpression) and size is not None and same_code(count, size):
        return True
    most = model.infer.integers.most(count) if isinstance(count, cst.BaseExpression) else count
    least = model.infer.integers.values(size)[:1] if size is not None else (ROWS_AT_A_TIME,)
    return most is not None and bool(least) and most <= least[0]


def _is_sample(model: Model, rows: cst.BaseExpression) -> bool:
    """Whether one row is given, by more than the name of a parameter."""
    parameters = [binding for binding in model.infer.bindings(rows) if binding.kind == "param"]
    return model.loops.batches.size(rows) == "sample" and all(map(model.calls.given, parameters))


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
