"""How much data a call gives, by what is called."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import libcst as cst

from tflint_perf.analysis.apis.dataset_apis import BATCHING, DATASET_FUNCTIONS
from tflint_perf.analysis.python.syntax import (
    argument,
    callee_name,
    integer,
    is_constant,
    is_name,
    keyword_argument,
    last_name,
    names_read,
)
from tflint_perf.analysis.values.values import Value

if TYPE_CHECKING:
    from tflint_perf.analysis.execution.sizes import Size, Sizes

BATCH_SIZE = re.compile(r"batch|(^|_)bs$", re.I)
_DRAWS_BATCH = re.compile(
    r"(^|_|mini)batch$|^(next|sample|get|load|generate|make|random|fetch)_(mini)?batch"
    r"|^sample_(from_)?(memory|(replay_)?buffer|transitions?|experiences?)$"
)
_MEMORY = re.compile(r"memory|buffer|replay|batch", re.I)
_IS_MEMORY = re.compile(r"memory|buffer|replay", re.I)
_REMEMBERS = re.compile(
    r"^(remember|memorize|observe|cache|(store|add|save|append)(_to)?_(transition|experience|memory|sample)s?)$"
)
_REWARD = re.compile(r"^r$|reward", re.I)
_STATE = re.compile(r"^s_?$|state|obs", re.I)
# What a connection to a process goes by that steps an environment.
_WORKER = re.compile(r"conn|remote|pipe|worker", re.I)
_ENVIRONMENT = re.compile(r"^_*(train_|eval_|test_)?envs?(ironment)?$", re.I)
# The position of a new array's shape.
_SHAPE_AT = {
    "normal": 2, "uniform": 2, "randint": 2, "binomial": 2, "choice": 1, "random": 0, "random_sample": 0,
    "standard_normal": 0, "integers": 2, "multinomial": 2, "zeros": 0, "ones": 0, "empty": 0, "full": 0, "rand": 0, "randn": 0,
}  # fmt: skip
_TF_SHAPE_AT = {"tf.random.normal": 0, "tf.random.uniform": 0, "tf.random.truncated_normal": 0, "tf.zeros": 0,
                "tf.ones": 0, "tf.fill": 0}  # fmt: skip
# What draws places of a memory at random, and methods that give what stands there.
_DRAWS = frozenset(["choice", "randint", "integers"])
_SAMPLES = re.compile(r"sample|batch|draw|replay", re.I)
_FROM_LIST = frozenset(
    ["array", "asarray", "convert_to_tensor", "constant", "pad_sequences", "texts_to_sequences", "transform"]
)
_STACKS = frozenset(["stack", "vstack", "hstack", "concatenate", "concat"])
_KEEPING_METHODS = frozenset(
    ["astype", "copy", "numpy", "toarray", "reshape", "flatten", "to_numpy", "clip", "round", "tolist"]
)
_REDUCTIONS = frozenset(["mean", "sum", "max", "min", "amax", "amin", "std", "var", "median", "argmax", "argmin", "prod", "squeeze", "any", "all", "dot", "reduce_mean", "reduce_sum", "reduce_max", "reduce_min", "shape", "size", "ndim", "len", "where"])  # fmt: skip


def size_of_call(sizes: Sizes, call: cst.Call) -> Size | None:
    """The size of what a call gives; None while it is being worked out."""
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
        return "sample" if integer(argument(call, 1, "k")) == 1 else "batch"
    for target in sizes.calls.targets(call):
        returned = sizes.of_function(target, ())
        if returned != "unknown":
            return returned
    if _DRAWS_BATCH.search(name):
        return "batch"
    if name in ("float", "int", "len") and not qualified:
        return "scalar"
    return _passed_through(sizes, call, name, qualified)


def _passed_through(sizes: Sizes, call: cst.Call, name: str, qualified: str) -> Size | None:
    """Functions that keep their first argument's size: most of NumPy and TensorFlow, and models."""
    if not call.args or name in _REDUCTIONS:
        # What `squeeze` takes away of a batch is an axis within its samples; of one sample it is the batch's.
        of_batch = name == "squeeze" and call.args and sizes.partial(call.args[0].value) == "batch"
        return "batch" if of_batch else "unknown"
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
    """The size of what a method gives; None where its name does not tell."""
    if name in ("reset", "step") and looks_like_environment(receiver):
        return "sample"
    if name == "reshape" and call.args:
        first = call.args[0].value
        if begins_with_one(first) or integer(first) == 1:
            return "sample"
    if name in _KEEPING_METHODS:
        return sizes.partial(receiver)
    if name == "sample" and (_MEMORY.search(last_name(receiver)) or _is_told_batch_size(call)):
        return "batch"
    if name in ("predict", "predict_on_batch") and call.args:
        return sizes.partial(call.args[0].value)
    return _drawn(sizes, call) if name in ("get_next", "next") else None


