"""What becomes of functions that are handed to something: TensorFlow traces them, the host runs them, or nobody knows."""

from __future__ import annotations

import re

import libcst as cst

from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import argument, callee_name, integer
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.outside import name_outside

# `Dataset` methods that trace the function they are given.
_DATASET_TRACERS = frozenset(
    {"map", "filter", "flat_map", "interleave", "reduce", "scan", "take_while", "group_by_window",
     "bucket_by_sequence_length", "rejection_resample"}
)  # fmt: skip
# TensorFlow functions that trace the functions they are given.
TRACERS = frozenset(
    {"tf.function", "tf.while_loop", "tf.cond", "tf.case", "tf.switch_case", "tf.map_fn", "tf.vectorized_map", "tf.scan",
     "tf.foldl", "tf.foldr", "tf.custom_gradient", "tf.recompute_grad", "keras.layers.Lambda", "tf.wrap_function",
     "tf.autograph.to_graph", "tf.xla.experimental.compile", "tf.data.experimental.map_and_batch",
     "tf.data.experimental.parallel_interleave"}
)  # fmt: skip
# TensorFlow functions whose argument runs as ordinary Python, wherever they are called.
_HOST = frozenset(["tf.py_function", "tf.numpy_function", "tf.py_func"])
# What runs a function that it is given as ordinary Python, now or later: programs, threads, searches. Of modules, all that
# is in them.
_RUNNERS = re.compile(
    r"(absl\.app|tf\.app)\.run|fire\.Fire|"
    r"(asyncio|atexit|concurrent|hyperopt|joblib|mlflow|multiprocessing|optuna|ray|schedule|scipy\.optimize|signal|skopt|"
    r"threading|timeit|typer|wandb)\..*"
)
_STARTERS = frozenset({"Thread", "Process", "submit", "apply_async"})
# How a window of Tk runs a function, some milliseconds later: `window.after(100, train)`.
_LATER = "after"


class Handed:
    """The functions of a file by what they are handed to.

    TensorFlow has the `traced` ones, runs those in `on_host` as ordinary Python wherever they are called, and something
    runs those in `run` in eager mode. Other files know what becomes of those in `to_others`; of the `used` ones, with the
    places where they are mentioned, nobody does.
    """

    def __init__(self, infer: Inference, calls: CallGraph) -> None:
        self._infer = infer
        self._calls = calls
        self._walk = infer.walk
        self._names = infer.names
        self.traced: set[Function] = set()
        self.on_host: set[Function] = set()
        self.run: set[Function] = set()
        self.to_others: dict[Function, cst.CSTNode] = {}
        self.used: dict[Function, list[cst.CSTNode]] = {}

    def follow(self) -> None:
        """Find what is handed to something in this file."""
        by_name: dict[str, list[Function]] = {}
        for function in self._walk.functions.values():
            by_name.setdefault(function.name, []).append(function)
        parents = self._walk.parents
        for name, functions in by_name.items():
            mentions: list[cst.CSTNode] = [f.node for f in functions] if name == "<lambda>" else [
                *self._walk.names.get(name, ()), *self._walk.attributes.get(name, ())]  # fmt: skip
            for node in mentions:
                parent = parents.get(node)
                if isinstance(parent, cst.Call) and parent.func is node:
                    continue
                if isinstance(parent, cst.Attribute):
                    continue
                meant = self._infer.value(node).function
                if meant is not None and meant.name == name:
                    self._hand_over(node, meant)
                elif isinstance(node, cst.Attribute) and not self._infer.value(node.value).known:
                    for method in self._calls.methods_named(name):
                        self.used.setdefault(method, []).append(node)
        self._follow_objects()

    def is_dataset_tracer(self, call: cst.Call) -> bool:
        """Whether a call gives a dataset a function that it traces: `dataset.map(f)`."""
        return (
            callee_name(call) in _DATASET_TRACERS
            and isinstance(call.func, cst.Attribute)
            and self._infer.value(call.func.value).kind == "dataset"
        )

    def _follow_objects(self) -> None:
        """Find the objects that a dataset calls: `dataset.map(Parser(size))`."""
        if not self._calls.methods_named("__call__"):
            return
        for name in _DATASET_TRACERS:
            for call in self._walk.calls.get(name, ()):
                given = argument(call, 0, "map_func")
                while (
                    isinstance(given, cst.Call) and self._names.qualified(given.func) == "functools.partial"
                ):
                    given = argument(given, 0)
                klass = self._infer.value(given).klass if given is not None else None
                if given is not None and klass is not None and self._infer.value(given).kind == "instance":
                    if self.is_dataset_tracer(call) and "__call__" in klass.methods:
                        self.traced.add(klass.methods["__call__"])

    def _hand_over(self, node: cst.CSTNode, function: Function) -> None:
        """Note what becomes of a function where it is mentioned."""
        parent = self._walk.parents.get(node)
        while isinstance(parent, cst.Arg | cst.Element | cst.List | cst.Tuple):
            node, parent = parent, self._walk.parents.get(parent)
        if isinstance(parent, cst.Decorator | cst.AssignTarget) or parent is None:
            return
        if isinstance(parent, cst.Call) and self._is_taken(parent, function):
            return
        if isinstance(parent, cst.Assign) and isinstance(function.node, cst.Lambda):
            return
        if name_outside(function) and self._is_for_others(parent):
            self.to_others[function] = node
        else:
            self.used.setdefault(function, []).append(node)

    def _is_for_others(self, parent: cst.CSTNode) -> bool:
        """Whether what stands there goes to another file: as an argument, or as what a function gives."""
        if isinstance(parent, cst.Call):
            return bool(self._infer.value(parent.func).outside)
        return isinstance(parent, cst.Return)

    def _is_taken(self, call: cst.Call, function: Function) -> bool:
        """Whether it is known what a call does with a function that it is given; notes it then."""
        name = self._names.qualified(call.func)
        if name in _HOST:
            self.on_host.add(function)
        elif _RUNNERS.fullmatch(name) or (not name and (callee_name(call) in _STARTERS or _runs_later(call))):
            self.run.add(function)
        elif name in TRACERS:
            self.traced.add(function)
        elif function in self._calls.targets(call):
            pass  # `strategy.run(f)`: a call of f
        elif self._infer.compiles(call.func) or self.is_dataset_tracer(call):
            self.traced.add(function)
        elif name == "functools.partial":
            self._hand_over(call, function)
        else:
            return False
        return True


def _runs_later(call: cst.Call) -> bool:
    """Whether a call has a window run a function that it is given."""
    return callee_name(call) == _LATER and bool(call.args) and integer(call.args[0].value) is not None
