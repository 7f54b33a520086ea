"""Which objects end with the iteration, or the call, that makes them."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.analysis.support import here, model_of

NET = """
    import copy
    class Net(keras.Model):
        pass
    net = Net()
    def twin(model):
        other = Net()
        other.set_weights(model.get_weights())
        return other
    def adapt(model, x):
        return model, tf.reduce_mean(model(x))
"""
SHORT = {
    "a clone": "for x in xs:\n    fast = keras.models.clone_model(net)\n    here(fast)\n",
    "a copy": "for x in xs:\n    fast = copy.deepcopy(net)\n    here(fast)\n",
    "what a function makes": "for x in xs:\n    fast = twin(net)\n    here(fast.trainable_variables)\n",
    "what comes back from what the iteration does with it": """
        for x in xs:
            fast = Net()
            for y in x:
                fast, loss = adapt(fast, y)
            here(fast)
        """,
    "in a few rounds": "for x in xs:\n    fast = twin(net)\n    for again in range(2):\n        here(fast)\n",
    "given to a function": "def use(model):\n    here(model)\nfor x in xs:\n    use(twin(net))\n",
    "made in each call of a function": "def use():\n    fast = twin(net)\n    here(fast)\nfor x in xs:\n    use()\n",
}
LONG = {
    "one of the program": "for x in xs:\n    here(net)\n",
    "one for many steps": "for x in xs:\n    fast = twin(net)\n    for y in x:\n        here(fast)\n",
    "another only now and then": """
        fast = Net()
        for x in xs:
            if x > 3:
                fast = Net()
            here(fast)
        """,
    "what a function hands back": "for x in xs:\n    same, loss = adapt(net, x)\n    here(same)\n",
    "given by one of two callers": """
        def use(model):
            here(model)
        for x in xs:
            use(twin(net))
            use(net)
        """,
    "kept by an object": """
        class Agent:
            def __init__(self):
                self.net = Net()
            def asked(self):
                return self.net
            def act(self):
                fast = self.asked()
                here(fast)
        """,
    "in no loop": "fast = twin(net)\nhere(fast)\n",
}


@pytest.mark.parametrize("code", SHORT.values(), ids=SHORT)
def test_it_ends_with_the_iteration(code: str) -> None:
    assert _is_short(code)


@pytest.mark.parametrize("code", LONG.values(), ids=LONG)
def test_it_outlives_the_iteration(code: str) -> None:
    assert not _is_short(code)


def _is_short(code: str) -> bool:
    model = model_of(dedent(NET) + dedent(code))
    return model.lifetimes.is_short(here(model).args[0].value)
