"""What the names of TensorFlow, Keras and NumPy stand for, as far as kinds of values go."""

from __future__ import annotations

import re

from tflint_perf.analysis.apis.dataset_apis import DATASET_FUNCTIONS

# Namespaces whose lower-case functions are ops: they give tensors.
_OP_SPACES = frozenset(
    [
        "tf",
        "tf.math",
        "tf.nn",
        "tf.linalg",
        "tf.random",
        "tf.image",
        "tf.strings",
        "tf.signal",
        "tf.sparse",
        "tf.ragged",
        "tf.bitwise",
        "tf.audio",
        "tf.quantization",
        "tf.raw_ops",
        "tf.layers",
        "keras.backend",
        "keras.ops",
        "keras.losses",
        "keras.metrics",
        "keras.activations",
        "keras.random",
    ]
)
_NO_OPS = frozenset(
    [
        "tf.function",
        "tf.device",
        "tf.name_scope",
        "tf.print",
        "tf.group",
        "tf.no_op",
        "tf.is_tensor",
        "tf.executing_eagerly",
        "tf.get_static_value",
        "tf.init_scope",
        "tf.variable_creator_scope",
        "tf.control_dependencies",
        "tf.custom_gradient",
        "tf.recompute_grad",
        "tf.stop_recording",
        "tf.inside_function",
        "tf.get_logger",
        "tf.variable_scope",
        "tf.get_variable",
        "tf.get_variable_scope",
        "tf.trainable_variables",
        "tf.global_variables",
        "tf.local_variables",
        "tf.model_variables",
        "tf.get_collection",
        "tf.add_to_collection",
        "tf.get_default_graph",
        "tf.get_default_session",
        "tf.reset_default_graph",
        "tf.global_variables_initializer",
        "tf.local_variables_initializer",
        "tf.variables_initializer",
        "tf.initialize_all_variables",
        "tf.tables_initializer",
        "tf.set_random_seed",
        "tf.random.set_seed",
        "tf.enable_eager_execution",
        "tf.disable_eager_execution",
        "tf.enable_v2_behavior",
        "tf.disable_v2_behavior",
        "tf.make_template",
        "tf.assert_variables_initialized",
        "tf.numpy_function",
        "tf.py_function",
        "tf.py_func",
        "tf.while_loop",
        "tf.cond",
        "tf.case",
        "tf.switch_case",
        "tf.map_fn",
        "tf.vectorized_map",
        "tf.scan",
        "tf.foldl",
        "tf.foldr",
        "tf.shape_n",
        "tf.required_space_to_batch_paddings",
        "tf.gradients",
        "tf.get_seed",
        "tf.as_bytes",
        "tf.as_dtype",
        "tf.as_str",
        "tf.as_str_any",
        "tf.as_text",
        "tf.path_to_str",
        "tf.import_graph_def",
        "tf.load_op_library",
        "tf.register_tensor_conversion_function",
        "tf.type_spec_from_value",
        "tf.random.get_global_generator",
        "tf.random.set_global_generator",
        "tf.random.create_rng_state",
        "tf.make_ndarray",
        "tf.make_tensor_proto",
        "tf.nn.dynamic_rnn",
        "tf.nn.bidirectional_dynamic_rnn",
        "tf.nn.static_rnn",
        "keras.backend.clear_session",
        "keras.backend.set_floatx",
        "keras.backend.floatx",
        "keras.backend.epsilon",
        "keras.backend.set_session",
        "keras.backend.get_session",
        "keras.backend.function",
        "keras.backend.int_shape",
        "keras.backend.ndim",
        "keras.backend.set_learning_phase",
        "keras.backend.learning_phase",
        "keras.backend.get_value",
        "keras.backend.set_value",
        "keras.backend.batch_get_value",
        "keras.backend.set_image_data_format",
        "keras.backend.image_data_format",
        "keras.backend.backend",
        "keras.backend.get_uid",
        "keras.backend.update",
        "keras.losses.get",
        "keras.losses.deserialize",
        "keras.losses.serialize",
        "keras.metrics.get",
        "keras.metrics.deserialize",
        "keras.metrics.serialize",
        "keras.activations.get",
        "keras.activations.deserialize",
        "keras.activations.serialize",
    ]
)
# Ops that give several tensors.
_LISTS_OF_TENSORS = frozenset(
    [
        "tf.unstack",
        "tf.split",
        "tf.meshgrid",
        "tf.math.top_k",
        "tf.nn.top_k",
        "tf.nn.moments",
        "tf.unique",
        "tf.unique_with_counts",
        "tf.linalg.svd",
        "tf.linalg.qr",
        "tf.linalg.eigh",
        "tf.dynamic_partition",
        "tf.clip_by_global_norm",
        "tf.random.experimental.stateless_split",
        "tf.nn.fused_batch_norm",
    ]
)

