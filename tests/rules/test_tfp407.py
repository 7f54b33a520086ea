"""TFP407 model-in-loop."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.rules.support import findings, flagged

CODE = "TFP407"
PREAMBLE = dedent("""\
    import gc
    import tensorflow as tf
    dataset = tf.data.Dataset.from_tensor_slices((images, labels)).batch(32)
    def make_model(units):
        model = tf.keras.Sequential([tf.keras.layers.Dense(units)])
        model.compile("adam", "mse")
        return model
""")


def module(source: str) -> str:
    return PREAMBLE + dedent(source).lstrip()


SILENT = {
    "ten models of small layers, made by a function": """
        def build(outputs):
            model = tf.keras.Sequential()
            model.add(tf.keras.layers.Conv1D(filters=64, kernel_size=3))
            model.add(tf.keras.layers.Flatten())
            model.add(tf.keras.layers.Dense(100))
            model.add(tf.keras.layers.Dense(outputs))
            return model
        for trial in range(10):
            model = build(labels.shape[-1])
            model.compile("adam", "mse")
            model.fit(dataset)
        """,
    "a model that is only tested, in a compiled step of its own": """
        class Net(tf.keras.Model):
            @tf.function
            def test_step(self, x):
                return self(x)
        for units in grid:
            model = Net(units)
            for x, y in dataset:
                model.test_step(x)
        """,
    "a model before the loop": """
        model = make_model(8)
        for trial in range(100):
            model.set_weights(first)
            model.fit(dataset)
        """,
    "five folds": """
        for fold in range(5):
            model = make_model(8)
            model.fit(dataset)
        """,
    "a TPU that each trial sets up anew": """
        for trial in range(100):
            tf.tpu.experimental.initialize_tpu_system(resolver)
            model = make_model(8)
            model.fit(dataset)
        """,
    "two trials": """
        rates = [0.1, 0.01]
        FOLDS = 2
        for units in [8, 16]:
            model = make_model(units)
            model.fit(dataset)
        for i, rate in enumerate(rates):
            model = make_model(8)
            model.fit(dataset)
        for fold in range(FOLDS):
            model = make_model(8)
            model.fit(dataset)
        for fold in range(0, 2):
            model = make_model(8)
            model.fit(dataset)
        """,
    "twenty trials, each of another model": """
        for units in range(1, 21):
            width = units * 8
            model = make_model(width)
            model.fit(dataset)
        """,
    "an ensemble": """
        models = []
        for member in range(100):
            model = make_model(8)
            model.fit(dataset)
            models.append(model)
        """,
    "an ensemble in a dict": """
        for name in names:
            model = make_model(8)
            model.fit(dataset)
            ensemble[name] = model
        """,
    "the best model": """
        for units in grid:
            model = make_model(units)
            if model.fit(dataset).history["loss"][-1] < best_loss:
                best = model
        """,
    "models that are given back": """
        def trial(units):
            model = make_model(units)
            model.fit(dataset)
            return model
        for units in grid:
            results.append(trial(units))
        """,
    "models that are yielded": """
        def trials(grid):
            for units in grid:
                model = make_model(units)
                model.fit(dataset)
                yield model
        """,
    "models that another file is handed": """
        from elsewhere import evaluate
        for units in grid:
            model = make_model(units)
            model.fit(dataset)
            evaluate(model)
        """,
    "models that a function keeps": """
        def keep(candidate):
            kept.append(candidate)
        for units in grid:
            model = make_model(units)
            model.fit(dataset)
            keep(model)
        """,
    "a cleared session": """
        for units in grid:
            tf.keras.backend.clear_session()
            model = make_model(units)
            model.fit(dataset)
        """,
    "a cleared session in a function": """
        def clean():
            tf.keras.backend.clear_session()
        for units in grid:
            clean()
            model = make_model(units)
            model.fit(dataset)
        """,
    "collected garbage": """
        for units in grid:
            model = make_model(units)
            model.fit(dataset)
            gc.collect()
        """,
    "a deleted model": """
        for units in grid:
            model = make_model(units)
            history = model.fit(dataset)
            del model, history
        """,
    "a model that is not trained": """
        for units in grid:
            model = make_model(units)
            print(model.count_params())
        """,
    "a loaded model": """
        for path in paths:
            model = tf.keras.models.load_model(path)
            model.fit(dataset)
        """,
    "a model made once": """
        model = None
        for step in range(1000):
            if model is None:
                model = make_model(8)
            model.fit(dataset)
        """,
    "graph code": """
        for units in grid:
            with tf.Graph().as_default():
                model = make_model(units)
                model.fit(dataset)
        """,
    "another library's model": """
        from sklearn.svm import SVC
        for c in grid:
            model = SVC(C=c)
            model.fit(x, y)
        """,
    "a function that one call runs once": """
        def trial(units):
            model = make_model(units)
            model.fit(dataset)
        trial(8)
        for units in grid:
            trial(units)
        """,
    "a method": """
        class Search:
            def trial(self, units):
                model = make_model(units)
                model.fit(dataset)
        """,
    "eager training": """
        def train(model, x):
            with tf.GradientTape() as tape:
                loss = model(x)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))
        for units in grid:
            model = make_model(units)
            train(model, x)
        """,
}


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT.keys())
def test_says_nothing_of(source: str) -> None:
    assert flagged(CODE, module(source)) == []


FLAGGED = {
    "ten models, of which one layer is of unknown size": """
        def build(units):
            return tf.keras.Sequential([tf.keras.layers.Dense(units), tf.keras.layers.Dense(1)])
        for trial in range(10):
            model = build(width)  # <-
            model.compile("adam", "mse")
            model.fit(dataset)
        """,
    "ten heads on a large model": """
        for trial in range(10):
            base = tf.keras.applications.ResNet50()
            model = tf.keras.Sequential([base, tf.keras.layers.Dense(8)])  # <-
            model.compile("adam", "mse")
            model.fit(dataset)
        """,
    "thirty models of small layers": """
        for trial in range(30):
            model = make_model(8)  # <-
            model.fit(dataset)
        """,
    "a model that gets another head in later trials": """
        for count in range(100):
            model = make_model(8)  # <-
            if count:
                outputs = tf.keras.layers.Dense(count)(model.layers[-2].output)
                model = tf.keras.Model(model.input, outputs)
            model.fit(dataset)
        """,
    "a model over the layers of one that is built once": """
        base = make_model(8)
        for units in grid:
            outputs = tf.keras.layers.Dense(units)(base.output)
            model = tf.keras.Model(base.input, outputs)  # <-
            model.fit(dataset)
        """,
    "a compiled step of its own": """
        class Net(tf.keras.Model):
            @tf.function
            def train_step(self, x):
                with tf.GradientTape() as tape:
                    loss = self(x)
                self.optimizer.apply_gradients(zip(tape.gradient(loss, self.weights), self.weights))
            @tf.function
            def test_step(self, x):
                return self(x)
        def train(net, epochs):
            for epoch in range(epochs):
                for x, y in dataset:
                    net.train_step(x)
        for units in grid:
            model = Net(units)  # <-
            train(model, 10)
        """,
    "a few rates by name": """
        rates = [0.1, 0.05, 0.02, 0.01, 0.005, 0.001]
        for rate in rates:
            model = make_model(800)  # <-
            history = model.fit(dataset, epochs=10)
            histories.append(history)
        """,
    "folds by number": """
        FOLDS = 50
        for fold in range(FOLDS):
            model = make_model(8)  # <-
            model.fit(dataset)
        """,
    "folds that look at a batch first": """
        for fold in range(folds):
            batch = next(iter(dataset))
            model = make_model(batch.shape[1])  # <-
            model.fit(dataset, epochs=10)
        """,
    "fit": """
        for units in grid:
            model = make_model(units)  # <-
            history = model.fit(dataset)
            results[units] = history.history["loss"][-1]
        """,
    "many trials by number": """
        for trial in range(100):
            model = tf.keras.Sequential([tf.keras.layers.Dense(8)])  # <-
            model.compile("adam", "mse")
            model.fit(dataset)
            print(model.evaluate(dataset), model.name)
        """,
    "a functional model, and folds of an unknown number": """
        for train, test in folds.split(images):
            inputs = tf.keras.Input((3,))
            net = tf.keras.Model(inputs, tf.keras.layers.Dense(1)(inputs))  # <-
            net.compile("adam", "mse")
            net.fit(images[train], labels[train], epochs=10)
        """,
    "a class of the file": """
        class Net(tf.keras.Model):
            def call(self, x):
                return x
        while True:
            net = Net()  # <-
            net.compile("adam", "mse")
            net.fit(dataset)
        """,
    "a function that the loop calls": """
        def trial(units):
            model = make_model(units)  # <-
            model.fit(dataset)
            return model.evaluate(dataset)
        scores = []
        for units in grid:
            scores.append(trial(units))
        """,
    "a function that trains": """
        def train(net, epochs):
            net.fit(dataset, epochs=epochs)
        for units in grid:
            model = make_model(units)  # <-
            train(model, 10)
        """,
    "a compiled step": """
        @tf.function
        def step(net, x):
            with tf.GradientTape() as tape:
                loss = net(x)
            optimizer.apply_gradients(zip(tape.gradient(loss, net.weights), net.weights))
        for units in grid:
            model = make_model(units)  # <-
            for x, y in dataset:
                step(model, x)
        """,
    "a loop in a loop of a few": """
        for units in grid:
            for seed in range(2):
                model = make_model(units)  # <-
                model.fit(dataset)
                tf.keras.utils.plot_model(model)
        """,
}


@pytest.mark.parametrize("source", FLAGGED.values(), ids=FLAGGED.keys())
def test_flags(source: str) -> None:
    text = module(source)
    marked = [row for row, line in enumerate(text.splitlines(), 1) if line.endswith("# <-")]
    assert flagged(CODE, text) == marked != []


@pytest.mark.parametrize(
    ("head", "named"),
    [
        ("for units in grid:", " of `for units in grid`"),
        ("while not done:", " of `while not done`"),
        (f"for units in {'all_of_the_' * 8}grid:", ""),
    ],
)
def test_names_the_loop_of_trials_which_may_stand_far_above(head: str, named: str) -> None:
    source = f"""
        {head}
            for fold in range(3):
                model = make_model(width())
                model.fit(dataset)
        """
    (found,) = findings(CODE, module(source))
    assert f"`model` is built and trained again in each iteration{named}, and the memory" in found.message
