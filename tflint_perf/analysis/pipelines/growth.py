"""Which stages of an input pipeline make elements larger in bytes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from itertools import islice

import libcst as cst

from tflint_perf.analysis.apis.dataset_apis import BATCHING, NEUTRAL
from tflint_perf.analysis.execution.iterations import Iterations
from tflint_perf.analysis.pipelines.eight_bits import (
    EightBits,
    computes,
    divides_by_255,
    is_label,
    scales_eight_bits,
)
from tflint_perf.analysis.pipelines.image_sizes import ImageSizes, gives_images, keeps_numbers
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import argument, last_name
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.named_calls import builtin_or_qualified, dtype_name
from tflint_perf.analysis.values.values import Pipeline, Stage

_IMAGE_DECODERS = frozenset(
    f"tf.{space}.decode_{kind}"
    for space in ("io", "image")
    for kind in ("jpeg", "png", "image", "bmp", "gif", "and_crop_jpeg")
)
_DECODERS = _IMAGE_DECODERS | {"tf.audio.decode_wav"}
_READERS = frozenset({"tf.io.read_file", "tf.read_file"})
# Readers of image files that Python code calls.
_HOST_READERS = frozenset(
    {
        "cv2.imread",
        "PIL.Image.open",
        "imageio.imread",
        "imageio.v2.imread",
        "imageio.v3.imread",
        "skimage.io.imread",
        "matplotlib.pyplot.imread",
        "matplotlib.image.imread",
        "keras.utils.load_img",
        "keras.preprocessing.image.load_img",
    }
)
# What Python code reads whole files with, images or not.
_LOADERS = _HOST_READERS | {
    "np.load",
    "np.fromfile",
    "librosa.load",
    "nibabel.load",
    "scipy.io.loadmat",
    "soundfile.read",
}
_RUN_PYTHON = frozenset({"tf.py_function", "tf.py_func", "tf.numpy_function"})
# What gives far less than it takes.
_REDUCING = (
    "tf.reduce_", "tf.math.reduce_", "tf.argmax", "tf.math.argmax", "tf.math.top_k", "tf.nn.top_k", "tf.histogram",
    "tf.strings.length", "tf.strings.to_hash", "tf.norm", "tf.linalg.norm", "tf.size", "tf.shape",
)  # fmt: skip
_BUILTINS = frozenset({"len", "int", "float", "str", "bool", "print", "range", "tuple", "list", "dict", "isinstance",
                       "min", "max"})  # fmt: skip
_METHODS = frozenset({"set_shape", "get_shape", "as_list", "lookup", "format", "append"})
# An image of fewer pixels may take less than its file.
_SMALL = 128 * 128
_SMALL_IN_FLOATS = 96 * 96
_FLOATS = frozenset({"float32", "float64"})
_MAKE_FLOATS = frozenset({"tf.image.per_image_standardization", "tf.to_float", "keras.layers.Rescaling"})
# Layers that give an image of the size that they get.
_KEEP_SIZE = re.compile(
    r"^keras\.layers\.(experimental\.preprocessing\.)?(Random(Flip|Rotation|Zoom|Contrast|Brightness|Translation|Hue|Saturation)|"
    r"Gaussian(Noise|Dropout)|(Spatial)?Dropout(2D)?|Normalization)$"
)
# A function of such a name gives another image of the same size, where nothing more is known of it.
_AUGMENTS = re.compile(
    r"^(?!.*(crop|resiz|patch|extract|feature))(\w+_)?(aug(?![a-z])|augment|distort|jitter|flip|noise|rotat|normali[sz]|standardi[sz])",
    re.I,
)
# What leaves bytes what they are.
_KEEP_BYTES = re.compile(
    r"^tf\.(image\.(random_|stateless_random_|flip_|rot90|transpose|adjust_|resize_with_crop_or_pad|"
    r"resize_image_with_crop_or_pad|pad_to|crop_to|central_crop)|random\.|one_hot|reshape|expand_dims|squeeze|transpose|"
    r"stack|pad|shape|random_crop|identity|reverse)"
)
READS_FILES = "reads and decodes files"
# What a function of another file makes of bytes, and whether it divides them by 255.
_FLOATS_OF_ANY, _SCALED = "floats", "scaled floats"
# A function that runs more functions than this decides about more than an element.
_MOST = 40
# Bytes take a quarter of what floats take.
_BYTES_OF_A_FLOAT = 4


class Growth:
    """Answers what makes a stage's elements larger than those it is given; "" where nothing is seen to."""

    def __init__(self, infer: Inference, calls: CallGraph, iterations: Iterations) -> None:
        self._infer = infer
        self._calls = calls
        self._eight_bits = EightBits(infer, calls)
        self._sizes = ImageSizes(infer, iterations)

    def of_stage(self, stage: Stage, before: Pipeline) -> str:
        """How a stage behind `before` makes elements larger, or a source gives what is large: "decodes images"."""
        if stage.name not in ("map", "from_generator"):
            return ""
        choices = self._choices(stage)
        if stage.name == "from_generator":
            calls = [call for functions in choices for call in self._calls_of(functions)]
            reads = any(self._name(call) in _HOST_READERS for call in calls)
            return "gives whole images" if reads or gives_images(stage.call) else ""
        hows = [self._of_map(functions, self._calls_of(functions), before) for functions in choices]
        return (hows[0] if all(hows) else "") if hows else self._elsewhere(stage, before)

    def of_function(self, function: Function) -> str:
        """How a function of this file makes elements larger, as other files need to know it."""
        functions = list(islice(self._reached(function, set()), _MOST + 1))
        calls = self._calls_of(functions)
        if len(functions) > _MOST or not all(map(self._is_known, calls)) or self._reduces(functions):
            return ""
        how = self._by_decoding(calls)
        if how is None and self._makes_floats_of(functions, calls) and self._least(calls) == math.inf:
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
        return "makes floats of bytes" if self._size_before(before, scaled=how == _SCALED) else ""

    def stays_large(self, stage: Stage, before: Pipeline, how: str) -> bool:
        """Whether a stage behind `before` surely does not make much smaller elements of what became large, as `how`
        says: next to the name of a file any image is large."""
        if stage.name != "map":
            return stage.name in NEUTRAL or stage.name in ("filter", "enumerate", "with_options", *BATCHING)
        functions = [function for choice in self._choices(stage) for function in choice]
        calls = self._calls_of(functions)
        if not functions:
            return _AUGMENTS.search(last_name(argument(stage.call, 0, "map_func"))) is not None
        known = all(self._is_known(call) or _AUGMENTS.search(last_name(call.func)) for call in calls)
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
            return "makes floats of bytes" if least == math.inf else ""
        size = self._bytes_before(before, functions)
        grows = size is not None and (least == math.inf or _BYTES_OF_A_FLOAT * least > size)
        return "makes floats of bytes" if grows else ""

    def _by_decoding(self, calls: list[cst.Call]) -> str | None:
        """How calls make more of what they decode, "" where that is little; None where they decode no images."""
        names = {self._name(call) for call in calls}
        if (names & _READERS and names & _DECODERS) or any(map(self._reads_in_python, calls)):
            return READS_FILES
        if names & _IMAGE_DECODERS:
            resized = "tf.image.resize" in names and not any(map(keeps_numbers, calls))
            small = _SMALL_IN_FLOATS if resized or any(map(self._makes_floats, calls)) else _SMALL
            return "decodes images" if self._least(calls) >= small else ""
        return None

    def _makes_floats_of(self, functions: list[Function], calls: list[cst.Call]) -> bool:
        return any(map(self._makes_floats, calls)) or any(map(divides_by_255, functions))

    # What a mapped function does

    def _choices(self, stage: Stage) -> list[list[Function]]:
        """The functions of this file that a stage runs, for each that it may be given; none where one of these is
        not in sight."""
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
            found = self._infer.bindings_reaching(given)
            made = (
                [b.value for b in found[1] if b.kind == "assign" and b.path == ()]
                if found is not None
                else []
            )
            if found is not None and len(found[1]) == 1 and isinstance(made[0] if made else None, cst.IfExp):
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
        if name in _BUILTINS or name.startswith(("np.", "os.path.", "functools.")):
            return True
        if name.startswith("keras."):
            return (
                name in _MAKE_FLOATS
                or name.endswith(".preprocess_input")
                or _KEEP_SIZE.match(name) is not None
            )
        if name in _RUN_PYTHON:
            return self._reads_in_python(call)
        return name.startswith("tf.")

    def _reads_in_python(self, call: cst.Call) -> bool:
        """Whether a call is `tf.numpy_function(f, …)`, where `f` is a function of this file that reads files."""
        if self._name(call) not in _RUN_PYTHON or not call.args:
            return False
        function = self._infer.value(call.args[0].value).function
        reached = list(self._reached(function, set())) if function is not None else []
        return any(self._name(inner) in _LOADERS for inner in self._calls_of(reached))

    def _least(self, calls: list[cst.Call]) -> float:
        return self._sizes.least((self._name(call), call) for call in calls)

    def _reduces(self, functions: list[Function]) -> bool:
        """Whether what a function gives first is a statistic, and not an image that one was used for."""
        return any(self._is_reduced(given) for function in functions for given in _given_first(function))

    def _is_reduced(self, node: cst.BaseExpression) -> bool:
        if isinstance(node, cst.Name):
            found = self._infer.bindings_reaching(node)
            made = (
                [binding.value for binding in found[1] if binding.kind == "assign"]
                if found is not None
                else []
            )
            return any(isinstance(value, cst.Call) and self._is_reduced(value) for value in made)
        if not isinstance(node, cst.Call):
            return False
        name = self._name(node)
        wraps = name == "tf.cast" and bool(node.args)
        return self._is_reduced(node.args[0].value) if wraps else name.startswith(_REDUCING)

    # Bytes to floats

    def _makes_floats(self, call: cst.Call) -> bool:
        """Whether a call makes floats of what may be an image."""
        name = self._name(call)
        if not call.args or is_label(call.args[0].value):
            return False
        if name in _MAKE_FLOATS or name.endswith(".preprocess_input"):
            return True
        kind = argument(call, 1, "dtype")
        casts = name in ("tf.cast", "tf.image.convert_image_dtype", "tf.dtypes.cast", "keras.backend.cast")
        return casts and kind is not None and dtype_name(self._infer, kind) in _FLOATS

    def _decodes_bytes(self, call: cst.Call) -> bool:
        kind = (
            argument(call, 1, "out_type")
            if self._name(call) in ("tf.io.decode_raw", "tf.decode_raw")
            else None
        )
        return kind is not None and dtype_name(self._infer, kind) == "uint8"

    def _bytes_before(self, before: Pipeline, functions: list[Function]) -> float | None:
        """How many pixels the 8-bit images have at the end of a pipeline; None where they are not known to be such."""
        return self._size_before(before, scaled=any(map(scales_eight_bits, functions)))

    def _size_before(self, before: Pipeline, *, scaled: bool) -> float | None:
        for stage in before[1:]:
            if stage.name not in NEUTRAL and not (stage.name == "map" and self._keeps_bytes(stage)):
                return None
        return self._eight_bits.at_source(before, scaled=scaled)

    def _keeps_bytes(self, stage: Stage) -> bool:
        """Whether a map surely gives images of bytes where it gets such."""
        given = argument(stage.call, 0, "map_func")
        if given is not None and _KEEP_BYTES.match(self._infer.names.qualified(given)):
            return True
        functions = [function for choice in self._choices(stage) for function in choice]
        calls = self._calls_of(functions)
        return (
            bool(functions)
            and all(_KEEP_BYTES.match(self._name(call)) or self._is_cast_of_label(call) for call in calls)
            and not any(map(computes, functions))
        )

    def _is_cast_of_label(self, call: cst.Call) -> bool:
        return self._name(call) == "tf.cast" and bool(call.args) and is_label(call.args[0].value)


def _given_first(function: Function) -> Iterator[cst.BaseExpression]:
    """What a function gives, or the first part of it: an image, in front of its label."""
    if isinstance(function.node, cst.Lambda):
        given = [function.node.body]
    else:
        given = [statement.value for statement in function.returns if statement.value is not None]
    for node in given:
        yield node.elements[0].value if isinstance(node, cst.Tuple) and node.elements else node
