"""Where the time of linting in one process goes: reading, screen, parse, model, each rule, positions.

The split is sampled, because a deterministic profiler makes Python code look several times dearer than
libcst's native parser. `--functions` adds such a profile: it compares Python functions with each other.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import random
import signal
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, process_time
from types import FrameType

import corpus
from measure import all_rules_on, check

from tflint_perf import stack

INTERVAL = 0.001
DEEPEST = 20_000
# The first stage that has a frame on the stack gets the time; folders and files as they stand in a path.
STAGES = (
    ("suppress", ("tflint_perf/lint/suppress.py",)),
    ("positions and edits", ("tflint_perf/text/positions.py", "tflint_perf/edit/")),
    ("model", ("tflint_perf/analysis/",)),
    ("parse", ("/libcst/_parser/", "/libcst/_nodes/", "/libcst/native", "tflint_perf/abstract/", "/ast.py")),
    (
        "other files",
        (
            "tflint_perf/project/modules.py",
            "tflint_perf/project/summaries.py",
            "tflint_perf/config/resolve.py",
            "tflint_perf/project/linked.py",
        ),
    ),
    ("screen", ("tflint_perf/lint/screen.py",)),
    ("source", ("tflint_perf/text/source.py", "tflint_perf/text/notebook.py")),
    ("reading", ("/pathlib", "tflint_perf/config/files.py")),
)
MODEL = "tflint_perf/analysis/"
OTHER = "other"


class Sampler:
    """Seconds of processor time by stage, and how much of each rule's is spent in the model that it asks."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.in_model: defaultdict[str, float] = defaultdict(float)
        self._last = 0.0

    @contextmanager
    def sampling(self) -> Iterator[None]:
        before = signal.signal(signal.SIGPROF, self._sample)
        self._last = process_time()
        signal.setitimer(signal.ITIMER_PROF, INTERVAL, INTERVAL)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)

    def _sample(self, _signal: int, frame: FrameType | None) -> None:
        # A signal that arrives during a native call is handled when the call is over, so a sample weighs
        # as much as the time since the last one, and all of it belongs to the frame that made the call.
        now = process_time()
        files = []
        while frame is not None:
            files.append(frame.f_code.co_filename.replace("\\", "/"))
            frame = frame.f_back
        stage = stage_of(files)
        self.seconds[stage] += now - self._last
        if any(MODEL in file for file in files):
            self.in_model[stage] += now - self._last
        self._last = now


def stage_of(files: list[str]) -> str:
    """The stage that a stack, given by the files of its frames, belongs to; a rule's file beats all."""
    for file in files:
        folder, _, name = file.rpartition("/")
        if folder.endswith("/rules") and name != "__init__.py":
            return f"rule {name.removesuffix('.py')}"
    for stage, places in STAGES:
        if any(place in file for file in files for place in places):
            return stage
    return OTHER


def show_split(sampler: Sampler) -> None:
    whole = sum(sampler.seconds.values())
    print(f"\n{'stage':<44} {'seconds':>9} {'share':>7} {'of it in the model':>20}")
    for stage, seconds in sorted(sampler.seconds.items(), key=lambda item: -item[1]):
        in_model = f"{sampler.in_model[stage]:.3f}" if stage != "model" and sampler.in_model[stage] else ""
        print(f"{stage:<44} {seconds:>9.3f} {seconds / whole:>6.1%} {in_model:>20}".rstrip())
    if sampler.seconds["parse"]:
        print(f"\nall / parse: {whole / sampler.seconds['parse']:.2f} x")


def show_functions(paths: list[Path], how_many: int) -> None:
    profiler = cProfile.Profile()
    profiler.runcall(check, paths, all_rules_on())
    pstats.Stats(profiler).strip_dirs().sort_stats("tottime").print_stats(how_many)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=corpus.default_folder(), help="folder of the corpus")
    parser.add_argument("--files", type=int, default=600, metavar="N", help="drawn by seed 0; 0 for all")
    parser.add_argument("--functions", type=int, default=0, metavar="N", help="the N dearest functions too")
    options = parser.parse_args()
    paths = corpus.python_files(corpus.ensure(options.into.resolve()))
    if options.files:
        paths = sorted(random.Random(0).sample(paths, options.files))
    settings = all_rules_on()
    # The signal is the main thread's, so nothing may run on another one's stack.
    stack.on_deep_stack = lambda work: work()
    sys.setrecursionlimit(DEEPEST)
    check(paths[:20], settings)  # imports everything
    sampler = Sampler()
    start = perf_counter()
    with sampler.sampling():
        answer = check(paths, settings)
    print(
        f"{len(paths):,} files, {sum(answer['findings'].values()):,} findings, {perf_counter() - start:.2f} s"
    )
    show_split(sampler)
    if options.functions:
        show_functions(paths, options.functions)
    return 0


if __name__ == "__main__":
    sys.exit(main())
