"""Bold fixes: what a device can do goes into a compiled function, what only the host can do stays."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from tests.rules.support import costs_told
from tflint_perf.config.settings import Settings
from tflint_perf.lint.check import check_source
from tflint_perf.testing import findings, fixed
from tflint_perf.text.source import Source

HEAD = """\
import numpy as np
import tensorflow as tf


class Agent:
    def __init__(self):
        self.gamma = 0.99
        self.action = None
        self.losses = []
        self.model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
        self.optimizer = tf.keras.optimizers.Adam()

"""
TAIL = """

agent = Agent()
for step in range(10_000):
    agent.action = choose(step)
    agent.learn(*memory.last())
"""


def split(method: str) -> str:
    """What becomes of a method that a loop calls: the text between the constructor and the loop."""
    source = HEAD + "    " + dedent(method).strip().replace("\n", "\n    ") + TAIL
    text = fixed("TFP101", source, bold=True)
    assert text.startswith(HEAD)
    assert text.endswith(TAIL)
    return dedent(text[len(HEAD) : -len(TAIL)]) + "\n"


def refusal(code: str, source: str) -> str:
    """Why there is no bold fix of the only finding."""
    source = dedent(source)
    settings = Settings(None, frozenset({code}), fixable=frozenset({code}), bold_fixes=True)  # type: ignore[arg-type]
    (finding,) = check_source(Source.from_bytes(source.encode(), "example.py"), settings).findings
    assert finding.fix is None
    return finding.note or ""


def test_python_numbers_are_handed_in_as_tensors_and_conversions_stay() -> None:
    assert split("""
        def learn(self, state, reward, after, done):
            state = tf.convert_to_tensor([state], dtype=tf.float32)
            with tf.GradientTape() as tape:
                # the temporal difference
                delta = reward + self.gamma * self.model(after) * (1 - int(done)) - self.model(state)
                loss = tf.reduce_mean(delta**2)
            gradients = tape.gradient(loss, self.model.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
            self.losses.append(loss.numpy())
    """) == dedent("""\
        @tf.function(reduce_retracing=True)
        def _train_step(self, reward, after, done, state):
            with tf.GradientTape() as tape:
                # the temporal difference
                delta = reward + self.gamma * self.model(after) * (1 - done) - self.model(state)
                loss = tf.reduce_mean(delta**2)
            gradients = tape.gradient(loss, self.model.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
            return loss

        def learn(self, state, reward, after, done):
            state = tf.convert_to_tensor([state], dtype=tf.float32)
            loss = self._train_step(
                tf.cast(reward, tf.float32),
                tf.convert_to_tensor(after),
                tf.cast(int(done), tf.float32),
                state,
            )
            self.losses.append(loss.numpy())
        """)


STEP = """
gradients = tape.gradient(loss, self.model.trainable_variables)
self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
"""


def step(under_tape: str, behind: str = "", above: str = "") -> str:
    """A method `learn(self, x, y)` whose tape holds some lines."""
    lines = [
        *above.strip().splitlines(),
        "with tf.GradientTape() as tape:",
        *(f"    {line}" for line in dedent(under_tape).strip().splitlines()),
        *STEP.strip().splitlines(),
        *dedent(behind).strip().splitlines(),
    ]
    return "def learn(self, x, y):\n" + "\n".join(f"    {line}" for line in lines)


def test_what_is_logged_under_the_tape_goes_behind_the_call() -> None:
    text = split(step("loss = tf.reduce_mean(self.model(x) - y)\nprint(loss.numpy())"))
    assert text.endswith(
        "    loss = self._train_step(tf.convert_to_tensor(x), tf.cast(y, tf.float32))\n    print(loss.numpy())\n"
    )
    assert "print" not in text.partition("def learn")[0]


def test_what_the_host_makes_ready_under_the_tape_goes_before_the_call() -> None:
    text = split(step("y = np.array(y)\nloss = tf.reduce_mean(self.model(x) - y)"))
    assert text.endswith(
        "    y = np.array(y)\n    self._train_step(tf.convert_to_tensor(x), tf.cast(y, tf.float32))\n"
    )


def test_what_the_rest_of_the_step_uses_goes_before_the_call_with_the_slices_that_it_is_made_of() -> None:
    text = split(
        step("""
            answers = self.model(x)
            # without the first token
            labels = y[:, 1:]
            mask = np.where(labels == 0, 0, 1)
            loss = tf.reduce_mean((answers - labels) * mask)
        """)
    )
    assert text.endswith("""\
    # without the first token
    labels = y[:, 1:]
    mask = np.where(labels == 0, 0, 1)
    self._train_step(
        tf.convert_to_tensor(x),
        tf.cast(labels, tf.float32),
        tf.cast(mask, tf.float32),
    )
""")


def script(classes: str, model: str, name: str) -> str:
    """A script whose loop calls a function of a name, which makes a step of a model and shows its loss."""
    return f"import tensorflow as tf\n{dedent(classes)}" + dedent(f"""
        model, optimizer = {model}, tf.keras.optimizers.Adam()
        def {name}(x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(x) - y)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
            print(loss.numpy())
        for x, y in dataset.batch(32):
            {name}(x, y)
        """)


def test_the_step_of_a_function_that_is_called_like_one_has_another_name() -> None:
    source = script("", "tf.keras.Sequential([tf.keras.layers.Dense(2)])", "train_step")
    assert "def compiled_step(x, y):" in fixed("TFP101", source, bold=True)


def test_an_answer_stays_one_since_keras_may_branch_by_it() -> None:
    text = split("""
        def learn(self, x, y, rate=0.5):
            teaches = random.random() < rate
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(self.model(x, teaches=teaches) - y)
            gradients = tape.gradient(loss, self.model.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
            print(loss.numpy())
        """)
    assert "loss = self._train_step(tf.convert_to_tensor(x), teaches, tf.cast(y, tf.float32))" in text


def test_a_mask_is_a_float_for_a_function_that_multiplies_by_it() -> None:
    function = """
        def masked(self, losses, mask):
            return tf.reduce_mean(losses * mask)

    """
    text = split(
        dedent(function)
        + step("""
            labels = y[:, 1:]
            mask = np.where(labels == 0, 0, 1)
            loss = self.masked(self.model(x), mask)
        """)
    )
    assert text.endswith("    self._train_step(tf.convert_to_tensor(x), tf.cast(mask, tf.float32))\n")


@pytest.mark.usefixtures("as_one")
@pytest.mark.parametrize(
    "under_tape",
    [
        # what runs first meets other values
        "loss = tf.reduce_mean(self.model(x) - y)\ny = y[:, 1:]\nmask = np.sign(y)\nloss += tf.reduce_sum(mask)",
        # a gradient goes through it
        "part = self.model(x)[1:]\nmask = part * int(part[0])\nloss = tf.reduce_mean(self.model(x) * mask)",
    ],
)
def test_what_the_rest_of_the_step_uses_stays_where_it_may_mean_something_else_before(
    under_tape: str,
) -> None:
    note = refusal("TFP101", HEAD + indent(step(under_tape), "    ") + TAIL)
    assert "the rest of the step uses what it gives" in note


def test_a_ragged_tensor_of_lists_is_made_before_the_call() -> None:
    text = split(
        step(
            "ragged = tf.ragged.constant(y)\nmask = ragged.to_tensor()\nloss = tf.reduce_mean(self.model(x) * mask)"
        )
    )
    assert text.endswith(
        "    ragged = tf.ragged.constant(y)\n    self._train_step(ragged, tf.convert_to_tensor(x))\n"
    )
    assert "mask = ragged.to_tensor()" in text.partition("def learn")[0]


@pytest.mark.parametrize(
    "loss",
    [
        "tf.reduce_sum(tf.one_hot([y], 2) * self.model(x))",
        "tf.reduce_sum(tf.gather(self.model(x), [y], axis=1))",
        "tf.reduce_sum(tf.gather_nd(self.model(x), indices=[[0, y]]))",
    ],
)
def test_a_number_in_a_list_of_indices_is_handed_in_as_a_tensor(loss: str) -> None:
    text = split(step(f"loss = {loss}\nprint(loss.numpy())"))
    assert "tf.convert_to_tensor(y)" in text.partition("def learn")[2]


@pytest.mark.parametrize("loss", ["self.model(x, [y])", "tf.reshape(self.model(x), [y, -1])"])
def test_what_stands_in_another_list_is_handed_in_as_it_is(loss: str) -> None:
    text = split(step(f"loss = tf.reduce_sum({loss})\nprint(loss.numpy())"))
    assert "self._train_step(tf.convert_to_tensor(x), y)" in text


def test_what_is_only_asked_whether_it_is_none_is_handed_over_as_it_is() -> None:
    text = split(
        """
        def learn(self, x, y, loss_fn=None):
            x = np.asarray(x)
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(self.model(x) - y)
                if loss_fn is not None:
                    loss = loss + loss_fn(loss)
            gradients = tape.gradient(loss, self.model.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
        """
    )
    assert ", loss_fn)" in text


@pytest.mark.parametrize(
    ("accuracy", "kind"),
    [
        ("tf.argmax(logits, axis=1) == y", "int64"),
        ("tf.equal(tf.argmax(logits, axis=1, output_type=tf.int32), y)", "int32"),
        ("tf.cast(tf.argmax(logits, axis=1), tf.int32) == y", "int32"),
        ("logits == y", "float32"),
    ],
)
def test_what_is_compared_with_integers_gets_their_type(accuracy: str, kind: str) -> None:
    text = split(
        f"""
        def learn(self, x, y):
            x = np.asarray(x)
            with tf.GradientTape() as tape:
                logits = self.model(x)
                right = tf.reduce_mean(tf.cast({accuracy}, tf.float32))
                loss = tf.reduce_mean(logits) + right
            gradients = tape.gradient(loss, self.model.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
        """
    )
    assert f"tf.cast(y, tf.{kind}))" in text


def test_variables_in_a_list_are_not_handed_over() -> None:
    source = HEAD + (
        "    def learn(self, x):\n"
        "        images = [tf.Variable(tf.zeros([2])) for _ in range(3)]\n"
        "        for step in range(1000):\n"
        "            print(step)\n"
        "            with tf.GradientTape() as tape:\n"
        "                loss = tf.reduce_mean(self.model(images[0]))\n"
        "            gradients = tape.gradient(loss, images[0])\n"
        "            images[0].assign_add(gradients)\n"
    ) + TAIL  # fmt: skip
    assert "train_step" not in fixed("TFP101", source, bold=True)


def test_updates_alone_are_not_compiled() -> None:
    source = HEAD + (
        "    def gradients(self, x):\n"
        "        scale = tf.Variable(1.0)\n"
        "        with tf.GradientTape() as tape:\n"
        "            loss = tf.reduce_mean(self.model(x) * scale)\n"
        "        return tape.gradient(loss, self.model.trainable_variables)\n\n"
        "    def learn(self, x, y):\n"
        "        gradients = self.gradients(x)\n"
        "        print(gradients[0].numpy())\n"
        "        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))\n"
    ) + TAIL  # fmt: skip
    assert fixed("TFP101", source, bold=True) == source


def test_a_list_that_is_unpacked_is_handed_over_as_it_is() -> None:
    assert "self._train_step(x, y)" in split(
        step("loss = tf.reduce_mean(self.model([x, *y]))\nprint(loss.numpy())")
    )
    assert "self._train_step(y, tf.convert_to_tensor(x))" in split(
        step("first, second = y\nloss = self.model(x) - first * second\nprint(loss.numpy())")
    )


def test_arrays_that_are_joined_with_tensors_get_their_type_and_switches_stay_python() -> None:
    text = split("""
        def learn(self, x, y, greedy=False):
            with tf.GradientTape() as tape:
                drawn = self.model(x) if not greedy else self.model(x) * 0.5
                loss = tf.reduce_mean(tf.concat((x, drawn), axis=-1) - y)
            gradients = tape.gradient(loss, self.model.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
            print(loss.numpy())
        """)
    assert "loss = self._train_step(tf.cast(x, tf.float32), greedy, tf.cast(y, tf.float32))" in text


def test_an_attribute_that_changes_between_calls_becomes_an_argument() -> None:
    text = split(step("loss = tf.reduce_mean(self.model(x)[0, self.action] - y)"))
    assert "self.model(x)[0, action] - y" in text
    assert "self.action," in text.partition("def learn")[2] or "self.action)" in text


def test_an_attribute_that_the_step_leaves_behind_is_given_back() -> None:
    text = split(step("loss = tf.reduce_mean(self.model(x) - y)\nself.last = loss"))
    assert "last = loss" in text
    assert "return last" in text
    assert "self.last = self._train_step(" in text


def test_attributes_that_the_step_sets_with_others_are_given_back() -> None:
    text = split(step("self.last, extra = self.model(x), x\nloss = tf.reduce_mean(self.last - y)"))
    assert "last, extra = self.model(x), x" in text
    assert "loss = tf.reduce_mean(last - y)" in text
    assert "self.last = self._train_step(" in text


def test_forward_passes_above_and_updates_below_go_along() -> None:
    text = split(
        step(
            "loss = tf.reduce_mean(tf.square(self.model(x) - target))",
            behind="for a, b in zip(self.target.variables, self.model.variables):\n    a.assign(0.9 * a + 0.1 * b)",
            above="target = y + self.gamma * tf.reduce_max(self.model(x))",
        )
    )
    traced, _, host = text.partition("def learn")
    assert "target = y + self.gamma" in traced
    assert "a.assign(" in traced
    assert "assign" not in host


def test_comments_blank_lines_and_del_go_along() -> None:
    text = split(
        step("# the error\n\nloss = tf.reduce_mean(self.model(x) - y)  # one number", behind="del tape")
    )
    traced, _, host = text.partition("def learn")
    assert "# the error" in traced
    assert "# one number" in traced
    assert "del tape" in traced
    assert "del" not in host


def test_an_inline_step_on_batches_of_numpy() -> None:
    assert fixed(
        "TFP101",
        """\
        import numpy as np
        import tensorflow as tf

        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        optimizer = tf.keras.optimizers.Adam()

        for index in range(10_000):
            x, y = loader.get_batch(32)
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(x) - y))
                print("batch %d: loss %f" % (index, loss.numpy()))
            gradients = tape.gradient(loss, model.variables)
            optimizer.apply_gradients(zip(gradients, model.variables))
        """,
        bold=True,
    ) == dedent("""\
        import numpy as np
        import tensorflow as tf

        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        optimizer = tf.keras.optimizers.Adam()


        @tf.function(reduce_retracing=True)
        def train_step(x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(x) - y))
            gradients = tape.gradient(loss, model.variables)
            optimizer.apply_gradients(zip(gradients, model.variables))
            return loss


        for index in range(10_000):
            x, y = loader.get_batch(32)
            loss = train_step(tf.convert_to_tensor(x), tf.cast(y, tf.float32))
            print("batch %d: loss %f" % (index, loss.numpy()))
        """)


PREDICT = """
def predict(self, inputs):
    \"\"\"What the network says.\"\"\"
    return self.model(np.atleast_2d(inputs.astype("float32")))

"""


def test_a_function_of_one_expression_is_written_in_the_place_of_its_call() -> None:
    """What hides in it is the host's, and the model's call is the tape's."""
    text = split(PREDICT + step("loss = tf.reduce_mean(self.predict(x) - y)"))
    assert "loss = tf.reduce_mean(self.model(x) - y)" in text
    assert 'tf.convert_to_tensor(np.atleast_2d(x.astype("float32")))' in text.partition("def learn")[2]
    assert text.startswith(dedent(PREDICT).strip())


LEFT_WHERE_IT_IS = {
    "of several statements": "x = np.array(x)\n        return self.model(x)",
    "of a name of its own": "return [self.model(np.array(one)) for one in x][0]",
}


@pytest.mark.usefixtures("as_one")
@pytest.mark.parametrize("body", LEFT_WHERE_IT_IS.values(), ids=LEFT_WHERE_IT_IS.keys())
def test_other_functions_are_not(body: str) -> None:
    method = f"def predict(self, x):\n        {body}\n\n    "
    source = HEAD + "    " + method + step("loss = self.predict(x) - y").replace("\n", "\n    ") + TAIL
    assert "`np.array` runs on the host" in refusal("TFP101", source)


AFTER = """
after = self.model(y)
{}
loss = tf.reduce_mean(tf.square(self.model(x)[:, 0] - 0.9 * best))
"""
TWINS = {
    "what no gradient went through stays a constant": (
        "best = np.amax(after, axis=-1)",
        "best = tf.stop_gradient(tf.reduce_max(after, axis=-1))",
    ),
    "what is a constant already": (
        "after = tf.stop_gradient(after)\nbest = np.max(after, 1)",
        "best = tf.reduce_max(after, 1)",
    ),
    "of what is fetched": (
        "best = np.mean(after.numpy(), axis=1, keepdims=True)[:, 0]",
        "best = tf.stop_gradient(tf.reduce_mean(after, axis=1, keepdims=True))[:, 0]",
    ),
    "in the middle of an expression": (
        "best = 1.0 - 2 * np.sum(self.model(y) * 2.0, axis=1) ** 2",
        "best = 1.0 - 2 * tf.stop_gradient(tf.reduce_sum(self.model(y) * 2.0, axis=1)) ** 2",
    ),
    "a place, which no gradient goes through": (
        "best = np.argmax(after, axis=1)\nbest = tf.reduce_sum(tf.one_hot(best, 2) * after, axis=1)",
        "best = tf.argmax(after, axis=1)",
    ),
}


@pytest.mark.parametrize(("numpy", "op"), TWINS.values(), ids=TWINS.keys())
def test_what_numpy_computes_of_the_step_an_op_does(numpy: str, op: str) -> None:
    traced, _, host = split(step(AFTER.format(numpy), above="print(y)")).partition("def learn")
    assert f"        {op}\n" in traced
    assert "np." not in traced + host


def test_what_numpy_computes_above_the_tape_is_no_constant_that_must_be_kept_so() -> None:
    above = "after = self.model(y)\nbest = np.amax(after, axis=1)\ntarget = 0.9 * best + self.model(x)[:, 1]"
    traced = split(step("loss = tf.reduce_mean(self.model(x)[:, 0] - target)", above=above)).partition(
        "def learn"
    )[0]
    assert "    best = tf.reduce_max(after, axis=1)\n" in traced


def test_the_title_says_which_op_is_written_for_what() -> None:
    """And what it does otherwise: NumPy takes a NaN for the largest."""
    numpy = TWINS["a place, which no gradient goes through"][0] + " + np.amax(after, axis=1)"
    source = HEAD + "    " + step(AFTER.format(numpy)).replace("\n", "\n    ") + TAIL
    settings = Settings(None, frozenset({"TFP101"}), fixable=frozenset({"TFP101"}), bold_fixes=True)  # type: ignore[arg-type]
    (finding,) = check_source(Source.from_bytes(source.encode(), "example.py"), settings).findings
    assert finding.fix is not None
    assert finding.fix.message == (
        "Move what a device can do to a `@tf.function` of its own, with `tf.argmax(…)` for `np.argmax` and "
        "`tf.stop_gradient(tf.reduce_max(…))` for `np.amax`; may change what `np.argmax` makes of NaN, rounding, random "
        "draws, and when its Python code runs"
    )


NO_TWINS = {
    "over all axes, where TensorFlow takes the first": "best = np.argmax(after)\nbest = tf.one_hot(best, 3)",
    "an axis that is not written out": "best = np.amax(after, axis=self.gamma)",
    "in another type": "best = np.mean(after, axis=1, dtype=np.float64)",
    "of integers, the sum of which NumPy makes longer": "after = tf.argmax(after, 1)\nbest = np.sum(after, axis=0)",
    "of what may be integers": "after = tf.nn.relu(other(y))\nbest = np.mean(after, axis=1)",
    "a place that is computed with": "best = np.argmax(after, axis=1) * 2.0",
    "asked for what arrays have": "best = np.amax(after, axis=1)\nbest = best.astype(np.float32)",
    "compared": "best = (np.amax(after, axis=1) > 0) * 1.0",
    "written to": "best = np.amax(after, axis=1)\nbest[0] = 0.0",
    "given to a function": "best = np.amax(after, axis=1)\nbest = clipped(best)",
}


@pytest.mark.parametrize("numpy", NO_TWINS.values(), ids=NO_TWINS.keys())
def test_what_an_op_may_compute_otherwise_stays_the_hosts(numpy: str) -> None:
    """Ahead of the tape, if no gradient goes through it."""
    source = HEAD + "    " + step(AFTER.format(numpy)).replace("\n", "\n    ") + TAIL
    text = fixed("TFP101", source, bold=True)
    assert text.count("np.") == source.count("np.")
    traced = text.partition("def _train_step")[2].partition("def learn")[0]
    assert ("np." in traced, bool(traced)) == (False, numpy != NO_TWINS["compared"])


def test_what_the_host_alone_asks_of_a_model_is_asked_ahead_of_the_tape_only() -> None:
    text = split(step(AFTER.format(NO_TWINS["written to"])))
    assert text.count("after = ") == 1
    assert "    after = self.model(y)\n    best = np.amax(after, axis=1)\n    best[0] = 0.0\n" in text


@pytest.mark.parametrize(("numpy", "told"), [("compared", False), ("", True)])
def test_no_cost_is_told_of_a_step_that_no_fix_compiles_whole(numpy: str, told: bool) -> None:
    before = AFTER.format(NO_TWINS[numpy]) if numpy else "loss = tf.reduce_mean(self.model(x) - y)"
    source = HEAD + "    " + step(before).replace("\n", "\n    ") + TAIL
    assert costs_told("TFP101", source) == [told]


def test_what_numpy_makes_of_the_number_of_axes_is_known_to_a_trace() -> None:
    traced = split(
        step(
            "loss = self.model(x) - y\nloss = tf.reduce_sum(loss, axis=np.arange(1, len(loss.shape)))\nprint(loss)"
        )
    ).partition("def learn")[0]
    assert "axis=np.arange(1, len(loss.shape))" in traced


def test_what_is_shown_of_the_step_stays_an_array() -> None:
    text = split(
        step(
            "q = self.model(x)\nloss = tf.reduce_mean(q - y)", behind="best = np.amax(q, axis=1)\nprint(best)"
        )
    )
    assert "    best = np.amax(q, axis=1)\n    print(best)\n" in text.partition("def learn")[2]


REFUSED = {
    "what the step computes comes back from the host": (
        "value = self.model(x)\nvalue = float(value)\nloss = self.model(x) * value",
        "the rest of the step uses what it gives",
    ),
    "an expression that runs now and then": (
        "loss = tf.reduce_mean(self.model(x) * (float(y) if y else 1.0))\nself.count = count(loss)",
        "`float()` runs on the host",
    ),
    "what leaves the step": (
        "loss = tf.reduce_mean(self.model(x) - y)\nif np.isnan(loss):\n    return",
        "`np.isnan` runs on the host",
    ),
    "an object of the host that is asked": (
        "loss = tf.reduce_mean(self.model(x) - self.action.value(self.model(x)))",
        "`self.action` is set between calls",
    ),
}


@pytest.mark.usefixtures("as_one")
@pytest.mark.parametrize(("under_tape", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_split_says_what_stands_in_the_way(under_tape: str, reason: str) -> None:
    method = step(under_tape)
    note = refusal("TFP101", HEAD + "    " + method.replace("\n", "\n    ") + TAIL)
    assert note.startswith("no fix: ")
    assert reason in note
    assert "(line " in note


@pytest.mark.usefixtures("as_one")
def test_what_can_be_handed_in_is_not_what_stands_in_the_way() -> None:
    """Nor is what stands only in the way of compiling the whole method."""
    under_tape = (
        "value = self.model(x)\nloss = tf.reduce_mean(value * int(y) - self.action * float(value[0]))"
    )
    source = HEAD + "    " + step(under_tape, above="print(y)").replace("\n", "\n    ") + TAIL
    row = source[: source.index("float(value")].count("\n") + 1
    note = f"no fix: `float()` runs on the host, and the rest of the step uses what it gives (line {row})"
    assert refusal("TFP101", source) == note
    (finding,) = findings("TFP101", source)
    assert (finding.note, finding.to_prove) == (note, False)


def test_where_a_bold_fix_can_be_made_the_note_says_what_stands_in_the_way_of_another() -> None:
    method = step("loss = tf.reduce_mean(self.model(x) - y)", above="print(y)")
    (finding,) = findings("TFP101", HEAD + "    " + method.replace("\n", "\n    ") + TAIL)
    assert ((finding.note or "").startswith("no fix: "), finding.to_prove) == (True, True)


@pytest.mark.usefixtures("as_one")
def test_a_method_that_sets_attributes_is_not_traced() -> None:
    """Only what the step itself sets is given back."""
    method = step("self.reset()\nloss = tf.reduce_mean(self.model(x) + self.noise - y)")
    method += "\n\ndef reset(self):\n    self.noise = tf.zeros((3,))"
    note = refusal("TFP101", HEAD + "    " + method.replace("\n", "\n    ") + TAIL)
    assert "it writes to `self.noise`" in note


def test_a_gradient_is_not_cut_off_by_what_the_host_computes_beforehand() -> None:
    """A model whose own code cannot be traced is no argument: the tape would not see it."""
    note = refusal(
        "TFP101",
        """\
        import tensorflow as tf

        class Net(tf.keras.Model):
            def call(self, x):
                return tf.keras.layers.Dense(3)(x)

        net, optimizer = Net(), tf.keras.optimizers.Adam()
        for x, y in dataset:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(net(x) - y)
            gradients = tape.gradient(loss, net.trainable_variables)
            optimizer.apply_gradients(zip(gradients, net.trainable_variables))
        """,
    )
    assert "a layer is created on each call" in note


FORWARD = """\
import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(2)])


def act(state):
    if np.random.rand() < 0.1:
        return 0
    {}


for step in range(10_000):
    state = environment.step(act(state))
"""


def test_layers_that_make_no_variable_may_be_made_while_a_step_is_traced() -> None:
    source = """\
        import tensorflow as tf

        class Net(tf.keras.Model):
            def __init__(self):
                super().__init__()
                self.dense = tf.keras.layers.Dense(3)

            def call(self, x):
                return tf.keras.layers.Lambda(lambda y: 2.0 * y)(self.dense(x))

        net, optimizer = Net(), tf.keras.optimizers.Adam()
        for x, y in dataset:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(net(x) - float(y))
            gradients = tape.gradient(loss, net.trainable_variables)
            optimizer.apply_gradients(zip(gradients, net.trainable_variables))
        """
    text = fixed("TFP101", source, bold=True)
    assert "train_step(x, tf.cast(float(y), tf.float32))" in text
    kept = source.replace("Lambda(lambda y: 2.0 * y)", "Dropout(0.5)")
    assert "a layer is created on each call" in refusal("TFP101", kept)


def test_the_acting_path_becomes_one_compiled_function() -> None:
    text = fixed(
        "TFP107",
        FORWARD.format(
            "logits = model(state)\n    action = tf.argmax(logits, 1)[0]\n    return action.numpy()"
        ),
        bold=True,
    )
    assert (
        dedent("""\
        @tf.function(reduce_retracing=True)
        def run_model(state):
            logits = model(state)
            action = tf.argmax(logits, 1)[0]
            return action
        """)
        in text
    )
    assert "    action = run_model(tf.convert_to_tensor(state))\n    return action.numpy()\n" in text


ASKED = """\
import numpy as np
import scipy.optimize
import tensorflow as tf


class Solver:
    def __init__(self, x, y):
        self.x, self.y = tf.constant(x), tf.constant(y)
        self.model = tf.keras.Sequential([tf.keras.layers.Dense(2)])

    def solve(self, start):
{}        def loss_and_gradients(flat):
            self.assign(flat)
{}
            return loss.numpy(), np.concatenate([part.numpy().ravel() for part in gradients])

        return scipy.optimize.minimize(loss_and_gradients, start, jac=True)
"""


def test_what_a_minimizer_asks_for_is_compiled_and_what_it_gives_stays_on_the_host() -> None:
    step = """\
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.model(self.x) - self.y))
        gradients = tape.gradient(loss, self.model.trainable_variables)
    """
    step = dedent(step).strip()
    assert fixed("TFP101", ASKED.format("", indent(step, " " * 12)), bold=True) == ASKED.format(
        indent(
            "@tf.function(reduce_retracing=True)\ndef compute_gradients():\n"
            + indent(step, "    ")
            + "\n    return loss, gradients\n\n",
            " " * 8,
        ),
        " " * 12 + "loss, gradients = compute_gradients()",
    )


EVALUATED = """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
model.compile("adam", "mse")
loss_fn = tf.keras.losses.MeanSquaredError()
mean, error = tf.keras.metrics.Mean(), tf.keras.metrics.MeanAbsoluteError()
tests = tf.data.Dataset.from_tensor_slices((inputs, outputs)).batch(32)

{}for epoch in range(100):
    model.fit(training)
    for x, y in tests:
{}    print(float(mean.result()))
"""


@pytest.mark.parametrize(
    ("loop", "compiled", "left"),
    [
        (
            """\
            answer = model(x, training=False)
            loss = loss_fn(y, answer)
            # how far off
            mean.update_state(loss)
            error(y, answer)
            """,
            """\
            answer = model(x, training=False)
            loss = loss_fn(y, answer)
            # how far off
            mean.update_state(loss)
            error(y, answer)
            """,
            "test_step(x, y)\n",
        ),
        ("error(y, model(x))\n", "error(y, model(x))\n", "test_step(y, x)\n"),
        (
            """\
            with tf.GradientTape() as tape:
                loss = loss_fn(y, model(x))
            mean(loss)
            """,
            """\
            with tf.GradientTape() as tape:
                loss = loss_fn(y, model(x))
            mean(loss)
            """,
            "test_step(y, x)\n",
        ),
        (
            """\
            loss = loss_fn(y, model(x))
            losses.append(float(loss))
            mean(loss)
            """,
            """\
            loss = loss_fn(y, model(x))
            return loss
            """,
            "loss = test_step(y, x)\nlosses.append(float(loss))\nmean(loss)\n",
        ),
    ],
    ids=["loss and metrics", "one statement", "under a tape that nobody asks", "as far as it can be traced"],
)
def test_losses_and_metrics_are_compiled_with_the_forward_pass_that_they_judge(
    loop: str, compiled: str, left: str
) -> None:
    text = fixed("TFP107", EVALUATED.format("", indent(dedent(loop), " " * 8)), bold=True)
    step = left.partition(" = ")[2] or left
    function = f"\n@tf.function\ndef {step.partition(chr(10))[0]}:\n"
    assert text == EVALUATED.format(
        function + indent(dedent(compiled), " " * 4) + "\n\n", indent(left, " " * 8)
    )


UPDATED = """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
optimizer = tf.keras.optimizers.Adam()
loss_fn = tf.keras.losses.MeanSquaredError()
mean, error = tf.keras.metrics.Mean(), tf.keras.metrics.MeanAbsoluteError()
training = tf.data.Dataset.from_tensor_slices((inputs, outputs)).batch(32)

{}for epoch in range(100):
    for step, (x, y) in enumerate(training):
{}        if step % 100 == 0:
            print(float(loss))
    print(float(mean.result()))
    mean.reset_state()
"""
UPDATING = """\
with tf.GradientTape() as tape:
    answer = model(x, training=True)
    loss = loss_fn(y, answer)
gradients = tape.gradient(loss, model.trainable_variables)
optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""


GRADIENTS = """\
with tf.GradientTape() as tape:
    loss = tf.reduce_mean(tf.square(self.model(x) - y))
grads = tape.gradient(loss, self.model.trainable_variables)
"""


REST = [
    "optimizer = tf.keras.optimizers.Adam(0.1)\n"
    "optimizer.apply_gradients(zip(grads, self.model.trainable_variables))\n",
    "if np.isnan(loss.numpy()):\n    raise ValueError(loss)\nself.scale = float(tf.linalg.global_norm(grads))\n"
    "grads = [grad / self.scale for grad in grads]\n"
    "self.optimizer.apply_gradients(zip(grads, self.model.trainable_variables))\n",
]


@pytest.mark.parametrize("rest", REST, ids=["an optimizer that each step makes", "a norm that Python gets"])
def test_a_step_whose_updates_need_the_host_is_compiled_as_far_as_its_gradients(rest: str) -> None:
    method = "def learn(self, x, y):\n" + indent(GRADIENTS + rest, "    ")
    text = split(method)
    assert text.startswith(
        "@tf.function(reduce_retracing=True)\ndef _train_step(self, x, y):\n" + indent(GRADIENTS, "    ")
    )
    # An optimizer that is there on each step updates the model in a function of its own.
    kept = rest.replace(
        "self.optimizer.apply_gradients(zip(grads, self.model.trainable_variables))",
        "self._update_model(grads)",
    )
    assert text.endswith(indent(kept, "    "))
    assert text.count("apply_gradients") == 1


def test_a_step_that_can_be_compiled_in_part_alone_tells_no_cost() -> None:
    for rest, told in (
        (REST[0], False),
        (REST[0].partition("\n")[2].replace("optimizer", "self.optimizer"), True),
    ):
        method = "def learn(self, x, y):\n    print(y)\n" + indent(GRADIENTS + rest, "    ")
        assert costs_told("TFP101", HEAD + indent(method, "    ") + TAIL) == [told]


def test_what_a_model_answers_before_its_update_is_not_asked_for_behind_it() -> None:
    method = "def learn(self, x, y):\n" + indent(
        GRADIENTS
        + "self.optimizer.apply_gradients(zip(grads, self.model.trainable_variables))\n"
        + "best = self.model(x).numpy()\n"
        + "self.other.apply_gradients(zip([g * best for g in grads], self.model.trainable_variables))\n",
        "    ",
    )
    head, _, body = split(method).partition("def learn")
    assert body.index("_train_step(") < body.index("best = ")
    assert "best" not in head
    assert head.index("self.optimizer.apply") > 0


@pytest.mark.parametrize(
    ("batched", "option"),
    [
        ("batch(32)", ""),
        ("padded_batch(32)", "(reduce_retracing=True)"),
        ("ragged_batch(32)", "(reduce_retracing=True)"),
    ],
)
def test_one_trace_does_for_all_shapes_only_where_batches_may_differ(batched: str, option: str) -> None:
    source = EVALUATED.format("", indent("mean(loss_fn(y, model(x)))\n", " " * 8))
    text = fixed("TFP107", source.replace("batch(32)", batched), bold=True)
    assert f"@tf.function{option}\n" in text


def test_metrics_are_compiled_with_the_step_that_they_are_updated_by() -> None:
    metrics = "mean.update_state(loss)\nerror(y, answer)  # how far off\n"
    text = fixed("TFP101", UPDATED.format("", indent(UPDATING + metrics, " " * 8)), bold=True)
    function = "\n@tf.function\ndef train_step(x, y):\n"
    assert text == UPDATED.format(
        function + indent(UPDATING + metrics, " " * 4) + "    return loss\n\n\n",
        "        loss = train_step(x, y)\n",
    )


def test_a_metric_that_the_host_is_asked_about_before_stays_behind_the_step() -> None:
    behind = "losses.append(loss.numpy())\nmean.update_state(loss)\n"
    text = fixed("TFP101", UPDATED.format("", indent(UPDATING + behind, " " * 8)), bold=True)
    assert f"        loss = train_step(x, y)\n{indent(behind, ' ' * 8)}" in text


def test_unsafe_fixes_leave_metrics_behind_the_step() -> None:
    metrics = "mean.update_state(loss)\n"
    text = fixed("TFP101", UPDATED.format("", indent(UPDATING + metrics, " " * 8)))
    assert f"train_step(x, y)\n{indent(metrics, ' ' * 8)}" in text


def test_ops_behind_a_forward_pass_whose_results_the_host_keeps_stay_in_the_loop() -> None:
    text = fixed("TFP107", EVALUATED.format("", "        answers.append(model(x))\n"), bold=True)
    assert "        answers.append(run_model(x))\n" in text
    assert "test_step" not in text


def test_a_call_in_the_middle_of_an_expression_of_the_host_is_compiled_alone() -> None:
    text = fixed(
        "TFP107", FORWARD.format("return int(np.argmax(model(state, training=False)[0]))"), bold=True
    )
    assert "def run_model(inputs):\n    return model(inputs, training=False)\n" in text
    assert "return int(np.argmax(run_model(tf.convert_to_tensor(state))[0]))" in text


@pytest.mark.parametrize(
    ("call", "compiled"),
    [
        ("value = model.predict(state, verbose=0)", "value = run_model(tf.convert_to_tensor(state)).numpy()"),
        (
            "value, probability = model.predict(state)",
            "value, probability = (part.numpy() for part in run_model(tf.convert_to_tensor(state)))",
        ),
        ("return model.predict(state)[0]", "return run_model(tf.convert_to_tensor(state)).numpy()[0]"),
    ],
)
def test_a_prediction_becomes_a_compiled_call_that_gives_arrays(call: str, compiled: str) -> None:
    text = fixed("TFP105", FORWARD.format(f"{call}\n    return 1"), bold=True)
    assert f"    {compiled}\n" in text
    assert "def run_model(inputs):\n    return model(inputs, training=False)\n" in text


def test_bold_fixes_are_made_by_no_fix() -> None:
    source = (
        HEAD + "    " + step("loss = tf.reduce_mean(self.model(x) - float(y))").replace("\n", "\n    ") + TAIL
    )
    (finding,) = findings("TFP101", source)
    assert finding.fix is None
    assert fixed("TFP101", source) == source


SPREAD = """\
import tensorflow as tf


class Gan:
    def __init__(self, generator, optimizer):
        self.generator = generator
        self.optimizer = optimizer

    def compute_gradients(self, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self.generator(x))
        return tape.gradient(loss, self.generator.trainable_variables)

    def apply(self, gradients):
        self.optimizer.apply_gradients(zip(gradients, self.generator.trainable_variables))

    # one batch
    def train_batch(self, x):
        self.apply(self.compute_gradients(x))

    def load(self, path):
        self.generator = tf.keras.models.load_model(path)

    def train(self, dataset):
        for x in dataset:
            self.train_batch(x)


gan = Gan(tf.keras.Sequential([tf.keras.layers.Dense(2)]), tf.keras.optimizers.Adam())
gan.train(tf.data.Dataset.range(10_000).batch(8))
"""


def test_a_step_spread_over_functions_is_compiled_where_they_meet() -> None:
    compiled = SPREAD.replace("    def train_batch", "    @tf.function\n    def train_batch")
    assert fixed("TFP101", SPREAD, bold=True) == compiled


def test_a_step_spread_over_functions_is_left_where_its_model_is_loaded_between_steps() -> None:
    source = SPREAD.replace("self.train_batch(x)", "self.train_batch(x)\n            self.load('best.keras')")
    assert "`self.generator` is set between calls" in refusal("TFP101", source)


def test_a_step_spread_over_functions_is_left_where_the_host_runs_between_them() -> None:
    source = SPREAD.replace(
        "self.apply(self.compute_gradients(x))",
        "gradients = self.compute_gradients(x)\n        print(gradients)\n        self.apply(gradients)",
    )
    assert "`print()` runs on the host" in refusal("TFP101", source)


LOOP = """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
optimizer = tf.keras.optimizers.Adam()


def compute_gradients(model, x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x))
    return tape.gradient(loss, model.trainable_variables), loss


{}for epoch in range(100):
    for x in tf.data.Dataset.range(10_000).batch(8):
        # one batch
{}        print(loss.numpy())
"""


def test_a_step_spread_over_a_function_and_its_loop_is_compiled_as_a_whole() -> None:
    step = """\
gradients, loss = compute_gradients(model, x)
optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""
    function = f"""\
@tf.function
def train_step(x):
    # one batch
{indent(step, "    ")}    return loss


"""
    compiled = LOOP.format(function, "        loss = train_step(x)\n")
    compiled = compiled.replace("        # one batch\n        loss", "        loss")
    assert fixed("TFP101", LOOP.format("", indent(step, " " * 8)), bold=True) == compiled


def test_a_step_whose_function_applies_its_own_gradients_is_decorated_all_the_same() -> None:
    source = SPREAD.replace(
        "return tape.gradient(loss, self.generator.trainable_variables)", "gradients = ()"
    )
    source = source.replace(
        "gradients = ()",
        "self.apply(tape.gradient(loss, self.generator.trainable_variables))",
    ).replace("self.apply(self.compute_gradients(x))", "self.compute_gradients(x)")
    source = source.replace("    def load(self, path):\n", "    def other(self, path):\n").replace(
        "self.generator = tf.keras.models", "return tf.keras.models"
    )
    compiled = source.replace("    def compute_gradients", "    @tf.function\n    def compute_gradients")
    assert fixed("TFP101", source, bold=True) == compiled


TWO_TAPES = """
    def learn(self, x, y):
        with tf.GradientTape() as tape1:
            first = tf.reduce_mean((self.model(x) - y) ** 2)
        with tf.GradientTape() as tape2:
            second = tf.reduce_mean(self.other(x))
        self.optimizer.apply_gradients(
            zip(tape1.gradient(first, self.model.trainable_variables), self.model.trainable_variables)
        )
        self.optimizer.apply_gradients(
            zip(tape2.gradient(second, self.other.trainable_variables), self.other.trainable_variables)
        )
        print(first.numpy(), second.numpy())
"""


def test_tapes_one_behind_the_other_go_into_one_function() -> None:
    text = split(TWO_TAPES)
    function, _, rest = text.partition("def learn")
    assert "as tape1:" in function and "as tape2:" in function
    assert "first, second = self._train_" in rest and "tape" not in rest


TWO_STEPS = """
    def learn(self, x, y):
        x = np.asarray(x)
        self.steps += 1
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self.model(x) - y) ** 2)
        gradients = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))

        # now and then
        if self.steps % self.every == 0:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(self.other(x))
            gradients = tape.gradient(loss, self.other.trainable_variables)
            self.other_optimizer.apply_gradients(zip(gradients, self.other.trainable_variables))
"""


def test_gradient_steps_one_behind_the_other_are_one_step_and_the_host_says_when() -> None:
    source = HEAD.replace(
        "        self.losses = []\n",
        "        self.losses = []\n        self.steps = 0\n        self.every = 2\n"
        "        self.other = tf.keras.Sequential([tf.keras.layers.Dense(2)])\n"
        "        self.other_optimizer = tf.keras.optimizers.Adam()\n",
    )
    text = fixed("TFP101", source + TWO_STEPS.lstrip("\n") + TAIL, bold=True)
    traced, _, host = text.partition("def learn")
    assert "def _train_step(self, x, y, is_due):" in traced
    assert "        # now and then\n        if is_due:\n" in traced
    assert "self.steps += 1" in host and "GradientTape" not in host
    # A tensor: a Python bool would be traced twice, the second time to make the other optimizer's variables.
    assert "tf.convert_to_tensor(self.steps % self.every == 0)" in host


@pytest.mark.usefixtures("as_one")
def test_a_list_of_variables_is_not_given_back() -> None:
    source = HEAD + (
        "    def learn(self, x, y):\n"
        "        with tf.GradientTape() as tape:\n"
        "            loss = tf.reduce_mean(self.model(x) * self.alpha)\n"
        "        variables = [self.alpha]\n"
        "        gradients = tape.gradient(loss, variables)\n"
        "        self.optimizer.apply_gradients(zip(gradients, variables))\n"
        "        print(loss.numpy())\n"
        "        for variable in variables:\n"
        "            print(variable.name)\n"
    ) + TAIL  # fmt: skip
    source = source.replace(
        "        self.losses = []\n", "        self.losses = []\n        self.alpha = tf.Variable(0.0)\n"
    )
    assert refusal("TFP101", source).startswith("no fix: `variables` holds variables")


DECODER = """
    class Decoder(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.cell = tf.keras.layers.Dense(4)
        def call(self, source):
            for t in range(source.shape[1]):
                state = self.cell(source[:, t])
            return state
"""


@pytest.mark.parametrize(
    ("bound", "decorator"),
    [("source.shape[1]", "@tf.function"), ("3", "@tf.function(reduce_retracing=True)")],
)
def test_what_a_model_asks_of_its_inputs_shapes_is_known_to_each_trace(bound: str, decorator: str) -> None:
    source = script(DECODER.replace("source.shape[1]", bound), "Decoder()", "step")
    assert f"{decorator}\ndef train_step(x, y):" in fixed("TFP101", source, bold=True)


def test_what_a_loop_takes_for_a_model_may_be_several_inputs_and_an_unknown_attribute_an_object() -> None:
    text = fixed(
        "TFP101",
        dedent("""\
        import tensorflow as tf
        from scaling import unscale

        class Learner:
            def __init__(self, table):
                self.model, self.table = tf.keras.models.load_model("net.keras"), None
                self.optimizer = tf.keras.optimizers.Adam()

            def fit(self, batches, table):
                self.table = table
                for number, (x, y) in enumerate(batches):
                    with tf.GradientTape() as tape:
                        loss = tf.reduce_mean(unscale(self.model(x), self.table) - y)
                    gradients = tape.gradient(loss, self.model.trainable_variables)
                    self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
                    print(loss.numpy())
        """),
        bold=True,
    )
    assert "self._train_step(x, self.table, tf.cast(y, tf.float32))" in text


OUTPUTS = """\
import tensorflow as tf


def make_model():
    inputs = tf.keras.Input((4,))
    return tf.keras.Model(inputs, [tf.keras.layers.Dense(2)(inputs) for _ in range(3)])


model = make_model()
optimizer = tf.keras.optimizers.Adam()


def step(x, y):
    with tf.GradientTape() as tape:
        outputs = model(x)
        loss = {loss}
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for x, y in tf.data.Dataset.range(10_000).batch(8):
    step(x, y)
"""
OVER_OUTPUTS = {
    "a comprehension": "sum([tf.reduce_mean((output - y) ** 2) for output in outputs])",
    "zip": "tf.add_n([tf.reduce_mean((output - y) ** 2) * w for output, w in zip(outputs, [1, 2, 3])])",
    "enumerate": "tf.add_n([tf.reduce_mean((output - y) ** 2) * i for i, output in enumerate(outputs)])",
}


@pytest.mark.parametrize("loss", OVER_OUTPUTS.values(), ids=OVER_OUTPUTS)
def test_a_step_over_what_may_be_a_tensor_or_several_is_tried(loss: str) -> None:
    source = OUTPUTS.format(loss=loss)
    assert fixed("TFP101", source) == source
    assert fixed("TFP101", source, bold=True) == source.replace("def step", "@tf.function\ndef step")


def test_a_step_over_what_surely_is_a_tensor_is_compiled_in_parts() -> None:
    loss = OVER_OUTPUTS["a comprehension"].replace("in outputs", "in tf.stack(outputs)")
    after = fixed("TFP101", OUTPUTS.format(loss=loss), bold=True)
    assert "outputs = run_model(x)" in after
    assert "@tf.function\ndef step" not in after


def test_a_loop_over_what_may_be_a_tensor_goes_into_the_function_with_the_rest_of_the_step() -> None:
    source = OUTPUTS.format(loss=OVER_OUTPUTS["zip"]).replace(
        "    return loss", "    print(loss.numpy())\n    return loss"
    )
    after = fixed("TFP101", source, bold=True)
    step = after[after.index("@tf.function") : after.index("def step")]
    assert "zip(outputs, [1, 2, 3])" in step
    assert "print" not in step


def test_a_batch_of_the_host_is_still_taken_apart_there() -> None:
    assert "    states = [one[0] for one in batch]\n    loss = train_step(tf." in fixed(
        "TFP101",
        OUTPUTS.format(loss="tf.reduce_mean(outputs[0])")
        .replace("    with tf", "    states = [one[0] for one in batch]\n    with tf")
        .replace("step(x, y)", "step(batch)")
        .replace("for x, y in", "for batch in")
        .replace("model(x)", "model(states)")
        .replace("    return loss", "    print(loss.numpy())"),
        bold=True,
    )


FOLDS = """\
import tensorflow as tf


def make_model():
    return tf.keras.Sequential([tf.keras.layers.Dense(1)])


def step(model, optimizer, x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    variables = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss


def train():
    model, optimizer = make_model(), tf.keras.optimizers.Adam()
    for epoch in range(epochs):
        for x, y in dataset:
            loss = step(model, optimizer, x, y)
        print(epoch, loss)


dataset = tf.data.Dataset.range(10_000).batch(8)
for fold in range(5):
    train()
"""


def test_a_step_of_one_model_after_the_other_is_compiled_for_each() -> None:
    after = FOLDS.replace("    for epoch", "    compiled_step = tf.function(step)\n    for epoch")
    after = after.replace("loss = step(", "loss = compiled_step(")
    assert fixed("TFP101", FOLDS, bold=True) == after
    assert not findings("TFP201", after)


def test_a_step_is_not_compiled_for_the_model_of_each_task() -> None:
    head, _, _ = FOLDS.partition("def train():\n")
    source = (
        head
        + """\
base = make_model()
for task in tf.data.Dataset.range(10_000):
    model, optimizer = tf.keras.models.clone_model(base), tf.keras.optimizers.SGD()
    for update in range(5):
        step(model, optimizer, task, task)
"""
    )
    assert "tf.function(step)" not in fixed("TFP101", source, bold=True)


def test_each_of_two_models_that_share_a_step_has_it_compiled() -> None:
    source = FOLDS.replace(
        "    for epoch", "    other, second = make_model(), tf.keras.optimizers.Adam()\n    for epoch"
    )
    source = source.replace("        print", "            step(other, second, x, y)\n        print")
    after = fixed("TFP101", source, bold=True)
    assert (
        "    compiled_step = tf.function(step)\n    compiled_step_2 = tf.function(step)\n    for epoch"
        in after
    )
    assert "loss = compiled_step(model, optimizer, x, y)\n            compiled_step_2(other, second" in after


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("loss = step(model", "model = make_model()\n            loss = step(model"),
        ("    return loss\n", "    print(loss.numpy())\n    return loss\n"),
        ("for fold", "step(make_model(), tf.keras.optimizers.Adam(), *first)\nfor fold"),
    ],
    ids=["another on each step", "a step of the host", "a call in no loop"],
)
def test_a_step_is_not_compiled_for_each_model_where(was: str, becomes: str) -> None:
    source = FOLDS.replace(was, becomes)
    assert source != FOLDS
    assert "tf.function(step)" not in fixed("TFP101", source, bold=True)


@pytest.mark.parametrize(
    ("runs", "once"),
    [("range(1)", True), ("range(0, ONE)", True), ("[7]", True), ("range(2)", False), ("range(runs)", False)],
)
def test_a_model_of_a_loop_that_is_written_to_go_round_once_is_the_only_one(runs: str, once: bool) -> None:
    head, _, rest = FOLDS.partition("def train():\n")
    loop = rest.partition("\n\n\n")[0].replace("in dataset", "in tf.data.Dataset.range(10_000).batch(8)")
    source = f"{head}ONE = 1\nfor run in {runs}:\n{loop}\n"
    assert ("@tf.function\ndef step" in fixed("TFP101", source)) is once


PRIORITIES = """\
import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
optimizer = tf.keras.optimizers.Adam()


def loss_of(x, y):
    error = tf.reduce_sum(tf.square(model(x) - y), axis=1)
    priorities = {}
    return tf.reduce_mean(error), priorities


def step(x, y):
    with tf.GradientTape() as tape:
        loss, priorities = loss_of(x, y)
    variables = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss, priorities


for x, y in tf.data.Dataset.range(10_000).batch(8):
    loss, priorities = step(x, y)
    memory.update(priorities)
"""


@pytest.mark.parametrize(
    ("fetched", "kept"),
    [
        ("error.numpy()", "tf.stop_gradient(error)"),
        ("np.abs(error)", "tf.stop_gradient(tf.abs(error))"),
        ("np.sqrt(error) + 0.1", "tf.stop_gradient(tf.sqrt(error)) + 0.1"),
    ],
)
def test_what_a_function_of_the_step_fetches_for_its_caller_stays_on_the_device(
    fetched: str, kept: str
) -> None:
    after = PRIORITIES.format(kept).replace("def step", "@tf.function\ndef step")
    assert fixed("TFP101", PRIORITIES.format(fetched), bold=True) == after


@pytest.mark.parametrize(
    "fetched",
    [
        "error.numpy().tolist()",
        "[each.numpy() for each in error]",
        "np.clip(error.numpy(), *bounds)",
        "error.numpy()\n    print(priorities)",
    ],
    ids=["a list", "each", "no op", "said by the host"],
)
def test_what_a_function_of_the_step_makes_on_the_host_is_left_there(fetched: str) -> None:
    after = fixed("TFP101", PRIORITIES.format(fetched), bold=True)
    assert f"priorities = {fetched}\n" in after
    assert "@tf.function\ndef step" not in after


@pytest.mark.parametrize(
    ("call", "compiled"),
    [
        ("read(x)", True),
        ("read(x, as_array=False)", True),
        ("read(x, as_array=True)", False),
        ("read(x, as_array=asked)", False),
    ],
)
def test_a_branch_that_the_call_of_the_step_never_takes_does_not_stand_in_the_way(
    call: str, compiled: bool
) -> None:
    source = PRIORITIES.format("1.0").replace("model(x)", call)
    source = source.replace(
        "def loss_of",
        "def read(x, as_array=False):\n    y = model(x)\n    if as_array:\n        return y.numpy()\n    return y\n\n\ndef loss_of",
    )
    source += "print(read(x, True))\n"
    assert ("@tf.function\ndef step" in fixed("TFP101", source)) is compiled


def test_a_branch_of_a_parameter_that_gets_another_value_may_be_taken() -> None:
    source = PRIORITIES.format("1.0").replace("model(x)", "read(x)")
    source = source.replace(
        "def loss_of",
        "def read(x, said=None):\n    said = loud if said is None else said\n    if said:\n        print(x)\n    return model(x)\n\n\ndef loss_of",
    )
    assert "@tf.function\ndef step" not in fixed("TFP101", source)


@pytest.mark.parametrize(
    ("size", "applied", "tried"),
    [
        ("np.multiply.reduce(x.shape)", False, True),
        ("np.sqrt(len(layers))", True, True),
        ("np.sqrt(float(y))", False, False),
        ("float(len(layers))", True, True),
    ],
)
def test_numpy_of_what_a_trace_may_know_is_tried(size: str, applied: bool, tried: bool) -> None:
    source = PRIORITIES.format("error").replace("tf.reduce_mean(error)", f"tf.reduce_mean(error) / {size}")
    source = source.replace("optimizer =", "layers = [1, 2]\noptimizer =")
    assert ("@tf.function\ndef step" in fixed("TFP101", source)) is applied
    assert ("@tf.function\ndef step" in fixed("TFP101", source, bold=True)) is tried


WATCHED = """\
import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="tanh"), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam()


def loss_of(points):
    g = {}
    x, t = g[:, 0:1], g[:, 1:2]
    with tf.GradientTape() as tape:
        tape.watch(x)
        u = model(tf.concat([x, t], axis=1))
    return tf.reduce_mean((tape.gradient(u, x) - u) ** 2)


def step(points):
    with tf.GradientTape() as tape:
        loss = loss_of(points)
    variables = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss


for points in tf.data.Dataset.range(10_000).batch(8):
    step(points)
"""


@pytest.mark.parametrize(
    ("made", "written"),
    [
        ("tf.Variable(points)", "tf.convert_to_tensor(points)"),
        (
            'tf.Variable(initial_value=points, dtype="float32", name="g", trainable=True)',
            'tf.cast(points, "float32")',
        ),
    ],
)
def test_a_variable_that_a_step_makes_and_only_reads_becomes_a_tensor(made: str, written: str) -> None:
    after = WATCHED.format(written).replace("def step", "@tf.function\ndef step")
    assert fixed("TFP101", WATCHED.format(made), bold=True) == after


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        (
            "    with tf.GradientTape() as tape:\n        tape.watch(x)",
            "    g.assign_add(points)\n    with tf.GradientTape() as tape:\n        tape.watch(x)",
        ),
        ("tape.gradient(u, x)", "tape.gradient(u, g)[:, :1]"),
        ("    g =", "    global g\n    g ="),
    ],
    ids=["it is assigned to", "a tape follows it by itself", "it is kept"],
)
def test_a_variable_that_is_more_than_read_stays_one(was: str, becomes: str) -> None:
    source = WATCHED.format("tf.Variable(points)").replace(was, becomes)
    assert source != WATCHED.format("tf.Variable(points)")
    assert "g = tf.Variable(points)\n" in fixed("TFP101", source, bold=True)


