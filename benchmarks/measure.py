"""One worker of `bench.py`: parses or checks the files that it is told of, and says how long it took.

`parse` and `check` work in two processes that take turns on the same files, so that a machine that slows
down slows down both, and neither sees the other's memory. Time is that of the processor: both are busy all
the time, and what else a machine does is no part of it. Each line on standard input is a JSON list of
paths; each line on standard output is a JSON object.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import process_time
from typing import Any

from tflint_perf.catalogue.rules import catalogue
from tflint_perf.config.settings import Settings


def all_rules_on() -> Settings:
    """Every rule, test files too: nothing is left out but what the screen drops."""
    return Settings(root=Path.cwd(), rules=frozenset(catalogue()), include_tests=True)


def parse(paths: list[Path], settings: Settings) -> dict[str, Any]:
    """Read, screen, and parse what passes: what a linter on libcst cannot do without."""
    import libcst

    from tflint_perf.lint.screen import passes

    start = process_time()
    contents = [path.read_bytes() for path in paths]
    read = process_time()
    passing = [
        (path, data) for path, data in zip(paths, contents, strict=True) if passes(data, settings.rules)
    ]
    screened = process_time()
    unparsable = 0
    for _, data in passing:
        try:
            libcst.parse_module(data)
        except libcst.ParserSyntaxError:
            unparsable += 1
    parsed = process_time()
    return {
        "read": read - start,
        "screen": screened - read,
        "parse": parsed - screened,
        "lines": [data.count(b"\n") for data in contents],
        "passing": [str(path) for path, _ in passing],
        "unparsable": unparsable,
    }


def bare(paths: list[Path], settings: Settings) -> dict[str, Any]:
    """Parse all files with libcst, and do nothing else."""
    import libcst

    contents = [path.read_bytes() for path in paths]
    start = process_time()
    for data in contents:
        with suppress(libcst.ParserSyntaxError):
            libcst.parse_module(data)
    return {"parse": process_time() - start}


def check(paths: list[Path], settings: Settings) -> dict[str, Any]:
    """Lint, as the command does in one process."""
    from tflint_perf.project.linting import lint_files

    start = process_time()
    results = list(lint_files(paths, settings, jobs=1))
    return {
        "check": process_time() - start,
        "findings": {result.path: len(result.findings) for result in results if result.findings},
        "failures": [f"{result.path}: {result.failure}" for result in results if result.failure],
    }


TASKS: dict[str, Callable[[list[Path], Settings], dict[str, Any]]] = {
    "parse": parse,
    "bare": bare,
    "check": check,
}


def main() -> None:
    task = TASKS[sys.argv[1]]
    settings = all_rules_on()
    task([], settings)  # imports what the task needs
    print("{}", flush=True)
    for line in sys.stdin:
        print(json.dumps(task([Path(path) for path in json.loads(line)], settings)), flush=True)


if __name__ == "__main__":
    main()
