"""Kinds of values, how two that may stand in one place are joined, and what iterating and computing make of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

import libcst as cst

from tflint_perf.analysis.limits import ALTERNATIVES
from tflint_perf.analysis.python.scopes import Class, Function
from tflint_perf.records import dataclass

Kind = Literal[
    "unknown", "never", "none", "number", "string", "list", "tuple", "dict", "array", "tensor", "variable",
    "dataset", "iterator", "generator", "model", "layer", "optimizer", "metric", "loss", "tape", "session",
    "compiled", "function", "class", "instance", "strategy", "object",
]  # fmt: skip

# More alternatives than this in one place are too many to say anything about.
_MOST_PIPELINES = 24


@dataclass(frozen=True, slots=True)
class Origin:
    """What another file says of a dataset that comes from there by `path`: how far ahead its elements are made, what
    they are, and how they were made large, in the words of `prefetching`, `batching` and `growth`; whether they are batches that
    `differ` in shape; and which function of TensorFlow leaves their shapes open."""

    path: str
    ready: str = "unknown"
    elements: str = "unknown"
    large: str = ""
    differ: bool = False
    shapes_left_by: str = ""


# Stages that make batches as long as their longest element.
_OF_ANY_LENGTH = ("padded_batch", "ragged_batch", "dense_to_ragged_batch")
# What gives the elements of a pipeline.
STREAMS = ("dataset", "iterator")
# Of a parameter, nothing is known but what is done to it.
NOWHERE = Origin("")


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of an input pipeline: the source or a `Dataset` method, with the call that adds it.

    `inputs` holds the datasets that `zip`, `concatenate` and their kin take. With an `origin`, it stands for all
    that another file does, and its call is in no tree.
    """

    name: str
    call: cst.Call
    inputs: tuple[Value, ...] = ()
    origin: Origin | None = None


Pipeline = tuple[Stage, ...]


@dataclass(frozen=True, slots=True)
class Value:
    """What is known of a value.

    `name` is the qualified name of the class or function that made it, `dtype` a tensor's or array's type as
    TensorFlow names it. `items` are a tuple's or list's parts, or a dict's values in the order of `keys`;
    `element` is what iterating gives, or what a dict holds. `host` marks
    a value in host memory: an element of a dataset, until an op on the device makes something of it.
    `pipelines` are the ways in which a dataset may have been built; each begins with its source. `outside` is
    the path of a function or class of another linted file: that is what a value is, or what it is an instance of.
    `either` are the different objects, functions or classes that it is one of, where that is known of all of them.
    """

    kind: Kind
    name: str = ""
    dtype: str = ""
    items: tuple[Value, ...] | None = None
    element: Value | None = None
    host: bool = False
    pipelines: tuple[Pipeline, ...] = ()
    function: Function | None = None
    klass: Class | None = None
    keys: tuple[str, ...] = ()
    # The instance that a bound method belongs to.
    receiver: Value | None = None
    outside: str = ""
    either: tuple[Value, ...] = ()

    @property
    def alternatives(self) -> tuple[Value, ...]:
        """The objects, functions or classes that a value may be; itself alone where it is not one of several."""
        return self.either or (self,)

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of what it may be of other files."""
        return tuple(each.outside for each in self.alternatives if each.outside)

    @property
    def known(self) -> bool:
        """Whether anything is known of the value."""
        return self.kind not in ("unknown", "never")

    def some_pipeline_has(self, *stages: str) -> bool:
        """Whether one of `stages` may occur in the building of this dataset."""
        return any(has_stage(p, s) for p in self.pipelines for s in stages)

    def gives_batches_that_differ(self) -> bool:
        """Whether the batches of this dataset may differ in shape: padded or ragged ones."""
        stages = (stage for pipeline in self.pipelines for stage in pipeline)
        return self.some_pipeline_has(*_OF_ANY_LENGTH) or any(
            (stage.origin is not None and stage.origin.differ)
            or any(given.gives_batches_that_differ() for given in stage.inputs)
            for stage in stages
        )


def has_stage(pipeline: Pipeline, name: str) -> bool:
    """Whether a pipeline, or one that flows into it, has the stage."""
    return any(
        stage.name == name or any(given.some_pipeline_has(name) for given in stage.inputs)
        for stage in pipeline
    )


# The name of a generator of the rows of tensors, several at a time or counted: `zip(outputs, labels)`.
ROWS = "rows"
UNKNOWN = Value("unknown")
NEVER = Value("never")
NONE = Value("none")
NUMBER = Value("number")
# `tf.function` itself, whatever it is called.
COMPILER = Value("compiled", name="compiler")
STRING = Value("string")
TENSOR = Value("tensor")
ARRAY = Value("array")
_HOST_ELEMENT = Value("tensor", host=True)
_NO_CALL = cst.Call(cst.Name("elsewhere"))


def stream_from(origin: Origin, kind: Kind = "dataset") -> Value:
    """A dataset, or the iterator of one, that another file or a caller out of sight makes."""
    return Value(kind, pipelines=((Stage("elsewhere", _NO_CALL, origin=origin),),))


def is_stream(value: Value) -> bool:
    """Whether a value is a dataset, or an iterator that gives a dataset's elements unchanged."""
    return value.kind == "dataset" or (
        value.kind == "iterator" and bool(value.pipelines) and value.element is None
    )


