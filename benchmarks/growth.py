"""What a line costs in code that is large or odd, against ordinary code: one table.

Each kind of code is made in several sizes (`generated`, `generated_findings`, `generated_projects`), linted by one process with all rules on,
and the time of the processor taken per line, that of libcst's parses left out: its own grows with nesting. The exit code
is 1 when a line costs more than 1.5 times what one of ordinary code does.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any, Literal, get_args

from generated import ONE_FILE, Project, ordinary, scripts
from generated_findings import FINDINGS
from generated_projects import MANY_FILES
from measure import all_rules_on
from table import Table, ratio, seconds
from timing import RSS_UNIT

from tflint_perf.config.keys import Format

if TYPE_CHECKING:
    from tflint_perf.config.settings import Settings
    from tflint_perf.project.linting import FileResult

MOST = 1.5
# Who takes longer than this for one size has been found out.
PATIENCE = 300.0
SIZES: dict[str, tuple[int, ...]] = {
    "one_file": (2_000, 20_000, 100_000),
    "class_tree": (200, 2_000),
    "class_chain": (200, 2_000),
    "long_function": (2_000, 20_000),
    "long_graph": (1_000, 10_000),
    "long_elif": (100, 400),
    "method_chain": (50, 200),
    "stages": (50, 500),
    "table": (1_000, 10_000),
    "imports": (1_000, 10_000),
    "nested": (1_200, 12_000),
    "findings": (1_000, 10_000),
    "findings_in_a_loop": (1_000, 10_000),
    "unsafe_findings": (500, 5_000),
    "suppressions": (1_000, 10_000),
    "small_files": (2_000, 20_000),
    "star_imports": (50, 200),
    "star_hub": (50, 200),
    "ring_of_files": (300, 3_000),
    "crowds_of_files": (10, 100),
    "hub_of_files": (300, 3_000),
    "derived_files": (300, 3_000),
    "same_names": (300, 3_000),
}
USUAL_SIZES = (500, 5_000)
KINDS: dict[str, Callable[[int], Project]] = {
    make.__name__: make for make in (*ONE_FILE, *FINDINGS, *MANY_FILES, ordinary)
}
FIXED = ("findings", "findings_in_a_loop", "unsafe_findings", "suppressions", "one_file")
FORMATS: tuple[Format, ...] = get_args(Format)


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of the processor for one project; `peak` in bytes."""

    lines: int
    parse: float
    lint: float
    findings: int
    peak: int
    failures: int

    @property
    def per_line(self) -> float:
        """Seconds a line, the parse left out."""
        return max(self.lint - self.parse, 0.0) / self.lines


# In a process of its own


def measure(kind: str, size: int, how: str) -> dict[str, Any]:
    """Make a project and lint it; `how` is "lint", "fix", "diff", "cold", "warm", or the format to show it in."""
    project = KINDS[kind](size)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        paths = []
        for name, text in project.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            paths.append(path)
        measured = linted(sorted(paths), folder, how)
    return measured | {
        "lines": sum(text.count("\n") for text in project.values()),
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * RSS_UNIT,
    }


def linted(paths: list[Path], folder: Path, how: str) -> dict[str, Any]:
    from tflint_perf.project.linting import lint_files
    from tflint_perf.records import make_nodes_quickly

    make_nodes_quickly()  # as the command does
    settings = replace(all_rules_on(), root=folder)
    if how in ("fix", "diff"):
        fixing: Literal["apply", "diff"] = "apply" if how == "fix" else "diff"
        settings = replace(settings, fix=fixing, unsafe_fixes=True, fixable=settings.rules)
    place = folder / ".cache" if how in ("cold", "warm") else None
    warm_up(folder)
    if how == "warm":
        lint_files(paths, settings, 1, place)
    with parses_timed() as parses:
        start = process_time()
        results = lint_files(paths, settings, 1, place)
        taken = process_time() - start
    for form in FORMATS:
        if form == how:
            taken = shown(results, settings, form)
            parses.clear()
    return {
        "lint": taken,
        "parse": sum(parses),
        "findings": sum(len(result.findings) + len(result.fixed) for result in results),
        "failures": sum(result.failure is not None or bool(result.problems) for result in results),
    }


def shown(results: list[FileResult], settings: Settings, form: Format) -> float:
    """How long it takes to write the findings down."""
    from tflint_perf.report import Outcome, render
    from tflint_perf.report.style import Style

    start = process_time()
    outcome = Outcome.of([(result, settings) for result in results], "no")
    for _ in render(form, outcome, Style()):
        pass
    return process_time() - start


