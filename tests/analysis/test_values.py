"""Kinds of values, followed in the order of the code."""

from __future__ import annotations

import pytest

from tests.analysis.support import model_of, value_named

# A class whose attribute is a model, until a setter is called.
SETTER = "class A:\n  def __init__(self): self.m = keras.Sequential()\n  def set(self, m): self.m = m\n"
# Source, then the kind that `x` has where it is last read.
VALUES = [
    ("x = 3\nx", "number"),
    ("x = 'a'\nx", "string"),
    ("x = tf.constant(1)\nx", "tensor"),
    ("x = np.zeros(3)\nx", "array"),
    ("x = tf.constant(1)\nx = x.numpy()\nx", "array"),
    ("x = tf.Variable(1.0)\nx", "variable"),
    (
        "class A:\n  def __init__(self): self.n = tf.constant(0)\n  def f(self): self.n += 1\nx = A().n\nx",
        "tensor",
    ),
    ("class A:\n  def __init__(self): self.n = 0\n  def f(self): self.n += 1\nx = A().n\nx", "number"),
    ("class A:\n  def __init__(self, n): self.n = n\n  def f(self): self.n += 1\nx = A(y).n\nx", "unknown"),
    ("x = keras.Sequential()\nx", "model"),
    ("from transformers import TFGPT2LMHeadModel as M\nx = M.from_pretrained('gpt2')\nx", "model"),
    ("from transformers import TFBertModel\nx = TFBertModel(config)\nx", "model"),
    ("from transformers import TFTrainer\nx = TFTrainer(model)\nx", "unknown"),
    ("from transformers import GPT2Tokenizer as T\nx = T.from_pretrained('gpt2')\nx", "unknown"),
    ("def f(task, y):\n  task.net(y, training=True)\n  x = task.net\n  x", "model"),
    ("def f(task, y):\n  task.step(y, training=True)\n  x = task.step\n  x", "unknown"),
    ("def f(task, other, y):\n  task.net(y, training=True)\n  x = other.net\n  x", "unknown"),
    (
        "def build():\n  model = keras.Sequential()\n  model.compile(loss='mse')\n  return model\n"
        "class A:\n"
        "  def __init__(self, model):\n    self.near = model(3)\n    self.far = model(3)\n"
        "  def f(self, a, b):\n"
        "    self.near.fit(a, b)\n    self.near.load_weights(a)\n"
        "    self.far.set_weights(self.near.get_weights())\n"
        "    x = self.far\n    x",
        "model",
    ),
    (
        "class A:\n  def f(self):\n    self.far.set_weights(self.near.get_weights())\n    x = self.far\n    x",
        "unknown",
    ),
    (
        "class A:\n"
        "  def f(self):\n"
        "    self.far.set_weights(self.near.get_weights())\n    self.near.set_weights(self.far.get_weights())\n"
        "    x = self.far\n    x",
        "unknown",
    ),
    ("x = keras.layers.Dense(1)\nx", "layer"),
    ("x = keras.layers.Dense(1)(y)\nx", "tensor"),
    ("x = keras.optimizers.Adam()\nx", "optimizer"),
    ("x = keras.optimizers.legacy.SGD()\nx", "optimizer"),
    ("x = keras.metrics.Mean()\nx", "metric"),
    ("x = keras.losses.MeanSquaredError()\nx", "loss"),
    ("x = tf.compat.v1.Session()\nx", "session"),
    ("with tf.GradientTape() as x: pass\nx", "tape"),
    ("with tf.GradientTape() as t: pass\nx = t.gradient(a, b)\nx", "list"),
    ("@tf.function\ndef x(): pass\nx", "compiled"),
    ("@tf.function\ndef f(): return g()\nx = f()\nx", "tensor"),
    ("@tf.function\ndef f(): return a, b\nx, y = f()\nx", "tensor"),
    ("def f(): return tf.constant(1)\nx = f()\nx", "tensor"),
    ("def f(): return tf.constant(1), 3\n_, x = f()\nx", "number"),
    ("class M(keras.Model): pass\nx = M()\nx", "model"),
    ("from tensorflow.keras import Model\nclass Model(Model): pass\nx = Model()\nx", "model"),
    ("class M(keras.Model): pass\nm = M()\nx = m(y)\nx", "tensor"),
    (
        "class A:\n  def __init__(self): self.m = keras.Sequential()\n  def f(self):\n    x = self.m\n    x",
        "model",
    ),
    ("class A:\n  def __init__(self): self.m = keras.Sequential()\na = A()\nx = a.m\nx", "model"),
    (
        "class A:\n  def f(self):\n    self.a = 3\n    self.a = tf.constant(1)\n    x = self.a\n    x",
        "tensor",
    ),
    (
        "class A:\n  def g(self): self.a = 3\n  def f(self):\n    self.a = tf.constant(1)\n    self.g()\n"
        "    x = self.a\n    x",
        "unknown",
    ),
    # An annotation of a field says what one of a parameter would; that of a variable, where its value is not known.
    ("class A:\n  m: keras.Model\n  def f(self):\n    x = self.m\n    x", "model"),
    ("class A:\n  m: keras.Model = None\n  def f(self):\n    x = self.m\n    x", "model"),
    ("class A:\n  m: keras.Model\n  def f(self):\n    self.m = 3\n    x = self.m\n    x", "number"),
    ("class A:\n  m: keras.Model\nclass B(A):\n  def f(self):\n    x = self.m\n    x", "model"),
    ("class A:\n  m: Unknown\n  def f(self):\n    x = self.m\n    x", "unknown"),
    ("class A:\n  m: int = 3\n  def f(self):\n    x = self.m\n    x", "number"),
    (
        "class A:\n  def __init__(self, m): self.m: keras.Model = m\n  def f(self):\n    x = self.m\n    x",
        "model",
    ),
    ("def f(given):\n  x: keras.Model = given.net\n  x", "model"),
    ("def f():\n  x: keras.Model = 3\n  x", "number"),
    # A setter that nobody calls says nothing of an object; one that somebody calls, and of other values, does.
    (f"{SETTER}  def f(self):\n    x = self.m\n    x", "model"),
    (f"{SETTER}  def f(self):\n    x = self.m\n    x\nA().set(load())", "unknown"),
    (f"{SETTER}  def f(self):\n    x = self.m\n    x\nA().set(3)", "unknown"),
    (f"{SETTER}  def f(self):\n    x = self.m\n    x\nA().set(keras.Model(i, o))", "model"),
    (f"{SETTER}  def f(self):\n    x = self.m\n    x".replace("keras.Sequential()", "None"), "unknown"),
    (f"{SETTER}  def f(self):\n    x = self.m\n    x".replace("keras.Sequential()", "3"), "unknown"),
    (f"{SETTER}  def f(self):\n    x = self.m\n    x".replace("= m", "= m.net"), "unknown"),
    ("class A:\n  def make(self): return tf.constant(1)\nx = A().make()\nx", "tensor"),
    ("a = tf.constant(1)\nx = a * 2 + 1\nx", "tensor"),
    ("a = tf.constant([1, 2])\nx = a[0]\nx", "tensor"),
    ("x = [tf.constant(1), tf.constant(2)][0]\nx", "tensor"),
    ("for x in tf.data.Dataset.range(3): x", "tensor"),
    ("for i, x in enumerate(tf.data.Dataset.range(3)): x", "tensor"),
    ("for x, _ in zip(tf.data.Dataset.range(3), range(3)): x", "tensor"),
    ("for x in tf.data.Dataset.range(3).as_numpy_iterator(): x", "array"),
    ("x = next(iter(tf.data.Dataset.range(3)))\nx", "tensor"),
    ("x = iter(tf.data.Dataset.range(3))\nx", "iterator"),
    ("def f(x): x\nf(tf.constant(1))", "tensor"),
    ("def f(x: tf.data.Dataset): x", "dataset"),
    ("from typing import Optional\ndef f(x: Optional[keras.Model] = None): x", "model"),
    ("def f(x: keras.Sequential | None = None): x", "model"),
    ("from typing import List\ndef f(x: List[keras.Model]): x", "unknown"),
    ("if a:\n  x = tf.constant(1)\nelse:\n  x = tf.constant(2)\nx", "tensor"),
    ("x = None\nif a: x = tf.constant(1)\nx", "tensor"),
    ("x = tf.constant(1.0)\nfor i in range(9):\n  x = x * 2.0\nx", "tensor"),
    # What is not known stays unknown.
    ("x = other()\nx", "unknown"),
    ("def f(x): x", "unknown"),
    ("def f(x): x\nf(tf.constant(1))\nf(3)", "unknown"),
    ("if a:\n  x = tf.constant(1)\nelse:\n  x = np.zeros(3)\nx", "unknown"),
    ("x = 0\nif a: x = tf.constant(1)\nx", "unknown"),
    ("x = tf.constant(1)\nfor i in range(9):\n  x\n  x = np.asarray(x)\n", "unknown"),
    ("for x in loader: x", "unknown"),
    ("a, *x = f()\nx", "unknown"),
]


