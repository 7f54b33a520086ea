"""The whole way of an experiment on a GPU, on a machine without one: what the GPU and its driver say was recorded."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.commandline import CommandLine, Ran
from tests.verify.recorded_gpu import OVER_TENSORFLOW, PYNVML, environment, recorded
from tests.verify.support import fake_tensorflow, script
from tflint_perf.verify import session, size_runs
from tflint_perf.verify.experiment import Experiment
from tflint_perf.verify.machine import Machine, pieces_of_work
from tflint_perf.verify.records import Record, Result, from_json

pytestmark = pytest.mark.slow

for needed in ("psutil", "scipy", "rich"):
    pytest.importorskip(needed)

TENSORFLOW = f"""
import sys, types

__version__ = "9.8.7"
executing_eagerly = lambda: True
test = types.SimpleNamespace(experimental=types.SimpleNamespace())


class Graph:
    pass


class config:
    list_physical_devices = staticmethod(lambda kind=None: [])
    get_visible_devices = staticmethod(lambda kind=None: [])
    experimental = types.SimpleNamespace()

{OVER_TENSORFLOW}

cover(sys.modules[__name__])
"""
# Before anything else is imported, the real TensorFlow is, and gets the GPU; only in the processes of scripts.
REAL = f"""
import tensorflow
{OVER_TENSORFLOW}
cover(tensorflow)
"""
FILE = "nvidia-h100-80gb-hbm3.json"
CODES = ("TFP105", "TFP403", "TFP404")
FEW = ("--steps", "20")


@pytest.fixture(autouse=True)
def calm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "Machine", partial(Machine, lambda: (pieces_of_work() * 0.001, 0.001)))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The experiments of three rules: one of time, two that only a GPU can show."""
    folder = tmp_path / "fixtures"
    for code in CODES:
        for side, each in (("slow", "takes(16)"), ("fast", "takes(4)")):
            file = script(folder / code, side, each)
            file.write_text(f"import tensorflow\n{file.read_text(encoding='utf-8')}", encoding="utf-8")
    monkeypatch.setattr(session, "fixtures", lambda: folder)
    return folder


