"""What code changes in place."""

from __future__ import annotations

import libcst as cst
import pytest

from tflint_perf.analysis.values.mutations import Written, changed_by_name


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("agent.steps = 1", {"steps"}),
        ("agent.steps += 1", {"steps"}),
        ("table[key] = value", {"table"}),
        ("self.table[key][0], rest = pair", {"table"}),
        ("for self.batch in dataset:\n    pass", {"batch"}),
        ("losses.append(loss)", {"losses"}),
        ("setattr(layer, 'trainable', False)", {"trainable"}),
        ("losses = [loss]", set()),
        ("print(losses)", set()),
    ],
)
def test_places_go_by_the_last_part_of_their_name(code: str, names: set[str]) -> None:
    assert changed_by_name([cst.parse_module(code)]).keys() == names


def test_what_is_left_out_changes_nothing() -> None:
    module = cst.parse_module("losses.append(1)\nlosses.append(2)")
    places = changed_by_name([module])
    first, second = (call for call, _ in places["losses"])
    assert Written(places, frozenset()).get("losses") is first.func.value
    assert Written(places, {first}).get("losses") is second.func.value
    assert Written(places, {first, second}).get("losses") is None
    assert Written(places, frozenset()).get("others") is None