@pytest.mark.parametrize(("source", "kind"), VALUES)
def test_a_value_is_known_by_what_made_it(source: str, kind: str) -> None:
    assert value_named(model_of(source), "x") == kind


def test_an_element_of_a_dataset_is_a_host_value_until_it_is_computed_with() -> None:
    model = model_of("for x in tf.data.Dataset.range(3):\n  x\n  y = x * 2\n  y")
    names = model.walk.names
    assert model.value(names["x"][-1]).host
    assert not model.value(names["y"][-1]).host


# Source, then the stages of `x` however it was built: one list for each way.
SLICES = "x = tf.data.Dataset.from_tensor_slices(d)\n"
PIPELINES = [
    (SLICES + "x", [["from_tensor_slices"]]),
    (SLICES + "x = x.map(f).batch(8)\nx", [["from_tensor_slices", "map", "batch"]]),
    (SLICES + "if s: x = x.shuffle(9)\nx = x.batch(8)\nx", [["from_tensor_slices", "batch"], ["from_tensor_slices", "shuffle", "batch"]]),
    ("def make():\n  d = tf.data.Dataset.range(9)\n  return d.batch(3)\nx = make()\nx", [["range", "batch"]]),
    ("def add(d): return d.batch(3)\nx = add(tf.data.Dataset.range(9))\nx", [["range", "batch"]]),
    ("x = tf.data.TFRecordDataset(names).repeat()\nx", [["tf.data.TFRecordDataset", "repeat"]]),
    ("class A:\n  def __init__(self): self.d = tf.data.Dataset.range(9).batch(3)\n  def f(self):\n    x = self.d.prefetch(1)\n    x", [["range", "batch", "prefetch"]]),
    ("import tensorflow_datasets as tfds\nx = tfds.load('mnist', split='train').batch(3)\nx", [["tensorflow_datasets.load", "batch"]]),
    ("import tensorflow_datasets as tfds\n(x, y), info = tfds.load('mnist', split=['train', 'test'], with_info=True)\nx", [["tensorflow_datasets.load"]]),
    ("x = unknown().batch(8)\nx", []),
]  # fmt: skip


