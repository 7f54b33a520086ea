"""TFP104 run-eagerly."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tests.rules.support import costs_told, findings, fixed, flagged, notes
from tflint_perf.config.settings import Settings
from tflint_perf.lint.fix import fix_source
from tflint_perf.text.source import Source

CODE = "TFP104"
PREAMBLE = dedent("""\
    import tensorflow as tf
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    doubled = tf.function(lambda x: 2 * x)
""")


def module(source: str) -> str:
    return PREAMBLE + dedent(source).lstrip()


SILENT = {
    "a model that is only called": """
        model.compile("adam", "mse", run_eagerly=True)
        model.summary()
        for x in dataset:
            print(model(x, training=True))
        """,
    "a model of a file, whose optimizer is asked": """
        net = tf.keras.models.load_model("best.keras")
        rate = net.optimizer.get_config()["learning_rate"]
        net.compile("adam", "mse", run_eagerly=True)
        drawn = [net(x) for _ in range(9)]
        """,
    "a model that is compiled": """
        model.compile("adam", "mse")
        """,
    "a false argument": """
        model.compile("adam", "mse", run_eagerly=False)
        tf.config.run_functions_eagerly(False)
        """,
    "a variable argument": """
        model.compile("adam", "mse", run_eagerly=args.eager)
        tf.config.run_functions_eagerly(DEBUG)
        """,
    "arguments from elsewhere": """
        model.compile(**options)
        tf.config.run_functions_eagerly(*options)
        tf.config.run_functions_eagerly()
        """,
    "behind a flag": """
        if args.debug:
            tf.config.run_functions_eagerly(True)
            tf.data.experimental.enable_debug_mode()
            model.compile("adam", "mse", run_eagerly=True)
        """,
    "behind any condition": """
        if platform.machine() == "arm64":
            tf.config.run_functions_eagerly(True)
        args.eager and tf.config.run_functions_eagerly(True)
        """,
    "in a branch": """
        if args.fast:
            model.compile("adam", "mse")
        else:
            model.compile("adam", "mse", run_eagerly=True)
        """,
    "in a case": """
        match mode:
            case "debug":
                tf.config.run_functions_eagerly(True)
        """,
    "behind an early return": """
        def main(args):
            if not args.debug:
                return train()
            tf.config.run_functions_eagerly(True)
        """,
    "where compiling failed": """
        try:
            model.fit(x)
        except ValueError:
            tf.config.run_functions_eagerly(True)
        """,
    "switched back": """
        tf.config.run_functions_eagerly(True)
        step(x)
        tf.config.run_functions_eagerly(False)
        """,
    "set back to what it was": """
        before = tf.config.functions_run_eagerly()
        tf.config.run_functions_eagerly(True)
        step(x)
        tf.config.run_functions_eagerly(before)
        """,
    "in a function for debugging": """
        def enable_eager():
            tf.config.run_functions_eagerly(True)
        def debug_model(model):
            model.compile("adam", "mse", run_eagerly=True)
        """,
    "in a function that is called behind a flag": """
        def prepare():
            tf.config.run_functions_eagerly(True)
        if args.debug:
            prepare()
        """,
    "in a test": """
        class LayerTest(tf.test.TestCase):
            def setUp(self):
                tf.config.run_functions_eagerly(True)
            def check_fit(self):
                model.compile("adam", "mse", run_eagerly=True)
        """,
    "another library's function of that name": """
        import other
        other.run_functions_eagerly(True)
        other.enable_debug_mode()
        """,
    "a lambda": """
        switch = lambda: tf.config.run_functions_eagerly(True)
        """,
}

FLAGGED = {
    "a model that is called and evaluated": """
        model.compile("adam", "mse", run_eagerly=True)  # <-
        model(x)
        model.test_on_batch(x, y)
        """,
    "a model that is called and handed over": """
        model.compile("adam", "mse", run_eagerly=True)  # <-
        model(x)
        train(model)
        """,
    "a model that is called once to have weights, for other files": """
        model(x)
        model.compile("adam", "mse", run_eagerly=True)  # <-
        """,
    "a model's compile": """
        model.compile(optimizer="adam", loss="mse", run_eagerly=True)  # <-
        model.fit(x, y)
        """,
    "the compile of an unknown model": """
        def train(model):
            model.compile("adam", "mse", run_eagerly=True)  # <-
        """,
    "on a line of its own": """
        model.compile(
            optimizer="adam",
            run_eagerly=True,  # <-
        )
        """,
    "in a class of one's own": """
        class Net(tf.keras.Model):
            def __init__(self):
                super().__init__()
                self.compile("adam", "mse", run_eagerly=True)  # <-
        """,
    "functions run eagerly": """
        tf.config.run_functions_eagerly(True)  # <-
        """,
    "under the old name": """
        tf.config.experimental_run_functions_eagerly(True)  # <-
        """,
    "by keyword": """
        tf.config.run_functions_eagerly(run_eagerly=True)  # <-
        """,
    "imported by name": """
        from tensorflow.config import run_functions_eagerly
        run_functions_eagerly(True)  # <-
        """,
    "in the main function": """
        def main():
            tf.config.run_functions_eagerly(True)  # <-
        if __name__ == "__main__":
            main()
        """,
    "in a function that refuses some data": """
        def train(x, y):
            if len(x) != len(y):
                raise ValueError("not as many")
            tf.config.run_functions_eagerly(True)  # <-
        train(x, y)
        """,
    "behind the main guard": """
        if __name__ == "__main__":
            tf.config.run_functions_eagerly(True)  # <-
        """,
    "pipelines in debug mode": """
        tf.data.experimental.enable_debug_mode()  # <-
        """,
    "both switches": """
        tf.config.run_functions_eagerly(True)  # <-
        tf.data.experimental.enable_debug_mode()  # <-
        """,
}

FIXED = {
    "the last argument": (
        'model.compile("adam", "mse", run_eagerly=True)\n',
        'model.compile("adam", "mse")\n',
    ),
    "an argument between others": (
        'model.compile("adam", run_eagerly=True, loss="mse")\n',
        'model.compile("adam", loss="mse")\n',
    ),
    "a switch": (
        "tf.config.run_functions_eagerly(True)\nmodel.fit(x)\n",
        "model.fit(x)\n",
    ),
    "a switch with a comment behind it": (
        "tf.config.run_functions_eagerly(True)  # to find the bug\nmodel.fit(x)\n",
        "# to find the bug\nmodel.fit(x)\n",
    ),
    "the only statement of a function": (
        "def main():\n    tf.data.experimental.enable_debug_mode()\nmain()\n",
        "def main():\n    pass\nmain()\n",
    ),
    "a step that can be compiled": (
        """\
        @tf.function
        def step(x):
            return model(x)
        tf.config.run_functions_eagerly(True)
        step(x)
        """,
        """\
        @tf.function
        def step(x):
            return model(x)
        step(x)
        """,
    ),
    "a loss that can be compiled": (
        """\
        def loss(y, p):
            return tf.reduce_mean(tf.square(y - p))
        model.compile("adam", loss, run_eagerly=True)
        """,
        """\
        def loss(y, p):
            return tf.reduce_mean(tf.square(y - p))
        model.compile("adam", loss)
        """,
    ),
}

REFUSED = {
    "a train step that reads values": """
        class Net(tf.keras.Model):
            def train_step(self, data):
                print(self(data).numpy())
                return {}
        net = Net()
        net.compile("adam", run_eagerly=True)
        """,
    "a loss in NumPy": """
        import numpy as np
        def loss(y, p):
            return np.mean(np.square(y.numpy() - p.numpy()))
        model.compile("adam", loss=loss, run_eagerly=True)
        """,
    "a metric in NumPy": """
        import numpy as np
        def score(y, p):
            return np.mean(y.numpy() == p.numpy())
        model.compile("adam", "mse", metrics=["mae", score], run_eagerly=True)
        """,
    "a metric that keeps tensors in a list": """
        class Correlation(tf.keras.metrics.Metric):
            def __init__(self):
                super().__init__()
                self.kept = []
            def update_state(self, y, p, sample_weight=None):
                self.kept.append(y * p)
            def result(self):
                return tf.reduce_mean(tf.concat(self.kept, 0))
        model.compile("adam", "mse", metrics=[Correlation()], run_eagerly=True)
        """,
    "a compiled function that reads values": """
        @tf.function
        def step(x):
            return model(x).numpy()
        tf.config.run_functions_eagerly(True)
        step(x)
        """,
    "a wrapped function that reads values": """
        def step(x):
            return model(x).numpy()
        tf.config.run_functions_eagerly(True)
        compiled = tf.function(step)
        """,
    "a number of each step": """
        @tf.function
        def step(x, rate):
            return model(x) * rate
        tf.config.run_functions_eagerly(True)
        for i in range(1000):
            step(x, 0.1 / (i + 1))
        """,
    "a list of each step": """
        @tf.function
        def step(rows):
            return model(tf.stack(rows))
        tf.config.run_functions_eagerly(True)
        for i in range(1000):
            step([float(value) for value in x])
        """,
    **{
        f"an object of each step, {how}": f"""
        class Batch:
            def __init__(self, x):
                self.x = x
        @tf.function
        def step(batch):
            return model(batch.x)
        tf.config.run_functions_eagerly(True)
        batches = [Batch(x) for x in inputs]
        for i, batch in enumerate(batches):
            step({given})
        """
        for how, given in {
            "made there": "Batch(inputs[i])",
            "from a loop": "batch",
            "from a list": "batches[i]",
        }.items()
    },
    "a map that reads values": """
        def parse(x):
            return x.numpy()
        tf.data.experimental.enable_debug_mode()
        dataset = tf.data.Dataset.range(3).map(parse)
        """,
}


@pytest.mark.parametrize("source", SILENT.values(), ids=list(SILENT))
def test_it_leaves_alone(source: str) -> None:
    assert flagged(CODE, module(source)) == []


def test_it_leaves_alone_a_switch_that_acts_on_nothing() -> None:
    """Functions of `tf.data` are compiled whatever it says."""
    source = """
        import tensorflow as tf
        tf.config.run_functions_eagerly(True)
        for image in tf.data.Dataset.from_tensor_slices(images).map(resized):
            images.append(image)
        """
    assert flagged(CODE, dedent(source)) == []
    assert flagged(CODE, dedent(source).replace("images.append(", "model.fit(")) == [3]
    settings = "\nimport tensorflow as tf\ntf.config.run_functions_eagerly(True)\n"
    assert flagged(CODE, settings) == [3]  # whoever imports it may have one


@pytest.mark.parametrize("source", FLAGGED.values(), ids=list(FLAGGED))
def test_it_flags(source: str) -> None:
    text = module(source)
    rows = [row for row, line in enumerate(text.splitlines(), 1) if line.endswith("# <-")]
    assert flagged(CODE, text) == rows


@pytest.mark.parametrize(("source", "expected"), FIXED.values(), ids=list(FIXED))
def test_its_fix_gives(source: str, expected: str) -> None:
    assert fixed(CODE, module(source)) == module(expected)


def test_numbers_become_tensors_before_functions_are_compiled_again() -> None:
    text = module(REFUSED["a number of each step"])
    rules = frozenset({CODE, "TFP202"})
    settings = Settings(root=Path(), rules=rules, fixable=rules, fix="apply", unsafe_fixes=True)
    done = fix_source(Source.from_bytes(text.encode(), "train.py"), settings)
    assert done.remaining == ()
    assert "step(x, tf.constant(0.1 / (i + 1)))" in done.source.text
    assert "run_functions_eagerly" not in done.source.text


@pytest.mark.parametrize("source", REFUSED.values(), ids=list(REFUSED))
def test_it_does_not_compile_what_cannot_be(source: str) -> None:
    (note,) = notes(CODE, module(source))
    assert "would be compiled, but" in note
    (found,) = findings(CODE, module(source))
    name = note.split("`")[1]
    assert found.message.partition("; ")[2] == f"remove it once `{name}` can be compiled"


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ('model.compile("adam", "mse", run_eagerly=True)', True),
        ('model.compile("adam", "mse", run_eagerly=True)\nmodel.evaluate(x, y)', False),
        ('model.load_weights(path)\nmodel.compile("adam", "mse", run_eagerly=True)', False),
        ('model.load_weights(path)\nmodel.compile("adam", "mse", run_eagerly=True)\nmodel.fit(x, y)', True),
        ('model.compile("adam", "mse", run_eagerly=True)\nmodel.fit(x, y)\nmodel.evaluate(x, y)', True),
        ('model.fit(x, y)\nmodel.compile("adam", "mse", run_eagerly=True)\nmodel.predict(x)', False),
        ('model.add(LSTM(8))\nmodel.compile("adam", "mse", run_eagerly=True)\nmodel.fit(x, y)', False),
        ("tf.config.run_functions_eagerly(True)", False),
        ("tf.data.experimental.enable_debug_mode()", False),
    ],
)
def test_tells_the_cost_only_of_the_switch_of_a_model(source: str, told: bool) -> None:
    assert costs_told(CODE, module(source)) == [told]


MAPPED = """
import tensorflow as tf
def scale(x):
    return tf.cast(int(x / 2), tf.float32)
