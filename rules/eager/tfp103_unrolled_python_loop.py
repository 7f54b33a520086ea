"""TFP103 unrolled-python-loop."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from tflint_perf.analysis.execution.trains import FITS
from tflint_perf.analysis.model import Loop, Model
from tflint_perf.analysis.python.syntax import descendants, mentions
from tflint_perf.edit import Editor
from tflint_perf.rule import Claim, Refusal, Repair, Report, Rule

from .loop_bodies import LargeBodies
from .staging import Staging

# So many iterations take a second or so to trace, and so few less than what a rewrite is worth.
_LONG = 100
_SHORT = 32
_BY_RANGE = "loop over `tf.range`"
_PAYS = "if the first step is what you wait for: later ones may be slower"


class UnrolledPythonLoop(Rule):
    """A Python loop in compiled code, whose body is traced once for each iteration.

    ## What it does

    Reports `for` loops over Python's `range`, or over a list, in compiled code whose body builds ops, where they run
    more than 32 times, or as often as a size or setting says.

    ## Why is this bad?

    A `tf.function` runs its Python code while it is traced. A Python loop of a thousand iterations puts a thousand
    copies of its body into the graph: the first call takes seconds or minutes, gradients double the work, the graph
    takes memory, and all of that happens again for each new trace. Over `tf.range`, AutoGraph builds one loop in the graph,
    with one copy of the body.

    What matters is the number of iterations and how often the function is traced. Once traced, an unrolled loop runs
    as fast as a graph loop or faster, so a short loop in a program that runs for hours loses nothing: the severity is
    `info`, unless the loop is known to run 100 times or more. What was measured is a loop over `tf.range` without a list, whose
    body is a few ops: layers, models, tapes, other functions that are compiled and `tf.TensorArray` were not.

    ## Example

    ```python
    @tf.function
    def encode(inputs, state):
        for t in range(200):
            state = tf.tanh(tf.matmul(inputs[:, t], kernel) + tf.matmul(state, recurrent))
        return state
    ```

    Use instead:

    ```python
    @tf.function
    def encode(inputs, state):
        for t in tf.range(200):
            state = tf.tanh(tf.matmul(inputs[:, t], kernel) + tf.matmul(state, recurrent))
        return state
    ```

    ## What is left alone

    Loops over `tf.range`, a tensor or a dataset, `range` of a tensor, which AutoGraph converts anyway, and loops
    over layers, variables, gradients or losses, and those whose counter goes into names or keys. Loops of unknown length that
    only join parts to a tensor, or whose function returns a list with a tuple for each iteration. Models that the program calls in eager mode and never fits, and
    functions that show a progress bar or call `predict`, which no compiled code can. The fix is
    refused where the counter is needed as a Python number,
    where a list grows, where a tensor changes its shape from one iteration to the next, and where AutoGraph does not
    convert the code (`autograph=False`, methods that Keras 3 calls): there, `tf.while_loop`, `tf.scan` and recurrent
    layers make a loop in the graph.

    ## Sources

    - TensorFlow guide, [Better performance with tf.function](https://www.tensorflow.org/guide/function), "Loops"
    """

    code = "TFP103"
    name = "unrolled-python-loop"
    triggers = ("range(", "for ")
    needs = (
        ".function", "@function", "function(", "function as", "defun", "Model", "Layer", "Metric", "Loss", ".map(",
        "while_loop", "map_fn", "custom_gradient",
    )  # fmt: skip
    fixes = "unsafe"
    claim = Claim("first step", least=2.0, steps=50)

    def check(self, model: Model) -> Iterator[Report]:
        if model.programs.is_graph_code():
            return
        reported: set[Loop] = set()
        for loop in model.walk.loops.values():
            if loop.parent in reported:
                reported.add(loop)
            elif isinstance(loop.node, cst.For) and _is_unrolled(model, loop):
                reported.add(loop)
                remedy = _remedy(model, loop)
                # The fast form of the experiment, whose body is a few ops.
                as_measured = remedy == _BY_RANGE and not model.own(LargeBodies).has(loop)
                yield Report(
                    loop.node,
                    "a Python loop in compiled code is traced once for each iteration; "
                    # What was measured says by itself what each later step takes more.
                    + (remedy if as_measured else f"{remedy}, {_PAYS}"),
                    partial(_stage, loop=loop),
                    as_measured=as_measured,
                    minor=not _is_long(model, loop),
                )


def _is_unrolled(model: Model, loop: Loop) -> bool:
    return (
        model.is_compiled(loop.node)
        and not _runs_once(loop)
        and model.iterations.are_many(loop, traced=True)
        and not _is_known_to_be_short(model, loop)
        and model.op_loops.builds_ops(loop)
        and not model.op_loops.takes_parts(loop)
        and not _is_of_eager_model(model, loop)
        and not _names_by_counter(model, loop)
        and not _only_joins(model, loop)
        and not _gives_parts_of_each(model, loop)
    )


def _runs_once(loop: Loop) -> bool:
    """Whether `loop` makes what a layer has, in its `build`."""
    return loop.function is not None and loop.function.owner is not None and loop.function.name == "build"


def _names_by_counter(model: Model, loop: Loop) -> bool:
    """Whether the counter of `loop` goes into text, such as the keys of a dict: no loop of the graph can do that."""
    counter = model.iterations.counter(loop)
    return counter is not None and any(
        mentions(text, {counter.value}) for text in descendants(loop.node) if _is_text(text)
    )


def _only_joins(model: Model, loop: Loop) -> bool:
    """Whether all that `loop`, of unknown length, does is to make a tensor longer: `x = tf.concat([x, part], 0)`. That is one op
    an iteration, and a loop of the graph can't carry what changes its shape."""
    if model.iterations.at_most(loop) is not None or not loop.calls:
        return False
    joins = [call for call in loop.calls if model.names.is_call_that(call, "joins-tensors")]
    return len(joins) == len(loop.calls) and any(
        binding.value in joins and mentions(binding.value, {name})
        for name, bindings in model.op_loops.carried(loop).items()
        for binding in bindings
        if binding.value is not None
    )


def _gives_parts_of_each(model: Model, loop: Loop) -> bool:
    """Whether the results of `loop`, of unknown length, are tuples in a list that its function returns as it is: Python takes
    them one by one, a few, and no loop of the graph gives a list of tuples."""
    function = loop.function
    if function is None or model.iterations.at_most(loop) is not None:
        return False
    returned = {given.value.value for given in function.returns if isinstance(given.value, cst.Name)}
    return any(
        isinstance(call.func, cst.Attribute)
        and call.func.attr.value == "append"
        and isinstance(call.func.value, cst.Name)
        and call.func.value.value in returned
        and isinstance(call.args[0].value, cst.Tuple)
        for call in loop.calls
        if len(call.args) == 1
    )


def _is_text(node: cst.CSTNode) -> bool:
    """Whether `node` makes a text of values: `f"{x}"`, `"%d" % x`, `"{}".format(x)`, `str(x)`."""
    match node:
        case cst.FormattedString() | cst.BinaryOperation(left=cst.SimpleString(), operator=cst.Modulo()):
            return True
        case cst.Call(func=cst.Attribute(value=cst.SimpleString(), attr=cst.Name(value="format"))):
            return True
        case cst.Call(func=cst.Name(value="str")):
            return True
    return False


def _is_known_to_be_short(model: Model, loop: Loop) -> bool:
    """Whether all iterations of `loop`, with those of the loops in it, are known to be some tens: they are traced in
    no time, and no loop of the graph runs faster."""
    times, waiting = 1, [loop]
    while waiting:
        current = waiting.pop()
        most = model.iterations.at_most(current)
        if most is None and (current is loop or model.iterations.are_many(current, traced=True)):
            return False
        times *= most or 1
        waiting += current.inner
    return times <= _SHORT


def _is_long(model: Model, loop: Loop) -> bool:
    """Whether `loop` is known to run so often that tracing takes long: a loop of the graph makes each step slower."""
    most = model.iterations.at_most(loop)
    return most is not None and most >= _LONG


def _is_of_eager_model(model: Model, loop: Loop) -> bool:
    """Whether `loop` is code of a model that this program calls in eager mode, and never trains by `fit`."""
    function = loop.function
    if function is None or (model.compiled.is_traced(function) and function.decorators):
        return False
    if any(map(model.is_compiled, model.calls_named("numpy"))):
        return True  # which fails in a graph
    if model.eager_steps.train(function):
        return True
    sites = model.calls.sites(function)
    if not sites or model.calls.callers_outside(function) or not all(map(model.is_eager, sites)):
        return False
    return model.walk.calls.keys().isdisjoint(FITS)


def _remedy(model: Model, loop: Loop) -> str:
    function = model.function_at(loop.node)
    if function is None or not model.own(Staging).is_converted(function):
        # AutoGraph leaves the loop to Python, which can't iterate over a tensor of the graph.
        return "use `tf.while_loop`, `tf.scan` or a recurrent layer"
    return (
        f"{_BY_RANGE}, and collect in a `tf.TensorArray`"
        if model.own(Staging).fills_list(loop)
        else _BY_RANGE
    )


def _stage(edit: Editor, loop: Loop) -> Repair | Refusal:
    model = edit.model
    function = model.function_at(loop.node)
    if function is None or not model.own(Staging).is_converted(function):
        return Refusal("AutoGraph may not convert this code", loop.node)
    obstacle = model.own(Staging).obstacle(loop)
    if obstacle is not None:
        return Refusal(obstacle.reason, obstacle.node)
    assert isinstance(loop.node, cst.For) and isinstance(loop.node.iter, cst.Call)
    spelled, imports = edit.spell("range", loop.node)
    return Repair(
        f"Loop over `{spelled}`",
        [*imports, edit.replace(loop.node.iter.func, spelled)],
        safe=False,
        may_change="rounding, and what Python code sees: a tensor as the loop variable",
    )
