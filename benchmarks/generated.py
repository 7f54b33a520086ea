"""Code that nobody writes and generators do: made to show what grows faster than its length.

Each function gives the files of a project, text by name, `size` times as large as one of what it is named for.
They are the same each time. What a function does is what training scripts do, so that all rules are asked.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

Project = dict[str, str]
FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
_DEFINED = re.compile(r"(?m)^(?:def|class) (\w+)|^(\w+) = ")
_IMPORT = re.compile(r"(?m)^(?:import|from) .*\n")

HEAD = """\
import gc
import os
import random
import time

import numpy as np
import tensorflow as tf
from tensorflow import keras

"""
# What one function of a script does, given `model`, `images` and `labels`.
_BODIES = (
    "    with tf.GradientTape() as tape:\n"
    "        loss = tf.reduce_mean(tf.square(model(images, training=True) - labels))\n"
    "    gradients = tape.gradient(loss, model.trainable_variables)\n"
    "    keras.optimizers.SGD(0.1).apply_gradients(zip(gradients, model.trainable_variables))\n",
    "    losses = []\n"
    "    for image in images:\n"
    "        losses.append(tf.reduce_sum(image))\n"
    "    print(float(losses[-1]))\n",
    "    dataset = tf.data.Dataset.from_tensor_slices((images, labels)).map(lambda x, y: (x / 255, y))\n"
    "    dataset = dataset.shuffle(100).batch(32)\n"
    "    for images, labels in dataset:\n"
    "        model.train_on_batch(images, labels)\n",
    "    x = tf.nn.relu(tf.matmul(images, tf.random.normal((8, 8))))\n"
    "    if tf.reduce_max(x) > 1:\n"
    "        x = x / tf.reduce_max(x)\n"
    "    labels = tf.cast(labels, tf.float32) + tf.reduce_mean(x)\n",
    "    predictions = model.predict(images)\n"
    "    scores = np.mean(np.argmax(predictions, axis=-1) == np.array(labels))\n"
    "    time.sleep(0)\n"
    "    print(scores, random.random(), os.getpid())\n",
    "    saved = [variable.numpy() for variable in model.trainable_variables]\n"
    "    for variable, value in zip(model.trainable_variables, saved):\n"
    "        variable.assign(value)\n"
    "    gc.collect()\n",
)
_MAIN = """

def main():
    model = keras.Sequential([keras.layers.Dense(8), keras.layers.Dense(1)])
    dataset = tf.data.Dataset.from_tensor_slices((tf.zeros((64, 8)), tf.zeros((64, 1)))).batch(8)
    for images, labels in dataset:
        {call}
        gc.collect()


if __name__ == "__main__":
    main()
