"""What is kept from one run to the next, and when it counts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.commandline import CommandLine
from tests.rights import as_nobody
from tflint_perf.cli import clean
from tflint_perf.config.keys import FORMATS
from tflint_perf.config.settings import Settings
from tflint_perf.lint import check
from tflint_perf.project.cache import NAME, version
from tflint_perf.project.linting import FileResult, lint_files

CODES = frozenset({"TFP001", "TFP406"})
SLOW = """\
import gc

import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(loss="mse")
for batch in tf.data.Dataset.range(100).batch(10):
    model.train_on_batch(batch, batch)
    gc.collect()
"""
FIXED = SLOW.replace("    gc.collect()\n", "").replace("import gc\n\n", "")
# Whether `learn` runs per step is for `LOOP` to say.
STEP = """\
import gc

import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])


def learn(batch):
    model.train_on_batch(batch, batch)
    gc.collect()
"""
LOOP = """\
import tensorflow as tf

from step import learn

for batch in tf.data.Dataset.range(100).batch(10):
    learn(batch)
"""
ONCE = LOOP.replace("for batch in tf.data.Dataset.range(100).batch(10):\n    learn", "learn").replace(
    "learn(batch)", "learn(tf.zeros([10, 1]))"
)
# A loop of which another file says whether it is a step loop.
COLLECTING = """\
import gc

import tensorflow as tf

from step import learn

for number in range(100):
    learn(tf.zeros([10, 1]))
    gc.collect()
"""
IDLE = "import tensorflow as tf\n\n\ndef learn(batch):\n    return tf.shape(batch)\n"
PLACE = Path(NAME)


@pytest.fixture(params=[1, 1_000], ids=["imports known", "imports not known"])
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Settings:
    """The settings of a project, linted as if it were of many files, and of few."""
    monkeypatch.setattr("tflint_perf.project.linting._MANY", request.param)
    monkeypatch.chdir(tmp_path)
    Path("pyproject.toml").touch()
    return Settings(root=tmp_path, rules=CODES, fixable=CODES)


@pytest.fixture
def linted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were linted, or summarised, since the list was last cleared."""
    names: list[str] = []

    def noting(name: str) -> None:
        real = getattr(check, name)

        def note(source: object, *rest: object, **more: object) -> object:
            names.append(source.path.rpartition("/")[2])  # type: ignore[attr-defined]
            return real(source, *rest, **more)

        monkeypatch.setattr(check, name, note)

    for name in ("check_source", "summarise_source", "uses_in_source"):
        noting(name)
    return names


def write(**files: str) -> list[Path]:
    for name, text in files.items():
        Path(f"{name}.py").write_text(text, encoding="utf-8")
    return sorted(Path(f"{name}.py") for name in files)


def lint(paths: list[Path], settings: Settings, jobs: int = 1) -> list[FileResult]:
    return lint_files(paths, settings, jobs, PLACE)


def found(results: list[FileResult]) -> list[tuple[str, list[str]]]:
    return [(result.path, [finding.code for finding in result.findings]) for result in results]


def test_what_has_not_changed_is_not_linted_again(settings: Settings, linted: list[str]) -> None:
    paths = write(one=SLOW, two=SLOW + "# noqa\n")
    first = lint(paths, settings)
    assert found(first) == [("one.py", ["TFP406"]), ("two.py", ["TFP406"])]
    linted.clear()
    assert lint(paths, settings) == first
    assert linted == []


@pytest.mark.parametrize(
    "change",
    [
        lambda settings: replace(settings, rules=frozenset({"TFP406", "TFP101"})),
        lambda settings: replace(settings, ignore_noqa=True),
        lambda settings: replace(settings, per_file_ignores=(("one.py", frozenset({"TFP001"})),)),
    ],
)
def test_other_settings_are_another_question(
    settings: Settings, linted: list[str], change: Callable[[Settings], Settings]
) -> None:
    paths = write(one=SLOW)
    lint(paths, settings)
    linted.clear()
    lint(paths, change(settings))
    assert linted == ["one.py"]
    linted.clear()
    lint(paths, settings)  # and the answer to the first is still there
    assert linted == []


def test_a_file_that_changed_is_linted_alone(settings: Settings, linted: list[str]) -> None:
    paths = write(one=SLOW, two=SLOW)
    lint(paths, settings)
    linted.clear()
    write(two=SLOW.replace("    gc.collect()\n", "gc.collect()\n"))
    assert found(lint(paths, settings)) == [("one.py", ["TFP406"]), ("two.py", [])]
    assert linted == ["two.py"]


def test_a_caller_that_changed_decides_anew(settings: Settings) -> None:
    paths = write(loop=LOOP, step=STEP)
    assert found(lint(paths, settings)) == [("loop.py", []), ("step.py", ["TFP406"])]
    write(loop=ONCE)
    assert found(lint(paths, settings)) == [("loop.py", []), ("step.py", [])]
    write(loop=LOOP)
    assert found(lint(paths, settings)) == [("loop.py", []), ("step.py", ["TFP406"])]


