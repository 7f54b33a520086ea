"""Which bodies of functions are compiled code, which surely run in eager mode, and why."""

from __future__ import annotations

import re

import libcst as cst

from tflint_perf.analysis.apis.facts import has, last_names, methods
from tflint_perf.analysis.conventions import names_an_epoch
from tflint_perf.analysis.execution.sizes import is_of_environment
from tflint_perf.analysis.python.reach import leads_to
from tflint_perf.analysis.python.scopes import Binding, Class, Function, Loop
from tflint_perf.analysis.python.syntax import (
    argument,
    callee_name,
    descendants,
    integer,
    is_name,
    is_super,
    keyword_argument,
    names_read,
    string,
    target_names,
)
from tflint_perf.analysis.values.caller import State
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.classes import CONSTRUCTORS
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.named_calls import is_progress_bar
from tflint_perf.analysis.values.outside import name_outside
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.values import UNKNOWN
from tflint_perf.analysis.values.written import written_out


class Compiled(Part):
    """Answers for each function of a file whether it is compiled."""

    _infer: Inference
    _calls: CallGraph

    def __post_init__(self) -> None:
        self._names = self._infer.names
        self._states: dict[Function, State] | None = None
        self._handed = Handed(self._infer, self._calls)
        self._traced: set[Function] = set()
        # Methods that only Keras compiles, and that a program may call by itself.
        self._by_keras: set[Function] = set()
        # All that nothing but Keras is known to have compiled.
        self._left_to_keras: set[Function] = set()
        self._traceable: set[Function] = set()
        # Those that would be compiled, had the file not turned eager mode on for everything.
        self._switched_off: set[Function] = set()
        self._has_other_way: dict[Function, bool] = {}
        self._everything_is_eager = False

    def state(self, function: Function | None) -> State:
        """How the body of a function runs: "compiled", "eager" or "unknown"; module-level code (None) is eager."""
        if function is None:
            return "eager"
        if self._states is None:
            self._states = self._settle()
        return self._states.get(function, "unknown")

    def is_eager(self, node: cst.CSTNode) -> bool:
        """Whether `node` is known to run in eager mode."""
        return self.state(self._calls.function_at(node)) == "eager"

    def is_compiled(self, node: cst.CSTNode) -> bool:
        """Whether `node` is known to run in compiled code."""
        return self.state(self._calls.function_at(node)) == "compiled"

    def is_traced(self, function: Function) -> bool:
        """Whether TensorFlow itself is given `function` to trace: a decorator, a call, a Keras method."""
        self.state(function)
        return function in self._traced

    def is_left_to_keras(self, function: Function) -> bool:
        """Whether `function` is compiled only in so far as Keras does it: the `call` of a layer, of which no caller is asked."""
        self.state(function)
        return function in self._left_to_keras

    def would_be_traced(self, function: Function) -> bool:
        """Like `is_traced`, also where the file turns eager mode on for everything; what makes an object's variables, once,
        is none of these."""
        self.state(function)
        return function in self._traceable and function.name not in CONSTRUCTORS

    def is_switched_off(self, function: Function) -> bool:
        """Whether `function` would be compiled, by itself or with all that calls it, without a switch that turns eager
        mode on for everything."""
        self.state(function)
        return bool(self._switched_off) and not leads_to(function, self._has_other_way, self._callers_to_ask)

    def has_signature(self, function: Function) -> bool:
        """Whether the `tf.function` made of `function` has an `input_signature`, which makes tensors of the arguments."""
        makers = [given.decorator for given in function.decorators if isinstance(given.decorator, cst.Call)]
        makers += [
            call
            for name in last_names("compiles")
            for call in self._walk.calls.get(name, ())
            if call.args
            and self._infer.compiles(call.func)
            and self._infer.value(call.args[0].value).function is function
        ]
        return any(keyword_argument(maker, "input_signature") is not None for maker in makers)

    def is_nothing_compiled(self) -> bool:
        """Whether a switch has all compiled functions run in eager mode, so that to make one has no effect."""
        if self._states is None:
            self._states = self._settle()
        return self._everything_is_eager

    def hands_functions_over(self) -> bool:
        """Whether this file passes functions of its own to others, which may call them."""
        if self._states is None:
            self._states = self._settle()
        return any(isinstance(place, cst.Arg) for place in self._handed.to_others.values())

    def is_dataset_tracer(self, call: cst.Call) -> bool:
        """Whether `call` gives a dataset a function to trace: `dataset.map(f)`."""
        return self._handed.is_dataset_tracer(call)

    def is_for_dataset(self, function: Function) -> bool:
        """Whether a dataset is given `function` to trace, by its name or as what another function made."""
        self.state(function)
        return function in self._handed.for_datasets

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
        self._left_to_keras = {function for function in of_keras if function not in self._traced}
        self._by_keras = {f for f in self._left_to_keras if f.name in methods("Model", "steps")}
        self._traced.update(of_keras)
        self._traceable = set(self._traced)
        everything_eager = self._everything_is_eager = self._everything_eager()
        if everything_eager:
            self._switched_off = self._traced.difference(of_keras) | self._by_keras
            self._traced.clear()
        states: dict[Function, State] = dict.fromkeys(self._traced, "compiled")
        states.update(dict.fromkeys(self._handed.on_host, "unknown"))
        states.update(dict.fromkeys(self._handed.replaced - self._traced, "unknown"))
        states.update(dict.fromkeys(filter(_is_defined_anew, functions), "unknown"))
        self._spread_eager(functions, states)
        if not everything_eager:
            self._spread_compiled(functions, states)
        return states

    def _is_traced_where_defined(self, function: Function) -> bool:
        decorators = (decorator.decorator for decorator in function.decorators)
        return any(self._infer.compiles(decorator) or self._is_tracer(decorator) for decorator in decorators)

    def _everything_eager(self) -> bool:
        """Whether the file, a module that it imports or each program that it is part of has all compiled functions run in
        eager mode."""
        programs = self._calls.programs() if self._traced else ()
        if programs and all(program.state == "eager" for program in programs):
            return True
        return any(map(turns_eager_on, self._infer.texts_of_imports)) or any(
            self._names.is_call_that(call, "runs-eagerly")
            and is_name(argument(call, 0, "run_eagerly"), "True")
            and not self._is_behind_flag(call)
            for call in self._walk.calls_named(*last_names("runs-eagerly"))
        )

    def _is_behind_flag(self, call: cst.Call) -> bool:
        """Whether `call` runs under a condition other than `if __name__ == "__main__"`."""
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
        return has(self._names.qualified(func), "traces")

    def _is_keras_method(self, function: Function) -> bool:
        if function.owner is None:
            return False
        kind = self._infer.classes.keras_kind(function.owner)
        takes_data = function.places or isinstance(function.node.params.star_arg, cst.Param)
        if function.name in methods("Model", "steps") and not takes_data:
            return False  # Keras gives it those of a step
        if function.name in methods("Model", "takes-data") and _required(function) > 1:
            return False  # Keras gives it nothing else: this one the program calls itself
        return function.name in methods(kind, "compiled")

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
            if function in self._by_keras and self._is_called_by_eager_code_outside(function):
                self._by_keras.discard(function)
                self._traced.discard(function)
                states[function] = "eager"
                waiting.append(function)
            elif function not in states and (
                function in self._handed.run
                or self._may_be_entry(function)
                or self._is_called_by_eager_code_outside(function)
                or self._asks_for_value(function)
            ):
                states[function] = "eager"
                waiting.append(function)
        mark(self._walk.module_calls)
        while waiting:
            mark(waiting.pop().calls)

    def _is_called_as_method(self, call: cst.Call, function: Function) -> bool:
        """Whether the program calls `function` itself as a method, `model.train_step(batch)`, which then is not what
        Keras compiles."""
        return (
            function in self._by_keras
            and isinstance(call.func, cst.Attribute)
            and not is_super(call.func.value)
        )

    def _is_called_by_eager_code_outside(self, function: Function) -> bool:
        """Whether eager code in another file calls `function`, or iterates over what it gives."""
        return any(
            caller.how in ("call", "drive") and caller.state == "eager"
            for caller in self._calls.callers_outside(function)
        )

    def _may_be_entry(self, function: Function) -> bool:
        """Whether `function` is judged on its own, as a possible entry point: nobody is known to call it, or to wrap
        it."""
        if (
            self._calls.sites(function)
            or self._handed.used.get(function)
            or isinstance(function.node, cst.Lambda)
        ):
            return False
        if self._calls.callers_outside(function):
            return False
        if self._asks_mode(function):
            return False
        if function.owner is None:
            return True
        owner = function.owner
        if self._infer.classes.keras_kind(owner) == "sequence":
            return True  # Keras's loops ask for batches on the host
        if function.name == "__init__":
            return True  # objects are made before anything of them is traced
        if self._infer.classes.has_foreign_base(owner) or self._infer.classes.keras_kind(owner):
            return runs_loop_on_host(function)
        return True

    def _asks_for_value(self, function: Function) -> bool:
        """Whether `function` asks for the value of what it computes on the spot, `model(x)[0].numpy()`: a graph has none, whoever
        calls it."""
        if self._handed.used.get(function) or self._asks_mode(function):
            return False
        return any(
            callee_name(call) == "numpy"
            and isinstance(call.func, cst.Attribute)
            and _is_result(call.func.value)
            for call in function.calls
        )

    def _asks_mode(self, function: Function) -> bool:
        return any(self._names.is_call_that(call, "asks-mode") for call in function.calls)

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
            if any(caller.state != "compiled" for caller in callers) or self._is_of_the_host(function):
                continue
            at = known.get(function, 0)
            while at < len(sites) and self._is_site_compiled(sites[at], states):
                at += 1
            known[function] = at
            if at == len(sites):
                states[function] = "compiled"
                waiting += (target for call in function.calls for target in self._calls.targets(call))

    def _is_of_the_host(self, function: Function) -> bool:
        """Whether `function` shows how far its loop is, or asks a model for numbers, which no compiled code can: Keras's own
        methods that lead to it are not compiled when they do."""
        return any(
            callee_name(call) in methods("Model", "gives-numbers")
            or (
                isinstance(self._walk.parents.get(call), cst.For)
                and is_progress_bar(self._names.qualified(call.func) or callee_name(call))
            )
            for call in function.calls
        )

    def _is_site_compiled(self, call: cst.Call, states: dict[Function, State]) -> bool:
        caller = self._calls.function_at(call)
        return caller is None or states.get(caller) == "compiled"


