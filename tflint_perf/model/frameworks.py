"""Which frameworks besides TensorFlow a file imports."""

from __future__ import annotations

from tflint_perf.model.walk import Walk

_OTHERS = frozenset({"torch", "mxnet", "paddle", "chainer", "jax", "mindspore"})


def imports_another(walk: Walk) -> bool:
    """Whether the file imports a framework whose objects have methods of the same names."""
    return any(
        binding.imported.split(".", 1)[0] in _OTHERS
        for scope in walk.scopes.values()
        for bindings in scope.bindings.values()
        for binding in bindings
        if binding.imported
    )
