"""What a file says of the precision it computes in."""

from __future__ import annotations

import pytest
from tflint_perf.rules.precision.precision import Precision

from tests.analysis.support import model_of

REMOVED = [
    ("tf.keras.mixed_precision.experimental.set_policy('mixed_float16')", ["set_policy"]),
    ("from keras.mixed_precision import experimental\nexperimental.Policy('a')", ["", "Policy"]),
    ("from keras.mixed_precision.experimental import Policy as P\nP('a')", ["", "Policy"]),
    ("mp = tf.keras.mixed_precision.experimental\nmp.global_policy()", ["", "global_policy"]),
    ("import keras.mixed_precision.experimental as mp\nmp.Policy('a')", ["", "Policy"]),
    ("tf.keras.mixed_precision.set_global_policy('mixed_float16')", []),
    ("try:\n  tf.keras.mixed_precision.experimental.Policy('a')\nexcept AttributeError: pass", []),
    ("if tf.__version__ < '2.4':\n  tf.keras.mixed_precision.experimental.Policy('a')", []),
]


@pytest.mark.parametrize(("source", "names"), REMOVED)
def test_uses_of_removed_names_are_found_in_the_order_of_the_text(source: str, names: list[str]) -> None:
    assert [use.name for use in model_of(source).own(Precision).removed()] == names


@pytest.mark.parametrize(
    ("source", "thought_of"),
    [
        ("model.fit(x)", False),
        ("halfway = 3", False),
        ("tf.keras.mixed_precision.set_global_policy('mixed_float16')", True),
        ("tf.keras.backend.set_floatx('float64')", True),
        ("parser.add_argument('--amp')", True),
        ("x = tf.cast(x, tf.float16)", True),
    ],
)
def test_a_file_that_mentions_any_precision_has_thought_of_it(source: str, thought_of: bool) -> None:
    assert model_of(source).own(Precision).is_thought_of() is thought_of
