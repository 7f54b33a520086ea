"""TFP601 debug-left-on."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.rules.support import costs_told, findings, fixed, flagged, notes

CODE = "TFP601"
PREAMBLE = dedent("""\
    import tensorflow as tf
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.Adam()
    model.fit(data)
""")
STEP = """
@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
        {inside}
    gradients = tape.gradient(loss, model.trainable_variables)
    {between}
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss
"""


def module(source: str) -> str:
    return PREAMBLE + dedent(source).lstrip()


def step(inside: str = "pass", between: str = "pass") -> str:
    return STEP.format(inside=inside, between=between)


SILENT = {
    "switches taken back": """
        tf.debugging.enable_check_numerics()
        model.fit(x)
        tf.debugging.disable_check_numerics()
        tf.debugging.set_log_device_placement(True)
        model.fit(x)
        tf.debugging.set_log_device_placement(False)
        """,
    "behind a flag": """
        if args.debug:
            tf.debugging.enable_check_numerics()
            tf.debugging.set_log_device_placement(True)
            tf.debugging.experimental.enable_dump_debug_info("/tmp/log")
            tf.summary.trace_on(graph=True)
        """,
    "false and variable arguments": """
        tf.debugging.set_log_device_placement(False)
        tf.debugging.set_log_device_placement(args.log_placement)
        tf.debugging.set_log_device_placement(*arguments)
        """,
    "a trace that is exported": """
        tf.summary.trace_on(graph=True, profiler=True)
        step(x)
        with writer.as_default():
            tf.summary.trace_export(name="step", step=0, profiler_outdir=logs)
        """,
    "a helper for debugging": """
        def debug_mode():
            tf.debugging.enable_check_numerics()
        """,
    "in a test": """
        class StepTest(tf.test.TestCase):
            def setUp(self):
                tf.debugging.enable_check_numerics()
        """,
    "a check of what is loaded": """
        weights = tf.debugging.check_numerics(tf.io.parse_tensor(data, tf.float32), "weights")
        """,
    "a check in a function that does not train": """
        @tf.function
        def normalize(x):
            return tf.debugging.check_numerics(x / tf.norm(x), "norm")
        """,
    "a check in evaluation": step()
    + """
@tf.function
def evaluate(x):
    return tf.debugging.check_numerics(model(x), "out")
for x, y in dataset:
    train_step(x, y)
    evaluate(x)
