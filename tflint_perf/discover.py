"""Which files a run lints, each with the settings of the configuration that is nearest to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from tflint_perf.files import find_files
from tflint_perf.resolve import Config, Configs
from tflint_perf.settings import Settings

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
        failures += here.failures
        for own, files in _split(((file.parent, file) for file in here.files), configs):
            if (
                own.path != config.path
            ):  # a folder below has its own configuration, and with it its own excludes
                settings = replace(own.settings, force_exclude=True)
                files = list(find_files([str(file) for file in files], settings).files)
            found.setdefault(own.path, (own, {}))[1].update(dict.fromkeys(files))
    groups = [
        Group(_for_run(config.settings, of_run), config.path, tuple(sorted(files)))
        for config, files in found.values()
    ]
    return groups, failures


def _split(items: Iterable[tuple[Path, T]], configs: Configs) -> list[tuple[Config, list[T]]]:
    """Group what stands at paths by the configuration that is nearest to the path."""
    of_path: dict[Path, Config] = {}
    groups: dict[Path | None, tuple[Config, list[T]]] = {}
    for path, item in items:
        if path not in of_path:
            whole = (configs.folder / path).resolve()
            of_path[path] = configs.of(whole if whole.is_dir() else whole.parent)
        config = of_path[path]
        groups.setdefault(config.path, (config, []))[1].append(item)
    return list(groups.values())


def _for_run(settings: Settings, of_run: Config) -> Settings:
    run = of_run.settings
    return replace(settings, fix=run.fix, unsafe_fixes=run.unsafe_fixes, ignore_noqa=run.ignore_noqa)
