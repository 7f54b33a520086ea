"""What patterns and `.gitignore` files leave out."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from tflint_perf.records import dataclass

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_GLOB = frozenset("*?[]!\\/#")


@dataclass(frozen=True, slots=True)
class Patterns:
    """Patterns as in a `.gitignore`.

    Plain names and `*.suffix`, which most are, are looked up; `spec` has all patterns if there are others.
    """

    names: frozenset[str]
    suffixes: tuple[str, ...]
    spec: GitIgnoreSpec | None

    @classmethod
    def of(cls, patterns: Iterable[str]) -> Patterns:
        """Compile patterns; the last one that matches decides."""
        patterns = tuple(patterns)
        names = frozenset(pattern for pattern in patterns if not _GLOB & set(pattern))
        suffixes = tuple(
            pattern[1:] for pattern in patterns if pattern.startswith("*.") and not _GLOB & set(pattern[1:])
        )
        if len(names) + len(suffixes) == len(set(patterns)):
            return cls(names, suffixes, None)
        from pathspec import GitIgnoreSpec

        return cls(frozenset(), (), GitIgnoreSpec.from_lines(patterns))

    def match(self, path: str) -> bool:
        """Whether the path is left out for its own name; folders end in a slash."""
        if self.spec is not None:
            return self.spec.match_file(path)
        name = path.rstrip("/").rpartition("/")[2]
        return name in self.names or name.endswith(self.suffixes)

    def match_with_parents(self, path: str) -> bool:
        """Whether the path, or a folder that it stands in, is left out."""
        ends = [index + 1 for index, letter in enumerate(path) if letter == "/"]
        return any(self.match(path[:end]) for end in (*ends, len(path)) if path[:end].strip("/"))


@dataclass(frozen=True, slots=True)
class Ignored:
    """What git ignores in a folder: the `.gitignore` files from the innermost outwards."""

    specs: tuple[tuple[GitIgnoreSpec, int], ...] = ()

    def below(self, folder: str, has_file: bool = True) -> Ignored:
        """The same with the `.gitignore` of the folder, an absolute path that ends in a slash."""
        spec = _read(f"{folder}.gitignore") if has_file else None
        return self if spec is None else Ignored(((spec, len(folder)), *self.specs))

    def match(self, path: str) -> bool:
        """Whether git ignores an absolute path; folders end in a slash."""
        for spec, base in self.specs:
            decision = spec.check_file(path[base:]).include
            if decision is not None:
                return decision
        return False


def ignored_around(folder: str, root: str) -> Ignored:
    """What git ignores by the files outside the folder (its own is not read): those up to the repository's root.

    Outside a repository it is those up to `root`. Nothing, if the folder itself is ignored: whoever names
    it means it. Both are absolute and end in a slash.
    """
    top = _repository(folder) or (root if folder.startswith(root) else folder)
    ignored = Ignored()
    exclude = _read(f"{top}.git/info/exclude")
    if exclude is not None:
        ignored = Ignored(((exclude, len(top)),))
    at = top
    while at != folder:
        ignored = ignored.below(at)
        at = folder[: folder.index("/", len(at)) + 1]
        if ignored.match(at):
            return Ignored()
    return ignored


def _repository(folder: str) -> str | None:
    at = folder
    while at:
        if os.path.lexists(f"{at}.git"):
            return at
        at = at[: at.rstrip("/").rfind("/") + 1]
    return None


def _read(path: str) -> GitIgnoreSpec | None:
    try:
        text = Path(path).read_bytes().decode("utf-8", "surrogateescape")
    except OSError:  # most folders have none
        return None
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(text.removeprefix("\ufeff").split("\n"))
    except ValueError:  # git passes over patterns that it can't read; one by one, so can we
        return GitIgnoreSpec.from_lines(filter(_is_pattern, text.split("\n")))


def _is_pattern(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True
