"""What is found in a document, by the configuration that is nearest to it, and what its fixes make of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tflint_perf.catalogue.plugins import is_about_plugin, is_news
from tflint_perf.cli.clean import cache_folder
from tflint_perf.config.discover import excluded_stdin
from tflint_perf.config.reading import Values
from tflint_perf.config.resolve import Config, Configs
from tflint_perf.config.settings import Settings
from tflint_perf.errors import EditError, SourceError
from tflint_perf.finding import Finding
from tflint_perf.lint import baseline
from tflint_perf.lint.applicability import is_applicable
from tflint_perf.lint.early_findings import Gone, Waiting, waited_for
from tflint_perf.measured import own_costs
from tflint_perf.problems import ConfigError
from tflint_perf.project.cache import NAME
from tflint_perf.project.linting import lint_text
from tflint_perf.server.documents import Snapshot
from tflint_perf.server.preferences import Preferences
from tflint_perf.text.source import Source
from tflint_perf.text.trees import EditedTree

_MEASURED = "measured"


@dataclass(frozen=True, slots=True, eq=False)
class Linted:
    """What came of a document.

    `settings` are None where it was not linted: it is excluded, or there is no configuration to go by. `problems`
    are lines for the log. `wrong` is what is wrong with the configuration.
    """

    snapshot: Snapshot
    settings: Settings | None = None
    place: Path | None = None
    findings: tuple[Finding, ...] = ()
    problems: tuple[str, ...] = ()
    wrong: str | None = None

    @property
    def has_fixes(self) -> bool:
        """Whether `--fix` would change the document."""
        settings = self.settings
        return settings is not None and any(is_applicable(finding, settings) for finding in self.findings)


@dataclass(slots=True)
class Linter:
    """Lints documents as `tflint-perf` would if it were run in the folder that is open in the editor.

    Files of configuration are read anew each time, which costs little beside linting: they are never out of date.
    Where one is broken, the last one that was not goes on to count. `command_line` and the `preferences` of the editor go
    before them; `given` is a file that counts instead of the nearest one, `isolated` means that none does.
    """

    command_line: Sequence[Values] = ()
    given: Path | None = None
    isolated: bool = False
    preferences: Preferences = field(default_factory=Preferences)
    # The documents in which there was a finding, the last time.
    _found: set[str] = field(default_factory=set)
    _good: dict[Path, Config] = field(default_factory=dict)
    # The document that was linted last, and its tree: somebody types in one at a time.
    _edited: tuple[str, EditedTree] = field(default_factory=lambda: ("", EditedTree()))

    def lint(
        self,
        snapshot: Snapshot,
        folders: Iterable[Path],
        early: Callable[[Linted], None] = lambda linted: None,
        is_gone: Callable[[], bool] = lambda: False,
    ) -> Linted:
        """Lint a document; whatever goes wrong is said in the result.

        `early` gets what was found before its fixes are known, and before it is asked what other files may change, which
        often is nothing; `is_gone` tells that nobody wants the result any more.
        """
        try:
            return self._lint(snapshot, _around(snapshot.path, folders), early, is_gone)
        except Gone:
            return Linted(snapshot)
        except Exception as error:
            return Linted(snapshot, problems=(f"{snapshot.path}: internal error: {_said(error)}",))

    def _lint(
        self,
        snapshot: Snapshot,
        around: Path | None,
        early: Callable[[Linted], None],
        is_gone: Callable[[], bool],
    ) -> Linted:
        folder = snapshot.path.parent.resolve()
        wrong = None
        try:
            config = self._config(folder, around)
            if config.settings.baseline is not None:
                baseline.read(config.settings.baseline)
            if config.settings.measured is not None:
                own_costs.read(config.settings.measured, _MEASURED)
            self._good[folder] = config
        except ConfigError as error:
            wrong = str(error)
            if folder not in self._good:
                return Linted(snapshot, wrong=wrong)
            config = self._good[folder]
            if (file := config.settings.baseline) is not None and not file.is_file():
                return Linted(snapshot, wrong=wrong)
        name = snapshot.name
        settings = replace(config.settings, fix="no", force_exclude=True, named=frozenset({name}))
        if excluded_stdin(str(snapshot.path), settings):
            return Linted(snapshot, wrong=wrong)
        place = _place(snapshot, config, around)

        def told(findings: tuple[Finding, ...]) -> None:
            early(Linted(snapshot, settings, place, _counting(findings, snapshot, settings)))

        if self._edited[0] != snapshot.uri:
            self._edited = snapshot.uri, EditedTree()
        with waited_for(Waiting(told, is_gone, snapshot.uri in self._found, self._edited[1])):
            result, _ = lint_text(snapshot.data, name, settings, place)
        (self._found.add if result.findings else self._found.discard)(snapshot.uri)
        problems = (*((result.failure,) if result.failure else ()), *result.problems)
        news = tuple(line for line in problems if not is_about_plugin(line) or is_news(line))
        return Linted(snapshot, settings, place, _counting(result.findings, snapshot, settings), news, wrong)

    def _config(self, folder: Path, around: Path | None) -> Config:
        here = around or folder
        layers = [*self.command_line, self.preferences.layer(here)]
        return Configs(here, layers, self.given, self.isolated).of(folder)


def source_of(linted: Linted) -> Source | None:
    """The source of a document, to be edited; None where its bytes can't stand for all of its text."""
    snapshot = linted.snapshot
    try:
        source = Source.from_bytes(snapshot.data, snapshot.name)
    except SourceError:
        return None
    text = snapshot.parts[0].text if snapshot.parts else None
    if text is None or (not snapshot.is_notebook and text.mark + source.written != text.whole):
        return None
    return source


