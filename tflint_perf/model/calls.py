"""Who calls whom in a file, and which bodies are compiled code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import libcst as cst

from tflint_perf.model.infer import Inference
from tflint_perf.model.keras_classes import COMPILED_METHODS
from tflint_perf.model.scopes import Function
from tflint_perf.model.syntax import argument, callee_name, has_stars, is_name
from tflint_perf.model.values import Value

State = Literal["compiled", "eager", "unknown"]

# `Dataset` methods that trace the function they are given.
_DATASET_TRACERS = frozenset(
    [
        "map",
        "filter",
        "flat_map",
        "interleave",
        "reduce",
        "scan",
        "take_while",
        "group_by_window",
        "bucket_by_sequence_length",
        "rejection_resample",
    ]
)
# TensorFlow functions that trace the functions they are given.
_TRACERS = frozenset(
    [
        "tf.function",
        "tf.while_loop",
        "tf.cond",
        "tf.case",
        "tf.switch_case",
        "tf.map_fn",
        "tf.vectorized_map",
        "tf.scan",
        "tf.foldl",
        "tf.foldr",
        "tf.custom_gradient",
        "tf.recompute_grad",
        "keras.layers.Lambda",
        "tf.wrap_function",
        "tf.autograph.to_graph",
        "tf.xla.experimental.compile",
        "tf.data.experimental.map_and_batch",
        "tf.data.experimental.parallel_interleave",
    ]
)
# TensorFlow functions whose argument runs as ordinary Python, wherever they are called.
_HOST = frozenset(["tf.py_function", "tf.numpy_function", "tf.py_func"])
# Rounds of asking who is called.
_ROUNDS = 3
# A function that asks in which mode it runs is written for both.
_ASKS_THE_MODE = frozenset({"tf.executing_eagerly", "tf.inside_function"})
# Method names too common to find their class by.
_COMMON = frozenset(
    [
        "append",
        "add",
        "get",
        "update",
        "pop",
        "items",
        "keys",
        "values",
        "copy",
        "close",
        "read",
        "write",
        "save",
        "load",
        "run",
        "call",
        "fit",
        "build",
        "compile",
        "predict",
        "evaluate",
        "reset",
        "step",
        "format",
        "join",
        "split",
        "extend",
        "insert",
        "remove",
        "sort",
        "index",
        "count",
        "clear",
    ]
)


class CallGraph:
    """Call sites of the file's functions, and for each function whether it is compiled."""

    def __init__(self, infer: Inference) -> None:
        self._infer = infer
        infer.arguments_of = None
        self._walk = infer.walk
        self._names = infer.names
        self._sites: dict[Function, list[cst.Call]] = {}
        self._targets: dict[cst.Call, list[Function]] = {}
        self._states: dict[Function, State] | None = None
        self._traced: set[Function] = set()
        self._host: set[Function] = set()
        self._used: dict[Function, list[cst.CSTNode]] = {}
        self._methods_by_name: dict[str, list[Function]] = {}
        self._local_names()
        # What a parameter is follows from the callers, and who calls a method from what a parameter is: so the
        # calls that stay open are asked again once the others are known.
        waiting = self._candidates()
        for _ in range(_ROUNDS):
            waiting = [call for call in waiting if not self._settle_targets(call)]
            infer.forget()
            infer.arguments_of = self.arguments

    # Building

    def _local_names(self) -> None:
        for klass in self._walk.classes.values():
            for name, method in klass.methods.items():
                self._methods_by_name.setdefault(name, []).append(method)

    def _candidates(self) -> list[cst.Call]:
        """The calls that may run a function of this file, in the order of the text by name."""
        return [
            call
            for calls in self._walk.calls.values()
            for call in calls
            if not self._names.dotted(call.func) and not self._is_builtin(call.func)
        ]

    def _is_builtin(self, func: cst.BaseExpression) -> bool:
        return (
            isinstance(func, cst.Name) and self._names.lookup(func.value, self._names.scope_of(func)) is None
        )

    def _settle_targets(self, call: cst.Call) -> bool:
        functions = list(self._resolve(call))
        for function in functions:
            self._sites.setdefault(function, []).append(call)
            self._targets.setdefault(call, []).append(function)
        return bool(functions)

    def _resolve(self, call: cst.Call) -> Iterator[Function]:
        """The functions of this file that a call runs."""
        func = call.func
        name = callee_name(call)
        if name in ("run", "experimental_run_v2") and call.args and isinstance(func, cst.Attribute):
            given = self._function_argument(call.args[0].value)
            if given is not None and self._infer.value(func.value).kind in ("strategy", "unknown"):
                yield given
                return
        value = self._infer.value(func)
        function = self._run_by(value)
        if function is not None:
            yield function
        elif isinstance(func, cst.Attribute) and not value.known and name not in _COMMON:
            owners = self._methods_by_name.get(name, ())
            # An object of unknown class, and one class here has a method of that name.
            if (
                len(owners) == 1
                and not self._infer.value(func.value).known
                and not is_name(func.value, "super")
            ):
                yield owners[0]

    def _run_by(self, value: Value) -> Function | None:
        """The function of this file that calling `value` runs."""
        if value.kind in ("function", "compiled"):
            return value.function
        if value.klass is None:
            return None
        wanted = (
            "__init__" if value.kind == "class" else "call" if value.kind in COMPILED_METHODS else "__call__"
        )
        for klass in self._infer.classes.lineage(value.klass):
            if wanted in klass.methods:
                return klass.methods[wanted]
        return None

    def _function_argument(self, node: cst.BaseExpression) -> Function | None:
        value = self._infer.value(node)
        return value.function if value.kind in ("function", "compiled") else None

    # Questions

    def sites(self, function: Function) -> list[cst.Call]:
        """The calls in this file that run `function`."""
        return self._sites.get(function, [])

    def targets(self, call: cst.Call) -> list[Function]:
        """The functions of this file that `call` runs."""
        return self._targets.get(call, [])

    def function_at(self, node: cst.CSTNode) -> Function | None:
        """The function whose body holds `node`; None at module or class level."""
        return self._names.scope_of(node).function

    def arguments(self, function: Function, parameter: str) -> list[cst.BaseExpression]:
        """What the calls in this file pass as `parameter`; empty when one of them hides it."""
        given: list[cst.BaseExpression] = []
        positional = function.positional
        offset = 1 if self._is_bound(function) else 0
        position = positional.index(parameter) - offset if parameter in positional else None
        default = next((p.default for p in function.parameters if p.name.value == parameter), None)
        for call in self.sites(function):
            if callee_name(call) in ("run", "experimental_run_v2") and self._function_argument_of_run(
                call, function
            ):
                return self._run_arguments(call, position)
            if has_stars(call):
                return []
            found = (
                argument(call, position if position is None or position >= 0 else None, parameter) or default
            )
            if found is None:
                return []
            given.append(found)
        return given

    def _function_argument_of_run(self, call: cst.Call, function: Function) -> bool:
        return bool(call.args) and self._function_argument(call.args[0].value) is function

    @staticmethod
    def _run_arguments(call: cst.Call, position: int | None) -> list[cst.BaseExpression]:
        packed = argument(call, 1, "args")
        if isinstance(packed, cst.Tuple) and position is not None and 0 <= position < len(packed.elements):
            return [packed.elements[position].value]
        return []

    @staticmethod
    def _is_bound(function: Function) -> bool:
        return function.owner is not None and not any(
            is_name(decorator.decorator, "staticmethod") for decorator in function.decorators
        )

    # Compiled or eager

    def state(self, function: Function | None) -> State:
        """Whether the body of a function is compiled code; module-level code (None) is eager."""
        if function is None:
            return "eager"
        if self._states is None:
            self._states = self._settle()
        return self._states.get(function, "unknown")

    def is_eager(self, node: cst.CSTNode) -> bool:
        """Whether `node` surely runs in eager mode."""
        return self.state(self.function_at(node)) == "eager"

    def is_compiled(self, node: cst.CSTNode) -> bool:
        """Whether `node` is compiled code."""
        return self.state(self.function_at(node)) == "compiled"

    def runs_on_host(self, function: Function) -> bool:
        """Whether a function is handed to `tf.py_function` or its kin."""
        self.state(function)
        return function in self._host

    def is_traced(self, function: Function) -> bool:
        """Whether TensorFlow itself is handed the function to trace: a decorator, a call, a Keras method."""
        self.state(function)
        return function in self._traced

    def uses(self, function: Function) -> list[cst.CSTNode]:
        """Places that mention a function other than to call it: it may be called from elsewhere."""
        self.state(function)
        return self._used.get(function, [])

    def _settle(self) -> dict[Function, State]:
        functions = list(self._walk.functions.values())
        if not self._everything_eager():
            for function in functions:
                if any(
                    self._infer.compiles(d.decorator) or self._is_tracer(d.decorator)
                    for d in function.decorators
                ) or self._is_keras_method(function):
                    self._traced.add(function)
        self._follow_arguments()
        if self._everything_eager():
            self._traced.clear()
        states: dict[Function, State] = dict.fromkeys(self._traced, "compiled")
        states.update(dict.fromkeys(self._host, "unknown"))
        self._spread_eager(functions, states)
        self._spread_compiled(functions, states)
        return states

    def _everything_eager(self) -> bool:
        return any(
            self._names.qualified(call.func) == "tf.config.run_functions_eagerly"
            and is_name(argument(call, 0, "run_eagerly"), "True")
            for name in ("run_functions_eagerly", "experimental_run_functions_eagerly")
            for call in self._walk.calls.get(name, ())
        )

    def _is_tracer(self, decorator: cst.BaseExpression) -> bool:
        func = decorator.func if isinstance(decorator, cst.Call) else decorator
        return self._names.qualified(func) in _TRACERS

    def _is_keras_method(self, function: Function) -> bool:
        if function.owner is None:
            return False
        return function.name in COMPILED_METHODS.get(self._infer.classes.keras_kind(function.owner), ())

    def _follow_arguments(self) -> None:
        """Find functions handed to something: TensorFlow traces them, runs them on the host, or nobody knows."""
        by_name: dict[str, list[Function]] = {}
        for function in self._walk.functions.values():
            by_name.setdefault(function.name, []).append(function)
        parents = self._walk.parents
        for name, functions in by_name.items():
            mentions: list[cst.CSTNode] = [f.node for f in functions] if name == "<lambda>" else [
                *self._walk.names.get(name, ()), *self._walk.attributes.get(name, ())]  # fmt: skip
            for node in mentions:
                parent = parents.get(node)
                if isinstance(parent, cst.Call) and parent.func is node:
                    continue
                if isinstance(parent, cst.Attribute):
                    continue
                meant = self._infer.value(node).function
                if meant is not None and meant.name == name:
                    self._hand_over(node, meant)
                elif isinstance(node, cst.Attribute) and not self._infer.value(node.value).known:
                    for method in self._methods_by_name.get(name, ()):
                        self._used.setdefault(method, []).append(node)

    def _hand_over(self, node: cst.CSTNode, function: Function) -> None:
        parent = self._walk.parents.get(node)
        while isinstance(parent, cst.Arg | cst.Element | cst.List | cst.Tuple):
            node, parent = parent, self._walk.parents.get(parent)
        if isinstance(parent, cst.Decorator | cst.AssignTarget) or parent is None:
            return
        if isinstance(parent, cst.Call):
            name = self._names.qualified(parent.func)
            if name in _TRACERS:
                self._traced.add(function)
                return
            if name in _HOST:
                self._host.add(function)
                return
            if function in self.targets(parent):
                return  # strategy.run(f): a call of f
            if self._infer.compiles(parent.func):
                self._traced.add(function)
                return
            if callee_name(parent) in _DATASET_TRACERS and isinstance(parent.func, cst.Attribute):
                if self._infer.value(parent.func.value).kind == "dataset":
                    self._traced.add(function)
                    return
            if name == "functools.partial":
                self._hand_over(parent, function)
                return
        if isinstance(parent, cst.Assign) and isinstance(function.node, cst.Lambda):
            return
        self._used.setdefault(function, []).append(node)

    def _spread_eager(self, functions: list[Function], states: dict[Function, State]) -> None:
        """Everything that eager code calls is eager, unless it is traced by itself."""
        waiting: list[Function] = []

        def mark(calls: list[cst.Call]) -> None:
            for call in calls:
                for target in self.targets(call):
                    if target not in states:
                        states[target] = "eager"
                        waiting.append(target)

        for function in functions:
            if function not in states and self._may_be_entry(function):
                states[function] = "eager"
                waiting.append(function)
        mark(self._walk.module_calls)
        while waiting:
            mark(waiting.pop().calls)

    def _may_be_entry(self, function: Function) -> bool:
        """Whether a function is judged by itself: nobody here calls it, and nobody else is known to wrap it."""
        if self.sites(function) or self._used.get(function) or isinstance(function.node, cst.Lambda):
            return False
        if any(self._names.qualified(call.func) in _ASKS_THE_MODE for call in function.calls):
            return False
        if function.owner is None:
            return True
        owner = function.owner
        return not (self._infer.classes.has_foreign_base(owner) or self._infer.classes.keras_kind(owner))

    def _spread_compiled(self, functions: list[Function], states: dict[Function, State]) -> None:
        """What only compiled code calls is compiled."""
        changed = True
        while changed:
            changed = False
            for function in functions:
                sites = self.sites(function)
                if function in states or not sites or self._used.get(function):
                    continue
                if all(
                    states.get(caller) == "compiled" for call in sites if (caller := self.function_at(call))
                ):
                    states[function] = "compiled"
                    changed = True
