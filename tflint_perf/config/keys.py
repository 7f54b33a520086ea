"""Every key of the configuration: one table that checks what people write and that `tflint-perf config` shows."""

from __future__ import annotations

from types import MappingProxyType
from typing import Literal

from tflint_perf.records import dataclass

FORMATS = (
    "full",
    "concise",
    "grouped",
    "json",
    "json-lines",
    "sarif",
    "github",
    "gitlab",
    "junit",
    "rdjson",
)
Format = Literal[
    "full", "concise", "grouped", "json", "json-lines", "sarif", "github", "gitlab", "junit", "rdjson"
]
# From the most severe to the least.
SEVERITIES = ("error", "warning", "info")
Severity = Literal["error", "warning", "info"]

KeyType = Literal[
    "bool",
    "str",
    "list[str]",
    "list[rule]",
    "dict[str, list[rule]]",
    "dict[rule, severity]",
    "fail on",
    "format",
]

DEFAULT_EXCLUDE = (
    ".bzr",
    ".direnv",
    ".eggs",
    ".git",
    ".hg",
    ".ipynb_checkpoints",
    ".mypy_cache",
    ".nox",
    ".pytest_cache",
    ".ruff_cache",
    ".svn",
    ".tflint-perf-cache",
    ".tox",
    ".venv",
    ".vscode",
    "__pycache__",
    "__pypackages__",
    "_build",
    "build",
    "dist",
    "node_modules",
    "site-packages",
    "venv",
)
DEFAULT_INCLUDE = ("*.py", "*.ipynb")


@dataclass(frozen=True, slots=True)
class Key:
    """One key: its type, the default as TOML (None: not set), what it does, and an example as TOML."""

    name: str
    type: KeyType
    default: str | None
    description: str
    example: str

    def type_name(self) -> str:
        """The type as shown to people: the formats and the severities by name."""
        match self.type:
            case "format":
                return _either(FORMATS)
            case "fail on":
                return f'{_either(SEVERITIES)} | "<number>x", or several with commas'
            case "dict[rule, severity]":
                return f"dict[rule, {_either(SEVERITIES)}]"
            case _:
                return self.type

    def in_words(self) -> str:
        """What a value has to be, for those who gave another."""
        match self.type:
            case "bool":
                return "true or false"
            case "str":
                return "a text in quotes"
            case "list[str]":
                return "a list of texts"
            case "list[rule]":
                return "a list of rules"
            case "dict[str, list[rule]]":
                return "a table of patterns, with a list of rules for each"
            case "dict[rule, severity]":
                return f"a table of rules, with one of {', '.join(SEVERITIES)} for each"
            case "format":
                return f"one of {', '.join(FORMATS)}"
            case "fail on":
                return f'{_either(SEVERITIES)} | "<number>x", or several with commas'


def _either(names: tuple[str, ...]) -> str:
    return " | ".join(f'"{name}"' for name in names)


def _toml_list(values: tuple[str, ...]) -> str:
    return "[" + ", ".join(f'"{value}"' for value in values) + "]"


