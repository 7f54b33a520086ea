"""Sequences and dicts whose items stand in the source: `[1, 2]`, `sizes` of `sizes = (1, 2)`, `self.sizes` likewise; and
the arguments that a call unpacks from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import libcst as cst

from tflint_perf.analysis.apis.facts import has
from tflint_perf.analysis.python.scopes import Binding
from tflint_perf.analysis.python.syntax import last_name, part_at, string
from tflint_perf.analysis.values.iterables import wrapper
from tflint_perf.analysis.values.named_calls import builtin_or_qualified
from tflint_perf.records import dataclass

if TYPE_CHECKING:
    from tflint_perf.analysis.values.infer import Inference

# Methods of a dict that leave it as it is, or put something into it as `Contents` knows.
_LOOKING = frozenset({"get", "items", "keys", "values", "copy", "update"})


def written_out(infer: Inference, node: cst.BaseExpression | None) -> tuple[cst.BaseExpression, ...] | None:
    """The items of `node`, a sequence that is written out, in the order of the source (that of `sorted(…)` may be
    another); None for what is none, has items by `*`, or gets more of them elsewhere in the file."""
    seen: set[cst.CSTNode] = set()
    while node is not None and node not in seen:
        seen.add(node)
        match node:
            case cst.List() | cst.Tuple() | cst.Set():
                items = [element for element in node.elements if isinstance(element, cst.Element)]
                return tuple(item.value for item in items) if len(items) == len(node.elements) else None
            case cst.Call():
                found = wrapper(infer, node)
                keeps = found is not None and found.how.gives == "elements" and found.how.all_once
                node = found.given[0] if found is not None and keeps else None
            case cst.Name() | cst.Attribute():
                node = _bound_to(infer, node)
            case _:
                return None
    return None


def written_by_key(
    infer: Inference, node: cst.BaseExpression | None
) -> Mapping[str, cst.BaseExpression] | None:
    """The values of `node`, a dict that is written out, by their keys, also those that are put in later; None for what is
    none, or where a key is not in sight. What a key has two values for is left out."""
    match node:
        case cst.Dict():
            keys = [string(part.key) if isinstance(part, cst.DictElement) else None for part in node.elements]
            values = [part.value for part in node.elements]
        case cst.Call() if builtin_or_qualified(infer, node.func) == "dict":
            keys = [arg.keyword.value if arg.keyword is not None else None for arg in node.args]
            values = [arg.value for arg in node.args]
        case cst.Name() | cst.Attribute():
            match bindings_of(infer, node):
                case [Binding(kind="assign", path=()) as binding]:
                    return _with_what_is_put(infer, binding)
            return None
        case _:
            return None
    return dict(zip(map(str, keys), values, strict=True)) if None not in keys else None


def _with_what_is_put(infer: Inference, binding: Binding) -> Mapping[str, cst.BaseExpression] | None:
    if isinstance(binding.value, cst.Name | cst.Attribute):
        return None  # another name for a dict, to which either may add
    made = written_by_key(infer, binding.value)
    if made is None or not _is_only_looked_into(infer, binding):
        return None
    puts = infer.contents.puts(binding, infer.names.scope_of(binding.node))
    if any(put.key is None or put.inner for put in puts):
        return None
    keys = [*made, *(str(put.key) for put in puts)]
    values = [*made.values(), *(put.value for put in puts)]
    return {key: value for key, value in zip(keys, values, strict=True) if keys.count(key) == 1}


def _is_only_looked_into(infer: Inference, binding: Binding) -> bool:
    """Whether a dict is only given items, read, printed and unpacked by its name, so that nothing else can change it."""
    if not isinstance(binding.node, cst.Name):
        return False
    parents = infer.walk.parents
    for node in infer.names.mentions(binding.name, infer.names.home(binding.node)):
        match parents.get(node):
            case cst.Subscript(value=value) as item if value is node:
                if not isinstance(parents.get(item), cst.Del):
                    continue
            case cst.AssignTarget():
                continue
            case cst.Attribute(attr=cst.Name(value=name)) if name in _LOOKING:
                continue
            case cst.Arg(star="**"):
                continue
            case cst.Arg() as given:
                call = parents.get(given)
                if isinstance(call, cst.Call) and has(
                    builtin_or_qualified(infer, call.func), "settled", "changes-nothing"
                ):
                    continue
            case cst.Expr():
                continue  # a cell shows it
        return False
    return True


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a call: its `keyword`, or "" and its `place` (else -1); where a star hides what there is, both say
    so ("*", -1) and the value is None."""

    keyword: str
    place: int
    value: cst.BaseExpression | None


def arguments(infer: Inference, call: cst.Call) -> Iterator[Argument]:
    """The arguments of `call`, those that it unpacks of what is written out among them, up to a star that hides some."""
    place = 0
    for arg in call.args:
        if arg.keyword is not None:
            yield Argument(arg.keyword.value, -1, arg.value)
            continue
        if arg.star == "**":
            named = written_by_key(infer, arg.value)
            if named is None:
                yield Argument("*", -1, None)
                return
            yield from (Argument(key, -1, value) for key, value in named.items())
            continue
        # Those of a list may be others by now.
        is_fixed = not arg.star or infer.value(arg.value).kind == "tuple"
        items = (written_out(infer, arg.value) if arg.star else (arg.value,)) if is_fixed else None
        if items is None:
            yield Argument("*", -1, None)
            return
        for item in items:
            yield Argument("", place, item)
            place += 1


def _bound_to(infer: Inference, node: cst.Name | cst.Attribute) -> cst.BaseExpression | None:
    """What a name or attribute is bound to where nothing else is, and nothing is added to it."""
    match bindings_of(infer, node):
        case [Binding(kind="assign", value=cst.BaseExpression() as value, path=path)]:
            return part_at(value, path) if not infer.contents.grows(last_name(node)) else None
    return None


def bindings_of(infer: Inference, node: cst.Name | cst.Attribute) -> list[Binding]:
    """The bindings whose value a name, or an attribute of an object or class of this file, may have where it stands."""
    if isinstance(node, cst.Attribute):
        return infer.classes.bindings_of(node) or _of_class(infer, node)
    return infer.bindings(node)


def _of_class(infer: Inference, node: cst.Attribute) -> list[Binding]:
    """What the body of the nearest class binds an attribute to that nothing writes to: `batch_size = 32` below `class Config`."""
    klass, name = infer.value(node.value).klass, node.attr.value
    if klass is None or name in infer.walk.attribute_writes:
        return []
    return next(
        (each.scope.bindings[name] for each in infer.classes.lineage(klass) if name in each.scope.bindings),
        [],
    )
