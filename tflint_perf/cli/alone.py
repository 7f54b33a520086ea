"""A text by itself: linted by what stands in it and by the settings, for whoever has texts and no files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from tflint_perf.config.files import settings_at
from tflint_perf.config.settings import Settings
from tflint_perf.project.linting import FileResult, Neighbours, lint_beside
from tflint_perf.text.decoding import encoded

if TYPE_CHECKING:
    from tflint_perf.analysis.values.caller import Callers
    from tflint_perf.analysis.values.outside import Outside

_OF_FILES = ("baseline", "extend", "project-root")
_ROOT = Path("/")


class _Nobody(Neighbours):
    """No other files, and none that are looked for."""

    def __init__(self) -> None:
        super().__init__(_ROOT, None, _ROOT)

    def outside(self, path: str, callers: Callers | None) -> Outside:
        """Nothing."""
        from tflint_perf.analysis.values.outside import NOTHING

        return NOTHING

    def bring_framework(self, path: str, data: bytes) -> bool:
        """No."""
        return False


def check_source(text: str | bytes, path: str = "source.py", settings: Settings | None = None) -> FileResult:
    """The findings in the text of a Python file, or of a notebook where `path` ends in `.ipynb`.

    A pure function: the same text, path and settings give the same result, in every folder and on every machine that
    has the same rules. No file is read or written but those of the package itself, nothing of the text is imported or
    run, and nothing is raised for what stands in it: what could not be done is the result's `failure`. Who calls its
    functions in other files is not known, nor what it imports of them. For deeply nested code, the limit of Python's
    recursion is raised where it is low.

    Args:
        text: bytes are decoded as Python decodes a file.
        path: what the file is called in the result; patterns of the settings are matched with it, from their root.
        settings: those without a configuration, if there are none.
    """
    settings = _default() if settings is None else settings
    if settings.per_file_ignores:
        settings = settings_at(_from_root(path, settings.root), settings)
    settings = replace(settings, fix="no", per_file_ignores=(), named=frozenset())
    data = encoded(text, path) if isinstance(text, str) else text
    return lint_beside(data, path, settings, _Nobody())[0]


def settings_of(values: Mapping[str, Any]) -> Settings:
    """The settings that keys of the configuration come to, as they stand in `[tool.tflint-perf]`.

    Raises:
        ConfigError: a key, a value or a rule is not known, or a key is about files.
    """
    from tflint_perf.catalogue.rules import catalogue
    from tflint_perf.config.reading import Values, check
    from tflint_perf.config.resolve import configure
    from tflint_perf.problems import ConfigError

    where = "settings_of"
    check(values, {}, lambda row: where)
    for key in _OF_FILES:
        if key in values:
            raise ConfigError(f"`{key}` only has a meaning for files", where)
    return configure([Values(_ROOT, values, option=where)], _ROOT, catalogue()).settings


@cache
def _default() -> Settings:
    return settings_of({})


def _from_root(path: str, root: Path) -> str:
    """A path from the root of the settings, by its letters alone."""
    name, prefix = PurePath(path).as_posix(), f"{root.as_posix().rstrip('/')}/"
    return name.removeprefix(prefix).lstrip("/")
