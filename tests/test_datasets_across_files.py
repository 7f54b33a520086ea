"""Datasets that one file makes and another consumes."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tflint_perf.config.settings import Settings
from tflint_perf.project.linting import lint_files

RULES = frozenset({"TFP501", "TFP502", "TFP503", "TFP505"})
MODEL = """
    import tensorflow as tf
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
"""
STEP = """
    @tf.function
    def train_step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""
DATA = """
    import tensorflow as tf

    def make(size):
        return tf.data.Dataset.from_tensor_slices(load()).batch(size)  # make

    def make_two():
        train = tf.data.Dataset.from_tensor_slices(load())
        test = tf.data.Dataset.from_tensor_slices(load()).batch(9)  # make_two
        return train.batch(9).prefetch(1), test

    def split(train):
        files = tf.data.Dataset.from_tensor_slices(load())
        if train:
            return files.take(9).prefetch(1), files.skip(9).prefetch(1), len(load())
        return files.batch(9), len(load())  # split

    def make_single():
        return tf.data.Dataset.from_tensor_slices(load()).prefetch(1)

    dataset = tf.data.Dataset.from_tensor_slices(load()).batch(3)  # dataset

    class Data:
        def __init__(self):
            self.train = tf.data.Dataset.from_tensor_slices(load()).batch(3)  # attribute

        def get(self):
            return self.train.repeat()

        @property
        def test(self):
            return tf.data.Dataset.from_tensor_slices(load()).batch(9)  # property

    def start(size):
        return iter(tf.data.Dataset.from_tensor_slices(load()).batch(size))  # start

    class Feed:
        def __init__(self):
            self.dataset = tf.data.Dataset.from_tensor_slices(load()).batch(3)  # feed
            self.batches = iter(self.dataset)

        def next(self):
            try:
                batch = next(self.batches)
            except StopIteration:
                self.batches = iter(self.dataset)
                batch = next(self.batches)
            return batch
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").touch()
    return tmp_path


def found(project: Path, **files: str) -> list[str]:
    """What is found: code, file and the word in the comment of its line, or the row."""
    for name, text in files.items():
        (project / f"{name}.py").write_text(dedent(text).lstrip("\n"), encoding="utf-8")
    paths = [Path(f"{name}.py") for name in files]
    shown = []
    for result in lint_files(paths, Settings(root=project, rules=RULES, project_root=project), 1):
        assert result.failure is None, result.failure
        lines = Path(result.path).read_text(encoding="utf-8").splitlines()
        for finding in result.findings:
            _, _, word = lines[finding.start.row - 1].partition("  # ")
            shown.append(f"{finding.code} {Path(result.path).stem} {word or finding.start.row}")
    return shown


SILENT = {
    "nothing consumes it": "import data\nprint(data.make(3))",
    "prefetched there": "from data import make_two\ntrain, _ = make_two()\nmodel.fit(train)",
    "prefetched here": "from data import make\nmodel.fit(make(3).prefetch(1))",
    "a look at it": "from data import make\nfor x in make(3):\n    print(x)",
    "the first of it": "from data import make\nfor x in make(3).take(1):\n    model.train_on_batch(x)",
    "a look at an iterator": "from data import start\nprint(next(start(3)))",
    "a look at what a method draws": "from data import Feed\nfeed = Feed()\nfor i in range(9):\n    print(feed.next())",
    "what a method draws now and then": (
        "from data import Feed\nfeed = Feed()\nfor i in range(9999):\n    train_step(load())\n"
        "    if i % 100 == 0:\n        x = feed.next()\n        model(x)"
    ),
    "another part of a tuple": "from data import split\na, b, size = split(True)\nmodel.fit(size)",
    "of another module": "from elsewhere import make\nmodel.fit(make(3))",
    "distributed": (
        "from data import make\nstrategy = tf.distribute.MirroredStrategy()\n"
        "for x in strategy.experimental_distribute_dataset(make(3)):\n    train_step(x)"
    ),
}
CONSUMED = {
    "what a function gives": ("from data import make\nmodel.fit(make(3))", "make"),
    "as many as an epoch takes": ("from data import make\nmodel.fit(make(3).take(steps_per_epoch))", "make"),
    "a part of a longer tuple": ("from data import split\na, b, size = split(True)\nmodel.fit(a)", "split"),
    "with a name": ("import data\nds = data.make(3)\nmodel.evaluate(ds)", "make"),
    "in a step loop": ("from data import make\nfor x in make(3):\n    train_step(x)", "make"),
    "drawn from": (
        "from data import make\nit = iter(make(3))\nfor i in range(1000):\n    x = next(it)\n    train_step(x)",
        "make",
    ),
    "an iterator": (
        "from data import start\nit = start(3)\nfor i in range(1000):\n    train_step(next(it))",
        "start",
    ),
    "an iterator that a function is given": (
        "from data import start\ndef train(batches):\n    for i in range(1000):\n        x = batches.next()\n"
        "        train_step(x)\ntrain(start(3))",
        "start",
    ),
    "what a method draws": (
        "from data import Feed\nfeed = Feed()\nfor i in range(1000):\n    x = feed.next()\n    train_step(x)",
        "feed",
    ),
    "a part of a pair": (
        "from data import make_two\na, b = make_two()\nmodel.fit(a, validation_data=b)",
        "make_two",
    ),
    "a name": ("import data\nmodel.fit(data.dataset)", "dataset"),
    "an imported name": ("from data import dataset\nmodel.fit(dataset)", "dataset"),
    "an attribute": ("from data import Data\nmodel.fit(Data().train)", "attribute"),
    "what a method gives": ("from data import Data\ndata = Data()\nmodel.fit(data.get())", "attribute"),
    "a property": ("from data import Data\ndata = Data()\nmodel.predict(data.test)", "property"),
    "what a parameter's class gives": (
        "from data import Data\nclass Trainer:\n    def __init__(self, data: Data):\n        self.ds = data.get()\n"
        "    def run(self):\n        for x in self.ds:\n            train_step(x)",
        "attribute",
    ),
}


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT.keys())
def test_says_nothing_of_a_dataset_for_another_file(project: Path, source: str) -> None:
    assert found(project, data=DATA, program=dedent(MODEL) + dedent(STEP) + source) == []


@pytest.mark.parametrize(("source", "where"), CONSUMED.values(), ids=CONSUMED.keys())
def test_flags_a_dataset_where_it_is_made_for_another_file(project: Path, source: str, where: str) -> None:
    program = dedent(MODEL) + dedent(STEP) + source
    assert found(project, data=DATA, program=program) == [f"TFP502 data {where}"]


def test_flags_a_dataset_where_it_is_batched(project: Path) -> None:
    program = "from data import make_single\nmodel.fit(make_single().batch(3))  # here"
    assert found(project, data=DATA, program=dedent(MODEL) + program) == ["TFP502 program here"]


def test_flags_a_dataset_that_goes_through_functions_of_another_file(project: Path) -> None:
    stages = """
        import tensorflow as tf
        def flip(dataset):
            return dataset.map(change, num_parallel_calls=4)
        def show(images):
            return images.map(change)
    """
    program = (
        "from stages import flip, show\nds = flip(load())\nmodel.fit(ds.batch(3))  # here\n"
        "model.fit(show(load()).batch(3))\n"
    )
    assert found(project, stages=stages, program=dedent(MODEL) + program) == ["TFP502 program here"]


def test_flags_samples_of_another_file_where_they_are_trained_on(project: Path) -> None:
    program = "from data import make_single\nmodel.fit(make_single())  # here"
    assert found(project, data=DATA, program=dedent(MODEL) + program) == ["TFP501 program here"]


TRAINING = """
    import tensorflow as tf

    def fit(model, data, epochs):
        model.fit(data, epochs=epochs)

    def loop(train_step, *, dataset):
        for x in dataset:
            step(x)

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.variables), model.variables))

    def both(model, one, other):
        fit(model, one.prefetch(1), 1)
        fit(model, other, 1)

    def draw(dataset, steps):
        batches = iter(dataset)
        for i in range(steps):
            x = next(batches)
            step(x)

    def behind_a_bar(dataset):
        for epoch in range(9):
            dataset = tqdm(dataset)
            for x in dataset:
                step(x)
                dataset.set_postfix(done=True)

    def look(dataset):
        for x in dataset:
            print(x)

    def look_at_one(dataset):
        batches = iter(dataset)
        step(next(batches))

    class Trainer:
        def __init__(self, model, dataset):
            self.model = model
            self.dataset = dataset

        def run(self):
            for x in self.dataset:
                step(x)

        def test(self, dataset):
            self.model.evaluate(dataset)
