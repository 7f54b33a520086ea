"""Which mentions of a name may mean what one place binds to it."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.model import Model
from tflint_perf.analysis.values.readers import Readers

SOURCE = """
def train(dataset, again):
    total = 0
    print(total)
    for batch in dataset:
        total = total + batch
    if again:
        total = 1
    return total
"""


def test_a_mention_is_among_the_readers_of_all_that_may_have_given_it_its_value() -> None:
    model = Model(cst.parse_module(SOURCE), SOURCE)
    (function,) = model.walk.functions.values()
    readers = Readers(model.infer).of("total", function.scope)
    nodes = [binding.node for binding in function.scope.bindings["total"]]
    read = [[type(model.parent(use)) for use in readers[node] if use not in nodes] for node in nodes]
    assert read == [
        [cst.Arg, cst.BinaryOperation, cst.Return],
        [cst.BinaryOperation, cst.Return],
        [cst.Return],
    ]
