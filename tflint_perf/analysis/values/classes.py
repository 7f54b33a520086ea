"""The classes of a file: what they derive from, what kind of thing they make, and what their instances have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import libcst as cst

from tflint_perf.analysis.apis.facts import fact, has
from tflint_perf.analysis.python.flow import reaching
from tflint_perf.analysis.python.scopes import At, Binding, Block, Class, Function
from tflint_perf.analysis.values.bound_values import value_of_annotation, value_of_binding
from tflint_perf.analysis.values.outside import name_outside
from tflint_perf.analysis.values.values import UNKNOWN, Kind, Value, join
from tflint_perf.records import dataclass

if TYPE_CHECKING:
    from tflint_perf.analysis.values.infer import Inference

# Methods that make an object ready, once for each.
CONSTRUCTORS = frozenset({"__init__", "build", "__new__", "setup", "__post_init__", "from_config"})
# Behind every statement.
_END = 1 << 60
_KERAS_KINDS = frozenset({"model", "layer", "metric", "loss", "optimizer"})
# What is one object in place of another of its kind, whoever sets it.
_EXCHANGED = _KERAS_KINDS | {"instance"}


@dataclass(frozen=True, slots=True)
class _Ancestry:
    """What a class derives from: the classes of this file, nearest first and itself among them, Keras's own by their kind,
    those of other files by their paths."""

    lineage: list[Class]
    keras_kind: str = ""
    has_foreign_base: bool = False
    bases_outside: Sequence[str] = ()


class Classes:
    """Answers where a class stands among others, and what a name of an instance is."""

    def __init__(self, infer: Inference) -> None:
        self._infer = infer
        self._derived: dict[Class, list[Class]] | None = None

    def forget(self) -> None:
        """Drop what was worked out before other files could be asked."""
        self._derived = None

    # Lineage

    def lineage(self, klass: Class) -> list[Class]:
        """A class and its bases in this file, nearest first."""
        return self._ancestry(klass).lineage

    def keras_kind(self, klass: Class) -> str:
        """ "model", "layer", "metric", "loss", "optimizer", "callback" or "sequence" for classes derived from Keras ones."""
        return self._ancestry(klass).keras_kind

    def is_method_of_model(self, function: Function) -> bool:
        """Whether `function` is a method of a model, which whoever has one may call."""
        return function.owner is not None and self.keras_kind(function.owner) == "model"

    def has_foreign_base(self, klass: Class) -> bool:
        """Whether a base of the class `klass` is defined outside this file (`object` and Keras's own do not count)."""
        return self._ancestry(klass).has_foreign_base

    def makes_tuples(self, klass: Class) -> bool:
        """Whether objects of the class `klass` are tuples whose parts have names."""
        bases = (arg.value for owner in self.lineage(klass) for arg in owner.node.bases)
        return any(has(self._infer.names.qualified(base), "named-tuple") for base in bases)

    def _ancestry(self, klass: Class) -> _Ancestry:
        return self._infer.fixpoints.of(klass, _Ancestry([klass]), partial(self._found_ancestry, klass))

    def _found_ancestry(self, klass: Class) -> _Ancestry:
        line, kind, foreign, outside = [klass], "", False, []
        for arg in klass.node.bases:
            name = self._infer.names.qualified(arg.value)
            if has(name, "base"):
                kind = kind or fact(name, "base")
                continue
            base = self._infer.value(arg.value)
            if base.kind == "class" and base.klass is not None and base.klass is not klass:
                above = self._ancestry(base.klass)
                line = list(dict.fromkeys((*line, *above.lineage)))
                kind, foreign = kind or above.keras_kind, foreign or above.has_foreign_base
            elif base.outside:
                facts = self._infer.outside.class_facts(base.outside)
                kind, foreign = kind or facts.keras_kind, foreign or facts.has_foreign_base
                outside.append(base.outside)
            elif not has(name, "plain-base", "thread") and not (
                isinstance(arg.value, cst.Name) and arg.value.value == "object"
            ):
                foreign = True
        return _Ancestry(line, kind, foreign, outside)

    def kind_of_instance(self, klass: Class) -> Kind:
        """The kind of an object of a class of this file."""
        kind = self.keras_kind(klass)
        return kind if kind in _KERAS_KINDS else "instance"  # type: ignore[return-value]

    def instance_of(self, klass: Class) -> Value:
        """An object of a class of this file."""
        return Value(self.kind_of_instance(klass), klass=klass)

    def run_of_thread(self, klass: Class) -> Function | None:
        """The method that starting an object of the class runs, where that is a thread or process."""
        line = self.lineage(klass)
        bases = (self._infer.names.dotted(arg.value) or "" for above in line for arg in above.node.bases)
        if not any(has(base, "thread") for base in bases):
            return None
        return next((above.methods["run"] for above in line if "run" in above.methods), None)

    def derived(self, klass: Class) -> list[Class]:
        """The classes of this file that are derived from one, also through others."""
        if self._derived is None:
            self._derived = {}
            for other in self._infer.walk.classes.values():
                for above in self.lineage(other)[1:]:
                    self._derived.setdefault(above, []).append(other)
        return self._derived.get(klass, [])

    # Members

    def overrides(self, node: cst.Attribute) -> Iterator[Function]:
        """The methods of derived classes in this file that an object's own method may be instead: `self.train_step`."""
        klass = self._own_class(node)
        for below in self.derived(klass) if klass is not None else ():
            if node.attr.value in below.methods:
                yield below.methods[node.attr.value]

    def _own_class(self, node: cst.Attribute) -> Class | None:
        """The class of which an object asks itself for something: `self.x` in one of its methods."""
        function = self._infer.names.scope_of(node).function
        while function is not None and function.owner is None:
            function = function.outer
        if function is None or not isinstance(node.value, cst.Name):
            return None
        return function.owner if function.positional[:1] == [node.value.value] else None

    def member(self, base: Value, name: str, use: cst.Attribute | None = None) -> Value | None:
        """A method or attribute that a class in this file, or a base of it in this file, gives to its instances.

        An attribute read at `use` has a value that reaches this place, when its own method assigns to it.
        """
        assert base.klass is not None
        for klass in self.lineage(base.klass):
            method = klass.methods.get(name)
            if method is not None:
                wrapped = self._wrapped(klass, name)
                if wrapped is not None:
                    return wrapped
                if method.has_decorator("property", "cached_property"):
                    return self._infer.returned(method)
                return replace(self._infer.function_value(method), receiver=base)
            bindings = klass.attributes.get(name)
            if bindings:
                seen = self._own_reaching(bindings, use) if use is not None and len(bindings) > 1 else []
                value = join([value_of_binding(self._infer, binding, klass.scope) for binding in seen])
                if seen and value.kind not in ("none", "never"):
                    return value
                left = self._left_behind(bindings) if len(bindings) > 1 else []
                value = self._written(left, klass)
                if value.known and value.kind != "none":
                    return value
                # What is loaded takes the place of what was made like it.
                made = [binding for binding in bindings if not self._is_loaded(binding)]
                value = self._written(made or bindings, klass)
                return value if value.kind != "unknown" else self._declared(klass, name) or value
            in_body = klass.scope.bindings.get(name, ())
            value = join([value_of_binding(self._infer, binding, klass.scope) for binding in in_body])
            declared = self._declared(klass, name) if value.kind in ("unknown", "none") else None
            if in_body or declared is not None:
                return declared or value
        for path in self.bases_outside(base.klass):
            inherited = self._infer.outside.member(path + "()", name)
            if inherited.known or inherited.outside:
                return inherited
        return self._of_derived(use, name) if use is not None else None

    def _of_derived(self, use: cst.Attribute, name: str) -> Value | None:
        """The object, a model say, that the classes below give an attribute which a method asks its own object for, and which
        its class does not have. Of values nothing is said: other files may derive classes that set another one."""
        klass = self._own_class(use)
        below = self.derived(klass) if klass is not None else []
        given = [(bindings, each) for each in below if (bindings := each.attributes.get(name))]
        value = join([self._written(*each) for each in given]) if given else UNKNOWN
        are_objects = value.kind in ("instance", *_KERAS_KINDS) or bool(value.paths)
        return value if are_objects else None

    def _written(self, bindings: list[Binding], klass: Class) -> Value:
        """What is written to an attribute. A setter that nobody in sight calls, with a parameter of which nothing is known,
        says nothing against the kind of object that all others set."""
        values = [(binding, value_of_binding(self._infer, binding, klass.scope)) for binding in bindings]
        told = [value for binding, value in values if value.kind != "unknown" or not self._is_setter(binding)]
        if 0 < len(told) < len(values) and (value := join(told)).kind in _EXCHANGED:
            return value
        return join([value for _, value in values])

    def _is_setter(self, binding: Binding) -> bool:
        """Whether a method, no constructor, that nobody in sight calls gives an attribute what it is given itself."""
        function = binding.at.block.function
        if function is None or function.owner is None or function.name == "__init__":
            return False
        given = binding.value.value if isinstance(binding.value, cst.Name) else ""
        found = function.scope.bindings.get(given, [])
        if self._infer.arguments_of is None or not found or any(each.kind != "param" for each in found):
            return False
        return not self._infer.arguments_of(function, given) and not self._infer.outside.callers(
            name_outside(function)
        )

    def _declared(self, klass: Class, name: str) -> Value | None:
        """What the body of a class says of a field by an annotation, as a dataclass does: `net: keras.Model`."""
        for line in klass.node.body.body:
            for field in line.body if isinstance(line, cst.SimpleStatementLine) else ():
                match field:
                    case cst.AnnAssign(target=cst.Name(value=target)) if target == name:
                        told = value_of_annotation(self._infer, field.annotation.annotation)
                        return told if told.known else None
        return None

    def _is_loaded(self, binding: Binding) -> bool:
        called = binding.value.func if isinstance(binding.value, cst.Call) else None
        return called is not None and has(self._infer.names.qualified(called), "loads-objects")

    def of_super(self, node: cst.Attribute) -> Value:
        """The method of a base that `super().m` is."""
        function = self._infer.names.scope_of(node).function
        while function is not None and function.owner is None:
            function = function.outer
        klass = function.owner if function is not None else None
        if klass is None:
            return UNKNOWN
        name = node.attr.value
        for above in self.lineage(klass)[1:]:
            if name in above.methods:
                method = self._infer.function_value(above.methods[name])
                return replace(method, receiver=self.instance_of(klass))
        members = (self._infer.outside.member(f"{path}()", name) for path in self.bases_outside(klass))
        return next((value for value in members if value.outside), UNKNOWN)

    def _own_reaching(self, bindings: list[Binding], use: cst.Attribute) -> list[Binding]:
        """The assignments of the same method that surely give `self.x` its value at `use`; none where others may."""
        at = self._infer.place(use)
        function = at.block.function
        if function is None or function.owner is None or not isinstance(use.value, cst.Name):
            return []
        own = [binding for binding in bindings if binding.at.block.function is function]
        if function.positional[:1] != [use.value.value] or not own:
            return []
        entry = Binding(use.attr.value, "param", function.node, None, At(-1, _body_of(at.block)))
        found = reaching([entry, *own], at)
        if entry in found or (len(own) < len(bindings) and self._may_reassign(function, found, at)):
            return []
        return found

    @staticmethod
    def _left_behind(bindings: list[Binding]) -> list[Binding]:
        """What the methods that assign to an attribute leave in it when they end."""
        by_function: dict[Function | None, list[Binding]] = {}
        for binding in bindings:
            by_function.setdefault(binding.at.block.function, []).append(binding)
        return [
            binding
            for function, own in by_function.items()
            if function is not None
            for binding in reaching(own, At(_END, _body_of(own[0].at.block)))
        ]

    def _may_reassign(self, function: Function, found: list[Binding], at: At) -> bool:
        """Whether another method, which may assign as well, is called between an assignment and the use."""
        first = min((binding.at.order for binding in found), default=0)
        return any(
            isinstance(call.func, cst.Attribute)
            and isinstance(call.func.value, cst.Name)
            and call.func.value.value == function.positional[0]
            and (at.block.loop is not None or first <= self._infer.place(call).order <= at.order)
            for call in function.calls
        )

    def bases_outside(self, klass: Class) -> list[str]:
        """The bases of a class, and of its bases in this file, that other linted files define."""
        return [path for above in self.lineage(klass) for path in self._ancestry(above).bases_outside]

    def bindings_of(self, node: cst.Attribute) -> list[Binding]:
        """Where the nearest class of this file that writes to an attribute, as in `self.x = …`, does so."""
        writing = self.writing_class(node)
        return writing.attributes[node.attr.value] if writing is not None else []

    def is_set_once(self, node: cst.Attribute) -> bool:
        """Whether constructors alone give an attribute its value, in the nearest class of this file that writes to it."""
        makers = [binding.at.block.function for binding in self.bindings_of(node)]
        return bool(makers) and all(maker is not None and maker.name == "__init__" for maker in makers)

    def writing_class(self, node: cst.Attribute) -> Class | None:
        """The nearest class of this file that writes to an attribute, as in `self.x = …`."""
        klass = self._infer.value(node.value).klass
        line = self.lineage(klass) if klass is not None else ()
        return next((above for above in line if node.attr.value in above.attributes), None)

    def _wrapped(self, klass: Class, name: str) -> Value | None:
        """What `self.m = tf.function(self.m)` or `agent.m = tf.function(agent.m)` makes of a method."""
        given = [binding.value for binding in klass.attributes.get(name, ()) if binding.value is not None]
        for expression in (*given, *self._infer.walk.attribute_writes.get(name, ())):
            if isinstance(expression, cst.Call) and expression.args and self._infer.compiles(expression.func):
                wrapped = expression.args[0].value
                if isinstance(wrapped, cst.Attribute) and wrapped.attr.value == name:
                    return Value("compiled", function=klass.methods[name])
        return None


def _body_of(block: Block) -> Block:
    """The outermost block of the function that a block belongs to."""
    while block.parent is not None and block.parent.function is block.function:
        block = block.parent
    return block


def is_left_to_others(function: Function) -> bool:
    """Whether a method does nothing: classes derived from its own define it anew."""
    if function.owner is None or not isinstance(function.node, cst.FunctionDef):
        return False
    body = function.node.body
    lines = [body] if isinstance(body, cst.SimpleStatementSuite) else body.body
    return all(
        isinstance(line, cst.SimpleStatementLine | cst.SimpleStatementSuite)
        and all(map(_does_nothing, line.body))
        for line in lines
    )


def _does_nothing(small: cst.CSTNode) -> bool:
    if isinstance(small, cst.Expr):
        return isinstance(small.value, cst.BaseString | cst.Ellipsis)
    return isinstance(small, cst.Pass | cst.Raise)
