"""What lets a program see or change what its code does not name: where there is any, nothing that moves is safe."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.apis.facts import has, last_names, methods
from tflint_perf.analysis.pipelines.elementwise import mapped_function
from tflint_perf.analysis.python.names import canonical
from tflint_perf.analysis.python.syntax import descendants, is_name
from tflint_perf.analysis.rewriting.doubts import Doubt
from tflint_perf.analysis.values.infer import Inference

# They run text, or see names, objects and frames that nobody handed to them.
_BUILTINS = (
    "eval",
    "dir",
    "exec",
    "compile",
    "globals",
    "locals",
    "vars",
    "setattr",
    "delattr",
    "__import__",
    "id",
)
_ATTRIBUTES = ("__dict__", "__globals__", "__code__", "__closure__", "_getframe", "is_", "is_not", "settrace", "setprofile", "modules", "ref",
               "experimental_get_tracing_count", "get_objects", "get_referrers", "get_traced_memory")  # fmt: skip
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
_WITH_STATE = frozenset({"variable", "model", "layer", "metric", "optimizer"})


def first_onlooker(infer: Inference) -> Doubt | None:
    """The first such thing in the file; None where all that happens is in what the code says."""
    return next(
        (
            Doubt(what, node)
            for what, nodes in (
                ("what the program sees of itself", _onlookers(infer)),
                ("names and random numbers of ops that are added to a graph later", _graphs(infer)),
                ("what names mean, any of which may be imported", _imported_whole(infer)),
                (
                    "the results of ops, since settings change in between",
                    _settings_in_passing(infer),
                ),
                (
                    "what a pipeline reads from a variable, which depends on how far ahead it runs",
                    _races(infer),
                ),
            )
            for node in nodes
        ),
        None,
    )


def _onlookers(infer: Inference) -> Iterator[cst.CSTNode]:
    walk, names = infer.walk, infer.names
    for name in _BUILTINS:
        for node in walk.names.get(name, ()):
            if names.lookup(name, names.scope_of(node)) is None:
                yield node
    for name in _ATTRIBUTES:
        yield from walk.attributes.get(name, ())
    for scope in walk.scopes.values():
        for bindings in scope.bindings.values():
            for binding in bindings:
                if binding.kind == "import" and binding.imported.split(".")[0] in _MODULES:
                    yield binding.node
    for call in infer.walk.calls.get("collect", ()):
        if not isinstance(infer.walk.parents.get(call), cst.Expr):
            yield call  # it counts the objects that are let go
    yield from _written_into_libraries(infer)
    yield from _identity_asked(infer)


def _graphs(infer: Inference) -> Iterator[cst.CSTNode]:
    """Whatever only programs that build graphs have."""
    for name in sorted(last_names("numbers-ops")):
        yield from infer.walk.attributes.get(name, ())
        yield from infer.walk.names.get(name, ())


def _imported_whole(infer: Inference) -> Iterator[cst.CSTNode]:
    """`from helpers import *`, of modules whose names are not known."""
    for binding in infer.walk.top.bindings.get("*", ()):
        if not has(canonical(binding.imported.removesuffix(".*")), "never-assigned"):
            yield binding.node


def _written_into_libraries(infer: Inference) -> Iterator[cst.CSTNode]:
    """`tf.constant = mine`, and whatever else gives an attribute of a module another value, or takes it away."""
    for node in infer.walk.parents:
        target: cst.CSTNode | None = None
        match node:
            case (
                cst.AssignTarget() | cst.AugAssign() | cst.AnnAssign() | cst.For() | cst.CompFor() | cst.Del()
            ):
                target = node.target
            case cst.AsName():
                target = node.name
        for part in descendants(target) if target is not None and not isinstance(target, cst.Name) else ():
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
    """Settings that a loop or a function changes, or that are handed on: nobody knows before which iteration."""
    for calls in infer.walk.calls.values():
        for call in calls:
            if infer.names.is_call_that(call, "sets") and _is_in_passing(infer, call):
                yield call
    for name in sorted(last_names("sets")):
        for node in (*infer.walk.attributes.get(name, ()), *infer.walk.names.get(name, ())):
            parent = infer.walk.parents.get(node)
            called = isinstance(parent, cst.Call) and parent.func is node
            if not isinstance(parent, cst.ImportAlias) and (not called or _is_in_passing(infer, node)):
                yield node
    for call in infer.walk.calls.get("getattr", ()):
        if call.args and infer.names.dotted(call.args[0].value):
            yield call


def _races(infer: Inference) -> Iterator[cst.CSTNode]:
    """Variables, and what holds some, that a function of a pipeline reads while the steps change them."""
    for call in infer.walk.calls_named(*methods("Dataset", "calls")):
        given = call.args[0].value if call.args else None
        function = mapped_function(infer, given) if given is not None else None
        for node in descendants(function.node) if function is not None else ():
            if isinstance(node, cst.Name) and infer.value(node).kind in _WITH_STATE:
                yield node


def _is_in_passing(infer: Inference, node: cst.CSTNode) -> bool:
    block = infer.place(node).block
    return block.function is not None or block.loop is not None
