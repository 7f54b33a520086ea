"""TFP102 eager-op-loop."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.rules.support import costs_told, fixed, flagged, notes

CODE = "TFP102"
PREAMBLE = dedent("""\
    import numpy as np
    import tensorflow as tf
    a = tf.random.normal((8, 8))
""")


def rows_marked(source: str) -> list[int]:
    """The rows that say that they are flagged."""
    return [row for row, line in enumerate(source.splitlines(), 1) if line.endswith("# <-")]


def module(source: str) -> str:
    return PREAMBLE + dedent(source).lstrip()


SILENT = {
    "texts that patterns are made of": """
        def clean(line):
            names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r"]
            line = tf.strings.lower(line)
            for name in names:
                line = tf.strings.regex_replace(line, rf"\\b{name}\\b", "")
            return line
        for line in lines:
            clean(line)
        """,
    "what is only made a tensor of": """
        def simulate(angle):
            for i in range(100):
                angle = tf.constant(angle, tf.float32)
                show(i)
        simulate(0.5)
        """,
    "a function that would be compiled, were eager mode not turned on for everything": """
        tf.config.run_functions_eagerly(True)
        @tf.function
        def simulate(x):
            for i in range(100):
                x = x + tf.sin(x)
            return x
        simulate(tf.zeros(3))
        """,
    "a gradient step, which TFP101 reports": """
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        optimizer = tf.keras.optimizers.Adam()
        total = tf.constant(0.0)
        for i in range(1000):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(x))
            variables = model.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
            total = total + loss
        """,
    "compiled code": """
        @tf.function
        def run(x):
            for _ in range(100):
                x = x * 2.0
            return x
        run(a)
        """,
    "a few iterations": """
        x = tf.constant(1.0)
        for _ in range(10):
            x = x * 2.0
        """,
    "a few iterations, by a name": """
        ROUNDS = 5
        x = tf.constant(1.0)
        for _ in range(ROUNDS):
            x = x * 2.0
        """,
    "a few iterations, by a default": """
        def run(x, rounds=3):
            for _ in range(rounds):
                x = tf.square(x)
            return x
        run(a)
        """,
    "a function that nobody here calls": """
        def run(x):
            for _ in range(100):
                x = tf.square(x)
            return x
        """,
    "a function that only such a function calls": """
        def run(x):
            for _ in range(100):
                x = tf.square(x)
            return x
        def loss(x):
            return run(x)
        """,
    "a method of a class whose base is elsewhere": """
        class Net(Base):
            def run(self, x):
                for _ in range(100):
                    x = tf.square(x)
                return x
        """,
    "a layer's call": """
        class Net(tf.keras.layers.Layer):
            def call(self, x):
                for _ in range(100):
                    x = tf.square(x)
                return x
        Net()(a)
        """,
    "a training loop": """
        variable = tf.Variable(1.0)
        optimizer = tf.keras.optimizers.SGD()
        loss = tf.constant(0.0)
        for _ in range(1000):
            with tf.GradientTape() as tape:
                loss = loss + tf.square(variable)
            optimizer.apply_gradients([(tape.gradient(loss, variable), variable)])
        """,
    "a loop of inference that feeds the model nothing new": """
        model = tf.keras.Sequential([tf.keras.layers.Dense(8)])
        total = tf.zeros(())
        for i in range(1000):
            total = total + tf.reduce_sum(model(a))
        """,
    "a model's writing that goes by way of the host": """
        model = tf.keras.Sequential([tf.keras.layers.Dense(8)])
        words = tf.ones((1, 1))
        for _ in range(1000):
            word = tf.argmax(model(words), axis=-1)[-1].numpy()
            words = tf.expand_dims([word], 0)
        """,
    "a model's writing that ends at a word": """
        model = tf.keras.Sequential([tf.keras.layers.Dense(8)])
        words = tf.ones((1, 1))
        for _ in range(1000):
            word = tf.argmax(model(words), axis=-1)
            if word == 3:
                break
            words = tf.concat([words, word], axis=1)
        """,
    "a loop that calls a compiled function": """
        @tf.function
        def step(x):
            return x * 2.0
        x = a
        for _ in range(1000):
            x = step(x)
        """,
    "the time loop of a gradient step": """
        variable = tf.Variable(a)
        optimizer = tf.keras.optimizers.SGD()
        for _ in range(1000):
            with tf.GradientTape() as tape:
                x = a
                for _ in range(50):
                    x = tf.tanh(tf.matmul(x, variable))
                loss = tf.reduce_sum(x)
            optimizer.apply_gradients([(tape.gradient(loss, variable), variable)])
        """,
    "a loop over variables": """
        model = tf.keras.Sequential([tf.keras.layers.Dense(8)])
        total = tf.constant(0.0)
        for weight in model.trainable_variables:
            total = total + tf.nn.l2_loss(weight)
        """,
    "a loop over layers by number": """
        layers = make_layers()
        x = a
        for i in range(len(layers)):
            x = tf.nn.relu(layers[i](x))
        """,
    "a loop to a number of layers": """
        def run(x, num_layers):
            for _ in range(num_layers):
                x = tf.matmul(x, a)
            return x
        run(a, read_config())
        """,
    "a loop over something unknown": """
        total = tf.constant(0.0)
        for item in items:
            total += tf.reduce_sum(item)
        """,
    "pairs of features, of which there are a few": """
        def style(outputs, targets):
            loss = tf.constant(0.0)
            for output, target in zip(outputs, targets):
                loss += tf.reduce_mean(tf.square(output - target))
            return loss
        style(extract(a), extract(a))
        """,
    "values of NumPy": """
        x = np.ones(3)
        for _ in range(100):
            x = x * 2.0
        """,
    "Python numbers": """
        x = 1.0
        for _ in range(100):
            x = x * 2.0
        """,
    "steered by a float": """
        x = a
        for _ in range(100):
            x = x * 2.0
            if float(tf.norm(x)) > 100.0:
                break
        """,
    "steered by a tensor": """
        x = a
        for _ in range(100):
            x = x * 2.0
            if tf.norm(x) > 100.0:
                break
        """,
    "steered by a host value with a name": """
        x = a
        for _ in range(100):
            x = x * 2.0
            norm = tf.norm(x).numpy()
            if norm > 100.0:
                break
        """,
    "a while that a tensor steers": """
        x = tf.constant(1.0)
        while x < 1000.0:
            x = x * 2.0
        """,
    "a while without end": """
        x = tf.constant(1.0)
        while True:
            x = x * 2.0
        """,
    "host data in each iteration": """
        total = tf.constant(0.0)
        for i in range(1000):
            total = total + tf.reduce_sum(tf.constant(load(i)))
        """,
    "random numbers of NumPy": """
        x = a
        for _ in range(1000):
            x = x + np.random.normal(size=(8, 8))
        """,
    "a tensor that is made anew": """
        for _ in range(1000):
            x = tf.random.normal((8, 8))
            x = tf.square(x)
        """,
    "a dataset": """
        total = tf.constant(0.0)
        for x in tf.data.Dataset.range(100).batch(2):
            total = total + tf.reduce_sum(tf.cast(x, tf.float32))
        """,
    "rows of a tensor, which have a rule of their own": """
        rows = tf.random.normal((1000, 8))
        total = tf.constant(0.0)
        for i in range(1000):
            total = total + tf.reduce_sum(tf.square(rows[i]))
        """,
    "a loop of an environment": """
        total = tf.constant(0.0)
        for _ in range(1000):
            state, reward, done, info = env.step(policy(state))
            total = total + tf.constant(reward)
        """,
    "TensorFlow 1": """
        x = tf.placeholder(tf.float32)
        for _ in range(100):
            x = x * 2.0
        session = tf.Session()
        """,
    "all kinds of syntax": """
        async def f(*args, **kwargs):
            async for x in g(*args):
                y = (z := x) * 2.0
            match x:
                case [a, *b]:
                    pass
        for x, (y, *z) in w: pass
        while (n := n - 1): x = lambda q: q * n
        for a[0] in range(99): a[0] *= 2
        for self.i in range(99): self.x += 1
        for i in range(*args): x = x + i
        for i in range(): x = x + i
        """,
}

FLAGGED = {
    "texts that ops are given": """
        def clean(line):
            names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r"]
            line = tf.strings.lower(line)
            for name in names:  # <-
                line = tf.strings.join([line, tf.strings.lower(name)])
                print(f"after {name}")
            return line
        for line in lines:
            clean(line)
        """,
    "the search for an input by its gradient": """
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        def climb(x, steps):
            for _ in range(steps):  # <-
                with tf.GradientTape() as tape:
                    tape.watch(x)
                    score = tf.reduce_mean(model(x))
                gradient = tape.gradient(score, x)
                x = x + 0.1 * gradient / tf.norm(gradient)
            return x
        climb(tf.zeros((1, 8)), 1000)
        """,
    "at module level": """
        x = tf.constant(1.0)
        for i in range(1000):  # <-
            x = x * 2.0
        """,
    "in a function that the module calls": """
        def run(n):
            x = tf.constant(1.0)
            for i in range(n):  # <-
                x = x * 2.0
            return x
        run(1000)
        """,
    "printing is no excuse": """
        x = tf.constant(1.0)
        for i in range(1000):  # <-
            x = x * 2.0
            print(i, tf.reduce_sum(x).numpy())
        """,
    "printing now and then": """
        x = tf.constant(1.0)
        for i in range(1000):  # <-
            x = x * 2.0
            if i % 100 == 0:
                print(f"{i}: {float(x)}")
        """,
    "over a list that a loop has filled": """
        def run(iterations):
            x = tf.constant(1.0)
            factors = []
            for _ in range(iterations):
                factors.append(tf.constant(2.0))
            for factor in factors:  # <-
                x = x * factor
            return x
        run(1000)
        """,
    "a model that is fed what it gave": """
        model = tf.keras.Sequential([tf.keras.layers.Dense(8)])
        x = a
        for _ in range(1000):  # <-
            x = x + model(x)
        """,
    "a model that writes word by word": """
        model = tf.keras.Sequential([tf.keras.layers.Dense(8)])
        def write(words, count):
            for _ in range(count):  # <-
                window = words[:, -16:]
                word = tf.argmax(model(window)[:, -1], axis=-1)
                words = tf.concat([words, word[:, None]], axis=1)
            return words
        print(write(tf.ones((1, 1)), read()))
        """,
    "behind a counter that an assignment counts": """
        x, i = a, 0
        while i < 1000:  # <-
            x = tf.matmul(x, a)
            i = i + 1
            if i % 100 == 0:
                print(i)
        """,
    "an augmented assignment": """
        x = tf.constant(1.0)
        for _ in range(1000):  # <-
            x *= 2.0
        """,
    "two tensors in turn": """
        position, speed = tf.zeros((8, 8)), tf.ones((8, 8))
        for _ in range(1000):  # <-
            speed = speed - 0.1 * position
            position = position + 0.1 * speed
        """,
    "an op with a name": """
        x = a
        for _ in range(1000):  # <-
            x = tf.matmul(x, a)
        """,
    "by way of another name": """
        x = a
        for _ in range(1000):  # <-
            y = tf.matmul(x, a)
            x = y / tf.norm(y)
        """,
    "by a function of ops": """
        def force(x):
            return -x * tf.square(x)
        x = a
        for _ in range(1000):  # <-
            x = x + 0.1 * force(x)
        """,
    "a while that counts": """
        x, i = a, 0
        while i < 1000:  # <-
            x = tf.matmul(x, a)
            i += 1
        """,
    "a trajectory that is kept": """
        x, path = a, []
        for _ in range(1000):  # <-
            x = tf.matmul(x, a)
            path.append(x)
        """,
    "per step of a training loop": """
        def norm(matrix):
            v = tf.ones((8,))
            for _ in range(500):  # <-
                v = tf.linalg.matvec(matrix, v)
            return tf.norm(v)
        @tf.function
        def step(x):
            return x
        def train(dataset, weights):
            for x in range(1000):
                step(x)
                weights.assign(weights / norm(weights))
        """,
    "under a main guard": """
        def main(steps):
            x = a
            for _ in range(steps):  # <-
                x = tf.matmul(x, a)
            print(x)
        if __name__ == "__main__":
            main(read())
        """,
}


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT.keys())
def test_it_leaves_alone(source: str) -> None:
    assert flagged(CODE, module(source)) == []


@pytest.mark.parametrize("source", FLAGGED.values(), ids=FLAGGED.keys())
def test_it_flags(source: str) -> None:
    assert flagged(CODE, module(source)) == rows_marked(module(source))


def test_the_function_is_compiled_and_loops_over_tf_range() -> None:
    source = """
        def grow(x):  # doubles
            y = tf.zeros_like(x)
            # a hundred times
            for _ in range(1000):  # often
                y = tf.tanh(y + x)
            return y
        grow(a)
        """
    wanted = module(source).replace("def grow", "@tf.function\ndef grow").replace("in range", "in tf.range")
    assert fixed(CODE, module(source)) == wanted


def test_what_is_fixed_is_not_found_again() -> None:
    source = "def f():\n    x = tf.constant(1.0)\n    for _ in range(999):\n        x = x * 2.0\n    return x\nf()\n"
    once = fixed(CODE, module(source))
    assert "@tf.function" in once
    assert flagged(CODE, once) == []


REFUSED = {
    "a host call": ("print(x.numpy())", "`print()` runs on the host"),
    "a list that grows": ("kept.append(x)", "Python container"),
    "a shape that grows": ("x = tf.concat([x, x], 0)", "the shape of `x` may change"),
    "a product with a vector": ("x = x * tf.ones((3,))", "the shape of `x` may change"),
    "a Python counter": ("count = count + 1", "`count` is not a tensor before the loop"),
    "the counter in arithmetic": ("x = tf.multiply(x, i)", "`i` is used as a Python number"),
    "a way out": ("if i == 50: break", "`break` leaves"),
    "a condition on the counter": ("if i == 50: x = tf.abs(x)", "a condition in it changes"),
}


@pytest.mark.parametrize(("line", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_it_refuses_to_fix(line: str, reason: str) -> None:
    source = f"""
        def run(n):
            x = tf.constant(1.0)
            count = 0
            kept = []
            for i in range(n):
                x = x * 2.0
                {line}
            return x
        run(1000)
        """
    (note,) = notes(CODE, module(source))
    assert reason in note


def test_it_refuses_to_fix_a_loop_that_is_no_function_of_its_own() -> None:
    (note,) = notes(CODE, module("x = tf.constant(1.0)\nfor _ in range(1000):\n    x = x * 2.0\n"))
    assert "not in a function of its own" in note


ITERATION = (
    "def norm(v):\n    for _ in range(500):\n        v = tf.linalg.matvec(a, v) / tf.norm(v)\n    return v\n"
)
# Each with whether it tells what the loop in the experiment costs.
MEASURED = {
    "once": (ITERATION + "norm(a[0])\n", False),
    "on each step": (
        ITERATION + "@tf.function\ndef train_step(x):\n    w.assign_sub(x)\n"
        "for x in tf.data.Dataset.from_tensor_slices(a).batch(2):\n    train_step(norm(x))\n",
        True,
    ),
}


@pytest.mark.parametrize(("source", "told"), MEASURED.values(), ids=MEASURED)
def test_tells_the_cost_only_of_a_loop_that_each_step_runs(source: str, told: bool) -> None:
    assert costs_told(CODE, PREAMBLE + source) == [told]
