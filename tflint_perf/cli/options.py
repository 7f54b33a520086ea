"""The options of `tflint-perf check`, and what they come to: keys of the configuration, and a `Request`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tflint_perf.cli import shell_completion as completion
from tflint_perf.config.keys import FORMATS

if TYPE_CHECKING:
    from tflint_perf.config.resolve import Configs

F = TypeVar("F", bound=Callable[..., Any])


def _split(_: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> list[str] | None:
    """Comma lists and repeats as one list; None when the option is not given."""
    items = [item.strip() for value in values for item in value.split(",")]
    if values and not any(items):
        raise click.BadParameter("is empty", param=parameter)
    return [item for item in items if item] if values else None


def comma_list(flag: str, metavar: str, help: str) -> Callable[[F], F]:
    """An option that takes comma lists and repeats."""
    complete = completion.rule_list if metavar == "RULES" else None
    return click.option(
        flag, multiple=True, callback=_split, metavar=metavar, help=help, shell_complete=complete
    )


def _switch(name: str, help: str) -> Callable[[F], F]:
    """A flag that can be taken back; None when neither form is given, so that the configuration decides."""
    return click.option(f"--{name}/--no-{name}", default=None, help=help)


def _fail_on(_: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """What makes a run fail, as it was given."""
    from tflint_perf.config.failing import EXAMPLES, is_fail_on

    if value is not None and not is_fail_on(value):
        named = ", ".join(f"'{name}'" for name in EXAMPLES)
        raise click.BadParameter(f"{value!r} is none of {named} or several of them.", param=parameter)
    return value


_RULE_LISTS: tuple[Callable[[Any], Any], ...] = (
    comma_list(
        "--select",
        "RULES",
        "Use only these rules: codes, code prefixes, names or ALL; commas or repeats.",
    ),
    comma_list("--ignore", "RULES", "Leave out these rules."),
    comma_list("--extend-select", "RULES", "Use these rules, too."),
)

_PATHS = click.argument("paths", nargs=-1, type=click.Path(path_type=str, readable=False))

# The options under the headings of `--help`; each makes one parameter.
_GROUPS: dict[str, tuple[Callable[[Any], Any], ...]] = {
    "Rules": (
        *_RULE_LISTS,
        comma_list(
            "--per-file-ignores", "PATTERN:RULE", "Leave the rule out in the files that match the pattern."
        ),
    ),
    "Fixes": (
        _switch("fix", "Apply safe fixes."),
        _switch("unsafe-fixes", "Apply unsafe fixes, too; without --fix, show them as fixable."),
        _switch(
            "bold-fixes",
            "Also show in --diff the fixes that only a run can judge, and the unsafe ones; `prove` tries them.",
        ),
        comma_list("--fixable", "RULES", "Apply only the fixes of these rules."),
        comma_list("--unfixable", "RULES", "Apply no fixes of these rules."),
        click.option(
            "--diff", is_flag=True, help="Print what --fix would change as a diff, and write nothing."
        ),
        _switch("fix-only", "Apply fixes, and don't report what remains."),
        _switch("show-fixes", "List the fixes that were applied."),
    ),
    "Files": (
        comma_list("--exclude", "PATTERNS", "Leave out these files and folders instead of the default ones."),
        comma_list("--extend-exclude", "PATTERNS", "Leave out these files and folders, too."),
        _switch("force-exclude", "Leave out excluded files even when they are named."),
        _switch("respect-gitignore", "Leave out what git ignores.  [default: yes]"),
        _switch("include-tests", "Lint test files too."),
        click.option(
            "--stdin-filename", metavar="PATH", help="The file name for code from standard input (path `-`)."
        ),
        click.option("--show-files", is_flag=True, help="List the files that would be linted."),
    ),
    "Existing findings": (
        click.option(
            "--baseline",
            metavar="FILE",
            help="Show and fix only findings that are not in this file, which --write-baseline wrote.",
        ),
        click.option(
            "--write-baseline",
            type=click.Path(path_type=Path, dir_okay=False),
            help="Write all current findings to this file, for --baseline.",
        ),
        click.option(
            "--diff-base",
            metavar="REV",
            help="Show and fix only findings on lines changed since this git revision; `main...` is where the branch "
            "left main.",
        ),
        click.option(
            "--add-noqa", is_flag=True, help="Suppress all current findings with `# noqa` comments."
        ),
        click.option("--ignore-noqa", is_flag=True, help="Show suppressed findings, too."),
    ),
    "Output": (
        click.option(
            "--output-format",
            type=click.Choice(FORMATS),
            envvar="TFLINT_PERF_OUTPUT_FORMAT",
            show_envvar=True,
            help="The format of the report.  [default: full]",
        ),
        click.option(
            "-o",
            "--output-file",
            type=click.Path(path_type=Path, dir_okay=False),
            help="Write the report to this file.",
        ),
        click.option(
            "--sort",
            type=click.Choice(("place", "cost")),
            default="place",
            help="Order findings by place, in text those about a program last, or the most costly first.  [default: place]",
        ),
        click.option(
            "--max-findings",
            type=click.IntRange(min=1),
            metavar="N",
            help="Show at most this many findings; all count for the exit code.",
        ),
        click.option("--statistics", is_flag=True, help="Count findings by rule instead of showing them."),
        click.option(
            "--measured",
            metavar="FILE",
            help="Show what findings cost in the program run that `tflint-perf run -o FILE` recorded.",
        ),
        click.option(
            "--why",
            metavar="CODE:FILE:ROW",
            help="Show the evidence for the rule's finding at this row, or why there is none.",
        ),
        click.option("-q", "--quiet", is_flag=True, help="Print only findings and failures."),
        click.option(
            "-v",
            "--verbose",
            is_flag=True,
            help="Show which configuration is used and how long the run took; with --why, more questions.",
        ),
    ),
    "Exit code": (
        click.option(
            "--fail-on",
            metavar="SEVERITY|COST",
            callback=_fail_on,
            shell_complete=completion.fail_on,
            help="What makes the exit code 1: findings from this severity on (error, warning, info), or from this cost on, "
            "such as `2x`, twice the time of a step or a sample. A comma list takes either.  [default: info]",
        ),
        click.option("-e", "--exit-zero", is_flag=True, help="Exit with 0 even when there are findings."),
        click.option("--exit-non-zero-on-fix", is_flag=True, help="Exit with 1 if anything was fixed."),
    ),
    "Configuration": (
        click.option(
            "--config",
            "configs",
            multiple=True,
            metavar="FILE|KEY=VALUE",
            help="Use this configuration file instead of the nearest one, or set one key.",
        ),
        click.option("--isolated", is_flag=True, help="Use no configuration file."),
        click.option(
            "--show-settings", is_flag=True, help="Show the settings that files would be linted with."
        ),
        click.option(
            "--project-root",
            metavar="DIR",
            help="Whose files count as callers of what is linted.  [default: the project's folder]",
        ),
    ),
    "Engine": (
        click.option(
            "-j",
            "--jobs",
            type=click.IntRange(min=1),
            help="How many processes to use.  [default: one for each core]",
        ),
        click.option(
            "--engine",
            type=click.Choice(["local", "dask"]),
            default="local",
            help="Lint in local processes, or on a Dask cluster.  [default: local]",
        ),
        click.option(
            "--scheduler",
            metavar="ADDRESS",
            help="The Dask cluster to lint on.  [default: one is started here]",
        ),
        click.option("-w", "--watch", is_flag=True, help="Lint again whenever a file changes, until Ctrl+C."),
        click.option(
            "--cache-dir",
            metavar="DIR",
            help="Where to cache results.  [env var: TFLINT_PERF_CACHE_DIR; default: .tflint-perf-cache beside "
            "the configuration file, or here]",
        ),
        click.option("-n", "--no-cache", is_flag=True, help="Neither read nor write the cache."),
    ),
}


class CheckCommand(click.Command):
    """A command with the options of `check`, which its help shows under headings."""

    def groups(self, context: click.Context) -> Iterator[tuple[str, Sequence[click.Parameter]]]:
        """The headings with their options; behind all others what every command has."""
        left = [parameter for parameter in self.get_params(context) if isinstance(parameter, click.Option)]
        for title, options in _GROUPS.items():
            yield title, left[: len(options)]
            left = left[len(options) :]
        yield "Help", left

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, options in self.groups(ctx):
            with formatter.section(title):
                formatter.write_dl([record for one in options if (record := one.get_help_record(ctx))])


def check_options(command: F) -> F:
    """Give the command all options of `check`."""
    return _with([_PATHS, *(option for options in _GROUPS.values() for option in options)], command)


def rule_lists(command: F) -> F:
    """Give the command the options of `check` that say which rules count."""
    return _with(_RULE_LISTS, command)


def _with(options: Sequence[Callable[[Any], Any]], command: F) -> F:
    for option in reversed(options):
        command = option(command)
    return command


def keys_given(options: dict[str, Any]) -> dict[str, Any]:
    """The keys of the configuration that the options set."""
    values: dict[str, Any] = {}
    for key in (
        "fix",
        "unsafe-fixes",
        "bold-fixes",
        "show-fixes",
        "fix-only",
        "force-exclude",
        "respect-gitignore",
    ):
        values[key] = options[key.replace("-", "_")]
    if options["diff"] and options["bold_fixes"] and options["unsafe_fixes"] is None:
        values["unsafe-fixes"] = True  # as for `prove`
    values["include-tests"] = options["include_tests"]
    values["project-root"] = options["project_root"]
    values["output-format"] = options["output_format"]
    values["fail-on"] = options["fail_on"]
    values["baseline"] = options["baseline"]
    values["measured"] = options["measured"]
    for key in ("select", "ignore", "extend-select", "fixable", "unfixable", "exclude", "extend-exclude"):
        values[key] = options[key.replace("-", "_")]
    values["per-file-ignores"] = _by_pattern(options["per_file_ignores"] or [])
    return {key: value for key, value in values.items() if value not in (None, {})}


def configs_of(given: Sequence[str], isolated: bool, keys: dict[str, Any]) -> Configs:
    """Where the settings come from: `given` is what --config gives, `keys` what other options set."""
    from tflint_perf.config.reading import Values, is_file, parse_inline
    from tflint_perf.config.resolve import Configs

    folder = Path.cwd()
    files = [text for text in given if is_file(Path(text))]
    inline = [parse_inline(text, folder) for text in given if text not in files]
    if len(files) > 1:
        raise click.UsageError(f"--config: more than one file: {', '.join(files)}")
    if files and isolated:
        raise click.UsageError("--config with a file and --isolated can't be combined")
    file = (folder / files[0]).resolve() if files else None
    return Configs(folder, [*inline, Values(folder, keys)], file, isolated)


def _by_pattern(pairs: Sequence[str]) -> dict[str, list[str]]:
    ignores: dict[str, list[str]] = {}
    for pair in pairs:
        pattern, colon, rule = pair.rpartition(":")
        if not (colon and pattern.strip() and rule.strip()):
            raise click.UsageError(f"--per-file-ignores: not of the form PATTERN:RULE: {pair}")
        ignores.setdefault(pattern.strip(), []).append(rule.strip())
    return ignores


_BY_ENDING = {".json": "json", ".md": "markdown", ".sarif": "sarif"}


def format_of(file: Path | None, *known: str) -> str:
    """The format of a file by its extension, one that is known; text for others, and where there is no file."""
    named = _BY_ENDING.get(file.suffix, "") if file is not None else ""
    return named if named in known else "text"


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
