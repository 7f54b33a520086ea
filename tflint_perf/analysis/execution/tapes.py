"""Gradient tapes: where they are opened, what they record, where they are mentioned, and what is asked of them."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.python.reach import remembered
from tflint_perf.analysis.python.scopes import Function, Scope
from tflint_perf.analysis.python.syntax import callee_name
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.readers import Readers
from tflint_perf.records import dataclass

GRADIENTS = frozenset({"gradient", "jacobian", "batch_jacobian"})


@dataclass(frozen=True, slots=True)
class Tape:
    """A tape that a `with` opens and that has a plain name: `made` is the call that makes it, `target` where it gets the name,
    in the `with` or before."""

    node: cst.With
    made: cst.Call
    target: cst.Name
    function: Function | None


class Tapes(Part):
    """Answers what becomes of the tapes of a file."""

    _infer: Inference
    _calls: CallGraph

    def __post_init__(self) -> None:
        self._readers = Readers(self._infer)

    def all(self) -> Iterator[Tape]:
        """The gradient tapes of the file, in the order of the text."""
        seen: set[cst.Call] = set()
        for node in self._walk.withs:
            for made, target in opened(self._infer, node):
                if made not in seen:
                    seen.add(made)
                    yield Tape(node, made, target, self._calls.function_at(node))

    def mentions(self, tape: Tape) -> list[cst.Name]:
        """Every place where the name of `tape` is read and may mean it; a `del` is none, nor the `with` that opens it."""
        name, home = tape.target.value, self._infer.names.home(tape.target)
        none = {*self._bound(name, home), *(item.item for item in tape.node.items)}
        return [node for node in self._readers.of(name, home).get(tape.target, ()) if node not in none]

    @remembered
    def _bound(self, name: str, home: Scope | None) -> frozenset[cst.CSTNode]:
        """The nodes that give a name its values."""
        bindings = home.bindings.get(name, ()) if home is not None else ()
        return frozenset(binding.node for binding in bindings)

    def around(self, node: cst.CSTNode) -> cst.With | None:
        """The innermost `with` whose tape records what `node` does."""
        return tape_around(self._infer, node)

    def record(self, node: cst.CSTNode) -> bool:
        """Whether a tape in the same function records what `node` does and may be asked for a gradient of that."""
        around = self.around(node)
        return around is not None and (not self._is_never_asked(around) or self.record(around))

    @remembered
    def _is_never_asked(self, node: cst.With) -> bool:
        """Whether nobody asks for a gradient of the tapes that a `with` opens, which are made there or have a name of their own."""
        function = self._calls.function_at(node)
        tapes = [Tape(node, made, target, function) for made, target in opened(self._infer, node)]
        given = [item.item for item in node.items if self._infer.value(item.item).kind == "tape"]
        nameless = [item for item in node.items if item.asname is None and _is_made(self._infer, item.item)]
        known = len(tapes) + len(nameless)
        return 0 < known == len(given) and not any(map(self._is_asked, tapes))

    def _is_asked(self, tape: Tape) -> bool:
        calls = map(self.call_on, self.mentions(tape))
        return any(call is None or callee_name(call) != "watch" for call in calls)

    def call_on(self, mention: cst.Name) -> cst.Call | None:
        """The call of a method of the tape that `mention` belongs to: `tape.gradient(loss, variables)`."""
        method = self._walk.parents.get(mention)
        call = self._walk.parents.get(method) if method is not None else None
        if isinstance(method, cst.Attribute) and isinstance(call, cst.Call) and call.func is method:
            return call
        return None


def opened(infer: Inference, node: cst.With) -> Iterator[tuple[cst.Call, cst.Name]]:
    """The tapes that `node` opens, each with the call that makes it and its name; named there, `with tf.GradientTape()
    as tape`, or before, `tape = tf.GradientTape()` and `with tape`."""
    for item in node.items:
        made: cst.BaseExpression | None = item.item
        name: cst.CSTNode | None = item.asname.name if item.asname is not None else None
        bindings = infer.bindings(made)
        if len(bindings) == 1 and bindings[0].path == ():
            made, name = bindings[0].value, name or bindings[0].node
        if isinstance(made, cst.Call) and isinstance(name, cst.Name) and _is_made(infer, made):
            yield made, name


def _is_made(infer: Inference, node: cst.BaseExpression) -> bool:
    """Whether `node` makes a tape."""
    return isinstance(node, cst.Call) and infer.names.qualified(node.func) == "tf.GradientTape"


def is_under_tape(infer: Inference, node: cst.CSTNode) -> bool:
    """Whether a gradient tape in the same function records what `node` does."""
    return tape_around(infer, node) is not None


def tape_around(infer: Inference, node: cst.CSTNode) -> cst.With | None:
    """The innermost `with` in the same function whose body holds `node` while it has a gradient tape open: made there
    or before, in an attribute, entered by an `ExitStack`. A tape that `stop_recording` pauses records nothing."""
    child, current = node, infer.walk.parents.get(node)
    while current is not None and not isinstance(current, cst.FunctionDef):
        if isinstance(current, cst.With) and child is current.body:
            if any(_pauses(infer, item.item) for item in current.items):
                return None
            if any(infer.value(item.item).kind == "tape" for item in current.items):
                return current
            if _enters_tape(infer, current, node):
                return current
        child, current = current, infer.walk.parents.get(current)
    return None


def _pauses(infer: Inference, context: cst.BaseExpression) -> bool:
    """Whether `context` pauses a tape: `tape.stop_recording()`."""
    match context:
        case cst.Call(func=cst.Attribute(value=tape, attr=cst.Name("stop_recording"))):
            return infer.value(tape).kind == "tape"
    return False


def _enters_tape(infer: Inference, stack: cst.With, node: cst.CSTNode) -> bool:
    """Whether the stack of contexts that a `with` opens enters a tape before `node`: `stack.enter_context(tf.GradientTape())`."""
    entered = infer.walk.calls.get("enter_context", ())
    names = {
        item.asname.name.value
        for item in stack.items
        if item.asname and isinstance(item.asname.name, cst.Name)
    }
    order = infer.place(node).order if entered else 0
    for call in entered if names else ():
        match call:
            case cst.Call(func=cst.Attribute(value=cst.Name(value=name)), args=[cst.Arg(value=context)]):
                at = infer.place(call).order
                inside = infer.walk.at[stack].order < at < order
                if name in names and inside and infer.value(context).kind == "tape":
                    return True
    return False
