"""What earlier runs found out, in a folder of the project: findings and summaries, with what they depend on.

An entry counts only while everything that it was made from is as it was: the file, the settings, the version of the
tool, and what other files and folders had a say. Nothing in the folder is believed that the user's key did not sign:
what a disk has damaged or a repository has brought along is as good as missing, as is what is not of the right form.
Nothing in it is ever run, and fixes are made from the code, never from an entry.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any
from zlib import crc32

from tflint_perf.project.signing import key, signature
from tflint_perf.project.surroundings import Surroundings, digest_of
from tflint_perf.text.leftovers import sweep, written_beside

NAME = ".tflint-perf-cache"
_SHARDS = 64
# Of one file: with other settings, or with other callers.
_MOST_VARIANTS = 8
_MOST_BYTES = 64 * 1024 * 1024
_KEPT_VERSIONS = 3
# Nothing else in the folder is taken for ours: somebody may have named one that holds more than the cache.
_VERSION = re.compile(r".+-[0-9a-f]{24}")
_SHARD = re.compile(r"[0-9a-f]{2}\.json")

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
        # Whoever made a link may want something written elsewhere.
        if self._place.is_symlink() or self._folder.is_symlink():
            return
        with suppress(OSError):
            self._make_folder()
            for number, shard in changed:
                file = self._folder / f"{number:02x}.json"
                now = _read_json(file)  # another process may have written meanwhile
                _write_whole(file, json.dumps(shard.packed(now, self._is_gone), separators=(",", ":")))

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

    def _is_gone(self, short: str) -> bool:
        return not os.path.lexists(self._long(short))

    def _make_folder(self) -> None:
        is_ours = is_all_ours(self._place)
        self._folder.mkdir(parents=True, exist_ok=True)
        sweep(self._folder)
        if is_ours:
            sweep(self._place)
            for name, text in _MARKS.items():
                if not os.path.lexists(self._place / name):
                    _write_whole(self._place / name, text)
        others = [folder for folder in _versions(self._place) if folder != self._folder]
        others.sort(key=lambda folder: folder.stat().st_mtime)
        for old in others[: max(0, len(others) - _KEPT_VERSIONS + 1)]:
            _remove_shards(old)


class _Shard:
    """Entries of some of the files, as they were read, and those that are new.

    What was read is believed when it is asked for, and kept when that is written, if its signature is what `sign` says.
    """

    def __init__(self, data: Any, sign: Callable[[str, str, _Entry], str]) -> None:
        self._sign = sign
        self._names, self._files = _parts(data)
        self._new: dict[str, dict[str, _Entry]] = {}
        self._untold: list[News] = []

    @property
    def changed(self) -> bool:
        return bool(self._new)

    def get(self, file: str, variant: str) -> Any:
        if file in self._new and variant in self._new[file]:
            return self._new[file][variant]
        variants = self._files.get(file)
        signed = self._signed(file, variant, variants.get(variant)) if isinstance(variants, dict) else None
        return None if signed is None else signed[:-1]

    def put(self, file: str, variant: str, entry: _Entry) -> None:
        self._new.setdefault(file, {})[variant] = entry
        self._untold.append((file, variant, entry))

    def take_new(self) -> list[News]:
        untold, self._untold = self._untold, []
        return untold

    def packed(self, now: Any, is_gone: Callable[[str], bool]) -> dict[str, Any]:
        """All entries of files that are not gone, each name written once: those on disk by `now`, and the new ones."""
        self._names, self._files = _parts(now)
        files: dict[str, dict[str, _Entry]] = {}
        for file, variants in self._files.items():
            given = variants if isinstance(variants, dict) else {}
            signed = {variant: self._signed(file, variant, entry) for variant, entry in given.items()}
            believed = {variant: entry for variant, entry in signed.items() if entry is not None}
            if believed and not is_gone(file):
                files[file] = believed
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

    def _signed(self, file: str, variant: str, folded: Any) -> _Entry | None:
        """An entry with its names in place of their indexes, and its signature; None if that is not ours."""
        try:
            signed = self._unfolded(folded)
            return (
                signed
                if signed is not None and signed[-1] == self._sign(file, variant, signed[:-1])
                else None
            )
        except RecursionError:  # whoever read it had a deeper stack
            return None

    def _unfolded(self, entry: Any) -> _Entry | None:
        match entry:
            case [str(content), list(indexes), str(digest), value, str(by)] if all(
                type(index) is int and 0 <= index < len(self._names) and isinstance(self._names[index], str)
                for index in indexes
            ):
                return [content, [self._names[index] for index in indexes], digest, value, by]
        return None


def _parts(data: Any) -> tuple[list[Any], dict[str, Any]]:
    """The names and the files of a shard; none where it is not of the right form."""
    match data:
        case {"names": list(names), "files": dict(files)}:
            return names, files
    return [], {}


# What tells that a folder is a cache of ours, and what makes git and backups leave it alone.
_MARKS = {
    NAME: "",
    ".gitignore": "*\n",
    "CACHEDIR.TAG": "Signature: 8a477f597d28d172789f06886806bc55\n# This folder is a cache of tflint-perf.\n",
}


def version() -> str:
    """What stands for the tool, its rules and those of plugins, and what it parses with."""
    from tflint_perf.catalogue.plugins import plugins
    from tflint_perf.version import __version__

    package = Path(__file__).parent.parent
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
        # Not a `Path` for each: every run from a checkout asks for some hundreds of files.
        for place, _, names in os.walk(folder):
            for name in names:
                if name.endswith((".py", ".json")):
                    status = os.stat(f"{place}{os.sep}{name}")  # noqa: PTH116
                    found.append(f"{name} {status.st_size} {status.st_mtime_ns}")
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


def _write_whole(file: Path, text: str) -> None:
    """Write a file in one step: whoever reads it finds the old or the new."""
    with written_beside(file, text.encode("ascii"), durable=False) as temporary:
        temporary.replace(file)


def is_all_ours(place: Path) -> bool:
    """Whether nothing but the cache belongs into the folder, or would once it is there."""
    if place.name == NAME or (place / NAME).is_file():
        return True
    return not place.is_dir() or not any(place.iterdir())


def remove_ours(place: Path) -> None:
    """Remove the cache from a folder that may hold other things too, and the folder if it does not.

    Raises:
        OSError: something is left that is ours.
    """
    for folder in _versions(place):
        _remove_shards(folder)
    sweep(place)
    for name, text in _MARKS.items():
        if (place / name).is_file() and (place / name).read_text(encoding="utf-8", errors="replace") == text:
            (place / name).unlink()
    if not any(place.iterdir()):
        place.rmdir()


def _versions(place: Path) -> list[Path]:
    """The folders of this and of other versions; a link is none, wherever it may lead."""
    return [
        folder
        for folder in place.iterdir()
        if _VERSION.fullmatch(folder.name) and folder.is_dir() and not folder.is_symlink()
    ]


def _remove_shards(folder: Path) -> None:
    """Remove the shards of a version; what else lies there is left alone."""
    with suppress(OSError):
        sweep(folder)
        for file in folder.iterdir():
            if _SHARD.fullmatch(file.name):
                file.unlink()
        folder.rmdir()
