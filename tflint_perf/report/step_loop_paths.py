"""Why a finding runs on each step, in words: the loop, and the calls that lead from it to the finding."""

from __future__ import annotations

from pathlib import PurePath
from posixpath import normpath
from typing import TYPE_CHECKING, Any

from tflint_perf.finding import Via

if TYPE_CHECKING:
    from tflint_perf.finding import Finding

# How each kind of beginning is told, where what it leads to runs each time, and where a condition stands before that.
_BEGINNINGS = {
    "loop": ("on each step of the loop", "in the step loop"),
    "fit": ("on each step of `{}`", "in the steps of `{}`"),
    "callback": ("on each step, when Keras calls `{}`", "when Keras calls `{}`"),
    "call": ("on each step, via `{}`", "in some steps, via `{}`"),
}
_PARTS = {
    "loop": "the step loop",
    "fit": "`{}` runs the steps",
    "callback": "Keras calls `{}` on each step",
    "call": "`{}` is called here",
    "inner": "a loop in the step",
}


def path_of(path: str, via: Via) -> str:
    """The file of a part of the way, as that of the finding is given: from the current folder, or whole."""
    return path if not via.file else normpath(PurePath(path).parent.joinpath(via.file).as_posix())


def said(path: str, finding: Finding) -> str:
    """`runs on each step of the loop at dqn.py:41, via `agent.act` (line 42)`; "" where no way is known."""
    if not finding.each_step:
        return ""
    first, *calls = finding.each_step
    always = all(via.always for via in finding.each_step)
    beginning = _BEGINNINGS[first.kind][0 if always else 1].format(first.name)
    cell = finding.start.cell
    text = f"runs {beginning} {f'at {_place(path, first)}' if first.file else _on_row(first, cell)}"
    before = first
    for number, via in enumerate(calls):
        if via.kind == "inner":
            text += f", in the loop {_on_row(via, cell)}"
            continue
        where = _row(via, before.cell) if via.file == before.file else _place(path, via)
        text += f", {'then' if number else 'via'} `{via.name}` ({where})"
        before = via
    return text if always else f"{text}, under a condition"


def part_said(via: Via) -> str:
    """What a part of the way is, for who shows its place: `the step loop`, `agent.act is called here`."""
    return _PARTS[via.kind].format(via.name)


def as_objects(path: str, finding: Finding) -> list[dict[str, Any]]:
    """The way as data, from the loop down."""
    return [
        {
            "kind": via.kind,
            "name": via.name or None,
            "filename": path_of(path, via),
            "cell": via.cell,
            "row": via.row,
            "code": via.code,
            "always": via.always,
        }
        for via in finding.each_step
    ]


def _place(path: str, via: Via) -> str:
    return f"{path_of(path, via)}:{f'cell {via.cell}:' if via.cell is not None else ''}{via.row}"


def _on_row(via: Via, cell: int | None) -> str:
    return f"{'on' if via.cell == cell else 'in'} {_row(via, cell)}"


def _row(via: Via, cell: int | None) -> str:
    """The row, with its cell where that is another one than `cell`."""
    return f"line {via.row}" if via.cell == cell else f"cell {via.cell}, line {via.row}"
