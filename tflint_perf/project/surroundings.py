"""What the files and folders around hold: each is looked at once, and known by a digest of what was found."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from io import FileIO
from typing import TypeVar

from tflint_perf.records import dataclass

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

# More than chance will ever bring together in one project.
_DIGEST_BYTES = 12


@dataclass(frozen=True, slots=True)
class Listing:
    """The Python files of a folder and the folders in it, by their names."""

    files: frozenset[str]
    folders: frozenset[str]
    digest: str


_NO_FOLDER = Listing(frozenset(), frozenset(), "")


def digest_of(data: bytes) -> str:
    """A digest of some bytes."""
    return blake2b(data, digest_size=_DIGEST_BYTES).hexdigest()


class Surroundings:
    """Files and folders as they were when somebody first asked. A folder's name ends in a slash, a file's does not."""

    def __init__(self) -> None:
        self._digests: dict[str, str] = {}
        self._listings: dict[str, Listing] = {}
        self._heard: list[set[str]] = []

    def read(self, file: str) -> bytes:
        """What a file holds; nothing where it can't be read."""
        try:
            with FileIO(file) as stream:
                data = stream.readall()
        except OSError:
            data = b""
        self._digests.setdefault(file, digest_of(data))
        return data

    def listing(self, folder: str) -> Listing:
        """What is in a folder, given with a slash at its end; nothing where there is no such folder."""
        known = self._listings.get(folder)
        if known is None:
            known = self._listings[folder] = _listing(folder)
            self._digests[folder] = known.digest
        return known

    @contextmanager
    def hearing(self) -> Iterator[set[str]]:
        """The names of all that has a say in what is worked out meanwhile."""
        heard: set[str] = set()
        self._heard.append(heard)
        try:
            yield heard
        finally:
            self._heard.pop()
            self.hear(heard)

    def hear(self, names: Iterable[str]) -> None:
        """Note that these have a say in what is worked out now."""
        if self._heard:
            self._heard[-1].update(names)

    def known(
        self, answers: dict[K, tuple[T, frozenset[str]]], key: K, meanwhile: T, work: Callable[[], T]
    ) -> T:
        """An answer that is worked out once, though it may be asked for on the way, where it is `meanwhile`; whoever
        gets it hears who had a say in it."""
        known = answers.get(key)
        if known is not None:
            self.hear(known[1])
            return known[0]
        answers[key] = meanwhile, frozenset()
        with self.hearing() as heard:
            answer = work()
        answers[key] = answer, frozenset(heard)
        return answer

    def noted(self, file: str, data: bytes) -> str:
        """The digest of a file that somebody else has read."""
        known = self._digests[file] = digest_of(data)
        return known

    def digest(self, name: str) -> str:
        """The digest of a file or folder."""
        known = self._digests.get(name)
        if known is None:
            if name.endswith("/"):
                known = self.listing(name).digest
            else:
                self.read(name)
                known = self._digests[name]
        return known

    def digest_of_all(self, names: Iterable[str]) -> str:
        """One digest of several files and folders, in their order."""
        # Apart from each other: that of a folder which is not there is empty.
        return digest_of(" ".join(map(self.digest, names)).encode())


def _listing(folder: str) -> Listing:
    files: set[str] = set()
    folders: set[str] = set()
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    files.update([entry.name] if _is_file(entry) else ())
                elif "." not in entry.name and entry.name != "__pycache__" and entry.is_dir():
                    folders.add(entry.name)  # one with a dot in its name is no package
    except OSError:
        return _NO_FOLDER
    names = "\0".join([*sorted(files), "/", *sorted(folders)])
    return Listing(frozenset(files), frozenset(folders), digest_of(names.encode("utf-8", "surrogateescape")))


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return stat.S_ISREG(entry.stat().st_mode)
    except OSError:  # a link that leads nowhere
        return False
