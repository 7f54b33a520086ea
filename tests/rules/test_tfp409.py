"""TFP409 gradient-list-accumulation."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.rules.support import costs_told, findings, flagged

CODE = "TFP409"
PREAMBLE = dedent("""\
    import numpy as np
    import tensorflow as tf
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    variables = model.trainable_variables
    optimizer = tf.keras.optimizers.Adam()
    dataset = tf.data.Dataset.from_tensor_slices((images, labels)).batch(32)
    @tf.function
    def gradients_of(x, y):
        with tf.GradientTape() as tape:
            loss = compute(model(x), y)
        return loss, tape.gradient(loss, variables)
    @tf.function
    def update(gradients):
        optimizer.apply_gradients(zip(gradients, variables))
""")


def module(source: str) -> str:
    return PREAMBLE + dedent(source).lstrip()


SILENT = {
    "twenty sums in all": """
        totals = [tf.zeros_like(v) for v in variables]
        def outer(number):
            global totals
            for step in range(number):
                loss, grads = gradients_of(x, y)
                totals = [t + g for t, g in zip(totals, grads)]
        for epoch in range(10):
            outer(2)
        """,
    "variables": """
        totals = [tf.Variable(tf.zeros_like(v)) for v in variables]
        for x, y in dataset:
            loss, grads = gradients_of(x, y)
            for total, g in zip(totals, grads):
                total.assign_add(g)
        """,
    "variables by index": """
        totals = [tf.Variable(tf.zeros_like(v)) for v in variables]
        for x, y in dataset:
            loss, grads = gradients_of(x, y)
            for i, g in enumerate(grads):
                totals[i].assign_add(g)
                totals[i] += g
        """,
    "compiled code": """
        @tf.function
        def step(batches):
            totals = [tf.zeros_like(v) for v in variables]
            for x, y in batches:
                loss, grads = gradients_of(x, y)
                totals = [t + g for t, g in zip(totals, grads)]
            update(totals)
        for batches in dataset:
            step(batches)
        """,
    "two gradients of one batch": """
        for x, y in dataset:
            loss, grads = gradients_of(x, y)
            _, more = gradients_of(x + 1, y)
            grads = [a + b for a, b in zip(grads, more)]
            update(grads)
        """,
    "two gradients of one batch, under another name": """
        for x, y in dataset:
            _, first = gradients_of(x, y)
            _, second = gradients_of(x + 1, y)
            both = [a + b for a, b in zip(first, second)]
            update(both)
        """,
    "weight decay": """
        for x, y in dataset:
            loss, grads = gradients_of(x, y)
            grads = [g + 0.1 * v for g, v in zip(grads, variables)]
            update(grads)
        """,
    "averages of weights": """
        average = [v.numpy() for v in variables]
        for x, y in dataset:
            update(gradients_of(x, y)[1])
            average = [a + v for a, v in zip(average, variables)]
        """,
    "a difference": """
        totals = [tf.zeros_like(v) for v in variables]
        for x, y in dataset:
            loss, grads = gradients_of(x, y)
            totals = [t - g for t, g in zip(totals, grads)]
            others = [t * g for t, g in zip(totals, grads)]
        """,
    "losses": """
        total = [0.0]
        for x, y in dataset:
            loss, grads = gradients_of(x, y)
            total[0] += loss
            losses = [loss + g for g in grads]
        """,
    "gradients that no tape gave": """
        totals = [np.zeros(3)]
        for x, y in dataset:
            grads = backward(x, y)
            totals = [t + g for t, g in zip(totals, grads)]
            update(grads)
        """,
    "an array": """
        totals = np.zeros(10)
        for x, y in dataset:
            loss, grads = gradients_of(x, y)
            for i, g in enumerate(grads):
                totals[i] += tf.norm(g)
        """,
    "once": """
        totals = [tf.zeros_like(v) for v in variables]
        loss, grads = gradients_of(images, labels)
        totals = [t + g for t, g in zip(totals, grads)]
        """,
    "gradients that are replaced": """
        for x, y in dataset:
            loss, grads = gradients_of(x, y)
            grads = [tf.clip_by_norm(g, 1.0) for g in grads]
            for i in range(len(grads)):
                grads[i] = grads[i] / 2
            update(grads)
        """,
    "two gradients of one batch, in a dictionary": """
        for x, y in dataset:
            both = {}
            both["g"] = gradients_of(x, y)[1]
            both["g"] = [t + g for t, g in zip(both["g"], gradients_of(x + 1, y)[1])]
            update(both["g"])
        """,
    "an item that is not known which": """
        totals = {}
        for x, y in dataset:
            loss, grads = gradients_of(x, y)
            totals[y] = [t + g for t, g in zip(totals[y], grads)]
        """,
    "a function that adds its arguments": """
        def add(total, grads):
            total = [t + g for t, g in zip(total, grads)]
            return total
        for x, y in dataset:
            update(add(gradients_of(x, y)[1], gradients_of(x, y)[1]))
        """,
}


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT.keys())
def test_says_nothing_of(source: str) -> None:
    assert flagged(CODE, module(source)) == []


LOOP = """
    totals = [tf.zeros_like(v) for v in variables]
    for step, (x, y) in enumerate(dataset):
        loss, grads = gradients_of(x, y)
        {}
        if step % 4 == 3:
            update(totals)
            totals = [tf.zeros_like(v) for v in variables]
