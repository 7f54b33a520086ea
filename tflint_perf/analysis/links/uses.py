"""What a file does with what it imports from other files."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import libcst as cst

from tflint_perf.analysis.execution.given_models import parameters_behind
from tflint_perf.analysis.execution.loops import fitted
from tflint_perf.analysis.execution.steady_conditions import Usual
from tflint_perf.analysis.execution.step_loop_paths import Reached, placed
from tflint_perf.analysis.execution.trains import FITS
from tflint_perf.analysis.links.summary import Use, is_alone
from tflint_perf.analysis.pipelines.prefetching import readiness, takes_many
from tflint_perf.analysis.python.conditions import conditions
from tflint_perf.analysis.python.scopes import Class, Function, Loop
from tflint_perf.analysis.python.syntax import descendants
from tflint_perf.analysis.training.fit_workers import FitWorkers
from tflint_perf.analysis.values.caller import NEEDED, Caller, Fate, Given, How, Passed
from tflint_perf.analysis.values.iterables import source
from tflint_perf.analysis.values.outside import RUN_OVER, name_outside
from tflint_perf.analysis.values.values import STREAMS, Value
from tflint_perf.analysis.values.written import arguments
from tflint_perf.finding import Via

if TYPE_CHECKING:
    from tflint_perf.analysis.model import Model

# Kinds of arguments of which more is said than that they are given.
_TOLD = ("model", *STREAMS)
# What may be the name of a file, as a setting has it.
_NAMED = (cst.Name, cst.Attribute, cst.SimpleString)


def uses(model: Model) -> Iterator[Use]:
    """What a file does with what it imports; its model has been made with what other files say."""
    calls = [call for calls in model.walk.calls.values() for call in calls]
    called: set[str] = set()
    for call in calls:
        yield from _use(model, call, call.func, "call")
        for use in _call_of_given(model, call):
            called.add(use.path)
            yield use
    for call in calls:
        if not model.names.is_call_that(call, "checkpoints"):
            yield from _handed(model, call, called)
    for klass in model.walk.classes.values():
        yield from _calls_of_own_methods(model, klass)
    yield from _consumed(model)
    yield from _driven(model)


def _handed(model: Model, call: cst.Call, called: Set[str]) -> Iterator[Use]:
    """What becomes of the functions and objects that a call is given; `called` are the parameters that this file calls."""
    traces = model.infer.compiles(call.func) or model.compiled.is_dataset_tracer(call)
    taker = model.value(call.func).outside
    by_op = model.names.is_call_that(call, "runs-python")
    for at, arg in enumerate(call.args):
        if arg.star or not isinstance(arg.value, cst.Name | cst.Attribute | cst.Call):
            continue
        value = model.value(arg.value)
        if isinstance(arg.value, cst.Call) and value.kind not in ("function", "compiled"):
            continue
        keyword = arg.keyword.value if arg.keyword is not None else ""
        handed = f"{taker}[{keyword},{at}]" if taker else ""
        if by_op and at == 0:
            yield from _run_by_op(model, call, value)
        elif value.outside:
            is_run = arg.value is model.calls.run_by_strategy(call)
            how: How = "call" if is_run else "compile" if traces else "other"
            for use in _use(model, call, arg.value, how):
                yield replace(use, handed=handed if how == "other" else "")
        elif value.function is not None and value.kind == "function":
            # What a class wraps may be what a class derived from it defines anew: `self.fit = tf.function(self.train)`.
            wraps = value.function.owner is not None and isinstance(model.walk.parents.get(call), cst.Assign)
            if (taker or wraps) and (name := name_outside(value.function)):
                use = _use_of(model, call, f"::{name}", "compile" if traces else "other")
                yield replace(use, handed="" if traces else handed)
        elif not value.known and (called or traces) and not model.calls.targets(call):
            for path in _paths_of_parameters(model, arg.value):
                if traces or path in called:
                    yield _use_of(model, call, path, "compile" if traces else "other")


def _run_by_op(model: Model, call: cst.Call, value: Value) -> Iterator[Use]:
    """The call of a function that an op runs as Python, in eager mode, whatever surrounds it: `tf.py_function(draw, …)`."""
    own = value.function if value.kind == "function" else None
    # A class derived from that of a method may define it anew.
    named = (
        f"::{name_outside(own)}" if own is not None and own.owner is not None and name_outside(own) else ""
    )
    for path in value.paths or (named,):
        if path:
            yield _use_of(model, call, path, "other").seen_to(how="call", state="eager")


def _paths_of_parameters(model: Model, node: cst.BaseExpression) -> list[str]:
    """What other files give as a value: by which function, and by the name and the place of its parameter."""
    return [
        f"::{function}[{name},{at}]"
        for function, name, at in sorted(parameters_behind(model.infer, model.calls, node))
    ]


def _consumed(model: Model) -> Iterator[Use]:
    """The datasets of other files that this one takes elements from, with no stage of its own behind."""
    for consumption in model.pipelines.consumptions():
        for way in consumption.value.pipelines:
            # What takes some of the batches makes nothing.
            origin = next((stage.origin for stage in reversed(way) if not takes_many(stage)), None)
            if origin is not None and origin.path and not model.distributed.is_distributed(consumption.node):
                path, which = _of_origin(origin.path)
                yield _use_of(model, consumption.node, path, "consume").seen_to(which=which)


def _driven(model: Model) -> Iterator[Use]:
    """What step loops take from generators and objects of other files: by going over them, by `next()`, by an index.

    Keras's loop in `fit` is one.
    """
    workers = FitWorkers(model.infer)
    for call in model.walk.calls_named(*FITS):
        given = fitted(call)
        for use in _drive(model, call, given) if given is not None else ():
            way = tuple(replace(via, kind="fit") for via in use.seen.each_step[-1:])
            beside = workers.said_by(call)
            yield use.seen_to(per_step=True, always=True, trains=True, beside=beside, each_step=way)
    for loop in model.walk.loops.values():
        if isinstance(loop.node, cst.CompFor) or model.loops.kind(loop) != "step":
            continue
        body = loop.node.body
        if loop.iterable is not None:
            learned = model.feeds.gradient_steps_of(loop)
            for use in _drive(model, body, loop.iterable):
                yield use.seen_to(learned_from=learned)
        for node in descendants(body):
            match node:
                case cst.Call(func=cst.Name("next"), args=[cst.Arg(value=taken), *_]):
                    learned = model.feeds.a_gradient_step(node)
                    for use in _drive(model, node, taken):
                        yield use.seen_to(learned_from=learned)
                case cst.Subscript(value=base, slice=[cst.SubscriptElement(cst.Index())]):
                    yield from _run_over(model, node, base, RUN_OVER[:1])


def _drive(model: Model, place: cst.CSTNode, taken: cst.BaseExpression) -> Iterator[Use]:
    """The use of a generator, or of an object that a loop goes over."""
    taken = source(model.infer, taken)
    found = model.infer.bindings_reaching(taken) if isinstance(taken, cst.Name) else None
    for made in [b.value for b in found[1] if b.path == ()] if found is not None else [taken]:
        path = model.value(made.func).outside if isinstance(made, cst.Call) else ""
        # Of functions, generators alone give what makes batches.
        if path and model.infer.outside.gives_batches(path, ()) not in (None, "augmented"):
            yield _use_of(model, place, path, "drive")
    yield from _run_over(model, place, taken, RUN_OVER)


def _run_over(
    model: Model, place: cst.CSTNode, node: cst.BaseExpression, methods: tuple[str, ...]
) -> Iterator[Use]:
    for value in model.value(node).alternatives:
        if value.kind == "instance" and value.outside.endswith("()"):
            for name in methods:
                yield _use_of(model, place, f"{value.outside}.{name}", "drive")


def _of_origin(path: str) -> tuple[str, str]:
    """The way to what gives a dataset, and which part of it that is: "data.py::make" and "[1]"."""
    whole, bracket, part = path.partition("[")
    return whole.removesuffix("()"), bracket + part


def _use(model: Model, place: cst.CSTNode, used: cst.BaseExpression, how: How) -> Iterator[Use]:
    # Of several objects or functions each may be meant.
    for path in model.value(used).paths:
        yield _use_of(model, place, path, how)


def _call_of_given(model: Model, call: cst.Call) -> Iterator[Use]:
    """The call of what other files give as a parameter: of a function, or of a sought method of an object."""
    func = call.func
    if not isinstance(func, cst.Name | cst.Attribute) or model.value(func).known:
        return
    for path in _paths_of_parameters(model, func):
        yield _use_of(model, call, path, "call")
    if not isinstance(func, cst.Attribute) or func.attr.value not in model.infer.outside.methods_sought():
        return
    if model.value(func.value).outside:
        return
    for path in _paths_of_parameters(model, func.value):
        yield _use_of(model, call, f"{path}.{func.attr.value}", "call")


def _given(model: Model, call: cst.CSTNode) -> Iterator[Given]:
    """The arguments of a call that something is said of: batches are taken from them, they are some, the device made them,
    they are models or datasets, or Python numbers that change."""
    for arg in arguments(model.infer, call) if isinstance(call, cst.Call) else ():
        name, place, node = arg.keyword, arg.place, arg.value
        if node is None:
            return
        size = model.loops.batches.size(node)
        few: Literal["", "sample", "batch"] = size if size in ("sample", "batch") else ""
        number = model.numbers.type_of(node)
        changes = model.numbers.changes(node) if number is not None else None
        if model.functional_models.is_of_model(node):
            yield Given(name, place, None, of_functional_model=True)
        elif number is not None and changes is not None:
            yield Given(name, place, None, size=few, number=number, changes=changes)
        elif isinstance(node, cst.Name | cst.Attribute | cst.Call):
            how = model.batch_makers.sources.of(node)
            for value in model.value(node).alternatives:
                path = _path_of_object(value)
                made = how is None and not path and model.on_device.is_made_there(node)
                anew = model.lifetimes.is_short(node)
                if how is not None or path or made or few or anew or value.kind in _TOLD:
                    told = _told(model, Given(name, place, how, path, made, few), value)
                    yield replace(told, anew=anew)
        elif few:
            yield Given(name, place, None, size=few)


def _passed(model: Model, call: cst.CSTNode) -> Iterator[Passed]:
    for arg in arguments(model.infer, call) if isinstance(call, cst.Call) else ():
        match arg.value:
            case cst.Name(value="True" | "False" | "None" as constant):
                yield Passed(arg.keyword, arg.place, constant)
            case _:
                yield Passed(arg.keyword, arg.place)


def _told(model: Model, given: Given, value: Value) -> Given:
    """The same, with what is said of a model or a dataset."""
    match value.kind:
        case "model":
            return replace(given, kind="model")
        case "dataset" | "iterator" as kind:
            large, elements = model.late_shuffles.how_large(value), model.batching.elements(value)
            told = replace(given, kind=kind, ready=readiness(value), elements=elements, large=large)
            return replace(told, differ=value.gives_batches_that_differ())
    return given


def _files(model: Model, call: cst.CSTNode) -> Iterator[str | int]:
    """The arguments of a call that name several files, by their names or places."""
    for at, arg in enumerate(call.args if isinstance(call, cst.Call) else ()):
        if arg.star:
            return
        if model.parallelism.are_several_files(arg.value):
            yield at if arg.keyword is None else arg.keyword.value


def _steady(model: Model, call: cst.CSTNode) -> Iterator[str | int]:
    """The arguments of a call on each step that are the same each time, by their names or places, as a setting is."""
    for at, arg in enumerate(call.args if isinstance(call, cst.Call) else ()):
        if arg.star:
            return
        if isinstance(arg.value, _NAMED) and model.file_reads.is_given_the_same(arg.value):
            yield at if arg.keyword is None else arg.keyword.value


def _path_of_object(value: Value) -> str:
    """The path of the class of an object, and "()"; "" where a value is none of a class of the project."""
    if value.kind not in ("instance", "model", "layer"):
        return ""
    if value.klass is None:
        return value.outside if value.outside.endswith("()") else ""
    return f"::{value.klass.name}()" if value.klass.function is None else ""


def _calls_of_own_methods(model: Model, klass: Class) -> Iterator[Use]:
    """What the methods of a class call on `self`: a class derived from it elsewhere may define it anew."""
    for method in klass.methods.values() if klass.function is None else ():
        own = method.positional[:1]
        for call in method.calls:
            match call.func:
                case cst.Attribute(value=cst.Name(value=base), attr=cst.Name(value=name)) if [base] == own:
                    yield _use_of(model, call, f"::{klass.name}().{name}", "call")


def _name_around(function: Function | None) -> str:
    """The name of the innermost function around a place that other files may reach; "" where there is none."""
    while function is not None and function.outer is not None and not name_outside(function):
        function = function.outer
    return name_outside(function) if function is not None else ""


def _is_usual(model: Model, place: cst.CSTNode, around: Loop | None) -> bool:
    """Whether no condition that is seldom met stands before a place in the loop `around` it, or in its function."""
    # What looks at some batches behind a guard does so seldom, too.
    if around is not None and model.guards.guard_of(around.node) is not None:
        return False
    usual = Usual(model.infer)
    return all(
        usual.holds(condition) or model.guards.trains_behind(condition)
        for condition in conditions(model.walk, place, around.node if around else None, exits=False)
    )


def _use_of(model: Model, place: cst.CSTNode, path: str, how: How) -> Use:
    function = model.function_at(place)
    loop = model.loops.iteration_around(place)
    kind = model.loops.training_loop(place)
    fates, parts = _fates(model, place) if how == "call" else (NEEDED, ())
    guard = model.guards.guard_of(place)
    guarded = guard is not None
    state = model.compiled.state(function)
    # What eager code runs once, and only compiled code per step, eager code runs once.
    per_step = model.loops.is_per_step(place) and (state != "eager" or model.eager_steps.run(place))
    seen = Caller(
        how,
        state,
        per_step=per_step,
        always=not guarded and _is_usual(model, place, kind),
        fates=fates,
        parts=parts,
        given=tuple(_given(model, place)) if how == "call" else (),
        passed=tuple(_passed(model, place)) if how == "call" else (),
        files=tuple(_files(model, place)) if how == "call" else (),
        steady=tuple(_steady(model, place)) if how == "call" and per_step else (),
        fed=how == "call" and isinstance(place, cst.Call) and model.feeds.a_step(place),
        guarded=guarded or model.once.runs_seldom(place),
        taped=how == "call" and model.parts_of_steps.belongs(place),
        trains=how in ("call", "drive") and per_step and model.file_reads.training_loop(place) is not None,
        learned_from=how == "call" and isinstance(place, cst.Call) and model.feeds.a_gradient_step(place),
        on_one_graph=how == "call" and (guard is None or guard.counts) and model.sessions.runs_again(place),
        looped=how == "call" and model.loops.batches.is_made_anew(place),
        repeated=how == "call" and model.loops.is_repeated(place),
        applied=how == "call" and isinstance(place, cst.Call) and model.steps.are_applied(place),
        passing=per_step and model.single_passes.hold(place),
        also_eager=function is not None
        and model.compiled.is_left_to_keras(function)
        and any(map(model.is_eager, model.calls.sites(function))),
        times=_times(model, place, function) if how == "call" else None,
        paused=per_step and model.pauses.are_around(place),
        each_step=_each_step(model, place, loop),
    )
    return Use(
        path,
        _name_around(function),
        model.loops.kind(kind) if kind is not None else "none",
        loop is not None,
        seen,
        in_trials=loop is not None and model.loops.is_of_trials(loop),
    )


def _times(model: Model, place: cst.CSTNode, function: Function | None) -> int | None:
    """How often a program makes a call in all, or where nothing in the file calls the function around, how often that
    does."""
    if function is None or not name_outside(function) or not is_alone(model, function):
        return model.totals.at_most(place)
    calls_itself = bool(model.calls.sites(function))
    is_only_called = not calls_itself and model.totals.is_only_called(function)
    return model.totals.within(place) if is_only_called else None


def _each_step(model: Model, place: cst.CSTNode, loop: Loop | None) -> tuple[Via, ...]:
    """The way to a call from the step loop that makes it, or else from the loop around, of which other files may tell that
    it is one."""
    way = model.step_loop_paths.leading_to(place)
    if not way and loop is not None:
        way = (Reached("loop", loop.node),)
    return placed((*way, Reached("call", place)) if isinstance(place, cst.Call) else way, model.row)


def _fates(model: Model, place: cst.CSTNode) -> tuple[frozenset[Fate], tuple[frozenset[Fate], ...]]:
    """What becomes of what a call gives, whole and by parts."""
    match model.walk.parents.get(place):
        case cst.Assign(targets=[cst.AssignTarget(cst.Tuple(elements=elements))]):
            parts = tuple(
                frozenset(model.host_values.fates(place, (index,))) for index in range(len(elements))
            )
            return frozenset().union(*parts), parts
        case cst.Expr():
            return frozenset(), ()
    return frozenset(model.host_values.fates(place)), ()
