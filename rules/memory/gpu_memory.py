"""Who decides how much memory TensorFlow takes of a GPU."""

from __future__ import annotations

import re
from functools import cached_property

import libcst as cst

from tflint_perf.analysis.conventions import names_device_setup
from tflint_perf.analysis.python.scopes import Binding
from tflint_perf.analysis.python.syntax import (
    argument,
    callee_name,
    descendants,
    dotted_name,
    is_name,
    string,
)
from tflint_perf.analysis.training.programs import imports_tensorflow
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part

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
# What has memory taken as it is needed: a variable of the environment, or the allocator that another one names.
_IN_ENVIRONMENT = ("TF_FORCE_GPU_ALLOW_GROWTH", "cuda_malloc_async")
_WORDS = tuple(word.encode() for word in (*sorted(_SETTERS), *sorted(_SESSION_OPTIONS), *_IN_ENVIRONMENT))
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
_COMMENT = re.compile(rb"(?m)^[ \t]*#.*$")


class GpuMemory(Part):
    """Answers whether a file, or what it imports, says how much memory TensorFlow takes of a GPU."""

    same_for_all_callers = True

    _infer: Inference
    _calls: CallGraph
    _text: str

    @cached_property
    def is_settled(self) -> bool:
        """Whether the file sets how much GPU memory TensorFlow takes, or may leave that to a helper."""
        walk = self._walk
        if any(self._sets(call) for call in walk.calls_named(*_SETTERS)):
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
        return any(word in self._text for word in _IN_ENVIRONMENT) and any(
            string(node) in _IN_ENVIRONMENT
            for node in descendants(self._walk.module)
            if isinstance(node, cst.SimpleString)
        )

    def _may_leave_it_to_another_file(self) -> bool:
        imported = {
            _run_by_import(binding)
            for scope in self._walk.scopes.values()
            for bindings in scope.bindings.values()
            for binding in bindings
            if binding.imported and not imports_tensorflow(binding.imported)
        }
        # By its name, where its text is not at hand.
        by_name = [name for name in imported if names_device_setup(name) and not _is_of_others(name)]
        return (
            any(map(_settles, self._infer.outside.module_texts(*imported)))
            or any(not self._infer.outside.module_texts(name) for name in by_name)
            or any(
                names_device_setup(name) and any(map(self._is_foreign, calls))
                for name, calls in self._walk.calls.items()
            )
        )

    def _is_foreign(self, call: cst.Call) -> bool:
        """Whether `call` runs a function that is neither in this project nor TensorFlow's."""
        if self._infer.value(call.func).outside:
            return False  # the texts of what is imported have been looked at
        dotted = self._infer.names.dotted(call.func)
        if dotted:
            return not imports_tensorflow(dotted) and not _is_of_others(dotted)
        if callee_name(call) in _OF_SESSIONS or any(
            self._infer.value(a.value).kind == "session" for a in call.args
        ):
            return False
        return not self._calls.targets(call)


def _is_of_others(dotted: str) -> bool:
    return dotted.split(".", 1)[0] in _OTHERS_ABOUT_GPUS


def _run_by_import(binding: Binding) -> str:
    """The dotted name that an import names: `import package.module` binds the package, and runs the module."""
    whole = dotted_name(binding.node.name) if isinstance(binding.node, cst.ImportAlias) else ""
    return whole if whole.startswith(f"{binding.imported}.") else binding.imported


def _settles(text: bytes) -> bool:
    """Whether importing a module of this text sets up devices."""
    if not (any(word in text for word in _WORDS) or _HIDES.search(text)):
        return False
    # What stands in a main guard or a comment is not run when a module is imported.
    run = _COMMENT.sub(b"", _GUARD.split(text, 1)[0])
    return any(word in run for word in _WORDS) or _HIDES.search(run) is not None
