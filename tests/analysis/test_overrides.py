"""What an object's own method may be: that of its class, or of a class derived from it."""

from __future__ import annotations

import pytest

from tests.analysis.support import here, model_of

CLASSES = """
    class Base:
        def train(self, batches):
            for x in batches:
                here({called})
        def train_step(self, x):
            {body}
        def look(self):
            return 3
    class Derived(Base):
        def train_step(self, x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(x)
            self.optimizer.apply_gradients([(tape.gradient(loss, x), x)])
            return loss
    class Further(Derived):
        def train_step(self, x):
            return tf.zeros(3)
    class Alone:
        def train_step(self, x):
            return "text"
    """


def owners_called(called: str, body: str = "raise NotImplementedError") -> list[str]:
    model = model_of(CLASSES.format(called=called, body=body))
    inner = here(model).args[0].value
    return [target.owner.name for target in model.calls.targets(inner) if target.owner is not None]


@pytest.mark.parametrize(
    ("called", "owners"),
    [
        ("self.train_step(x)", ["Base", "Derived", "Further"]),
        ("[self.train_step(x) for x in batches][0]", []),
        ("self.look()", ["Base"]),
        ("Base().train_step(x)", ["Base"]),
        ("Derived().train_step(x)", ["Derived"]),
        ("self.other.train_step(x)", []),
    ],
)
def test_a_call_of_an_own_method_runs_that_of_any_class_below(called: str, owners: list[str]) -> None:
    assert owners_called(called) == owners


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("raise NotImplementedError", "tensor"),
        ("pass", "tensor"),
        ("'To be written below.'", "tensor"),
        ("return [x]", "list"),
    ],
)
def test_a_method_to_be_overridden_gives_what_the_classes_below_give(body: str, kind: str) -> None:
    model = model_of(CLASSES.format(called="self.train_step(x)", body=body))
    assert model.value(here(model).args[0].value).kind == kind


def test_a_loop_over_an_own_method_that_is_overridden_makes_steps() -> None:
    model = model_of(CLASSES.format(called="self.train_step(x)", body="raise NotImplementedError"))
    (loop,) = model.walk.loops.values()
    assert model.loops.kind(loop) == "step"
