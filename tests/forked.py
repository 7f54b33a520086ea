"""Programs that run in forks of a process that has its imports behind it, as the scripts of `verify` do.

The import of TensorFlow alone takes seconds of the processor, and most programs here are over in a fraction of one. Of each
kind of program one or more besides is run by a Python that is started for it.
"""

from __future__ import annotations

import asyncio
import atexit
import ctypes
import gc
import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Any, NoReturn

import pytest

import tflint_perf
from tflint_perf.catalogue.registry import house_rules
from tflint_perf.observe import patching
from tflint_perf.observed import process as observed
from tflint_perf.observed.request import Request
from tflint_perf.verify import nursery
from tflint_perf.verify import process as scripts
from tflint_perf.verify.process import DeviceKind, environment

_BOOT = "from tests import forked; forked.main()"
# What the scripts of `verify` import, and what runs them.
_FRAMEWORKS = ("tensorflow", "keras", "tflint_perf.verify.child")
# What a run of a linter imports as it goes, beside the rules; the other commands are no linters.
_ROOMS = ("abstract", "analysis", "catalogue", "config", "edit", "lint", "project", "report", "text")
_LINTERS = (
    "tflint_perf.commands", "tflint_perf.cli.run", "tflint_perf.server.service", "tflint_perf.flake8", "libcst",
    "pygls.lsp.server", "flake8.main.cli", "flake8.plugins.pyflakes", "flake8.plugins.pycodestyle",
)  # fmt: skip
_DASK = ("distributed", "distributed.cli.dask_scheduler", "distributed.cli.dask_worker")
_ON_CPU = {"CUDA_VISIBLE_DEVICES": "-1"}
_CAN_FORK = sys.platform == "linux"
_MOMENT = 0.01
# Of Linux: a program does not outlive the process that is forked.
_SET_PARENT_DEATH_SIGNAL = 1


