"""Calls by which a program trains, in eager code, by Keras, and in the sessions of TensorFlow 1."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, cached_property

import libcst as cst

from tflint_perf.analysis.apis.facts import has, last_names, named
from tflint_perf.analysis.conventions import (
    names_a_session,
    names_a_train_op,
    names_initializing,
    names_training,
)
from tflint_perf.analysis.execution.trains import trains_by
from tflint_perf.analysis.python.syntax import (
    argument,
    callee_name,
    descendants,
    keyword_argument,
    last_name,
)
from tflint_perf.analysis.training.graph_ops import assigned
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.classes import is_left_to_others
from tflint_perf.analysis.values.frameworks import imports_another
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.named_calls import minimizes_loss
from tflint_perf.analysis.values.parts import Part

# What fits the estimators that it is given, or that it belongs to.
_BY_SCIKIT_LEARN = frozenset({"fit", "cross_val_score", "cross_validate", "cross_val_predict"})
_KERAS_WORDS = frozenset({"epochs", "validation_data", "steps_per_epoch", "validation_split", "nb_epoch"})
_MAKERS_OF_TRAIN_OPS = ("minimize", "apply_gradients", "optimize_loss", "create_train_op")


class TrainCalls(Part):
    """Answers what single calls have to do with training."""

    _infer: Inference
    _calls: CallGraph

    def trains(self, call: cst.Call) -> bool:
        """Whether `call` trains a model: by an optimizer or by Keras, in a session, or in a function of another file."""
        return (
            trains_by(self._infer, call) is not None
            or self.runs_train_op(call)
            or any(map(self._infer.outside.trains, self._infer.value(call.func).paths))
        )

    def fits(self, call: cst.Call) -> bool:
        """Whether `call` is a Keras model's `fit` or a similar method, or trains an `Estimator`."""
        name = callee_name(call)
        if self._minimizes(call):
            return True
        if self._is_of_estimator(call):
            return True
        if name in _BY_SCIKIT_LEARN and self._wraps_models and not self._calls.targets(call):
            return True
        if self._infer.names.is_call_that(call, "trains"):
            return True
        if trains_by(self._infer, call) not in ("fit", "batch") or self._calls.targets(call):
            return False
        assert isinstance(call.func, cst.Attribute)
        receiver = self._infer.value(call.func.value)
        if receiver.known:
            return receiver.kind == "model"
        words = {arg.keyword.value for arg in call.args if arg.keyword is not None}
        return name != "fit" or bool(words & _KERAS_WORDS)

    def trains_estimator(self, call: cst.Call) -> bool:
        """Whether `call` trains an `Estimator`, which does so in a session of its own."""
        return self._is_of_estimator(call) or self._infer.names.is_call_that(call, "estimator")

    def _is_of_estimator(self, call: cst.Call) -> bool:
        """Whether `call` is the `train` of an `Estimator`: of what is made as one, or it is given an `input_fn`."""
        if callee_name(call) != "train":
            return False
        if keyword_argument(call, "input_fn") is not None:
            return True
        receiver = call.func.value if isinstance(call.func, cst.Attribute) else None
        found = self._infer.bindings_reaching(receiver) if isinstance(receiver, cst.Name) else None
        made = [binding.value for binding in found[1]] if found is not None else [receiver]
        return any(self._infer.names.is_call_that(value, "estimator") for value in made)

    @cached_property
    def _wraps_models(self) -> bool:
        """Whether Keras models are made estimators of scikit-learn, which that fits."""
        return any(
            self._infer.names.is_call_that(call, "wraps-models")
            for call in self._walk.calls_named("KerasClassifier", "KerasRegressor")
        )

    def _minimizes(self, call: cst.Call) -> bool:
        """Whether `call` minimizes something that TensorFlow computes: by its probability library, or by SciPy in a
        file that asks for gradients, or by an optimizer that is given a function."""
        dotted = self._infer.names.dotted(call.func) or ""
        if has(dotted, "minimizes-on-host"):
            return "GradientTape" in self._walk.attributes or "GradientTape" in self._walk.names
        if dotted:
            return has(dotted, "minimizes")
        return minimizes_loss(self._infer, call)

    @cached_property
    def is_of_another_framework(self) -> bool:
        """Whether the file imports a framework whose objects have methods of the same names."""
        return imports_another(self._walk)

    def may_train(self, call: cst.Call) -> bool:
        """Whether `call`, by its name, runs a step that it is given, or trains an object that comes from elsewhere or
        that a class derived from its own."""
        if not names_training(callee_name(call)) or self.is_of_another_framework:
            return False
        called = self._infer.value(call.func)
        if called.function is not None and is_left_to_others(called.function):
            return True
        if called.known or called.outside or called.either or self._infer.names.dotted(call.func) is not None:
            return False
        if isinstance(call.func, cst.Name):
            return True
        receiver = call.func.value if isinstance(call.func, cst.Attribute) else None
        while isinstance(receiver, cst.Subscript):
            receiver = receiver.value
        if not isinstance(receiver, cst.Name | cst.Attribute):
            return False
        value = self._infer.value(receiver)
        if value.klass is not None or (value.kind == "model" and not value.name):
            return True  # of a class of this file, or of who knows which
        return not (value.known or self._is_made_elsewhere(receiver))

    def _is_made_elsewhere(self, node: cst.BaseExpression) -> bool:
        """Whether `node` is made by something imported that is in no file of the project."""
        return any(
            isinstance(binding.value, cst.Call)
            and (dotted := self._infer.names.dotted(binding.value.func)) is not None
            and not self._infer.outside.module_texts(dotted)
            for binding in self._infer.bindings(node)
        )

    def hands_tape_on(self, call: cst.Call) -> bool:
        """Whether `call` is given a tape, so that the function it runs may ask it for gradients."""
        if "GradientTape" not in self._walk.attributes and "GradientTape" not in self._walk.names:
            return False
        return any(
            isinstance(arg.value, cst.Name) and self._infer.value(arg.value).kind == "tape"
            for arg in call.args
        )

    def applies(self, call: cst.Call) -> bool:
        """Whether `call` passes gradients to an optimizer in eager code, wherever they come from: another process may
        send them."""
        if callee_name(call) != "apply_gradients" or not isinstance(call.func, cst.Attribute):
            return False
        if not isinstance(self._walk.parents.get(call), cst.Expr):
            return False  # graph code keeps the op
        receiver = self._infer.value(call.func.value)
        return (receiver.kind == "optimizer" or not receiver.known) and not self.is_graph_code()

    # TensorFlow 1

    def makes_train_op(self, call: cst.Call) -> bool:
        """Whether `call` makes the op by which a session trains, in graph code of TensorFlow 1."""
        if self._infer.names.is_call_that(call, "makes-train-op"):
            return True
        if callee_name(call) not in ("minimize", "apply_gradients"):
            return False
        if not isinstance(call.func, cst.Attribute) or self._infer.names.dotted(call.func) is not None:
            return False
        receiver = self._infer.value(call.func.value)
        return (receiver.kind == "optimizer" or not receiver.known) and self.is_graph_code()

    def runs_session(self, call: cst.Call) -> bool:
        """Whether `call` runs anything but an initializer in a session, by `session.run` or the method `run` of an op."""
        fetched = self._fetched(call)
        if fetched is None:
            return False
        return not names_initializing(
            callee_name(fetched) if isinstance(fetched, cst.Call) else last_name(fetched)
        )

    def _fetched(self, call: cst.Call) -> cst.BaseExpression | None:
        """What `call` runs in a session: what `session.run` is given, or the op whose method `run` it is,
        `train_step.run(feed_dict=batch)`."""
        if callee_name(call) != "run":
            return None
        given = argument(call, 0, "fetches")
        op = call.func.value if isinstance(call.func, cst.Attribute) else None
        if isinstance(op, cst.Name | cst.Attribute) and (given is None or isinstance(given, cst.Dict)):
            told = keyword_argument(call, "feed_dict") or keyword_argument(call, "session")
            if (given is None and told is not None) or self._is_train_op(op):
                return op
        return given

    def _is_train_op(self, node: cst.Name | cst.Attribute) -> bool:
        """Whether `node` is an op that an optimizer makes to be run."""
        given = (binding.value for binding in self._infer.given_to(node))
        return any(isinstance(value, cst.Call) and self.makes_train_op(value) for value in given)

    def runs_train_op(self, call: cst.Call) -> bool:
        """Whether `call` runs an op in a session that trains, by its name or by what made it."""
        fetched = self._fetched(call)
        if fetched is None or not self.runs_session(call) or not isinstance(call.func, cst.Attribute):
            return False
        if fetched is not call.func.value and not names_a_session(last_name(call.func.value)):
            return False
        return any(
            names_a_train_op(last_name(node)) or self._is_train_op(node) for node in self._named_in(fetched)
        )

    def _named_in(self, fetched: cst.BaseExpression) -> Iterator[cst.Name | cst.Attribute]:
        """What is fetched by name, also in a list that a name stands for: `fetches = [loss, train_op]`."""
        lists = [binding.value for binding in self._infer.bindings(fetched) if binding.kind == "assign"]
        for part in (fetched, *lists):
            if part is fetched or isinstance(part, cst.List | cst.Tuple | cst.Dict):
                yield from (node for node in descendants(part) if isinstance(node, cst.Name | cst.Attribute))

    def runs_own_update(self, call: cst.Call) -> bool:
        """Whether `call` runs a training op, by its name, that no optimizer in this file makes, in a session:
        assignments to variables, or an op of a graph that is restored."""
        if not self.runs_train_op(call):
            return False
        if "import_meta_graph" in self._walk.calls:
            return True
        fetched = self._fetched(call)
        names = (node for node in descendants(fetched) if isinstance(node, cst.Name)) if fetched else ()
        return any(map(self._is_assignment, names))

    def _is_assignment(self, name: cst.Name) -> bool:
        """Whether `name` stands for an op that assigns to a variable, or for several of them."""
        return any(
            isinstance(node, cst.Call) and assigned(self._infer, node) is not None and self._computes(node)
            for binding in self._infer.bindings(name)
            if binding.kind == "assign" and binding.value is not None
            for node in _listed(binding.value)
        )

    def _computes(self, assignment: cst.Call) -> bool:
        """Whether `assignment` gives a variable what ops compute, rather than what was read from a file."""
        given = argument(assignment, 1 if self._infer.names.qualified(assignment.func) else 0, "value")
        return given is not None and self._infer.value(given).kind in ("tensor", "variable")

    def trains_in_session(self, calls: list[cst.Call]) -> bool:
        """Whether `calls` run an op that trains and that this file makes, in a session."""
        if any(map(self.runs_train_op, calls)):
            made = self._walk.calls_named(*_MAKERS_OF_TRAIN_OPS)
            return any(map(self.makes_train_op, made))
        return any(map(self.runs_session, calls)) and any(map(self.makes_train_op, calls))

    def is_graph_code(self) -> bool:
        """Whether the file is written for the graphs and sessions of TensorFlow 1."""
        return (
            self._has_no_eager_mode
            or self._runs_updates()
            or any(
                self._infer.names.qualified(call.func) == name and not self._only_sets_options(call)
                for name in sorted(named("session-code"))
                for call in self._walk.calls.get(name.rsplit(".", 1)[1], ())
            )
        )

    def _runs_updates(self) -> bool:
        """Whether a function of Keras runs a graph that updates what is trained: `K.function([x], [loss], updates=updates)`."""
        return any(
            self._infer.names.is_call_that(call, "runs-updates") and argument(call, 2, "updates") is not None
            for call in self._walk.calls_named(*last_names("runs-updates"))
        )

    @cached_property
    def _has_no_eager_mode(self) -> bool:
        """Whether a module of the project that the file imports turns eager mode off at once."""
        return any(map(_turns_eager_off, self._infer.texts_of_imports))

    def _only_sets_options(self, call: cst.Call) -> bool:
        """Whether `call` makes a session only for its options, as code for version 2 does to set memory growth: nothing
        is run in it."""
        dotted = self._infer.names.dotted(call.func) or ""
        if ".compat." not in dotted or not dotted.endswith("Session") or "eval" in self._walk.attributes:
            return False
        if any(map(_feeds, self._walk.calls.get("run", ()))):
            return False
        parent = self._walk.parents[self._walk.parents[call]]
        match self._walk.parents[call]:
            case cst.Expr():
                return True
            case cst.Arg():
                return isinstance(parent, cst.Call) and callee_name(parent) == "set_session"
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))]):
                return all(map(self._runs_nothing, self._walk.names.get(name, ())))
        return False

    def _runs_nothing(self, name: cst.Name) -> bool:
        """Whether a place that names a session only binds it or makes it the one of Keras."""
        match around := self._walk.parents[name]:
            case cst.AssignTarget():
                return True
            case cst.Arg():
                call = self._walk.parents[around]
                return isinstance(call, cst.Call) and callee_name(call) == "set_session"
        return False


def _feeds(call: cst.Call) -> bool:
    """Whether a call gives values for placeholders: `sess.run(op, feed_dict=batch)`, `op.run({x: batch})`."""
    return isinstance(argument(call, 0), cst.Dict) or keyword_argument(call, "feed_dict") is not None


def _listed(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The elements of a list, the arguments of `tf.group(…)`, or else `node` itself."""
    match node:
        case cst.List() | cst.Tuple():
            return [element.value for element in node.elements]
        case cst.Call() if callee_name(node) == "group":
            return [arg.value for arg in node.args]
    return [node]


def _turns_eager_off(text: bytes) -> bool:
    """Whether a module does, at its top level."""
    # Nearly all texts have none of these words, which is soon seen.
    words = [name.encode() for name in last_names("graph-mode")]
    return any(word in text for word in words) and _at_the_top().search(text) is not None


@cache
def _at_the_top() -> re.Pattern[bytes]:
    return re.compile(rf"(?m)^[\w.]*\b(?:{'|'.join(sorted(last_names('graph-mode')))})\(".encode())
