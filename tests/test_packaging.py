"""What the project promises about how it is put together."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from tflint_perf.catalogue.declared import rule_files
from tflint_perf.catalogue.registry import all_rules

pytestmark = pytest.mark.slow

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
ENGINE = sorted((ROOT / "tflint_perf").rglob("*.py"))
RULES = rule_files(ROOT / "rules")
BESIDE_RULES = sorted({*(ROOT / "rules").rglob("*.py")} - {*RULES})
PAIRS = sorted((ROOT / "fixtures").glob("*/*.py"))
TESTS_OF_RULES = sorted((ROOT / "tests" / "rules").glob("test_*.py"))
SEEN = ROOT / "tflint_perf" / "observed" / "evidence.toml"

# TensorFlow and libcst take longer to import than a small file takes to lint.
QUICK = [
    "commands",
    "config.reading",
    "config.files",
    "text.source",
    "lint.suppress",
    "project.linting",
    "report",
]
# What the engine itself reports, TFP000 to flake8 alone; every other code belongs to a file in `rules/`.
ENGINE_CODES = {"TFP000", "TFP001", "TFP002"}
RULES_MAY_IMPORT = (
    "tflint_perf.rule",
    "tflint_perf.analysis",
    "tflint_perf.edit",
    "tflint_perf.finding",
    "tflint_perf.records",
    "libcst",
)
SECTIONS = ["What it does", "Why is this bad?", "Example", "What is left alone", "Sources"]


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def imported(path: Path) -> Iterator[str]:
    """Every module that a file imports, and `module.name` for each name imported from one."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                if level:
                    # Rules stand elsewhere than what they are named by: those of one family know one another.
                    assert path.is_relative_to(ROOT / "rules") and level == 1, f"{path}: relative import"
                    continue
                yield from (f"{module}.{alias.name}" for alias in names)


def is_within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def loaded_after(program: str, *arguments: str) -> set[str]:
    """The top-level modules that a fresh interpreter has loaded once it ran `program`."""
    ending = "\nfinally:\n    print('\\n' + ' '.join({name.partition('.')[0] for name in sys.modules}))"
    body = "".join(f"    {line}\n" for line in program.splitlines())
    run = subprocess.run(
        [sys.executable, "-c", f"import sys\ntry:\n{body}{ending}", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode in (0, 1), run.stderr
    assert "Traceback" not in run.stderr, run.stderr
    return set(run.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("module", QUICK)
def test_starting_up_imports_neither_libcst_nor_tensorflow(module: str) -> None:
    loaded = loaded_after(f"import tflint_perf.{module}")
    assert "tflint_perf" in loaded
    assert not loaded & {"libcst", "tensorflow", "keras", "numpy"}


def test_linting_never_imports_tensorflow() -> None:
    slow = sorted((ROOT / "fixtures").glob("*/slow.py"))[0]
    program = (
        "import runpy\nsys.argv[0] = 'tflint-perf'\nrunpy.run_module('tflint_perf', run_name='__main__')"
    )
    loaded = loaded_after(program, "check", "--isolated", "--select=ALL", "--no-cache", str(slow))
    assert "libcst" in loaded, "the file was not parsed, so this test proves nothing"
    assert not loaded & {"tensorflow", "keras", "numpy"}


@pytest.mark.parametrize("requirement", project()["project"]["dependencies"])
def test_no_dependency_has_an_upper_pin(requirement: str) -> None:
    operators = {specifier.operator for specifier in Requirement(requirement).specifier}
    assert operators <= {">=", ">", "!="}, requirement


def test_tensorflow_is_needed_by_no_one_who_only_lints() -> None:
    names = {Requirement(requirement).name for requirement in project()["project"]["dependencies"]}
    assert names == {"click", "libcst", "pathspec", "tomli"}


def test_every_package_of_the_engine_is_listed_for_the_wheel() -> None:
    folders = {path.parent.relative_to(ROOT).as_posix().replace("/", ".") for path in ENGINE}
    families = {
        f"tflint_perf.{path.parent.relative_to(ROOT).as_posix().replace('/', '.')}" for path in BESIDE_RULES
    }
    listed = set(project()["tool"]["setuptools"]["packages"])
    assert listed == folders | families | {"tflint_perf.fixtures"}


def test_there_are_rules() -> None:
    assert RULES, "the tables below are empty without rules"
    assert {rule.__module__ for rule in all_rules().values()} == {
        f"tflint_perf.rules.{path.parent.name}.{path.stem}" for path in RULES
    }


@pytest.mark.parametrize("path", ENGINE, ids=name_of)
def test_the_engine_names_no_rule(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert set(re.findall(r"TFP\d{3}", text)) <= ENGINE_CODES
    assert [rule.name for rule in all_rules().values() if rule.name in text] == []
    assert [module for module in imported(path) if module.startswith("tflint_perf.rules.")] == []


@pytest.mark.parametrize("path", [*RULES, *BESIDE_RULES], ids=name_of)
def test_a_rule_imports_only_what_it_may_use(path: Path) -> None:
    for module in imported(path):
        standard = module.partition(".")[0] in sys.stdlib_module_names
        assert standard or any(is_within(module, package) for package in RULES_MAY_IMPORT), module


@pytest.mark.parametrize("path", sorted((ROOT / "tflint_perf" / "analysis").rglob("*.py")), ids=name_of)
def test_the_analysis_knows_nothing_of_what_is_built_on_it(path: Path) -> None:
    allowed = ("tflint_perf.analysis", "tflint_perf.finding", "tflint_perf.records", "libcst")
    for module in imported(path):
        standard = module.partition(".")[0] in sys.stdlib_module_names
        assert standard or any(is_within(module, package) for package in allowed), module


def test_reports_know_findings_and_not_trees() -> None:
    for path in (ROOT / "tflint_perf" / "report").glob("*.py"):
        for module in imported(path):
            assert not any(is_within(module, package) for package in ("libcst", "tflint_perf.analysis")), path


@pytest.mark.parametrize("code", all_rules())
def test_a_rule_is_documented_by_its_docstring(code: str) -> None:
    rule = all_rules()[code]
    text = rule.explanation()
    assert rule.summary().strip(), "no summary"
    assert re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE) == SECTIONS
    example = text.split("Example", 1)[1].split("What is left alone", 1)[0]
    slow, separator, fast = example.partition("Use instead:")
    assert separator, "no 'Use instead:'"
    for name, part in (("slow", slow), ("fast", fast)):
        blocks = re.findall(r"```python\n(.*?)```", part, re.DOTALL)
        assert len(blocks) == 1, f"{name} has {len(blocks)} Python blocks"
        compile(blocks[0], name, "exec", flags=ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


@pytest.mark.parametrize("path", [*RULES, *PAIRS, *TESTS_OF_RULES, SEEN], ids=name_of)
def test_nothing_is_left_to_do_in_a_rule(path: Path) -> None:
    assert "TODO" not in path.read_text(encoding="utf-8")
