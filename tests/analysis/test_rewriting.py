"""What is known to be the same wherever it is evaluated, and what is not: one table of loops for all rules."""

from __future__ import annotations

import libcst as cst
import pytest

from tests.analysis.support import here, model_of
from tflint_perf.analysis.python.syntax import descendants
from tflint_perf.analysis.rewriting import Doubt

# In each, `here()` stands for the consumer of what moves: its one argument, above the loop around it.
X = "x = np.arange(6.0)\n"
KNOWN = {
    "an array that is seen as other numbers": "x = np.ones(4)\nfor i in range(3):\n    here(tf.constant(x.view(np.uint8)))\n",
    "a number": "for i in range(3):\n    here(tf.constant(1.0))\n",
    "an array that is only read": X + "for i in range(3):\n    here(tf.constant(x))\nprint(x.mean(), x[0])\n",
    "a view of an array that is only read": X + "y = x[1:]\nfor i in range(3):\n    here(tf.constant(y))\n",
    "an array made of itself": X
    + "x = x.reshape(2, 3) / 255.0\nfor i in range(3):\n    here(tf.constant(x))\n",
    "a part of an array": X + "for i in range(3):\n    here(tf.constant(x[:2]))\n",
    "a tensor": "x = tf.ones(3)\nfor i in range(3):\n    here(tf.cast(x, tf.int32))\n",
    "a tensor that other code has": "x = tf.ones(3)\nkeep(x)\nfor i in range(3):\n    here(tf.cast(x, tf.int32))\n",
    "a size": X + "n = len(x)\nfor i in range(3):\n    here(tf.zeros(n))\n",
    "a local array": """
        def main():
            x = np.ones(3)
            for i in range(3):
                here(tf.constant(x))
        """,
    "data that Keras brings": """
        (x, y), test = keras.datasets.mnist.load_data()
        for i in range(3):
            here(tf.constant(x / 255.0))
        """,
    "numbers that were drawn before": """
        rng = np.random.default_rng(0)
        x = rng.normal(size=3)
        for i in range(3):
            here(tf.constant(x))
        """,
    "a dataset of arrays": X
    + "for i in range(3):\n    here(tf.data.Dataset.from_tensor_slices((x, x)).batch(2))\n",
    "a dataset that is mapped by a function of ops": X
    + """
def scale(value):
    value = tf.cast(value, tf.float32)
    return value / 255.0
for i in range(3):
    here(tf.data.Dataset.from_tensor_slices(x).map(scale))
""",
    "a bound that is a constant": "N = 3\nfor i in range(N):\n    here(tf.zeros([2, 2]))\n",
    "two loops": "for i in range(3):\n    for j in [1, 2]:\n        here(tf.zeros([2, 2]))\n",
    "an array that Keras is fitted to": """
        model = keras.Sequential([keras.layers.Dense(1)])
        x = np.ones((4, 2))
        for i in range(3):
            here(tf.constant(x))
            model.fit(x, x)
        """,
}
UNKNOWN = {
    # What training, or the loop, changes
    "a variable": "w = tf.Variable([1.0])\nfor i in range(3):\n    here(tf.data.Dataset.from_tensor_slices(w))\n    w.assign([2.0])\n",
    "what a variable holds": X
    + "w = tf.Variable([1.0])\nfor i in range(3):\n    here(tf.constant(w.numpy() * x))\n",
    "a model's variables": "for i in range(3):\n    here(tf.data.Dataset.from_tensor_slices(model.trainable_variables))\n",
    "a name that the loop binds": "for i in range(3):\n    x = i\n    here(tf.constant(x))\n",
    "the loop's variable": "for i in range(3):\n    here(tf.constant(i))\n",
    "a name that a function binds": X
    + "def step():\n    global x\n    x = x + 1\nfor i in range(3):\n    here(tf.constant(x))\n    step()\n",
    "a name that is added to": "n = 1\nn += 1\nfor i in range(3):\n    here(tf.constant(n))\n",
    # Others that hold it
    "a list": "xs = [1.0]\nfor i in range(3):\n    here(tf.constant(xs))\n",
    "a list that grows by another name": "xs = []\nsame = xs\nfor i in range(3):\n    here(tf.data.Dataset.from_tensor_slices(xs))\n    same.append(i)\n",
    "an array in a list": X + "kept = [x]\nfor i in range(3):\n    here(tf.constant(x))\n    kept[0] += 1\n",
    "an array in a tuple": X
    + "kept = x, 1\nfor i in range(3):\n    here(tf.constant(x))\n    kept[0][0] = 1\n",
    "an array in a dict": X + "kept = dict(x=x)\nfor i in range(3):\n    here(tf.constant(x))\n",
    "a view that is written to": X
    + "y = x[1:]\nfor i in range(3):\n    here(tf.constant(x))\n    y[0] = i\n",
    "a view by reshape that is written to": X
    + "y = x.reshape(2, 3)\nfor i in range(3):\n    here(tf.constant(x))\n    y[0] = i\n",
    "another name that is written to": X
    + "y = x\nfor i in range(3):\n    here(tf.constant(x))\n    y += i\n",
    "a row of a loop": X
    + "for i in range(3):\n    here(tf.constant(x))\n    for row in x:\n        row += 1\n",
    "rows that are zipped": X
    + "for i in range(3):\n    here(tf.constant(x))\n    for a, b in zip(x, x):\n        a += b\n",
    "an array that is handed to a function": X
    + "for i in range(3):\n    here(tf.constant(x))\n    step(x)\n",
    "an array that an object holds": X
    + "agent = Agent(x)\nfor i in range(3):\n    here(tf.constant(x))\n    agent.act()\n",
    "an array that is written to": X + "for i in range(3):\n    here(tf.constant(x))\n    x[0] = i\n",
    "an array that is an output": X
    + "for i in range(3):\n    here(tf.constant(x))\n    np.add(x, 1, out=x)\n",
    "an array that is an output by place": X
    + "for i in range(3):\n    here(tf.constant(x))\n    np.add(x, 1, x)\n",
    "an array that is shuffled": X
    + "for i in range(3):\n    here(tf.constant(x))\n    np.random.shuffle(x)\n",
    "an array that is sorted": X + "for i in range(3):\n    here(tf.constant(x))\n    x.sort()\n",
    "an array that is filled": X + "for i in range(3):\n    here(tf.constant(x))\n    x.fill(i)\n",
    "an array that a lambda gives": X
    + "get = lambda: x\nfor i in range(3):\n    here(tf.constant(x))\n    get()[0] = i\n",
    "an array that a default holds": X
    + "def step(y=x):\n    y += 1\nfor i in range(3):\n    here(tf.constant(x))\n    step()\n",
    "an array that a function gives back": X
    + "def get():\n    return x\nfor i in range(3):\n    here(tf.constant(x))\n    get()[0] = i\n",
    "an array under a walrus": X
    + "print((y := x))\nfor i in range(3):\n    here(tf.constant(x))\n    y += 1\n",
    "an array of a module, for other files to change": X
    + "def main():\n    for i in range(3):\n        here(tf.constant(x))\n",
    "a copy that is none": X
    + "y = np.array(x, copy=False)\nfor i in range(3):\n    here(tf.constant(x))\n    y += 1\n",
    "a type that stays as it is": X
    + "y = x.astype(float, copy=False)\nfor i in range(3):\n    here(tf.constant(x))\n    y += 1\n",
    "a parameter": "def main(x):\n    for i in range(3):\n        here(tf.constant(x))\n",
    "an attribute": "class A:\n    def run(self):\n        for i in range(3):\n            here(tf.constant(self.x))\n",
    "what another file has": "from data import x\nfor i in range(3):\n    here(tf.constant(x))\n",
    "what a call gives": "x = load()\nfor i in range(3):\n    here(tf.constant(x))\n",
    "a file": "for i in range(3):\n    here(tf.constant(np.load('x.npy')))\n",
    "random numbers": "for i in range(3):\n    here(tf.random.normal([2]))\n",
    "random numbers of NumPy": "for i in range(3):\n    here(tf.constant(np.random.rand(3)))\n",
    "the time": "import time\nfor i in range(3):\n    here(tf.constant(time.time()))\n",
    "a generator's name that its reader binds": """
        n = 1
        def steps():
            for i in range(3):
                here(tf.constant(n))
                yield i
        for step in steps():
            n = step
        """,
    # Functions
    "a map that captures a variable": X
    + "w = tf.Variable(1.0)\nfor i in range(3):\n    here(tf.data.Dataset.from_tensor_slices(x).map(lambda v: v * w))\n",
    "a map that prints": X
    + "def f(v):\n    print(v)\n    return v\nfor i in range(3):\n    here(tf.data.Dataset.from_tensor_slices(x).map(f))\n",
    "a map that keeps": X
    + "def f(v):\n    seen.append(v)\n    return v\nfor i in range(3):\n    here(tf.data.Dataset.from_tensor_slices(x).map(f))\n",
    "a map that draws": X
    + "for i in range(3):\n    here(tf.data.Dataset.from_tensor_slices(x).map(lambda v: v + tf.random.normal([])))\n",
    "a function whose default is what a variable holds": (
        "w = tf.Variable(1.0)\nfor i in range(3):\n    here(tf.function(lambda v, a=float(w[0]): v * a))\n"
    ),
    "a function whose default may fail": "n = 0\nfor i in range(3):\n    print(i)\n    here(tf.function(lambda v, a=1 / n: v * a))\n",
    "a map that is an object": X
    + "for i in range(3):\n    here(tf.data.Dataset.from_tensor_slices(x).map(Scale(2)))\n",
    "a map that calls Python": X
    + "for i in range(3):\n    here(tf.data.Dataset.from_tensor_slices(x).map(lambda v: tf.py_function(f, [v], tf.float32)))\n",
    "a dataset from a generator": "for i in range(3):\n    here(tf.data.Dataset.from_generator(g, tf.float32))\n",
    "a dataset that is shuffled": X
    + "for i in range(3):\n    here(tf.data.Dataset.from_tensor_slices(x).shuffle(3))\n",
    # Where it stands
    "an operator of an object": "a = A()\nfor i in range(3):\n    here(a + 1)\n",
    "behind a print, if it fails": X + "for i in range(3):\n    print(i)\n    here(tf.constant(x))\n",
    "behind a break, if it fails": X
    + "for i in range(3):\n    if x[0]:\n        break\n    here(tf.constant(x))\n",
    "in a loop that may not run, if it fails": X + "for i in range(n):\n    here(tf.constant(x))\n",
    "in a loop over a dataset, if it fails": X + "for i in dataset:\n    here(tf.constant(x))\n",
    "in a try, if it fails": X
    + "try:\n    for i in range(3):\n        here(tf.constant(x))\nexcept ValueError:\n    pass\n",
    "behind an and": X + "for i in range(3):\n    i and here(tf.constant(x))\n",
    "in one way of two": X + "for i in range(3):\n    y = here(tf.constant(x)) if i else 1\n",
    # Who looks on
    "in a program that runs text": X + "for i in range(3):\n    here(tf.constant(x))\n    exec('x[0] = 1')\n",
    "in a program that sees its names": X
    + "for i in range(3):\n    here(tf.constant(x))\n    globals()['x'][0] = 1\n",
    "in a program that asks what is the same": X
    + "for i in range(3):\n    a = here(tf.constant(x))\n    print(a is b)\n",
    "in a program that holds weakly": "import weakref\nfor i in range(3):\n    here(tf.constant(1.0))\n",
    "in a program that replaces an op": "tf.constant = print\nfor i in range(3):\n    here(tf.constant(1.0))\n",
    "in a program that replaces an op in a loop": "for tf.constant in [print]:\n    pass\nfor i in range(3):\n    here(tf.constant(1.0))\n",
    "in a program that replaces an op with what a context gives": "with patched() as (a, tf.constant):\n    for i in range(3):\n        here(tf.constant(1.0))\n",
    "in a program that takes an op away": "del tf.constant\nfor i in range(3):\n    here(tf.constant(1.0))\n",
    "in a program that replaces an op in passing": "[0 for tf.constant in [print]]\nfor i in range(3):\n    here(tf.constant(1.0))\n",
    "an array of another class": "x = np.ones(3).view(Noisy)\nfor i in range(3):\n    here(tf.constant(x))\n",
    "an array that one of another class is a view of": X
    + "y = x.view(Noisy)\nfor i in range(3):\n    here(tf.constant(x))\n    y + 1\n",
    "where settings change on the way": "for i in range(3):\n    keras.backend.set_floatx('float64')\n    here(tf.zeros([2]))\n",
    "where settings are handed on": "for i in range(3):\n    list(map(keras.backend.set_floatx, ['float64']))\n    here(tf.zeros([2]))\n",
    "where settings are asked for by a text": "for i in range(3):\n    getattr(keras.backend, 'set_floatx')('float64')\n    here(tf.zeros([2]))\n",
    "where any name may be imported": "from helpers import *\nfor i in range(3):\n    here(tf.constant(1.0))\n",
}


