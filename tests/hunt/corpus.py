"""Programs to mutate: the fixtures, the examples in the rules' docstrings, the programs in the rules' tests, and any
folder's."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

from tests.hunt.fixing import ALL
from tests.hunt.lines import compiles
from tflint_perf.catalogue.registry import all_rules
from tflint_perf.config.settings import Settings
from tflint_perf.lint.check import check_source
from tflint_perf.text.source import Source

ROOT = Path(__file__).parent.parent.parent
_IMPORTS = "import tensorflow as tf\n"
_LONGEST = 60_000


class Program(NamedTuple):
    """A program, and where it is from."""

    name: str
    text: str


def own_programs() -> list[Program]:
    """Those of this repository that are scripts of their own."""
    paths = [*sorted(ROOT.glob("fixtures/TFP*/*.py")), *sorted(ROOT.glob("docs/example/*.py"))]
    return [Program(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")) for path in paths] + [
        Program(f"the example of {code}", block)
        for code, rule in all_rules().items()
        for block in re.findall(r"```python\n(.*?)```", rule.explanation(), re.DOTALL)[:1]
        if compiles(block)
    ]


def tested_programs() -> list[Program]:
    """The small programs in the tests of the rules, below what their module puts above them."""
    found: dict[str, Program] = {}
    for path in sorted(ROOT.glob("tests/rules/test_tfp*.py")):
        module = import_module(f"tests.rules.{path.stem}")
        heads = {
            name: text
            for name, text in vars(module).items()
            if isinstance(text, str) and name.isupper() and "import tensorflow" in text
        }
        above = next(iter(heads.values()), _IMPORTS)
        for text in _strings(path.read_text(encoding="utf-8")):
            program = text if "import tensorflow" in text else above + text
            if text.count("\n") > 1 and program not in found and compiles(program):
                found[program] = Program(f"{path.stem}: {text.split(chr(10))[0].strip()}", program)
    return list(found.values())


def _strings(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" in node.value:
            yield dedent(node.value).lstrip("\n")


def programs_in(folder: Path) -> Iterator[Program]:
    """The scripts in a folder that this Python takes."""
    for path in sorted(folder.rglob("*.py")):
        try:
            text = path.read_bytes().decode()
        except (OSError, UnicodeDecodeError):
            continue
        if len(text) < _LONGEST and ("tensorflow" in text or "keras" in text) and compiles(text):
            yield Program(str(path), text)


def is_fixable(text: str) -> bool:
    """Whether something is found in a program that has a fix."""
    settings = Settings(root=Path(), rules=ALL, fixable=ALL)
    found = check_source(Source.from_bytes(text.encode(), "program.py"), settings).findings
    return any(finding.fix is not None for finding in found)
