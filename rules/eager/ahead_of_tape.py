"""What the host does with what a step computes, ahead of its tape: an action that is drawn from the model's answer, and what the
environment makes of it.

The model answers twice then: once for the host, and under the tape again. Each of both can be compiled.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import libcst as cst

from tflint_perf.analysis.apis.facts import last_names
from tflint_perf.analysis.python.syntax import (
    descendants,
    is_name,
    keyword_argument,
    names_read,
)
from tflint_perf.analysis.values.mutations import names_changed
from tflint_perf.edit.editor import Editor
from tflint_perf.finding import Edit
from tflint_perf.rule import Repair

_SIMPLE = (cst.Assign, cst.AnnAssign, cst.Expr)
# What a tape follows by itself.
_FOLLOWED = frozenset({"variable", "model", "layer"})
_ASSIGNING = frozenset({"assign", "assign_add", "assign_sub", "apply_gradients", "minimize", "gradient"})


def move_ahead_of_tape(
    edit: Editor,
    inner: Sequence[cst.CSTNode],
    traced: Sequence[cst.CSTNode],
    late: Collection[cst.CSTNode],
    of_host: Collection[cst.CSTNode],
) -> Repair | None:
    """Move the statements `late`, of those `inner` right under a tape, above it, with what of `of_host` they need, and with copies
    of what they need of the device and the rest of the step, `traced`, needs as well; None where both runs of these would not
    give the same, or something between would see another state."""
    parts = _moved_and_copied(edit, inner, traced, late, of_host)
    if parts is None:
        return None
    moved, copied = parts
    tape = edit.model.walk.at[inner[0]].block.owner
    indent, start = edit.indent(tape), edit.lines_start(tape)
    text = "".join(
        _at(edit, statement, with_comments=statement in moved)
        for statement in inner
        if statement in copied or statement in moved
    )
    names = " and ".join(f"`{name}`" for name in sorted(names_changed(moved))[:3])
    return Repair(
        f"Get {names or 'what the host does'} ahead of the tape",
        [
            edit.edit(start, start, "".join(indent + line for line in text.splitlines(keepends=True))),
            *(_removed(edit, each) for each in moved),
        ],
        safe=False,
        may_change="how often the model runs, and what of it is random",
        bold=True,
    )


def _moved_and_copied(
    edit: Editor,
    inner: Sequence[cst.CSTNode],
    traced: Sequence[cst.CSTNode],
    late: Collection[cst.CSTNode],
    of_host: Collection[cst.CSTNode],
) -> tuple[list[cst.CSTNode], list[cst.CSTNode]] | None:
    late = [*late, *_drawn_by(edit, inner, late)]
    last = max((at for at, statement in enumerate(inner) if statement in late), default=-1)
    upto = inner[: last + 1]
    needed = _needed(upto, late)
    moved = [one for one in upto if one in late or (one in needed and one in of_host)]
    if not moved or not all(isinstance(statement, _SIMPLE) for statement in moved):
        return None
    copied = [statement for statement in needed if statement not in moved]
    for statement in [*copied]:  # from the last one on
        rest = [one for one in (*inner, *traced) if one not in moved and one is not statement]
        if not names_changed([statement]) & _names_in(rest):
            copied.remove(statement)
            moved.append(statement)  # only the host reads what it gives
    stays = [statement for statement in upto if statement not in moved]
    if (
        len(moved) == len(inner)
        or any(not _gives_the_same(edit, statement) for statement in copied)
        or names_changed(moved) & (names_changed(stays) | _names_in(copied))
        or any(_happens(statement) for statement in stays if statement not in copied)
        or _means_another(upto, copied)
    ):
        return None
    return moved, copied


def _drawn_by(edit: Editor, inner: Sequence[cst.CSTNode], late: Collection[cst.CSTNode]) -> list[cst.CSTNode]:
    """The statements that draw by what those of `late` give, as a reward for an action: eager code goes on drawing the same numbers,
    which each trace would begin anew."""
    given, others = names_changed(late), names_changed([one for one in inner if one not in late])
    found = []
    for statement in inner:
        read = _names_in([statement.value]) if isinstance(statement, cst.Assign) else set()
        if (
            statement not in late
            and read & given
            and not read & others
            and not any(edit.model.value(name).kind in _FOLLOWED for name in names_read(statement))
            and edit.model.invariance.draws_random_numbers(statement)
        ):
            found.append(statement)
        elif statement not in late and edit.model.invariance.draws_random_numbers(statement):
            break  # what draws keeps its turn
    return found


def _needed(upto: Sequence[cst.CSTNode], late: Collection[cst.CSTNode]) -> list[cst.CSTNode]:
    """The other statements that give values to what those of `late` read, however far back."""
    read: set[str] = set()
    found = []
    for statement in reversed(upto):
        if statement in late or names_changed([statement]) & read:
            read |= _names_in([statement])
            if statement not in late:
                found.append(statement)
    return found


def _means_another(upto: Sequence[cst.CSTNode], copied: Collection[cst.CSTNode]) -> bool:
    """Whether a name that a copy gives a value to had another one before, which is read: `y = y[1:]`."""
    given, met = names_changed(copied), set[str]()
    for statement in upto:
        read = _names_in(
            [statement.value if isinstance(statement, cst.Assign) and statement in copied else statement]
        )
        if (read - met) & given:
            return True
        met |= names_changed([statement]) if statement in copied else set()
    return False


def _names_in(statements: Iterable[cst.CSTNode]) -> set[str]:
    return {name.value for statement in statements for name in names_read(statement)}


def _gives_the_same(edit: Editor, statement: cst.CSTNode) -> bool:
    """Whether a statement may run twice: it draws nothing, trains nothing and leaves nothing behind."""
    if not isinstance(statement, cst.Assign) or not all(
        isinstance(target.target, cst.Name | cst.Tuple) for target in statement.targets
    ):
        return False
    for call in descendants(statement):
        if isinstance(call, cst.Call):
            training = keyword_argument(call, "training")
            if training is not None and not is_name(training, "False") and _differs_in_training(edit):
                return False
            if _assigns(call):
                return False
            if edit.model.names.is_call_that(call, "draws", "draws-on-host", "stateful", "varies"):
                return False
    return True


def _differs_in_training(edit: Editor) -> bool:
    """Whether the program names layers that give something else, or keep something, where they are trained."""
    return edit.model.programs.names(*last_names("differs-in-training"))


def _assigns(call: cst.Call) -> bool:
    return isinstance(call.func, cst.Attribute) and call.func.attr.value in _ASSIGNING


def _happens(statement: cst.CSTNode) -> bool:
    """Whether a statement changes variables, which what is moved over it may read."""
    return any(isinstance(part, cst.Call) and _assigns(part) for part in descendants(statement))


def _removed(edit: Editor, statement: cst.CSTNode) -> Edit:
    start, end = edit.lines_start(statement), edit.lines_end(statement)
    return edit.edit(start, edit.past_blank_line(start, end), "")


def _at(edit: Editor, statement: cst.CSTNode, *, with_comments: bool) -> str:
    """The lines of a statement without its indentation."""
    own = edit.indent(statement)
    lines = edit.lines(statement, statement) if with_comments else f"{own}{edit.text(statement)}\n"
    return "".join(line.removeprefix(own) for line in lines.splitlines(keepends=True))
