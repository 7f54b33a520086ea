"""TFP511 dataset-materialized."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from tflint_perf.analysis.conventions import names_a_test
from tflint_perf.analysis.model import Model
from tflint_perf.analysis.python.syntax import callee_name, descendants
from tflint_perf.edit import Editor
from tflint_perf.rule import Claim, Refusal, Repair, Report, Rule

from .materialized import Materialization, Materializations


class DatasetMaterialized(Rule):
    """A whole dataset that is loaded into memory, or run through to count it.

    ## What it does

    Reports `len(list(dataset))`; `list(dataset)[0]`; `list(dataset)`, and loops and comprehensions that do nothing but keep the elements,
    where the dataset is one to train on; `sum(1 for _ in dataset)` and loops that do nothing but count, where
    TensorFlow knows the number or the dataset is one to train on.

    ## Why is this bad?

    A dataset is a stream, so that training needs the memory of a few batches, however much data there is. A list of
    its elements holds all of them at once, decoded and in floats; after it is freed, the process keeps much of the
    memory. To make the list, or to count, the whole pipeline runs once before the first training step. What was measured
    is the memory of a list; the time that a count takes, a pass through the pipeline, was not.

    ## Example

    ```python
    steps_per_epoch = len(list(dataset))
    ```

    Use instead:

    ```python
    steps_per_epoch = int(dataset.cardinality())
    ```

    ## What is left alone

    `take(n)` of a few elements, datasets of file names or of values that are written out in the script, labels and
    other parts that a comprehension picks, datasets that are evaluated on, tests and assertions, and counts of what the program only writes to files, training nothing. Elements of which only
    the distinct ones, a number or what a layer adapts to is kept: a vocabulary for instance, which is
    learned once from all the data. The fix of `len(list(dataset))` is refused where a stage such as `filter`, or files of unknown length, keep TensorFlow from knowing the number.

    ## Sources

    - TensorFlow API,
      [`tf.data.Dataset.cardinality`](https://www.tensorflow.org/api_docs/python/tf/data/Dataset#cardinality)
    - TensorFlow guide, [tf.data: Build TensorFlow input pipelines](https://www.tensorflow.org/guide/data)
    """

    code = "TFP511"
    name = "dataset-materialized"
    triggers = ("list(", "tuple(", "sum(", "for ")
    needs = ("ataset", "tfds")
    fixes = "unsafe"
    any_backend = True
    claim = Claim("host memory", least=2.0, at="for a list of 300 MB of elements")

    def check(self, model: Model) -> Iterator[Report]:
        for found in model.own(Materializations).all():
            if _is_tested(model, found.node):
                continue
            fix = partial(_ask, found) if found.form == "length" else None
            # What only counts holds one element at a time.
            yield Report(found.node, _message(model, found), fix, as_measured=found.form != "count")


def _is_tested(model: Model, node: cst.CSTNode) -> bool:
    """Whether `node` is part of a test: it is asserted, or stands in a function called `test_…`."""
    function = model.function_at(node)
    if function is not None and names_a_test(function.name):
        return True
    above: cst.CSTNode | None = node
    while above is not None:
        if isinstance(above, cst.Assert) or (
            isinstance(above, cst.Call) and callee_name(above).startswith("assert")
        ):
            return True
        above = model.walk.parents.get(above)
    return False


def _message(model: Model, found: Materialization) -> str:
    if found.form in ("length", "count"):
        counted = "ask for its `cardinality`"
        if model.own(Materializations).unknown_size(found.value) is not None:
            # What counts by `reduce` holds one element at a time, but runs the pipeline as well.
            counted = (
                "count with `reduce`"
                if found.form == "length"
                else "count the elements of its source, before its other stages"
            )
        held = "holds the whole dataset in memory" if found.form == "length" else "runs the whole pipeline"
        return f"this {held} to count it; {counted}"
    if found.form == "one":
        return "this holds all elements of the dataset in memory at once to read one; take that with `next(iter(…))`"
    return "this holds all elements of the dataset in memory at once; iterate over the dataset"


def _ask(found: Materialization, edit: Editor) -> Repair | Refusal:
    """`len(list(ds))` to `int(ds.cardinality())`."""
    unknown = edit.model.own(Materializations).unknown_size(found.value)
    if unknown is not None and unknown.name == "elsewhere":
        return Refusal(
            "the dataset is made in another file, so its number of elements may be unknown", found.dataset
        )
    if unknown is not None:
        return Refusal(f"`{unknown.name}` leaves the number of elements unknown", unknown.call)
    dataset = found.dataset
    if not any(below is dataset for below in descendants(found.node)):
        return Refusal("the dataset has this name elsewhere", dataset)
    text = edit.text(dataset)
    if not isinstance(dataset, cst.Name | cst.Attribute | cst.Call | cst.Subscript):
        text = f"({text})"
    if "#" in edit.text(found.node):
        return Refusal("there is a comment in it", found.node)
    repaired = edit.replace(found.node, f"int({text}.cardinality())")
    return Repair(
        "Ask for the number of elements",
        [repaired],
        safe=False,
        may_change="what the dataset does as it is read, which no longer happens",
    )