def with_fix(source: Source, finding: Finding) -> Source:
    """The source after the fix of one finding.

    Raises:
        EditError: the fix can't be made, or would do harm.
    """
    from tflint_perf.catalogue.own_rules import OWN_RULES
    from tflint_perf.lint.guards import damage

    new = source.apply(set(finding.fix.edits) if finding.fix else ())
    # To remove a comment is what the fixes of suppressions are for.
    harm = damage(source, new, may_lose_comments=finding.code in OWN_RULES)
    if harm is not None:
        raise EditError(harm)
    return new


def with_all_fixes(linted: Linted, code: str | None = None, unsafe: bool = False) -> Source:
    """The source after all fixes that `--fix` would make, or those of one rule; with `unsafe`, unsafe ones too.

    Raises:
        SourceError: nothing can be read from the document.
    """
    assert linted.settings is not None
    settings = replace(linted.settings, fix="apply")
    if code is not None:
        settings = replace(settings, fixable=settings.fixable & {code})
    if unsafe:
        settings = replace(settings, unsafe_fixes=True)
    snapshot = linted.snapshot
    _, new = lint_text(snapshot.data, snapshot.name, settings, linted.place)
    return Source.from_bytes(new, snapshot.name)


def warm_up() -> None:
    """Import what linting needs, so that the first document does not wait for it."""
    import tflint_perf.lint.check
    import tflint_perf.lint.fix
    import tflint_perf.project.modules  # noqa: F401
    from tflint_perf.catalogue.registry import all_rules

    all_rules()


def _counting(findings: tuple[Finding, ...], snapshot: Snapshot, settings: Settings) -> tuple[Finding, ...]:
    """The findings that count, with what they cost in the user's own run."""
    if settings.baseline is not None:
        findings = tuple(baseline.read(settings.baseline).new(findings, snapshot.name))
    return _with_measured(findings, snapshot.path, settings)


def _with_measured(findings: tuple[Finding, ...], path: Path, settings: Settings) -> tuple[Finding, ...]:
    """The findings with what they cost in the run that the settings name, if that can be read."""
    if settings.measured is None:
        return findings
    try:
        return own_costs.read(settings.measured, _MEASURED).join(findings, path)
    except ConfigError:
        return findings  # what is wrong with it has been said


def _around(path: Path, folders: Iterable[Path]) -> Path | None:
    """The innermost of the open folders that holds the path."""
    holding = [folder for folder in folders if path.is_relative_to(folder)]
    return max(holding, key=lambda folder: len(folder.parts), default=None)


def _place(snapshot: Snapshot, config: Config, around: Path | None) -> Path | None:
    """The folder of the cache: the one of `check` in the open folder, and none beside a file that belongs to none."""
    if not snapshot.saved:
        return None
    if around is not None:
        return cache_folder(around)
    return config.path.parent / NAME if config.path is not None else None


def _said(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
