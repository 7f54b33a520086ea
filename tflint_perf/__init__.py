"""Find, explain and fix what makes TensorFlow training scripts slow."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    __version__: str


def __getattr__(name: str) -> str:
    """Look the version up when it is asked for: `importlib.metadata` takes longer to import than click."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("tflint-perf")
    except PackageNotFoundError:  # run from a checkout that was never installed
        return "0+unknown"
