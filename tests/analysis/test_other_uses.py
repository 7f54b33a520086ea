"""What stands against keeping an optimizer from one iteration to the next."""

from __future__ import annotations

from textwrap import indent

import libcst as cst
import pytest
from tflint_perf.rules.tracing.other_uses import OtherUses

from tests.analysis.support import model_of

MODEL = "model = keras.Sequential([keras.layers.Dense(3)])\n"


def obstacle(body: str, behind: str = "") -> str | None:
    """What is said of the optimizer that a loop makes before it runs `body`."""
    made = "opt = keras.optimizers.SGD(0.1)\n"
    model = model_of(f"{MODEL}for x in data:\n{indent(made + body, '    ')}\n{behind}\n")
    (loop,) = model.walk.loops.values()
    (statement,) = (
        node
        for node in model.walk.at
        if isinstance(node, cst.Assign)
        and isinstance(node.value, cst.Call)
        and model.module.code_for_node(node).startswith("opt =")
    )
    found = model.own(OtherUses).of_optimizer(statement, loop)
    return None if found is None else found.reason


APPLIED = "opt.apply_gradients(zip(grads, model.trainable_variables))"


def test_one_that_only_applies_gradients_may_be_kept() -> None:
    assert obstacle(APPLIED) is None


@pytest.mark.parametrize(
    ("body", "behind", "expected"),
    [
        (f"opt.learning_rate = 0.2\n{APPLIED}", "", "may change it"),
        (f"warm_up(opt)\n{APPLIED}", "", "may change it"),
        (APPLIED, "print(opt.iterations)", "is read after the loop"),
        (f"model = keras.Sequential()\n{APPLIED}", "", "it may train another `model` next"),
    ],
)
def test_others_have_to_be_made_anew(body: str, behind: str, expected: str) -> None:
    assert expected in str(obstacle(body, behind))
