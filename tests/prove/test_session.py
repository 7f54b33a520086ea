"""`tflint-perf prove` from its arguments to its exit code, with runs that are made up."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click import BadParameter

from tests.prove.support import PREDICTS, Watcher
from tflint_perf.catalogue import evidence
from tflint_perf.config.resolve import Configs
from tflint_perf.measured.record import Ending
from tflint_perf.observed.process import Seen
from tflint_perf.observed.request import Request
from tflint_perf.problems import ConfigError
from tflint_perf.prove import session
from tflint_perf.prove.command import prove
from tflint_perf.prove.progress import progress
from tflint_perf.prove.telling import markdown

pytest.importorskip("scipy")  # the statistics, which `make quick` does not install

# What each of three fixes makes of it: the first takes the word `collect` out, the second `range(10):`, which stands in the
# loop that it lifts a dataset out of, the third `use_legacy`.
PROGRAM = """\
import gc

import tensorflow as tf


def train(model, images, optimizer):
    for epoch in range(10):
        for x in tf.data.Dataset.from_tensor_slices(images).batch(32):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(x)))
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
            gc.collect()
"""
ROOT = Path(__file__).parents[2]
FIXES = ("TFP101", "TFP406", "TFP506")
COLLECTS_OFTEN = f"{PROGRAM}\n\ndef evaluate(model, dataset):\n    for x in dataset:\n        model(x)\n        gc.collect()\n"
COMPILED, COLLECTS, BUILT_ONCE = "@tf.function", "gc.collect", "dataset ="

Ran = tuple[int, str, str]
Proving = Callable[..., Ran]


@pytest.fixture
def proving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Proving:
    """Runs the command in a folder that holds the program; what it is to watch is made up."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    Path("train.py").write_text(PROGRAM)
    monkeypatch.setattr(session, "refuse_what_is_missing", lambda *needed: None)

    def run(watcher: Watcher, *arguments: str, program: Sequence[str] = ("train.py",)) -> Ran:
        real = session.run
        monkeypatch.setattr(session, "run", lambda request, configs: real(request, configs, watcher))
        try:
            code = prove.main(
                ["--unsafe-fixes", f"--select={','.join(FIXES)}", *arguments, *program], standalone_mode=False
            )
        finally:
            monkeypatch.setattr(session, "run", real)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def document(ran: Ran) -> Any:
    return json.loads(ran[1])


def statuses(ran: Ran) -> dict[str, str]:
    return {fix["code"]: fix["status"] for fix in document(ran)["fixes"]}


def test_what_pays_is_kept_and_what_makes_no_difference_is_left_out(proving: Proving) -> None:
    ran = proving(Watcher({COLLECTS: 3.0}), "--output-format=json")
    assert ran[0] == 0
    assert statuses(ran) == {"TFP101": "no difference", "TFP406": "pays", "TFP506": "no difference"}
    found = document(ran)
    assert [fix["code"] for fix in found["together"]] == ["TFP406"]
    assert found["result"] == "proved"
    assert found["whole"]["times"]["stretch"]["effect"]["low"] > 2.5


def test_why_a_fix_pays_is_said_where_that_is_not_its_time(proving: Proving) -> None:
    found = document(proving(Watcher({COLLECTS: 3.0}), "--output-format=json"))
    (fix,) = [fix for fix in found["fixes"] if fix["status"] == "pays"]
    assert "traces" not in "\n".join(markdown(found))
    fix["why"] = "5 traces instead of 60"
    assert f"{fix['fix']}; 5 traces instead of 60" in "\n".join(markdown(found))


def test_fixes_that_pay_are_proved_again_together(proving: Proving) -> None:
    watcher = Watcher({COLLECTS: 3.0, COMPILED: 0.5})
    ran = proving(watcher, "--output-format=json")
    found = document(ran)
    assert [fix["code"] for fix in found["together"]] == ["TFP101", "TFP406"]
    assert found["whole"]["times"]["stretch"]["effect"]["low"] > 5.5
    # the reference, the control, five rounds of the original and three fixes, five pairs
    assert len(watcher.seen) == 2 + 5 * 4 + 2 * 5


