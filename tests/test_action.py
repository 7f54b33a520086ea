"""The action of GitHub: its shell, run in a project, with what people and strangers may put into its inputs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.commandline import BROKEN, CLEAN, SLOW
from tests.test_wheel import NOT_SOURCES
from tests.workflow import Job, document

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
ACTION = document((ROOT / "action.yml").read_text(encoding="utf-8"))
DEFAULTS = {name: about["default"] for name, about in ACTION["inputs"].items()}
INSTALL, LINT = ACTION["runs"]["steps"]
GC_ANNOTATION = (
    "::error title=tflint-perf (TFP406),file=train.py,line=14,col=9,endLine=14,endColumn=21::train.py:14:9: "
)
# What somebody may write who wants more than an input allows: each would leave the file `pwned` if it were run.
HOSTILE = (
    "$(touch pwned)`touch pwned`; touch pwned;",
    "'; touch pwned; '",
    '"; touch pwned; "',
    "x\ntouch pwned\n",
)
# Stands for a Python: notes what it is asked to do, and makes an environment with itself in it.
FAKE_PYTHON = """\
#!/bin/sh
echo "$@" >> "$NOTES"
if [ "$3" = venv ]; then mkdir -p "$5/bin" && cp "$0" "$5/bin/python"; fi
"""


@dataclass(frozen=True, slots=True)
class Ran:
    code: int
    out: str
    err: str
    exit_code: str

    @property
    def annotations(self) -> list[str]:
        return [line for line in self.out.splitlines() if line.startswith("::")]


@dataclass(frozen=True, slots=True)
class Action:
    """The action in a workspace, installed once for all tests."""

    program: str
    workspace: Path
    temporary: Path

    def write(self, name: str, text: str) -> None:
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def lint(self, **inputs: str) -> Ran:
        given = DEFAULTS | {name.replace("_", "-"): value for name, value in inputs.items()}
        job = Job(self.workspace, self.temporary, outputs={"steps.install.outputs.program": self.program})
        done = job.step(LINT, given)
        exit_code = job.filled(ACTION["outputs"]["exit-code"]["value"], {}) if len(job.outputs) > 1 else ""
        return Ran(done.returncode, done.stdout, done.stderr, exit_code)

    def files(self) -> set[str]:
        return {path.name for path in self.workspace.iterdir()} - {".tflint-perf-cache"}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the step that installs leaves, from a copy of the project, beside a project that would mislead Python."""
    scratch = tmp_path_factory.mktemp("action")
    shutil.copytree(ROOT, scratch / "action", ignore=shutil.ignore_patterns(*NOT_SOURCES))
    for folder in ("workspace", "temporary"):
        (scratch / folder).mkdir()
    for name in ("venv", "pip", "ensurepip"):
        (scratch / "workspace" / f"{name}.py").write_text("raise SystemExit('imported from the workspace')\n")
    job = Job(scratch / "workspace", scratch / "temporary", {"GITHUB_ACTION_PATH": str(scratch / "action")})
    done = job.step(INSTALL, DEFAULTS | {"python": sys.executable})
    assert done.returncode == 0, done.stdout + done.stderr
    return job.outputs["steps.install.outputs.program"]


@pytest.fixture
def action(program: str, tmp_path: Path) -> Action:
    for folder in ("workspace", "temporary"):
        (tmp_path / folder).mkdir()
    made = Action(program, tmp_path / "workspace", tmp_path / "temporary")
    made.write("train.py", SLOW)
    return made


@dataclass(frozen=True, slots=True)
class Installer:
    """The step that installs, with a Python that only notes what it is asked for."""

    folder: Path

    def run(self, **inputs: str) -> tuple[subprocess.CompletedProcess[str], Sequence[str]]:
        notes = self.folder / "notes"
        variables = {"GITHUB_ACTION_PATH": "/the/action", "NOTES": str(notes)}
        job = Job(self.folder, self.folder, variables)
        python = self.folder / "python"
        python.write_text(FAKE_PYTHON)
        python.chmod(0o755)
        done = job.step(INSTALL, DEFAULTS | {"python": str(python)} | inputs)
        return done, notes.read_text().splitlines() if notes.exists() else ()


@pytest.fixture
def installer(tmp_path: Path) -> Installer:
    return Installer(tmp_path)


