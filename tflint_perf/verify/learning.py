"""Whether two runs learned the same: trained variables, measured by how far training moved them, and losses.

No two orders of adding floats give the same, so "the same" needs a measure of how far rounding alone goes in this program:
a control, the original with its weights nudged by a unit or two in the last place after each step. A version has learned the same when no
variable is further from the original than ten times what the control's is. Where the control itself strays so far that a
wrong edit could hide behind it, and the version is not the same to the last digits nor far nearer than the control, or the
original does not give the same twice, that cannot be told, and is not. A version that compiles what is eager in the original
can then be run eagerly: where that gives what the original gave, to the last digits, its code does the same, and what it
learned is no further away than rounding leads.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, product, starmap
from pathlib import Path
from statistics import median
from typing import Any, Final, Literal

# A difference is put down to rounding up to so many times that of the control.
TIMES_CONTROL: Final = 10.0
# And up to so many where all that is left is that it is compiled: ops that are fused and reordered round each in another way.
_TIMES_COMPILED: Final = 100.0
# What is always put down to rounding, of how far training moved a variable.
_LEAST: Final = 1e-5
# And that many units in the last place of a variable, for each square root of a step.
_ULPS: Final = 4.0
# Where rounding alone may account for so much of what was learned, a wrong edit may hide behind it.
_TOO_FAR: Final = 0.1
# Two runs of the original may be apart by so much: of what is left of chance when all is seeded, threads for instance.
_REPRODUCED: Final = 1e-3
# The losses of so many steps tell as well, while rounding has not gone far.
_ENOUGH_LOSSES: Final = 10
_CLEAN_LOSS: Final = 0.01
# Further apart at the first step, two numbers are not the same loss.
_NO_LOSS: Final = 1e-3
# So many of the losses may lie outside of what rounding explains: it does not grow evenly.
_ODD_LOSSES: Final = 0.1

SamenessVerdict = Literal["same", "different", "unknown"]


@dataclass(frozen=True, slots=True)
class Learned:
    """What a run has left of its training: each variable before its first update and at the end, and losses by step."""

    first: tuple[Any, ...]
    last: tuple[Any, ...]
    # By step, the numbers of which one is its loss; in the steps among `results` they are what a compiled function gives, and
    # perhaps none is.
    losses: Mapping[int, Sequence[float]]
    steps: int = 0
    results: frozenset[int] = frozenset()
    # Statements that drew random numbers eagerly, and in a graph that gave others than eager code would have drawn.
    drew_eagerly: frozenset[int] = frozenset()
    drew_by_graph: frozenset[int] = frozenset()
    # All that drew, where Keras put the rows of `fit` in order; None where it did not.
    drawn: frozenset[int] | None = None


@dataclass(frozen=True, slots=True)
class Apart:
    """How far a run learned from another: of each variable, by how far training moved it; of losses, by their size.

    `draws_apart` says that a statement draws other random numbers for being compiled by itself, or for being changed, which is
    no fault.
    `rounding` is what is always put down to rounding, of each variable. `losses` are (step, difference). `mismatch` says
    what makes them beyond comparison; it is `steps` where they trained for different numbers of steps.
    """

    variables: tuple[float, ...] = ()
    rounding: tuple[float, ...] = ()
    losses: tuple[tuple[int, float], ...] = ()
    mismatch: str = ""
    draws_apart: bool = False

    @property
    def most(self) -> float:
        """The largest difference of a variable."""
        return max(self.variables, default=0.0)


@dataclass(frozen=True, slots=True)
class Sameness:
    """What can be said: `why` in a few words, and the largest differences of a variable, relative to its training.

    `apart` is that of the version, `control` that of rounding alone, `repeat` that of the original to itself.
    """

    verdict: SamenessVerdict
    why: str
    apart: float | None = None
    control: float | None = None
    repeat: float | None = None
    losses: int = 0
    draws_apart: bool = False
    # Whether it is the same could be told by a run of the version that is not compiled: a wrong edit may hide behind rounding.
    hidden: bool = False


def read_learned(path: Path, steps: int) -> Learned | None:
    """What stands in an `.npz` of `Learning.out`; None if nothing does."""
    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as held:
            names = held.files
            count = sum(name.startswith("last") for name in names)
            variables = range(count)
            losses = held["losses"].tolist() if "losses" in names else []
            return Learned(
                tuple(held[f"first{number}"] for number in variables),
                tuple(held[f"last{number}"] for number in variables),
                {
                    step: tuple(float(loss) for _, loss, _ in rows)
                    for step, rows in groupby(losses, key=lambda row: int(row[0]))
                },
                steps,
                frozenset(int(step) for step, _, is_result in losses if is_result),
                drew_eagerly=_statements(held, "drew_eagerly") or frozenset(),
                drew_by_graph=_statements(held, "drew_by_graph") or frozenset(),
                drawn=_statements(held, "drawn_beside_orders"),
            )
    except (OSError, ValueError, KeyError):
        return None


def _statements(held: Any, name: str) -> frozenset[int] | None:
    """The statements that stand in a file by a name; None where the run told of none."""
    return frozenset(held[name].tolist()) if name in held.files else None


def apart(one: Learned, other: Learned) -> Apart:
    """How far `other` learned from `one`."""
    drew = one.drew_eagerly | one.drew_by_graph
    draws_apart = bool(
        one.drew_eagerly & other.drew_by_graph
        or one.drew_by_graph & other.drew_eagerly
        # A function that is traced again and again begins its numbers anew each time; traced once, it goes on.
        or one.drew_by_graph - other.drew_by_graph
        # A statement that says something else draws by itself, as the `shuffle` in a pipeline that was changed.
        or other.drew_eagerly - drew
        # As does one in the place of a `fit`, in which layers drew.
        or (one.drawn and other.drawn and one.drawn - other.drawn and other.drawn - one.drawn)
    )
    return replace(_apart(one, other), draws_apart=draws_apart)


def _apart(one: Learned, other: Learned) -> Apart:
    if one.steps != other.steps:
        return Apart(mismatch="steps", losses=_losses_apart(one, other))
    if len(one.last) != len(other.last):
        trains = f"trains {len(other.last)} variables instead of {len(one.last)}"
        return Apart(mismatch=trains, losses=_losses_apart(one, other))
    partners = _partners(one, other)
    if partners is None:
        return Apart(mismatch="trains variables of other shapes", losses=_losses_apart(one, other))
    found = [
        _variable_apart(one.first[at], one.last[at], other.last[partner], one.steps)
        for at, partner in enumerate(partners)
    ]
    return Apart(
        tuple(difference for difference, _ in found),
        tuple(rounding for _, rounding in found),
        _losses_apart(one, other),
    )


def _partners(one: Learned, other: Learned) -> list[int] | None:
    """For each variable the one of the other run that is it: by its place, unless another began with its values."""
    import numpy as np

    left = list(range(len(other.last)))
    partners = []
    for at, first in enumerate(one.first):
        fitting = [place for place in left if other.first[place].shape == first.shape]
        if not fitting:
            return None
        alike = [place for place in fitting if np.array_equal(other.first[place], first)]
        nearest = min(alike or fitting, key=lambda place: abs(place - at))
        left.remove(nearest)
        partners.append(nearest)
    return partners


def _variable_apart(first: Any, last: Any, other: Any, steps: int) -> tuple[float, float]:
    """The difference of a variable's two ends, and what rounding may explain, of how far training moved it."""
    import numpy as np

    unit = float(np.finfo(last.dtype).eps) if last.dtype.kind == "f" else 0.0
    first, last, other = (np.asarray(values, dtype=np.float64) for values in (first, last, other))
    if not (np.isfinite(last).all() and np.isfinite(other).all()):
        same = np.array_equal(np.isfinite(last), np.isfinite(other))
        return (math.nan, 0.0) if same else (math.inf, 0.0)
    size = float(np.linalg.norm(last)) or 1.0
    # A variable that ends where it began is measured by its own size.
    moved = float(np.linalg.norm(last - first)) or size
    rounding = _LEAST + _ULPS * unit * math.sqrt(max(steps, 1)) * size / moved
    return float(np.linalg.norm(other - last)) / moved, rounding


