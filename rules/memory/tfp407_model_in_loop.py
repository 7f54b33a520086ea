"""TFP407 model-in-loop."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.model import Loop, Model
from tflint_perf.rule import Claim, Report, Rule

from .trials import Trials

# A loop whose head is longer than this is not named.
_LONG = 60


class ModelInLoop(Rule):
    """A model that is built and trained again in each iteration of a loop.

    ## What it does

    Reports a Keras model that a loop of trials builds, trains with `fit` or a compiled step and lets go of, where
    nothing is done for the memory in between.

    ## Why is this bad?

    The memory of a trial does not come back. When a Keras optimizer is traced, TensorFlow notes a gradient function
    for the sum over replicas in a registry that is never emptied, and that function holds the traced graph, the
    weights and the optimizer's state. Memory grows by all of that with each trial, until none is left.

    The usual advice does not help: with `del model`, `gc.collect()`, `tf.keras.backend.clear_session()` or all
    of them, memory grew as much (TensorFlow 2.21, Keras 3). Two things do: building the model once, and resetting
    it for each trial; and a separate process for each trial, which gives everything back when it ends.

    ## Example

    ```python
    for rate in rates:
        model = make_model()
        model.compile(tf.keras.optimizers.SGD(rate), "mse")
        model.fit(dataset)
    ```

    Use instead:

    ```python
    model = make_model()
    model.compile(tf.keras.optimizers.SGD(), "mse")
    first_weights = model.get_weights()
    for rate in rates:
        model.set_weights(first_weights)
        model.optimizer.learning_rate = rate
        model.fit(dataset)
    ```

    An optimizer with a state, Adam for instance, has to be reset as well.

    ## What is left alone

    Models that are kept, returned or passed to other files; loops of up to five iterations, and of up to twenty that each build
    another model (`Dense(units)`, where the loop goes over `units`); up to ten models of small layers; loaded models; another head for layers of a model
    that the same trial builds; eager training;
    loops that call `clear_session()`, `gc.collect()` or `del`, whose authors know of the problem, or set up a TPU anew.

    ## Sources

    - Keras API, [Config utilities: clear_session](https://keras.io/api/utils/config_utils/#clearsession-function)
    - TensorFlow API, [tf.custom_gradient](https://www.tensorflow.org/api_docs/python/tf/custom_gradient)
    """

    code = "TFP407"
    name = "model-in-loop"
    triggers = (".fit(", ".fit_generator(", "train_on_batch(", "apply_gradients(", "minimize(")
    needs = ("for ", "while ")
    claim = Claim(
        "host memory",
        least=1.5,
        kind="growth",
        steps=18,
        step="a trial",
        at="for 4.3 million trained weights (17 MB) under a plain `SGD`; Adam has two more numbers for each",
    )

    def check(self, model: Model) -> Iterator[Report]:
        if model.versions.builds_graphs():
            return
        for trial in model.own(Trials).all():
            if not model.is_eager(trial.made) or (model.loops.kind(trial.loop) == "step" and not trial.fits):
                continue
            if (
                model.guard_of(trial.made)
                or model.once.runs_seldom(trial.made)
                or model.own(Trials).frees(trial)
            ):
                continue
            differ = model.own(Trials).differ(trial)
            if (differ and model.own(Trials).are_few(trial)) or model.own(Trials).are_small(trial):
                continue
            remedy = "run" if differ else "build it once and reset its weights and optimizer, or run"
            yield Report(
                trial.made,
                f"`{trial.name}` is built and trained again in each iteration{_of(model, trial.loop)}, and the memory of the "
                f"previous one is not freed; {remedy} each trial in its own process",
            )


def _of(model: Model, loop: Loop) -> str:
    """Which loop it is: it may stand far above."""
    match loop.node:
        case cst.For(target=target, iter=iterable):
            target_code, code = map(model.module.code_for_node, (target, iterable))
            head = f"for {target_code} in {code}"
        case cst.While(test=test):
            head = f"while {model.module.code_for_node(test)}"
        case _:
            return ""
    return f" of `{head}`" if len(head) <= _LONG and "\n" not in head else ""
