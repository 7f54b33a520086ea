"""From configuration files and the command line to the settings of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any, cast

from tflint_perf.catalogue.addresses import is_address
from tflint_perf.catalogue.evidence import Evidence, all_evidence
from tflint_perf.catalogue.rules import RuleInfo, catalogue
from tflint_perf.config.failing import FailOn, fail_on_of
from tflint_perf.config.keys import DEFAULT_EXCLUDE, DEFAULT_INCLUDE, Format, Severity
from tflint_perf.config.patterns import rebase
from tflint_perf.config.reading import Values, config_in, read_config
from tflint_perf.config.selection import Layer, all_codes_of, by_code, default_rules, resolve
from tflint_perf.config.settings import Settings
from tflint_perf.problems import ConfigError
from tflint_perf.records import dataclass


@dataclass(frozen=True, slots=True)
class Config:
    """The settings that files are linted with, and how the run is reported; `path` is the file they come from."""

    settings: Settings
    path: Path | None = None
    output_format: Format = "full"
    show_fixes: bool = False
    fix_only: bool = False
    fail_on: FailOn = field(default_factory=FailOn)


@dataclass(slots=True)
class Configs:
    """Which configuration counts for which folder: each file is read once.

    `given` is a file that counts for all folders instead of the nearest one; `isolated` means that none does.
    """

    folder: Path
    command_line: Sequence[Values]
    given: Path | None = None
    isolated: bool = False
    # Whether rules that are off by their experiments or their record are on, unless something says otherwise.
    unproved: bool = False
    _nearest: dict[Path, Path | None] = field(default_factory=dict)
    _configs: dict[Path | None, Config] = field(default_factory=dict)
    # All that were read, also for what others of them extend.
    files: set[Path] = field(default_factory=set)

    def of(self, folder: Path) -> Config:
        """The configuration of the files in an absolute folder.

        Raises:
            ConfigError: it cannot be read or followed.
        """
        path = self.given if self.isolated or self.given else self._nearest_to(folder)
        if path not in self._configs:
            root = self.folder if path is None or path == self.given else path.parent
            own = read_config(path) if path else []
            self.files.update(values.path for values in own if values.path is not None)
            layers = [*own, *self.command_line]
            self._configs[path] = replace(
                configure(layers, root, catalogue(), {} if self.unproved else None), path=path
            )
        return self._configs[path]

    def _nearest_to(self, folder: Path) -> Path | None:
        """As `nearest_config`, with each folder on the way looked into once."""
        if folder not in self._nearest:
            above = folder.parent
            self._nearest[folder] = config_in(folder) or (
                None if above == folder else self._nearest_to(above)
            )
        return self._nearest[folder]


def configure(
    layers: Sequence[Values],
    root: Path,
    rules: Mapping[str, RuleInfo],
    evidence: Mapping[str, Sequence[Evidence]] | None = None,
) -> Config:
    """What the layers come down to, each going before those on its left; by the evidence on record, if none is given."""
    if evidence is None:
        evidence = all_evidence(series=False)
    for layer in layers:
        _check_version(layer)
    last: dict[str, Any] = {}
    for layer in layers:
        last |= layer.values
    fix_only = bool(last.get("fix-only", False))
    settings = Settings(
        root=root,
        rules=resolve(map(_selecting, layers), default_rules(rules, evidence), rules),
        per_file_ignores=_per_file_ignores(layers, root, rules),
        fixable=resolve(map(_fixing, layers), frozenset(rules), rules),
        safe_by_request=_codes(layers, "extend-safe-fixes", rules),
        unsafe_by_request=_codes(layers, "extend-unsafe-fixes", rules),
        severities=_severities(layers, rules),
        fix="apply" if fix_only or last.get("fix", False) else "no",
        unsafe_fixes=last.get("unsafe-fixes", False),
        bold_fixes=last.get("bold-fixes", False),
        exclude=_exclude(layers, root),
        include=_patterns(layers, "include", root, DEFAULT_INCLUDE),
        include_tests=last.get("include-tests", False),
        force_exclude=last.get("force-exclude", False),
        respect_gitignore=last.get("respect-gitignore", True),
        project_root=_project_root(layers),
        baseline=_file(layers, "baseline"),
        measured=_file(layers, "measured"),
        docs_url=_docs_url(layers),
    )
    output_format = cast("Format", last.get("output-format", "full"))
    fail_on = fail_on_of(last["fail-on"]) if "fail-on" in last else FailOn()
    return Config(settings, None, output_format, last.get("show-fixes", False), fix_only, fail_on)


def _project_root(layers: Sequence[Values]) -> Path | None:
    """The folder that was named, relative to what names it."""
    for layer in reversed(layers):
        if "project-root" in layer.values:
            root = (layer.folder / str(layer.values["project-root"])).resolve()
            if not root.is_dir():
                raise ConfigError(f"no such folder: {root}", layer.where("project-root"))
            return root
    return None


def _file(layers: Sequence[Values], key: str) -> Path | None:
    """The file that was named, relative to what names it."""
    layer = next((layer for layer in reversed(layers) if key in layer.values), None)
    return None if layer is None else layer.folder / Path(str(layer.values[key])).expanduser()


def _docs_url(layers: Sequence[Values]) -> str | None:
    layer = next((layer for layer in reversed(layers) if "docs-url" in layer.values), None)
    if layer is None:
        return None
    address = str(layer.values["docs-url"])
    if not is_address(address):
        raise ConfigError(
            f"`docs-url` begins with https://, http:// or file://: {address}", layer.where("docs-url")
        )
    return address


def _check_version(layer: Values) -> None:
    required = layer.values.get("required-version")
    if required is not None:
        from tflint_perf.config.required import check_version
        from tflint_perf.version import __version__

        check_version(required, __version__, layer.where("required-version"))


def _selecting(layer: Values) -> Layer:
    return Layer(
        layer.where,
        _optional(layer, "select"),
        tuple(layer.values.get("extend-select", ())),
        tuple(layer.values.get("ignore", ())),
    )


def _fixing(layer: Values) -> Layer:
    unfixable = tuple(layer.values.get("unfixable", ()))
    return Layer(layer.where, _optional(layer, "fixable"), (), unfixable, "fixable", "unfixable")


def _optional(layer: Values, key: str) -> tuple[str, ...] | None:
    return tuple(layer.values[key]) if key in layer.values else None


def _codes(layers: Iterable[Values], key: str, rules: Mapping[str, RuleInfo]) -> frozenset[str]:
    return frozenset().union(
        *(all_codes_of(layer.values.get(key, ()), rules, layer.where(key)) for layer in layers)
    )


def _per_file_ignores(
    layers: Sequence[Values], root: Path, rules: Mapping[str, RuleInfo]
) -> tuple[tuple[str, frozenset[str]], ...]:
    key = "per-file-ignores"
    layer = next((layer for layer in reversed(layers) if key in layer.values), None)
    if layer is None:
        return ()
    moved = (
        (rebase(pattern, layer.folder, root), all_codes_of(selectors, rules, layer.where(key)))
        for pattern, selectors in layer.values[key].items()
    )
    return tuple((pattern, codes) for pattern, codes in moved if pattern is not None)


def _severities(layers: Sequence[Values], rules: Mapping[str, RuleInfo]) -> tuple[tuple[str, Severity], ...]:
    key = "severity"
    layer = next((layer for layer in reversed(layers) if key in layer.values), None)
    if layer is None:
        return ()
    return tuple(by_code(layer.values[key], rules, layer.where(key)).items())


def _exclude(layers: Sequence[Values], root: Path) -> tuple[str, ...]:
    patterns = _patterns(layers, "exclude", root, DEFAULT_EXCLUDE)
    for layer in layers:
        patterns += _rebased(layer, "extend-exclude", root)
    return patterns


def _patterns(layers: Sequence[Values], key: str, root: Path, default: tuple[str, ...]) -> tuple[str, ...]:
    layer = next((layer for layer in reversed(layers) if key in layer.values), None)
    return default if layer is None else _rebased(layer, key, root)


def _rebased(layer: Values, key: str, root: Path) -> tuple[str, ...]:
    moved = (rebase(pattern, layer.folder, root) for pattern in layer.values.get(key, ()))
    return tuple(pattern for pattern in moved if pattern is not None)
