"""What kind of loop a loop is, and what runs per step."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import cached_property, partial
from typing import Literal

import libcst as cst

from tflint_perf.analysis.apis.facts import methods
from tflint_perf.analysis.conventions import names_a_batch_size, names_a_session
from tflint_perf.analysis.execution.batches import Batches
from tflint_perf.analysis.execution.compiled import STARTERS, Compiled
from tflint_perf.analysis.execution.functional_models import FunctionalModels
from tflint_perf.analysis.execution.given_models import GivenModels
from tflint_perf.analysis.execution.guard_conditions import GuardConditions
from tflint_perf.analysis.execution.short_loops import (
    counts_steps_of_critic,
    is_part_of_one_iteration,
    looks_at_a_few,
)
from tflint_perf.analysis.execution.sizes import is_of_environment, remembers_step
from tflint_perf.analysis.execution.tapes import is_under_tape
from tflint_perf.analysis.execution.trains import FITS, trains_by
from tflint_perf.analysis.python.conditions import conditions
from tflint_perf.analysis.python.flow import loops_around
from tflint_perf.analysis.python.reach import leads_to, remembered_in_circles
from tflint_perf.analysis.python.scopes import Function, Loop
from tflint_perf.analysis.python.syntax import (
    COMPREHENSIONS,
    argument,
    callee_name,
    is_name,
    keyword_argument,
    last_name,
    mentions,
    names_read,
    target_names,
)
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.integers import FEW
from tflint_perf.analysis.values.iterables import counting, counts_to, is_numbered, source, sources
from tflint_perf.analysis.values.named_calls import minimizes_loss
from tflint_perf.analysis.values.outside import RUN_OVER
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.values import ROWS, Value

LoopKind = Literal["step", "epoch", "none"]
_AROUND_CODE = frozenset(
    [cst.FunctionDef, cst.Lambda, cst.ClassDef, cst.For, cst.While, cst.CompFor, *COMPREHENSIONS]
)

# Milliseconds in which a person sees something.
_LONG = 100
_PER_BATCH_CALLBACKS = frozenset(
    [
        "on_batch_begin",
        "on_batch_end",
        "on_train_batch_begin",
        "on_train_batch_end",
        "on_test_batch_begin",
        "on_test_batch_end",
        "on_predict_batch_begin",
        "on_predict_batch_end",
    ]
)


class Loops(Part):
    """Answers the kind of a loop and whether a place runs per step."""

    _infer: Inference
    _calls: CallGraph
    _compiled: Compiled
    _given_models: GivenModels
    _functional_models: FunctionalModels

    def __post_init__(self) -> None:
        self.batches = Batches(self._infer, self._calls, self)
        self.actions = Actions(
            self._infer, self._calls, self._compiled, self._given_models, self._functional_models, self
        )
        self.guard_conditions = GuardConditions(self._infer, self._calls)
        self._epochs = Epochs(self._infer, self._calls, self._compiled, self.actions, self)
        self._kinds: dict[Loop, LoopKind] = {}
        self._per_step: dict[Function, bool] = {}
        self._repeated: dict[Function, bool] = {}
        self._per_batch: dict[Function, bool] = {}
        self._own_judges: dict[Function, bool] = {}
        self._innermost: dict[cst.CSTNode, Loop | None] = {}

    # Kinds

    def kind(self, loop: Loop) -> LoopKind:
        """ "step", "epoch", or "none" for a loop that trains nothing."""
        known = self._kinds.get(loop)
        if known is None:
            self._kinds[loop] = "none"
            known = self._judge(loop)
            if known == "step" and self._shows_person(loop):
                known = "none"
            self._kinds[loop] = known
        return known

    def _judge(self, loop: Loop) -> LoopKind:
        if is_part_of_one_iteration(self._infer, loop) or self._asks_person(loop):
            return "none"
        calls: list[cst.Call] = []
        # A step of an environment is a step, also where it ends in a loop over a few remembered ones.
        if any(map(_is_step_of_environment, loop.calls)) and not any(map(self._plays, loop.inner)):
            return "step"
        if self._epochs.is_epoch(loop, calls):
            return "epoch"
        if loop.iterable is not None and self.takes_batches(loop.iterable):
            return "step"
        acting = (call for call in calls if not self._asks_tape_before(call, loop))
        if any(map(self.actions.acts, acting)) and not self._looks_at_a_few(loop, calls):
            return "none" if self.is_of_trials(loop) else "step"
        if loop.yields and loop.function is not None and self._is_driven(loop.function):
            return "step"
        return "none"

    def is_of_trials(self, loop: Loop) -> bool:
        """Whether `loop` is one over programs, folds or levels: each iteration trains a whole model, or has a new one."""
        return (
            self._infer.integers.are_folds(loop.iterable)
            or self.actions.makes_model(loop)
            or any(map(self.actions.trains_whole, loop.calls))
        )

    def _asks_tape_before(self, call: cst.Call, loop: Loop) -> bool:
        """Whether `call` asks a tape that was opened before `loop` began: what was recorded once is asked for one gradient
        after the other, as for the rows of a Jacobian."""
        asked = call.func.value if isinstance(call.func, cst.Attribute) else None
        if callee_name(call) != "gradient" or not isinstance(asked, cst.Name):
            return False
        scope, bindings = self._infer.bindings_reaching(asked) or (None, [])
        return (
            scope is not None
            and scope.function is loop.function
            and bool(bindings)
            and all(each.kind == "with" and loop not in loops_around(each.at.block.loop) for each in bindings)
        )

    def _looks_at_a_few(self, loop: Loop, calls: list[cst.Call]) -> bool:
        once = self.is_gone_through_once(loop)
        return looks_at_a_few(self._infer, self._calls, loop, calls, once=once)

    def is_gone_through_once(self, loop: Loop) -> bool:
        """Whether a program goes through `loop` once, for so few iterations that all of them cost next to nothing."""
        if loop.parent is not None or isinstance(loop.node, cst.While):
            return False
        function = loop.function
        if function is not None and any(map(self.innermost_loop, self._calls.sites(function))):
            return False
        integers, stop = self._infer.integers, counts_to(self._infer, loop.iterable)
        most = integers.most(stop) if stop is not None else integers.cut(loop.iterable)
        return most is not None and most <= FEW

    def running(
        self, node: cst.CSTNode, counts: Callable[[cst.Call], bool] = lambda site: True
    ) -> list[Loop]:
        """The step loops that run `node`, itself or by those calls of its function, and of those that make these, which
        count; none where they are not all known."""
        found: list[Loop] = []
        waiting, seen = [node], set[Function]()
        while waiting:
            here = waiting.pop()
            loop, function = self.step_loop(here), self._calls.function_at(here)
            if loop is not None:
                found.append(loop)
                continue
            sites = (
                [site for site in self._calls.sites(function) if counts(site)] if function is not None else []
            )
            if function is None or not sites or self._calls.callers_outside(function):
                return []
            if function not in seen:
                seen.add(function)
                waiting += sites
        return found

    def waits_for_person(self, loop: Loop) -> bool:
        """Whether a person, or what is drawn for one, takes longer in each iteration of `loop` than any step."""
        return self._asks_person(loop) or self._shows_person(loop)

    def _asks_person(self, loop: Loop) -> bool:
        """Whether each iteration of `loop` waits for a person: `input("Next?")`; but not where a flag has it wait, `if debug:`,
        nor where a loop that learns asks whether to go on."""
        for call in loop.calls:
            if is_name(call.func, "input"):
                tests = list(conditions(self._walk, call, loop.node, exits=False))
                is_flag = any(isinstance(test, cst.Name | cst.Attribute) for test in tests)
                if not is_flag and not (tests and self._epochs.learns(loop)):
                    return True
        return False

    def _shows_person(self, loop: Loop) -> bool:
        """Whether `loop` does no more than show results to a person, one by one, who takes longer to look at each than any step:
        `plt.show()`, or `cv2.waitKey(0)`, under no condition; or than draw a figure of each, which takes longer, too."""
        if any(map(is_of_environment, loop.calls)) or self._epochs.learns(loop):
            return False
        return any(
            self._shows(call, loop.node)
            or (
                any(
                    self._shows(shown, function.node)
                    for function in self._calls.targets(call)
                    for shown in function.calls
                )
                and not any(conditions(self._walk, call, loop.node, exits=False))
            )
            for call in loop.calls
        )

    def _shows(self, call: cst.Call, within: cst.CSTNode) -> bool:
        """Whether `call`, under no condition in `within`, takes a person's time or draws a figure."""
        takes = self._draws_figure(call) or self._waits_long(call)
        return takes and not any(conditions(self._walk, call, within, exits=False))

    def _draws_figure(self, call: cst.Call) -> bool:
        """Whether `call` makes a figure, axes or a file of them: `plt.subplot(…)`, `fig.savefig(…)`."""
        if self._infer.names.is_call_that(call, "draws-figure"):
            return True
        return isinstance(call.func, cst.Attribute) and call.func.attr.value in methods(
            "Figure", "draws-figure"
        )

    def _waits_long(self, call: cst.Call) -> bool:
        """Whether `call` waits for a person for more than a moment; a time of 0 is no limit."""
        if not self._infer.names.is_call_that(call, "waits-for-person"):
            return False
        given = argument(call, 0, "delay")
        time = self._infer.integers.only(given) if given is not None else 0
        return time == 0 or (time is not None and time >= _LONG)

    def _plays(self, loop: Loop) -> bool:
        """Whether `loop` decides what it does in an environment: what stands beside it there is a first step."""
        steps = [call for call in loop.calls if _is_step_of_environment(call)]
        return bool(steps) and any(self.actions.acts(call) for call in loop.calls if call not in steps)

    # Functions

    def has_step_loop(self, function: Function) -> bool:
        """Whether calling `function` runs a step loop."""
        return self._epochs.has_step_loop(function)

    def looks_on(self, loop: Loop) -> bool:
        """Whether `loop` only looks at what was learned, in one step of the loop around it: at one picture for each
        class."""
        outer = self.training_loop(loop.node)
        return outer is not None and self.kind(outer) == "step" and self._epochs.only_counts_inferences(loop)

    def counts(self, loop: Loop) -> bool:
        """Whether `loop` counts, or goes on while a condition holds, rather than iterates over things."""
        return loop.iterable is None or counting(self._infer, loop.iterable) is not None

    def takes_batches(self, iterable: cst.BaseExpression) -> bool:
        """Whether iterating over `iterable` takes batches or samples from a dataset."""
        return runs_over_batches(self._infer.value(iterable))

    # Per step

    def innermost_loop(self, node: cst.CSTNode) -> Loop | None:
        """The innermost loop in the same function whose iterations run `node`."""
        if node not in self._innermost:
            self._innermost[node] = self._loop_around(node)
        return self._innermost[node]

    def iteration_around(self, node: cst.CSTNode) -> Loop | None:
        """The same but for loops of a few rounds, such as those over layers: they are part of one iteration."""
        loop = self.innermost_loop(node)
        while loop is not None and is_part_of_one_iteration(self._infer, loop):
            loop = loop.parent
        return loop

    def _loop_around(self, node: cst.CSTNode) -> Loop | None:
        parents, loops = self._walk.parents, self._walk.loops
        child, current = node, parents.get(node)
        while current is not None:
            if current.__class__ not in _AROUND_CODE:
                child, current = current, parents.get(current)
                continue
            match current:
                case cst.FunctionDef() | cst.Lambda() | cst.ClassDef():
                    if child is current.body or isinstance(current, cst.ClassDef):
                        return None
                case cst.For() if child is current.body:
                    return loops[current]
                case cst.While() if child is not current.orelse:
                    return loops[current]
                case cst.CompFor() if child is not current.iter:
                    return loops[current]
            if isinstance(current, COMPREHENSIONS) and not isinstance(child, cst.CompFor):
                part = current.for_in
                while part.inner_for_in is not None:
                    part = part.inner_for_in
                return loops[part]
            child, current = current, parents.get(current)
        return None

    def training_loop(self, node: cst.CSTNode) -> Loop | None:
        """The innermost loop over steps or epochs, in the same function, that runs `node`."""
        loop = self.innermost_loop(node)
        while loop is not None and self.kind(loop) == "none":
            loop = loop.parent
        return loop

    def step_loop(self, node: cst.CSTNode) -> Loop | None:
        """The step loop in the same function that runs `node`; None where there is none."""
        loop = self.training_loop(node)
        return loop if loop is not None and self.kind(loop) == "step" else None

    def is_per_step(self, node: cst.CSTNode) -> bool:
        """Whether `node` runs per step: in a step loop, or in a function that one calls."""
        loop = self.training_loop(node)
        if loop is not None:
            return self.kind(loop) == "step"
        function = self._calls.function_at(node)
        if function is None or (function.yields and self.innermost_loop(node) is None):
            return False  # where a generator begins, it runs once
        return self.is_function_per_step(function)

    def is_function_per_step(self, function: Function) -> bool:
        """Whether a step loop calls `function`, directly or through other functions."""
        known = self._per_step.get(function)
        if known is None:
            self._per_step[function] = False
            known = self._per_step[function] = (
                self.is_batch_callback(function)
                or any(self.is_per_step(call) for call in self._calls.sites(function) if not function.yields)
                or any(caller.per_step for caller in self._calls.callers_outside(function))
                or ((bool(function.yields) or function.name in RUN_OVER) and self._is_driven(function))
            )
        return known

    def is_batch_callback(self, function: Function) -> bool:
        """Whether `function` is a method of a callback that Keras calls for each batch."""
        owner = function.owner
        return (
            owner is not None
            and function.name in _PER_BATCH_CALLBACKS
            and self._infer.classes.keras_kind(owner) == "callback"
        )

    def _is_driven(self, function: Function) -> bool:
        """Whether a step loop advances the generator that `function` makes, by `next()` or by iterating over it."""
        return (
            any(map(self.is_per_step, self.nexts.get(function, ())))
            or any(
                loop.function is not function and self.kind(loop) == "step"
                for loop in self.over_generators.get(function, ())
            )
            or function in self.fits
            or any(caller.per_step for caller in self._calls.callers_outside(function))
        )

    @cached_property
    def fits(self) -> dict[Function, list[cst.Call]]:
        """The calls of `fit`, by the generators, and the methods of sequences, that it takes batches from."""
        found: dict[Function, list[cst.Call]] = {}
        for call in self._walk.calls_named(*FITS):
            given = fitted(call)
            for function in self._run_over(given) if given is not None else ():
                if function.yields or function.name in RUN_OVER:
                    found.setdefault(function, []).append(call)
        return found

    @cached_property
    def nexts(self) -> dict[Function, list[cst.Call]]:
        """The calls of `next()`, by the generators that they take something from."""
        found: dict[Function, list[cst.Call]] = {}
        for call in self._walk.calls.get("next", ()):
            function = self._infer.value(call.args[0].value).function if call.args else None
            if function is not None:
                found.setdefault(function, []).append(call)
        return found

    @cached_property
    def over_generators(self) -> dict[Function, list[Loop]]:
        """The loops over what generators yield, or objects give by methods of theirs, by these functions."""
        found: dict[Function, list[Loop]] = {}
        for loop in self._walk.loops.values():
            if loop.iterable is None:
                continue
            # Those that a `zip` goes over side by side, too.
            parts = (loop.iterable, *sources(self._infer, loop.iterable))
            for function in dict.fromkeys(function for part in parts for function in self._run_over(part)):
                found.setdefault(function, []).append(loop)
        return found

    def _run_over(self, iterable: cst.BaseExpression) -> Iterator[Function]:
        value = self._infer.value(iterable)
        if value.function is not None:
            yield value.function
            return
        value = self._infer.value(source(self._infer, iterable))
        if value.kind == "instance" and value.klass is not None:
            methods = value.klass.methods
            yield from (methods[name] for name in RUN_OVER if name in methods)
            made = self._infer.returned(methods["__iter__"]) if "__iter__" in methods else value
            if made.kind == "instance" and made.klass not in (None, value.klass):
                yield from (function for name, function in made.klass.methods.items() if name == "__next__")

    def drivers(self, function: Function) -> Iterator[cst.CSTNode]:
        """Where something takes the next of what a generator yields, or an object gives to a loop over it."""
        yield from self.nexts.get(function, ())
        for loop in self.over_generators.get(function, ()):
            yield from loop.calls[:1]

    def is_repeated(self, node: cst.CSTNode) -> bool:
        """Whether a loop over steps or epochs runs `node`, here or through calls: once an episode, for instance."""
        if self.training_loop(node) is not None:
            return True
        function = self._calls.function_at(node)
        return function is not None and leads_to(function, self._repeated, self._repeats)

    def _repeats(self, function: Function) -> bool | list[Function]:
        """Whether a loop over steps or epochs calls `function`; or else the functions that call it."""
        sites = self._calls.sites(function)
        if any(self.training_loop(call) is not None for call in sites) or any(
            caller.repeated for caller in self._calls.callers_outside(function)
        ):
            return True
        return [caller for call in sites if (caller := self._calls.function_at(call)) is not None]

    def is_function_per_batch(self, function: Function) -> bool:
        """Whether `function` runs per step, or once for each batch of a loop around it, which may train on it several
        times."""
        return self.is_function_per_step(function) or leads_to(function, self._per_batch, self._gets_batches)

    def _gets_batches(self, function: Function) -> bool | list[Function]:
        """Whether a loop over batches calls `function`; or else the functions that call it."""
        sites = self._calls.sites(function)
        for call in sites:
            loop = self.innermost_loop(call)
            while loop is not None:
                if loop.iterable is not None and self.takes_batches(loop.iterable):
                    return True
                loop = loop.parent
        return [caller for call in sites if (caller := self._calls.function_at(call)) is not None]

    def may_be_per_step(self, node: cst.CSTNode) -> bool:
        """Whether `node` runs per step, or may do so in a function that is judged on its own."""
        loop = self.training_loop(node)
        if loop is not None:
            return self.kind(loop) == "step"
        function = self._calls.function_at(node)
        return function is not None and leads_to(function, self._own_judges, self._is_own_judge)

    def _is_own_judge(self, function: Function) -> bool | list[Function]:
        """Whether `function` may run per step, as far as its callers show; or else the callers of which one has to."""
        sites = self._calls.sites(function)
        callers = self._calls.callers_outside(function)
        if any(caller.per_step or caller.may_be_per_step for caller in callers):
            return True
        if not sites and not callers:
            # A program runs once, and so does what makes an object.
            return function.name not in ("main", "__init__")
        left: list[Function] = []
        for call in sites:
            caller = self._calls.function_at(call)
            if self.innermost_loop(call) is not None:
                if self.is_per_step(call):
                    return True
            elif caller is not None:
                if self.is_function_per_step(caller):
                    return True
                left.append(caller)
        return left


