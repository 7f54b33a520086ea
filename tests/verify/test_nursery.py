"""Runs in forks of a process that has its imports behind it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.verify.support import OPTIONS, experiment, fake_tensorflow
from tflint_perf.verify.experiment import Experiment
from tflint_perf.verify.nursery import Nursery, NurseryError
from tflint_perf.verify.process import new_nursery
from tflint_perf.verify.records import Result
from tflint_perf.verify.runner import run_experiment

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="runs are forked on Linux only"),
]
pytest.importorskip("psutil")
pytest.importorskip("scipy")

QUICK = replace(OPTIONS, quick=True)


@pytest.fixture
def nursery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nursery]:
    monkeypatch.setenv("PYTHONPATH", str(fake_tensorflow(tmp_path)))
    made = new_nursery()
    assert made is not None
    yield made
    made.close()


def run(subject: Experiment, nursery: Nursery, options: object = QUICK) -> Result:
    return run_experiment(subject, options, lambda: None, nursery)  # type: ignore[arg-type]


def test_pairs_are_measured_in_forks(tmp_path: Path, nursery: Nursery) -> None:
    pair = experiment(tmp_path, "takes(4)", "takes(1)")
    result = run(pair, nursery, OPTIONS)
    assert (result.verdict, len(result.pairs)) == ("confirmed", 5)


def test_each_run_has_a_process_and_a_folder_of_its_own(tmp_path: Path, nursery: Nursery) -> None:
    log = tmp_path / "log"
    signs = f"step or open({str(log)!r}, 'a').write(f'{{os.getpid()}} {{os.getcwd()}}' + chr(10))"
    run(experiment(tmp_path, signs, signs), nursery, OPTIONS)
    processes, folders = zip(*(line.split() for line in log.read_text().splitlines()), strict=True)
    assert len(set(processes)) == len(processes)
    # Each script is run once for what it computes; what is left open is given a second look.
    assert (len(processes) - 2) % OPTIONS.runs == 0
    assert str(Path.cwd()) not in folders


def test_temporary_files_of_a_run_go_with_it(tmp_path: Path, nursery: Nursery) -> None:
    log = tmp_path / "log"
    leaves = f"import tempfile; open({str(log)!r}, 'a').write(tempfile.mkstemp()[1] + chr(10))"
    run(experiment(tmp_path, leaves, leaves), nursery)
    left = [Path(line) for line in log.read_text().splitlines()]
    assert left
    assert not any(path.exists() for path in left)


def test_what_a_run_leaves_behind_the_next_does_not_see(tmp_path: Path, nursery: Nursery) -> None:
    each = "assert step or 'left' not in sys.modules; sys.modules['left'] = None"
    assert run(experiment(tmp_path, each, each), nursery, OPTIONS).reason != "failed"
    assert run(experiment(tmp_path, each, each), nursery).verdict == "agrees"


@pytest.mark.parametrize(
    ("each", "timeout", "reason"),
    [
        (
            "os.kill(os.getpid(), 9)",
            60,
            "slow.py: killed by SIGKILL, as the system does when memory runs out",
        ),
        ("os._exit(3)", 60, "slow.py: ended with exit code 3 and without an answer"),
        ("1 / 0", 60, "slow.py: ZeroDivisionError: division by zero"),
        ("time.sleep(600)", 2, "slow.py: took more than 2 s"),
    ],
)
def test_a_fork_that_fails_is_told_and_the_next_runs(
    tmp_path: Path, nursery: Nursery, each: str, timeout: float, reason: str
) -> None:
    result = run(experiment(tmp_path, each), nursery, replace(QUICK, timeout=timeout))
    assert (result.verdict, result.reason) == ("failed", reason)
    assert run(experiment(tmp_path), nursery).verdict == "agrees"


def test_where_the_process_has_died_a_run_has_its_own(tmp_path: Path, nursery: Nursery) -> None:
    nursery.close()
    with pytest.raises(NurseryError):
        nursery.ask({"wait": 1, "block": False})
    assert run(experiment(tmp_path), nursery).verdict == "agrees"
