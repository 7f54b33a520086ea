"""What other files define and what becomes there of values: copies to the host, batches made on it, tensors kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_callers import write
from tflint_perf.config.settings import Settings
from tflint_perf.project.linting import lint_files

_STEP = """
    import tensorflow as tf
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.Adam()
    class Trainer:
        def __init__(self):
            self.step = tf.Variable(0, dtype=tf.int64)
        @tf.function
        def train_step(self, x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(x) ** 2)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
            return loss, {"loss": loss}
        def accuracies(self, x):
            found = []
            for k in (1, 5):
                found.append(float(tf.reduce_mean(model(x) - k)))
            return found
        def report(self, x):
            return "loss {}".format(tf.reduce_mean(model(x)))
        def act(self, x):
            return int(tf.argmax(model(x)))
    class Own(tf.keras.losses.Loss):
        def call(self, y, p):
            return y - p
"""
_DATA = """
    import numpy as np
    import cv2
    def load(paths):
        images = []
        for path in paths:
            image = cv2.imread(path)
            images.append(image)
        return np.stack(images)
    def noise(n):
        rows = list()
        for i in range(n):
            row = np.random.uniform(0, 1, [5, i])
            rows.append(row)
        return rows
    def cut(images, n):
        rows = []
        for i in range(n):
            row = images[i]
            rows.append(row)
        return rows
    class Loader:
        def __getitem__(self, index):
            return load(self.paths[index])
"""
_FLOW = """
    from tensorflow.keras.preprocessing.image import ImageDataGenerator
    generator = ImageDataGenerator(rescale=1 / 255).flow_from_directory("images")
    def make(path):
        data = ImageDataGenerator()
        train = data.flow_from_directory(path)
        return train, data.flow_from_directory(path), 3
    def batches():
        while True:
            yield next(generator)
    class Data:
        def __init__(self):
            self.data = ImageDataGenerator()
            self.train = self.data.flow(x)
        def get(self):
            return self.train
"""
_READING = """
    import numpy as np
    from tensorflow.keras.utils import Sequence
    class Reader(Sequence):
        def batch(self, n):
            return np.stack([np.load(path) for path in np.random.choice(self.paths, n)])
"""
_FIT = """
    import tensorflow as tf
    def fit(model, batches, others=None):
        model.fit(batches, validation_data=others)
    class Fitter:
        def __init__(self):
            self.model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        def fit(self, epochs, batches):
            self.model.fit(batches, epochs=epochs)
"""
_MEMORY = """
    import numpy as np
    import tensorflow as tf
    class Memory:
        def __init__(self, n):
            self.n, self.states = n, np.zeros((n, 4))
        def sample(self, batch_size):
            index = np.random.randint(0, self.n, size=batch_size)
            return dict(x=tf.convert_to_tensor(self.states[index]))
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").touch()
    return tmp_path