""",
    "a check in the step, behind a flag": step(
        'if DEBUG:\n            loss = tf.debugging.check_numerics(loss, "loss")'
    ),
    "a check behind an early exit": step(
        between='if not DEBUG:\n        return loss\n    tf.debugging.check_numerics(loss, "loss")'
    ),
    "a check before the loop": """
        tf.debugging.check_numerics(start, "start")
        for x, y in tf.data.Dataset.from_tensor_slices((a, b)).batch(3):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(x) - y) ** 2)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.variables), model.variables))
        """,
    "a step of a library": """
        class Agent(base.Agent):
            def _train(self, x, y):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean((self.model(x) - y) ** 2)
                tf.debugging.check_numerics(loss, "loss")
                gradients = tape.gradient(loss, self.model.trainable_variables)
                self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
        """,
    "other libraries": """
        import other
        other.check_numerics(x)
        other.trace_on()
        other.enable_check_numerics()
        """,
}

FLAGGED = {
    "numerics of everything": """
        tf.debugging.enable_check_numerics()  # <-
        model.fit(x)
        """,
    "in the main function": """
        def main():
            tf.debugging.enable_check_numerics(stack_height_limit=30)  # <-
            model.fit(x)
        if __name__ == "__main__":
            main()
        """,
    "device placement": """
        tf.debugging.set_log_device_placement(True)  # <-
        """,
    "a dump": """
        tf.debugging.experimental.enable_dump_debug_info("/tmp/log", tensor_debug_mode="FULL_HEALTH")  # <-
        """,
    "a trace that is never exported": """
        tf.summary.trace_on(graph=True, profiler=True)  # <-
        model.fit(x)
        """,
    "imported by name": """
        from tensorflow.debugging import enable_check_numerics
        enable_check_numerics()  # <-
        """,
    "a check under the tape": step('loss = tf.debugging.check_numerics(loss, "loss")  # <-'),
    "a check of the gradients": step(
        between='gradients = [tf.debugging.check_numerics(g, "g") for g in gradients]  # <-'
    ),
    "a check that nobody uses": step(between='tf.debugging.check_numerics(loss, "loss")  # <-'),
    "a check in a Keras train step": """
        class Net(tf.keras.Model):
            def train_step(self, data):
                x, y = data
                with tf.GradientTape() as tape:
                    loss = tf.debugging.check_numerics(self.compute_loss(y=y, y_pred=self(x)), "l")  # <-
                gradients = tape.gradient(loss, self.trainable_variables)
                self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
                return {"loss": loss}
        """,
    "a check in what the step calls": """
        def loss_of(x, y):
            return tf.debugging.check_numerics(tf.reduce_mean((model(x) - y) ** 2), "loss")  # <-
        @tf.function
        def train_step(x, y):
            with tf.GradientTape() as tape:
                loss = loss_of(x, y)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.variables), model.variables))
        """,
    "a check in an inline step": """
        for x, y in tf.data.Dataset.from_tensor_slices((a, b)).batch(3):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(x) - y) ** 2)
            tf.debugging.check_numerics(loss, "loss")  # <-
            optimizer.apply_gradients(zip(tape.gradient(loss, model.variables), model.variables))
        """,
}

FIXED = {
    "a switch": (
        "model.build()\n\ntf.debugging.enable_check_numerics()\n\nmodel.fit(x)\n",
        "model.build()\n\nmodel.fit(x)\n",
    ),
    "a switch with comments": (
        "# find the NaN\ntf.debugging.enable_check_numerics()  # slow\nmodel.fit(x)\n",
        "# find the NaN\n# slow\nmodel.fit(x)\n",
    ),
    "a value checked in its place": (
        step('loss = tf.debugging.check_numerics(loss, "loss")\n        tf.print(loss)'),
        step("tf.print(loss)"),
    ),
    "a value checked under a new name": (
        step('checked = tf.debugging.check_numerics(tensor=loss, message="loss")'),
        step("checked = loss"),
    ),
    "a computation": (
        step('half = tf.debugging.check_numerics(loss + 1.0, "loss") / 2.0'),
        step("half = (loss + 1.0) / 2.0"),
    ),
    "each gradient under a new name": (
        step(between='checked = [tf.debugging.check_numerics(g, f"g") for g in gradients]'),
        step(between="checked = [g for g in gradients]"),
    ),
    "a check that nobody uses": (
        step(between='tf.debugging.check_numerics(loss, "loss")\n    tf.print("x")'),
        step(between='tf.print("x")'),
    ),
}

REFUSED = {
    "there is a comment in it": step(
        between="loss = tf.debugging.check_numerics(\n        loss,  # the sum\n        'l')"
    ),
    "the error that it raises is caught": step(between="loss = tf.debugging.check_numerics(loss, 'l')")
    + "try:\n    step(x, y)\nexcept tf.errors.InvalidArgumentError:\n    pass\n",
    "the check is one of a list": step(
        between='with tf.control_dependencies([tf.debugging.check_numerics(loss, "l")]):\n        pass'
    ),
    "what it checks can't be seen here": step(between="tf.debugging.check_numerics(*arguments)"),
    "its result is used": "x = tf.debugging.enable_check_numerics()",
}


@pytest.mark.parametrize("source", SILENT.values(), ids=list(SILENT))
def test_it_leaves_alone(source: str) -> None:
    assert flagged(CODE, module(source)) == []


def test_it_leaves_a_file_alone_that_does_not_train() -> None:
    source = (
        "import tensorflow as tf\ntf.debugging.set_log_device_placement(True)\nprint(tf.constant(1) + 1)\n"
    )
    assert flagged(CODE, source) == []


@pytest.mark.parametrize("source", FLAGGED.values(), ids=list(FLAGGED))
def test_it_flags(source: str) -> None:
    text = module(source)
    rows = [row for row, line in enumerate(text.splitlines(), 1) if line.endswith("# <-")]
    assert flagged(CODE, text) == rows


@pytest.mark.parametrize(("source", "expected"), FIXED.values(), ids=list(FIXED))
def test_its_fix_gives(source: str, expected: str) -> None:
    assert fixed(CODE, module(source)) == module(expected)


@pytest.mark.parametrize(("reason", "source"), REFUSED.items())
def test_it_refuses_to_fix(reason: str, source: str) -> None:
    (note,) = notes(CODE, module(source))
    assert note.startswith(f"no fix: {reason}")


@pytest.mark.parametrize(
    ("switch", "shown"),
    [
        ("tf.debugging.enable_check_numerics()", True),
        ("tf.debugging.set_log_device_placement(True)", False),
        ("tf.summary.trace_on()", False),
    ],
)
def test_only_what_was_measured_has_a_cost(switch: str, shown: bool) -> None:
    assert costs_told(CODE, f"import tensorflow as tf\n{switch}\n{PREAMBLE}") == [shown]


@pytest.mark.parametrize(
    ("switch", "nil"),
    [
        ("tf.debugging.set_log_device_placement(True)", True),
        ("tf.summary.trace_on(graph=True)", True),
        ("tf.summary.trace_on(graph=True, profiler=True)", False),
        ("tf.debugging.enable_check_numerics()", False),
    ],
)
@pytest.mark.parametrize("decorator", ["@tf.function\n", ""])
def test_says_what_costs_next_to_nothing_in_a_compiled_step(switch: str, nil: bool, decorator: str) -> None:
    source = f"""\
import tensorflow as tf
{switch}
{decorator}def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
for x, y in dataset:
    train_step(x, y)
"""
    (finding,) = findings(CODE, source)
    is_nil = nil and bool(decorator)
    assert ("though it costs next to nothing in a compiled step" in finding.message) is is_nil
    assert finding.minor is is_nil
