"""TFP201 function-created-in-loop."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.rules.support import costs_told, findings, fixed, flagged, notes

CODE = "TFP201"
PREAMBLE = dedent("""\
    import functools
    import tensorflow as tf
    dataset = tf.data.Dataset.from_tensor_slices(data).batch(32)
    def double(x):
        return x * 2
""")


def rows_marked(source: str) -> list[int]:
    """The rows that say that they are flagged."""
    return [row for row, line in enumerate(source.splitlines(), 1) if line.endswith("# <-")]


def module(source: str) -> str:
    return PREAMBLE + dedent(source).lstrip()


TRAIN_STEP = """
        def train_step(x, model):
            with tf.GradientTape() as tape:
                loss = model(x)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))
"""
SILENT = {
    "one for each of several trainings, all alike": """
        class Net(tf.keras.Model):
            pass
        class Solver:
            def __init__(self, net):
                self.net = net
            def solve(self, optimizer):
                @tf.function
                def learn(x):
                    with tf.GradientTape() as tape:
                        loss = self.net(x)
                    optimizer.apply_gradients(zip(tape.gradient(loss, self.net.weights), self.net.weights))
                    return loss
                for x in dataset:
                    print(learn(x))
        for again in range(5):
            net = Net()
            solver, optimizer = Solver(net), tf.keras.optimizers.Adam(0.1)
            solver.solve(optimizer)
            losses.append(net.losses)
        """,
    "one for each model that is exported": """
        def export(net, path):
            traced = tf.function(lambda x: net(x))
            tf.saved_model.save(net, path, traced.get_concrete_function(tf.TensorSpec((None, 2))))
        for x in dataset:
            model.predict_on_batch(x)
            export(make(x), name)
        """,
    "one for each of several models": """
        class Board:
            def __init__(self, models):
                self.models = models
                self.trace()
            def trace(self):
                for net in self.models:
                    @tf.function
                    def trace_graph(inputs):
                        net(inputs)
                    trace_graph([tf.zeros(i.shape) for i in net.inputs])
        """,
    "one for each model that is trained": TRAIN_STEP
    + """
        def train(model):
            @tf.function
            def step(x):
                return train_step(x, model)
            for x in dataset:
                step(x)
        for fold in range(folds):
            train(make_model(fold))
        """,
    "in a function that trains over epochs": TRAIN_STEP
    + """
        def train():
            step = tf.function(train_step)
            for epoch in range(epochs):
                for x in dataset:
                    step(x)
        for fold in range(folds):
            train()
        """,
    "for the evaluation of each epoch": """
        def evaluate():
            predict = tf.function(double)
            for x in dataset:
                predict(x)
        for epoch in range(epochs):
            evaluate()
        """,
    "made before the loop": """
        step = tf.function(double)
        for x in dataset:
            step(x)
        """,
    "a factory that is called once": """
        def make_step(model):
            @tf.function
            def step(x):
                return model(x)
            return step
        step = make_step(model)
        for x in dataset:
            step(x)
        """,
    "a factory that each trace calls, and an evaluation once": """
        def make_loss(model):
            @tf.function
            def loss(x):
                return model(x)
            return loss
        def choose(model):
            return make_loss(model)
        @tf.function
        def step(x):
            return choose(net)(x)
        choose(net)(data)
        for x in dataset:
            step(x)
        """,
    "once an epoch": """
        for epoch in range(epochs):
            step = tf.function(double)
            for x in dataset:
                step(x)
        """,
    "a loop over a few models": """
        for model in (one, two, three):
            step = tf.function(model)
            step(x)
        """,
    "kept in an attribute": """
        class Trainer:
            def __init__(self):
                self._step = None
            def train(self, x):
                if self._step is None:
                    self._step = tf.function(double)
                return self._step(x)
        trainer = Trainer()
        for x in dataset:
            trainer.train(x)
        """,
    "kept in a dictionary": """
        cache = {}
        for x in dataset:
            if x.shape not in cache:
                step = tf.function(double)
                cache[x.shape] = step
            cache[x.shape](x)
        """,
    "kept by an exception": """
        cache = {}
        for x in dataset:
            try:
                step = cache[x.shape]
            except KeyError:
                step = cache[x.shape] = tf.function(double)
            step(x)
        """,
    "kept by lru_cache": """
        @functools.lru_cache(maxsize=None)
        def make_step(n):
            return tf.function(double)
        for x in dataset:
            make_step(3)(x)
        """,
    "a factory whose caller keeps what it gives": """
        class Trainer:
            def make(self):
                return tf.function(double)
            def train(self, x):
                if not hasattr(self, "step"):
                    self.step = self.make()
                return self.step(x)
        trainer = Trainer()
        for x in dataset:
            trainer.train(x)
        """,
    "Keras's own factory": """
        class Model(tf.keras.Model):
            def make_train_function(self, force=False):
                if self.train_function is not None:
                    return self.train_function
                @tf.function
                def train_function(iterator):
                    return self.train_step(next(iterator))
                self.train_function = train_function
                return train_function
            def run(self, x):
                self.make_train_function()
        model = Model()
        for x in dataset:
            model.run(x)
        """,
    "in compiled code": """
        @tf.function
        def step(x):
            inner = tf.function(double)
            return inner(x)
        for x in dataset:
            step(x)
        """,
    "on the first step alone": """
        for i, x in enumerate(dataset):
            if i == 0:
                step = tf.function(double)
            step(x)
        """,
    "every so many steps": """
        for i, x in enumerate(dataset):
            if i % 1000 == 0:
                step = tf.function(double)
            step(x)
        """,
    "the loop ends with it": """
        for x in dataset:
            if done(x):
                step = tf.function(double)
                step(x)
                break
        """,
    "a decorator that is made and not used": """
        for x in dataset:
            compiled = tf.function(jit_compile=True)
        """,
    "another library's function": """
        import common
        for x in dataset:
            step = common.function(double)
            step(x)
        """,
}

FLAGGED = {
    "a factory that a trace and the loop call": """
        def make_loss(model):
            @tf.function  # <-
            def loss(x):
                return model(x)
            return loss
        @tf.function
        def step(x):
            return make_loss(net)(x)
        for x in dataset:
            step(x)
            make_loss(net)(x)
        """,
    "for the steps of each epoch": TRAIN_STEP
    + """
        def train_an_epoch():
            step = tf.function(train_step)  # <-
            for x in dataset:
                step(x)
        for epoch in range(epochs):
            train_an_epoch()
        """,
    "above the steps, in the loop of epochs": TRAIN_STEP
    + """
        for epoch in range(epochs):
            @tf.function  # <-
            def step(x):
                return train_step(x)
            for x in dataset:
                step(x)
        """,
    "a decorated def": """
        for x in dataset:
            @tf.function  # <-
            def step(x):
                return x
            step(x)
        """,
    "a decorated def with arguments": """
        for x in dataset:
            @tf.function(jit_compile=True)  # <-
            def step(x):
                return x
            step(x)
        """,
    "a local wrapper": """
        def compiled(f):
            return tf.function(f, reduce_retracing=True)
        for x in dataset:
            @compiled  # <-
            def step(x):
                return x
            step(x)
        """,
    "a partial": """
        for x in dataset:
            @functools.partial(tf.function, jit_compile=True)  # <-
            def step(x):
                return x
            step(x)
        """,
    "a function given to it": """
        for x in dataset:
            step = tf.function(double)  # <-
            step(x)
        """,
    "a lambda given to it": """
        for i in range(1000):
            step = tf.function(lambda x: x + i)  # <-
            step(tf.constant(1.0))
        """,
    "options first": """
        for x in dataset:
            step = tf.function(jit_compile=True)(double)  # <-
            step(x)
        """,
    "used where it is made": """
        while True:
            y = tf.function(double)(x)  # <-
        """,
    "in a function that the loop calls": """
        def train(x):
            @tf.function  # <-
            def step(x):
                return x
            return step(x)
        for x in dataset:
            train(x)
        """,
    "in a method, through a method": """
        class Agent:
            def act(self, x):
                return self.policy()(x)
            def policy(self):
                return tf.function(double)  # <-
        agent = Agent()
        while True:
            state, reward, done, info = env.step(agent.act(state))
        """,
    "a condition that keeps nothing": """
        for x in dataset:
            if training:
                step = tf.function(double)  # <-
                step(x)
        """,
}

IMPORTS = {
    "import tensorflow": "tensorflow.function",
    "import tensorflow.compat.v2 as tf2": "tf2.function",
    "from tensorflow import function": "function",
    "from tensorflow import function as compiled": "compiled",
    "from tensorflow import *": "function",
    "import tensorflow.contrib.eager as tfe": "tfe.defun",
    "from tensorflow.contrib.eager import defun": "defun",
    "from tensorflow.python.eager import def_function": "def_function.function",
}


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT.keys())
def test_says_nothing_of(source: str) -> None:
    assert flagged(CODE, module(source)) == []


@pytest.mark.parametrize("source", FLAGGED.values(), ids=FLAGGED.keys())
def test_flags(source: str) -> None:
    assert flagged(CODE, module(source)) == rows_marked(module(source)) != []


@pytest.mark.parametrize(("imported", "said"), IMPORTS.items())
def test_knows_the_function_however_it_is_imported(imported: str, said: str) -> None:
    source = f"{imported}\nfor i in range(1000):\n    step = {said}(f)\n    step(i)\n"
    assert flagged(CODE, source) == [3]


FIXES = {
    "a def goes above the outermost loop, with its comments, and a blank line behind it": (
        """
        def train(model):
            n = 0
            # All epochs.
            for epoch in range(3):
                print(epoch)
                for x in dataset:

                    # One step.
                    @tf.function  # traced once
                    def step(x):
                        \"\"\"Double.

                        Twice.
                        \"\"\"
                        # Twice.
                        return x * 2
                        # That is all.

                    # Go.
                    step(x)
        """,
        """
        def train(model):
            n = 0

            # One step.
            @tf.function  # traced once
            def step(x):
                \"\"\"Double.

                Twice.
                \"\"\"
                # Twice.
                return x * 2
                # That is all.

            # All epochs.
            for epoch in range(3):
                print(epoch)
                for x in dataset:
                    # Go.
                    step(x)
        """,
    ),
    "no blank line at the start of a block": (
        """
        def train(model):
            for x in dataset:
                @tf.function
                def step(x):
                    return x
                step(x)
        """,
        """
        def train(model):
            @tf.function
            def step(x):
                return x

            for x in dataset:
                step(x)
        """,
    ),
    "an assignment goes directly above the loop": (
        """
        for x in dataset:
            print(x)
            step = tf.function(double)  # compiled
            step(x)
        """,
        """
        step = tf.function(double)  # compiled
        for x in dataset:
            print(x)
            step(x)
        """,
    ),
    "only as far up as nothing changes": (
        """
        for rate in rates:
            for x in dataset:
                step = tf.function(lambda x: x * rate)
                step(x)
        """,
        """
        for rate in rates:
            step = tf.function(lambda x: x * rate)
            for x in dataset:
                step(x)
        """,
    ),
    "not out of a strategy's scope": (
        """
        with strategy.scope():
            for x in dataset:
                step = tf.function(double)
                step(x)
        """,
        """
        with strategy.scope():
            step = tf.function(double)
            for x in dataset:
                step(x)
        """,
    ),
    "out of the function that each step calls": (
        """
        limit = 3

        def train(x):
            # One step.
            @tf.function
            def step(x):
                return model(x)  # the loss

            return step(x)
        for x in dataset:
            train(x)
        """,
        """
        limit = 3

        # One step.
        @tf.function
        def step(x):
            return model(x)  # the loss


        def train(x):
            return step(x)
        for x in dataset:
            train(x)
        """,
    ),
    "out of the class of the method that each step calls": (
        """
        limit = 3

        class Trainer:
            def train(self, x):
                size = 3
                @tf.function
                def step(x):
                    size = 2
                    return size * model(x)
                return step(x)
        trainer = Trainer()
        for x in dataset:
            trainer.train(x)
        """,
        """
        limit = 3

        @tf.function
        def step(x):
            size = 2
            return size * model(x)


        class Trainer:
            def train(self, x):
                size = 3
                return step(x)
        trainer = Trainer()
        for x in dataset:
            trainer.train(x)
        """,
    ),
}


@pytest.mark.parametrize(("before", "after"), FIXES.values(), ids=FIXES.keys())
def test_moves_it_above_the_loop(before: str, after: str) -> None:
    assert fixed(CODE, module(before)) == module(after)


REFUSED = {
    "`scale` changes in the loop (line 7)": """
        for x in dataset:
            scale = 2
            step = tf.function(lambda x: x * scale)
            step(x)
        """,
    "`.rate` changes in the loop (line 11)": """
        class Trainer:
            def train(self):
                for x in dataset:
                    step = tf.function(lambda x: x * self.rate)
                    step(x)
                    self.rate *= 0.9
        """,
    "`.rate` changes in the loop (line 8)": """
        class Trainer:
            def decay(self):
                self.rate *= 0.9
            def train(self):
                for x in dataset:
                    step = tf.function(lambda x: x * self.rate)
                    step(x)
                    self.decay()
        """,
    "`.rate` changes in the loop (line 9)": """
        for x in dataset:
            step = tf.function(lambda x: x * config.rate)
            step(x)
            setattr(config, "rate", 0.1)
        """,
    "`scales` changes in the loop (line 10)": """
        scales = []
        for x in dataset:
            step = tf.function(lambda x: x * len(scales))
            step(x)
            scales.append(1)
        """,
    "`np.random.normal` runs on the host (line 8)": """
        import numpy as np
        def noisy(x):
            return x + np.random.normal()
        for x in dataset:
            step = tf.function(noisy)
            step(x)
        """,
    "`seen` changes in the loop (line 8)": """
        seen = []
        def watch(x):
            seen.append(1)
            return x
        for x in dataset:
            step = tf.function(watch)
            step(x)
        """,
    "what it creates would outlive the step (line 9)": """
        for x in dataset:
            @tf.function
            def step(x):
                return tf.Variable(x)
            step(x)
        """,
    "it is under a condition or in a block of the loop (line 7)": """
        for x in dataset:
            if training:
                step = tf.function(double)
                step(x)
        """,
    "it is created in a function that the loop calls": """
        def train(x):
            return tf.function(double)(x)
        for x in dataset:
            train(x)
        """,
    "it reads `scale` of the function around it (line 9)": """
        def train(x, scale):
            @tf.function
            def step(x):
                return scale * double(x)
            return step(x)
        for x in dataset:
            train(x, 2)
        """,
    "`step` is also bound elsewhere (line 6)": """
        step = 0
        def train(x):
            @tf.function
            def step(x):
                return double(x)
            return step(x)
        for x in dataset:
            train(x)
        """,
    "`SIZES` is bound further down (line 11)": """
        def train(x):
            @tf.function(input_signature=SIZES)
            def step(x):
                return double(x)
            return step(x)
        SIZES = [tf.TensorSpec([None])]
        for x in dataset:
            train(x)
        """,
    "`Batch` is bound further down (line 11)": """
        def train(x):
            @tf.function
            def step(x: Batch):
                return double(x)
            return step(x)
        class Batch: ...
        for x in dataset:
            train(x)
        """,
    "it is under a condition or in a block (line 7)": """
        def train(x):
            with tf.device("/GPU:0"):
                @tf.function
                def step(x):
                    return double(x)
                return step(x)
        for x in dataset:
            train(x)
        """,
    "`rate` changes in the loop (line 14)": """
        rate = 1.0
        def train(x):
            @tf.function
            def step(x):
                return rate * double(x)
            return step(x)
        for x in dataset:
            train(x)
            rate = rate / 2
        """,
    "it is used where it is created (line 7)": """
        for x in dataset:
            y = tf.function(double)(x)
        """,
    "`step` is also bound elsewhere (line 9)": """
        for x in dataset:
            step = tf.function(double)
            step(x)
            step = None
        """,
    "nothing would be left in the loop (line 6)": """
        for x in dataset:
            @tf.function
            def step():
                return model(x)
        """,
    "it shares its line with other statements (line 7)": """
        for x in dataset:
            step = tf.function(double); step(x)
        """,
    "a string of several lines can't be moved (line 9)": """
        for x in dataset:
            @tf.function
            def step(x):
                tf.print(\"\"\"
                    doubled\"\"\")
                return x
            step(x)
        """,
    "only what is assigned to a plain name can be moved (line 9)": """
        class Trainer:
            def train(self):
                for x in dataset:
                    self.step = tf.function(double)
                    self.step(x)
        """,
}


@pytest.mark.parametrize(("reason", "source"), REFUSED.items(), ids=REFUSED.keys())
def test_says_why_it_does_not_move_it(reason: str, source: str) -> None:
    assert notes(CODE, module(source)) == [f"no fix: {reason}"]


SAFETY = {
    "double": True,
    "lambda x: x + 1": True,
    "lambda x: tf.nn.dropout(x, 0.5)": False,  # each new function would begin the same random sequence
    "agent.train": False,  # what it does is not in sight
}


@pytest.mark.parametrize(("function", "safe"), SAFETY.items(), ids=SAFETY.keys())
def test_is_safe_where_one_trace_gives_what_many_give(function: str, safe: bool) -> None:
    (finding,) = findings(
        CODE, module(f"for x in dataset:\n    step = tf.function({function})\n    step(x)\n")
    )
    assert finding.fix is not None
    assert finding.fix.safe is safe


@pytest.mark.parametrize(("options", "told"), [("", True), (", jit_compile=True", False)])
def test_tells_no_cost_where_xla_compiles_as_well(options: str, told: bool) -> None:
    source = module(f"for x in dataset:\n    step = tf.function(double{options})\n    step(x)\n")
    assert costs_told(CODE, source) == [told]


def test_of_several_names_that_keep_a_function_where_it_is_the_first_is_told() -> None:
    names = [f"n{i}" for i in range(40)]
    source = (
        f"def train(x, {', '.join(names)}):\n    @tf.function\n    def step(x):\n        return {' + '.join(names)} + double(x)\n"
        "    return step(x)\nfor x in dataset:\n    train(x, *given)\n"
    )
    assert notes(CODE, module(source)) == ["no fix: it reads `n0` of the function around it (line 9)"]