def _is_told_batch_size(call: cst.Call) -> bool:
    """Whether a call is given how many samples make a batch: `replay.sample(batch_size)`."""
    return bool(call.args) and BATCH_SIZE.search(last_name(call.args[0].value)) is not None


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
    return size_of_element(value) if value.kind in ("iterator", "dataset") else "batch"


def _of_list(sizes: Sizes, given: cst.List) -> Size | None:
    """`np.array([x])` adds an axis of length one; several samples in a list make a batch."""
    if len(given.elements) == 1:
        return "sample" if not is_constant(given) else "scalar"
    parts = {sizes.partial(element.value) for element in given.elements}
    if parts <= {"scalar"}:
        return "sample"
    return "batch" if parts <= {"sample", "batch"} else "unknown"


def _new_array(sizes: Sizes, call: cst.Call, name: str, qualified: str) -> Size | None:
    """The size of a new array, by its shape; None for other calls of such names."""
    if qualified in _TF_SHAPE_AT:
        shape = argument(call, _TF_SHAPE_AT[qualified], "shape")
    elif qualified.startswith("np.") or keyword_argument(call, "size") is not None:
        shape = argument(call, _SHAPE_AT[name], "size") or keyword_argument(call, "shape")
    else:
        return None
    found = sizes.infer.bindings_reaching(shape) if isinstance(shape, cst.Name) else None
    if found is not None and len(found[1]) == 1:
        given = _first_part(found[1][0].value)
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
    """Whether `concat` joins arrays along another axis than the first: what was one sample stays one."""
    axis = argument(call, 1, "axis")
    return name in ("concat", "concatenate") and integer(axis) not in (0, None)


def _is_given_as_batch_size(sizes: Sizes, length: cst.BaseExpression) -> bool:
    """Whether a length is a parameter for which a caller gives what it calls a batch size."""
    found = sizes.infer.bindings_reaching(length) if isinstance(length, cst.Name) else None
    given = (
        [each for b in found[1] if b.kind == "param" for each in sizes.given(b)] if found is not None else []
    )
    return any(BATCH_SIZE.search(last_name(each)) for each in given)


def _by_first_axis(sizes: Sizes, length: cst.BaseExpression | None, call: cst.Call) -> Size:
    """The size by the length of the first axis: a number counts where the array is made anew in a loop."""
    if length is None:
        return "scalar"
    number = integer(length)
    if number == 1:
        return "sample"
    if any(BATCH_SIZE.search(last_name(part)) for part in (length, *names_read(length))):
        return "batch"
    if sizes.is_length_of_batch(length) or _is_given_as_batch_size(sizes, length):
        return "batch"
    if number is not None:
        return "batch" if sizes.is_made_anew(call) else "unknown"
    return "batch" if callee_name(call) in _DRAWS and _is_asked_for(sizes, call, length) else "unknown"


def _is_asked_for(sizes: Sizes, call: cst.Call, length: cst.BaseExpression) -> bool:
    """Whether who calls `sample(n)` says how many to draw."""
    function = sizes.calls.function_at(call)
    return (
        function is not None
        and isinstance(length, cst.Name)
        and length.value in function.positional
        and _SAMPLES.search(function.name) is not None
    )


def counted(numbers: Iterable[cst.BaseExpression]) -> list[cst.BaseExpression]:
    """Of which things some numbers are the length: `len(batch)`."""
    return [
        number.args[0].value
        for number in numbers
        if isinstance(number, cst.Call) and is_name(number.func, "len") and number.args
    ]


