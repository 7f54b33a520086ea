"""Whether two runs printed the same: line by line, numbers by tolerance, without what tells of the clock or the machine.

Progress bars are reduced to what they end with, since how often they are drawn depends on the clock. What Keras says by
itself of `fit`, `evaluate` and `predict` is no output of the program: a fix that calls the model in another way does without
it. Only its figures are compared, where both versions have as many. Numbers with a unit of time, or behind a word such as
`took`, paths below the scratch folder, dates and addresses are left out. What two runs of the original print differently
tells nothing either.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from tflint_perf.report.summary import counted

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# `12/100 [===>...` and `12/100 ━━━━ 2s 3ms/step`, and `45%|███`.
_BAR = re.compile(r"^\s*(?:Epoch \S+\s*)?(\d+)/(\d+|Unknown)\s*[\[━=]|^.{0,40}?(\d+)%\|")
# What Keras writes of its progress: `32/32 ━━━━ 0s 54ms/step`, `32/32 [====] - 1s 20ms/step`, `32/32 - 0s - 9ms/step`.
_OF_KERAS = re.compile(
    r"^\d+/(?:\d+|Unknown) (?:(?:\[[=>.]+\]|━+)(?: |$)|(?:- )?[\d:]+s?(?: -)? \S+/(?:step|sample|epoch)\b)"
)
_EPOCH = re.compile(r"^Epoch \d+/\d+$")
_FIGURE = re.compile(r" - (?!ETA)[^:]+: [-+]?(?:\.?\d|nan|inf)")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_OF_THE_MACHINE = re.compile(
    r"0x[0-9a-fA-F]{4,}"  # an address
    r"|\d{4}-\d\d-\d\d|\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?"  # a date, a time
    r"|(?:/[\w.~+-]+){2,}/?"  # a path
)
_TIME_BEFORE = re.compile(
    r"(?:took|time|elapsed|duration|seconds|secs?|speed|rate|throughput|eta|fps|remaining|latency|memory|\bmem|rss)"
    r"\W{0,6}(?:\(\w+\))?\W{0,4}$",
    re.IGNORECASE,
)
_UNIT_BEHIND = re.compile(
    r"^\s?(?:[mµun]?s(?:ec(?:ond)?s?)?|min(?:ute)?s?|h(?:ours?)?|[kMG]i?B|bytes)\b"
    r"|^\s?\w{0,12}\s?(?:/|per\s)\s?(?:s|sec|second|ms|min)\b",
    re.IGNORECASE,
)
_LEARNING_RATE = re.compile(r"learning[ _-]?rate\W{0,6}$", re.IGNORECASE)
_BACKSPACED = re.compile("[^\x08]\x08|^\x08+")
_SPACES = re.compile(r"\s+")
_TIMES_CONTROL: Final = 10.0
_LEAST: Final = 1e-5

_UNITS: Final = 1.5
# So many lines may be missing at the end of a run that was stopped.
_MISSING: Final = 2

PrintedVerdict = Literal["same", "different", "unknown"]


@dataclass(frozen=True, slots=True)
class Line:
    """A printed line: its words with a mark for each number, the numbers, and by how much each is rounded."""

    words: str
    numbers: tuple[float, ...]
    rounded: tuple[float, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Printed:
    """What can be said of what was printed: `why` names the first line that differs. `lines` were compared."""

    verdict: PrintedVerdict
    why: str
    lines: int = 0


def lines_of(output: str) -> tuple[str, ...]:
    """The lines of an output as they stand in the end: what was overwritten is gone, and bars are at their last.

    Of what Keras says of its progress, only what has figures is kept.
    """
    lines = [_SPACES.sub(" ", _overwritten(line)).strip() for line in _ESCAPES.sub("", output).split("\n")]
    kept: list[str] = []
    for line in filter(None, lines):
        bar = _BAR.match(line)
        if bar is not None and not _is_full(bar):
            continue
        if _EPOCH.match(line) or (_OF_KERAS.match(line) and not _FIGURE.search(line)):
            continue
        kept.append(line)
    return tuple(kept)


def _overwritten(line: str) -> str:
    """What is left of a line after carriage returns and backspaces."""
    line = line.rstrip("\r").rpartition("\r")[2]
    while "\b" in line:
        shorter = _BACKSPACED.sub("", line)
        if shorter == line:
            break
        line = shorter
    return line


def _is_full(bar: re.Match[str]) -> bool:
    done, whole, percent = bar.groups()
    return percent == "100" or (done is not None and done == whole)


def compare_printed(
    originals: Sequence[Sequence[str]], control: Sequence[str], runs: Sequence[Sequence[str]], *, whole: bool
) -> Printed:
    """Whether all runs of a version printed what the first of the originals did.

    `whole` says that all came to their own end; otherwise the last lines may be missing from either.
    """
    reference, *others = (_read(lines) for lines in originals)
    if not all(_alike(reference.own, other.own, whole) for other in others):
        return Printed("unknown", "the original does not print the same lines twice")
    far = _rounding(reference, _read(control))
    for run in map(_read, runs):
        why = _first_difference(reference.own, run.own, [other.own for other in others], far, whole)
        if not why and all(len(other.keras) == len(reference.keras) for other in (run, *others)):
            # Of another number of bars, nobody knows which is which.
            why = _first_figures(reference.keras, run.keras, [other.keras for other in others], far)
        if why:
            return Printed("different", why)
    return Printed("same", "", len(reference.own) + len(reference.keras))


@dataclass(frozen=True, slots=True)
class _Read:
    """What a run printed: the program's own lines, and those of Keras that have figures."""

    own: tuple[Line, ...]
    keras: tuple[Line, ...]