"""
BATCHED = "import training\nds = tf.data.Dataset.from_tensor_slices(load()).batch(3)  # here\n"
TAKEN = {
    "fit": "training.fit(model, ds, 3)",
    "a step loop": "training.loop(None, dataset=ds)",
    "an iterator": "training.draw(ds, 1000)",
    "a progress bar": "training.behind_a_bar(ds)",
    "a loop around a step of that file": "for x in ds:\n    training.step(x)",
    "a parameter that is handed on": "training.both(model, None, ds)",
    "a class that keeps it": "training.Trainer(model, ds).run()",
    "a method": "trainer = training.Trainer(model, None)\ntrainer.test(ds)",
}


@pytest.mark.parametrize("call", TAKEN.values(), ids=TAKEN.keys())
def test_flags_a_dataset_that_another_file_takes(project: Path, call: str) -> None:
    program = "import tensorflow as tf\n" + BATCHED + call
    assert found(project, training=TRAINING, program=program) == ["TFP502 program here"]


@pytest.mark.parametrize(
    "call", ["training.look(ds)", "training.look_at_one(ds)", "training.both(model, ds, None)"]
)
def test_says_nothing_of_a_dataset_that_another_file_does_not_take_as_it_is(project: Path, call: str) -> None:
    assert found(project, training=TRAINING, program=dedent(MODEL) + BATCHED + call) == []


def test_a_dataset_goes_through_several_files(project: Path) -> None:
    program = "import data\nimport training\ntraining.fit(model, data.make(3), 1)"
    files = {"data": DATA, "training": TRAINING, "program": dedent(MODEL) + program}
    assert found(project, **files) == ["TFP502 data make"]


def test_a_file_that_says_nothing_of_datasets_is_looked_at_for_what_it_batches(project: Path) -> None:
    loader = """
        import tensorflow as tf
        class Loader:
            def __init__(self):
                self.test = tf.data.Dataset.from_tensor_slices(load())
        """
    test = """
        import tensorflow as tf
        from loader import Loader
        encoder = tf.keras.models.load_model("encoder")
        test_set = Loader().test.batch(9)  # batched
        for x in test_set:
            show(encoder(x))
        """
    assert found(project, loader=loader, test=test) == ["TFP502 test batched"]


TAKERS = """
    import tensorflow as tf
    class Fitter:
        def __init__(self, net, loader):
            self.net, self.loader = net, loader
        def fit(self, data, epochs):
            for epoch in range(epochs):
                for x, y in data.batch(32):  # fit
                    self.net.train_on_batch(x, y)
        def fit_from_loader(self):
            pairs = self.loader.pairs().batch(32)  # fit_from_loader
            self.net.fit(pairs)
