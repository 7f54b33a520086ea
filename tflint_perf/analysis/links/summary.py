"""What a file says to the other files: what it defines, and what it does with what it imports from them.

A summary is made from one file alone, as plain data: names of other files stay paths (`outside.py`) until somebody
who knows all files follows them. A path that begins with "::" stays in the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import libcst as cst

from tflint_perf.analysis.execution.loops import LoopKind
from tflint_perf.analysis.execution.sizes import is_of_environment
from tflint_perf.analysis.pipelines.prefetching import readiness
from tflint_perf.analysis.pipelines.reads_without_op import OtherReads
from tflint_perf.analysis.python.scopes import Binding, Class, Function, Scope
from tflint_perf.analysis.values.bound_values import value_of_binding
from tflint_perf.analysis.values.caller import Batch, Caller
from tflint_perf.analysis.values.methods import is_compiled_attribute, traced
from tflint_perf.analysis.values.outside import name_outside
from tflint_perf.analysis.values.values import COMPILER, UNKNOWN, Value, is_stream
from tflint_perf.records import dataclass

if TYPE_CHECKING:
    from tflint_perf.analysis.model import Model

# Kinds of which an object is known by its kind alone, whatever file made it.
_BY_KIND = frozenset({"none", "tensor", "array", "number", "string", "variable", "model", "layer", "optimizer",
                      "metric", "loss", "strategy", "tape", "session", "instance"})  # fmt: skip

# What `Thing` says as `Part` does.
_TOLD_OF_PART = ("gives", "path", "others", "ready", "elements", "large", "differ", "shapes_left_by")


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a tuple that a function gives, or what a dict holds by a `key`: as `Thing` says it."""

    gives: str
    path: str = ""
    others: tuple[str, ...] = ()
    ready: str = ""
    elements: str = ""
    large: str = ""
    differ: bool = False
    shapes_left_by: str = ""
    source: Batch | None = None
    key: str = ""


@dataclass(frozen=True, slots=True)
class Take:
    """A parameter, and its place in a call; -1 where it is given by keyword only."""

    name: str
    at: int


@dataclass(frozen=True, slots=True)
class Thing:
    """A function, class or other value with a name: at the top level of a file, or in a class there.

    `gives` is the kind of what it is, or for functions of what calling them gives, `parts` are a tuple's parts or what a
    list or dict holds, and `made` says that the device makes it, `batch` how it makes batches
    on the host, and `source` how those are made that are taken from what calling it gives; `path` leads to it, where
    it is an instance of a class or comes from another file, and `others` to what else it may be. Of a function, `acts` and `has_step_loop` are what
    its file alone can tell; the paths that it `calls` outside its own loops tell more. So do those that it `runs`,
    in loops or not, of whether it `trains` a model, also from beginning to end (`trains_whole`), or `may_train` an object that it is given, and of whether it `plays`: acts in an environment. `compiled` says that its
    body is compiled code, `takes_tensors` that an `input_signature`, or what is not in sight, may make tensors of its arguments,
    `alone` that nothing else in its file calls it. `ready` and `elements` tell of a dataset how far
    ahead its elements are made, what they are, and how they were made `large`, and whether they are batches that
    `differ` in shape; `shapes_left_by` is what leaves these open. `takes` are the parameters of a
    function or class whose elements it takes into steps as they come, each with its place in a call, and `gives_back` is
    that which a function returns as it was given. `integers` are those that a number may be. `nature`,
    `elementwise`, `grows`, `product`, `loads`, `only_generates` and `only_computes` are as `Mapped` has them.
    """

    kind: str
    gives: str = ""
    path: str = ""
    others: tuple[str, ...] = ()
    made: bool = False
    acts: bool = False
    has_step_loop: bool = False
    calls: tuple[str, ...] = ()
    compiled: bool = False
    takes_tensors: bool = False
    alone: bool = False
    keras_kind: str = ""
    has_foreign_base: bool = False
    bases: tuple[str, ...] = ()
    trains: bool = False
    trains_whole: bool = False
    may_train: bool = False
    plays: bool = False
    runs: tuple[str, ...] = ()
    ready: str = ""
    elements: str = ""
    large: str = ""
    differ: bool = False
    shapes_left_by: str = ""
    parts: tuple[Part, ...] = ()
    takes: tuple[Take, ...] = ()
    batch: Batch | None = None
    source: Batch | None = None
    nature: str = ""
    elementwise: int = 0
    grows: str = ""
    product: str = ""
    loads: bool = False
    only_generates: bool = False
    only_computes: bool = False
    gives_back: tuple[Take, ...] = ()
    integers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Use:
    """A place that calls what `path` leads to, or hands it to something.

    `function` is the one around it, if other files can call that; `loop` is the kind of the innermost loop of steps or
    epochs around it, and `in_loop` says that there is any. `seen` is what its file alone tells of it as a caller: that it is made
    `always`, where no condition that is seldom met stands before it there, and how many `times` the function around makes
    it, where nothing in the file calls that. `handed` is where a function is given to, "trainer.fit[step,0]": a path, a name
    and a place; `in_trials` says that the loop around has a model of its own in each iteration.
    """

    path: str
    function: str
    loop: LoopKind
    in_loop: bool
    seen: Caller
    handed: str = ""
    in_trials: bool = False

    def seen_to(self, **tell: Any) -> Use:
        """The same where its file tells something else of it as a caller."""
        return replace(self, seen=replace(self.seen, **tell))


