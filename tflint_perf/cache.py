"""What earlier runs found out, in a folder of the project: findings and summaries, with what they depend on.

An entry counts only while everything that it was made from is as it was: the file, the settings, the version of the
tool, and what other files and folders had a say. Nothing in the folder is believed that the user's key did not sign:
what a disk has damaged or a repository has brought along is as good as missing, as is what is not of the right form.
Nothing in it is ever run, and fixes are made from the code, never from an entry.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any
from zlib import crc32

from tflint_perf.leftovers import sweep, written_beside
from tflint_perf.signing import key, signature
from tflint_perf.surroundings import Surroundings, digest_of

NAME = ".tflint-perf-cache"
_SHARDS = 64
# Of one file: with other settings, or with other callers.
_MOST_VARIANTS = 8
_MOST_BYTES = 64 * 1024 * 1024
_KEPT_VERSIONS = 3

# By variant: the digest of the file, the names of what had a say (as indexes), their digest, and what was found; on disk
# also the signature of all that, with the file, the variant and the version.
_Entry = list[Any]
# A file, the variant, and the entry.
News = tuple[str, str, _Entry]


class Cache:
    """The entries of one version of the tool, in shards by the file that they are about.

    `place` is the folder of the cache. Names of files are kept relative to the folder around it where they lie
    there, so that a project may move.
    """

    def __init__(self, place: Path, around: Surroundings) -> None:
        self._around = around
        self._place = place
        self._base = f"{place.absolute().parent}{os.sep}"
        self._shards: dict[int, _Shard] = {}

    @cached_property
    def _folder(self) -> Path:
        return self._place / version()

    def find(self, file: str, variant: str) -> Any:
        """What is kept of a file, if that still counts; None if there is nothing."""
        found = self._shard(file).get(self._short(file), variant)
        try:
            content, names, digest, value = found
            if content == self._around.digest(file) and digest == self._around.digest_of_all(
                [self._long(name) for name in names]
            ):
                return value
        except (
            TypeError,
            ValueError,
            AttributeError,
            RecursionError,
        ):  # there is none, or it is not of the right form
            pass
        return None

    def keep(self, file: str, variant: str, names: Iterable[str], value: Any) -> None:
        """Keep what was found of a file as it is now; `names` are the files and folders that had a say."""
        ordered = sorted(set(names) - {file})
        digest = self._around.digest_of_all(ordered)
        entry = [self._around.digest(file), [self._short(name) for name in ordered], digest, value]
        self._shard(file).put(self._short(file), variant, entry)

    def news(self) -> list[News]:
        """What was kept since the last time, to be handed to the cache of another process."""
        return [entry for shard in self._shards.values() for entry in shard.take_new()]

    def adopt(self, news: Iterable[News]) -> None:
        """Keep what another process has found."""
        for short, variant, entry in news:
            self._shard(self._long(short)).put(short, variant, entry)

    def write(self) -> None:
        """Write what is new. Where that can't be done, the next run does the work again."""
        changed = [(number, shard) for number, shard in self._shards.items() if shard.changed]
        if not changed or self._key is None:
            return
        if self._place.is_symlink():  # whoever made the link may want something written elsewhere
            return
        with suppress(OSError):
            self._make_folder()
            for number, shard in changed:
                file = self._folder / f"{number:02x}.json"
                shard.merge(_read_json(file))  # another process may have written meanwhile
                shard.drop(lambda short: not os.path.lexists(self._long(short)))
                _write_whole(file, shard.packed())

    def _shard(self, file: str) -> _Shard:
        number = crc32(self._short(file).encode("utf-8", "surrogateescape")) % _SHARDS
        known = self._shards.get(number)
        if known is None:
            data = _read_json(self._folder / f"{number:02x}.json") if self._key is not None else None
            known = self._shards[number] = _Shard(data, self._sign)
        return known

    @cached_property
    def _key(self) -> bytes | None:
        return key()

    def _sign(self, short: str, variant: str, entry: _Entry) -> str:
        """The signature of an entry: of nobody else's, and of no other version."""
        said = json.dumps([self._folder.name, short, variant, *entry], separators=(",", ":"))
        return signature(self._key or b"", said.encode("ascii"))

    def _short(self, name: str) -> str:
        return name.removeprefix(self._base)

    def _long(self, short: str) -> str:
        # Not a `Path` for each of the names: a run in which nothing has changed asks for all of them.
        return short if os.path.isabs(short) else f"{self._base}{short}"  # noqa: PTH117

    def _make_folder(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        sweep(self._folder, [entry.name for entry in self._folder.iterdir()])
        for name, text in ((".gitignore", "*\n"), ("CACHEDIR.TAG", _TAG), (NAME, "")):
            if not os.path.lexists(self._place / name):
                (self._place / name).write_text(text, encoding="utf-8")
        others = [folder for folder in self._place.iterdir() if folder.is_dir() and folder != self._folder]
        others.sort(key=lambda folder: folder.stat().st_mtime)
        for old in others[: max(0, len(others) - _KEPT_VERSIONS + 1)]:
            _remove_shards(old)


class _Shard:
    """Entries of some of the files, as they were read, and those that are new.

    What was read is believed when it is asked for, if its signature is what `sign` says. To write it again needs no
    belief: it keeps the signature that it has.
    """

    def __init__(self, data: Any, sign: Callable[[str, str, _Entry], str]) -> None:
        self._sign = sign
        self._names: list[Any] = []
        self._files: dict[str, Any] = {}
        match data:
            case {"names": list(names), "files": dict(files)}:
                self._names, self._files = names, files
        self._new: dict[str, dict[str, _Entry]] = {}
        self._untold: list[News] = []

    @property
    def changed(self) -> bool:
        return bool(self._new)

    def get(self, file: str, variant: str) -> Any:
        if file in self._new and variant in self._new[file]:
            return self._new[file][variant]
        variants = self._files.get(file)
        signed = self._unfolded(variants.get(variant)) if isinstance(variants, dict) else None
        if signed is None:
            return None
        *entry, by = signed
        return entry if by == self._sign(file, variant, entry) else None

    def put(self, file: str, variant: str, entry: _Entry) -> None:
        self._new.setdefault(file, {})[variant] = entry
        self._untold.append((file, variant, entry))

    def take_new(self) -> list[News]:
        untold, self._untold = self._untold, []
        return untold

    def merge(self, data: Any) -> None:
        """Start from what is on disk now, which may be newer than what was read."""
        self._names, self._files = [], {}
        match data:
            case {"names": list(names), "files": dict(files)}:
                self._names, self._files = names, files

    def drop(self, is_gone: Any) -> None:
        """Forget files that are gone."""
        self._files = {file: entries for file, entries in self._files.items() if not is_gone(file)}

    def packed(self) -> dict[str, Any]:
        """All entries, each name written once."""
        files: dict[str, dict[str, _Entry]] = {}
        for file, variants in self._files.items():
            if isinstance(variants, dict):
                unfolded = {variant: self._unfolded(entry) for variant, entry in variants.items()}
                files[file] = {variant: entry for variant, entry in unfolded.items() if entry is not None}
        for file, unsigned in self._new.items():
            new = {variant: [*entry, self._sign(file, variant, entry)] for variant, entry in unsigned.items()}
            kept = {variant: entry for variant, entry in files.get(file, {}).items() if variant not in new}
            # What is of older contents will hardly come back.
            content = next(iter(new.values()))[0]
            kept = {variant: entry for variant, entry in kept.items() if entry[0] == content}
            both = [*kept.items(), *new.items()]
            files[file] = dict(both[-_MOST_VARIANTS:])
        self._new = {}
        numbers: dict[str, int] = {}
        for variants in files.values():
            for variant, (content, names, digest, value, by) in variants.items():
                folded = [numbers.setdefault(name, len(numbers)) for name in names]
                variants[variant] = [content, folded, digest, value, by]
        self._names, self._files = list(numbers), files
        return {"names": self._names, "files": files}

    def _unfolded(self, entry: Any) -> _Entry | None:
        """A signed entry with its names in place of their indexes; None if it is not of the right form."""
        match entry:
            case [str(content), list(indexes), str(digest), value, str(by)] if all(
                type(index) is int and 0 <= index < len(self._names) and isinstance(self._names[index], str)
                for index in indexes
            ):
                return [content, [self._names[index] for index in indexes], digest, value, by]
        return None


_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# This folder is a cache of tflint-perf.\n"


def version() -> str:
    """What stands for the tool, its rules and those of plugins, and what it parses with."""
    from tflint_perf import __version__
    from tflint_perf.plugins import plugins

    package = Path(__file__).parent
    installed = any(part in ("site-packages", "dist-packages") for part in package.parts)
    parts = [__version__, ".".join(map(str, sys.version_info[:3])), _parser()]
    parts += [] if installed else _states(package, package.parent / "rules", package.parent / "fixtures")
    for plugin in plugins():
        parts += [plugin.package, *_states(plugin.folder)]
    return f"{__version__}-{digest_of(chr(0).join(parts).encode())}"


def _parser() -> str:
    """The version of libcst, without importing it."""
    from importlib.util import find_spec

    spec = find_spec("libcst")
    try:
        return (
            Path(spec.origin).with_name("_version.py").read_text(encoding="utf-8")
            if spec and spec.origin
            else ""
        )
    except OSError:
        return ""


def _states(*folders: Path) -> list[str]:
    """Names, sizes and times of the files that rules, and what they say, are made of."""
    found = []
    for folder in folders:
        for path in (*folder.rglob("*.py"), *folder.rglob("*.json")):
            status = path.stat()
            found.append(f"{path.name} {status.st_size} {status.st_mtime_ns}")
    return sorted(found)


def _read_json(file: Path) -> Any:
    """What a file holds; None where it is no JSON, or no file to be read at once."""
    try:
        status = file.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_BYTES:
            return None
        return json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None


def _write_whole(file: Path, data: Any) -> None:
    """Write a file in one step: whoever reads it finds the old or the new."""
    text = json.dumps(data, separators=(",", ":"))
    with written_beside(file, text.encode("ascii"), durable=False) as temporary:
        temporary.replace(file)


def _remove_shards(folder: Path) -> None:
    """Remove the shards of another version; what else lies there is left alone."""
    with suppress(OSError):
        for file in folder.glob("*.json"):
            file.unlink()
        folder.rmdir()
