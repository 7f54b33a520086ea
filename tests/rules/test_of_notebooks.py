"""What training notebooks do and scripts seldom do: look at a few results, sum up phases, run in TensorFlow 1."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from tests.rules.support import fixed, flagged, notes

PREAMBLE = dedent("""\
    import matplotlib.pyplot as plt
    import tensorflow as tf
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.Adam()
    dataset = tf.data.Dataset.from_tensor_slices(data).batch(32)
    @tf.function
    def scaled(x, value):
        return x * value
    def show(x):
        plt.imshow(model.predict(next(iter(dataset)))[0] + model(x))
        plt.show()
""")
ROWS = PREAMBLE.count("\n")


def module(source: str) -> str:
    return PREAMBLE + dedent(source).lstrip("\n")


LOOKS = {
    "a few pictures": "for _ in range(5):\n    show(noise)\n",
    "the first batches of two datasets": "for a, b in zip(dataset.take(1), others.take(1)):\n    show(a)\n",
    "the first batches, numbered": "for i, a in enumerate(dataset.take(3)):\n    show(a)\n",
}


@pytest.mark.parametrize("code", ["TFP105", "TFP107", "TFP507"])
@pytest.mark.parametrize("source", LOOKS.values(), ids=LOOKS)
def test_a_person_who_looks_at_a_few_results_makes_no_step(code: str, source: str) -> None:
    assert flagged(code, module(source)) == []


@pytest.mark.parametrize("code", ["TFP105", "TFP107", "TFP507"])
def test_many_pictures_are_none_either_unless_one_in_many_is_shown(code: str) -> None:
    assert flagged(code, module("for _ in range(500):\n    show(noise)\n")) == []
    seldom = PREAMBLE.replace("    plt.show()", "    if verbose:\n        plt.show()")
    assert flagged(code, seldom + "for _ in range(500):\n    show(noise)\n") == [ROWS - 1]


FEW_STEPS = """
    for epoch in range(5):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(images))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        plt.imshow(images[0])
    """


def test_few_steps_that_train_are_steps() -> None:
    again = "for images in dataset:\n" + indent(dedent(FEW_STEPS).strip(), "    ")
    assert flagged("TFP101", module(again)) == [ROWS + 3]


def test_few_steps_that_a_program_makes_once_are_not_worth_a_trace() -> None:
    assert flagged("TFP101", module(FEW_STEPS)) == []
    assert flagged("TFP101", module(FEW_STEPS.replace("5", "500"))) == [ROWS + 2]


PHASES = {
    "a list of datasets": "for size, dataset in zip([4, 8, 16], datasets):",
    "a few by number": "for size in range(2, 6):",
    "numbered": "for size, dataset in enumerate(datasets):",
}
TRAINING = """
    for epoch in range(epochs):
        for step, x in enumerate(dataset):
            scaled(x, {value})
