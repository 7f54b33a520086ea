"""What a value of unknown origin must be, since the code uses it as only that can be used."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from tflint_perf.analysis.apis.facts import has, last_names, library, methods
from tflint_perf.analysis.conventions import names_a_model
from tflint_perf.analysis.limits import CALLS_DEEP
from tflint_perf.analysis.python.reach import remembered
from tflint_perf.analysis.python.syntax import (
    argument,
    keyword_argument,
    last_name,
    same_code,
    target_names,
)
from tflint_perf.analysis.values.frameworks import imports_another
from tflint_perf.analysis.values.values import NOWHERE, UNKNOWN, Value, stream_from

if TYPE_CHECKING:
    from tflint_perf.analysis.python.scopes import Binding, Class, Scope
    from tflint_perf.analysis.values.infer import Inference

_OF_MODELS = ("trainable_variables", "trainable_weights", "load_weights", "save_weights")
# Other objects may have these as well, so the name has to speak of a model, too.
_ALSO_OF_MODELS = ("get_weights", "set_weights")
# Both of these an object has that is one, whatever its name.
_ON_BATCHES = ("train_on_batch", "test_on_batch", "predict_on_batch")
# What says of an object that it is one of Keras's models, and so nothing of a class of the file's own.
OF_MODELS = frozenset((*_OF_MODELS, *_ALSO_OF_MODELS, *_ON_BATCHES, "fit_generator", "summary"))
# What an object has that is no layer nor function: a model, where inputs of Keras are given to it.
_BEYOND_LAYERS = ("predict", "evaluate", "fit", *_ON_BATCHES)
# What no tensor is asked for, but a model is, which a function gave.
_OF_TRAINED = ("fit", "compile", "set_weights")
_MODEL = Value("model")
# What only a dataset has, and what only a dataset has together.
_OF_DATASETS = frozenset({"prefetch", "padded_batch", "num_parallel_calls"})
_BESIDE_BATCH = frozenset({"map", "shuffle", "repeat", "cache"})
_DATASET = stream_from(NOWHERE)


class ByUse:
    """Answers which names and attributes are models: those that are asked for trainable variables, are called with
    `training` or with inputs of Keras, are compiled with a loss, or are given where Keras takes a model. And which parameters are datasets: those that get stages only a dataset has."""

    def __init__(self, infer: Inference) -> None:
        self._infer = infer
        self._walk = infer.walk
        self._attributes: dict[tuple[Class, str], Value] = {}
        self._datasets: set[cst.CSTNode] | None = None

    @remembered
    def name(self, name: str, home: Scope) -> Value:
        """What a name of a scope is."""
        return _MODEL if self._is_model(name, home) else UNKNOWN

    @cached_property
    def _may_be_of_keras(self) -> bool:
        """Whether models need not be those of another framework, which has the same words."""
        return not imports_another(self._walk)

    def _is_model(self, name: str, home: Scope) -> bool:
        if not self._may_be_of_keras:
            return False
        if home in self._homes.get(name, ()):
            return not self._may_be_loaded_object(name, home)
        if home.function is None or not names_a_model(name) or home.bindings[name][0].kind != "param":
            return False
        calls = self._called.get((home, name), ())
        if any(map(self._gives_model, calls)):
            return False
        if calls and any(map(self._is_of_function, self._homes.get(name, ()))):
            return True  # the functions of a file mean the same by it
        return any(map(self._takes_tensor, calls)) or any(self._gives_tensor(call, home) for call in calls)

    def _may_be_loaded_object(self, name: str, home: Scope) -> bool:
        """Whether a name may also stand for an object from a file, `joblib.load(path)`, of which none of those uses tells:
        each is in another branch than that."""
        uses = (use for use in self._asked_of_models[name] if isinstance(use, cst.Name))
        told = [found[1] for use in uses if (found := self._infer.bindings_reaching(use)) is not None]
        return any(
            self._infer.names.is_call_that(binding.value, "loads-objects")
            and not any(binding in bindings for bindings in told)
            for binding in home.bindings.get(name, ())
        )

    @staticmethod
    def _is_of_function(home: Scope) -> bool:
        return home.function is not None

    @cached_property
    def _asked_of_models(self) -> dict[str, list[cst.BaseExpression]]:
        """What is asked for what only models have, and what is called with `training`, by its name."""
        found: dict[str, list[cst.BaseExpression]] = {}
        for word in _OF_MODELS:
            for node in self._walk.attributes.get(word, ()):
                found.setdefault(last_name(node.value), []).append(node.value)
        for word in _ALSO_OF_MODELS:
            for node in self._walk.attributes.get(word, ()):
                if names_a_model(last_name(node.value)):
                    found.setdefault(last_name(node.value), []).append(node.value)
        for word in _ON_BATCHES:
            for node in self._walk.attributes.get(word, ()):
                if last_name(node.value) in self._weighed:
                    found.setdefault(last_name(node.value), []).append(node.value)
        for name, calls in self._walk.calls.items():
            for call in calls:
                if keyword_argument(call, "training") and not self._gives_model(call):
                    found.setdefault(name, []).append(call.func)
        for use in (*self._compiled_with_loss(), *self._given_to_keras(), *self._called_on_inputs()):
            found.setdefault(last_name(use), []).append(use)
        return found

    def _gives_model(self, call: cst.Call) -> bool:
        """Whether what is given a name or an attribute by `call` is asked to train, or given weights: `net = new_net(units=64,
        training=True)`, `net.fit(…)`."""
        match self._walk.parents.get(call):
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name() | cst.Attribute() as made)]):
                asked = (node for word in _OF_TRAINED for node in self._walk.attributes.get(word, ()))
                return any(same_code(node.value, made) for node in asked)
        return False

    def _compiled_with_loss(self) -> Iterator[cst.BaseExpression]:
        """What is compiled as only models of Keras are: `net.compile(optimizer="adam", loss="mse")`."""
        calls = [call for call in self._walk.calls.get("compile", ()) if keyword_argument(call, "loss")]
        if calls and not self._others_compile_with_loss():
            yield from (call.func.value for call in calls if isinstance(call.func, cst.Attribute))

    def _others_compile_with_loss(self) -> bool:
        """Whether a class that is no model of Keras's has a method for that: in the file, or among what it imports."""
        for klass in self._walk.classes.values():
            method = klass.methods.get("compile")
            if method is None or any(
                has(self._infer.names.qualified(base.value), "base") for base in klass.node.bases
            ):
                continue
            names = {parameter.name.value for parameter in method.parameters}
            if "loss" in names or method.node.params.star_kwarg is not None:
                return True
        outside = self._infer.outside
        scopes = self._walk.scopes.values()
        for binding in (b for scope in scopes for bindings in scope.bindings.values() for b in bindings):
            value = outside.value(binding.imported) if binding.imported else UNKNOWN
            if value.kind == "class" and outside.member(f"{value.outside}()", "compile").outside:
                if not outside.class_facts(value.outside).keras_kind:
                    return True
        return False

    def _given_to_keras(self) -> Iterator[cst.BaseExpression]:
        """What is given to functions of Keras that take a model: `plot_model(net)`."""
        for call in self._walk.calls_named(*last_names("takes-model")):
            given = argument(call, 0, "model")
            if given is not None and self._infer.names.is_call_that(call, "takes-model"):
                yield given

    def _called_on_inputs(self) -> Iterator[cst.BaseExpression]:
        """What is called on inputs of Keras, and does what neither layers nor functions do: it predicts, say."""
        asked = {
            last_name(node.value) for word in _BEYOND_LAYERS for node in self._walk.attributes.get(word, ())
        }
        # Objects of a class of the file may be called and predict as well.
        if any("__call__" in klass.methods for klass in self._walk.classes.values()):
            return
        for name in sorted((asked - {""}) & self._walk.calls.keys()):
            yield from (call.func for call in self._walk.calls[name] if self._takes_input(call, 0))

    def _takes_input(self, call: cst.Call, depth: int) -> bool:
        """Whether a call is given an input of Keras, one of several, or what another call made of such."""
        given = call.args[0].value if call.args else None
        parts = (
            [part.value for part in given.elements] if isinstance(given, cst.List | cst.Tuple) else [given]
        )
        return any(self._is_input(part, depth) for part in parts)

    def _is_input(self, node: cst.BaseExpression | None, depth: int) -> bool:
        if isinstance(node, cst.Name) and (found := self._infer.bindings_reaching(node)) is not None:
            return bool(found[1]) and all(
                b.kind == "assign" and b.path == () and self._is_input(b.value, depth + 1) for b in found[1]
            )
        if not isinstance(node, cst.Call) or depth > CALLS_DEEP:
            return False
        return self._infer.names.is_call_that(node, "input") or self._takes_input(node, depth + 1)

    @cached_property
    def _weighed(self) -> set[str]:
        """The names of what is asked for all its weights, or given new ones."""
        return {
            last_name(node.value) for word in _ALSO_OF_MODELS for node in self._walk.attributes.get(word, ())
        }

    @cached_property
    def _homes(self) -> dict[str, set[Scope]]:
        """The scopes of the names among them."""
        return {
            name: {
                home
                for use in uses
                if isinstance(use, cst.Name) and (home := self._infer.names.home(use)) is not None
            }
            for name, uses in self._asked_of_models.items()
        }

    @cached_property
    def _called(self) -> dict[tuple[Scope, str], list[cst.Call]]:
        """The calls of names that may be models', by the scope that the name is of."""
        found: dict[tuple[Scope, str], list[cst.Call]] = {}
        for name, calls in self._walk.calls.items():
            for call in calls if names_a_model(name) else ():
                if (
                    isinstance(call.func, cst.Name)
                    and (home := self._infer.names.home(call.func)) is not None
                ):
                    found.setdefault((home, name), []).append(call)
        return found

    def _takes_tensor(self, call: cst.Call) -> bool:
        """Whether the first argument of `call` comes from an op, as far as that shows without asking for values."""
        given = call.args[0].value if call.args else None
        if isinstance(given, cst.Name) and (found := self._infer.bindings_reaching(given)) is not None:
            return bool(found[1]) and all(b.kind == "assign" and self._is_op(b.value) for b in found[1])
        return self._is_op(given)

    def _is_op(self, node: cst.BaseExpression | None) -> bool:
        return isinstance(node, cst.Call) and library(self._infer.names.qualified(node.func)) in (
            "tensorflow",
            "numpy",
        )

    def _gives_tensor(self, call: cst.Call, home: Scope) -> bool:
        """Whether what a call gives is given a name that is asked for `.numpy()`, or handed to an op."""
        statement = self._walk.parents.get(call)
        targets = statement.targets if isinstance(statement, cst.Assign) else ()
        names = {name.value for target in targets for name in target_names(target.target)}
        uses = (
            use for name in names & home.bindings.keys() for use in self._infer.names.mentions(name, home)
        )
        return any(map(self._is_used_as_tensor, uses))

    def _is_used_as_tensor(self, name: cst.Name) -> bool:
        parents = self._walk.parents
        around = parents.get(name)
        if isinstance(around, cst.Attribute):
            return around.value is name and around.attr.value == "numpy"
        while isinstance(around, cst.Subscript | cst.Index | cst.SubscriptElement | cst.BinaryOperation):
            around = parents.get(around)
        call = parents.get(around) if isinstance(around, cst.Arg) else None
        op = self._infer.names.qualified(call.func) if isinstance(call, cst.Call) else ""
        return library(op) == "tensorflow" and not has(op, "takes-arrays")

    def parameter(self, binding: Binding) -> Value:
        """What a parameter is that gets stages: `dataset.map(f, num_parallel_calls=4)`, `dataset.shuffle(9).batch(3)`."""
        if self._datasets is None:
            self._datasets = set()  # a parameter that is asked about on the way is none
            self._datasets = set(self._parameters_with_stages())
        return _DATASET if binding.node in self._datasets else UNKNOWN

    def _parameters_with_stages(self) -> Iterator[cst.CSTNode]:
        """The parameters on which stages are put, in one expression or by assignments, that only a dataset has."""
        stages_of: dict[cst.CSTNode, set[str]] = {}
        for name in sorted(methods("Dataset", "stage")):
            for call in self._walk.calls.get(name, ()):
                stages = {name, *(arg.keyword.value for arg in call.args if arg.keyword is not None)}
                node = call.func.value if isinstance(call.func, cst.Attribute) else None
                while isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
                    stages.add(node.func.attr.value)
                    node = node.func.value
                home = self._infer.names.home(node) if isinstance(node, cst.Name) else None
                for binding in home.bindings[node.value] if home is not None else ():  # type: ignore[union-attr]
                    if binding.kind == "param":
                        stages_of.setdefault(binding.node, set()).update(stages)
        for parameter, stages in stages_of.items():
            if stages & _OF_DATASETS or ("batch" in stages and stages & _BESIDE_BATCH):
                yield parameter

    def attribute(self, node: cst.Attribute) -> Value:
        """What `self.x` is, by all that its class does with it; of other objects, by what is done with their `x`."""
        if not isinstance(node.value, cst.Name):
            return UNKNOWN
        klass = self._infer.value(node.value).klass
        if klass is None:
            return _MODEL if self._is_model_of_name(node.attr.value, node.value) else UNKNOWN
        name = node.attr.value
        known = self._attributes.get((klass, name))
        if known is None and name == "model" and self._infer.classes.keras_kind(klass) == "callback":
            known = self._attributes[klass, name] = _MODEL  # Keras sets it
        if known is None:
            self._attributes[klass, name] = UNKNOWN  # where it is asked about on the way
            is_model = self._is_model_of(klass, name) or self._is_given_weights(klass, name)
            known = self._attributes[klass, name] = _MODEL if is_model else UNKNOWN
        return known

    def _is_given_weights(self, klass: Class, name: str) -> bool:
        """Whether an attribute is given the weights of a model, so that it is one as well: `self.target.set_weights(
        self.online.get_weights())`."""
        if not self._may_be_of_keras:
            return False
        for call in self._walk.calls.get("set_weights", ()):
            match call:
                case cst.Call(
                    func=cst.Attribute(value=cst.Attribute(attr=cst.Name(attribute)) as given),
                    args=[
                        cst.Arg(value=cst.Call(func=cst.Attribute(value=asked, attr=cst.Name("get_weights"))))
                    ],
                ) if attribute == name and self._is_of(given, klass):
                    if self._infer.value(asked).kind == "model":
                        return True
        return False

    def _is_model_of(self, klass: Class, name: str) -> bool:
        if not self._may_be_of_keras:
            return False
        if any(self._is_of(use, klass) for use in self._asked_of_models.get(name, ())):
            return True
        return (
            bool(names_a_model(name))
            and self._is_handed_in(klass, name)
            and any(
                self._is_of(call.func, klass) and self._takes_tensor(call)
                for call in self._walk.calls.get(name, ())
            )
        )

    def _is_model_of_name(self, name: str, owner: cst.Name) -> bool:
        """Whether an attribute of what a name stands for is used as only models are: `task.net.trainable_variables`."""
        # A method may be told `training` as well.
        named = self._may_be_of_keras and names_a_model(name)
        uses = self._asked_of_models.get(name, ()) if named else ()
        home = self._infer.names.home(owner) if uses else None
        return home is not None and any(
            isinstance(use, cst.Attribute)
            and isinstance(use.value, cst.Name)
            and use.value.value == owner.value
            and self._infer.names.home(use.value) is home
            for use in uses
        )

    def _is_of(self, use: cst.CSTNode, klass: Class) -> bool:
        """Whether `use` is an attribute of an object of the class `klass`."""
        return (
            isinstance(use, cst.Attribute)
            and isinstance(use.value, cst.Name)
            and self._infer.value(use.value).klass is klass
        )

    def _is_handed_in(self, klass: Class, name: str) -> bool:
        """Whether an attribute holds what the constructor was given, and nothing else."""
        bindings = klass.attributes.get(name, ())
        return bool(bindings) and all(
            isinstance(binding.value, cst.Name)
            and binding.path == ()
            and (maker := binding.at.block.function) is not None
            and maker.name == "__init__"
            and (home := self._infer.names.home(binding.value)) is not None
            and home.function is maker
            and all(given.kind == "param" for given in home.bindings[binding.value.value])
            for binding in bindings
        )
