"""What is measured in the process that trains. TensorFlow is looked at only once the script has imported it."""

from __future__ import annotations

import gc
import os
import sys
from collections import Counter
from contextlib import suppress
from typing import Any

import psutil

_CACHE_MODULE = "tensorflow.core.function.polymorphism.function_cache"


def resident() -> int:
    """Bytes of this process in memory."""
    return int(psutil.Process().memory_info().rss)


class Traces:
    """Counts how often a Python function was traced.

    TensorFlow's own count (`experimental_get_tracing_count`) is the number of entries in a function's cache, and
    is gone with the function. So the entries are counted as they are added: a function that is made anew each
    step counts each time.
    """

    def __init__(self) -> None:
        self.count = 0
        self._hooked = False

    def hook(self) -> None:
        """Begin to count, if TensorFlow has been imported and this has not begun before."""
        module = sys.modules.get(_CACHE_MODULE)
        if module is None or self._hooked:
            return
        add = module.FunctionCache.add

        def counted(*arguments: Any, **keywords: Any) -> Any:
            self.count += 1
            return add(*arguments, **keywords)

        module.FunctionCache.add = counted
        self._hooked = True


def live_tensors_and_graph_ops() -> tuple[int, int]:
    """How many tensors are alive, and how many ops are in all graphs that are; garbage is collected first."""
    gc.collect()
    tensorflow = sys.modules.get("tensorflow")
    graph_type = tensorflow.Graph if tensorflow else ()
    objects = gc.get_objects()
    kinds = Counter(map(type, objects))  # not `isinstance`, which runs the code of proxies
    tensors = sum(count for kind, count in kinds.items() if kind.__name__ == "EagerTensor")
    graphs = {kind for kind in kinds if issubclass(kind, graph_type)}
    ops = sum(len(item.get_operations()) for item in objects if type(item) in graphs) if graphs else 0
    return tensors, ops


class Gpus:
    """The GPUs that the script runs on; none of its methods brings one to life before the script does."""

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted
        self._before = reserved(everyone=True) if wanted else None

    @property
    def used(self) -> bool:
        return self._wanted and "tensorflow" in sys.modules

    def hidden(self) -> bool:
        """Whether the script has put the GPUs out of its own sight, so that what it ran, ran on the CPU."""
        return self.used and not sys.modules["tensorflow"].config.get_visible_devices("GPU")

    def synchronize(self) -> None:
        """Wait until all that was asked of the GPUs is done. A session's `run` has waited already."""
        tensorflow = sys.modules.get("tensorflow")
        if self.used and tensorflow and tensorflow.executing_eagerly():
            tensorflow.test.experimental.sync_devices()

    def memory(self) -> dict[str, int | None] | None:
        """Bytes: `current` and `peak` by TensorFlow's count, `reserved` by the driver's."""
        tensorflow = sys.modules.get("tensorflow")
        if not self.used or tensorflow is None:
            return None
        taken: dict[str, int | None] = {"current": None, "peak": None}
        if tensorflow.executing_eagerly():
            count = len(tensorflow.config.list_logical_devices("GPU"))
            infos = [tensorflow.config.experimental.get_memory_info(f"GPU:{gpu}") for gpu in range(count)]
            taken = {name: sum(int(info[name]) for info in infos) for name in taken}
        return {**taken, "reserved": self._reserved()}

    def _reserved(self) -> int | None:
        own = reserved(everyone=False)
        if own is not None:
            return own
        now = reserved(everyone=True)
        # Less than before: a neighbour has given memory back, and how much this process took cannot be told.
        if now is None or self._before is None or now < self._before:
            return None
        return now - self._before


def reserved(everyone: bool) -> int | None:
    """Bytes that the driver has given away on all GPUs: to everyone, or to this process.

    None without NVML, or where the driver does not know this process: in a container it has another number.
    """
    try:
        import pynvml
    except ImportError:
        return None
    with suppress(pynvml.NVMLError):
        pynvml.nvmlInit()
        handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
        if everyone:
            return sum(int(pynvml.nvmlDeviceGetMemoryInfo(handle).used) for handle in handles)
        running = [
            process
            for handle in handles
            for process in pynvml.nvmlDeviceGetComputeRunningProcesses(handle)
            if process.pid == os.getpid() and process.usedGpuMemory
        ]
        return sum(int(process.usedGpuMemory) for process in running) or None
    return None
