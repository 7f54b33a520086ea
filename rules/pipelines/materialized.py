"""Places that take a whole dataset into memory, or run through it only to count it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import libcst as cst

from tflint_perf.analysis.apis.facts import has, last_names, library, methods
from tflint_perf.analysis.conventions import names_training_data
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.execution.op_loops import is_read
from tflint_perf.analysis.limits import NAMES_DEEP
from tflint_perf.analysis.pipelines.successors import Successors, is_name_of_evaluation
from tflint_perf.analysis.python.scopes import Loop
from tflint_perf.analysis.python.syntax import (
    argument,
    callee_name,
    descendants,
    has_stars,
    integer,
    is_constant,
    is_name,
    last_name,
    mentions,
    statements_of,
    target_names,
)
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.iterables import is_numbered, source
from tflint_perf.analysis.values.named_calls import builtin_or_qualified
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.values import UNKNOWN, Pipeline, Stage, Value
from tflint_perf.records import dataclass

Form = Literal["length", "count", "list", "stack", "one"]

_COUNTED = frozenset(
    {"map", "batch", "padded_batch", "ragged_batch", "shuffle", "prefetch", "cache", "take", "skip", "shard",
     "enumerate", "window", "with_options"}
)  # fmt: skip
# A dataset of no more elements than this is looked at, not trained on.
_FEW = 100
_NAMES = frozenset({"list_files", "shuffle", "shard", "cache", "prefetch"})


@dataclass(frozen=True, slots=True)
class Materialization:
    """`node` is what takes all elements of `dataset`; `value` is what is known of that."""

    node: cst.BaseExpression
    form: Form
    dataset: cst.BaseExpression
    value: Value


class Materializations(Part):
    """Finds such places."""

    _infer: Inference
    _calls: CallGraph
    _loops: Loops
    _successors: Successors

    def all(self) -> Iterator[Materialization]:
        """Every place that materializes a dataset, by form; not those of a few elements, of file names or of data
        written in the file."""
        for found in (*self._lists(), *self._lengths(), *self._sums(), *self._in_loops()):
            known = found.value.pipelines or found.form == "one"
            if known and not any(map(self._is_small, found.value.pipelines)):
                kept = self._kept(found)
                if found.form not in ("list", "stack") or not (
                    self._is_condensed(kept) or self._is_for_others(kept)
                ):
                    yield found

    # Forms

    def _lists(self) -> Iterator[Materialization]:
        """The lists and tuples that hold a dataset: `list(ds)`, `tuple(ds.as_numpy_iterator())`, and either within
        `len(…)`, or before `[0]`, for which no dataset has to be held, whatever it is for."""
        for name in ("list", "tuple"):
            for call in self._walk.calls_named(name):
                if len(call.args) != 1 or has_stars(call) or self._builtin(call) != name:
                    continue
                found = self._dataset(call.args[0].value)
                if self._is_read_for_one(call):
                    found = found or _asked_for_arrays(call.args[0].value)
                    if found is not None and not _is_for_evaluation(found[0]):
                        yield Materialization(call, "one", *found)
                    continue
                if found is None:
                    continue
                outer = self._call_around(call)
                if outer is not None and self._builtin(outer) == "len":
                    yield Materialization(outer, "length", *found)
                elif self._is_trained_on(call, found[1]) or self._is_made_an_array(outer, found):
                    yield Materialization(call, "list", *found)

    def _is_read_for_one(self, call: cst.Call) -> bool:
        """Whether only one element, of a known place, is read of the list that `call` makes: `list(ds)[0]`."""
        match self._walk.parents.get(call):
            case cst.Subscript(
                value=value, slice=[cst.SubscriptElement(slice=cst.Index(value=cst.Integer()))]
            ):
                return value is call
        return False

    def _lengths(self) -> Iterator[Materialization]:
        """The lengths of lists made of a dataset: `len([x for x in ds])`."""
        for call in self._walk.calls_named("len"):
            given = call.args[0].value if len(call.args) == 1 and self._builtin(call) == "len" else None
            part = given.for_in if isinstance(given, cst.ListComp) else None
            if part is not None and part.inner_for_in is None and not part.ifs:
                found = self._dataset(part.iter)
                if found is not None and self._is_counted_in_vain(found):
                    yield Materialization(call, "count", *found)

    def _sums(self) -> Iterator[Materialization]:
        """The sums that count a dataset's elements: `sum(1 for _ in ds)`."""
        for call in self._walk.calls_named("sum"):
            given = call.args[0].value if len(call.args) == 1 else None
            if self._builtin(call) != "sum" or not isinstance(given, cst.GeneratorExp | cst.ListComp):
                continue
            part = given.for_in
            found = self._dataset(part.iter) if part.inner_for_in is None and not part.ifs else None
            if found is not None and integer(given.elt) == 1 and self._is_counted_in_vain(found):
                yield Materialization(call, "count", *found)

    def _in_loops(self) -> Iterator[Materialization]:
        """Loops and comprehensions over a dataset that do nothing but count or keep its elements."""
        for loop in self._walk.loops.values():
            found = self._dataset(loop.iterable) if loop.iterable is not None else None
            if found is None or loop.iterable is None:
                continue
            if isinstance(loop.node, cst.For) and _only_counts(loop.node):
                if self._is_counted_in_vain(found):
                    yield Materialization(loop.iterable, "count", *found)
                continue
            # Of `enumerate(ds)`, the first part is a number.
            keeps = (
                _only_keeps(loop.node) if isinstance(loop.node, cst.For) else self._comprehension_keeps(loop)
            )
            if keeps and self._is_named_for_training(found) and not is_numbered(self._infer, loop.iterable):
                yield Materialization(loop.iterable, "stack", *found)

    # Datasets

    def _dataset(self, node: cst.BaseExpression) -> tuple[cst.BaseExpression, Value] | None:
        """The dataset whose elements `node` gives, numbered or not, and its value."""
        node = source(self._infer, node)
        value = self._infer.value(node)
        return (node, value) if value.kind == "dataset" else None

    def _is_small(self, pipeline: Pipeline) -> bool:
        """Whether a pipeline gives a few elements, file names, or data written in the file."""
        source = pipeline[0]
        for stage in pipeline:
            if stage.name == "take":
                given = argument(stage.call, 0, "count")
                count = self._infer.integers.most(given)
                if count is None and given is not None and self._is_of_size(given, 0):
                    continue
                if count is None or count in range(_FEW + 1):  # -1 is all
                    return True
        if source.name in ("from_tensor_slices", "from_tensors"):
            return any(is_constant(arg.value) for arg in source.call.args)
        return source.name == "range" or {stage.name for stage in pipeline} <= _NAMES

    def _is_of_size(self, node: cst.BaseExpression, depth: int) -> bool:
        """Whether a number is worked out of how much data there is, a share of it for instance: `int(0.8 * len(ds))`."""
        for part in descendants(node):
            match part:
                case cst.Call() if self._builtin(part) == "len" or callee_name(part) == "cardinality":
                    return True
                case cst.Name() if depth <= NAMES_DEEP:
                    assigned = [b.value for b in self._infer.bindings(part) if b.kind == "assign"]
                    if any(value is not None and self._is_of_size(value, depth + 1) for value in assigned):
                        return True
        return False

    def _is_trained_on(self, call: cst.Call, value: Value) -> bool:
        """Whether the list that `call` makes, or the dataset itself, is trained on."""
        if self._ends_in_training(value):
            return True
        statement = self._walk.statement_of(call)
        if not isinstance(statement, cst.Assign) or statement.value is not call:
            return False
        names = {name.value for target in statement.targets for name in target_names(target.target)}
        function = self._calls.function_at(call)
        return any(
            loop.iterable is not None
            and loop.function is function
            and mentions(loop.iterable, names)
            and self._loops.kind(loop) == "step"
            for loop in self._walk.loops.values()
        )

    def _is_made_an_array(self, around: cst.Call | None, found: tuple[cst.BaseExpression, Value]) -> bool:
        """Whether all elements end in one array, as in `np.array(list(ds))`, and nothing says that they are tested on.

        What is computed of arrays a batch at a time is wanted as an array again, as the arrays are that it is made of."""
        holds = around is not None and has(self._builtin(around), "makes-array", "joins-arrays")
        if all(way[0].name in ("from_tensor_slices", "from_tensors") for way in found[1].pipelines):
            return False
        return holds and not _is_for_evaluation(found[0])

    def _is_counted_in_vain(self, found: tuple[cst.BaseExpression, Value]) -> bool:
        """Whether TensorFlow knows how many elements the dataset has, or training runs through all of them anyhow."""
        if all(self._successors.is_only_written(pipeline[-1].call) for pipeline in found[1].pipelines):
            return False
        if self.unknown_size(found[1]) is None or self._is_named_for_training(found):
            return True
        is_named = self._successors.is_named_for_training
        evaluated = is_name_of_evaluation(last_name(found[0]))
        return not evaluated and any(is_named(pipeline[-1].call) for pipeline in found[1].pipelines)

    def _ends_in_training(self, value: Value) -> bool:
        return any(self._successors.is_for_training(pipeline[-1].call) for pipeline in value.pipelines)

    def _is_named_for_training(self, found: tuple[cst.BaseExpression, Value]) -> bool:
        name = last_name(found[0])
        if bool(names_training_data(name)):
            return True
        # One function may build what is trained on and what is tested on.
        return not is_name_of_evaluation(name) and self._ends_in_training(found[1])

    def unknown_size(self, value: Value) -> Stage | None:
        """The stage that keeps TensorFlow from knowing how many elements a dataset has."""
        for pipeline in value.pipelines:
            for stage in pipeline:
                if any(self.unknown_size(given) for given in stage.inputs):
                    return stage
                if stage is pipeline[0]:
                    if not (
                        stage.name in methods("source", "counted") or has(stage.name, "counted")
                    ) and not (stage.name == "zip" and stage.inputs):
                        return stage
                elif stage.name not in _COUNTED and not stage.inputs and not _repeats_some_times(stage):
                    return stage
        return None

    # What is made of the elements

    def _kept(self, found: Materialization) -> cst.CSTNode:
        """What holds the elements: a list, or the comprehension around the dataset."""
        part = self._walk.parents.get(found.node)
        holder = self._walk.parents.get(part) if isinstance(part, cst.CompFor) else None
        return holder if holder is not None else found.node

    def _is_condensed(self, node: cst.CSTNode, depth: int = 0) -> bool:
        """Whether the program keeps only a statistic of the elements that `node` gives, or the distinct ones among
        them: a vocabulary, bounds, what a layer adapts to. That is learnt from the whole dataset, once."""
        parent = self._walk.parents.get(node)
        if depth > NAMES_DEEP:
            return False
        match parent:
            case cst.Arg(keyword=None):
                call = self._walk.parents.get(parent)
                if not isinstance(call, cst.Call) or parent is not call.args[0]:
                    return False
                name = self._builtin(call)
                if has(name, "condenses") or callee_name(call) in last_names("learns-from-data"):
                    return True
                holds = has(name, "makes-array", "joins-arrays", "copies", "views", "hands-on")
                return holds and self._is_condensed(call, depth + 1)
            case cst.Attribute(attr=cst.Name(value=method)) if parent.value is node:
                call = self._walk.parents.get(parent)
                if method in methods("array", "condenses", "describes"):
                    return True
                holds = isinstance(call, cst.Call) and method in methods("array", "copies", "views")
                return call is not None and holds and self._is_condensed(call, depth + 1)
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))]):
                uses = [use for use in self._walk.names.get(name, ()) if self._may_be(use, node)]
                return bool(uses) and all(self._is_condensed(use, depth + 1) for use in uses)
        return False

    def _is_for_others(self, node: cst.CSTNode) -> bool:
        """Whether the elements in the list `node` only become arrays, which something takes whole that is not TensorFlow's: an
        estimator of another library, metrics over all of them."""
        match self._walk.parents.get(node):
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))]):
                uses = [use for use in self._walk.names.get(name, ()) if self._may_be(use, node)]
            case _:
                return False
        arrays = [self._array_of(use) for use in uses]
        named = [each for array in arrays if array is not None for each in self._named(array)]
        takers = [call for each in named if (call := self._taker(each)) is not None]
        return None not in arrays and bool(takers) and not any(map(self._is_of_tensorflow, takers))

    def _array_of(self, use: cst.Name) -> cst.Call | None:
        """The array that is made of the items of a list: `np.array([item[0] for item in items])`."""
        part = self._walk.parents.get(use)
        made = self._walk.parents.get(part) if isinstance(part, cst.CompFor) else use
        outer = self._call_around(made) if made is not None else None
        return outer if outer is not None and has(self._builtin(outer), "makes-array") else None

    def _named(self, array: cst.Call) -> Iterator[cst.Name]:
        """Where an array is read by its name: also one of several, `x, y = np.array(…), np.array(…)`."""
        statement = self._walk.statement_of(array)
        if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
            return
        for name in target_names(statement.targets[0].target):
            yield from (
                use
                for use in self._walk.names.get(name.value, ())
                if use is not name and self._may_be(use, statement.value)
            )

    def _taker(self, use: cst.Name) -> cst.Call | None:
        """The call that is given an array by its name."""
        arg = self._walk.parents.get(use)
        call = self._walk.parents.get(arg) if isinstance(arg, cst.Arg) else None
        return call if isinstance(call, cst.Call) else None

    def _is_of_tensorflow(self, call: cst.Call) -> bool:
        """Whether `call` may be one of TensorFlow or Keras, or of a model: none of another library's functions or objects, nor of an
        object of the project's own."""
        name = self._builtin(call)
        if not name and isinstance(call.func, cst.Attribute):
            asked = call.func.value
            if self._infer.value(asked).kind == "instance":
                return False
            bindings = self._infer.bindings(asked)
            made = bindings[0].value if len(bindings) == 1 else None
            names = self._infer.names
            name = (
                names.qualified(made.func) or names.dotted(made.func) or ""
                if isinstance(made, cst.Call)
                else ""
            )
        return not name or library(name) in ("tensorflow", "keras")

    def _may_be(self, name: cst.Name, value: cst.CSTNode) -> bool:
        """Whether `name` is read where it may stand for what `value` gave."""
        return is_read(self._walk.parents, name) and any(
            binding.value is value for binding in self._infer.bindings(name)
        )

    # Syntax

    def _builtin(self, call: cst.Call) -> str:
        return builtin_or_qualified(self._infer, call.func)

    def _call_around(self, node: cst.CSTNode) -> cst.Call | None:
        """The call whose first argument is `node`."""
        arg = self._walk.parents.get(node)
        outer = self._walk.parents.get(arg) if isinstance(arg, cst.Arg) else None
        return outer if isinstance(outer, cst.Call) and arg is outer.args[0] else None

    def _comprehension_keeps(self, loop: Loop) -> bool:
        """Whether `loop`, of a list comprehension, keeps the elements that it iterates over, or the first part of each."""
        holder = self._walk.parents.get(loop.node)
        plain = isinstance(holder, cst.ListComp) and holder.for_in is loop.node
        around = self._call_around(holder) if plain and holder is not None else None
        if around is not None and self._builtin(around) == "len":
            return False
        if not plain or not isinstance(loop.node, cst.CompFor) or not isinstance(holder, cst.ListComp):
            return False
        if loop.node.inner_for_in is not None or loop.node.ifs:
            return False
        return _keeps(holder.elt, loop.node.target)


