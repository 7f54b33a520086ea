"""What a run is asked for: which program, for how long, and what to look at."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tflint_perf.measured.record import Spot

STEPS = 200
SECONDS = 60.0


@dataclass(frozen=True)
class Learning:
    """For runs that are compared: what is learned is written to `out`, an `.npz`.

    It holds, for the variable number i in the order of their first update, `first0` … and `last0` …, and `losses` in
    rows: the step, the loss that was seen, and whether that is what a compiled function gave, and perhaps no loss. Random numbers are seeded with `seed` before the program
    runs, eager and compiled code draw the same, and ops are deterministic. `nudge` moves each trained weight by a unit
    or two in the last place after each step: how far rounding alone goes. `eagerly` runs what the program compiles op by op.
    `drawn` are the statements that draw random numbers in the program that this one is a version of (`Learned.drawn`).
    """

    out: Path
    seed: int = 0
    nudge: bool = False
    eagerly: bool = False
    drawn: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Request:
    """A program to watch.

    `program` is a script or a notebook, or `-m` and a module, with its arguments behind it. It is run by `python` in
    `folder`, the current one if None, with `environment` beside the variables there are. It is stopped after so many `steps` or so many
    `seconds` from its first step, whichever is first; None for no such end. `timeout` is when it is given up, in seconds
    from its start. With `details`, some of the steps are looked at line by line; without, steps are only marked and timed.
    `step` is the row that says what a step is; `probes` are rows of which is told whether they were reached.
    A run that ends after `steps` does so once as many `optimizers` make one as did in the run that it is held against; 0 where there
    is none.
    With `quiet`, what it prints is kept (`Seen.output`) and not shown.
    """

    program: tuple[str, ...]
    python: str = sys.executable
    folder: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    steps: int | None = STEPS
    seconds: float | None = SECONDS
    timeout: float | None = None
    step: Spot | None = None
    probes: tuple[Spot, ...] = ()
    details: bool = True
    learning: Learning | None = None
    optimizers: int = 0
    quiet: bool = False
