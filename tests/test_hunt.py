"""A small hunt for fixes that change a program or break a file, and proof that the hunters see what they look for.

`make hunt` goes on for as long as one likes.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import hypothesmith
import pytest
from hypothesis import HealthCheck, given, settings

from tests.commandline import SLOW
from tests.forked import Forks
from tests.hunt import examine, mutated, programs
from tests.hunt.corpus import own_programs
from tests.hunt.fixing import ALL, SAFE
from tests.hunt.lines import compiles
from tests.hunt.pool import Worker
from tests.hunt.undefined import undefined
from tflint_perf.config.settings import Settings
from tflint_perf.lint.fix import Fixed
from tflint_perf.text.source import Source

pytestmark = pytest.mark.slow

# However slow a machine may be.
LIMIT_S = 300.0


def test_no_safe_fix_changes_what_a_program_computes_or_prints(
    forks: Forks, monkeypatch: pytest.MonkeyPatch
) -> None:
    if forks.nursery is not None:
        monkeypatch.setattr(subprocess, "Popen", forks.talk)
    hunted = programs.Hunted()
    *_, (hunted, _, _) = programs.hunt(seed=0, count=24, jobs=1, fixable=sorted(SAFE), limit_s=LIMIT_S)
    assert [told["text"] for told in hunted.found] == []
    assert (hunted.made, hunted.died) == (24, {})
    assert hunted.with_fix >= 10
    assert len(hunted.by_rule) >= 5


HEAD = "import tensorflow as tf\nw = tf.Variable(1.0)\nfor i in range(2):\n    w.assign_add(1.0)\n"
SEEN = {
    "a value": ("total = w.numpy()\n", "total = w.numpy() + 1\n", "total: "),
    "a value by one unit in the last place": ("total = 0.1 + 0.2\n", "total = 0.3\n", "total: "),
    "a type": ("total = tf.constant(1)\n", "total = tf.Variable(1)\n", "total: "),
    "a print": ("print(w)\n", "print(w.numpy())\n", "out: "),
    "a print of TensorFlow": ("tf.print(w)\n", "", "err: "),
    "an error": ("", "raise ValueError\n", "error: "),
    "an undefined name": ("found = 1\n", "found = fond\n", "error: "),
}


def test_the_oracle_sees_what_changes(forks: Forks, monkeypatch: pytest.MonkeyPatch) -> None:
    if forks.nursery is not None:
        monkeypatch.setattr(subprocess, "Popen", forks.talk)
    worker = Worker(LIMIT_S)
    try:
        for before, after, what in SEEN.values():
            told = worker.ask({"before": HEAD + before, "after": HEAD + after})
            assert any(line.startswith(what) for line in told["differences"]), (before, told)
        assert worker.ask({"before": HEAD + "print(w)\n", "after": HEAD + "print(w)\n"})["differences"] == []
    finally:
        worker.close()


@pytest.fixture(scope="module")
def own() -> list[mutated.Program]:
    return [program for program in own_programs() if program.name.endswith("slow.py")]


# What fixes broke once, or asked to report.
TOO_EARLY = {
    "print(a)\na = 1\n": True,
    "a = 1\nprint(a)\n": False,
    # Of the branches only one runs.
    "if b:\n    a = 1\nelse:\n    print(a)\na = 2\n": True,
    "if b:\n    a = 1\nelse:\n    a = 2\nprint(a)\n": False,
    "match b:\n    case 1:\n        a = 1\n    case _:\n        print(a)\na = 2\n": True,
    "match b:\n    case a if a:\n        print(a)\n": False,
}


@pytest.mark.parametrize(("text", "is_early"), TOO_EARLY.items())
def test_the_hunter_knows_what_is_read_too_early(text: str, is_early: bool) -> None:
    assert ("a too early" in undefined("b = 1\n" + text)) is is_early


BROKEN = {
    "a backslash behind a statement that goes": "import tensorflow as tf\nfor x, y in (  # why\ndataset  # why\n):\n    model.train_on_batch(x, y)\n    tf.keras.backend.clear_session()\\\n\n\n",
    "a name in parentheses over several lines": 'if a: pass\nelif b:\n    import tensorflow as tf\ndef main\\\n(args)\\\n:\n    match a:\n      case _:\n                (\n            tf.keras.mixed_precision\n            ).experimental\\\n            ("mixed_float16")  # <-\n',
    "a statement that would move ahead of a block on its line": "while a:\n    import tensorflow as tf\ntry:  strategy = tf.distribute.MirroredStrategy(); tf.config.experimental.set_memory_growth(gpu, True)  # <-\nexcept Exception as error:  # caught\n    raise\n",
    "an import in the block above which a function goes": "try:\n    import tensorflow as tf\n    target = tf.keras.models.clone_model(model)\n    def train_step(x):\n        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))\n    for x in dataset:\n        train_step(x)\n        target.set_weights([0.1 * w + 0.9 * t for w, t in zip(model.get_weights(), target.get_weights())])\nfinally: pass\n",
    "a name that a pattern binds": "import tensorflow as tf\nfor e in range(num_epoch,):\n    with tf.GradientTape() as tape:\n        loss = tf.reduce_sum(tf.square(y_pred - y))\n    match 'é':\n        case [a, *rest] if rest:\n            pass\n    grads = tape.gradient(loss, variables)\n    optimizer.apply_gradients(grads_and_vars=zip(grads, variables))\nprint(a, b)\n",
    "a comma behind the only argument": "class Job:\n        import tensorflow as tf\n        with tf.GradientTape() as outer:\n            with tf.GradientTape(persistent=True, ) as inner:  # <-\n                y = model(x)\n",
    "a value in parentheses that moves": "import tensorflow as tf\ndataset = tf.data.Dataset.from_tensor_slices(data).shuffle(100).batch(32)\ndef step(x):\n    return model(x)\nfor _ in range(1000):\n    batches = (iter(dataset))\n    with tf.device('/GPU:0'):\n        step(next(batches))\n",
    "a backslash in front of a comment": "import tensorflow as tf\nfrom tensorflow import keras\n@tf.function\ndef step(x):\n       return model(x)\\\n# Train.\nfor x in dataset:\n    loss_fn = keras.losses.MeanSquaredError()  # mean\n    loss = loss_fn(x, step(x))\n",
    "a name that is read before it is bound": "import numpy as np\nimport tensorflow as tf\ndef learn(states, rewards):\n    values, best = np.array(values), best.numpy()\n    with tf.GradientTape() as tape:\n        loss = (\n        )(wanted, model(states))\n    best = tf.argmax(model(states), axis=1)\n    return np.abs(wanted - model(states\n    ).numpy())\nfor x in dataset:\n    learn(x, np.ones(32))\n",
    "an import on the line above which a statement would move": "import tensorflow as tf;strategy = tf.distribute.MirroredStrategy()\ntf.config.experimental.set_memory_growth(gpu, True)  # <-\n",
    "an import below a comment that a function would be put above": "# 0 above\ndef main():\n    import tensorflow as tf\n    target = tf.keras.models.clone_model(model)# why 700\n    def train_step(x):\n        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))\n    for step, x in enumerate(dataset):\n        train_step(x)\n        if memory.can_sample and replay.has_enough(32):\n            target.set_weights(model.get_weights())\n",
    "an import below": "for train, test in folds:\n        for x in Dataset.from_tensor_slices(images[train]).batch(32).take(epoch):\n            step(x)\nimport tensorflow as tf\nDataset = tf.data.Dataset\ndef step(x):\n    return model(x)\n",
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN.keys())
def test_no_fix_breaks_what_one_broke_once(text: str) -> None:
    assert examine.examine(text.encode()).failures == []


def test_no_fix_breaks_a_mutated_file_or_loses_a_comment(own: list[mutated.Program]) -> None:
    fixes = 0
    for number, mutant in enumerate(mutated.mutants(own, 60, seed=0)):
        done = mutated.examined(mutant, number)
        assert done.failures == [], mutant
        fixes += done.fixes
    assert fixes > 20


@settings(
    max_examples=30, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
@given(text=hypothesmith.from_node())
def test_no_fix_breaks_a_file_whose_other_code_is_any_syntax(text: str) -> None:
    program = f"{text.rstrip()}\n{SLOW}"
    if compiles(program):
        assert examine.examine(program.encode()).failures == []


BEFORE = "import gc\n# why\ngc.collect()\n"
HARMS = {
    "does not compile": "import gc\n# why\ngc.collect(\n",
    "lost comment": "import gc\ngc.collect()\n",
    "undefined name": "# why\ngc.collect()\n",
}


@pytest.mark.parametrize(("kind", "after"), HARMS.items(), ids=HARMS.keys())
def test_the_examiner_sees_what_a_fix_breaks(kind: str, after: str) -> None:
    kinds = [failure.kind for failure in failures(after)]
    assert kinds[:1] == [kind]


def test_the_examiner_sees_what_does_not_settle() -> None:
    assert [failure.kind for failure in failures(SLOW + "# why\n")] == ["not settled"]


def failures(after: str) -> list[examine.Failure]:
    """What is wrong with a text that is said to be what a fix made of `BEFORE`."""
    applied: Any = (_Applied(),)
    done = Fixed(Source.from_bytes(after.encode(), "a.py"), applied, (), (), 0)
    options = Settings(root=Path(), rules=ALL, fixable=ALL, fix="apply", unsafe_fixes=True)
    return examine._failures(Source.from_bytes(BEFORE.encode(), "a.py"), done, options, True)


class _Applied:
    code = "TFP406"
