"""TFP304 file-read-per-step."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from tflint_perf.analysis.model import Loop, Model
from tflint_perf.analysis.python.syntax import argument, calls_below
from tflint_perf.edit import Editor
from tflint_perf.edit.hoist import hoist, hoist_expression
from tflint_perf.rule import Claim, Refusal, Repair, Report, Rule

_ON_EACH_STEP = "reads a file on each step"
_AHEAD = "reads a file for each step, in {} of Keras's beside it: where that takes longer than a step, the device waits"
_WHERE = {"thread": _AHEAD.format("one thread"), "threads": _AHEAD.format("threads")}


class FileReadPerStep(Rule):
    """A file that the training loop reads on each step.

    ## What it does

    Reports `open`, `np.load`, `np.loadtxt`, `pd.read_*`, `cv2.imread`, `PIL.Image.open`, `tf.io.read_file` in eager
    mode and the like that run per step in a loop that trains, also in generators and sequences that `fit` draws from,
    and the same file read again on each step of any loop. Of several reads in one statement, or in two branches, the first.
    Keras reads for `fit` in one thread beside the step, so a step waits
    for a file only where reading takes longer than it does: the severity is `info`. With `workers=0` each step waits, and reads by
    several processes (`workers=4, use_multiprocessing=True`) are left alone.

    ## Why is this bad?

    The device waits while Python opens the file, reads and decodes it. A file that stays the same needs to be read
    once. Others are read ahead by a `tf.data` pipeline, several at a time, while the device computes. What was measured is one
    file of numbers as text, read and parsed on each step, against reading it once; binary files, and another file on each step,
    were not.

    ## Example

    ```python
    for images, labels in dataset:
        weights = np.load("class_weights.npy")
        train_step(images, labels, weights)
    ```

    Use instead:

    ```python
    weights = np.load("class_weights.npy")
    for images, labels in dataset:
        train_step(images, labels, weights)
    ```

    ## What is left alone

    Reads before the loop, once an epoch, under a condition (except on settings) or behind a cache; writing; functions that a `tf.data`
    pipeline calls; a file that the loop writes itself; loops that only write what they make of files to others; loops over files, or a list of their contents, that only predict, and so read each once. A read is moved
    only where nothing in the loop writes files or may change what was read; that is unsafe, since other programs write files.

    ## Sources

    - TensorFlow guide, [Better performance with the tf.data API](https://www.tensorflow.org/guide/data_performance)
    """

    code = "TFP304"
    name = "file-read-per-step"
    triggers = ("open(", "load(", "loadtxt(", "genfromtxt(", "fromfile(", "imread(", "read_", "load_img(", "loadmat(", "GFile(")  # fmt: skip
    # A file with none of these has no step, and makes no batch for one of another file.
    needs = (
        "GradientTape", "_gradients", "_on_batch", "minimize(", "predict(", "fit(", "evaluate(", ".function", "function(",
        "@function", "function as", "defun", ".run(", "get_next", "next(", ".step(", "ataset", "Sequential", "Model",
        "load_model", "clone_model", "model_from_json", "applications", "hub.load", "sample", "batch", "__getitem__", "yield",
        # What reads one sample, for whoever calls it.
        "read_file(", "imread(", "load_img(", "Image.open(", "np.load(", "librosa.load(",
    )  # fmt: skip
    through_callers = (
        "imread(", "load_img(", "Image.open(", "np.load(", "numpy.load(", "loadtxt(", "genfromtxt(", "fromfile(",
        "librosa.load(", "loadmat(", "nib.load(",
    )  # fmt: skip
    fixes = "unsafe"
    through_imports = True
    claim = Claim("step time", least=1.2, at="for `np.loadtxt`")
    adds_up = True

    def check(self, model: Model) -> Iterator[Report]:
        told: list[cst.Call] = []
        for call in model.file_reads.all():
            if not model.is_eager(call) or model.once.runs_seldom(call):
                continue
            if not model.each_step.runs(call, model.file_reads.usually):
                continue
            loop = model.loops.step_loop(call)
            if loop is not None and model.file_reads.reads_what_it_writes(call, loop):
                continue
            name = model.module.code_for_node(call.func)
            made_in = model.file_reads.made_in(call)
            ahead = made_in != "step"
            if loop is not None and _is_the_same(model, call, loop):
                yield Report(
                    call,
                    f"`{name}` reads the same file on each step; read it once, above the loop",
                    partial(_read_once, call=call, loop=loop),
                    as_measured=not ahead and _parses_lines(model, call),
                    minor=ahead,
                )
            elif loop is None and all(model.file_reads.is_given_the_same(arg.value) for arg in call.args):
                yield Report(
                    call,
                    f"`{name}` reads the same file on each step; read it once, above the loop",
                    as_measured=not ahead and _parses_lines(model, call),
                    minor=ahead,
                )
            elif model.file_reads.is_the_same_for_all_batches(call):
                yield Report(
                    call,
                    f"`{name}` reads the same file for each batch; read it once, in `__init__`",
                    as_measured=False,
                    minor=ahead,
                )
            elif made_in != "processes" and (
                model.file_reads.are_for_training(call) or not _needs_no_pipeline(model, call)
            ):
                if any(_is_one_read(model, other, call) for other in told):
                    continue
                told.append(call)
                yield Report(
                    call,
                    f"`{name}` {_WHERE.get(made_in, _ON_EACH_STEP)}; {_remedy(model, call)}",
                    as_measured=False,  # the experiment reads one file, which is read once in its fast form
                    minor=ahead,
                )


def _remedy(model: Model, call: cst.Call) -> str:
    statement = model.statement_of(call)
    below = calls_below(statement.body) if isinstance(statement, cst.With) else calls_below(statement)
    if any(model.names.is_call_that(each, "loads-objects") for each in below):
        return "no pipeline of `tf.data` reads objects of Python, so store what is made of them once, before training"
    return "read files in a `tf.data` pipeline"


def _parses_lines(model: Model, call: cst.Call) -> bool:
    """Whether `call` reads and parses lines of text, as in the experiment."""
    return model.names.is_call_that(call, "parses-lines")


def _needs_no_pipeline(model: Model, call: cst.Call) -> bool:
    """Whether no step waits for `call`, or the program reads each file once, one after the other, and trains nothing."""
    reads = model.file_reads
    gone_over = reads.runs_over_files_alone(call) or reads.is_of_each(call)
    return gone_over or model.single_passes.hold(call) or _only_prepares(model, call)


def _only_prepares(model: Model, call: cst.Call) -> bool:
    """Whether the loops that run `call` write what they make of files to others, and ask no model: records to train on, say."""
    function = model.function_at(call)
    loops = list(model.file_reads.step_loops(call))
    if not loops or (function is not None and model.calls.callers_outside(function)):
        return False
    return all(
        model.file_reads.writes(loop) is not None
        and not any(
            model.element_uses.use_of_call(each) or model.train_calls.may_train(each)
            for each in model.file_reads.calls_in(loop)
        )
        for loop in loops
    )


def _is_one_read(model: Model, first: cst.Call, call: cst.Call) -> bool:
    """Whether `call` reads what `first` opens, or one mend is that of both: they are parts of one statement, or one of them is
    run instead of the other."""
    given = argument(call, 0)
    if given is first or [binding.value for binding in model.infer.bindings(given)] == [first]:
        return True
    statement = model.statement_of(call)
    if isinstance(statement, cst.BaseSmallStatement) and statement is model.statement_of(first):
        return True
    chosen = next((node for node in _around(model, call) if isinstance(node, cst.If)), None)
    return (
        isinstance(chosen, cst.If)
        and isinstance(chosen.orelse, cst.Else)
        and any(node is chosen.orelse for node in _around(model, call))
        and any(node is chosen.body for node in _around(model, first))
        and next(node for node in _around(model, first) if isinstance(node, cst.If)) is chosen
    )


def _around(model: Model, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """What `node` stands in, from the inside out."""
    current = model.parent(node)
    while current is not None:
        yield current
        current = model.parent(current)


def _is_the_same(model: Model, call: cst.Call, loop: Loop) -> bool:
    return not any(model.invariance.varies(arg.value, loop) for arg in call.args)


def _read_once(edit: Editor, call: cst.Call, loop: Loop) -> Repair | Refusal:
    model = edit.model
    written = model.file_reads.writes(loop)
    if written is not None:
        return Refusal("the loop may write the file", written)
    statement = model.statement_of(call)
    if not model.each_step.runs(call):
        return Refusal("it is read conditionally", statement)
    if isinstance(statement, cst.With):
        return Refusal("it is read in a block of its own", statement)
    match statement:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))]):
            changed = model.in_place.change(name, loop)
            if changed is not None:
                return Refusal(f"`{name}` may be changed in the loop", changed)
            moved = hoist(edit, statement)
        case _:
            moved = hoist_expression(edit, call, "content", loop)
    if isinstance(moved, Refusal):
        return moved
    return Repair(
        "Read the file once, above the loop",
        moved.edits,
        safe=False,
        may_change="what is read, if the file is written meanwhile",
    )