def _losses_apart(one: Learned, other: Learned) -> tuple[tuple[int, float], ...]:
    steps = sorted(one.losses.keys() & other.losses.keys())
    typical = median([abs(loss) for step in steps for loss in one.losses[step]] or [1.0])

    def difference(here: float, there: float) -> float:
        if not (math.isfinite(here) and math.isfinite(there)):
            return 0.0 if repr(here) == repr(there) else math.inf
        return abs(here - there) / (max(abs(here), typical) or 1.0)

    # Where a step gives several numbers, the loss is one of them.
    found = {step: min(starmap(difference, product(one.losses[step], other.losses[step]))) for step in steps}
    # What one run knows as the loss itself, the other may know by a function's results, of which it need be none: then the
    # first step would show it, before which nothing was learned. What is learned shows in the variables.
    mixed = [step for step in steps if (step in one.results) != (step in other.results)]
    if mixed and found[mixed[0]] > _NO_LOSS:
        found = {step: apart for step, apart in found.items() if step not in mixed}
    return tuple(found.items())


def sameness(
    runs: Sequence[Apart | None],
    control: Apart | None,
    repeats: Sequence[Apart | None],
    eagerly: Apart | None = None,
) -> Sameness:
    """Whether a version learned the same; where it differs and draws other random numbers, nobody knows for what.

    All are apart from the first run of the original: `runs` of the version, the `control`, `repeats` of the original
    itself, and `eagerly` the version where nothing of it is compiled.
    """
    found = _sameness(runs, control, repeats)
    draws_apart = any(run is not None and run.draws_apart for run in runs)
    if found.verdict != "same" and found.apart is not None:
        compiled = _sameness(runs, control, repeats, _TIMES_COMPILED)
        hidden = compiled.hidden or compiled.verdict == "same"
        found = replace(found, hidden=hidden and not draws_apart)
    if found.hidden and eagerly is not None and _is_to_the_last_digits(eagerly):
        return _said(
            found,
            "same",
            f"run eagerly, it learns the same to the last digits; compiled, weights differ by {share(found.apart or 0.0)} of what "
            f"training moved them; rounding alone goes {share(found.control or 0.0)}",
        )
    if found.verdict != "different" or not draws_apart:
        return found
    why = (
        "it draws its random numbers in another order, so what it learns cannot be compared number by number"
    )
    return replace(found, verdict="unknown", why=why, draws_apart=True)


