"""What loops go over, behind what wraps it."""

from __future__ import annotations

import libcst as cst
import pytest

from tests.analysis.support import model_of
from tflint_perf.analysis.model import Model
from tflint_perf.analysis.values.iterables import (
    counting,
    counts_to,
    is_numbered,
    source,
    sources,
    taken_part,
    with_targets,
)

IMPORTS = (
    "import itertools, tqdm as t, tensorflow_datasets as tfds\nfrom itertools import islice\nfrom tqdm import tqdm\n"
    "from tqdm.auto import trange\nfrom rich.progress import track\nfrom fastprogress import progress_bar as bar\n"
)
BEHIND = {
    "nothing": "for x in xs: pass",
    "a number": "for i, x in enumerate(xs): pass",
    "a bar": "for x in tqdm(xs, total=3): pass",
    "a bar by its module": "for x in t.tqdm(xs): pass",
    "a bar with a keyword": "for x in tqdm(iterable=xs): pass",
    "a bar of rich": "for x in track(xs, 'training'): pass",
    "a bar of fastprogress under another name": "for x in bar(xs): pass",
    "a bar that a file has for itself where there is none": (
        "try:\n    from tqdm import tqdm\nexcept ImportError:\n    def tqdm(x): return x\nfor x in tqdm(xs): pass"
    ),
    "a bar of a module of the project": "from .utils import tqdm as tq\nfor x in tq(xs): pass",
    "a number and a bar": "for i, x in enumerate(tqdm(xs)): pass",
    "a bar and a number": "for i, x in tqdm(enumerate(xs)): pass",
    "a part": "for x in islice(xs, 3): pass",
    "rounds": "for x in itertools.cycle(xs): pass",
    "an iterator": "for x in iter(xs): pass",
    "a copy, backwards": "for x in reversed(list(xs)): pass",
    "an order": "for x in sorted(xs, key=len): pass",
    "arrays of NumPy": "for x in tfds.as_numpy(xs): pass",
    "a method that numbers": "for i, x in xs.enumerate(): pass",
    "arrays by a method": "for x in xs.as_numpy_iterator(): pass",
    "a bar with a name": "progress = tqdm(enumerate(xs))\nfor i, x in progress: pass",
}
NOTHING_BEHIND = {
    "what is put together": "for x in chain(xs, ys): pass",
    "a list with a name, which may be another now": "ys = list(xs)\nfor x in ys: pass",
    "an iterator with a name, of which others may have taken some": "it = iter(xs)\nfor x in it: pass",
    "a function of that name": "def enumerate(x): return x\nfor x in enumerate(xs): pass",
    "hidden arguments": "for x in tqdm(*xs): pass",
    "a bar to update by hand": "for x in tqdm(total=3): pass",
    "a name for itself": "xs = enumerate(xs)\nfor x in ys: pass",
}


def last_loop(model: Model) -> cst.For:
    (*_, node) = model.walk.loops
    assert isinstance(node, cst.For)
    return node


def text(node: cst.CSTNode | None) -> str:
    return cst.Module([]).code_for_node(node) if node is not None else ""


@pytest.mark.parametrize("code", BEHIND.values(), ids=BEHIND.keys())
def test_a_loop_goes_over_the_same_behind(code: str) -> None:
    model = model_of(IMPORTS + code)
    assert text(source(model.infer, last_loop(model).iter)) == "xs"


@pytest.mark.parametrize("code", NOTHING_BEHIND.values(), ids=NOTHING_BEHIND.keys())
def test_a_loop_goes_over_what_stands_there(code: str) -> None:
    model = model_of(IMPORTS + code)
    assert source(model.infer, last_loop(model).iter) is last_loop(model).iter


def test_what_refers_to_itself_comes_to_an_end() -> None:
    model = model_of("def f():\n    xs = enumerate(xs)\n    for x in xs: pass")
    assert text(source(model.infer, last_loop(model).iter)) == "xs"
    assert [text(each) for each in sources(model.infer, last_loop(model).iter)] != []


PARTS = {
    "the element": ("for x in tqdm(xs): pass", (), ("xs", ())),
    "a part of it": ("for x, y in tqdm(xs): pass", (1,), ("xs", (1,))),
    "the number": ("for i, x in enumerate(xs): pass", (0,), None),
    "what is numbered": ("for i, (x, y) in enumerate(xs): pass", (1, 0), ("xs", (0,))),
    "a pair as a whole": ("for pair in enumerate(xs): pass", (), ("enumerate(xs)", ())),
    "the second of two": ("for x, y in zip(xs, ys): pass", (1,), ("ys", ())),
    "a number of pairs": ("for i, (x, y) in enumerate(zip(xs, tqdm(ys))): pass", (1, 1), ("ys", ())),
    "a column": ("for column in zip(*rows): pass", (0,), ("zip(*rows)", (0,))),
}


@pytest.mark.parametrize(("code", "path", "expected"), PARTS.values(), ids=PARTS.keys())
def test_a_part_of_the_target_is_taken_from(
    code: str, path: tuple[int, ...], expected: tuple[str, tuple[int, ...]] | None
) -> None:
    model = model_of(IMPORTS + code)
    found = taken_part(model.infer, last_loop(model).iter, path)
    assert (found if found is None else (text(found[0]), found[1])) == expected


TARGETS = {
    "one": ("for x in tqdm(xs): pass", [("xs", "x")]),
    "two": ("for x, y in zip(xs, ys): pass", [("xs", "x"), ("ys", "y")]),
    "two with a number": ("for i, (x, y) in enumerate(zip(xs, ys)): pass", [("xs", "x"), ("ys", "y")]),
    "a pair that is not taken apart": ("for pair in enumerate(xs): pass", [("xs", "")]),
    "a list, which is made at once": ("for x in list(xs): pass", [("list(xs)", "x")]),
}


@pytest.mark.parametrize(("code", "expected"), TARGETS.values(), ids=TARGETS.keys())
def test_targets_get_elements_of(code: str, expected: list[tuple[str, str]]) -> None:
    model = model_of(IMPORTS + code)
    loop = last_loop(model)
    found = with_targets(model.infer, loop.iter, loop.target)
    assert [(text(given), text(target)) for given, target in found] == expected


COUNTS = {
    "for i in range(3): pass": (True, True),
    "for i in tqdm(range(3)): pass": (True, True),
    "for i in trange(3): pass": (True, True),
    "for i in itertools.count(): pass": (True, True),
    "for i, x in enumerate(xs): pass": (False, True),
    "for i, x in tqdm(enumerate(xs)): pass": (False, True),
    "for x in xs: pass": (False, False),
    "for x, i in zip(xs, range(3)): pass": (False, False),
}


@pytest.mark.parametrize("code", COUNTS)
def test_a_loop_counts_or_numbers(code: str) -> None:
    model = model_of(IMPORTS + code)
    iterable = last_loop(model).iter
    assert (counting(model.infer, iterable) is not None, is_numbered(model.infer, iterable)) == COUNTS[code]


BOUNDS = {
    "for i in range(n): pass": "n",
    "for i in tqdm(range(1, n)): pass": "n",
    "for i in range(n, 0, -1): pass": "n",
    "for i in trange(n): pass": "n",
    "for i in itertools.count(n): pass": "",
    "for i in range(): pass": "",
    "for i in xs: pass": "",
}


@pytest.mark.parametrize("code", BOUNDS)
def test_a_loop_counts_as_far_as(code: str) -> None:
    model = model_of(IMPORTS + code)
    assert text(counts_to(model.infer, last_loop(model).iter)) == BOUNDS[code]
