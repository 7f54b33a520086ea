"""The commands of `tflint-perf`. What one needs is imported when it runs, so that `--version` and `--help` are quick."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from tflint_perf.cli import shell_completion as complete
from tflint_perf.cli.options import CheckCommand, check_options, configs_of, cores, keys_given
from tflint_perf.problems import LIKE_A_RULE, ConfigError, nearest

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from tflint_perf.catalogue.rules import RuleInfo

COMMANDS = (
    "check",
    "run",
    "prove",
    "rule",
    "rules",
    "verify",
    "server",
    "init",
    "config",
    "completion",
    "clean",
)
_BEFORE_COMMAND = frozenset({"-q", "--quiet", "-v", "--verbose", "--isolated"})
# What a command is called elsewhere.
_OTHERWISE = {
    "explain": "rule",
    "fix": "check --fix",
    "help": "--help",
    "lint": "check",
    "list": "rules",
    "symptom": "rules --symptom",
    "symptoms": "rules --symptom",
    "version": "--version",
}
_INTERRUPTED = 130
# Of the rules that have a word in their summary.
_MOST_NAMED = 6
_FAILURE = 2


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    sys.exit(run(list(sys.argv[1:] if arguments is None else arguments)))


def run(arguments: list[str]) -> int:
    """Run the command line and return the exit code; everything that goes wrong is one line."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a path or a source line may hold what the terminal cannot show
            stream.reconfigure(errors="backslashreplace")
    try:
        # What stands behind these is of another program, which may mean something else by `@`.
        given = arguments if with_command(arguments)[0] in ("run", "prove") else expand(arguments)
        code = tflint_perf.main(with_command(given), "tflint-perf", standalone_mode=False)
        sys.stdout.flush()
        code = _tell_of_plugins() or code
    except (ConfigError, click.ClickException) as error:
        _tell_of_plugins()  # one of them may be why a rule is unknown
        text = error.format_message() if isinstance(error, click.ClickException) else str(error)
        return _fail(" ".join(text.split()))
    except (KeyboardInterrupt, click.Abort):
        return _INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the flush at exit fails again
        return 1
    except Exception as error:
        command = with_command(arguments)[0]
        takes_verbose = _takes_verbose(command)
        if takes_verbose and {"-v", "--verbose"} & set(arguments):
            raise
        more = " (--verbose shows more)" if takes_verbose else ""
        return _fail(
            f"internal error: {type(error).__name__}: {error} ({_where(error)}); please report{more}"
        )
    return int(code or 0)


def _takes_verbose(command: str) -> bool:
    found = tflint_perf.get_command(click.Context(tflint_perf), command)
    return found is not None and any("--verbose" in option.opts for option in found.params)


def _where(error: Exception) -> str:
    """The row of this package that it was raised in, or that called what raised it: `verify/statistics.py:43`."""
    import traceback

    own = Path(__file__).parent
    rows = [
        (Path(frame.filename), frame.lineno)
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_relative_to(own)
    ]
    path, row = rows[-1]
    return f"{path.relative_to(own).as_posix()}:{row}"


def _tell_of_plugins() -> int:
    """Say what was wrong with plugins, unless that has been said; 2 if there was anything."""
    plugins = sys.modules.get("tflint_perf.catalogue.plugins")
    lines = list(filter(plugins.is_news, plugins.troubles())) if plugins is not None else []
    for line in lines:
        _fail(line)
    return _FAILURE if lines else 0


def expand(arguments: Iterable[str]) -> list[str]:
    """Put the lines of `@argfile` in its place, one argument a line."""
    expanded: list[str] = []
    for argument in arguments:
        if not argument.startswith("@") or "--" in expanded:
            expanded.append(argument)
            continue
        try:
            lines = Path(argument[1:]).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            from tflint_perf.config.files import reason

            raise ConfigError(
                reason(error) if isinstance(error, OSError) else "not UTF-8", argument
            ) from None
        expanded += [line.strip() for line in lines if line.strip()]
    return expanded