@dataclass(frozen=True, slots=True)
class Summary:
    """All that a file defines. `imports` leads from names to dotted names, `stars` names modules imported whole.

    Who runs the file as a program `turns_eager_on` for all compiled functions. A `partial` one holds the imports alone, and
    `defined` the names of what else there is.
    """

    imports: dict[str, str]
    stars: tuple[str, ...]
    things: dict[str, Thing]
    partial: bool = False
    defined: frozenset[str] = frozenset()
    turns_eager_on: bool = False


def summarise(model: Model) -> Summary:
    """The summary of a model that was made with `PATHS`."""
    top = model.walk.top.bindings
    imports = {
        name: bindings[-1].imported
        for name, bindings in top.items()
        if name != "*" and bindings and bindings[-1].kind == "import"
    }
    stars = tuple(binding.imported.removesuffix("*").removesuffix(".") for binding in top.get("*", ()))
    return Summary(imports, stars, dict(_things(model)), turns_eager_on=model.left_on.turns_eager_on())


def _things(model: Model) -> Iterator[tuple[str, Thing]]:
    for name, bindings in model.walk.top.bindings.items():
        kinds = {binding.kind for binding in bindings}
        if kinds <= {"assign", "with"}:
            values = [value_of_binding(model.infer, binding, model.walk.top) for binding in bindings]
            if (how := _batches(model, bindings, model.walk.top)) is not None:
                yield name, Thing("value", batch=how)
            chosen = COMPILER if COMPILER in values else values[-1] if values else UNKNOWN
            yield from _named(model, name, chosen, integers=model.infer.integers.bound(bindings))
    for klass in model.walk.classes.values():
        if klass.function is None:
            yield klass.name, _class(model, klass)
            for name, given in klass.attributes.items():
                if (how := _batches(model, given, klass.scope)) is not None:
                    yield f"{klass.name}.{name}", Thing("value", batch=how)
                value = model.infer.classes.member(model.infer.classes.instance_of(klass), name)
                made = model.on_device.is_attribute_made_there(klass, name)
                yield from _named(model, f"{klass.name}.{name}", value or UNKNOWN, made=made)
            yield from _numbers_of(model, klass)
    for function in model.walk.functions.values():
        if name := name_outside(function):
            if function.has_decorator("property", "cached_property"):
                yield from _named(model, name, model.infer.returned(function))
            else:
                yield name, _function(model, function)
        elif function.name == "__call__" and function.owner is not None and function.owner.function is None:
            # What calling an object gives; that is no path by which others name it.
            yield f"{function.owner.name}.__call__", _function(model, function)
        elif function.name == "main" and function.outer is None and function.owner is None:
            yield "main", _main(model, function)


def _numbers_of(model: Model, klass: Class) -> Iterator[tuple[str, Thing]]:
    """The numbers in the body of a class that no code writes to, `batch_size = 32`, and which integers they are."""
    for name, bindings in klass.scope.bindings.items():
        if name in model.walk.attribute_writes:
            continue
        if all(value_of_binding(model.infer, binding, klass.scope).kind == "number" for binding in bindings):
            yield (
                f"{klass.name}.{name}",
                Thing("value", "number", integers=model.infer.integers.bound(bindings)),
            )


