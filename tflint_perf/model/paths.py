"""What a summary of a file is made with: other files are paths, which somebody who knows all files will follow."""

from __future__ import annotations

from tflint_perf.caller import Batch, Caller
from tflint_perf.model.names import canonical
from tflint_perf.model.outside import ClassFacts
from tflint_perf.model.values import UNKNOWN, Value

# Imports that lead to no file of a project, as far as this tool asks.
_NOT_OURS = frozenset(
    {"tf", "keras", "np", "tensorflow_datasets", "functools", "os", "sys", "time", "math", "random"}
)


class Paths:
    """An `Outside` that knows nothing of other files but the way to them: what a summary is made with."""

    def value(self, dotted: str) -> Value:
        """Unknown, with its path."""
        if canonical(dotted).split(".", 1)[0] in _NOT_OURS:
            return UNKNOWN
        return Value("unknown", outside=dotted)

    def member(self, path: str, name: str) -> Value:
        """Unknown, with its path."""
        return Value("unknown", outside=f"{path}.{name}")

    def called(self, path: str) -> Value:
        """Unknown, with its path."""
        return Value("unknown", outside=f"{path}()")

    def makes(self, path: str) -> bool:
        """Nobody knows."""
        return False

    def makes_batches(self, path: str) -> Batch | None:
        """Nobody knows."""
        return None

    def gives_batches(self, path: str, part: tuple[int, ...]) -> Batch | None:
        """Nobody knows."""
        return None

    def acts(self, path: str) -> bool:
        """Nobody knows."""
        return False

    def has_step_loop(self, path: str) -> bool:
        """Nobody knows."""
        return False

    def trains(self, path: str) -> bool:
        """Nobody knows."""
        return False

    def may_train(self, path: str) -> bool:
        """Nobody knows."""
        return False

    def takes(self, path: str) -> tuple[tuple[str, int], ...]:
        """Nobody knows."""
        return ()

    def class_facts(self, path: str) -> ClassFacts:
        """Nobody knows; whoever follows the path asks again."""
        return ClassFacts(has_foreign_base=False)

    def callers(self, function: str) -> tuple[Caller, ...]:
        """Nobody."""
        return ()

    def module_texts(self, dotted: str) -> tuple[bytes, ...]:
        """Nobody knows."""
        return ()


PATHS = Paths()
