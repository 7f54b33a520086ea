"""Where experiments run, as evidence tells it."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

from tflint_perf.cli.options import cores
from tflint_perf.problems import ConfigError
from tflint_perf.verify.process import DeviceKind, Failure, described
from tflint_perf.verify.records import Device
from tflint_perf.version import __version__


@dataclass(frozen=True, slots=True)
class Place:
    """A device, and the versions of what runs on it."""

    device: Device
    versions: dict[str, str]


def find_place(wanted: DeviceKind | None, python: str = sys.executable) -> Place:
    """The device that experiments will run on, by `python`: the GPU if there is one, unless another is wanted.

    Raises:
        ConfigError: TensorFlow cannot be used, or there is no GPU and one is wanted.
    """
    try:
        facts = described("cpu" if wanted == "cpu" else "gpu", python)
    except Failure as failure:
        raise ConfigError(failure.reason, "verify") from None
    versions = {**facts["versions"], "tflint-perf": __version__}
    if facts["gpus"]:
        name = " + ".join(sorted(facts["gpus"]))
        return Place(Device("gpu", name, facts["driver"], facts["gpu_memory"]), versions)
    if wanted == "gpu":
        raise ConfigError("TensorFlow sees no GPU here", "--device gpu")
    import psutil

    name = f"CPU ({cores()} core{'s' * (cores() != 1)})"
    return Place(Device("cpu", name, None, int(psutil.virtual_memory().total)), versions)


def load() -> float:
    """How busy the machine is: processes that want to run, a core; 0 where the system does not tell."""
    return os.getloadavg()[0] / cores() if hasattr(os, "getloadavg") else 0.0