def _batches(model: Model, bindings: list[Binding], scope: Scope) -> Batch | None:
    """How the batches are made of a flow of Keras's or a generator that a name stands for."""
    sources = model.batch_makers.sources
    for binding in bindings:
        how = sources.of_binding(binding, scope) if sources.has_flows() else None
        if how == "augmented":
            return how
        if binding.kind == "assign" and binding.path == () and isinstance(binding.value, cst.Call):
            if model.infer.value(binding.value).kind == "generator":
                return sources.of_binding(binding, scope)
    return None


def _named(
    model: Model, name: str, value: Value, *, made: bool = False, integers: tuple[int, ...] = ()
) -> Iterator[tuple[str, Thing]]:
    """A thing that an assignment makes, where something is known of it."""
    part = _part(model, value)
    if value.kind in ("list", "dict") and value.element is not None and _path(model, value.element):
        yield name, Thing("value", value.kind, parts=(_part(model, value.element),), made=made)
    elif part.gives != "unknown" or part.path:
        yield name, _with(Thing("value", integers=integers), part, made)
    elif value.keys and any(item.kind == "number" for item in value.items or ()):
        yield name, Thing("value", "dict", parts=tuple(_numbers_by_key(value)), made=made)
    elif value == COMPILER:
        yield name, Thing("compiler")
    elif value.kind == "compiled":
        yield name, Thing("compiled", acts=True, compiled=True, takes_tensors=True)


def _numbers_by_key(settings: Value) -> Iterator[Part]:
    """The numbers of a dict, and that there is something else by its other keys."""
    for key, item in zip(settings.keys, settings.items or (), strict=True):
        yield Part("number" if item.kind == "number" else "unknown", key=key)


def _class(model: Model, klass: Class) -> Thing:
    classes = model.infer.classes
    return Thing(
        "class",
        batch=model.batch_makers.objects_make(klass),
        keras_kind=classes.keras_kind(klass),
        has_foreign_base=classes.has_foreign_base(klass),
        bases=paths_of_bases(model, klass),
        takes=_takes(model, klass.methods["__init__"]) if "__init__" in klass.methods else (),
    )


def paths_of_bases(model: Model, klass: Class) -> tuple[str, ...]:
    """The paths of the classes that a class is derived from."""
    classes = model.infer.classes
    local = (f"::{above.name}" for above in classes.lineage(klass)[1:])
    return (*local, *classes.bases_outside(klass))


def _main(model: Model, function: Function) -> Thing:
    """What a program runs that calls the `main` of another file: it does so once."""
    reached = reached_with(model, function)
    return Thing(
        "function",
        trains=model.programs.trains_in(reached),
        may_train=model.programs.may_train_in(reached),
        runs=tuple(dict.fromkeys(_runs(model, reached))),
    )


def _function(model: Model, function: Function) -> Thing:
    compiled = model.infer.function_value(function).kind == "compiled" or is_compiled_attribute(
        model.infer, function
    )
    reached = reached_with(model, function)
    thing = Thing(
        "compiled" if compiled else "function",
        acts=model.loops.actions.function_acts(function),
        has_step_loop=model.loops.has_step_loop(function),
        calls=tuple(dict.fromkeys(_calls(model, function))),
        batch=model.batch_makers.made_by(function),
        compiled=compiled or model.compiled.state(function) == "compiled",
        takes_tensors=compiled and model.compiled.has_signature(function),
        alone=is_alone(model, function),
        trains=model.programs.trains_in(reached),
        trains_whole=model.loops.actions.function_trains_whole(function),
        may_train=model.programs.may_train_in(reached),
        plays=any(is_of_environment(call) for each in reached for call in each.calls),
        runs=tuple(dict.fromkeys(_runs(model, reached))),
        takes=_takes(model, function),
        source=model.batch_makers.sources.given_by(function),
        product=model.statefulness.of_product(function) or "",
        only_generates=model.own(OtherReads).only_generates(function),
        only_computes=model.own(OtherReads).only_computes(function),
    )
    if function.owner is None and function.positional and not function.yields:
        thing = replace(
            thing,
            nature=model.statefulness.of_function(function),
            elementwise=model.stages.elementwise_arity(function),
            grows=model.growth.of_function(function),
            loads=model.growth.loads(function),
        )
    return _with_result(model, function, thing)


