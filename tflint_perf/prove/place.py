"""The project, and copies of it in which a run may write what it likes.

Code and small files are copied; what is large is there by reference, as a symbolic link to the user's file. So are the
user's own folders (downloads of Keras, say): what is added to them stays in the scratch folder.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tflint_perf.config.files import reason
from tflint_perf.problems import ConfigError

# A file of so many bytes is data, whatever it holds.
LARGE: Final = 8 << 20
# Files of a folder that hold so many bytes together are data, if none of them is code.
MUCH: Final = 64 << 20
# A folder with so many files is linked as a whole, if none of them is code.
MANY: Final = 1000
# With more files and folders than this, the folder is not one project.
_MOST: Final = 50_000
# Of a user's own folder, this many files and folders are linked one by one, so that new ones may stand beside them.
_MOST_OF_HOME: Final = 3000
_CODE = (".py", ".pyi", ".ipynb", ".pyx", ".toml", ".cfg", ".ini", ".yaml", ".yml")
_LEFT_OUT = frozenset(
    {
        ".git",
        ".hg",
        ".svn",
        "__pycache__",
        ".ipynb_checkpoints",
        ".mypy_cache",
        ".nox",
        ".pytest_cache",
        ".ruff_cache",
        ".tflint-perf-cache",
        ".tox",
        "node_modules",
    }
)
# Folders of the user in which libraries keep what they have downloaded or worked out.
_KEPT_BY_LIBRARIES = (".cache", ".config", ".keras", ".matplotlib", "tensorflow_datasets")
# Variables that name such folders elsewhere.
_NAME_FOLDERS = (
    "HF_DATASETS_CACHE",
    "HF_HOME",
    "KAGGLEHUB_CACHE",
    "KERAS_HOME",
    "MPLCONFIGDIR",
    "TFDS_DATA_DIR",
    "TFHUB_CACHE_DIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
)
# Says where Python would look for modules, finders of editable installations included.
_SEARCH = """\
import json, os, sys
found = list(sys.path)
for finder in sys.meta_path:
    module = sys.modules.get(getattr(finder, "__module__", None))
    for place in getattr(module, "MAPPING", {}).values():
        found.append(os.path.dirname(place))
print(json.dumps([os.path.abspath(place) for place in found if place]))
"""
_SEARCH_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Project:
    """A program and the folder that it belongs to: `root` is copied, `folder` is where it runs.

    `program` is as `Request.program`. Both folders are absolute, without symbolic links.
    """

    root: Path
    folder: Path
    program: tuple[str, ...]

    @property
    def script(self) -> str | None:
        """The program's file from the root, with slashes; None where a module is run, or a file from elsewhere."""
        if self.program[0] == "-m":
            return None
        path = (self.folder / self.program[0]).resolve()
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else None


@dataclass(frozen=True, slots=True)
class Copy:
    """Where one run takes place: its folder, its program, and the variables that it gets beside those there are."""

    root: Path
    folder: Path
    program: tuple[str, ...]
    environment: Mapping[str, str]


def project_of(program: Sequence[str], folder: Path, home: Path | None = None) -> Project:
    """The project of a program that is run in `folder`.

    It is the work tree of git that holds the program; without one, the folder in which it is run, or the program's own
    if that is elsewhere. The user's home is no project, whatever lies in it.

    Raises:
        ConfigError: there is no such program.
    """
    folder = folder.resolve()
    home = (home or Path.home()).resolve()
    base = folder
    if program[0] != "-m":
        path = folder / program[0]
        if not path.is_file():
            raise ConfigError("no such file", program[0])
        base = path.resolve().parent
    root = next((above for above in (base, *base.parents) if (above / ".git").exists()), None)
    if root is None or _is_home(root, home):
        root = folder if base.is_relative_to(folder) and not _is_home(folder, home) else base
    if _is_home(root, home):
        raise ConfigError(
            f"{root} is not a project folder: put the program into a folder of its own", "prove"
        )
    return Project(root, folder, tuple(program))


def _is_home(folder: Path, home: Path) -> bool:
    return folder == home or folder in home.parents


