"""Runs an experiment at the sizes that it has, and makes one result of what came of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, replace

from tflint_perf.catalogue.measured import values_of
from tflint_perf.plain_data import plain
from tflint_perf.verify.experiment import Experiment
from tflint_perf.verify.keep import are_figures_calm
from tflint_perf.verify.nursery import Nursery
from tflint_perf.verify.records import Result, Sized
from tflint_perf.verify.runner import Options, run_experiment
from tflint_perf.verify.sizes import DECIDES, Name, Size

_DIGITS = 4


def at_sizes(experiment: Experiment, names: Collection[Name]) -> Sequence[Experiment]:
    """The experiment at each of these sizes; as it stands where it has none."""
    sizes = [replace(experiment, size=size) for size in experiment.sizes if size.name in names]
    return sizes or [experiment]


def run_sizes(
    experiments: Sequence[Experiment], options: Options, on_run: Callable[[], None], nursery: Nursery | None
) -> Result:
    """Run an experiment at each size, as `at_sizes` gives them. What fails at one of them has failed.

    The verdict is that of the size which decides, where it was measured. Where the machine is too noisy for that, nothing is
    said. Of the other sizes the figures are asked for, not whether the claim holds there: so they are left open, unless
    the machine was too busy for figures, too.
    """
    results: list[tuple[Size, Result]] = []
    names = [experiment.size.name for experiment in experiments if experiment.size is not None]
    deciding = DECIDES if DECIDES in names else next(iter(names), None)
    for experiment in experiments:
        result = run_experiment(experiment, options, on_run, nursery)
        if experiment.size is None:
            return result
        if result.verdict == "too noisy" and experiment.size.name != deciding and are_figures_calm(result):
            result = replace(result, verdict="inconclusive")
        if result.verdict in ("failed", "too noisy"):
            return replace(result, reason=f"{result.reason} (at the {experiment.size.name} size)")
        results.append((experiment.size, result))
    size, decides = next(found for found in results if found[0].name == deciding)
    measured = tuple(_sized(*found) for found in results if found[1].effect is not None)
    noise = max((result.noise for _, result in results if result.noise is not None), default=None)
    return replace(decides, size=size.name, sizes=measured, noise=noise)


def _sized(size: Size, result: Result) -> Sized:
    figures = plain(asdict(result), _DIGITS)
    return Sized(
        name=size.name,
        what=size.what,
        of=size.of,
        at=size.at,
        grows=size.grows,
        step=size.step,
        verdict=result.verdict,
        reason=result.reason,
        steps=result.steps,
        effect=result.effect,
        slow=tuple(values_of(figures, "slow")),
        fast=tuple(values_of(figures, "fast")),
        worse=result.worse,
    )
