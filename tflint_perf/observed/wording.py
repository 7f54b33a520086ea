"""What the text, the Markdown and the page of a run say in the same words."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from tflint_perf.catalogue.figures import number, ratio, seconds
from tflint_perf.measured.record import (
    ENOUGH_STEPS,
    FAILED_BEFORE,
    NO_STEPS,
    PARTS,
    TOO_FEW,
    Ending,
    Line,
    Look,
    Part,
    Record,
    Settled,
    Spot,
    Traced,
)
from tflint_perf.observed.figures import (
    beside,
    between,
    cause_in_words,
    counted,
    events_in_words,
    in_unit_of,
    of_growth,
    percent,
    plural,
    slope,
)

PART_WORDS: Mapping[Part, str] = MappingProxyType(
    {
        "input": "waiting for the next batch",
        "dispatch": "Python in TensorFlow, starting ops",
        "device": "kernels at work",
        "tracing": "making graphs of functions",
        "copies": "tensors to the host",
        "conversions": "host data to tensors",
        "files": "reading and writing files",
        "gc": "Python's garbage collector",
        "rest": "other Python and libraries",
    }
)
_ENDINGS: Mapping[Ending, str] = MappingProxyType(
    {
        "end": "ran to its end",
        "steps": "was stopped there",
        "seconds": "was stopped when its time was up",
        "exit": "ended by itself",
        "error": "failed",
        "signal": "ended by a signal",
    }
)
_FOUND: Mapping[str, str] = MappingProxyType(
    {
        "optimizer": "an iteration of the loop",
        "gradient": "an iteration of the loop",
        "session": "an iteration of the loop",
        "keras": "a batch of `fit`",
        "told": "an iteration of the loop",
    }
)
_LOOKS: Mapping[Look, str] = MappingProxyType(
    {"time": "their time", "lines": "the lines that hold it", "details": "what happens there"}
)
# Parts that sum to a step but for so much are told as they are.
_ROUGH = 0.05
# A share of a step that is not worth a row.
_LEAST_SHARE = 0.001
# Seconds that a trace takes which is worth a row, whoever's function it is.
_LONG_TRACE = 0.1
COST = frozenset({"confirmed", "seen in a run"})


def program(record: Record) -> str:
    """The program as it was given."""
    return shlex.join(record.program)


def place(spot: Spot) -> str:
    """`train.py:41`, or `train.ipynb:cell 2:3`."""
    cell = "" if spot.cell is None else f"cell {spot.cell}:"
    return f"{spot.file}:{cell}{spot.row}"


def versions(record: Record) -> str:
    """`TensorFlow 2.21.0, Keras 3.12.0, Python 3.11.2 on CPU`."""
    names = {"tensorflow": "TensorFlow", "keras": "Keras", "python": "Python"}
    said = [f"{names[key]} {record.versions[key]}" for key in names if key in record.versions]
    return f"{', '.join(said)} on {record.device}" if said else record.device


def steps(record: Record) -> str:
    """How many steps there were, where, and how the run ended."""
    found, count = record.steps, record.steps.count
    if not count:
        without = "" if "tensorflow" in record.versions else " TensorFlow was not imported, or failed to be."
        return f"No training step was seen: the program {ending(record)}, {seconds(record.wall)} after its start.{without}"
    where = (
        f", each {_FOUND.get(found.kind, 'a round of the loop')} at {place(found.loop)}" if found.loop else ""
    )
    update = (
        f", with gradients applied at {place(found.update)}"
        if found.update and found.update != found.loop
        else ""
    )
    said = f"{count:,} {plural('step') if count != 1 else 'step'}{where}{update}"
    return f"{said}; the program {ending(record)}, {seconds(record.wall)} after its start."


def ending(record: Record) -> str:
    """How the run ended: `was stopped there`, `failed (exit code 1)`."""
    code = f" (exit code {record.code})" if record.ended in ("exit", "error", "signal") else ""
    return f"{_ENDINGS[record.ended]}{code}"


def step_time(record: Record) -> str:
    """`A step takes 8.2 ms (8.1 to 8.4); the first took 2.3 s.`"""
    if record.step is None:
        return (
            "The time of a step could not be measured: there were too few steps."
            if record.steps.count
            else ""
        )
    first = f"; the first took {seconds(record.first_step)}" if record.first_step is not None else ""
    if _is_mean(record):
        usual = seconds(record.median_step or 0.0)
        return f"A step takes {between(record.step)} on average, and half of them less than {usual}{first}."
    return f"A step takes {between(record.step)}{first}."


def _is_mean(record: Record) -> bool:
    """Whether a step is told as the mean of all that were not disturbed, as some do much that others don't."""
    return (
        record.step is not None and record.median_step is not None and record.median_step < record.step.value
    )


