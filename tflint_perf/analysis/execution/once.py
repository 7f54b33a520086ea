"""Code that a step loop reaches but does not run on each step: caches, first calls, restarts, ways out of the loop."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.execution.guards import Guards
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.python.reach import remembered, remembered_in_circles
from tflint_perf.analysis.python.scopes import Function, Loop
from tflint_perf.analysis.python.syntax import (
    callee_name,
    descendants,
    dotted_name,
    is_name,
    last_name,
    last_statement,
    names_read,
    names_written,
)
from tflint_perf.analysis.python.walk import Walk
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.classes import CONSTRUCTORS
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.mutations import name_of_place, places_changed
from tflint_perf.analysis.values.parts import Part

_CACHING_DECORATORS = frozenset(
    ["lru_cache", "cache", "cached_property", "memoize", "cached", "functools_cache", "once", "run_once"]
)
# Keras asks for these once and keeps what they give.
_KERAS_FACTORIES = frozenset(["make_train_function", "make_test_function", "make_predict_function"])


class Once(Part):
    """Answers whether code in a step loop runs once, or seldom, because what it makes is kept."""

    _infer: Inference
    _calls: CallGraph
    _loops: Loops

    def runs_seldom(self, node: cst.CSTNode) -> bool:
        """Whether `node` runs behind a cache or a first-call test, handles an exception, or ends its loop."""
        if self._here(node):
            return True
        function = self._calls.function_at(node)
        if function is None or self._loops.iteration_around(node) is not None:
            return False
        if function.name in _KERAS_FACTORIES or any(self._caches(d.decorator) for d in function.decorators):
            return True
        return self._is_called_seldom(function)

    @remembered_in_circles(False)
    def _is_called_seldom(self, function: Function) -> bool:
        sites = [call for call in self._calls.sites(function) if self._loops.is_per_step(call)]
        return bool(sites) and all(map(self.runs_seldom, sites))

    @remembered_in_circles(False)
    def sets_up(self, function: Function) -> bool:
        """Whether `function` sets up an object, as a constructor and `build` do, or is called by such functions alone."""
        callers = [self._calls.function_at(call) for call in self._calls.sites(function)]
        return (function.name in CONSTRUCTORS and function.owner is not None) or (
            bool(callers)
            and not self._calls.callers_outside(function)
            and all(caller is not None and self.sets_up(caller) for caller in callers)
        )

    def _caches(self, decorator: cst.BaseExpression) -> bool:
        func = decorator.func if isinstance(decorator, cst.Call) else decorator
        return last_name(func) in _CACHING_DECORATORS

    def _here(self, node: cst.CSTNode) -> bool:
        """Whether something between `node` and the loop or function around it keeps it from running each time."""
        loop = self._loops.iteration_around(node)
        end = extent(self._walk, loop) if loop is not None else None
        child, current = node, self._walk.parents.get(node)
        while current is not None and not isinstance(
            current, cst.FunctionDef | cst.Lambda | cst.ClassDef | cst.Module
        ):
            match current:
                case cst.If() if child is not current.test and _makes_what_it_asks_for(current.test, current):
                    return True
                case cst.If() if child is current.body and self._keeps_what_it_asks_for(current):
                    return True
                case cst.If() if child is current.body and self._keeps_what_it_compares(current):
                    return True
                case cst.IfExp() if child is not current.test and self._is_kept_choice(current):
                    return True
                case cst.ExceptHandler():
                    return True
                case cst.Call() if callee_name(current) == "setdefault":
                    return True
                case cst.IndentedBlock() if self._left_at_end(current, loop):
                    return True
                case cst.IndentedBlock() if child in self._behind_answers(current):
                    return True
            if current is end:
                return False
            child, current = current, self._walk.parents.get(current)
        return False

    def _keeps_what_it_compares(self, node: cst.If) -> bool:
        """Whether `node` makes something anew only where what an object keeps says that it is another one: `if size !=
        self.size: self.make(size)`, where the method keeps the size."""
        compared = _kept_by_self(node.test)
        return bool(compared) and any(
            not compared.isdisjoint(_written(body)) for body in (node.body, *self._run_by(node.body))
        )

    def _keeps_what_it_asks_for(self, node: cst.If) -> bool:
        """Whether `node` calls a function that makes what it found missing: `if self.optimizer is None: self.set_up()`."""
        asked = _asked_for(node.test) - {name.value for name in names_read(node.test)}  # which are its own
        return bool(asked) and any(not asked.isdisjoint(_written(body)) for body in self._run_by(node.body))

    def _run_by(self, body: cst.BaseSuite) -> list[cst.CSTNode]:
        """The bodies of the functions that are called in another."""
        return [
            target.node.body
            for call in descendants(body)
            if isinstance(call, cst.Call)
            for target in self._calls.targets(call)
        ]

    def _is_kept_choice(self, choice: cst.IfExp) -> bool:
        """Whether `choice` keeps what it makes for the next time: `fn = tf.function(f) if fn is None else fn`."""
        return _makes_what_it_asks_for(choice.test, self._walk.parents[choice])

    @remembered
    def _behind_answers(self, block: cst.IndentedBlock) -> frozenset[cst.CSTNode]:
        """The statements of a block behind one that returns what is there already."""
        statements = block.body
        first = next((at for at, statement in enumerate(statements) if _answers(statement, block)), None)
        return frozenset(statements[first + 1 :]) if first is not None else frozenset()

    @staticmethod
    def _left_at_end(block: cst.IndentedBlock, loop: Loop | None) -> bool:
        """Whether the loop ends at the end of a block in it."""
        return loop is not None and isinstance(last_statement(block), cst.Return | cst.Break | cst.Raise)


def extent(walk: Walk, loop: Loop) -> cst.CSTNode:
    """The node that holds all that a loop runs: the statement, or the whole comprehension."""
    node: cst.CSTNode = loop.node
    while isinstance(node, cst.CompFor):
        node = walk.parents[node]
    return node


def _makes_what_it_asks_for(test: cst.BaseExpression, maker: cst.CSTNode) -> bool:
    """Whether `test` asks for what is then made: `if x is None: x = …`, `if key not in cache: cache[key] = …`, `if not
    hasattr(self, "fn"): self.fn = …`."""
    asked = _asked_for(test)
    return bool(asked) and not asked.isdisjoint(_written(maker))


def _asked_for(test: cst.BaseExpression) -> set[str]:
    """The names of what a condition asks to be there."""
    names: set[str] = set()
    for part in descendants(test):
        match part:
            case cst.Comparison(
                comparisons=[
                    cst.ComparisonTarget(operator=cst.Is() | cst.IsNot(), comparator=cst.Name("None"))
                ]
            ):
                names |= _mentioned(part.left)
            case cst.ComparisonTarget(operator=cst.In() | cst.NotIn()):
                names |= _mentioned(part.comparator)
            case cst.UnaryOperation(operator=cst.Not(), expression=cst.Name() | cst.Attribute()):
                names.add(last_name(part.expression))
            case cst.Call(func=cst.Name("hasattr"), args=[_, cst.Arg(value=name)]):
                names.add(name_of_place(name))
    if isinstance(test, cst.Name | cst.Attribute):
        names.add(last_name(test))
    return names


def _kept_by_self(test: cst.BaseExpression) -> set[str]:
    """The attributes of `self` that a condition says are other ones."""
    return {
        part.attr.value
        for comparison in descendants(test)
        if isinstance(comparison, cst.Comparison)
        and any(isinstance(target.operator, cst.NotEqual) for target in comparison.comparisons)
        for part in descendants(comparison)
        if isinstance(part, cst.Attribute) and is_name(part.value, "self")
    }


def _mentioned(node: cst.CSTNode) -> set[str]:
    return {last_name(part) for part in descendants(node) if isinstance(part, cst.Name | cst.Attribute)} - {
        "self"
    }


def _written(node: cst.CSTNode) -> set[str]:
    changed = {name_of_place(place) for part in descendants(node) for place in places_changed(part)}
    return changed | names_written([node])


def _answers(statement: cst.CSTNode, block: cst.IndentedBlock) -> bool:
    """Whether `statement` returns early because something exists already: `if self.fn: return self.fn`, or because what
    the block makes is there."""
    if not isinstance(statement, cst.If) or statement.orelse is not None:
        return False
    last = last_statement(statement.body)
    if not isinstance(last, cst.Return):
        return False
    if last.value is not None:
        return not _asked_for(statement.test).isdisjoint(_mentioned(last.value))
    if _is_flag_of(statement.test, block):
        return True
    return _is_in(statement.test) and _makes_what_it_asks_for(statement.test, block)


def _is_flag_of(test: cst.BaseExpression, block: cst.IndentedBlock) -> bool:
    """Whether a block notes that it has run in what a condition asks: `if self.built: return`, `self.built = True`."""
    if not isinstance(test, cst.Name | cst.Attribute):
        return False
    return any(
        isinstance(assign, cst.Assign)
        and is_name(assign.value, "True")
        and any(dotted_name(target.target) == dotted_name(test) for target in assign.targets)
        for line in block.body
        if isinstance(line, cst.SimpleStatementLine)
        for assign in line.body
    )


def _is_in(test: cst.BaseExpression) -> bool:
    """Whether a condition is `key in cache`."""
    match test:
        case cst.Comparison(comparisons=[cst.ComparisonTarget(operator=cst.In())]):
            return True
    return False


class Seldom(Part):
    """Answers whether code runs seldom."""

    _calls: CallGraph
    _loops: Loops
    _guards: Guards
    _once: Once

    def runs(self, node: cst.CSTNode) -> bool:
        """Whether something keeps `node` from running on each step, here or wherever a step loop calls it."""
        if self._guards.guard_of(node) is not None or self._once.runs_seldom(node):
            return True
        function = self._calls.function_at(node)
        if function is None or self._loops.innermost_loop(node) is not None:
            return False
        return self._is_called_seldom(function)

    @remembered_in_circles(False)
    def _is_called_seldom(self, function: Function) -> bool:
        sites = [site for site in self._calls.sites(function) if self._loops.is_per_step(site)]
        outside = [caller for caller in self._calls.callers_outside(function) if caller.per_step]
        return (
            bool(sites or outside)
            and all(map(self.runs, sites))
            and all(caller.guarded for caller in outside)
        )