def warm_up(folder: Path) -> None:
    """Lint all ordinary scripts, so that all is imported."""
    from tflint_perf.project.linting import lint_files

    paths = []
    for name, text in ordinary(len(scripts())).items():
        path = folder / "warm" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    lint_files(paths, replace(all_rules_on(), root=folder / "warm"), 1)
    for path in paths:
        path.unlink()
    (folder / "warm").rmdir()


@contextmanager
def parses_timed() -> Iterator[list[float]]:
    """The seconds that each of libcst's parses takes meanwhile: of the files that are looked at a second time."""
    import libcst

    parse, taken = libcst.parse_module, []

    def timed(*args: Any, **settings: Any) -> libcst.Module:
        start = process_time()
        try:
            return parse(*args, **settings)
        finally:
            taken.append(process_time() - start)

    libcst.parse_module = timed
    try:
        yield taken
    finally:
        libcst.parse_module = parse


# The table


def cost(kind: str, size: int, how: str) -> Cost | None:
    """What a project costs; None where it takes too long."""
    command = [sys.executable, __file__, "--measure", kind, str(size), how]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        raise SystemExit(f"{kind} {size} {how}: {done.stderr.strip()}")
    return Cost(**json.loads(done.stdout))


def show_kind(table: Table, kind: str, how: str, sizes: tuple[int, ...], usual: float) -> None:
    """One row a size: what a line costs, against ordinary code and against the smallest size."""
    smallest = 0.0
    for size in sizes:
        found = cost(kind, size, how)
        what = f"{kind.replace('_', ' ')}, {size:,}" + ("" if how == "lint" else f", {how}")
        if found is None:
            table.row(what, "MISSED", f"takes longer than {PATIENCE:.0f} s")
            table.missed.append(what)
            return
        smallest = smallest or found.per_line
        remark = (
            f"{found.lines:>8,} lines {found.findings:>7,} findings {found.per_line * 1e6:>8.0f} us/line "
            f"{ratio(found.per_line / smallest)} the smallest; parse {seconds(found.parse)}, "
            f"{found.peak / 1e6:.0f} MB" + (f"; {found.failures} FAILED" if found.failures else "")
        )
        if usual:
            table.limit(what, found.per_line / usual, MOST, ratio, remark)
        else:
            table.row(what, "", remark)


def show_written(table: Table, kind: str) -> None:
    """What it costs to write ten times as many findings down."""
    small, large = SIZES[kind][:2]
    for form in FORMATS:
        few, many = cost(kind, small, form), cost(kind, large, form)
        assert few is not None and many is not None
        growth = (many.lint / many.findings) / max(few.lint / few.findings, 1e-9)
        remark = f"{many.findings:,} findings {seconds(many.lint)}"
        table.limit(f"{form}", growth, MOST, ratio, remark)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", nargs=3, metavar=("KIND", "SIZE", "HOW"), help=argparse.SUPPRESS)
    parser.add_argument("--only", nargs="*", choices=sorted(KINDS), default=[], metavar="KIND")
    parser.add_argument("--most", type=int, default=10**9, metavar="N", help="leave larger sizes out")
    parser.add_argument("--how", default="lint", help="lint, fix, diff, cold, warm, or a format")
    options = parser.parse_args()
    if options.measure:
        kind, size, how = options.measure
        print(json.dumps(measure(kind, int(size), how)))
        return 0
    table = Table()
    table.title("Ordinary code: the fixtures' scripts")
    usual = cost("ordinary", 400, options.how)
    assert usual is not None
    table.row("a line of it, the parse left out", f"{usual.per_line * 1e6:.0f} us", f"{usual.lines:,} lines")
    table.title("A line of other code, against a line of ordinary code")
    for kind in options.only or [kind for kind in KINDS if kind != "ordinary"]:
        sizes = tuple(size for size in SIZES.get(kind, USUAL_SIZES) if size <= options.most)
        show_kind(table, kind, options.how, sizes, usual.per_line)
    if not options.only:
        table.title("Fixing: a line of such code, against a line of the smallest size")
        for kind in FIXED:
            show_kind(table, kind, "fix", SIZES[kind][:2], 0.0)
        table.title("Writing findings down, ten times as many: a finding, against one of the fewer")
        show_written(table, "findings")
    print(f"\n{len(table.missed)} limits missed" + "".join(f"\n  {what}" for what in table.missed))
    return 1 if table.missed else 0


if __name__ == "__main__":
    sys.exit(main())
