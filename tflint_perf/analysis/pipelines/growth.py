"""Which stages of an input pipeline make elements larger in bytes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from itertools import islice, pairwise

import libcst as cst

from tflint_perf.analysis.apis.facts import has, library, methods, named
from tflint_perf.analysis.conventions import names_a_label, names_augmenting
from tflint_perf.analysis.execution.iterations import Iterations
from tflint_perf.analysis.limits import NAMES_DEEP
from tflint_perf.analysis.python.reach import remembered
from tflint_perf.analysis.python.scopes import Binding, Block, Function
from tflint_perf.analysis.python.syntax import (
    argument,
    callee_name,
    descendants_here,
    integer,
    keyword_argument,
    last_name,
    names_written,
    string,
)
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.named_calls import builtin_or_qualified, dtype_name
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.values import Pipeline, Stage
from tflint_perf.analysis.values.written import written_out

_METHODS = frozenset({"set_shape", "get_shape", "as_list", "lookup", "format", "append"})
# An image of fewer pixels may take less than its file.
_SMALL = 128 * 128
_SMALL_IN_FLOATS = 96 * 96
_FLOATS = frozenset({"float32", "float64"})
READS_FILES = "reads and decodes files"
OF_BYTES = "makes floats of bytes"
# What functions do that takes so long.
_TAKING_MILLISECONDS = ("reads-file", "decodes-images", "decodes-audio", "reads-images")
# What a function of another file makes of bytes, and whether it divides them by 255.
_FLOATS_OF_ANY, _SCALED = "floats", "scaled floats"
# A function that runs more functions than this decides about more than an element.
_MOST = 40
# Bytes take a quarter of what floats take.
_BYTES_OF_A_FLOAT = 4


class Growth(Part):
    """Answers what makes a stage's elements larger than those it is given; "" where nothing is seen to."""

    _infer: Inference
    _calls: CallGraph
    _iterations: Iterations

    def __post_init__(self) -> None:
        self._eight_bits = EightBits(self._infer, self._calls)
        self._sizes = ImageSizes(self._infer, self._iterations)

    def of_stage(self, stage: Stage, before: Pipeline) -> str:
        """How `stage` makes elements larger, or gives large ones as a source: "decodes images". `before` are the stages
        in front of it."""
        if stage.name not in ("map", "from_generator"):
            return ""
        choices = self._choices(stage)
        if stage.name == "from_generator":
            calls = [call for functions in choices for call in self._calls_of(functions)]
            reads = any(has(self._name(call), "reads-images") for call in calls)
            return "gives whole images" if reads or gives_images(stage.call) else ""
        hows = [self._of_map(functions, self._calls_of(functions), before) for functions in choices]
        return (hows[0] if all(hows) else "") if hows else self._elsewhere(stage, before)

    def decodes(self, pipeline: Pipeline) -> bool:
        """Whether a stage of `pipeline` reads a file for each element, or decodes one, which takes milliseconds: each time,
        and not only before a `cache`."""
        kept = max((at for at, stage in enumerate(pipeline) if stage.name == "cache"), default=-1)
        return any(map(self._decodes, pipeline[kept + 1 :]))

    def _decodes(self, stage: Stage) -> bool:
        if stage.name != "map":
            return any(self.decodes(way) for given in stage.inputs for way in given.pipelines)
        functions = [function for choice in self._choices(stage) for function in choice]
        return any(has(self._name(call), *_TAKING_MILLISECONDS) for call in self._calls_of(functions))

    def bytes_of_floats(self, pipeline: Pipeline) -> float:
        """How many bytes an image that `pipeline` makes floats of takes; `inf` where its size is not known."""
        pixels = self._eight_bits.at_source(pipeline, scaled=True)
        return math.inf if pixels is None else _BYTES_OF_A_FLOAT * pixels

    def of_function(self, function: Function) -> str:
        """How a function of this file makes elements larger, as other files need to know it."""
        functions = list(islice(self._reached(function, set()), _MOST + 1))
        calls = self._calls_of(functions)
        if len(functions) > _MOST or not all(map(self._is_known, calls)) or self._reduces(functions):
            return ""
        how = self._by_decoding(calls)
        if how is None and self._makes_floats_of(functions, calls) and self._least(calls) == math.inf:
            if any(map(self._decodes_bytes, calls)):
                return OF_BYTES
            return _SCALED if any(map(scales_eight_bits, functions)) else _FLOATS_OF_ANY
        return how or ""

    def _elsewhere(self, stage: Stage, before: Pipeline) -> str:
        """How the function of another file that a `map` is given makes elements larger."""
        given = argument(stage.call, 0, "map_func")
        path = self._infer.value(given).outside if given is not None else ""
        how = self._infer.outside.mapped(path).grows if path else ""
        return self._told(how, before)

    def _told(self, how: str, before: Pipeline) -> str:
        """The same, as another file tells it; floats count where they are made of bytes."""
        if how not in (_SCALED, _FLOATS_OF_ANY):
            return how
        return OF_BYTES if self._size_before(before, scaled=how == _SCALED) else ""

    def stays_large(self, stage: Stage, before: Pipeline, how: str) -> bool:
        """Whether `stage` is known to keep elements large: it makes nothing much smaller of what became large, as `how`
        says. `before` are the stages in front of it; next to the name of a file any image is large."""
        if stage.name != "map":
            return stage.name in methods("Dataset", "keeps-elements") or stage.name in (
                "filter",
                "enumerate",
                "with_options",
                *methods("Dataset", "makes-batches"),
            )
        functions = [function for choice in self._choices(stage) for function in choice]
        calls = self._calls_of(functions)
        if not functions:
            return bool(names_augmenting(last_name(argument(stage.call, 0, "map_func"))))
        known = all(self._is_known(call) or names_augmenting(last_name(call.func)) for call in calls)
        if not known or self._reduces(functions):
            return False
        if how == READS_FILES:
            return True
        least = self._least(calls)
        size = self._eight_bits.at_source(before, scaled=True)
        return least >= (_SMALL_IN_FLOATS if any(map(self._makes_floats, calls)) else _SMALL) or (
            size is not None and _BYTES_OF_A_FLOAT * least > size
        )

    def _of_map(self, functions: list[Function], calls: list[cst.Call], before: Pipeline) -> str:
        handed_on = {self._infer.value(call.func).outside for call in calls if call.args} - {""}
        if len(handed_on) == 1 and len(functions) == 1:
            others = [call for call in calls if not self._infer.value(call.func).outside]
            how = self._infer.outside.mapped(handed_on.pop()).grows
            return self._told(how, before) if how and all(map(self._is_known, others)) else ""
        if not all(map(self._is_known, calls)) or self._reduces(functions):
            return ""
        how_decoded = self._by_decoding(calls)
        if how_decoded is not None or not self._makes_floats_of(functions, calls):
            return how_decoded or ""
        least = self._least(calls)
        if any(map(self._decodes_bytes, calls)):
            return OF_BYTES if least == math.inf else ""
        size = self._bytes_before(before, functions)
        grows = size is not None and (least == math.inf or _BYTES_OF_A_FLOAT * least > size)
        return OF_BYTES if grows else ""

    def _by_decoding(self, calls: list[cst.Call]) -> str | None:
        """How calls make more of what they decode, "" where that is little; None where they decode no images."""
        names = {self._name(call) for call in calls}
        if (names & named("reads-file") and names & named("decodes-images", "decodes-audio")) or any(
            map(self._reads_in_python, calls)
        ):
            return READS_FILES
        if names & named("decodes-images"):
            resized = any(has(name, "resizes") for name in names) and not any(map(keeps_numbers, calls))
            small = _SMALL_IN_FLOATS if resized or any(map(self._makes_floats, calls)) else _SMALL
            return "decodes images" if self._least(calls) >= small else ""
        return None

    def _makes_floats_of(self, functions: list[Function], calls: list[cst.Call]) -> bool:
        return any(map(self._makes_floats, calls)) or any(map(divides_by_255, functions))

    # What a mapped function does

    def _choices(self, stage: Stage) -> list[list[Function]]:
        """The functions of this file that `stage` runs, for each that it may be given; none where one of these is not
        in sight."""
        given = argument(stage.call, 0, "map_func" if stage.name == "map" else "generator")
        made = (
            [self._infer.value(node).function for node in self._options(given)] if given is not None else []
        )
        return [
            list(self._reached(function, set()))
            for function in made
            if function is not None and None not in made
        ]

    def _options(self, given: cst.BaseExpression) -> list[cst.BaseExpression]:
        """What an expression may stand for by a condition: `parse if labeled else parse_image`, or a name of that."""
        if isinstance(given, cst.Name) and self._infer.value(given).function is None:
            bindings = self._infer.bindings(given)
            made = [b.value for b in bindings if b.kind == "assign" and b.path == ()]
            if len(bindings) == 1 and isinstance(made[0] if made else None, cst.IfExp):
                given = made[0]  # type: ignore[assignment]
        return [given.body, given.orelse] if isinstance(given, cst.IfExp) else [given]

    def _reached(self, function: Function, seen: set[Function]) -> Iterator[Function]:
        """A function and those of this file that calling it runs."""
        if function in seen:
            return
        seen.add(function)
        yield function
        for call in function.calls:
            for target in self._calls.targets(call):
                yield from self._reached(target, seen)

    def _calls_of(self, functions: Iterable[Function]) -> list[cst.Call]:
        """The calls in `functions` that run none of this file."""
        return [call for function in functions for call in function.calls if not self._calls.targets(call)]

    def _name(self, call: cst.Call) -> str:
        """The name of what a call runs: the class of a layer that is called."""
        name = builtin_or_qualified(self._infer, call.func)
        if not name:
            value = self._infer.value(call.func)
            return value.name if value.kind == "layer" else ""
        return name

    def _is_known(self, call: cst.Call) -> bool:
        # What gets nothing of an element does nothing to it.
        if isinstance(call.func, cst.Name) and not call.args:
            return True
        name = self._name(call)
        if not name:
            return isinstance(call.func, cst.Attribute) and call.func.attr.value in _METHODS
        if has(name, "size-known"):
            return True
        if library(name) == "keras":
            return has(name, "makes-floats") or name.endswith(".preprocess_input") or has(name, "keeps-size")
        if has(name, "runs-python"):
            return self._reads_in_python(call)
        return library(name) == "tensorflow"

    def _reads_in_python(self, call: cst.Call) -> bool:
        """Whether a call is `tf.numpy_function(f, …)`, where `f`, whichever function it may be, reads files."""
        if not has(self._name(call), "runs-python") or not call.args:
            return False
        either = self._infer.value(call.args[0].value).alternatives
        return all(
            self.loads(each.function) if each.function is not None else self._loads_elsewhere(each.outside)
            for each in either
        )

    def _loads_elsewhere(self, path: str) -> bool:
        return bool(path) and self._infer.outside.mapped(path).loads

    def loads(self, function: Function) -> bool:
        """Whether a function of this file reads images or arrays from files, as Python code."""
        calls = self._calls_of(islice(self._reached(function, set()), _MOST))
        names = {self._name(call) for call in calls}
        return any(has(name, "reads-images", "reads-arrays") for name in names) or bool(
            names & named("reads-file") and names & named("decodes-images", "decodes-audio")
        )

    def _least(self, calls: list[cst.Call]) -> float:
        return self._sizes.least((self._name(call), call) for call in calls)

    def _reduces(self, functions: list[Function]) -> bool:
        """Whether what the function returns first is a statistic, rather than an image that was used for one."""
        return any(self._is_reduced(given) for function in functions for given in _given_first(function))

    def _is_reduced(self, node: cst.BaseExpression) -> bool:
        if isinstance(node, cst.Name):
            made = [binding.value for binding in self._infer.bindings(node) if binding.kind == "assign"]
            return any(isinstance(value, cst.Call) and self._is_reduced(value) for value in made)
        if not isinstance(node, cst.Call):
            return False
        name = self._name(node)
        wraps = has(name, "casts") and bool(node.args)
        return self._is_reduced(node.args[0].value) if wraps else has(name, "condenses")

    # Bytes to floats

    def _makes_floats(self, call: cst.Call) -> bool:
        """Whether a call makes floats of what may be an image."""
        name = self._name(call)
        if not call.args or is_label(call.args[0].value):
            return False
        if has(name, "makes-floats") or name.endswith(".preprocess_input"):
            return True
        kind = argument(call, 1, "dtype")
        casts = has(name, "changes-type")
        return casts and kind is not None and dtype_name(self._infer, kind) in _FLOATS

    def _decodes_bytes(self, call: cst.Call) -> bool:
        kind = argument(call, 1, "out_type") if has(self._name(call), "decodes-raw") else None
        return kind is not None and dtype_name(self._infer, kind) == "uint8"

    def _bytes_before(self, before: Pipeline, functions: list[Function]) -> float | None:
        """How many pixels the 8-bit images have at the end of a pipeline; None where they are not known to be such."""
        return self._size_before(before, scaled=any(map(scales_eight_bits, functions)))

    def _size_before(self, before: Pipeline, *, scaled: bool) -> float | None:
        for stage in before[1:]:
            if stage.name not in methods("Dataset", "keeps-elements") and not (
                stage.name == "map" and self._keeps_bytes(stage)
            ):
                return None
        return self._eight_bits.at_source(before, scaled=scaled)

    def _keeps_bytes(self, stage: Stage) -> bool:
        """Whether `stage` is a map that is known to give images of bytes where it gets such."""
        given = argument(stage.call, 0, "map_func")
        if given is not None and has(self._infer.names.qualified(given), "keeps-bytes"):
            return True
        functions = [function for choice in self._choices(stage) for function in choice]
        calls = self._calls_of(functions)
        return (
            bool(functions)
            and all(has(self._name(call), "keeps-bytes") or self._is_cast_of_label(call) for call in calls)
            and not any(map(computes, functions))
        )

    def _is_cast_of_label(self, call: cst.Call) -> bool:
        return has(self._name(call), "casts") and bool(call.args) and is_label(call.args[0].value)