"""


@cache
def scripts() -> tuple[str, ...]:
    """The scripts of the fixtures: ordinary code, some with findings, some without."""
    return tuple(path.read_text(encoding="utf-8") for path in sorted(FIXTURES.glob("TFP*/*.py")))


def ordinary(size: int) -> Project:
    """Scripts as people write them, `size` of them."""
    texts = scripts()
    return {f"script{n}.py": texts[n % len(texts)] for n in range(size)}


def one_file(size: int) -> Project:
    """The scripts of the fixtures in one file, again and again under other names, `size` lines."""
    imports: dict[str, None] = {}
    parts: list[str] = []
    lines = 0
    texts = scripts()
    while lines < size:
        text = texts[len(parts) % len(texts)]
        imports.update(dict.fromkeys(_IMPORT.findall(text)))
        names = {name for match in _DEFINED.findall(text) for name in match if name}
        whole = re.compile(rf"\b(?:{'|'.join(sorted(names))})\b(?!=[^=])")
        part = whole.sub(rf"\g<0>_{len(parts)}", _IMPORT.sub("", text))
        parts.append(part)
        lines += part.count("\n")
    return {"generated.py": f"{''.join(imports)}\n\n{''.join(parts)}"}


# Who calls whom


def _functions(calls: Sequence[Sequence[int]], start: int = 0) -> str:
    """Functions `f0`, `f1`, …, each with the numbers of those that it calls."""
    parts = [HEAD]
    for number, called in enumerate(calls):
        body = _BODIES[number % len(_BODIES)]
        own = "".join(f"    labels = f{other}(model, images, labels)\n" for other in called)
        parts.append(f"\ndef f{number}(model, images, labels):\n{body}{own}    return labels\n\n")
    return "".join(parts) + _MAIN.format(call=f"f{start}(model, images, labels)")


def chain(size: int) -> Project:
    """Each function calls the next one."""
    return {"chain.py": _functions([[n + 1] if n + 1 < size else [] for n in range(size)])}


def chain_backwards(size: int) -> Project:
    """Each function calls the one before it."""
    return {"chain.py": _functions([[n - 1] if n else [] for n in range(size)], size - 1)}


def ring(size: int) -> Project:
    """Each function calls the next one, the last one the first."""
    return {"ring.py": _functions([[(n + 1) % size] for n in range(size)])}


def crowd(size: int) -> Project:
    """Each function calls five others, drawn by chance."""
    chance = random.Random(0)
    return {"crowd.py": _functions([[chance.randrange(size) for _ in range(5)] for _ in range(size)])}


def called_by_all(size: int) -> Project:
    """All functions call one."""
    return {"hub.py": _functions([[], *([0] for _ in range(size - 1))], size - 1)}


def calls_all(size: int) -> Project:
    """One function calls all others."""
    return {"hub.py": _functions([range(1, size), *([] for _ in range(size - 1))])}


def methods(size: int) -> Project:
    """A class of many methods, each of which calls the next one and writes attributes that others read."""
    parts = [HEAD, "\nclass Agent:\n    def __init__(self, model):\n        self.model = model\n"]
    for n in range(size):
        parts.append(
            f"\n    def learn{n}(self, images, labels):\n"
            f"        self.loss{n} = tf.reduce_mean(self.model(images, training=True) - labels)\n"
            f"        self.last = self.loss{n}\n"
            f"        print(self.last.numpy())\n"
            f"        return self.learn{(n + 1) % size}(images, labels)\n"
        )
    return {"agent.py": "".join(parts) + _MAIN.format(call="Agent(model).learn0(images, labels)")}


# Classes


def _classes(bases: Iterable[str]) -> str:
    parts = [HEAD]
    for n, base in enumerate(bases):
        parts.append(
            f"\nclass Model{n}({base}):\n"
            f"    def __init__(self):\n        super().__init__()\n        self.dense{n} = keras.layers.Dense(8)\n\n"
            f"    def call(self, inputs):\n        return self.dense{n}(inputs) + self.dense{n // 2}(inputs)\n\n"
            f"    def learn{n}(self, images):\n        print(self(images).numpy())\n\n"
        )
    return "".join(parts) + _MAIN.format(call="Model0()(images)")


def class_tree(size: int) -> Project:
    """Classes that are each derived from one before it, drawn by chance."""
    chance = random.Random(0)
    bases = ["keras.Model", *(f"Model{chance.randrange(n)}" for n in range(1, size))]
    return {"classes.py": _classes(bases)}


def class_chain(size: int) -> Project:
    """Classes in chains of a hundred, each derived from the one before it."""
    bases = ("keras.Model" if n % 100 == 0 else f"Model{n - 1}" for n in range(size))
    return {"classes.py": _classes(bases)}


# One name, one function, one statement


def one_name(size: int) -> Project:
    """A name that is assigned to, and used, again and again at the top of a module."""
    lines = ["x = tf.zeros((8, 8))\n"]
    lines += [f"x = tf.matmul(x, x) + {n}\nprint(x.numpy())\n" for n in range(size)]
    return {"name.py": HEAD + "".join(lines)}


def one_name_in_branches(size: int) -> Project:
    """A name that is assigned to under conditions, in a loop over steps."""
    lines = ["def train(model, dataset, mode):\n    loss = None\n    for images, labels in dataset:\n"]
    for n in range(size):
        lines.append(
            f"        if mode == {n}:\n            loss = model.train_on_batch(images, labels)\n"
            f"            print(float(loss))\n"
        )
    return {"name.py": HEAD + "\n" + "".join(lines)}


def one_name_everywhere(size: int) -> Project:
    """A module's name that many functions set and read."""
    lines = ["state = tf.Variable(0.0)\n"]
    for n in range(size):
        lines.append(
            f"\n\ndef step{n}(model, images):\n    global state\n"
            f"    print(state.numpy(), model(images))\n    state = tf.Variable({n}.0)\n"
        )
    return {"name.py": HEAD + "".join(lines)}


def one_attribute(size: int) -> Project:
    """An attribute that many methods set and read."""
    lines = ["\nclass Agent:\n"]
    for n in range(size):
        lines.append(
            f"    def learn{n}(self, images):\n        self.loss = tf.reduce_mean(images) + {n}\n"
            f"        print(self.loss.numpy())\n        self.log{n}(self.loss)\n\n"
        )
    return {"agent.py": HEAD + "".join(lines)}


