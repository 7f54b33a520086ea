"""Python that eager mode runs on tensors, and that a trace can't."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from tests.analysis.support import function, model_of

AGAINST = {
    "raise ValueError": ("if tf.math.is_nan(loss):\n    raise ValueError()", "`raise` under a condition"),
    "a return of nothing": (
        "if loss > 3.0:\n    return None",
        "a condition on a tensor decides whether anything is returned",
    ),
    "a type by the branch": ("status = 0\nif loss > 0.5:\n    status = 1.5", "decides the type of `status`"),
    "None by the branch": (
        "if loss > 0.5:\n    more = loss\nelse:\n    more = None",
        "decides the type of `more`",
    ),
    "the greatest of several": ("scale = max(1.0, tf.norm(loss))", "`max()` compares tensors"),
    "all of them": ("good = all(tf.reduce_all(v > 0) for v in [loss])", "`all()` compares tensors"),
    "a list of tensors asked": ("found = 0.0 in [loss, loss]", "a tensor is searched for"),
    "rows by `zip`": ("for a, b in zip(tf.square(x), tf.abs(x)):\n    loss += a * b", "`zip` iterates over"),
    "a tensor taken apart": ("a, b = tf.transpose(x)", "unpacked on the host"),
    "a gradient that is turned round and zipped": (
        "with tf.GradientTape() as tape:\n    loss = tf.reduce_mean(x * w)\ngrads = tape.gradient(loss, w)\n"
        "for g, v in zip(grads * -1, [w]):\n    v.assign(g)",
        "`zip` iterates over a tensor",
    ),
    "one gradient that is zipped": (
        "with tf.GradientTape() as tape:\n    loss = tf.reduce_mean(x * w)\n"
        "for g, v in zip(tape.gradient(loss, w), [w]):\n    v.assign(g)",
        "`zip` iterates over a tensor",
    ),
    "a part of a list": (
        "rows = [x, x]\nfor i in tf.range(2):\n    loss += tf.reduce_sum(rows[i])",
        "a tensor is the index of a Python list",
    ),
    "the first parts": (
        "rows = [x, x]\nfor i in tf.range(2):\n    loss += tf.add_n(rows[:i])",
        "a tensor is the index of a Python list",
    ),
    "a sum over a tensor": ("loss = sum(tf.square(x))", "`sum` iterates over a tensor"),
    "a counter over a tensor": (
        "for i, row in enumerate(tf.square(x)):\n    loss += row",
        "`enumerate` iterates over a tensor",
    ),
    "rows as arguments": ("loss = tf.stack([*tf.square(x)])", "a tensor is unpacked by `*`"),
    "rows as arguments of a call": (
        "loss = tf.add_n(tf.nest.flatten(*tf.square(x)))",
        "a tensor is unpacked by `*`",
    ),
    "a comprehension over a tensor": (
        "loss = tf.add_n([row * 2.0 for row in tf.square(x)])",
        "a comprehension iterates over a tensor",
    ),
    "a function that is mapped": (
        "loss = tf.add_n(list(map(tf.abs, tf.square(x))))",
        "`map` iterates over a tensor",
    ),
    "a target of several names": (
        "for a, b in tf.stack([x, x]):\n    loss += a * b",
        "a tensor is unpacked on the host",
    ),
    "a string": ("return 'fine', loss", "it returns a string"),
    "a string in a tuple with names": ("return Output('fine', loss)", "it returns a string"),
    "an object": ("return Report(loss, 1)", "it returns an object"),
    "a size": ("size = x.shape[0]\nreturn loss, size", "it returns a size"),
}
FOR_IT = {
    "an update by condition": "if loss > 0.5:\n    w.assign(loss)",
    "an early result": "if loss > 0.5:\n    return loss",
    "numbers of one type": "if loss > 0.5:\n    scale = 2.0\nelse:\n    scale = 1.0\nloss = loss * scale",
    "clipped gradients": (
        "gradients, _ = tf.clip_by_global_norm([loss, loss], 1.0)\nfor a, b in zip(gradients, [w, w]):\n    b.assign(a)"
    ),
    "gradients that are turned round and zipped": (
        "with tf.GradientTape() as tape:\n    loss = tf.reduce_mean(x * w)\ngrads = tape.gradient(loss, [w])\n"
        "for g, v in zip([-g for g in grads], [w]):\n    v.assign(g)"
    ),
    "a list of a gradient": (
        "with tf.GradientTape() as tape:\n    loss = tf.reduce_mean(x * w)\nfor g, v in zip([tape.gradient(loss, w)], [w]):\n    v.assign(g)"
    ),
    "a plain loop over a tensor": "for row in tf.square(x):\n    loss += row",
    "a counter over a list": "for i, row in enumerate([x, x]):\n    loss += tf.reduce_sum(row)",
    "a comprehension over parts": "loss = tf.add_n([tf.reduce_sum(part) for part in tf.split(x, 2)])",
    "a sum of parts": "loss = sum([tf.reduce_sum(x), tf.reduce_mean(x)])",
    "parts of a split": "a, b = tf.split(x, 2)",
    "a condition on a size": "if x.shape[0] > 3:\n    raise ValueError()",
    "rows of a tensor": "for i in tf.range(2):\n    loss += tf.reduce_sum(x[i])",
    "parts of a list by a number": "rows = [x, x]\nfor i in range(2):\n    loss += tf.reduce_sum(rows[i])",
    "a tuple with names": "return Output(loss, count=tf.size(x))",
    "a tuple with names that has one": "output = Own(loss, count=tf.size(x))\nreturn [output]",
    "a list of a function inside": (
        "def rows(x):\n    found = []\n    for i in range(3):\n        found.append(x[i])\n    return tf.stack(found)\nloss += tf.reduce_sum(rows(x))"
    ),
    "the greater tensor": "loss = tf.maximum(loss, 1.0)",
}


def _reason(body: str) -> str:
    classes = (
        "from typing import NamedTuple\nclass Output(NamedTuple):\n    loss: tf.Tensor\n    count: tf.Tensor\n"
        "class Own(Output):\n    pass\nclass Report:\n    def __init__(self, loss, count):\n        self.loss = loss\n"
    )
    source = f"{classes}w = tf.Variable(1.0)\ndef step(x):\n    loss = tf.reduce_mean(x)\n{indent(dedent(body), '    ')}\n"
    model = model_of(source + "    return loss\n")
    obstacle = model.tracing.obstacle_in_function(function(model, "step"))
    return obstacle.reason if obstacle is not None else ""


@pytest.mark.parametrize(("body", "reason"), AGAINST.values(), ids=AGAINST.keys())
def test_what_cannot_be_traced(body: str, reason: str) -> None:
    assert reason in _reason(body) != ""


@pytest.mark.parametrize("body", FOR_IT.values(), ids=FOR_IT.keys())
def test_what_can_be_traced(body: str) -> None:
    assert _reason(body) == ""
