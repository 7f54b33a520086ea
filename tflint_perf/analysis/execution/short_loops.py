"""Loops that are part of one iteration of the loop around them: short ones, and those over parts of a model."""

from __future__ import annotations

import re
from collections.abc import Collection

import libcst as cst

from tflint_perf.analysis.apis.rows import has
from tflint_perf.analysis.execution.sizes import is_of_environment
from tflint_perf.analysis.python.scopes import Loop
from tflint_perf.analysis.python.syntax import (
    argument,
    bound_of_range,
    callee_name,
    descendants,
    integer,
    last_name,
    last_statement,
    names_read,
    string,
    target_names,
)
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference

# A loop over so few literal items, or a short constant count inside another loop, is part of one iteration.
_FEW = 10
# Settings that say how many layers a model has.
_LAYERS = re.compile(r"(^|_)(layers|blocks)$", re.I)
_AGENTS = re.compile(r"(^|_)agents$", re.I)
# Settings that say how often a critic is trained for each step of its generator.
_STEPS_OF_CRITICS = re.compile(
    r"(^|_)(critics?|disc|dis|discriminators?)(_|$)|(^|_)d_(steps?|iters?|iterations?|updates?)$|^n_?d$", re.I
)
# What the name of a file goes by.
_FILE = re.compile(r"(^|_)(path|file|file_?name|fname)$", re.I)
_SHOWING_PICTURES = frozenset({"imshow", "imsave", "display"})
_TRAINING = frozenset({"gradient", "apply_gradients", "minimize", "train_on_batch", "fit", "run"})
_LIKE_THEIR_FIRST = frozenset(["enumerate", "sorted", "list", "reversed", "tqdm"])
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
    """Loops over a few literal items, elements, layers, variables, devices or file names; loops that run once."""
    known = infer.parts_of_iterations.get(loop)
    if known is None:
        known = infer.parts_of_iterations[loop] = _is_part(infer, loop)
    return known


def _is_part(infer: Inference, loop: Loop) -> bool:
    iterable = loop.iterable
    if _runs_once(loop) or _is_over_environments(loop) or _is_over_models(loop) or _is_over_agents(loop):
        return True
    if isinstance(iterable, cst.Call) and callee_name(iterable) == "enumerate" and iterable.args:
        iterable = iterable.args[0].value
    if iterable is None:
        return False
    if isinstance(iterable, cst.Name):
        iterable = _literal(infer, iterable) or iterable
    if isinstance(iterable, cst.List | cst.Tuple):
        return len(iterable.elements) <= _FEW
    if isinstance(iterable, cst.Call):
        name = callee_name(iterable)
        if name == "range" and iterable.args:
            stop = bound_of_range(iterable)
            bound = integer(stop)
            if bound is None:
                setting = _setting(stop)
                return bool(
                    _LAYERS.search(setting) or (loop.parent is not None and _STEPS_OF_CRITICS.search(setting))
                )
            # A few steps of an environment are steps of an episode.
            acts = any(callee_name(call) == "step" and is_of_environment(call) for call in loop.calls)
            return bound <= 1 or (bound <= _FEW and loop.parent is not None and not acts)
        if name == "take":
            return _takes_few(iterable)
        if has(infer.names.qualified(iterable.func), "lists-files", "walks-files", "lists-devices"):
            return True
        if name in ("zip", "reversed", "list", "sorted") and iterable.args:
            return any(_is_part_of_model(infer, arg.value) or _takes_few(arg.value) for arg in iterable.args)
    return _is_part_of_model(infer, iterable)


def counts_steps_of_critic(loop: Loop) -> bool:
    """Whether a loop runs as often as a critic is trained for each step of its generator: `for _ in range(self.d_steps)`."""
    iterable = loop.iterable
    if not isinstance(iterable, cst.Call) or callee_name(iterable) != "range" or not iterable.args:
        return False
    return _STEPS_OF_CRITICS.search(_setting(bound_of_range(iterable))) is not None


def shows_a_few(calls: CallGraph, loop: Loop, made: Collection[cst.Call]) -> bool:
    """Whether a person looks at what a loop of a few iterations makes: `for _ in range(5): show_images(model(noise))`."""
    iterable = loop.iterable
    if not isinstance(iterable, cst.Call) or callee_name(iterable) != "range" or not iterable.args:
        return False
    bound = integer(bound_of_range(iterable))
    if bound is None or bound > _FEW:
        return False
    names = {callee_name(call) for call in made}
    names |= {callee_name(inner) for call in made for target in calls.targets(call) for inner in target.calls}
    return not names.isdisjoint(_SHOWING_PICTURES) and names.isdisjoint(_TRAINING)


