"""Where experiments run, as evidence tells it."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import Any

from tflint_perf.cli.options import cores
from tflint_perf.problems import ConfigError
from tflint_perf.verify.nursery import Nursery, NurseryError
from tflint_perf.verify.process import DeviceKind, Failure, described, new_nursery
from tflint_perf.verify.records import Device
from tflint_perf.version import __version__


@dataclass(frozen=True, slots=True)
class Place:
    """A device, the versions of what runs on it, and what runs are forked of there, if they are."""

    device: Device
    versions: dict[str, str]
    nursery: Nursery | None = None


def find_place(wanted: DeviceKind | None, python: str = sys.executable, *, forks: bool = False) -> Place:
    """The device that experiments will run on, by `python`: the GPU if there is one, unless another is wanted.

    With `forks`, runs are to be forks of a process that has TensorFlow in it. It is a fork that is asked for the device, and
    if that can't use it, none is forked. Whoever asks closes the nursery, where there is one.

    Raises:
        ConfigError: TensorFlow cannot be used, or there is no GPU and one is wanted.
    """
    kind: DeviceKind = "cpu" if wanted == "cpu" else "gpu"
    nursery, facts = _asked_of_fork(kind, python) if forks else (None, None)
    if facts is None:
        try:
            facts = described(kind, python)
        except Failure as failure:
            raise ConfigError(failure.reason, "verify") from None
    versions = {**facts["versions"], "tflint-perf": __version__}
    if facts["gpus"]:
        name = " + ".join(sorted(facts["gpus"]))
        return Place(Device("gpu", name, facts["driver"], facts["gpu_memory"]), versions, nursery)
    if wanted == "gpu":
        if nursery is not None:
            nursery.close()
        raise ConfigError("TensorFlow sees no GPU here", "--device gpu")
    import psutil

    name = f"CPU ({cores()} core{'s' * (cores() != 1)})"
    return Place(Device("cpu", name, None, int(psutil.virtual_memory().total)), versions, nursery)


def _asked_of_fork(kind: DeviceKind, python: str) -> tuple[Nursery | None, dict[str, Any] | None]:
    """What forks are made of, and what one says of the device; nothing if it can't use that."""
    nursery = new_nursery(kind, python)
    if nursery is None:
        return None, None
    try:
        return nursery, described(kind, python, nursery)
    except (Failure, NurseryError):
        nursery.close()
        return None, None


def load() -> float:
    """How busy the machine is: processes that want to run, a core; 0 where the system does not tell."""
    return os.getloadavg()[0] / cores() if hasattr(os, "getloadavg") else 0.0
