"""What other files say: what imported names stand for there, and who there calls what this file defines.

A value of another file is known by a path: "agents.ddpg.Agent", a call of it "agents.ddpg.Agent()", a method of what
that gives "agents.ddpg.Agent().learn".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from tflint_perf.analysis.values.caller import Batch, Caller
from tflint_perf.analysis.values.values import UNKNOWN, Value
from tflint_perf.records import dataclass

if TYPE_CHECKING:
    from tflint_perf.analysis.python.scopes import Function


# By this name it is asked which programs a file is part of, as it is by that of a function who calls it.
PROGRAMS = "<programs>"
# What runs where a loop goes over an object, or asks it for an item.
RUN_OVER = ("__getitem__", "__iter__", "__next__")


@dataclass(frozen=True, slots=True)
class ClassFacts:
    """Of a class of another file, what `Classes` knows of the file's own."""

    keras_kind: str = ""
    has_foreign_base: bool = True


@dataclass(frozen=True, slots=True)
class Mapped:
    """Of a function of another file, what counts where it is given to `Dataset.map` or `from_generator`.

    `nature` is that of `stateful`; "" where nothing is known of the function. `product` is that of the function that
    calling it gives. `elementwise` is how many parameters it has
    if it gives on a batch what it gives on each element, else 0. `grows` says how it makes elements larger, as `growth`
    does; "floats" and "scaled floats" of what it makes of bytes alone. It `loads` where Python code in it reads images or arrays
    from files. A generator `only_generates`, and another function `only_computes`, where it reads nothing that TensorFlow can't read.
    """

    nature: str = ""
    elementwise: int = 0
    grows: str = ""
    product: str = ""
    loads: bool = False
    only_generates: bool = False
    only_computes: bool = False


@dataclass(frozen=True, slots=True)
class Hindrance:
    """What stands against tracing a function of another file; `may` says that it may be nothing, as a run would show."""

    reason: str
    may: bool = False


