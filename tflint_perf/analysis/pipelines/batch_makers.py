"""How Python makes batches on the host: sample by sample, or by drawing numbers, in a function, a class or an expression."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.apis.facts import has, library
from tflint_perf.analysis.conventions import names_experience, names_noise
from tflint_perf.analysis.execution.compiled import Compiled
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.limits import CALLS_DEEP
from tflint_perf.analysis.pipelines.batch_sources import BatchSources, calls_for_each
from tflint_perf.analysis.pipelines.filled_arrays import FilledArrays
from tflint_perf.analysis.python.reach import remembered_in_circles
from tflint_perf.analysis.python.scopes import Binding, Class, Function
from tflint_perf.analysis.python.syntax import (
    argument,
    callee_name,
    descendants,
    dotted_name,
    integer,
    is_constant,
    is_name,
    keyword_argument,
    mentions,
    target_names,
)
from tflint_perf.analysis.values.caller import Batch
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.outside import RUN_OVER
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.values import UNKNOWN, Value

_SPECIAL_METHODS = ("__iter__", "__next__", "__getitem__")


class BatchMakers(Part):
    """Answers what makes batches, and how; `sources` where they come from."""

    _infer: Inference
    _calls: CallGraph
    _compiled: Compiled
    _loops: Loops

    def __post_init__(self) -> None:
        self._made: dict[Function, Batch | None] = {}
        self._draws = HostDraws(self._infer, self._calls, self._loops)
        self._filled = FilledArrays(self._infer, self._loops)
        self.sources = BatchSources(self._infer, self._calls, self._of_function, self._of_class)

    def made_by(self, function: Function) -> Batch | None:
        """How `function`, called in a loop or as a generator, makes batches."""
        return self._of_function(function)

    def objects_make(self, klass: Class) -> Batch | None:
        """How objects of a class make batches where a loop runs over them."""
        return self._of_class(klass)

    @remembered_in_circles(None)
    def _of_class(self, klass: Class) -> Batch | None:
        """How objects of the class `klass`, or their iterators, make batches."""
        if names_experience(klass.name):
            return None
        methods = [klass.methods[name] for name in _SPECIAL_METHODS if name in klass.methods]
        inherited = self._inherited(klass) if not methods else UNKNOWN
        if inherited.outside:
            return self._infer.outside.makes_batches(inherited.outside)
        methods += [inherited.function] if inherited.function is not None else []
        how = next((how for method in methods if (how := self._of_function(method)) is not None), None)
        if how is None and self._infer.classes.keras_kind(klass) == "sequence":
            return "stacked" if any(map(self._works_on_samples, methods)) else None
        if how is None and "__iter__" in klass.methods:
            return self.sources.returned(klass.methods["__iter__"])
        return how

    def _inherited(self, klass: Class) -> Value:
        """The method of a base that gives the items of an object, or what a loop over it gets."""
        classes = self._infer.classes
        members = (classes.member(classes.instance_of(klass), name) for name in RUN_OVER)
        return next((member for member in members if member is not None), UNKNOWN)

    def _works_on_samples(self, function: Function, depth: int = 0) -> bool:
        """Whether `function`, or one that it calls, calls anything for one sample after the other, or by `tf.map_fn`."""
        loop_of, name_of = self._loops.innermost_loop, self._infer.names.qualified
        return any(loop_of(call) or has(name_of(call.func), "maps") for call in function.calls) or any(
            self._works_on_samples(target, depth + 1)
            for call in function.calls
            for target in (self._calls.targets(call) if depth < CALLS_DEEP else ())
        )

    def how(self, node: cst.BaseExpression) -> Batch | None:
        """How `node` makes a batch; None where it makes none."""
        if isinstance(node, cst.Subscript):
            return self._of_item(self._infer.value(node.value)) or self.sources.by_index(node)
        if not isinstance(node, cst.Call):
            return None
        if callee_name(node) == "next" and node.args:
            return self.sources.of(node.args[0].value)
        if callee_name(node) == "__next__" and isinstance(node.func, cst.Attribute):
            return self.sources.of(node.func.value)
        if self._draws.is_data(node):
            return "drawn"
        how = self._of_stack(node)
        if how is not None:
            return how
        if names_experience(dotted_name(node.func)):
            return None
        callee = self._infer.value(node.func)
        if callee.outside or callee.either:
            ways = [self._by_other_file(each) for each in callee.alternatives]
            return ways[0] if None not in ways else None
        targets = self._calls.targets(node)
        if not targets and isinstance(node.func, cst.Attribute):
            return self.sources.by_method(node.func)
        makers = [target for target in targets if not target.yields]
        return self._of_function(makers[0]) if len(makers) == 1 else None

    def _by_other_file(self, callee: Value) -> Batch | None:
        """How `callee`, a function that another file defines, makes batches; None where that is not known to be one."""
        known = callee.outside and callee.kind != "class"
        return self._infer.outside.makes_batches(callee.outside) if known else None

    def _of_item(self, value: Value) -> Batch | None:
        """How an object makes the items that it is asked for by an index: `batches[step]`."""
        if value.either:
            ways = [self._of_item(each) for each in value.either]
            return ways[0] if None not in ways else None
        if value.kind != "instance":
            return None
        if value.klass is not None:
            return self._of_class(value.klass)
        return self._infer.outside.makes_batches(value.outside) if value.outside.endswith("()") else None

    def _of_stack(self, call: cst.Call) -> Batch | None:
        """How `call` stacks samples to a batch: `np.array([f(x) for x in …])`, `tf.stack([tf.image.resize(x, …) for x
        in …])`, `pad_sequences(texts)`."""
        name = self._infer.names.qualified(call.func)
        given = argument(call, 0)
        if has(name, "pads-sequences"):
            return None if isinstance(argument(call, 0, "sequences"), cst.List) else "stacked"
        if not has(name, "makes-array", "joins-arrays") and not has(name, "joins-tensors", "makes-tensor"):
            return None
        if isinstance(given, cst.Name):
            given = self._comprehension(given, call)
        if has(name, "makes-array", "joins-arrays") and _maps_samples(given):
            return "stacked"
        if not isinstance(given, cst.ListComp):
            return None
        if _cuts_windows(given) and has(name, "makes-array", "joins-arrays"):
            return "stacked"
        if isinstance(given.elt, cst.Name | cst.Attribute | cst.Subscript):
            return None
        if is_constant(given.elt) or not any(isinstance(part, cst.Call) for part in descendants(given.elt)):
            return None
        if has(name, "makes-array", "joins-arrays"):
            return "stacked"
        return "preprocessed" if self._preprocesses(given.elt, 0, "prepares-samples") else None

    def _comprehension(self, name: cst.Name, call: cst.Call) -> cst.BaseExpression | None:
        """The list that a name stands for where it is stacked: one made in the same loop or function, and the only one."""
        loop = self._loops.innermost_loop(call)
        match self._infer.bindings(name):
            case [Binding(kind="assign", path=()) as made] if self._loops.innermost_loop(made.node) is loop:
                return made.value
        return None

    def _of_samples(self, call: cst.Call, function: Function) -> Batch | None:
        """How `call` makes a batch of samples: `tf.image.resize(images, …)`, `tf.stack(images)`."""
        given = argument(call, 0)
        if not isinstance(given, cst.Name) or library(self._infer.names.qualified(call.func)) != "tensorflow":
            return None
        made = [b.value for b in self._infer.bindings(given) if isinstance(b.value, cst.ListComp)]
        added = [
            value for holder in self._filled.holders(given) for value in self._filled.added(holder, function)
        ]
        samples = [*(comprehension.elt for comprehension in made), *added]
        decodes = any(
            self._preprocesses(sample, 0, "decodes", "reads-file") for sample in self._sources_of(samples)
        )
        return "preprocessed" if decodes and self._compiled.is_eager(call) else None

    def _sources_of(self, nodes: list[cst.BaseExpression]) -> Iterator[cst.BaseExpression]:
        """Expressions, and what those that are names were assigned."""
        for node in nodes:
            yield node
            yield from (b.value for b in self._infer.bindings(node) if b.value is not None)

    def _preprocesses(self, node: cst.CSTNode, depth: int, *words: str) -> bool:
        """Whether `node`, or a function of this file that it calls, calls what the API tables mark as `words`."""
        for call in descendants(node):
            if isinstance(call, cst.Call):
                if self._infer.names.is_call_that(call, *words):
                    return True
                for target in self._calls.targets(call) if depth < CALLS_DEEP else ():
                    if self._compiled.is_eager(target.node.body) and self._preprocesses(
                        target.node.body, depth + 1, *words
                    ):
                        return True
        return False

    def _decodes(self, call: cst.Call) -> bool:
        """Whether `call` reads or decodes a sample by an eager op."""
        return self._infer.names.is_call_that(call, "decodes", "reads-file") and self._compiled.is_eager(call)

    # Functions

    def _of_function(self, function: Function, depth: int = 0) -> Batch | None:
        """How `function`, or one that it calls, makes arrays sample by sample, or draws them."""
        if function in self._made or depth > CALLS_DEEP or names_experience(function.name):
            return self._made.get(function)
        self._made[function] = None
        if function.owner is None or not names_experience(function.owner.name):
            self._made[function] = self._look(function, depth)
        return self._made[function]

    def _look(self, function: Function, depth: int) -> Batch | None:
        own = function.owner.methods.get("__getitem__") if function.owner is not None else None
        if own is not None and _indexes_self(function) and (how := self._of_function(own, depth + 1)):
            return how
        calls = calls_for_each(self._loops, function)
        for call in calls:
            how = self._of_stack(call) or self._of_samples(call, function)
            if how is not None:
                return how
            if self._draws.is_batch(call):
                return "drawn"
        filled = any(self._filled.by(call, function) for call in function.calls)  # in a loop, made before it
        if filled or self._filled.lists_arrays(function):
            return "stacked"
        if any(map(self._decodes, calls)):
            return "preprocessed"
        for call in calls:
            how = self._of_called(call, depth + 1)
            if how is not None:
                return how
        return None

    def _of_called(self, call: cst.Call, depth: int) -> Batch | None:
        """How the function that `call` runs, in this file or another, makes arrays for its caller."""
        for target in self._calls.targets(call):
            if not target.yields and target.name != "__init__":
                how = self._of_function(target, depth)
                if how is not None:
                    return how
        callee = self._infer.value(call.func)
        if callee.kind != "function" or not callee.outside or names_experience(callee.outside):
            return None
        return self._infer.outside.makes_batches(callee.outside)


def _cuts_windows(comprehension: cst.ListComp) -> bool:
    """Whether `comprehension` cuts windows out of one array: `[signal[at : at + size] for at in starts]`."""
    picked = comprehension.elt
    at = {name.value for name in target_names(comprehension.for_in.target)}
    return isinstance(picked, cst.Subscript) and any(
        isinstance(part.slice, cst.Slice) and mentions(part, at) for part in picked.slice
    )


def _maps_samples(node: cst.BaseExpression | None) -> bool:
    """Whether `node` is `list(map(load, paths))`, with a function that makes a sample."""
    while isinstance(node, cst.Call) and callee_name(node) in ("list", "tuple") and node.args:
        node = node.args[0].value
    if not isinstance(node, cst.Call) or not is_name(node.func, "map") or len(node.args) != 2:
        return False
    match node.args[0].value:
        case cst.Lambda(body=body):
            return any(isinstance(part, cst.Call) for part in descendants(body))
        case cst.Name(value=name):
            return not has(name, "counts")
        case cst.Attribute():
            return True
    return False


def _indexes_self(function: Function) -> bool:
    """Whether a method takes an item of its own object: `self[at]`."""
    own = function.positional[:1] if function.name != "__getitem__" else []
    return any(
        isinstance(node, cst.Subscript) and isinstance(node.value, cst.Name) and [node.value.value] == own
        for node in descendants(function.node.body)
    )


_DRAWS = frozenset(
    {"normal", "rand", "randn", "uniform", "random", "random_sample", "standard_normal", "truncnorm"}
)


class HostDraws:
    """Answers which calls draw data, rather than the few numbers that something starts from."""

    def __init__(self, infer: Inference, calls: CallGraph, loops: Loops) -> None:
        self._infer = infer
        self._calls = calls
        self._loops = loops

    def is_batch(self, call: cst.Call) -> bool:
        """Whether `call` draws a batch, of data or of noise."""
        return self._draws(call) and self._loops.batches.size(call) == "batch"

    def is_data(self, call: cst.Call) -> bool:
        """Whether `call` draws a batch that has a name of its own, unless that is a name for noise."""
        if not self.is_batch(call):
            return False
        statement = self._infer.walk.statement_of(call)
        function = self._calls.function_at(call)
        targets = [t.target for t in statement.targets] if isinstance(statement, cst.Assign) else []
        names = [name.value for target in targets for name in target_names(target)]
        if not names:
            names = (
                [function.name]
                if function is not None and isinstance(statement, cst.Return | cst.Expr)
                else []
            )
        return bool(names) and (self._draws_images(call) or not any(map(names_noise, names)))

    def _draws_images(self, call: cst.Call) -> bool:
        """Whether a call draws an array of three axes or more: noise in the size of images or of sequences."""
        if callee_name(call) in ("rand", "randn"):
            return _has_three_axes([arg.value for arg in call.args])
        shape = keyword_argument(call, "size") or (call.args[-1].value if call.args else None)
        found = self._infer.bindings_reaching(shape) if isinstance(shape, cst.Name) else None
        shapes = [shape] if found is None else [binding.value for binding in found[1]]
        return bool(shapes) and all(
            isinstance(each, cst.Tuple | cst.List) and _has_three_axes([e.value for e in each.elements])
            for each in shapes
        )

    def _draws(self, call: cst.Call) -> bool:
        """Whether a call has NumPy draw numbers that are data, rather than indices."""
        if callee_name(call) not in _DRAWS:
            return False
        if self._infer.names.is_call_that(call, "varies"):
            return True
        return isinstance(call.func, cst.Attribute) and has(
            self._infer.value(call.func.value).name, "generator"
        )


def _has_three_axes(sizes: list[cst.BaseExpression]) -> bool:
    return sum(integer(size) != 1 for size in sizes) > 2
