"""What a process trains, as its optimizers, gradient tapes and sessions tell it: for `Learned`, without a watcher."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any
from weakref import WeakSet

from tflint_perf.observe.learned import Learned
from tflint_perf.observe.patching import ByModule, replace

_TRAINS = re.compile(r"(Resource|Sparse)*Apply|AssignSub")


class TrainedHooks:
    """All that is replaced to see which variables are trained. Each replacement does what it did."""

    def __init__(self, learned: Learned) -> None:
        self._learned = learned
        self._runs = TrainingRuns()

    def by_module(self) -> ByModule:
        """What is to be called once a module has been imported."""
        legacy = "tf_keras.src.optimizers."
        return {
            "tensorflow.python.eager.backprop": self._tapes,
            "tensorflow.python.client.session": self._sessions,
            "tensorflow.python.training.optimizer": self._applying("Optimizer", "apply_gradients", _of_pairs),
            "keras.src.optimizers.base_optimizer": self._applying("BaseOptimizer", "apply", _of_optimizer),
            legacy + "optimizer": self._applying("Optimizer", "apply_gradients", _of_pairs),
            legacy + "legacy.optimizer_v2": self._applying("OptimizerV2", "apply_gradients", _of_pairs),
        }

    def _applying(
        self, cls: str, name: str, variables_of: Callable[..., tuple[tuple[Any, ...], Sequence[Any]]]
    ) -> Callable[[ModuleType], None]:
        learned = self._learned

        def made(original: Callable[..., Any]) -> Callable[..., Any]:
            def apply(optimizer: Any, /, *args: Any, **keywords: Any) -> Any:
                args, variables = variables_of(optimizer, args, keywords)
                learned.know(variables)
                return original(optimizer, *args, **keywords)

            return apply

        return lambda module: replace(getattr(module, cls), name, made)

    def _tapes(self, module: ModuleType) -> None:
        learned = self._learned

        def made(original: Callable[..., Any]) -> Callable[..., Any]:
            def gradient(tape: Any, /, target: Any, *args: Any, **keywords: Any) -> Any:
                result = original(tape, target, *args, **keywords)
                learned.watched(tape)
                return learned.nudged(result)

            return gradient

        replace(module.GradientTape, "gradient", made)

    def _sessions(self, module: ModuleType) -> None:
        learned, runs = self._learned, self._runs

        def made(original: Callable[..., Any]) -> Callable[..., Any]:
            def run(session: Any, /, fetches: Any, *args: Any, **keywords: Any) -> Any:
                if runs.train(fetches):
                    learned.session(session)
                return original(session, fetches, *args, **keywords)

            return run

        replace(module.BaseSession, "run", made)


class TrainingRuns:
    """Tells which runs of a session update variables."""

    def __init__(self) -> None:
        self._trains: dict[tuple[str, ...], bool] = {}
        self._harmless: WeakSet[Any] = WeakSet()

    def train(self, fetches: Any) -> bool:
        """Whether fetching these updates a variable."""
        tensorflow = sys.modules["tensorflow"]
        flat = tensorflow.nest.flatten(fetches)
        key = tuple(str(getattr(fetched, "name", fetched)) for fetched in flat)
        if key not in self._trains:
            todo = [getattr(fetched, "op", fetched) for fetched in flat if not isinstance(fetched, str)]
            seen: set[Any] = set()
            while todo:
                op = todo.pop()
                if op in seen or not hasattr(op, "inputs") or op in self._harmless:
                    continue
                seen.add(op)
                todo += [tensor.op for tensor in op.inputs]
                todo += list(op.control_inputs)
            self._trains[key] = any(_TRAINS.match(op.type) for op in seen)
            if not self._trains[key]:
                self._harmless.update(seen)  # a graph that grows is not gone through again and again
        return self._trains[key]


def _of_pairs(
    optimizer: Any, args: tuple[Any, ...], keywords: Mapping[str, Any]
) -> tuple[tuple[Any, ...], Sequence[Any]]:
    """The arguments of `apply_gradients`, with its pairs in a list, and the variables in them."""
    if not args:
        return args, []
    pairs = list(args[0])
    return (pairs, *args[1:]), [variable for _, variable in pairs]


def _of_optimizer(
    optimizer: Any, args: tuple[Any, ...], keywords: Mapping[str, Any]
) -> tuple[tuple[Any, ...], Sequence[Any]]:
    given = args[1] if len(args) > 1 else keywords.get("trainable_variables")
    own = getattr(optimizer, "_trainable_variables", None) or []
    return args, list(given if given is not None else own)
