"""Data as JSON knows it."""

from __future__ import annotations

import math
from typing import Any


def plain(value: Any, digits: int) -> Any:
    """Lists for tuples, and floats rounded to so many digits; None for a number that JSON has no word for."""
    match value:
        case dict():
            return {str(key): plain(item, digits) for key, item in value.items()}
        case list() | tuple():
            return [plain(item, digits) for item in value]
        case float():
            return float(f"{value:.{digits}g}") if math.isfinite(value) else None
    return value
