"""What a fix must not do to a file: make it unparsable, or lose a comment."""

from __future__ import annotations

import ast
import warnings
from collections import Counter
from collections.abc import Iterable

from tflint_perf.finding import Edit
from tflint_perf.lint.comments import Comment, comments
from tflint_perf.text.source import Source


def damage(before: Source, after: Source, may_lose_comments: bool) -> str | None:
    """What the new source has that a fix may not cause, said in a few words; None if it is well."""
    # A file that was broken before can still lose a suppression.
    if len(after.broken()) > len(before.broken()):
        return "would leave a cell that does not parse"
    if any(not well(after.text) and well(before.text) for well in (_parses, _compiles)):
        return "would leave a file that does not parse"
    if not may_lose_comments and _lost(before.text, after.text):
        return "would lose a comment"
    return None


def _lost(before: str, after: str) -> list[str]:
    """The comments that are gone. One that is code now has lost but its `#`: `# @tf.function`."""
    gone = (_comments(before) - _comments(after)).elements()
    new = Counter(map(str.strip, after.splitlines())) - Counter(map(str.strip, before.splitlines()))
    lost = []
    for comment in gone:
        code = comment.lstrip("#").strip()
        if code and new[code]:
            new[code] -= 1
        else:
            lost.append(comment)
    return lost


def lost_by(edits: Iterable[Edit], text: str) -> Comment | None:
    """The first comment in what a fix takes out that it puts nowhere else, as it is or as the code that it says."""
    spans = [(edit.start.offset, edit.end.offset) for edit in edits]
    if not any("#" in text[start:end] for start, end in spans):
        return None
    put = "\n".join(edit.content for edit in edits)
    inside = [
        comment for comment in comments(text) if any(start <= comment.start < end for start, end in spans)
    ]
    wanted = Counter(comment.text.lstrip("#").strip() for comment in inside)
    return next((c for c in inside if put.count(said := c.text.lstrip("#").strip()) < wanted[said]), None)


def _parses(text: str) -> bool:
    import libcst as cst

    try:
        cst.parse_module(text)
    except (cst.ParserSyntaxError, RecursionError):
        return False
    return True


def _compiles(text: str) -> bool:
    """Whether this Python takes the text; it sees more than a parser, a lost `return`'s function for instance.

    Nothing of the text runs.
    """
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT  # as notebooks do
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "<text>", "exec", flags=flags, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return False
    return True


def _comments(text: str) -> Counter[str]:
    return Counter(comment.text.rstrip() for comment in comments(text))
