"""Conditions that hold on nearly every step: once enough was gathered, where something is there, as the settings say."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.conventions import (
    names_a_beginning,
    names_a_counter,
    names_a_debug_switch,
    names_a_filling,
    names_a_moment,
    names_a_rank,
    names_enough,
    names_evaluation,
    names_settings,
)
from tflint_perf.analysis.python.flow import loops_around
from tflint_perf.analysis.python.scopes import Binding, Block
from tflint_perf.analysis.python.syntax import (
    callee_name,
    descendants,
    integer,
    is_constant,
    is_name,
    last_name,
    mentions,
    names_read,
)
from tflint_perf.analysis.values.infer import Inference

_GREATER = (cst.GreaterThan, cst.GreaterThanEqual)


class Usual:
    """Answers whether a condition stands in the way of most steps."""

    def __init__(self, infer: Inference) -> None:
        self._infer = infer

    def holds(self, condition: cst.CSTNode) -> bool:
        """Whether `condition` is known to hold on most steps, or on all of them if on any."""
        match condition:
            case cst.BooleanOperation():
                return self.holds(condition.left) and self.holds(condition.right)
            case cst.UnaryOperation(operator=cst.Not()):
                return self._is_setting(condition.expression)
            case cst.Comparison(
                left=left, comparisons=[cst.ComparisonTarget(operator=operator, comparator=right)]
            ):
                return self._compares(left, operator, right)
            case cst.Call() | cst.Attribute() if asks_for_enough(condition):
                return True
            case cst.Name() | cst.Attribute() | cst.Subscript():
                return self._is_setting(condition)
            case cst.BinaryOperation(operator=cst.Modulo()):
                return self._is_seldom_zero(condition)
        return False

    def _is_seldom_zero(self, node: cst.BaseExpression) -> bool:
        """Whether `node` is a remainder that is 0 now and then: `step % 100`."""
        match node:
            case cst.BinaryOperation(operator=cst.Modulo(), right=every):
                number = self._infer.integers.most(every)
                return number is None or number > 2
        return False

    def _compares(
        self, left: cst.BaseExpression, operator: cst.BaseCompOp, right: cst.BaseExpression
    ) -> bool:
        match operator:
            case cst.Is() if is_name(right, "None") and self._is_taken_each_time(left):
                return False  # few of the gradients are missing
            case cst.Is() | cst.IsNot() if is_name(right, "None"):
                return not self._is_told_each_time(left)
            case cst.Is() | cst.IsNot():
                return self._is_setting(left)
            case cst.GreaterThan() | cst.GreaterThanEqual() | cst.LessThan() | cst.LessThanEqual():
                if _measures(left) or _measures(right):
                    return True
                counter, bound = (left, right) if isinstance(operator, _GREATER) else (right, left)
                return self._counts_up(counter) and (is_constant(bound) or self._is_bound(bound))
            case cst.Equal() if _is_modulo_one(left) or _is_modulo_one(right):
                return True
            case cst.NotEqual() if integer(right) == 0 and self._is_seldom_zero(left):
                return True
            case cst.Equal() | cst.NotEqual() | cst.In() | cst.NotIn():
                sides = [side for side in (left, right) if not _is_literal(side)]
                return len(sides) == 1 and (self._is_setting(sides[0]) or _is_rank(sides[0]))
        return False

    def _is_taken_each_time(self, node: cst.BaseExpression) -> bool:
        """Whether `node` is what a loop goes through: `for gradient in gradients`."""
        return any(binding.kind == "for" for binding in self._infer.bindings(node))

    def _is_told_each_time(self, node: cst.BaseExpression) -> bool:
        """Whether a call in the same loop gives `node`, which a condition asks for: `score = play()`, `if score is not
        None`."""
        loop = self._infer.place(node).block.loop
        return loop is not None and any(
            isinstance(b.value, cst.Call) and loop in loops_around(b.at.block.loop)
            for b in self._infer.bindings(node)
        )

    def _counts_up(self, node: cst.BaseExpression) -> bool:
        """Whether `node` is a counter that nothing resets."""
        if not isinstance(node, cst.Name | cst.Attribute) or not names_a_counter(last_name(node)):
            return False
        if isinstance(node, cst.Attribute):
            bindings = self._infer.classes.bindings_of(node)
        else:
            found = self._infer.names.lookup(node.value, self._infer.names.scope_of(node))
            bindings = found[1] if found is not None else []
        block = self._infer.place(node).block
        return bool(bindings) and not any(_is_set_back(binding, block) for binding in bindings)

    def _is_bound(self, node: cst.BaseExpression) -> bool:
        """Whether `node`, which a counter is compared to, is a setting, rather than what it was the last time."""
        return (
            isinstance(node, cst.Name | cst.Attribute | cst.Subscript)
            and not names_a_moment(last_name(node))
            and (self._is_setting(node) or bool(names_a_beginning(last_name(node))))
        )

    def _is_setting(self, node: cst.BaseExpression) -> bool:
        """Whether `node` is a setting, the same in all steps: `args.use_ema`, `USE_EMA`, `self.use_ema` that only the
        constructor sets, a parameter of the function that has the loop."""
        if isinstance(node, cst.Subscript):
            return isinstance(node.value, cst.Name) and _holds_settings(node.value.value)
        name = last_name(node)
        if names_a_debug_switch(name) or names_evaluation(name) or names_a_moment(name):
            return False
        if isinstance(node, cst.Attribute):
            root = node.value
            while isinstance(root, cst.Attribute):
                root = root.value
            if not isinstance(root, cst.Name) or not _holds_settings(root.value):
                return False
            return root.value != "self" or self._is_set_once(node)
        if not isinstance(node, cst.Name):
            return False
        found = self._infer.names.lookup(node.value, self._infer.names.scope_of(node))
        if found is None or len(found[1]) != 1:
            return False
        (binding,) = found[1]
        if binding.kind == "param":
            # A loop of the function does not change what it was given.
            within = self._infer.place(node).block
            return (
                within.loop is not None
                and within.function is found[0].function
                and not names_a_counter(node.value)
            )
        return node.value.isupper() and binding.at.block.loop is None

    def _is_set_once(self, node: cst.Attribute) -> bool:
        if isinstance(node.value, cst.Attribute):
            return _holds_settings(node.value.attr.value)
        return self._infer.classes.is_set_once(node)


def _holds_settings(name: str) -> bool:
    return name == "self" or bool(names_settings(name))


def asks_for_enough(condition: cst.CSTNode) -> bool:
    """Whether `condition` asks whether a replay memory holds enough to learn from: `memory.can_sample`,
    `buffer.has_enough()`."""
    asked = condition.func if isinstance(condition, cst.Call) else condition
    return isinstance(asked, cst.Attribute) and bool(names_enough(asked.attr.value))


def _is_set_back(binding: Binding, use: Block) -> bool:
    """Whether the steps themselves may reset the counter of `binding`."""
    if binding.kind in ("augment", "for", "param"):
        return False
    if binding.value is not None and mentions(binding.value, {binding.name}):
        return False  # `step = step + 1`
    block = binding.at.block
    if block.function is not use.function:
        return block.function is not None and block.function.name != "__init__"
    return use.loop is not None and block.loop is use.loop


def _measures(node: cst.BaseExpression) -> bool:
    """Whether `node` asks how much there is: `len(buffer)`, `memory.size()`."""
    if any(
        isinstance(part, cst.Call) and callee_name(part) in ("len", "size", "__len__", "qsize")
        for part in descendants(node)
    ):
        return True
    return isinstance(node, cst.Attribute) and bool(names_a_filling(last_name(node)))


def _is_modulo_one(node: cst.BaseExpression) -> bool:
    """Whether `node` is `step % 1`, which is 0 on each step."""
    return (
        isinstance(node, cst.BinaryOperation)
        and isinstance(node.operator, cst.Modulo)
        and integer(node.right) == 1
    )


def _is_literal(node: cst.BaseExpression) -> bool:
    return is_constant(node) or (
        isinstance(node, cst.List | cst.Tuple | cst.Set)
        and all(is_constant(part.value) for part in node.elements)
    )


def _is_rank(node: cst.BaseExpression) -> bool:
    """Whether `node` asks which of several processes this is."""
    names = [name.value for name in names_read(node)] + [last_name(node)]
    called = callee_name(node) if isinstance(node, cst.Call) else ""
    return any(names_a_rank(name) for name in (*names, called))
