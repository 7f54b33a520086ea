"""What a run is asked for. Apart from what drives it, which imports what only the child process needs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plan:
    """How long to run: `steps` is what `train` is asked for.

    With `seconds`, the run ends once so much time was spent in timed windows. `samples` is how often live
    tensors and graphs are counted, with the start and the end.
    """

    steps: int
    seconds: float | None = None
    samples: int = 2
