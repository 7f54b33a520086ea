"""Arrays that a function fills or stacks sample by sample."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.apis.facts import has, library
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.limits import CALLS_DEEP
from tflint_perf.analysis.python.scopes import Function, Loop
from tflint_perf.analysis.python.syntax import (
    argument,
    callee_name,
    descendants,
    dotted_name,
    is_constant,
    is_name,
    mentions,
    names_read,
    whole_of,
)
from tflint_perf.analysis.values.infer import Inference


class FilledArrays:
    """Answers whether a function makes arrays in this way."""

    def __init__(self, infer: Inference, loops: Loops) -> None:
        self._infer = infer
        self._loops = loops
        self._walk = infer.walk

    def by(self, call: cst.Call, function: Function) -> bool:
        """Whether a call of a function makes an array that its loops fill, or adds one to a list of them."""
        return not self._only_picks(call) and (
            self._is_filled(call, function)
            or self._is_gathered(call, function)
            or self._is_grown(call, function)
        )

    def _only_picks(self, call: cst.Call) -> bool:
        """Whether an array is made only to pick rows of others by it: `rows = np.concatenate(rows); return x[rows], y[rows]`."""
        statement = self._walk.statement_of(call)
        match statement:
            case cst.Assign(targets=[cst.AssignTarget(cst.Name() as target)]) if statement.value is call:
                uses = [
                    use for use in self._walk.names.get(target.value, ()) if self._is_given(use, statement)
                ]
                return bool(uses) and all(isinstance(self._walk.parents.get(use), cst.Index) for use in uses)
        return False

    def _is_given(self, use: cst.Name, statement: cst.Assign) -> bool:
        """Whether a name may stand for what `statement` assigns."""
        return any(binding.value is statement.value for binding in self._infer.bindings(use))

    def lists_arrays(self, function: Function) -> bool:
        """Whether a function gives back a list of arrays that a comprehension makes: `[mask_of(x) for x in batch]`."""
        given = [s.value for s in function.returns] + [s.value for s in function.yields]
        return any(
            isinstance(made, cst.ListComp)
            and isinstance(made.elt, cst.Call)
            and self._infer.value(made.elt).kind == "array"
            for value in given
            if isinstance(value, cst.Name | cst.Tuple | cst.ListComp)
            for made in self._parts(value)
        )

    def _parts(self, value: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
        """An expression, the parts of a tuple, and what those that are names were assigned."""
        for part in [e.value for e in value.elements] if isinstance(value, cst.Tuple) else [value]:
            yield part
            yield from (b.value for b in self._infer.bindings(part) if b.value is not None)

    def _is_filled(self, call: cst.Call, function: Function) -> bool:
        """Whether an array is made of a list that a loop fills, or is itself filled by a loop that computes."""
        name = self._infer.names.qualified(call.func)
        given = argument(call, 0)
        # Any function of NumPy makes an array of a list.
        of_list = (
            library(name) == "numpy"
            and isinstance(given, cst.Name)
            and self._infer.value(given).kind == "list"
        )
        if of_list or has(name, "makes-array", "joins-arrays"):
            if isinstance(given, cst.ListComp):
                return _picks_parts(given) and self._is_in_own_loop(call, function)
            if not isinstance(given, cst.Name):
                return False
            if has(name, "joins-arrays") and self._is_slice(given):
                return True
            return any(next(self.added(holder, function), None) is not None for holder in self.holders(given))
        if has(name, "makes-tensor", "joins-tensors"):
            return isinstance(given, cst.Name) and any(
                self._is_host_sample(sample, function) for sample in self.added(given.value, function)
            )
        return has(name, "allocates") and any(
            (
                (_is_padded(node.targets[0].target) or _is_marked(node) or self._makes(node.value, function))
                and self._is_in_own_loop(node, function)
            )
            or self._makes_many(node.value)
            or self._is_for_yield(call, node)
            for node in self._filling(call, function)
        )

    def _is_slice(self, name: cst.Name) -> bool:
        """Whether a name stands for some of the samples of a list: `batch = samples[start:end]`."""
        made = [binding.value for binding in self._infer.bindings(name)]
        return bool(made) and all(
            isinstance(value, cst.Subscript)
            and isinstance(value.slice[0].slice, cst.Slice)
            and len(value.slice) == 1
            and self._infer.value(value).kind not in ("array", "tensor")
            for value in made
        )

    def _is_host_sample(self, sample: cst.BaseExpression, function: Function) -> bool:
        """Whether a sample is an array, or a generator takes it from a call of which nothing else is known."""
        kind = self._infer.value(sample).kind
        if kind != "unknown" or not function.yields:
            return kind == "array"
        made = [b.value for b in self._infer.bindings(sample)]
        return bool(made) and all(
            isinstance(value, cst.Call) and self._infer.value(value.func).kind in ("unknown", "function")
            for value in made
        )

    def _is_for_yield(self, call: cst.Call, filling: cst.Assign) -> bool:
        """Whether a generator makes an array for each batch and fills it by slices: targets moved by one step."""
        loop = self._loops.innermost_loop(call)
        return loop is not None and loop.yields and self._loops.innermost_loop(filling) is loop

    def _filling(self, call: cst.Call, function: Function) -> Iterator[cst.Assign]:
        """The assignments to parts of the array that a call makes."""
        statement = self._walk.statement_of(call)
        targets = statement.targets if isinstance(statement, cst.Assign) else ()
        names = [t.target.value for t in targets if isinstance(t.target, cst.Name)]
        for node in descendants(function.node.body) if names else ():
            if isinstance(node, cst.Assign) and any(
                isinstance(part, cst.Subscript) and dotted_name(whole_of(part)) in names
                for part in _targets(node.targets[0].target)
            ):
                yield node

    def _makes(self, node: cst.BaseExpression, function: Function) -> bool:
        """Whether a value is worked out rather than only picked."""
        return any(isinstance(part, cst.Call | cst.BinaryOperation) for part in descendants(node)) or (
            self._is_computed(node, function, 0)
        )

    def _makes_many(self, node: cst.BaseExpression) -> bool:
        """Whether a value is a list that a comprehension makes by calls: `batch[:] = [load(name) for name in names]`."""
        return any(
            isinstance(made, cst.ListComp) and isinstance(made.elt, cst.Call) for made in self._parts(node)
        )

    def holders(self, given: cst.Name) -> set[str]:
        """The list that is stacked; for one of `zip(*rows)` the rows as well."""
        over = [
            b.value for b in self._infer.bindings(given) if b.kind == "comprehension" and b.value is not None
        ]
        return {given.value, *(name.value for iterable in over for name in names_read(iterable))}

    def added(self, holder: str, function: Function) -> Iterator[cst.BaseExpression]:
        """What loops of a function add to a list."""
        for call in function.calls:
            if callee_name(call) == "append" and dotted_name(call.func) == f"{holder}.append" and call.args:
                if self._is_in_own_loop(call, function):
                    yield call.args[0].value

    def _is_computed(self, node: cst.BaseExpression, function: Function, depth: int) -> bool:
        """Whether a loop of a function computes a value, or a list that it picks it from, rather than only picks it."""
        while isinstance(node, cst.Subscript):
            node = node.value
        if isinstance(node, cst.Call):
            return True
        found = (
            self._infer.bindings_reaching(node) if isinstance(node, cst.Name) and depth < CALLS_DEEP else None
        )
        if found is None or not isinstance(node, cst.Name):
            return False
        made = [
            b.value
            for b in found[1]
            if b.kind == "assign" and b.value is not None and self._is_in_own_loop(b.node, function)
        ]
        return any(
            self._is_computed(value, function, depth + 1)
            for value in (*made, *self.added(node.value, function))
        )

    def _is_gathered(self, call: cst.Call, function: Function) -> bool:
        """Whether a loop adds an array, which it makes, to a list that the function gives back."""
        match call:
            case cst.Call(
                func=cst.Attribute(value=cst.Name(value=holder), attr=cst.Name("append")),
                args=[cst.Arg(value=cst.Name() as added)],
            ):
                makers = [binding.value for binding in self._infer.bindings(added)]
                given = [r.value for r in function.returns]
                return (
                    self._is_in_own_loop(call, function)
                    and any(isinstance(maker, cst.Call) for maker in makers)
                    and self._infer.value(added).kind == "array"
                    and any(
                        mentions(value, {holder})
                        for value in given
                        if isinstance(value, cst.Name | cst.Tuple)
                    )
                )
        return False

    def _is_grown(self, call: cst.Call, function: Function) -> bool:
        """Whether a loop puts what it works out behind an array: `labels = np.append(labels, one_hot(x), axis=0)`."""
        if not self._infer.names.is_call_that(call, "lengthens") or not call.args:
            return False
        statement = self._walk.statement_of(call)
        match statement:
            case cst.Assign(targets=[cst.AssignTarget(cst.Name(value=grown))]) if statement.value is call:
                parts = [part for arg in call.args[:2] for part in _elements(arg.value)]
                added = [part for part in parts if not is_name(part, grown)]
                return (
                    len(added) < len(parts)
                    and self._is_in_own_loop(call, function)
                    and any(self._makes(part, function) for part in added)
                )
        return False

    def _is_in_own_loop(self, node: cst.CSTNode, function: Function) -> bool:
        """Whether a loop runs `node` for each sample: none in which a generator yields on each round."""
        loop = self._loops.innermost_loop(node)
        return (
            loop is not None
            and loop.function is function
            and (not loop.yields or self._yields_under_condition(loop))
        )

    def _yields_under_condition(self, loop: Loop) -> bool:
        """Whether a loop yields only now and then: `if len(images) == batch_size: yield images`."""
        parents = self._walk.parents
        for node in descendants(loop.node):
            if isinstance(node, cst.Yield):
                current: cst.CSTNode | None = node
                while current is not loop.node and not isinstance(current, cst.If):
                    current = parents.get(current) if current is not None else loop.node
                if current is loop.node:
                    return False
        return True


def _elements(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    return [e.value for e in node.elements] if isinstance(node, cst.Tuple | cst.List) else [node]


def _targets(target: cst.BaseAssignTargetExpression) -> list[cst.BaseExpression]:
    """What an assignment gives a value: `y[:, :-1], y[:, -1] = …` two parts."""
    return [e.value for e in target.elements] if isinstance(target, cst.Tuple) else [target]


def _indices(target: cst.BaseExpression) -> Iterator[cst.Index | cst.Slice]:
    """All indices of a part: of `labels[i][row, column]` three."""
    while isinstance(target, cst.Subscript):
        yield from (
            element.slice for element in target.slice if isinstance(element.slice, cst.Index | cst.Slice)
        )
        target = target.value


def _is_padded(target: cst.BaseAssignTargetExpression) -> bool:
    """Whether `target` is the part of a padded row that is filled: `x[row, : len(words)]`."""
    return any(
        isinstance(part, cst.Slice) and any(isinstance(below, cst.Call) for below in descendants(part))
        for part in _indices(target)
    )


def _is_marked(filling: cst.Assign) -> bool:
    """`labels[i, row, column, label] = 1`, `words[i, at] = word`: single places in several axes, one after the other."""
    named = [
        part
        for part in _indices(filling.targets[0].target)
        if isinstance(part, cst.Index) and not is_constant(part.value)
    ]
    return len(named) > 1 and (is_constant(filling.value) or isinstance(filling.value, cst.Name))


def _picks_parts(comprehension: cst.ListComp) -> bool:
    """Whether `comprehension` only picks parts: `[sentences[row][place] for row in rows]`."""
    picked = comprehension.elt
    return (
        isinstance(picked, cst.Subscript)
        and isinstance(picked.value, cst.Subscript)
        and all(_is_place(part) for part in (picked, picked.value))
    )


def _is_place(node: cst.Subscript) -> bool:
    match node.slice:
        case [cst.SubscriptElement(cst.Index(cst.Name() | cst.BinaryOperation()))]:
            return True
    return False
