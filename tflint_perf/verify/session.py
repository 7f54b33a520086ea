"""A run of `tflint-perf verify`: what is run, what is shown, written and compared, and the exit code."""

from __future__ import annotations

import datetime
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from tflint_perf.cli.requirements import from_anywhere, refuse_what_is_missing
from tflint_perf.cli.run import say
from tflint_perf.problems import ConfigError
from tflint_perf.rule import Claim
from tflint_perf.verify import table
from tflint_perf.verify.device import Place, find_place
from tflint_perf.verify.experiment import (
    Experiment,
    belief_experiments,
    fixtures,
    own_experiment,
    rule_experiments,
)
from tflint_perf.verify.keep import (
    changes,
    is_of_a_calm_machine,
    keep,
    keep_as_it_comes,
    measured_before,
    read_kept,
)
from tflint_perf.verify.machine import Machine
from tflint_perf.verify.nursery import Nursery
from tflint_perf.verify.progress import loading, progress
from tflint_perf.verify.records import Record, Result, as_document, as_text
from tflint_perf.verify.runner import Options
from tflint_perf.verify.size_runs import at_sizes, run_sizes
from tflint_perf.verify.sizes import DECIDES, NAMES, Name
from tflint_perf.verify.statistics import LEAST_PAIRS

AS_CLAIMED, NOT_AS_CLAIMED, FAILURE = 0, 1, 2
_FINE = frozenset({"confirmed", "agrees", "not measurable"})


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line asks for."""

    selectors: tuple[str, ...]
    pair: tuple[Path, Path] | None
    claim: Claim
    device: Literal["cpu", "gpu"] | None
    pairs: int
    steps: int | None
    timeout: float
    quick: bool
    beliefs: bool
    check: bool
    record: bool
    report: Path | None
    plot: Path | None
    output_format: Literal["text", "json", "markdown"]
    cores: int
    resume: bool = False
    minutes: float | None = None
    full: bool = False
    python: str = sys.executable

    @property
    def sizes(self) -> frozenset[Name]:
        """Those that experiments are measured at: the small one is soon measured, and what is kept decides."""
        if self.full:
            return frozenset(NAMES)
        return frozenset({DECIDES if self.record else "small"})


def verify(request: Request) -> int:
    """Run the experiments, show what came of them, and return the exit code.

    Raises:
        ConfigError: nothing could be run, or what came of it could not be written.
    """
    experiments, missing = _experiments(request)
    _refuse_what_is_missing(request)
    for line in missing:
        say(line)
    if not experiments:
        raise ConfigError("nothing to run: no selected rule makes a claim", "verify")
    with loading():
        place = find_place(request.device, from_anywhere(request.python), forks=request.pair is None)
    try:
        return _verified(request, place, experiments, missing=bool(missing))
    finally:
        if place.nursery is not None:
            place.nursery.close()


def _verified(request: Request, place: Place, experiments: list[Experiment], *, missing: bool) -> int:
    record = Record(place.device, place.versions, datetime.date.today().isoformat(), {})
    kept = _kept(experiments, record) if request.check else None
    if request.check and kept is None:
        raise ConfigError(f"no evidence on file from {place.device.name}", "--check")
    experiments = _most_useful_first(experiments, record)
    results = _run(experiments, request, record, place.nursery)
    experiments = [experiment for experiment in experiments if experiment.name in results]
    record = replace(record, results=results)
    _show(record, {experiment.name: experiment.title for experiment in experiments}, request)
    _write(record, experiments, request)
    changed = list(changes(kept, record.results)) if kept else []
    for line in changed:
        say(line)
    return _exit_code(record, request, bool(changed), missing)


def _refuse_what_is_missing(request: Request) -> None:
    own = ["psutil", "rich", *([] if request.quick else ["scipy"]), *(["matplotlib"] if request.plot else [])]
    refuse_what_is_missing("verify", request.python, own, theirs=("tensorflow", "psutil"))


def _experiments(request: Request) -> tuple[list[Experiment], list[str]]:
    if request.pair:
        return [own_experiment(*request.pair, request.claim)], []
    if request.beliefs:
        return belief_experiments(request.selectors, fixtures() / "beliefs"), []
    return rule_experiments(request.selectors, fixtures())


def _most_useful_first(experiments: Sequence[Experiment], record: Record) -> list[Experiment]:
    """First what only a GPU can show, where there is one, then what nobody has measured on this device."""
    known = {
        name
        for folder in dict.fromkeys(experiment.evidence for experiment in experiments)
        for name in measured_before(folder, record)
    }
    on_gpu = record.device.kind == "gpu"
    return sorted(
        experiments,
        key=lambda experiment: (not (on_gpu and experiment.claim.needs_gpu), experiment.name in known),
    )


def _run(
    experiments: Sequence[Experiment], request: Request, record: Record, nursery: Nursery | None
) -> dict[str, Result]:
    """The results; fewer than the experiments where the time that was given is over."""
    python = from_anywhere(request.python)
    options = Options(
        device=record.device.kind,
        pairs=request.pairs,
        steps=request.steps,
        timeout=request.timeout,
        quick=request.quick,
        cores=request.cores,
        machine=None if request.quick else Machine(),
        # Of a user's pair, and of what is kept, figures are asked for.
        settle=not (request.quick or request.pair or request.record or request.plot or request.report)
        and request.pairs == LEAST_PAIRS,
        python=python,
    )
    results = _resumed(experiments, record, request.sizes) if request.resume else {}
    left = [experiment for experiment in experiments if experiment.name not in results]
    clock = _Clock(request.minutes)
    at = {experiment.name: at_sizes(experiment, request.sizes) for experiment in left}
    runs = [options.runs * len(at[experiment.name]) for experiment in left]
    with progress(left, runs, quick=options.quick) as run:
        for experiment in left:
            if not clock.has_time_for_one():
                left_over = len(experiments) - len(results)
                goes_on = "--resume continues" if request.record else "with --record, --resume would continue"
                say(f"time is up: {left_over} not measured; {goes_on}")
                break
            running = partial(run_sizes, at[experiment.name], options, nursery=nursery)
            results[experiment.name] = run(experiment, running)
            if request.record:
                one = {experiment.name: results[experiment.name]}
                keep_as_it_comes(experiment.evidence, replace(record, results=one))
    return results


def _resumed(experiments: Sequence[Experiment], record: Record, sizes: frozenset[Name]) -> dict[str, Result]:
    """What need not be measured again: it is on file, with these versions, of the claim as it is now, at these sizes."""
    found = {}
    for experiment in experiments:
        result = measured_before(experiment.evidence, record).get(experiment.name)
        if result is None or result.claim != experiment.claim or result.verdict in ("failed", "too noisy"):
            continue
        measured = {sized.name for sized in result.sizes} | {result.size}
        if not experiment.sizes or result.effect is None or measured >= sizes:
            found[experiment.name] = result
    return found


class _Clock:
    """Says whether there is time for one more experiment, by what those before took on average."""

    def __init__(self, minutes: float | None) -> None:
        self._began = time.monotonic()
        self._seconds = None if minutes is None else 60 * minutes
        self._begun = 0

    def has_time_for_one(self) -> bool:
        spent = time.monotonic() - self._began
        if self._seconds is not None and self._begun and spent * (1 + 1 / self._begun) > self._seconds:
            return False
        self._begun += 1
        return True


def _show(record: Record, titles: Mapping[str, str], request: Request) -> None:
    document = as_document(record)
    if request.output_format == "json":
        print(as_text(document))
        return
    if request.output_format == "markdown":
        print("\n".join(table.markdown(document["results"], titles)))
    else:
        _show_table(document, titles, request.pair is not None)
    for name, result in record.results.items():
        if result.verdict not in _FINE:
            say(f"{name}: {result.verdict}: {result.reason}")
            sys.stderr.writelines(f"    {line}\n" for line in result.output.splitlines())


def _show_table(document: Mapping[str, Any], titles: Mapping[str, str], with_curves: bool) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # Not on a terminal, nothing is to be cut off.
    console = Console(width=None if sys.stdout.isatty() else 200, soft_wrap=False)
    shown = Table(*table.HEADER, box=None, pad_edge=False)
    for row in table.rows(document["results"], titles):
        *cells, verdict = row
        shown.add_row(*map(Text, cells), Text(verdict, style=table.COLOURS.get(verdict, "")))
    console.print(shown)
    for lines in (table.over_sizes, table.worse, table.not_compared):
        for line in lines(document["results"]):
            console.print(Text(line))
    if with_curves:
        drawn = [line for result in document["results"].values() for line in table.curves(result)]
        console.print(Text("\n".join(["", *drawn])))
    versions = document["versions"]
    where = f"{document['device']['name']}, TensorFlow {versions['tensorflow']}, Python {versions['python']}"
    console.print(Text(f"\n{_counted(document['results'].values())}; {where}"))


def _counted(results: Any) -> str:
    verdicts = [result["verdict"] for result in results]
    return ", ".join(f"{verdict}: {verdicts.count(verdict)}" for verdict in sorted(set(verdicts)))


def _kept(experiments: Sequence[Experiment], record: Record) -> Record | None:
    """What is on file of the experiments, of each beside its scripts."""
    folders = dict.fromkeys(experiment.evidence for experiment in experiments)
    found = [kept for folder in folders if (kept := read_kept(folder, record)) is not None]
    results = {name: result for kept in found for name, result in kept.results.items()}
    return replace(found[0], results=results) if found else None


def _keep(experiments: Sequence[Experiment], record: Record) -> None:
    for folder in dict.fromkeys(experiment.evidence for experiment in experiments):
        names = [experiment.name for experiment in experiments if experiment.evidence == folder]
        busy = [name for name in names if not is_of_a_calm_machine(record.results[name])]
        for name in busy:
            say(f"{name}: not kept: the machine was too busy")
        path = keep(folder, replace(record, results={name: record.results[name] for name in names}))
        if len(busy) < len(names):
            say(f"kept in {path}")


def _write(record: Record, experiments: Sequence[Experiment], request: Request) -> None:
    if request.record:
        _keep(experiments, record)
    try:
        if request.report:
            from tflint_perf.verify.page import write_page

            say(f"report in {write_page(as_document(record), request.report)}")
        if request.plot:
            from tflint_perf.verify.plots import write_plots

            write_plots(as_document(record), request.plot)
            say(f"plot in {request.plot}")
    except OSError as error:
        raise ConfigError(str(error), "verify") from None


def _exit_code(record: Record, request: Request, changed: bool, missing: bool) -> int:
    """0 all as claimed, 1 not so, 2 something was not there to be run, or the machine too noisy to tell.

    With --check, a claim that was refuted before and is again is no news; a belief that is refuted is none
    that this project holds.
    """
    if missing:
        return FAILURE
    verdicts = {result.verdict for result in record.results.values()}
    noisy = "too noisy" in verdicts
    verdicts -= {"too noisy"}
    if request.check:
        fine = "failed" not in verdicts
    else:
        fine = verdicts <= (_FINE | {"refuted"} if request.beliefs else _FINE)
    if fine and not changed:
        return FAILURE if noisy else AS_CLAIMED
    return NOT_AS_CLAIMED
