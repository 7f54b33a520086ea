"""Files in which findings are told and no fix is made: it can't be known whether one would break them."""

from __future__ import annotations

import ast
import sys

import libcst
import pytest

from tests.commandline import SLOW, CommandLine

OPTIONS = ("--select=TFP406", "--fix", "--unsafe-fixes", "--no-cache")
ODD = {
    "a form feed in front of code": SLOW.replace("    for ", "\f    for ", 1),
    "a form feed behind white space": SLOW.replace("    for ", "  \f    for ", 1),
    "a form feed in front of a dedent": SLOW.replace("\ndef ", "\n    \fdef ", 1),
    "a tab behind spaces": SLOW.replace("        gc.collect()", "    \tgc.collect()")
    .replace("        with", "    \twith")
    .replace("        optimizer", "    \toptimizer")
    .replace("        gradients", "    \tgradients")
    .replace("            loss", "    \t    loss"),
    "a first line that is a backslash": "\\\n" + SLOW,
    "a statement that begins behind a backslash": SLOW.replace(
        "        gc.collect()", "        \\\n gc.collect()"
    ),
}
NEWER = [
    "try:\n    pass\nexcept* ValueError:\n    pass\n",
    "type Pair[T] = tuple[T, T]\n",
    "class Box[T: int = int]: ...\n",
    "name = t'{1}'\n",
]


@pytest.mark.parametrize("text", ODD.values(), ids=ODD.keys())
def test_no_fix_is_written_into_an_odd_layout(tflint_perf: CommandLine, text: str) -> None:
    compile(text, "train.py", "exec")
    script = tflint_perf.write("train.py", text)
    ran = tflint_perf(*OPTIONS, "train.py")
    assert script.read_text() == text
    row = 1 + next(index for index, line in enumerate(text.split("\n")) if "gc.collect()" in line)
    assert f" --> train.py:{row}:" in ran.out
    odd = 1 + next(
        i for i, line in enumerate(text.split("\n")) if "\f" in line or "\t" in line or line.strip() == "\\"
    )
    what = "form feed" if "\f" in text else "tab" if "\t" in text else "line"
    assert f"note: no fix: a {what} " in ran.out
    assert f"(line {odd})" in ran.out
    assert "please report" not in ran.out + ran.err


def test_no_fix_is_written_behind_a_header_that_goes_on_in_a_blank_line(tflint_perf: CommandLine) -> None:
    header = next(line for line in SLOW.split("\n") if line.startswith("    for "))
    text = SLOW.replace(f"{header}\n", f"{header}\\\n\n", 1)
    compile(text, "train.py", "exec")
    script = tflint_perf.write("train.py", text)
    ran = tflint_perf(*OPTIONS, "train.py")
    assert script.read_text() == text
    assert (
        f"note: no fix: a backslash joins a line to one without code (line {text.split(chr(10)).index(header + chr(92)) + 1})"
        in ran.out
    )


@pytest.mark.parametrize("feed", ["\f\n", "\f# Here it begins\n"], ids=["alone", "with a comment"])
def test_a_form_feed_between_the_parts_of_a_file_is_in_no_way(tflint_perf: CommandLine, feed: str) -> None:
    text = SLOW.replace("\ndef ", f"\n{feed}def ", 1)
    script = tflint_perf.write("train.py", text)
    assert tflint_perf(*OPTIONS, "train.py").code == 0
    assert script.read_text() == text.replace("        gc.collect()\n", "")


def test_no_fix_is_written_into_what_a_newer_python_runs(tflint_perf: CommandLine) -> None:
    head = next((text for text in NEWER if _is_too_new(text)), None)
    if head is None:
        pytest.skip("libcst knows no syntax that this Python does not")
    text = head + SLOW
    script = tflint_perf.write("train.py", text)
    ran = tflint_perf(*OPTIONS, "train.py")
    assert script.read_text() == text
    assert "TFP406" in ran.out
    assert (
        f"no fix: the file needs a newer Python than the {sys.version_info[0]}.{sys.version_info[1]} that runs tflint-perf"
        in ran.out
    )


