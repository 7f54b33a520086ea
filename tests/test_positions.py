"""Where nodes stand in the text."""

from __future__ import annotations

import libcst as cst
import pytest

from tflint_perf.text.positions import Positions

CODE = '''\
"""Text."""

# A comment.
@decorator
# Another.
@other(1)
def f(a, b: int = 2) -> int:
    if (a and
            b):  # why
        return (a)
    with open(a) as x, (
        open(b)
    ) as y: pass
\tx = 1; y = 2


class A(B, metaclass=C):
    while True: break
'''.replace("\tx", "    x")


def extents(code: str) -> list[tuple[str, str]]:
    """The header and the whole text of each statement."""
    module = cst.parse_module(code)
    positions = Positions(module, code)
    found = []

    class Visitor(cst.CSTVisitor):
        def on_visit(self, node: cst.CSTNode) -> bool:
            if isinstance(node, cst.BaseSmallStatement | cst.BaseCompoundStatement):
                start = positions.start(node)
                found.append((code[start : positions.header_end(node)], code[start : positions.end(node)]))
            return True

    module.visit(Visitor())
    return found


def test_a_statement_ends_its_header_before_the_colon() -> None:
    assert [header for header, _ in extents(CODE)] == [
        '"""Text."""',
        "@decorator\n# Another.\n@other(1)\ndef f(a, b: int = 2) -> int",
        "if (a and\n            b)",
        "return (a)",
        "with open(a) as x, (\n        open(b)\n    ) as y",
        "pass",
        "x = 1",
        "y = 2",
        "class A(B, metaclass=C)",
        "while True",
        "break",
    ]


def test_the_text_of_a_statement_parses_to_that_statement() -> None:
    for _, text in extents("a = 1\nfor x in y:\n    b()\nelse:\n    c()\ntry:\n    d()\nfinally:\n    e()\n"):
        assert cst.parse_module(text).code == text


@pytest.mark.parametrize("feed", ["\f", "\f\f"])
def test_a_form_feed_in_front_of_a_statement_moves_nothing(feed: str) -> None:
    code = f"a = 1\n{feed}b = 2\n{feed}\nc = 3\n"
    assert [text for _, text in extents(code)] == ["a = 1", "b = 2", "c = 3"]


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
def test_other_line_ends_count_as_they_stand(newline: str) -> None:
    code = newline.join(["a = 1", "if b:", "    c = '''x", "y'''", ""])
    assert extents(code)[-1][1] == f"c = '''x{newline}y'''"


@pytest.mark.parametrize(
    "handler", ["except ValueError :", "except ValueError \\\n    :", "except (A,\n  B) :", "except A as a :"]
)
def test_a_space_in_front_of_the_colon_of_a_handler_moves_nothing(handler: str) -> None:
    code = f"try:\n    a = 1\n{handler}\n    b = 2\nc = 3\n"
    assert [whole for _, whole in extents(code)][1:] == ["a = 1", "b = 2", "c = 3"]
