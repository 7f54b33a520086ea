"""What becomes of the tensors that containers keep."""

from __future__ import annotations

import re

import libcst as cst

from tflint_perf.analysis.execution.steps import is_under_tape
from tflint_perf.analysis.python.conditions import conditions
from tflint_perf.analysis.python.reach import remembered
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import callee_name, descendants, mentions, target_names
from tflint_perf.analysis.training.containers import Addition, Containers
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.named_calls import builtin_or_qualified

_GRADIENT = ("gradient", "gradients", "apply_gradients")
# Ops that make one tensor of several, and those that make one number of them.
_COMBINES = re.compile(r"tf\.(stack|concat|convert_to_tensor|strings\.\w+|ragged\.\w+|data\.Dataset\.\w+)")
_REDUCES = re.compile(
    r"np\.(nan)?(mean|sum|average|std|var|median|max|min)|sum|max|min|len|statistics\.\w+|"
    r"tf\.(math\.)?(add_n|reduce_\w+)"
)
# Functions that by their names train nothing.
_EVALUATES = re.compile(r"eval|test|valid|(^|_)val(_|$)|infer|predict|accuracy|score|metric|measure", re.I)
_IN_ARGUMENTS = (cst.Arg, cst.Element, cst.DictElement, cst.List, cst.Tuple, cst.Dict)
_DEEPEST = 12


