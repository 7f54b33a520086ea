"""How ops start, tensors reach the host, and host data become tensors: timed in the steps that are looked at closely.

The timers stay once they are in place, and do nothing between those steps: to put functions in and out of types makes
Python forget what it has learned about all that calls them.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from time import perf_counter
from types import FrameType
from typing import Any

from tflint_perf.observe.ledger import Ledger
from tflint_perf.observe.places import Row
from tflint_perf.observe.watcher import Watcher

_COPIES = {
    "numpy": "numpy()",
    "__array__": "asarray",
    "__bool__": "bool()",
    "__float__": "float()",
    "__int__": "int()",
    "__index__": "index",
    "__complex__": "complex()",
    "__str__": "str()",
    "__repr__": "repr()",
    "__format__": "format()",
    "__iter__": "iteration",
}
# Iterating takes ops, not copies; it stands there so that its ops are laid to the loop.
_NO_COPY = frozenset({"__iter__"})
_ARRAYS = (
    "asarray",
    "array",
    "mean",
    "sum",
    "argmax",
    "argmin",
    "max",
    "min",
    "append",
    "concatenate",
    "stack",
)
_READS, _WRITES = ("ReadFile", "DecodeRaw"), ("WriteFile",)
_CHECKPOINTS = ("SaveV2", "RestoreV2", "MergeV2Checkpoints")
_NOTHING: Row = ("?", 0)


class Close:
    """Puts timers in place."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher

    def _add(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        original = owner.__dict__.get(name) if owner is not None else None
        if original is not None:
            timed = make(original)
            if hasattr(original, "__name__"):
                functools.update_wrapper(timed, original)
            setattr(owner, name, timed)

    def install(self) -> None:
        """Before the first step that is looked at closely."""
        modules = sys.modules
        tfe = modules.get("tensorflow.python.pywrap_tfe")
        self._add(tfe, "TFE_Py_FastPathExecute", self._fast)
        self._add(tfe, "TFE_Py_Execute", self._execute)
        ops = modules.get("tensorflow.python.framework.ops")
        base = getattr(ops, "_EagerTensorBase", None)
        for name, what in _COPIES.items():
            if name not in _NO_COPY:
                self._add(base, name, functools.partial(self._copy, what))
        constants = modules.get("tensorflow.python.framework.constant_op")
        self._add(constants, "convert_to_eager_tensor", self._conversion)
        iterators = modules.get("tensorflow.python.data.ops.iterator_ops")
        owned = getattr(iterators, "OwnedIterator", None)
        for name in ("__next__", "get_next", "get_next_as_optional"):
            self._add(owned, name, self._input)
        numpy = modules.get("numpy")
        for name in _ARRAYS:
            self._add(numpy, name, functools.partial(self._array, name))

    def _row(self, frame: FrameType | None) -> Row:
        places = self._watcher.places
        user = places.innermost(frame)
        return places.row(user) if user is not None else _NOTHING

    def _fast(self, original: Any) -> Any:
        watcher, ledger, row_of = self._watcher, self._watcher.ledger, self._row

        def fast(context: Any, op: Any, *args: Any, **keywords: Any) -> Any:
            if not ledger.on or not watcher.is_watched():
                return original(context, op, *args, **keywords)
            name = _name_of(op)
            kind, part = _kind_of(name)
            entered = ledger.enter(part)
            try:
                return original(context, op, *args, **keywords)
            finally:
                seconds = ledger.leave(entered)
                if seconds >= 0 and ledger.current != "input":
                    ledger.note(kind, name, row_of(sys._getframe(1)), seconds)

        return fast

    def _execute(self, original: Any) -> Any:
        watcher, ledger, row_of = self._watcher, self._watcher.ledger, self._row

        def execute(context: Any, device: Any, op: Any, *args: Any, **keywords: Any) -> Any:
            if not ledger.on or not watcher.is_watched():
                return original(context, device, op, *args, **keywords)
            name = _name_of(op)
            is_function = name.startswith("__")
            kind, part = ("function", "function") if is_function else _kind_of(name)
            entered = ledger.enter(part)
            try:
                return original(context, device, op, *args, **keywords)
            finally:
                seconds = ledger.leave(entered)
                if seconds >= 0 and ledger.current != "input":
                    what = _plain_name(name) if is_function else name
                    ledger.note(kind, what, row_of(sys._getframe(1)), seconds)

        return execute

    def _copy(self, what: str, original: Any) -> Any:
        watcher, ledger, row_of = self._watcher, self._watcher.ledger, self._row

        def copy(tensor: Any, *args: Any, **keywords: Any) -> Any:
            if not ledger.on or ledger.current == "copies" or not watcher.is_watched():
                return original(tensor, *args, **keywords)
            entered = ledger.enter("copies")
            size = 0
            try:
                result = original(tensor, *args, **keywords)
                size = getattr(result, "nbytes", 0) or 0
                return result
            finally:
                seconds = ledger.leave(entered)
                if seconds >= 0:
                    frame = sys._getframe(1)
                    ledger.note("copy", _by_whom(frame, what), row_of(frame), seconds, size)

        return copy

    def _array(self, name: str, original: Any) -> Any:
        watcher, ledger, row_of = self._watcher, self._watcher.ledger, self._row

        def array(value: Any = None, *args: Any, **keywords: Any) -> Any:
            if not ledger.on:
                return original(value, *args, **keywords)
            first = value[0] if type(value) in (list, tuple) and value else value
            if (
                type(first).__name__ != "EagerTensor"
                or ledger.current in ("copies", "conversions")
                or not watcher.is_watched()
            ):
                return original(value, *args, **keywords)
            entered = ledger.enter("copies")
            size = 0
            try:
                result = original(value, *args, **keywords)
                size = getattr(result, "nbytes", 0) or 0
                return result
            finally:
                seconds = ledger.leave(entered)
                if seconds >= 0:
                    ledger.note("copy", f"np.{name}", row_of(sys._getframe(1)), seconds, size)

        return array

    def _conversion(self, original: Any) -> Any:
        watcher, ledger, row_of = self._watcher, self._watcher.ledger, self._row

        def convert(value: Any, *args: Any, **keywords: Any) -> Any:
            kind = type(value).__name__
            if (
                not ledger.on
                or kind == "EagerTensor"
                or ledger.current == "conversions"
                or not watcher.is_watched()
            ):
                return original(value, *args, **keywords)
            entered = ledger.enter("conversions")
            try:
                return original(value, *args, **keywords)
            finally:
                seconds = ledger.leave(entered)
                if seconds >= 0:
                    size = getattr(value, "nbytes", None)
                    if size is None:
                        size = 8 * len(value) if isinstance(value, (list, tuple)) else 0
                    ledger.note("conversion", kind, row_of(sys._getframe(1)), seconds, size)

        return convert

    def _input(self, original: Any) -> Any:
        watcher, ledger, row_of = self._watcher, self._watcher.ledger, self._row

        def following(iterator: Any, *args: Any, **keywords: Any) -> Any:
            if not ledger.on or ledger.current == "input" or not watcher.is_watched():
                return original(iterator, *args, **keywords)
            entered = ledger.enter("input")
            try:
                return original(iterator, *args, **keywords)
            finally:
                seconds = ledger.leave(entered)
                if seconds >= 0:
                    ledger.note("input", "next", row_of(sys._getframe(1)), seconds)

        return following


def _name_of(op: Any) -> str:
    return op.decode() if isinstance(op, bytes) else str(op)


def _kind_of(name: str) -> tuple[str, str]:
    """The kind of event that an eager op is, and the part that its time goes to."""
    if name.startswith("IteratorGetNext"):
        return "input", "input"
    if (name.startswith("Write") and name.endswith(("Summary", "SummaryV2"))) or name == "WriteSummary":
        return "summary", "files"
    if name in _CHECKPOINTS:
        return "checkpoint", "files"
    if name in _READS or name in _WRITES:
        return "file", "files"
    return "op", "op"


def _plain_name(op: str) -> str:
    """`__inference_train_step_123` is `train_step`."""
    name = op.lstrip("_")
    for start in ("inference_", "forward_", "backward_"):
        name = name[len(start) :] if name.startswith(start) else name
    return name.rstrip("0123456789").rstrip("_") or op


def _by_whom(frame: FrameType, what: str) -> str:
    """`print` where it is printed."""
    code = frame.f_code
    if what in ("str()", "repr()", "format()") and "print" in code.co_names:
        return "print"
    return what


def cost_of_a_timer(watcher: Watcher, *, on: bool, repeats: int = 2000) -> float:
    """Seconds that a timer takes here, with the way to the user's line, to be taken off what was measured.

    With `on` False, what one takes that has nothing to do.
    """

    def nothing(context: Any, op: Any) -> None:
        return None

    kept, watcher.ledger = watcher.ledger, Ledger()
    if on:
        watcher.ledger.begin()
    timed = Close(watcher)._fast(nothing)

    def run(function: Callable[..., Any]) -> float:
        began = perf_counter()
        for _ in range(repeats):
            function(None, "NoOp")
        return (perf_counter() - began) / repeats

    try:
        return max(min(run(timed) for _ in range(3)) - min(run(nothing) for _ in range(3)), 0.0)
    finally:
        watcher.ledger = kept
