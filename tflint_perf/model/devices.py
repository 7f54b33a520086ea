"""What a file says about the GPUs that TensorFlow sees and about the memory that it takes of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

import libcst as cst

from tflint_perf.model.conditions import conditions
from tflint_perf.model.programs import imports_tensorflow
from tflint_perf.model.scopes import Binding
from tflint_perf.model.syntax import (
    argument,
    callee_name,
    descendants,
    dotted_name,
    is_name,
    last_statement,
    mentions,
    string,
)

if TYPE_CHECKING:
    from tflint_perf.model import Model

# Calls that decide how much memory TensorFlow takes of a GPU, or whether it takes any.
_SETTERS = frozenset(
    {
        "set_memory_growth",
        "set_virtual_device_configuration",
        "set_logical_device_configuration",
        "LogicalDeviceConfiguration",
        "VirtualDeviceConfiguration",
        "GPUOptions",
        "set_per_process_memory_growth",
        "set_per_process_memory_fraction",
    }
)
_SESSION_OPTIONS = frozenset(
    {"gpu_options", "allow_growth", "per_process_gpu_memory_fraction", "device_count"}
)
_VARIABLE = "TF_FORCE_GPU_ALLOW_GROWTH"
# A helper or module of another file that, by its name, may be what sets up the devices.
_MAY_SET_UP_DEVICES = re.compile(
    r"gpu|cuda|memory_?growth|allow_?growth|limit_?mem|"
    r"(config|set|init|select|pick|prepare)\w*_?(devices?|sess(ion)?|hardware|accelerators?)(_|$)",
    re.I,
)
# Libraries that look at GPUs, or compute on them by themselves.
_OTHERS_ABOUT_GPUS = frozenset(
    {
        "GPUtil",
        "gpustat",
        "nvidia_smi",
        "nvgpu",
        "pynvml",
        "py3nvml",
        "numba",
        "cupy",
        "cudf",
        "cuml",
        "pycuda",
    }
)
# Methods of TensorFlow's own that make a session with the options they are given.
_OF_SESSIONS = frozenset({"prepare_session", "prepare_or_wait_for_session"})
# How another file hides all GPUs.
_HIDES = re.compile(rb"""CUDA_VISIBLE_DEVICES["'][\])]?\s*[=,:]\s*["'](?:-1)?["']""")
_GUARD = re.compile(rb"(?m)^if __name__\b")
_TPU = ("TPUStrategy", "TPUEstimator", "TPUClusterResolver", "initialize_tpu_system")


class Devices:
    """Answers whether a file settles how its GPUs are used."""

    def __init__(self, model: Model) -> None:
        # The model, since most files are done with before their calls need to be known.
        self._model = model
        self._infer = model.infer
        self._walk = model.walk

    def settles_gpu_memory(self) -> bool:
        """Whether the file says how much memory TensorFlow takes of a GPU, or may leave that to a helper."""
        walk = self._walk
        if any(self._sets(call) for name in _SETTERS for call in walk.calls.get(name, ())):
            return True
        if any(name in walk.attributes or self._is_keyword(name) for name in _SESSION_OPTIONS):
            return True
        return self._sets_variable() or self._may_leave_it_to_another_file()

    @staticmethod
    def _sets(call: cst.Call) -> bool:
        return not (
            callee_name(call) == "set_memory_growth" and is_name(argument(call, 1, "enable"), "False")
        )

    def _is_keyword(self, name: str) -> bool:
        return any(
            arg.keyword is not None and arg.keyword.value == name
            for call in self._walk.calls.get("ConfigProto", ())
            for arg in call.args
        )

    def _sets_variable(self) -> bool:
        return _VARIABLE in self._model.text and any(
            string(node) == _VARIABLE
            for node in descendants(self._walk.module)
            if isinstance(node, cst.SimpleString)
        )

    def chosen_below(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """A place further down that says which GPUs TensorFlow sees, which it can't any more once they are listed."""
        order = self._infer.place(node.body[0] if isinstance(node, cst.SimpleStatementLine) else node).order
        chosen = [*self._walk.calls.get("set_visible_devices", ()), *self._variables_of_cuda()]
        return next((place for place in chosen if self._infer.place(place).order > order), None)

    def _variables_of_cuda(self) -> Iterator[cst.CSTNode]:
        """The strings that name an environment variable of CUDA's, or of TensorFlow's for GPUs."""
        if "CUDA_" in self._model.text or "TF_GPU_" in self._model.text:
            for node in descendants(self._walk.module):
                if isinstance(node, cst.SimpleString) and (string(node) or "").startswith(
                    ("CUDA_", "TF_GPU_")
                ):
                    yield node

    def _may_leave_it_to_another_file(self) -> bool:
        imported = {
            _run_by_import(binding)
            for scope in self._walk.scopes.values()
            for bindings in scope.bindings.values()
            for binding in bindings
            if binding.imported and not imports_tensorflow(binding.imported)
        }
        return any(map(self._may_set_up_devices, imported)) or any(
            _MAY_SET_UP_DEVICES.search(name) and any(map(self._is_foreign, calls))
            for name, calls in self._walk.calls.items()
        )

    def _may_set_up_devices(self, imported: str) -> bool:
        """Whether the module of an imported name sets up devices; by its name, where its text is not at hand."""
        # What stands in a main guard is not run when a module is imported.
        texts = [_GUARD.split(text, 1)[0] for text in self._infer.outside.module_texts(imported)]
        if not texts:
            return _MAY_SET_UP_DEVICES.search(imported) is not None and not _is_of_others(imported)
        words = [word.encode() for word in (*_SETTERS, *_SESSION_OPTIONS, _VARIABLE)]
        return any(word in text for text in texts for word in words) or any(map(_HIDES.search, texts))

    def _is_foreign(self, call: cst.Call) -> bool:
        """Whether a call runs a function that is neither in this project nor TensorFlow's."""
        if self._infer.value(call.func).outside:
            return False  # the texts of what is imported have been looked at
        dotted = self._infer.names.dotted(call.func)
        if dotted:
            return not imports_tensorflow(dotted) and not _is_of_others(dotted)
        if callee_name(call) in _OF_SESSIONS or any(
            self._infer.value(a.value).kind == "session" for a in call.args
        ):
            return False
        return not self._model.calls.targets(call)

    def uses_no_gpu(self) -> bool:
        """Whether the file hides all GPUs from TensorFlow, runs on a TPU alone, or trains with another library."""
        hidden = chain(self._hidden_by_variable(), self._hidden_by_call())
        never_runs = self._model.decided.never_runs
        return any(not never_runs(node) for node in hidden) or self._uses_tpu_alone()

    def _hidden_by_variable(self) -> Iterator[cst.CSTNode]:
        """`os.environ["CUDA_VISIBLE_DEVICES"] = "-1"`, and the same by `setdefault`, `putenv` or `update`.
        Also `KERAS_BACKEND` set to anything but TensorFlow."""
        for statement in self._walk.at:
            if isinstance(statement, cst.Assign) and isinstance(statement.targets[0].target, cst.Subscript):
                index = statement.targets[0].target.slice[0].slice
                if isinstance(index, cst.Index) and _hides(string(index.value), string(statement.value)):
                    yield statement
        for name in ("setdefault", "putenv"):
            for call in self._walk.calls.get(name, ()):
                if _hides(string(argument(call, 0)), string(argument(call, 1))):
                    yield call
        for call in self._walk.calls.get("update", ()):
            if any(
                isinstance(element, cst.DictElement) and _hides(string(element.key), string(element.value))
                for node in descendants(call)
                if isinstance(node, cst.Dict)
                for element in node.elements
            ):
                yield call

    def _hidden_by_call(self) -> Iterator[cst.CSTNode]:
        for call in self._walk.calls.get("set_visible_devices", ()):
            given = argument(call, 0, "devices")
            if isinstance(given, cst.List) and not given.elements:
                kind = string(argument(call, 1, "device_type"))
                if kind is None or kind.upper() == "GPU":
                    yield call

    def _uses_tpu_alone(self) -> bool:
        """Whether a TPU is asked for, come what may."""
        asking = [call for name in _TPU for call in self._walk.calls.get(name, ())]
        return "MirroredStrategy" not in self._walk.calls and any(map(self._is_done, asking))

    def _is_done(self, call: cst.Call) -> bool:
        """Whether a call stands behind no condition, and in no `try` that goes on without it."""
        if not all(mentions(test, {"__name__"}) for test in conditions(self._walk, call, exits=False)):
            return False
        child: cst.CSTNode = call
        current = self._walk.parents.get(call)
        while current is not None and not isinstance(current, cst.FunctionDef):
            if isinstance(current, cst.Try) and child is current.body:
                return all(isinstance(last_statement(h.body), cst.Raise) for h in current.handlers)
            child, current = current, self._walk.parents.get(current)
        return True


def _is_of_others(dotted: str) -> bool:
    return dotted.split(".", 1)[0] in _OTHERS_ABOUT_GPUS


def _run_by_import(binding: Binding) -> str:
    """The dotted name that an import names: `import package.module` binds the package, and runs the module."""
    whole = dotted_name(binding.node.name) if isinstance(binding.node, cst.ImportAlias) else ""
    return whole if whole.startswith(f"{binding.imported}.") else binding.imported


def _hides(variable: str | None, value: str | None) -> bool:
    if variable == "CUDA_VISIBLE_DEVICES":
        return value is not None and value.strip() in ("", "-1")
    return variable == "KERAS_BACKEND" and value is not None and value != "tensorflow"
