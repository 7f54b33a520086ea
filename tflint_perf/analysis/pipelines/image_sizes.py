"""To what sizes functions cut and resize images."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import pairwise

import libcst as cst

from tflint_perf.analysis.execution.iterations import Iterations
from tflint_perf.analysis.python.scopes import Block
from tflint_perf.analysis.python.syntax import (
    argument,
    callee_name,
    integer,
    keyword_argument,
    last_name,
    names_written,
    string,
)
from tflint_perf.analysis.values.infer import Inference

CUTTING = ("resize", "crop", "extract_", "slice", "glimpse")
# Cuts that say the height and the width in arguments of their own, and where the height stands.
_HEIGHT_AT = {"resize_with_crop_or_pad": 1, "resize_image_with_crop_or_pad": 1, "resize_with_pad": 1,
              "resize_image_with_pad": 1, "crop_to_bounding_box": 3}  # fmt: skip
_SIZE_AT = {"crop_and_resize": (3, "crop_size")}
_LEAST_SIDE = 28
# How large what is cut from a file is, is seen where it is resized.
_KEEPING = frozenset({"decode_and_crop_jpeg", "extract_jpeg_shape"})
# A model's input has about as many pixels, or more, where its size is a parameter.
_USUAL = 128 * 128
# A side of an image is longer; what is as short as this counts channels.
_CHANNELS = 4


class ImageSizes:
    """Answers how many pixels images have that went through `tf.image.resize` and its kin."""

    def __init__(self, infer: Inference, iterations: Iterations) -> None:
        self._infer = infer
        self._iterations = iterations

    def least(self, calls: Iterable[tuple[str, cst.Call]]) -> float:
        """The least number of pixels that one of these calls by name leaves: `inf` where none cuts, 0 where one
        may leave any. What is resized later does not count."""
        cuts = [(call, left) for name, call in calls if (left := self._left_by(name, call)) < math.inf]
        resized = [call for call, left in cuts if left and callee_name(call).startswith("resize")]
        return min(
            (left for call, left in cuts if not any(self._is_undone(call, later) for later in resized)),
            default=math.inf,
        )

    def _is_undone(self, cut: cst.Call, later: cst.Call) -> bool:
        """Whether what `cut` gives is always resized by another call."""
        given = argument(later, 0)
        if given is cut:
            return True
        here, there = self._infer.place(cut), self._infer.place(later)
        block: Block | None = here.block
        while block is not None and block is not there.block:
            block = block.parent
        if block is None or here.order >= there.order or not isinstance(given, cst.Name):
            return False
        statement = self._infer.walk.parents.get(cut)
        return isinstance(statement, cst.Assign) and given.value in names_written([statement])

    def _left_by(self, name: str, call: cst.Call) -> float:
        last = name.rsplit(".", 1)[-1]
        if not any(word in last for word in CUTTING) or last in _KEEPING:
            return math.inf
        if last in _HEIGHT_AT:
            at = _HEIGHT_AT[last]
            given = (argument(call, at, "target_height"), argument(call, at + 1, "target_width"))
        elif last.startswith(("resize", "random_crop", "stateless_random_crop")):
            given = (argument(call, 1, "size"), None)
        elif last in _SIZE_AT:
            given = (argument(call, *_SIZE_AT[last]), None)
        else:
            return 0
        numbers = [number for node in given if node is not None for number in self._numbers(node)]
        sides = [number for number in numbers if number is not None and number > _CHANNELS]
        if None in numbers or not sides:
            return _USUAL if last.startswith("resize") and given[0] is not None else 0
        return min((one * other for one, other in pairwise(sides)), default=sides[0] ** 2)

    def _numbers(self, node: cst.BaseExpression) -> Iterator[int | None]:
        """The integers that a size is made of; None for each that is not in sight."""
        match node:
            case cst.Tuple() | cst.List():
                for element in node.elements:
                    yield from self._numbers(element.value)
            case cst.Subscript(
                value=cst.Name() as name, slice=[cst.SubscriptElement(slice=cst.Index(value=at))]
            ):
                parts, index = self._parts_of(name), integer(at)
                inside = parts is not None and index is not None and 0 <= index < len(parts)
                yield self._iterations.number(parts[index].value) if inside else None  # type: ignore[index]
            case cst.Name() if (parts := self._parts_of(node)) is not None:
                for element in parts:
                    yield from self._numbers(element.value)
            case _:
                yield self._iterations.number(node)

    def _parts_of(self, name: cst.Name) -> list[cst.BaseElement] | None:
        """What a name stands for that is bound once, to a tuple or a list."""
        found = self._infer.bindings_reaching(name)
        if found is None or len(found[1]) != 1 or found[1][0].kind != "assign" or found[1][0].path != ():
            return None
        value = found[1][0].value
        return list(value.elements) if isinstance(value, cst.Tuple | cst.List) else None


def gives_images(generator: cst.Call) -> bool:
    """Whether the shapes that `from_generator` is told are, first of all, those of images: `(224, 224, 3)`."""
    shape = argument(generator, 2, "output_shapes") or keyword_argument(generator, "output_signature")
    while shape is not None:
        parts = shape.elements if isinstance(shape, cst.Tuple | cst.List) else ()
        first = parts[0].value if parts else None
        if isinstance(shape, cst.Call):  # `tf.TensorSpec(shape=…)`, `tf.TensorShape(…)`
            shape = argument(shape, 0, "shape")
        elif isinstance(shape, cst.Dict) and shape.elements:
            shape = shape.elements[0].value
        elif isinstance(first, cst.Tuple | cst.List | cst.Call | cst.Dict):
            shape = first
        else:
            *sides, channels = [integer(part.value) for part in parts] or [None]
            small = any(side is not None and side < _LEAST_SIDE for side in sides)
            return len(sides) == 2 and channels in (1, 3, 4) and not small
    return False


def keeps_numbers(call: cst.Call) -> bool:
    """Whether a call resizes by taking the nearest pixels, which leaves bytes what they are."""
    method = argument(call, 2, "method") if callee_name(call) == "resize" else None
    return method is not None and "nearest" in (string(method) or last_name(method)).lower()
