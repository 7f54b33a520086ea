"""What a shell completes, asked of click as its scripts ask, and once of a real bash."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import BashComplete

from tests.commandline import CommandLine
from tests.test_wheel import bare_environment
from tflint_perf.catalogue.rules import catalogue
from tflint_perf.catalogue.symptoms import SYMPTOMS
from tflint_perf.commands import COMMANDS, tflint_perf
from tflint_perf.config.keys import KEYS

CODES = list(catalogue())


def completed(*words: str) -> list[str]:
    """What may stand in the place of the last word; files are a matter of the shell."""
    *before, last = words
    found = BashComplete(tflint_perf, {}, "tflint-perf", "_TFLINT_PERF_COMPLETE").get_completions(
        before, last
    )
    return [item.value for item in found if item.type == "plain"]


def beginning(start: str) -> list[str]:
    return [code for code in CODES if code.startswith(start)]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--select", "TFP20"], beginning("TFP20")),
        (["--fix", "--ignore", "TFP20"], beginning("TFP20")),
        (["check", "--extend-select", "tfp20"], beginning("TFP20")),
        (["check", "--select=TFP20"], beginning("TFP20")),
        (["check", "--unfixable", "eager-"], ["eager-train-step", "eager-op-loop", "eager-inference-step"]),
        (["check", "--select", "A"], ["ALL"]),
        (["run", "--select", "TFP20"], beginning("TFP20")),
        (["prove", "--ignore", "TFP20"], beginning("TFP20")),
        (["rule", ""], CODES),
        (["rule", "unused-s"], ["unused-suppression"]),
        (["verify", "TFP00"], []),
        (["verify", "TFP20"], [code for code in beginning("TFP20") if catalogue()[code].claim]),
        (["verify", "TFP101", "map-"], ["map-before-batch"]),
        (["rules", "--symptom", ""], [symptom.name for symptom in SYMPTOMS]),
        (["rules", "--symptom", "out"], ["out-of-memory"]),
        (["config", ""], list(KEYS)),
        (["config", "extend-s"], [key for key in KEYS if key.startswith("extend-s")]),
        (["--fail-on", ""], ["error", "warning", "info", "2x"]),
        (["--fail-on", "error,w"], ["error,warning"]),
        (["completion", ""], ["bash", "fish", "zsh"]),
        (["che"], ["check"]),
        (["--unsaf"], ["--unsafe-fixes"]),
        (["check", "--unsaf"], ["--unsafe-fixes"]),
        (["--vers"], ["--version"]),
    ],
    ids=" ".join,
)
def test_what_is_completed(words: list[str], expected: list[str]) -> None:
    assert completed(*words) == expected


def test_where_nothing_is_typed_all_commands_may_stand() -> None:
    assert completed("") == sorted(COMMANDS)


def test_a_comma_list_is_completed_at_its_end_by_what_it_does_not_hold() -> None:
    expected = [f"TFP101,TFP202,{code}" for code in beginning("TFP10") if code != "TFP101"]
    assert completed("--select", "TFP101,TFP202,TFP10") == expected


def test_beliefs_are_completed_where_they_are_measured() -> None:
    expected = ["gc-collect-frees-memory", "gc-collect-speeds-up-steps"]
    assert completed("verify", "--beliefs", "gc-") == expected


def test_files_are_completed_where_paths_stand() -> None:
    complete = BashComplete(tflint_perf, {}, "tflint-perf", "_TFLINT_PERF_COMPLETE")
    for before in ([], ["--fix"], ["check"]):
        assert complete.get_completions(before, "src/")[0].type == "file"


@pytest.mark.slow
def test_a_run_loads_nothing_of_completion_and_symptoms(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import tensorflow as tf\n", encoding="utf-8")
    program = (
        "import sys; from tflint_perf.commands import run; run(['--isolated', '--no-cache', 'train.py']); "
        "print(*sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ran.stdout.startswith("All checks passed!")
    assert not {"click.shell_completion", "tflint_perf.catalogue.symptoms"} & set(ran.stdout.split())


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_asks_this_program(tflint_perf: CommandLine, shell: str) -> None:
    ran = tflint_perf("completion", shell)
    assert (ran.code, ran.err) == (0, "")
    assert f"_TFLINT_PERF_COMPLETE={shell}_complete" in ran.out


def test_the_shell_of_the_user_is_the_default(
    tflint_perf: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    assert tflint_perf("completion") == tflint_perf("completion", "fish")
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    ran = tflint_perf("completion")
    assert (ran.code, ran.err) == (2, "tflint-perf: name a shell: bash, fish, zsh\n")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_a_real_bash_completes(tmp_path: Path) -> None:
    program = tmp_path / "tflint-perf"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tflint_perf "$@"\n')
    program.chmod(0o755)
    script = f"""
        PATH="{tmp_path}:$PATH"
        eval "$(tflint-perf completion bash)"
        press_tab() {{
            COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
            $(complete -p tflint-perf | sed 's/.*-F \\([^ ]*\\).*/\\1/') tflint-perf 2>/dev/null
            echo "${{COMPREPLY[*]}}"
        }}
        press_tab tflint-perf --select TFP101,TFP10
        press_tab tflint-perf rule map-
        press_tab tflint-perf ver
    """
    environment = {**bare_environment(), "PYTHONPATH": str(Path(__file__).parent.parent)}
    ran = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, check=False)
    expected = [f"TFP101,{code}" for code in beginning("TFP10") if code != "TFP101"]
    assert ran.stdout.splitlines() == [" ".join(expected), "map-before-batch", "verify"], ran.stderr
