"""TFP604 full-precision."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.rules.support import findings, fixed, flagged, notes
from tflint_perf.catalogue.rules import catalogue
from tflint_perf.config.selection import default_rules

CODE = "TFP604"
TF = "import tensorflow as tf\n"
FIT = "model = tf.keras.Sequential()\nmodel.fit(tf.zeros((9, 9)), tf.zeros(9), epochs=3)\n"
POLICY = '\ntf.keras.mixed_precision.set_global_policy("mixed_float16")\n'

SILENT = {
    "a policy": TF + "tf.keras.mixed_precision.set_global_policy('mixed_float16')\n" + FIT,
    "a policy behind a flag": TF + "if args.fp16:\n    enable()\n" + FIT,
    "a policy of another kind": TF + "tf.keras.config.set_dtype_policy('bfloat16')\n" + FIT,
    "double precision on purpose": TF + "tf.keras.backend.set_floatx('float64')\n" + FIT,
    "the graph rewrite": TF + "opt = tf.train.experimental.enable_mixed_precision_graph_rewrite(opt)\n" + FIT,
    "a helper of another file": TF + "from setup import set_precision\nset_precision()\n" + FIT,
    "GPUs hidden": "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '-1'\n" + TF + FIT,
    "a TPU alone": TF
    + "strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())\n"
    + FIT,
    "another backend": "import os\nos.environ['KERAS_BACKEND'] = 'jax'\n" + TF + FIT,
    "a library module": TF + "def train(model, data):\n    model.fit(data, epochs=3)\n",
    "a script that only infers": TF + "model = tf.keras.models.load_model('m')\nmodel.predict(data)\n",
    "a fit of another library": TF + "from sklearn.svm import SVC\nSVC().fit(x, y)\n",
    "a training loop of its own": TF
    + dedent("""\
        model = tf.keras.Sequential()
        optimizer = tf.keras.optimizers.Adam()
        for x, y in tf.data.Dataset.from_tensor_slices((a, b)).batch(3):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(x) - y) ** 2)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.variables), model.variables))
        model.fit(a, b)
        """),
    "graph code": "import tensorflow.compat.v1 as tf\ntf.disable_eager_execution()\n" + FIT,
}

FLAGGED = {
    "a program that fits": (TF + FIT, 1),
    "behind the main guard": (TF + "def main():\n    model = tf.keras.Sequential()\n    model.fit(d, epochs=3)\n"
                              "if __name__ == '__main__':\n    main()\n", 1),
    "Keras alone": ("import os\nfrom tensorflow import keras\nmodel = keras.Sequential()\nmodel.fit(1, epochs=3)\n", 2),
    "batch by batch": (TF + "model = tf.keras.Sequential()\nfor x in range(9):\n    model.train_on_batch(x)\n", 1),
}  # fmt: skip

FIXED = {
    "below the imports": (
        "import os\n" + TF + "import numpy as np\n\n" + FIT,
        "import os\n" + TF + "import numpy as np\n" + POLICY + "\n" + FIT,
    ),
    "directly above code": (TF + FIT, TF + POLICY + "\n" + FIT),
    "spelled as the file does": (
        "from tensorflow import keras\nmodel = keras.Sequential()\nmodel.fit(1, epochs=3)\n",
        'from tensorflow import keras\n\nkeras.mixed_precision.set_global_policy("mixed_float16")\n\n'
        "model = keras.Sequential()\nmodel.fit(1, epochs=3)\n",
    ),
    "with the import it needs": (
        "from tensorflow.keras.models import Sequential\nmodel = Sequential()\nmodel.fit(1, epochs=3)\n",
        "from tensorflow.keras.models import Sequential\nimport tensorflow as tf\n"
        + POLICY
        + "\nmodel = Sequential()\nmodel.fit(1, epochs=3)\n",
    ),
}


@pytest.mark.parametrize("source", SILENT.values(), ids=list(SILENT))
def test_it_leaves_alone(source: str) -> None:
    assert flagged(CODE, source) == []


@pytest.mark.parametrize(("source", "row"), FLAGGED.values(), ids=list(FLAGGED))
def test_it_flags_the_import(source: str, row: int) -> None:
    assert flagged(CODE, source) == [row]


@pytest.mark.parametrize(("source", "expected"), FIXED.values(), ids=list(FIXED))
def test_its_fix_gives(source: str, expected: str) -> None:
    assert fixed(CODE, source) == expected


@pytest.mark.parametrize(("source", "expected"), FIXED.values(), ids=list(FIXED))
def test_what_it_has_fixed_is_left_alone(source: str, expected: str) -> None:
    assert flagged(CODE, expected) == []


def test_its_fix_is_unsafe() -> None:
    (finding,) = findings(CODE, TF + FIT)
    assert finding.fix is not None
    assert not finding.fix.safe


def test_it_does_not_fix_an_import_in_a_function() -> None:
    source = "def main():\n    import tensorflow as tf\n    model = tf.keras.Sequential()\n    model.fit(d, epochs=3)\nmain()\n"
    (note,) = notes(CODE, source)
    assert note.startswith("no fix: TensorFlow is not imported on a line of its own at the top of the file")


def test_it_is_off_until_it_is_selected() -> None:
    assert CODE not in default_rules(catalogue(), {})
