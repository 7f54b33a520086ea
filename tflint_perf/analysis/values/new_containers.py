"""Which expressions make a container that nothing else holds yet: `[]`, `[x for x in xs]`, `[0] * n`, `deque()`, `xs.copy()`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import libcst as cst

from tflint_perf.analysis.apis.facts import fact
from tflint_perf.analysis.python.scopes import Binding
from tflint_perf.analysis.python.syntax import argument, keyword_argument, part_at
from tflint_perf.analysis.values.named_calls import builtin_or_qualified
from tflint_perf.records import dataclass

if TYPE_CHECKING:
    from tflint_perf.analysis.values.infer import Inference

ContainerKind = Literal["list", "dict", "set"]

_KINDS: dict[str, ContainerKind] = {"list": "list", "dict": "dict", "set": "set"}
_COPIES = frozenset({"copy.copy", "copy.deepcopy"})
_DISPLAYS: dict[type[cst.CSTNode], ContainerKind] = {cst.List: "list", cst.Dict: "dict", cst.Set: "set"}
_COMPREHENSIONS: dict[type[cst.CSTNode], ContainerKind] = {
    cst.ListComp: "list",
    cst.DictComp: "dict",
    cst.SetComp: "set",
}


@dataclass(frozen=True, slots=True)
class NewContainer:
    """What an expression makes. `is_empty` says that there is surely nothing in it, `is_bounded` that it lets go of old items
    where it would hold more than so many; so do those in a list of such."""

    kind: ContainerKind
    is_empty: bool = False
    is_bounded: bool = False


def new_container(infer: Inference, node: cst.BaseExpression | None) -> NewContainer | None:
    """The container that `node` makes; None where it makes none, or gives one that something else may hold."""
    kind = node.__class__
    if kind in _DISPLAYS:
        return NewContainer(_DISPLAYS[kind], is_empty=not getattr(node, "elements", ()))
    if kind in _COMPREHENSIONS:
        each = new_container(infer, node.elt) if isinstance(node, cst.ListComp) else None
        return NewContainer(_COMPREHENSIONS[kind], is_bounded=each is not None and each.is_bounded)
    match node:
        case cst.Call():
            return _of_call(infer, node)
        case cst.BinaryOperation(operator=cst.Multiply(), left=cst.List() | cst.ListComp()):
            return NewContainer("list")
        case cst.BinaryOperation(operator=cst.Multiply(), right=cst.List() | cst.ListComp()):
            return NewContainer("list")
    return None


def made_by(infer: Inference, binding: Binding) -> NewContainer | None:
    """The container that `binding` makes: `losses, accuracies = [], []`."""
    if binding.kind != "assign" or binding.value is None:
        return None
    return new_container(infer, part_at(binding.value, binding.path))


def _of_call(infer: Inference, call: cst.Call) -> NewContainer | None:
    name = builtin_or_qualified(infer, call.func)
    kind = _KINDS.get(fact(name, "makes-container") or fact(f"collections.{name}", "makes-container"))
    if kind is None:
        return _copied(infer, call, name)
    if name.endswith("deque"):
        bound = keyword_argument(call, "maxlen") or argument(call, 1)
        return NewContainer(
            kind, is_empty=argument(call, 0, "iterable") is None, is_bounded=bound is not None
        )
    return NewContainer(kind, is_empty=not call.args or name.endswith("defaultdict"))


def _copied(infer: Inference, call: cst.Call, name: str) -> NewContainer | None:
    """`copy.copy(xs)`, `xs.copy()`."""
    copied: cst.BaseExpression | None = None
    if name in _COPIES:
        copied = argument(call, 0, "x")
    elif (
        not name and isinstance(call.func, cst.Attribute) and call.func.attr.value == "copy" and not call.args
    ):
        copied = call.func.value
    kind = infer.value(copied).kind if copied is not None else "unknown"
    return NewContainer(kind) if kind in ("list", "dict") else None
