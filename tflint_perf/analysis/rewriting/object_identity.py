"""Whether a program sees more of an object than what it gives: which one it is, its class, its text, its attributes."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from tflint_perf.analysis.apis.facts import has, methods
from tflint_perf.analysis.python.syntax import callee_name
from tflint_perf.analysis.rewriting.doubts import Doubt
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.named_calls import builtin_or_qualified

_FITTING = frozenset({"fit", "evaluate", "predict"})
_KEEPING = frozenset({"append", "appendleft", "add", "insert", "extend", "put", "setdefault", "update", "index", "count", "remove",
                      "setattr"})  # fmt: skip
_STRUCTURE = (cst.Tuple, cst.List, cst.Dict, cst.Element, cst.DictElement)


class ObjectIdentity:
    """Answers where a dataset is seen otherwise than by its elements, and an object otherwise than by what it gives."""

    def __init__(self, infer: Inference) -> None:
        self._infer = infer
        self._names = infer.names
        self._parents = infer.walk.parents

    def doubt_of_one(self, names: Iterable[cst.Name]) -> Doubt | None:
        """What the program may see of it that the same object comes by these names each time, and no new one."""
        for name in names:
            for mention in self._names.mentions(name.value, self._names.home(name)):
                if mention is not name and self._is_seen(mention):
                    return Doubt(
                        f"what the program sees of `{name.value}`, which is then one object", mention
                    )
        return None

    def _is_seen(self, mention: cst.Name) -> bool:
        """Whether it may show which object a name stands for; for a tensor, whether somebody keeps or looks for it."""
        parent = self._parents.get(mention)
        if isinstance(parent, cst.AssignTarget | cst.AnnAssign):
            return False  # it moves, too
        kind = self._infer.value(mention).kind
        if kind == "dataset":
            return self.doubt(mention) is not None
        if kind in ("tensor", "number", "string", "array"):
            return self._is_kept(mention)
        return not (isinstance(parent, cst.Call) and parent.func is mention)

    def _is_kept(self, mention: cst.Name) -> bool:
        """Whether a tensor goes into a container or under another name, is looked for in one, or gets an attribute."""
        node: cst.CSTNode = mention
        while isinstance(self._parents.get(node), _STRUCTURE):
            node = self._parents[node]
        match parent := self._parents.get(node):
            case cst.Arg():
                call = self._parents.get(parent)
                return isinstance(call, cst.Call) and callee_name(call) in _KEEPING
            case cst.Attribute():
                target = self._parents.get(parent)
                return isinstance(target, cst.AssignTarget | cst.AugAssign | cst.AnnAssign | cst.Del)
            case cst.ComparisonTarget(operator=cst.In() | cst.NotIn()):
                return True
            case cst.Comparison(comparisons=[cst.ComparisonTarget(operator=cst.In() | cst.NotIn())]):
                return True
        return isinstance(parent, cst.Assign | cst.AnnAssign | cst.NamedExpr) or node is not mention

    def doubt(self, node: cst.BaseExpression) -> Doubt | None:
        """What the program may show of a dataset, or of one made of it, that another stage makes another object."""
        seen: set[cst.CSTNode] = set()
        waiting: list[cst.CSTNode] = [node]
        while waiting:
            current = waiting.pop()
            if current in seen:
                continue
            seen.add(current)
            further = self._further(current)
            if further is None:
                shown = self._parents.get(current, current)
                return Doubt("what the program sees of the dataset itself: its class, its text", shown)
            waiting += further
        return None

    def _further(self, node: cst.CSTNode) -> list[cst.CSTNode] | None:
        """The expressions that may show it as well; None where it is seen, or handed to who knows whom."""
        parent = self._parents.get(node)
        match parent:
            case cst.For() | cst.CompFor() if parent.iter is node:
                return []
            case cst.Expr():
                return []
            case cst.Attribute():
                call = self._parents.get(parent)
                is_stage = (
                    isinstance(call, cst.Call)
                    and call.func is parent
                    and parent.attr.value in methods("Dataset", "stage")
                )
                return [call] if is_stage and call is not None else None
            case cst.Arg():
                return self._behind_call(parent)
            case cst.Assign() | cst.AnnAssign():
                return self._behind_assignment(parent)
        return [parent] if isinstance(parent, _STRUCTURE) and self._is_taken_apart(parent) else None

    def _behind_call(self, arg: cst.Arg) -> list[cst.CSTNode] | None:
        call = self._parents.get(arg)
        if not isinstance(call, cst.Call) or arg.star:
            return None
        name = builtin_or_qualified(self._infer, call.func)
        if has(name, "takes-elements"):
            return []
        if has(name, "repeatable") or (
            callee_name(call) in methods("Dataset", "stage") and self._is_dataset(call)
        ):
            return [call]
        is_model = isinstance(call.func, cst.Attribute) and self._infer.value(call.func.value).kind == "model"
        return [] if is_model and callee_name(call) in _FITTING else None

    def _behind_assignment(self, assign: cst.Assign | cst.AnnAssign) -> list[cst.CSTNode] | None:
        targets = [assign.target] if isinstance(assign, cst.AnnAssign) else [t.target for t in assign.targets]
        found: list[cst.CSTNode] = []
        for target in targets:
            if not isinstance(target, cst.Name):
                return None
            home = self._names.home(target)
            own = (
                {binding.node for binding in home.bindings.get(target.value, ())}
                if home is not None
                else set()
            )
            mentions = self._names.mentions(target.value, home)
            found += [
                each
                for each in mentions
                if each not in own and not isinstance(self._parents.get(each), cst.AssignTarget)
            ]
        return found

    def _is_taken_apart(self, node: cst.CSTNode) -> bool:
        """Whether a structure that holds it goes to a dataset, which takes it apart."""
        current: cst.CSTNode | None = node
        while isinstance(current, _STRUCTURE):
            current = self._parents.get(current)
        call = self._parents.get(current) if isinstance(current, cst.Arg) else None
        return isinstance(call, cst.Call) and has(builtin_or_qualified(self._infer, call.func), "repeatable")

    def _is_dataset(self, node: cst.BaseExpression) -> bool:
        return self._infer.value(node).kind == "dataset"
