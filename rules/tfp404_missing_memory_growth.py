"""TFP404 missing-memory-growth."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

import libcst as cst

from tflint_perf.edit import Edit, Editor
from tflint_perf.model import Model
from tflint_perf.rule import Claim, Refusal, Repair, Report, Rule

_REST_OF_LINE = re.compile(r"[^\r\n]*")
_CODE_BELOW = re.compile(r"(?:\r\n|\r|\n)[ \t]*(?=\S)")


class MissingMemoryGrowth(Rule):
    """A training program that lets TensorFlow take all memory of every GPU.

    ## What it does

    Reports a program, a script that trains at module level or in what its main guard calls, that sets neither memory
    growth nor a memory limit. One finding a program, at its first import of TensorFlow.

    ## Why is this bad?

    When TensorFlow first uses a GPU it reserves nearly all memory of every GPU that it sees, however small the model is.
    Nobody else can use those GPUs, a second program fails for lack of memory, and the memory that the model really
    needs is not to be seen from outside. With memory growth TensorFlow takes what it needs.

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
    `TF_FORCE_GPU_ALLOW_GROWTH`, pass `gpu_options` to a session, leave the devices to a helper in another file, hide
    the GPUs, or run on a TPU alone. The fix is withheld in TensorFlow 1 graph code.

    ## Sources

    - TensorFlow guide, [*Use a GPU: Limiting GPU memory
      growth*](https://www.tensorflow.org/guide/gpu#limiting_gpu_memory_growth)
    """

    code = "TFP404"
    name = "missing-memory-growth"
    triggers = ("GradientTape", ".fit(", "fit_generator", "train_on_batch", "minimize(", "apply_gradients")
    fixes = "unsafe"
    claim = Claim("device memory", least=2.0, needs_gpu=True)
    always_on = True

    def check(self, model: Model) -> Iterator[Report]:
        if model.devices.settles_gpu_memory() or model.devices.uses_no_gpu() or not model.programs.trains():
            return
        first = model.programs.first_import()
        if first is not None:
            yield Report(
                first,
                "the program trains without memory growth, so TensorFlow takes nearly all memory of every GPU; "
                "call `set_memory_growth` for each GPU after the imports",
                partial(_set_growth, first=first),
            )


def _set_growth(edit: Editor, first: cst.Import | cst.ImportFrom) -> Repair | Refusal:
    if edit.model.programs.is_graph_code():
        return Refusal("in TensorFlow 1 graph code the `ConfigProto` of the session decides")
    imports = edit.model.programs.imports_from(first)
    if not imports:
        return Refusal("TensorFlow is not imported on a line of its own at the top of the file", first)
    last = [line for line in imports if edit.cell(line) == edit.cell(first)][-1]
    devices, needs_import = _spell(edit, "config.list_physical_devices", last)
    setter, _ = _spell(edit, "config.experimental.set_memory_growth", last)
    gpu = edit.fresh_name("gpu")
    lines = ["", "import tensorflow as tf"] if needs_import else [""]
    lines += ["", f'for {gpu} in {devices}("GPU"):', f"{edit.one_indent()}{setter}({gpu}, True)"]
    return Repair("Set memory growth after the imports", [_add_lines_below(edit, last, lines)], safe=False)


def _add_lines_below(edit: Editor, last: cst.CSTNode, lines: list[str]) -> Edit:
    """Add lines behind the line on which `last` ends, in the same cell of a notebook, and a blank line if code follows."""
    text = edit.model.text
    end = _REST_OF_LINE.match(text, edit.end(last)).end()  # type: ignore[union-attr]
    added = edit.edit(end, end, "\n".join(lines))
    code = _CODE_BELOW.match(text, end)
    if code is None or edit.edit(code.end(), code.end(), "").start.cell != edit.cell(last):
        return added
    return edit.edit(end, end, added.content + "\n")


def _spell(edit: Editor, name: str, last: cst.CSTNode) -> tuple[str, bool]:
    """How code below `last` can say `tensorflow.<name>`, and whether that needs an import of TensorFlow."""
    spelled = edit.model.names.spelled(name)
    if spelled is not None:
        bindings = edit.model.walk.top.bindings.get(spelled.split(".")[0], [])
        if any(edit.start(binding.node) < edit.end(last) for binding in bindings):
            return spelled, False
    return f"tf.{name}", True