def long_function(size: int) -> Project:
    """A function of so many statements, most of them ops, in a loop over batches."""
    lines = ["def train(model, dataset, optimizer):\n    for images, labels in dataset:\n"]
    for n in range(size // 4):
        lines.append(
            f"        with tf.GradientTape() as tape:\n            loss{n} = tf.reduce_mean(model(images) - labels)\n"
            f"        grads{n} = tape.gradient(loss{n}, model.trainable_variables)\n"
            f"        optimizer.apply_gradients(zip(grads{n}, model.trainable_variables))\n"
        )
    return {"long.py": HEAD + "\n" + "".join(lines)}


def host_values(size: int) -> Project:
    """A value on the host of which each line makes two uses: there are more ways through them than can be gone."""
    lines = ["def train(model, dataset):\n    for images, labels in dataset:\n"]
    lines.append("        x0 = tf.reduce_sum(images, 0).numpy()\n")
    lines += [f"        x{n + 1} = x{n} * np.mean(x{n}) + {n}\n" for n in range(size)]
    lines.append(f"        show(x{size})\n")
    return {"values.py": HEAD + "\n" + "".join(lines)}


def long_graph(size: int) -> Project:
    """A compiled function of so many ops, each of which takes what those before it gave."""
    chance = random.Random(0)
    lines = ["@tf.function\ndef step(x0):\n"]
    for n in range(1, size):
        one, other = chance.randrange(n), chance.randrange(max(0, n - 9), n)
        lines.append(f"    x{n} = tf.matmul(x{one}, x{other}) + tf.reduce_sum(x{other})\n")
    return {"graph.py": HEAD + "\n" + "".join(lines) + f"    return x{size - 1}\n"}


def elifs(size: int) -> Project:
    """Functions of fifty `elif` each."""
    lines = []
    for n in range(size):
        lines.append(
            f"    {'elif' if n % 50 else 'if'} mode == {n}:\n        return tf.reduce_sum(x) * {n}\n"
        )
        if n % 50 == 0:
            lines.insert(-1, f"\n\ndef pick{n // 50}(x, mode):\n")
    return {"elifs.py": HEAD + "".join(lines)}


def long_elif(size: int) -> Project:
    """One chain of `elif`."""
    lines = ["def pick(x, mode):\n"]
    for n in range(size):
        lines.append(f"    {'elif' if n else 'if'} mode == {n}:\n        x = tf.reduce_sum(x) * {n}\n")
    return {"elifs.py": HEAD + "\n" + "".join(lines) + "    return x.numpy()\n"}


def nested(size: int) -> Project:
    """Functions with blocks in blocks, ten deep, so many lines."""
    lines = []
    for n in range(size // 12):
        lines.append(f"\n\ndef deep{n}(model, dataset, x):\n")
        for depth in range(1, 10):
            what = "if x > 1:" if depth % 2 else f"for step{depth} in range(10):"
            lines.append(f"{'    ' * depth}{what}\n")
        lines.append(f"{'    ' * 10}x = model(x).numpy()\n")
    return {"nested.py": HEAD + "".join(lines)}


def method_chain(size: int) -> Project:
    """A dataset that gets one stage behind the other in one expression."""
    stages = "".join("    .map(lambda x: tf.cast(x, tf.float32) / 255.0)\n" for _ in range(size))
    text = f"dataset = (\n    tf.data.Dataset.range(100)\n{stages}    .batch(8)\n)\nfor batch in dataset:\n    print(batch)\n"
    return {"stages.py": HEAD + text}


def stages(size: int) -> Project:
    """A dataset that gets one stage behind the other, a statement each."""
    lines = ["dataset = tf.data.Dataset.range(100)\n"]
    lines += ["dataset = dataset.map(lambda x: tf.cast(x, tf.float32) / 255.0)\n" for _ in range(size)]
    return {"stages.py": HEAD + "".join(lines) + "for batch in dataset.batch(8):\n    print(batch)\n"}


def table(size: int) -> Project:
    """A dictionary of so many entries, looked up in a loop."""
    entries = "".join(f'    "key{n}": [tf.constant({n}), {n}.0, "tf.function"],\n' for n in range(size))
    text = f"TABLE = {{\n{entries}}}\nfor step in range(100):\n    print(TABLE['key7'][0].numpy(), TABLE)\n"
    return {"table.py": HEAD + text}


def imports(size: int) -> Project:
    """So many imports, each name used once."""
    lines = [f"from package{n} import function{n} as name{n}\n" for n in range(size)]
    uses = [f"name{n}(tf.zeros(8))\n" for n in range(size)]
    return {"imports.py": HEAD + "".join((*lines, *uses))}


ONE_FILE: tuple[Callable[[int], Project], ...] = (
    one_file, chain, chain_backwards, ring, crowd, called_by_all, calls_all, methods, class_tree, class_chain,
    one_name, one_name_in_branches, one_name_everywhere, one_attribute, long_function, host_values, long_graph, elifs, long_elif,
    nested, method_chain, stages, table, imports,
)  # fmt: skip
