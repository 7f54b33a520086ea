"""What calls make of host values that they take: another value, a running mean, a picture, a file, a tensor again."""

from __future__ import annotations

import re
from typing import Literal

import libcst as cst

from tflint_perf.analysis.python.syntax import callee_name, descendants, last_name, same_code, string
from tflint_perf.analysis.values.infer import Inference

# "value": another host value. "sum": a running mean. "picture": something to look at or to keep as a file.
# "tensor": a tensor again. "": nobody knows.
Made = Literal["value", "sum", "picture", "tensor", ""]

_BUILTINS = frozenset(
    {"float", "int", "round", "abs", "str", "repr", "format", "max", "min", "sum", "len", "list", "tuple"}
)
METHODS = frozenset({"item", "mean", "sum", "max", "min", "std", "var", "round", "astype", "tolist", "argmax",
                     "argmin", "flatten", "squeeze", "numpy", "format", "rjust", "ljust", "strip", "copy",
                     "reshape", "upper", "lower", "join", "transpose", "clip", "ravel", "dot", "decode", "swapaxes",
                     "prod", "any", "all", "resize", "convert", "argsort", "cumsum", "nonzero"})  # fmt: skip
ATTRIBUTES = frozenset({"T", "real", "imag", "shape", "size", "ndim", "dtype", "flat"})
# Modules whose functions make values of values, but for those that show or write them.
_COMPUTING = (
    "np.",
    "math.",
    "cv2.",
    "skimage.",
    "scipy.",
    "sklearn.",
    "PIL.Image.fromarray",
    "statistics.",
    "copy.",
)
_PICTURES = re.compile(
    r"(matplotlib|seaborn|plotly|imageio|visdom)\..*|cv2\.(im(show|write)|VideoWriter|rectangle|putText|circle|line|polylines|ellipse|arrowedLine)|(skimage\.io|scipy\.misc)\.im(save|show)|"
    r"np\.save\w*|pickle\.dump|json\.dump|joblib\.dump|torchvision\.utils\.save_image|"
    r"(tf|keras)\.(preprocessing\.image|utils)\.(save_img|array_to_img)|tf\.(io\.)?write_file"
)
_PICTURE_METHODS = re.compile(
    r"im(show|save|write)|savefig|save_?(image|img|fig|png|plot|result|sample|grid)s?|write(row|rows|lines|_?frame)?|append_data|"
    r"tofile|set_(title|xlabel|ylabel|text|data|xdata|ydata|offsets)|scatter|plot|(show|plot|draw|display|visuali[sz]e|render)_\w+|savetxt|"
    r"put_?text"
)
_SAVING = frozenset({"save", "show", "tofile", "dump", "tostring", "tobytes", "savefig"})
# Functions of other files that are called so log what they get: no logarithms, and nothing that decides.
_LOGS = re.compile(
    r"(log|record|report|print|show|display|write|add_scalar|monitor|track)(_\w+|[a-z]?kv\w*|Metrics?|Scalars?)"
)
_NO_LOGS = re.compile(
    r"log_(softmax|prob\w*|sigmoid|normal|likelihood|loss|pdf|cosh|sum\w*|gamma|det\w*|\d)|.*(memory|buffer|transition|experience)"
)
_GIVEN_BACK = {("variable", "assign"), ("metric", "update_state")} | {
    ("model", name)
    for name in ("train_on_batch", "test_on_batch", "predict_on_batch", "predict", "fit", "evaluate")
}
_TAKES_TEXT = re.compile(
    r"(?i)log|print|write|report|show|display|message|msg|echo|notify|status|info|title|label|send|post|debug"
)
_PLACES_OF_TEXT = re.compile(r"postfix|suffix|desc|description|bar_format|caption|comment")
# Functions that get what a model gave and what it should have given.
_LOSS = re.compile(r"(?i)loss|criterion")
# What makes one array of others.
_JOINING = frozenset({"np.append", "np.concatenate", "np.hstack", "np.vstack", "np.stack", "np.column_stack"})
# Classes that keep a running mean, and objects of them.
_METER = re.compile(r"(?i)meter|average|avg|running_?mean|tracker")


