"""Who calls a function of one file in the other files of a project."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from tflint_perf.analysis.links.summary import Thing, Use
from tflint_perf.analysis.python.reach import remembered
from tflint_perf.analysis.values.caller import Caller, Callers, Given, State
from tflint_perf.analysis.values.outside import PROGRAMS, RUN_OVER
from tflint_perf.finding import Via
from tflint_perf.project.imported import imported_by
from tflint_perf.project.importing_programs import ImportingPrograms
from tflint_perf.project.mentions import Mentions, words_for_callers
from tflint_perf.project.modules import Files, Found
from tflint_perf.project.uses_in import UsesIn

# How many functions up a chain of callers in different files is followed.
_ROUNDS = 3
_Place = tuple[Path, str]
_OWN_METHOD = re.compile(r"::(\w+)\(\)\.(\w+)")
# What is given to a function of the same file as a parameter, by its name and its place, or a method of that.
_OF_PARAMETER = re.compile(r"::([\w.>]+)\[(\w+),(-?\d+)\](?:\.(\w+))?")
_METHOD = re.compile(rb"^[ \t]+def (\w+)\(self\b", re.MULTILINE)
# Where a function is handed to: what is called, and the name and the place of the argument.
_HANDED = re.compile(r"(.*)\[(\w*),(\d+)\]")


def callers_of(
    asked: Mapping[Path, Mapping[str, tuple[str, ...]]],
    files: Files,
    project: Sequence[Path],
    mentions: Mentions | None = None,
    processes: int = 1,
) -> dict[Path, Callers]:
    """For each file, and each of its functions that is asked about and has callers elsewhere, those callers.

    A method is asked about with the paths of the bases of its class. Where many files have to be looked through, so many
    processes share them.
    """
    programs = [file for file, names in asked.items() if PROGRAMS in names]
    asked = {file: {name: names[name] for name in names if name != PROGRAMS} for file, names in asked.items()}
    search = _searched(asked, files, project, mentions, processes)
    found: dict[Path, dict[str, tuple[Caller, ...]]] = {}
    for file, name in _places(asked):
        if callers := search.callers((file, name)):
            found.setdefault(file, {})[name] = tuple(_seen_from(file, caller) for caller in callers)
    for file in filter(search.run_eagerly, programs):
        found.setdefault(file, {})[PROGRAMS] = (Caller("import", "eager"),)
    return dict(found)


def files_that_call(
    asked: Mapping[Path, Mapping[str, tuple[str, ...]]],
    files: Files,
    project: Sequence[Path],
    mentions: Mentions | None = None,
) -> dict[str, list[Path]]:
    """For each function that is asked about, in the same way, the other files that the callers are in."""
    search = _searched(asked, files, project, mentions, 1)
    return {name: search.files_of_callers((file, name)) for file, name in _places(asked)}


def _places(asked: Mapping[Path, Mapping[str, tuple[str, ...]]]) -> list[_Place]:
    return sorted((file, name) for file, names in asked.items() for name in names)


def _searched(
    asked: Mapping[Path, Mapping[str, tuple[str, ...]]],
    files: Files,
    project: Sequence[Path],
    mentions: Mentions | None,
    processes: int,
) -> _Search:
    """A search that is done."""
    bases = {(file, name): paths for file, names in asked.items() for name, paths in names.items()}
    search = _Search(files, project, bases, mentions or Mentions(), processes)
    new = set(bases)
    for _ in range(_ROUNDS):
        search.look_for(new)
        new = search.callers_alone(new)
        if not new:
            break
    return search


class _Search:
    """Goes through the files that mention what is wanted, and keeps who uses what."""

    def __init__(
        self,
        files: Files,
        project: Sequence[Path],
        bases: Mapping[_Place, tuple[str, ...]],
        mentions: Mentions,
        processes: int,
    ) -> None:
        self._files = files
        self._project = project
        # The bases of the classes of methods that are asked about: their files need not be summarised for it.
        self._bases = bases
        self._packages = frozenset(file for file in project if file.name == "__init__.py")
        self._mentions = mentions
        self._read: set[Path] = set()
        self._uses: dict[_Place, list[tuple[Path, Use]]] = {}
        self._known: dict[_Place, tuple[Caller, ...]] = {}
        # Who is given an object calls none that are its own business: those asked about, and those that may call one of these.
        methods = {name.rpartition(".")[2] for _, name in bases if "." in name}
        homes = {
            word
            for file in {file for file, _ in bases}
            for word in words_for_callers(file, "", self._packages)
        }
        for file in self._importing(homes):
            methods.update(name.decode() for name in _METHOD.findall(mentions.text(file)))
        self._methods = frozenset(name for name in methods if not name.startswith("_"))
        self._uses_in = UsesIn(files, mentions, self._methods, processes)
        # The uses of what is given as parameters: the function, the parameter, its place, and the method, or "".
        self._of_parameters: list[tuple[_Place, str, int, str, Use]] = []
        # The files that have some.
        self._given_some: set[Path] = set()
        # Where functions are handed to others as arguments, by what they are.
        self._handed: dict[_Place, list[tuple[Path, Use]]] = {}
        self._followed: set[tuple[int, Path, Given]] = set()

    def look_for(self, wanted: Collection[_Place]) -> None:
        """Summarise the files that may call one of `wanted`: they say its name, and one of its file's."""
        homes: dict[bytes, set[bytes]] = {}
        own: list[Path] = []
        everywhere = sorted({at for place in wanted for at in self._also_called_as(place)})
        for file, name in everywhere:
            owner, _, last = name.rpartition(".")
            last = owner if last in ("__init__", "__call__", "call", *RUN_OVER) else last
            said = last.rpartition(".")[2].partition(">")[0].encode()
            # A base class may call what is defined anew, and a file may hand its own functions to others.
            if (file, name) not in wanted or self._may_hand(file, said):
                own.append(file)
            words = words_for_callers(file, owner, self._packages)
            homes.setdefault(said, set()).update(words)
        self._read_all(own)
        if homes:
            self._read_those_with(homes)
            self._read_those_given(homes)
            self._follow_handed(everywhere)
            self._follow_parameters()

    def _may_hand(self, file: Path, said: bytes) -> bool:
        """Whether a file mentions what may be a function of its own as an argument."""
        return said in self._mentions.given(file)

    def _read_those_with(self, homes: Mapping[bytes, Set[bytes]]) -> None:
        """Summarise the files that use one of the words, and import one that goes with it."""
        imported_ones = frozenset().union(*homes.values())
        left: list[Path] = []
        for file in self._project:
            if file in self._read:
                continue
            imported = self._mentions.imported_of(file, imported_ones)
            used = homes.keys() & self._mentions.used(file) if imported else ()
            if any(not imported.isdisjoint(homes[word]) for word in used):
                left.append(file)
        self._read_all(left)

    def _read_those_given(self, homes: Mapping[bytes, Set[bytes]]) -> None:
        """Summarise the files that use a method's word on what may be given to them, and the ones that may do so: these
        import both, the file of the method and that which uses it. Also those that import one of these, whose objects may
        keep one that has the method: `trainer.agent.act(state)`."""
        found = [self._using(word, words) for word, words in homes.items() if word.decode() in self._methods]
        self._read_all(file for _, using in found for file in using)
        self._read_all(
            other
            for giving, using in found
            for file in using
            if file in self._given_some
            for other in giving
            if _stem(file) in self._known_in(other)
        )

    def _read_all(self, files: Iterable[Path]) -> None:
        """Read files once, several at a time."""
        left = [file for file in dict.fromkeys(files) if file not in self._read]
        self._uses_in.prepare(left)
        for file in left:
            self._read_once(file)

    def _using(self, word: bytes, words: Set[bytes]) -> tuple[list[Path], list[Path]]:
        """The files that may give an object with a method, and those that use its word on what is not their own."""
        giving = self._importing(words)
        known = frozenset().union(*map(self._known_in, giving))
        keepers = frozenset().union(*(words_for_callers(file, "", self._packages) for file in giving))
        of_another = re.compile(rb"(?<!\bself)(?<!\bsuper\(\))\." + word + rb"\(")
        may_use = {
            *self._importing(keepers),
            *(file for stem in known for file in self._by_stem.get(stem, ())),
        }
        using = [
            file
            for file in sorted(may_use.difference(giving), key=self._order.__getitem__)
            if word in self._mentions.used(file) and of_another.search(self._mentions.text(file))
        ]
        return giving, using

    @remembered
    def _known_in(self, file: Path) -> frozenset[bytes]:
        """The words by which `file`, or one that it imports, imports others: a class that is given an object may keep it by
        the code of its base."""
        own = self._mentions.imported(file)
        bases = (other for word in own for other in self._by_stem.get(word, ()))
        return frozenset(own).union(*map(self._mentions.imported, bases))

    def _importing(self, words: Set[bytes]) -> list[Path]:
        """The files of the project that may import something by one of some words, in their order."""
        found = {file for word in words for file in self._by_import.get(word, ())}
        # A notebook's cells are looked at only where one of the words is in it at all.
        found.update(file for file in self._notebooks if self._mentions.imported_of(file, words))
        return sorted(found, key=self._order.__getitem__)

    def run_eagerly(self, file: Path) -> bool:
        """Whether each program that runs what `file` defines has all compiled functions run in eager mode. Where no file of
        the project names what does so, none does."""
        return self._names_switch and self._programs.run_eagerly(file)

    @cached_property
    def _names_switch(self) -> bool:
        return any(self._mentions.says(file, b"functions_eagerly") for file in self._project)

    @cached_property
    def _programs(self) -> ImportingPrograms:
        return ImportingPrograms(self._files, self._importing_file, self._mentions.text)

    @remembered
    def _importing_file(self, module: Path) -> list[Path]:
        """The files of the project that import a module of it."""
        search, words = self._files.texts.search, words_for_callers(module, "", self._packages)
        return [
            file
            for file in self._importing(words)
            if module in imported_by(file, self._mentions.modules(file), search)
        ]

    @cached_property
    def _order(self) -> dict[Path, int]:
        return {file: at for at, file in enumerate(self._project)}

    @cached_property
    def _notebooks(self) -> list[Path]:
        return [file for file in self._project if file.suffix == ".ipynb"]

    @cached_property
    def _by_import(self) -> dict[bytes, list[Path]]:
        """The files that are no notebooks, by the words in their import statements."""
        found: dict[bytes, list[Path]] = {}
        for file in self._project:
            for word in self._mentions.imported(file) if file.suffix != ".ipynb" else ():
                found.setdefault(word, []).append(file)
        return found

    @cached_property
    def _by_stem(self) -> dict[bytes, list[Path]]:
        """The files by the word by which others import them."""
        found: dict[bytes, list[Path]] = {}
        for file in self._project:
            found.setdefault(_stem(file), []).append(file)
        return found

    def _follow_parameters(self) -> None:
        """Find what the methods are of what is given as parameters, by who gives it."""
        for at, (place, parameter, position, method, use) in enumerate(self._of_parameters):
            for file, giving in list(self._uses.get(place, ())) if method else ():
                for given in giving.seen.given:
                    named = given.name == parameter if given.name else given.at == position
                    if not named or not given.path or (at, file, given) in self._followed:
                        continue
                    self._followed.add((at, file, given))
                    found = self._function(self._files.follow(file, f"{given.path}.{method}"))
                    if found is not None:
                        self._uses.setdefault((found.file, found.name), []).append((place[0], use))

    def _follow_handed(self, places: Iterable[_Place]) -> None:
        """Find what becomes of functions that are handed to others as arguments."""
        for place in places:
            for file, use in self._handed.pop(place, ()):
                taken = list(self._taken(file, use.handed)) or [(file, use)]
                self._uses.setdefault(place, []).extend(taken)

    def _taken(self, file: Path, handed: str) -> Iterator[tuple[Path, Use]]:
        """What functions of the project do with an argument; nothing where that is not known."""
        matched = _HANDED.fullmatch(handed)
        if matched is None:
            return
        taker, name, at = matched.groups()
        found = self._files.follow(file, taker)
        if found is None or found.thing is None or found.what != "thing":
            return
        takers = [(found.file, found.name)]
        if found.thing.kind == "class":
            takers = [(klass.file, f"{klass.name}.__init__") for klass in (found, *self._files.bases(found))]
        for home, _ in takers:
            self._read_once(home)
        for place, parameter, position, method, use in self._of_parameters:
            if place not in takers or method or (name != parameter if name else int(at) != position):
                continue
            # When a function runs that is made to wrap it, those decide who call that.
            if ">" not in use.function:
                yield place[0], use

    def _read_once(self, file: Path) -> None:
        if file in self._read:
            return
        self._read.add(file)
        for use in self._uses_in.file(file):
            if (of := _OF_PARAMETER.fullmatch(use.path)) is not None:
                self._of_parameters.append(((file, of[1]), of[2], int(of[3]), of[4] or "", use))
                self._given_some.add(file)
                continue
            own = _OWN_METHOD.fullmatch(use.path)
            found = self._files.follow(file, use.path) if own is None else None
            if found is not None and use.seen.given:
                self._note_given(found, file, use)
            if found is not None and found.what == "instance" and use.seen.how == "other":
                # What an object is handed to on each step may call it, but not on each step for all that.
                use = use.seen_to(per_step=False, each_step=())
            found = self._function(found) if use.seen.how != "consume" else found
            if found is not None:
                uses = self._handed if use.handed else self._uses
                uses.setdefault((found.file, found.name), []).append((file, use))
            elif own is not None:  # which may be defined in derived classes alone
                self._uses.setdefault((file, f"{own[1]}.{own[2]}"), []).append((file, use))

    def _note_given(self, found: Found, file: Path, use: Use) -> None:
        """Note what a constructor is given, also those of the class's bases, which may be the ones that run."""
        if found.what != "thing" or found.thing is None or found.thing.kind != "class":
            return
        for klass in (found, *self._files.bases(found)):
            self._uses.setdefault((klass.file, f"{klass.name}.__init__"), []).append((file, use))

    def _function(self, found: Found | None) -> Found | None:
        """The function that a call of what was found runs."""
        if found is None or found.thing is None:
            return None
        if found.what == "instance":
            return self._files.member(found, "__call__") or self._files.member(found, "call")
        if found.thing.kind == "class":
            return self._files.member(found, "__init__")
        return found if found.thing.kind in ("function", "compiled") else None

    def callers_alone(self, places: Iterable[_Place]) -> set[_Place]:
        """The functions that nothing in their own file calls, and that use one of `places` outside loops, in no mode that is
        known, or so often each time that they run: their callers decide that."""
        return {
            (file, use.function)
            for place in places
            for at in self._also_called_as(place)
            for file, use in self._uses.get(at, ())
            if (use.loop == "none" or use.seen.state == "unknown" or use.seen.times is not None)
            and self._alone(file, use.function)
        }

    def _alone(self, file: Path, function: str) -> bool:
        thing = self._thing(file, function)
        return thing is not None and thing.alone

    def _thing(self, file: Path, name: str) -> Thing | None:
        return self._files.whole_summary(file).things.get(name) if name else None

    def _also_called_as(self, place: _Place) -> list[_Place]:
        """A function, and the methods of that name in the bases of its class: a call of those may run it."""
        file, name = place
        owner, _, method = name.rpartition(".")
        if place in self._bases:
            waiting = self._files.classes_at(file, self._bases[place])
        else:
            waiting = self._files.bases(Found(file, owner, "thing", self._thing(file, owner)))
        places = [place]
        while waiting and len(places) < 20:
            base = waiting.pop()
            places.append((base.file, f"{base.name}.{method}"))
            waiting += self._files.bases(base)
        return list(dict.fromkeys(places))

    def callers(self, place: _Place) -> tuple[Caller, ...]:
        """Those who use a function in other files than its own, as far as their own callers are known."""
        known = self._known.get(place)
        if known is None:
            self._known[place] = ()  # functions that call each other
            uses = [
                (file, use)
                for at in self._also_called_as(place)
                for file, use in self._uses.get(at, ())
                if file != place[0] or use.handed or use.path.endswith("]")
            ]
            # What makes a step makes a step loop of the loop that calls it.
            found = Found(*place, "thing", self._thing(*place))
            acts = bool(uses) and self._files.acts(found) and not self._files.trains_whole(found)
            known = tuple(dict.fromkeys(self._caller(file, use, acts) for file, use in uses))
            self._known[place] = known
        return known

    def files_of_callers(self, place: _Place) -> list[Path]:
        """The files, other than its own, that those who use a function are in."""
        uses = (use for at in self._also_called_as(place) for use in self._uses.get(at, ()))
        return sorted({file for file, _ in uses if file != place[0]})

    def _caller(self, file: Path, use: Use, acts: bool) -> Caller:
        seen = use.seen
        if seen.how == "consume":
            return Caller("consume", which=seen.which)
        around = self._thing(file, use.function)
        above = self.callers((file, use.function)) if around is not None and around.alone else ()
        state = seen.state if around and around.compiled else _state_below(seen.state, above)
        if state == "eager" and not (around and around.compiled):
            # What compiled code calls, too, runs there only when that is traced.
            above = tuple(caller for caller in above if caller.state != "compiled")
        alone = around is not None and around.alone and not above and use.function != "main"
        outside_loops = use.loop == "none" and not use.in_loop
        in_steps = acts and use.in_loop and not use.in_trials
        # A loop that makes no step of it is part of what calls the function around.
        within = use.loop == "none" and not in_steps
        # A gradient step that nobody is known to call is judged by itself.
        judged = seen.learned_from and outside_loops and alone
        by_itself = seen.per_step or judged or (in_steps and use.loop == "none")
        above_per_step = [caller for caller in above if caller.per_step] if within else []
        all_pass = bool(above_per_step) and all(caller.passing for caller in above_per_step)
        return replace(
            seen,
            state=state,
            per_step=by_itself or bool(above_per_step),
            # What hands a function to something need not run it.
            may_be_per_step=seen.how != "other"
            and outside_loops
            and (alone or any(caller.may_be_per_step for caller in above)),
            always=seen.always and (not above or use.loop != "none" or _always(above)),
            given=tuple(_from_anywhere(given, file) for given in seen.given),
            passing=seen.passing if by_itself else all_pass,
            # What is a `tf.function` itself is one whoever calls it.
            also_eager=seen.also_eager
            or (
                around is not None
                and around.kind != "compiled"
                and any(caller.state == "eager" or caller.also_eager for caller in above)
            ),
            trains=seen.trains or (within and any(caller.trains for caller in above)),
            guarded=seen.guarded or (outside_loops and _are_guarded(above)),
            taped=seen.taped or (outside_loops and _are_taped(above)),
            on_one_graph=seen.on_one_graph
            or (outside_loops and any(caller.on_one_graph for caller in above)),
            looped=seen.looped or any(caller.looped for caller in above),
            repeated=seen.repeated or any(caller.repeated for caller in above),
            times=_times(seen, alone=around is not None and around.alone, above=above),
            paused=seen.paused if seen.per_step else _are_paused(above_per_step),
            each_step=_each_step(file, seen, in_steps, above if within else ()),
        )


