"""What a run is asked for. Apart from what drives it, which imports what only the child process needs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plan:
    """How long to run: `steps` is what `train` is asked for, and `until` how many of them are taken, all if None.

    With `seconds`, the run ends once so much time was spent in timed windows; sooner, once so many steps were taken in so many
    seconds, or so many seconds have told the median step well enough. `samples` is how often live tensors and graphs are
    counted, with the start and the end; it takes longer than many a step, so 0 where nobody asks. With `all_losses`, the
    loss of each step is looked at, and not only of some.
    """

    steps: int
    seconds: float | None = None
    sooner: tuple[int, float] | None = None
    told_after: float | None = None
    samples: int = 0
    until: int | None = None
    all_losses: bool = False

    @property
    def last(self) -> int:
        """How many steps are taken at most."""
        return self.steps if self.until is None else min(self.steps, self.until)
