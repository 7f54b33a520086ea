"""TensorFlow's own profiler, for a few steps: what goes on inside compiled functions, which Python does not see."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

_MODULE = "tensorflow.python.profiler.internal._pywrap_profiler"
_EVENTS = "tensorflow.tsl.profiler.protobuf.trace_events_pb2"
_NOISE = (b"profiler_session.cc", b"session_manager.cc", b"profiler_backend", b"cupti")
_PICO = 1e12
# The kind of event that the call of a compiled function is, which the profiler has under the function's name.
_FUNCTIONS = "functions"
_NEXT = "IteratorGetNextOp"


class Profile:
    """Seconds that were spent in each kind of event, of `seconds` that were looked at.

    The first half of what was profiled is left out: what was slower before has let the input get ahead.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.events: dict[str, float] = {}
        self._session: Any = None

    def start(self) -> bool:
        """Begin, if nobody else profiles, as the program itself may."""
        if "tensorflow" not in sys.modules:
            return False
        with suppress(Exception), _quietly():  # of whatever version this is, and whoever else profiles
            self._session = import_module(_MODULE).ProfilerSession()
            self._session.start("", {})
            return True
        self._session = None
        return False

    def stop(self) -> None:
        """End, and add up what was seen."""
        session, self._session = self._session, None
        if session is None:
            return
        with suppress(Exception):
            with _quietly():
                answer = session.stop()
            trace = import_module(_EVENTS).Trace()
            trace.ParseFromString(answer)
            self._add(trace)

    def forget(self) -> None:
        """End, and leave out what was seen."""
        session, self._session = self._session, None
        if session is not None:
            with suppress(Exception), _quietly():
                session.stop()

    def _add(self, trace: Any) -> None:
        names = {
            (device.device_id, resource.resource_id): resource.name
            for device in trace.devices.values()
            for resource in device.resources.values()
        }
        events = list(trace.trace_events)
        own = [event for event in events if _is_own(names, event)]
        if not own:
            return
        first = min(event.timestamp_ps for event in own)
        last = max(event.timestamp_ps + event.duration_ps for event in own)
        middle = (first + last) // 2
        self.seconds += (last - middle) / _PICO
        for event in events:
            kind = event.name.partition("#")[0].partition(":")[0].strip()
            if kind == "EagerLocalExecute" and event.name.partition(":")[2].strip().startswith("__"):
                kind = _FUNCTIONS
            begun = max(event.timestamp_ps, middle)
            seconds = (min(event.timestamp_ps + event.duration_ps, last) - begun) / _PICO
            if seconds > 0 and (kind == _NEXT or _is_own(names, event)):
                self.events[kind] = self.events.get(kind, 0.0) + seconds


def _is_own(names: Mapping[tuple[int, int], str], event: Any) -> bool:
    """Whether it is of a thread that Python runs in."""
    return names.get((event.device_id, event.resource_id), "").startswith("python")


@contextmanager
def _quietly() -> Iterator[None]:
    """Keep the profiler's own lines off standard error, and nobody else's."""
    try:
        kept = os.dup(2)
    except OSError:
        yield
        return
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            others = [line for line in file if not any(noise in line for noise in _NOISE)]
            if others:
                with suppress(OSError):
                    os.write(2, b"".join(others))
