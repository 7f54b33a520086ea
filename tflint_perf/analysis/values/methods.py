"""What calls, methods and attributes give, by the kind of value they are asked of."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from tflint_perf.analysis.apis.facts import has, methods
from tflint_perf.analysis.python.syntax import argument, keyword_argument, string
from tflint_perf.analysis.values.named_calls import (
    GENERATOR,
    TENSORS,
    TFDS_BUILDER,
    builtin_or_qualified,
    datasets_of_tfds,
    dtype_name,
    value_of_named_call,
)
from tflint_perf.analysis.values.values import (
    ARRAY,
    NEVER,
    NONE,
    NOWHERE,
    NUMBER,
    STRING,
    TENSOR,
    UNKNOWN,
    Pipeline,
    Stage,
    Value,
    element,
    join,
    stream_from,
)

if TYPE_CHECKING:
    from tflint_perf.analysis.python.scopes import Class, Function
    from tflint_perf.analysis.values.infer import Inference


def value_of_call(infer: Inference, call: cst.Call) -> Value:
    """What a call gives."""
    name = builtin_or_qualified(infer, call.func)
    if name:
        known = value_of_named_call(infer, call, name)
        if known.known:
            return known
        callee = infer.value(call.func)
        return _called(infer, call, callee) if callee.paths else known
    if isinstance(call.func, cst.Attribute):
        base = infer.value(call.func.value)
        if base is NEVER:
            return NEVER
        if base.either and (callee := infer.value(call.func)) is not UNKNOWN:
            return _called(infer, call, callee)
        if base.klass is None or base.kind not in ("instance", "class"):
            result = _method(infer, call, base, call.func.attr.value)
            if result is not None:
                return result
    return _called(infer, call, infer.value(call.func))


def _called(infer: Inference, call: cst.Call, callee: Value) -> Value:
    if callee is NEVER:
        return NEVER
    if callee.either:
        return join(_called(infer, call, each) for each in callee.either)
    if callee.outside and callee.klass is None:
        value = infer.outside.called(callee.outside)
        given = infer.outside.gives_back(callee.outside) if value is UNKNOWN else ()
        back = argument(call, given[0][1], given[0][0]) if given else None
        return infer.value(back) if back is not None else value
    match callee.kind:
        case "function" if callee.function is not None:
            return _as_called(infer, call, callee.function)
        case "compiled":
            return traced(infer.returned(callee.function)) if callee.function is not None else TENSOR
        case "class" if callee.klass is not None:
            return _instance(infer, callee.klass)
        case "model" | "layer":
            method = _own_method(infer, callee, "call")
            return traced(infer.returned(method)) if method is not None else TENSOR
        case "loss" | "metric":
            return TENSOR
        case "instance" if callee.klass is not None:
            method = _own_method(infer, callee, "__call__")
            return infer.returned(method) if method is not None else UNKNOWN
    return UNKNOWN


def _as_called(infer: Inference, call: cst.Call, function: Function) -> Value:
    """What a function gives to one of its callers: of datasets, those made of what that caller gives it."""
    value = infer.returned(function)
    if value.kind in ("never", "none") and isinstance(call.func, cst.Attribute):
        # What is there to be overridden gives what the classes below do.
        below = [infer.returned(override) for override in infer.classes.overrides(call.func)]
        value = join(below) if below else value
    if infer.arguments_of is None or not _holds_several_ways(value):
        return value
    given = {way for arg in call.args for way in infer.value(arg.value).pipelines}
    if not given:
        return value
    others = {
        way
        for name in function.positional
        for argument in infer.arguments_of(function, name)
        for way in infer.value(argument).pipelines
    } - given
    return _without(value, others, given) if others else value


def _holds_several_ways(value: Value) -> bool:
    parts = value.items or () if value.kind == "tuple" else (value,)
    return any(part.kind == "dataset" and len(part.pipelines) > 1 for part in parts)


def _without(value: Value, others: set[Pipeline], given: set[Pipeline]) -> Value:
    """A dataset without the ways that begin like those of `others`, but for those that begin like `given`."""
    if value.kind == "tuple" and value.items is not None:
        return replace(value, items=tuple(_without(item, others, given) for item in value.items))
    kept = tuple(way for way in value.pipelines if _begins(way, given) or not _begins(way, others))
    return replace(value, pipelines=kept) if kept else value


def _begins(way: Pipeline, beginnings: set[Pipeline]) -> bool:
    return any(way[: len(beginning)] == beginning for beginning in beginnings)


def _instance(infer: Inference, klass: Class) -> Value:
    """What calling a class of this file gives: an object of it, unless `__new__` makes a dataset."""
    maker = klass.methods.get("__new__")
    made = infer.returned(maker) if maker is not None else UNKNOWN
    return made if made.kind == "dataset" else infer.classes.instance_of(klass)


def _own_method(infer: Inference, value: Value, name: str) -> Function | None:
    if value.klass is None:
        return None
    return next((c.methods[name] for c in infer.classes.lineage(value.klass) if name in c.methods), None)


def traced(value: Value) -> Value:
    """What comes out of compiled code: everything that is not structure is a tensor."""
    match value.kind:
        case "tuple" | "list" if value.items is not None:
            return Value(value.kind, items=tuple(traced(item) for item in value.items), element=TENSOR)
        case "list" | "dict" | "tuple":
            return Value(value.kind, element=TENSOR)
        case "none":
            return NONE
        case "tensor":
            return replace(value, host=False)
    return TENSOR


def _stage(infer: Inference, call: cst.Call, base: Value, name: str) -> Value:
    inputs = (infer.value(call.args[0].value),) if name in ("concatenate", "zip") and call.args else ()
    stage = Stage(name, call, inputs)
    return Value("dataset", pipelines=tuple((*pipeline, stage) for pipeline in base.pipelines))


def _dataset_method(infer: Inference, call: cst.Call, base: Value, name: str) -> Value:
    if name == "apply" and (made := _applied(infer, call)) is not None:
        return made
    if name in methods("Dataset", "stage"):
        return _stage(infer, call, base, name)
    if name == "as_numpy_iterator":
        return Value("iterator", element=ARRAY, pipelines=base.pipelines)
    if name in ("make_one_shot_iterator", "make_initializable_iterator", "__iter__"):
        return Value("iterator", element=base.element, pipelines=base.pipelines)
    return TENSOR if name in ("reduce", "cardinality", "get_single_element") else UNKNOWN


def _method(infer: Inference, call: cst.Call, base: Value, name: str) -> Value | None:
    match base.kind:
        case "dataset":
            return _dataset_method(infer, call, base, name)
        case "iterator":
            return element(base) if name in ("get_next", "next", "__next__") else UNKNOWN
        case "tensor" | "variable":
            if name == "numpy":
                return Value("array", dtype=base.dtype)
            return (
                Value("tensor", dtype=base.dtype)
                if name in methods("Variable RaggedTensor", "gives")
                else UNKNOWN
            )
        case "object" if base.name == GENERATOR.name:
            return NONE if name in ("shuffle", "seed") else ARRAY
        case "object" if has(base.name, "tensor-array"):
            if name in methods("TensorArray", "tensor-array"):
                return base
            return TENSOR if name in methods("TensorArray", "gives") else UNKNOWN
        case "object" if base.name == TFDS_BUILDER.name and name == "as_dataset":
            return datasets_of_tfds(infer, call, 0)
        case "array":
            return _array_method(infer, call, base, name)
        case "dict":
            return _dict_method(infer, call, base, name)
        case "tape":
            return TENSORS if name in ("gradient", "jacobian", "batch_jacobian") else UNKNOWN
        case "session":
            return ARRAY if name == "run" else UNKNOWN
        case "metric":
            return TENSOR if name == "result" and base.klass is None else None
        case "strategy":
            return _strategy_method(infer, call, name)
        case "model" | "layer":
            return _model_method(infer, base, name)
        case "unknown" if name in methods("Dataset", "stage") and keyword_argument(
            call, "num_parallel_calls"
        ):
            return _stage(infer, call, stream_from(NOWHERE), name)  # only a dataset takes that
        case "unknown" if name == "enter_context" and call.args:
            return infer.value(call.args[0].value)
    return None


def _applied(infer: Inference, call: cst.Call) -> Value | None:
    """The dataset that a function gives in `dataset.apply(prepare)`; None where it is not known to be one."""
    given = infer.value(call.args[0].value) if len(call.args) == 1 else UNKNOWN
    if given.kind != "function" or not isinstance(call.args[0].value, cst.Name):
        return None
    made = UNKNOWN
    if given.function is not None:
        made = infer.returned(given.function)
    elif given.outside:
        made = infer.outside.called(given.outside)
    return made if made.kind == "dataset" else None


def _dict_method(infer: Inference, call: cst.Call, base: Value, name: str) -> Value | None:
    held = base.element if base.element is not None else UNKNOWN
    if name == "items":
        return Value(
            "generator", name="items", element=Value("tuple", items=(STRING if base.keys else UNKNOWN, held))
        )
    if name == "values":
        return Value("list", element=base.element)
    if name in ("get", "pop") and call.args:
        key = string(call.args[0].value)
        return base.items[base.keys.index(key)] if base.items and key in base.keys else held
    return replace(base) if name == "copy" else None


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
    if base.outside and infer.outside.member(base.outside, name).outside:
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


def is_compiled_attribute(infer: Inference, function: Function) -> bool:
    """Whether its class makes a method a `tf.function` in `__init__`."""
    if function.owner is None:
        return False
    instance = infer.classes.instance_of(function.owner)
    member = infer.classes.member(instance, function.name)
    return member is not None and member.kind == "compiled"
