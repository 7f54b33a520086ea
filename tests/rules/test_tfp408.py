"""TFP408 stale-graph-reset."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.rules.support import costs_told, findings, fixed, flagged

CODE = "TFP408"
PREAMBLE = dedent("""\
    import tensorflow as tf
    from tensorflow.keras import backend as K
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    dataset = tf.data.Dataset.from_tensor_slices((images, labels)).batch(32)
""")
VERSION_2 = "tf.random.set_seed(1)\n"


def module(source: str) -> str:
    return PREAMBLE + dedent(source).lstrip()


SILENT = {
    "a reset in code that may be for either version": """
        tf.compat.v1.reset_default_graph()
        model.fit(dataset)
        """,
    "a reset by its name of version 1": """
        tf.random.set_seed(1)
        tf.reset_default_graph()
        """,
    "a reset of a graph for a session": """
        @tf.function
        def step(x):
            return model(x)
        tf.compat.v1.reset_default_graph()
        with tf.compat.v1.Session() as session:
            session.run(op)
        """,
    "a reset where eager mode is switched off": """
        tf.random.set_seed(1)
        tf.compat.v1.disable_eager_execution()
        tf.compat.v1.reset_default_graph()
        """,
    "a reset beside graphs": """
        tf.random.set_seed(1)
        with tf.Graph().as_default():
            x = tf.constant(1)
        tf.compat.v1.reset_default_graph()
        """,
    "a reset of the module of version 1": """
        import tensorflow.compat.v1 as tf1
        tf.random.set_seed(1)
        tf1.reset_default_graph()
        """,
    "a reset that is imported by name, as in code for both versions": """
        from tensorflow.compat.v1 import reset_default_graph
        tf.random.set_seed(1)
        reset_default_graph()
        """,
    "a clear before the loop": """
        tf.keras.backend.clear_session()
        for x, y in dataset:
            model.train_on_batch(x, y)
        """,
    "a clear once an epoch": """
        for epoch in range(10):
            for x, y in dataset:
                model.train_on_batch(x, y)
            K.clear_session()
        """,
    "a clear between trials": """
        for units in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12):
            K.clear_session()
            model = tf.keras.Sequential([tf.keras.layers.Dense(units)])
            model.compile("adam", "mse")
            model.fit(dataset)
        """,
    "a clear before a model is loaded": """
        for path in paths:
            K.clear_session()
            model = tf.keras.models.load_model(path)
            scores.append(model(x))
        """,
    "a clear before a model is made in another file": """
        for fold in range(folds):
            K.clear_session()
            net = build_network(fold)
            net.train_on_batch(x, y)
        """,
    "a clear before a model is made by a function": """
        def grow(step):
            K.clear_session()
            make(step)
        def make(step):
            return tf.keras.layers.Dense(step)
        for step in range(1000):
            grow(step)
            model.train_on_batch(x, y)
        """,
    "a clear behind a guard": """
        for step, (x, y) in enumerate(dataset):
            model.train_on_batch(x, y)
            if step % 1000 == 0:
                K.clear_session()
        """,
    "a clear at the end of an epoch": """
        class Clear(tf.keras.callbacks.Callback):
            def on_epoch_end(self, epoch, logs=None):
                K.clear_session()
        """,
    "a clear of graph code": """
        session = tf.compat.v1.Session()
        for x, y in dataset:
            session.run(op)
            K.clear_session()
        """,
    "another thing of that name": """
        for x, y in dataset:
            model.train_on_batch(x, y)
            chat.clear_session()
        """,
}


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT.keys())
def test_says_nothing_of(source: str) -> None:
    assert flagged(CODE, module(source)) == []


FLAGGED = {
    "a reset in eager code": """
        tf.compat.v1.reset_default_graph()  # <-
        with tf.GradientTape() as tape:
            loss = model(x)
        """,
    "a reset in a loop": """
        @tf.function
        def step(x):
            return model(x)
        for x, y in dataset:
            step(x)
            tf.compat.v1.reset_default_graph()  # <-
        """,
    "a clear on each step": """
        for x, y in dataset:
            model.train_on_batch(x, y)
            tf.keras.backend.clear_session()  # <-
        """,
    "a clear for each prediction": """
        for x, y in dataset:
            scores.append(model.predict_on_batch(x).mean())
            K.clear_session()  # <-
        """,
    "a clear in a function that the loop calls": """
        def predict(x):
            scores = model.predict_on_batch(x)
            K.clear_session()  # <-
            return scores
        for x, y in dataset:
            predict(x)
        """,
    "a clear at the end of a batch": """
        class Clear(tf.keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                K.clear_session()  # <-
        """,
    "a clear by its other name": """
        import keras
        for x, y in dataset:
            model.train_on_batch(x, y)
            keras.utils.clear_session(free_memory=False)  # <-
        """,
}


@pytest.mark.parametrize("source", FLAGGED.values(), ids=FLAGGED.keys())
def test_flags(source: str) -> None:
    text = module(source)
    marked = [row for row, line in enumerate(text.splitlines(), 1) if line.endswith("# <-")]
    assert flagged(CODE, text) == marked != []


def test_removes_the_reset_which_programs_of_version_1_may_miss() -> None:
    before = VERSION_2 + "for x in dataset:\n    tf.compat.v1.reset_default_graph()  # free\n    model(x)\n"
    after = VERSION_2 + "for x in dataset:\n    # free\n    model(x)\n"
    assert fixed(CODE, module(before)) == module(after)
    (finding,) = findings(CODE, module(before))
    assert finding.fix is not None
    assert not finding.fix.safe


def test_removes_the_clear_which_is_unsafe() -> None:
    before = "for x, y in dataset:\n    model.train_on_batch(x, y)\n    tf.keras.backend.clear_session()\n"
    after = "for x, y in dataset:\n    model.train_on_batch(x, y)\n"
    assert fixed(CODE, module(before)) == module(after)
    (finding,) = findings(CODE, module(before))
    assert finding.fix is not None
    assert not finding.fix.safe


def test_leaves_a_call_whose_result_is_used() -> None:
    (finding,) = findings(CODE, module(VERSION_2 + "x = tf.compat.v1.reset_default_graph()\n"))
    assert finding.fix is None


@pytest.mark.parametrize(("layer", "told"), [("Dense(1)", False), ("GRU(8)", True), ("LSTM(8)", True)])
def test_tells_the_cost_only_of_recurrent_layers(layer: str, told: bool) -> None:
    source = "for x, y in dataset:\n    model.train_on_batch(x, y)\n    tf.keras.backend.clear_session()\n"
    assert costs_told(CODE, module(source).replace("Dense(1)", layer)) == [told]
