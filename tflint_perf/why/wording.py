"""Questions and answers in words: docstrings about the code at hand, and answers without a word of the inside."""

from __future__ import annotations

import dataclasses
import enum
import re
from collections.abc import Collection, Mapping
from itertools import zip_longest
from typing import Protocol

import libcst as cst

from tflint_perf.analysis.python.scopes import Block, Function, Scope
from tflint_perf.analysis.values.caller import Caller
from tflint_perf.analysis.values.values import Value
from tflint_perf.finding import Via
from tflint_perf.records import dataclass
from tflint_perf.why.choosing import Chosen
from tflint_perf.why.places import Here, Places, Spot, node_of, nodes_in, shortened
from tflint_perf.why.recording import Kind, Question

_QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"")
_BRACKETS = re.compile(r" \([^)]*\)")
_STOP = re.compile(r"[.:;](?=\s|$)")
_WHETHER = re.compile(r"Whether (.*)", re.DOTALL)
_MOST_PARTS, _MOST_ORIGINS = 3, 4
_KINDS = {"none": "`None`", "function": "a function", "unknown": "unknown", "never": "unknown"}


@dataclass(frozen=True, slots=True)
class Told:
    """A question in words: `text` with its `answer`, what it is `about`, and where a value comes from.

    `function` is what answers it, by its whole name; `decided` says that it was asked last, or led to the finding.
    """

    text: str
    answer: str
    function: str
    kind: Kind
    about: Spot | None
    spots: tuple[Spot, ...]
    origins: tuple[Spot, ...]
    decided: bool
    because: tuple[Told, ...]
    is_whether: bool = False


class OtherFiles(Protocol):
    """What is told of other files of the project."""

    def shortened(self, text: str) -> str:
        """A text without the project's folder in front of paths."""

    def calling(self, function: Function) -> list[str]:
        """The files that call a function of this file."""

    def file_of(self, via: Via) -> str:
        """The file that a part of a way from a step loop to this file is in."""


