"""What the host does with what a step computes, moved ahead of its tape by a bold fix."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.rules.support import fixed

PROGRAM = dedent("""\
    import gymnasium
    import numpy as np
    import tensorflow as tf

    model = tf.keras.Sequential([tf.keras.layers.Dense(4, activation="softmax")])
    other = tf.keras.Sequential([tf.keras.layers.Dense(4)])
    optimizer = tf.keras.optimizers.Adam()
    env = gymnasium.make("CartPole-v1")
    state, _ = env.reset()
    for step in range(10_000):
        with tf.GradientTape() as tape:
            {}
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        state = after
""")


def program(under_tape: str) -> str:
    return PROGRAM.format(dedent(under_tape).strip().replace("\n", "\n        "))


def loop_of(source: str) -> str:
    """The loop of a program after its bold fixes."""
    return fixed("TFP101", source, bold=True).partition("for step in range(10_000):\n")[2]


DRAWN = """
    probs = model(state)
    # by chance
    action = np.random.choice(4, p=np.squeeze(probs))
    after, reward, done, _, _ = env.step(action)
    loss = -tf.math.log(probs[0, action]) * reward
    """


def test_an_action_is_drawn_and_taken_ahead_of_the_tape() -> None:
    assert loop_of(program(DRAWN)).startswith(
        "    probs = model(state)\n"
        "    # by chance\n"
        "    action = np.random.choice(4, p=np.squeeze(probs))\n"
        "    after, reward, done, _, _ = env.step(action)\n"
        "    train_step("
    )
    under = fixed("TFP101", program(DRAWN), bold=True).partition("with tf.GradientTape() as tape:\n")[2]
    assert under.startswith(
        "        probs = model(state)\n        loss = -tf.math.log(probs[0, action]) * reward\n"
    )


def test_targets_made_with_numpy_are_made_ahead_of_the_tape() -> None:
    """What is written into an array goes with it."""
    source = program("""
        values = model(state)
        target = values.numpy()
        best = other(after).numpy().max(axis=1)
        target[np.arange(32), action] = reward + 0.9 * best
        loss = tf.reduce_mean((target - values) ** 2)
        """)
    assert loop_of(source).startswith(
        "    values = model(state)\n"
        "    target = values.numpy()\n"
        "    best = other(after).numpy().max(axis=1)\n"
        "    target[np.arange(32), action] = reward + 0.9 * best\n"
        "    train_step("
    )


def test_where_lines_between_blank_ones_were_one_blank_line_remains() -> None:
    text = fixed("TFP101", program(DRAWN.replace("\n", "\n\n").replace("chance\n\n", "chance\n")), bold=True)
    under = text.partition("with tf.GradientTape() as tape:\n")[2]
    assert under.startswith(
        "        probs = model(state)\n\n        loss = -tf.math.log(probs[0, action]) * reward\n"
    )


REWARDED = """
    probs = model(state)
    action = np.random.choice(4, p=np.squeeze(probs))
    reward = drawn_for(means[action])
    loss = -tf.math.log(probs[0, action]) * reward
    """


def rewarded(under_tape: str) -> str:
    function = "def drawn_for(mean):\n    return tf.random.normal([1], mean=mean)\n"
    return program(under_tape).replace("state = after", "").replace("for step", f"{function}for step")


def test_a_reward_that_is_drawn_for_an_action_is_drawn_with_it() -> None:
    """Each trace would begin its numbers anew, and an array is looked up by a number."""
    text = loop_of(rewarded(REWARDED))
    assert "    reward = drawn_for(means[action])\n    train_step(" in text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("means[action])", "means[action] + tf.reduce_sum(probs))"),
        ("reward = ", "noise = tf.random.normal([1])\n    reward = "),
    ],
    ids=["a gradient goes through it", "something else is drawn first"],
)
def test_elsewhere_a_reward_stays_under_the_tape(old: str, new: str) -> None:
    text = loop_of(rewarded(REWARDED.replace(old, new)))
    assert "train_step(" in text
    assert "drawn_for" not in text


STAYS = {
    "a gradient goes through what the host is said to make": """
        probs = model(state)
        hidden = other(state) + other(after).numpy()
        action = np.random.choice(4, p=np.squeeze(probs))
        loss = tf.reduce_sum(hidden[0, action] * probs)
        """,
    "the model reads what the host sets": """
        probs = model(state)
        action = np.random.choice(4, p=np.squeeze(probs))
        state, reward, done, _, _ = env.step(action)
        loss = -tf.math.log(probs[0, action]) * reward * tf.reduce_mean(state)
        """,
    "what it needs is drawn on the device": """
        noise = tf.random.normal((1, 4))
        probs = model(state + noise)
        action = np.random.choice(4, p=np.squeeze(probs))
        loss = -tf.math.log(probs[0, action])
        """,
    "variables change in between": """
        weight.assign(decay * weight)
        probs = model(state)
        action = np.random.choice(4, p=np.squeeze(probs))
        loss = -tf.math.log(probs[0, action]) * weight
        """,
}


@pytest.mark.usefixtures("as_one")
@pytest.mark.parametrize("under_tape", STAYS.values(), ids=list(STAYS))
def test_it_stays_where(under_tape: str) -> None:
    source = program(under_tape)
    assert fixed("TFP101", source, bold=True) == source


@pytest.mark.usefixtures("as_one")
@pytest.mark.parametrize(("layer", "moves"), [("Dense(4)", True), ("Dropout(0.5)", False)])
def test_a_model_that_is_trained_answers_twice_where_it_gives_the_same(layer: str, moves: bool) -> None:
    source = program(DRAWN.replace("model(state)", "model(state, training=True)"))
    source = source.replace(
        "other = tf.keras.Sequential([tf.keras.layers.Dense(4)])", f"other = tf.keras.layers.{layer}"
    )
    assert (fixed("TFP101", source, bold=True) != source) is moves


def test_an_array_that_a_step_reads_is_written_to_before_it() -> None:
    """Behind the step, it would have been too late."""
    source = program("""
        target = np.zeros((32, 4))
        values = model(state)
        target[0, action] = values.numpy()[0, 0]
        loss = tf.reduce_mean((target - values) ** 2)
        """)
    text = loop_of(source)
    assert "target[0, action]" in text
    assert text.index("target[0, action]") < text.index("train_step(")
