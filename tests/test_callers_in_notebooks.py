"""Notebooks run what modules beside them define: their loops count, and so do their imports."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tests.notebooks import cell, notebook
from tflint_perf.config.settings import Settings
from tflint_perf.project.linting import lint_files
from tflint_perf.text.code import code_of

AGENT = """
    import numpy as np
    from tensorflow.keras.models import Sequential
    from tensorflow.keras.layers import Dense

    class Agent:
        def __init__(self):
            self.model = Sequential([Dense(2)])

        def act(self, state):
            return np.argmax(self.model.predict(state.reshape(1, -1))[0])
"""
PLAY = """
    agent = Agent()
    state = env.reset()
    while True:
        state, reward, done = env.step(agent.act(state))
"""
TRAIN = """
    from agent import Agent
    agent = Agent()
    agent.model.compile("sgd", "mse")
    agent.model.fit(x, y)
"""


def found(folder: Path, *cells: str, code: str, of: str) -> list[int]:
    """The rows of the findings of a rule in one of the two files of a project."""
    (folder / "pyproject.toml").touch()
    (folder / "agent.py").write_text(dedent(AGENT).lstrip("\n"))
    (folder / "play.ipynb").write_bytes(notebook(cell("# Play", "markdown"), *map(dedent, cells)))
    settings = Settings(root=folder, rules=frozenset({code}), project_root=folder)
    (result,) = lint_files([folder / of], settings, 1)
    assert result.failure is None
    return [finding.start.row for finding in result.findings]


@pytest.mark.parametrize("magic", ["", "%matplotlib inline\n", "!pip install keras\n"])
def test_a_loop_in_a_notebook_calls_a_method_on_each_step(tmp_path: Path, magic: str) -> None:
    cells = [f"{magic}from agent import Agent", PLAY]
    assert found(tmp_path, *cells, code="TFP105", of="agent.py") == [10]


def test_one_call_in_a_notebook_is_none(tmp_path: Path) -> None:
    cells = ["from agent import Agent", "print(Agent().act(state))"]
    assert found(tmp_path, *cells, code="TFP105", of="agent.py") == []


def test_what_a_notebook_imports_may_bring_tensorflow_in(tmp_path: Path) -> None:
    assert found(tmp_path, TRAIN, code="TFP404", of="play.ipynb") == [2]


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b'{"cells": [{}]}', b'{"cells": 3}', b"\xff", b"[" * 5000]
)
def test_what_is_no_notebook_has_no_code(data: bytes) -> None:
    assert code_of("a.ipynb", data) == b""


def test_the_code_of_a_notebook_is_that_of_its_cells() -> None:
    data = notebook(cell("Text", "markdown"), "%time x\nimport a", cell(["import b\n", "b.c()"]))
    assert code_of(Path("a.ipynb"), data) == b"\nimport a\n\nimport b\nb.c()"
    assert code_of("a.py", b"%time x") == b"%time x"
