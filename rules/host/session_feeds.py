"""What TensorFlow 1's sessions are fed: whole arrays, and batches that Python holds."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.conventions import names_a_batch, names_a_measure, names_an_input, names_no_batch
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.execution.sizes import has_environment
from tflint_perf.analysis.limits import CALLS_DEEP
from tflint_perf.analysis.python.scopes import Binding, Loop
from tflint_perf.analysis.python.syntax import (
    argument,
    callee_name,
    calls_below,
    is_constant,
    is_name,
    last_name,
)
from tflint_perf.analysis.training.file_reads import FileReads
from tflint_perf.analysis.training.sessions import Sessions
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part


class SessionFeeds(Part):
    """Answers what the `feed_dict` of a run holds."""

    _infer: Inference
    _calls: CallGraph
    _loops: Loops
    _sessions: Sessions
    _file_reads: FileReads

    def is_read(self, run: cst.Call) -> bool:
        """Whether each step that makes `run` reads a file before, or waits as for one."""
        return any(
            self._file_reads.are_before_steps_of(loop)
            or any(self._infer.names.is_call_that(call, "pauses") for call in self._makes_batches(loop))
            for loop in self._loops.running(run)
        )

    def _makes_batches(self, loop: Loop) -> Iterator[cst.Call]:
        """The calls of the generators that `loop` goes over."""
        for call in calls_below(loop.iterable) if loop.iterable is not None else ():
            for generator in self._calls.targets(call):
                yield from generator.calls

    def is_of_environment(self, run: cst.Call) -> bool:
        """Whether the loop that makes `run` steps an environment, too: what is fed depends on the answers before."""
        for loop in self._loops.running(run):
            calls: dict[str, list[cst.Call]] = {}
            for call in self._file_reads.calls_in(loop):
                calls.setdefault(callee_name(call), []).append(call)
            if has_environment(calls):
                return True
        return False

    def has_batch(self, run: cst.Call) -> bool:
        """Whether a run is fed a batch that Python holds: drawn, cut, or copied out of the graph before."""
        return any(map(self._is_batch, self._fed(run)))

    def has_array(self, run: cst.Call) -> bool:
        """Whether `run` is fed a NumPy array, or a list that becomes one."""
        return any(self._infer.value(value).kind in ("array", "list") for value in self._fed(run))

    def has_more_than_settings(self, run: cst.Call) -> bool:
        """Whether `run` is fed something that neither the placeholder nor the value names as a number or a switch: what
        a session is fed comes from the host, whoever made it."""
        given = argument(run, 1, "feed_dict")
        pairs = self._pairs(given, 0) if given is not None else ()
        return any(not self._has_none(key) and self._may_be_array(key, value) for key, value in pairs)

    def _may_be_array(self, key: cst.BaseExpression, value: cst.BaseExpression) -> bool:
        names = [last_name(key), last_name(value)]
        known = self._infer.value(value).kind
        return (
            known in ("unknown", "array", "list")
            and not is_constant(value)
            and names[1] != ""
            and not any(map(names_no_batch, names))
            and self._loops.batches.size(value) in ("unknown", "batch", "sample")
        )

    def fills_axes(self, run: cst.Call) -> bool:
        """Whether `run` feeds a placeholder of one axis or more, as the file declares it."""
        given = argument(run, 1, "feed_dict")
        pairs = self._pairs(given, 0) if given is not None else ()
        return any(self._has_axes(key) and not is_constant(value) for key, value in pairs)

    def _has_axes(self, key: cst.BaseExpression) -> bool:
        """Whether the placeholder `key` has one axis or more: `tf.placeholder(tf.float32, [None, 4])`."""
        shapes = self._declared(key, 0)
        return bool(shapes) and all(map(_is_of_axes, shapes))

    def _has_none(self, key: cst.BaseExpression) -> bool:
        """Whether the placeholder `key` has no axis: it takes one number or text, the handle of an iterator for
        instance."""
        shapes = self._declared(key, 0)
        return bool(shapes) and all(
            isinstance(shape, cst.List | cst.Tuple) and not shape.elements for shape in shapes
        )

    def _declared(self, key: cst.BaseExpression, depth: int) -> list[cst.BaseExpression | None]:
        """The shapes with which the file declares the placeholder `key`; none where one of its values is something
        else."""
        if isinstance(key, cst.Call):
            is_placeholder = self._infer.names.is_call_that(key, "placeholder")
            return [argument(key, 1, "shape")] if is_placeholder else []
        bindings = self._infer.given_to(key)
        values = [b.value for b in bindings if b.path == () and b.value is not None]
        if len(values) < len(bindings) or depth > CALLS_DEEP:
            return []
        shapes = [self._declared(value, depth + 1) for value in values]
        return [shape for each in shapes for shape in each] if all(shapes) else []

    def _fed(self, run: cst.Call) -> Iterator[cst.BaseExpression]:
        given = argument(run, 1, "feed_dict")
        if given is not None:
            yield from (value for key, value in self._pairs(given, 0) if not self._has_none(key))

    def _pairs(
        self, fed: cst.BaseExpression, depth: int
    ) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
        """What a feed holds: a dict where it stands, one that has a name, or one that a function of this file makes."""
        match fed:
            case cst.Dict():
                for element in fed.elements:
                    if isinstance(element, cst.DictElement):
                        yield element.key, element.value
            case cst.Name() if depth < CALLS_DEEP:
                for binding in self._infer.bindings(fed):
                    if binding.kind == "assign" and binding.path == () and binding.value is not None:
                        yield from self._pairs(binding.value, depth + 1)
                        yield from self._put_into(fed, binding)
            case cst.Call() if depth < CALLS_DEEP:
                for target in self._calls.targets(fed):
                    for returned in target.returns:
                        if returned.value is not None:
                            yield from self._pairs(returned.value, depth + 1)

    def _put_into(
        self, fed: cst.Name, made: Binding
    ) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
        """What is put into a dict behind the place that makes it: `feed[x] = batch`."""
        for name in self._infer.names.mentions(fed.value, self._infer.names.home(fed)):
            if made not in self._infer.bindings(name):
                continue
            subscript = self._walk.parents.get(name)
            target = self._walk.parents.get(subscript) if isinstance(subscript, cst.Subscript) else None
            statement = self._walk.parents.get(target) if isinstance(target, cst.AssignTarget) else None
            match subscript:
                case cst.Subscript(value=base, slice=[cst.SubscriptElement(cst.Index(key))]) if base is name:
                    if isinstance(statement, cst.Assign):
                        yield key, statement.value

    def _is_batch(self, value: cst.BaseExpression) -> bool:
        size = self._loops.batches.size(value)
        if size != "unknown":
            return size == "batch"
        if not isinstance(value, cst.Name):
            return False
        bindings = self._infer.bindings(value)
        if not bindings or not all(map(self._loops.batches.is_made_anew, (b.node for b in bindings))):
            return False
        named = names_a_batch(value.value) or names_an_input(value.value)
        if named and not names_a_measure(value.value):
            return True
        return all(
            isinstance(b.value, cst.Call) and b.kind == "assign" and self._sessions.is_run(b.value)
            for b in bindings
        )


def _is_of_axes(shape: cst.BaseExpression | None) -> bool:
    """Whether the shape `shape` has an axis; nobody gives that of a number a name."""
    if isinstance(shape, cst.List | cst.Tuple):
        return bool(shape.elements)
    named = isinstance(shape, cst.Name | cst.Attribute | cst.Subscript | cst.BinaryOperation)
    return named and not is_name(shape, "None")
