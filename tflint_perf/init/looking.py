"""What a project shows of itself: its files by kind, whose code it is, the releases it names, the hooks it has."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tflint_perf.config.files import find_files
from tflint_perf.config.settings import Settings
from tflint_perf.init.versions import named_versions
from tflint_perf.problems import ConfigError
from tflint_perf.project.dependencies import Named
from tflint_perf.project.roots import is_root
from tflint_perf.records import dataclass

HOOKS = ".pre-commit-config.yaml"
BASELINE = "tflint-perf-baseline.json"

_USES = re.compile(rb"\b(?:import|from)\s+(?:tensorflow|keras)\b")
# What builds a graph for a session; in a notebook these words stand in its JSON just so.
_BUILDS_GRAPHS = re.compile(
    rb"\btensorflow\.(?:compat\.v1|contrib)\b|\btf\.(?:compat\.v1|contrib|Session|InteractiveSession|placeholder"
    rb"|get_variable|disable_eager_execution|disable_v2_behavior)\b"
)
# Where a project keeps copies of other people's code.
_OF_OTHERS = re.compile(
    r"_?vendor(?:ed|s)?|(?:third|3rd)[-_]?party|externals|extern|submodules?", re.IGNORECASE
)
_SUBMODULE = re.compile(r"(?m)^\s*path\s*=\s*(\S.*?)\s*$")
_HOOKS_OF_ONE = re.compile(r"(?m)^( *)- +repo:")
_OUR_HOOK = re.compile(r"\bid:\s*['\"]?tflint-perf")


@dataclass(frozen=True, slots=True)
class Files:
    """The files of one kind, and those of them that use TensorFlow or Keras; relative to the project."""

    all: tuple[str, ...] = ()
    using: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Project:
    """What there is.

    `vendored` are folders with code of others, and how many files of it. `indent` is what stands before an entry of
    the hooks' configuration. `failures` are lines.
    """

    folder: Path
    scripts: Files
    notebooks: Files
    tests: Files
    graphs: tuple[str, ...]
    vendored: Mapping[str, int]
    tensorflow: Sequence[Named]
    python: Sequence[Named]
    has_hooks: bool
    has_our_hook: bool
    indent: str
    has_baseline: bool
    is_marked: bool
    failures: tuple[str, ...]


def look(folder: Path, settings: Settings) -> Project:
    """Look at all that would be linted with these settings, and at what is left out as tests."""
    found = find_files([str(folder)], settings)
    linted = {path.relative_to(folder).as_posix() for path in found.files}
    with_tests = find_files([str(folder)], replace(settings, include_tests=True)).files
    everything = [path.relative_to(folder).as_posix() for path in with_tests]
    vendored = _vendored(folder, everything)
    own = [path for path in everything if not path.startswith(tuple(vendored))]
    bytes_of = {path: _bytes(folder / path) for path in own}
    tests = [path for path in own if path not in linted]
    scripts = [path for path in own if path in linted and not path.endswith(".ipynb")]
    notebooks = [path for path in own if path in linted and path.endswith(".ipynb")]
    tensorflow, python = named_versions(folder)
    hooks = _bytes(folder / HOOKS).decode("utf-8", "replace")
    return Project(
        folder,
        _kind(scripts, bytes_of),
        _kind(notebooks, bytes_of),
        _kind(tests, bytes_of),
        graphs=tuple(path for path in (*scripts, *notebooks) if _BUILDS_GRAPHS.search(bytes_of[path])),
        vendored=vendored,
        tensorflow=tensorflow,
        python=python,
        has_hooks=(folder / HOOKS).is_file(),
        has_our_hook=_OUR_HOOK.search(hooks) is not None,
        indent=entry[1] if (entry := _HOOKS_OF_ONE.search(hooks)) else "  ",
        has_baseline=_is_baseline(folder / BASELINE),
        is_marked=any(map(is_root, (folder.resolve(), *folder.resolve().parents))),
        failures=found.failures,
    )


def _kind(paths: Sequence[str], bytes_of: Mapping[str, bytes]) -> Files:
    return Files(tuple(paths), tuple(path for path in paths if _USES.search(bytes_of[path])))


def _vendored(folder: Path, paths: Iterable[str]) -> dict[str, int]:
    """The folders of other people's code, each with a slash at its end."""
    gitmodules = _bytes(folder / ".gitmodules").decode("utf-8", "replace")
    submodules = {f"{path.strip('/')}/" for path in _SUBMODULE.findall(gitmodules)}
    counts: Counter[str] = Counter()
    for path in paths:
        parts = path.split("/")[:-1]
        above = ("/".join(parts[: end + 1]) + "/" for end in range(len(parts)))
        for whole in above:
            if whole in submodules or _OF_OTHERS.fullmatch(whole.rstrip("/").rpartition("/")[2]):
                counts[whole] += 1
                break
    return dict(sorted(counts.items()))


def _is_baseline(path: Path) -> bool:
    from tflint_perf.lint import baseline

    try:
        baseline.read(path)
    except ConfigError:
        return False
    return True


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # linting says so
        return b""
