"""A thread that looks, every few milliseconds, at which line of the program's is being run."""

from __future__ import annotations

import re
import sys
import threading
from time import perf_counter, sleep
from types import FrameType

from tflint_perf.observe.user_code import Places, Stack

_APART = 0.015
# Longer than any look is apart from the next, short enough that a program which has ended is not kept.
_IDLE = 0.5
# Functions that call into TensorFlow's runtime, and wait there.
_OPS = re.compile(r"[/\\\\]gen_\w+_ops\.py$")
_WAITING = frozenset({"quick_execute", "_numpy", "convert_to_eager_tensor", "_call_tf_sessionrun"})
_FRAMEWORKS = ("tensorflow", "keras", "tf_keras", "optree", "wrapt")
_READS_FILES = (
    "PIL",
    "imageio",
    "h5py",
    "pandas",
    "csv",
    "json",
    "pickle",
    "gzip",
    "zipfile",
    "shutil",
    "soundfile",
)
_READING = ("_npyio_impl.py", "npyio.py", "file_io.py", "format.py", "codecs.py", "tokenize.py")


class Sampler:
    """Seconds by line, and by those that have called it. Each look weighs as much as the time since the last, so that what lets no other thread run counts too.

    What goes on between ops is told apart here: Python in TensorFlow and Keras, in what reads and writes files, and other.
    """

    def __init__(self, places: Places) -> None:
        self.lines: dict[Stack, float] = {}
        self.kinds: dict[str, float] = {}
        self.seconds = 0.0
        # The sum of the squares of what each look weighs: how few looks hold most of the time.
        self.squares = 0.0
        # The same while no step goes on.
        self.between: dict[Stack, float] = {}
        self._is_between = False
        self.thread = threading.main_thread().ident or 0
        self._places = places
        self._going = threading.Event()
        self._ended = False
        self._last = 0.0
        self._thread: threading.Thread | None = None

    def go(self, *, between: bool = False) -> None:
        """Look, from now on; what goes on `between` steps is kept apart."""
        self._is_between = between
        self._last = perf_counter()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="tflint-perf", daemon=True)
            self._thread.start()
        self._going.set()

    def pause(self) -> None:
        """Look no more until `go`; what is left since the last look goes to where that was."""
        self._going.clear()

    def lay_to(self, frame: FrameType) -> None:
        """The time since the last look passed in this frame, which has just kept all other threads waiting."""
        rows = self._places.rows(frame)
        if not rows or not self._going.is_set() or threading.get_ident() != self.thread:
            return
        at = perf_counter()
        passed, self._last = at - self._last, at
        self._lay(passed, rows)

    def clear(self) -> None:
        """Forget what was seen."""
        self.lines.clear()
        self.kinds.clear()
        self.between.clear()
        self.seconds = self.squares = 0.0

    def end(self) -> None:
        """Look no more at all."""
        self._going.clear()
        self._ended = True

    def _lay(self, passed: float, rows: Stack) -> None:
        lines = self.between if self._is_between else self.lines
        if rows:
            lines[rows] = lines.get(rows, 0.0) + passed
        if not self._is_between:
            self.seconds += passed
            self.squares += passed * passed

    def _run(self) -> None:
        while not self._ended:
            if not self._going.wait(_IDLE):
                continue
            sleep(_APART)
            frame = sys._current_frames().get(self.thread)
            if frame is None or not self._going.is_set():
                continue
            at = perf_counter()
            passed, self._last = at - self._last, at
            self._lay(passed, self._places.rows(frame))
            kind = None if self._is_between else _kind(frame, self._places.innermost(frame))
            if kind is not None:
                self.kinds[kind] = self.kinds.get(kind, 0.0) + passed


def _kind(frame: FrameType, user: FrameType | None) -> str | None:
    """Whose Python it is that runs; None where it waits for an op or a copy."""
    file = frame.f_code.co_filename
    if frame.f_code.co_name in _WAITING or (_OPS.search(file) and frame.f_code.co_name != "<module>"):
        return None
    inner: FrameType | None = frame
    found = "rest"
    while inner is not None and inner is not user:
        name = str(inner.f_globals.get("__name__", "")).partition(".")[0]
        if name in _READS_FILES or inner.f_code.co_filename.endswith(_READING):
            return "files"
        if name in _FRAMEWORKS:
            found = "dispatch"
        inner = inner.f_back
    return found
