"""TFP507 iterator-per-step."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.rules.support import findings, fixed, flagged, notes

CODE = "TFP507"
PREAMBLE = dedent("""\
    import tensorflow as tf
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    dataset = tf.data.Dataset.from_tensor_slices(data).shuffle(100).batch(32)
    validation = tf.data.Dataset.from_tensor_slices(other).batch(32)
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
    "a parameter that may be anything": """
        def train(rows):
            for _ in range(1000):
                for x in rows.take(1):
                    step(x)
        """,
    "once": """
        batch = next(iter(dataset))
        for images in dataset.take(1):
            print(images.shape)
        for _ in range(1000):
            step(batch)
        """,
    "once an epoch": """
        for epoch in range(10):
            for x in dataset:
                step(x)
            step(next(iter(validation)))
            for x in validation.take(1):
                step(x)
        """,
    "one iterator for all steps": """
        iterator = iter(dataset)
        for _ in range(1000):
            step(next(iterator))
        """,
    "an iterator that starts again when it ends": """
        iterator = iter(dataset)
        for _ in range(1000):
            try:
                x = next(iterator)
            except StopIteration:
                iterator = iter(dataset)
                x = next(iterator)
            step(x)
        """,
    "behind a guard": """
        for i in range(1000):
            step(x)
            if i % 100 == 0:
                step(next(iter(validation)))
        """,
    "a dataset that changes with the loop": """
        for task in tasks:
            samples = tf.data.Dataset.from_tensor_slices(task).batch(5)
            step(next(iter(samples)))
        """,
    "a dataset that the caller changes with the loop": """
        def sample(task):
            return next(iter(tf.data.Dataset.from_tensor_slices(task).batch(5)))
        for task in tasks:
            step(sample(task))
        """,
    "a dataset drawn at random": """
        import random
        for _ in range(1000):
            part = dataset.shard(10, random.randrange(10))
            step(next(iter(part)))
        """,
    "datasets of a dictionary": """
        for name, part in {"train": dataset, "test": validation}.items():
            step(next(iter(part)))
        """,
    "something unknown": """
        for _ in range(1000):
            step(next(iter(loader)))
        """,
    "a list": """
        for _ in range(1000):
            step(next(iter([1, 2, 3])))
        """,
    "a method that no loop calls": """
        class Source:
            def __init__(self):
                self.dataset = dataset
            def first(self):
                return next(iter(self.dataset))
        """,
    "more than one element": """
        for _ in range(1000):
            for x in dataset.take(100):
                step(x)
        """,
}

FLAGGED = {
    "a parameter that is called a dataset": """
        def train(labelled_ds):
            for epoch in range(10):
                for _ in range(1000):
                    for x in labelled_ds.take(1):  # <-
                        step(x)
        """,
    "next of iter": """
        for _ in range(1000):
            x = next(iter(dataset))  # <-
            step(x)
        """,
    "in a loop over epochs with one step inside": """
        for epoch in range(100):
            step(next(iter(dataset)))  # <-
        """,
    "in a while": """
        while True:
            x = iter(dataset).get_next()  # <-
            step(x)
        """,
    "as NumPy": """
        for _ in range(1000):
            x = next(dataset.as_numpy_iterator())  # <-
            step(x)
        """,
    "as NumPy, through iter": """
        for _ in range(1000):
            x = next(iter(dataset.as_numpy_iterator()))  # <-
            step(x)
        """,
    "an iterator with a name": """
        for _ in range(1000):
            iterator = iter(dataset)  # <-
            step(next(iterator))
        """,
    "take(1)": """
        for _ in range(1000):
            for x in dataset.take(1):  # <-
                step(x)
        """,
    "take(1), counted": """
        for _ in range(1000):
            for i, x in enumerate(dataset.take(1)):  # <-
                step(x)
        """,
    "get_single_element": """
        for _ in range(1000):
            step(dataset.take(1).get_single_element())  # <-
        """,
    "get_single_element of older versions": """
        for _ in range(1000):
            step(tf.data.experimental.get_single_element(dataset.take(1)))  # <-
        """,
    "two datasets of a GAN": """
        for _ in range(1000):
            real = next(iter(dataset))  # <-
            fake = next(iter(validation))  # <-
            step(real - fake)
        """,
    "in a function that the loop calls": """
        def sample(source):
            return next(iter(source))  # <-
        for _ in range(1000):
            step(sample(dataset))
        """,
    "in a method that an agent's loop calls": """
        class Agent:
            def __init__(self):
                self.replay = tf.data.Dataset.from_tensor_slices(data).batch(32)
            def train(self):
                step(next(iter(self.replay)))  # <-
        agent = Agent()
        while not done:
            state, reward, done, info = env.step(0)
            agent.train()
        """,
    "a dataset made anew from the same inputs": """
        for _ in range(1000):
            samples = tf.data.Dataset.from_tensor_slices(data).batch(5)
            step(next(iter(samples)))  # <-
        """,
}


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT.keys())
def test_says_nothing_of(source: str) -> None:
    assert flagged(CODE, module(source)) == []


