"""Notebooks on the command line: findings, fixes, differences and suppressions, as somebody meets them."""

from __future__ import annotations

import json
import re
from typing import Any

import nbformat
import pytest

from tests.commandline import FIXED, SLOW, CommandLine
from tests.notebooks import cell, notebook

pytestmark = pytest.mark.slow

IMPORTS = SLOW[: SLOW.index("def train")].strip()
TRAIN = SLOW[SLOW.index("def train") :]
TRAIN_FIXED = FIXED[FIXED.index("def train") :]
ROW = 7  # of `gc.collect()` in TRAIN


def test_findings_are_told_by_cell_in_the_rows_of_the_cell(tflint_perf: CommandLine) -> None:
    text = cell("# Training", "markdown")
    tflint_perf.write("n.ipynb", notebook(text, "!pip install x\n" + IMPORTS, TRAIN).decode())
    ran = tflint_perf("--select", "TFP406", "--output-format", "concise")
    assert ran.out.startswith(f"n.ipynb:cell 3:{ROW}:9: TFP406 ")
    (found,) = json.loads(tflint_perf("--select", "TFP406", "--output-format", "json").out)
    assert (found["cell"], found["location"]["row"], found["noqa_row"]) == (3, ROW, ROW)


BROKEN_CELLS = [
    "model = # your code here",
    "print 'loss'",
    "f(",
    "for x in y:",
    's = """',
    "upgrade x",
    "1 +",
]


@pytest.mark.parametrize("broken", BROKEN_CELLS)
@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_cell_that_does_not_parse_hides_no_other(tflint_perf: CommandLine, broken: str, at: int) -> None:
    def cells(train: str) -> str:
        sources = [IMPORTS, train]
        sources.insert(at, broken)
        return notebook(*sources).decode()

    path = tflint_perf.write("n.ipynb", cells(TRAIN))
    ran = tflint_perf("--select", "TFP406", "--output-format", "concise")
    places = [line.split(" ", 3)[:3] for line in ran.out.splitlines() if line.startswith("n.ipynb")]
    trained = 3 if at < 2 else 2
    assert sorted(place[1].split(":")[0] for place in places) == sorted([str(at + 1), str(trained)])
    assert {place[2].rstrip(":") for place in places} == {"invalid-syntax", "TFP406"}
    assert tflint_perf("--select", "TFP406", "--fix", "--unsafe-fixes").code == 1
    assert path.read_text() == cells(TRAIN_FIXED)


def test_each_cell_that_does_not_parse_is_told(tflint_perf: CommandLine) -> None:
    tflint_perf.write("n.ipynb", notebook("f(", "x = 1", "g(").decode())
    lines = tflint_perf("n.ipynb", "--output-format", "concise").out.splitlines()
    assert [line.split(": ")[0] for line in lines[:2]] == ["n.ipynb:cell 1:1:2", "n.ipynb:cell 3:1:2"]


def test_words_that_stand_in_a_broken_cell_alone_make_it_told(tflint_perf: CommandLine) -> None:
    tflint_perf.write("n.ipynb", notebook("import tensorflow as tf", "gc.collect(").decode())
    assert tflint_perf.found("--select", "TFP406") == ["n.ipynb: invalid-syntax"]
    tflint_perf.write("n.ipynb", notebook("import tensorflow as tf", "f(").decode())
    assert tflint_perf.found("--select", "TFP406") == []


def test_a_suppression_is_not_called_unused_while_a_cell_is_unread(tflint_perf: CommandLine) -> None:
    sources = [IMPORTS, "x = 1  # noqa: TFP406"]
    tflint_perf.write("n.ipynb", notebook(*sources, "gc.collect(").decode())
    assert tflint_perf.found("--select", "TFP406,TFP001") == ["n.ipynb: invalid-syntax"]
    tflint_perf.write("n.ipynb", notebook(*sources, "gc.collect()").decode())
    assert tflint_perf.found("--select", "TFP406,TFP001") == ["n.ipynb: TFP001"]


