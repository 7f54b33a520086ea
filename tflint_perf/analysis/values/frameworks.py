"""Which frameworks a file imports: TensorFlow, Keras alone, or others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tflint_perf.analysis.python.scopes import Scope
from tflint_perf.analysis.python.walk import Walk

FRAMEWORKS = frozenset({"tensorflow", "keras"})
_OTHERS = frozenset({"torch", "mxnet", "paddle", "chainer", "jax", "mindspore"})


def imports_another(walk: Walk) -> bool:
    """Whether the file imports a framework whose objects have methods of the same names."""
    return not _OTHERS.isdisjoint(packages(walk))


def imports_keras_alone(walk: Walk) -> bool:
    """Whether the file imports Keras by itself, which may run on another backend, and not TensorFlow."""
    imported = set(packages(walk))
    return "keras" in imported and "tensorflow" not in imported


def packages(walk: Walk) -> Iterator[str]:
    """The packages that the file imports, or imports from."""
    return _imported(walk.scopes.values())


def packages_at_top(walk: Walk) -> Iterator[str]:
    """Those that it imports outside of its functions and classes."""
    return _imported([walk.top])


def _imported(scopes: Iterable[Scope]) -> Iterator[str]:
    for scope in scopes:
        for bindings in scope.bindings.values():
            for binding in bindings:
                if binding.imported:
                    yield binding.imported.split(".", 1)[0]
