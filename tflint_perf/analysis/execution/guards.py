"""Guards: conditions that keep a statement of a step loop from running on each step."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.apis.facts import has
from tflint_perf.analysis.conventions import names_a_debug_switch, names_the_best
from tflint_perf.analysis.execution.decided import Told, is_left_out
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.python.conditions import exits_before
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import descendants, is_name, last_statement, names_read
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.iterables import is_count
from tflint_perf.records import dataclass

_AROUND_CODE = frozenset([cst.FunctionDef, cst.Lambda, cst.ClassDef, cst.Module])
# What may keep the code in it from running.
_DECIDING = frozenset(
    [cst.If, cst.IfExp, cst.BooleanOperation, cst.With, cst.IndentedBlock, cst.For, cst.While]
)


@dataclass(frozen=True, slots=True)
class Guard:
    """A guard. `every` is the n of `counter % n`, None when it is not a number in sight or the guard is another."""

    node: cst.BaseExpression
    every: int | None = None

    @property
    def counts(self) -> bool:
        """Whether the guard is `counter % n`: what stands behind it runs again and again."""
        return isinstance(self.node, cst.BinaryOperation)


class Guards:
    """Answers behind which guard a place stands."""

    def __init__(self, infer: Inference, calls: CallGraph, loops: Loops) -> None:
        self._infer = infer
        self._calls = calls
        self._loops = loops
        self._walk = infer.walk
        self._told = Told(infer, calls)
        # Those in front of all calls of a function.
        self._at_sites: dict[Function, Guard | None] = {}
        # Those that a call or a name in a condition stands for.
        self._behind: dict[cst.BaseExpression, Guard | None] = {}

    def guard_of(self, node: cst.CSTNode) -> Guard | None:
        """The guard that `node` runs under, in its function or at each place that calls that per step; None when there
        is none."""
        here = self.guard_here(node)
        if here is not None:
            return here
        function = self._calls.function_at(node)
        if function is None or self._loops.step_loop(node) is not None:
            return None
        left_off = self._left_off(node, function)
        if left_off is not None:
            return left_off
        if function not in self._at_sites:
            self._at_sites[function] = None  # functions that call each other
            # A call before the training, or once an epoch, needs none.
            sites = [site for site in self._calls.sites(function) if self._loops.is_per_step(site)]
            guards = [self.guard_of(call) for call in sites or self._calls.sites(function)]
            self._at_sites[function] = guards[0] if guards and None not in guards else None
        return self._at_sites[function]

    def counts(self, test: cst.BaseExpression) -> bool:
        """Whether a condition is `counter % n == 0`, which is met once in several steps."""
        guard = self._of_test(test, holds=True)
        return guard is not None and guard.counts

    def guard_here(self, node: cst.CSTNode) -> Guard | None:
        """The guard in front of `node` in its function, within the step loop around it."""
        parents = self._walk.parents
        child, current = node, parents.get(node)
        while current is not None and current.__class__ not in _AROUND_CODE:
            if current.__class__ not in _DECIDING:
                child, current = current, parents.get(current)
                continue
            guard = None
            match current:
                case cst.If() if child is current.body:
                    guard = self._of_test(current.test, holds=True)
                case cst.If() if child is not current.test:
                    guard = self._of_test(current.test, holds=False)
                case cst.IfExp() if child is current.body:
                    guard = self._of_test(current.test, holds=True)
                case cst.BooleanOperation() if child is current.right and isinstance(
                    current.operator, cst.And
                ):
                    guard = self._of_test(current.left, holds=True)
                case cst.With():
                    guard = self._recording_guard(current)
            guard = guard or self._skipped(child, current)
            if guard is not None:
                return guard
            if (
                isinstance(current, cst.For | cst.While)
                and self._loops.kind(self._walk.loops[current]) == "step"
                and not self._loops.looks_on(self._walk.loops[current])
            ):
                return None
            child, current = current, parents.get(current)
        return None

    def _left_off(self, node: cst.CSTNode, function: Function) -> Guard | None:
        """The flag that `node` depends on and that no call on a step sets: `log(epoch, loss, at_end=True)` ends an
        epoch."""
        flag = self._flag_before(node, function)
        sites = (
            [site for site in self._calls.sites(function) if self._loops.is_per_step(site)] if flag else []
        )
        told = [self._told.by_call(function, site) for site in sites]
        left_out = [named is not None and is_left_out(self._walk, node, named) for named in told]
        return Guard(flag) if flag is not None and left_out and all(left_out) else None

    def _flag_before(self, node: cst.CSTNode, function: Function) -> cst.Name | None:
        """A parameter that a condition in front of `node` asks."""
        child, current = node, self._walk.parents.get(node)
        while current is not None and current is not function.node:
            if isinstance(current, cst.If) and child is not current.test:
                for name in names_read(current.test):
                    if name.value in function.places:
                        return name
            child, current = current, self._walk.parents.get(current)
        return None

    def _recording_guard(self, node: cst.With) -> Guard | None:
        for item in node.items:
            call = item.item
            if isinstance(call, cst.Call) and has(self._infer.names.qualified(call.func), "records-if"):
                return Guard(call)
        return None

    def _skipped(self, child: cst.CSTNode, suite: cst.CSTNode) -> Guard | None:
        """The guard that skips `child` by leaving before it: `if step % 100: continue`, or `return` outside loops."""
        if not isinstance(suite, cst.IndentedBlock):
            return None
        for statement in exits_before(self._walk, child, suite):
            if statement.orelse is None and self._leaves(statement):
                guard = self._of_test(statement.test, holds=False)
                if guard is not None:
                    return guard
        return None

    def _leaves(self, statement: cst.If) -> bool:
        """Whether the body of an `if` ends the iteration, or the function where that stands in no loop of it."""
        last = last_statement(statement.body)
        return isinstance(last, cst.Continue) or (
            isinstance(last, cst.Return) and self._loops.innermost_loop(statement) is None
        )

    def _of_test(self, test: cst.BaseExpression, *, holds: bool) -> Guard | None:
        """The guard that the condition `test` is, for code that runs when it holds or when it does not."""
        match test:
            case cst.BooleanOperation():
                if isinstance(test.operator, cst.And) == holds:
                    return self._of_test(test.left, holds=holds) or self._of_test(test.right, holds=holds)
                left, right = self._of_test(test.left, holds=holds), self._of_test(test.right, holds=holds)
                if holds and (left is None) is not (right is None):
                    # `step % 100 == 0 or step < 10`: the first few besides
                    unguarded = test.left if left is None else test.right
                    return (left or right) if self._is_early(unguarded) else None
                return left if left is not None and right is not None else None
            case cst.UnaryOperation(operator=cst.Not()):
                return self._of_test(test.expression, holds=not holds)
            case cst.Comparison() if len(test.comparisons) == 1:
                return self._of_comparison(test, holds)
            case cst.BinaryOperation(operator=cst.Modulo()):
                return None if holds else self._modulo(test)
            case cst.Call() if holds and has(self._infer.names.qualified(test.func), "equals"):
                return self._of_equal_op(test)
            case cst.Call() if holds:
                return self._asked(test)
            case cst.Name() | cst.Attribute() if holds:
                name = test.attr.value if isinstance(test, cst.Attribute) else test.value
                return Guard(test) if names_a_debug_switch(name) else self._asked(test)
        return None

    def _asked(self, asked: cst.BaseExpression) -> Guard | None:
        """`counter % n` where a call or a name stands for that: `is_due(step)` with a function that gives
        `step % every == 0`, or `is_due = step % every == 0`."""
        if asked not in self._behind:
            self._behind[asked] = None  # functions that ask each other
            self._behind[asked] = self._of_answers(self._answers(asked))
        return self._behind[asked]

    def _answers(self, asked: cst.BaseExpression) -> list[cst.BaseExpression | None]:
        """What a call or a name in a condition may be."""
        match asked:
            case cst.Call(
                func=cst.Name(value="any"), args=[cst.Arg(value=cst.GeneratorExp() | cst.ListComp() as given)]
            ):
                return [given.elt]
            case cst.Call():
                return [each.value for target in self._calls.targets(asked) for each in target.returns]
            case cst.Name():
                found = self._infer.bindings_reaching(asked)
                bindings = found[1] if found is not None else []
                is_plain = all(binding.kind == "assign" and not binding.path for binding in bindings)
                return [binding.value for binding in bindings] if is_plain else []
        return []

    def _of_answers(self, answers: list[cst.BaseExpression | None]) -> Guard | None:
        """The guard that all of these are; one may say besides that nothing is due."""
        asked = [each for each in answers if each is not None and not is_name(each, "False")]
        guards = [self._of_test(each, holds=True) for each in asked]
        found = guards[0] if guards else None
        return found if found is not None and all(one is not None and one.counts for one in guards) else None

    def _is_early(self, test: cst.BaseExpression) -> bool:
        """Whether the condition `test` holds on the first few steps only: `step < 10`."""
        match test:
            case cst.Comparison(
                left=left,
                comparisons=[cst.ComparisonTarget(cst.LessThan() | cst.LessThanEqual(), last)],
            ):
                return self._is_counter(left) and self._infer.integers.most(last) is not None
        return False

    def _of_equal_op(self, call: cst.Call) -> Guard | None:
        """`tf.equal(tf.math.mod(step, 10), 0)`."""
        for arg in call.args:
            match arg.value:
                case cst.BinaryOperation(operator=cst.Modulo()):
                    return self._modulo(arg.value)
                case cst.Call(args=[_, cst.Arg(value=every)]) as mod:
                    if has(self._infer.names.qualified(mod.func), "modulo"):
                        number = self._infer.integers.most(every)
                        return Guard(mod, number) if number is None or number >= 2 else None
        return None

    def _of_comparison(self, test: cst.Comparison, holds: bool) -> Guard | None:
        comparison = test.comparisons[0]
        operator, right = comparison.operator, comparison.comparator
        equal = isinstance(operator, cst.Equal) if holds else isinstance(operator, cst.NotEqual)
        if equal:
            for side in (test.left, right):
                if isinstance(side, cst.BinaryOperation) and isinstance(side.operator, cst.Modulo):
                    return self._modulo(side)
            number = self._infer.integers.only
            other = right if number(test.left) is None else test.left
            if number(other) is not None and self._is_counter(test.left if other is right else right):
                return Guard(test)  # `if step == 0:` runs once
            if self._is_of_loop(test.left) != self._is_of_loop(right):
                return Guard(test)  # and so does `if step + 1 == last:`
        if (
            isinstance(operator, cst.GreaterThan | cst.LessThan | cst.GreaterThanEqual | cst.LessThanEqual)
            and holds
        ):
            if any(names_the_best(name) for side in (test.left, right) for name in _last_names(side)):
                return Guard(test)
        return None

    def _is_of_loop(self, node: cst.BaseExpression) -> bool:
        """Whether `node` is the counter of a loop, or the number before or after it: `step`, `step + 1`."""
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add | cst.Subtract):
            node = node.left if self._infer.integers.only(node.right) is not None else node
        found = self._infer.bindings_reaching(node) if isinstance(node, cst.Name) else None
        return (
            found is not None
            and bool(found[1])
            and all(is_count(self._infer, binding) for binding in found[1])
        )

    def _is_counter(self, node: cst.BaseExpression) -> bool:
        return isinstance(node, cst.Name | cst.Attribute) and self._infer.value(node).kind in (
            "number",
            "unknown",
        )

    def _modulo(self, node: cst.BinaryOperation) -> Guard | None:
        """`counter % n` as a guard; None for `% 1`."""
        every = self._infer.integers.most(node.right)
        if every is not None and every < 2:
            return None
        return Guard(node, every)


def _last_names(node: cst.CSTNode) -> list[str]:
    names = [name.value for name in names_read(node)]
    return names + [below.attr.value for below in descendants(node) if isinstance(below, cst.Attribute)]
