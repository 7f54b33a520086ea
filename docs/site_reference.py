"""The site's reference, from the tool itself: the keys of the configuration, and what the commands print for `--help`."""

from __future__ import annotations

from collections.abc import Iterator

from click.testing import CliRunner

from tflint_perf.catalogue.rules import catalogue
from tflint_perf.commands import COMMANDS, tflint_perf
from tflint_perf.config.keys import KEYS, Key
from tflint_perf.observed.evidence import SEEN, UNSEEN

_WIDTH = 96


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
    return f"[{code}](rules/{code}.md) {catalogue()[code].name}"


def commands_page() -> str:
    """What each command prints for `--help`."""
    return "\n".join(_commands())


def _commands() -> Iterator[str]:
    yield "# Commands"
    yield ""
    yield "What `--help` prints, command by command. Without a command, `check` runs."
    for command in COMMANDS:
        yield ""
        yield f"## {command}"
        yield ""
        yield "```text"
        yield _help(command)
        yield "```"


def _help(command: str) -> str:
    shown = CliRunner().invoke(
        tflint_perf,
        [command, "--help"],
        prog_name="tflint-perf",
        terminal_width=_WIDTH,
        catch_exceptions=False,
    )
    return shown.output.strip()
