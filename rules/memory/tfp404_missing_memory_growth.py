"""TFP404 missing-memory-growth."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from tflint_perf.analysis.model import Model
from tflint_perf.edit import Editor
from tflint_perf.edit.below_imports import add_below, last_import_from, spell_below
from tflint_perf.rule import Claim, Refusal, Repair, Report, Rule

from .gpu_memory import GpuMemory

_OF_ESTIMATORS = ("Estimator", "RunConfig", "train_and_evaluate")
_FOR_EACH_GPU = "call `set_memory_growth` for each GPU "
_IN_SESSION = "set `gpu_options.allow_growth` in the `ConfigProto` of its session"
_IN_NEW_CONFIG = "give its session a `ConfigProto` with `gpu_options.allow_growth`"
_IN_ESTIMATOR = "set `gpu_options.allow_growth` in the `session_config` of its `RunConfig`"


class MissingMemoryGrowth(Rule):
    """A training program that lets TensorFlow take all memory of every GPU.

    ## What it does

    Reports a program, a script that trains at module level or in what its main guard calls, that sets neither memory
    growth nor a memory limit. What trains may be in files that it imports. One finding per program, at its first import
    of TensorFlow, or of a file that imports it.

    ## Why is this bad?

    When TensorFlow first uses a GPU it reserves nearly all memory of every GPU that it sees, however small the model is.
    Nobody else can use those GPUs, a second program fails for lack of memory, and the memory that the model
    really needs can't be seen from outside. With memory growth TensorFlow takes what it needs.

    What was measured is a program of TensorFlow 2; a session of TensorFlow 1 takes the memory in the same way.

    ## Example

    ```python
    import tensorflow as tf

    model.fit(images, labels)
    ```

    Use instead:

    ```python
    import tensorflow as tf

    for gpu in tf.config.list_physical_devices("GPU"):
        tf.config.experimental.set_memory_growth(gpu, True)

    model.fit(images, labels)
    ```

    ## What is left alone

    Library modules, excerpts whose model is defined nowhere, and programs that set memory growth, a limit or
    `TF_FORCE_GPU_ALLOW_GROWTH` or `TF_GPU_ALLOCATOR=cuda_malloc_async`, pass `gpu_options` to a session, leave the devices to a helper in another file, hide
    the GPUs, run only on a TPU, or use Keras and name TensorFlow nowhere, since Keras runs on other frameworks as well. On Colab and Kaggle
    nobody else uses the GPU: what these saved last, what imports `google.colab`, and notebooks that ask for a TPU. The fix
    is withheld in TensorFlow 1 graph code, and where an `Estimator` makes its own session. Where the file has no name for TensorFlow it adds an import, and its title says so.

    ## Sources

    - TensorFlow guide, [*Use a GPU: Limiting GPU memory
      growth*](https://www.tensorflow.org/guide/gpu#limiting_gpu_memory_growth)
    """

    code = "TFP404"
    name = "missing-memory-growth"
    # A program trains where it is run, or what it imports does.
    triggers = (
        "__main__",
        "train",
        "learn(",
        "epoch",
        "agent",
        "update(",
        "optimize(",
        "run(",
        "GradientTape",
        ".fit(",
        "fit_generator",
        "minimize(",
        "cross_val",
        "apply_gradients",
    )
    through_imports = True
    fixes = "unsafe"
    claim = Claim(
        "device memory",
        least=2.0,
        needs_gpu=True,
        at="which matters to other programs on that GPU; this one gets no faster by it",
    )
    always_on = True
    of_programs = True

    def check(self, model: Model) -> Iterator[Report]:
        if not model.programs.trains() or model.own(GpuMemory).is_settled or model.devices.uses_no_gpu():
            return
        if model.devices.has_gpu_alone():
            return
        first = model.programs.first_import()
        if first is not None and model.programs.names_tensorflow():
            remedy = _remedy(model)
            yield Report(
                first,
                "the program trains without memory growth, so TensorFlow takes nearly all memory of every GPU; "
                + remedy,
                partial(_set_growth, first=first),
                as_measured=remedy.startswith(_FOR_EACH_GPU),  # the experiment is one of TensorFlow 2
            )


def _remedy(model: Model) -> str:
    if _is_in_estimator(model):
        return _IN_ESTIMATOR
    if not model.programs.is_graph_code():
        makes = model.programs.import_that_runs_ops()
        if makes is None:
            return f"{_FOR_EACH_GPU}after the imports"
        statement = makes.body[0] if isinstance(makes, cst.SimpleStatementLine) else makes
        line = model.module.code_for_node(statement).strip().partition("\n")[0]
        return f"{_FOR_EACH_GPU}above `{line}`, which makes tensors or variables"
    texts = [model.text.encode(), *model.infer.texts_of_imports]
    return _IN_SESSION if any(b"ConfigProto(" in text for text in texts) else _IN_NEW_CONFIG


def _is_in_estimator(model: Model) -> bool:
    """Whether an `Estimator` makes the session in which the program trains."""
    return model.programs.trains_estimator() or (
        model.programs.is_graph_code()
        and any(model.names.is_call_that(call, "estimator") for call in model.calls_named(*_OF_ESTIMATORS))
    )


def _set_growth(edit: Editor, first: cst.Import | cst.ImportFrom) -> Repair | Refusal:
    if edit.model.programs.trains_estimator():
        return Refusal("the `session_config` of the Estimator's `RunConfig` decides")
    if edit.model.programs.is_graph_code():
        return Refusal("in TensorFlow 1 graph code the `ConfigProto` of the session decides")
    if edit.model.versions.is_version_1():
        return Refusal(
            "in TensorFlow 1 the `config` of `tf.enable_eager_execution` or of the session decides"
        )
    last = last_import_from(edit, first)
    if isinstance(last, Refusal):
        return last
    chosen = edit.model.devices.chosen_below(last)
    if chosen is not None:
        return Refusal("the GPUs that TensorFlow sees are chosen further down", chosen)
    devices, imports = spell_below(edit, "config.list_physical_devices", last)
    setter, _ = spell_below(edit, "config.experimental.set_memory_growth", last)
    gpu = edit.fresh_name("gpu")
    lines = [f'for {gpu} in {devices}("GPU"):', f"{edit.one_indent()}{setter}({gpu}, True)"]
    return Repair(
        # A program may have done without the package so far.
        f"{'Import TensorFlow, and set' if imports else 'Set'} memory growth after the imports",
        [add_below(edit, last, lines, imports=imports)],
        safe=False,
        may_change="how much GPU memory TensorFlow takes",
    )
