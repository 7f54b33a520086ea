"""Batches that come in varying shapes: each new shape is a new trace, unless the function reduces retracing."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.execution.loops import Loops, runs_over_batches
from tflint_perf.analysis.python.scopes import Function, Loop
from tflint_perf.analysis.python.syntax import (
    callee_name,
    calls_below,
    children,
    descendants,
    integer,
    is_name,
)
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part

_STACKING = frozenset(["vstack", "hstack", "stack", "concatenate", "array", "asarray"])


class Shapes(Part):
    """Answers whether what a function or a step is given varies in shape."""

    _infer: Inference
    _calls: CallGraph
    _loops: Loops

    def vary_for(self, function: Function) -> bool:
        """Whether a loop that calls `function` gives it batches of varying shape."""
        for call in self._calls.sites(function):
            loop = self._loops.innermost_loop(call)
            if loop is not None and self.vary_in(loop):
                return True
            if any(
                self.is_as_long_as_an_episode(arg.value) or self._is_of_what_there_is_so_far(arg.value)
                for arg in call.args
            ):
                return True
        return False

    def vary_in(self, loop: Loop) -> bool:
        """Whether `loop` runs over padded or ragged batches."""
        if loop.iterable is None:
            return False
        return any(
            self._infer.value(part).gives_batches_that_differ()
            for part in descendants(loop.iterable)
            if isinstance(part, cst.Name | cst.Call | cst.Attribute)
        )

    def stay(self, node: cst.CSTNode) -> bool:
        """Whether `node` is given batches of a dataset, of one shape but for the last of an epoch, by the loop around it or all
        that call the function around it."""
        loop, function = self._loops.innermost_loop(node), self._calls.function_at(node)
        if loop is not None or function is None:
            return loop is not None and self._stay_in(loop)
        sites = self._calls.sites(function)
        return (
            bool(sites)
            and not self._calls.callers_outside(function)
            and all(
                (around := self._loops.innermost_loop(site)) is not None and self._stay_in(around)
                for site in sites
            )
        )

    def _stay_in(self, loop: Loop) -> bool:
        parts = descendants(loop.iterable) if loop.iterable is not None else ()
        takes_batches = any(
            runs_over_batches(self._infer.value(part))
            for part in parts
            if isinstance(part, cst.Name | cst.Call | cst.Attribute)
        )
        return takes_batches and not self.vary_in(loop)

    def is_of_own_length(self, call: cst.Call) -> bool:
        """Whether each iteration makes a list of its own for `call`, bit by bit, and so of any length."""
        loop = self._loops.innermost_loop(call)
        grown = GrownLists(self._infer)
        return loop is not None and any(grown.behind(arg.value, loop) for arg in call.args)

    def is_as_long_as_an_episode(self, node: cst.BaseExpression) -> bool:
        """Whether `node` holds an array made of a list that a loop appended to, and so of any length."""
        return any(
            isinstance(binding.value, cst.Call) and self._stacks_what_grew(binding.value)
            for binding in self._infer.bindings(node)
            if binding.kind == "assign" and binding.path == ()
        )

    def _is_of_what_there_is_so_far(self, node: cst.BaseExpression) -> bool:
        """Whether `node` holds the rows of a memory at the first `n` of its shuffled places, or all while it has fewer:
        `states[np.random.permutation(filled)[:n]]`."""
        match self._bound(node):
            case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=places))]):
                match self._bound(places):
                    case cst.Subscript(
                        value=all_places,
                        slice=[cst.SubscriptElement(slice=cst.Slice(lower=None, upper=cst.BaseExpression()))],
                    ):
                        return self._is_of_any_length(all_places)
        return False

    def _bound(self, node: cst.BaseExpression) -> cst.BaseExpression | None:
        """What a name is bound to, where it is bound once; other code as it is."""
        if not isinstance(node, cst.Name):
            return node
        bindings = self._infer.bindings(node)
        return bindings[0].value if len(bindings) == 1 and bindings[0].path == () else None

    def _is_of_any_length(self, places: cst.BaseExpression) -> bool:
        """Whether it is `np.arange(n)` or `np.random.permutation(n)` of a number that is not known."""
        made = self._bound(places)
        return (
            self._infer.names.is_call_that(made, "numbers-places")
            and len(made.args) == 1
            and self._infer.integers.most(made.args[0].value) is None
        )

    def asked_for(self, nodes: list[cst.CSTNode]) -> cst.CSTNode | None:
        """Where code, or what it calls in the file, asks for the length of an axis as a Python number, `x.shape[0]`
        or `rows, columns = x.shape`, or of each axis whether it is one: `tf.squeeze(x)`."""
        own = next((part for node in nodes for part in descendants(node) if self._asks(part)), None)
        waiting = [call for node in nodes for call in calls_below(node)] if own is None else []
        seen: set[Function] = set()
        while waiting:
            for function in self._run_by(waiting.pop()):
                if function in seen:
                    continue
                seen.add(function)
                waiting += function.calls
                for part in descendants(function.node.body):
                    if self._asks(part) and not _is_of_last_axis(part):
                        return part
        return own

    def _run_by(self, call: cst.Call) -> Iterator[Function]:
        """The functions of the file that a call runs: of a model, its `call`."""
        yield from self._calls.targets(call)
        klass = self._infer.value(call.func).klass
        if klass is not None and (method := klass.methods.get("call")) is not None:
            yield method

    def _asks(self, part: cst.CSTNode) -> bool:
        match part:
            case cst.Subscript(value=cst.Attribute(attr=cst.Name("shape"))):
                return True
            case cst.Assign(
                targets=[cst.AssignTarget(target=cst.Tuple() | cst.List())],
                value=cst.Attribute(attr=cst.Name("shape")),
            ):
                return True
            case cst.Call(args=[_]) if callee_name(part) == "squeeze":
                return self._infer.names.is_call_that(part, "squeezes")
        return False

    def _stacks_what_grew(self, call: cst.Call) -> bool:
        if callee_name(call) not in _STACKING or not call.args:
            return False
        stacked = call.args[0].value
        return isinstance(stacked, cst.Name) and any(
            isinstance(append.func, cst.Attribute) and is_name(append.func.value, stacked.value)
            for append in self._walk.calls.get("append", ())
        )


def _is_of_last_axis(node: cst.CSTNode) -> bool:
    """Whether it is `x.shape[-1]`, which is the same for all: features."""
    match node:
        case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=at))]):
            return integer(at) == -1
    return False


# Texts and lists that a loop adds to, and that a model gets as tokens.

_ONE_LENGTH = frozenset({"maxlen", "max_length", "max_len", "padding"})


class GrownLists:
    """Answers which texts and lists that a loop adds to decide how long an input is."""

    def __init__(self, infer: Inference) -> None:
        self._infer = infer

    def behind(self, given: cst.BaseExpression, loop: Loop) -> set[str]:
        """The names of those behind an input: `text`, of which `loop` makes `model(tf.constant(tokens(text)))`.

        A text by itself is one element, however long it is.
        """
        value = self._infer.value(given)
        if value.kind == "string" or (value.element is not None and value.element.kind == "string"):
            return set()
        made = [node for node in descendants(loop.node) if isinstance(node, cst.Assign)]
        found = _names_of_lengths(given)
        waiting = list(found)
        while waiting:
            name = waiting.pop()
            for statement in made:
                if any(is_name(target.target, name) for target in statement.targets):
                    more = _names_of_lengths(statement.value) - found
                    found |= more
                    waiting += more
        return {
            node.target.value
            for node in descendants(loop.node)
            if isinstance(node, cst.AugAssign)
            and isinstance(node.target, cst.Name)
            and node.target.value in found
            and isinstance(node.operator, cst.AddAssign)
            and self._is_sequence(node)
        }

    def _is_sequence(self, added: cst.AugAssign) -> bool:
        return any(
            self._infer.value(part).kind in ("string", "list", "tuple")
            for part in (added.target, added.value)
        )


def _names_of_lengths(node: cst.CSTNode) -> set[str]:
    """The names in an expression whose length may be that of what it makes: not those of which it takes a part, nor what is
    brought to one length."""
    match node:
        case cst.Name():
            return {node.value}
        case cst.Attribute():
            return _names_of_lengths(node.value)
        case cst.Call() if any(
            arg.keyword is not None and arg.keyword.value in _ONE_LENGTH for arg in node.args
        ):
            return set()
        case cst.Subscript():
            places = [part.slice for part in node.slice]
            if any(isinstance(place, cst.Slice) and (place.lower or place.upper) for place in places):
                return set()
            # What a table gives for a list, `vocabulary[words]`, is as long as that.
            return {
                name for place in places if isinstance(place, cst.Index) for name in _names_of_lengths(place)
            } | (
                _names_of_lengths(node.value)
                if any(isinstance(place, cst.Slice) for place in places)
                else set()
            )
    return {name for child in children(node) for name in _names_of_lengths(child)}
