"""The settings of a run, resolved: what `config.py` and the command line come down to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tflint_perf.records import dataclass

if TYPE_CHECKING:
    from tflint_perf.config.keys import Severity


@dataclass(frozen=True, slots=True)
class Settings:
    """What to lint, with which rules, and what to do with what is found.

    Sets of rules hold full codes. Patterns are those of `.gitignore`, relative to `root`.
    """

    root: Path
    rules: frozenset[str]
    per_file_ignores: tuple[tuple[str, frozenset[str]], ...] = ()
    fixable: frozenset[str] = frozenset()
    safe_by_request: frozenset[str] = frozenset()
    unsafe_by_request: frozenset[str] = frozenset()
    # By code; the findings of other rules are warnings.
    severities: tuple[tuple[str, Severity], ...] = ()
    fix: Literal["no", "apply", "diff"] = "no"
    unsafe_fixes: bool = False
    bold_fixes: bool = False
    ignore_noqa: bool = False
    exclude: tuple[str, ...] = ()
    include: tuple[str, ...] = ("*.py", "*.ipynb")
    include_tests: bool = False
    force_exclude: bool = False
    respect_gitignore: bool = True
    # Where the files lie that may call the linted ones; None is the nearest folder that looks like a project's.
    project_root: Path | None = None
    # The file of findings that don't count, and the commit since which a row has to be changed to count.
    baseline: Path | None = None
    diff_base: str | None = None
    # The record of a run of the user's program, which says what findings cost there.
    measured: Path | None = None
    # The address of the site with the rules' pages.
    docs_url: str | None = None
    # Files that were named themselves, not found in a folder: they have to be Python whatever they hold.
    named: frozenset[str] = frozenset()
