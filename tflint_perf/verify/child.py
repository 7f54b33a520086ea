"""The process that runs one script: told what to do by its argument, told when by its input, answers on its output.

It answers with lines of JSON: `{"ready": true}` once all that is slow to import is there, and at the end
`{"measured": …}` or `{"failure": …}`. What the script itself prints goes to standard error.
"""

from __future__ import annotations

import ast
import faulthandler
import json
import os
import platform
import sys
import tempfile
import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from importlib import import_module, metadata
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Any, TextIO

from tflint_perf.observe.learned import Learned
from tflint_perf.observe.patching import hook_now_and_later
from tflint_perf.observe.training_hooks import TrainedHooks
from tflint_perf.verify.drive import ScriptError, drive
from tflint_perf.verify.nursery import serve
from tflint_perf.verify.plan import Plan
from tflint_perf.verify.probes import Gpus, Traces
from tflint_perf.verify.script_constants import with_constants

# A message of TensorFlow's may be a page long.
_LINE = 200
# A GPU adds in another order each time, and rounds what it multiplies to fewer bits, unless it is told not to.
_EXACT = {"TF_DETERMINISTIC_OPS": "1", "NVIDIA_TF32_OVERRIDE": "0"}


def main() -> None:
    """Answer one request: `{"describe": true}`, or `{"script": …, "plan": …, "preload": …, "gpu": …, "exact": …}`.

    With `"constants": {name: value}`, those at the top of the script have these values.

    What is `exact` computes the same each time, also on a GPU; how long it takes says nothing then. With
    `"learned": {"out": path, "nudge": …}`, what the script trains is written there; a nudge moves it a little first.

    Either says `{"scratch": folder}` too: where temporary files go, for somebody else to remove.

    After `{"nursery": descriptor}` it is forked for each run, and every fork answers a request of its own.
    """
    request = json.loads(sys.argv[1])
    if "nursery" in request:
        request = serve(request["nursery"])
    _write_into(request["scratch"])
    if request.get("exact"):
        os.environ.update(_EXACT)
    faulthandler.enable()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    answer: dict[str, Any]
    try:
        answer = (
            {"described": describe()} if "describe" in request else {"measured": _measure(request, answers)}
        )
    except BaseException as error:  # a script may well call `sys.exit`
        traceback.print_exception(type(error), error, _from_script(error))
        answer = {"failure": _failure(error)}
    _say(answers, answer)
    sys.stdout.flush()
    sys.stderr.flush()
    # At once: threads that the script left behind are not waited for.
    os._exit(0)


def _write_into(scratch: str) -> None:
    """Let temporary files lie in this folder: nothing is cleaned up in a process that ends at once.

    AutoGraph writes a module for every function that it converts.
    """
    os.environ["TMPDIR"] = tempfile.tempdir = scratch


def describe() -> dict[str, Any]:
    """Versions, and the GPUs that TensorFlow sees and can open."""
    tensorflow = _tensorflow()
    gpus = tensorflow.config.list_physical_devices("GPU")
    if gpus:
        tensorflow.test.experimental.sync_devices()
    names = [
        tensorflow.config.experimental.get_device_details(gpu).get("device_name", gpu.name) for gpu in gpus
    ]
    driver, memory = _gpu_facts() if gpus else (None, 0)
    return {
        "versions": {
            "tensorflow": str(tensorflow.__version__),
            "keras": _version("keras"),
            "python": platform.python_version(),
        },
        "gpus": names,
        "driver": driver,
        "gpu_memory": memory,
    }


