"""TFP101 eager-train-step."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from textwrap import dedent, indent

import pytest

from tests.rules.support import costs_told, findings, fixed, flagged, notes
from tflint_perf.config.settings import Settings
from tflint_perf.lint.fix import fix_source
from tflint_perf.text.source import Source

PREAMBLE = dedent("""\
    import tensorflow as tf
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.Adam()
    dataset = tf.data.Dataset.from_tensor_slices(data).batch(32)
""")
STEP = """\
with tf.GradientTape() as tape:
    loss = loss_fn(y, model(x))
gradients = tape.gradient(loss, model.trainable_variables)
optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""


def inline(indent: int) -> str:
    """The step, indented."""
    return "".join(" " * indent + line for line in STEP.splitlines(keepends=True))


# A function that computes gradients, and a loop of steps that calls it.
GIVEN_IN_DICT = "def grad(x):\n  with tf.GradientTape() as tape:\n    loss = f(x, v)\n{}for x in dataset:\n"
ONE_LAYER = (
    "with tf.GradientTape() as tape:\n    loss = layer(zeros)\nweights = layer.trainable_variables\n"
    "optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))\n"
)
# A function that a minimizer of SciPy may be given, and what gives it that, with the file's other functions in between.
ASKED = """\
import scipy.optimize as sopt
from scipy.optimize import minimize
def both(flat):
    assign(flat)
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x))
    gradients = tape.gradient(loss, model.trainable_variables)
    return loss.numpy(), flatten(gradients)
{rest}
"""
SILENT = {
    "a minimizer of another library": (
        "import gpflow\nclass Policy:\n    def __init__(self):\n        self.optimizer = gpflow.optimizers.Scipy()\n"
        "    def loss(self):\n        return tf.reduce_mean(model(states))\n"
        "    def learn(self):\n        for restart in range(1000):\n"
        "            self.optimizer.minimize(self.loss, model.trainable_variables)\nPolicy().learn()\n"
    ),
    "a step for each of ten tasks, in a few steps of another tape": (
        "for round in range(10):\n  with tf.GradientTape() as outer:\n    losses = []\n"
        "    for task, (x, y) in enumerate(dataset.take(10)):\n"
        "      with tf.GradientTape() as inner:\n        loss = loss_fn(y, model(x))\n"
        "      optimizer.apply_gradients(zip(inner.gradient(loss, model.variables), model.variables))\n"
        "      losses.append(loss)\n"
        "    total = sum(losses)\n"
        "  other.apply_gradients(zip(outer.gradient(total, model.variables), model.variables))\n"
    ),
    "a program of version 1 that turns no eager mode on": (
        "import tensorflow as tf\ntable = tf.contrib.lookup.MutableHashTable(tf.int64, tf.string, '')\n"
        "model, optimizer = make()\nfor x, y in dataset:\n    with tf.GradientTape() as tape:\n"
        "        loss = tf.reduce_mean(model(x) - y)\n"
        "    optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))\n"
    ),
    "a step in a branch that a switch at the top leaves out": (
        "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\noptimizer = tf.keras.optimizers.Adam()\nATTENDS = False\n"
        "if ATTENDS:\n    def step(x, y):\n        with tf.GradientTape() as tape:\n"
        "            loss = tf.reduce_mean(model(x) - y)\n"
        "        optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))\n"
        "    for x, y in dataset:\n        step(x, y)\n"
    ),
    "a function that a minimizer asks for no gradients": ASKED.format(rest="minimize(both, start)"),
    "a function that a minimizer asks for a loss that is made of gradients, under another tape": (
        "from scipy.optimize import minimize\n"
        "def residual():\n    with tf.GradientTape() as tape:\n        u = model(x)\n"
        "    return loss_fn(tape.gradient(u, x))\n"
        "@tf.function\ndef compute():\n    with tf.GradientTape() as outer:\n        loss = residual()\n"
        "    return loss, outer.gradient(loss, model.trainable_variables)\n"
        "def both(flat):\n    loss, gradients = compute()\n    return loss.numpy(), flatten(gradients)\n"
        "minimize(both, start, jac=True)\n"
    ),
    "a compiled loss, of which a minimizer asks for gradients": (
        "from scipy.optimize import minimize\n"
        "@tf.function\ndef compute():\n    return loss_fn(y, model(x))\n"
        "def both(flat):\n    with tf.GradientTape() as tape:\n        loss = compute()\n"
        "    return loss.numpy(), flatten(tape.gradient(loss, model.trainable_variables))\n"
        "minimize(both, start, jac=True)\n"
    ),
    "a step for each layer, which makes an optimizer's slots": (
        "class Builder:\n  def __init__(self, net):\n    self.net = net\n    self.make_slots()\n"
        "  def make_slots(self):\n    for at in range(2, self.net.depth):\n      layer = self.net.heads[at]\n"
        + indent(ONE_LAYER, " " * 6)
    ),
    "a step for each layer, outside all functions": "for layer in model.layers:\n"
    + indent(ONE_LAYER, "    "),
    "gradients that are added to a variable made after them, for a solver that is no optimizer": (
        "def value_and_gradient(flat):\n    with tf.GradientTape() as tape:\n        loss = loss_fn(model(flat))\n"
        "    flats = []\n    for v, g in zip(model.variables, tape.gradient(loss, model.variables)):\n"
        "        dense = tf.Variable(tf.zeros(v.shape))\n        dense.assign_add(g)\n"
        "        flats.append(dense.numpy())\n    return loss.numpy(), flats\n"
        "for x, y in dataset:\n    solve(*value_and_gradient(x))\n"
    ),
    "a few steps of a tape for a few tasks each": (
        "for round in range(4):\n  with tf.GradientTape() as outer:\n    losses = []\n"
        "    for task, (x, y) in enumerate(dataset.take(2)):\n"
        "      with tf.GradientTape() as inner:\n        loss = loss_fn(y, model(x))\n"
        "      optimizer.apply_gradients(zip(inner.gradient(loss, model.variables), model.variables))\n"
        "      losses.append(loss)\n"
        "    total = sum(losses)\n"
        "  other.apply_gradients(zip(outer.gradient(total, model.variables), model.variables))\n"
    ),
    "a tape that is handed to what asks it, and applies nothing": (
        "def norms(tape, loss):\n    return tape.gradient(loss, model.trainable_variables)\n"
        "for x, y in dataset:\n    with tf.GradientTape() as tape:\n        loss = loss_fn(model(x))\n"
        "    print(norms(tape, loss))\n"
    ),
    "compiled step": "@tf.function\ndef step(x, y):\n" + inline(4) + "for x, y in dataset: step(x, y)\n",
    "step wrapped where it is used": "def step(x, y):\n"
    + inline(4)
    + "run = tf.function(step)\nfor x, y in dataset: run(x, y)\n",
    "the step of a class of which any method is compiled": (
        "class A:\n  def __init__(self, name):\n    setattr(self, name, tf.function(getattr(self, name)))\n"
        "  def learn(self, x, y):\n"
        + inline(4)
        + "  def run(self):\n    for x, y in dataset: self.learn(x, y)\n"
    ),
    "Keras train_step": "class M(tf.keras.Model):\n  def train_step(self, data):\n    x, y = data\n"
    + inline(4),
    "Keras train_step where everything is turned eager": (
        "tf.config.run_functions_eagerly(True)\nclass M(tf.keras.Model):\n  def train_step(self, data):\n    x, y = data\n"
        + inline(4)
    ),
    "a compiled step where everything is turned eager": (
        "tf.config.run_functions_eagerly(True)\n@tf.function\ndef step(x, y):\n"
        + inline(4)
        + "for x, y in dataset: step(x, y)\n"
    ),
    "a part of a compiled step where everything is turned eager": (
        "tf.config.run_functions_eagerly(True)\ndef part(x, y):\n"
        + inline(4)
        + "@tf.function\ndef step(x, y):\n    part(x, y)\nfor x, y in dataset: step(x, y)\n"
    ),
    "a function that a program no longer calls": (
        "def old(x, y):\n"
        + inline(4)
        + "@tf.function\ndef step(x, y):\n"
        + inline(4)
        + "def train():\n  for x, y in dataset: step(x, y)\nif __name__ == '__main__':\n  train()\n"
    ),
    "a function that a program no longer calls, which trains by Keras": (
        "def old(x, y):\n"
        + inline(4)
        + "def train():\n  model.compile('adam', 'mse')\n  model.fit(dataset)\nif __name__ == '__main__':\n  train()\n"
    ),
    "a step that is run once": STEP,
    "a step in a function that is run once": "def f(x, y):\n" + inline(4) + "f(a, b)\n",
    "gradients that nothing applies": (
        "for x, y in dataset:\n    with tf.GradientTape() as tape:\n        loss = model(x)\n    print(tape.gradient(loss, x))\n"
    ),
    "gradients that a function only looks at": (
        "def log(gradients, counter):\n    counter.assign_add(1)\n    print(gradients)\n"
        "for x, y in dataset:\n    with tf.GradientTape() as tape:\n        loss = model(x)\n    log(tape.gradient(loss, x), counter)\n"
    ),
    "a method whose base is elsewhere": "from base import Agent\nclass A(Agent):\n  def train(self, x, y):\n"
    + inline(4),
    "a method whose base is elsewhere, with a loop that may be compiled": (
        "from base import Agent\nclass A(Agent):\n  def train(self, x, y):\n    for i in tf.range(9):\n"
        + inline(6)
    ),
    "a method that another of its name hides": (
        "class A:\n  def train(self, x, y):\n"
        + inline(4)
        + "  @tf.function\n  def train(self, x, y):\n"
        + inline(4)
        + "a = A()\nfor x, y in dataset: a.train(x, y)\n"
    ),
    "a function that `minimize` is given in a compiled step": (
        "@tf.function\ndef step(x):\n    optimizer.minimize(lambda: loss_fn(model(x)), model.trainable_variables)\n"
        "for x, y in dataset: step(x)\n"
    ),
    "a loss that `minimize` makes an op of": (
        "loss = tf.reduce_mean(model(x))\nfor x, y in dataset:\n    optimizer.minimize(loss, model.trainable_variables)\n"
    ),
    "what a window does not run": ("def run():\n  for x, y in dataset:\n" + inline(4) + "queue.after(run)\n"),
    "a function handed on": "def step(x, y):\n" + inline(4) + "trainer.register(step)\n",
    "gradients in a dictionary of which something else is applied": (
        GIVEN_IN_DICT.format(
            "  out = {'g': {}, 'loss': loss}\n  out['g']['q'] = tape.gradient(loss, v)\n  return out\n"
        )
        + "  out = grad(x)\n  mean.assign_add(out['loss'])\n  optimizer.apply_gradients(zip(out['g']['other'], v))\n"
    ),
    "gradients in a dictionary that is written out, of which something else is applied": (
        GIVEN_IN_DICT.format("  return {'g': tape.gradient(loss, v), 'loss': loss}\n")
        + "  out = grad(x)\n  mean.assign_add(out['loss'])\n"
    ),
    "gradients in a dictionary of which the keys alone are gone through": (
        GIVEN_IN_DICT.format("  out = {}\n  out['g'] = tape.gradient(loss, v)\n  return out\n")
        + "  for name in grad(x):\n    counts.assign_add(name)\n"
    ),
    "gradients in an item that is not known which": (
        GIVEN_IN_DICT.format("  kept[x.name] = tape.gradient(loss, v)\n  return kept\n")
        + "  optimizer.apply_gradients(zip(grad(x)['g'], v))\n"
    ),
    "everything compiled": "@tf.function\ndef train():\n  for x, y in dataset:\n" + inline(4) + "train()\n",
}
FLAGGED = {
    "a function that SciPy asks for a loss and its gradients": (
        ASKED.format(rest="minimize(both, start, jac=True)"), 9),
    "a function that SciPy asks for both unless it is told otherwise": (
        ASKED.format(rest="sopt.fmin_l_bfgs_b(both, start)"), 9),
    "a function that computes gradients for a method that SciPy asks": (
        "import scipy.optimize\n"
        "class Fit:\n"
        "    def evaluate(self, flat):\n        self.assign(flat)\n        loss, grads = self.compute(x, y)\n"
        "        return loss.numpy(), flatten([g.numpy() for g in grads])\n"
        "    def compute(self, x, y):\n        with tf.GradientTape() as tape:\n            loss = loss_fn(y, model(x))\n"
        "        return loss, tape.gradient(loss, model.trainable_variables)\n"
        "    def fit(self, start):\n        scipy.optimize.fmin_l_bfgs_b(x0=start, func=self.evaluate)\n", 12),
    "a function that SciPy asks for gradients alone": (
        ASKED.format(rest="sopt.minimize(loss, start, jac=lambda flat: both(flat)[1])"), 9),
    "a step for each layer in each step": (
        "for x, y in dataset:\n  for layer in model.layers:\n" + indent(ONE_LAYER, " " * 4), 7),
    "a step for each layer, in a function that may run on each step": (
        "def step(zeros):\n  for layer in model.layers:\n" + indent(ONE_LAYER, " " * 4), 7),
    "a step with a variable made before its gradients": (
        "def fit():\n    w = tf.Variable(1.0)\n    for x, y in dataset:\n        with tf.GradientTape() as tape:\n"
        "            loss = loss_fn(y, w * x)\n        w.assign_sub(tape.gradient(loss, w))\nfit()\n", 8),
    "a tape that is handed to what asks it and applies that": (
        "def update(tape, net, loss):\n    gradients = tape.gradient(loss, net.trainable_variables)\n"
        "    optimizer.apply_gradients(zip(gradients, net.trainable_variables))\n"
        "for x, y in dataset:\n    with tf.GradientTape(persistent=True) as tape:\n        loss = loss_fn(model(x))\n"
        "    update(tape, model, loss)\n    update(tape, other, loss)\n", 9),
    "a function that `minimize` of what is not known is given": (
        "def step(optimizer, x):\n    optimizer.minimize(lambda: loss_fn(model(x)), var_list=model.trainable_variables)\n"
        "for x, y in dataset: step(make(), x)\n", 6),
    "a function that `minimize` is given": (
        "def step(x):\n    optimizer.minimize(lambda: loss_fn(model(x)), model.trainable_variables)\n"
        "for x, y in dataset: step(x)\n", 6),
    "a function with a name that `minimize` is given in the loop": (
        "for x, y in dataset:\n    def loss():\n        return loss_fn(model(x))\n"
        "    optimizer.minimize(loss, var_list=model.trainable_variables)\n", 8),
    "a method whose base is elsewhere, in a loop with a progress bar of its own": (
        "from base import Agent\nclass A(Agent):\n  def train(self):\n    for x, y in tqdm(dataset):\n" + inline(6), 9),
    "a method whose base is elsewhere, that another with a loop over epochs calls": (
        "from base import Agent\nclass A(Agent):\n  def learn(self, x, y):\n" + inline(4)
        + "  def train(self, epochs):\n    for epoch in range(epochs):\n      for x, y in dataset:\n"
        "        self.learn(x, y)\n      print(epoch)\n", 8),
    "a loop that a window runs": (
        "def run():\n  for x, y in dataset:\n" + inline(4) + "window.after(100, run)\nwindow.mainloop()\n", 7),
    "a method of one of two objects": (
        "class A:\n  def fit_one(self, x, y):\n" + inline(4) + "class B:\n  @tf.function\n  def fit_one(self, x, y):\n"
        + inline(4) + "agent = A() if simple else B()\nfor x, y in dataset: agent.fit_one(x, y)\n", 7),
    "gradients that a function applies": (
        "def update(gradients, weights):\n    for g, w in zip(gradients, weights):\n        w.assign_sub(0.1 * g)\n"
        "for x, y in dataset:\n    with tf.GradientTape() as tape:\n        loss = loss_fn(y, model(x))\n"
        "    gradients = tape.gradient(loss, model.weights)\n    update(gradients, model.weights)\n", 9),
    "gradients that a method applies": (
        "class Trainer:\n    def update(self, g, model):\n        optimizer.apply_gradients(zip(g, model.weights))\n"
        "    def step(self, x):\n        with tf.GradientTape() as tape:\n            loss = model(x)\n"
        "        self.update(tape.gradient(loss, model.weights), model)\n"
        "trainer = Trainer()\nfor x, y in dataset:\n    trainer.step(x)\n", 9),
    "once an episode": (
        "for episode in range(100):\n    while not done:\n        state, reward, done, _ = env.step(0)\n" + inline(4), 8),
    "once an episode, in a function": (
        "def step(x, y):\n" + inline(4) + "for episode in range(100):\n    while not done:\n"
        "        state, reward, done, _ = env.step(0)\n    step(x, y)\n", 6),
    "inline over a dataset": ("for x, y in dataset:\n" + inline(4), 6),
    "inline over something unknown": ("for x, y in loader:\n" + inline(4), 6),
    "inline in a loop over epochs": ("for epoch in range(1000):\n" + inline(4), 6),
    "inline in a while": ("while True:\n" + inline(4), 6),
    "in a function that the loop calls": ("def step(x, y):\n" + inline(4) + "for x, y in dataset: step(x, y)\n", 6),
    "in a function that nobody here calls": ("def step(x, y):\n" + inline(4), 6),
    "in a method of a plain class": ("class T:\n  def step(self, x, y):\n" + inline(4) + "t = T()\nfor x, y in dataset: t.step(x, y)\n", 7),
    "gradients applied by the caller": (
        "def grad(x):\n  with tf.GradientTape() as tape:\n    loss = model(x)\n  return tape.gradient(loss, v)\n"
        "for x in dataset:\n  g = grad(x)\n  optimizer.apply_gradients(zip(g, v))\n",
        6,
    ),
    "updates by hand": (
        "for x in dataset:\n  with tf.GradientTape() as t:\n    loss = f(x, w)\n  dw = t.gradient(loss, w)\n  w.assign_sub(0.1 * dw)\n",
        6,
    ),
    "updates by hand in a loop": (
        "for x in dataset:\n  with tf.GradientTape() as t:\n    loss = f(x)\n  gs = t.gradient(loss, vs)\n"
        "  for v, g in zip(vs, gs):\n    v.assign_sub(0.1 * g)\n",
        6,
    ),
    "gradients that leave a function in a dictionary": (
        GIVEN_IN_DICT.format("  grads = {}\n  grads['q'] = tape.gradient(loss, v)\n  return grads\n")
        + "  grads = grad(x)\n  optimizer.apply_gradients(zip(grads['q'], v))\n",
        6,
    ),
    "gradients that leave a function in a dictionary of dictionaries, beside something else": (
        GIVEN_IN_DICT.format(
            "  grads = {'q': {'g': [], 'v': v}}\n  grads['q']['g'] = tape.gradient(loss, v)\n  return loss, grads\n"
        )
        + "  loss, grads = grad(x)\n  optimizer.apply_gradients(zip(grads['q']['g'], grads['q']['v']))\n",
        6,
    ),
    "gradients that leave a function in a dictionary that is written out": (
        GIVEN_IN_DICT.format("  g = tape.gradient(loss, v)\n  return {'loss': loss, 'of': {'q': g}}\n")
        + "  q = grad(x)['of']\n  optimizer.apply_gradients(zip(q['q'], v))\n",
        6,
    ),
    "gradients of which a dictionary is gone through": (
        GIVEN_IN_DICT.format("  grads = {}\n  grads['q'] = tape.gradient(loss, v)\n  return grads\n")
        + "  for name, g in grad(x).items():\n    optimizer.apply_gradients(zip(g, v[name]))\n",
        6,
    ),
    "gradients that are added up in a dictionary": (
        GIVEN_IN_DICT.format(
            "  new = tape.gradient(loss, v)\n  grads = {'q': []}\n  if len(grads['q']) == 0:\n    grads['q'] = new\n"
            "  else:\n    grads['q'] = [a + b for a, b in zip(new, grads['q'])]\n  return grads\n"
        )
        + "  for name in ['q']:\n    optimizer.apply_gradients(zip(grad(x)[name], v))\n",
        6,
    ),
    "clipped gradients": (
        "for x in dataset:\n  with tf.GradientTape() as t:\n    loss = f(x)\n  gs = t.gradient(loss, vs)\n"
        "  gs = [tf.clip_by_norm(g, 1.0) for g in gs]\n  optimizer.apply_gradients(zip(gs, vs))\n",
        6,
    ),
    "a step that also runs outside compiled code, where everything is turned eager": (
        "tf.config.run_functions_eagerly(True)\ndef part(x, y):\n" + inline(4)
        + "@tf.function\ndef step(x, y):\n    part(x, y)\nfor x, y in dataset: step(x, y) or part(x, y)\n",
        7,
    ),
    "a function that a module offers, which runs none of its steps itself": (
        "def offered(x, y):\n" + inline(4) + "@tf.function\ndef step(x, y):\n" + inline(4)
        + "def train():\n  for x, y in dataset: step(x, y)\n",
        6,
    ),
    "a step of its own where everything is turned eager": (
        "tf.config.run_functions_eagerly(True)\ndef step(x, y):\n" + inline(4) + "for x, y in dataset: step(x, y)\n",
        7,
    ),
}  # fmt: skip
FORMS = [
    ("from tensorflow import GradientTape", "GradientTape()"),
    ("import tensorflow.compat.v2 as tf2", "tf2.GradientTape()"),
    ("import tensorflow", "tensorflow.GradientTape(persistent=True)"),
    ("from tensorflow.python.eager import backprop", "backprop.GradientTape()"),
    ("from tensorflow import *", "GradientTape()"),
]


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT.keys())
def test_it_stays_silent(source: str) -> None:
    assert flagged("TFP101", PREAMBLE + source) == []


