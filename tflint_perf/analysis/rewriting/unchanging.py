"""Names whose values nobody changes: bound outside the loop to what can't change, or to an array that is only read."""

from __future__ import annotations

import builtins

import libcst as cst

from tflint_perf.analysis.apis.facts import has, library, methods
from tflint_perf.analysis.execution.invariance import Invariance
from tflint_perf.analysis.python.reach import remembered_in_circles
from tflint_perf.analysis.python.scopes import Binding, Loop, Scope
from tflint_perf.analysis.python.syntax import callee_name, keyword_argument
from tflint_perf.analysis.rewriting.doubts import Doubt, Move, if_it_changes
from tflint_perf.analysis.rewriting.natures import Natures, computes, writes_to_an_argument
from tflint_perf.analysis.values.infer import Inference

_BUILTINS = frozenset(dir(builtins))


class Unchanging:
    """Answers which names stand for the same value, with the same content, in each iteration of a loop."""

    def __init__(self, infer: Inference, natures: Natures) -> None:
        self._infer = infer
        self._names = infer.names
        self._natures = natures
        self._reads = Reads(infer, natures)

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
            if not self._natures.is_plain(binding, home) or self._is_bound_meanwhile(
                binding, bindings, home, loop
            ):
                return if_it_changes(binding.node, f"`{node.value}`")
        natures = {self._natures.of_binding(binding) for binding in bindings}
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
        return has(self._names.qualified(node), "never-assigned")

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


# Where an array is mentioned, and whether that only reads it: then nobody else holds it, and nothing changes it.


# What an operator may be applied to together with an array, and not keep it.
_PLAIN = frozenset({"number", "array", "tensor", "string", "variable"})
_FITS = frozenset({"fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch"})
_STRUCTURE = (cst.Tuple, cst.List, cst.Dict, cst.Element, cst.DictElement)


class Reads:
    """Answers whether all that is done with an array is to read it."""

    def __init__(self, infer: Inference, natures: Natures) -> None:
        self._infer = infer
        self._names = infer.names
        self._parents = infer.walk.parents
        self._natures = natures

    # A view of a view of it leads back here.
    @remembered_in_circles(None)
    def other_than_reading(self, home: Scope, name: str) -> cst.CSTNode | None:
        """The first place where an array may be changed or handed on, by this name or that of a view; None for none."""
        own = {binding.node for binding in home.bindings.get(name, ())}
        return next(
            (
                mention
                for mention in self._names.mentions(name, home)
                if mention not in own and not self._is_read(mention)
            ),
            None,
        )

    def _is_read(self, node: cst.CSTNode) -> bool:
        """Whether what stands around an expression for the array, or for a view of it, only reads it."""
        parent = self._parents.get(node)
        match parent:
            case cst.Attribute():
                return self._is_read_by_attribute(parent)
            case cst.Subscript() if parent.value is node:
                return self._is_part_read(parent)
            case cst.BinaryOperation():
                return self._is_plain(parent.right if parent.left is node else parent.left)
            case cst.UnaryOperation() | cst.Expr() | cst.FormattedStringExpression():
                return True
            case cst.Comparison() | cst.ComparisonTarget():
                whole = parent if isinstance(parent, cst.Comparison) else self._parents.get(parent)
                return isinstance(whole, cst.Comparison) and all(
                    not isinstance(target.operator, cst.In | cst.NotIn) and self._is_plain(side)
                    for target in whole.comparisons
                    for side in (whole.left, target.comparator)
                )
            case cst.Assign():
                return all(self._is_quiet_name(target.target) for target in parent.targets)
            case cst.Arg():
                return self._is_read_by_call(parent)
        return isinstance(parent, _STRUCTURE) and self._is_given_to_dataset(parent)

    def _is_read_by_attribute(self, node: cst.Attribute) -> bool:
        name, call = node.attr.value, self._parents.get(node)
        if name in methods("ndarray", "describes"):
            return True
        if not isinstance(call, cst.Call) or call.func is not node:
            return name in methods("ndarray", "views") and self._is_read(node)
        if name in methods("ndarray", "views"):
            return self._is_read(call) and (name != "view" or self._natures.is_of_numbers(call))
        return (
            name in methods("ndarray", "copies")
            and keyword_argument(call, "out") is None
            and keyword_argument(call, "copy") is None
        )

    def _is_part_read(self, node: cst.Subscript) -> bool:
        return not isinstance(
            self._parents.get(node), cst.AssignTarget | cst.AugAssign | cst.Del
        ) and self._is_read(node)

    def _is_plain(self, other: cst.BaseExpression) -> bool:
        """Whether an operand is none that could keep the other one, or write to it."""
        return self._natures.of(other) is not None or self._infer.value(other).kind in _PLAIN

    def _is_quiet_name(self, target: cst.CSTNode) -> bool:
        """Whether an array, or a view, gets a name that only reads it as well."""
        if not isinstance(target, cst.Name):
            return False
        home = self._names.home(target)
        if home is None or home.kind == "class":
            return False
        if any(binding.kind not in ("assign",) for binding in home.bindings.get(target.value, ())):
            return False
        return self.other_than_reading(home, target.value) is None

    def _is_read_by_call(self, arg: cst.Arg) -> bool:
        call = self._parents.get(arg)
        if (
            not isinstance(call, cst.Call)
            or arg.star
            or (arg.keyword is not None and arg.keyword.value == "out")
        ):
            return False
        name = self._names.qualified(call.func)
        if has(name, "views"):
            return self._is_read(call)
        if has(name, "copies"):
            return not writes_to_an_argument(name, call)
        if name:
            return computes(name) or has(name, "repeatable")
        if isinstance(call.func, cst.Name):
            is_builtin = self._names.is_builtin(call.func)
            return is_builtin and has(call.func.value, "reads")
        if isinstance(call.func, cst.Attribute) and callee_name(call) in _FITS:
            model = self._infer.value(call.func.value)
            return model.kind == "model" and model.klass is None and library(model.name) == "keras"
        return False

    def _is_given_to_dataset(self, node: cst.CSTNode) -> bool:
        """Whether a structure that holds the array is taken apart at once by a dataset, which copies it."""
        current: cst.CSTNode | None = node
        while isinstance(current, _STRUCTURE):
            current = self._parents.get(current)
        call = self._parents.get(current) if isinstance(current, cst.Arg) else None
        return self._names.is_call_that(call, "repeatable")
