"""What other files make of values decides where tensors are copied to the host, and what is converted, on each step."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_callers import project, write
from tflint_perf.config.settings import Settings
from tflint_perf.project.linting import lint_files

__all__ = ["project"]

LOSS = """
    import tensorflow as tf

    class Distance:
        def __init__(self, weight):
            self.weight = weight

        def __call__(self, y, p):
            loss = tf.reduce_mean(tf.abs(y - p))
            return loss, loss * self.weight
"""
EVALUATION = """
    import tensorflow as tf
    from losses import Distance

    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    distance = Distance(2.0)
    dataset = tf.data.Dataset.from_tensor_slices(data).batch(32)
"""
MEMORY = """
    import numpy as np
    import tensorflow as tf

    class Memory:
        def __init__(self):
            self.states = np.zeros((900, 4))

        def sample(self, count):
            index = np.random.choice(900, count)
            return tf.convert_to_tensor(self.states[index])
"""
LEARNING = """
    import tensorflow as tf
    from memories import Memory

    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.Adam()
    memory = Memory()

    def learn(states):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(states))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""


def rows(code: str, paths: list[Path]) -> dict[str, list[int]]:
    """The rows that a rule flags in each file that has any."""
    results = lint_files(paths, Settings(root=Path(), rules=frozenset({code})), 1)
    return {
        result.path: [finding.start.row for finding in result.findings]
        for result in results
        if result.findings
    }


@pytest.mark.parametrize(
    ("loop", "found"),
    [
        (
            "for x, y in dataset:\n        _, loss = distance(y, model(x))\n        total += loss.numpy()",
            {"train.py": [10]},
        ),
        ("_, loss = distance(labels, model(images))\n    print(loss.numpy())", {}),
    ],
    ids=["on each step", "once"],
)
def test_what_calling_an_object_of_another_file_gives_is_made_on_the_device(
    project: Path, loop: str, found: dict[str, list[int]]
) -> None:
    assert rows("TFP302", write(project, losses=LOSS, train=f"{EVALUATION}    {loop}\n")) == found


@pytest.mark.parametrize(
    ("loop", "of_memory"),
    [
        ("for step in range(9000):\n        learn(memory.sample(64))", [11]),
        ("print(model(memory.sample(64)))", []),
    ],
    ids=["on each step", "once"],
)
def test_what_a_memory_draws_for_a_step_of_another_file_is_a_batch(
    project: Path, loop: str, of_memory: list[int]
) -> None:
    found = rows("TFP301", write(project, memories=MEMORY, train=f"{LEARNING}    {loop}\n"))
    assert found.get("memories.py", []) == of_memory


HELPERS = """
    import tensorflow as tf

    tf.random.set_seed(1)

    def record(step, loss):
        print(f"{step} {float(loss):.3f}")
"""


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("record(step, tf.reduce_mean(model(x)))", [7]),
        ("record(step, loss=model(x))", [7]),
        ("record(step, 1.0)", []),
        ("if step % 100 == 0:\n            record(step, model(x))", []),
        ("if step % 100 == 0:\n            record(step, model(x))\n        record(step, 1.0)", []),
    ],
    ids=["a tensor", "a tensor by its name", "a number", "seldom", "seldom, and a number each time"],
)
def test_a_function_is_given_by_another_file_what_the_device_made(
    project: Path, call: str, found: list[int]
) -> None:
    loop = f"for step, (x, y) in enumerate(dataset):\n        {call}"
    source = f"{EVALUATION}    from helpers import record\n    {loop}\n"
    files = write(project, losses=LOSS, helpers=HELPERS, train=source)
    assert rows("TFP302", files).get("helpers.py", []) == found


@pytest.mark.parametrize(
    ("guard", "found"), [("if x is not None", [7]), ("if step % 100 == 0", [])], ids=["each time", "seldom"]
)
def test_a_loop_behind_a_guard_makes_copies_seldom_that_another_file_makes(
    project: Path, guard: str, found: list[int]
) -> None:
    loop = f"""for step, (x, y) in enumerate(dataset):
        {guard}:
            for a, b in dataset:
                record(step, model(a))
"""
    source = f"{EVALUATION}    from helpers import record\n    {loop}"
    files = write(project, losses=LOSS, helpers=HELPERS, train=source)
    assert rows("TFP302", files).get("helpers.py", []) == found


STEPS = """
    import tensorflow as tf

    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.Adam()

    @tf.function
    def train_step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss

    @tf.function
    def test_step(x):
        return tf.reduce_mean(model(x))
"""


@pytest.mark.parametrize(("step", "told"), [("train_step", True), ("test_step", False)])
def test_tells_what_printing_a_loss_costs_where_another_file_trains_by_a_compiled_step(
    project: Path, step: str, told: bool
) -> None:
    train = f"""
    import tensorflow as tf
    from steps import test_step, train_step
    dataset = tf.data.Dataset.from_tensor_slices(data).batch(32)
    for epoch in range(9):
        for x in dataset:
            train_step(x)
        for x in dataset:
            loss = {step}(x)
            print(float(loss))
"""
    results = lint_files(
        write(project, steps=STEPS, train=train), Settings(root=Path(), rules=frozenset({"TFP302"})), 1
    )
    assert [finding.as_measured for result in results for finding in result.findings] == [told]
