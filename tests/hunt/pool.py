"""Processes that run programs: one that dies, hangs or grows old is replaced by a new one."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from queue import Empty, Queue
from typing import Any

_ROOT = Path(__file__).parent.parent.parent
# Each run leaves something behind in a process.
_OLD = 400
_START_S = 120.0

Asked = dict[str, Any]


class Worker:
    """A process that answers questions about programs."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._process: subprocess.Popen[bytes] | None = None
        self._answered = 0
        self._rest = b""

    def ask(self, asked: Asked) -> Asked:
        """The answer; `{"died": reason}` where there is none."""
        if self._process is None or self._answered >= _OLD:
            self._begin()
        assert self._process is not None and self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(asked).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            self.close()
            return {"died": "crashed"}
        line = self._line(self._limit_s + (_START_S if self._answered == 0 else 0.0))
        if line is None:
            self.close()
            return {"died": "hung"}
        if not line:
            self.close()
            return {"died": "crashed"}
        self._answered += 1
        told: Asked = json.loads(line)
        return told

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                with contextlib.suppress(OSError):
                    pipe and pipe.close()
            self._process = None

    def _begin(self) -> None:
        self.close()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.hunt.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=_ROOT,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONHASHSEED": "0"},
        )
        self._answered = 0
        self._rest = b""

    def _line(self, limit_s: float) -> bytes | None:
        """The next line; empty at the end, None where none comes in time."""
        assert self._process is not None and self._process.stdout is not None
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self._process.stdout], [], [], limit_s)
            if not ready:
                return None
            more = os.read(self._process.stdout.fileno(), 1 << 16)
            if not more:
                return b""
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        return line


def answers(asked: Iterable[Asked], jobs: int, limit_s: float = 20.0) -> Iterator[tuple[Asked, Asked]]:
    """Each question with its answer, by so many processes, as they come; questions are taken only as they are needed."""
    source = iter(asked)
    taking = threading.Lock()
    done: Queue[tuple[Asked, Asked] | None] = Queue(maxsize=4 * jobs)
    over = threading.Event()

    def work() -> None:
        worker = Worker(limit_s)
        try:
            while not over.is_set():
                with taking:
                    one = next(source, None)
                if one is None:
                    break
                done.put((one, worker.ask(one)))
        finally:
            worker.close()
            done.put(None)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    left = jobs
    try:
        while left:
            got = done.get()
            if got is None:
                left -= 1
            else:
                yield got
    finally:
        over.set()
        while any(thread.is_alive() for thread in threads):
            with contextlib.suppress(Empty):
                done.get(timeout=0.1)
