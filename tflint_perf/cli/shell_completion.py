"""What a shell may complete: codes and names of rules, keys, symptoms. Each is looked up when somebody presses Tab."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem

SHELLS = ("bash", "fish", "zsh")
_VARIABLE = "_TFLINT_PERF_COMPLETE"


def script(program: click.Command, name: str, shell: str) -> str:
    """What the shell has to run so that Tab completes the program's arguments."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None, shell
    return kind(program, {}, name, _VARIABLE).source()


def rules(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Codes of rules, and names once their first letters are there."""
    return _items(_rules(incomplete))


def rule_list(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The last rule of a comma list, without those that stand in it already."""
    before, comma, last = incomplete.rpartition(",")
    taken = set(before.split(","))
    known = [("ALL", "every rule"), *_rules(last)] if "ALL".startswith(last) else _rules(last)
    return _items((f"{before}{comma}{name}", help) for name, help in known if name not in taken)


def fail_on(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The last of a comma list of what makes a run fail: severities, and a cost as an example."""
    from tflint_perf.config.failing import EXAMPLES

    before, comma, last = incomplete.rpartition(",")
    return _items((f"{before}{comma}{name}", "") for name in EXAMPLES if name.startswith(last))


def experiments(context: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What can be measured: rules with a claim, or beliefs where these are asked for."""
    if context.params.get("beliefs"):
        from importlib import import_module

        (folder,) = import_module("tflint_perf.fixtures").__path__
        names = sorted(place.parent.name for place in Path(folder, "beliefs").glob("*/slow.py"))
        return _items((name, "") for name in names if name.startswith(incomplete))
    from tflint_perf.catalogue.rules import catalogue

    claimed = {word for code, rule in catalogue().items() if rule.claim for word in (code, rule.name)}
    return _items(pair for pair in _rules(incomplete) if pair[0] in claimed)


def keys(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Keys of the configuration."""
    from tflint_perf.config.keys import KEYS

    return _items((name, key.description) for name, key in KEYS.items() if name.startswith(incomplete))


def symptoms(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The names of the symptoms, which are one word each."""
    from tflint_perf.catalogue.symptoms import SYMPTOMS

    return _items((one.name, one.title) for one in SYMPTOMS if one.name.startswith(incomplete.casefold()))


def _rules(incomplete: str) -> Sequence[tuple[str, str]]:
    from tflint_perf.catalogue.rules import catalogue

    known = catalogue().items()
    codes = [(code, rule.name) for code, rule in known if code.startswith(incomplete.upper())]
    names = [(rule.name, code) for code, rule in known if incomplete and rule.name.startswith(incomplete)]
    return [*codes, *names]


def _items(found: Iterable[tuple[str, str]]) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(value, help=help or None) for value, help in found]
