"""Where the modules of a project are found: where Python would find them, beside the file that imports one, in the folders
above, in `src`, or in a folder that the file adds to `sys.path`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tflint_perf.search_path import added_folders
from tflint_perf.surroundings import Listing, Surroundings

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
    """Finds modules by their dotted names. `read` gives the bytes of a file."""

    def __init__(self, root: Path, around: Surroundings, read: Callable[[Path], bytes]) -> None:
        self._root = root
        self._around = around
        self._read = read
        self._added: dict[Path, tuple[Path, ...]] = {}
        # By a folder, those in which its files find modules.
        self._searched: dict[Path, tuple[Path, ...]] = {}
        # By a folder and the first part of a name, the folders that were looked into and have no such module.
        self._missing: dict[tuple[Path, str], frozenset[str]] = {}

    def module_of(self, file: Path, dotted: str) -> tuple[Path | None, list[str]]:
        """The module that an imported name of a file is in, and the rest of the name.

        None where it is none of the project's.
        """
        tokens = tokens_of(dotted)
        dots = len(dotted) - len(dotted.lstrip("."))
        if not tokens or (not dots and (tokens[0] in ELSEWHERE or self._is_missing(file, tokens[0]))):
            return None, []
        for folder in self._folders(file, dots):
            module, used = self.below(folder, tokens)
            if module is not None:
                return module, tokens[used:]
        return None, []

    def below(self, folder: Path, tokens: Sequence[str]) -> tuple[Path | None, int]:
        """The module that names lead to from a folder, and how many of them it took."""
        package: Path | None = None
        for used, token in enumerate(tokens):
            if token == "()":
                return package, used
            inside = self._listing(folder)
            if f"{token}.py" in inside.files:
                return folder / f"{token}.py", used + 1
            if token not in inside.folders:
                return package, used
            folder = folder / token
            package = folder / "__init__.py"
        return package, len(tokens)

    def _is_missing(self, file: Path, first: str) -> bool:
        """Whether no folder around a file has a module or package of that name: most imports are of that kind."""
        if self._added_folders(file):
            return False
        known = self._missing.get((file.parent, first))
        if known is None:
            with self._around.hearing() as heard:
                found = any(self.below(folder, [first])[0] for folder in self._around_of(file.parent))
            known = self._missing[file.parent, first] = frozenset() if found else frozenset(heard)
        self._around.hear(known)
        return bool(known)

    def _folders(self, file: Path, dots: int) -> Iterator[Path]:
        """Where the module of a name is looked for, with so many dots in front of it."""
        if dots:
            folder = file.parent
            for _ in range(dots - 1):
                folder = folder.parent
            yield folder
            return
        yield from self._around_of(file.parent)
        yield from self._added_folders(file)

    def _around_of(self, folder: Path) -> tuple[Path, ...]:
        known = self._searched.get(folder)
        if known is None:
            folders = [folder, *folder.parents][:_FOLDERS_ABOVE]
            inside = [above for above in folders if above == self._root or above.is_relative_to(self._root)]
            ordered = dict.fromkeys([*(inside or folders[:1]), self._root, self._root / "src"])
            known = self._searched[folder] = tuple(ordered)
        return known

    def _added_folders(self, file: Path) -> tuple[Path, ...]:
        known = self._added.get(file)
        if known is None:
            known = self._added[file] = added_folders(file, self._read(file), self._root)
        return known

    def _listing(self, folder: Path) -> Listing:
        name = f"{folder}/"
        self._around.hear({name})
        return self._around.listing(name)
