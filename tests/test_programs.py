"""The harness that runs programs before and after their fixes, on two tiny programs of our own.

TensorFlow is no part of it: the runner and the linter are replaced.
"""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.slow

HARNESS = Path(__file__).parent.parent / "benchmarks" / "programs.py"

# Stands in for `run_program.py`: the same arguments and the same report, nothing made ready.
RUNNER = """
import json, runpy, sys, time
report = sys.argv[1].removeprefix("--report=")
start = time.perf_counter()
sys.argv = sys.argv[3:]
runpy.run_path(sys.argv[0], run_name="__main__")
open(report, "w").write(json.dumps({"seconds": time.perf_counter() - start}))
"""
HALVES = """
import time
loss = 8.0
for step in range(4):
    loss = loss / 2
    time.sleep(0.05)
    print("step", step, "loss", loss)
"""
LIST = """
[[program]]
name = "halves"
repository = "somebody/halves"
commit = "{commit}"
script = "halves.py"
losses = 'step (?P<step>\\d+) loss (?P<loss>\\S+)'
edits = [{{ file = "halves.py", old = "range(4)", new = "range(6)" }}]

[[program]]
name = "prints nothing"
repository = "somebody/halves"
commit = "{commit}"
script = "nothing.py"
losses = 'loss (?P<loss>\\S+)'
"""


