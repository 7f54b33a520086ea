"""Whether TensorFlow, Keras and NumPy do what the rows of `tflint_perf/analysis/apis` say of them.

    python -m benchmarks.api_facts          # run what can be run: names, kinds, shapes, types, randomness, state
    python -m benchmarks.api_facts ops      # ask TensorFlow's list of its own ops, as after a new release of it

The first tries each function with a few small inputs and holds what it gives, and the graph that it traces, against the
words of its row. It prints what is contradicted, what share of the facts was held against a run, and why the others were
not. The exit code is 1 when anything is contradicted.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import inspect
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from functools import cache
from io import StringIO
from itertools import islice
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np
import tensorflow as tf

from tflint_perf.analysis.apis import facts
from tflint_perf.analysis.apis.facts import fact, has, library

# The classes whose methods have rows, where each is found.
CLASSES = {
    "Dataset": "tf.data.Dataset", "Generator": "np.random.Generator", "GradientTape": "tf.GradientTape",
    "Graph": "tf.Graph", "ImageDataGenerator": "keras.preprocessing.image.ImageDataGenerator",
    "Iterator": "tf.data.Iterator", "Layer": "keras.layers.Layer", "Loss": "keras.losses.Loss",
    "Metric": "keras.metrics.Metric", "Model": "keras.Model", "Optimizer": "keras.optimizers.Optimizer",
    "RaggedTensor": "tf.RaggedTensor", "Strategy": "tf.distribute.Strategy", "TensorArray": "tf.TensorArray", "Variable": "tf.Variable",
    "ndarray": "np.ndarray",
}  # fmt: skip
# The spaces all of whose members are tried, whether rows of their own name them or not.
SPACES = (
    "tf", "tf.bitwise", "tf.image", "tf.io", "tf.linalg", "tf.math", "tf.nn", "tf.random", "tf.signal", "tf.strings",
    "keras.activations", "keras.layers", "keras.losses", "keras.metrics", "keras.ops", "keras.optimizers", "keras.random",
)  # fmt: skip
# What would stop, change or wait for this process, or write files.
NOT_CALLED = re.compile(
    r".*\.(init_scope|load_\w+|save\w*|write\w*|enable_\w+|disable_\w+|set_\w+|reset_\w+|while_loop|register_\w+|"
    r"experimental_connect\w*|py_\w+|numpy_function|stop_\w+|sleep|clear_session|import_graph_def|print|Print|get_file)"
)
READS = {"ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VarHandleOp"}
CALLS = {"StatefulPartitionedCall", "StatefulWhile", "StatefulIf", "Assert", "While", "If"}


class UnansweredError(Exception):
    """A fact that no run of this program can settle, and why."""


@dataclass
class Tally:
    held: Counter[str] = field(default_factory=Counter)
    contradicted: list[str] = field(default_factory=list)
    open: Counter[tuple[str, str]] = field(default_factory=Counter)

    def contradicts(self, text: str) -> None:
        """Note what a run contradicts, and tell it at once: the whole takes minutes."""
        self.contradicted.append(text)
        print(f"contradicted: {text}", flush=True)


def resolve(name: str) -> Any:
    """What a qualified name stands for in the installed versions, those of TensorFlow 1 under `tf.compat.v1`."""
    first, _, rest = name.partition(".")
    if first in CLASSES:
        return getattr(resolve(CLASSES[first]), rest)
    if first == "tf":
        return _member(tf, rest) if _has(tf, rest) else _member(tf.compat.v1, rest)
    if first in ("keras", "np"):
        return _member({"keras": tf.keras, "np": np}[first], rest)
    if "." not in name:
        return getattr(importlib.import_module("builtins"), name)
    if importlib.util.find_spec(first) is None:
        raise UnansweredError(f"{first} is not installed")
    return _member(importlib.import_module(first), rest)


def _member(module: Any, path: str) -> Any:
    for part in path.split(".") if path else ():
        try:
            module = getattr(module, part)
        except AttributeError:
            if not inspect.ismodule(module):
                raise
            module = importlib.import_module(f"{module.__name__}.{part}")
    return module


def _has(module: Any, path: str) -> bool:
    try:
        _member(module, path)
    except (AttributeError, ImportError):
        return False
    return True


def exists(name: str) -> bool:
    """Whether the installed versions have a name, TensorFlow under `tf.compat.v1` at least."""
    try:
        resolve(name)
    except (AttributeError, ImportError):
        return False
    return True


def is_current(name: str) -> bool:
    """The same, but for what TensorFlow 2 keeps for programs of version 1."""
    first, _, rest = name.partition(".")
    if first == "Dataset":  # a function that makes a stage for `Dataset.apply` counts as one
        return exists(name) or _has(tf.data.experimental, rest)
    return _has(tf, rest) or _has(tf.compat, rest) if first == "tf" else exists(name)


@cache
def inputs() -> list[Any]:
    """Small tensors of several types and ranks."""
    random = np.random.default_rng(0)
    return [
        *(tf.constant(random.uniform(0.1, 0.9, shape), tf.float32) for shape in ((2, 3), (3, 3), (4,), (2, 3, 4), (1, 4, 4, 3), ())),
        tf.constant([[1, 2, 3], [3, 1, 2]]), tf.constant([2, 1, 3]), tf.constant(2),
        tf.constant([True, False, True]), tf.constant([[1 + 2j, 2], [1, 3]], tf.complex64),
        tf.constant(["a b", "c"]), tf.constant("1"), tf.constant([1, 2, 3], tf.uint8),
    ]  # fmt: skip


# A number is an open file to many of them, which they close behind them.
_OF_FILES = (
    "reads-file",
    "reads-images",
    "reads-arrays",
    "reads-tables",
    "loads-model",
    "opens-files",
    "loads-objects",
    "lists-files",
    "walks-files",
)


def samples(name: str) -> list[tuple[Any, ...]]:
    """Arguments that a function takes: one of `inputs` for each parameter without a default."""
    function = resolve(name)
    if NOT_CALLED.fullmatch(name) or not callable(function) or has(name, *_OF_FILES):
        raise UnansweredError("calling it would change this process, or needs a function or a file")
    try:
        parameters = inspect.signature(function).parameters.values()
        wanted = sum(
            p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
            for p in parameters
        )
    except (TypeError, ValueError):
        wanted = getattr(function, "nin", 1)
    if inspect.isclass(function) and library(name) in ("tensorflow", "keras"):
        raise UnansweredError("it is a class, and its objects differ")
    found = _fitting(function, "numpy" if name.startswith("ndarray.") else library(name), wanted)
    if not found:
        raise UnansweredError("none of the sample inputs fits")
    return found


@cache  # a function has several facts, and many have two names
def _fitting(function: Callable[..., Any], of: str | None, wanted: int) -> list[tuple[Any, ...]]:
    match of:
        case "tensorflow" | "keras":
            given = inputs()
        case "numpy":
            given, wanted = [each.numpy() for each in inputs()], max(wanted, 1)
        case _:
            given = [0.5, 1, "1", [1, 2], [[1, 2]]]
    fitting = (args for value in given if _runs(function, args := (value,) * wanted))
    return list(islice(fitting, 2 if wanted else 1))


def _runs(function: Callable[..., Any], args: tuple[Any, ...]) -> bool:
    """Whether a function takes the arguments: those tried are guesses, and each library refuses them by errors of its own."""
    try:
        with redirect_stdout(StringIO()):
            function(*args)
    except Exception:
        return False
    return True


def stateful_ops(name: str, args: tuple[Any, ...]) -> set[str]:
    """The ops that keep, draw or change something in the graph that TensorFlow traces of a function."""
    return _stateful_in_trace(resolve(name), tuple(tf.TensorSpec(arg.shape, arg.dtype) for arg in args))


@cache
def _stateful_in_trace(function: Callable[..., Any], specs: tuple[Any, ...]) -> set[str]:
    try:
        # A function of a library is no code for AutoGraph.
        graph = (
            tf.function(lambda *given: function(*given), autograph=False).get_concrete_function(*specs).graph
        )
    except Exception as error:
        raise UnansweredError("it cannot be traced with open values") from error
    inner = graph.as_graph_def().library.function
    types = {op.type for op in graph.get_operations()} | {node.op for f in inner for node in f.node_def}
    known = tf.compat.v1.get_default_graph()
    return {type for type in types - READS - CALLS if _is_stateful(known, type)}


def _is_stateful(graph: Any, op: str) -> bool:
    try:
        return bool(graph.op_def_for_type(op).is_stateful)
    except (KeyError, AttributeError):
        return False


def first(name: str) -> Any:
    """What a function gives for the first arguments that it takes."""
    return resolve(name)(*samples(name)[0])


def _of_tensorflow(name: str) -> None:
    if library(name) not in ("tensorflow", "keras"):
        raise UnansweredError("it makes no graph")


def is_pure(name: str, _said: str) -> bool:
    _of_tensorflow(name)
    return not any(stateful_ops(name, args) for args in samples(name))


def draws(name: str, _said: str) -> bool:
    _of_tensorflow(name)
    shapes = (
        [([3, 3],), *samples(name)] if name.startswith(("tf.random.", "keras.random.")) else samples(name)
    )
    function = resolve(name)
    for args in shapes:
        if _runs(function, args) and not np.array_equal(*(np.asarray(function(*args)) for _ in range(2))):
            return True
        if all(tf.is_tensor(arg) for arg in args) and stateful_ops(name, args):
            return True
    raise UnansweredError("with the sample inputs it gives the same twice")


def is_stateful(name: str, _said: str) -> bool:
    return any(stateful_ops(name, args) for args in samples(name))


def varies(name: str, _said: str) -> bool:
    function = resolve(name)
    args = samples(name)[0]
    seen = [np.asarray(function(*args)) for _ in range(20)]
    if any(not np.array_equal(seen[0], other) for other in seen):
        return True
    raise UnansweredError("with the sample inputs it gives the same")


def works_by_element(name: str, _said: str) -> bool:
    function = resolve(name)
    for args in samples(name):
        whole = tf.convert_to_tensor(function(*args))
        if args[0].shape != whole.shape:
            return False
        if args[0].shape.rank and not all(
            np.allclose(whole[i], function(*(arg[i] for arg in args)), equal_nan=True)
            for i in range(len(whole))
        ):
            return False
    return True


def has_shape(name: str, said: str) -> bool:
    function = resolve(name)
    if said == "kept":
        return all(
            tf.convert_to_tensor(function(*args)).shape == args[0].shape for args in samples(name) if args
        )
    if said == "broadcast":
        return bool(function(tf.ones([2, 3]), tf.ones([3])).shape == (2, 3))
    square = tf.ones([3, 3])
    return bool(function(square, tf.ones([3]) if name.endswith("matvec") else square).shape[-1] == 3)


def gives(name: str, said: str) -> bool:
    made = resolve(name)
    kinds = {"layer": "keras.layers.Layer", "metric": "keras.metrics.Metric", "loss": "keras.losses.Loss",
             "optimizer": "keras.optimizers.Optimizer"}  # fmt: skip
    if said in kinds and inspect.isclass(made):
        if said == "optimizer" and name.startswith("tf.train."):
            return issubclass(made, tf.compat.v1.train.Optimizer)
        if name.startswith("tf.layers"):
            return True
        if not issubclass(made, resolve(kinds[said])):
            # Specifications, schedules and the like stand beside them.
            raise UnansweredError("a class beside those that are meant")
        return True
    if said == "tensor":
        got = first(name)
        return (
            tf.is_tensor(got)
            or isinstance(got, (tf.SparseTensor, tf.RaggedTensor))
            or type(got).__name__ == "KerasTensor"
        )
    if said == "tensors":
        return isinstance(first(name), (tuple, list))
    if said == "array" and name.startswith("np.random."):
        return isinstance(resolve(name)(*samples(name)[0]), (np.ndarray, np.generic, float, int))
    if name == "np.where":
        raise UnansweredError("with one argument it gives places")
    if said == "array":
        return isinstance(first(name), (np.ndarray, np.generic))
    if said == "number":
        return isinstance(first(name), (int, float))
    if said == "string":
        return isinstance(first(name), str)
    raise UnansweredError(f"no example of a {said} is made here")


def has_dtype(name: str, said: str) -> bool:
    made = (
        resolve(name)([2, 2])
        if not name.startswith("np.")
        else np.asarray(
            resolve(name)(
                *(
                    [2, 2]
                    if name.endswith(("rand", "randn"))
                    else [1.0, 2.0, 3]
                    if name.endswith(("normal", "uniform"))
                    else [3]
                )
            )
        )
    )
    if said == "given":
        return bool(resolve(name)(np.float64(1)).dtype == tf.float64)
    return getattr(made.dtype, "name", str(made.dtype)) == said


def _of_memory(name: str) -> None:
    if not callable(resolve(name)):
        raise UnansweredError("it is an attribute")


def copies(name: str, _said: str) -> bool:
    return not any(_shares(resolve(name)(*args), args) for args in samples(name))


def views(name: str, _said: str) -> bool:
    _of_memory(name)
    function = resolve(name)
    tried = [*samples(name)] if _fits(name) else []
    if isinstance(function, type) and issubclass(function, np.generic):
        tried.append((np.ones((2, 3), function),))  # of its own type, it is given back as it is
    tried += [(np.ones((2, 3)), other) for other in ((3, 2), 0, 1, (1, 0))] + [(np.ones((2, 3)), 0, 1)]
    return any(_runs(function, args) and _shares(function(*args), args) for args in tried)


def _fits(name: str) -> bool:
    try:
        return bool(samples(name))
    except UnansweredError:
        return False


def _shares(made: Any, args: tuple[Any, ...]) -> bool:
    parts = made if isinstance(made, (list, tuple)) else [made]
    return any(
        isinstance(part, np.ndarray) and isinstance(arg, np.ndarray) and np.shares_memory(part, arg)
        for part in parts
        for arg in args
    )


def is_scalar(name: str, _said: str) -> bool:
    if name.endswith("add_n") or library(name) not in ("tensorflow", "numpy"):
        raise UnansweredError("it takes a list of numbers")
    return all(np.ndim(resolve(name)(value)) == 0 for value in inputs()[:4] if _runs(resolve(name), (value,)))


def are_alike(name: str, said: str) -> bool:
    ours, theirs = resolve(fact(name, "twin")), resolve(name)
    x = np.array([[0.3, 0.5], [0.2, 0.7]])
    options: dict[str, list[tuple[Any, ...]]] = {
        "1": [(x,)], "2": [(x, x), (x, [4, 1]), (x, 0)], "3": [(x, 0.3, 0.5), (x > 0.3, x, x)],
        "reduction": [(x,), (x, 0)], "axis": [([x, x], 0)], "axis?": [([x, x],), ([x, x], 1)],
        "1+axis": [(x[None],)], "2+axis": [(x, 0)],
    }  # fmt: skip
    given = [
        args for args in [*options[said], *([(x > 0.3,)] if "logical" in name else [])] if _runs(theirs, args)
    ]
    if not given:
        raise UnansweredError("none of the sample inputs fits")
    answers = [np.allclose(theirs(*args), ours(*args)) for args in given if _runs(ours, args)]
    return bool(answers) and all(answers)


def has_twin(name: str, said: str) -> bool:
    return exists(said) and callable(resolve(said))


def has_number(name: str, said: str) -> bool:
    wanted = {"int": int, "float": float}[said]
    if not callable(resolve(name)):
        return isinstance(resolve(name), wanted)
    if name == "len":
        return isinstance(len([1]), int)
    options: tuple[tuple[Any, ...], ...] = ((), (1,), (0.5,), (0, 3), (0.1, 0.2))
    return any(_runs(resolve(name), args) and isinstance(resolve(name)(*args), wanted) for args in options)


def runs_python(name: str, _said: str) -> bool:
    run = resolve(name)
    graph = (
        tf.function(lambda x: run(lambda y: y, [x], tf.float32))
        .get_concrete_function(tf.TensorSpec([]))
        .graph
    )
    return any(op.type in ("PyFunc", "EagerPyFunc", "PyFuncStateless") for op in graph.get_operations())


def decodes_images(name: str, _said: str) -> bool:
    pixels = tf.zeros([4, 4, 3], tf.uint8)
    texts = [tf.io.encode_jpeg(pixels).numpy(), tf.io.encode_png(pixels).numpy()]
    window = ([0, 0, 2, 2],) if "crop" in name else ()
    if not any(_runs(resolve(name), (text, *window)) for text in texts):
        raise UnansweredError("no file of that format is made here")
    return True


def takes_one(name: str, _said: str) -> bool:
    pixels = tf.zeros([4, 4, 3], tf.uint8)
    quality = (70,) if "adjust" in name else (70, 95) if "quality" in name else ()
    more = (*quality, (1, 2)) if "stateless" in name else quality
    for sample in (pixels, tf.io.encode_jpeg(pixels), tf.io.encode_png(pixels)):
        if _runs(resolve(name), (sample, *more)):
            return not _runs(resolve(name), (tf.stack([sample] * 2), *more))
    raise UnansweredError("no file of that format is made here")


def is_of_kind(name: str, said: str) -> bool:
    roots = {"model": "keras.Model", "layer": "keras.layers.Layer", "metric": "keras.metrics.Metric", "loss": "keras.losses.Loss",
             "optimizer": "keras.optimizers.Optimizer", "callback": "keras.callbacks.Callback"}  # fmt: skip
    if said not in roots:
        raise UnansweredError("no class that stands for all of them")
    if not inspect.isclass(resolve(name)) or ".legacy." in name:
        raise UnansweredError("it is no class, or stands there for an older version")
    return inspect.isclass(resolve(name)) and issubclass(resolve(name), resolve(roots[said]))


def is_constant(name: str, _said: str) -> bool:
    return isinstance(resolve(name), float)


def gives_integers(name: str, _said: str) -> bool:
    return bool(first(name).dtype.is_integer)


def gives_zeros(name: str, _said: str) -> bool:
    return not np.any(np.asarray(resolve(name)([2, 2])))


def keeps_type(name: str, _said: str) -> bool:
    for args in samples(name):
        made = resolve(name)(*args)
        if isinstance(args[0], np.ndarray) and np.asarray(made).dtype != args[0].dtype:
            return False
    return True


def keeps_floats(name: str, _said: str) -> bool:
    made = [resolve(name)(*args) for args in samples(name) if getattr(args[0], "dtype", None) == tf.float32]
    if not made:
        raise UnansweredError("none of the sample inputs fits")
    return all(each.dtype.is_floating for each in made)


def differs_in_training(name: str, _said: str) -> bool:
    axes = 2 + int(name[-2]) if name.endswith("D") else 2
    layer = resolve(name)() if "Normalization" in name else resolve(name)(0.5)
    given = tf.random.stateless_normal((8,) * axes, (1, 2))
    return not np.allclose(layer(given, training=True), layer(given, training=False))


def goes_by_first(name: str, said: str) -> bool:
    """Whether a graph refuses an integer before a tensor of floats, which eager code takes."""
    given = [tf.constant([True, False])] * int(said or 0) + [1, tf.constant([1.0, 2.0])]
    resolve(name)(*given)
    try:
        tf.function(lambda: resolve(name)(*given), autograph=False)()
    except TypeError:
        return True
    return False


# What a layer is made of, and how many axes it is given, where these are not one number of units and two axes.
_LAYERS: dict[str, tuple[tuple[int, ...], int]] = {
    **{f"Conv{n}D": ((2, 1), n + 2) for n in (1, 2, 3)}, **{f"Conv{n}DTranspose": ((2, 1), n + 2) for n in (1, 2)},
    "SeparableConv2D": ((2, 1), 4), "DepthwiseConv2D": ((1,), 4), "Embedding": ((4, 2), 2), "BatchNormalization": ((), 2),
    "LayerNormalization": ((), 2), "LSTM": ((2,), 3), "GRU": ((2,), 3), "SimpleRNN": ((2,), 3),
}  # fmt: skip


def computes_with_floats(name: str, _said: str) -> bool:
    made_of, axes = _LAYERS.get(name.rpartition(".")[2], ((2,), 2))
    made = []
    for kind in ("int32", "float32"):
        try:
            made.append(resolve(name)(*made_of)(tf.ones((2,) * axes, kind)))
        except (tf.errors.OpError, ValueError):  # not every layer takes integers
            continue
    return bool(made) and all(tf.as_dtype(each.dtype).is_floating for each in made)


def makes_integers(_name: str, _said: str) -> bool:
    raise UnansweredError("it has to learn a vocabulary first, or is told what to make")


def is_there(name: str, _said: str) -> bool:
    return exists(name)


CHECKS: dict[str, Callable[[str, str], bool]] = {
    "pure": is_pure, "draws": draws, "stateful": is_stateful, "varies": varies, "draws-on-host": varies,
    "elementwise": works_by_element, "elementwise-of-two": works_by_element, "shape": has_shape, "gives": gives,
    "dtype": has_dtype, "copies": copies, "views": views, "reduces": is_scalar, "one-number": is_scalar, "alike": are_alike,
    "twin": has_twin, "number": has_number, "runs-python": runs_python, "decodes-images": decodes_images, "one-sample": takes_one, "base": is_of_kind,
    "constant": is_constant, "gives-integers": gives_integers, "makes-zeros": gives_zeros, "keeps-type": keeps_type,
    "differs-in-training": differs_in_training, "first-tells-type": goes_by_first, "keeps-floats": keeps_floats, "of-floats": computes_with_floats, "of-integers": makes_integers,
    "stage": is_there, "compiled": is_there, "steps": is_there, "makes-batches": is_there,
}  # fmt: skip


def names() -> Iterator[str]:
    """The names that have rows, and the members of the spaces that rows speak of."""
    own = [
        name
        for name in facts._read()
        if not facts._is_of_many(name) and name not in ("tf", "keras", "np", "math", "tqdm")
    ]
    members = [
        f"{space}.{member}"
        for space in SPACES
        for member in dir(resolve(space) if "." in space else tf)
        if member[0] != "_"
    ]
    yield from dict.fromkeys([*own, *members])


def check(name: str, word: str, said: str) -> bool:
    """Whether a run agrees with a fact. Raises `UnansweredError` where none can tell."""
    if word not in CHECKS:
        raise UnansweredError("how programs are written or what this tool asks for, which no run shows")
    if not exists(name):
        raise UnansweredError("the installed versions do not have it")
    if inspect.ismodule(resolve(name)):
        raise UnansweredError("it is a module")
    try:
        return CHECKS[word](name, said)
    except UnansweredError:
        raise
    except Exception as error:
        raise UnansweredError("the run failed") from error


def check_all(tally: Tally) -> None:
    for name in names():
        try:
            exists(name)
        except UnansweredError as missing:
            tally.open.update({(word, str(missing)): 1 for word in facts._facts(name)})
            continue
        until = fact(name, "until")
        if is_current(name) == bool(until) and not fact(name, "is"):
            tally.contradicts(f"{name}: {'is still there' if until else 'is not there'}")
        for word, said in facts._facts(name).items():
            try:
                if check(name, word, said):
                    tally.held[word] += 1
                else:
                    tally.contradicts(f"{name}: {word}{'=' * bool(said)}{said}")
            except UnansweredError as reason:
                tally.open[word, str(reason)] += 1


# The op of that name is one of the runtime's own stacks; this packs tensors.
_OF_ANOTHER_OP = frozenset({"tf.stack"})


def ops() -> int:
    """Hold TensorFlow's own list of ops against the rows, and print what differs."""
    from tensorflow.python.framework import op_def_registry

    differ = 0
    for space in SPACES:
        for member in dir(resolve(space)) if library(f"{space}.x") == "tensorflow" else ():
            op = op_def_registry.get("".join(part.capitalize() for part in member.split("_")))
            name = f"{space}.{member}"
            if op is None or member[0] == "_" or name in _OF_ANOTHER_OP:
                continue
            told = [
                *(["the op is stateful"] if op.is_stateful and has(name, "pure") else []),
                *(["the op is not stateful"] if not op.is_stateful and has(name, "stateful") else []),
                *([f"deprecated: {op.deprecation.explanation}"] if op.deprecation.version else []),
            ]
            for text in told:
                differ += 1
                print(f"{name} ({' '.join(facts._facts(name))}): {text}")
    print(f"{differ} differences from the ops of TensorFlow {tf.__version__}")
    return differ


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="?", choices=["rows", "ops"], default="rows")
    if parser.parse_args(arguments).what == "ops":
        ops()
        return 0
    tally = Tally()
    check_all(tally)
    held, left = sum(tally.held.values()), sum(tally.open.values())
    runnable = sum(count for (word, _), count in tally.open.items() if word in CHECKS)
    print(f"TensorFlow {tf.__version__}, Keras {tf.keras.__version__}, NumPy {np.__version__}")
    print(f"{held} facts held, {len(tally.contradicted)} contradicted, {left} not settled by a run:")
    print(
        f"{held / (held + left):.0%} of all facts, {held / (held + runnable):.0%} of those whose word can be run"
    )
    for reason, count in Counter({reason: 0 for _, reason in tally.open}).items():
        count = sum(n for (_, why), n in tally.open.items() if why == reason)
        words = sorted({word for word, why in tally.open if why == reason})
        print(f"  {count} {reason}: {', '.join(words)}")
    return 1 if tally.contradicted else 0


if __name__ == "__main__":
    sys.exit(main())
