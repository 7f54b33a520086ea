"""TFP205 host-call-in-graph."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from tflint_perf.analysis.model import Model
from tflint_perf.analysis.rewriting.ops_for_numpy import op_for
from tflint_perf.edit import Editor
from tflint_perf.rule import Refusal, Repair, Report, Rule

from .prints import print_in_graph
from .trace_time import HostCall, TraceTime

_MESSAGES = {
    "value": "`{name}` fails in compiled code, where a tensor has no value yet; take the value where the function is called",
    "number": "`{name}` of a tensor fails in compiled code; use TensorFlow's own op",
    "print": "`print` runs when the function is traced, not on each call; use `tf.print`, or drop it",
    "numpy": "`{name}` of a tensor fails in compiled code; use TensorFlow's own op",
    "random": "`{name}` runs when the function is traced, and every call gets the same random numbers; use `tf.random`",
    "time": "`{name}` runs when the function is traced, not on each call; take the time where the function is called",
    "append": "`{name}` runs when the function is traced, and keeps a tensor that has no value; return it instead",
}


class HostCallInGraph(Rule):
    """Python code in a compiled function that fails there, or runs only while the function is traced.

    ## What it does

    Reports, in compiled code: `.numpy()`, `.item()`, `.tolist()` and NumPy functions of a tensor; `print` of one;
    the time, Python's and NumPy's random numbers; and `append` of a tensor to a list from outside. One finding
    per statement, and one for all times that a function takes.

    ## Why is this bad?

    A compiled function's Python code runs once, when the function is traced. Tensors have no values then: asking
    for one fails, and printing one shows its name and shape. What Python draws or reads then becomes a constant of
    the graph: the same "random" numbers in each call, the same time.

    ## Example

    ```python
    @tf.function
    def train_step(images, labels):
        loss = loss_fn(labels, model(images, training=True))
        print("loss", loss)
        return loss
    ```

    Use instead:

    ```python
    @tf.function
    def train_step(images, labels):
        loss = loss_fn(labels, model(images, training=True))
        tf.print("loss", loss)
        return loss
    ```

    ## What is left alone

    `tf.print`, bodies of `tf.py_function` and `tf.numpy_function`, arithmetic on static shapes, `print` of what
    Python knows (`print("Tracing", x.shape)`), `float()` and `int()` where AutoGraph turns them into `tf.cast`, code
    that checks in which mode it runs, a file all of whose programs have all functions run eagerly (TFP104 names the switch), and functions that may run in eager mode as well, such as `Model.call`
    in a file that does not fit the model, and the time in a layer of a model that eager code of the project calls.

    ## Sources

    - TensorFlow guide, [Introduction to graphs and tf.function](https://www.tensorflow.org/guide/intro_to_graphs),
      and [Better performance with tf.function](https://www.tensorflow.org/guide/function), "Executing Python side
      effects"
    """

    code = "TFP205"
    name = "host-call-in-graph"
    triggers = ("numpy", "np.", "item(", "tolist(", "print(", "time", "random", "append(", "float(", "int(", "bool(", "round(")  # fmt: skip
    # Another file may compile what a function of this one does.
    needs = ("def ", "lambda")
    fixes = "unsafe"
    in_compiled_code = True

    def check(self, model: Model) -> Iterator[Report]:
        for found in model.own(TraceTime).host_calls():
            yield Report(
                found.call,
                _MESSAGES[found.kind].format(name=found.shown),
                partial(_use_tensorflow, found),
                minor=found.kind == "print",  # it misleads, and costs nothing
            )


def _use_tensorflow(found: HostCall, edit: Editor) -> Repair | Refusal | None:
    if found.kind == "print":
        return print_in_graph(edit, found.call)
    if found.kind != "numpy":
        return None
    op = op_for(edit.model.qualified(found.call.func), found.call)
    if op is None:
        return Refusal("TensorFlow has no op that takes the same arguments", found.call)
    spelled, imports = edit.spell(op, found.call)
    return Repair(
        f"Use `{spelled}`",
        [*imports, edit.replace(found.call.func, spelled)],
        safe=False,
        may_change="what it computes: when the program runs, not once while it is traced",
    )
