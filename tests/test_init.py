"""`tflint-perf init`: what it makes of a project, what it leaves alone, and what it says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.commandline import BROKEN, CLEAN, RENAMED, SLOW, CommandLine, Ran
from tests.rights import as_nobody
from tflint_perf.catalogue.rules import catalogue
from tflint_perf.config.reading import toml_of
from tflint_perf.config.schema import config_schema
from tflint_perf.init.versions import named_versions
from tflint_perf.project.dependencies import Named

pytestmark = pytest.mark.slow

PYPROJECT = '[project]\nname = "digits"  # as in the paper\nversion = "1"\n'
NOTEBOOK = json.dumps(
    {
        "cells": [
            {
                "cell_type": "code",
                "execution_count": None,
                "metadata": {},
                "outputs": [],
                "source": ["import keras\n"],
            }
        ],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
)
HOOKS = ".pre-commit-config.yaml"
PLAIN = {"extend-select": [], "ignore": []}
PROGRAM = """\
import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
state = np.zeros((1, 4))
while True:
    answer = model.predict(state)
    state = environment.step(answer)
    model.fit(state, answer)
"""
MANY_SLOW = {f"train_{number}.py": SLOW for number in range(6)}


def settings(tflint_perf: CommandLine, name: str = "pyproject.toml") -> dict[str, Any]:
    """What was written, as the tool itself and its schema read it."""
    table = toml_of((tflint_perf.folder / name).read_text())
    if name == "pyproject.toml":
        table = table["tool"]["tflint-perf"]
    jsonschema.validate(table, config_schema(catalogue()))
    shown = tflint_perf("--show-settings")
    assert (shown.code, shown.err) == (0, "")
    assert name in shown.out or not shown.out
    return table


def init(tflint_perf: CommandLine, *arguments: str, **files: str) -> Ran:
    """Run `init` in a project that has these files."""
    for name, text in files.items():
        tflint_perf.write(name, text)
    return tflint_perf("init", *arguments)


@pytest.mark.parametrize(
    "before",
    [
        PYPROJECT,
        PYPROJECT.replace("\n", "\r\n"),
        PYPROJECT.rstrip(),
        "",
        "[tool.ruff]\nline-length = 99\n\n\n",
    ],
    ids=["as usual", "with Windows' line ends", "without the last one", "empty", "with more at the end"],
)
def test_a_pyproject_gets_a_table_and_nothing_else_changes(tflint_perf: CommandLine, before: str) -> None:
    ran = init(tflint_perf, **{"pyproject.toml": before, "train.py": CLEAN})
    assert (ran.code, ran.err) == (0, "")
    after = (tflint_perf.folder / "pyproject.toml").read_bytes().decode()
    assert after.startswith(before)
    assert ("\r\n" in before) == ("\r\n" in after)
    assert ("\r\n" in after) <= ("\n" not in after.replace("\r\n", ""))
    assert settings(tflint_perf) == PLAIN
    document = toml_of(after)
    del document["tool"]["tflint-perf"]
    assert document == {"tool": {}} | toml_of(before)


def test_without_a_pyproject_there_is_a_file_of_its_own(tflint_perf: CommandLine) -> None:
    ran = init(tflint_perf, **{"setup.py": "", "train.py": CLEAN})
    assert (ran.code, ran.err) == (0, "")
    assert settings(tflint_perf, "tflint-perf.toml") == PLAIN
    assert not (tflint_perf.folder / "pyproject.toml").exists()


def test_every_setting_stands_below_a_comment(tflint_perf: CommandLine) -> None:
    init(tflint_perf, **MANY_SLOW, **{"a.ipynb": NOTEBOOK, "vendor/a.py": CLEAN, "tests/test_a.py": CLEAN})
    lines = (tflint_perf.folder / "tflint-perf.toml").read_text().splitlines()
    keys = [number for number, line in enumerate(lines) if not line.startswith("# ")]
    assert len(keys) > 4
    assert all(
        lines[number - 1].startswith("# ") or lines[number - 1] == "extend-select = []" for number in keys
    )


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("pyproject.toml", "[tool.tflint-perf]\n", "pyproject.toml: has [tool.tflint-perf] already"),
        ("pyproject.toml", "[tool.tflint-perf.severity]\n", "pyproject.toml: has [tool.tflint-perf] already"),
        ("tflint-perf.toml", "", "tflint-perf.toml: is there already"),
    ],
)
def test_what_is_configured_is_not_overwritten(
    tflint_perf: CommandLine, name: str, text: str, what: str
) -> None:
    ran = init(tflint_perf, **{name: text, "train.py": SLOW})
    assert (ran.code, ran.out, ran.err) == (2, "", f"tflint-perf: {what}; nothing was written\n")
    assert (tflint_perf.folder / name).read_text() == text
    assert {path.name for path in tflint_perf.folder.iterdir()} == {name, "train.py"}


def test_what_is_configured_from_above_is_not_cut_off(tflint_perf: CommandLine) -> None:
    tflint_perf.write("pyproject.toml", "[tool.tflint-perf]\n")
    tflint_perf.write("examples/train.py", SLOW)
    ran = tflint_perf("init", "examples")
    above = tflint_perf.folder / "pyproject.toml"
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        f"tflint-perf: {above}: has [tool.tflint-perf] already, for examples too; nothing was written\n"
    )


def test_a_project_in_a_configured_one_begins_with_what_counted_so_far(tflint_perf: CommandLine) -> None:
    tflint_perf.write("pyproject.toml", '[tool.tflint-perf]\nselect = ["TFP101"]\n')
    tflint_perf.write("part/pyproject.toml", "")
    tflint_perf.write("part/train.py", SLOW)
    ran = tflint_perf("init", "part")
    assert (ran.code, ran.err) == (0, "")
    assert "  findings    1 (TFP101 1×)\n" in ran.out
    written = toml_of((tflint_perf.folder / "part" / "pyproject.toml").read_text())["tool"]["tflint-perf"]
    assert written == PLAIN | {"extend": "../pyproject.toml"}
    assert tflint_perf.found() == ["part/train.py: TFP101"]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[project\n", "pyproject.toml: not TOML: "),
        (
            "tool = {}\n",
            "pyproject.toml: its table `tool` is written so that [tool.tflint-perf] cannot be added",
        ),
    ],
)
def test_a_pyproject_that_takes_no_table_is_left_alone(
    tflint_perf: CommandLine, text: str, what: str
) -> None:
    ran = init(tflint_perf, **{"pyproject.toml": text, "train.py": CLEAN})
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"tflint-perf: {what}")
    assert ran.err.count("\n") == 1
    assert (tflint_perf.folder / "pyproject.toml").read_text() == text


def test_a_folder_that_is_not_there_is_told(tflint_perf: CommandLine) -> None:
    ran = tflint_perf("init", "nowhere")
    assert (ran.code, ran.out, ran.err) == (2, "", "tflint-perf: nowhere: no such folder\n")


def test_a_folder_that_cannot_be_written_is_told(tflint_perf: CommandLine) -> None:
    tflint_perf.write("project/train.py", CLEAN)
    project = tflint_perf.folder / "project"
    project.chmod(0o555)
    with as_nobody(tflint_perf.folder):
        ran = tflint_perf("init", "project")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "tflint-perf: project/tflint-perf.toml: not written: permission denied\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            {"third_party/net/a.py": CLEAN, "src/_vendor/b.py": CLEAN},
            {"extend-exclude": ["src/_vendor/", "third_party/"]},
        ),
        ({"a[1]/vendor/b.py": CLEAN}, {"extend-exclude": ["a\\[1\\]/vendor/"]}),
        ({"vendor/readme.txt": ""}, {}),
        (
            {".gitmodules": '[submodule "x"]\n\tpath = nets/x\n', "nets/x/a.py": CLEAN},
            {"extend-exclude": ["nets/x/"]},
        ),
        ({"a.ipynb": NOTEBOOK}, {"include": ["*.py", "*.ipynb"]}),
        ({"tests/test_train.py": CLEAN}, {"include-tests": False}),
        ({"tests/test_words.py": "def test_words(): pass\n"}, {}),
        ({"requirements.txt": "tensorflow==2.3.1\n"}, {"extend-unsafe-fixes": ["ALL"]}),
        ({"requirements.txt": "tensorflow>=2.3\n"}, {}),
        (
            {"tflint-perf-baseline.json": '{"version": 1, "findings": {}}'},
            {"baseline": "tflint-perf-baseline.json"},
        ),
        ({"tflint-perf-baseline.json": "no baseline"}, {}),
    ],
    ids=lambda value: ", ".join(value),
)
def test_the_settings_are_those_that_the_project_asks_for(
    tflint_perf: CommandLine, files: dict[str, str], expected: dict[str, Any]
) -> None:
    ran = init(tflint_perf, **{"pyproject.toml": PYPROJECT, "train.py": CLEAN}, **files)
    assert (ran.code, ran.err) == (0, "")
    assert settings(tflint_perf) == PLAIN | expected


def test_a_folder_that_nothing_marks_as_a_project_is_named_as_one(tflint_perf: CommandLine) -> None:
    init(tflint_perf, **{"train.py": CLEAN})
    assert settings(tflint_perf, "tflint-perf.toml") == PLAIN | {"project-root": "."}


def test_other_people_s_code_is_left_out_and_does_not_count(tflint_perf: CommandLine) -> None:
    ran = init(tflint_perf, **{"pyproject.toml": "", "train.py": SLOW, "third_party/train.py": SLOW})
    assert "  vendored    third_party/ (1 file); left out\n" in ran.out
    assert "  findings    2 (TFP101 1×, TFP406 1×)\n" in ran.out
    assert tflint_perf.found() == ["train.py: TFP101", "train.py: TFP406"]


def test_it_says_what_it_found(tflint_perf: CommandLine) -> None:
    ran = init(
        tflint_perf,
        **{
            "pyproject.toml": '[project]\nname = "x"\nrequires-python = ">=3.8,<3.9"\n',
            "requirements.txt": "numpy==1.18\ntensorflow-gpu==1.15.2  # the last one\n",
            "train.py": SLOW,
            "words.py": "",
            "old.py": "import tensorflow as tf\n\nsession = tf.Session()\n",
            "a.ipynb": NOTEBOOK,
            "tests/test_a.py": CLEAN,
            HOOKS: "repos: []\n",
        },
    )
    found = ran.out.split("\n\n")[0].splitlines()
    assert found == [
        "Found",
        "  scripts     3 files, 2 with TensorFlow or Keras",
        "  notebooks   1 notebook, 1 with TensorFlow or Keras",
        "  tests       1 file, 1 with TensorFlow or Keras; left out",
        "  TensorFlow  ==1.15.2 in requirements.txt",
        "  Python      >=3.8,<3.9 in pyproject.toml; tflint-perf runs with 3.10 and later",
        "  graphs      old.py, in TensorFlow 1 style",
        f"  pre-commit  {HOOKS} without tflint-perf",
        "  findings    2 (TFP101 1×, TFP406 1×)",
    ]


def test_it_shows_what_it_wrote(tflint_perf: CommandLine) -> None:
    ran = init(tflint_perf, **{"pyproject.toml": PYPROJECT, "train.py": CLEAN})
    shown = ran.out.split("\n\n")[1].splitlines()
    assert shown[0] == "Added [tool.tflint-perf] to pyproject.toml"
    written = (tflint_perf.folder / "pyproject.toml").read_text().removeprefix(PYPROJECT).strip()
    assert [line.removeprefix("  ") for line in shown[1:]] == written.splitlines()


def commands(ran: Ran) -> list[str]:
    """The commands that come next."""
    steps = ran.out.split("Next", 1)[1].splitlines()
    return [line.split("  #")[0].strip() for line in steps if line.startswith("  tflint-perf")]


def test_what_comes_next_can_be_run(tflint_perf: CommandLine) -> None:
    ran = init(tflint_perf, **{"train.py": SLOW, "set_up.py": RENAMED})
    assert commands(ran) == ["tflint-perf", "tflint-perf rule TFP101", "tflint-perf --diff"]
    assert [tflint_perf(*command.split()[1:]).code for command in commands(ran)] == [1, 0, 1]


def test_where_no_fix_is_safe_the_unsafe_ones_come_next(tflint_perf: CommandLine) -> None:
    ran = init(tflint_perf, **{"train.py": SLOW, "requirements.txt": "tensorflow==2.3.1\n"})
    assert commands(ran)[-1] == "tflint-perf --diff --unsafe-fixes"
    before = (tflint_perf.folder / "train.py").read_bytes()
    assert tflint_perf("--fix").code == 1
    assert (tflint_perf.folder / "train.py").read_bytes() == before


def test_where_nothing_is_found_nothing_is_to_be_fixed(tflint_perf: CommandLine) -> None:
    ran = init(tflint_perf, **{"train.py": CLEAN})
    assert "  findings    none\n" in ran.out
    assert commands(ran) == ["tflint-perf"]


def test_what_is_about_programs_can_be_left_out_by_one_word(tflint_perf: CommandLine) -> None:
    ran = init(tflint_perf, **{"train.py": PROGRAM, "again.py": PROGRAM})
    assert commands(ran)[1:3] == ["tflint-perf rule TFP105", "tflint-perf rule TFP404"]
    config = tflint_perf.folder / "tflint-perf.toml"
    before, after = "ignore = []", 'ignore = ["missing-memory-growth"]'
    assert (
        f"TFP404 is about programs as a whole; if it is of no use here, `{after}` leaves it out." in ran.out
    )
    assert set(tflint_perf.found()) == {
        f"{file}: {code}" for file in ("again.py", "train.py") for code in ("TFP105", "TFP404")
    }
    config.write_text(config.read_text().replace(f"\n{before}", f"\n{after}"))
    assert set(tflint_perf.found()) == {"again.py: TFP105", "train.py: TFP105"}


def test_where_no_program_is_found_nothing_is_said_of_programs(tflint_perf: CommandLine) -> None:
    ran = init(tflint_perf, **{"train.py": SLOW})
    assert "TFP404" not in ran.out


def test_where_much_is_found_a_baseline_is_the_way_in(tflint_perf: CommandLine) -> None:
    ran = init(tflint_perf, **MANY_SLOW)
    *_, write = commands(ran)
    assert write == "tflint-perf --write-baseline tflint-perf-baseline.json"
    assert settings(tflint_perf, "tflint-perf.toml") == PLAIN | {"project-root": "."}
    assert tflint_perf(*write.split()[1:]).code == 0
    config = tflint_perf.folder / "tflint-perf.toml"
    config.write_text(config.read_text().replace("# baseline = ", "baseline = "))
    assert settings(tflint_perf, "tflint-perf.toml")["baseline"] == "tflint-perf-baseline.json"
    assert (tflint_perf().code, tflint_perf().out) == (0, "All checks passed!\n")


def test_a_file_that_does_not_parse_is_told(tflint_perf: CommandLine) -> None:
    ran = init(tflint_perf, **{"train.py": BROKEN})
    assert "  not parsed  train.py: what they" in ran.out
    assert "  findings    none\n" in ran.out
    assert 'or leave it out: extend-exclude = ["train.py"]\n' in ran.out


def test_a_folder_without_python_is_warned_of(tflint_perf: CommandLine) -> None:
    ran = init(tflint_perf, **{"readme.txt": ""})
    assert (ran.code, ran.err) == (0, "tflint-perf: warning: no Python files or notebooks here\n")
    assert settings(tflint_perf, "tflint-perf.toml") == PLAIN | {"project-root": "."}


def test_a_file_that_cannot_be_read_is_told(tflint_perf: CommandLine) -> None:
    ran = init(tflint_perf, **{"train.ipynb": "import tensorflow, no notebook", "pyproject.toml": ""})
    assert ran.code == 2
    assert ran.err.startswith("tflint-perf: train.ipynb:1:1: not a notebook: ")
    assert settings(tflint_perf) == PLAIN | {"include": ["*.py", "*.ipynb"]}


@pytest.mark.parametrize(
    "config",
    [
        "repos:\n  - repo: meta\n    hooks:\n      - id: identity\n",
        "repos:\n-   repo: meta\n    hooks:\n    -   id: identity\n",
    ],
)
def test_the_hook_that_it_tells_of_fits_into_the_configuration(tflint_perf: CommandLine, config: str) -> None:
    ran = init(tflint_perf, **{"train.py": CLEAN, HOOKS: config})
    _, hook = ran.out.split(f"Add the hook to {HOOKS}, below `repos:`\n\n")
    whole = tflint_perf.write(HOOKS, config + hook)
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "validate-config", whole],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert yaml.safe_load(config + hook)["repos"][1]["hooks"][0]["id"] == "tflint-perf"


def test_a_hook_that_is_there_is_not_told_of_again(tflint_perf: CommandLine) -> None:
    hooks = "repos:\n  - repo: local\n    hooks:\n      - id: tflint-perf\n"
    ran = init(tflint_perf, **{"train.py": CLEAN, HOOKS: hooks})
    assert f"  pre-commit  {HOOKS} with tflint-perf\n" in ran.out
    assert "Add the hook" not in ran.out


@pytest.mark.parametrize(
    "files", [{}, {"pyproject.toml": PYPROJECT}, {"pyproject.toml": PYPROJECT.rstrip()}], ids=str
)
def test_a_diff_is_one_and_writes_nothing(tflint_perf: CommandLine, files: dict[str, str]) -> None:
    ran = init(tflint_perf, "--diff", **{"train.py": SLOW}, **files)
    assert (ran.code, ran.err) == (1, "")
    assert {path.name for path in tflint_perf.folder.iterdir()} == {"train.py", *files}
    subprocess.run(["git", "apply"], cwd=tflint_perf.folder, input=ran.out.encode(), check=True)
    by_diff = {path.name: path.read_bytes() for path in tflint_perf.folder.glob("*.toml")}
    for name in by_diff:
        (tflint_perf.folder / name).unlink()
    init(tflint_perf, **files)
    assert by_diff == {path.name: path.read_bytes() for path in tflint_perf.folder.glob("*.toml")}


def test_a_project_elsewhere_is_configured_there(tflint_perf: CommandLine) -> None:
    tflint_perf.write("project/pyproject.toml", "")
    tflint_perf.write("project/train.py", SLOW)
    ran = tflint_perf("init", "project")
    assert (ran.code, ran.err) == (0, "")
    assert "Added [tool.tflint-perf] to project/pyproject.toml\n" in ran.out
    assert "Next, in project\n" in ran.out
    assert (
        toml_of((tflint_perf.folder / "project" / "pyproject.toml").read_text())["tool"]["tflint-perf"]
        == PLAIN
    )


@pytest.mark.parametrize(
    ("name", "text", "asked"),
    [
        ("requirements.txt", "tensorflow==2.3.1\n", ["==2.3.1"]),
        ("requirements-gpu.txt", "tensorflow-gpu [x] >= 2.3, < 3 ; python_version > '3'\n", [">=2.3,<3"]),
        ("requirements/train.txt", "Tensorflow_cpu~=2.11\n", ["~=2.11"]),
        ("requirements.txt", "tensorflow-datasets==4.9\ntensorflow_probability==0.20\n", []),
        ("requirements.txt", "tensorflow\n# tensorflow==1.15\nnumpy==2.0\n", []),
        ("setup.py", "setup(install_requires=['numpy', 'tensorflow>=2.4,<2.8'])\n", [">=2.4,<2.8"]),
        ("setup.cfg", "[options]\ninstall_requires =\n    tensorflow>=2.4\n", [">=2.4"]),
        ("pyproject.toml", '[project]\ndependencies = ["tensorflow[and-cuda]>=2.16"]\n', [">=2.16"]),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntensorflow = "^2.3"\n', ["^2.3"]),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntensorflow = "2.3.0"\n', ["2.3.0"]),
        ("Pipfile", '[packages]\ntensorflow = {version = "==2.3.0", extras = ["x"]}\n', ["==2.3.0"]),
        ("environment.yml", "dependencies:\n  - python=3.7\n  - tensorflow=2.3=gpu_py37\n", ["=2.3"]),
    ],
)
def test_the_releases_of_tensorflow_are_read_where_people_write_them(
    tmp_path: Path, name: str, text: str, asked: list[str]
) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text)
    tensorflow, _ = named_versions(tmp_path)
    assert [(named.asked, named.file) for named in tensorflow] == [(clauses, name) for clauses in asked]


@pytest.mark.parametrize(
    ("name", "text", "asked"),
    [
        ("pyproject.toml", '[project]\nrequires-python = ">=3.9"\n', ">=3.9"),
        ("pyproject.toml", '[tool.poetry.dependencies]\npython = "^3.8"\n', "^3.8"),
        ("setup.py", "setup(python_requires='>=3.6')\n", ">=3.6"),
        ("setup.cfg", "[options]\npython_requires = >=3.6\n", ">=3.6"),
        ("environment.yml", "dependencies:\n  - python=3.7\n  - ipython=8\n", "=3.7"),
        (".python-version", "3.8.10\n", "3.8.10"),
    ],
)
def test_the_release_of_python_is_read_where_people_write_it(
    tmp_path: Path, name: str, text: str, asked: str
) -> None:
    (tmp_path / name).write_text(text)
    _, python = named_versions(tmp_path)
    assert [(named.asked, named.file) for named in python] == [(asked, name)]


@pytest.mark.parametrize(
    "asked",
    ["==1.15", "==2.3.1", "2.3", "<2.9", "<2", "~=2.8.0", "~2.8", "^1.4", ">=2.3,<2.5", "=2.3", "<=2.8"],
)
def test_these_are_older_than_2_9(asked: str) -> None:
    assert Named(asked, "requirements.txt").is_older_than((2, 9))


@pytest.mark.parametrize(
    "asked",
    ["==2.9", "==2.16.1", ">=1.15", "<3", "<2.10", "~=2.3", "^2.3", ">=2.3,!=2.5", "==2.*", "<=2.9.1", ">2"],
)
def test_these_are_not_older_than_2_9(asked: str) -> None:
    assert not Named(asked, "requirements.txt").is_older_than((2, 9))