class Takers:
    """Answers what a call makes of a host value."""

    def __init__(self, infer: Inference) -> None:
        self._infer = infer

    def made_by(self, call: cst.Call) -> Made:
        """What a call makes of its arguments, by what is called."""
        name = self._infer.names.qualified(call.func)
        if name:
            return self._by_name(call, name)
        last = callee_name(call)
        if isinstance(call.func, cst.Name):
            if last in _BUILTINS and self._infer.names.lookup(last, self._infer.names.scope_of(call)) is None:
                return "value"
        elif last in ("format", "join"):
            return "value"
        if self._is_meter(call):
            return "sum"
        if self._infer.value(call.func).kind in ("model", "layer", "compiled", "loss", "metric"):
            return "tensor"
        value = self._infer.value(call.func.value) if isinstance(call.func, cst.Attribute) else None
        if value is not None and (value.kind, last) in _GIVEN_BACK:
            return "tensor"
        if _LOSS.search(last) and any(self._infer.value(arg.value).kind == "tensor" for arg in call.args):
            return "tensor"
        return "picture" if self._shows_by_name(last) else ""

    def _by_name(self, call: cst.Call, name: str) -> Made:
        if _PICTURES.fullmatch(name):
            return "picture"
        if name in _JOINING and self._fills(call):
            return ""
        if name.startswith(_COMPUTING):
            return "value" if callee_name(call)[:1].islower() and ".random." not in name else ""
        if name.startswith("tf.") and self._infer.value(call).kind == "tensor":
            return "tensor"
        return "picture" if self._shows_by_name(callee_name(call)) else ""

    def _fills(self, call: cst.Call) -> bool:
        """Whether an array grows by what is joined to it: `ranks = np.append(ranks, rank)`."""
        statement = self._infer.walk.parents.get(call)
        targets = statement.targets if isinstance(statement, cst.Assign) else ()
        joined = [node for arg in call.args for node in descendants(arg.value)]
        return any(same_code(node, target.target) for target in targets for node in joined)

    @staticmethod
    def _shows_by_name(last: str) -> bool:
        if _PICTURE_METHODS.fullmatch(last):
            return True
        return bool(_LOGS.fullmatch(last)) and not _NO_LOGS.fullmatch(last)

    def is_text(self, node: cst.BaseExpression) -> bool:
        """Whether an expression makes text: `template.format(loss)` of a string, too."""
        match node:
            case cst.Call(func=cst.Attribute(value=template, attr=cst.Name("format" | "join"))):
                return self._infer.value(template).kind == "string"
            case cst.Call(func=cst.Name("format")):
                return not self._infer.names.dotted(node.func)
            case cst.Name():
                found = self._infer.bindings_reaching(node)
                made = found[1][0].value if found is not None and len(found[1]) == 1 else None
                if isinstance(made, cst.Call) and found is not None and found[1][0].path == ():
                    return self.is_text(made)
        return self._infer.value(node).kind == "string"

    @staticmethod
    def takes_text(call: cst.Call) -> bool:
        """Whether a function shows or writes text that it is given, by its name."""
        return bool(_TAKES_TEXT.search(callee_name(call)))

    def saves(self, call: cst.Call) -> bool:
        """Whether a method of a value writes it to a file, or shows it: `Image.fromarray(x).save(path)`."""
        return callee_name(call) in _SAVING

    def _is_meter(self, call: cst.Call) -> bool:
        """Whether a call adds to a running mean: `losses.update(loss)` of an `AverageMeter`."""
        if not isinstance(call.func, cst.Attribute) or callee_name(call) not in (
            "update",
            "add",
            "update_state",
        ):
            return False
        receiver = call.func.value
        found = self._infer.bindings_reaching(receiver) if isinstance(receiver, cst.Name) else None
        made = [binding.value for binding in found[1]] if found is not None else []
        names = [last_name(value.func) for value in made if isinstance(value, cst.Call)]
        return any(map(_METER.search, (*names, last_name(receiver))))


def is_place_of_text(node: cst.BaseExpression) -> bool:
    """Whether a progress bar or figure shows what it is given there: `bar.postfix["loss"]`, `bar.desc`."""
    while isinstance(node, cst.Subscript):
        node = node.value
    return isinstance(node, cst.Attribute) and bool(_PLACES_OF_TEXT.fullmatch(node.attr.value))


def is_place_of_a_sum(target: cst.BaseExpression) -> bool:
    """`self.total`, `sums["loss"]`: a number by itself, where `values[i]` is part of an array."""
    match target:
        case cst.Attribute():
            return True
        case cst.Subscript(slice=[cst.SubscriptElement(cst.Index(index))]):
            return string(index) is not None
    return False
