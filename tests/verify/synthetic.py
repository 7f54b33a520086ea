"""Evidence that nobody measured: documents in the form of evidence files, made up for tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

WINDOW = 10
RESIDENT = 600_000_000
VERSIONS = {"tensorflow": "9.8.7", "keras": "6.5.4", "python": "3.21.0", "tflint-perf": "0.0.0"}
CPU = {"kind": "cpu", "name": "CPU (synthetic)", "driver": None, "memory": 8_000_000_000}
GPU = {"kind": "gpu", "name": "Synthetic GPU", "driver": "1.2.3", "memory": 80_000_000_000}


def run(
    step: float,
    *,
    steps: int = 100,
    growth: float = 1.0,
    leak: int = 0,
    tensors: float = 0.0,
    traces: int = 1,
    device: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """A run whose steps take `step` seconds in the middle, and in the end `growth` times as long as at first."""
    starts = range(0, steps, WINDOW)
    windows = [
        [at, WINDOW, WINDOW * step * (2 + 2 * (growth - 1) * at / steps) / (growth + 1)] for at in starts
    ]
    return {
        "first_step": 0.5,
        "step": step,
        "windows": windows,
        "memory": [[at, RESIDENT + leak * at] for at in (0, *(start + WINDOW for start in starts))],
        "counts": [[at, 100 + round(tensors * at), traces, 50] for at in starts],
        "growth": growth,
        "growth_low": growth * 0.99,
        "growth_high": growth * 1.01,
        "host_bytes_per_step": float(leak),
        "live_tensors_per_step": tensors,
        "device_memory": dict(device) if device else None,
        "traces": traces,
        "graph_ops": 50,
        "wall": 3.0,
        "samples_per_step": None,
    }


def result(
    slow: dict[str, Any] | None = None,
    fast: dict[str, Any] | None = None,
    *,
    value: float | None = 17.2,
    verdict: str = "confirmed",
    reason: str = "",
    metric: str = "step time",
    kind: str = "ratio",
    least: float = 2.0,
    needs_gpu: bool = False,
    pairs: int = 2,
) -> dict[str, Any]:
    """An experiment of equal pairs that came to `value`, five percent either way."""
    both = {"slow": slow or run(0.0172), "fast": fast or run(0.001)}
    return {
        "verdict": verdict,
        "reason": reason,
        "claim": {
            "metric": metric,
            "kind": kind,
            "least": least,
            "tolerance": 1e-5,
            "needs_gpu": needs_gpu,
            "steps": None,
        },
        "effect": None if value is None else {"value": value, "low": value * 0.95, "high": value * 1.05},
        "losses": {"agree": True, "difference": 2e-7},
        "steps": 100,
        "pairs": [both] * (0 if value is None else pairs),
    }


def not_measurable() -> dict[str, Any]:
    return result(
        value=None,
        verdict="not measurable",
        reason="needs a GPU, and none is there",
        metric="device memory",
        needs_gpu=True,
    )


def document(
    results: Mapping[str, Any], device: Mapping[str, Any] = CPU, date: str = "2030-01-02"
) -> dict[str, Any]:
    """What one run of the experiments left behind."""
    return {
        "schema": 1,
        "device": dict(device),
        "versions": VERSIONS,
        "date": date,
        "results": dict(results),
    }
