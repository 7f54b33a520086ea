"""What lets a program see or change what its code does not name: where there is any, nothing that moves is safe."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.model.infer import Inference
from tflint_perf.model.names import canonical
from tflint_perf.model.rewriting.apis import LIBRARIES
from tflint_perf.model.rewriting.doubts import Doubt
from tflint_perf.model.syntax import descendants, is_name

# They run text, or see names, objects and frames that nobody handed to them.
_BUILTINS = ("eval", "exec", "compile", "globals", "locals", "vars", "setattr", "delattr", "__import__", "id")
_ATTRIBUTES = ("__dict__", "__globals__", "__code__", "__closure__", "_getframe", "settrace", "setprofile", "modules", "ref",
               "experimental_get_tracing_count", "get_objects", "get_referrers", "get_traced_memory")  # fmt: skip
# A graph numbers its ops, and its seed gives each of them random numbers by its number: one op less, and others change.
_GRAPHS = ("as_default", "Session", "InteractiveSession", "MonitoredTrainingSession", "placeholder", "get_default_graph",
           "disable_eager_execution", "disable_v2_behavior")  # fmt: skip
_MODULES = (
    "ctypes",
    "inspect",
    "weakref",
    "importlib",
    "mock",
    "unittest",
    "tracemalloc",
    "runpy",
    "code",
    "__main__",
)
# They change what ops give that are called afterwards; in front of all loops and calls, that is settled once.
_SETTINGS = ("tf.config.", "keras.config.", "keras.backend.set_", "keras.mixed_precision.set", "keras.utils.set_random_seed",
             "tf.experimental.numpy.", "tf.enable_", "tf.disable_", "np.set", "np.errstate", "tf.debugging.", "tf.random.set_seed",
             "tf.set_random_seed", "tf.device", "tf.keras.backend.set_", "keras.saving.", "keras.utils.custom_object")  # fmt: skip


def first_onlooker(infer: Inference) -> Doubt | None:
    """The first such thing in the file; None where all that happens is in what the code says."""
    found = next(_onlookers(infer), None)
    return None if found is None else Doubt("what the program sees of itself", found)


def _onlookers(infer: Inference) -> Iterator[cst.CSTNode]:
    walk, names = infer.walk, infer.names
    for name in _BUILTINS:
        for node in walk.names.get(name, ()):
            if names.lookup(name, names.scope_of(node)) is None:
                yield node
    for name in (*_ATTRIBUTES, *_GRAPHS):
        yield from walk.attributes.get(name, ())
    for name in _GRAPHS:
        yield from walk.names.get(name, ())
    for scope in walk.scopes.values():
        for bindings in scope.bindings.values():
            for binding in bindings:
                if binding.kind == "import" and binding.imported.split(".")[0] in _MODULES:
                    yield binding.node
    # What is imported whole may bring any name, also one that stands for something else here.
    for binding in walk.top.bindings.get("*", ()):
        if canonical(binding.imported.removesuffix(".*")).split(".")[0] not in LIBRARIES:
            yield binding.node
    yield from _written_into_libraries(infer)
    yield from _identity_asked(infer)
    yield from _settings_in_passing(infer)


def _written_into_libraries(infer: Inference) -> Iterator[cst.CSTNode]:
    """`tf.constant = mine`."""
    for statement in infer.walk.at:
        targets: list[cst.CSTNode] = []
        match statement:
            case cst.Assign():
                targets = [target.target for target in statement.targets]
            case cst.AugAssign() | cst.AnnAssign():
                targets = [statement.target]
        for target in targets:
            for part in descendants(target) if not isinstance(target, cst.Name) else ():
                if isinstance(part, cst.Attribute) and infer.names.dotted(part):
                    yield part


def _identity_asked(infer: Inference) -> Iterator[cst.CSTNode]:
    """`kept is x`: whether it is the same object, which code that moves may decide."""
    for node in infer.walk.parents:
        if isinstance(node, cst.Comparison) and _asks_identity(node):
            yield node


def _asks_identity(node: cst.Comparison) -> bool:
    return any(
        isinstance(target.operator, cst.Is | cst.IsNot)
        and not any(
            is_name(side, word)
            for side in (target.comparator, node.left)
            for word in ("None", "True", "False")
        )
        for target in node.comparisons
    )


def _settings_in_passing(infer: Inference) -> Iterator[cst.CSTNode]:
    """Settings that a loop or a function changes: nobody knows before which iteration."""
    for calls in infer.walk.calls.values():
        for call in calls:
            if infer.names.qualified(call.func).startswith(_SETTINGS):
                place = infer.place(call)
                if place.block.function is not None or place.block.loop is not None:
                    yield call
