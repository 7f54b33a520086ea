"""What code changes in place: attributes and containers, and the names that these go by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set

import libcst as cst

from tflint_perf.analysis.python.syntax import descendants, last_name, string

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

    def __init__(self, places: ChangedPlaces, leaving_out: Set[cst.CSTNode]) -> None:
        self._places = places
        self._leaving_out = leaving_out

    def get(self, name: str) -> cst.CSTNode | None:
        """The first place of that name that is changed by anything else than what is left out."""
        found = self._places.get(name, ()) if name else ()
        return next((place for by, place in found if by not in self._leaving_out), None)


# The classes of nodes that may change something in place: quicker to ask for than to match.
CHANGING = frozenset({cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.For, cst.Del, cst.Call})


def places_changed(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """What a node changes in place: `x.y` in `x.y = 1`, `x` in `x[0] = 1` and in `x.append(1)`."""
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