def _with_result(model: Model, function: Function, thing: Thing) -> Thing:
    """A function with what calling it gives."""
    returned = model.infer.returned(function)
    if thing.compiled:
        returned = traced(returned)
    made = thing.compiled or model.on_device.is_made_by(function)
    sources = model.batch_makers.sources
    if returned.kind in ("tuple", "list", "dict"):
        held = returned.items if returned.kind == "tuple" else (returned.element or UNKNOWN,)
        parts = tuple(_part(model, item) for item in held or ())
        if returned.kind == "tuple":
            parts = tuple(
                replace(part, source=sources.given_by(function, at)) for at, part in enumerate(parts)
            )
        return replace(thing, gives=returned.kind, parts=parts, made=made)
    part = _part(model, returned)
    if part.gives == "unknown" and not part.path:
        parts = tuple(Part("unknown", source=source) for source in sources.parts_given_by(function))
        return replace(thing, parts=parts, made=made, gives_back=tuple(_given_back(function)))
    return _with(thing, part, made)


def is_alone(model: Model, function: Function) -> bool:
    """Whether nothing in its file calls a function but itself."""
    return all(model.function_at(site) is function for site in model.calls.sites(function))


def _given_back(function: Function) -> Iterator[Take]:
    """The parameter that a function always returns, as it was given: `return model`."""
    names = [given.value.value for given in function.returns if isinstance(given.value, cst.Name)]
    if function.owner is not None or not names or len(names) < len(function.returns) or len({*names}) > 1:
        return
    bindings = function.scope.bindings.get(names[0], [])
    if names[0] in function.places and len(bindings) == 1 and bindings[0].kind == "param":
        yield Take(names[0], function.places.index(names[0]))


def _with(thing: Thing, part: Part, made: bool) -> Thing:
    told = {name: getattr(part, name) for name in _TOLD_OF_PART}
    return replace(thing, made=made, **told)


def _part(model: Model, value: Value) -> Part:
    """What is said of a value; "unknown" where nothing is."""
    if is_stream(value):
        large = model.late_shuffles.how_large(value)
        ready, elements = readiness(value), model.batching.elements(value)
        differ = value.gives_batches_that_differ()
        return Part(
            value.kind,
            ready=ready,
            elements=elements,
            large=large,
            differ=differ,
            shapes_left_by=model.open_shapes.left_by(value),
        )
    if value.kind in ("list", "dict") and value.element is not None and value.element.kind in _BY_KIND:
        return Part(f"{value.kind} of {value.element.kind}")
    path, *others = [_path(model, each) for each in value.alternatives]
    if others and not all((path, *others)):
        path, others = "", []
    return Part(value.kind, path, tuple(others)) if value.kind in _BY_KIND or path else Part("unknown")


def _takes(model: Model, function: Function) -> tuple[Take, ...]:
    """The parameters of a function whose elements are taken into steps."""
    return tuple(Take(name, at) for name, at in model.dataset_parameters.by(function))


def _calls(model: Model, function: Function) -> Iterator[str]:
    """The paths of what a function calls outside its own loops, but for layers that it puts into a model: `Block()(x)`."""
    actions = model.loops.actions
    for call in function.calls:
        if actions.is_outside_loops(call) and not actions.is_made_here(call.func):
            yield from _paths_called(model, call)


def reached_with(model: Model, function: Function) -> list[Function]:
    """A function, and those that run with it and that have no name for other files."""
    reached, waiting = {function: True}, [function]
    while waiting:
        for call in waiting.pop().calls:
            for target in model.calls.targets(call):
                if target not in reached and not name_outside(target):
                    reached[target] = True
                    waiting.append(target)
    return list(reached)


def _runs(model: Model, functions: Iterable[Function]) -> Iterator[str]:
    """The paths of all that functions call."""
    for call in (call for function in functions for call in function.calls):
        yield from _paths_called(model, call)


def _paths_called(model: Model, call: cst.Call) -> Iterator[str]:
    """The paths of what a call runs, itself or by a strategy, here or in other files."""
    for function in (call.func, model.calls.run_by_strategy(call)):
        if function is not None:
            yield from model.value(function).paths
    for target in model.calls.targets(call):
        if name := name_outside(target):
            yield f"::{name}"


def _path(model: Model, value: Value) -> str:
    """The way to a value: a call of its class, its name as a function, or what leads there from outside."""
    if value.function is not None and value.kind == model.infer.function_value(value.function).kind:
        return f"::{name}" if (name := name_outside(value.function)) else ""
    if value.klass is None:
        return value.outside
    return f"::{value.klass.name}" if value.kind == "class" else f"::{value.klass.name}()"
