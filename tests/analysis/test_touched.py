"""What a loop may change in place."""

from __future__ import annotations

import pytest

from tests.analysis.support import model_of
from tflint_perf.analysis.values.mutations import Touched

# The body of a loop, and whether it may change `data` in place.
CASES = [
    ("print(len(data), data.mean())", False),
    ("data = 3", False),
    ("x = data[0]", False),
    ("for x in tf.data.Dataset.from_tensor_slices(data).shuffle(9): pass", False),
    ("model.fit(data)", False),
    ("tf.random.shuffle(data)", False),
    ("np.random.permutation(data)", False),
    ("read(data)", False),
    ("np.random.shuffle(data)", True),
    ("random.shuffle(data)", True),
    ("data[0] = 1", True),
    ("data += 1", True),
    ("data.append(1)", True),
    ("data.sort()", True),
    ("self.data = 1", True),
    ("collect(data)", True),
    ("data.collect()", True),
    ("self.data.collect()", True),
    ("write(data)", True),
    ("write(other)", False),
]


@pytest.mark.parametrize(("line", "touched"), CASES)
def test_a_loop_touches_what_it_writes_to_and_what_goes_out_of_sight(line: str, touched: bool) -> None:
    model = model_of(
        "import random\nfrom elsewhere import collect\nmodel = keras.Sequential()\n"
        "def read(a):\n    return a[0]\ndef write(a):\n    a[0] = 1\n"
        f"for epoch in range(9):\n    {line}\n"
    )
    loop = next(loop for loop in model.walk.loops.values() if loop.parent is None)
    assert ("data" in Touched(model.infer, model.calls).by(loop)) is touched