def with_command(arguments: list[str]) -> list[str]:
    """The arguments beginning with a command; where none is named, it is `check`."""
    flags = 0
    while flags < len(arguments) and arguments[flags] in _BEFORE_COMMAND:
        flags += 1
    if flags < len(arguments) and arguments[flags] in COMMANDS:
        return [arguments[flags], *arguments[:flags], *arguments[flags + 1 :]]
    if arguments[:1] in (["--version"], ["-V"], ["--help"], ["-h"]):
        return arguments
    return ["check", *arguments]


def _fail(message: str) -> int:
    print(f"tflint-perf: {message}", file=sys.stderr)
    return _FAILURE


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from tflint_perf.version import __version__

        click.echo(f"tflint-perf {__version__}")
        context.exit()


class _Commands(click.Group):
    """The commands of this file, and those that have one of their own and are imported when they run."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # A shell that completes has the arguments as they were typed, where `check` need not be named.
        given = with_command(args) if ctx.resilient_parsing and args else args
        return super().parse_args(ctx, given)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands, and what may stand in their place: the options and the paths of `check`."""
        from click.shell_completion import CompletionItem

        found = super().shell_complete(ctx, incomplete)
        if incomplete.startswith("-"):
            known = {item.value for item in found}
            with check.make_context("check", [], parent=ctx, resilient_parsing=True) as of_check:
                options = check.shell_complete(of_check, incomplete)
            return [*found, *(item for item in options if item.value not in known)]
        # First, for click's script of bash begins anew where it meets it, and takes files where nothing else fits.
        return [CompletionItem(incomplete, type="file"), *found]

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name == "run":
            from tflint_perf.observed.command import run

            return run
        if cmd_name == "verify":
            from tflint_perf.verify.command import verify

            return verify
        if cmd_name == "prove":
            from tflint_perf.prove.command import prove

            return prove
        if cmd_name == "server":
            from tflint_perf.server.command import server

            return server
        if cmd_name == "init":
            from tflint_perf.init.command import init

            return init
        return super().get_command(ctx, cmd_name)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Without a command, `check` runs: `tflint-perf --fix src/`. Its options are in `tflint-perf check --help`.",
)
@click.option(
    "-V",
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Show the version.",
)
def tflint_perf() -> None:
    """Find, explain and fix what makes TensorFlow training scripts slow."""


@tflint_perf.command(cls=CheckCommand, short_help="Lint files and folders; runs when no command is given.")
@check_options
def check(**options: Any) -> int:
    """Lint files and folders, the current folder if none is named; `-` is standard input."""
    _refuse_lost_command(options["paths"])
    if "-" in options["paths"] and len(options["paths"]) > 1:
        raise click.UsageError("`-` is standard input and cannot be linted together with other paths")
    if options["stdin_filename"] is not None and options["paths"] not in ((), ("-",)):
        raise click.UsageError("--stdin-filename needs the path `-`")
    if options["scheduler"] is not None and options["engine"] != "dask":
        raise click.UsageError("--scheduler needs --engine dask")
    from tflint_perf.cli.run import Request
    from tflint_perf.cli.run import check as check_now

    request = Request(
        **{name: options[name] for name in Request.__dataclass_fields__ if name != "jobs"},
        jobs=options["jobs"] or cores(),
    )
    if options["why"] is not None:
        from tflint_perf.cli.why import why

        return why(options["why"], request, _configs(options))
    if options["watch"]:
        from tflint_perf.cli.watch import watch

        return watch(request, lambda: _configs(options))
    return check_now(request, _configs(options)).code


