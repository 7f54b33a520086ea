"""Which elements of pipelines are images of 8-bit numbers, and of what size these are."""

from __future__ import annotations

import math
import re

import libcst as cst

from tflint_perf.analysis.python.reach import remembered
from tflint_perf.analysis.python.scopes import Binding, Function
from tflint_perf.analysis.python.syntax import (
    argument,
    callee_name,
    descendants_here,
    integer,
    keyword_argument,
    last_name,
    string,
)
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.named_calls import dtype_name
from tflint_perf.analysis.values.values import Pipeline

_KERAS_DATA = re.compile(r"^keras\.datasets\.(\w+)\.load_data$")
# Pixels of the images in data sets: an average where they differ.
_PIXELS = {
    **dict.fromkeys(
        ("mnist", "fashion_mnist", "kmnist", "emnist", "binarized_mnist", "omniglot_28"), 28 * 28
    ),
    **dict.fromkeys(
        ("cifar10", "cifar100", "cifar10_1", "svhn_cropped", "cmaterdb", "mnist_corrupted"), 32 * 32
    ),
    **dict.fromkeys(("eurosat", "imagenet_resized"), 64 * 64),
    **dict.fromkeys(("stl10", "patch_camelyon"), 96 * 96),
    "celeb_a": 178 * 218,
    **dict.fromkeys(("horses_or_humans", "rock_paper_scissors"), 300 * 300),
    **dict.fromkeys(("beans", "food101"), 500 * 500),
}
_PHOTO = 500 * 400
_OF_PHOTOS = frozenset(
    ["beans", "caltech101", "cats_vs_dogs", "caltech_birds2010", "caltech_birds2011", "cars196", "coco", "deep_weeds",
     "food101", "imagenet2012", "imagenette", "imagewang", "malaria", "oxford_flowers102", "oxford_iiit_pet", "places365_small",
     "stanford_dogs", "sun397", "tf_flowers", "voc"]
)  # fmt: skip
# Functions and methods that leave an array's type as it is, and about as many numbers in it.
_KEEPING = frozenset(
    [
        "reshape",
        "expand_dims",
        "squeeze",
        "transpose",
        "concatenate",
        "stack",
        "flip",
        "copy",
        "swapaxes",
        "moveaxis",
        "pad",
        "gather",
    ]
)
_LABEL = re.compile(r"(^|_)(y|lbl|label|target|class|cls|category|id)s?($|_|\d)", re.I)
# Names that stand for names, no deeper than this.
_DEEPEST = 8


