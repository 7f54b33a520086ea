"""What is told to people when a run cannot be done as asked: one line, with the place and the nearest known name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

# Names of rules share their words and their digits, and names of files their endings: less alike is another one.
LIKE_A_RULE, LIKE_A_FILE = 0.72, 0.75


class ConfigError(Exception):
    """A configuration or an argument that cannot be followed.

    `where` is the file with its row, or the option, that it stands in. `others` are more that stand beside it, each with its place.
    """

    def __init__(self, message: str, where: str, others: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__("; ".join(f"{at}: {what}" for what, at in ((message, where), *others)))


def exclude(option: str, others: Mapping[str, bool]) -> None:
    """Refuse an option beside those of the others that are given.

    Raises:
        ConfigError: one of them is.
    """
    for other, is_given in others.items():
        if is_given:
            raise ConfigError(f"cannot be used with {other}", option)


def nearest(word: str, known: Iterable[str], cutoff: float = 0.5) -> str:
    """` (did you mean …?)`, or nothing when no known word is close."""
    import difflib  # imports `re` and more; only needed when something is wrong

    by_folded = {name.casefold(): name for name in known}
    close = difflib.get_close_matches(word.casefold(), by_folded, n=1, cutoff=cutoff)
    return f" (did you mean `{by_folded[close[0]]}`?)" if close else ""