def runs_over_batches(value: Value) -> bool:
    """Whether iterating over `value` takes batches or samples from a dataset."""
    if value.kind in ("dataset", "iterator"):
        # A bare counter or a list of file names is no training data.
        names = {pipeline[0].name for pipeline in value.pipelines if len(pipeline) == 1}
        return not names & {"range", "list_files"}
    if value.kind == "generator" and value.name != ROWS and value.element is not None:
        items = value.element.items or (value.element,)
        return any(item.kind == "tensor" and item.host for item in _flatten(items))
    return False


def _flatten(items: tuple[Value, ...]) -> Iterator[Value]:
    for item in items:
        if item.items is not None:
            yield from _flatten(item.items)
        else:
            yield item


def _is_step_of_environment(call: cst.Call) -> bool:
    return (is_of_environment(call) and callee_name(call) == "step") or remembers_step(call)


def fitted(call: cst.Call) -> cst.BaseExpression | None:
    """What `call`, of `fit`, trains on."""
    return argument(call, 0, "x") or argument(call, 0, "generator")


# Epoch loops: those that contain a step loop, and are not one step themselves for all that loops inside.


# What loops inside a loop or function: a step loop in sight, or a call that runs one.
Inside = Loop | cst.Call


class Epochs:
    """Answers whether a loop, or a call of a function, runs a loop of several steps."""

    def __init__(
        self, infer: Inference, calls: CallGraph, compiled: Compiled, actions: Actions, loops: Loops
    ) -> None:
        self._infer = infer
        self._calls = calls
        self._compiled = compiled
        self._actions = actions
        self._loops = loops
        # By whether acting in an environment counts.
        self._may_learn: dict[bool, dict[Function, bool]] = {True: {}, False: {}}
        self._learn_surely: dict[Function, bool] = {}

    def is_epoch(self, loop: Loop, calls: list[cst.Call]) -> bool:
        """Whether `loop` contains a step loop; gathers in `calls` what one iteration calls otherwise."""
        inside = list(self._inside(loop, calls))
        over = loop.iterable
        takes = over is not None and (self._loops.takes_batches(over) or self._loops.batches.come_from(over))
        return not self._are_parts_of_one_step(inside, calls, takes=takes)

    @remembered_in_circles(False)
    def has_step_loop(self, function: Function) -> bool:
        """Whether calling `function` runs a step loop."""
        inside: list[Inside] = [loop for loop in function.loops if self._loops.kind(loop) != "none"]
        inside += [call for call in function.calls if self._runs_step_loop(call)]
        own = [call for call in function.calls if self._actions.is_outside_loops(call)]
        return not self._are_parts_of_one_step(inside, own, takes=False)

    def learns(self, loop: Loop) -> bool:
        """Whether an iteration of `loop` makes gradient steps, or may make some in what can't be seen."""
        return any(self._may_learn_by(call, acting=False) for call in loop.all_calls)

    def _inside(self, loop: Loop, calls: list[cst.Call]) -> Iterator[Inside]:
        calls += loop.calls
        for inner in loop.inner:
            if is_part_of_one_iteration(self._infer, inner):
                yield from self._inside(inner, calls)
            elif self._loops.kind(inner) != "none":
                yield inner
            else:
                calls += inner.calls
        yield from filter(self._runs_step_loop, loop.calls)

    def _runs_step_loop(self, call: cst.Call) -> bool:
        if any(map(self._infer.outside.has_step_loop, self._infer.value(call.func).paths)):
            return True
        return any(map(self.has_step_loop, self._run_by(call)))

    def _run_by(self, call: cst.Call) -> list[Function]:
        """The functions of this file that `call` runs, or has another thread run: `executor.submit(train, x)`."""
        given = [arg.value for arg in call.args] if callee_name(call) in STARTERS else []
        started = (self._infer.value(each).function for each in given)
        return self._calls.targets(call) or [function for function in started if function is not None]

    def only_counts_inferences(self, loop: Loop) -> bool:
        """Whether `loop` only counts what it infers: it goes through no data, makes no gradient steps and acts in no
        environment."""
        return self._loops.counts(loop) and self._counts_inferences(loop)

    # One step, for all that loops in it

    def _are_parts_of_one_step(self, inside: list[Inside], own: list[cst.Call], *, takes: bool) -> bool:
        """Whether everything that loops is part of one gradient step, which the calls `own` make."""
        inside = [part for part in inside if not self._is_unrolled(part)]
        if not inside:
            return True
        learns = any(self._learns_by(call) for call in own if call not in inside)
        if not (learns or takes or any(map(self._takes_batch, own))):
            return all(self._is_under_tape(part) for part in inside)
        applies = any(trains_by(self._infer, call) == "update" for call in own)
        return all(
            self._is_seldom(part)
            or self._is_under_tape(part)
            or (learns and not self._is_work(part))
            or (takes and self._counts_inferences(part))
            or (takes and learns and self._trains_on_same_batch(part))
            or (applies and self._gathers_gradients(part))
            or (learns and isinstance(part, Loop) and counts_steps_of_critic(self._infer, part))
            for part in inside
        )

    def _counts_inferences(self, part: Inside) -> bool:
        """Whether `part`, or a loop in what a call runs, counts and only infers from the batch that the loop around it
        took: it decodes words one by one."""
        if self._is_work(part):
            return False
        functions = self._calls.targets(part) if isinstance(part, cst.Call) else []
        loops = [part] if isinstance(part, Loop) else [loop for f in functions for loop in f.loops]
        calls = [call for function in functions for call in function.calls if call is not part]
        return (
            bool(loops)
            and all(map(self._loops.counts, loops))
            and not any(
                map(self._takes_batch, [*calls, *(call for loop in loops for call in loop.all_calls)])
            )
            and not any(map(self._runs_step_loop, calls))
        )

    def _trains_on_same_batch(self, part: Inside) -> bool:
        """Whether `part` counts how often a model trains on the batch that the loop around it took."""
        if not isinstance(part, Loop) or not self._loops.counts(part):
            return False
        return not any(map(self._takes_batch, part.all_calls)) and not any(
            map(is_of_environment, part.all_calls)
        )

    def _gathers_gradients(self, part: Inside) -> bool:
        """Whether `part` only computes gradients, sample by sample of one batch, which the loop around it applies."""
        counted = counting(self._infer, part.iterable) if isinstance(part, Loop) else None
        if counted is None or not counted.args or not isinstance(part, Loop):
            return False
        if not names_a_batch_size(last_name(counted.args[-1].value)):
            return False
        calls = part.all_calls
        return any(map(self._is_gradient_step, calls)) and not any(
            self._may_learn_by(call) for call in calls if callee_name(call) != "gradient"
        )

    def _is_unrolled(self, part: Inside) -> bool:
        """Whether `part` is a Python loop that counts in compiled code, and so is unrolled: one call of it is one step."""
        return (
            isinstance(part, Loop)
            and (counted := counting(self._infer, part.iterable)) is not None
            and is_name(counted.func, "range")
            and self._compiled.state(part.function) == "compiled"
            and not any(map(self._takes_batch, part.all_calls))
        )

    def _is_under_tape(self, part: Inside) -> bool:
        """Whether a tape records `part`: it computes what is learned from, also where it can't be seen, unless it is known to
        learn itself."""
        node = part.node if isinstance(part, Loop) else part
        if not is_under_tape(self._infer, node):
            return False
        return not any(map(self._surely_learns, part.all_calls if isinstance(part, Loop) else [part]))

    def _is_seldom(self, part: Inside) -> bool:
        """Whether `part` runs under `if step % n`."""
        parents = self._infer.walk.parents
        child: cst.CSTNode = part.node if isinstance(part, Loop) else part
        current = parents.get(child)
        while current is not None and not isinstance(current, cst.For | cst.While | cst.FunctionDef):
            if isinstance(current, cst.If) and child is current.body and self._counts(current.test):
                return True
            child, current = current, parents.get(current)
        return False

    def _counts(self, test: cst.BaseExpression) -> bool:
        guard = self._loops.guard_conditions.guard(test, holds=True)
        return guard is not None and guard.counts

    def _is_work(self, part: Inside) -> bool:
        """Whether what `part` runs may train too, or acts in an environment: then it is no mere part of a step."""
        calls = part.all_calls if isinstance(part, Loop) else [part]
        return any(map(self._may_learn_by, calls))

    def _takes_batch(self, call: cst.Call) -> bool:
        if isinstance(call.func, cst.Attribute) and callee_name(call) in ("get_next", "next"):
            return self._infer.value(call.func.value).kind == "iterator"
        return (
            is_name(call.func, "next")
            and bool(call.args)
            and self._infer.value(call.args[0].value).kind in ("iterator", "generator")
        )

    def _is_gradient_step(self, call: cst.Call) -> bool:
        if not isinstance(call.func, cst.Attribute):
            return False
        if callee_name(call) == "gradient":
            return self._infer.value(call.func.value).kind == "tape"
        by = trains_by(self._infer, call)
        return by in ("update", "batch") or (by == "fit" and self._loops.batches.are_taken_by(call))

    def _learns_by(self, call: cst.Call) -> bool:
        """Whether `call` makes a gradient step, here or in a function that makes it outside loops."""
        return self._is_gradient_step(call) or any(map(self._function_learns, self._calls.targets(call)))

    def _surely_learns(self, call: cst.Call) -> bool:
        """Whether `call` is known to make gradient steps, in loops and other files as well."""
        return self._learns_here(call) or any(
            leads_to(function, self._learn_surely, self._learns_in) for function in self._calls.targets(call)
        )

    def _learns_in(self, function: Function) -> bool | list[Function]:
        if any(map(self._learns_here, function.calls)):
            return True
        return [target for call in function.calls for target in self._calls.targets(call)]

    def _learns_here(self, call: cst.Call) -> bool:
        return self._is_gradient_step(call) or any(
            map(self._infer.outside.trains, self._infer.value(call.func).paths)
        )

    @remembered_in_circles(False)
    def _function_learns(self, function: Function) -> bool:
        return any(self._learns_by(call) for call in function.calls if self._actions.is_outside_loops(call))

    def _may_learn_by(self, call: cst.Call, *, acting: bool = True) -> bool:
        """Whether anything that `call` runs makes gradient steps, acts in an environment, or can't be seen."""
        known, ask = self._may_learn[acting], partial(self._may_learn_in, acting=acting)
        return self._may_learn_here(call, acting) or any(
            leads_to(function, known, ask) for function in self._run_by(call)
        )

    def _may_learn_in(self, function: Function, *, acting: bool) -> bool | list[Function]:
        """Whether `function` itself makes gradient steps, acts in an environment, or can't be seen; or else the
        functions that it calls."""
        if any(self._may_learn_here(call, acting) for call in function.calls):
            return True
        return [target for call in function.calls for target in self._run_by(call)]

    def _may_learn_here(self, call: cst.Call, acting: bool) -> bool:
        if (
            self._is_gradient_step(call)
            or is_of_environment(call)
            or trains_by(self._infer, call) is not None
        ):
            return True
        value = self._infer.value(call.func)
        return not self._calls.targets(call) and (
            value.kind == "compiled" or any(self._acts_outside(each, acting) for each in value.alternatives)
        )

    def _acts_outside(self, value: Value, acting: bool) -> bool:
        """Whether what is called is in another file, and may do more there than compute, or than train."""
        if not value.outside or value.kind in ("model", "layer", "loss", "metric"):
            return False
        outside, path = self._infer.outside, value.outside
        if not acting and value.kind == "function":
            return outside.trains(path)
        return (
            value.kind != "function" or outside.trains(path) or outside.may_train(path) or outside.plays(path)
        )


