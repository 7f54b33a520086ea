"""What stands in the way of compiling eager code: things that tracing would change or break."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import libcst as cst

from tflint_perf.model.calls import CallGraph
from tflint_perf.model.compiled import Compiled
from tflint_perf.model.infer import Inference
from tflint_perf.model.scopes import Binding, Function
from tflint_perf.model.syntax import (
    callee_name,
    descendants,
    descendants_here,
    is_constant,
    keyword_argument,
    names_read,
    target_names,
)


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Something that tracing would change or break, and where it stands."""

    node: cst.CSTNode
    reason: str


_HOST_METHODS = frozenset(["numpy", "item", "tolist", "fit", "predict", "evaluate", "train_on_batch", "test_on_batch", "predict_on_batch", "fit_generator", "save", "save_weights", "load_weights", "savefig"])  # fmt: skip
_HOST_BUILTINS = frozenset(["print", "float", "int", "bool", "open", "input", "round", "id", "iter", "next"])
_GROWING = frozenset(
    [
        "append",
        "extend",
        "insert",
        "add",
        "update",
        "pop",
        "popleft",
        "appendleft",
        "remove",
        "clear",
        "setdefault",
        "put",
        "push",
    ]
)
_STATE = frozenset({"variable", "model", "layer", "optimizer", "metric"})
# NumPy's constants and types mean the same at trace time.
_NUMPY_CONSTANTS = frozenset(["np.pi", "np.inf", "np.nan", "np.e", "np.newaxis", "np.float32", "np.float64", "np.int32", "np.int64", "np.prod", "np.sqrt", "np.log", "np.exp"])  # fmt: skip
_HOST_MODULES = ("np", "scipy", "random", "time", "os", "sys", "cv2", "PIL", "pandas", "matplotlib", "datetime",
                 "logging", "pickle", "json", "wandb", "neptune", "mlflow", "tqdm", "gc")  # fmt: skip
_TF_HOST = ("tf.summary.", "tf.io.write", "tf.io.gfile.", "tf.train.Checkpoint", "tf.saved_model.", "tf.config.",
            "tf.profiler.", "keras.utils.", "keras.preprocessing.", "tf.random.set_seed")  # fmt: skip