@pytest.mark.parametrize(("source", "stages"), PIPELINES)
def test_a_dataset_is_known_with_the_stages_it_went_through(source: str, stages: list[list[str]]) -> None:
    model = model_of(source)
    value = model.value(model.walk.names["x"][-1])
    assert sorted([stage.name for stage in pipeline] for pipeline in value.pipelines) == sorted(stages)


def test_a_dataset_zipped_from_batched_ones_is_batched() -> None:
    model = model_of("a = tf.data.Dataset.range(9).batch(3)\nx = tf.data.Dataset.zip((a, a))\nx")
    assert model.value(model.walk.names["x"][-1]).some_pipeline_has("batch")


def test_a_thousand_definitions_in_a_row_are_survived() -> None:
    source = "x = tf.constant(1.0)\n" + "x = tf.nn.relu(x)\n" * 1000 + "x"
    assert value_named(model_of(source), "x") == "tensor"


TWO = "class A:\n  def f(self): return tf.constant(1)\n  def g(self): return 1\nclass B:\n  def f(self): return tf.constant(2)\n"


@pytest.mark.parametrize(
    ("code", "kinds", "members"),
    [
        # Chosen by branches, a conditional expression, an attribute, a list, a dict, a parameter, a function.
        ("if flag: x = A()\nelse: x = B()\nx", ["instance"] * 2, "tensor"),
        ("x = A() if flag else B()\nx", ["instance"] * 2, "tensor"),
        ("for x in [A(), B()]:\n  x", ["instance"] * 2, "tensor"),
        ("x = {'a': A(), 'b': B()}[flag]\nx", ["instance"] * 2, "tensor"),
        ("x = {'a': A, 'b': B}[flag]()\nx", ["instance"] * 2, "tensor"),
        ("def g():\n  use(A())\n  use(B())\ndef use(x):\n  x", ["instance"] * 2, "tensor"),
        ("def make():\n  return A() if flag else B()\nx = make()\nx", ["instance"] * 2, "tensor"),
        ("def make():\n  return 1, (A() if flag else B())\n_, x = make()\nx", ["instance"] * 2, "tensor"),
        (
            "class C:\n  def __init__(self): self.y = A() if flag else B()\n  def f(self):\n    x = self.y\n    x",
            ["instance"] * 2,
            "tensor",
        ),
        # The same class twice is one.
        ("x = A() if flag else A()\nx", ["instance"], "tensor"),
        # None says nothing against the others, what is not known says all.
        ("x = None\nif flag: x = A()\nelse: x = B()\nx", ["instance"] * 2, "tensor"),
        ("if flag: x = A()\nelif other: x = B()\nelse: x = unknown()\nx", ["unknown"], "unknown"),
        ("x = A() if flag else 3\nx", ["unknown"], "unknown"),
    ],
)
def test_one_of_several_objects_has_what_all_of_them_have(code: str, kinds: list[str], members: str) -> None:
    before, _, last = code.rpartition("\n")
    indent = last[: len(last) - len(last.lstrip())]
    model = model_of(f"{TWO}{before}\n{indent}y = x.f()\n{indent}z = x.g()\n{indent}x, y, z")
    assert [each.kind for each in model.value(model.walk.names["x"][-1]).alternatives] == kinds
    assert value_named(model, "y") == members
    # One of them has no such method.
    assert value_named(model, "z") == ("number" if kinds == ["instance"] else "unknown")


def test_a_method_finds_what_classes_derived_from_its_own_set() -> None:
    model = model_of("""
        class Net:
            def train(self): here()
        class Agent:
            def learn(self):
                self.net.train()
        class Deep(Agent):
            def __init__(self):
                self.net = Net()
        class Deeper(Agent):
            def __init__(self):
                self.net = Net()
    """)
    (call,) = model.calls_named("train")
    assert [function.name for function in model.calls.targets(call)] == ["train"]


NETS_THAT_DECODE = """
    class Net:
        def encode(self, x): return x
        def decode(self, x): return x
    def both(net, x):
        return net.decode(net.encode(x))
    def read(process):
        for line in process.stdout:
            print(line.decode())
"""


def test_what_python_has_too_is_no_method_of_a_class_by_its_name_alone() -> None:
    model = model_of(NETS_THAT_DECODE)
    of_net, of_bytes = sorted(model.calls_named("decode"), key=lambda call: bool(call.args), reverse=True)
    assert [function.name for function in model.calls.targets(of_net)] == ["decode"]
    assert list(model.calls.targets(of_bytes)) == []
