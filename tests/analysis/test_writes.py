"""What is written to disk in training."""

from __future__ import annotations

import pytest
from tflint_perf.rules.precision.writes import Writes

from tests.analysis.support import here, model_of

WRITES = [
    ("tf.summary.histogram('a', x, step=1)", ["summary"]),
    ("tf.summary.image('a', x, step=1)", ["summary"]),
    ("tf.summary.scalar('a', x, step=1)", []),
    ("tf.compat.v1.summary.histogram('a', x)", []),
    ("m = keras.Sequential()\nm.save('a')\nm.save_weights('b')", ["weights", "weights"]),
    ("tf.train.Checkpoint(m=1).save('a')", ["weights"]),
    ("c = tf.train.CheckpointManager(a, b, 3)\nc.save()", ["weights"]),
    ("c = tf.train.CheckpointManager(a, b, 3)\nc.save(check_interval=True)", []),
    ("w = tf.summary.create_file_writer('a')\nw.flush()", ["flush"]),
    ("sys.stdout.flush()\nimage.save('a')\nnp.save('a', b)", []),
    ("class M(keras.Model):\n  def save(self, path): pass\nM().save('a')", []),
]
LOOP = "for i, x in enumerate(tf.data.Dataset.range(9).batch(2)):\n  f(x)\n  "
EACH_STEP = [
    (LOOP + "here()", True),
    (LOOP + "if writer is not None: here()", True),
    (LOOP + "if first is True:\n    here()\n    first = False", False),
    (LOOP + "if i in saves: here()", False),
    (LOOP + "if i % 10 == 0: here()", False),
    (LOOP + "if i < 3: continue\n  here()", False),
    (LOOP + "pass\nhere()", False),
    ("def log(): here()\n" + LOOP + "log()", True),
    ("def log():\n  if wanted: here()\n" + LOOP + "log()", False),
    ("def log(): here()\n" + LOOP + "if wanted: log()", False),
    ("if training:\n  " + LOOP.replace("\n", "\n  ") + "here()", True),
]


@pytest.mark.parametrize(("source", "kinds"), WRITES)
def test_what_writes_is_known_by_what_it_is_called_on(source: str, kinds: list[str]) -> None:
    assert [write.kind for write in model_of(source).own(Writes).all()] == kinds


@pytest.mark.parametrize(("source", "each_step"), EACH_STEP)
def test_a_condition_in_the_loop_makes_it_seldom(source: str, each_step: bool) -> None:
    model = model_of(source)
    assert model.own(Writes).runs_each_step(here(model)) is each_step
