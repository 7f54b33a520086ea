"""Where the modules of a project are found: where Python would find them, beside the file that imports one, in the folders
above, in `src`, or in a folder that the file adds to `sys.path`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from pathlib import Path

from tflint_perf.project.search_path import added_folders
from tflint_perf.project.surroundings import Listing, Surroundings

_FOLDERS_ABOVE = 6
_TOKEN = re.compile(r"\(\)|[^.()]+")
# What the rest of the world imports under these names is none of the project's files.
ELSEWHERE = frozenset(
    ["tensorflow", "keras", "tf_keras", "numpy", "tensorflow_datasets", "tensorflow_probability"]
)


def tokens_of(path: str) -> list[str]:
    """The names and calls of a path: `a`, `b`, `()` of `a.b()`."""
    return _TOKEN.findall(path)


class ModuleSearch:
    """Finds modules by their dotted names. `read` gives the bytes of a file.

    Folders are known by their text, since to compare two paths takes several times as long.
    """

    def __init__(self, root: Path, around: Surroundings, read: Callable[[Path], bytes]) -> None:
        self._root = str(root)
        self._around = around
        self._read = read
        self._folder_of: dict[Path, str] = {}
        self._added: dict[Path, tuple[str, ...]] = {}
        # By a folder, those in which its files find modules.
        self._searched: dict[str, tuple[str, ...]] = {}
        # By a folder and the first part of a name, the folders that were looked into and have no such module.
        self._missing: dict[tuple[str, str], frozenset[str]] = {}
        self._modules: dict[str, Path] = {}

    def module_of(self, file: Path, dotted: str) -> tuple[Path | None, list[str]]:
        """The module that an imported name of a file is in, and the rest of the name.

        None where it is none of the project's.
        """
        tokens = tokens_of(dotted)
        dots = len(dotted) - len(dotted.lstrip("."))
        if not tokens or (not dots and (tokens[0] in ELSEWHERE or self._is_missing(file, tokens[0]))):
            return None, []
        candidates = self._candidates(file, dots, tokens)
        module, used = next(candidates, ("", 0))
        if (
            used == 1 and len(tokens) > 2
        ):  # a file beside this one, named as its package is: `models/models.py`
            module, used = max([(module, used), *candidates], key=itemgetter(1))
        return (self._module(module), tokens[used:]) if module else (None, [])

    def _candidates(self, file: Path, dots: int, tokens: Sequence[str]) -> Iterator[tuple[str, int]]:
        """The modules that a name may be in, the likeliest first, and how many of its tokens lead to each."""
        own = "" if dots else str(file)  # no file imports itself
        found = (self._below(folder, tokens) for folder in self._folders(file, dots))
        return ((module, used) for module, used in found if module and module != own)

    def below(self, folder: Path, tokens: Sequence[str]) -> Path | None:
        """The module that names lead to from a folder."""
        module, _ = self._below(str(folder), tokens)
        return self._module(module) if module else None

    def _below(self, folder: str, tokens: Sequence[str]) -> tuple[str, int]:
        """The same, "" where there is none, and how many of the names it took."""
        package = ""
        for used, token in enumerate(tokens):
            if token == "()":
                return package, used
            inside = self._listing(folder)
            if f"{token}.py" in inside.files:
                return _inside(folder, f"{token}.py"), used + 1
            if token not in inside.folders:
                return package, used
            folder = _inside(folder, token)
            package = _inside(folder, "__init__.py")
        return package, len(tokens)

    def _module(self, name: str) -> Path:
        known = self._modules.get(name)
        if known is None:
            known = self._modules[name] = Path(name)
        return known

    def _is_missing(self, file: Path, first: str) -> bool:
        """Whether no folder around a file has a module or package of that name: most imports are of that kind."""
        if self._added_folders(file):
            return False
        home = self._home(file)
        known = self._missing.get((home, first))
        if known is None:
            with self._around.hearing() as heard:
                found = any(self._below(folder, [first])[0] for folder in self._around_of(home))
            known = self._missing[home, first] = frozenset() if found else frozenset(heard)
        self._around.hear(known)
        return bool(known)

    def _home(self, file: Path) -> str:
        """The folder that a file lies in."""
        known = self._folder_of.get(file)
        if known is None:
            known = self._folder_of[file] = str(file.parent)
        return known

    def _folders(self, file: Path, dots: int) -> Iterator[str]:
        """Where the module of a name is looked for, with so many dots in front of it."""
        if dots:
            folder = self._home(file)
            for _ in range(dots - 1):
                folder = str(Path(folder).parent)
            yield folder
            return
        yield from self._around_of(self._home(file))
        yield from self._added_folders(file)

    def _around_of(self, home: str) -> tuple[str, ...]:
        known = self._searched.get(home)
        if known is None:
            root, folder = Path(self._root), Path(home)
            folders = [folder, *folder.parents][:_FOLDERS_ABOVE]
            inside = [above for above in folders if above == root or above.is_relative_to(root)]
            ordered = dict.fromkeys(map(str, [*(inside or folders[:1]), root, root / "src"]))
            known = self._searched[home] = tuple(ordered)
        return known

    def _added_folders(self, file: Path) -> tuple[str, ...]:
        known = self._added.get(file)
        if known is None:
            found = added_folders(file, self._read(file), Path(self._root))
            known = self._added[file] = tuple(map(str, found))
        return known

    def _listing(self, folder: str) -> Listing:
        name = f"{folder}/"
        self._around.hear((name,))
        return self._around.listing(name)


def _inside(folder: str, name: str) -> str:
    return f"{folder.rstrip(os.sep)}{os.sep}{name}"
