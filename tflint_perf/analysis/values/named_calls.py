"""What builtins and the functions of TensorFlow, Keras and NumPy give, by their names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from tflint_perf.analysis.apis.facts import fact, has, library
from tflint_perf.analysis.conventions import names_a_wrapping_bar
from tflint_perf.analysis.python.syntax import argument, callee_name, keyword_argument, string
from tflint_perf.analysis.values.values import (
    ARRAY,
    NUMBER,
    ROWS,
    TENSOR,
    UNKNOWN,
    Stage,
    Value,
    element,
    join,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tflint_perf.analysis.values.infer import Inference

TENSORS = Value("list", element=TENSOR)
GENERATOR = Value("object", name="np.random.Generator")
TFDS_BUILDER = Value("object", name="tensorflow_datasets.core.DatasetBuilder")
_SPLITTING = frozenset({"even_splits", "subsplit"})
_PAIRS_OF_ARRAYS = Value("tuple", items=(Value("tuple", items=(ARRAY, ARRAY)),) * 2)


def minimizes_loss(infer: Inference, call: cst.Call) -> bool:
    """Whether `call` minimizes a loss: `optimizer.minimize(loss, variables)`."""
    loss = argument(call, 0, "loss")
    if callee_name(call) != "minimize" or not isinstance(call.func, cst.Attribute) or loss is None:
        return False
    base = infer.value(call.func.value)
    is_one = base.kind == "optimizer" or (
        not base.known
        and argument(call, 1, "var_list") is not None
        and not _is_of_another_library(infer, call.func.value)
    )
    return is_one and infer.value(loss).kind in ("function", "compiled")


def _is_of_another_library(infer: Inference, node: cst.BaseExpression) -> bool:
    """Whether a library makes what `node` stands for, and neither TensorFlow nor Keras: SciPy's minimizers compile by
    themselves in `gpflow.optimizers.Scipy()`."""
    made = (
        [b.value for b in infer.given_to(node) if b.kind == "assign"]
        if isinstance(node, cst.Name | cst.Attribute)
        else []
    )
    names = [infer.names.qualified(value.func) for value in made if isinstance(value, cst.Call)]
    return any(name and library(name) not in ("tensorflow", "keras") for name in names)


def builtin_or_qualified(infer: Inference, function: cst.BaseExpression) -> str:
    """The qualified name of `function`; the plain name for a builtin that the file does not redefine."""
    name = infer.names.qualified(function)
    if not name and isinstance(function, cst.Name) and infer.names.is_builtin(function):
        return function.value
    return name


def value_of_named_call(infer: Inference, call: cst.Call, name: str) -> Value:
    """What a call of a builtin or an imported function gives."""
    if has(name, "source"):
        return _dataset_from(infer, call, name.rsplit(".", 1)[1])
    if fact(name, "batched"):
        return _dataset_from(infer, call, name)
    if has(name, "gives-data"):
        return _PAIRS_OF_ARRAYS
    handler = _BY_RESULT.get(fact(name, "result"))
    if handler is not None:
        return handler(infer, call)
    if is_progress_bar(name):
        return infer.value(call.args[0].value) if call.args else UNKNOWN
    kind = fact(name, "gives")
    if kind == "tensors":
        return TENSORS
    if kind in ("tensor", "array"):
        return Value(kind, name=name, dtype=_dtype_of_call(infer, call, name))  # type: ignore[arg-type]
    return Value(kind, name=name) if kind else UNKNOWN  # type: ignore[arg-type]


def _dtype_of_call(infer: Inference, call: cst.Call, name: str) -> str:
    """The dtype that a tensor- or array-making call asks for: "float32"; "" when it does not say."""
    given = argument(call, int(at) if (at := fact(name, "dtype-at")) else None, "dtype")
    if given is not None:
        return dtype_name(infer, given)
    made = fact(name, "dtype")
    if made == "given":
        return infer.value(call.args[0].value).dtype if call.args else ""
    return made


def dtype_name(infer: Inference, node: cst.BaseExpression) -> str:
    """ "float32" for `tf.float32`, `np.float32`, `"float32"`; "" for anything else."""
    name = infer.names.qualified(node)
    if library(name) in ("tensorflow", "numpy"):
        return name.rsplit(".", 1)[1]
    return string(node) or ""


def _dataset_from(infer: Inference, call: cst.Call, source: str) -> Value:
    """A dataset at its source."""
    inputs: tuple[Value, ...] = ()
    if source in ("zip", "choose_from_datasets", "sample_from_datasets") and call.args:
        given = call.args[0].value
        if isinstance(given, cst.Tuple | cst.List):
            inputs = tuple(infer.value(element.value) for element in given.elements)
        elif len(call.args) > 1 or infer.value(given).kind == "dataset":
            inputs = tuple(infer.value(arg.value) for arg in call.args if arg.keyword is None)
    return Value("dataset", pipelines=((Stage(source, call, inputs),),))


def _first(infer: Inference, call: cst.Call) -> Value:
    return infer.value(call.args[0].value) if call.args else UNKNOWN


def _enumerate(infer: Inference, call: cst.Call) -> Value:
    counted = _first(infer, call)
    name = "enumerate" if counted.kind != "tensor" else ROWS
    return Value("generator", name=name, element=Value("tuple", items=(NUMBER, element(counted))))


def _zip(infer: Inference, call: cst.Call) -> Value:
    if any(arg.star for arg in call.args):
        return Value("generator", name="zip")
    zipped = [infer.value(arg.value) for arg in call.args if arg.keyword is None]
    name = "zip" if any(value.kind in ("dataset", "iterator", "generator") for value in zipped) else ROWS
    return Value("generator", name=name, element=Value("tuple", items=tuple(map(element, zipped))))


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


def _dict(infer: Inference, call: cst.Call) -> Value:
    if not call.args or any(arg.keyword is None for arg in call.args):
        return Value("dict")
    values = tuple(infer.value(arg.value) for arg in call.args)
    keys = tuple(arg.keyword.value for arg in call.args if arg.keyword is not None)
    return Value("dict", items=values, keys=keys, element=join(values))


def _defaultdict(infer: Inference, call: cst.Call) -> Value:
    return Value("dict")


def _reduced(infer: Inference, call: cst.Call) -> Value:
    """`sum(losses)`, `max(losses)`: a tensor where tensors are added up or compared."""
    if len(call.args) != 1:
        return UNKNOWN
    return TENSOR if element(_first(infer, call)).kind == "tensor" else UNKNOWN


def _compiled(infer: Inference, call: cst.Call) -> Value:
    given = argument(call, 0, "func") or argument(call, 0, "python_function")
    return Value("compiled", function=infer.value(given).function if given is not None else None)


def _map(infer: Inference, call: cst.Call) -> Value:
    """`map(np.array, …)`: arrays."""
    made = fact(infer.names.qualified(call.args[0].value), "gives") if call.args else ""
    return Value("generator", name="map", element=ARRAY) if made == "array" else UNKNOWN


def _range(infer: Inference, call: cst.Call) -> Value:
    return Value("generator", name="range", element=NUMBER)


def _named_tensor(infer: Inference, call: cst.Call) -> Value:
    return Value("tensor", name=infer.names.qualified(call.func))


def _partial(infer: Inference, call: cst.Call) -> Value:
    return _first(infer, call)


def datasets_of_tfds(infer: Inference, call: cst.Call, at: int) -> Value:
    """The datasets for the split that a call is given as its argument `at`: of single samples, unless it is given a
    `batch_size`."""
    batched = keyword_argument(call, "batch_size")
    source = (
        "tensorflow_datasets.load(batch_size)"
        if batched is not None and infer.integers.only(batched) != 1
        else "tensorflow_datasets.load"
    )
    one = Value("dataset", pipelines=((Stage(source, call),),))
    split = argument(call, at, "split")
    return Value("dict", element=one) if split is None else _split(infer, split, one)


def _tfds_load(infer: Inference, call: cst.Call) -> Value:
    datasets = datasets_of_tfds(infer, call, 1)
    with_info = keyword_argument(call, "with_info")
    if isinstance(with_info, cst.Name) and with_info.value == "True":
        return Value("tuple", items=(datasets, Value("object", name="tensorflow_datasets.core.DatasetInfo")))
    return datasets if with_info is None or isinstance(with_info, cst.Name) else UNKNOWN


def _split(infer: Inference, split: cst.BaseExpression, one: Value) -> Value:
    """What `tfds.load` gives for a split, where it gives `one` dataset for a plain one: several as they are nested."""
    if isinstance(split, cst.Tuple | cst.List):
        items = tuple(_split(infer, part.value, one) for part in split.elements)
        return Value("list", items=items, element=join(items))
    value = infer.value(split)
    if value.kind not in ("list", "tuple") and not _gives_splits(infer, split):
        return one
    several = tuple(one for _ in value.items) if value.kind in ("list", "tuple") and value.items else None
    return Value("list", items=several, element=one)


def _gives_splits(infer: Inference, node: cst.BaseExpression) -> bool:
    """Whether an expression, or what a name stands for, makes several splits of one."""
    found = infer.bindings_reaching(node) if isinstance(node, cst.Name) else None
    made = [b.value for b in found[1] if b.path == ()] if found is not None else [node]
    return bool(made) and all(
        isinstance(value, cst.Call) and callee_name(value) in _SPLITTING for value in made
    )


def _convert(infer: Inference, call: cst.Call) -> Value:
    # On a tensor it gives that same tensor, so an element of a dataset stays one in host memory.
    return Value(
        "tensor",
        name=(name := infer.names.qualified(call.func)),
        dtype=_dtype_of_call(infer, call, name),
    )


_BY_RESULT: dict[str, Callable[[Inference, cst.Call], Value]] = {
    "enumerate": _enumerate,
    "zip": _zip,
    "iterator": _iter,
    "next": _next,
    "sequence": _sequence,
    "first": _first,
    "dict": _dict,
    "defaultdict": _defaultdict,
    "reduced": _reduced,
    "mapped": _map,
    "range": _range,
    "named": _named_tensor,
    "compiled": _compiled,
    "moved": lambda infer, call: (
        replace(v, host=False) if (v := _first(infer, call)).kind == "tensor" else TENSOR
    ),
    "converted": _convert,
    "partial": _partial,
    "datasets": _tfds_load,
    "builder": lambda infer, call: TFDS_BUILDER,
    "generator": lambda infer, call: GENERATOR,
    "unknown": lambda infer, call: UNKNOWN,
}


def is_progress_bar(name: str) -> bool:
    """Whether a function of a qualified name shows how far a loop is, and hands on what that goes over."""
    return has(name, "progress-bar") or bool(names_a_wrapping_bar(name.rpartition(".")[2]))
