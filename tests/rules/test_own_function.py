"""Bold fixes of several calls of one model: one compiled function serves them all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from textwrap import dedent, indent

import pytest

from tests.commandline import CommandLine
from tests.rules.support import findings, fixed, notes
from tflint_perf.config.settings import Settings
from tflint_perf.project.linting import lint_files

AGENT = """\
import numpy as np
import tensorflow as tf


class Agent:
    def __init__(self):
        self.model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
        self.target = tf.keras.Sequential([tf.keras.layers.Dense(2)])

    def act(self, state):
        {}

    def worth(self, following):
        {}


agent = Agent()
for step in range(10_000):
    state, reward = environment.step(agent.act(state))
    agent.worth(state)
"""
# Another model may be loaded later, as when training goes on.
LOADING = AGENT.replace(
    "    def act",
    """    def load(self, path):
        self.model = tf.keras.models.load_model(path)
        self.target = tf.keras.models.load_model(path)

    def act""",
)
MODELS = """\
import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
other = tf.keras.Sequential([tf.keras.layers.Dense(2)])
"""


def made(code: str, source: str) -> list[str]:
    """The compiled functions of a file after its bold fixes."""
    return [
        line.strip()
        for line in fixed(code, source, bold=True).splitlines()
        if "def " in line and "run_" in line
    ]


@pytest.mark.parametrize(
    ("code", "act", "worth"),
    [
        ("TFP105", "return self.model.predict(state)[0]", "return self.model.predict(following)[0]"),
        (
            "TFP107",
            "return int(np.argmax(self.model(state)[0]))",
            "return float(np.max(self.model(following)[0]))",
        ),
        (
            "TFP107",
            "q = self.model(state)\n        return int(np.argmax(q.numpy()))",
            "later = self.model(following)\n        return float(np.max(later.numpy()))",
        ),
        (
            "TFP107",
            "q = self.model(state)\n        return int(np.argmax(q.numpy()))",
            "return float(np.max(self.model(following)[0]))",
        ),
    ],
)
def test_the_calls_of_one_model_in_a_class_share_a_function(code: str, act: str, worth: str) -> None:
    text = fixed(code, AGENT.format(act, worth), bold=True)
    assert text.count("@tf.function") == text.count("    def _run_model(self, inputs):") == 1
    assert text.count("self._run_model(tf.convert_to_tensor(") == 2


SAMPLING = """\
import numpy as np
import tensorflow as tf


class Sampler(tf.keras.Model):
    def call(self, logits):
        return tf.random.categorical(logits, 1)


