"""The commands and the arguments, apart from what linting finds."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import click
import pytest

from tests.commandline import CommandLine
from tflint_perf.catalogue.rules import catalogue
from tflint_perf.commands import COMMANDS, check, expand, with_command
from tflint_perf.config.keys import KEYS


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], ["check"]),
        (["src/"], ["check", "src/"]),
        (["--fix", "src/"], ["check", "--fix", "src/"]),
        (["check", "--fix"], ["check", "--fix"]),
        (["-q", "check", "src/"], ["check", "-q", "src/"]),
        (["--isolated", "src/"], ["check", "--isolated", "src/"]),
        (["rule", "TFP001"], ["rule", "TFP001"]),
        (["--version"], ["--version"]),
        (["--help"], ["--help"]),
        (["./config"], ["check", "./config"]),
    ],
)
def test_check_runs_where_no_command_is_named(arguments: list[str], expected: list[str]) -> None:
    assert with_command(arguments) == expected


def test_an_argument_file_holds_an_argument_a_line(tmp_path: Path) -> None:
    file = tmp_path / "arguments"
    file.write_text("--select\nTFP001\n\na file.py\n")
    assert expand(["-q", f"@{file}", "b.py"]) == ["-q", "--select", "TFP001", "a file.py", "b.py"]


def test_an_argument_after_two_dashes_is_no_argument_file() -> None:
    assert expand(["--", "@x"]) == ["--", "@x"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--fxi"], "No such option"),
        (["--select"], "Option '--select' requires an argument"),
        (["--select", ","], "Invalid value for '--select': is empty"),
        (["--output-format", "jsn"], "'jsn' is not one of 'full', 'concise', "),
        (["--jobs", "0"], "Invalid value for '-j' / '--jobs': 0 is not in the range"),
        (["--per-file-ignores", "a.py"], "--per-file-ignores: not of the form PATTERN:RULE: a.py"),
        (["--select", "TFP00x"], "--select: unknown rule `TFP00x` (did you mean `TFP00"),
        (
            ["--ignore", "unused-supression"],
            "unknown rule `unused-supression` (did you mean `unused-suppression`?)",
        ),
        (["--config", "slect = []"], "--config: unknown key `slect` (did you mean `select`?)"),
        (["--config", "select = ['TFP00x']"], "--config: unknown rule `TFP00x`"),
        (["--config", "x" * 300], "--config: neither a file nor `key = value`"),
        (["--config", "no.toml"], "--config: no such file: no.toml"),
        (["@no-such-file"], "@no-such-file: no such file or folder"),
        (["-", "a.py"], "`-` is standard input"),
        (["--stdin-filename", "a.py", "b.py"], "--stdin-filename needs the path `-`"),
        (["chekc", "."], "no such command or path: chekc (did you mean `check`?)"),
        (["lint", "."], "no such command or path: lint (did you mean `check`?)"),
        (["help"], "no such command or path: help (did you mean `--help`?)"),
        (["--select", "TFP001", "TFP002"], "`TFP002` is a rule, not a path: join several with commas"),
        (["rule", "TFP0"], "`TFP0` matches several rules: TFP001, TFP002; name one of them"),
        (["rule", "TFP9"], "unknown rule `TFP9` (did you mean "),
        (["--select", "TFP0", "rule"], "the command `rule` must come first: tflint-perf rule ..."),
        (
            ["rule", "unused-supression"],
            "unknown rule `unused-supression` (did you mean `unused-suppression`?)",
        ),
        (["rule"], "give the code or the name of a rule, or --all"),
        (["rule", "TFP001", "--all"], "give the code or the name of a rule, or --all"),
        (["rule", "XYZ999"], "unknown rule `XYZ999`\n"),
        (["rule", "predict"], "unknown rule `predict`; these are about it: TFP105 keras-call-in-loop"),
        (["config", "slect"], "unknown key `slect` (did you mean `select`?)"),
        (["-o", "no/such/folder.txt"], "--output-file: no/such/folder.txt: no such file or folder"),
        (["--statistics", "--output-format", "sarif"], "--statistics: not available in the format sarif"),
    ],
)
def test_a_mistake_in_the_arguments_is_one_line_and_exit_code_2(
    tflint_perf: CommandLine, arguments: list[str], message: str
) -> None:
    ran = tflint_perf(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("tflint-perf: ")
    assert ran.err.count("\n") == 1
    assert message in ran.err


def test_several_rules_are_explained_one_after_the_other(tflint_perf: CommandLine) -> None:
    one, other = (tflint_perf("rule", code).out for code in ("TFP406", "TFP001"))
    assert tflint_perf("rule", "gc-in-loop", "TFP001").out == f"{one}\n{other}"
    listed = json.loads(tflint_perf("rule", "TFP406", "TFP001", "--output-format=json").out)
    assert [rule["code"] for rule in listed] == ["TFP406", "TFP001"]


@pytest.mark.parametrize(("asked", "guess"), [("nope.py", ""), ("trian.py", " (did you mean `train.py`?)")])
def test_a_missing_file_is_taken_only_for_one_of_a_like_name(
    tflint_perf: CommandLine, asked: str, guess: str
) -> None:
    for name in ("train.py", "py2.py"):
        tflint_perf.write(name, "")
    assert tflint_perf(asked).err == f"tflint-perf: {asked}: no such file or folder{guess}\n"


def test_a_mistake_in_the_configuration_is_one_line_and_exit_code_2(tflint_perf: CommandLine) -> None:
    tflint_perf.write("pyproject.toml", "[tool.tflint-perf]\nselct = []\n")
    ran = tflint_perf()
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "tflint-perf: pyproject.toml:2: unknown key `selct` (did you mean `select`?)\n"


def test_a_mistake_does_not_empty_the_output_file(tflint_perf: CommandLine) -> None:
    kept = tflint_perf.write("report.txt", "of yesterday")
    assert tflint_perf("-o", "report.txt", "--select", "nope").code == 2
    assert kept.read_text() == "of yesterday"


def test_version_is_that_of_the_package(tflint_perf: CommandLine) -> None:
    assert tflint_perf("--version").out == f"tflint-perf {version('tflint-perf')}\n"


def test_help_lists_every_command(tflint_perf: CommandLine) -> None:
    ran = tflint_perf("--help")
    assert ran.code == 0
    assert all(f"\n  {command}" in ran.out for command in COMMANDS)
    assert "..." not in ran.out.split("Commands:")[1], "a command's line is cut off"


def test_help_of_check_shows_every_key_that_is_an_option(tflint_perf: CommandLine) -> None:
    only_in_files = {
        "docs-url",
        "extend",
        "extend-safe-fixes",
        "extend-unsafe-fixes",
        "include",
        "required-version",
        "severity",
    }
    help = tflint_perf("check", "--help").out
    assert {name for name in KEYS if not re.search(rf"--{name}(?![\w-])", help)} == only_in_files


def test_help_of_check_shows_every_option_once_under_a_heading(tflint_perf: CommandLine) -> None:
    help = tflint_perf("check", "--help").out
    sections = dict(re.findall(r"(?ms)^([A-Z][a-z ]+):\n(.*?)(?=^\S|\Z)", help))
    assert list(sections)[:3] == ["Rules", "Fixes", "Files"]
    assert list(sections)[-1] == "Help"
    where = {"Rules": "--select", "Fixes": "--diff", "Files": "--exclude", "Output": "--output-format"}
    where |= {"Exit code": "--exit-zero", "Configuration": "--isolated", "Engine": "--jobs"}
    for heading, option in where.items():
        assert re.search(rf"(?m)^  (-\w, )?{option}\b", sections[heading]), heading
    context = click.Context(check)
    known = [one.opts[-1] for one in check.get_params(context) if isinstance(one, click.Option)]
    shown = re.findall(r"(?m)^  (?:-\w, )?(--[\w-]+)", help)
    assert sorted(shown) == sorted(known)


def test_help_says_where_the_options_of_check_are(tflint_perf: CommandLine) -> None:
    assert "Its options are in `tflint-perf check --help`." in " ".join(tflint_perf("--help").out.split())


def test_rule_shows_the_page_by_code_and_by_name(tflint_perf: CommandLine) -> None:
    by_code, by_name = tflint_perf("rule", "TFP001"), tflint_perf("rule", "unused-suppression")
    assert by_code == by_name
    assert by_code.out.startswith("unused-suppression (TFP001)\n===")
    assert "\nWhy is this bad?\n----------------\n" in by_code.out
    assert "```" not in by_code.out
    assert "A safe fix. On by default.\n" in by_code.out


def test_a_code_may_be_in_small_letters(tflint_perf: CommandLine) -> None:
    assert tflint_perf("rule", "tfp001") == tflint_perf("rule", "TFP001")


def test_rule_shows_markdown_as_it_is_written(tflint_perf: CommandLine) -> None:
    out = tflint_perf("rule", "TFP001", "--output-format", "markdown").out
    assert out.startswith("# unused-suppression (TFP001)\n")
    assert catalogue()["TFP001"].explanation.strip() in out


def test_rule_all_as_json_describes_every_rule(tflint_perf: CommandLine) -> None:
    rules = json.loads(tflint_perf("rule", "--all", "--output-format", "json").out)
    assert [rule["code"] for rule in rules] == list(catalogue())
    fields = [
        "code",
        "name",
        "url",
        "summary",
        "explanation",
        "fix",
        "bold",
        "default",
        "status",
        "judged",
        "claim",
        "evidence",
    ]
    assert all(list(rule) == fields for rule in rules)
    assert json.loads(tflint_perf("rule", "TFP001", "--output-format", "json").out) == rules[0]


def test_rule_all_shows_every_page(tflint_perf: CommandLine) -> None:
    out = tflint_perf("rule", "--all").out
    assert all(f"{rule.name} ({code})\n" in out for code, rule in catalogue().items())


def test_config_lists_every_key_with_type_default_and_example(tflint_perf: CommandLine) -> None:
    listed = json.loads(tflint_perf("config", "--output-format", "json").out)
    assert list(listed) == list(KEYS)
    assert listed["fix"] == {
        "description": "Apply fixes.",
        "type": "bool",
        "default": "false",
        "example": "fix = true",
    }
    assert tflint_perf("config", "fix").out.splitlines() == [
        "fix",
        "  Apply fixes.",
        "  Type: bool",
        "  Default: false",
        "  Example: fix = true",
    ]


def test_clean_removes_the_cache_and_says_so(tflint_perf: CommandLine) -> None:
    cache = tflint_perf.write(".tflint-perf-cache/x", "").parent
    ran = tflint_perf("clean")
    assert (ran.code, ran.out) == (0, f"Removed the cache at {cache}\n")
    assert not cache.exists()
    assert tflint_perf("clean").out == f"No cache at {cache}\n"


def test_clean_removes_no_folder_that_is_not_a_cache(
    tflint_perf: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tflint_perf.write("src/train.py", "")
    monkeypatch.setenv("TFLINT_PERF_CACHE_DIR", "src")
    ran = tflint_perf("clean")
    assert ran.code == 2
    assert ran.err.startswith(f"tflint-perf: {kept.parent}: not removed")
    assert kept.exists()


def test_the_module_is_the_command() -> None:
    run = [sys.executable, "-m", "tflint_perf", "--version"]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout.startswith("tflint-perf ")


def test_an_interrupt_is_quiet_and_exits_with_130(
    tflint_perf: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(folder: Path, named: str | None) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("tflint_perf.cli.clean.remove_cache", interrupt)
    ran = tflint_perf("clean")
    assert (ran.code, ran.out, ran.err.strip()) == (130, "", "")


def test_our_own_failure_is_one_line_and_exit_code_2(
    tflint_perf: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(folder: Path, named: str | None) -> str:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("tflint_perf.cli.clean.remove_cache", fail)
    ran = tflint_perf("clean")
    assert (ran.code, ran.out) == (2, "")
    assert re.fullmatch(
        r"tflint-perf: internal error: ZeroDivisionError: division by zero \(commands\.py:\d+\); please report\n",
        ran.err,
    )


def test_more_of_our_own_failure_is_offered_where_the_command_can_show_it(
    tflint_perf: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(request: object, configs: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("tflint_perf.cli.run.check", fail)
    assert tflint_perf("check", ".").err.endswith("; please report (--verbose shows more)\n")
    with pytest.raises(ZeroDivisionError):
        tflint_perf("check", "--verbose", ".")


def test_a_closed_pipe_leaves_no_traceback() -> None:
    program = [sys.executable, "-m", "tflint_perf", "rule", "--all", "--output-format", "json"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""


def test_no_line_of_a_rule_s_prose_is_wider_than_a_terminal(tflint_perf: CommandLine) -> None:
    out = tflint_perf("rule", "--all").out
    wide = [
        line
        for line in out.splitlines()
        if len(line) > 120 and not line.startswith(("|", "    ")) and "](http" not in line
    ]
    assert wide == []
    said = " ".join(rule.explanation for rule in catalogue().values() if rule.plugin is None)
    words = [word for word in said.split() if not word.startswith(("#", "```"))]
    assert set(words) <= set(out.split())
