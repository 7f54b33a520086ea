"""Compiled code: which bodies TensorFlow traces."""

from __future__ import annotations

import pytest

from tests.analysis.support import here, model_of

COMPILED = {
    "one of two functions of a name, which a strategy runs": """
        strategy = choose()
        if strategy is None:
            @tf.function
            def step(x): pass
        else:
            def step(x): here()
            @tf.function
            def run_step(x): strategy.run(step, args=(x,))
        for x in xs:
            if strategy is not None: run_step(x)
            else: step(x)
    """,
    "a method that is compiled by its name": """
        class A:
            def __init__(self):
                setattr(self, "step", tf.function(getattr(self, "step")))
            def step(self): here()
    """,
    "methods that are compiled by their names": """
        class A:
            def __init__(self):
                for name in ("step", "test"):
                    compiled = tf.function(getattr(self, name))
                    setattr(self, name, compiled)
            def test(self): here()
            def show(self): pass
    """,
    "decorator": "@tf.function\ndef f(): here()",
    "decorator with arguments": "@tf.function(jit_compile=True)\ndef f(): here()",
    "among other decorators": "@log\n@tf.function\n@other\ndef f(): here()",
    "a partial of it": "import functools\n@functools.partial(tf.function, jit_compile=True)\ndef f(): here()",
    "wrapped by assignment": "def f(): here()\ng = tf.function(f)\ng()",
    "rebound by assignment": "def f(): here()\nf = tf.function(f)\nf()",
    "a lambda": "f = tf.function(lambda: here())\nf()",
    "a method rebound on self": """
        class A:
            def __init__(self):
                self.step = tf.function(self.step)
            def step(self): here()
            def run(self):
                self.step()
    """,
    "a method rebound from outside": """
        class A:
            def step(self): here()
        a = A()
        a.step = tf.function(a.step)
        a.step()
    """,
    "a local wrapper": "def compiled(f):\n    return tf.function(f)\n@compiled\ndef f(): here()",
    "a local wrapper, called": "def compiled(f):\n    return tf.function(f, jit_compile=True)\ndef f(): here()\ng = compiled(f)",
    "called only from compiled code": "def f(): here()\n@tf.function\ndef g(): f()",
    "defined and called in compiled code": "@tf.function\ndef g():\n    def f(): here()\n    f()",
    "Dataset.map": "def f(x): here()\nds = tf.data.Dataset.range(3).map(f)",
    "Dataset.interleave with a lambda": "ds = tf.data.Dataset.range(3).interleave(lambda x: here())",
    "Dataset.map with a partial": "import functools\ndef f(x, y): here()\nds = tf.data.Dataset.range(3).map(functools.partial(f, y=1))",
    "strategy.run in compiled code": """
        strategy = tf.distribute.MirroredStrategy()
        def f(x): here()
        @tf.function
        def g(x): strategy.run(f, args=(x,))
    """,
    "tf.while_loop": "tf.while_loop(lambda x: here(), body, [x])",
    "tf.map_fn": "def f(x): here()\ntf.map_fn(f, xs)",
    "custom gradient": "@tf.custom_gradient\ndef f(x): here()",
    "Lambda layer": "keras.layers.Lambda(lambda x: here())",
    "Model.train_step, decorated and called": "class M(keras.Model):\n    @tf.function\n    def train_step(self, x): here()\nm = M()\nm.train_step(x)",
    "Model.train_step, wrapped and called": """
        class M(keras.Model):
            def __init__(self): self.train_step = tf.function(self.train_step)
            def train_step(self, x): here()
        m = M()
        m.train_step(x)
    """,
    "eager mode behind a flag": "if args.debug:\n    tf.config.run_functions_eagerly(True)\n@tf.function\ndef f(): here()\nf()",
    "Model.call": "class M(keras.Model):\n    def call(self, x): here()",
    "Model.train_step with an argument that may be left out": "class M(keras.Model):\n    def train_step(self, data, rate=1.0): here()",
    "Model.train_step through a local base": "class B(tf.keras.Model): pass\nclass M(B):\n    def train_step(self, data): here()",
    "called by Layer.call": "class L(keras.layers.Layer):\n    def call(self, x): self.f()\n    def f(self): here()",
    "Metric.update_state": "class M(keras.metrics.Metric):\n    def update_state(self, y): here()",
}