_ARRAY_MODULES = ("np.", "scipy.", "cv2.", "PIL.", "skimage.")
_NO_ARRAYS = frozenset(
    [
        "np.float32",
        "np.float64",
        "np.int32",
        "np.int64",
        "np.float16",
        "np.uint8",
        "np.int8",
        "np.int16",
        "np.bool_",
        "np.dtype",
        "np.save",
        "np.savez",
        "np.savez_compressed",
        "np.savetxt",
        "np.random.seed",
        "np.random.set_state",
        "np.random.RandomState",
        "np.random.default_rng",
        "np.random.Generator",
        "np.set_printoptions",
        "np.seterr",
        "np.iinfo",
        "np.finfo",
        "np.load",
        "np.isscalar",
        "np.ndim",
        "np.size",
        "np.shape",
        "np.allclose",
        "np.array_equal",
        "np.errstate",
        "np.random.shuffle",
        "np.prod",
        "np.testing.assert_allclose",
    ]
)


def kind_of_call(name: str) -> str:
    """The kind of value that calling `name` (a qualified name) gives; "" when that is not known."""
    space, _, last = name.rpartition(".")
    if name.startswith("np.") or name.startswith(_ARRAY_MODULES):
        return "array" if name not in _NO_ARRAYS and last[:1].islower() else ""
    if not name.startswith(("tf.", "keras.")):
        return "model" if _TRANSFORMERS.fullmatch(name) else _BUILTIN_CALLS.get(name, "")
    if name in _EXACT:
        return _EXACT[name]
    if space == "keras.models" or space == "keras":
        return (
            "model" if last in ("Model", "Sequential", "load_model", "clone_model", "model_from_json") else ""
        )
    if space.startswith("keras.applications"):
        return "model" if last[:1].isupper() else ""
    if space.startswith(("keras.layers", "tf.layers")) and last[:1].isupper():
        return "layer"
    if space.startswith(("keras.optimizers", "tf.train")) and last.endswith(_OPTIMIZERS):
        return "optimizer"
    if space.startswith("keras.metrics") and last[:1].isupper():
        return "metric"
    if space.startswith("keras.losses") and last[:1].isupper():
        return "loss"
    if name in DATASET_FUNCTIONS:
        return "dataset"
    if name in _LISTS_OF_TENSORS:
        return "tensors"
    if space in _OP_SPACES and name not in _NO_OPS and not name.startswith(_SUMMARIES) and last[:1].islower():
        return "tensor"
    if space == "tf.io" and last.startswith(("decode_", "read_file", "parse_tensor", "serialize_")):
        return "tensor"
    return ""


# The Keras models of Hugging Face's library.
_TRANSFORMERS = re.compile(r"transformers\.(\w+\.)*TF(?!Train)[A-Z]\w*(\.from_(pretrained|config))?")
_SUMMARIES = ("tf.assert", "tf.debugging")
_OPTIMIZERS = ("Optimizer", "SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "Nadam", "Ftrl", "Lion",
               "Adafactor", "LossScaleOptimizer")  # fmt: skip
_EXACT = {
    "tf.Variable": "variable",
    "tf.get_variable": "variable",
    "tf.GradientTape": "tape",
    "tf.Session": "session",
    "tf.InteractiveSession": "session",
    "tf.train.MonitoredTrainingSession": "session",
    "tf.train.MonitoredSession": "session",
    "tf.train.SingularMonitoredSession": "session",
    "tf.function": "compiled",
    "tf.placeholder": "tensor",
    "tf.py_function": "tensor",
    "tf.numpy_function": "tensor",
    "tf.map_fn": "tensor",
    "tf.vectorized_map": "tensor",
    "tf.TensorArray": "object",
    "tf.Tensor": "tensor",
    "keras.Input": "tensor",
    "keras.layers.Input": "tensor",
    "tf.train.Checkpoint": "object",
    "tf.train.CheckpointManager": "object",
    "tf.summary.create_file_writer": "object",
    "tf.summary.FileWriter": "object",
    "keras.utils.Progbar": "object",
    "tf.keras.utils.Progbar": "object",
    "tf.distribute.MirroredStrategy": "strategy",
    "tf.distribute.MultiWorkerMirroredStrategy": "strategy",
    "tf.distribute.TPUStrategy": "strategy",
    "tf.distribute.experimental.TPUStrategy": "strategy",
    "tf.distribute.experimental.MultiWorkerMirroredStrategy": "strategy",
    "tf.distribute.experimental.CentralStorageStrategy": "strategy",
    "tf.distribute.OneDeviceStrategy": "strategy",
    "tf.distribute.get_strategy": "strategy",
    "tf.hub.load": "model",
}
_BUILTIN_CALLS = {
    "len": "number",
    "int": "number",
    "float": "number",
    "abs": "",
    "round": "number",
    "str": "string",
    "repr": "string",
    "bool": "number",
    "time.time": "number",
    "time.perf_counter": "number",
    "random.random": "number",
    "random.randint": "number",
    "random.uniform": "number",
    "random.randrange": "number",
    "math.exp": "number",
    "math.sqrt": "number",
    "math.log": "number",
    "math.ceil": "number",
    "math.floor": "number",
    "math.cos": "number",
    "math.sin": "number",
    "math.pow": "number",
    "input": "string",
}
# Methods of tensors and variables that give tensors.
TENSOR_METHODS = frozenset(["read_value", "value", "assign", "assign_add", "assign_sub", "scatter_nd_update", "sparse_read", "gather_nd", "to_tensor"])  # fmt: skip
