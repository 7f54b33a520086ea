"""Colours, and when there are any."""

from __future__ import annotations

import os
from typing import TextIO

import click

from tflint_perf.records import dataclass


@dataclass(frozen=True, slots=True)
class Style:
    """How the parts of a text report look; plain text without `color`."""

    color: bool = False

    def code(self, text: str) -> str:
        return self._styled(text, fg="red", bold=True)

    def fixable(self, text: str) -> str:
        return self._styled(text, fg="cyan")

    def frame(self, text: str) -> str:
        return self._styled(text, fg="blue", bold=True)

    def caret(self, text: str) -> str:
        return self._styled(text, fg="red", bold=True)

    def strong(self, text: str) -> str:
        return self._styled(text, bold=True)

    def _styled(self, text: str, fg: str | None = None, bold: bool | None = None) -> str:
        return click.style(text, fg=fg, bold=bold) if self.color and text else text


def style_for(stream: TextIO) -> Style:
    """Colours on a terminal, unless NO_COLOR; elsewhere only with FORCE_COLOR. NO_COLOR wins over FORCE_COLOR."""
    if os.environ.get("NO_COLOR"):
        return Style(False)
    if os.environ.get("FORCE_COLOR"):
        return Style(True)
    return Style(stream.isatty() and os.environ.get("TERM") != "dumb")
