"""`tflint-perf prove`: its options. What they come to is in `session`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from tflint_perf.cli.options import comma_list, configs_of, cores, format_of
from tflint_perf.observed.request import SECONDS, STEPS

_PAIRS, _FEWEST_PAIRS = 5, 3
_KEYS = ("select", "ignore", "extend-select", "fixable", "unfixable")


@click.command(
    short_help="Keep only the fixes that pay in your own training, and show that it learns the same.",
    context_settings={"allow_interspersed_args": False},  # what stands behind the program is its own
)
@click.argument("program", nargs=-1, metavar="PROGRAM [ARGUMENTS]...", type=click.UNPROCESSED)
@click.option("-m", "module", is_flag=True, help="PROGRAM is a module, as for `python -m`.")
@click.option("--unsafe-fixes/--no-unsafe-fixes", default=None, help="Try unsafe fixes, too.")
@click.option(
    "--bold-fixes/--no-bold-fixes",
    default=None,
    help="Also try fixes that only a run can judge; includes the unsafe ones.",
)
@comma_list(
    "--select", "RULES", "Use only these rules: codes, code prefixes, names or ALL; commas or repeats."
)
@comma_list("--ignore", "RULES", "Leave out these rules.")
@comma_list("--extend-select", "RULES", "Use these rules, too.")
@comma_list("--fixable", "RULES", "Try only the fixes of these rules.")
@comma_list("--unfixable", "RULES", "Try no fixes of these rules.")
@click.option(
    "--pairs",
    type=click.IntRange(min=_FEWEST_PAIRS),
    default=_PAIRS,
    show_default=True,
    help="How many times to run each version, alternating with the original; 3 or 4 show only large differences.",
)
@click.option(
    "--steps",
    type=click.IntRange(min=2),
    default=STEPS,
    show_default=True,
    help="Stop each run after this many training steps.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=1),
    default=SECONDS,
    show_default=True,
    help="Stop the first run this long after its first step, if that is sooner; the others run as many steps.",
)
@click.option("--timeout", type=click.FloatRange(min=1), help="Give up a run after this many seconds.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="The seed for all random numbers.",
)
@click.option(
    "--python", default=sys.executable, metavar="FILE", help="The Python to run it with.  [default: this one]"
)
@click.option(
    "--together",
    is_flag=True,
    help="Prove all fixes together, without trying each alone; those at fault are left out.",
)
@click.option("--apply", is_flag=True, help="Write the proved fixes to your files.")
@click.option(
    "--report",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write a page with all figures and curves into this folder.",
)
@click.option(
    "--output-format",
    type=click.Choice(["text", "json", "markdown"]),
    help="The format of the result.  [default: text]",
)
@click.option(
    "-o",
    "--output-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the result to this file, in the format of its extension: .json, .md.",
)
@click.option(
    "--config",
    "configs",
    multiple=True,
    metavar="FILE|KEY=VALUE",
    help="Use this configuration file instead of the nearest one, or set one key.",
)
@click.option("--isolated", is_flag=True, help="Use no configuration file.")
@click.option("-q", "--quiet", is_flag=True, help="Don't show what is being run.")
def prove(**options: Any) -> int:
    """Run a program with and without the fixes that the linter would make, in copies, and keep those that pay.

    PROGRAM is a script or a notebook, with its arguments after it; options of `prove` go before it. A fix is left
    out that slows the program, changes what it learns, breaks it or makes no difference. Nothing of yours is written unless
    --apply says so. Exits with 0 if fixes are proved, or there is nothing to fix, 1 if none pays, 2 if it could not be found
    out.
    """
    from tflint_perf.prove.session import Request, run

    program = (*(["-m"] if options.pop("module") else []), *options.pop("program"))
    if program in ((), ("-m",)):
        raise click.UsageError("name a program: `tflint-perf prove train.py`")
    keys = {key: options.pop(key.replace("-", "_")) for key in _KEYS}
    keys["bold-fixes"] = options.pop("bold_fixes")
    unsafe = options.pop("unsafe_fixes")
    keys["unsafe-fixes"] = (keys["bold-fixes"] or None) if unsafe is None else unsafe
    given = {key: value for key, value in keys.items() if value is not None}
    options["output_format"] = options["output_format"] or format_of(
        options["output_file"], "json", "markdown"
    )
    configs = configs_of(options.pop("configs"), options.pop("isolated"), given)
    # What did not hold elsewhere, or was seldom worth it there, is measured here.
    configs.unproved = True
    return run(Request(**options, program=program, jobs=cores()), configs)