def _sameness(
    runs: Sequence[Apart | None],
    control: Apart | None,
    repeats: Sequence[Apart | None],
    times: float = TIMES_CONTROL,
) -> Sameness:
    if control is None or None in runs or None in repeats or not runs:
        return Sameness("unknown", "what it learns was not seen")
    if control.mismatch or any(again is not None and again.mismatch for again in repeats):
        return Sameness(
            "unknown", "the program does not train alike twice: its runs differ in what they train"
        )
    allowed = _allowed(control, times)
    worst = _worst(runs)
    again = _worst(repeats)
    figures = Sameness("unknown", "", worst.most if not worst.mismatch else None, control.most, again.most)
    if any(math.isnan(value) for value in (*control.variables, *again.variables)):
        return _said(figures, "unknown", "the weights are not finite at the end")
    if _strays(again, again.rounding) and (again.most > _REPRODUCED or _strays(again, allowed)):
        return _said(
            figures,
            "unknown",
            f"the program does not reproduce itself: two runs of the original differ by {share(again.most)} of what "
            "training moved; seed its random numbers",
        )
    odd, clean = _losses(worst, control, times)
    if worst.mismatch == "steps":
        return _said(figures, "unknown", "its steps are not those of the original")
    if worst.mismatch:
        return _said(figures, "different", worst.mismatch)
    if odd:
        return _said(figures, "different", f"the losses part at step {odd[0]}")
    if _strays(worst, allowed):
        at = f"{share(worst.most)} of what training moved them"
        return _said(
            figures, "different", f"weights differ by {at}; rounding alone goes {share(control.most)}"
        )
    if not worst.variables and not worst.losses:
        return _said(figures, "unknown", "what it learns was not seen")
    told_apart = not worst.variables or any(run is not None and _strays(run, run.rounding) for run in runs)
    told_apart = told_apart and not _stays_near(worst, control)
    if told_apart and median(allowed or (0.0,)) >= _TOO_FAR:
        if clean < _ENOUGH_LOSSES:
            why = f"rounding alone goes {share(control.most)} of what training moves"
            return replace(_said(figures, "unknown", why), hidden=True)
        return _said(
            figures,
            "same",
            f"in the first {clean} losses; after that, rounding alone goes {share(control.most)} of what training moves",
            clean,
        )
    return _said(
        figures,
        "same",
        f"weights differ by {share(worst.most)} of what training moved them; rounding alone goes {share(control.most)}",
        len(worst.losses),
    )


