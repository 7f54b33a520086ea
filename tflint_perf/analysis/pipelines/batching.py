"""Whether a dataset's elements come in batches, and what the file calls its batch size."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Literal

import libcst as cst

from tflint_perf.analysis.apis.facts import fact, has, library, methods
from tflint_perf.analysis.conventions import names_a_batch, names_the_batch_size
from tflint_perf.analysis.execution.elements import adds_batch_axis
from tflint_perf.analysis.limits import CALLS_DEEP
from tflint_perf.analysis.pipelines.applied import applied
from tflint_perf.analysis.pipelines.elementwise import mapped_function
from tflint_perf.analysis.python.reach import remembered
from tflint_perf.analysis.python.scopes import Binding, Block, Function, Scope
from tflint_perf.analysis.python.syntax import argument, descendants, integer, names_read, words_in
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.command_line_options import defaults
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.values import Pipeline, Stage, Value

# "ones": batches of one, asked for by a literal 1.
Elements = Literal["single", "ones", "batches", "unknown"]

_BY_NAME: dict[str, Elements] = {"single": "single", "ones": "ones", "batches": "batches"}
_STRUCTURES = (cst.Name, cst.Tuple, cst.List, cst.Dict)


class Batching(Part):
    """Follows datasets from their source to where they are consumed."""

    _infer: Inference
    _calls: CallGraph

    def elements(self, value: Value) -> Elements:
        """What a dataset's elements are, however it was built; "unknown" where that differs or is not known."""
        states = {self.along(pipeline) for pipeline in value.pipelines}
        return states.pop() if len(states) == 1 else "unknown"

    def along(self, pipeline: Pipeline) -> Elements:
        """What the elements are at the end of one way in which a dataset is built."""
        if not pipeline:
            return "unknown"
        state = self._at_source(pipeline[0])
        for stage in pipeline[1:]:
            state = self._after(stage, state)
        return state

    def _at_source(self, source: Stage) -> Elements:
        if source.origin is not None:
            return _BY_NAME.get(source.origin.elements, "unknown")
        if source.name == "zip":
            return self._zipped([self.elements(given) for given in source.inputs])
        if source.name.endswith("(batch_size)") or fact(source.name, "batched") == "yes":
            return "batches"
        if source.name == "from_tensor_slices":
            if any(map(self._holds_batches, source.call.args)) or _holds_one(source.call):
                return "unknown"
        if (
            source.name in methods("source", "single")
            or has(source.name, "single")
            or fact(source.name, "batched") == "no"
        ):
            return "single"
        return "unknown"

    @remembered
    def _holds_batches(self, node: cst.CSTNode, depth: int = 0) -> bool:
        """Whether the rows of `node`, which is sliced, may be batches: by a name, an axis put in front, or its shape."""
        if adds_batch_axis(node) or any(names_a_batch(name) for name in words_in(node)):
            return True
        for name in names_read(node) if depth < CALLS_DEEP else ():
            found = self._infer.bindings_reaching(name)
            for binding in found[1] if found is not None else ():
                if isinstance(binding.value, _STRUCTURES) and binding.kind == "assign":
                    if self._holds_batches(binding.value, depth + 1):
                        return True
                elif binding.value is not None and _has_batches_as_rows(binding.value):
                    return True
                if found is not None and self._gets_batches(binding, found[0]):
                    return True
        return False

    def _gets_batches(self, binding: Binding, scope: Scope) -> bool:
        """Whether what is put into a list goes by the name of a batch, or comes from what does."""
        if not self._infer.contents.holds(binding):
            return False
        for put in self._infer.contents.puts(binding, scope):
            made = [put.value]
            for name in names_read(put.value):
                made += [b.value for b in self._infer.bindings(name) if b.value is not None]
            if any(names_a_batch(name) for node in made for name in words_in(node)):
                return True
        return False

    def _after(self, stage: Stage, state: Elements) -> Elements:
        name = applied(stage.call) if stage.name == "apply" else stage.name
        if self._infer.integers.takes_few(stage.call):
            return "unknown"
        if name in methods("Dataset", "keeps-batches"):
            return state
        if (
            name == "batch"
            and self._infer.integers.only(argument(stage.call, 0, "batch_size")) == 1
            and state == "single"
        ):
            return "ones"
        if name in methods("Dataset", "makes-batches", "regroups"):
            return "batches"
        if name == "unbatch":
            return "single" if state in ("batches", "ones") else "unknown"
        if name in ("zip", "concatenate"):
            return self._zipped([state, *(self.elements(given) for given in stage.inputs)])
        if name == "map":
            return state if state == "batches" or self._keeps_rank(stage.call) else "unknown"
        if name in ("flat_map", "interleave"):
            return self._of_inner(stage.call)
        return "unknown"

    @staticmethod
    def _zipped(states: list[Elements]) -> Elements:
        return states[0] if states and len(set(states)) == 1 else "unknown"

    def _of_inner(self, call: cst.Call) -> Elements:
        """What `flat_map` and `interleave` give: the elements of the datasets that their function makes."""
        given = argument(call, 0, "map_func")
        if given is None:
            return "unknown"
        if fact(self._infer.names.qualified(given), "batched") == "no":
            return "single"
        function = mapped_function(self._infer, given)
        return self.elements(self._infer.returned(function)) if function is not None else "unknown"

    @remembered
    def _keeps_rank(self, call: cst.Call) -> bool:
        """Whether the function that `call` maps is known to make no batch: all of it is in sight, and it adds no axis
        in front."""
        given = argument(call, 0, "map_func")
        if given is None:
            return False
        if self._infer.value(given).kind in ("model", "layer"):
            return True
        function = self._infer.value(given).function
        return function is not None and self._is_plain(function, set())

    def _is_plain(self, function: Function, seen: set[Function]) -> bool:
        if function in seen:
            return True
        seen.add(function)
        if adds_batch_axis(function.node.body):
            return False
        return all(self._is_plain_call(call, seen) for call in function.calls)

    def _is_plain_call(self, call: cst.Call, seen: set[Function]) -> bool:
        name = self._infer.names.qualified(call.func)
        if name:
            known = library(name) in ("tensorflow", "keras", "numpy") or has(name, "binds")
            return known and not has(name, "runs-python", "stacks-tensors", "parses-batches")
        targets = self._calls.targets(call)
        if targets:
            return all(self._is_plain(target, seen) for target in targets)
        if isinstance(call.func, cst.Name):
            return self._infer.names.is_builtin(call.func)
        return isinstance(call.func, cst.Attribute)

    # The batch size

    def names_size_above_one(self) -> bool:
        """Whether the file gives something named like a batch size an integer value above 1."""
        return self._names_size

    @cached_property
    def _names_size(self) -> bool:
        return any((number := integer(value)) is not None and number > 1 for value in self._sizes_given())

    def _sizes_given(self) -> Iterator[cst.BaseExpression | None]:
        for scope in self._walk.scopes.values():
            for name, bindings in scope.bindings.items():
                if names_the_batch_size(name):
                    yield from (binding.value for binding in bindings)
        for klass in self._walk.classes.values():
            for name, bindings in klass.attributes.items():
                if names_the_batch_size(name):
                    yield from (binding.value for binding in bindings)
        yield from defaults(self._walk, names_the_batch_size)

    def size_in_reach(self, node: cst.CSTNode) -> str | None:
        """How code at `node` can say the file's batch size: `batch_size`, `args.batch_size`; None where it can't."""
        scope: Scope | None = self._infer.names.scope_of(node)
        while scope is not None:
            for name in scope.bindings:
                if names_the_batch_size(name) and self._is_bound_before(name, node):
                    return name
            scope = scope.parent
        for attr, uses in self._walk.attributes.items():
            if names_the_batch_size(attr):
                for use in uses:
                    if isinstance(use.value, cst.Name) and self._same_name(use.value, node):
                        return f"{use.value.value}.{attr}"
        return None

    def _is_bound_before(self, name: str, node: cst.CSTNode) -> bool:
        scope = self._infer.names.scope_of(node)
        found = self._infer.names.lookup(name, scope)
        if found is None:
            return False
        home, bindings = found
        if any(integer(binding.value) == 1 for binding in bindings):
            return False
        order = self._infer.place(node).order
        return home is not scope or any(
            binding.kind == "param"
            or (binding.at.order < order and binding.at.block in self._blocks_around(node))
            for binding in bindings
        )

    def _blocks_around(self, node: cst.CSTNode) -> Iterator[Block]:
        block: Block | None = self._infer.place(node).block
        while block is not None:
            yield block
            block = block.parent

    def _same_name(self, use: cst.Name, node: cst.CSTNode) -> bool:
        """Whether the name in `use` stands for the same thing at `node`, and is bound there."""
        names = self._infer.names
        there = names.lookup(use.value, names.scope_of(use))
        here = names.lookup(use.value, names.scope_of(node))
        if there is None or here is None or there[0] is not here[0]:
            # `self` of another method of the same class.
            owner, other = (getattr(names.scope_of(n).function, "owner", None) for n in (use, node))
            return use.value == "self" and here is not None and owner is not None and owner is other
        return self._is_bound_before(use.value, node)


def _holds_one(source: cst.Call) -> bool:
    """Whether a list with one element is sliced: that stands for a batch of one, by hand."""
    given = argument(source, 0, "tensors")
    return isinstance(given, cst.List | cst.Tuple) and len(given.elements) == 1


def _has_batches_as_rows(node: cst.CSTNode) -> bool:
    """Whether a shape in an expression has the batch size behind its first axis: `(steps, batch_size, 28)`."""
    return any(
        names_a_batch(name)
        for shape in descendants(node)
        if isinstance(shape, cst.Tuple | cst.List)
        for element in shape.elements[1:]
        for name in words_in(element)
    )


def batch_of_one(pipeline: Pipeline) -> cst.BaseExpression | None:
    """The literal 1 of the `batch(1)` that makes a pipeline's elements batches of one."""
    for stage in reversed(pipeline):
        if stage.name == "batch":
            return argument(stage.call, 0, "batch_size")
    return None