def _refuse_lost_command(paths: Sequence[str]) -> None:
    """Tell a command in the wrong place or wrongly typed from a path that is missing."""
    for place, path in enumerate(paths):
        if os.path.lexists(path):
            continue
        if path in COMMANDS:
            raise click.UsageError(f"the command `{path}` must come first: tflint-perf {path} ...")
        if place == 0 and path in _OTHERWISE:
            raise click.UsageError(f"no such command or path: {path} (did you mean `{_OTHERWISE[path]}`?)")
        if _is_rule(path):
            raise click.UsageError(
                f"`{path}` is a rule, not a path: join several with commas, as in --select A,B"
            )
        if place == 0 and (guess := nearest(path, COMMANDS, cutoff=0.75)):
            raise click.UsageError(f"no such command or path: {path}{guess}")


def _is_rule(word: str) -> bool:
    from tflint_perf.catalogue.rules import catalogue

    return any(word in (rule.code, rule.name) for rule in catalogue().values())


def _configs(options: dict[str, Any]) -> Any:
    """Where the settings come from, by --config, --isolated and the options themselves."""
    return configs_of(options["configs"], options["isolated"], keys_given(options))


@tflint_perf.command(short_help="Explain rules, with their measured cost.")
@click.argument("wanted", metavar="[CODE|NAME]...", nargs=-1, shell_complete=complete.rules)
@click.option("--all", "everything", is_flag=True, help="All rules.")
@click.option("--output-format", type=click.Choice(["text", "json", "markdown"]), default="text")
def rule(
    wanted: tuple[str, ...], everything: bool, output_format: Literal["text", "json", "markdown"]
) -> None:
    """Explain rules: what each reports, why, what it leaves alone and what the finding costs."""
    import json

    from tflint_perf.catalogue.evidence import all_evidence
    from tflint_perf.catalogue.rules import catalogue
    from tflint_perf.cli import pages
    from tflint_perf.report.style import style_for

    if everything == bool(wanted):
        raise click.UsageError("give the code or the name of a rule, or --all")
    known, evidence, style = catalogue(), all_evidence(), style_for(sys.stdout)
    chosen = list(known.values()) if everything else [_rule_called(word, known) for word in wanted]
    if output_format == "json":
        objects = [pages.rule_object(rule, evidence) for rule in chosen]
        print(json.dumps(objects[0] if len(wanted) == 1 else objects, indent=2))
        return
    for number, rule in enumerate(chosen):
        lines = (
            pages.rule_markdown(rule, evidence)
            if output_format == "markdown"
            else pages.rule_text(rule, evidence, style)
        )
        print("\n" * min(number, 1) + "\n".join(lines))


def _rule_called(word: str, known: Mapping[str, RuleInfo]) -> RuleInfo:
    """The rule with a code or a name."""
    code = word.upper()
    found = next((rule for rule in known.values() if code == rule.code or word == rule.name), None)
    if found is not None:
        return found
    if several := [one for one in known if code and one.startswith(code)]:
        raise click.UsageError(f"`{word}` matches several rules: {', '.join(several)}; name one of them")
    guess = nearest(word, [*known, *(rule.name for rule in known.values())], LIKE_A_RULE)
    about = (
        [] if guess else [rule for rule in known.values() if word and word in f"{rule.name} {rule.summary}"]
    )
    if about:
        guess = (
            f"; these are about it: {', '.join(f'{rule.code} {rule.name}' for rule in about[:_MOST_NAMED])}"
        )
        guess += ", …" if len(about) > _MOST_NAMED else ""
    raise click.UsageError(f"unknown rule `{word}`{guess}")