@pytest.mark.parametrize(
    ("watcher", "kept"),
    [
        (Watcher({"run_model": 0.5}), [True]),
        (Watcher({"predict_on_batch": 0.5}, fails={"run_model": "ValueError: shapes"}), [False]),
    ],
    ids=["it pays", "it breaks"],
)
def test_where_a_bold_fix_does_not_pay_the_other_is_tried(
    proving: Proving, watcher: Watcher, kept: list[bool]
) -> None:
    Path("train.py").write_text(PREDICTS)
    ran = proving(watcher, "--bold-fixes", "--select=TFP105", "--output-format=json")
    assert ran[0] == 0
    assert [fix["bold"] for fix in document(ran)["together"]] == kept
    assert len(document(ran)["fixes"]) == 2 - kept[0]


def test_a_group_of_fixes_is_applied_as_a_whole(proving: Proving) -> None:
    Path("train.py").write_text(COLLECTS_OFTEN)
    watcher = Watcher({COLLECTS: 3.0})
    ran = proving(watcher, "--ignore=TFP101,TFP506", "--apply")
    assert ran[0] == 0
    assert len(watcher.seen) == 2 + 2 * 5
    assert "TFP406 gc-in-loop ×2  train.py:13, 19  " in ran[1]
    assert "Written: train.py." in ran[1]
    assert COLLECTS not in Path("train.py").read_text()


def test_a_fix_that_slows_is_left_out(proving: Proving) -> None:
    ran = proving(Watcher({COLLECTS: 3.0, COMPILED: 2.0}), "--output-format=json")
    assert statuses(ran)["TFP101"] == "slower"
    assert [fix["code"] for fix in document(ran)["together"]] == ["TFP406"]


def test_a_fix_that_learns_something_else_is_left_out_however_fast(proving: Proving) -> None:
    watcher = Watcher({COMPILED: 0.1, COLLECTS: 3.0}, learns={COMPILED: 0.01})
    ran = proving(watcher, "--output-format=json")
    assert statuses(ran)["TFP101"] == "different"
    assert [fix["code"] for fix in document(ran)["together"]] == ["TFP406"]


def test_a_fix_that_breaks_is_left_out_with_what_it_wrote_and_runs_no_more(proving: Proving) -> None:
    watcher = Watcher({COLLECTS: 3.0}, fails={COMPILED: "ValueError: tf.function only"})
    ran = proving(watcher)
    assert "TFP101 eager-train-step" in ran[1]
    assert "ValueError: tf.function only" in ran[1]
    assert sum(COMPILED in text for text in [str(request) for request in watcher.seen]) == 0
    assert len(watcher.seen) == 2 + 4 + 4 * 3


def test_a_fix_that_never_ends_is_left_out(proving: Proving) -> None:
    ran = proving(Watcher({COLLECTS: 3.0}, fails={COMPILED: "dies"}), "--output-format=json")
    assert statuses(ran)["TFP101"] == "breaks"


def test_a_fix_that_prints_something_else_is_left_out(proving: Proving) -> None:
    ran = proving(Watcher({COMPILED: 0.1}, prints={COMPILED: "warning"}), "--output-format=json")
    assert statuses(ran)["TFP101"] == "different"


def test_bars_of_keras_that_a_fix_makes_needless_do_not_count(proving: Proving) -> None:
    bars = "\n".join(["1/1 ━━━━━━━━━━━━━━━━━━━━ 0s 54ms/step"] * 40)
    ran = proving(Watcher({COLLECTS: 3.0}, prints={COLLECTS: bars}), "--output-format=json")
    assert statuses(ran)["TFP406"] == "pays"


def test_what_is_not_confirmed_is_not_said_to_pay_and_is_not_written(proving: Proving) -> None:
    ran = proving(
        Watcher({COLLECTS: 3.0}, prints={COLLECTS: "collected"}), "--ignore=TFP101,TFP506", "--together"
    )
    assert ran[0] == 1
    assert (
        "1 fix is not confirmed: it prints something else: 3 lines instead of 4; line 1: `step 1 " in ran[1]
    )
    assert "\nNot confirmed\n" in ran[1]
    assert "Pays" not in ran[1]
    assert ran[1].endswith("Nothing was written.\n")


def test_of_all_at_once_what_is_at_fault_is_left_out_and_the_others_are_written(proving: Proving) -> None:
    watcher = Watcher({COLLECTS: 3.0}, learns={COMPILED: 0.01})
    ran = proving(watcher, "--together", "--apply")
    assert ran[0] == 0
    assert "train.py: 2 of 3 fixes pay: " in ran[1]
    _, _, left_out = ran[1].partition("\nLeft out\n")
    assert "TFP101 eager-train-step" in left_out
    assert "it learns something else: " in left_out
    written = Path("train.py").read_text()
    assert (COLLECTS in written, COMPILED in written, BUILT_ONCE in written) == (False, False, True)


