"""Conditions that guard: they are met once in several steps, once in all, while a switch is on, or where a number has failed."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.apis.facts import has
from tflint_perf.analysis.conventions import names_a_debug_switch, names_the_best
from tflint_perf.analysis.limits import NAMES_DEEP
from tflint_perf.analysis.python.reach import remembered_in_circles
from tflint_perf.analysis.python.scopes import Binding, Scope
from tflint_perf.analysis.python.syntax import descendants, integer, is_name, names_read, same_code
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.iterables import is_count
from tflint_perf.analysis.values.named_calls import builtin_or_qualified
from tflint_perf.records import dataclass


@dataclass(frozen=True, slots=True)
class Guard:
    """A guard. Where it `counts`, it is `counter % n`, and what stands behind it runs again and again; `every` is that n, None
    when it is not a number in sight or the guard is another."""

    node: cst.BaseExpression
    every: int | None = None
    counts: bool = False


class GuardConditions:
    """Answers whether a condition guards what stands behind it."""

    def __init__(self, infer: Inference, calls: CallGraph) -> None:
        self._infer = infer
        self._calls = calls

    def guard(self, test: cst.BaseExpression, *, holds: bool) -> Guard | None:
        """The guard that the condition `test` is, for code that runs when it holds or when it does not."""
        match test:
            case cst.BooleanOperation():
                if isinstance(test.operator, cst.And) == holds:
                    return self.guard(test.left, holds=holds) or self.guard(test.right, holds=holds)
                left, right = self.guard(test.left, holds=holds), self.guard(test.right, holds=holds)
                if holds and (left is None) is not (right is None):
                    guard, unguarded = (left, test.right) if left is not None else (right, test.left)
                    return guard if self._is_early(unguarded) or _is_once_of(guard, unguarded) else None
                if left is None or right is None:
                    return None
                return left if left.counts else right  # `step == 1 or step % 100 == 0`
            case cst.UnaryOperation(operator=cst.Not()):
                return self.guard(test.expression, holds=not holds)
            case cst.Comparison() if len(test.comparisons) == 1:
                return self._of_comparison(test, holds)
            case cst.BinaryOperation(operator=cst.Modulo()):
                return None if holds else self._modulo(test)
            case cst.Call() if not holds and self._infer.names.is_call_that(test, "modulo"):
                return self._modulo(test)
            case cst.Call(args=[cst.Arg(value=left), cst.Arg(value=right)]) if (
                holds and self._infer.names.is_call_that(test, "conjunction")
            ):
                return self.guard(left, holds=True) or self.guard(right, holds=True)
            case cst.Call() if holds and self._infer.names.is_call_that(test, "equals"):
                return self._of_equal_op(test)
            case cst.Call() if self._infer.names.is_call_that(test, "asks-broken" if holds else "asks-sound"):
                return Guard(test)  # a number that has failed; of an array nobody could ask so
            case cst.Call() if holds:
                return self._asked(test)
            case cst.Name() | cst.Attribute() if holds:
                name = test.attr.value if isinstance(test, cst.Attribute) else test.value
                return Guard(test) if names_a_debug_switch(name) else self._asked(test)
            case cst.Subscript() if holds:
                return self._asked(test)
        return None

    @remembered_in_circles(None)
    def _asked(self, asked: cst.BaseExpression) -> Guard | None:
        """`counter % n` where a call, a name or a part of a dict stands for that: `is_due(step)` with a function that
        gives `step % every == 0`, or `is_due = step % every == 0`. So may `counter == n` of a loop's counter."""
        return self._of_answers(self._answers(asked))

    def _answers(self, asked: cst.BaseExpression) -> list[cst.BaseExpression | None]:
        """What a call, a name or a part of a dict in a condition may be."""
        match asked:
            case cst.Call(
                func=cst.Name(value="any"), args=[cst.Arg(value=cst.GeneratorExp() | cst.ListComp() as given)]
            ):
                return [given.elt]
            case cst.Call():
                return [each.value for target in self._calls.targets(asked) for each in target.returns]
            case cst.Name():
                bindings = self._infer.bindings(asked)
                is_plain = all(binding.kind == "assign" and not binding.path for binding in bindings)
                return [binding.value for binding in bindings] if is_plain else []
            case cst.Subscript(value=holder, slice=[cst.SubscriptElement(cst.Index(key))]):
                held = [_under(key, made) for made in self._dicts(holder)]
                return held if None not in held else []
        return []

    def _dicts(self, holder: cst.BaseExpression) -> list[cst.BaseExpression | None]:
        """The dicts that a name stands for, which stand in the code or are what a function of the file gives."""
        bindings = self._infer.bindings(holder)
        dicts: list[cst.BaseExpression | None] = []
        for binding in bindings:
            made = binding.value if binding.kind == "assign" and binding.path == () else None
            targets = self._calls.targets(made) if isinstance(made, cst.Call) else []
            dicts += [each.value for target in targets for each in target.returns] or [made]
        return dicts

    def _of_answers(self, answers: list[cst.BaseExpression | None]) -> Guard | None:
        """The guard that all of these are; one may say besides that nothing is due."""
        asked = [each for each in answers if each is not None and not is_name(each, "False")]
        guards = [self.guard(each, holds=True) for each in asked]
        found = guards[0] if guards else None
        sure = all(one is not None and (one.counts or self._is_met_once(one.node, 0)) for one in guards)
        return found if sure else None

    def _is_met_once(self, node: cst.BaseExpression, depth: int) -> bool:
        """Whether `node` compares the counter of a loop, as a parameter too, with a number: `step == 0`."""
        match node:
            case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(cst.Equal(), right)]):
                sides = (left, right)
                return any(self._infer.integers.only(side) is not None for side in sides) and any(
                    self._is_met_once(side, depth + 1) for side in sides
                )
            case cst.Name() if 0 < depth <= NAMES_DEEP:
                found = self._infer.bindings_reaching(node)
                return (
                    found is not None
                    and bool(found[1])
                    and all(self._counts_for(binding, found[0], depth) for binding in found[1])
                )
        return False

    def _counts_for(self, binding: Binding, scope: Scope, depth: int) -> bool:
        """Whether `binding` is the counter of a loop, or a parameter that is given nothing else."""
        if binding.kind != "param" or scope.function is None:
            return is_count(self._infer, binding)
        given = self._calls.arguments(scope.function, binding.name)
        return bool(given) and all(self._is_met_once(each, depth + 1) for each in given)

    def _is_early(self, test: cst.BaseExpression) -> bool:
        """Whether the condition `test` holds on the first few steps only: `step % 100 == 0 or step < 10`."""
        match test:
            case cst.Comparison(
                left=left,
                comparisons=[cst.ComparisonTarget(cst.LessThan() | cst.LessThanEqual(), last)],
            ):
                return self._is_counter(left) and self._infer.integers.most(last) is not None
        return False

    def _of_equal_op(self, call: cst.Call) -> Guard | None:
        """`tf.equal(tf.math.mod(step, 10), 0)`."""
        remainders = [arg.value for arg in call.args if self._is_remainder(arg.value)]
        return self._modulo(remainders[0]) if remainders else None

    def _of_comparison(self, test: cst.Comparison, holds: bool) -> Guard | None:
        comparison = test.comparisons[0]
        operator, right = comparison.operator, comparison.comparator
        if holds and isinstance(operator, cst.Equal | cst.GreaterThan | cst.GreaterThanEqual):
            again = self._counted_again(test, test.left, right)
            if again is not None:
                return again
        equal = isinstance(operator, cst.Equal) if holds else isinstance(operator, cst.NotEqual)
        if equal:
            for side in (test.left, right):
                if self._is_remainder(side):
                    return self._modulo(side)
            number = self._infer.integers.only
            other = right if number(test.left) is None else test.left
            if number(other) is not None and self._is_counter(test.left if other is right else right):
                return Guard(test)  # `if step == 0:` runs once
            if self._is_of_loop(test.left) != self._is_of_loop(right):
                return Guard(test)  # and so does `if step + 1 == last:`
        if isinstance(operator, cst.NotIn if holds else cst.In) and isinstance(test.left, cst.SimpleString):
            # `if "test" not in self.seen:` runs once, but what each iteration binds anew, `name`, remembers nothing.
            return None if self._is_bound_anew(right) else Guard(test)
        if (
            isinstance(operator, cst.GreaterThan | cst.LessThan | cst.GreaterThanEqual | cst.LessThanEqual)
            and holds
        ):
            if any(names_the_best(name) for side in (test.left, right) for name in _last_names(side)):
                return Guard(test)
        return None

    def _counted_again(
        self, test: cst.Comparison, counter: cst.BaseExpression, last: cst.BaseExpression
    ) -> Guard | None:
        """The guard of a counter that what stands behind it sets back: `if self.count == self.every: …; self.count = 0`."""
        child: cst.CSTNode = test
        branch = self._infer.walk.parents.get(test)
        while isinstance(branch, cst.BooleanOperation):
            child, branch = branch, self._infer.walk.parents.get(branch)
        if not isinstance(branch, cst.If) or branch.test is not child:
            return None
        is_set_back = any(
            isinstance(part, cst.Assign)
            and integer(part.value) is not None
            and any(same_code(target.target, counter) for target in part.targets)
            for part in descendants(branch.body)
        )
        is_counted = is_set_back and any(
            isinstance(statement, cst.AugAssign)
            and isinstance(statement.operator, cst.AddAssign)
            and integer(statement.value) == 1
            and same_code(statement.target, counter)
            for statement in self._infer.walk.at
        )
        every = self._infer.integers.most(last)
        if not is_counted or (every is not None and every < 2):
            return None
        return Guard(test, every, counts=True)

    def _is_bound_anew(self, node: cst.BaseExpression) -> bool:
        """Whether each iteration of the loop around `node` binds that name before it is read."""
        bindings, loop = self._infer.bindings(node), self._infer.place(node).block.loop
        return loop is not None and bool(bindings) and all(b.at.block.loop is loop for b in bindings)

    def _is_of_loop(self, node: cst.BaseExpression) -> bool:
        """Whether `node` is the counter of a loop, or the number before or after it: `step`, `step + 1`."""
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add | cst.Subtract):
            node = node.left if self._infer.integers.only(node.right) is not None else node
        bindings = self._infer.bindings(node)
        return bool(bindings) and all(is_count(self._infer, binding) for binding in bindings)

    def _is_counter(self, node: cst.BaseExpression) -> bool:
        """Whether `node` may count, also where a variable does and its number is asked for: `int(step)`, `step.numpy()`."""
        counted = self._asked_for_number(node)
        kinds = ("number", "unknown") if counted is node else ("number", "unknown", "variable")
        return isinstance(counted, cst.Name | cst.Attribute) and self._infer.value(counted).kind in kinds

    def _asked_for_number(self, node: cst.BaseExpression) -> cst.BaseExpression:
        """`step` of `int(step)`, `step.numpy()` and `int(step.numpy())`."""
        match node:
            case cst.Call(func=cst.Attribute(value=asked, attr=cst.Name("numpy")), args=[]):
                return asked
            case cst.Call(args=[cst.Arg(value=given)]) if has(
                builtin_or_qualified(self._infer, node.func), "makes-scalar"
            ):
                return self._asked_for_number(given)
        return node

    def _is_remainder(self, node: cst.BaseExpression) -> bool:
        """Whether `node` is `counter % n`, or the op for that: `np.mod(counter, n)`."""
        match node:
            case cst.BinaryOperation(operator=cst.Modulo()):
                return True
            case cst.Call(args=[_, _]):
                return self._infer.names.is_call_that(node, "modulo")
        return False

    def _modulo(self, node: cst.BaseExpression) -> Guard | None:
        """`counter % n` as a guard; None for `% 1`."""
        _, divisor = _sides(node)
        every = self._infer.integers.most(divisor) if divisor is not None else None
        if every is not None and every < 2:
            return None
        return Guard(node, every, counts=True)


