"""What readers said of findings in programs that nobody here had seen, as kept in `fixtures/judged.tsv`."""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tflint_perf.records import dataclass

# Of fewer a share says little.
_ENOUGH = 15
# The normal distribution has 5% above it.
_Z = 1.645


@dataclass(frozen=True, slots=True)
class Judged:
    """How many findings of a rule readers called right, arguable (true, but hardly worth it there) and wrong."""

    right: int = 0
    arguable: int = 0
    wrong: int = 0

    def __add__(self, other: Judged) -> Judged:
        return Judged(self.right + other.right, self.arguable + other.arguable, self.wrong + other.wrong)

    @property
    def all(self) -> int:
        return self.right + self.arguable + self.wrong

    @property
    def is_enough(self) -> bool:
        """Whether there are enough to say something of the rule."""
        return self.all >= _ENOUGH

    @property
    def is_seldom_right(self) -> bool:
        """Whether less than half of the rule's findings are right, as far as a sample can say: the upper end of the one-sided
        95% interval of their share (Wilson's) is below a half."""
        return self.is_enough and _upper(self.right, self.all) < 0.5

    @property
    def said(self) -> str:
        """In words: `of 69 findings in programs not seen before, 21 were right, 37 arguable and 11 wrong`."""
        return (
            f"of {self.all} findings in programs not seen before, {self.right} were right, {self.arguable} arguable "
            f"and {self.wrong} wrong"
        )


def _upper(count: int, of: int) -> float:
    """The upper end of Wilson's interval for the share `count / of`."""
    share, z = count / of, _Z * _Z / of
    return (share + z / 2 + math.sqrt(z * (share * (1 - share) + z / 4))) / (1 + z)


@cache
def all_judged() -> Mapping[str, Judged]:
    """What was said of the findings of each rule, over all rounds on record."""
    return read_judged(Path(importlib.import_module("tflint_perf.fixtures").__path__[0]) / "judged.tsv")


def read_judged(file: Path) -> Mapping[str, Judged]:
    """The file's rows, `rule`, `round` and how many were right, arguable and wrong, with tabs between them; by rule."""
    found: dict[str, Judged] = {}
    for row in file.read_text(encoding="utf-8").splitlines()[1:]:
        code, _, *counts = row.split("\t")
        found[code] = found.get(code, Judged()) + Judged(*map(int, counts))
    return found
