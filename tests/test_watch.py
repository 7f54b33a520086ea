"""`--watch`, as somebody uses it who has it run beside an editor."""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.commandline import CLEAN, SLOW, CommandLine

pytestmark = pytest.mark.slow

pytest.importorskip("watchfiles")

# A machine that does much else may be slow; a test that passes never waits for long.
PATIENCE = 600
# A shell that runs the tests in the background has its children ignore SIGINT.
PROGRAM = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from tflint_perf.commands import main; main()"
)
ROUND = re.compile(r"tflint-perf: \d\d:\d\d:\d\d: (?:(\d+) findings? in (\d+) files?; )?watching for changes")
CLEAR = "\x1b[2J\x1b[1;1H"


class Watching:
    """A run of `tflint-perf --watch`; what it prints, on either stream, is read round by round."""

    def __init__(self, folder: Path, *arguments: str, terminal: bool, program: str) -> None:
        self.folder = folder
        self.terminal = terminal
        if terminal:
            self._reading, writing = os.openpty()
        else:
            self._reading, writing = os.pipe()
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("TFLINT_PERF_")
        }
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, "--watch", *arguments],
            cwd=folder,
            env=environment | {"NO_COLOR": "1", "TERM": "xterm", "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=writing,
            stderr=writing,
        )
        os.close(writing)
        self._unread = ""

    def until(self, wanted: Callable[[str], bool]) -> str:
        """What the first round printed that is as wanted; rounds before it are passed over."""
        end = time.monotonic() + PATIENCE
        seen = []
        while True:
            while found := ROUND.search(self._unread):
                line_end = self._unread.find("\n", found.end())
                if line_end < 0:
                    break
                shown, self._unread = self._unread[:line_end], self._unread[line_end + 1 :]
                if wanted(shown):
                    return shown
                seen.append(shown)
            ready, _, _ = select.select([self._reading], [], [], max(0, end - time.monotonic()))
            data = self._read() if ready else b""
            assert data, f"the round did not come: {seen} {self._unread!r}"
            self._unread += data.decode().replace("\r\n", "\n")

    def _read(self) -> bytes:
        try:
            return os.read(self._reading, 65536)
        except OSError:  # the other end of a terminal is gone
            return b""

    def until_counted(self, findings: int, files: int) -> str:
        """The first round that has so many findings in so many files."""

        def wanted(shown: str) -> bool:
            found = ROUND.search(shown)
            return found is not None and found.groups() == (str(findings), str(files))

        return self.until(wanted)

    def loaded(self) -> str:
        """The names of the libraries that the process has loaded."""
        return Path(f"/proc/{self.process.pid}/maps").read_text()

    def interrupt(self) -> int:
        """Ctrl+C, and the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE)

    def rest(self) -> str:
        """What was printed since the last round that was asked for."""
        while data := self._read():
            self._unread += data.decode().replace("\r\n", "\n")
        return self._unread

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._reading)


Start = Callable[..., Watching]


@pytest.fixture
def start(tflint_perf: CommandLine) -> Iterator[Start]:
    """Start a watch in the folder of the command line."""
    started: list[Watching] = []

    def begin(*more: str, terminal: bool = False, program: str = PROGRAM) -> Watching:
        arguments = ("--output-format=concise", "--select=TFP406,TFP101", *more)
        started.append(Watching(tflint_perf.folder, *arguments, terminal=terminal, program=program))
        return started[-1]

    yield begin
    for watching in started:
        watching.close()


def test_what_changed_is_linted_again_and_all_findings_are_shown(
    tflint_perf: CommandLine, start: Start
) -> None:
    tflint_perf.write("one.py", SLOW)
    tflint_perf.write("two.py", CLEAN)
    watching = start()
    assert "one.py:14:9: TFP406" in watching.until_counted(2, 2)
    tflint_perf.write("two.py", SLOW)
    shown = watching.until_counted(4, 2)
    assert "one.py:14:9: TFP406" in shown
    assert "two.py:14:9: TFP406" in shown
    tflint_perf.write("one.py", CLEAN)
    tflint_perf.write("new/three.py", CLEAN)
    assert "one.py" not in watching.until_counted(2, 3)
    (tflint_perf.folder / "two.py").unlink()
    assert "All checks passed!" in watching.until_counted(0, 2)
    assert watching.interrupt() == 130
    assert watching.rest() == "\n"  # below the ^C that a terminal shows


# Of a clean file libcst parses no more than the strings with values in them.
SHOWN = 'print(f"{tf.function}")\nimport gc\ngc.collect()\n'


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="no way to see what a process has loaded")
def test_what_did_not_change_comes_from_the_cache(tflint_perf: CommandLine, start: Start) -> None:
    for name in ("one.py", "two.py"):
        tflint_perf.write(name, SLOW)
    tflint_perf("--select=TFP406,TFP101")
    watching = start()
    watching.until_counted(4, 2)
    assert "libcst" not in watching.loaded()
    tflint_perf.write("two.py", CLEAN + SHOWN)
    watching.until_counted(2, 2)
    assert "libcst" in watching.loaded(), "nothing was parsed, so this test proves nothing"
    assert watching.interrupt() == 130


def test_without_a_cache_nothing_is_kept_beside_the_files(tflint_perf: CommandLine, start: Start) -> None:
    tflint_perf.write("one.py", SLOW)
    watching = start("--no-cache")
    watching.until_counted(2, 1)
    tflint_perf.write("one.py", CLEAN)
    watching.until_counted(0, 1)
    assert [path.name for path in tflint_perf.folder.iterdir()] == ["one.py"]
    assert watching.interrupt() == 130


def test_a_terminal_shows_the_newest_state_alone(tflint_perf: CommandLine, start: Start) -> None:
    tflint_perf.write("one.py", SLOW)
    watching = start(terminal=True)
    first = watching.until_counted(2, 1)
    assert first.startswith(CLEAR)
    tflint_perf.write("one.py", CLEAN)
    last = watching.until_counted(0, 1)
    assert last.startswith(CLEAR)
    assert last.count(CLEAR) == 1
    assert watching.interrupt() == 130


def test_elsewhere_nothing_is_cleared(tflint_perf: CommandLine, start: Start) -> None:
    tflint_perf.write("one.py", SLOW)
    assert "\x1b" not in start().until_counted(2, 1)


def test_a_changed_configuration_counts_at_once(tflint_perf: CommandLine, start: Start) -> None:
    tflint_perf.write("one.py", SLOW)
    tflint_perf.write("tflint-perf.toml", "extend = 'shared.conf'\n")
    tflint_perf.write("shared.conf", "")
    watching = start()
    watching.until_counted(2, 1)
    tflint_perf.write(
        "tflint-perf.toml", "extend = 'shared.conf'\nper-file-ignores = {'one.py' = ['TFP1']}\n"
    )
    watching.until_counted(1, 1)
    tflint_perf.write("shared.conf", "exclude = ['one.py']\n")
    watching.until_counted(0, 0)
    tflint_perf.write("shared.conf", "exclud = ['one.py']\n")
    assert "shared.conf:1: unknown key `exclud`" in watching.until(lambda shown: "unknown key" in shown)
    tflint_perf.write("shared.conf", "")
    watching.until_counted(1, 1)
    assert watching.interrupt() == 130


def test_a_configuration_above_the_folder_counts_when_it_comes(
    tflint_perf: CommandLine, start: Start
) -> None:
    tflint_perf.write("deep/src/one.py", SLOW)
    watching = start("deep/src")
    watching.until_counted(2, 1)
    tflint_perf.write("tflint-perf.toml", "per-file-ignores = {'deep/' = ['TFP1']}\n")
    watching.until_counted(1, 1)
    assert watching.interrupt() == 130


def test_a_file_that_is_named_is_followed_through_an_editor_s_way_of_saving(
    tflint_perf: CommandLine, start: Start
) -> None:
    path = tflint_perf.write("one.py", SLOW)
    watching = start("one.py")
    watching.until_counted(2, 1)
    for text, count in ((CLEAN, 0), (SLOW, 2), (CLEAN, 0)):
        tflint_perf.write(".one.py.tmp", text).replace(path)
        watching.until_counted(count, 1)
    assert watching.interrupt() == 130


def test_a_file_may_vanish_and_come_back(tflint_perf: CommandLine, start: Start) -> None:
    path = tflint_perf.write("one.py", SLOW)
    tflint_perf.write("two.py", CLEAN)
    watching = start("one.py", "two.py")
    watching.until_counted(2, 2)
    path.unlink()
    assert "one.py: no such file or folder" in watching.until(lambda shown: "no such file" in shown)
    tflint_perf.write("one.py", SLOW)
    watching.until_counted(2, 2)
    assert watching.interrupt() == 130


def test_a_folder_may_vanish_and_come_back(tflint_perf: CommandLine, start: Start) -> None:
    tflint_perf.write("src/one.py", SLOW)
    watching = start("src")
    watching.until_counted(2, 1)
    shutil.rmtree(tflint_perf.folder / "src")
    watching.until(lambda shown: "src: no such file or folder" in shown)
    tflint_perf.write("src/one.py", SLOW)
    watching.until_counted(2, 1)
    tflint_perf.write("src/one.py", CLEAN)
    watching.until_counted(0, 1)
    assert watching.interrupt() == 130


def test_a_file_that_does_not_parse_is_a_finding_until_it_does(
    tflint_perf: CommandLine, start: Start
) -> None:
    tflint_perf.write("one.py", SLOW)
    watching = start()
    watching.until_counted(2, 1)
    tflint_perf.write("one.py", SLOW + "def half(:\n")
    assert "invalid-syntax" in watching.until_counted(1, 1)
    tflint_perf.write("one.py", SLOW)
    watching.until_counted(2, 1)
    assert watching.interrupt() == 130


def test_a_caller_elsewhere_in_the_project_counts(tflint_perf: CommandLine, start: Start) -> None:
    step = SLOW.split("def train")[0] + (
        "def collect(batch):\n    gc.collect()\n    return tf.shape(batch)\n"
    )
    caller = (
        "import tensorflow as tf\n\nfrom lib.step import collect\n\nmodel = tf.keras.Sequential()\n"
        "model.compile(loss='mse')\nfor batch in tf.data.Dataset.range(9).batch(3):\n"
        "    model.train_on_batch(batch, batch)\n    collect(batch)\n"
    )
    tflint_perf.write("pyproject.toml", "")
    tflint_perf.write("lib/__init__.py", "")
    tflint_perf.write("lib/step.py", step)
    watching = start("lib")
    watching.until_counted(0, 2)
    tflint_perf.write("train.py", caller)
    watching.until_counted(1, 2)
    assert watching.interrupt() == 130


def test_changed_rules_count_at_once(tflint_perf: CommandLine, start: Start) -> None:
    tflint_perf.write("one.py", SLOW)
    version = tflint_perf.write("version", "1")
    program = (
        "print('started', flush=True); from pathlib import Path; from tflint_perf.project import cache; "
        f"cache.version = lambda: Path({str(version)!r}).read_text(); {PROGRAM}"
    )
    watching = start(program=program)
    assert "started" in watching.until_counted(2, 1)
    tflint_perf.write("version", "2")
    tflint_perf.write("one.py", CLEAN)
    assert "started" in watching.until_counted(0, 1)
    tflint_perf.write("one.py", SLOW)
    assert "started" not in watching.until_counted(2, 1)
    assert watching.interrupt() == 130


def test_what_no_rule_reads_starts_no_round(tflint_perf: CommandLine, start: Start) -> None:
    tflint_perf.write("one.py", SLOW)
    watching = start()
    watching.until_counted(2, 1)
    for name in ("log.txt", "data/checkpoint.h5", ".git/index.py", "__pycache__/one.py"):
        tflint_perf.write(name, "x")
    time.sleep(2)
    tflint_perf.write("two.py", CLEAN)
    rounds: list[str] = []
    watching.until(lambda shown: bool(rounds.append(shown)) or "in 2 files" in shown)
    assert len(rounds) <= 2  # one for the folders that are new
    assert watching.interrupt() == 130


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--fix"],
            "--watch: cannot be used with --fix, which rewrites files that are being edited; use --diff",
        ),
        (["--config", "fix = true"], "--watch: cannot be used with --fix, "),
        (["-"], "--watch: cannot be used with standard input"),
        (["--add-noqa"], "--watch: cannot be used with --add-noqa"),
        (["--write-baseline=b.json"], "--watch: cannot be used with --write-baseline"),
        (["--show-files"], "--watch: cannot be used with --show-files"),
        (["--engine=dask"], "--watch: cannot be used with --engine dask"),
        (["gone.py"], "--watch: no such file or folder: gone.py"),
        (["--select=nope"], "--select: unknown rule `nope`"),
        (["--config", "fixx = true"], "--config: unknown key `fixx`"),
    ],
)
def test_what_cannot_be_watched_is_one_line_and_exit_code_2(
    tflint_perf: CommandLine, arguments: list[str], message: str
) -> None:
    ran = tflint_perf("--watch", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"tflint-perf: {message}")
    assert ran.err.count("\n") == 1


def test_without_watchfiles_it_says_what_is_missing(
    tflint_perf: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    ran = tflint_perf("--watch")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "tflint-perf: --watch: needs watchfiles; `pip install 'tflint-perf[watch]'` brings it\n"


def test_a_run_that_watches_nothing_imports_no_watcher(tflint_perf: CommandLine) -> None:
    tflint_perf.write("one.py", SLOW)
    program = (
        "import sys; from tflint_perf.commands import run; run(sys.argv[1:]); "
        "print([name for name in ('watchfiles', 'distributed', 'tflint_perf.cli.watch', 'tflint_perf.project.cluster') "
        "if name in sys.modules])"
    )
    for arguments in (["--version"], ["check", "--help"], ["one.py"]):
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments],
            cwd=tflint_perf.folder,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.splitlines()[-1] == "[]"