"""


@pytest.mark.parametrize("phases", PHASES.values(), ids=PHASES)
def test_what_differs_from_phase_to_phase_is_no_value_that_changes_with_the_steps(phases: str) -> None:
    assert flagged("TFP202", module(phases + TRAINING.format(value="2 * size"))) == []
    assert flagged("TFP202", module(phases + TRAINING.format(value="step / 100"))) == [ROWS + 4]


@pytest.mark.parametrize(
    "rounds", ["for size in range(1000):", "for size in range(rounds):", "for size in itertools.count():"]
)
def test_what_differs_from_round_to_round_of_many_changes(rounds: str) -> None:
    source = "import itertools\n" + rounds + TRAINING.format(value="size")
    assert flagged("TFP202", module(source)) == [ROWS + 5]


@pytest.mark.parametrize(("decorator", "rows"), [("@snt.once", []), ("@lru_cache", []), ("", [6])])
def test_what_is_made_behind_once_is_made_once(decorator: str, rows: list[int]) -> None:
    source = f"""
        import sonnet as snt
        from functools import lru_cache
        class Norm:
            {decorator or "# each time"}
            def _start(self, w):
                self.u = tf.Variable(w)
            def __call__(self, w):
                self._start(w)
                return self.u * w
        norm = Norm()
        for x in dataset:
            with tf.GradientTape() as tape:
                loss = norm(model(x))
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        """
    assert flagged("TFP204", module(source)) == [ROWS + row for row in rows]


def test_a_gradient_that_becomes_a_part_of_a_loss_is_no_step_of_its_own() -> None:
    source = """
        class Net:
            def residual(self, x):
                with tf.GradientTape() as tape:
                    tape.watch(x)
                    u = model(x)
                return tf.reduce_mean(tape.gradient(u, x) ** 2)
            def loss(self, x):
                return self.residual(x)
            def gradients(self):
                with tf.GradientTape() as tape:
                    loss = self.loss(points)
                return loss, tape.gradient(loss, model.trainable_variables)
        net = Net()
        for epoch in range(1000):
            loss, found = net.gradients()
            optimizer.apply_gradients(zip(found, model.trainable_variables))
        """
    assert flagged("TFP101", module(source)) == [ROWS + 10]


def test_a_gradient_that_is_applied_under_another_tape_is_a_step() -> None:
    source = """
        def inner(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(x))
            return tape.gradient(loss, model.trainable_variables)
        for x in dataset:
            with tf.GradientTape() as outer:
                for weight, gradient in zip(model.trainable_variables, inner(x)):
                    weight.assign_sub(gradient)
                loss = tf.reduce_mean(model(x))
            optimizer.apply_gradients(zip(outer.gradient(loss, first), first))
        """
    assert ROWS + 2 in flagged("TFP101", module(source))


ARRAYS = {
    "x.reshape((-1, 28, 28, 1))": "`.reshape()`",
    "x.astype('float32')": "`.astype()`",
    "x.flatten()": "`.flatten()`",
    "x.squeeze()": "`.squeeze()`",
}


@pytest.mark.parametrize(("given", "method"), ARRAYS.items())
def test_a_step_that_needs_an_array_is_not_compiled(given: str, method: str) -> None:
    source = module(f"""
        def step(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model({given}))
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        for i in range(1000):
            step(images[i * 32 : (i + 1) * 32])
        """)
    (note,) = notes("TFP101", source)
    assert note.startswith(
        f"no fix: {method} is a method of arrays, which compiled code gets as tensors (line "
    )


@pytest.mark.parametrize("given", ["tf.reshape(x, (-1, 28, 28, 1))", "flat(x)", "layers.flatten(x)"])
def test_functions_and_layers_of_such_names_are_no_methods_of_arrays(given: str) -> None:
    source = module(f"""
        def step(x, layers, flat):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model({given}))
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        for x in dataset:
            step(x, model, model)
        """)
    assert not any("arrays" in note for note in notes("TFP101", source))


def test_a_condition_on_a_rank_is_not_compiled() -> None:
    source = module("""
        def act(image):
            single = tf.rank(image) == 3
            if single:
                image = tf.expand_dims(image, 0)
            return model(image)
        for image in dataset:
            act(image)
        """)
    assert notes("TFP107", source) == [
        f"no fix: a condition on the rank decides what is traced (line {ROWS + 3})"
    ]
    assert notes("TFP107", source.replace("tf.rank(image)", "len(image.shape)")) == []


OF_VERSION_1 = [
    "tf.enable_eager_execution()",
    "import tensorflow.contrib.eager as tfe",
    "tfe = tf.contrib.eager",
]


@pytest.mark.parametrize("line", OF_VERSION_1)
def test_fixes_of_what_runs_in_version_1_use_what_it_has(line: str) -> None:
    source = f"import tensorflow as tf\n{line}\n" + dedent("""\
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        dataset = tf.data.Dataset.from_tensor_slices(data).batch(32)
        model.fit(dataset)
        """)
    assert notes("TFP404", source) == [
        "no fix: in TensorFlow 1 the `config` of `tf.enable_eager_execution` or of the session decides"
    ]
    assert "dataset = dataset.prefetch(tf.data.experimental.AUTOTUNE)\n" in fixed("TFP502", source)


FOR_BOTH = {
    "kept under another name": "tf.compat.v1.enable_eager_execution()",
    "asked for": "if tf.__version__.startswith('1.'):\n            tf.enable_eager_execution()",
}


@pytest.mark.parametrize("line", FOR_BOTH.values(), ids=FOR_BOTH)
def test_what_runs_in_version_2_too_is_no_sign_of_version_1(line: str) -> None:
    source = dedent(f"""\
        import tensorflow as tf
        {line}
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.fit(tf.data.Dataset.from_tensor_slices(data).batch(32))
        """)
    assert notes("TFP404", source) == []
    assert "(32).prefetch(tf.data.AUTOTUNE)" in fixed("TFP502", source)


def test_datasets_that_others_make_are_no_trouble() -> None:
    source = """
        images = builder.as_dataset(split="train")
        def flat(x):
            return tf.cast(x["image"], tf.float32) / 255.0
        for x in images.map(flat).shuffle(1000).batch(32):
            model.train_on_batch(x)
        """
    assert (
        flagged(
            "TFP509",
            module("from catalogue import builder\n" + dedent(source)),
        )
        == []
    )
