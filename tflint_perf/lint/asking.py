"""Asking rules about a model, so that whatever goes wrong in one is a line that names where."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import TypeVar

import libcst as cst

from tflint_perf.analysis.execution.keras_backends import is_for_another_backend
from tflint_perf.analysis.model import Model
from tflint_perf.analysis.python.dead_code import is_behind_end, never_runs
from tflint_perf.analysis.training.total_runs import FEW_IN_ALL
from tflint_perf.analysis.values.frameworks import packages
from tflint_perf.catalogue.rules import catalogue
from tflint_perf.lint.early_findings import go_on
from tflint_perf.rule import Report, Rule

T = TypeVar("T")
Reports = list[tuple[type[Rule], Report]]


class InternalError(Exception):
    """A rule or the model failed on a file. The message is one line that names where."""


def reports_of(model: Model, rules: Iterable[type[Rule]], problems: list[str]) -> Reports:
    """What the rules report; `problems` gets a line for each rule of a plugin that fails.

    Raises:
        InternalError: a rule of this project failed.
    """
    elsewhere = guarded("devices", model.devices.runs_keras_elsewhere)
    reports = [
        (rule, report)
        for rule in rules
        if rule.any_backend or not elsewhere
        for report in tolerant(rule, partial(_ask, rule, model), problems) or ()
    ]
    if all(rule.any_backend for rule, _ in reports) or "tensorflow" in packages(model.walk):
        return reports
    if not guarded("the project's requirements", model.infer.outside.keras_runs_elsewhere):
        return reports
    return [(rule, report) for rule, report in reports if rule.any_backend]


def tolerant(rule: type[Rule], work: Callable[[], T], problems: list[str]) -> T | None:
    """Let a rule do a piece of work; where one of a plugin fails, note it and go on with the others.

    Raises:
        InternalError: a rule of this project failed.
    """
    try:
        return guarded(rule.code, work)
    except InternalError as error:
        info = catalogue().get(rule.code)
        if info is None or info.plugin is None:
            raise
        problems.append(f"plugin `{info.plugin.name}`: {error}")
        return None


def guarded(where: str, work: Callable[[], T]) -> T:
    """Do a piece of work.

    Raises:
        InternalError: something went wrong in it; the message says where.
        Gone: nobody waits for it any more.
    """
    go_on()
    try:
        return work()
    except RecursionError:
        raise InternalError(f"{where}: the code is nested too deeply") from None
    except Exception as error:
        import traceback

        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{last.filename.rsplit('/', 1)[-1]}:{last.lineno}"
        raise InternalError(
            f"{where}: {type(error).__name__}: {error} ({place})".replace("\n", " ")
        ) from error


@cache
def _instance(rule: type[Rule]) -> Rule:
    return rule()


def _ask(rule: type[Rule], model: Model) -> list[Report]:
    reports = [report for report in _instance(rule).check(model) if not against(rule, model, report.node)]
    if rule.any_backend or not ("backend" in model.text or "torch" in model.text):
        return reports
    return [report for report in reports if not is_for_another_backend(model.infer, report.node)]


def against(rule: type[Rule], model: Model, node: cst.CSTNode) -> str:
    """Why what a rule reports of a place is no finding, as a clause; "" for a finding."""
    # In a notebook, other cells can be run behind what ends one.
    ended = "script" in model.form and is_behind_end(model.walk, model.infer.names, node)
    if ended or never_runs(model.walk, node):
        return "this code never runs"
    if _is_left_out(model, node):
        return "no step runs this code"
    if rule.claim is not None and model.form == "loose script" and not model.programs.is_one():
        return "no import can name this file, and it runs nothing of its own"
    if rule.claim is not None and not rule.of_programs and model.programs.never_run(node):
        return "the file is a program, and nothing calls this function"
    if rule.adds_up and _is_run_a_few_times(model, node):
        return f"a program is seen to run this code {FEW_IN_ALL} times in all at most"
    if rule.adds_up and model.pauses.are_around(node):
        return "the program pauses between two runs of this code"
    return ""


def _is_left_out(model: Model, node: cst.CSTNode) -> bool:
    """Whether no step reaches a place, since callers don't set the option that it stands behind. What is wrong whether or
    not it is switched on, an old name say, counts all the same."""
    return model.loops.is_per_step(node) and model.decided.is_left_out_of_steps(node)


def _is_run_a_few_times(model: Model, node: cst.CSTNode) -> bool:
    """Whether loops run a place, and a program goes through them a few times in all."""
    return (node in model.walk.loops or model.loops.is_per_step(node)) and model.totals.are_few(node)