def _is_result(node: cst.BaseExpression) -> bool:
    """Whether `node` is what a call gives, or a part of that."""
    while isinstance(node, cst.Subscript):
        node = node.value
    return isinstance(node, cst.Call)


def turns_eager_on(text: bytes) -> bool:
    """Whether importing a module of this text has all compiled functions run in eager mode."""
    return b"functions_eagerly" in text and _SWITCH.search(text) is not None


def _is_defined_anew(function: Function) -> bool:
    """Whether the class of `function` defines another method of that name below, so that nobody can call this one."""
    last = function.owner.methods.get(function.name, function) if function.owner is not None else function
    return last is not function and last.at.block is function.at.block and not function.decorators


# What becomes of functions that are handed to something: TensorFlow traces them, the host runs them, or nobody knows.


# At the top level of a module.
_SWITCH = re.compile(
    rf"(?m)^[\w.]*(?:{'|'.join(sorted(last_names('runs-eagerly')))})\((?:run_eagerly=)?True".encode()
)
STARTERS = frozenset({"Thread", "Process", "submit", "apply_async"})
# How a window of Tk runs a function, some milliseconds later: `window.after(100, train)`.
_LATER = "after"


class Handed:
    """The functions of a file by what they are handed to.

    TensorFlow has the `traced` ones, those `for_datasets` among them, runs those in `on_host` as ordinary Python wherever they are called, and something
    runs those in `run` in eager mode. Other files know what becomes of those in `to_others`; of the `used` ones, with the
    places where they are mentioned, nobody does. Any of the `replaced` ones may give its name to what TensorFlow made of it.
    """

    def __init__(self, infer: Inference, calls: CallGraph) -> None:
        self._infer = infer
        self._calls = calls
        self._walk = infer.walk
        self._names = infer.names
        self.traced: set[Function] = set()
        self.for_datasets: set[Function] = set()
        self.on_host: set[Function] = set()
        self.run: set[Function] = set()
        self.replaced: set[Function] = set()
        self.to_others: dict[Function, cst.CSTNode] = {}
        self.used: dict[Function, list[cst.CSTNode]] = {}

    def follow(self) -> None:
        """Find what is handed to something in this file."""
        by_name: dict[str, list[Function]] = {}
        for function in self._walk.functions.values():
            by_name.setdefault(function.name, []).append(function)
        parents = self._walk.parents
        for name, functions in by_name.items():
            mentions: list[cst.CSTNode] = [f.node for f in functions] if name == "<lambda>" else [
                *self._walk.names.get(name, ()), *self._walk.attributes.get(name, ())]  # fmt: skip
            for node in mentions:
                parent = parents.get(node)
                if isinstance(parent, cst.Call) and parent.func is node:
                    continue
                if isinstance(parent, cst.Attribute):
                    continue
                meant = self._infer.value(node).function
                if meant is not None and meant.name == name:
                    self._hand_over(node, meant)
                elif isinstance(node, cst.Attribute) and not self._infer.value(node.value).known:
                    for method in self._calls.methods_named(name):
                        self.used.setdefault(method, []).append(node)
        self._follow_given_to_datasets()
        self._follow_names()

    def is_dataset_tracer(self, call: cst.Call) -> bool:
        """Whether `call` gives a dataset a function to trace: `dataset.map(f)`."""
        return (
            callee_name(call) in methods("Dataset", "traces")
            and isinstance(call.func, cst.Attribute)
            and self._infer.value(call.func.value).kind == "dataset"
        )

    def _follow_given_to_datasets(self) -> None:
        """Find the functions and objects that a dataset calls, whoever made them: `dataset.map(parser(size))`."""
        for name in sorted(methods("Dataset", "traces")):
            for call in filter(self.is_dataset_tracer, self._walk.calls.get(name, ())):
                given = argument(call, 0, "map_func")
                while self._names.is_call_that(given, "binds"):
                    given = argument(given, 0)
                value = self._infer.value(given) if given is not None else UNKNOWN
                called = value.function
                if value.kind == "instance" and value.klass is not None:
                    called = value.klass.methods.get("__call__")
                if called is not None:
                    self.for_datasets.add(called)
        self.traced |= self.for_datasets

    def _follow_names(self) -> None:
        """Find the methods that are compiled by a name: `setattr(self, name, tf.function(getattr(self, name)))`. Where the name
        is not known, each method of the class may be the one, but for those that set it up."""
        for call in self._walk.calls.get("setattr", ()):
            if len(call.args) != 3 or self._infer.value(call.args[2].value).kind != "compiled":
                continue
            klass = self._infer.value(call.args[0].value).klass
            own = self._methods(klass) if klass is not None else {}
            names = self._texts(call.args[1].value)
            if names is not None:
                self.traced.update(method for name in names for method in own.get(name, ()))
            else:
                here = self._calls.function_at(call)
                self.replaced.update(
                    method
                    for name, several in own.items()
                    for method in several
                    if method is not here and not name.startswith("__")
                )

    def _methods(self, klass: Class) -> dict[str, list[Function]]:
        """The methods that an object of a class of this file, or of one derived from it, may have by each name."""
        lineage = self._infer.classes.lineage
        derived = [each for each in self._walk.classes.values() if klass in lineage(each)]
        found: dict[str, list[Function]] = {}
        for each in dict.fromkeys([*lineage(klass), *derived]):
            for name, method in each.methods.items():
                found.setdefault(name, []).append(method)
        return found

    def _texts(self, node: cst.BaseExpression) -> list[str] | None:
        """The texts that an expression may be: one, or those that a loop goes through. None where they are not known."""
        one = string(node)
        if one is not None:
            return [one]
        match self._infer.bindings(node):
            case [Binding(kind="for", value=cst.BaseExpression() as iterable, path=())]:
                texts = [string(item) for item in written_out(self._infer, iterable) or ()]
                return [text for text in texts if text is not None] if texts and None not in texts else None
            case [Binding(kind="assign", value=cst.BaseExpression() as value, path=())]:
                return self._texts(value) if value is not node else None
        return None

    def _hand_over(self, node: cst.CSTNode, function: Function) -> None:
        """Note what becomes of a function where it is mentioned."""
        parent = self._walk.parents.get(node)
        while isinstance(parent, cst.Arg | cst.Element | cst.List | cst.Tuple):
            node, parent = parent, self._walk.parents.get(parent)
        if isinstance(parent, cst.Decorator | cst.AssignTarget) or parent is None:
            return
        if isinstance(parent, cst.Call) and self._is_taken(parent, function):
            return
        if isinstance(parent, cst.Assign) and isinstance(function.node, cst.Lambda):
            return
        if name_outside(function) and self._is_for_others(parent):
            self.to_others[function] = node
        else:
            self.used.setdefault(function, []).append(node)

    def _is_for_others(self, parent: cst.CSTNode) -> bool:
        """Whether `parent` passes what it holds to another file: as an argument, or as what a function gives."""
        if isinstance(parent, cst.Call):
            return bool(self._infer.value(parent.func).paths)
        return isinstance(parent, cst.Return)

    def _is_taken(self, call: cst.Call, function: Function) -> bool:
        """Whether it is known what `call` does with a function that it is given; notes it then."""
        name = self._names.qualified(call.func)
        if has(name, "runs-python"):
            self.on_host.add(function)
        elif has(name, "runs-functions") or (
            not name and (callee_name(call) in STARTERS or _runs_later(call))
        ):
            self.run.add(function)
        elif has(name, "traces"):
            self.traced.add(function)
        elif function in self._calls.targets(call):
            pass  # `strategy.run(f)`: a call of f
        elif self._infer.compiles(call.func) or self.is_dataset_tracer(call):
            self.traced.add(function)
        elif has(name, "binds"):
            self._hand_over(call, function)
        else:
            return False
        return True


