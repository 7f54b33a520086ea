"""What is put into lists and dicts after they are made: `losses.append(loss)`, `logs["loss"] = loss`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import libcst as cst

from tflint_perf.analysis.python.scopes import Binding, Class, Function, Scope
from tflint_perf.analysis.python.syntax import callee_name, last_name, part_at, string
from tflint_perf.analysis.values.new_containers import new_container
from tflint_perf.analysis.values.values import UNKNOWN, Value, element, join
from tflint_perf.records import dataclass

if TYPE_CHECKING:
    from tflint_perf.analysis.values.infer import Inference

_ONE = frozenset({"append", "appendleft", "add"})
_ALL = frozenset({"extend", "update"})
_GROWS = ("append", "extend", "insert")
_KINDS = ("list", "dict")
# A sum begins with one of these.
_ZEROS = frozenset({"0", "0.0", "0.", "None"})


@dataclass(frozen=True, slots=True)
class Put:
    """One place where something is put into a container.

    `all` says that it is the elements of `value` that are put, `inner` that they go into what the container holds:
    `history["loss"].append(loss)`. `key` is that of an item, where it is a text, and `added` says that the value is
    added to what is there.
    """

    base: cst.Name | cst.Attribute
    value: cst.BaseExpression
    all: bool = False
    inner: bool = False
    key: str | None = None
    added: bool = False


class Contents:
    """Answers what containers hold."""

    def __init__(self, infer: Inference) -> None:
        self._infer = infer
        self._walk = infer.walk

    def puts(self, binding: Binding, scope: Scope) -> list[Put]:
        """What is put into the container that a binding gives to a name or attribute."""
        if isinstance(binding.node, cst.Attribute):
            owner = self._owner(binding.node) if binding.name in self._names_put_into else None
            return self._puts.get((owner, binding.name), []) if owner is not None else []
        return self._puts.get((scope, binding.name), [])

    def _owner(self, node: cst.Attribute) -> Class | None:
        """The class of whose instance `self.x` is an attribute."""
        function = self._infer.names.scope_of(node).function
        while function is not None:
            if function.owner is not None and isinstance(node.value, cst.Name):
                return function.owner if function.positional[:1] == [node.value.value] else None
            function = function.outer
        return None

    def holds(self, binding: Binding) -> bool:
        """Whether `binding` makes a container."""
        made = self._made(binding)
        return made is not None and self._infer.value(made).kind in _KINDS

    def _made(self, binding: Binding) -> cst.BaseExpression | None:
        """The container that `binding` gives its name, also as a part of a tuple or from a function that makes it."""
        made = part_at(binding.value, binding.path) if binding.value is not None else None
        is_new = isinstance(made, cst.Call) or new_container(self._infer, made) is not None
        return made if is_new else None

    def appends(self, function: Function | None, name: str) -> list[cst.Call]:
        """The calls of `append` in a function, or outside all, that add to what a name stands for."""
        return self._appends.get((function, name), [])

    def grows(self, name: str) -> bool:
        """Whether something is added, anywhere in the file, to a list of the name `name`, or in an attribute of that
        name."""
        return name in self._grown

    def filled(self, made: Value, binding: Binding, scope: Scope) -> Value:
        """The value of a container with all that is put into it, where `made` is what it begins with."""
        if made.kind not in _KINDS or self._made(binding) is None:
            return made
        # What is put in may be made of what is in there.
        with_all = partial(self._with, made, binding, self.puts(binding, scope))
        return self._infer.fixpoints.of(("filled", binding), made, with_all)

    def _with(self, made: Value, binding: Binding, puts: list[Put]) -> Value:
        empty = self._begins_empty(self._made(binding))
        if not empty:
            puts = [put for put in puts if not put.added]
        if not puts:
            return made
        inner = [put for put in puts if put.inner]
        if inner:
            added = join([self._put(put) for put in inner])
            lists = Value("list", element=added if added.known else None)
            return replace(made, items=None, keys=(), element=lists) if len(inner) == len(puts) else made
        begins = [] if empty else [made.element or UNKNOWN]
        whole = join([*begins, *map(self._put, puts)])
        keys, items = self._by_key(made, puts) if made.kind == "dict" else ((), None)
        return Value(made.kind, items=items, keys=keys, element=whole if whole.known else None)

    def _begins_empty(self, made: cst.BaseExpression | None) -> bool:
        """Whether a container begins with nothing, or with nothing but the zeros that sums begin with."""
        new = new_container(self._infer, made)
        match made:
            case _ if new is not None and new.is_empty:
                return True
            case cst.List() | cst.Dict() | cst.Set():
                return all(_is_zero(getattr(part, "value", None)) for part in made.elements)
            case cst.ListComp():
                return _is_zero(made.elt)
            case cst.DictComp():
                return _is_zero(made.value)
        return False

    def _put(self, put: Put) -> Value:
        value = self._infer.value(put.value)
        if not put.all:
            return value
        return (value.element or UNKNOWN) if value.kind == "dict" else element(value)

    def _by_key(self, made: Value, puts: list[Put]) -> tuple[tuple[str, ...], tuple[Value, ...] | None]:
        """A dict's values by their keys, where every key is in sight."""
        if any(put.key is None for put in puts) or (made.element is not None and not made.keys):
            return (), None
        values = {key: [value] for key, value in zip(made.keys, made.items or (), strict=True)}
        for put in puts:
            before = values.setdefault(str(put.key), [])
            values[str(put.key)] = [*(v for v in before if v.kind != "number"), self._put(put)]
        return tuple(values), tuple(map(join, values.values()))

    # Where

    @cached_property
    def _puts(self) -> dict[tuple[Scope | Class, str], list[Put]]:
        """All places where something is put, by what it is put into: a name of a scope, or an attribute of a class."""
        names = self._infer.names
        found: dict[tuple[Scope | Class, str], list[Put]] = {}
        for put in (*self._by_methods(), *self._by_assignments()):
            if isinstance(put.base, cst.Attribute):
                owner = self._owner(put.base)
                if owner is not None:
                    found.setdefault((owner, put.base.attr.value), []).append(put)
            else:
                home = names.lookup(put.base.value, names.scope_of(put.base))
                if home is not None:
                    found.setdefault((home[0], put.base.value), []).append(put)
        return found

    @cached_property
    def _names_put_into(self) -> frozenset[str]:
        return frozenset(name for _, name in self._puts)

    @cached_property
    def _appends(self) -> dict[tuple[Function | None, str], list[cst.Call]]:
        found: dict[tuple[Function | None, str], list[cst.Call]] = {}
        for call in self._walk.calls.get("append", ()):
            if isinstance(call.func, cst.Attribute) and isinstance(call.func.value, cst.Name):
                function = self._infer.names.scope_of(call).function
                found.setdefault((function, call.func.value.value), []).append(call)
        return found

    @cached_property
    def _grown(self) -> frozenset[str]:
        calls = self._walk.calls_named(*_GROWS)
        return frozenset(last_name(call.func.value) for call in calls if isinstance(call.func, cst.Attribute))

    def _by_methods(self) -> Iterator[Put]:
        for call in self._walk.calls_named(*_ONE, *_ALL):
            method = callee_name(call)
            base, inner = _base(call.func.value) if isinstance(call.func, cst.Attribute) else (None, False)
            for arg in call.args:
                if base is None:
                    break
                if arg.keyword is not None and method == "update":
                    yield Put(base, arg.value, key=arg.keyword.value)
                elif arg.keyword is None and not arg.star:
                    yield from _parts(base, arg.value, all=method in _ALL, inner=inner)

    def _by_assignments(self) -> Iterator[Put]:
        for statement in self._walk.at:
            match statement:
                case cst.Assign():
                    for target in statement.targets:
                        if isinstance(target.target, cst.Subscript):
                            base, inner = _base(target.target.value)
                            if base is not None:
                                yield Put(base, statement.value, inner=inner, key=_key(target.target))
                case cst.AugAssign(operator=cst.AddAssign(), target=cst.Subscript() as target):
                    base, inner = _base(target.value)
                    if isinstance(statement.value, cst.List):
                        base, inner = _base(target)
                        if base is not None:
                            yield from _parts(base, statement.value, all=True, inner=inner)
                    elif base is not None:
                        yield Put(base, statement.value, inner=inner, key=_key(target), added=True)
                case cst.AugAssign(operator=cst.AddAssign(), target=cst.Name() | cst.Attribute() as base):
                    if isinstance(statement.value, cst.List | cst.ListComp):
                        yield from _parts(base, statement.value, all=True, inner=False)


