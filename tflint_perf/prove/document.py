"""A proof as a document: what `--output-format json` prints, and what tables, pages and plots are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tflint_perf.plain_data import plain
from tflint_perf.prove.fixes import PlacedFix
from tflint_perf.prove.judging import Judged
from tflint_perf.prove.proving import Outcome, Proof
from tflint_perf.prove.times import Timed, hidden_gain
from tflint_perf.prove.trial import as_run
from tflint_perf.rule import Claim
from tflint_perf.verify.records import Pair, Result

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class About:
    """Where a proof was made: of which program, with what, and when. `unsafe` counts fixes that --unsafe-fixes would add,
    `bold` those that --bold-fixes would, `pairs` the runs of each version that were asked for."""

    program: tuple[str, ...]
    device: str
    versions: Mapping[str, str]
    date: str
    linked: tuple[str, ...] = ()
    unsafe: int = 0
    pairs: int = 0
    bold: int = 0


def document_of(proof: Proof, about: About, applied: Sequence[str] = ()) -> dict[str, Any]:
    """The proof as JSON knows it. Times are in seconds, memory is in bytes; ratios above 1 are faster.

    Each fix stands in `fixes`. Of one that was tried with those that do the same, `group` is the number of these in `groups`,
    from 0. There the figures are, unless each was tried by itself after that (`one_by_one`). `applied` are the files that were
    written.
    """
    proved = set(proof.proved)
    groups = [outcome for outcome in proof.outcomes if len(outcome.fixes) > 1]
    alone = {outcome.fixes[0]: outcome.judged for outcome in proof.outcomes if len(outcome.fixes) == 1}
    fixes = sorted({fix for outcome in proof.outcomes for fix in outcome.fixes})
    document = {
        "schema": SCHEMA,
        "program": list(about.program),
        "date": about.date,
        "device": about.device,
        "versions": dict(about.versions),
        "pairs": about.pairs,
        "steps": proof.reference.steps if proof.reference is not None else None,
        "to_the_end": proof.reference.whole if proof.reference is not None else None,
        "result": result_of(proof),
        "by_reference": list(about.linked),
        "only_with_unsafe_fixes": about.unsafe,
        "only_with_bold_fixes": about.bold,
        "fixes": [{**_fix(fix), **_tried(fix, alone, groups), "kept": fix in proved} for fix in fixes],
        "groups": [
            {
                "fixes": [fixes.index(fix) for fix in group.fixes],
                "one_by_one": group.apart,
                **_judged(group.judged),
            }
            for group in groups
        ],
        "together": [_fix(fix) for fix in proof.kept],
        "whole": _judged(proof.whole) if proof.whole is not None else None,
        "applied": list(applied),
    }
    made: dict[str, Any] = plain(document, 4)
    return made


def result_of(proof: Proof) -> str:
    """`proved`, `nothing to fix`, `nothing pays`, `not confirmed` where what pays alone does not together, or `stopped`."""
    if proof.stopped:
        return "stopped"
    if proof.proved:
        return "proved"
    if proof.whole is not None:
        return "not confirmed"
    return "nothing pays" if proof.outcomes else "nothing to fix"


def drawn(proof: Proof) -> dict[str, Any] | None:
    """The runs of the whole as a result of an experiment, for the charts of `verify`."""
    if (
        proof.reference is None
        or not proof.before
        or proof.stopped
        or any(trial.failure for trial in proof.after)
    ):
        return None
    pairs = tuple(
        Pair(as_run(one), as_run(other)) for one, other in zip(proof.before, proof.after, strict=True)
    )
    result = Result("confirmed", "", Claim("step time", 1.0), proof.reference.steps, pairs=pairs)
    made: dict[str, Any] = plain(asdict(result), 4)
    return made


def _fix(fix: PlacedFix) -> dict[str, Any]:
    return {
        "code": fix.code,
        "name": fix.name,
        "file": fix.file,
        "cell": fix.cell,
        "row": fix.row,
        "message": fix.message,
        "fix": fix.title,
        "safe": fix.safe,
        "bold": fix.bold,
    }


def _tried(fix: PlacedFix, alone: Mapping[PlacedFix, Judged], groups: Sequence[Outcome]) -> dict[str, Any]:
    number = next((at for at, group in enumerate(groups) if fix in group.fixes), None)
    if fix in alone or number is None:
        return {**_judged(alone[fix]), "group": number}
    of_all = groups[number].judged
    return {**_judged(Judged(of_all.status, of_all.why, of_all.pairs)), "group": number}


def _judged(judged: Judged) -> dict[str, Any]:
    times, held, learned, printed = judged.times, judged.held, judged.learned, judged.printed
    figures = {
        name: _timed(getattr(times, name)) if times is not None else None
        for name in ("step", "stretch", "total", "first", "later")
    }
    hidden = hidden_gain(times) if times is not None else None
    return {
        "status": judged.status,
        "why": judged.why,
        "pairs": judged.pairs,
        "times": {"steps": times.steps, **figures, "hidden": asdict(hidden) if hidden is not None else None}
        if times is not None
        else None,
        "memory_a_step": {
            "before": held.growth[0],
            "after": held.growth[1],
            "grew": held.grew,
            "grows": held.grows,
        }
        if held is not None
        else None,
        "traces": {"before": held.traces[0], "after": held.traces[1]} if held is not None else None,
        "learned": asdict(learned) if learned is not None else None,
        "printed": asdict(printed) if printed is not None else None,
        **({"output": judged.output} if judged.output else {}),
    }


def _timed(timed: Timed) -> dict[str, Any]:
    return {"before": timed.before, "after": timed.after, "effect": asdict(timed.effect)}
