"""Which integers an expression may be, and how many items a sequence has, as far as the file shows it.

    infer.integers.values(node)  # (5,) for `N // 2` and `N = 10`; (1, 8) where branches or callers give these
    infer.integers.most(node)    # the greatest of them
    infer.integers.length(node)  # 3 for `[a, b, c]` and for `range(3)`

Followed are names and attributes of this file's objects through all that they may be bound to, parameters to what callers in
the file pass, or where nobody is known to call, to their defaults, arithmetic, `int`, `len`, `min`, `max` and conditional expressions. What a loop
changes, what is read from the command line or a file, and more than eight alternatives are unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import product
from typing import TYPE_CHECKING

import libcst as cst

from tflint_perf.analysis.apis.facts import fact
from tflint_perf.analysis.conventions import names_settings
from tflint_perf.analysis.limits import ALTERNATIVES, NAMES_DEEP
from tflint_perf.analysis.python.reach import remembered
from tflint_perf.analysis.python.scopes import Binding
from tflint_perf.analysis.python.syntax import (
    argument,
    callee_name,
    integer,
    last_name,
    part_at,
    same_code,
    string,
)
from tflint_perf.analysis.values.caller import passed_as
from tflint_perf.analysis.values.command_line_options import defaults
from tflint_perf.analysis.values.iterables import Wrapper, counting, counts_to, wrapper
from tflint_perf.analysis.values.named_calls import builtin_or_qualified
from tflint_perf.analysis.values.outside import name_given
from tflint_perf.analysis.values.values import Pipeline
from tflint_perf.analysis.values.written import bindings_of, written_by_key, written_out

if TYPE_CHECKING:
    from tflint_perf.analysis.values.infer import Inference

Found = frozenset[int]
_UNKNOWN: Found = frozenset()
# Of no more elements than this one has a look at what they are.
FEW = 10
# No more than this is computed: `10 ** 100` counts nothing.
_LARGEST = 2**62
_OPERATORS: dict[type[cst.BaseBinaryOp], Callable[[int, int], int]] = {
    cst.Add: lambda left, right: left + right,
    cst.Subtract: lambda left, right: left - right,
    cst.Multiply: lambda left, right: left * right,
    cst.FloorDivide: lambda left, right: left // right,
    cst.Modulo: lambda left, right: left % right,
    cst.Power: lambda left, right: left**right if 0 <= right <= 62 and abs(left) <= 2**31 else _LARGEST,
}
_FUNCTIONS: dict[str, Callable[..., int]] = {"min": min, "max": max, "abs": abs}
_ROUNDING: dict[str, Callable[[float], int]] = {
    "math.ceil": math.ceil,
    "math.floor": math.floor,
    "round": round,
}
_CONVERSIONS = frozenset({"int", "np.int32", "np.int64", *_ROUNDING})
# Stages that give no more elements than they get.
_NO_MORE = frozenset(
    [
        "map",
        "filter",
        "batch",
        "padded_batch",
        "prefetch",
        "cache",
        "shuffle",
        "skip",
        "shard",
        "enumerate",
        "with_options",
    ]
)


class Integers:
    """Answers which integers expressions are, and how long sequences."""

    def __init__(self, infer: Inference) -> None:
        self._infer = infer

    def values(self, node: cst.BaseExpression | None) -> tuple[int, ...]:
        """All integers that `node` may be, in ascending order; none where one of them is not in sight."""
        return tuple(sorted(self._values(node, 0))) if node is not None else ()

    def only(self, node: cst.BaseExpression | None) -> int | None:
        """The one integer that `node` can be; None where it may be several, or is not in sight."""
        found = self.values(node)
        return found[0] if len(found) == 1 else None

    def most(self, node: cst.BaseExpression | None) -> int | None:
        """The greatest integer that `node` may be; None where nothing in sight says so. `min(5, n)` is at most 5."""
        known = max(self.values(node), default=None)
        if (
            known is None
            and isinstance(node, cst.Call)
            and builtin_or_qualified(self._infer, node.func) == "min"
        ):
            bounds = [self.most(arg.value) for arg in node.args if arg.keyword is None and not arg.star]
            return (
                min((bound for bound in bounds if bound is not None), default=None)
                if len(bounds) > 1
                else None
            )
        return known

    def bound(self, bindings: Iterable[Binding]) -> tuple[int, ...]:
        """All integers that a name may be that these bind; none where one of them is not in sight."""
        return tuple(sorted(_either(self._of_binding(binding, 0) for binding in bindings)))

    def length(self, node: cst.BaseExpression | None) -> int | None:
        """How many items `node`, a sequence or another iterable, has at most; None where that is not in sight."""
        return self._length(node, 0) if node is not None else None

    def cut(self, iterable: cst.BaseExpression | None) -> int | None:
        """How many elements of `iterable` a loop takes at most, where something cuts them off: `dataset.take(n)`,
        `islice(batches, n)`; None where nothing does, or nothing says after how many."""
        return self._cut(iterable, frozenset()) if iterable is not None else None

    def takes_few(self, node: cst.BaseExpression) -> bool:
        """Whether `node` takes only a few elements of a dataset, as one does to look at them: `dataset.take(count)`, by
        all that `count` may be."""
        if not isinstance(node, cst.Call) or callee_name(node) != "take":
            return False
        return self.most(argument(node, 0, "count")) in range(FEW + 1)

    # Integers

    @remembered
    def _values(self, node: cst.BaseExpression, depth: int) -> Found:
        literal = integer(node)
        if literal is not None:
            return frozenset((literal,))
        if depth > NAMES_DEEP:
            return _UNKNOWN
        match node:
            case cst.UnaryOperation(operator=cst.Minus()):
                return frozenset(-value for value in self._values(node.expression, depth + 1))
            case cst.BinaryOperation():
                return self._computed(_OPERATORS.get(type(node.operator)), (node.left, node.right), depth)
            case cst.IfExp():
                return _either(self._values(way, depth + 1) for way in (node.body, node.orelse))
            case cst.NamedExpr():
                return self._values(node.value, depth + 1)
            case cst.Call():
                return self._of_call(node, depth)
            case cst.Subscript():
                return self._of_item(node, depth)
            case cst.Name() | cst.Attribute():
                found = bindings_of(self._infer, node)
                if not found:
                    outside = self._of_other_file(node)
                    is_option = not outside and isinstance(node, cst.Attribute)
                    return self._of_option(last_name(node)) if is_option else outside
                return _either(self._of_binding(b, depth) for b in found)
        return _UNKNOWN

    def _of_other_file(self, node: cst.Name | cst.Attribute) -> Found:
        """What a setting is that another file has: `config.EPOCHS`, `Config.epochs`, and a name of what is imported whole."""
        infer, outside = self._infer, self._infer.outside
        if isinstance(node, cst.Name):
            stars = (outside.integers(star + node.value) for star in infer.names.stars_outside)
            return frozenset(next((found for found in stars if found), ()))
        dotted = infer.names.dotted(node)
        if not dotted:
            # An object, or what is derived from its class, may have another number in its stead.
            holder = infer.value(node.value)
            dotted = (
                f"{holder.outside}.{node.attr.value}" if holder.kind == "class" and holder.outside else ""
            )
        return frozenset(outside.integers(dotted)) if dotted else _UNKNOWN

    def _of_option(self, name: str) -> Found:
        """What an option of the command line is by default, as `args.name`, `FLAGS.name` or `FLAGS["name"]`."""
        given = [integer(value) for value in defaults(self._infer.walk, name.__eq__) if value is not None]
        return frozenset(value for value in given if value is not None) if None not in given else _UNKNOWN

    def _computed(
        self, compute: Callable[..., int] | None, of: Iterable[cst.BaseExpression], depth: int
    ) -> Found:
        sides = [self._values(side, depth + 1) for side in of]
        if compute is None or math.prod(map(len, sides)) > ALTERNATIVES**2:
            return _UNKNOWN
        try:
            found = {compute(*numbers) for numbers in product(*sides)}
        except ZeroDivisionError:
            return _UNKNOWN
        return (
            frozenset(found) if len(found) <= ALTERNATIVES and max(found, default=0) < _LARGEST else _UNKNOWN
        )

    def _of_call(self, call: cst.Call, depth: int) -> Found:
        name = builtin_or_qualified(self._infer, call.func)
        given = [arg.value for arg in call.args if not arg.star and arg.keyword is None]
        if not given or len(given) < len(call.args):
            return _UNKNOWN
        if name == "len":
            length = self._length(given[0], depth + 1)
            return frozenset((length,)) if length is not None else _UNKNOWN
        if name in _FUNCTIONS and (name == "abs") == (len(given) == 1):
            return self._computed(_FUNCTIONS[name], given, depth)
        return (
            self._converted(given[0], name, depth) if name in _CONVERSIONS and len(given) == 1 else _UNKNOWN
        )

    def _converted(self, node: cst.BaseExpression, name: str, depth: int) -> Found:
        """`int(n)`, `int(n / k)`, `math.ceil(n / k)`."""
        if not isinstance(node, cst.BinaryOperation) or not isinstance(node.operator, cst.Divide):
            return self._values(node, depth + 1)
        compute: Callable[[float], int] = _ROUNDING.get(name, int)
        return self._computed(lambda left, right: compute(left / right), (node.left, node.right), depth)

    def _of_item(self, node: cst.Subscript, depth: int) -> Found:
        """`sizes[0]` and `config["folds"]` of what is written out, `images.shape[0]` of what was cut off: `images = data[:64]`."""
        match node:
            case cst.Subscript(
                value=cst.Attribute(value=whole, attr=cst.Name("shape")),
                slice=[cst.SubscriptElement(cst.Index(cst.Integer("0")))],
            ):
                length = self._length(whole, depth + 1)
                return frozenset((length,)) if length is not None else _UNKNOWN
            case cst.Subscript(slice=[cst.SubscriptElement(cst.Index(cst.SimpleString() as key))]):
                written = written_by_key(self._infer, node.value)
                if written is None:
                    # `FLAGS["name"]` of `FLAGS = vars(parser.parse_args())`, but not `batch["label"]`.
                    is_option = names_settings(last_name(node.value))
                    return self._of_option(string(key) or "") if is_option else _UNKNOWN
                value = written.get(string(key) or "")
                return self._values(value, depth + 1) if value is not None else _UNKNOWN
            case cst.Subscript(slice=[cst.SubscriptElement(cst.Index(at))]):
                items, index = written_out(self._infer, node.value), integer(at)
                if items is not None and index is not None and -len(items) <= index < len(items):
                    return self._values(items[index], depth + 1)
        return _UNKNOWN

    def _of_binding(self, binding: Binding, depth: int) -> Found:
        if binding.kind == "assign" and binding.value is not None:
            part = part_at(binding.value, binding.path)
            return self._values(part, depth + 1) if part is not None else _UNKNOWN
        if binding.kind == "import":
            return frozenset(self._infer.outside.integers(binding.imported))
        given = self._given(binding)
        return _either(self._values(value, depth + 1) for value in given)

    def _given(self, binding: Binding) -> list[cst.BaseExpression]:
        """What callers in the file pass as a parameter, or else its default; nothing for other bindings."""
        function = self._infer.names.function_with.get(binding.node) if binding.kind == "param" else None
        if function is None or binding.path != () or self._infer.arguments_of is None:
            return []
        given = self._infer.arguments_of(function, binding.name)
        place = function.place_of(binding.name)
        if given or binding.value is None:
            return given
        # Who calls it from another file may give anything, or leave it at that.
        leave_it = (
            caller.how == "call" and passed_as(caller, binding.name, place) is None
            for caller in self._infer.outside.callers(name_given(function))
        )
        return [binding.value] if all(leave_it) else []

    # Lengths

    @remembered
    def _length(self, node: cst.BaseExpression, depth: int) -> int | None:
        if depth > NAMES_DEEP:
            return None
        items = written_out(self._infer, node)
        if items is not None:
            return len(items)
        match node:
            case cst.Name(value="None"):
                return 0  # whoever iterates over it has another value
            case cst.Dict():
                plain = all(isinstance(element, cst.DictElement) for element in node.elements)
                return len(node.elements) if plain else None
            case cst.ListComp() | cst.GeneratorExp() if node.for_in.inner_for_in is None:
                return self._length(node.for_in.iter, depth + 1)
            case cst.BinaryOperation(operator=cst.Multiply(), left=cst.List()):
                times, once = self._greatest(node.right, depth), self._length(node.left, depth + 1)
                return times * once if times is not None and once is not None else None
            case cst.Subscript(
                slice=[cst.SubscriptElement(cst.Slice(lower=None, upper=upper, step=None)), *_]
            ):
                most = self._greatest(upper, depth) if upper is not None else None
                return most if most is not None and most >= 0 else None
            case cst.Call():
                return self._length_of_call(node, depth)
            case cst.Name() | cst.Attribute() if not self._infer.contents.grows(_name(node)):
                return _greatest(self._length_bound(b, depth) for b in bindings_of(self._infer, node))
        return None

    def _greatest(self, node: cst.BaseExpression, depth: int) -> int | None:
        return max(self._values(node, depth + 1), default=None)

    def _length_bound(self, binding: Binding, depth: int) -> int | None:
        if binding.kind == "assign" and binding.value is not None:
            part = part_at(binding.value, binding.path)
            return self._length(part, depth + 1) if part is not None else None
        return _greatest(self._length(value, depth + 1) for value in self._given(binding))

    def _length_of_call(self, call: cst.Call, depth: int) -> int | None:
        wraps = wrapper(self._infer, call)
        if wraps is not None:
            lengths = [self._length(given, depth + 1) for given in wraps.given]
            if not wraps.how.all_once:
                return self._after(wraps)
            return min((length for length in lengths if length is not None), default=None)
        counted = counting(self._infer, call)
        plain = counted is not None and not any(arg.star or arg.keyword for arg in counted.args)
        if counted is not None and plain and counts_to(self._infer, counted) is not None:
            bounds = [self._greatest(arg.value, depth) for arg in counted.args]
            known = [number for number in bounds if number is not None]
            if 0 < len(known) == len(bounds) <= 3 and 0 not in known[2:]:
                return len(range(*known))
        return self._folds(call, depth)

    def are_folds(self, iterable: cst.BaseExpression | None) -> bool:
        """Whether a loop goes over folds of data: `for train, test in KFold(3).split(x)`, also behind `enumerate`."""
        if iterable is None:
            return False
        wraps = wrapper(self._infer, iterable)
        if wraps is not None:
            return any(map(self.are_folds, wraps.given))
        return isinstance(iterable, cst.Call) and self._splitter(iterable) is not None

    def _folds(self, call: cst.Call, depth: int) -> int | None:
        """How many folds of data there are: 3 for `KFold(3).split(x)`."""
        splitter = self._splitter(call)
        if splitter is None:
            return None
        given = argument(splitter, 0, "n_splits")
        if given is not None:
            return self._greatest(given, depth)
        return int(fact(self._infer.names.qualified(splitter.func), "folds"))

    def _splitter(self, call: cst.Call) -> cst.Call | None:
        """What makes the object whose `split` gives folds, which `call` asks for them: `KFold(3)`."""
        splitter = call.func.value if isinstance(call.func, cst.Attribute) else None
        if callee_name(call) != "split" or splitter is None:
            return None
        if isinstance(splitter, cst.Name | cst.Attribute):
            match bindings_of(self._infer, splitter):
                case [Binding(kind="assign", value=cst.Call() as made, path=())]:
                    splitter = made
        if isinstance(splitter, cst.Call) and fact(self._infer.names.qualified(splitter.func), "folds"):
            return splitter
        return None

    # What cuts off

    def _cut(self, iterable: cst.BaseExpression, seen: frozenset[cst.Call]) -> int | None:
        wraps = wrapper(self._infer, iterable)
        if wraps is None or wraps.call in seen:
            return self._taken(iterable)
        cuts = [self._cut(given, seen | {wraps.call}) for given in wraps.given]
        if not wraps.how.all_once:
            cuts = [self._after(wraps)]
        return min((cut for cut in cuts if cut is not None), default=None)

    def _after(self, wraps: Wrapper) -> int | None:
        """After how many elements `islice` ends."""
        if callee_name(wraps.call) != "islice":
            return None
        start = len(wraps.call.args) > 2
        return self.most(argument(wraps.call, 2 if start else 1))

    def _taken(self, node: cst.BaseExpression) -> int | None:
        """How many elements `take` leaves of a dataset, also where a name stands for what it gives."""
        ways = self._infer.value(node).pipelines
        if not ways and isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
            counts = [self._count(node)] if callee_name(node) == "take" else []
        else:
            counts = [self._left(way) for way in ways]
        return _greatest(counts)

    def _left(self, way: Pipeline) -> int | None:
        """How many elements are left by the stage of a pipeline that cuts it off, or makes one batch of all, with nothing
        behind it that gives more."""
        if self.gives_all_at_once(way):
            return 1
        for stage in reversed(way):
            if stage.name == "take":
                return self._count(stage.call)
            if stage.name not in _NO_MORE:
                return None
        return None

    def gives_all_at_once(self, way: Pipeline) -> bool:
        """Whether a pipeline's one element is a batch of all samples."""
        for end in range(len(way), 1, -1):
            if self.is_one_batch(way[:end]):
                return True
            if way[end - 1].name not in _NO_MORE:
                return False
        return False

    def is_one_batch(self, way: Pipeline) -> bool:
        """Whether the last stage of a pipeline makes one batch of all that its source slices: `.batch(len(x))`."""
        *before, last = way
        if last.name not in ("batch", "padded_batch") or not before or before[0].name != "from_tensor_slices":
            return False
        if last.origin is not None or not {stage.name for stage in before[1:]} <= _NO_MORE:
            return False
        size, sliced = argument(last.call, 0, "batch_size"), argument(before[0].call, 0, "tensors")
        parts = [element.value for element in sliced.elements] if isinstance(sliced, cst.Tuple) else [sliced]
        return any(self.is_length_of(size, part) for part in parts)

    def is_length_of(self, size: cst.BaseExpression | None, whole: cst.BaseExpression | None) -> bool:
        """Whether `size` is how many rows or items the array or sequence `whole` has: `len(x)`, `x.shape[0]`."""
        measured = self._measured(size, 0)
        return measured is not None and self._are_same(measured, whole)

    def _measured(self, size: cst.BaseExpression | None, depth: int) -> cst.BaseExpression | None:
        """The array or sequence whose length `size` is: `x` for `len(x)` and `x.shape[0]`, also where a name stands for it."""
        match size:
            case cst.Call(args=[cst.Arg(value=whole, keyword=None, star="")]):
                return whole if builtin_or_qualified(self._infer, size.func) == "len" else None
            case cst.Subscript(
                value=cst.Attribute(value=whole, attr=cst.Name("shape")),
                slice=[cst.SubscriptElement(cst.Index(cst.Integer("0")))],
            ):
                return whole
            case cst.Name() if depth < NAMES_DEEP:
                match bindings_of(self._infer, size):
                    case [Binding(kind="assign", path=(), value=value)]:
                        return self._measured(value, depth + 1)
        return None

    def _are_same(self, one: cst.BaseExpression, other: cst.BaseExpression | None) -> bool:
        """Whether two expressions are one name, or attribute, for one value."""
        if not isinstance(one, cst.Name | cst.Attribute) or not isinstance(other, cst.Name | cst.Attribute):
            return False
        return same_code(one, other) and bindings_of(self._infer, one) == bindings_of(self._infer, other)

    def _count(self, take: cst.Call) -> int | None:
        count = self.most(argument(take, 0, "count"))
        return count if count is not None and count >= 0 else None  # -1 is all


def _either(alternatives: Iterable[Found]) -> Found:
    """What may be one of several; unknown where one of them is, or there are too many."""
    found = list(alternatives)
    joined = frozenset[int]().union(*found)
    return joined if all(found) and len(joined) <= ALTERNATIVES else _UNKNOWN


def _greatest(lengths: Iterable[int | None]) -> int | None:
    found = list(lengths)
    known = [length for length in found if length is not None]
    return max(known) if known and len(known) == len(found) else None


def _name(node: cst.Name | cst.Attribute) -> str:
    return node.attr.value if isinstance(node, cst.Attribute) else node.value
