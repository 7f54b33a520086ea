"""Loops that are part of one iteration of the loop around them: short ones, and those over parts of a model."""

from __future__ import annotations

from collections.abc import Collection

import libcst as cst

from tflint_perf.analysis.conventions import names_a_critic, names_a_file, names_agents, names_layers
from tflint_perf.analysis.execution.sizes import is_of_environment
from tflint_perf.analysis.execution.trains import trains_by
from tflint_perf.analysis.limits import NAMES_DEEP
from tflint_perf.analysis.python.scopes import Binding, Loop
from tflint_perf.analysis.python.syntax import (
    callee_name,
    descendants,
    last_name,
    last_statement,
    mentions,
    names_read,
    string,
    target_names,
)
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.integers import FEW
from tflint_perf.analysis.values.iterables import counts_to, source, sources, with_targets
from tflint_perf.analysis.values.written import bindings_of, written_out

# A loop over so few literal items, or a short constant count inside another loop, is part of one iteration.
_FEW = 10
_SHOWING_PICTURES = frozenset({"imshow", "imsave", "display"})
_PARTS_OF_A_MODEL = frozenset(
    [
        "layers",
        "trainable_variables",
        "trainable_weights",
        "weights",
        "variables",
        "non_trainable_variables",
        "metrics",
        "losses",
    ]
)


def is_part_of_one_iteration(infer: Inference, loop: Loop) -> bool:
    """Whether `loop` is short, and part of one iteration of the loop around it: over a few literal items, elements,
    layers, variables, devices or file names, or run once."""
    known = infer.parts_of_iterations.get(loop)
    if known is None:
        known = infer.parts_of_iterations[loop] = _is_part(infer, loop)
    return known


def _is_part(infer: Inference, loop: Loop) -> bool:
    iterable = loop.iterable
    if _runs_once(loop) or _is_over_environments(loop) or _is_over_models(loop) or _is_over_agents(loop):
        return True
    if _is_over_devices(infer, loop):
        return True
    if iterable is None:
        return False
    iterable = source(infer, iterable)
    items = written_out(infer, iterable)
    if items is not None:
        return len(items) <= _FEW
    if isinstance(iterable, cst.Call):
        name = callee_name(iterable)
        stop = counts_to(infer, iterable)
        if stop is not None:
            most = infer.integers.most(stop)
            if most is None:
                setting = _setting(stop)
                return bool(names_layers(setting) or (loop.parent is not None and names_a_critic(setting)))
            if most <= 1 or most > _FEW or loop.parent is None:
                return most <= 1
            # A few steps of an environment are steps of an episode, and so is what is learnt of one behind it.
            beside = [other for other in loop.parent.inner if other is not loop]
            return not any(map(acts, (loop, *beside)))
        if name == "take":
            return _takes_few(infer, iterable)
        if infer.names.is_call_that(iterable, "lists-files", "walks-files", "lists-devices"):
            return True
        if name == "zip":
            given = list(sources(infer, iterable))
            return any(_is_part_of_model(infer, each) or _takes_few(infer, each) for each in given)
    return _is_part_of_model(infer, iterable) or infer.integers.cut(iterable) == 1


def acts(loop: Loop) -> bool:
    """Whether `loop` steps an environment."""
    return any(callee_name(call) == "step" and is_of_environment(call) for call in loop.calls)


def counts_steps_of_critic(infer: Inference, loop: Loop) -> bool:
    """Whether `loop` runs as often as a critic is trained for each step of its generator: `for _ in
    range(self.d_steps)`."""
    stop = counts_to(infer, loop.iterable)
    return stop is not None and bool(names_a_critic(_setting(stop)))


def looks_at_a_few(
    infer: Inference, calls: CallGraph, loop: Loop, made: Collection[cst.Call], *, once: bool
) -> bool:
    """Whether `loop`, of a few iterations, trains nothing, and a program goes through it `once` or a person looks at what
    it makes: `for _ in range(5): show_images(model(noise))`."""
    most = infer.integers.most(counts_to(infer, loop.iterable))
    if most is None or most > _FEW:
        return False
    run = [*made, *(inner for call in made for target in calls.targets(call) for inner in target.calls)]
    names = {callee_name(call) for call in run}
    return not (
        (not once and names.isdisjoint(_SHOWING_PICTURES))
        or not names.isdisjoint(("gradient", "run"))
        or any(trains_by(infer, call) for call in run)
    )


def _takes_few(infer: Inference, node: cst.BaseExpression) -> bool:
    """Whether `node` takes a few elements: `dataset.take(3)`."""
    count = infer.integers.cut(node)
    return count is not None and count <= _FEW


def _setting(node: cst.BaseExpression) -> str:
    """What a number goes by: `n_critic`, `args.n_critic`, `config["n_critic"]`."""
    match node:
        case cst.Subscript(slice=[cst.SubscriptElement(cst.Index(key))]):
            return string(key) or ""
    return last_name(node)