class Words:
    """Puts chosen questions into words."""

    def __init__(self, places: Places, here: Here, row: int, cell: int | None, others: OtherFiles) -> None:
        self._places = places
        self._here = here
        self._cell = cell
        # No row is told of what stands where one looks anyway.
        self._rows = {(row, cell), *here.rows()}
        self._others = others
        # By identity, for a question may be a reason for many.
        self._told: dict[int, Told] = {}

    def _said(self, spot: Spot) -> str:
        """A piece of code, with its row where that is another one than what is asked about."""
        if spot.row is None or (spot.row, spot.cell) in self._rows:
            return f"`{spot.source}`"
        return f"`{spot.source}` ({row_of(spot, self._cell)})"

    def told(self, chosen: Chosen) -> Told:
        """A chosen question in words."""
        question = chosen.question
        if id(question) not in self._told:
            self._told[id(question)] = self._alone(question)
        because = tuple(map(self.told, chosen.because))
        return dataclasses.replace(self._told[id(question)], decided=chosen.decided, because=because)

    def _alone(self, question: Question) -> Told:
        """A question without what it rests on."""
        about = self._about(question)
        text, is_whether = self._question(question, about)
        spots: list[Spot] = []
        return Told(
            text,
            _by_word(question) or self._callers(question) or self.answer(question.answer, spots),
            question.asked.qualified,
            question.asked.kind,
            about,
            tuple(spots),
            tuple(self._origins(question)),
            False,
            (),
            is_whether,
        )

    def _question(self, question: Question, about: Spot | None) -> tuple[str, bool]:
        """What is asked: a docstring up to its first stop, about the code at hand; and whether it asks whether."""
        if isinstance(question.answer, Value) and about is not None:
            return self._said(about), False
        if _by_word(question) and about is not None:
            meaning = _first(question.asked.says).partition(":")[0]
            return f"The name {self._said(about)} stands for {meaning[0].lower()}{meaning[1:]}", True
        text = _first(question.asked.says).replace(", in the order of the text", "")
        name = question.asked.name.rpartition(".")[2].strip("_").replace("_", " ")
        if text[0] in '"`':  # it lists the answers
            text = f"Whether {name}" if isinstance(question.answer, bool) else f"The {name}"
        whether = _WHETHER.fullmatch(text) if isinstance(question.answer, bool) else None
        text = whether[1] if whether is not None else text
        # What it is about comes first, where the sentence has no place for it.
        named = about is None
        for parameter, argument in question.about.items():
            # `call`, or "a call" where a sentence begins with it, or is of it.
            mention = re.compile(rf"`{parameter}`|(?:^|(?<=\bof ))an? {parameter.replace('_', ' ')}\b")
            if mention.search(text) is not None and (said := self._argument(argument)):
                text = mention.sub(said.replace("\\", r"\\"), text)
                named = named or self._spot(argument) == about
        if about is not None and not named:
            of = " of " if text == f"The {name}" else ", "
            text = f"{self._said(about)}: {text}" if whether is not None else f"{text}{of}{self._said(about)}"
        text = text[0].upper() + text[1:]
        return text, whether is not None

    def _argument(self, argument: object) -> str:
        """What a question is asked with: code, words, or "" for what is of the inside."""
        node = node_of(argument)
        if node is not None:
            return self._said(self._places.spot(node))
        if isinstance(argument, str | int):
            return f"`{argument}`"
        words = argument if isinstance(argument, tuple) else ()
        return (
            ", ".join(f"`{word}`" for word in words) if all(isinstance(word, str) for word in words) else ""
        )

    def _spot(self, argument: object) -> Spot | None:
        """Where an argument stands that is code, or stands for some."""
        node = node_of(argument)
        if node is not None:
            return self._places.spot(node)
        return Spot(argument) if isinstance(argument, str) else None

    def _about(self, question: Question) -> Spot | None:
        for argument in question.about.values():
            node = node_of(argument)
            if node is not None:
                return self._places.spot(node)
        words = [argument for argument in question.about.values() if isinstance(argument, str) and argument]
        return Spot(words[0]) if words else None

    # Answers

    def answer(self, answer: object, spots: list[Spot], depth: int = 0) -> str:
        """An answer in words; the places that it names are added to `spots`."""
        if answer is None:
            return "none"
        if isinstance(answer, bool):
            return "yes" if answer else "no"
        if isinstance(answer, int | float):
            return str(answer)
        if isinstance(answer, str):
            return shortened(self._others.shortened(answer)) or "none"
        if isinstance(answer, enum.Enum):
            return answer.name.lower().replace("_", " ")
        if isinstance(answer, Value):
            return self._value(answer)
        node = node_of(answer)
        if node is not None:
            spot = self._places.spot(node)
            spots.append(spot)
            return self._said(spot)
        if isinstance(answer, Mapping):
            return self._parts(list(answer), spots, depth)
        if isinstance(answer, list | tuple | set | frozenset):
            return self._parts(self._in_order(answer), spots, depth)
        return self._record(answer, spots, depth)

    def _in_order(self, parts: Collection[object]) -> list[object]:
        """The parts of a collection; of one that has no order, in that of the text or of the alphabet."""
        if isinstance(parts, list | tuple):
            return list(parts)
        nodes = ((part, node_of(part)) for part in parts)
        spots = ((part, None if node is None else self._places.spot(node)) for part, node in nodes)
        keyed = [(spot.row or 0, spot.source, part) if spot else (0, str(part), part) for part, spot in spots]
        return [part for *_, part in sorted(keyed, key=lambda each: each[:2])]

    def _callers(self, question: Question) -> str:
        """Who in other files calls a function; "" where the answer is another one."""
        answer = question.answer
        if not (
            isinstance(answer, tuple | list) and answer and all(isinstance(each, Caller) for each in answer)
        ):
            return ""
        functions = [each for each in question.about.values() if isinstance(each, Function)]
        files = [file for function in functions for file in self._others.calling(function)]
        told = [
            words
            for words, is_so in {
                "compiled": any(each.state == "compiled" for each in answer),
                "in eager mode": any(each.state == "eager" for each in answer),
                "per step": any(each.per_step for each in answer),
                "under a guard": any(each.guarded for each in answer),
            }.items()
            if is_so
        ]
        where = ", ".join(f"`{file}`" for file in files[:_MOST_PARTS]) or f"{len(answer)} of them"
        more = f" and {len(files) - _MOST_PARTS} more files" if len(files) > _MOST_PARTS else ""
        return f"in {where}{more}{', ' if told else ''}{', '.join(told)}{self._way_of(answer)}"

    def _way_of(self, callers: Collection[Caller]) -> str:
        """What leads to one of some calls on each step, from the loop down: `: by `for x in data:` (`loop.py`, row 4)`."""
        ways = [each.each_step for each in callers if each.per_step and each.each_step]
        if not ways:
            return ""
        said, before = [], ""
        for via in next((way for way in ways if all(via.always for via in way)), ways[0]):
            file = self._others.file_of(via)
            row = row_of(Spot(via.code, via.row, via.cell))
            said.append(f"`{shortened(via.code)}` ({row if file == before else f'`{file}`, {row}'})")
            before = file
        return f": by {', then '.join(said)}"

    def _parts(self, parts: list[object], spots: list[Spot], depth: int) -> str:
        parts = [part for part in parts if not isinstance(part, bool | None)]
        # What is asked about comes first.
        parts = sorted(parts, key=lambda part: not any(map(self._here.holds, nodes_in(part))))
        said = [self.answer(part, spots, depth + 1) for part in parts[:_MOST_PARTS]] if depth < 3 else []
        said = [part for part in dict.fromkeys(said) if part]
        if len(parts) > len(said) and len(parts) > _MOST_PARTS:
            said.append(f"{len(parts) - min(len(parts), _MOST_PARTS)} more")
        return ", ".join(said) or "none"

    def _record(self, record: object, spots: list[Spot], depth: int) -> str:
        """A record by its class and what is said in it; of other objects their class."""
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(record).__name__.strip("_")).lower()
        if not dataclasses.is_dataclass(record) or isinstance(record, Scope | Block) or depth > 2:
            return getattr(record, "__name__", name)
        said = []
        for own in dataclasses.fields(record):
            value = getattr(record, own.name, None)
            if own.name.startswith("_") or not value or value == own.default:
                continue
            words = own.name.replace("_", " ")
            said.append(words if value is True else f"{words}: {self.answer(value, spots, depth + 1)}")
        return f"{name} ({'; '.join(said)})" if said else name

    def _value(self, value: Value) -> str:
        """A value by its kind and what made it."""
        if value.kind in _KINDS and value.function is None:
            return _KINDS[value.kind]
        kind = f"{'an' if value.kind[0] in 'aeiou' else 'a'} {value.kind}"
        if value.klass is not None:
            kind += f" (of `class {value.klass.name}`)"
        elif value.function is not None:
            kind += f" `{value.function.name}`"
        elif value.outside:
            kind += f" from {self._others.shortened(value.outside)}"
        elif value.pipelines:
            stages = " → ".join(dict.fromkeys(stage.name for stage in value.pipelines[0]))
            kind += f" ({shortened(stages)})"
        elif value.dtype:
            kind += f" of {value.dtype}"
        return kind + (" in host memory" if value.host and value.kind == "tensor" else "")

    def _origins(self, question: Question) -> list[Spot]:
        """The expressions that a value came through, the nearest first, without names that stand for the next one."""
        if not isinstance(question.answer, Value):
            return []
        kind, told = question.answer.kind, {self._about(question)}
        found: list[Spot] = []
        seen: set[int] = set()
        origin: tuple[Question, Spot] | None = (question, Spot(""))
        while origin is not None and len(found) < _MOST_ORIGINS * 2:
            origin = self._origin(origin[0], kind, told, seen)
            if origin is not None:
                found.append(origin[1])
                told.add(origin[1])
        following = [spot.row for spot in found[1:]]
        return [
            spot
            for spot, row in zip_longest(found, following)
            if not (spot.source.isidentifier() and spot.row == row)
        ][:_MOST_ORIGINS]

    def _origin(
        self, question: Question, kind: str, told: set[Spot | None], seen: set[int]
    ) -> tuple[Question, Spot] | None:
        """The last question about the value of another expression, of the same kind, that was asked for an answer."""
        for reason in reversed(question.reasons):
            if id(reason) in seen:
                continue
            seen.add(id(reason))
            if isinstance(reason.answer, Value):
                if reason.answer.kind != kind:
                    continue
                node = _expression(reason)
                spot = self._places.spot(node) if node is not None else None
                if spot is not None and spot not in told:
                    return reason, spot
            found = self._origin(reason, kind, told, seen)
            if found is not None:
                return found
        return None


def _expression(question: Question) -> cst.BaseExpression | None:
    """The expression that a question is about first."""
    node = next((node for node in map(node_of, question.about.values()) if node is not None), None)
    return node if isinstance(node, cst.BaseExpression) else None


def _by_word(question: Question) -> str:
    """Whether a convention took a user's name for something, and the word that it went by; "" for other questions."""
    if question.asked.kind != "name" or not isinstance(question.answer, str):
        return ""
    return f"yes, by the word `{question.answer}`" if question.answer else "no"


def _first(text: str) -> str:
    """A text up to its first stop that stands in no quotes."""
    masked = _QUOTED.sub(lambda quoted: "x" * len(quoted[0]), text)
    stop = _STOP.search(masked)
    end = stop.start() if stop is not None else len(text)
    for bracket in reversed(list(_BRACKETS.finditer(masked, 0, end))):
        text, end = text[: bracket.start()] + text[bracket.end() :], end - len(bracket[0])
    return text[:end]


def row_of(spot: Spot, cell: int | None = None) -> str:
    """The row of a piece of code, with its cell where that is another one than `cell`."""
    return f"row {spot.row}" if spot.cell == cell else f"cell {spot.cell}, row {spot.row}"
