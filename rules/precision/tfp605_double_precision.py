"""TFP605 double-precision."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial

import libcst as cst

from tflint_perf.analysis.conventions import names_solving
from tflint_perf.analysis.model import Model
from tflint_perf.analysis.python.conditions import conditions
from tflint_perf.analysis.python.syntax import argument, calls_below, string
from tflint_perf.analysis.values.named_calls import dtype_name
from tflint_perf.analysis.values.written import bindings_of
from tflint_perf.edit import Editor
from tflint_perf.rule import Claim, Repair, Report, Rule

from .doubles import DoubleFeed, Doubles

# It has to have something to suppress.
_DOUBLES = re.compile(rb"\b(?:tf|tensorflow)\.(?:float64|double)\b")
_SUPPRESSION = re.compile(r"#\s*(noqa\b|tflint-perf\s*:)", re.IGNORECASE)


class DoublePrecision(Rule):
    """Training in double precision, or of a float32 model on float64 arrays.

    ## What it does

    Reports `set_floatx("float64")` and policies of that type, and NumPy arrays in float64 that were made so by default
    (random numbers, `np.zeros`, 8-bit images divided by 255) and feed a Keras model in float32 batch by batch.

    ## Why is this bad?

    What matters is where the double precision is. When the model *computes* in float64, matrix products and convolutions
    take at least twice as long: a register holds half as many numbers, and most GPUs have few units for float64. A step so
    small that Python takes most of its time stays the same. How much a model loses was not measured.

    When only the *arrays* are in float64, Keras casts each batch to float32 at the model's first layer, and the step is
    the same from there on. The arrays take twice the memory, and twice the time to be copied into batches: up to twice
    the step where that is most of it (large images, a light model), nothing at all where the model's own work is. That is
    what was measured.

    ## Example

    ```python
    images = np.random.default_rng(1).normal(size=(256, 128, 128, 3))
    dataset = tf.data.Dataset.from_tensor_slices((images, labels)).batch(64)
    ```

    Use instead:

    ```python
    images = np.random.default_rng(1).normal(size=(256, 128, 128, 3)).astype("float32")
    dataset = tf.data.Dataset.from_tensor_slices((images, labels)).batch(64)
    ```

    ## What is left alone

    A line with a comment, which may say why; arrays that are given to `fit`, which casts them once, or that a `map`
    of the pipeline may cast; arrays of unknown type; files that mention float64 elsewhere. A policy beside modules of the project
    that make tensors of float64, or where the other
    branch of an `if` sets another, or that whoever runs the program chose (`if dtype == tf.float64`), or in files that, by their names, solve differential equations or use L-BFGS. A policy
    has no fix.

    ## Sources

    - Keras API, [*Config utilities*: `set_floatx`](https://keras.io/api/utils/config_utils/)
    - NumPy reference, [*Data types*](https://numpy.org/doc/stable/user/basics.types.html)
    """

    code = "TFP605"
    name = "double-precision"
    triggers = ("set_floatx", "set_dtype_policy", "set_global_policy", "from_tensor_slices", "_on_batch")
    needs = ("float64", "numpy", "load_data(")
    fixes = "unsafe"
    claim = Claim("step time", least=1.3, steps=150, at="for casting 25 MB of float64 a batch")

    def check(self, model: Model) -> Iterator[Report]:
        for call in model.calls_that("sets-precision"):
            given = argument(call, 0) or (call.args[0].value if call.args else None)
            if string(given) != "float64" or _has_comment(model, call) or _solves(model):
                continue
            if any(map(_DOUBLES.search, model.infer.texts_of_imports)):
                continue  # with what is written in double precision there, float32 can't be mixed
            if not _is_chosen(model, call) and not _is_asked_for(model, call):
                yield Report(
                    call,
                    "all layers compute in double precision; use float32, or say why in a comment",
                    as_measured=False,  # the experiment casts batches
                )
        for feed in model.own(Doubles).feeds():
            if not _has_comment(model, feed.node) and not _has_comment(model, feed.made):
                name = model.module.code_for_node(feed.node)
                yield Report(
                    feed.node,
                    f"`{name}` is float64, and the model casts each batch of it; make it float32 where it is made",
                    partial(_cast_once, feed),
                )


def _is_chosen(model: Model, call: cst.Call) -> bool:
    """Whether the program chooses `call` by a condition, and sets another precision in the other branch."""
    child: cst.CSTNode = call
    while (parent := model.walk.parents.get(child)) is not None:
        if isinstance(parent, cst.If) and parent.orelse is not None:
            other = parent.orelse if child is parent.body else parent.body
            if any(below in model.calls_that("sets-precision") for below in calls_below(other)):
                return True
        child = parent
    return False


def _is_asked_for(model: Model, call: cst.Call) -> bool:
    """Whether `call` only runs where whoever runs the program chose double precision: `if dtype == tf.float64`."""
    for test in conditions(model.walk, call, exits=False):
        match test:
            case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(cst.Equal(), right)]):
                doubles = [dtype_name(model.infer, side) == "float64" for side in (left, right)]
                if any(doubles) and not all(_is_written(model, side) for side in (left, right)):
                    return True
    return False


def _is_written(model: Model, node: cst.BaseExpression) -> bool:
    """Whether a type stands in the source, here or under the name of a setting."""
    if dtype_name(model.infer, node):
        return True
    bindings = bindings_of(model.infer, node) if isinstance(node, cst.Name | cst.Attribute) else []
    return bool(bindings) and all(
        b.kind == "assign" and b.value is not None and bool(dtype_name(model.infer, b.value))
        for b in bindings
    )


def _solves(model: Model) -> bool:
    """Whether what the file imports or defines is, by its names, for differential equations or the like."""
    walk = model.walk
    imported = (b.imported for bindings in walk.top.bindings.values() for b in bindings if b.imported)
    functions, classes = walk.functions.values(), walk.classes.values()
    names = (*imported, *(each.name for each in functions), *(each.name for each in classes))
    return any(map(names_solving, names))


def _has_comment(model: Model, node: cst.CSTNode) -> bool:
    """Whether a comment that may say why is on the line of `node`, or directly above it."""
    line = model.parent(model.statement_of(node))
    if not isinstance(line, cst.SimpleStatementLine):
        return False
    above = line.leading_lines[-1].comment if line.leading_lines else None
    return any(
        comment is not None and not _SUPPRESSION.match(comment.value) and not _is_code(comment.value)
        for comment in (line.trailing_whitespace.comment, above)
    )


def _is_code(comment: str) -> bool:
    """Whether a comment is a statement that somebody switched off, and says nothing."""
    try:
        statements = ast.parse(comment.lstrip("# ")).body
    except (SyntaxError, ValueError):
        return False
    return any(map(_does_something, statements))


def _does_something(statement: ast.stmt) -> bool:
    """Whether a statement is no sentence: `# Note: stability` and `# float64 (stability)` are Python, too."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute())):
            return True
    return isinstance(statement, ast.Assign | ast.Import | ast.ImportFrom)


def _cast_once(feed: DoubleFeed, edit: Editor) -> Repair:
    made, end = feed.made, edit.end(feed.made)
    for _ in made.rpar:
        end = edit.whole_text.index(")", end) + 1
    cast = '.astype("float32")'
    if made.lpar or isinstance(made, cst.Call | cst.Name | cst.Attribute | cst.Subscript):
        edits = [edit.edit(end, end, cast)]
    else:
        edits = edit.wrap(made, "(", ")" + cast)
    return Repair("Cast it to float32 once", edits, safe=False, may_change="rounding: 24 bits instead of 53")
