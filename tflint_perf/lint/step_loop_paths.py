"""Why a finding runs on each step: where the loop stands, and the calls that lead from it to the finding."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import libcst as cst

from tflint_perf.analysis.execution.step_loop_paths import placed
from tflint_perf.analysis.model import Model
from tflint_perf.finding import Via
from tflint_perf.rule import Report, Rule
from tflint_perf.text.positions import Positions
from tflint_perf.text.source import Source

# So much of a line is kept.
_LONGEST = 120


def each_step(
    rule: type[Rule], report: Report, model: Model, positions: Positions, source: Source
) -> tuple[Via, ...]:
    """The way from a loop of steps to a finding; () where its rule is about no step."""
    if rule.claim is None or rule.of_programs or rule.claim.metric == "first step":
        return ()
    way = report.steps or model.step_loop_paths.leading_to(report.node)
    return in_cells(placed(way, _rows(positions, source)), source)


def rows_of(module: cst.Module, source: Source) -> Callable[[cst.CSTNode], int | None]:
    """What gives the rows of calls, loops and functions of a whole tree, whose positions are worked out if it is asked."""
    known: list[Callable[[cst.CSTNode], int | None]] = []

    def row(node: cst.CSTNode) -> int | None:
        if not known:
            known.append(_rows(Positions(module, source.text), source))
        return known[0](node)

    return row


def _rows(positions: Positions, source: Source) -> Callable[[cst.CSTNode], int | None]:
    """The rows that `AbstractModule.rows` has, too."""

    def row(node: cst.CSTNode) -> int | None:
        match node:
            case cst.Call():
                # Of a chain of calls, the last one counts, which may have a line of its own.
                return source.row(positions.end(node.func))
            case cst.CompFor():
                return source.row(positions.start(node.target))
            case cst.FunctionDef():
                return source.row(positions.def_start(node))
        return source.row(positions.start(node))

    return row


def in_cells(way: Iterable[Via], source: Source) -> tuple[Via, ...]:
    """The way with its lines; rows, which count through the whole text, become those of cells. Other files have theirs."""
    return tuple(via if via.file or via.code else _in_cell(via, source) for via in way)


def _in_cell(via: Via, source: Source) -> Via:
    place = source.place(source.offset(via.row, 1))
    code = " ".join(source.lines(via.row, via.row)).strip()
    return replace(via, row=place.row, cell=place.cell, code=code[:_LONGEST])