def copy_tree(root: Path, target: Path, leave_out: Path | None = None) -> list[str]:
    """Copy a project to `target`, which is not there yet, and say what is there by reference: paths from the root.

    Raises:
        ConfigError: there is too much for a project.
    """
    linked: list[str] = []
    folders, seen = [""], 0
    while folders:
        relative = folders.pop()
        here, there = root / relative, target / relative
        there.mkdir(parents=True)
        with suppress(PermissionError), os.scandir(here) as scan:
            entries = sorted(scan, key=lambda entry: entry.name)
            seen += len(entries)
            if seen > _MOST:
                raise ConfigError(f"more than {_MOST:,} files in {root}, too many to copy", "prove")
            files = [entry for entry in entries if not entry.is_symlink() and entry.is_file()]
            data = _is_data(files)
            for entry in entries:
                inside = f"{relative}{entry.name}"
                if entry.name in _LEFT_OUT or Path(entry.path) == leave_out:
                    continue
                if entry.is_symlink():
                    _link_again(Path(entry.path), there / entry.name, root)
                elif entry.is_dir():
                    if _is_environment(entry):
                        continue
                    if _is_full_of_data(entry):
                        (there / entry.name).symlink_to(entry.path)
                        linked.append(f"{inside}/")
                    else:
                        folders.append(f"{inside}/")
                elif entry.is_file() and not _copied(entry, there / entry.name, data):
                    (there / entry.name).symlink_to(entry.path)
                    linked.append(inside)
    return sorted(linked)


def _copied(entry: os.DirEntry[str], target: Path, data: bool) -> bool:
    """Copy a file unless it is there by reference."""
    if data or entry.stat().st_size > LARGE:
        return False
    try:
        shutil.copy2(entry.path, target)
    except PermissionError:  # the program cannot read it either
        return False
    return True


def _is_data(files: Sequence[os.DirEntry[str]]) -> bool:
    """Whether the files of a folder are data, all together."""
    if any(entry.name.endswith(_CODE) for entry in files):
        return False
    return sum(entry.stat().st_size for entry in files) > MUCH


def _is_full_of_data(folder: os.DirEntry[str]) -> bool:
    with suppress(PermissionError), os.scandir(folder) as scan:
        names = [entry.name for entry in scan if entry.is_file()]
        return len(names) > MANY and not any(name.endswith(_CODE) for name in names)
    return False


def _is_environment(folder: os.DirEntry[str]) -> bool:
    return (Path(folder.path) / "pyvenv.cfg").exists()


def _link_again(link: Path, copy: Path, root: Path) -> None:
    """A link of the project, in its copy: to the same place of the copy, or to the same place elsewhere."""
    target = link.resolve()
    if target.is_relative_to(root):
        copy.symlink_to(os.path.relpath(target, link.parent.resolve()))
    else:
        copy.symlink_to(target)


def mirror(source: Path, target: Path, most: int = _MOST_OF_HOME) -> None:
    """A folder as `source`, with its files by reference: what is written beside them stays in the mirror.

    Folders further in are linked as a whole once there would be more than `most` entries.
    """
    target.mkdir(parents=True, exist_ok=True)
    folders, left = [""], most
    while folders:
        relative = folders.pop(0)
        try:
            entries = list(os.scandir(source / relative))
        except OSError:
            continue
        left -= len(entries)
        for entry in entries:
            copy = target / relative / entry.name
            if copy.exists() or copy.is_symlink():
                continue
            if entry.is_dir(follow_symlinks=False) and left > 0:
                copy.mkdir()
                folders.append(f"{relative}{entry.name}/")
            else:
                copy.symlink_to(entry.path)


