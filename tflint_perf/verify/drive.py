"""Drives one script's `train(steps)` and times its steps. Runs in the process that trains."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import quantiles
from time import perf_counter_ns
from typing import Any

import numpy as np

from tflint_perf.observe.learned import Learned
from tflint_perf.verify.plan import Plan
from tflint_perf.verify.probes import Gpus, Traces, live_tensors_and_graph_ops, resident

# Steps after the first that are not timed: ten, or three where they are slow.
_WARM_UP, _WARM_UP_LEAST, _WARM_UP_NS = 10, 3, 300_000_000
_WINDOWS = 40
# However slow the steps are, a median needs some windows.
_LEAST_WINDOWS = 5
# A median is known to so much of itself, from so many windows on. The notch of a box plot: McGill, Tukey and Larsen, 1978.
_TOLD, _WINDOWS_TO_TELL, _NOTCH = 0.02, 12, 1.57
# On a GPU the wait at a window's edge must not be what is measured.
_LEAST_STEPS_ON_GPU = 10
# Losses are looked at in all of the first steps, and then here and there.
_ALL_LOSSES, _LATER_LOSSES = 20, 12
_SECOND = 1e9


class ScriptError(Exception):
    """The script does not do what a `train(steps)` must do; the message says what."""


@dataclass(slots=True)
class Measured:
    """The raw figures of a run, as `records.Run` explains them, before any statistics; `yields` counts steps.

    `ended` says that the script was over before all the steps were taken that it was to do.
    """

    first_step: float = 0.0
    windows: list[tuple[int, int, float]] = field(default_factory=list)
    memory: list[tuple[int, int]] = field(default_factory=list)
    counts: list[tuple[int, int, int, int]] = field(default_factory=list)
    losses: list[tuple[int, float]] = field(default_factory=list)
    traces: int = 0
    device_memory: dict[str, int | None] | None = None
    yields: int = 0
    ended: bool = False
    wall: float = 0.0


def drive(
    train: Callable[[int], Iterator[Any]],
    plan: Plan,
    gpus: Gpus,
    traces: Traces,
    learned: Learned | None = None,
) -> Measured:
    """Run the plan. `learned` is told of each step, and writes what was trained at the end of them.

    Raises:
        ScriptError: see there. What the script raises passes through.
    """
    began = perf_counter_ns()
    driver = _Driver(plan, gpus, traces, learned)
    steps = train(plan.steps)
    if not hasattr(steps, "__next__"):
        raise ScriptError("`train` is not a generator: it must yield the loss of each step")
    if driver.warm_up(steps):
        driver.time_windows(steps)
    measured = driver.finish(steps)
    measured.wall = (perf_counter_ns() - began) / _SECOND
    return measured


def number(loss: Any) -> float:
    """A yielded loss as a float; the mean, where it is not a single number.

    Raises:
        ScriptError: it is nothing of the kind.
    """
    try:
        if loss is None:  # which NumPy takes for "not a number"
            raise TypeError
        return float(np.mean(np.asarray(loss, dtype=np.float64)))
    except (TypeError, ValueError, NotImplementedError):
        raise ScriptError(f"`train` yields {type(loss).__name__}, not a loss") from None


def is_told(times: Sequence[float]) -> bool:
    """Whether the median of a run's windows is known: to `_TOLD`, 95 times in 100, by how far their middle half spreads."""
    if len(times) < _WINDOWS_TO_TELL:
        return False
    low, middle, high = quantiles(times, n=4)
    return _NOTCH * (high - low) / math.sqrt(len(times)) <= _TOLD * middle


