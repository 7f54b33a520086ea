"""What becomes of a value on the host: shown, added up, only read after the loop, or needed by the program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Literal, TypeGuard

import libcst as cst

from tflint_perf.analysis.apis.facts import has, library
from tflint_perf.analysis.conventions import (
    names_a_loss,
    names_a_meter,
    names_a_picture,
    names_logging,
    names_telling,
)
from tflint_perf.analysis.execution.guards import Guards
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.execution.own_containers import OwnContainers
from tflint_perf.analysis.execution.steady_conditions import Usual
from tflint_perf.analysis.limits import NAMES_DEEP
from tflint_perf.analysis.python.conditions import conditions
from tflint_perf.analysis.python.scopes import Binding, Function, Loop
from tflint_perf.analysis.python.syntax import (
    callee_name,
    descendants,
    last_name,
    same_code,
    string,
    target_names,
)
from tflint_perf.analysis.training.showing import shows
from tflint_perf.analysis.values.caller import Fate
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.followed import (
    is_put_into,
    is_tested,
    is_written,
    names_over,
    part_taken,
    reads_for_a_log,
)
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.values import UNKNOWN
from tflint_perf.records import dataclass

_FATES: dict[str, Fate] = {"sum": "summed", "picture": "drawn", "file": "filed", "tensor": "returned"}


@dataclass(frozen=True, slots=True)
class _Way:
    """A way from a value to what becomes of it. What one of the ways has `reached`, no other follows again: there may be
    more of them than can be gone. `within` a loop, what is read behind it does not count.
    """

    reached: set[tuple[cst.CSTNode, tuple[int, ...], bool]]
    length: int = 0
    within: bool = False

    def to(self, node: cst.CSTNode, path: tuple[int, ...]) -> _Way | None:
        """The way that goes on to a part of `node`; None where one of them has been there."""
        step = (node, path, self.within)
        if step in self.reached or len(path) > NAMES_DEEP:
            return None
        self.reached.add(step)
        return replace(self, length=self.length + 1)


class HostValues(Part):
    """Answers what becomes of a value in one iteration of the loop that runs it."""

    _infer: Inference
    _calls: CallGraph
    _loops: Loops
    _guards: Guards

    def __post_init__(self) -> None:
        self._takers = Takers(self._infer)
        self._containers = OwnContainers(self._infer, self._calls, self._loops)
        self._usual = Usual(self._infer)

    def fates(self, node: cst.CSTNode, path: tuple[int, ...] = ()) -> set[Fate]:
        """All that becomes of the value of `node`, or of a part of it; empty where nothing uses it."""
        return set(self._follow(node, path, _Way(set())))

    def _follow(self, node: cst.CSTNode, path: tuple[int, ...], way: _Way) -> Iterator[Fate]:
        """Climb from a value to what takes it; `path` leads from what is reached to the part that is followed."""
        following = way.to(node, path)
        if following is None:
            return
        way = following
        parent = self._walk.parents.get(node)
        match parent:
            case cst.Arg() | cst.For() | cst.CompFor() if names := names_over(self._infer, node):
                for name in names:
                    yield from self._named(name, way)
            case cst.Arg():
                yield from self._given(parent, path, way)
            case cst.Attribute():
                yield from self._asked(parent, way)
            case cst.Subscript() if parent.value is node:
                yield from self._picked(node, parent, path, way)
            case cst.Index():
                yield from self._indexed(parent, way)
            case cst.FormattedStringExpression():
                yield from self._follow(self._walk.parents[parent], (), way)
            case cst.ConcatenatedString() | cst.UnaryOperation():
                yield from self._follow(parent, (), way)
            case cst.Comparison() | cst.ComparisonTarget() | cst.BooleanOperation():
                yield from self._follow(parent, (), way)
            case cst.BinaryOperation():
                yield from self._computed(node, parent, way)
            case cst.IfExp() if parent.test is not node:
                yield from self._follow(parent, path, way)
            case cst.Element() | cst.DictElement():
                yield from self._held(parent, path, way)
            case cst.StarredElement() if is_format(self._walk.parents.get(self._walk.parents[parent])):
                yield from self._follow(self._walk.parents[self._walk.parents[parent]], (), way)
            case cst.ListComp() | cst.GeneratorExp() if parent.elt is node:
                yield from self._follow(parent, (), way)
            case cst.Assign():
                for target in parent.targets:
                    yield from self._assigned(target.target, path, way)
            case cst.AnnAssign():
                yield from self._assigned(parent.target, path, way)
            case cst.AugAssign():
                yield from self._added(parent, way)
            case cst.Return():
                yield from self._returned(parent, path, way)
            case cst.Expr():
                return  # nothing
            case cst.Assert() | cst.If() | cst.While() | cst.IfExp():
                yield "steering"
            case _:
                yield "needed"

    def _picked(
        self, node: cst.CSTNode, part: cst.Subscript, path: tuple[int, ...], way: _Way
    ) -> Iterator[Fate]:
        """What becomes of a part that is taken of a value: nothing of one that is put into it."""
        taken = None if is_put_into(self._walk, node) else part_taken(part, path)
        if taken is not None:
            yield from self._follow(part, taken, way)

    def _indexed(self, index: cst.Index, way: _Way) -> Iterator[Fate]:
        """What an index picks of an array is followed in its place; where it is put there, what the array becomes."""
        taken = self._walk.parents[self._walk.parents[index]]
        kind = self._infer.value(taken.value).kind if isinstance(taken, cst.Subscript) else "unknown"
        if not isinstance(taken, cst.Subscript) or kind != "array":
            yield "returned" if kind == "tensor" else "needed"
        elif not is_written(self._walk, taken):
            yield from self._follow(taken, (), way)
        elif (held_in := self._containers.reads_after_put(taken)) is not None:
            yield from self._all_reads(held_in, taken, way)
        else:
            yield "needed"

    def _asked(self, attribute: cst.Attribute, way: _Way) -> Iterator[Fate]:
        """What an attribute, or a call of a method, makes of a value."""
        call = self._walk.parents.get(attribute)
        if not isinstance(call, cst.Call) or call.func is not attribute:
            if attribute.attr.value in ATTRIBUTES:
                yield from self._follow(attribute, (), way)
            else:
                yield "needed"
        elif attribute.attr.value in METHODS:
            yield from self._follow(call, (), way)
        else:
            yield _FATES.get(self._takers.kept_by(call), "needed")

    def _given(self, arg: cst.Arg, path: tuple[int, ...], way: _Way) -> Iterator[Fate]:
        """What a call makes of an argument."""
        call = self._walk.parents[arg]
        if not isinstance(call, cst.Call):
            yield "needed"
        elif shows(self._infer, call):
            loop = self._loops.step_loop(call)
            end = loop.node if loop is not None else None
            usual = all(map(self._usual.holds, conditions(self._walk, call, end, exits=False)))
            yield "shown" if usual else "glanced"
        elif targets := (self._calls.targets(call) if way.length < NAMES_DEEP and not path else []):
            made = self._takers.made_by(call)
            for target in targets if made != "sum" else ():
                yield from self._parameter(call, arg, target, way)
            if made == "sum":
                yield "summed"
        elif (held_in := self._containers.reads_after_append(call)) is not None:
            yield from self._all_reads(held_in, call, way)
        elif fate := self._containers.fate_in_list(call):
            yield fate
        else:
            made = self._takers.made_by(call)
            if made == "value":
                yield from self._follow(call, (), way)
            elif not made and self._takers.is_text(arg.value) and self._takers.takes_text(call):
                yield "shown"
            else:
                yield _FATES.get(made, "needed")

    def _parameter(self, call: cst.Call, arg: cst.Arg, function: Function, way: _Way) -> Iterator[Fate]:
        """What a function of this file makes of what it is given."""
        names = function.places
        position = list(call.args).index(arg)
        if arg.keyword is not None:
            name = arg.keyword.value
        elif arg.star or any(other.star for other in call.args) or position >= len(names):
            yield "needed"
            return
        else:
            name = names[position]
        bindings = function.scope.bindings.get(name, [])
        parameter = next((binding for binding in bindings if binding.kind == "param"), None)
        if parameter is None:
            yield "needed"
            return
        for read in self._containers.reads(parameter):
            yield from self._read(read, None, function, way)

    def _computed(self, node: cst.CSTNode, parent: cst.BinaryOperation, way: _Way) -> Iterator[Fate]:
        if isinstance(parent.operator, cst.Modulo) and parent.left is node:
            if self._infer.value(parent.left).kind != "string":
                yield "counted" if is_tested(self._walk, parent) else "needed"
                return
        other = parent.right if parent.left is node else parent.left
        if self._infer.value(other).kind in ("tensor", "variable") and not self._infer.value(other).host:
            yield "returned"
            return
        yield from self._follow(parent, (), way)

    def _held(
        self, element: cst.Element | cst.DictElement, path: tuple[int, ...], way: _Way
    ) -> Iterator[Fate]:
        """A part of a tuple, list or dict: of arguments that are shown, of a format, of what is assigned or returned."""
        holder = self._walk.parents[element]
        outer = self._walk.parents.get(holder)
        if is_format(outer):
            yield from self._follow(outer, (), way)
        elif isinstance(holder, cst.Tuple) and isinstance(outer, cst.Assign | cst.Return):
            index = next(i for i, other in enumerate(holder.elements) if other is element)
            yield from self._follow(holder, (index, *path), way)
        elif isinstance(outer, cst.Element | cst.DictElement):
            # What a list or dict holds is followed with all of it.
            at = (
                [other is element for other in holder.elements].index(True)
                if isinstance(holder, cst.Tuple)
                else -1
            )
            yield from self._held(outer, (at, *path) if at >= 0 else (), way)
        elif isinstance(outer, cst.Arg):
            yield from self._given(outer, (0,), way)
        elif isinstance(outer, cst.Assign | cst.Return | cst.BinaryOperation) and isinstance(
            holder, cst.List | cst.Dict
        ):
            yield from self._follow(holder, (), way)
        else:
            yield "needed"

    # Names

    def _assigned(self, target: cst.BaseExpression, path: tuple[int, ...], way: _Way) -> Iterator[Fate]:
        while path and not isinstance(target, cst.Name):
            if not isinstance(target, cst.Tuple | cst.List) or path[0] >= len(target.elements):
                yield "needed"
                return
            target, path = target.elements[path[0]].value, path[1:]
        if is_place_of_text(target):
            yield "shown"
            return
        reads = reads_for_a_log(self._infer, target)
        if reads is not None:
            yield "later"
            for read_there in reads:
                yield from self._follow(read_there, (), way)
            return
        held_in = self._containers.reads_after_put(target)
        if held_in is not None:
            yield from self._all_reads(held_in, target, way)
            return
        names = list(target_names(target))
        if not names or (isinstance(target, cst.Tuple | cst.List) and len(names) != len(target.elements)):
            yield "needed"
        for name in names:
            if self._containers.is_never_read(name):
                yield "unused"
            yield from self._named(name, way, path)

    def _added(self, statement: cst.AugAssign, way: _Way) -> Iterator[Fate]:
        """`total += x`: what becomes of the sum within the loop."""
        if not isinstance(statement.target, cst.Name):
            held_in = self._containers.reads_after_put(statement.target)
            if held_in is not None:
                yield from self._all_reads(held_in, statement.target, way)
            else:
                yield "summed" if is_place_of_a_sum(statement.target) else "needed"
            return
        if self._infer.value(statement.target).kind == "list":
            yield self._containers.fate_in_longer(statement.target)
            return
        yield "summed"
        within = replace(way, within=True)
        yield from (fate for fate in self._named(statement.target, within) if fate != "later")

    def _named(self, name: cst.Name, way: _Way, path: tuple[int, ...] = ()) -> Iterator[Fate]:
        following = way.to(name, path)
        if following is None:
            return
        way = following
        scope = self._infer.names.scope_of(name)
        found = self._infer.names.lookup(name.value, scope)
        binding = next((b for b in found[1] if b.node is name), None) if found is not None else None
        if binding is None or (found is not None and found[0] is not scope):
            yield "needed"  # a name of another scope, declared `global` for instance
            return
        yield from self._all_reads(self._containers.reads(binding), name, way, path)

    def _all_reads(
        self,
        reads: Iterable[cst.Name],
        place: cst.CSTNode,
        way: _Way,
        path: tuple[int, ...] = (),
    ) -> Iterator[Fate]:
        """What becomes of what is read of a value that `place` keeps."""
        loop, function = self._loops.step_loop(place), self._calls.function_at(place)
        for read in reads:
            yield from self._read(read, loop, function, way, path)

    def _read(
        self,
        read: cst.Name,
        loop: Loop | None,
        function: Function | None,
        way: _Way,
        path: tuple[int, ...] = (),
    ) -> Iterator[Fate]:
        if self._calls.function_at(read) is not function:
            yield "needed"
        elif loop is not None and not self._is_inside(read, loop):
            yield "later"
        elif (guard := self._guards.guard_here(read)) is not None and guard.counts:
            yield "glanced"  # whatever is made of it there: the copy may be made there, too
        else:
            yield from self._follow(read, path, way)

    def _is_inside(self, node: cst.CSTNode, loop: Loop) -> bool:
        current = self._loops.innermost_loop(node)
        while current is not None and current is not loop:
            current = current.parent
        return current is loop

    def _returned(self, statement: cst.Return, path: tuple[int, ...], way: _Way) -> Iterator[Fate]:
        function = self._calls.function_at(statement)
        sites = self._calls.sites(function) if function is not None and way.length < NAMES_DEEP else []
        sites = [site for site in sites if self._loops.is_per_step(site)]
        callers = self._calls.callers_outside(function) if function is not None else ()
        callers = tuple(caller for caller in callers if caller.per_step)
        if not sites and not callers:
            yield "shown" if self._is_text(statement, path) else "needed"
        for site in sites:
            yield from self._follow(site, path, way)
        for caller in callers:
            yield from caller.fates_of(path)

    def _is_text(self, statement: cst.Return, path: tuple[int, ...]) -> bool:
        """Whether a function returns text: nobody computes with that, or acts by it."""
        if not path:
            return statement.value is not None and self._takers.is_text(statement.value)
        value = self._infer.value(statement.value) if statement.value is not None else UNKNOWN
        for index in path:
            value = value.items[index] if value.items and index < len(value.items) else UNKNOWN
        return value.kind == "string"


def is_format(node: cst.CSTNode | None) -> TypeGuard[cst.BinaryOperation]:
    """`"%d of %d" % (step, steps)`, with what is formatted in a tuple."""
    return (
        isinstance(node, cst.BinaryOperation)
        and isinstance(node.operator, cst.Modulo)
        and isinstance(node.right, cst.Tuple)
    )


# What calls make of host values that they take: another value, a running mean, a picture, a file, a tensor again.


# "value": another host value. "sum": a running mean. "picture": something to look at. "file": something to keep.
# "tensor": a tensor again. "": nobody knows.
Made = Literal["value", "sum", "picture", "file", "tensor", ""]

_BUILTINS = frozenset(
    {"float", "int", "round", "abs", "str", "repr", "format", "max", "min", "sum", "len", "list", "tuple"}
)
METHODS = frozenset({"item", "mean", "sum", "max", "min", "std", "var", "round", "astype", "tolist", "argmax",
                     "argmin", "flatten", "squeeze", "numpy", "format", "rjust", "ljust", "strip", "copy",
                     "reshape", "upper", "lower", "join", "transpose", "clip", "ravel", "dot", "decode", "swapaxes",
                     "prod", "any", "all", "resize", "convert", "argsort", "cumsum", "nonzero"})  # fmt: skip
ATTRIBUTES = frozenset({"T", "real", "imag", "shape", "size", "ndim", "dtype", "flat"})
_PICTURE_METHODS = frozenset(
    [
        "imshow", "scatter", "plot", "put_text", "puttext",
        *(f"set_{what}" for what in ("title", "xlabel", "ylabel", "text", "data", "xdata", "ydata", "offsets")),
    ]
)  # fmt: skip
_FILE_METHODS = frozenset(
    [
        "imsave", "imwrite", "savefig", "savetxt", "append_data", "tofile",
        *(f"write{what}" for what in ("", "row", "rows", "lines", "frame", "_frame")),
    ]
)  # fmt: skip
# Where progress bars and figures keep the text that they show.
_PLACES_OF_TEXT = frozenset({"postfix", "suffix", "desc", "description", "bar_format", "caption", "comment"})
_SAVING = frozenset({"save", "tofile", "dump", "tostring", "tobytes", "savefig"})
_GIVEN_BACK = {("variable", "assign"), ("metric", "update_state")} | {
    ("model", name)
    for name in ("train_on_batch", "test_on_batch", "predict_on_batch", "predict", "fit", "evaluate")
}


class Takers:
    """Answers what a call makes of a host value."""

    def __init__(self, infer: Inference) -> None:
        self._infer = infer

    def made_by(self, call: cst.Call) -> Made:
        """What a call makes of its arguments, by what is called."""
        name = self._infer.names.qualified(call.func)
        if name:
            return self._by_name(call, name)
        last = callee_name(call)
        if isinstance(call.func, cst.Name):
            if last in _BUILTINS and self._infer.names.is_builtin(call.func):
                return "value"
        elif last in ("format", "join"):
            return "value"
        if self._is_meter(call):
            return "sum"
        if self._infer.value(call.func).kind in ("model", "layer", "compiled", "loss", "metric"):
            return "tensor"
        value = self._infer.value(call.func.value) if isinstance(call.func, cst.Attribute) else None
        if value is not None and (value.kind, last) in _GIVEN_BACK:
            return "tensor"
        if names_a_loss(last) and any(self._infer.value(arg.value).kind == "tensor" for arg in call.args):
            return "tensor"
        return self._shown_by_name(last)

    def _by_name(self, call: cst.Call, name: str) -> Made:
        if has(name, "writes-files") or (has(name, "pictures") and callee_name(call) in _FILE_METHODS):
            return "file"
        if has(name, "pictures"):
            return "picture"
        if has(name, "joins-arrays", "appends-arrays") and self._fills(call):
            return ""
        if has(name, "computes-values"):
            return "value" if callee_name(call)[:1].islower() and ".random." not in name else ""
        if library(name) == "tensorflow" and self._infer.value(call).kind == "tensor":
            return "tensor"
        return self._shown_by_name(callee_name(call))

    def _fills(self, call: cst.Call) -> bool:
        """Whether an array grows by what is joined to it: `ranks = np.append(ranks, rank)`."""
        statement = self._infer.walk.parents.get(call)
        targets = statement.targets if isinstance(statement, cst.Assign) else ()
        joined = [node for arg in call.args for node in descendants(arg.value)]
        return any(same_code(node, target.target) for target in targets for node in joined)

    @staticmethod
    def _shown_by_name(last: str) -> Made:
        if last in _FILE_METHODS:
            return "file"
        shows_it = last in _PICTURE_METHODS or names_a_picture(last) or names_logging(last)
        return "picture" if shows_it else ""

    def is_text(self, node: cst.BaseExpression) -> bool:
        """Whether `node` makes text: `template.format(loss)` of a string, too."""
        match node:
            case cst.Call(func=cst.Attribute(value=template, attr=cst.Name("format" | "join"))):
                return self._infer.value(template).kind == "string"
            case cst.Call(func=cst.Name("format")):
                return not self._infer.names.dotted(node.func)
            case cst.Name():
                match self._infer.bindings(node):
                    case [Binding(value=cst.Call() as made, path=())]:
                        return self.is_text(made)
        return self._infer.value(node).kind == "string"

    @staticmethod
    def takes_text(call: cst.Call) -> bool:
        """Whether a function shows or writes text that it is given, by its name."""
        return bool(names_telling(callee_name(call)))

    @staticmethod
    def kept_by(call: cst.Call) -> Made:
        """What a method of a value keeps or shows it as: `Image.fromarray(x).save(path)`."""
        if callee_name(call) in _SAVING:
            return "file"
        return "picture" if callee_name(call) == "show" else ""

    def _is_meter(self, call: cst.Call) -> bool:
        """Whether a call adds to a running mean: `losses.update(loss)` of an `AverageMeter`."""
        if not isinstance(call.func, cst.Attribute) or callee_name(call) not in (
            "update",
            "add",
            "update_state",
        ):
            return False
        receiver = call.func.value
        made = [binding.value for binding in self._infer.bindings(receiver)]
        names = [last_name(value.func) for value in made if isinstance(value, cst.Call)]
        return any(map(names_a_meter, (*names, last_name(receiver))))


def is_place_of_text(node: cst.BaseExpression) -> bool:
    """Whether a progress bar or figure shows what it is given there: `bar.postfix["loss"]`, `bar.desc`."""
    while isinstance(node, cst.Subscript):
        node = node.value
    return isinstance(node, cst.Attribute) and node.attr.value in _PLACES_OF_TEXT


def is_place_of_a_sum(target: cst.BaseExpression) -> bool:
    """`self.total`, `sums["loss"]`: a number by itself, where `values[i]` is part of an array."""
    match target:
        case cst.Attribute():
            return True
        case cst.Subscript(slice=[cst.SubscriptElement(cst.Index(index))]):
            return string(index) is not None
    return False
