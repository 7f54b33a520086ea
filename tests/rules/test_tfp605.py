"""TFP605 double-precision."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tests.rules.support import findings, fixed, flagged, notes
from tflint_perf.config.settings import Settings
from tflint_perf.lint.check import check_source
from tflint_perf.project.linting import lint_files
from tflint_perf.text.source import Source

CODE = "TFP605"
PREAMBLE = """\
import numpy as np
import tensorflow as tf
from data import load
rng = np.random.default_rng(1)
(x_train, y_train), (x_test, y_test) = tf.keras.datasets.mnist.load_data()
model = tf.keras.Sequential()
"""
ROWS_BEFORE = PREAMBLE.count("\n")


def module(source: str) -> str:
    return PREAMBLE + dedent(source).lstrip("\n")


def rows(source: str) -> list[int]:
    """The rows flagged in source below the preamble, counted from 1."""
    return [row - ROWS_BEFORE for row in flagged(CODE, module(source))]


def fitted(images: str) -> str:
    """A model that is trained on batches of what an expression gives."""
    return (
        f"images = {images}\n"
        "dataset = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(99).batch(32)\n"
        "model.fit(dataset)\n"
    )


SILENT = {
    "targets, which only a loss is given": """
        def compare(x, y):
            return tf.reduce_mean(tf.keras.losses.mean_squared_error(x, y))
        targets = rng.normal(size=(9, 28))
        wanted = tf.data.Dataset.from_tensor_slices(targets).batch(32)
        given = tf.data.Dataset.from_tensor_slices(load()).batch(32)
        for step, (y, x) in enumerate(zip(wanted, given)):
            with tf.GradientTape() as tape:
                loss = compare(y, model(x))
            update(tape.gradient(loss, model.trainable_variables))
        """,
    "a policy of another type": """
        tf.keras.backend.set_floatx("float16")
        tf.keras.mixed_precision.set_global_policy("mixed_float16")
        """,
    "a policy with a reason behind it": 'tf.keras.backend.set_floatx("float64")  # the solver needs it',
    "a policy with a reason above it": '# the solver needs it\ntf.keras.backend.set_floatx("float64")',
    "a policy for differential equations": 'from scipy.integrate import odeint\ntf.keras.backend.set_floatx("float64")',
    "a policy for an optimizer of second order": 'tf.keras.backend.set_floatx("float64")\ndef lbfgs(step):\n    return step()',
    "a policy that is chosen": (
        'if precise:\n    tf.keras.backend.set_floatx("float64")\nelse:\n    tf.keras.backend.set_floatx("float32")'
    ),
    "a policy that whoever makes the layer asks for": """
        class Block(tf.keras.layers.Layer):
            def __init__(self, dtype=tf.float32):
                if dtype == tf.float64:
                    tf.keras.backend.set_floatx("float64")
        """,
    "a policy that an option asks for": (
        'if options.precision == "float64":\n    tf.keras.backend.set_floatx("float64")'
    ),
    "a policy from a setting": "tf.keras.backend.set_floatx(config.dtype)",
    "another function of that name": 'other.set_floatx("float64")',
    "an array that is cast": fitted('rng.normal(size=(9, 28)).astype("float32")'),
    "an array made in float32": fitted("np.zeros((9, 28), dtype=np.float32)"),
    "an array made in float32 by position": fitted("np.zeros((9, 28), np.float32)"),
    "draws in float32": fitted("rng.random((9, 28), dtype=np.float32)"),
    "integers": fitted("rng.integers(0, 255, (9, 28))"),
    "8-bit images": fitted("x_train"),
    "8-bit images divided as float32": fitted("x_train.astype(np.float32) / 255"),
    "labels divided": fitted("y_train / 10"),
    "an array of unknown type": fitted("np.load('images.npy')"),
    "an array of unknown type divided": fitted("np.load('images.npy') / 255.0"),
    "an array from elsewhere": fitted("load() / 255.0"),
    "a tensor": fitted("tf.zeros((9, 28)) / 255.0"),
    "a sum with something unknown": fitted("rng.normal(size=9) + load()"),
    "one number": fitted("np.random.rand()"),
    "an array that `fit` gets, which casts it once": "model.fit(rng.normal(size=(9, 28)), labels)",
    "an array that a map may cast": """
        images = rng.normal(size=(9, 28))
        model.fit(tf.data.Dataset.from_tensor_slices((images, labels)).map(load).batch(32))
        """,
    "an array that is evaluated on": """
        images = rng.normal(size=(9, 28))
        model.evaluate(tf.data.Dataset.from_tensor_slices((images, labels)).batch(32))
        """,
    "labels in float64": """
        targets = rng.normal(size=(9, 1))
        model.fit(tf.data.Dataset.from_tensor_slices((x, targets)).batch(32))
        """,
    "noise that is drawn for each step": """
        for step in range(1000):
            noise = np.random.normal(size=(32, 100))
            model.train_on_batch(noise, y)
        """,
    "an array with a reason behind it": (
        "images = rng.normal(size=(9, 28))  # in double precision\n"
        "model.fit(tf.data.Dataset.from_tensor_slices((images, labels)).batch(32))"
    ),
    "an array that has two makers": """
        images = rng.normal(size=(9, 28))
        if small:
            images = load()
        model.fit(tf.data.Dataset.from_tensor_slices((images, labels)).batch(32))
        """,
    "a file that asks for double precision": fitted("rng.normal(size=(9, 28))")
    + "y = tf.cast(z, tf.float64)",
    "a model that is not Keras's": """
        net = load()
        images = rng.normal(size=(9, 28))
        net.fit(tf.data.Dataset.from_tensor_slices((images, labels)).batch(32))
        """,
    "stars": fitted("np.zeros(*shape)") + "tf.keras.backend.set_floatx(*args)",
}
REASONS = ["# Note: stability", "# float64 (stability)", "# stability"]
POLICIES = [
    '# tf.config.set_soft_device_placement(True)\ntf.keras.backend.set_floatx("float64")',
    'tf.keras.backend.set_floatx("float64")',
    "tf.keras.backend.set_floatx(value='float64')",
    'tf.keras.config.set_dtype_policy("float64")',
    'tf.keras.mixed_precision.set_global_policy("float64")',
    'from keras import backend as K\nK.set_floatx("float64")',
    'DTYPE = "float64"\nif DTYPE == "float64":\n    tf.keras.backend.set_floatx("float64")',
]
ARRAYS = [
    "rng.normal(size=(9, 28))",
    "np.random.rand(9, 28)",
    "np.random.uniform(0, 1, (9, 28)) * 2 - 1",
    "np.zeros((9, 28))",
    "np.linspace(0, 1, 100)",
    "np.loadtxt('data.csv')",
    "x_train / 255.0",
    "(x_train / 127.5) - 1",
    "x_train[..., np.newaxis] / 255",
    "(x_train / 255.0).reshape(-1, 784)",
    "(x_train.reshape(-1, 784) - 127.5) / 127.5",
    "np.expand_dims(x_train / 255.0, -1)",
    "np.concatenate([np.random.randn(9, 2), np.random.randn(9, 2) + 3])",
]


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT.keys())
def test_says_nothing_of(source: str) -> None:
    assert rows(source) == []


@pytest.mark.parametrize("reason", REASONS)
def test_a_comment_that_says_why_is_none_of_switched_off_code(reason: str) -> None:
    policy = 'tf.keras.backend.set_floatx("float64")'
    assert rows(f"{reason}\n{policy}\n") == rows(f"{policy}  {reason}\n") == []


@pytest.mark.parametrize("source", POLICIES)
def test_flags_policies(source: str) -> None:
    assert rows(source) == [source.count("\n") + 1]


@pytest.mark.parametrize("images", ARRAYS)
def test_flags_arrays_where_they_are_fed(images: str) -> None:
    assert rows(fitted(images)) == [2]


FED = {
    "an array alone": """
        images = rng.normal(size=(9, 28))
        for batch in tf.data.Dataset.from_tensor_slices(images).batch(32):  # <-
            model.train_on_batch(batch)
        """,
    "one of two, by the same statement": """
        x_train, x_test = x_train / 255.0, x_test / 255.0
        train = tf.data.Dataset.from_tensor_slices((x_train, y_train)).batch(32)  # <-
        test = tf.data.Dataset.from_tensor_slices((x_test, y_test)).batch(32)
        model.fit(train, epochs=5)
        """,
    "slices of an array": """
        images = rng.normal(size=(9, 28))
        for start in range(0, 9999, 32):
            model.train_on_batch(images[start : start + 32], labels[start : start + 32])  # <-
        """,
    "slices with a name": """
        images = rng.normal(size=(9, 28))
        for start in range(0, 9999, 32):
            x = images[start : start + 32]  # <-
            model.train_on_batch(x, labels[start : start + 32])
        """,
    "images of a part of a data set": """
        train, test = tf.keras.datasets.fashion_mnist.load_data()
        images, labels = train
        images = images / 255.0
        model.fit(tf.data.Dataset.from_tensor_slices((images, labels)).batch(32))  # <-
        """,
}


@pytest.mark.parametrize("source", FED.values(), ids=FED.keys())
def test_flags(source: str) -> None:
    lines = dedent(source).strip("\n").split("\n")
    marked = [row for row, line in enumerate(lines, 1) if "# <-" in line]
    assert rows("\n".join(line.replace("  # <-", "") for line in lines)) == marked != []


@pytest.mark.parametrize("comment", ["# noqa: TFP605", "# NOQA", "# tflint-perf: ignore[TFP605]"])
def test_a_suppression_has_something_to_suppress(comment: str) -> None:
    text = module(f'tf.keras.backend.set_floatx("float64")  {comment}\n')
    settings = Settings(root=Path(), rules=frozenset({CODE, "TFP001"}))
    checked = check_source(Source.from_bytes(text.encode(), "train.py"), settings)
    assert (checked.findings, checked.suppressed) == ((), 1)


FIXES = {
    "a call": ("rng.normal(size=(9, 28))", 'rng.normal(size=(9, 28)).astype("float32")'),
    "arithmetic": ("x_train / 255.0", '(x_train / 255.0).astype("float32")'),
    "arithmetic in parentheses": ("(x_train / 255.0)", '(x_train / 255.0).astype("float32")'),
}


@pytest.mark.parametrize(("before", "after"), FIXES.values(), ids=FIXES.keys())
def test_casts_where_the_array_is_made(before: str, after: str) -> None:
    assert fixed(CODE, module(fitted(before))) == module(fitted(after))


def test_casts_one_of_two_that_a_statement_makes() -> None:
    source = """
        x_train, x_test = x_train / 255.0, x_test / 255.0
        model.fit(tf.data.Dataset.from_tensor_slices((x_train, y_train)).batch(32))
        """
    assert '= (x_train / 255.0).astype("float32"), x_test / 255.0' in fixed(CODE, module(source))


def test_never_calls_the_fix_safe_because_values_are_rounded() -> None:
    (finding,) = findings(CODE, module(fitted("rng.normal(size=(9, 28))")))
    assert finding.fix is not None
    assert not finding.fix.safe


def test_has_no_fix_for_a_policy() -> None:
    assert notes(CODE, module('tf.keras.backend.set_floatx("float64")')) == []
    (finding,) = findings(CODE, module('tf.keras.backend.set_floatx("float64")'))
    assert finding.fix is None


def test_an_array_that_is_drawn_from_an_iterator_on_each_step_is_flagged() -> None:
    source = """
        images = x_train / 255.0
        batches = iter(tf.data.Dataset.from_tensor_slices(images).shuffle(99).batch(32).repeat())
        for step in range(1000):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(next(batches)))
            variables = model.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        """
    assert rows(source) == [2]


@pytest.mark.parametrize(("made", "rows"), [("tf.float64", []), ("tf.float32", [3])])
def test_a_policy_may_be_for_modules_that_compute_in_double_precision(
    tmp_path: Path, made: str, rows: list[int]
) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "tables.py").write_text(f"import tensorflow as tf\nTABLE = tf.constant([1.0, 0.5], {made})\n")
    (tmp_path / "train.py").write_text(
        "import tables\nimport tensorflow as tf\ntf.keras.backend.set_floatx('float64')\n"
        "tf.keras.Sequential().fit(x, y)\n"
    )
    settings = Settings(root=tmp_path, rules=frozenset({"TFP605"}), project_root=tmp_path)
    (result,) = lint_files([tmp_path / "train.py"], settings, 1)
    assert [finding.start.row for finding in result.findings] == rows


def test_the_inputs_beside_targets_are_cast() -> None:
    source = """
        inputs = rng.normal(size=(9, 28))
        wanted = tf.data.Dataset.from_tensor_slices(load()).batch(32)
        given = tf.data.Dataset.from_tensor_slices(inputs).batch(32)
        for step, (y, x) in enumerate(zip(wanted, given)):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(y - model(x)))
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        """
    assert rows(source) == [3]