def test_what_a_minimizer_asks_for_is_said_to_be_that_and_tells_no_cost() -> None:
    source = PREAMBLE + ASKED.format(rest="minimize(both, start, jac=True)")
    assert costs_told("TFP101", source) == [False]
    (finding,) = findings("TFP101", source)
    assert finding.message == (
        "what a minimizer asks for, the loss and its gradients, is computed in eager mode, op by op, on each step; "
        "compile it with `@tf.function`"
    )


@pytest.mark.parametrize(("source", "row"), FLAGGED.values(), ids=FLAGGED.keys())
def test_it_flags_the_tape(source: str, row: int) -> None:
    assert flagged("TFP101", PREAMBLE + source) == [row]


@pytest.mark.parametrize(("imports", "tape"), FORMS)
def test_it_knows_the_tape_through_every_import(imports: str, tape: str) -> None:
    step = STEP.replace("tf.GradientTape()", tape)
    source = f"{imports}\nfor x, y in loader:\n" + "".join(
        "    " + line for line in step.splitlines(keepends=True)
    )
    assert flagged("TFP101", source) == [3]


def test_two_tapes_of_one_with_are_one_finding() -> None:
    source = """\
import tensorflow as tf
for x in data:
    with tf.GradientTape() as g_tape, tf.GradientTape() as d_tape:
        g_loss, d_loss = losses(x)
    g_opt.apply_gradients(zip(g_tape.gradient(g_loss, g_vars), g_vars))
    d_opt.apply_gradients(zip(d_tape.gradient(d_loss, d_vars), d_vars))
"""
    assert flagged("TFP101", source) == [3]
    assert "    train_step(x)\n" in fixed("TFP101", source)


