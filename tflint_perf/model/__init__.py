"""What one pass over a libcst tree learns about a TensorFlow script, and the questions that rules ask."""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

import libcst as cst

from tflint_perf.model.infer import Inference
from tflint_perf.model.names import Names
from tflint_perf.model.outside import NOTHING, Outside
from tflint_perf.model.scopes import Class, Function, Loop
from tflint_perf.model.syntax import names_read
from tflint_perf.model.walk import Walk

if TYPE_CHECKING:
    from tflint_perf.model.augmentations import Augmentations
    from tflint_perf.model.batching import Batching
    from tflint_perf.model.calls import CallGraph
    from tflint_perf.model.compiled import Compiled
    from tflint_perf.model.containers import Containers
    from tflint_perf.model.counters import Counters
    from tflint_perf.model.crossing import Crossings
    from tflint_perf.model.device_setup import DeviceSetup
    from tflint_perf.model.devices import Devices
    from tflint_perf.model.doubles import Doubles
    from tflint_perf.model.each_step import EachStep
    from tflint_perf.model.feeds import Feeds
    from tflint_perf.model.file_reads import FileReads
    from tflint_perf.model.forward_passes import ForwardPasses
    from tflint_perf.model.gradient_sums import GradientSums
    from tflint_perf.model.growth import Growth
    from tflint_perf.model.guards import Guard, Guards
    from tflint_perf.model.host_batches import HostBatches
    from tflint_perf.model.host_values import HostValues
    from tflint_perf.model.in_place import InPlace
    from tflint_perf.model.invariance import Invariance
    from tflint_perf.model.iterations import Iterations
    from tflint_perf.model.kept import Kept
    from tflint_perf.model.late_caches import LateCaches
    from tflint_perf.model.late_shuffles import LateShuffles
    from tflint_perf.model.left_on import LeftOn
    from tflint_perf.model.loops import Loops
    from tflint_perf.model.making import Making
    from tflint_perf.model.materialized import Materializations
    from tflint_perf.model.on_device import OnDevice
    from tflint_perf.model.once import Once
    from tflint_perf.model.op_loops import OpLoops
    from tflint_perf.model.parallelism import Parallelism
    from tflint_perf.model.parameters import Parameters
    from tflint_perf.model.passing import Passing
    from tflint_perf.model.pipelines import Pipelines
    from tflint_perf.model.plain_numpy import PlainNumpy
    from tflint_perf.model.precision import Precision
    from tflint_perf.model.programs import Programs
    from tflint_perf.model.python_numbers import Numbers
    from tflint_perf.model.python_stages import PythonStages
    from tflint_perf.model.rebuilt import Rebuilt
    from tflint_perf.model.restarts import Restarts
    from tflint_perf.model.rows import Rows
    from tflint_perf.model.scalars import Scalars
    from tflint_perf.model.sessions import Sessions
    from tflint_perf.model.shapes import Shapes
    from tflint_perf.model.slicing import Slicing
    from tflint_perf.model.staging import Staging
    from tflint_perf.model.stateful import Statefulness
    from tflint_perf.model.steps import GradientSteps
    from tflint_perf.model.successors import Successors
    from tflint_perf.model.symbolic import Symbolic
    from tflint_perf.model.syncs import Syncs
    from tflint_perf.model.tapes import Tapes
    from tflint_perf.model.trace_time import TraceTime
    from tflint_perf.model.tracing import Tracing
    from tflint_perf.model.training_steps import TrainingSteps
    from tflint_perf.model.trials import Trials
    from tflint_perf.model.values import Value
    from tflint_perf.model.varying import Varying
    from tflint_perf.model.versions import Versions
    from tflint_perf.model.weight_copies import WeightCopies
    from tflint_perf.model.writes import Writes


def part(path: str, *needs: str) -> Any:
    """A part of a model, made of the parts that it needs, or of the model itself, when somebody first asks.

    `path` names its class, "calls.CallGraph": what no rule asks about a file is not even imported.
    """

    def make(model: Model) -> Any:
        module, _, name = path.partition(".")
        kind = getattr(import_module(f"tflint_perf.model.{module}"), name)
        return kind(*(getattr(model, need) for need in needs)) if needs else kind(model)

    return cached_property(make)


