"""What Python code reads that TensorFlow's ops can't: files of other formats, environments, data bases."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from tflint_perf.analysis.apis.facts import has, is_listed, library
from tflint_perf.analysis.conventions import names_reading
from tflint_perf.analysis.execution.sizes import has_environment
from tflint_perf.analysis.python.names import canonical
from tflint_perf.analysis.python.reach import leads_to
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import (
    argument,
    descendants,
    descendants_here,
    last_name,
    string,
    target_names,
)
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.iterables import sources
from tflint_perf.analysis.values.named_calls import builtin_or_qualified
from tflint_perf.analysis.values.parts import Part

# Files that TensorFlow's decoders of images do not read.
OTHER_FILES = re.compile(r"\.(tiff?|npy|npz|dcm|nii|gz|mat|h5|hdf5|exr|hdr|pfm|flo|webp)\b", re.I)
_DECODED_FILES = re.compile(r"\.(jpe?g|png|bmp|gif)\b", re.I)
# In a file that says so, arrays may lie in a file of their own.
_OUT_OF_MEMORY = re.compile(
    r"h5py|hdf5|memmap|mmap_mode|lmdb|zarr|netCDF|VideoCapture|read_(hdf|parquet)|nibabel|pydicom|SimpleITK",
    re.I,
)
# What `open` gives.
_TEXT_FILE = "io.TextIOWrapper"
_OF_TENSORFLOW = frozenset({"tensor", "variable"})
_IN_MEMORY = frozenset({"array", "tensor", "list", "tuple", "dict", "string", "number"})


class OtherReads(Part):
    """Answers whether functions read what TensorFlow can't."""

    _infer: Inference
    _calls: CallGraph
    _text: str

    def __post_init__(self) -> None:
        self._known: dict[Function, bool] = {}

    def may_be_in(self, function: Function) -> bool:
        """Whether a function, or one that it calls, may read such: also by a call that is not in sight, by its name."""
        return leads_to(function, self._known, self._reads)

    def may_be_in_generator(self, function: Function) -> bool:
        """The same of a generator, which may also be that of an environment."""
        return has_environment(self._walk.calls) or self.may_be_in(function)

    def names_other_files(self, code: cst.CSTNode) -> bool:
        """Whether `code` names such files by their endings, and none that TensorFlow has decoders for."""
        texts = [string(node) or "" for node in descendants(code) if isinstance(node, cst.SimpleString)]
        return any(map(OTHER_FILES.search, texts)) and not any(map(_DECODED_FILES.search, texts))

    def only_generates(self, function: Function) -> bool:
        """Whether a function is a generator that reads nothing of the kind, as other files need to know it."""
        return bool(function.yields) and not self.may_be_in_generator(function)

    def only_computes(self, function: Function) -> bool:
        """Whether a function is none and reads nothing of the kind, as other files need to know it."""
        return not function.yields and not self.may_be_in(function)

    @cached_property
    def _in_memory(self) -> bool:
        """Whether nothing in the file speaks of arrays that lie in a file of their own."""
        return not _OUT_OF_MEMORY.search(self._text)

    def _reads(self, function: Function) -> bool | list[Function]:
        body = function.node.body
        if any(
            OTHER_FILES.search(string(n) or "") for n in descendants(body) if isinstance(n, cst.SimpleString)
        ):
            return True
        in_memory = self._in_memory
        if not in_memory and any(map(self._may_be_elsewhere, data_of(self._infer, body))):
            return True
        called: list[Function] = []
        for call in function.calls:
            targets = self._calls.targets(call)
            if not targets and (self._is_reader(call) or not (in_memory or self._is_known(call))):
                return True
            called += targets
        return called

    def _is_reader(self, call: cst.Call) -> bool:
        """Whether `call`, of a function that is not defined here, reads something that TensorFlow can't."""
        name = builtin_or_qualified(self._infer, call.func)
        if isinstance(call.func, cst.Attribute) and self._infer.value(call.func.value).kind in _OF_TENSORFLOW:
            return False  # `variable.read_value()`
        if name == "open":
            return not _opens_text(call)
        if isinstance(call.func, cst.Attribute) and has(
            f"{_TEXT_FILE}.{call.func.attr.value}", "reads-lines"
        ):
            if self._is_text_file(call.func.value):
                return False
        dotted = self._infer.names.dotted(call.func)
        if dotted is not None and not _is_told_of(canonical(dotted)):
            # In another file, or of a library that is not known, it may read anything.
            paths = self._infer.value(call.func).paths
            return not (paths and all(self._infer.outside.mapped(path).only_computes for path in paths))
        return is_reader(name or last_name(call.func))

    def _is_text_file(self, node: cst.BaseExpression) -> bool:
        """Whether `node` is a file that this code has opened as text."""
        found = self._infer.bindings_reaching(node) if isinstance(node, cst.Name) else None
        made = [binding.value for binding in found[1]] if found is not None else [node]
        return bool(made) and all(
            isinstance(call, cst.Call)
            and builtin_or_qualified(self._infer, call.func) == "open"
            and _opens_text(call)
            for call in made
        )

    def _is_known(self, call: cst.Call) -> bool:
        """Whether a call is that of a library's function, or of a method of what is in memory."""
        if builtin_or_qualified(self._infer, call.func):
            return True
        return isinstance(call.func, cst.Attribute) and not self._may_be_elsewhere(call.func.value)

    def _may_be_elsewhere(self, node: cst.BaseExpression) -> bool:
        return self._infer.value(node).kind not in _IN_MEMORY


def _opens_text(call: cst.Call) -> bool:
    """Whether `open(…)` opens a file as text."""
    mode = argument(call, 1, "mode")
    return mode is None or "b" not in (string(mode) or "b")


def _is_told_of(name: str) -> bool:
    """Whether rows tell what a function reads: one of its own, or that of all that its library has."""
    return is_listed(name) or bool(library(name)) or has(name, "has-no-file")


def is_reader(name: str) -> bool:
    """Whether a function of another library, by its name, reads what TensorFlow can't."""
    return has(name, "reads-elsewhere") or (
        bool(names_reading(name))
        and not (has(name, "reads-images") or library(name) in ("tensorflow", "keras"))
    )


def data_of(infer: Inference, body: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """What a function takes its elements from: what its loops run over, and what it takes parts of by an index."""
    own = set(_bound_in(body))
    for node in descendants_here(body):
        if isinstance(node, cst.For | cst.CompFor):
            for given in sources(infer, node.iter):
                # A text gives letters of what the code has already.
                if not isinstance(given, cst.Call | cst.FormattedString) and last_name(given) not in own:
                    yield given
        elif isinstance(node, cst.Subscript) and not isinstance(node.value, cst.Call | cst.Subscript):
            if last_name(node.value) not in {*own, "shape"}:
                yield node.value


def _bound_in(body: cst.CSTNode) -> Iterator[str]:
    """The names that the statements, loops and comprehensions of a function bind."""
    for node in descendants_here(body):
        match node:
            case cst.Assign():
                targets = [target.target for target in node.targets]
            case cst.For() | cst.CompFor():
                targets = [node.target]
            case _:
                continue
        yield from (name.value for target in targets for name in target_names(target))