def test_rows_that_are_not_reached_are_not_run(proving: Proving) -> None:
    watcher = Watcher(rows=frozenset({13}), factors={COLLECTS: 2.0})
    ran = proving(watcher, "--output-format=json")
    assert statuses(ran) == {"TFP101": "not reached", "TFP406": "pays", "TFP506": "not reached"}
    assert len(watcher.seen) == 2 + 5 * 2


@pytest.mark.parametrize(
    ("device", "status"), [("CPU (synthetic)", "needs a GPU"), ("Synthetic GPU", "no difference")]
)
def test_what_only_a_gpu_shows_is_not_run_without_one(proving: Proving, device: str, status: str) -> None:
    Path("train.py").write_text(
        f"{PROGRAM}\n\ntrain(tf.keras.Sequential(), images, tf.keras.optimizers.SGD())\n"
    )
    ran: list[str] = []
    watcher = Watcher({COLLECTS: 2.0}, device=device, on_run=lambda request, text: ran.append(text))
    said = proving(watcher, "--extend-select=TFP404", "--output-format=json")
    assert statuses(said)["TFP404"] == status
    assert any("set_memory_growth" in text for text in ran) == (status != "needs a GPU")


def test_a_program_that_does_not_reproduce_itself_proves_nothing(proving: Proving) -> None:
    ran = proving(Watcher({COLLECTS: 3.0}, by_chance=True), "--output-format=json")
    assert ran[0] == 1
    assert set(statuses(ran).values()) == {"unknown"}


def test_fixes_that_pay_alone_and_do_not_learn_the_same_together_are_not_applied(proving: Proving) -> None:
    class Both(Watcher):
        def _learn(self, request: Request, text: str, number: int) -> None:
            both = COMPILED in text and COLLECTS not in text
            self.learns = {"import": 0.5} if both else {}
            Watcher._learn(self, request, text, number)

    ran = proving(Both({COLLECTS: 3.0, COMPILED: 0.5}), "--apply", "--output-format=json")
    assert ran[0] == 1
    assert document(ran)["result"] == "not confirmed"
    assert Path("train.py").read_text() == PROGRAM


def test_nothing_is_written_unless_it_is_asked_for(proving: Proving) -> None:
    def on_run(request: Request, text: str) -> None:
        assert request.folder is not None
        (request.folder / "checkpoint").write_text("weights")

    ran = proving(Watcher({COLLECTS: 3.0}, on_run=on_run))
    assert Path("train.py").read_text() == PROGRAM
    assert [path.name for path in Path().iterdir()] == ["train.py"]
    assert "Nothing was written" in ran[1]


def test_exactly_the_proved_fixes_are_applied(proving: Proving) -> None:
    ran = proving(Watcher({COLLECTS: 3.0}), "--apply")
    assert ran[0] == 0
    assert Path("train.py").read_text() == PROGRAM.replace("            gc.collect()\n", "").replace(
        "import gc\n\n", ""
    )
    assert "Written: train.py." in ran[1]


def test_a_file_that_has_changed_meanwhile_is_left_alone(proving: Proving) -> None:
    def on_run(request: Request, text: str) -> None:
        Path("train.py").write_text("# mine\n" + PROGRAM)

    with pytest.raises(ConfigError, match="changed while it was proved"):
        proving(Watcher({COLLECTS: 3.0}, on_run=on_run), "--apply")
    assert Path("train.py").read_text() == "# mine\n" + PROGRAM


def test_all_at_once_takes_no_more_runs_than_its_pairs(proving: Proving) -> None:
    watcher = Watcher({COLLECTS: 3.0})
    ran = proving(watcher, "--together", "--output-format=json")
    assert len(watcher.seen) == 2 + 2 * 5
    assert {fix["code"] for fix in document(ran)["together"]} == set(FIXES)
    assert document(ran)["fixes"] == []
    assert "train.py: 3 of 3 fixes pay: " in proving(Watcher({COLLECTS: 3.0}), "--together")[1]


