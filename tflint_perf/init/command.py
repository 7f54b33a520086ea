"""`tflint-perf init`: its options. What they come to is in `session`."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(short_help="Look at the project and write a first configuration.")
@click.argument("folder", type=click.Path(path_type=Path), default=Path(), metavar="[FOLDER]")
@click.option("--diff", is_flag=True, help="Print what would be written as a diff, and write nothing.")
def init(folder: Path, diff: bool) -> int:
    """Write a first configuration for the project in FOLDER, the current one if none is named.

    Looks at the files there and adds [tool.tflint-perf] to the pyproject.toml; where there is none, creates a
    tflint-perf.toml. Says what it found and what to do next.
    """
    from tflint_perf.init.session import init as init_now

    return init_now(folder, diff)
