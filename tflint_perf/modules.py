"""The modules of a project: which file a name leads to, and what it stands for there.

Each file is summarised by itself, and only when somebody asks; names are followed here. Nothing is imported or
run: a module is found where Python would find it, beside the file that imports it, in the folders above or in `src`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tflint_perf.model.summary import Summary, Thing

# A chain of imports or bases that is longer leads in a circle.
_LONGEST = 12
_FOLDERS_ABOVE = 6
_TOKEN = re.compile(r"\(\)|[^.()]+")
_FRAMEWORK = re.compile(rb"tensorflow|keras")
# What is imported in brackets over several lines is rarely a module.
_IMPORT = re.compile(rb"(?m)^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+([^\n#]*)|import[ \t]+([^\n#]*))")
_IMPORTED = re.compile(rb"(?:^|,)[ \t(]*([\w.]+)")
_NO_SUMMARY = Summary({}, (), {})
# What the rest of the world imports under these names is none of the project's files.
ELSEWHERE = frozenset(
    ["tensorflow", "keras", "tf_keras", "numpy", "tensorflow_datasets", "tensorflow_probability"]
)


@dataclass(frozen=True, slots=True)
class Found:
    """What a path leads to: a module, or a thing in a file, or an instance of a class there."""

    file: Path
    name: str = ""
    what: Literal["module", "thing", "instance"] = "module"
    thing: Thing | None = None

    @property
    def path(self) -> str:
        """The path that leads here from everywhere."""
        return f"{self.file}::{self.name}" + ("()" if self.what == "instance" else "")


class Files:
    """The summaries of the files of a project, each made once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._summaries: dict[Path, Summary] = {}
        self._exist: dict[Path, bool] = {}
        self._found: dict[tuple[Path, str], Found | None] = {}
        self._trains: dict[tuple[Path, str], bool] = {}
        self._texts: dict[Path, tuple[bytes, tuple[str, ...]]] = {}

    def summary(self, file: Path) -> Summary:
        """What a file says."""
        known = self._summaries.get(file)
        if known is None:
            known = self._summaries[file] = summary_of(file)
        return known

    def whole_summary(self, file: Path) -> Summary:
        """What a file says, also one that speaks of no framework."""
        if self.summary(file).partial:
            self._summaries[file] = summary_of(file, whole=True)
        return self._summaries[file]

    def acts(self, found: Found | None, depth: int = 0) -> bool:
        """Whether calling a function makes a gradient step or an inference call."""
        if found is None or found.thing is None or found.what != "thing" or depth > _LONGEST:
            return False
        called = (self.follow(found.file, path) for path in found.thing.calls)
        return found.thing.acts or any(self.acts(other, depth + 1) for other in called)

    def has_step_loop(self, found: Found | None, depth: int = 0) -> bool:
        """Whether calling a function runs a step loop."""
        if found is None or found.thing is None or depth > _LONGEST:
            return False
        called = (self.follow(found.file, path) for path in found.thing.calls)
        return found.thing.has_step_loop or any(self.has_step_loop(other, depth + 1) for other in called)

    def trains(self, found: Found | None) -> bool:
        """Whether calling a function trains a model."""
        if found is None or found.thing is None or found.what != "thing":
            return False
        key = found.file, found.name
        known = self._trains.get(key)
        if known is None:
            self._trains[key] = False  # functions that call each other
            known = self._trains[key] = found.thing.trains or any(
                self.trains(self.follow(found.file, path)) for path in found.thing.runs
            )
        return known

    # What imports bring in

    def texts_behind(self, file: Path, dotted: str) -> Iterator[bytes]:
        """The texts of the module that an imported name is in, and of all modules of the project that it imports."""
        module = self.module_of(file, dotted)
        seen: set[Path] = set()
        waiting = [module] if module is not None else []
        while waiting:
            current = waiting.pop()
            if current in seen:
                continue
            seen.add(current)
            text, names = self._read(current)
            yield text
            waiting += [found for name in names if (found := self.module_of(current, name)) is not None]

    def brings_framework(self, file: Path, data: bytes) -> bool:
        """Whether a file with these bytes imports modules of the project that name TensorFlow or Keras."""
        return any(
            _FRAMEWORK.search(text)
            for name in _imported_anywhere(data)
            for text in self.texts_behind(file, name)
        )

    def _read(self, file: Path) -> tuple[bytes, tuple[str, ...]]:
        """The text of a file, and the names that it imports."""
        known = self._texts.get(file)
        if known is None:
            try:
                data = file.read_bytes()
            except OSError:
                data = b""
            known = self._texts[file] = data, _imported_anywhere(data)
        return known

    # Following paths

    def follow(self, file: Path, path: str) -> Found | None:
        """What a path that a file says leads to; None where it leaves the project or is lost."""
        key = file, path
        if key not in self._found:
            self._found[key] = None
            self._found[key] = self._follow(file, path, 0)
        return self._found[key]

    def _follow(self, file: Path, path: str, depth: int) -> Found | None:
        if depth > _LONGEST:
            return None
        home, separator, rest = path.rpartition("::")
        if separator:
            return self._walk(Found(Path(home) if home else file), _TOKEN.findall(rest), depth)
        tokens = _TOKEN.findall(path)
        module, used = self._module_of(file, path, tokens)
        return self._walk(Found(module), tokens[used:], depth) if module is not None else None

    def module_of(self, file: Path, dotted: str) -> Path | None:
        """The module that an imported name is in, as far as the name tells; None where that is not in the project."""
        module, _ = self._module_of(file, dotted, _TOKEN.findall(dotted))
        return module

    def _module_of(self, file: Path, path: str, tokens: Sequence[str]) -> tuple[Path | None, int]:
        dots = len(path) - len(path.lstrip("."))
        if tokens and (dots or tokens[0] not in ELSEWHERE):
            for folder in self._folders(file, dots):
                module, used = self._module(folder, tokens)
                if module is not None:
                    return module, used
        return None, 0

    def _walk(self, start: Found, tokens: Sequence[str], depth: int) -> Found | None:
        current: Found | None = start
        for token in tokens:
            if current is None:
                return None
            current = self._called(current, depth) if token == "()" else self._named(current, token, depth)
        return current

    def _named(self, found: Found, name: str, depth: int) -> Found | None:
        """What `.name` of something is."""
        if found.what == "module":
            return self._in_module(found.file, name, depth)
        value = self.settled(found, depth)
        if value is None or value.thing is None or value.thing.kind != "class":
            return None
        return self.member(value, name, depth)

    def member(self, klass: Found, name: str, depth: int = 0) -> Found | None:
        """A method or attribute of a class or of its bases."""
        whole = f"{klass.name}.{name}"
        thing = self.summary(klass.file).things.get(whole)
        if thing is not None:
            return Found(klass.file, whole, "thing", thing)
        for base in self.bases(klass, depth):
            found = self.member(base, name, depth + 1) if depth < _LONGEST else None
            if found is not None:
                return found
        return None

    def bases(self, klass: Found, depth: int = 0) -> list[Found]:
        """The bases of a class that are in the project."""
        assert klass.thing is not None
        found = (self._follow(klass.file, base, depth + 1) for base in klass.thing.bases)
        return [
            base
            for base in found
            if base is not None and base.thing is not None and base.thing.kind == "class"
        ]

    def _in_module(self, file: Path, name: str, depth: int) -> Found | None:
        summary = self.summary(file)
        if summary.partial and name in summary.defined:
            summary = self.whole_summary(file)
        if name in summary.things:
            return Found(file, name, "thing", summary.things[name])
        if name in summary.imports:
            return self._follow(file, summary.imports[name], depth + 1)
        if file.name == "__init__.py":
            module, _ = self._module(file.parent, [name])
            if module is not None:
                return Found(module)
        for star in summary.stars:
            given = self._follow(file, star, depth + 1) if star and depth < _LONGEST else None
            found = self._in_module(given.file, name, depth + 1) if given and given.what == "module" else None
            if found is not None:
                return found
        return None

    def _called(self, found: Found, depth: int) -> Found | None:
        """What calling something gives, where that is an instance of a class of the project."""
        value = self.settled(found, depth)
        if value is None or value.thing is None or value.what == "instance":
            return None
        if value.thing.kind == "class":
            return Found(value.file, value.name, "instance", value.thing)
        return self._follow(value.file, value.thing.path, depth + 1) if value.thing.path else None

    def settled(self, found: Found, depth: int = 0) -> Found | None:
        """What a name that an assignment made stands for."""
        if (
            found.thing is not None
            and found.thing.kind == "value"
            and found.what == "thing"
            and found.thing.path
        ):
            return self._follow(found.file, found.thing.path, depth + 1)
        return found

    # Finding modules

    def _folders(self, file: Path, dots: int) -> list[Path]:
        if dots:
            folder = file.parent
            for _ in range(dots - 1):
                folder = folder.parent
            return [folder]
        folders = [file.parent, *file.parent.parents][:_FOLDERS_ABOVE]
        inside = [folder for folder in folders if folder == self.root or self.root in folder.parents]
        return [*(inside or folders[:1]), self.root / "src"]

    def _module(self, folder: Path, tokens: Sequence[str]) -> tuple[Path | None, int]:
        """The module that dotted names lead to from a folder, and how many of them it took."""
        package: Path | None = None
        for used, token in enumerate(tokens):
            if token == "()":
                return package, used
            if self._is_file(module := folder / f"{token}.py"):
                return module, used + 1
            if not self._is_folder(folder / token):
                return package, used
            folder = folder / token
            package = folder / "__init__.py"
        return package, len(tokens)

    def _is_file(self, path: Path) -> bool:
        known = self._exist.get(path)
        if known is None:
            known = self._exist[path] = path.is_file()
        return known

    def _is_folder(self, path: Path) -> bool:
        known = self._exist.get(path)
        if known is None:
            known = self._exist[path] = path.is_dir()
        return known


