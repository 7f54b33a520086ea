"""The loss of one batch where a program reads it from the history that `fit` returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import libcst as cst

from tflint_perf.analysis.python.syntax import integer, string
from tflint_perf.analysis.values.followed import is_written
from tflint_perf.edit.editor import Editor
from tflint_perf.finding import Edit
from tflint_perf.records import dataclass
from tflint_perf.rule import Refusal

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LossOfHistory:
    """What of the program a training step that returns the loss replaces, how that is spelled around the call of the step, and what
    else changes: each read of the loss that is not the call itself."""

    replaced: cst.CSTNode
    spelled: str = "{}"
    edits: tuple[Edit, ...] = ()
    is_read: bool = False


def loss_of_history(edit: Editor, call: cst.Call, *, again: bool) -> LossOfHistory | Refusal:
    """How `history.history["loss"][0]` becomes the loss that the step returns; refused where anything else is read. `again` says that
    there are several epochs, of which it returns that of the last."""
    parent = edit.model.parent(call)
    match parent:
        case cst.Expr():
            return LossOfHistory(call)
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name() as name)]):
            return _of_name(edit, parent, name, again)
    read, spelled = _read_of(edit, call, again)
    if read is None:
        return Refusal("the history that `fit` returns is used", call)
    return LossOfHistory(read, spelled.format("float({})"), is_read=True)


def _of_name(edit: Editor, fit: cst.Assign, name: cst.Name, again: bool) -> LossOfHistory | Refusal:
    """The same for a history that has a name."""
    reads = _reads(edit, name)
    if isinstance(reads, Refusal):
        return reads
    if not reads:
        return LossOfHistory(fit)
    losses = [_read_of(edit, read, again) for read in reads]
    for read, (loss, _) in zip(reads, losses, strict=True):
        if loss is None:
            return Refusal("the history that `fit` returns is used for more than its loss", read)
    spelled = "{} = float({{}})"
    if len(reads) == 1 and (named := _named_next(edit, fit, losses[0][0])) is not None:
        spelled = spelled.format(edit.text(named.targets[0].target))
        return LossOfHistory(fit, spelled, (edit.remove_statement(named),), is_read=True)
    loss_name = edit.fresh_name("batch_loss" if edit.model.names.is_used("loss") else "loss")
    changes = tuple(edit.replace(loss, each.format(loss_name)) for loss, each in losses if loss is not None)
    return LossOfHistory(fit, spelled.format(loss_name), changes, is_read=True)


def _reads(edit: Editor, name: cst.Name) -> list[cst.Name] | Refusal:
    """Where the history of one call of `fit` is read by its name; refused where another value may be, too."""
    names, infer = edit.model.names, edit.model.infer
    home = names.home(name)
    reads = []
    for node in names.mentions(name.value, home) if home is not None else ():
        found = infer.bindings_reaching(node) if node is not name else None
        reaching = [binding.node for binding in found[1]] if found is not None else []
        if name not in reaching or is_written(edit.model.walk, node):
            continue
        if len(reaching) > 1 or edit.model.function_at(node) is not edit.model.function_at(name):
            return Refusal("the history that `fit` returns is used where there may be another one", node)
        reads.append(node)
    return reads


def _read_of(edit: Editor, history: cst.BaseExpression, again: bool) -> tuple[cst.BaseExpression | None, str]:
    """What reads the loss of a history, `history.history["loss"][0]`, and how it is spelled by the loss; None where something
    else is done with the history. Of one epoch, the last loss is the first."""
    parents = edit.model.walk.parents
    match asked := parents.get(history):
        case cst.Attribute(attr=cst.Name("history")):
            losses = parents.get(asked)
            if not (isinstance(losses, cst.Subscript) and _index(losses, string) == "loss"):
                return None, ""
            loss = parents.get(losses)
            if isinstance(loss, cst.Subscript) and loss.value is losses:
                is_last = _index(loss, integer) in ((-1,) if again else (0, -1))
                return (loss, "{}") if is_last else (None, "")
            return (losses, "[{}]") if not again else (None, "")
    return None, ""


def _index(node: cst.Subscript, read: Callable[[cst.CSTNode], T | None]) -> T | None:
    """The literal by which a container is asked."""
    match node.slice:
        case [cst.SubscriptElement(slice=cst.Index(value=value, star=None))]:
            return read(value)
    return None


def _named_next(edit: Editor, fit: cst.Assign, loss: cst.BaseExpression | None) -> cst.Assign | None:
    """The statement right behind `fit` that does nothing but name the loss: `loss = history.history["loss"][0]`."""
    at = edit.model.walk.at.get(fit)
    named = edit.model.statement_of(loss) if loss is not None else None
    match named:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name())], value=value) if value is loss:
            behind = at.block.statements[at.block.statements.index(fit) + 1 :] if at is not None else []
            is_next = bool(behind) and behind[0] is named
            return (
                named if is_next and "#" not in edit.whole_text[edit.end(fit) : edit.start(named)] else None
            )
    return None
