"""TFP510 misplaced-cache."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.rules.support import costs_told, findings, fixed, flagged, notes

CODE = "TFP510"
PREAMBLE = """\
import random
import numpy as np
import tensorflow as tf
from augment import distort
ds = tf.data.Dataset.from_tensor_slices((x, y))
def load(path, label):
    return tf.io.decode_jpeg(tf.io.read_file(path)), label
def flip(image, label):
    return tf.image.random_flip_left_right(image), label
"""
ROWS_BEFORE = PREAMBLE.count("\n")


def module(source: str) -> str:
    return PREAMBLE + dedent(source).lstrip("\n")


def rows(source: str) -> list[int]:
    """The rows flagged in source below the preamble, counted from 1."""
    return [row - ROWS_BEFORE for row in flagged(CODE, module(source))]


SILENT = {
    "a cache whose result is thrown away": """
        d = ds.map(load).shuffle(99).batch(32)
        d.cache()
        """,
    "a cache behind an option that no caller switches on": """
        def batches(scaled=True, flat=False):
            d = ds.map(load).shuffle(99).batch(32)
            if not scaled and not flat:
                d = d.cache()
            return d
        train = batches()
        """,
    "a repeat where there is no cache": """
        if training and not options.cache:
            ds = ds.repeat()
        if options.cache:
            ds = ds.cache()
        """,
    "a cache in front of everything random": "ds.map(load).cache().shuffle(99).map(flip).repeat().batch(32)",
    "a cache of batches": "ds.map(load).batch(32).cache()",
    "a function from elsewhere": "ds.map(distort).cache()",
    "stateless ops": """
        ds.map(lambda x, y: (tf.image.stateless_random_flip_left_right(x, (1, 2)), y)).cache()
        """,
    "NumPy in a traced function, which draws once": "ds.map(lambda x, y: (x + np.random.rand(), y)).cache()",
    "random ops behind a condition": """
        def f(x, y, training):
            if training:
                x = tf.image.random_flip_left_right(x)
            return x, y
        ds.map(lambda x, y: f(x, y, False)).cache()
        """,
    "a random op that an expression may skip": """
        ds.map(lambda x, y: (tf.image.random_brightness(x, 0.1) if augment else x, y)).cache()
        """,
    "a random op in a function that is not called": """
        def f(x, y):
            def g(z):
                return tf.image.random_flip_up_down(z)
            return x, y
        ds.map(f).cache()
        """,
    "a seed": "ds.map(lambda x, y: (tf.random.set_seed(1), y)).cache()",
    "augmenting layers that are not told to": """
        augment = tf.keras.Sequential([tf.keras.layers.RandomFlip()])
        ds.map(lambda x, y: (augment(x), y)).cache()
        """,
    "an augmenting layer that is told not to": """
        flip = tf.keras.layers.RandomFlip()
        ds.map(lambda x, y: (flip(x, training=False), y)).cache()
        """,
    "a layer that draws nothing": """
        scale = tf.keras.layers.Rescaling(1 / 255)
        ds.map(lambda x, y: (scale(x, training=True), y)).cache()
        """,
    "an augmented dataset that is kept in a file": "ds.map(flip).cache('train.cache').repeat()",
    "a shuffled dataset that is kept in a file": "ds.shuffle(99).map(load).cache(filename='train.cache')",
    "a shuffle that is asked to be the same": "ds.shuffle(99, reshuffle_each_iteration=False).cache()",
    "a shuffle that is asked so by position": "ds.shuffle(99, 42, False).cache()",
    "a shuffle that may be": "ds.shuffle(99, reshuffle_each_iteration=again).cache()",
    "a shuffle that splits": """
        ds = ds.shuffle(99)
        train = ds.skip(10).map(load).cache()
        """,
    "a split behind the cache": """
        ds = ds.shuffle(99).map(load).cache()
        first, second = ds.take(10), ds.skip(10)
        """,
    "a shuffle of files": "tf.data.Dataset.list_files(p).shuffle(9).interleave(tf.data.TFRecordDataset).cache()",
    "a shuffle that another one follows": "ds.shuffle(99).map(load).cache().shuffle(99).batch(32)",
    "another shuffle in a later statement": """
        ds = ds.shuffle(99).map(load).cache()
        ds = ds.batch(32)
        ds = ds.shuffle(10)
        """,
    "a dataset to validate on": "val_ds = ds.shuffle(99).map(load).cache()",
    "a dataset to test on, some statements later": """
        d = ds.shuffle(99).cache()
        test_dataset = d.batch(32)
        """,
    "a function that makes one to evaluate on": """
        def make_eval_dataset():
            return ds.map(flip).cache()
        """,
    "validation data": """
        model = tf.keras.Sequential()
        d = ds.shuffle(99).cache()
        model.fit(data, validation_data=d)
        """,
    "validation data, cached where they are given": """
        model = tf.keras.Sequential()
        model.fit(data, validation_data=ds.map(flip).cache())
        """,
    "an endless repeat in a branch that returns": """
        def batches(d, directory):
            d = d.map(load)
            if directory is None:
                if training:
                    d = d.repeat()
                return d.batch(32)
            return d.cache(directory).repeat().batch(32)
        """,
    "a repeat of one": "ds.map(load).repeat(1).cache()",
    "a repeat of some times": "ds.map(load).repeat(times).cache()",
    "an endless repeat that ends": "ds.map(load).repeat().take(1).cache().repeat()",
    "a repeated source": "tf.data.Dataset.range(9).cache().repeat()",
    "a repeat a few times, kept in a file": "ds.repeat(3).cache('file')",
    "a repeat and a shuffle of nobody knows what": "ds.shuffle(*n).repeat(**times).cache()",
    "no dataset": "frame.shuffle(9).cache()",
    "functools.cache": "import functools\nf = functools.cache(print)",
    "a star": "ds.map(*args).cache()\nds.shuffle(*args, **more).map(load).shuffle(3).cache(*args)",
}
FLAGGED = {
    "an endless repeat in a branch that raises what is caught": """
        def batches(d):
            d = d.map(load)
            try:
                if training:
                    d = d.repeat()
                    raise KeyError
            except KeyError:
                pass
            return d.cache().batch(32)  # <-
        """,
    "an endless repeat in a branch that raises what is suppressed": """
        import contextlib
        def batches(d):
            d = d.map(load)
            with contextlib.suppress(KeyError):
                if training:
                    d = d.repeat()
                    raise KeyError
            return d.cache().batch(32)  # <-
        """,
    "an option that one caller switches on": """
        def batches(scaled=True, flat=False):
            d = ds.map(load).shuffle(99).batch(32)
            if not scaled and not flat:
                d = d.cache()  # <-
            return d
        train = batches()
        other = batches(scaled=False)
        """,
    "an option that nobody calls": """
        def batches(scaled=True, flat=False):
            d = ds.map(load).shuffle(99).batch(32)
            if not scaled and not flat:
                d = d.cache()  # <-
            return d
        """,
    "behind two conditions": """
        if training:
            ds = ds.map(flip)
        if options.cache:
            ds = ds.cache()  # <-
        """,
    "behind one condition, twice": """
        if training:
            ds = ds.map(flip)
        print(ds)
        if training:
            ds = ds.cache()  # <-
        """,
    "an endless repeat": "ds.map(load).repeat().cache().shuffle(99).batch(32)  # <-",
    "an endless repeat by number": "ds.map(load).repeat(-1).batch(32).cache()  # <-",
    "an endless repeat, kept in a file": "ds.map(load).repeat(None).cache('file')  # <-",
    "a repeat of some epochs": "ds.map(load).repeat(3).cache()  # <-",
    "a repeat of epochs that have a name": "ds.map(load).repeat(num_epochs).cache()  # <-",
    "an endless repeat of what is tested": "test_ds = ds.repeat().cache()  # <-",
    "a random op": "ds.map(flip).batch(32).cache()  # <-",
    "a random op in a function of a function": """
        def augment(x, y):
            x, y = flip(x, y)
            return x / 255, y
        train = ds.map(lambda x, y: augment(x, y)).cache()  # <-
        """,
    "a draw that decides": """
        def f(x, y):
            if tf.random.uniform(()) > 0.5:
                x = tf.reverse(x, [1])
            return x, y
        ds.map(f).cache()  # <-
        """,
    "an augmenting layer": """
        layer = tf.keras.layers.RandomFlip("horizontal")
        ds.map(lambda x, y: (layer(x), y)).cache()  # <-
        """,
    "a model of augmenting layers": """
        augment = tf.keras.Sequential([
            tf.keras.layers.RandomFlip("horizontal"),
            tf.keras.layers.RandomRotation(0.1),
        ])
        ds = ds.map(lambda x, y: (augment(x, training=True), y))
        ds = ds.cache()  # <-
        """,
    "NumPy in a function of Python": """
        def noise(x):
            return x + np.random.normal(size=x.shape)
        ds.map(lambda x, y: (tf.numpy_function(noise, [x], tf.float32), y)).cache()  # <-
        """,
    "one way that augments": """
        if augment:
            ds = ds.map(flip)
        ds = ds.cache()  # <-
        """,
    "a shuffle": "ds.shuffle(99).map(load).cache().batch(32)  # <-",
    "a shuffle that is asked to be another one each time": (
        "ds.shuffle(99, reshuffle_each_iteration=True).cache()  # <-"
    ),
    "a shuffle of what is trained on": """
        model = tf.keras.Sequential()
        train_ds = ds.shuffle(99).batch(32).cache()  # <-
        model.fit(train_ds, validation_data=other)
        """,
}


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT.keys())
def test_says_nothing_of(source: str) -> None:
    assert rows(source) == []


@pytest.mark.parametrize("source", FLAGGED.values(), ids=FLAGGED.keys())
def test_flags_the_cache_behind(source: str) -> None:
    marked = [row for row, line in enumerate(dedent(source).strip("\n").split("\n"), 1) if "# <-" in line]
    assert rows(source) == marked != []


FIXES = {
    "repeat": ("ds.map(load).repeat().cache().batch(32)\n", "ds.map(load).cache().repeat().batch(32)\n"),
    "a random map": ("ds.map(load).map(flip).cache()\n", "ds.map(load).cache().map(flip)\n"),
    "a random map and a batch": (
        "ds.map(load).map(flip).batch(32).cache().prefetch(1)\n",
        "ds.map(load).cache().map(flip).batch(32).prefetch(1)\n",
    ),
    "each on a line": (
        """
        ds = (
            ds.map(load)
            .map(flip)  # at random
            .cache()  # in memory
            .batch(32)
        )
        """,
        """
        ds = (
            ds.map(load)
            .cache()  # in memory
            .map(flip)  # at random
            .batch(32)
        )
        """,
    ),
    "in statements": (
        """
        ds = ds.map(load)
        ds = ds.shuffle(99)
        ds = ds.cache()
        ds = ds.batch(32)
        """,
        """
        ds = ds.map(load)
        ds = ds.cache()
        ds = ds.shuffle(99)
        ds = ds.batch(32)
        """,
    ),
    "in the statement before": (
        "ds = ds.map(load).repeat()\nds = ds.cache()  # here\n",
        "ds = ds.map(load).cache().repeat()\n# here\n",
    ),
}


@pytest.mark.parametrize(("before", "after"), FIXES.values(), ids=FIXES.keys())
def test_caches_in_front_of(before: str, after: str) -> None:
    assert fixed(CODE, module(before)) == module(after)


def test_goes_in_front_of_one_stage_a_round() -> None:
    after = module("ds.map(load).cache().repeat().map(flip)\n")
    assert fixed(CODE, module("ds.map(load).repeat().map(flip).cache()\n")) == after


def test_never_calls_the_fix_safe_because_other_elements_come_of_it() -> None:
    (finding,) = findings(CODE, module("ds.map(flip).cache()"))
    assert finding.fix is not None
    assert not finding.fix.safe


REFUSED = {
    "`map` would run anew in each epoch, behind the cache": "ds.shuffle(99).map(load).cache()",
    "`take` would run anew in each epoch, behind the cache": "ds.map(flip).take(100).cache()",
    "the result of `map` is used in several places": """
        ds = ds.map(flip)
        first = ds.take(3)
        train = ds.cache()
        """,
    "the two are too far apart": """
        if augment:
            ds = ds.map(flip)
        ds = ds.cache()
        """,
}


@pytest.mark.parametrize(("reason", "source"), REFUSED.items(), ids=REFUSED.keys())
def test_says_why_it_does_not_move_the_cache(reason: str, source: str) -> None:
    (note,) = notes(CODE, module(source))
    assert note.split(" (line")[0] == f"no fix: {reason}"


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("ds.map(load).repeat().cache()", True),
        ("ds.repeat().map(load).cache()", True),
        ("ds.map(lambda x, y: load(x, y)).repeat().cache()", True),
        ("ds.map(lambda x, y: (tf.image.resize(x, (9, 9)), y)).repeat().cache()", True),
        ("ds.map(lambda x, y: (x / 255.0, y)).repeat().cache()", False),
        ("ds.map(lambda x, y: (tf.reshape(x, (-1, 28, 28)), y)).repeat().cache()", False),
        ("ds.map(distort).repeat().cache()", False),
        ("ds.repeat().cache()", False),
        ("ds.batch(9).repeat().cache()", False),
        ("ds.map(load).shuffle(9).batch(9).cache()", False),
        ("ds.map(flip).cache()", False),
    ],
)
def test_gives_the_measured_cost_only_of_a_repeat(source: str, shown: bool) -> None:
    assert costs_told(CODE, module(source)) == [shown]