def test_callers_are_not_searched_for_again(settings: Settings, linted: list[str]) -> None:
    paths = write(loop=LOOP, step=STEP)
    first = lint(paths, settings)
    linted.clear()
    assert lint(paths, settings) == first
    assert linted == []


def test_a_new_file_may_be_a_caller(settings: Settings) -> None:
    paths = write(step=STEP)
    assert found(lint(paths, settings)) == [("step.py", [])]
    write(loop=LOOP)
    assert found(lint(paths, settings)) == [("step.py", ["TFP406"])]


def test_a_file_of_many_that_nobody_called_is_asked_about_alone(
    settings: Settings, linted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = write(step=STEP)
    assert found(lint(paths, settings)) == [("step.py", [])]
    monkeypatch.setattr("tflint_perf.project.linting._MANY", 1_000)
    write(loop=LOOP)
    assert found(lint(paths, settings)) == [("step.py", ["TFP406"])]


def test_what_a_file_imports_has_a_say(settings: Settings) -> None:
    paths = write(loop=COLLECTING, step=IDLE)
    assert found(lint(paths, settings)) == [("loop.py", []), ("step.py", [])]
    write(step=STEP)
    assert found(lint(paths, settings)) == [("loop.py", ["TFP406"]), ("step.py", ["TFP406"])]
    write(step=IDLE)
    assert found(lint(paths, settings)) == [("loop.py", []), ("step.py", [])]


def test_a_module_that_appears_has_a_say(settings: Settings) -> None:
    (path,) = write(loop=COLLECTING)
    assert found(lint([path], settings)) == [("loop.py", [])]
    write(step=STEP)
    assert found(lint([path], settings)) == [("loop.py", ["TFP406"])]


@pytest.mark.slow
def test_several_processes_keep_what_each_has_found(settings: Settings, linted: list[str]) -> None:
    paths = write(**{f"file{number:02}": SLOW for number in range(40)})
    first = lint(paths, settings, jobs=2)
    linted.clear()
    assert lint(paths, settings, jobs=2) == first
    assert linted == []


@pytest.mark.slow
def test_two_runs_at_once_lose_nothing_that_counts(settings: Settings) -> None:
    paths = write(**{f"file{number:02}": SLOW for number in range(20)})
    for path in paths:
        path.write_text(SLOW + f"# {path}\n", encoding="utf-8")
    command = [sys.executable, "-m", "tflint_perf", "--isolated", "--select", "TFP406", "--quiet", "."]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(3)]
    outputs = {run.communicate()[0] for run in runs}
    assert len(outputs) == 1
    assert subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout in outputs
    assert not list(PLACE.rglob("*.tmp"))


def test_a_fix_is_made_from_the_code(settings: Settings, linted: list[str]) -> None:
    paths = write(one=SLOW)
    lint(paths, settings)
    for shard in PLACE.rglob("*.json"):  # somebody put a fix of his own in
        shard.write_text(shard.read_text().replace('"Remove', '"Own'), encoding="utf-8")
    linted.clear()
    (result,) = lint(paths, replace(settings, fix="apply", unsafe_fixes=True))
    assert result.fixed[0].code == "TFP406"
    assert linted
    assert paths[0].read_text(encoding="utf-8") == FIXED


def test_what_is_clean_is_not_linted_for_its_fixes(settings: Settings, linted: list[str]) -> None:
    paths = write(one=SLOW.replace("    gc.collect()\n", ""))
    lint(paths, settings)
    linted.clear()
    assert lint(paths, replace(settings, fix="apply"))[0].findings == ()
    assert linted == []


HOSTILE = [
    b"",
    b"{",
    b"[]",
    b"null",
    b'{"names": 3, "files": {}}',
    b'{"names": [], "files": {"one.py": 3}}',
    b'{"names": [], "files": {"one.py": {"": [1]}}}',
    b"\xff\xfe\x00",
    b"[" * 100_000,
    b"1" * 5_000,
]


@pytest.mark.parametrize("data", HOSTILE)
def test_a_cache_that_makes_no_sense_is_none(settings: Settings, data: bytes) -> None:
    paths = write(one=SLOW)
    first = lint(paths, settings)
    for shard in PLACE.rglob("*.json"):
        shard.write_bytes(data)
    assert lint(paths, settings) == first
    assert lint(paths, settings) == first


