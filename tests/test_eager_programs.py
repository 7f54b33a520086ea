"""A file's functions run in eager mode where each program that it is part of turns that on for everything."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_callers import project, write
from tflint_perf.config.settings import Settings
from tflint_perf.project.linting import lint_files

__all__ = ["project"]

AGENT = """
    import tensorflow as tf

    class Agent:
        def __init__(self, net):
            self.net = net

        @tf.function
        def value(self, state):
            return tf.reduce_sum(self.net(state)).numpy()
"""
LEARNER = """
    import tensorflow as tf
    from agent import Agent

    class Learner:
        def __init__(self, net):
            self.agent = Agent(net)

        @tf.function
        def learn(self, states):
            return [self.agent.value(state) for state in states]
"""
MAIN = """
    import tensorflow as tf
    from learner import Learner

"""
ON = "    tf.config.run_functions_eagerly(True)\n"
RUN = "    Learner(make()).learn(states)\n"
PLAIN = MAIN + RUN
EAGER = MAIN + ON + RUN
ALL_EAGER = {
    "at the top level": {"main": EAGER},
    "behind the main guard": {
        "main": MAIN + '    if __name__ == "__main__":\n    ' + ON + "    " + RUN,
    },
    "in the function that the program begins with": {
        "main": MAIN + "    def main():\n    " + ON + "    " + RUN + "    main()\n",
    },
    "in each of two programs": {"main": EAGER, "play": EAGER},
    "in a module that the program imports": {
        "main": MAIN + "    import setup_tf\n" + RUN,
        "setup_tf": "    import tensorflow as tf\n" + ON,
    },
    "in what lies between, for all programs": {
        "main": "    from between import Learner\n" + RUN,
        "between": MAIN + ON,
    },
}
NOT_ALL_EAGER = {
    "nowhere": {"main": PLAIN},
    "in one of two programs": {"main": EAGER, "play": PLAIN},
    "behind a flag": {"main": MAIN + "    if debug:\n    " + ON + RUN},
    "and off again": {"main": EAGER + ON.replace("True", "False")},
    "in a function that the program never calls": {
        "main": MAIN + "    def debug():\n    " + ON + RUN,
    },
    "in a program, one of whose modules is run as well": {
        "main": EAGER,
        "learner": LEARNER + '\n    if __name__ == "__main__":\n        Learner(make()).learn(states)\n',
    },
    "nowhere, in files that import each other": {"main": "", "agent": "    import learner\n" + AGENT},
}


def rows_of(folder: Path, files: dict[str, str]) -> list[tuple[str, int]]:
    """The host calls in compiled code, by file and row."""
    settings = Settings(root=Path(), rules=frozenset({"TFP205"}), fixable=frozenset())
    paths = write(folder, **{"agent": AGENT, "learner": LEARNER} | files)
    results = lint_files(paths, settings, 1)
    return [(result.path, finding.start.row) for result in results for finding in result.findings]


@pytest.mark.parametrize("files", ALL_EAGER.values(), ids=ALL_EAGER)
def test_nothing_is_compiled_where_each_program_turns_eager_mode_on(
    project: Path, files: dict[str, str]
) -> None:
    assert rows_of(project, files) == []


@pytest.mark.parametrize("files", NOT_ALL_EAGER.values(), ids=NOT_ALL_EAGER)
def test_functions_are_compiled_where_a_program_leaves_it_off(project: Path, files: dict[str, str]) -> None:
    ((path, _),) = rows_of(project, files)
    assert path == "agent.py"
