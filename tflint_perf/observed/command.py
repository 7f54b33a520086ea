"""`tflint-perf run`: its options. What they come to is in `session`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from tflint_perf.cli.options import format_of, rule_lists
from tflint_perf.observed.request import SECONDS, STEPS


@click.command(
    short_help="Run a program, and show where its training time goes.",
    # What stands behind the program is the program's.
    context_settings={"allow_interspersed_args": False},
)
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="PROGRAM [ITS ARGUMENTS]...")
@click.option("-m", "by_name", is_flag=True, help="PROGRAM is the name of a module, as for `python -m`.")
@click.option(
    "--steps",
    type=click.IntRange(min=0),
    default=STEPS,
    show_default=True,
    help="Stop the program after this many training steps, 100 or more to say what lines cost; 0 lets it run to its end.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0),
    default=SECONDS,
    show_default=True,
    help="Stop it this long after its first step; 0 for no limit.",
)
@click.option(
    "--step",
    metavar="FILE:ROW",
    help="The row that runs once per step, if steps are not found automatically.",
)
@click.option(
    "--python", default=sys.executable, metavar="FILE", help="The Python to run it with.  [default: this one]"
)
@rule_lists
@click.option(
    "--output-format",
    type=click.Choice(("text", "json", "sarif", "github", "markdown")),
    help="The format of the report; json is what `check --measured` reads.  [default: text]",
)
@click.option(
    "-o",
    "--output-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the report to this file, in the format of its extension: .json, .md, .sarif.",
)
@click.option(
    "--report",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Also write a page with all lines and plots into this folder.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print only the report, not the program's output.")
def run(**options: Any) -> int:
    """Run a program as it is, watch its training, and show where the time of its steps goes.

    PROGRAM is a script or a notebook. What it prints is shown as it runs; the report follows. The exit code is the
    program's own, or 0 if it was stopped.
    """
    program, by_name = options.pop("program"), options.pop("by_name")
    if not program:
        raise click.UsageError("name a program: tflint-perf run train.py")
    from tflint_perf.observed.session import Asked
    from tflint_perf.observed.session import run as run_now

    known = ("json", "sarif", "markdown")
    options["output_format"] = options["output_format"] or format_of(options["output_file"], *known)
    return run_now(Asked(program=("-m", *program) if by_name else program, **options))
