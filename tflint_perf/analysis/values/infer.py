"""Values of expressions, worked out on demand and in the order of the code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import libcst as cst

from tflint_perf.analysis.apis.facts import has
from tflint_perf.analysis.limits import DEFINITIONS_DEEP
from tflint_perf.analysis.python.fixpoints import Fixpoints
from tflint_perf.analysis.python.flow import reaching
from tflint_perf.analysis.python.names import Names, canonical
from tflint_perf.analysis.python.scopes import At, Binding, Function, Loop, Scope
from tflint_perf.analysis.python.syntax import imported_names, is_super, string
from tflint_perf.analysis.python.walk import Walk
from tflint_perf.analysis.values.bound_values import value_of_binding
from tflint_perf.analysis.values.by_use import ByUse
from tflint_perf.analysis.values.classes import Classes
from tflint_perf.analysis.values.contents import Contents
from tflint_perf.analysis.values.gradients import Gradients
from tflint_perf.analysis.values.integers import Integers
from tflint_perf.analysis.values.methods import value_of_attribute, value_of_call
from tflint_perf.analysis.values.outside import NOTHING, Outside
from tflint_perf.analysis.values.values import (
    COMPILER,
    NEVER,
    NONE,
    NUMBER,
    STRING,
    TENSOR,
    UNKNOWN,
    Value,
    arithmetic,
    is_compiler,
    join,
)


class Inference:
    """Answers `value(node)`. `arguments_of` is asked for what callers in the file pass as a parameter."""

    def __init__(self, walk: Walk, names: Names, outside: Outside) -> None:
        self.walk = walk
        self.names = names
        self.outside = outside
        self.arguments_of: Callable[[Function, str], list[cst.BaseExpression]] | None = None
        self.fixpoints = Fixpoints(NEVER, UNKNOWN)
        self.classes = Classes(self)
        self.contents = Contents(self)
        self.gradients = Gradients(self)
        self.integers = Integers(self)
        # Loops that are part of one iteration of another, or not: each is looked through once.
        self.parts_of_iterations: dict[Loop, bool] = {}
        self.by_use: ByUse | None = None
        self._depth = 0
        self._made_anew: dict[tuple[Scope, str], list[Binding]] = {}
        self._reaching: dict[cst.Name, tuple[Scope, list[Binding]] | None] = {}

    def alone(self) -> Inference:
        """The same code without other files, of which nobody can say yet who calls whom."""
        other = Inference(self.walk, self.names, NOTHING)
        # What a name is bound to is the same for both.
        other._made_anew, other._reaching = self._made_anew, self._reaching
        return other

    def release(self) -> None:
        """Let go of everything at once. What refers to itself would wait for the garbage collector."""
        self.__dict__.clear()

    def forget(self) -> None:
        """Drop what was worked out before all callers were known."""
        self.fixpoints.forget()
        self.classes.forget()
        self.integers = Integers(self)

    def value(self, node: cst.CSTNode) -> Value:
        """What is known of the value of an expression; `UNKNOWN` where nothing is."""
        known: Value | None = self.fixpoints.get(node)
        if known is not None:
            return known
        evaluator = _EVALUATORS.get(node.__class__)
        if evaluator is None or self._depth > DEFINITIONS_DEEP:
            return UNKNOWN
        self._depth += 1
        try:
            # A value that depends on itself adds nothing to itself.
            result: Value = self.fixpoints.work_out(node, NEVER, partial(evaluator, self, node))
            return result
        finally:
            self._depth -= 1

    # Expressions of each kind

    def _unary(self, node: cst.UnaryOperation) -> Value:
        return NUMBER if isinstance(node.operator, cst.Not) else self.value(node.expression)

    def _comparison(self, node: cst.Comparison) -> Value:
        parts = [self.value(node.left), *(self.value(part.comparator) for part in node.comparisons)]
        return TENSOR if any(part.kind == "tensor" for part in parts) else NUMBER

    def _tuple(self, node: cst.Tuple) -> Value:
        return self._sequence("tuple", node)

    def _list(self, node: cst.List) -> Value:
        return self._sequence("list", node)

    def _comprehension(self, node: cst.ListComp | cst.SetComp | cst.GeneratorExp) -> Value:
        return Value("list", element=self.value(node.elt))

    def _sequence(self, kind: str, node: cst.Tuple | cst.List) -> Value:
        if any(isinstance(element, cst.StarredElement) for element in node.elements):
            return Value("tuple" if kind == "tuple" else "list")
        items = tuple(self.value(element.value) for element in node.elements)
        if kind == "tuple":
            return Value("tuple", items=items, element=join(items) if items else None)
        return Value("list", items=items if len(items) <= 8 else None, element=join(items) if items else None)

    def _dict(self, node: cst.Dict) -> Value:
        pairs = [element for element in node.elements if isinstance(element, cst.DictElement)]
        if not pairs or len(pairs) < len(node.elements):
            return Value("dict")
        values = tuple(self.value(pair.value) for pair in pairs)
        keys = tuple(key for pair in pairs if (key := string(pair.key)) is not None)
        if len(keys) < len(pairs):
            return Value("dict", element=join(values))
        return Value("dict", items=values, keys=keys, element=join(values))

    # Names and attributes

    def place(self, node: cst.CSTNode) -> At:
        """Where the statement that holds `node` stands."""
        at, parents = self.walk.at, self.walk.parents
        current: cst.CSTNode | None = node
        while current is not None:
            found = at.get(current)
            if found is not None:
                return found
            current = parents.get(current)
        return At(0, self.walk.body)

    def bindings_reaching(self, node: cst.Name) -> tuple[Scope, list[Binding]] | None:
        """The bindings from which `node` may have its value, and the scope they are in."""
        if node not in self._reaching:
            self._reaching[node] = self._bindings_reaching(node)
        return self._reaching[node]

    def bindings(self, node: cst.CSTNode | None) -> list[Binding]:
        """The bindings from which a name may have its value; none of what is no name, or is bound nowhere in the file."""
        found = self.bindings_reaching(node) if isinstance(node, cst.Name) else None
        return found[1] if found is not None else []

    def given_to(self, node: cst.CSTNode | None) -> list[Binding]:
        """What gives its value to a name, or to an attribute of an object that the nearest class of this file writes to."""
        return self.classes.bindings_of(node) if isinstance(node, cst.Attribute) else self.bindings(node)

    def _bindings_reaching(self, node: cst.Name) -> tuple[Scope, list[Binding]] | None:
        scope = self.names.scope_of(node)
        found = self.names.lookup(node.value, scope)
        if found is None:
            return None
        home, bindings = found
        use_scope = scope
        while use_scope is not home and use_scope.kind == "comprehension" and use_scope.parent is not None:
            use_scope = use_scope.parent
        if home is use_scope and home.kind != "comprehension" and len(bindings) > 1:
            return home, reaching(bindings, self.place(node))
        if len(bindings) > 1 and _hide_each_other(bindings):
            return home, bindings[-1:]
        return home, bindings

    def made_anew(self, scope: Scope, name: str) -> list[Binding]:
        """The bindings of a name in its scope that do not add to what it has already."""
        known = self._made_anew.get((scope, name))
        if known is None:
            known = [binding for binding in scope.bindings[name] if binding.kind != "augment"]
            self._made_anew[scope, name] = known
        return known

    def _name(self, node: cst.Name) -> Value:
        if node.value == "None":
            return NONE
        if node.value in ("True", "False"):
            return NUMBER
        found = self.bindings_reaching(node)
        if found is None:
            return self._from_star(node.value)
        scope, bindings = found
        if len(bindings) > 1 and bindings is scope.bindings[node.value]:
            # Whoever asks from another scope gets the same.
            of_all = partial(_joined, self, bindings, scope)
            value = self.fixpoints.of((scope, node.value), NEVER, of_all)
        else:
            value = _joined(self, bindings, scope) if bindings else UNKNOWN
        return value if value is not UNKNOWN or self.by_use is None else self.by_use.name(node.value, scope)

    def _from_star(self, name: str) -> Value:
        """What a name that nothing binds is, if a module of the project that is imported whole has it."""
        given = (self.outside.value(star + name) for star in self.names.stars_outside)
        return next((value for value in given if value.known), UNKNOWN)

    def _attribute(self, node: cst.Attribute) -> Value:
        dotted = self.names.dotted(node)
        if dotted:
            return COMPILER if has(canonical(dotted), "compiles") else self.outside.value(dotted)
        if is_super(node.value):
            return self.classes.of_super(node)
        base = self.value(node.value)
        if base is NEVER:
            return NEVER
        if base.either and (found := join(self._member(each, node) for each in base.either)) is not UNKNOWN:
            return found
        return self._member(base, node)

    def _member(self, base: Value, node: cst.Attribute) -> Value:
        """What `node` stands for where it is asked of `base`."""
        name = node.attr.value
        if base.klass is not None:
            found = self.classes.member(base, name, node)
            if found is not None:
                return self._by_use(node, found)
        if base.outside:
            found = self.outside.member(base.outside, name)
            if found.known or found.outside or found.either:
                return found
        return self._by_use(node, value_of_attribute(base, name))

    def _by_use(self, node: cst.Attribute, value: Value) -> Value:
        return value if value is not UNKNOWN or self.by_use is None else self.by_use.attribute(node)

    def _subscript(self, node: cst.Subscript) -> Value:
        base = self.value(node.value)
        index = node.slice[0].slice if len(node.slice) == 1 else None
        if base.kind in ("tuple", "list") and base.items is not None and isinstance(index, cst.Index):
            if isinstance(index.value, cst.Integer) and int(index.value.value) < len(base.items):
                return base.items[int(index.value.value)]
            return join(base.items) if base.items else UNKNOWN
        if base.keys and isinstance(index, cst.Index) and string(index.value) in base.keys:
            return base.items[base.keys.index(string(index.value) or "")] if base.items else UNKNOWN
        if base.kind in ("list", "tuple", "dict"):
            if isinstance(index, cst.Slice):
                return replace(base, items=None)
            return base.element if base.element is not None else UNKNOWN
        if base is NEVER:
            return NEVER
        if base.kind in ("tensor", "array"):
            if base.items is not None or (isinstance(index, cst.Index) and string(index.value) is not None):
                return Value(base.kind, host=base.host)
            return replace(base, items=None)
        return Value("tensor") if base.kind == "variable" else UNKNOWN

    # Functions and classes

    @cached_property
    def texts_of_imports(self) -> tuple[bytes, ...]:
        """The texts of the project's modules that the file imports, and of those that these import."""
        imports = (node for node in self.walk.at if isinstance(node, cst.Import | cst.ImportFrom))
        return self.outside.module_texts(*(name for node in imports for name in imported_names(node)))

    def function_value(self, function: Function) -> Value:
        """A function as a value: of kind "compiled" when a decorator makes a `tf.function` of it."""
        compiled = any(self.compiles(d.decorator) for d in function.decorators)
        return Value("compiled" if compiled else "function", function=function)

    def compiles(self, decorator: cst.BaseExpression) -> bool:
        """Whether `decorator` makes a `tf.function`, as a decorator or when called with a function."""
        name = self.names.qualified(decorator)
        if has(name, "compiles"):
            return True
        if isinstance(decorator, cst.Call):
            called = self.names.qualified(decorator.func)
            if has(called, "compiles"):
                return True
            if has(called, "binds"):
                return bool(decorator.args) and self.compiles(decorator.args[0].value)
            inner = self.value(decorator.func)
            # A local factory of decorators: `def compiled(**options): return tf.function(**options)`.
            return inner.function is not None and self.returned(inner.function).kind == "compiled"
        wrapper = self.value(decorator)
        # Of a choice, which is by the version of TensorFlow as a rule, what compiles is meant.
        if any(map(is_compiler, wrapper.alternatives)):
            return True
        return wrapper.function is not None and self.returned(wrapper.function).kind == "compiled"

    def returned(self, function: Function) -> Value:
        """What calling a function of this file gives."""
        return self.fixpoints.of(function, NEVER, partial(self._result, function))

    def _result(self, function: Function) -> Value:
        if isinstance(function.node, cst.Lambda):
            return self.value(function.node.body)
        if function.yields:
            given = [self.value(y.value) for y in function.yields if isinstance(y.value, cst.BaseExpression)]
            return Value("generator", element=join(given) if given else None, function=function)
        return join(
            [self.value(r.value) if r.value is not None else NONE for r in function.returns] or [NONE]
        )


