"""Calls that only show values: they print, log, or write to a progress bar or a dashboard."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.apis.facts import has
from tflint_perf.analysis.conventions import names_a_logger, names_a_progress_bar
from tflint_perf.analysis.python.syntax import callee_name, descendants, dotted_name, last_name
from tflint_perf.analysis.values.infer import Inference

_FUNCTIONS = frozenset({"print", "pprint"})
# Methods of loggers, progress bars and writers.
_LOGS = frozenset({"debug", "info", "warning", "warn", "error", "critical", "log"}) | {
    f"log_{what}" for what in ("metric", "metrics", "scalar", "scalars")
}
_BAR_METHODS = frozenset({"set_postfix", "set_postfix_str", "set_description", "set_description_str"})
_WRITES = frozenset({"add_scalar", "add_scalars", "log_scalar", "scalar_summary"})
# What has no effect.
_PURE_BUILTINS = frozenset(
    {
        "float",
        "int",
        "str",
        "repr",
        "round",
        "abs",
        "len",
        "max",
        "min",
        "sum",
        "format",
        "range",
        "list",
        "tuple",
    }
)
_PURE_METHODS = frozenset({"numpy", "item", "result", "format", "join", "mean", "sum", "min", "max", "std", "var", "round",
                           "argmax", "argmin", "tolist", "astype", "get", "keys", "items", "rjust", "ljust", "total_seconds",
                           "strftime", "copy", "reshape", "flatten", "squeeze"})  # fmt: skip


def shows(infer: Inference, call: cst.Call) -> bool:
    """Whether `call` only shows what it is given, and returns nothing."""
    name = infer.names.qualified(call.func) or infer.names.dotted(call.func)
    if name:
        return has(name, "shows")
    last = callee_name(call)
    if isinstance(call.func, cst.Name):
        return last in _FUNCTIONS and infer.names.is_builtin(call.func)
    if not isinstance(call.func, cst.Attribute):
        return False
    if last in _BAR_METHODS or last in _WRITES:
        return True
    holder = call.func.value
    while isinstance(holder, cst.Subscript):
        holder = holder.value  # `run["train/loss"].log(loss)`
    receiver = last_name(holder)
    if last in _LOGS and names_a_logger(receiver):
        return infer.value(call.func.value).klass is None
    if last == "write":
        return has(dotted_name(call.func) or "", "shows") or bool(names_a_progress_bar(receiver))
    return last in ("update", "add") and bool(names_a_progress_bar(receiver))


def prints_tensors(infer: Inference, call: cst.Call) -> bool:
    """Whether `call` prints or logs a tensor that it is given as text: `print`, loggers and progress bars."""
    name = infer.names.qualified(call.func) or infer.names.dotted(call.func)
    if name:
        return has(name, "makes-text")
    return callee_name(call) in _FUNCTIONS | _BAR_METHODS | _LOGS


def effect_besides_showing(infer: Inference, statement: cst.CSTNode) -> cst.CSTNode | None:
    """The first part of a statement that does more than show values; the statement where it is no call that shows."""
    call = statement.value if isinstance(statement, cst.Expr) else None
    if not isinstance(call, cst.Call) or not shows(infer, call):
        return statement
    for node in descendants(call):
        match node:
            case cst.Call() if node is not call and not _is_pure(infer, node):
                return node
            case cst.NamedExpr() | cst.Await() | cst.Yield() | cst.Lambda():
                return node
    return None


def _is_pure(infer: Inference, call: cst.Call) -> bool:
    name = infer.names.qualified(call.func)
    if name:
        return has(name, "no-effect")
    if isinstance(call.func, cst.Name):
        return call.func.value in _PURE_BUILTINS and infer.names.is_builtin(call.func)
    if not isinstance(call.func, cst.Attribute) or callee_name(call) not in _PURE_METHODS:
        return False
    return infer.value(call.func.value).klass is None