def is_compiler(value: Value) -> bool:
    """Whether a value makes a `tf.function` of what it is called with, and is no such function itself."""
    return value.kind == "compiled" and value.function is None and not value.outside


def join(values: Iterable[Value]) -> Value:
    """What is known of a value that is one of `values`: what they have in common.

    `None` and values that are still being worked out say nothing against the others.
    """
    result: Value | None = None
    saw_none = saw_never = False
    for value in values:
        if value.kind == "never":
            saw_never = True
            continue
        if value.kind == "none":
            saw_none = True
            continue
        result = value if result is None else _join_two(result, value)
        if result.kind == "unknown" and not result.outside and not result.either:
            return UNKNOWN
    if result is not None:
        return result
    return NONE if saw_none else NEVER if saw_never else UNKNOWN


def _join_two(one: Value, other: Value) -> Value:
    if one is other or one == other or other is NEVER:
        return one
    if one is NEVER:
        return other
    either = _one_of(one, other)
    if one.kind != other.kind or one.kind in ("instance", "class", "unknown"):
        return _several("unknown", either)
    match one.kind:
        case "dataset" | "iterator":
            pipelines = tuple(dict.fromkeys((*one.pipelines, *other.pipelines)))
            if not one.pipelines or not other.pipelines or len(pipelines) > _MOST_PIPELINES:
                pipelines = ()
            return replace(one, pipelines=pipelines, element=_join_optional(one.element, other.element))
        case "tuple" if one.items is not None and other.items is not None:
            # Whoever takes the third part has got the longer one.
            shorter, longer = sorted((one.items, other.items), key=len)
            joined = tuple(_join_two(a, b) for a, b in zip(shorter, longer, strict=False))
            return Value("tuple", items=(*joined, *longer[len(shorter) :]))
        case "function" | "compiled":
            return _several(one.kind, either)
    return Value(
        one.kind,
        name=one.name if one.name == other.name else "",
        dtype=one.dtype if one.dtype == other.dtype else "",
        element=_join_optional(one.element, other.element),
        host=one.host and other.host,
        klass=one.klass if one.klass is other.klass else None,
        outside=one.outside if one.outside == other.outside else "",
        either=either if len(either) > 1 else (),
    )


def _several(kind: Kind, either: tuple[Value, ...]) -> Value:
    """One of several objects, of which nothing else is known but their kind."""
    if len(either) == 1:
        return either[0]
    return Value(kind, either=either) if either or kind != "unknown" else UNKNOWN


def _one_of(one: Value, other: Value) -> tuple[Value, ...]:
    """The objects, functions or classes that something is one of if it is `one` or `other`; () where it may be any."""
    every = (*one.alternatives, *other.alternatives)
    if not all(
        each.function is not None or each.klass is not None or each.outside or is_compiler(each)
        for each in every
    ):
        return ()
    different = {
        (each.kind, each.function, each.klass, each.name, each.outside): each for each in reversed(every)
    }
    return tuple(reversed(different.values())) if len(different) <= ALTERNATIVES else ()


def _join_optional(one: Value | None, other: Value | None) -> Value | None:
    return None if one is None or other is None else _join_two(one, other)


def element(value: Value) -> Value:
    """What iterating over a value gives."""
    if value is NEVER:
        return NEVER
    if value.kind == "dict":
        return STRING if value.keys else UNKNOWN
    if value.element is not None:
        return value.element
    match value.kind:
        case "dataset" | "iterator":
            return _HOST_ELEMENT
        case "tensor" | "array":
            return replace(value, items=None, name="")
        case "list" | "tuple" if value.items:
            return join(value.items)
    return UNKNOWN


def arithmetic(left: Value, right: Value) -> Value:
    """What computing with two values gives."""
    if left is NEVER or right is NEVER:
        return NEVER
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
