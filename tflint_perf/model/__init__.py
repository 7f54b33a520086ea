"""What one pass over a libcst tree learns about a TensorFlow script, and the questions that rules ask."""

from __future__ import annotations

from functools import cached_property

import libcst as cst

from tflint_perf.model.augmentations import Augmentations
from tflint_perf.model.batching import Batching
from tflint_perf.model.calls import CallGraph
from tflint_perf.model.compiled import Compiled
from tflint_perf.model.containers import Addition, Containers
from tflint_perf.model.devices import Devices
from tflint_perf.model.feeds import Feeds
from tflint_perf.model.growth import Growth
from tflint_perf.model.guards import Guard, Guards
from tflint_perf.model.infer import Inference
from tflint_perf.model.invariance import Invariance
from tflint_perf.model.kept import Kept
from tflint_perf.model.late_caches import LateCaches
from tflint_perf.model.late_shuffles import LateShuffles
from tflint_perf.model.left_on import LeftOn
from tflint_perf.model.loops import Loops
from tflint_perf.model.names import Names
from tflint_perf.model.once import Once
from tflint_perf.model.parameters import Parameters
from tflint_perf.model.pipelines import Pipelines
from tflint_perf.model.plain_numpy import PlainNumpy
from tflint_perf.model.precision import Precision
from tflint_perf.model.programs import Programs
from tflint_perf.model.python_numbers import Numbers
from tflint_perf.model.restarts import Restarts
from tflint_perf.model.scalars import Scalars
from tflint_perf.model.scopes import Class, Function, Loop
from tflint_perf.model.sessions import Sessions
from tflint_perf.model.shapes import Shapes
from tflint_perf.model.slicing import Slicing
from tflint_perf.model.steps import GradientStep, GradientSteps
from tflint_perf.model.successors import Successors
from tflint_perf.model.symbolic import Symbolic
from tflint_perf.model.syntax import names_read
from tflint_perf.model.trace_time import TraceTime
from tflint_perf.model.tracing import Tracing
from tflint_perf.model.training_steps import TrainingSteps
from tflint_perf.model.values import Value
from tflint_perf.model.walk import Walk
from tflint_perf.model.writes import Writes


