"""A child process that runs one script, seen from outside."""

from __future__ import annotations

import json
import os
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import tflint_perf
from tflint_perf.verify.nursery import Forked, Nursery, NurseryError

# What a process is started with: `-c`, this, the folder of this package, and a request as JSON. The current folder is no
# place to import from, and of what lies beside this package another Python takes nothing.
_BOOT = (
    "import sys; from importlib.util import module_from_spec, spec_from_file_location as spec_from; "
    "sys.path[:] = [path for path in sys.path if path]; folder = sys.argv.pop(1); "
    "spec = spec_from('tflint_perf', folder + '/__init__.py', submodule_search_locations=[folder]); "
    "sys.modules['tflint_perf'] = package = module_from_spec(spec); spec.loader.exec_module(package); "
    "from tflint_perf.verify.child import main; main()"
)

DeviceKind = Literal["cpu", "gpu"]
_OUTPUT_LINES = 20
# Enough for an import of TensorFlow on a busy machine, whatever the limit for a run.
_IMPORT_SECONDS = 120.0
# Enough for a process that has its imports behind it to open a GPU.
_FORK_SECONDS = 30.0
_ENVIRONMENT = {
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "PYTHONHASHSEED": "0",
    "PYTHONIOENCODING": "utf-8:backslashreplace",
    "PYTHONUNBUFFERED": "1",
}
# A script says for itself how it takes the GPU's memory: that is what some experiments are about.
_DROPPED = ("TF_FORCE_GPU_ALLOW_GROWTH", "TF_GPU_ALLOCATOR")


class Failure(Exception):  # noqa: N818  # a script that fails is an answer, not an error of ours
    """A run that gave no figures: why, in one line, and the end of what the script wrote."""

    def __init__(self, reason: str, output: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.output = output


class Child:
    """One process, from its start to its answer; `close` ends it in any case.

    It runs in `folder`, and leaves its temporary files in `scratch`. `python` is what runs it where no nursery does.
    """

    def __init__(
        self,
        request: Mapping[str, Any],
        device: DeviceKind,
        folder: Path,
        scratch: Path,
        nursery: Nursery | None = None,
        python: str = sys.executable,
    ) -> None:
        request = {**request, "scratch": str(scratch)}
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        self._answers: queue.Queue[str | None] = queue.Queue()
        theirs_in, ours_in = os.pipe()
        ours_out, theirs_out = os.pipe()
        streams = (theirs_in, theirs_out, self._log.fileno())
        self._input = os.fdopen(ours_in, "w", encoding="utf-8")
        self._process: subprocess.Popen[bytes] | Forked
        try:
            if nursery is not None:
                self._process = nursery.fork(request, folder, streams)
            else:
                self._process = _started(python, request, device, folder, streams)
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        # Ended by the thread that reads it: a file is not to be closed under a read.
        threading.Thread(target=self._listen, args=(ours_out,), daemon=True).start()

    def wait_until_ready(self) -> None:
        """Return once the imports are done.

        Raises:
            Failure: they failed, or took too long.
        """
        self._answer("ready", _IMPORT_SECONDS)

    def begin(self) -> None:
        """Let it run the script."""
        with suppress(OSError):  # it has died, which its answer will tell
            self._input.write("go\n")
            self._input.flush()

    def finish(self, seconds: float, key: str = "measured") -> dict[str, Any]:
        """Its figures.

        Raises:
            Failure: the script failed, or took longer than `seconds`.
        """
        answer: dict[str, Any] = self._answer(key, seconds)
        return answer

    def close(self) -> None:
        """End the process, if it has not ended, and forget what it wrote."""
        self._kill()
        with suppress(OSError):
            self._input.close()
        self._log.close()

    def _answer(self, key: str, seconds: float) -> Any:
        try:
            line = self._answers.get(timeout=seconds)
        except queue.Empty:
            self._kill()
            raise Failure(f"took more than {seconds:g} s", self._output()) from None
        if line is None:
            raise Failure(_death(self._process.wait()), self._output())
        answer = json.loads(line)
        if "failure" in answer:
            raise Failure(answer["failure"], self._output())
        return answer[key]

    def _listen(self, output: int) -> None:
        with os.fdopen(output, encoding="utf-8") as lines:
            for line in lines:
                self._answers.put(line)
        self._answers.put(None)

    def _output(self) -> str:
        self._log.seek(0)
        lines = self._log.read().decode("utf-8", "backslashreplace").splitlines()
        return "\n".join(lines[-_OUTPUT_LINES:])

    def _kill(self) -> None:
        if self._process.poll() is None:
            if isinstance(self._process, Forked):
                self._process.kill()
            elif hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()
        self._process.wait()


def new_nursery(device: DeviceKind = "cpu", python: str = sys.executable) -> Nursery | None:
    """A process with TensorFlow in it to fork for runs on this device; None where there can't be one.

    Whether a fork can use a GPU is for `device.find_place` to try: what its libraries do when they are imported is not written
    down anywhere.
    """
    if not (sys.platform == "linux" and hasattr(socket, "send_fds")):
        return None
    try:
        return Nursery(_boot(python), environment(device))
    except (NurseryError, OSError):
        return None


def described(device: DeviceKind, python: str, nursery: Nursery | None = None) -> dict[str, Any]:
    """Versions and GPUs, as `child.describe` tells them, by a fork of a nursery or a process of its own.

    Raises:
        Failure: TensorFlow, or a GPU that it sees, can't be used.
        NurseryError: there is no process to fork.
    """
    with tempfile.TemporaryDirectory(prefix="tflint-perf-") as scratch:
        child = Child({"describe": True}, device, Path(scratch), Path(scratch), nursery, python)
        try:
            return child.finish(_FORK_SECONDS if nursery else _IMPORT_SECONDS, "described")
        finally:
            child.close()


def _boot(python: str) -> list[str]:
    return [python, "-c", _BOOT, str(Path(tflint_perf.__file__).parent)]


def _started(
    python: str, request: Mapping[str, Any], device: DeviceKind, folder: Path, streams: tuple[int, int, int]
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*_boot(python), json.dumps(request)],
        stdin=streams[0],
        stdout=streams[1],
        stderr=streams[2],
        cwd=folder,
        env=environment(device),
        start_new_session=True,
    )


def environment(device: DeviceKind) -> dict[str, str]:
    """The variables that a script runs with."""
    kept = {name: value for name, value in os.environ.items() if name not in _DROPPED}
    return kept | _ENVIRONMENT | ({"CUDA_VISIBLE_DEVICES": "-1"} if device == "cpu" else {})


def _death(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code} and without an answer"
    name = signal.Signals(-code).name
    hint = ", as the system does when memory runs out" if name == "SIGKILL" else ""
    return f"killed by {name}{hint}"