class Policy(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.logits = tf.keras.layers.Dense(4)
        self.value = tf.keras.layers.Dense(1)
        self.sampler = Sampler()

    def call(self, state):
        return self.logits(state), self.value(state)

    def act(self, state):
        logits, value = self.predict(state)
        return self.sampler.predict(logits), value


policy = Policy()
for step in range(100000):
    action, value = policy.act(state[None])
    state = env.step(action)
"""


def test_what_a_model_is_asked_about_the_answer_of_another_is_compiled_beside_that() -> None:
    text = fixed("TFP105", SAMPLING, bold=True)
    assert "(part.numpy() for part in self._run(tf.convert_to_tensor(state)))" in text
    assert "return self._run_sampler(tf.convert_to_tensor(logits)).numpy(), value" in text


def test_the_calls_of_a_model_that_may_be_another_one_later_share_a_function_of_the_module() -> None:
    act, worth = "return self.model.predict(state)[0]", "return self.model.predict(following)[0]"
    text = fixed("TFP105", LOADING.format(act, worth), bold=True)
    assert text.count("@tf.function") == 1
    assert text.count("run_model(self.model, tf.convert_to_tensor(") == 2
    assert text.index("def run_model(model, inputs):") < text.index("class Agent:")


def test_a_function_is_given_whatever_model_the_attribute_holds_then_and_each_attribute_has_its_own() -> None:
    """One for both would make the variables of the second model in a later trace, which TensorFlow refuses."""
    act, worth = "return self.model.predict(state)[0]", "return self.target.predict(following)[0]"
    text = fixed("TFP105", LOADING.format(act, worth), bold=True)
    assert "def run_model(model, inputs):\n    return model(inputs, training=False)\n" in text
    assert "def run_target(model, inputs):\n    return model(inputs, training=False)\n" in text
    assert "run_model(self.model, " in text and "run_target(self.target, " in text


@pytest.mark.parametrize(
    ("constructor", "is_method"),
    [
        ("def __init__(self):\n        self.model = build()", True),
        ("def __init__(self, model):\n        self.model = model", False),
        ("def __init__(self, model):\n        self.model = model or build()", False),
        (
            "def __init__(self):\n        self.begin()\n    def begin(self):\n        self.model = build()",
            False,
        ),
    ],
)
def test_a_model_that_each_object_makes_and_keeps_is_called_by_a_method(
    constructor: str, is_method: bool
) -> None:
    build = "def build():\n    return tf.keras.Sequential([tf.keras.layers.Dense(2)])\n\n\nclass Agent:\n"
    source = AGENT.format("return self.model.predict(state)[0]", "return 1.0")
    rest = source.partition("\n\n    def act")
    source = f"{source.partition('class')[0]}{build}    {constructor}{rest[1]}{rest[2]}"
    source = source.replace("Agent()", "Agent(build())" if "model):" in constructor else "Agent()")
    (name,) = made("TFP105", source)
    assert name == ("def _run_model(self, inputs):" if is_method else "def run_model(model, inputs):")


def test_each_class_has_a_function_of_its_own() -> None:
    source = LOADING.format("return self.model.predict(state)[0]", "return 1.0")
    classes = source.partition("class Agent:")[2].partition("\n\nagent = Agent()")[0]
    loop = "\n\nother = Other()\nfor step in range(10_000):\n    state = environment.step(other.act(state))\n"
    first = source + f"\n\nclass Other:{classes}" + loop
    assert made("TFP105", first) == ["def run_model(model, inputs):", "def run_model_2(model, inputs):"]
    half = fixed("TFP105", source, bold=True) + f"\n\nclass Other:{classes}" + loop
    assert made("TFP105", half) == ["def run_model(model, inputs):", "def run_model_2(model, inputs):"]


def test_calls_of_different_meaning_have_a_function_each() -> None:
    act = "return int(np.argmax(self.model(state, training=False)[0]))"
    worth = "return float(np.max(self.model(following)[0]))"
    assert made("TFP107", LOADING.format(act, worth)) == [
        "def run_model(model, inputs):",
        "def run_model_2(model, inputs):",
    ]
    assert made("TFP107", AGENT.format(act, worth)) == [
        "def _run_model(self, inputs):",
        "def _run_model_2(self, inputs):",
    ]


def test_functions_of_a_module_share_one_that_stands_above_both() -> None:
    text = fixed(
        "TFP105",
        MODELS
        + dedent("""

        def act(state):
            return model.predict(state)[0]


        def worth(state):
            return model.predict(state).max() + other.predict(state).max()


        for step in range(10_000):
            state = environment.step(act(state), worth(state))
        """),
        bold=True,
    )
    assert text.count("def run_model(inputs):") == text.count("def run_other(inputs):") == 1
    assert text.count("= model.predict") == 0
    assert text.index("def run_model(inputs):") < text.index("def act(state):")
    compile(text, "train.py", "exec")


def test_a_model_that_a_name_stands_for_later_has_a_function_of_its_own() -> None:
    loop = """
        for step in range(10_000):
            state = environment.step(model.predict(state)[0])
        """
    again = "\nmodel = tf.keras.Sequential([tf.keras.layers.Dense(3)])\n"
    assert made("TFP105", MODELS + dedent(loop) + dedent(loop)) == ["def run_model(inputs):"]
    assert made("TFP105", MODELS + dedent(loop) + again + dedent(loop)) == [
        "def run_model(inputs):",
        "def run_model_2(inputs):",
    ]


def test_a_model_that_each_function_is_given_has_a_function_for_each() -> None:
    source = MODELS + dedent("""
        def act(net, state):
            return net.predict(state)[0]


        def worth(net, state):
            return net.predict(state).max() - net.predict(state * 2).max()


        for step in range(10_000):
            state = environment.step(act(model, state), worth(other, state))
        """)
    assert made("TFP105", source) == ["def run_net(net, inputs):", "def run_net_2(net, inputs):"]


def test_what_a_branch_defines_is_used_in_no_other() -> None:
    loops = indent(
        dedent("""\
        for step in range(10_000):
            state = environment.step(model.predict(state)[0])
        """),
        "    ",
    )
    source = f"{MODELS}\nif fast:\n{loops}else:\n{loops}"
    assert made("TFP105", source) == ["def run_model(inputs):", "def run_model_2(inputs):"]


@pytest.mark.parametrize(
    ("agent", "call"), [(AGENT, "self._run_model("), (LOADING, "run_model(self.model, ")]
)
def test_a_function_that_an_earlier_fix_left_is_used_again(agent: str, call: str) -> None:
    first = fixed("TFP105", agent.format("return self.model.predict(state)[0]", "pass"), bold=True)
    second = first.replace("        pass\n", "        return self.model.predict(following)[0]\n")
    text = fixed("TFP105", second, bold=True)
    assert text.count("@tf.function") == 1
    assert f"return {call}tf.convert_to_tensor(following)).numpy()[0]" in text


def test_a_diff_of_all_fixes_imports_tensorflow_once(tflint_perf: CommandLine) -> None:
    act, worth = "return self.model.predict(state)[0]", "return self.model.predict(following)[0]"
    source = AGENT.format(act, worth).replace("import tensorflow as tf", "from tensorflow import keras")
    source = source.replace("tf.keras", "keras") + "    agent.model.train_on_batch(state, reward)\n"
    tflint_perf.write("train.py", source)
    ran = tflint_perf("--diff", "--bold-fixes", "--unsafe-fixes", "--select=TFP105,TFP404", "train.py")
    added = [line for line in ran.out.splitlines() if line.startswith("+")]
    assert added.count("+import tensorflow as tf") == 1
    assert added.count("+    @tf.function(reduce_retracing=True)") == 1
    assert any("set_memory_growth" in line for line in added)


def test_each_of_several_inputs_becomes_a_tensor_by_itself() -> None:
    act = "return self.model.predict([state, action])[0]"
    text = fixed("TFP105", AGENT.format(act, "return 1.0"), bold=True)
    assert "self._run_model(tf.nest.map_structure(tf.convert_to_tensor, [state, action])).numpy()[0]" in text


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        ("tf.config.run_functions_eagerly(True)\n", "`run_functions_eagerly(True)` would run it"),
        ("", ""),
    ],
)
def test_nothing_is_compiled_where_it_would_run_in_eager_mode_all_the_same(head: str, reason: str) -> None:
    source = AGENT.format("return int(np.argmax(self.model(state)[0]))", "return 1.0")
    source = source.replace("\n\n\nclass", f"\n{head}\n\nclass")
    assert ("@tf.function" in fixed("TFP107", source, bold=True)) == (not reason)
    if reason:
        (note,) = notes("TFP107", source)
        assert reason in note


MODEL_OF = """\
import tensorflow as tf

x = tf.keras.Input((4,))
y = tf.keras.layers.Dense(2)(x)
model = tf.keras.Model(x, {})
for step in range(10_000):
    state = environment.step(model.predict(state)[0])
"""


@pytest.mark.parametrize(
    ("outputs", "is_made"), [("y", True), ("[y, y]", False), ("[a for a in [y]]", False)]
)
def test_a_model_of_several_outputs_gives_no_array(outputs: str, is_made: bool) -> None:
    assert ("@tf.function" in fixed("TFP105", MODEL_OF.format(outputs), bold=True)) == is_made


def test_a_file_that_imports_tensorflow_where_it_needs_it_does_so_nowhere_else() -> None:
    source = dedent("""
        def show(states):
            import tensorflow as tf
            model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
            for step in range(10_000):
                state = environment.step(model.predict(state)[0])
        """)
    assert findings("TFP105", source)
    assert "@tf.function" not in fixed("TFP105", source, bold=True)


@pytest.mark.parametrize(
    ("model", "is_made"), [("self.nets[at]", False), ("self.nets[0]", True), ("self.pick(at)", False)]
)
def test_one_of_several_models_has_no_function_of_its_own(model: str, is_made: bool) -> None:
    act = f"at = environment.turn\n        return {model}.predict(state)[0]"
    source = AGENT.format(act, "return 1.0").replace(
        "        self.target =",
        "        self.nets = [self.model, tf.keras.Sequential()]\n        self.target =",
    )
    assert ("@tf.function" in fixed("TFP105", source, bold=True)) is is_made


def test_a_model_that_is_replaced_between_steps_is_trained_by_no_step_that_keeps_the_first() -> None:
    source = LEARNER.format("self.model.fit(states, wanted, verbose=0)")
    renew = "    def renew(self):\n        self.model = tf.keras.Sequential([tf.keras.layers.Dense(2)])\n\n"
    source = source.replace("    def learn", f"{renew}    def learn") + "    agent.renew()\n"
    assert findings("TFP105", source)
    assert "GradientTape" not in fixed("TFP105", source, bold=True)


def test_what_predict_is_told_of_one_batch_goes() -> None:
    act = "return self.model.predict(state, batch_size=32, verbose=0)[0]"
    text = fixed("TFP105", AGENT.format(act, "return 1.0"), bold=True)
    assert "return self._run_model(tf.convert_to_tensor(state)).numpy()[0]" in text


def test_a_list_of_numbers_may_be_one_input() -> None:
    act = "return self.model.predict([[1.0, 2.0]])[0]"
    assert "convert_to_tensor" not in fixed("TFP105", AGENT.format(act, "return 1.0"), bold=True)


LEARNER = """\
import random

import numpy as np
import tensorflow as tf


class Agent:
    def __init__(self):
        self.model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
        self.model.compile(loss="mse", optimizer="adam")

    def learn(self, memory):
        batch = random.sample(memory, 32)
        states, wanted = np.zeros((32, 4)), np.zeros((32, 2))
        for at in range(32):
            states[at], wanted[at] = batch[at]
        {}


agent = Agent()
for step in range(10_000):
    agent.learn(memory)
"""


@pytest.mark.parametrize(
    ("fit", "inputs", "loss", "given"),
    [
        (
            "self.model.fit(states, wanted, epochs=1, verbose=0)",
            "x, y",
            "x, y, self.model(x, training=True)",
            "tf.convert_to_tensor(states), tf.convert_to_tensor(wanted)",
        ),
        (
            "self.model.fit(x=states, y=wanted, sample_weight=np.ones(32), batch_size=32)",
            "x, y, weight",
            "x, y, self.model(x, training=True), weight",
            "tf.convert_to_tensor(states), tf.convert_to_tensor(wanted), tf.convert_to_tensor(np.ones(32))",
        ),
    ],
)
def test_fit_on_one_batch_becomes_a_compiled_gradient_step(
    fit: str, inputs: str, loss: str, given: str
) -> None:
    method = f"""\
@tf.function(reduce_retracing=True)
def _train_model(self, {inputs}):
    with tf.GradientTape() as tape:
        loss = self.model.compute_loss({loss})
    gradients = tape.gradient(loss, self.model.trainable_variables)
    self.model.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))

