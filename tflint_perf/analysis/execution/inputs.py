"""Whether an expression gives the same in each iteration of a loop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import libcst as cst

from tflint_perf.analysis.apis.dataset_apis import DATASET_STAGES
from tflint_perf.analysis.apis.randomness import changes_by_itself, is_random_op
from tflint_perf.analysis.python.scopes import Binding, Function, Loop, Scope
from tflint_perf.analysis.python.syntax import argument, descendants, descendants_here, names_read
from tflint_perf.analysis.values.named_calls import builtin_or_qualified

if TYPE_CHECKING:
    from tflint_perf.analysis.model import Model

_PURE = (
    "tf.",
    "np.",
    "keras.utils.",
    "math.",
    "os.path.",
    "functools.",
    "glob.",
    "tensorflow_datasets.",
    "pathlib.",
)
_PURE_BUILTINS = frozenset(
    ["abs", "bool", "dict", "enumerate", "float", "int", "len", "list", "max", "min", "print", "range", "reversed", "round",
     "set", "slice", "sorted", "str", "sum", "tuple", "zip"]
)  # fmt: skip
# Methods that give something of an array, a list or a text, and change none of it.
_PURE_METHODS = DATASET_STAGES | frozenset(
    ["astype", "copy", "flatten", "format", "get", "items", "join", "keys", "numpy", "ravel", "reshape", "split",
     "squeeze", "strip", "to_numpy", "tolist", "transpose", "values"]
)  # fmt: skip

# The call by which each function was entered.
Entered = Mapping[Function, cst.Call]


class Inputs:
    """Answers for one loop what is surely the same in each iteration. What is not in sight may change.

    `entered` are the functions through which the loop reaches the code that is asked about, and `touched` the
    names of what an iteration may change in place.
    """

    def __init__(self, model: Model, loop: Loop, entered: Entered, touched: set[str]) -> None:
        self._infer = model.infer
        self._calls = model.calls
        self._walk = model.walk
        self._is_bound_in = model.invariance.is_bound_in
        self._loop = loop
        self._entered = entered
        self._touched = touched
        self._functions: set[Function] = set()
        self._bindings: dict[Binding, bool] = {}

    def are_same(self, node: cst.CSTNode) -> bool:
        """Whether what an expression reads, and what it calls, are the same in each iteration."""
        inside = set(descendants(node))
        here = set(descendants_here(node))
        return all(self._is_same(part, inside, called=part in here) for part in inside)

    def _is_same(self, part: cst.CSTNode, inside: set[cst.CSTNode], *, called: bool) -> bool:
        """`called` is false for code that only the pipeline runs: a lambda given to a stage."""
        match part:
            case cst.Call():
                return self._is_pure(part) or (not called and self._gets_elements(part, inside))
            case cst.Attribute():
                return self._is_same_attribute(part)
            case cst.Name() if part in self._walk.parents:
                return self._is_same_name(part, inside)
            case cst.NamedExpr() | cst.Await() | cst.Yield():
                return False
        return True

    def _is_pure(self, call: cst.Call) -> bool:
        """Whether a call gives the same for the same arguments, as far as can be told."""
        name = builtin_or_qualified(self._infer, call.func)
        if name:
            return name in _PURE_BUILTINS or (
                name.startswith(_PURE) and not changes_by_itself(name) and not is_random_op(name)
            )
        targets = self._calls.targets(call)
        if targets:
            return all(self._is_pure_function(target) for target in targets)
        return isinstance(call.func, cst.Attribute) and call.func.attr.value in _PURE_METHODS

    def _is_pure_function(self, function: Function) -> bool:
        if function in self._functions:
            return True
        self._functions.add(function)
        if function.yields or function.scope.elsewhere:
            return False
        return all(map(self._is_pure, function.calls)) and self._reads_the_same(function)

    def _reads_the_same(self, function: Function) -> bool:
        """Whether what a function reads from outside is the same in each iteration."""
        inside = set(descendants(function.node))
        return all(
            self._is_same_name(part, inside)
            for part in inside
            if isinstance(part, cst.Name) and part in self._walk.parents
        )

    def _traces_the_same(self, function: Function) -> bool:
        """Whether what a function given to a stage does when it is traced is the same in each iteration."""
        inside = set(descendants(function.node))
        return all(self._is_pure(call) or self._gets_elements(call, inside) for call in function.calls)

    def _gets_elements(self, call: cst.Call, inside: set[cst.CSTNode]) -> bool:
        """Whether a call in traced code works on what that code gets, and so is traced: it runs in the pipeline."""
        for name in names_read(call):
            found = self._infer.names.lookup(name.value, self._infer.names.scope_of(name))
            if found is not None and found[0].node in inside:
                return True
        return False

    def _is_same_attribute(self, node: cst.Attribute) -> bool:
        parent = self._walk.parents.get(node)
        is_method = isinstance(parent, cst.Call) and parent.func is node
        return is_method or bool(self._infer.names.dotted(node)) or node.attr.value not in self._touched

    def _is_same_name(self, name: cst.Name, inside: set[cst.CSTNode]) -> bool:
        found = self._infer.bindings_reaching(name)
        if found is None:
            return name.value not in self._touched  # a builtin, or from another cell of a notebook
        if found[0].node in inside:
            return True
        return all(self._is_same_binding(binding, found[0]) for binding in found[1])

    def _is_same_binding(self, binding: Binding, home: Scope) -> bool:
        if binding not in self._bindings:
            self._bindings[binding] = False  # what depends on itself changes
            self._bindings[binding] = self._judge(binding, home)
        return self._bindings[binding]

    def _judge(self, binding: Binding, home: Scope) -> bool:
        if binding.kind == "import":
            return True
        if binding.kind in ("def", "class"):
            function = self._walk.functions.get(binding.node)
            return function is None or (self._reads_the_same(function) and self._traces_the_same(function))
        function = home.function
        if binding.kind == "param" and function is not None and function in self._entered:
            return self._is_same_argument(function, binding)
        if binding.name in self._touched and not (function is not None and _is_instance(function, binding)):
            return False
        if function in self._entered or self._is_bound_in(binding, self._loop):
            return binding.kind == "assign" and binding.value is not None and self.are_same(binding.value)
        # What another function binds may change with each call of that.
        return binding.at.block.function is function or binding.kind == "param"

    def _is_same_argument(self, function: Function, binding: Binding) -> bool:
        """Whether the call by which a function was entered gives a parameter the same each time."""
        call = self._entered[function]
        if _is_instance(function, binding):
            return not isinstance(call.func, cst.Attribute) or self.are_same(call.func.value)
        if binding.name in self._touched or binding.name not in function.positional:
            return False
        given = argument(call, function.place_of(binding.name), binding.name)
        return binding.value is not None if given is None else self.are_same(given)


def _is_instance(function: Function, binding: Binding) -> bool:
    """Whether a parameter is the `self` of a method."""
    is_first = binding.kind == "param" and function.positional[:1] == [binding.name]
    return is_first and function.is_bound
