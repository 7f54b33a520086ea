"""Options of a function that callers, here or in other files, set or leave alone."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tests.test_callers import STEP, lint, project, write

__all__ = ["project"]

TIDY = """
    def tidy(x, thorough={default}):
        if thorough:
            gc.collect()
"""
IMPORT = "from steps import train_step, tidy\n"
LOOP = "for x, y in batches():\n    train_step(x, y)\n    tidy({given})\n"
OPTIONS = [
    ("False", "x", 0),
    ("False", "x, thorough=False", 0),
    ("True", "x, False", 0),
    ("None", "x", 0),
    ("False", "x, True", 1),
    ("False", "x, thorough=True", 1),
    ("True", "x", 1),
    # Who knows?
    ("False", "x, thorough=flag", 1),
    ("False", "*options", 1),
    ("False", "x, **options", 1),
]
RULES = frozenset({"TFP406"})


@pytest.mark.parametrize(("default", "given", "found"), OPTIONS)
def test_an_option_that_no_caller_in_another_file_sets_keeps_code_from_running(
    project: Path, default: str, given: str, found: int
) -> None:
    paths = write(project, steps=STEP + TIDY.format(default=default), train=IMPORT + LOOP.format(given=given))
    assert lint(paths, RULES) == ({"steps.py": ["TFP406"]} if found else {})


@pytest.mark.parametrize(("default", "given", "found"), OPTIONS)
def test_nor_one_that_no_caller_in_the_file_sets(project: Path, default: str, given: str, found: int) -> None:
    text = dedent(STEP + TIDY.format(default=default)) + LOOP.format(given=given)
    assert lint(write(project, steps=text), RULES) == ({"steps.py": ["TFP406"]} if found else {})


def test_callers_that_run_no_steps_are_not_asked(project: Path) -> None:
    paths = write(
        project,
        steps=STEP + TIDY.format(default="False"),
        train=IMPORT + LOOP.format(given="x"),
        other="from steps import tidy\ntidy(3, thorough=True)\n",
    )
    assert lint(paths, RULES) == {}


DECAY = """\
import tensorflow as tf
from settings import {name}
@tf.function
def train_step(x, rate):
    return x * rate
rate = {rate}
for x in tf.data.Dataset.from_tensor_slices(data).batch(32):
    train_step(x, rate)
    rate = rate * 0.99
"""


@pytest.mark.parametrize(
    ("name", "rate", "found"),
    [
        ("RATE", "RATE", True),
        ("TRAINING", 'TRAINING["rate"]', True),
        ("TRAINING", 'TRAINING["scale"]', False),
        ("TRAINING", 'TRAINING["sizes"]', False),
        ("TRAINING", 'TRAINING["other"]', False),
        ("SCALE", "SCALE", False),
        ("OTHERS", 'OTHERS["rate"]', False),
        ("Config", "Config.rate", True),
        ("Config", "Config.scale", False),
        ("Config", "Config.other", False),
        ("Config", "Config.written", False),
    ],
)
def test_a_number_among_the_settings_of_another_file_is_known(
    project: Path, name: str, rate: str, found: bool
) -> None:
    settings = (
        "import numpy as np\nRATE = 0.1\nSCALE = np.ones(3)\n"
        'TRAINING = {"rate": 0.1, "scale": SCALE, "sizes": [3, 4]}\nOTHERS = {"rate": read()}\n'
        "class Config:\n    rate = 0.1\n    scale = SCALE\n    other = read()\n    written = 0.1\nConfig.written = read()\n"
    )
    paths = write(project, settings=settings, train=DECAY.format(name=name, rate=rate))
    assert lint(paths, frozenset({"TFP202"})) == ({"train.py": ["TFP202"]} if found else {})


OF_THE_STEP = """
    import tensorflow as tf
    from settings import Config
    {imported}
    {defined}
    @tf.function
    def train_step(x, rate):
        return x * rate
    for step, x in enumerate(tf.data.Dataset.from_tensor_slices(data).batch(32)):
        train_step(x, rate=schedule(step))
    """
SCHEDULE = """
    def schedule(step):
        if step < 100:
            return Config.start
        share = float((step - 100) / 1000)
        return Config.start + share * (Config.end - Config.start)
    """


@pytest.mark.parametrize("elsewhere", [True, False])
@pytest.mark.parametrize(("start", "found"), [("1.0", True), ("np.float32(1.0)", False), ("read()", False)])
def test_a_number_that_a_function_gives_of_the_step_is_known(
    project: Path, elsewhere: bool, start: str, found: bool
) -> None:
    settings = f"import numpy as np\nclass Config:\n    start = {start}\n    end = 0.1\n"
    schedule = settings + dedent(SCHEDULE) if elsewhere else settings
    imported = "from settings import schedule" if elsewhere else ""
    train = dedent(OF_THE_STEP).format(imported=imported, defined="" if elsewhere else dedent(SCHEDULE))
    assert lint(write(project, settings=schedule, train=train), frozenset({"TFP202"})) == (
        {"train.py": ["TFP202"]} if found else {}
    )


SAMPLER = """
    import numpy as np
    import tensorflow as tf
    class Sampler:
        def __init__(self):
            self.model = tf.keras.Sequential([tf.keras.layers.Dense(9)])
        def sample(self, x, ncorrections=1):
            for time in np.linspace(1.0, 0.0, 200):
                score = self.model(x)
                for _ in range(ncorrections):
                    x = x + 0.1 * tf.norm(x) * score
            return x
"""
SAMPLE = "import tensorflow as tf\nfrom steps import Sampler\nprint(Sampler().sample({given}))\n"


@pytest.mark.parametrize(
    ("given", "found"),
    [("x", 0), ("x=x", 0), ("x, count()", 1), ("x, ncorrections=many", 1), ("*given", 1), ("x, **given", 1)],
)
def test_a_bound_that_no_caller_in_another_file_sets_is_its_default(
    project: Path, given: str, found: int
) -> None:
    paths = write(project, steps=dedent(SAMPLER), sample=SAMPLE.format(given=given))
    assert len(lint(paths, frozenset({"TFP102"})).get("steps.py", [])) == found
