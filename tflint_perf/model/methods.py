"""What calls, methods, attributes and iteration give, by the kind of value they are asked of."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from tflint_perf.model.apis import TENSOR_METHODS, kind_of_call
from tflint_perf.model.dataset_apis import DATASET_FUNCTIONS, DATASET_SOURCES, DATASET_STAGES
from tflint_perf.model.syntax import argument, integer, keyword_argument, string
from tflint_perf.model.values import ARRAY, NONE, NUMBER, TENSOR, UNKNOWN, Stage, Value, join

if TYPE_CHECKING:
    from collections.abc import Callable

    from tflint_perf.model.infer import Inference
    from tflint_perf.model.scopes import Function

_TENSORS = Value("list", element=TENSOR)
_PAIRS_OF_ARRAYS = Value("tuple", items=(Value("tuple", items=(ARRAY, ARRAY)),) * 2)
_GENERATOR = Value("object", name="np.random.Generator")
_HOST_ELEMENT = Value("tensor", host=True)
_PROGRESS_BARS = frozenset({"tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.notebook.tqdm", "tqdm.std.tqdm", "tqdm.trange",
                            "fastprogress.progress_bar", "progressbar.progressbar", "rich.progress.track"})  # fmt: skip


def builtin_or_qualified(infer: Inference, function: cst.BaseExpression) -> str:
    """The qualified name of what is called; the plain name for a builtin that the file does not redefine."""
    name = infer.names.qualified(function)
    if not name and isinstance(function, cst.Name):
        if infer.names.lookup(function.value, infer.names.scope_of(function)) is None:
            return function.value
    return name


def value_of_call(infer: Inference, call: cst.Call) -> Value:
    """What a call gives."""
    name = builtin_or_qualified(infer, call.func)
    if name:
        return _named_call(infer, call, name)
    if isinstance(call.func, cst.Attribute):
        base = infer.value(call.func.value)
        if base.klass is None or base.kind not in ("instance", "class"):
            result = _method(infer, call, base, call.func.attr.value)
            if result is not None:
                return result
    return _called(infer, call, infer.value(call.func))


def _called(infer: Inference, call: cst.Call, callee: Value) -> Value:
    match callee.kind:
        case "function" if callee.function is not None:
            return infer.returned(callee.function)
        case "compiled":
            return _traced(infer.returned(callee.function)) if callee.function is not None else TENSOR
        case "class" if callee.klass is not None:
            return infer.instance_of(callee.klass)
        case "model" | "layer":
            method = _own_method(infer, callee, "call")
            return _traced(infer.returned(method)) if method is not None else TENSOR
        case "loss" | "metric":
            return TENSOR
        case "instance" if callee.klass is not None:
            method = _own_method(infer, callee, "__call__")
            return infer.returned(method) if method is not None else UNKNOWN
    return UNKNOWN


def _own_method(infer: Inference, value: Value, name: str) -> Function | None:
    if value.klass is None:
        return None
    return next((c.methods[name] for c in infer.lineage(value.klass) if name in c.methods), None)


def _traced(value: Value) -> Value:
    """What comes out of compiled code: everything that is not structure is a tensor."""
    match value.kind:
        case "tuple" | "list" if value.items is not None:
            return Value(value.kind, items=tuple(_traced(item) for item in value.items), element=TENSOR)
        case "list" | "dict" | "tuple":
            return Value(value.kind, element=TENSOR)
        case "none":
            return NONE
        case "tensor":
            return replace(value, host=False)
    return TENSOR


def _named_call(infer: Inference, call: cst.Call, name: str) -> Value:
    if name.startswith("tf.data.Dataset.") and name.rsplit(".", 1)[1] in DATASET_SOURCES:
        return dataset_from(infer, call, name.rsplit(".", 1)[1])
    if name in DATASET_FUNCTIONS:
        return dataset_from(infer, call, name)
    if name.startswith("keras.datasets.") and name.endswith(".load_data"):
        return _PAIRS_OF_ARRAYS
    handler = _BY_NAME.get(name)
    if handler is not None:
        return handler(infer, call)
    if name in _PROGRESS_BARS or name.endswith(".tqdm") or name == "tqdm":
        return infer.value(call.args[0].value) if call.args else UNKNOWN
    kind = kind_of_call(name)
    if kind == "tensors":
        return _TENSORS
    if kind in ("tensor", "array"):
        return Value(kind, name=name, dtype=dtype_of_call(infer, call, name))  # type: ignore[arg-type]
    return Value(kind, name=name) if kind else UNKNOWN  # type: ignore[arg-type]


def dtype_of_call(infer: Inference, call: cst.Call, name: str) -> str:
    """The dtype that a tensor- or array-making call asks for: "float32"; "" when it does not say."""
    positions = {"tf.cast": 1, "tf.convert_to_tensor": 1, "tf.constant": 1, "tf.zeros": 1, "tf.ones": 1,
                 "np.array": 1, "np.asarray": 1, "np.zeros": 1, "np.ones": 1, "np.asfarray": 1}  # fmt: skip
    given = argument(call, positions.get(name), "dtype")
    if given is not None:
        return dtype_name(infer, given)
    if name in ("tf.random.normal", "tf.random.uniform", "tf.zeros", "tf.ones", "tf.random.truncated_normal"):
        return "float32"
    if name == "tf.convert_to_tensor" and call.args:
        return infer.value(call.args[0].value).dtype
    if name.startswith("np.random.") and name.rsplit(".", 1)[1] in (
        "rand",
        "randn",
        "normal",
        "uniform",
        "random",
    ):
        return "float64"
    return ""


def dtype_name(infer: Inference, node: cst.BaseExpression) -> str:
    """ "float32" for `tf.float32`, `np.float32`, `"float32"`; "" for anything else."""
    name = infer.names.qualified(node)
    if name.startswith(("tf.", "np.")):
        return name.rsplit(".", 1)[1]
    return string(node) or ""


def dataset_from(infer: Inference, call: cst.Call, source: str) -> Value:
    """A dataset at its source."""
    inputs: tuple[Value, ...] = ()
    if source in ("zip", "choose_from_datasets", "sample_from_datasets") and call.args:
        given = call.args[0].value
        if isinstance(given, cst.Tuple | cst.List):
            inputs = tuple(infer.value(element.value) for element in given.elements)
        elif len(call.args) > 1 or infer.value(given).kind == "dataset":
            inputs = tuple(infer.value(arg.value) for arg in call.args if arg.keyword is None)
    return Value("dataset", pipelines=((Stage(source, call, inputs),),))


def _stage(infer: Inference, call: cst.Call, base: Value, name: str) -> Value:
    inputs = (infer.value(call.args[0].value),) if name in ("concatenate", "zip") and call.args else ()
    stage = Stage(name, call, inputs)
    return Value("dataset", pipelines=tuple((*pipeline, stage) for pipeline in base.pipelines))


def element_of(infer: Inference, iterable: cst.BaseExpression) -> Value:
    """What a loop over `iterable` gives its target."""
    return element(infer.value(iterable))


def element(value: Value) -> Value:
    """What iterating over a value gives."""
    if value.element is not None:
        return value.element
    match value.kind:
        case "dataset" | "iterator":
            return _HOST_ELEMENT
        case "tensor" | "array":
            return replace(value, items=None, name="")
        case "list" | "tuple" if value.items:
            return join(value.items)
    return UNKNOWN


def _method(infer: Inference, call: cst.Call, base: Value, name: str) -> Value | None:
    match base.kind:
        case "dataset":
            if name in DATASET_STAGES:
                return _stage(infer, call, base, name)
            if name == "as_numpy_iterator":
                return Value("iterator", element=ARRAY, pipelines=base.pipelines)
            if name in ("make_one_shot_iterator", "make_initializable_iterator", "__iter__"):
                return Value("iterator", element=base.element, pipelines=base.pipelines)
            return TENSOR if name in ("reduce", "cardinality", "get_single_element") else UNKNOWN
        case "iterator":
            return element(base) if name in ("get_next", "next", "__next__") else UNKNOWN
        case "tensor" | "variable":
            if name == "numpy":
                return Value("array", dtype=base.dtype)
            return Value("tensor", dtype=base.dtype) if name in TENSOR_METHODS else UNKNOWN
        case "object" if base.name == _GENERATOR.name:
            return NONE if name in ("shuffle", "seed") else ARRAY
        case "array":
            return _array_method(infer, call, base, name)
        case "tape":
            return _TENSORS if name in ("gradient", "jacobian", "batch_jacobian") else UNKNOWN
        case "session":
            return ARRAY if name == "run" else UNKNOWN
        case "metric":
            return TENSOR if name == "result" and base.klass is None else None
        case "strategy":
            return _strategy_method(infer, call, name)
        case "model" | "layer":
            return _model_method(infer, base, name)
    return None


def _array_method(infer: Inference, call: cst.Call, base: Value, name: str) -> Value:
    if name == "astype":
        return Value("array", dtype=dtype_name(infer, call.args[0].value) if call.args else "")
    if name in ("item",):
        return NUMBER
    if name == "tolist":
        return Value("list")
    if (
        name in ("mean", "sum", "max", "min", "std", "var", "argmax", "argmin", "any", "all")
        and not call.args
    ):
        return NUMBER
    return Value("array", dtype=base.dtype)


def _model_method(infer: Inference, base: Value, name: str) -> Value | None:
    if base.klass is not None and _own_method(infer, base, name) is not None:
        return None
    if name in ("predict", "predict_on_batch"):
        return ARRAY
    if name in ("get_layer",):
        return Value("layer")
    if name in ("get_weights",):
        return Value("list", element=ARRAY)
    if name in ("train_on_batch", "test_on_batch", "evaluate"):
        return Value("object", name=f"keras.Model.{name}")
    return Value("object", name=f"keras.Model.{name}") if name in ("fit", "compile", "summary") else None


def _strategy_method(infer: Inference, call: cst.Call, name: str) -> Value:
    if name in ("experimental_distribute_dataset", "distribute_dataset") and call.args:
        return infer.value(call.args[0].value)
    if name in ("experimental_distribute_datasets_from_function", "distribute_datasets_from_function"):
        return Value("dataset")
    return TENSOR if name in ("run", "experimental_run_v2", "reduce") else UNKNOWN


def value_of_attribute(base: Value, name: str) -> Value:
    """What an attribute of a value that no class of this file defines is."""
    match base.kind:
        case "tensor" | "variable":
            return Value("tensor", dtype=base.dtype) if name in ("T", "values", "flat_values") else UNKNOWN
        case "array":
            return replace(base, items=None) if name == "T" else UNKNOWN
        case "model" | "layer":
            if name in (
                "trainable_variables",
                "trainable_weights",
                "weights",
                "variables",
                "non_trainable_variables",
            ):
                return Value("list", element=Value("variable"))
            if name == "layers":
                return Value("list", element=Value("layer"))
            if name == "optimizer":
                return Value("optimizer")
            return TENSOR if name in ("output", "input") else UNKNOWN
    return UNKNOWN


def value_of_annotation(infer: Inference, annotation: cst.BaseExpression) -> Value:
    """What an annotation tells: `tf.Tensor`, `tf.data.Dataset`, `np.ndarray`, `keras.Model`, `int`, `float`, `str`."""
    name = builtin_or_qualified(infer, annotation)
    kinds = {"tf.Tensor": "tensor", "tf.data.Dataset": "dataset", "np.ndarray": "array", "tf.Variable": "variable",
             "keras.Model": "model", "keras.models.Model": "model", "keras.layers.Layer": "layer",
             "keras.optimizers.Optimizer": "optimizer", "keras.metrics.Metric": "metric", "keras.losses.Loss": "loss",
             "int": "number", "float": "number", "bool": "number", "str": "string"}  # fmt: skip
    kind = kinds.get(name)
    if kind == "dataset":
        return Value("dataset")
    if kind is not None:
        return Value(kind)  # type: ignore[arg-type]
    told = infer.value(annotation) if isinstance(annotation, cst.Name) else UNKNOWN
    return infer.instance_of(told.klass) if told.kind == "class" and told.klass is not None else UNKNOWN


# Builtins and TensorFlow functions whose value depends on their arguments


def _first(infer: Inference, call: cst.Call) -> Value:
    return infer.value(call.args[0].value) if call.args else UNKNOWN


def _enumerate(infer: Inference, call: cst.Call) -> Value:
    inner = element(_first(infer, call))
    return Value("generator", name="enumerate", element=Value("tuple", items=(NUMBER, inner)))


def _zip(infer: Inference, call: cst.Call) -> Value:
    if any(arg.star for arg in call.args):
        return Value("generator", name="zip")
    items = tuple(element(infer.value(arg.value)) for arg in call.args if arg.keyword is None)
    return Value("generator", name="zip", element=Value("tuple", items=items))


def _iter(infer: Inference, call: cst.Call) -> Value:
    value = _first(infer, call)
    if value.kind == "dataset":
        return Value("iterator", pipelines=value.pipelines, element=value.element)
    return value if value.kind in ("iterator", "generator") else UNKNOWN


def _next(infer: Inference, call: cst.Call) -> Value:
    value = _first(infer, call)
    return element(value) if value.kind in ("iterator", "generator") else UNKNOWN


def _sequence(infer: Inference, call: cst.Call) -> Value:
    value = _first(infer, call)
    if not value.known and not call.args:
        return Value("list")
    inner = element(value)
    return Value("list", element=inner if inner.known else None)


def _compiled(infer: Inference, call: cst.Call) -> Value:
    given = argument(call, 0, "func") or argument(call, 0, "python_function")
    return Value("compiled", function=infer.value(given).function if given is not None else None)


def _range(infer: Inference, call: cst.Call) -> Value:
    return Value("generator", name="range", element=NUMBER)


def _tf_range(infer: Inference, call: cst.Call) -> Value:
    return Value("tensor", name="tf.range")


def _partial(infer: Inference, call: cst.Call) -> Value:
    return _first(infer, call)


def _tfds_load(infer: Inference, call: cst.Call) -> Value:
    """`tfds.load`: datasets whose elements are single samples, unless `batch_size` is given."""
    batched = keyword_argument(call, "batch_size")
    source = "tfds.load(batch_size)" if batched is not None and integer(batched) != 1 else "tfds.load"
    one = Value("dataset", pipelines=((Stage(source, call),),))
    split = argument(call, 1, "split")
    if isinstance(split, cst.List | cst.Tuple):
        several = tuple(one for _ in split.elements)
        datasets = Value("list", items=several, element=one)
    elif split is None:
        datasets = Value("dict", element=one)
    else:
        datasets = one
    with_info = keyword_argument(call, "with_info")
    if isinstance(with_info, cst.Name) and with_info.value == "True":
        return Value("tuple", items=(datasets, Value("object", name="tfds.core.DatasetInfo")))
    return datasets if with_info is None or isinstance(with_info, cst.Name) else UNKNOWN


def _convert(infer: Inference, call: cst.Call) -> Value:
    # On a tensor it gives that same tensor, so an element of a dataset stays one in host memory.
    return Value(
        "tensor", name="tf.convert_to_tensor", dtype=dtype_of_call(infer, call, "tf.convert_to_tensor")
    )


_BY_NAME: dict[str, Callable[[Inference, cst.Call], Value]] = {
    "enumerate": _enumerate,
    "zip": _zip,
    "iter": _iter,
    "next": _next,
    "list": _sequence,
    "tuple": _sequence,
    "sorted": _sequence,
    "reversed": _first,
    "range": _range,
    "tf.range": _tf_range,
    "tf.function": _compiled,
    "tf.identity": lambda infer, call: (
        replace(v, host=False) if (v := _first(infer, call)).kind == "tensor" else TENSOR
    ),
    "tf.convert_to_tensor": _convert,
    "functools.partial": _partial,
    "tensorflow_datasets.load": _tfds_load,
    "np.random.default_rng": lambda infer, call: _GENERATOR,
    "np.random.RandomState": lambda infer, call: _GENERATOR,
    "super": lambda infer, call: UNKNOWN,
}