_KEYS = (
    Key(
        "select",
        "list[rule]",
        None,
        "The rules to use instead of the default set: codes, code prefixes, names, or ALL. The longest match "
        "decides.",
        'select = ["TFP1", "unused-suppression"]',
    ),
    Key("extend-select", "list[rule]", "[]", "More rules to use.", 'extend-select = ["TFP5"]'),
    Key(
        "ignore",
        "list[rule]",
        "[]",
        "Rules to leave out; wins over an equally long match in `select`.",
        'ignore = ["TFP5"]',
    ),
    Key(
        "per-file-ignores",
        "dict[str, list[rule]]",
        "{}",
        "Rules to leave out in the files that match a pattern.",
        'per-file-ignores = { "examples/*.py" = ["TFP5"] }',
    ),
    Key(
        "severity",
        "dict[rule, severity]",
        "{}",
        "The severity of a rule's findings, in every report and for `fail-on`, whatever they cost. Without one, findings about "
        "a whole program are `info`, and all others warnings. The longest match decides.",
        'severity = { "TFP4" = "error", "unused-suppression" = "info" }',
    ),
    Key(
        "fail-on",
        "fail on",
        '"info"',
        "What makes the exit code 1; other findings are only shown: the lowest severity, or with `2x` the lowest cost, how many "
        "times as long a step or a sample takes. With several, any is enough. By default every finding does, `info` too.",
        'fail-on = "error, 2x"',
    ),
    Key(
        "baseline",
        "str",
        None,
        "A file written by --write-baseline: the findings in it are neither shown nor fixed.",
        'baseline = "tflint-perf-baseline.json"',
    ),
    Key(
        "measured",
        "str",
        None,
        "A file written by `tflint-perf run -o run.json`: findings show what they cost in that run of the program.",
        'measured = "run.json"',
    ),
    Key(
        "docs-url",
        "str",
        None,
        "The address of a site as `make docs` builds it, to whose page of the rule reports and editors lead; by default the "
        "one that the installed package names as its documentation, if it names one.",
        'docs-url = "https://docs.example.org/tflint-perf/"',
    ),
    Key("fixable", "list[rule]", '["ALL"]', "Rules whose fixes may be applied.", 'fixable = ["TFP4"]'),
    Key(
        "unfixable",
        "list[rule]",
        "[]",
        "Rules whose fixes are neither applied nor shown.",
        'unfixable = ["TFP5"]',
    ),
    Key(
        "extend-safe-fixes",
        "list[rule]",
        "[]",
        "Rules whose unsafe fixes count as safe.",
        'extend-safe-fixes = ["TFP5"]',
    ),
    Key(
        "extend-unsafe-fixes",
        "list[rule]",
        "[]",
        "Rules whose safe fixes count as unsafe; wins over `extend-safe-fixes`.",
        'extend-unsafe-fixes = ["TFP001"]',
    ),
    Key("fix", "bool", "false", "Apply fixes.", "fix = true"),
    Key(
        "fix-only",
        "bool",
        "false",
        "Apply fixes, and don't report what remains; implies `fix`.",
        "fix-only = true",
    ),
    Key(
        "unsafe-fixes",
        "bool",
        "false",
        "Also apply, or show as fixable, the fixes that may change what the program computes.",
        "unsafe-fixes = true",
    ),
    Key(
        "bold-fixes",
        "bool",
        "false",
        "Also look for bold fixes, which `--diff` shows and `prove` tries; `--fix` never applies them.",
        "bold-fixes = true",
    ),
    Key("show-fixes", "bool", "false", "List the fixes that were applied.", "show-fixes = true"),
    Key(
        "output-format",
        "format",
        '"full"',
        "The format of the report; the environment variable TFLINT_PERF_OUTPUT_FORMAT overrides it.",
        'output-format = "concise"',
    ),
    Key(
        "exclude",
        "list[str]",
        _toml_list(DEFAULT_EXCLUDE),
        "Files and folders to leave out, instead of the default ones: patterns as in a `.gitignore`, relative "
        "to the file that they stand in.",
        'exclude = ["third_party/"]',
    ),
    Key(
        "extend-exclude",
        "list[str]",
        "[]",
        "More files and folders to leave out.",
        'extend-exclude = ["generated/"]',
    ),
    Key(
        "include",
        "list[str]",
        _toml_list(DEFAULT_INCLUDE),
        "Files to lint when a folder is given: patterns as in a `.gitignore`.",
        'include = ["*.py"]',
    ),
    Key(
        "include-tests",
        "bool",
        "false",
        "Lint test files too (`test_*.py`, `*_test.py`, `conftest.py`, folders named `tests`).",
        "include-tests = true",
    ),
    Key(
        "force-exclude",
        "bool",
        "false",
        "Leave out excluded files even when they are named on the command line.",
        "force-exclude = true",
    ),
    Key("respect-gitignore", "bool", "true", "Leave out what git ignores.", "respect-gitignore = false"),
    Key(
        "project-root",
        "str",
        None,
        "The folder whose Python files count as callers of what is linted; by default the nearest one with a "
        "`pyproject.toml`, `setup.py`, `setup.cfg`, `.git` or `.hg`, else the one that holds what is linted, whole packages.",
        'project-root = "../.."',
    ),
    Key(
        "extend",
        "str",
        None,
        "Another configuration file to start from; settings here override settings there.",
        'extend = "../tflint-perf.toml"',
    ),
    Key(
        "required-version",
        "str",
        None,
        "The versions of tflint-perf that may use this configuration.",
        'required-version = ">=0.1,<1"',
    ),
)

KEYS = MappingProxyType({key.name: key for key in _KEYS})
