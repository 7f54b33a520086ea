"""Bad input gets one clear line with the place, the rest of the run goes on, and the exit code tells."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.commandline import CLEAN, FIXED, GC_FINDING, SLOW, CommandLine, Ran
from tests.rights import as_nobody
from tests.test_growth import calls
from tflint_perf.cli import run as run_module
from tflint_perf.lint import check

MARK = b"\xef\xbb\xbf"
# A file that is well, last in the order, so that its finding shows that the run went on.
GOOD = "zz_good.py"
AFTER = SLOW.count("\n") + 1


def nested(loops: int) -> str:
    rows = (f"{' ' * depth}for i{depth} in range(2):" for depth in range(loops))
    head = "import gc\nimport tensorflow as tf\n"
    return f"{head}{chr(10).join(rows)}\n{' ' * loops}gc.collect()\n"


Case = tuple[str, bytes, int, str]
CASES: dict[str, Case] = {
    "a syntax error": ("a.py", SLOW.encode() + b"x = )\n", 1, f"a.py:{AFTER}:"),
    "an open bracket": ("a.py", SLOW.encode() + b"x = (\n", 1, f"a.py:{AFTER}:"),
    "Python 2": ("a.py", SLOW.encode() + b"print model\n", 1, f"a.py:{AFTER}:"),
    "an indentation error": ("a.py", SLOW.encode() + b"      x = 1\n  y = 2\n", 1, "a.py:1"),
    "NUL bytes": (
        "a.py",
        SLOW.encode() + b"x = '\0\0'\n",
        2,
        f"a.py:{AFTER}:6: a NUL byte: not Python source",
    ),
    "UTF-16": (
        "a.py",
        b"# tensorflow gc.collect(\n" + SLOW.encode("utf-16-le"),
        2,
        "a.py:2:2: a NUL byte: not Python source",
    ),
    "a wrong encoding": ("a.py", b"# \xe9\n" + SLOW.encode(), 2, "a.py:1:3: byte 0xe9 is not UTF-8"),
    "a wrong declared encoding": (
        "a.py",
        b"# coding: ascii\n# \xe9\n" + SLOW.encode(),
        2,
        "a.py:2:3: byte 0xe9 is not `ascii`",
    ),
    "an unknown encoding": (
        "a.py",
        b"# coding: latin-99\n" + SLOW.encode(),
        2,
        "a.py:1: unknown encoding: latin-99",
    ),
    "a mark against a declaration": (
        "a.py",
        MARK + b"# coding: latin-1\n" + SLOW.encode(),
        2,
        "a.py:1: declares an encoding, but begins with the UTF-8 byte order mark",
    ),
    "100 nested loops": ("a.py", nested(100).encode(), 1, "a.py:"),
    "a notebook cut short": (
        "a.ipynb",
        b'{"cells": [ "tensorflow gc.collect(',
        2,
        "a.ipynb:1:13: not a notebook: Unterminated string starting at",
    ),
    "a notebook without cells": (
        "a.ipynb",
        b'{"tensorflow": "gc.collect()"}',
        2,
        "a.ipynb: not a notebook: it has no list of cells",
    ),
    "a broken cell": (
        "a.ipynb",
        b'{"cells": [{"cell_type": "code", "source": ["import tensorflow\\n", "gc.collect(\\n", "x = = 1"]}]}',
        1,
        "a.ipynb:cell 1:",
    ),
}


def complaints(ran_out: str, ran_err: str) -> list[str]:
    """All lines that a run says, but for those about the good file and the summary."""
    lines = [line.removeprefix("tflint-perf: ") for line in (ran_out + ran_err).splitlines()]
    return [
        line
        for line in lines
        if line
        and " fixable with " not in line
        and not line.startswith((GOOD, "Found ", "No fixes", "Costs come "))
    ]


@pytest.mark.parametrize(("name", "data", "code", "line"), CASES.values(), ids=CASES)
def test_a_broken_file_gets_one_line_and_the_run_goes_on(
    tflint_perf: CommandLine, name: str, data: bytes, code: int, line: str
) -> None:
    (tflint_perf.folder / name).write_bytes(data)
    tflint_perf.write(GOOD, SLOW)
    ran = tflint_perf("--select", "TFP406", "--output-format", "concise")
    (told,) = complaints(ran.out, ran.err)
    assert told.startswith(line)
    assert f"{GOOD}:{GC_FINDING}" in ran.out
    assert ran.code == code
    fixing = tflint_perf("--select", "TFP406", "--fix", "--unsafe-fixes", "--output-format", "concise")
    assert (tflint_perf.folder / name).read_bytes() == data
    assert (tflint_perf.folder / GOOD).read_text() == FIXED
    assert fixing.code == code


NAMED = {
    "a.py": (b"def f(:\n", 1, "a.py:1:7: invalid-syntax: invalid syntax"),
    "b.py": (b"print 'two'\n", 1, "b.py:1:1: invalid-syntax: Missing parentheses in call to 'print'"),
    "c.py": (b"\xff\xfe\0", 2, "c.py:1"),
    "d.ipynb": (b"{", 2, "d.ipynb:1:2: not a notebook"),
    "e.py": (b"path = 'C:\\Users'\n", 1, "e.py:1:"),
}


@pytest.mark.parametrize("name", NAMED)
def test_a_file_that_is_named_has_to_be_python_whatever_it_holds(tflint_perf: CommandLine, name: str) -> None:
    data, code, line = NAMED[name]
    (tflint_perf.folder / name).write_bytes(data)
    ran = tflint_perf(name, "--output-format", "concise")
    assert complaints(ran.out, ran.err)[0].startswith(line)
    assert ran.code == code
    assert tflint_perf(".").code == 0


FINE: dict[str, bytes] = {
    "an empty file": b"",
    "only a comment": b"# tensorflow collect",
    "only a mark": MARK,
    "escapes that end, and paths in raw strings": b"import tensorflow\na = '\\u00e4', r'C:\\Users', '\\\\Users'\n",
    "no end of line": CLEAN.rstrip().encode() + b"  # collect",
    "Python 2 without TensorFlow": b"print 'collect'\n",
    "bytes that are no text without TensorFlow": b"\xff\xfe\0collect",
}


@pytest.mark.parametrize("data", FINE.values(), ids=FINE)
def test_an_unusual_file_is_clean(tflint_perf: CommandLine, data: bytes) -> None:
    (tflint_perf.folder / "a.py").write_bytes(data)
    ran = tflint_perf("--select", "ALL")
    assert (ran.code, complaints(ran.out, ran.err)) == (0, ["All checks passed!"])


def crlf(text: str) -> str:
    return text.replace("\n", "\r\n")


def mixed(text: str) -> str:
    rows = text.split("\n")
    return "".join(row + ("\r\n", "\n", "\r")[index % 3] for index, row in enumerate(rows[:-1]))


def tabs(text: str) -> str:
    return text.replace("    ", "\t")


WRITINGS = {
    "a byte-order mark": (MARK + SLOW.encode(), MARK + FIXED.encode()),
    "CRLF": (crlf(SLOW).encode(), crlf(FIXED).encode()),
    "CR": (SLOW.replace("\n", "\r").encode(), FIXED.replace("\n", "\r").encode()),
    "mixed line ends": (mixed(SLOW).encode(), mixed(FIXED).encode()),
    "tabs": (tabs(SLOW).encode(), tabs(FIXED).encode()),
    "a declared encoding": tuple(f"# coding: latin-1\n# é\n{t}".encode("latin-1") for t in (SLOW, FIXED)),
    "a declared encoding and CRLF": tuple(
        crlf(f"# coding: cp1252\n# €\n{text}").encode("cp1252") for text in (SLOW, FIXED)
    ),
    "a form feed": tuple(text.replace("model =", "\x0c\nmodel =").encode() for text in (SLOW, FIXED)),
}


@pytest.mark.parametrize(("before", "after"), WRITINGS.values(), ids=WRITINGS)
def test_a_fix_keeps_the_writing_of_a_file(tflint_perf: CommandLine, before: bytes, after: bytes) -> None:
    path = tflint_perf.folder / "a.py"
    path.write_bytes(before)
    ran = tflint_perf("--select", "TFP406", "--fix", "--unsafe-fixes")
    assert ran.code == 0, ran.out + ran.err
    assert path.read_bytes() == after


def test_as_many_loops_as_python_takes_are_linted(tflint_perf: CommandLine) -> None:
    tflint_perf.write("a.py", nested(20))
    assert tflint_perf("--select", "TFP406").code in (0, 1)


DEEP = {
    "brackets": "(" * 2_000 + "1" + ")" * 2_000,
    "a sum": "+".join("a" * 1_000),
    "a chain": "a" + ".f()" * 500,
    "nots": "not " * 3_000 + "a",
}


@pytest.mark.slow
@pytest.mark.parametrize("expression", DEEP.values(), ids=DEEP)
def test_deep_nesting_ends_no_run(tmp_path: Path, expression: str) -> None:
    (tmp_path / "a.py").write_text(f"{SLOW}x = {expression}\n")
    (tmp_path / GOOD).write_text(SLOW)
    ran = subprocess.run(  # in a process of its own, which a full stack would end
        [
            sys.executable,
            "-m",
            "tflint_perf",
            "--isolated",
            "--output-format",
            "concise",
            "--quiet",
            "--select",
            "TFP406",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    told = complaints(ran.stdout, ran.stderr)
    assert len(told) == 1
    assert told[0].startswith("a.py:")
    assert f"{GOOD}:{GC_FINDING}" in ran.stdout
    assert ran.returncode in (1, 2)


def calls_to_lint(tflint_perf: CommandLine, rows: int) -> int:
    """How many functions are called to lint so many rows; they have a finding at their end."""
    body = "x = y + 1\n" * (rows - SLOW.count("\n"))
    tflint_perf.write("a.py", SLOW.replace("gc.set_threshold(50_000)\n", body))
    ran: list[Ran] = []
    counted = calls(lambda: ran.append(tflint_perf("--select", "ALL", "--output-format", "concise")))
    assert "TFP406" in ran[0].out
    assert ran[0].code == 1
    return counted


@pytest.mark.slow
def test_a_file_of_10_000_lines_takes_no_more_a_line_than_a_short_one(tflint_perf: CommandLine) -> None:
    """`benchmarks/growth.py` takes the time of longer ones."""
    tflint_perf.monkeypatch.setattr("tflint_perf.stack.on_deep_stack", lambda work: work())  # to be counted
    calls_to_lint(tflint_perf, 100)  # imports
    short, long = calls_to_lint(tflint_perf, 1_000), calls_to_lint(tflint_perf, 10_000)
    assert 5 * short < long < 12 * short


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes by which to forbid reading")
def test_what_may_not_be_read_is_a_line_and_the_run_goes_on(tflint_perf: CommandLine) -> None:
    tflint_perf.write(GOOD, SLOW)
    arguments = ("--select", "TFP406", "--output-format", "concise")
    tflint_perf(*arguments)  # imports, which nobody may not be allowed
    secret = tflint_perf.write("secret.py", SLOW)
    tflint_perf.write("locked/a.py", SLOW)
    secret.chmod(0)
    (tflint_perf.folder / "locked").chmod(0)
    try:
        with as_nobody(tflint_perf.folder):
            ran = tflint_perf(*arguments)
    finally:
        (tflint_perf.folder / "locked").chmod(0o755)
    assert complaints(ran.out, ran.err) == ["locked: permission denied", "secret.py: permission denied"]
    assert f"{GOOD}:{GC_FINDING}" in ran.out
    assert ran.code == 2


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes by which to forbid reading")
@pytest.mark.parametrize("path", ["locked", "locked/a.py", "secret.py"])
def test_what_may_not_be_read_is_a_line_also_when_it_is_named(tflint_perf: CommandLine, path: str) -> None:
    tflint_perf.write(GOOD, SLOW)
    tflint_perf(GOOD)  # imports, which nobody may not be allowed
    tflint_perf.write("secret.py", SLOW).chmod(0)
    tflint_perf.write("locked/a.py", SLOW)
    (tflint_perf.folder / "locked").chmod(0)
    try:
        with as_nobody(tflint_perf.folder):
            ran = tflint_perf(path)
    finally:
        (tflint_perf.folder / "locked").chmod(0o755)
    assert (ran.code, ran.out, ran.err) == (2, "", f"tflint-perf: {path}: permission denied\n")


def test_a_circle_of_links_is_walked_once(tflint_perf: CommandLine) -> None:
    tflint_perf.write(GOOD, SLOW)
    (tflint_perf.folder / "again").symlink_to(".")
    (tflint_perf.folder / "self.py").symlink_to("self.py")
    ran = tflint_perf("--select", "TFP406", "--output-format", "concise")
    assert complaints(ran.out, ran.err) == ["self.py: symbolic links that form a loop"]
    assert ran.out.count(GC_FINDING) == 1
    assert ran.code == 2


def test_a_file_that_vanishes_is_a_line_and_the_run_goes_on(tflint_perf: CommandLine) -> None:
    path = tflint_perf.write("a.py", SLOW)
    tflint_perf.write(GOOD, SLOW)
    real = run_module.lint_files

    def lint_files(paths: Sequence[Path], *rest: object) -> object:
        path.unlink()
        return real(paths, *rest)  # type: ignore[arg-type]

    tflint_perf.monkeypatch.setattr(run_module, "lint_files", lint_files)
    ran = tflint_perf("--select", "TFP406", "--fix", "--unsafe-fixes", "--output-format", "concise")
    assert complaints(ran.out, ran.err) == ["a.py: no such file or folder"]
    assert (tflint_perf.folder / GOOD).read_text() == FIXED
    assert not path.exists()
    assert ran.code == 2


def test_a_file_that_changes_meanwhile_is_a_line_and_left_alone(tflint_perf: CommandLine) -> None:
    path = tflint_perf.write("a.py", SLOW)
    tflint_perf.write(GOOD, SLOW)
    real = check.check_source

    def check_source(*given: object, **also: object) -> check.Checked:
        if not also.get("ask"):  # else it would be read anew
            path.write_text("theirs\n")
        return real(*given, **also)  # type: ignore[arg-type]

    tflint_perf.monkeypatch.setattr(check, "check_source", check_source)
    ran = tflint_perf("--select", "TFP406", "--fix", "--unsafe-fixes", "--output-format", "concise")
    told = complaints(ran.out, ran.err)
    assert "a.py: changed while it was linted, so it was left alone" in told
    assert path.read_text() == "theirs\n"
    assert (tflint_perf.folder / GOOD).read_text() == FIXED
    assert ran.code == 2


def test_a_read_only_file_is_a_line_and_left_alone(tflint_perf: CommandLine) -> None:
    path = tflint_perf.write("a.py", SLOW)
    path.chmod(0o444)
    tflint_perf.write(GOOD, SLOW)
    ran = tflint_perf("--select", "TFP406", "--fix", "--unsafe-fixes", "--output-format", "concise")
    told = complaints(ran.out, ran.err)
    assert "a.py: read-only, so it was not changed" in told
    assert any(line.startswith(f"a.py:{GC_FINDING}") for line in told)
    assert path.read_text() == SLOW
    assert (tflint_perf.folder / GOOD).read_text() == FIXED
    assert ran.code == 2
    path.chmod(0o644)


ARGUMENTS: dict[str, tuple[tuple[str, ...], str]] = {
    "an unknown code": (("--select", "TFP4066"), "--select: unknown rule `TFP4066` (did you mean `TFP406`"),
    "an unknown name": (
        ("--select", "gc-in-lop"),
        "--select: unknown rule `gc-in-lop` (did you mean `gc-in-loop`",
    ),
    "an unknown option": (("--slect", "ALL"), "No such option '--slect'"),
}


@pytest.mark.parametrize(("arguments", "line"), ARGUMENTS.values(), ids=ARGUMENTS)
def test_bad_arguments_are_a_line(tflint_perf: CommandLine, arguments: tuple[str, ...], line: str) -> None:
    tflint_perf.write(GOOD, SLOW)
    ran = tflint_perf(*arguments)
    (told,) = complaints(ran.out, ran.err)
    assert told.replace(": --slect", " '--slect'").startswith(line)
    assert ran.code == 2


def test_a_missing_path_is_a_line_and_the_others_are_linted(tflint_perf: CommandLine) -> None:
    tflint_perf.write(GOOD, SLOW)
    ran = tflint_perf("no/such.py", GOOD, "--select", "TFP406", "--output-format", "concise")
    (told,) = complaints(ran.out, ran.err)
    assert told.startswith("no/such.py: no such file or folder")
    assert f"{GOOD}:{GC_FINDING}" in ran.out
    assert ran.code == 2


CONFIGURATIONS = {
    "broken": ("[tool.tflint-perf\n", "pyproject.toml:1"),
    "an unknown key": (
        "[tool.tflint-perf]\n\nslect = []\n",
        "pyproject.toml:3: unknown key `slect` (did you mean `select`?)",
    ),
    "a wrong type": ("[tool.tflint-perf]\nselect = 1\n", "pyproject.toml:2: `select` must be"),
    "an unknown code": (
        "[tool.tflint-perf]\nselect = ['XYZ999']\n",
        "pyproject.toml:2: unknown rule `XYZ999`",
    ),
    "not UTF-8": ("[tool.tflint-perf]\nselect = ['\xff']\n", "pyproject.toml"),
}


@pytest.mark.parametrize(("text", "line"), CONFIGURATIONS.values(), ids=CONFIGURATIONS)
def test_a_bad_configuration_is_a_line_with_the_place(tflint_perf: CommandLine, text: str, line: str) -> None:
    (tflint_perf.folder / "pyproject.toml").write_bytes(text.encode("latin-1"))
    tflint_perf.write(GOOD, SLOW)
    ran = tflint_perf("--fix")
    (told,) = complaints(ran.out, ran.err)
    assert told.startswith(line)
    assert (tflint_perf.folder / GOOD).read_text() == SLOW
    assert ran.code == 2


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names of files are text")
def test_a_file_whose_name_is_no_text_is_linted_among_those_that_call_each_other(
    tflint_perf: CommandLine,
) -> None:
    """Whom a method's parameter is given by is asked of all files, by their names."""
    tflint_perf.write(
        "steps.py",
        "import tensorflow as tf\n\n\nclass Trainer:\n    def train(self, model, dataset):\n"
        "        for x in dataset:\n            show(model(x))\n",
    )
    tflint_perf.write(
        "train.py",
        "import tensorflow as tf\n\nfrom nets import Net\nfrom steps import Trainer\n\n"
        "Trainer().train(Net(), tf.data.Dataset.range(100).batch(4))\n",
    )
    tflint_perf.write(
        "nets.py",
        "import tensorflow as tf\n\n\nclass Net(tf.keras.Model):\n    def call(self, x):\n        return x * 2.0\n",
    )
    caller = (
        b"from steps import Trainer\nimport nets\nfrom other import trainer\ntrainer.train(nets.Net(), [])\n"
    )
    (tflint_perf.folder / os.fsdecode(b"caf\xe9.py")).write_bytes(caller)
    ran = tflint_perf("--select", "TFP107", "--output-format", "concise", "--no-cache")
    assert ran.code == 1, ran.err
    assert ran.out.startswith("steps.py:7:18: TFP107 ")


@pytest.mark.parametrize(
    ("name", "data", "code", "out", "err"),
    [
        ("a.py", b"def f(:\n", 1, "a.py:1:7: invalid-syntax: ", ""),
        ("a.txt", b"def f(:\n", 1, "a.txt:1:7: invalid-syntax: ", ""),
        ("a.txt", b"hi\n", 0, "All checks passed!", ""),
        ("a.ipynb", b"no json\n", 2, "", "tflint-perf: a.ipynb:1:1: not a notebook: "),
        ("a.py", b"\xff\xfe\xa3\n", 2, "", "tflint-perf: a.py:1:1: "),
    ],
)
def test_what_does_not_parse_is_a_finding_and_what_cannot_be_read_a_failure(
    tflint_perf: CommandLine, name: str, data: bytes, code: int, out: str, err: str
) -> None:
    (tflint_perf.folder / name).write_bytes(data)
    ran = tflint_perf("--output-format=concise", name)
    assert ran.code == code
    assert ran.out.startswith(out) and ran.err.startswith(err)