def _sides(remainder: cst.BaseExpression) -> tuple[cst.BaseExpression | None, cst.BaseExpression | None]:
    """What is divided, and by what."""
    match remainder:
        case cst.BinaryOperation(left=left, right=right):
            return left, right
        case cst.Call(args=[cst.Arg(value=left), cst.Arg(value=right)]):
            return left, right
    return None, None


def _is_once_of(guard: Guard | None, test: cst.BaseExpression) -> bool:
    """Whether the condition `test` holds for one value of what `guard` counts: `step % 100 == 0 or step == last`."""
    if guard is None or not guard.counts:
        return False
    counter, _ = _sides(guard.node)
    match test:
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(cst.Equal(), right)]):
            return counter is not None and any(
                _counted(counter).deep_equals(_counted(side)) for side in (left, right)
            )
    return False


def _counted(node: cst.BaseExpression) -> cst.BaseExpression:
    """`step` of `step + 1`."""
    match node:
        case cst.BinaryOperation(operator=cst.Add() | cst.Subtract(), left=left):
            return left
    return node


def _under(key: cst.BaseExpression, made: cst.BaseExpression | None) -> cst.BaseExpression | None:
    """What a dict that stands in the code has under `key`."""
    parts = made.elements if isinstance(made, cst.Dict) else ()
    found = [part.value for part in parts if isinstance(part, cst.DictElement) and same_code(part.key, key)]
    return found[0] if len(found) == 1 else None


def _last_names(node: cst.CSTNode) -> list[str]:
    names = [name.value for name in names_read(node)]
    return names + [below.attr.value for below in descendants(node) if isinstance(below, cst.Attribute)]
