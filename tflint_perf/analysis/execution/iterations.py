"""How often loops over Python values run."""

from __future__ import annotations

import math

import libcst as cst

from tflint_perf.analysis.conventions import names_a_critic, names_a_part, names_much, names_settings
from tflint_perf.analysis.limits import NAMES_DEEP
from tflint_perf.analysis.python.reach import remembered
from tflint_perf.analysis.python.scopes import Binding, Loop
from tflint_perf.analysis.python.syntax import (
    argument,
    callee_name,
    descendants,
    has_stars,
    integer,
    is_name,
    last_name,
    string,
)
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.iterables import counting, counts_to, wrapper
from tflint_perf.analysis.values.named_calls import builtin_or_qualified
from tflint_perf.analysis.values.new_containers import new_container
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.values import Value

# A loop of so few iterations costs next to nothing.
FEW = 16


class Iterations(Part):
    """Answers whether a loop over Python values runs often."""

    _infer: Inference
    _calls: CallGraph

    def __post_init__(self) -> None:
        self._counted: set[Binding] = set()
        self._filling: set[Binding] = set()

    def are_many(self, loop: Loop, *, traced: bool) -> bool:
        """Whether `loop` runs more than 16 times, or an unknown number of times.

        In `traced` code, what may be a tensor is no Python value: AutoGraph makes a loop of the graph of it.
        What is not known to be a count or a list, and what counts the layers of a model, is not taken for many.
        """
        return loop.iterable is not None and self._most(loop.iterable, traced, 0) > FEW

    def at_most(self, loop: Loop) -> int | None:
        """How often a `for` over Python values runs, at most; None where that is not in sight."""
        most = self._most(loop.iterable, False, 0) if loop.iterable is not None else 0
        return int(most) if 0 < most < math.inf else None

    def counter(self, loop: Loop) -> cst.Name | None:
        """The counter that `loop` gets from `range` or `tf.range`."""
        target = loop.node.target if isinstance(loop.node, cst.For | cst.CompFor) else None
        iterable = loop.iterable
        if not isinstance(iterable, cst.Call) or not isinstance(target, cst.Name):
            return None
        return target if counting(self._infer, iterable) is not None else None

    # Lengths: `inf` for a length that the code does not show, 0 for what is not understood

    def _most(self, node: cst.BaseExpression, traced: bool, depth: int) -> float:
        if depth > NAMES_DEEP:
            return 0
        match node:
            case cst.List() | cst.Tuple() | cst.Set():
                return self._infer.integers.length(node) or 0
            case cst.ListComp():
                inner = node.for_in.inner_for_in
                return self._most(node.for_in.iter, traced, depth + 1) if inner is None else 0
            case cst.Call():
                return self._of_call(node, traced, depth)
            case cst.Name():
                return self._of_name(node, traced, depth)
            case cst.Attribute():
                return self._of_attribute(node, traced)
        return 0

    def _of_call(self, call: cst.Call, traced: bool, depth: int) -> float:
        name = builtin_or_qualified(self._infer, call.func)
        if has_stars(call) or not call.args:
            return 0
        counts = counting(self._infer, call) is call and counts_to(self._infer, call) is not None
        if counts and not name.startswith("tf."):
            return self._of_range([arg.value for arg in call.args if arg.keyword is None], traced, depth)
        wraps = wrapper(self._infer, call)
        if name == "reversed":
            traced = False  # of a tensor there is nothing reversed, so this is one of Python's
        if wraps is not None and wraps.how.all_once:
            return min(self._most(given, traced, depth + 1) for given in wraps.given)
        return self._of_unstack(call) if name == "tf.unstack" and traced else 0

    def _of_unstack(self, call: cst.Call) -> float:
        """How many tensors there are along one of the first axes, of batches or steps in time; others are short."""
        number, axis = argument(call, 1, "num"), argument(call, 2, "axis")
        if axis is not None and integer(axis) not in (0, 1):
            return 0
        known = self._infer.integers.most(number) if number is not None else None
        return math.inf if known is None else known

    def _of_range(self, bounds: list[cst.BaseExpression], traced: bool, depth: int) -> float:
        if not bounds:
            return 0
        numbers = [self._infer.integers.most(bound) for bound in bounds]
        if None not in numbers and (len(numbers) < 3 or numbers[2] != 0):
            return len(range(*[number for number in numbers if number is not None]))
        stop = bounds[min(1, len(bounds) - 1)]
        if len(numbers) == 2 and numbers[1] is not None:
            return numbers[1]
        if any(self._counts_parts(part) for bound in bounds for part in descendants(bound)):
            return 0
        if any(
            numbers[index] is None and not self._counts(bound, traced) for index, bound in enumerate(bounds)
        ):
            return 0
        lengths = [
            self._of_length(part, traced, depth)  # `len(x)`, `len(x) - 1`
            for part in descendants(stop)
            if isinstance(part, cst.Call) and builtin_or_qualified(self._infer, part.func) == "len"
        ]
        return max(lengths, default=math.inf)

    def _of_length(self, call: cst.Call, traced: bool, depth: int) -> float:
        """How often a loop over `range(len(x))` runs."""
        given = call.args[0].value
        if self._infer.value(given).kind in ("tensor", "array"):
            return math.inf if not traced else 0
        return self._most(given, traced, depth + 1)

    def _of_name(self, node: cst.Name, traced: bool, depth: int) -> float:
        bindings = self._infer.bindings(node)
        if not bindings or self._counts_parts(node):
            return 0
        meanwhile: frozenset[object] = frozenset(self._filling)
        return min(self._of_binding(binding, traced, depth, meanwhile) for binding in bindings)

    @remembered  # apart for each set of lists that are being measured, of which nothing is known meanwhile
    def _of_binding(self, binding: Binding, traced: bool, depth: int, _: frozenset[object]) -> float:
        if binding.kind == "param":
            given = self._calls.given(binding)
            return max((self._most(value, traced, depth + 1) for value in given), default=0)
        if binding.kind != "assign" or binding.value is None or binding.path != ():
            return 0
        if binding not in self._filling and self._is_filled_often(binding, traced):
            return math.inf
        return self._most(binding.value, traced, depth + 1)

    def _is_filled_often(self, binding: Binding, traced: bool) -> bool:
        """Whether many items are appended to the list of `binding`, by a loop that may run over the list itself."""
        calls = self._infer.contents.appends(binding.at.block.function, binding.name)
        self._filling.add(binding)
        often = any(self._times(call, binding, traced) > FEW for call in calls)
        self._filling.discard(binding)
        return often

    def _times(self, node: cst.CSTNode, binding: Binding, traced: bool) -> float:
        """How often the loops from a binding on run `node`, at most: fourteen rows of fourteen cells are many."""
        found = (self._walk.loops.get(loop.node) for loop in self._loops_from(node, binding))
        iterables = [loop.iterable for loop in found if loop is not None and loop.iterable is not None]
        return math.prod(self._most(iterable, traced, 0) or 1 for iterable in iterables)

    def _of_attribute(self, node: cst.Attribute, traced: bool) -> float:
        """The length of a list of numbers that an object keeps, made empty and filled by loops: of what else it may keep,
        such as layers, each is another part."""
        made = self._infer.classes.bindings_of(node)
        if self._counts_parts(node) or not all(b.path == () and _is_made_empty(self._infer, b) for b in made):
            return 0
        lengths = []
        for binding in made:
            if binding in self._filling:
                return 0
            puts = self._infer.contents.puts(binding, self._infer.names.scope_of(binding.node))
            if any(put.all or put.inner or not _holds_numbers(self._infer.value(put.value)) for put in puts):
                return 0
            home = binding.at.block.function
            filled = [put.base for put in puts if self._infer.place(put.base).block.function is home]
            self._filling.add(binding)
            lengths += [self._times(base, binding, traced) for base in filled]
            self._filling.discard(binding)
        return max(lengths, default=0)

    def _loops_from(self, call: cst.CSTNode, binding: Binding) -> list[Loop]:
        """The loops around a call that are not around a binding."""
        outer = binding.at.block.loop
        loop = self._infer.place(call).block.loop
        found = []
        while loop is not None and loop is not outer:
            found.append(loop)
            loop = loop.parent
        return found

    # Bounds that are not in sight

    def _counts(self, node: cst.BaseExpression, traced: bool) -> bool:
        """Whether `node`, a bound of unknown value, is a Python number that counts time or data."""
        match node:
            case cst.BinaryOperation():
                return all(
                    self._infer.integers.most(side) is not None or self._counts(side, traced)
                    for side in (node.left, node.right)
                )
            case cst.Subscript():
                return self._is_static_size(node) or self._is_setting(node)
            case cst.Call():
                name = builtin_or_qualified(self._infer, node.func)
                if name == "len":
                    return bool(node.args) and not is_shape(node.args[0].value)
                return name in ("int", "max", "min") and all(
                    self._counts(arg.value, traced) for arg in node.args
                )
            case cst.GeneratorExp() | cst.ListComp():
                return self._counts(node.elt, traced)  # `max(len(x) for x in xs)`
            case cst.Attribute():
                return self._infer.value(node).kind in ("number", "unknown") and (
                    bool(names_much(last_name(node))) or self._is_setting(node)
                )
            case cst.Name():
                return self._name_counts(node, traced)
        return False

    def _name_counts(self, node: cst.Name, traced: bool) -> bool:
        bindings = self._infer.bindings(node)
        if not bindings:
            return False
        kind = self._infer.value(node).kind
        if kind == "number" or all(b.kind == "assign" and self._is_size(b, traced) for b in bindings):
            return True
        if all(
            b.kind == "assign" and b.path == () and b.value and self._is_setting(b.value) for b in bindings
        ):
            return True
        return kind == "unknown" and not traced and all(b.kind == "param" for b in bindings)

    def _is_size(self, binding: Binding, traced: bool) -> bool:
        """Whether `binding` gives its name a static size, or a number made of such: `n = x.shape[1] - 1`, `b, t, _ =
        x.shape`."""
        value = binding.value
        if value is None:
            return False
        if binding.path:
            return len(binding.path) == 1 and is_shape(value)
        if binding in self._counted or not isinstance(value, cst.Subscript | cst.Call | cst.BinaryOperation):
            return False
        self._counted.add(binding)  # `n = n - 1` tells nothing
        try:
            return self._counts(value, traced)
        finally:
            self._counted.discard(binding)

    @staticmethod
    def _is_static_size(node: cst.Subscript) -> bool:
        """Whether `node` is a static size: `x.shape[1]`."""
        index = node.slice[0].slice if len(node.slice) == 1 else None
        if not is_shape(node.value) or not isinstance(index, cst.Index):
            return False
        if any(isinstance(part, cst.Attribute) and is_name(part.value, "self") for part in descendants(node)):
            return False
        position = integer(index.value)
        return position in (0, 1, -2)

    def _is_setting(self, node: cst.CSTNode) -> bool:
        """Whether `node` is a setting of the program: `args.n_steps`, `FLAGS.ratio`, `config["k"]`, or an object's own
        that is one."""
        match node:
            case cst.Attribute(value=cst.Name(value="self")):
                bindings = self._infer.classes.bindings_of(node)
                return bool(bindings) and all(
                    b.value is not None and b.path == () and self._is_setting(b.value) for b in bindings
                )
            case cst.Attribute():
                return bool(names_settings(last_name(node.value)))
            case cst.Subscript(slice=[cst.SubscriptElement(cst.Index(cst.SimpleString() as key))]):
                return bool(names_settings(last_name(node.value))) and not names_a_part(string(key) or "")
        return False

    def _counts_parts(self, node: cst.CSTNode) -> bool:
        name = last_name(node) if isinstance(node, cst.Name | cst.Attribute) else ""
        if self._is_setting(node) and names_a_critic(name):
            return False
        return bool(names_a_part(name)) and name not in ("len", "range")


def _is_made_empty(infer: Inference, binding: Binding) -> bool:
    """Whether `binding` makes a container that holds nothing yet."""
    made = new_container(infer, binding.value)
    return made is not None and made.is_empty


def _holds_numbers(value: Value) -> bool:
    """Whether a value is a number, or some of them: `(left, right)`."""
    if value.kind in ("tuple", "list") and value.items:
        return all(map(_holds_numbers, value.items))
    return value.kind == "number"


def is_shape(node: cst.BaseExpression) -> bool:
    """Whether `node` is a shape: `x.shape`, `x.get_shape()`, `x.shape.as_list()`."""
    if isinstance(node, cst.Call):
        return callee_name(node) in ("get_shape", "as_list") and isinstance(node.func, cst.Attribute)
    return isinstance(node, cst.Attribute) and node.attr.value == "shape"