def summary_of(file: Path, *, whole: bool = False) -> Summary:
    """Read and summarise one file; nothing for one that can't be read or parsed.

    Of one that speaks of no framework only the imports are learned, unless it is to be read `whole`.
    """
    try:
        data = file.read_bytes()
    except OSError:
        return _NO_SUMMARY
    if not whole and not _FRAMEWORK.search(data):
        return _imports_alone(data)
    from tflint_perf.check import summarise_source
    from tflint_perf.errors import SourceError
    from tflint_perf.source import Source

    try:
        return summarise_source(Source.from_bytes(data, str(file)))
    except SourceError:
        return _NO_SUMMARY


def _imports_alone(data: bytes) -> Summary:
    """The imports at the top level of a module, by Python's own parser, which takes a fraction of the time."""
    try:
        body = ast.parse(data).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _NO_SUMMARY
    imports: dict[str, str] = {}
    stars: list[str] = []
    defined: set[str] = set()
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.Assign):
            defined.update(target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.split(".", 1)[0]
                imports[name] = alias.name if alias.asname else name
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            for alias in node.names:
                if alias.name == "*":
                    stars.append(module)
                else:
                    separator = "" if module.endswith(".") else "."
                    imports[alias.asname or alias.name] = f"{module}{separator}{alias.name}"
    return Summary(imports, tuple(stars), {}, partial=True, defined=frozenset(defined))


def _imported_anywhere(data: bytes) -> tuple[str, ...]:
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
