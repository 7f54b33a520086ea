"""Warnings say the row that they would say without the observer, whose own frames stand between it and the library."""

from __future__ import annotations

import functools
import os
import sys
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def leave_out_the_observer() -> None:
    """Count no frames of the observer where a warning says how many calls above it its reason stands."""
    warnings.warn = _leaving_out(warnings.warn)


def _leaving_out(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def warn(
        message: Any, category: Any = None, stacklevel: int = 1, source: Any = None, **keywords: Any
    ) -> None:
        # One more, for this function; what it gets need not be a number.
        above = (
            stacklevel + 1 + _own(sys._getframe(1), stacklevel) if isinstance(stacklevel, int) else stacklevel
        )
        original(message, category, above, source, **keywords)

    return warn


def _own(frame: FrameType | None, level: int) -> int:
    """How many frames of the observer are among the innermost that make up so many of others."""
    own = 0
    while frame is not None and level > 0:
        file = frame.f_code.co_filename
        if file.startswith(_HERE):
            own += 1
        elif not ("importlib" in file and "_bootstrap" in file):  # which Python does not count either
            level -= 1
        frame = frame.f_back
    return own
