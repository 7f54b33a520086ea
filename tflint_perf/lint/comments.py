"""The comments of a text, and what those that suppress findings say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

from tflint_perf.catalogue.rules import prefixes
from tflint_perf.records import dataclass

VERBS = ("ignore", "file-ignore", "disable", "enable")

_ROW = re.compile(r"([^\r\n]*)(?:\r\n|\r|\n|$)")
_OURS = re.compile(
    r"#\s*tflint-perf\s*:\s*(?P<verb>[\w-]+)(?:\s*(?P<bracket>\[)(?P<items>[^\]]*)\]?)?", re.IGNORECASE
)
_ITEM = re.compile(r"[^\s,]+")


@cache
def _noqa() -> re.Pattern[str]:
    """As flake8 and Ruff read it: in any case, with codes after a colon, and words behind the codes."""
    code = rf"(?:[A-Z]+[0-9]+|{'|'.join(prefixes())})(?![\w-])"
    return re.compile(
        rf"#\s*(?P<verb>noqa)(?![\w-])(?:\s*:\s*(?P<items>{code}(?:[,\s]+{code})*)|(?P<codeless>\s*:))?",
        re.IGNORECASE,
    )


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment; `alone` if nothing but white space stands before it on its row."""

    start: int
    text: str
    row: int
    alone: bool
    indented: bool

    @property
    def end(self) -> int:
        """The offset behind it."""
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class Item:
    """A code, a prefix of codes or a rule's name in a suppression, and where it stands."""

    start: int
    end: int
    text: str

    def selects(self, known: Mapping[str, str]) -> frozenset[str]:
        """The codes that it stands for, of the known ones with their names."""
        prefix, name = self.text.upper(), self.text.lower()
        return frozenset(
            code
            for code, known_name in known.items()
            if (prefix.startswith(prefixes()) and code.startswith(prefix)) or known_name == name
        )


@dataclass(frozen=True, slots=True)
class Directive:
    """A suppression: what its comment says from `start` to `end`. `items` is None when it is for everything."""

    verb: str
    comment: Comment
    start: int
    end: int
    items: tuple[Item, ...] | None
    bracket: bool = False

    @property
    def is_noqa(self) -> bool:
        """Whether other tools read it too."""
        return self.verb == "noqa"

    @property
    def own(self) -> tuple[Item, ...]:
        """The items that are meant for this tool."""
        if not self.is_noqa:
            return self.items or ()
        return tuple(item for item in self.items or () if item.text.upper().startswith(prefixes()))

    @property
    def on_line(self) -> bool:
        """Whether it counts for the statement that its line belongs to."""
        return self.is_noqa or (self.verb == "ignore" and not self.comment.alone)


# A suppression, and which of its items counted; None for one without items.
Mark = tuple[Directive, Item | None]


def comments(text: str) -> Iterator[Comment]:
    """The comments of a text in their order; of text that is no Python, those up to where it breaks."""
    import tokenize

    starts: list[int] = []
    rows = _ROW.finditer(text)

    def read_row() -> str:
        row = next(rows, None)
        if row is None or (row.start() == len(text) and row[0] == ""):
            return ""
        starts.append(row.start())
        return f"{row[1]}\n"  # the tokenizer doesn't know a lone carriage return

    try:
        for token in tokenize.generate_tokens(read_row):
            if token.type == tokenize.COMMENT:
                row, column = token.start
                before = token.line[:column]
                at = starts[row - 1] + column
                yield Comment(at, token.string, row, not before.strip(), before[:1].isspace())
    except (tokenize.TokenError, SyntaxError):
        return


def directives(text: str) -> list[Directive]:
    """The suppressions in a text in their order, also those with a verb that doesn't exist."""
    return [
        directive
        for comment in comments(text)
        for pattern in (_noqa(), _OURS)
        for match in pattern.finditer(comment.text)
        if (directive := _directive(match, comment)) is not None
    ]


def _directive(match: re.Match[str], comment: Comment) -> Directive | None:
    groups = match.groupdict()
    if groups.get("codeless") is not None:  # `# noqa: because`: not for us to guess
        return None
    items = None
    if groups["items"] is not None:
        at = comment.start + match.start("items")
        items = tuple(
            Item(at + item.start(), at + item.end(), item[0]) for item in _ITEM.finditer(groups["items"])
        )
    start, end = comment.start + match.start(), comment.start + match.end()
    bracket = groups.get("bracket") is not None
    return Directive(groups["verb"].lower(), comment, start, end, items, bracket)