def _receivers(dataset: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """An expression and what its methods are called on: of `ds.take(-1)` also `ds`."""
    yield dataset
    while isinstance(dataset, cst.Call) and isinstance(dataset.func, cst.Attribute):
        dataset = dataset.func.value
        yield dataset


def _asked_for_arrays(node: cst.BaseExpression) -> tuple[cst.BaseExpression, Value] | None:
    """What `node` asks for its elements as arrays, as nothing but a dataset can be; None where it is told to be a part."""
    match node:
        case cst.Call(func=cst.Attribute(value=dataset, attr=cst.Name("as_numpy_iterator")), args=[]):
            is_part = any(
                isinstance(each, cst.Call) and callee_name(each) == "take" for each in _receivers(dataset)
            )
            return (dataset, UNKNOWN) if not is_part else None
    return None


def _is_for_evaluation(dataset: cst.BaseExpression) -> bool:
    """Whether a name says that `dataset` is tested on."""
    return any(map(is_name_of_evaluation, map(last_name, _receivers(dataset))))


def _repeats_some_times(stage: Stage) -> bool:
    return stage.name == "repeat" and (integer(argument(stage.call, 0, "count")) or 0) > 0


def _keeps(node: cst.BaseExpression, target: cst.BaseExpression) -> bool:
    """Whether `node` is what a loop gives, or the first part of it, as it is, as NumPy or as text."""
    match node:
        case cst.Call(func=cst.Name("str"), args=[cst.Arg(value=given)]):
            return _keeps(given, target)
        case cst.Call(func=cst.Attribute(value=given, attr=cst.Name("numpy")), args=[]):
            return _keeps(given, target)
        case cst.Call(func=cst.Attribute(value=given, attr=cst.Name("decode"))):
            return _keeps(given, target)
    if isinstance(target, cst.Tuple) and target.elements:
        target = target.elements[0].value
    return isinstance(node, cst.Name) and isinstance(target, cst.Name) and is_name(node, target.value)


def _only_keeps(loop: cst.For) -> bool:
    """Whether `loop` does nothing but append, and appends its elements or their first parts."""
    kept = []
    for statement in statements_of(loop.body):
        call = statement.value if isinstance(statement, cst.Expr) else None
        if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute) or len(call.args) != 1:
            return False
        if callee_name(call) != "append":
            return False
        kept.append(_keeps(call.args[0].value, loop.target))
    return any(kept)


def _only_counts(loop: cst.For) -> bool:
    """Whether `loop` does nothing but count, `count += 1`."""
    match statements_of(loop.body):
        case [cst.AugAssign(target=cst.Name(), operator=cst.AddAssign(), value=added)]:
            return integer(added) == 1
        case [
            cst.Assign(
                targets=[cst.AssignTarget(target=cst.Name(value=count))],
                value=cst.BinaryOperation(left=cst.Name(value=before), operator=cst.Add(), right=added),
            )
        ]:
            return count == before and integer(added) == 1
    return False
