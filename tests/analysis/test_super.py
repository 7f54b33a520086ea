"""What `super()` leads to."""

from __future__ import annotations

import pytest

from tests.analysis.support import function, here, model_of

CLASSES = """
    class Base:
        def fit(self, x):
            return tf.zeros(3)
        def look(self):
            return 3
    class Other:
        def look(self):
            return "text"
    class Derived(Base):
        def fit(self, x):
            here({call})
    """


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        ("super().fit(x)", "tensor"),
        ("super(Derived, self).fit(x)", "tensor"),
        ("super().look()", "number"),
        ("[super().look() for _ in x]", "list"),
        ("super().nowhere()", "unknown"),
        ("self.fit(x)", "none"),
    ],
)
def test_a_method_of_super_is_that_of_the_base(call: str, kind: str) -> None:
    model = model_of(CLASSES.format(call=call))
    assert model.value(here(model).args[0].value).kind == kind


def test_a_method_that_calls_the_one_of_its_base_does_not_call_itself() -> None:
    model = model_of(CLASSES.format(call="super().fit(x)"))
    base, derived = (f for f in model.walk.functions.values() if f.name == "fit")
    assert [len(model.calls.sites(method)) for method in (base, derived)] == [1, 0]


@pytest.mark.parametrize("base", ["Unknown", "tf.keras.Model"])
def test_a_base_that_is_not_in_sight_has_no_method_here(base: str) -> None:
    model = model_of(f"class A({base}):\n    def learn(self):\n        super().learn()\n")
    assert not model.calls.sites(function(model, "learn"))
