"""The plugin of flake8, under the real flake8: its findings are those of `tflint-perf`."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.commandline import BROKEN, CLEAN, SLOW
from tests.forked import linters
from tests.test_plugins import FOUND, RULE, RUN, SCRIPT, Site

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
ROW = re.compile(r"(?P<path>.+?):(?P<row>\d+):(?P<column>\d+): (?P<code>\w+) (?P<message>.*)")
# As a place and a code.
GC = "train.py:14:9: TFP406"
STEP = "train.py:10:9: TFP101"
ONLY_GC = "select = ['TFP406']\n"


@dataclass(frozen=True, slots=True)
class Project:
    """A folder, and the commands in it: each by a Python of its own, or by a fork of one that has its imports behind it."""

    folder: Path
    forked: bool = False

    def write(self, name: str, text: str, encoding: str = "utf-8") -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode(encoding))

    def run(self, *command: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("TFLINT_PERF_")
        }
        if self.forked:
            done = linters().run("-m", *command, folder=self.folder, variables=environment, stdin=stdin)
        else:
            done = subprocess.run(
                [sys.executable, "-m", *command],
                cwd=self.folder,
                env=environment,
                input=stdin,
                capture_output=True,
                text=True,
                check=False,
            )
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def flake8(self, *arguments: str, stdin: str = "") -> list[str]:
        """The rows that flake8 prints."""
        done = self.run("flake8", *arguments, stdin=stdin)
        assert done.returncode == bool(done.stdout), done.stdout + done.stderr
        assert done.stderr == ""
        return done.stdout.splitlines()

    def found(self, *arguments: str, stdin: str = "") -> list[str]:
        """`path:row:column: CODE` of this plugin's findings."""
        rows = self.flake8("--select=TFP", *(arguments or ["train.py"]), stdin=stdin)
        return [re.sub(r"^\./", "", row).partition(": ")[0] + ": " + row.split()[1] for row in rows]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project with a slow script in it."""
    made = Project(tmp_path, forked=True)
    made.write("pyproject.toml", "")
    made.write("train.py", SLOW)
    return made


def told_by_check(project: Project, *arguments: str) -> set[tuple[str, int, int, str, str]]:
    done = project.run("tflint_perf", "check", "--no-cache", "--output-format=json", *arguments)
    assert done.returncode == 1, done.stderr
    return {
        (
            entry["filename"],
            entry["location"]["row"],
            entry["location"]["column"],
            entry["code"],
            entry["message"],
        )
        for entry in json.loads(done.stdout)
    }


def told_by_flake8(rows: Sequence[str]) -> set[tuple[str, int, int, str, str]]:
    matches = [match for row in rows if (match := ROW.fullmatch(row))]
    assert len(matches) == len(rows)
    return {
        (
            match["path"].removeprefix("./"),
            int(match["row"]),
            int(match["column"]),
            match["code"],
            match["message"],
        )
        for match in matches
    }


def test_its_findings_on_all_slow_scripts_are_those_of_the_command(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write("tflint-perf.toml", "select = ['ALL']\n")
    for script in (ROOT / "fixtures").glob("TFP*/slow.py"):
        (tmp_path / script.parent.name).mkdir(exist_ok=True)
        shutil.copy(script, tmp_path / script.parent.name)
    of_check = told_by_check(project, ".")
    assert {code for _, _, _, code, _ in of_check} == {path.name for path in tmp_path.glob("TFP*")}
    assert told_by_flake8(project.flake8("--select=TFP", "-j2", ".")) == of_check


def test_its_findings_stand_among_those_of_flake8(project: Project) -> None:
    project.write("train.py", "import os\n" + SLOW)
    codes = {row.split()[1] for row in project.flake8("train.py")}
    assert codes == {"F401", "TFP101", "TFP406"}


def test_flake8_selects_and_ignores_its_codes(project: Project) -> None:
    assert project.found() == [STEP, GC]
    assert project.found("--extend-ignore=TFP1", "train.py") == [GC]
    assert project.flake8("--extend-ignore=TFP", "train.py") == []
    assert project.found("--per-file-ignores=train.py:TFP406", "train.py") == [STEP]


def test_the_configuration_of_the_project_counts(project: Project) -> None:
    project.write("pyproject.toml", "[tool.tflint-perf]\nignore = ['TFP101']\n")
    project.write("old/train.py", SLOW)
    project.write("old/tflint-perf.toml", "per-file-ignores = { 'train.py' = ['TFP4'] }\n")
    project.write("left_out/train.py", SLOW)
    project.write("left_out/tflint-perf.toml", "exclude = ['train.py']\n")
    assert project.found(".") == ["old/" + STEP, GC]


def test_a_baseline_counts(project: Project) -> None:
    assert project.run("tflint_perf", "--write-baseline", "known.json").returncode == 0
    project.write("pyproject.toml", "[tool.tflint-perf]\nbaseline = 'known.json'\n")
    assert project.found(".") == []
    project.write("train.py", SLOW + "        gc.collect()\n")
    assert project.found(".") == ["train.py:15:9: TFP406"]


def test_test_files_are_left_out_unless_the_configuration_wants_them(project: Project) -> None:
    project.write("test_train.py", SLOW)
    assert project.found("test_train.py") == []
    project.write("pyproject.toml", "[tool.tflint-perf]\ninclude-tests = true\n")
    assert project.found("test_train.py") == ["test_" + STEP, "test_" + GC]


def test_a_suppressed_finding_is_shown_by_neither(project: Project) -> None:
    project.write("pyproject.toml", "[tool.tflint-perf]\n" + ONLY_GC)
    comments = ("# noqa: TFP406", "# noqa", "# tflint-perf: ignore[TFP406]", "# noqa: F401, TFP4")
    names = [f"with_{number}.py" for number, _ in enumerate(comments)]
    for name, comment in zip(names, comments, strict=True):
        project.write(name, SLOW.replace("gc.collect()", f"gc.collect()  {comment}"))
    assert project.found(*names) == []
    assert project.found("--disable-noqa", *names) == [GC.replace("train.py", name) for name in names]


def test_a_comment_anywhere_in_the_statement_suppresses(project: Project) -> None:
    call = "print(  # noqa: TFP406\n            gc.collect(),\n        )"
    project.write("pyproject.toml", "[tool.tflint-perf]\n" + ONLY_GC)
    project.write("train.py", SLOW.replace("gc.collect()", call))
    assert project.found("--disable-noqa", "train.py") == ["train.py:15:13: TFP406"]
    assert project.found() == []


def test_a_suppression_that_suppresses_nothing_is_reported_once(project: Project) -> None:
    project.write("train.py", CLEAN.rstrip("\n") + "  # noqa: TFP406\n")
    assert project.found() == ["train.py:3:24: TFP001"]


def test_a_file_that_flake8_leaves_alone_is_left_alone(project: Project) -> None:
    project.write("train.py", "# flake8: noqa\n" + SLOW)
    assert project.found() == []


def test_what_does_not_parse_is_said_by_flake8_alone(project: Project) -> None:
    project.write("train.py", BROKEN)
    assert [row.split()[1] for row in project.flake8("--select=TFP,E9", "train.py")] == ["E999"]


def test_standard_input_is_linted_as_the_file_that_it_stands_for(project: Project) -> None:
    project.write("scripts/tflint-perf.toml", ONLY_GC)
    name = "scripts/train.py"
    assert project.found("-", "--stdin-display-name", name, stdin=SLOW) == ["scripts/" + GC]
    assert project.found("-", stdin=SLOW) == [row.replace("train.py", "stdin") for row in (STEP, GC)]


def test_who_calls_a_function_in_another_file_counts(project: Project) -> None:
    project.write("train.py", "import gc\n\nimport tensorflow as tf\n\n\ndef tidy():\n    gc.collect()\n")
    assert project.found() == []
    project.write(
        "main.py",
        "import tensorflow as tf\nfrom train import tidy\n\nmodel = tf.keras.Sequential()\n"
        "for x, y in tf.data.Dataset.from_tensor_slices((1, 2)):\n    model.train_on_batch(x, y)\n    tidy()\n",
    )
    assert project.found() == ["train.py:7:5: TFP406"]
    assert told_by_flake8(project.flake8("--select=TFP", ".")) == told_by_check(project, ".")


def test_places_are_right_in_every_encoding(project: Project) -> None:
    text = SLOW.replace("gc.collect()", 'print("déjà"); gc.collect()')
    project.write("train.py", text)
    project.write("crlf.py", text.replace("\n", "\r\n"))
    project.write("marked.py", text, "utf-8-sig")
    project.write("latin.py", "# coding: latin-1\n" + text.replace("\n", "\r\n"), "latin-1")
    of_flake8 = told_by_flake8(project.flake8("--select=TFP", "."))
    assert of_flake8 == told_by_check(project, ".")
    places = {(path, row, column) for path, row, column, code, _ in of_flake8 if code == "TFP406"}
    assert places == {("train.py", 14, 24), ("crlf.py", 14, 24), ("marked.py", 14, 24), ("latin.py", 15, 24)}


def test_a_broken_configuration_is_told_in_one_line(project: Project) -> None:
    project.write("pyproject.toml", "[tool.tflint-perf]\nselekt = ['TFP1']\n")
    (row,) = project.flake8("--select=TFP", "train.py")
    assert row == "train.py:1:1: TFP000 pyproject.toml:2: unknown key `selekt` (did you mean `select`?)"


def test_what_could_not_be_read_is_told_in_one_line(project: Project) -> None:
    # flake8 reads it as Latin-1, and goes on.
    project.write("train.py", "# coding: nonsense\n" + SLOW)
    (row,) = project.flake8("--select=TFP", "train.py")
    assert row == "train.py:1:1: TFP000 train.py:1: unknown encoding: nonsense"


def test_a_file_that_is_not_about_tensorflow_costs_no_import_of_libcst(project: Project) -> None:
    project.write("train.py", "import torch\n\nprint(torch.__version__)\n")
    program = (
        "import sys\nfrom flake8.main.cli import main\n"
        "code = main(['--select=TFP', 'train.py'])\n"
        "print(code, 'tflint_perf.flake8' in sys.modules, 'tflint_perf.project.linting' in sys.modules, 'libcst' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=project.folder, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["0", "True", "True", "False"]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (FOUND, ["train.py:3:1: ACM101 found; lose it"]),
        ("1 / 0", ["train.py:1:1: TFP000 plugin `acme`: ACM101: ZeroDivisionError: division by zero"]),
    ],
)
def test_rules_of_other_packages_count(tmp_path: Path, body: str, told: list[str]) -> None:
    site = Site(tmp_path / "site", tmp_path)
    site.install("acme", {"found.py": RULE.format(code="ACM101", name="call-found", top="", body=body)})
    (tmp_path / "train.py").write_text(SCRIPT)
    program = RUN.replace("tflint_perf.commands", "flake8.main.cli").replace("main()", "sys.exit(main())")
    done = subprocess.run(
        [sys.executable, "-c", program, site.folder, "--extend-ignore=F", "train.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert [row[: len(start)] for row, start in zip(done.stdout.splitlines(), told, strict=True)] == told
