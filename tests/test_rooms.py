"""The picture of the rooms in the documentation is made from the code, and shows arrows that lead one way."""

from __future__ import annotations

import ast
import importlib.util
import re
from functools import cache
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


@cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


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
    assert not upwards


def test_no_part_of_the_analysis_takes_the_whole_model() -> None:
    analysis = ROOT / "tflint_perf" / "analysis"
    # What a file says to others may be anything that is known of it.
    asking = {analysis / "model.py", *(analysis / "links").glob("*.py")}
    takers = [
        f"{path.relative_to(analysis)}:{node.lineno}: {node.name}"
        for path in sorted({*analysis.rglob("*.py")} - asking)
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef)
        and any(_is_of_model(given) for given in (*node.args.args, *node.args.kwonlyargs))
    ]
    assert takers == []


def test_no_part_of_the_rules_is_made_of_the_whole_model() -> None:
    makers = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sorted((ROOT / "rules").rglob("*.py"))
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef)
        and node.name == "__init__"
        and any(_is_of_model(given) for given in (*node.args.args, *node.args.kwonlyargs))
    ]
    assert makers == []


def test_no_part_names_the_whole_model_among_what_it_is_made_of() -> None:
    named = [
        f"{path.relative_to(ROOT)}:{field.lineno}"
        for folder in ("rules", "tflint_perf/analysis")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for node in nodes(path)
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base) == "Part" for base in node.bases)
        for field in node.body
        if isinstance(field, ast.AnnAssign) and re.search(r"\bModel\b", ast.unparse(field.annotation))
    ]
    assert named == []


def _is_of_model(given: ast.arg) -> bool:
    annotation = ast.unparse(given.annotation) if given.annotation is not None else given.arg
    return re.search(r"\b[Mm]odel\b", annotation) is not None


def test_nothing_asks_a_node_for_its_children_itself() -> None:
    """Files are first looked at without their white space, in trees that libcst's `children` fails on: `syntax.children`."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for room in ("rules", "tflint_perf/analysis")
        for path in sorted((ROOT / room).rglob("*.py"))
        for node in nodes(path)
        if isinstance(node, ast.Attribute) and node.attr == "children"
    ]
    assert not found


def test_every_room_says_what_it_answers(rooms: ModuleType) -> None:
    known = rooms.rooms()
    folders = {path.parent.name for path in (ROOT / "tflint_perf").glob("*/__init__.py")}
    assert folders - {"analysis"} <= set(known)
    assert [room for room in known if len(rooms.says(room)) < 12] == []