def _said(figures: Sameness, verdict: SamenessVerdict, why: str, losses: int = 0) -> Sameness:
    return Sameness(verdict, why, figures.apart, figures.control, figures.repeat, losses)


def _is_to_the_last_digits(run: Apart) -> bool:
    """Whether a run learned what the original did, as two runs of that do."""
    return not run.mismatch and bool(run.variables) and not _strays(run, run.rounding)


def _allowed(control: Apart, times: float) -> tuple[float, ...]:
    """How far each variable may be apart. By chance a control moves one of them hardly at all: then the middle counts."""
    middle = median(control.variables or (0.0,))
    return tuple(
        times * max(own, middle) + rounding
        for own, rounding in zip(control.variables, control.rounding, strict=True)
    )


def _strays(found: Apart, allowed: Sequence[float]) -> bool:
    return any(own > most for own, most in zip(found.variables, allowed, strict=False))


def _stays_near(found: Apart, control: Apart) -> bool:
    """Whether a run ends far nearer to the original than rounding alone leads, as near as its own runs may be: where the last
    digit of a weight grows so far, a wrong edit would have as well."""
    typical = median(control.variables or (0.0,))
    return bool(found.variables) and found.most <= min(_REPRODUCED, typical / TIMES_CONTROL)


def _worst(runs: Sequence[Apart | None]) -> Apart:
    """The run that is furthest; one that cannot be compared goes before all."""
    known = [run for run in runs if run is not None]
    return max(known, key=lambda run: (bool(run.mismatch), run.most), default=Apart())


def _losses(found: Apart, control: Apart, times: float) -> tuple[list[int], int]:
    """The steps at which losses part, empty where few do; and at how many first ones they could be told to be the same."""
    by_step = dict(control.losses)
    furthest, odd, clean = 0.0, [], 0
    compared = 0
    for step, difference in found.losses:
        if step not in by_step:
            continue
        compared += 1
        furthest = max(furthest, by_step[step])
        if difference > times * furthest + _LEAST:
            odd.append(step)
        elif furthest <= _CLEAN_LOSS and not odd:
            clean = compared
    return (odd if len(odd) > _ODD_LOSSES * compared else []), clean


def share(value: float) -> str:
    """A share that may be very small, or above the whole: `12%`, `0.003%`, `2e-07`, `124%`."""
    if not math.isfinite(value):
        return "no finite share"
    if value == 0:
        return "nothing"
    if value >= 1:
        return f"{value * 100:,.0f}%"
    return f"{value * 100:.2g}%" if value >= 1e-5 else f"{value:.0e}"
