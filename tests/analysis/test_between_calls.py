"""What changes between the calls of a function that is to be compiled."""

from __future__ import annotations

import pytest

from tests.analysis.support import function, model_of
from tflint_perf.analysis.rewriting.between_calls import BetweenCalls

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
    assert (
        BetweenCalls(model.infer, model.calls, model.in_place).object_given_anew(function(model, "step"))
        is not None
    )


@pytest.mark.parametrize("source", THE_SAME.values(), ids=THE_SAME.keys())
def test_the_same_object_is_given_each_time(source: str) -> None:
    model = model_of(NET + source)
    assert (
        BetweenCalls(model.infer, model.calls, model.in_place).object_given_anew(function(model, "step"))
        is None
    )


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
    assert (
        BetweenCalls(model.infer, model.calls, model.in_place).object_given_anew(function(model, "step"))
        is None
    )


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
    assert BetweenCalls(model.infer, model.calls, model.in_place).may_come_between(changed, used) is expected


CHANGED_OUTSIDE = {
    "an attribute of the object": (
        "class Net:\n    def step(self, x):\n        return x * self.scale\n"
        "net = Net()\nfor epoch in range(9):\n    net.scale = epoch / 9\n    net.step(x)\n",
        "`self.scale` is set between calls",
    ),
    "an attribute of a class": (
        "class HP:\n    beta = 1.0\ndef step(x):\n    return x * HP.beta\n"
        "for epoch in range(9):\n    step(x)\n    HP.beta = 0.9 * HP.beta\n",
        "`HP.beta` is set between calls",
    ),
    "an array of the module": (
        "mask = np.ones(3)\ndef step(x):\n    return x * mask\n"
        "for i in range(3):\n    step(x)\n    mask[i] = 0.0\n",
        "`mask` changes between calls",
    ),
    "a list that a function fills": (
        "seen = []\ndef step(x):\n    return x * len(seen)\ndef note(x):\n    seen.append(x)\n"
        "for i in range(3):\n    step(x)\n    note(i)\n",
        "`seen` changes between calls",
    ),
    "a layer's rate": (
        "drop = keras.layers.Dropout(0.5)\ndef step(x):\n    return drop(x, training=True)\n"
        "for i in range(3):\n    step(x)\n    drop.rate = 0.1\n",
        "`.rate` is set between calls, and a trace keeps the old value",
    ),
    "a schedule for a number": (
        "adam = keras.optimizers.Adam()\ndef step(x):\n    adam.apply_gradients(x)\n"
        "step(x)\nadam.learning_rate = keras.optimizers.schedules.ExponentialDecay(0.1, 9, 0.9)\nstep(x)\n",
        "`.learning_rate` is set between calls, and a trace keeps the old value",
    ),
}
SET_BEFORE = {
    "an attribute, set once": (
        "class Net:\n    def step(self, x):\n        return x * self.scale\n"
        "net = Net()\nnet.scale = 0.5\nfor epoch in range(9):\n    net.step(x)\n"
    ),
    "another object's": (
        "class A:\n    def step(self, x):\n        return x * self.scale\nclass B:\n    pass\n"
        "a, b = A(), B()\nfor epoch in range(9):\n    a.step(x)\n    b.scale = epoch\n"
    ),
    "a list, filled before": (
        "seen = []\nfor i in range(3):\n    seen.append(i)\n"
        "def step(x):\n    return x * len(seen)\nstep(x)\nstep(x)\n"
    ),
    "a number for a learning rate": (
        "adam = keras.optimizers.Adam()\ndef step(x):\n    adam.apply_gradients(x)\n"
        "for i in range(9):\n    step(x)\n    adam.learning_rate = 0.1 / (i + 1)\n"
    ),
}


@pytest.mark.parametrize(("source", "reason"), CHANGED_OUTSIDE.values(), ids=CHANGED_OUTSIDE.keys())
def test_what_a_trace_reads_changes_between_calls(source: str, reason: str) -> None:
    model = model_of("x = tf.ones(3)\n" + source)
    obstacle = model.tracing.obstacle_in_function(function(model, "step"))
    assert obstacle is not None
    assert obstacle.reason == reason


@pytest.mark.parametrize("source", SET_BEFORE.values(), ids=SET_BEFORE.keys())
def test_what_a_trace_reads_stays(source: str) -> None:
    model = model_of("x = tf.ones(3)\n" + source)
    assert model.tracing.obstacle_in_function(function(model, "step")) is None