def test_a_tape_inside_another_is_not_reported_apart() -> None:
    source = """\
import tensorflow as tf
for x in data:
    with tf.GradientTape() as tape:
        with tf.GradientTape() as inner:
            p = critic(x)
        penalty = tf.norm(inner.gradient(p, x))
        loss = p + penalty
    optimizer.apply_gradients(zip(tape.gradient(loss, v), v))
"""
    assert flagged("TFP101", source) == [3]


def test_a_function_is_decorated() -> None:
    source = (
        PREAMBLE + "\n# one step\ndef step(x, y):\n" + inline(4) + "\nfor x, y in dataset:\n    step(x, y)\n"
    )
    assert fixed("TFP101", source) == source.replace("def step", "@tf.function\ndef step")


def test_a_method_is_decorated_below_its_other_decorators() -> None:
    source = (
        PREAMBLE
        + "class T:\n    @staticmethod\n    def step(x, y):\n"
        + inline(8)
        + "for x, y in dataset: T.step(x, y)\n"
    )
    assert fixed("TFP101", source) == source.replace("    def step", "    @tf.function\n    def step")


def test_batches_of_varying_shape_ask_for_reduced_retracing() -> None:
    source = (
        PREAMBLE.replace(".batch(32)", ".padded_batch(32)")
        + "def step(x, y):\n"
        + inline(4)
        + "for x, y in dataset: step(x, y)\n"
    )
    assert "@tf.function(reduce_retracing=True)\ndef step" in fixed("TFP101", source)


def test_an_import_is_added_when_there_is_no_way_to_say_tf_function() -> None:
    source = "from tensorflow import GradientTape\n\ndef step(x):\n    with GradientTape() as tape:\n        loss = f(x)\n    o.apply_gradients(zip(tape.gradient(loss, v), v))\n"
    assert fixed("TFP101", source) == source.replace("Tape\n\n", "Tape\nimport tensorflow as tf\n\n").replace(
        "def", "@tf.function\ndef"
    )


