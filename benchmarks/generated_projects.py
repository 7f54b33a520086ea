"""Projects of many files that nobody writes by hand: the counterpart of `generated` where files speak to each other."""

from __future__ import annotations

from collections.abc import Callable

from generated import HEAD, Project, scripts

_LEARN = """
    def learn(self, images, labels):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.model(images) - labels))
        gradients = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
        gc.collect()
        return loss
"""
_CROWD = 7
_AGENT = f"""\
class Agent:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
{_LEARN}"""
_LOOP = """
    for images, labels in tf.data.Dataset.range(100).batch(8):
        print(float({call}))
"""


def small_files(size: int) -> Project:
    """As many files of a few lines, one in ten of them a script."""
    texts = scripts()
    return {
        f"package{n // 100}/file{n}.py": f"def f{n}(x):\n    return x + {n}\n"
        if n % 10
        else f"import tensorflow as tf\n\n\ndef f{n}(x):\n    return tf.cast(x, tf.float32) * {n}\n"
        if n % 100
        else texts[n // 100 % len(texts)]
        for n in range(size)
    }


def star_imports(size: int) -> Project:
    """Files that import each other whole, one behind the other, and use what the first one defines."""
    files = {"file0.py": HEAD + "\n" + _AGENT}
    for n in range(1, size):
        files[f"file{n}.py"] = (
            f"import tensorflow as tf\nfrom file{n - 1} import *\n\n\ndef run{n}(model, optimizer):\n"
            f"    agent = Agent(model, optimizer)\n{_LOOP.format(call='agent.learn(images, labels)')[1:]}"
        )
    return files


def star_hub(size: int) -> Project:
    """One file that imports all others whole."""
    files = {
        f"file{n}.py": f"import tensorflow as tf\n\n\ndef run{n}(x):\n    return tf.cast(x, tf.float32) + {n}\n"
        for n in range(size)
    }
    stars = "".join(f"from file{n} import *\n" for n in range(size))
    uses = "".join(f"print(run{n}(tf.zeros(8)).numpy())\n" for n in range(size))
    return files | {"main.py": f"import tensorflow as tf\n{stars}{uses}"}


def ring_of_files(size: int) -> Project:
    """Files that each call a function of the next one, the last one of the first."""
    return {
        f"file{n}.py": HEAD + f"import file{(n + 1) % size}\n\n\ndef learn{n}(model, images, labels):\n"
        f"    print(float(model.train_on_batch(images, labels)))\n    gc.collect()\n"
        f"    file{(n + 1) % size}.learn{(n + 1) % size}(model, images, labels)\n"
        for n in range(size)
    }


def crowds_of_files(size: int) -> Project:
    """Groups of files that each import all of their group, and whose functions each call those of all others."""
    files: Project = {}
    for n in range(size * _CROWD):
        first = n - n % _CROWD
        others = [other for other in range(first, first + _CROWD) if other != n]
        files[f"file{n}.py"] = (
            "import tensorflow as tf\n"
            + "".join(f"from file{other} import *\nimport file{other}\n" for other in others)
            + f"\n\ndef f{n}(x):\n    x = tf.cast(x, tf.float32)\n"
            + "".join(f"    x = file{other}.f{other}(x)\n" for other in others)
            + f"    return unknown{n}(x)\n\n\nfor i in range(1000):\n    f{first}(i)\n"
        )
    return files


def hub_of_files(size: int) -> Project:
    """Files that all use one class of one of them."""
    files = {"agent.py": HEAD + "\n" + _AGENT}
    for n in range(size):
        files[f"file{n}.py"] = (
            "import tensorflow as tf\nfrom agent import Agent\n\n\ndef run(model, optimizer):\n"
            f"    agent = Agent(model, optimizer)\n{_LOOP.format(call='agent.learn(images, labels)')[1:]}"
        )
    return files


def derived_files(size: int) -> Project:
    """Files that all derive a class from one of them, and call what it inherits."""
    files = {"agent.py": HEAD + "\n" + _AGENT}
    for n in range(size):
        files[f"file{n}.py"] = (
            f"import gc\nimport tensorflow as tf\nfrom agent import Agent\n\n\nclass Agent{n}(Agent):\n{_LEARN[1:]}"
            f"\n\ndef run(model, optimizer):\n    agent = Agent{n}(model, optimizer)\n"
            f"{_LOOP.format(call='agent.learn(images, labels)')[1:]}"
        )
    return files


def same_names(size: int) -> Project:
    """Files that each have a function of the same name, and a neighbour that calls it."""
    files: Project = {}
    for n in range(size // 2):
        files[f"package{n}/__init__.py"] = ""
        files[f"package{n}/step.py"] = (
            HEAD + "\n\ndef train_step(model, images, labels):\n"
            "    loss = model.train_on_batch(images, labels)\n    gc.collect()\n    return loss\n"
        )
        files[f"package{n}/main.py"] = (
            "import tensorflow as tf\nfrom .step import train_step\n\n\ndef run(model):"
            + _LOOP.format(call="train_step(model, images, labels)")
        )
    return files


MANY_FILES: tuple[Callable[[int], Project], ...] = (
    small_files, star_imports, star_hub, ring_of_files, crowds_of_files, hub_of_files, derived_files,
    same_names,
)  # fmt: skip
