"""Which Python functions are made graphs of, how often, for how long, and why again."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter
from types import CodeType, ModuleType
from typing import Any, NamedTuple

from tflint_perf.observe.watcher import Watcher


class Traces:
    """TensorFlow's own count is gone with the function; here one that is made anew each step counts each time."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._before: dict[CodeType, list[_Trace]] = {}
        self._seconds = 0.0
        self._function: Any = None

    def hook_cache(self, module: ModuleType) -> None:
        """Count what is added to the caches of traced functions."""
        watcher = self._watcher

        def made(original: Callable[..., Any]) -> Callable[..., Any]:
            def add(cache: Any, function: Any, *args: Any, **keywords: Any) -> Any:
                watcher.trace_count += 1
                if self._function is not None:
                    self._saw(cache, self._function, getattr(function, "function_type", None))
                return original(cache, function, *args, **keywords)

            return add

        module.FunctionCache.add = made(module.FunctionCache.add)

    def hook_tracing(self, module: ModuleType) -> None:
        """Time how long graphs take to make, the outermost alone."""
        watcher = self._watcher
        depth = [0]
        original: Callable[..., Any] = vars(module)["_create_concrete_function"]

        def create(function_type: Any, type_context: Any, func_graph: Any, tracing_options: Any) -> Any:
            self._function = tracing_options.python_function
            depth[0] += 1
            entered = watcher.ledger.enter("tracing") if watcher.ledger.on and watcher.is_watched() else None
            began = perf_counter()
            try:
                return original(function_type, type_context, func_graph, tracing_options)
            finally:
                depth[0] -= 1
                self._function = tracing_options.python_function
                self._seconds = perf_counter() - began if depth[0] == 0 else 0.0
                if entered is not None:
                    watcher.ledger.leave(entered)

        vars(module)["_create_concrete_function"] = create

    def _saw(self, cache: Any, function: Any, kind: Any) -> None:
        watcher = self._watcher
        code = code_of(function)
        if code is None:
            return
        earlier = self._before.setdefault(code, [])
        trace = _Trace(id(cache), kind, watcher.count)
        cause = _cause(trace, earlier)
        earlier.append(trace)
        del earlier[:-50]
        user = watcher.places.innermost(sys._getframe(2))
        file = watcher.places.name_of(code.co_filename)
        watcher.traces.append(
            {
                "function": code.co_name,
                "file": file,
                "row": code.co_firstlineno,
                "at": list(watcher.places.row(user)) if user is not None else None,
                "step": watcher.count,
                "seconds": self._seconds,
                "cause": cause,
            }
        )


def code_of(function: Any) -> CodeType | None:
    """The code that the user wrote: behind decorators, partial calls, weak methods, and what a dataset makes of it."""
    for _ in range(8):
        function = _of_dataset(function)
        inner = getattr(function, "_tf_decorator", None)
        if inner is not None and getattr(inner, "decorated_target", None) is not None:
            function = inner.decorated_target
            continue
        for name in ("__wrapped__", "__original_wrapped__", "python_function", "func", "__func__"):
            inner = getattr(function, name, None)
            if inner is not None and inner is not function:
                function = inner
                break
        else:
            break
    code = getattr(function, "__code__", None)
    if code is None:
        code = getattr(type(function).__dict__.get("__call__"), "__code__", None)
    return code if inspect.iscode(code) else None


def _of_dataset(function: Any) -> Any:
    """The function that a stage of a dataset was given, where it is this one that wraps it."""
    for cell in getattr(function, "__closure__", None) or ():
        with suppress(ValueError):  # an empty cell
            if type(cell.cell_contents).__name__ == "StructuredFunctionWrapper":
                return getattr(cell.cell_contents, "_func", function)
    return function


class _Trace(NamedTuple):
    """A graph that was made: the cache it is kept in, of which each function object has its own, what it takes, and in which step."""

    cache: int
    kind: Any
    step: int


def _cause(trace: _Trace, earlier: list[_Trace]) -> str:
    """Why a function is traced that was traced before."""
    if not earlier:
        return "first call"
    same = [before.kind for before in earlier if before.cache == trace.cache]
    # The first call of a function that makes variables traces it twice.
    if not same:
        return "first call" if len(earlier) == 1 and earlier[0].kind == trace.kind else "new function object"
    why = _difference(trace.kind, same[-1])
    return "first call" if why == "other" and len(earlier) == 1 and earlier[0].step == trace.step else why


def _difference(kind: Any, before: Any) -> str:
    try:
        pairs = [
            (flat, other)
            for name, parameter in kind.parameters.items()
            for flat, other in zip(
                _flat(parameter.type_constraint), _flat(before.parameters[name].type_constraint), strict=False
            )
        ]
    except (AttributeError, KeyError, TypeError):
        return "other"
    for now, then in pairs:
        if now == then:
            continue
        if type(now).__name__ == "Literal" or type(then).__name__ == "Literal":
            return "new Python value"
        if getattr(now, "dtype", None) != getattr(then, "dtype", None):
            return "new dtype"
        if getattr(now, "shape", None) is not None:
            return "new shape"
    return "other"


def _flat(constraint: Any) -> list[Any]:
    """The leaves of what an argument must be."""
    for name in ("components", "mapping"):
        inner = getattr(constraint, name, None)
        if isinstance(inner, dict):
            return [leaf for part in inner.values() for leaf in _flat(part)]
        if isinstance(inner, (tuple, list)):
            return [leaf for part in inner for leaf in _flat(part)]
    return [constraint]
