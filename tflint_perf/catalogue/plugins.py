"""Packages of rules by others: those that are installed and name themselves in the entry point group `tflint_perf.rules`.

Nothing is loaded from the current folder because it is the current one. It may stand on `sys.path`, by `python -m` or
`PYTHONPATH`; it counts only where an editable install put it there. The installed packages are looked through by
hand, since `importlib.metadata` takes longer to import than all else that a clean file needs.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType

from tflint_perf.records import dataclass

GROUP = "tflint_perf.rules"
_METADATA = (".dist-info", ".egg-info")
_SECTION = re.compile(rf"^\[\s*{re.escape(GROUP)}\s*\]\s*$(.*?)(?=^\[|\Z)", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"^\s*([^\s#;=][^=]*?)\s*=\s*(.*?)\s*$", re.MULTILINE)
_PACKAGE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_troubles: dict[str, None] = {}
_told: set[str] = set()
# What a line about a rule that failed on a file says before it names the file.
ON_FILE = "; left out of "


@dataclass(frozen=True, slots=True)
class Plugin:
    """An installed package of rules: the name of its entry point, its dotted name, and its folder."""

    name: str
    package: str
    folder: Path

    @property
    def files(self) -> list[Path]:
        """The files that hold a rule each: those of the package itself whose name begins with no underscore."""
        return [file for file in sorted(self.folder.glob("*.py")) if not file.name.startswith("_")]

    @property
    def fixtures(self) -> Path:
        """The folder of its experiments and their evidence."""
        return self.folder / "fixtures"

    def load(self, file: Path) -> ModuleType:
        """The module of one of its files, run."""
        from importlib import import_module

        with _without_current_folder():
            return import_module(f"{self.package}.{file.stem}")

    def trouble(self, what: str) -> None:
        """Note what is wrong with it, to be told once."""
        _troubles[f"plugin `{self.name}`: {' '.join(what.split())}"] = None


def troubles() -> tuple[str, ...]:
    """What was wrong with plugins so far, a line each."""
    return tuple(_troubles)


def is_about_plugin(line: str) -> bool:
    """Whether a line is about a plugin's fault rather than about a file."""
    return line.startswith("plugin `")


def is_news(line: str) -> bool:
    """Whether a line about a plugin has not been told yet, of this file or another; now it has."""
    what = line.partition(ON_FILE)[0]
    news = what not in _told
    _told.add(what)
    return news


def tell_again() -> None:
    """Let what was told be news once more."""
    _told.clear()


@cache
def plugins() -> tuple[Plugin, ...]:
    """The packages of rules that are installed, by the names of their entry points."""
    found: dict[str, Plugin] = {}
    for site in _site_folders():
        for name, package in _entry_points(site):
            if name in found:
                continue
            folder = _folder(site, package)
            plugin = found[name] = Plugin(name, package, folder or Path())
            if folder is None:
                plugin.trouble(f"there is no package `{package}`; it has no rules")
    return tuple(found[name] for name in sorted(found) if found[name].folder != Path())


def _site_folders() -> list[str]:
    """The folders that packages are installed into."""
    import site

    folders = site.getsitepackages()
    if site.ENABLE_USER_SITE:
        folders.append(site.getusersitepackages())
    return [folder for folder in dict.fromkeys(folders) if folder in sys.path]


def _entry_points(site: str) -> Iterator[tuple[str, str]]:
    """The names and values of our group's entry points in a folder of installed packages."""
    try:
        names = [entry.name for entry in os.scandir(site) if entry.name.endswith(_METADATA)]
    except OSError:
        return
    for name in sorted(names):
        try:
            with open(f"{site}/{name}/entry_points.txt", "rb", buffering=0) as file:  # noqa: PTH123
                data = file.read()
        except OSError:
            continue
        if GROUP.encode() in data:
            for section in _SECTION.finditer(data.decode("utf-8", "replace")):
                yield from (entry.groups() for entry in _ENTRY.finditer(section[1]))  # type: ignore[misc]


def _folder(site: str, package: str) -> Path | None:
    """Where an installed package lies; none of its code is run to find out."""
    if _PACKAGE.fullmatch(package) is None:
        return None
    top, *below = package.split(".")
    places = [Path(site, top)]
    if not places[0].is_dir():  # an editable install
        from importlib.util import find_spec

        with _without_current_folder():
            spec = find_spec(top)
        places = [Path(place) for place in (spec.submodule_search_locations if spec else None) or ()]
    return next((folder for place in places if (folder := place.joinpath(*below)).is_dir()), None)


@contextmanager
def _without_current_folder() -> Iterator[None]:
    """Import as if the current folder were not on the path, unless an editable install put it there."""
    before = sys.path[:]
    here = os.path.realpath(".")
    kept = [place for place in before if place and os.path.realpath(place) != here]
    if len(kept) < len(before) and _is_installed(here):
        kept.append(here)
    sys.path[:] = kept
    try:
        yield
    finally:
        sys.path[:] = before


def _is_installed(folder: str) -> bool:
    """Whether an editable install has put a folder on the path."""
    for site in map(Path, _site_folders()):
        for file in site.glob("*.pth"):
            try:
                lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
            except OSError:
                continue
            if any(line.strip() and os.path.realpath(site / line.strip()) == folder for line in lines):
                return True
    return False
