"""Linting again whenever something changes, until Ctrl+C: `tflint-perf check --watch`.

Each round is a run of its own, by the configuration as it is by then; what has not changed comes from the cache.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, NoReturn

import click

from tflint_perf.catalogue import plugins
from tflint_perf.cli.run import Request, check, folder_of_run, say
from tflint_perf.config.discover import Group
from tflint_perf.config.files import reason
from tflint_perf.config.reading import OWN_FILE, PYPROJECT
from tflint_perf.config.resolve import Configs
from tflint_perf.problems import ConfigError, exclude
from tflint_perf.project import cache
from tflint_perf.project.roots import is_root, project_root
from tflint_perf.records import dataclass
from tflint_perf.report.summary import counted

if TYPE_CHECKING:
    from watchfiles import Change

_OPTION = "--watch"
# What counts in a folder that is watched, beside Python files and notebooks.
_NAMES = frozenset({OWN_FILE, PYPROJECT, ".gitignore"})
_SUFFIXES = frozenset({".py", ".ipynb"})
_NOT_WATCHED = frozenset({".git", ".hg", "__pycache__", cache.NAME})
# How long changes are gathered at most, and how long it must be quiet; how often single files are looked at.
_MOST_GATHERED_MS = 1_000
_QUIET_MS = 50
_LOOK_MS = 150
# What tells one state of a file from another; None where there is none.
_State = tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class _Watched:
    """Folders with all that is in them, and single files that decide on what is found and may lie elsewhere.

    Of changes in the folders, those count of files with one of the `suffixes`, or of a name that decides.
    """

    folders: tuple[Path, ...]
    suffixes: frozenset[str]
    files: frozenset[Path]

    @classmethod
    def of(cls, request: Request, configs: Configs, groups: Iterable[Group] = ()) -> _Watched:
        """What to watch for a run; `groups` are those that it linted, as far as that is known."""
        settings = configs.of(folder_of_run(request, configs)).settings
        given = [Path(path).absolute() for path in request.paths or (".",)]
        root = project_root([path / "_" if path.is_dir() else path for path in given], settings)
        folders = {path for path in given if path.is_dir()}
        if settings.project_root is not None or is_root(root):
            folders.add(root)  # others of its files may call what is linted
        outermost = sorted(folder for folder in folders if folders.isdisjoint(folder.parents))
        named = {file for group in groups for file in (group.settings.baseline, group.settings.measured)}
        patterns = {pattern for group in groups for pattern in group.settings.include}
        above = {folder for path in given for folder in (path, *path.parents)}
        files = {folder / name for folder in above for name in (OWN_FILE, PYPROJECT)}
        files |= {*given, *configs.files, *(file for file in named if file is not None)}
        suffixes = _SUFFIXES.union(suffix for pattern in patterns if (suffix := PurePath(pattern).suffix))
        seen = [file for file in files if file.suffix in suffixes or file.name in _NAMES]
        files -= {file for file in seen if not file.is_dir() and folders.intersection(file.parents)}
        return cls(tuple(outermost), suffixes, frozenset(files))

    @property
    def places(self) -> tuple[Path, ...]:
        """The folders; where there are none, those around the files that are there, without what is below."""
        around = {file.parent for file in self.files if file.is_file()}
        return self.folders or tuple(sorted(around)) or (Path.cwd(),)

    def counts(self, change: Change, path: str) -> bool:
        """Whether a change in one of the folders may change what is found."""
        file = PurePath(path)
        if not _NOT_WATCHED.isdisjoint(file.parts):
            return False
        # What has no suffix may be a folder, whose files come or go with it.
        is_folder = not file.suffix and (Path(path).is_dir() or not os.path.lexists(path))
        return is_folder or file.suffix in self.suffixes or file.name in _NAMES

    def states(self) -> dict[Path, _State]:
        """The states of the single files now."""
        return {file: _state(file) for file in self.files}


def watch(request: Request, configs: Callable[[], Configs]) -> NoReturn:
    """Lint, and again on each change, until a KeyboardInterrupt; `configs` reads the configuration anew.

    Raises:
        ConfigError: it cannot be done as it was asked for. What is wrong after the first round is shown, and may be
            mended.
    """
    _refuse(request)
    changes_of = _watcher()
    with _cached(request) as request:
        _watch(request, configs, changes_of)
    # Code of rules is not loaded twice, so what has changed of it needs a process of its own.
    os.execv(sys.executable, sys.orig_argv)


def _watch(
    request: Request, configs: Callable[[], Configs], changes_of: Callable[[_Watched], Iterable[object]]
) -> None:
    """Lint on each change, until the tool or one of its rules is another."""
    version = cache.version()
    watched = _Watched.of(request, configs())
    states: Mapping[Path, _State] | None = None
    while True:
        # A watcher begins with a round, so that nothing is missed in between.
        for number, changes in enumerate(changes_of(watched)):
            now = watched.states()
            if number and not changes and now == states:
                continue
            if cache.version() != version:
                return
            after = _round(request, configs, None if states is None else watched)
            states = {file: now[file] if file in now else _state(file) for file in after.files}
            watched, before = after, watched
            if (after.places, after.suffixes) != (before.places, before.suffixes):
                break


def _round(request: Request, configs: Callable[[], Configs], watched: _Watched | None) -> _Watched:
    """Lint, and show what there is now; gives what to watch from here on, `watched` if that can't be known."""
    _clear()
    plugins.tell_again()
    what = ""
    try:
        read = configs()
        fixes = read.of(folder_of_run(request, read)).settings.fix == "apply"
        exclude(_OPTION, {_FIX: fixes})
        ran = check(request, read)
        count = len(ran.outcome.findings) + len(ran.outcome.fixed)
        total = sum(len(group.files) for group in ran.groups)
        what = f"{counted(count, 'finding')} in {counted(total, 'file')}; "
        watched = _Watched.of(request, read, ran.groups)
    except ConfigError as error:
        if watched is None:
            raise
        say(str(error))
    except OSError as error:  # a folder that went while it was looked through
        if watched is None:
            raise
        say(reason(error))
    if not request.quiet:
        say(f"{datetime.now():%H:%M:%S}: {what}watching for changes, Ctrl+C ends")
    return watched


