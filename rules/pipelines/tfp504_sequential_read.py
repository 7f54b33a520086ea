"""TFP504 sequential-read."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from tflint_perf.analysis.apis.facts import has, methods
from tflint_perf.analysis.model import Model
from tflint_perf.analysis.pipelines.elementwise import mapped_function
from tflint_perf.analysis.python.syntax import argument, descendants, has_stars, integer, keyword_argument
from tflint_perf.analysis.rewriting import Doubt
from tflint_perf.analysis.values.named_calls import builtin_or_qualified
from tflint_perf.analysis.values.values import Stage
from tflint_perf.edit import Edit, Editor
from tflint_perf.edit.arguments import add_argument
from tflint_perf.edit.judged import judged
from tflint_perf.rule import Claim, Refusal, Repair, Report, Rule

from .links import autotune, has_no_autotune, name_of_autotune

# So many files the experiment reads at a time.
_READS = 4


class SequentialRead(Rule):
    """Files that a pipeline reads in one thread.

    ## What it does

    Reports `interleave` without `num_parallel_calls`, `TFRecordDataset` and `TextLineDataset` of several files
    without `num_parallel_reads`, and `flat_map(tf.data.TFRecordDataset)` over the names of several files.

    ## Why is this bad?

    One thread waits for the disk or the network and, for compressed files, unpacks what it gets. Several threads wait
    at the same time, and unpack on several cores. Where the files are already in the system's memory and
    not compressed, there is nothing to wait for, and handing records from thread to thread may cost more than it saves.

    ## Example

    ```python
    files = tf.data.Dataset.list_files("events-*.gz")
    records = files.interleave(read_file, cycle_length=8)
    ```

    Use instead:

    ```python
    files = tf.data.Dataset.list_files("events-*.gz")
    records = files.interleave(read_file, cycle_length=8, num_parallel_calls=tf.data.AUTOTUNE)
    ```

    ## What is left alone

    One file; file names that can't be seen, or that are sorted for what a model predicts on; records that `window` groups as they follow one another; `flat_map` beside an `interleave` with `num_parallel_calls`, where the order is wanted; `cycle_length=1`; functions that read with Python code, or whose own parallel stages read ahead; datasets
    of which the script only looks at a few elements, shows each to a person, counts them, or writes each to a file. The fix keeps the order of the records only for `interleave` with a `cycle_length`, and is safe there if no file is read, since
    another program may write it meanwhile.

    ## Sources

    - TensorFlow guide, [Better performance with the tf.data API, *Parallelizing data
      extraction*](https://www.tensorflow.org/guide/data_performance#parallelizing_data_extraction)
    """

    code = "TFP504"
    name = "sequential-read"
    triggers = ("interleave(", "TFRecordDataset", "TextLineDataset")
    fixes = "both"
    any_backend = True
    claim = Claim(
        "time per sample",
        least=1.2,
        at="for 4 files at a simulated 50 MB a second each, 12 kB a sample; no time is saved where a GPU trains longer on a batch than preparing it takes; from a local disk `num_parallel_calls` may make it slower",
    )

    def check(self, model: Model) -> Iterator[Report]:
        yield from _interleaves(model)
        yield from _readers(model)
        yield from _flat_maps(model)


def _interleaves(model: Model) -> Iterator[Report]:
    for call in model.calls_named("interleave"):
        given = argument(call, 0, "map_func")
        if given is None or has_stars(call) or argument(call, 3, "num_parallel_calls") is not None:
            continue
        # One at a time on purpose.
        if model.infer.integers.only(argument(call, 1, "cycle_length")) == 1 or not model.stages.before(call):
            continue
        if model.is_compiled(call) or _runs_python(model, given) or model.successors.is_only_gone_over(call):
            continue
        if _reads_ahead(model, given) or _reads_nothing(model, given):
            continue
        yield Report(
            _place(call, given),
            f"`interleave` reads its inputs in one thread; add `num_parallel_calls=tf.{name_of_autotune(model)}`",
            partial(_add, call=call, keyword="num_parallel_calls", given=given),
        )


def _readers(model: Model) -> Iterator[Report]:
    for call in model.calls_that("reads-records"):
        files = argument(call, 0, "filenames")
        if files is None or has_stars(call) or argument(call, 3, "num_parallel_reads") is not None:
            continue
        if not model.parallelism.are_several_files(files) or model.is_compiled(call):
            continue
        remedy = f"add `num_parallel_reads=tf.{name_of_autotune(model)}`"
        if model.versions.is_version_1():
            remedy = f"add `num_parallel_reads={_READS}`"  # where readers take a number alone
        if not model.successors.is_only_gone_over(call) and not _are_in_order(model, call, files):
            yield Report(
                call,
                f"the files are read one at a time; {remedy}",
                partial(_add, call=call, keyword="num_parallel_reads"),
            )


def _are_in_order(model: Model, call: cst.Call, files: cst.BaseExpression) -> bool:
    """Whether the program needs the order of the records: it sorts the files of what a model predicts on, or makes windows of
    records that follow one another."""
    if _are_windowed(model, call):
        return True
    return model.successors.may_be_predicted_on(call) and _are_sorted(model, files)


def _are_windowed(model: Model, call: cst.Call) -> bool:
    """Whether `window` makes one element of several that follow one another, before anything shuffles them: records of
    several files would be mixed in it."""
    names = [stage.name for stage in model.successors.behind(call)]
    return "window" in names and "shuffle" not in names[: names.index("window")]


def _are_sorted(model: Model, files: cst.BaseExpression) -> bool:
    match files:
        case cst.Call():
            return has(builtin_or_qualified(model.infer, files.func), "sorts")
        case cst.Name():
            found = model.infer.bindings_reaching(files)
            bindings = found[1] if found is not None else []
            return any(
                isinstance(call.func, cst.Attribute)
                and isinstance(call.func.value, cst.Name)
                and call.func.value.value == files.value
                and model.infer.bindings_reaching(call.func.value) == found
                for call in model.calls_named("sort")
            ) or any(isinstance(b.value, cst.Call) and _are_sorted(model, b.value) for b in bindings)
    return False


def _flat_maps(model: Model) -> Iterator[Report]:
    if any(argument(call, 3, "num_parallel_calls") is not None for call in model.calls_named("interleave")):
        return  # whoever reads several files at a time elsewhere wants their order here
    for call in model.calls_named("flat_map"):
        given = argument(call, 0, "map_func")
        if given is None or len(call.args) != 1 or not isinstance(call.func, cst.Attribute):
            continue
        files = model.value(call.func.value)
        if (
            model.parallelism.reads_each_file(given)
            and model.parallelism.is_dataset_of_files(files)
            and not _are_windowed(model, call)
        ):
            yield Report(
                _place(call, given),
                "`flat_map` reads the files one at a time; use `interleave` with `num_parallel_calls`",
                partial(_interleave, call=call),
            )


def _place(call: cst.Call, given: cst.BaseExpression) -> cst.CSTNode:
    """What to point at: the call, or at the end of a chain its argument, since a chain begins lines above."""
    begins_here = isinstance(call.func, cst.Attribute) and isinstance(call.func.value, cst.Name)
    return call if begins_here else given


def _runs_python(model: Model, given: cst.BaseExpression) -> bool:
    """Whether `given` reads each input by Python code, which runs one at a time."""
    made = model.value(given).function
    if made is not None and any(
        isinstance(node, cst.Attribute) and node.attr.value == "from_generator"
        for node in descendants(made.node)
    ):
        return True
    return model.statefulness.nature(given) == "python"


def _reads_ahead(model: Model, given: cst.BaseExpression) -> bool:
    """Whether `given` gives each input threads of its own, by a parallel stage or a `prefetch`."""
    opens = mapped_function(model.infer, given)
    ways = model.infer.returned(opens).pipelines if opens is not None else ()
    return bool(ways) and all(any(map(_has_threads, way)) for way in ways)


def _reads_nothing(model: Model, given: cst.BaseExpression) -> bool:
    """Whether `given` makes its datasets of what is in memory already."""
    opens = mapped_function(model.infer, given)
    ways = model.infer.returned(opens).pipelines if opens is not None else ()
    return bool(ways) and all(
        way[0].origin is None and has(model.qualified(way[0].call.func), "takes-arrays") for way in ways
    )


def _has_threads(stage: Stage) -> bool:
    asked = keyword_argument(stage.call, "num_parallel_calls") or keyword_argument(
        stage.call, "num_parallel_reads"
    )
    if stage.name == "map" and asked is None:
        asked = argument(stage.call, 1)
    return stage.name in methods("Dataset", "ahead") or (asked is not None and integer(asked) != 1)


def _doubt(model: Model, call: cst.Call, given: cst.BaseExpression | None) -> Doubt | None:
    """What may change where several inputs are read at a time.

    Where no `cycle_length` is given, TensorFlow chooses one, in parallel another than in one thread.
    """
    if given is None or argument(call, 1, "cycle_length") is None or "deterministic" in model.text:
        return Doubt(_order(model, call))
    if model.statefulness.nature(given) != "stateless" or _shuffles(model, given):
        return Doubt("the elements, if they depend on what else is read")
    before = call.func.value if isinstance(call.func, cst.Attribute) else call
    return model.rewriting.doubt_of_mapping_ahead(given) or model.rewriting.doubt_of_reading_ahead(
        model.value(before), call
    )


def _order(model: Model, call: cst.Call) -> str:
    """What changes with the order of the elements."""
    splits = sorted({stage.name for stage in model.successors.behind(call)} & {"skip", "take"})
    split = f", and so what {' and '.join(f'`{name}`' for name in splits)} give" if splits else ""
    return f"the order of the elements{split}{'s' if len(splits) == 1 else ''}"


def _shuffles(model: Model, given: cst.BaseExpression) -> bool:
    function = model.value(given).function
    return function is not None and any(
        isinstance(node, cst.Attribute) and node.attr.value == "shuffle"
        for node in descendants(function.node)
    )


def _add(
    edit: Editor, call: cst.Call, keyword: str, given: cst.BaseExpression | None = None
) -> Repair | Refusal:
    imports: list[Edit] = []
    if keyword == "num_parallel_reads" and edit.model.versions.is_version_1():
        autotuned = str(_READS)
    elif (missing := has_no_autotune(edit, call)) is not None:
        return missing
    else:
        autotuned, imports = autotune(edit, call)
    added = f"{keyword}={autotuned}"
    return judged(
        f"Add `{added}`", [*imports, *add_argument(edit, call, added)], _doubt(edit.model, call, given)
    )


def _interleave(edit: Editor, call: cst.Call) -> Repair | Refusal:
    if (missing := has_no_autotune(edit, call)) is not None:
        return missing
    autotuned, imports = autotune(edit, call)
    assert isinstance(call.func, cst.Attribute)
    edits = [edit.replace(call.func.attr, "interleave")]
    edits += add_argument(edit, call, f"num_parallel_calls={autotuned}")
    return Repair(
        "Interleave the files", [*imports, *edits], safe=False, may_change="the order of the elements"
    )
