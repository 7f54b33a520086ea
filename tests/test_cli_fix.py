"""Fixing, and code from standard input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commandline import BROKEN, CLEAN, FIXED, RENAMED, RENAMED_FIXED, SAFE, SLOW, CommandLine

SELECT = ("--select=TFP406", SAFE)
BOTH = ("--select=TFP101,TFP406", SAFE)


def test_fix_applies_what_is_safe_by_itself(tflint_perf: CommandLine) -> None:
    script = tflint_perf.write("train.py", RENAMED)
    assert tflint_perf("--fix", "--select=TFP602", "train.py").code == 0
    assert script.read_text() == RENAMED_FIXED


def test_fix_leaves_what_is_unsafe_by_itself(tflint_perf: CommandLine) -> None:
    script = tflint_perf.write("train.py", SLOW)
    assert tflint_perf("--fix", "--select=TFP406", "train.py").code == 1
    assert script.read_text() == SLOW


def test_fix_applies_safe_fixes_and_says_how_many(tflint_perf: CommandLine) -> None:
    script = tflint_perf.write("train.py", SLOW)
    ran = tflint_perf("--fix", *BOTH, "train.py", "--output-format=concise")
    assert script.read_text() == FIXED
    assert ran.out.splitlines()[1:] == [
        "Found 2 findings (1 fixed, 1 remaining).",
        "1 fixable with the --fix and --unsafe-fixes options.",
    ]


def test_unsafe_fixes_are_applied_when_asked_for(tflint_perf: CommandLine) -> None:
    script = tflint_perf.write("train.py", SLOW)
    ran = tflint_perf("--fix", "--unsafe-fixes", *BOTH, "train.py")
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "Found 2 findings (2 fixed, 0 remaining).")
    assert "@tf.function" in script.read_text()


def test_without_fix_nothing_is_written(tflint_perf: CommandLine) -> None:
    script = tflint_perf.write("train.py", SLOW)
    ran = tflint_perf(*BOTH, "train.py", "--output-format=concise")
    assert script.read_text() == SLOW
    assert ran.out.splitlines()[-1] == "[*] 1 fixable with the --fix option (1 more with --unsafe-fixes)."


@pytest.mark.parametrize("flag", ["--unfixable=TFP406", "--fixable=TFP101"])
def test_a_rule_that_is_not_fixable_is_not_fixed(tflint_perf: CommandLine, flag: str) -> None:
    script = tflint_perf.write("train.py", SLOW)
    assert tflint_perf("--fix", *SELECT, flag, "train.py").code == 1
    assert script.read_text() == SLOW


def test_a_safe_fix_can_be_declared_unsafe(tflint_perf: CommandLine) -> None:
    script = tflint_perf.write("train.py", SLOW)
    tflint_perf("--fix", *SELECT, "--config", "extend-unsafe-fixes = ['TFP406']", "train.py")
    assert script.read_text() == SLOW


def test_diff_prints_and_writes_nothing(tflint_perf: CommandLine) -> None:
    script = tflint_perf.write("train.py", SLOW)
    ran = tflint_perf("--diff", *SELECT, "train.py")
    assert script.read_text() == SLOW
    assert ran.out.startswith("--- a/train.py\n+++ b/train.py\n@@ ")
    assert "\n-        gc.collect()\n" in ran.out
    assert ran.err == "Would fix 1 finding.\n"


def test_a_diff_without_a_safe_fix_says_so(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", SLOW)
    ran = tflint_perf("--diff", "--select=TFP101,TFP406", "train.py")
    assert (ran.code, ran.out, ran.err) == (0, "", "No safe fixes for 2 findings (2 with --unsafe-fixes).\n")
    assert tflint_perf("--diff", "--select=TFP101,TFP406", "-q", "train.py").err == ""
    tflint_perf.write("train.py", CLEAN)
    assert tflint_perf("--diff", "train.py").err == ""


def test_diff_and_fix_only_do_not_hide_a_file_that_does_not_parse(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", BROKEN)
    for flag in ("--diff", "--fix-only"):
        ran = tflint_perf(flag, "train.py")
        assert ran.code == 1
        assert ran.err.startswith("tflint-perf: train.py:")
        assert "invalid-syntax: " in ran.err


SEVERAL_MODELS = """\
import tensorflow as tf


def resolve(model, batch):
    return model(batch)


def evaluate(model, dataset):
    for batch, _ in dataset:
        resolve(model, batch)


for units in (8, 16):
    model = tf.keras.Sequential([tf.keras.layers.Dense(units)])
    for epoch in range(10):
        model.fit(x, x)
        evaluate(model, tf.data.Dataset.from_tensor_slices((x, x)).batch(4))