def _read(lines: Sequence[str]) -> _Read:
    return _Read(
        tuple(read_line(line) for line in lines if not _OF_KERAS.match(line)),
        tuple(read_line(line) for line in lines if _OF_KERAS.match(line)),
    )


def _first_difference(
    reference: Sequence[Line],
    lines: Sequence[Line],
    others: Sequence[Sequence[Line]],
    far: Mapping[tuple[str, int], float],
    whole: bool,
) -> str:
    """The first line that differs, in words; nothing where none does."""
    number = len(lines) if len(lines) != len(reference) else None
    counts = f"{counted(number, 'line')} instead of {len(reference):,}; " if number is not None else ""
    for at, (one, other) in enumerate(_side_by_side(reference, lines, whole)):
        again = [known[at] for known in others if at < len(known)]
        if not _same(one, other, again, far):
            return f"{counts}line {at + 1}: `{_cut(other.text)}` instead of `{_cut(one.text)}`"
    if not _other_length(reference, lines, whole):
        return ""
    at = min(len(reference), len(lines))
    if at < len(lines):
        return f"{counts}line {at + 1}, `{_cut(lines[at].text)}`, is new"
    return f"{counts}line {at + 1}, `{_cut(reference[at].text)}`, is missing"


def _first_figures(
    reference: Sequence[Line],
    lines: Sequence[Line],
    others: Sequence[Sequence[Line]],
    far: Mapping[tuple[str, int], float],
) -> str:
    """The first line of Keras's with the same words and other figures, in words; nothing where there is none."""
    for at, (one, other) in enumerate(zip(reference, lines, strict=True)):
        if one.words == other.words and not _same(one, other, [known[at] for known in others], far):
            return f"Keras: `{_cut(_figures(other))}` instead of `{_cut(_figures(one))}`"
    return ""


def _figures(line: Line) -> str:
    """A line of Keras's without its bar and its times: `loss: 0.5 - mae: 0.7`."""
    found = _FIGURE.search(line.text)
    return line.text[found.start() + 3 :] if found else line.text


def _other_length(one: Sequence[Line], other: Sequence[Line], whole: bool) -> bool:
    return abs(len(one) - len(other)) > (0 if whole else _MISSING)


def _side_by_side(one: Sequence[Line], other: Sequence[Line], whole: bool) -> list[tuple[Line, Line]]:
    """The lines that both have; where a run was stopped, the last of them may be but half a line."""
    return list(zip(one, other, strict=False))[: None if whole else min(len(one), len(other)) - 1]


def _alike(one: Sequence[Line], other: Sequence[Line], whole: bool) -> bool:
    return not _other_length(one, other, whole) and all(
        here.words == there.words for here, there in _side_by_side(one, other, whole)
    )


def read_line(text: str) -> Line:
    """A line, taken apart."""
    text = _OF_THE_MACHINE.sub("~", text)
    words, numbers, rounded, at = [], [], [], 0
    for match in _NUMBER.finditer(text):
        before, behind = text[: match.start()], text[match.end() :]
        if before[-1:].isalpha() or before[-1:] == "_":  # `conv2d_3`, `float32`
            continue
        is_time = _UNIT_BEHIND.match(behind) or (
            _TIME_BEFORE.search(before) and not _LEARNING_RATE.search(before)
        )
        words += [text[at : match.start()], "~" if is_time else "#"]
        at = match.end()
        if not is_time:
            numbers.append(float(match[0]))
            rounded.append(_unit_in_last_place(match[0]))
    return Line("".join([*words, text[at:]]), tuple(numbers), tuple(rounded), text)


def _unit_in_last_place(number: str) -> float:
    """By how much a number may differ for its being rounded; nothing for an integer, or one of a single digit."""
    digits, _, exponent = number.lower().partition("e")
    significant = len(digits.lstrip("+-0.").replace(".", ""))
    if ("." not in digits and not exponent) or significant < 2:
        return 0.0
    return 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))


def _rounding(reference: _Read, control: _Read) -> dict[tuple[str, int], float]:
    """How far rounding alone moves the numbers of lines that say the same, each number by its place."""
    far: dict[tuple[str, int], float] = {}
    own = zip(reference.own, control.own, strict=False)
    for one, other in (*own, *zip(reference.keras, control.keras, strict=False)):
        if one.words == other.words:
            for at, (here, there) in enumerate(zip(one.numbers, other.numbers, strict=False)):
                far[one.words, at] = max(far.get((one.words, at), 0.0), abs(there - here))
    return far


def _same(one: Line, other: Line, again: Sequence[Line], far: Mapping[tuple[str, int], float]) -> bool:
    if one.words != other.words or len(one.numbers) != len(other.numbers):
        return False
    for at, (here, there) in enumerate(zip(one.numbers, other.numbers, strict=True)):
        if any(at < len(line.numbers) and line.numbers[at] != here for line in again):
            continue  # the original does not print it twice alike
        most = _TIMES_CONTROL * far.get((one.words, at), 0.0) + _LEAST * abs(here) + _UNITS * one.rounded[at]
        if here != there and not (math.isnan(here) and math.isnan(there)) and not abs(here - there) <= most:
            return False
    return True


def _cut(text: str, most: int = 60) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
