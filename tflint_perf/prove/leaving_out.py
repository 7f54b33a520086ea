"""Which fixes to leave out so that the others do together, found in few runs: first without those under suspicion, then by halves.

What breaks the program, or makes it learn something else, is mostly one fix of several. `kept_of` asks of few versions whether they
do: of eight fixes with one at fault, of six or fewer, and of two where the one at fault is the only one under suspicion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tflint_perf.prove.fixes import PlacedFix, Version, groups_of
from tflint_perf.prove.judging import Judged, is_of_some


@dataclass(slots=True)
class Search:
    """What was found of versions so far. `attempt` runs one and judges it."""

    attempt: Callable[[Version], Judged]
    known: dict[Version, Judged]
    kept: Version = frozenset()
    left_out: dict[PlacedFix, Judged] = field(default_factory=dict)

    def admit(self, fixes: Sequence[PlacedFix], suspects: Sequence[PlacedFix] = ()) -> None:
        """Keep as many of the fixes, beside those that are kept, as do together; leave out the rest."""
        judged = self._judged(self.kept.union(fixes)) if fixes else None
        if judged is None or not is_of_some(judged):
            self.kept = self.kept.union(fixes)
        elif len(fixes) == 1:
            self.left_out[fixes[0]] = judged
        else:
            for part in _parts(fixes, suspects):
                self.admit(part)

    def _judged(self, version: Version) -> Judged:
        if version not in self.known:
            self.known[version] = self.attempt(version)
        return self.known[version]


def suspects_of(fixes: Sequence[PlacedFix], judged: Judged) -> list[PlacedFix]:
    """The fixes that say of themselves what may be the reason that all of them together don't do."""
    if judged.status == "breaks" or (judged.learned is not None and judged.learned.draws_apart):
        return [fix for fix in fixes if fix.bold]
    return [fix for fix in fixes if fix.changes_on_purpose]


def _parts(fixes: Sequence[PlacedFix], suspects: Sequence[PlacedFix]) -> tuple[Sequence[PlacedFix], ...]:
    """Those that are under suspicion last, if not all are; else two halves, which leave together what does the same."""
    if 0 < len(suspects) < len(fixes):
        return [fix for fix in fixes if fix not in suspects], suspects
    groups = groups_of(fixes)
    if len(groups) == 1:
        return fixes[: len(fixes) // 2], fixes[len(fixes) // 2 :]
    half = len(groups) // 2
    return [fix for group in groups[:half] for fix in group], [
        fix for group in groups[half:] for fix in group
    ]
