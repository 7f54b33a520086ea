"""The site's reference, from the tool itself: the keys of the configuration, and what the commands print for `--help`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from inspect import cleandoc

import click
from rules_table import link_to

from tflint_perf.catalogue.rules import catalogue
from tflint_perf.cli.options import CheckCommand
from tflint_perf.commands import COMMANDS, tflint_perf
from tflint_perf.config.keys import KEYS, Key
from tflint_perf.observed.evidence import SEEN, UNSEEN


def settings() -> str:
    """Every key of the configuration, one below the other."""
    return "\n".join(line for key in KEYS.values() for line in _setting(key))


def _setting(key: Key) -> Iterator[str]:
    yield f"### {key.name}"
    yield ""
    yield key.description
    yield ""
    yield f"**Type**: {_code(key.type_name())}  "
    yield f"**Default**: {'not set' if key.default is None else _code(key.default)}"
    yield ""
    yield "```toml"
    yield "[tool.tflint-perf]"
    yield key.example
    yield "```"
    yield ""


def _code(text: str) -> str:
    return f"`{text}`"


def seen_of_rules() -> str:
    """What a run sees of each rule, and why it says nothing of the others: two tables."""
    return "\n".join(_seen())


def _seen() -> Iterator[str]:
    yield "| rule | what a run sees of it |"
    yield "|---|---|"
    for code, seen in SEEN.items():
        otherwise = f" Where nothing is seen, it says nothing: {seen.otherwise}." if seen.otherwise else ""
        yield f"| {_rule(code)} | {seen.says}{otherwise} |"
    yield ""
    yield "| rule | why a run says nothing of its cost |"
    yield "|---|---|"
    for code, why in UNSEEN.items():
        yield f"| {_rule(code)} | {why[:1].upper()}{why[1:]}. |"


def _rule(code: str) -> str:
    return f"{link_to(catalogue()[code], '../')} {catalogue()[code].name}"


def commands_page() -> str:
    """What each command prints for `--help`, set so that a narrow screen can show it."""
    return "\n".join(_commands())


def _commands() -> Iterator[str]:
    yield "# Commands"
    yield ""
    yield "What `--help` says, command by command. Without a command, `check` runs."
    for name in COMMANDS:
        command = tflint_perf.get_command(click.Context(tflint_perf), name)
        assert command is not None
        with command.make_context(name, [], resilient_parsing=True) as context:
            yield from ("", f"## {name}", "")
            usage = " ".join(command.collect_usage_pieces(context))
            yield from ("```text", f"tflint-perf {name} {usage}", "```", "")
            yield from (cleandoc(command.help or "").replace("\f", ""), "")
            yield from _options(command, context)


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    for title, options in _groups(command, context):
        yield from (f"**{title}**", "")
        for option in options:
            if record := option.get_help_record(context):
                yield from (_code(record[0]), f":   {record[1] or '—'}", "")


def _groups(
    command: click.Command, context: click.Context
) -> Iterator[tuple[str, Sequence[click.Parameter]]]:
    if isinstance(command, CheckCommand):
        yield from command.groups(context)
    else:
        yield "Options", command.get_params(context)
