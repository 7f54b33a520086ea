"""For runs that are compared: one stream of random numbers, and what the program learns from it."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import islice
from types import FrameType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary
from zlib import crc32

from tflint_perf.observe.patching import replace
from tflint_perf.observe.user_code import Places

_MOST_LOSSES = 8000
# What a step gives is looked at so far for a loss.
_MOST_IN_A_STEP = 8
_SEEDS = 2**31 - 1
# A nudge moves each number of a weight by up to so many units in the last place, either way; in large ones only once.
_UNITS = 2
_LARGE = 1_000_000
# The second seed of a draw that puts the rows of a `fit` in order; and for how many numbers of rows these are counted.
_ORDER = _SEEDS
_COUNTED = 1024
# The function of TensorFlow that asks for the seeds of an order, and whose modules Keras's are.
_SHUFFLE = "random_shuffle"
_KERAS = ("keras", "tf_keras", "tensorflow.python.keras")


# A statement, and whether it draws under a tape.
_Drawn = tuple[str, bool]


class Learned:
    """The trained variables before their first update and at the end, and a loss of each step."""

    def __init__(
        self, out: str, seed: int, nudge: bool, eagerly: bool = False, drawn: Iterable[int] | None = None
    ) -> None:
        self._out, self._seed, self._nudge = out, seed, nudge
        self.eagerly = eagerly
        # The statements that draw in the program that this one is a version of, if Keras puts rows in order there.
        self._drawn_before = frozenset(drawn) if drawn is not None else None
        # How many orders were drawn of so many rows: a variable, since graphs draw them as they run.
        self._orders: Any = None
        self._trained: dict[int, Any] = {}
        # Those that gradients were taken of: what is trained where no optimizer says so.
        self._recorded: dict[int, Any] = {}
        self._first: dict[int, Any] = {}
        # By step; whether each is what a function gave.
        self._losses: list[tuple[int, Any, bool]] = []
        self._session: Any = None
        self._nudged: set[int] = set()
        # Whether gradients of this step are nudged: a minimizer that sets the weights itself takes no notice of theirs.
        self._nudges_gradients = False
        self._chance: Any = None
        # How often a statement has drawn: in this step, and in each graph that was made, which goes on from where the step was.
        self._draws: dict[_Drawn, int] = {}
        # Whether a statement was under a tape when it first drew.
        self._ways: dict[str, bool] = {}
        self._graphs: WeakKeyDictionary[Any, dict[_Drawn, range]] = WeakKeyDictionary()
        # Of each function, which of a step's draws it makes, and whether it was traced under a tape.
        self._drawn_by: WeakKeyDictionary[Any, tuple[dict[_Drawn, range], bool]] = WeakKeyDictionary()
        self._drawn_in_graph: dict[_Drawn, range] = {}
        self._is_taped: Callable[[], bool] = lambda: False
        # Statements that drew eagerly, and those that drew what eager code would not have: in a function that was called when
        # others of the step's draws were due, as a second time, or traced again, so that its numbers began anew.
        self._drew_eagerly: set[str] = set()
        self._drew_by_graph: set[str] = set()
        # What is trained, as it was before the last update: the one that shows that a step has begun.
        self._before: dict[int, Any] = {}

    def begin(self) -> None:
        """Before the program runs."""
        os.environ["TF_DETERMINISTIC_OPS"] = "1"
        random.seed(self._seed)

    def hook_numpy(self, module: ModuleType) -> None:
        module.random.seed(self._seed)

    def hook_functions(self, module: ModuleType) -> None:
        """Have all that the program compiles run eagerly, where that is asked."""
        if self.eagerly:
            module.run_functions_eagerly(True)

    def hook_random(self, in_graph: Any, places: Places) -> None:
        """Let the same draw of a step give the same numbers, whether it is run eagerly or in a graph.

        An op's generator is told by its seeds: each draw of a step, told by the statement of the user's that it is in and by how
        often that has drawn in the step, gets seeds of its own, and keeps them. So it does not count which of the functions
        that draw are compiled, nor whether a statement is moved into one. What is drawn under a tape is counted by itself, since
        a validation between two steps may draw by the same statements.
        """
        module = sys.modules.get("tensorflow.python.framework.random_seed")
        ops = sys.modules.get("tensorflow.python.framework.ops")
        stacks = sys.modules.get("tensorflow.python.util.tf_stack")
        tapes = sys.modules.get("tensorflow.python.pywrap_tfe")
        if module is None or ops is None or stacks is None or tapes is None:
            return
        self._is_taped = lambda: not tapes.TFE_Py_TapeSetIsEmpty()
        original: Callable[..., Any] = vars(module)["get_seed"]

        def statement_at(graph: Any, frame: FrameType) -> str:
            if graph is None:
                user = places.innermost(frame)
                at = (user.f_code.co_filename, user.f_lineno) if user is not None else None
            else:
                # As the user wrote it: what is traced is code that AutoGraph has made of it.
                stack = [(frame.filename, frame.lineno) for frame in stacks.extract_stack()]
                at = next((place for place in reversed(stack) if places.name_of(place[0]) is not None), None)
            return places.statement(*at) if at is not None else ""

        def get_seed(op_seed: int | None) -> Any:
            if op_seed is not None:
                return original(op_seed)
            graph = None if in_graph.is_eager() else ops.get_default_graph()
            if graph is not None and not is_of_function(graph):
                return original(op_seed)
            statement = statement_at(graph, sys._getframe(1))
            if self._is_order(sys._getframe(1), statement):
                return self._seed + 1, _ORDER
            drawn = statement, self._is_taped()
            if graph is None:
                number = self._draws.get(drawn, 0)
                self._draws[drawn] = number + 1
                self._drew_eagerly.add(statement)
            else:
                number = self._draw_in(_outermost(graph), drawn)
            # A statement that only ever draws under tapes, or only ever elsewhere, may be moved out of one, or into one.
            is_first_way = self._ways.setdefault(statement, drawn[1]) == drawn[1]
            told = statement if is_first_way else drawn
            return self._seed + 1, crc32(f"{number} {told}".encode()) % _SEEDS

        vars(module)["get_seed"] = get_seed
        for name in list(sys.modules):
            other = sys.modules[name]
            if name.startswith("tensorflow.python.") and getattr(other, "get_seed", None) is original:
                vars(other)["get_seed"] = get_seed

    def hook_orders(self, module: ModuleType) -> None:
        """Let the rows of `fit` be in the same order where a version of the program draws that itself.

        Keras draws an order each epoch, in a pipeline that it makes for each call; a version that makes the mini-batches by
        itself draws it in a graph that is traced once. So neither the graph nor the statement tells an order, but the how-manieth
        of so many rows it is: whoever draws it once too often or too seldom, or one for the inputs and another for the targets,
        goes through the rows in other orders from then on.
        """

        def made(original: Callable[..., Any]) -> Callable[..., Any]:
            def random_shuffle(value: Any, seed: int = 0, seed2: int = 0, name: str | None = None) -> Any:
                if seed2 != _ORDER:
                    return original(value, seed=seed, seed2=seed2, name=name)
                return self._in_order(value, seed)

            return random_shuffle

        replace(module, _SHUFFLE, made)

    def _is_order(self, asks: FrameType, statement: str) -> bool:
        """Whether what is drawn is the order of the rows of a `fit`: Keras draws it, or in a version of a program where Keras does a
        statement that was not there."""
        if asks.f_code.co_name != _SHUFFLE or sys.modules["tensorflow"].distribute.has_strategy():
            return False
        frame: FrameType | None = asks
        while frame is not None and _is_of_tensorflow(frame):
            frame = frame.f_back
        if frame is not None and _module_of(frame).startswith(_KERAS):
            return True
        return self._drawn_before is not None and crc32(statement.encode()) not in self._drawn_before

    def _in_order(self, value: Any, seed: int) -> Any:
        """The rows of `value` in the next order of so many."""
        tensorflow = sys.modules["tensorflow"]
        if self._orders is None:
            with tensorflow.init_scope(), tensorflow.device("CPU"):
                self._orders = tensorflow.Variable([0] * _COUNTED, trainable=False)
        rows = tensorflow.shape(value)[0]
        place = rows % _COUNTED
        counted = self._orders.scatter_nd_add([[place]], [1])
        seeds = tensorflow.stack([seed, tensorflow.gather(counted, place)])
        return tensorflow.gather(
            value, tensorflow.argsort(tensorflow.random.stateless_uniform([rows], seeds))
        )

    def _draw_in(self, graph: Any, drawn: _Drawn) -> int:
        """Which of the step's draws this is, the next of a graph that is made."""
        if graph not in self._graphs:
            self._drawn_in_graph = self._graphs[graph] = {}
        draws = self._graphs[graph]
        due = self._draws.get(drawn, 0)
        before = draws.get(drawn, range(due, due))
        draws[drawn] = range(before.start, before.stop + 1)
        return before.stop

    def called(self, function: Any) -> None:
        """A compiled function was called by eager code, and traced if that was its first call."""
        if self._drawn_in_graph:
            if function in self._drawn_by:
                self._drew_by_graph.update(statement for statement, _ in self._drawn_in_graph)
            self._drawn_by[function] = self._drawn_in_graph, self._is_taped()
            self._drawn_in_graph = {}
        numbers, was_taped = self._drawn_by.get(function, ({}, False))
        for drawn, made in numbers.items():
            statement, taped = drawn
            due = self._draws.get(drawn, 0)
            # Under a tape of its own, a function draws the same whatever there is around it.
            by_itself = taped and not was_taped
            if due != made.start or (self._is_taped() != was_taped and not by_itself):
                self._drew_by_graph.add(statement)
            self._draws[drawn] = due + len(made)

    def after_step(self, count: int) -> None:
        """Between two steps."""
        self._draws.clear()
        self._nudges_gradients = self._nudge and count == 1 and not self._trained
        for key, variable in self._all.items():
            if (
                self._first.get(key) is None
            ):  # made by the function that was traced: the first value that can be seen
                self._first[key] = self._value(variable)
        if self._nudge:
            for key, variable in self._all.items():
                self._move(key, variable)

    def before_update(self) -> None:
        """Before the first update of the last step: what whole steps have trained, however many of its updates are compiled together."""
        self._before = {key: self._value(variable) for key, variable in self._all.items()}

    @property
    def _all(self) -> dict[int, Any]:
        return self._trained or self._recorded

    def know(self, variables: Iterable[Any]) -> None:
        """These are trained: keep what they are before their first update."""
        self._keep(variables, self._trained)

    def watched(self, tape: Any) -> None:
        """A gradient was taken, also while a function is traced."""
        with suppress(Exception):  # of whatever tape this is
            self._keep(tape.watched_variables(), self._recorded)

    def nudged(self, gradients: Any) -> Any:
        """The gradients that eager code has taken, moved by one unit in the last place where they are to be."""
        tensorflow = sys.modules["tensorflow"]
        if not self._nudges_gradients or not tensorflow.executing_eagerly():
            return gradients

        numpy = sys.modules["numpy"]

        def moved(gradient: Any) -> Any:
            # What an embedding gets is no tensor, but rows of one.
            if not hasattr(gradient, "numpy") or gradient.dtype not in (
                tensorflow.float32,
                tensorflow.float64,
            ):
                return gradient
            return gradient * (1 + numpy.finfo(gradient.dtype.as_numpy_dtype).eps)

        return tensorflow.nest.map_structure(moved, gradients)

    def _keep(self, variables: Iterable[Any], among: dict[int, Any]) -> None:
        for variable in variables:
            variable = getattr(variable, "_value", variable)  # Keras 3 wraps TensorFlow's
            if id(variable) not in among:
                among[id(variable)] = variable
                if id(variable) not in self._first:
                    self._first[id(variable)] = self._value(variable)

    def session(self, session: Any) -> None:
        self._session = session
        tensorflow = sys.modules["tensorflow"]
        with suppress(Exception), session.graph.as_default():
            self.know(tensorflow.compat.v1.trainable_variables())

    def saw_result(self, step: int, result: Any) -> None:
        """A loss is a number in what a compiled step gives; where it gives several, nobody knows which."""
        tensorflow = sys.modules["tensorflow"]
        numbers = (
            tensor
            for tensor in tensorflow.nest.flatten(result)
            if getattr(tensor, "shape", None) == ()
            and getattr(getattr(tensor, "dtype", None), "is_floating", False)
        )
        for tensor in islice(numbers, _MOST_IN_A_STEP):
            self.saw_loss(step, tensor, is_result=True)

    def saw_loss(self, step: int, loss: Any, *, is_result: bool = False) -> None:
        if len(self._losses) < _MOST_LOSSES:
            self._losses.append((step, loss, is_result))

    def write(self, *, of_whole_steps: bool = False) -> bool:
        """Write it all, what whole steps have trained where it is asked; False where there is no NumPy or nothing was trained."""
        numpy = sys.modules.get("numpy")
        if numpy is None:
            return False
        arrays: dict[str, Any] = {}
        before = self._before if of_whole_steps else {}
        for number, (key, variable) in enumerate(self._all.items()):
            last = before[key] if before.get(key) is not None else self._value(variable)
            if last is not None:
                arrays[f"last{number}"] = last
            if self._first[key] is not None:
                arrays[f"first{number}"] = self._first[key]
        losses = []
        for step, loss, is_result in self._losses:
            with suppress(Exception):  # a tensor of another graph, or none at all
                losses.append((step, float(numpy.mean(numpy.asarray(loss))), is_result))
        arrays["losses"] = numpy.asarray(losses, dtype="float64").reshape(-1, 3)
        said: dict[str, Iterable[str]] = {
            "drew_eagerly": self._drew_eagerly,
            "drew_by_graph": self._drew_by_graph,
        }
        if self._orders is not None:
            said["drawn_beside_orders"] = self._ways
        for name, statements in said.items():
            arrays[name] = numpy.asarray(
                sorted(crc32(statement.encode()) for statement in statements), dtype="int64"
            )
        numpy.savez(self._out, **arrays)
        return True

    def _value(self, variable: Any) -> Any:
        numpy, tensorflow = sys.modules["numpy"], sys.modules["tensorflow"]
        with suppress(Exception):  # not initialised yet, or of a session
            if self._session is not None:
                return numpy.asarray(self._session.run(variable))
            with tensorflow.init_scope():
                value = numpy.array(variable.numpy())
            # One that a function is making while it is traced has no value yet, and gives an empty one.
            return value if value.shape == tuple(variable.shape) else None
        return None

    def _move(self, key: int, variable: Any) -> None:
        """Round a weight otherwise, by chance, as another order of adding would: after each step, since a program may put weights
        back to what they were."""
        numpy, tensorflow = sys.modules["numpy"], sys.modules["tensorflow"]
        value = self._value(variable)
        if value is None or value.dtype.kind != "f" or (value.size > _LARGE and key in self._nudged):
            return
        self._nudged.add(key)
        if self._chance is None:
            self._chance = numpy.random.RandomState(self._seed + 1)
        units = self._chance.randint(-_UNITS, _UNITS + 1, size=value.shape).astype(value.dtype)
        moved = (value + units * numpy.spacing(numpy.abs(value))).astype(value.dtype)
        with suppress(Exception):
            if self._session is not None:
                variable.load(moved, self._session)
            else:
                with tensorflow.init_scope():
                    variable.assign(moved)


def _module_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _is_of_tensorflow(frame: FrameType) -> bool:
    """Whether a frame is TensorFlow's, and none of the Keras that was a part of it."""
    name = _module_of(frame)
    return name.startswith("tensorflow.") and not name.startswith(_KERAS)


def is_of_function(graph: Any) -> bool:
    """Whether a graph is that of a function that is traced, or of a loop or a condition in it: each has a class of its own."""
    return type(graph).__name__.endswith("FuncGraph")


def _outermost(graph: Any) -> Any:
    """The graph of the function that is traced, of one of a loop or a condition in it."""
    while is_of_function(getattr(graph, "outer_graph", None)):
        graph = graph.outer_graph
    return graph