def _given_first(function: Function) -> Iterator[cst.BaseExpression]:
    """What a function gives, or the first part of it: an image, in front of its label."""
    if isinstance(function.node, cst.Lambda):
        given = [function.node.body]
    else:
        given = [statement.value for statement in function.returns if statement.value is not None]
    for node in given:
        yield node.elements[0].value if isinstance(node, cst.Tuple) and node.elements else node


# To what sizes functions cut and resize images.


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
            case _ if (items := written_out(self._infer, node)) is not None:
                for item in items:
                    yield from self._numbers(item)
            case _:
                yield self._infer.integers.most(node)


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
    """Whether `call` resizes to the nearest pixels, which leaves bytes as they are."""
    method = argument(call, 2, "method") if callee_name(call) == "resize" else None
    return method is not None and "nearest" in (string(method) or last_name(method)).lower()


# Which elements of pipelines are images of 8-bit numbers, and of what size these are.


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
_EIGHT_BITS_KEEPING = frozenset(
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


class EightBits:
    """Follows 8-bit images from where they are loaded into a pipeline."""

    def __init__(self, infer: Inference, calls: CallGraph) -> None:
        self._infer = infer
        self._calls = calls

    def at_source(self, pipeline: Pipeline, *, scaled: bool) -> float | None:
        """How many pixels the images have at the source of the pipeline; `inf` where that is not known.

        None where they are not known to be of bytes. With `scaled`, a function divides them by 255, as is done to
        bytes alone.
        """
        if not pipeline:  # it begins elsewhere
            return None
        source = pipeline[0]
        if has(source.name, "gives-datasets"):
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
        """How many pixels the images of the array `node` have, if it is known to hold bytes."""
        if depth > NAMES_DEEP:
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
        if depth > NAMES_DEEP:
            return None
        match node:
            case cst.Call() if has(name := self._infer.names.qualified(node.func), "gives-data"):
                return _PIXELS.get(name.split(".")[-2]) if len(path) == 2 and path[1] == 0 else None
            case cst.Tuple() if path and path[0] < len(node.elements):
                return self._of_part(node.elements[path[0]].value, path[1:], depth + 1)
            case cst.Name() if path:
                bindings = self._infer.bindings(node)
                if len(bindings) != 1 or bindings[0].kind != "assign":
                    return None
                value, outer = bindings[0].value, bindings[0].path
                whole = (*outer, *path) if outer is not None else None
                return self._of_part(value, whole, depth + 1) if value is not None and whole else None
        return self.of_array(node, depth + 1) if not path else None

    def _of_call(self, call: cst.Call, depth: int) -> float | None:
        last = callee_name(call)
        kind = keyword_argument(call, "dtype") or (argument(call, 0) if last == "astype" else None)
        if kind is not None:
            return self._size_before(call, depth) if dtype_name(self._infer, kind) == "uint8" else None
        if last not in _EIGHT_BITS_KEEPING:
            return math.inf if self._infer.value(call).dtype == "uint8" and last == "astype" else None
        name = self._infer.names.qualified(call.func)
        if name:
            given = call.args[0].value if has(name, "keeps-eight-bits") and call.args else None
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
    """Whether `node` has the name of a label: `y`, `features["label"]`."""
    if isinstance(node, cst.Subscript) and isinstance(node.slice[0].slice, cst.Index):
        return bool(names_a_label(string(node.slice[0].slice.value) or ""))
    return bool(names_a_label(last_name(node)))


def computes(function: Function) -> bool:
    """Whether `function` multiplies or divides."""
    return any(
        isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Divide | cst.Multiply)
        for node in descendants_here(function.node.body)
    )


def divides_by_255(function: Function) -> bool:
    """Whether `function` divides by the integer 255: of bytes, that makes floats."""
    return any(
        isinstance(node, cst.BinaryOperation)
        and isinstance(node.operator, cst.Divide)
        and isinstance(node.right, cst.Integer)
        and integer(node.right) == 255
        and not is_label(node.left)
        for node in descendants_here(function.node.body)
    )


def scales_eight_bits(function: Function) -> bool:
    """Whether `function` divides by 255 or half of it, or multiplies by the reciprocal."""
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