def doubt_of(source: str) -> Doubt | None:
    """What is said of the argument of `here()`, moved above the outermost loop around it."""
    model = model_of(source)
    moved = here(model).args[0].value
    loop = model.loops.innermost_loop(moved)
    assert loop is not None
    while loop.parent is not None:
        loop = loop.parent
    return model.rewriting.doubt_of_moving([moved], loop)


@pytest.mark.parametrize("source", UNKNOWN.values(), ids=UNKNOWN.keys())
def test_what_may_change_is_not_known_to_be_the_same(source: str) -> None:
    doubt = doubt_of(source)
    assert doubt is not None
    assert doubt.what


@pytest.mark.parametrize("source", KNOWN.values(), ids=KNOWN.keys())
def test_what_nobody_can_change_is_known_to_be_the_same(source: str) -> None:
    assert doubt_of(source) is None


# Statements that bind a name: who else reads it, and when.
NAMES = {
    "read behind it in the loop": ("for i in range(3):\n    t = tf.ones(3)\n    use(t)\n", True),
    "read behind a loop that runs": ("for i in range(3):\n    t = tf.ones(3)\n    use(t)\nuse(t)\n", True),
    "read behind a loop that may not run": (
        "for i in range(n):\n    t = tf.constant(1)\n    use(t)\nuse(t)\n",
        False,
    ),
    "read behind a loop that may be left before": (
        "for i in range(3):\n    if a:\n        break\n    t = tf.constant(1)\nuse(t)\n",
        False,
    ),
    "read in front of it": ("for i in range(3):\n    if i:\n        use(t)\n    t = tf.ones(3)\n", False),
    "read by a function": (
        "def show():\n    use(t)\nfor i in range(3):\n    t = tf.ones(3)\n    show()\n",
        False,
    ),
    "bound twice": ("t = None\nfor i in range(3):\n    t = tf.ones(3)\n    use(t)\n", False),
    "bound anew behind it": ("for i in range(3):\n    t = tf.ones(3)\n    t += 1\n    use(t)\n", False),
    "taken away": ("for i in range(3):\n    t = tf.ones(3)\n    del t\n", False),
    "global": (
        "def f():\n    global t\n    for i in range(3):\n        t = tf.ones(3)\n        use(t)\n",
        False,
    ),
    "of a class": ("class A:\n    for i in range(3):\n        t = tf.ones(3)\n        use(t)\n", False),
}


