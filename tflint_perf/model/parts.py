"""The parts of a model, a line each: what they know, by which name rules ask for them, and what they are made of."""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tflint_perf.model import Model
    from tflint_perf.model.augmentations import Augmentations
    from tflint_perf.model.batching import Batching
    from tflint_perf.model.beside_gradients import BesideGradients
    from tflint_perf.model.calls import CallGraph
    from tflint_perf.model.compiled import Compiled
    from tflint_perf.model.containers import Containers
    from tflint_perf.model.copying import Copying
    from tflint_perf.model.counters import Counters
    from tflint_perf.model.crossing import Crossings
    from tflint_perf.model.decided import Decided
    from tflint_perf.model.device_setup import DeviceSetup
    from tflint_perf.model.devices import Devices
    from tflint_perf.model.discarded import Discarded
    from tflint_perf.model.distributed import Distributed
    from tflint_perf.model.doubles import Doubles
    from tflint_perf.model.draws import Draws
    from tflint_perf.model.each_step import EachStep
    from tflint_perf.model.eager_steps import EagerSteps
    from tflint_perf.model.feeds import Feeds
    from tflint_perf.model.file_reads import FileReads
    from tflint_perf.model.forward_passes import ForwardPasses
    from tflint_perf.model.given_models import GivenModels
    from tflint_perf.model.gpu_memory import GpuMemory
    from tflint_perf.model.gradient_sums import GradientSums
    from tflint_perf.model.graph_inputs import GraphInputs
    from tflint_perf.model.growth import Growth
    from tflint_perf.model.guards import Guards
    from tflint_perf.model.host_batches import HostBatches
    from tflint_perf.model.host_conversions import HostConversions
    from tflint_perf.model.host_values import HostValues
    from tflint_perf.model.in_place import InPlace
    from tflint_perf.model.invariance import Invariance
    from tflint_perf.model.iterations import Iterations
    from tflint_perf.model.kept import Kept
    from tflint_perf.model.keras_code import KerasCode
    from tflint_perf.model.late_caches import LateCaches
    from tflint_perf.model.late_shuffles import LateShuffles
    from tflint_perf.model.left_on import LeftOn
    from tflint_perf.model.loops import Loops
    from tflint_perf.model.making import Making
    from tflint_perf.model.materialized import Materializations
    from tflint_perf.model.offered import Offered
    from tflint_perf.model.on_device import OnDevice
    from tflint_perf.model.once import Once
    from tflint_perf.model.op_loops import OpLoops
    from tflint_perf.model.other_reads import OtherReads
    from tflint_perf.model.other_uses import OtherUses
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
    from tflint_perf.model.retracing import Retracing
    from tflint_perf.model.rewriting.rewriting import Rewriting
    from tflint_perf.model.rows import Rows
    from tflint_perf.model.scalars import Scalars
    from tflint_perf.model.session_feeds import SessionFeeds
    from tflint_perf.model.sessions import Sessions
    from tflint_perf.model.shapes import Shapes
    from tflint_perf.model.slicing import Slicing
    from tflint_perf.model.staging import Staging
    from tflint_perf.model.stateful import Statefulness
    from tflint_perf.model.steps import GradientSteps
    from tflint_perf.model.successors import Successors
    from tflint_perf.model.symbolic import Symbolic
    from tflint_perf.model.syncs import Syncs
    from tflint_perf.model.taken import Taken
    from tflint_perf.model.tapes import Tapes
    from tflint_perf.model.trace_time import TraceTime
    from tflint_perf.model.tracing import Tracing
    from tflint_perf.model.training_steps import TrainingSteps
    from tflint_perf.model.trials import Trials
    from tflint_perf.model.varying import Varying
    from tflint_perf.model.versions import Versions
    from tflint_perf.model.weight_copies import WeightCopies
    from tflint_perf.model.writes import Writes


# The parts that ask nothing about callers in other files: what they find out holds whoever calls.
SAME_FOR_ALL_CALLERS = (
    "steps", "scalars", "batching", "iterations", "growth", "copying", "on_device", "invariance", "slicing",
    "statefulness", "augmentations", "plain_numpy", "counters", "in_place", "versions", "gradient_sums", "device_setup",
    "tapes", "left_on", "precision", "gpu_memory",
)  # fmt: skip


def part(path: str, *needs: str) -> Any:
    """A part of a model, made of the parts that it needs, or of the model itself, when somebody first asks.

    `path` names its class, "calls.CallGraph": what no rule asks about a file is not even imported.
    """

    def make(model: Model) -> Any:
        module, _, name = path.rpartition(".")
        kind = getattr(import_module(f"tflint_perf.model.{module}"), name)
        return kind(*(getattr(model, need) for need in needs)) if needs else kind(model)

    return cached_property(make)


