"""TFP103 unrolled-python-loop."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.rules.support import costs_told, findings, fixed, flagged, notes

CODE = "TFP103"
PREAMBLE = dedent("""\
    import tensorflow as tf
    w = tf.Variable(tf.random.normal((8, 8)))
""")


def rows_marked(source: str) -> list[int]:
    """The rows that say that they are flagged."""
    return [row for row, line in enumerate(source.splitlines(), 1) if line.endswith("# <-")]


def module(source: str) -> str:
    return PREAMBLE + dedent(source).lstrip()


SILENT = {
    "some tens of passes, all told": """
        UNITS = 16
        class Net(tf.keras.Model):
            def __init__(self, passes=25):
                super().__init__()
                self.passes = passes
                self.dense = tf.keras.layers.Dense(8)
            def call(self, x):
                for _ in range(self.passes):
                    x = x + self.dense(x)
                for _ in range(UNITS):
                    for _ in range(2):
                        x = tf.matmul(x, w)
                return x
        net = Net()
        net.compile("adam", "mse")
        net.fit(x, x)
        """,
    "what Python takes one by one, with the share of each": """
        @tf.function
        def unroll(state, actions):
            steps = [(1.0, state)]
            for k in range(actions.shape[1]):
                state = tf.tanh(tf.matmul(state, w) + actions[:, k])
                steps.append((1.0 / actions.shape[1], state))
            return steps
        """,
    "parts that are joined one by one, as many as a setting says": """
        class Net(tf.keras.Model):
            def call(self, x):
                all_frames = x[..., :3]
                for i in range(self.options["frames"]):
                    all_frames = tf.concat([all_frames, x[..., 3 * i : 3 * (i + 1)]], axis=0)
                return all_frames
        """,
    "as few as an option has by default": """
        import argparse
        parser = argparse.ArgumentParser()
        parser.add_argument("--num_frames", type=int, default=2)
        FLAGS = vars(parser.parse_args())
        @tf.function
        def f(x):
            for i in range(FLAGS["num_frames"]):
                x = tf.sin(x) + x
            return x
        """,
    "what a layer makes once": """
        class Positions(tf.keras.layers.Layer):
            def build(self, shape):
                rows = []
                for i in range(5000):
                    rows.append(tf.sin(tf.range(8.0) * i))
                self.table = tf.stack(rows)
            def call(self, x):
                return x + self.table
        """,
    "what names the parts of an example by the counter": """
        def parse(serialized):
            spec = {}
            for i in range(config.num_steps):
                name = "{}_{}".format("words", i)
                spec[name] = tf.io.FixedLenFeature([1], tf.float32, default_value=tf.constant([0.0]))
            return tf.io.parse_single_example(serialized, spec)
        examples = tf.data.TFRecordDataset(files).map(parse)
        """,
    "a layer of a model that asks tensors for their values, and so runs eagerly": """
        class Proposals(tf.keras.layers.Layer):
            def call(self, x):
                for i in range(self.steps):
                    x = tf.sin(x) + x
                return x
        class Net(tf.keras.Model):
            def call(self, x):
                return tf.reduce_mean(x).numpy()
        """,
    "sampling that asks a model for numbers, and so is never compiled": """
        class Diffusion(tf.keras.Model):
            def sample(self, x):
                for t in range(1000):
                    x = tf.sin(x) + self.network.predict(x)
                return x
            def call(self, x):
                return self.sample(x)
        """,
    "sampling that shows how far it is": """
        from tqdm import tqdm
        class Decoder(tf.keras.Model):
            def sample(self, x):
                for t in tqdm(range(1000)):
                    x = tf.sin(x) + self.noise(x)
                return x
            def call(self, x):
                return self.sample(x)
        """,
    "a model that its program calls in eager mode alone": """
        class Net(tf.keras.Model):
            def __init__(self, steps):
                super().__init__()
                self.steps, self.cell = steps, tf.keras.layers.LSTMCell(8)
            def call(self, x, state):
                for t in range(self.steps):
                    out, state = self.cell(x[:, t], state)
                return out
        net = Net(length)
        for x, state in dataset:
            with tf.GradientTape() as tape:
                loss = net(x, state)
            optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
        """,
    "all but one of what a model gives": """
        @tf.function
        def match(x, y):
            found, wanted, loss = net(x), net(y), 0.0
            for i in range(len(found) - 1):
                loss += tf.reduce_mean(tf.abs(found[i] - wanted[i]))
            return loss
        """,
    "the few tensors of an axis": """
        @tf.function
        def run(boxes, y):
            for side in tf.unstack(boxes, axis=-1):
                y += tf.reduce_sum(side)
            for side in tf.unstack(boxes, num=4, axis=1):
                y += tf.reduce_sum(side)
            return y
        """,
    "a list of which some tensors are there": """
        @tf.function
        def run(x):
            for part in tf.unstack(x):
                if part is None:
                    continue
            return x
        """,
    "half of what may be a tensor": """
        @tf.function
        def run(x, n):
            half = n // 2
            for _ in range(half):
                x = tf.matmul(x, w)
            return x
        """,
    "a number that is made of itself alone": """
        def run(x, n):
            n = n - 1
            @tf.function
            def inner(x):
                for _ in range(n):
                    x = tf.matmul(x, w)
                return x
            return inner(x)
        """,
    "as many as the longest of two lists in sight": """
        longest = max(len(names) for names in (["a", "b"], ["c"]))
        layers = longest - 1
        @tf.function
        def run(x):
            for _ in range(layers):
                x = tf.matmul(x, w)
            return x
        """,
    "as many as a list of layers in sight has": """
        style_layers = ["a", "b", "c", "d", "e"]
        count = len(style_layers)
        @tf.function
        def run(x):
            for _ in range(count):
                x = tf.matmul(x, w)
            return x
        """,
    "as many as a list in sight has items": """
        names = ["a", "b", "c", "d", "e"]
        count = len(names)
        @tf.function
        def run(x):
            for _ in range(count):
                x = tf.matmul(x, w)
            return x
        """,
    "as many layers as a setting says": """
        @tf.function
        def run(x):
            for _ in range(args.num_layers):
                x = tf.matmul(x, w)
            for _ in range(config["heads"]):
                x = tf.matmul(x, w)
            return x
        """,
    "as often as whoever makes an object says": """
        class Trainer:
            def __init__(self, k):
                self.k = k
            @tf.function
            def run(self, x):
                for _ in range(self.k):
                    x = tf.matmul(x, w)
                return x
        """,
    "eager code": """
        def run(x):
            for _ in range(100):
                x = tf.matmul(x, w)
            return x
        run(w)
        """,
    "over tf.range": """
        @tf.function
        def run(x):
            for _ in tf.range(100):
                x = tf.matmul(x, w)
            return x
        """,
    "over a range of a tensor, which AutoGraph converts": """
        @tf.function
        def run(x):
            for i in range(tf.shape(x)[0]):
                tf.print(tf.square(x[i]))
        """,
    "over a range of a parameter, which may be a tensor": """
        @tf.function
        def run(x, n):
            for i in range(n):
                x = tf.matmul(x, w)
            return x
        """,
    "over a tensor": """
        @tf.function
        def run():
            x = tf.zeros((100, 8))
            for row in x:
                tf.print(tf.square(row))
        """,
    "over a dataset": """
        dataset = tf.data.Dataset.range(100)
        @tf.function
        def run():
            total = tf.constant(0, tf.int64)
            for x in dataset:
                total += tf.square(x)
            return total
        """,
    "a few iterations": """
        @tf.function
        def run(x):
            for _ in range(10):
                x = tf.matmul(x, w)
            return x
        """,
    "a few iterations, by what callers pass": """
        @tf.function
        def run(x, n):
            for _ in range(n):
                x = tf.matmul(x, w)
            return x
        run(w, 4)
        run(w, 8)
        """,
    "over layers": """
        class Net(tf.keras.Model):
            def call(self, x):
                for layer in self.blocks:
                    x = tf.nn.relu(layer(x))
                return x
        """,
    "over layers by number": """
        class Net(tf.keras.Model):
            def __init__(self, n):
                super().__init__()
                self.n_steps = n
                self.blocks = [tf.keras.layers.Dense(8) for _ in range(n)]
            def call(self, x):
                for i in range(self.n_steps):
                    x = tf.nn.relu(self.blocks[i](x))
                return x
        """,
    "to a number of layers": """
        class Net(tf.keras.Model):
            def __init__(self, num_layers: int):
                super().__init__()
                self.num_layers = num_layers
            def call(self, x):
                for i in range(self.num_layers):
                    x = tf.matmul(x, w)
                return x
        """,
    "routing": """
        class Capsules(tf.keras.layers.Layer):
            def call(self, x):
                for i in range(self.routings):
                    x = tf.nn.softmax(x)
                return x
        """,
    "over variables": """
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        @tf.function
        def penalty():
            total = 0.0
            for weight in model.trainable_variables:
                total += tf.nn.l2_loss(weight)
            return total
        """,
    "over losses": """
        @tf.function
        def total(losses):
            result = 0.0
            for loss in losses:
                result += tf.reduce_mean(loss)
            return result
        """,
    "layers by their names": """
        class Net(tf.keras.Model):
            def call(self, x):
                for i in range(100):
                    x = tf.nn.relu(getattr(self, f"dense{i}")(x))
                return x
        """,
    "a loop that builds no ops": """
        @tf.function
        def run(x):
            names = []
            for i in range(100):
                names.append(str(i))
            return tf.square(x)
        """,
    "the channels of an image": """
        @tf.function
        def run(x):
            total = 0.0
            for i in range(x.shape[-1]):
                total += tf.reduce_mean(x[..., i])
            return total
        """,
    "a function that is compiled nowhere here": """
        def cost(x):
            for t in range(x.shape[1]):
                x = tf.matmul(x, w)
            return x
        """,
    "TensorFlow 1": """
        def parse(x):
            for _ in range(100):
                x = tf.square(x)
            return x
        dataset = tf.data.Dataset.range(3).map(parse)
        tf.Session().run(dataset.make_one_shot_iterator().get_next())
        x = tf.placeholder(tf.float32)
        """,
    "all kinds of syntax": """
        @tf.function
        async def f(*args, **kwargs):
            async for x in g(*args):
                y = (z := x) * 2.0
            for i in range(*args): x = tf.square(x)
            for i in range(): x = tf.square(x)
            for x, (y, *z) in w: x = tf.square(x)
            for a[0] in range(*b): x = tf.square(x)
            for i in [*c]: x = tf.square(x)
        f = tf.function(lambda x: [tf.square(y) for y in range(3)])
        """,
}

FLAGGED = {
    "some tens of passes in each of some tens": """
        @tf.function
        def f(x):
            for _ in range(20):  # <-
                for _ in range(20):
                    x = tf.matmul(x, w)
            return x
        """,
    "tuples in a list that is stacked": """
        @tf.function
        def unroll(state, actions):
            steps = []
            for k in range(actions.shape[1]):  # <-
                state = tf.tanh(tf.matmul(state, w) + actions[:, k])
                steps.append((state, actions[:, k]))
            return tf.stack([state for state, _ in steps])
        """,
    "many parts that are joined one by one": """
        @tf.function
        def f(x):
            all_frames = x[:1]
            for i in range(200):  # <-
                all_frames = tf.concat([all_frames, x[i : i + 1]], axis=0)
            return all_frames
        """,
    "what a network writes, joined word by word": """
        @tf.function
        def write(words):
            for i in range(settings["length"]):  # <-
                words = tf.concat([words, tf.argmax(net(words), -1)], axis=1)
            return words
        """,
    "as often as an option says": """
        import argparse
        parser = argparse.ArgumentParser()
        parser.add_argument("--steps", type=int, default=1000)
        FLAGS = vars(parser.parse_args())
        @tf.function
        def f(x):
            for i in range(FLAGS["steps"]):  # <-
                x = tf.sin(x) + x
            return x
        """,
    "over numbers that a layer keeps in a list": """
        class Patches(tf.keras.layers.Layer):
            def __init__(self):
                super().__init__()
                self.places = []
                for y in range(14):
                    for x in range(14):
                        self.places.append((16 * y, 16 * x))
            def call(self, images):
                patches = []
                for y, x in self.places:  # <-
                    patches.append(tf.reshape(images[:, y : y + 16, x : x + 16, :], (-1, 1, 768)))
                return tf.concat(patches, axis=1)
        """,
    "steps in time that are counted from the last": """
        @tf.function
        def advantages(rewards):
            rewards = tf.convert_to_tensor(rewards)
            total, kept = 0.0, []
            for t in reversed(range(len(rewards))):  # <-
                total = rewards[t] + 0.9 * total
                kept.insert(0, total)
            return tf.stack(kept)
        """,
    "a model that its program calls, and fits": """
        class Net(tf.keras.Model):
            def __init__(self, steps):
                super().__init__()
                self.steps, self.cell = steps, tf.keras.layers.LSTMCell(8)
            def call(self, x, state):
                for t in range(self.steps):  # <-
                    out, state = self.cell(x[:, t], state)
                return out
        net = Net(length)
        net(x, state)
        net.compile("sgd", "mse")
        net.fit(x, y)
        """,
    "steps in time that an op gives as a list": """
        @tf.function
        def run(x, state):
            for word in tf.unstack(x, axis=1):  # <-
                state = tf.tanh(tf.matmul(word, w) + state)
            return state
        """,
    "characters that are compared": """
        @tf.function
        def encode(text, letters):
            found = []
            for letter in tf.unstack(tf.reshape(tf.strings.bytes_split(text), (250,))):  # <-
                found.extend([letter == other for other in letters])
            return tf.stack(found)
        """,
    "as long as the longest text, but one": """
        longest = max(len(text.split()) for text in texts)
        steps = longest - 1
        @tf.function
        def run(x):
            for _ in range(steps):  # <-
                x = tf.matmul(x, w)
            for _ in range(longest):  # <-
                x = tf.matmul(x, w)
            return x
        """,
    "as often as a setting says": """
        @tf.function
        def run(x):
            for _ in range(args.n_critic):  # <-
                x = tf.matmul(x, w)
            for _ in range(config["ratio"]):  # <-
                x = tf.matmul(x, w)
            return x
        """,
    "as often as an object's setting says": """
        class Trainer:
            def __init__(self, config):
                self.k = config.k
            @tf.function
            def run(self, x):
                for _ in range(self.k):  # <-
                    x = tf.matmul(x, w)
                return x
        """,
    "rows of a tensor along several axes": """
        class Trainer:
            def __init__(self, batch_size):
                self.batch_size = batch_size
            @tf.function
            def run(self, tasks):
                losses = []
                for i in range(self.batch_size):  # <-
                    losses.append(self.loss_of(tasks[i, ...]))
                return losses
        """,
    "a range of a number": """
        @tf.function
        def run(x):
            for _ in range(100):  # <-
                x = tf.matmul(x, w)
            return x
        """,
    "a number with a name": """
        LENGTH = 50
        @tf.function
        def run(x):
            for _ in range(LENGTH):  # <-
                x = tf.matmul(x, w)
            return x
        """,
    "what callers pass": """
        @tf.function
        def run(x, n):
            for _ in range(n):  # <-
                x = tf.matmul(x, w)
            return x
        run(w, 1000)
        """,
    "a size": """
        @tf.function
        def run(x):
            state = tf.zeros((4, 8))
            for t in range(x.shape[1]):  # <-
                state = tf.tanh(tf.matmul(state, w) + x[:, t])
            return state
        """,
    "a size with a name": """
        @tf.function
        def run(x):
            batch, length, _ = x.shape
            state = tf.zeros((4, 8))
            for t in range(length):  # <-
                state = tf.tanh(tf.matmul(state, w) + x[:, t])
            return state
        """,
    "backwards": """
        @tf.function
        def run(x):
            for t in reversed(range(100)):  # <-
                x = tf.matmul(x, w)
            return x
        """,
    "a method of Keras": """
        class Net(tf.keras.Model):
            def call(self, x):
                for t in range(100):  # <-
                    x = tf.matmul(x, w)
                return x
        """,
    "a function that compiled code calls": """
        def inner(x):
            for _ in range(100):  # <-
                x = tf.matmul(x, w)
            return x
        @tf.function
        def run(x):
            return inner(x)
        """,
    "a function of a pipeline": """
        def parse(x):
            for _ in range(100):  # <-
                x = tf.square(x)
            return x
        dataset = tf.data.Dataset.range(3).map(parse)
        """,
    "without AutoGraph": """
        @tf.function(autograph=False)
        def run(x):
            for _ in range(100):  # <-
                x = tf.matmul(x, w)
            return x
        """,
    "printing in compiled code": """
        @tf.function
        def run(iterations):
            x = tf.constant(1.0)
            for i in range(iterations):  # <-
                x = x * 2.0
                print(tf.reduce_sum(x).numpy())
            return x
        run(1000)
        """,
    "one finding for loops in loops": """
        @tf.function
        def run(x):
            for i in range(100):  # <-
                for j in range(100):
                    x = tf.matmul(x, w)
            return x
        """,
    "a loop over a long list": """
        @tf.function
        def run(x):
            for _ in [i for i in range(100)]:  # <-
                x = tf.matmul(x, w)
            return x
        """,
}


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT.keys())
def test_it_leaves_alone(source: str) -> None:
    assert flagged(CODE, module(source)) == []


@pytest.mark.parametrize("source", FLAGGED.values(), ids=FLAGGED.keys())
def test_it_flags(source: str) -> None:
    assert flagged(CODE, module(source)) == rows_marked(module(source))


FIXED = {
    "a counter that is not used": """
        @tf.function
        def run():
            x = tf.constant(1.0)
            for _ in range(100):  # often
                x = x * 2.0
            return x
        """,
    "a counter that is an index": """
        @tf.function
        def run(x):
            state = tf.zeros((4, 8))
            for t in range(1, 100):
                state = tf.tanh(tf.matmul(x[:, t - 1], w) + tf.matmul(state, w))
            return state
        """,
    "a TensorArray": """
        @tf.function
        def run(x):
            states = tf.TensorArray(tf.float32, size=100)
            for t in range(100):
                states = states.write(t, tf.matmul(x[:, t], w))
            return states.stack()
        """,
    "a sum": """
        @tf.function
        def run(x):
            total = 0.0
            for t in range(100):
                total += tf.reduce_sum(x[:, t])
            return total
        """,
}


@pytest.mark.parametrize("source", FIXED.values(), ids=FIXED.keys())
def test_range_becomes_tf_range(source: str) -> None:
    assert fixed(CODE, module(source)) == module(source).replace("in range", "in tf.range")
    assert flagged(CODE, fixed(CODE, module(source))) == []


REFUSED = {
    "a list that grows": ("states.append(x)", "Python container"),
    "a shape that grows": ("x = tf.concat([x, x], 0)", "the shape of `x` may change"),
    "a shape that is not known": ("x = dense(x)", "the shape of `x` may change"),
    "a Python counter": ("count += 1", "`count` is not a tensor before the loop"),
    "the counter in arithmetic": ("x = tf.multiply(x, t)", "`t` is used as a Python number"),
    "the counter in a condition": ("if t > 3: x = tf.abs(x)", "a condition in it changes"),
    "the counter as a bound": ("x = x + tf.reduce_sum(w[t:])", "`t` is used as a Python number"),
    "a way out": ("if done: break", "`break` leaves"),
    "printing": ("print(x)", "`print()` runs on the host"),
    "a write to an attribute": ("net.x = x", "it writes to `net.x`"),
    "a name without a value before": ("y = tf.square(x)", "`y` has no value before the loop"),
}


@pytest.mark.parametrize(("line", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_it_refuses_to_fix(line: str, reason: str) -> None:
    source = f"""
        dense = tf.keras.layers.Dense(8)
        @tf.function
        def run():
            states, count, x = [], 0, tf.constant(1.0)
            x = tf.zeros((4, 8))
            count = 0
            for t in range(100):
                x = x * 2.0
                {line}
            return x, y
        """
    (note,) = notes(CODE, module(source))
    assert reason in note


@pytest.mark.parametrize(
    "head", ["@tf.function(autograph=False)\ndef run(x):", "class Net(tf.keras.Model):\n  def call(self, x):"]
)
def test_it_refuses_to_fix_what_autograph_does_not_convert(head: str) -> None:
    source = f"import tensorflow as tf\n{head}\n    y = tf.zeros((4, 8))\n    for _ in range(99):\n        y = y * 2.0\n    return y\n"
    (note,) = notes(CODE, source)
    assert "AutoGraph may not convert" in note


def test_the_counter_may_not_be_read_after_the_loop() -> None:
    source = """
        @tf.function
        def run():
            x = tf.constant(1.0)
            for t in range(100):
                x = x * 2.0
            return x, t
        """
    (note,) = notes(CODE, module(source))
    assert "`t` is read after the loop" in note


def test_the_finding_names_the_remedy() -> None:
    (finding,) = findings(CODE, module(FIXED["a sum"]))
    assert finding.message.endswith("; loop over `tf.range`")


def test_where_autograph_converts_nothing_the_finding_names_another_remedy() -> None:
    (finding,) = findings(CODE, module(FLAGGED["a method of Keras"]))
    assert "; use `tf.while_loop`, `tf.scan` or a recurrent layer, if the first step" in finding.message


def test_a_list_that_grows_in_a_loop_over_its_own_length_has_no_length_in_sight() -> None:
    source = """
        names = []
        count = len(names)
        for i in range(count):
            names.append(i)

        @tf.function
        def run(x):
            for _ in range(count):
                x = tf.matmul(x, w)
            return x
    """
    assert len(flagged(CODE, module(source))) == 1


@pytest.mark.parametrize(("number", "minor"), [("300", False), ("50", True), ("count", True)])
def test_only_a_loop_that_is_known_to_be_long_is_a_warning(number: str, minor: bool) -> None:
    source = f"@tf.function\ndef run(x):\n    for _ in range({number}):\n        x = tf.matmul(x, w)\n    return x\n"
    source = source.replace("range(count)", "range(config.steps)")
    (finding,) = findings(CODE, module(source))
    assert finding.minor is minor


COLLECTED = """
    @tf.function
    def unroll(x):
        outs = []
        for _ in range(100):
            x = tf.tanh(x @ w)
            outs.append(x)
        return tf.stack(outs)
    """


def test_a_list_asks_for_an_array_of_the_graph() -> None:
    (finding,) = findings(CODE, module(COLLECTED))
    assert finding.message.endswith(
        "; loop over `tf.range`, and collect in a `tf.TensorArray`, "
        "if the first step is what you wait for: later ones may be slower"
    )


@pytest.mark.parametrize(
    ("source", "told"),
    [(FIXED["a sum"], True), (FLAGGED["a method of Keras"], False), (COLLECTED, False)],
    ids=["a sum", "a method of Keras", "a list"],
)
def test_tells_the_cost_only_where_a_loop_over_tf_range_will_do(source: str, told: bool) -> None:
    assert costs_told(CODE, module(source)) == [told]


BODIES = {
    "a model": "x = model(x)",
    "a layer, in a function": "x = block(x)",
    "a compiled function": "x = step(x)",
    "a tape": "with tf.GradientTape() as tape:\n            y = tf.reduce_sum(x)\n        x += tape.gradient(y, x)",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_tells_no_cost_of_a_body_that_is_more_than_a_few_ops(body: str) -> None:
    source = f"""\
model = tf.keras.Sequential([tf.keras.layers.Dense(8)])
layer = tf.keras.layers.Dense(8)
def block(x):
    return layer(x)
@tf.function
def step(x):
    return x @ w
@tf.function
def run(x):
    for _ in range(100):
        {body}
    return x
for x in batches:
    run(x)
"""
    assert costs_told(CODE, PREAMBLE + source) == [False]
