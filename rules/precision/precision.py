"""What a file says of the precision it computes in: its mixed-precision policy, and names for it that are gone."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.conventions import names_a_version
from tflint_perf.analysis.python.names import canonical
from tflint_perf.analysis.python.scopes import Scope
from tflint_perf.analysis.python.syntax import descendants, dotted_name, last_name
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part
from tflint_perf.records import dataclass

# Where the names of mixed precision were until TensorFlow 2.4 gave them a place without `experimental`.
_GONE = "keras.mixed_precision.experimental"
# Words of a file that has thought of its precision, or that hands the matter to a switch or to another file.
_THOUGHT_OF = re.compile(
    r"mixed|precision|float16|float64|floatx|dtype_policy|fp16|bf16|\bhalf\b|\bamp\b", re.I
)


@dataclass(frozen=True, slots=True)
class RemovedUse:
    """A place where the file uses what is gone.

    `node` is the import statement, or the outermost expression that spells it. `name` is the name in the removed
    module, "" for the module itself. `holder` is what of the expression stands for the module, where any does.
    """

    node: cst.Import | cst.ImportFrom | cst.Name | cst.Attribute
    name: str
    holder: cst.Name | cst.Attribute | None = None

    @property
    def names_it(self) -> bool:
        """Whether the code names the removed module, or something in it, here: by the module's name, or by an import of
        it alone."""
        if isinstance(self.node, cst.ImportFrom):
            return last_name(self.node.module) == "experimental"
        return self.holder is not None


class Precision(Part):
    """Answers which policy a file sets, and where it uses names that are gone."""

    same_for_all_callers = True

    _infer: Inference
    _text: str

    def is_thought_of(self) -> bool:
        """Whether the file mentions the precision that it computes in."""
        return _THOUGHT_OF.search(self._text) is not None

    def removed(self) -> list[RemovedUse]:
        """Every use of the removed module, in the order of the text.

        None in a file that knows the present names too, or asks for the version: it is written for both.
        """
        uses = [*self._imports(), *self._expressions()]
        if not uses or self._knows_present_names() or any(self._is_one_of_two_ways(use.node) for use in uses):
            return []
        return sorted(uses, key=lambda use: self._infer.place(use.node).order)

    def _imports(self) -> Iterator[RemovedUse]:
        for statement in self._walk.at:
            match statement:
                case cst.Import():
                    modules = [dotted_name(alias.name) for alias in statement.names]
                case cst.ImportFrom(module=cst.Name() | cst.Attribute() as module) if not statement.relative:
                    modules = [dotted_name(module)]
                    if not isinstance(statement.names, cst.ImportStar):
                        modules += [f"{modules[0]}.{last_name(alias.name)}" for alias in statement.names]
                case _:
                    continue
            if any(canonical(module) == _GONE for module in modules):
                yield RemovedUse(statement, "")

    def _expressions(self) -> Iterator[RemovedUse]:
        for node in self._candidates():
            name = self._infer.names.qualified(node)
            parent = self._walk.parents.get(node)
            if isinstance(parent, cst.AssignTarget) or self._is_compat(node):
                continue
            if name == _GONE:
                if isinstance(parent, cst.Attribute):
                    yield RemovedUse(parent, parent.attr.value, node)
                else:
                    yield RemovedUse(node, "", node)
            elif isinstance(node, cst.Name) and name.startswith(f"{_GONE}."):
                yield RemovedUse(node, name.removeprefix(f"{_GONE}."))

    def bound_twice(self) -> cst.CSTNode | None:
        """Another binding of a name that the removed module, or a thing of it, is imported by."""
        for scope, name in self._names_of_module():
            bindings = scope.bindings[name]
            if len(bindings) > 1:
                return next(
                    (b.node for b in bindings if not canonical(b.imported).startswith(_GONE)),
                    bindings[0].node,
                )
        return None

    def _candidates(self) -> Iterator[cst.Name | cst.Attribute]:
        yield from self._walk.attributes.get("experimental", ())
        for name in sorted({name for _, name in self._names_of_module()}):
            yield from self._walk.names.get(name, ())

    def _names_of_module(self) -> Iterator[tuple[Scope, str]]:
        """The names that the removed module, or a thing of it, is bound to, each with its scope."""
        modules = frozenset(self._walk.attributes.get("experimental", ()))
        for scope in self._walk.scopes.values():
            for name, bindings in scope.bindings.items():
                if any(canonical(b.imported).startswith(_GONE) or b.value in modules for b in bindings):
                    yield scope, name

    def _is_compat(self, node: cst.CSTNode) -> bool:
        """Whether `node` is a name of TensorFlow 1, spelled `tf.compat.v1`."""
        return ".compat.v1." in (self._infer.names.dotted(node) or "")

    def _knows_present_names(self) -> bool:
        return any(
            name in names
            for name in ("set_global_policy", "set_dtype_policy")
            for names in (self._walk.names, self._walk.attributes)
        )

    def _is_one_of_two_ways(self, node: cst.CSTNode) -> bool:
        """Whether `node` is in a `try`, or under a condition on a version or on what exists."""
        child, current = node, self._walk.parents.get(node)
        while current is not None:
            match current:
                case cst.Try() | cst.ExceptHandler():
                    return True
                case cst.If() | cst.IfExp() if child is not current.test and _asks_version(current.test):
                    return True
            child, current = current, self._walk.parents.get(current)
        return False


# How old code asks what a version has.
_ASKING = ("hasattr", "getattr")


def _asks_version(test: cst.CSTNode) -> bool:
    return any(
        names_a_version(last_name(node)) or last_name(node) in _ASKING
        for node in descendants(test)
        if isinstance(node, cst.Name | cst.Attribute)
    )
