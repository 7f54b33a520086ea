"""Calls that are put into the user's modules, in memory: they tell what was reached, and change nothing else."""

from __future__ import annotations

import builtins
import textwrap
import traceback
from collections.abc import Iterator

import pytest

from tflint_perf.observe.sources import Probes

SOURCE = textwrap.dedent('''\
    """What this is."""
    from __future__ import annotations

    import math


    @staticmethod
    def area(radius):
        """Of a circle."""
        if radius < 0:
            raise ValueError(radius)
        elif radius == 0:
            return 0
        else:
            whole = [math.pi
                     * radius ** 2
                     for _ in range(1)]
        try:
            return whole[0]
        finally:
            global done
            done = True


    class Circle:
        """Round."""

        size = area.__func__(1)


    for round in range(3):
        with open(__file__) as file:
            pass
    while False:
        print("never")
    match round:
        case 2:
            done = area.__func__(2)
    ''')


@pytest.fixture(autouse=True)
def _leave_builtins_alone() -> Iterator[None]:
    yield
    for name in [name for name in vars(builtins) if name.startswith("__tflint_perf")]:
        delattr(builtins, name)


def _run(
    rows: list[int], step: int | None = None, source: str = SOURCE
) -> tuple[Probes, dict[str, object], int]:
    steps = [0]

    def on_step() -> None:
        steps[0] += 1

    probes = Probes({"a.py": rows}, ("a.py", step) if step is not None else None)
    probes.install(on_step)
    names: dict[str, object] = {"__file__": __file__, "__name__": "a"}
    exec(probes.compile(source, "a.py"), names)
    return probes, names, steps[0]


def test_each_row_that_was_reached_is_told() -> None:
    everything = list(range(1, len(SOURCE.splitlines()) + 1))
    probes, names, _ = _run(everything)
    # Not what says nothing, an error that is not raised, a branch that is not taken, and what never runs.
    reached = [row for _, row in probes.reached()]
    assert names["__doc__"] == "What this is."
    assert names["done"] == pytest.approx(12.566, abs=0.001)
    missing = sorted(set(everything) - set(reached))
    assert [
        SOURCE.splitlines()[row - 1].strip() for row in missing if SOURCE.splitlines()[row - 1].strip()
    ] == [
        '"""What this is."""',
        "from __future__ import annotations",
        '"""Of a circle."""',
        "raise ValueError(radius)",
        "return 0",
        "else:",
        "finally:",
        '"""Round."""',
        'print("never")',
    ]


def test_docstrings_and_rows_stay() -> None:
    _, names, _ = _run(list(range(1, 40)))
    area = names["area"]
    assert area.__func__.__doc__ == "Of a circle."  # type: ignore[attr-defined]
    assert names["Circle"].__doc__ == "Round."
    with pytest.raises(ValueError) as caught:
        area.__func__(-1)  # type: ignore[attr-defined]
    assert traceback.extract_tb(caught.tb)[-1].lineno == 11


def test_a_told_loop_counts_its_rounds() -> None:
    row = SOURCE.splitlines().index("for round in range(3):") + 1
    assert _run([], row)[2] == 3


def test_a_told_row_counts_each_time_it_is_reached() -> None:
    row = SOURCE.splitlines().index("        pass") + 1 if "        pass" in SOURCE.splitlines() else 33
    assert _run([], row)[2] == 3


def test_other_files_are_compiled_as_they_are() -> None:
    probes = Probes({"b.py": [1]}, None)
    assert probes.compile("x = 1\n", "a.py") == compile("x = 1\n", "a.py", "exec", dont_inherit=True)


def test_a_name_that_a_class_mangles_is_not_ours() -> None:
    source = "class A:\n    def f(self):\n        return 1\n\n\nvalue = A().f()\n"
    probes, names, _ = _run([3], source=source)
    assert names["value"] == 1
    assert probes.reached() == [("a.py", 3)]
