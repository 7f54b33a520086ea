"""The code cells of notebooks: magics, other languages, cells that do not parse, and where edits go."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.notebooks import cell, notebook
from tflint_perf.config.settings import Settings
from tflint_perf.finding import Edit
from tflint_perf.lint.check import check_source
from tflint_perf.lint.guards import damage
from tflint_perf.text.source import EditError, Source
from tflint_perf.text.syntax import faults_of_cells


def read(data: bytes) -> Source:
    return Source.from_bytes(data, "n.ipynb")


def inserted(of: Source, at: int, content: str) -> Source:
    return of.apply([Edit(of.place(at), of.place(at), content)])


def removed(of: Source, text: str) -> Source:
    at = of.text.index(text)
    return of.apply([Edit(of.place(at), of.place(at + len(text)), "")])


MAGICS = {
    "%matplotlib inline": "pass#             ",
    "x = 1\n!pip install a b\ny = 2": "x = 1\npass#           \ny = 2",
    "!pip install a \\\n    b\ny": "pass#           \n     \ny",
    "if x:\n    !ls\n    %cd y": "if x:\n    _# \n    pass#",
    "files = !ls": "files = _# ",
    "x = %sql select 1": "x = _#           ",
    "%time model.fit(x)": "pass;  model.fit(x)"[:6] + "model.fit(x)",
    "%time %run x.py": "pass#          ",
    "%timeit f()": "pass#      ",
    "pip install tensorflow": "pass#                 ",
    "?name": "pass#",
    "name?": "pass#",
    "np.array??": "pass#     ",
    "?": "_",
    "%env TF_FORCE_GPU_ALLOW_GROWTH=true": '"TF_FORCE_GPU_ALLOW_GROWTH"#       ',
    "%env CUDA_VISIBLE_DEVICES=-1": '_["CUDA_VISIBLE_DEVICES"]=""',
    "%set_env CUDA_VISIBLE_DEVICES 0": '_["CUDA_VISIBLE_DEVICES"]="0"  ',
    "%env MESSAGE it's": '"MESSAGE"#       ',
    "%env": "pass",
    "%env HOME": "pass#    ",
    "cd ../models": "pass#       ",
    "matplotlib inline": "pass#            ",
    "time model.fit(x)": "pass#            ",
    "cd \\\\models\\\\new": "pass#           ",
    "!!ls": "pass",
    "%%prun -l 5\nx = 1": "pass#      \nx = 1",
    "%%time\nx = 1": "pass# \nx = 1",
    "\n# why\n%%capture out\n%%timeit -n 1\nx = 1": "\n# why\npass#        \npass#        \nx = 1",
}
UNTOUCHED = [
    "s = '''\n%not a magic\n!nor this\nnor this?\n'''\n",
    's = """\n\'\'\'\n!x\n"""',
    "f(a\n  % b)",
    "x = a \\\n % b",
    "print('why?')  # why?",
    "x = y % z\ny != z\nx %= 2",
    "s = 'it\\'s \\\n%no'",
    "s = ['a # b', \"'\"]\nx = 1  # it's",
    "get_ipython().run_line_magic('matplotlib', 'inline')",
    "x: str = 'a = !b'",
    "f(x=1, y='!')",
    "pip = install",
    "ls -l",
    "time - start",
    "history += [\n    1]",
    "run in (\n    1, 2)",
    "cat = 'cd ..'",
]


@pytest.mark.parametrize("source", UNTOUCHED)
def test_what_is_no_magic_stays(source: str) -> None:
    ast.parse(source)
    assert read(notebook(source)).text.rstrip("\n") == source.rstrip("\n")


@pytest.mark.parametrize(("source", "masked"), MAGICS.items())
def test_a_magic_is_masked_by_python_of_the_same_length(source: str, masked: str) -> None:
    of = read(notebook(source))
    assert of.text == masked + "\n"
    assert of.written == source + "\n"
    assert of.lines(1, 1) == (source.split("\n", 1)[0],)
    ast.parse(of.text)


@pytest.mark.parametrize(
    "source",
    [
        "%%bash\nls",
        "%%writefile x.py\nimport a",
        "\n# why\n%%html\n<b>",
        "%%time\n%%bash\nls",
        "%%!\nls -l",
        "%%timer x\nls -l",
    ],
)
def test_a_cell_magic_that_is_not_python_s_takes_the_cell_out(source: str) -> None:
    assert read(notebook(source, "x = 1")).text == "x = 1\n"