def begins_with_one(shape: cst.BaseExpression | None) -> bool:
    """Whether a shape is `(1, …)`."""
    return (
        isinstance(shape, cst.Tuple | cst.List)
        and bool(shape.elements)
        and integer(shape.elements[0].value) == 1
    )


def looks_like_environment(node: cst.BaseExpression) -> bool:
    """`env`, `self.env`: an environment of reinforcement learning goes by its usual names."""
    return bool(_ENVIRONMENT.match(last_name(node)))


def is_of_environment(call: cst.Call) -> bool:
    """`env.step(…)` and `env.reset()`."""
    return (
        callee_name(call) in ("step", "reset")
        and isinstance(call.func, cst.Attribute)
        and looks_like_environment(call.func.value)
    )


def remembers_step(call: cst.Call) -> bool:
    """`memory.append((state, action, reward, next_state, done))`, `agent.remember(state, action, reward, …)`: what an agent
    keeps of one step of its environment, whatever that is called."""
    if not isinstance(call.func, cst.Attribute):
        return False
    name = callee_name(call)
    into_memory = name in ("append", "add", "push", "store") and _IS_MEMORY.search(last_name(call.func.value))
    if not into_memory and not _REMEMBERS.search(name):
        return False
    parts = [
        part
        for arg in call.args
        for part in (arg.value.elements if isinstance(arg.value, cst.Tuple) else [arg])
    ]
    said = [last_name(part.value) for part in parts]
    return len(said) >= 4 and any(map(_REWARD.search, said)) and any(map(_STATE.search, said))


def draws_batch(call: cst.Call) -> bool:
    """`memory.sample(…)`, `loader.next_batch()`: a batch drawn on the host, where nothing shows another make."""
    if not isinstance(call.func, cst.Attribute):
        return False
    name = callee_name(call)
    return bool(_DRAWS_BATCH.search(name)) or (
        name == "sample" and bool(_MEMORY.search(last_name(call.func.value)))
    )


def gives_batches_by_name(sizes: Sizes, call: cst.Call) -> bool:
    """Whether a loop over `data.get_batch_data()` gets one batch after the other: a generator of another file.

    A memory of reinforcement learning is asked for one batch, whose transitions the loop goes through.
    """
    name = callee_name(call)
    draws = _DRAWS_BATCH.search(name) is not None and not name.startswith("sample")
    memory = isinstance(call.func, cst.Attribute) and _IS_MEMORY.search(last_name(call.func.value))
    if not draws or memory or sizes.calls.targets(call):
        return False
    return not has_environment(sizes.infer.walk.calls)


def has_environment(calls: Mapping[str, Sequence[cst.Call]]) -> bool:
    """Whether a file, by its calls, steps an environment anywhere, here or in other processes."""
    steps = any(is_of_environment(call) for name in ("step", "reset") for call in calls.get(name, ()))
    return steps or any(map(_hears_of_worker, calls.get("recv", ())))


def _hears_of_worker(call: cst.Call) -> bool:
    """`conn.recv()`: what a process gives that steps an environment of its own."""
    return isinstance(call.func, cst.Attribute) and bool(_WORKER.search(last_name(call.func.value)))


def size_of_element(value: Value) -> Size:
    """The size of a dataset's elements: batches, unless it was surely never batched."""
    for pipeline in value.pipelines:
        source = pipeline[0].name
        if DATASET_FUNCTIONS.get(source) or source.endswith("(batch_size)"):
            return "batch"
        if any(stage.inputs for stage in pipeline):
            return "batch"
    batched = any(value.some_pipeline_has(stage) for stage in (*BATCHING, "window", "apply"))
    return "sample" if value.pipelines and not batched else "batch"


def is_flow(node: cst.CSTNode | None) -> bool:
    """Whether an expression makes a Keras generator of batches."""
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return False
    if callee_name(node) == "flow":
        named = re.search(r"gen|aug|train|val|test", last_name(node.func.value), re.I) is not None
        return named or keyword_argument(node, "batch_size") is not None
    return callee_name(node) in ("flow_from_directory", "flow_from_dataframe")
