"""The names of `tf.data`: what datasets come from, what makes one of another, and what makes batches."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.python.syntax import argument, callee_name

DATASET_SOURCES = frozenset(
    [
        "from_tensor_slices",
        "from_tensors",
        "from_generator",
        "range",
        "list_files",
        "random",
        "zip",
        "choose_from_datasets",
        "sample_from_datasets",
        "load",
    ]
)
# Sources outside `tf.data.Dataset`'s own static methods, and whether their elements come in batches.
DATASET_FUNCTIONS: dict[str, bool | None] = {
    "tf.data.TFRecordDataset": False,
    "tf.data.TextLineDataset": False,
    "tf.data.FixedLengthRecordDataset": False,
    "tf.data.experimental.CsvDataset": False,
    "tf.data.experimental.SqlDataset": False,
    "tf.data.experimental.RandomDataset": False,
    "tf.data.experimental.make_csv_dataset": True,
    "tf.data.experimental.make_batched_features_dataset": True,
    "tf.data.experimental.sample_from_datasets": None,
    "tf.data.experimental.choose_from_datasets": None,
    "tf.data.experimental.load": None,
    "tf.data.experimental.from_variant": None,
    "keras.utils.image_dataset_from_directory": True,
    "keras.utils.text_dataset_from_directory": True,
    "keras.utils.audio_dataset_from_directory": True,
    "keras.utils.timeseries_dataset_from_array": True,
    "keras.preprocessing.image_dataset_from_directory": True,
    "keras.preprocessing.text_dataset_from_directory": True,
    "keras.preprocessing.timeseries_dataset_from_array": True,
}
# `Dataset` methods that give a dataset.
DATASET_STAGES = frozenset(
    [
        "map",
        "filter",
        "flat_map",
        "interleave",
        "batch",
        "padded_batch",
        "ragged_batch",
        "dense_to_ragged_batch",
        "unbatch",
        "rebatch",
        "window",
        "shuffle",
        "repeat",
        "cache",
        "prefetch",
        "take",
        "skip",
        "shard",
        "apply",
        "concatenate",
        "enumerate",
        "with_options",
        "zip",
        "take_while",
        "scan",
        "group_by_window",
        "bucket_by_sequence_length",
        "snapshot",
        "ignore_errors",
        "unique",
        "rejection_resample",
        "fingerprint",
        "sparse_batch",
        "counter",
        "prefetch_to_device",
    ]
)
BATCHING = ("batch", "padded_batch", "ragged_batch", "dense_to_ragged_batch", "sparse_batch")
# Stages that keep a dataset's elements as they are and where they are in a batch.
NEUTRAL = frozenset(["take", "skip", "shuffle", "repeat", "cache", "prefetch"])
# What `apply` is given, by what it does: functions of `tf.data.experimental` and `tf.contrib.data`.
APPLIED = {
    "map_and_batch": "batch",
    "map_and_batch_with_legacy_function": "batch",
    "batch_and_drop_remainder": "batch",
    "padded_batch_and_drop_remainder": "padded_batch",
    "dense_to_ragged_batch": "ragged_batch",
    "dense_to_sparse_batch": "sparse_batch",
    "bucket_by_sequence_length": "bucket_by_sequence_length",
    "group_by_window": "group_by_window",
    "shuffle_and_repeat": "shuffle",
    "ignore_errors": "ignore_errors",
    "enumerate_dataset": "enumerate",
    "unbatch": "unbatch",
    "unique": "unique",
    "take_while": "take_while",
    "prefetch_to_device": "prefetch_to_device",
}


def applied(call: cst.Call) -> str:
    """The stage that `dataset.apply(map_and_batch(…))` comes down to; "" where that is not known."""
    given = argument(call, 0, "transformation_func")
    return APPLIED.get(callee_name(given), "") if isinstance(given, cst.Call) else ""
