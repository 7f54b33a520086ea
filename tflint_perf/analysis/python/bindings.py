"""Recording what names and attributes are bound to, as the walk comes by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from tflint_perf.analysis.python.scopes import Binding, BindingKind, Scope
from tflint_perf.analysis.python.syntax import dotted_name

if TYPE_CHECKING:
    from tflint_perf.analysis.python.walk import Walk

Path = tuple[int, ...] | None


def bind_target(
    walk: Walk, target: cst.CSTNode, kind: BindingKind, value: cst.BaseExpression | None, path: Path = ()
) -> None:
    """Bind every name and attribute of an assignment target; `path` is the part of `value` that it gets."""
    if isinstance(target, cst.Name):
        bind(walk, target.value, kind, target, value, path)
    elif isinstance(target, (cst.Tuple, cst.List)):
        starred = False
        for index, element in enumerate(target.elements):
            starred = starred or isinstance(element, cst.StarredElement)
            below = None if starred or path is None else (*path, index)
            bind_target(walk, element.value, kind, value, below)
    elif isinstance(target, cst.Attribute) and isinstance(target.value, cst.Name):
        _bind_attribute(walk, target, target.value.value, kind, value, path)


def _bind_attribute(
    walk: Walk,
    target: cst.Attribute,
    receiver: str,
    kind: BindingKind,
    value: cst.BaseExpression | None,
    path: Path,
) -> None:
    """Record `self.x = value` with the class, also from a function nested in the method."""
    function = walk.function
    while function is not None:
        if function.owner is not None and function.positional[:1] == [receiver]:
            name = target.attr.value
            binding = Binding(name, kind, target, value, walk.here, path)
            function.owner.attributes.setdefault(name, []).append(binding)
            return
        function = function.outer
    if value is not None:
        walk.attribute_writes.setdefault(target.attr.value, []).append(value)


def bind(
    walk: Walk,
    name: str,
    kind: BindingKind,
    node: cst.CSTNode,
    value: cst.BaseExpression | None,
    path: Path = (),
    imported: str = "",
) -> None:
    """Bind a name in the scope where the walk is, or where `global` and `nonlocal` say."""
    scope = walk.scope
    if kind != "comprehension":
        while scope.kind == "comprehension" and scope.parent is not None:
            scope = scope.parent
    if name in scope.elsewhere:
        scope = _home_of(name, scope, walk.top)
    scope.bindings.setdefault(name, []).append(Binding(name, kind, node, value, walk.here, path, imported))


def _home_of(name: str, scope: Scope, top: Scope) -> Scope:
    """The scope where a name declared `global` or `nonlocal` lives."""
    outer = scope.parent
    while outer is not None and outer.parent is not None:
        if outer.kind == "function" and name in outer.bindings and name not in outer.elsewhere:
            return outer
        outer = outer.parent
    return top


def bind_import(walk: Walk, node: cst.Import) -> None:
    """`import a.b` binds `a`; `import a.b as c` binds `c` to `a.b`."""
    for alias in node.names:
        full = dotted_name(alias.name)
        if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
            bind(walk, alias.asname.name.value, "import", alias, None, imported=full)
        else:
            first = full.split(".", 1)[0]
            bind(walk, first, "import", alias, None, imported=first)


def bind_import_from(walk: Walk, node: cst.ImportFrom) -> None:
    """`from a import b as c` binds `c` to `a.b`; a star import is kept under the name `*`."""
    module = "." * len(node.relative) + (dotted_name(node.module) if node.module is not None else "")
    if isinstance(node.names, cst.ImportStar):
        bind(walk, "*", "import", node, None, imported=f"{module}.*")
        return
    for alias in node.names:
        bound = alias.asname.name if alias.asname is not None else alias.name
        if isinstance(bound, cst.Name):
            separator = "" if module.endswith(".") else "."
            imported = f"{module}{separator}{dotted_name(alias.name)}"
            bind(walk, bound.value, "import", alias, None, imported=imported)
