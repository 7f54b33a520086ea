"""Names whose values nobody changes: bound outside the loop to what can't change, or to an array that is only read."""

from __future__ import annotations

import builtins
from typing import Literal

import libcst as cst

from tflint_perf.model.infer import Inference
from tflint_perf.model.invariance import Invariance
from tflint_perf.model.rewriting import apis
from tflint_perf.model.rewriting.doubts import Doubt, Move, if_it_changes
from tflint_perf.model.rewriting.numpy_calls import writes_to_an_argument
from tflint_perf.model.rewriting.reads import Reads
from tflint_perf.model.scopes import Binding, Loop, Scope
from tflint_perf.model.syntax import has_stars, keyword_argument, part_at

# "fixed": nobody can change it, a number or a tensor for instance; "array": an array, which whoever holds it can write to.
Nature = Literal["fixed", "array"]

_BUILTINS = frozenset(dir(builtins))


class Unchanging:
    """Answers which names stand for the same value, with the same content, in each iteration of a loop."""

    def __init__(self, infer: Inference) -> None:
        self._infer = infer
        self._names = infer.names
        self._reads = Reads(infer, self)
        self._natures: dict[cst.CSTNode, Nature | None] = {}
        # What is being worked out, and how often that led back to itself.
        self._asked: set[cst.CSTNode] = set()
        self._cuts = 0

    def doubt(self, node: cst.Name, move: Move) -> Doubt | None:
        """Why what a name stands for may be another thing where `move` has it evaluated."""
        if node.value in ("None", "True", "False"):
            return None
        shown = if_it_changes(node, f"`{node.value}`")
        found = self._names.lookup(node.value, self._names.scope_of(node))
        if found is None:
            return None if node.value in _BUILTINS else shown
        home, bindings = found
        if all(binding.kind == "import" for binding in bindings):
            return None if self.is_of_library(node) else shown
        if home.kind == "class":
            return shown
        loop = move.loop
        bindings = [binding for binding in bindings if binding.node not in move.names]
        for binding in bindings:
            if not self._is_plain(binding, home) or self._is_bound_meanwhile(binding, bindings, home, loop):
                return if_it_changes(binding.node, f"`{node.value}`")
        natures = {self._nature_of_binding(binding) for binding in bindings}
        if None in natures:
            return shown
        if "array" in natures and loop is not None:
            if home.kind == "module" and loop.function is not None:
                return shown  # another file may have it, too
            changed = self._reads.other_than_reading(home, node.value)
            if changed is not None:
                return if_it_changes(changed, f"`{node.value}`")
        return None

    def is_of_library(self, node: cst.CSTNode) -> bool:
        """Whether a name or attribute is one of a library whose functions are known."""
        return self._names.qualified(node).split(".")[0] in apis.LIBRARIES

    @staticmethod
    def _is_plain(binding: Binding, home: Scope) -> bool:
        """Whether a binding is an assignment in the function whose name it is."""
        return (
            binding.kind == "assign"
            and binding.path is not None
            and binding.at.block.function is home.function
        )

    @staticmethod
    def _is_bound_meanwhile(
        binding: Binding, bindings: list[Binding], home: Scope, loop: Loop | None
    ) -> bool:
        """Whether a name may get another value while a loop runs."""
        if loop is None:
            return False
        if Invariance.is_bound_in(binding, loop):
            return True
        # While a generator waits, whoever asks it runs.
        waits = loop.function is not None and (loop.function.yields or loop.yields)
        elsewhere = home.function is not loop.function
        return bool(waits) and elsewhere and (len(bindings) > 1 or binding.at.block.loop is not None)

    # What values are

    def nature(self, node: cst.BaseExpression) -> Nature | None:
        """What an expression gives; None for what is not known, or may be held by others."""
        if node in self._natures:
            return self._natures[node]
        if node in self._asked:  # `x = x / 255` says nothing about what `x` was before
            self._cuts += 1
            return "fixed"
        cuts = self._cuts
        self._asked.add(node)
        nature = self._nature(node)
        self._asked.discard(node)
        if cuts == self._cuts or not self._asked:
            self._natures[node] = nature
        return nature

    def _nature_of_binding(self, binding: Binding) -> Nature | None:
        if binding.value is None or binding.path is None:
            return None
        if binding.path == ():
            return self.nature(binding.value)
        part = part_at(binding.value, binding.path)
        if part is not None and part is not binding.value:
            return self.nature(part)
        if isinstance(binding.value, cst.Call):
            name = self._names.qualified(binding.value.func)
            if name.startswith(apis.DATA) and name.endswith(".load_data"):
                return "array"
            return "fixed" if apis.makes_tensor(name) else None
        return None

    def _nature(self, node: cst.BaseExpression) -> Nature | None:
        match node:
            case (
                cst.Integer() | cst.Float() | cst.Imaginary() | cst.SimpleString() | cst.ConcatenatedString()
            ):
                return "fixed"
            case cst.Name():
                return self._nature_of_name(node)
            case cst.UnaryOperation(expression=expression):
                return "fixed" if isinstance(node.operator, cst.Not) else self.nature(expression)
            case cst.BinaryOperation():
                return self._joined([node.left, node.right])
            case cst.Comparison():
                return self._joined([node.left, *(target.comparator for target in node.comparisons)])
            case cst.Tuple():
                parts = [element.value for element in node.elements]
                return "fixed" if parts and all(self.nature(part) == "fixed" for part in parts) else None
            case cst.Attribute():
                return self._nature_of_attribute(node)
            case cst.Subscript():
                return self._nature_of_part(node)
            case cst.Call():
                return self._nature_of_call(node)
        return None

    def _joined(self, nodes: list[cst.BaseExpression]) -> Nature | None:
        natures = {self.nature(node) for node in nodes}
        return None if None in natures else "array" if "array" in natures else "fixed"

    def _nature_of_name(self, node: cst.Name) -> Nature | None:
        if node.value in ("None", "True", "False"):
            return "fixed"
        found = self._names.lookup(node.value, self._names.scope_of(node))
        if found is None:
            return None
        home, bindings = found
        if not all(self._is_plain(binding, home) for binding in bindings):
            return None
        natures = {self._nature_of_binding(binding) for binding in bindings}
        return None if None in natures else "array" if "array" in natures else "fixed"

    def _nature_of_attribute(self, node: cst.Attribute) -> Nature | None:
        if self._names.dotted(node):
            name = self._names.qualified(node)
            return "fixed" if name in ("np.pi", "np.e", "math.pi", "math.e", "np.nan", "np.inf") else None
        if self.nature(node.value) == "array":
            return (
                "fixed"
                if node.attr.value in apis.ARRAY_FACTS
                else "array"
                if node.attr.value in apis.ARRAY_VIEWS
                else None
            )
        return (
            "fixed" if self.nature(node.value) == "fixed" and node.attr.value in ("shape", "dtype") else None
        )

    def _nature_of_part(self, node: cst.Subscript) -> Nature | None:
        whole = self.nature(node.value)
        if whole == "fixed":
            return "fixed"  # of a tensor, a string, a tuple of such
        return whole if all(self._is_plain_index(element.slice) for element in node.slice) else None

    def _is_plain_index(self, index: cst.BaseSlice) -> bool:
        parts = (
            [index.value] if isinstance(index, cst.Index) else [index.lower, index.upper, index.step]
            if isinstance(index, cst.Slice) else []
        )  # fmt: skip
        return bool(parts) and all(part is None or self.nature(part) is not None for part in parts)

    def _nature_of_call(self, call: cst.Call) -> Nature | None:
        name = self._names.qualified(call.func)
        if name:
            if apis.makes_tensor(name) or name.startswith("math."):
                return "fixed"
            if name in apis.NUMPY_DRAWING:
                return "array"
            if name in apis.NUMPY_COPYING:
                return None if writes_to_an_argument(name, call) else "array"
            if name in apis.NUMPY_VIEWS and call.args:
                return self.nature(call.args[0].value)
            return "fixed" if self._infer.value(call).kind == "dataset" else None
        if isinstance(call.func, cst.Name):
            is_builtin = self._names.lookup(call.func.value, self._names.scope_of(call.func)) is None
            return (
                "fixed"
                if is_builtin and call.func.value in ("len", "int", "float", "str", "bool", "range")
                else None
            )
        if isinstance(call.func, cst.Attribute):
            return self._nature_of_method(call, call.func)
        return None

    def _nature_of_method(self, call: cst.Call, func: cst.Attribute) -> Nature | None:
        method = func.attr.value
        if self._infer.value(call).kind == "dataset" and self.nature(func.value) == "fixed":
            return "fixed"
        if self.is_generator(func.value):
            return "array"
        if self.nature(func.value) != "array" or keyword_argument(call, "out") is not None or has_stars(call):
            return None
        if method not in apis.ARRAY_VIEWS and len(call.args) > 1:
            return None  # one of them may be what it writes to
        if method in ("tolist", "tobytes", "item"):
            return None
        copies = method in apis.ARRAY_COPIES and keyword_argument(call, "copy") is None
        return "array" if copies or method in apis.ARRAY_VIEWS else None

    def is_generator(self, node: cst.BaseExpression) -> bool:
        """Whether a name stands for a generator of random numbers of NumPy."""
        found = self._infer.bindings_reaching(node) if isinstance(node, cst.Name) else None
        return found is not None and all(
            isinstance(binding.value, cst.Call)
            and binding.path == ()
            and self._names.qualified(binding.value.func) in apis.GENERATORS
            for binding in found[1]
        )