"""
    before = LEARNER.format(fit)
    after = LEARNER.format(f"self._train_model({given})").replace(
        "    def learn", indent(method, "    ") + "    def learn"
    )
    assert fixed("TFP105", before, bold=True) == after


STEP = "float(self._train_model(tf.convert_to_tensor(states), tf.convert_to_tensor(wanted)))"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            """\
history = self.model.fit(states, wanted, verbose=0)
loss = history.history["loss"][0]  # of this batch
self.losses.append(loss)""",
            f"""\
loss = {STEP}
# of this batch
self.losses.append(loss)""",
        ),
        (
            """\
history = self.model.fit(states, wanted)

# How well it goes
loss = history.history['loss'][-1]
print(loss)""",
            f"""\
batch_loss = {STEP}

# How well it goes
loss = batch_loss
print(loss)""",
        ),
        (
            """\
hist = self.model.fit(states, wanted)
self.losses += hist.history["loss"]
return hist.history["loss"][0]""",
            f"""\
loss = {STEP}
self.losses += [loss]
return loss""",
        ),
        ("return self.model.fit(states, wanted).history['loss'][0]", f"return {STEP}"),
        (
            "self.losses.append(self.model.fit(states, wanted).history['loss'])",
            f"self.losses.append([{STEP}])",
        ),
    ],
)
def test_the_loss_that_is_read_of_the_history_of_one_batch_is_that_of_the_step(
    before: str, after: str
) -> None:
    text = fixed("TFP105", LEARNER.format(indent(before, " " * 8).strip()), bold=True)
    assert "            loss = self.model.compute_loss(x, y, self.model(x, training=True))\n" in text
    assert "        return loss\n\n    def learn" in text
    assert f"{indent(after, ' ' * 8)}\n" in text


@pytest.mark.parametrize(
    ("callbacks", "test", "step_first"),
    [
        ("[self.board] if done else None", "done", False),
        ("None if self.quiet or not done else [self.board]", "self.quiet or not done", True),
    ],
)
def test_fit_stays_where_callbacks_listen_on_a_condition(callbacks: str, test: str, step_first: bool) -> None:
    fit = "self.model.fit(states, wanted, shuffle=False,\n                       callbacks={})"
    text = fixed("TFP105", LEARNER.format(f"# The whole batch\n        {fit.format(callbacks)}"), bold=True)
    step = "self._train_model(tf.convert_to_tensor(states), tf.convert_to_tensor(wanted))"
    kept = fit.format("[self.board]")
    then, otherwise = (step, kept) if step_first else (kept, step)
    made = f"if {test}:\n            {then}\n        else:\n            {otherwise}\n"
    assert f"        # The whole batch\n        {made}" in text


@pytest.mark.parametrize(
    ("layer", "fit", "is_fixed"),
    [
        ("Dropout(0.5)", "self.model.fit(states, wanted)", False),
        ("Dropout(0.5)", "self.model.fit(states, wanted, shuffle=False)", True),
        ("Dropout(0.5)", "self.model.fit(states[:1], wanted[:1])", True),
        ("BatchNormalization()", "self.model.fit(states, wanted)", True),
    ],
)
def test_what_a_layer_draws_for_shuffled_rows_falls_on_others(layer: str, fit: str, is_fixed: bool) -> None:
    source = LEARNER.format(fit).replace("([tf.", f"([tf.keras.layers.{layer}, tf.")
    assert findings("TFP105", source)
    assert ("_train_model(" in fixed("TFP105", source, bold=True)) is is_fixed
    assert ("train_on_batch(" in fixed("TFP105", source)) is is_fixed


IN_TURN = """\
@tf.function(reduce_retracing=True)
def _train_model(self, x, y):
    rows = tf.shape(x)[0]
    order = tf.random.shuffle(tf.range(rows))
    for start in tf.range(0, rows, 16):
        batch = order[start : start + 16]
        inputs, targets = tf.gather(x, batch), tf.gather(y, batch)
        with tf.GradientTape() as tape:
            loss = self.model.compute_loss(inputs, targets, self.model(inputs, training=True))
        gradients = tape.gradient(loss, self.model.trainable_variables)
        self.model.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))

