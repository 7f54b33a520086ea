"""TFP506 dataset-created-in-loop."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.rules.support import costs_told, findings, fixed, flagged, notes

CODE = "TFP506"
PREAMBLE = dedent("""\
    import numpy as np
    import tensorflow as tf
    from elsewhere import collect, scale, reader
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    images, labels = np.load('images.npy'), np.load('labels.npy')
    Dataset = tf.data.Dataset
    ready = Dataset.from_tensor_slices(images).batch(32).prefetch(1)
    @tf.function
    def step(x):
        return model(x)
""")


def rows_marked(source: str) -> list[int]:
    """The rows that say that they are flagged."""
    return [row for row, line in enumerate(source.splitlines(), 1) if line.endswith("# <-")]


def module(source: str) -> str:
    return PREAMBLE + dedent(source).lstrip()


SILENT = {
    "a stage that nobody gets": """
        for epoch in range(100):
            ready.shuffle(1000)
            for x in ready:
                step(x)
        """,
    "built before the loop": """
        ds = Dataset.from_tensor_slices(images).batch(32)
        for epoch in range(100):
            for x in ds:
                step(x)
        """,
    "a few elements of what was built before": """
        for epoch in range(100):
            for x in ready.shuffle(9).take(9):
                step(x)
        """,
    "a map of what each epoch makes": """
        for epoch in range(100):
            rows = collect(epoch)
            for x in Dataset.from_tensor_slices(rows).map(scale).batch(32):
                step(x)
        """,
    "some of what was made before": """
        for epoch in range(100):
            for x in ready.take(90).repeat(2).prefetch(1):
                step(x)
        """,
    "models that are fitted for one epoch each": """
        for k in range(9):
            net = tf.keras.Sequential([tf.keras.layers.Dense(k)])
            net.fit(Dataset.from_tensor_slices(images).batch(32), epochs=1)
        """,
    "trials of several epochs": """
        for k in range(9):
            model.fit(Dataset.from_tensor_slices(images).batch(32), epochs=10)
        """,
    "a seed that changes": """
        for epoch in range(100):
            for x in Dataset.from_tensor_slices(images).shuffle(9, seed=epoch).batch(32):
                step(x)
        """,
    "a seed that changes, in another statement": """
        for epoch in range(100):
            ds = Dataset.from_tensor_slices(images)
            ds = ds.shuffle(9, seed=epoch)
            for x in ds.batch(32):
                step(x)
        """,
    "the loop's own data": """
        for part in parts:
            for x in Dataset.from_tensor_slices(part).batch(32):
                step(x)
        """,
    "data that the loop makes": """
        for epoch in range(100):
            data = collect()
            for x in Dataset.from_tensor_slices(data).batch(32):
                step(x)
        """,
    "data from a call": """
        for epoch in range(100):
            for x in Dataset.from_tensor_slices(collect(images)).batch(32):
                step(x)
        """,
    "data from a method": """
        for epoch in range(100):
            for x in Dataset.from_tensor_slices(buffer.sample(9)).batch(32):
                step(x)
        """,
    "data permuted anew": """
        for epoch in range(100):
            order = np.random.permutation(len(images))
            for x in Dataset.from_tensor_slices(images[order]).batch(32):
                step(x)
        """,
    "data shuffled in place": """
        for epoch in range(100):
            np.random.shuffle(images)
            for x in Dataset.from_tensor_slices(images).batch(32):
                step(x)
        """,
    "a list that grows": """
        seen = []
        for epoch in range(100):
            seen.append(epoch)
            for x in Dataset.from_tensor_slices(seen).batch(32):
                step(x)
        """,
    "an array that is written to": """
        for epoch in range(100):
            images[epoch] = 0
            for x in Dataset.from_tensor_slices(images).batch(32):
                step(x)
        """,
    "a value that adds up": """
        total = 0
        for epoch in range(100):
            total = total + 1
            for x in Dataset.from_tensor_slices(images).take(total).batch(32):
                step(x)
        """,
    "data handed to code out of sight": """
        for epoch in range(100):
            collect(images)
            for x in Dataset.from_tensor_slices(images).batch(32):
                step(x)
        """,
    "data of an object out of sight": """
        for epoch in range(100):
            memory.collect()
            for x in Dataset.from_tensor_slices(memory.images).batch(32):
                step(x)
        """,
    "data that a function of the file changes": """
        def fill(array):
            array[0] = collect()
        for epoch in range(100):
            fill(images)
            for x in Dataset.from_tensor_slices(images).batch(32):
                step(x)
        """,
    "an attribute that the loop changes": """
        class Trainer:
            def run(self):
                for epoch in range(100):
                    for x in Dataset.from_tensor_slices(self.data).batch(32):
                        step(x)
                    self.data = collect()
        """,
    "noise made anew": """
        for epoch in range(100):
            for x in Dataset.from_tensor_slices(tf.random.normal((9, 9))).batch(3):
                step(x)
        """,
    "a map that closes over the epoch": """
        for epoch in range(100):
            for x in Dataset.from_tensor_slices(images).map(lambda x: x * epoch).batch(32):
                step(x)
        """,
    "a map that reads what the loop changes": """
        strength = 0
        def jitter(x):
            return x * strength
        for epoch in range(100):
            strength = epoch / 100
            for x in Dataset.from_tensor_slices(images).map(jitter).batch(32):
                step(x)
        """,
    "a map that asks something out of sight when it is traced": """
        for epoch in range(100):
            for x in Dataset.from_tensor_slices(images).map(lambda x: x * collect()).batch(32):
                step(x)
        """,
    "a map that draws when it is traced": """
        for epoch in range(100):
            for x in Dataset.from_tensor_slices(images).map(lambda x: x * np.random.rand()).batch(32):
                step(x)
        """,
    "a function that asks something out of sight when it is traced": """
        def jitter(x):
            return x * collect()
        for epoch in range(100):
            for x in Dataset.from_tensor_slices(images).map(jitter).batch(32):
                step(x)
        """,
    "a function given what changes": """
        def make(seed):
            return Dataset.from_tensor_slices(images).shuffle(9, seed=seed).batch(32)
        for epoch in range(100):
            for x in make(epoch):
                step(x)
        """,
    "a function given what changes, in which it is built": """
        def run(part):
            for x in Dataset.from_tensor_slices(part).batch(32):
                step(x)
        for part in parts:
            run(part)
        """,
    "a function that draws random numbers": """
        def make():
            return Dataset.from_tensor_slices(images[np.random.permutation(9)]).batch(32)
        for epoch in range(100):
            for x in make():
                step(x)
        """,
    "a function that calls out of sight": """
        def make():
            return Dataset.from_tensor_slices(collect()).batch(32)
        for epoch in range(100):
            for x in make():
                step(x)
        """,
    "another agent each time": """
        class Agent:
            def __init__(self, data):
                self.data = data
            def train(self):
                for x in Dataset.from_tensor_slices(self.data).batch(32):
                    step(x)
        for agent in [Agent(part) for part in parts]:
            agent.train()
        """,
    "a batch of the step": """
        for x in ready:
            for part in Dataset.from_tensor_slices(x).batch(4):
                step(part)
        """,
    "trials of many epochs": """
        for rate in rates:
            ds = Dataset.from_tensor_slices(images).batch(32)
            for epoch in range(100):
                for x in ds:
                    step(x)
        """,
    "trials of many epochs through a function": """
        def run(ds):
            for epoch in range(100):
                for x in ds:
                    step(x)
        for rate in rates:
            run(Dataset.from_tensor_slices(images).batch(32))
        """,
    "one of each fold": """
        for train, test in folds:
            for epoch in range(10):
                for x in Dataset.from_tensor_slices(images[train]).batch(32).take(epoch):
                    step(x)
        """,
    "behind a guard": """
        for epoch in range(100):
            for x in ready:
                step(x)
            if epoch % 10 == 0:
                for x in Dataset.from_tensor_slices(images).batch(32):
                    step(x)
        """,
    "made when it is not there": """
        ds = None
        for epoch in range(100):
            if ds is None:
                ds = Dataset.from_tensor_slices(images).batch(32)
            for x in ds:
                step(x)
        """,
    "kept by a cache": """
        import functools
        @functools.lru_cache
        def make():
            return Dataset.from_tensor_slices(images).batch(32)
        for epoch in range(100):
            for x in make():
                step(x)
        """,
    "a counter": """
        for epoch in range(100):
            for i in Dataset.range(100):
                step(i)
        """,
    "no training": """
        for name in names:
            Dataset.from_tensor_slices(images).save(name)
        """,
    "in compiled code": """
        @tf.function
        def epoch():
            for x in Dataset.from_tensor_slices(images).batch(32):
                step(x)
        for _ in range(100):
            epoch()
        """,
    "a function nobody calls": """
        def make():
            return Dataset.from_tensor_slices(images).batch(32)
        """,
    "a generator that yields datasets": """
        def make():
            while True:
                yield Dataset.from_tensor_slices(collect()).batch(32)
        for ds in make():
            for x in ds:
                step(x)
        """,
}

FLAGGED = {
    "a map on what was made before": """
        batches = Dataset.from_tensor_slices(images).batch(32)
        for epoch in range(100):
            for x in batches.map(lambda x: x / 255.0, num_parallel_calls=4):  # <-
                step(x)
        """,
    "stages behind a progress bar": """
        from tqdm import tqdm
        rows = Dataset.from_tensor_slices(images)
        for epoch in range(100):
            for x in tqdm(rows.shuffle(9).batch(32)):  # <-
                step(x)
        """,
    "stages in a function that each epoch calls": """
        rows = Dataset.from_tensor_slices(images)
        def one_epoch(rows):
            for x in rows.shuffle(9).batch(32):
                step(x)
        for epoch in range(100):
            one_epoch(rows)  # <-
        """,
    "a model that is fitted for one epoch at a time": """
        for k in range(9):
            ds = Dataset.from_tensor_slices(images).batch(32)  # <-
            model.fit(ds, epochs=1)
            print(k)
        """,
    "with maps of elements by functions from elsewhere": """
        def double(x):
            print(x.shape)
            return scale(x) * 2.0
        for epoch in range(100):
            for x in Dataset.from_tensor_slices(images).map(lambda x: scale(x, 3)).map(double).batch(32):  # <-
                step(x)
        """,
    "as the iterable of the step loop": """
        for epoch in range(100):
            for x in Dataset.from_tensor_slices(images).batch(32):  # <-
                step(x)
        """,
    "with a name": """
        for epoch in range(100):
            ds = Dataset.from_tensor_slices((images, labels)).shuffle(9).batch(32)  # <-
            for x, y in ds:
                step(x)
        """,
    "in several statements, once": """
        for epoch in range(100):
            ds = Dataset.from_tensor_slices(images)  # <-
            ds = ds.shuffle(9)
            ds = ds.batch(32)
            for x in ds:
                step(x)
        """,
    "in a while": """
        while True:
            for x in Dataset.from_tensor_slices(images).batch(32):  # <-
                step(x)
        """,
    "with a progress bar": """
        from tqdm import tqdm
        for epoch in tqdm(range(100)):
            for i, x in enumerate(Dataset.from_tensor_slices(images).batch(32)):  # <-
                step(x)
        """,
    "from arrays that the loop makes of the same": """
        for epoch in range(100):
            scaled = images.astype('float32') / 255.0
            for x in Dataset.from_tensor_slices(scaled).batch(32):  # <-
                step(x)
        """,
    "from files": """
        for epoch in range(100):
            for x in tf.data.TFRecordDataset(names).map(scale).batch(32):  # <-
                step(x)
        """,
    "from a generator": """
        for epoch in range(100):
            for x in Dataset.from_generator(reader, tf.float32).batch(32):  # <-
                step(x)
        """,
    "a zip, once": """
        for epoch in range(100):
            a = Dataset.zip((Dataset.from_tensor_slices(images), Dataset.from_tensor_slices(labels)))  # <-
            for x, y in a.batch(32):
                step(x)
        """,
    "each step": """
        for i in range(1000):
            step(next(iter(Dataset.from_tensor_slices(images).batch(32))))  # <-
        """,
    "by a function that gives it": """
        def make():
            return Dataset.from_tensor_slices(images).map(scale).batch(32)
        for epoch in range(100):
            for x in make():  # <-
                step(x)
        """,
    "by a function that gets the same": """
        def make(arrays, size=32):
            ds = Dataset.from_tensor_slices(arrays)
            return ds.batch(size)
        for epoch in range(100):
            ds = make(images)  # <-
            for x in ds:
                step(x)
        """,
    "in a function that trains": """
        def run(data):
            for x in Dataset.from_tensor_slices(data).batch(32):
                step(x)
        for epoch in range(100):
            run(images)  # <-
        """,
    "in a method that trains": """
        class Trainer:
            def __init__(self, data):
                self.data = data
            def epoch(self):
                for x in Dataset.from_tensor_slices(self.data).batch(32):
                    step(x)
            def run(self):
                for epoch in range(100):
                    self.epoch()  # <-
        """,
    "through two functions": """
        def make():
            return Dataset.from_tensor_slices(images).batch(32)
        def run():
            for x in make():
                step(x)
        for epoch in range(100):
            run()  # <-
        """,
    "though something else changes": """
        history = []
        for epoch in range(100):
            losses = []
            for x in Dataset.from_tensor_slices(images).batch(32):  # <-
                losses.append(step(x))
            history.append(np.mean(losses))
            print(epoch, len(images))
        """,
    "in a loop over epochs inside one of trials": """
        for rate in rates:
            for epoch in range(100):
                for x in Dataset.from_tensor_slices(images).batch(32):  # <-
                    step(x)
        """,
}


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT.keys())
def test_a_dataset_that_may_be_another_each_time_is_left_alone(source: str) -> None:
    assert flagged(CODE, module(source)) == []


@pytest.mark.parametrize("source", FLAGGED.values(), ids=FLAGGED.keys())
def test_a_dataset_built_from_the_same_inputs_is_flagged_in_the_loop(source: str) -> None:
    assert flagged(CODE, module(source)) == rows_marked(module(source))


def test_the_finding_says_how_often() -> None:
    epochs = (
        "for epoch in range(9):\n    for x in Dataset.from_tensor_slices(images).batch(3):\n        step(x)\n"
    )
    steps = "for _ in range(999):\n    step(next(iter(Dataset.from_tensor_slices(images).batch(3))))\n"
    said = [finding.message for source in (epochs, steps) for finding in findings(CODE, module(source))]
    assert ["on each epoch;" in said[0], "on each step;" in said[1]] == [True, True]


FIXES = {
    "an iterable": (
        """
        for epoch in range(100):
            print(epoch)
            for x in Dataset.from_tensor_slices(images).batch(32):
                step(x)
        """,
        """
        dataset = Dataset.from_tensor_slices(images).batch(32)
        for epoch in range(100):
            print(epoch)
            for x in dataset:
                step(x)
        """,
    ),
    "a statement": (
        """
        for epoch in range(100):
            # All of it.
            ds = Dataset.from_tensor_slices(images).batch(32)  # 32
            for x in ds:
                step(x)
        """,
        """
        # All of it.
        ds = Dataset.from_tensor_slices(images).batch(32)  # 32
        for epoch in range(100):
            for x in ds:
                step(x)
        """,
    ),
    "several statements": (
        """
        for epoch in range(100):
            ds = Dataset.from_tensor_slices(images)
            # In batches.
            ds = ds.batch(32)
            ds = ds.prefetch(1)  # ahead

            for x in ds:
                step(x)
        """,
        """
        ds = Dataset.from_tensor_slices(images)
        # In batches.
        ds = ds.batch(32)
        ds = ds.prefetch(1)  # ahead
        for epoch in range(100):
            for x in ds:
                step(x)
        """,
    ),
    "a call": (
        """
        def make():
            return Dataset.from_tensor_slices(images).batch(32)
        for epoch in range(100):
            for x in make():
                step(x)
        """,
        """
        def make():
            return Dataset.from_tensor_slices(images).batch(32)
        dataset = make()
        for epoch in range(100):
            for x in dataset:
                step(x)
        """,
    ),
    "a name that is taken": (
        """
        dataset = 'images'
        for epoch in range(100):
            for x in Dataset.from_tensor_slices(images).batch(32):
                step(x)
        """,
        """
        dataset = 'images'
        dataset_2 = Dataset.from_tensor_slices(images).batch(32)
        for epoch in range(100):
            for x in dataset_2:
                step(x)
        """,
    ),
    "a call on several lines": (
        """
        for epoch in range(100):
            for x in Dataset.from_tensor_slices(
                images
            ).batch(32):
                step(x)
        """,
        """
        dataset = Dataset.from_tensor_slices(
            images
        ).batch(32)
        for epoch in range(100):
            for x in dataset:
                step(x)
        """,
    ),
}


@pytest.mark.parametrize(("before", "after"), FIXES.values(), ids=FIXES.keys())
def test_the_dataset_is_built_above_the_loop(before: str, after: str) -> None:
    assert fixed(CODE, module(before)) == module(after)


@pytest.mark.parametrize("after", [after for _, after in FIXES.values()], ids=FIXES.keys())
def test_what_was_fixed_is_left_alone(after: str) -> None:
    assert flagged(CODE, module(after)) == []


REFUSED = {
    "in a function that the loop calls": (
        """
        def run(data):
            for x in Dataset.from_tensor_slices(data).batch(32):
                step(x)
        for epoch in range(100):
            run(images)
        """,
        "no fix: it is built in a function that the loop calls (line 12)",
    ),
    "under a condition": (
        """
        for epoch in range(100):
            if training:
                for x in Dataset.from_tensor_slices(images).batch(32):
                    step(x)
        """,
        "no fix: it is under a condition or in a block of the loop (line 12)",
    ),
    "a name with another meaning": (
        """
        ds = ready
        for epoch in range(100):
            for x in ds:
                step(x)
            ds = Dataset.from_tensor_slices(images)
            ds = ds.batch(32)
        """,
        "no fix: `ds` is also bound elsewhere (line 11)",
    ),
}


@pytest.mark.parametrize(("source", "note"), REFUSED.values(), ids=REFUSED.keys())
def test_says_why_it_is_not_built_above(source: str, note: str) -> None:
    assert notes(CODE, module(source)) == [note]
    assert fixed(CODE, module(source)) == module(source)


SAFE = {
    "the same elements each time": (
        "Dataset.from_tensor_slices(pixels).map(lambda x: x / 2).batch(32)",
        True,
    ),
    "shuffled": ("Dataset.from_tensor_slices(pixels).shuffle(9, seed=1).batch(32)", False),
    "mapped by a function from elsewhere": ("Dataset.from_tensor_slices(pixels).map(scale).batch(32)", False),
    "from a generator": ("Dataset.from_generator(reader, tf.float32).batch(32)", False),
    "files in any order": ("Dataset.list_files('*').batch(32)", False),
}


@pytest.mark.parametrize(("dataset", "safe"), SAFE.values(), ids=SAFE.keys())
def test_the_fix_is_safe_where_each_dataset_gives_the_same_elements(dataset: str, safe: bool) -> None:
    source = f"pixels = tf.ones((8, 2))\nfor epoch in range(100):\n    for x in {dataset}:\n        step(x)\n"
    (finding,) = findings(CODE, module(source))
    assert finding.fix is not None
    assert finding.fix.safe is safe


@pytest.mark.parametrize(("stage", "safe"), [("", True), (".cache()", False)])
def test_what_a_cache_keeps_of_the_first_epoch_is_no_safe_matter(stage: str, safe: bool) -> None:
    source = f"""
        pixels = tf.ones((8, 2))
        for epoch in range(100):
            for x in Dataset.from_tensor_slices(pixels).batch(32){stage}:
                step(x)
        """
    (finding,) = findings(CODE, module(source))
    assert finding.fix is not None
    assert finding.fix.safe is safe


@pytest.mark.parametrize(("stage", "emptied"), [("", False), (".cache()", True), (".cache('file')", False)])
def test_tells_no_cost_where_a_cache_is_emptied(stage: str, emptied: bool) -> None:
    source = module(
        f"""
        pixels = tf.ones((8, 2))
        for epoch in range(100):
            for x in Dataset.from_tensor_slices(pixels){stage}.batch(32):
                step(x)
        """
    )
    (finding,) = findings(CODE, source)
    assert (", with an empty cache each time;" in finding.message) is emptied
    assert costs_told(CODE, source) == [not emptied]
