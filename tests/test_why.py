"""`--why`: what a finding rests on, or why there is none."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

from tests.commandline import BROKEN, SLOW, CommandLine, Ran
from tests.notebooks import notebook
from tflint_perf.catalogue.registry import all_rules

FIXTURES = Path(__file__).parent.parent / "fixtures"
# Rules about correctness have no experiment, and with that no script.
OTHERS = {
    "TFP205": """\
import tensorflow as tf

class Net(tf.keras.Model):
    def call(self, x):
        print(x)
        return x

Net().fit(dataset)
""",
    "TFP405": """\
import tensorflow as tf

x = tf.constant(1)
for gpu in tf.config.list_physical_devices("GPU"):
    tf.config.experimental.set_memory_growth(gpu, True)
""",
    "TFP602": """\
import tensorflow as tf

tf.keras.mixed_precision.experimental.set_policy("mixed_float16")
""",
    "TFP606": """\
import tensorflow as tf

def loss_of(x, mean):
    if mean: -tf.reduce_mean(x)
    return -tf.reduce_sum(x)

for x, y in tf.data.Dataset.from_tensor_slices((x, y)).batch(2):
    loss_of(model(x), True)
""",
}
RULES = list(all_rules())
ADDRESS = re.compile(r"\bobject at\b|0x[0-9a-f]{4,}|<[a-z]\w* ")


def scripts(code: str) -> tuple[str, str]:
    """A script with a finding of a rule, and one that looks like it and has none."""
    if code in OTHERS:
        return OTHERS[code], OTHERS["TFP602" if code != "TFP602" else "TFP606"]
    slow, fast = (FIXTURES / code / f"{name}.py" for name in ("slow", "fast"))
    return slow.read_text(encoding="utf-8"), fast.read_text(encoding="utf-8")


def told(tflint_perf: CommandLine, *arguments: str) -> dict[str, Any]:
    """The answer as JSON."""
    ran = tflint_perf(*arguments, "--output-format=json")
    assert ran.code == 0, ran.err
    answer: dict[str, Any] = json.loads(ran.out)
    return answer


def questions(answer: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All questions of an answer, with those that they rest on."""
    waiting = list(answer.get("questions", answer.get("because", ())))
    for question in waiting:
        yield question
        yield from questions({"because": question["because"]})


def test_every_rule_has_a_script_here() -> None:
    assert {path.parent.name for path in FIXTURES.glob("*/slow.py")} | OTHERS.keys() == set(RULES)


@pytest.mark.slow
@pytest.mark.parametrize("code", RULES)
def test_a_finding_of_every_rule_is_told_with_what_it_rests_on(tflint_perf: CommandLine, code: str) -> None:
    slow, _ = scripts(code)
    tflint_perf.write("train.py", slow)
    (found, *_) = json.loads(tflint_perf(f"--select={code}", "--output-format=json").out)
    place = f"{code}:train.py:{found['location']['row']}"
    ran = tflint_perf("--why", place)
    assert (ran.code, ran.err) == (0, "")
    words = " ".join(ran.out.split())
    assert f"found: {found['message']}" in words
    assert found["fix"] is None or f" fix: {found['fix']['message']} (" in words
    assert found["fix"] is not None or found["note"] is None or found["note"] in words
    assert "It rests on this:" in ran.out
    asked = [line for line in ran.out.splitlines() if line.lstrip().startswith("- ")]
    assert asked
    assert len(ran.out.splitlines()) < 60
    everything = tflint_perf("--why", place, "--verbose").out
    assert len(everything) >= len(ran.out)
    assert not ADDRESS.search(ran.out + everything)
    answer = told(tflint_perf, "--why", place)
    assert [finding["message"] for finding in answer["findings"]] == [found["message"]]
    decided = [question for question in answer["questions"] if question["decided"]]
    assert decided and all(question["question"] and question["answer"] for question in questions(answer))


@pytest.mark.slow
@pytest.mark.parametrize("code", RULES)
def test_a_rule_that_finds_nothing_in_a_row_tells_what_it_asked(tflint_perf: CommandLine, code: str) -> None:
    _, fast = scripts(code)
    tflint_perf.write("train.py", fast)
    triggers = all_rules()[code].triggers
    rows = [row for row, line in enumerate(fast.splitlines(), 1) if any(word in line for word in triggers)]
    ran = tflint_perf("--why", f"{code}:train.py:{rows[0] if rows else 1}")
    assert (ran.code, ran.err) == (0, "")
    assert "\nfound: nothing\n" in ran.out
    assert ran.out.splitlines()[-1].strip()
    assert not ADDRESS.search(ran.out)


