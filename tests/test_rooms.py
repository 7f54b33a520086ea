"""The picture of the rooms in the documentation is made from the code, and shows arrows that lead one way."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def rooms() -> ModuleType:
    spec = importlib.util.spec_from_file_location("rooms", ROOT / "docs" / "rooms.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_picture_is_that_of_the_code(rooms: ModuleType) -> None:
    assert rooms.PICTURE.read_text(encoding="utf-8") == rooms.picture(), "run `python docs/rooms.py`"


def test_arrows_lead_downwards(rooms: ModuleType) -> None:
    known = rooms.rooms()
    upwards = {
        (room, other)
        for room in known
        for other in rooms.asked(room, known)
        if known.index(other) < known.index(room)
    }
    # Parts of the analysis that are given the whole model.
    assert {other for _, other in upwards} <= {"analysis.model"}
    assert {room.partition(".")[0] for room, _ in upwards} <= {"analysis"}


def test_every_room_says_what_it_answers(rooms: ModuleType) -> None:
    known = rooms.rooms()
    folders = {path.parent.name for path in (ROOT / "tflint_perf").glob("*/__init__.py")}
    assert folders - {"analysis"} <= set(known)
    assert [room for room in known if len(rooms.says(room)) < 12] == []
