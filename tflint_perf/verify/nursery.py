"""A process that has imported TensorFlow and is forked for each run, so that a run need not import it again.

A fork of a process that has imported TensorFlow, and has run nothing with it, is as fresh as a process that has just
imported it: TensorFlow starts its runtime, with all its threads, and opens a GPU when the first op asks for it.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

_LONGEST_REQUEST = 1 << 16
_IMPORT_SECONDS = 120.0


class NurseryError(Exception):
    """The process with TensorFlow in it did not come up, or has died."""


class Forked:
    """A process that a nursery forked, with as much of `subprocess.Popen` as is needed to run a script in it."""

    def __init__(self, nursery: Nursery, pid: int) -> None:
        self.pid = pid
        self._nursery = nursery
        self._code: int | None = None

    def poll(self) -> int | None:
        """The exit code, None while it runs."""
        return self._ask(block=False)

    def wait(self) -> int:
        """The exit code, once it has ended."""
        code = self._ask(block=True)
        return code if code is not None else -signal.SIGKILL

    def kill(self) -> None:
        """End it, and what it started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def _ask(self, *, block: bool) -> int | None:
        if self._code is None:
            try:
                self._code = self._nursery.ask({"wait": self.pid, "block": block})["code"]
            except NurseryError:
                self._code = -signal.SIGKILL  # it has gone with the process that it was forked from
        return self._code


class Nursery:
    """The process to fork, seen from outside. `boot` starts a Python that can import this package."""

    def __init__(self, boot: Sequence[str], environment: Mapping[str, str]) -> None:
        ours, theirs = socket.socketpair()
        ours.settimeout(_IMPORT_SECONDS)
        self._socket = ours
        with theirs:
            self._process = subprocess.Popen(
                [*boot, json.dumps({"nursery": theirs.fileno()})],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=dict(environment),
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self._answer()

    def fork(self, request: Mapping[str, Any], folder: Path, streams: Sequence[int]) -> Forked:
        """Start a run of `request` in `folder`, with these for its input, output and errors.

        Raises:
            NurseryError: there is no process to fork.
        """
        answer = self.ask({"fork": {**request, "folder": str(folder)}}, streams)
        return Forked(self, answer["pid"])

    def ask(self, question: Mapping[str, Any], streams: Sequence[int] = ()) -> dict[str, Any]:
        """One question, one answer.

        Raises:
            NurseryError: none came.
        """
        data = json.dumps(question).encode()
        try:
            socket.send_fds(self._socket, [data], list(streams))
        except OSError as error:
            raise NurseryError(str(error)) from None
        return self._answer()

    def close(self) -> None:
        """End the process."""
        self._socket.close()
        self._process.kill()
        self._process.wait()

    def _answer(self) -> dict[str, Any]:
        try:
            data = self._socket.recv(_LONGEST_REQUEST)
        except OSError as error:
            raise NurseryError(str(error)) from None
        if not data:
            raise NurseryError("ended without an answer")
        answer: dict[str, Any] = json.loads(data)
        return answer


def serve(descriptor: int) -> dict[str, Any]:
    """In the process that is forked: import TensorFlow, and fork whenever asked. Returns, in a fork, its request."""
    import_frameworks()
    with socket.socket(fileno=descriptor) as asked:
        _say(asked, {"ready": True})
        while True:
            data, streams, _, _ = socket.recv_fds(asked, _LONGEST_REQUEST, 3)
            if not data:  # nobody is there any more
                os._exit(0)
            question = json.loads(data)
            if "wait" in question:
                _say(asked, {"code": _exit_code(question["wait"], question["block"])})
                continue
            pid = os.fork()
            if pid == 0:
                _become(question["fork"], streams)
                request: dict[str, Any] = question["fork"]
                return request
            for stream in streams:
                os.close(stream)
            _say(asked, {"pid": pid})


def import_frameworks() -> None:
    """Import what nearly every script imports. Nothing may be run with it yet."""
    with suppress(Exception):  # the script will say so
        import_module("tensorflow")
    with suppress(Exception):
        import_module("keras")


def _become(request: Mapping[str, Any], streams: Sequence[int]) -> None:
    """Make of a fork what a process of its own is."""
    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    os.chdir(request["folder"])


def _exit_code(pid: int, block: bool) -> int | None:
    try:
        found, status = os.waitpid(pid, 0 if block else os.WNOHANG)
    except ChildProcessError:
        return 0
    return os.waitstatus_to_exitcode(status) if found else None


def _say(to: socket.socket, answer: Mapping[str, Any]) -> None:
    to.send(json.dumps(answer).encode())