class Outside:
    """What a model may ask about the other files, with the answers of a file that has none. `path` is a value's `outside`."""

    def value(self, dotted: str) -> Value:
        """What a name that this file imports stands for, by its dotted name as it is imported."""
        return UNKNOWN

    def member(self, path: str, name: str) -> Value:
        """A method or attribute of such a value."""
        return UNKNOWN

    def integers(self, path: str) -> tuple[int, ...]:
        """All integers that a name of another file may stand for; none where one of them is not in sight."""
        return ()

    def called(self, path: str) -> Value:
        """What calling it gives."""
        return UNKNOWN

    def makes(self, path: str) -> bool:
        """Whether it is, or calling it gives, tensors that the device made."""
        return False

    def makes_batches(self, path: str) -> Batch | None:
        """How it, or what it is a generator or an object of, makes batches on the host; None where it makes none."""
        return None

    def gives_batches(self, path: str, part: tuple[int, ...]) -> Batch | None:
        """How the batches are made that are taken from what calling it gives, or from a part of that."""
        return None

    def acts(self, path: str) -> bool:
        """Whether calling it makes a gradient step or an inference call."""
        return False

    def has_step_loop(self, path: str) -> bool:
        """Whether calling it runs a step loop."""
        return False

    def trains_whole(self, path: str) -> bool:
        """Whether calling it trains a model from beginning to end, over several epochs."""
        return False

    def trains(self, path: str) -> bool:
        """Whether calling it trains a model."""
        return False

    def may_train(self, path: str) -> bool:
        """Whether calling it calls what, by its name, trains an object of which its file does not know the class."""
        return False

    def plays(self, path: str) -> bool:
        """Whether calling it acts in an environment."""
        return False

    def takes(self, path: str) -> tuple[tuple[str, int], ...]:
        """The parameters whose elements calling it takes into steps as they come, each with its place."""
        return ()

    def gives_back(self, path: str) -> tuple[tuple[str, int], ...]:
        """The parameter that calling it gives back as it was given, with its place."""
        return ()

    def mapped(self, path: str) -> Mapped:
        """What it does as a function given to `Dataset.map`."""
        return Mapped()

    def hindrance(self, path: str) -> Hindrance | None:
        """What stands against tracing what calling it runs, and where; None where nothing is known to."""
        return None

    def hindrance_of_compiled(self, path: str) -> str:
        """What is seen to stand against tracing it where TensorFlow compiles it, and where; "" for nothing."""
        return ""

    def takes_tensors(self, path: str) -> bool:
        """Whether a compiled function may make tensors of its arguments, by an `input_signature`."""
        return True

    def hindered_import(self) -> tuple[str, str] | None:
        """The name of the first function that TensorFlow compiles, in the modules that this file imports and in those that
        these import, of which something is known to stand against that, and what."""
        return None

    def class_facts(self, path: str) -> ClassFacts:
        """What kind of class it is."""
        return ClassFacts()

    def callers(self, function: str) -> tuple[Caller, ...]:
        """Who in other files calls a function of this file: "train_step", "Agent.learn"; or `PROGRAMS`, which import it."""
        return ()

    def given(self, function: str, parameter: str, place: int) -> Value:
        """What callers in other files are known to give as a parameter."""
        return UNKNOWN

    def methods_sought(self) -> frozenset[str]:
        """The names of methods of which it is asked who calls them, also of objects that are given as parameters."""
        return frozenset()

    def module_texts(self, *dotted: str) -> tuple[bytes, ...]:
        """The texts of the modules that imported names are in, and of all files of the project that these import; none
        where they are in no file of the project."""
        return ()

    def needs_older(self, *release: int) -> bool:
        """Whether the project says that it needs TensorFlow before that release: `needs_older(2, 9)`."""
        return False

    def keras_runs_elsewhere(self) -> bool:
        """Whether the project says that it needs Keras and another framework that it runs on, and not TensorFlow."""
        return False

    def keras_has_own_engine(self) -> bool:
        """Whether the project says that it needs a Keras before it became TensorFlow's own, which runs models in a session."""
        return False

    def runs_on_cpus(self) -> bool:
        """Whether the project says that it needs a TensorFlow that is built for CPUs, and no other."""
        return False


NOTHING = Outside()


@runtime_checkable
class AskedAboutCallers(Protocol):
    """What is known of other files, where it is known who asks about callers: that of a file in a project."""

    # Whether any answer depended on who calls this file's functions.
    asked: bool

    def supposing(self, *callers: Caller) -> Outside:
        """The same, but that every function of the file has these callers, too."""

    def is_called_by_none(self, bases: Iterable[str]) -> bool:
        """Whether it is known that no other file runs anything of this one, given the paths of its classes' bases."""


def name_given(function: Function) -> str:
    """The name by which other files give a function its arguments; of a constructor, that of its class comes first."""
    owner = function.owner
    if function.name == "__init__" and owner is not None and owner.function is None:
        return f"{owner.name}.__init__"
    return name_outside(function)


def name_called(function: Function) -> str:
    """The name by which other files run a function: as `name_outside` has it, and "Class.__call__" of an object's."""
    owner = function.owner
    if function.name == "__call__" and owner is not None and owner.function is None:
        return f"{owner.name}.__call__"
    return name_outside(function)


def name_outside(function: Function) -> str:
    """The name by which other files may reach a function: "f", "Class.method", and "make>step" of what `make` defines and
    returns; "" where they can't."""
    # Whoever makes or calls an object runs the others, and that is seldom per step.
    if function.name.startswith("__") and function.name not in RUN_OVER:
        return ""
    if function.owner is not None:
        within_reach = function.owner.function is None and function.owner.scope.parent is not None
        return f"{function.owner.name}.{function.name}" if within_reach else ""
    # `main` is the program's, which runs once.
    if function.name in ("<lambda>", "main"):
        return ""
    if function.outer is not None:
        maker = name_outside(function.outer) if function.is_returned else ""
        return f"{maker}>{function.name}" if maker else ""
    return function.name
