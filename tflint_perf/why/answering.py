"""One answer: what a run finds at a row, and what the rule asked there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path

from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.outside import name_outside
from tflint_perf.catalogue.own_rules import OWN_RULES
from tflint_perf.catalogue.registry import rules_about
from tflint_perf.catalogue.rules import RuleInfo, catalogue
from tflint_perf.config.files import settings_for
from tflint_perf.config.settings import Settings
from tflint_perf.errors import SourceError
from tflint_perf.finding import Finding, Via
from tflint_perf.lint.screen import passes, through_callers, through_imports
from tflint_perf.lint.suppress import suppressing_rows
from tflint_perf.project.linting import FileResult, Heard, Neighbours, files_that_call, lint_and_hear
from tflint_perf.records import dataclass
from tflint_perf.stack import on_deep_stack
from tflint_perf.text.code import code_of
from tflint_perf.text.source import Source
from tflint_perf.text.syntax import CODE as INVALID_SYNTAX
from tflint_perf.text.trees import room_for_trees
from tflint_perf.why.choosing import Chooser, Chosen, Limits
from tflint_perf.why.places import Here, Spot, shortened
from tflint_perf.why.tracing import Trace, traced
from tflint_perf.why.wording import Told, Words

_MOST_PLACES = 8
# Questions that begin so need no other word before them.
_ASKING = frozenset({"How", "What", "Where", "Whether", "Which", "Who"})


@dataclass(frozen=True, slots=True)
class Place:
    """A row that one asks about, in a notebook of a cell; `text_row` counts through the whole text."""

    path: str
    row: int
    cell: int | None
    text_row: int


@dataclass(frozen=True, slots=True)
class Asking:
    """What is asked, and of what: a rule about a place of a source, by the settings of its file, among other files."""

    place: Place
    rule: RuleInfo
    data: bytes
    source: Source
    settings: Settings
    neighbours: Neighbours
    limits: Limits


@dataclass(frozen=True, slots=True)
class Answer:
    """Why a rule has a finding at a place, or none.

    `findings` are those at the place, also such as a run leaves out; the `notes` say why. `because` says in a sentence
    how the questions are to be read, or why there are none, and the `conclusion` what follows from the last of them where
    there is no finding. `looked_at` are the places that the rule did ask about where
    this is none of them; `elsewhere` are the places where it has findings.
    """

    place: Place
    rule: RuleInfo
    line: str
    findings: tuple[Finding, ...] = ()
    because: str = ""
    notes: tuple[str, ...] = ()
    questions: tuple[Told, ...] = ()
    looked_at: tuple[Spot, ...] = ()
    elsewhere: tuple[Spot, ...] = field(default=())
    conclusion: str = ""


def answer(asking: Asking) -> Answer:
    """Why the rule has a finding at the place, or none, whether the settings have it on or not.

    Raises:
        InternalError: the rule failed.
        SourceError: the file can't be linted.
    """
    place, rule, source = asking.place, asking.rule, asking.source
    own = rule.code in OWN_RULES
    # Findings that are suppressed have reasons, too.
    settings = replace(
        asking.settings,
        rules=asking.settings.rules | {rule.code},
        per_file_ignores=(),
        fix="no",
        ignore_noqa=asking.settings.ignore_noqa or not own,
    )
    heard = lint_and_hear(asking.data, place.path, settings, asking.neighbours)
    result = heard.result
    if result.failure:
        raise SourceError(result.failure)
    of_rule = tuple(finding for finding in result.findings if finding.code == rule.code)
    given = Answer(
        place,
        rule,
        "".join(source.lines(place.text_row, place.text_row)),
        tuple(finding for finding in of_rule if _is_at(finding, place)),
        notes=tuple(_when_off(asking)),
        elsewhere=tuple(
            Spot(shortened(" ".join(finding.lines)), finding.start.row, finding.start.cell)
            for finding in of_rule
            if not _is_at(finding, place)
        ),
    )
    fault = _fault(result, asking)
    if fault or own:
        about = "The rule looks at suppressions, and asks nothing about the code."
        return replace(given, because=fault or about)
    if unseen := _unseen(asking):
        return replace(given, because=unseen)
    return on_deep_stack(lambda: _asked(asking, given, heard))


def _asked(asking: Asking, given: Answer, heard: Heard) -> Answer:
    """The answer with what the rule asked."""
    source, limits = asking.source, asking.limits
    rule = rules_about(source.text, {asking.rule.code})[0]
    outside = asking.neighbours.outside(given.place.path, heard.callers)
    with room_for_trees():
        trace = traced(source, rule, outside)
    chooser = Chooser(trace.places, trace.questions, limits)
    here, asked = _of_findings(given.findings, trace)
    if not given.findings:
        here = Here(tuple(trace.places.statements_on(given.place.text_row)), trace.places)
    words = Words(
        trace.places, here, given.place.row, given.place.cell, _OtherFiles(asking, heard, trace.model.calls)
    )

    def with_questions(because: str, chosen: list[Chosen], **more: object) -> Answer:
        return replace(given, because=because, questions=tuple(map(words.told, chosen)), **more)  # type: ignore[arg-type]

    if given.findings:
        notes = (*given.notes, *_when_left_out(asking, given, trace))
        chosen = chooser.for_finding(asked, here)
        return with_questions("It rests on this:", chosen, notes=notes)
    if not here.statements:
        return replace(given, because=_without_code(given))
    dead = [each for each in trace.reports if here.holds(each.report.node) and each.against]
    if dead:
        chosen = chooser.for_finding(dead[-1].asked, here)
        return with_questions(
            f"There would be a finding, but {dead[-1].against}. It would rest on this:", chosen
        )
    chosen = chooser.for_silence(here)
    if chosen:
        order = ", in this order," if len(chosen) > 1 else ""
        return _left_alone(
            with_questions(f"The rule asked this{order} and found nothing to report:", chosen), "it"
        )
    chosen = chooser.for_file()
    if chosen:
        return _left_alone(
            with_questions("The rule leaves the whole file alone, because of this answer:", chosen),
            "the file",
        )
    spots = dict.fromkeys(map(trace.places.spot, chooser.looked_at()))
    known = (spot for spot in spots if spot.row is not None)
    places = tuple(sorted(known, key=lambda spot: (spot.cell or 0, spot.row or 0)))
    because = "The rule asked nothing about this row."
    if not places:
        because += " It found nothing in the file to ask about."
    return replace(given, because=because, looked_at=places[:_MOST_PLACES])


def _left_alone(given: Answer, what: str) -> Answer:
    """The answer with a sentence at its end about the question that decided."""
    last = given.questions[-1]
    asked = f"{_asked_for(last)}{last.text[0].lower()}{last.text[1:]}"
    # A place is no reason by itself: what the rule made of it was not asked of the analysis.
    hence = "and" if last.spots else "so"
    return replace(
        given,
        conclusion=f"The last question was {asked}. The answer is {last.answer}, {hence} the rule leaves {what} alone.",
    )


def _asked_for(told: Told) -> str:
    """What stands before a question in a sentence: "whether", nothing where it begins with a word that asks, or "for"."""
    if told.is_whether:
        return "whether "
    return "" if told.text.split()[0] in _ASKING else "for "


class _OtherFiles:
    """What is told of other files, by their paths from the project's folder."""

    def __init__(self, asking: Asking, heard: Heard, calls: CallGraph) -> None:
        self._asking = asking
        self._heard = heard
        self._calls = calls

    def shortened(self, text: str) -> str:
        """A text without the project's folder in front of paths: `/home/me/project/data.py::make`."""
        return text.replace(f"{self._asking.neighbours.root}/", "")

    def calling(self, function: Function) -> list[str]:
        """The files that call a function of this file, or what makes the iterator that it belongs to."""
        names = map(name_outside, (function, *self._calls.makers_of_iterators(function)))
        files = dict.fromkeys(file for name in names for file in self._calling.get(name, ()))
        return [self.shortened(str(file)) for file in files]

    def file_of(self, via: Via) -> str:
        """The file that a part of a way from a step loop to this file is in."""
        here = self._asking.neighbours.at(self._asking.place.path)
        return self.shortened(os.path.normpath(here.parent / via.file) if via.file else str(here))

    @cached_property
    def _calling(self) -> dict[str, list[Path]]:
        asking = self._asking
        if not self._heard.open:
            return {}
        return files_that_call(self._heard, asking.place.path, asking.settings, asking.neighbours)


