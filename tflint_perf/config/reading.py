"""Configuration files: found, read and checked against the table of `keys.py`."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tflint_perf.config.failing import is_fail_on
from tflint_perf.config.files import reason
from tflint_perf.config.keys import FORMATS, KEYS, SEVERITIES, Key
from tflint_perf.problems import ConfigError, nearest
from tflint_perf.records import dataclass

OWN_FILE = "tflint-perf.toml"
PYPROJECT = "pyproject.toml"


@dataclass(frozen=True, slots=True)
class Values:
    """Checked keys from one place; paths in them are relative to `folder`.

    `path` is None for keys that come from the command line: from `option`, or each from its own. `rows`
    tells where in the file a key stands.
    """

    folder: Path
    values: Mapping[str, Any]
    path: Path | None = None
    rows: Mapping[str, int] | None = None
    option: str | None = None

    def where(self, key: str) -> str:
        """The place of a key, for messages."""
        if self.path is None:
            return self.option or f"--{key}"
        return _place(self.path, (self.rows or {}).get(key))


def nearest_config(folder: Path) -> Path | None:
    """The configuration file that counts for a folder: its own, or the one of the nearest folder above.

    Raises:
        ConfigError: a file on the way cannot be read, so that it is not known whether it counts.
    """
    return next(filter(None, map(config_in, (folder, *folder.parents))), None)


def config_in(folder: Path) -> Path | None:
    """The configuration file that stands in a folder.

    Raises:
        ConfigError: a file there cannot be read, so that it is not known whether it counts.
    """
    own = folder / OWN_FILE
    if is_file(own):
        return own
    pyproject = folder / PYPROJECT
    return pyproject if is_file(pyproject) and _has_table(pyproject) else None


def read_config(path: Path) -> list[Values]:
    """The keys of a file, after those of the files that it extends.

    Raises:
        ConfigError: a file is missing, broken, has unknown keys or wrong values, or extends itself.
    """
    chain: list[Values] = []
    seen: list[Path] = []
    follow: Path | None = path
    while follow is not None:
        if follow in seen:
            raise ConfigError("`extend` leads back to this file", _place(follow))
        seen.append(follow)
        values = _read_one(follow)
        chain.insert(0, values)
        extended = values.values.get("extend")
        follow = _extended(values, extended) if extended is not None else None
    return chain


def parse_inline(text: str, folder: Path) -> Values:
    """The keys of `--config "key = value"`.

    Raises:
        ConfigError: it is neither a known key with a value, nor the path of a file.
    """
    where = "--config"
    try:
        table = toml_of(text)
    except ValueError:
        hint = "no such file" if text.endswith(".toml") else "neither a file nor `key = value`"
        raise ConfigError(f"{hint}: {text}", where) from None
    for key in ("extend", "required-version"):
        if key in table:
            raise ConfigError(f"`{key}` only has a meaning in a file", where)
    check(table, {}, lambda row: where)
    return Values(folder, table, option=where)


def check(table: Mapping[str, Any], rows: Mapping[str, int], place: Callable[[int | None], str]) -> None:
    """Check keys and types; `place` makes the place of a message from a row or None.

    Raises:
        ConfigError: it tells all mistakes.
    """
    faults = [
        (fault, place(rows.get(name))) for name, value in table.items() if (fault := _fault(name, value))
    ]
    if faults:
        first, *others = faults
        raise ConfigError(*first, others)


def _fault(name: str, value: object) -> str:
    """What is wrong with a key or its value; "" where nothing is."""
    key = KEYS.get(name)
    if key is None:
        return f"unknown key `{name}`{nearest(name, KEYS)}"
    if not _has_type(value, key):
        return f"`{name}` must be {key.in_words()}, for example: {key.example}"
    return ""


def _has_type(value: object, key: Key) -> bool:
    match key.type:
        case "bool":
            return isinstance(value, bool)
        case "str":
            return isinstance(value, str)
        case "format":
            return value in FORMATS
        case "list[str]" | "list[rule]":
            return _is_strings(value)
        case "dict[str, list[rule]]":
            return isinstance(value, dict) and all(_is_strings(item) for item in value.values())
        case "fail on":
            return is_fail_on(value)
        case "dict[rule, severity]":
            return isinstance(value, dict) and all(item in SEVERITIES for item in value.values())


def _is_strings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) and item for item in value)


def _read_one(path: Path) -> Values:
    text, document = _parse(path)
    if path.name == PYPROJECT:
        table = _table(document)
        if table is None:
            raise ConfigError("no table [tool.tflint-perf]", _place(path))
    else:
        table = document
    if not isinstance(table, dict):
        raise ConfigError("`tool.tflint-perf` must be a table", _place(path))
    rows = dict(_rows(text, in_pyproject=path.name == PYPROJECT))
    check(table, rows, lambda row: _place(path, row))
    return Values(path.parent, table, path, rows)


def _extended(values: Values, extended: str) -> Path:
    path = (values.folder / Path(extended).expanduser()).resolve()
    if not is_file(path):
        raise ConfigError(f"`extend`: no such file: {extended}", values.where("extend"))
    return path


def _has_table(path: Path) -> bool:
    # Most files of the way up are of other projects; those that don't name the tool need no reading as TOML.
    return b"tflint-perf" in _bytes(path) and _table(_parse(path)[1]) is not None


def _table(document: Mapping[str, Any]) -> Any:
    tool = document.get("tool")
    return tool.get("tflint-perf") if isinstance(tool, dict) else None


def _parse(path: Path) -> tuple[str, dict[str, Any]]:
    try:
        text = _bytes(path).decode("utf-8")
        return text, toml_of(text)
    except UnicodeDecodeError as error:
        raise ConfigError(f"not UTF-8: {error.reason} at byte {error.start}", _place(path)) from None
    except ValueError as error:
        # tomllib says "… (at line 3, column 5)", or "(at end of document)"
        message, _, at = str(error).rpartition(" (at ")
        numbers = re.fullmatch(r"line (\d+), column (\d+)\)", at)
        where = _place(path) + (f":{numbers[1]}:{numbers[2]}" if numbers else "")
        raise ConfigError(f"not TOML: {message if numbers else error}", where) from None


def is_file(path: Path) -> bool:
    """Whether there is a file that can be asked about."""
    try:
        return path.is_file()
    except (OSError, ValueError):  # a folder without permission, a name that is too long or holds a NUL
        return False


def is_folder(path: Path) -> bool:
    """Whether there is a folder that can be asked about."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(reason(error), _place(path)) from None


