"""What a compiled function that is made of a part of a step takes and gives back, and how it is called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import TypeGuard

import libcst as cst

from tflint_perf.analysis.apis.facts import fact, has
from tflint_perf.analysis.limits import CALLS_DEEP
from tflint_perf.analysis.model import Model
from tflint_perf.analysis.python.scopes import Loop
from tflint_perf.analysis.python.syntax import (
    callee_name,
    descendants,
    dotted_name,
    integer,
    is_name,
    keyword_argument,
    last_name,
    names_written,
    target_names,
)
from tflint_perf.analysis.rewriting.parameters import Parameters
from tflint_perf.analysis.values.bound_values import value_of_binding
from tflint_perf.analysis.values.named_calls import dtype_name
from tflint_perf.analysis.values.readers import Readers
from tflint_perf.analysis.values.values import Value
from tflint_perf.edit.editor import Editor
from tflint_perf.finding import Edit
from tflint_perf.records import dataclass
from tflint_perf.rule import Refusal

from .crossing import RETURNABLE, Crossings
from .numpy_twins import Twin

# What a function is given as it is: a trace holds for the very object.
_OBJECTS = frozenset(
    {"model", "layer", "optimizer", "metric", "loss", "function", "compiled", "class", "object", "instance"}
    | {"strategy", "string", "none", "dict", "module"}
)
_TENSORS = frozenset({"tensor", "variable"})
# What has to be known while a function is traced.
_STATIC = frozenset({"axis", "depth", "num", "shape", "units", "num_classes", "perm", "training", "keepdims"})


@dataclass(eq=False, slots=True)
class Split:
    """Which statements of a step go where. `given` are parts of the traced ones that the host computes beforehand."""

    before: list[cst.CSTNode] = field(default_factory=list)
    traced: list[cst.CSTNode] = field(default_factory=list)
    behind: list[cst.CSTNode] = field(default_factory=list)
    # The `with` statements that open tapes; what stands under them is among the others.
    tapes: list[cst.With] = field(default_factory=list)
    given: list[cst.BaseExpression] = field(default_factory=list)
    # Attributes of the object that the step sets: it gives back what they get.
    set_here: list[cst.Attribute] = field(default_factory=list)
    # What NumPy computes of the step's tensors, and an op can.
    twins: list[Twin] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class _Argument:
    """A value that the function is given: `code` says it where it is called, `uses` are its places inside."""

    name: str
    code: str
    uses: list[cst.BaseExpression]


class Arguments:
    """What crosses the border of the traced part of a step, found by `find`."""

    def __init__(
        self,
        edit: Editor,
        split: Split,
        handed_over: Sequence[cst.BaseExpression],
        below: Sequence[cst.Attribute | cst.Name],
        owner: str,
        tape: cst.CSTNode,
    ) -> None:
        self._edit = edit
        self._model = edit.model
        self._split = split
        self._handed_over = handed_over
        # What the functions that the step calls read, for which a trace is to hold.
        self._below = below
        self._owner = owner
        self._tape = tape
        self._function = edit.model.function_at(tape)
        self._given = {part for expression in split.given for part in descendants(expression)}
        self._inside = {part for statement in split.traced for part in descendants(statement)}
        self._inside |= {part for tape in split.tapes for item in tape.items for part in descendants(item)}
        self._readers = Readers(edit.model.infer)
        self._arguments: dict[str, _Argument] = {}
        self._taken: set[str] = set()
        # The names of the parameters in the order of their first use, and what is passed for each.
        self.parameters: list[str] = []
        self.passed: list[str] = []
        # Those of them that only what the step calls reads, by itself.
        self.read_below: list[str] = []
        self.imports: list[Edit] = []
        # What is given back, as the caller calls it and as the function does.
        self.returned: list[str] = []
        self.returned_inside: list[str] = []
        # Nodes of the traced part, and the name that stands for each in the function.
        self.renamed: list[tuple[cst.CSTNode, str]] = []
        # Other parts of its text, from where to where, and what stands there in the function.
        self.rewritten: list[tuple[int, int, str]] = []
        # What is written for calls of NumPy, by these.
        self.twins: dict[str, str] = {}

    def find(self) -> Refusal | None:
        """Find them; or what can't cross the border."""
        self._find_names()
        refusal = self._made_anew() or self._find_returned()
        if refusal is not None:
            return refusal
        self._taken |= {argument.name for argument in self._arguments.values()}
        self._taken |= {
            part.value for part in self._inside if isinstance(part, cst.Name) and part not in self._given
        }
        self._find_attributes()
        self._find_parts()
        for expression in self._split.given:
            name = self._name_for(expression)
            self._arguments[f"={name}"] = _Argument(name, self._edit.text(expression), [expression])
            self.renamed.append((expression, name))
        for twin in self._split.twins:
            self._write(twin)
        for argument in self._arguments.values():
            argument.uses.sort(key=self._edit.start)
            values = [self._model.value(use) for use in argument.uses]
            if any(value.kind == "tape" for value in values):
                return Refusal(f"`{argument.name}` is a tape of other code", argument.uses[0])
            if any("variable" in _kinds_inside(value) for value in values):
                reason = f"`{argument.name}` holds variables, which a function is given as tensors"
                return Refusal(reason, argument.uses[0])
        found = sorted(self._arguments.values(), key=self._order)
        self.parameters = [argument.name for argument in found]
        self.read_below = [argument.name for argument in found if argument.uses[0] in self._below]
        self.passed = [self._passed(argument) for argument in found]
        for argument, passed in zip(found, self.passed, strict=True):
            if passed != argument.code and any(map(self._is_ragged, argument.uses)):
                reason = (
                    f"`{argument.name}` holds lists, which may differ in length as rows of a tensor can't"
                )
                return Refusal(reason, argument.uses[0])
        return None

    def _order(self, argument: _Argument) -> tuple[bool, int]:
        """As the step reads them, and behind these what only its functions read."""
        first = argument.uses[0]
        return first in self._below, self._edit.start(first)

    def _write(self, twin: Twin) -> None:
        """Write the op in the place of a call of NumPy's."""
        edit, op = self._edit, self._spell(twin.op)
        stop = f"{self._spell('stop_gradient')}(" if twin.constant else ""
        end = edit.end(twin.call)
        self.rewritten.append((edit.start(twin.call.func), edit.end(twin.call.func), stop + op))
        if twin.fetched is not None:
            self.rewritten.append((edit.outer_span(twin.of)[1], edit.outer_span(twin.fetched)[1], ""))
        if stop:
            self.rewritten.append((end, end, ")"))
        self.twins[edit.text(twin.call.func)] = f"{stop}{op}(…)" + (")" if stop else "")

    # Names

    def _find_names(self) -> None:
        crossings = self._model.own(Crossings)
        for node in self._names():
            if node in self._given or node.value == self._owner or not crossings.is_read(node):
                continue
            if self._comes_from_outside(node):
                argument = self._arguments.setdefault(node.value, _Argument(node.value, node.value, []))
                argument.uses.append(node)
        for name in self._below:
            if isinstance(name, cst.Name):
                self._arguments.setdefault(name.value, _Argument(name.value, name.value, [name]))

    def _names(self) -> Iterator[cst.Name]:
        found = [part for part in self._inside if isinstance(part, cst.Name)]
        yield from sorted(found, key=self._edit.start)

    def _comes_from_outside(self, node: cst.Name) -> bool:
        found = self._model.infer.bindings_reaching(node)
        if found is None or found[0].node in self._inside:
            return False
        outside = [binding for binding in found[1] if binding.node not in self._inside]
        if node in self._handed_over:
            return True
        if self._function is not None:
            return found[0] is self._function.scope and bool(outside)
        loop = self._outermost_loop()
        before = {part for statement in self._split.before for part in descendants(statement)}
        return any(
            binding.node in before or (loop is not None and self._model.invariance.is_bound_in(binding, loop))
            for binding in outside
        )

    def _made_anew(self) -> Refusal | None:
        """Why an object can't be handed over: each is traced anew."""
        loop = self._model.loops.innermost_loop(self._tape)
        for argument in self._arguments.values():
            use = argument.uses[0]
            found = self._model.infer.bindings_reaching(use) if isinstance(use, cst.Name) else None
            if found is not None and self._function not in (None, found[0].function):
                continue  # bound around the function of the step, which does not run for each
            for binding in found[1] if found is not None else ():
                if not isinstance(binding.value, cst.Call) or self._model.value(use).kind not in _OBJECTS:
                    continue
                if loop is None or self._model.invariance.is_bound_in(binding, loop):
                    return Refusal(f"`{argument.name}` is created again on each step", binding.node)
        return None

    def _outermost_loop(self) -> Loop | None:
        loop = self._model.loops.innermost_loop(self._tape)
        while loop is not None and loop.parent is not None:
            loop = loop.parent
        return loop

    def _find_returned(self) -> Refusal | None:
        crossings, infer = self._model.own(Crossings), self._model.infer
        scope = self._model.names.scope_of(self._tape)
        tapes = names_of_tapes(self._split.tapes)
        for name in self._written():
            home = self._model.names.lookup(name, scope)
            readers = self._readers.of(name, home[0]) if home is not None else {}
            uses = sorted(
                {use for node in self._inside for use in readers.get(node, ())}, key=self._edit.start
            )
            after = [use for use in uses if use not in self._inside]
            if not after and name in self._arguments:
                carried = [use for use in self._arguments[name].uses if self._comes_back(use)]
                after = [use for use in carried if isinstance(use, cst.Name)]
            read = [use for use in after if crossings.is_read(use) or use in self._inside]
            if name in tapes and read:
                return Refusal(f"`{name}` is used after the step", read[0])
            if not read:
                deleted = [use for use in after if crossings.is_deleted(use)]
                if deleted:
                    return Refusal(f"`{name}` is deleted outside the step", deleted[0])
                continue
            found = infer.bindings_reaching(read[0])
            values = (
                [value_of_binding(infer, b, found[0]) for b in found[1] if b.node in self._inside]
                if found is not None
                else []
            )
            kinds = {value.kind for value in values}
            if any("variable" in (value.kind, *_kinds_inside(value)) for value in values):
                return Refusal(
                    f"`{name}` holds variables, and a compiled function gives what they hold", read[0]
                )
            if name in self._arguments and self._is_number(self._arguments[name].uses):
                return Refusal(f"`{name}` is a Python number that the step changes", read[0])
            if not kinds <= RETURNABLE | {"number", "array"} or (
                "unknown" in kinds and self._is_object(read)
            ):
                return Refusal(f"`{name}` is read after the step and is not a tensor", read[0])
            self.returned.append(name)
            self.returned_inside.append(name)
        return None

    def _is_number(self, uses: Iterable[cst.BaseExpression]) -> bool:
        return any(self._model.value(use).kind == "number" for use in uses)

    def _comes_back(self, use: cst.BaseExpression) -> bool:
        """Whether a name may hold what an earlier run of the step gave it."""
        return any(binding.node in self._inside for binding in self._model.infer.bindings(use))

    def _written(self) -> list[str]:
        names: dict[str, None] = {}
        wanted = names_written(self._split.traced) | names_of_tapes(self._split.tapes)
        for node in self._names():
            if node.value in wanted:
                names[node.value] = None
        return list(names)

    # Attributes

    def _find_attributes(self) -> None:
        set_here = {target.attr.value for target in self._split.set_here}
        below = [node for node in self._below if isinstance(node, cst.Attribute)]
        over = {node.attr.value for node in (*filter(self._is_own, self._handed_over), *below)}
        for attribute in dict.fromkeys([*sorted(over), *sorted(set_here)]):
            places = self._places_of(attribute)
            read_below: list[cst.BaseExpression] = [n for n in below if n.attr.value == attribute]
            if not places and not read_below:
                continue
            name = self._free(attribute.strip("_") or "value")
            targets = [place for place in places if self._is_target(place)]
            self.renamed += [(place, name) for place in places]
            reads = [place for place in places if place not in targets]
            first_set = min(map(self._edit.start, targets), default=None)
            if attribute in set_here:
                self.returned.append(f"{self._owner}.{attribute}")
                self.returned_inside.append(name)
            if first_set is None or any(self._edit.start(place) < first_set for place in reads):
                code = f"{self._owner}.{attribute}"
                self._arguments[code] = _Argument(name, code, reads or places or read_below)

    def _is_own(self, node: cst.BaseExpression) -> TypeGuard[cst.Attribute]:
        return isinstance(node, cst.Attribute) and is_name(node.value, self._owner)

    def _find_parts(self) -> None:
        """What is handed over of the objects that the own one has: `self.actor.model` as `actor_model`."""
        parts = [
            node for node in self._handed_over if isinstance(node, cst.Attribute) and not self._is_own(node)
        ]
        for path in dict.fromkeys(map(dotted_name, parts)):
            places = [
                part for part in self._inside if isinstance(part, cst.Attribute) and dotted_name(part) == path
            ]
            uses: list[cst.BaseExpression] = [part for part in places if part not in self._given]
            if uses:
                name = self._free("_".join(part.strip("_") for part in path.split(".")[1:]))
                self.renamed += [(use, name) for use in uses]
                self._arguments[path] = _Argument(name, path, uses)

    def _places_of(self, attribute: str) -> list[cst.BaseExpression]:
        found = [
            part
            for part in self._inside
            if isinstance(part, cst.Attribute)
            and part not in self._given
            and part.attr.value == attribute
            and is_name(part.value, self._owner)
        ]
        return sorted(found, key=self._edit.start)

    def _is_target(self, node: cst.BaseExpression) -> bool:
        parent = self._model.parent(node)
        if isinstance(parent, cst.Element) and (several := self._model.parent(parent)) is not None:
            parent = self._model.parent(several)  # one of `self.last, y = …`
        return isinstance(parent, cst.AssignTarget)

    # How they are passed

    def _name_for(self, expression: cst.BaseExpression) -> str:
        """`done` for `int(done)`: the last name that it reads; `is_due` for a test."""
        if isinstance(expression, cst.Comparison):
            return self._free("is_due")
        names = [
            last_name(part)
            for part in descendants(expression)
            if isinstance(part, cst.Name | cst.Attribute) and not self._is_called(part)
        ]
        owned = [name for name in names if name and name not in (self._owner, "np", "numpy", "tf")]
        return self._free(owned[0] if owned else "given")

    def _is_called(self, node: cst.CSTNode) -> bool:
        parent = self._model.parent(node)
        return (isinstance(parent, cst.Call) and parent.func is node) or (
            isinstance(parent, cst.Attribute) and parent.attr is node
        )

    def _free(self, name: str) -> str:
        fresh, number = name, 1
        while fresh in self._taken:
            number += 1
            fresh = f"{name}_{number}"
        self._taken.add(fresh)
        return fresh

    def _passed(self, argument: _Argument) -> str:
        """How a value is passed: a tensor and an object as they are, what the host computes with as a tensor.

        Eager ops make of a Python number or an array what the tensor is that it meets; compiled ones don't.
        """
        if isinstance(argument.uses[0], cst.Comparison):
            return f"{self._spell('convert_to_tensor')}({argument.code})"
        values = [self._model.value(use) for use in argument.uses]
        kinds = {value.kind for value in values}
        if kinds & (_OBJECTS | _TENSORS) or self._is_object(argument.uses):
            return argument.code
        if any(map(self._must_be_known, argument.uses)):
            return argument.code
        is_computed_with = any(map(self._is_in_arithmetic, argument.uses))
        if not is_computed_with and "list" not in kinds and all(map(self._may_be_anything, argument.uses)):
            return argument.code
        if not is_computed_with and all(map(self._is_answer, argument.uses)):
            return argument.code
        if not is_computed_with and all(map(self._is_state, argument.uses)):
            return argument.code
        if any(map(self._is_index, argument.uses)) or not is_computed_with:
            return f"{self._spell('convert_to_tensor')}({argument.code})"
        integers = next(filter(None, map(self._integers_met, argument.uses)), "")
        kind = self._spell(integers or ("float64" if self._is_in_double() else "float32"))
        return f"{self._spell('cast')}({argument.code}, {kind})"

    def _is_ragged(self, use: cst.BaseExpression) -> bool:
        """Whether it is a list of lists, and not written out with as many items in each."""
        value = self._model.value(use)
        if value.kind != "list":
            return False
        if value.items is None:
            return value.element is not None and value.element.kind == "list"
        inner = [item.items for item in value.items if item.kind == "list"]
        return None in inner or len({len(items) for items in inner if items is not None}) > 1

    def _is_in_double(self) -> bool:
        """Whether the file computes in double precision: by Keras's switch, or with variables of its own."""
        if "float64" not in self._edit.whole_text:
            return False
        made = self._model.walk.calls.get("Variable", ())
        return "set_floatx" in self._edit.whole_text or any(map(self._is_double, made))

    def _is_double(self, variable: cst.Call) -> bool:
        dtype = keyword_argument(variable, "dtype")
        if dtype is not None:
            return dtype_name(self._model.infer, dtype) == "float64"
        return bool(variable.args) and self._model.value(variable.args[0].value).dtype == "float64"

    def _may_be_anything(self, use: cst.BaseExpression) -> bool:
        """Whether an attribute, of which nothing is known, is only handed on, or a model is given what a loop takes from something
        unknown: one batch, or several, of arrays or tensors, which a compiled function takes alike."""
        parent = self._model.parent(use)
        if isinstance(use, cst.Attribute):
            return isinstance(parent, cst.Arg) and self._model.value(use).kind == "unknown"
        call = self._model.parent(parent) if isinstance(parent, cst.Arg) else None
        return (
            isinstance(call, cst.Call)
            and self._model.value(call.func).kind in ("model", "layer")
            and is_taken_by_loop(self._model, use)
        )

    def _is_state(self, use: cst.BaseExpression) -> bool:
        """Whether a model is given several tensors one by one, or what the step gave back before: the states of a decoder."""
        parent, value = self._model.parent(use), self._model.value(use)
        call = self._model.parent(parent) if isinstance(parent, cst.Arg) else None
        return (
            isinstance(call, cst.Call)
            and self._model.value(call.func).kind in ("model", "layer")
            and ({item.kind for item in value.items or ()} == {"tensor"} or self._comes_back(use))
        )

    def _is_answer(self, use: cst.BaseExpression) -> bool:
        """Whether it is yes or no, by which the code of a Keras model may branch: there are two traces then."""
        found = self._model.infer.bindings_reaching(use) if isinstance(use, cst.Name) else None
        return found is not None and all(
            binding.path == ()
            and (
                isinstance(binding.value, cst.Comparison | cst.BooleanOperation)
                or (
                    isinstance(binding.value, cst.UnaryOperation)
                    and isinstance(binding.value.operator, cst.Not)
                )
            )
            for binding in found[1]
        )

    def _spell(self, name: str) -> str:
        spelled, imports = self._edit.spell(name, self._tape)
        self.imports = self.imports or imports
        return spelled

    def _is_object(self, uses: Iterable[cst.BaseExpression]) -> bool:
        """Whether something is called, looped over, unpacked, or asked for parts by name, or for what tensors do not have."""
        for use in uses:
            parent = self._model.parent(use)
            match parent:
                case cst.Call() if parent.func is use:
                    return True
                case cst.Attribute() if parent.attr.value not in ("shape", "dtype", "numpy", "T"):
                    return True
                case cst.Subscript() if parent.value is use and self._is_key(parent):
                    return True
                case cst.For() | cst.CompFor() if parent.iter is use:
                    return True
                case cst.StarredElement():
                    return True
                case cst.Assign() if any(
                    isinstance(to.target, cst.Tuple | cst.List) for to in parent.targets
                ):
                    return True
                case cst.Arg() if parent.star or self._takes_variables(self._model.parent(parent)):
                    return True
        return False

    @staticmethod
    def _takes_variables(call: cst.CSTNode | None) -> bool:
        return isinstance(call, cst.Call) and callee_name(call) in (
            "gradient",
            "watch",
            "zip",
            "apply_gradients",
        )

    @staticmethod
    def _is_key(node: cst.Subscript) -> bool:
        first = node.slice[0].slice
        return isinstance(first, cst.Index) and isinstance(first.value, cst.SimpleString | cst.Integer)

    def _must_be_known(self, use: cst.BaseExpression) -> bool:
        parent = self._model.parent(use)
        if isinstance(parent, cst.Element):
            return not (self._is_concatenated(parent) or self._is_listed_index(parent))
        if isinstance(parent, cst.If | cst.While | cst.IfExp | cst.BooleanOperation):
            return True
        if isinstance(parent, cst.UnaryOperation) and isinstance(parent.operator, cst.Not):
            return True
        call = self._model.parent(parent) if isinstance(parent, cst.Arg) else None
        if not isinstance(parent, cst.Arg) or not isinstance(call, cst.Call):
            return False
        if parent.keyword is not None:
            return parent.keyword.value in _STATIC
        return (
            callee_name(call) in ("range", "reshape", "one_hot", "zeros", "ones")
            and parent is not call.args[0]
        )

    def _is_concatenated(self, element: cst.Element) -> bool:
        """Whether it is one of those that `concat` is given, which must all have one type."""
        parts = self._model.parent(element)
        argument = self._model.parent(parts) if parts is not None else None
        call = self._model.parent(argument) if isinstance(argument, cst.Arg) else None
        return isinstance(call, cst.Call) and callee_name(call) == "concat" and call.args[0] is argument

    def _is_listed_index(self, element: cst.Element) -> bool:
        """Whether it is one of the indices that an op is given in a list: `tf.one_hot([action], n)`."""
        current: cst.CSTNode | None = element
        while isinstance(current, cst.Element | cst.List | cst.Tuple):
            current = self._model.parent(current)
        call = self._model.parent(current) if isinstance(current, cst.Arg) else None
        if not isinstance(call, cst.Call) or not isinstance(current, cst.Arg):
            return False
        place = fact(self._model.names.qualified(call.func), "indices-at")
        if current.keyword is not None:
            return bool(place) and current.keyword.value == "indices"
        return str(list(call.args).index(current)) == place

    def _is_index(self, use: cst.BaseExpression) -> bool:
        parent = self._model.parent(use)
        if isinstance(parent, cst.Index | cst.Slice):
            return True
        if isinstance(parent, cst.Element):
            return self._is_listed_index(parent)
        call = self._model.parent(parent) if isinstance(parent, cst.Arg) else None
        return self._model.names.is_call_that(call, "indices-at", "stacks-tensors", "counts-up")

    def _is_in_arithmetic(self, use: cst.BaseExpression, depth: int = 0) -> bool:
        parent = self._model.parent(use)
        match parent:
            case cst.BinaryOperation() | cst.UnaryOperation() | cst.AugAssign():
                return True
            case cst.Comparison() | cst.ComparisonTarget():
                return not self._is_compared_by_identity(use)
            case cst.Element():
                return self._is_concatenated(parent)
            case cst.Arg():
                call = self._model.parent(parent)
                if not isinstance(call, cst.Call):
                    return False
                name = self._model.names.qualified(call.func)
                is_arithmetic = has(name, "elementwise-of-two") or fact(name, "shape") == "product"
                return is_arithmetic or self._is_computed_with(call, parent, use, depth)
        return False

    def _integers_met(self, use: cst.BaseExpression) -> str:
        """The type of the integers that a value is compared with: `tf.argmax(logits, 1) == labels`, `tf.equal(…, labels)`."""
        parent = self._model.parent(use)
        around = self._model.parent(parent) if isinstance(parent, cst.Arg | cst.ComparisonTarget) else parent
        match around:
            case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(comparator=right)]):
                sides = [left, right]
            case cst.Call(args=[cst.Arg(value=left), cst.Arg(value=right)]) if self._model.names.is_call_that(
                around, "elementwise-of-two"
            ):
                sides = [left, right]
            case _:
                return ""
        other = next(side for side in sides if side is not use)
        if self._model.names.is_call_that(other, "gives-integers"):
            return last_name(keyword_argument(other, "output_type")) or "int64"
        dtype = self._model.value(other).dtype
        return dtype if dtype.startswith("int") else ""

    def _is_compared_by_identity(self, use: cst.BaseExpression) -> bool:
        """Whether it is asked whether it is `None` or another object, which nothing computes with."""
        parent = self._model.parent(use)
        compared = parent.comparisons if isinstance(parent, cst.Comparison) else [parent]
        return all(
            isinstance(target, cst.ComparisonTarget) and isinstance(target.operator, cst.Is | cst.IsNot)
            for target in compared
        )

    def _is_computed_with(self, call: cst.Call, given: cst.Arg, use: cst.BaseExpression, depth: int) -> bool:
        """Whether the function that is called computes with an argument; one that is not in sight does with a mask."""
        targets = self._model.calls.targets(call)
        if not targets:
            is_known = bool(self._model.names.qualified(call.func)) or self._model.value(call.func).kind in (
                "model",
                "layer",
            )
            return not is_known and self._is_mask(use)
        if depth > CALLS_DEEP:
            return False
        at = list(call.args).index(given)
        names = [
            given.keyword.value if given.keyword is not None else Parameters.name_at(target, at)
            for target in targets
        ]
        return any(
            self._is_in_arithmetic(inner, depth + 1)
            for target, name in zip(targets, names, strict=True)
            if name
            for inner in self._model.names.mentions_in(target, name)
        )

    def _is_mask(self, use: cst.BaseExpression) -> bool:
        """Whether it is `np.where(labels == padding, 0, 1)`: integers, by which losses are multiplied."""
        found = self._model.infer.bindings_reaching(use) if isinstance(use, cst.Name) else None
        values = [binding.value for binding in found[1]] if found is not None else [use]
        return bool(values) and all(
            self._model.names.is_call_that(value, "picks")
            and sorted(integer(arg.value) or 0 for arg in value.args[1:]) == [0, 1]
            for value in values
        )


def is_taken_by_loop(model: Model, node: cst.BaseExpression) -> bool:
    """Whether `node` is what a loop takes from something: of what is unknown it may be one batch, or a list of several inputs."""
    bindings = model.infer.bindings(node)
    return bool(bindings) and all(binding.kind == "for" for binding in bindings)


def _kinds_inside(value: Value) -> set[str]:
    """The kinds of what a list or tuple holds."""
    return {
        item.kind for item in (value.items or ()) + ((value.element,) if value.element is not None else ())
    }


def names_of_tapes(tapes: Iterable[cst.With]) -> set[str]:
    """`tape` of `with tf.GradientTape() as tape`."""
    return {
        name.value
        for tape in tapes
        for item in tape.items
        if item.asname is not None
        for name in target_names(item.asname.name)
    }
