"""Programs: scripts that train when they are run, and the imports at their top."""

from __future__ import annotations

import builtins
import re
import sys
from collections.abc import Collection, Container, Iterator
from functools import lru_cache

import libcst as cst

from tflint_perf.analysis.apis.facts import fact, has, last_names
from tflint_perf.analysis.execution.left_on import is_main_guard
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.execution.steps import GradientStep, GradientSteps
from tflint_perf.analysis.python.conditions import conditions
from tflint_perf.analysis.python.names import canonical
from tflint_perf.analysis.python.reach import remembered
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import (
    callee_name,
    descendants,
    imported_modules,
    imported_names,
    is_constant,
    names_read,
)
from tflint_perf.analysis.training.train_calls import TrainCalls
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.values import Value

_BUILTINS = frozenset((*dir(builtins), "__file__"))
# Modules whose functions run no op of TensorFlow.
_PLAIN_MODULES = sys.stdlib_module_names | {"numpy", "matplotlib", "pandas", "seaborn", "dotenv", "absl"}
_IMPORTS_TENSORFLOW = re.compile(rb"(?m)^[ \t]*(?:from|import)\b[^#\n]*\b(?:tensorflow|keras)\b")
_AT_IMPORT = re.compile(rb"(?m)^\w[^#\n=]*=[\s\[({]*((?:tf|tensorflow|keras)\.[\w.]+|[A-Z]\w*)\(")
_NAMED_AT_IMPORT = re.compile(rb"(?m)^from[ \t]+((?:tensorflow|keras)[\w.]*)[ \t]+import[ \t]+([\w, \t]+)$")
# What is given in the head of a function is made at the import, too.
_HEAD = re.compile(rb"(?m)^[ \t]*(?:async[ \t]+)?def[ \t]+\w+[ \t]*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")
_DEFAULT = re.compile(rb"=\s*((?:tf|tensorflow|keras)\.[\w.]+)\(")
# What is a tensor or has variables as it is made: a metric its totals, a layer that draws its seed.
_WITH_VARIABLES = ("tensor", "variable", "optimizer", "metric", "layer", "model")
_TRAINS = re.compile(rb"\bapply_gradients\(|\bGradientTape\(|\btrain_on_batch\(")
# Other libraries have methods of these names, too.
_MAY_TRAIN = re.compile(rb"\.minimize\(|\.fit(?:_generator)?\(")
# What makes an `Estimator` or its configuration, and what trains otherwise.
_ESTIMATOR = re.compile(rb"\bRunConfig\(|\bestimator\.\w*(?:Estimator|Classifier|Regressor)\(")
_NO_ESTIMATOR = re.compile(rb"\bGradientTape\(|\btrain_on_batch\(|\.fit(?:_generator)?\(|\bSession\(")
# By these, code may run what it does not spell; and what a module lists, others may import.
_BY_NAME = frozenset({"eval", "exec", "globals", "locals", "__all__"})
_DOING = (cst.For, cst.While, cst.With, cst.FunctionDef, cst.ClassDef, cst.Return, cst.Await)


