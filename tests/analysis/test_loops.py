"""Step loops, epoch loops, what runs per step, and guards."""

from __future__ import annotations

from textwrap import indent

import pytest

from tests.analysis.support import here, model_of

PREAMBLE = """
model = keras.Sequential()
optimizer = keras.optimizers.Adam()
dataset = tf.data.Dataset.from_tensor_slices(data).batch(32)
strategy = tf.distribute.MirroredStrategy()
@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        loss = model(x)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""

KINDS = {
    "over a dataset": ("for x in dataset: f(x)", ["step"]),
    "over a dataset, counted": ("for i, x in enumerate(dataset): f(x)", ["step"]),
    "over a dataset, with a progress bar": ("from tqdm import tqdm\nfor x in tqdm(dataset): f(x)", ["step"]),
    "over the rows of what a dataset gives": (
        "for x, y in dataset:\n  for a, b in zip(x, y): f(a)\n  for i, a in enumerate(x): f(a)",
        ["step", "none", "none"],
    ),
    "over two datasets": ("for x, y in zip(dataset, dataset): f(x)", ["step"]),
    "over a distributed dataset": (
        "for x in strategy.experimental_distribute_dataset(dataset): f(x)",
        ["step"],
    ),
    "named epoch, with one step inside": ("for epoch in range(100): train_step(x)", ["step"]),
    "one that makes a model each time": (
        "def build(size): return keras.Sequential([keras.layers.Dense(size)])\n"
        "for size in range(4, 400):\n  net = build(size)\n  print(net(x))",
        ["none"],
    ),
    "while with a step": ("while True: train_step(x)", ["step"]),
    "one that returns in its first iteration": (
        "def f():\n  for x in dataset:\n    return model(x)\nf()",
        ["none"],
    ),
    "one that returns in some iteration": (
        "def f():\n  for x in dataset:\n    if model(x): return x\nf()",
        ["step"],
    ),
    "one that shows each result to a person": (
        "import matplotlib.pyplot as plt\nfor x in images:\n  plt.imshow(model(x))\n  plt.show()",
        ["none"],
    ),
    "one that shows each result until a key is pressed": (
        "import cv2\nfor x in images:\n  cv2.imshow('x', model(x))\n  cv2.waitKey(0)",
        ["none"],
    ),
    "one that draws a part of a figure for each result": (
        "import matplotlib.pyplot as plt\nfor n in range(count):\n  plt.subplot(count, 1, n + 1)\n  plt.plot(model(x)[n])",
        ["none"],
    ),
    "one that keeps a figure of each result": (
        "for x in images:\n  fig = draw(model(x))\n  fig.savefig(name(x))",
        ["none"],
    ),
    "one that draws a line for each result": (
        "import matplotlib.pyplot as plt\nfor x in images:\n  plt.plot(model(x))",
        ["step"],
    ),
    "one that shows what a camera sees": (
        "import cv2\nwhile True:\n  cv2.imshow('x', model(x))\n  cv2.waitKey(1)",
        ["step"],
    ),
    "one that shows some results": (
        "import matplotlib.pyplot as plt\nfor i, x in enumerate(images):\n  y = model(x)\n  if i % 100 == 0:\n    plt.show()",
        ["step"],
    ),
    "one that trains and shows how it went": (
        "import matplotlib.pyplot as plt\nfor x, y in batches:\n  model.train_on_batch(x, y)\n  plt.show()",
        ["step"],
    ),
    "a step of a GAN, and its first classifier now and then": (
        "for step in range(n):\n  for _ in range(args.n_dis):\n    train_step(x)\n  train_step(z)\n"
        "  if step == 1 or step % 100 == 0:\n    for x in dataset:\n      train_step(x)\n",
        ["step", "none", "step"],
    ),
    "a step with a round of others by a name that counts": (
        "for step in range(n):\n  train_step(z)\n  due = step % 100 == 0\n"
        "  if due:\n    for x in dataset:\n      train_step(x)\n",
        ["step", "step"],
    ),
    "one that waits for a person": ("while True:\n  model(parse(input()))", ["none"]),
    "one that waits for a person by choice": (
        "while True:\n  if choice == 1: x = input()\n  model(parse(x))",
        ["none"],
    ),
    "one that asks whether to go on learning": (
        "for e in range(99):\n  for x, y in dataset: model.train_on_batch(x, y)\n  if worse > 9 and input() == 'no': break",
        ["epoch", "step"],
    ),
    "one that waits for a person to look": ("while True:\n  if debug: input()\n  train_step(x)", ["step"]),
    "a step with a loop under its tape that can't be seen": (
        "from other import cell\n@tf.function\ndef train():\n  state = x\n  with tf.GradientTape() as tape:\n"
        "    for i in tf.range(k): state = cell(state)\n    loss = tf.reduce_sum(state)\n"
        "  optimizer.apply_gradients(zip(tape.gradient(loss, w), w))\n"
        "for step in range(n): train()",
        ["none", "step"],
    ),
    "a loop around a step loop": (
        "for epoch in range(10):\n  for x in dataset: train_step(x)",
        ["epoch", "step"],
    ),
    "train_on_batch": ("for i in range(n): model.train_on_batch(x, y)", ["step"]),
    "inference": ("for i in range(n): y = model(x)", ["step"]),
    "inference, counted down": ("for i in range(n - 1, -1, -1): y = model(x)", ["step"]),
    "counted down from one": ("for i in range(1, 0, -1): y = model(x)", ["none"]),
    "a layer that is told whether it trains": (
        "class Net(keras.layers.Layer): pass\nnet = Net()\nfor i in range(n): y = net(x[i], training=False)",
        ["step"],
    ),
    "layers that hand on what they are told": (
        "block = keras.layers.Dense(1)\nfor i in range(n): x = block(x, training=training)",
        ["none"],
    ),
    "a step of one of several functions": (
        "def other(x): train_step(x)\nrun = None\nif tpu: run = train_step\nelse: run = other\nwhile True: run(x)",
        ["step"],
    ),
    "models, each brought one step further": (
        "for x in dataset:\n  for net, opt in zip(nets, opts):\n"
        "    with tf.GradientTape() as tape: loss = net(x)\n"
        "    opt.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))",
        ["step", "none"],
    ),
    "a batch by its name, from which a model learns several times": (
        "for x, y in loader.load_batch(9):\n  model.train_on_batch(x, y)\n"
        "  for again in range(times): other.train_on_batch(x, y)",
        ["step", "step"],
    ),
    "next of an iterator": ("it = iter(dataset)\nfor i in range(n): f(next(it))", ["step"]),
    "session runs": ("sess = tf.compat.v1.Session()\nfor i in range(n): sess.run(op)", ["step"]),
    "an environment": ("while not done: state = env.step(action)", ["step"]),
    "runs that begin with a first step in an environment": (
        "for run in range(n):\n  state = env.step(0)\n  for t in range(m):\n    state = env.step(model(state))",
        ["epoch", "step"],
    ),
    "steps in an environment behind which it is begun anew with idle ones": (
        "for step in range(n):\n  state = env.step(model(state))\n  if done:\n    for idle in range(m): env.step(0)",
        ["step", "step"],
    ),
    "a step in a function": ("def run(x): train_step(x)\nfor i in range(n): run(x)", ["step"]),
    "an epoch in a function": (
        "def run():\n  for x in dataset: train_step(x)\nfor epoch in range(n): run()",
        ["step", "epoch"],
    ),
    "plain Python": ("for i in range(1000): total += i", ["none"]),
    "over few literal items": ("for rate in [0.1, 0.01]: train_step(rate)", ["none"]),
    "over few items with a name": ("rates = [0.1, 0.01]\nfor rate in rates: train_step(rate)", ["none"]),
    "over items that are added to": ("xs = [0]\nxs.append(x)\nfor x in xs: train_step(x)", ["step"]),
    "over layers": ("for layer in model.layers: x = layer(x)", ["none"]),
    "over layers by their number": (
        "for i in range(args.n_layers): parts.append(model(parts[-1]))",
        ["none"],
    ),
    "over models by number": (
        "blocks = [keras.Sequential(), keras.Sequential()]\nfor i in range(n): x = blocks[i](x)",
        ["none"],
    ),
    "over some layers of a list by name": (
        "names = [layer.name for layer in model.layers[1:]]\nfor name in names[-3:]: train_step(name)",
        ["none", "none"],
    ),
    "over some of a list of data": (
        "data = [load(x) for x in files]\nfor x in data[n:]: train_step(x)",
        ["none", "step"],
    ),
    "over what was loaded from files": (
        "import glob\ndata = [load(x) for x in glob.glob('*.png')]\nfor x in data: train_step(x)",
        ["none", "step"],
    ),
    "over devices by their number": (
        "for i in range(n):\n  with tf.device(f'/gpu:{i}'):\n    train_step(x)",
        ["none"],
    ),
    "a step on one device": ("for i in range(n):\n  with tf.device('/gpu:0'):\n    train_step(x)", ["step"]),
    "over experiments with sequences of batches": (
        "def train(name):\n  model.fit(load(name), epochs=rounds, workers=4)\n  print(model(x))\nfor name in names: train(name)",
        ["none"],
    ),
    "a step by a short fit": (
        "def train(x, y): model.fit(x, y, epochs=rounds)\nfor x, y in dataset: train(x, y)",
        ["step"],
    ),
    "over variables": ("for v in model.trainable_variables: v.assign(v * 2)", ["none"]),
    "over devices": ("for gpu in tf.config.list_physical_devices('GPU'): f(gpu)", ["none"]),
    "over file names": ("import glob\nfor name in glob.glob('*.jpg'): model(load(name))", ["none"]),
    "that runs once": ("for i in range(1): train_step(x)", ["none"]),
    "a step with an evaluation now and then": (
        "for i in range(n):\n  train_step(x)\n  if i % 1000 == 0:\n    for t in dataset: model(t)",
        ["step", "step"],
    ),
    "a step with an evaluation in a function, now and then": (
        "def test():\n  for t in dataset: model(t)\nfor x in dataset:\n  f(x)\n  if i % 1000 == 0: test()",
        ["step", "step"],
    ),
    "an epoch with an evaluation now and then": (
        "for i in range(n):\n  for x in dataset: train_step(x)\n  if i % 10 == 0:\n    for t in dataset: model(t)",
        ["epoch", "step", "step"],
    ),
    "one gradient after the other of what was recorded once": (
        "with tf.GradientTape(persistent=True) as tape: outputs = model(x)\n"
        "for n in range(size):\n  rows.append(tape.gradient(outputs[n], x))",
        ["none"],
    ),
    "one gradient after the other of each step": (
        "for x in dataset:\n  with tf.GradientTape(persistent=True) as tape: outputs = model(x)\n"
        "  for n in range(size):\n    rows.append(tape.gradient(outputs[n], x))",
        ["step", "none"],
    ),
    "gradients of what each iteration records": (
        "for n in range(size):\n  with tf.GradientTape() as tape: y = other(x)\n  rows.append(tape.gradient(y, x))",
        ["step"],
    ),
    "rounds of clients that threads train": (
        "from concurrent.futures import ThreadPoolExecutor\ndef train(data):\n  for x in data: train_step(x)\n"
        "def client(part):\n  train(dataset.skip(part))\n"
        "for n in range(rounds):\n  with ThreadPoolExecutor() as pool:\n    jobs = [pool.submit(client, k) for k in range(9)]\n"
        "  optimizer.apply_gradients(mean(jobs))\n  for x in dataset: score.update_state(model(x))",
        ["step", "epoch", "none", "step"],
    ),
    "many calls of a model under one tape": (
        "for x in dataset:\n  with tf.GradientTape() as tape:\n    for part in x: logits.append(model(part))\n"
        "  optimizer.apply_gradients(zip(tape.gradient(logits, v), v))",
        ["step", "step"],
    ),
    "a step with a helper that loops": (
        "def guess(u):\n  for k in range(n): y = model(u)\n  return y\n"
        "for i in range(n):\n  y = guess(u)\n  train_step(y)",
        ["step", "step"],
    ),
    "an epoch that ends in a gradient step of what its steps gave": (
        "for e in range(n):\n  for x in dataset:\n    with tf.GradientTape() as tape: loss = model(x)\n"
        "    g += tape.gradient(loss, v)\n  optimizer.apply_gradients(zip(g, v))",
        ["epoch", "step"],
    ),
    "a compiled step that unrolls a loop": (
        "@tf.function\ndef step(x):\n  for i in range(16): x = model(x)\n  train_step(x)\n"
        "for i in range(n): step(x)",
        ["step", "step"],
    ),
    "a compiled epoch": (
        "@tf.function\ndef epoch(ds):\n  for x in ds: train_step(x)\nfor i in range(n): epoch(dataset)",
        ["step", "epoch"],
    ),
    "an environment of one's own, by what the agent remembers": (
        "for t in range(n):\n  trader.memory.append((state, action, reward, next_state, done))\n  for x in dataset: train_step(x)",
        ["step", "step"],
    ),
    "an agent that is told of a step": (
        "for t in range(n):\n  agent.remember(state, action, reward, next_state, done)\n  for x in dataset: train_step(x)",
        ["step", "step"],
    ),
    "agents that act in turn": (
        "while not done:\n  for agent in agents: a.append(agent.model(x))\n  state = env.step(a)",
        ["step", "none"],
    ),
    "agents that are trained one after the other": (
        "for agent in agents:\n  for x in dataset: train_step(x)",
        ["epoch", "step"],
    ),
    "a few steps of an environment": (
        "for episode in range(n):\n  for step in range(3):\n    state = env.step(a)\n    agent.model(x)",
        ["epoch", "step"],
    ),
    "a list of rows": (
        "for t in range(n):\n  rows.append((state, action, reward, next_state))\n  for x in dataset: train_step(x)",
        ["epoch", "step"],
    ),
    "a memory of two": (
        "for t in range(n):\n  memory.append((state, reward))\n  for x in dataset: train_step(x)",
        ["epoch", "step"],
    ),
    "environments side by side": (
        "for i in range(n):\n  a = model(s)\n  for env in envs: env.step(a)",
        ["step", "none"],
    ),
    "environments side by side in a comprehension": (
        "for i in range(n):\n  a = model(s)\n  s = [env.step(b) for env, b in zip(envs, a)]",
        ["step", "none"],
    ),
    "an episode before each gradient step": (
        "for i in range(n):\n  while not done: env.step(model(s))\n  train_step(x)",
        ["epoch", "step"],
    ),
    "the steps of a critic": (
        "for x in batches:\n  for _ in range(args.n_critic): train_step(x)\n  train_step(x)",
        ["step", "none"],
    ),
    "the steps of a critic, among the settings": (
        "for i in range(n):\n  for _ in range(config['disc_iters']): train_step(x)\n  train_step(x)",
        ["step", "none"],
    ),
    "a function that trains a critic several times": (
        "def step(x):\n  for _ in range(config.d_steps): train_step(x)\n  with tf.GradientTape() as tape: loss = model(x)\n"
        "  tape.gradient(loss, model.trainable_variables)\nfor i in range(n): step(x)",
        ["step", "step"],
    ),
    "the steps of a critic by themselves": ("for _ in range(n_critic): train_step(x)", ["step"]),
    "a step with others at one of two counts": (
        "for i in range(n):\n  train_step(x)\n  if i % 10 == 0 or i % 25 == 0:\n    for t in dataset: train_step(t)",
        ["step", "step"],
    ),
    "steps at a count or when something else says so": (
        "for i in range(n):\n  train_step(x)\n  if i % 10 == 0 or x:\n    for t in dataset: train_step(t)",
        ["epoch", "step"],
    ),
    "a short inner count": ("for step in range(n):\n  for _ in range(5): train_step(x)", ["step", "none"]),
}


@pytest.mark.parametrize(("source", "kinds"), KINDS.values(), ids=KINDS.keys())
def test_a_loop_is_of_the_kind_that_its_iterations_make_it(source: str, kinds: list[str]) -> None:
    model = model_of(PREAMBLE + source)
    loops = sorted(model.walk.loops.values(), key=lambda loop: loop.at.order)
    assert [model.loops.kind(loop) for loop in loops] == kinds


NOT_PER_STEP = {
    "where a generator begins that `fit` draws from": "def g():\n  here()\n  while True: yield x, y\nmodel.fit(g())",
    "where a generator begins that a step loop goes over": "def g():\n  here()\n  while True: yield 1\nfor x in g(): train_step(x)",
    "in a generator that is predicted from": "def g():\n  while True:\n    here()\n    yield x\nmodel.predict(g())",
    "before the loop": "here()\nfor x in dataset: train_step(x)",
    "after the inner loop": "for e in range(9):\n  for x in dataset: train_step(x)\n  here()",
    "in a function called once": "def f(): here()\nf()\nfor x in dataset: train_step(x)",
    "in a function called once an epoch": "def f(): here()\nfor e in range(9):\n  for x in dataset: train_step(x)\n  f()",
    "at the end of an epoch in a callback": "class C(keras.callbacks.Callback):\n  def on_epoch_end(self, e, logs): here()",
    "in a loop over layers": "for layer in model.layers: here()",
    "in the else of the loop": "for x in dataset:\n  train_step(x)\nelse:\n  here()",
    "in what the loop runs over": "for x in here(dataset):\n  train_step(x)",
}

PER_STEP = {
    "in the loop": "for x in dataset: here()",
    "in a loop over layers inside": "for x in dataset:\n  for layer in model.layers: here()",
    "in a comprehension over a dataset": "y = [here() for x in dataset]",
    "in a function": "def f(): here()\nfor x in dataset: f()",
    "through two functions": "def f(): here()\ndef g(): f()\nfor x in dataset: g()",
    "in a method of an attribute": """