class Process:
    """A fork, with as much of `subprocess.Popen` as those need who wait for a program."""

    def __init__(self, forked: nursery.Forked) -> None:
        self.pid = forked.pid
        self._forked = forked

    def poll(self) -> int | None:
        """The exit code, None while it runs."""
        return self._forked.poll()

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, once it has ended.

        Raises:
            TimeoutExpired: it has not, in so many seconds.
        """
        begin = time.monotonic()
        while (code := self.poll()) is None:
            if timeout is not None and time.monotonic() - begin > timeout:
                raise subprocess.TimeoutExpired("python", timeout)
            time.sleep(_MOMENT)
        return code

    def kill(self) -> None:
        """End it, and what it started."""
        self._forked.kill()


class Talking(Process):
    """A fork that is talked to, with as much of `subprocess.Popen` as is needed for that."""

    def __init__(self, forked: nursery.Forked, stdin: IO[bytes], stdout: IO[bytes]) -> None:
        super().__init__(forked)
        self.stdin, self.stdout = stdin, stdout


class Serving:
    """A fork that is talked to, with as much of `asyncio.subprocess.Process` as pygls needs."""

    def __init__(self, process: Process, stdout: asyncio.StreamReader, stdin: asyncio.StreamWriter) -> None:
        self.pid, self.stdout, self.stdin = process.pid, stdout, stdin
        self.returncode: int | None = None
        self._process = process

    async def wait(self) -> int:
        """The exit code, once it has ended."""
        while (code := self._process.poll()) is None:
            await asyncio.sleep(_MOMENT)
        if self.returncode is None:
            self.returncode = code
            self.stdin.close()
        return code


class Forks:
    """Runs programs; the process that is forked is started for the first. Where nothing is forked, each gets a Python."""

    def __init__(self, *modules: str) -> None:
        self._modules = modules or _FRAMEWORKS
        self._nursery: nursery.Nursery | None = None

    @property
    def nursery(self) -> nursery.Nursery | None:
        """The process that is forked; it takes the scripts of `verify` as well."""
        if self._nursery is None and _CAN_FORK:
            path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
            boot = [sys.executable, "-c", _BOOT, *self._modules]
            self._nursery = nursery.Nursery(boot, environment("cpu") | path)
        return self._nursery

    def close(self) -> None:
        """End it."""
        if self._nursery is not None:
            self._nursery.close()

    def run(
        self, *command: str, folder: Path, variables: Mapping[str, str] = os.environ, stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """What `python COMMAND…` gives in a folder: a file, or `-m` and a module, and arguments."""
        if self.nursery is None:
            return subprocess.run(
                [sys.executable, *command], cwd=folder, env={**variables, **_ON_CPU}, input=stdin,
                capture_output=True, text=True, check=False,
            )  # fmt: skip
        with (
            tempfile.TemporaryFile() as given,
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
        ):
            given.write(stdin.encode())
            given.seek(0)
            code = self._start(command, folder, variables, (out, err), given).wait()
            printed = []
            for file in (out, err):
                file.seek(0)
                printed.append(file.read().decode())
        return subprocess.CompletedProcess(command, code, *printed)

    def watch(self, request: Request) -> observed.Seen:
        """What `tflint_perf.observed.process.watch` sees of a program whose output is kept."""
        assert request.quiet
        if self.nursery is None:
            return observed.watch(request)

        def start(command: Sequence[str], **how: Any) -> Process:
            return self._start(command[1:], how["cwd"], how["env"], (how["stdout"], how["stderr"]))

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(subprocess, "Popen", start)
            return observed.watch(request)

    def start(
        self, *command: str, folder: Path, variables: Mapping[str, str], log: IO[bytes]
    ) -> Process | subprocess.Popen[bytes]:
        """Start `python COMMAND…`, which writes what it prints into a file, and is not waited for."""
        if self.nursery is None:
            return subprocess.Popen(
                [sys.executable, *command], cwd=folder, env={**variables, **_ON_CPU}, stdout=log, stderr=log
            )
        return self._start(command, folder, variables, (log, log))

    def talk(self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str], **_: Any) -> Talking:
        """Start what is talked to over standard input and output, as `subprocess.Popen` does."""
        (theirs_in, ours_in), (ours_out, theirs_out) = os.pipe(), os.pipe()
        with os.fdopen(theirs_in, "rb") as given, os.fdopen(theirs_out, "wb") as said:
            forked = self._forked(command[1:], cwd, env, (said,), given)
        return Talking(forked, os.fdopen(ours_in, "wb"), os.fdopen(ours_out, "rb"))

    def script(
        self,
        python: str,
        request: Mapping[str, Any],
        device: DeviceKind,
        folder: Path,
        streams: tuple[int, int, int],
        start: Callable[..., subprocess.Popen[bytes]] = scripts._started,
    ) -> nursery.Forked | subprocess.Popen[bytes]:
        """Start what runs a script for `verify` where it gives each a Python of its own; another Python is started indeed."""
        if python != sys.executable or self.nursery is None:
            return start(python, request, device, folder, streams)
        asked = {"script": dict(request), "variables": environment(device)}
        return self.nursery.fork(asked, folder, streams)

    async def serve(self, python: str, *command: str, cwd: Path, env: Mapping[str, str], **_: Any) -> Serving:
        """Start what is talked to over standard input and output, as `asyncio.create_subprocess_exec` does."""
        loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
        (theirs_in, ours_in), (ours_out, theirs_out) = os.pipe(), os.pipe()
        with os.fdopen(theirs_in, "rb") as given, os.fdopen(theirs_out, "wb") as said:
            process = self._start(command, cwd, env, (said,), given)
        await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(ours_out, "rb", 0)
        )
        pipe, protocol = await loop.connect_write_pipe(
            asyncio.streams.FlowControlMixin, os.fdopen(ours_in, "wb", 0)
        )
        return Serving(process, reader, asyncio.StreamWriter(pipe, protocol, None, loop))

    def _start(
        self,
        command: Sequence[str],
        folder: Path,
        variables: Mapping[str, str],
        output: Sequence[IO[bytes]],
        given: IO[bytes] | None = None,
    ) -> Process:
        return Process(self._forked(command, folder, variables, output, given))

    def _forked(
        self,
        command: Sequence[str],
        folder: Path,
        variables: Mapping[str, str],
        output: Sequence[IO[bytes]],
        given: IO[bytes] | None,
    ) -> nursery.Forked:
        assert self.nursery is not None
        request = {"command": list(command), "variables": {**variables, **_ON_CPU}}
        with Path(os.devnull).open("rb") as nothing:
            streams = [stream.fileno() for stream in (given or nothing, *output)]
            return self.nursery.fork(request, folder, streams)


@cache
def linters() -> Forks:
    """What linters are forked of: this one, its server, and flake8 with it."""
    made = Forks(*_LINTERS, *_of_linters())
    atexit.register(made.close)
    return made


@cache
def clusters() -> Forks:
    """What schedulers, workers and those that ask them are forked of. Dask reads its variables as it is imported."""
    made = Forks(*_DASK, "tflint_perf.commands", *_of_linters())
    atexit.register(made.close)
    return made


def _of_linters() -> list[str]:
    package = Path(tflint_perf.__file__).parent
    files = [file for room in _ROOMS for file in (package / room).rglob("*.py") if file.stem != "__init__"]
    rooms = [".".join(file.relative_to(package.parent).with_suffix("").parts) for file in files]
    return [*sorted(rooms), *dict.fromkeys(rule.__module__ for rule in house_rules())]


def main() -> None:
    """In the process that is forked, and in each fork of it."""
    for name in sys.argv[1:-1]:
        import_module(name)
    nursery.import_frameworks = lambda: None  # those that are wanted are here
    # What the import has made is not looked through each time that a program collects garbage or counts tensors: that takes
    # longer than to train. Nothing is measured here.
    gc.collect()
    gc.freeze()
    request = nursery.serve(json.loads(sys.argv[-1])["nursery"])
    if "command" not in request:
        from tflint_perf.verify import child

        if "variables" in request:
            os.environ.clear()
            os.environ.update(request["variables"])
            sys.path[:0] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
            request = request["script"]
        sys.argv[1:] = [json.dumps(request)]
        child.main()
    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    # As a new Python opens them: what these were opened for may have been of another kind.
    sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8", closefd=False)  # type: ignore[misc]  # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(  # type: ignore[misc]  # noqa: SIM115
        2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False
    )
    os.environ.clear()
    os.environ.update(request["variables"])
    tempfile.tempdir = None
    patching.Finder = _finder  # type: ignore[assignment, misc]
    try:
        _run(*request["command"])
    except SystemExit as ended:
        if not isinstance(ended.code, int | None):
            raise
        _end(ended.code or 0)
    _end(0)


def _run(target: str, *arguments: str) -> None:
    if target == "-m":
        sys.path[0] = str(Path.cwd())
        sys.argv = list(arguments)
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(Path(target).resolve().parent)
        sys.argv = [target, *arguments]
        runpy.run_path(target, run_name="__main__")


def _end(code: int) -> NoReturn:
    """End as Python does, but free nothing: to take apart all that was imported takes longer than most programs."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


def _finder(hooks: patching.ByModule, make: type[patching.Finder] = patching.Finder) -> patching.Finder:
    """What the observer puts in place as modules are imported, put there at once where they have been."""
    for name, module in list(sys.modules.items()):
        if name in hooks:
            hooks[name](module)
    return make(hooks)