def test_few_runs_prove_what_is_large_and_say_how_sure_they_are(proving: Proving) -> None:
    watcher = Watcher({COLLECTS: 3.0})
    ran = proving(watcher, "--pairs=3")
    assert ran[0] == 0
    assert len(watcher.seen) == 2 + 3 * 4
    assert "train.py: 1 of 3 fixes pays: " in ran[1]
    said = "3 runs give intervals of 75%, so only what is surely 1.5× as fast counts as faster."
    assert said in ran[1].splitlines()
    assert said in proving(Watcher({COLLECTS: 3.0}), "--pairs=3", "--output-format=markdown")[1]
    assert "give intervals of" not in proving(Watcher({COLLECTS: 3.0}))[1]


def test_a_fix_that_is_not_run_to_the_end_does_not_say_how_sure_others_are(proving: Proving) -> None:
    ran = proving(Watcher({COLLECTS: 3.0}, learns={COMPILED: 0.01}), "--pairs=3")
    assert (
        "100 steps, 3 runs of each version in turn with the original, fewer of those that were given up. "
        in ran[1]
    )
    assert "3 runs give intervals of 75%" in ran[1]
    assert "2 runs" not in ran[1]
    assert "give intervals" not in proving(Watcher(learns={COMPILED: 0.01}))[1]


def test_runs_of_all_together_are_told_apart_where_there_were_more(proving: Proving) -> None:
    found = document(proving(Watcher({COLLECTS: 3.0, COMPILED: 0.5}), "--output-format=json"))
    said = "5 runs of each version in turn with the original"
    assert f"{said}. " in "\n".join(markdown(found))
    found["whole"]["pairs"] = 10
    assert f"{said}, 10 runs of those that pay together. " in "\n".join(markdown(found))


def test_few_runs_leave_open_what_more_of_them_show(proving: Proving) -> None:
    pays, open_still = (
        next(
            fix
            for fix in document(
                proving(Watcher({COLLECTS: 1.3}), f"--pairs={pairs}", "--output-format=json")
            )["fixes"]
            if fix["code"] == "TFP406"
        )
        for pairs in (5, 4)
    )
    assert pays["status"] == "pays"
    assert open_still["status"] == "no difference"
    assert open_still["why"].startswith("so few runs leave it open: 1.")
    assert open_still["times"]["stretch"]["effect"]["confidence"] == 0.875


@pytest.mark.parametrize("pairs", ["0", "1", "2"])
def test_two_runs_are_no_proof_of_anything(proving: Proving, pairs: str) -> None:
    with pytest.raises(BadParameter, match="x>=3"):
        proving(Watcher(), f"--pairs={pairs}")


def test_where_nothing_pays_the_exit_code_is_1(proving: Proving) -> None:
    ran = proving(Watcher())
    assert ran[0] == 1
    assert "train.py: none of 3 fixes is shown to pay" in ran[1]


def test_where_there_is_nothing_to_fix_the_exit_code_is_0(proving: Proving) -> None:
    Path("train.py").write_text("import tensorflow as tf\n")
    watcher = Watcher()
    ran = proving(watcher)
    assert ran[0] == 0
    assert "train.py: nothing to fix" in ran[1]
    assert watcher.seen == []


def test_unsafe_fixes_are_tried_only_if_that_is_asked_for(proving: Proving) -> None:
    ran = proving(Watcher(), "--no-unsafe-fixes")
    assert ran[0] == 0
    assert "3 more fixes could be tried with the --unsafe-fixes option." in ran[1]


def test_a_program_that_fails_by_itself_cannot_be_proved(proving: Proving) -> None:
    with pytest.raises(ConfigError, match=r"train\.py: the program fails as it is: ValueError: no"):
        proving(Watcher(fails={"tensorflow": "ValueError: no"}))


@pytest.mark.parametrize(
    ("steps", "ended", "said"),
    [
        (0, "end", "no training steps were seen in 4 s, to the end of the program: run it so that it makes 2 updates or more"),
        (1, "exit", "one training step was seen in 4 s, to the end of the program: run it so that it makes 2 updates or more"),
        (0, "seconds", "no training steps were seen in 4 s"),
    ],
)  # fmt: skip
def test_what_is_missing_where_nothing_is_trained_is_said(
    proving: Proving, steps: int, ended: Ending, said: str
) -> None:
    class Idle(Watcher):
        def __call__(self, request: Request) -> Seen:
            seen = Watcher.__call__(self, request)
            return replace(seen, record=replace(seen.record, ended=ended, wall=4.0), ends=seen.ends[:steps])

    with pytest.raises(ConfigError) as refused:
        proving(Idle())
    assert str(refused.value).endswith(said)


