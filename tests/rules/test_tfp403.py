"""TFP403 persistent-tape."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from tests.rules.support import costs_told, findings, fixed, flagged, notes

CODE = "TFP403"
PREAMBLE = dedent("""\
    import tensorflow as tf
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    variables = model.trainable_variables
""")


def module(source: str) -> str:
    return PREAMBLE + dedent(source).lstrip()


SILENT = {
    "in compiled code": """
        @tf.function
        def step(x):
            with tf.GradientTape(persistent=True) as tape:
                loss = model(x)
            return tape.gradient(loss, variables)
        """,
    "a tape that is not persistent": """
        with tf.GradientTape() as tape:
            loss = model(x)
        grads = tape.gradient(loss, variables)
        """,
    "a false argument": """
        with tf.GradientTape(persistent=False) as tape:
            loss = model(x)
        grads = tape.gradient(loss, variables)
        """,
    "an argument that is not in sight": """
        with tf.GradientTape(persistent=second_order) as tape:
            loss = model(x)
        grads = tape.gradient(loss, variables)
        """,
    "arguments that are not in sight": """
        with tf.GradientTape(*options, persistent=True) as tape:
            loss = model(x)
        grads = tape.gradient(loss, variables)
        """,
    "two gradients": """
        with tf.GradientTape(persistent=True) as tape:
            a, b = model(x), model(y)
        grads_a = tape.gradient(a, variables)
        grads_b = tape.gradient(b, variables)
        del tape
        """,
    "a gradient and a Jacobian": """
        with tf.GradientTape(persistent=True) as tape:
            y = model(x)
        first = tape.gradient(y, x)
        matrix = tape.jacobian(y, x)
        """,
    "gradients in two branches": """
        with tf.GradientTape(persistent=True) as tape:
            a, b = model(x), model(y)
        if flag:
            grads = tape.gradient(a, variables)
        else:
            grads = tape.gradient(b, variables)
        """,
    "a gradient in a loop": """
        with tf.GradientTape(persistent=True) as tape:
            losses = [model(x) for x in batches]
        for loss in losses:
            grads = tape.gradient(loss, variables)
        """,
    "a gradient in a comprehension": """
        with tf.GradientTape(persistent=True) as tape:
            y = model(x)
        rows = [tape.gradient(y[i], x) for i in range(10)]
        """,
    "a loop under the tape": """
        with tf.GradientTape(persistent=True) as tape:
            for x in batches:
                loss = model(x)
                grads = tape.gradient(loss, variables)
        """,
    "a tape that is returned": """
        def record(x):
            with tf.GradientTape(persistent=True) as tape:
                loss = model(x)
            return loss, tape
        """,
    "a tape that is passed on": """
        with tf.GradientTape(persistent=True) as tape:
            loss = model(x)
        grads = compute(tape, loss)
        """,
    "a tape that is passed on after a gradient": """
        with tf.GradientTape(persistent=True) as tape:
            loss = model(x)
        grads = tape.gradient(loss, variables)
        check(tape)
        """,
    "a tape that an optimizer gets": """
        with tf.GradientTape(persistent=True) as tape:
            loss = model(x)
        optimizer.minimize(loss, variables, tape=tape)
        """,
    "a tape that is kept": """
        class Recorder:
            def record(self, x):
                with tf.GradientTape(persistent=True) as tape:
                    self.loss = model(x)
                self.tape = tape
        """,
    "a tape under an attribute": """
        class Recorder:
            def record(self, x):
                with tf.GradientTape(persistent=True) as self.tape:
                    self.loss = model(x)
        """,
    "a tape that a nested function asks": """
        def f(x):
            with tf.GradientTape(persistent=True) as tape:
                loss = model(x)
            def grads_of(v):
                return tape.gradient(loss, v)
            return [grads_of(v) for v in variables]
        """,
    "a tape that a lambda asks": """
        def f(x):
            with tf.GradientTape(persistent=True) as tape:
                y = model(x)
            return map(lambda row: tape.gradient(row, x), tf.unstack(y))
        """,
    "a method that is passed on": """
        with tf.GradientTape(persistent=True) as tape:
            y = model(x)
        grads = list(map(tape.gradient, tf.unstack(y), variables))
        """,
    "a tape that may be another one": """
        with tf.GradientTape() as tape:
            y = model(x)
        if twice:
            with tf.GradientTape(persistent=True) as tape:
                y = model(x)
            first = tape.gradient(y, variables)
        grads = tape.gradient(y, variables)
        """,
    "a tape that watches after the gradient": """
        with tf.GradientTape(persistent=True) as tape:
            y = model(x)
            dy = tape.gradient(y, x)
            tape.watch(dy)
        """,
    "a Jacobian that is computed row by row": """
        with tf.GradientTape(persistent=True) as tape:
            y = model(x)
        matrix = tape.jacobian(y, x, experimental_use_pfor=False)
        """,
    "a Jacobian whose arguments are not in sight": """
        with tf.GradientTape(persistent=True) as tape:
            y = model(x)
        matrix = tape.jacobian(y, x, **options)
        """,
    "a batch Jacobian in so many at a time": """
        with tf.GradientTape(persistent=True) as tape:
            y = model(x)
        matrix = tape.batch_jacobian(y, x, parallel_iterations=4)
        """,
    "something else of that name": """
        from tapes import GradientTape
        with GradientTape(persistent=True) as tape:
            loss = model(x)
        grads = tape.gradient(loss, variables)
        """,
}


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT.keys())
def test_says_nothing_of(source: str) -> None:
    assert flagged(CODE, module(source)) == []


FLAGGED = {
    "one gradient": """
        with tf.GradientTape(persistent=True) as tape:  # <-
            loss = model(x)
        grads = tape.gradient(loss, variables)
        """,
    "no gradient": """
        with tf.GradientTape(persistent=True) as tape:  # <-
            tape.watch(x)
            loss = model(x)
        """,
    "given by position": """
        with tf.GradientTape(True) as tape:  # <-
            loss = model(x)
        grads = tape.gradient(loss, variables)
        """,
    "imported by name": """
        from tensorflow import GradientTape
        with GradientTape(persistent=True) as t:  # <-
            loss = model(x)
        grads = t.gradient(loss, variables)
        """,
    "one Jacobian": """
        with tf.GradientTape(persistent=True) as tape:  # <-
            y = model(x)
        matrix = tape.jacobian(y, x, unconnected_gradients="zero")
        """,
    "a tape that is watched, stopped and deleted": """
        def f(x):
            with tf.GradientTape(persistent=True) as tape:  # <-
                tape.watch(x)
                loss = model(x)
                with tape.stop_recording():
                    print(loss)
                for v in variables:
                    tape.watch(v)
            grads = tape.gradient(loss, variables)
            print(tape.watched_variables())
            del tape, loss
            return grads
        """,
    "a tape that each step of a loop opens": """
        for x in batches:
            with tf.GradientTape(persistent=True) as tape:  # <-
                loss = model(x)
            grads = tape.gradient(loss, variables)
            optimizer.apply_gradients(zip(grads, variables))
        """,
    "two tapes of one name": """
        with tf.GradientTape(persistent=True) as tape:  # <-
            loss = model(x)
        grads = tape.gradient(loss, variables)
        with tf.GradientTape(persistent=True) as tape:
            a, b = model(x), model(y)
        more = tape.gradient(a, variables), tape.gradient(b, variables)
        """,
    "the inner one of two": """
        with tf.GradientTape() as outer:
            with tf.GradientTape(persistent=True) as inner:  # <-
                y = model(x)
            dy = inner.gradient(y, x)
        d2y = outer.gradient(dy, x)
        """,
    "two in one statement": """
        with tf.GradientTape(persistent=True) as a, tf.GradientTape(persistent=True) as b:  # <-
            y, z = model(x), model(x)
        grads = a.gradient(y, variables), b.gradient(y, variables), b.gradient(z, variables)
        """,
}


@pytest.mark.parametrize("source", FLAGGED.values(), ids=FLAGGED.keys())
def test_flags(source: str) -> None:
    text = module(source)
    marked = [row for row, line in enumerate(text.splitlines(), 1) if line.endswith("# <-")]
    assert flagged(CODE, text) == marked != []


def test_says_how_many_gradients_are_asked() -> None:
    source = "with tf.GradientTape(persistent=True) as t:\n    y = model(x)\n"
    (none,) = findings(CODE, module(source))
    (one,) = findings(CODE, module(source + "g = t.gradient(y, x)\n"))
    assert none.message == "`t` records for gradients, but is asked for none; drop the tape"
    assert "is asked for only one gradient; drop `persistent=True`" in one.message


def test_a_tape_that_nothing_asks_has_no_fix_since_one_that_is_not_persistent_keeps_as_much() -> None:
    source = module("with tf.GradientTape(persistent=True) as t:\n    y = model(x)\n")
    (note,) = notes(CODE, source)
    assert note.startswith("no fix: what its block does would have to move out of the `with`")


FIXES = {
    "alone": ("tf.GradientTape(persistent=True)", "tf.GradientTape()"),
    "by position": ("tf.GradientTape(True)", "tf.GradientTape()"),
    "first of two": (
        "tf.GradientTape(persistent=True, watch_accessed_variables=False)",
        "tf.GradientTape(watch_accessed_variables=False)",
    ),
    "last of two": (
        "tf.GradientTape(watch_accessed_variables=False, persistent=True)",
        "tf.GradientTape(watch_accessed_variables=False)",
    ),
}


@pytest.mark.parametrize(("before", "after"), FIXES.values(), ids=FIXES.keys())
def test_drops_the_argument(before: str, after: str) -> None:
    rest = "as tape:  # record\n    loss = model(x)\ngrads = tape.gradient(loss, variables)\n"
    assert fixed(CODE, module(f"with {before} {rest}")) == module(f"with {after} {rest}")


def test_the_fix_is_safe() -> None:
    source = "with tf.GradientTape(persistent=True) as t:\n    y = model(x)\ng = t.gradient(y, x)\n"
    (finding,) = findings(CODE, module(source))
    assert finding.fix is not None
    assert finding.fix.safe


def test_a_comment_in_the_call_stays() -> None:
    source = module(
        "with tf.GradientTape(\n    persistent=True,  # both\n) as tape:\n    loss = f(x)\ng = tape.gradient(loss, v)\n"
    )
    assert fixed(CODE, source) == source


STEP = "with tf.GradientTape(persistent=True) as tape:\n    loss = model(x)\ng = tape.gradient(loss, variables)\n"


def in_a(head: str, *parts: str) -> str:
    """The parts as the body of a loop or function."""
    return head + "\n" + indent("".join(parts), "    ")


# Each with whether another gradient is computed while the tape lives.
MEANWHILE = {
    "nothing": (STEP, False),
    "the update": (STEP + "optimizer.apply_gradients(zip(g, variables))\n", False),
    "the next step": (in_a("for x in batches:", STEP), False),
    "a compiled step": (in_a("for x in batches:", STEP, "train_step(x + g)\n"), True),
    "a model": (in_a("for x in batches:", STEP, "print(model(x))\n"), False),
    "a validation behind the loop": (
        in_a("for epoch in range(9):", in_a("for x in batches:", STEP), "model.evaluate(held_out)\n"),
        False,
    ),
    "a function that runs a model": (
        "def validate():\n    return [model(x) for x in batches]\n"
        + in_a("for x in batches:", STEP, "validate()\n"),
        False,
    ),
    "a function that trains": (
        "def follow(x):\n    train_step(x)\n" + in_a("for x in batches:", STEP, "follow(x)\n"),
        True,
    ),
    "a second tape": (
        in_a("for x in batches:", STEP, "with tf.GradientTape() as other:\n    loss = model(x)\n"),
        True,
    ),
    "a batch of Keras": (in_a("for x in batches:", STEP, "model.train_on_batch(x, x)\n"), True),
    "a training after a tape that is opened once": (STEP + "model.fit(batches)\n", False),
    "a pass before the tape, in the next iteration": (
        in_a("for x in batches:", "y = train_step(x)\n", STEP),
        True,
    ),
    "a pass before the tape, once": ("y = train_step(x)\n" + STEP, False),
    "a pass behind the tape's end": (in_a("for x in batches:", STEP, "del tape\n", "train_step(x)\n"), False),
    "a pass before the tape's end": (in_a("for x in batches:", STEP, "train_step(x)\n", "del tape\n"), True),
    "a pass after a function that returns": (
        in_a("def step(x):", STEP, "return g\n")
        + in_a("for x in batches:", "g = step(x)\n", "train_step(x)\n"),
        False,
    ),
    "another tape of its name": (
        in_a("for x in batches:", STEP, "with tf.GradientTape() as tape:\n    loss = model(x)\n"),
        False,
    ),
    "no gradient": (
        "with tf.GradientTape(persistent=True) as tape:\n    loss = model(x)\ntrain_step(x)\n",
        False,
    ),
}


@pytest.mark.parametrize(("source", "told"), MEANWHILE.values(), ids=MEANWHILE)
def test_tells_the_cost_only_where_another_gradient_is_computed_while_the_tape_lives(
    source: str, told: bool
) -> None:
    step = "@tf.function\ndef train_step(x):\n    with tf.GradientTape():\n        return model(x)\n"
    assert costs_told(CODE, module("model = tf.keras.Sequential()\n" + step + source)) == [told]
