"""Work grows with the length of the code and no faster, also in code that nobody writes by hand.

What is counted is calls of functions, which are the same on a busy machine. `benchmarks/growth.py` takes the time, of files
as large as they come.
"""

from __future__ import annotations

import cProfile
import gc
import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from tflint_perf.catalogue.rules import catalogue
from tflint_perf.cli.add_noqa import add_noqa
from tflint_perf.config.keys import Format
from tflint_perf.config.settings import Settings
from tflint_perf.project import cache as kept
from tflint_perf.project.linting import FileResult, lint_files
from tflint_perf.report import Outcome, render
from tflint_perf.report.style import Style

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
TIMES = 4
# What a line may cost in `TIMES` as much code, as against the smaller one.
MOST_CALLS = 1.25
# With so many functions that call each other, against as many that call one each.
MOST_FOR_MANY_WAYS = 4

Project = dict[str, str]
Make = Callable[[int], Project]

# The smaller size of each kind of code: some eighty lines, more where it takes more to see what grows.
LINTED = {
    "one_file": 250,
    "long_function": 80,
    "host_values": 40,
    "crowd": 24,
    "chain": 16,
    "ring": 6,
    "called_by_all": 6,
    "calls_all": 6,
    "methods": 20,
    "class_tree": 6,
    "one_name": 30,
    "nested": 48,
    "imports": 30,
    "findings": 12,
    "findings_in_a_loop": 20,
    "suppressions": 12,
    "ring_of_files": 5,
    "crowds_of_files": 1,
    "hub_of_files": 5,
}
FIXED = {"findings": 8, "suppressions": 8}
FORMATS: tuple[Format, ...] = ("full", "concise", "grouped", "json", "json-lines", "sarif", "github", "gitlab", "junit", "rdjson")  # fmt: skip


@pytest.fixture(scope="module")
def makers() -> Iterator[dict[str, Make]]:
    """What makes code that grows, by its name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCHMARKS)
        one_file, many_files = (
            import_module("generated").ONE_FILE,
            import_module("generated_projects").MANY_FILES,
        )
        findings = import_module("generated_findings").FINDINGS
        yield {make.__name__: make for make in (*one_file, *findings, *many_files)}


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """All rules on; and all work in one thread, where it can be counted."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tflint_perf.stack.on_deep_stack", lambda work: work())
    rules = frozenset(catalogue())
    return Settings(root=tmp_path, rules=rules, fixable=rules, include_tests=True)


def written(project: Project, folder: Path) -> list[Path]:
    """The files of a project in a new folder."""
    for name, text in project.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return sorted(folder / name for name in project)


def lines(project: Project) -> int:
    return sum(text.count("\n") for text in project.values())


def linted(paths: list[Path], settings: Settings, place: Path | None = None) -> list[FileResult]:
    results = lint_files(paths, settings, 1, place)
    for result in results:
        assert result.failure is None and not result.problems
    return results


def calls(work: Callable[[], object]) -> int:
    """How many functions a piece of work calls."""
    profile = cProfile.Profile(subcalls=False)  # who called whom is not asked
    gc.disable()
    try:
        profile.runcall(work)
    finally:
        gc.enable()
    return sum(entry.callcount for entry in profile.getstats())


def growth(make: Make, size: int, measure: Callable[[list[Path]], float], folder: Path) -> float:
    """What a line costs in the larger one of two projects, against the smaller one."""
    costs = []
    for name, times in (("smaller", 1), ("larger", TIMES)):
        project = make(size * times)
        costs.append(measure(written(project, folder / name)) / lines(project))
    return costs[1] / costs[0]


@pytest.mark.parametrize("kind", LINTED)
def test_linting_a_line_takes_no_more_where_there_are_more(
    kind: str, makers: dict[str, Make], settings: Settings, tmp_path: Path
) -> None:
    def measure(paths: list[Path]) -> float:
        return calls(lambda: linted(paths, settings))

    assert growth(makers[kind], LINTED[kind], measure, tmp_path) < MOST_CALLS


@pytest.mark.parametrize("kind", FIXED)
def test_fixing_a_line_takes_no_more_where_there_are_more(
    kind: str, makers: dict[str, Make], settings: Settings, tmp_path: Path
) -> None:
    fixing = replace(settings, fix="diff", unsafe_fixes=True)

    def measure(paths: list[Path]) -> float:
        return calls(lambda: linted(paths, fixing))

    assert growth(makers[kind], FIXED[kind], measure, tmp_path) < MOST_CALLS


@pytest.mark.parametrize("form", FORMATS)
def test_writing_a_finding_down_takes_no_more_where_there_are_more(
    form: Format, makers: dict[str, Make], settings: Settings, tmp_path: Path
) -> None:
    def measure(paths: list[Path]) -> float:
        results = linted(paths, settings)
        outcome = Outcome.of([(result, settings) for result in results], "no")
        return calls(lambda: list(render(form, outcome, Style())))

    assert growth(makers["findings"], 12, measure, tmp_path) < MOST_CALLS


def test_suppressing_a_finding_takes_no_more_where_there_are_more(
    makers: dict[str, Make], settings: Settings, tmp_path: Path
) -> None:
    def measure(paths: list[Path]) -> float:
        (result,) = linted(paths, settings)
        return calls(lambda: add_noqa(paths[0], result.findings))

    assert growth(makers["findings"], 12, measure, tmp_path) < MOST_CALLS


def test_many_ways_from_one_function_to_another_are_not_all_gone(
    makers: dict[str, Make], settings: Settings, tmp_path: Path
) -> None:
    costs = {}
    for kind in ("chain", "crowd"):
        project = makers[kind](10)
        paths = written(project, tmp_path / kind)
        costs[kind] = calls(lambda paths=paths: linted(paths, settings)) / lines(project)
    assert costs["crowd"] < MOST_FOR_MANY_WAYS * costs["chain"]


@pytest.mark.parametrize("kind", ["ring_of_files", "same_names"])
def test_a_file_that_is_known_takes_no_more_where_there_are_more(
    kind: str, makers: dict[str, Make], settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        kept, "_states", inspect.unwrap(kept._states)
    )  # each run of the tool looks at its own files

    def measure(paths: list[Path]) -> float:
        place = paths[0].parent / ".cache"
        linted(paths, settings, place)
        return calls(lambda: linted(paths, settings, place))

    assert growth(makers[kind], 10, measure, tmp_path) < MOST_CALLS
