"""What changes between the calls of a function that is to be compiled."""

from __future__ import annotations

import pytest

from tests.model.support import function, model_of
from tflint_perf.model.between_calls import BetweenCalls

NET = """
    def build():
        return keras.Sequential([keras.layers.Dense(1)])
    def step(model, optimizer, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x))
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
"""
ANOTHER = {
    "made in a function that a loop calls": """
    def train(x):
        model, optimizer = build(), keras.optimizers.Adam()
        for batch in x:
            step(model, optimizer, batch)
    for fold in folds:
        train(fold)
    """,
    "made in a function that is called twice": """
    def train(x):
        optimizer = keras.optimizers.Adam()
        step(net, optimizer, x)
    net = build()
    train(x)
    train(y)
    """,
    "two optimizers": """
    one, other, net = keras.optimizers.Adam(), keras.optimizers.SGD(), build()
    for x in xs:
        step(net, one, x)
        step(net, other, x)
    """,
    "a loop over models": """
    optimizer = keras.optimizers.Adam()
    for model in [build(), build()]:
        step(model, optimizer, x)
    """,
    "given on by a function that gets several": """
    def train(model, optimizer, xs):
        for x in xs:
            step(model, optimizer, x)
    for fold in folds:
        net, adam = build(), keras.optimizers.Adam()
        train(net, adam, fold)
    """,
}
THE_SAME = {
    "one of the module": """
    net, adam = build(), keras.optimizers.Adam()
    for x in xs:
        step(net, adam, x)
    for y in ys:
        step(net, adam, y)
    """,
    "made in a function that is called once": """
    def main():
        net, adam = build(), keras.optimizers.Adam()
        for x in xs:
            step(net, adam, x)
    if __name__ == "__main__":
        main()
    """,
    "one of two, chosen once": """
    net = build() if small else other()
    if adaptive:
        optimizer = keras.optimizers.Adam()
    else:
        optimizer = keras.optimizers.SGD()
    for x in xs:
        step(net, optimizer, x)
    """,
    "given on by two functions that get the same": """
    def warm(model, optimizer, x):
        step(model, optimizer, x)
    def train(model, optimizer, xs):
        for x in xs:
            step(model, optimizer, x)
    net, adam = build(), keras.optimizers.Adam()
    warm(net, adam, x)
    train(net, adam, xs)
    """,
}


@pytest.mark.parametrize("source", ANOTHER.values(), ids=ANOTHER.keys())
def test_another_object_may_be_given_later(source: str) -> None:
    model = model_of(NET + source)
    assert BetweenCalls(model.infer, model.calls).object_given_anew(function(model, "step")) is not None


@pytest.mark.parametrize("source", THE_SAME.values(), ids=THE_SAME.keys())
def test_the_same_object_is_given_each_time(source: str) -> None:
    model = model_of(NET + source)
    assert BetweenCalls(model.infer, model.calls).object_given_anew(function(model, "step")) is None


def test_a_function_nested_where_its_model_is_made_is_traced_for_each() -> None:
    model = model_of("""
        def train(xs):
            net = keras.Sequential([keras.layers.Dense(1)])
            def step(model, x):
                return model(x)
            for x in xs:
                step(net, x)
        for fold in folds:
            train(fold)
    """)
    assert BetweenCalls(model.infer, model.calls).object_given_anew(function(model, "step")) is None


BETWEEN = {
    "run()\nchange()\nrun()": True,
    "for epoch in range(9):\n    run()\n    change()": True,
    "change()\nrun()\nrun()": False,
    "run()\nrun()\nchange()": False,
    "if tuned:\n    run()\nelse:\n    change()": False,
    "def main():\n    run()\n    change()\n    run()\nmain()": True,
    "def again():\n    run()\nagain()\nchange()\nagain()": True,
}


@pytest.mark.parametrize(("program", "expected"), BETWEEN.items(), ids=BETWEEN.keys())
def test_what_may_come_between_two_runs(program: str, expected: bool) -> None:
    model = model_of(f"def run():\n    used()\ndef change():\n    changed()\n{program}\n")
    (used,), (changed,) = model.calls_named("used"), model.calls_named("changed")
    assert BetweenCalls(model.infer, model.calls).may_come_between(changed, used) is expected