SUPPRESSED: dict[str, tuple[list[str], int]] = {
    "on the line": ([IMPORTS, TRAIN.rstrip() + "  # noqa: TFP406"], 0),
    "above the statement": (
        [IMPORTS, TRAIN.replace("        gc", "        # tflint-perf: ignore[TFP406]\n        gc")],
        0,
    ),
    "of the file, in any cell": ([IMPORTS, TRAIN, "# tflint-perf: file-ignore[TFP406]"], 0),
    "from a cell on": ([IMPORTS, "# tflint-perf: disable[TFP406]", TRAIN], 0),
    "up to a cell": (
        [IMPORTS, "# tflint-perf: disable[TFP406]", "# tflint-perf: enable[TFP406]", TRAIN],
        1,
    ),
    "at the end of the cell before": ([IMPORTS + "  # noqa: TFP406", TRAIN], 1),
}


@pytest.mark.parametrize(("sources", "left"), SUPPRESSED.values(), ids=SUPPRESSED)
def test_suppressions_count_in_cells(tflint_perf: CommandLine, sources: list[str], left: int) -> None:
    tflint_perf.write("n.ipynb", notebook(*sources).decode())
    assert len(tflint_perf.found("--select", "TFP406")) == left


COLAB: dict[str, Any] = {
    "accelerator": "GPU",
    "colab": {"name": "n.ipynb", "provenance": [], "gpuType": "T4"},
    "kernelspec": {"display_name": "Python 3", "name": "python3"},
    "widgets": {"application/vnd.jupyter.widget-state+json": {"ab12": {"model_name": "HTMLModel"}}},
}
JUPYTER: dict[str, Any] = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"codemirror_mode": {"name": "ipython", "version": 3}, "name": "python"},
}
OUTPUTS: list[dict[str, Any]] = [
    {"name": "stdout", "output_type": "stream", "text": ["gc.collect()\n", "1e5 \u00e9 \u2028 <b>"]},
    {
        "data": {"image/png": "iVBORw0KGgo=\n", "text/plain": ["<Figure>"]},
        "execution_count": 3,
        "metadata": {"needs_background": "light"},
        "output_type": "execute_result",
    },
]


# Each lay-out, where cells have ids and where they have none; and each format, as both that write notebooks tell of them.
LAID_OUT = [
    (minor, metadata, indent, ends)
    for minor, metadata in ((4, COLAB), (5, JUPYTER))
    for indent in (1, 2, 4, None)
    for ends in ("\n", "\r\n")
]
FORMATS = [(minor, metadata, 1, "\n") for minor in range(6) for metadata in (COLAB, JUPYTER)]


@pytest.mark.parametrize(
    ("minor", "metadata", "indent", "ends"),
    [*LAID_OUT, *(each for each in FORMATS if each not in LAID_OUT)],
    ids=lambda given: "Colab" if given is COLAB else "Jupyter" if given is JUPYTER else repr(given),
)
def test_a_fix_changes_its_lines_and_nothing_else(
    tflint_perf: CommandLine, minor: int, metadata: dict[str, Any], indent: int | None, ends: str
) -> None:
    def document(train: str) -> str:
        cells = [
            cell(['# @title Set-up { run: "auto" }\n', "!pip install -q x\n", *IMPORTS.splitlines(True)]),
            cell("**Training** \u00e9", "markdown"),
            cell(
                ("%%time\n" + train).splitlines(True), metadata={"id": "a1", "tags": ["t"]}, outputs=OUTPUTS
            ),
        ]
        if minor == 5:
            cells = [{**each, "id": f"cell-{number}"} for number, each in enumerate(cells)]
        whole = {"nbformat": 4, "nbformat_minor": minor, "metadata": metadata, "cells": cells}
        return json.dumps(whole, ensure_ascii=False, indent=indent).replace("\n", ends)

    path = tflint_perf.write("n.ipynb", document(TRAIN))
    diff = tflint_perf("--select", "TFP406", "--diff", "--unsafe-fixes").out
    assert diff.startswith("--- a/n.ipynb:cell 3\n+++ b/n.ipynb:cell 3\n@@ -5,4 +5,3 @@\n")
    assert re.findall(r"(?m)^[-+] .*", diff) == ["-        gc.collect()"]
    assert tflint_perf("--select", "TFP406", "--fix", "--unsafe-fixes").code == 0
    assert path.read_bytes().decode() == document(TRAIN_FIXED)
    nbformat.validate(nbformat.read(path, as_version=nbformat.NO_CONVERT))


