"""What one pass over a libcst tree learns about a TensorFlow script, and the questions that rules ask."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from tflint_perf.analysis.parts import SAME_FOR_ALL_CALLERS, Parts
from tflint_perf.analysis.python.names import Names
from tflint_perf.analysis.python.scopes import Class, Function, Loop
from tflint_perf.analysis.python.syntax import names_read
from tflint_perf.analysis.python.walk import Walk
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.outside import NOTHING, Outside

# They are given names as text, or all names that there are.
_SEES_NAMES = re.compile(r"\b(?:eval|exec|globals|locals|vars|getattr|__dict__)\b")

if TYPE_CHECKING:
    from tflint_perf.analysis.execution.guards import Guard
    from tflint_perf.analysis.values.values import Value


class Model(Parts):
    """A module and what is known of it.

    The walk runs at once; everything else is worked out when a rule first asks. `text` is the module's source,
    `outside` what is known of other files.
    """

    def __init__(self, module: cst.Module, text: str, outside: Outside = NOTHING) -> None:
        self.module = module
        self.text = text
        self.walk = Walk(module)
        self.names = Names(self.walk)
        self.infer = Inference(self.walk, self.names, outside)
        # The parts that another model lent to this one.
        self.lent: tuple[object, ...] = ()
        # The first question about a parameter has the calls looked through; most files never get one.
        self.infer.arguments_of = lambda function, name: self.calls.arguments(function, name)

    def with_callers(self, outside: Outside) -> Model:
        """The same module, with other callers in other files, which say the same about everything else."""
        other = Model.__new__(Model)
        other.module, other.text, other.walk, other.names = self.module, self.text, self.walk, self.names
        # Values are the same whoever calls.
        other.infer, other.calls = self.infer, self.calls.with_callers(outside)
        lent = {name: self.__dict__[name] for name in SAME_FOR_ALL_CALLERS if name in self.__dict__}
        other.__dict__.update(lent)
        other.lent = tuple(lent.values())
        return other

    def release(self) -> None:
        """Let go of the tree at once. What refers to itself would wait for the garbage collector."""
        self.walk.release()
        self.infer.__dict__.clear()
        self.forget()

    def forget(self) -> None:
        """Let go of what was worked out, and leave the tree and its values to the model that this one was made from."""
        shared = (self.module, self.walk, self.names, self.infer, *self.lent)
        for known in list(self.__dict__.values()):
            if hasattr(known, "__dict__") and all(known is not other for other in shared):
                known.__dict__.clear()
        self.__dict__.clear()

    # What rules ask most

    def calls_named(self, *names: str) -> list[cst.Call]:
        """Calls whose callee ends in one of `names`, in the order of the text."""
        return [call for name in names for call in self.walk.calls.get(name, ())]

    def calls_to(self, *qualified: str) -> list[cst.Call]:
        """Calls to functions known by their qualified names, however they were imported."""
        found = []
        for name in qualified:
            last = name.rsplit(".", 1)[-1]
            # An alias may hide the last part of the name.
            lists = [self.walk.calls.get(last, [])] + [
                self.walk.calls.get(alias, []) for alias in self._aliases.get(name, ()) if alias != last
            ]
            found += [call for calls in lists for call in calls if self.names.qualified(call.func) == name]
        return found

    @cached_property
    def _aliases(self) -> dict[str, set[str]]:
        """Qualified names by the module-wide short names that stand for them."""
        from tflint_perf.analysis.python.names import canonical

        aliases: dict[str, set[str]] = {}
        for scope in self.walk.scopes.values():
            for bound, bindings in scope.bindings.items():
                for binding in bindings:
                    if binding.imported:
                        aliases.setdefault(canonical(binding.imported), set()).add(bound)
                    elif binding.kind == "assign" and isinstance(binding.value, cst.Attribute | cst.Name):
                        name = self.names.qualified(binding.value)
                        if name:
                            aliases.setdefault(name, set()).add(bound)
        return aliases

    @cached_property
    def compiled_calls(self) -> list[cst.Call]:
        """Calls of functions that are a `tf.function`."""
        if (
            not {"function", "defun"} & {*self.walk.names, *self.walk.attributes}
            and "tf.function" not in self._aliases
        ):
            return []
        return [
            call
            for calls in self.walk.calls.values()
            for call in calls
            if call.args and not self.names.dotted(call.func) and self.value(call.func).kind == "compiled"
        ]

    def value(self, node: cst.CSTNode) -> Value:
        """What is known of the value of an expression."""
        return self.infer.value(node)

    def qualified(self, node: cst.CSTNode) -> str:
        """The qualified name of an imported thing; "" for anything else."""
        return self.names.qualified(node)

    def function_at(self, node: cst.CSTNode) -> Function | None:
        """The function whose body holds `node`."""
        return self.calls.function_at(node)

    def is_compiled(self, node: cst.CSTNode) -> bool:
        """Whether `node` is compiled code."""
        return self.compiled.is_compiled(node)

    def is_eager(self, node: cst.CSTNode) -> bool:
        """Whether `node` surely runs in eager mode."""
        return self.compiled.is_eager(node)

    def is_per_step(self, node: cst.CSTNode) -> bool:
        """Whether `node` runs per step."""
        return self.loops.is_per_step(node)

    def guard_of(self, node: cst.CSTNode) -> Guard | None:
        """The guard in front of `node`."""
        return self.guards.guard_of(node)

    def statement_of(self, node: cst.CSTNode) -> cst.CSTNode:
        """The statement that holds `node`: a small statement or a compound one."""
        current = node
        while current not in self.walk.at:
            current = self.walk.parents[current]
        return current

    def import_used_only_by(self, node: cst.CSTNode) -> cst.Import | None:
        """The module's `import x` whose name nothing but `node` uses, and that imports nothing else.

        What the code says in strings, annotations or `__all__`, and to `eval` and its like, may be a use of it, too.
        """
        name = next((below.value for below in names_read(node)), "")
        code = re.sub(r"#.*", "", self.text)
        if not name or len(re.findall(rf"\b{name}\b", code)) > 2 or _SEES_NAMES.search(code):
            return None
        bindings = self.walk.top.bindings.get(name, [])
        if len(bindings) != 1 or bindings[0].kind != "import" or len(self.walk.names.get(name, ())) != 1:
            return None
        statement = self._statement_of_import(bindings[0].node)
        return statement if isinstance(statement, cst.Import) and len(statement.names) == 1 else None

    def _statement_of_import(self, alias: cst.CSTNode) -> cst.CSTNode | None:
        """The import statement that an alias belongs to."""
        return next(
            (
                statement
                for statement in self.walk.at
                if isinstance(statement, cst.Import | cst.ImportFrom)
                and not isinstance(statement.names, cst.ImportStar)
                and alias in statement.names
            ),
            None,
        )

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The node of code around `node`."""
        return self.walk.parents.get(node)


__all__ = ["Class", "Function", "Loop", "Model"]