class Actor:
    def train(self, x): here()
class Agent:
    def __init__(self): self.actor = Actor()
    def learn(self, x): self.actor.train(x)
agent = Agent()
for x in dataset: agent.learn(x)
""",
    "in a bound method that is stored": """
class Actor:
    def train(self, x): here()
actor = Actor()
step = actor.train
for x in dataset: step(x)
""",
    "in a generator that `fit` draws from": "def g():\n  while True:\n    here()\n    yield x, y\nmodel.fit(g(), steps_per_epoch=9)",
    "in a sequence that `fit` draws from": "class S(keras.utils.Sequence):\n  def __getitem__(self, i): return here()\nmodel.fit_generator(S())",
    "in a generator driven by next": "def g():\n  while True:\n    here()\n    yield 1\nit = g()\nfor x in dataset: next(it)",
    "in the condition of while": "while here():\n  train_step(x)",
    "on each batch in a callback": "class C(keras.callbacks.Callback):\n  def on_train_batch_end(self, b, logs): here()",
}


@pytest.mark.parametrize("source", NOT_PER_STEP.values(), ids=NOT_PER_STEP.keys())
def test_what_runs_less_often_is_not_per_step(source: str) -> None:
    model = model_of(PREAMBLE + source)
    assert not model.is_per_step(here(model))


@pytest.mark.parametrize("source", PER_STEP.values(), ids=PER_STEP.keys())
def test_what_a_step_loop_runs_is_per_step(source: str) -> None:
    model = model_of(PREAMBLE + source)
    assert model.is_per_step(here(model))


UNGUARDED = [
    "here()",
    "if step % 1 == 0: here()",
    "if step % n == 0: pass\nhere()",
    "if x is not None: here()",
    "if step % 100 == 0: pass\nelse: here()",
    "if ready: here()",
    "if step > 10: here()",
    "if x == last: here()",
    "if step == step: here()",
    "if step % 10 == 0 or ready: here()",
    "if step % 10 == 0 or x == last: here()",
    "if np.mod(step, 1) == 0: here()",
    "told = {'due': step % 100 == 0, 'x': ready}\nif told['x']: here()",
    "told = {'first': x == 0}\nif told['first']: here()",
    "chosen = x == 1\nif chosen: here()",
    "told = {'first': step == 0}\nif ready: told = read()\nif told['first']: here()",
    "n += 1\nif n >= every: here()",
    "n = x\nif n >= every:\n  here()\n  n = 0",
]
GUARDED = [
    ("if step % 100 == 0: here()", 100),
    ("if (step + 1) % 100 == 0: here()", 100),
    ("if 0 == step % 100: here()", 100),
    ("if not step % 100: here()", 100),
    ("if step % 100 == 0 and ready: here()", 100),
    ("if step and step % 100 == 0: here()", 100),
    ("if step % every == 0: here()", 50),
    ("if step % unknown == 0: here()", None),
    ("if step % 100 != 0: continue\nhere()", 100),
    ("if step % 100: pass\nelse: here()", 100),
    ("step % 100 == 0 and here()", 100),
    ("here() if step % 100 == 0 else None", 100),
    ("if verbose: here()", None),
    ("if args.debug: here()", None),
    ("if score > best_score: here()", None),
    ("if step == 0: here()", None),
    ("if int(step) == 1: here()", None),
    ("if int(step.numpy()) == 1: here()", None),
    ("if step + 1 == last: here()", None),
    ("if step % 100 == 0 or step == last - 1: here()", 100),
    ("if step % 100 == 0 or step == last: here()", 100),
    ("if (step + 1) % 100 == 0 or step == args.last - 1: here()", 100),
    ("if np.mod(step, 100) == 0: here()", 100),
    ("if not np.remainder(step, 100): here()", 100),
    ("with tf.summary.record_if(step % 100 == 0): here()", None),
    ("log(step)", 100),
    ("first = step == 0\nif first: here()", None),
    ("told = {'due': step % 100 == 0, 'x': ready}\nif told['due']: here()", 100),
    ("told = options(step)\nif told[FIRST]: here()", None),
    ("n += 1\nif n == every:\n  here()\n  n = 0", 50),
    ("n += 1\nif n >= args.every and ready:\n  here()\n  n = 0", None),
    ("counts['n'] += 1\nif counts['n'] == limits['n']:\n  here()\n  counts['n'] = 0", None),
]


@pytest.mark.parametrize("body", UNGUARDED)
def test_a_condition_that_may_hold_on_each_step_is_no_guard(body: str) -> None:
    model = model_of(PREAMBLE + "for step, x in enumerate(dataset):\n" + indent(body, "  "))
    assert model.guard_of(here(model)) is None


@pytest.mark.parametrize(("body", "every"), GUARDED)
def test_a_guard_says_how_seldom_it_lets_through(body: str, every: int | None) -> None:
    helper = "def log(step):\n  if step % 100 == 0: here()\n" if body == "log(step)" else ""
    helper += "def options(step):\n  first = step == 0\n  return {FIRST: first, LAST: x}\n"
    model = model_of(
        PREAMBLE + "every = 50\n" + helper + "for step, x in enumerate(dataset):\n" + indent(body, "  ")
    )
    guard = model.guard_of(here(model))
    assert guard is not None
    assert guard.every == every


@pytest.mark.parametrize(
    ("body", "guarded"),
    [
        ("if step % 100: return None\nhere()", True),
        ("if step % 100 != 0:\n  return last\nfor x in rows: here()", True),
        ("if not verbose: return\nhere()", True),
        ("if step % 100 == 0: return\nhere()", False),
        ("if step % 100: print(step)\nhere()", False),
        ("for x in rows:\n  if step % 100: return\n  here()", False),
    ],
)
def test_a_function_that_returns_on_most_steps_is_guarded(body: str, guarded: bool) -> None:
    source = "def look(step):\n" + indent(body, "  ") + "\nfor step, x in enumerate(dataset): look(step)\n"
    model = model_of(PREAMBLE + source)
    assert (model.guard_of(here(model)) is not None) is guarded


# Behind each counter is all that trains.
TRAINING_BEHIND = [
    "if step % 4 == 0:\n  here()\n  train_step(x)",
    "if step % 4 == 0 and ready:\n  train_step(x)\n  here()",
    "if step % unknown == 0:\n  model.train_on_batch(x, y)\n  here()",
    "if step % 4 != 0: continue\nhere()\ntrain_step(x)",
    "if step % 4: pass\nelse:\n  train_step(x)\n  here()",
    "if step % 4 == 0: learn(x)",
    "if step % 4 == 0: sample(x)",
]
# Behind these is something else, or not all that trains.
MORE_THAN_TRAINING = [
    "train_step(x)\nif step % 4 == 0: here()",
    "train_step(x)\nif step % 4 == 0:\n  here()\n  train_step(x)",
    "if step % 4 == 0: train_step(x)\nif step % 8 == 0: here()",
    "if step % 4 == 0: target.set_weights(model.get_weights())\nif step % 4 == 0: here()",
    "if step % 1000 == 0:\n  here()\n  train_step(x)",
    "if step % 4 == 0:\n  here()\n  model.fit(data, labels, epochs=10)",
    "if step % 4 == 0:\n  here()\n  for batch in dataset: train_step(batch)",
    "train_step(x)\nif step % 4: continue\nhere()",
    "with tf.GradientTape() as tape: loss = model(x)\ngiven = tape.gradient(loss, w)\nif step % 4 == 0:\n"
    "  optimizer.apply_gradients(zip(given, w))\n  here()",
    "if step % 2 == 0: learn(x)\nelse: train_step(x)",
    "other.train(x)\nif step % 4 == 0:\n  here()\n  train_step(x)",
]
_LEARNING = "def learn(x):\n  sample(x)\ndef sample(x):\n  here()\n  train_step(x)\n"


def _steps_of(body: str) -> str:
    helpers = _LEARNING if "learn(" in body or "sample(" in body else ""
    return PREAMBLE + helpers + "for step, x in enumerate(dataset):\n" + indent(body, "  ")


@pytest.mark.parametrize("body", TRAINING_BEHIND)
def test_what_belongs_to_the_training_that_a_counter_guards_is_behind_no_guard(body: str) -> None:
    model = model_of(_steps_of(body))
    assert model.guard_of(here(model)) is None


@pytest.mark.parametrize("body", MORE_THAN_TRAINING)
def test_a_counter_guards_what_is_not_done_for_each_training_step(body: str) -> None:
    model = model_of(_steps_of(body))
    assert model.guard_of(here(model)) is not None


def test_a_method_that_trains_now_and_then_is_behind_no_guard() -> None:
    source = (
        "class Agent:\n  def remember(self, x):\n    self.count += 1\n    if self.count % 4 == 0: self.learn(x)\n"
        "  def learn(self, x):\n    here()\n    train_step(x)\n"
        "agent = Agent()\nwhile True:\n  x = env.step(agent.choose())\n  agent.remember(x)\n"
    )
    model = model_of(PREAMBLE + source)
    assert model.guard_of(here(model)) is None
    beside = model_of(PREAMBLE + source + "  train_step(x)\n")
    assert beside.guard_of(here(beside)) is not None


def test_a_guard_at_every_call_site_guards_the_function() -> None:
    source = (
        "def f(): here()\nfor i, x in enumerate(dataset):\n  if i % 10 == 0: f()\n  if i % 20 == 0: f()\n"
    )
    model = model_of(PREAMBLE + source)
    assert model.guard_of(here(model)) is not None


def test_a_guard_at_the_call_of_a_function_guards_what_that_calls_twice() -> None:
    source = (
        "def f(): here()\ndef g():\n  f()\n  f()\nfor i, x in enumerate(dataset):\n  if i % 10 == 0: g()\n"
    )
    model = model_of(PREAMBLE + source)
    assert model.guard_of(here(model)) is not None


def test_a_call_out_of_the_step_loop_needs_no_guard() -> None:
    source = "def f(): here()\nf()\nfor i, x in enumerate(dataset):\n  if i % 10 == 0: f()\n"
    model = model_of(PREAMBLE + source)
    assert model.guard_of(here(model)) is not None


def test_one_unguarded_call_site_leaves_the_function_unguarded() -> None:
    source = "def f(): here()\nfor i, x in enumerate(dataset):\n  if i % 10 == 0: f()\n  f()\n"
    model = model_of(PREAMBLE + source)
    assert model.guard_of(here(model)) is None


@pytest.mark.parametrize(
    ("calls", "guarded"),
    [
        (["log(i)", "log(i, at_end=False)"], True),
        (["log(i)", "log(i, at_end=i == 9)"], False),
        (["log(i)", "log(i, True)"], False),
        (["log(i, *given)"], False),
    ],
)
def test_a_flag_that_no_call_on_a_step_sets_is_a_guard(calls: list[str], guarded: bool) -> None:
    source = "def log(i, at_end=False):\n  print(i)\n  if at_end:\n    x = i\n    here()\n"
    source += "for i, x in enumerate(dataset):\n" + "".join(f"  {call}\n" for call in calls)
    model = model_of(PREAMBLE + source + "log(0, at_end=True)\n")
    assert (model.guard_of(here(model)) is not None) is guarded


@pytest.mark.parametrize(("call", "kind"), [("Block(i)(x)", "none"), ("block(x)", "step")])
def test_putting_layers_of_one_s_own_into_a_model_is_no_step(call: str, kind: str) -> None:
    model = model_of(f"""
        class Block(keras.layers.Layer):
            def __init__(self, n):
                super().__init__()
                self.net = keras.Sequential()
            def call(self, x):
                return self.net(x)
        block = Block(3)
        for i in range(80):
            x = {call}
        """)
    (loop,) = model.walk.loops.values()
    assert model.loops.kind(loop) == kind
