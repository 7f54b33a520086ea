"""A GPU that is not there: what TensorFlow and the driver say of it are figures that were recorded on one.

`pynvml` and the part of TensorFlow that knows of GPUs are replaced; all else is what runs on a GPU. Figures are by script,
`slow.py` or `fast.py`, so that what the verifier makes of them can be told in advance.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

EVIDENCE = Path(__file__).parents[2] / "fixtures" / "evidence" / "nvidia-h100-80gb-hbm3.json"

# NVML's own names. Each look at the memory gives the next of the figures, and the last for ever.
PYNVML = """
import json, os, sys, types

RECORDED = json.loads(os.environ["RECORDED_GPU"])
looks = 0


class NVMLError(Exception):
    pass


def nvmlInit():
    if RECORDED.get("no driver"):
        raise NVMLError("Driver Not Loaded")


def nvmlSystemGetDriverVersion():
    return RECORDED["driver"]


def nvmlDeviceGetCount():
    return 1


def nvmlDeviceGetHandleByIndex(index):
    return index


def script():
    return os.path.basename(sys.argv[0]).removesuffix(".py")


def nvmlDeviceGetMemoryInfo(handle):
    global looks
    # The first look is before the script runs, when the argument is not yet its path.
    used = RECORDED["before"] if script() not in ("slow", "fast") else RECORDED["reserved"][script()]
    looks += 1
    return types.SimpleNamespace(total=RECORDED["memory"], used=used)


def nvmlDeviceGetComputeRunningProcesses(handle):
    own = RECORDED.get("own")
    if own is None:  # in a container, the driver knows it by another number
        return [types.SimpleNamespace(pid=1, usedGpuMemory=12345)]
    return [types.SimpleNamespace(pid=os.getpid(), usedGpuMemory=own[script()])]
"""

# What is put over a TensorFlow, whether a real one or `support.FAKE_TENSORFLOW`.
OVER_TENSORFLOW = """
import json, os, sys, types

RECORDED = json.loads(os.environ["RECORDED_GPU"])
IMPORTED_BY = os.getpid()


def cover(tensorflow):
    gpu = types.SimpleNamespace(name="/physical_device:GPU:0", device_type="GPU")
    config = tensorflow.config
    physical, visible = config.list_physical_devices, config.get_visible_devices

    def memory_info(device):
        assert device == "GPU:0", device
        return RECORDED["memory info"][os.path.basename(sys.argv[0]).removesuffix(".py")]

    def synchronized():
        forked = os.getpid() != IMPORTED_BY
        if forked and RECORDED.get("no fork"):
            raise RuntimeError("CUDA_ERROR_NOT_INITIALIZED")
        with open(RECORDED["log"], "a") as log:
            log.write("synchronized " + os.path.basename(sys.argv[0]) + " forked" * forked + chr(10))

    config.list_physical_devices = lambda kind=None: [gpu] if kind == "GPU" else physical(kind)
    config.get_visible_devices = lambda kind=None: [gpu] if kind == "GPU" else visible(kind)
    config.list_logical_devices = lambda kind=None: [gpu] if kind == "GPU" else []
    config.experimental.get_device_details = lambda device: {"device_name": RECORDED["name"]}
    config.experimental.get_memory_info = memory_info
    tensorflow.test.experimental.sync_devices = synchronized
"""


def recorded(log: Path, **other: Any) -> dict[str, Any]:
    """What an H100 and its driver said when TFP403 was measured; `other` in place of that."""
    document = json.loads(EVIDENCE.read_text(encoding="utf-8"))
    pair = document["results"]["TFP403"]["pairs"][0]
    return {
        "name": document["device"]["name"],
        "driver": document["device"]["driver"],
        "memory": document["device"]["memory"],
        "before": 600_000_000,
        "reserved": {side: 600_000_000 + pair[side]["device_memory"]["reserved"] for side in pair},
        "memory info": {
            side: {name: pair[side]["device_memory"][name] for name in ("current", "peak")} for side in pair
        },
        "log": str(log),
    } | other


def environment(figures: Mapping[str, Any]) -> dict[str, str]:
    """The variables by which the processes of scripts learn of these figures."""
    return {"RECORDED_GPU": json.dumps(figures)}