"""
FORMS = {
    "a comprehension": "totals = [t + g for t, g in zip(totals, grads)]",
    "turned round": "totals = [g + t for g, t in zip(grads, totals)]",
    "an op": "totals = [tf.add(t, g) for t, g in zip(totals, grads)]",
    "an op for several": "totals = [tf.add_n([t, g]) for t, g in zip(totals, grads)]",
    "a part of the gradient": "totals = [t + g / 4 for t, g in zip(totals, grads)]",
    "where there is one": "totals = [t if g is None else t + g for t, g in zip(totals, grads)]",
    "by index, in a comprehension": "totals = [totals[i] + grads[i] for i in range(len(grads))]",
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_flags_a_sum_written_as(form: str) -> None:
    source = module(LOOP.format(form))
    assert flagged(CODE, source) == [source[: source.index(form)].count("\n") + 1]


FLAGGED = {
    "by index": """
        totals = [tf.zeros_like(v) for v in variables]
        for x, y in dataset:
            loss, grads = gradients_of(x, y)
            for i in range(len(grads)):
                totals[i] += grads[i]  # <-
        """,
    "by index, with enumerate": """
        totals = [tf.zeros_like(v) for v in variables]
        for x, y in dataset:
            loss, grads = gradients_of(x, y)
            for i, g in enumerate(grads):
                totals[i] = totals[i] + g  # <-
        """,
    "a list that begins with the first gradients": """
        totals = None
        for step, (x, y) in enumerate(dataset):
            with tf.GradientTape() as tape:
                loss = compute(model(x), y)
            grads = tape.gradient(loss, variables)
            if totals is None:
                totals = grads
            else:
                totals = [t + g for t, g in zip(totals, grads)]  # <-
        """,
    "parts of one batch": """
        for x, y in dataset:
            totals = [tf.zeros_like(v) for v in variables]
            for part in range(parts):
                loss, grads = gradients_of(x[part::parts], y[part::parts])
                totals = [t + g for t, g in zip(totals, grads)]  # <-
            update(totals)
        """,
    "an item of a dictionary": """
        for batch in dataset:
            totals = {"actor": {"g": []}}
            for x, y in batch:
                loss, grads = gradients_of(x, y)
                if len(totals["actor"]["g"]) == 0:
                    totals["actor"]["g"] = grads
                else:
                    totals["actor"]["g"] = [t + g for t, g in zip(totals["actor"]["g"], grads)]  # <-
            update(totals["actor"]["g"])
        """,
    "an attribute": """
        class Trainer:
            def __init__(self):
                self.totals = [tf.zeros_like(v) for v in variables]
            def train(self):
                for x, y in dataset:
                    loss, grads = gradients_of(x, y)
                    self.accumulate(grads)
            def accumulate(self, grads):
                self.totals = [t + g for t, g in zip(self.totals, grads)]  # <-
        Trainer().train()
        """,
    "clipped gradients": """
        totals = [tf.zeros_like(v) for v in variables]
        for x, y in dataset:
            loss, grads = gradients_of(x, y)
            grads, norm = tf.clip_by_global_norm(grads, 1.0)
            totals = [t + g for t, g in zip(totals, grads)]  # <-
        """,
    "a list that starts again on each batch": """
        for x, y in dataset:
            loss, grads = gradients_of(x, y)
            totals = [tf.zeros_like(g) for g in grads]
            totals = [tf.add(t, g) for t, g in zip(totals, grads)]  # <-
            if step % 4 == 0:
                update(totals)
                totals = [tf.zeros_like(g) for g in grads]
        """,
}


@pytest.mark.parametrize("source", FLAGGED.values(), ids=FLAGGED.keys())
def test_flags(source: str) -> None:
    text = module(source)
    marked = [row for row, line in enumerate(text.splitlines(), 1) if line.endswith("# <-")]
    assert flagged(CODE, text) == marked != []


def test_says_where_the_sum_starts_again() -> None:
    (kept,) = findings(CODE, module(FLAGGED["by index"]))
    (lost,) = findings(CODE, module(FLAGGED["a list that starts again on each batch"]))
    assert "adds up gradients in a Python list" in kept.message
    assert "starts again from zero on each batch" in lost.message


EAGER = """
    def gradients_now(x, y):
        with tf.GradientTape() as tape:
            loss = compute(model(x), y)
        return tape.gradient(loss, variables)
    totals = [tf.zeros_like(v) for v in variables]
    for x, y in dataset:
        totals = [t + g for t, g in zip(totals, gradients_now(x, y))]
    """


def test_tells_the_cost_only_of_a_compiled_step_and_leaves_an_eager_one_to_be_compiled() -> None:
    assert costs_told(CODE, module(FLAGGED["by index"])) == [True]
    assert costs_told(CODE, module(EAGER)) == [False]
    head = PREAMBLE.replace("@tf.function\n", "")
    assert not findings(CODE, head + dedent(EAGER))
