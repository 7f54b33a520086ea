"""Whether functions given to a dataset are stateless: TensorFlow runs only those in parallel by itself."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator
from typing import Literal

import libcst as cst

from tflint_perf.analysis.apis.facts import has, methods
from tflint_perf.analysis.conventions import names_shaping
from tflint_perf.analysis.execution.decided import Given, Told, constant_of, is_left_out, none_known
from tflint_perf.analysis.limits import ALTERNATIVES
from tflint_perf.analysis.pipelines.elementwise import mapped_function
from tflint_perf.analysis.python.reach import leads_to, remembered
from tflint_perf.analysis.python.scopes import Binding, Function
from tflint_perf.analysis.python.syntax import (
    argument,
    calls_below,
    descendants,
    keyword_argument,
    last_name,
    names_read,
)
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.classes import is_left_to_others
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.named_calls import builtin_or_qualified
from tflint_perf.analysis.values.outside import Mapped
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.values import Stage, Value

# "python": it runs Python code, one call at a time; "hidden": it is not in sight; "shaping": so too, but by its name
# it is stateless; "open": it is in sight, and calls what is not.
Nature = Literal["random", "stateful", "python", "hidden", "open", "shaping", "stateless"]

# A function of this file that is run, and what it is given as constants.
Run = tuple[Function, Given | None]

_BUILTINS = frozenset(dir(builtins))
# What is worse covers what is better.
_WORST_FIRST: tuple[Nature, ...] = ("python", "random", "stateful", "hidden", "shaping")


class Statefulness(Part):
    """Answers what a function given to `map` keeps or draws between its calls.

    That is the worst of what it does and of what it runs does. Functions may call each other round in circles, and in
    many ways, so what a body does by itself is looked at once for each run, and what it leads to is followed from there.
    """

    _infer: Inference
    _calls: CallGraph

    def __post_init__(self) -> None:
        self._told = Told(self._infer, self._calls)
        self._leads_to: dict[Nature, dict[Run, bool]] = {nature: {} for nature in _WORST_FIRST}
        self._ways: dict[Function, set[Given]] = {}

    def nature(self, given: cst.BaseExpression) -> Nature:
        """The nature of `given`, the function of a dataset's stage."""
        nature = self._worst(self._of_function_node(given))
        return "open" if nature == "hidden" and self._is_in_sight(given) else nature

    def _worst(self, parts: Iterable[Nature | Run]) -> Nature:
        """What covers all others of these, and of what is run."""
        known = list(parts)
        return next((nature for nature in _WORST_FIRST if self._has(nature, known)), "stateless")

    def _has(self, nature: Nature, parts: list[Nature | Run]) -> bool:
        def is_found(run: Run) -> bool | tuple[Run, ...]:
            found, runs = self._body(run)
            return nature in found or runs

        return any(
            leads_to(part, self._leads_to[nature], is_found) if isinstance(part, tuple) else part == nature
            for part in parts
        )

    def _is_in_sight(self, given: cst.BaseExpression) -> bool:
        """Whether `given` is a function that this file defines; a lambda that hands its arguments on shows nothing."""
        if isinstance(given, cst.Call):
            return bool(given.args) and self._is_in_sight(given.args[0].value)
        function = self._infer.value(given).function or mapped_function(self._infer, given)
        return (
            function is not None
            and isinstance(function.node, cst.FunctionDef)
            and not is_left_to_others(function)
        )

    def is_deterministic(self, value: Value) -> bool:
        """Whether each dataset that is built in the ways of `value` surely gives the same elements."""
        return bool(value.pipelines) and all(
            all(self._is_deterministic_stage(stage) for stage in way) for way in value.pipelines
        )

    def _is_deterministic_stage(self, stage: Stage) -> bool:
        if (
            not (stage.name in methods("dataset source", "steady") or has(stage.name, "steady"))
            or keyword_argument(stage.call, "deterministic") is not None
        ):
            return False
        if stage.name in methods("Dataset", "calls"):
            given = argument(stage.call, 0)
            return given is not None and self.nature(given) == "stateless"
        return all(map(self.is_deterministic, stage.inputs))

    def _of_function_node(
        self, node: cst.BaseExpression, seen: frozenset[Binding] = frozenset()
    ) -> Iterator[Nature | Run]:
        if self._infer.names.is_call_that(node, "binds", "compiles", "converts-code"):
            if node.args:
                yield from self._of_wrapped(node)
            else:
                yield "hidden"
            return
        if isinstance(node, cst.IfExp):
            yield from self._of_function_node(node.body, seen)
            yield from self._of_function_node(node.orelse, seen)
            return
        name = self._infer.names.qualified(node)
        if name or (isinstance(node, cst.Call) and self._infer.value(node.func).outside):
            known = has(name, "known-to-graphs")
            yield _of_name(name) if known else self._elsewhere(node) or _unseen(node)
            return
        value = self._infer.value(node)
        function = value.function or mapped_function(self._infer, node)
        if function is not None:
            yield self._run(function, self._told.to(function, node))
        elif named := self._one_of(node, seen):
            for binding, choice in named:
                yield from self._of_function_node(choice, seen | {binding})
        else:
            yield self._of_object(value) or _unseen(node)

    def _one_of(
        self, node: cst.BaseExpression, seen: frozenset[Binding]
    ) -> list[tuple[Binding, cst.BaseExpression]]:
        """What a name may stand for, that is assigned in one branch or another; nothing where it may be something else, too."""
        found = self._infer.bindings_reaching(node) if isinstance(node, cst.Name) else None
        bindings = found[1] if found is not None else []
        named = [
            (binding, binding.value)
            for binding in bindings
            if binding.kind == "assign"
            and binding.path == ()
            and binding.value is not None
            and binding not in seen
        ]
        return named if len(named) == len(bindings) > 1 else []

    def _of_wrapped(self, wrapper: cst.Call) -> Iterator[Nature | Run]:
        """The nature of `partial(prepare, training=False)` and its kin."""
        inner = wrapper.args[0].value
        function = self._infer.value(inner).function
        if function is None or isinstance(inner, cst.Call):
            yield from self._of_function_node(inner)
        else:
            yield self._run(function, self._told.by_call(function, cst.Call(inner, wrapper.args[1:])))

    def _elsewhere(self, node: cst.BaseExpression) -> Nature | None:
        """The nature of a function of another file; None where none is known. What it calls there may be out of sight."""
        called = node.func if isinstance(node, cst.Call) else None
        path = self._infer.value(called or node).outside
        facts = self._infer.outside.mapped(path) if path else Mapped()
        nature = facts.nature
        if isinstance(node, cst.Call):
            nature = "" if any(map(_switches_off, node.args)) else facts.product
        return next((known for known in _WORST_FIRST if known == nature), "stateless" if nature else None)

    def of_function(self, function: Function) -> Nature:
        """The nature of a function of this file; "shaping" where it calls what is not in sight."""
        nature = self._worst([(function, None)])
        return "shaping" if nature == "hidden" else nature

    def _of_object(self, value: Value) -> Nature | Run | None:
        """The nature of calling an object; None where nothing is known of it."""
        if value.klass is not None:
            wanted = "call" if value.kind in ("layer", "model") else "__call__"
            for klass in self._infer.classes.lineage(value.klass):
                if wanted in klass.methods:
                    return klass.methods[wanted], None
            return None
        if value.kind == "layer":
            return _of_name(value.name)
        # TensorFlow runs the ops of a model in parallel by themselves.
        return "stateless" if value.kind in ("model", "tensor", "loss", "metric") else None

    def of_product(self, function: Function) -> Nature | None:
        """The nature of the function that one of this file gives, called with what it has by default; None for others."""
        given = self._infer.returned(function)
        if given.kind != "function" or given.function is None or given.function.outer is not function:
            return None
        nature = self._worst([self._run(given.function, self._told.by_call(function, None))])
        return "shaping" if nature == "hidden" else nature

    def _run(self, function: Function, given: Given | None) -> Run:
        """A run that is told apart from others by what it is given, unless there are too many."""
        ways = self._ways.setdefault(function, set())
        if given is not None and (given in ways or len(ways) < ALTERNATIVES):
            ways.add(given)
            return function, given
        return function, None

    @remembered
    def _body(self, run: Run) -> tuple[frozenset[Nature], tuple[Run, ...]]:
        """What a body does by itself, and what it runs, without the branches that are not taken by what it is given."""
        function, given = run
        parts: dict[Nature | Run, None] = dict.fromkeys(
            part
            for call in self._calls_in(function)
            if given is None or not is_left_out(self._infer.walk, call, given)
            for part in self._of_call(call, function, given)
        )
        if is_left_to_others(function):
            parts["hidden"] = None
        return (
            frozenset(part for part in parts if not isinstance(part, tuple)),
            tuple(part for part in parts if isinstance(part, tuple)),
        )

    @staticmethod
    def _calls_in(function: Function) -> Iterator[cst.Call]:
        """The calls in a function, and in lambdas and functions nested in it."""
        return (node for node in descendants(function.node.body) if isinstance(node, cst.Call))

    def _of_call(self, call: cst.Call, function: Function, given: Given | None) -> Iterator[Nature | Run]:
        for arg in call.args:
            # Functions that are handed on: `tf.cond(flag, flip, tf.identity)`.
            if isinstance(arg.value, cst.Name | cst.Attribute):
                handed = self._infer.value(arg.value)
                if handed.function is not None and not self._infer.names.dotted(arg.value):
                    yield handed.function, None
                elif (
                    handed.kind in ("function", "compiled")
                    and (there := self._elsewhere(arg.value)) is not None
                ):
                    yield there
        name = self._infer.names.qualified(call.func)
        if name:
            hidden = not has(name, "known-to-graphs") and not self._is_about_nothing(call, function)
            seen_there = self._elsewhere(call.func) if hidden else None
            yield seen_there or (_of_callee_unseen(call.func) if hidden else _of_name(name))
            return
        targets = self._calls.targets(call)
        if targets:
            for target in targets:
                yield self._run(target, self._told.by_call(target, call, given or none_known))
        else:
            yield self._of_callee(call, function)

    def _of_callee(self, call: cst.Call, function: Function) -> Nature | Run:
        func = call.func
        nature = self._of_makers(func.value if isinstance(func, cst.Attribute) else func)
        if nature is None and isinstance(func, cst.Attribute):
            nature = self._of_makers(func)
        if nature is not None:
            return nature
        value = self._infer.value(func)
        of_object = self._of_object(value) if value.known else None
        if of_object is not None:
            return of_object
        if isinstance(func, cst.Attribute):
            receiver = self._infer.value(func.value)
            if receiver.kind == "variable" and func.attr.value.startswith("assign"):
                return "stateful"
            if receiver.known or self._holds_local(func.value, function):
                # What a table is called that the function is given.
                return "stateful" if func.attr.value == "lookup" and not receiver.known else "stateless"
        elif isinstance(func, cst.Name):
            # What it calls by a name of its own was made in sight.
            if self._is_local(func, function):
                return "shaping"
            if builtin_or_qualified(self._infer, func) in _BUILTINS:
                return "stateless"
        return "stateless" if self._is_about_nothing(call, function) else _of_callee_unseen(func)

    def _of_makers(self, node: cst.BaseExpression) -> Nature | None:
        """The nature of an object by what makes it: a table, a random layer, a model of such layers, each of a list of them;
        None for others."""
        if isinstance(node, cst.Name):
            bindings = self._infer.bindings(node)
            if any(self._is_table(binding) for binding in bindings):
                return "stateful"
        else:
            bindings = self._infer.classes.bindings_of(node) if isinstance(node, cst.Attribute) else []
        made = [call for b in bindings if b.value is not None for call in calls_below(b.value)]
        natures: set[Nature | None] = {_of_name(self._infer.names.qualified(call.func)) for call in made}
        if isinstance(node, cst.Name):  # `for augment in self.augmentations`
            natures |= {
                self._of_makers(b.value)
                for b in bindings
                if b.kind == "for" and isinstance(b.value, cst.Attribute)
            }
        return "random" if "random" in natures else "stateful" if "stateful" in natures else None

    def _is_table(self, binding: Binding) -> bool:
        """Whether the parameter `binding` is a table, by its type."""
        annotation = binding.node.annotation if isinstance(binding.node, cst.Param) else None
        named = self._infer.names.qualified(annotation.annotation) if annotation is not None else ""
        return has(named, "stateful")

    def _is_about_nothing(self, call: cst.Call, function: Function) -> bool:
        """Whether a call gets nothing that the function was given or made: it runs once, when it is traced."""
        return not any(self._holds_local(arg.value, function) for arg in call.args)

    def _holds_local(self, node: cst.CSTNode, function: Function) -> bool:
        """Whether something that the function was given or made, `self` left out, stands in `node`."""
        return any(
            self._is_local(name, function) for name in names_read(node) if name in self._infer.walk.parents
        )

    def _is_local(self, name: cst.Name, function: Function) -> bool:
        found = self._infer.names.lookup(name.value, self._infer.names.scope_of(name))
        home = found[0].function if found is not None else None
        while home is not None and home is not function:
            home = home.outer
        of_instance = function.owner is not None and function.positional[:1] == [name.value]
        return home is function and not of_instance


def _switches_off(arg: cst.Arg) -> bool:
    """Whether an argument is what switches something off."""
    constant = constant_of(arg.value, none_known)
    return constant is not None and not constant[0]


def _unseen(node: cst.CSTNode) -> Nature:
    """The nature of a function, or of what a call gives, of which no more than the name is in sight."""
    return (
        "shaping" if names_shaping(last_name(node.func if isinstance(node, cst.Call) else node)) else "hidden"
    )


def _of_callee_unseen(func: cst.CSTNode) -> Nature:
    """The same of what a function calls: what has the name of a class holds together what it is given."""
    return "shaping" if last_name(func)[:1].isupper() else _unseen(func)


def _of_name(name: str) -> Nature:
    """The nature of a function or layer with a qualified name."""
    if has(name, "runs-python"):
        return "python"
    if has(name, "draws"):
        return "random"
    if has(name, "stateful"):
        return "stateful"
    return "stateless"
