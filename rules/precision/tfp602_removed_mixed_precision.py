"""TFP602 removed-mixed-precision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import libcst as cst

from tflint_perf.analysis.model import Model
from tflint_perf.analysis.python.syntax import argument, has_stars, last_name, string
from tflint_perf.analysis.rewriting import Doubt
from tflint_perf.edit import Edit, Editor
from tflint_perf.edit.judged import judged
from tflint_perf.rule import Refusal, Repair, Report, Rule

from .precision import Precision, RemovedUse

# What each name is called today.
_TODAY = {
    "Policy": "Policy",
    "set_policy": "set_global_policy",
    "global_policy": "global_policy",
    "LossScaleOptimizer": "LossScaleOptimizer",
}
# How a policy told its loss scale, and how a training loop of one's own did the scaling.
_SCALING = ("loss_scale", "get_scaled_loss", "get_unscaled_gradients")

# Around what may fail, they say what comes then.
_ASKING = (cst.Try, cst.TryStar, cst.If, cst.IfExp, cst.BooleanOperation, cst.With)


class RemovedMixedPrecision(Rule):
    """Mixed precision asked for by names that TensorFlow no longer has.

    ## What it does

    Reports `tf.keras.mixed_precision.experimental`: its `Policy`, `set_policy`, `global_policy` and
    `LossScaleOptimizer`, however they are imported. One finding for a policy that is created and set by
    consecutive statements, and one at an import that names what is used.

    ## Why is this bad?

    TensorFlow 2.4 moved these names out of `experimental`, and TensorFlow 2.9 removed the old ones: the program fails
    with an `AttributeError`, or catches it and trains in full precision.

    ## Example

    ```python
    policy = tf.keras.mixed_precision.experimental.Policy("mixed_float16")
    tf.keras.mixed_precision.experimental.set_policy(policy)
    ```

    Use instead:

    ```python
    policy = tf.keras.mixed_precision.Policy("mixed_float16")
    tf.keras.mixed_precision.set_global_policy(policy)
    ```

    ## What is left alone

    Files that also use the current names, a use in a `try` or under a condition on a
    version, and `tf.compat.v1`. In a project that asks for a TensorFlow before 2.9 the severity is `info`. The fix changes all uses at once. It is refused where a loss scale is set or read,
    since that now works in another way.

    ## Sources

    - TensorFlow documentation, [Module: tf.keras.mixed_precision.experimental
      (2.8)](https://www.tensorflow.org/versions/r2.8/api_docs/python/tf/keras/mixed_precision/experimental)
    - TensorFlow guide, [Mixed precision](https://www.tensorflow.org/guide/mixed_precision)
    """

    code = "TFP602"
    name = "removed-mixed-precision"
    triggers = ("mixed_precision",)
    needs = ("experimental",)
    fixes = "both"

    def check(self, model: Model) -> Iterator[Report]:
        uses = model.own(Precision).removed()
        # Nothing fails before the project moves on.
        has_it_still = bool(uses) and model.infer.outside.needs_older(2, 9)
        named = [use for use in uses if use.names_it] or uses[:1]
        for use in _one_an_act(model, named):
            yield Report(
                use.node,
                "TensorFlow 2.9 removed `keras.mixed_precision.experimental`; "
                "use `keras.mixed_precision`, where `set_policy` is `set_global_policy`",
                partial(_update, uses),
                minor=has_it_still,
            )


def _one_an_act(model: Model, uses: Sequence[RemovedUse]) -> Iterator[RemovedUse]:
    """Of uses that follow one another the first: one statement makes the policy that the next one sets. What wraps an
    optimizer is an act of its own."""
    last = None
    for use in uses:
        at = model.walk.at[model.statement_of(use.node)]
        statements = at.block.statements
        index = statements.index(model.statement_of(use.node))
        following = last is not None and last[0] is statements and index - last[1] <= 1
        if not following or (use.name == "LossScaleOptimizer" and last != (statements, index)):
            yield use
        last = statements, index


def _update(uses: Sequence[RemovedUse], edit: Editor) -> Repair | Refusal:
    module = "mixed_precision" if "mixed_precision" not in edit.model.walk.names else "experimental"
    other = edit.model.own(Precision).bound_twice()
    if other is not None:
        return Refusal("the name that it is imported as means something else, too", other)
    edits: list[Edit] = []
    for use in uses:
        if isinstance(use.node, cst.Import | cst.ImportFrom):
            made = _import(edit, use.node, module)
        else:
            made = _reason(edit.model, use) or _name(edit, use, module)
        if isinstance(made, Refusal):
            return made
        edits += made
    return judged("Use the current names", edits, _doubt(edit.model, uses))


def _doubt(model: Model, uses: Sequence[RemovedUse]) -> Doubt | None:
    """Why the program may go on where it now fails, and so do something else: it asks, or waits for the error."""
    tried = next((node for node in model.walk.at if isinstance(node, cst.Try | cst.TryStar)), None)
    for use in uses:
        node: cst.CSTNode | None = use.node
        while node is not None:
            if isinstance(node, _ASKING) or (isinstance(node, cst.FunctionDef) and tried is not None):
                return Doubt("which way the program goes", node if isinstance(node, _ASKING) else tried)
            node = model.parent(node)
    return None


def _reason(model: Model, use: RemovedUse) -> Refusal | None:
    """Why a use needs more than another name."""
    for name in _SCALING:
        for node in model.walk.attributes.get(name, ()):
            return Refusal(f"`{name}` is gone, too", node)
    if use.name and use.name not in _TODAY:
        return Refusal(f"`{use.name}` has no successor of that kind", use.node)
    call = model.parent(use.node)
    if not isinstance(call, cst.Call) or call.func is not use.node:
        return None
    if has_stars(call):
        return Refusal("its arguments can't be seen here", call)
    if use.name == "LossScaleOptimizer" or len(call.args) > 1:
        if string(argument(call, 1, "loss_scale")) != "dynamic" or call.args[0].keyword is not None:
            return Refusal("its loss scale is now given in another way", call)
    return None


def _name(edit: Editor, use: RemovedUse, module: str) -> list[Edit] | Refusal:
    """Edits that make an expression spell the present name."""
    node, holder, name = use.node, use.holder, _TODAY.get(use.name, "")
    edits: list[Edit] = []
    if isinstance(holder, cst.Attribute) and last_name(holder) == "experimental":
        behind = edit.outer_end(holder.value)
        if "#" in edit.model.text[behind : edit.start(holder.attr)]:
            return Refusal("there is a comment in its name", holder)
        edits.append(edit.edit(behind, edit.end(holder), ""))
    elif holder is not None and last_name(holder) == "experimental":
        edits.append(edit.replace(holder, module))
    if name != use.name:
        if isinstance(node, cst.Attribute):
            edits.append(edit.replace(node.attr, name))
        elif isinstance(node, cst.Name) and node.value == use.name:
            edits.append(edit.replace(node, name))
    call = edit.model.parent(node)
    if isinstance(call, cst.Call) and call.func is node and len(call.args) > 1:
        # A loss scale that adapts itself is the only one there is today.
        edits.append(edit.remove_argument(call, call.args[1]))
    return edits


def _import(edit: Editor, statement: cst.Import | cst.ImportFrom, module: str) -> list[Edit] | Refusal:
    """Edits that make an import bring the present names."""
    if isinstance(statement, cst.Import):
        removed = [alias.name for alias in statement.names if last_name(alias.name) == "experimental"]
        return [
            edit.edit(edit.end(name.value), edit.end(name), "")
            for name in removed
            if isinstance(name, cst.Attribute)
        ]
    source = statement.module
    if isinstance(statement.names, cst.ImportStar) or not isinstance(source, cst.Attribute):
        return Refusal("a star hides what is imported", statement)
    if last_name(source) == "experimental":
        return [
            edit.edit(edit.end(source.value), edit.end(source), ""),
            *(
                edit.replace(alias.name, today)
                for alias in statement.names
                if (today := _TODAY.get(last_name(alias.name), "")) != last_name(alias.name) and today
            ),
        ]
    if len(statement.names) > 1 or "#" in edit.text(statement):
        return Refusal("it is imported together with other names", statement)
    alias = statement.names[0]
    bound = last_name(alias.asname.name) if alias.asname is not None else module
    text = f"from {edit.text(source.value)} import mixed_precision"
    return [edit.replace(statement, text if bound == "mixed_precision" else f"{text} as {bound}")]
