"""Edits made from nodes: what each does to the text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import libcst as cst
import pytest

from tflint_perf.analysis.model import Model
from tflint_perf.analysis.python.syntax import descendants
from tflint_perf.edit import Edit, Editor
from tflint_perf.text.positions import Positions
from tflint_perf.text.source import Source

Node = TypeVar("Node", bound=cst.CSTNode)
Make = Callable[[Editor], "Edit | list[Edit]"]
Case = tuple[str, Make, str]
FOREIGN_NEWLINES = {"unix": "\n", "dos": "\r\n", "old mac": "\r"}


def editor_of(source: Source) -> Editor:
    module = cst.parse_module(source.text)
    return Editor(Model(module, source.text), Positions(module, source.text), source)


def after(before: str, make: Make) -> str:
    """The text once the edits are made."""
    source = Source.from_bytes(before.encode(), "example.py")
    made = make(editor_of(source))
    return source.apply(made if isinstance(made, list) else [made]).encode().decode()


def find(edit: Editor, text: str, kind: type[Node]) -> Node:
    """The first node of a kind whose text begins with `text`."""
    for node in descendants(edit.model.module):
        if isinstance(node, kind) and edit.text(node).startswith(text):
            return node
    raise AssertionError(text)


def statement(edit: Editor, text: str) -> cst.CSTNode:
    """The statement that begins with `text`."""
    return next(node for node in edit.model.walk.at if edit.text(node).startswith(text))


def removing(text: str) -> Make:
    return lambda edit: edit.remove_statement(statement(edit, text))


def removing_arguments(*texts: str) -> Make:
    def make(edit: Editor) -> list[Edit]:
        call = find(edit, "f(", cst.Call)
        return edit.remove_arguments(call, [arg for arg in call.args if edit.text(arg) in texts])

    return make


REPLACED: dict[str, Case] = {
    "an expression": (
        "a = b + 1\n",
        lambda edit: edit.replace(find(edit, "b", cst.Name), "c"),
        "a = c + 1\n",
    ),
    "one in parentheses": (
        "a = (b)\n",
        lambda edit: edit.replace(find(edit, "b", cst.Name), "c"),
        "a = (c)\n",
    ),
    "one of several rows": (
        "a = f(\n    1,\n)  # why\n",
        lambda edit: edit.replace(find(edit, "f(", cst.Call), "2"),
        "a = 2  # why\n",
    ),
    "wrapped": (
        "a = b + 1\n",
        lambda edit: edit.wrap(find(edit, "b + 1", cst.BinaryOperation), "f(", ")"),
        "a = f(b + 1)\n",
    ),
}

INSERTED: dict[str, Case] = {
    "above": (
        "a = 1\nb = 2\n",
        lambda edit: edit.insert_above(statement(edit, "b"), "x = 0\n"),
        "a = 1\nx = 0\nb = 2\n",
    ),
    "above its comments": (
        "a = 1\n# One\n# Two\nb = 2\n",
        lambda edit: edit.insert_above(statement(edit, "b"), "x = 0\n"),
        "a = 1\nx = 0\n# One\n# Two\nb = 2\n",
    ),
    "below its comments": (
        "# One\nb = 2\n",
        lambda edit: edit.insert_above(statement(edit, "b"), "x = 0\n", above_comments=False),
        "# One\nx = 0\nb = 2\n",
    ),
    "above, below a comment that a blank line parts from it": (
        "# One\n\nb = 2\n",
        lambda edit: edit.insert_above(statement(edit, "b"), "x = 0\n"),
        "# One\n\nx = 0\nb = 2\n",
    ),
    "above, at the depth of the block": (
        "if a:\n    b = 2\n",
        lambda edit: edit.insert_above(statement(edit, "b"), "if x:\n    y\n\n"),
        "if a:\n    if x:\n        y\n\n    b = 2\n",
    ),
    "above, at the depth of a block of tabs": (
        "if a:\n\tif c:\n\t\tb = 2\n",
        lambda edit: edit.insert_above(statement(edit, "b"), "x = 0\n"),
        "if a:\n\tif c:\n\t\tx = 0\n\t\tb = 2\n",
    ),
    "above the line of a statement that shares it": (
        "a = 1; b = 2\n",
        lambda edit: edit.insert_above(statement(edit, "b"), "x = 0\n"),
        "x = 0\na = 1; b = 2\n",
    ),
    "above decorators": (
        "@a\ndef f():\n    pass\n",
        lambda edit: edit.insert_above(statement(edit, "@a"), "x = 0\n"),
        "x = 0\n@a\ndef f():\n    pass\n",
    ),
    "above a def": (
        "class A:\n    @a\n    # Why\n    def f(self):\n        pass\n",
        lambda edit: edit.insert_above_def(statement(edit, "@a"), "@x\n"),
        "class A:\n    @a\n    # Why\n    @x\n    def f(self):\n        pass\n",
    ),
    "above an async def": (
        "async def f():\n    pass\n",
        lambda edit: edit.insert_above_def(statement(edit, "async"), "@x\n"),
        "@x\nasync def f():\n    pass\n",
    ),
    "below": (
        "a = 1  # why\nb = 2\n",
        lambda edit: edit.insert_below(statement(edit, "a"), "x = 0\n"),
        "a = 1  # why\nx = 0\nb = 2\n",
    ),
    "below several rows": (
        "a = (\n    1\n)\nb = 2\n",
        lambda edit: edit.insert_below(statement(edit, "a"), "x = 0\n"),
        "a = (\n    1\n)\nx = 0\nb = 2\n",
    ),
    "below the last line of a block": (
        "if a:\n\tb = 2\nc = 3\n",
        lambda edit: edit.insert_below(statement(edit, "b"), "x = 0\n"),
        "if a:\n\tb = 2\n\tx = 0\nc = 3\n",
    ),
    "below a file's last line without its end": (
        "a = 1",
        lambda edit: edit.insert_below(statement(edit, "a"), "x = 0\n"),
        "a = 1\nx = 0\n",
    ),
}

REMOVED: dict[str, Case] = {
    "its own line": ("a = 1\nb = 2\nc = 3\n", removing("b"), "a = 1\nc = 3\n"),
    "several rows": ("a = 1\nb = (\n    2\n)\nc = 3\n", removing("b"), "a = 1\nc = 3\n"),
    "the last line without its end": ("a = 1\nb = 2", removing("b"), "a = 1\n"),
    "a line with a semicolon": ("a = 1;\nb = 2\n", removing("a"), "b = 2\n"),
    "the first of a shared line": ("a = 1; b = 2; c = 3\n", removing("a"), "b = 2; c = 3\n"),
    "the second of a shared line": ("a = 1; b = 2; c = 3\n", removing("b"), "a = 1; c = 3\n"),
    "the last of a shared line": ("a = 1; b = 2; c = 3  # why\n", removing("c"), "a = 1; b = 2  # why\n"),
    "the only one of a block": (
        "if a:\n    b = 2\nelse:\n    c\n",
        removing("b"),
        "if a:\n    pass\nelse:\n    c\n",
    ),
    "the only one of a loop": (
        "for a in b:\n    c = 3  # why\n",
        removing("c"),
        "for a in b:\n    pass  # why\n",
    ),
    "the only one of the line of a block": ("if a: b = 2\n", removing("b"), "if a: pass\n"),
    "one of two on the line of a block": ("if a: b = 2; c = 3\n", removing("b"), "if a: c = 3\n"),
    "with the if that it leaves empty": ("a = 1\nif a:\n    b = 2\nc = 3\n", removing("b"), "a = 1\nc = 3\n"),
    "without an if whose test calls": (
        "a = 1\nif f():\n    b = 2\n",
        removing("b"),
        "a = 1\nif f():\n    pass\n",
    ),
    "without an if that has a comment": (
        "a = 1\nif a:  # why\n    b = 2\n",
        removing("b"),
        "a = 1\nif a:  # why\n    pass\n",
    ),
    "without an if that is all of its block": (
        "for a in b:\n    if a:\n        c = 3\n",
        removing("c"),
        "for a in b:\n    if a:\n        pass\n",
    ),
    "but the comment behind it": ("a = 1\nb = 2  # why\nc = 3\n", removing("b"), "a = 1\n# why\nc = 3\n"),
    "but the comment behind it in a block": (
        "if a:\n    b = 2;  # why\n    c = 3\n",
        removing("b"),
        "if a:\n    # why\n    c = 3\n",
    ),
    "one of the blank lines around it": ("a = 1\n\nb = 2\n\nc = 3\n", removing("b"), "a = 1\n\nc = 3\n"),
    "no blank line on one side only": ("a = 1\nb = 2\n\nc = 3\n", removing("b"), "a = 1\n\nc = 3\n"),
    "the blank line below a file's first line": ("a = 1\n\nb = 2\n", removing("a"), "b = 2\n"),
}

ARGUMENTS: dict[str, Case] = {
    "the only one": ("f(a)\n", removing_arguments("a"), "f()\n"),
    "the first": ("f(a, b, c)\n", removing_arguments("a"), "f(b, c)\n"),
    "one between": ("f(a, b=1, c=2)\n", removing_arguments("b=1"), "f(a, c=2)\n"),
    "the last": ("f(a, b=1)\n", removing_arguments("b=1"), "f(a)\n"),
    "the last with a comma": ("f(\n    a,\n    b=1,\n)\n", removing_arguments("b=1"), "f(\n    a,\n)\n"),
    "behind parentheses": ("f((a), b)\n", removing_arguments("b"), "f((a))\n"),
    "in parentheses": ("f(a, b=((1)))\n", removing_arguments("b=((1))"), "f(a)\n"),
    "neighbours": ("f(a, b, c, d)\n", removing_arguments("b", "c"), "f(a, d)\n"),
    "neighbours at the end": ("f(a, b, c)\n", removing_arguments("b", "c"), "f(a)\n"),
    "two apart": ("f(a, b, c, d)\n", removing_arguments("a", "c"), "f(b, d)\n"),
    "all": ("f(a, b)\n", removing_arguments("a", "b"), "f()\n"),
    "none": ("f(a, b)\n", removing_arguments(), "f(a, b)\n"),
}


@pytest.mark.parametrize(("before", "make", "expected"), REPLACED.values(), ids=REPLACED)
def test_a_node_is_replaced_and_nothing_around_it(before: str, make: Make, expected: str) -> None:
    assert after(before, make) == expected


@pytest.mark.parametrize(("before", "make", "expected"), INSERTED.values(), ids=INSERTED)
def test_lines_are_inserted_at_the_depth_of_the_statement(before: str, make: Make, expected: str) -> None:
    assert after(before, make) == expected


@pytest.mark.parametrize(("before", "make", "expected"), REMOVED.values(), ids=REMOVED)
def test_a_statement_is_removed_with_what_is_its_own(before: str, make: Make, expected: str) -> None:
    assert after(before, make) == expected


@pytest.mark.parametrize(("before", "make", "expected"), ARGUMENTS.values(), ids=ARGUMENTS)
def test_arguments_are_removed_with_their_commas(before: str, make: Make, expected: str) -> None:
    assert after(before, make) == expected


@pytest.mark.parametrize("newline", FOREIGN_NEWLINES.values(), ids=FOREIGN_NEWLINES)
@pytest.mark.parametrize(
    ("before", "make", "expected"),
    [*INSERTED.values(), *REMOVED.values()],
    ids=[*(f"{name} inserted" for name in INSERTED), *(f"{name} removed" for name in REMOVED)],
)
def test_lines_end_as_those_of_the_file_do(before: str, make: Make, expected: str, newline: str) -> None:
    if "\n" not in before:
        newline = "\n"  # the file shows no other
    assert after(before.replace("\n", newline), make) == expected.replace("\n", newline)


IMPORTED = {
    "below the only import": ("import a\n\nx = 1\n", "import a\nNEW\n\nx = 1\n"),
    "below the last of a run": (
        "import a\n\n# Ours\nfrom b import (\n    c,\n)\nx = 1\n",
        "import a\n\n# Ours\nfrom b import (\n    c,\n)\nNEW\nx = 1\n",
    ),
    "above later imports": ("import a\nx = 1\nimport b\n", "import a\nNEW\nx = 1\nimport b\n"),
    "above imports below a function": (
        "import a\ndef f():\n    pass\nimport b\n",
        "import a\nNEW\ndef f():\n    pass\nimport b\n",
    ),
    "above an import below a block that does more": (
        "import a\nif x:\n    import b\n    b.c()\nimport d\n",
        "import a\nNEW\nif x:\n    import b\n    b.c()\nimport d\n",
    ),
    "behind a try that only imports": (
        "import a\ntry:\n    import b\nexcept ImportError:\n    b = None\nimport c\n",
        "import a\ntry:\n    import b\nexcept ImportError:\n    b = None\nimport c\nNEW\n",
    ),
    "behind an if that only imports": (
        "import a\nif TYPE_CHECKING:\n    import b\nimport c\n",
        "import a\nif TYPE_CHECKING:\n    import b\nimport c\nNEW\n",
    ),
    "behind dunder names": (
        "import a\n__all__ = ['x']\n__version__ = '1'\nimport b\n",
        "import a\n__all__ = ['x']\n__version__ = '1'\nimport b\nNEW\n",
    ),
    "behind settings that imports depend on": (
        "import os\nos.environ['A'] = '1'\nos.environ.setdefault('B', '2')\nimport a\nx = 1\n",
        "import os\nos.environ['A'] = '1'\nos.environ.setdefault('B', '2')\nimport a\nNEW\nx = 1\n",
    ),
    "of a run that begins late": (
        "x = 1\nimport a\ny = 2\nimport b\n",
        "x = 1\nimport a\nNEW\ny = 2\nimport b\n",
    ),
    "below a docstring and a future import": (
        '"""Text."""\nfrom __future__ import annotations\nx = 1\n',
        '"""Text."""\nfrom __future__ import annotations\nNEW\nx = 1\n',
    ),
    "below a docstring": ('"""Text."""\nx = 1\n', '"""Text."""\nNEW\nx = 1\n'),
    "on top": ("# Text\n\nx = 1\n", "# Text\n\nNEW\nx = 1\n"),
}


@pytest.mark.parametrize(("before", "expected"), IMPORTED.values(), ids=IMPORTED)
def test_an_import_is_added_to_the_first_run_of_imports(before: str, expected: str) -> None:
    added = after(f"{before}run()\n", lambda edit: edit.add_import("NEW", edit.model.module.body[-1]))
    assert added == f"{expected}run()\n"


@pytest.mark.parametrize(
    ("imports", "spelled"),
    [
        ("import tensorflow as tf", "tf.data.Dataset"),
        ("import tensorflow", "tensorflow.data.Dataset"),
        ("import tensorflow.compat.v2 as tf2", "tf2.data.Dataset"),
        ("from tensorflow import data as d", "d.Dataset"),
        ("from tensorflow.data import Dataset", "Dataset"),
        ("from .tools import *\ntf.zeros(1)", "tf.data.Dataset"),
    ],
)
def test_a_name_is_spelled_as_the_file_imports_it(imports: str, spelled: str) -> None:
    edit = editor_of(Source.from_bytes(f"{imports}\nrun()\n".encode(), "example.py"))
    assert edit.spell("data.Dataset", edit.model.module.body[-1]) == (spelled, [])


def test_a_name_that_the_file_can_not_spell_needs_an_import() -> None:
    source = Source.from_bytes(b"from tensorflow import keras\nrun()\n", "example.py")
    edit = editor_of(source)
    spelled, edits = edit.spell("data.Dataset", edit.model.module.body[-1])
    assert spelled == "tf.data.Dataset"
    assert source.apply(edits).text == "from tensorflow import keras\nimport tensorflow as tf\nrun()\n"


def test_a_name_that_is_imported_later_needs_an_import() -> None:
    source = Source.from_bytes(
        b"import os\nrun()\nimport tensorflow as tf\ndef step():\n    pass\n", "example.py"
    )
    edit = editor_of(source)
    _, call, _, function = edit.model.module.body
    spelled, edits = edit.spell("function", call)
    assert spelled == "tf.function"
    assert source.apply(edits).text.startswith("import os\nimport tensorflow as tf\nrun()\n")
    assert edit.spell("function", function) == ("tf.function", [])


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a = 1\n", "step"),
        ("step = 1\n", "step_2"),
        ("a = step + step_2\n", "step_3"),
        ("import step\n", "step_2"),
        ("def step():\n    pass\n", "step_2"),
        ("def f(step):\n    pass\n", "step_2"),
        ("a = b.step\n", "step"),
    ],
)
def test_a_fresh_name_is_used_nowhere_in_the_file(text: str, name: str) -> None:
    assert editor_of(Source.from_bytes(text.encode(), "example.py")).fresh_name("step") == name


def test_a_fresh_name_is_given_once() -> None:
    edit = editor_of(Source.from_bytes(b"a = 1\n", "example.py"))
    assert [edit.fresh_name("step") for _ in range(3)] == ["step", "step_2", "step_3"]
