"""TFP503 sequential-map."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import combinations

import libcst as cst

from tflint_perf.analysis.apis.facts import has
from tflint_perf.analysis.model import Model
from tflint_perf.analysis.pipelines.elementwise import mapped_function
from tflint_perf.analysis.pipelines.stateful import Nature
from tflint_perf.analysis.python.syntax import argument, descendants, has_stars, keyword_argument, same_code
from tflint_perf.analysis.rewriting import Doubt
from tflint_perf.edit import Editor
from tflint_perf.edit.arguments import add_argument
from tflint_perf.edit.judged import judged
from tflint_perf.rule import Claim, Refusal, Repair, Report, Rule

from .links import autotune, has_no_autotune, name_of_autotune
from .locked_python import LockedPython
from .mapped_work import MappedWork
from .python_stages import PythonStages

_WHY = {
    "random": "{function} draws random numbers, and TensorFlow gives such a `map` one {element} at a time",
    "stateful": "{function} is stateful, and TensorFlow gives such a `map` one {element} at a time",
    "python": "{function} runs Python code, and TensorFlow gives such a `map` one {element} at a time",
    "hidden": "{function} can't be seen here: unless it is stateless, this `map` gets one {element} at a time",
    "stateless": "automatic parallelization is off for this pipeline, so this `map` gets one {element} at a time",
}


class SequentialMap(Rule):
    """A `map` that works on one element at a time because TensorFlow may not run its function in parallel by itself.

    ## What it does

    Reports `Dataset.map` without `num_parallel_calls` where its function is stateful (it looks words up in a table,
    runs a layer with variables, prints), draws random numbers, runs Python code (`tf.py_function`) to train on its
    results, or can't be seen; and any `map` in a pipeline whose options switch automatic parallelization off.

    ## Why is this bad?

    TensorFlow gives a `map` as many threads as it can use, but only where its function is stateless. Any
    other is called for one element at a time: on one core, however many there are. For a stateless function the
    argument changes nothing: TensorFlow runs the `map` in parallel either way. What was measured is a function that looks
    words up in a table, one sample at a time. What others gain goes with how long they take: next to nothing where that is a
    microsecond.

    ## Example

    ```python
    dataset = dataset.map(flip_at_random).batch(64)
    ```

    Use instead:

    ```python
    dataset = dataset.map(flip_at_random, num_parallel_calls=tf.data.AUTOTUNE).batch(64)
    ```

    ## What is left alone

    Functions that are seen to be stateless, and those that can be seen but call what can't, unless automatic parallelization
    is off; even then, arithmetic on whole batches, which costs next to nothing. What a `cache` after the `map` keeps
    from the first of several epochs on, what is made one tensor with `get_single_element`, and maps of which only a few elements are looked at, or which a loop counts or writes to files. Python code that makes records
    to be written. Python code that holds the interpreter's lock, as all does that waits for no file and computes in no
    library: parallel calls of it would take turns. The fix is safe only for functions that are known to do nothing but compute, on elements that nothing changes meanwhile.
    In parallel, random draws go to other elements, and a variable is read before the step that changes it.

    ## Sources

    - TensorFlow guide, [Better performance with the tf.data API, *Parallelizing data
      transformation*](https://www.tensorflow.org/guide/data_performance#parallelizing_data_transformation)
    - TensorFlow API, [`tf.data.experimental.OptimizationOptions`,
      *map_parallelization*](https://www.tensorflow.org/api_docs/python/tf/data/experimental/OptimizationOptions)
    """

    code = "TFP503"
    name = "sequential-map"
    triggers = (".map(",)
    fixes = "both"
    any_backend = True
    yields_to = ("TFP505",)
    claim = Claim(
        "time per sample",
        least=1.2,
        at="for a stateful function alone, here a lookup of 500 words a sample on 2 cores; no time is saved where a GPU trains longer on a batch than preparing it takes",
    )

    def check(self, model: Model) -> Iterator[Report]:
        for call in model.calls_named("map"):
            given = argument(call, 0, "map_func")
            if given is None or has_stars(call) or argument(call, 1, "num_parallel_calls") is not None:
                continue
            # What a function given to another stage builds is run in parallel by that stage.
            if not model.stages.before(call) or model.is_compiled(call):
                continue
            nature = model.statefulness.nature(given)
            is_off = model.parallelism.is_off(call)
            if (
                (nature == "python" and not _gains(model, call, given))
                or (nature in ("stateless", "shaping", "open") and not is_off)
                or _only_computes(model, call, given)
                or model.successors.is_kept(call)
                or (_is_taken_as_one(model, call) and not model.successors.is_consumed(call))
                or model.successors.is_only_gone_over(call)
                or model.decided.never_runs(call)
                or (nature == "random" and _draws_in_step(model, given))
            ):
                continue
            function = f"`{given.value}`" if isinstance(given, cst.Name) else "its function"
            if nature == "hidden" and isinstance(given, cst.Lambda):
                function = "what its function calls"
            batched = model.own(PythonStages).gets_batches(call)
            element = "batch" if batched else "element"
            why = _WHY["stateless" if is_off else nature].format(function=function, element=element)
            yield Report(
                given,
                f"{why}; add `num_parallel_calls=tf.{name_of_autotune(model)}`",
                partial(_parallelize, call=call, given=given, nature=nature),
                # The experiment looks words up in a table, sample by sample, as often as it trains on each.
                as_measured=nature == "stateful"
                and not is_off
                and not batched
                and model.own(MappedWork).looks_up(given),
            )


def _draws_in_step(model: Model, given: cst.BaseExpression) -> bool:
    """Whether what is mapped draws twice by one seed, for a picture and its mask: the two draw alike as long as each call has
    ended before the next begins."""
    value = model.value(given)
    klass, function = value.klass, value.function or mapped_function(model.infer, given)
    within = (
        [method for owner in model.infer.classes.lineage(klass) for method in owner.methods.values()]
        if klass is not None
        else [function]
        if function is not None
        else []
    )
    seeds = [
        seed
        for each in within
        for call in descendants(each.node)
        if isinstance(call, cst.Call)
        and has(model.qualified(call.func), "draws")
        and (seed := keyword_argument(call, "seed")) is not None
    ]
    return any(same_code(one, other) for one, other in combinations(seeds, 2))


def _gains(model: Model, call: cst.Call, given: cst.BaseExpression) -> bool:
    """Whether Python code that `call` maps may run in parallel, for steps that wait for it."""
    return model.own(PythonStages).is_for_steps(call) and not model.own(LockedPython).is_all_of(given)


def _is_taken_as_one(model: Model, call: cst.Call) -> bool:
    """Whether the program makes one tensor of all that `call` gives, once and for all."""
    return any(
        isinstance(taken.func, cst.Attribute)
        and model.loops.innermost_loop(taken) is None
        and any(stage.call is call for way in model.value(taken.func.value).pipelines for stage in way)
        for taken in model.calls_named("get_single_element")
    )


def _only_computes(model: Model, call: cst.Call, given: cst.BaseExpression) -> bool:
    """Whether `call` maps whole batches, by nothing but element-wise ops."""
    ways = model.stages.before(call)
    return any(
        model.batching.along(way[:-1]) == "batches" and model.stages.is_elementwise(given, way[:-1])
        for way in ways
    )


def _parallelize(edit: Editor, call: cst.Call, given: cst.BaseExpression, nature: Nature) -> Repair | Refusal:
    if (missing := has_no_autotune(edit, call)) is not None:
        return missing
    autotuned, imports = autotune(edit, call)
    added = f"num_parallel_calls={autotuned}"
    return judged(
        f"Add `{added}`",
        [*imports, *add_argument(edit, call, added)],
        _doubt(edit.model, call, given, nature),
    )


def _doubt(model: Model, call: cst.Call, given: cst.BaseExpression, nature: Nature) -> Doubt | None:
    """What may change where the function runs for several elements at a time, ahead of the steps."""
    if nature == "random":
        return Doubt("which element gets which random numbers")
    if "deterministic" in model.text:
        return Doubt("the order of the elements")
    before = call.func.value if isinstance(call.func, cst.Attribute) else call
    return model.rewriting.doubt_of_mapping_ahead(given) or model.rewriting.doubt_of_reading_ahead(
        model.value(before), call
    )