def test_the_only_statement_of_a_cell_can_be_taken_away(tflint_perf: CommandLine) -> None:
    reset = "tf.compat.v1.reset_default_graph()"
    rest = "@tf.function\ndef f(x):\n    return x"
    for style in ([reset], reset):
        path = tflint_perf.write("n.ipynb", notebook("import tensorflow as tf", cell(style), rest).decode())
        assert f"-{reset}\n" in tflint_perf("--select", "TFP408", "--diff", "--unsafe-fixes").out
        assert tflint_perf("--select", "TFP408", "--fix", "--unsafe-fixes").code == 0
        empty: list[str] | str = [] if isinstance(style, list) else ""
        assert path.read_bytes() == notebook("import tensorflow as tf", cell(empty), rest)


def test_the_last_line_of_a_cell_is_no_news_in_a_difference(tflint_perf: CommandLine) -> None:
    for end in ("", "\n"):
        tflint_perf.write("n.ipynb", notebook(cell(IMPORTS + end), cell(TRAIN.rstrip() + end)).decode())
        diff = tflint_perf("--select", "TFP406", "--diff", "--unsafe-fixes").out
        assert re.findall(r"(?m)^[-+] .*", diff) == ["-        gc.collect()"]
        assert "No newline" not in diff


def test_an_import_that_a_fix_needs_goes_into_the_cell_of_the_imports(tflint_perf: CommandLine) -> None:
    train = "%%time\nmodel = keras.Sequential([keras.layers.Dense(1)])\nmodel.compile('sgd', 'mse')\nmodel.fit(x, y)\n"
    path = tflint_perf.write("n.ipynb", notebook("from tensorflow import keras", train).decode())
    tflint_perf("--select", "TFP404", "--fix", "--unsafe-fixes")
    first, second = json.loads(path.read_text())["cells"]
    assert "".join(first["source"]).startswith("from tensorflow import keras\nimport tensorflow as tf\n")
    assert "".join(second["source"]) == train


@pytest.mark.parametrize("number", [2, 3])
def test_a_notebook_of_an_old_format_gets_one_line(tflint_perf: CommandLine, number: int) -> None:
    code = {"cell_type": "code", "input": ["import tensorflow\n", "gc.collect()"], "language": "python"}
    old = {"nbformat": number, "nbformat_minor": 0, "metadata": {}, "worksheets": [{"cells": [code]}]}
    path = tflint_perf.write("old.ipynb", json.dumps(old))
    tflint_perf.write("a.py", SLOW)
    ran = tflint_perf("--select", "TFP406", "--output-format", "concise", "--fix", "--unsafe-fixes")
    assert ran.err == (
        f"tflint-perf: old.ipynb: a notebook of format {number}; "
        "`jupyter nbconvert --to notebook --inplace` brings it to format 4\n"
    )
    assert ran.code == 2
    assert (tflint_perf.folder / "a.py").read_text() == FIXED
    assert path.read_text() == json.dumps(old)


GPU = "import tensorflow as tf\n\nmodel = tf.keras.Sequential([tf.keras.layers.Dense(1)])\nmodel.compile('sgd', 'mse')\n"
SETTINGS = {
    "%env TF_FORCE_GPU_ALLOW_GROWTH=true": [],
    "%set_env CUDA_VISIBLE_DEVICES=-1": [],
    "%env CUDA_VISIBLE_DEVICES -1": [],
    "%env CUDA_VISIBLE_DEVICES=0": ["n.ipynb: TFP404"],
    "%env TF_CPP_MIN_LOG_LEVEL=3": ["n.ipynb: TFP404"],
}


@pytest.mark.parametrize(("magic", "found"), SETTINGS.items())
def test_what_a_magic_sets_in_the_environment_counts(
    tflint_perf: CommandLine, magic: str, found: list[str]
) -> None:
    tflint_perf.write("n.ipynb", notebook(magic, GPU, "model.fit(x, y)").decode())
    assert tflint_perf.found("--select", "TFP404") == found


def test_a_notebook_without_the_words_is_not_even_read(tflint_perf: CommandLine) -> None:
    tflint_perf.write("old.ipynb", '{"worksheets": [')
    tflint_perf.write("broken.ipynb", notebook("import torch", "f(").decode())
    ran = tflint_perf("--select", "ALL")
    assert (ran.code, ran.err) == (0, "")
