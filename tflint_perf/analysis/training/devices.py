"""What a file says about the GPUs that TensorFlow sees and about the memory that it takes of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import libcst as cst

from tflint_perf.analysis.apis.facts import has, library
from tflint_perf.analysis.execution.decided import Decided
from tflint_perf.analysis.execution.keras_backends import imports_another_backend
from tflint_perf.analysis.execution.trains import METHODS, trains_by
from tflint_perf.analysis.python.conditions import conditions
from tflint_perf.analysis.python.syntax import (
    argument,
    callee_name,
    descendants,
    imported_names,
    last_statement,
    mentions,
    string,
)
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part

_TPU = ("TPUStrategy", "TPUEstimator", "TPUClusterResolver", "initialize_tpu_system")

_BACKEND = "KERAS_BACKEND"


class Devices(Part):
    """Answers whether a file settles how its GPUs are used."""

    _infer: Inference
    _decided: Decided
    _text: str
    _form: str

    def chosen_below(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """A place further down that says which GPUs TensorFlow sees, which it can't any more once they are listed."""
        order = self._infer.place(node.body[0] if isinstance(node, cst.SimpleStatementLine) else node).order
        chosen = [*self._walk.calls.get("set_visible_devices", ()), *self._variables_of_cuda()]
        return next((place for place in chosen if self._infer.place(place).order > order), None)

    def _variables_of_cuda(self) -> Iterator[cst.CSTNode]:
        """The strings that name an environment variable of CUDA's, or of TensorFlow's for GPUs."""
        if "CUDA_" in self._text or "TF_GPU_" in self._text:
            for node in descendants(self._walk.module):
                if isinstance(node, cst.SimpleString) and (string(node) or "").startswith(
                    ("CUDA_", "TF_GPU_")
                ):
                    yield node

    def uses_no_gpu(self) -> bool:
        """Whether the file hides all GPUs from TensorFlow, runs on a TPU alone, or trains with another library, or the project
        needs a TensorFlow that knows none."""
        hidden = chain(self._hidden_by_variable(), self._hidden_by_call())
        never_runs = self._decided.never_runs
        return (
            any(not never_runs(node) for node in hidden)
            or self._uses_tpu_alone()
            or self._infer.outside.runs_on_cpus()
        )

    def has_gpu_alone(self) -> bool:
        """Whether Colab or Kaggle runs the file, on a machine that nobody shares: so who saved a notebook says, or a library
        that is found there alone, and a TPU that a notebook asks for."""
        if self._form == "hosted notebook" or (self._form == "notebook" and self._walk.calls_named(*_TPU)):
            return True
        lines = (line for line in self._walk.module.body if isinstance(line, cst.SimpleStatementLine))
        return any(
            isinstance(node, cst.Import | cst.ImportFrom)
            and any(has(name, "of-hosts") for name in imported_names(node))
            for line in lines
            for node in line.body
        )

    def is_on_cpu(self, node: cst.CSTNode) -> bool:
        """Whether `node` is in `with tf.device("/cpu:0"):`, also by a name that stands for this device alone."""
        current: cst.CSTNode | None = node
        while current is not None and not isinstance(current, cst.FunctionDef | cst.Lambda):
            if isinstance(current, cst.With) and any(self._is_cpu(item.item) for item in current.items):
                return True
            current = self._walk.parents.get(current)
        return False

    def _is_cpu(self, scope: cst.BaseExpression) -> bool:
        if not isinstance(scope, cst.Call) or callee_name(scope) != "device" or not scope.args:
            return False
        if library(self._infer.names.qualified(scope.func)) != "tensorflow":
            return False
        given = scope.args[0].value
        found = self._infer.bindings_reaching(given) if isinstance(given, cst.Name) else None
        devices = [binding.value for binding in found[1]] if found is not None else [given]
        return bool(devices) and all("cpu" in (string(device) or "").lower() for device in devices)

    def runs_keras_elsewhere(self) -> bool:
        """Whether the file lets Keras run on another backend: `os.environ["KERAS_BACKEND"] = "jax"`, or it imports JAX or
        PyTorch beside Keras, and not TensorFlow."""
        text = self._text
        if ("jax" in text or "torch" in text) and imports_another_backend(self._walk):
            return True
        if _BACKEND not in text:
            return False
        never_runs = self._decided.never_runs
        return any(
            _is_of_other_backend(variable, value) and not never_runs(node)
            for node, variable, value in self._variables_set()
        )

    def _hidden_by_variable(self) -> Iterator[cst.CSTNode]:
        """The places that hide all GPUs by an environment variable: `os.environ["CUDA_VISIBLE_DEVICES"] = "-1"`. Also
        `KERAS_BACKEND` set to anything but TensorFlow."""
        for node, variable, value in self._variables_set():
            if _hides(variable, value):
                yield node

    def _variables_set(self) -> Iterator[tuple[cst.CSTNode, str | None, str | None]]:
        """What is put into the environment under which name: by assignment, `setdefault`, `putenv` or `update`."""
        for statement in self._walk.at:
            if isinstance(statement, cst.Assign) and isinstance(statement.targets[0].target, cst.Subscript):
                index = statement.targets[0].target.slice[0].slice
                if isinstance(index, cst.Index):
                    yield statement, string(index.value), string(statement.value)
        for call in self._walk.calls_named("setdefault", "putenv"):
            yield call, string(argument(call, 0)), string(argument(call, 1))
        for call in self._walk.calls.get("update", ()):
            for node in descendants(call):
                for element in node.elements if isinstance(node, cst.Dict) else ():
                    if isinstance(element, cst.DictElement):
                        yield call, string(element.key), string(element.value)

    def _hidden_by_call(self) -> Iterator[cst.CSTNode]:
        for call in self._walk.calls.get("set_visible_devices", ()):
            given = argument(call, 0, "devices")
            if isinstance(given, cst.List) and not given.elements:
                kind = string(argument(call, 1, "device_type"))
                if kind is None or kind.upper() == "GPU":
                    yield call

    def _uses_tpu_alone(self) -> bool:
        """Whether the file asks for a TPU, under no condition that does not decide about all its training as well."""
        asking = self._walk.calls_named(*_TPU)
        return "MirroredStrategy" not in self._walk.calls and any(map(self._is_done, asking))

    def _is_done(self, call: cst.Call) -> bool:
        """Whether `call` runs wherever the file trains, and in no `try` that goes on without it."""
        tests = conditions(self._walk, call, self._around_training(call), exits=False)
        if not all(mentions(test, {"__name__"}) for test in tests):
            return False
        child: cst.CSTNode = call
        current = self._walk.parents.get(call)
        while current is not None and not isinstance(current, cst.FunctionDef):
            if isinstance(current, cst.Try) and child is current.body:
                return all(isinstance(last_statement(h.body), cst.Raise) for h in current.handlers)
            child, current = current, self._walk.parents.get(current)
        return True

    def _around_training(self, call: cst.Call) -> cst.CSTNode | None:
        """The innermost block around `call` that holds all that trains in the file; None where there is none."""
        named = self._walk.calls_named(*METHODS)
        training = {each for each in named if trains_by(self._infer, each)}
        current = self._walk.parents.get(call) if training else None
        while current is not None:
            if isinstance(current, cst.IndentedBlock) and training.issubset(descendants(current)):
                return current
            current = self._walk.parents.get(current)
        return None


def _hides(variable: str | None, value: str | None) -> bool:
    if variable == "CUDA_VISIBLE_DEVICES":
        return value is not None and value.strip() in ("", "-1")
    return _is_of_other_backend(variable, value)


def _is_of_other_backend(variable: str | None, value: str | None) -> bool:
    """Whether Keras is set to another backend than TensorFlow, or to one that a run chooses."""
    return variable == _BACKEND and value != "tensorflow"
