"""Watches the steps: which are looked at how closely, what is counted between them, and when it is enough.

Steps run in one of these modes, in turn, so that what the observer itself costs can be told:

- `plain`: only the marks that tell that a step is over
- `timed`: the thread that looks where the program is runs too
- `close`: every op, copy, conversion, file and so on is timed and laid to its line
- `profiled`: TensorFlow's own profiler runs, which knows what goes on inside compiled functions
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Hashable, Sequence
from time import perf_counter
from types import FrameType
from typing import Any

from tflint_perf.observe import samples
from tflint_perf.observe.clock import FEW, Clock
from tflint_perf.observe.ledger import Ledger
from tflint_perf.observe.profile import Profile
from tflint_perf.observe.sampler import Sampler
from tflint_perf.observe.user_code import Places, Row

FIRST, WARM_UP, PLAIN, TIMED, CLOSE, PROFILED, DISTURBED = range(7)
MODES = ("first", "warm-up", "plain", "timed", "close", "profiled", "disturbed")

_WARM_UP_STEPS = 3
# Steps in a row in one mode: many enough that the change of modes does not count, in seconds and in steps.
_BLOCK_SECONDS, _BLOCK_LEAST, _BLOCK_MOST = 0.05, 4, 400
_CLOSE_STEPS, _CLOSE_UNEVEN, _PROFILED_STEPS, _PROFILES = 3, 12, 8, 2
# Where the mean step takes so many times as long as the median one, what steps do differs.
UNEVEN = 1.5
# Of the time of the run, at most so much is looked at closely.
_CLOSE_SHARE = 0.1
_SAMPLES = 8
_STOPS = 5
# What comes each time so few steps are over is a part of them.
_SHORT_EPOCH = 5


class Stop(SystemExit):
    """It is enough: the program is left as by `sys.exit`, so that it can put its things in order."""


class Watcher:
    """One for a process. Hooks call `mark`; `start` and `finish` are called by whoever runs the program."""

    def __init__(
        self,
        places: Places,
        *,
        steps: int | None,
        seconds: float | None,
        details: bool,
        began: float,
        optimizers: int = 0,
    ) -> None:
        self.places = places
        self.clock = Clock(places, self._on_step, self._begin_again)
        self.ledger = Ledger()
        self.looks = Sampler(places)
        self.profile = Profile()
        self.began = began
        self.first_step: float | None = None
        self.thread = threading.main_thread().ident or 0
        # Set in a process that the program has forked: it is left alone.
        self.forked = False
        self.mode = FIRST
        self.steps: list[tuple[float, float, int, int]] = []
        # Of each step, how many ops and functions were started while timers were in place; and so far in this one.
        self.work: list[int] = []
        self.started = 0
        self.samples: list[tuple[int, int, int, int, int, int]] = []
        self.memory: list[tuple[int, int]] = []
        # The loop in a compiled function whose rounds are the updates.
        self.loop_in_graph: Row | None = None
        self.notes: dict[str, None] = {}
        self.ever: dict[tuple[str, str, str, int], list[float]] = {}
        self.traces: list[dict[str, Any]] = []
        self.trace_count = 0
        self.graph_ops = 0
        self.others = 0
        self.holders: list[tuple[str, Row, int]] = []
        self.before_close: list[Callable[[], None]] = []
        self.after_step: list[Callable[[int], None]] = []
        self.ended: str | None = None
        self.end_now: Callable[[str], None] = lambda how: None
        self._most, self._most_seconds, self._details = steps, seconds, details
        # So many optimizers made a step of the run that this one is held against; 0 where there is none.
        self._optimizers = optimizers
        # Updates of the last call that are still to be counted, each as one.
        self._left = 0
        # In a call of Keras's now; and enough steps are over, but the call is not.
        self.is_in_call = self._is_due = False
        self._started = began
        self._first_ended = 0.0
        self._queue: list[int] = []
        self._spent = [0.0] * len(MODES)
        self._profiles = 0
        self._stops = 0
        self._last_tensors: set[int] = set()
        self._first_tensors: set[int] = set()
        self._next_sample = 2
        self._is_counted_again = False
        # How often an epoch was over and steps were not, how long that took, and the step that the last epoch began with.
        self.between: list[float] = []
        self._left_epoch: float | None = None
        self._epoch_began = 0
        # Steps that were counted by what another kind of source showed.
        self._of_others = 0

    @property
    def count(self) -> int:
        """Steps so far."""
        return len(self.steps)

    def begins_last_step(self, kind: str, who: Hashable, frame: FrameType | None) -> bool:
        """Whether the update that comes now is the first of the step that ends what is asked for."""
        return (
            self._most is not None
            and self.count >= max(1, self._most - 1)
            and self.is_watched()
            and self.clock.begins_round(kind, who, frame)
        )

    def leave_out(self, seconds: float) -> None:
        """What took so long is none of the step's time."""
        self._started += seconds

    def is_watched(self) -> bool:
        """Whether this is the process and the thread that the steps are in."""
        return threading.get_ident() == self.thread and not self.forked

    def mark(
        self,
        kind: str,
        who: Hashable,
        frame: FrameType | None,
        updates: int = 1,
        optimizers: int = 1,
        saw: Callable[[int], None] = lambda step: None,
    ) -> None:
        """As `Clock.mark`, for the watched thread alone: the one in which the first update was seen.

        Where runs are compared, each update counts by itself, also those that one call makes: another version may make them one
        by one. `saw` is told the step of the last.
        """
        if self.ended is not None or self.forked:
            return
        ident = threading.get_ident()
        if not self.clock.sources and ident != self.thread:
            self.thread = ident
            self.looks.thread = ident
        if ident != self.thread:
            self.others += updates
            return
        marks = 1 if self._details else updates
        for self._left in reversed(range(marks)):
            if not self._left:
                saw(self.count)
            self.clock.mark(kind, who, frame, updates // marks, max(optimizers, 1))

    def leave_call(self) -> None:
        """A call of Keras's is over."""
        self.is_in_call = False
        if self._is_due and self.is_watched() and self._is_enough(perf_counter()):
            self._stop()

    @property
    def steps_are_updates(self) -> bool:
        """Whether a step is one update by an optimizer, so that all of it is over when it ends. Of several, or by hand, some may follow."""
        return self.clock.kind == "optimizer" and (self._optimizers or self.clock.optimizers) == 1

    def leave_epoch(self) -> None:
        """An epoch is over: what comes until the next one begins is no step's, nor is the step that it is in."""
        is_short = self.count - self._epoch_began < _SHORT_EPOCH
        if is_short or not self._details or self._left_epoch is not None or not self.is_watched():
            return
        self._left_epoch = perf_counter()
        if self.mode == CLOSE:
            self.ledger.forget()
            self._queue.insert(0, CLOSE)
        if self.mode == PROFILED:
            self.profile.forget()
            self._queue = [mode for mode in self._queue if mode != PROFILED]
            self._profiles -= 1
        self.mode = DISTURBED
        self.looks.go(between=True)

    def begin_epoch(self) -> None:
        """An epoch begins."""
        if not self.is_watched():
            return
        self._epoch_began = self.count
        if self._left_epoch is not None:
            self.between.append(perf_counter() - self._left_epoch)
            self._left_epoch = None
            self.looks.pause()

    def leave_loop(self, frame: FrameType | None) -> None:
        """A loop over a dataset is over; where its rounds are the steps, an epoch is."""
        if self._is_of_steps(frame):
            self.leave_epoch()

    def begin_loop(self, frame: FrameType | None) -> None:
        """A loop over a dataset begins; where its rounds are the steps, an epoch does, and the one before may have been broken
        off."""
        if not self._is_of_steps(frame):
            return
        if self._left_epoch is None:
            self.leave_epoch()
            self._left_epoch = None  # nobody knows when it was broken off
            self.looks.pause()
        self.begin_epoch()

    def _is_of_steps(self, frame: FrameType | None) -> bool:
        user = self.places.innermost(frame) if self.count and self.is_watched() else None
        return (
            user is not None and self.places.row(user) == self.clock.loop() and not self.clock.is_in_library()
        )

    def note(
        self, kind: str, what: str, frame: FrameType | None, seconds: float = 0.0, size: float = 0.0
    ) -> None:
        """Something that is rare enough to be counted in every step; after the warm-up only, and by line."""
        if self.count <= _WARM_UP_STEPS or not self.is_watched():
            return
        user = self.places.innermost(frame)
        row = self.places.row(user) if user is not None else ("?", 0)
        if self._left_epoch is not None and row == self.clock.loop():
            return  # of what a library does between epochs by itself
        found = self.ever.setdefault((kind, what, *row), [0, 0.0, 0.0])
        found[0] += 1
        found[1] += max(seconds, 0.0)
        found[2] += size

    def _on_step(self, updates: int) -> None:
        if self._left_epoch is not None:  # by what trains without epochs
            self.begin_epoch()
        # Updates of one call took as long each.
        ended = self._started + (perf_counter() - self._started) / (self._left + 1)
        mode = self.mode
        self.steps.append((ended - self.began, ended - self._started, mode, updates))
        self.work.append(self.started)
        self._spent[mode] += ended - self._started
        if self.first_step is None:
            self.first_step = ended - self.began
            self._first_ended = ended
        self._leave(mode)
        for act in self.after_step:
            act(self.count)
        sampled = self._sample(ended)
        # The last step is looked at as it begins, which one that was counted later was not.
        if not self._is_counted_again and self._is_enough(ended):
            self._stop()
        self._is_counted_again = False
        # What takes long between two steps lets the input get ahead.
        self._enter(DISTURBED if sampled else self._next_mode())
        self.started = 0
        self._started = ended if self._left else perf_counter()

    def _begin_again(self, steps: Sequence[tuple[float, int]] | None) -> None:
        """What a step is was not known yet: forget the steps so far, if they are few.

        Where runs are compared, all count, also those that are counted as something else now.
        """
        few = self.count <= FEW
        if steps is None:
            self._of_others = 0 if few else self.count
            if few:
                self.steps.clear()
                self.work.clear()
        elif self._details:
            if few:
                self.steps.clear()
                self.work.clear()
                self._began_with(steps)
        else:
            del self.steps[self._of_others :], self.work[self._of_others :]
            self.work += [0] * len(steps)
            ended = self.steps[-1][0] if self.steps else 0.0
            for at, updates in steps:
                self.steps.append((at - self.began, at - self.began - ended, WARM_UP, updates))
                ended = at - self.began
            self._began_with(steps)
            self._is_counted_again = True
        if not few:
            return
        self.between.clear()
        self._left_epoch, self._epoch_began = None, 0
        self.samples.clear()
        self.memory.clear()
        self.ever.clear()
        self.ledger.by_step.clear()
        self.ledger.entries.clear()
        self.ledger.events.clear()
        self.ledger.turn(on=False)
        self.looks.pause()
        self.looks.clear()
        self._queue.clear()
        self._next_sample = 2
        if self.mode == PROFILED:
            self.profile.stop()
        self.mode = WARM_UP

    def _began_with(self, steps: Sequence[tuple[float, int]]) -> None:
        if not self._of_others:
            self.first_step = steps[0][0] - self.began if steps else None
            self._first_ended = steps[0][0] if steps else 0.0

    def _is_enough(self, now: float) -> bool:
        if self._left:
            return False
        if not self._details and self.is_in_call and self.clock.is_called_often():
            self._is_due = True  # a version that makes the updates of a call at once has no other end there
            return False
        if self._most is not None and self.count >= self._most and self._is_known():
            self.ended = self.ended or "steps"
        elif self._most_seconds is not None and now - self._first_ended >= self._most_seconds:
            if self._details:
                self.ended = self.ended or "seconds"
            else:
                # Where runs are compared, the last step is looked at as it begins, and which one is the last is told now.
                self._most = self.count + 1
        return self.ended is not None

    def _is_known(self) -> bool:
        """Whether all that make a step have updated: before that, each update of one of them is taken for a step. What is never
        seen is given up after some more."""
        return self.clock.optimizers >= self._optimizers or self.count > (self._most or 0) + 2 * FEW

    def _stop(self) -> None:
        how, self.ended = self.ended, None
        assert how is not None
        self._stops += 1
        self.holders = self._held()
        if self._stops > _STOPS or self.thread != threading.main_thread().ident:
            self.ended = how
            self.end_now(how)
        self.stopped_by = how
        raise Stop(0)

    stopped_by: str | None = None

    # Modes

    def _next_mode(self) -> int:
        if self.count <= _WARM_UP_STEPS:
            return WARM_UP
        if not self._details:
            return PLAIN
        if not self._queue:
            self._queue = self._plan()
        return self._queue.pop(0)

    def _plan(self) -> list[int]:
        """The modes of the next steps."""
        recent = sorted(seconds for _, seconds, _, _ in self.steps[1:][-50:])
        typical = recent[len(recent) // 2]
        # Where some steps do what others don't, a few in a row say little.
        uneven = sum(recent) > UNEVEN * typical * len(recent)
        block = min(max(round(_BLOCK_SECONDS / max(typical, 1e-6)), _BLOCK_LEAST), _BLOCK_MOST)
        if self._most is not None:
            block = min(block, max(_BLOCK_LEAST, (self._most - _WARM_UP_STEPS) // 12))
        plan: list[int] = []
        if self._spent[CLOSE] <= _CLOSE_SHARE * sum(self._spent[1:]):
            while self.before_close:
                self.before_close.pop()()
            plan += [DISTURBED, *[CLOSE] * (_CLOSE_UNEVEN if uneven else _CLOSE_STEPS)]
            if self._profiles < _PROFILES:
                self._profiles += 1
                plan += [PROFILED] * _PROFILED_STEPS + [DISTURBED]
        # What runs first after a closer look alternates.
        first, second = (PLAIN, TIMED) if len(self.steps) % 2 else (TIMED, PLAIN)
        return plan + [first] * block + [second] * block + [second] * block + [first] * block

    def _leave(self, mode: int) -> None:
        if mode == CLOSE:
            self.ledger.end()
        self.looks.pause()

    def _enter(self, mode: int) -> None:
        if self.mode == PROFILED and mode != PROFILED:
            self.profile.stop()
        if mode == PROFILED and self.mode != PROFILED and not self.profile.start():
            mode = DISTURBED
        self.mode = mode
        if mode == CLOSE:
            self.ledger.begin()
        if mode == TIMED:
            self.looks.go()

    # Samples

    def _sample(self, now: float) -> bool:
        """Count what grows, if it is time; whether it was."""
        if self.count == 1 or self.count % 10 == 0:
            self.memory.append((self.count, samples.resident()))
        busy = self.mode in (CLOSE, PROFILED) or self._queue[:1] in ([CLOSE], [PROFILED])
        if self.count < self._next_sample or (busy and self._next_sample):
            return False
        tensors = samples.live_tensors()
        self._last_tensors = {id(tensor) for tensor in tensors}
        if len(self.samples) == 1:
            self._first_tensors = self._last_tensors
        row = (
            self.count,
            samples.resident(),
            len(tensors),
            self.trace_count,
            self.graph_ops,
            samples.device_memory(),
        )
        self.samples.append(row)
        del tensors
        spent = max(now - self._first_ended, 1e-9)
        left = float("inf")
        if self._most is not None:
            left = self._most / _SAMPLES
        if self._most_seconds is not None:
            left = min(left, self._most_seconds / _SAMPLES * self.count / spent)
        ahead = max(5, int(left) if left != float("inf") else self.count)
        # Early, programs are still warming up; a program may also be over before its time.
        self._next_sample = self.count + min(ahead, max(5, self.count))
        return True

    def last_sample(self) -> None:
        """Count once more, at the end."""
        if self.steps and (not self.samples or self.samples[-1][0] < self.count):
            self._next_sample = 0
            self._sample(perf_counter())
            self.holders = self.holders or self._held()

    def _held(self) -> list[tuple[str, Row, int]]:
        """Who holds what has stayed since the sample before, where tensors have become more."""
        if len(self.samples) < 3:
            return []
        (early, _, few, *_), (late, _, many, *_) = self.samples[1], self.samples[-1]
        if many - few < 0.3 * (late - early):
            return []
        # Not those that were there from the start, nor those of the last steps, which may still go.
        kept = self._last_tensors - self._first_tensors
        return samples.holders(kept, self.places, sys._current_frames().get(self.thread))
