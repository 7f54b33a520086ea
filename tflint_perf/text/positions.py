"""Where nodes stand in the text, worked out only for files with findings.

libcst's own position provider needs a metadata wrapper and stores rows and columns for every node; a fix needs
offsets. So this is a code generation that keeps nothing but a running offset.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable

import libcst as cst
from libcst._nodes.internal import CodegenState

from tflint_perf.records import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """One statement, by offsets into `Source.text`, beginning at its first decorator.

    `header_end` is where a compound statement's first line ends, for a simple one its end.
    """

    start: int
    header_end: int
    end: int


# libcst generates no space in front of the colon of `except ValueError :`.
_SPACED_COLON = re.compile(r"\bexcept\b[^:]*\s:")


class _Between:
    """Records the syntactic extent of one node, without the white space and parentheses around it."""

    __slots__ = ("_end_node", "_node", "_start", "_start_node", "_state")

    def __init__(
        self,
        state: _OffsetState,
        node: cst.CSTNode,
        start_node: cst.CSTNode | None,
        end_node: cst.CSTNode | None,
    ) -> None:
        self._state, self._node, self._start_node, self._end_node = state, node, start_node, end_node

    def __enter__(self) -> None:
        self._start = self._state.offset

    def __exit__(self, *_: object) -> None:
        spans = self._state.spans
        start = self._start if self._start_node is None else spans[self._start_node][0]
        end = self._state.offset if self._end_node is None else spans[self._end_node][1]
        spans[self._node] = (start, end)


class _OffsetState(CodegenState):
    """Generates no code, only offsets."""

    def __init__(self, module: cst.Module) -> None:
        super().__init__(default_indent=module.default_indent, default_newline=module.default_newline)
        self.offset = 0
        self.spans: dict[cst.CSTNode, tuple[int, int]] = {}
        self._starts: list[int] = []

    def add_indent_tokens(self) -> None:
        self.offset += sum(map(len, self.indent_tokens))

    def add_token(self, value: str) -> None:
        self.offset += len(value)

    def before_codegen(self, node: cst.CSTNode) -> None:
        self._starts.append(self.offset)

    def after_codegen(self, node: cst.CSTNode) -> None:
        start = self._starts.pop()
        if node not in self.spans:
            self.spans[node] = (start, self.offset)

    def pop_trailing_newline(self) -> None:
        pass

    def record_syntactic_position(  # type: ignore[override]
        self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None, end_node: cst.CSTNode | None = None
    ) -> _Between:
        return _Between(self, node, start_node, end_node)


@dataclass(frozen=True, slots=True)
class Extent:
    """How much text a statement of a module takes, the lines above it that are its own, and where its nodes stand in it."""

    length: int
    leading: int
    spans: dict[cst.CSTNode, tuple[int, int]]


def extent_of(statement: cst.CSTNode, module: cst.Module) -> Extent:
    """That of a statement at the top of a module, or of an empty line there."""
    state = _OffsetState(module)
    for line in getattr(statement, "leading_lines", ()):
        line._codegen(state)
    leading, state.offset = state.offset, 0
    statement._codegen(state)
    return Extent(state.offset, leading, state.spans)


def _joined(extents: Iterable[Extent]) -> dict[cst.CSTNode, tuple[int, int]]:
    """Where nodes stand in a module of which these are the parts."""
    spans: dict[cst.CSTNode, tuple[int, int]] = {}
    at = 0
    for extent in extents:
        spans.update({node: (start + at, end + at) for node, (start, end) in extent.spans.items()})
        at += extent.length
    return spans


class Positions:
    """The extent of each node of a module, as offsets into its text.

    `extents` are those of its lines and statements, where they are known, in the order of the text.
    """

    def __init__(self, module: cst.Module, text: str, extents: Iterable[Extent] = ()) -> None:
        self._spans = _joined(extents)
        if self._spans:
            self._spans[module] = 0, len(text)
        else:
            state = _OffsetState(module)
            module._codegen(state)
            self._spans = state.spans
        if "\f" in text or _SPACED_COLON.search(text) is not None:
            self._add_dropped(module, text)

    def _add_dropped(self, module: cst.Module, text: str) -> None:
        """Move what stands behind white space that is not in the tree: a form feed, what is in front of one, or of a colon."""
        code = module.code
        dropped: list[int] = []
        at = 0
        for character in text:
            if at < len(code) and code[at] == character:
                at += 1
            else:
                dropped.append(at)
        if dropped:
            self._spans = {
                node: (start + bisect_right(dropped, start), end + bisect_left(dropped, end))
                for node, (start, end) in self._spans.items()
            }

    def start(self, node: cst.CSTNode) -> int:
        """Where `node` begins; a decorated function or class begins at its first decorator."""
        if isinstance(node, cst.FunctionDef | cst.ClassDef) and node.decorators:
            return self._spans[node.decorators[0]][0] + self._indent_before(node.decorators[0])
        return self._spans[node][0]

    def def_start(self, node: cst.CSTNode) -> int:
        """Where the `def` of a function begins, behind its decorators."""
        return self._spans[node][0]

    def _indent_before(self, decorator: cst.Decorator) -> int:
        # A decorator's own extent takes in the comments and the indentation in front of it.
        inner = self._spans[decorator.decorator][0]
        return inner - len(decorator.whitespace_after_at.value) - 1 - self._spans[decorator][0]

    def end(self, node: cst.CSTNode) -> int:
        """Where `node` ends, without what trails it on its line."""
        return self._spans[node][1]

    def header_end(self, node: cst.CSTNode) -> int:
        """Where the header of a compound statement ends, its colon left out; the end of any other node."""
        if isinstance(node, cst.Match):
            return self.end(node.subject)
        body = getattr(node, "body", None)
        # What a suite begins with stands directly behind the colon.
        if isinstance(body, cst.IndentedBlock):
            return self._spans[body.header][0] - len(":")
        if isinstance(body, cst.SimpleStatementSuite):
            return self._spans[body.leading_whitespace][0] - len(":")
        return self.end(node)

    def span(self, node: cst.CSTNode) -> Span:
        """A statement as suppressions see it."""
        return Span(self.start(node), self.header_end(node), self.end(node))