@pytest.mark.slow
def test_every_entry_may_be_anything(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each value in a shard is replaced by others, all of them signed: the findings stay what they are."""
    monkeypatch.setattr("tflint_perf.project.cache.signature", lambda key, data: "signed")
    monkeypatch.setattr("tflint_perf.project.cache.version", lambda: "0.0.0-" + 24 * "0")
    paths = write(loop=LOOP, step=STEP)
    first = lint(paths, settings)
    shards = {path: path.read_text(encoding="utf-8") for path in PLACE.rglob("*.json")}

    def places(data: object, path: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
        inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
        return [path, *(place for key, value in inner for place in places(value, (*path, key)))]

    for shard, text in shards.items():
        for place in places(json.loads(text))[1:]:
            for value in (None, -1, "x", [], {}):
                data = inner = json.loads(text)
                for key in place[:-1]:
                    inner = inner[key]
                if type(inner[place[-1]]) is type(value):
                    continue  # a lie of the right form can't be told from the truth
                inner[place[-1]] = value
                shard.write_text(json.dumps(data), encoding="utf-8")
                results = lint(paths, settings)
                assert found(results) == found(first)
                assert not any(result.failure or result.problems for result in results)
        for file, written in shards.items():
            file.write_text(written, encoding="utf-8")


def test_a_file_that_is_gone_is_forgotten(settings: Settings) -> None:
    paths = write(one=SLOW)
    lint(paths, settings)
    (shard,) = (path for path in PLACE.rglob("*.json") if "one.py" in json.loads(path.read_bytes())["files"])
    data = json.loads(shard.read_text())
    data["files"]["gone.py"] = data["files"]["one.py"]
    shard.write_text(json.dumps(data))
    write(one=SLOW + "\n")
    lint(paths, settings)
    assert list(json.loads(shard.read_text())["files"]) == ["one.py"]


def test_the_cache_moves_with_its_project(settings: Settings, linted: list[str], tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    os.chdir(here)
    Path("pyproject.toml").touch()
    paths = write(loop=LOOP, step=STEP)
    there = tmp_path / "there"
    first = lint(paths, replace(settings, root=here))
    shutil.copytree(here, there)
    os.chdir(there)
    linted.clear()
    assert lint(paths, replace(settings, root=there)) == first
    assert linted == []


def test_git_ignores_the_cache(settings: Settings) -> None:
    lint(write(one=SLOW), settings)
    assert (PLACE / ".gitignore").read_text() == "*\n"
    assert (PLACE / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")


def test_older_versions_make_room(settings: Settings) -> None:
    paths = write(one=SLOW)
    names = [f"0.0.{number}-{number:024x}" for number in range(6)]
    for number, name in enumerate(names):
        old = PLACE / name
        old.mkdir(parents=True)
        (old / "00.json").write_text("{}")
        os.utime(old, (number, number))
    lint(paths, settings)
    assert sorted(path.name for path in PLACE.iterdir() if path.is_dir()) == sorted([*names[4:], version()])


def test_a_folder_that_is_no_version_of_the_cache_is_left_alone(settings: Settings) -> None:
    for number in range(6):
        (PLACE / f"notes{number}").mkdir(parents=True)
        (PLACE / f"notes{number}" / "00.json").write_text("{}")
    lint(write(one=SLOW), settings)
    assert len(list(PLACE.glob("notes*/00.json"))) == 6


@pytest.mark.skipif(
    sys.platform == "win32", reason="on Windows, whoever makes links needs a right of their own"
)
def test_nothing_is_written_through_a_link(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    PLACE.symlink_to("elsewhere")
    assert found(lint(write(one=SLOW), settings)) == [("one.py", ["TFP406"])]
    assert list(Path("elsewhere").iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes by which to forbid writing")
def test_a_folder_that_cannot_be_written_keeps_nothing(settings: Settings, tmp_path: Path) -> None:
    paths = write(one=SLOW)
    lint_files(paths, settings, 1)  # imports, which nobody may not be allowed
    PLACE.mkdir(mode=0o555)
    with as_nobody(tmp_path):
        assert found(lint(paths, settings)) == [("one.py", ["TFP406"])]
    assert list(PLACE.iterdir()) == []


def test_a_file_in_place_of_the_folder_keeps_nothing(settings: Settings) -> None:
    PLACE.write_text("mine")
    assert found(lint(write(one=SLOW), settings)) == [("one.py", ["TFP406"])]
    assert PLACE.read_text() == "mine"


def test_the_folder_that_is_cleaned_is_the_one_that_is_written(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert clean.cache_folder(settings.root) == settings.root / NAME
    monkeypatch.setenv("TFLINT_PERF_CACHE_DIR", "kept")
    assert clean.cache_folder(settings.root) == settings.root / "kept"
    assert clean.cache_folder(settings.root, "named") == settings.root / "named"
    lint_files(write(one=SLOW), settings, 1, settings.root / "kept")
    assert clean.remove_cache(settings.root).startswith("Removed")
    assert not Path("kept").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("settings")
def test_output_is_the_same_cold_and_warm(tflint_perf: CommandLine) -> None:
    write(loop=LOOP, step=STEP, one=SLOW)
    for output in FORMATS:
        shutil.rmtree(PLACE, ignore_errors=True)
        cold, warm, without = (
            tflint_perf("--isolated", "--select=ALL", "--output-format", output, *more, ".")
            for more in ((), (), ("--no-cache",))
        )
        assert cold == warm == without
        assert cold.out


@pytest.mark.slow
def test_a_warm_run_does_not_import_the_parser(settings: Settings) -> None:
    write(loop=LOOP, step=STEP, one=SLOW)
    command = [sys.executable, "-X", "importtime", "-m", "tflint_perf", "--isolated", "--select=ALL", "."]
    cold, warm = (subprocess.run(command, capture_output=True, text=True, check=False) for _ in range(2))
    assert "libcst" in cold.stderr
    assert "libcst" not in warm.stderr
    assert cold.stdout == warm.stdout
