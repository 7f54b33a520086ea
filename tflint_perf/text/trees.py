"""The trees of a source: the whole one by libcst, and the one by its code alone."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate

import libcst as cst

from tflint_perf.text.layout import without_feeds
from tflint_perf.text.positions import Extent, extent_of

# Deeply nested code needs deep recursion, in the walk and in code generation.
_RECURSION_LIMIT = 8_000
_Statement = cst.SimpleStatementLine | cst.BaseCompoundStatement
# The check that a node has by itself, also where several threads parse at once.
_CHECKED = cst.CSTNode.__post_init__


def whole_module(text: str) -> cst.Module:
    """The tree of a module, whose nodes are right as the parser makes them: checking each takes an eighth of the time.

    Raises:
        ParserSyntaxError, RecursionError: it can't be parsed.
    """
    cst.CSTNode.__post_init__ = _unchecked  # type: ignore[method-assign,assignment]
    try:
        return cst.parse_module(text)
    except cst.ParserSyntaxError:
        plain = without_feeds(text) if "\f" in text else text
        if plain == text:
            raise
        return cst.parse_module(plain)
    finally:
        cst.CSTNode.__post_init__ = _CHECKED  # type: ignore[method-assign]


def _unchecked(node: cst.CSTNode) -> None:
    """In place of a node's own check."""


class EditedTree:
    """The tree of a text that is being edited: of what changed, only the statements at the top of the module are parsed anew.

    It is the one that `whole_module` gives; nodes of the others stay the same.
    """

    def __init__(self) -> None:
        self._text = ""
        self._module: cst.Module | None = None
        self._known: dict[cst.CSTNode, Extent] = {}

    def of(self, text: str) -> cst.Module:
        """The tree of the text as it is now.

        Raises:
            ParserSyntaxError, RecursionError: it can't be parsed; the next one is compared with that before.
        """
        before = self._module
        if before is None or text != self._text:
            module = self._with_changes(before, text) if before is not None else None
            self._module, self._text = module or whole_module(text), text
        assert self._module is not None
        return self._module

    def extents(self) -> list[Extent]:
        """Those of the lines and statements of the tree, in the order of the text; none where the text has more than they."""
        module = self._module
        if module is None or not module.has_trailing_newline:
            return []
        parts = [*module.header, *module.body, *module.footer]
        self._known = {part: self._known.get(part) or extent_of(part, module) for part in parts}
        extents = list(self._known.values())
        return extents if sum(extent.length for extent in extents) == len(self._text) else []

    def _with_changes(self, module: cst.Module, text: str) -> cst.Module | None:
        """The tree with other statements where these have changed; None where the whole text is to be parsed."""
        # In other texts it matters what stands at their beginning, or there are characters that are in no tree.
        if "\r" in text or "\f" in text or not text.endswith("\n") or not module.body:
            return None
        extents = self.extents()[len(module.header) : len(module.header) + len(module.body)]
        if not extents:
            return None
        top = sum(self._known[line].length for line in module.header)
        starts = list(accumulate((extent.length for extent in extents), initial=top))
        first, last = _changed(self._text, text, starts)
        if first == last:
            return None
        start = starts[first] + extents[first].leading
        if not text.startswith(self._text[starts[first] : start], starts[first]):
            return None
        following = module.body[last] if last < len(module.body) else None
        end = len(text)
        if following is not None:
            end += starts[last] + extents[last].leading - len(self._text)
        made = _part(text[start:end], module, following)
        if made is None:
            return None
        body, footer = made
        body[0] = body[0].with_changes(leading_lines=module.body[first].leading_lines)
        body = [*module.body[:first], *body, *module.body[last:]]
        footer = module.footer if following is not None else footer
        return module.with_changes(body=body, footer=footer) if _begins_as_usual(body) else None


def _changed(before: str, text: str, starts: Sequence[int]) -> tuple[int, int]:
    """The first of the statements that begin at `starts` in the text before which has changed, and the next one that has not.

    The last of `starts` is where they end. Both are 0 where what changed is above them.
    """
    if not text.startswith(before[: starts[0]]):
        return 0, 0
    count = len(starts) - 1
    first = 0
    while first < count and text.startswith(before[starts[first] : starts[first + 1]], starts[first]):
        first += 1
    last, grown = count, len(text) - len(before)
    # What stands below the statements is told from them by a parser.
    if text.endswith(before[starts[-1] :]):
        while last > first + 1 and (
            starts[last - 1] + grown >= starts[first]
            and text.startswith(before[starts[last - 1] : starts[last]], starts[last - 1] + grown)
        ):
            last -= 1
    return first, last


def _part(
    code: str, module: cst.Module, following: _Statement | None
) -> tuple[list[_Statement], Sequence[cst.EmptyLine]] | None:
    """The statements in a part of the text of a module, with what is below them; None where that can't be told by itself.

    The code goes on with the lines above the statement that follows it, if one does.
    """
    closed = f"{code}pass\n" if following is not None else code
    try:
        part = whole_module(closed)
    except (cst.ParserSyntaxError, RecursionError):
        return None
    if part.header or not part.body or part.default_indent != module.default_indent:
        return None
    if following is None:
        return list(part.body), part.footer
    *body, pause = part.body
    lines = following.leading_lines
    same = len(pause.leading_lines) == len(lines) and all(
        one.deep_equals(other) for one, other in zip(pause.leading_lines, lines, strict=True)
    )
    return (body, part.footer) if body and same and _is_pass(pause) else None


def _is_pass(statement: _Statement) -> bool:
    """Whether it is the one that was put below the code, by itself."""
    match statement:
        case cst.SimpleStatementLine(body=[cst.Pass()]):
            return True
    return False


def _begins_as_usual(body: Sequence[_Statement]) -> bool:
    """Whether the first block is indented by what counts as usual in the module: the parser goes by that one."""
    for statement in body:
        if not isinstance(statement, cst.SimpleStatementLine):
            block = getattr(statement, "body", None)
            return isinstance(block, cst.IndentedBlock) and block.indent is None
    return True


@contextmanager
def room_for_trees() -> Iterator[None]:
    """Let trees be deep, and keep the garbage collector from walking one that grows again and again.

    Parsing is a third quicker without it. The tree is let go before it is switched on again (`Model.release`), so that
    it finds nothing to do.
    """
    if sys.getrecursionlimit() < _RECURSION_LIMIT:
        sys.setrecursionlimit(_RECURSION_LIMIT)
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
