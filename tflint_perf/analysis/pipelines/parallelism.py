"""What of a pipeline works on several elements or files at a time, and what could."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from tflint_perf.analysis.apis.facts import has
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.limits import CALLS_DEEP
from tflint_perf.analysis.pipelines.elementwise import mapped_function
from tflint_perf.analysis.pipelines.stages import Stages
from tflint_perf.analysis.python.conditions import exits_before
from tflint_perf.analysis.python.reach import remembered
from tflint_perf.analysis.python.scopes import Binding, Scope
from tflint_perf.analysis.python.syntax import argument, callee_name, dotted_name, integer, is_name, same_code
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.iterables import source
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.values import Pipeline, Value

# Options whose `False` keeps TensorFlow from running stateless maps in parallel by itself.
_SWITCHES = {
    "map_parallelization": "experimental_optimization.map_parallelization",
    "apply_default_optimizations": "experimental_optimization.apply_default_optimizations",
    "autotune": "experimental_optimization.autotune",
    "enabled": "autotune.enabled",
}
# Options whose `False` keeps it from prefetching by itself.
_PREFETCHING = {
    "inject_prefetch": "experimental_optimization.inject_prefetch",
    "apply_default_optimizations": "experimental_optimization.apply_default_optimizations",
}
# Stages of a dataset of file names that leave it one.
_KEEPING_FILES = frozenset(
    ["shuffle", "repeat", "shard", "cache", "prefetch", "take", "skip", "with_options"]
)
# `len(files) <= 1` and the like, and what they compare with.
_ONE_IF: dict[type[cst.BaseCompOp], tuple[int, ...]] = {
    cst.Equal: (0, 1),
    cst.LessThan: (1, 2),
    cst.LessThanEqual: (0, 1),
}
_ONE_UNLESS: dict[type[cst.BaseCompOp], tuple[int, ...]] = {
    cst.NotEqual: (0, 1),
    cst.GreaterThan: (0, 1),
    cst.GreaterThanEqual: (1, 2),
}


class Parallelism(Part):
    """Answers what TensorFlow would run in parallel, and where several files are read."""

    _infer: Inference
    _calls: CallGraph
    _loops: Loops
    _stages: Stages

    # Options

    def is_off(self, call: cst.Call) -> bool:
        """Whether the pipeline's options keep TensorFlow from running the stage that `call` adds in parallel."""
        return self._is_switched_off(call, _SWITCHES)

    def never_prefetches(self, call: cst.Call) -> bool:
        """Whether the options keep TensorFlow from adding a `prefetch` to the pipeline that has the stage of `call`."""
        return self._is_switched_off(call, _PREFETCHING)

    def _is_switched_off(self, call: cst.Call, switches: Mapping[str, str]) -> bool:
        for setter in self._walk.calls.get("with_options", ()):
            options = argument(setter, 0, "options")
            ways = self._stages.before(setter)
            if options is not None and any(stage.call is call for way in ways for stage in way):
                if any(self._switches_off(options, *switch) for switch in switches.items()):
                    return True
        return False

    def _switches_off(self, options: cst.BaseExpression, last: str, path: str) -> bool:
        wanted = f"{dotted_name(options)}.{path}"
        scope_of = self._infer.names.scope_of
        return any(
            dotted_name(use) == wanted
            and scope_of(use) is scope_of(options)
            and _assigned_to(use, self._walk.parents) is not None
            and is_name(_assigned_to(use, self._walk.parents), "False")
            for use in self._walk.attributes.get(last, ())
        )

    # Files

    def reads_each_file(self, function: cst.BaseExpression) -> bool:
        """Whether `function`, given to a stage, only opens the file that it gets as a dataset."""
        if has(self._infer.names.qualified(function), "reads-records"):
            return True
        found = mapped_function(self._infer, function)
        if found is None or len(found.parameters) != 1:
            return False
        ways = self._infer.returned(found).pipelines
        return bool(ways) and all(len(way) == 1 and has(way[0].name, "reads-records") for way in ways)

    @remembered
    def are_several_files(self, node: cst.BaseExpression, depth: int = 0) -> bool:
        """Whether `node` is known to give several file names: a list of them, a pattern's matches, a dataset."""
        match node:
            case _ if depth > CALLS_DEEP or (not depth and self._are_told_to_be_one(node)):
                return False
            case cst.List() | cst.Tuple():
                return len(node.elements) > 1
            case cst.ListComp():
                return True
            case cst.IfExp():
                # Of an empty list, nothing is read.
                ways = [way for way in (node.body, node.orelse) if not _is_empty(way)]
                return bool(ways) and all(self.are_several_files(way, depth + 1) for way in ways)
            case cst.BinaryOperation(operator=cst.Add()):
                sides = (node.left, node.right)
                return any(self.are_several_files(side, depth + 1) for side in sides)
            case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Slice())]):
                return self.are_several_files(node.value, depth + 1)
            case cst.Call():
                return self._call_gives_files(node, depth)
            case cst.Name() if self._is_given_several(node, depth):
                return True
            case cst.Name() | cst.Attribute():
                values = list(self._bound_to(node))
                named = bool(values) and all(self.are_several_files(value, depth + 1) for value in values)
                return named or self._are_filled(node, depth)
        return False

    def _are_told_to_be_one(self, files: cst.BaseExpression) -> bool:
        """Whether the code only runs where `files` are no more than one: in the other branch of `len(files) > 1`."""
        if not isinstance(files, cst.Name | cst.Attribute):
            return False
        child: cst.CSTNode = files
        current = self._walk.parents.get(files)
        while current is not None and not isinstance(current, cst.FunctionDef | cst.Lambda | cst.ClassDef):
            if isinstance(current, cst.If | cst.IfExp) and child is not current.test:
                if _says_one(current.test, files, holds=child is current.body):
                    return True
            elif isinstance(current, cst.IndentedBlock):
                if any(
                    _says_one(other.test, files, holds=False)
                    for other in exits_before(self._walk, child, current)
                ):
                    return True
            child, current = current, self._walk.parents.get(current)
        return False

    def _call_gives_files(self, call: cst.Call, depth: int) -> bool:
        name = self._infer.names.qualified(call.func)
        if has(name, "lists-files", "matches-files") or (not name and callee_name(call) in ("glob", "rglob")):
            return True
        if has(name, "keeps-number") and call.args:
            return self.are_several_files(call.args[0].value, depth + 1)
        if is_name(call.func, "map"):
            return len(call.args) > 1 and self.are_several_files(call.args[1].value, depth + 1)
        if (inner := source(self._infer, call)) is not call:
            return self.are_several_files(inner, depth + 1)
        if targets := self._calls.targets(call):
            given = [each.value for function in targets for each in function.returns]
            return bool(given) and all(
                node is not None and self.are_several_files(node, depth + 1) for node in given
            )
        value = self._infer.value(call)
        # A list that a function of another file makes of names.
        made_elsewhere = bool(self._infer.value(call.func).outside) and value.kind == "list"
        return made_elsewhere or self.is_dataset_of_files(value, depth + 1)

    def is_dataset_of_files(self, value: Value, depth: int = 0) -> bool:
        """Whether the elements of a dataset are several file names."""
        return bool(value.pipelines) and all(self._is_of_files(way, depth) for way in value.pipelines)

    def _is_of_files(self, way: Pipeline, depth: int) -> bool:
        if any(stage.name not in _KEEPING_FILES for stage in way[1:]):
            return False
        if any(
            stage.name == "take" and self._infer.integers.only(argument(stage.call, 0, "count")) == 1
            for stage in way
        ):
            return False
        if way[0].name == "list_files":
            return True
        given = argument(way[0].call, 0, "tensors")
        return (
            way[0].name == "from_tensor_slices"
            and given is not None
            and self.are_several_files(given, depth + 1)
        )

    def _are_filled(self, node: cst.Name | cst.Attribute, depth: int) -> bool:
        """Whether all lists that `node` stands for are filled by a loop, or with all of several names."""
        if isinstance(node, cst.Attribute):
            scope, bindings = self._infer.names.scope_of(node), self._infer.classes.bindings_of(node)
        elif (found := self._infer.bindings_reaching(node)) is not None:
            scope, bindings = found
        else:
            return False
        return bool(bindings) and all(self._is_filled(binding, scope, depth) for binding in bindings)

    def _is_filled(self, binding: Binding, scope: Scope, depth: int) -> bool:
        if binding.kind == "augment":
            return binding.value is not None and self.are_several_files(binding.value, depth + 1)
        return self._infer.contents.holds(binding) and any(
            self.are_several_files(put.value, depth + 1)
            if put.all
            else self._loops.innermost_loop(put.value) is not None
            for put in self._infer.contents.puts(binding, scope)
            if put.key is None and not put.inner
        )

    def _bound_to(self, node: cst.Name | cst.Attribute) -> Iterator[cst.BaseExpression]:
        for binding in self._infer.given_to(node):
            if binding.kind == "assign" and binding.value is not None and binding.path == ():
                yield binding.value
            else:
                # A part of something: it may be one file.
                yield node

    def _is_given_several(self, node: cst.Name, depth: int) -> bool:
        """Whether `node` is a parameter for which all callers, here and in other files, give several file names."""
        found = self._infer.bindings_reaching(node)
        if found is None or found[0].function is None or len(found[1]) != 1 or found[1][0].kind != "param":
            return False
        function, calls = found[0].function, self._calls
        callers, given = calls.callers_outside(function), calls.arguments(function, node.value)
        if not (callers or given) or (calls.sites(function) and not given):
            return False
        at = function.place_of(node.value)
        return all(self.are_several_files(each, depth + 1) for each in given) and all(
            caller.how == "call" and {node.value, at, "*"} & {*caller.files} for caller in callers
        )


def _is_empty(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.List | cst.Tuple) and not node.elements


def _says_one(test: cst.BaseExpression, files: cst.BaseExpression, *, holds: bool) -> bool:
    """Whether `files` are at most one where the comparison `test` of their number holds, or does not."""
    match test:
        case cst.Comparison(
            left=cst.Call(func=cst.Name("len"), args=[cst.Arg(value=measured)]),
            comparisons=[cst.ComparisonTarget(operator=operator, comparator=comparator)],
        ) if same_code(measured, files):
            bounds = _ONE_IF if holds else _ONE_UNLESS
            return integer(comparator) in bounds.get(type(operator), ())
    return False


def _assigned_to(node: cst.CSTNode, parents: dict[cst.CSTNode, cst.CSTNode]) -> cst.BaseExpression | None:
    """What an assignment gives to its target `node`."""
    target = parents.get(node)
    statement = parents.get(target) if isinstance(target, cst.AssignTarget) else None
    return statement.value if isinstance(statement, cst.Assign) else None
