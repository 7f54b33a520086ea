"""NumPy's functions that TensorFlow has too, with the same meaning for the same arguments."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.python.syntax import has_stars

# By how many positional arguments they take, and which keywords both know by the same name.
_SAME_NAME = ("abs", "acos", "ceil", "cos", "cosh", "exp", "expand_dims", "floor", "ones_like", "pow", "reshape", "round",
              "sign", "sin", "sinh", "sqrt", "square", "squeeze", "tan", "tanh", "zeros_like")  # fmt: skip
_TENSORFLOW = {
    **{f"np.{name}": name for name in _SAME_NAME},
    "np.absolute": "abs",
    "np.add": "add",
    "np.arccos": "acos",
    "np.arcsin": "asin",
    "np.arctan": "atan",
    "np.arctan2": "atan2",
    "np.clip": "clip_by_value",
    "np.concatenate": "concat",
    "np.divide": "divide",
    "np.equal": "equal",
    "np.expm1": "math.expm1",
    "np.greater": "greater",
    "np.isfinite": "math.is_finite",
    "np.isinf": "math.is_inf",
    "np.isnan": "math.is_nan",
    "np.less": "less",
    "np.log": "math.log",
    "np.log1p": "math.log1p",
    "np.logical_and": "logical_and",
    "np.logical_not": "logical_not",
    "np.logical_or": "logical_or",
    "np.matmul": "matmul",
    "np.max": "reduce_max",
    "np.amax": "reduce_max",
    "np.maximum": "maximum",
    "np.mean": "reduce_mean",
    "np.min": "reduce_min",
    "np.amin": "reduce_min",
    "np.minimum": "minimum",
    "np.multiply": "multiply",
    "np.power": "pow",
    "np.prod": "reduce_prod",
    "np.stack": "stack",
    "np.std": "math.reduce_std",
    "np.subtract": "subtract",
    "np.sum": "reduce_sum",
    "np.transpose": "transpose",
    "np.var": "math.reduce_variance",
    "np.where": "where",
}
_REDUCTIONS = frozenset(
    {"np.max", "np.amax", "np.mean", "np.min", "np.amin", "np.prod", "np.std", "np.sum", "np.var"}
)
_OF_TWO = frozenset({"np.add", "np.arctan2", "np.divide", "np.equal", "np.expand_dims", "np.greater", "np.less",
                     "np.logical_and", "np.logical_or", "np.matmul", "np.maximum", "np.minimum", "np.multiply", "np.pow",
                     "np.power", "np.reshape", "np.subtract"})  # fmt: skip
_OF_THREE = frozenset({"np.clip", "np.where"})
_WITH_AXIS = frozenset({"np.concatenate", "np.stack"})


def tensorflow_op(name: str, call: cst.Call) -> str | None:
    """The op of `tf` (such as "math.log") that gives what a call of NumPy's `name` gives; None where none does."""
    found = _TENSORFLOW.get(name)
    if found is None or has_stars(call):
        return None
    positional = sum(arg.keyword is None for arg in call.args)
    keywords = {arg.keyword.value for arg in call.args if arg.keyword is not None}
    if name in _REDUCTIONS:
        return found if positional in (1, 2) and keywords <= {"axis", "keepdims"} else None
    if name in _WITH_AXIS:
        # Without an axis, `tf.concat` does not know what to do.
        given = (positional == 2 and not keywords) or (positional == 1 and keywords == {"axis"})
        return found if given or (name == "np.stack" and positional == 1 and not keywords) else None
    if name in ("np.squeeze", "np.expand_dims") and keywords == {"axis"}:
        return found if positional == 1 else None
    wanted = 3 if name in _OF_THREE else 2 if name in _OF_TWO else 1
    return found if positional == wanted and not keywords else None
