"""Small questions about single nodes."""

from __future__ import annotations

import libcst as cst
import pytest

from tflint_perf.abstract import abstract_module
from tflint_perf.analysis.python.syntax import same_code


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("x", "x", True),
        ("x", "y", False),
        ("x[i]", "x [ i ]", True),
        ("x[i]", "(x)[(i)]", True),
        ("x[i]", "x[j]", False),
        ("x[i]", "x[i:]", False),
        ("a.b.c", "a . b.c", True),
        ("a.b", "a.c", False),
        ("i + 1", "i+1", True),
        ("i + 1", "i - 1", False),
        ("a < b", "a <b", True),
        ("a < b", "a <= b", False),
        ("not a", "-a", False),
        ("f(a, b=1)", "f( a,b = 1, )", True),
        ("f(a=1)", "f(b=1)", False),
        ("f(a)", "f(*a)", False),
        ("f(*a)", "f(**a)", False),
        ("f(a)", "f(a, b)", False),
        ("'a'", "'b'", False),
        ("1", "'1'", False),
        ("[a, b]", "[a,\n  b]", True),
        ("[a, b]", "(a, b)", False),
        ("{a: b}", "{a: c}", False),
        ("lambda x: x", "lambda x : x", True),
    ],
)
def test_the_same_code_but_for_white_space_and_brackets(one: str, other: str, same: bool) -> None:
    whole = [cst.parse_expression(text) for text in (one, other)]
    assert same_code(*whole) is same
    made = [value_of(text) for text in (one, other)]
    assert same_code(*made) is same
    assert same_code(made[0], whole[1]) is same


def test_nothing_is_the_same_as_nothing_alone() -> None:
    assert same_code(None, None)
    assert not same_code(cst.Name("a"), None)
    assert not same_code(None, cst.Name("a"))


def value_of(text: str) -> cst.BaseExpression:
    """The expression of a tree that holds code alone."""
    module = abstract_module(f"x = {text}\n")
    assert module is not None
    line = module.body[0]
    assert isinstance(line, cst.SimpleStatementLine)
    assign = line.body[0]
    assert isinstance(assign, cst.Assign)
    return assign.value