_STEP_BELOW = "def step(x):\n    with tf.GradientTape() as tape:\n        loss = f(x)\n    o.apply_gradients(zip(tape.gradient(loss, v), v))\n"


@pytest.mark.parametrize("switched_off", ["# @tf.function", "#@tf.function()", "## @tf.function"])
def test_a_decorator_in_a_comment_is_taken_out_of_it(switched_off: str) -> None:
    source = f"import tensorflow as tf\n\n# One step.\n{switched_off}\n{_STEP_BELOW}"
    assert fixed("TFP101", source) == source.replace(switched_off, switched_off.lstrip("# "))


def test_a_decorator_in_a_comment_with_arguments_is_left_to_its_author() -> None:
    source = f"import tensorflow as tf\n\n# @tf.function(jit_compile=True)\n{_STEP_BELOW}"
    assert notes("TFP101", source) == [
        "no fix: a comment above it says `@tf.function(jit_compile=True)`, which may not mean the same (line 3)"
    ]


def test_an_inline_step_is_moved_above_the_outermost_loop() -> None:
    source = (
        PREAMBLE
        + """
# Train.
for epoch in range(10):
    for i, (x, y) in enumerate(dataset):
        # One step.
        with tf.GradientTape() as tape:
            loss = loss_fn(y, model(x))  # the mean

        gradients = tape.gradient(loss, model.trainable_variables)
        # Apply.
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        if i % 100 == 0:
            print(loss)
    print("epoch", epoch, loss)
"""
    )
    after = (
        PREAMBLE
        + """

@tf.function
def train_step(x, y):
    # One step.
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x))  # the mean

    gradients = tape.gradient(loss, model.trainable_variables)
    # Apply.
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


# Train.
for epoch in range(10):
    for i, (x, y) in enumerate(dataset):
        loss = train_step(x, y)
        if i % 100 == 0:
            print(loss)
    print("epoch", epoch, loss)
"""
    )
    assert fixed("TFP101", source) == after


def test_a_taken_name_is_not_used_again() -> None:
    source = PREAMBLE + "train_step = 3\nfor x, y in dataset:\n" + inline(4)
    assert "def train_step_2(x, y):" in fixed("TFP101", source)


DECORATE_REFUSED = {
    "`.numpy()` runs on the host": "print_loss = loss.numpy()",
    "`np.mean` runs on the host": "m = np.mean(x)",
    "`np.random.rand` runs on the host": "noise = np.random.rand(3)",
    "`random.random` runs on the host": "noise = random.random()",
    "`print()` runs on the host": "print(x)",
    "`.predict()` runs on the host": "p = model.predict(x)",
    "it writes to `state.count`": "state.count = 1",
    "it writes to a container outside the step": "history[0] = x",
    "`.append()` writes to a container outside the step": "history.append(x)",
    "it writes to a name in another scope": "global counter\n    counter = counter + 1",
    "`try` does not work across traced code": "try:\n        f(x)\n    except ValueError:\n        pass",
    "a variable is created on each call": "v = tf.Variable(1.0)",
    "a layer is created on each call": "h = tf.keras.layers.Dense(1)(x)",
    "`name=` is not a string": "z = tf.identity(x, name=x)",
    "a Python counter is compared on the host": "if counter % 10 == 0:\n        f(x)",
    "`step` calls itself": "step(x, y)",
}


@pytest.mark.parametrize(("reason", "statement"), DECORATE_REFUSED.items(), ids=DECORATE_REFUSED.keys())
def test_the_fix_is_refused_where_tracing_would_change_the_program(reason: str, statement: str) -> None:
    source = (
        "import random\nimport numpy as np\n"
        + PREAMBLE
        + "history = []\ndef step(x, y):\n    "
        + statement
        + "\n"
        + inline(4)
    )
    source += "for x, y in dataset: step(x, y)\n"
    (note,) = notes("TFP101", source)
    assert note.startswith(f"no fix: {reason} (line ")


@pytest.mark.parametrize(
    "convert", ["tf.convert_to_tensor(x, dtype=tf.float32)", "tf.constant(x, tf.float32)"]
)
def test_what_only_eager_code_converts_is_converted_there(convert: str) -> None:
    step = f"def step(x, y):\n    x = {convert}\n{inline(4)}"
    (note,) = notes("TFP101", PREAMBLE + step + "for x, y in memory.batches(): step(x, y)\n")
    reason = "`x` may be an array of another type, which only eager code converts"
    assert note.startswith(f"no fix: {reason} (line ")
    kept = step.replace(", dtype=tf.float32", "").replace(", tf.float32", "")
    for others in (
        PREAMBLE + step + "for x, y in tensors: step(x, y)\n",
        PREAMBLE + kept + "for x, y in memory.batches(): step(x, y)\n",
    ):
        assert "@tf.function" in fixed(
            "TFP101",
            "import tensorflow as tf\ntensors = tf.data.Dataset.range(9).map(pair).batch(3)\n" + others,
        )


def test_the_refusal_names_the_line_on_the_call_path() -> None:
    source = (
        PREAMBLE
        + "def augment(x):\n    return flip(x.numpy())\ndef step(x, y):\n    x = augment(x)\n"
        + inline(4)
        + "for x, y in dataset: step(x, y)\n"
    )
    assert notes("TFP101", source) == ["no fix: `.numpy()` runs on the host (line 6)"]


def test_the_fix_is_refused_where_a_method_that_keras_would_trace_writes_to_an_attribute() -> None:
    source = PREAMBLE + dedent("""
        class Net(tf.keras.Model):
            def compute_loss(self, x, y):
                self.last = tf.reduce_mean(model(x) - y)
                return self.last
            def step(self, x, y):
                with tf.GradientTape() as tape:
                    loss = self.compute_loss(x, y)
                gradients = tape.gradient(loss, model.trainable_variables)
                optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        net = Net()
        for x, y in dataset:
            net.step(x, y)
    """)
    (note,) = notes("TFP101", source)
    assert note.startswith("no fix: it writes to `self.last` (line ")


EXTRACT_REFUSED = {
    "a counter in the step": "for i, (x, y) in enumerate(dataset):\n"
    + inline(4).replace("model(x)", "model(x) * i"),
    "a sum carried on": "total = 0.0\nfor x, y in dataset:\n"
    + inline(4).replace("gradients =", "total += count_of(x)\n    gradients ="),
    "a break inside": "for x, y in dataset:\n"
    + inline(4).replace("gradients =", "if bad: break\n    gradients ="),
    "a model made in a loop": "for trial in range(9):\n  model = tf.keras.Sequential()\n  for x, y in dataset:\n"
    + inline(4),
    "a text of several lines": "for x, y in dataset:\n"
    + inline(4).replace("gradients =", "s = '''a\n    b'''\n    gradients ="),
    "a list that the program keeps": "losses = []\nfor x, y in dataset:\n"
    + inline(4).replace("gradients =", "losses.append(loss)\n    gradients ="),
    "a list that the function around keeps": "def train():\n  losses = []\n  for x, y in dataset:\n"
    + indent(inline(4).replace("gradients =", "losses.append(loss)\n    gradients ="), "  ")
    + "  return losses\ntrain()\n",
    "a dictionary that the program keeps": "last = {}\nfor x, y in dataset:\n"
    + inline(4).replace("gradients =", "last['loss'] = loss\n    gradients ="),
    "applied only now and then": "for i, (x, y) in enumerate(dataset):\n"
    + inline(4).replace("optimizer.apply", "if i % 4 == 0: optimizer.apply"),
}


@pytest.mark.parametrize("source", EXTRACT_REFUSED.values(), ids=EXTRACT_REFUSED.keys())
def test_an_inline_step_that_depends_on_the_host_is_left(source: str) -> None:
    assert len(notes("TFP101", PREAMBLE + source)) == 1


def test_a_changing_attribute_is_named() -> None:
    source = (
        PREAMBLE
        + """
class Trainer:
    def __init__(self):
        self.rate = 0.1
    def decay(self):
        self.rate = self.rate * 0.9
    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = loss_fn(y, model(x)) * self.rate
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
trainer = Trainer()
for x, y in dataset:
    trainer.step(x, y)
"""
    )
    assert notes("TFP101", source) == ["no fix: `self.rate` is reassigned between calls (line 13)"]


