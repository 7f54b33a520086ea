"""Which functions give something else each time that they are called, by qualified name."""

from __future__ import annotations

_HOST_MODULES = ("random.", "np.random.", "time.", "datetime.", "secrets.", "uuid.")
_RANDOM_SPACES = ("tf.random.", "tf.random_", "tf.image.random_", "keras.random.", "keras.backend.random_")
_RANDOM_OPS = frozenset(
    {
        "tf.truncated_normal",
        "tf.multinomial",
        "tf.nn.dropout",
        "tf.nn.nce_loss",
        "tf.nn.sampled_softmax_loss",
        "tf.layers.dropout",
        "keras.backend.dropout",
    }
)
# They begin with the same words and draw nothing, or draw the same each time.
_NOT_RANDOM = (
    "tf.random.stateless_",
    "tf.random.set_seed",
    "tf.random_normal_initializer",
    "tf.random_uniform_initializer",
)


def changes_by_itself(name: str) -> bool:
    """Whether calling a function of Python asks for the time or for random numbers."""
    return name.startswith(_HOST_MODULES) and name != "time.sleep"


def is_random_op(name: str) -> bool:
    """Whether a function of TensorFlow draws random numbers each time that it runs."""
    return name in _RANDOM_OPS or (name.startswith(_RANDOM_SPACES) and not name.startswith(_NOT_RANDOM))
