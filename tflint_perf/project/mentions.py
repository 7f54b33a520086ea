"""What the files of a project import and use, by the words in their text alone: who names nothing of a file calls none of
its functions."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Set
from pathlib import Path

from tflint_perf.text.code import code_of

_IMPORT = re.compile(rb"(?m)^[ \t]*(?:from|import)\b.*")
_WORD = re.compile(rb"\w+")
_DOTTED = re.compile(rb"[\w.]+")
# The module and the names of a `from`, over as many lines as they take, or what a plain `import` names.
_STATEMENT = re.compile(
    rb"(?m)^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import\b[ \t]*(\([^)]*\)?|(?:\\\r?\n|[^\n#])*)"
    rb"|import\b((?:\\\r?\n|[^\n#])*))"
)
# A name that may stand for what is given to a function, to a parameter or to another name: the last part of it.
_GIVEN = re.compile(rb"(?<=[(,=])\s*(?:\w+\.)*(\w+)(?=\s*[,)])")
# What is only defined in a file is not called there.
_USED = re.compile(rb"(?<!def )(?<!class )\b\w+")


class Mentions:
    """The words of files, got from a text when first asked for."""

    def __init__(self) -> None:
        self._texts: dict[Path, bytes] = {}
        self._imported: dict[Path, frozenset[bytes]] = {}
        self._used: dict[Path, frozenset[bytes]] = {}
        self._given: dict[Path, frozenset[bytes]] = {}

    def text(self, file: Path) -> bytes:
        """The code of a file; none where it can't be read."""
        known = self._texts.get(file)
        if known is None:
            try:
                known = code_of(file, file.read_bytes())
            except OSError:
                known = b""
            self._texts[file] = known
        return known

    def imported_of(self, file: Path, words: Set[bytes]) -> Set[bytes]:
        """Which of some words its import statements have. A notebook may hold megabytes of pictures: its cells are looked at
        only where one of the words is in it at all."""
        if file.suffix == ".ipynb" and file not in self._texts:
            try:
                data = file.read_bytes()
            except OSError:
                data = b""
            if not any(word in data for word in words):
                return frozenset()
            self._texts[file] = code_of(file, data)
        return self.imported(file) & words

    def says(self, file: Path, words: bytes) -> bool:
        """Whether a file has some words, in code or anywhere else."""
        if file.suffix == ".ipynb" and file not in self._texts:
            try:
                return words in file.read_bytes()
            except OSError:
                return False
        return words in self.text(file)

    def imported(self, file: Path) -> frozenset[bytes]:
        """The words in its import statements, as far as they stand on lines that begin with one."""
        known = self._imported.get(file)
        if known is None:
            lines = b" ".join(_IMPORT.findall(self.text(file)))
            known = self._imported[file] = frozenset(_WORD.findall(lines))
        return known

    def used(self, file: Path) -> frozenset[bytes]:
        """The words that it uses."""
        known = self._used.get(file)
        if known is None:
            known = self._used[file] = frozenset(_USED.findall(self.text(file)))
        return known

    def given(self, file: Path) -> frozenset[bytes]:
        """The words that it may give to functions as arguments."""
        known = self._given.get(file)
        if known is None:
            known = self._given[file] = frozenset(_GIVEN.findall(self.text(file)))
        return known

    def modules(self, file: Path) -> Iterator[str]:
        """Every dotted name that it may import as a module, or from one; some of them are neither."""
        for module, names, plain in _STATEMENT.findall(self.text(file)):
            if module:
                whole = module.decode()
                separator = "" if whole.endswith(".") else "."
                yield whole
                yield from (f"{whole}{separator}{name.decode()}" for name in _WORD.findall(names))
                continue
            for name in _DOTTED.findall(plain):
                parts = name.decode().split(".")
                yield from (".".join(parts[:end]) for end in range(1, len(parts) + 1))


def words_for_callers(file: Path, owner: str, packages: frozenset[Path]) -> set[bytes]:
    """The words of which another file imports one if it calls a function of `file`, or a method of the class `owner`.

    `packages` are the `__init__.py` of folders, which may give on under their own name what their modules define.
    """
    home = file.parent.name if file.name == "__init__.py" else file.stem
    words = {home, owner or home}
    if file.parent / "__init__.py" in packages:
        words.add(file.parent.name)
    # The name of a file may be no text, which no import can name.
    return set(map(os.fsencode, words))