"""
STEP_IN_TURN = "self._train_model(tf.convert_to_tensor(states), tf.convert_to_tensor(wanted))"


def test_fit_on_more_rows_than_a_batch_becomes_the_loop_over_mini_batches_that_keras_makes() -> None:
    before = LEARNER.format("self.model.fit(states, wanted, batch_size=16, verbose=0)")
    after = LEARNER.format(STEP_IN_TURN).replace("    def learn", indent(IN_TURN, "    ") + "    def learn")
    assert fixed("TFP105", before, bold=True) == after


def test_its_loss_is_the_mean_over_all_rows() -> None:
    fit = "return self.model.fit(states, wanted, batch_size=16).history['loss'][-1]"
    text = fixed("TFP105", LEARNER.format(fit), bold=True)
    assert "        total = 0.0\n        order = tf.random.shuffle(tf.range(rows))\n        for start" in text
    assert "            total += loss * tf.cast(tf.shape(inputs)[0], loss.dtype)\n        return" in text
    assert "        return total / tf.cast(rows, total.dtype)\n" in text
    assert f"        return float({STEP_IN_TURN})\n" in text


def test_rows_that_fit_takes_as_they_come_are_trained_on_so() -> None:
    fit = "self.model.fit(states, wanted, batch_size=16, shuffle=False)"
    text = fixed("TFP105", LEARNER.format(fit), bold=True)
    assert "rows = tf.shape(x)[0]\n        for start in tf.range(0, rows, 16):\n" in text
    assert "inputs, targets = x[start : start + 16], y[start : start + 16]\n" in text


def test_a_size_that_is_no_constant_is_given_to_the_loop() -> None:
    fit = "self.model.fit(states, wanted, batch_size=self.size, verbose=0)"
    text = fixed("TFP105", LEARNER.format(fit), bold=True)
    assert "def _train_model(self, x, y, batch_size):" in text
    assert "            batch = order[start : start + batch_size]\n" in text
    assert f"{STEP_IN_TURN[:-1]}, self.size)" in text


def test_weights_of_rows_are_cut_as_the_rows_are() -> None:
    fit = "self.model.fit(states, wanted, batch_size=16, sample_weight=np.ones(32))"
    text = fixed("TFP105", LEARNER.format(fit), bold=True)
    assert "weights = tf.gather(x, batch), tf.gather(y, batch), tf.gather(weight, batch)" in text
    assert "compute_loss(inputs, targets, self.model(inputs, training=True), weights)" in text


@pytest.mark.parametrize(
    ("states", "fit", "is_one"),
    [
        ("np.zeros((32, 4))", "", True),
        ("np.zeros((33, 4))", "", False),
        ("np.zeros((64, 4))", "batch_size=64", True),
        ("np.zeros((64, 4))", "batch_size=None", False),
        ("np.zeros((self.batch_size, 4))", "batch_size=self.batch_size", True),
        ("np.zeros((self.batch_size, 4))", "", False),
        ("np.array([state for state, _ in batch])", "", True),
        ("np.array([state for state, _ in batch])", "batch_size=8", False),
        ("np.array([state for state, _ in memory.sample()])", "batch_size=8", False),
        ("np.array([state for state, _ in memory.sample()])", "batch_size=len(states)", True),
        ("memory.states[at : at + 32]", "", True),
        ("memory.states[at : at + self.size]", "", False),
        ("memory.states[at : at + self.size]", "batch_size=self.size", True),
    ],
)
def test_rows_that_surely_are_one_batch_are_trained_on_at_once(states: str, fit: str, is_one: bool) -> None:
    source = LEARNER.replace("np.zeros((32, 4))", states).format(
        f"self.model.fit(states, wanted{', ' * bool(fit)}{fit})"
    )
    source = source.replace("states[at], wanted[at] = batch[at]", "wanted[at] = 1.0")
    text = fixed("TFP105", source, bold=True)
    assert "_train_model(" in text
    assert ("in tf.range(0, rows" in text) is not is_one


AGAIN = "reward = environment.step(1)\n        "


def test_several_epochs_go_through_the_rows_in_an_order_each() -> None:
    text = fixed("TFP105", LEARNER.format(f"{AGAIN}self.model.fit(states, wanted, epochs=4)"), bold=True)
    epochs = """\
        for _ in tf.range(4):
            order = tf.random.shuffle(tf.range(rows))
            for start in tf.range(0, rows, 32):
                batch = order[start : start + 32]
