"""TFP402 tape-spans-loop."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.rules.support import costs_told, findings, flagged

CODE = "TFP402"
PREAMBLE = dedent("""\
    import tensorflow as tf
    from tqdm import tqdm
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    variables = model.trainable_variables
    optimizer = tf.keras.optimizers.Adam()
    dataset = tf.data.Dataset.from_tensor_slices((images, labels)).batch(32)
""")


def module(source: str) -> str:
    return PREAMBLE + dedent(source).lstrip()


SILENT = {
    "a tape that gives one gradient, so that the loop comes round once": """
        for epoch in range(1000):
            with tf.GradientTape() as tape:
                for x, y in dataset:
                    loss = compute(model(x), y)
                    grads = tape.gradient(loss, variables)
                    optimizer.apply_gradients(zip(grads, variables))
        """,
    "a tape in the loop": """
        for x, y in dataset:
            with tf.GradientTape() as tape:
                loss = compute(model(x), y)
            grads = tape.gradient(loss, variables)
            optimizer.apply_gradients(zip(grads, variables))
        """,
    "a time loop": """
        for x, y in dataset:
            with tf.GradientTape() as tape:
                loss, state = 0.0, tf.zeros((32, 8))
                for t in range(1, y.shape[1]):
                    out, state = model((x[:, t], state))
                    loss += compute(out, y[:, t])
            grads = tape.gradient(loss, variables)
            optimizer.apply_gradients(zip(grads, variables))
        """,
    "the moves of an episode": """
        import gym
        env = gym.make("CartPole-v1")
        for episode in range(1000):
            state = env.reset()
            with tf.GradientTape() as tape:
                for move in range(500):
                    probabilities = model(state)
                    state, reward, done, _ = env.step(0)
                    rewards.append(reward)
                loss = compute(rewards)
            grads = tape.gradient(loss, variables)
            optimizer.apply_gradients(zip(grads, variables))
        """,
    "a loop over the outputs and labels of one batch": """
        for x, labels in dataset:
            with tf.GradientTape() as tape:
                losses = []
                for output, label, loss_of in zip(model(x), labels, all_losses):
                    losses.append(loss_of(label, output))
            optimizer.apply_gradients(zip(tape.gradient(losses, variables), variables))
        """,
    "a loop over the rows of one batch": """
        for x, labels in dataset:
            with tf.GradientTape() as tape:
                losses = []
                for i, row in enumerate(x):
                    losses.append(compute(row, labels[i]))
            optimizer.apply_gradients(zip(tape.gradient(losses, variables), variables))
        """,
    "a loop over losses": """
        with tf.GradientTape(persistent=True) as tape:
            losses = [compute(model(x)) for x in inputs]
            for loss in losses:
                grads = tape.gradient(loss, variables)
        """,
    "the rows of a Jacobian": """
        with tf.GradientTape(persistent=True) as tape:
            out = model(x)
            rows = [tape.gradient(out[:, i], x) for i in range(100)]
        """,
    "a few batches": """
        with tf.GradientTape() as tape:
            loss = 0.0
            for x, y in dataset.take(4):
                loss += compute(model(x), y)
        grads = tape.gradient(loss, variables)
        optimizer.apply_gradients(zip(grads, variables))
        """,
    "batches of unknown number, counted": """
        for step in range(steps):
            with tf.GradientTape() as tape:
                loss = 0.0
                for _ in range(accumulate):
                    loss += compute(model(next_batch()))
            grads = tape.gradient(loss, variables)
            optimizer.apply_gradients(zip(grads, variables))
        """,
    "an inner loop of meta-learning": """
        with tf.GradientTape() as outer:
            for x, y in dataset:
                with tf.GradientTape() as inner:
                    loss = compute(model(x), y)
                grads = inner.gradient(loss, variables)
                optimizer.apply_gradients(zip(grads, variables))
            meta_loss = compute(model(test))
        optimizer.apply_gradients(zip(outer.gradient(meta_loss, variables), variables))
        """,
    "second derivatives": """
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                loss = 0.0
                for x, y in dataset:
                    loss += compute(model(x), y)
            grads = inner.gradient(loss, variables)
        hessian = outer.jacobian(grads, variables)
        """,
    "a tape that is reset": """
        with tf.GradientTape(persistent=True) as tape:
            for x, y in dataset:
                tape.reset()
                grads = tape.gradient(compute(model(x), y), variables)
                optimizer.apply_gradients(zip(grads, variables))
        """,
    "a tape that is stopped": """
        with tf.GradientTape() as tape:
            loss = compute(model(first))
            with tape.stop_recording():
                for x, y in dataset:
                    metric.update_state(y, model(x))
        """,
    "compiled code": """
        @tf.function
        def step(dataset):
            with tf.GradientTape() as tape:
                loss = 0.0
                for x, y in dataset:
                    loss += compute(model(x), y)
            return tape.gradient(loss, variables)
        """,
    "a loop over something unknown": """
        with tf.GradientTape() as tape:
            loss = 0.0
            for x in parts:
                loss += compute(model(x))
        grads = tape.gradient(loss, variables)
        optimizer.apply_gradients(zip(grads, variables))
        """,
    "layers": """
        with tf.GradientTape() as tape:
            for layer in model.layers:
                x = layer(x)
        """,
    "a step loop in a function defined under the tape": """
        with tf.GradientTape() as tape:
            def run():
                for x, y in dataset:
                    train(x, y)
            loss = compute(model(x))
        """,
    "a counter": """
        with tf.GradientTape() as tape:
            for i in tf.data.Dataset.range(10):
                total += i
        """,
}


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT.keys())
def test_says_nothing_of(source: str) -> None:
    assert flagged(CODE, module(source)) == []


FLAGGED = {
    "a loop over a dataset that makes the steps": """
        with tf.GradientTape(persistent=True) as tape:  # <-
            for x, y in dataset:
                loss = compute(model(x), y)
                grads = tape.gradient(loss, variables)
                optimizer.apply_gradients(zip(grads, variables))
        """,
    "a loop that counts the steps": """
        with tf.GradientTape(persistent=True) as tape:  # <-
            for step in range(1000):
                loss = compute(model(x))
                grads = tape.gradient(loss, variables)
                optimizer.apply_gradients(zip(grads, variables))
        """,
    "updates by hand": """
        with tf.GradientTape(persistent=True) as tape:  # <-
            while True:
                loss = compute(model(x))
                for v, g in zip(variables, tape.gradient(loss, variables)):
                    v.assign_sub(0.1 * g)
        """,
    "a gradient of a whole epoch": """
        for epoch in range(10):
            with tf.GradientTape() as tape:  # <-
                loss = 0.0
                for x, y in tqdm(dataset):
                    loss += compute(model(x), y)
            grads = tape.gradient(loss, variables)
            optimizer.apply_gradients(zip(grads, variables))
        """,
    "in a function, with the loop in a condition and in an epoch loop": """
        def train(model, epochs):
            with tf.GradientTape(persistent=True) as tape:  # <-
                for epoch in range(epochs):
                    if epoch >= 0:
                        for i, (x, y) in enumerate(dataset):
                            loss = compute(model(x), y)
                            grads = tape.gradient(loss, variables)
                            optimizer.apply_gradients(zip(grads, variables))
        """,
    "a comprehension": """
        with tf.GradientTape() as tape:  # <-
            losses = [compute(model(x), y) for x, y in dataset]
        grads = tape.gradient(losses, variables)
        """,
    "an iterator": """
        iterator = iter(dataset)
        with tf.GradientTape() as tape:  # <-
            total = sum(compute(model(x), y) for x, y in iterator)
        """,
}


@pytest.mark.parametrize("source", FLAGGED.values(), ids=FLAGGED.keys())
def test_flags(source: str) -> None:
    text = module(source)
    marked = [row for row, line in enumerate(text.splitlines(), 1) if line.endswith("# <-")]
    assert flagged(CODE, text) == marked != []


@pytest.mark.parametrize(
    "name", ["a loop over a dataset that makes the steps", "a gradient of a whole epoch"]
)
def test_tells_the_cost_only_of_a_tape_that_the_loop_asks_for_gradients(name: str) -> None:
    asks = name != "a gradient of a whole epoch"
    (finding,) = findings(CODE, module(FLAGGED[name]))
    assert finding.message.endswith(
        "; open a tape in the loop, for each step" + ("" if asks else ", and add up the gradients")
    )
    assert costs_told(CODE, module(FLAGGED[name])) == [asks]
