"""TFP511 dataset-materialized."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tests.rules.support import findings, fixed, flagged, notes
from tflint_perf.config.settings import Settings
from tflint_perf.project.linting import lint_files

CODE = "TFP511"
PREAMBLE = """\
import numpy as np
import tensorflow as tf
import tensorflow_datasets as tfds
from data import load
train_ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)
test_ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(32)
records = tf.data.TFRecordDataset(paths).map(load)
model = tf.keras.Sequential()
"""
ROWS_BEFORE = PREAMBLE.count("\n")


def module(source: str) -> str:
    return PREAMBLE + dedent(source).lstrip("\n")


def rows(source: str) -> list[int]:
    """The rows flagged in source below the preamble, counted from 1."""
    return [row - ROWS_BEFORE for row in flagged(CODE, module(source))]


SILENT = {
    "what becomes arrays for an estimator of another library": """
        from sklearn.svm import SVR
        model.fit(train_ds)
        rows = list(train_ds.as_numpy_iterator())
        inputs, targets = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
        estimator = SVR()
        estimator.fit(inputs, targets)
        """,
    "one element of a few, of test data, or of what may be no dataset": """
        a = list(test_ds)[0]
        b = list(train_ds.take(1))[0]
        c = list(given["test"].take(1).as_numpy_iterator())[0]
        d = list(frames)[0]
        """,
    "a few elements": "samples = list(train_ds.take(5))\nmodel.fit(train_ds)",
    "the length of a few elements": "n = len(list(train_ds.take(9)))",
    "as many as a variable says": "n = len(list(train_ds.take(count)))",
    "in an assertion": "assert len(list(train_ds)) == 10\nmodel.fit(train_ds)",
    "in a test": "def test_load():\n    assertLen(list(train_ds), 10)\n    examples = list(train_ds)\nmodel.fit(train_ds)",
    "the length of some of the elements": "n = len([x for x, y in train_ds if y])\nm = len([x for x in frames])",
    "a list of something else": "n = len(list(frames))",
    "a dataset from elsewhere": "n = len(list(load()))",
    "how many datasets there are": """
        parts = tfds.load("mnist", split=[f"train[{k}%:{k + 20}%]" for k in range(0, 100, 20)])
        names = ["train", "test"]
        both = tfds.load("mnist", split=names)
        shares = tfds.load("mnist", split=tfds.even_splits("train", n=3))
        print(len(list(parts)), len(list(both)), len(list(shares)))
        """,
    "a range": "print(list(tf.data.Dataset.range(9)))\nn = len(list(tf.data.Dataset.range(9).batch(2)))",
    "values that are written down": """
        d = tf.data.Dataset.from_tensor_slices([1, 2, 3])
        n = len(list(d))
        print(list(d.as_numpy_iterator()))
        """,
    "names of files": "n = len(list(tf.data.Dataset.list_files('images/*.jpg').shuffle(9)))",
    "a dataset to test on": "elements = list(test_ds)\nmodel.evaluate(test_ds)",
    "a dataset that nobody trains on": "elements = list(train_ds)",
    "parts that a map picks": """
        ids = list(train_ds.map(lambda x, y: y).as_numpy_iterator())
        model.fit(train_ds)
        """,
    "an array of what is tested on": "rows = np.array(list(test_ds.as_numpy_iterator()))",
    "an array of what is computed of arrays": "rows = np.vstack(list(iter(train_ds.map(load))))",
    "an array of a few": "rows = np.array(list(records.take(9)))",
    "labels": "labels = np.concatenate([y for x, y in train_ds])\nmodel.fit(train_ds)",
    "labels, by a loop": """
        for x, y in train_ds:
            labels.append(y.numpy())
        """,
    "elements of a test set": "xs = [x for x, y in test_ds]",
    "elements to test on, of what a function builds for training too": """
        def build(x, shuffle):
            d = tf.data.Dataset.from_tensor_slices(x).batch(32)
            return d.map(lambda x: (x[:, 1:], x[:, 0]))
        train, test = build(a, True), build(b, False)
        model.fit(train)
        for x, y in test:
            xs.append(x)
            ys.append(y)
        """,
    "what is computed of the elements": "means = [tf.reduce_mean(x) for x, y in train_ds]",
    "some of the elements": "big = [x for x, y in train_ds if tf.size(x) > 9]",
    "a generator, which holds nothing": "f(x for x, y in train_ds)",
    "a loop that trains": """
        for x, y in train_ds:
            losses.append(model.train_on_batch(x, y))
        """,
    "a count that only a run can tell": "n = sum(1 for _ in records)",
    "a loop that counts what only a run can tell": """
        n = 0
        for _ in records:
            n += 1
        """,
    "a loop that counts what is tested on": """
        valid_records = records.batch(9)
        for _ in valid_records:
            n += 1
        model.fit(train_ds)
        """,
    "numbers of a list": "n = len(list(enumerate(frames)))\nnumbered = enumerate(test_ds)\nfirst = next(numbered)",
    "a count of some": "n = sum(1 for x, y in train_ds if y)",
    "a sum": "n = sum(x for x in train_ds)",
    "a loop that counts by more than one": """
        n = 0
        for x in train_ds:
            n += len(x)
        """,
    "a name for list": "list = load\nn = len(list(train_ds))",
    "len of a dataset": "n = len(train_ds)",
    "a vocabulary": """
        titles = records.batch(1_000).map(lambda x: x["title"])
        vocabularies["title"] = np.unique(np.concatenate(list(titles)))
        known = sorted(set(np.concatenate(list(records.batch(9).as_numpy_iterator())).tolist()))
        model.fit(records)
        """,
    "a vocabulary, by a comprehension": "words = np.unique(np.concatenate([x.numpy() for x in train_ds]))",
    "bounds": """
        times = np.concatenate(list(records.map(lambda x: x["time"]).batch(100)))
        buckets = np.linspace(times.min(), times.max(), num=1000)
        first = np.array(list(records.map(lambda x: x["time"]))).astype("int64").min()
        print(times.shape)
        class Network(tf.keras.Model):
            def __init__(self):
                self.normal = tf.keras.layers.Normalization()
                self.normal.adapt(times)
        model.fit(records)
        """,
    "stars": "n = len(list(*train_ds))\nn = len(list())\nn = sum()",
}
FLAGGED = {
    "what becomes arrays for a model of Keras": """
        model.fit(train_ds)
        rows = list(train_ds.as_numpy_iterator())  # <-
        inputs, targets = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
        model.fit(inputs, targets)
        """,
    "all elements, for the size of the first": """
        def samples(parts, name):
            size = len(list(parts[name].as_numpy_iterator())[0][0])  # <-
            return size * tf.data.experimental.cardinality(parts[name])
        first = list(train_ds)[0]  # <-
        """,
    "a loop that keeps texts": """
        sentences, labels = [], []
        for sentence, label in train_ds:  # <-
            sentences.append(sentence.numpy().decode("utf8"))
            labels.append(label.numpy())
        """,
    "a loop that keeps texts as they are shown": """
        for sentence, _ in train_ds:  # <-
            sentences.append(str(sentence.numpy()))
        """,
    "the length of a list": "n = len(list(train_ds))  # <-",
    "the length of a tuple of NumPy values": "n = len(tuple(train_ds.as_numpy_iterator()))  # <-",
    "the length of a dataset of unknown length": "n = len(list(records.batch(32)))  # <-",
    "the length of a library's dataset": "n = len(list(tfds.load('mnist', split='train')))  # <-",
    "the length of one of several": """
        parts = tfds.load("mnist", split=[f"train[{k}%:{k + 20}%]" for k in range(0, 100, 20)])
        n = len(list(parts[0]))  # <-
        """,
    "the length of a share": """
        size = int(0.8 * len(paths))
        train_ds = train_ds.take(size).batch(9)
        n = len(list(train_ds))  # <-
        m = sum(1 for _ in train_ds)  # <-
        """,
    "the length of the first many": "n = len(list(train_ds.take(50000)))  # <-",
    "a count": "n = sum(1 for _ in train_ds)  # <-",
    "a loop that counts": """
        n = 0
        for batch in train_ds:  # <-
            n += 1
        """,
    "a loop that counts what is trained on": """
        for _ in records:  # <-
            n = n + 1
        model.fit(records.batch(32))
        """,
    "a method that counts what others train on": """
        class Data:
            @staticmethod
            def count(dataset):
                count = 0
                for _ in dataset:  # <-
                    count += 1
                return count
            def load(self):
                length = self.count(records)
                train_data = records.batch(32)
                return train_data, length
        """,
    "the length of a comprehension": "n = len([1 for _ in train_ds])  # <-\nm = len([x for x, y in train_ds])  # <-",
    "the length of NumPy values of a library's": "n = len(list(tfds.as_numpy(train_ds)))  # <-",
    "a loop that counts NumPy values": """
        for _ in tfds.as_numpy(train_ds):  # <-
            n += 1
        """,
    "the length of numbered elements": "bar = tqdm(total=len(list(enumerate(train_ds))))  # <-",
    "the length of numbered elements with a name": "steps = enumerate(train_ds)\nprint(len(list(steps)))  # <-",
    "a list of what is trained on": """
        batches = list(train_ds)  # <-
        model.fit(train_ds)
        """,
    "a list that a loop trains on": """
        batches = list(records.batch(32))  # <-
        for epoch in range(10):
            for x, y in batches:
                model.train_on_batch(x, y)
        """,
    "an array of a list": """
        data = np.array(list(train_ds.as_numpy_iterator()))  # <-
        model.fit(train_ds)
        """,
    "an array of all, of which nothing says what it is for": """
        rows = np.array(list(records.take(-1).as_numpy_iterator()), dtype=object)[:, 1]  # <-
        """,
    "an array that is trained on as well as measured": """
        times = np.concatenate(list(records.batch(100)))  # <-
        print(times.max())
        model.fit(times)
        """,
    "a comprehension": "data = np.concatenate([x for x, y in train_ds])  # <-",
    "a comprehension of NumPy values": "data = np.stack([x.numpy() for x in records])  # <-\nmodel.fit(records)",
    "elements to train on, of what a function builds": """
        def build(x, shuffle):
            d = tf.data.Dataset.from_tensor_slices(x).batch(32)
            return d.map(lambda x: (x[:, 1:], x[:, 0]))
        first, test = build(a, True), build(b, False)
        model.fit(first)
        for x, y in first:  # <-
            xs.append(x)
            ys.append(y)
        """,
    "a loop that keeps": """
        xs, ys = [], []
        for x, y in train_ds:  # <-
            xs.append(x.numpy())
            ys.append(y.numpy())
        """,
}


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT.keys())
def test_says_nothing_of(source: str) -> None:
    assert rows(source) == []


@pytest.mark.parametrize("source", FLAGGED.values(), ids=FLAGGED.keys())
def test_flags(source: str) -> None:
    marked = [row for row, line in enumerate(dedent(source).strip("\n").split("\n"), 1) if "# <-" in line]
    assert rows(source) == marked != []


FIXES = {
    "a list": ("n = len(list(train_ds)) // 2\n", "n = int(train_ds.cardinality()) // 2\n"),
    "NumPy values": ("n = len(list(train_ds.as_numpy_iterator()))\n", "n = int(train_ds.cardinality())\n"),
    "a chain": (
        "n = len(list(train_ds.map(load).prefetch(1)))  # batches\n",
        "n = int(train_ds.map(load).prefetch(1).cardinality())  # batches\n",
    ),
    "numbered elements": ("n = len(list(enumerate(train_ds)))\n", "n = int(train_ds.cardinality())\n"),
    "a dataset that is repeated some times": (
        "n = len(list(train_ds.repeat(3)))\n",
        "n = int(train_ds.repeat(3).cardinality())\n",
    ),
    "zipped datasets": (
        "both = tf.data.Dataset.zip((train_ds, test_ds))\nn = len(list(both))\n",
        "both = tf.data.Dataset.zip((train_ds, test_ds))\nn = int(both.cardinality())\n",
    ),
}


@pytest.mark.parametrize(("before", "after"), FIXES.values(), ids=FIXES.keys())
def test_asks_for_the_number(before: str, after: str) -> None:
    assert fixed(CODE, module(before)) == module(after)


def test_never_calls_the_fix_safe_because_the_dataset_is_not_run_any_more() -> None:
    (finding,) = findings(CODE, module("n = len(list(train_ds))"))
    assert finding.fix is not None
    assert not finding.fix.safe


def test_has_a_fix_for_the_length_alone() -> None:
    (finding,) = findings(CODE, module("n = sum(1 for _ in train_ds)"))
    assert (finding.fix, finding.note) == (None, None)


REFUSED = {
    "`filter` leaves the number of elements unknown": "n = len(list(train_ds.filter(load)))",
    "`tf.data.TFRecordDataset` leaves the number of elements unknown": "n = len(list(records))",
    "`repeat` leaves the number of elements unknown": "n = len(list(train_ds.repeat(times)))",
    "`zip` leaves the number of elements unknown": "n = len(list(tf.data.Dataset.zip((train_ds, records))))",
    "the dataset has this name elsewhere": "steps = enumerate(train_ds)\nn = len(list(steps))",
    "there is a comment in it": "n = len(  # batches\n    list(train_ds)\n)",
}


@pytest.mark.parametrize(("reason", "source"), REFUSED.items(), ids=REFUSED.keys())
def test_says_why_it_does_not_ask(reason: str, source: str) -> None:
    (note,) = notes(CODE, module(source))
    assert note.split(" (line")[0] == f"no fix: {reason}"


MESSAGES = {
    "n = len(list(train_ds))": "this holds the whole dataset in memory to count it; ask for its `cardinality`",
    "n = len(list(records))": "this holds the whole dataset in memory to count it; count with `reduce`",
    "n = sum(1 for _ in train_ds)": "this runs the whole pipeline to count it; ask for its `cardinality`",
}


@pytest.mark.parametrize(("source", "message"), MESSAGES.items())
def test_says_how_to_count(source: str, message: str) -> None:
    (finding,) = findings(CODE, module(source))
    assert finding.message.startswith(message)


def test_a_dataset_that_another_file_reads_may_be_counted(tmp_path: Path) -> None:
    made = """
        import tensorflow as tf

        def read_dataset(**options):
            table = tf.data.experimental.make_csv_dataset(**options)
            return table, names
    """
    counts = """
        import tensorflow as tf
        from tables import read_dataset

        rows, names = read_dataset(size=32)
        for row in rows:
            n += 1
    """
    (tmp_path / "tables.py").write_text(dedent(made))
    (tmp_path / "counts.py").write_text(dedent(counts))
    settings = Settings(root=tmp_path, rules=frozenset({CODE}), project_root=tmp_path)
    (result,) = lint_files([tmp_path / "counts.py"], settings, 1)
    assert (result.failure, result.findings) == (None, ())


def test_what_is_counted_to_be_written_is_no_training_data() -> None:
    written = """
        train_records = tf.data.TFRecordDataset(paths).map(load)
        count = 0
        for _ in train_records:
            count += 1
        for record in train_records.take(count // 2):
            writer.write(record.numpy())
        """
    assert rows(written) == []
    assert rows(dedent(written) + "model.fit(train_records)\n") == [3]