def only_inspects(infer: Inference, loop: Loop) -> bool:
    """Whether `loop` breaks at the end of its first iteration, or after a few elements."""
    if isinstance(loop.node, cst.CompFor):
        return False
    for line in loop.node.body.body:
        if isinstance(line, cst.If) and isinstance(last_statement(line.body), cst.Break):
            bounds = [infer.integers.most(part.comparator) for part in getattr(line.test, "comparisons", ())]
            if any(bound is not None and bound <= FEW for bound in bounds):
                return True
    return isinstance(last_statement(loop.node.body), cst.Break)


def runs_over_files(infer: Inference, loop: Loop | None) -> bool:
    """Whether `loop` iterates over file names."""
    iterable = loop.iterable if loop is not None else None
    if loop is not None and isinstance(loop.node, cst.For) and _names_file(infer, loop.node):
        return True
    iterable = source(infer, iterable) if iterable is not None else None
    bindings = infer.bindings(iterable)
    if len(bindings) == 1 and bindings[0].path == ():
        iterable = bindings[0].value
    return infer.names.is_call_that(iterable, "lists-files", "walks-files", "lists-devices")


def _names_file(infer: Inference, loop: cst.For) -> bool:
    """Whether `loop`, which may count, gives its values to something with the name of a file: `for i, path in
    enumerate(x)`."""
    match list(with_targets(infer, loop.iter, loop.target)):
        case [(_, cst.Name(value=name))]:
            return bool(names_a_file(name))
    return False


def _is_part_of_model(infer: Inference, node: cst.BaseExpression) -> bool:
    if infer.names.is_call_that(node, "lists-files", "walks-files", "lists-devices"):
        return True
    return _are_parts_of_model(infer, node, 0)


def _are_parts_of_model(infer: Inference, node: cst.BaseExpression, depth: int) -> bool:
    """Whether `node` has an item for each part of a model, or for some of them, here or by a name: `[layer.name for layer in
    model.layers[1:]]`."""
    if isinstance(node, cst.Attribute) and node.attr.value in _PARTS_OF_A_MODEL:
        return True
    value = infer.value(node)
    if value.kind in ("list", "tuple") and value.element is not None:
        inner = value.element.kind
        if inner in ("variable", "layer", "model") or (inner == "tensor" and value.name == "gradients"):
            return True
    whole = _taken_from(infer, node)
    return whole is not None and depth < NAMES_DEEP and _are_parts_of_model(infer, whole, depth + 1)


def _taken_from(infer: Inference, node: cst.BaseExpression) -> cst.BaseExpression | None:
    """What `node` has an item for each of, or some of, here or by a name."""
    match node:
        case cst.ListComp(for_in=cst.CompFor(inner_for_in=None, iter=iterable)):
            return iterable
        case cst.Subscript(value=whole, slice=[cst.SubscriptElement(cst.Slice())]):
            return whole
        case cst.Name():
            match bindings_of(infer, node):
                case [Binding(kind="assign", value=cst.ListComp() | cst.Subscript() as value, path=())]:
                    return _taken_from(infer, value)
    return None


def _is_over_models(loop: Loop) -> bool:
    """Whether `loop` trains several models for one step each, with an optimizer for each: `for net, optimizer in
    zip(nets, optimizers)`."""
    if not isinstance(loop.node, cst.For) or loop.inner:
        return False
    names = {name.value for name in target_names(loop.node.target)}
    asked = {
        node.attr.value
        for node in descendants(loop.node.body)
        if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name) and node.value.value in names
    }
    return "apply_gradients" in asked and not asked.isdisjoint(("trainable_variables", "trainable_weights"))


def _is_over_agents(loop: Loop) -> bool:
    """Whether `loop` lets each of the agents that share an environment act or learn once: `for agent in agents:
    agent.act()`."""
    if not isinstance(loop.node, cst.For) or loop.inner or (loop.parent is None and loop.function is None):
        return False
    return any(names_agents(name.value) for name in names_read(loop.node.iter))


def _is_over_environments(loop: Loop) -> bool:
    """Whether `loop` steps environments side by side, each once: `for env in envs: env.step(action)`."""
    if isinstance(loop.node, cst.While) or loop.inner or (loop.parent is None and loop.function is None):
        return False
    names = {name.value for name in target_names(loop.node.target)}
    return any(
        callee_name(call) == "step"
        and is_of_environment(call)
        and isinstance(call.func, cst.Attribute)
        and isinstance(call.func.value, cst.Name)
        and call.func.value.value in names
        for call in loop.calls
    )


def _is_over_devices(infer: Inference, loop: Loop) -> bool:
    """Whether each iteration of `loop` runs on a device of its own: `for i in range(n): with tf.device(f"/gpu:{i}"): …`."""
    if not isinstance(loop.node, cst.For):
        return False
    names = {name.value for name in target_names(loop.node.target)}
    return any(
        infer.names.is_call_that(item.item, "places-ops") and mentions(item.item, names)
        for line in loop.node.body.body
        if isinstance(line, cst.With)
        for item in line.items
    )


def _runs_once(loop: Loop) -> bool:
    """Whether `loop` runs once: its last statement leaves it, and nothing goes on before that."""
    if isinstance(loop.node, cst.CompFor):
        return False
    return isinstance(last_statement(loop.node.body), cst.Break | cst.Return | cst.Raise) and not any(
        isinstance(node, cst.Continue) for node in descendants(loop.node)
    )