class Programs(Part):
    """Answers what running a file as a program does."""

    _infer: Inference
    _calls: CallGraph
    _loops: Loops
    _steps: GradientSteps
    _train_calls: TrainCalls
    _text: str

    # Training

    def trains(self) -> bool:
        """Whether running the file trains a model: at module level, or in what that or a main guard calls.

        An excerpt that gets its model from nowhere is no program.
        """
        return self.training() is not None

    @remembered
    def is_one(self) -> bool:
        """Whether running the file runs code of its own, rather than only defining and setting what others use."""
        return any(map(self._may_start, self._walk.module_calls))

    @remembered
    def training(self) -> cst.CSTNode | None:
        """The tape or call that trains when the file is run; None where it does not."""
        if not self.is_one():
            return None
        reached = self._reached()
        for step in self._steps.all():
            if self._is_trained_with(step, reached) and self._is_whole(step.tape):
                return step.tape
        calls = [*self._walk.module_calls, *(call for function in reached for call in function.calls)]
        runs_session = any(map(self._train_calls.runs_session, calls))
        for call in calls:
            if self._train_calls.fits(call) or (runs_session and self._train_calls.makes_train_op(call)):
                if self._is_whole(call.func):
                    return call
            if self._train_calls.runs_own_update(call) and self._loops.innermost_loop(call) is not None:
                return call
            if self._train_calls.applies(call) and self._is_repeated(call) and self._is_whole(call.func):
                return call
        return next(
            (call for call in calls if self._trains_elsewhere(call)), None
        ) or self._training_of_imports(calls)

    @remembered
    def trains_estimator(self) -> bool:
        """Whether what is trained is an `Estimator`, which makes its session by its `RunConfig`: here, or in the files that
        the program imports, if they train nothing else."""
        match self.training():
            case cst.Call() as call if self._train_calls.trains_estimator(call):
                return True
            case cst.Call() as call if not self._train_calls.fits(call) and not self._train_calls.applies(
                call
            ):
                texts = self._infer.texts_of_imports
                return any(map(_ESTIMATOR.search, texts)) and not any(map(_NO_ESTIMATOR.search, texts))
        return False

    @remembered
    def trains_somewhere(self) -> bool:
        """Whether the file trains when it is run, or has a gradient step that some code is seen to run."""
        calls = self._calls
        return self.trains() or any(
            step.function is not None and (calls.sites(step.function) or calls.callers_outside(step.function))
            for step in self._steps.all()
        )

    @remembered
    def applies_only(self) -> bool:
        """Whether running the file restores a model that was trained before, and trains none."""
        if not self.is_one() or self.trains_somewhere():
            return False
        calls = [*self._walk.module_calls, *(call for f in self._reached() for call in f.calls)]
        return any(map(self._restores, calls)) and not any(map(self._train_calls.may_train, calls))

    def _restores(self, call: cst.Call) -> bool:
        """Whether `call` reads what was learned; a class of the project that can do so has a method of that name."""
        if callee_name(call) in last_names("restores"):
            return True
        return self._infer.names.is_call_that(call, "loads-objects")

    def _is_trained_with(self, step: GradientStep, reached: Container[Function]) -> bool:
        """Whether running the file trains by the gradient step `step`, rather than only tries out a model below its
        definition."""
        return self._is_repeated(step.tape) if step.function is None else step.function in reached

    def _is_repeated(self, node: cst.CSTNode) -> bool:
        """Whether `node` is in a function, or else in a loop."""
        return self._calls.function_at(node) is not None or self._loops.innermost_loop(node) is not None

    def leaves_out(self, function: Function | None) -> bool:
        """Whether running the file trains by a gradient step of its own, and `function` is left over."""
        if function is None or not self._is_left_over(function, frozenset()):
            return False
        reached = self._reached()
        return any(
            step.function is not function and self._is_trained_with(step, reached)
            for step in self._steps.all()
        )

    def never_run(self, node: cst.CSTNode) -> bool:
        """Whether the file is a program, and nothing calls the function around `node`: it is left over from an earlier
        version of the program, or another one that is not run."""
        function = self._outermost(node)
        return (
            function is not None
            and self._is_left_over(function, frozenset())
            and (self.trains() or self._has_main_guard())
        )

    @remembered
    def _has_main_guard(self) -> bool:
        """Whether the file says what running it does, by `if __name__ == "__main__"`."""
        return "__main__" in self._text and any(
            is_main_guard(condition)
            for call in self._walk.module_calls
            for condition in conditions(self._walk, call)
        )

    def _outermost(self, node: cst.CSTNode) -> Function | None:
        function = self._calls.function_at(node)
        while function is not None and function.outer is not None:
            function = function.outer
        return function

    def _is_left_over(self, function: Function, asked: frozenset[Function]) -> bool:
        """Whether nothing in the project names a function, or only such functions do."""
        bound = self._walk.top.bindings.get(function.name, [])
        if function.decorators or function in asked or [each.node for each in bound] != [function.node]:
            return False
        if self._calls.callers_outside(function) or not self._walk.names.keys().isdisjoint(_BY_NAME):
            return False
        users = [
            self._outermost(name)
            for name in self._infer.names.mentions(function.name, self._walk.top)
            if self._walk.parents.get(name) is not function.node
        ]
        return all(
            user is not None and (user is function or self._is_left_over(user, asked | {function}))
            for user in users
        )

    def _training_of_imports(self, calls: list[cst.Call]) -> cst.CSTNode | None:
        """A call that, by its name, trains what other files of the project make, where their text trains something."""
        if self._train_calls.is_of_another_framework:
            return None
        for call in calls:
            paths = self._infer.value(call.func).paths
            may_train = any(map(self._infer.outside.may_train, paths)) or (
                not paths and self._train_calls.may_train(call)
            )
            if may_train or self._train_calls.hands_tape_on(call) or self._train_calls.runs_train_op(call):
                return call if self._imports_training() else None
        return None

    def _imports_training(self) -> bool:
        """Whether the modules of the project that the file imports mention training a model."""
        return any(
            _TRAINS.search(text) or (_MAY_TRAIN.search(text) and _IMPORTS_TENSORFLOW.search(text))
            for text in self._infer.texts_of_imports
        )

    def trains_in(self, functions: Collection[Function]) -> bool:
        """Whether one of `functions` itself makes gradient steps or fits a model."""
        if any(step.function in functions for step in self._steps.all()):
            return True
        calls = [call for function in functions for call in function.calls]
        trains = (self._train_calls.fits(call) or self._train_calls.applies(call) for call in calls)
        for_training = (callee_name(call) == "MonitoredTrainingSession" for call in calls)
        return any(trains) or any(for_training) or self._train_calls.trains_in_session(calls)

    def may_train_in(self, functions: Collection[Function]) -> bool:
        """Whether one of `functions` calls what, by its name, trains an object from elsewhere, or what gets a tape."""
        return any(
            self._train_calls.may_train(call) or self._train_calls.hands_tape_on(call)
            for function in functions
            for call in function.calls
        )

    def _trains_elsewhere(self, call: cst.Call) -> bool:
        """Whether `call` runs, or passes on, a function of another file that trains a model."""
        given = (
            self._infer.value(arg.value)
            for arg in call.args
            if isinstance(arg.value, cst.Attribute | cst.Name)
        )
        functions = (value for value in given if value.kind in ("function", "compiled"))
        return any(
            value.outside and self._infer.outside.trains(value.outside)
            for value in (*self._called(call), *functions)
        )

    def _called(self, call: cst.Call) -> tuple[Value, ...]:
        """What a call may run: each function of a table that it takes one from, as in `trainers[args.algorithm](env)`."""
        func = call.func
        bindings = self._infer.bindings(func)
        if len(bindings) == 1 and bindings[0].kind == "assign" and not bindings[0].path:
            func = bindings[0].value or func
        match func:
            case cst.Subscript(value=table) | cst.Call(func=cst.Attribute(value=table, attr=cst.Name("get"))):
                among = self._infer.value(table)
                return among.items or () if among.kind == "dict" else ()
        return self._infer.value(func).alternatives

    def _may_start(self, call: cst.Call) -> bool:
        """Whether `call`, at module level, can run code of this file: a library module has none."""
        if isinstance(call.func, cst.Name) and call.func.value in _BUILTINS:
            return False
        dotted = self._infer.names.qualified(call.func)
        return (
            not dotted
            or has(dotted, "runs-program")
            or bool(self._infer.value(call.func).paths)
            or any(map(self._may_be_own_code, call.args))
        )

    def _may_be_own_code(self, arg: cst.Arg) -> bool:
        """Whether what a call is given may be a function of the project: no name of a library is."""
        value = arg.value
        if not isinstance(value, cst.Name | cst.Attribute | cst.Lambda) or is_constant(value):
            return False
        of_library = self._infer.names.qualified(value) and not self._infer.value(value).paths
        return not of_library

    @remembered
    def _reached(self) -> dict[Function, None]:
        """The functions that run when the file is run."""
        reached: dict[Function, None] = {}
        waiting = list(self._walk.module_calls)
        while waiting:
            call = waiting.pop()
            for function in (*self._calls.targets(call), *self._chosen(call), *self._handed_over(call)):
                if function not in reached:
                    reached[function] = None
                    waiting += function.calls
            if not waiting:
                # What a function defines it runs itself, or hands to who called it.
                within = [f for f in self._walk.functions.values() if f.outer in reached and f not in reached]
                reached.update(dict.fromkeys(within))
                waiting += [call for function in within for call in function.calls]
        return reached

    def _chosen(self, call: cst.Call) -> Iterator[Function]:
        """The functions of this file among which a call chooses: those of a table, or the methods that train objects of
        several classes."""
        if self._calls.targets(call):
            return
        yield from (value.function for value in self._called(call) if value.function is not None)
        if isinstance(call.func, cst.Attribute) and self._train_calls.may_train(call):
            yield from self._calls.methods_named(callee_name(call))
            owner = self._infer.value(call.func.value).klass
            if owner is not None and self._infer.classes.has_foreign_base(owner):
                yield from owner.methods.values()  # the base, of another library, calls them

    def _handed_over(self, call: cst.Call) -> Iterator[Function]:
        """The functions of this file that a call is given: `app.run(main)`; `tf.app.run()` runs `main`."""
        for arg in call.args:
            if not isinstance(arg.value, cst.Name | cst.Attribute | cst.Lambda):
                continue
            value = self._infer.value(arg.value)
            if value.kind in ("function", "compiled") and value.function is not None:
                yield value.function
        if not call.args and self._infer.names.is_call_that(call, "runs-program"):
            for binding in self._walk.top.bindings.get("main", ()):
                function = self._walk.functions.get(binding.node)
                if function is not None:
                    yield function

    def _is_whole(self, node: cst.CSTNode) -> bool:
        """Whether every name in `node` is defined in this file or built into Python."""
        names = self._infer.names
        if "*" in self._walk.top.bindings:
            return True
        return all(name.value in _BUILTINS or not names.is_builtin(name) for name in names_read(node))

    def is_graph_code(self) -> bool:
        """Whether the file is written for the graphs and sessions of TensorFlow 1."""
        return self._train_calls.is_graph_code()

    # Imports

    def first_import(self) -> cst.Import | cst.ImportFrom | None:
        """The import that brings in TensorFlow: the first of TensorFlow, else of Keras, else the first of a file that
        imports them, itself or by others, else that of a module whose name speaks of them."""
        imports = [node for node in self._walk.at if isinstance(node, cst.Import | cst.ImportFrom)]
        ours = [node for node in imports if any(map(imports_tensorflow, imported_modules(node)))]
        if ours:
            named = (node for node in ours if any("tensorflow" in name for name in imported_modules(node)))
            return next(named, ours[0])
        for node in imports:
            if any(map(self._brings_tensorflow, imported_names(node))):
                return node
        return next(
            (node for node in imports if any("keras" in n or "tf" in n for n in imported_modules(node))), None
        )

    def names_tensorflow(self) -> bool:
        """Whether the program mentions TensorFlow: itself, or a module of the project that it imports. Keras runs on
        other frameworks as well."""
        texts = [self._text.encode(), *self._infer.texts_of_imports]
        return any(b"tensorflow" in text for text in texts)

    @remembered
    def is_recurrent(self) -> bool:
        """Whether the program names layers that go through a sequence step by step: itself, or a module of the project
        that it imports. A cost that was measured on other layers is told of no pass in it, whichever layers that runs."""
        return self.names(*last_names("recurrent"))

    def names(self, *words: str) -> bool:
        """Whether one of `words` stands in the text of the program: of the file, or of a module of the project that it imports."""
        words_alone = re.compile(rb"\b(?:%s)\b" % "|".join(words).encode())
        return any(map(words_alone.search, (self._text.encode(), *self._infer.texts_of_imports)))

    def _brings_tensorflow(self, imported: str) -> bool:
        """Whether a module of the project imports TensorFlow."""
        return any(map(_IMPORTS_TENSORFLOW.search, self._infer.outside.module_texts(imported)))

    def imports_from(self, first: cst.Import | cst.ImportFrom) -> list[cst.CSTNode]:
        """The imports at the top of the module from `first` on, before whose end no op can have run.

        None of them where `first` is not at the top of the module, or shares its line with other code, or runs an op itself,
        or where what was imported above it may have run one.
        """
        found: list[cst.CSTNode] = []
        is_there = False
        for line in self._walk.module.body:
            if self._runs_ops(line) or (not found and is_there and not self._is_harmless(line)):
                break
            is_there = is_there or self._imports_bring(line)
            if self._is_import(line):
                if found or any(node is first for node in descendants(line)):
                    found.append(line)
            elif found and not self._is_harmless(line):
                break
        return found

    def _imports_bring(self, line: cst.CSTNode) -> bool:
        """Whether `line` imports a module of the project that brings TensorFlow in."""
        return any(
            isinstance(node, cst.Import | cst.ImportFrom)
            and not any(map(imports_tensorflow, imported_modules(node)))
            and any(map(self._brings_tensorflow, imported_names(node)))
            for node in descendants(line)
        )

    @remembered
    def import_that_runs_ops(self) -> cst.CSTNode | None:
        """The first line at the top of the module whose import runs an op."""
        return next(filter(self._runs_ops, self._walk.module.body), None)

    def _runs_ops(self, line: cst.CSTNode) -> bool:
        """Whether `line` imports a module of the project which makes tensors or variables as it is imported, or one that imports
        such a one: `TOLERANCE = tf.constant(0.01)`, `def train(optimizer=tf.keras.optimizers.Adam())`."""
        names = (
            name
            for node in descendants(line)
            if isinstance(node, cst.Import | cst.ImportFrom)
            for name in imported_names(node)
        )
        return any(map(_runs_ops_at_import, self._infer.outside.module_texts(*names)))

    def _is_import(self, line: cst.CSTNode) -> bool:
        """Whether a line imports, with a `try` or `if` around it or not, and does nothing with TensorFlow."""
        if isinstance(line, cst.SimpleStatementLine):
            return all(isinstance(small, cst.Import | cst.ImportFrom) for small in line.body)
        if not isinstance(line, cst.Try | cst.If):
            return False
        return self._is_harmless(line) and any(
            isinstance(n, cst.Import | cst.ImportFrom) for n in descendants(line)
        )

    def _is_harmless(self, line: cst.CSTNode) -> bool:
        """Whether `line` is known to run no op: it defines nothing, loops over nothing, and calls only builtins and
        modules that know nothing of TensorFlow."""
        if not isinstance(line, cst.SimpleStatementLine | cst.Try | cst.If):
            return False
        return all(
            not isinstance(node, _DOING) and (not isinstance(node, cst.Call) or self._is_plain(node.func))
            for node in descendants(line)
        )

    def _is_plain(self, function: cst.BaseExpression) -> bool:
        dotted = self._infer.names.dotted(function)
        if dotted is not None:
            return dotted.split(".")[0] in _PLAIN_MODULES
        while isinstance(function, cst.Attribute):
            function = function.value
        if isinstance(function, cst.Call):
            return self._is_plain(function.func)
        return isinstance(function, cst.SimpleString) or (
            isinstance(function, cst.Name) and function.value in _BUILTINS
        )


def imports_tensorflow(module: str) -> bool:
    """Whether a module is TensorFlow's or Keras's own."""
    return canonical(module).split(".")[0] in ("tf", "keras")


# Each program of a project asks this of each module that it imports.
@lru_cache(maxsize=1024)
def _runs_ops_at_import(text: bytes) -> bool:
    """Whether a module makes tensors or variables when it is imported."""
    return any(fact(name, "gives") in _WITH_VARIABLES for name in _made_at_import(text))


def _made_at_import(text: bytes) -> Iterator[str]:
    """The qualified names of what a module calls of TensorFlow when it is imported, as far as its lines show."""
    called = [
        *_AT_IMPORT.findall(text),
        *(name for head in _HEAD.findall(text) for name in _DEFAULT.findall(head)),
    ]
    modules = {
        name.strip(): module for module, names in _NAMED_AT_IMPORT.findall(text) for name in names.split(b",")
    }
    for name in called:
        if b"." in name or name in modules:
            whole = name if b"." in name else b"%b.%b" % (modules[name], name)
            yield canonical(whole.decode())
