"""Lists to which gradients are added, and whether they are kept from batch to batch."""

from __future__ import annotations

from textwrap import indent

import pytest
from tflint_perf.rules.memory.gradient_sums import GradientSums

from tests.analysis.support import model_of

STEP = """
with tf.GradientTape() as tape:
    loss = model(x)
grads = tape.gradient(loss, variables)
"""
SUM = "acc = [a + g for a, g in zip(acc, grads)]"


def sums(source: str) -> list[tuple[str, bool]]:
    """The lists that gradients are added to, and whether they start again."""
    model = model_of(source)
    return [(model.module.code_for_node(s.total), s.starts_again) for s in model.own(GradientSums).all()]


def looped(body: str, before: str = "acc = None") -> str:
    """Source whose loop makes gradients and then does what `body` says."""
    return f"{before}\nfor x in data:\n{indent(STEP + body, '    ')}\n"


FOUND = {
    "zip": (SUM, False),
    "zip the other way": ("acc = [g + a for g, a in zip(grads, acc)]", False),
    "tf.add": ("acc = [tf.math.add(a, g) for a, g in zip(acc, grads)]", False),
    "in parentheses": ("acc = [(a + g) for a, g in zip(acc, grads)]", False),
    "a condition": ("acc = [(a + g) if g is not None else a for a, g in zip(acc, grads)]", False),
    "by index": ("acc = [acc[i] + grads[i] for i in range(len(grads))]", False),
    "of an unpacked result": ("grads, norm = tf.clip_by_global_norm(grads, 1.0)\n" + SUM, False),
    "of a tuple": ("pair = (loss, grads)\nl, grads = pair\n" + SUM, False),
    "of another name": ("g2 = grads\nacc = [a + g for a, g in zip(acc, g2)]", False),
    "by structure": ("acc = tf.nest.map_structure(lambda a, g: a + g, acc, grads)", False),
    "by structure, with an op": ("acc = tf.nest.map_structure(tf.add, acc, grads)", False),
    "one of two, by structure": (
        "grads = tf.cond(last, lambda: tf.nest.map_structure(lambda g: g / 2, grads), lambda: grads)\n" + SUM,
        False,
    ),
    "zeros made anew": ("acc = [tf.zeros_like(g) for g in grads]\n" + SUM, True),
}
NOT_FOUND = {
    "a product by structure": "acc = tf.nest.map_structure(lambda a, g: a * g, acc, grads)",
    "a mean by structure": "acc = tf.nest.map_structure(lambda a: a / 2, acc)",
    "a sum with something else, by structure": "acc = tf.nest.map_structure(lambda a, v: a + v, acc, variables)",
    "a product": "acc = [a * g for a, g in zip(acc, grads)]",
    "a sum with something else": "acc = [a + v for a, v in zip(acc, variables)]",
    "a sum under another name": "other = [a + g for a, g in zip(acc, grads)]",
    "three added": "acc = [a + 1 for a, g in zip(acc, grads)]",
    "a gradient of this batch": "acc = [f(v) for v in variables]\n" + SUM,
    "a function of both": "acc = [add(a, g) for a, g in zip(acc, grads)]",
    "a dict": "acc = {a: a + g for a, g in zip(acc, grads)}",
}


@pytest.mark.parametrize(("body", "starts_again"), FOUND.values(), ids=FOUND.keys())
def test_finds_what_gradients_are_added_to(body: str, starts_again: bool) -> None:
    assert sums(looped(body)) == [("acc", starts_again)]


@pytest.mark.parametrize("body", NOT_FOUND.values(), ids=NOT_FOUND.keys())
def test_takes_nothing_else_for_a_sum(body: str) -> None:
    assert sums(looped(body)) == []


def test_follows_gradients_through_calls() -> None:
    source = f"""
def compute(x):
{indent(STEP, "    ")}
    return loss, grads
def add(gradients):
    self.acc = [a + g for a, g in zip(self.acc, gradients)]
for x in data:
    add(compute(x)[1])
"""
    assert sums(source) == [("self.acc", False)]


def test_a_list_that_is_emptied_now_and_then_is_kept_otherwise() -> None:
    body = "if step % 4 == 0:\n    acc = [tf.zeros_like(g) for g in grads]\n" + SUM
    assert sums(looped(body)) == [("acc", False)]
    assert sums(looped(body, before="")) == [("acc", False)]
