"""What a binding gives to its name."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import libcst as cst

from tflint_perf.analysis.apis.facts import fact
from tflint_perf.analysis.python.flow import reaching
from tflint_perf.analysis.python.scopes import Binding, Scope
from tflint_perf.analysis.values.named_calls import builtin_or_qualified
from tflint_perf.analysis.values.outside import name_given
from tflint_perf.analysis.values.values import (
    NEVER,
    NOWHERE,
    UNKNOWN,
    Kind,
    Value,
    arithmetic,
    element,
    join,
    stream_from,
)

if TYPE_CHECKING:
    from tflint_perf.analysis.values.infer import Inference


def value_of_binding(infer: Inference, binding: Binding, scope: Scope) -> Value:
    """The value that a binding gives to its name."""
    match binding.kind:
        case "def":
            function = infer.walk.functions.get(binding.node)
            return infer.function_value(function) if function is not None else UNKNOWN
        case "class":
            return Value("class", klass=infer.walk.classes.get(binding.node))
        case "param":
            return _parameter(infer, binding, scope)
        case "assign" if binding.value is not None:
            value = infer.contents.filled(_part(infer.value(binding.value), binding.path), binding, scope)
            if value.kind == "unknown":
                told = infer.gradients.told(binding) or _annotated(infer, binding)
                return told if told.known else value
            return value
        case "augment" if binding.value is not None:
            return infer.fixpoints.of(binding, NEVER, partial(_augmented, infer, binding))
        case "for" | "comprehension" if binding.value is not None:
            return _part(element(infer.value(binding.value)), binding.path)
        case "with" if binding.value is not None:
            return _part(infer.value(binding.value), binding.path)
        case "import":
            return infer.outside.value(binding.imported)
        case "delete":
            return NEVER
    return UNKNOWN


def _annotated(infer: Inference, binding: Binding) -> Value:
    """What the annotation says with which a value is assigned: `self.model: keras.Model = model`."""
    statement = infer.walk.parents.get(binding.node)
    is_annotated = isinstance(statement, cst.AnnAssign) and statement.target is binding.node
    return value_of_annotation(infer, statement.annotation.annotation) if is_annotated else UNKNOWN  # type: ignore[union-attr]


def _augmented(infer: Inference, binding: Binding) -> Value:
    assert binding.value is not None
    added = infer.value(binding.value)
    if added.kind in ("tensor", "variable", "array", "string"):
        return replace(added, host=False)
    before = UNKNOWN
    if isinstance(binding.node, cst.Name):
        scope = infer.names.lookup(binding.name, infer.names.scope_of(binding.node))
        if scope is not None:
            earlier = reaching(infer.made_anew(scope[0], binding.name), binding.at)
            before = join([value_of_binding(infer, b, scope[0]) for b in earlier]) if earlier else UNKNOWN
    elif isinstance(binding.node, cst.Attribute) and added.kind == "number":
        before = _assigned_to(infer, binding.node)
    return before if before.kind in ("list", "tensor", "array") else arithmetic(before, added)


def _assigned_to(infer: Inference, node: cst.Attribute) -> Value:
    """What the class of an object gives one of its attributes anew."""
    klass = infer.classes.writing_class(node)
    given = klass.attributes[node.attr.value] if klass is not None else ()
    made = [
        value_of_binding(infer, b, klass.scope) for b in given if klass is not None and b.kind == "assign"
    ]
    return join(made) if made else UNKNOWN


def _parameter(infer: Inference, binding: Binding, scope: Scope) -> Value:
    function = scope.function
    if function is None or binding.path is None:
        return UNKNOWN
    if function.owner is not None and function.is_bound and function.positional[:1] == [binding.name]:
        takes_class = function.has_decorator("classmethod")
        kind: Kind = "class" if takes_class else infer.classes.kind_of_instance(function.owner)
        return Value(kind, klass=function.owner)
    annotation = binding.node.annotation if isinstance(binding.node, cst.Param) else None
    told = value_of_annotation(infer, annotation.annotation) if annotation is not None else UNKNOWN
    # What callers give says more of a dataset, and of an object, which may be of a class derived from the one that is told.
    says_all = told.known and told.kind != "dataset" and told.klass is None
    if says_all or infer.arguments_of is None:
        return told
    given = infer.arguments_of(function, binding.name)
    value = join([infer.value(argument) for argument in given]) if given else UNKNOWN
    if not given and not told.known:
        value = infer.outside.given(name_given(function), binding.name, function.place_of(binding.name))
    if value is UNKNOWN and not told.known and infer.by_use is not None:
        return infer.by_use.parameter(binding)
    if told.klass is not None and value.klass is None:
        return told
    return value if value.kind == told.kind or not told.known else told


def _part(value: Value, path: tuple[int, ...] | None) -> Value:
    if path is None:
        return UNKNOWN
    if value is NEVER:
        return NEVER
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


def value_of_annotation(infer: Inference, annotation: cst.BaseExpression) -> Value:
    """What an annotation tells: `tf.Tensor`, `Optional[keras.Model]`, `np.ndarray | None`, `int`."""
    match annotation:
        case cst.BinaryOperation(left=first, operator=cst.BitOr(), right=cst.Name("None")):
            return value_of_annotation(infer, first)
        case cst.Subscript(value=whole, slice=[cst.SubscriptElement(cst.Index(first))]):
            is_optional = infer.names.dotted(whole) == "typing.Optional"
            return value_of_annotation(infer, first) if is_optional else UNKNOWN
    name = builtin_or_qualified(infer, annotation)
    kind = fact(name, "instance")
    if kind:
        return Value(kind) if kind != "dataset" else stream_from(NOWHERE)  # type: ignore[arg-type]
    told = infer.value(annotation) if isinstance(annotation, cst.Name | cst.Attribute) else UNKNOWN
    if told.kind != "class":
        return UNKNOWN
    if told.klass is None:
        return infer.outside.called(told.outside) if told.outside else UNKNOWN
    return infer.classes.instance_of(told.klass)