def test_code_that_only_the_parser_refuses_is_no_syntax_error(tflint_perf: CommandLine) -> None:
    lines = [
        line.replace("        ", "    \t", 1).replace("\t    ", "    \t")
        for line in SLOW.splitlines(keepends=True)
    ]
    text = "".join(lines)
    compile(text, "train.py", "exec")
    with pytest.raises(libcst.ParserSyntaxError):
        libcst.parse_module(text)
    script = tflint_perf.write("train.py", text)
    tflint_perf.write("other.py", SLOW)
    ran = tflint_perf("--select=TFP406", "--no-cache", "--output-format=concise")
    assert ran.code == 2
    assert "train.py:" in ran.err
    assert ": not linted: Python accepts this layout, but the parser does not (" in ran.err
    assert ran.out.count("TFP406") == 1
    assert script.read_text() == text


def test_a_block_may_begin_at_the_start_of_a_line(tflint_perf: CommandLine) -> None:
    tflint_perf.write(
        "train.py", SLOW + "\n\nclass Job:\n    \\\nimport os\n    for i in range(3):\n        print(i)\n"
    )
    ran = tflint_perf("--select=TFP406", "--no-cache", "train.py")
    assert ran.code == 2
    assert "not linted: Python accepts this layout, but the parser does not (" in ran.err


def test_an_import_is_added_by_another_name_where_tf_is_something_else(tflint_perf: CommandLine) -> None:
    text = (
        "from tensorflow.data import Dataset\nfrom tensorflow.keras import Model\ntf = 1\n"
        "def train(model: Model):\n    model.fit(Dataset.range(9).map(print).batch(3))\n"
    )
    script = tflint_perf.write("train.py", text)
    assert tflint_perf("--select=TFP502", "--fix", "--unsafe-fixes", "train.py").code == 0
    assert script.read_text() == text.replace("tf = 1", "import tensorflow\ntf = 1").replace(
        ".batch(3)", ".batch(3).prefetch(tensorflow.data.AUTOTUNE)"
    )


def _is_too_new(text: str) -> bool:
    try:
        libcst.parse_module(text)
    except libcst.ParserSyntaxError:
        return False
    try:
        ast.parse(text)
    except SyntaxError:
        return True
    return False


def test_a_backslash_in_a_string_or_comment_is_in_no_way(tflint_perf: CommandLine) -> None:
    text = f'USAGE = """run \\\n\n"""\n# one \\\n# two\n{SLOW}'
    compile(text, "train.py", "exec")
    script = tflint_perf.write("train.py", text)
    assert tflint_perf(*OPTIONS, "train.py").code == 0
    assert "gc.collect()" not in script.read_text()


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["of Unix", "of Windows"])
def test_a_backslash_in_front_of_code_is_in_no_way(tflint_perf: CommandLine, end: str) -> None:
    text = SLOW.replace("gc.collect()", "gc \\\n            .collect()", 1).replace("\n", end)
    compile(text, "train.py", "exec")
    script = tflint_perf.write("train.py", "")
    script.write_bytes(text.encode())
    assert tflint_perf(*OPTIONS, "train.py").code == 0
    assert b"collect" not in script.read_bytes()


def test_what_a_rule_has_against_a_fix_is_told_whatever_the_layout(tflint_perf: CommandLine) -> None:
    step = (
        "import tensorflow as tf\n\n\ndef train(model, optimizer, dataset):\n    for x in dataset:\\\n\n"
        "        with tf.GradientTape() as tape:\n            loss = tf.reduce_mean(model(x))\n"
        "            shown = loss.numpy()\n            loss = loss * shown\n"
        "        gradients = tape.gradient(loss, model.trainable_variables)\n"
        "        optimizer.apply_gradients(zip(gradients, model.trainable_variables))\n"
    )
    tflint_perf.write("train.py", step)
    assert (
        "note: no fix: `.numpy()` runs on the host (line 9)" in tflint_perf("--select=TFP101", "train.py").out
    )
