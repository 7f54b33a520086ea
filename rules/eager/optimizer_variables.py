"""Making the variables of an optimizer ahead of a compiled step, where it may be another one on a later call.

The first trace of a `tf.function` may make variables, and no later one: an optimizer that it is given then must have made its own. In
Keras, `build` makes them, and does nothing where they are made; those of the model have to be there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import libcst as cst

from tflint_perf.edit.editor import Editor

_TRAINED = frozenset({"trainable_variables", "trainable_weights"})


def made_ahead(
    edit: Editor,
    code: Iterable[cst.CSTNode],
    is_another: Callable[[cst.BaseExpression], bool],
    indent: str,
) -> str:
    """The lines that make the variables of the optimizers that `code` applies gradients by, and that may be others later."""
    lines: dict[str, None] = {}
    for part in code:
        match part:
            case cst.Call(
                func=cst.Attribute(value=optimizer, attr=cst.Name("apply_gradients")),
                args=[
                    cst.Arg(
                        value=cst.Call(
                            func=cst.Name("zip"),
                            args=[
                                _,
                                cst.Arg(
                                    value=cst.Attribute(value=trained, attr=cst.Name(variables)) as given
                                ),
                            ],
                        )
                    ),
                    *_,
                ],
            ) if variables in _TRAINED and edit.model.value(optimizer).kind == "optimizer":
                if is_another(optimizer):
                    ahead = f"{edit.text(optimizer)}.build({edit.text(given)})"
                    deeper = indent + edit.one_indent(indent)
                    lines[f"{indent}if {edit.text(trained)}.built:\n{deeper}{ahead}\n"] = None
    return "".join(lines)
