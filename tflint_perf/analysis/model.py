"""What one pass over a libcst tree learns about a TensorFlow script, and the questions that rules ask."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import libcst as cst

from tflint_perf.analysis.apis.facts import named
from tflint_perf.analysis.python.names import Names
from tflint_perf.analysis.python.scopes import Class, Function, Loop
from tflint_perf.analysis.python.syntax import names_read
from tflint_perf.analysis.python.walk import Walk
from tflint_perf.analysis.values.by_use import ByUse
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.outside import NOTHING, Outside

# They are given names as text, or all names that there are.
_SEES_NAMES = re.compile(r"\b(?:eval|exec|globals|locals|vars|getattr|__dict__)\b")

if TYPE_CHECKING:
    from tflint_perf.analysis.execution.compiled import Compiled
    from tflint_perf.analysis.execution.counters import Counters
    from tflint_perf.analysis.execution.decided import Decided
    from tflint_perf.analysis.execution.each_step import EachStep
    from tflint_perf.analysis.execution.eager_steps import EagerSteps
    from tflint_perf.analysis.execution.functional_models import FunctionalModels
    from tflint_perf.analysis.execution.given_models import GivenModels
    from tflint_perf.analysis.execution.guard_conditions import Guard
    from tflint_perf.analysis.execution.guards import Guards
    from tflint_perf.analysis.execution.invariance import Invariance
    from tflint_perf.analysis.execution.iterations import Iterations
    from tflint_perf.analysis.execution.left_on import LeftOn
    from tflint_perf.analysis.execution.lifetimes import Lifetimes
    from tflint_perf.analysis.execution.loops import Loops
    from tflint_perf.analysis.execution.once import Once, Seldom
    from tflint_perf.analysis.execution.op_loops import OpLoops
    from tflint_perf.analysis.execution.pauses import Pauses
    from tflint_perf.analysis.execution.python_numbers import Numbers
    from tflint_perf.analysis.execution.step_loop_paths import StepLoopPaths
    from tflint_perf.analysis.execution.steps import GradientSteps
    from tflint_perf.analysis.execution.symbolic import Symbolic
    from tflint_perf.analysis.execution.tapes import Tapes
    from tflint_perf.analysis.pipelines.batch_makers import BatchMakers
    from tflint_perf.analysis.pipelines.batching import Batching
    from tflint_perf.analysis.pipelines.dataset_parameters import DatasetParameters
    from tflint_perf.analysis.pipelines.distributed import Distributed
    from tflint_perf.analysis.pipelines.draws import Draws
    from tflint_perf.analysis.pipelines.element_uses import ElementUses
    from tflint_perf.analysis.pipelines.exported_datasets import ExportedDatasets
    from tflint_perf.analysis.pipelines.graph_inputs import GraphInputs
    from tflint_perf.analysis.pipelines.growth import Growth
    from tflint_perf.analysis.pipelines.host_batches import BatchLoops, HostBatches, MadeForFit
    from tflint_perf.analysis.pipelines.late_shuffles import LateShuffles
    from tflint_perf.analysis.pipelines.open_shapes import OpenShapes
    from tflint_perf.analysis.pipelines.parallelism import Parallelism
    from tflint_perf.analysis.pipelines.pipelines import Pipelines
    from tflint_perf.analysis.pipelines.rebuilt import Rebuilt
    from tflint_perf.analysis.pipelines.stages import Stages
    from tflint_perf.analysis.pipelines.stateful import Statefulness
    from tflint_perf.analysis.pipelines.successors import Successors
    from tflint_perf.analysis.rewriting.in_place import InPlace
    from tflint_perf.analysis.rewriting.parameters import Parameters
    from tflint_perf.analysis.rewriting.passing import Passing
    from tflint_perf.analysis.rewriting.rewriting import Rewriting
    from tflint_perf.analysis.rewriting.tracing import Tracing
    from tflint_perf.analysis.training.devices import Devices
    from tflint_perf.analysis.training.feeds import Feeds
    from tflint_perf.analysis.training.file_reads import FileReads
    from tflint_perf.analysis.training.host_values import HostValues
    from tflint_perf.analysis.training.on_device import OnDevice
    from tflint_perf.analysis.training.parts_of_steps import PartsOfSteps
    from tflint_perf.analysis.training.programs import Programs
    from tflint_perf.analysis.training.sessions import Sessions
    from tflint_perf.analysis.training.single_passes import SinglePasses
    from tflint_perf.analysis.training.total_runs import Totals
    from tflint_perf.analysis.training.train_calls import TrainCalls
    from tflint_perf.analysis.training.training_steps import TrainingSteps
    from tflint_perf.analysis.values.calls import CallGraph
    from tflint_perf.analysis.values.library_calls import LibraryCalls
    from tflint_perf.analysis.values.scalars import Scalars
    from tflint_perf.analysis.values.values import Value
    from tflint_perf.analysis.values.versions import Versions


_Part = TypeVar("_Part")

# The parts that ask nothing about callers in other files: what they find out holds whoever calls.
SAME_FOR_ALL_CALLERS = (
    "steps", "scalars", "batching", "iterations", "growth", "on_device", "invariance",
    "statefulness", "counters", "in_place", "versions", "stages",
    "tapes", "left_on", "library_calls",
)  # fmt: skip


def part(path: str) -> Any:
    """A part of a model, made of the parts that its class needs when somebody first asks.

    `path` names its class, "calls.CallGraph": what no rule asks about a file is not even imported. Making a part makes
    those that it needs, so it works nothing out before it is asked, not even who calls whom.
    """

    def make(model: Model) -> Any:
        module, _, name = path.rpartition(".")
        kind = getattr(import_module(f"tflint_perf.analysis.{module}"), name)
        return kind(*(getattr(model, need) for need in kind.needs))

    return cached_property(make)


class Parts:
    """What is known of a module besides its walk, its names and its values, worked out when a rule first asks."""

    # Calls of libraries, by what these functions are.
    library_calls: LibraryCalls = part("values.library_calls.LibraryCalls")
    # Who calls whom.
    calls: CallGraph = part("values.calls.CallGraph")
    # What is compiled, and what surely runs in eager mode.
    compiled: Compiled = part("execution.compiled.Compiled")
    # Models that other files give.
    given_models: GivenModels = part("execution.given_models.GivenModels")
    # Functional models of Keras that are put together.
    functional_models: FunctionalModels = part("execution.functional_models.FunctionalModels")
    # Kinds of loops, and what runs per step.
    loops: Loops = part("execution.loops.Loops")
    # Conditions on counters and flags.
    guards: Guards = part("execution.guards.Guards")
    # Gradient steps.
    steps: GradientSteps = part("execution.steps.GradientSteps")
    # Which tensors are scalars.
    scalars: Scalars = part("values.scalars.Scalars")
    # Conditions that constants decide.
    decided: Decided = part("execution.decided.Decided")
    # What the file says about GPUs.
    devices: Devices = part("training.devices.Devices")
    # What single calls have to do with training.
    train_calls: TrainCalls = part("training.train_calls.TrainCalls")
    # What running the file does.
    programs: Programs = part("training.programs.Programs")
    # Python numbers, and which of them change.
    numbers: Numbers = part("execution.python_numbers.Numbers")
    # Where values go.
    feeds: Feeds = part("training.feeds.Feeds")
    # What a rewrite may change.
    rewriting: Rewriting = part("rewriting.rewriting.Rewriting")
    # What functions do with their parameters.
    parameters: Parameters = part("rewriting.parameters.Parameters")
    # What stands around a stage of a pipeline.
    stages: Stages = part("pipelines.stages.Stages")
    # What becomes of the elements of datasets.
    element_uses: ElementUses = part("pipelines.element_uses.ElementUses")
    # Where datasets are consumed.
    pipelines: Pipelines = part("pipelines.pipelines.Pipelines")
    # Elements that are drawn one by one.
    draws: Draws = part("pipelines.draws.Draws")
    # Datasets that a strategy has distributed.
    distributed: Distributed = part("pipelines.distributed.Distributed")
    # Datasets that other files get.
    exported_datasets: ExportedDatasets = part("pipelines.exported_datasets.ExportedDatasets")
    # What graphs and estimators take elements from.
    graph_inputs: GraphInputs = part("pipelines.graph_inputs.GraphInputs")
    # Parameters whose elements are taken into steps.
    dataset_parameters: DatasetParameters = part("pipelines.dataset_parameters.DatasetParameters")
    # Whether datasets come in batches.
    batching: Batching = part("pipelines.batching.Batching")
    # Whether a graph knows the shapes of a dataset's elements.
    open_shapes: OpenShapes = part("pipelines.open_shapes.OpenShapes")
    # What functions given to pipelines keep between calls.
    statefulness: Statefulness = part("pipelines.stateful.Statefulness")
    # What pipelines do in parallel, and where they read several files.
    parallelism: Parallelism = part("pipelines.parallelism.Parallelism")
    # Datasets that a loop builds again and again.
    rebuilt: Rebuilt = part("pipelines.rebuilt.Rebuilt")
    # What comes behind a stage of a pipeline.
    successors: Successors = part("pipelines.successors.Successors")
    # Which stages of pipelines make elements larger.
    growth: Growth = part("pipelines.growth.Growth")
    # Shuffles of what is large.
    late_shuffles: LateShuffles = part("pipelines.late_shuffles.LateShuffles")
    # What changes from one iteration of a loop to the next.
    invariance: Invariance = part("execution.invariance.Invariance")
    # Which objects end with the iteration that makes them.
    lifetimes: Lifetimes = part("execution.lifetimes.Lifetimes")
    # What a step loop reaches but runs once, or seldom.
    once: Once = part("execution.once.Once")
    # What it reaches but seldom runs, for whatever reason.
    seldom: Seldom = part("execution.once.Seldom")
    # Loops that run a session, and what they add to its graph.
    sessions: Sessions = part("training.sessions.Sessions")
    # Which tensors the device made.
    on_device: OnDevice = part("training.on_device.OnDevice")
    # What becomes of values on the host.
    host_values: HostValues = part("training.host_values.HostValues")
    # What counts a loop's iterations.
    counters: Counters = part("execution.counters.Counters")
    # What each step runs.
    each_step: EachStep = part("execution.each_step.EachStep")
    # Why code runs on each step.
    step_loop_paths: StepLoopPaths = part("execution.step_loop_paths.StepLoopPaths")
    # What eager code runs per step, and compiled code, too.
    eager_steps: EagerSteps = part("execution.eager_steps.EagerSteps")
    # Pauses between steps.
    pauses: Pauses = part("execution.pauses.Pauses")
    # Files that are read.
    file_reads: FileReads = part("training.file_reads.FileReads")
    # What may be changed in place.
    in_place: InPlace = part("rewriting.in_place.InPlace")
    # What makes batches on the host, and how.
    batch_makers: BatchMakers = part("pipelines.batch_makers.BatchMakers")
    # Loops that take a batch on each of their steps.
    batch_loops: BatchLoops = part("pipelines.host_batches.BatchLoops")
    # Batches that Python makes for `fit`.
    made_for_fit: MadeForFit = part("pipelines.host_batches.MadeForFit")
    # Batches that Python makes on the host.
    host_batches: HostBatches = part("pipelines.host_batches.HostBatches")
    # For which version the file is written.
    versions: Versions = part("values.versions.Versions")
    # Gradient tapes, and what is asked of them.
    tapes: Tapes = part("execution.tapes.Tapes")
    # What stands in the way of compiling eager code.
    tracing: Tracing = part("rewriting.tracing.Tracing")
    # What stands against giving values to compiled code.
    passing: Passing = part("rewriting.passing.Passing")
    # What belongs to gradient steps.
    parts_of_steps: PartsOfSteps = part("training.parts_of_steps.PartsOfSteps")
    # What is surely traced, and which values in it are tensors of the graph.
    symbolic: Symbolic = part("execution.symbolic.Symbolic")
    # Switches that are thrown for good.
    left_on: LeftOn = part("execution.left_on.LeftOn")
    # What runs in each training step.
    training_steps: TrainingSteps = part("training.training_steps.TrainingSteps")
    # What runs in loops beside training that a program goes through once.
    single_passes: SinglePasses = part("training.single_passes.SinglePasses")
    # How often loops run.
    iterations: Iterations = part("execution.iterations.Iterations")
    # How often a program runs code in all.
    totals: Totals = part("training.total_runs.Totals")
    # Loops made of ops.
    op_loops: OpLoops = part("execution.op_loops.OpLoops")


class Model(Parts):
    """A module and what is known of it.

    The walk runs at once; everything else is worked out when a rule first asks. `text` is the module's source,
    `outside` what is known of other files, `row` gives the rows of calls, loops and functions, as far as they are known,
    and `form` says whether it is a "script", a "loose script", which no import can name, a "hosted notebook", which Colab or
    Kaggle runs, an "own notebook", which they do not, or a "notebook", of which nothing is known.
    """

    def __init__(
        self,
        module: cst.Module,
        text: str,
        outside: Outside = NOTHING,
        row: Callable[[cst.CSTNode], int | None] = lambda node: None,
        form: str = "script",
    ) -> None:
        self.module = module
        self.text = text
        self.row = row
        self.form = form
        self.walk = Walk(module)
        self.names = Names(self.walk)
        self.infer = Inference(self.walk, self.names, outside)
        # What rules find out for themselves, and the parts that another model lent to this one.
        self._own: dict[type, object] = {}
        self.lent: tuple[object, ...] = ()
        self.infer.by_use = ByUse(self.infer)
        # The first question about a parameter has the calls looked through; most files never get one.
        self.infer.arguments_of = lambda function, name: self.calls.arguments(function, name)

    def with_callers(self, outside: Outside) -> Model:
        """The same module, with other callers in other files, which say the same about everything else."""
        other = Model.__new__(Model)
        other.module, other.text, other.walk, other.names = self.module, self.text, self.walk, self.names
        other.row, other.form = self.row, self.form
        # Values are the same whoever calls.
        other.infer, other.calls = self.infer, self.calls.with_callers(outside)
        lent = {name: self.__dict__[name] for name in SAME_FOR_ALL_CALLERS if name in self.__dict__}
        other.__dict__.update(lent)
        other._own = {
            kind: part for kind, part in self._own.items() if getattr(kind, "same_for_all_callers", False)
        }
        other.lent = (*lent.values(), *other._own.values())
        return other

    def release(self) -> None:
        """Let go of the tree at once. What refers to itself would wait for the garbage collector."""
        self.walk.release()
        self.infer.release()
        self.forget()

    def forget(self) -> None:
        """Let go of what was worked out, and leave the tree and its values to the model that this one was made from."""
        shared = (self.module, self.walk, self.names, self.infer, *self.lent)
        for known in [*self.__dict__.values(), *self._own.values()]:
            if hasattr(known, "__dict__") and all(known is not other for other in shared):
                known.__dict__.clear()
        self.__dict__.clear()

    def own(self, kind: type[_Part]) -> _Part:
        """What a rule finds out for itself and asks again: one of a kind for each model, made when first asked for.

        `kind.needs` names the parts of the model that it is made of, or other such kinds.
        `kind.same_for_all_callers` is true where nothing about callers in other files is asked.
        """
        found = self._own.get(kind)
        if found is None:
            needs: tuple[str | type, ...] = kind.needs  # type: ignore[attr-defined]
            given = [getattr(self, need) if isinstance(need, str) else self.own(need) for need in needs]
            found = self._own[kind] = kind(*given)
        assert isinstance(found, kind)
        return found

    # What rules ask most

    def calls_named(self, *names: str) -> list[cst.Call]:
        """The calls of functions or methods named `names`, in the order of the text."""
        return self.walk.calls_named(*names)

    def calls_to(self, *qualified: str) -> list[cst.Call]:
        """The calls of certain functions, by their qualified names and however they are imported."""
        return self.library_calls.to(*qualified)

    def calls_that(self, *words: str) -> list[cst.Call]:
        """The calls of library functions that the API tables mark as `words`: `calls_that("compiles")`."""
        return self.library_calls.that(*words)

    @cached_property
    def compiled_calls(self) -> list[cst.Call]:
        """The calls of functions that are a `tf.function`, here or in another file."""
        makes_some = bool({"function", "defun"} & {*self.walk.names, *self.walk.attributes}) or not named(
            "compiles"
        ).isdisjoint(self.library_calls.aliases)
        if not makes_some and self.infer.outside is NOTHING:
            return []
        called = (
            (call, self.value(call.func)) for calls in self.walk.calls.values() for call in calls if call.args
        )
        return [
            call
            for call, callee in called
            if callee.kind == "compiled"
            and (callee.outside or (makes_some and not self.names.dotted(call.func)))
        ]

    def value(self, node: cst.CSTNode) -> Value:
        """What is known of the value of an expression."""
        return self.infer.value(node)

    def qualified(self, node: cst.CSTNode) -> str:
        """The qualified name of `node`, if it is imported; "" for anything else."""
        return self.names.qualified(node)

    def function_at(self, node: cst.CSTNode) -> Function | None:
        """The function whose body holds `node`."""
        return self.calls.function_at(node)

    def is_compiled(self, node: cst.CSTNode) -> bool:
        """Whether `node` is known to run in compiled code."""
        return self.compiled.is_compiled(node)

    def is_eager(self, node: cst.CSTNode) -> bool:
        """Whether `node` is known to run in eager mode."""
        return self.compiled.is_eager(node)

    def is_per_step(self, node: cst.CSTNode) -> bool:
        """Whether `node` runs per step."""
        return self.loops.is_per_step(node)

    def guard_of(self, node: cst.CSTNode) -> Guard | None:
        """The guard that `node` runs under."""
        return self.guards.guard_of(node)

    def statement_of(self, node: cst.CSTNode) -> cst.CSTNode:
        """The statement that holds `node`: a small statement or a compound one."""
        return self.walk.statement_of(node)

    def import_used_only_by(self, node: cst.CSTNode) -> cst.Import | None:
        """The module's `import x` whose name nothing but `node` uses, and that imports nothing else.

        What the code says in strings, annotations or `__all__`, and to `eval` and its like, may be a use of it, too.
        """
        name = next((below.value for below in names_read(node)), "")
        code = re.sub(r"#.*", "", self.text)
        if not name or len(re.findall(rf"\b{name}\b", code)) > 2 or self.sees_names():
            return None
        bindings = self.walk.top.bindings.get(name, [])
        if len(bindings) != 1 or bindings[0].kind != "import" or len(self.walk.names.get(name, ())) != 1:
            return None
        statement = self._statement_of_import(bindings[0].node)
        return statement if isinstance(statement, cst.Import) and len(statement.names) == 1 else None

    def sees_names(self) -> bool:
        """Whether code may read a name that it does not spell: by `eval`, `locals()` and their like."""
        return _SEES_NAMES.search(re.sub(r"#.*", "", self.text)) is not None

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


__all__ = ["Class", "Function", "Loop", "Model"]