def summary(record: Record) -> Sequence[str]:
    """A run in two lines: its steps, and what a step takes with the finding that would save most of it."""
    found = with_status(record, *COST)
    said = [step_time(record)]
    if found and record.is_long_enough:
        time, share = saving(found[0], record)
        saved = f"at most {time} of it, {share}, goes to" if share else "what grows is"
        more = f", and {len(found) - 1} more" if len(found) > 1 else ""
        said.append(f"{saved[0].upper()}{saved[1:]} {found[0].code} in {place(found[0].spot)}{more}.")
    second = " ".join(filter(None, [*said, too_few(record)]))
    return [line for line in (f"{program(record)}: {steps(record)}", second) if line]


def parts(record: Record) -> Sequence[tuple[Part, float, float]]:
    """The parts of a step that matter, the largest first, with their seconds and their shares of all of them."""
    whole = sum(record.parts.values())
    found = [(part, record.parts.get(part, 0.0)) for part in PARTS]
    shown = [(part, time, time / whole) for part, time in found if whole and time / whole >= _LEAST_SHARE]
    return sorted(shown, key=lambda item: -item[1])


def costly_lines(record: Record, most: int) -> Sequence[Line]:
    """The lines that hold most of a step."""
    ordered = sorted(record.lines, key=lambda line: (-line.seconds, line.spot.file, line.spot.row))
    return [line for line in ordered if line.share >= _LEAST_SHARE][:most]


def line_events(line: Line) -> str:
    return events_in_words(line.events)


def traced(record: Record) -> Sequence[Traced]:
    """The functions that were traced long, and those of the user's that were more than once, the costliest first."""
    worth = [
        one for one in record.traces if one.seconds >= _LONG_TRACE or (one.count > 1 and one.spot is not None)
    ]
    return sorted(worth, key=lambda one: (-one.in_steps, -one.seconds))


def trace_line(one: Traced, record: Record) -> str:
    """`57 times in 1.3 s, 55 of them in later steps: new Python value; called at train.py:48`."""
    times = "once" if one.count == 1 else f"{one.count:,} times"
    later = f", {one.in_steps:,} of them after the first five steps" if one.in_steps else ""
    causes = sorted(
        ((cause, number) for cause, number in one.causes.items() if cause != "first call"),
        key=lambda item: -item[1],
    )
    why = (
        f": {', '.join(f'{cause_in_words(cause)} ({number:,}×)' for cause, number in causes)}"
        if causes
        else ""
    )
    called = f"; called at {place(one.called_at)}" if one.called_at is not None and one.in_steps else ""
    return f"{times} in {seconds(one.seconds)}{later}{why}{called}"