@tflint_perf.command(short_help="List all rules, or those behind a symptom.")
@click.option(
    "--symptom",
    "words",
    metavar="WORDS",
    shell_complete=complete.symptoms,
    help="What you see, in your own words or those of an error: `out of memory`, `gpu utilization low`.",
)
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text")
def rules(words: str | None, output_format: Literal["text", "json"]) -> None:
    """List the rules: code, name, fix, whether it is on by default, and its measured cost.

    With --symptom, only those that may be the cause: steps get slower, memory grows, out of memory, an idle GPU, a slow
    first step, a retracing warning, a slow start.
    """
    import json

    from tflint_perf.catalogue.evidence import all_evidence
    from tflint_perf.catalogue.rules import catalogue
    from tflint_perf.catalogue.symptoms import SYMPTOMS, codes_of, elsewhere_like, symptoms_like
    from tflint_perf.cli import rules_list
    from tflint_perf.report.style import style_for

    known, evidence, style = catalogue(), all_evidence(), style_for(sys.stdout)
    symptoms = () if words is None else symptoms_like(words)
    elsewhere = [] if words is None or symptoms else elsewhere_like(words)
    if words is not None and not (symptoms or elsewhere):
        raise click.UsageError(
            f"--symptom: no symptom matches `{words}`; there are {', '.join(one.name for one in SYMPTOMS)}"
        )
    if output_format == "json":
        codes = known if words is None else {code for one in symptoms for code in codes_of(one, known)}
        print(
            json.dumps(
                [rules_list.rule_row(known[code], known, evidence) for code in sorted(codes)], indent=2
            )
        )
        return
    for one in elsewhere:
        print("\n".join(rules_list.elsewhere_text(one)))
    if words is None:
        print("\n".join(rules_list.rules_text(known, evidence, style)))
    for number, symptom in enumerate(symptoms):
        lines = rules_list.symptom_text(symptom, known, evidence, style)
        print("\n" * min(number, 1) + "\n".join(lines))


@tflint_perf.command(short_help="List the settings, with their defaults and types.")
@click.argument("key", required=False, shell_complete=complete.keys)
@click.option("--output-format", type=click.Choice(["text", "json", "json-schema"]), default="text")
def config(key: str | None, output_format: Literal["text", "json", "json-schema"]) -> None:
    """List all configuration keys, or one of them, with default and type.

    The format json-schema is for editors: it is the schema of the whole configuration.
    """
    import json

    from tflint_perf.cli import pages
    from tflint_perf.config.keys import KEYS
    from tflint_perf.report.style import style_for

    if key is not None and key not in KEYS:
        raise click.UsageError(f"unknown key `{key}`{nearest(key, KEYS)}")
    if output_format == "json-schema":
        if key is not None:
            raise click.UsageError("a JSON schema covers all keys: leave out KEY")
        from tflint_perf.catalogue.rules import catalogue
        from tflint_perf.config.schema import config_schema

        print(json.dumps(config_schema(catalogue()), indent=2))
        return
    chosen = KEYS if key is None else {key: KEYS[key]}
    if output_format == "json":
        objects = {name: pages.key_object(known) for name, known in chosen.items()}
        print(json.dumps(objects if key is None else objects[key], indent=2))
    else:
        print("\n".join(pages.keys_text(chosen, style_for(sys.stdout))))


@tflint_perf.command()
@click.option("--cache-dir", metavar="DIR", help="Where the cache is.")
def clean(cache_dir: str | None) -> None:
    """Remove the cache."""
    from tflint_perf.cli.clean import remove_cache

    print(remove_cache(Path.cwd(), cache_dir))


@tflint_perf.command(short_help="Print a script that makes a shell complete commands, options and rules.")
@click.argument("shell", type=click.Choice(complete.SHELLS), required=False)
def completion(shell: str | None) -> None:
    """Print a script that makes Tab complete commands, for a shell or by default for the one in the variable SHELL.

    bash and zsh: put `eval "$(tflint-perf completion bash)"` into ~/.bashrc, or the same with zsh into ~/.zshrc. fish:
    put the output into ~/.config/fish/completions/tflint-perf.fish.
    """
    known = shell or Path(os.environ.get("SHELL", "")).name
    if known not in complete.SHELLS:
        raise click.UsageError(f"name a shell: {', '.join(complete.SHELLS)}")
    print(complete.script(tflint_perf, "tflint-perf", known))