tf.config.run_functions_eagerly(True)
dataset = tf.data.Dataset.range(9).map(scale)
"""


def test_what_a_dataset_is_given_is_compiled_whatever_the_switch_says() -> None:
    (found,) = findings(CODE, MAPPED + "model = tf.keras.Sequential()\nmodel.fit(dataset)\n")
    assert found.message.endswith("; remove it")


# What Keras is to train on; `{set_shape}` stands behind what Python gives.
_READ_BY_PYTHON = """
        def load(path):
            x, y = tf.py_function(read, [path], [tf.float32, tf.float32])
            {set_shape}
            return x, y
"""
_TRAINED_ON = """
        dataset = tf.data.Dataset.from_tensor_slices(paths).map(load).shuffle(99).batch(32)
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile("adam", "mse", run_eagerly=True)
        model.fit({fitted})
"""
SHAPES = {
    "none": ("", "dataset", False),
    "set in the map": ("x.set_shape([4]), y.set_shape([1])", "dataset", True),
    "set in another map": ("", "dataset.map(lambda x, y: (tf.ensure_shape(x, [None, 4]), y))", True),
    "given as tensors": ("x, y = tf.reshape(x, [4]), tf.reshape(y, [1])", "dataset", True),
    "another dataset": ("", "tf.data.Dataset.from_tensor_slices((x, y)).batch(32)", True),
}


@pytest.mark.parametrize(("given", "fitted", "are_known"), SHAPES.values(), ids=SHAPES)
def test_keras_compiles_no_step_for_a_dataset_whose_shapes_are_open(
    given: str, fitted: str, are_known: bool
) -> None:
    source = "import tensorflow as tf\n" + dedent(
        _READ_BY_PYTHON.format(set_shape=given) + _TRAINED_ON.format(fitted=fitted)
    )
    (found,) = findings(CODE, source)
    remedy = found.message.partition("; ")[2].partition(" (rule's")[0]
    if are_known:
        assert remedy == "remove it"
        assert found.fix is not None
    else:
        assert (
            remedy == "remove it once what `tf.py_function` gives for `dataset` has a shape, by `set_shape`"
        )
        assert found.fix is None