@pytest.mark.parametrize("step", [INSTALL, LINT], ids=lambda step: str(step["id"]))
def test_the_shell_is_what_shellcheck_takes_for_sound(step: dict[str, Any]) -> None:
    checker = Path(sys.executable).with_name("shellcheck")
    done = subprocess.run(
        [checker, "--shell=bash", "-"], input=step["run"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_it_exits_with_0_where_all_is_clean(action: Action) -> None:
    action.write("train.py", CLEAN)
    ran = action.lint()
    assert (ran.code, ran.exit_code, ran.out, ran.err) == (0, "0", "", "")


def test_a_finding_becomes_an_annotation_and_the_exit_code_1(action: Action) -> None:
    ran = action.lint(args="--select=TFP406")
    assert (ran.code, ran.exit_code, ran.err) == (1, "1", "")
    assert [line[: len(GC_ANNOTATION)] for line in ran.annotations] == [GC_ANNOTATION]
    assert ran.out.count("\n") == 1


@pytest.mark.parametrize(
    ("inputs", "told"),
    [
        ({"src": "gone.py"}, "tflint-perf: gone.py: no such file or folder"),
        ({"args": "--selekt TFP1"}, "--selekt"),
        ({"output_format": "nonsense"}, "tflint-perf: Invalid value for '--output-format'"),
        ({"sarif_file": "no/such/folder.sarif"}, "tflint-perf: --output-file: no/such/folder.sarif"),
    ],
)
def test_what_could_not_be_done_is_the_exit_code_2(action: Action, inputs: dict[str, str], told: str) -> None:
    ran = action.lint(**inputs)
    assert (ran.code, ran.exit_code) == (2, "2")
    assert told in ran.err


def test_a_syntax_error_is_an_annotation(action: Action) -> None:
    action.write("train.py", BROKEN)
    (line,) = action.lint().annotations
    assert line.startswith("::error title=tflint-perf (invalid-syntax),file=train.py,line=3,")


def test_the_files_are_named_one_a_line(action: Action) -> None:
    action.write("with blanks/one.py", SLOW)
    action.write("two.py", SLOW)
    ran = action.lint(src="with blanks\n\ntwo.py\n", args="--select=TFP406")
    assert re.findall(r",file=(.*?),", ran.out) == ["two.py", "with blanks/one.py"]


def test_options_may_have_quotes(action: Action) -> None:
    action.write("with blanks/train.py", SLOW)
    ran = action.lint(args="--select TFP406\n--per-file-ignores 'with blanks/*.py:TFP4' --fail-on \"error\"")
    assert (ran.code, ran.err) == (0, "")
    assert re.findall(r",file=(.*?),", ran.out) == ["train.py"]


def test_a_quote_that_is_not_closed_is_told(action: Action) -> None:
    ran = action.lint(args="--select 'TFP406")
    assert (ran.code, ran.annotations) == (
        2,
        ["::error title=tflint-perf::The input args has a quote that is not closed"],
    )


def test_a_report_in_sarif_is_written_beside_the_annotations(action: Action) -> None:
    ran = action.lint(args="--select=TFP406", sarif_file="report.sarif")
    assert (ran.code, len(ran.annotations)) == (1, 1)
    (run,) = json.loads((action.workspace / "report.sarif").read_text())["runs"]
    (result,) = run["results"]
    place = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert (result["ruleId"], place["uri"]) == ("TFP406", "train.py")


def test_a_clean_report_in_sarif_is_written_too(action: Action) -> None:
    action.write("train.py", CLEAN)
    assert action.lint(sarif_file="report.sarif").code == 0
    (run,) = json.loads((action.workspace / "report.sarif").read_text())["runs"]
    assert run["results"] == []


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("name", ["src", "args", "output_format", "sarif_file"])
def test_no_input_is_run(action: Action, name: str, text: str) -> None:
    before = action.files()
    ran = action.lint(**{name: text})
    assert ran.code in ((1, 2) if name == "sarif_file" else (2,))
    assert not (action.workspace / "pwned").exists()
    # A report goes where the input says, also by a name like this.
    assert len(action.files() - before) <= (name == "sarif_file")


@pytest.mark.parametrize("text", ["--fix", "-opwned", "@options"])
def test_a_file_to_lint_is_no_option(action: Action, text: str) -> None:
    action.write("options", "--fix\n")
    ran = action.lint(src=text)
    assert ran.code == 2
    assert f"{text}: no such file or folder" in ran.err
    assert (action.workspace / "train.py").read_text() == SLOW


def test_nothing_is_imported_from_the_repository(action: Action) -> None:
    for name in ("click", "libcst", "json", "tflint_perf"):
        action.write(f"{name}.py", "raise SystemExit('imported from the workspace')\n")
    ran = action.lint(src="train.py", args="--select=TFP406")
    assert (ran.code, ran.err) == (1, "")


@pytest.mark.parametrize(
    ("version", "requirement"),
    [
        ("", "/the/action"),
        ("1.2.3", "tflint-perf==1.2.3"),
        ("2.0rc1", "tflint-perf==2.0rc1"),
        (">=1.2,<2", "tflint-perf>=1.2,<2"),
        ("~=1.2", "tflint-perf~=1.2"),
    ],
)
def test_the_version_decides_what_is_installed(installer: Installer, version: str, requirement: str) -> None:
    done, notes = installer.run(version=version)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert notes == [
        f"-I -m venv --clear {installer.folder}/tflint-perf",
        f"-I -m pip install --quiet --disable-pip-version-check {requirement}",
    ]


@pytest.mark.parametrize(
    "version", [*HOSTILE, "latest", "git+https://example.org/x", "1.0 --index-url=x", "../x"]
)
def test_what_is_no_version_is_refused(installer: Installer, version: str) -> None:
    done, notes = installer.run(version=version)
    assert (done.returncode, notes) == (2, ())
    assert done.stdout == "::error title=tflint-perf::The input version is none, as in 1.2.3 or >=1.2,<2\n"
    assert not (installer.folder / "pwned").exists()


@pytest.mark.parametrize("python", [*HOSTILE, "no-such-python"])
def test_what_is_no_python_is_refused(installer: Installer, python: str) -> None:
    done, notes = installer.run(python=python)
    assert (done.returncode, notes) == (2, ())
    assert done.stdout.startswith("::error title=tflint-perf::The Python makes no environment; ")
    assert not (installer.folder / "pwned").exists()
