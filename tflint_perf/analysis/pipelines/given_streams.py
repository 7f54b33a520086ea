"""Datasets that other files give as parameters, or that objects make which they give."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.apis.facts import methods
from tflint_perf.analysis.execution.given_models import behind
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import callee_name
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference

# Methods that are seldom those of anything but a dataset.
_STAGES = ("batch", "padded_batch", "prefetch", "shuffle", "cache")


def takers_of_streams(infer: Inference, calls: CallGraph) -> Iterator[Function]:
    """The functions by whose parameters a file gets what it puts stages on, and knows nothing of: `data` in
    `data.batch(32)`, `loader` in `loader.dataset().batch(32)`."""
    for call in infer.walk.calls_named(*_STAGES):
        if isinstance(call.func, cst.Attribute) and not infer.names.qualified(call.func):
            for source in _sources(infer, _first(call)):
                if not _is_known(infer, source):
                    yield from (function for function, _ in behind(infer, calls, source))


def _first(call: cst.Call) -> cst.BaseExpression:
    """What the first of a chain of stages is put on."""
    node: cst.BaseExpression = call
    while (
        isinstance(node, cst.Call)
        and isinstance(node.func, cst.Attribute)
        and callee_name(node) in methods("Dataset", "stage")
    ):
        node = node.func.value
    return node


def _sources(infer: Inference, node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The name or attribute that an expression is; of what a method gives, also the object."""
    for given in (node, *(binding.value for binding in infer.bindings(node))):
        if isinstance(given, cst.Call) and isinstance(given.func, cst.Attribute):
            yield given.func.value
        elif given is node:
            yield node


def _is_known(infer: Inference, node: cst.BaseExpression) -> bool:
    """Whether the value of `node` is known, by more than what is done to it."""
    value = infer.value(node)
    return value.known and not any(
        way[0].origin is not None and not way[0].origin.path for way in value.pipelines
    )
