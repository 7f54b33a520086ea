"""What adds to TensorFlow 1's graph when it is called, by qualified name and by kind of value."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.apis.rows import fact, has, methods
from tflint_perf.analysis.python.syntax import callee_name
from tflint_perf.analysis.values.infer import Inference

# Functions that read what the graph holds so far.
OF_COLLECTIONS = frozenset(
    {
        "tf.global_variables_initializer",
        "tf.local_variables_initializer",
        "tf.initialize_all_variables",
        "tf.initialize_local_variables",
        "tf.initialize_all_tables",
        "tf.tables_initializer",
        "tf.report_uninitialized_variables",
        "tf.summary.merge_all",
        "tf.merge_all_summaries",
        "tf.losses.get_total_loss",
        "tf.train.Saver",
    }
)
_OPS = frozenset(
    {
        "tf.variables_initializer",
        "tf.initialize_variables",
        "tf.gradients",
        "tf.hessians",
        "tf.group",
        "tf.no_op",
        "tf.case",
        "tf.cond",
        "tf.while_loop",
        "tf.scan",
        "tf.foldl",
        "tf.foldr",
        "tf.py_func",
        "tf.numpy_function",
        "tf.py_function",
        "tf.placeholder",
        "tf.sparse_placeholder",
        "tf.placeholder_with_default",
        "tf.summary.merge",
        "tf.summary.scalar",
        "tf.summary.histogram",
        "tf.summary.image",
        "tf.summary.audio",
        "tf.summary.text",
        "tf.summary.tensor_summary",
        "tf.scalar_summary",
        "tf.histogram_summary",
        "tf.image_summary",
        "tf.merge_summary",
        "tf.Print",
        "tf.Assert",
        "tf.train.batch",
        "tf.train.shuffle_batch",
        "tf.train.string_input_producer",
        "tf.train.slice_input_producer",
        "tf.train.exponential_decay",
        "tf.train.polynomial_decay",
        "tf.train.piecewise_constant",
        "tf.train.cosine_decay",
        "tf.data.make_one_shot_iterator",
        "tf.data.make_initializable_iterator",
    }
)
# Spaces of version 1 whose lower-case functions make ops, besides those of version 2.
_SPACES = ("tf.losses", "tf.metrics", "tf.layers", "tf.nn", "tf.image", "tf.spectral")
# Lower-case functions of `tf` that make no op.
_NO_OPS = frozenset(
    {
        "tf.moving_average_variables",
        "tf.dimension_value",
        "tf.dimension_at_index",
        "tf.broadcast_static_shape",
        "tf.container",
        "tf.op_scope",
        "tf.colocate_with",
        "tf.no_regularizer",
        "tf.no_gradient",
        "tf.disable_resource_variables",
        "tf.enable_resource_variables",
        "tf.resource_variables_enabled",
        "tf.get_local_variable_scope",
        "tf.get_logger",
        "tf.losses.get_losses",
        "tf.losses.get_regularization_losses",
        "tf.losses.add_loss",
    }
)
_NO_OP_ENDS = ("_initializer", "_partitioner", "_library", "_regularizer", "_scope", "_enabled")
_NO_OP_STARTS = (
    "tf.enable_",
    "tf.disable_",
    "tf.register_",
    "tf.load_",
    "tf.get_default",
    "tf.train.get_",
    "tf.assert_",
)

_STATE = frozenset({"tf.Variable", "tf.get_variable", "tf.get_local_variable"})
_ITERATORS = frozenset(
    {"make_one_shot_iterator", "make_initializable_iterator", "from_structure", "from_string_handle"}
)
_ASSIGNS = frozenset(
    {
        "assign",
        "assign_add",
        "assign_sub",
        "scatter_update",
        "scatter_add",
        "scatter_sub",
        "initialized_value",
    }
)
_ASSIGN = frozenset({"assign", "assign_add", "assign_sub"})
_OF_OPTIMIZERS = frozenset({"minimize", "apply_gradients", "compute_gradients"})


def adds_to_graph(infer: Inference, call: cst.Call) -> bool:
    """Whether a call, made in graph mode, surely adds ops or variables to the graph."""
    name = infer.names.qualified(call.func)
    if name:
        return _adds_by_name(name)
    if not isinstance(call.func, cst.Attribute):
        return infer.value(call.func).kind == "layer"
    method, base = call.func.attr.value, infer.value(call.func.value)
    match base.kind:
        case "optimizer":
            return method in _OF_OPTIMIZERS and base.klass is None
        case "variable":
            return method in _ASSIGNS
        case "unknown":
            # Nothing else that a session's program calls so takes one value.
            return (
                method in _ASSIGN
                and len(call.args) == 1
                and call.args[0].keyword is None
                and not call.args[0].star
            )
        case "dataset":
            return method in methods("Dataset", "stage") or method in _ITERATORS
        case "iterator":
            return method == "get_next"
    return False


def _adds_by_name(name: str) -> bool:
    if not name.startswith("tf."):
        return False
    if name in OF_COLLECTIONS or name in _OPS or name in _STATE:
        return True
    if name in _NO_OPS or name.endswith(_NO_OP_ENDS) or name.startswith(_NO_OP_STARTS):
        return False
    space, _, last = name.rpartition(".")
    if space in _SPACES and last[:1].islower() and fact(name, "gives") != "":
        return True
    if (
        space in ("tf.losses", "tf.metrics")
        and last[:1].islower()
        and not last.startswith(("get", "deserialize", "serialize"))
    ):
        return True
    if space == "tf.data.Dataset":
        return has(name, "source")
    return fact(name, "gives") in ("tensor", "tensors", "dataset")


def makes_state(infer: Inference, call: cst.Call) -> bool:
    """Whether a call makes variables, or something else that remembers from one run to the next."""
    name = infer.names.qualified(call.func)
    return (
        name in _STATE
        or name.startswith(("tf.metrics.", "tf.layers.", "tf.contrib."))
        or infer.value(call.func).kind == "layer"
    )


def assigned(infer: Inference, call: cst.Call) -> cst.BaseExpression | None:
    """The variable that `tf.assign(v, x)` or `v.assign(x)` gives a value."""
    if callee_name(call) not in _ASSIGNS:
        return None
    if infer.names.qualified(call.func):
        return call.args[0].value if call.args else None
    return call.func.value if isinstance(call.func, cst.Attribute) else None


def adds_to_collections(infer: Inference, call: cst.Call) -> bool:
    """Whether a call adds what functions of `OF_COLLECTIONS` find in the graph: variables, summaries, losses."""
    name = infer.names.qualified(call.func)
    if name in OF_COLLECTIONS:
        return False
    return makes_state(infer, call) or trains(infer, call) or name.startswith(("tf.summary.", "tf.losses."))


def makes_iterator(call: cst.Call) -> bool:
    """Whether a call makes an iterator that begins where the dataset begins."""
    return callee_name(call) in _ITERATORS


def trains(infer: Inference, call: cst.Call) -> bool:
    """Whether a call asks an optimizer for its ops, which may bring variables of its own."""
    return isinstance(call.func, cst.Attribute) and infer.value(call.func.value).kind == "optimizer"
