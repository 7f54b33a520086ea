"""What a rule is made of. A file in `rules/` imports from here, from `tflint_perf.analysis` and `tflint_perf.edit`."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, ClassVar, Literal

from tflint_perf.records import dataclass
from tflint_perf.repair import Refusal, Repair

if TYPE_CHECKING:
    import libcst as cst

    from tflint_perf.analysis.execution.step_loop_paths import Way
    from tflint_perf.analysis.model import Model
    from tflint_perf.edit import Editor


__all__ = ["Beside", "Claim", "Metric", "Refusal", "Repair", "Report", "Rule"]

# What a run measures. "first step" is the time to the first loss, "device memory" what the GPU's driver has given
# to the process, "peak device memory" what tensors took of it at most, "graph ops" the ops in all graphs alive.
Metric = Literal[
    "step time",
    "time per sample",
    "first step",
    "traces",
    "graph ops",
    "live tensors",
    "host memory",
    "device memory",
    "peak device memory",
]


@dataclass(frozen=True, slots=True)
class Claim:
    """What a rule says that its slow form costs: a metric, and the least effect that proves it.

    `least` is the smallest ratio of slow to fast (for `growth`, of the last quarter of the steps to the
    first) at which the claim holds. `tolerance` is the largest relative difference allowed between the
    losses of both scripts. `steps` is how many steps a run takes, all of them, where the verifier's own
    choice will not do: an effect that needs many, or data that memory holds for all steps at once. `step` is what a step
    of its scripts is called where that is none of training. `at` is what the cost goes with and how much of that there is
    in its scripts, where they are measured at one size: `at 50 iterations`.
    """

    metric: Metric
    least: float
    kind: Literal["ratio", "growth"] = "ratio"
    tolerance: float = 1e-5
    needs_gpu: bool = False
    steps: int | None = None
    step: str = "a step"
    at: str = ""


@dataclass(frozen=True, slots=True)
class Beside:
    """What a finding's remedy goes with: `text`, in which `{lines}` are those of `nodes`."""

    text: str
    nodes: tuple[cst.CSTNode, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """A finding as a rule gives it: a node of the tree, and what to say about it.

    `fix` is called only for findings that are shown, once positions are known; `bold` where bold
    fixes are asked for: `prove` tries it where the other does not pay, or first. `as_measured` is False for a form of
    the rule's case other than the one in its experiment: no figure is said of it. What it costs is `minor` where
    that is paid once, beside training or long after it, or is next to nothing. `steps` is the way from a loop
    that only this rule takes for one of steps. `beside` says what the remedy goes with, and where that is.
    """

    node: cst.CSTNode
    message: str
    fix: Callable[[Editor], Repair | Refusal | None] | None = None
    as_measured: bool = True
    bold: Callable[[Editor], Repair | Refusal | None] | None = None
    bold_first: bool = False
    steps: Way = ()
    minor: bool = False
    beside: tuple[Beside, ...] = ()


class Rule(ABC):
    """One rule: its docstring is its documentation.

    The docstring's first line is the summary. The rest is Markdown with the headings *What it does*,
    *Why is this bad?*, *Example* (two Python blocks, the second after "Use instead:"), *What is left alone*
    and *Sources*.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    # A file that contains none of these words cannot have a finding, so it is not parsed for this rule.
    triggers: ClassVar[tuple[str, ...]]
    # Where not empty: words of which such a file must contain one as well.
    needs: ClassVar[tuple[str, ...]] = ()
    fixes: ClassVar[Literal["safe", "unsafe", "both", "none"]] = "none"
    # Whether some of its findings have a bold fix, too.
    bold: ClassVar[bool] = False
    # Codes of rules whose fix of the same code goes first; this rule is asked again about what that leaves.
    yields_to: ClassVar[tuple[str, ...]] = ()
    # None marks a rule about correctness, which needs no experiment.
    claim: ClassVar[Claim | None] = None
    # On whatever the evidence says, because the project exists for it.
    always_on: ClassVar[bool] = False
    # Off until someone selects it, whatever the evidence says: what it finds is often a choice, not a slip.
    opt_in: ClassVar[bool] = False

    # Whether a program that names no framework may have a finding, for what it runs of the files that it imports.
    through_imports: ClassVar[bool] = False
    # Words of which a file that names no framework must contain one, to have a finding for what other files run of it.
    through_callers: ClassVar[tuple[str, ...]] = ()

    # Whether it is about compiled code, which a function may be that another file compiles.
    in_compiled_code: ClassVar[bool] = False

    # Whether it says something of a whole program, not what a step costs: told as `info`, last, and in one line for many.
    of_programs: ClassVar[bool] = False

    # Whether what it finds costs some milliseconds each time that it runs, and no more: it says nothing of what a program is seen to
    # run a few times in all, or with a pause each time.
    adds_up: ClassVar[bool] = False

    # Whether it holds where Keras runs on another backend, too: it is about `tf.data`, say.
    any_backend: ClassVar[bool] = False

    @abstractmethod
    def check(self, model: Model) -> Iterator[Report]:
        """Yield one report for each place where the rule applies."""

    @classmethod
    def summary(cls) -> str:
        """The docstring's first line."""
        return (cls.__doc__ or "").strip().split("\n", 1)[0]

    @classmethod
    def explanation(cls) -> str:
        """The docstring after its first line, as Markdown without the indentation."""
        _, _, rest = (cls.__doc__ or "").strip().partition("\n")
        lines = rest.split("\n")
        indents = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
        margin = min(indents, default=0)
        return re.sub(r"\n{3,}", "\n\n", "\n".join(line[margin:] for line in lines)).strip() + "\n"