@pytest.fixture
def harness(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The module, with a runner that needs no TensorFlow and a linter that takes the sleep away."""
    spec = importlib.util.spec_from_file_location("programs", HARNESS)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "programs", module)
    spec.loader.exec_module(module)
    runner = tmp_path / "runner.py"
    runner.write_text(RUNNER, encoding="utf-8")
    monkeypatch.setattr(module, "RUNNER", runner)
    monkeypatch.setattr(module, "fix", lambda folder, ignore: replace(folder, "time.sleep(0.05)", "pass"))
    return module


def replace(folder: Path, old: str, new: str) -> Counter[str]:
    """A fix, and how many there were."""
    counts: Counter[str] = Counter()
    for path in folder.rglob("*.py"):
        code = path.read_text(encoding="utf-8")
        counts["TFP999"] += code.count(old)
        path.write_text(code.replace(old, new), encoding="utf-8")
    return +counts


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    """A checkout of the two programs, and a list that names them."""
    checkout = tmp_path / "checkouts" / "somebody+halves"
    checkout.mkdir(parents=True)
    (checkout / "halves.py").write_text(HALVES, encoding="utf-8")
    (checkout / "nothing.py").write_text("", encoding="utf-8")
    git(checkout, "init", "--quiet")
    git(checkout, "add", ".")
    git(checkout, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "Add it")
    commit = git(checkout, "rev-parse", "HEAD").strip()
    (tmp_path / "list.toml").write_text(LIST.format(commit=commit), encoding="utf-8")
    return [f"--checkouts={tmp_path / 'checkouts'}", f"--list={tmp_path / 'list.toml'}"]


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def test_a_program_whose_losses_stay_the_same_agrees_and_its_fixes_are_counted(
    harness: ModuleType, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert harness.main([*arguments, "--only", "halves"]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"^halves +1×TFP999 +agree .* 6 losses, at most 0e\+00 apart$", printed, re.MULTILINE)
    assert "1 of 1 programs" in printed


def test_a_program_that_prints_no_losses_is_said_to_have_failed(
    harness: ModuleType, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert harness.main([*arguments, "--only", "nothing"]) == 1
    assert "prints nothing: it printed nothing like" in capsys.readouterr().out


def test_a_fix_that_breaks_a_program_is_said_to_have_broken_it(
    harness: ModuleType,
    arguments: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(harness, "fix", lambda folder, ignore: replace(folder, "loss = 8.0", ""))
    assert harness.main([*arguments, "--only", "halves"]) == 1
    printed = capsys.readouterr().out
    assert "halves: when fixed, it failed:" in printed
    assert "NameError" in printed


def test_a_fix_that_brings_forth_a_finding_does_not_hold(
    harness: ModuleType,
    arguments: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    suppressed = "pass  # noqa: TFP101"  # which suppresses nothing
    monkeypatch.setattr(
        harness, "fix", lambda folder, ignore: replace(folder, "time.sleep(0.05)", suppressed)
    )
    assert harness.main([*arguments, "--only", "halves"]) == 1
    assert "apart; brought forth TFP001\n" in capsys.readouterr().out


def test_a_checkout_at_another_commit_is_refused(
    harness: ModuleType, arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = tmp_path / "list.toml"
    text = re.sub(r'commit = "\w+"', f'commit = "{"0" * 40}"', listed.read_text(encoding="utf-8"))
    listed.write_text(text, encoding="utf-8")
    assert harness.main(arguments) == 1
    assert "the list says 000000000000" in capsys.readouterr().out


def test_an_edit_whose_text_is_not_there_is_refused(
    harness: ModuleType, arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = tmp_path / "list.toml"
    listed.write_text(listed.read_text(encoding="utf-8").replace("range(4)", "range(5)"), encoding="utf-8")
    assert harness.main([*arguments, "--only", "halves"]) == 1
    assert "halves.py: 'range(5)' stands there 0 times" in capsys.readouterr().out


SAME = {0: 4.0, 1: 2.0, 2: 1.0}


@pytest.mark.parametrize(
    ("expect", "fixed", "verdict"),
    [
        ("agree", SAME, "agree"),
        ("agree", {step: loss * 1.0005 for step, loss in SAME.items()}, "agree"),
        ("agree", {step: loss * 1.05 for step, loss in SAME.items()}, "differ"),
        ("follow", {step: loss * 1.05 for step, loss in SAME.items()}, "follow"),
        ("follow", {step: loss * 1.5 for step, loss in SAME.items()}, "differ"),
        ("follow", {0: 1.0, 1: 1.0, 2: 1.0}, "differ"),  # does not fall
        ("follow", {0: 4.0, 1: 2.0, 2: float("nan")}, "differ"),
        ("agree", {0: 4.0, 2: 1.0}, "agree"),  # printed on fewer steps
        ("follow", {0: 4.0, 3: 1.0}, "differ"),  # printed on others
    ],
)
def test_losses_are_judged_by_step(
    harness: ModuleType, expect: str, fixed: dict[int, float], verdict: str
) -> None:
    program = harness.Program("p", "a/b", "c", "p.py", re.compile("(?P<step>)(?P<loss>)"), expect=expect)
    assert harness.judge(program, SAME, fixed)[0] == verdict


def test_losses_without_a_step_have_to_be_as_many(harness: ModuleType) -> None:
    program = harness.Program("p", "a/b", "c", "p.py", re.compile("(?P<loss>)"))
    assert harness.judge(program, SAME, {0: 4.0, 1: 2.0})[0] == "differ"


def test_every_program_of_the_list_is_complete(harness: ModuleType) -> None:
    programs = harness.read_list(harness.LIST)
    assert len(programs) >= 10
    for program in programs:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+", program.repository)
        assert re.fullmatch(r"[0-9a-f]{40}", program.commit)
        assert "loss" in program.losses.groupindex
        assert program.script in program.files
        assert {edit.file for edit in program.edits} <= set(program.files)
        assert program.expect in ("agree", "follow")
    assert len({program.name for program in programs}) == len(programs)


def test_the_linter_says_how_many_fixes_of_which_rule(harness: ModuleType) -> None:
    said = "Fixed 3 findings:\n- gan.py:\n    2 × TFP101 (eager-train-step)\n- b.py:\n    1 × TFP404 (x)\n"
    assert harness.count_fixes(said) == {"TFP101": 2, "TFP404": 1}
    assert harness.count_fixes(said + "- c.py:\n    1 × TFP101 (eager-train-step)\n")["TFP101"] == 3
    assert json.dumps(harness.count_fixes("Found nothing.")) == "{}"
