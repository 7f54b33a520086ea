"""Dataclasses that are made quickly behave as Python's own do."""

from __future__ import annotations

import ast
import dataclasses
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tflint_perf import records

ROOT = Path(__file__).parent.parent
# What is loaded to lint; the verifier and the editors' server wait for other things.
LINTING = sorted(
    path
    for path in (ROOT / "tflint_perf").rglob("*.py")
    if not {"verify", "server", "observe", "observed", "prove"} & set(path.parts)
    and path.name != "records.py"
)


class Base:
    x: int
    y: str = "y"
    seen: list[int] = dataclasses.field(default_factory=list, compare=False, repr=False)


class WithOwn:
    x: int

    def __repr__(self) -> str:
        return "mine"

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1


class Empty:
    pass


def made(decorate: Callable[..., Any], kind: type[Any], **settings: bool) -> Any:
    own = {name: value for name, value in kind.__dict__.items() if name not in ("__dict__", "__weakref__")}
    return decorate(type(kind.__name__, (), own), **settings)


def answers(kind: Any) -> list[object]:
    """What instances of a class with the fields of `Base` do."""
    one, same, other = kind(1), kind(1), kind(1, "z")
    same.seen.append(3)
    return [
        repr(other),
        one == same,
        one == other,
        one != other,
        one == (1, "y"),
        kind.__hash__ is None,
        kind.__hash__ is not None and kind.__hash__ is not object.__hash__ and hash(one) == hash(same),
        one.seen,
        dataclasses.asdict(other),
        dataclasses.replace(one, x=2).x,
        [field.name for field in dataclasses.fields(one)],
        kind.__match_args__,
        getattr(kind, "__slots__", None),
    ]


@pytest.mark.parametrize("slots", [False, True])
@pytest.mark.parametrize("settings", [{}, {"frozen": True}, {"eq": False}, {"frozen": True, "eq": False}])
def test_instances_do_as_those_of_python(settings: dict[str, bool], slots: bool) -> None:
    quick = made(records.dataclass, Base, slots=slots, **settings)
    assert answers(quick) == answers(made(dataclasses.dataclass, Base, slots=slots, **settings))


def test_of_another_class_is_never_equal() -> None:
    one, other = (made(records.dataclass, Base, frozen=True) for _ in range(2))
    assert one(1) != other(1)


def test_what_a_class_says_itself_stays() -> None:
    kind = made(records.dataclass, WithOwn, frozen=True, slots=True)
    assert (repr(kind(1)), kind(1) == 3, hash(kind(2))) == ("mine", True, 1)


def test_a_class_without_fields() -> None:
    kind = made(records.dataclass, Empty, frozen=True, slots=True)
    assert kind() == kind() and len({kind(), kind()}) == 1 and repr(kind()) == "Empty()"


def test_order() -> None:
    kind = made(records.dataclass, Base, frozen=True, order=True)
    assert sorted([kind(2, "a"), kind(1, "c"), kind(1, "b")]) == [kind(1, "b"), kind(1, "c"), kind(2, "a")]
    with pytest.raises(TypeError):
        _ = kind(1) < (1, "y")


def test_one_that_holds_itself_is_shown() -> None:
    kind = made(records.dataclass, Base, slots=True)
    one = kind(1)
    one.x = one
    assert repr(one) == "Base(x=..., y='y')"


@records.dataclass(frozen=True, slots=True)
class Travelling:
    x: int
    y: tuple[int, ...] = ()


def test_it_travels_between_processes() -> None:
    one = Travelling(1, (2, 3))
    assert pickle.loads(pickle.dumps(one)) == one


@pytest.mark.parametrize("path", LINTING, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_what_is_loaded_to_lint_makes_its_classes_so(path: Path) -> None:
    imports = [node for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.ImportFrom)]
    slow = [node for node in imports if node.module == "dataclasses"]
    assert not any(alias.name == "dataclass" for node in slow for alias in node.names)


NODES = """
from tflint_perf import records
records.make_nodes_quickly()
import dataclasses
import libcst as cst
from libcst.metadata import CodePosition, MetadataWrapper, PositionProvider

kinds = [kind for kind in vars(cst).values() if isinstance(kind, type) and issubclass(kind, cst.CSTNode)]
assert len(kinds) > 150
for kind in kinds:
    assert kind.__hash__ is cst.CSTNode.__hash__, kind
    assert kind.__repr__ is cst.CSTNode.__repr__, kind
    assert kind.__eq__ is cst.CSTNode.__eq__, kind
    assert not kind.__dataclass_params__.frozen, kind
    assert type(kind).__instancecheck__ is type.__instancecheck__, kind
assert cst.CSTNode.__hash__ is object.__hash__
name = cst.Name("x")
assert isinstance(name, cst.BaseExpression) and isinstance(name, cst.CSTNode) and not isinstance(name, cst.Call)
assert isinstance(name, cst.Call | cst.Name) and not isinstance("x", cst.CSTNode)
try:
    cst.BaseExpression()
except TypeError:
    pass
else:
    raise AssertionError("an abstract node was made")
text = open(records.__file__, encoding="utf-8").read()
tree = cst.parse_module(text)
assert tree.code == text
assert tree.deep_clone().code == text and tree.deep_clone() != tree and tree.deep_equals(tree.deep_clone())
assert tree.with_changes(body=tree.body[:1]).code != text
assert repr(cst.Name("x")).startswith("Name(")
# Others keep what Python's own decorator gives them.
assert CodePosition(1, 2) == CodePosition(1, 2)
try:
    CodePosition(1, 2).line = 3
except dataclasses.FrozenInstanceError:
    print("held")
wrapper = MetadataWrapper(tree)
assert wrapper.resolve(PositionProvider)[wrapper.module.body[0]].start.line == 1
"""


def test_libcsts_nodes_stay_what_they_are() -> None:
    run = subprocess.run([sys.executable, "-c", NODES], capture_output=True, text=True, check=False)
    assert (run.stdout, run.stderr) == ("held\n", "")
