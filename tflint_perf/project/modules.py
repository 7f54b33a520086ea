"""The modules of a project: which file a name leads to, and what it stands for there.

Each file is summarised by itself, and only when somebody asks; names are followed here. Nothing is imported or
run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

from tflint_perf.analysis.links.hindrances import Hindrances, Seen
from tflint_perf.analysis.links.summary import Summary, Thing
from tflint_perf.analysis.values.outside import Hindrance
from tflint_perf.project.cache import Cache
from tflint_perf.project.module_search import tokens_of
from tflint_perf.project.module_texts import ModuleTexts
from tflint_perf.project.packed import UnpackError, pack, unpack
from tflint_perf.project.summaries import hindrances_of, summary_of
from tflint_perf.project.surroundings import Surroundings
from tflint_perf.records import dataclass

T = TypeVar("T")
# What is known of a name in a file, with the files and folders that had a say.
_Answers = dict[tuple[Path, str], tuple[T, frozenset[str]]]

# A chain of imports or bases that is longer leads in a circle.
_LONGEST = 12


@dataclass(frozen=True, slots=True)
class Found:
    """What a path leads to: a module, or a thing in a file, or an instance of a class there."""

    file: Path
    name: str = ""
    what: Literal["module", "thing", "instance"] = "module"
    thing: Thing | None = None

    @property
    def path(self) -> str:
        """The path that leads here from everywhere."""
        return f"{self.file}::{self.name}" + ("()" if self.what == "instance" else "")


def _runs(thing: Thing) -> Iterable[str]:
    return thing.runs


def _calls(thing: Thing) -> Iterable[str]:
    return thing.calls


class Files:
    """The summaries of the files of a project, each made once, by this run or by one before it."""

    def __init__(self, texts: ModuleTexts, around: Surroundings, cache: Cache | None = None) -> None:
        self.texts = texts
        self.around = around
        self._cache = cache
        self._summaries: dict[Path, Summary] = {}
        self._found: _Answers[Found | None] = {}
        self._trains: _Answers[bool] = {}
        self._may_train: _Answers[bool] = {}
        self._plays: _Answers[bool] = {}
        self._trains_whole: _Answers[bool] = {}
        self._hindrances: dict[Path, Hindrances] = {}
        self._hindered: _Answers[Hindrance | None] = {}
        self._acts: _Answers[bool] = {}
        self._has_step_loop: _Answers[bool] = {}
        self._starred: _Answers[tuple[Path, ...]] = {}

    def summary(self, file: Path) -> Summary:
        """What a file says."""
        self.around.hear({str(file)})
        known = self._summaries.get(file)
        if known is None:
            known = self._summaries[file] = self._summarised(file)
        return known

    def known(self) -> frozenset[Path]:
        """The files of which it is known what they say."""
        return frozenset(self._summaries)

    def made_since(self, known: Set[Path]) -> dict[Path, Summary]:
        """What files say that were not known then."""
        return {file: summary for file, summary in self._summaries.items() if file not in known}

    def adopt(self, summaries: Mapping[Path, Summary]) -> None:
        """Take what another process has found files to say."""
        self._summaries = {**summaries, **self._summaries}

    def whole_summary(self, file: Path) -> Summary:
        """What a file says, also one that speaks of no framework."""
        if self.summary(file).partial:
            self._summaries[file] = self._summarised(file, whole=True)
        return self._summaries[file]

    def _summarised(self, file: Path, *, whole: bool = False) -> Summary:
        variant = "whole summary" if whole else "summary"
        return self._told(file, variant, Summary, partial(summary_of, file, whole=whole))

    def _told(self, file: Path, variant: str, kind: type[T], tell: Callable[[bytes], T]) -> T:
        """What a file says of some kind, as the cache has it or by its bytes."""
        kept = self._cache.find(str(file), variant) if self._cache else None
        try:
            return unpack(kind, kept)
        except UnpackError:
            told = tell(self.around.read(str(file)))
        if self._cache:
            self._cache.keep(str(file), variant, (), pack(told))
        return told

    def acts(self, found: Found | None) -> bool:
        """Whether calling a function makes a gradient step or an inference call."""
        return self._runs_one(found, lambda thing: thing.acts, self._acts, _calls)

    def has_step_loop(self, found: Found | None) -> bool:
        """Whether calling a function runs a step loop."""
        return self._runs_one(found, lambda thing: thing.has_step_loop, self._has_step_loop, _calls)

    def trains_whole(self, found: Found | None) -> bool:
        """Whether calling a function trains a model from beginning to end, over several epochs."""
        return self._runs_one(found, lambda thing: thing.trains_whole, self._trains_whole)

    def trains(self, found: Found | None) -> bool:
        """Whether calling a function trains a model."""
        return self._runs_one(found, lambda thing: thing.trains, self._trains)

    def may_train(self, found: Found | None) -> bool:
        """Whether calling a function calls what, by its name, trains an object of unknown class."""
        return self._runs_one(found, lambda thing: thing.may_train, self._may_train)

    def plays(self, found: Found | None) -> bool:
        """Whether calling a function acts in an environment."""
        return self._runs_one(found, lambda thing: thing.plays, self._plays)

    def _runs_one(
        self,
        found: Found | None,
        is_one: Callable[[Thing], bool],
        answers: _Answers[bool],
        ways: Callable[[Thing], Iterable[str]] = _runs,
    ) -> bool:
        """Whether calling a function runs one of which something is true, by as many calls as it takes."""
        if found is None or found.what != "thing":
            return False
        start = found

        def whether() -> bool:
            return any(run.thing is not None and is_one(run.thing) for run in self._run_by(start, ways))

        return self.around.known(answers, (start.file, start.name), False, whether)

    def _run_by(
        self, start: Found, ways: Callable[[Thing], Iterable[str]] = _runs, *, objects: bool = False
    ) -> Iterator[Found]:
        """A function, and all that calling it runs, each once; with `objects`, also what calling these runs."""
        seen, waiting = {(start.file, start.name)}, [start]
        while waiting:
            current = waiting.pop()
            yield current
            for path in ways(current.thing) if current.thing is not None else ():
                other = self.follow(current.file, path)
                if objects:
                    other = self._runs_in_eager_mode(other)
                if other is None or other.what != "thing" or (other.file, other.name) in seen:
                    continue
                seen.add((other.file, other.name))
                waiting.append(other)

    # Tracing

    def hindrance(self, found: Found | None) -> Hindrance | None:
        """What stands against tracing what calling a function or an object runs, and where; None for nothing."""
        start = self._runs_in_eager_mode(found)
        if start is None:
            return None
        return self.around.known(
            self._hindered, (start.file, start.name), None, lambda: self._hindrance(start)
        )

    def _hindrance(self, start: Found) -> Hindrance | None:
        """The first that surely is one, or else the first that may be one."""
        first = None
        for run in self._run_by(start, objects=True):
            known = self._hindrances_in(run.file).of.get(run.name)
            if known is None or (known.may and first is not None):
                continue
            where = f"in `{run.name.rpartition('>')[2]}` of {run.file.name}"
            found = Hindrance(f"{known.reason}, {where}", known.may)
            if not found.may:
                return found
            first = found
        return first

    def hindered_behind(self, file: Path) -> tuple[str, str] | None:
        """The name of the first function that TensorFlow compiles, in the modules that a file imports and in those that
        these import, and what is seen to stand against tracing it."""
        for module in self.texts.files_behind(file):
            traced = {} if self.summary(module).partial else self._hindrances_in(module).traced
            for name, seen in traced.items():
                return name.rpartition(".")[2].rpartition(">")[2], _told(seen, module)
        return None

    def hindrance_of_compiled(self, found: Found | None) -> str:
        """What is seen to stand against tracing a function that TensorFlow compiles, and where; "" for nothing."""
        seen = self._hindrances_in(found.file).traced.get(found.name) if found is not None else None
        return _told(seen, found.file) if found is not None and seen is not None else ""

    def _runs_in_eager_mode(self, found: Found | None) -> Found | None:
        """The function that a call runs in eager mode: of an object its `__call__`, or what Keras has that call."""
        if found is not None and found.what == "instance":
            found = self.member(found, "__call__") or self.member(found, "call")
        if found is None or found.thing is None or found.what != "thing":
            return None
        # A method that Keras would trace runs in eager mode where the program calls it.
        is_traced = found.thing.compiled and not found.name.endswith(".call")
        return found if found.thing.kind == "function" and not is_traced else None

    def _hindrances_in(self, file: Path) -> Hindrances:
        self.around.hear({str(file)})
        known = self._hindrances.get(file)
        if known is None:
            known = self._told(file, "hindrances", Hindrances, partial(hindrances_of, file))
            self._hindrances[file] = known
        return known

    # Following paths

    def follow(self, file: Path, path: str) -> Found | None:
        """What a path that a file says leads to; None where it leaves the project or is lost."""
        # Names may lead to each other.
        return self.around.known(self._found, (file, path), None, lambda: self._follow(file, path, 0))

    def _follow(self, file: Path, path: str, depth: int) -> Found | None:
        if depth > _LONGEST:
            return None
        home, separator, rest = path.rpartition("::")
        if separator:
            return self._walk(Found(Path(home) if home else file), tokens_of(rest), depth)
        module, rest_of_name = self.texts.search.module_of(file, path)
        if module is None:
            return None
        hidden = self._hiding(module, depth) if rest_of_name[:1] in ([], ["()"]) else None
        return self._walk(hidden or Found(module), rest_of_name, depth)

    def _hiding(self, module: Path, depth: int) -> Found | None:
        """What a package gives in place of a module of its: `from .loader import loader`."""
        name, package = module.stem, module.parent / "__init__.py"
        if (
            name == "__init__"
            or self.texts.search.below(module.parent.parent, [module.parent.name]) != package
        ):
            return None
        path = self.summary(package).imports.get(name, "")
        return self._follow(package, path, depth + 1) if path.endswith(f".{name}.{name}") else None

    def _walk(self, start: Found, tokens: Sequence[str], depth: int) -> Found | None:
        current: Found | None = start
        for token in tokens:
            if current is None:
                return None
            current = self._called(current, depth) if token == "()" else self._named(current, token, depth)
        return current

    def _named(self, found: Found, name: str, depth: int) -> Found | None:
        """What `.name` of something is."""
        if found.what == "module":
            return self._in_module(found.file, name, depth)
        value = self.settled(found, depth)
        if value is None or value.thing is None or value.thing.kind != "class":
            return None
        return self.member(value, name, depth)

    def member(self, klass: Found, name: str, depth: int = 0) -> Found | None:
        """A method or attribute of a class or of its bases."""
        whole = f"{klass.name}.{name}"
        thing = self.summary(klass.file).things.get(whole)
        if thing is not None:
            return Found(klass.file, whole, "thing", thing)
        for base in self.bases(klass, depth):
            found = self.member(base, name, depth + 1) if depth < _LONGEST else None
            if found is not None:
                return found
        return None

    def bases(self, klass: Found, depth: int = 0) -> list[Found]:
        """The bases of a class that are in the project."""
        return self.classes_at(klass.file, klass.thing.bases, depth) if klass.thing is not None else []

    def classes_at(self, file: Path, paths: Iterable[str], depth: int = 0) -> list[Found]:
        """The classes of the project that paths in a file lead to."""
        found = (self._follow(file, path, depth + 1) for path in paths)
        return [
            base
            for base in found
            if base is not None and base.thing is not None and base.thing.kind == "class"
        ]

    def _in_module(self, file: Path, name: str, depth: int) -> Found | None:
        """What a module has by a name: its own, or what the first `*` that has it brings."""
        own = self._own(file, name, depth)
        if own is not None or not self.summary(file).stars:
            return own
        brought = (self._own(other, name, depth) for other in self._starred_by(file))
        return next(filter(None, brought), None)

    def _own(self, file: Path, name: str, depth: int) -> Found | None:
        """What a module defines or imports by that name, or the module below a package."""
        summary = self.summary(file)
        if summary.partial and name in summary.defined:
            summary = self.whole_summary(file)
        if name in summary.things:
            return Found(file, name, "thing", summary.things[name])
        if name in summary.imports:
            return self._follow(file, summary.imports[name], depth + 1)
        module = self.texts.search.below(file.parent, [name]) if file.name == "__init__.py" else None
        return Found(module) if module is not None else None

    def _starred_by(self, file: Path) -> tuple[Path, ...]:
        """The modules that `from … import *` leads to from a file, also through each other, in the order of the text.

        Each is there once: in a package whose modules import each other so, there are as many ways as one can go through it.
        """
        return self.around.known(self._starred, (file, "*"), (), lambda: self._star_closure(file))

    def _star_closure(self, file: Path) -> tuple[Path, ...]:
        reached = {file: None}
        left = [(file, star) for star in reversed(self.summary(file).stars)]
        while left:
            at, star = left.pop()
            found = self._follow(at, star, 0) if star else None
            if found is not None and found.what == "module" and found.file not in reached:
                reached[found.file] = None
                left += [(found.file, other) for other in reversed(self.summary(found.file).stars)]
        return tuple(reached)[1:]

    def _called(self, found: Found, depth: int) -> Found | None:
        """What calling something gives, where that is an instance of a class of the project."""
        value = self.settled(found, depth)
        if value is None or value.thing is None or value.what == "instance":
            return None
        if value.thing.kind == "class":
            return Found(value.file, value.name, "instance", value.thing)
        if value.thing.others or not value.thing.path:
            return None
        return self._follow(value.file, value.thing.path, depth + 1)

    def settled(self, found: Found, depth: int = 0) -> Found | None:
        """What a name that an assignment made stands for; the name itself where that is one of several objects."""
        if (
            found.thing is not None
            and found.thing.kind == "value"
            and found.what == "thing"
            and found.thing.path
            and not found.thing.others
        ):
            return self._follow(found.file, found.thing.path, depth + 1)
        return found


def _told(seen: Seen, file: Path) -> str:
    return f"{seen.reason} ({file.name}, line {seen.row})"
