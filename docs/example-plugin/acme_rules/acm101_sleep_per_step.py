"""ACM101 sleep-per-step."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from tflint_perf.edit import Editor
from tflint_perf.model import Model
from tflint_perf.rule import Claim, Refusal, Repair, Report, Rule


class SleepPerStep(Rule):
    """A pause on each training step.

    ## What it does

    Reports `time.sleep()` that runs per step.

    ## Why is this bad?

    Our scheduler used to ask for it. It no longer does, and the device waits.

    ## Example

    ```python
    for images, labels in dataset:
        loss = train_step(images, labels)
        time.sleep(0.01)
    ```

    Use instead:

    ```python
    for images, labels in dataset:
        loss = train_step(images, labels)
    ```

    ## What is left alone

    A pause once an epoch, or under `step % n`.

    ## Sources

    - Acme's guide to the cluster, *Being polite*
    """

    code = "ACM101"
    name = "sleep-per-step"
    triggers = ("sleep(",)
    fixes = "safe"
    claim = Claim("step time", least=2.0)

    def check(self, model: Model) -> Iterator[Report]:
        for call in model.calls_to("time.sleep"):
            if model.is_per_step(call) and model.guard_of(call) is None:
                message = "`time.sleep()` lets the device wait on each step; remove it"
                yield Report(call, message, partial(_remove, call=call))


def _remove(edit: Editor, call: cst.Call) -> Repair | Refusal:
    statement = edit.model.statement_of(call)
    if not isinstance(statement, cst.Expr) or statement.value is not call:
        return Refusal("it is part of an expression", statement)
    edits = [edit.remove_statement(statement)]
    unused = edit.model.import_used_only_by(call.func)
    if unused is not None:
        edits.append(edit.remove_statement(unused))
    return Repair("Remove the pause", edits, safe=True)