class Kept:
    """Answers what is asked of the values that a container keeps."""

    def __init__(self, infer: Inference, calls: CallGraph, containers: Containers) -> None:
        self._infer = infer
        self._calls = calls
        self._containers = containers
        self._walk = infer.walk

    def feeds_gradient(self, addition: Addition) -> bool:
        """Whether the container grows, or is read, under a gradient tape: the gradient needs its tensors."""
        places: list[cst.CSTNode] = [*self._containers.reads(addition)]
        if not self._outlives_tape(addition):
            places.append(addition.node)
        return any(self._is_under_tape(place, 0) for place in places)

    def _outlives_tape(self, addition: Addition) -> bool:
        """Whether a list grows under the tape of each step and lives through all of them: who reads it decides."""
        return (
            isinstance(addition.container, cst.Name)
            and is_under_tape(self._infer, addition.node)
            and self._containers.life(addition) == "run"
        )

    def _is_under_tape(self, node: cst.CSTNode, depth: int) -> bool:
        if self._is_recorded_here(node):
            return True
        function = self._calls.function_at(node)
        return function is not None and depth < _DEEPEST and self._is_called_under_tape(function, depth)

    @remembered
    def _is_called_under_tape(self, function: Function, depth: int) -> bool:
        return any(self._is_under_tape(site, depth + 1) for site in self._calls.sites(function))

    @remembered
    def _is_recorded_here(self, node: cst.CSTNode) -> bool:
        return is_under_tape(self._infer, node) or self._is_given_to_gradient(node)

    def _is_given_to_gradient(self, node: cst.CSTNode) -> bool:
        current: cst.CSTNode | None = node
        while current is not None and current not in self._walk.at:
            if isinstance(current, cst.Call) and callee_name(current) in _GRADIENT:
                return True
            current = self._walk.parents.get(current)
        return False

    def is_asked_for(self, addition: Addition) -> bool:
        """Whether who calls the function says by a flag that they want what is kept: `if return_all:`."""
        tests = conditions(self._walk, addition.node, exits=False)
        names = [test for test in tests if isinstance(test, cst.Name)]
        found = filter(None, map(self._infer.bindings_reaching, names))
        return any(binding.kind == "param" for _, bindings in found for binding in bindings)

    def is_used_up(self, addition: Addition) -> bool:
        """Whether all that is held goes into ops, right behind the loop that fills a list and as often as that is made.

        It is then parts of a computation: `tf.stack(outputs)`. In an evaluation, so are numbers for a mean.
        """
        container = addition.container
        found = self._infer.bindings_reaching(container) if isinstance(container, cst.Name) else None
        if found is None:
            return False
        loops = {binding.at.block.loop for binding in found[1]}
        function = self._calls.function_at(addition.node)
        reads = list(self._containers.reads(addition))
        return bool(reads) and all(
            self._infer.place(read).block.loop in loops
            and self._calls.function_at(read) is function
            and self._is_combined(
                read, reduced=function is not None and bool(_EVALUATES.search(function.name))
            )
            for read in reads
        )

    def _is_combined(self, node: cst.CSTNode, *, reduced: bool) -> bool:
        """Whether an op makes one tensor of what a list holds; where it may be `reduced`, also NumPy one number."""
        parent = self._walk.parents.get(node)
        while isinstance(parent, _IN_ARGUMENTS):
            parent = self._walk.parents.get(parent)
        if not isinstance(parent, cst.Call) or parent.func is node:
            return False
        name = builtin_or_qualified(self._infer, parent.func)
        return bool(_COMBINES.fullmatch(name) or (reduced and _REDUCES.fullmatch(name)))

    def use_as_tensor(self, addition: Addition) -> cst.CSTNode | None:
        """Where something asks of what is held what only a tensor can do."""
        for read in self._containers.reads(addition):
            outer: cst.CSTNode = read
            parent = self._walk.parents.get(outer)
            while isinstance(parent, cst.Subscript) and parent.value is outer:
                outer, parent = parent, self._walk.parents.get(parent)
            if outer is not read and isinstance(parent, cst.Attribute):
                return parent
            while parent is not None and outer not in self._walk.at:
                found = self._asks_for_tensor(outer, parent)
                if found is not None:
                    return found
                outer, parent = parent, self._walk.parents.get(parent)
        return None

    def _asks_for_tensor(self, node: cst.CSTNode, parent: cst.CSTNode) -> cst.CSTNode | None:
        match parent:
            case cst.For() | cst.CompFor() if parent.iter is node:
                names = {name.value for name in target_names(parent.target)}
                scope = self._walk.parents[parent] if isinstance(parent, cst.CompFor) else parent
                for below in descendants(scope):
                    if isinstance(below, cst.Attribute) and getattr(below.value, "value", "") in names:
                        return below
            case cst.Call() if node is not parent.func:
                if self._infer.names.qualified(parent.func).startswith(("tf.", "keras.")):
                    return parent
                if self._infer.value(parent.func).kind in ("model", "layer", "compiled", "loss", "metric"):
                    return parent
                for target in self._calls.targets(parent):
                    if _takes_values(target, _given_to(target, parent, node)):
                        return parent
            case cst.Assign():
                # What is made of numbers by arithmetic has no `numpy` of its own.
                names = {name.value for target in parent.targets for name in target_names(target.target)}
                for below in self._walk.attributes.get("numpy", ()):
                    if getattr(below.value, "value", "") in names:
                        return below
            case cst.Return() if "numpy" in self._walk.attributes:
                return parent
        return None


def _given_to(function: Function, call: cst.Call, node: cst.CSTNode) -> str:
    """The parameter by which a function gets an argument; "" where that does not show."""
    names = function.places
    for at, arg in enumerate(call.args):
        if arg.star:
            return ""
        if arg is node:
            return arg.keyword.value if arg.keyword is not None else names[at] if at < len(names) else ""
    return ""


def _takes_values(function: Function, parameter: str) -> bool:
    """Whether a function asks for `.numpy()` of what it gets, or of what it makes of that."""
    names = {parameter}
    for below in descendants(function.node) if parameter else ():
        match below:
            case cst.For() | cst.CompFor() if mentions(below.iter, names):
                names |= {name.value for name in target_names(below.target)}
            case cst.Assign() if mentions(below.value, names):
                names |= {name.value for part in below.targets for name in target_names(part.target)}
    return any(
        isinstance(below, cst.Attribute)
        and below.attr.value == "numpy"
        and (not parameter or mentions(below.value, names))
        for below in descendants(function.node)
    )
