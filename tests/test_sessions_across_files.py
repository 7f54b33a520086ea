"""What loops in other files mean for functions that add to a graph of TensorFlow 1 and run a session."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tests.test_callers import lint, project, write
from tflint_perf.config.settings import Settings
from tflint_perf.project.linting import lint_files

__all__ = ["project"]

RULES = frozenset({"TFP203"})
MODEL = """
    import tensorflow as tf

    class Model:
        def __init__(self, session):
            self.session = session
            self.weights = tf.get_variable("w", [10])
            self.target = tf.get_variable("t", [10])

        def copy(self):
            self.session.run(self.target.assign(self.weights))

        def log(self, session):
            return session.run(tf.summary.merge_all())
"""
REPEATED = {
    "each step": """
        for step in range(1000):
            session.run(train_op)
            model.copy()
        """,
    "behind a counter": """
        for step in range(1000):
            session.run(train_op)
            if step % 100 == 0:
                model.copy()
        """,
    "each epoch": """
        for epoch in range(100):
            for batch in batches:
                session.run(train_op, feed_dict={x: batch})
            model.copy()
        """,
    "in a loop that runs no other session": """
        while not done:
            model.copy()
        """,
    "through a function": """
        def update():
            model.copy()
        for step in range(1000):
            update()
        """,
    "through a third file": """
        from updating import update
        for step in range(1000):
            update()
        """,
}
SELDOM = {
    "once": "model.copy()",
    "a few times": """
        for side in ("left", "right"):
            model.copy()
        """,
    "on a graph of its own each time": """
        for fold in range(100):
            with tf.Graph().as_default():
                model.copy()
        """,
    "after the graph was thrown away": """
        for fold in range(100):
            tf.reset_default_graph()
            model = Model(tf.Session())
            model.copy()
        """,
    "on the first step": """
        for step in range(1000):
            if step == 0:
                model.copy()
            session.run(train_op)
        """,
}
_DRIVER = """
    import tensorflow as tf
    from model import Model
    session = tf.Session()
    model = Model(session)
"""


_UPDATING = """
    from model import Model
    model = Model(None)
    def update():
        model.copy()
"""


def driver(loop: str) -> str:
    return dedent(_DRIVER) + dedent(loop)


@pytest.mark.parametrize("loop", REPEATED.values(), ids=REPEATED.keys())
def test_reports_what_a_loop_of_another_file_adds_again_and_again(project: Path, loop: str) -> None:
    paths = write(project, model=MODEL, train=driver(loop), updating=_UPDATING)
    assert lint(paths, RULES) == {"model.py": ["TFP203"]}


@pytest.mark.parametrize("loop", SELDOM.values(), ids=SELDOM.keys())
def test_says_nothing_of_what_other_files_run_seldom_or_on_new_graphs(project: Path, loop: str) -> None:
    assert lint(write(project, model=MODEL, train=driver(loop)), RULES) == {}


def test_says_why_it_does_not_move_what_a_loop_of_another_file_repeats(project: Path) -> None:
    paths = write(project, model=MODEL, train=driver(REPEATED["each step"]))
    settings = Settings(root=Path(), rules=RULES, fixable=RULES)
    notes = [finding.note or "" for result in lint_files(paths, settings, 1) for finding in result.findings]
    assert len(notes) == 1 and "a loop in another file" in notes[0]
