"""A plain-text table that is printed as it grows, and remembers which limits were missed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

WIDTH = 58


def seconds(value: float) -> str:
    return f"{value:.3f} s" if value < 1 else f"{value:.2f} s"


def ratio(value: float) -> str:
    return f"{value:.2f} x"


def megabytes(value: float) -> str:
    return f"{value / 1e6:.0f} MB"


@dataclass(slots=True)
class Table:
    """Rows of what was measured, the figure, and what it is held against."""

    missed: list[str] = field(default_factory=list)

    def title(self, text: str) -> None:
        print(f"\n{text}\n{'-' * len(text)}", flush=True)

    def row(self, what: str, figure: str, remark: str = "") -> None:
        print(f"{what:<{WIDTH}} {figure:>12}   {remark}".rstrip(), flush=True)

    def limit(
        self, what: str, value: float, most: float, show: Callable[[float], str], remark: str = ""
    ) -> None:
        """A row that is held against a limit."""
        held = value <= most
        verdict = f"at most {show(most)}: {'held' if held else 'MISSED'}"
        self.row(what, show(value), f"{verdict}   {remark}")
        if not held:
            self.missed.append(what)
