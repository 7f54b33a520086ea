"""Linting on a Dask cluster: a scheduler and two workers, each a process as somebody starts it by hand, or a fork."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.commandline import CLEAN, SLOW, CommandLine
from tests.forked import Forks, Process, clusters, linters
from tflint_perf import __version__

pytestmark = pytest.mark.slow

# Nobody imports it here: it leaves threads behind, and a process with threads is not forked by tests that count on it.
if find_spec("distributed") is None:
    pytest.skip("distributed is not installed", allow_module_level=True)

ROOT = Path(__file__).parent.parent
PATIENCE = 600
MAIN = "from tflint_perf.commands import main; main()"
# One worker that dies of a file is enough; and nothing is to be done while there is nothing to do.
DASK = {
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1",
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "1s",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "10s",
}
# Groups of files in the code base.
GROUPS = 12
# A step whose caller is in another file.
STEP = """\
import gc

import tensorflow as tf


def learn{number}(batch):
    gc.collect()
    return tf.shape(batch)
"""
LOOP = """\
import tensorflow as tf

from step{number} import learn{number}

model = tf.keras.Sequential()
model.compile(loss="mse")
for batch in tf.data.Dataset.range(9).batch(3):
    model.train_on_batch(batch, batch)
    learn{number}(batch)
"""


def environment(**variables: str) -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith("TFLINT_PERF_")}
    return ours | {"NO_COLOR": "1"} | variables


@cache
def asking() -> Forks:
    """What a cluster and those that ask it are forked of, with the variables of `DASK`."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in DASK.items():
            patch.setenv(name, value)
        assert clusters().nursery is not None or not hasattr(os, "fork")
    return clusters()