def test_whether_a_tensor_is_there_is_no_condition_on_it() -> None:
    source = PRIORITIES.format("1.0").replace(
        "def loss_of(x, y):\n",
        "def loss_of(x, y):\n    y = tf.cast(y, tf.float32)\n    loss = None if y is None else 1.0\n",
    )
    source = source.replace(
        "    return tf.reduce_mean(error)",
        "    if y is not None:\n        loss = tf.reduce_mean(error)\n    else:\n        loss = None\n    return loss",
    )
    assert "@tf.function\ndef step" in fixed("TFP101", source)


def test_what_is_told_to_a_bar_under_a_tape_is_told_behind_the_step() -> None:
    source = (
        LOOP.format("", "XX").partition("def compute")[0]
        + """\
for epoch in range(100):
    bar = tqdm(tf.data.Dataset.range(10_000).batch(8))
    for x in bar:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x))
            bar.set_description(str(loss.numpy()))
            bar.update()
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""
    )
    after = fixed("TFP101", source, bold=True)
    assert (
        "    for x in bar:\n        loss = train_step(x)\n        bar.set_description(str(loss.numpy()))\n        bar.update()\n"
        in after
    )


ROWS = """\
import numpy as np
import tensorflow as tf


class Network(tf.Module):
    def __init__(self):
        self.first = tf.Variable({})

    def gradients(self, x, y):
        points = tf.Variable(x)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((points @ self.first - y) ** 2)
        return loss, tape.gradient(loss, self.trainable_variables)


network, optimizer = Network(), tf.keras.optimizers.Adam()
xs, ys = load_arrays()
for step in range(10_000):
    rows = np.random.choice(len(xs), 32)
    loss, gradients = network.gradients(xs[rows], ys[rows])
    optimizer.apply_gradients(zip(gradients, network.trainable_variables))
"""


def test_rows_are_picked_by_the_host_and_what_stands_in_another_function_is_mended_first() -> None:
    after = fixed("TFP101", ROWS.format("tf.random.normal((4, 1))"), bold=True)
    assert "        points = tf.convert_to_tensor(x)\n" in after
    assert "    loss, gradients = network.gradients(xs, ys)\n" in after
    assert (
        "    rows = np.random.choice(len(xs), 32)\n"
        "    train_step(tf.convert_to_tensor(xs[rows]), tf.cast(ys[rows], tf.float32))\n"
    ) in after


@pytest.mark.parametrize(
    ("first", "dtype"),
    [
        ('tf.zeros((4, 1), dtype="float64")', "float64"),
        ("np.zeros((4, 1)), dtype=tf.float64", "float64"),
        ("tf.zeros((4, 1))", "float32"),
    ],
)
def test_what_a_step_computes_with_gets_the_precision_of_its_variables(first: str, dtype: str) -> None:
    assert f"tf.cast(ys[rows], tf.{dtype})" in fixed("TFP101", ROWS.format(first), bold=True)


def test_a_loss_of_a_short_name_is_a_tensor_that_is_given_back() -> None:
    source = UPDATING.replace("loss_fn(y, answer)", "tf.keras.losses.MSE(y, answer)")
    text = split("def learn(self, x, y):\n" + indent(source, "    ") + "    return loss\n")
    assert "    return loss\n\ndef learn" in text


LISTS = """\
import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
optimizer = tf.keras.optimizers.Adam()


def loss_of(states):
    loss = 0.0
    for state in states:
        loss += tf.reduce_mean(model(tf.stack(state)) ** 2)
    return loss


def learn(lengths):
    states = {states}
    with tf.GradientTape() as tape:
        loss = loss_of(states)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    print(loss.numpy())


for lengths in [[1, 2], [2, 3]] * 1000:
    learn(lengths)
"""


def test_lists_that_may_differ_in_length_are_made_no_tensor() -> None:
    source = LISTS.format(states="[[np.random.randn(4) for _ in range(n)] for n in lengths]")
    assert "convert_to_tensor(states)" not in fixed("TFP101", source, bold=True)


def test_lists_that_are_written_out_alike_are_one() -> None:
    source = LISTS.format(
        states="[[np.random.randn(4), np.random.randn(4)], [np.random.randn(4), np.random.randn(4)]]"
    )
    assert "convert_to_tensor(states)" in fixed("TFP101", source, bold=True)
