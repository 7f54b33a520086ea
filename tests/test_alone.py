"""`tflint_perf.check_source`: the same text and settings give the same findings, wherever and however often."""

from __future__ import annotations

import gc
import json
import os
import pickle
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import tflint_perf as package
from tests.commandline import BROKEN, CLEAN, SLOW, CommandLine
from tests.notebooks import notebook
from tflint_perf import check_source, settings_of
from tflint_perf.problems import ConfigError
from tflint_perf.project.linting import FileResult

ROOT = Path(__file__).parent.parent
SCRIPTS = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "fixtures").glob("TFP*/slow.py"))]
ALL = settings_of({"select": ["ALL"]})


def codes(result: FileResult) -> list[str]:
    return [finding.code for finding in result.findings]


@pytest.mark.slow
def test_it_finds_what_the_command_finds(tflint_perf: CommandLine) -> None:
    for number, text in enumerate(SCRIPTS):
        tflint_perf.write(f"{number:02}.py", text)
    ran = tflint_perf("--isolated", "--select=ALL", "--no-cache", "--output-format=json")
    found = [
        (item["filename"], item["code"], item["location"]["row"], item["message"])
        for item in json.loads(ran.out)
    ]
    results = [check_source(text, f"{number:02}.py", ALL) for number, text in enumerate(SCRIPTS)]
    assert all(result.findings for result in results)
    assert found == [
        (result.path, one.code, one.start.row, one.message) for result in results for one in result.findings
    ]


def test_it_says_what_goes_wrong_and_never_raises() -> None:
    assert codes(check_source(BROKEN, settings=ALL)) == ["invalid-syntax"]
    assert check_source(SLOW + "\0", "a/b.py").failure == "a/b.py:15:1: a NUL byte: not Python source"
    assert check_source(b"\xff tensorflow gc.collect(" + SLOW.encode(), "b.py").failure is not None
    assert check_source("tensorflow gc.collect({", "n.ipynb").failure is not None
    assert check_source("") == FileResult("source.py")


def test_bytes_are_decoded_as_python_decodes_them() -> None:
    declared = "# -*- coding: latin-1 -*-\n# é\n" + SLOW
    assert check_source(declared.encode("latin-1")) == check_source(declared)
    assert codes(check_source(declared.encode("latin-1"))) == ["TFP101", "TFP406"]


def test_a_notebook_is_known_by_its_name() -> None:
    result = check_source(notebook(*SLOW.split("\n\n\n")), "n.ipynb")
    assert [(one.code, one.start.cell) for one in result.findings] == [("TFP101", 2), ("TFP406", 2)]


def test_settings_are_keys_of_the_configuration() -> None:
    assert codes(check_source(SLOW, settings=settings_of({"select": ["TFP4"]}))) == ["TFP406"]
    quiet = SLOW.replace("gc.collect()", "gc.collect()  # noqa: TFP406")
    assert check_source(quiet).suppressed == 1
    per_file = settings_of({"per-file-ignores": {"a/*.py": ["TFP1"], "/b/": ["TFP4"]}})
    found = {path: codes(check_source(SLOW, path, per_file)) for path in ("a/x.py", "/b/c/x.py", "c/b/x.py")}
    assert found == {"a/x.py": ["TFP406"], "/b/c/x.py": ["TFP101"], "c/b/x.py": ["TFP101", "TFP406"]}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"selekt": []}, "settings_of: unknown key `selekt` (did you mean `select`?)"),
        ({"select": "TFP1"}, "settings_of: `select` must be a list of rules"),
        ({"select": ["nope"]}, "settings_of: unknown rule `nope`"),
        ({"baseline": "b.json"}, "settings_of: `baseline` only has a meaning for files"),
    ],
)
def test_mistakes_in_settings_are_told(values: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        settings_of(values)
    assert str(raised.value).startswith(message)


def test_files_around_have_no_say(tflint_perf: CommandLine) -> None:
    step = "import gc\n\nimport tensorflow as tf\n\n\ndef collect(batch):\n    gc.collect()\n    return tf.shape(batch)\n"
    loop = (
        "import tensorflow as tf\n\nfrom step import collect\n\nmodel = tf.keras.Sequential()\n"
        "model.compile(loss='mse')\nfor batch in tf.data.Dataset.range(9).batch(3):\n"
        "    model.train_on_batch(batch, batch)\n    collect(batch)\n"
    )
    before = check_source(step, "step.py", ALL)
    tflint_perf.write("step.py", step)
    tflint_perf.write("train.py", loop)
    tflint_perf.write("tflint-perf.toml", "select = ['TFP1']\n")
    assert tflint_perf.found("--isolated", "--select=TFP406") == ["step.py: TFP406"]
    assert check_source(step, "step.py", ALL) == before
    assert before.findings == ()


PROGRAM = """
import json, os, pickle, sys

from tflint_perf import check_source, settings_of

texts, settings = json.loads(sys.stdin.read()), settings_of({"select": ["ALL"]})
first = [check_source(text, f"{number}.py", settings) for number, text in enumerate(texts)]
touched = []
sys.addaudithook(lambda event, arguments: touched.append([event, str(arguments)]) if event.startswith(
    ("open", "os.", "subprocess", "socket", "import", "shutil", "tempfile", "glob")) else None)
state = os.getcwd(), dict(os.environ), sys.path[:]
again = [check_source(text, f"{number}.py", settings) for number, text in enumerate(texts)]
assert again == first
assert state == (os.getcwd(), dict(os.environ), sys.path[:])
# Python looks for the line of a fault in a file that cannot be there.
assert [what for what in touched if "/dev/null/" not in what[1]] == [], touched
sys.stdout.write(repr(first))
"""


@pytest.mark.slow
def test_it_touches_nothing_and_says_the_same_in_every_folder_and_process(tmp_path: Path) -> None:
    outputs = set()
    for seed, folder in (("1", ROOT), ("2", tmp_path)):
        ran = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            input=json.dumps([*SCRIPTS, SLOW, CLEAN, BROKEN, "x = 1  # noqa: TFP101\n"]),
            cwd=folder,
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        outputs.add(ran.stdout)
    assert len(outputs) == 1
    assert "TFP406" in outputs.pop()


@pytest.mark.slow
def test_threads_do_not_disturb_each_other() -> None:
    filters, size = warnings.filters[:], threading.stack_size()
    texts = [*SCRIPTS, BROKEN]
    alone = [check_source(text, settings=ALL) for text in texts]
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(lambda text: check_source(text, settings=ALL), texts * 2))
    assert together == alone * 2
    assert gc.isenabled()
    assert threading.stack_size() == size
    assert warnings.filters == filters


def test_settings_and_results_travel() -> None:
    result = check_source(SLOW, settings=ALL)
    assert pickle.loads(pickle.dumps((ALL, result))) == (ALL, result)


def test_the_package_has_what_it_names_and_nothing_else() -> None:
    assert {name for name in package.__all__ if hasattr(package, name)} == set(package.__all__)
    with pytest.raises(AttributeError, match="no attribute 'chek_source'"):
        package.chek_source  # noqa: B018