_FIX = "--fix, which rewrites files that are being edited; use --diff to see what it would do, or --no-fix"


def _refuse(request: Request) -> None:
    exclude(
        _OPTION,
        {
            "standard input": request.from_stdin,
            "--add-noqa": request.add_noqa,
            "--write-baseline": request.write_baseline is not None,
            "--show-files": request.show_files,
            "--show-settings": request.show_settings,
            f"--engine {request.engine}": request.engine != "local",
        },
    )
    for path in request.paths:
        if not os.path.lexists(path):
            raise ConfigError(f"no such file or folder: {path}", _OPTION)


def _watcher() -> Callable[[_Watched], Iterable[object]]:
    """What gives sets of changes, one after the other, and an empty one where there was nothing for a while."""
    try:
        import watchfiles
    except ImportError:
        raise ConfigError("needs watchfiles; `pip install 'tflint-perf[watch]'` brings it", _OPTION) from None

    def changes_of(watched: _Watched) -> Iterable[object]:
        return watchfiles.watch(
            *watched.places,
            recursive=bool(watched.folders),
            watch_filter=watched.counts,
            debounce=_MOST_GATHERED_MS,
            step=_QUIET_MS,
            rust_timeout=_LOOK_MS,
            yield_on_timeout=True,
            ignore_permission_denied=True,
        )

    return changes_of


@contextmanager
def _cached(request: Request) -> Iterator[Request]:
    """The request with a cache: where none is to be kept, one that goes when the watch ends."""
    if not request.no_cache:
        yield request
        return
    with tempfile.TemporaryDirectory(prefix="tflint-perf-") as folder:
        yield replace(request, no_cache=False, cache_dir=folder)


def _clear() -> None:
    if os.environ.get("TERM") != "dumb":
        click.clear()  # which does nothing but on a terminal
    sys.stdout.flush()


def _state(file: Path) -> _State:
    try:
        status = file.stat()
    except (OSError, ValueError):
        return None
    if stat.S_ISDIR(status.st_mode):  # what is in it has its own changes
        return (status.st_ino,)
    return status.st_mtime_ns, status.st_size, status.st_ino
