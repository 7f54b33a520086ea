"""Keras's base classes, and which of their methods Keras compiles."""

from __future__ import annotations

# Base classes: a class derived from one of these is of that kind.
KERAS_BASES = {
    "keras.Model": "model",
    "keras.models.Model": "model",
    "keras.Sequential": "model",
    "keras.models.Sequential": "model",
    "keras.layers.Layer": "layer",
    "keras.Layer": "layer",
    "tf.layers.Layer": "layer",
    "keras.layers.AbstractRNNCell": "layer",
    "keras.metrics.Metric": "metric",
    "keras.metrics.Mean": "metric",
    "keras.Metric": "metric",
    "keras.losses.Loss": "loss",
    "keras.Loss": "loss",
    "keras.optimizers.Optimizer": "optimizer",
    "keras.optimizers.legacy.Optimizer": "optimizer",
    "keras.callbacks.Callback": "callback",
    "keras.utils.Sequence": "sequence",
    "keras.utils.PyDataset": "sequence",
    "tensorflow_recommenders.Model": "model",
    "tensorflow_recommenders.models.Model": "model",
}
# The methods of those that Keras itself compiles.
COMPILED_METHODS = {
    "model": frozenset(
        {"call", "train_step", "test_step", "predict_step", "compute_loss", "compute_metrics"}
    ),
    "layer": frozenset({"call", "build"}),
    "metric": frozenset({"update_state", "result"}),
    "loss": frozenset({"call"}),
    "optimizer": frozenset({"update_step", "_resource_apply_dense", "_resource_apply_sparse"}),
}
# Those of a model that a training loop by hand calls as well.
STEPS_OF_MODELS = frozenset({"train_step", "test_step", "predict_step"})
