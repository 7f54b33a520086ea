"""What is given to a step: one batch or sample, or a whole dataset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeGuard

import libcst as cst

from tflint_perf.analysis.apis.facts import fact, has
from tflint_perf.analysis.conventions import names_a_batch_size, names_a_generator, names_a_stream
from tflint_perf.analysis.execution.elements import adds_batch_axis
from tflint_perf.analysis.execution.sizes import Size, Sizes
from tflint_perf.analysis.execution.trains import FITS
from tflint_perf.analysis.limits import CALLS_DEEP
from tflint_perf.analysis.python.flow import loops_around
from tflint_perf.analysis.python.scopes import Binding
from tflint_perf.analysis.python.syntax import (
    argument,
    callee_name,
    keyword_argument,
    last_name,
    mentions,
    names_read,
    target_names,
)
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.iterables import source
from tflint_perf.analysis.values.written import bindings_of

if TYPE_CHECKING:
    from tflint_perf.analysis.execution.loops import Loops

# What follows in a chain behind `batch`, and gives batches still.
_OF_BATCHES = frozenset(
    {"enumerate", "prefetch", "shuffle", "take", "skip", "repeat", "cache", "map", "as_numpy_iterator"}
)
# Arguments of `fit`, `evaluate` and `predict` that only make sense for a whole dataset.
_OF_WHOLE_DATASETS = ("steps", "steps_per_epoch", "validation_data", "validation_split", "validation_steps")
# What facts mark that makes as many rows of what it is given first.
_KEEPING_ROWS = ("alike", "elementwise", "keeps-number", "works-on-arrays")
_ANSWERING = frozenset({"predict", "predict_on_batch"})
# How many rows `fit`, `evaluate` and `predict` take at a time, if nothing says otherwise.
ROWS_AT_A_TIME = 32
# How often `fit` goes through a batch that a program draws for it, at most.
_FEW_EPOCHS = 10
# Arguments by which Keras 2 draws the batches of a whole training from a sequence or a generator.
_OF_SEQUENCES = ("workers", "use_multiprocessing", "max_queue_size")


class Batches:
    """Answers what is one batch or sample."""

    def __init__(self, infer: Inference, calls: CallGraph, loops: Loops) -> None:
        self._infer = infer
        self._calls = calls
        self._loops = loops
        self._sizes = Sizes(infer, calls, loops)

    def size(self, node: cst.BaseExpression) -> Size:
        """How much data `node` holds."""
        return self._sizes.size(node)

    def is_length(self, node: cst.BaseExpression) -> bool:
        """Whether `node` is the number of rows of something: `x.shape[0]`, or a name of that."""
        found = self._infer.bindings_reaching(node) if isinstance(node, cst.Name) else None
        if found is None:
            return _is_part_of_shape(node)
        return bool(found[1]) and all(b.path == () and _is_part_of_shape(b.value) for b in found[1])

    def is_made_one_of(self, call: cst.Call, depth: int = 0) -> bool:
        """Whether `call` gives one sample, of which a batch is made at once or next, `x = tf.expand_dims(x, 0)`, or behind ops
        of which each is given a sample then, as well: `y = tf.pad(x, …)`."""
        parents = self._infer.walk.parents
        target = parents.get(call)
        if isinstance(target, cst.Arg | cst.Subscript):
            around = _around(parents, call)
            if isinstance(around, cst.Call) and callee_name(around) not in ("expand_dims", "reshape"):
                return False
            return adds_batch_axis(around)
        if not isinstance(target, cst.Assign) or len(target.targets) != 1:
            return False
        names = {name.value for name in target_names(target.targets[0].target)}
        home = self._infer.names.scope_of(call)
        return any(
            self._infer.names.scope_of(name) is home
            and (found := self._infer.bindings_reaching(name)) is not None
            and any(binding.value is call for binding in found[1])
            and (
                adds_batch_axis(around := _around(parents, name))
                or (
                    depth < CALLS_DEEP and self._keeps_axes(around) and self.is_made_one_of(around, depth + 1)
                )
            )
            for each in names
            for name in self._infer.walk.names.get(each, ())
        )

    def _keeps_axes(self, node: cst.CSTNode) -> TypeGuard[cst.Call]:
        """Whether `node` is of an op that gives one thing of each that it is given: a padded picture of a picture."""
        name = self._infer.names.qualified(node.func) if isinstance(node, cst.Call) else ""
        return has(name, "elementwise", "keeps-eight-bits", "resizes")

    def is_made_anew(self, node: cst.CSTNode) -> bool:
        """Whether a loop runs `node`, here or through a call."""
        return self._sizes.is_made_anew(node)

    def are_taken_by(self, call: cst.Call) -> bool:
        """Whether `call` gives `predict`, `evaluate` or `fit` one batch or sample."""
        epochs = keyword_argument(call, "epochs") or keyword_argument(call, "nb_epoch")
        if epochs is not None and not self._is_one(epochs):
            return False
        if self._is_one_step(call):
            return True
        given = argument(call, 0, "x")
        if given is None or self._infer.value(given).kind in ("dataset", "iterator", "generator"):
            return False
        if any(keyword_argument(call, name) is not None for name in _OF_WHOLE_DATASETS):
            return False
        # The inputs of one model are as many.
        inputs = _inputs(given)
        if self._are_one_batch(call, inputs):
            return not self._is_trial(call)
        if not any(map(self._is_one_batch, inputs)) and not self._are_told_their_size(call, inputs):
            return False
        return not self._is_trial(call) and not self._is_cut_further(call, given)

    def are_taken_again_by(self, call: cst.Call) -> bool:
        """Whether `call` is a `fit` that goes a few times through one batch, which is drawn or collected: a slice of whole arrays, or
        all rows at once, is a training by itself."""
        given, epochs = argument(call, 0, "x"), keyword_argument(call, "epochs")
        times = self._infer.integers.most(epochs)
        if callee_name(call) != "fit" or given is None or times not in range(2, _FEW_EPOCHS + 1):
            return False
        if any(keyword_argument(call, name) is not None for name in _OF_WHOLE_DATASETS):
            return False
        inputs = _inputs(given)
        if self._are_one_batch(call, inputs) or not any(map(self._is_one_batch, inputs)):
            return False
        cuts = (part for part in self._parts(given) if isinstance(part, cst.Subscript))
        if any(isinstance(part.slice[0].slice, cst.Slice) for part in cuts):
            return False
        return not self._is_trial(call) and not self._is_cut_further(call, given)

    def are_all_taken_by(self, call: cst.Call) -> bool:
        """Whether `call` is a `fit` over a whole dataset, several times: it is a training by itself."""
        epochs = keyword_argument(call, "epochs") or keyword_argument(call, "nb_epoch")
        if callee_name(call) not in FITS or epochs is None or self._is_one(epochs):
            return False
        given = argument(call, 0, "x")
        is_dataset = given is not None and self._infer.value(given).kind == "dataset"
        named = (*_OF_WHOLE_DATASETS, *_OF_SEQUENCES)
        return is_dataset or any(keyword_argument(call, name) is not None for name in named)

    def _are_one_batch(self, call: cst.Call, inputs: list[cst.BaseExpression]) -> bool:
        """Whether `call` trains on all rows at once: `fit(x, y, batch_size=len(x))`. Once over whole test data is no step."""
        size = _batch_size(call)
        return callee_name(call) in FITS and any(
            self._infer.integers.is_length_of(size, part) for part in inputs
        )

    def _is_one_step(self, call: cst.Call) -> bool:
        """Whether `call` takes a single batch of what it is given, and evaluates nothing behind it."""
        steps = keyword_argument(call, "steps_per_epoch") or keyword_argument(call, "steps")
        return steps is not None and self._is_one(steps) and keyword_argument(call, "validation_data") is None

    def _is_one(self, number: cst.BaseExpression) -> bool:
        """Whether `number` is 1, here or by all that a name stands for."""
        return self._infer.integers.only(number) == 1

    def _is_one_batch(self, given: cst.BaseExpression, depth: int = 0) -> bool:
        """Whether `given` is one batch or sample, by itself."""
        return (
            self.size(given) in ("sample", "batch")
            or self._is_generated(given)
            or self._has_few_rows(given)
            or self._repeats_one(given)
            or self._is_answer_to_one(given, depth)
        )

    def _is_answer_to_one(self, given: cst.BaseExpression, depth: int) -> bool:
        """Whether `given` is what a model makes of one batch or sample, or a part of that: `logits, value = net.predict(x)`."""
        if depth > CALLS_DEEP:
            return False
        match given:
            case cst.Name():
                match bindings_of(self._infer, given):
                    case [Binding(kind="assign", value=cst.BaseExpression() as made)]:
                        return self._is_answer_to_one(made, depth + 1)
            case cst.GeneratorExp(elt=elt, for_in=part) | cst.ListComp(elt=elt, for_in=part):
                whole = _is_as_array(elt, part.target) and not part.ifs and part.inner_for_in is None
                return whole and self._is_answer_to_one(part.iter, depth + 1)
            case cst.Call(func=cst.Attribute(value=made, attr=cst.Name("numpy")), args=[]):
                return self._is_answer_to_one(made, depth + 1)
            case cst.Call(args=[_, *_]):
                return self._is_asked_for_one(given, depth)
        return False

    def _is_asked_for_one(self, call: cst.Call, depth: int) -> bool:
        """Whether `call` asks a model about one batch or sample, here or in a function that does nothing else."""
        asked = (
            call.func.value
            if callee_name(call) in _ANSWERING and isinstance(call.func, cst.Attribute)
            else call.func
        )
        if self._infer.value(asked).kind == "model":
            return self._is_one_batch(call.args[0].value, depth + 1)
        function = self._infer.value(call.func).function
        match function.returns if function is not None else ():
            case [cst.Return(value=cst.Call(func=inner, args=[cst.Arg(value=cst.Name() as inputs), *_]))]:
                if function is None or self._infer.value(inner).kind != "model":
                    return False
                given = self._calls.arguments(function, inputs.value, [call])
                return bool(given) and all(self._is_one_batch(each, depth + 1) for each in given)
        return False

    def _repeats_one(self, given: cst.BaseExpression, depth: int = 0) -> bool:
        """Whether `given` repeats one thing of each iteration, for as many others as there are: `np.full(len(items), user)`,
        `np.array([user] * len(items))`. A model that is asked so is asked for one thing at a time."""
        if depth > CALLS_DEEP:
            return False
        match given:
            case cst.Name():
                match bindings_of(self._infer, given):
                    case [Binding(kind="assign", path=(), value=cst.BaseExpression() as made)]:
                        return self._repeats_one(made, depth + 1)
            case cst.BinaryOperation(operator=cst.Multiply(), left=cst.List(elements=[one])):
                return self._sizes.varies(one.value)
            case cst.Call(args=[first, *_]):
                name = self._infer.names.qualified(given.func)
                if place := fact(name, "repeats-at"):
                    repeated = argument(given, int(place), "fill_value") or keyword_argument(given, "value")
                    return repeated is not None and self._sizes.varies(repeated)
                return has(name, "keeps-number") and self._repeats_one(first.value, depth + 1)
        return False

    def _has_few_rows(self, given: cst.BaseExpression, depth: int = 0) -> bool:
        """Whether `given` is an array that each iteration makes of items that are written out, no more than Keras takes at a time:
        `np.array([anchor, other])`, whatever these are."""
        if isinstance(given, cst.Name) and depth < CALLS_DEEP:
            match bindings_of(self._infer, given):
                case [Binding(kind="assign", path=(), value=cst.Call() as made)]:
                    return self._has_few_rows(made, depth + 1)
        if not isinstance(given, cst.Call) or not given.args or not self.is_made_anew(given):
            return False
        stacks = self._infer.names.is_call_that(given, "keeps-number", "stacks-tensors")
        items = self._infer.integers.length(given.args[0].value) if stacks else None
        return items is not None and 0 < items <= ROWS_AT_A_TIME and argument(given, None, "axis") is None

    def _are_told_their_size(self, call: cst.Call, inputs: list[cst.BaseExpression]) -> bool:
        """Whether a function of another file, which is given a batch size, makes inputs and targets for `call` beside it:
        `x, y = draw(data, batch_size)`."""
        if callee_name(call) not in FITS or argument(call, 1, "y") is None:
            return False
        return any(
            isinstance(binding.value, cst.Call)
            and binding.path is not None
            and binding.at.block.loop is self._loops.innermost_loop(call)
            and self._infer.value(binding.value.func).outside
            and any(names_a_batch_size(last_name(arg.value)) for arg in binding.value.args)
            for part in inputs
            if isinstance(part, cst.Name)
            for binding in bindings_of(self._infer, part)
        )

    def _is_generated(self, given: cst.BaseExpression, depth: int = 0) -> bool:
        """Whether `given` is what a loop takes from something with the name of a generator or a dataset, a sample or a batch, or
        is made of that: `to_categorical(labels)`."""
        if depth > CALLS_DEEP:
            return False
        if isinstance(given, cst.Call):
            keeps = self._infer.names.is_call_that(given, *_KEEPING_ROWS)
            return keeps and bool(given.args) and self._is_generated(given.args[0].value, depth + 1)
        bindings = self._infer.bindings(given)
        return bool(bindings) and all(self._gives_generated(binding, depth) for binding in bindings)

    def _gives_generated(self, binding: Binding, depth: int) -> bool:
        if binding.value is None:
            return False
        if binding.kind == "assign" and not binding.path:
            return self._is_generated(binding.value, depth + 1)
        streams = self._sources(source(self._infer, binding.value))
        return binding.kind == "for" and any(map(self._is_stream, streams))

    def come_from(self, iterable: cst.BaseExpression) -> bool:
        """Whether `iterable` gives batches, by its name: `enumerate(loader.load_batch(size))`."""
        return self._is_stream(source(self._infer, iterable))

    def _is_stream(self, source: cst.BaseExpression) -> bool:
        if isinstance(source, cst.Call):
            return bool(names_a_generator(callee_name(source))) or self._is_batched(source)
        named = isinstance(source, cst.Name | cst.Attribute) and names_a_stream(last_name(source))
        return bool(named) and not self._infer.value(source).known

    def _is_batched(self, source: cst.BaseExpression) -> bool:
        """Whether `source`, of which nothing is known, is batched as a dataset is:
        `data.shuffle(n).batch(32).enumerate()`."""
        while isinstance(source, cst.Call) and isinstance(source.func, cst.Attribute):
            if callee_name(source) in ("batch", "padded_batch"):
                return not self._infer.value(source).known
            if callee_name(source) not in _OF_BATCHES:
                return False
            source = source.func.value
        return False

    def _is_trial(self, call: cst.Call) -> bool:
        """Whether the loop around `call` makes its model anew: a fold or trial, whose slices are datasets."""
        receiver = call.func.value if isinstance(call.func, cst.Attribute) else None
        loop = self._loops.innermost_loop(call)
        if loop is None or not isinstance(receiver, cst.Name):
            return False
        return any(
            loop in loops_around(binding.at.block.loop) and binding.kind == "assign"
            for binding in self._infer.bindings(receiver)
        )

    def _is_cut_further(self, call: cst.Call, given: cst.BaseExpression) -> bool:
        """Whether `call` itself cuts the slice it is given into batches of another size."""
        size = _batch_size(call)
        if size is None:
            return False
        if self._is_one(size) and self.size(given) == "batch":
            return True  # sample by sample
        if self._may_be_whole(given):
            return True
        cuts = [node for node in self._parts(given) if isinstance(node, cst.Subscript)]
        cuts = [node for node in cuts if isinstance(node.slice[0].slice, cst.Slice)]
        if not cuts and self._infer.integers.only(size) is not None and self._is_element(given):
            return True  # so many at a time: nothing says how many there are in all
        names = {name.value for name in names_read(size)}
        # The slice's bounds say its size: `x[i * batch_size : (i + 1) * batch_size]`, or names made from that.
        return bool(cuts) and not any(
            mentions(source, names)
            for cut in cuts
            for name in names_read(cut.slice[0])
            for source in self._sources(name)
        )

    def _is_element(self, given: cst.BaseExpression) -> bool:
        """Whether `given` is what a loop takes, as it comes."""
        bindings = self._infer.bindings(given)
        return bool(bindings) and all(binding.kind == "for" for binding in bindings)

    def _may_be_whole(self, given: cst.BaseExpression) -> bool:
        """Whether `given` is a parameter for which one caller gives a batch, and another nobody knows how much."""
        parameters = [b for b in self._infer.bindings(given) if b.kind == "param"]
        sizes = {self.size(value) for parameter in parameters for value in self._calls.given(parameter)}
        return len(sizes) > 1 and "unknown" in sizes

    def _parts(self, given: cst.BaseExpression, depth: int = 0) -> list[cst.BaseExpression]:
        """What a call is given, through names, as one of several inputs, or by one of two choices."""
        if depth > CALLS_DEEP:
            return []
        below: list[cst.BaseExpression] = []
        match given:
            case cst.Name():
                below = self._sources(given)[1:]
            case cst.List() | cst.Tuple():
                below = [element.value for element in given.elements]
            case cst.IfExp():
                below = [given.body, given.orelse]
        return [given, *(part for each in below for part in self._parts(each, depth + 1))]

    def _sources(self, node: cst.BaseExpression) -> list[cst.BaseExpression]:
        """The expressions that `node` is, or is assigned or runs over where it is a name."""
        if not isinstance(node, cst.Name):
            return [node]
        values = [b.value for b in self._infer.bindings(node) if b.value is not None]
        return [node, *values]


def _inputs(given: cst.BaseExpression) -> list[cst.BaseExpression]:
    """What a model is given for each of its inputs: `[left, right]`, `{"left": left, "right": right}`."""
    match given:
        case cst.List(elements=elements) | cst.Dict(elements=elements):
            return [element.value for element in elements]
    return [given]


def _batch_size(call: cst.Call) -> cst.BaseExpression | None:
    """How many rows `fit`, `evaluate` or `predict` is told to take at a time."""
    return argument(call, 1 if callee_name(call) == "predict" else 2, "batch_size")


def _around(parents: Mapping[cst.CSTNode, cst.CSTNode], node: cst.CSTNode) -> cst.CSTNode:
    """The call that is given a name, or the item that is taken of it; else the name."""
    around = parents.get(node)
    if isinstance(around, cst.Arg):
        around = parents.get(around)
    return around if isinstance(around, cst.Call | cst.Subscript) else node


def _is_part_of_shape(node: cst.CSTNode | None) -> bool:
    match node:
        case cst.Subscript(
            value=cst.Attribute(attr=cst.Name("shape")), slice=[cst.SubscriptElement(cst.Index())]
        ):
            return True
    return False


def _is_as_array(made: cst.BaseExpression, item: cst.BaseExpression) -> bool:
    """Whether `made` is the array of `item`, one of several results: `part.numpy() for part in …`."""
    match made, item:
        case cst.Call(func=cst.Attribute(value=cst.Name(read), attr=cst.Name("numpy")), args=[]), cst.Name(
            name
        ):
            return read == name
    return False
