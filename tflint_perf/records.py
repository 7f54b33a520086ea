"""Dataclasses that are made in a third of the time.

Python's own decorator writes and compiles six functions for a frozen class, 0.8 ms in all. A run begins with two hundred
such classes of libcst and eighty of ours, which took longer than to lint a file. Here one function is compiled, the
constructor, and the others are shared. Type checkers see Python's own dataclasses, and it is they who hold what is
frozen to it.
"""

from __future__ import annotations

import dataclasses
import operator
from abc import ABCMeta
from collections.abc import Callable
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, TypeVar, cast

T = TypeVar("T")
_PYTHONS_OWN = dataclasses.dataclass
_ORDER = ("__lt__", "__le__", "__gt__", "__ge__")

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(kind=None, /, *, frozen=False, slots=False, eq=True, order=False):
        """As Python's own, but nothing keeps the fields of a `frozen` instance from being set."""

        def made(kind):
            # Not touched where the class has its own, as with Python's decorator.
            own = kind.__dict__
            made = _PYTHONS_OWN(kind, repr=False, eq=False, slots=slots)
            if "__repr__" not in own:
                made.__repr__ = _shown
            if eq:
                key = _key_of(made)
                if "__eq__" not in own:
                    made.__eq__ = _comparing(key, operator.eq)
                if "__hash__" not in own:
                    made.__hash__ = _hashing(key) if frozen else None
                for name in _ORDER if order else ():
                    setattr(made, name, _comparing(key, getattr(operator, name)))
            return made

        return made if kind is None else made(kind)


def _key_of(kind: type[Any]) -> Callable[[Any], object]:
    """What gives the fields by which instances are compared."""
    names = [field.name for field in dataclasses.fields(kind) if field.compare]
    return operator.attrgetter(*names) if names else _nothing


def _nothing(record: object) -> object:
    return ()


def _comparing(
    key: Callable[[Any], object], compare: Callable[[Any, Any], bool]
) -> Callable[[object, object], Any]:
    def compared(self: object, other: object) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return compare(key(self), key(other))

    return compared


def _hashing(key: Callable[[Any], object]) -> Callable[[object], int]:
    def hashed(self: object) -> int:
        return hash(key(self))

    return hashed


@recursive_repr()
def _shown(self: Any) -> str:
    fields = (field.name for field in dataclasses.fields(self) if field.repr)
    return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in fields)})"


class _Nodes(ABCMeta):
    """The kind of libcst's classes of nodes, which none is registered with: a node is of those that its class derives from.

    A plain abstract class looks that up in sets of weak references, twice as slowly; a file of 1,000 lines asks a hundred
    thousand times.
    """

    __instancecheck__ = type.__instancecheck__


def make_nodes_quickly() -> None:
    """Let libcst's nodes be made so, too, and be told apart quickly, if libcst is not imported yet.

    `CSTNode.__init_subclass__` gives every node its repr, its hash and how it compares. By two things a process that is
    not ours alone would notice: freezing is lost, and a node's hash, which is of its identity, is the object's own, another
    number. libcst says it in Python, and the model looks nodes up a million times for a few hundred files.
    """
    dataclasses.dataclass = _quick_for_nodes


def _quick_for_nodes(kind: type[T] | None = None, /, **settings: Any) -> Any:
    def made(kind: type[T]) -> type[T]:
        if not (kind.__module__.startswith("libcst._nodes.") and "__eq__" in kind.__dict__):
            return _PYTHONS_OWN(kind, **settings)
        node: Any = _PYTHONS_OWN(kind, **{**settings, "frozen": False, "eq": False, "repr": False})
        node.__eq__, node.__hash__ = object.__eq__, object.__hash__
        node.__class__ = _Nodes
        return cast("type[T]", node)

    return made if kind is None else made(kind)
