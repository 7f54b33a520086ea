"""Whether a value may be changed in place, as an array can be."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.apis.facts import library
from tflint_perf.analysis.execution.invariance import Invariance
from tflint_perf.analysis.limits import CALLS_DEEP
from tflint_perf.analysis.python.scopes import Binding, Function, Loop
from tflint_perf.analysis.python.syntax import callee_name, descendants, dotted_name
from tflint_perf.analysis.rewriting.parameters import Parameters
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.mutations import places_changed
from tflint_perf.analysis.values.parts import Part

_READING_METHODS = frozenset(
    {"astype", "copy", "reshape", "mean", "sum", "max", "min", "std", "var", "argmax", "argmin", "tolist", "item",
     "flatten", "transpose", "dot", "any", "all", "round", "clip", "items", "keys", "values", "get", "groupby", "iterrows",
     "to_numpy", "convert", "resize_images"}
)  # fmt: skip
_READING_ATTRIBUTES = frozenset(
    {"shape", "size", "ndim", "dtype", "T", "values", "columns", "index", "files"}
)
_READING_BUILTINS = frozenset(
    {"len", "print", "sum", "max", "min", "sorted", "enumerate", "zip", "range", "str", "list"}
)
# Functions that change the array or list that they are given first.
_CHANGING = frozenset({"shuffle", "put", "copyto", "place", "putmask", "fill_diagonal", "put_along_axis"})
_SHOWN_AS_THEY_ARE = frozenset({"T", "reshape", "ravel", "squeeze", "transpose", "view", "swapaxes", "asarray", "expand_dims"})  # fmt: skip
_CONTAINERS = frozenset({"array", "list", "dict"})


class InPlace(Part):
    """Answers what may change a value between two iterations of a loop."""

    _infer: Inference
    _calls: CallGraph
    _invariance: Invariance

    def change_below(self, node: cst.CSTNode, loop: Loop) -> cst.CSTNode | None:
        """Where an iteration of `loop`, or a function of this file that it calls, may change an array or container that
        `node` reads, also by another name; of what is not known to be one, where it surely is changed."""
        inside = set(descendants(node))
        reached = [loop.node, *(function.node for function in self._invariance.reached([loop.node]))]
        rest = [part for holder in reached for part in descendants(holder) if part not in inside]
        for read in self._containers_in(node):
            kind = self._infer.value(read).kind
            names = self._names_of(read, loop)
            for part in rest:
                if isinstance(part, cst.Name | cst.Attribute) and dotted_name(part, "…") in names:
                    if not self._means_the_same(part, read):
                        continue
                    if self.changes(part, 0) or (kind in _CONTAINERS and self._is_handed_on(part)):
                        return part
        return None

    def _containers_in(self, node: cst.CSTNode) -> Iterator[cst.Name | cst.Attribute]:
        """The names, and the attributes of objects, that `node` reads and that may hold an array or container."""
        for part in descendants(node):
            if isinstance(part, cst.Name | cst.Attribute) and not self._infer.names.dotted(part):
                parent = self._walk.parents.get(part)
                if isinstance(parent, cst.Attribute) or (
                    isinstance(parent, cst.Call) and parent.func is part
                ):
                    continue
                if self._infer.value(part).kind in (*_CONTAINERS, "unknown"):
                    yield part

    def _names_of(self, read: cst.Name | cst.Attribute, loop: Loop) -> set[str]:
        """The names of a value: its own, those of which it is a view, and those of views of it."""
        scope = self._infer.place(loop.node).block.scope
        pairs = [
            (binding.name, dotted_name(shown, "…"))
            for bindings in scope.bindings.values()
            for binding in bindings
            if (shown := _shown(binding)) is not None
        ]
        names, before = {dotted_name(read, "…")}, 0
        while len(names) > before:
            before = len(names)
            for name, shown_name in pairs:
                if name in names or shown_name in names:
                    names |= {name, shown_name}
        return names

    def _means_the_same(self, part: cst.Name | cst.Attribute, read: cst.Name | cst.Attribute) -> bool:
        """Whether a name of that spelling lives in the same scope, if it is one."""
        if not isinstance(part, cst.Name):
            return True
        if part not in self._walk.parents or isinstance(self._walk.parents.get(part), cst.Param):
            return False
        found = self._infer.names.lookup(part.value, self._infer.names.scope_of(part))
        own = self._infer.names.lookup(part.value, self._infer.names.scope_of(read))
        return found is not None and own is not None and found[0] is own[0]

    def changes(self, part: cst.CSTNode, depth: int) -> bool:
        """Whether a value is surely changed where it is mentioned: `x += 1`, `out=x`, `shuffle(x)`, a function that does so."""
        parent = self._walk.parents.get(part)
        while isinstance(parent, cst.Subscript) and parent.value is part:
            part, parent = parent, self._walk.parents.get(parent)
        if isinstance(parent, cst.AssignTarget):
            return isinstance(part, cst.Subscript)
        if isinstance(parent, cst.AugAssign):
            return parent.target is part
        if isinstance(parent, cst.Attribute):
            call = self._walk.parents.get(parent)
            return (
                isinstance(call, cst.Call)
                and call.func is parent
                and any(place is part for place in places_changed(call))
            )
        call = self._walk.parents.get(parent) if isinstance(parent, cst.Arg) else None
        if not isinstance(call, cst.Call) or not isinstance(parent, cst.Arg):
            return False
        if parent.keyword is not None and parent.keyword.value == "out":
            return True
        if callee_name(call) in _CHANGING and call.args[0] is parent and not self._calls.targets(call):
            return True
        return any(self._changes_given(target, call, parent, depth) for target in self._calls.targets(call))

    def _changes_given(self, target: Function, call: cst.Call, given: cst.Arg, depth: int) -> bool:
        """Whether a function of this file changes what it is given as an argument."""
        name = self._parameter(target, call, given)
        if not name or depth > CALLS_DEEP:
            return False
        return any(self.changes(use, depth + 1) for use in self._infer.names.mentions_in(target, name))

    @staticmethod
    def _parameter(target: Function, call: cst.Call, given: cst.Arg) -> str:
        if given.keyword is not None:
            return given.keyword.value
        return Parameters.name_at(target, list(call.args).index(given)) or ""

    def _is_handed_on(self, part: cst.CSTNode) -> bool:
        """Whether a value is given to something that is not in sight and may change it."""
        parent = self._walk.parents.get(part)
        call = self._walk.parents.get(parent) if isinstance(parent, cst.Arg) else None
        if not isinstance(call, cst.Call) or not isinstance(parent, cst.Arg):
            return False
        return not self._is_reading_call(parent) and not self._calls.targets(call)

    def change(self, name: str, loop: Loop) -> cst.CSTNode | None:
        """Where an iteration of `loop` may change what `name` holds, or hands it to something that may."""
        for node in descendants(loop.node):
            if isinstance(node, cst.Name) and node.value == name and node in self._walk.parents:
                if not self._only_reads(node):
                    return node
        return None

    def _only_reads(self, node: cst.CSTNode) -> bool:
        parent = self._walk.parents.get(node)
        match parent:
            case cst.AssignTarget():
                return parent.target is node and isinstance(node, cst.Name)
            case cst.Subscript():
                return parent.value is not node or self._is_copied(parent)
            case cst.Index() | cst.SubscriptElement() | cst.BinaryOperation() | cst.UnaryOperation():
                return True
            case cst.Comparison() | cst.ComparisonTarget() | cst.FormattedStringExpression() | cst.CompFor():
                return True
            case cst.For():
                return parent.iter is node
            case cst.Attribute():
                return self._is_reading_attribute(parent)
            case cst.Arg():
                return self._is_reading_call(parent)
        return False

    def _is_copied(self, part: cst.Subscript) -> bool:
        """Whether a part of the value is read at once, rather than written to or given a name."""
        parent = self._walk.parents.get(part)
        return isinstance(parent, cst.Arg | cst.BinaryOperation) and self._only_reads(part)

    def _is_reading_attribute(self, node: cst.Attribute) -> bool:
        parent = self._walk.parents.get(node)
        if isinstance(parent, cst.Call) and parent.func is node:
            return node.attr.value in _READING_METHODS
        return node.attr.value in _READING_ATTRIBUTES and not isinstance(
            parent, cst.AssignTarget | cst.AugAssign
        )

    def _is_reading_call(self, arg: cst.Arg) -> bool:
        """Whether a call only reads an argument: functions of TensorFlow, most of NumPy's, models, compiled functions."""
        call = self._walk.parents[arg]
        if not isinstance(call, cst.Call):
            return False
        name = self._infer.names.qualified(call.func)
        if name:
            is_out = arg.keyword is not None and arg.keyword.value == "out"
            return library(name) in ("numpy", "tensorflow", "keras") and ".random." not in name and not is_out
        if isinstance(call.func, cst.Name) and callee_name(call) in _READING_BUILTINS:
            return True
        return self._infer.value(call.func).kind in ("compiled", "model", "layer", "loss") or callee_name(
            call
        ) in (
            "train_on_batch",
            "test_on_batch",
            "predict_on_batch",
            "predict",
        )


def _shown(binding: Binding) -> cst.BaseExpression | None:
    """What a name is bound to as it is, or to a part of which: `x`, `x[:8]`, `x.T`, each row of `x`."""
    value = binding.value if binding.kind in ("assign", "for") and binding.path == () else None
    while value is not None:
        match value:
            case cst.Name():
                return value
            case cst.Subscript():
                value = value.value
            case cst.Attribute(attr=cst.Name(value=name)) if name in _SHOWN_AS_THEY_ARE:
                value = value.value
            case cst.Attribute():
                return value
            case cst.Call(func=cst.Attribute(attr=cst.Name(value=name)) as method) if (
                name in _SHOWN_AS_THEY_ARE
            ):
                # `x.reshape(8, 8)`, `np.reshape(x, (8, 8))`
                module = isinstance(method.value, cst.Name) and method.value.value in ("np", "numpy")
                value = (value.args[0].value if value.args else None) if module else method.value
            case _:
                return None
    return None
