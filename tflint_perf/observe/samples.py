"""What is counted a few times in a run: memory, tensors that are alive, and who holds them."""

from __future__ import annotations

import gc
import os
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterator
from contextlib import suppress
from types import FrameType, ModuleType
from typing import Any

from tflint_perf.observe.user_code import Places, Row

_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_TENSOR = "EagerTensor"
_TAPE = "GradientTape"
_CONTAINERS = frozenset({list, dict, tuple, set, frozenset, deque, defaultdict, OrderedDict})
_DEEPEST = 4
_MOST_LOOKED_AT = 50_000
# Stands in a label for the type of what is found there.
_KIND = "\N{OBJECT REPLACEMENT CHARACTER}"
_NOBODY: tuple[str, Row] = ("what no name of the program leads to", ("?", 0))


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


def holders(kept: set[int], places: Places, frame: FrameType | None) -> list[tuple[str, Row, int]]:
    """Who holds the tensors with these ids, in words, where, and how many.

    Looked for from the user's own names inwards: globals of modules, variables of the functions that run, attributes of
    objects of the user's classes. Asking Python who refers to an object (`gc.get_referrers`) gives objects that are not
    whole, too, and ends in crashes. A tape keeps what it records where Python does not see it: what no name leads to is
    the tape's where one is in sight, and else stands for itself.
    """
    found: Counter[tuple[str, Row]] = Counter()
    nobody = _NOBODY
    seen: set[int] = set()
    waiting = deque(_roots(places, frame))
    while waiting and len(seen) < _MOST_LOOKED_AT:
        label, row, value, depth = waiting.popleft()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if type(value) in _CONTAINERS:
            label = label.replace(_KIND, type(value).__name__)
            items = list(value.values()) if isinstance(value, dict) else list(value)
            held = [item for item in items if type(item).__name__ == _TENSOR and id(item) in kept]
            if held:
                found[label, row] += len(held)
                kept = kept.difference(map(id, held))
            inner = [(label, row, item, depth + 1) for item in items if type(item) in _CONTAINERS]
            waiting.extend(inner if depth < _DEEPEST else ())
        elif type(value).__name__ == _TAPE:
            nobody = label.replace(_KIND, "tape"), row
        elif depth < _DEEPEST and _is_users(type(value), places):
            kind = type(value).__name__
            attributes = getattr(value, "__dict__", None)
            for name, item in list(attributes.items()) if type(attributes) is dict else ():
                waiting.append((f"{_KIND} `{name}` of {kind}", row, item, depth + 1))
    if kept:
        found[nobody] = len(kept)
    return [(label, row, count) for (label, row), count in found.most_common()]


def _roots(places: Places, frame: FrameType | None) -> Iterator[tuple[str, Row, Any, int]]:
    for user in places.stack(frame):
        if user.f_code.co_name != "<module>":
            row = places.row(user)[0], user.f_code.co_firstlineno
            for name, value in list(user.f_locals.items()):
                yield f"{_KIND} `{name}`", row, value, 0
    for module in list(sys.modules.values()):
        file = vars(module).get("__file__") if type(module) is ModuleType else None
        own = places.name_of(file) if isinstance(file, str) else None
        if own is not None:
            for name, value in list(vars(module).items()):
                yield f"{_KIND} `{name}` of {own}", (own, 1), value, 0


def _is_users(kind: type, places: Places) -> bool:
    module = sys.modules.get(kind.__module__)
    file = vars(module).get("__file__") if type(module) is ModuleType else None
    return isinstance(file, str) and places.name_of(file) is not None
