"""Tapes, their mentions, and what is called on them."""

from __future__ import annotations

import pytest

from tests.analysis.support import here, model_of
from tflint_perf.analysis.execution.tapes import is_under_tape
from tflint_perf.analysis.python.syntax import callee_name

TAPES = {
    "a with": ("with tf.GradientTape() as tape: f(x)", ["tape"]),
    "two in one with": ("with tf.GradientTape() as a, tf.GradientTape() as b: f(x)", ["a", "b"]),
    "another way to import it": (
        "from tensorflow import GradientTape as G\nwith G() as tape: f(x)",
        ["tape"],
    ),
    "one without a name": ("with tf.GradientTape(): f(x)", []),
    "one under an attribute": ("with tf.GradientTape() as self.tape: f(x)", []),
    "one made before": ("tape = tf.GradientTape()\nwith tape: f(x)", ["tape"]),
    "one made before, under another name": ("made = tf.GradientTape()\nwith made as tape: f(x)", ["tape"]),
    "one opened twice": ("tape = tf.GradientTape()\nwith tape: f(x)\nwith tape: g(x)", ["tape"]),
    "another context": ("with open(x) as tape: f(x)", []),
}


@pytest.mark.parametrize(("source", "names"), TAPES.values(), ids=TAPES.keys())
def test_finds_the_tapes_that_have_a_name(source: str, names: list[str]) -> None:
    assert [tape.target.value for tape in model_of(source).tapes.all()] == names


def test_a_mention_belongs_to_the_tape_that_it_may_mean() -> None:
    source = """
        with tf.GradientTape() as tape:
            tape.watch(x)
        grads = tape.gradient(y, x)
        with tf.GradientTape() as tape:
            tape.reset()
        del tape
    """
    model = model_of(source)
    calls = [[model.tapes.call_on(m) for m in model.tapes.mentions(tape)] for tape in model.tapes.all()]
    names = [[callee_name(call) if call is not None else "" for call in row] for row in calls]
    assert names == [["watch", "gradient"], ["reset"]]


RECORDED = {
    "made in the with": "with tf.GradientTape() as tape: here()",
    "without a name": "with tf.GradientTape(): here()",
    "deep in it": "with tf.GradientTape() as tape:\n    for x in xs:\n        if x: here()",
    "made before": "tape = tf.GradientTape()\nwith tape: here()",
    "made before and persistent": "tape = tf.GradientTape(persistent=True)\nwith tape as t: here()",
    "beside another context": "with tf.device('/gpu:0'), tf.GradientTape() as tape: here()",
    "in an attribute": (
        "class A:\n    def __init__(self): self.tape = tf.GradientTape()\n    def f(self):\n        with self.tape: here()"
    ),
    "from a function": "def make(): return tf.GradientTape()\nwith make() as tape: here()",
    "entered by a stack": (
        "import contextlib\nwith contextlib.ExitStack() as stack:\n"
        "    tape = stack.enter_context(tf.GradientTape())\n    here()"
    ),
    "entered by a stack where a flag says so": (
        "import contextlib\nwith contextlib.ExitStack() as stack:\n"
        "    if train: stack.enter_context(tf.GradientTape())\n    here()"
    ),
    "in a lambda": "with tf.GradientTape() as tape: f(lambda: here())",
}
NOT_RECORDED = {
    "no tape": "with tf.device('/gpu:0'): here()",
    "behind it": "with tf.GradientTape() as tape: f(x)\nhere()",
    "opened by nobody": "tape = tf.GradientTape()\nhere()",
    "where it is opened": "with tf.GradientTape() as tape, here(): f(x)",
    "in a function that is made there": "with tf.GradientTape() as tape:\n    def g(): here()",
    "while it is paused": "with tf.GradientTape() as tape:\n    with tape.stop_recording(): here()",
    "before a stack enters it": (
        "import contextlib\nwith contextlib.ExitStack() as stack:\n"
        "    here()\n    tape = stack.enter_context(tf.GradientTape())"
    ),
    "behind the stack": (
        "import contextlib\nwith contextlib.ExitStack() as stack:\n"
        "    tape = stack.enter_context(tf.GradientTape())\nhere()"
    ),
}


@pytest.mark.parametrize("source", RECORDED.values(), ids=RECORDED.keys())
def test_a_tape_records_code(source: str) -> None:
    model = model_of(source)
    assert is_under_tape(model.infer, here(model))


@pytest.mark.parametrize("source", NOT_RECORDED.values(), ids=NOT_RECORDED.keys())
def test_no_tape_records_code(source: str) -> None:
    model = model_of(source)
    assert not is_under_tape(model.infer, here(model))


FOR_A_GRADIENT = {
    "asked behind it": "with tf.GradientTape() as tape: here()\ng = tape.gradient(y, x)",
    "handed to a function": "with tf.GradientTape() as tape: here()\nlearn(tape)",
    "in an attribute": (
        "class A:\n    def __init__(self): self.tape = tf.GradientTape()\n    def f(self):\n        with self.tape: here()"
    ),
    "from a function": "def make(): return tf.GradientTape()\nwith make(): here()",
    "entered by a stack": (
        "import contextlib\nwith contextlib.ExitStack() as stack:\n"
        "    stack.enter_context(tf.GradientTape())\n    here()"
    ),
    "around one that is not asked": (
        "with tf.GradientTape() as outer:\n    with tf.GradientTape() as inner: here()\ng = outer.gradient(y, x)"
    ),
}
FOR_NOTHING = {
    "not asked": "with tf.GradientTape() as tape: here()",
    "without a name": "with tf.GradientTape(): here()",
    "told what to watch": "with tf.GradientTape() as tape:\n    tape.watch(x)\n    here()\ndel tape",
    "of another block of this name": (
        "with tf.GradientTape() as tape: f(x)\ng = tape.gradient(y, x)\nwith tf.GradientTape() as tape: here()"
    ),
}


@pytest.mark.parametrize("source", FOR_A_GRADIENT.values(), ids=FOR_A_GRADIENT.keys())
def test_a_tape_records_code_for_a_gradient(source: str) -> None:
    model = model_of(source)
    assert model.tapes.record(here(model))


@pytest.mark.parametrize("source", FOR_NOTHING.values(), ids=FOR_NOTHING.keys())
def test_a_tape_records_code_that_nobody_asks_for_a_gradient(source: str) -> None:
    model = model_of(source)
    assert not model.tapes.record(here(model))


GRADIENT = "\n{i}g = tape.gradient(y, v)\n{i}optimizer.apply_gradients(zip(g, v))"
STEPS = {
    "made in the with": "for x in xs:\n    with tf.GradientTape() as tape: y = f(x)"
    + GRADIENT.format(i="    "),
    "made before": (
        "for x in xs:\n    tape = tf.GradientTape()\n    with tape: y = f(x)" + GRADIENT.format(i="    ")
    ),
}


@pytest.mark.parametrize("source", STEPS.values(), ids=STEPS.keys())
def test_a_tape_belongs_to_a_gradient_step(source: str) -> None:
    (step,) = model_of(source).steps.all()
    assert [callee_name(call) for call in (*step.gradients, *step.applied)] == ["gradient", "apply_gradients"]
