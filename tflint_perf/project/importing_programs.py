"""The programs that a file is part of: the scripts and notebooks that import it, themselves or through other files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tflint_perf.analysis.execution.compiled import turns_eager_on
from tflint_perf.analysis.python.reach import remembered
from tflint_perf.project.modules import Files

# What a file does that is run as a program, whoever imports it besides.
_AS_PROGRAM = re.compile(rb"(?m)^if\b.*__name__")


class ImportingPrograms:
    """Finds them, by which files import another, and by the code of files."""

    def __init__(
        self,
        files: Files,
        importing: Callable[[Path], Iterable[Path]],
        code: Callable[[Path], bytes],
    ) -> None:
        self._files = files
        self._importing = importing
        self._code = code

    def run_eagerly(self, file: Path) -> bool:
        """Whether each program that runs what `file` defines has all compiled functions run in eager mode."""
        programs = list(self._of(file))
        return bool(programs) and all(map(self._turns_eager_on, programs))

    def _of(self, file: Path) -> Iterator[Path]:
        """The programs; in the stead of those that import a module which turns eager mode on, that module."""
        seen, waiting = {file}, [file]
        while waiting:
            current = waiting.pop()
            above = [] if self._is_switch(current) else list(self._importing(current))
            if not above or _AS_PROGRAM.search(self._code(current)):
                yield current
            waiting += (other for other in above if other not in seen)
            seen.update(above)

    def _is_switch(self, file: Path) -> bool:
        """Whether all that imports `file` runs in eager mode."""
        return turns_eager_on(self._code(file))

    @remembered
    def _turns_eager_on(self, program: Path) -> bool:
        behind = self._files.texts.files_behind(program)
        return self._files.summary(program).turns_eager_on or any(map(self._is_switch, behind))
