"""What the other files of a project say to one of them: the `Outside` of a model."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tflint_perf.analysis.links.summary import Part, Thing
from tflint_perf.analysis.values.caller import Batch, Caller, Callers, Given
from tflint_perf.analysis.values.outside import PROGRAMS, RUN_OVER, ClassFacts, Hindrance, Mapped, Outside
from tflint_perf.analysis.values.values import (
    COMPILER,
    STREAMS,
    TENSOR,
    UNKNOWN,
    Origin,
    Value,
    join,
    stream_from,
)
from tflint_perf.project.module_search import ELSEWHERE
from tflint_perf.project.modules import Files, Found

# A chain of bases that is longer leads in a circle.
_LONGEST = 12


class Linked(Outside):
    """What the other files of a project say to one of them."""

    def __init__(
        self,
        files: Files,
        file: Path,
        callers: Callers | None = None,
        imported: frozenset[Path] | None = None,
        sought: frozenset[str] = frozenset(),
    ) -> None:
        self._files = files
        self._file = file
        self._imported = imported
        self._callers = callers or {}
        self._sought = sought
        self._supposed: tuple[Caller, ...] = ()
        # Whether any answer depended on who calls this file's functions.
        self.asked = False

    def is_called_by_none(self, bases: Iterable[str]) -> bool:
        """Whether it is known that no other file runs anything of this one, given the paths of its classes' bases.

        To do so a file has to import it, or to define a class that one here is derived from.
        """
        if self._imported is None or self._file in self._imported:
            return False
        return all(base.file == self._file for base in self._files.classes_at(self._file, bases))

    def supposing(self, *callers: Caller) -> Linked:
        """The same, but that every function of the file has these callers, too."""
        other = Linked(self._files, self._file, self._callers)
        other._supposed = callers
        return other

    def value(self, dotted: str) -> Value:
        """What an imported name stands for."""
        if dotted.split(".", 1)[0] in ELSEWHERE:
            return UNKNOWN
        return self._value(self._files.follow(self._file, dotted))

    def member(self, path: str, name: str) -> Value:
        """A method or attribute of a class or instance."""
        return self._value(self._files.follow(self._file, f"{path}.{name}"))

    def integers(self, path: str) -> tuple[int, ...]:
        """All integers that a name of another file may stand for."""
        found = self._files.follow(self._file, path)
        settled = self._files.settled(found) or found if found is not None else None
        return settled.thing.integers if settled is not None and settled.thing is not None else ()

    def called(self, path: str) -> Value:
        """What calling something gives."""
        found = self._files.follow(self._file, f"{path}()")
        if found is not None:
            return self._value(found)
        called = self._files.follow(self._file, path)
        if called is None or called.thing is None:
            return UNKNOWN
        if called.what == "instance":
            return self._output(called)
        return self._given(called, 0)

    def _given(self, called: Found, depth: int) -> Value:
        """What calling a function gives."""
        thing, path = called.thing, f"{called.path}()"
        if thing is None:
            return UNKNOWN
        if thing.gives == "tuple":
            parts = enumerate(thing.parts)
            return Value(
                "tuple",
                items=tuple(self._of_part(called.file, part, f"{path}[{at}]", depth) for at, part in parts),
            )
        if thing.gives in ("list", "dict"):
            held = next(
                (self._of_part(called.file, part, f"{path}[]", depth) for part in thing.parts), UNKNOWN
            )
            return Value(thing.gives, element=held if held.known else None)  # type: ignore[arg-type]
        return self._of_part(called.file, thing, path, depth)

    def _of_part(self, file: Path, part: Part | Thing, path: str, depth: int) -> Value:
        """A value as a file tells it, which came by `path`."""
        if part.others:
            return self._one_of(file, part)
        if part.path and depth < _LONGEST:
            found = self._files.follow(file, part.path)
            if found is not None:
                return self._value(found)
            called = self._files.follow(file, part.path.removesuffix("()"))
            if called is not None and called.what == "thing":
                return self._given(called, depth + 1)
        if part.gives in STREAMS:
            origin = Origin(path, part.ready, part.elements, part.large, part.differ, part.shapes_left_by)
            return stream_from(origin, part.gives)  # type: ignore[arg-type]
        return _of_kind(part.gives)

    def _one_of(self, file: Path, told: Part | Thing) -> Value:
        """One of the objects, functions or classes that a file tells of."""
        return join(self._value(self._files.follow(file, path)) for path in (told.path, *told.others))

    def _output(self, instance: Found) -> Value:
        """What calling a model, layer, loss or metric gives."""
        kind = self.class_facts(instance.path.removesuffix("()")).keras_kind
        own = self._files.member(instance, "__call__")
        if own is not None:
            return self._given(own, 0)
        if kind in ("loss", "metric"):
            return TENSOR
        if kind not in ("model", "layer"):
            return UNKNOWN
        call = self._files.member(instance, "call")
        if call is not None and call.thing and call.thing.gives in ("tuple", "list", "dict"):
            return self._given(call, 0)
        return TENSOR if call is None or (call.thing and call.thing.gives == "tensor") else UNKNOWN

    def makes(self, path: str) -> bool:
        """Whether it is, or calling it gives, tensors that the device made."""
        found = self._files.follow(self._file, path)
        if found is not None and found.what == "instance":
            found = self._files.member(found, "__call__")
        for _ in range(_LONGEST):
            if found is None or found.thing is None or found.thing.made:
                return found is not None and found.thing is not None
            if not found.thing.path.endswith("()"):
                return False
            found = self._files.follow(found.file, found.thing.path.removesuffix("()"))
        return False

    def makes_batches(self, path: str) -> Batch | None:
        """How it, or what it is a generator or an object of, makes batches on the host; None where it makes none."""
        found = self._files.follow(self._file, path)
        if found is None or found.thing is None:
            return None
        if found.thing.batch is not None or found.what != "instance":
            return found.thing.batch
        # The file of a class knows nothing of methods that it inherits from others.
        methods = (self._files.member(found, name) for name in RUN_OVER)
        first = next((method for method in methods if method is not None), None)
        return first.thing.batch if first is not None and first.thing is not None else None

    def gives_batches(self, path: str, part: tuple[int, ...]) -> Batch | None:
        """How the batches are made that are taken from what calling it gives, or from a part of that."""
        found = self._files.follow(self._file, path)
        thing = found.thing if found is not None and found.what == "thing" else None
        if thing is None or thing.kind == "class" or len(part) > 1:
            return None
        if not part:
            return thing.source
        return thing.parts[part[0]].source if part[0] < len(thing.parts) else None

    def acts(self, path: str) -> bool:
        """Whether calling it makes a gradient step or an inference call."""
        return self._files.acts(self._files.follow(self._file, path))

    def has_step_loop(self, path: str) -> bool:
        """Whether calling it runs a step loop."""
        return self._files.has_step_loop(self._files.follow(self._file, path))

    def trains_whole(self, path: str) -> bool:
        """Whether calling it trains a model from beginning to end, over several epochs."""
        return self._files.trains_whole(self._files.follow(self._file, path))

    def trains(self, path: str) -> bool:
        """Whether calling it trains a model."""
        return self._files.trains(self._files.follow(self._file, path))

    def may_train(self, path: str) -> bool:
        """Whether calling it calls what, by its name, trains an object of which its file does not know the class."""
        return self._files.may_train(self._files.follow(self._file, path))

    def plays(self, path: str) -> bool:
        """Whether calling it acts in an environment."""
        return self._files.plays(self._files.follow(self._file, path))

    def takes(self, path: str) -> tuple[tuple[str, int], ...]:
        """The parameters whose elements calling it takes into steps."""
        thing = self._thing(path)
        return tuple((take.name, take.at) for take in thing.takes) if thing is not None else ()

    def gives_back(self, path: str) -> tuple[tuple[str, int], ...]:
        """The parameter that calling it gives back as it was given, with its place."""
        thing = self._thing(path)
        return tuple((take.name, take.at) for take in thing.gives_back) if thing is not None else ()

    def _thing(self, path: str) -> Thing | None:
        found = self._files.follow(self._file, path)
        return found.thing if found is not None and found.what == "thing" else None

    def mapped(self, path: str) -> Mapped:
        """What it does as a function given to `Dataset.map`."""
        found = self._files.follow(self._file, path)
        thing = found.thing if found is not None and found.what == "thing" else None
        if thing is None:
            return Mapped()
        return Mapped(
            thing.nature,
            thing.elementwise,
            thing.grows,
            thing.product,
            thing.loads,
            thing.only_generates,
            thing.only_computes,
        )

    def hindrance(self, path: str) -> Hindrance | None:
        """What stands against tracing what calling it runs, and where."""
        return self._files.hindrance(self._files.follow(self._file, path))

    def hindrance_of_compiled(self, path: str) -> str:
        """What is seen to stand against tracing it where TensorFlow compiles it, and where."""
        return self._files.hindrance_of_compiled(self._files.follow(self._file, path))

    def takes_tensors(self, path: str) -> bool:
        """Whether a compiled function may make tensors of its arguments, by an `input_signature`."""
        thing = self._thing(path)
        return thing is None or thing.takes_tensors

    def hindered_import(self) -> tuple[str, str] | None:
        """The name of the first function that TensorFlow compiles in what this file imports, and what stands against that."""
        return self._files.hindered_behind(self._file)

    def class_facts(self, path: str) -> ClassFacts:
        """What kind of class it is, by all its bases in the project."""
        return self._class_facts(self._files.follow(self._file, path), 0)

    def _class_facts(self, klass: Found | None, depth: int) -> ClassFacts:
        if klass is None or klass.thing is None or klass.thing.kind != "class" or depth > _LONGEST:
            return ClassFacts()
        bases = self._files.bases(klass)
        above = [self._class_facts(base, depth + 1) for base in bases]
        kind = klass.thing.keras_kind or next((facts.keras_kind for facts in above if facts.keras_kind), "")
        lost = len(bases) < len(klass.thing.bases)
        return ClassFacts(
            kind, klass.thing.has_foreign_base or lost or any(f.has_foreign_base for f in above)
        )

    def callers(self, function: str) -> tuple[Caller, ...]:
        """Who in other files calls a function of this file."""
        self.asked = True
        known = self._callers.get(function, ())
        return (
            *known,
            *(each for each in self._supposed if (each.how == "import") == (function == PROGRAMS)),
        )

    def given(self, function: str, parameter: str, place: int) -> Value:
        """What callers in other files are known to give as a parameter, as far as they say anything."""
        values = (
            self._of_given(given)
            for caller in self._callers.get(function, ())
            for given in caller.given
            if (given.name == parameter if given.name else given.at == place)
        )
        known = [value for value in values if value.known]
        return join(known) if known else UNKNOWN

    def _of_given(self, given: Given) -> Value:
        if given.path:
            value = self._value(self._files.follow(self._file, given.path))
            facts = self.class_facts(value.outside.removesuffix("()"))
            # What is done to an object tells more than a class whose base nobody knows.
            return value if value.kind != "instance" or not facts.has_foreign_base else UNKNOWN
        if given.kind in STREAMS:
            return stream_from(Origin("", given.ready, given.elements, given.large, given.differ), given.kind)  # type: ignore[arg-type]
        return _of_kind(given.kind)

    def methods_sought(self) -> frozenset[str]:
        """The names of methods of which it is asked who calls them."""
        return self._sought

    def module_texts(self, *dotted: str) -> tuple[bytes, ...]:
        """The texts of the modules that imported names are in, and of what these import."""
        return tuple(self._files.texts.behind(self._file, dotted))

    def needs_older(self, *release: int) -> bool:
        """Whether the project says that it needs TensorFlow before that release."""
        return self._files.texts.needs_older(release)

    def keras_runs_elsewhere(self) -> bool:
        """Whether the project says that it needs Keras and another framework that it runs on, and not TensorFlow."""
        return self._files.texts.keras_runs_elsewhere

    def keras_has_own_engine(self) -> bool:
        """Whether the project says that it needs a Keras before it became TensorFlow's own."""
        return self._files.texts.keras_has_own_engine

    def runs_on_cpus(self) -> bool:
        """Whether the project says that it needs a TensorFlow that is built for CPUs."""
        return self._files.texts.runs_on_cpus

    def _value(self, found: Found | None) -> Value:
        if found is None or found.thing is None or found.what == "module":
            return UNKNOWN
        settled = self._files.settled(found) or found
        thing = settled.thing
        if thing is None:
            return UNKNOWN
        if settled.what == "instance":
            kind = self.class_facts(settled.path.removesuffix("()")).keras_kind
            # Sequences and callbacks are objects like others.
            known = kind not in ("", "sequence", "callback")
            return Value(_of_kind(kind).kind if known else "instance", outside=settled.path)
        if thing.kind == "value" and thing.others:
            return self._one_of(settled.file, thing)
        if thing.kind == "compiler":
            return COMPILER
        if thing.kind in ("function", "compiled", "class"):
            return Value(thing.kind, outside=settled.path)  # type: ignore[arg-type]
        if thing.gives == "dict" and thing.parts and thing.parts[0].key:
            items = tuple(_of_kind(part.gives) for part in thing.parts)
            return Value("dict", items=items, keys=tuple(part.key for part in thing.parts))
        if thing.gives in ("list", "dict") and thing.parts:
            held = self._of_part(settled.file, thing.parts[0], f"{settled.path}[]", 0)
            return Value(thing.gives, element=held)  # type: ignore[arg-type]
        if thing.gives in STREAMS:
            return self._of_part(settled.file, thing, settled.path, 0)
        return _of_kind(thing.gives)


def _of_kind(kind: str) -> Value:
    """A value of which nothing is known but its kind."""
    if kind in ("", "unknown", "instance"):
        return UNKNOWN
    if " of " in kind:
        kind, _, held = kind.partition(" of ")
        return Value(kind, element=_of_kind(held))  # type: ignore[arg-type]
    return Value(kind)  # type: ignore[arg-type]