class Scratch:
    """A scratch folder: the project as it was, and one copy at a time in which a version of it runs.

    Each run is in the same folder, made anew, so that nothing of the run before it is left and all paths are alike.
    What libraries download, they download once.
    """

    def __init__(self, project: Project, folder: Path, python: str, environment: Mapping[str, str]) -> None:
        self.project = project
        self.folder = folder
        self._kept = folder / "as-it-was"
        self._run = folder / "run"
        try:
            self.linked = copy_tree(project.root, self._kept, leave_out=folder)
        except OSError as error:
            raise ConfigError(f"{error.filename}: {reason(error)}", "prove") from None
        self._homes = self._mirrored(environment)
        self._search = _inside(search_path(python, project.folder, environment), project.root)
        self._python_path = environment.get("PYTHONPATH", "")

    def read(self, file: str) -> bytes | None:
        """What stood in a file of the project when it was copied; None where it was not copied."""
        path = self._kept / file
        return path.read_bytes() if path.is_file() and not path.is_symlink() else None

    def copy(self, changed: Mapping[str, bytes]) -> Copy:
        """The project with other contents of the files that have `changed`, by their paths from the root."""
        shutil.rmtree(self._run, ignore_errors=True)
        root = self._run / (self.project.root.name or "project")
        shutil.copytree(self._kept, root, symlinks=True)
        for file, data in changed.items():
            (root / file).write_bytes(data)
        temporary = self._run / "tmp"
        temporary.mkdir()
        return Copy(
            root,
            self._folder_in(root),
            tuple(self._moved(argument, root) for argument in self.project.program),
            {
                **self._homes,
                **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary)),
                **self._path_of(root),
                "TFLINT_PERF_WRITABLE": str(self.folder),
            },
        )

    def _folder_in(self, root: Path) -> Path:
        """The folder to run in: the same of the copy, or one beside it in which all of the user's is linked."""
        folder = self.project.folder
        if folder.is_relative_to(self.project.root):
            inside = root / folder.relative_to(self.project.root)
            inside.mkdir(parents=True, exist_ok=True)
            return inside
        beside = self._run / "folder" / (folder.name or "folder")
        mirror(folder, beside, most=0)
        return beside

    def _moved(self, argument: str, root: Path) -> str:
        """An argument, with an absolute path into the project leading into the copy."""
        flag, equals, path = argument.rpartition("=") if argument.startswith("-") else ("", "", argument)
        if not path.startswith(os.sep):
            script = self.project.script if argument == self.project.program[0] else None
            elsewhere = ".." in Path(argument).parts or not self.project.folder.is_relative_to(
                self.project.root
            )
            return str(root / script) if script is not None and elsewhere else argument
        place = Path(path).resolve()
        if not place.is_relative_to(self.project.root):
            return argument
        return f"{flag}{equals}{root / place.relative_to(self.project.root)}"

    def _path_of(self, root: Path) -> dict[str, str]:
        """Where the copy's modules are looked for first, if Python would find the user's own: an editable installation."""
        places = [str(root / place) for place in self._search if (root / place).is_dir()]
        given = [
            self._moved(place, root) for place in self._python_path.split(os.pathsep) if place
        ]  # relative ones count from the folder of the run
        path = [*dict.fromkeys([*given, *places])]
        return {"PYTHONPATH": os.pathsep.join(path)} if path else {}

    def _mirrored(self, environment: Mapping[str, str]) -> dict[str, str]:
        """The user's own folders, each once for all runs."""
        home = self.folder / "home"
        real = Path(environment.get("HOME") or Path.home())
        for name in _KEPT_BY_LIBRARIES:
            if (real / name).is_dir():
                mirror(real / name, home / name)
        mirror(real, home, most=0)
        variables = {"HOME": str(home)}
        for name in _NAME_FOLDERS:
            if given := environment.get(name):
                folder = self.folder / name.lower()
                mirror(Path(given), folder)
                variables[name] = str(folder)
        return variables


@contextmanager
def scratch_of(project: Project, python: str, environment: Mapping[str, str]) -> Iterator[Scratch]:
    """A scratch folder, which goes when it is done with."""
    with tempfile.TemporaryDirectory(prefix="tflint-perf-prove-", ignore_cleanup_errors=True) as folder:
        yield Scratch(project, Path(folder).resolve(), python, environment)


def search_path(python: str, folder: Path, environment: Mapping[str, str]) -> list[Path]:
    """Where this Python looks for modules, in turn; nothing if it can't tell."""
    try:
        asked = subprocess.run(
            [python, "-c", _SEARCH],
            cwd=folder,
            env={name: value for name, value in environment.items() if name != "PYTHONPATH"},
            capture_output=True,
            text=True,
            timeout=_SEARCH_SECONDS,
            check=True,
        )
        return [Path(place).resolve() for place in json.loads(asked.stdout.splitlines()[-1])]
    except (OSError, ValueError, IndexError, subprocess.SubprocessError):
        return []


def _inside(places: Sequence[Path], root: Path) -> list[str]:
    return [place.relative_to(root).as_posix() for place in places if place.is_relative_to(root)]