def _of_findings(findings: tuple[Finding, ...], trace: Trace) -> tuple[Here, int]:
    """The statements of findings, and how many questions had been asked when the last of them was reported."""
    offsets = [finding.start.offset for finding in findings]
    extents = [extent for offset in offsets if (extent := trace.places.statement_at(offset)) is not None]
    here = Here(tuple(dict.fromkeys(extents)), trace.places)
    asked = [each.asked for each in trace.reports if here.holds(each.report.node)]
    return here, max(asked, default=len(trace.questions))


def _is_at(finding: Finding, place: Place) -> bool:
    """Whether a finding is in a row: one of those that it is shown with, or where a comment suppresses it."""
    start, end = finding.start, finding.end
    return start.cell == place.cell and (
        start.row <= place.row <= (end.row if end.cell == start.cell else start.row)
        or place.row == finding.noqa_row
    )


# What leaves findings out


def _when_off(asking: Asking) -> Iterator[str]:
    """What is to be said of a rule that is off for the file."""
    code, settings = asking.rule.code, asking.settings
    if code not in settings.rules:
        yield f"the rule is off, so a run does not show what it finds; --extend-select {code} turns it on"
    elif code not in settings_for(asking.neighbours.at(asking.place.path), settings).rules:
        yield "`per-file-ignores` leaves the rule out in this file"


