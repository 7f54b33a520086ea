"""Fixtures for all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commandline import CommandLine


@pytest.fixture
def tflint_perf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """The command line in an empty folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "TFLINT_PERF_OUTPUT_FORMAT", "TFLINT_PERF_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    return CommandLine(tmp_path, monkeypatch)