def _state_below(state: State, above: Sequence[Caller]) -> State:
    """The state of code in a function, which is in this one by what its file says, where those that are `above` call that."""
    if not above or state not in ("eager", "unknown"):
        return state
    states = {caller.state for caller in above}
    return "eager" if "eager" in states else "compiled" if states == {"compiled"} else "unknown"


def _times(seen: Caller, *, alone: bool, above: Sequence[Caller]) -> int | None:
    """How often a program makes a use in all; who is `above` calls the function around, which its own file leaves `alone`."""
    if seen.times is None or not alone:
        return seen.times
    known = [caller.times for caller in above if caller.times is not None]
    return seen.times * sum(known) if known and len(known) == len(above) else None


def _each_step(file: Path, seen: Caller, in_loop: bool, above: Iterable[Caller]) -> tuple[Via, ...]:
    """The way from a step loop to a use, each part with its file; `in_loop` says that the loop around is one of steps."""
    own = tuple(replace(via, file=str(file)) for via in seen.each_step)
    if seen.per_step or in_loop:
        return own
    way = next((caller.each_step for caller in above if caller.per_step and caller.each_step), ())
    if not way or not own:
        return ()
    return (*way[:-1], replace(way[-1], always=way[-1].always and seen.always), own[-1])


def _seen_from(file: Path, caller: Caller) -> Caller:
    """A caller of what is in a file, with the paths of others from its folder, so that a project may move."""
    if not caller.each_step:
        return caller
    folder = file.parent
    return replace(
        caller,
        each_step=tuple(
            replace(via, file="" if via.file == str(file) else os.path.relpath(via.file, folder))
            for via in caller.each_step
        ),
    )


