"""Which files a run lints, each with the settings of the configuration that is nearest to it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from tflint_perf.config.files import find_files
from tflint_perf.config.reading import is_file, is_folder
from tflint_perf.config.resolve import Config, Configs
from tflint_perf.config.settings import Settings
from tflint_perf.problems import LIKE_A_FILE, nearest
from tflint_perf.records import dataclass

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Group:
    """Files that share a configuration; `config` is its file."""

    settings: Settings
    config: Path | None
    files: tuple[Path, ...] = ()


def discover(arguments: Sequence[str], configs: Configs, of_run: Config) -> tuple[list[Group], list[str]]:
    """Find the files under the arguments and group them; the second is what could not be found or read.

    How to fix and what to suppress is a matter of the whole run (`of_run`); the rest may differ by folder.
    """
    found: dict[Path | None, tuple[Config, dict[Path, None]]] = {}
    failures: list[str] = []
    for config, arguments_here in _split(((Path(path), path) for path in arguments), configs):
        here = find_files(arguments_here, config.settings)
        failures += [failure + _hint(failure, arguments_here) for failure in here.failures]
        for own, files in _split(((file.parent, file) for file in here.files), configs):
            if (
                own.path != config.path
            ):  # a folder below has its own configuration, and with it its own excludes
                # (which of the tests count was settled on the way here)
                settings = replace(own.settings, force_exclude=True, include_tests=True)
                files = list(find_files([str(file) for file in files], settings).files)
            found.setdefault(own.path, (own, {}))[1].update(dict.fromkeys(files))
    named = frozenset(str(Path(argument)) for argument in arguments if is_file(Path(argument)))
    groups = [
        Group(replace(_for_run(config.settings, of_run), named=named), config.path, tuple(sorted(files)))
        for config, files in found.values()
    ]
    return groups, failures


def excluded_stdin(path: str, settings: Settings) -> bool:
    """Whether code from standard input belongs to a file that is to be left out also when it is named."""
    return settings.force_exclude and is_file(Path(path)) and not find_files([path], settings).files


def _hint(failure: str, arguments: Iterable[str]) -> str:
    """The nearest name beside a path that is missing."""
    for path in map(Path, arguments):
        if failure.startswith(f"{path}: ") and not os.path.lexists(path):
            with suppress(OSError):
                return nearest(path.name, [entry.name for entry in path.parent.iterdir()], LIKE_A_FILE)
    return ""


def _split(items: Iterable[tuple[Path, T]], configs: Configs) -> list[tuple[Config, list[T]]]:
    """Group what stands at paths by the configuration that is nearest to the path."""
    of_path: dict[Path, Config] = {}
    groups: dict[Path | None, tuple[Config, list[T]]] = {}
    for path, item in items:
        if path not in of_path:
            whole = (configs.folder / path).resolve()
            of_path[path] = configs.of(whole if is_folder(whole) else whole.parent)
        config = of_path[path]
        groups.setdefault(config.path, (config, []))[1].append(item)
    return list(groups.values())


def _for_run(settings: Settings, of_run: Config) -> Settings:
    run = of_run.settings
    return replace(
        settings,
        fix=run.fix,
        unsafe_fixes=run.unsafe_fixes,
        bold_fixes=run.bold_fixes,
        ignore_noqa=run.ignore_noqa,
        diff_base=run.diff_base,
    )
