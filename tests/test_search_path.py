"""Modules in folders that a program adds to Python's search path."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tflint_perf.config.settings import Settings
from tflint_perf.project.linting import lint_files
from tflint_perf.project.search_path import added_folders


@pytest.mark.parametrize(
    ("line", "folders"),
    [
        ("sys.path.append('utils')", ["work/utils", "utils"]),
        ("    sys.path.insert(0, '../lib')  # the '../other' one", ["lib"]),
        ("sys.path.append(os.path.join(os.path.dirname(__file__), '..', 'lib'))", ["lib"]),
        ("sys.path += ['a', \"b\"]", ["work/a", "a", "work/b", "b"]),
        ("site.addsitedir('libs')", ["work/libs", "libs"]),
        ("sys.path.append('/usr/lib')", []),
        ("sys.path.append('../../..')", []),
        ("sys.path.append(folder)", []),
        ("print('utils')", []),
        ("# sys.path.append('utils')", []),
    ],
)
def test_folders_of_the_project_are_read_off_the_lines_that_add_them(line: str, folders: list[str]) -> None:
    root = Path("/project")
    found = added_folders(root / "work/main.py", f"import sys\n{line}\n".encode(), root)
    assert found == tuple(root / folder for folder in folders)


@pytest.mark.parametrize("adds", [True, False])
def test_a_module_is_found_where_the_program_looks_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, adds: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pyproject.toml").touch()
    Path("tools").mkdir()
    Path("tools/fitting.py").write_text("def run(model, data):\n    model.fit(data, epochs=3)\n")
    Path("work").mkdir()
    program = Path("work/main.py")
    program.write_text(
        dedent(f"""
            import sys
            sys.path.append("{"tools" if adds else "data"}")
            import tensorflow as tf
            from fitting import run
            run(tf.keras.Sequential(), tf.zeros(3))
        """)
    )
    [result] = lint_files([program], Settings(root=Path(), rules=frozenset({"TFP404"})), 1)
    assert [finding.code for finding in result.findings] == ["TFP404"] * adds
