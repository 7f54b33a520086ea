"""Which stages of an input pipeline make elements larger in bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from tflint_perf.model.calls import CallGraph
from tflint_perf.model.dataset_apis import BATCHING
from tflint_perf.model.infer import Inference
from tflint_perf.model.named_calls import builtin_or_qualified, dtype_name
from tflint_perf.model.pipelines import NEUTRAL
from tflint_perf.model.scopes import Binding, Function
from tflint_perf.model.syntax import argument, descendants, descendants_here, integer
from tflint_perf.model.values import Pipeline, Stage

_IMAGE_DECODERS = frozenset(
    f"tf.{space}.decode_{kind}"
    for space in ("io", "image")
    for kind in ("jpeg", "png", "image", "bmp", "gif", "and_crop_jpeg")
)
_DECODERS = _IMAGE_DECODERS | {"tf.audio.decode_wav"}
_READERS = frozenset({"tf.io.read_file", "tf.read_file"})
# Readers of image files that a generator calls.
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
# What gives far less than it takes.
_REDUCING = (
    "tf.reduce_", "tf.math.reduce_", "tf.argmax", "tf.math.argmax", "tf.math.top_k", "tf.nn.top_k", "tf.histogram",
    "tf.strings.length", "tf.strings.to_hash", "tf.norm", "tf.linalg.norm", "tf.size",
)  # fmt: skip
_CUTTING = ("resize", "crop", "extract_", "slice", "glimpse")
_BUILTINS = frozenset(
    {
        "len",
        "int",
        "float",
        "str",
        "bool",
        "print",
        "range",
        "tuple",
        "list",
        "dict",
        "isinstance",
        "min",
        "max",
    }
)
_METHODS = frozenset({"set_shape", "get_shape", "as_list", "lookup", "format"})
# An image with a side shorter than this may take less than its file. Shorter ones are channels and offsets.
_SHORT_SIDE, _CHANNELS = 128, 4
_EIGHT_BIT_DATA = frozenset(
    f"keras.datasets.{name}.load_data" for name in ("mnist", "fashion_mnist", "cifar10", "cifar100")
)
_FLOATS = frozenset({"float32", "float64"})
_EIGHT_BIT_SCALES = frozenset({255, 256})
# Names that stand for names, no deeper than this.
_DEEPEST = 3


class Growth:
    """Answers what makes a stage's elements larger than those it is given; "" where nothing is seen to."""

    def __init__(self, infer: Inference, calls: CallGraph) -> None:
        self._infer = infer
        self._calls = calls

    def of_stage(self, stage: Stage, before: Pipeline) -> str:
        """How a stage behind `before` makes elements larger, or a source gives what is large: "decodes images"."""
        name = "map_func" if stage.name == "map" else "generator" if stage.name == "from_generator" else ""
        given = argument(stage.call, 0, name) if name else None
        function = self._infer.value(given).function if given is not None else None
        if function is None:
            return ""
        functions = list(self._reached(function, set()))
        calls = self._calls_of(functions)
        if stage.name == "from_generator":
            return "gives whole images" if any(self._name(call) in _HOST_READERS for call in calls) else ""
        return self._of_map(functions, calls, before)

    def stays_large(self, stage: Stage) -> bool:
        """Whether a stage surely does not make much smaller elements of large ones."""
        if stage.name != "map":
            return stage.name in NEUTRAL or stage.name in ("filter", "enumerate", "with_options", *BATCHING)
        given = argument(stage.call, 0, "map_func")
        function = self._infer.value(given).function if given is not None else None
        if function is None:
            return False
        calls = self._calls_of(self._reached(function, set()))
        names = [self._name(call) for call in calls]
        if any(name.startswith(_REDUCING) for name in names) or not all(map(self._is_known, calls)):
            return False
        return all(
            self._stays_large(call) for call in calls if any(word in self._name(call) for word in _CUTTING)
        )

    def _of_map(self, functions: list[Function], calls: list[cst.Call], before: Pipeline) -> str:
        names = {self._name(call) for call in calls}
        if not all(map(self._is_known, calls)) or any(name.startswith(_REDUCING) for name in names):
            return ""
        cuts = [call for call in calls if any(word in self._name(call) for word in _CUTTING)]
        if names & _READERS and names & _DECODERS:
            return "reads and decodes files"
        if names & _IMAGE_DECODERS:
            return "decodes images" if all(map(self._stays_large, cuts)) else ""
        if cuts or not any(map(self._casts_to_float, calls)):
            return ""
        of_bytes = any(map(self._decodes_bytes, calls)) or self._gives_bytes(before, functions)
        return "makes floats of bytes" if of_bytes else ""

    # What a mapped function does

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
        return builtin_or_qualified(self._infer, call.func)

    def _is_known(self, call: cst.Call) -> bool:
        name = self._name(call)
        if not name:
            return isinstance(call.func, cst.Attribute) and call.func.attr.value in _METHODS
        if name in _BUILTINS or name.startswith(("np.", "os.path.", "functools.")):
            return True
        return name.startswith("tf.") and not name.startswith(("tf.py_", "tf.numpy_function"))

    def _stays_large(self, cut: cst.Call) -> bool:
        """Whether the size that an image is cut or resized to is in sight, and no side of it is short."""
        sizes = [size for arg in cut.args for size in self._integers(arg.value, 0) if size > _CHANNELS]
        return bool(sizes) and min(sizes) >= _SHORT_SIDE

    def _integers(self, node: cst.BaseExpression, depth: int) -> Iterator[int]:
        """The integers that an expression is made of, through names that are bound once."""
        for below in descendants(node):
            number = integer(below) if isinstance(below, cst.BaseNumber) else None
            if number is not None:
                yield number
            elif isinstance(below, cst.Name) and depth < _DEEPEST:
                value = binding.value if (binding := self._only_binding(below)) is not None else None
                if isinstance(value, cst.BaseNumber | cst.Tuple | cst.List):
                    yield from self._integers(value, depth + 1)

    def _only_binding(self, name: cst.Name) -> Binding | None:
        """The one assignment that a name has its value from."""
        found = self._infer.bindings_reaching(name)
        if found is None or len(found[1]) != 1 or found[1][0].kind != "assign":
            return None
        return found[1][0]

    # Bytes to floats

    def _casts_to_float(self, call: cst.Call) -> bool:
        kind = argument(call, 1, "dtype")
        casts = self._name(call) in ("tf.cast", "tf.image.convert_image_dtype")
        return casts and kind is not None and dtype_name(self._infer, kind) in _FLOATS

    def _decodes_bytes(self, call: cst.Call) -> bool:
        kind = (
            argument(call, 1, "out_type")
            if self._name(call) in ("tf.io.decode_raw", "tf.decode_raw")
            else None
        )
        return kind is not None and dtype_name(self._infer, kind) == "uint8"

    def _gives_bytes(self, before: Pipeline, functions: list[Function]) -> bool:
        """Whether the elements at the end of a pipeline, or their first parts, are 8-bit numbers."""
        source = before[0]
        if any(stage.name not in NEUTRAL for stage in before[1:]):
            return False
        if source.name == "tfds.load":
            return any(_scales_eight_bits(function) for function in functions)
        given = (
            source.call.args[0].value if source.name == "from_tensor_slices" and source.call.args else None
        )
        if isinstance(given, cst.Tuple) and given.elements:
            given = given.elements[0].value
        return given is not None and self._is_eight_bit(given)

    def _is_eight_bit(self, node: cst.BaseExpression) -> bool:
        if self._infer.value(node).dtype == "uint8":
            return True
        if isinstance(node, cst.Subscript):
            return self._is_eight_bit(node.value)
        binding = self._only_binding(node) if isinstance(node, cst.Name) else None
        if binding is None or not isinstance(binding.value, cst.Call) or not binding.path:
            return False
        return self._name(binding.value) in _EIGHT_BIT_DATA and binding.path[-1] == 0


def _scales_eight_bits(function: Function) -> bool:
    """Whether a function divides by 255."""
    return any(
        isinstance(node, cst.BinaryOperation)
        and isinstance(node.operator, cst.Divide)
        and integer(node.right) in _EIGHT_BIT_SCALES
        for node in descendants_here(function.node.body)
    )