"""
    assert f"        rows = tf.shape(x)[0]\n{epochs}" in text
    assert f"        {STEP_IN_TURN}\n" in text


def test_no_other_method_of_keras_takes_a_batch_several_times() -> None:
    (note,) = notes("TFP105", LEARNER.format(f"{AGAIN}self.model.fit(states, wanted, epochs=4)"))
    assert note.startswith("no fix: `train_on_batch` has no `epochs`")


@pytest.mark.parametrize(("read", "is_made"), [("[-1]", True), ("[0]", False), ("", False)])
def test_the_loss_of_several_epochs_is_that_of_the_last(read: str, is_made: bool) -> None:
    fit = f"{AGAIN}return self.model.fit(states, wanted, epochs=4).history['loss']{read}"
    text = fixed("TFP105", LEARNER.format(fit), bold=True)
    begins = "        total = 0.0\n        for _ in tf.range(4):\n            total = 0.0\n"
    assert (begins in text) is is_made
    assert (f"return float({STEP_IN_TURN})" in text) is is_made


@pytest.mark.parametrize("more", ["shuffle='batch'", "shuffle=self.is_shuffled"])
def test_an_order_that_is_not_known_is_not_made(more: str) -> None:
    source = LEARNER.format(f"self.model.fit(states, wanted, batch_size=16, {more})")
    assert findings("TFP105", source)
    assert "GradientTape" not in fixed("TFP105", source, bold=True)


def test_layers_that_draw_for_each_row_do_so_in_the_loop() -> None:
    source = LEARNER.format("self.model.fit(states, wanted, batch_size=16)")
    source = source.replace("([tf.", "([tf.keras.layers.Dropout(0.5), tf.")
    assert "in tf.range(0, rows, 16)" in fixed("TFP105", source, bold=True)


def test_a_history_that_nobody_reads_goes() -> None:
    source = LEARNER.format("history = self.model.fit(states, wanted, verbose=0)")
    assert "\n        self._train_model(" in fixed("TFP105", source, bold=True)


@pytest.mark.parametrize(
    "fit",
    [
        "history = self.model.fit(states, wanted)\n        return history",
        "history = self.model.fit(states, wanted)\n        return history.history['accuracy'][0]",
        "history = self.model.fit(states, wanted)\n        return history.history['loss'][1]",
        "history = self.model.fit(states, wanted)\n        return lambda: history.history['loss'][0]",
        """history = None
        if len(memory) > 32:
            history = self.model.fit(states, wanted)
        return 0.0 if history is None else history.history["loss"][0]""",
        "self.history = self.model.fit(states, wanted, verbose=0)",
        "self.model.fit(states, wanted, verbose=0, callbacks=[stop])",
        "self.model.fit(states, wanted, verbose=0, callbacks=[stop] if memory.is_full() else None)",
        "self.model.fit(states, wanted, verbose=0, callbacks=[stop] if memory else [start])",
        "if memory: self.model.fit(states, wanted, verbose=0, callbacks=[stop] if done else None)",
        "self.model.fit(states, wanted, verbose=0, class_weight={0: 1, 1: 9})",
        "self.model.fit(states, [wanted[0], [1.0, 0.0]], verbose=0)",
    ],
)
def test_fit_that_does_more_than_a_gradient_step_gets_none(fit: str) -> None:
    source = LEARNER.format(fit)
    assert findings("TFP105", source)
    assert "GradientTape" not in fixed("TFP105", source, bold=True)


@pytest.mark.parametrize(
    ("bases", "method", "is_made"),
    [
        ("tf.keras.Model", "train_step(self, data)", False),
        ("tf.keras.Model", "compute_loss(self, x, y, y_pred)", False),
        ("Unknown", "call(self, x)", False),
        ("tf.keras.Model", "call(self, x)", True),
    ],
)
def test_a_model_with_a_step_of_its_own_gets_no_other(bases: str, method: str, is_made: bool) -> None:
    own = f"""
