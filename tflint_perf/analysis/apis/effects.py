"""What functions of libraries do besides giving a value: which only compute, copy, draw or keep; facts, by qualified name."""

from __future__ import annotations

from tflint_perf.analysis.apis.pure_ops import is_pure_op
from tflint_perf.analysis.apis.randomness import is_random_op

# What these libraries give by name is theirs: nobody who trains a model assigns to it (where a file does, it says so).
LIBRARIES = ("tf", "keras", "np", "math")


def _names(space: str, words: str) -> frozenset[str]:
    return frozenset(f"{space}.{word}" for word in words.split())


# They make a tensor of what they are given, and copy it: a tensor never shares memory with an array that may be written to.
_TENSOR_MAKERS = _names(
    "tf",
    "constant convert_to_tensor zeros ones fill range eye linspace identity shape rank size zeros_initializer",
)
# They give one dense tensor, whatever they are given.
_ONE_TENSOR = _names("tf", "constant convert_to_tensor zeros ones fill range eye") | _names(
    "tf.random", "normal uniform truncated_normal"
)
# They draw, and are no ops of `tf.random`.
_DRAWING = _names("tf.nn", "fractional_avg_pool fractional_max_pool dropout") | _names(
    "tf.image", "sample_distorted_bounding_box generate_bounding_box_proposals"
)
# Ops that read bytes that they are given, not files.
_DECODING = ("tf.io.decode_", "tf.io.parse_", "tf.image.decode_")
# Functions of NumPy that only read what they are given, and give an array of its own, by how many arrays they take: what
# stands behind those may be the array that they write to.
_UNARY = _names(
    "np", "abs absolute sqrt square exp log log1p sin cos tan tanh floor ceil sign isnan isfinite"
)
_BINARY = _names("np", "add subtract multiply divide power maximum minimum dot matmul outer")
_TERNARY = _names("np", "where clip")
_OTHERS = _names(
    "np",
    "zeros ones full eye identity arange linspace logspace zeros_like ones_like full_like tile repeat concatenate stack "
    "vstack hstack mean sum std var max min amax amin prod argmax argmin cumsum round sort argsort array float16 float32 "
    "float64 int8 int16 int32 int64 uint8 bool_ any all count_nonzero median percentile",
) | _names("np.linalg", "norm inv det")
NUMPY_COPYING = _UNARY | _BINARY | _TERNARY | _OTHERS
# The same, but for the numbers in it, which nobody knows beforehand.
NUMPY_DRAWING = _names(
    "np.random",
    "rand randn random randint normal uniform random_sample standard_normal choice permutation poisson binomial "
    "exponential beta gamma",
) | _names("np", "empty empty_like")
GENERATORS = _names("np.random", "default_rng RandomState")
# What they give may share memory with what they are given.
NUMPY_VIEWS = _names(
    "np", "asarray ascontiguousarray reshape ravel squeeze expand_dims transpose swapaxes moveaxis flip atleast_1d "
    "atleast_2d broadcast_to split array_split"
)  # fmt: skip
ARRAY_VIEWS = frozenset({"reshape", "ravel", "T", "transpose", "squeeze", "swapaxes", "view"})
ARRAY_COPIES = frozenset(
    ["astype", "copy", "flatten", "mean", "sum", "max", "min", "std", "var", "argmax", "argmin", "all", "any", "cumsum", "prod",
     "dot", "round", "clip", "nonzero", "repeat", "tolist", "item", "tobytes"]
)  # fmt: skip
ARRAY_FACTS = frozenset({"shape", "dtype", "ndim", "size", "nbytes"})
# Data sets that Keras brings: arrays that are made anew for whoever asks.
DATA = ("keras.datasets.",)
# Builtins that look at what they are given and keep nothing of it.
BUILTINS_READING = frozenset({"print", "len", "float", "int", "str", "repr", "bool", "range", "round", "abs", "isinstance", "type"})  # fmt: skip
BUILTINS_PURE = frozenset({"len", "float", "int", "bool", "range", "tuple"})

DATASET_SOURCES = _names("tf.data.Dataset", "from_tensor_slices from_tensors range zip")
# Stages that give the same elements whenever they are asked, if what they are given does.
DATASET_STAGES = frozenset(
    ["batch", "padded_batch", "map", "filter", "take", "skip", "repeat", "prefetch", "enumerate", "shard", "unbatch",
     "window", "concatenate", "flat_map"]
)  # fmt: skip
# Stages that keep or draw something, which stays with the dataset: to run ahead of the step changes nothing of it.
DATASET_STAGES_OF_ORDER = frozenset({"shuffle", "cache"})
CALLING_STAGES = frozenset({"map", "filter", "flat_map", "interleave", "take_while"})


def computes(name: str) -> bool:
    """Whether a function of a library does nothing but compute: it gives the same for the same, and has no effect."""
    if name in _TENSOR_MAKERS or name in NUMPY_COPYING:
        return True
    if name in _DRAWING or is_random_op(name) or ".random" in name or "sample" in name:
        return False
    if name.startswith("keras.ops.convert_to_numpy"):
        return False
    return is_pure_op(name) or name.startswith(_DECODING)


def writes_to_an_argument(name: str, given: int, keywords: set[str]) -> bool:
    """Whether a function of NumPy, called with so many arguments by place, may write to one, or give it back."""
    takes = 1 if name in _UNARY else 2 if name in _BINARY else 3 if name in _TERNARY else None
    if takes is None:  # `axis` and `dtype` stand in front of it
        takes = 2 if name in _OTHERS else given
    return given > takes or not keywords.isdisjoint(("out", "copy"))


def gives_one_tensor(name: str) -> bool:
    """Whether a function gives one tensor, and no list or tuple of such."""
    return name in _ONE_TENSOR


def makes_tensor(name: str) -> bool:
    """Whether a function gives a tensor, which nobody can change, whatever it draws or reads for that."""
    return name in _TENSOR_MAKERS or (name.startswith("tf.") and (is_pure_op(name) or is_random_op(name)))