"""
LOADERS = """
    import tensorflow as tf
    class Loader:
        def pairs(self):
            return tf.data.Dataset.from_tensor_slices(load())
    class Other:
        def pairs(self):
            return read_all()
"""


@pytest.mark.parametrize(
    ("call", "found"),
    [
        (
            "Fitter(net, Other()).fit(tf.data.TFRecordDataset(name), 3)",
            [("TFP502", "fit"), ("TFP506", "fit")],
        ),
        ("Fitter(net, Other()).fit(data=pairs, epochs=3)", [("TFP502", "fit"), ("TFP506", "fit")]),
        ("Fitter(net, Other()).fit(read_all(), 3)", []),
        ("Fitter(net, Loader()).fit_from_loader()", [("TFP502", "fit_from_loader")]),
        ("Fitter(loader=Loader(), net=net).fit_from_loader()", [("TFP502", "fit_from_loader")]),
        ("Fitter(net, Other()).fit_from_loader()", []),
    ],
)
def test_a_dataset_that_another_file_gives_is_known_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, found: list[tuple[str, str]]
) -> None:
    monkeypatch.chdir(tmp_path)
    takers, loaders, program = Path("takers.py"), Path("loaders.py"), Path("program.py")
    takers.write_text(dedent(TAKERS))
    loaders.write_text(dedent(LOADERS))
    program.write_text(
        "import tensorflow as tf\nfrom loaders import Loader, Other\nfrom takers import Fitter\n"
        f"net = tf.keras.Sequential()\npairs = tf.data.Dataset.from_tensor_slices(load())\n{call}\n"
    )
    settings = Settings(root=Path(), rules=frozenset({"TFP502", "TFP506"}), project_root=Path())
    lines = dedent(TAKERS).splitlines()
    for linted in ([takers, loaders, program], [takers]):
        result = lint_files(linted, settings, 1)[0]
        places = [(f.code, lines[f.start.row - 1].rpartition("# ")[2]) for f in result.findings]
        assert sorted(places) == found


PADDED = """
    import tensorflow as tf

    def make(sentences, size):
        words = tf.data.Dataset.from_generator(sentences, tf.int32).padded_batch(size)
        return tf.data.Dataset.zip((words, words.map(shift))).prefetch(1)
