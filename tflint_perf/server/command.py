"""The command `tflint-perf server`."""

from __future__ import annotations

import sys

import click


@click.command(short_help="Serve an editor: findings and fixes while one types.")
@click.option("--stdio", is_flag=True, hidden=True, help="As always: some editors say so.")
def server(stdio: bool) -> int:
    """Serve an editor through standard input and output, by the Language Server Protocol.

    Editors start it themselves; docs/editors.md says how to set them up.
    """
    try:
        import pygls  # noqa: F401
    except ImportError:
        message = "the language server needs pygls; `pip install 'tflint-perf[lsp]'` brings it"
        raise click.ClickException(message) from None
    from tflint_perf.server.service import serve

    if sys.stdin.isatty():
        print("tflint-perf: waiting for an editor on standard input; Ctrl+C ends it", file=sys.stderr)
    return serve()