def test_a_program_that_is_not_there_is_said(proving: Proving) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        proving(Watcher(), program=["nothing.py"])


def test_arguments_of_the_program_are_its_own(proving: Proving) -> None:
    watcher = Watcher()
    proving(watcher, program=["train.py", "--steps", "3", "-v"])
    assert {request.program for request in watcher.seen} == {("train.py", "--steps", "3", "-v")}


def test_a_python_that_is_named_from_here_is_found_from_the_copies_too(proving: Proving) -> None:
    watcher = Watcher()
    proving(watcher, "--python=.venv/bin/python")
    assert {request.python for request in watcher.seen} == {str(Path(".venv/bin/python").absolute())}


def test_all_runs_after_the_first_do_as_many_steps_as_it_did(proving: Proving) -> None:
    watcher = Watcher()
    proving(watcher, "--steps=30")
    assert {(request.steps, request.seconds is None) for request in watcher.seen[1:]} == {(30, True)}
    assert watcher.seen[0].seconds == 60.0
    assert [request.learning.nudge for request in watcher.seen if request.learning] == [
        False,
        True,
        *[False] * (len(watcher.seen) - 2),
    ]


def test_markdown_is_tables(proving: Proving) -> None:
    ran = proving(Watcher({COLLECTS: 3.0}), "--output-format=markdown")
    lines = ran[1].splitlines()
    assert lines[0].startswith("**`train.py`: 1 of 3 fixes pays: ")
    assert "| fix | at | times as fast | what it does |" in lines
    assert "| fix | at | times as fast | why it was left out |" in lines


