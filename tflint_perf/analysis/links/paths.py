"""What a summary of a file is made with: other files are paths, which somebody who knows all files will follow."""

from __future__ import annotations

from tflint_perf.analysis.python.names import canonical
from tflint_perf.analysis.values.outside import ClassFacts, Outside
from tflint_perf.analysis.values.values import UNKNOWN, Value

# Imports that lead to no file of a project, as far as this tool asks.
_NOT_OURS = frozenset(
    {"tf", "keras", "np", "tensorflow_datasets", "functools", "os", "sys", "time", "math", "random"}
)


class Paths(Outside):
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

    def class_facts(self, path: str) -> ClassFacts:
        """Nobody knows; whoever follows the path asks again."""
        return ClassFacts(has_foreign_base=False)


PATHS = Paths()
