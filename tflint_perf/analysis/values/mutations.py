"""Names of what a loop may change in place: by writing to it, or by handing it to code that is not in sight."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping

import libcst as cst

from tflint_perf.analysis.apis.facts import has
from tflint_perf.analysis.python.reach import remembered, remembered_in_circles
from tflint_perf.analysis.python.scopes import Function, Loop
from tflint_perf.analysis.python.syntax import (
    callee_name,
    descendants,
    last_name,
    names_written,
    string,
    words_in,
)
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.named_calls import builtin_or_qualified

_CHANGING = frozenset(
    {"shuffle", "sort", "fill", "put", "place", "copyto", "putmask", "fill_diagonal", "heappush", "heappop"}
)
_READING_METHODS = frozenset(
    ["all", "any", "append", "argmax", "argmin", "assign", "astype", "copy", "count", "endswith", "evaluate", "extend",
     "fit", "flatten", "format", "get", "group", "index", "info", "item", "items", "join", "keys", "lower", "max", "mean",
     "min", "numpy", "predict", "predict_on_batch", "ravel", "replace", "reshape", "result", "save", "set_description",
     "set_postfix", "split", "squeeze", "startswith", "std", "strip", "sum", "test_on_batch", "to_numpy", "tolist",
     "train_on_batch", "transpose", "update", "update_state", "values", "write", "gradient", "apply_gradients", "reset_states",
     "reset_state", "run"]
)  # fmt: skip
_OWN_KINDS = frozenset({"model", "layer", "compiled", "optimizer", "metric", "loss", "tape", "dataset", "iterator", "tensor",
                        "variable", "strategy", "string", "number"})  # fmt: skip


class Touched:
    """Answers what the iterations of a loop may change in place."""

    def __init__(self, infer: Inference, calls: CallGraph) -> None:
        self._infer = infer
        self._calls = calls

    @remembered
    def by(self, loop: Loop) -> set[str]:
        """The last parts of the names of what a loop may change in place: `data` for `self.data`."""
        body = loop.node if isinstance(loop.node, cst.CompFor) else loop.node.body
        return set(self._in_code(body))

    @remembered_in_circles(frozenset())
    def _by(self, function: Function) -> frozenset[str]:
        return frozenset(self._in_code(function.node.body))

    def _in_code(self, code: cst.CSTNode) -> Iterator[str]:
        for node in descendants(code):
            if node.__class__ not in CHANGING:
                continue
            for place in places_changed(node):
                yield name_of_place(place)
            if isinstance(node, cst.AugAssign):
                yield name_of_place(node.target)  # an array changes in place
            if isinstance(node, cst.Call):
                yield from self._by_call(node)

    def _by_call(self, call: cst.Call) -> Iterator[str]:
        targets = self._calls.targets(call)
        for target in targets:
            touched = self._by(target)
            yield from touched
            if touched & set(target.positional):
                yield from _names_given(call)
        if not targets and not self._is_harmless(call):
            yield from _names_given(call)
            if isinstance(call.func, cst.Attribute) and callee_name(call) not in _READING_METHODS:
                yield from words_in(call.func.value)

    def _is_harmless(self, call: cst.Call) -> bool:
        name, last = builtin_or_qualified(self._infer, call.func), callee_name(call)
        if name:
            return has(name, "changes-nothing") and not has(name, "writes-to-arrays")
        if not isinstance(call.func, cst.Attribute):
            return self._infer.value(call.func).kind in _OWN_KINDS
        kind = self._infer.value(call.func.value).kind
        return kind in _OWN_KINDS or (last not in _CHANGING and (kind == "array" or last in _READING_METHODS))


def _names_given(call: cst.Call) -> Iterator[str]:
    for arg in call.args:
        yield from words_in(arg.value)


# What code changes in place: attributes and containers, and the names that these go by.


# Methods that change the container that they are called on.
_MUTATING = frozenset(
    [
        "append",
        "appendleft",
        "add",
        "clear",
        "discard",
        "extend",
        "extendleft",
        "insert",
        "pop",
        "popitem",
        "popleft",
        "put",
        "push",
        "remove",
        "reverse",
        "setdefault",
        "sort",
        "update",
        "fill",
        "resize",
    ]
)
# For each name, what changes it, and the place that is changed, in the order of the text.
ChangedPlaces = Mapping[str, list[tuple[cst.CSTNode, cst.CSTNode]]]


class Written:
    """The attributes and containers that an iteration of a loop changes, by the last part of their name."""

    def __init__(self, places: ChangedPlaces, leaving_out: Container[cst.CSTNode]) -> None:
        self._places = places
        self._leaving_out = leaving_out

    def get(self, name: str) -> cst.CSTNode | None:
        """The first place of that name that is changed by anything else than what is left out."""
        found = self._places.get(name, ()) if name else ()
        return next((place for by, place in found if by not in self._leaving_out), None)


# The classes of nodes that may change something in place: quicker to ask for than to match.
CHANGING = frozenset({cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.For, cst.Del, cst.Call})


def names_changed(statements: Iterable[cst.CSTNode]) -> set[str]:
    """The names that statements bind, and those whose arrays or containers they change in place: `x[0] = 1`."""
    changed = names_written(statements := list(statements))
    for statement in statements:
        for node in descendants(statement):
            for place in places_changed(node):
                while isinstance(place, cst.Subscript):
                    place = place.value
                if isinstance(place, cst.Name):
                    changed.add(place.value)
    return changed


def places_changed(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """What `node` changes in place: `x.y` in `x.y = 1`, `x` in `x[0] = 1` and in `x.append(1)`."""
    match node:
        case cst.AssignTarget() | cst.AnnAssign() | cst.AugAssign() | cst.For() | cst.Del():
            yield from _places(node.target)
        case cst.Call(func=cst.Attribute(value=holder, attr=cst.Name(value=method))) if method in _MUTATING:
            yield holder
        case cst.Call(func=cst.Name("setattr"), args=[_, cst.Arg(value=name), *_]) if string(name):
            yield name


def _places(target: cst.CSTNode) -> Iterator[cst.CSTNode]:
    match target:
        case cst.Attribute():
            yield target
        case cst.Subscript():
            yield target.value
        case cst.Tuple() | cst.List():
            for element in target.elements:
                yield from _places(element.value)
        case cst.StarredElement():
            yield from _places(target.value)


def name_of_place(node: cst.CSTNode) -> str:
    """The name by which a changed place goes: `x` for `self.x[0]`, and what a string such as `hasattr`'s says."""
    while isinstance(node, cst.Subscript):
        node = node.value
    return last_name(node) or string(node) or ""


def changed_by_name(holders: Iterable[cst.CSTNode]) -> ChangedPlaces:
    """What code changes in place, by the last part of its name."""
    places: dict[str, list[tuple[cst.CSTNode, cst.CSTNode]]] = {}
    for holder in holders:
        for node in descendants(holder):
            if node.__class__ in CHANGING:
                for place in places_changed(node):
                    places.setdefault(name_of_place(place), []).append((node, place))
    return places
