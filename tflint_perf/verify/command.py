"""`tflint-perf verify`: its options. What they come to is in `session`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, get_args

import click

from tflint_perf.cli import shell_completion as completion
from tflint_perf.cli.options import cores
from tflint_perf.rule import Claim, Metric

_LEAST_PAIRS = 5
_GROWTH = " growth"
_METRICS = [name + suffix for suffix in ("", _GROWTH) for name in get_args(Metric)]


def _claim(metric: str | None, least: float | None, tolerance: float | None) -> Claim:
    name = (metric or "step time").removesuffix(_GROWTH)
    return Claim(
        metric=next(known for known in get_args(Metric) if known == name),
        # Any gain counts, unless the user asks for more.
        least=1.0 if least is None else least,
        kind="growth" if (metric or "").endswith(_GROWTH) else "ratio",
        tolerance=1e-5 if tolerance is None else tolerance,
    )


@click.command(short_help="Run the experiments behind the rules on this machine.")
@click.argument("selectors", nargs=-1, metavar="[CODES]...", shell_complete=completion.experiments)
@click.option(
    "--device", type=click.Choice(["cpu", "gpu"]), help="The device to run on.  [default: the GPU, if any]"
)
@click.option(
    "--pairs",
    type=click.IntRange(min=_LEAST_PAIRS),
    default=_LEAST_PAIRS,
    show_default=True,
    help="How many times to run each of the two scripts, alternating.",
)
@click.option(
    "--steps", type=click.IntRange(min=10), help="Training steps per run.  [default: as the experiment needs]"
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=1),
    default=300,
    show_default=True,
    help="Give up a run after this many seconds.",
)
@click.option(
    "--python",
    default=sys.executable,
    metavar="FILE",
    help="The Python to run the scripts with.  [default: this one]",
)
@click.option(
    "--quick", is_flag=True, help="One pair, a few steps: do the scripts run, and do the losses agree?"
)
@click.option(
    "--pair",
    nargs=2,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="BEFORE AFTER",
    help="Measure two scripts of your own, each with a generator `train(steps)` that yields the losses.",
)
@click.option(
    "--metric",
    type=click.Choice(_METRICS),
    help="The metric that AFTER should improve.  [default: step time]",
)
@click.option(
    "--least",
    type=click.FloatRange(min=0, min_open=True),
    help="The factor by which it should improve, at least.  [default: 1]",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(min=0),
    help="How far the losses of --pair may differ, relative to their size.  [default: 1e-05]",
)
@click.option(
    "--full",
    is_flag=True,
    help="Measure at three sizes, small, medium and large.  [default: small; with --record, medium]",
)
@click.option("--beliefs", is_flag=True, help="Measure common beliefs; CODES are names of beliefs.")
@click.option(
    "--check", is_flag=True, help="Compare with the evidence on file; exit with 1 if a verdict changed."
)
@click.option("--record", is_flag=True, help="Save the results as evidence, next to the experiments.")
@click.option(
    "--resume", is_flag=True, help="Continue: skip what is on file from this device and these versions."
)
@click.option(
    "--for",
    "minutes",
    type=click.FloatRange(min=0, min_open=True),
    metavar="MINUTES",
    help="Measure what is most useful first, and stop in time.",
)
@click.option(
    "--report",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write a page with all curves into this folder.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw step time and memory over steps as a PNG image.",
)
@click.option("--output-format", type=click.Choice(["text", "json", "markdown"]), default="text")
def verify(**options: Any) -> int:
    """Run the experiments behind the rules, and show whether the claims hold on this machine.

    CODES are rule codes, code prefixes or names; all rules if none is given. Exits with 0 if every claim holds or
    cannot be measured here, 1 if not, 2 if something failed.
    """
    own = {name: options.pop(name) for name in ("metric", "least", "tolerance")}
    if options["pair"] is None and any(value is not None for value in own.values()):
        raise click.UsageError("--metric, --least and --tolerance need --pair")
    if options["pair"] and any(
        options[name] for name in ("selectors", "beliefs", "check", "record", "resume", "minutes", "full")
    ):
        raise click.UsageError(
            "--pair can't be combined with codes, --beliefs, --check, --record, --resume, --for or --full"
        )
    if options["quick"] and (options["check"] or options["record"] or options["report"] or options["plot"]):
        raise click.UsageError("--quick measures nothing that could be compared, kept or drawn")
    from tflint_perf.verify.session import Request
    from tflint_perf.verify.session import verify as verify_now

    selectors = [item for text in options.pop("selectors") for item in text.split(",") if item]
    request = Request(**options, selectors=tuple(selectors), claim=_claim(**own), cores=cores())
    return verify_now(request)
