"""Weights of a model that go through host arrays to a model: `target.set_weights(model.get_weights())`."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.apis.facts import has
from tflint_perf.analysis.execution.each_step import EachStep
from tflint_perf.analysis.execution.filled_lists import is_empty_list
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.execution.steady_conditions import asks_for_enough
from tflint_perf.analysis.execution.steps import GradientSteps
from tflint_perf.analysis.execution.trains import trains_by
from tflint_perf.analysis.limits import CALLS_DEEP
from tflint_perf.analysis.python.flow import loops_around
from tflint_perf.analysis.python.reach import leads_to
from tflint_perf.analysis.python.scopes import Binding, Function
from tflint_perf.analysis.python.syntax import (
    callee_name,
    descendants,
    dotted_name,
    is_name,
    names_read,
    statements_of,
)
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.values import UNKNOWN
from tflint_perf.records import dataclass

# What decides by itself whether the statements in it run.
_DECIDING = (cst.For, cst.While, cst.Try, cst.Match, cst.FunctionDef, cst.ClassDef)


class BesideGradients(Part):
    """Answers whether a place stands beside a gradient step, in one block with what makes it."""

    _infer: Inference
    _calls: CallGraph
    _loops: Loops
    _steps: GradientSteps

    def __post_init__(self) -> None:
        self._known: dict[cst.CSTNode, bool] = {}
        self._training: dict[Function, bool] = {}

    def holds(self, node: cst.CSTNode) -> bool:
        """Whether `node` runs per step, and no condition stands before it but those of a gradient step beside it."""
        return self._loops.is_per_step(node) and leads_to(node, self._known, self._stands_beside)

    def _stands_beside(self, node: cst.CSTNode) -> bool | list[cst.Call]:
        """Whether a gradient step comes with `node`, as far as its function shows; or else the calls of that function,
        for any of which that may be so."""
        block = self._infer.place(node).block
        while True:
            if any(map(self._trains_in_loop, block.statements)):
                return False  # once for all gradient steps of that loop
            if any(map(self._is_training, block.statements)):
                return True
            if not isinstance(block.owner, cst.With) or block.parent is None:
                break
            block = block.parent
        function = self._calls.function_at(node)
        if function is None or block.owner is not function.node:
            return False
        return [site for site in self._calls.sites(function) if self._loops.is_per_step(site)]

    def _trains_in_loop(self, statement: cst.CSTNode) -> bool:
        """Whether `statement` is a loop that makes a gradient step in each iteration, as a pass over a memory does."""
        return isinstance(statement, cst.For | cst.While) and self._makes_steps(statement.body)

    def _is_training(self, statement: cst.CSTNode) -> bool:
        """Whether `statement` makes a gradient step, or calls what makes one; of an `if`, each of its branches."""
        if isinstance(statement, cst.If):
            return all(any(map(self._is_training, lines)) for lines in _branches(statement))
        return not isinstance(statement, _DECIDING) and self._makes_steps(statement)

    def _makes_steps(self, node: cst.CSTNode) -> bool:
        """Whether `node` makes a gradient step, or calls what makes one."""
        return any(
            trains_by(self._infer, part) in ("update", "batch")
            or any(leads_to(target, self._training, self._trains) for target in self._calls.targets(part))
            for part in descendants(node)
            if isinstance(part, cst.Call)
        )

    def _trains(self, function: Function) -> bool | list[Function]:
        """Whether a function makes gradient steps itself, or else what it calls."""
        if self._steps.of(function) or any(
            trains_by(self._infer, call) == "batch" for call in function.calls
        ):
            return True
        return [target for call in function.calls for target in self._calls.targets(call)]


def _branches(node: cst.If) -> Iterator[list[cst.CSTNode]]:
    """The statements of each way through an `if`; there are none in an `else` that is missing."""
    branch: cst.If | cst.Else | None = node
    while branch is not None:
        yield statements_of(branch.body)
        if isinstance(branch, cst.Else):
            return
        branch = branch.orelse
    yield []


# Lists of a model's variables.
VARIABLES = frozenset(
    {"weights", "variables", "trainable_weights", "trainable_variables", "non_trainable_variables"}
)
# What goes over such lists and fills one, and computes nothing.
_GOES_OVER = frozenset({"zip", "enumerate", "range", "len"})
_HOLDERS = ("model", "layer")
# What is asked of a model that makes no weights.
_BUILD_NOTHING = frozenset({"layers", "compile", "set_weights"})


@dataclass(frozen=True, slots=True)
class WeightCopy:
    """A call of `set_weights`; `target` gets what is made of the weights of `sources`, itself perhaps among them.

    `on_host` is false where they are computed as tensors, of the variables themselves.
    """

    call: cst.Call
    target: cst.BaseExpression
    given: cst.BaseExpression
    sources: tuple[cst.BaseExpression, ...]
    on_host: bool = True


class WeightCopies(Part):
    """Finds such copies, and asks how often they are made."""

    own = (BesideGradients,)

    _infer: Inference
    _each_step: EachStep
    _beside_gradients: BesideGradients

    def all(self) -> Iterator[WeightCopy]:
        """Every copy of a known model's weights through host arrays, or through tensors computed in eager mode, in the order
        of the text."""
        for call in self._walk.calls.get("set_weights", ()):
            if not isinstance(call.func, cst.Attribute) or len(call.args) != 1 or call.args[0].star:
                continue
            target, given = call.func.value, call.args[0].value
            places = list(self._reached(given, 0, set(), stops_at_models=True))
            if any(map(self.is_random, places)):
                continue
            copied = list(dict.fromkeys(source for place in places for source in _asked_for_weights(place)))
            sources = copied or _averaged(places)
            if (
                sources
                and self.are_models([target, *sources])
                and not self._are_put_back(target, sources, places)
                and not self._is_unbuilt(target, call)
            ):
                yield WeightCopy(call, target, given, tuple(sources), on_host=bool(copied))

    def are_models(self, nodes: list[cst.BaseExpression]) -> bool:
        """Whether one of `nodes` is known to be a model or layer of Keras, and none to be anything else."""
        kinds = [self._infer.value(node).kind for node in nodes]
        return any(kind in _HOLDERS for kind in kinds) and all(
            kind in (*_HOLDERS, "unknown") for kind in kinds
        )

    @staticmethod
    def _are_put_back(
        target: cst.BaseExpression, sources: list[cst.BaseExpression], places: list[cst.CSTNode]
    ) -> bool:
        """Whether `target` gets its own weights back, with nothing computed from them."""
        name = dotted_name(target)
        return all(dotted_name(source) == name for source in sources) and not any(
            isinstance(part, cst.ListComp | cst.BinaryOperation)
            for place in places
            for part in descendants(place)
        )

    def _is_unbuilt(self, target: cst.BaseExpression, call: cst.Call) -> bool:
        """Whether `target`, or what its layers are of, has just been made by a class with a `call`, which makes no weights
        before it is called: it can be given none, so that `call` moves none."""
        models = {
            name.value: name
            for place in self._reached(target, 0, set())
            for name in names_read(place)
            if self._infer.value(name).kind == "model"
        }
        return bool(models) and all(self._is_just_made(name, call) for name in models.values())

    def _is_just_made(self, name: cst.Name, call: cst.Call) -> bool:
        found = self._infer.bindings_reaching(name)
        if found is None or len(found[1]) != 1 or not self._makes_no_weights(found[1][0].value):
            return False
        made, here = found[1][0].at, self._infer.place(call)
        repeated = [
            loop for loop in loops_around(here.block.loop) if loop not in loops_around(made.block.loop)
        ]
        return all(
            isinstance(parent := self._walk.parents.get(mention), cst.Attribute)
            and parent.attr.value in _BUILD_NOTHING
            for mention in self._infer.names.mentions(name.value, found[0])
            if made.order < self._infer.place(mention).order <= here.order
            or any(mention in descendants(loop.node) for loop in repeated)
        )

    def _makes_no_weights(self, made: cst.CSTNode | None) -> bool:
        """Whether `made` makes an object of a class with a `call`, and its constructor builds nothing, as far as it shows."""
        value = self._infer.value(made) if isinstance(made, cst.Call) else UNKNOWN
        if value.klass is None:
            return value.outside.endswith("()") and self._infer.outside.member(value.outside, "call").known
        begun = value.klass.methods.get("__init__")
        builds = (
            callee_name(part) in ("build", "__call__") or is_name(part.func, "self")
            for part in (begun.calls if begun is not None else ())
        )
        return "call" in value.klass.methods and not any(builds)

    def is_random(self, node: cst.CSTNode) -> bool:
        """Whether `node` draws random numbers."""
        return any(
            has(name, "draws") or has(name, "varies")
            for part in descendants(node)
            if isinstance(part, cst.Call)
            for name in [self._infer.names.qualified(part.func)]
        )

    def _reached(
        self, node: cst.CSTNode, depth: int, seen: set[Binding], *, stops_at_models: bool = False
    ) -> Iterator[cst.CSTNode]:
        """The expressions that `node` is made from, through names and lists that are filled."""
        yield node
        for name in names_read(node):
            if stops_at_models and self._infer.value(name).kind == "model":
                continue
            for binding in self._infer.bindings(name) if depth < CALLS_DEEP else ():
                if (
                    binding in seen
                    or binding.value is None
                    or binding.kind not in ("assign", "for", "comprehension")
                ):
                    continue
                seen.add(binding)
                for value in (binding.value, *self._put_into(name), *self._appended(name, binding)):
                    yield from self._reached(value, depth + 1, seen, stops_at_models=stops_at_models)

    def _appended(self, name: cst.Name, binding: Binding) -> list[cst.BaseExpression]:
        """What a list gets that begins empty: `weights.append(…)`."""
        if not is_empty_list(self._infer, binding):
            return []
        calls = self._walk.calls.get("append", ())
        return [
            call.args[0].value
            for call in calls
            if dotted_name(call.func) == f"{name.value}.append" and call.args
        ]

    def _put_into(self, name: cst.Name) -> Iterator[cst.BaseExpression]:
        """What a list is given by its indices: `weights[i] = …`."""
        scope = self._infer.names.scope_of(name)
        for statement in self._walk.at:
            match statement:
                case cst.Assign(
                    targets=[cst.AssignTarget(target=cst.Subscript(value=cst.Name(value=into)))], value=value
                ) if into == name.value and self._infer.names.scope_of(statement) is scope:
                    yield value

    def is_on_each_step(self, node: cst.CSTNode) -> bool:
        """Whether a step loop runs `node` on each step after it has gathered its first samples, or with each gradient
        step."""
        return self._each_step.runs(node, _waits_for_samples) or self._beside_gradients.holds(node)


def _asked_for_weights(place: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """The models whose weights `place` copies to the host: `get_weights()`, `[v.numpy() for v in model.variables]`."""
    for part in descendants(place):
        match part:
            case cst.Call(func=cst.Attribute(value=holder, attr=cst.Name("get_weights")), args=[]):
                yield holder
            case cst.ListComp(
                elt=cst.Call(func=cst.Attribute(attr=cst.Name("numpy"))),
                for_in=cst.CompFor(iter=cst.Attribute(value=holder, attr=cst.Name(value=name))),
            ) if name in VARIABLES:
                yield holder


def _averaged(places: list[cst.CSTNode]) -> list[cst.BaseExpression]:
    """The models whose variables are computed with, and nothing else is: `[t * w + (1 - t) * v for w, v in zip(…)]`."""
    parts = [part for place in places for part in descendants(place)]
    if not any(isinstance(part, cst.BinaryOperation) for part in parts):
        return []
    if any(isinstance(part, cst.Call) and callee_name(part) not in _GOES_OVER for part in parts):
        return []
    return list(
        dict.fromkeys(
            part.value for part in parts if isinstance(part, cst.Attribute) and part.attr.value in VARIABLES
        )
    )


def _waits_for_samples(condition: cst.CSTNode) -> bool:
    """Whether `condition` waits for enough samples: `if len(buffer) > batch_size:`, `if buffer.can_sample:` and their
    like."""
    if asks_for_enough(condition):
        return True
    match condition:
        case cst.BooleanOperation(operator=cst.And()):
            return _waits_for_samples(condition.left) and _waits_for_samples(condition.right)
        case cst.Comparison(
            comparisons=[
                cst.ComparisonTarget(
                    operator=cst.GreaterThan() | cst.GreaterThanEqual() | cst.LessThan() | cst.LessThanEqual()
                )
            ]
        ):
            return any(
                isinstance(part, cst.Call) and callee_name(part) in ("len", "size")
                for part in descendants(condition)
            )
    return False