@pytest.fixture
def on_gpu(tflint_perf: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Runs `verify` where the driver and TensorFlow tell of the GPU that was recorded, or of what is given instead."""
    packages = fake_tensorflow(tmp_path / "packages", TENSORFLOW)
    (packages / "pynvml.py").write_text(PYNVML, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(packages))

    def run(*arguments: str, **figures: Any) -> Ran:
        for name, value in environment(recorded(tmp_path / "log", **figures)).items():
            monkeypatch.setenv(name, value)
        return tflint_perf("verify", *arguments)

    return run


def kept(folder: Path) -> Record:
    return from_json((folder / "evidence" / FILE).read_text(encoding="utf-8"))


def test_evidence_of_a_gpu_has_its_name_its_driver_and_what_it_took(
    folder: Path, on_gpu: Callable[..., Ran], tmp_path: Path
) -> None:
    ran = on_gpu("TFP403", *FEW, "--record")
    assert ran.code == 0, ran.err
    record, said = kept(folder), recorded(tmp_path / "log")
    assert (record.device.kind, record.device.name) == ("gpu", "NVIDIA H100 80GB HBM3")
    assert (record.device.driver, record.device.memory) == (said["driver"], said["memory"])
    result = record.results["TFP403"]
    assert result.verdict == "confirmed"
    assert result.effect is not None
    assert result.effect.value == pytest.approx(736831488 / 450580224, rel=1e-3)
    for pair in result.pairs:
        for run, side in ((pair.slow, "slow"), (pair.fast, "fast")):
            memory = run.device_memory
            assert memory is not None
            assert {"current": memory.current, "peak": memory.peak} == said["memory info"][side]
            assert memory.reserved == said["reserved"][side] - said["before"]


def test_the_device_is_waited_for_at_the_edges_of_windows_only(
    folder: Path, on_gpu: Callable[..., Ran], tmp_path: Path
) -> None:
    assert on_gpu("TFP105", *FEW).code == 0
    waits = (tmp_path / "log").read_text(encoding="utf-8").split()
    # Of each of 12 runs: after the first step, the warm-up, its windows of ten steps or more, and at the end.
    assert waits.count("synchronized") <= 12 * (2 + 5 + 1)
    assert {"slow.py", "fast.py"} <= set(waits)


@pytest.mark.parametrize("bears", [True, False])
def test_runs_are_forks_of_one_import_where_the_gpu_bears_that(
    folder: Path, on_gpu: Callable[..., Ran], tmp_path: Path, bears: bool
) -> None:
    ran = on_gpu("TFP105", *FEW, **({} if bears else {"no fork": True}))
    assert ran.code == 0, ran.err
    waits = (tmp_path / "log").read_text(encoding="utf-8").splitlines()
    of_scripts = [line.split()[2:] for line in waits if line.split()[1] in ("slow.py", "fast.py")]
    assert of_scripts
    assert all(line == (["forked"] if bears else []) for line in of_scripts)


def test_what_only_a_gpu_can_show_goes_first_and_the_rest_after_a_cut(
    folder: Path, on_gpu: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[str] = []
    run = size_runs.run_experiment

    def cut(experiment: Experiment, *rest: Any, **named: Any) -> Result:
        measured.append(experiment.name)
        if len(measured) == 2:
            raise KeyboardInterrupt
        return run(experiment, *rest, **named)

    monkeypatch.setattr(size_runs, "run_experiment", cut)
    with suppress(KeyboardInterrupt):
        on_gpu(*CODES, *FEW, "--record")
    assert measured == ["TFP403", "TFP404"]
    assert [path.name for path in (folder / "evidence").iterdir()] == [FILE.replace(".json", ".unfinished")]
    on_gpu(*CODES, *FEW, "--record", "--resume")
    assert measured == ["TFP403", "TFP404", "TFP404", "TFP105"]
    assert kept(folder).results.keys() == set(CODES)


def test_a_run_with_a_limit_stops_in_time(folder: Path, on_gpu: Callable[..., Ran]) -> None:
    ran = on_gpu(*CODES, *FEW, "--record", "--for", "0.0001")
    assert "time is up: 2 not measured; --resume continues" in ran.err
    assert kept(folder).results.keys() == {"TFP403"}


def test_memory_that_the_driver_gave_is_judged(folder: Path, on_gpu: Callable[..., Ran]) -> None:
    ran = on_gpu("TFP404", *FEW, reserved={"slow": 83_800_000_000, "fast": 1_600_000_000})
    assert ran.code == 0, ran.err
    assert "77 GiB" in ran.out
    # Both took all of it, as the pair of TFP403 did.
    ran = on_gpu("TFP404", *FEW)
    assert "refuted" in ran.out


@pytest.mark.parametrize(
    ("figures", "verdict"),
    [
        # A neighbour gave memory back meanwhile: how much this process took cannot be told.
        ({"before": 84_000_000_000}, "not measurable"),
        ({"no driver": True}, "not measurable"),
        # Where the driver knows the process, a neighbour does not matter.
        ({"before": 84_000_000_000, "own": {"slow": 80_000_000_000, "fast": 1_000_000_000}}, "confirmed"),
    ],
)
def test_what_the_driver_cannot_tell_is_no_figure(
    folder: Path, on_gpu: Callable[..., Ran], figures: dict[str, Any], verdict: str
) -> None:
    ran = on_gpu("TFP404", *FEW, "--output-format", "json", **figures)
    (result,) = json.loads(ran.out)["results"].values()
    assert result["verdict"] == verdict
    if verdict == "not measurable":
        assert {run["device_memory"]["reserved"] for pair in result["pairs"] for run in pair.values()} == {
            None
        }


def test_without_a_driver_that_answers_time_is_measured_all_the_same(
    folder: Path, on_gpu: Callable[..., Ran]
) -> None:
    ran = on_gpu("TFP105", *FEW, "--record", **{"no driver": True})
    assert ran.code == 0, ran.err
    assert (kept(folder).device.driver, kept(folder).device.memory) == (None, 0)


@pytest.mark.skipif(find_spec("tensorflow") is None, reason="TensorFlow is not installed")
def test_a_pair_of_the_project_goes_the_way_of_a_gpu_with_the_real_tensorflow(
    tflint_perf: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All but the GPU itself: what is computed is computed by the CPU."""
    (tmp_path / "sitecustomize.py").write_text(REAL, encoding="utf-8")
    (tmp_path / "pynvml.py").write_text(PYNVML, encoding="utf-8")
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    for name, value in {**environment(recorded(tmp_path / "log")), "PYTHONPATH": path}.items():
        monkeypatch.setenv(name, value)
    ran = tflint_perf("verify", "TFP302", "--quick", "--device", "gpu")
    assert ran.code == 0, ran.err
    assert "agrees: 1; NVIDIA H100 80GB HBM3" in ran.out
    assert "synchronized slow.py" in (tmp_path / "log").read_text(encoding="utf-8")
