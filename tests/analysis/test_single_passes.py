"""Loops that a program goes through once beside its training."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.analysis.support import here, model_of
from tflint_perf.analysis.training.single_passes import Passes

TRAINING = """
@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))

def train():
    for epoch in range(10):
        for x, y in batches:
            step(x, y)
"""
PREAMBLE = """
import tensorflow as tf
batches = tf.data.Dataset.from_tensor_slices((images, labels)).batch(32)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD()
"""
PASSES = {
    "what each input weighs, by gradients of the inputs": """
        def weigh(x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                answer = model(x)
            return tape.gradient(answer, x)
        train()
        for x, y in batches:
            here(weigh(x))
        """,
    "behind the training, at module level": """
        train()
        for x, y in batches:
            here(model(x))
        """,
    "in a function that is called once": """
        def evaluate():
            for x, y in batches:
                here(model(x))
        train()
        evaluate()
        """,
    "in what the loop calls": """
        def show(x):
            here(model(x))
        train()
        for x, y in batches:
            show(x)
        """,
    "in the main function": """
        def main():
            train()
            for x, y in batches:
                here(model(x))
        if __name__ == "__main__":
            main()
        """,
    "once for each of several trainings": """
        for trial in range(5):
            train()
            for x, y in batches:
                here(model(x))
        """,
    "once for each fold that Keras trains": """
        for fold in range(5):
            model.fit(batches, epochs=10)
            for x, y in batches:
                here(model(x))
        """,
    "before the training in the method that trains": """
        class Trainer:
            def start(self):
                for candidate in range(100):
                    here(model(candidate))
            def fit(self):
                self.start()
                train()
        """,
    "counted": """
        train()
        for i in range(100):
            here(model(noise))
        """,
}
NONE = {
    "a search that is given the gradients of variables, and moves them its own way": """
        def ask(at):
            with tf.GradientTape() as tape:
                put(at)
                loss = tf.reduce_mean((model(images) - labels) ** 2)
            return loss, tape.gradient(loss, model.trainable_variables)
        train()
        at, tried = first(), 0
        while tried < 900:
            loss, slope = ask(at)
            here(loss)
            at = move(at, slope)
            tried += 1
        """,
    "the training itself": """
        for x, y in batches:
            here(step(x, y))
        """,
    "a step that its own tape makes": """
        for x, y in batches:
            with tf.GradientTape() as tape:
                loss = here(model(x))
            weight.assign_sub(tape.gradient(loss, weight))
        """,
    "once an epoch": """
        for epoch in range(10):
            for x, y in batches:
                step(x, y)
            for x, y in batches:
                here(model(x))
        """,
    "in a function that is called once an epoch": """
        def evaluate():
            for x, y in batches:
                here(model(x))
        for epoch in range(10):
            for x, y in batches:
                step(x, y)
            evaluate()
        """,
    "in a function that nobody here calls": """
        def evaluate():
            for x, y in batches:
                here(model(x))
        train()
        """,
    "behind several epochs of each round": """
        for round in range(1000):
            for epoch in range(2):
                for x, y in batches:
                    step(x, y)
            for x, y in batches:
                here(model(x))
        """,
    "in an environment": """
        train()
        for i in range(1000):
            env.step(here(model(state)))
        """,
    "in what gives the steps their batches": """
        class Batches:
            def __iter__(self):
                return self
            def __next__(self):
                return here(load())
        batches = Batches()
        for epoch in range(10):
            for x, y in batches:
                step(x, y)
        """,
    "without an end": """
        train()
        while True:
            here(model(frame))
        """,
}


def source(program: str) -> str:
    return PREAMBLE + TRAINING + dedent(program)


@pytest.mark.parametrize("program", PASSES.values(), ids=PASSES)
def test_a_pass_is_gone_through_once(program: str) -> None:
    model = model_of(source(program))
    assert model.single_passes.hold(here(model))


@pytest.mark.parametrize("program", NONE.values(), ids=NONE)
def test_what_repeats_or_trains_is_none(program: str) -> None:
    model = model_of(source(program))
    assert not model.single_passes.hold(here(model))


def test_loops_that_count_may_be_left_out() -> None:
    model = model_of(source(PASSES["counted"]))
    assert not model.single_passes.hold(here(model), Passes(counted=False))


def test_a_program_that_does_not_train_has_none() -> None:
    model = model_of(PREAMBLE + "for x, y in batches:\n    here(model(x))\n")
    assert not model.single_passes.hold(here(model))


LOOP = "for x, y in batches:\n    here(model(x))\n"


@pytest.mark.parametrize(
    "restored",
    [
        "model.load_weights(path)\n",
        "model = tf.keras.models.load_model(path)\n",
        "tf.train.Checkpoint(model=model).restore(tf.train.latest_checkpoint(path))\n",
        "model = Translator.load_model(path)\n",
        "model = tf.saved_model.load(path)\n",
    ],
)
def test_all_that_a_program_does_which_applies_what_was_trained_before_is_a_pass(restored: str) -> None:
    model = model_of(PREAMBLE + restored + LOOP)
    assert model.single_passes.hold(here(model))
    assert not model.single_passes.hold(here(model), Passes(of_results=False))


@pytest.mark.parametrize(
    "other",
    [
        TRAINING + "train()\nfor round in range(9):\n    rest()\n",  # what was restored is trained on
        "trainer.train(model)\n",  # by who knows what
        "def train(x):\n    model.fit(x)\ntrain(1)\n",
    ],
)
def test_a_program_that_trains_what_it_restores_has_other_steps(other: str) -> None:
    model = model_of(PREAMBLE + "model.load_weights(path)\n" + other)
    assert not model.programs.applies_only()


def test_a_module_of_functions_is_no_program_that_applies_a_model() -> None:
    model = model_of(
        PREAMBLE
        + "def predict():\n    model.load_weights(path)\n    for x, y in batches:\n        here(model(x))\n"
    )
    assert not model.single_passes.hold(here(model))
