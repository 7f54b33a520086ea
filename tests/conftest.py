"""Fixtures for all tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commandline import CommandLine
from tflint_perf import evidence


@pytest.fixture(autouse=True, scope="session")
def no_evidence_on_record(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests see all rules on, and messages without a cost, whatever was measured last."""
    with pytest.MonkeyPatch.context() as patch:
        empty = tmp_path_factory.mktemp("evidence")
        patch.setattr(evidence, "evidence_folder", lambda: empty)
        evidence.all_evidence.cache_clear()
        yield


@pytest.fixture
def tflint_perf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """The command line in an empty folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "TFLINT_PERF_OUTPUT_FORMAT", "TFLINT_PERF_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    return CommandLine(tmp_path, monkeypatch)