BUILT = """
class Trainer:
    def __init__(self):
        self.build_all()
    def build_all(self):
        self.reset()
    def reset(self):
        self.rate = 0.1
    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = loss_fn(y, model(x)) * self.rate
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
class Own(Trainer):
    def build_all(self):
        super().build_all()
trainer = Own()
for x, y in dataset:
    trainer.step(x, y)
"""


def test_what_constructors_alone_run_reassigns_nothing_between_calls() -> None:
    assert "    @tf.function\n    def step(self, x, y):" in fixed("TFP101", PREAMBLE + BUILT)
    again = BUILT.replace("    trainer.step(x, y)", "    trainer.build_all()\n    trainer.step(x, y)")
    assert notes("TFP101", PREAMBLE + again) == ["no fix: `self.rate` is set between calls (line 15)"]


def test_parts_of_a_dict_are_keyword_arguments() -> None:
    source = PREAMBLE + STEP_OF_A_BATCH + "for x, y in dataset:\n    step(**{'x': x, **{'y': y}})\n"
    assert "@tf.function\ndef step(" in fixed("TFP101", source)


def test_parts_of_a_tuple_are_arguments() -> None:
    source = PREAMBLE + STEP_OF_A_BATCH + "for x, y in dataset:\n    given = (x, y)\n    step(*given)\n"
    assert "@tf.function\ndef step(" in fixed("TFP101", source)
    (note,) = notes("TFP101", source.replace("(x, y)\n    step", "(x, len(x))\n    step"))
    assert note.startswith("no fix: ")


def test_no_blank_lines_are_put_at_the_top_of_a_block() -> None:
    source = PREAMBLE + "def train():\n    for x, y in dataset:\n" + inline(8)
    assert "def train():\n    @tf.function\n" in fixed("TFP101", source)


def test_a_changing_attribute_is_seen_from_a_function_nested_in_a_method() -> None:
    source = (
        PREAMBLE
        + """
class Trainer:
    def decay(self):
        self.rate = 0.9 * self.rate
    def fit(self):
        def step(x, y):
            with tf.GradientTape() as tape:
                loss = loss_fn(y, model(x)) * self.rate
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        for x, y in dataset:
            step(x, y)
Trainer().fit()
"""
    )
    assert notes("TFP101", source) == ["no fix: `self.rate` is reassigned between calls (line 12)"]


def test_an_extracted_step_over_episodes_of_any_length_asks_for_reduced_retracing() -> None:
    source = (
        "import numpy as np\n"
        + PREAMBLE
        + "loss_fn = tf.keras.losses.MeanSquaredError()\nstates = []\nwhile True:\n    states.append(env.step(action))\n"
    )
    source += "    if done:\n        x = np.vstack(states)\n        y = x\n" + inline(8)
    assert "@tf.function(reduce_retracing=True)\ndef train_step(x, y):\n" in fixed("TFP101", source)


def extracted(setup: str, loop: str) -> str:
    """What the fix makes of a loop below some setup, without that setup."""
    before = PREAMBLE + dedent(setup)
    source = before + dedent(loop)
    after = fixed("TFP101", source)
    assert after.startswith(before.rstrip("\n"))
    return after[len(before) :].lstrip("\n")


EXTRACTED = {
    "metrics updated in the step": (
        """\
        metric = tf.keras.metrics.Mean()
        accuracy = tf.keras.metrics.Accuracy()
        """,
        """\
        for x, y in dataset:
            with tf.GradientTape() as tape:
                logits = model(x)
                loss = loss_fn(y, logits)
            metric(loss)
            accuracy.update_state(y, logits)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        """,
        """\
        @tf.function
        def train_step(x, y):
            with tf.GradientTape() as tape:
                logits = model(x)
                loss = loss_fn(y, logits)
            metric(loss)
            accuracy.update_state(y, logits)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))


        for x, y in dataset:
            train_step(x, y)
        """,
    ),
    "gradients clipped by a comprehension, and zipped beforehand": (
        "",
        """\
        for x, y in dataset:
            with tf.GradientTape() as tape:
                loss = loss_fn(y, model(x))
            gradients = tape.gradient(loss, model.trainable_variables)
            gradients = [tf.clip_by_norm(g, 1.0) for g in gradients]
            pairs = zip(gradients, model.trainable_variables)
            optimizer.apply_gradients(pairs)
        print(loss)
        """,
        """\
        @tf.function
        def train_step(x, y):
            with tf.GradientTape() as tape:
                loss = loss_fn(y, model(x))
            gradients = tape.gradient(loss, model.trainable_variables)
            gradients = [tf.clip_by_norm(g, 1.0) for g in gradients]
            pairs = zip(gradients, model.trainable_variables)
            optimizer.apply_gradients(pairs)
            return loss


        for x, y in dataset:
            loss = train_step(x, y)
        print(loss)
        """,
    ),
    "an optimizer that applies gradients and variables": (
        "",
        """\
        for x, y in dataset:
            with tf.GradientTape() as tape:
                loss = loss_fn(y, model(x))
            optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        """,
        """\
        @tf.function
        def train_step(x, y):
            with tf.GradientTape() as tape:
                loss = loss_fn(y, model(x))
            optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)


        for x, y in dataset:
            train_step(x, y)
        """,
    ),
    "an optimizer that minimizes": (
        "",
        """\
        for x, y in dataset:
            with tf.GradientTape() as tape:
                loss = loss_fn(y, model(x))
            optimizer.minimize(loss, model.trainable_variables, tape=tape)
        """,
        """\
        @tf.function
        def train_step(x, y):
            with tf.GradientTape() as tape:
                loss = loss_fn(y, model(x))
            optimizer.minimize(loss, model.trainable_variables, tape=tape)


        for x, y in dataset:
            train_step(x, y)
        """,
    ),
    "variables updated by hand, and a tape that is deleted": (
        "w = tf.Variable(1.0)\nb = tf.Variable(0.0)\n",
        """\
        for x, y in dataset:
            with tf.GradientTape(persistent=True) as tape:
                loss = tf.reduce_mean(tf.square(w * x + b - y))
            w.assign_sub(0.1 * tape.gradient(loss, w))
            b.assign_sub(0.1 * tape.gradient(loss, b))
            del tape
            print(loss)
        """,
        """\
        @tf.function
        def train_step(x, y):
            with tf.GradientTape(persistent=True) as tape:
                loss = tf.reduce_mean(tf.square(w * x + b - y))
            w.assign_sub(0.1 * tape.gradient(loss, w))
            b.assign_sub(0.1 * tape.gradient(loss, b))
            del tape
            return loss


        for x, y in dataset:
            loss = train_step(x, y)
            print(loss)
        """,
    ),
    "weight decay added up in a loop of the step": (
        "",
        """\
        for x, y in dataset:
            with tf.GradientTape() as tape:
                loss = loss_fn(y, model(x))
                for w in model.trainable_weights:
                    loss = loss + 0.1 * tf.nn.l2_loss(w)
                gradients = tape.gradient(loss, model.trainable_weights)
                optimizer.apply_gradients(zip(gradients, model.trainable_weights))
            print(loss)
        """,
        """\
        @tf.function
        def train_step(x, y):
            with tf.GradientTape() as tape:
                loss = loss_fn(y, model(x))
                for w in model.trainable_weights:
                    loss = loss + 0.1 * tf.nn.l2_loss(w)
                gradients = tape.gradient(loss, model.trainable_weights)
                optimizer.apply_gradients(zip(gradients, model.trainable_weights))
            return loss


        for x, y in dataset:
            loss = train_step(x, y)
            print(loss)
        """,
    ),
    "a sum of tensors that goes in and comes out": (
        "",
        """\
        for epoch in range(9):
            total = 0.0
            for x, y in dataset:
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(model(x) - y)
                    total += loss
                gradients = tape.gradient(loss, model.trainable_variables)
                optimizer.apply_gradients(zip(gradients, model.trainable_variables))
            print(total)
        """,
        """\
        @tf.function
        def train_step(total, x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(x) - y)
                total += loss
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
            return total


        for epoch in range(9):
            total = 0.0
            for x, y in dataset:
                total = train_step(total, x, y)
            print(total)
        """,
    ),
    "a float that changes, as a tensor": (
        "",
        """\
        for epoch in range(9):
            beta = min(1.0, epoch / 4.0)
            for x, y in dataset:
                with tf.GradientTape() as tape:
                    loss = loss_fn(y, model(x)) + beta * tf.reduce_sum(model.losses)
                gradients = tape.gradient(loss, model.trainable_variables)
                optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        """,
        """\
        @tf.function
        def train_step(beta, x, y):
            with tf.GradientTape() as tape:
                loss = loss_fn(y, model(x)) + beta * tf.reduce_sum(model.losses)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))


        for epoch in range(9):
            beta = min(1.0, epoch / 4.0)
            for x, y in dataset:
                train_step(tf.constant(beta), x, y)
        """,
    ),
    "a condition on an option that stays the same": (
        "clip = 1.0\n",
        """\
        for x, y in dataset:
            with tf.GradientTape() as tape:
                loss = loss_fn(y, model(x))
            gradients = tape.gradient(loss, model.trainable_variables)
            if clip > 0:
                gradients, _ = tf.clip_by_global_norm(gradients, clip)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        """,
        """\
        @tf.function
        def train_step(x, y):
            with tf.GradientTape() as tape:
                loss = loss_fn(y, model(x))
            gradients = tape.gradient(loss, model.trainable_variables)
            if clip > 0:
                gradients, _ = tf.clip_by_global_norm(gradients, clip)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))


        for x, y in dataset:
            train_step(x, y)
        """,
    ),
}