KERNELS = {
    '{"name": "python3", "display_name": "Python 3"}': True,
    '{"name": "conda-env-tf2-py", "language": "python"}': True,
    '{"name": "tensorflow2_p36"}': True,
    '{"name": "iridium"}': True,
    '{"name": "ir", "display_name": "R"}': False,
    '{"name": "julia-1.6"}': False,
    '{"name": "swift", "display_name": "Swift"}': False,
    '{"name": "python3", "language": "sos"}': False,
    "null": True,
}


@pytest.mark.parametrize(("kernel", "is_python"), KERNELS.items())
def test_where_no_language_is_said_the_kernel_s_name_tells(kernel: str, is_python: bool) -> None:
    data = b'{"cells": [{"cell_type": "code", "source": "x = 1"}], "metadata": {"kernelspec": %s}}'
    assert read(data % kernel.encode()).text == ("x = 1\n" if is_python else "")


@pytest.mark.parametrize("language", ["R", "julia", "C#"])
def test_a_notebook_in_another_language_has_no_text(language: str) -> None:
    of = read(notebook("x <- 1", language=language))
    assert of.text == ""
    assert of.place(0).cell == 1


def test_a_notebook_without_a_language_is_python() -> None:
    assert read(notebook("x = 1", language=None)).text == "x = 1\n"


def test_a_cell_marked_as_another_language_is_left_out() -> None:
    sql = cell("select 1", metadata={"vscode": {"languageId": "sql"}})
    assert read(notebook(sql, "x = 1")).text == "x = 1\n"


@pytest.mark.parametrize("first", ["%md", "%sql", "%scala", "%sh"])
def test_a_cell_that_databricks_takes_for_another_language_is_left_out(first: str) -> None:
    of = read(notebook(f"{first}\n# A title\nand some words", "x = 1"))
    assert (of.text, of.broken()) == ("x = 1\n", ())


def test_a_cell_under_a_line_magic_stays_where_it_is_python() -> None:
    assert read(notebook("%sql select 1\nx = 1")).text == "pass#        \nx = 1\n"


BROKEN = {
    "f(": (1, 2, "'(' was never closed"),
    "x = 1\nprint 'a'": (2, 1, "Missing parentheses in call to 'print'. Did you mean print(...)?"),
    "s = '''\n": (1, 5, "unterminated triple-quoted string literal (detected at line 1)"),
    "for x in y:\n": (1, 11, "expected an indented block after 'for' statement on line 1"),
    "x = 1\n  y = 2": (2, 1, "unexpected indent"),
    "@decorator": (1, 11, "invalid syntax"),
    "x = 1 \\": (1, 8, "unexpected EOF while parsing"),
}


@pytest.mark.parametrize("source", BROKEN)
def test_a_cell_that_does_not_parse_leaves_the_others_as_they_are(source: str) -> None:
    of = read(notebook("a = 1", source, "b = 2"))
    ((start, fault),) = of.broken()
    assert (of.place(start).cell, of.place(start).row) == (2, 1)
    assert fault.row == BROKEN[source][0]
    assert fault.message
    assert of.text.split() == ["a", "=", "1", "b", "=", "2"]
    assert len(of.written) == len(of.text)
    assert source in of.written
    assert of.lines(of.row(start), of.row(start)) == (source.split("\n")[0],)


def test_what_one_cell_leaves_open_no_other_closes() -> None:
    of = read(notebook("f(1,", "2)", "x = 1"))
    assert [of.place(start).cell for start, _ in of.broken()] == [1, 2]
    assert of.text.strip() == "x = 1"


def test_an_indented_cell_is_no_part_of_the_block_before_it() -> None:
    of = read(notebook("for x in y:\n    f(x)", "    g(x)\n    h(x)\n", "z = 1"))
    assert of.broken() == ()
    loop, block, _ = ast.parse(of.text).body
    assert isinstance(loop, ast.For)
    assert len(loop.body) == 1
    assert isinstance(block, ast.If)
    place = of.place(of.text.index("h(x)"))
    assert (place.cell, place.row, place.column) == (2, 2, 5)
    at = of.text.index("h(x)")
    edited = of.apply([Edit(of.place(at), of.place(at + 4), "k(x)")])
    assert edited.encode() == notebook("for x in y:\n    f(x)", "    g(x)\n    k(x)\n", "z = 1")


def test_await_is_no_fault_in_a_cell() -> None:
    assert read(notebook("x = await f()\nasync with g() as h:\n    pass")).broken() == ()


