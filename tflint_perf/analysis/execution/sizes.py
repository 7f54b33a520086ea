"""How much data an expression holds: a scalar, one sample, or a batch that is drawn anew for each step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import libcst as cst

from tflint_perf.analysis.apis.facts import fact, has, library, methods
from tflint_perf.analysis.conventions import (
    names_a_batch,
    names_a_batch_size,
    names_a_measure,
    names_a_memory,
    names_a_reward,
    names_a_state,
    names_a_stream,
    names_a_worker,
    names_an_environment,
    names_an_observation,
    names_augmenting,
    names_drawing_a_batch,
    names_evaluation,
    names_remembering,
    names_sampling,
    names_training_data,
)
from tflint_perf.analysis.execution import sizes as size_of_calls
from tflint_perf.analysis.execution.filled_lists import appends_by_name, is_empty_list
from tflint_perf.analysis.limits import NAMES_DEEP
from tflint_perf.analysis.python.flow import loops_around
from tflint_perf.analysis.python.reach import remembered
from tflint_perf.analysis.python.scopes import Binding, Function
from tflint_perf.analysis.python.syntax import (
    argument,
    callee_name,
    integer,
    is_constant,
    is_name,
    keyword_argument,
    last_name,
    names_read,
    same_code,
    string,
)
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.iterables import is_counting, sources, taken_part
from tflint_perf.analysis.values.values import Value

if TYPE_CHECKING:
    from tflint_perf.analysis.execution.loops import Loops

Size = Literal["scalar", "sample", "batch", "unknown"]


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
        """The size of the list `iterable`, made of the parts of a batch or of a sample."""
        if self._runs_over_batch(iterable):
            return "batch"
        return "sample" if self.partial(iterable) == "sample" else "unknown"

    def _runs_over_batch(self, iterable: cst.BaseExpression) -> bool:
        """Whether `iterable` is one batch, of which a loop takes the samples."""
        return any(map(self._is_batch_or_its_length, sources(self.infer, iterable)))

    def _is_batch_or_its_length(self, iterable: cst.BaseExpression) -> bool:
        """Whether `iterable` gives the samples of a batch, or counts them."""
        if isinstance(iterable, cst.Call) and is_counting(self.infer, iterable) and len(iterable.args) == 1:
            length = iterable.args[0].value
            if names_a_batch_size(last_name(length)):
                return True
            return any(map(self._runs_over_batch, size_of_calls.counted(self.sources(length))))
        return self.partial(iterable) == "batch"

    def sources(self, node: cst.BaseExpression) -> list[cst.BaseExpression]:
        """`node`, and where it is a name the expressions that it is assigned."""
        assigned = [b for b in self.infer.bindings(node) if b.kind == "assign" and b.path == ()]
        return [node, *(binding.value for binding in assigned if binding.value is not None)]

    # Names and attributes

    def _name(self, node: cst.Name) -> Size | None:
        bindings = self.infer.bindings(node)
        if not bindings:
            return "unknown"
        if all(is_empty_list(self.infer, binding) for binding in bindings) and (
            names_a_batch(node.value) or self._is_filled_from_batch(node, bindings)
        ):
            return "batch"
        return join(self._binding(b) for b in bindings if b.kind not in ("augment", "delete"))

    def _is_filled_from_batch(self, node: cst.Name, made: list[Binding]) -> bool:
        """Whether a loop over the samples of a batch adds to the list `node`, which is made outside it."""
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
        is_field = isinstance(node.value, cst.Name) and not names_a_measure(node.attr.value)
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
                given = self.calls.given(binding)
                mapped = (
                    self.calls.mapped_over(self.infer.names.function_with.get(binding.node))
                    if not given
                    else None
                )
                if mapped is not None:
                    return self.element(mapped, ())
                if not given and (told := self._told_by_name(binding)) is not None:
                    return told
                sizes = {*(self.partial(value) for value in given), *self._told_outside(binding)}
                # One caller that is known to pass a batch is enough.
                return next((size for size in ("batch", "sample", "scalar") if size in sizes), "unknown")
        return "unknown"

    def _told_by_name(self, parameter: Binding) -> Size | None:
        """The size of `parameter`, which a step loop of another file gives, if it is named as an observation or a batch
        is."""
        function = self.infer.names.function_with.get(parameter.node)
        by_name: Size | None = None
        if names_an_observation(parameter.name):
            by_name = "sample"
        elif names_a_batch(parameter.name) and not names_a_measure(parameter.name):
            by_name = "batch"
        if function is None or by_name is None:
            return None
        return by_name if any(c.per_step for c in self.calls.callers_outside(function)) else None

    def _told_outside(self, parameter: Binding) -> set[Size]:
        """The sizes of what step loops of other files give as a parameter, as far as these files say them."""
        function = self.infer.names.function_with.get(parameter.node)
        if function is None:
            return set()
        told = self.calls.given_outside(function, parameter.name, per_step=True)
        return {given.size for given in told if given.size}

    def part(self, value: cst.BaseExpression, path: tuple[int, ...]) -> Size | None:
        """The size of the part that is unpacked from `value`."""
        if not path:
            return self.partial(value)
        if isinstance(value, cst.Tuple | cst.List) and path[0] < len(value.elements):
            return self.part(value.elements[path[0]].value, path[1:])
        if isinstance(value, cst.ListComp | cst.GeneratorExp) and value.for_in.inner_for_in is None:
            return self.part(value.elt, path[1:])
        if isinstance(value, cst.Call):
            if size_of_calls.is_of_environment(value):
                return "sample" if path == (0,) else "scalar"
            for target in self.calls.targets(value):
                returned = self.of_function(target, path)
                if returned != "unknown":
                    return returned
        return "batch" if self.partial(value) == "batch" else "unknown"

    def of_function(self, function: Function, path: tuple[int, ...]) -> Size | None:
        """The size of what `function` returns, or yields."""
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
        """The size of what a loop over `iterable` assigns to its target."""
        found = taken_part(self.infer, iterable, path)
        if found is None:
            return "scalar"
        iterable, path = found
        value = self.infer.value(iterable)
        if value.kind in ("dataset", "iterator"):
            return size_of_element(self.infer, value)
        if isinstance(iterable, cst.Call):
            name, args = callee_name(iterable), [arg.value for arg in iterable.args if arg.keyword is None]
            if name == "zip" and not path and iterable.args and iterable.args[0].star == "*":
                # The columns of a batch of transitions.
                return "batch" if self.partial(args[0]) == "batch" else "unknown"
            if is_counting(self.infer, iterable):
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
        """Whether `length` is the number of samples in a batch: `len(images)`, `images.shape[0]`, or a name of that."""
        return any(self.size(name) == "batch" for part in self.sources(length) for name in names_read(part))

    def gives_batches(self, node: cst.BaseExpression) -> bool:
        """Whether `node` is a Keras generator of batches: `generator.flow_from_directory(…)`, or a name of it."""
        if isinstance(node, cst.Name):
            return any(
                binding.kind == "assign" and binding.path == () and is_flow(binding.value)
                for binding in self.infer.bindings(node)
            )
        return is_flow(node)

    @remembered
    def varies(self, node: cst.BaseExpression, depth: int = 0) -> bool:
        """Whether `node` has another value in each iteration of a loop, here or where the function is called."""
        for name in names_read(node):
            if any(self._binding_varies(binding, depth) for binding in self.infer.bindings(name)):
                return True
        return False

    def _binding_varies(self, binding: Binding, depth: int) -> bool:
        match binding.kind:
            case "for" | "comprehension":
                return True
            case "assign" | "augment" if binding.at.block.loop is not None:
                return True
            case "param" if depth < NAMES_DEEP:
                return any(self.varies(value, depth + 1) for value in self.calls.given(binding))
            case "assign" if binding.value is not None and depth < NAMES_DEEP:
                # The parts of another item are others, too: `user, items = cases[at]`.
                whole = binding.path == () or isinstance(binding.value, cst.Subscript)
                return whole and self.varies(binding.value, depth + 1)
        return False

    @remembered
    def is_made_anew(self, node: cst.CSTNode, depth: int = 0) -> bool:
        """Whether a loop runs `node`, here or through a call, also in another file."""
        if self._loops.innermost_loop(node) is not None:
            return True
        function = self.calls.function_at(node)
        if function is None or depth >= NAMES_DEEP:
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


# How much data a part of an array holds, and a list of the same thing many times.


def size_of_subscript(sizes: Sizes, node: cst.Subscript) -> Size | None:
    """The size of `node`, a part of something: `x[i]`, `x[a:b]`, `x[None]`."""
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
    if (
        cut.step is None
        and sizes.infer.integers.only(cut.upper) == 1
        and (cut.lower is None or integer(cut.lower) == 0)
    ):
        return "sample"
    if integer(cut.lower) == -1 and cut.upper is None and cut.step is None:
        return "sample"
    if cut.step is None and _is_as_long_as_a_batch(cut):
        return "batch"
    if cut.lower is None or cut.upper is None or cut.step is not None:
        return kept
    match cut.upper:
        case cst.BinaryOperation(left=at, operator=cst.Add(), right=n) if same_code(at, cut.lower):
            if sizes.infer.integers.only(n) == 1 or names_a_batch_size(last_name(n)):
                return "sample" if sizes.infer.integers.only(n) == 1 else "batch"
    return "batch" if sizes.varies(cut.lower) else kept


def is_batch_length(number: cst.BaseExpression | None) -> bool:
    """Whether `number` is the size of a batch, by its name."""
    return number is not None and bool(names_a_batch_size(last_name(number)))


def _is_as_long_as_a_batch(cut: cst.Slice) -> bool:
    """Whether the slice `cut` takes the first or the last samples, as many as a batch has: `order[:batch_size]`."""
    if cut.upper is None:
        match cut.lower:
            case cst.UnaryOperation(operator=cst.Minus(), expression=length):
                return is_batch_length(length)
        return False
    return (cut.lower is None or integer(cut.lower) == 0) and is_batch_length(cut.upper)


def size_of_repeated(sizes: Sizes, node: cst.BinaryOperation) -> Size | None:
    """The size of `node`, a repeated list: `[[1.0]] * batch_size`; None for what is no list that is repeated as often
    as a batch has samples."""
    if not isinstance(node.operator, cst.Multiply):
        return None
    for repeated, length in ((node.left, node.right), (node.right, node.left)):
        if isinstance(repeated, cst.List | cst.Tuple) and len(repeated.elements) == 1:
            named = any(map(is_batch_length, (length, *names_read(length))))
            return "batch" if named or sizes.is_length_of_batch(length) else None
    return None


# How much data a call gives, by what is called.


# The position of a new array's shape.
_SHAPE_AT = {
    "normal": 2, "uniform": 2, "randint": 2, "binomial": 2, "choice": 1, "random": 0, "random_sample": 0,
    "standard_normal": 0, "integers": 2, "multinomial": 2, "zeros": 0, "ones": 0, "empty": 0, "full": 0, "rand": 0, "randn": 0,
}  # fmt: skip
_TF_SHAPE_AT = {"tf.random.normal": 0, "tf.random.uniform": 0, "tf.random.truncated_normal": 0, "tf.zeros": 0,
                "tf.ones": 0, "tf.fill": 0}  # fmt: skip
# What draws places of a memory at random, and methods that give what stands there.
_DRAWS = frozenset(["choice", "randint", "integers"])
_FROM_LIST = frozenset(
    ["array", "asarray", "convert_to_tensor", "constant", "pad_sequences", "texts_to_sequences", "transform"]
)
_STACKS = frozenset(["stack", "vstack", "hstack", "concatenate", "concat"])
_KEEPING_METHODS = frozenset(
    ["astype", "copy", "numpy", "toarray", "reshape", "flatten", "to_numpy", "clip", "round", "tolist"]
)
_REDUCTIONS = frozenset(["mean", "sum", "max", "min", "amax", "amin", "std", "var", "median", "argmax", "argmin", "prod", "squeeze", "any", "all", "dot", "reduce_mean", "reduce_sum", "reduce_max", "reduce_min", "shape", "size", "ndim", "len", "where"])  # fmt: skip


# Those of NumPy that make one number of all, where they are told no axis.
_OF_ALL = frozenset(
    ["mean", "sum", "max", "min", "amax", "amin", "std", "var", "median", "argmax", "argmin", "prod"]
)


def size_of_call(sizes: Sizes, call: cst.Call) -> Size | None:
    """The size of what `call` gives; None while it is being worked out."""
    name = callee_name(call)
    qualified = sizes.infer.names.qualified(call.func)
    if isinstance(call.func, cst.Attribute) and not qualified:
        of_method = _method(sizes, call, call.func.value, name)
        if of_method is not None:
            return of_method
    if name == "next":
        return _drawn(sizes, call)
    if name == "atleast_2d" or (name == "expand_dims" and integer(argument(call, 1, "axis")) == 0):
        return "sample"
    if name == "reshape" and begins_with_one(argument(call, 1, "newshape") or argument(call, 1, "shape")):
        return "sample"
    given = argument(call, 0)
    if name in _FROM_LIST and isinstance(given, cst.List):
        return _of_list(sizes, given)
    if name in _SHAPE_AT or qualified in _TF_SHAPE_AT:
        made = _new_array(sizes, call, name, qualified)
        if made is not None:
            return made
    if name in _STACKS and isinstance(given, cst.List | cst.Tuple) and len(given.elements) > 1:
        parts = {sizes.partial(element.value) for element in given.elements}
        if "sample" in parts and "batch" not in parts and _joins_within_samples(call, name):
            return "sample"
        return "batch" if parts & {"batch", "sample"} else "unknown"
    if qualified in ("random.sample", "random.choices"):
        return "sample" if sizes.infer.integers.only(argument(call, 1, "k")) == 1 else "batch"
    for target in sizes.calls.targets(call):
        returned = sizes.of_function(target, ())
        if returned != "unknown":
            return returned
    if names_drawing_a_batch(name):
        return "batch"
    if (name in ("float", "int", "len") and not qualified) or _is_number(call, qualified):
        return "scalar"
    return _passed_through(sizes, call, name, qualified)


def _is_number(call: cst.Call, qualified: str) -> bool:
    """Whether `call` gives a Python number, or makes one number of all that NumPy is given: `np.argmax(q)`."""
    if fact(qualified, "number") and not fact(qualified, "size-at"):
        return True
    is_of_all = library(qualified) == "numpy" and callee_name(call) in _OF_ALL
    return is_of_all and len(call.args) == 1 and not call.args[0].star


def _passed_through(sizes: Sizes, call: cst.Call, name: str, qualified: str) -> Size | None:
    """The size of what `call` gives, where it keeps the size of its first argument: most of NumPy and TensorFlow, and
    models."""
    if not call.args or name in _REDUCTIONS:
        # What `squeeze` takes away of a batch is an axis within its samples; of one sample it is the batch's.
        of_batch = name == "squeeze" and call.args and sizes.partial(call.args[0].value) == "batch"
        return "batch" if of_batch else "unknown"
    if has(qualified, "counts-up"):
        return "unknown"  # `np.arange(0, end, step)`: numbers say how long it is
    first = call.args[0]
    if name == "map" and len(call.args) == 2:
        return sizes.partial(call.args[1].value)
    if name == "zip" and first.star == "*":
        return sizes.partial(first.value)
    known = qualified.startswith(("np.", "tf.", "keras.")) and name[:1].islower()
    if (
        known
        or name in ("list", "tuple")
        or sizes.infer.value(call.func).kind in ("model", "layer", "compiled")
    ):
        return sizes.partial(first.value)
    return "unknown"


def _method(sizes: Sizes, call: cst.Call, receiver: cst.BaseExpression, name: str) -> Size | None:
    """The size of what `call`, of a method, gives; None where its name does not tell."""
    if name in ("reset", "step") and looks_like_environment(receiver):
        return "sample"
    if name == "reshape" and call.args:
        first = call.args[0].value
        if begins_with_one(first) or sizes.infer.integers.only(first) == 1:
            return "sample"
    if name in _KEEPING_METHODS:
        return sizes.partial(receiver)
    if name == "sample" and (_holds_samples(receiver) or _is_told_batch_size(call)):
        return "batch"
    if name in ("predict", "predict_on_batch") and call.args:
        return sizes.partial(call.args[0].value)
    return _drawn(sizes, call) if name in ("get_next", "next") else None


def _holds_samples(node: cst.BaseExpression) -> bool:
    """Whether `node` is a replay memory or a batch, by its name."""
    return bool(names_a_memory(last_name(node)) or names_a_batch(last_name(node)))


def _is_told_batch_size(call: cst.Call) -> bool:
    """Whether `call` is given how many samples make a batch: `replay.sample(batch_size)`."""
    return bool(call.args) and bool(names_a_batch_size(last_name(call.args[0].value)))


def _drawn(sizes: Sizes, call: cst.Call) -> Size | None:
    """What `next(iterator)` gives."""
    source = (
        call.args[0].value if call.args else call.func.value if isinstance(call.func, cst.Attribute) else None
    )
    if source is None:
        return "unknown"
    value = sizes.infer.value(source)
    if value.kind == "generator" and value.function is not None:
        known = sizes.of_function(value.function, ())
        return known if known != "unknown" else "batch"
    return size_of_element(sizes.infer, value) if value.kind in ("iterator", "dataset") else "batch"


def _of_list(sizes: Sizes, given: cst.List) -> Size | None:
    """The size of an array made of the list `given`: `np.array([x])` adds an axis of length one."""
    if len(given.elements) == 1:
        return "sample" if not is_constant(given) else "scalar"
    parts = {sizes.partial(element.value) for element in given.elements}
    if parts <= {"scalar"}:
        return "sample"
    return "batch" if parts <= {"sample", "batch"} else "unknown"


def _new_array(sizes: Sizes, call: cst.Call, name: str, qualified: str) -> Size | None:
    """The size of the new array that `call` makes, by its shape; None for other calls of such names."""
    if qualified in _TF_SHAPE_AT:
        shape = argument(call, _TF_SHAPE_AT[qualified], "shape")
    elif qualified.startswith("np.") or keyword_argument(call, "size") is not None:
        shape = argument(call, _SHAPE_AT[name], "size") or keyword_argument(call, "shape")
    else:
        return None
    bindings = sizes.infer.bindings(shape)
    if len(bindings) == 1:
        given = _first_part(bindings[0].value)
        shape = given if isinstance(given, cst.Tuple | cst.List) else shape
    shape = _first_part(shape)
    if isinstance(shape, cst.Tuple | cst.List):
        shape = shape.elements[0].value if shape.elements else None
    return _by_first_axis(sizes, shape, call)


def _first_part(shape: cst.BaseExpression | None) -> cst.BaseExpression | None:
    """`(batch_size,)` of `(batch_size,) + shape`; other expressions as they are."""
    first = shape
    while isinstance(first, cst.BinaryOperation) and isinstance(first.operator, cst.Add):
        first = first.left
    return first if isinstance(first, cst.Tuple | cst.List) else shape


def _joins_within_samples(call: cst.Call, name: str) -> bool:
    """Whether `call`, a `concat`, joins arrays along another axis than the first: what was one sample stays one."""
    axis = argument(call, 1, "axis")
    return name in ("concat", "concatenate") and integer(axis) not in (0, None)


def _is_given_as_batch_size(sizes: Sizes, length: cst.BaseExpression) -> bool:
    """Whether `length` is a parameter for which a caller gives something named a batch size."""
    given = [each for b in sizes.infer.bindings(length) if b.kind == "param" for each in sizes.calls.given(b)]
    return any(names_a_batch_size(last_name(each)) for each in given)


def _by_first_axis(sizes: Sizes, length: cst.BaseExpression | None, call: cst.Call) -> Size:
    """The size of an array whose first axis has the length `length`: a number counts where the array is made anew in a
    loop."""
    if length is None:
        return "scalar"
    if sizes.infer.integers.only(length) == 1:
        return "sample"
    if any(names_a_batch_size(last_name(part)) for part in (length, *names_read(length))):
        return "batch"
    if sizes.is_length_of_batch(length) or _is_given_as_batch_size(sizes, length):
        return "batch"
    if integer(length) is not None:
        return "batch" if sizes.is_made_anew(call) else "unknown"
    return "batch" if callee_name(call) in _DRAWS and _is_asked_for(sizes, call, length) else "unknown"


def _is_asked_for(sizes: Sizes, call: cst.Call, length: cst.BaseExpression) -> bool:
    """Whether the caller says how many samples `call`, as in `sample(n)`, is to draw."""
    function = sizes.calls.function_at(call)
    return (
        function is not None
        and isinstance(length, cst.Name)
        and length.value in function.positional
        and bool(names_sampling(function.name))
    )


def counted(numbers: Iterable[cst.BaseExpression]) -> list[cst.BaseExpression]:
    """Of which things some numbers are the length: `len(batch)`."""
    return [
        number.args[0].value
        for number in numbers
        if isinstance(number, cst.Call) and is_name(number.func, "len") and number.args
    ]


def begins_with_one(shape: cst.BaseExpression | None) -> bool:
    """Whether `shape` is `(1, …)`."""
    return (
        isinstance(shape, cst.Tuple | cst.List)
        and bool(shape.elements)
        and integer(shape.elements[0].value) == 1
    )


def looks_like_environment(node: cst.BaseExpression) -> bool:
    """Whether `node` has the name of an environment: `env`, `self.env`."""
    return bool(names_an_environment(last_name(node)))


def is_of_environment(call: cst.Call) -> bool:
    """Whether `call` steps or resets an environment: `env.step(…)` and `env.reset()`."""
    return (
        callee_name(call) in ("step", "reset")
        and isinstance(call.func, cst.Attribute)
        and looks_like_environment(call.func.value)
    )


def remembers_step(call: cst.Call) -> bool:
    """Whether `call` stores a step in a replay memory: `memory.append((state, action, reward, next_state, done))`,
    `agent.remember(state, action, reward, …)`."""
    if not isinstance(call.func, cst.Attribute):
        return False
    name = callee_name(call)
    into_memory = name in ("append", "add", "push", "store") and names_a_memory(last_name(call.func.value))
    if not into_memory and not names_remembering(name):
        return False
    parts = [
        part
        for arg in call.args
        for part in (arg.value.elements if isinstance(arg.value, cst.Tuple) else [arg])
    ]
    said = [last_name(part.value) for part in parts]
    return len(said) >= 4 and any(map(names_a_reward, said)) and any(map(names_a_state, said))


def draws_batch(call: cst.Call) -> bool:
    """Whether `call` draws a batch: `memory.sample(…)`, `loader.next_batch()`."""
    if not isinstance(call.func, cst.Attribute):
        return False
    name = callee_name(call)
    return bool(names_drawing_a_batch(name)) or (name == "sample" and _holds_samples(call.func.value))


def gives_batches_by_name(sizes: Sizes, call: cst.Call) -> bool:
    """Whether a loop over `call` gets one batch after the other, by its name: `data.get_batch_data()`, a generator of
    another file.

    A memory of reinforcement learning is asked for one batch, whose transitions the loop goes through.
    """
    name = callee_name(call)
    draws = bool(names_drawing_a_batch(name)) and not name.startswith("sample")
    memory = isinstance(call.func, cst.Attribute) and names_a_memory(last_name(call.func.value))
    if not draws or memory or sizes.calls.targets(call):
        return False
    return not has_environment(sizes.infer.walk.calls)


def has_environment(calls: Mapping[str, Sequence[cst.Call]]) -> bool:
    """Whether a file, by its calls, steps an environment anywhere, here or in other processes."""
    steps = any(is_of_environment(call) for name in ("step", "reset") for call in calls.get(name, ()))
    return steps or any(map(_hears_of_worker, calls.get("recv", ())))


def _hears_of_worker(call: cst.Call) -> bool:
    """Whether `call` receives from another process: `conn.recv()`."""
    return isinstance(call.func, cst.Attribute) and bool(names_a_worker(last_name(call.func.value)))


def size_of_element(infer: Inference, value: Value) -> Size:
    """The size of a dataset's elements: batches, unless it was surely never batched, or gives all samples at once."""
    if value.pipelines and all(map(infer.integers.gives_all_at_once, value.pipelines)):
        return "unknown"
    for pipeline in value.pipelines:
        source = pipeline[0].name
        if fact(source, "batched") == "yes" or source.endswith("(batch_size)"):
            return "batch"
        if any(stage.inputs for stage in pipeline):
            return "batch"
    batched = any(
        value.some_pipeline_has(stage) for stage in (*methods("Dataset", "makes-batches"), "window", "apply")
    )
    return "sample" if value.pipelines and not batched else "batch"


def is_flow(node: cst.CSTNode | None) -> bool:
    """Whether `node` makes a Keras generator of batches."""
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return False
    if callee_name(node) == "flow":
        name = last_name(node.func.value)
        named = (
            names_a_stream(name)
            or names_augmenting(name)
            or names_training_data(name)
            or names_evaluation(name)
        )
        return bool(named) or keyword_argument(node, "batch_size") is not None
    return callee_name(node) in ("flow_from_directory", "flow_from_dataframe")