def growing(record: Record) -> Iterator[tuple[str, str]]:
    """What grows with the steps, each with how fast and, of tensors, who holds them."""
    for name, growth in record.growth.items():
        if growth.grows:
            first, last = (
                (of_growth(name, growth.points[at][1]) for at in (0, -1)) if growth.points else ("", "")
            )
            span = f", from {first} to {last}" if growth.points and first != last else ""
            yield name, f"{slope(name, growth)}{span}"
    tensors = record.growth.get("live tensors")
    held = [kept for kept in record.kept if "`" in kept.holder] or record.kept
    for kept in held if tensors is None or tensors.grows else ():
        yield "kept", f"{counted(kept.count, 'tensor')} a step, held by {kept.holder}"


def observer(record: Record) -> str:
    """What the observer cost."""
    if record.observer is None:
        return "The cost of observing was not measured: there were too few steps."
    low, high = (number(each, 3) for each in (record.observer.low, record.observer.high))
    value = number(record.observer.value, 3)
    interval = f" ({low} to {high})" if low != high else ""
    said = f"Observing made a step {value}×{interval} as long"
    if record.detail is not None:
        left_out = "" if _is_mean(record) else ", left out above,"
        said += f"; the few steps looked at in detail{left_out} took {ratio(record.detail)} as long"
    if record.parts_sum is not None and abs(record.parts_sum - 1) > _ROUGH:
        said += (
            f". What goes on in those sums to {ratio(record.parts_sum)} what such steps take: the time of each part, "
            "and of what happens at lines, is a share of that, and rough"
        )
    return f"{said}."


def too_few(record: Record) -> str:
    """That too few steps were looked at to judge findings, and how more are had; nothing where they were enough."""
    if not record.steps.count or (
        record.is_long_enough and all(one.why != TOO_FEW for one in record.findings)
    ):
        return ""
    looked = ", ".join(f"{record.looked_at.get(look, 0)} for {said}" for look, said in _LOOKS.items())
    what = "judge all findings" if record.is_long_enough else f"say what anything costs ({looked})"
    step = record.mean_step or 0.0
    if record.ended == "steps":
        remedy = f"look at more with `--steps {ENOUGH_STEPS}`"
    elif record.ended == "seconds" and step:
        remedy = f"look at {ENOUGH_STEPS} with `--seconds {math.ceil(ENOUGH_STEPS * step / 10) * 10}`"
    else:
        remedy = f"let the program train for {ENOUGH_STEPS} steps or more"
    return f"Too few steps were looked at to {what}: {remedy}."


def costs_title(record: Record) -> str:
    """What stands above the findings that count."""
    return "What fixing would save per step, at most" if record.is_long_enough else "What a few steps show"


def not_judged(record: Record) -> Iterator[tuple[str, Sequence[Settled]]]:
    """The findings of which the run says nothing, by the reason."""
    left = with_status(record, "not judged")
    by_itself = (TOO_FEW, FAILED_BEFORE, NO_STEPS)
    reasons = {
        "their rows were not reached": with_status(record, "not reached"),
        **{why: [one for one in left if one.why == why] for why in by_itself},
        "a run cannot tell": [one for one in left if one.why not in by_itself],
    }
    yield from ((said, found) for said, found in reasons.items() if found)


def saving(one: Settled, record: Record) -> tuple[str, str]:
    """What mending a finding would save a step at most, and that as a share: `3.1 ms`, `38%`; `grows` where that is it."""
    if record.step is None or not one.seconds or one.status not in COST:
        return ("grows" if one.status in COST else ""), ""
    return in_unit_of(record.step.value)(one.seconds), percent(one.seconds / record.step.value)


def detail(one: Settled, record: Record) -> str:
    """Why, without the time that stands beside it."""
    if record.step is not None and one.seconds and one.status in COST:
        return one.why.removeprefix(f"{beside(one.seconds, record.step.value)} a step").removeprefix(": ")
    return one.why


def with_status(record: Record, *statuses: str) -> list[Settled]:
    return [one for one in record.findings if one.status in statuses]


def at_places(findings: Iterable[Settled]) -> str:
    """The places of findings, each with the code of its rule, in a row."""
    return ", ".join(f"{place(one.spot)} {one.code}" for one in findings)
