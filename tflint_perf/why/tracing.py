"""One rule asked about one file, with every question recorded."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from tflint_perf.analysis.model import Model
from tflint_perf.analysis.values.outside import Outside
from tflint_perf.lint.asking import against, guarded
from tflint_perf.records import dataclass
from tflint_perf.rule import Report, Rule
from tflint_perf.text.source import Source
from tflint_perf.text.trees import whole_module
from tflint_perf.why.matching import watched
from tflint_perf.why.places import Places
from tflint_perf.why.recording import Question, Recorder

_ANALYSIS = "tflint_perf.analysis."
# It knows no TensorFlow: what it answers is how Python is read.
_PLAIN = "tflint_perf.analysis.python"


@dataclass(frozen=True, slots=True)
class Reported:
    """A report, how many questions had been asked by then, and why it is no finding: "" for one."""

    report: Report
    asked: int
    against: str


@dataclass(frozen=True, slots=True)
class Trace:
    """What a rule asked of the model of a file, and what it reported."""

    model: Model
    places: Places
    questions: Sequence[Question]
    reports: Sequence[Reported]


def traced(source: Source, rule: type[Rule], outside: Outside) -> Trace:
    """Ask a rule about a source, on a model that knows nothing yet.

    Raises:
        InternalError: it failed.
    """
    # The parts of a model are imported when they are first asked, and have to be there to be recorded.
    with _model(source, outside) as model:
        guarded(rule.code, lambda: list(rule().check(model)))
    with _model(source, outside) as model:
        # What only rules of its family ask stands beside it.
        beside = f"{rule.__module__.rpartition('.')[0]}."
        modules = [
            module
            for name, module in sorted(sys.modules.items())
            if name.startswith(beside)
            or name == rule.__module__
            or (name.startswith(_ANALYSIS) and not name.startswith(_PLAIN))
        ]
        recorder = Recorder(modules, leave_out=rule.check)
        reports: list[Reported] = []

        def ask() -> None:
            for report in rule().check(model):
                asked = sum(question.asked.kind != "making" for question in recorder.questions)
                reports.append(Reported(report, asked, against(rule, model, report.node)))

        with watched(modules, recorder.add), recorder.running():
            guarded(rule.code, ask)
        questions = [question for question in recorder.questions if question.asked.kind != "making"]
        return Trace(model, Places(model, source), questions, reports)


@contextmanager
def _model(source: Source, outside: Outside) -> Iterator[Model]:
    """A model of its own."""
    module = whole_module(source.text)
    yield guarded("model", partial(Model, module, source.text, outside, form=source.form))