@pytest.mark.parametrize(("source", "known"), NAMES.values(), ids=NAMES.keys())
def test_a_name_is_known_where_nobody_reads_it_before_it_would_be_bound(source: str, known: bool) -> None:
    model = model_of(source)
    made = model.calls_to("tf.ones", "tf.constant")[0]
    statement = model.statement_of(made)
    loop = model.loops.innermost_loop(statement)
    assert loop is not None
    assert (model.rewriting.doubt_of_moving([statement], loop) is None) is known


AHEAD = {
    "ops on arrays": ("tf.data.Dataset.from_tensor_slices(np.ones(3)).map(lambda v: v * 2).batch(2)", True),
    "arrays in any order": ("tf.data.Dataset.from_tensor_slices(np.ones(3)).shuffle(3).batch(2)", True),
    "a map that captures a variable": ("tf.data.Dataset.range(3).map(lambda v: v * w)", False),
    "a map that prints": ("tf.data.Dataset.range(3).map(lambda v: tf.print(v))", False),
    "a generator": ("tf.data.Dataset.from_generator(g, tf.float32).batch(2)", False),
    "files": ("tf.data.TFRecordDataset(['a']).batch(2)", False),
    "a cache on disk": ("tf.data.Dataset.range(3).cache('here')", False),
    "a dataset from elsewhere": ("load().batch(2)", False),
    "zipped with a generator": (
        "tf.data.Dataset.zip((tf.data.Dataset.range(3), tf.data.Dataset.from_generator(g, tf.float32)))",
        False,
    ),
}


