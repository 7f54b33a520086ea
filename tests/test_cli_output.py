"""Where the report goes, in which format and with which colours."""

from __future__ import annotations

import json

import pytest

from tests.commandline import BROKEN, GC_FINDING, SAFE, SLOW, CommandLine

SELECT = ("--select=TFP406", SAFE)


@pytest.fixture
def train(tflint_perf: CommandLine) -> CommandLine:
    """The command line in a folder with one script that has one finding."""
    tflint_perf.write("train.py", SLOW)
    return tflint_perf


def test_full_is_the_default(train: CommandLine) -> None:
    lines = train(*SELECT).out.splitlines()
    assert lines[0].startswith("TFP406 [*] ")
    assert lines[1:5] == [
        "  --> train.py:14:9",
        "   |",
        "14 |         gc.collect()",
        "   |         ^^^^^^^^^^^^",
    ]
    assert lines[-3:] == ["", "Found 1 finding.", "[*] 1 fixable with the --fix option."]


@pytest.mark.parametrize("format", ["json", "json-lines", "github", "sarif"])
def test_formats_for_machines_hold_nothing_else(train: CommandLine, format: str) -> None:
    out = train(*SELECT, "--output-format", format).out
    assert "Found 1 finding" not in out
    if format == "github":
        assert out.startswith("::error title=tflint-perf (TFP406),file=train.py,line=14,col=9,")
    else:
        assert "TFP406" in json.dumps(json.loads(out))


def test_a_clean_run_is_an_empty_list(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", "")
    assert tflint_perf("--output-format=json").out == "[]\n"


def test_the_format_comes_from_the_command_line_the_environment_or_the_configuration(
    train: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    train.write("tflint-perf.toml", "output-format = 'json'\n")
    assert train(*SELECT).out.startswith("[")
    monkeypatch.setenv("TFLINT_PERF_OUTPUT_FORMAT", "concise")
    assert train(*SELECT).out.startswith(f"train.py:{GC_FINDING}[*] ")
    assert train(*SELECT, "--output-format=github").out.startswith("::error ")


def test_the_report_can_be_written_to_a_file(train: CommandLine) -> None:
    ran = train(*SELECT, "-o", "report.txt", "--output-format=concise")
    assert (ran.code, ran.out, ran.err) == (1, "", "")
    assert (train.folder / "report.txt").read_text().startswith(f"train.py:{GC_FINDING}[*] ")


def test_quiet_shows_the_findings_alone(train: CommandLine) -> None:
    assert train(*SELECT, "-q", "--output-format=concise").out.count("\n") == 1
    train.write("train.py", "")
    assert train(*SELECT, "-q") == train(*SELECT, "--quiet")
    assert train(*SELECT, "-q").out == ""


def test_statistics_count_findings(train: CommandLine) -> None:
    train.write("more.py", SLOW)
    assert train(*SELECT, "--statistics").out.splitlines() == [
        "2\tTFP406\t[*] gc-in-loop",
        "Found 2 findings.",
        "[*] 2 fixable with the --fix option.",
    ]
    (counted,) = json.loads(train(*SELECT, "--statistics", "--output-format=json").out)
    assert counted == {
        "code": "TFP406",
        "name": "gc-in-loop",
        "count": 2,
        "fixable": True,
        "fixable_count": 2,
    }


@pytest.mark.parametrize(
    ("variables", "colored"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ({"FORCE_COLOR": ""}, False),
    ],
)
def test_colours_follow_the_environment(
    train: CommandLine, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], colored: bool
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert ("\x1b[" in train(*SELECT).out) is colored


def test_a_file_gets_no_colours(train: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    train(*SELECT, "-o", "report.txt")
    assert "\x1b[" not in (train.folder / "report.txt").read_text()


def test_a_syntax_error_is_shown_with_its_place(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", BROKEN)
    (finding,) = json.loads(tflint_perf("--output-format=json").out)
    assert (finding["code"], finding["severity"], finding["fix"]) == ("invalid-syntax", "error", None)
    assert finding["location"]["row"] >= 2


GROWS = """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
model.compile("sgd", "mse")
model.fit(x, y)
"""


def test_what_is_said_of_many_programs_comes_last_in_one_line(tflint_perf: CommandLine) -> None:
    for name in ("a", "b", "c", "d"):
        tflint_perf.write(f"{name}.py", GROWS)
    tflint_perf.write("z.py", SLOW)
    ran = tflint_perf("--output-format=concise", "--select=TFP404,TFP406")
    first, last, _, count = ran.out.splitlines()[0], *ran.out.splitlines()[-3:]
    assert first.startswith("z.py:14:9: TFP406 ")
    assert last.startswith("TFP404 missing-memory-growth, 4 times: the program trains without memory growth")
    assert last.endswith(" [info] (a.py:1:1, b.py:1:1, c.py:1:1, d.py:1:1; --select TFP404 shows all)")
    assert "Found 5 findings." in ran.out, count

    shown = tflint_perf("--output-format=concise", "--select=TFP404").out
    assert [line[:4] for line in shown.splitlines()[:4]] == ["a.py", "b.py", "c.py", "d.py"]


@pytest.mark.parametrize("format", ["concise", "full", "grouped"])
@pytest.mark.parametrize(
    ("programs", "told"),
    [
        (2, None),
        (3, "3 times: the program trains without memory growth"),
        (6, "6 times: the program trains without memory growth"),
    ],
)
def test_the_same_of_three_programs_is_one_line_also_where_nothing_else_is_found(
    tflint_perf: CommandLine, format: str, programs: int, told: str | None
) -> None:
    for number in range(programs):
        tflint_perf.write(f"p{number}.py", GROWS)
    out = tflint_perf(f"--output-format={format}").out
    assert f"Found {programs} findings." in out
    assert out.count("trains without memory growth") == (programs if told is None else 1)
    if told is not None:
        assert f"TFP404 missing-memory-growth, {told}" in out
        named = ", ".join(f"p{number}.py:1:1" for number in range(min(programs, 5)))
        assert f"({named}{', …' if programs > 5 else ''}; --select TFP404 shows all)" in out
