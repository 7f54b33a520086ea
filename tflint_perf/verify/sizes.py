"""At which sizes an experiment is measured: `sizes.toml` beside its scripts says what small, medium and large are.

The scripts stand there as they are at one of them, which is for people to read; at another size, constants at their top have
other values:

    of = "units"

    [small]
    at = 32
    what = "one hidden layer of 32 units, batches of 32"

    [medium]
    at = 2048
    what = "one hidden layer of 2,048 units, batches of 256"
    BATCH_SIZE = 256
    UNITS = 2048

    [large]
    …

A claim that holds for a small step says little of a large one. What a cost does from one size to the next says what it is:
so many milliseconds a step, or a share of it (`tflint_perf.catalogue.cost_over_sizes`).

With `grows = "cause"`, what grows is not the step but what costs: the rows that a loop goes through, the lines of a file.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, get_args

from tflint_perf.problems import ConfigError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE: Final = "sizes.toml"
Name = Literal["small", "medium", "large"]
Grows = Literal["step", "cause"]
NAMES: Final[tuple[Name, ...]] = ("small", "medium", "large")
# Whether a rule is on follows from what it costs here.
DECIDES: Final[Name] = "medium"


@dataclass(frozen=True, slots=True)
class Size:
    """One size: `what` it is in words, the constants of both scripts that differ, and how many steps a run takes.

    `at` is how many there are `of` what grows: 64 pixels; `grows` whether that makes the step larger or the cost. `step` is what a step
    of the scripts is, where it is an epoch, say. `steps` is None where the claim says how many.
    """

    name: Name
    what: str
    of: str
    at: int
    grows: Grows = "step"
    step: str = "a step"
    constants: Mapping[str, Any] = field(default_factory=dict)
    steps: int | None = None


def read_sizes(folder: Path) -> tuple[Size, ...]:
    """The sizes of the experiment in a folder, from small to large; none where nobody wrote them down.

    Raises:
        ConfigError: the file is not as it must be.
    """
    file = folder / FILE
    if not file.is_file():
        return ()
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
        of, step = str(document.pop("of")), str(document.pop("step", "a step"))
        grows = document.pop("grows", "step")
        if grows not in get_args(Grows):
            raise ValueError(f"`grows` is one of {', '.join(get_args(Grows))}")
        if set(document) != set(NAMES):
            raise ValueError(f"a table for each of {', '.join(NAMES)} is needed, and no other")
        return tuple(_size(document[name], name, of, grows, step) for name in NAMES)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"not sizes of an experiment: {error}", str(file)) from error


def _size(table: Mapping[str, Any], name: Name, of: str, grows: Grows, step: str) -> Size:
    constants = {key: value for key, value in table.items() if key.isupper()}
    if unknown := sorted(set(table) - set(constants) - {"at", "what", "steps"}):
        raise ValueError(f"unknown key `{unknown[0]}` in [{name}]; constants are in capitals")
    steps = table.get("steps")
    steps = None if steps is None else int(steps)
    return Size(name, str(table["what"]), of, int(table["at"]), grows, step, constants, steps)
