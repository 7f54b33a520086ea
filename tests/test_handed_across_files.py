"""What one file hands to another, as an argument or as what a function gives, and what becomes of it there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_callers import AGENT, STEP, lint, project, write

__all__ = ["project"]

GIVING = "from agents import Agent\nfrom loops import Trainer, run\nagent = Agent()\n"
ALONE = "from loops import Trainer, run\nif __name__ == '__main__':\n    "


@pytest.mark.parametrize(
    ("given", "loops", "found"),
    [
        ("run(agent.learn)", "def run(step):\n    for x in range(9000):\n        step(x)", ["TFP101"]),
        ("run(step=agent.learn)", "def run(size=1, *, step):\n    for x in range(9000):\n        step(x)", ["TFP101"]),
        (
            "run(agent.learn)",
            "def run(learn):\n    return repeat(learn)\ndef repeat(step):\n    for x in range(9000):\n        step(x)",
            ["TFP101"],
        ),
        # Kept by an object, in its own class or a base.
        (
            "Trainer(agent.learn).run()",
            "class Trainer:\n    def __init__(self, step):\n        self.step = step\n"
            "    def run(self):\n        for x in range(9000):\n            self.step(x)",
            ["TFP101"],
        ),
        (
            "Trainer(3, agent.learn)",
            "class Base:\n    def __init__(self, size, step):\n        for x in range(9000):\n            step(x)\n"
            "class Trainer(Base):\n    pass",
            ["TFP101"],
        ),
        # It is another parameter that is called, or this one is, but once.
        ("run(agent.learn, print)", "def run(kept, step):\n    for x in range(9000):\n        step(x)", []),
        ("run(agent.learn)", "def run(step):\n    step(1)", []),
        # Compiled, or handed on to what nobody knows.
        ("run(agent.learn)", "import tensorflow as tf\ndef run(step):\n    s = tf.function(step)\n    for x in y:\n        s(x)", []),
        ("run(agent.learn)", "def run(step):\n    wrapped = wrap(step)\n    for x in range(9000):\n        wrapped(x)", []),
        ("run(agent.learn)", "def run(step):\n    steps.append(step)", []),
        ("run(*everything(agent.learn))", "def run(step):\n    for x in range(9000):\n        step(x)", []),
    ],
)  # fmt: skip
def test_what_a_function_does_that_is_given_a_method_decides(
    project: Path, given: str, loops: str, found: list[str]
) -> None:
    paths = write(project, agents=AGENT, train=GIVING + given, loops=loops)
    assert lint(paths).get("agents.py", []) == found


@pytest.mark.parametrize(
    ("given", "loops", "found"),
    [
        ("run(train_step)", "def run(step):\n    for x in range(9000):\n        step(x, x)", ["TFP101"]),
        ("run(train_step)", "import tensorflow as tf\ndef run(step):\n    s = tf.function(step)\n    for x in y:\n        s(x)", []),
        ("run(train_step)", "def run(step):\n    steps.append(step)", []),
        ("Trainer(train_step)", "class Trainer:\n    pass", []),
    ],
)  # fmt: skip
def test_a_file_may_hand_over_its_own_functions(
    project: Path, given: str, loops: str, found: list[str]
) -> None:
    body = STEP + "\n    from loops import Trainer, run\n    " + given
    paths = write(project, steps=body, loops=loops)
    assert lint(paths).get("steps.py", []) == found


MAKER = """
    import tensorflow as tf

    def make_step(model, optimizer):
        def train_step(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(x) ** 2)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
            return loss

        return train_step

    class Maker:
        def both(self):
            def train_step(x):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(self.model(x) ** 2)
                gradients = tape.gradient(loss, self.model.trainable_variables)
                self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))

            def test_step(x):
                return self.model(x)

            return train_step, test_step
"""


@pytest.mark.parametrize(
    ("train", "found"),
    [
        ("step = make_step(m, o)\nfor x in range(9000):\n    step(x)", ["TFP101"]),
        ("for x in range(9000):\n    make_step(m, o)(x)", ["TFP101"]),
        ("step, test = Maker().both()\nfor x in range(9000):\n    step(x)", ["TFP101"]),
        ("step = tf.function(make_step(m, o))\nfor x in range(9000):\n    step(x)", []),
        ("step = make_step(m, o)\nstep = tf.function(step)\nfor x in range(9000):\n    step(x)", []),
        ("step = make_step(m, o)\nstep(1)", []),
        # What becomes of it is not known.
        ("steps = [wrap(make_step(m, o))]\nfor x in range(9000):\n    steps[0](x)", []),
        ("print(make_step)", []),
    ],
)
def test_what_becomes_of_a_function_that_another_gives(project: Path, train: str, found: list[str]) -> None:
    start = "import tensorflow as tf\nfrom steps import Maker, make_step\n"
    paths = write(project, steps=MAKER, train=start + train)
    assert lint(paths).get("steps.py", []) == found


def test_a_compiled_function_that_another_file_gives_makes_a_step_loop(project: Path) -> None:
    compiled = MAKER.replace(
        "        def train_step(x)", "        @tf.function\n        def train_step(x)", 1
    )
    train = "import gc\nimport tensorflow as tf\nfrom steps import make_step\nstep = make_step(m, o)\nfor x in data:\n    step(x)\n    gc.collect()"
    paths = write(project, steps=compiled, train=train)
    assert lint(paths) == {"train.py": ["TFP406"]}


POLICY = """
    import tensorflow as tf

    class Policy(tf.keras.Model):
        def choose(self, inputs):
            return self.predict(inputs)
"""


@pytest.mark.parametrize(
    ("loop", "found"),
    [
        ("for _ in range(9000):\n    policy.choose(obs[None, :])\n    obs = env.step(1)[0]", ["TFP105"]),
        (
            "for _ in range(9000):\n    policy.choose(inputs=np.array([obs]))\n    obs = env.step(1)[0]",
            ["TFP105"],
        ),
        ("for epoch in range(10):\n    policy.choose(images)", []),
        ("policy.choose(obs[None, :])", []),
    ],
)
def test_a_method_is_given_one_sample_by_a_loop_of_another_file(
    project: Path, loop: str, found: list[str]
) -> None:
    start = "import gym\nimport numpy as np\nfrom policy import Policy\npolicy = Policy()\nenv = gym.make('A')\nobs = env.reset()\n"
    paths = write(project, policy=POLICY, play=start + loop)
    assert lint(paths, frozenset({"TFP105"})).get("policy.py", []) == found


@pytest.mark.parametrize(
    ("wrapping", "found"),
    [
        ("self.fast = tf.function(self.learn)", []),
        ("self.fast = wrapper()(self.learn)", []),
        ("print(self.learn)", ["TFP101"]),
    ],
)
def test_a_base_class_wraps_what_a_derived_one_defines(
    project: Path, wrapping: str, found: list[str]
) -> None:
    base = f"import tensorflow as tf\nclass Base:\n    def __init__(self):\n        {wrapping}\n    def learn(self, x):\n        pass\n"
    derived = AGENT.replace("class Agent:", "from base import Base\n\n    class Agent(Base):")
    paths = write(project, base=base, agents=derived)
    assert lint(paths).get("agents.py", []) == found