"""
LOOKING = """
    import tensorflow as tf
    from data import make
    model = tf.keras.models.load_model(path)
"""
SHOWING = """
    def show(dataset):
        for x, y in dataset:
            print(model(x))
    show(make(sentences, 32))
"""


@pytest.mark.parametrize("use", [SHOWING, "for x, y in make(sentences, 32): print(model(x))\n"])
@pytest.mark.parametrize("batch", ["padded_batch", "batch"])
def test_batches_that_another_file_pads_reduce_retracing_tfp107(use: str, batch: str, project: Path) -> None:
    (project / "data.py").write_text(dedent(PADDED.replace("padded_batch", batch)), encoding="utf-8")
    (project / "look.py").write_text(dedent(LOOKING) + dedent(use), encoding="utf-8")
    settings = Settings(root=project, rules=frozenset({"TFP107"}), project_root=project)
    results = lint_files([Path("data.py"), Path("look.py")], settings, 1)
    messages = [finding.message for result in results for finding in result.findings]
    assert {"reduce_retracing=True" in message for message in messages} == {batch == "padded_batch"}


def test_a_file_tells_of_a_dataset_whose_shapes_python_leaves_open(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    data = """
        import tensorflow as tf

        class Data:
            def _load(self, path):
                x, y = tf.py_function(self.read, [path], [tf.float32, tf.float32])
                return x, y

            def get(self):
                train = tf.data.Dataset.from_tensor_slices(self.paths).map(self._load).batch(9)
                return train, train.take(9)
    """
    train = """
        import tensorflow as tf
        from data import Data
        train, test = Data().get()
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile("adam", "mse", run_eagerly=True)
        model.fit(train, validation_data=test)
    """
    for name, text in {"data": data, "train": train}.items():
        (tmp_path / f"{name}.py").write_text(dedent(text).lstrip("\n"))
    settings = Settings(root=tmp_path, rules=frozenset({"TFP104"}), project_root=tmp_path)
    (result,) = lint_files([tmp_path / "train.py"], settings, 1)
    (finding,) = result.findings
    assert "remove it once what `tf.py_function` gives for `train` has a shape" in finding.message