def test_the_report_is_one_page(proving: Proving, tmp_path: Path) -> None:
    ran = proving(Watcher({COLLECTS: 3.0}), f"--report={tmp_path / 'report'}")
    page = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    assert page.count("<svg") >= 2
    assert ">before<" in page and ">after<" in page
    assert "report in" in ran[2]


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """Ctrl-C interrupts, also where the tests run in the background of a shell, which has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Interrupted(Watcher):
    """Somebody ends it as run number `at` begins."""

    at = 0
    how = signal.SIGINT

    def __call__(self, request: Request) -> Seen:
        if len(self.seen) + 1 == self.at:
            signal.raise_signal(self.how)
        return Watcher.__call__(self, request)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_who_ends_it_is_told_what_is_known_by_then(
    proving: Proving, tmp_path: Path, how: signal.Signals
) -> None:
    watcher = Interrupted({COLLECTS: 3.0})
    watcher.at, watcher.how = 2 + 2 * 4 + 1, how
    before = signal.getsignal(how)
    ran = proving(watcher, "--apply", "--report", str(tmp_path / "report"))
    assert ran[0] == 128 + how
    lines = [" ".join(line.split()) for line in ran[1].splitlines()]
    assert lines[0] == "train.py: stopped before anything was proved of 3 fixes"
    assert "So far" in lines and "Pays" not in lines
    (said,) = [line for line in lines if line.startswith("TFP406")]
    assert re.fullmatch(r"TFP406 gc-in-loop train\.py:13 [23]\.\d+× \(.*\) after 2 runs: faster", said)
    assert ran[1].endswith("Nothing was written.\n")
    assert Path("train.py").read_text() == PROGRAM
    assert "So far: after 2 runs: faster" in (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    assert signal.getsignal(how) is before


def test_what_has_not_run_to_its_end_when_it_is_ended_is_said_to_be_unknown(proving: Proving) -> None:
    watcher = Interrupted({COLLECTS: 3.0})
    watcher.at = 2 + 1 + 2  # the second fix of the first round
    ran = proving(watcher, "--output-format=json")
    assert [(fix["pairs"], fix["why"]) for fix in document(ran)["fixes"]][1:] == [
        (0, "it was not run to its end")
    ] * 2


def test_what_pays_alone_is_not_proved_by_some_runs_of_all_together(proving: Proving) -> None:
    watcher = Interrupted({COLLECTS: 3.0})
    watcher.at = 2 + 6
    ran = proving(watcher, "--together", "--output-format=json")
    assert document(ran)["result"] == "stopped"
    assert document(ran)["whole"]["pairs"] == 2
    assert document(ran)["applied"] == []


def test_where_it_is_ended_in_the_first_run_nothing_is_known(proving: Proving) -> None:
    watcher = Interrupted()
    watcher.at = 1
    ran = proving(watcher)
    assert ran[:2] == (130, "")
    assert ran[2].endswith("tflint-perf: stopped before anything was known\n")


def test_how_long_it_will_take_is_said_from_the_second_run_on(capsys: pytest.CaptureFixture[str]) -> None:
    now = iter([0.0, 50.0, 100.0, 900.0])
    with progress(12, False, now.__next__) as shown:
        for what in ("the original", "the original, nudged", "the original", "a fix"):
            shown.on_run(what)
    assert capsys.readouterr().err.splitlines() == [
        "tflint-perf: run 1 of up to 12: the original",
        "tflint-perf: run 2 of up to 12: the original, nudged (9 minutes left at most)",
        "tflint-perf: run 3 of up to 12: the original (8 minutes left at most)",
        "tflint-perf: run 4 of up to 12: a fix (45 minutes left at most)",
    ]


def test_how_long_it_will_take_is_what_is_left_once_that_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    now = iter([0.0, 60.0, 120.0])
    with progress(50, False, now.__next__) as shown:
        shown.on_run("the original")
        shown.on_run("the original, nudged")
        shown.expect(3)
        shown.on_run("a fix")
    assert capsys.readouterr().err.splitlines()[-2:] == [
        "tflint-perf: run 2 of up to 50: the original, nudged (49 minutes left at most)",
        "tflint-perf: run 3 of up to 5: a fix (3 minutes left at most)",
    ]


def test_the_result_can_go_to_a_file(proving: Proving, tmp_path: Path) -> None:
    ran = proving(Watcher(), "--output-format=json", "--output-file", str(tmp_path / "proof.json"))
    assert ran[1] == "train.py: none of 3 fixes is shown to pay\n"
    assert f"tflint-perf: the report is in {tmp_path / 'proof.json'}\n" in ran[2]
    assert json.loads((tmp_path / "proof.json").read_text())["schema"] == 1


def _left_out(status: str, row: int = 3, *, bold: bool = False) -> dict[str, object]:
    title = "Do it boldly; may change rounding" if bold else "Do it"
    return {
        "code": "TFP101", "name": "eager-train-step", "file": "train.py", "cell": None, "row": row, "fix": title,
        "bold": bold, "status": status, "why": "of this", "times": None, "pairs": 0, "learned": None,
    }  # fmt: skip


def _nothing_pays(*fixes: dict[str, object]) -> dict[str, object]:
    return {
        "program": ["train.py"], "result": "nothing pays", "whole": None, "together": [], "fixes": list(fixes),
        "versions": {}, "to_the_end": False, "steps": None, "only_with_unsafe_fixes": 0, "applied": [],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("statuses", "said"),
    [
        (["slower", "different"], "none of 2 fixes is shown to pay"),
        (["needs a GPU"], "1 fix not tried here: needs a GPU"),
        (
            ["slower", *["needs a GPU"] * 2],
            "none of 1 fix is shown to pay; 2 fixes not tried here: need a GPU",
        ),
    ],
)
def test_what_was_not_tried_is_no_fix_that_does_not_pay(statuses: list[str], said: str) -> None:
    found = _nothing_pays(*(_left_out(status, row) for row, status in enumerate(statuses, 1)))
    assert next(markdown(found)) == f"**`train.py`: {said}**"


def test_two_ways_to_fix_one_thing_are_told_apart() -> None:
    found = _nothing_pays(_left_out("slower"), _left_out("different", bold=True), _left_out("slower", row=9))
    rows = [line.rsplit(" | ", 1)[-1] for line in markdown(found) if line.startswith("| TFP101")]
    assert rows == ["Do it: of this |", "Do it boldly: of this |", "of this |"]


def test_rules_that_are_off_elsewhere_are_tried_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(evidence, "evidence_folder", lambda: ROOT / "fixtures" / "evidence")
    evidence.all_evidence.cache_clear()
    used: list[frozenset[str]] = []

    def run(request: session.Request, configs: Configs) -> int:
        used.append(configs.of(tmp_path).settings.rules)
        return 0

    monkeypatch.setattr(session, "run", run)
    prove.main(["train.py"], standalone_mode=False)
    default = Configs(tmp_path, ()).of(tmp_path).settings.rules
    evidence.all_evidence.cache_clear()
    assert {"TFP107", "TFP506"} <= used[0] - default
    assert "TFP101" in used[0] & default
