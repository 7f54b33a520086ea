"""TFP305 feed-dict-loop."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.model import Model
from tflint_perf.model.size_of_calls import has_environment
from tflint_perf.model.syntax import argument
from tflint_perf.rule import Claim, Report, Rule


class FeedDictLoop(Rule):
    """A session that is fed host arrays on each step.

    ## What it does

    Reports `session.run(…, feed_dict=…)` per step, in a loop that trains, where a batch or a whole array is fed.
    Whoever keeps TensorFlow 1 code knows that it feeds, so this rule is off until it is selected.

    ## Why is this bad?

    Each call copies what it is fed from Python to the runtime, and on a GPU to the device, before the first op can
    run. A `tf.data` pipeline hands the graph batches that are ready in the runtime's own memory.

    ## Example

    ```python
    for step in range(steps):
        batch = images[step * BATCH : (step + 1) * BATCH]
        session.run(train_op, feed_dict={x: batch})
    ```

    Use instead:

    ```python
    dataset = tf.data.Dataset.from_tensor_slices(images).batch(BATCH).prefetch(tf.data.AUTOTUNE)
    x = tf.compat.v1.data.make_one_shot_iterator(dataset).get_next()
    # … the graph is built on x …
    for step in range(steps):
        session.run(train_op)
    ```

    ## What is left alone

    Loops that only predict; feeds of numbers, flags and single samples; runs behind a condition or once an epoch;
    files that step an environment, whose observations have nowhere else to come from; feeds made out of sight.

    ## Sources

    - TensorFlow guide, [Better performance with the tf.data API](https://www.tensorflow.org/guide/data_performance)
    - TensorFlow API, [`tf.compat.v1.Session.run`](https://www.tensorflow.org/api_docs/python/tf/compat/v1/Session#run)
    """

    code = "TFP305"
    name = "feed-dict-loop"
    triggers = (".run(",)
    claim = Claim("step time", least=1.1)
    opt_in = True

    def check(self, model: Model) -> Iterator[Report]:
        if has_environment(model.walk.calls):
            return
        for call in model.calls_named("run"):
            fed = argument(call, 1, "feed_dict")
            if fed is None or not model.sessions.is_run(call) or not model.each_step.runs(call):
                continue
            if model.file_reads.training_loop(call) is None:
                continue
            if any(_is_batch(model, value) for value in _values(model, fed)):
                name = model.module.code_for_node(call.func)
                yield Report(
                    call, f"`{name}` is fed host arrays on each step; give the graph a `tf.data` pipeline"
                )


def _values(model: Model, fed: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """What a feed holds: a dict where it stands, or one that has a name."""
    match fed:
        case cst.Dict():
            yield from (element.value for element in fed.elements if isinstance(element, cst.DictElement))
        case cst.Name():
            found = model.infer.bindings_reaching(fed)
            for binding in found[1] if found is not None else ():
                if binding.kind == "assign" and isinstance(binding.value, cst.Dict):
                    yield from _values(model, binding.value)


def _is_batch(model: Model, value: cst.BaseExpression) -> bool:
    size = model.loops.batches.size(value)
    return size == "batch" or (size == "unknown" and model.value(value).kind == "array")
