"""Who calls whom in a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from functools import cached_property

import libcst as cst

from tflint_perf.analysis.python.scopes import Binding, Function
from tflint_perf.analysis.values.callees import Callees
from tflint_perf.analysis.values.caller import Caller, Given
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.outside import PROGRAMS, Outside, name_given, name_outside
from tflint_perf.analysis.values.parts import Part

# Rounds of asking who is called.
_ROUNDS = 3


class Sites:
    """Where a file calls its own functions.

    What a parameter is follows from the callers, and who calls a method from what a parameter is: so the calls that stay
    open are asked again once the others are known.
    """

    def __init__(self, infer: Inference) -> None:
        self.by_function: dict[Function, list[cst.Call]] = {}
        self.targets: dict[cst.Call, list[Function]] = {}
        # What was worked out before all callers are known must not be kept, and what other files define runs no
        # function of this one.
        alone = infer.alone()
        callees = Callees(alone, infer.outside)
        waiting = callees.candidates()
        for number in range(_ROUNDS):
            left = [call for call in waiting if not self._settle(call, callees)]
            if number and len(left) == len(waiting):  # and the next round would know no more
                break
            waiting = left
            alone.forget()
            alone.arguments_of = lambda function, name: callees.passed(self.of(function), function, name)
        alone.release()

    def of(self, function: Function) -> list[cst.Call]:
        """The calls that run `function`."""
        return self.by_function.get(function, [])

    def _settle(self, call: cst.Call, callees: Callees) -> bool:
        functions = list(callees.of(call))
        for function in functions:
            self.by_function.setdefault(function, []).append(call)
            self.targets.setdefault(call, []).append(function)
        return bool(functions)


class CallGraph(Part):
    """Call sites of the file's functions, and what they pass."""

    _infer: Inference

    def __post_init__(self) -> None:
        self._outside = self._infer.outside
        self._callees = Callees(self._infer, self._infer.outside)
        # What is passed, by function and parameter.
        self._given: dict[tuple[Function, str], list[cst.BaseExpression]] = {}

    @cached_property
    def _sites(self) -> Sites:
        # Most files are done with before their calls need to be known.
        return Sites(self._infer)

    def with_callers(self, outside: Outside) -> CallGraph:
        """The same calls, with other callers in other files."""
        assert self._sites is not None  # looked for once, for both
        other = copy(self)
        other._outside = outside
        return other

    # In this file

    def sites(self, function: Function) -> list[cst.Call]:
        """The calls in this file that run `function`."""
        return self._sites.of(function)

    def targets(self, call: cst.Call) -> list[Function]:
        """The functions of this file that `call` runs."""
        return self._sites.targets.get(call, [])

    def run_by_strategy(self, call: cst.Call) -> cst.BaseExpression | None:
        """`f` in `strategy.run(f, args=(x,))`."""
        return self._callees.run_by_strategy(call)

    def is_map(self, call: cst.Call) -> bool:
        """Whether it is Python's own `map(f, values)`."""
        return self._callees.is_map(call)

    def mapped_over(self, function: Function | None) -> cst.BaseExpression | None:
        """`values` in `map(f, values)` where nothing else calls the function."""
        sites = self.sites(function) if function is not None else []
        return sites[0].args[1].value if len(sites) == 1 and self.is_map(sites[0]) else None

    def methods_named(self, name: str) -> list[Function]:
        """The methods of that name, of all classes in this file."""
        return self._callees.methods_named(name)

    def function_at(self, node: cst.CSTNode) -> Function | None:
        """The function whose body holds `node`; None at module or class level."""
        return self._infer.names.scope_of(node).function

    def arguments(
        self, function: Function, parameter: str, sites: list[cst.Call] | None = None
    ) -> list[cst.BaseExpression]:
        """What the calls of `function` in this file, or those at `sites`, pass as `parameter`; empty when one hides it."""
        if sites is not None:
            return self._callees.passed(sites, function, parameter)
        known = self._given.get((function, parameter))
        if known is None:
            known = self._callees.passed(self.sites(function), function, parameter)
            self._given[function, parameter] = known
        return known

    def given(self, parameter: Binding) -> list[cst.BaseExpression]:
        """The same for what binds a parameter; empty for any other binding."""
        function = self._infer.names.function_with.get(parameter.node)
        return self.arguments(function, parameter.name) if function is not None else []

    # In other files

    def callers_outside(self, function: Function) -> tuple[Caller, ...]:
        """The places in other files that call `function`, or hand it to something."""
        names = filter(None, map(name_outside, (function, *self.makers_of_iterators(function))))
        callers = (caller for name in names for caller in self._outside.callers(name))
        return tuple(caller for caller in callers if caller.how != "consume")

    def programs(self) -> tuple[Caller, ...]:
        """The programs of other files that this one is part of, where that is known."""
        return self._outside.callers(PROGRAMS)

    def given_outside(self, function: Function, name: str, *, per_step: bool = False) -> Iterator[Given]:
        """What callers in other files, or those that do so on each step, give as a parameter, as far as they say."""
        callers = self.callers_outside(function)
        if function.name == "__init__":
            callers = tuple(self._outside.callers(name_given(function)))
        for caller in callers:
            if not per_step or (caller.per_step and caller.always):
                yield from given_by(caller, function, name)

    def makers_of_iterators(self, function: Function) -> list[Function]:
        """The `__iter__` of other classes whose objects a loop goes over by a function, their iterators' `__next__`."""
        return self._makers_of_iterators.get(function, []) if function.name == "__next__" else []

    @cached_property
    def _makers_of_iterators(self) -> dict[Function, list[Function]]:
        found: dict[Function, list[Function]] = {}
        for maker in self.methods_named("__iter__"):
            given = self._infer.returned(maker)
            if given.kind == "instance" and given.klass not in (None, maker.owner):
                if (taken := given.klass.methods.get("__next__")) is not None:
                    found.setdefault(taken, []).append(maker)
        return found

    def consumers_outside(self, name: str) -> Iterator[Caller]:
        """The places in other files that take the elements of a dataset which this file gives them by a name."""
        return (caller for caller in self._outside.callers(name) if caller.how == "consume")

    def functions_outside(self, nodes: Iterable[cst.CSTNode]) -> set[Function]:
        """The functions that other files can name through which they may come to run one of `nodes`."""
        found: set[Function] = set()
        seen: set[Function] = set()
        waiting = [*map(self.function_at, nodes)]
        while waiting:
            function = waiting.pop()
            if function is None or function in seen:
                continue
            seen.add(function)
            if name_outside(function):
                found.add(function)
            waiting += [function.outer, *map(self.function_at, self.sites(function))]
            waiting += self.makers_of_iterators(function)
        return found


def given_by(caller: Caller, function: Function, name: str) -> Iterator[Given]:
    """What a caller in another file says of what it gives to `function` as a parameter."""
    places = function.places
    for given in caller.given:
        at = places[given.at] if 0 <= given.at < len(places) else given.name
        if at in (name, "*"):
            yield given
