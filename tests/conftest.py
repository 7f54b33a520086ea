"""Fixtures for all tests."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache, wraps
from pathlib import Path

import pytest

from tflint_perf.records import make_nodes_quickly

# As the command does, before libcst is imported. What is forked has libcst's own nodes, as editors and flake8 have.
make_nodes_quickly()

from tests.commandline import SLOW, CommandLine  # noqa: E402
from tests.forked import Forks  # noqa: E402
from tflint_perf import start  # noqa: E402
from tflint_perf.catalogue import evidence  # noqa: E402
from tflint_perf.project import cache as kept  # noqa: E402
from tflint_perf.verify import process  # noqa: E402

# Tests start hundreds of processes, none of which is to compile again what another one has compiled.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Of what tests install, only what is then imported need be compiled.
os.environ |= {"PIP_COMPILE": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}

# Thirteen thousand tests are there to stay: to look through them for garbage again and again takes up to half of the time
# that it takes to collect them. What tests themselves make is looked through as in a run.
gc.disable()


def pytest_collection_finish() -> None:
    """All tests are there."""
    gc.set_threshold(start.OBJECTS_BETWEEN_COLLECTIONS)
    gc.enable()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def no_evidence_on_record(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests see all rules on, and messages without a cost, whatever was measured last."""
    with pytest.MonkeyPatch.context() as patch:
        empty = tmp_path_factory.mktemp("evidence")
        patch.setattr(evidence, "evidence_folder", lambda: empty)
        evidence.all_evidence.cache_clear()
        yield


@pytest.fixture
def as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps of gradients are compiled as one, and else not at all."""
    monkeypatch.setattr("tflint_perf.rules.eager.tfp101_eager_train_step.compile_parts", lambda *args: None)


@pytest.fixture(autouse=True, scope="session")
def key_of_their_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests sign what they keep with a key of theirs, and leave the user's alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        patch.delenv("TFLINT_PERF_CACHE_KEY", raising=False)
        yield


@pytest.fixture(autouse=True, scope="session")
def own_files_looked_at_once() -> Iterator[None]:
    """Tests change no file of this project, so each run in this process need not look at all of them for its cache."""
    looked = kept._states
    once = cache(looked)
    package = Path(kept.__file__).parent.parent

    @wraps(looked)
    def states(*folders: Path) -> list[str]:
        return (once if folders[0] == package else looked)(*folders)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept, "_states", states)
        yield


@pytest.fixture
def tflint_perf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """The command line in an empty folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "TFLINT_PERF_OUTPUT_FORMAT", "TFLINT_PERF_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    return CommandLine(tmp_path, monkeypatch)


@pytest.fixture
def repository(tflint_perf: CommandLine, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Git in the folder of the command line: a repository whose one commit has a script with findings."""
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "somebody")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "somebody@example.org")

    def git(*arguments: str) -> str:
        ran = subprocess.run(
            ["git", *arguments], cwd=tflint_perf.folder, check=True, capture_output=True, text=True
        )
        return ran.stdout.strip()

    git("init", "-q", "-b", "main")
    tflint_perf.write(".gitignore", ".tflint-perf-cache\n")
    tflint_perf.write("train.py", SLOW)
    git("add", "-A")
    git("commit", "-q", "-m", "begin")
    return git


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    """Runs programs in forks of a process that has TensorFlow imported, one for all tests of this process."""
    made = Forks()
    yield made
    made.close()


@pytest.fixture(scope="session")
def forks_without_tensorflow() -> Iterator[Forks]:
    """What runs scripts for `verify`, and has imported all that they need but TensorFlow."""
    made = Forks("tflint_perf.verify.child")
    yield made
    made.close()


@pytest.fixture
def forked_scripts(forks_without_tensorflow: Forks, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each script that `verify` would give a Python of its own gets a fork: there are many, and they take no time."""
    monkeypatch.setattr(process, "_started", forks_without_tensorflow.script)
