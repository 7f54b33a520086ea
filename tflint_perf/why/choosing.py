"""Which of all questions decided: those about the row, and of what each rests on what its answer depended on.

What is asked stops at the first answer that settles it: the last thing that it asked in turn is what decided, and before
that what was found to be so. What was found not to be so is told of an answer that says no.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

import libcst as cst

from tflint_perf.analysis.values.values import Value
from tflint_perf.records import dataclass
from tflint_perf.why.places import Here, Places, is_structure, node_of, nodes_in
from tflint_perf.why.recording import Question

# Answers that say that there is nothing, besides what is false.
_NOTHING = frozenset({"none", "unknown", "never"})
# What something is called, or where it is found: no answer for people.
_NAME = re.compile(r"[\w.:>()\[\]/\\-]*")
_COLLECTIONS = (list, tuple, set, frozenset, dict)
# What tells where in the code to look, by the annotations of what gives it.
_STRUCTURE = re.compile(r"\b(?:Function|Class|Loop|Block|Scope|Binding|At)\b")
# Kinds of values that the code says itself.
_NAMED = ("function", "class", "instance", "string", "number", "none")
# How a docstring begins that leans on the one of another question.
_OTHERS = ("Like ", "The same", "As `")
# Chains of calls that are longer go round in circles.
_FARTHEST = 12


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is told: how far down, how many reasons of an answer, how many questions, how many words of evidence."""

    depth: int = 3
    reasons: int = 2
    questions: int = 8
    evidence: int = 2
    everything: bool = False


BRIEF = Limits()
VERBOSE = Limits(depth=30, reasons=10_000, questions=10_000, evidence=10_000, everything=True)


@dataclass(slots=True)
class Chosen:
    """A question to tell, whether it `decided`, and what is told of its reasons."""

    question: Question
    decided: bool = False
    because: list[Chosen] = field(default_factory=list)


def is_so(answer: object) -> bool:
    """Whether an answer says that something is there, or is so."""
    if isinstance(answer, Value):
        return answer.known
    if isinstance(answer, str):
        return bool(answer) and answer not in _NOTHING
    if isinstance(answer, (bool, *_COLLECTIONS)):
        return bool(answer)
    return answer is not None


