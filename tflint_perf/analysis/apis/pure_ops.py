"""Ops that do nothing but compute: without what they give, they might as well not run."""

from __future__ import annotations

from tflint_perf.analysis.apis.apis import kind_of_call


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Namespaces all of whose ops only compute.
_PURE_SPACES = ("tf.math", "tf.nn", "tf.linalg", "tf.image", "tf.strings", "tf.signal", "tf.bitwise", "keras.activations",
                "keras.ops")  # fmt: skip
# Ops at the top of `tf` that only compute something of what they are given, and check nothing.
_PURE = _words(
    "abs acos acosh add add_n argmax argmin argsort asin asinh atan atan2 atanh batch_to_space bitcast boolean_mask "
    "cast clip_by_global_norm clip_by_norm clip_by_value complex concat cos cosh cumsum divide dynamic_partition "
    "dynamic_stitch einsum equal exp expand_dims floor gather gather_nd gradients greater greater_equal histogram_fixed_width "
    "image_gradients less less_equal logical_and logical_not logical_or matmul maximum meshgrid minimum multiply "
    "negative norm not_equal one_hot ones_like pad pow realdiv reduce_all reduce_any reduce_logsumexp reduce_max "
    "reduce_mean reduce_min reduce_prod reduce_sum repeat reshape reverse reverse_sequence roll round saturate_cast "
    "scalar_mul searchsorted sequence_mask sigmoid sign sin sinh slice sort space_to_batch split sqrt square squeeze "
    "stack stop_gradient strided_slice subtract tan tanh tensor_scatter_nd_add tensor_scatter_nd_max "
    "tensor_scatter_nd_min tensor_scatter_nd_sub tensor_scatter_nd_update tensordot tile transpose truediv unique "
    "unsorted_segment_sum unstack where zeros_like"
)
# They call what they are given.
_CONTROL_FLOW = frozenset({"associative_scan", "cond", "custom_gradient", "custom_recurrent", "fori_loop", "map", "scan",
                           "switch", "vectorized_map", "while_loop"})  # fmt: skip


def is_pure_op(name: str) -> bool:
    """Whether calling a function, by its qualified name, has no effect but to compute what it gives."""
    space, _, last = name.rpartition(".")
    if space == "tf":
        return last in _PURE
    if space in ("keras.metrics", "keras.losses"):
        # The functions beside the classes.
        return last[:1].islower() and last not in ("get", "serialize", "deserialize")
    if space not in _PURE_SPACES or last in _CONTROL_FLOW or last.startswith(("random", "assert")):
        return False
    return kind_of_call(name) in ("tensor", "tensors") or space in ("tf.math", "tf.linalg")
