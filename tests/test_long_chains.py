"""Chains of calls from file to file, of any length."""

from __future__ import annotations

from pathlib import Path

import pytest

from tflint_perf.config.settings import Settings
from tflint_perf.project.linting import lint_files


def test_training_behind_many_calls_in_other_files_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    head = "import tensorflow as tf\nimport a, b\n"
    calls = "".join(f"def go{n}():\n    {'ba'[n % 2]}.go{n + 1}()\n" for n in range(2000))
    last = "def go2000():\n    model = tf.keras.Sequential()\n    model.fit(data())\n"
    for name in "ab":
        Path(f"{name}.py").write_text(head + calls + last)
    train = Path("train.py")
    train.write_text("import a\nif __name__ == '__main__':\n    a.go0()\n")
    [result] = lint_files([train], Settings(root=Path(), rules=frozenset({"TFP404"})), 1)
    assert result.failure is None and not result.problems
    assert [finding.code for finding in result.findings] == ["TFP404"]
