"""TFP305 feed-dict-loop."""

from __future__ import annotations

from collections.abc import Iterator

from tflint_perf.analysis.model import Model
from tflint_perf.rule import Claim, Report, Rule

from .session_feeds import SessionFeeds

_FEEDS = "host arrays on each step; give the graph a `tf.data` pipeline"
_ACTS = (
    "what comes from an environment on each step, which no pipeline has beforehand; step several environments, and feed what "
    "they give at once"
)


class FeedDictLoop(Rule):
    """A session that is fed host arrays on each step.

    ## What it does

    Reports `session.run(…, feed_dict=…)` per step where a batch or an observation is fed, in loops that train also a
    whole array. A dict may have a name, be filled by `feed[x] = batch`, or come from a function in the same file. Whoever maintains
    TensorFlow 1 code knows that it feeds, so this rule is off until it is selected.

    ## Why is this bad?

    Each call copies what it is fed from Python to the runtime, and on a GPU to the device, before the first op can
    run. A `tf.data` pipeline hands the graph batches that are ready in the runtime's own memory. What was measured is
    a pipeline that reads the next batch while the graph computes, where the loop waits for a slow disk; batches of arrays in
    memory were not.

    What an environment gives depends on the action before, so no pipeline can have it ready. There, a call costs less for each
    observation where it serves several environments.

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

    Feeds of numbers and flags, and of what is named like one (`keep_prob`, `learning_rate`, `total_reward`); runs under a
    guard or once an epoch; dicts whose making can't be seen.

    ## Sources

    - TensorFlow guide, [Better performance with the tf.data API](https://www.tensorflow.org/guide/data_performance)
    - TensorFlow API, [`tf.compat.v1.Session.run`](https://www.tensorflow.org/api_docs/python/tf/compat/v1/Session#run)
    """

    code = "TFP305"
    name = "feed-dict-loop"
    triggers = (".run(",)
    claim = Claim(
        "step time",
        least=1.1,
        at="where a simulated disk takes 5 ms for each batch, which a pipeline reads during the step before: no more than the shorter of reading and computing is saved; arrays in memory were not measured",
    )
    opt_in = True

    def check(self, model: Model) -> Iterator[Report]:
        for call in model.calls_named("run"):
            if (
                not model.sessions.is_run(call)
                or not model.is_per_step(call)
                or model.guard_of(call) is not None
            ):
                continue
            feeds = model.own(SessionFeeds)
            if (
                feeds.has_batch(call)
                or feeds.fills_axes(call)
                or feeds.has_array(call)
                or feeds.has_more_than_settings(call)
            ):
                acts = feeds.is_of_environment(call)
                # All that the experiment gains is reading meanwhile, and that is little.
                waits = not acts and feeds.is_read(call)
                yield Report(
                    call,
                    f"`{model.module.code_for_node(call.func)}` is fed {_ACTS if acts else _FEEDS}",
                    as_measured=waits,
                    minor=not waits,
                )