@dataclass(slots=True)
class Cluster:
    """A scheduler, and workers in a folder that has nothing to do with the files."""

    folder: Path
    processes: list[Process | subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._start("scheduler", "--port=0", "--host=127.0.0.1", f"--scheduler-file={self.file}")
        end = time.monotonic() + PATIENCE
        while not (self.file.exists() and self.file.read_bytes()):
            assert time.monotonic() < end, "the scheduler did not start"
            time.sleep(0.1)

    @property
    def file(self) -> Path:
        return self.folder / "scheduler.json"

    @property
    def address(self) -> str:
        address: str = json.loads(self.file.read_text())["address"]
        return address

    def worker(self, *more: str, **variables: str) -> int:
        """Start a worker, and give the id of its process."""
        own = ("--nthreads=1", "--no-nanny", "--no-dashboard", f"--local-directory={self.folder}")
        return self._start("worker", self.address, *own, *more, **variables)

    def _start(self, what: str, *arguments: str, **variables: str) -> int:
        """Start a fork; what is to import something else, or starts a Python itself, is one of its own."""
        command = ["-m", f"distributed.cli.dask_{what}", *arguments]
        given = environment(**DASK | variables)
        with (self.folder / "log").open("ab") as log:
            process = (
                subprocess.Popen(
                    [sys.executable, *command], cwd=self.folder, env=given, stdout=log, stderr=log
                )
                if variables or "--nanny" in arguments
                else asking().start(*command, folder=self.folder, variables=given, log=log)
            )
        self.processes.append(process)
        return process.pid

    def wait_for(self, workers: int) -> None:
        """Wait until so many workers are there; this process shall have no threads, so another one asks."""
        file = self.folder / "wait.py"
        file.write_text(
            "import sys; from distributed import Client; Client(sys.argv[1]).wait_for_workers(int(sys.argv[2]), 500)"
        )
        waited = asking().run(
            file.name, self.address, str(workers), folder=self.folder, variables=environment()
        )
        assert waited.returncode == 0, waited.stderr

    def close(self) -> None:
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()


@pytest.fixture
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster without workers."""
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    yield cluster
    cluster.close()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster of two workers."""
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    cluster.worker()
    cluster.worker()
    cluster.wait_for(2)
    yield cluster
    cluster.close()


@pytest.fixture
def code(tflint_perf: CommandLine) -> Path:
    """A code base of some dozens of files, in which findings depend on callers in other files."""
    tflint_perf.write("pyproject.toml", "[tool.tflint-perf]\nselect = ['TFP1', 'TFP4', 'TFP0']\n")
    tflint_perf.write("deep/tflint-perf.toml", "select = ['TFP406']\n")
    for number in range(GROUPS):
        folder = "deep" if number % 2 else "src"
        tflint_perf.write(f"{folder}/slow{number}.py", SLOW)
        tflint_perf.write(f"{folder}/clean{number}.py", CLEAN)
        tflint_perf.write(f"src/step{number}.py", STEP.format(number=number))
        if number % 3:
            tflint_perf.write(f"src/loop{number}.py", LOOP.format(number=number))
    tflint_perf.write("src/broken.py", SLOW + "x = (\n")
    tflint_perf.write("src/nul.py", SLOW + "\0")
    return tflint_perf.folder


def lint(
    folder: Path, *arguments: str, program: str = MAIN, paths: Sequence[str] = ("src", "deep")
) -> subprocess.CompletedProcess[str]:
    """What a run of the linter gives, in a fork; one that starts a cluster has a Python of its own."""
    if "--engine=dask" not in arguments:
        command = ("-m", "tflint_perf", "check", *arguments, *paths)
        return linters().run(*command, folder=folder, variables=environment())
    if "--scheduler" in arguments:
        file = folder.parent / f"{folder.name}-program.py"
        file.write_text(program, encoding="utf-8")
        return asking().run(str(file), "check", *arguments, *paths, folder=folder, variables=environment())
    return subprocess.run(
        [sys.executable, "-c", program, "check", *arguments, *paths],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )


def outcome(ran: subprocess.CompletedProcess[str]) -> tuple[int, str, str]:
    return ran.returncode, ran.stdout, ran.stderr


@pytest.mark.parametrize("form", ["full", "json"])
def test_a_cluster_finds_the_same_in_the_same_order(cluster: Cluster, code: Path, form: str) -> None:
    here = lint(code, "--no-cache", f"--output-format={form}")
    there = lint(
        code, "--no-cache", f"--output-format={form}", "--engine=dask", "--scheduler", cluster.address
    )
    assert outcome(there) == outcome(here)
    assert here.returncode == 2  # of the NUL byte
    assert here.stdout.count("TFP406") >= GROUPS + GROUPS * 2 // 3


def test_what_workers_find_is_kept_here(cluster: Cluster, code: Path) -> None:
    there = lint(code, "--engine=dask", "--scheduler", cluster.address)
    # To find out that nothing is left to do, nobody need be asked.
    warm = lint(code, "--engine=dask", "--scheduler", "tcp://127.0.0.1:1", "--exclude=nul.py")
    without = lint(code, "--no-cache", "--exclude=nul.py")
    assert there.stdout.count("TFP406") == without.stdout.count("TFP406")
    assert outcome(warm) == outcome(without)


def test_a_worker_that_is_killed_on_the_way_changes_nothing(empty: Cluster, code: Path) -> None:
    empty.worker()
    victim = empty.worker()
    empty.wait_for(2)
    killing = f"""
import os, signal
from tflint_perf.project.cluster import Dask

real = Dask.lint

def lint(self, work, *rest):
    Dask.lint = real
    assert len(self._client.nthreads()) == 2
    for number, result in enumerate(real(self, work, *rest)):
        if number == 10:
            os.kill({victim}, signal.SIGKILL)
        yield result

Dask.lint = lint
{MAIN}
"""
    there = lint(
        code, "--no-cache", "--engine=dask", "--scheduler", empty.address, program=killing, paths=["src"]
    )
    assert outcome(there) == outcome(lint(code, "--no-cache", paths=["src"]))
    killed = next(process for process in empty.processes if process.pid == victim)
    assert killed.wait(PATIENCE) == -signal.SIGKILL


DYING = """\
import os

from tflint_perf.project import cluster

from tflint_perf.project import linting as project


def lint_file(job, *rest):
    if job.path.name == "slow6.py":
        os._exit(139)
    return project.lint_file(job, *rest)


cluster.lint_file = lint_file
"""


def test_a_file_that_workers_die_of_is_a_line_and_the_rest_goes_on(empty: Cluster, code: Path) -> None:
    preload = empty.folder / "dying.py"
    preload.write_text(DYING)
    empty.worker("--nanny", "--preload", str(preload))
    empty.wait_for(1)
    there = lint(code, "--no-cache", "--engine=dask", "--scheduler", empty.address, paths=["src"])
    here = lint(code, "--no-cache", "--exclude=slow6.py", paths=["src"])
    why = "the workers that linted it died; it may be nested too deeply"
    assert there.stderr.splitlines() == [*here.stderr.splitlines(), f"tflint-perf: src/slow6.py: {why}"]
    assert (there.returncode, there.stdout) == (2, here.stdout)


def test_without_a_scheduler_a_cluster_is_started_here(code: Path) -> None:
    there = lint(code, "--no-cache", "--engine=dask", "--jobs=2")
    assert outcome(there) == outcome(lint(code, "--no-cache"))


def test_a_worker_without_the_files_is_told(cluster: Cluster, code: Path) -> None:
    # The same words lead each process to another folder.
    path = "/proc/self/cwd/src/slow0.py"
    if not Path("/proc/self/cwd").exists():
        pytest.skip("no path that leads each process elsewhere")
    ran = lint(code, "--no-cache", "--engine=dask", "--scheduler", cluster.address, paths=[path])
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("tflint-perf: --engine dask: worker tcp://127.0.0.1:")
    assert ran.stderr.endswith(
        f": {path} is not the same there; workers must see the same files in the same place\n"
    )


def with_another_version(folder: Path) -> None:
    """A copy of the tool as it is installed, with another version."""
    copy = folder / "tflint_perf"
    shutil.copytree(ROOT / "tflint_perf", copy, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "rules", copy / "rules", ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "fixtures").mkdir()
    shutil.copy(ROOT / "fixtures" / "__init__.py", copy / "fixtures")
    start = copy / "version.py"
    start.write_text(start.read_text().replace(f'"{__version__}"', '"0.0.9"'))


def without_it(folder: Path) -> None:
    """What an import says where nothing is installed."""
    folder.mkdir()
    (folder / "tflint_perf.py").write_text("raise ModuleNotFoundError(\"No module named 'tflint_perf'\")\n")


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (with_another_version, r" has 0\.0\.9 \("),
        (without_it, " can't load tflint-perf: .*No module named 'tflint_perf'"),
    ],
)
def test_a_worker_with_another_version_is_told(
    empty: Cluster, code: Path, make: Callable[[Path], None], what: str
) -> None:
    make(empty.folder / "other")
    empty.worker(PYTHONPATH=str(empty.folder / "other"))
    empty.wait_for(1)
    ran = lint(code, "--no-cache", "--engine=dask", "--scheduler", empty.address)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("tflint-perf: --engine dask: worker tcp://127.0.0.1:")
    assert re.search(what, ran.stderr)
    assert f"; this machine has {__version__} (" in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_a_worker_that_comes_later_with_another_version_says_so(cluster: Cluster) -> None:
    program = (
        "import sys; from distributed import Client; from tflint_perf.project.cluster import lint_there; "
        "print(Client(sys.argv[1]).submit(lint_there, '0.0.9 (x)', b'').result())"
    )
    file = cluster.folder / "later.py"
    file.write_text(program)
    told = asking().run(file.name, cluster.address, folder=cluster.folder, variables=environment()).stdout
    assert told.startswith("worker tcp://127.0.0.1:")
    assert f" has {__version__} (" in told
    assert "; this machine has 0.0.9 (x), and all must have the same" in told


