"""`tflint-perf run` from the command line, with a watcher that is told what to see."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.commandline import SLOW, CommandLine
from tests.observed.made_up import event, line, record
from tflint_perf.commands import COMMANDS, expand, with_command
from tflint_perf.measured.record import Record, Spot, read_record
from tflint_perf.observed import session
from tflint_perf.observed.process import NotWatchedError, Seen
from tflint_perf.observed.request import Request

PROGRAM = SLOW + "\n\nfrom parts import losses\n\ntrain(model, dataset, optimizer)\n"


class Watcher:
    """In the place of the one that starts processes: remembers what it was asked for."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.stdout: list[int | None] = []
        self.code = 0
        self.record: Record | None = None
        self.fails = ""

    def __call__(self, request: Request, stdout: int | None = None) -> Seen:
        self.requests.append(request)
        self.stdout.append(stdout)
        if self.fails:
            raise NotWatchedError(self.fails)
        made = record(
            Path.cwd(),
            line(14, 3e-3, event("gc", "gc.collect", 1, 3e-3)),
            program=request.program,
            reached=tuple(request.probes),
        )
        return Seen(self.record or replace(made, code=self.code), self.code, (), stderr="its own words\n")


@pytest.fixture
def watcher(monkeypatch: pytest.MonkeyPatch, tflint_perf: CommandLine) -> Watcher:
    made = Watcher()
    monkeypatch.setattr(session, "watch", made)
    monkeypatch.setattr(session, "refuse_what_is_missing", lambda *needed: None)
    tflint_perf.write("train.py", PROGRAM)
    tflint_perf.write("parts.py", "import tensorflow as tf\n\nlosses = []\n")
    tflint_perf.write("other.py", SLOW)
    return made


def test_the_report_follows_and_the_exit_code_is_the_program_s(
    tflint_perf: CommandLine, watcher: Watcher
) -> None:
    watcher.code = 3
    ran = tflint_perf("run", "train.py", "--epochs", "3")
    assert ran.code == 3
    assert "train.py:14  TFP406 gc-in-loop (confirmed)" in ran.out
    assert watcher.requests[0].program == ("train.py", "--epochs", "3")


def test_what_stands_behind_the_program_is_its_own(tflint_perf: CommandLine, watcher: Watcher) -> None:
    tflint_perf("run", "--steps", "7", "train.py", "--steps", "9", "-q", "-m", "@file", "--", "--help")
    (request,) = watcher.requests
    assert request.program == ("train.py", "--steps", "9", "-q", "-m", "@file", "--", "--help")
    assert (request.steps, request.quiet) == (7, False)


@pytest.mark.parametrize(("options", "said"), [(["--steps=20"], True), ([], False), (["--steps=0"], False)])
def test_few_steps_are_said_to_be_few_before_they_are_run(
    tflint_perf: CommandLine, watcher: Watcher, options: list[str], said: bool
) -> None:
    few = "20 steps are few to say what lines cost; 100 or more are enough"
    assert (few in tflint_perf("run", *options, "train.py").err) == said


def test_a_module_is_run_by_its_name(tflint_perf: CommandLine, watcher: Watcher) -> None:
    ran = tflint_perf("run", "-m", "train", "--epochs", "3")
    assert watcher.requests[0].program == ("-m", "train", "--epochs", "3")
    assert "TFP406" in ran.out


def test_zero_is_no_end(tflint_perf: CommandLine, watcher: Watcher) -> None:
    tflint_perf("run", "--steps", "0", "--seconds", "0", "train.py")
    assert (watcher.requests[0].steps, watcher.requests[0].seconds) == (None, None)
    assert watcher.requests[0].python == sys.executable


def test_the_rows_of_findings_are_asked_about_in_all_that_the_program_imports(
    tflint_perf: CommandLine, watcher: Watcher
) -> None:
    tflint_perf.write(
        "parts.py",
        "import tensorflow as tf\n\nfrom deeper import x\n\n"
        "losses = []\ntf.config.run_functions_eagerly(True)\n",
    )
    tflint_perf.write("deeper.py", "import tensorflow as tf\n\ntf.data.experimental.enable_debug_mode()\n")
    tflint_perf("run", "train.py")
    here = tflint_perf.folder
    asked = {(Path(spot.file).relative_to(here).as_posix(), spot.row) for spot in watcher.requests[0].probes}
    assert {("train.py", 14), ("parts.py", 6), ("deeper.py", 3)} <= asked
    assert "other.py" not in {file for file, _ in asked}


def test_rules_count_as_they_are_selected(tflint_perf: CommandLine, watcher: Watcher) -> None:
    assert "TFP406" not in tflint_perf("run", "--ignore", "TFP4", "train.py").out
    tflint_perf.write("tflint-perf.toml", 'select = ["TFP101"]')
    assert "TFP406" not in tflint_perf("run", "train.py").out


@pytest.mark.parametrize("format", ["json", "sarif", "github", "markdown"])
def test_a_document_has_standard_output_to_itself(
    tflint_perf: CommandLine, watcher: Watcher, format: str
) -> None:
    ran = tflint_perf("run", "--output-format", format, "train.py")
    assert watcher.stdout == [2]
    assert ran.out.strip()
    if format in ("json", "sarif"):
        json.loads(ran.out)