@pytest.mark.parametrize(
    ("code", "row", "parts"),
    [
        (
            "TFP401",
            "losses.append(loss)",
            [
                "`loss`: a tensor\n      from `train_step(users, items, ratings)` (row 40), ",
                "- `losses.append(loss)` is known to run in eager mode? yes\n",
                "- The kind of `for users, items, ratings in dataset.take(steps)` (row 39): step\n",
                "- How long the container of `losses.append(loss)` lives: run\n",
            ],
        ),
        (
            "TFP204",
            "optimizer = tf.keras.optimizers.SGD(0.05)",
            [
                "What the API tables say of `keras.optimizers.SGD` under `gives`: optimizer\n",
                "- `tf.keras.optimizers.SGD(0.05)` runs per step? yes\n",
                "- The guard that `tf.keras.optimizers.SGD(0.05)` runs under: none\n",
            ],
        ),
        (
            "TFP301",
            "x = tf.convert_to_tensor(images[start : start + BATCH])",
            [
                "`images[start : start + BATCH]`: an array\n",
                "The name `BATCH` stands for the batch size, where a number is asked for? yes, by the word `batch`\n",
            ],
        ),
        (
            "TFP107",
            "return tf.nn.softmax(2.0 * teacher(samples, training=False))",
            [
                "`teacher`: a model\n",
                "What the API tables say of `keras.Sequential` under `gives`: model\n",
                "The calls in this file that run `def teach(samples)` (row 29): `teach(samples)` (row 42)\n",
            ],
        ),
        (
            "TFP502",
            "return dataset.batch(BATCH_SIZE)",
            ["- The last stage of a pipeline, if this file adds it: `dataset.batch(BATCH_SIZE)`\n"],
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and value.startswith("TFP") else "",
)
def test_values_loops_names_and_apis_are_told(
    tflint_perf: CommandLine, code: str, row: str, parts: list[str]
) -> None:
    slow, _ = scripts(code)
    tflint_perf.write("train.py", slow)
    at = [line.strip() for line in slow.splitlines()].index(row) + 1
    out = tflint_perf("--why", f"{code}:train.py:{at}").out
    assert [part for part in parts if part not in out] == []


@pytest.mark.parametrize(
    ("code", "script", "row", "last", "answer"),
    [
        ("TFP101", "TFP101", "with tf.GradientTape() as tape:", "is known to run in eager mode?", "no"),
        ("TFP401", "TFP401", "losses.append(loss)", "How long the container", "step"),
        (
            "TFP204",
            "TFP204",
            "optimizer = tf.keras.optimizers.SGD(0.05)",
            "The calls of the function around",
            "none",
        ),
        ("TFP603", "TFP603", "model.save_weights(latest)", "runs on each step?", "no"),
    ],
)
def test_the_last_question_is_that_at_which_the_rule_turned_away(
    tflint_perf: CommandLine, code: str, script: str, row: str, last: str, answer: str
) -> None:
    _, fast = scripts(script)
    tflint_perf.write("train.py", fast)
    at = [line.strip() for line in fast.splitlines()].index(row) + 1
    given = told(tflint_perf, "--why", f"{code}:train.py:{at}")
    assert given["findings"] == []
    *before, decided = given["questions"]
    assert [question["decided"] for question in before] == [False] * len(before)
    assert decided["decided"]
    assert last in decided["question"]
    assert decided["answer"].startswith(answer)


@pytest.mark.parametrize(
    ("code", "script", "row", "conclusion"),
    [
        (
            "TFP101",
            "TFP101",
            "with tf.GradientTape() as tape:",
            "The last question was whether `with tf.GradientTape() as tape` is known to run in eager mode. The answer is no, so the rule leaves it alone.",
        ),
        (
            "TFP401",
            "TFP401",
            "losses.append(loss)",
            "The last question was how long the container of `losses.append(loss)` lives. The answer is step, so the rule leaves it alone.",
        ),
        (
            "TFP502",
            "TFP502",
            "return dataset.batch(BATCH_SIZE).prefetch(tf.data.AUTOTUNE)",
            "The last question was what the first `return` of `def make_dataset()` (row 29) gives, or a part of that. The answer is `dataset.batch(BATCH_SIZ….prefetch(tf.data.AUTOTUN…`, and the rule leaves it alone.",
        ),
    ],
)
def test_where_nothing_is_found_the_last_line_says_what_decided(
    tflint_perf: CommandLine, code: str, script: str, row: str, conclusion: str
) -> None:
    _, fast = scripts(script)
    tflint_perf.write("train.py", fast)
    at = [line.strip() for line in fast.splitlines()].index(row) + 1
    out = tflint_perf("--why", f"{code}:train.py:{at}").out
    assert " ".join(out.split("\n\n")[-1].split()) == conclusion
    assert told(tflint_perf, "--why", f"{code}:train.py:{at}")["conclusion"] == conclusion


def test_a_finding_has_no_conclusion(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", SLOW)
    assert told(tflint_perf, "--why", "TFP406:train.py:14")["conclusion"] == ""
    assert "leaves it alone" not in tflint_perf("--why", "TFP406:train.py:14").out


def test_verbose_shows_what_can_be_read_and_json_has_it_all(tflint_perf: CommandLine) -> None:
    slow, _ = scripts("TFP107")
    tflint_perf.write("train.py", slow)
    row = next(n for n, line in enumerate(slow.splitlines(), 1) if "teacher(samples, training" in line)
    out = tflint_perf("--why", f"TFP107:train.py:{row}", "--verbose").out
    every = list(questions(told(tflint_perf, "--why", f"TFP107:train.py:{row}", "--verbose")))
    shown = [line for line in out.splitlines() if line.lstrip().startswith("- ")]
    assert len(shown) == 200 < len(every)
    assert f"\n{len(every) - 200:,} deeper questions are left out; --output-format json has them all." in out
    assert "left out" not in tflint_perf("--why", f"TFP107:train.py:{row}").out


# Where there is nothing to ask about, or nothing was asked


def test_a_file_without_the_words_of_a_rule_is_told_which_they_are(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", SLOW.replace("gc.collect()", "pass"))
    ran = tflint_perf("--why", "TFP406:train.py:14")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.endswith(
        "\nThe rule looks only at files that contain `collect(`, and this one does not.\n"
    )


def test_a_file_without_tensorflow_is_told_so(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", "import gc\nfor i in range(3):\n    gc.collect()\n")
    out = tflint_perf("--why", "TFP406:train.py:3").out
    assert "The rule looks only at files that mention `tensorflow` or `keras`, and this one does not." in out


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("", "There is nothing in this row"),
        ("# Why so slow?", "There is a comment in this row"),
        ("else:", "There is `else:`, which is no statement, in this row"),
    ],
)
def test_a_row_without_code_is_told_so(tflint_perf: CommandLine, line: str, what: str) -> None:
    tflint_perf.write("train.py", f"{SLOW}if gc:\n    gc = 1\n{line}\n    gc = 2\n")
    out = tflint_perf("--why", "TFP101:train.py:17").out
    assert f"{what}, so the rule has nothing to ask about.\n" in out
    assert "It has findings at `with tf.GradientTape() as tape:` (row 10)." in out


def test_a_row_that_no_question_was_about_is_told_what_was_asked_instead(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", SLOW)
    out = tflint_perf("--why", "TFP406:train.py:11").out
    assert "The rule asked nothing about this row.\nIt asked about `gc.collect()` (row 14).\n" in out


def test_a_rule_that_turns_away_from_a_whole_file_tells_at_which_question(tflint_perf: CommandLine) -> None:
    text = SLOW.replace("def train", "session = tf.compat.v1.Session()\nsession.run(x)\n\n\ndef train")
    tflint_perf.write("train.py", text.replace("gc.collect()", "losses.append(loss)"))
    out = tflint_perf("--why", "TFP401:train.py:18").out
    assert "The rule leaves the whole file alone, because of this answer:\n- The file is written for" in out
    assert "? yes\n" in out
    assert " ".join(out.split()).endswith("The answer is yes, so the rule leaves the file alone.")


def test_code_that_never_runs_has_none_and_is_told_so(tflint_perf: CommandLine) -> None:
    tflint_perf.write(
        "train.py", SLOW.replace("        gc.collect()", "        continue\n        gc.collect()")
    )
    out = tflint_perf("--why", "TFP406:train.py:15").out
    assert "\nfound: nothing\n" in out
    assert "There would be a finding, but this code never runs. It would rest on this:\n- " in out


def test_code_that_a_program_runs_a_few_times_has_none_and_is_told_so(tflint_perf: CommandLine) -> None:
    made = "import tensorflow as tf\nmodel = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
    tflint_perf.write("train.py", f"{made}for step in range(50):\n    model(x)\n")
    out = tflint_perf("--why", "TFP107:train.py:4").out
    assert "There would be a finding, but a program is seen to run this code 100 times in all at most." in out


def test_a_file_that_does_not_parse_is_told_so(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", BROKEN)
    ran = tflint_perf("--why", "TFP406:train.py:4")
    assert ran.code == 0
    assert "No rule has seen this file, which does not parse: invalid syntax (row 3).\n" in ran.out


# Findings that a run does not show


@pytest.mark.parametrize(
    ("text", "arguments", "note"),
    [
        (SLOW, ["--ignore=TFP406"], "the rule is off, so a run does not show what it finds; --extend-select"),
        (SLOW, ["--per-file-ignores=*.py:TFP406"], "`per-file-ignores` leaves the rule out in this file"),
        (
            SLOW,
            ["--extend-exclude=train.py"],
            "a run leaves out this file, unless it is named: it is excluded",
        ),
        (
            SLOW,
            ["--extend-exclude=train.py", "--force-exclude"],
            "a run leaves out this file: it is excluded, or a test",
        ),
        (SLOW, ["--baseline=base.json"], "a run does not show it: the baseline holds it"),
        (
            SLOW.replace("collect()", "collect()  # noqa: TFP4"),
            [],
            "a run does not show it: the comment in row 14 suppresses it",
        ),
        (
            SLOW.replace("gc\n\n", "gc\n# tflint-perf: file-ignore[gc-in-loop]\n", 1),
            [],
            "a run does not show it: the comment in row 2 suppresses it",
        ),
    ],
    ids=["off", "per-file-ignores", "excluded", "force-exclude", "baseline", "noqa", "file-ignore"],
)
def test_a_finding_that_a_run_does_not_show_is_told_with_the_reason(
    tflint_perf: CommandLine, text: str, arguments: list[str], note: str
) -> None:
    tflint_perf.write("train.py", SLOW)
    assert tflint_perf("--select=TFP406", "--write-baseline=base.json").code == 0
    tflint_perf.write("train.py", text)
    ran = tflint_perf("--why", "TFP406:train.py:14", *arguments)
    assert (ran.code, ran.err) == (0, "")
    assert "\nfound: `gc.collect()` runs on each step" in ran.out
    assert f"\nnote: {note}" in ran.out
    assert ran.out.count("note:") == 1


def test_a_finding_on_a_row_that_did_not_change_is_told_so(
    tflint_perf: CommandLine, repository: Callable[..., str]
) -> None:
    ran = tflint_perf("--why", "TFP406:train.py:14", "--diff-base=HEAD")
    assert "\nnote: a run does not show it: the row has not changed since --diff-base\n" in ran.out


def test_a_finding_that_a_run_shows_has_no_note(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", SLOW)
    assert "note:" not in tflint_perf("--why", "TFP406:train.py:14").out


@pytest.mark.parametrize(
    ("row", "found"), [(3, "found: `noqa: TFP101` suppresses nothing"), (1, "found: nothing")]
)
def test_rules_about_suppressions_ask_nothing(tflint_perf: CommandLine, row: int, found: str) -> None:
    tflint_perf.write("train.py", SLOW.replace("as tf", "as tf  # noqa: TFP101", 1))
    out = tflint_perf("--why", f"TFP001:train.py:{row}").out
    assert f"\n{found}" in out
    assert "\nThe rule looks at suppressions, and asks nothing about the code.\n" in out


# Other files


def test_what_another_file_says_counts_and_is_told(tflint_perf: CommandLine) -> None:
    tflint_perf.write(
        "steps.py",
        "import tensorflow as tf\n\ndef step(model, x, optimizer):\n"
        "    with tf.GradientTape() as tape:\n        loss = tf.reduce_sum(model(x))\n"
        "    gradients = tape.gradient(loss, model.trainable_variables)\n"
        "    optimizer.apply_gradients(zip(gradients, model.trainable_variables))\n",
    )
    train = "import tensorflow as tf\nfrom steps import step\n\n{}def train(model, dataset, optimizer):\n"
    train += "    for x in dataset:\n        step(model, x, optimizer)\n"
    tflint_perf.write("train.py", train.format(""))
    out = tflint_perf("--why", "TFP101:steps.py:4").out
    assert "found: the gradient step runs in eager mode" in out
    assert "The places in other files that call `def step(model, x, optimizer)` (row 3)" in out
    way = "by `for x in dataset:` (`train.py`, row 5), then `step(model, x, optimizer)` (row 6)"
    assert f"in `train.py`, in eager mode, per step: {way}" in " ".join(out.split())
    tflint_perf.write("train.py", train.format("@tf.function\n"))
    assert "\nfound: nothing\n" in tflint_perf("--why", "TFP101:steps.py:4").out


def test_the_way_from_a_loop_through_several_files_is_told_with_each_file(tflint_perf: CommandLine) -> None:
    tidy = "import gc\nimport tensorflow as tf\ndef tidy():\n    gc.collect()\n"
    loop = "import tensorflow as tf\nfrom parts.middle import after\nfor x in dataset:\n    model.train_on_batch(x)\n    after(x)\n"
    for name, text in {
        "pyproject.toml": "",
        "parts/__init__.py": "",
        "parts/low.py": tidy,
        "parts/middle.py": "from parts.low import tidy\ndef after(x):\n    tidy()\n",
        "top.py": loop,
    }.items():
        tflint_perf.write(name, text)
    out = " ".join(tflint_perf("--why", "TFP406:parts/low.py:4").out.split())
    way = "by `for x in dataset:` (`top.py`, row 3), then `after(x)` (row 5), then `tidy()` (`parts/middle.py`, row 3)"
    assert f"in `parts/middle.py`, in eager mode, per step: {way}" in out


# Notebooks


def test_a_row_of_a_notebook_is_one_of_a_cell(tflint_perf: CommandLine) -> None:
    cells = SLOW.split("\n\n\n")
    (tflint_perf.folder / "train.ipynb").write_bytes(notebook(cells[0], cells[1], "def f(:", "1 +"))
    ran = tflint_perf("--why", "TFP406:train.ipynb:cell 2:7")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("train.ipynb:cell 2:7: TFP406 gc-in-loop: ")
    assert "\n7 |         gc.collect()\n" in ran.out
    assert "found: `gc.collect()` runs on each step" in ran.out
    assert tflint_perf("--why", "TFP406:train.ipynb:cell 2:7:9").out == ran.out
    broken = tflint_perf("--why", "TFP406:train.ipynb:cell 3:1")
    assert "No rule has seen this cell, which does not parse: invalid syntax (row 1).\n" in broken.out
    answer = told(tflint_perf, "--why", "TFP406:train.ipynb:cell 2:7")
    assert (answer["cell"], answer["row"]) == (2, 7)


@pytest.mark.parametrize(
    ("place", "error"),
    [
        ("train.ipynb:7", "a row of a notebook is one of a cell: train.ipynb:cell N:7"),
        ("train.ipynb:cell 9:1", "train.ipynb has no code cell 9 (those with code: 1, 2)"),
        ("train.ipynb:cell 2:70", "train.ipynb:cell 2 has 7 rows, and no row 70"),
        ("train.py:cell 2:7", "not a notebook, so it has no cells: train.py"),
    ],
)
def test_a_cell_that_is_not_there_is_a_mistake(tflint_perf: CommandLine, place: str, error: str) -> None:
    (tflint_perf.folder / "train.ipynb").write_bytes(notebook(*SLOW.split("\n\n\n")))
    tflint_perf.write("train.py", SLOW)
    ran = tflint_perf("--why", f"TFP406:{place}")
    assert (ran.code, ran.out, ran.err) == (2, "", f"tflint-perf: --why: {error}\n")


# How it is asked


@pytest.mark.parametrize(
    "place",
    [
        "TFP406:train.py:14",
        "TFP406:train.py:14:9",
        "tfp406:./train.py:14",
        "gc-in-loop:train.py:14",
        "TFP406:{folder}/train.py:14",
        "TFP406:a:b/train.py:14",
        "TFP406:C:\\work\\train.py:14",
        "TFP406:14:14",
        "TFP406:14:14:9",
    ],
)
def test_rules_and_files_are_named_as_findings_name_them(tflint_perf: CommandLine, place: str) -> None:
    for name in ("train.py", "a:b/train.py", "C:\\work\\train.py", "14"):
        tflint_perf.write(name, SLOW)
    ran = tflint_perf("--why", place.format(folder=tflint_perf.folder))
    assert (ran.code, ran.err) == (0, "")
    assert "\nfound: `gc.collect()` runs on each step" in ran.out


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["XYZ999:train.py:14"], "unknown rule `XYZ999`\n"),
        (["gc-in-lop:train.py:14"], "unknown rule `gc-in-lop` (did you mean `gc-in-loop`?)"),
        (
            ["TFP60:train.py:14"],
            "`TFP60` matches several rules: TFP601, TFP602, TFP603, TFP604, TFP605, TFP606",
        ),
        (["TFP406:trian.py:14"], "trian.py: no such file or folder (did you mean `train.py`?)"),
        (["TFP406:.:14"], "a folder has no rows: ."),
        (["TFP406:train.py:15"], "train.py has 14 rows, and no row 15"),
        (["TFP406:train.py:0"], "train.py has 14 rows, and no row 0"),
        (["TFP406:train.py"], "not of the form CODE:FILE:ROW, or CODE:NOTEBOOK:cell N:ROW: TFP406:train.py"),
        (["train.py:14"], "not of the form CODE:FILE:ROW, or CODE:NOTEBOOK:cell N:ROW: train.py:14"),
        ([""], "not of the form CODE:FILE:ROW, or CODE:NOTEBOOK:cell N:ROW:"),
        (["TFP406:train.py:14", "train.py"], "cannot be used with paths besides"),
        (["TFP406:train.py:14", "--fix"], "cannot be used with --fix"),
        (["TFP406:train.py:14", "--diff"], "cannot be used with --diff"),
        (["TFP406:train.py:14", "--watch"], "cannot be used with --watch"),
        (["TFP406:train.py:14", "--add-noqa"], "cannot be used with --add-noqa"),
        (["TFP406:train.py:14", "--statistics"], "cannot be used with --statistics"),
        (["TFP406:train.py:14", "--output-format=sarif"], "not available in the format sarif"),
    ],
)
def test_what_cannot_be_asked_is_a_mistake(
    tflint_perf: CommandLine, arguments: list[str], error: str
) -> None:
    tflint_perf.write("train.py", SLOW)
    ran = tflint_perf("--why", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"tflint-perf: --why: {error}")
    assert ran.err.count("\n") == 1


def test_a_file_that_is_no_text_is_told_as_in_any_run(tflint_perf: CommandLine) -> None:
    (tflint_perf.folder / "train.py").write_bytes(b"import tensorflow\n\xff\xfe\n")
    ran = tflint_perf("--why", "TFP406:train.py:1")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == tflint_perf("train.py").err


def test_the_answer_goes_into_the_output_file(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", SLOW)
    shown = tflint_perf("--why", "TFP406:train.py:14")
    assert tflint_perf("--why", "TFP406:train.py:14", "-o", "why.txt") == Ran(0, "", "")
    assert (tflint_perf.folder / "why.txt").read_text() == shown.out


# For programs


def test_json_names_the_functions_that_answered_and_the_places(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", SLOW)
    answer = told(tflint_perf, "--why", "TFP406:train.py:14")
    assert answer.keys() == {
        "code", "name", "summary", "filename", "cell", "row", "line", "findings", "notes", "because", "questions",
        "looked_at", "elsewhere", "conclusion",
    }  # fmt: skip
    asked = list(questions(answer))
    assert all(function_of(question["function"]).__doc__ for question in asked)
    per_step = next(question for question in asked if question["function"].endswith("Model.is_per_step"))
    assert per_step["question"] == "`gc.collect()` runs per step?"
    assert per_step["answer"] == "yes"
    assert per_step["about"] == {"row": 14, "cell": None, "source": "gc.collect()"}
    assert [reason["answer"] for reason in per_step["because"]] == ["step"]


def function_of(qualified: str) -> Any:
    """What stands in a module of the package under a whole name."""
    names = qualified.split(".")
    at = next(
        at for at in range(len(names) - 1, 0, -1) if names[at - 1][0].islower() and _is_module(names[:at])
    )
    return reduce(getattr, names[at:], importlib.import_module(".".join(names[:at])))


def _is_module(names: list[str]) -> bool:
    return importlib.util.find_spec(".".join(names)) is not None


def test_verbose_tells_every_question(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", SLOW)
    brief = list(questions(told(tflint_perf, "--why", "TFP406:train.py:14")))
    everything = list(questions(told(tflint_perf, "--why", "TFP406:train.py:14", "--verbose")))
    assert len(everything) > 2 * len(brief)
    assert {question["function"] for question in brief} <= {question["function"] for question in everything}


def test_a_run_that_does_not_ask_imports_nothing_of_it(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", SLOW)
    program = (
        "import sys; from tflint_perf.commands import run; run(sys.argv[1:]); "
        "print([name for name in sys.modules if 'tflint_perf.why' in name or name == 'tflint_perf.cli.why'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "--quiet", "train.py"],
        cwd=tflint_perf.folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "TFP406" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"
