"""What is told to people when a run cannot be done as asked: one line, with the place and the nearest known name."""

from __future__ import annotations

from collections.abc import Iterable


class ConfigError(Exception):
    """A configuration or an argument that cannot be followed.

    `where` is the file with its row, or the option, that it stands in.
    """

    def __init__(self, message: str, where: str) -> None:
        super().__init__(f"{where}: {message}")


def nearest(word: str, known: Iterable[str], cutoff: float = 0.5) -> str:
    """` (did you mean …?)`, or nothing when no known word is close."""
    import difflib  # imports `re` and more; only needed when something is wrong

    by_folded = {name.casefold(): name for name in known}
    close = difflib.get_close_matches(word.casefold(), by_folded, n=1, cutoff=cutoff)
    return f" (did you mean `{by_folded[close[0]]}`?)" if close else ""
