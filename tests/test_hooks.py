"""The hooks under the real pre-commit, installed from a commit of the project as it stands."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.commandline import CLEAN, RENAMED, RENAMED_FIXED, SLOW

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
CONFIG = """\
repos:
  - repo: {project}
    rev: {revision}
    hooks:
      - id: {hook}
        args: ["--select=TFP406,TFP602", --output-format=concise]
"""


@dataclass(frozen=True, slots=True)
class Workshop:
    """A commit of the project, and pre-commit with a cache of its own, so that the hook is installed once."""

    project: Path
    revision: str
    cache: Path

    def run(self, repository: Path, hook: str) -> subprocess.CompletedProcess[str]:
        """Run one hook on all files of a repository."""
        config = CONFIG.format(project=self.project, revision=self.revision, hook=hook)
        (repository / ".pre-commit-config.yaml").write_text(config)
        git(repository, "add", "--all")
        return subprocess.run(
            [sys.executable, "-m", "pre_commit", "run", "--all-files", "--color=never"],
            cwd=repository,
            env=environment() | {"PRE_COMMIT_HOME": str(self.cache)},
            capture_output=True,
            text=True,
            check=False,
        )


def environment() -> dict[str, str]:
    """The environment without what another git or a user's settings would bring in."""
    bare = {
        name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "TFLINT_PERF_"))
    }
    person = {
        f"GIT_{role}_{what}": "nobody" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    return bare | person | {"GIT_CONFIG_GLOBAL": os.devnull}


def git(folder: Path, *arguments: str) -> str:
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    scratch = tmp_path_factory.mktemp("hooks")
    project = scratch / "project"
    for name in git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0"):
        if name and (ROOT / name).is_file():
            (project / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, project / name)
    git(project, "init", "--quiet")
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--message", "As it stands")
    return Workshop(project, git(project, "rev-parse", "HEAD"), scratch / "cache")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet")
    return tmp_path


def test_the_hook_fails_on_a_finding_and_changes_nothing(workshop: Workshop, repository: Path) -> None:
    script = repository / "train.py"
    script.write_text(SLOW)
    done = workshop.run(repository, "tflint-perf")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "train.py:14:9: TFP406 " in done.stdout
    assert script.read_text() == SLOW


def test_the_hook_passes_a_clean_file(workshop: Workshop, repository: Path) -> None:
    (repository / "train.py").write_text(CLEAN)
    done = workshop.run(repository, "tflint-perf")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Passed" in done.stdout


def test_the_hook_leaves_excluded_files_alone(workshop: Workshop, repository: Path) -> None:
    (repository / "train.py").write_text(SLOW)
    (repository / "tflint-perf.toml").write_text("extend-exclude = ['train.py']\n")
    done = workshop.run(repository, "tflint-perf")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_fixing_hook_rewrites_the_file_and_then_passes(workshop: Workshop, repository: Path) -> None:
    script = repository / "train.py"
    script.write_text(RENAMED)
    first = workshop.run(repository, "tflint-perf-fix")
    assert first.returncode == 1, first.stdout + first.stderr
    assert "files were modified by this hook" in first.stdout
    assert script.read_text() == RENAMED_FIXED
    second = workshop.run(repository, "tflint-perf-fix")
    assert second.returncode == 0, second.stdout + second.stderr
