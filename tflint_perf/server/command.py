"""The command `tflint-perf server`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click


@click.command(short_help="Serve an editor: findings and fixes as you type.")
@click.option(
    "--config",
    "configs",
    multiple=True,
    metavar="FILE|KEY=VALUE",
    help="Use this configuration file instead of the nearest one, or set one key.",
)
@click.option("--isolated", is_flag=True, help="Use no configuration file.")
@click.option("--stdio", is_flag=True, hidden=True, help="Ignored: always so, but some editors pass it.")
def server(configs: Sequence[str], isolated: bool, stdio: bool) -> int:
    """Serve an editor over standard input and output, with the Language Server Protocol.

    Editors start it themselves; docs/editors.md says how to set them up.
    """
    try:
        import pygls  # noqa: F401
    except ImportError:
        message = "the language server needs pygls; `pip install 'tflint-perf[lsp]'` brings it"
        raise click.ClickException(message) from None
    from tflint_perf.cli.options import configs_of
    from tflint_perf.server.linting import Linter
    from tflint_perf.server.service import serve

    given = configs_of(configs, isolated, {})
    if sys.stdin.isatty():
        print("tflint-perf: waiting for an editor on standard input; Ctrl+C ends it", file=sys.stderr)
    return serve(Linter(given.command_line, given.given, given.isolated))