def _when_left_out(asking: Asking, given: Answer, trace: Trace) -> Iterator[str]:
    """What keeps findings that are there from being shown."""
    source, settings = asking.source, asking.settings
    names = {code: rule.name for code, rule in catalogue().items()}
    counting = []
    for finding in given.findings:
        rows = suppressing_rows(source, finding, trace.places.spans(), names)
        if rows and not settings.ignore_noqa:
            yield f"a run does not show it: the comment in row {rows[0]} suppresses it"
        else:
            counting.append(finding)
    if counting and (settings.baseline is not None or settings.diff_base is not None):
        from tflint_perf.lint.baseline import counting as those_that_count

        left = those_that_count(counting, source, settings)
        if len(left) < len(counting):
            known = settings.baseline is not None and len(
                those_that_count(counting, source, replace(settings, diff_base=None))
            ) < len(counting)
            why = "the baseline holds it" if known else "the row has not changed since --diff-base"
            yield f"a run does not show it: {why}"


# What keeps a rule from seeing a row


def _fault(result: FileResult, asking: Asking) -> str:
    """Why no rule has seen the row: the file, or this cell of it, does not parse. "" where it does."""
    for finding in result.findings:
        if finding.code == INVALID_SYNTAX and finding.start.cell in (None, asking.place.cell):
            what = "cell" if asking.source.is_notebook else "file"
            return f"No rule has seen this {what}, which does not parse: {finding.message} (row {finding.start.row})."
    if result.problems:
        return f"The rule has not seen this file: {result.problems[0]}."
    return ""


def _unseen(asking: Asking) -> str:
    """Why the rule does not look at such a file, by the words in it; "" where it does."""
    source, rule = asking.source, asking.rule
    for words in (rule.triggers, rule.needs):
        if words and not any(word in source.text for word in words):
            return f"The rule looks only at files that contain {_listed(words)}, and this one does not."
    codes = frozenset({rule.code})
    if passes(asking.data, codes):
        return ""
    path, code = asking.place.path, code_of(asking.place.path, asking.data)
    if through_callers(code, codes):
        return ""
    if through_imports(code, codes):
        if asking.neighbours.bring_framework(path, code):
            return ""
        return "Neither this file nor what it imports from its project mentions `tensorflow` or `keras`."
    return "The rule looks only at files that mention `tensorflow` or `keras`, and this one does not."


def _listed(words: tuple[str, ...]) -> str:
    """`a`, `b` or `c`."""
    quoted = [f"`{word.strip()}`" for word in words]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"


def _without_code(given: Answer) -> str:
    text = given.line.strip()
    what = "nothing" if not text else "a comment" if text.startswith("#") else ""
    what = what or f"`{shortened(text)}`, which is no statement,"
    return f"There is {what} in this row, so the rule has nothing to ask about."
