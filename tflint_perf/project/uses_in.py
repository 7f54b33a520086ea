"""What the files of a project do with what they import: each is looked through once, several at a time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tflint_perf.analysis.links.summary import Summary, Use
from tflint_perf.errors import SourceError
from tflint_perf.project.forks import spread
from tflint_perf.project.linked import Linked
from tflint_perf.project.mentions import Mentions
from tflint_perf.project.modules import Files
from tflint_perf.text.source import Source

# To start a process costs about as much as to look through a few files.
_MANY = 24


class UsesIn:
    """Answers what a file does with what it imports, or is given of which one of `methods` is asked."""

    def __init__(self, files: Files, mentions: Mentions, methods: frozenset[str], processes: int = 1) -> None:
        self._files = files
        self._mentions = mentions
        self._methods = methods
        self._processes = processes
        self._known: dict[Path, tuple[Use, ...]] = {}

    def prepare(self, files: Sequence[Path]) -> None:
        """Look through files that will be asked about, in as many processes as it pays to start."""
        if self._processes < 2 or len(files) < _MANY:
            return
        for found, heard, summaries in spread(self._look_through, files, self._processes):
            self._known |= found
            self._files.around.hear(heard)
            self._files.adopt(summaries)

    def _look_through(
        self, files: Sequence[Path]
    ) -> tuple[dict[Path, tuple[Use, ...]], set[str], dict[Path, Summary]]:
        """What files do, the names of all that had a say in that, and what others were found to say on the way."""
        before = self._files.known()
        with self._files.around.hearing() as heard:
            found = {file: self._uses(file) for file in files}
        return found, heard, self._files.made_since(before)

    def file(self, file: Path) -> tuple[Use, ...]:
        """What a file does; nothing where it can't be read, or where the model fails on it."""
        known = self._known.pop(file, None)
        return self._uses(file) if known is None else known

    def _uses(self, file: Path) -> tuple[Use, ...]:
        from tflint_perf.lint.asking import InternalError
        from tflint_perf.lint.check import uses_in_source

        try:
            data = file.read_bytes() if file.suffix == ".ipynb" else self._mentions.text(file)
            outside = Linked(self._files, file, sought=self._methods)
            return uses_in_source(Source.from_bytes(data, str(file)), outside)
        except (OSError, SourceError, InternalError):
            return ()