class Parts:
    """What is known of a module besides its walk, its names and its values, worked out when a rule first asks."""

    # Who calls whom.
    calls: CallGraph = part("calls.CallGraph", "infer")
    # What is compiled, and what surely runs in eager mode.
    compiled: Compiled = part("compiled.Compiled", "infer", "calls")
    # Models that other files give.
    given_models: GivenModels = part("given_models.GivenModels", "infer", "calls")
    # Kinds of loops, and what runs per step.
    loops: Loops = part("loops.Loops", "infer", "calls", "compiled", "given_models")
    # Conditions on counters and flags.
    guards: Guards = part("guards.Guards", "infer", "calls", "loops")
    # Gradient steps.
    steps: GradientSteps = part("steps.GradientSteps", "infer", "calls")
    # Lists and dicts that grow in loops.
    containers: Containers = part("containers.Containers", "infer", "calls", "loops")
    # What becomes of what containers keep.
    kept: Kept = part("kept.Kept", "infer", "calls", "containers")
    # Which tensors are scalars.
    scalars: Scalars = part("scalars.Scalars", "infer", "calls")
    # Conditions that constants decide.
    decided: Decided = part("decided.Decided", "infer", "calls")
    # What the file says about GPUs.
    devices: Devices = part("devices.Devices")
    # Who decides how much memory TensorFlow takes of a GPU.
    gpu_memory: GpuMemory = part("gpu_memory.GpuMemory")
    # What running the file does.
    programs: Programs = part("programs.Programs")
    # Python numbers, and which of them change.
    numbers: Numbers = part("python_numbers.Numbers", "infer", "calls", "compiled", "loops", "invariance")
    # Where values go.
    feeds: Feeds = part("feeds.Feeds", "infer", "calls", "loops", "steps")
    # What a rewrite may change.
    rewriting: Rewriting = part("rewriting.rewriting.Rewriting", "infer", "calls")
    # Loops that cut whole arrays into batches.
    slicing: Slicing = part("slicing.Slicing", "infer", "calls", "invariance")
    # What functions do with their parameters.
    parameters: Parameters = part("parameters.Parameters", "infer", "calls")
    # Where datasets are consumed.
    pipelines: Pipelines = part("pipelines.Pipelines")
    # Elements that are drawn one by one.
    draws: Draws = part("draws.Draws")
    # Datasets that a strategy has distributed.
    distributed: Distributed = part("distributed.Distributed", "infer", "calls")
    # Datasets that other files get.
    offered: Offered = part("offered.Offered")
    # What graphs and estimators take elements from.
    graph_inputs: GraphInputs = part("graph_inputs.GraphInputs")
    # Parameters whose elements are taken into steps.
    taken: Taken = part("taken.Taken")
    # Whether datasets come in batches.
    batching: Batching = part("batching.Batching", "infer", "calls")
    # What functions given to pipelines keep between calls.
    statefulness: Statefulness = part("stateful.Statefulness", "infer", "calls")
    # What pipelines do in parallel, and where they read several files.
    parallelism: Parallelism = part("parallelism.Parallelism")
    # Datasets that a loop builds again and again.
    rebuilt: Rebuilt = part("rebuilt.Rebuilt")
    # What comes behind a stage of a pipeline.
    successors: Successors = part("successors.Successors")
    # Which stages of pipelines make elements larger.
    growth: Growth = part("growth.Growth", "infer", "calls", "iterations")
    # Which stages of pipelines draw random numbers.
    augmentations: Augmentations = part("augmentations.Augmentations", "infer", "calls")
    # Shuffles of what is large.
    late_shuffles: LateShuffles = part("late_shuffles.LateShuffles")
    # Caches of what should be made anew.
    late_caches: LateCaches = part("late_caches.LateCaches")
    # Python code that TensorFlow's ops can do.
    other_reads: OtherReads = part("other_reads.OtherReads")
    plain_numpy: PlainNumpy = part("plain_numpy.PlainNumpy", "infer", "calls")
    # Stages of pipelines that run Python.
    python_stages: PythonStages = part("python_stages.PythonStages")
    # What takes whole datasets into memory.
    materializations: Materializations = part("materialized.Materializations")
    # Arrays in double precision that feed models.
    doubles: Doubles = part("doubles.Doubles")
    # What changes from one iteration of a loop to the next.
    invariance: Invariance = part("invariance.Invariance", "infer", "calls")
    # What a step loop reaches but runs once, or seldom.
    once: Once = part("once.Once", "infer", "calls", "loops")
    # Where a pipeline is started for one element.
    restarts: Restarts = part("restarts.Restarts", "infer", "calls", "loops", "invariance")
    # Loops that run a session, and what they add to its graph.
    sessions: Sessions = part("sessions.Sessions", "infer", "calls", "compiled", "loops", "once")
    # What sessions are fed.
    session_feeds: SessionFeeds = part("session_feeds.SessionFeeds", "infer", "calls", "loops", "sessions")
    # Which tensors the device made.
    on_device: OnDevice = part("on_device.OnDevice", "infer", "calls")
    # What becomes of values on the host.
    host_values: HostValues = part("host_values.HostValues", "infer", "calls", "loops")
    # Where tensors may be copied to the host.
    copying: Copying = part("copying.Copying", "infer")
    # Copies of a device's tensors to the host.
    syncs: Syncs = part(
        "syncs.Syncs", "infer", "calls", "loops", "guards", "on_device", "host_values", "training_steps"
    )
    # What counts a loop's iterations.
    counters: Counters = part("counters.Counters", "infer")
    # Weights that go through host arrays.
    weight_copies: WeightCopies = part("weight_copies.WeightCopies", "infer", "each_step", "beside_gradients")
    # What runs with each gradient step.
    beside_gradients: BesideGradients = part(
        "beside_gradients.BesideGradients", "infer", "calls", "loops", "steps"
    )
    # What each step runs.
    each_step: EachStep = part("each_step.EachStep", "infer", "calls", "loops", "guards")
    # What eager code runs per step, and compiled code, too.
    eager_steps: EagerSteps = part("eager_steps.EagerSteps", "calls", "loops", "compiled")
    # Files that are read.
    file_reads: FileReads = part("file_reads.FileReads", "infer", "calls", "loops")
    # What may be changed in place.
    in_place: InPlace = part("in_place.InPlace", "infer", "calls", "invariance")
    # Batches that Python makes on the host.
    host_batches: HostBatches = part("host_batches.HostBatches")
    # Batches that loops convert to tensors.
    host_conversions: HostConversions = part("host_conversions.HostConversions")
    # Batches of varying shape.
    shapes: Shapes = part("shapes.Shapes", "infer", "calls", "loops")
    # Arguments whose shape changes from call to call.
    varying: Varying = part("varying.Varying", "infer", "calls", "loops", "invariance")
    # What compiled functions do with other shapes.
    retracing: Retracing = part("retracing.Retracing")
    # Results that nobody gets.
    discarded: Discarded = part("discarded.Discarded")
    # For which version the file is written.
    versions: Versions = part("versions.Versions", "walk", "names")
    # Lists to which gradients are added.
    gradient_sums: GradientSums = part("gradient_sums.GradientSums", "infer", "calls")
    # Models that are built and trained in loops.
    trials: Trials = part("trials.Trials", "infer", "calls", "compiled", "loops")
    # What has TensorFlow set up its devices.
    device_setup: DeviceSetup = part("device_setup.DeviceSetup", "infer", "calls")
    # Gradient tapes, and what is asked of them.
    tapes: Tapes = part("tapes.Tapes", "infer", "calls")
    # What stands in the way of compiling eager code.
    tracing: Tracing = part("tracing.Tracing", "infer", "calls", "compiled", "passing", "in_place")
    # What stands against giving values to compiled code.
    passing: Passing = part("passing.Passing", "infer", "calls")
    # Models that run in eager mode outside gradient steps.
    forward_passes: ForwardPasses = part("forward_passes.ForwardPasses")
    # What crosses the borders of stretches of statements.
    crossings: Crossings = part("crossing.Crossings", "infer", "passing", "numbers", "invariance")
    # What is surely traced, and which values in it are tensors of the graph.
    symbolic: Symbolic = part("symbolic.Symbolic", "infer", "calls", "compiled", "text")
    # Objects that are made again and again.
    making: Making = part("making.Making", "infer", "calls", "loops", "invariance", "symbolic")
    # What loops do with the objects that they make.
    other_uses: OtherUses = part("other_uses.OtherUses")
    # What compiled code asks of Python.
    keras_code: KerasCode = part("keras_code.KerasCode", "infer", "calls", "compiled", "symbolic")
    trace_time: TraceTime = part("trace_time.TraceTime", "infer", "symbolic", "once", "keras_code")
    # Switches that are thrown for good.
    left_on: LeftOn = part("left_on.LeftOn", "infer", "calls")
    # What the file says of the precision it computes in.
    precision: Precision = part("precision.Precision", "infer", "text")
    # What runs in each training step.
    training_steps: TrainingSteps = part("training_steps.TrainingSteps", "infer", "calls", "loops", "steps")
    # What is written to disk in training.
    writes: Writes = part("writes.Writes")
    # How often loops run.
    iterations: Iterations = part("iterations.Iterations", "infer", "calls")
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