class Model:
    """A module and what is known of it.

    The walk runs at once; everything else is worked out when a rule first asks. `text` is the module's source.
    """

    def __init__(self, module: cst.Module, text: str) -> None:
        self.module = module
        self.text = text
        self.walk = Walk(module)
        self.names = Names(self.walk)
        self.infer = Inference(self.walk, self.names)
        # The first question about a parameter has the calls looked through; most files never get one.
        self.infer.arguments_of = lambda function, name: self.calls.arguments(function, name)

    @cached_property
    def calls(self) -> CallGraph:
        """Who calls whom."""
        return CallGraph(self.infer)

    @cached_property
    def compiled(self) -> Compiled:
        """What is compiled, and what surely runs in eager mode."""
        return Compiled(self.infer, self.calls)

    @cached_property
    def loops(self) -> Loops:
        """Kinds of loops, and what runs per step."""
        return Loops(self.infer, self.calls, self.compiled)

    @cached_property
    def guards(self) -> Guards:
        """Conditions on counters and flags."""
        return Guards(self.infer, self.calls, self.loops)

    @cached_property
    def steps(self) -> GradientSteps:
        """Gradient steps."""
        return GradientSteps(self.infer, self.calls)

    @cached_property
    def containers(self) -> Containers:
        """Lists and dicts that grow in loops."""
        return Containers(self.infer, self.calls, self.loops)

    @cached_property
    def kept(self) -> Kept:
        """What becomes of what containers keep."""
        return Kept(self.infer, self.calls, self.containers)

    @cached_property
    def scalars(self) -> Scalars:
        """Which tensors are scalars."""
        return Scalars(self.infer, self.calls)

    @cached_property
    def devices(self) -> Devices:
        """What the file says about GPUs."""
        return Devices(self)

    @cached_property
    def programs(self) -> Programs:
        """What running the file does."""
        return Programs(self)

    @cached_property
    def numbers(self) -> Numbers:
        """Python numbers, and which of them change."""
        return Numbers(self.infer, self.calls, self.compiled, self.loops, self.invariance)

    @cached_property
    def feeds(self) -> Feeds:
        """Where values go."""
        return Feeds(self.infer, self.calls, self.loops)

    @cached_property
    def slicing(self) -> Slicing:
        """Loops that cut whole arrays into batches."""
        return Slicing(self.infer, self.calls, self.invariance)

    @cached_property
    def parameters(self) -> Parameters:
        """What functions do with their parameters."""
        return Parameters(self.infer, self.calls)

    @cached_property
    def pipelines(self) -> Pipelines:
        """Where datasets are consumed."""
        return Pipelines(self)

    @cached_property
    def batching(self) -> Batching:
        """Whether datasets come in batches."""
        return Batching(self.infer, self.calls)

    @cached_property
    def successors(self) -> Successors:
        """What comes behind a stage of a pipeline."""
        return Successors(self)

    @cached_property
    def growth(self) -> Growth:
        """Which stages of pipelines make elements larger."""
        return Growth(self.infer, self.calls)

    @cached_property
    def augmentations(self) -> Augmentations:
        """Which stages of pipelines draw random numbers."""
        return Augmentations(self.infer, self.calls)

    @cached_property
    def late_shuffles(self) -> LateShuffles:
        """Shuffles of what is large."""
        return LateShuffles(self)

    @cached_property
    def late_caches(self) -> LateCaches:
        """Caches of what should be made anew."""
        return LateCaches(self)

    @cached_property
    def plain_numpy(self) -> PlainNumpy:
        """Python code that TensorFlow's ops can do."""
        return PlainNumpy(self.infer, self.calls)

    @cached_property
    def invariance(self) -> Invariance:
        """What changes from one iteration of a loop to the next."""
        return Invariance(self.infer, self.calls)

    @cached_property
    def once(self) -> Once:
        """What a step loop reaches but runs once, or seldom."""
        return Once(self.infer, self.calls, self.loops)

    @cached_property
    def restarts(self) -> Restarts:
        """Where a pipeline is started for one element."""
        return Restarts(self.infer, self.calls, self.loops, self.invariance)

    @cached_property
    def sessions(self) -> Sessions:
        """Loops that run a session, and what they add to its graph."""
        return Sessions(self.infer, self.calls, self.compiled, self.loops, self.once)

    @cached_property
    def shapes(self) -> Shapes:
        """Batches of varying shape."""
        return Shapes(self.infer, self.calls, self.loops)

    @cached_property
    def tracing(self) -> Tracing:
        """What stands in the way of compiling eager code."""
        return Tracing(self.infer, self.calls, self.compiled)

    @cached_property
    def symbolic(self) -> Symbolic:
        """What is surely traced, and which values in it are tensors of the graph."""
        return Symbolic(self.infer, self.calls, self.compiled)

    @cached_property
    def trace_time(self) -> TraceTime:
        """What compiled code asks of Python."""
        return TraceTime(self.infer, self.symbolic, self.once)

    @cached_property
    def left_on(self) -> LeftOn:
        """Switches that are thrown for good."""
        return LeftOn(self.infer, self.calls)

    @cached_property
    def precision(self) -> Precision:
        """What the file says of the precision it computes in."""
        return Precision(self.infer, self.text)

    @cached_property
    def training_steps(self) -> TrainingSteps:
        """What runs in each training step."""
        return TrainingSteps(self.walk, self.calls, self.loops, self.steps)

    @cached_property
    def writes(self) -> Writes:
        """What is written to disk in training."""
        return Writes(self)

    def release(self) -> None:
        """Let go of the tree at once. What refers to itself would wait for the garbage collector."""
        self.walk.release()
        for part in list(self.__dict__.values()):
            if hasattr(part, "__dict__"):
                part.__dict__.clear()
        self.__dict__.clear()

    # What rules ask most

    def calls_named(self, *names: str) -> list[cst.Call]:
        """Calls whose callee ends in one of `names`, in the order of the text."""
        return [call for name in names for call in self.walk.calls.get(name, ())]

    def calls_to(self, *qualified: str) -> list[cst.Call]:
        """Calls to functions known by their qualified names, however they were imported."""
        found = []
        for name in qualified:
            last = name.rsplit(".", 1)[-1]
            # An alias may hide the last part of the name.
            lists = [self.walk.calls.get(last, [])] + [
                self.walk.calls.get(alias, []) for alias in self._aliases.get(name, ()) if alias != last
            ]
            found += [call for calls in lists for call in calls if self.names.qualified(call.func) == name]
        return found

    @cached_property
    def _aliases(self) -> dict[str, set[str]]:
        """Qualified names by the module-wide short names that stand for them."""
        from tflint_perf.model.names import canonical

        aliases: dict[str, set[str]] = {}
        for scope in self.walk.scopes.values():
            for bound, bindings in scope.bindings.items():
                for binding in bindings:
                    if binding.imported:
                        aliases.setdefault(canonical(binding.imported), set()).add(bound)
                    elif binding.kind == "assign" and isinstance(binding.value, cst.Attribute | cst.Name):
                        name = self.names.qualified(binding.value)
                        if name:
                            aliases.setdefault(name, set()).add(bound)
        return aliases

    @cached_property
    def compiled_calls(self) -> list[cst.Call]:
        """Calls of functions that are a `tf.function`."""
        if (
            not {"function", "defun"} & {*self.walk.names, *self.walk.attributes}
            and "tf.function" not in self._aliases
        ):
            return []
        return [
            call
            for calls in self.walk.calls.values()
            for call in calls
            if call.args and not self.names.dotted(call.func) and self.value(call.func).kind == "compiled"
        ]

    def value(self, node: cst.CSTNode) -> Value:
        """What is known of the value of an expression."""
        return self.infer.value(node)

    def qualified(self, node: cst.CSTNode) -> str:
        """The qualified name of an imported thing; "" for anything else."""
        return self.names.qualified(node)

    def function_at(self, node: cst.CSTNode) -> Function | None:
        """The function whose body holds `node`."""
        return self.calls.function_at(node)

    def is_compiled(self, node: cst.CSTNode) -> bool:
        """Whether `node` is compiled code."""
        return self.compiled.is_compiled(node)

    def is_eager(self, node: cst.CSTNode) -> bool:
        """Whether `node` surely runs in eager mode."""
        return self.compiled.is_eager(node)

    def is_per_step(self, node: cst.CSTNode) -> bool:
        """Whether `node` runs per step."""
        return self.loops.is_per_step(node)

    def guard_of(self, node: cst.CSTNode) -> Guard | None:
        """The guard in front of `node`."""
        return self.guards.guard_of(node)

    def statement_of(self, node: cst.CSTNode) -> cst.CSTNode:
        """The statement that holds `node`: a small statement or a compound one."""
        current = node
        while current not in self.walk.at:
            current = self.walk.parents[current]
        return current

    def import_used_only_by(self, node: cst.CSTNode) -> cst.Import | None:
        """The module's `import x` whose name nothing but `node` uses, and that imports nothing else."""
        name = next((below.value for below in names_read(node)), "")
        bindings = self.walk.top.bindings.get(name, [])
        if len(bindings) != 1 or bindings[0].kind != "import" or len(self.walk.names.get(name, ())) != 1:
            return None
        statement = self._statement_of_import(bindings[0].node)
        return statement if isinstance(statement, cst.Import) and len(statement.names) == 1 else None

    def _statement_of_import(self, alias: cst.CSTNode) -> cst.CSTNode | None:
        """The import statement that an alias belongs to."""
        return next(
            (
                statement
                for statement in self.walk.at
                if isinstance(statement, cst.Import | cst.ImportFrom)
                and not isinstance(statement.names, cst.ImportStar)
                and alias in statement.names
            ),
            None,
        )

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The node of code around `node`."""
        return self.walk.parents.get(node)


__all__ = ["Addition", "Class", "Function", "GradientStep", "Guard", "Loop", "Model", "Value"]