@pytest.mark.parametrize(("setup", "loop", "expected"), EXTRACTED.values(), ids=EXTRACTED.keys())
def test_an_inline_step_keeps_all_that_it_does(setup: str, loop: str, expected: str) -> None:
    assert extracted(setup, loop) == dedent(expected)


def test_a_generator_and_a_discriminator_get_a_function_each() -> None:
    source = dedent("""\
        import tensorflow as tf
        for images in dataset:
            noise = tf.random.normal([16, 8])
            with tf.GradientTape() as tape:
                d_loss = discriminator_loss(discriminator(images), discriminator(generator(noise)))
            gradients = tape.gradient(d_loss, discriminator.trainable_variables)
            d_optimizer.apply_gradients(zip(gradients, discriminator.trainable_variables))
            with tf.GradientTape() as tape:
                g_loss = generator_loss(discriminator(generator(noise)))
            gradients = tape.gradient(g_loss, generator.trainable_variables)
            g_optimizer.apply_gradients(zip(gradients, generator.trainable_variables))
            print(d_loss, g_loss)
    """)
    settings = Settings(root=Path(), rules=frozenset({"TFP101"}), fixable=frozenset({"TFP101"}))
    settings = replace(settings, fix="apply", unsafe_fixes=True)
    after = fix_source(Source.from_bytes(source.encode(), "gan.py"), settings).source.text
    assert "\n@tf.function\ndef train_discriminator(images, noise):\n" in after
    assert "\n@tf.function\ndef train_generator(noise):\n" in after
    assert after.endswith(
        "    noise = tf.random.normal([16, 8])\n"
        "    d_loss = train_discriminator(images, noise)\n"
        "    g_loss = train_generator(noise)\n"
        "    print(d_loss, g_loss)\n"
    )


def test_a_later_loop_with_the_same_names_has_a_step_of_its_own() -> None:
    source = PREAMBLE + "for x, y in dataset:\n" + inline(4) + "for x, y in dataset:\n" + inline(4)
    assert flagged("TFP101", source) == [6, 11]
    assert notes("TFP101", source) == []


