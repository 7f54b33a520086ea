"""TFP205 host-call-in-graph."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.rules.support import findings, fixed, flagged, notes

CODE = "TFP205"
PREAMBLE = dedent("""\
    import datetime
    import random
    import time
    import numpy as np
    import tensorflow as tf
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    table = tf.constant([1.0, 2.0])
    weight = tf.Variable(1.0)
    dataset = tf.data.Dataset.from_tensor_slices(data).batch(32)
""")


def rows_marked(source: str) -> list[int]:
    """The rows that say that they are flagged."""
    return [row for row, line in enumerate(source.splitlines(), 1) if line.endswith("# <-")]


def module(source: str) -> str:
    return PREAMBLE + dedent(source).lstrip()


SILENT = {
    "a value that is taken of what is no tensor, by a test made before": """
        @tf.function
        def drop(edges):
            given_as_tensor = tf.is_tensor(edges)
            kept = tf.gather(edges, [1, 0])
            if not given_as_tensor:
                kept = kept.numpy()
            return kept
        drop(tf.ones(3))
        """,
    "a draw for what a layer keeps, in what `build` alone calls": """
        class Layer(tf.keras.layers.Layer):
            def build(self, shape):
                self.kernel = self.add_weight("k", initializer=tf.constant_initializer(self.choose(shape[-1])))
            def choose(self, count):
                return self.draw(count).reshape(1, -1)
            def draw(self, count):
                return np.random.randint(count, size=count)
            def call(self, x):
                return x @ self.kernel
        model = tf.keras.Sequential([Layer()])
        model.compile("sgd", "mse")
        model.fit(x, y)
        """,
    "a number in a name that no other op has": """
        @tf.function
        def f(x):
            name = "Gradient" + str(np.random.randint(10**8))
            return tf.identity(x, name=name)
        f(tf.ones(3))
        """,
    "what a fitted model is told beside its input": """
        class Net(tf.keras.Model):
            def call(self, x, count=3, training=None):
                print(count, training, x.shape)
                return x
        net = Net()
        net.fit(dataset)
        """,
    "the input of a model that nobody fits here": """
        class Net(tf.keras.Model):
            def call(self, x):
                print(x)
                return x
        """,
    "draws of a layer that the file calls in eager mode": """
        class Jitter(tf.keras.layers.Layer):
            def call(self, images):
                return images + np.random.normal(size=3)
        jitter = Jitter()
        print(jitter(images))
        """,
    "a model that may run in eager mode": """
        class Noisy(tf.keras.Model):
            def call(self, images):
                return images + np.random.normal(size=3)
        """,
    "a layer's draws when it is made": """
        class Jitter(tf.keras.layers.Layer):
            def __init__(self):
                super().__init__()
                self.shift = random.random()
            def build(self, shape):
                self.scale = np.random.uniform(0, 1)
            def call(self, images):
                return images * self.scale + self.shift
        """,
    "eager code": """
        loss = tf.reduce_sum(table)
        print(loss, loss.numpy(), np.exp(loss), time.time())
        """,
    "tf.print": """
        @tf.function
        def step(x):
            tf.print("loss", tf.reduce_sum(x))
        """,
    "what Python knows": """
        @tf.function
        def step(x):
            print("step")
            print(tf.reduce_sum(x).shape, model.name, len(model.layers))
            print(f"{table.dtype} {3:d}")
        """,
    "what is printed on purpose while tracing": """
        @tf.function
        def step(x):
            y = tf.reduce_sum(x)
            print("Tracing with", y)
            print(f"retracing {y}")
        """,
    "a parameter that may be anything": """
        @tf.function
        def step(x, y):
            print(x)
            return np.exp(y)
        """,
    "a Python function": """
        def log(loss):
            print(loss.numpy())
        @tf.function
        def step(x):
            y = tf.square(x)
            tf.py_function(log, [y], [])
            return tf.numpy_function(lambda v: np.exp(v), [y], tf.float32)
        """,
    "a Python function, wrapped in a map": """
        def load(x):
            return np.exp(x.numpy())
        images = dataset.map(lambda x: tf.py_function(load, [x], tf.float32))
        """,
    "mapped by what need not be a dataset": """
        def jitter(pool, frame, words):
            def apply(x):
                return x * random.random()
            pool.map(apply)
            pool.map(apply).shuffle().filter(apply)
            frame.map(apply).repeat(3)
            words = tf.data.Dataset.from_tensor_slices(words).batch(3)
            return words.prefetch(1)
        """,
    "an object that is called by hand as well": """
        class Augment:
            def __call__(self, image):
                return image * np.random.rand()
        augment = Augment()
        images = dataset.map(augment)
        augment(table)
        """,
    "static shapes": """
        @tf.function
        def step(x):
            y = tf.square(x)
            n = np.prod(y.shape[1:])
            m = np.prod(y.shape.as_list()) + np.sqrt(int(y.shape[-1])) + np.ndim(y)
            return n, m, np.float32(3.0), np.log(2.0), np.shape(y)
        """,
    "a value from outside, which is there while tracing": """
        @tf.function
        def step(x):
            return x * np.sum(table) + table.numpy()[0] + np.arange(3)
        """,
    "int and float, which AutoGraph converts": """
        @tf.function
        def step(x):
            n = tf.reduce_sum(x)
            return int(n) + float(n)
        """,
    "code that asks for the mode": """
        @tf.function
        def step(x):
            y = tf.reduce_sum(x)
            if tf.executing_eagerly():
                print(y.numpy())
            return y
        """,
    "code that asks for the kind": """
        @tf.function
        def step(x):
            y = tf.reduce_sum(x)
            if hasattr(y, "numpy"):
                y.numpy()
            if not isinstance(y, tf.Tensor):
                print(y)
            try:
                return y.numpy()
            except AttributeError:
                return y
        """,
    "outside of the graph": """
        @tf.function
        def step(x):
            with tf.init_scope():
                value = tf.reduce_sum(table).numpy()
            return x * value
        """,
    "a method that may run eagerly": """
        class Model(tf.keras.Model):
            def call(self, x):
                y = tf.reduce_sum(x)
                print(y.numpy(), time.time())
                return y
        """,
    "a model that is fitted eagerly": """
        class Model(tf.keras.Model):
            def train_step(self, data):
                y = tf.reduce_sum(data)
                print(y.numpy())
                return {"loss": y}
        model = Model()
        model.compile(run_eagerly=True)
        model.fit(dataset)
        """,
    "a step that is called by hand as well": """
        class Model(tf.keras.Model):
            def train_step(self, data):
                y = tf.reduce_sum(data)
                print(y.numpy())
                return {"loss": y}
        model = Model()
        model.fit(dataset)
        model.train_step(table)
        """,
    "a function that runs in both modes": """
        def double(x):
            y = tf.square(x)
            print(y)
            return y
        fast = tf.function(double)
        fast(table)
        double(table)
        """,
    "a helper that eager code calls, too": """
        def helper(x):
            print(tf.square(x))
        @tf.function
        def step(x):
            helper(x)
        helper(table)
        """,
    "everything eager": """
        tf.config.run_functions_eagerly(True)
        @tf.function
        def step(x):
            print(tf.square(x).numpy())
        """,
    "a loop in eager mode by functions that trace otherwise": """
        tf.map_fn(lambda x: tf.square(x).numpy(), table)
        """,
    "a list of the graph's own": """
        @tf.function
        def step(x):
            parts = []
            def add(y):
                parts.append(tf.square(y))
            for part in tf.unstack(x):
                add(part)
                parts.append(tf.square(part))
            return tf.stack(parts)
        """,
    "a list of strings outside": """
        names = []
        @tf.function
        def step(x):
            names.append("traced")
            return x
        """,
    "a list that the graph empties": """
        class Encoder:
            def __init__(self):
                self.states = []
            @tf.function
            def encode(self, x):
                self.states = []
                self.states.append(tf.square(x))
                return tf.stack(self.states)
        """,
    "a list that keeps nothing of what it held": """
        class Pool:
            def __init__(self):
                self.images = []
            def __call__(self, image):
                self.images = other[-1:]
                self.images.append(image)
                return tf.concat(self.images, 0)
        pool = Pool()
        @tf.function
        def step(x):
            return pool(tf.square(x))
        """,
    "what need not be computed from tensors": """
        @tf.function
        def step(x, names):
            label = loss_name(3)
            size = cache.size(x)
            total = first + cache.size(names)
            print(label, size, total)
        """,
    "what eager code computed with a loss": """
        start = loss_of(model(table)) + 1.0
        @tf.function
        def step(x):
            print(start)
            return x
        """,
    "draws that are kept on purpose": """
        class Layer(tf.keras.layers.Layer):
            def build(self, shape):
                self.start = np.random.rand()
        class Encoder:
            w = None
            @tf.function
            def encode(self, x):
                if self.w is None:
                    self.w = tf.Variable(np.random.rand(3))
                return x * self.w + tf.random.normal([3], seed=random.randint(0, 9))
        """,
    "other methods of those names": """
        class Table:
            def numpy(self):
                return 1
        @tf.function
        def step(x):
            t = Table()
            return t.numpy() * x + dataset.item()
        """,
    "any syntax": """
        async def f(*a, **k):
            print(*a, **k)
        @tf.function
        def step(x, *args, **kwargs):
            print(*args, sep="")
            y = (z := x)
            match x:
                case {"a": b}:
                    print(b)
            return lambda *q: print(q)
        """,
}

FLAGGED = {
    "a function that another one makes for a dataset": """
        def parser(size):
            def parse(x):
                return x * np.random.uniform(0, size)  # <-
            return parse
        data = tf.data.Dataset.range(10).map(parser(3))
        """,
    "and that has a name there": """
        def parser(size):
            def parse(x):
                return x * np.random.uniform(0, size)  # <-
            return parse
        parse_three = parser(3)
        data = tf.data.Dataset.range(10).map(parse_three)
        """,
    "the input of a model that is fitted": """
        class Net(tf.keras.Model):
            def call(self, inputs, training=None):
                x, mask = inputs
                print(x)  # <-
                return x * np.mean(mask)  # <-
        net = Net()
        net.fit(dataset)
        """,
    "a draw of what callers give in the place of its base": """
        class Net(tf.keras.Model):
            def call(self, x):
                return x
        class Generator(Net):
            def noise(self, count):
                return np.random.normal(size=(count, 9)) # <-
        @tf.function
        def step(generator: Net, images):
            return generator(generator.noise(32)) - images
        generator = Generator()
        for images in dataset:
            step(generator, images)
        """,
    "draws of a layer that only Keras runs": """
        class Jitter(tf.keras.layers.Layer):
            def call(self, images, training=None):
                if not training:
                    return images
                for change in random.sample(self.changes, 2): # <-
                    images = change(images)
                return self.shifted(images)
            def shifted(self, images):
                return images + np.random.normal(size=3) # <-
        """,
    "draws of a layer in a model that is built of its inputs": """
        class Jitter(tf.keras.layers.Layer):
            def call(self, images):
                return images + np.random.normal(size=3) # <-
        def build_model():
            images = tf.keras.Input((32, 32, 3))
            return tf.keras.Model(images, Jitter()(images))
        """,
    "a print of what must be a tensor": """
        class Trainer:
            def __init__(self, model, loss_fn):
                self.model, self.loss_fn = model, loss_fn
                self.optimizer = tf.keras.optimizers.Adam()
            @tf.function
            def step(self, images, labels):
                loss = self.loss_fn(labels, self.model(images, training=True))
                print("images", images)  # <-
                print(f"loss {loss}")  # <-
                print("rate", self.optimizer.learning_rate)  # <-
        """,
    "sums of what models and losses of other files give": """
        class Trainer:
            def __init__(self, gan, perceptual):
                self.gan, self.perceptual = gan, perceptual
            @tf.function
            def step(self, blurred, sharp):
                restored = self.gan.generator(blurred)
                adversarial = tf.constant(0.0)
                for _ in tf.range(5):
                    adversarial = adversarial_loss(blurred, restored)
                content = self.perceptual.loss_of(sharp, restored)
                total = adversarial + 0.5 * content
                print("content", content)  # <-
                print("total", total)  # <-
                return total
        """,
    "an array that becomes a tensor": """
        @tf.function
        def step(x):
            return np.exp(x)  # <-
        step(np.ones(3))
        """,
    "a tensor's value": """
        @tf.function
        def step(x):
            y = tf.square(x)
            total = y.numpy()  # <-
            first = y[0].numpy()  # <-
            mean = tf.reduce_mean(x).item()  # <-
            return weight.numpy()  # <-
        """,
    "what models and losses give": """
        loss_fn = tf.keras.losses.MeanSquaredError()
        @tf.function
        def step(x, y):
            with tf.GradientTape() as tape:
                out = model(x)
                loss = loss_fn(y, out)
            gradients = tape.gradient(loss, model.trainable_variables)
            print(gradients)  # <-
            print("loss", loss)  # <-
            print(f"loss {loss.numpy():.3f}")  # <-
            print("loss: %f" % loss)  # <-
            print("loss: {}".format(loss), 1)  # <-
            print("loss: " + str(loss))  # <-
            return loss
        """,
    "in loops and conditions": """
        @tf.function
        def step(n):
            x = tf.constant(1.0)
            for i in range(n):
                if i > 0:
                    x = x * 2.0
                    print(tf.reduce_sum(x).numpy())  # <-
            for i in tf.range(n):
                print(i)  # <-
            return x
        """,
    "in a helper": """
        def log(loss):
            print(loss)  # <-
            return np.mean(loss)  # <-
        @tf.function
        def step(x):
            log(tf.square(x))
        """,
    "what a helper returns": """
        def loss_of(x):
            return tf.square(x), 1
        @tf.function
        def step(x):
            loss, n = loss_of(x)
            return loss.numpy(), n  # <-
        """,
    "a parameter that every call gives a tensor": """
        @tf.function
        def step(x):
            return np.exp(x)  # <-
        for x in dataset:
            step(x)
        """,
    "a function wrapped later": """
        def step(x):
            return tf.square(x).numpy()  # <-
        compiled = tf.function(step)
        compiled(table)
        """,
    "a method": """
        class Trainer:
            @tf.function
            def step(self, x):
                y = self.loss(x)
                return np.sqrt(y)  # <-
            def loss(self, x):
                return tf.reduce_sum(x)
        """,
    "in a pipeline": """
        def augment(image, label):
            if random.random() > 0.5:  # <-
                image = tf.image.flip_left_right(image)
            angle = np.random.uniform(-1, 1)  # <-
            random.shuffle(stages)  # <-
            return np.clip(image, 0, 1), label  # <-
        images = dataset.map(augment)
        others = dataset.map(lambda x: np.exp(x))  # <-
        """,
    "in a pipeline that a function is given": """
        def flip(data):
            def apply(x, y):
                seed = int(random.random() * 1234)  # <-
                return tf.image.random_flip_left_right(x, seed=seed), y
            return data.map(apply, num_parallel_calls=4)
        def crop(data, size):
            def apply(x):
                top = random.randint(0, 9)  # <-
                return x[top:]
            return data.shuffle(100).map(apply).batch(size)
        def blur(data):
            def apply(x):
                return x * random.gauss(0, 1)  # <-
            return data.map(apply).prefetch(1)
        """,
    "a static method in a pipeline": """
        class Records:
            @staticmethod
            def parse(record):
                print(record)  # <-
                return tf.io.parse_tensor(record, tf.float32)
        images = dataset.map(Records.parse)
        """,
    "an object in a pipeline": """
        class Augment:
            def __init__(self, size):
                self.size = size
            def __call__(self, image):
                return image * np.random.rand()  # <-
        images = dataset.map(Augment(3))
        others = dataset.map(functools.partial(Augment(4)))
        """,
    "the time": """
        @tf.function
        def step(x):
            start = time.time()  # <-
            return tf.square(x)
        @tf.function
        def stamped(x):
            stamp = datetime.datetime.now()  # <-
            return tf.square(x)
        """,
    "a list outside": """
        losses = []
        class Trainer:
            def __init__(self):
                self.history = []
            @tf.function
            def step(self, x):
                loss = tf.square(x)
                losses.append(loss)  # <-
                self.history.append(loss)  # <-
                losses.append((step, loss))  # <-
                self.history.append({"loss": loss})  # <-
                return loss
        """,
    "a list that an object keeps the end of": """
        class Pool:
            def __init__(self, size=50):
                self.size, self.images = size, []
            def __call__(self, image):
                self.images.append(image)  # <-
                self.images = self.images[-self.size:]
                return tf.concat(self.images, axis=0)
        class GAN(tf.keras.Model):
            def __init__(self):
                super().__init__()
                self.generator = tf.keras.Sequential()
                self.pool = Pool()
            @tf.function
            def train_step(self, data):
                return self.pool(self.generator(data))
        """,
    "a list of tensors": """
        @tf.function
        def step(x):
            y = tf.square(x)
            return np.concatenate([y, y], axis=0)  # <-
        """,
    "a Python number where AutoGraph is off, or does not make one": """
        @tf.function(autograph=False)
        def step(x):
            y = tf.square(x)
            return int(y) * 2  # <-
        @tf.function
        def other(x):
            y = tf.square(x)
            return bool(y > 1)  # <-
        """,
    "a Keras model that is fitted": """
        class Model(tf.keras.Model):
            def call(self, x):
                y = tf.reduce_sum(x)
                return y
            def train_step(self, data):
                y = tf.reduce_sum(data)
                print("loss", y)  # <-
                return {"loss": y}
        net = Model()
        net.compile("sgd")
        net.fit(dataset)
        """,
    "a Keras model that compiled code calls": """
        class Model(tf.keras.Model):
            def call(self, x):
                y = tf.reduce_sum(x)
                return y.numpy()  # <-
        net = Model()
        @tf.function
        def step(x):
            return net(x)
        """,
}


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT.keys())
def test_says_nothing_of(source: str) -> None:
    assert flagged(CODE, module(source)) == []


@pytest.mark.parametrize("source", FLAGGED.values(), ids=FLAGGED.keys())
def test_flags(source: str) -> None:
    assert flagged(CODE, module(source)) == rows_marked(module(source)) != []


def inside(statement: str) -> str:
    return module(f"@tf.function\ndef step(x):\n    y = tf.square(x)\n    {statement}\n")


PRINTS = {
    'print("loss", y, sep=": ")  # now': 'tf.print("loss", y, sep=": ")  # now',
    'print("loss", y.numpy())': 'tf.print("loss", y)',
    "print((y + 1).numpy())": "tf.print((y + 1))",
    'print(f"loss {y}")': 'tf.print("loss ", y, sep="")',
    'print(f"a {x} b {y.numpy()}{{}}")': 'tf.print("a ", x, " b ", y, "{}", sep="")',
}


@pytest.mark.parametrize(("before", "after"), PRINTS.items())
def test_makes_tf_print_of_print(before: str, after: str) -> None:
    assert fixed(CODE, inside(before)) == inside(after)


def test_keeps_the_comments_between_the_arguments_of_print() -> None:
    before = 'print(\n        "loss",  # one\n        y.numpy(),  # two\n    )'
    after = 'tf.print(\n        "loss",  # one\n        y,  # two\n    )'
    assert fixed(CODE, inside(before)) == inside(after)


NUMPY = {
    "return np.exp(y)": "return tf.exp(y)",
    "return np.log(y)": "return tf.math.log(y)",
    "return np.mean(y, axis=-1, keepdims=True)": "return tf.reduce_mean(y, axis=-1, keepdims=True)",
    "return np.maximum(y, 0.0)": "return tf.maximum(y, 0.0)",
    "return np.clip(y, 0.0, 1.0)": "return tf.clip_by_value(y, 0.0, 1.0)",
    "return np.concatenate([y, y], axis=0)": "return tf.concat([y, y], axis=0)",
    "return np.stack([y, y])": "return tf.stack([y, y])",
    "return np.where(y > 0, y, -y)": "return tf.where(y > 0, y, -y)",
}


@pytest.mark.parametrize(("before", "after"), NUMPY.items())
def test_takes_the_op_that_means_the_same(before: str, after: str) -> None:
    assert fixed(CODE, inside(before)) == inside(after)


REFUSED = {
    "return np.concatenate([y, y])": "no fix: TensorFlow has no op that takes the same arguments (line 13)",
    "return np.mean(y, dtype=np.float64)": "no fix: TensorFlow has no op that takes the same arguments (line 13)",
    "return np.argmax(y)": "no fix: TensorFlow has no op that takes the same arguments (line 13)",
    'print(f"{y:.3f}")': "no fix: `tf.print` has no format specifiers (line 13)",
    'print(f"loss {y}", 1)': "no fix: an f-string is among other arguments (line 13)",
    'print("%s" % y)': "no fix: its text is put together while the function is traced (line 13)",
    "print(y, flush=True)": "no fix: `tf.print` does not take the same arguments (line 13)",
}


@pytest.mark.parametrize(("statement", "note"), REFUSED.items())
def test_says_why_it_does_not_rewrite(statement: str, note: str) -> None:
    source = inside(statement)
    assert [n.rsplit(" (line", 1)[0] for n in notes(CODE, source)] == [note.rsplit(" (line", 1)[0]]
    assert fixed(CODE, source) == source


def test_imports_tensorflow_under_the_name_that_the_file_has() -> None:
    source = "import tensorflow\n@tensorflow.function\ndef f(x):\n    print(tensorflow.square(x))\n"
    assert fixed(CODE, source) == source.replace("print", "tensorflow.print")


def test_never_calls_a_fix_safe() -> None:
    (finding,) = findings(CODE, inside("return np.exp(y)"))
    assert finding.fix is not None
    assert not finding.fix.safe


def test_the_times_of_one_function_are_one_finding() -> None:
    source = """
        import time
        @tf.function
        def step(x):
            times = [time.time()]
            x = tf.nn.relu(x)
            times.append(time.time())
            random.random()
            return x, times
        """
    assert [found.message.split("`")[1] for found in findings(CODE, PREAMBLE + dedent(source))] == [
        "time.time()",
        "random.random()",
    ]
