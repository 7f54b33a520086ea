"""TFP206 varying-shape-argument."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.rules.support import costs_told, findings, fixed, flagged, notes

CODE = "TFP206"
PREAMBLE = dedent("""\
    import numpy as np
    import tensorflow as tf
    source = tf.data.Dataset.from_generator(make, output_signature=signature)
    padded = source.padded_batch(32)
    @tf.function
    def step(*x):
        return tf.reduce_sum(x)
""")


def rows_marked(source: str) -> list[int]:
    """The rows that say that they are flagged."""
    return [row for row, line in enumerate(source.splitlines(), 1) if line.endswith("# <-")]


def module(source: str) -> str:
    return PREAMBLE + dedent(source).lstrip()


SILENT = {
    "fixed shapes, and one short last batch": """
        for x in source.batch(32):
            step(x)
        for i in range(0, 1000, 32):
            step(data[i : i + 32])
        """,
    "images that are cut to one size before": """
        def cut(x, y):
            return tf.image.resize_with_crop_or_pad(x, SIZE, SIZE), y
        for x, y in source.map(cut).padded_batch(32):
            step(x, y)
        """,
    "batches padded to one length": """
        for x, y in source.padded_batch(32, padded_shapes=([100], [])):
            step(x, y)
        for x, y in source.padded_batch(32, ([LENGTH], [])):
            step(x, y)
        """,
    "the part of fixed shape": """
        for x, y in source.padded_batch(32, padded_shapes=([None], [])):
            step(y)
        """,
    "padded, and then cut by something": """
        for x in padded.map(cut):
            step(x)
        for x in padded.unbatch():
            step(x)
        """,
    "ragged batches, whose lengths are not traced": """
        for x in source.ragged_batch(32):
            step(x)
        """,
    "a function that takes all shapes": """
        @tf.function(reduce_retracing=True)
        def relaxed(x): pass
        @tf.function(experimental_relax_shapes=True)
        def older(x): pass
        @tf.function(input_signature=[tf.TensorSpec([None, None])])
        def signed(x): pass
        @tf.function(**options)
        def other(x): pass
        wrapped = tf.function(lambda x: x, reduce_retracing=True)
        for x in padded:
            relaxed(x), older(x), signed(x), other(x), wrapped(x)
        """,
    "eager functions": """
        def eager(x): pass
        for x in padded:
            eager(x)
        """,
    "once": """
        for i, x in enumerate(padded):
            if i == 0:
                step(x)
        """,
    "a list that is emptied": """
        memory = []
        for x in source:
            memory.append(x)
            if len(memory) == 32:
                step(np.array(memory))
                memory = []
        """,
    "another list that is emptied": """
        memory = []
        for x in source:
            memory.append(x)
            if len(memory) > 32:
                memory.pop(0)
            step(np.array(memory))
        """,
    "a list of a fixed length": """
        while True:
            states = []
            for _ in range(32):
                state, reward, done, info = env.step(0)
                states.append(state)
            step(np.array(states))
        """,
    "a list filled before the loop": """
        items = []
        for path in paths:
            items.append(path)
        for _ in range(1000):
            step(np.array(items))
        """,
    "a sliding window": """
        x = tf.zeros([1, 32])
        for _ in range(1000):
            x = tf.concat([x[:, 1:], step(x)], axis=1)
        y = np.zeros(32)
        for _ in range(1000):
            y = np.append(y, step(y))
            y = y[-32:]
        """,
    "slices that do not follow a counter": """
        n = 32
        for i in range(1000):
            step(data[:n])
            step(data[i])
            step(data[:, :32])
            step(data[:len(data)])
        """,
    "any syntax": """
        async def f(*a, **k):
            async for x in padded:
                step(*a, **k)
                step(y := x)
                step(lambda q: q)
        """,
}

FLAGGED = {
    "padded batches": """
        for x in padded:
            step(x)  # <-
        for i, (x, y) in enumerate(source.padded_batch(32, padded_shapes=([None], []))):
            step(y, x)  # <-
        for x in source.padded_batch(32, padded_shapes=(tf.TensorShape([None]),)).prefetch(1):
            step(x)  # <-
        """,
    "by next": """
        iterator = iter(padded)
        for _ in range(1000):
            x, y = next(iterator)
            step(x, y)  # <-
        """,
    "an array that grows": """
        x = tf.zeros([1, 1])
        for _ in range(1000):
            x = tf.concat([x, step(x)], axis=1)  # <-
        """,
    "an array of a list that grows": """
        history = []
        for x in source:
            history.append(x)
            step(np.array(history))  # <-
        """,
    "arrays as long as an episode": """
        for episode in range(1000):
            states, rewards = [], []
            done = False
            while not done:
                state, reward, done, info = env.step(0)
                states.append(state)
            step(tf.stack(states))  # <-
            batch = np.array(states)
            step(batch)  # <-
        """,
    "a list": """
        history = []
        for x in source:
            history.append(x)
            step(history)  # <-
        """,
    "slices up to a counter": """
        for i in range(1, 1000):
            step(data[:i])  # <-
            step(data[:, : i + 1])  # <-
        """,
    "a method": """
        class Trainer:
            @tf.function
            def step(self, x):
                return x
            def train(self):
                for x in padded:
                    self.step(x)  # <-
        Trainer().train()
        """,
    "a wrapped function": """
        def plain(x):
            return x
        fast = tf.function(plain)
        for x in padded:
            fast(x)  # <-
        """,
}


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT.keys())
def test_says_nothing_of(source: str) -> None:
    assert flagged(CODE, module(source)) == []


@pytest.mark.parametrize("source", FLAGGED.values(), ids=FLAGGED.keys())
def test_flags(source: str) -> None:
    assert flagged(CODE, module(source)) == rows_marked(module(source)) != []


LOOP = "for x in padded:\n    f(x)\n"
FIXES = {
    "@tf.function\ndef f(x):\n    return x\n": "@tf.function(reduce_retracing=True)\ndef f(x):\n    return x\n",
    "@tf.function()\ndef f(x):\n    return x\n": "@tf.function(reduce_retracing=True)\ndef f(x):\n    return x\n",
    "@tf.function(autograph=False)  # now\ndef f(x):\n    return x\n": (
        "@tf.function(autograph=False, reduce_retracing=True)  # now\ndef f(x):\n    return x\n"
    ),
    "def g(x):\n    return tf.shape(x)\nf = tf.function(g)\n": (
        "def g(x):\n    return tf.shape(x)\nf = tf.function(g, reduce_retracing=True)\n"
    ),
    "@tf.function(\n    autograph=(False),\n)\ndef f(x):\n    return x\n": (
        "@tf.function(\n    autograph=(False),\n    reduce_retracing=True,\n)\ndef f(x):\n    return x\n"
    ),
}


@pytest.mark.parametrize(("before", "after"), FIXES.items())
def test_adds_reduce_retracing(before: str, after: str) -> None:
    (finding,) = findings(CODE, module(before + LOOP))
    assert finding.fix is not None
    assert not finding.fix.safe  # Python code in it may ask for a size
    assert fixed(CODE, module(before + LOOP)) == module(after + LOOP)


def test_adds_it_once_for_all_calls() -> None:
    before, after = next(iter(FIXES.items()))
    assert fixed(CODE, module(before + LOOP + LOOP)) == module(after + LOOP + LOOP)


REFUSED = {
    "it reads the static shape  ": "@tf.function\ndef f(x):\n    return tf.squeeze(x)\n" + LOOP,
    "it reads the static shape": "@tf.function\ndef f(x):\n    return tf.zeros(x.shape)\n" + LOOP,
    "it reads the static shape ": "@tf.function\ndef f(x):\n    return g(x)\ndef g(x):\n    return tf.unstack(x)\n"
    + LOOP,
    "XLA compiles each shape for itself": "@tf.function(jit_compile=True)\ndef f(x):\n    return x\n" + LOOP,
    "a list of a different length is a different structure": (
        "history = []\nfor x in source:\n    history.append(x)\n    step(history)\n"
    ),
}


@pytest.mark.parametrize(("reason", "source"), REFUSED.items(), ids=REFUSED.keys())
def test_says_why_it_does_not_add_it(reason: str, source: str) -> None:
    assert [note.rsplit(" (line", 1)[0] for note in notes(CODE, module(source))] == [
        f"no fix: {reason.strip()}"
    ]


MEASURED = {
    "padded batches": [True] * 3,
    "arrays as long as an episode": [True] * 2,
    "an array that grows": [False],
    "an array of a list that grows": [False],
    "a list": [False],
    "slices up to a counter": [False] * 2,
}


@pytest.mark.parametrize(("name", "told"), MEASURED.items(), ids=MEASURED)
def test_tells_the_cost_only_of_lengths_that_come_at_random(name: str, told: list[bool]) -> None:
    assert costs_told(CODE, module(FLAGGED[name])) == told


def test_a_list_as_a_tensor_would_retrace_as_well() -> None:
    (finding,) = findings(CODE, module(FLAGGED["a list"]))
    assert finding.message.endswith("; pass a tensor, and set `reduce_retracing=True`")


def test_says_to_pad_where_xla_compiles_each_shape() -> None:
    preamble = PREAMBLE.replace("@tf.function", "@tf.function(jit_compile=True)")
    source = preamble + dedent(FLAGGED["padded batches"]).lstrip()
    found = findings(CODE, source)
    assert all("so pad to a few lengths" in finding.message for finding in found)
    assert costs_told(CODE, source) == [False] * 3


def test_says_to_read_the_size_by_an_op_where_the_function_reads_the_static_shape() -> None:
    preamble = PREAMBLE.replace("    return", "    size = x[0].shape[1]\n    return")
    source = preamble + dedent(FLAGGED["padded batches"]).lstrip()
    found = findings(CODE, source)
    assert all("; read the size by `tf.shape`, and set" in finding.message for finding in found)
    assert costs_told(CODE, source) == [False] * 3
