"""How far ahead of a step a dataset's elements are made."""

from __future__ import annotations

import pytest

from tests.analysis.support import here, model_of
from tflint_perf.analysis.pipelines.prefetching import readiness

SOURCE = "s = tf.data.Dataset.from_tensor_slices(x)\n"
CASES = [
    ("s", "raw"),
    ("s.shuffle(9).repeat()", "raw"),
    ("s.batch(3)", "late"),
    ("s.batch(3).repeat()", "late"),
    ("s.batch(3).prefetch(1)", "ahead"),
    ("s.batch(3).prefetch(1).repeat()", "ahead"),
    ("s.prefetch(1).batch(3)", "late"),
    ("s.batch(3).cache()", "kept"),
    ("s.batch(3).cache() if a else s.batch(3)", "late"),
    ("s.batch(3).cache('file')", "late"),
    ("s.batch(3).take(3)", "unknown"),
    ("s.batch(3).take(300)", "late"),
    ("s.batch(3).apply(f)", "unknown"),
    ("s.apply(f).batch(3)", "late"),
    ("s.batch(3).prefetch(1).apply(tf.data.experimental.ignore_errors())", "ahead"),
    ("s.prefetch(1).apply(tf.contrib.data.map_and_batch(f, 3))", "late"),
    ("s.batch(3).apply(tf.data.experimental.prefetch_to_device('/gpu:0'))", "ahead"),
    ("tf.data.Dataset.zip((s.batch(3), s.prefetch(1)))", "late"),
    ("tf.data.Dataset.zip((s.prefetch(1), s.prefetch(1)))", "ahead"),
    ("tf.data.Dataset.zip((s.batch(3), other()))", "unknown"),
    ("tf.data.Dataset.zip(datasets)", "unknown"),
    ("s.batch(3) if a else s.batch(4)", "late"),
    ("s.batch(3) if a else s.prefetch(4)", "unknown"),
    ("other()", "unknown"),
]


@pytest.mark.parametrize(("dataset", "expected"), CASES)
def test_a_dataset_is_as_ready_as_its_last_stages_make_it(dataset: str, expected: str) -> None:
    model = model_of(f"{SOURCE}ds = {dataset}\nhere(ds)")
    assert readiness(model.value(here(model).args[0].value)) == expected
