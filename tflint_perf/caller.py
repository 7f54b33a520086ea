"""What is known of a place in another file that calls a function: plain data, to be kept and sent to other processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

How = Literal["call", "compile", "other"]
# Whether TensorFlow traces a piece of code.
State = Literal["compiled", "eager", "unknown"]


@dataclass(frozen=True, slots=True)
class Caller:
    """A place in another file that calls a function of this one, or hands it to something.

    `state` is that of the code around it. `may_be_per_step` is said of code that nobody calls in turn, so that
    it is judged by itself; `always` of a call that is made whenever the code around it runs, behind no condition.
    """

    how: How
    state: State = "unknown"
    per_step: bool = False
    may_be_per_step: bool = False
    always: bool = False


# By the functions of a file: "train_step", "Agent.learn".
Callers = Mapping[str, tuple[Caller, ...]]