def test_in_a_file_the_report_has_its_form_by_the_name(tflint_perf: CommandLine, watcher: Watcher) -> None:
    tflint_perf("run", "-o", "run.json", "train.py")
    assert watcher.stdout == [None]
    found = read_record(tflint_perf.folder / "run.json").findings
    assert ("TFP406", "confirmed") in [(one.code, one.status) for one in found]
    tflint_perf("run", "-o", "run.md", "train.py")
    assert (tflint_perf.folder / "run.md").read_text().startswith("### `train.py`\n")
    tflint_perf("run", "-o", "run.txt", "train.py")
    assert (tflint_perf.folder / "run.txt").read_text().startswith("train.py\n")


@pytest.mark.parametrize("quiet", [(), ("-q",)])
def test_with_the_report_in_a_file_two_lines_and_its_name_are_shown(
    tflint_perf: CommandLine, watcher: Watcher, quiet: tuple[str, ...]
) -> None:
    ran = tflint_perf("run", *quiet, "-o", "run.json", "train.py")
    assert ran.out.splitlines() == [
        "train.py: 200 steps, each an iteration of the loop at train.py:24, with gradients applied at train.py:16; the program "
        "was stopped there, 12 s after its start.",
        "A step takes 8.00 ms (7.90 to 8.20); the first took 2.0 s. At most 3.00 ms of it, 38%, goes to TFP406 in train.py:14.",
    ]
    assert ran.err == "tflint-perf: the report is in run.json\n"


def test_the_page_is_written_beside_the_report(tflint_perf: CommandLine, watcher: Watcher) -> None:
    ran = tflint_perf("run", "--report", "out/page", "train.py")
    assert (tflint_perf.folder / "out" / "page" / "index.html").is_file()
    assert "the report is in out/page/index.html" in ran.err


def test_a_program_that_fails_quietly_still_says_why(tflint_perf: CommandLine, watcher: Watcher) -> None:
    watcher.code = 1
    ran = tflint_perf("run", "-q", "train.py")
    assert (ran.code, ran.err) == (1, "its own words\n")


def test_what_cannot_be_watched_is_one_line(tflint_perf: CommandLine, watcher: Watcher) -> None:
    watcher.fails = "no TensorFlow in this Python"
    ran = tflint_perf("run", "train.py")
    assert (ran.code, ran.out, ran.err) == (2, "", "tflint-perf: train.py: no TensorFlow in this Python\n")


def test_the_row_of_a_step_is_one_of_the_program_s(tflint_perf: CommandLine, watcher: Watcher) -> None:
    tflint_perf("run", "--step", "train.py:9", "train.py")
    assert watcher.requests[0].step == Spot(str(tflint_perf.folder / "train.py"), 9)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run"], "name a program: tflint-perf run train.py"),
        (
            ["run", "--step", "train.py", "train.py"],
            "--step: not of the form FILE:ROW, or NOTEBOOK:cell N:ROW: train.py",
        ),
        (["run", "--step", "gone.py:3", "train.py"], "--step: no such file: gone.py"),
        (["run", "--step", "train.py:999", "train.py"], "--step: no such row: train.py:999"),
        (["run", "--select", "TFP9", "train.py"], "--select: unknown rule `TFP9`"),
        (["run", "-o", "no/such/folder.json", "train.py"], "no such"),
    ],
)
def test_what_cannot_be_done_is_one_line_before_anything_runs(
    tflint_perf: CommandLine, watcher: Watcher, arguments: list[str], said: str
) -> None:
    ran = tflint_perf(*arguments)
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
    assert said.casefold() in ran.err.casefold()
    assert watcher.requests == []


def test_run_is_a_command_and_its_arguments_are_no_files_of_arguments() -> None:
    assert "run" in COMMANDS
    assert with_command(["-q", "run", "train.py"]) == ["run", "-q", "train.py"]
    with pytest.raises(Exception, match="@gone"):
        expand(["@gone"])


def test_a_line_in_a_notebook_gets_its_code(tmp_path: Path) -> None:
    import nbformat

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x = 1\ny = 2")])
    nbformat.write(notebook, tmp_path / "n.ipynb")
    run: Any = record(tmp_path, replace(line(1, 1e-3), spot=Spot("n.ipynb", 2, 1), source=""))
    settled, _ = session.settled(run, [], None)
    assert settled.lines[0].source == "y = 2"


def test_what_a_script_in_a_folder_of_its_own_imports_from_here_is_read_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where nothing marks the root of a project."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("models/steps.py", SLOW), ("training/train.py", "from models.steps import train\n")):
        Path(name).parent.mkdir()
        Path(name).write_text(text, encoding="utf-8")
    asked = session.Asked(
        ("training/train.py",),
        10,
        10.0,
        None,
        sys.executable,
        ["TFP406"],
        None,
        None,
        "text",
        None,
        None,
        True,
    )
    found, _ = session.findings(asked)
    assert {(located.path, located.finding.code) for located in found} == {("models/steps.py", "TFP406")}
