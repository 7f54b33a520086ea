"""How a rule says what to change: edits made from nodes."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from functools import cached_property
from itertools import groupby

import libcst as cst

from tflint_perf.analysis.model import Model
from tflint_perf.analysis.python.syntax import descendants
from tflint_perf.edit.imports import last_import
from tflint_perf.edit.lines import line_above, line_end, line_start, start_of_comments
from tflint_perf.finding import Edit
from tflint_perf.text.positions import Positions
from tflint_perf.text.source import Source

# More blank lines than anyone asks for: none are wanted there.
_MANY = 9


class Editor:
    """Makes edits for the fixes of one file."""

    def __init__(self, model: Model, positions: Positions, source: Source) -> None:
        self.model = model
        self._positions = positions
        self._source = source
        self._text = source.text
        self._given: set[str] = set()
        self._given_for: dict[tuple[str, cst.CSTNode], str] = {}
        self._numbers: dict[str, int] = {}
        # What fixes put into the file for each other to use, by what makes two of them the same.
        self.shared: dict[Hashable, object] = {}

    # Asking

    def text(self, node: cst.CSTNode) -> str:
        """The source of a node as it stands in the file."""
        return self._text[self._positions.start(node) : self._positions.end(node)]

    @property
    def whole_text(self) -> str:
        """The whole text of the file."""
        return self._text

    def row(self, node: cst.CSTNode) -> int:
        """The row on which a node begins, as people count it."""
        return self._source.place(self._positions.start(node)).row

    def cell(self, node: cst.CSTNode) -> int | None:
        """The cell of a notebook in which a node begins; None in a `.py` file."""
        return self._source.place(self._positions.start(node)).cell

    def start(self, node: cst.CSTNode) -> int:
        """Where a node begins."""
        return self._positions.start(node)

    def end(self, node: cst.CSTNode) -> int:
        """Where a node ends."""
        return self._positions.end(node)

    def outermost_loop(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The loop around all others of the same function in which a node stands."""
        loop = self.model.loops.innermost_loop(node)
        while loop is not None and loop.parent is not None:
            loop = loop.parent
        return loop.node if loop is not None else None

    def outermost(self, node: cst.CSTNode) -> cst.CSTNode:
        """The statement of the module in which a node stands."""
        parent = self.model.parent(node)
        while parent is not None and not isinstance(parent, cst.Module):
            node, parent = parent, self.model.parent(parent)
        return node

    def indent(self, statement: cst.CSTNode) -> str:
        """The white space in front of a statement."""
        start = self._positions.start(statement)
        line = self._text[line_start(self._text, start) : start]
        return line if not line.strip() else line[: len(line) - len(line.lstrip())]

    def one_indent(self, below: str = "") -> str:
        """What the file indents a block by, where that goes with the indentation that it is `below`."""
        usual = self.model.module.default_indent
        if not below or below[-1] == usual[-1]:
            return usual
        return "\t" if below[-1] == "\t" else "    "

    def lines(self, first: cst.CSTNode, last: cst.CSTNode) -> str:
        """The whole lines from one statement to another, with the comment lines directly above the first."""
        return self._text[self.lines_start(first) : self.lines_end(last)]

    def lines_start(self, statement: cst.CSTNode) -> int:
        """Where the lines of a statement begin, with the comment lines directly above it."""
        return start_of_comments(self._text, line_start(self._text, self._positions.start(statement)))

    def lines_end(self, statement: cst.CSTNode) -> int:
        """Where the line on which a statement ends has its own end."""
        return line_end(self._text, self._positions.end(statement))

    def blank_lines_above(self, statement: cst.CSTNode) -> int:
        """How many blank lines stand above a statement and its comments; many where its block or cell begins."""
        start = self.lines_start(statement)
        blank = 0
        for _ in range(self._source.place(start).row - 1):
            above = line_above(self._text, start)
            line = self._text[above:start].strip()
            if line:
                return _MANY if line.endswith(":") else blank
            start, blank = above, blank + 1
        return _MANY

    # Edits

    def edit(self, start: int, end: int, content: str) -> Edit:
        """Replace a stretch of text."""
        return Edit(self._source.place(start), self._source.place(end), content)

    def replace(self, node: cst.CSTNode, content: str) -> Edit:
        """Put `content` in the place of a node."""
        return self.edit(self._positions.start(node), self._positions.end(node), content)

    def wrap(self, node: cst.CSTNode, before: str, after: str) -> list[Edit]:
        """Put text around a node."""
        start, end = self._positions.start(node), self._positions.end(node)
        return [self.edit(start, start, before), self.edit(end, end, after)]

    def insert_above(self, statement: cst.CSTNode, content: str, *, above_comments: bool = True) -> Edit:
        """Insert whole lines above a statement, and above the comment lines that belong to it.

        `content` holds lines without the statement's own indentation, and ends in a newline.
        """
        start = line_start(self._text, self._positions.start(statement))
        if above_comments:
            start = start_of_comments(self._text, start)
        indent = self.indent(statement)
        text = "".join(indent + line if line.strip() else line for line in content.splitlines(keepends=True))
        return self.edit(start, start, text)

    def insert_above_def(self, function: cst.CSTNode, content: str) -> Edit:
        """Insert a line directly above the `def` itself, below other decorators and comments."""
        start = line_start(self._text, self._positions.def_start(function))
        line = self._text[start : line_end(self._text, start)]
        indent = line[: len(line) - len(line.lstrip())]
        return self.edit(start, start, indent + content)

    def insert_below(self, statement: cst.CSTNode, content: str) -> Edit:
        """Insert whole lines below the line on which a statement ends, at its indentation."""
        end = line_end(self._text, self._positions.end(statement))
        indent = self.indent(statement)
        text = "".join(indent + line if line.strip() else line for line in content.splitlines(keepends=True))
        if end == len(self._text) and not self._text.endswith(("\n", "\r")):
            text = "\n" + text
        return self.edit(end, end, text)

    def outer_span(self, node: cst.CSTNode) -> tuple[int, int]:
        """From where to where an expression stands, the parentheses around it included."""
        start, end = self.start(node), self.end(node)
        for _ in getattr(node, "lpar", ()):
            start = self._text.rindex("(", 0, start)
            end = self._text.index(")", end) + 1
        return start, end

    def outer_end(self, node: cst.BaseExpression) -> int:
        """Where an expression ends, the parentheses around it included."""
        end = self.end(node)
        for _ in node.rpar:
            end = self._text.index(")", end) + 1
        return end

    def remove_statement(self, statement: cst.CSTNode) -> Edit:
        """Remove a small statement: with its line when it has that for itself, else from it.

        A comment behind it stays, on a line of its own. The only statement of a block becomes `pass`.
        """
        start, end = self._positions.start(statement), self._positions.end(statement)
        line = self.model.parent(statement)
        if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1:
            if self._is_alone(line):
                emptied = self._emptied_if(line)
                return self.remove_lines(emptied) if emptied is not None else self.edit(start, end, "pass")
            first, last = line_start(self._text, start), line_end(self._text, end)
            rest = self._text[end:last].strip().lstrip(";").strip()
            if rest.startswith("#"):
                return self.edit(start, self._text.index("#", end), "")
            if rest:  # a backslash, which joins the next line to this one
                return self.edit(start, end, "pass")
            return self.edit(first, self.past_blank_line(first, last), "")
        return self._remove_from_list(statement, start, end)

    def past_blank_line(self, start: int, end: int) -> int:
        """Where lines end that are removed, with the blank line behind them if they stand between two, so that one remains."""
        if self._text[line_above(self._text, start) : start].strip():
            return end
        below = line_end(self._text, end)
        return end if self._text[end:below].strip() else below

    def remove_lines(self, statement: cst.CSTNode) -> Edit:
        """Remove the whole lines of a statement."""
        start, end = self._positions.start(statement), self._positions.end(statement)
        return self.edit(line_start(self._text, start), line_end(self._text, end), "")

    def remove_call(self, call: cst.Call) -> list[Edit] | None:
        """Remove a call that is a statement of its own, and the import that serves it alone; None for any other."""
        statement = self.model.statement_of(call)
        if not isinstance(statement, cst.Expr) or statement.value is not call:
            return None
        unused = self.model.import_used_only_by(call.func)
        return [self.remove_statement(each) for each in (statement, unused) if each is not None]

    def _emptied_if(self, line: cst.SimpleStatementLine) -> cst.If | None:
        """The `if` that would do nothing without `line`: no other branch, no call in its test, no comment."""
        suite = self.model.parent(line)
        owner = self.model.parent(suite) if suite is not None else None
        if not isinstance(owner, cst.If) or owner.orelse is not None or "#" in self.text(owner):
            return None
        holder = self.model.parent(owner)
        if not isinstance(holder, cst.IndentedBlock | cst.Module) or len(holder.body) == 1:
            return None
        return None if any(isinstance(node, cst.Call) for node in descendants(owner.test)) else owner

    def _is_alone(self, line: cst.SimpleStatementLine) -> bool:
        holder = self.model.parent(line)
        return isinstance(holder, cst.IndentedBlock) and len(holder.body) == 1

    def _remove_from_list(self, statement: cst.CSTNode, start: int, end: int) -> Edit:
        """Remove one of several statements that share a line."""
        holder = self.model.parent(statement)
        body = list(getattr(holder, "body", ()))
        if len(body) <= 1:
            return self.edit(start, end, "pass")
        index = body.index(statement)
        if index + 1 < len(body):
            return self.edit(start, self._positions.start(body[index + 1]), "")
        return self.edit(self._positions.end(body[index - 1]), end, "")

    def remove_argument(self, call: cst.Call, arg: cst.Arg) -> Edit:
        """Remove one argument of a call, with the comma that goes with it."""
        return self.remove_arguments(call, [arg])[0]

    def remove_arguments(self, call: cst.Call, args: Collection[cst.Arg]) -> list[Edit]:
        """Remove some arguments of a call: one edit for each run of neighbours, with the commas that go with them."""
        edits = []
        given = list(call.args)
        for removed, run in groupby(range(len(given)), key=lambda index: given[index] in args):
            if not removed:
                continue
            indices = list(run)
            first, last = indices[0], indices[-1]
            start, end = self._positions.start(given[first]), self._end_of_arg(given[last])
            if last + 1 < len(given):
                end = self._positions.start(given[last + 1])
            elif first > 0:
                start = self._end_of_arg(given[first - 1])
            elif isinstance(given[last].comma, cst.Comma):
                end = self._text.index(",", end) + 1
            edits.append(self.edit(start, end, ""))
        return edits

    def _end_of_arg(self, arg: cst.Arg) -> int:
        """Where an argument ends, the parentheses around it included."""
        end = self._positions.end(arg.value)
        for _ in arg.value.rpar if isinstance(arg.value, cst.BaseExpression) else ():
            end = self._text.index(")", end) + 1
        return end

    # Names

    def spell(self, name: str, at: cst.CSTNode) -> tuple[str, list[Edit]]:
        """How code at `at`, or right above it, says `tensorflow.<name>`, and the import to add when it has no way to."""
        spelled = self.model.names.spelled(name)
        if spelled is not None and self._is_bound_above(spelled.partition(".")[0], at):
            return spelled, []
        return f"{self.tensorflow}.{name}", [self.add_import(self.import_of_tensorflow, at)]

    def _is_bound_above(self, name: str, at: cst.CSTNode) -> bool:
        """Whether a name of the module has a value when what stands at `at` runs; functions run when all of them have."""
        bindings = self.model.walk.top.bindings.get(name, ())
        return (
            not bindings
            or self.model.function_at(at) is not None
            or any(self.start(binding.node) < self.start(at) for binding in bindings)
        )

    @cached_property
    def tensorflow(self) -> str:
        """What TensorFlow is imported as by a fix: `tf`, unless that stands for something else."""
        return "tf" if self.model.names.may_import_as("tf") else self.fresh_name("tensorflow")

    @property
    def import_of_tensorflow(self) -> str:
        """The import of TensorFlow that a fix adds."""
        return "import tensorflow" + ("" if self.tensorflow == "tensorflow" else f" as {self.tensorflow}")

    def add_import(self, statement: str, at: cst.CSTNode) -> Edit:
        """Add an import for what stands at `at`, below the imports at the top of the module."""
        last = last_import(line for line in self.model.module.body if self.start(line) < self.start(at))
        if last is None:
            return self.edit(self._after_docstring(), self._after_docstring(), f"{statement}\n")
        return self.insert_below(last, f"{statement}\n")

    def _after_docstring(self) -> int:
        body = self.model.module.body
        if body and self.model.module.get_docstring() is not None:
            return line_end(self._text, self._positions.end(body[0]))
        # A function that is put above the first statement is put above the comments that belong to it.
        return self.lines_start(body[0]) if body else 0

    def fresh_name(self, wanted: str, node: cst.CSTNode | None = None) -> str:
        """`wanted`, or with a number when the file uses that name already or another fix was given it.

        Fixes that ask with the same `node` get the same name.
        """
        if node is not None and (wanted, node) in self._given_for:
            return self._given_for[wanted, node]
        # The numbers before the last one given are taken.
        number = self._numbers.get(wanted, 1)
        name = wanted if number == 1 else f"{wanted}_{number}"
        while name in self._given or self.model.names.is_used(name):
            number += 1
            name = f"{wanted}_{number}"
        self._numbers[wanted] = number
        self._given.add(name)
        if node is not None:
            self._given_for[wanted, node] = name
        return name
