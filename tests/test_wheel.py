"""A wheel that is built from the project works by itself, from any folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
SUFFIXES = (".py", ".json", ".toml", ".css")
NOT_SOURCES = (".*", "build", "dist", "*.egg-info", "__pycache__")


@dataclass(frozen=True, slots=True)
class Installed:
    """A wheel, and an environment that holds nothing but the wheel and what it needs."""

    wheel: Path
    environment: Path
    folder: Path

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the installed command in a folder that has nothing to do with the project."""
        return subprocess.run(
            [str(self.environment / "bin" / "tflint-perf"), *arguments],
            cwd=self.folder,
            env=bare_environment(),
            capture_output=True,
            text=True,
            check=False,
        )

    def names(self) -> set[str]:
        with zipfile.ZipFile(self.wheel) as archive:
            return {name for name in archive.namelist() if not name.endswith("/")}


def bare_environment() -> dict[str, str]:
    """The environment without what would let the project itself be found, or a make be known that runs the tests."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PYTHON") and name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")
    }


def run(*command: str | Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=bare_environment())
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    scratch = tmp_path_factory.mktemp("wheel")
    # A copy, because setuptools leaves a build folder behind whose old files would enter the next wheel.
    sources, environment, folder = scratch / "sources", scratch / "environment", scratch / "elsewhere"
    shutil.copytree(ROOT, sources, ignore=shutil.ignore_patterns(*NOT_SOURCES))
    folder.mkdir()
    run(sys.executable, "-m", "build", "--wheel", "--outdir", scratch / "dist", sources)
    (wheel,) = (scratch / "dist").glob("*.whl")
    # The pip of this Python installs as one of its own would, which need not be installed first.
    run(sys.executable, "-m", "venv", "--without-pip", environment)
    run(sys.executable, "-m", "pip", "--python", environment, "install", "--quiet", wheel)
    return Installed(wheel, environment, folder)


def test_the_repository_s_address_installs_as_well(tmp_path: Path) -> None:
    """As `pip install "tflint-perf @ git+<its address>"`, with this checkout at the address."""
    sources, packages = tmp_path / "sources", tmp_path / "packages"
    shutil.copytree(ROOT, sources, ignore=shutil.ignore_patterns(*NOT_SOURCES))
    person = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.org")
    run("git", "init", "--quiet", sources)
    run("git", "-C", sources, "add", "--all")
    run("git", "-C", sources, *person, "commit", "--quiet", "--message", "A release")
    wanted = f"tflint-perf @ git+file://{sources}"
    run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", packages, wanted)
    environment = {**bare_environment(), "PYTHONPATH": str(packages)}
    ran = subprocess.run(
        [sys.executable, "-m", "tflint_perf", "rule", "TFP101"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "Claim: step time" in ran.stdout


def test_it_holds_every_module_rule_and_fixture_of_the_project(installed: Installed) -> None:
    def installed_as(folder: str, prefix: str) -> set[str]:
        paths = (path for path in (ROOT / folder).rglob("*") if path.name.endswith(SUFFIXES))
        return {f"{prefix}/{path.relative_to(ROOT / folder).as_posix()}" for path in paths}

    code = {name for name in installed.names() if name.endswith(SUFFIXES) and ".dist-info" not in name}
    assert code == (
        installed_as("tflint_perf", "tflint_perf")
        | installed_as("rules", "tflint_perf/rules")
        | installed_as("fixtures", "tflint_perf/fixtures")
    )


def test_it_is_typed_and_licensed(installed: Installed) -> None:
    names = installed.names()
    assert "tflint_perf/py.typed" in names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_it_holds_no_tests_and_no_benchmarks(installed: Installed) -> None:
    assert {name.partition("/")[0] for name in installed.names() if ".dist-info/" not in name} == {
        "tflint_perf"
    }


def test_it_tells_its_version(installed: Installed) -> None:
    done = installed.run("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert installed.wheel.name.split("-")[1] in done.stdout


def test_it_explains_a_rule(installed: Installed) -> None:
    done = installed.run("rule", "TFP101")
    assert (done.returncode, done.stderr) == (0, "")
    assert "eager-train-step" in done.stdout
    assert "Why is this bad?" in done.stdout


def test_it_finds_what_is_slow(installed: Installed) -> None:
    script = installed.folder / "train.py"
    shutil.copy(ROOT / "fixtures" / "TFP101" / "slow.py", script)
    done = installed.run("check", "--isolated", "--select=TFP101", "--output-format=concise", script.name)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("train.py:")
    assert " TFP101 " in done.stdout


def test_it_needs_neither_tensorflow_nor_numpy(installed: Installed) -> None:
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "--python", installed.environment, "list", "--format=freeze"],
        capture_output=True,
        text=True,
        check=True,
    )
    names = {line.partition("==")[0].lower() for line in listed.stdout.splitlines()}
    assert "libcst" in names
    assert not names & {"tensorflow", "keras", "numpy"}


def followed(page: str) -> Iterator[str]:
    """What somebody types who follows a page from its top: files are saved, lines changed and commands run."""
    for title, text in re.findall(r'(?ms)^```\w+(?: title="([^"]+)")?\n(.*?)^```$', page):
        name, _, line = title.partition(", line ")
        if line:
            rest = f"{{ head -n {int(line) - 1} {name}; cat <<'END'; tail -n +{int(line) + 1} {name}; }}"
            yield f"{rest} > new\n{text}END\nmv new {name}\n"
        elif name:
            yield f"cat > {name} <<'END'\n{text}END\n"
        else:
            yield from (
                f'{command}\necho "[$?] {command.replace(chr(34), "")}"\n' for command in commands(text)
            )


def commands(block: str) -> list[str]:
    return re.findall(r"(?m)^\$ (.*)$", block)


def test_a_stranger_s_five_minutes_go_as_the_page_says(installed: Installed, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "start.md").read_text(encoding="utf-8")
    # The wheel of this checkout is built already.
    page = page.replace("pip install ~/tflint-perf", f"pip install {installed.wheel}")
    person = {
        f"GIT_{role}_{what}": "nobody" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    done = subprocess.run(
        ["bash", "-c", "".join(followed(page))],
        cwd=tmp_path,
        env=bare_environment()
        | person
        | {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PIP_FIND_LINKS": str(installed.wheel.parent),
            "PRE_COMMIT_HOME": str(tmp_path / "hooks"),
            "GIT_CONFIG_GLOBAL": os.devnull,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    codes = re.findall(r"(?m)^\[(\d+)\] (.*)$", done.stdout)
    found = [command for code, command in codes if code != "0"]
    assert found == [
        "tflint-perf",
        "tflint-perf --diff --unsafe-fixes --select TFP406",
        "tflint-perf --diff --unsafe-fixes --select TFP101",
    ], done.stdout + done.stderr
    assert codes[-2:] == [("0", "git commit --message Train faster"), ("0", "tflint-perf init")]
    assert re.search(r"tflint-perf\.+Passed", done.stdout + done.stderr)
    trained = (tmp_path / "train.py").read_text(encoding="utf-8")
    assert trained.startswith("import tensorflow as tf  # noqa: TFP404")
    assert "@tf.function\ndef train_step(x, y):" in trained
    assert "gc.collect()" not in trained
