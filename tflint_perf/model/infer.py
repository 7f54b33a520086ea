"""Values of expressions, worked out on demand and in the order of the code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import libcst as cst

from tflint_perf.model import methods
from tflint_perf.model.flow import reaching
from tflint_perf.model.keras_classes import KERAS_BASES
from tflint_perf.model.names import Names
from tflint_perf.model.scopes import At, Binding, Class, Function, Scope
from tflint_perf.model.syntax import string
from tflint_perf.model.values import NEVER, NONE, NUMBER, STRING, TENSOR, UNKNOWN, Kind, Value, join
from tflint_perf.model.walk import Walk

# Deeper chains of definitions than this are not followed.
_DEEPEST = 150


class Inference:
    """Answers `value(node)`. `arguments_of` is asked for what callers in the file pass as a parameter."""

    def __init__(self, walk: Walk, names: Names) -> None:
        self.walk = walk
        self.names = names
        self.arguments_of: Callable[[Function, str], list[cst.BaseExpression]] | None = None
        self._values: dict[cst.CSTNode, Value] = {}
        self._returned: dict[Function, Value] = {}
        self._bases: dict[Class, tuple[list[Class], str, bool]] = {}
        self._depth = 0

    def forget(self) -> None:
        """Drop what was worked out before all callers were known."""
        self._values.clear()
        self._returned.clear()

    def value(self, node: cst.CSTNode) -> Value:
        """What is known of the value of an expression; `UNKNOWN` where nothing is."""
        known = self._values.get(node)
        if known is not None:
            return known
        if self._depth > _DEEPEST:
            return UNKNOWN
        self._values[node] = NEVER  # a value that depends on itself adds nothing to itself
        self._depth += 1
        try:
            result = self._evaluate(node)
        finally:
            self._depth -= 1
        self._values[node] = result
        return result

    def _evaluate(self, node: cst.CSTNode) -> Value:
        match node:
            case cst.Name():
                return self._name(node)
            case cst.Attribute():
                return self._attribute(node)
            case cst.Call():
                return methods.value_of_call(self, node)
            case cst.Integer() | cst.Float():
                return NUMBER
            case cst.SimpleString() | cst.FormattedString() | cst.ConcatenatedString():
                return STRING
            case cst.BinaryOperation():
                return self._arithmetic(self.value(node.left), self.value(node.right))
            case cst.UnaryOperation():
                return NUMBER if isinstance(node.operator, cst.Not) else self.value(node.expression)
            case cst.Comparison():
                parts = [self.value(node.left), *(self.value(part.comparator) for part in node.comparisons)]
                return TENSOR if any(part.kind == "tensor" for part in parts) else NUMBER
            case cst.BooleanOperation():
                return join([self.value(node.left), self.value(node.right)])
            case cst.IfExp():
                return join([self.value(node.body), self.value(node.orelse)])
            case cst.Tuple():
                return self._sequence("tuple", node)
            case cst.List():
                return self._sequence("list", node)
            case cst.Dict():
                return Value("dict", element=self._dict_element(node))
            case cst.ListComp() | cst.GeneratorExp() | cst.SetComp():
                return Value("list", element=self.value(node.elt))
            case cst.Subscript():
                return self._subscript(node)
            case cst.NamedExpr():
                return self.value(node.value)
            case cst.Lambda():
                return Value("function", function=self.walk.functions.get(node))
            case cst.StarredElement():
                return UNKNOWN
        return UNKNOWN

    def _sequence(self, kind: str, node: cst.Tuple | cst.List) -> Value:
        if any(isinstance(element, cst.StarredElement) for element in node.elements):
            return Value("tuple" if kind == "tuple" else "list")
        items = tuple(self.value(element.value) for element in node.elements)
        if kind == "tuple":
            return Value("tuple", items=items, element=join(items) if items else None)
        return Value("list", items=items if len(items) <= 8 else None, element=join(items) if items else None)

    def _dict_element(self, node: cst.Dict) -> Value | None:
        values = [
            self.value(element.value) for element in node.elements if isinstance(element, cst.DictElement)
        ]
        return join(values) if values and len(values) == len(node.elements) else None

    @staticmethod
    def _arithmetic(left: Value, right: Value) -> Value:
        kinds = {left.kind, right.kind}
        if kinds & {"tensor", "variable"}:
            other = right if left.kind in ("tensor", "variable") else left
            dtype = left.dtype if left.kind in ("tensor", "variable") else right.dtype
            # A dataset's element stays a host value only until it is computed with.
            return Value("tensor", dtype=dtype if other.kind in ("tensor", "number", "variable") else "")
        if "array" in kinds and "unknown" not in kinds:
            return Value("array")
        if kinds == {"number"}:
            return NUMBER
        if "string" in kinds:
            return STRING
        return UNKNOWN

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
        """The bindings whose value the name may have where it stands, and the scope they are in."""
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
        return home, bindings

    def _name(self, node: cst.Name) -> Value:
        if node.value == "None":
            return NONE
        if node.value in ("True", "False"):
            return NUMBER
        found = self.bindings_reaching(node)
        if found is None:
            return UNKNOWN
        scope, bindings = found
        return join([self.of_binding(binding, scope) for binding in bindings]) if bindings else UNKNOWN

    def of_binding(self, binding: Binding, scope: Scope) -> Value:
        """The value that a binding gives to its name."""
        match binding.kind:
            case "def":
                function = self.walk.functions.get(binding.node)
                return self.function_value(function) if function is not None else UNKNOWN
            case "class":
                return Value("class", klass=self.walk.classes.get(binding.node))
            case "param":
                return self._parameter(binding, scope)
            case "assign" if binding.value is not None:
                return self._part(self.value(binding.value), binding.path)
            case "augment" if binding.value is not None:
                return self._augmented(binding)
            case "for" | "comprehension" if binding.value is not None:
                return self._part(methods.element_of(self, binding.value), binding.path)
            case "with" if binding.value is not None:
                return self._part(self.value(binding.value), binding.path)
            case "delete":
                return NEVER
        return UNKNOWN

    def _augmented(self, binding: Binding) -> Value:
        assert binding.value is not None
        added = self.value(binding.value)
        if added.kind in ("tensor", "variable", "array", "string"):
            return replace(added, host=False)
        before = UNKNOWN
        if isinstance(binding.node, cst.Name):
            scope = self.names.lookup(binding.name, self.names.scope_of(binding.node))
            if scope is not None:
                earlier = [
                    b for b in reaching(scope[1], binding.at) if b is not binding and b.kind != "augment"
                ]
                before = join([self.of_binding(b, scope[0]) for b in earlier]) if earlier else UNKNOWN
        return before if before.kind in ("list", "tensor", "array") else self._arithmetic(before, added)

    def _parameter(self, binding: Binding, scope: Scope) -> Value:
        function = scope.function
        if function is None or binding.path is None:
            return UNKNOWN
        if function.owner is not None and function.positional[:1] == [binding.name]:
            decorators = {
                self.names.dotted(d.decorator) or getattr(d.decorator, "value", "")
                for d in function.decorators
            }
            if "staticmethod" not in decorators:
                return Value("class" if "classmethod" in decorators else self._kind_of_class(function.owner),
                             klass=function.owner)  # fmt: skip
        annotation = binding.node.annotation if isinstance(binding.node, cst.Param) else None
        if annotation is not None:
            told = methods.value_of_annotation(self, annotation.annotation)
            if told.known:
                return told
        if self.arguments_of is None:
            return UNKNOWN
        given = self.arguments_of(function, binding.name)
        return join([self.value(argument) for argument in given]) if given else UNKNOWN

    @staticmethod
    def _part(value: Value, path: tuple[int, ...] | None) -> Value:
        if path is None:
            return UNKNOWN
        for index in path:
            if value.items is not None and index < len(value.items):
                value = value.items[index]
            elif value.kind in ("tensor", "array"):
                value = replace(value, items=None)
            elif value.element is not None and value.kind in ("list", "tuple", "generator"):
                value = value.element
            else:
                return UNKNOWN
        return value

    def _attribute(self, node: cst.Attribute) -> Value:
        if self.names.dotted(node):
            return UNKNOWN
        base = self.value(node.value)
        name = node.attr.value
        if base.klass is not None:
            found = self._member(base, name)
            if found is not None:
                return found
        return methods.value_of_attribute(base, name)

    def _member(self, base: Value, name: str) -> Value | None:
        """A method or attribute that a class in this file, or a base of it in this file, gives to its instances."""
        assert base.klass is not None
        for klass in self.lineage(base.klass):
            method = klass.methods.get(name)
            if method is not None:
                wrapped = self._wrapped(klass, name)
                if wrapped is not None:
                    return wrapped
                if any(
                    getattr(d.decorator, "value", "") in ("property", "cached_property")
                    for d in method.decorators
                ):
                    return self.returned(method)
                return replace(self.function_value(method), receiver=base)
            bindings = klass.attributes.get(name)
            if bindings:
                return join([self.of_binding(binding, klass.scope) for binding in bindings])
            in_body = klass.scope.bindings.get(name)
            if in_body:
                return join([self.of_binding(binding, klass.scope) for binding in in_body])
        return None

    def _wrapped(self, klass: Class, name: str) -> Value | None:
        """What `self.m = tf.function(self.m)` or `agent.m = tf.function(agent.m)` makes of a method."""
        given = [binding.value for binding in klass.attributes.get(name, ()) if binding.value is not None]
        for expression in (*given, *self.walk.attribute_writes.get(name, ())):
            if isinstance(expression, cst.Call) and expression.args and self.compiles(expression.func):
                wrapped = expression.args[0].value
                if isinstance(wrapped, cst.Attribute) and wrapped.attr.value == name:
                    return Value("compiled", function=klass.methods[name])
        return None

    def _subscript(self, node: cst.Subscript) -> Value:
        base = self.value(node.value)
        index = node.slice[0].slice if len(node.slice) == 1 else None
        if base.kind in ("tuple", "list") and base.items is not None and isinstance(index, cst.Index):
            if isinstance(index.value, cst.Integer) and int(index.value.value) < len(base.items):
                return base.items[int(index.value.value)]
            return join(base.items) if base.items else UNKNOWN
        if base.kind in ("list", "tuple", "dict"):
            if isinstance(index, cst.Slice):
                return replace(base, items=None)
            return base.element if base.element is not None else UNKNOWN
        if base.kind in ("tensor", "array"):
            if base.items is not None or (isinstance(index, cst.Index) and string(index.value) is not None):
                return Value(base.kind, host=base.host)
            return replace(base, items=None)
        return Value("tensor") if base.kind == "variable" else UNKNOWN

    # Functions and classes

    def function_value(self, function: Function) -> Value:
        """A function as a value: of kind "compiled" when a decorator makes a `tf.function` of it."""
        compiled = any(self.compiles(d.decorator) for d in function.decorators)
        return Value("compiled" if compiled else "function", function=function)

    def compiles(self, decorator: cst.BaseExpression) -> bool:
        """Whether an expression, used as a decorator or called with a function, gives a `tf.function`."""
        name = self.names.qualified(decorator)
        if name == "tf.function":
            return True
        if isinstance(decorator, cst.Call):
            called = self.names.qualified(decorator.func)
            if called == "tf.function":
                return True
            if called == "functools.partial":
                return bool(decorator.args) and self.compiles(decorator.args[0].value)
            inner = self.value(decorator.func)
            # A local factory of decorators: `def compiled(**options): return tf.function(**options)`.
            return inner.function is not None and self.returned(inner.function).kind == "compiled"
        if name:
            return False
        wrapper = self.value(decorator)
        if wrapper.kind == "compiled" and wrapper.function is None:
            return True
        return wrapper.function is not None and self.returned(wrapper.function).kind == "compiled"

    def returned(self, function: Function) -> Value:
        """What calling a function of this file gives."""
        known = self._returned.get(function)
        if known is not None:
            return known
        self._returned[function] = NEVER
        if isinstance(function.node, cst.Lambda):
            result = self.value(function.node.body)
        elif function.yields:
            given = [self.value(y.value) for y in function.yields if isinstance(y.value, cst.BaseExpression)]
            result = Value("generator", element=join(given) if given else None, function=function)
        else:
            result = join(
                [self.value(r.value) if r.value is not None else NONE for r in function.returns] or [NONE]
            )
        self._returned[function] = result
        return result

    def lineage(self, klass: Class) -> list[Class]:
        """A class and its bases in this file, nearest first."""
        return self._ancestry(klass)[0]

    def keras_kind(self, klass: Class) -> str:
        """ "model", "layer", "metric", "loss", "optimizer", "callback" or "sequence" for classes derived from Keras ones."""
        return self._ancestry(klass)[1]

    def has_foreign_base(self, klass: Class) -> bool:
        """Whether a base of the class is defined outside this file (`object` and Keras's own do not count)."""
        return self._ancestry(klass)[2]

    def _ancestry(self, klass: Class) -> tuple[list[Class], str, bool]:
        known = self._bases.get(klass)
        if known is not None:
            return known
        self._bases[klass] = ([klass], "", False)
        line, kind, foreign = [klass], "", False
        for arg in klass.node.bases:
            name = self.names.qualified(arg.value)
            if name in KERAS_BASES:
                kind = kind or KERAS_BASES[name]
                continue
            if name.startswith(("keras.layers.", "keras.metrics.", "keras.losses.", "keras.callbacks.")):
                kind = kind or name.split(".")[1].removesuffix("s").replace("losse", "loss")
                continue
            base = self.value(arg.value)
            if base.kind == "class" and base.klass is not None and base.klass is not klass:
                above, kind_above, foreign_above = self._ancestry(base.klass)
                line += [c for c in above if c not in line]
                kind, foreign = kind or kind_above, foreign or foreign_above
            elif name not in _PLAIN_BASES and not (
                isinstance(arg.value, cst.Name) and arg.value.value == "object"
            ):
                foreign = True
        self._bases[klass] = line, kind, foreign
        return self._bases[klass]

    def _kind_of_class(self, klass: Class) -> Kind:
        kind = self.keras_kind(klass)
        return kind if kind in _KERAS_KINDS else "instance"  # type: ignore[return-value]

    def instance_of(self, klass: Class) -> Value:
        """An object of a class of this file."""
        return Value(self._kind_of_class(klass), klass=klass)


_KERAS_KINDS = frozenset({"model", "layer", "metric", "loss", "optimizer"})
_PLAIN_BASES = frozenset({"abc.ABC", "typing.Generic", "typing.NamedTuple", "enum.Enum", "typing.Protocol"})
