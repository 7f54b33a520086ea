"""What the editor's own settings say, beside the files of configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tflint_perf.config.reading import Values, check
from tflint_perf.problems import ConfigError, nearest

SECTION = "tflint-perf"
_WHERE = "the editor's settings"
_KEYS = ("run", "syntaxErrors", "unsafeFixes", "measured", "configuration")
# Settings of an extension about how it starts the server, which it may hand on with the others.
_OF_EXTENSIONS = ("path", "arguments", "trace")
_RUNS = ("onType", "onSave")
# They have a meaning only in a file.
_OF_FILES = ("extend", "required-version")


@dataclass(frozen=True, slots=True)
class Preferences:
    """The settings that an editor gives; what it does not give is as without it.

    `configuration` goes before the files of configuration, key by key.
    """

    on_save: bool = False
    syntax_errors: bool = True
    configuration: Mapping[str, Any] = field(default_factory=dict)

    def layer(self, folder: Path) -> Values:
        """The keys of the configuration; paths in them are relative to the folder."""
        return Values(folder, self.configuration, option=_WHERE)


def preferences(given: object) -> Preferences:
    """Read settings as they come from an editor; null is as good as nothing.

    Raises:
        ConfigError: there is an unknown one, or a wrong value.
    """
    if isinstance(given, Mapping):
        for key in ("settings", SECTION):  # as some editors wrap them
            if isinstance(given.get(key), Mapping):
                return preferences(given[key])
    settings = {key: value for key, value in _mapping(given, "settings").items() if value is not None}
    for key in settings:
        if key not in (*_KEYS, *_OF_EXTENSIONS):
            raise ConfigError(f"unknown key `{key}`{nearest(key, _KEYS)}", _WHERE)
    run = settings.get("run", _RUNS[0])
    if run not in _RUNS:
        raise ConfigError("`run` must be one of onType, onSave", _WHERE)
    configuration = dict(_mapping(settings.get("configuration"), "configuration"))
    configuration |= {
        name: settings[key]
        for key, name in (("unsafeFixes", "unsafe-fixes"), ("measured", "measured"))
        if key in settings
    }
    for key in _OF_FILES:
        if key in configuration:
            raise ConfigError(f"`{key}` only has a meaning in a file", _WHERE)
    check(configuration, {}, lambda row: _WHERE)
    errors = settings.get("syntaxErrors", True)
    if not isinstance(errors, bool):
        raise ConfigError("`syntaxErrors` must be true or false", _WHERE)
    return Preferences(run == "onSave", errors, configuration)


def _mapping(given: object, what: str) -> Mapping[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ConfigError(f"`{what}` must be a table of keys", _WHERE)
    return given