def _rows(text: str, in_pyproject: bool) -> Iterator[tuple[str, int]]:
    """The rows of the keys of our table, as far as they are written one a line."""
    ours = not in_pyproject
    for row, line in enumerate(text.splitlines(), start=1):
        if header := re.match(r"\s*\[\s*([^\[\]]+?)\s*\]", line):
            table = header[1].replace('"', "").replace(" ", "")
            prefix = "tool.tflint-perf" if in_pyproject else ""
            ours = table == prefix
            if not in_pyproject or table.startswith(prefix + "."):
                yield table.removeprefix(prefix + ".").split(".")[0], row
        elif ours and (key := re.match(r"""\s*["']?([\w-]+)["']?\s*[=.]""", line)):
            yield key[1], row


def _place(path: Path, row: int | None = None) -> str:
    """The path as short as it can be said from here, with the row if it is known."""
    try:
        shown = path.relative_to(Path.cwd())
    except ValueError:
        shown = path
    return f"{shown}:{row}" if row else str(shown)


def toml_of(text: str) -> dict[str, Any]:
    """The table that a text in TOML says.

    Raises:
        ValueError: it is not TOML.
    """
    # Imported when there is something to read; by name, since only one of the two is there to be type-checked.
    toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    table: dict[str, Any] = toml.loads(text)
    return table