def _parts(
    base: cst.Name | cst.Attribute | None, value: cst.BaseExpression, *, all: bool, inner: bool
) -> Iterator[Put]:
    """The items of a dict that is put in one by one, so that their keys are known."""
    if base is None:
        return
    if all and isinstance(value, cst.Dict):
        for item in value.elements:
            if isinstance(item, cst.DictElement):
                yield Put(base, item.value, inner=inner, key=string(item.key))
        return
    yield Put(base, value, all, inner)


def _base(node: cst.BaseExpression) -> tuple[cst.Name | cst.Attribute | None, bool]:
    """What holds the container that `node` is, and whether that is not `node` itself."""
    inner = isinstance(node, cst.Subscript)
    if isinstance(node, cst.Subscript):
        node = node.value
    return (node if isinstance(node, cst.Name | cst.Attribute) else None), inner


def _key(target: cst.Subscript) -> str | None:
    index = target.slice[0].slice if len(target.slice) == 1 else None
    return string(index.value) if isinstance(index, cst.Index) else None


def _is_zero(part: cst.CSTNode | None) -> bool:
    """Whether a sum begins with it: a zero, or a list with nothing in it."""
    return (isinstance(part, cst.Name | cst.Integer | cst.Float) and part.value in _ZEROS) or (
        isinstance(part, cst.List) and not part.elements
    )