class Tracing:
    """Looks along the call path of a piece of code for what tracing would change or break."""

    def __init__(self, infer: Inference, calls: CallGraph, compiled: Compiled) -> None:
        self._infer = infer
        self._calls = calls
        self._compiled = compiled
        self._walk = infer.walk
        self._looked_at: set[cst.CSTNode] = set()

    def obstacle_in_function(self, function: Function) -> Obstacle | None:
        """The first obstacle to compiling a function, with all that it calls in this file."""
        node = function.node
        if isinstance(node, cst.FunctionDef) and node.asynchronous is not None:
            return Obstacle(node, "it is `async`")
        if function.yields:
            return Obstacle(function.yields[0], "it is a generator")
        host = self._host_arguments(function)
        if host is not None:
            return host
        return self._in_body(function, [function])

    def obstacle_in_statements(
        self, statements: Iterable[cst.CSTNode], function: Function | None
    ) -> Obstacle | None:
        """The first obstacle to compiling some statements of one block."""
        statements = list(statements)
        self._looked_at = set(statements)
        for statement in statements:
            found = self._in_code(
                statement, function, [function] if function is not None else [], inline=True
            )
            if found is not None:
                return found
        return None

    def _in_body(self, function: Function, path: list[Function]) -> Obstacle | None:
        node = function.node
        for test in self._host_conditions(function):
            return Obstacle(test, "a condition decides on the host what is returned")
        return self._in_code(node.body, function, path, inline=False)

    def _in_code(
        self, code: cst.CSTNode, function: Function | None, path: list[Function], *, inline: bool
    ) -> Obstacle | None:
        for node in descendants(code):
            reason = self._reason(node, function, inline)
            if reason:
                return Obstacle(node, reason)
            if isinstance(node, cst.Call):
                for target in self._calls.targets(node):
                    if target in path:
                        if not inline or target is not function:
                            return Obstacle(node, f"`{target.name}` calls itself")
                        continue
                    if self._compiled.is_traced(target) and target.name != "call":
                        continue
                    if target.name == "__init__":
                        return Obstacle(node, "an object is made on each step")
                    found = self._in_body(target, [*path, target])
                    if found is not None:
                        return found
        return None

    def _reason(self, node: cst.CSTNode, function: Function | None, inline: bool) -> str:
        match node:
            case cst.Call():
                return self._call(node, function)
            case cst.Assign() | cst.AugAssign() | cst.AnnAssign():
                return self._write(node, function)
            case cst.Attribute():
                return self._reassigned_attribute(node, function)
            case cst.Name():
                return self._reassigned_global(node)
            case cst.Try() | cst.TryStar():
                return "`try` does not work across traced code"
            case cst.Global() | cst.Nonlocal():
                return "it writes to a name of another scope"
            case cst.Yield() | cst.Await():
                return "`yield` and `await` can't be traced"
            case cst.Break() | cst.Continue() if inline and not self._in_inner_loop(node, self._looked_at):
                return f"`{type(node).__name__.lower()}` leaves the step"
            case cst.Return() if inline:
                return "`return` leaves the step"
            case cst.If():
                return self._condition(node, function)
            case cst.Del():
                return "`del` has no meaning in traced code"
        return ""

    # Calls

    def _call(self, call: cst.Call, function: Function | None) -> str:
        name = self._infer.names.qualified(call.func)
        last = callee_name(call)
        if name:
            reason = self._imported(call, name)
            if reason:
                return reason
        elif isinstance(call.func, cst.Attribute):
            if last in _HOST_METHODS and not self._calls.targets(call):
                return f"`.{last}()` runs on the host"
            if last in _GROWING and self._is_outer(call.func.value, function):
                if self._infer.value(call.func.value).kind not in ("metric", "model", "layer", "optimizer"):
                    return f"`.{last}()` writes to a container outside the step"
        elif last in _HOST_BUILTINS and not self._infer.names.lookup(last, self._infer.names.scope_of(call)):
            if last in ("float", "int", "bool", "round") and call.args and is_constant(call.args[0].value):
                return ""
            return f"`{last}()` runs on the host"
        made = self._infer.value(call).kind
        if (
            made in _STATE
            and not self._calls.targets(call)
            and self._creates(call)
            and not self._first_call_guard(call)
        ):
            return f"a {made} is created on each call"
        given = keyword_argument(call, "name")
        if (
            given is not None
            and not isinstance(given, cst.SimpleString | cst.FormattedString)
            and not is_constant(given)
        ):
            if self._infer.value(given).kind != "string":
                return "`name=` is not a string"
        return ""

    def _imported(self, call: cst.Call, name: str) -> str:
        module = name.split(".", 1)[0]
        if name in _NUMPY_CONSTANTS:
            return (
                "" if all(self._is_static(arg.value) for arg in call.args) else f"`{name}` runs on the host"
            )
        if module in _HOST_MODULES:
            if (
                module == "np"
                and call.args
                and all(is_constant(arg.value) for arg in call.args)
                and ".random" not in name
            ):
                return ""
            return f"`{name}` runs on the host"
        if name.startswith(_TF_HOST):
            return f"`{name}` runs on the host"
        return ""

    def _is_static(self, node: cst.BaseExpression) -> bool:
        """Constants and static shapes."""
        return is_constant(node) or any(
            isinstance(part, cst.Attribute) and part.attr.value == "shape" for part in descendants(node)
        )

    def _creates(self, call: cst.Call) -> bool:
        """Whether a call makes a new object, rather than hands out one that is there."""
        name = self._infer.names.qualified(call.func)
        value = self._infer.value(call.func)
        return bool(name) or value.kind == "class"

    def _first_call_guard(self, node: cst.CSTNode) -> bool:
        """Whether `node` stands behind `if x is None` or `if not self.built`."""
        current: cst.CSTNode | None = node
        while current is not None and not isinstance(current, cst.FunctionDef):
            if isinstance(current, cst.If):
                for part in descendants(current.test):
                    if isinstance(part, cst.Is) or (isinstance(part, cst.Name) and part.value == "None"):
                        return True
            current = self._walk.parents.get(current)
        return False

    # Writes and what changes between calls

    def _write(self, node: cst.Assign | cst.AugAssign | cst.AnnAssign, function: Function | None) -> str:
        targets = [t.target for t in node.targets] if isinstance(node, cst.Assign) else [node.target]
        for target in targets:
            for part in descendants(target):
                if isinstance(part, cst.Attribute) and self._walk.parents.get(part) is not None:
                    if self._is_target(part, target):
                        if isinstance(node, cst.AugAssign) and self._infer.value(part).kind == "variable":
                            continue
                        return f"it writes to `{_dotted(part)}`"
            if isinstance(target, cst.Subscript) and self._is_outer(target.value, function):
                return "it writes to a container outside the step"
        return ""

    @staticmethod
    def _is_target(part: cst.Attribute, target: cst.CSTNode) -> bool:
        if part is target:
            return True
        if isinstance(target, cst.Tuple | cst.List):
            return any(element.value is part for element in target.elements)
        return False

    def _is_outer(self, node: cst.BaseExpression, function: Function | None) -> bool:
        """Whether a container lives outside the function: an attribute, a parameter or a name of another scope."""
        while isinstance(node, cst.Subscript):
            node = node.value
        if isinstance(node, cst.Attribute):
            return not self._infer.names.dotted(node)
        if not isinstance(node, cst.Name):
            return False
        found = self._infer.names.lookup(node.value, self._infer.names.scope_of(node))
        if found is None:
            return True
        scope, bindings = found
        return scope.function is not function or any(binding.kind == "param" for binding in bindings)

    def _reassigned_attribute(self, node: cst.Attribute, function: Function | None) -> str:
        """An attribute of `self` that methods other than the constructor change: tracing would freeze it."""
        if function is None or function.owner is None or not isinstance(node.value, cst.Name):
            return ""
        if function.positional[:1] != [node.value.value]:
            return ""
        for klass in self._infer.classes.lineage(function.owner):
            for binding in klass.attributes.get(node.attr.value, ()):
                if self._changes_later(binding) and self._infer.value(node).kind not in (
                    "tensor",
                    "variable",
                    "compiled",
                ):
                    return f"`{_dotted(node)}` is reassigned between calls"
        return ""

    def _changes_later(self, binding: Binding) -> bool:
        holder = self._calls.function_at(binding.node)
        if binding.kind == "augment":
            return True
        return (
            holder is not None
            and holder.name not in ("__init__", "build", "setup", "compile", "__new__")
            and not (self._called_from_constructor(holder))
        )

    def _called_from_constructor(self, function: Function) -> bool:
        sites = self._calls.sites(function)
        return bool(sites) and all(
            (caller := self._calls.function_at(call)) is not None and caller.name == "__init__"
            for call in sites
        )

    def _reassigned_global(self, node: cst.Name) -> str:
        """A module-level name that functions change through `global`: tracing would freeze it."""
        scope = self._infer.names.scope_of(node)
        found = self._infer.names.lookup(node.value, scope)
        if found is None or found[0] is scope:
            return ""
        if any(b.at.block.scope is not found[0] and b.kind in ("assign", "augment") for b in found[1]):
            if self._infer.value(node).kind not in ("tensor", "variable"):
                return f"`{node.value}` is reassigned between calls"
        return ""

    # Control flow

    def _condition(self, node: cst.If, function: Function | None) -> str:
        """A condition on what a caller passes, when it is no tensor and no switch."""
        for part in descendants(node.test):
            if isinstance(part, cst.BinaryOperation) and isinstance(part.operator, cst.Modulo):
                if self._infer.value(part).kind not in ("tensor", "variable"):
                    return "a Python counter decides on the host"
        for name in names_read(node.test):
            found = self._infer.names.lookup(name.value, self._infer.names.scope_of(name))
            if found is None or found[0].function is not function:
                continue
            if any(b.kind == "param" and b.value is None for b in found[1]) and not self._is_switch(
                node.test, name
            ):
                if not (function is not None and function.positional[:1] == [name.value] and function.owner):
                    return f"a condition on `{name.value}` decides on the host"
        return ""

    @staticmethod
    def _is_switch(test: cst.BaseExpression, name: cst.Name) -> bool:
        """`if training:`, `if x is None:`: one trace for each value is what is wanted."""
        if test is name or (isinstance(test, cst.UnaryOperation) and test.expression is name):
            return True
        return any(isinstance(part, cst.Is | cst.IsNot) for part in descendants(test)) or any(
            isinstance(part, cst.Call) and callee_name(part) == "isinstance" for part in descendants(test)
        )

    def _host_conditions(self, function: Function) -> Iterator[cst.CSTNode]:
        """Conditions around a `return` that are steered by attributes or counters."""
        for statement in function.returns:
            current = self._walk.parents.get(statement)
            while current is not None and current is not function.node:
                if isinstance(current, cst.If):
                    for part in descendants_here(current.test):
                        if isinstance(part, cst.BinaryOperation) and isinstance(part.operator, cst.Modulo):
                            yield current.test
                        if isinstance(part, cst.Call) and callee_name(part) in ("len", "size", "ready"):
                            yield current.test
                current = self._walk.parents.get(current)

    def _in_inner_loop(self, node: cst.CSTNode, statements: set[cst.CSTNode]) -> bool:
        """Whether a `break` or `continue` belongs to a loop inside the statements looked at."""
        current: cst.CSTNode | None = node
        while current is not None and current not in statements:
            current = self._walk.parents.get(current)
            if isinstance(current, cst.For | cst.While):
                return True
        return isinstance(current, cst.For | cst.While)

    def _host_arguments(self, function: Function) -> Obstacle | None:
        """A Python number that callers change from call to call: each value would be traced anew."""
        for call in self._calls.sites(function):
            for arg in call.args:
                value = self._infer.value(arg.value)
                if value.kind == "number" and not is_constant(arg.value) and not self._is_fixed(arg.value):
                    return Obstacle(
                        arg.value, "a Python number that changes is passed, and each would be traced anew"
                    )
                if (
                    value.kind in ("list", "dict")
                    and value.items is None
                    and not self._holds_variables(value)
                ):
                    return Obstacle(arg.value, "a Python container is passed, and each would be traced anew")
        return None

    @staticmethod
    def _holds_variables(value) -> bool:  # type: ignore[no-untyped-def]
        return value.element is not None and value.element.kind in ("variable", "tensor", "model", "layer")

    def _is_fixed(self, node: cst.BaseExpression) -> bool:
        """Whether a name is bound once, outside every loop."""
        if isinstance(node, cst.Comparison | cst.BooleanOperation):
            return True
        if not isinstance(node, cst.Name):
            return isinstance(node, cst.Attribute)
        found = self._infer.bindings_reaching(node)
        return (
            found is not None
            and len(found[1]) == 1
            and found[1][0].kind in ("assign", "param")
            and (found[1][0].at.block.loop is None)
        )


def _dotted(node: cst.CSTNode) -> str:
    if isinstance(node, cst.Attribute):
        return f"{_dotted(node.value)}.{node.attr.value}"
    return node.value if isinstance(node, cst.Name) else "…"


def names_written(statements: Iterable[cst.CSTNode]) -> set[str]:
    """The names that statements bind, in blocks below them too."""
    written: set[str] = set()
    for statement in statements:
        for node in descendants_here(statement):
            match node:
                case cst.AssignTarget() | cst.AnnAssign() | cst.AugAssign() | cst.NamedExpr() | cst.For():
                    written |= {name.value for name in target_names(node.target)}
                case cst.AsName():
                    written |= {name.value for name in target_names(node.name)}
                case cst.FunctionDef() | cst.ClassDef():
                    written.add(node.name.value)
    return written