def _from_anywhere(given: Given, file: Path) -> Given:
    """What a call in a file is given, with a path that leads there from all files."""
    return replace(given, path=f"{file}{given.path}") if given.path.startswith("::") else given


def _always(callers: Iterable[Caller]) -> bool:
    """Whether one of those calls that a step loop makes is made each time; where none does, one of all."""
    always = {caller.per_step: caller.always for caller in sorted(callers, key=lambda caller: caller.always)}
    return always.get(True, always.get(False, False))


def _are_guarded(callers: Iterable[Caller]) -> bool:
    """Whether a guard stands in front of all calls that a step loop makes."""
    guarded = {caller.guarded for caller in callers if caller.per_step}
    return guarded == {True}


def _are_paused(callers: Sequence[Caller]) -> bool:
    """Whether the program pauses between all calls that steps make."""
    return bool(callers) and all(caller.paused for caller in callers)


def _are_taped(callers: Iterable[Caller]) -> bool:
    """Whether all calls that a step loop makes are parts of gradient steps."""
    taped = {caller.taped for caller in callers if caller.per_step}
    return taped == {True}


def _stem(file: Path) -> bytes:
    """The word by which others import a file; its name may be no text at all, which no import can name."""
    return os.fsencode(file.parent.name if file.name == "__init__.py" else file.stem)
