"""Python code in pipelines that holds the interpreter's lock for as long as it runs: several calls of it take turns."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.apis.facts import has
from tflint_perf.analysis.execution.python_numbers import Numbers
from tflint_perf.analysis.pipelines.elementwise import mapped_function
from tflint_perf.analysis.python.reach import leads_to
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import argument, descendants, last_name
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.named_calls import builtin_or_qualified
from tflint_perf.analysis.values.parts import Part

from .plain_numpy import PlainNumpy
from .python_stages import PythonStages

# Methods of texts, lists and dicts, and those that copy a small tensor to the host.
_METHODS = frozenset(
    ["add", "append", "count", "decode", "endswith", "extend", "find", "format", "get", "index", "item", "items", "join", "keys",
     "lower", "numpy", "pop", "replace", "sort", "split", "splitlines", "startswith", "strip", "title", "tolist", "update", "upper",
     "values"]
)  # fmt: skip
# Ops that take next to no time beside a call of Python, and methods that take none.
_LIGHT = ("elementwise", "elementwise-of-two", "elementwise-of-three", "keeps-bytes", "says-form")
_SHAPES = frozenset({"set_shape", "get_shape"})


class LockedPython(Part):
    """Answers whether all Python code that a `map` runs holds the lock: then parallel calls gain nothing."""

    own = (PlainNumpy, PythonStages)

    _infer: Inference
    _calls: CallGraph
    _numbers: Numbers
    _plain_numpy: PlainNumpy
    _python_stages: PythonStages

    def __post_init__(self) -> None:
        self._known: dict[Function, bool] = {}
        self._beside: dict[Function, bool] = {}

    def is_all_of(self, given: cst.BaseExpression) -> bool:
        """Whether `given`, the function of a `map`, is seen to run such code, and no other Python."""
        function = self._infer.value(given).function or mapped_function(self._infer, given)
        hosts = list(self._python_stages.host_calls(function)) if function is not None else []
        if function is None or not hosts or leads_to(function, self._beside, self._runs_ops):
            return False
        bodies = [argument(host, 0, "func") for host in hosts]
        return all(body is not None and self._holds_lock(body) for body in bodies)

    def _runs_ops(self, function: Function) -> bool | list[Function]:
        """Whether `function` does work in ops beside its Python code, or what is not in sight; else what it calls."""
        called: list[Function] = []
        for call in function.calls:
            targets = self._calls.targets(call)
            name = builtin_or_qualified(self._infer, call.func)
            if not targets and not has(name, "runs-python", *_LIGHT) and last_name(call.func) not in _SHAPES:
                return True
            called += targets
        return called

    def _holds_lock(self, body: cst.BaseExpression) -> bool:
        name = self._infer.names.qualified(body)
        if name:
            return has(name, "holds-lock")
        function = self._plain_numpy.called(body)
        return function is not None and not leads_to(function, self._known, self._lets_go)

    def _lets_go(self, function: Function) -> bool | list[Function]:
        """Whether something in `function` waits, computes outside of Python, or is not in sight; else what it calls."""
        if function.decorators or any(map(self._is_outside, descendants(function.node.body))):
            return True
        return [target for call in function.calls for target in self._calls.targets(call)]

    def _is_outside(self, node: cst.CSTNode) -> bool:
        match node:
            case cst.Name() | cst.Attribute():
                of_module = isinstance(self._infer.walk.parents.get(node), cst.Attribute)
                name = self._infer.names.qualified(node)
                return bool(name) and not of_module and not has(name, "holds-lock")
            case cst.BinaryOperation() | cst.UnaryOperation():
                # What is given may be arrays or tensors.
                return self._numbers.type_of(node) is None
            case cst.Call():
                return not self._is_of_python(node)
        return False

    def _is_of_python(self, call: cst.Call) -> bool:
        name = builtin_or_qualified(self._infer, call.func)
        if name or self._calls.targets(call):
            return name != "open"
        return isinstance(call.func, cst.Attribute) and call.func.attr.value in _METHODS