def _hide_each_other(bindings: list[Binding]) -> bool:
    """Whether a name is imported several times, one behind another: a function sees the last."""
    block = bindings[0].at.block
    return all(binding.kind == "import" and binding.at.block is block for binding in bindings)


def _joined(infer: Inference, bindings: list[Binding], scope: Scope) -> Value:
    """The value that a name may have. To begin with, a sum of tensors is a number or an array."""
    values = [value_of_binding(infer, binding, scope) for binding in bindings]
    if any(b.kind == "augment" and v.kind == "tensor" for b, v in zip(bindings, values, strict=True)):
        return join([value for value in values if value.kind not in ("number", "array", "none")])
    return join(values)


# By the class of the node, since most questions are about names, and `isinstance` takes long to say no.
_EVALUATORS: dict[type[cst.CSTNode], Callable[[Inference, Any], Value]] = {
    cst.Name: Inference._name,
    cst.Attribute: Inference._attribute,
    cst.Call: value_of_call,
    cst.Subscript: Inference._subscript,
    **dict.fromkeys((cst.Integer, cst.Float), lambda _infer, _node: NUMBER),
    **dict.fromkeys(
        (cst.SimpleString, cst.FormattedString, cst.ConcatenatedString), lambda _infer, _node: STRING
    ),
    cst.BinaryOperation: lambda infer, node: arithmetic(infer.value(node.left), infer.value(node.right)),
    cst.BooleanOperation: lambda infer, node: join([infer.value(node.left), infer.value(node.right)]),
    cst.IfExp: lambda infer, node: join([infer.value(node.body), infer.value(node.orelse)]),
    cst.UnaryOperation: Inference._unary,
    cst.Comparison: Inference._comparison,
    cst.Tuple: Inference._tuple,
    cst.List: Inference._list,
    cst.Dict: Inference._dict,
    cst.DictComp: lambda infer, node: Value("dict", element=infer.value(node.value)),
    **dict.fromkeys((cst.ListComp, cst.SetComp, cst.GeneratorExp), Inference._comprehension),
    cst.NamedExpr: lambda infer, node: infer.value(node.value),
    cst.Lambda: lambda infer, node: Value("function", function=infer.walk.functions.get(node)),
}
