"""Which bodies of functions are compiled code, which surely run in eager mode, and why."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.apis.keras_classes import COMPILED_METHODS, STEPS_OF_MODELS
from tflint_perf.analysis.execution.function_arguments import TRACERS, Handed
from tflint_perf.analysis.execution.host_loops import runs_loop_on_host
from tflint_perf.analysis.python.reach import leads_to
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import argument, descendants, is_name, is_super
from tflint_perf.analysis.values.caller import State
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference

# A function that asks in which mode it runs is written for both.
_ASKS_THE_MODE = frozenset({"tf.executing_eagerly", "tf.inside_function"})


class Compiled:
    """Answers for each function of a file whether it is compiled."""

    def __init__(self, infer: Inference, calls: CallGraph) -> None:
        self._infer = infer
        self._calls = calls
        self._walk = infer.walk
        self._names = infer.names
        self._states: dict[Function, State] | None = None
        self._handed = Handed(infer, calls)
        self._traced: set[Function] = set()
        # Methods that only Keras compiles, and that a program may call by itself.
        self._by_keras: set[Function] = set()
        self._traceable: set[Function] = set()
        # Those that would be compiled, had the file not turned eager mode on for everything.
        self._switched_off: set[Function] = set()
        self._has_other_way: dict[Function, bool] = {}

    def state(self, function: Function | None) -> State:
        """Whether the body of a function is compiled code; module-level code (None) is eager."""
        if function is None:
            return "eager"
        if self._states is None:
            self._states = self._settle()
        return self._states.get(function, "unknown")

    def is_eager(self, node: cst.CSTNode) -> bool:
        """Whether `node` surely runs in eager mode."""
        return self.state(self._calls.function_at(node)) == "eager"

    def is_compiled(self, node: cst.CSTNode) -> bool:
        """Whether `node` is compiled code."""
        return self.state(self._calls.function_at(node)) == "compiled"

    def is_traced(self, function: Function) -> bool:
        """Whether TensorFlow itself is handed the function to trace: a decorator, a call, a Keras method."""
        self.state(function)
        return function in self._traced

    def would_be_traced(self, function: Function) -> bool:
        """Like `is_traced`, also where the file turns eager on for everything."""
        self.state(function)
        return function in self._traceable

    def is_switched_off(self, function: Function) -> bool:
        """Whether a function would be compiled, by itself or with all that call it, were it not for a switch that turns
        eager mode on for everything."""
        self.state(function)
        return bool(self._switched_off) and not leads_to(function, self._has_other_way, self._callers_to_ask)

    def hands_functions_over(self) -> bool:
        """Whether this file gives functions of its own to others, as arguments, which may call them."""
        if self._states is None:
            self._states = self._settle()
        return any(isinstance(place, cst.Arg) for place in self._handed.to_others.values())

    def is_dataset_tracer(self, call: cst.Call) -> bool:
        """Whether a call gives a dataset a function that it traces: `dataset.map(f)`."""
        return self._handed.is_dataset_tracer(call)

    def _callers_to_ask(self, function: Function) -> bool | list[Function]:
        """Whether anything but a function that is switched off may run `function`, or else what calls it."""
        if function in self._switched_off:
            return []
        callers = [self._calls.function_at(site) for site in self._calls.sites(function)]
        known = [caller for caller in callers if caller is not None]
        if not callers or len(known) < len(callers) or self._calls.callers_outside(function):
            return True
        return known

    def _settle(self) -> dict[Function, State]:
        functions = list(self._walk.functions.values())
        self._traced.update(filter(self._is_traced_where_defined, functions))
        self._handed.follow()
        self._traced |= self._handed.traced
        for function in functions:
            self._follow_callers_outside(function)
        of_keras = [function for function in functions if self._is_keras_method(function)]
        self._by_keras = {f for f in of_keras if f not in self._traced and f.name in STEPS_OF_MODELS}
        self._traced.update(of_keras)
        self._traceable = set(self._traced)
        if self._everything_eager():
            self._switched_off = self._traced.difference(of_keras) | self._by_keras
            self._traced.clear()
        states: dict[Function, State] = dict.fromkeys(self._traced, "compiled")
        states.update(dict.fromkeys(self._handed.on_host, "unknown"))
        states.update(dict.fromkeys(filter(_is_defined_anew, functions), "unknown"))
        self._spread_eager(functions, states)
        self._spread_compiled(functions, states)
        return states

    def _is_traced_where_defined(self, function: Function) -> bool:
        decorators = (decorator.decorator for decorator in function.decorators)
        return any(self._infer.compiles(decorator) or self._is_tracer(decorator) for decorator in decorators)

    def _everything_eager(self) -> bool:
        return any(
            self._names.qualified(call.func) == "tf.config.run_functions_eagerly"
            and is_name(argument(call, 0, "run_eagerly"), "True")
            and not self._is_behind_flag(call)
            for name in ("run_functions_eagerly", "experimental_run_functions_eagerly")
            for call in self._walk.calls.get(name, ())
        )

    def _is_behind_flag(self, call: cst.Call) -> bool:
        """Whether a condition besides `if __name__ == "__main__"` decides on a call."""
        child: cst.CSTNode = call
        current = self._walk.parents.get(call)
        while current is not None:
            if isinstance(current, cst.If | cst.IfExp) and child is not current.test:
                if not any(is_name(part, "__name__") for part in descendants(current.test)):
                    return True
            child, current = current, self._walk.parents.get(current)
        return False

    def _is_tracer(self, decorator: cst.BaseExpression) -> bool:
        func = decorator.func if isinstance(decorator, cst.Call) else decorator
        return self._names.qualified(func) in TRACERS

    def _is_keras_method(self, function: Function) -> bool:
        if function.owner is None:
            return False
        return function.name in COMPILED_METHODS.get(self._infer.classes.keras_kind(function.owner), ())

    def _follow_callers_outside(self, function: Function) -> None:
        """Note what other files do with a function, but for calling it."""
        callers = self._calls.callers_outside(function)
        if function in self._handed.to_others and not callers:
            self._handed.used.setdefault(function, []).append(self._handed.to_others[function])
        for caller in callers:
            if caller.how == "compile":
                self._traced.add(function)
            elif caller.how == "other":
                self._handed.used.setdefault(function, []).append(function.node)

    def _spread_eager(self, functions: list[Function], states: dict[Function, State]) -> None:
        """Everything that eager code calls is eager, unless it is traced by itself."""
        waiting: list[Function] = []

        def mark(calls: list[cst.Call]) -> None:
            for call in calls:
                for target in self._calls.targets(call):
                    if target not in states or self._is_called_as_method(call, target):
                        self._by_keras.discard(target)
                        self._traced.discard(target)
                        states[target] = "eager"
                        waiting.append(target)

        for function in functions:
            if function in self._by_keras and self._is_called_outside(function, "eager"):
                self._by_keras.discard(function)
                self._traced.discard(function)
                states[function] = "eager"
                waiting.append(function)
            elif function not in states and (
                function in self._handed.run
                or self._may_be_entry(function)
                or self._is_called_outside(function, "eager")
            ):
                states[function] = "eager"
                waiting.append(function)
        mark(self._walk.module_calls)
        while waiting:
            mark(waiting.pop().calls)

    def _is_called_as_method(self, call: cst.Call, function: Function) -> bool:
        """Whether a program calls `model.train_step(batch)` itself, which then is not what Keras compiles."""
        return (
            function in self._by_keras
            and isinstance(call.func, cst.Attribute)
            and not is_super(call.func.value)
        )

    def _is_called_outside(self, function: Function, state: State) -> bool:
        """Whether code of that state in another file calls a function, or goes over what it gives."""
        return any(
            caller.how in ("call", "drive") and caller.state == state
            for caller in self._calls.callers_outside(function)
        )

    def _may_be_entry(self, function: Function) -> bool:
        """Whether a function is judged by itself: nobody is known to call it, or to wrap it."""
        if (
            self._calls.sites(function)
            or self._handed.used.get(function)
            or isinstance(function.node, cst.Lambda)
        ):
            return False
        if self._calls.callers_outside(function):
            return False
        if any(self._names.qualified(call.func) in _ASKS_THE_MODE for call in function.calls):
            return False
        if function.owner is None:
            return True
        owner = function.owner
        if self._infer.classes.keras_kind(owner) == "sequence":
            return True  # Keras's loops ask for batches on the host
        if self._infer.classes.has_foreign_base(owner) or self._infer.classes.keras_kind(owner):
            return runs_loop_on_host(function)
        return True

    def _spread_compiled(self, functions: list[Function], states: dict[Function, State]) -> None:
        """What only compiled code calls is compiled."""
        waiting = list(reversed(functions))
        # How many of a function's sites, from the first on, are known to be in compiled code.
        known: dict[Function, int] = {}
        while waiting:
            function = waiting.pop()
            sites, callers = self._calls.sites(function), self._calls.callers_outside(function)
            if function in states or not (sites or callers) or self._handed.used.get(function):
                continue
            if any(caller.state != "compiled" for caller in callers):
                continue
            at = known.get(function, 0)
            while at < len(sites) and self._is_site_compiled(sites[at], states):
                at += 1
            known[function] = at
            if at == len(sites):
                states[function] = "compiled"
                waiting += (target for call in function.calls for target in self._calls.targets(call))

    def _is_site_compiled(self, call: cst.Call, states: dict[Function, State]) -> bool:
        caller = self._calls.function_at(call)
        return caller is None or states.get(caller) == "compiled"


def _is_defined_anew(function: Function) -> bool:
    """Whether its class defines another method of that name below, so that nobody can call this one."""
    last = function.owner.methods.get(function.name, function) if function.owner is not None else function
    return last is not function and last.at.block is function.at.block and not function.decorators
