"""What Python code reads that TensorFlow's ops can't: files of other formats, environments, data bases."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import libcst as cst

from tflint_perf.analysis.execution.size_of_calls import has_environment
from tflint_perf.analysis.pipelines.plain_numpy import OTHER_FILES, data_of
from tflint_perf.analysis.python.reach import leads_to
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import argument, descendants, last_name, string
from tflint_perf.analysis.values.named_calls import builtin_or_qualified

if TYPE_CHECKING:
    from tflint_perf.analysis.model import Model

# Libraries whose calls read, or look up, what no op does.
_READERS = re.compile(
    r"(h5py|pickle|joblib|json|yaml|pandas|scipy\.io|soundfile|wave|audioread|nibabel|SimpleITK|pydicom|tifffile|lmdb|zarr|"
    r"netCDF4|xarray|sqlite3|requests|urllib|gzip|zipfile|tarfile|av|decord|moviepy|gym|gymnasium|rdkit|ase|trimesh|open3d|"
    r"rasterio|osgeo|pyarrow|csv|mne|pyedflib)\..*|np\.(load|loadtxt|genfromtxt|fromfile|memmap|lib\..*)|cv2\.VideoCapture"
)
# What such functions are called in libraries that nobody here knows, and what waits for something.
_NAMES = re.compile(
    r"(^|_|\.)(i?m?read|load|open|fetch|query|execute|recv|request|download|sleep|step|reset|iter(rows|tuples|items))",
    re.I,
)
# Ops do as well what these are for: TensorFlow has decoders of images.
_READABLE = re.compile(
    r"(cv2|imageio(\.v\d)?|skimage\.io|matplotlib\.(pyplot|image))\.imread|PIL\.Image\.open|"
    r"(tf|keras)\..*"
)
# In a file that says so, arrays may lie in a file of their own.
_OUT_OF_MEMORY = re.compile(
    r"h5py|hdf5|memmap|mmap_mode|lmdb|zarr|netCDF|VideoCapture|read_(hdf|parquet)", re.I
)
_IN_MEMORY = frozenset({"array", "tensor", "list", "tuple", "dict", "string", "number"})


class OtherReads:
    """Answers whether functions read what TensorFlow can't."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._infer = model.infer
        self._known: dict[Function, bool] = {}

    def may_be_in(self, function: Function) -> bool:
        """Whether a function, or one that it calls, may read such: also by a call that is not in sight, by its name."""
        return leads_to(function, self._known, self._reads)

    def may_be_in_generator(self, function: Function) -> bool:
        """The same of a generator, which may also be that of an environment."""
        return has_environment(self._model.walk.calls) or self.may_be_in(function)

    def _reads(self, function: Function) -> bool | list[Function]:
        body = function.node.body
        if any(
            OTHER_FILES.search(string(n) or "") for n in descendants(body) if isinstance(n, cst.SimpleString)
        ):
            return True
        in_memory = not _OUT_OF_MEMORY.search(self._model.text)
        if not in_memory and any(map(self._may_be_elsewhere, data_of(body))):
            return True
        called: list[Function] = []
        for call in function.calls:
            targets = self._model.calls.targets(call)
            if not targets and (self._is_reader(call) or not (in_memory or self._is_known(call))):
                return True
            called += targets
        return called

    def _is_reader(self, call: cst.Call) -> bool:
        """Whether a call of what is not defined here reads something that TensorFlow can't."""
        name = builtin_or_qualified(self._infer, call.func)
        if name == "open":
            given = argument(call, 1, "mode")
            return given is not None and "b" in (string(given) or "b")
        return is_reader(name or self._infer.names.dotted(call.func) or last_name(call.func))

    def _is_known(self, call: cst.Call) -> bool:
        """Whether a call is that of a library's function, or of a method of what is in memory."""
        if builtin_or_qualified(self._infer, call.func):
            return True
        return isinstance(call.func, cst.Attribute) and not self._may_be_elsewhere(call.func.value)

    def _may_be_elsewhere(self, node: cst.BaseExpression) -> bool:
        return self._infer.value(node).kind not in _IN_MEMORY


def is_reader(name: str) -> bool:
    """Whether a function of another library, by its name, reads what TensorFlow can't."""
    return bool(_READERS.fullmatch(name)) or (bool(_NAMES.search(name)) and not _READABLE.fullmatch(name))