class Chooser:
    """Chooses among the questions that a rule asked about a file."""

    def __init__(self, places: Places, questions: Sequence[Question], limits: Limits) -> None:
        self._places = places
        self._questions = questions
        self._limits = limits
        # What is told once is not told again.
        self._told: set[tuple[object, ...]] = set()

    def for_finding(self, asked: int, here: Here) -> list[Chosen]:
        """The questions that led to a finding in a statement, among the first so many."""
        found = self._about(self._questions[:asked], here, general=True)
        found = [each for each in found if self._leads_on(each.question)]
        # What gave the place in a way that cannot be seen is still what led to it.
        found = found or [Chosen(question) for question in self._questions[max(asked - 1, 0) : asked]]
        for each in _fewest(found, self._limits.questions):
            each.decided = True
            depth = self._limits.depth if is_so(each.question.answer) else 0
            each.because = each.because or self._reasons(each.question, depth)
        return list(_enumerated_once(self._first_times(_fewest(found, self._limits.questions))))

    def for_silence(self, here: Here) -> list[Chosen]:
        """The questions that were asked about a statement where nothing was found: the last of them decided."""
        found = self._about(self._questions, here, general=False)
        if not found:
            return []
        *before, last = found
        last.decided = True
        last.because = last.because or self._reasons(last.question, self._limits.depth)
        told = _fewest([each for each in before if self._leads_on(each.question)], self._limits.questions - 1)
        *told, last = self._first_times([*told, last])
        return [*_enumerated_once(told), last]

    def for_file(self) -> list[Chosen]:
        """The last question, where it is about the file as a whole: the rule may have turned away at it."""
        last = self._questions[-1] if self._questions else None
        if last is None or not isinstance(last.answer, bool) or list(_subjects(last)):
            return []
        return self._first_times([Chosen(last, True, self._reasons(last, self._limits.depth))])

    def looked_at(self) -> Iterator[cst.CSTNode]:
        """The places that the rule asked about."""
        for question in self._questions:
            if self._says_something(question):
                nodes = list(_subjects(question)) or nodes_in(question.answer)
                yield from (node for node in nodes if not isinstance(node, cst.BaseSuite))

    # Questions about a place

    def _about(self, questions: Iterable[Question], here: Here, *, general: bool) -> list[Chosen]:
        """The questions about a statement and about what these gave, and where it is wanted those about the whole file.

        A question that has it among its answers is told with what was asked about it to find that; one that is about what
        is around it, or about no place, is looked through.
        """
        found: list[Chosen] = []
        given: list[object] = []
        for question in questions:
            subjects = list(_subjects(question))
            if any(map(here.holds, subjects)) or _is_about(question, given):
                found.append(Chosen(question))
                given = _things(question.answer, here)
                continue
            given = []
            if any(map(here.holds, nodes_in(question.answer))):
                given = _things(question.answer, here)
                below = self._about(question.reasons, here, general=False)
                told = [each for each in _once(below) if self._leads_on(each.question)]
                told = _fewest(told, self._limits.questions // 2)
                for each in told:
                    each.because = each.because or self._reasons(each.question, self._limits.depth - 1)
                found.append(Chosen(question, because=told))
                continue
            around = not subjects or any(map(here.lies_in, subjects))
            # A verdict on what is around it is none on the statement.
            if around and not isinstance(question.answer, bool | str | Value):
                found += self._about(question.reasons, here, general=False)
            elif general and not subjects and isinstance(question.answer, bool):
                found.append(Chosen(question))
        return _once(found)

    def _leads_on(self, question: Question) -> bool:
        """Whether a question says something of the matter, and not only where to look for more."""
        answer = question.answer
        if self._limits.everything:
            return True
        if isinstance(answer, Value):
            return answer.known
        return self._says_something(question)

    # Reasons

    def _reasons(self, question: Question, depth: int) -> list[Chosen]:
        """What is told of the reasons of an answer."""
        if depth <= 0:
            return []
        if self._limits.everything:
            return [Chosen(reason, False, self._reasons(reason, depth - 1)) for reason in question.reasons]
        deciding = self._deciding(question)
        because = [Chosen(reason, False, self._reasons(reason, depth - 1)) for reason in deciding]
        if is_so(question.answer):
            words = {
                _key(found): Chosen(found)
                for found in _evidence(question, deciding, 0)
                # Facts are behind every answer: one is told where nothing else is.
                if found.asked.kind == "name" or not deciding
            }
            because += list(words.values())[: self._limits.evidence]
        return because

    def _deciding(self, question: Question) -> list[Question]:
        """The last of the reasons, and before it those that are so."""
        reasons = list(self._telling(question, question, set(), 0))
        if isinstance(question.answer, Value):
            # What it is and where it comes from is told with it.
            known = question.answer.known
            reasons = [each for each in reasons if known and not _is_kind(each.answer, question.answer.kind)]
        elif not is_so(question.answer) or not any(True for _ in _subjects(question)):
            reasons = [each for each in reasons if _is_verdict(each.answer)]
        if not reasons:
            return []
        last = reasons[-1]
        others = [reason for reason in reasons[:-1] if is_so(reason.answer) and _key(reason) != _key(last)]
        kept = [*others[len(others) - self._limits.reasons + 1 :], last]
        if is_so(question.answer):
            return [reason for reason in kept if is_so(reason.answer)]
        return kept

    def _telling(self, question: Question, below: Question, seen: set[int], depth: int) -> Iterator[Question]:
        """The reasons of a question, among those `below`, that say something by themselves, and not the same again."""
        for reason in below.reasons if depth < _FARTHEST else ():
            if id(reason) in seen or reason.asked.kind != "question" or _is_index(reason):
                continue
            seen.add(id(reason))
            same = reason.answer is question.answer and list(_subjects(reason)) == list(_subjects(question))
            if not same and self._is_of_use(reason, question):
                yield reason
            else:
                yield from self._telling(question, reason, seen, depth + 1)

    def _is_of_use(self, reason: Question, question: Question) -> bool:
        """Whether a reason says something by itself; lists are told that are of the same as what they are a reason for."""
        subjects = list(_subjects(reason))
        if not subjects or not self._says_something(reason):
            return False
        if isinstance(reason.answer, Value) and reason.answer.kind in _NAMED:
            return False
        others = list(_subjects(question))
        if not isinstance(reason.answer, _COLLECTIONS):
            # Who is compiled is worked out for all functions at once.
            return not all(map(_is_function, subjects)) or any(
                self._places.is_around(one, other) or self._places.is_around(other, one)
                for one in subjects
                for other in others
            )
        is_same = any(subject is other for subject in subjects for other in others)
        return is_same and not isinstance(question.answer, _COLLECTIONS)

    def _says_something(self, question: Question) -> bool:
        """Whether the answer says what is so: not what is around a place, what something is called, or where it stands."""
        answer, subjects = question.answer, list(_subjects(question))
        if question.asked.says.startswith(_OTHERS):
            return False
        if any(
            isinstance(value, int) and f"`{name}`" in question.asked.says
            for name, value in question.about.items()
        ):
            return False  # how far down, or from where in the text
        if isinstance(answer, str):
            is_word = question.asked.gives != "str" and answer not in _NAMED
            return is_word or _NAME.fullmatch(answer) is None
        if answer is None:
            return any(True for _ in subjects) and _STRUCTURE.search(question.asked.gives) is None
        if isinstance(answer, _COLLECTIONS):
            new = any(all(node is not subject for subject in subjects) for node in nodes_in(answer))
            return (new or any(map(_is_record, answer))) and not any(map(is_structure, answer))
        if isinstance(answer, int | float) and not isinstance(answer, bool):
            return answer not in (0, math.inf, -math.inf) and not any(map(_is_number, subjects))
        node = node_of(answer)
        if node is not None:
            around = [self._places.is_around(node, subject) for subject in subjects]
            return not any(around) and not is_structure(answer)
        return not is_structure(answer) and (isinstance(answer, bool | Value) or _says_words(answer))

    def _first_times(self, chosen: Iterable[Chosen], *, at_top: bool = True) -> list[Chosen]:
        """Each question once, the first time."""
        kept = []
        for each in chosen:
            key = _key(each.question)
            if self._limits.everything or key not in self._told:
                self._told.add(key)
                each.because = self._first_times(each.because, at_top=False)
            elif at_top:
                each.because = []
            else:
                continue
            kept.append(each)
        return kept


def _enumerated_once(chosen: Iterable[Chosen]) -> Iterator[Chosen]:
    """Without the further questions that have the place among their answers, where nothing else is told of them."""
    enumerated = False
    for each in chosen:
        if isinstance(each.question.answer, _COLLECTIONS):
            if not each.because and (enumerated or each.question.asked.is_private):
                continue
            enumerated = True
        yield each


def _is_index(question: Question) -> bool:
    """Whether a question gives what is known of the whole file, which is worked out for whoever asks first."""
    return isinstance(question.answer, _COLLECTIONS) and not any(True for _ in _subjects(question))


def _is_record(thing: object) -> bool:
    """Whether something is a record of the analysis that stands for no code of the file: a caller in another one."""
    return dataclasses.is_dataclass(thing) and node_of(thing) is None and not isinstance(thing, Value)


def _says_words(record: object) -> bool:
    """Whether a record says something in words; a private one is for those who follow code, not for its readers."""
    if not dataclasses.is_dataclass(record) or type(record).__name__.startswith("_"):
        return False
    values = [getattr(record, own.name, None) for own in dataclasses.fields(record)]
    return any(value is True or (isinstance(value, str) and bool(value)) for value in values)


def _is_verdict(answer: object) -> bool:
    """Whether an answer is yes, no, nothing or a word, and not what stands somewhere."""
    return answer is None or isinstance(answer, bool | str)


def _is_function(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.FunctionDef | cst.Lambda)


def _is_number(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.BaseNumber)


def _is_kind(answer: object, kind: str) -> bool:
    return isinstance(answer, Value) and answer.kind == kind


def _subjects(question: Question) -> Iterator[cst.CSTNode]:
    """The nodes that a question is about."""
    for argument in question.about.values():
        node = node_of(argument)
        if node is not None:
            yield node


def _is_about(question: Question, given: Sequence[object]) -> bool:
    """Whether a question is about one of some things."""
    return any(argument is each for argument in question.about.values() for each in given)


def _things(answer: object, here: Here) -> list[object]:
    """What an answer gives to ask further about: itself, or of a collection what is here."""
    if isinstance(answer, list | tuple):
        return [part for part in answer if any(map(here.holds, nodes_in(part)))]
    return [] if isinstance(answer, str | int | None) else [answer]


def _evidence(question: Question, told: Sequence[Question], depth: int) -> Iterator[Question]:
    """The words and facts, found to be so, that an answer rests on beside the reasons that are told."""
    for reason in question.reasons if depth < _FARTHEST else ():
        if any(reason is each for each in told) or not is_so(reason.answer):
            continue
        if reason.asked.kind != "question":
            yield reason
        else:
            yield from _evidence(reason, told, depth + 1)


def _key(question: Question) -> tuple[object, ...]:
    """What makes a question the same, by whichever part of the model it is answered."""
    words = [value for value in question.about.values() if isinstance(value, str)]
    return (question.asked.says, *(id(node) for node in _subjects(question)), *words)


def _once(chosen: Iterable[Chosen]) -> list[Chosen]:
    """Each question once, where it was last asked."""
    last: dict[tuple[object, ...], Chosen] = {}
    for each in chosen:
        key = _key(each.question)
        last.pop(key, None)
        last[key] = each
    return list(last.values())


def _fewest(chosen: list[Chosen], most: int) -> list[Chosen]:
    """Where there are too many, the last of what is so, and of the others the last."""
    if len(chosen) <= most:
        return chosen
    so = [each for each in chosen if is_so(each.question.answer)][-most:]
    others = [each for each in chosen if not is_so(each.question.answer)]
    kept = {id(each) for each in [*so, *others[len(others) - (most - len(so)) :]]}
    return [each for each in chosen if id(each) in kept]