def _runs_later(call: cst.Call) -> bool:
    """Whether `call` lets a window run a function later."""
    return callee_name(call) == _LATER and bool(call.args) and integer(call.args[0].value) is not None


# Methods that nobody compiles, whoever may call them: they run a loop that only the host can run.


# Bars that show how far a loop is, and tensors that are asked for their values: in a graph they have none.
_ON_HOST = frozenset(
    {
        "tqdm",
        "trange",
        "tqdm_notebook",
        "tnrange",
        "set_description",
        "set_postfix",
        "Progbar",
        "numpy",
        "sleep",
    }
)
_TOLD = frozenset({"print", "time", "info"})


def runs_loop_on_host(function: Function) -> bool:
    """Whether `function` has a loop, and in it what fails or means nothing in compiled code: a progress bar,
    `.numpy()`, an environment's step, or what is printed in a loop over epochs."""
    if not function.loops:
        return False
    if any(
        callee_name(call) in _ON_HOST or (callee_name(call) == "step" and is_of_environment(call))
        for call in function.calls
    ):
        return True
    return any(
        callee_name(call) in _TOLD for loop in function.loops if _runs_epochs(loop) for call in loop.calls
    )


def _runs_epochs(loop: Loop) -> bool:
    """Whether `loop` runs over epochs or episodes, by the name of what it counts or of their number."""
    iterable = loop.iterable
    if iterable is None or not hasattr(loop.node, "target"):
        return False
    names = [*target_names(loop.node.target), *names_read(iterable)]
    return any(names_an_epoch(name.value) for name in names)


def _required(method: Function) -> int:
    """How many arguments a method can't do without, its object aside."""
    return sum(param.default is None for param in method.parameters if param.name.value in method.places)
