"""Plain data as JSON and back: dataclasses as lists of their fields. What comes back is checked, never trusted."""

from __future__ import annotations

import types
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")


class UnpackError(ValueError):
    """The data are not of the type that is expected."""


def pack(value: Any) -> Any:
    """Dataclasses, tuples and frozen sets as lists, dictionaries with their values packed, all else as it is."""
    if isinstance(value, str | int | float | None):
        return value
    if isinstance(value, tuple):
        return [pack(item) for item in value]
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, dict):
        return {key: pack(item) for key, item in value.items()}
    return [pack(getattr(value, name)) for name in _names(cast("Hashable", type(value)))]


def unpack(kind: type[T], data: Any) -> T:
    """The value of a type that was packed.

    Raises:
        UnpackError: `data` is not what packing such a value gives.
    """
    return cast("T", _reader(cast("Hashable", kind))(data))


@cache
def _names(kind: Hashable) -> tuple[str, ...]:
    return tuple(field.name for field in fields(cast("Any", kind)))


@cache
def _reader(kind: Hashable) -> Callable[[Any], Any]:
    origin, inner = get_origin(kind), get_args(kind)
    if kind in (str, int, float, bool, type(None)):
        return _exactly(kind)
    if origin is Literal:
        return _one_of(inner)
    if origin in (Union, types.UnionType):
        return _either([_reader(part) for part in inner])
    if origin in (tuple, frozenset) and (origin is frozenset or inner[1:] == (...,)):
        return _many(origin, _reader(inner[0]))
    if origin is dict and inner[0] is str:
        return _named(_reader(inner[1]))
    if isinstance(kind, type) and is_dataclass(kind):
        return _record(kind)
    raise TypeError(f"no way to read a {kind}")


def _exactly(kind: Any) -> Callable[[Any], Any]:
    def read(data: Any) -> Any:
        if type(data) is not kind:  # a bool is no int here
            raise UnpackError(f"not a {kind.__name__}")
        return data

    return read


def _one_of(values: tuple[Any, ...]) -> Callable[[Any], Any]:
    def read(data: Any) -> Any:
        if not (isinstance(data, str) and data in values):
            raise UnpackError("none of the known words")
        return data

    return read


def _either(readers: list[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def read(data: Any) -> Any:
        for reader in readers[:-1]:
            with suppress(UnpackError):
                return reader(data)
        return readers[-1](data)

    return read


def _many(kind: Callable[[Any], Any], inner: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def read(data: Any) -> Any:
        if not isinstance(data, list):
            raise UnpackError("not a list")
        return kind(map(inner, data))

    return read


def _named(inner: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def read(data: Any) -> Any:
        if not isinstance(data, dict):
            raise UnpackError("not an object")
        return {key: inner(value) for key, value in data.items()}

    return read


def _record(kind: type[Any]) -> Callable[[Any], Any]:
    hints = get_type_hints(kind)
    readers = [_reader(hints[name]) for name in _names(cast("Hashable", kind))]

    def read(data: Any) -> Any:
        if not isinstance(data, list) or len(data) != len(readers):
            raise UnpackError(f"not a {kind.__name__}")
        return kind(*(reader(item) for reader, item in zip(readers, data, strict=True)))

    return read
