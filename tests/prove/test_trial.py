"""What a run of a version says when it fails."""

from __future__ import annotations

import pytest

from tflint_perf.prove.trial import last_said

KERAS = """\
TypeError: in user code:

    File "train.py", line 47, in call
        for t in range(steps):

    TypeError: Exception encountered when calling Decoder.call().

    \x1b[1m'NoneType' object cannot be interpreted as an integer\x1b[0m

    Arguments received by Decoder.call():
      • source=tf.Tensor(shape=(20, None), dtype=int32)
      • training=True
"""


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        ("Traceback\nValueError: shapes\n\n", "ValueError: shapes"),
        (KERAS, "'NoneType' object cannot be interpreted as an integer"),
        (KERAS + "\nValueError: another\n", "ValueError: another"),
        ("", ""),
    ],
    ids=["a line", "Keras", "behind Keras's", "nothing"],
)
def test_an_error_is_told_by_what_it_says_last(printed: str, said: str) -> None:
    assert last_said(printed) == said
