"""The texts of a project's modules and what these import, found without a syntax tree: most files need no more."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from tflint_perf.lint.screen import names_framework
from tflint_perf.project.dependencies import (
    Named,
    Release,
    keras_has_own_engine,
    keras_runs_elsewhere,
    releases_named,
    runs_on_cpus,
)
from tflint_perf.project.module_search import ModuleSearch
from tflint_perf.project.surroundings import Surroundings
from tflint_perf.text.code import code_of

# What is imported in brackets over several lines is rarely a module.
_IMPORT = re.compile(rb"(?m)^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+([^\n#]*)|import[ \t]+([^\n#]*))")
_IMPORTED = re.compile(rb"(?:^|,)[ \t(]*([\w.]+)")


class ModuleTexts:
    """The text of each module of the project below `root`, read when first asked for."""

    def __init__(self, root: Path, around: Surroundings) -> None:
        self._root = root
        self.search = ModuleSearch(root, around, lambda file: self._read(file)[0])
        self._around = around
        self._named: dict[Path, tuple[tuple[Named, ...], frozenset[str]]] = {}
        self._own_engines: dict[Path, tuple[bool, frozenset[str]]] = {}
        self._elsewhere: dict[Path, tuple[bool, frozenset[str]]] = {}
        self._on_cpus: dict[Path, tuple[bool, frozenset[str]]] = {}
        self._texts: dict[Path, tuple[bytes, tuple[str, ...]]] = {}
        self._imported: dict[Path, tuple[tuple[Path, ...], frozenset[str]]] = {}

    def behind(self, file: Path, imported: Iterable[str]) -> Iterator[bytes]:
        """The texts of the modules that imported names are in, and of all modules of the project that these import."""
        modules = [self.search.module_of(file, dotted)[0] for dotted in imported]
        for module in self._closed(module for module in modules if module is not None):
            yield self._read(module)[0]

    def files_behind(self, file: Path) -> Iterator[Path]:
        """The modules of the project that a file imports, and those that these import."""
        yield from (module for module in self._closed(self._imported_by(file)) if module != file)

    def _closed(self, modules: Iterable[Path]) -> Iterator[Path]:
        """Modules of the project, and all that these import."""
        seen: set[Path] = set()
        waiting = list(modules)
        while waiting:
            current = waiting.pop()
            if current in seen:
                continue
            seen.add(current)
            yield current
            waiting += self._imported_by(current)

    def bring_framework(self, file: Path, data: bytes) -> bool:
        """Whether a file with this code imports modules of the project that name TensorFlow or Keras."""
        return any(map(names_framework, self.behind(file, imported_anywhere(data))))

    @property
    def keras_runs_elsewhere(self) -> bool:
        """Whether the project needs Keras on another framework than TensorFlow, by the files that say what it needs."""
        root, around = self._root, self._around
        return around.known(self._elsewhere, root, False, lambda: keras_runs_elsewhere(root, around))

    @property
    def keras_has_own_engine(self) -> bool:
        """Whether the project needs a Keras before it became TensorFlow's own, by the files that say what it needs."""
        root, around = self._root, self._around
        return around.known(self._own_engines, root, False, lambda: keras_has_own_engine(root, around))

    @property
    def runs_on_cpus(self) -> bool:
        """Whether the project needs a TensorFlow that is built for CPUs, by the files that say what it needs."""
        root, around = self._root, self._around
        return around.known(self._on_cpus, root, False, lambda: runs_on_cpus(root, around))

    def needs_older(self, release: Release) -> bool:
        """Whether all that the project says of TensorFlow is that it needs a release before that one."""
        root, around = self._root, self._around
        named = around.known(self._named, root, (), lambda: releases_named(root, around))
        return bool(named) and all(one.is_older_than(release) for one in named)

    def _imported_by(self, file: Path) -> tuple[Path, ...]:
        """The modules of the project that a file imports."""

        def modules() -> tuple[Path, ...]:
            found = (self.search.module_of(file, name)[0] for name in self._read(file)[1])
            return tuple(dict.fromkeys(module for module in found if module is not None))

        return self._around.known(self._imported, file, (), modules)

    def _read(self, file: Path) -> tuple[bytes, tuple[str, ...]]:
        """The text of a file, and the names that it imports."""
        self._around.hear({str(file)})
        known = self._texts.get(file)
        if known is None:
            data = self._around.read(str(file))
            known = self._texts[file] = data, imported_anywhere(code_of(file, data))
        return known


def imported_anywhere(data: bytes) -> tuple[str, ...]:
    """The dotted names that a file imports, at its top or further down: by its lines alone, which is quick."""
    names: list[str] = []
    for module, imported, plain in _IMPORT.findall(data):
        if module:
            whole = module.decode()
            separator = "" if whole.endswith(".") else "."
            names.append(whole)
            names += [f"{whole}{separator}{name.decode()}" for name in _IMPORTED.findall(imported)]
        else:
            names += [name.decode() for name in _IMPORTED.findall(plain)]
    return tuple(dict.fromkeys(names))
