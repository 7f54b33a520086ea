"""How ops start, tensors reach the host, and host data become tensors: timed in the steps that are looked at closely.

The timers stay once they are in place, and do nothing between those steps: to put functions in and out of types makes
Python forget what it has learned about all that calls them.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from time import perf_counter
from types import FrameType, ModuleType
from typing import Any

from tflint_perf.observe.ledger import Ledger
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
}
# Functions of NumPy that ask no argument who it is, and read a tensor's memory without a method of its.
_ARRAYS = ("array", "asarray", "asanyarray", "ascontiguousarray")
# What only asks a tensor for what it knows without its values.
_DESCRIBE = frozenset(
    {"can_cast", "common_type", "iscomplexobj", "isrealobj", "ndim", "result_type", "shape"}
)
_READS, _WRITES = ("ReadFile", "DecodeRaw"), ("WriteFile",)
_CHECKPOINTS = ("SaveV2", "RestoreV2", "MergeV2Checkpoints")
# From the first argument, the result and the frame that calls: a word, and bytes.
_Told = Callable[[Any, Any, FrameType], tuple[str, int]]
_IsMeant = Callable[[Sequence[Any]], bool]


class Timers:
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
        self._add(tfe, "TFE_Py_FastPathExecute", functools.partial(self._op, 1))
        self._add(tfe, "TFE_Py_Execute", functools.partial(self._op, 2))
        ops = modules.get("tensorflow.python.framework.ops")
        base = getattr(ops, "_EagerTensorBase", None)
        timed = functools.partial
        for name, what in _COPIES.items():
            self._add(base, name, timed(self._timed, "copies", "copy", _copied(what)))
        constants = modules.get("tensorflow.python.framework.constant_op")
        convert = timed(self._timed, "conversions", "conversion", _converted, is_meant=_is_host_data)
        self._add(constants, "convert_to_eager_tensor", convert)
        iterators = modules.get("tensorflow.python.data.ops.iterator_ops")
        owned = getattr(iterators, "OwnedIterator", None)
        for name in ("__next__", "get_next", "get_next_as_optional"):
            self._add(owned, name, timed(self._timed, "input", "input", _taken))
        numpy = modules.get("numpy")
        if numpy is not None and base is not None:
            self._watch_numpy(numpy, base)

    def _watch_numpy(self, numpy: ModuleType, base: Any) -> None:
        """Time what NumPy does with tensors: it takes their memory, and calls no method of theirs for it."""
        for name in _ARRAYS:
            self._add(numpy, name, functools.partial(self._of_numpy, name))
        if not hasattr(base, "__array_function__"):
            base.__array_function__ = self._array_function()
        plain = {name: value for name, value in vars(numpy).items() if isinstance(value, numpy.ufunc)}
        by_id = {id(value): _Ufunc(value, self._of_numpy(value.__name__, value)) for value in plain.values()}
        timed = {name: by_id[id(value)] for name, value in plain.items()}
        # Only while it is looked: compilers know these functions by their identity.
        self._watcher.ledger.on_turn.append(lambda on: vars(numpy).update(timed if on else plain))

    def _of_numpy(self, name: str, original: Any) -> Any:
        return self._timed("copies", "copy", _copied(f"np.{name}"), original, _is_tensor)

    def _array_function(self) -> Any:
        """What NumPy's functions ask a tensor to do in their place: the same, in some time."""
        known: dict[Any, Any] = {}

        def call(tensor: Any, function: Any, types: Any, args: Any, keywords: Any) -> Any:
            timed = known.get(function)
            if timed is None:
                timed = function._implementation
                if function.__name__ not in _DESCRIBE:
                    copied = _copied(f"np.{function.__name__}")
                    timed = self._timed("copies", "copy", copied, timed, lambda args: True)
                known[function] = timed
            return timed(*args, **keywords)

        return call

    def _op(self, position: int, original: Any) -> Any:
        """Of what starts an op or a function, whose name is the argument at `position`."""
        watcher, ledger, rows_of = self._watcher, self._watcher.ledger, self._watcher.places.rows

        def start(*args: Any, **keywords: Any) -> Any:
            watcher.started += 1
            if not ledger.on or not watcher.is_watched():
                return original(*args, **keywords)
            name = _name_of(args[position])
            is_function = name.startswith("__")
            kind, part = ("function", "function") if is_function else _kind_of(name)
            entered = ledger.enter(part)
            try:
                return original(*args, **keywords)
            finally:
                seconds = ledger.leave(entered)
                if seconds >= 0 and ledger.current != "input":
                    what = _plain_name(name) if is_function else name
                    ledger.note(kind, what, rows_of(sys._getframe(1)), seconds)

        return start

    def _timed(self, part: str, kind: str, told: _Told, original: Any, is_meant: _IsMeant = bool) -> Any:
        """Of what takes its first argument to be timed, if that `is_meant`: once, where one calls the other.

        `told` gives what it was, in a word, and the bytes that it moved.
        """
        watcher, ledger, rows_of = self._watcher, self._watcher.ledger, self._watcher.places.rows

        def call(*args: Any, **keywords: Any) -> Any:
            if not ledger.on or ledger.current == part or not watcher.is_watched() or not is_meant(args):
                return original(*args, **keywords)
            entered = ledger.enter(part)
            result = None
            try:
                result = original(*args, **keywords)
                return result
            finally:
                seconds = ledger.leave(entered)
                if seconds >= 0:
                    frame = sys._getframe(1)
                    what, size = told(args[0] if args else None, result, frame)
                    ledger.note(kind, what, rows_of(frame), seconds, size)

        return call