class _Driver:
    def __init__(self, plan: Plan, gpus: Gpus, traces: Traces, learned: Learned | None) -> None:
        self.measured = Measured(memory=[(0, resident())])
        self._learned = learned
        self._plan = plan
        self._gpus = gpus
        self._traces = traces
        every = 1 if plan.all_losses else max(1, plan.steps // _LATER_LOSSES)
        self._looked_at = {*range(min(_ALL_LOSSES, plan.steps)), *range(0, plan.steps, every)}
        # Tensors, because to make a number of one is to wait for the device.
        self._kept: list[tuple[int, Any]] = []
        self._last: Any = None
        self._warm_step = 0.0

    def warm_up(self, steps: Iterator[Any]) -> bool:
        """The first step, which is timed, and some that are not; False if the script ends there."""
        started = perf_counter_ns()
        if not self._step(steps):
            raise ScriptError("`train` yields nothing")
        self._synchronize()
        first = perf_counter_ns()
        self.measured.first_step = (first - started) / _SECOND
        # A faster script gets through more of them in as much time, and must leave some to be timed.
        to_time = self._plan.last - self.measured.yields - _LEAST_WINDOWS
        most, count = max(1, min(_WARM_UP, self._plan.steps // 5, to_time)), 0
        while count < most and (count < _WARM_UP_LEAST or perf_counter_ns() - first < _WARM_UP_NS):
            if not self._step(steps):
                return False
            count += 1
        self._synchronize()
        self._warm_step = (perf_counter_ns() - first) / _SECOND / count
        self._look_at_losses()
        self._count()
        return True

    def time_windows(self, steps: Iterator[Any]) -> None:
        """The rest of the steps, in windows of as many steps each; the last takes what would be left over."""
        measured, plan = self.measured, self._plan
        size, spent = self._window_size(), 0.0
        due = [plan.steps * part // (plan.samples - 1) for part in range(1, plan.samples - 1)]
        while (left := plan.last - measured.yields) > 0:
            count = size if left >= 2 * size else left
            started = perf_counter_ns()
            if not all(self._step(steps) for _ in range(count)):
                return
            self._synchronize()
            seconds = (perf_counter_ns() - started) / _SECOND
            measured.windows.append((measured.yields - count, count, seconds))
            measured.memory.append((measured.yields, resident()))
            self._look_at_losses()
            if due and due[0] <= measured.yields:
                self._count()
                due = [step for step in due if step > measured.yields]
            spent += seconds
            if self._long_enough(spent):
                return

    def finish(self, steps: Iterator[Any]) -> Measured:
        """The figures from the end. A script that has done its steps goes on, to what it does after its loop."""
        measured = self.measured
        self._synchronize()
        self._look_at_losses()
        self._count()
        measured.traces = self._traces.count
        measured.device_memory = self._gpus.memory()
        self._last = None
        if self._learned is not None:
            self._learned.write()  # before a session is closed
        if measured.yields == self._plan.steps and next(steps, self) is not self:
            raise ScriptError(f"`train({self._plan.steps})` yields more than {self._plan.steps} losses")
        if hasattr(steps, "close"):
            steps.close()
        return measured

    def _step(self, steps: Iterator[Any]) -> bool:
        try:
            loss = next(steps)
        except StopIteration:
            self.measured.ended = True
            return False
        if self.measured.yields in self._looked_at:
            self._kept.append((self.measured.yields, loss))
        self._last = loss
        self.measured.yields += 1
        if self._learned is not None:
            self._learned.after_step(self.measured.yields)
        return True

    def _synchronize(self) -> None:
        self._gpus.synchronize()
        number(self._last)

    def _look_at_losses(self) -> None:
        self.measured.losses += [(step, number(loss)) for step, loss in self._kept]
        self._kept.clear()

    def _count(self) -> None:
        if not self._plan.samples:
            return
        tensors, ops = live_tensors_and_graph_ops()
        self.measured.counts.append((self.measured.yields, tensors, self._traces.count, ops))

    def _long_enough(self, spent: float) -> bool:
        """Whether no more steps are needed, after so many seconds in windows."""
        plan, windows = self._plan, self.measured.windows
        if plan.seconds is None or len(windows) < _LEAST_WINDOWS:
            return False
        if plan.sooner is not None:
            steps, seconds = plan.sooner
            if spent >= seconds and self.measured.yields >= steps:
                return True
        told = plan.told_after is not None and spent >= plan.told_after
        return spent >= plan.seconds or (told and is_told([seconds / count for _, count, seconds in windows]))

    def _window_size(self) -> int:
        left = self._plan.last - self.measured.yields
        size = math.ceil(left / _WINDOWS)
        if self._plan.seconds is not None and self._warm_step > 0:
            size = min(size, math.ceil(self._plan.seconds / _WINDOWS / self._warm_step))
        least = _LEAST_STEPS_ON_GPU if self._gpus.used else 1
        return max(1, min(max(size, least), left // _LEAST_WINDOWS))
