"""What is replaced in TensorFlow and Keras as they are imported, so that updates and what surrounds them are seen.

Each replacement does what it did. Those of `close` are there only while a step is looked at closely.
"""

from __future__ import annotations

import builtins
import functools
import gc
import re
import sys
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from threading import local
from time import perf_counter
from types import FrameType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from tflint_perf.observe.learned import Learned, is_of_function
from tflint_perf.observe.patching import replace
from tflint_perf.observe.traced import Traces, code_of
from tflint_perf.observe.training_hooks import TrainingRuns
from tflint_perf.observe.user_code import Places
from tflint_perf.observe.watcher import Watcher

_IN_LOOP = re.compile(r"while_body|_body_\d|scan_fn|Dataset_|ReduceDataset|body")
_KERAS_METHODS = (
    "fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch", "fit_generator",
    "save", "save_weights", "load_weights",
)  # fmt: skip
# What an assignment gives for the variable that is there already.
_STAND_INS = frozenset({"_UnreadVariable"})
_WRITES = frozenset({"save", "save_weights", "load_weights"})


class _Inside(local):
    """How deep this thread is in what marks a step."""

    function = 0
    apply = 0
    keras = 0
    made = 0


class Hooks:
    """All that is replaced for one watcher, by the module that it is in."""

    def __init__(self, watcher: Watcher, learned: Learned | None) -> None:
        self._watcher = watcher
        self._learned = learned
        self._inside = _Inside()
        self._traces = Traces(watcher)
        self._in_graph = _InGraph()
        self._optimizers: WeakSet[Any] = WeakSet()
        self._training_runs = TrainingRuns()

    def by_module(self) -> Mapping[str, Callable[[ModuleType], None]]:
        """What is to be called once a module has been imported."""
        legacy = "tf_keras.src.optimizers."
        hooks: dict[str, Callable[[ModuleType], None]] = {
            "tensorflow.python.eager.polymorphic_function.polymorphic_function": self._functions,
            "tensorflow.python.eager.polymorphic_function.tracing_compilation": self._traces.hook_tracing,
            "tensorflow.core.function.polymorphism.function_cache": self._traces.hook_cache,
            "tensorflow.python.eager.backprop": self._tapes,
            "tensorflow.python.client.session": self._sessions,
            "tensorflow.python.framework.ops": self._graphs,
            "tensorflow.python.ops.resource_variable_ops": self._making("BaseResourceVariable", "Variable", "__init__"),
            "tensorflow.python.data.ops.dataset_ops": self._making("DatasetV2", "Dataset", "__init__"),
            "tensorflow.python.data.ops.iterator_ops": self._iterators,
            "tensorflow.python.training.optimizer": self._applying("Optimizer", "apply_gradients"),
            "tensorflow.python.checkpoint.checkpoint": self._checkpoints,
            "keras.src.optimizers.base_optimizer": self._keras_optimizer,
            "keras.src.optimizers.loss_scale_optimizer": self._applying("LossScaleOptimizer", "apply"),
            "keras.src.backend.tensorflow.trainer": self._keras_methods("TensorFlowTrainer"),
            "keras.src.models.model": self._keras_methods("Model"),
            "keras.src.callbacks.callback_list": self._epochs,
            "keras.src.layers.layer": self._keras_layer("Layer"),
            "keras.src.metrics.metric": self._making("Metric", "Metric", "__init__"),
            "keras.src.losses.loss": self._making("Loss", "Loss", "__init__"),
            legacy + "optimizer": self._applying("Optimizer", "apply_gradients"),
            legacy + "legacy.optimizer_v2": self._applying("OptimizerV2", "apply_gradients"),
            "tf_keras.src.callbacks": self._epochs,
            "tf_keras.src.engine.training": self._keras_methods("Model"),
            "tf_keras.src.engine.base_layer": self._keras_layer("Layer"),
        }  # fmt: skip
        return hooks

    # Updates

    def _functions(self, module: ModuleType) -> None:
        watcher, inside, in_graph, learned = self._watcher, self._inside, self._in_graph, self._learned
        # By function, which shall not live longer for being known here.
        known: WeakKeyDictionary[Any, _Found] = WeakKeyDictionary()

        def made(original: Callable[..., Any]) -> Callable[..., Any]:
            def call(function: Any, /, *args: Any, **keywords: Any) -> Any:
                if inside.function or not in_graph.is_eager():
                    return original(function, *args, **keywords)
                if learned is not None and learned.eagerly:  # what a function does shows by itself
                    return original(function, *args, **keywords)
                if learned is not None and function in known:
                    self._before_update(known[function].kind, _who(function), sys._getframe(1))
                inside.function += 1
                in_graph.clear()
                before = watcher.trace_count
                try:
                    result = original(function, *args, **keywords)
                finally:
                    inside.function -= 1
                if learned is not None:
                    learned.called(function)
                if watcher.trace_count > before:
                    found = in_graph.found()
                    if found.trains:
                        known[function] = found
                if function in known:
                    self._after_function(function, result, known[function])
                return result

            return call

        if learned is not None:
            learned.hook_random(in_graph, watcher.places)
        replace(module.Function, "__call__", made)
        replace(module.Function, "__init__", self._counting("Function"))

    def _before_update(self, kind: str, who: Hashable, frame: FrameType) -> None:
        if self._learned is not None and self._watcher.begins_last_step(kind, who, frame):
            began = perf_counter()
            self._learned.before_update()
            self._watcher.leave_out(perf_counter() - began)

    def _after_function(self, function: Any, result: Any, found: _Found) -> None:
        watcher = self._watcher
        frame = sys._getframe(2)
        updates = 1
        if found.in_loop:
            watcher.notes["updates in a loop inside a graph: one call makes several"] = None
            code = code_of(getattr(function, "python_function", function))
            watcher.loop_in_graph = watcher.places.first_loop_in(code) if code is not None else None
            updates = max(self._in_graph.updates_since(found.optimizers, self._optimizers), 1)
        saw = functools.partial(self._saw, result)
        optimizers = len(found.applies) or len(found.gradients)
        watcher.mark(found.kind, _who(function), frame, updates, optimizers, saw)

    def _saw(self, result: Any, step: int) -> None:
        if self._learned is not None:
            self._learned.saw_result(step, result)

    def _applying(self, cls: str, name: str) -> Callable[[ModuleType], None]:
        watcher, inside, in_graph = self._watcher, self._inside, self._in_graph

        def made(original: Callable[..., Any]) -> Callable[..., Any]:
            def apply(optimizer: Any, /, *args: Any, **keywords: Any) -> Any:
                if inside.apply:
                    return original(optimizer, *args, **keywords)
                self._optimizers.add(optimizer)
                if in_graph.is_eager() and not inside.function:
                    self._before_update("optimizer", id(optimizer), sys._getframe(1))
                inside.apply += 1
                try:
                    result = original(optimizer, *args, **keywords)
                finally:
                    inside.apply -= 1
                if not in_graph.is_eager():
                    user = watcher.places.innermost(sys._getframe(1))
                    row = watcher.places.row(user) if user is not None else None
                    in_graph.saw("apply", (row, id(optimizer)))
                    in_graph.began(optimizer)
                elif not inside.function:
                    watcher.mark("optimizer", id(optimizer), sys._getframe(1))
                return result

            return apply

        def hook(module: ModuleType) -> None:
            replace(getattr(module, cls), name, made)
            if cls in ("Optimizer", "OptimizerV2") and name == "apply_gradients":
                replace(getattr(module, cls), "__init__", self._counting("Optimizer"))

        return hook

    def _keras_optimizer(self, module: ModuleType) -> None:
        self._applying("BaseOptimizer", "apply")(module)
        replace(module.BaseOptimizer, "__init__", self._counting("Optimizer"))

    def _tapes(self, module: ModuleType) -> None:
        watcher, in_graph, inside = self._watcher, self._in_graph, self._inside

        def made(original: Callable[..., Any]) -> Callable[..., Any]:
            def gradient(tape: Any, /, target: Any, *args: Any, **keywords: Any) -> Any:
                if in_graph.is_eager() and not inside.function:
                    self._before_update("gradient", "tape", sys._getframe(1))
                result = original(tape, target, *args, **keywords)
                if not in_graph.is_eager():
                    in_graph.saw("gradient", _row_in_graph(watcher.places))
                elif not inside.function:
                    if self._learned is not None:
                        self._learned.saw_loss(watcher.count, target)
                    frame = sys._getframe(1)
                    if getattr(tape, "_persistent", False):
                        watcher.note("gradient", "persistent", frame)
                    watcher.mark("gradient", "tape", frame)
                return result

            return gradient

        replace(module.GradientTape, "gradient", made)

    def _sessions(self, module: ModuleType) -> None:
        watcher = self._watcher

        def made(original: Callable[..., Any]) -> Callable[..., Any]:
            def run(session: Any, /, fetches: Any, feed_dict: Any = None, *args: Any, **keywords: Any) -> Any:
                trains = self._training_runs.train(fetches)
                entered = (
                    watcher.ledger.enter("device") if watcher.ledger.on and watcher.is_watched() else None
                )
                if trains:
                    self._before_update("session", "session", sys._getframe(1))
                began = perf_counter()
                try:
                    result = original(session, fetches, feed_dict, *args, **keywords)
                finally:
                    if entered is not None:
                        watcher.ledger.leave(entered)
                frame = sys._getframe(1)
                size = sum(getattr(value, "nbytes", 0) for value in (feed_dict or {}).values())
                watcher.note("session", "run", frame, perf_counter() - began, size)
                if trains:
                    watcher.mark("session", "session", frame)
                return result

            return run

        replace(module.BaseSession, "run", made)
        replace(module.BaseSession, "__init__", self._counting("Session"))

    # What is made, written and added

    def _counting(self, what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Of a constructor: how often one is made, once for a whole line of classes that call each other's."""
        watcher, inside = self._watcher, self._inside

        def made(original: Callable[..., Any]) -> Callable[..., Any]:
            def init(thing: Any, /, *args: Any, **keywords: Any) -> Any:
                if (
                    inside.made
                    or inside.function
                    or not watcher.clock.sources
                    or type(thing).__name__ in _STAND_INS
                ):
                    return original(thing, *args, **keywords)
                inside.made += 1
                try:
                    return original(thing, *args, **keywords)
                finally:
                    inside.made -= 1
                    watcher.note("new", what, sys._getframe(1))

            return init

        return made

    def _making(self, cls: str, what: str, name: str) -> Callable[[ModuleType], None]:
        def hook(module: ModuleType) -> None:
            owner = getattr(module, cls, None)
            if owner is not None:
                replace(owner, name, self._counting(what))

        return hook

    def _graphs(self, module: ModuleType) -> None:
        watcher = self._watcher
        plain = module.Graph

        def made(original: Callable[..., Any]) -> Callable[..., Any]:
            def create(graph: Any, /, op_type: str, *args: Any, **keywords: Any) -> Any:
                watcher.graph_ops += 1
                if watcher.count > 3 and type(graph) is plain:
                    watcher.note("graph op", op_type, sys._getframe(1))
                return original(graph, op_type, *args, **keywords)

            return create

        replace(plain, "_create_op_internal", made)

    def _checkpoints(self, module: ModuleType) -> None:
        for cls in ("Checkpoint", "CheckpointV1"):
            for name in ("save", "write", "restore", "read"):
                if (owner := getattr(module, cls, None)) is not None:
                    replace(owner, name, self._timed("checkpoint", name))

    def _timed(self, kind: str, what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Of a method: how often it is called from the user's code, and how long that takes."""
        watcher, inside = self._watcher, self._inside

        def made(original: Callable[..., Any]) -> Callable[..., Any]:
            def call(*args: Any, **keywords: Any) -> Any:
                if inside.keras:
                    return original(*args, **keywords)
                inside.keras += 1
                watcher.clock.library_call += 1
                watcher.is_in_call = True
                steps, began = watcher.count, perf_counter()
                try:
                    result = original(*args, **keywords)
                finally:
                    inside.keras -= 1
                    # A call that makes steps itself takes none of any.
                    if watcher.count - steps <= 1:
                        watcher.note(kind, what, sys._getframe(1), perf_counter() - began)
                watcher.leave_call()
                return result

            return call

        return made

    def _keras_methods(self, cls: str) -> Callable[[ModuleType], None]:
        def hook(module: ModuleType) -> None:
            for name in _KERAS_METHODS:
                kind = "checkpoint" if name in _WRITES else "keras"
                replace(getattr(module, cls), name, self._timed(kind, name))

        return hook

    def _epochs(self, module: ModuleType) -> None:
        """Of `fit`: when an epoch begins, and when it is over, of which the validation comes first."""
        watcher = self._watcher
        # Those of `fit`, and of no evaluation of the user's.
        fitting: WeakSet[Any] = WeakSet()

        def begins(original: Callable[..., Any]) -> Callable[..., Any]:
            def call(callbacks: Any, /, *args: Any, **keywords: Any) -> Any:
                fitting.add(callbacks)
                try:
                    return original(callbacks, *args, **keywords)
                finally:
                    watcher.begin_epoch()

            return call

        def leaves(original: Callable[..., Any]) -> Callable[..., Any]:
            def call(callbacks: Any, /, *args: Any, **keywords: Any) -> Any:
                if callbacks in fitting:
                    watcher.leave_epoch()
                return original(callbacks, *args, **keywords)

            return call

        replace(module.CallbackList, "on_epoch_begin", begins)
        for name in ("on_test_begin", "on_epoch_end"):
            replace(module.CallbackList, name, leaves)

    def _iterators(self, module: ModuleType) -> None:
        """Of a loop over a dataset: that it begins, and that it is over."""
        watcher = self._watcher

        def begins(original: Callable[..., Any]) -> Callable[..., Any]:
            def init(iterator: Any, /, *args: Any, **keywords: Any) -> Any:
                try:
                    return original(iterator, *args, **keywords)
                finally:
                    watcher.begin_loop(sys._getframe(1))

            return init

        def leaves(original: Callable[..., Any]) -> Callable[..., Any]:
            def take(iterator: Any, /) -> Any:
                try:
                    return original(iterator)
                except StopIteration:
                    watcher.leave_loop(sys._getframe(1))
                    raise

            return take

        self._making("OwnedIterator", "Iterator", "__init__")(module)
        replace(module.OwnedIterator, "__init__", begins)
        replace(module.OwnedIterator, "__next__", leaves)

    def _keras_layer(self, cls: str) -> Callable[[ModuleType], None]:
        def hook(module: ModuleType) -> None:
            owner = getattr(module, cls)
            for name in ("get_weights", "set_weights"):
                replace(owner, name, self._timed("get weights", name))
            replace(owner, "__init__", self._counting("Layer"))

        return hook


def _row_in_graph(places: Places) -> tuple[str, int] | None:
    """The row of the user's that is traced: what runs is code that AutoGraph has made of it."""
    stack = sys.modules["tensorflow.python.util.tf_stack"].extract_stack()
    rows = ((frame.filename, frame.lineno) for frame in reversed(stack))
    return next((row for row in rows if places.name_of(row[0]) is not None), None)


def _who(function: Any) -> Hashable:
    return "function", getattr(function, "__name__", None) or "function"


@dataclass(frozen=True)
class _Found:
    """What a function that was traced updates weights by: optimizers, each by its row and itself, and tapes; and whether in a loop."""

    applies: frozenset[tuple[Hashable, int]]
    gradients: frozenset[Hashable]
    in_loop: bool

    @property
    def trains(self) -> bool:
        return bool(self.applies or self.gradients)

    @property
    def kind(self) -> str:
        """What shows that weights are updated."""
        return "optimizer" if self.applies else "gradient"

    @property
    def optimizers(self) -> frozenset[int]:
        return frozenset(optimizer for _, optimizer in self.applies)


class _InGraph:
    """What was seen while a function was traced, in the outermost graph that was traced last: a first call may trace twice."""

    def __init__(self) -> None:
        self._seen: dict[str, set[Any]] = {"apply": set(), "gradient": set()}
        self._loop = False
        self._graph: Any = None
        # Of each optimizer, how many updates it had counted when that was asked last.
        self._counted: dict[int, int] = {}
        self._context: Any = None

    def is_eager(self) -> bool:
        if self._context is None:
            self._context = sys.modules.get("tensorflow.python.eager.context")
        return bool(self._context is None or self._context.executing_eagerly())

    def clear(self) -> None:
        self._seen = {"apply": set(), "gradient": set()}
        self._loop, self._graph = False, None

    def found(self) -> _Found:
        return _Found(frozenset(self._seen["apply"]), frozenset(self._seen["gradient"]), self._loop)

    def saw(self, kind: str, who: Any) -> None:
        """A tape or an optimizer, `who`, was used while a function was traced: a function inside another is traced twice."""
        graph = sys.modules["tensorflow.python.framework.ops"].get_default_graph()
        if not is_of_function(graph):
            return  # of a session, which says itself when it trains
        looped = False
        while True:
            looped = looped or bool(_IN_LOOP.search(getattr(graph, "name", "") or ""))
            outer = getattr(graph, "outer_graph", None)
            if not is_of_function(outer):
                break
            graph = outer
        if graph is not self._graph:
            self.clear()
            self._graph = graph
        self._seen[kind].add(who)
        self._loop = self._loop or looped

    def began(self, optimizer: Any) -> None:
        """A function that applies it is traced: what it has counted so far, that function has not done."""
        self._counted.setdefault(id(optimizer), _updates_of(optimizer))

    def updates_since(self, wanted: Collection[int], optimizers: Iterable[Any]) -> int:
        """How many updates those wanted of the optimizers count since this was asked last. It waits for the device."""
        since = 0
        for optimizer in optimizers:
            if id(optimizer) in wanted:
                total = _updates_of(optimizer)
                since += total - self._counted.get(id(optimizer), 0)
                self._counted[id(optimizer)] = total
        return since


def _updates_of(optimizer: Any) -> int:
    """How many updates an optimizer has counted; of an old one, which does not, none."""
    with sys.modules["tensorflow"].init_scope():
        return int(getattr(optimizer, "iterations", 0))


def watch_garbage(watcher: Watcher) -> None:
    """Time Python's collector, and tell which lines ask for it."""
    entered: list[tuple[int, int, float]] = []

    def on_collection(phase: str, info: Mapping[str, int]) -> None:
        if not watcher.ledger.on or not watcher.is_watched():
            entered.clear()
        elif phase == "start":
            entered.append(watcher.ledger.enter("gc"))
        elif entered:
            watcher.ledger.leave(entered.pop())

    gc.callbacks.append(on_collection)
    original = gc.collect

    @functools.wraps(original)
    def collect(*args: Any, **keywords: Any) -> int:
        began = perf_counter()
        try:
            return original(*args, **keywords)
        finally:
            frame = sys._getframe(1)
            watcher.note("gc", "gc.collect", frame, perf_counter() - began)
            # No other thread could look meanwhile: the next look would lay it to the line behind.
            watcher.looks.lay_to(frame)

    gc.collect = collect


def watch_files(watcher: Watcher) -> None:
    """Tell which lines open files."""
    original = builtins.open

    @functools.wraps(original)
    def opened(file: Any, mode: str = "r", *args: Any, **keywords: Any) -> Any:
        if not watcher.ledger.on or not watcher.is_watched():
            return original(file, mode, *args, **keywords)
        entered = watcher.ledger.enter("files")
        try:
            return original(file, mode, *args, **keywords)
        finally:
            watcher.note("file", f"open {mode}", sys._getframe(1), watcher.ledger.leave(entered))

    builtins.open = opened
