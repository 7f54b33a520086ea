"""Forked processes: work that one does beside this one, and what is imported before they are made."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tflint_perf.config.settings import Settings
from tflint_perf.project.engine import Local
from tflint_perf.project.forks import are_parsed, beside, spread

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
TRAINS = "import tensorflow as tf\n\nfor batch in data:\n    with tf.GradientTape() as tape:\n        pass\n"
PLAIN = "print(1)\n"


def files(folder: Path, text: str, count: int) -> list[Path]:
    paths = [folder / f"file_{number}.py" for number in range(count)]
    for path in paths:
        path.write_text(text)
    return paths


def settings_in(folder: Path) -> Settings:
    return Settings(root=folder, rules=frozenset({"TFP101"}))


def test_work_is_done_in_another_process_while_this_one_goes_on() -> None:
    here: list[int] = []
    there = beside(os.getpid, lambda: here.append(os.getpid()))
    assert here == [os.getpid()]
    assert there != os.getpid()


def test_work_whose_process_dies_is_done_here() -> None:
    parent = os.getpid()

    def work() -> int:
        if os.getpid() != parent:
            os._exit(3)
        return parent

    assert beside(work, lambda: None) == parent


def test_an_error_in_the_work_is_raised_here(capfd: pytest.CaptureFixture[str]) -> None:
    def work() -> None:
        raise OSError("no such folder")

    with pytest.raises(OSError, match="no such folder"):
        beside(work, lambda: None)


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_parts_of_the_work_are_done_in_as_many_processes(processes: int) -> None:
    done = spread(lambda items: (os.getpid(), list(items)), range(10), processes)
    assert sorted(item for _, items in done for item in items) == list(range(10))
    assert len({process for process, _ in done}) == processes
    assert done[-1][0] == os.getpid()


def test_it_is_known_whether_several_files_are_parsed(tmp_path: Path) -> None:
    plain = files(tmp_path, PLAIN, 60)
    assert not are_parsed(plain, {"TFP101"})
    (tmp_path / "trains").mkdir()
    trains = files(tmp_path / "trains", TRAINS, 8)
    assert are_parsed([*plain[:20], *trains, *plain[20:]], {"TFP101"})
    assert not are_parsed([*plain, *trains[:3]], {"TFP101"})
    assert not are_parsed([tmp_path / "gone.py"] * 9, {"TFP101"})


def test_nothing_is_prepared_where_no_process_is_started(tmp_path: Path) -> None:
    trains = files(tmp_path, TRAINS, 32)
    assert Local(1).preparation(trains, settings_in(tmp_path)) is None
    assert Local(2).preparation(trains[:9], settings_in(tmp_path)) is None


@pytest.mark.parametrize(("text", "imported"), [(TRAINS, True), (PLAIN, False)])
def test_this_process_imports_libcst_before_it_forks_where_files_are_parsed(
    tmp_path: Path, text: str, imported: bool
) -> None:
    files(tmp_path, text, 32)
    code = (
        "import atexit, sys; atexit.register(lambda: print('libcst' in sys.modules)); sys.argv[1:] = ['check', '-j', '2', "
        "'--no-cache', '--isolated', '--quiet', '--select', 'TFP101', '.']; from tflint_perf.start import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[-1] == str(imported), done.stderr
