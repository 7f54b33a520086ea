"""Where a project begins, as far as its folders tell, and that imports are found from there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tflint_perf.config.settings import Settings
from tflint_perf.project.linting import lint_files
from tflint_perf.project.module_search import ModuleSearch
from tflint_perf.project.roots import project_root
from tflint_perf.project.surroundings import Surroundings


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package that lies in no project, with another one below it."""
    inner = tmp_path / "package" / "inner"
    inner.mkdir(parents=True)
    for folder in (inner.parent, inner):
        (folder / "__init__.py").touch()
    return inner.parent


def test_a_package_is_part_of_the_folder_that_holds_it(package: Path, tmp_path: Path) -> None:
    settings = Settings(root=tmp_path, rules=frozenset())
    files = [package / "inner" / "a.py", package / "inner" / "b.py"]
    assert project_root(files, settings) == tmp_path
    assert project_root([package / "a.py", *files], settings) == tmp_path


def test_a_mark_of_a_project_counts_more(package: Path, tmp_path: Path) -> None:
    (package / "setup.py").touch()
    settings = Settings(root=tmp_path, rules=frozenset())
    assert project_root([package / "inner" / "a.py"], settings) == package


def test_what_a_project_needs_is_said_where_it_begins(package: Path, tmp_path: Path) -> None:
    (package / "requirements.txt").write_text("tensorflow\n")
    assert project_root([package / "a.py"], Settings(root=tmp_path, rules=frozenset())) == tmp_path
    deeper = tmp_path / "source"
    deeper.mkdir()
    (tmp_path / "requirements.txt").write_text("tensorflow\n")
    assert project_root([deeper / "a.py"], Settings(root=deeper, rules=frozenset())) == tmp_path


def test_the_modules_of_a_package_find_each_other_by_its_name(package: Path, tmp_path: Path) -> None:
    (package / "steps.py").write_text(
        "import tensorflow as tf\n\n"
        "def train(data):\n    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
        "    model.compile(loss='mse')\n    model.fit(data)\n"
    )
    main = package / "inner" / "main.py"
    main.write_text(
        "import tensorflow as tf\nfrom package.steps import train\n\ntrain(tf.data.Dataset.range(9))\n"
    )
    settings = Settings(root=tmp_path, rules=frozenset({"TFP404"}))
    (result,) = lint_files([main], settings, 1)
    assert [finding.code for finding in result.findings] == ["TFP404"]


def test_the_folder_of_the_project_is_searched_from_any_depth(tmp_path: Path) -> None:
    (tmp_path / "steps.py").touch()
    deep = tmp_path.joinpath(*"abcdefghij", "main.py")
    deep.parent.mkdir(parents=True)
    deep.touch()
    search = ModuleSearch(tmp_path, Surroundings(), lambda file: file.read_bytes())
    assert search.module_of(deep, "steps.show") == (tmp_path / "steps.py", ["show"])


@pytest.mark.parametrize(
    "own", ["steps.py", "layers.py"], ids=["from the module itself", "from one beside it"]
)
def test_a_module_with_the_name_of_its_package_does_not_hide_it(tmp_path: Path, own: str) -> None:
    package = tmp_path / "steps"
    package.mkdir()
    for name in ("steps.py", "layers.py", "losses.py"):
        (package / name).touch()
    search = ModuleSearch(tmp_path, Surroundings(), lambda file: file.read_bytes())
    assert search.module_of(package / own, "steps.losses.show") == (package / "losses.py", ["show"])


def test_a_module_beside_a_file_comes_before_a_package_that_leads_no_further(tmp_path: Path) -> None:
    (tmp_path / "steps").mkdir()
    (tmp_path / "steps" / "show.py").touch()
    inner = tmp_path / "inner"
    inner.mkdir()
    for name in ("steps.py", "main.py"):
        (inner / name).touch()
    search = ModuleSearch(tmp_path, Surroundings(), lambda file: file.read_bytes())
    assert search.module_of(inner / "main.py", "steps.show") == (inner / "steps.py", ["show"])
    assert search.module_of(inner / "main.py", "steps.Show.act") == (inner / "steps.py", ["Show", "act"])