class Model:
    """A module and what is known of it.

    The walk runs at once; everything else is worked out when a rule first asks. `text` is the module's source,
    `outside` what is known of other files.
    """

    def __init__(self, module: cst.Module, text: str, outside: Outside = NOTHING) -> None:
        self.module = module
        self.text = text
        self.walk = Walk(module)
        self.names = Names(self.walk)
        self.infer = Inference(self.walk, self.names, outside)
        # The first question about a parameter has the calls looked through; most files never get one.
        self.infer.arguments_of = lambda function, name: self.calls.arguments(function, name)

    def with_callers(self, outside: Outside) -> Model:
        """The same module, with other callers in other files, which say the same about everything else."""
        other = Model.__new__(Model)
        other.module, other.text, other.walk, other.names = self.module, self.text, self.walk, self.names
        # Values are the same whoever calls.
        other.infer, other.calls = self.infer, self.calls.with_callers(outside)
        return other

    calls: CallGraph = part("calls.CallGraph", "infer")  # who calls whom
    compiled: Compiled = part(
        "compiled.Compiled", "infer", "calls"
    )  # what is compiled, and what surely runs in eager mode
    loops: Loops = part("loops.Loops", "infer", "calls", "compiled")  # kinds of loops, and what runs per step
    guards: Guards = part("guards.Guards", "infer", "calls", "loops")  # conditions on counters and flags
    steps: GradientSteps = part("steps.GradientSteps", "infer", "calls")  # gradient steps
    containers: Containers = part(
        "containers.Containers", "infer", "calls", "loops"
    )  # lists and dicts that grow in loops
    kept: Kept = part("kept.Kept", "infer", "calls", "containers")  # what becomes of what containers keep
    scalars: Scalars = part("scalars.Scalars", "infer", "calls")  # which tensors are scalars
    devices: Devices = part("devices.Devices")  # what the file says about GPUs
    programs: Programs = part("programs.Programs")  # what running the file does
    # Python numbers, and which of them change.
    numbers: Numbers = part("python_numbers.Numbers", "infer", "calls", "compiled", "loops", "invariance")
    feeds: Feeds = part("feeds.Feeds", "infer", "calls", "loops", "steps")  # where values go
    slicing: Slicing = part(
        "slicing.Slicing", "infer", "calls", "invariance"
    )  # loops that cut whole arrays into batches
    parameters: Parameters = part(
        "parameters.Parameters", "infer", "calls"
    )  # what functions do with their parameters
    pipelines: Pipelines = part("pipelines.Pipelines")  # where datasets are consumed
    batching: Batching = part("batching.Batching", "infer", "calls")  # whether datasets come in batches
    # What functions given to pipelines keep between calls.
    statefulness: Statefulness = part("stateful.Statefulness", "infer", "calls")
    parallelism: Parallelism = part(
        "parallelism.Parallelism"
    )  # what pipelines do in parallel, and where they read several files
    rebuilt: Rebuilt = part("rebuilt.Rebuilt")  # datasets that a loop builds again and again
    successors: Successors = part("successors.Successors")  # what comes behind a stage of a pipeline
    growth: Growth = part(
        "growth.Growth", "infer", "calls", "iterations"
    )  # which stages of pipelines make elements larger
    augmentations: Augmentations = part(
        "augmentations.Augmentations", "infer", "calls"
    )  # which stages of pipelines draw random numbers
    late_shuffles: LateShuffles = part("late_shuffles.LateShuffles")  # shuffles of what is large
    late_caches: LateCaches = part("late_caches.LateCaches")  # caches of what should be made anew
    plain_numpy: PlainNumpy = part(
        "plain_numpy.PlainNumpy", "infer", "calls"
    )  # Python code that TensorFlow's ops can do
    python_stages: PythonStages = part("python_stages.PythonStages")  # stages of pipelines that run Python
    materializations: Materializations = part(
        "materialized.Materializations"
    )  # what takes whole datasets into memory
    doubles: Doubles = part("doubles.Doubles")  # arrays in double precision that feed models
    invariance: Invariance = part(
        "invariance.Invariance", "infer", "calls"
    )  # what changes from one iteration of a loop to the next
    once: Once = part(
        "once.Once", "infer", "calls", "loops"
    )  # what a step loop reaches but runs once, or seldom
    # Where a pipeline is started for one element.
    restarts: Restarts = part("restarts.Restarts", "infer", "calls", "loops", "invariance")
    # Loops that run a session, and what they add to its graph.
    sessions: Sessions = part("sessions.Sessions", "infer", "calls", "compiled", "loops", "once")
    on_device: OnDevice = part("on_device.OnDevice", "infer", "calls")  # which tensors the device made
    # What becomes of values on the host.
    host_values: HostValues = part("host_values.HostValues", "infer", "calls", "loops")
    # Copies of a device's tensors to the host.
    syncs: Syncs = part("syncs.Syncs", "infer", "calls", "loops", "guards", "on_device", "host_values")
    counters: Counters = part("counters.Counters", "infer")  # what counts a loop's iterations
    # Weights that go through host arrays.
    weight_copies: WeightCopies = part("weight_copies.WeightCopies", "infer", "each_step")
    each_step: EachStep = part(
        "each_step.EachStep", "infer", "calls", "loops", "guards"
    )  # what each step runs
    file_reads: FileReads = part("file_reads.FileReads", "infer", "calls", "loops")  # files that are read
    in_place: InPlace = part("in_place.InPlace", "infer")  # what may be changed in place
    host_batches: HostBatches = part("host_batches.HostBatches")  # batches that Python makes on the host
    shapes: Shapes = part("shapes.Shapes", "infer", "calls", "loops")  # batches of varying shape
    # Arguments whose shape changes from call to call.
    varying: Varying = part("varying.Varying", "infer", "calls", "loops", "invariance")
    versions: Versions = part("versions.Versions", "walk", "names")  # for which version the file is written
    gradient_sums: GradientSums = part(
        "gradient_sums.GradientSums", "infer", "calls"
    )  # lists to which gradients are added
    trials: Trials = part(
        "trials.Trials", "infer", "calls", "compiled", "loops"
    )  # models that are built and trained in loops
    device_setup: DeviceSetup = part(
        "device_setup.DeviceSetup", "infer", "calls"
    )  # what has TensorFlow set up its devices
    tapes: Tapes = part("tapes.Tapes", "infer", "calls")  # gradient tapes, and what is asked of them
    # What stands in the way of compiling eager code.
    tracing: Tracing = part("tracing.Tracing", "infer", "calls", "compiled", "passing")
    passing: Passing = part(
        "passing.Passing", "infer", "calls"
    )  # what stands against giving values to compiled code
    forward_passes: ForwardPasses = part(
        "forward_passes.ForwardPasses"
    )  # models that run in eager mode outside gradient steps
    # What crosses the borders of stretches of statements.
    crossings: Crossings = part("crossing.Crossings", "infer", "passing", "numbers", "invariance")
    # What is surely traced, and which values in it are tensors of the graph.
    symbolic: Symbolic = part("symbolic.Symbolic", "infer", "calls", "compiled", "text")
    # Objects that are made again and again.
    making: Making = part("making.Making", "infer", "calls", "loops", "invariance", "symbolic")
    trace_time: TraceTime = part(
        "trace_time.TraceTime", "infer", "symbolic", "once"
    )  # what compiled code asks of Python
    left_on: LeftOn = part("left_on.LeftOn", "infer", "calls")  # switches that are thrown for good
    precision: Precision = part(
        "precision.Precision", "infer", "text"
    )  # what the file says of the precision it computes in
    # What runs in each training step.
    training_steps: TrainingSteps = part("training_steps.TrainingSteps", "infer", "calls", "loops", "steps")
    writes: Writes = part("writes.Writes")  # what is written to disk in training
    iterations: Iterations = part("iterations.Iterations", "infer", "calls")  # how often loops run
    # Loops made of ops.
    op_loops: OpLoops = part(
        "op_loops.OpLoops", "infer", "calls", "compiled", "loops", "invariance", "iterations"
    )
    # Loops over the rows of tensors.
    rows: Rows = part("rows.Rows", "infer", "compiled", "loops", "iterations", "op_loops")
    # What stands against loops in the graph.
    staging: Staging = part(
        "staging.Staging", "infer", "calls", "compiled", "tracing", "scalars", "iterations", "op_loops"
    )

    def release(self) -> None:
        """Let go of the tree at once. What refers to itself would wait for the garbage collector."""
        self.walk.release()
        self.infer.__dict__.clear()
        self.forget()

    def forget(self) -> None:
        """Let go of what was worked out, and leave the tree and its values to the model that this one was made from."""
        shared = (self.module, self.walk, self.names, self.infer)
        for known in list(self.__dict__.values()):
            if hasattr(known, "__dict__") and all(known is not other for other in shared):
                known.__dict__.clear()
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


__all__ = ["Class", "Function", "Loop", "Model"]