def test_a_cluster_without_workers_is_told(empty: Cluster, code: Path) -> None:
    program = f"from tflint_perf.project import cluster; cluster._SECONDS_WITHOUT_WORKERS = 1; {MAIN}"
    ran = lint(code, "--engine=dask", "--scheduler", empty.address, program=program)
    assert outcome(ran) == (2, "", "tflint-perf: --engine dask: the cluster has no workers\n")


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nowhere://x"])
def test_a_scheduler_that_is_not_there_is_told(code: Path, address: str) -> None:
    program = f"from tflint_perf.project import cluster; cluster._SECONDS_TO_CONNECT = 1; {MAIN}"
    ran = lint(code, "--engine=dask", "--scheduler", address, program=program)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith(f"tflint-perf: --scheduler {address}: ")
    assert ran.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--scheduler=tcp://127.0.0.1:1"], "--scheduler needs --engine dask"),
        (["--engine=dask", "--fix"], "--engine dask: cannot be used with --fix ("),
        (["--engine=dask", "--diff"], "--engine dask: cannot be used with --diff ("),
        (["--engine=dask", "-"], "--engine dask: cannot be used with standard input"),
    ],
)
def test_what_a_cluster_does_not_do_is_one_line_and_exit_code_2(
    tflint_perf: CommandLine, arguments: list[str], message: str
) -> None:
    tflint_perf.write("train.py", SLOW)
    ran = tflint_perf(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"tflint-perf: {message}")
    assert ran.err.count("\n") == 1


def test_without_distributed_it_says_what_is_missing(
    tflint_perf: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    tflint_perf.write("train.py", SLOW)
    monkeypatch.setitem(sys.modules, "distributed", None)
    ran = tflint_perf("--engine=dask")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "tflint-perf: --engine dask: needs distributed; `pip install 'tflint-perf[dask]'` brings it\n"
    )