EAGER = {
    "another method than those that are compiled by their names": """
        class A:
            def __init__(self):
                for name in ("step", "test"):
                    setattr(self, name, tf.function(getattr(self, name)))
            def test(self): pass
            def show(self): here()
    """,
    "a method of another class than that of which any is compiled": """
        class A:
            def __init__(self, name):
                setattr(self, name, tf.function(getattr(self, name)))
            def step(self): pass
        class B:
            def step(self): here()
    """,
    "where a method is compiled by a name that is not known": """
        class A:
            def __init__(self, name):
                setattr(self, name, tf.function(getattr(self, name)))
                here()
    """,
    "a class that sets something else by name": """
        class A:
            def __init__(self, name):
                setattr(self, name, 3)
            def step(self): here()
    """,
    "Model.train_step that the module calls": "class M(keras.Model):\n    def train_step(self, x): here()\nm = M()\nfor x in xs: m.train_step(x)",
    "Model.compute_loss that the module calls": "class M(keras.Model):\n    def compute_loss(self, x): here()\nm = M()\nfor x in xs: m.compute_loss(x)",
    "Model.train_step that an eager method calls": """
        class M(keras.Model):
            def train_step(self, x): here()
            def learn(self, xs):
                for x in xs: self.train_step(x)
        m = M()
        m.learn(xs)
    """,
    "one of two functions of a name, which the other branch calls": """
        compiled = choose()
        if not compiled:
            def step(x): here()
        else:
            @tf.function
            def step(x): pass
        for x in xs:
            if compiled: step(x)
            else: step(x)
    """,
    "one of two functions of a name, where the answer may have changed": """
        if compiled is None:
            def step(x): here()
        else:
            @tf.function
            def step(x): pass
        compiled = look(compiled)
        for x in xs:
            if compiled is not None: step(x)
    """,
    "what a model's constructor calls": """
        class M(keras.Model):
            def __init__(self): self.prepare()
            def prepare(self): here()
    """,
    "a Model.train_step that Keras can give no data": """
        class M(keras.Model):
            def train_step(self): here()
        M().train_step()
    """,
    "a method that asks for the value of what it computes, whoever calls it": """
        from base import Base
        class A(Base):
            def score(self, x):
                here()
                return self.model(x)[0].numpy()
            def rank(self, x): return self.score(x)
    """,
    "the module": "here()",
    "a plain function": "def f(): here()\nf()",
    "a function that nobody calls": "def f(): here()",
    "a program's main function": "from absl import app\ndef f(): here()\ndef main(argv): f()\napp.run(main)",
    "a program's main function, TensorFlow 1": "def main(_): here()\ntf.compat.v1.app.run(main=main)",
    "a program's main function behind a lambda": "from absl import app\ndef f(): here()\napp.run(lambda _: f())",
    "a process of some context": "def f(): here()\nstarted = [context.Process(target=f) for _ in range(4)]",
    "a thread": "import threading\ndef f(): here()\nthreading.Thread(target=f, args=(1,)).start()",
    "a search over settings": "import wandb\ndef f(): here()\nwandb.agent('sweep', f, count=9)",
    "a plain class with a method named call": "class A:\n    def call(self): here()\nA().call()",
    "a plain class with a method named train_step": "class A:\n    def train_step(self): here()\nA().train_step()",
    "reached both ways": "def f(): here()\n@tf.function\ndef g(): f()\nf()",
    "strategy.run in eager code": "strategy = tf.distribute.MirroredStrategy()\ndef f(x): here()\nstrategy.run(f, args=(x,))",
    "everything turned eager": "tf.config.run_functions_eagerly(True)\n@tf.function\ndef f(): here()\nf()",
    "a method found through a parameter": """
        class A:
            def learn(self): here()
        def run(agent):
            agent.learn()
        run(A())
    """,
}

UNKNOWN = {
    "a method that asks for the value of what it is given, which may be none": """
        from base import Base
        class A(Base):
            def score(self, x):
                here()
                return x.numpy() if hasattr(x, "numpy") else x
            def rank(self, x): return self.score(x)
    """,
    "a function that asks for a value, handed to something unknown": "def f(x):\n    here()\n    return model(x).numpy()\nregister(f)",
    "Model.train_step that takes more than Keras gives it": "class M(keras.Model):\n    def train_step(self, x, optimizer): here()",
    "any method, where one is compiled by a name that is not known": """
        class A:
            def __init__(self, name):
                run = getattr(self, name)
                run = tf.function(run)
                setattr(self, name, run)
            def step(self): here()
        A(name).step()
    """,
    "what such a method alone calls": """
        def helper(): here()
        class A:
            def __init__(self, name):
                setattr(self, name, tf.function(getattr(self, name)))
            def step(self): helper()
    """,
    "a method of a derived class": """
        class A:
            def __init__(self, name):
                setattr(self, name, tf.function(getattr(self, name)))
        class B(A):
            def step(self): here()
    """,
    "handed to something unknown": "def f(): here()\nregister(f)",
    "returned": "def make():\n    def f(): here()\n    return f",
    "a method whose base is elsewhere": "from base import Base\nclass A(Base):\n    def train(self): here()",
    "a method of a tf.Module that nobody here calls": "class A(tf.Module):\n    def learn(self): here()",
    "a function that asks for the mode": "def f():\n    if not tf.executing_eagerly(): return\n    here()",
    "a method of a model that nobody here calls": "class A(keras.Model):\n    def learn(self): here()",
    "py_function": "def f(x): here()\ny = tf.py_function(f, [x], tf.float32)",
    "map on something that may be no dataset": "def f(x): here()\npool.map(f, xs)",
}


@pytest.mark.parametrize("source", UNKNOWN.values(), ids=UNKNOWN.keys())
def test_what_may_be_compiled_elsewhere_is_neither(source: str) -> None:
    model = model_of(source)
    assert not model.is_compiled(here(model))
    assert not model.is_eager(here(model))


@pytest.mark.parametrize("source", EAGER.values(), ids=EAGER.keys())
def test_code_outside_a_trace_is_eager(source: str) -> None:
    model = model_of(source)
    assert model.is_eager(here(model))


@pytest.mark.parametrize("source", COMPILED.values(), ids=COMPILED.keys())
def test_a_body_that_tensorflow_traces_is_compiled(source: str) -> None:
    model = model_of(source)
    assert model.is_compiled(here(model))
