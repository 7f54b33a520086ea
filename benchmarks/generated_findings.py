"""Files with many findings, and many suppressions: the counterpart of `generated` where rules have something to say."""

from __future__ import annotations

from collections.abc import Callable

from generated import HEAD, Project, one_file


def findings(size: int) -> Project:
    """As many findings with safe fixes, in one file."""
    lines = []
    for n in range(size):
        lines.append(
            f"\n\ndef train{n}(model, dataset):\n    for images, labels in dataset:\n"
            "        model.train_on_batch(images, labels)\n        gc.collect()\n"
        )
    return {"findings.py": HEAD + "".join(lines)}


def findings_in_a_loop(size: int) -> Project:
    """As many findings in one loop."""
    lines = ["def train(model, dataset):\n    for images, labels in dataset:\n"]
    lines += ["        model.train_on_batch(images, labels)\n        gc.collect()\n" for _ in range(size)]
    return {"findings.py": HEAD + "\n" + "".join(lines)}


def unsafe_findings(size: int) -> Project:
    """As many findings whose fixes move code into new functions, and add calls."""
    lines = []
    for n in range(size):
        lines.append(
            f"\n\ndef train{n}(model, dataset, optimizer):\n    for images, labels in dataset:\n"
            "        with tf.GradientTape() as tape:\n"
            "            loss = tf.reduce_mean(tf.square(model(images) - labels))\n"
            "        gradients = tape.gradient(loss, model.trainable_variables)\n"
            "        optimizer.apply_gradients(zip(gradients, model.trainable_variables))\n"
        )
    return {"findings.py": HEAD + "".join(lines)}


def suppressions(size: int) -> Project:
    """As many findings, each suppressed in one way or another, and as many suppressions of nothing."""
    lines = []
    for n in range(size):
        lines.append(
            f"\n\ndef train{n}(model, dataset):\n    for images, labels in dataset:\n"
            "        model.train_on_batch(images, labels)\n"
            + (
                "        gc.collect()  # noqa: TFP406\n",
                "        # tflint-perf: ignore[TFP406]\n        gc.collect()\n",
                "        # tflint-perf: disable[TFP406]\n        gc.collect()\n        # tflint-perf: enable[TFP406]\n",
                "        model.reset_states()  # noqa: TFP101\n",
            )[n % 4]
        )
    return {"suppressed.py": HEAD + "".join(lines)}


def script_to_edit() -> Project:
    """A file of 500 lines with 18 findings: scripts of the fixtures, and training steps that collect garbage."""
    (scripts,) = one_file(400).values()
    (steps,) = unsafe_findings(6).values()
    last = "apply_gradients(zip(gradients, model.trainable_variables))\n"
    steps = steps.removeprefix(HEAD).replace(last, f"{last}        gc.collect()\n")
    return {
        "train.py": f"{HEAD}{scripts}{steps}\ntf.keras.mixed_precision.experimental.set_policy('float32')\n"
    }


FINDINGS: tuple[Callable[[int], Project], ...] = (findings, findings_in_a_loop, unsafe_findings, suppressions)