LEFT = {
    "an environment's reward, which is a Python number": (
        "state, _ = env.reset()\nwhile True:\n    following, reward, done, _, _ = env.step(0)\n"
        "    reward = -1 if done else reward\n"
        + inline(4).replace("loss_fn(y, model(x))", "reward * model(state)"),
        "`reward` is a Python number that changes from step to step (line 11)",
    ),
    "a batch with attributes": (
        "for batch in loader:\n" + inline(4).replace("loss_fn(y, model(x))", "loss_fn(batch.y, model(batch.x))"),
        "`batch` is an object that changes from step to step (line 8)",
    ),
    "an array that meets tensors": (
        "for x in loader:\n    y = np.load(x)\n    z = np.zeros(3)\n"
        + inline(4).replace("loss_fn(y, model(x))", "model(x) - z"),
        "`z` is a NumPy array used with tensors, perhaps of another type (line 10)",
    ),
    "a layer that is frozen half-way": (
        "for epoch in range(9):\n    if epoch == 5:\n        model.trainable = True\n    for x, y in dataset:\n" + inline(8),
        "what is trained changes between calls (line 12)",
    ),
    "an option that the loop changes": (
        "for epoch in range(9):\n    args.scale = epoch / 9\n    for x, y in dataset:\n"
        + inline(8).replace("model(x)", "model(x) * args.scale"),
        "`args.scale` is set between calls (line 10)",
    ),
    "a list that the loop fills": (
        "seen = []\nfor x, y in dataset:\n" + inline(4).replace("model(x)", "model(x, seen)") + "    seen.append(x)\n",
        "`seen` changes in the loop (line 9)",
    ),
    "a tape that is deleted later": (
        "for x, y in dataset:\n" + inline(4) + "    print(1)\n    del tape\n",
        "`tape` is deleted outside the step (line 12)",
    ),
    "a text of the step that is read later": (
        "for x, y in dataset:\n" + inline(4).replace("gradients =", "text = 'a'\n    gradients =", 1) + "    print(text)\n",
        "`text` is read after the step and is not a tensor (line 12)",
    ),
    "a step that shares its last line": (
        "for x, y in dataset:\n" + inline(4).rstrip("\n") + "; n = 1\n",
        "the step shares a line with other statements (line 10)",
    ),
    "shapes that vary and are asked for": (
        "for x, y in dataset.padded_batch(8):\n" + inline(4).replace("model(x)", "model(x) * x.shape[1]"),
        "the code reads the static shape, which a trace for varying shapes does not know (line 8)",
    ),
    "the body of a class": (
        "class Trained:\n    loss_fn = model.loss\n    for x, y in dataset:\n" + inline(8),
        "it is in the body of a class, whose names a function does not see (line 9)",
    ),
    "a memory that draws a batch": (
        "for i in range(1000):\n" + inline(4).replace("model(x)", "model(memory.sample(32))"),
        "`.sample()` runs on the host (line 8)",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("source", "reason"), LEFT.values(), ids=LEFT.keys())
def test_the_refusal_of_an_inline_step_names_what_stands_in_the_way(source: str, reason: str) -> None:
    assert notes("TFP101", "import numpy as np\n" + PREAMBLE + source) == [f"no fix: {reason}"]


METHODS_LEFT = {
    "a buffer that other methods fill": (
        "    def add(self, x):\n        self.memory.append(x)\n",
        "x = tf.stack(self.memory)",
        "`self.memory` changes between calls",
    ),
    "an array that other methods write to": (
        "    def add(self, x):\n        self.memory[0] = x\n",
        "x = self.memory",
        "`self.memory` changes between calls",
    ),
    "a count of an object in another file": (
        "",
        "if self.memory.count < self.size:\n            return",
        "a condition on a counter of an object is decided on the host",
    ),
}


@pytest.mark.parametrize(("method", "statement", "reason"), METHODS_LEFT.values(), ids=METHODS_LEFT.keys())
def test_a_method_that_reads_what_others_change_is_left(method: str, statement: str, reason: str) -> None:
    source = PREAMBLE + "class T:\n    def __init__(self, memory):\n        self.memory = memory\n" + method
    source += f"    def step(self, x, y):\n        {statement}\n" + inline(8)
    source += "t = T([])\nfor x, y in dataset: t.step(x, y)\n"
    (note,) = notes("TFP101", source)
    assert note.startswith(f"no fix: {reason} (line ")


BESIDE_THE_FUNCTION = {
    "a function that a loop calls": (
        "def train_epoch(dataset):\n    for x, y in dataset:\n" + inline(8) + "for epoch in range(9):\n    train_epoch(dataset)\n",
        "\n\n@tf.function\ndef train_step(x, y):\n" + inline(4) + "\n\n"
        "def train_epoch(dataset):\n    for x, y in dataset:\n        train_step(x, y)\n",
    ),
    "a method that a loop calls": (
        "class T:\n    def fit(self, dataset):\n        for x, y in dataset:\n"
        + inline(12).replace("model", "self.model")
        + "t = T()\nfor epoch in range(9):\n    t.fit(dataset)\n",
        "class T:\n    @tf.function\n    def train_step(self, x, y):\n" + inline(8).replace("model", "self.model")
        + "\n    def fit(self, dataset):\n        for x, y in dataset:\n            self.train_step(x, y)\n",
    ),
    "a method of a Keras model, whose `train_step` is Keras's own": (
        "class M(tf.keras.Model):\n    def learn(self, dataset):\n        for x, y in dataset:\n"
        + inline(12).replace("model", "self")
        + "m = M()\nfor epoch in range(9):\n    m.learn(dataset)\n",
        "class M(tf.keras.Model):\n    @tf.function\n    def _train_step(self, x, y):\n" + inline(8).replace("model", "self")
        + "\n    def learn(self, dataset):\n        for x, y in dataset:\n            self._train_step(x, y)\n",
    ),
    "a function that is called once": (
        "def train(dataset):\n    for x, y in dataset:\n" + inline(8) + "train(dataset)\n",
        "def train(dataset):\n    @tf.function\n    def train_step(x, y):\n" + inline(8)
        + "\n    for x, y in dataset:\n        train_step(x, y)\n",
    ),
    "a function that is given what it trains": (
        "def train(dataset, model):\n    for x, y in dataset:\n" + inline(8) + "for m in models:\n    train(dataset, m)\n",
        "def train(dataset, model):\n    @tf.function\n    def train_step(x, y):\n" + inline(8)
        + "\n    for x, y in dataset:\n        train_step(x, y)\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("source", "expected"), BESIDE_THE_FUNCTION.values(), ids=BESIDE_THE_FUNCTION.keys())
def test_a_step_is_not_traced_anew_with_each_epoch(source: str, expected: str) -> None:
    assert expected in fixed("TFP101", PREAMBLE + source)


def test_a_step_that_reads_what_its_method_makes_stays_where_a_loop_calls_that() -> None:
    source = PREAMBLE + (
        "class T:\n    def replay(self, memory):\n        x, y = memory.sample()\n        for _ in range(99):\n"
        + inline(12).replace("model", "self.model")
        + "t = T()\nfor episode in range(999):\n    t.replay(memory)\n"
    )
    (note,) = notes("TFP101", source)
    assert note.startswith("no fix: a loop calls `replay`, and each call would retrace it (line ")


def test_no_function_is_made_in_one_that_runs_on_each_batch() -> None:
    source = PREAMBLE + (
        "def update(model, x, y):\n    for _ in range(20):\n"
        + inline(8)
        + "def learn(model, x, y):\n    update(model, x, y)\n"
        + "for model in models:\n    for x, y in dataset:\n        learn(model, x, y)\n        model(x)\n"
    )
    (note,) = notes("TFP101", source)
    assert note.startswith("no fix: a loop calls `update`, and each call would retrace it (line ")


OF_ONE_CALL = """\
class Trainer:
    def fit_batch(self, x, y):
        def step(x, y):
            with tf.GradientTape() as tape:
                loss = loss_fn(y, model(x))
            variables = model.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
            return loss

        {}
    def run(self, dataset):
        for x, y in dataset:
            self.fit_batch(x, y)
            for part in tf.split(x, 4):
                model.train_on_batch(part, part)
Trainer().run(dataset)
"""


def test_a_function_that_is_defined_for_one_call_is_not_compiled() -> None:
    (note,) = notes("TFP101", PREAMBLE + OF_ONE_CALL.format("return step(x, y)"))
    assert note.startswith("no fix: a loop calls `fit_batch`, and each call would retrace it (line ")
    many = OF_ONE_CALL.format("for _ in range(100):\n            step(x, y)")
    assert "        @tf.function\n        def step(x, y):" in fixed("TFP101", PREAMBLE + many)


STALE = {
    "a model made anew for each trial": (
        "for trial in range(9):\n    model = tf.keras.Sequential()\n    for x, y in dataset:\n        step(x, y)\n",
        "`model` is reassigned between calls",
    ),
    "a loop variable": (
        "for y in range(9):\n    for x in dataset:\n        step(x)\n",
        "`y` is reassigned between calls",
    ),
}


@pytest.mark.parametrize(("loops", "reason"), STALE.values(), ids=STALE.keys())
def test_a_function_that_reads_names_that_loops_bind_is_left(loops: str, reason: str) -> None:
    parameters = "x, y" if "x, y" in loops else "x"
    source = PREAMBLE + f"def step({parameters}):\n" + inline(4) + loops
    (note,) = notes("TFP101", source)
    assert note.startswith(f"no fix: {reason} (line ")


def test_a_function_defined_in_the_loop_that_binds_its_names_is_compiled() -> None:
    source = (
        PREAMBLE
        + "for trial in range(9):\n    model = tf.keras.Sequential()\n    def step(x, y):\n"
        + inline(8)
    )
    source += "    for x, y in dataset:\n        step(x, y)\n"
    assert "    @tf.function\n    def step(x, y):\n" in fixed("TFP101", source)


def test_a_loop_in_a_function_inside_another_is_compiled() -> None:
    source = (
        PREAMBLE
        + "def main():\n    def train():\n        for x, y in dataset:\n"
        + inline(12)
        + "    train()\nmain()\n"
    )
    assert notes("TFP101", source) == []


STEP_OF_A_BATCH = """\
def step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x))
    variables = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
"""
RUN = STEP_OF_A_BATCH + "def run():\n    for x, y in dataset:\n        step(x, y)\n"
BETWEEN_CALLS = {
    "a batch is an object of its own": (
        """
        class Batch:
            def __init__(self, x, y):
                self.x, self.y = x, y
        def step(batch):
            with tf.GradientTape() as tape:
                loss = loss_fn(batch.y, model(batch.x))
            variables = model.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        for x, y in dataset:
            batch = Batch(x, y)
            step(batch)
        """,
        "an object is created for each call, and each would be retraced",
    ),
    "a batch is an object of a list": (
        """
        class Batch:
            def __init__(self, x, y):
                self.x, self.y = x, y
        def step(batch):
            with tf.GradientTape() as tape:
                loss = loss_fn(batch.y, model(batch.x))
            variables = model.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        batches = [Batch(x, y) for x, y in dataset]
        for batch in batches:
            step(batch)
        """,
        "an object is created for each call, and each would be retraced",
    ),
    "a sample is unpacked": (
        STEP_OF_A_BATCH + "for i in range(1000):\n    step(*memory.sample(32))\n",
        "`*` passes what may be arrays of another type than the tensors",
    ),
    "a sample is unpacked into keyword arguments": (
        STEP_OF_A_BATCH + "for i in range(1000):\n    sample = memory.sample(32)\n    step(**{**sample})\n",
        "`**` passes what may be arrays of another type than the tensors",
    ),
    "numbers are unpacked into keyword arguments": (
        STEP_OF_A_BATCH + "for i in range(1000):\n    step(**{'x': i * 2, 'y': 3})\n",
        "a Python number is passed, and each would be retraced",
    ),
    "a step is defined in what each step calls": (
        """
        def train(x, y):
            def step():
                with tf.GradientTape() as tape:
                    loss = loss_fn(y, model(x))
                variables = model.trainable_variables
                optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
            step()
        for x, y in dataset:
            train(x, y)
        """,
        "it is redefined on each step, and would be retraced each time",
    ),
    "what is trained is decided anew": (
        RUN + "model.trainable = False\nrun()\nmodel.trainable = True\nrun()\n",
        "what is trained changes between calls",
    ),
    "a name gets another optimizer": (
        RUN + "run()\noptimizer = tf.keras.optimizers.SGD()\nrun()\n",
        "`optimizer` is reassigned between calls",
    ),
    "each fold has a model": (
        """
        def step(model, optimizer, x, y):
            with tf.GradientTape() as tape:
                loss = loss_fn(y, model(x))
            variables = model.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        def train(fold):
            model, optimizer = build(), tf.keras.optimizers.Adam()
            for x, y in dataset:
                step(model, optimizer, x, y)
        for fold in range(5):
            train(fold)
        """,
        "another model or optimizer is given later, and a trace for it can create no variables",
    ),
    "a switch brings in another optimizer": (
        """
        def step(x, y, late=False):
            with tf.GradientTape(persistent=True) as tape:
                loss = loss_fn(y, model(x))
            variables = model.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
            if late:
                other.apply_gradients(zip(tape.gradient(loss, variables), variables))
        other = tf.keras.optimizers.SGD()
        for epoch in range(epochs):
            for x, y in dataset:
                step(x, y, late=epoch >= 2)
        """,
        "`late` enables an optimizer, which can create no variables in a later trace",
    ),
}


@pytest.mark.parametrize(("source", "reason"), BETWEEN_CALLS.values(), ids=BETWEEN_CALLS.keys())
def test_the_fix_is_refused_where_another_trace_is_another_program(source: str, reason: str) -> None:
    (note,) = notes("TFP101", PREAMBLE + dedent(source))
    assert note.startswith(f"no fix: {reason} (line ")


def test_a_switch_that_is_always_on_is_compiled() -> None:
    source = PREAMBLE + dedent(BETWEEN_CALLS["a switch brings in another optimizer"][0])
    assert "@tf.function" in fixed("TFP101", source.replace("late=epoch >= 2", "late=True"))


@pytest.mark.parametrize(
    ("places", "decorator"),
    [
        ("np.random.permutation(filled)[:32]", "@tf.function(reduce_retracing=True)"),
        ("np.random.permutation(1_000)[:32]", "@tf.function"),
        ("np.random.randint(0, filled, 32)", "@tf.function"),
    ],
)
def test_as_much_of_a_memory_as_there_is_so_far_varies_in_length(places: str, decorator: str) -> None:
    source = f"""\
import numpy as np
import tensorflow as tf

states = np.zeros((100_000, 4), np.float32)


def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))


def learn(filled):
    chosen = {places}
    batch = states[chosen]
    step(batch)


for filled in range(32, 100_000):
    learn(filled)
"""
    assert f"{decorator}\ndef step" in fixed("TFP101", source)


@pytest.mark.parametrize(("batched", "padded"), [("batch(32)", False), ("padded_batch(32)", True)])
def test_names_reduced_retracing_without_a_cost_where_batches_are_padded(batched: str, padded: bool) -> None:
    step = indent(STEP, "    ")
    source = PREAMBLE + f"for x, y in dataset.unbatch().{batched}:\n{step}"
    (finding,) = findings("TFP101", source)
    assert ("compile it with `@tf.function(reduce_retracing=True)`" in finding.message) is padded
    assert costs_told("TFP101", source) == [not padded]


@pytest.mark.parametrize(
    ("decorator", "recorded", "left"),
    [
        ("@tf.function", "", "the gradients are applied"),
        ("@tf.function", " if isinstance(x, tuple) else 0.0", "the gradients are applied"),
        ("@tf.function", " + tf.reduce_sum(penalty)", "the loss is computed and the gradients are applied"),
        ("", "", "the gradient step runs"),
        ("", " + tf.reduce_sum(penalty)", "the gradient step runs"),
        ("@tf.function", " + tf.reduce_sum(tf.matmul(x, weights))", "the gradient step runs"),
        ("@tf.function", " + penalty_of(x)", "the gradient step runs"),
        ("@tf.function", " + log10(penalty)", "the loss is computed and the gradients are applied"),
    ],
    ids=[
        "all that the tape records",
        "all that makes an op",
        "all but an op",
        "nothing",
        "nothing, and an op",
        "all but a layer by hand",
        "all but what a function does",
        "all but a function of ops",
    ],
)
def test_speaks_of_what_is_left_in_eager_mode_where_gradients_are_compiled(
    decorator: str, recorded: str, left: str
) -> None:
    source = f"""\
{PREAMBLE}
weights = tf.Variable(tf.zeros((8, 8)))
def penalty_of(x):
    return tf.reduce_sum(model(x) ** 2)
def log10(x):
    return tf.math.log(x) / tf.math.log(10.0)
{decorator}
def loss_of(x, y):
    return tf.reduce_mean(tf.square(model(x) - y))
for x, y in dataset:
    with tf.GradientTape() as tape:
        loss = loss_of(x, y){recorded}
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""
    (finding,) = findings("TFP101", source)
    assert finding.message.startswith(f"{left} in eager mode, op by op, on each step; compile")
    assert costs_told("TFP101", source) == [not decorator]  # nothing was measured that is compiled in part
    assert not finding.minor


def test_the_tape_may_be_asked_and_the_gradients_applied_in_its_block() -> None:
    source = """\
import tensorflow as tf
class Net(tf.keras.Model):
    @tf.function
    def call(self, x):
        return self.dense(x)
model = Net()
loss_fn = tf.keras.losses.MeanSquaredError()
def train_step(x, y, optimizer):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
for x, y in dataset:
    train_step(x, y, optimizer)
"""
    (finding,) = findings("TFP101", source)
    assert finding.message.startswith("the loss is computed and the gradients are applied in eager mode")


@pytest.mark.parametrize(
    ("decorator", "left"),
    [
        ("@tf.function", "the loss is computed and the gradients are applied"),
        ("@print", "the gradient step runs"),
    ],
    ids=["compiled", "eager"],
)
def test_a_model_whose_call_is_compiled_has_its_gradients_compiled(decorator: str, left: str) -> None:
    source = f"""\
import tensorflow as tf
class Net(tf.keras.Model):
    {decorator}
    def call(self, x):
        return self.dense(x)
net = Net()
optimizer = tf.keras.optimizers.Adam()
loss_of = tf.keras.losses.MeanSquaredError()
for x, y in dataset:
    with tf.GradientTape() as tape:
        loss = loss_of(y, net(x, training=True))
    gradients = tape.gradient(loss, net.trainable_variables)
    optimizer.apply_gradients(zip(gradients, net.trainable_variables))
"""
    (finding,) = findings("TFP101", source)
    assert finding.message.startswith(left)


@pytest.mark.parametrize(
    ("change", "told"),
    [("image.assign_add(gradient)", False), ("optimizer.apply_gradients([(gradient, image)])", True)],
)
def test_a_step_without_an_optimizer_was_not_measured(change: str, told: bool) -> None:
    source = f"""
        import tensorflow as tf

        model = tf.keras.applications.VGG16()
        optimizer = tf.keras.optimizers.SGD()
        image = tf.Variable(tf.zeros((1, 224, 224, 3)))
        for _ in range(1000):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(image))
            gradient = tape.gradient(loss, image)
            {change}
    """
    assert costs_told("TFP101", dedent(source)) == [told]


def test_a_model_that_each_step_makes_is_to_be_made_once_first() -> None:
    body = STEP.replace("model", "copy").replace("\n", "\n    ")
    source = f"{PREAMBLE}for x, y in dataset:\n    copy = tf.keras.models.clone_model(model)\n    {body}\n"
    (finding,) = findings("TFP101", source)
    assert (
        "; make `copy` once, not on each step, then compile the step with `@tf.function`" in finding.message
    )
    made = PREAMBLE.count("\n") + 2
    assert f"each step makes another `copy`, and would be traced for each (line {made})" in (
        finding.note or ""
    )
    assert costs_told("TFP101", source) == [False]


def test_a_model_that_each_step_makes_is_called_what_the_loop_calls_it() -> None:
    source = f"""{PREAMBLE}def learn(net, x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((net(x) - y) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
for x, y in dataset:
    copy = tf.keras.models.clone_model(model)
    learn(copy, x, y)
"""
    (finding,) = findings("TFP101", source)
    assert "; make `copy` once, not on each step" in finding.message
    assert f"another `copy`, and would be traced for each (line {PREAMBLE.count(chr(10)) + 6})" in (
        finding.note or ""
    )


def test_a_copy_that_takes_many_steps_is_worth_a_trace() -> None:
    body = STEP.replace("model", "copy").replace("\n", "\n        ")
    source = f"""{PREAMBLE}for task in tasks:
    copy = tf.keras.models.clone_model(model)
    for x, y in dataset:
        {body}
"""
    (finding,) = findings("TFP101", source)
    assert "; compile it with `@tf.function`" in finding.message


@pytest.mark.parametrize("stop", ["import pdb; pdb.set_trace()", "breakpoint()"])
def test_a_breakpoint_in_what_the_step_calls_stands_against_a_trace(stop: str) -> None:
    loss = f"def loss_fn(y, z):\n    {stop}\n    return tf.reduce_mean([y - part for part in z])\n"
    (note,) = notes("TFP101", f"{PREAMBLE}{loss}for x, y in dataset:\n{inline(4)}")
    name = "`pdb.set_trace`" if "pdb" in stop else "`breakpoint()`"
    assert note.startswith(f"no fix: {name} runs on the host")


def test_what_a_function_binds_before_it_makes_another_stays_the_same_for_that() -> None:
    source = (
        PREAMBLE
        + """
def ssim(a, b, size):
    kernel = tf.ones((size, size))
    kernel = kernel / tf.reduce_sum(kernel)
    def reducer(x):
        return tf.reduce_sum(x * kernel)
    return reducer(a) - reducer(b)
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = ssim(model(x), y, 11)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
for x, y in dataset:
    train_step(x, y)
"""
    )
    (finding,) = findings("TFP101", source)
    assert (finding.fix is not None, finding.note) == (True, None)