def _measure(request: dict[str, Any], answers: TextIO) -> dict[str, Any]:
    gpus, traces = Gpus(request["gpu"]), Traces()
    if request["preload"]:
        _tensorflow()
        with suppress(ImportError):
            import_module("keras")
    learned = _sees_what_is_learned(request.get("learned"))
    _say(answers, {"ready": True})
    if not sys.stdin.readline():
        raise SystemExit("nobody waits for an answer")
    script = _module_of(Path(request["script"]), request.get("constants") or {})
    traces.hook()
    if not callable(getattr(script, "train", None)):
        raise ScriptError("there is no function `train`")
    measured = drive(script.train, Plan(**request["plan"]), gpus, traces, learned)
    return {
        **asdict(measured),
        "samples_per_step": getattr(script, "SAMPLES_PER_STEP", None),
        "hides_gpu": gpus.hidden(),
    }


def _sees_what_is_learned(asked: dict[str, Any] | None) -> Learned | None:
    """What sees the variables that optimizers, tapes and sessions train, if it is asked for: it costs time."""
    if asked is None:
        return None
    learned = Learned(asked["out"], seed=0, nudge=asked["nudge"])
    hook_now_and_later(TrainedHooks(learned).by_module())
    return learned


class _Loader(SourceFileLoader):
    """Loads a script with other values for its constants."""

    def __init__(self, path: Path, constants: Mapping[str, Any]) -> None:
        super().__init__("tflint_perf_script", str(path))
        self._constants = constants

    def get_code(self, fullname: str) -> CodeType:
        """Nothing else changes: AutoGraph, which reads the file, finds each function where it stands."""
        try:
            tree = with_constants(ast.parse(self.get_data(self.path), self.path), self._constants)
        except ValueError as error:
            raise ScriptError(str(error)) from None
        return compile(tree, self.path, "exec", dont_inherit=True)


def _module_of(path: Path, constants: Mapping[str, Any]) -> ModuleType:
    """Run the script as a module of its own; what lies beside it can be imported, as when Python runs it."""
    sys.path.insert(0, str(path.parent))
    sys.argv = [str(path)]
    loader = _Loader(path, constants) if constants else SourceFileLoader("tflint_perf_script", str(path))
    spec = spec_from_file_location(loader.name, path, loader=loader)
    assert spec is not None
    module = module_from_spec(spec)
    sys.modules[loader.name] = module
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    loader.exec_module(module)
    sys.dont_write_bytecode = before
    return module


def _tensorflow() -> Any:
    try:
        return import_module("tensorflow")
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "tensorflow":
            raise ScriptError("TensorFlow is not installed; `pip install 'tflint-perf[verify]'`") from None
        raise ScriptError(f"TensorFlow fails to import: {_one_line(error)}") from error


def _failure(error: BaseException) -> str:
    """What went wrong, in one line."""
    if isinstance(error, ScriptError):
        return str(error)
    line = _one_line(error)
    if isinstance(error, ModuleNotFoundError) and error.name == "tensorflow":
        return "TensorFlow is not installed; `pip install 'tflint-perf[verify]'`"
    if (
        isinstance(error, MemoryError)
        or type(error).__name__ == "ResourceExhaustedError"
        or "out of memory" in line
    ):
        return f"out of memory: {line}"
    return line


def _from_script(error: BaseException) -> TracebackType | None:
    """Where it went wrong, without the frames of this package above those of the script."""
    frame = error.__traceback__
    while frame is not None and Path(frame.tb_frame.f_code.co_filename).parent == Path(__file__).parent:
        frame = frame.tb_next
    return frame or error.__traceback__


def _one_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:_LINE]}" if lines else type(error).__name__


def _gpu_facts() -> tuple[str | None, int]:
    """The driver's version, and the memory of the first GPU in bytes; nothing without NVML."""
    with suppress(Exception):  # pynvml may be missing, or the driver's library, or a function in it
        import pynvml

        pynvml.nvmlInit()
        memory = pynvml.nvmlDeviceGetMemoryInfo(pynvml.nvmlDeviceGetHandleByIndex(0))
        return str(pynvml.nvmlSystemGetDriverVersion()), int(memory.total)
    return None, 0


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "none"


def _say(answers: TextIO, answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()
