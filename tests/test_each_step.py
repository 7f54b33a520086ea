"""A finding says why it runs on each step: the loop, and the calls that lead from it, also in other files."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from tests.commandline import SLOW, CommandLine
from tests.notebooks import notebook
from tests.test_report_formats import RDJSON
from tests.test_report_sarif import SCHEMA, there_is_a_schema

AGENT = """\
import gc
import tensorflow as tf


class Agent:
    def act(self, x):
        return self._policy(x)

    def _policy(self, x):
        gc.collect()
        return tf.argmax(x)
"""
PLAY = """\
import tensorflow as tf
from agents.dqn import Agent


def play(env):
    agent = Agent()
    x = env.reset()
    for step in range(10_000):
        x, _, _, _ = env.step(agent.act(x))
"""
LOOP = "import gc\nimport tensorflow as tf\n\nfor images, labels in dataset:\n    model.train_on_batch(images, labels)\n"


def notes(tflint_perf: CommandLine, *arguments: str) -> list[str]:
    lines = tflint_perf("check", "--select=TFP406", *arguments).out.splitlines()
    return [line.removeprefix("note: ") for line in lines if line.startswith("note: ")]


@pytest.mark.parametrize(
    ("code", "note"),
    [
        (LOOP + "    gc.collect()\n", "runs on each step of the loop on line 4"),
        (
            "import gc\nimport tensorflow as tf\ndef tidy():\n    gc.collect()\ndef train(model, dataset):\n"
            "    for x, y in dataset:\n        model.train_on_batch(x, y)\n        tidy()\n",
            "runs on each step of the loop on line 6, via `tidy` (line 8)",
        ),
        # Two calls deep; the nearest call comes last.
        (
            "import gc\nimport tensorflow as tf\ndef tidy():\n    gc.collect()\ndef end(x):\n    tidy()\n"
            "for x, y in dataset:\n    model.train_on_batch(x, y)\n    end(x)\n",
            "runs on each step of the loop on line 7, via `end` (line 9), then `tidy` (line 6)",
        ),
        (
            "import gc\nimport tensorflow as tf\nclass Tidy(tf.keras.callbacks.Callback):\n"
            "    def on_train_batch_end(self, batch, logs=None):\n        gc.collect()\n",
            "runs on each step, when Keras calls `on_train_batch_end` on line 4",
        ),
        # A pass over a few parts of the step: several times on each.
        (
            "import tensorflow as tf\nimport gc\nfor x, y in dataset:\n    for part in range(3):\n        gc.collect()\n"
            "    model.train_on_batch(x, y)\n",
            "runs on each step of the loop on line 3, in the loop on line 4",
        ),
        (
            "import gc\nimport tensorflow as tf\ndef tidy(parts):\n    for part in parts:\n        gc.collect()\n"
            "for x, y in dataset:\n    model.train_on_batch(x, y)\n    tidy([1, 2])\n",
            "runs on each step of the loop on line 6, via `tidy` (line 8), in the loop on line 4",
        ),
        # Which drives the generator.
        (
            "import gc\nimport tensorflow as tf\ndef batches():\n    while True:\n        gc.collect()\n        yield load()\n"
            "for x, y in batches():\n    model.train_on_batch(x, y)\n",
            "runs on each step of the loop on line 4",
        ),
        (
            "import gc\nimport tensorflow as tf\nclass Batches(tf.keras.utils.Sequence):\n    def __getitem__(self, i):\n"
            "        gc.collect()\n        return self.files[i]\nmodel.fit(Batches(), epochs=3)\n",
            "runs on each step of `model.fit` on line 7",
        ),
        # Compiled code runs it only once a trace.
        (
            "import gc\nimport tensorflow as tf\nmodel = tf.keras.Sequential()\ndef tidy():\n    gc.collect()\n@tf.function\ndef step(x):\n    tidy()\n"
            "    return model(x)\ndef check(x):\n    tidy()\n    return model(x)\nfor x in dataset:\n    step(x)\n"
            "for x in validation:\n    check(x)\n",
            "runs on each step of the loop on line 15, via `check` (line 16), then `tidy` (line 11)",
        ),
        # What a condition stands before does not run on each step.
        (
            LOOP + "    if psutil.virtual_memory().percent > 90:\n        gc.collect()\n",
            "runs in the step loop on line 4, under a condition",
        ),
        (
            "import gc\nimport tensorflow as tf\ndef tidy():\n    gc.collect()\n"
            "for step, (x, y) in enumerate(dataset):\n    model.train_on_batch(x, y)\n    if step % 100 == 0:\n        tidy()\n",
            "runs in the step loop on line 5, via `tidy` (line 8), under a condition",
        ),
        # Of two ways, the one without a condition tells.
        (
            "import gc\nimport tensorflow as tf\ndef tidy():\n    gc.collect()\n"
            "for x, y in dataset:\n    model.train_on_batch(x, y)\n    if x is y:\n        tidy()\n"
            "for x, y in dataset:\n    model.train_on_batch(x, y)\n    tidy()\n",
            "runs on each step of the loop on line 9, via `tidy` (line 11)",
        ),
    ],
)
def test_the_loop_and_the_calls_that_lead_from_it_are_told(
    tflint_perf: CommandLine, code: str, note: str
) -> None:
    tflint_perf.write("train.py", code)
    assert notes(tflint_perf) == [note]


@pytest.mark.parametrize(
    ("code", "note"),
    [
        (
            "import os\nimport numpy as np\nfrom tensorflow import keras\nmodel = keras.models.load_model('m.keras')\n"
            "for name in os.listdir('images'):\n    image = keras.utils.load_img(name)\n    model.predict(np.array(image)[None])\n",
            "runs on each step of the loop on line 5",
        ),
        (
            "import os\nimport numpy as np\nfrom tensorflow import keras\nmodel = keras.models.load_model('m.keras')\n"
            "def answer(name):\n    image = keras.utils.load_img(name)\n    return model.predict(np.array(image)[None])\n"
            "for name in os.listdir('images'):\n    if name.endswith('.png'):\n        answer(name)\n",
            "runs in the step loop on line 8, via `answer` (line 10), under a condition",
        ),
    ],
)
def test_a_loop_over_files_is_told_where_each_is_predicted(
    tflint_perf: CommandLine, code: str, note: str
) -> None:
    tflint_perf.write("predict.py", code)
    (finding,) = json.loads(tflint_perf("--select=TFP105", "--output-format=json").out)
    assert [part["kind"] for part in finding["each_step"]] == ["loop", "call"][: 1 + ("via" in note)]
    assert f"note: {note}\n" in tflint_perf("--select=TFP105").out


def project(tflint_perf: CommandLine) -> None:
    for name, text in {
        "pyproject.toml": "",
        "agents/__init__.py": "",
        "agents/dqn.py": AGENT,
        "play.py": PLAY,
    }.items():
        tflint_perf.write(name, text)


def test_a_loop_in_another_file_is_told_with_its_file(tflint_perf: CommandLine) -> None:
    project(tflint_perf)
    told = "runs on each step of the loop at play.py:8, via `agent.act` (line 9), then `self._policy` (agents/dqn.py:7)"
    assert notes(tflint_perf) == [told]
    assert notes(tflint_perf, "agents/dqn.py") == [told]


def test_a_chain_of_calls_through_several_files_is_told(tflint_perf: CommandLine) -> None:
    tflint_perf.write("pyproject.toml", "")
    tflint_perf.write("low.py", "import gc\nimport tensorflow as tf\ndef tidy():\n    gc.collect()\n")
    tflint_perf.write("middle.py", "from low import tidy\ndef after(x):\n    if x:\n        tidy()\n")
    tflint_perf.write(
        "top.py",
        "import tensorflow as tf\nfrom middle import after\nfor x in dataset:\n    model.train_on_batch(x)\n    after(x)\n",
    )
    assert notes(tflint_perf) == [
        "runs in the step loop at top.py:3, via `after` (line 5), then `tidy` (middle.py:4), under a condition"
    ]


def test_what_is_kept_goes_with_the_file_that_calls(tflint_perf: CommandLine) -> None:
    project(tflint_perf)
    before = notes(tflint_perf)
    assert notes(tflint_perf) == before
    tflint_perf.write("play.py", "import sys\n" + PLAY)
    assert notes(tflint_perf) == [
        before[0].replace("play.py:8", "play.py:9").replace("(line 9)", "(line 10)")
    ]
    assert notes(tflint_perf, "--no-cache") == notes(tflint_perf)


def test_rows_are_those_of_cells_in_notebooks(tflint_perf: CommandLine) -> None:
    tidy = "def tidy():\n    gc.collect()\n"
    cells = ["import gc\nimport tensorflow as tf\n", tidy, LOOP.partition("\n\n")[2] + "    tidy()\n"]
    (tflint_perf.folder / "n.ipynb").write_bytes(notebook(*cells))
    assert notes(tflint_perf) == ["runs on each step of the loop in cell 3, line 1, via `tidy` (line 3)"]


def test_a_loop_in_a_notebook_is_told_of_what_it_calls(tflint_perf: CommandLine) -> None:
    project(tflint_perf)
    (tflint_perf.folder / "play.py").unlink()
    head, _, rest = PLAY.partition("\n\n\n")
    (tflint_perf.folder / "play.ipynb").write_bytes(notebook(head, rest))
    assert notes(tflint_perf, "agents/dqn.py", "play.ipynb") == [
        "runs on each step of the loop at play.ipynb:cell 2:4, via `agent.act` (line 5), "
        "then `self._policy` (agents/dqn.py:7)"
    ]


@pytest.mark.parametrize(
    ("code", "text"),
    [
        # One of the program, and one of what happens before the first step.
        ("TFP404", SLOW + "\n\ntrain(model, dataset, optimizer)\n"),
        (
            "TFP103",
            "import tensorflow as tf\n@tf.function\ndef step(x):\n    for i in range(100):\n        x = tf.matmul(x, x)\n"
            "    return x\nfor x in dataset:\n    model.train_on_batch(step(x))\n",
        ),
    ],
)  # fmt: skip
def test_what_is_about_no_step_has_no_loop(tflint_perf: CommandLine, code: str, text: str) -> None:
    tflint_perf.write("train.py", text)
    (found,) = json.loads(tflint_perf("check", f"--select={code}", "--output-format=json").out)
    assert (found["code"], found["each_step"]) == (code, [])
    assert "runs " not in tflint_perf("check", f"--select={code}").out.partition("help:")[2]


def test_lines_of_formats_with_one_a_finding_stay_short(tflint_perf: CommandLine) -> None:
    project(tflint_perf)
    for format in ("concise", "github", "grouped", "gitlab"):
        assert "play.py" not in tflint_perf("check", "--select=TFP406", f"--output-format={format}").out


def reported(tflint_perf: CommandLine, format: str) -> Any:
    return json.loads(tflint_perf("check", "--select=TFP406", f"--output-format={format}").out)


@pytest.mark.parametrize("format", ["json", "json-lines"])
def test_json_has_the_way_as_data(tflint_perf: CommandLine, format: str) -> None:
    project(tflint_perf)
    found = reported(tflint_perf, format)
    assert (found[0] if format == "json" else found)["each_step"] == [
        {
            "kind": kind,
            "name": name,
            "filename": file,
            "cell": None,
            "row": row,
            "code": code,
            "always": True,
        }
        for kind, name, file, row, code in (
            ("loop", None, "play.py", 8, "for step in range(10_000):"),
            ("call", "agent.act", "play.py", 9, "x, _, _, _ = env.step(agent.act(x))"),
            ("call", "self._policy", "agents/dqn.py", 7, "return self._policy(x)"),
        )
    ]


def test_sarif_has_the_places_as_related_ones(tflint_perf: CommandLine) -> None:
    project(tflint_perf)
    (result,) = reported(tflint_perf, "sarif")["runs"][0]["results"]
    assert [
        (
            place["id"],
            place["message"]["text"],
            place["physicalLocation"]["artifactLocation"]["uri"],
            place["physicalLocation"]["region"],
        )
        for place in result["relatedLocations"]
    ] == [
        (0, "the step loop", "play.py", {"startLine": 8}),
        (1, "`agent.act` is called here", "play.py", {"startLine": 9}),
        (2, "`self._policy` is called here", "agents/dqn.py", {"startLine": 7}),
    ]


@there_is_a_schema
def test_sarif_with_related_places_fits_its_schema(tflint_perf: CommandLine) -> None:
    project(tflint_perf)
    jsonschema.validate(reported(tflint_perf, "sarif"), json.loads(SCHEMA.read_text(encoding="utf-8")))


def test_rdjson_has_the_places_as_related_ones(tflint_perf: CommandLine) -> None:
    project(tflint_perf)
    document = reported(tflint_perf, "rdjson")
    jsonschema.validate(document, RDJSON)
    (diagnostic,) = document["diagnostics"]
    assert diagnostic["relatedLocations"][0] == {
        "message": "the step loop",
        "location": {"path": "play.py", "range": {"start": {"line": 8}}},
    }


def test_junit_tells_it_below_the_source(tflint_perf: CommandLine) -> None:
    project(tflint_perf)
    told = tflint_perf("check", "--select=TFP406", "--output-format=junit").out
    assert "\n        gc.collect()\nruns on each step of the loop at play.py:8, via `agent.act`" in told


def test_a_file_above_the_current_folder_is_named_from_there(
    tflint_perf: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    project(tflint_perf)
    monkeypatch.chdir(tflint_perf.folder / "agents")
    (told,) = notes(tflint_perf)
    assert told.startswith("runs on each step of the loop at ../play.py:8, via `agent.act` (line 9)")


TASKS = """\
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD()
for epoch in range(10):
    with tf.GradientTape() as outer:
        losses = []
        for x, y in tasks.batch(9).take(50):
            net = tf.keras.Sequential([tf.keras.layers.Dense(1)])
            with tf.GradientTape() as tape:
                loss = net(x)
            gradients = tape.gradient(loss, net.weights)
            optimizer.apply_gradients(zip(gradients, net.weights))
            losses.append(loss)
        total = sum(losses)
    gradients = outer.gradient(total, model.weights)
    optimizer.apply_gradients(zip(gradients, model.weights))
"""


def test_the_innermost_loop_that_makes_a_gradient_step_is_told(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", TASKS)
    said = tflint_perf("--select=TFP101").out
    assert "note: runs on each step of the loop on line 7\n" in said