@pytest.mark.parametrize("source", FLAGGED.values(), ids=FLAGGED.keys())
def test_flags(source: str) -> None:
    assert flagged(CODE, module(source)) == rows_marked(module(source)) != []


FIXES = {
    "next of iter": (
        """
        # Train.
        for _ in range(1000):
            x = next(iter(dataset))  # one batch
            step(x)
        """,
        """
        iterator = iter(dataset.repeat())
        # Train.
        for _ in range(1000):
            x = next(iterator)  # one batch
            step(x)
        """,
    ),
    "an expression, and a step loop in an epoch loop": (
        """
        for epoch in range(10):
            print(epoch)
            for i in range(steps):
                if i != 5:
                    step(next(iter(dataset.map(f).prefetch(2))))
        """,
        """
        for epoch in range(10):
            print(epoch)
            iterator = iter(dataset.map(f).prefetch(2).repeat())
            for i in range(steps):
                if i != 5:
                    step(next(iterator))
        """,
    ),
    "a dataset that repeats already": (
        """
        for _ in range(1000):
            step(next(iter(dataset.repeat())))
        """,
        """
        iterator = iter(dataset.repeat())
        for _ in range(1000):
            step(next(iterator))
        """,
    ),
    "as NumPy, with a take that is of no use any more": (
        """
        for _ in range(1000):
            step(next(dataset.take(1).as_numpy_iterator()))
        """,
        """
        iterator = dataset.repeat().as_numpy_iterator()
        for _ in range(1000):
            step(next(iterator))
        """,
    ),
    "an iterator with a name": (
        """
        for _ in range(1000):
            # a batch
            batches = iter(dataset)
            step(next(batches))
        """,
        """
        batches = iter(dataset.repeat())
        for _ in range(1000):
            # a batch
            step(next(batches))
        """,
    ),
    "a name that is taken": (
        """
        iterator = 1
        for _ in range(1000):
            step(next(iter(dataset)))
        """,
        """
        iterator = 1
        iterator_2 = iter(dataset.repeat())
        for _ in range(1000):
            step(next(iterator_2))
        """,
    ),
}


@pytest.mark.parametrize(("before", "after"), FIXES.values(), ids=FIXES.keys())
def test_makes_one_iterator_above_the_loop(before: str, after: str) -> None:
    assert fixed(CODE, module(before)) == module(after)


def test_never_calls_the_fix_safe_because_other_batches_are_drawn() -> None:
    (finding,) = findings(CODE, module("for _ in range(1000):\n    step(next(iter(dataset)))\n"))
    assert finding.fix is not None
    assert not finding.fix.safe


def test_gives_two_iterators_two_names() -> None:
    source = "for _ in range(9999):\n    step(next(iter(dataset)) + next(iter(validation)))\n"
    first, second = (finding.fix for finding in findings(CODE, module(source)))
    assert first is not None
    assert second is not None
    assert [edit.content for edit in (*first.edits, *second.edits)] == [
        "iterator = iter(dataset.repeat())\n",
        "iterator",
        "iterator_2 = iter(validation.repeat())\n",
        "iterator_2",
    ]


REFUSED = {
    "it runs in a function that the loop calls": """
        def sample():
            return next(iter(dataset))
        for _ in range(1000):
            step(sample())
        """,
    "`samples` changes in the loop (line 9)": """
        for _ in range(1000):
            samples = tf.data.Dataset.from_tensor_slices(data).batch(5)
            step(next(iter(samples)))
        """,
    "a distributed dataset can't be repeated (line 11)": """
        strategy = tf.distribute.MirroredStrategy()
        spread = strategy.experimental_distribute_dataset(dataset)
        for _ in range(1000):
            step(next(iter(spread)))
        """,
    "the loop is a comprehension (line 8)": """
        losses = [step(next(iter(dataset))) for _ in range(1000)]
        """,
}


@pytest.mark.parametrize(("reason", "source"), REFUSED.items(), ids=REFUSED.keys())
def test_says_why_it_does_not_make_one(reason: str, source: str) -> None:
    assert notes(CODE, module(source)) == [f"no fix: {reason}"]
