"""What is known of a place in another file that calls a function: plain data, to be kept and sent to other processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from tflint_perf.finding import Via
from tflint_perf.records import dataclass

How = Literal["call", "compile", "other", "consume", "drive", "import"]
# Whether TensorFlow traces a piece of code.
State = Literal["compiled", "eager", "unknown"]
# How a batch is made on the host.
Batch = Literal["drawn", "stacked", "preprocessed", "augmented"]
# Where `fit` has batches made: in the "step" itself, which waits, or beside it; "" where nothing is said.
Beside = Literal["", "step", "thread", "threads", "processes"]
# What becomes of a value on the host. "shown": printed or logged. "glanced": the same, behind a condition. "summed": added
# to a number. "counted": the `counter` of `counter % n`. "later": read only behind the loop. "drawn": made a picture of.
# "filed": written to a file. "returned": given back to the device. "unused": given a name that nothing reads. "steering": decides what the
# loop does. "needed": anything else.
Fate = Literal[
    "shown",
    "glanced",
    "summed",
    "counted",
    "later",
    "drawn",
    "filed",
    "returned",
    "unused",
    "steering",
    "needed",
]
NEEDED: frozenset[Fate] = frozenset({"needed"})
# The type of a Python number. "number" is an `int` or a `float`, and the code does not show which.
NumberType = Literal["int", "float", "bool", "number"]
# How often a value is another one: "epoch" where the loops of steps leave it as it is.
Change = Literal["step", "epoch"]


@dataclass(frozen=True, slots=True)
class Given:
    """What is said of an argument, by its name, or where that is "" by its place; "*" is any argument.

    `how` says how batches that are taken from it are made on the host. Of an object, `path` leads to its class, which may
    make batches by other ways than being run over: by a method, in an attribute. `made` says that it is a tensor which
    the device made, `size` that it is one sample, or one batch, `of_functional_model` that it stands for a tensor of one. Of a
    model and a dataset the `kind` is told; of a dataset also how far ahead its elements are made, what they are, how they were made
    large, and whether they differ, as `Origin` has them, and of a model or the like whether it is `anew`: each iteration
    around the call makes it, and no other gets it. Of a Python number that differs from call to call `number` is the type, and
    `changes` says how often it does.
    """

    name: str
    at: int
    how: Batch | None
    path: str = ""
    made: bool = False
    size: Literal["", "sample", "batch"] = ""
    of_functional_model: bool = False
    kind: Literal["", "model", "dataset", "iterator"] = ""
    ready: str = ""
    elements: str = ""
    large: str = ""
    differ: bool = False
    number: Literal["", NumberType] = ""
    changes: Literal["", Change] = ""
    anew: bool = False


@dataclass(frozen=True, slots=True)
class Passed:
    """An argument of a call, by its name, or where that is "" by its place: one of `True`, `False` and `None`, as the code has it,
    or "" for anything else. "*" is any argument."""

    name: str
    at: int
    constant: Literal["", "True", "False", "None"] = ""


@dataclass(frozen=True, slots=True)
class Caller:
    """A place in another file that calls a function of this one, or hands it to something.

    `state` is that of the code around it. `may_be_per_step` is said of code that nobody calls in turn, so that
    it is judged by itself; `always` of a call that is made whenever the code around it runs, behind no condition;
    `guarded` of one that a guard or a cache keeps from being made on each step, and `taped` of one that is part of a gradient
    step, as what its tape records is.
    `fates` is what becomes there of what the call gives, `parts` what becomes of the parts of a tuple.
    "drive" is what takes the next of what a generator of this file yields. "import" is a program that the file is part of,
    and "eager" its state where it has all compiled functions run in eager mode.
    "consume" is what takes the elements of a dataset that comes from this file: `which` part of a tuple, "[1]", or ""
    for what is none, or "*" for any. `given` are the arguments from which batches are taken that Python makes, and
    `fed` says that what the call gives goes into a step, `learned_from` into a gradient step, `trains` that a step loop around the call trains, and
    `on_one_graph` that a loop makes the call again and again on the same graph of TensorFlow 1; `looped` that a loop does,
    whatever it is for, and `repeated` that one of steps or epochs does. `files` are the arguments that name several files, by their names or places; "*" is any argument. So does `steady` with
    those that are the same in all iterations of the step loops that make it.
    `applied` says that what the call gives are gradients, by which variables are changed there, and `passing` that single
    passes alone, which train nothing, make the call per step. `each_step` leads from a
    step loop to the call, which it ends with; () where none is known that makes it. `times` is how often a program makes the call in
    all, at most; None where that is not in sight; `paused` says that the program pauses between two such calls. `passed` are all arguments. `beside` is where Keras's `fit`
    makes the call. `also_eager` says that eager code is known to run the code around, which Keras would trace by itself.
    """

    how: How
    state: State = "unknown"
    per_step: bool = False
    may_be_per_step: bool = False
    always: bool = False
    fates: frozenset[Fate] = NEEDED
    parts: tuple[frozenset[Fate], ...] = ()
    which: str = ""
    given: tuple[Given, ...] = ()
    passed: tuple[Passed, ...] = ()
    fed: bool = False
    learned_from: bool = False
    guarded: bool = False
    taped: bool = False
    trains: bool = False
    on_one_graph: bool = False
    looped: bool = False
    repeated: bool = False
    files: tuple[str | int, ...] = ()
    steady: tuple[str | int, ...] = ()
    applied: bool = False
    passing: bool = False
    beside: Beside = ""
    also_eager: bool = False
    times: int | None = None
    paused: bool = False
    each_step: tuple[Via, ...] = field(default=(), compare=False)

    @property
    def is_fit(self) -> bool:
        """Whether Keras's `fit` makes the call, in a thread beside its steps."""
        return any(via.kind == "fit" for via in self.each_step[:1])

    def fates_of(self, path: tuple[int, ...]) -> frozenset[Fate]:
        """What becomes of the part that `path` leads to of what the call gives."""
        if not path:
            return self.fates
        return self.parts[path[0]] if len(path) == 1 and path[0] < len(self.parts) else self.fates


# By the functions of a file: "train_step", "Agent.learn".
Callers = Mapping[str, tuple[Caller, ...]]


def passed_as(caller: Caller, name: str, place: int) -> Passed | None:
    """The argument by which a call in another file may give a parameter; None where it leaves that to its default."""
    return next(
        (each for each in caller.passed if each.name in ("*", name) or (not each.name and each.at == place)),
        None,
    )
