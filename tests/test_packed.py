"""Plain data as JSON and back."""

from __future__ import annotations

import json
import types
from dataclasses import fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest

from tflint_perf.analysis.links.summary import Summary, Thing, Use
from tflint_perf.analysis.values.caller import Caller
from tflint_perf.finding import Edit, Finding, Fix, Place
from tflint_perf.project.packed import UnpackError, pack, unpack
from tflint_perf.project.remembered import Kept

PLACE = Place(3, 1, 4, None)
FIX = Fix("Do it", (Edit(PLACE, Place(7, 1, 8, 2), "new\n"),), safe=True)
FINDING = Finding("TFP1", "name", "what; remedy", PLACE, PLACE, ("row",), 1, FIX, None)
SUMMARY = Summary(
    {"tf": "tensorflow"}, ("a.b",), {"f": Thing("function", runs=("x",))}, True, frozenset({"b", "a"})
)


@pytest.mark.parametrize(
    "value",
    [
        FINDING,
        Kept((FINDING,), 2, {"A.f": ("::B", "c.D")}),
        SUMMARY,
        Use("a.f", "g", "step", True, Caller("call", "eager", per_step=True)),
        Caller("compile", "compiled", may_be_per_step=True),
    ],
)
def test_what_is_packed_comes_back(value: object) -> None:
    assert unpack(type(value), json.loads(json.dumps(pack(value)))) == value


def samples(kind: Any) -> list[Any]:
    """A value for each kind that a type allows, with something in every field and sequence."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Literal:
        return list(inner)
    if origin in (Union, types.UnionType):
        return [value for part in inner for value in samples(part)]
    if origin in (tuple, frozenset):
        return [origin(samples(inner[0]))]
    if origin is dict:
        return [{"key": value} for value in samples(inner[1])]
    if isinstance(kind, type) and is_dataclass(kind):
        hints = get_type_hints(kind)
        return [kind(**{field.name: samples(hints[field.name])[0] for field in fields(kind)})]
    return [{str: "word", int: 3, float: 0.25, bool: True, type(None): None}[kind]]


@pytest.mark.parametrize(
    "kind", [Finding, Kept, Summary, Use, Caller, dict[str, dict[str, tuple[Caller, ...]]]]
)
def test_every_field_comes_back(kind: Any) -> None:
    for value in samples(kind):
        assert unpack(kind, json.loads(json.dumps(pack(value)))) == value


def altered(value: object, path: tuple[int, ...], new: object) -> Any:
    """A packed value with something else at one place."""
    data = inner = json.loads(json.dumps(pack(value)))
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = new
    return data


@pytest.mark.parametrize(
    ("value", "path", "new"),
    [
        (FINDING, (0,), 1),
        (FINDING, (2,), None),
        (FINDING, (3,), [1, 2, 3]),
        (FINDING, (3, 0), True),
        (FINDING, (3, 3), "2"),
        (FINDING, (5,), "rows"),
        (FINDING, (5, 0), {}),
        (FINDING, (7, 1), [[1, 2, "x"]]),
        (FINDING, (7, 2), 1),
        (SUMMARY, (0,), []),
        (SUMMARY, (2,), {"f": "function"}),
        (Caller("call"), (0,), "eval"),
        (Caller("call"), (0,), ["call"]),
    ],
)
def test_what_is_not_of_the_right_form_is_refused(value: object, path: tuple[int, ...], new: object) -> None:
    with pytest.raises(UnpackError):
        unpack(type(value), altered(value, path, new))


@pytest.mark.parametrize("data", [None, 3, "x", {}, [], [1] * 9])
def test_other_data_is_refused(data: object) -> None:
    with pytest.raises(UnpackError):
        unpack(Finding, data)
