"""What is counted a few times in a run: memory, tensors that are alive, and who holds them."""

from __future__ import annotations

import gc
import os
import sys
from collections import Counter
from contextlib import suppress
from types import FrameType, ModuleType
from typing import Any

from tflint_perf.observe.places import Places, Row

_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_HOPS = 5
_LOOKED_AT = 12
_WIDTH = 8
_TENSOR = "EagerTensor"
_CONTAINERS = frozenset({"deque", "defaultdict", "OrderedDict"})


def resident() -> int:
    """Bytes of this process in memory; 0 where the system does not tell without psutil."""
    with suppress(OSError, ValueError), open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * _PAGE
    with suppress(ImportError):
        import psutil

        return int(psutil.Process().memory_info().rss)
    return 0


def device_memory() -> int:
    """Bytes that TensorFlow's allocator has given away on all GPUs; 0 without one."""
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is None or not tensorflow.executing_eagerly():
        return 0
    gpus = tensorflow.config.list_logical_devices("GPU")
    infos = [tensorflow.config.experimental.get_memory_info(gpu.name[-5:]) for gpu in gpus]
    return sum(int(info["current"]) for info in infos)


def live_tensors() -> list[Any]:
    """The tensors that are alive. Nothing is collected for it: a program that leaves cycles behind keeps what they hold."""
    kind = getattr(sys.modules.get("tensorflow.python.framework.ops"), _TENSOR, None)
    # Not `isinstance`, which runs the code of proxies.
    return [item for item in gc.get_objects() if type(item) is kind] if kind is not None else []


def holders(kept: list[Any], places: Places, frame: FrameType | None) -> list[tuple[str, Row, int]]:
    """Who holds these tensors, in words, where, and how many of those that were looked at."""
    found: Counter[tuple[str, Row]] = Counter()
    frames = {id(user): user for user in places.stack(frame)}
    looked_at = kept[:: max(1, len(kept) // _LOOKED_AT)]
    ours = {id(kept), id(looked_at)}
    for tensor in looked_at:
        found[_holder(tensor, ours, places, frames)] += 1
    return [(said, row, count) for (said, row), count in found.most_common()]


def _holder(tensor: Any, ours: set[int], places: Places, frames: dict[int, FrameType]) -> tuple[str, Row]:
    """The way from a tensor outwards, to a name of the user's.

    Without a function or generator inside: what those share with this one would be found as a holder, too.
    """
    level = [tensor]
    ours = {*ours, id(frames)}
    for _ in range(_HOPS):
        ours |= {id(level), *map(id, level)}
        owners = gc.get_referrers(*level)
        ours.add(id(owners))
        outer: list[Any] = []
        ours.add(id(outer))
        for owner in owners:
            if id(owner) in ours or isinstance(owner, (FrameType, ModuleType)):
                continue
            named = _named(owner, level, places) or _local(owner, places, frames)
            if named is not None:
                return named
            if isinstance(owner, (list, dict, tuple, set)) or type(owner).__name__ in _CONTAINERS:
                outer.append(owner)
        if not outer:
            break
        level = outer[:_WIDTH]
    return "what could not be told", ("?", 0)


def _local(owner: Any, places: Places, frames: dict[int, FrameType]) -> tuple[str, Row] | None:
    """A name of a function, or of a module, that runs."""
    for user in frames.values():
        for name, value in user.f_locals.items():
            if value is owner:
                file, _ = places.row(user)
                return f"{type(owner).__name__} `{name}`", (file, user.f_code.co_firstlineno)
    return None


def _named(owner: Any, level: list[Any], places: Places) -> tuple[str, Row] | None:
    """A global of the user's module, or an attribute of an object, that is one of these."""
    if type(owner) is dict and "__name__" in owner and "__file__" in owner:
        file = places.name_of(str(owner["__file__"]))
        found = _name_in(owner, level)
        if file is not None and found is not None:
            return f"{type(owner[found]).__name__} `{found}`", (file, 1)
        return None
    attributes = getattr(owner, "__dict__", None) if type(owner).__module__ != "builtins" else None
    if type(attributes) is dict:
        found = _name_in(attributes, level)
        if found is not None:
            return f"{type(attributes[found]).__name__} `{found}` of a {type(owner).__name__}", ("?", 0)
    return None


def _name_in(names: dict[str, Any], level: list[Any]) -> str | None:
    for name, value in names.items():
        for thing in level:
            if value is thing and type(thing).__name__ != _TENSOR:
                return str(name)
    return None