"""
TRIES = "; `tflint-perf prove --bold-fixes` tries one that only a run can judge"


def test_where_only_a_bold_fix_can_be_made_it_is_said_how_it_is_had(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", SEVERAL_MODELS)
    for _ in ("looked at", "remembered"):
        ran = tflint_perf("--select", "TFP107", "train.py")
        (note,) = [line for line in ran.out.splitlines() if line.startswith("note: no fix: ")]
        assert note.endswith(f"(line 10){TRIES}")
        assert ran.out.endswith(
            "Found 1 finding.\n1 finding has only a bold fix, which `tflint-perf prove --bold-fixes` tries.\n"
        )
    (found,) = json.loads(tflint_perf("--select", "TFP107", "--output-format", "json", "train.py").out)
    assert found["note"].endswith(TRIES)


@pytest.mark.parametrize("flags", [("--unfixable", "TFP107"), ("--bold-fixes",)])
def test_a_bold_fix_that_would_not_be_tried_or_is_asked_for_is_not_offered(
    tflint_perf: CommandLine, flags: tuple[str, ...]
) -> None:
    tflint_perf.write("train.py", SEVERAL_MODELS)
    assert "prove --bold-fixes" not in tflint_perf("--select", "TFP107", *flags, "train.py").out


def test_show_fixes_lists_them(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", SLOW)
    assert tflint_perf("--fix", "--show-fixes", *SELECT, "train.py").out.splitlines() == [
        "Fixed 1 finding:",
        "- train.py:",
        "    1 \N{MULTIPLICATION SIGN} TFP406 (gc-in-loop)",
        "",
        "Found 1 finding (1 fixed, 0 remaining).",
    ]


def test_fix_only_says_nothing_of_the_rest(tflint_perf: CommandLine) -> None:
    script = tflint_perf.write("train.py", SLOW)
    assert tflint_perf("--fix-only", *BOTH, "train.py").out == "Fixed 1 finding.\n"
    assert script.read_text() == FIXED


def test_fix_in_the_configuration_can_be_taken_back(tflint_perf: CommandLine) -> None:
    script = tflint_perf.write("train.py", SLOW)
    tflint_perf.write("tflint-perf.toml", "fix = true\n")
    assert tflint_perf(*SELECT, "--no-fix", "train.py").code == 1
    assert script.read_text() == SLOW
    assert tflint_perf(*SELECT, "train.py").code == 0
    assert script.read_text() == FIXED


def test_standard_input_is_linted(tflint_perf: CommandLine) -> None:
    ran = tflint_perf(
        *SELECT, "-", "--stdin-filename=a/train.py", "--output-format=concise", stdin=SLOW.encode()
    )
    assert ran.code == 1
    assert ran.out.startswith("a/train.py:14:9: TFP406 [*] ")


def test_standard_input_without_a_name_is_a_dash(tflint_perf: CommandLine) -> None:
    ran = tflint_perf(*SELECT, "-", "--output-format=concise", stdin=SLOW.encode())
    assert ran.out.startswith("-:14:9: TFP406 [*] ")


@pytest.mark.parametrize(("code", "fixed"), [(SLOW, FIXED), (CLEAN, CLEAN), (BROKEN, BROKEN), ("", "")])
def test_fixed_code_goes_to_standard_output_and_the_report_to_standard_error(
    tflint_perf: CommandLine, code: str, fixed: str
) -> None:
    ran = tflint_perf(*SELECT, "--fix", "-", stdin=code.replace("\n", "\r\n").encode())
    assert ran.out == fixed.replace("\n", "\r\n")
    assert ran.err.endswith(".\n" if code in (SLOW, BROKEN) else "All checks passed!\n")


def test_a_diff_of_standard_input_goes_to_standard_output(tflint_perf: CommandLine) -> None:
    ran = tflint_perf(*SELECT, "--diff", "-", "--stdin-filename=train.py", stdin=SLOW.encode())
    assert ran.code == 1
    assert "\n-        gc.collect()\n" in ran.out


def test_the_configuration_for_standard_input_is_that_of_its_file(tflint_perf: CommandLine) -> None:
    tflint_perf.write(
        "a/tflint-perf.toml", "select = ['TFP406']\nper-file-ignores = { 'x.py' = ['TFP406'] }\n"
    )
    for name, code in (("a/train.py", 1), ("a/x.py", 0)):
        assert tflint_perf("-", f"--stdin-filename={name}", stdin=SLOW.encode()).code == code


def test_excluded_code_from_standard_input_comes_back_as_it_is_under_force_exclude(
    tflint_perf: CommandLine,
) -> None:
    tflint_perf.write("build/train.py", SLOW)
    named = ["--stdin-filename=build/train.py", "--fix", *SELECT, "-"]
    assert tflint_perf(*named, "--force-exclude", stdin=SLOW.encode()).out == SLOW
    assert tflint_perf(*named, stdin=SLOW.encode()).out == FIXED


def test_a_fixed_file_is_found_clean(tflint_perf: CommandLine) -> None:
    script: Path = tflint_perf.write("train.py", SLOW)
    tflint_perf("--fix", *SELECT, "train.py")
    assert tflint_perf(*SELECT, "train.py").out == "All checks passed!\n"
    assert script.read_text() == FIXED


NET = """\
import tensorflow as tf


net = tf.keras.Sequential([tf.keras.layers.Dense(2)])


@tf.function
def act(x, epsilon):
    return net(x) + epsilon
"""
PLAY = """\
from nets import act


for step in range(100000):
    act(observe(), epsilon=1 / (step + 1))
"""


def test_a_bold_fix_passes_a_tensor_to_a_compiled_function_of_another_file(tflint_perf: CommandLine) -> None:
    tflint_perf.write("nets.py", NET)
    tflint_perf.write("play.py", PLAY)
    diff = ("--diff", "--unsafe-fixes", "--select=TFP202", "play.py", "nets.py")
    assert tflint_perf(*diff).out == ""
    out = tflint_perf(*diff, "--bold-fixes").out
    assert "+import tensorflow as tf\n" in out
    assert "+    act(observe(), epsilon=tf.constant(1 / (step + 1)))\n" in out


def test_a_diff_of_bold_fixes_has_the_unsafe_ones_unless_it_is_told_not_to(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", SLOW)
    diff = ("--diff", "--bold-fixes", "--select=TFP406", "train.py")
    assert "-        gc.collect()\n" in tflint_perf(*diff).out
    assert tflint_perf(*diff, "--no-unsafe-fixes").out == ""
    before = (tflint_perf.folder / "train.py").read_text()
    assert tflint_perf("--fix", "--bold-fixes", "--select=TFP406", "train.py").code == 1
    assert (tflint_perf.folder / "train.py").read_text() == before
