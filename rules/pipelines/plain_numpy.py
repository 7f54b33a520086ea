"""Python code in input pipelines that TensorFlow's own ops can do: NumPy, arithmetic, and reading of images."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tflint_perf.analysis.apis.facts import fact, has
from tflint_perf.analysis.limits import CALLS_DEEP
from tflint_perf.analysis.pipelines.reads_without_op import OTHER_FILES, data_of
from tflint_perf.analysis.python.reach import remembered
from tflint_perf.analysis.python.scopes import Class, Function
from tflint_perf.analysis.python.syntax import (
    argument,
    children,
    has_stars,
    keyword_argument,
    last_name,
    string,
)
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.keras_flows import is_flow
from tflint_perf.analysis.values.named_calls import GENERATOR, builtin_or_qualified
from tflint_perf.analysis.values.parts import Part

_BUILTINS = frozenset(
    ["len", "int", "float", "abs", "min", "max", "sum", "range", "tuple", "bool", "round", "zip", "enumerate", "list", "str",
     "sorted", "reversed"]
)  # fmt: skip
# Methods of `np.random.default_rng()` by the older functions that are named otherwise.
_OF_GENERATOR = {"integers": "randint", "standard_normal": "randn"}
_METHODS = frozenset(
    ["numpy", "astype", "reshape", "transpose", "mean", "sum", "max", "min", "std", "var", "copy", "flatten", "ravel",
     "squeeze", "clip", "decode", "set_shape", "convert", "resize", "crop", "split", "strip", "lower", "replace", "join"]
)  # fmt: skip
_PLAIN = (
    cst.Assign, cst.AnnAssign, cst.AugAssign, cst.Return, cst.Expr, cst.If, cst.Else, cst.Pass, cst.IndentedBlock,
    cst.SimpleStatementLine, cst.SimpleStatementSuite, cst.AssignTarget, cst.Arg, cst.Element, cst.DictElement, cst.Dict,
    cst.Index, cst.Slice, cst.SubscriptElement, cst.ComparisonTarget, cst.Name, cst.Attribute, cst.Subscript, cst.Tuple,
    cst.List, cst.BaseNumber, cst.SimpleString, cst.UnaryOperation, cst.BinaryOperation, cst.Comparison,
    cst.BooleanOperation, cst.IfExp, cst.Call, cst.Ellipsis, cst.For, cst.ListComp, cst.GeneratorExp, cst.CompFor, cst.CompIf,
    cst.FormattedString, cst.FormattedStringExpression, cst.FormattedStringText,
)  # fmt: skip
_IN_GENERATORS = (cst.While, cst.Yield, cst.Break, cst.Continue)
DECODER = "tf.io.decode_image"
SLICES = "tf.data.Dataset.from_tensor_slices"
# What makes the batches that an `ImageDataGenerator` makes.
_FLOWS = {
    "flow": SLICES,
    "flow_from_directory": "tf.keras.utils.image_dataset_from_directory",
    "flow_from_dataframe": DECODER,
}


class PlainNumpy(Part):
    """Answers which TensorFlow ops do what a function of Python does, as a list of their names.

    None where something in the function is not in sight, has no such op, or reads what TensorFlow can't.
    """

    same_for_all_callers = True

    _infer: Inference
    _calls: CallGraph

    def ops(self, node: cst.BaseExpression) -> list[str] | None:
        """The ops that can do the work of `node`, which is given to `tf.py_function` or `tf.numpy_function`."""
        name = self._infer.names.qualified(node)
        if name:
            twin = fact(name, "twin")
            return [twin] if twin else None
        function = self._infer.value(node).function
        reader = _Reader(self._infer, self._calls)
        if function is None or function.yields or not reader.is_plain_function(function, 0):
            return None
        if any(self._is_elsewhere(given, function) for given in data_of(self._infer, function.node.body)):
            return None
        return list(reader.ops)

    def _is_elsewhere(self, node: cst.BaseExpression, function: Function) -> bool:
        """Whether what a function takes parts of is neither one of its parameters nor an array in memory."""
        return last_name(node) not in function.positional and not self._is_in_memory(node)

    def generator_ops(self, node: cst.BaseExpression, *, arguments: bool = False) -> list[str] | None:
        """The ops for a generator that is given to `from_generator`, with `arguments` or without.

        Of an object of unknown class, all generators of that name that the file has are meant.
        """
        function = self.called(node)
        if (wrapper := self._partial(node)) is not None and function is not None:
            return self._ops_of(function, self._in_memory(function, wrapper))
        if function is None and isinstance(node, cst.Attribute) and not self._infer.value(node).known:
            choices = [
                self._ops_of(method, method.positional if arguments else ())
                for method in self._calls.methods_named(node.attr.value)
            ]
            found = dict.fromkeys(op for ops in choices for op in ops or ())
            return list(found) if choices and None not in choices else None
        given = function.returns[0].value if function is not None and len(function.returns) == 1 else None
        if function is not None and isinstance(function.node, cst.Lambda):
            given = function.node.body
        if isinstance(given, cst.Call) and is_flow(self._infer, given):
            return [_FLOWS[last_name(given.func)]]
        while function is not None and isinstance(function.node, cst.Lambda):
            body = function.node.body
            if not isinstance(body, cst.Call):
                return None
            if builtin_or_qualified(self._infer, body.func) == "zip":
                return [SLICES] if all(self._is_in_memory(arg.value) for arg in body.args) else None
            targets = self._calls.targets(body)
            function = targets[0] if len(targets) == 1 else None
        if function is None:
            return None
        return self._ops_of(function, function.positional if arguments else ())

    def generators(self, node: cst.BaseExpression) -> list[Function]:
        """The functions that may be called for a generator that is given to `from_generator`: of an object of unknown
        class, all of that name; of `lambda: (x for x in items)`, what a loop over the object `items` runs."""
        function = self.called(node)
        match function.node if function is not None else None:
            case cst.Lambda(
                body=cst.GeneratorExp(elt=cst.Name(), for_in=cst.CompFor(iter=given, inner_for_in=None))
            ):
                return self._run_over(given)
        if function is None and isinstance(node, cst.Attribute) and not self._infer.value(node).known:
            return self._calls.methods_named(node.attr.value)
        return [function] if function is not None else []

    def _run_over(self, node: cst.BaseExpression) -> list[Function]:
        """The method that gives the items of an object of a class of this file."""
        value = self._infer.value(node)
        if value.klass is None or value.kind != "instance":
            return []
        lineage = self._infer.classes.lineage(value.klass)
        methods = (k.methods.get(name) for name in ("__iter__", "__getitem__") for k in lineage)
        return [method for method in methods if method is not None][:1]

    def called(self, node: cst.BaseExpression) -> Function | None:
        """The function of the file that a call of `node` runs; of an object, `__call__`."""
        value = self._infer.value(node)
        if value.klass is None or value.kind != "instance":
            return value.function
        lineage = self._infer.classes.lineage(value.klass)
        return next((method for klass in lineage if (method := _called(klass)) is not None), None)

    def _partial(self, node: cst.BaseExpression) -> cst.Call | None:
        """The `functools.partial(…)` that an expression is, or that a name stands for."""
        bindings = self._infer.bindings(node)
        if len(bindings) == 1 and bindings[0].path == ():
            node = bindings[0].value or node
        is_one = self._infer.names.is_call_that(node, "binds")
        return node if is_one else None  # type: ignore[return-value]

    def _in_memory(self, function: Function, wrapper: cst.Call) -> list[str]:
        """The parameters for which a `partial` gives arrays."""
        given = ((name, argument(wrapper, at, name)) for at, name in enumerate(function.positional, 1))
        return [name for name, node in given if node is not None and self._is_in_memory(node)]

    def _ops_of(self, function: Function, arrays: Sequence[str]) -> list[str] | None:
        """The ops for a generator whose parameters `arrays` are arrays, as those are that `from_generator` hands on."""
        reader = _Reader(self._infer, self._calls, _IN_GENERATORS)
        if not function.yields or not reader.is_plain(function.node.body, 0):
            return None
        data = list(data_of(self._infer, function.node.body))
        if data and DECODER not in reader.ops:
            if not all(last_name(each) in arrays or self._is_in_memory(each) for each in data):
                return None
            reader.ops[SLICES] = None
        return list(reader.ops) if reader.ops or reader.runs_ops else None

    def _is_in_memory(self, node: cst.BaseExpression) -> bool:
        """Whether something is an array, or a list of single values, which makes one."""
        if isinstance(node, cst.Subscript) and self._is_of_tokenizer(node.value):
            return True
        value = self._infer.value(node)
        held = value.element if value.kind == "list" else None
        return value.kind in ("array", "tensor") or (held is not None and held.kind in ("number", "string"))

    def _is_of_tokenizer(self, node: cst.BaseExpression) -> bool:
        """Whether something is what a tokenizer gives that is asked for tensors: `tokenizer(texts, return_tensors="tf")`."""
        made = [binding.value for binding in self._infer.bindings(node)]
        return bool(made) and all(
            isinstance(each, cst.Call) and string(keyword_argument(each, "return_tensors")) in ("tf", "np")
            for each in made
        )


class _Reader:
    """Reads code and notes the ops for it in `ops`. `kinds` are the nodes that may occur in a generator besides."""

    def __init__(self, infer: Inference, calls: CallGraph, kinds: tuple[type[cst.CSTNode], ...] = ()) -> None:
        self._infer = infer
        self._calls = calls
        self._kinds = _PLAIN + kinds
        self.ops: dict[str, None] = {}
        # Whether ops of TensorFlow are in the code already.
        self.runs_ops = False

    @remembered
    def is_plain_function(self, function: Function, depth: int) -> bool:
        plain = not function.decorators and not function.yields and depth <= CALLS_DEEP
        return plain and self.is_plain(function.node.body, depth)

    def is_plain(self, node: cst.CSTNode, depth: int) -> bool:
        """Whether `node` only computes with what it is given, by what TensorFlow can do as well."""
        if not isinstance(node, self._kinds if depth == 0 else _PLAIN):
            return False
        match node:
            case cst.Assign() if not all(self._binds(target.target) for target in node.targets):
                return False
            case cst.AugAssign() | cst.AnnAssign() if not self._binds(node.target):
                return False
            case cst.Expr() if not isinstance(node.value, cst.SimpleString | cst.Yield):
                if not self._adds_to_own(node.value) and (depth or not self._shuffles(node.value)):
                    return False
            case cst.SimpleString() if OTHER_FILES.search(string(node) or ""):
                return False
            case cst.Call() if not self._is_plain_call(node, depth):
                return False
        return all(self.is_plain(child, depth) for child in children(node))

    def _shuffles(self, node: cst.BaseExpression) -> bool:
        """Whether a generator brings something of its own into another order: `np.random.shuffle(indices)`."""
        if not isinstance(node, cst.Call) or len(node.args) != 1 or self._kinds == _PLAIN:
            return False
        shuffles = self._infer.names.is_call_that(node, "shuffles")
        return shuffles and self._is_own(node.args[0].value)

    def _adds_to_own(self, node: cst.BaseExpression) -> bool:
        """Whether something is added to a list that the function has made: `words.append(word)`."""
        return (
            isinstance(node, cst.Call)
            and isinstance(node.func, cst.Attribute)
            and node.func.attr.value in ("append", "extend")
            and self._is_own(node.func.value)
        )

    def _is_own(self, node: cst.BaseExpression) -> bool:
        """Whether a name stands for what the function has made itself."""
        found = self._infer.bindings_reaching(node) if isinstance(node, cst.Name) else None
        return (
            found is not None
            and found[0].function is not None
            and all(binding.kind in ("assign", "augment") for binding in found[1])
        )

    def _binds(self, target: cst.BaseExpression) -> bool:
        """Whether an assignment binds names, or changes in place only what the function has made."""
        if isinstance(target, cst.Tuple | cst.List):
            return all(self._binds(element.value) for element in target.elements)
        if isinstance(target, cst.Subscript):
            while isinstance(target, cst.Subscript):
                target = target.value
            return self._is_own(target)
        return isinstance(target, cst.Name)

    def _is_plain_call(self, call: cst.Call, depth: int) -> bool:
        name = builtin_or_qualified(self._infer, call.func)
        if has_stars(call):
            return False
        if name:
            return self._is_known(name)
        if isinstance(call.func, cst.Attribute) and self._infer.value(call.func.value) == GENERATOR:
            return self._is_known(
                f"np.random.{_OF_GENERATOR.get(call.func.attr.value, call.func.attr.value)}"
            )
        if self._adds_to_own(call):
            return True
        targets = self._calls.targets(call)
        if targets:
            return all(self.is_plain_function(target, depth + 1) for target in targets)
        if encoding := self._encoding(call):
            self.ops[encoding] = None
            return True
        return isinstance(call.func, cst.Attribute) and call.func.attr.value in _METHODS

    def _encoding(self, call: cst.Call) -> str:
        """What TensorFlow has for `encoder.encode(text)`; "" for other calls."""
        given = call.func.value if isinstance(call.func, cst.Attribute) else None
        if not isinstance(given, cst.Name) or last_name(call.func) != "encode":
            return ""
        made = [binding.value for binding in self._infer.bindings(given)]
        names = {self._infer.names.qualified(m.func) if isinstance(m, cst.Call) else "" for m in made}
        return fact(names.pop(), "encoder") if len(names) == 1 else ""

    def _is_known(self, name: str) -> bool:
        twin = fact(name, "twin")
        if twin:
            self.ops[twin] = None
        of_tensorflow = fact(name, "gives") in ("tensor", "tensors")
        self.runs_ops |= of_tensorflow
        return bool(twin) or has(name, "says-form") or name in _BUILTINS or of_tensorflow


def _called(klass: Class) -> Function | None:
    """The method that a call of an object runs: `__call__`, or what that is another name for."""
    other = [
        binding.value for binding in klass.scope.bindings.get("__call__", ()) if binding.kind == "assign"
    ]
    name = other[0].value if len(other) == 1 and isinstance(other[0], cst.Name) else "__call__"
    return klass.methods.get(name)