class Own({bases}):
    def {method}:
        return {{}}


class Agent:"""
    source = LEARNER.format("self.model.fit(states, wanted, verbose=0)")
    source = source.replace("\n\nclass Agent:", "\n" + own)
    source = source.replace("tf.keras.Sequential([tf.keras.layers.Dense(2)])", "Own()")
    assert ("GradientTape" in fixed("TFP105", source, bold=True)) is is_made


def test_what_a_parameter_is_called_does_not_make_it_one_row(tmp_path: Path) -> None:
    """Rows that another file draws, by whatever name."""
    source = LEARNER.format("pass").replace("def learn(self, memory)", "def update(self, state, wanted)")
    source = source[: source.index("        batch =")] + "        self.model.fit(state, wanted, verbose=0)\n"
    (tmp_path / "agents.py").write_text(source)
    (tmp_path / "train.py").write_text(
        "from agents import Agent\nagent = Agent()\n"
        "while not done:\n    state, reward, done, _ = env.step(1)\n"
        "    states, wanted = memory.draw()\n    agent.update(states, wanted)\n"
    )
    rules = frozenset({"TFP105"})
    fixes = Settings(tmp_path, rules=rules, fixable=rules, fix="diff", unsafe_fixes=True, bold_fixes=True)
    settings = replace(fixes, project_root=tmp_path)
    results = lint_files([tmp_path / name for name in ("agents.py", "train.py")], settings, 1)
    assert any("in tf.range(0, rows, 32)" in result.diff for result in results)


@pytest.mark.parametrize(("method", "is_made"), [("train_step(self, data)", False), ("call(self, x)", True)])
def test_nor_does_one_of_another_file(tmp_path: Path, method: str, is_made: bool) -> None:
    (tmp_path / "nets.py").write_text(
        f"import tensorflow as tf\nclass Own(tf.keras.Model):\n    def {method}:\n        return {{}}\n"
    )
    source = LEARNER.format("self.model.fit(states, wanted, verbose=0)")
    source = source.replace("tf.keras.Sequential([tf.keras.layers.Dense(2)])", "Own()")
    (tmp_path / "agent.py").write_text(f"from nets import Own\n{source}")
    rules = frozenset({"TFP105"})
    fixes = Settings(tmp_path, rules=rules, fixable=rules, fix="diff", unsafe_fixes=True, bold_fixes=True)
    settings = replace(fixes, project_root=tmp_path)
    results = lint_files([tmp_path / name for name in ("nets.py", "agent.py")], settings, 1)
    assert any("GradientTape" in result.diff for result in results) is is_made
