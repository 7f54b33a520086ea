"""What made a compiled function, and whether it can do with shapes that are left open."""

from __future__ import annotations

import pytest
from tflint_perf.rules.tracing.varying import Retracing, serves_all_shapes

from tests.analysis.support import function, model_of

MAKERS = {
    "a decorator": ("@tf.function\ndef step(x):\n    return x\n", ["tf.function"]),
    "a decorator with arguments": (
        "@tf.function(jit_compile=True)\ndef step(x):\n    return x\n",
        ["tf.function(jit_compile=True)"],
    ),
    "a call": ("def step(x):\n    return x\nfast = tf.function(step)\n", ["tf.function(step)"]),
    "none": ("def step(x):\n    return x\n", []),
}
READS = {
    "a static shape": ("n = x.shape[1]", "x.shape"),
    "its length": ("n = len(x)", "len(x)"),
    "a squeeze of any axis": ("y = tf.squeeze(x)", "tf.squeeze(x)"),
    "in what it calls": ("y = size(x)", "x.get_shape()"),
}
READS_NONE = {
    "a dynamic shape": "n = tf.shape(x)[1]",
    "a squeeze of one axis": "y = tf.squeeze(x, 1)",
    "ops": "y = tf.reduce_sum(x)",
}


@pytest.mark.parametrize(("source", "expected"), MAKERS.values(), ids=MAKERS)
def test_makers_are_found(source: str, expected: list[str]) -> None:
    model = model_of(source)
    found = model.own(Retracing).makers(function(model, "step"))
    assert [model.module.code_for_node(maker) for maker in found] == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [("", False), ("(jit_compile=True)", False), ("(reduce_retracing=True)", True), ("(**options)", True)],
)
def test_makers_may_serve_all_shapes(given: str, expected: bool) -> None:
    model = model_of(f"@tf.function{given}\ndef step(x):\n    return x\n")
    (maker,) = model.own(Retracing).makers(function(model, "step"))
    assert serves_all_shapes(maker) == expected


def _step(body: str) -> str:
    return f"def size(x):\n    return x.get_shape()\n\n@tf.function\ndef step(x):\n    {body}\n"


@pytest.mark.parametrize(("body", "expected"), READS.values(), ids=READS)
def test_reads_of_shapes_are_found(body: str, expected: str) -> None:
    model = model_of(_step(body))
    found = model.own(Retracing).shape_read(function(model, "step"))
    assert found is not None
    assert model.module.code_for_node(found) == expected


@pytest.mark.parametrize("body", READS_NONE.values(), ids=READS_NONE)
def test_others_read_none(body: str) -> None:
    model = model_of(_step(body))
    assert model.own(Retracing).shape_read(function(model, "step")) is None