class _Ufunc:
    """Passes for a function of NumPy that has methods, as `np.add.reduce`, and calls another when it is called."""

    def __init__(self, original: Any, call: Callable[..., Any]) -> None:
        self.__module__, self.__name__, self.__doc__ = "numpy", original.__name__, original.__doc__
        self._original, self._call = original, call

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self._call(*args, **keywords)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)

    def __eq__(self, other: object) -> bool:
        return other is self or other is self._original

    def __hash__(self) -> int:
        return hash(self._original)

    def __repr__(self) -> str:
        return repr(self._original)

    def __reduce__(self) -> Any:
        return self._original.__reduce__()

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self._original)


def _size_of(value: Any) -> int:
    size: int = getattr(value, "nbytes", 0) or 0
    return size


def _copied(what: str) -> _Told:
    return lambda tensor, result, frame: (_by_whom(frame, what), _size_of(result))


def _converted(value: Any, result: Any, frame: FrameType) -> tuple[str, int]:
    size = 8 * len(value) if isinstance(value, (list, tuple)) else _size_of(value)
    return type(value).__name__, size


def _taken(iterator: Any, result: Any, frame: FrameType) -> tuple[str, int]:
    return "next", 0


def _is_tensor(args: Sequence[Any]) -> bool:
    """Whether it is given a tensor, or a list of some."""
    items = args[0][:1] if args and type(args[0]) in (list, tuple) else args
    return any(type(item).__name__ == "EagerTensor" for item in items)


def _is_host_data(args: Sequence[Any]) -> bool:
    return bool(args) and type(args[0]).__name__ != "EagerTensor"


def _name_of(op: Any) -> str:
    return op.decode() if isinstance(op, bytes) else str(op)


def _kind_of(name: str) -> tuple[str, str]:
    """The kind of event that an eager op is, and the part that its time goes to."""
    if name.startswith("IteratorGetNext"):
        return "input", "input"
    if (name.startswith("Write") and name.endswith(("Summary", "SummaryV2"))) or name == "FlushSummaryWriter":
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
    timed = Timers(watcher)._op(1, nothing)

    def run(function: Callable[..., Any]) -> float:
        began = perf_counter()
        for _ in range(repeats):
            function(None, "NoOp")
        return (perf_counter() - began) / repeats

    try:
        return max(min(run(timed) for _ in range(3)) - min(run(nothing) for _ in range(3)), 0.0)
    finally:
        watcher.ledger = kept
