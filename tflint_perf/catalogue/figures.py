"""Measured figures in words: `17×`, `2.3 ms`, `1.2 MB`, short enough for a message."""

from __future__ import annotations

from math import floor, log10

# Two figures tell all that a ratio measured on a busy machine can bear.
_DIGITS = 2
_SIZES = ("B", "kB", "MB", "GB", "TB")
_TIMES = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6))
MINUS = "\N{MINUS SIGN}"


def number(value: float, digits: int = _DIGITS) -> str:
    """A number to so many significant digits, with commas for thousands: `0.98`, `2.1`, `17`, `1,200`."""
    if value == 0:
        return "0"
    exponent = floor(log10(abs(value)))
    rounded = round(value, digits - 1 - exponent)
    # 9.96 rounds up to 10, which has a digit more in front of the point
    decimals = max(0, digits - 1 - floor(log10(abs(rounded))))
    return f"{rounded:,.{decimals}f}".replace("-", MINUS)


def count(value: float) -> str:
    """How many of what can be counted, which is an average: `1`, `0.25`, `3`."""
    return number(value).removesuffix(".0")


def ratio(value: float) -> str:
    """How many times as much: `17×`."""
    return f"{number(value)}×"


def seconds(value: float) -> str:
    """A time in the unit that suits it: `2.3 ms`."""
    unit, size = next(((unit, size) for unit, size in _TIMES if abs(value) >= size), _TIMES[-1])
    return f"{number(value / size)} {unit}"


def size(value: float) -> str:
    """Bytes in the unit that suits them, by thousands: `1.2 MB`."""
    power = 0
    while abs(value) >= 1000 and power < len(_SIZES) - 1:
        value, power = value / 1000, power + 1
    return f"{number(value) if power else f'{round(value):,}'.replace('-', MINUS)} {_SIZES[power]}"


def gibibytes(value: float) -> str:
    """Bytes as the name of a graphics card counts them: of one that has 80 GB, a program gets `77 GiB`."""
    return f"{number(value / 2**30)} GiB"


def change(text: str) -> str:
    """A figure as a change: with its sign."""
    return text if text.startswith((MINUS, "0 ")) or text == "0" else f"+{text}"