def found(project: Path, code: str, program: str) -> list[str]:
    """Where the rule finds something: "train.py:7"."""
    head = "import numpy as np\nimport tensorflow as tf\nfrom steps import Trainer\ntrainer = Trainer()\n"
    modules = {
        "steps": _STEP,
        "data": _DATA,
        "flow": _FLOW,
        "fitting": _FIT,
        "memory": _MEMORY,
        "reading": _READING,
    }
    paths = write(project, **modules, train=head + program)
    results = lint_files(paths, Settings(root=Path(), rules=frozenset({code})), 1)
    assert not [result.failure for result in results if result.failure]
    return [f"{result.path}:{finding.start.row}" for result in results for finding in result.findings]


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("for x in data:\n    loss, logs = trainer.train_step(x)\n    print(loss.numpy())\n", ["train.py:7"]),
        ("for x in data:\n    loss, logs = trainer.train_step(x)\n    print(logs['loss'])\n", ["train.py:7"]),
        ("for x in data:\n    trainer.train_step(x)\n    print(trainer.step.numpy())\n", ["train.py:7"]),
        (
            "for x in data:\n    trainer.train_step(x)\n    first, fifth = trainer.accuracies(x)\n    print(first, fifth)\n",
            ["steps.py:17"],
        ),
        ("for x in data:\n    trainer.train_step(x)\n    print(trainer.report(x))\n", ["steps.py:20"]),
        (
            "from steps import Own\nown = Own()\nfor x in data:\n    trainer.train_step(x)\n    print(own(x, x).numpy())\n",
            ["train.py:9"],
        ),
        # An action, and accuracies that decide.
        ("while True:\n    x, r, d, _ = env.step(trainer.act(x))\n", []),
        (
            "for x in data:\n    trainer.train_step(x)\n    if trainer.accuracies(x)[0] > 0.9:\n        break\n",
            [],
        ),
        # Once an epoch.
        (
            "for e in range(99):\n    for x in data:\n        trainer.train_step(x)\n    print(trainer.report(x))\n",
            [],
        ),
    ],
)
def test_copies_of_what_other_files_make_or_take_are_found(
    project: Path, program: str, expected: list[str]
) -> None:
    assert found(project, "TFP302", program) == expected


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (
            "from data import load\nfor p in paths:\n    x = load(p)\n    trainer.train_step(x)\n",
            ["train.py:7"],
        ),
        (
            "from data import noise\nfor p in paths:\n    trainer.train_step(tf.constant(noise(9)))\n",
            ["train.py:7"],
        ),
        ("from data import Loader\nfor x in Loader():\n    trainer.train_step(x)\n", ["train.py:6"]),
        ("from data import cut\nfor p in paths:\n    trainer.train_step(cut(p, 9))\n", []),
        ("from data import load\nx = load(paths)\nfor p in paths:\n    trainer.train_step(x)\n", []),
        (
            "from flow import generator\nmodel = tf.keras.Sequential()\nmodel.fit(generator)\n",
            ["train.py:7"],
        ),
        (
            "import flow\nmodel = tf.keras.Sequential()\nmodel.fit(flow.generator)\n",
            ["train.py:7"],
        ),
        (
            "from flow import make\nmodel = tf.keras.Sequential()\na, b, n = make(path)\nmodel.fit(a)\nmodel.fit(n)\n",
            ["train.py:8"],
        ),
        (
            "from flow import Data\nmodel = tf.keras.Sequential()\ndata = Data()\nmodel.fit(data.train)\nmodel.fit(data.get())\n",
            ["train.py:8", "train.py:9"],
        ),
        ("from data import load\nfor x in load(paths):\n    trainer.train_step(x)\n", []),
        ("from data import Loader\nfrom fitting import fit\nfit(make_model(), Loader())\n", ["fitting.py:4"]),
        ("from data import Loader\nfrom fitting import fit\nfit(make_model(), x, Loader())\n", []),
        (
            "from data import Loader\nfrom fitting import Fitter\nloader = Loader()\nFitter().fit(epochs=9, batches=loader)\n",
            ["fitting.py:9"],
        ),
        ("from fitting import Fitter\nFitter().fit(9, dataset)\n", []),
    ],
)
def test_batches_that_other_files_make_are_found(project: Path, program: str, expected: list[str]) -> None:
    assert found(project, "TFP303", program) == expected


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (
            "from reading import Reader\nreader = Reader()\nfor i in range(9000):\n    trainer.train_step(reader.batch(9))\n"
            "    optimizer.apply_gradients([])\n",
            ["reading.py:6"],
        ),
        (
            "from reading import Reader\nreader = Reader()\nmodel = tf.keras.Sequential()\nfor i in range(9000):\n"
            "    model.predict_on_batch(reader.batch(9))\n",
            ["reading.py:6"],
        ),
        (
            "from reading import Reader\nx = Reader().batch(9)\nfor i in range(9):\n    trainer.train_step(x)\n",
            [],
        ),
    ],
)
def test_files_that_another_file_s_step_loop_has_read_are_found(
    project: Path, program: str, expected: list[str]
) -> None:
    assert found(project, "TFP304", program) == expected


@pytest.mark.parametrize(
    ("statement", "expected"),
    [("trainer.train_step(**batch)", ["memory.py:9"]), ("trainer.train_step(x)", [])],
)
def test_conversions_of_what_another_file_gives_to_a_step_are_found(
    project: Path, statement: str, expected: list[str]
) -> None:
    program = f"from memory import Memory\nmemory = Memory(9)\nfor x in data:\n    batch = memory.sample(32)\n    {statement}\n"
    assert found(project, "TFP301", program) == expected


def test_what_one_of_several_objects_of_other_files_gives_is_known(project: Path) -> None:
    first = """
        import tensorflow as tf
        class First(tf.keras.Model):
            @tf.function
            def train_on_batch(self, x):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(x ** 2)
                self.optimizer.apply_gradients(zip(tape.gradient(loss, self.weights), self.weights))
                return loss, 2.0 * loss
    """
    program = """
        import tensorflow as tf
        from first import First
        from second import Second
        if name == "first":
            gan = First()
        else:
            gan = Second()
        for x in tf.data.Dataset.from_tensor_slices(data).batch(32):
            loss, other = gan.train_on_batch(x)
            total += float(loss)
            print(gan.predict_on_batch(x).shape)
    """
    paths = write(project, first=first, second=first.replace("First", "Second"), train=program)
    settings = Settings(root=Path(), rules=frozenset({"TFP302"}))
    found = {
        result.path: [finding.start.row for finding in result.findings]
        for result in lint_files(paths, settings, 1)
    }
    assert found["train.py"] == [11]


def test_tensors_of_another_file_s_step_that_are_kept_are_found(project: Path) -> None:
    program = (
        "losses, others = [], []\nif resume:\n    losses, others = load(path)\n"
        "for x in data:\n    loss, logs = trainer.train_step(x)\n    losses.append(loss)\n"
    )
    assert found(project, "TFP401", program) == ["train.py:10"]


def test_how_many_elements_another_file_gives_is_left_open(project: Path) -> None:
    files = """
        import tensorflow as tf
        def parse(paths):
            return tf.data.TFRecordDataset(paths).map(lambda x: tf.io.parse_single_example(x, {}))
    """
    program = """
        import tensorflow as tf
        from files import parse
        def count(paths):
            dataset = parse(paths)
            return len(list(dataset))
    """
    paths = write(project, files=files, train=program)
    results = lint_files(paths, Settings(root=Path(), rules=frozenset({"TFP511"})), 1)
    (finding,) = (finding for result in results for finding in result.findings)
    assert finding.note == (
        "no fix: the dataset is made in another file, so its number of elements may be unknown (line 6)"
    )
