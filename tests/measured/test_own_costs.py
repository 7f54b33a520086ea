"""Ordinary findings with what a run of the program said of them, also when the file has changed since."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.commandline import SLOW, CommandLine
from tests.observed.made_up import STEP, record
from tflint_perf.measured.record import Settled, Spot, Status, Steps, from_json, to_json

GC = "gc.collect()"
TWICE = SLOW + "        gc.collect()\n"


def settled(
    row: int,
    why: str = "3.1 of 8.2 ms a step",
    status: Status = "confirmed",
    code: str = "TFP406",
    source: str = GC,
) -> Settled:
    return Settled(code, "gc-in-loop", "m", Spot("train.py", row), status, 3.1e-3, why, source)


def keep(folder: Path, *findings: Settled, root: Path | None = None, name: str = "run.json") -> Path:
    path = folder / name
    path.write_text(to_json(record(root or folder, findings=findings)), encoding="utf-8")
    return path


def messages(tflint_perf: CommandLine, text: str, *options: str) -> list[str]:
    """The messages of the findings of TFP406."""
    tflint_perf.write("train.py", text)
    ran = tflint_perf(
        "--select=TFP406",
        "--output-format=json",
        *(options or ("--measured=run.json",)),
        "train.py",
    )
    assert ran.err == ""
    return [found["message"].rpartition("; remove it")[2] for found in json.loads(ran.out)]


@pytest.mark.parametrize(
    ("status", "why", "said"),
    [
        ("confirmed", "3.1 of 8.2 ms a step", " (here: 3.1 of 8.2 ms a step)"),
        ("cheap", "seen, but 0.02 of 8.2 ms a step", " (here: seen, but 0.02 of 8.2 ms a step)"),
        ("not reached", "not reached", " (here: not reached in that run)"),
        ("not judged", "a reason", ""),
        ("seen in a run", "3.1 of 8.2 ms a step", ""),
    ],
)
def test_a_finding_says_what_it_cost_in_the_run(
    tflint_perf: CommandLine, status: Status, why: str, said: str
) -> None:
    keep(tflint_perf.folder, settled(14, why, status))
    assert messages(tflint_perf, SLOW) == [said]


@pytest.mark.parametrize(
    ("status", "cost"),
    [
        ("confirmed", [{"status": "confirmed", "seconds": 3.1e-3}]),
        ("cheap", [{"status": "cheap", "seconds": 3.1e-3}]),
        ("not judged", []),
    ],
)
def test_formats_for_tools_have_what_it_cost_in_the_run_as_data(
    tflint_perf: CommandLine, status: Status, cost: list[dict[str, object]]
) -> None:
    keep(tflint_perf.folder, settled(14, status=status))
    tflint_perf.write("train.py", SLOW)
    expected = [
        {
            "measured": "run",
            "metric": "step time",
            **one,
            "step_seconds": STEP,
            "device": record(tflint_perf.folder).device,
        }
        for one in cost
    ]
    options = ("--select=TFP406", "--measured=run.json", "train.py")
    (found,) = json.loads(tflint_perf(*options, "--output-format=json").out)
    assert found["cost"] == expected
    assert json.loads(tflint_perf(*options, "--output-format=json-lines").out)["cost"] == expected
    (result,) = json.loads(tflint_perf(*options, "--output-format=sarif").out)["runs"][0]["results"]
    assert result["properties"].get("cost", []) == expected


@pytest.mark.parametrize(
    ("status", "seconds", "fail_on", "code"),
    [
        ("confirmed", STEP / 2, "2x", 1),
        ("confirmed", STEP / 2, "2.1x", 0),
        ("confirmed", STEP, "1000x", 1),
        ("confirmed", 0.0, "1x", 0),  # something grows, and the step takes no longer
        ("cheap", STEP / 100, "1.1x", 0),
        ("not reached", 0.0, "1.1x", 0),
    ],
)
def test_a_run_fails_by_what_findings_cost_this_program(
    tflint_perf: CommandLine, status: Status, seconds: float, fail_on: str, code: int
) -> None:
    keep(tflint_perf.folder, replace(settled(14, status=status), seconds=seconds))
    tflint_perf.write("train.py", SLOW)
    ran = tflint_perf("--select=TFP406", "--measured=run.json", f"--fail-on={fail_on}", "train.py")
    assert (ran.code, ran.err) == (code, "")


@pytest.mark.parametrize(
    ("status", "severity"), [("confirmed", "warning"), ("cheap", "info"), ("not reached", "info")]
)
def test_what_costs_this_program_little_is_no_warning(
    tflint_perf: CommandLine, status: Status, severity: str
) -> None:
    keep(tflint_perf.folder, settled(14, status=status))
    tflint_perf.write("train.py", SLOW)
    options = ("--select=TFP406", "--measured=run.json", "--output-format=json", "train.py")
    (found,) = json.loads(tflint_perf(*options).out)
    assert found["severity"] == severity
    (found,) = json.loads(tflint_perf(*options, "--config=severity = {TFP406 = 'error'}").out)
    assert found["severity"] == "error"


def test_formats_with_room_for_words_alone_say_what_it_cost_in_the_run(tflint_perf: CommandLine) -> None:
    keep(tflint_perf.folder, settled(14))
    tflint_perf.write("train.py", SLOW)
    options = ("--select=TFP406", "--measured=run.json", "train.py")
    said = "step time, at most 3.1 ms of 8.0 ms, confirmed by a run of this program on"
    for format in ("rdjson", "junit", "gitlab"):
        assert said in tflint_perf(*options, f"--output-format={format}").out


def test_what_the_run_found_to_cost_most_comes_first(tflint_perf: CommandLine) -> None:
    text = TWICE + "        gc.collect()\n"
    keep(
        tflint_perf.folder,
        settled(14, status="cheap"),
        replace(settled(15), seconds=0.001),
        replace(settled(16), seconds=0.002),
    )
    tflint_perf.write("train.py", text)
    ran = tflint_perf("--select=TFP406", "--measured=run.json", "--sort=cost", "--output-format=json")
    assert [found["location"]["row"] for found in json.loads(ran.out)] == [16, 15, 14]


def test_a_finding_whose_row_has_moved_is_found_by_its_code(tflint_perf: CommandLine) -> None:
    keep(tflint_perf.folder, settled(14))
    assert messages(tflint_perf, "# one more row\n" + SLOW) == [" (here: 3.1 of 8.2 ms a step)"]


def test_code_that_is_another_by_now_has_no_figure(tflint_perf: CommandLine) -> None:
    keep(tflint_perf.folder, settled(14))
    assert messages(tflint_perf, SLOW.replace("gc.collect()", "gc.collect(2)")) == [""]


def test_of_findings_with_the_same_code_each_has_its_own_figure(tflint_perf: CommandLine) -> None:
    keep(tflint_perf.folder, settled(14, "one"), settled(15, "two"))
    assert messages(tflint_perf, "# moved\n" + TWICE) == [" (here: one)", " (here: two)"]


def test_where_it_is_not_known_which_of_them_it_was_the_row_decides(tflint_perf: CommandLine) -> None:
    keep(tflint_perf.folder, settled(14, "one"))
    assert messages(tflint_perf, TWICE) == [" (here: one)", ""]
    assert messages(tflint_perf, "# moved\n" + TWICE) == [" (here: one)", ""][::-1] or messages(
        tflint_perf, "# moved\n# twice\n" + TWICE
    ) == ["", ""]


def test_another_rule_or_another_file_is_another_finding(tflint_perf: CommandLine) -> None:
    keep(
        tflint_perf.folder,
        settled(14, code="TFP405"),
        replace(settled(14), spot=Spot("other.py", 14)),
    )
    assert messages(tflint_perf, SLOW) == [""]


def test_the_record_of_another_machine_is_read_from_where_it_lies(
    tflint_perf: CommandLine, tmp_path: Path
) -> None:
    keep(tflint_perf.folder, settled(14), root=Path("/home/somebody/else"))
    assert messages(tflint_perf, SLOW) == [" (here: 3.1 of 8.2 ms a step)"]


def test_the_configuration_may_name_the_record(tflint_perf: CommandLine) -> None:
    keep(tflint_perf.folder, settled(14))
    tflint_perf.write("tflint-perf.toml", 'measured = "run.json"')
    assert messages(tflint_perf, SLOW, "-q") == [" (here: 3.1 of 8.2 ms a step)"]
    assert 'measured = "' in tflint_perf("--show-settings").out


def test_what_is_kept_of_the_file_knows_no_run(tflint_perf: CommandLine) -> None:
    path = keep(tflint_perf.folder, settled(14))
    assert messages(tflint_perf, SLOW) == [" (here: 3.1 of 8.2 ms a step)"]
    keep(tflint_perf.folder, settled(14, "another"))
    os.utime(path, (1, 1))
    assert messages(tflint_perf, SLOW) == [" (here: another)"]
    assert messages(tflint_perf, SLOW, "-q") == [""]


def test_a_baseline_knows_findings_without_their_figures(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", SLOW)
    keep(tflint_perf.folder, settled(14))
    tflint_perf("--select=TFP406", "--measured=run.json", "--write-baseline=old.json")
    assert tflint_perf("--select=TFP406", "--measured=run.json", "--baseline=old.json").code == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "no such file or folder"),
        ("{", "no record of a run, as `tflint-perf run -o` writes it: Expecting property name"),
        ("[]", "no record of a run"),
        ('{"schema": 99}', "schema 99, expected 1"),
        ("{}", "no record of a run"),
        ("[" * 100_000, "no record of a run"),
    ],
)
def test_what_is_no_record_is_refused_in_one_line(
    tflint_perf: CommandLine, text: str | None, said: str
) -> None:
    tflint_perf.write("train.py", "x = 1\n")
    if text is not None:
        tflint_perf.write("run.json", text)
    ran = tflint_perf("--measured=run.json")
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 1)
    assert said in ran.err


def test_the_record_of_a_run_without_steps_is_refused_and_silences_nothing(tflint_perf: CommandLine) -> None:
    path = keep(tflint_perf.folder, settled(14, status="not reached"))
    made = from_json(path.read_text(encoding="utf-8"))
    none = replace(made, steps=Steps(0, "none", None, None), step=None, ended="error", code=1)
    path.write_text(to_json(none), encoding="utf-8")
    tflint_perf.write("train.py", SLOW)
    ran = tflint_perf("--select=TFP406", "--measured=run.json", "train.py")
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 1)
    assert "run.json: that run made no training steps" in ran.err


def test_a_record_comes_back_from_its_file_as_it_was(tmp_path: Path) -> None:
    made = record(tmp_path, findings=(settled(14),))
    assert from_json(to_json(made)) == made


@pytest.mark.slow
def test_an_editor_shows_the_figures_too(tflint_perf: CommandLine) -> None:
    from tests.editor import Editor
    from tests.test_server import in_editor

    path = tflint_perf.write("train.py", SLOW)
    keep(tflint_perf.folder, settled(14))
    tflint_perf.write("tflint-perf.toml", 'measured = "run.json"\nselect = ["TFP406"]')

    async def session(client: Editor) -> None:
        uri = client.open(path.as_uri(), SLOW)
        (found,) = await client.diagnostics(uri)
        assert found.message.endswith("here: 3.1 of 8.2 ms a step)")
        (tflint_perf.folder / "run.json").write_text("gone wrong")
        client.save(uri)
        await client.until(lambda: any("no record of a run" in message for message in client.messages))

    in_editor(tflint_perf.folder, session)
