"""Finding the files to lint, and writing one without ever losing it."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from dataclasses import field, replace
from functools import lru_cache
from pathlib import Path

from tflint_perf.config.ignoring import Ignored, Patterns, ignored_around
from tflint_perf.config.settings import Settings
from tflint_perf.errors import ChangedError
from tflint_perf.records import dataclass
from tflint_perf.text.leftovers import END, sweep, written_beside

__all__ = ["ChangedError", "Found", "find_files", "reason", "replace_file", "settings_at", "settings_for"]

_TEST_FOLDER = "tests"


@dataclass(frozen=True, slots=True)
class Found:
    """The files to lint, sorted and each once; and a line for each path that can't be."""

    files: tuple[Path, ...]
    failures: tuple[str, ...]


def find_files(arguments: Sequence[str], settings: Settings) -> Found:
    """The files under the arguments, which are files and folders.

    A file that is named is taken even if it is excluded, unless `force_exclude` is set; in folders, what
    patterns, git or the names of tests leave out is skipped. Links to folders are not followed.
    """
    search = _Search(settings)
    for argument in arguments:
        search.add(argument)
    for target, path in search.links:  # a link counts only where what it leads to was not found itself
        search.found.setdefault(target, path)
    ordered = sorted(set(search.found.values()), key=lambda path: path.replace(os.sep, "/").split("/"))
    return Found(tuple(map(Path, ordered)), tuple(search.failures))


def reason(error: OSError) -> str:
    """Why it failed, in a few words for the end of a line."""
    match error.errno:
        case errno.ENOENT:
            return "no such file or folder"
        case errno.ELOOP:
            return "symbolic links that form a loop"
        case _:
            return (error.strerror or str(error) or type(error).__name__).lower()


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder to go through. `shown` is what people see, `real` where it is, `relative` what patterns see.

    All end in a slash, or are empty.
    """

    shown: str
    real: str
    relative: str
    ignored: Ignored
    with_tests: bool


@dataclass(slots=True)
class _Search:
    settings: Settings
    found: dict[str, str] = field(default_factory=dict)  # by real path
    links: list[tuple[str, str]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    root: str = field(init=False)
    exclude: Patterns = field(init=False)
    include: Patterns = field(init=False)

    def __post_init__(self) -> None:
        self.root = _slashed(os.path.realpath(self.settings.root))
        self.exclude = Patterns.of(self.settings.exclude)
        self.include = Patterns.of(self.settings.include)

    def add(self, argument: str) -> None:
        """Find what one argument stands for."""
        try:
            mode = Path(argument).stat().st_mode
        except (OSError, ValueError) as error:  # ValueError: a NUL in the name
            why = reason(error) if isinstance(error, OSError) else str(error)
            self.failures.append(f"{argument}: {why}")
            return
        real = os.path.realpath(argument)
        relative = _relative(real, self.root)
        shown = str(Path(argument))
        if stat.S_ISDIR(mode):
            self._add_folder("" if shown == "." else _slashed(shown), _slashed(real))
        elif not stat.S_ISREG(mode):
            self.failures.append(f"{argument}: not a file")
        elif not (self.settings.force_exclude and self._is_left_out(relative)):
            self.found.setdefault(real, shown)

    def _add_folder(self, shown: str, real: str) -> None:
        inside = real.startswith(self.root)
        relative = real[len(self.root) :] if inside else ""
        with_tests = self.settings.include_tests or _TEST_FOLDER in relative.split("/")
        if relative and self.exclude.match_with_parents(relative):
            if self.settings.force_exclude:
                return
            relative = ""  # it was named, so patterns count from here
        if self.settings.force_exclude and with_tests and not self.settings.include_tests:
            return
        ignored = ignored_around(real, self.root) if self.settings.respect_gitignore else Ignored()
        folders = [_Folder(shown, real, relative, ignored, with_tests)]
        named = real
        while folders:
            folder = folders.pop()
            folders += self._go_through(folder, named=folder.real == named)

    def _go_through(self, folder: _Folder, named: bool) -> list[_Folder]:
        """Note the folder's files, and give the folders in it."""
        try:
            with os.scandir(folder.real) as scan:
                entries = list(scan)
        except OSError as error:
            self.failures.append(f"{folder.shown.rstrip('/') or '.'}: {reason(error)}")
            return []
        names = {entry.name for entry in entries}
        # An environment, whatever it is called; without its packages, the configuration lies in a project by mistake.
        if "pyvenv.cfg" in names and not names.isdisjoint(("lib", "Lib")) and not named:
            return []
        if left := [name for name in names if name.endswith(END)]:
            sweep(Path(folder.real), left)
        ignored = folder.ignored
        if self.settings.respect_gitignore:
            ignored = ignored.below(folder.real, ".gitignore" in names)
        below = []
        for entry in entries:
            name = entry.name
            try:
                is_folder = entry.is_dir(follow_symlinks=False)
            except OSError:  # it vanished
                continue
            if is_folder:
                real, relative = f"{folder.real}{name}/", f"{folder.relative}{name}/"
                if (
                    (name != _TEST_FOLDER or folder.with_tests)
                    and not self.exclude.match(relative)
                    and not ignored.match(real)
                ):
                    below.append(
                        _Folder(f"{folder.shown}{name}/", real, relative, ignored, folder.with_tests)
                    )
            elif self._wants(folder, name, ignored):
                self._note(entry, f"{folder.shown}{name}")
        return below

    def _wants(self, folder: _Folder, name: str, ignored: Ignored) -> bool:
        relative = folder.relative + name
        return (
            self.include.match(relative)
            and (folder.with_tests or not _is_test(name))
            and not self.exclude.match(relative)
            and not ignored.match(folder.real + name)
        )

    def _note(self, entry: os.DirEntry[str], shown: str) -> None:
        if not entry.is_symlink():
            if entry.is_file():
                self.found.setdefault(entry.path, shown)
        elif not entry.name.startswith(".#"):  # Emacs's locks lead nowhere by design
            try:
                if stat.S_ISREG(entry.stat().st_mode):
                    self.links.append((os.path.realpath(entry.path), shown))
            except OSError as error:
                dangling = "a broken symbolic link"
                why = dangling if error.errno == errno.ENOENT else reason(error)
                self.failures.append(f"{shown}: {why}")

    def _is_left_out(self, relative: str) -> bool:
        if self.exclude.match_with_parents(relative):
            return True
        folders, _, name = relative.rpartition("/")
        return not self.settings.include_tests and (_is_test(name) or _TEST_FOLDER in folders.split("/"))