# What one iteration of a step loop does: a gradient step, an inference call, or taking a batch.


_BATCH_METHODS = frozenset(["train_on_batch", "test_on_batch", "predict_on_batch"])
_WHOLE_RUN_METHODS = frozenset([*FITS, "predict", "evaluate"])
_TRAINED = ("trainable_variables", "trainable_weights")


class Actions:
    """Answers whether a call is such an action, or runs a function that takes one."""

    def __init__(
        self,
        infer: Inference,
        calls: CallGraph,
        compiled: Compiled,
        given_models: GivenModels,
        functional_models: FunctionalModels,
        loops: Loops,
    ) -> None:
        self._infer = infer
        self._calls = calls
        self._compiled = compiled
        self._given_models = given_models
        self._functional_models = functional_models
        self._loops = loops
        self._whole: dict[Function, bool] = {}

    def acts(self, call: cst.Call) -> bool:
        """Whether `call` makes a gradient step, runs inference, or calls a function that does either."""
        if self._is_one_of_several(call.func) or self.is_made_here(call.func):
            return False
        if any(map(self._infer.outside.acts, self._run_outside(call))):
            return True
        return self._is_action(call) or any(map(self.function_acts, self._calls.targets(call)))

    def _run_outside(self, call: cst.Call) -> Iterator[str]:
        """What a call may run of other files: of one of several objects, the method of each."""
        for function in (call.func, self._calls.run_by_strategy(call)):
            if function is None:
                continue
            yield from self._infer.value(function).paths

    @remembered_in_circles(False)
    def function_acts(self, function: Function) -> bool:
        """Whether calling `function` makes a gradient step or runs inference, outside loops of its own."""
        outside = [call for call in function.calls if self.is_outside_loops(call)]
        return any(self.acts(call) for call in outside)

    def makes_model(self, loop: Loop) -> bool:
        """Whether each iteration of `loop` makes a model of its own."""
        return self._functional_models.makes_model(loop.calls)

    def trains_whole(self, call: cst.Call) -> bool:
        """Whether `call` runs a function that trains a model from beginning to end: by a `fit` of several epochs."""
        if any(map(self._infer.outside.trains_whole, self._infer.value(call.func).paths)):
            return True
        return any(map(self.function_trains_whole, self._calls.targets(call)))

    def function_trains_whole(self, function: Function) -> bool:
        """Whether calling `function` trains a model from beginning to end, itself or by what it calls."""
        return leads_to(function, self._whole, self._fits_whole)

    def _fits_whole(self, function: Function) -> bool | list[Function]:
        if any(map(self._loops.batches.are_all_taken_by, function.calls)):
            return True
        return [target for call in function.calls for target in self._calls.targets(call)]

    def is_outside_loops(self, call: cst.Call) -> bool:
        return self._loops.iteration_around(call) is None

    def _is_action(self, call: cst.Call) -> bool:
        """Whether `call` is a gradient step or runs inference, or takes one batch or sample."""
        name = callee_name(call)
        func = call.func
        if isinstance(func, cst.Attribute):
            if name in _BATCH_METHODS or name in ("apply_gradients",):
                return True
            base = self._infer.value(func.value)
            if name == "gradient":
                return base.kind == "tape"
            if name == "minimize":
                steps = base.kind == "optimizer" and not self._infer.value(call).known
                return (steps or minimizes_loss(self._infer, call)) and self._compiled.is_eager(call)
            if name == "run":
                return base.kind == "session" or _looks_like_session(func.value)
            if name in ("get_next", "next"):
                return base.kind == "iterator"
            if name == "step":
                return is_of_environment(call)
            if name == "call" and base.kind == "model":
                return True
            if name in _WHOLE_RUN_METHODS:
                return self._loops.batches.are_taken_by(call)
        elif name == "next" and call.args:
            return self._infer.value(call.args[0].value).kind in ("iterator", "generator")
        callee = self._infer.value(func)
        if self._infer.names.dotted(func):
            return callee.kind == "model" and bool(callee.outside)  # one that another file made
        if callee.kind == "compiled" and not callee.outside:
            if self._is_made_for_one_of_several(call, callee.function):
                return False
            return callee.function is None or self._counts(call) or not self._only_computes(callee.function)
        if callee.kind == "layer":
            # The whole of a model, where it is told outright whether it trains, or is trained.
            whole = (
                is_told_whether_it_trains(call)
                or last_name(func) in self._trained
                or self._is_given_its_own_state(call)
            )
            return whole and not self._functional_models.applies(call)
        return (
            callee.kind == "model" or self._given_models.has(func)
        ) and not self._functional_models.applies(call)

    def _is_given_its_own_state(self, call: cst.Call) -> bool:
        """Whether a loop that counts gives `call`, in eager mode, a part of what it gave in the iteration before: a decoder, word by
        word, `word, state = decoder(word, state)`."""
        statement = self._infer.walk.parents.get(call)
        if (
            not isinstance(statement, cst.Assign)
            or not self._counts(call)
            or not self._compiled.is_eager(call)
        ):
            return False
        kept = {
            name.value
            for target in statement.targets
            if isinstance(target.target, cst.Tuple)
            for name in target_names(target.target)
        }
        return any(mentions(arg.value, kept) for arg in call.args)

    @cached_property
    def _trained(self) -> Collection[str]:
        """The names of layers whose variables a gradient step is given from outside: `model.trainable_variables`."""
        named = (node.value for name in _TRAINED for node in self._infer.walk.attributes.get(name, ()))
        return {
            last_name(node)
            for node in named
            if not is_name(node, "self") and self._infer.value(node).kind == "layer"
        }

    def _is_one_of_several(self, callee: cst.BaseExpression) -> bool:
        """Whether `callee` is one of several models that a loop iterates over: `for i in range(4): x = blocks[i](x)` is
        one pass through all of them."""
        return isinstance(callee, cst.Subscript) and any(
            binding.kind in ("for", "comprehension")
            for part in callee.slice
            for name in names_read(part)
            for binding in self._infer.bindings(name)
        )

    def _is_made_for_one_of_several(self, call: cst.Call, function: Function | None) -> bool:
        """Whether a loop over models makes `function`, which has `call`, anew for each of them."""
        loop = self._loops.innermost_loop(call)
        if function is None or loop is None or loop.iterable is None:
            return False
        return self._loops.innermost_loop(function.node) is loop and any(
            binding.kind == "for" and binding.value is loop.iterable
            for inner in function.calls
            for name in names_read(inner.func)
            for binding in self._infer.bindings(name)
        )

    def is_made_here(self, callee: cst.BaseExpression) -> bool:
        """Whether `callee` is a layer that is put into a model: `x = Block(filters)(x)`."""
        if not isinstance(callee, cst.Call):
            return False
        return self._infer.value(callee.func).kind == "class" or self._infer.value(callee).kind == "layer"

    def _counts(self, call: cst.Call) -> bool:
        """Whether the innermost loop around `call` counts, rather than iterates over things."""
        loop = self._loops.innermost_loop(call)
        iterable = loop.iterable if loop is not None else None
        return loop is not None and (iterable is None or is_numbered(self._infer, iterable))

    def _only_computes(self, function: Function) -> bool:
        """Whether `function` calls nothing but ops: it neither trains nor runs a model."""
        return all(
            self._infer.names.dotted(call.func)
            or (isinstance(call.func, cst.Attribute) and self._is_local(call.func))
            for call in function.calls
        )

    def _is_local(self, node: cst.Attribute) -> bool:
        """Whether `node` is a method of a value that its function makes itself, and that is no model."""
        if not isinstance(node.value, cst.Name) or self._infer.value(node.value).kind in (
            "model",
            "tape",
            "optimizer",
        ):
            return False
        scope = self._infer.names.scope_of(node)
        return any(binding.kind == "assign" for binding in scope.bindings.get(node.value.value, ()))


def _looks_like_session(node: cst.BaseExpression) -> bool:
    """Whether `node` runs a session, by its name: `sess.run`, `self.session.run`."""
    return bool(names_a_session(last_name(node)))


def is_told_whether_it_trains(call: cst.Call) -> bool:
    """Whether `call` is told whether it trains: `model(x, training=False)`."""
    told = keyword_argument(call, "training")
    return told is not None and (is_name(told, "True") or is_name(told, "False"))