class EightBits:
    """Follows 8-bit images from where they are loaded into a pipeline."""

    def __init__(self, infer: Inference, calls: CallGraph) -> None:
        self._infer = infer
        self._calls = calls

    def at_source(self, pipeline: Pipeline, *, scaled: bool) -> float | None:
        """How many pixels the images have that a pipeline begins with; `inf` where that is not known.

        None where they are not known to be of bytes. With `scaled`, a function divides them by 255, as is done to
        bytes alone.
        """
        if not pipeline:  # it begins elsewhere
            return None
        source = pipeline[0]
        if source.name == "tfds.load":
            return self._of_tfds(source.call, scaled)
        given = argument(source.call, 0, "tensors") if source.name == "from_tensor_slices" else None
        if isinstance(given, cst.Tuple) and given.elements:
            given = given.elements[0].value
        if given is None:
            return None
        size = self.of_array(given)
        # A pair of images and labels may have a name.
        return self._of_part(given, (0,), 0) if size is None and isinstance(given, cst.Name) else size

    def _of_tfds(self, call: cst.Call, scaled: bool) -> float | None:
        name = argument(call, 0, "name") if callee_name(call) == "load" else None
        text = re.split(r"[/:]", string(name) or "")[0]
        if text in _PIXELS:
            return _PIXELS[text]
        return _PHOTO if scaled or text in _OF_PHOTOS else None

    @remembered
    def of_array(self, node: cst.BaseExpression, depth: int = 0) -> float | None:
        """How many pixels the images of an array have, if it is surely one of bytes."""
        if depth > _DEEPEST:
            return None
        match node:
            case cst.Name():
                return self._of_name(node, depth)
            case cst.Subscript():
                return self.of_array(node.value, depth + 1)
            case cst.Call():
                return self._of_call(node, depth)
        return None

    def _of_name(self, name: cst.Name, depth: int) -> float | None:
        found = self._infer.bindings_reaching(name)
        if found is None:
            return None
        sizes = [self._of_binding(binding, found[0].function, depth) for binding in found[1]]
        known = [size for size in sizes if size is not None]
        return max(known) if known and len(known) == len(sizes) else None

    @remembered
    def _of_binding(self, binding: Binding, function: Function | None, depth: int) -> float | None:
        if binding.kind == "param":
            given = self._calls.arguments(function, binding.name) if function is not None else []
            sizes = [self.of_array(node, depth + 1) for node in given]
            return max((s for s in sizes if s is not None), default=None) if None not in sizes else None
        if binding.kind != "assign" or binding.value is None or binding.path is None:
            return None
        if not binding.path and self._infer.value(binding.value).dtype == "uint8":
            return math.inf
        return self._of_part(binding.value, binding.path, depth)

    def _of_part(self, node: cst.BaseExpression, path: tuple[int, ...], depth: int) -> float | None:
        """The same of a part of what an expression gives: `(0, 0)` for `x` in `(x, y), _ = load_data()`."""
        if depth > _DEEPEST:
            return None
        match node:
            case cst.Call() if loaded := _KERAS_DATA.match(self._infer.names.qualified(node.func)):
                return _PIXELS.get(loaded[1]) if len(path) == 2 and path[1] == 0 else None
            case cst.Tuple() if path and path[0] < len(node.elements):
                return self._of_part(node.elements[path[0]].value, path[1:], depth + 1)
            case cst.Name() if path:
                found = self._infer.bindings_reaching(node)
                if found is None or len(found[1]) != 1 or found[1][0].kind != "assign":
                    return None
                value, outer = found[1][0].value, found[1][0].path
                whole = (*outer, *path) if outer is not None else None
                return self._of_part(value, whole, depth + 1) if value is not None and whole else None
        return self.of_array(node, depth + 1) if not path else None

    def _of_call(self, call: cst.Call, depth: int) -> float | None:
        last = callee_name(call)
        kind = keyword_argument(call, "dtype") or (argument(call, 0) if last == "astype" else None)
        if kind is not None:
            return self._size_before(call, depth) if dtype_name(self._infer, kind) == "uint8" else None
        if last not in _KEEPING:
            return math.inf if self._infer.value(call).dtype == "uint8" and last == "astype" else None
        name = self._infer.names.qualified(call.func)
        if name:
            given = call.args[0].value if name in (f"np.{last}", f"tf.{last}") and call.args else None
            if isinstance(given, cst.Tuple | cst.List):
                sizes = [self.of_array(element.value, depth + 1) for element in given.elements]
                return max((s for s in sizes if s is not None), default=None) if None not in sizes else None
            return self.of_array(given, depth + 1) if given is not None else None
        return self.of_array(call.func.value, depth + 1) if isinstance(call.func, cst.Attribute) else None

    def _size_before(self, call: cst.Call, depth: int) -> float:
        """How many pixels images had before they were given another type."""
        given = call.func.value if isinstance(call.func, cst.Attribute) else None
        size = self.of_array(given, depth + 1) if given is not None else None
        return size if size is not None else math.inf


def is_label(node: cst.BaseExpression) -> bool:
    """Whether something goes by the name of a label: `y`, `features["label"]`."""
    if isinstance(node, cst.Subscript) and isinstance(node.slice[0].slice, cst.Index):
        return _LABEL.search(string(node.slice[0].slice.value) or "") is not None
    return _LABEL.search(last_name(node)) is not None


def computes(function: Function) -> bool:
    """Whether a function multiplies or divides."""
    return any(
        isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Divide | cst.Multiply)
        for node in descendants_here(function.node.body)
    )


def divides_by_255(function: Function) -> bool:
    """Whether a function divides by the integer 255: of bytes, that makes floats."""
    return any(
        isinstance(node, cst.BinaryOperation)
        and isinstance(node.operator, cst.Divide)
        and isinstance(node.right, cst.Integer)
        and integer(node.right) == 255
        and not is_label(node.left)
        for node in descendants_here(function.node.body)
    )


def scales_eight_bits(function: Function) -> bool:
    """Whether a function divides by 255 or the half of it, or multiplies by the reciprocal."""
    return any(
        (
            isinstance(node, cst.BinaryOperation)
            and isinstance(node.operator, cst.Divide)
            and _number(node.right) in (255, 256, 127.5, 128)
        )
        or (isinstance(node, cst.Call) and last_name(node.func) == "convert_image_dtype")
        for node in descendants_here(function.node.body)
    )


def _number(node: cst.BaseExpression) -> float | None:
    if isinstance(node, cst.Call) and node.args:  # `np.float32(255)`, `tf.constant(255.)`
        node = node.args[0].value
    return float(node.evaluated_value) if isinstance(node, cst.Integer | cst.Float) else None
