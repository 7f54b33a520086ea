"""How grave a finding is: what the configuration says, what each format makes of it, and the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from junitparser import JUnitXml

from tests.commandline import BROKEN, CLEAN, SLOW, CommandLine
from tflint_perf.config.keys import FORMATS, SEVERITIES
from tflint_perf.config.reading import Values
from tflint_perf.config.resolve import Configs
from tflint_perf.problems import ConfigError

SELECT = "--select=TFP406"
# One finding, about the program.
PROGRAM = """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
model.compile("sgd", "mse")
model.fit(x, y)
"""
# What stands in each format for each severity.
SHOWN = {
    "full": {"error": "[error]", "warning": "[warning]", "info": "[info]"},
    "concise": {"error": "[error]", "warning": "[warning]", "info": "[info]"},
    "grouped": {"error": "[error]", "warning": "[warning]", "info": "[info]"},
    "json": {"error": '"error"', "warning": '"warning"', "info": '"info"'},
    "json-lines": {"error": '"error"', "warning": '"warning"', "info": '"info"'},
    "sarif": {"error": '"level": "error"', "warning": '"level": "warning"', "info": '"level": "note"'},
    "github": {"error": "::error ", "warning": "::warning ", "info": "::notice "},
    "gitlab": {"error": '"major"', "warning": '"minor"', "info": '"info"'},
    "junit": {"error": 'type="error"', "warning": 'type="warning"', "info": 'type="info"'},
    "rdjson": {"error": '"ERROR"', "warning": '"WARNING"', "info": '"INFO"'},
}


@pytest.fixture
def train(tflint_perf: CommandLine) -> CommandLine:
    """The command line in a folder with one script that has one finding."""
    tflint_perf.write("train.py", SLOW)
    return tflint_perf


def severities(folder: Path, table: dict[str, str]) -> dict[str, str]:
    config = Configs(folder, [Values(folder, {"severity": table})]).of(folder)
    return dict(config.settings.severities)


@pytest.mark.parametrize("severity", SEVERITIES)
@pytest.mark.parametrize("format", FORMATS)
def test_every_format_carries_the_severity(train: CommandLine, format: str, severity: str) -> None:
    train.write("tflint-perf.toml", f'[severity]\nTFP406 = "{severity}"\n')
    out = train(SELECT, "--output-format", format).out
    assert SHOWN[format][severity] in out
    if format == "sarif":
        (result,) = json.loads(out)["runs"][0]["results"]
        assert f'"level": "{result["level"]}"' == SHOWN[format][severity]
    elif format == "rdjson":
        (diagnostic,) = json.loads(out)["diagnostics"]
        assert diagnostic["severity"] == severity.upper()
    elif format == "junit":
        ((case,),) = JUnitXml.fromstring(out.encode())
        assert [result.type for result in case.result] == [severity]


def test_a_finding_is_a_warning_unless_said_otherwise(train: CommandLine) -> None:
    (found,) = json.loads(train(SELECT, "--output-format=json").out)
    assert found["severity"] == "warning"
    assert "[warning]" not in train(SELECT).out


@pytest.mark.parametrize(
    ("restored", "severity"), [("", "warning"), ("model.load_weights('best.h5')\n", "info")]
)
def test_what_a_program_does_that_applies_a_trained_model_is_info(
    tflint_perf: CommandLine, restored: str, severity: str
) -> None:
    tflint_perf.write(
        "apply.py",
        "import tensorflow as tf\n\nmodel = tf.keras.Sequential([tf.keras.layers.Dense(2)])\n"
        f"{restored}for x in tf.data.Dataset.from_tensor_slices(images).batch(8):\n    save(model(x), model.predict(x))\n",
    )
    found = json.loads(tflint_perf("--select=TFP105,TFP107", "--output-format=json").out)
    assert {one["code"]: one["severity"] for one in found} == {"TFP105": severity, "TFP107": severity}


def test_github_is_told_of_an_error_unless_the_configuration_says_otherwise(train: CommandLine) -> None:
    assert train(SELECT, "--output-format=github").out.startswith("::error title=tflint-perf (TFP406),")


def test_github_is_told_of_a_warning_where_warnings_do_not_fail(train: CommandLine) -> None:
    assert train(SELECT, "--output-format=github", "--fail-on=error").out.startswith("::warning title=")


def test_a_finding_about_a_program_is_info_and_is_marked_so(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", PROGRAM)
    (found,) = json.loads(tflint_perf("--output-format=json").out)
    assert (found["code"], found["severity"]) == ("TFP404", "info")
    for format in ("full", "concise", "grouped"):
        assert "after the imports [info]\n" in tflint_perf(f"--output-format={format}").out, format
    tflint_perf.write("tflint-perf.toml", '[severity]\nTFP404 = "warning"\n')
    assert "[warning]" in tflint_perf().out


@pytest.mark.parametrize(
    ("options", "shown", "code"),
    [
        ((), "::error ", 1),
        (("--fail-on=info",), "::error ", 1),
        (("--fail-on=warning",), "::notice ", 0),
        (("--config=severity = {TFP404 = 'info'}",), "::notice ", 1),
        (("--config=severity = {TFP404 = 'warning'}", "--fail-on=warning"), "::warning ", 1),
    ],
)
def test_github_is_told_of_an_error_where_a_finding_about_a_program_fails(
    tflint_perf: CommandLine, options: tuple[str, ...], shown: str, code: int
) -> None:
    tflint_perf.write("train.py", PROGRAM)
    ran = tflint_perf("--output-format=github", *options)
    assert ran.out.startswith(shown)
    assert ran.code == code


def test_github_is_told_of_an_error_where_a_file_does_not_parse(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", BROKEN)
    assert tflint_perf("--output-format=github", "--fail-on=error").out.startswith("::error ")


def test_the_page_of_a_rule_about_programs_says_its_severity(tflint_perf: CommandLine) -> None:
    said = "Severity: info, since it is about a program and no step. It makes the exit code 1 unless `fail-on` is higher."
    assert said in tflint_perf("rule", "TFP404").out.splitlines()
    assert "Severity: " not in tflint_perf("rule", "TFP406").out


def test_the_longest_selector_decides(tmp_path: Path) -> None:
    table = {
        "TFP406": "error",
        "ALL": "info",
        "TFP4": "warning",
        "eager-train-step": "error",
        "TFP10": "info",
    }
    found = severities(tmp_path, table)
    assert (found["TFP406"], found["TFP401"], found["TFP101"]) == ("error", "warning", "error")
    assert (found["TFP102"], found["TFP501"]) == ("info", "info")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[severity]\nTFP4O6 = "error"\n',
            "tflint-perf.toml:1: unknown rule `TFP4O6` (did you mean `TFP406`?)",
        ),
        (
            '[severity]\ninvalid-syntax = "info"\n',
            "tflint-perf.toml:1: `invalid-syntax` is always on, an error,",
        ),
        (
            '[severity]\nTFP406 = "fatal"\n',
            "tflint-perf.toml:1: `severity` must be a table of rules, with one of ",
        ),
        ('fail-on = "never"\n', 'tflint-perf.toml:1: `fail-on` must be "error" | "warning" | "info"'),
    ],
)
def test_a_mistake_is_told_with_its_place(train: CommandLine, text: str, message: str) -> None:
    train.write("tflint-perf.toml", text)
    ran = train()
    assert ran.code == 2
    assert ran.err.startswith(f"tflint-perf: {message}")
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("severity", "fail_on", "code"),
    [
        ("info", "info", 1),
        ("info", "warning", 0),
        ("warning", "warning", 1),
        ("warning", "error", 0),
        ("error", "error", 1),
    ],
)
def test_a_finding_below_fail_on_is_shown_and_does_not_fail(
    train: CommandLine, severity: str, fail_on: str, code: int
) -> None:
    train.write("pyproject.toml", f'[tool.tflint-perf.severity]\ngc-in-loop = "{severity}"\n')
    ran = train(SELECT, "--fail-on", fail_on)
    assert ran.code == code
    assert "Found 1 finding." in ran.out


def test_fail_on_can_stand_in_the_configuration(train: CommandLine) -> None:
    train.write("tflint-perf.toml", 'fail-on = "error"\n')
    assert train(SELECT).code == 0
    assert train(SELECT, "--fail-on=warning").code == 1


def test_a_file_that_does_not_parse_fails_at_any_severity(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", BROKEN)
    assert tflint_perf("--fail-on=error").code == 1


def test_what_cannot_be_done_fails_at_any_severity(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", CLEAN)
    assert tflint_perf("--fail-on=error", "train.py", "missing.py").code == 2


def test_settings_show_the_severities_by_code(train: CommandLine) -> None:
    train.write("tflint-perf.toml", '[severity]\n"gc-in-loop" = "error"\n')
    assert 'severity = { "TFP406" = "error" }' in train("--show-settings").out.splitlines()


def test_the_command_line_replaces_the_table(tmp_path: Path) -> None:
    (tmp_path / "tflint-perf.toml").write_text('[severity]\nTFP406 = "error"\n')
    inline = Values(tmp_path, {"severity": {"TFP401": "info"}}, option="--config")
    config = Configs(tmp_path, [inline]).of(tmp_path)
    assert config.settings.severities == (("TFP401", "info"),)
    with pytest.raises(ConfigError, match="--config: unknown rule"):
        Configs(tmp_path, [Values(tmp_path, {"severity": {"X1": "info"}}, option="--config")]).of(tmp_path)
