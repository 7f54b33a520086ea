"""The tree of a text that is being edited is the one that parsing it whole gives."""

from __future__ import annotations

import random
from pathlib import Path

import libcst as cst
import pytest

from tflint_perf.text.positions import Positions
from tflint_perf.text.trees import EditedTree, whole_module

CODE = """\
# A comment.

import os

x = 1  # one


# Above.
@decorator
# Between.
def f(a):
    if a:
        return 1
    # within
    # deeper

    # last


# Below.
class A:
    b = 1

# Above the last.
for item in x:
    print(item)

# The end.
"""
BITS = ("x", "\n", "    ", "# note\n", "    # deep\n", "(", ")", '"""', "\\\n", "\t", "else:\n    pass\n", "pass\n", "\r\n", "\f",
        "@d\n", "def f():\n  y = 1\n", "class B:\n    b = 1\n\n    # c\n")  # fmt: skip
FIXTURES = Path(__file__).parent.parent / "fixtures"


def nodes(module: cst.Module) -> list[cst.CSTNode]:
    found: list[cst.CSTNode] = []
    waiting: list[cst.CSTNode] = [module]
    while waiting:
        found.append(waiting.pop())
        waiting.extend(found[-1].children)
    return found


def assert_is_whole(tree: EditedTree, text: str) -> bool:
    """Whether a text parses, whose tree has then to be the right one."""
    try:
        whole = whole_module(text)
    except cst.ParserSyntaxError:
        with pytest.raises(cst.ParserSyntaxError):
            tree.of(text)
        return False
    edited = tree.of(text)
    assert whole.deep_equals(edited), text
    expected, positions = Positions(whole, text), Positions(edited, text, tree.extents())
    for one, other in zip(nodes(whole)[1:], nodes(edited)[1:], strict=True):
        assert positions.def_start(other) == expected.def_start(one)
        assert positions.end(other) == expected.end(one)
    return True


@pytest.mark.parametrize(
    ("old", "new", "kept"),
    [
        pytest.param("return 1", "return 12", [0, 1, 3, 4], id="in a function"),
        pytest.param("x = 1", "x = 11", [0, 2, 3, 4], id="a statement"),
        pytest.param("x = 1  # one", "x = 1\ny = 2", [0, 2, 3, 4], id="one more statement"),
        pytest.param("x = 1  # one\n", "", [], id="one less"),
        pytest.param("# Above.", "# Over.", [], id="a comment above"),
        pytest.param("@decorator", "@other", [0, 1, 3, 4], id="a decorator"),
        pytest.param("    # last", "    # last one", [0, 1, 3, 4], id="a comment at an end"),
        pytest.param("    # last", "# last", [], id="one that is no part of the block any more"),
        pytest.param("    b = 1", "  b = 1", [], id="another indentation"),
        pytest.param("    if a:\n        return 1", "  if a:\n      return 1", [], id="another one at first"),
        pytest.param("    print(item)", "    print(item, x)", [0, 1, 2, 3], id="in the last one"),
        pytest.param("print(item)", "print(item)\n", [], id="below the last one"),
        pytest.param("# The end", "# An end", [], id="the end"),
        pytest.param("# A comment", "# One", [], id="the beginning"),
        pytest.param("import os", "import sys", [1, 2, 3, 4], id="the first one"),
        pytest.param("x = 1  # one", "x = 1  # one\f", [], id="a form feed"),
        pytest.param("x = 1  # one", "x = 1  # one\r", [], id="another line end"),
    ],
)
def test_statements_that_have_not_changed_stay(old: str, new: str, kept: list[int]) -> None:
    tree = EditedTree()
    before = tree.of(CODE)
    assert CODE.count(old) == 1
    text = CODE.replace(old, new)
    assert_is_whole(tree, text)
    after = {*tree.of(text).body}
    assert [number for number, statement in enumerate(before.body) if statement in after] == kept


@pytest.mark.parametrize("seed", range(6))
def test_any_edit_gives_the_tree_of_the_whole_text(seed: int) -> None:
    chance = random.Random(seed)
    paths = sorted(FIXTURES.glob("*/slow.py"))
    text = CODE + chance.choice(paths).read_text(encoding="utf-8") * (seed % 2)
    tree = EditedTree()
    tree.of(text)
    for _ in range(40):
        at = chance.randrange(len(text) + 1)
        at = text.rfind("\n", 0, at) + 1 if chance.random() < 0.4 else at
        gone = chance.choice((0, 0, 1, 1, 30))
        new = text[:at] + chance.choice((*BITS, "")) + text[at + gone :]
        text = new if assert_is_whole(tree, new) else text
