"""TFP604 full-precision."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from tflint_perf.analysis.model import Model
from tflint_perf.edit import Editor
from tflint_perf.edit.below_imports import add_below, last_import_from, spell_below
from tflint_perf.rule import Claim, Refusal, Repair, Report, Rule

from .precision import Precision


class FullPrecision(Rule):
    """A program that trains a Keras model in full precision.

    ## What it does

    Reports a program that trains a model with `fit` or `train_on_batch` and never mentions the precision that it computes
    in. One finding per program, at its first import of TensorFlow. Off by default, since only a person can say whether the
    model tolerates half precision: select it to ask the question.

    ## Why is this bad?

    A GPU with tensor cores multiplies matrices of `float16` several times as fast as true `float32`, and what it
    keeps for the gradient takes half the memory. With the policy `mixed_float16` Keras computes in `float16`, keeps
    the variables in `float32` and scales the loss, so that small gradients are not lost.

    From Ampere on (A100, RTX 30), TensorFlow lets tensor cores multiply `float32` as well, rounded to TF32, so less time is
    left to gain: on an H100 this rule's script took a sixth less of it, on a machine too noisy for a verdict. The memory is
    saved there, too.

    ## Example

    ```python
    import tensorflow as tf

    model.compile(optimizer="adam", loss="mse")
    model.fit(images, labels)
    ```

    Use instead:

    ```python
    import tensorflow as tf

    tf.keras.mixed_precision.set_global_policy("mixed_float16")

    model.compile(optimizer="adam", loss="mse")
    model.fit(images, labels)
    ```

    ## What is left alone

    Training loops with a tape of their own, which must scale the loss themselves. Programs that mention any precision,
    hide the GPUs or run only on a TPU. TensorFlow 1 graph code. A model with a softmax at its end should compute that
    in `float32`: give its last layer `dtype="float32"`.

    ## Sources

    - TensorFlow guide, [Mixed precision](https://www.tensorflow.org/guide/mixed_precision)
    - TensorFlow API, [`enable_tensor_float_32_execution`](https://www.tensorflow.org/api_docs/python/tf/config/experimental/enable_tensor_float_32_execution)
    """

    code = "TFP604"
    name = "full-precision"
    triggers = (".fit(", "fit_generator", "train_on_batch")
    fixes = "unsafe"
    # A loss that half precision computes agrees to about three digits.
    claim = Claim("step time", least=1.2, tolerance=0.02, needs_gpu=True)
    opt_in = True

    def check(self, model: Model) -> Iterator[Report]:
        if (
            model.own(Precision).is_thought_of()
            or model.devices.uses_no_gpu()
            or model.programs.is_graph_code()
        ):
            return
        if not isinstance(model.programs.training(), cst.Call):
            return
        first = model.programs.first_import()
        if first is not None:
            yield Report(
                first,
                "the program trains in full precision, so a GPU's tensor cores do less than they could; "
                "set the policy `mixed_float16` if the model tolerates it",
                partial(_set_policy, first=first),
            )


def _set_policy(edit: Editor, first: cst.Import | cst.ImportFrom) -> Repair | Refusal:
    last = last_import_from(edit, first)
    if isinstance(last, Refusal):
        return last
    setter, imports = spell_below(edit, "keras.mixed_precision.set_global_policy", last)
    line = f'{setter}("mixed_float16")'
    return Repair(
        "Set the policy after the imports",
        [add_below(edit, last, [line], imports=imports)],
        safe=False,
        may_change="rounding: 11 bits instead of 24",
    )