def settings_for(path: Path | str, settings: Settings) -> Settings:
    """The settings with the rules that count for one file: without those that `per_file_ignores` takes away.

    A pattern that begins with `!` takes them from all files that it does not match.
    """
    if not settings.per_file_ignores:
        return settings
    folder, name = os.path.split(Path.cwd() / path)
    return settings_at(_relative(f"{_real(folder)}{name}", _real(os.fspath(settings.root))), settings)


def settings_at(relative: str, settings: Settings) -> Settings:
    """The same for a path from the settings' root, with slashes, whether there is such a file or not."""
    return _without(settings, frozenset().union(*_ignored_rules(relative, settings.per_file_ignores)))


def _ignored_rules(relative: str, per_file: tuple[tuple[str, frozenset[str]], ...]) -> list[frozenset[str]]:
    return [
        rules
        for pattern, rules in per_file
        if _patterns(pattern.removeprefix("!")).match_with_parents(relative) != pattern.startswith("!")
    ]


@lru_cache
def _real(folder: str) -> str:
    return _slashed(os.path.realpath(folder))


@lru_cache
def _patterns(pattern: str) -> Patterns:
    return Patterns.of((pattern,))


@lru_cache
def _without(settings: Settings, ignored: frozenset[str]) -> Settings:
    return replace(settings, rules=settings.rules - ignored)


def replace_file(path: Path | str, old: bytes, new: bytes) -> None:
    """Write `new` over a file that holds `old`, in one step: whoever reads it finds the one or the other.

    The file's mode stays, and its owner where the system lets us. Of a symbolic link, the target is written.

    Raises:
        ChangedError: the file holds something else by now; it is left alone.
        OSError: it is read-only, or its folder is, or the disk is full; it is left alone.
    """
    target = Path(os.path.realpath(path))
    status = target.stat()
    if not status.st_mode & 0o222 or not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "read-only, so it was not changed", str(path))
    with written_beside(target, new, durable=True) as temporary:
        _give_owner(temporary, status)
        temporary.chmod(stat.S_IMODE(status.st_mode))
        if target.read_bytes() != old:
            raise ChangedError(errno.EBUSY, "changed while it was linted, so it was left alone", str(path))
        temporary.replace(target)


def _give_owner(path: Path, status: os.stat_result) -> None:
    if hasattr(os, "chown"):
        for owner in ((status.st_uid, -1), (-1, status.st_gid)):
            try:
                os.chown(path, *owner)
            except OSError:  # only the superuser may give a file away
                continue


def _is_test(name: str) -> bool:
    stem = name.partition(".")[0]
    return stem.startswith("test_") or stem.endswith("_test") or name == "conftest.py"


def _relative(path: str, root: str) -> str:
    """The path from the root, with slashes; its name alone, if it is outside."""
    path = path.replace(os.sep, "/")
    return path[len(root) :] if path.startswith(root) else path.rpartition("/")[2]


def _slashed(path: str) -> str:
    return path.replace(os.sep, "/").rstrip("/") + "/"
