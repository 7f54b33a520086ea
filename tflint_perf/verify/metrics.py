"""From a child's raw figures to a run, and from a run to the metric that a claim names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

from tflint_perf.rule import Metric
from tflint_perf.verify.records import DeviceMemory, Run
from tflint_perf.verify.statistics import growth, slope

Points = Sequence[tuple[float, float]]
_TENSORS, _TRACES, _OPS = 1, 2, 3


def run_of(measured: Mapping[str, Any]) -> Run:
    """What a child has measured, with the statistics of the run."""
    windows = tuple((int(first), int(steps), float(seconds)) for first, steps, seconds in measured["windows"])
    memory = tuple((int(step), int(size)) for step, size in measured["memory"])
    counts = tuple(
        (int(step), int(live), int(traces), int(ops)) for step, live, traces, ops in measured["counts"]
    )
    rates = growth(_step_times(windows))
    device = measured["device_memory"]
    return Run(
        first_step=measured["first_step"],
        step=median(time for _, time in _step_times(windows)) if windows else measured["first_step"],
        windows=windows,
        memory=memory,
        counts=counts,
        growth=rates.value,
        growth_low=rates.low,
        growth_high=rates.high,
        host_bytes_per_step=slope(memory[1:]).value,
        live_tensors_per_step=slope([(row[0], row[_TENSORS]) for row in counts]).value if counts else None,
        device_memory=DeviceMemory(**device) if device else None,
        traces=measured["traces"],
        graph_ops=counts[-1][_OPS] if counts else None,
        wall=measured["wall"],
        samples_per_step=measured["samples_per_step"],
    )


def _step_times(windows: Sequence[tuple[int, int, float]]) -> list[tuple[float, float]]:
    return [(first + steps / 2, seconds / steps) for first, steps, seconds in windows]


def _grown(run: Run) -> list[tuple[float, float]]:
    """Resident bytes above what there was before the first step."""
    (_, before), *later = run.memory
    return [(step, max(size - before, 1)) for step, size in later]


def _counted(column: int) -> Callable[[Run], Points]:
    return lambda run: [(row[0], max(row[column], 1)) for row in run.counts]


def _device(name: str) -> Callable[[Run], float | None]:
    return lambda run: getattr(run.device_memory, name, None)


# One figure of a run; None where it could not be measured. Counts are at least 1, so that there is a ratio.
VALUES: Mapping[Metric, Callable[[Run], float | None]] = {
    "step time": lambda run: run.step,
    "time per sample": lambda run: run.step / (run.samples_per_step or 1),
    "first step": lambda run: run.first_step,
    "traces": lambda run: max(run.traces, 1),
    "graph ops": lambda run: None if run.graph_ops is None else max(run.graph_ops, 1),
    "live tensors": lambda run: max(run.counts[-1][_TENSORS], 1) if run.counts else None,
    "host memory": lambda run: max(size for _, size in _grown(run)),
    "device memory": _device("reserved"),
    "peak device memory": _device("peak"),
}

# What a claim of growth looks at: (step, value), the warm-up left out.
SERIES: Mapping[Metric, Callable[[Run], Points]] = {
    "step time": lambda run: _step_times(run.windows),
    "time per sample": lambda run: _step_times(run.windows),
    "traces": _counted(_TRACES),
    "graph ops": _counted(_OPS),
    "live tensors": _counted(_TENSORS),
    "host memory": _grown,
}
# Those that stop the run to be counted, so that a claim has to ask for more than the start and the end.
COUNTED = frozenset({"traces", "graph ops", "live tensors"})
