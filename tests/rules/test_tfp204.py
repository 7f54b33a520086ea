"""TFP204 object-created-per-step."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.rules.support import costs_told, findings, fixed, flagged, notes

CODE = "TFP204"
PREAMBLE = dedent("""\
    import random
    import tensorflow as tf
    from tensorflow import keras
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    dataset = tf.data.Dataset.from_tensor_slices(data).batch(32)
    @tf.function
    def step(x):
        return model(x)
""")


def rows_marked(source: str) -> list[int]:
    """The rows that say that they are flagged."""
    return [row for row, line in enumerate(source.splitlines(), 1) if line.endswith("# <-")]


def module(source: str) -> str:
    return PREAMBLE + dedent(source).lstrip()


SILENT = {
    "an optimizer for each fold": """
        from sklearn.model_selection import KFold
        kf = KFold(n_splits=n)
        for train, test in kf.split(data):
            optimizer = keras.optimizers.Adam(0.02)
            for i in range(2000):
                step(data[train])
        """,
    "what a function makes on one way through a layer's call, or for a functional model as well": """
        def counter():
            return tf.Variable(0)
        def block(x):
            return keras.layers.Dense(1)(x)
        class Net(tf.keras.Model):
            def call(self, x):
                if self.first:
                    self.first, self.counter = False, counter()
                return block(x)
        inputs = keras.Input((3,))
        other = keras.Model(inputs, block(inputs))
        """,
    "an optimizer for the copy of a model that each task trains": """
        def learn(copy, x, optimizer):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(copy(x))
            optimizer.apply_gradients(zip(tape.gradient(loss, copy.weights), copy.weights))
            return copy, loss
        meta = tf.keras.optimizers.Adam()
        def train(base, tasks, size=1, rounds=500):
            for epoch in range(rounds):
                for batch in range(size):
                    for task in tasks:
                        copy = tf.keras.models.clone_model(base)
                        optimizer = tf.keras.optimizers.SGD(0.1)
                        for _ in range(5):
                            copy, loss = learn(copy, task["x"], optimizer)
                        print(copy(task["z"]))
                    meta.apply_gradients(zip(grads, base.weights))
        train(model, load())
        """,
    "the variables and the optimizer of one trial of many": """
        for trial in range(100):
            weights = [tf.Variable(tensor) for tensor in initial()]
            optimizer = tf.keras.optimizers.Adam(0.01)
            for x in dataset:
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(forward(weights, x))
                optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        """,
    "a layer of the file's own that has no weights, in a model's call": """
        class Squash(keras.layers.Layer):
            def call(self, inputs):
                return tf.nn.sigmoid(inputs)
        class Critic(keras.Model):
            def call(self, inputs):
                return Squash()(inputs)
        """,
    "a layer around one with the weights, in a layer's call": """
        class Encoder(keras.layers.Layer):
            def __init__(self, cell):
                super().__init__()
                self.cell = cell
            def call(self, inputs):
                return keras.layers.RNN(self.cell, return_sequences=True)(inputs)
        """,
    "a layer of the file's own that has no weights, in a compiled step": """
        class Translation(keras.layers.Layer):
            def __init__(self, jitter=0.0, **kwargs):
                super(Translation, self).__init__(**kwargs)
                self.jitter = float(jitter)
            def get_config(self):
                config = super().get_config()
                config.update({"jitter": self.jitter})
                return config
            def call(self, inputs):
                return inputs + self.jitter * tf.random.normal(tf.shape(inputs))
        @tf.function
        def train(x):
            return model(Translation(0.1)(x))
        for x in dataset:
            train(x)
        """,
    "layers of a network that a file describes": """
        def convert(parser):
            inputs = layers = keras.Input((416, 416, 3))
            kept = []
            for section in parser.sections():
                layers = keras.layers.Conv2D(int(parser[section]), 3)(layers)
                layers = keras.layers.BatchNormalization()(layers, training=True)
                kept.append(layers)
            return keras.Model(inputs=inputs, outputs=kept)
        """,
    "made where it is not there, by a method": """
        class Trainer:
            def __init__(self):
                self.optimizer = self.other = None
            def set_up(self):
                self.optimizer = tf.keras.optimizers.Adam()
            def train(self, x):
                if self.optimizer is None or self.other is None:
                    self.set_up()
                step(x)
        trainer = Trainer()
        for x in dataset:
            trainer.train(x)
        """,
    "a layer in a helper that runs per step in compiled code alone": """
        class Loss:
            def compare(self, x):
                return model(self.prepare(x))
            def unused(self, x):
                return self.prepare(x)
            def prepare(self, x):
                return keras.layers.Lambda(double)(x)
        loss = Loss()
        @tf.function
        def learn(x):
            return loss.compare(x)
        for x in dataset:
            learn(x)
        """,
    "layers without weights in a call that compiled code runs": """
        class Critic(keras.Model):
            def call(self, inputs):
                return keras.layers.Concatenate()(inputs)
        critic = Critic()
        @tf.function
        def learn(x):
            with tf.GradientTape() as tape:
                loss = critic([x, x])
            optimizer.apply_gradients([(tape.gradient(loss, critic.w), critic.w)])
        for x in dataset:
            learn(x)
        """,
    "a layer without weights in a compiled step": """
        @tf.function
        def train(x):
            return keras.layers.Flatten()(x)
        for x in dataset:
            train(x)
        """,
    "layers without weights in a model's call, dropout too": """
        class Net(keras.Model):
            def call(self, x):
                x = keras.layers.Concatenate()([x, x])
                return keras.layers.Dropout(0.5)(x)
        """,
    "a loss that a function makes for each step": """
        def make_loss():
            return keras.losses.MeanSquaredError()
        for x in dataset:
            loss_fn = make_loss()
            loss = loss_fn(x, step(x))
        """,
    "a loss that a function makes in each trace": """
        def make_loss():
            return keras.losses.MeanSquaredError()
        def loss_of(x):
            loss_fn = make_loss()
            return loss_fn(x, step(x))
        @tf.function
        def learn(x):
            return loss_of(x)
        for x in dataset:
            learn(x)
        """,
    "a loss of a library, which others call": """
        def adversarial_loss(y):
            return keras.losses.BinaryCrossentropy()(tf.ones_like(y), y)
        """,
    "a loss object in a function that compiled code calls": """
        def loss_of(y):
            bce = keras.losses.BinaryCrossentropy(from_logits=True)
            return bce(tf.ones_like(y), y)
        @tf.function
        def train(x):
            return loss_of(step(x))
        for x in dataset:
            train(x)
        """,
    "a loss object in the step of a model that is fitted": """
        class Net(keras.Model):
            def train_step(self, data):
                x, y = data
                return {"loss": keras.losses.MeanSquaredError()(y, self(x))}
        net = Net()
        net.fit(dataset)
        """,
    "a layer that a helper makes while there is none": """
        class Net(tf.keras.Model):
            def call(self, x):
                if not self._made:
                    self._make(x)
                return self.dense(x)
            def _make(self, x):
                self.dense = keras.layers.Dense(x.shape[-1])
                self._made = True
        """,
    "a layer that a helper makes, which building the model runs as well": """
        class Net(tf.keras.Model):
            def __init__(self):
                super().__init__()
                self.make(1)
            def make(self, x):
                return keras.layers.Dense(1)
            def call(self, x):
                return self.make(x)
        """,
    "a variable behind a flag that says that it is there": """
        class Trainer:
            def __init__(self):
                self.built = False
            def build(self):
                if self.built:
                    return
                self.built = True
                self.count = tf.Variable(0)
        trainer = Trainer()
        for x in dataset:
            trainer.build()
            step(x)
        """,
    "a list of variables that is made while there is none": """
        class Trainer:
            def __init__(self, model):
                self.model = model
                self.kept = None
            def keep(self):
                if self.kept is None:
                    self.kept = [tf.Variable(weight) for weight in self.model.trainable_weights]
        trainer = Trainer(keras.Sequential([keras.layers.Dense(1)]))
        for x in dataset:
            step(x)
            trainer.keep()
        """,
    "the parts of a model whose constructor calls what makes them": """
        class Net(keras.Model):
            def __init__(self, size):
                super().__init__()
                self._assemble(size)
            def _assemble(self, size):
                self.head = keras.layers.Dense(size)
        for size in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]:
            net = Net(size)
            net(tf.zeros((1, 2)))
        """,
    "a variable that each round trains anew": """
        for size in sizes:
            weights = tf.Variable(read(size))
            for x in dataset:
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(step(x) * weights)
                weights.assign(weights - 0.1 * tape.gradient(loss, weights))
        """,
    "a variable of each round that nothing writes to": """
        for size in sizes:
            scale = tf.Variable(read(size))
            for x in dataset:
                step(x * scale)
        """,
    "a loss that a script has no more use for": """
        def old_loss(y):
            return keras.losses.BinaryCrossentropy()(tf.ones_like(y), y)
        for x in dataset:
            model.train_on_batch(x, x)
        """,
    "a layer without weights in a call that eager code runs once": """
        class Critic(keras.Model):
            def call(self, inputs):
                return keras.layers.Flatten()(inputs)
        critic = Critic()
        critic(tf.zeros((1, 2)))
        """,
    "the parts of a model, made by functions of its builder": """
        def block(x):
            return keras.layers.ReLU()(keras.layers.Conv2D(8, 3)(x))
        def body(x):
            return block(block(x))
        def build(size):
            inputs = keras.Input((size, size, 3))
            return keras.Model(inputs, body(inputs))
        for x in dataset:
            step(build(32)(x))
        """,
    "a head of its own for each task, that an inner loop trains": """
        for task in range(100):
            head = tf.keras.layers.Dense(5)
            for i in range(50):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(head(step(task)))
                gradients = tape.gradient(loss, head.trainable_variables)
                optimizer.apply_gradients(zip(gradients, head.trainable_variables))
        """,
    "losses that are made for somebody else": """
        def losses():
            return {"a": keras.losses.MeanSquaredError(), "b": keras.losses.Huber()}
        """,
    "made before the loop": """
        optimizer = tf.keras.optimizers.Adam()
        loss_fn = tf.keras.losses.MeanSquaredError()
        for x in dataset:
            step(x)
        """,
    "kept by the first call": """
        class Trainer:
            def __init__(self):
                self.optimizer = None
            def train(self, x):
                if self.optimizer is None:
                    self.optimizer = tf.keras.optimizers.Adam()
                step(x)
        trainer = Trainer()
        for x in dataset:
            trainer.train(x)
        """,
    "on the first step alone": """
        for i, x in enumerate(dataset):
            if i == 0:
                total = tf.Variable(0.0)
            step(x)
        """,
    "every so many steps": """
        for i, x in enumerate(dataset):
            if i % 100 == 0:
                mean = tf.keras.metrics.Mean()
            step(x)
        """,
    "metrics and losses once an epoch": """
        for epoch in range(100):
            mean = tf.keras.metrics.Mean()
            loss_fn = tf.keras.losses.MeanSquaredError()
            for x in dataset:
                mean(step(x))
        """,
    "an optimizer that depends on the epoch": """
        for epoch in range(100):
            optimizer = tf.keras.optimizers.Adam(0.1 / (epoch + 1))
            for x in dataset:
                step(x)
        """,
    "a trial with a model of its own": """
        for trial in range(100):
            model = keras.Sequential([keras.layers.Dense(1)])
            optimizer = keras.optimizers.Adam()
            for x in dataset:
                model(x)
        """,
    "trials whose models a function builds": """
        def build():
            x = inputs = keras.Input((3,))
            x = keras.layers.Dense(3)(x)
            x = keras.layers.Dense(1)(x)
            return keras.Model(inputs, x)
        for trial in range(100):
            model = build()
            optimizer = keras.optimizers.Adam()
            model.fit(dataset)
            for x in dataset:
                step(x)
        """,
    "the layers of a model that is built in a loop": """
        x = keras.Input((3,))
        for units in sizes:
            x = keras.layers.Dense(units)(x)
        """,
    "what is given to compile": """
        for x in dataset:
            model.compile(optimizer=keras.optimizers.Adam(), loss=keras.losses.MeanSquaredError())
            optimizer = keras.optimizers.SGD()
            model.compile(optimizer)
            model.train_on_batch(x)
        """,
    "parts of an object": """
        class Memory:
            def __init__(self):
                self.total = tf.Variable(0.0)
        for x in dataset:
            memory = Memory()
            step(x)
        """,
    "a variable that compiled code makes once": """
        class Net:
            total = None
            @tf.function
            def train(self, x):
                if self.total is None:
                    self.total = tf.Variable(0.0)
                return self.total + x
        net = Net()
        for x in dataset:
            net.train(x)
        """,
    "a function that makes it for its callers": """
        def dense(units):
            return keras.layers.Dense(units)
        def optimizer():
            made = keras.optimizers.Adam()
            return made
        for x in dataset:
            keep(dense(3), optimizer(), (lambda: keras.layers.Dense(1))())
            step(x)
        """,
    "compiled code that runs once": """
        @tf.function
        def once():
            return tf.Variable(0.0)
        once()
        """,
    "a method called call that makes a model": """
        class Net(keras.Model):
            def call(self, x):
                inputs = keras.Input((3,))
                return keras.Model(inputs, keras.layers.Dense(1)(inputs))(x)
        """,
    "a plain class with a method named call": """
        class Net:
            def call(self, x):
                return keras.layers.Dense(1)(x)
        """,
    "functions with short names": """
        for x in dataset:
            keras.losses.MSE(x, step(x))
            keras.metrics.mean_squared_error(x, x)
        """,
    "graph code": """
        import tensorflow.compat.v1 as tf1
        with tf1.Session() as sess:
            for i in range(1000):
                v = tf1.Variable(0.0)
                sess.run(v)
        """,
    "something unknown": """
        from elsewhere import Adam
        for x in dataset:
            Adam(0.1)
            make_optimizer()
            step(x)
        """,
    "functions of unknown mode": """
        def train(x):
            optimizer = keras.optimizers.Adam()
        wrap(train)
        """,
    "any syntax": """
        async def f():
            async for x in dataset:
                lambda *a: keras.optimizers.Adam(*a)
        for x in dataset: pass
        """,
}

FLAGGED = {
    "a variable that a function makes, which each branch of a layer's call runs": """
        def scaled(weights):
            power = tf.Variable(tf.ones([1, 8]), trainable=False)  # <-
            with tf.control_dependencies([power.assign(power @ weights)]):
                return weights / power
        class Scaled(keras.layers.Layer):
            def build(self, shape):
                self.kernel = self.add_weight(shape=[8, 8])
            def call(self, x):
                if self.activation is not None:
                    return self.activation(x @ scaled(self.kernel))
                else:
                    return x @ scaled(self.kernel)
        """,
    "a layer around one that is made with it, in a layer's call": """
        class Encoder(keras.layers.Layer):
            def call(self, inputs):
                return keras.layers.RNN(keras.layers.LSTMCell(32))(inputs)  # <-
        """,
    "a layer of the file's own that holds another, in a compiled step": """
        class Block(keras.layers.Layer):
            def __init__(self):
                super().__init__()
                self.inner = keras.layers.Dense(3)
            def call(self, inputs):
                return self.inner(inputs)
        @tf.function
        def train(x):
            return model(Block()(x))  # <-
        for x in dataset:
            train(x)
        """,
    "a layer of the file's own that makes something unknown, in a compiled step": """
        class Block(keras.layers.Layer):
            def __init__(self, make):
                super().__init__()
                self.inner = make(3)
            def call(self, inputs):
                return self.inner(inputs)
        @tf.function
        def train(x):
            return model(Block(make)(x))  # <-
        for x in dataset:
            train(x)
        """,
    "a layer of the file's own that adds a weight, in a compiled step": """
        class Block(keras.layers.Layer):
            def build(self, shape):
                self.scale = self.add_weight(shape=shape)
            def call(self, inputs):
                return self.scale * inputs
        @tf.function
        def train(x):
            return model(Block()(x))  # <-
        for x in dataset:
            train(x)
        """,
    "by a method, where something else is not there": """
        class Trainer:
            def __init__(self):
                self.writer = None
            def set_up(self):
                self.optimizer = tf.keras.optimizers.Adam()  # <-
            def train(self, x):
                if self.writer is None:
                    self.set_up()
                step(x)
        trainer = Trainer()
        for x in dataset:
            trainer.train(x)
        """,
    "a layer beside the building of a model": """
        inputs = keras.Input((4,))
        net = keras.Model(inputs, keras.layers.Dense(3)(inputs))
        for x in dataset:
            y = keras.layers.Dense(3)(net(x))  # <-
        """,
    "a layer that a helper of a model's call makes": """
        class Net(tf.keras.Model):
            def call(self, x):
                return self._fuse(x)
            def _fuse(self, x):
                return self._head(x) + self._head(x)
            def _head(self, x):
                return keras.layers.Dense(1)(x)  # <-
        """,
    "what a method calls that makes a model for a summary": """
        class Critic(keras.Model):
            @tf.function
            def call(self, inputs):
                return keras.layers.Dense(1)(inputs)  # <-
            def model(self):
                x = keras.Input(shape=(8,))
                return keras.Model(inputs=[x], outputs=self.call(x))
        critic = Critic()
        for x in dataset:
            critic(x)
        """,
    "a layer of the file's own": """
        class Squash(keras.layers.Layer):
            def build(self, shape):
                self.scale = self.add_weight(shape=shape)
            def call(self, inputs):
                return tf.nn.sigmoid(self.scale * inputs)
        class Critic(keras.Model):
            def call(self, inputs):
                return Squash()(inputs)  # <-
        """,
    "a variable that holds the state of each episode": """
        def push(stack, frame):
            stack[0].assign(frame)
            return stack
        for episode in range(100):
            stack = tf.Variable(env.reset())  # <-
            done = False
            while not done:
                frame, reward, done, _ = env.step(step(stack))
                stack = push(stack, frame)
        """,
    "a variable that is assigned to in the loop": """
        for episode in range(100):
            state = tf.Variable(env.reset())  # <-
            for t in range(1000):
                frame, reward, done, _ = env.step(step(state))
                state.assign(frame)
        """,
    "an optimizer": """
        for x in dataset:
            optimizer = tf.keras.optimizers.Adam(1e-3)  # <-
            step(x)
        """,
    "the others": """
        for x in dataset:
            total = tf.Variable(0.0)  # <-
            accuracy = keras.metrics.SparseCategoricalAccuracy()  # <-
            loss = keras.losses.SparseCategoricalCrossentropy()(x, step(x))
            x = keras.layers.Dense(3)(x)  # <-
            x = keras.layers.Flatten()(x)  # <-
        """,
    "imported by name": """
        from tensorflow.keras.optimizers import Adam
        from tensorflow.keras.layers import Dense as Linear
        for x in dataset:
            Adam()  # <-
            Linear(3)(x)  # <-
        """,
    "in a function that the loop calls": """
        def train(x):
            optimizer = keras.optimizers.Adam()  # <-
            step(x)
        for epoch in range(100):
            for x in dataset:
                train(x)
        """,
    "in an agent's method": """
        class Agent:
            def learn(self):
                old = [tf.Variable(w) for w in model.weights]  # <-
                step(old)
        agent = Agent()
        while not done:
            state, reward, done, info = env.step(0)
            agent.learn()
        """,
    "a class of this file": """
        class Scale(keras.layers.Layer):
            def build(self, shape):
                self.scale = self.add_weight()
        for x in dataset:
            Scale()(step(x))  # <-
        """,
    "an optimizer, a layer and a variable once an epoch": """
        for epoch in range(100):
            optimizer = keras.optimizers.Adam()  # <-
            dense = keras.layers.Dense(3)  # <-
            total = tf.Variable(0)  # <-
            mean = keras.metrics.Mean()
            for x in dataset:
                step(x)
        """,
    "compiled code": """
        @tf.function
        def train(x):
            total = tf.Variable(0.0)  # <-
            mean = keras.metrics.Mean()  # <-
            optimizer = keras.optimizers.SGD(0.1)  # <-
            return keras.layers.Dense(3)(x)  # <-
        for x in dataset:
            train(x)
        """,
    "a model's call": """
        class Net(keras.Model):
            def call(self, x):
                return keras.layers.Dense(3)(x)  # <-
        """,
    "a layer without weights in a call that eager code runs": """
        class Critic(keras.Model):
            def call(self, inputs):
                return keras.layers.Concatenate()(inputs)  # <-
        critic = Critic()
        def learn(x):
            with tf.GradientTape() as tape:
                loss = critic([x, x])
            optimizer.apply_gradients([(tape.gradient(loss, critic.w), critic.w)])
        for x in dataset:
            learn(x)
        """,
}


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT.keys())
def test_says_nothing_of(source: str) -> None:
    assert flagged(CODE, module(source)) == []


@pytest.mark.parametrize("source", FLAGGED.values(), ids=FLAGGED.keys())
def test_flags(source: str) -> None:
    assert flagged(CODE, module(source)) == rows_marked(module(source)) != []


FIXES = {
    "a layer without weights": (
        """
        for epoch in range(10):
            print(epoch)
            for x in dataset:
                step(keras.layers.GlobalAveragePooling2D()(x))
        """,
        """
        global_average_pooling2d = keras.layers.GlobalAveragePooling2D()
        for epoch in range(10):
            print(epoch)
            for x in dataset:
                step(global_average_pooling2d(x))
        """,
    ),
    "plain SGD": (
        """
        rate = 0.1
        for epoch in range(10):
            print(epoch)
            for x in dataset:
                optimizer = keras.optimizers.SGD(learning_rate=rate, clipnorm=1.0)
                optimizer.apply_gradients(step(x))
        """,
        """
        rate = 0.1
        optimizer = keras.optimizers.SGD(learning_rate=rate, clipnorm=1.0)
        for epoch in range(10):
            print(epoch)
            for x in dataset:
                optimizer.apply_gradients(step(x))
        """,
    ),
}


@pytest.mark.parametrize(("before", "after"), FIXES.values(), ids=FIXES.keys())
def test_makes_it_once_above_the_loop(before: str, after: str) -> None:
    (finding,) = findings(CODE, module(before))
    assert finding.fix is not None
    assert fixed(CODE, module(before)) == module(after)


HOLDING_STATE = [
    "optimizer = keras.optimizers.Adam()",
    "optimizer = keras.optimizers.SGD(0.1, momentum=0.9)",
    "optimizer = keras.optimizers.SGD(0.1, 0.9)",
    "optimizer = keras.optimizers.SGD(keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.9))",
    "total = tf.Variable(0.0)",
    "dense = keras.layers.Dense(3)",
    "dropout = keras.layers.Dropout(0.5)",
    "mean = keras.metrics.Mean()",
]


@pytest.mark.parametrize("statement", HOLDING_STATE)
def test_leaves_what_holds_state_to_its_author(statement: str) -> None:
    source = module(f"for x in dataset:\n    {statement}\n    step(x)\n")
    assert len(findings(CODE, source)) == 1
    assert fixed(CODE, source) == source


REFUSED = {
    "it may train another `net` next, for which it has no variables": """
        for net in nets:
            for x in dataset:
                optimizer = keras.optimizers.SGD(0.1)
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(net(x))
                optimizer.apply_gradients(zip(tape.gradient(loss, net.weights), net.weights))
        """.replace("in nets", "in [keras.Sequential(), keras.Sequential()]"),
    "`optimizer` is read after the loop, too": """
        for x in dataset:
            optimizer = keras.optimizers.SGD(0.1)
            optimizer.apply_gradients(gradients(x))
        print(optimizer.iterations)
        """,
    "it is created in a function that the loop calls": """
        def train(x):
            return keras.layers.Flatten()(step(x))
        for x in dataset:
            train(x)
        """,
    "`size` changes in the loop": """
        for size, x in enumerate(dataset):
            pool = keras.layers.MaxPooling2D(size)
            step(pool(x))
        """,
    "what else the loop does with `optimizer` may change it": """
        for x in dataset:
            optimizer = keras.optimizers.SGD(0.1)
            optimizer.learning_rate.assign(0.01)
            step(x)
        """,
    "it is under a condition or in a block of the loop": """
        for x in dataset:
            if flag(x):
                flatten = keras.layers.Flatten()
            step(x)
        """,
}


@pytest.mark.parametrize(("reason", "source"), REFUSED.items(), ids=REFUSED.keys())
def test_says_why_it_does_not_move_it(reason: str, source: str) -> None:
    assert [note.rsplit(" (line", 1)[0] for note in notes(CODE, module(source))] == [f"no fix: {reason}"]


def test_only_what_is_like_the_experiment_gives_its_figure() -> None:
    source = module(
        """
        for x in dataset:
            flatten = keras.layers.Flatten()
            optimizer = keras.optimizers.SGD(0.1)
            with_state = keras.optimizers.SGD(0.1, momentum=0.9)
            loss = flatten(step(x))
        """
    )
    assert costs_told(CODE, source) == [False, True, False]


def test_its_fix_is_unsafe() -> None:
    source = "for x in dataset:\n    step(keras.layers.GlobalAveragePooling2D()(x))\n"
    (finding,) = findings(CODE, module(source))
    assert finding.fix is not None
    assert not finding.fix.safe


VARIABLES = {
    "a part of it is read": ("x0 = made[:, 0:1]\n    step(x0)", "nothing assigns to it; a tensor will do"),
    "an op reads it": ("step(tf.reshape(made, [-1]))", "nothing assigns to it; a tensor will do"),
    "a function that reads it": ("norm(made)", "nothing assigns to it; a tensor will do"),
    "another tensor takes its name": (
        "x0 = made[:, 0:1]\n    made = tf.stack([x0])\n    kept.append(made)",
        "nothing assigns to it; a tensor will do",
    ),
    "numbers are added to it": ("made.assign_add(step(x))", "to add up numbers; add to a tensor instead"),
    "it is assigned to": ("made.assign(step(x))", "create it once and `assign` to it"),
    "a part of it is assigned to": ("made[0].assign(step(x))", "create it once and `assign` to it"),
    "a function assigns to it": ("push(made)", "create it once and `assign` to it"),
    "it is kept": ("kept.append(made)\n    step(x)", "create it once and `assign` to it"),
    "who knows what gets it": ("given(made)", "create it once and `assign` to it"),
}


@pytest.mark.parametrize(("use", "remedy"), VARIABLES.values(), ids=VARIABLES)
def test_tells_where_a_tensor_will_do_instead_of_a_variable(use: str, remedy: str) -> None:
    functions = (
        "def norm(value):\n    return value / tf.norm(value)\ndef push(value):\n    value.assign(value + 1)\n"
    )
    source = module(f"{functions}for x in dataset:\n    made = tf.Variable(x)\n    {use}\n    step(x)\n")
    (found,) = findings(CODE, source)
    assert found.message.endswith(remedy)


def test_a_loss_whose_gradient_is_asked_for_is_added_up_in_a_tensor() -> None:
    source = """
        def train(x):
            loss = tf.Variable(0.0)
            with tf.GradientTape() as tape:
                loss.assign_add(step(x))
            return tape.gradient(loss, model.weights)
        for x in dataset:
            train(x)
        """
    (found,) = findings(CODE, module(source))
    assert found.message.endswith("to add up numbers; add to a tensor instead")


def test_a_tensor_will_do_for_a_variable_without_a_name() -> None:
    source = module("for x in dataset:\n    y = step(x) + tf.Variable(noise())\n")
    (found,) = findings(CODE, source)
    assert found.message.endswith("a tensor will do")


def test_of_layers_without_weights_one_is_told_for_each_function_and_is_minor() -> None:
    source = """
        class Net:
            def infer(self, x):
                x = keras.layers.Reshape((4, 4))(step(x))
                x = keras.layers.Cropping1D(1)(x)
                return keras.layers.Dense(3)(x)
        net = Net()
        for x in dataset:
            net.infer(x)
        """
    layer, dense = findings(CODE, module(source))
    assert (layer.minor, dense.minor) == (True, False)
    assert layer.message.endswith(
        "without weights, is created on each step; call an op instead, or create it once, in `__init__`"
    )
    assert dense.message.endswith("with new weights; create it once, in `__init__`")


def test_of_a_layer_without_weights_no_weights_are_spoken_of() -> None:
    source = module("""
        for x in dataset:
            y = keras.layers.Lambda(double)(x)
        """)
    assert [found.message for found in findings(CODE, source)] == [
        "a new `Lambda` is created on each step; create it once, above the loop"
    ]


def test_a_layer_that_makes_others_of_its_own_class_is_asked_for_weights_once() -> None:
    source = """
        import tensorflow as tf
        class Scaled(tf.keras.layers.Layer):
            def __init__(self, by=1.0, **kwargs):
                super().__init__(**kwargs)
                self.by = by
            def call(self, x):
                return x * self.by
            @classmethod
            def from_config(cls, config):
                return cls(**config)
        """
    assert findings(CODE, source) == []


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("keras.optimizers.SGD(0.1)", True),
        ("tf.compat.v1.train.AdamOptimizer(0.1)", False),
        ("tf.Variable(0.0)", False),
    ],
)
def test_tells_the_cost_only_of_optimizers_of_keras(made: str, told: bool) -> None:
    assert costs_told(CODE, module(f"for x in dataset:\n    made = {made}\n    loss = step(x)\n")) == [told]