@pytest.mark.parametrize(("made", "known"), AHEAD.values(), ids=AHEAD.keys())
def test_a_pipeline_may_run_ahead_where_nothing_that_it_reads_changes(made: str, known: bool) -> None:
    assert (doubt_of_reading(f"dataset = {made}\nfor batch in dataset:\n    pass\n") is None) is known


SIGHTINGS = {
    "only gone over": ("for batch in dataset:\n    pass\n", False),
    "gone over with a counter": ("for i, batch in enumerate(dataset):\n    pass\n", False),
    "given to Keras": (
        "model = keras.Sequential([keras.layers.Dense(1)])\nmodel.fit(dataset)\nfor batch in dataset:\n    pass\n",
        False,
    ),
    "zipped, and gone over": (
        "for batch in tf.data.Dataset.zip((dataset, dataset)):\n    pass\nfor batch in dataset:\n    pass\n",
        False,
    ),
    "printed": ("print(dataset)\nfor batch in dataset:\n    pass\n", True),
    "printed as part of a text": ("print(f'{dataset}')\nfor batch in dataset:\n    pass\n", True),
    "asked for its class": ("print(type(dataset))\nfor batch in dataset:\n    pass\n", True),
    "put into a list": ("kept = [dataset]\nfor batch in dataset:\n    pass\n", True),
    "printed by another name": ("same = dataset\nprint(same)\nfor batch in dataset:\n    pass\n", True),
    "printed with a stage more": ("print(dataset.take(1))\nfor batch in dataset:\n    pass\n", True),
    "given a tag": ("dataset.tag = 1\nfor batch in dataset:\n    pass\n", True),
    "handed to a function": ("show(dataset)\nfor batch in dataset:\n    pass\n", True),
}


