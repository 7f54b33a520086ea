"""Which frameworks a file imports: TensorFlow, Keras alone, or others."""

from __future__ import annotations

from collections.abc import Iterator

from tflint_perf.analysis.python.walk import Walk

# What Keras runs on besides TensorFlow.
_BACKENDS = frozenset({"jax", "torch"})
_OTHERS = frozenset({"torch", "mxnet", "paddle", "chainer", "jax", "mindspore"})


def imports_another(walk: Walk) -> bool:
    """Whether the file imports a framework whose objects have methods of the same names."""
    return not _OTHERS.isdisjoint(_packages(walk))


def imports_keras_alone(walk: Walk) -> bool:
    """Whether the file imports Keras by itself, which may run on another backend, and not TensorFlow."""
    packages = set(_packages(walk))
    return "keras" in packages and "tensorflow" not in packages


def runs_keras_on_another(walk: Walk) -> bool:
    """Whether the file imports Keras and what else it may run on, and not TensorFlow."""
    packages = set(_packages(walk))
    return "keras" in packages and "tensorflow" not in packages and not packages.isdisjoint(_BACKENDS)


def _packages(walk: Walk) -> Iterator[str]:
    for scope in walk.scopes.values():
        for bindings in scope.bindings.values():
            for binding in bindings:
                if binding.imported:
                    yield binding.imported.split(".", 1)[0]
