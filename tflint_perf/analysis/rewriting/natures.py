"""What values are: those that nobody can change, and arrays, which whoever holds them can write to."""

from __future__ import annotations

from typing import Literal

import libcst as cst

from tflint_perf.analysis.apis.facts import fact, has, library, methods
from tflint_perf.analysis.python.scopes import Binding, Scope
from tflint_perf.analysis.python.syntax import has_stars, keyword_argument, part_at
from tflint_perf.analysis.values.infer import Inference

# "fixed": nobody can change it, a number or a tensor for instance; "array": an array, which whoever holds it can write to.
Nature = Literal["fixed", "array"]


class Natures:
    """Answers what an expression gives, by what it is made of."""

    def __init__(self, infer: Inference) -> None:
        self._infer = infer
        self._names = infer.names
        self._natures: dict[cst.CSTNode, Nature | None] = {}
        # What is being worked out, and how often that led back to itself.
        self._asked: set[cst.CSTNode] = set()
        self._cuts = 0

    @staticmethod
    def is_plain(binding: Binding, home: Scope) -> bool:
        """Whether a binding is an assignment in the function whose name it is."""
        return (
            binding.kind == "assign"
            and binding.path is not None
            and binding.at.block.function is home.function
        )

    def is_tensor(self, node: cst.BaseExpression) -> bool:
        """Whether an expression surely gives a tensor: no structure of tensors, no variable, no array."""
        if isinstance(node, cst.Name):
            found = self._names.lookup(node.value, self._names.scope_of(node))
            return found is not None and all(
                self.is_plain(binding, found[0])
                and binding.path == ()
                and isinstance(binding.value, cst.Call)
                and self.is_tensor(binding.value)
                for binding in found[1]
            )
        return self._names.is_call_that(node, "one-tensor")

    def of(self, node: cst.BaseExpression) -> Nature | None:
        """What an expression gives; None for what is not known, or may be held by others."""
        if node in self._natures:
            return self._natures[node]
        if node in self._asked:  # `x = x / 255` says nothing about what `x` was before
            self._cuts += 1
            return "fixed"
        cuts = self._cuts
        self._asked.add(node)
        nature = self._work_out(node)
        self._asked.discard(node)
        if cuts == self._cuts or not self._asked:
            self._natures[node] = nature
        return nature

    def of_binding(self, binding: Binding) -> Nature | None:
        if binding.value is None or binding.path is None:
            return None
        if binding.path == ():
            return self.of(binding.value)
        part = part_at(binding.value, binding.path)
        if part is not None and part is not binding.value:
            return self.of(part)
        if isinstance(binding.value, cst.Call):
            name = self._names.qualified(binding.value.func)
            if has(name, "gives-data"):
                return "array"
            return "fixed" if makes_tensor(name) else None
        return None

    def _work_out(self, node: cst.BaseExpression) -> Nature | None:
        match node:
            case (
                cst.Integer() | cst.Float() | cst.Imaginary() | cst.SimpleString() | cst.ConcatenatedString()
            ):
                return "fixed"
            case cst.Name():
                return self._of_name(node)
            case cst.UnaryOperation(expression=expression):
                return "fixed" if isinstance(node.operator, cst.Not) else self.of(expression)
            case cst.BinaryOperation():
                return self._joined([node.left, node.right])
            case cst.Comparison():
                return self._joined([node.left, *(target.comparator for target in node.comparisons)])
            case cst.Tuple():
                parts = [element.value for element in node.elements]
                return "fixed" if parts and all(self.of(part) == "fixed" for part in parts) else None
            case cst.Attribute():
                return self._of_attribute(node)
            case cst.Subscript():
                return self._of_part(node)
            case cst.Call():
                return self._of_call(node)
        return None

    def _joined(self, nodes: list[cst.BaseExpression]) -> Nature | None:
        natures = {self.of(node) for node in nodes}
        return None if None in natures else "array" if "array" in natures else "fixed"

    def _of_name(self, node: cst.Name) -> Nature | None:
        if node.value in ("None", "True", "False"):
            return "fixed"
        found = self._names.lookup(node.value, self._names.scope_of(node))
        if found is None:
            return None
        home, bindings = found
        if not all(self.is_plain(binding, home) for binding in bindings):
            return None
        natures = {self.of_binding(binding) for binding in bindings}
        return None if None in natures else "array" if "array" in natures else "fixed"

    def _of_attribute(self, node: cst.Attribute) -> Nature | None:
        if self._names.dotted(node):
            name = self._names.qualified(node)
            return "fixed" if has(name, "constant") else None
        if self.of(node.value) == "array":
            return (
                "fixed"
                if node.attr.value in methods("ndarray", "describes")
                else "array"
                if node.attr.value in methods("ndarray", "views")
                else None
            )
        return "fixed" if self.of(node.value) == "fixed" and node.attr.value in ("shape", "dtype") else None

    def _of_part(self, node: cst.Subscript) -> Nature | None:
        whole = self.of(node.value)
        if whole == "fixed":
            return "fixed"  # of a tensor, a string, a tuple of such
        return whole if all(self._is_plain_index(element.slice) for element in node.slice) else None

    def _is_plain_index(self, index: cst.BaseSlice) -> bool:
        parts = (
            [index.value] if isinstance(index, cst.Index) else [index.lower, index.upper, index.step]
            if isinstance(index, cst.Slice) else []
        )  # fmt: skip
        return bool(parts) and all(part is None or self.of(part) is not None for part in parts)

    def _of_call(self, call: cst.Call) -> Nature | None:
        name = self._names.qualified(call.func)
        if name:
            if makes_tensor(name) or has(name, "plain-numbers"):
                return "fixed"
            if has(name, "unforeseen"):
                return "array"
            if has(name, "copies"):
                return None if writes_to_an_argument(name, call) else "array"
            if has(name, "views") and call.args:
                return self.of(call.args[0].value)
            return "fixed" if self._infer.value(call).kind == "dataset" else None
        if isinstance(call.func, cst.Name):
            is_builtin = self._names.is_builtin(call.func)
            return (
                "fixed"
                if is_builtin and call.func.value in ("len", "int", "float", "str", "bool", "range")
                else None
            )
        if isinstance(call.func, cst.Attribute):
            return self._of_method(call, call.func)
        return None

    def _of_method(self, call: cst.Call, func: cst.Attribute) -> Nature | None:
        method = func.attr.value
        if self._infer.value(call).kind == "dataset" and self.of(func.value) == "fixed":
            return "fixed"
        if self.is_generator(func.value):
            return "array"
        if self.of(func.value) != "array" or keyword_argument(call, "out") is not None or has_stars(call):
            return None
        if method not in methods("ndarray", "views") and len(call.args) > 1:
            return None  # one of them may be what it writes to
        if method in ("tolist", "tobytes", "item") or (method == "view" and not self.is_of_numbers(call)):
            return None
        copies = method in methods("ndarray", "copies") and keyword_argument(call, "copy") is None
        return "array" if copies or method in methods("ndarray", "views") else None

    def is_of_numbers(self, view: cst.Call) -> bool:
        """Whether `x.view(…)` gives an array of numbers, and not an object of a class that may do anything when it is read."""
        return all(
            isinstance(arg.value, cst.SimpleString) or library(self._names.qualified(arg.value)) == "numpy"
            for arg in view.args
        )

    def is_generator(self, node: cst.BaseExpression) -> bool:
        """Whether a name stands for a generator of random numbers of NumPy."""
        found = self._infer.bindings_reaching(node) if isinstance(node, cst.Name) else None
        return found is not None and all(
            isinstance(binding.value, cst.Call)
            and binding.path == ()
            and self._names.is_call_that(binding.value, "generator")
            for binding in found[1]
        )


def writes_to_an_argument(name: str, call: cst.Call) -> bool:
    """Whether a call of a function of NumPy may write to one of its arguments, or give it back."""
    places = sum(1 for arg in call.args if arg.keyword is None)
    keywords = {arg.keyword.value for arg in call.args if arg.keyword is not None}
    # Behind as many as it takes arrays stands the one that it writes to.
    writes = places > int(fact(name, "arrays") or places) or not keywords.isdisjoint(("out", "copy"))
    return has_stars(call) or writes


def computes(name: str) -> bool:
    """Whether a function of a library does nothing but compute: it gives the same for the same, and has no effect."""
    if has(name, "fresh", "copies"):
        return True
    # A name that speaks of chance is taken at its word, whatever library it is of.
    if has(name, "draws", "host") or ".random" in name or "sample" in name:
        return False
    return has(name, "pure", "decodes", "parses")


def makes_tensor(name: str) -> bool:
    """Whether a function gives a tensor, which nobody can change, whatever it draws or reads for that."""
    return has(name, "fresh") or (library(name) == "tensorflow" and has(name, "pure", "draws"))