@pytest.mark.parametrize(("use", "seen"), SIGHTINGS.values(), ids=SIGHTINGS.keys())
def test_a_pipeline_may_be_of_another_class_where_nobody_sees_more_than_its_elements(
    use: str, seen: bool
) -> None:
    assert (doubt_of_reading(f"dataset = tf.data.Dataset.range(3).batch(2)\n{use}") is not None) is seen


def doubt_of_reading(source: str) -> Doubt | None:
    """What is said of the dataset that `source` makes first."""
    model = model_of(f"w = tf.Variable(1)\n{source}")
    made = next(
        binding.value
        for binding in model.walk.top.bindings["dataset"]
        if isinstance(binding.value, cst.BaseExpression)
    )
    return model.rewriting.doubt_of_reading_ahead(model.value(made), made)


def test_a_doubt_points_at_what_may_change() -> None:
    model = model_of(X + "for i in range(3):\n    here(tf.constant(x))\n    step(x)\n")
    moved = here(model).args[0].value
    loop = model.loops.innermost_loop(moved)
    assert loop is not None
    doubt = model.rewriting.doubt_of_moving([moved], loop)
    assert doubt == Doubt("its result: nothing shows that `x` stays the same", model.walk.names["x"][-1])
    assert doubt.node in set(descendants(loop.node))
