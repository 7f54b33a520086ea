"""Which functions of a file a call runs, and what it passes to them, by what is known of the values."""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from tflint_perf.analysis.apis.facts import methods
from tflint_perf.analysis.python.conditions import asked_around
from tflint_perf.analysis.python.scopes import Class, Function
from tflint_perf.analysis.python.syntax import (
    argument,
    callee_name,
    has_stars,
    is_name,
    is_super,
    keyword_argument,
    same_code,
)
from tflint_perf.analysis.values.by_use import OF_MODELS
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.outside import Outside
from tflint_perf.analysis.values.values import Value
from tflint_perf.analysis.values.written import arguments

# What is known of a model of whose class nothing is.
_MODEL = Value("model")
# What Keras's own loops go by.
_OF_KERAS_LOOPS = ("fit", "evaluate", "predict")
# What objects of Python itself have: strings, containers, numbers, files.
_OF_PYTHON = [
    frozenset(dir(kind))
    for kind in (str, bytes, list, dict, set, tuple, int, float, io.TextIOWrapper, io.BufferedReader)
]
# Method names too common to find their class by.
_COMMON = frozenset().union(*_OF_PYTHON) | {
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
}


class Callees:
    """Answers which functions a call runs."""

    def __init__(self, infer: Inference, outside: Outside) -> None:
        self._infer = infer
        self._outside = outside
        self._walk = infer.walk
        self._names = infer.names

    def candidates(self) -> list[cst.Call]:
        """The calls that may run a function of this file, in the order of the text by name."""
        walk = self._walk
        of_objects = (
            methods("Strategy", "runs")
            | {"start", "apply"}
            | self._methods_by_name.keys()
            | walk.attribute_writes.keys()
        )
        of_objects = of_objects.union(*(klass.attributes for klass in walk.classes.values()))
        return [
            call
            for name, calls in walk.calls.items()
            for call in calls
            # What no object of this file has runs nothing of it.
            if (name in of_objects or not isinstance(call.func, cst.Attribute))
            and not self._names.dotted(call.func)
            and (not self._names.is_builtin(call.func) or callee_name(call) == "map")
        ]

    def of(self, call: cst.Call) -> Iterator[Function]:
        """The functions of this file that a call runs."""
        func = call.func
        name = callee_name(call)
        run = self.run_by_strategy(call)
        given = self._function_argument(run) if run is not None else None
        if given is None and self._applies_to_dataset(call):
            given = self._function_argument(call.args[0].value)
        if given is None and self.is_map(call):
            given = self._function_argument(call.args[0].value)
        if given is not None:
            yield given
            return
        value = self._infer.value(func)
        function = self._run_by(value)
        if function is None and name == "start" and isinstance(func, cst.Attribute):
            function = self._run_by_thread(func.value)
        if function is not None:
            yield function
            if isinstance(func, cst.Attribute):
                yield from self._infer.classes.overrides(func)
        elif value.either:
            found = [self._run_by(each) for each in value.either]
            if all(each is not None for each in found):
                possible: dict[Function, None] = dict.fromkeys(found)  # type: ignore[arg-type]
                yield from (f for f in possible if not self._exclude_each_other(f.node, call))
        elif isinstance(func, cst.Attribute) and not value.known and name not in _COMMON:
            owners = self.methods_named(name)
            # An object of unknown class, and one class here has a method of that name; not where that method hands on
            # its own task: `self._index.evaluate(x)` in `evaluate`.
            if (
                len(owners) == 1
                and not self._infer.value(func.value).known
                and not is_super(func.value)
                and self.function_at(call) is not owners[0]
            ):
                yield owners[0]
        elif isinstance(func, cst.Attribute) and not value.known and not is_super(func.value):
            owners = [method for method in self.methods_named(name) if self._may_be_of(func.value, method)]
            if len(owners) == 1 and self.function_at(call) is not owners[0]:
                yield owners[0]

    def _may_be_of(self, receiver: cst.BaseExpression, method: Function) -> bool:
        """Whether an object of unknown class is one of the class that has a method of a common name: it is a model, as is
        that class, which does anew what Keras does; or it is asked elsewhere for what no other class here has, nor any one of
        Python's own."""
        given = self._infer.value(receiver)
        if method.owner is None or (given.known and given != _MODEL):
            return False
        if given.known and self._infer.classes.keras_kind(method.owner) == "model":
            return method.name in _OF_KERAS_LOOPS
        asker = self.function_at(receiver)
        if asker is not None and asker.owner is method.owner:
            return False  # what it wraps
        asked = {
            name
            for name in method.owner.methods
            if name not in OF_MODELS and len(self.methods_named(name)) == 1
            for use in self._walk.attributes.get(name, ())
            if same_code(use.value, receiver) and self._is_same_object(use.value, receiver)
        }
        of_python = asked & _COMMON
        return asked != of_python or (
            # Texts are encoded and bytes decoded: what does both is neither.
            len(of_python & frozenset().union(*_OF_PYTHON)) > 1
            and not any(of_python <= kind for kind in _OF_PYTHON)
        )

    def _is_same_object(self, one: cst.BaseExpression, other: cst.BaseExpression) -> bool:
        """Whether the same code stands for the same object at two places: a name of one scope, an attribute of one class."""
        if isinstance(one, cst.Name) and isinstance(other, cst.Name):
            return self._names.home(one) is self._names.home(other)
        makers = [self.function_at(one), self.function_at(other)]
        return all(maker is not None and maker.owner is not None for maker in makers) and (
            makers[0].owner is makers[1].owner  # type: ignore[union-attr]
        )

    def _run_by(self, value: Value) -> Function | None:
        """The function of this file that calling `value` runs."""
        if value.kind in ("function", "compiled"):
            return value.function
        if value.klass is None:
            return None
        for wanted in self._wanted(value):
            for klass in self._infer.classes.lineage(value.klass):
                if wanted in klass.methods:
                    return klass.methods[wanted]
        return None

    def _wanted(self, value: Value) -> tuple[str, ...]:
        """The methods of its class that calling `value` may run, the first that there is."""
        if value.kind == "class":
            return ("__init__",)
        if methods(value.kind, "compiled"):
            return ("call",)
        is_of_keras = value.klass is not None and self._is_of_keras_by_others(value.klass)
        return ("__call__", "call") if is_of_keras else ("__call__",)

    def _is_of_keras_by_others(self, klass: Class) -> bool:
        """Whether a base of the class `klass`, in another file, is a layer or model of Keras, which runs `call`."""
        named = (
            self._names.dotted(arg.value)
            for each in self._infer.classes.lineage(klass)
            for arg in each.node.bases
        )
        bases = (self._outside.value(name).outside for name in named if name is not None)
        kinds = (self._outside.class_facts(base).keras_kind for base in bases if base)
        return any(bool(methods(kind, "compiled")) for kind in kinds)

    def _run_by_thread(self, receiver: cst.BaseExpression) -> Function | None:
        """The `run` of a class derived from `Thread` or `Process`, of which an object is started."""
        klass = self._infer.value(receiver).klass
        return self._infer.classes.run_of_thread(klass) if klass is not None else None

    def _applies_to_dataset(self, call: cst.Call) -> bool:
        """Whether it is `dataset.apply(prepare)`, which runs `prepare(dataset)`."""
        return (
            callee_name(call) == "apply"
            and len(call.args) == 1
            and isinstance(call.args[0].value, cst.Name)
            and isinstance(call.func, cst.Attribute)
            and self._infer.value(call.func.value).kind == "dataset"
        )

    def _function_argument(self, node: cst.BaseExpression) -> Function | None:
        value = self._infer.value(node)
        if value.kind in ("function", "compiled") and not value.either:
            return value.function
        # Of several functions of one name, the one that the conditions here leave.
        given = {each.function for each in value.either}
        left = [f for f in given if f is None or not self._exclude_each_other(f.node, node)]
        return left[0] if len(left) == 1 else None

    def _exclude_each_other(self, one: cst.CSTNode, other: cst.CSTNode) -> bool:
        """Whether two places never run both: each stands behind the same question, and wants another answer, `if strategy
        is None:` and `if strategy is not None:`, and nothing can change the answer between them."""
        return any(
            holds != also_holds and same_code(asked, also_asked) and self._stays(asked, also_asked)
            for asked, holds in asked_around(self._walk, one)
            for also_asked, also_holds in asked_around(self._walk, other)
        )

    def _stays(self, asked: cst.BaseExpression, also_asked: cst.BaseExpression) -> bool:
        """Whether a name or attribute that is asked about twice is known to be the same: one that is bound once, or that the
        constructor alone sets."""
        match asked, also_asked:
            case cst.Name(), cst.Name():
                found = self._names.lookup(asked.value, self._names.scope_of(asked))
                also = self._names.lookup(also_asked.value, self._names.scope_of(also_asked))
                if found is None or also is None or found[0] is not also[0] or len(found[1]) != 1:
                    return False
                return found[1][0].at.block.loop is None
            case cst.Attribute(value=cst.Name()), cst.Attribute():
                bindings = self._infer.classes.bindings_of(asked)
                functions = [binding.at.block.function for binding in bindings]
                return len(bindings) == 1 and functions[0] is not None and functions[0].name == "__init__"
        return False

    def run_by_strategy(self, call: cst.Call) -> cst.BaseExpression | None:
        """`f` in `strategy.run(f, args=(x,))`."""
        if (
            callee_name(call) not in methods("Strategy", "runs")
            or not call.args
            or not isinstance(call.func, cst.Attribute)
        ):
            return None
        if self._infer.value(call.func.value).kind not in ("strategy", "unknown"):
            return None
        return call.args[0].value

    def is_map(self, call: cst.Call) -> bool:
        """Whether it is Python's own `map(f, values)`."""
        return len(call.args) == 2 and is_name(call.func, "map") and self._names.is_builtin(call.func)

    def methods_named(self, name: str) -> list[Function]:
        """The methods of that name, of all classes in this file."""
        return self._methods_by_name.get(name, [])

    @cached_property
    def _methods_by_name(self) -> dict[str, list[Function]]:
        found: dict[str, list[Function]] = {}
        for klass in self._walk.classes.values():
            for name, method in klass.methods.items():
                found.setdefault(name, []).append(method)
        return found

    def function_at(self, node: cst.CSTNode) -> Function | None:
        """The function whose body holds `node`; None at module or class level."""
        return self._names.scope_of(node).function

    # What is passed

    def passed(self, sites: list[cst.Call], function: Function, parameter: str) -> list[cst.BaseExpression]:
        """What calls of `function` pass as `parameter`; empty when one hides it."""
        given: list[cst.BaseExpression] = []
        position = function.place_of(parameter)
        default = next((p.default for p in function.parameters if p.name.value == parameter), None)
        for call in sites:
            if callee_name(call) in methods("Strategy", "runs") and self._function_argument_of_run(
                call, function
            ):
                return self._run_arguments(call, position)
            if has_stars(call) or self.is_map(call):
                said = keyword_argument(call, parameter)  # `**others` can't give it as well
                if said is None:
                    said = self._unpacked(call, position, parameter)
                if said is None or self.is_map(call):
                    return []
                given.append(said)
                continue
            found: cst.BaseExpression | None
            if callee_name(call) == "apply" and self._function_argument_of_run(call, function):
                found = getattr(call.func, "value", None) if position == 0 else default
            else:
                found = argument(call, position if position >= 0 else None, parameter) or default
            if found is not None:  # a call without it would fail
                given.append(found)
        return given

    def _unpacked(self, call: cst.Call, place: int, parameter: str) -> cst.BaseExpression | None:
        """What a call passes as `parameter` in something written out that a star unpacks: `train(**settings)`."""
        for given in arguments(self._infer, call):
            if given.keyword == parameter or (given.place == place and place >= 0):
                return given.value
        return None

    def _function_argument_of_run(self, call: cst.Call, function: Function) -> bool:
        return bool(call.args) and self._function_argument(call.args[0].value) is function

    @staticmethod
    def _run_arguments(call: cst.Call, position: int) -> list[cst.BaseExpression]:
        packed = argument(call, 1, "args")
        if isinstance(packed, cst.Tuple) and 0 <= position < len(packed.elements):
            return [packed.elements[position].value]
        return []
