"""TFP106 loop-over-tensor-rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from tflint_perf.analysis.model import Model
from tflint_perf.edit import Editor
from tflint_perf.rule import Claim, Refusal, Repair, Report, Rule

from .tensor_rows import RowLoop, Rows

_SAYS = {
    "list": "each number is copied to the host separately; copy the whole tensor at once: `{tensor}.numpy()`",
    "ops": "ops run on one row of `{tensor}` at a time; use ops on the whole tensor, or `tf.vectorized_map` in a `tf.function`",
    "stack": "each row of `{tensor}` becomes a tensor of its own; convert it all at once",
}


class LoopOverTensorRows(Rule):
    """A loop in eager mode that goes through a tensor row by row.

    ## What it does

    Reports loops over the rows of a tensor, or over its indices, that run ops on one row at a time, also as a list
    (`[1 if x > 0.5 else 0 for x in t]`), lists of Python numbers made from a tensor (`[int(i) for i in t]`), and host data
    that is converted row by row and stacked.

    ## Why is this bad?

    Taking one row of a tensor is an op of its own, and turning it into a Python number waits for that op:
    some microseconds each, where the whole tensor takes as long as one row. What matters is the number of rows: for ten it
    is not worth mentioning, for a thousand it takes longer than the step of a small model. Measured are rows that become
    Python numbers; ops on one row at a time, and host data that is converted row by row, were not. In eager mode,
    `tf.map_fn` takes longer than such a loop, and so does `tf.vectorized_map` where the rows are few: both have to be compiled.

    ## Example

    ```python
    classes = tf.argmax(logits, axis=1)
    predicted.extend([int(c) for c in classes])
    ```

    Use instead:

    ```python
    classes = tf.argmax(logits, axis=1)
    predicted.extend(classes.numpy().tolist())
    ```

    ## What is left alone

    Compiled code and functions that may be compiled elsewhere, tensors of a few rows, sizes (`tf.shape`), rows that
    are shown, stored or used on the host one by one, and loops whose iterations depend on the one before.

    ## Sources

    - TensorFlow API, [tf.vectorized_map](https://www.tensorflow.org/api_docs/python/tf/vectorized_map) and
      [tf.map_fn](https://www.tensorflow.org/api_docs/python/tf/map_fn)
    """

    code = "TFP106"
    name = "loop-over-tensor-rows"
    triggers = ("for ",)
    needs = ("tf.", "tensorflow", "keras")
    fixes = "unsafe"
    # Windows of steps that each hold one of the evaluations, which come every ten steps.
    claim = Claim("step time", least=2.0, steps=200, at="for `int` of each")
    adds_up = True

    def check(self, model: Model) -> Iterator[Report]:
        if model.programs.is_graph_code():
            return
        for row in model.own(Rows).all():
            tensor = model.module.code_for_node(row.tensor)
            shown = tensor if len(tensor) <= 40 and "\n" not in tensor else "the tensor"
            yield Report(
                row.node,
                _SAYS[row.form].format(tensor=shown),
                partial(_copy_at_once, row=row),
                as_measured=row.form == "list",  # the experiment makes a Python number of each row
            )


def _copy_at_once(edit: Editor, row: RowLoop) -> Repair | Refusal | None:
    if row.form != "list":
        return None
    node = row.node
    assert isinstance(node, cst.ListComp) and isinstance(node.elt, cst.Call)
    if "#" in edit.text(node):
        return Refusal("there is a comment in it", node)
    wanted = edit.text(node.elt.func)
    integers = edit.model.own(Rows).holds_integers(row.tensor)
    same = integers is not None and integers == (wanted == "int")
    text = edit.text(row.tensor)
    if not isinstance(row.tensor, cst.Name | cst.Attribute | cst.Call | cst.Subscript):
        text = f"({text})"
    cast = "" if same else f".astype({wanted})"
    return Repair(
        "Copy the whole tensor at once",
        [edit.replace(node, f"{text}.numpy(){cast}.tolist()")],
        safe=False,
        may_change="the type of the numbers",
    )