def test_an_edit_in_a_cell_that_does_not_parse_is_refused() -> None:
    of = read(notebook("a = 1", "f(\ng", "b = 2"))
    ((start, _),) = of.broken()
    for at in range(start, start + 4):
        with pytest.raises(EditError, match="magic"):
            inserted(of, at, "x\n")


def test_an_edit_that_breaks_a_cell_is_found_out_though_the_others_parse() -> None:
    before = read(notebook("a = (1)", "b = 2"))
    assert damage(before, removed(before, ")"), False) == "would leave a cell that does not parse"
    assert damage(before, removed(before, "b = 2"), False) is None


def test_lines_below_the_last_of_a_cell_stay_in_it() -> None:
    for first, expected in [("import a", "import a\nimport b"), ("import a\n", "import a\nimport b\n")]:
        of = read(notebook(first, "%%time\nc = 1"))
        assert inserted(of, len("import a\n"), "import b\n").encode() == notebook(expected, "%%time\nc = 1")


def test_lines_above_the_first_of_a_cell_stay_in_it() -> None:
    of = read(notebook("a = 1\n# a comment", "b = 2"))
    assert inserted(of, of.text.index("b"), "c = 3\n").encode() == notebook(
        "a = 1\n# a comment", "c = 3\nb = 2"
    )


@pytest.mark.parametrize("before", ["%%time\nx = 1", "# why\n%%time\nx = 1", "%%capture\n%%time\nx = 1"])
def test_nothing_is_put_before_a_magic_of_the_whole_cell(before: str) -> None:
    of = read(notebook("a", before))
    at = of.text.index("a\n\n") + len("a\n\n")
    with pytest.raises(EditError, match="magic"):
        inserted(of, at, "y = 1\n")
    below = of.text.index("x = 1")
    assert inserted(of, below, "y = 1\n").encode() == notebook("a", before.replace("x = 1", "y = 1\nx = 1"))


def test_white_space_between_cells_is_no_part_of_an_edit() -> None:
    of = read(notebook("a", "b\n", "\nc"))
    assert removed(of, "b\n\n").encode() == notebook("a", cell([]), "\nc")
    assert removed(of, "\n\nc\n").encode() == notebook("a", "b\n", cell([]))


def test_new_lines_end_as_those_of_their_cell() -> None:
    of = read(notebook(cell(["a = 1\r\n", "b = 2"]), "c"))
    end = of.text.index("b = 2") + len("b = 2")
    after = notebook(cell(["a = 1\r\n", "b = 2\r\n", "d = 3"]), "c")
    assert inserted(of, end, "\nd = 3").encode() == after
    assert inserted(of, end + 2, "d = 3\n").encode() == after
    assert removed(of, "b = 2\r\n").encode() == notebook(cell(["a = 1"]), "c")


@pytest.mark.parametrize(
    ("metadata", "broken"),
    [
        (b'{"language_info": {"name": "python", "version": "2.7.14"}}', 0),
        (b'{"kernelspec": {"language": "python", "name": "python2"}}', 0),
        (b'{"kernelspec": {"name": "python2"}, "language_info": {"name": "python", "version": "3.8.1"}}', 1),
        (b'{"kernelspec": {"language": "python", "name": "python3"}}', 1),
        (b"{}", 1),
    ],
)
def test_a_cell_of_python_2_is_not_called_wrong(metadata: bytes, broken: int) -> None:
    cells = b'{"cell_type": "code", "source": "print \'x\'"}, {"cell_type": "code", "source": "x = 1"}'
    source = Source.from_bytes(
        b'{"cells": [%s], "metadata": %s, "nbformat": 4}' % (cells, metadata), "a.ipynb"
    )
    assert len(faults_of_cells(source)) == broken
    assert "x = 1" in source.text


def test_a_reason_in_another_cell_says_in_which() -> None:
    step = "import tensorflow as tf\ndef step(x):\n    print('step')\n    return model(x)\n"
    train = (
        "for x in tf.data.Dataset.range(9).batch(2):\n    with tf.GradientTape() as tape:\n"
        "        loss = {}(x)\n    optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))\n"
    )
    settings = Settings(root=Path(), rules=frozenset({"TFP101"}), fixable=frozenset({"TFP101"}))

    def note(called: str) -> str | None:
        cells = notebook(step, train.format(called))
        (finding,) = check_source(Source.from_bytes(cells, "n.ipynb"), settings).findings
        return finding.note

    assert note("step") == "no fix: `print()` runs on the host (cell 1, line 3)"
    assert note("print") == "no fix: nothing under the tape can be traced (line 2)"