def _takes_few(node: cst.BaseExpression) -> bool:
    """`dataset.take(3)`."""
    if not isinstance(node, cst.Call) or callee_name(node) != "take":
        return False
    count = integer(argument(node, 0, "count"))
    return count is not None and 0 <= count <= _FEW


def _setting(node: cst.BaseExpression) -> str:
    """What a number goes by: `n_critic`, `args.n_critic`, `config["n_critic"]`."""
    match node:
        case cst.Subscript(slice=[cst.SubscriptElement(cst.Index(key))]):
            return string(key) or ""
    return last_name(node)


def runs_over_files(infer: Inference, loop: Loop | None) -> bool:
    """Whether a loop runs over the names of files."""
    iterable = loop.iterable if loop is not None else None
    if loop is not None and isinstance(loop.node, cst.For) and _names_file(loop.node):
        return True
    while isinstance(iterable, cst.Call) and callee_name(iterable) in _LIKE_THEIR_FIRST and iterable.args:
        iterable = iterable.args[0].value
    found = infer.bindings_reaching(iterable) if isinstance(iterable, cst.Name) else None
    if found is not None and len(found[1]) == 1 and found[1][0].path == ():
        iterable = found[1][0].value
    return isinstance(iterable, cst.Call) and has(
        infer.names.qualified(iterable.func), "lists-files", "walks-files", "lists-devices"
    )


def _names_file(loop: cst.For) -> bool:
    """Whether a loop, which may count, gives its values to what the name of a file goes by: `for i, path in enumerate(x)`."""
    names = list(target_names(loop.target))
    if isinstance(loop.iter, cst.Call) and callee_name(loop.iter) == "enumerate":
        names = names[1:]
    return len(names) == 1 and _FILE.search(names[0].value) is not None


def _literal(infer: Inference, name: cst.Name) -> cst.List | cst.Tuple | None:
    """The literal that a name stands for, where nothing else is bound to it and nothing is added to it."""
    found = infer.bindings_reaching(name)
    if found is None or len(found[1]) != 1 or len(found[0].bindings[name.value]) != 1:
        return None
    binding = found[1][0]
    value = binding.value
    if binding.kind != "assign" or binding.path != () or not isinstance(value, cst.List | cst.Tuple):
        return None
    parents = infer.walk.parents
    if not value.elements or any(
        isinstance(parents.get(mention), cst.Attribute) for mention in infer.walk.names.get(name.value, ())
    ):
        return None
    return value


def _is_part_of_model(infer: Inference, node: cst.BaseExpression) -> bool:
    if isinstance(node, cst.Attribute) and node.attr.value in _PARTS_OF_A_MODEL:
        return True
    if isinstance(node, cst.Call) and has(
        infer.names.qualified(node.func), "lists-files", "walks-files", "lists-devices"
    ):
        return True
    value = infer.value(node)
    if value.kind in ("list", "tuple") and value.element is not None:
        inner = value.element.kind
        return inner in ("variable", "layer", "model") or (inner == "tensor" and value.name == "gradients")
    return False


def _is_over_models(loop: Loop) -> bool:
    """Whether a loop brings several models one step further, each by its optimizer: `for net, optimizer in zip(nets, optimizers)`."""
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
    """Whether each of the agents that share an environment acts or learns once: `for agent in agents: agent.act()`."""
    if not isinstance(loop.node, cst.For) or loop.inner or (loop.parent is None and loop.function is None):
        return False
    return any(_AGENTS.search(name.value) for name in names_read(loop.node.iter))


def _is_over_environments(loop: Loop) -> bool:
    """Whether a loop steps environments side by side, each once: `for env in envs: env.step(action)`."""
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


def _runs_once(loop: Loop) -> bool:
    """Whether a loop runs once: its last statement leaves it, and nothing goes on before that."""
    if isinstance(loop.node, cst.CompFor):
        return False
    return isinstance(last_statement(loop.node.body), cst.Break | cst.Return | cst.Raise) and not any(
        isinstance(node, cst.Continue) for node in descendants(loop.node)
    )
