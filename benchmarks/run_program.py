"""Runs one program of others on synthetic data, seeded: the worker of `programs.py`.

What is put in a program's way: data sets that would be downloaded become small made-up ones that can be
learned, plots are drawn to nowhere, and where gymnasium's forerunner is asked for, there is a cart with a
pole. `tf.random` draws from a generator whose state is a variable: TensorFlow's own draws other numbers in a
compiled function than in eager code, so that a fix could not be told from chance.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import runpy
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

SEED = 1
# The shape of an image and the number of classes, by the data set's name.
IMAGES = {
    "mnist": ((28, 28), 10),
    "fashion_mnist": ((28, 28), 10),
    "cifar10": ((32, 32, 3), 10),
    "cifar100": ((32, 32, 3), 100),
}
WORDS = ("the", "a", "cat", "dog", "bird", "sees", "hears", "likes", "old", "young", "house", "tree", "now")
DRAWS = ("normal", "uniform", "truncated_normal")


def images(name: str, samples: int) -> Callable[..., Any]:
    """A `load_data` whose images are their class's pattern, with noise."""

    def load_data(*_: Any, **__: Any) -> Any:
        import numpy as np

        shape, classes = IMAGES[name]
        generator = np.random.default_rng(SEED)
        patterns = generator.uniform(0, 255, (classes, *shape))

        def draw(count: int) -> Any:
            labels = generator.integers(0, classes, count)
            noisy = 0.7 * patterns[labels] + 0.3 * generator.uniform(0, 255, (count, *shape))
            column = labels[:, None] if len(shape) == 3 else labels
            return noisy.astype("uint8"), column.astype("uint8")

        return draw(samples), draw(samples // 4)

    return load_data


def text(samples: int, folder: Path) -> Callable[..., str]:
    """A `get_file` whose file is a text of a few words."""

    def get_file(fname: str = "text.txt", *_: Any, **__: Any) -> str:
        generator = random.Random(SEED)
        path = folder / Path(fname).name
        lines = (" ".join(generator.choices(WORDS, k=8)) for _ in range(samples // 8))
        path.write_text("\n".join(lines), encoding="utf-8")
        return str(path)

    return get_file


class Cart:
    """A cart that balances a pole: the equations of Barto, Sutton and Anderson (1983), one Euler step each."""

    observation_space = types.SimpleNamespace(shape=(4,))
    action_space: Any

    def __init__(self) -> None:
        self._random = random.Random(SEED)
        self._state = [0.0] * 4
        self._steps = 0
        self.action_space = types.SimpleNamespace(n=2, sample=lambda: self._random.randrange(2))

    def seed(self, seed: int | None = None) -> None:
        self._random.seed(seed)

    def reset(self) -> Any:
        self._steps = 0
        self._state = [self._random.uniform(-0.05, 0.05) for _ in range(4)]
        return self._observation()

    def step(self, action: int) -> tuple[Any, float, bool, dict[str, Any]]:
        place, speed, angle, turn = self._state
        force = 10.0 if action == 1 else -10.0
        push = (force + 0.05 * turn**2 * math.sin(angle)) / 1.1
        twist = (9.8 * math.sin(angle) - math.cos(angle) * push) / (
            0.5 * (4 / 3 - 0.1 * math.cos(angle) ** 2 / 1.1)
        )
        pull = push - 0.05 * twist * math.cos(angle) / 1.1
        self._state = [
            place + 0.02 * speed,
            speed + 0.02 * pull,
            angle + 0.02 * turn,
            turn + 0.02 * twist,
        ]
        self._steps += 1
        done = abs(self._state[0]) > 2.4 or abs(self._state[2]) > 0.2095 or self._steps >= 200
        return self._observation(), 1.0, done, {}

    def render(self, *_: Any) -> None: ...

    def close(self) -> None: ...

    def _observation(self) -> Any:
        import numpy as np

        return np.array(self._state, dtype=np.float32)


def steady_draws(tf: Any) -> None:
    """Let `tf.random` draw the same numbers in eager and in compiled code."""
    made: list[Any] = []

    def generator() -> Any:
        if not made:
            with tf.init_scope():  # a variable, which no compiled function may make
                made.append(tf.random.Generator.from_seed(SEED))
        return made[0]

    def steady(name: str) -> Callable[..., Any]:
        def draw(*arguments: Any, seed: Any = None, **options: Any) -> Any:
            return getattr(generator(), name)(*arguments, **options)

        return draw

    for name in DRAWS:
        setattr(tf.random, name, steady(name))


def prepare(samples: int, folder: Path) -> None:
    """Put everything in place before the program is run."""
    import tensorflow as tf

    for name in IMAGES:
        getattr(tf.keras.datasets, name).load_data = images(name, samples)
    tf.keras.utils.get_file = text(samples, folder)
    gym: Any = types.ModuleType("gym")
    gym.make = lambda *_, **__: Cart()
    gym.Env = Cart
    sys.modules.setdefault("gym", gym)
    tf.keras.utils.set_random_seed(SEED)
    steady_draws(tf)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2048, help="of each synthetic data set")
    parser.add_argument("--report", type=Path, required=True, help="where to write the seconds that it took")
    parser.add_argument("script", type=Path)
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    prepare(options.samples, options.report.parent)
    sys.argv = [str(options.script), *options.arguments]
    # As Python does for a script; and the current folder, for those that import their package from there.
    sys.path[:1] = [os.fspath(options.script.parent.resolve()), os.fspath(Path.cwd())]
    start = time.perf_counter()
    try:
        runpy.run_path(str(options.script), run_name="__main__")
    finally:
        sys.stdout.flush()
        options.report.write_text(json.dumps({"seconds": time.perf_counter() - start}), encoding="utf-8")


if __name__ == "__main__":
    main()
