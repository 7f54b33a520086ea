"""The `tf.function` that runs a model and nothing else: one for all calls of that model that can use it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from itertools import chain, count

import libcst as cst

from tflint_perf.analysis.python.scopes import Binding
from tflint_perf.analysis.python.syntax import descendants, is_constant, is_name, last_name
from tflint_perf.edit.arguments import for_all_shapes
from tflint_perf.edit.editor import Editor
from tflint_perf.finding import Edit
from tflint_perf.records import dataclass

_FORWARD = "return {model}(inputs{rest})"
_TENSORS = frozenset({"tensor", "array"})
_PASSED_ANEW = frozenset({"number", "string", "dataset", "iterator", "instance", "object"})


@dataclass(frozen=True, slots=True)
class Forward:
    """A call of a model as a function of its inputs; `rest` is the code of what the model is given behind them.

    `does` are the lines of a function that does something else with the model. `owner` is the first parameter of the method
    around the call, "" elsewhere. `is_given` says that the function has to be given the model: a local name; or, by the name
    `given_as`, an attribute, of which each object may have another, now or later. `varies` says that its inputs may come in many
    shapes, for which one trace is to do.
    """

    model: cst.BaseExpression
    owner: str = ""
    is_given: bool = False
    given_as: str = ""
    rest: str = ""
    inputs: tuple[str, ...] = ("inputs",)
    does: tuple[str, ...] = (_FORWARD,)
    varies: bool = True


def rest_of(edit: Editor, call: cst.Call) -> str | None:
    """What a call gives a model behind its inputs, as code; None where those are no constants."""
    others = call.args[1:]
    if not all(is_constant(arg.value) for arg in others):
        return None
    return "".join(f", {edit.text(arg).rstrip(', ')}" for arg in others)


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a call gives a model behind its first input: as code, with the parameters in it, and what is passed for these."""

    rest: str = ""
    parameters: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()


def more_inputs(edit: Editor, call: cst.Call, *, sure: bool) -> Inputs | None:
    """The same, where all but constants is handed on; None where that is a number, each of which would have a trace of its own,
    or, if it has to be `sure`, may be no tensor."""
    rest, parameters, passed = "", list[str](), list[str]()
    taken = {"inputs", *(name.value for name in descendants(call.func) if isinstance(name, cst.Name))}
    for arg in call.args[1:]:
        if is_constant(arg.value):
            rest += f", {edit.text(arg).rstrip(', ')}"
            continue
        kind = edit.model.value(arg.value).kind
        if kind in _PASSED_ANEW or (sure and kind not in _TENSORS):
            return None
        wanted = arg.keyword.value if arg.keyword is not None else _name_of(arg.value)
        numbered = (f"{wanted}_{number}" for number in count(2))
        name = next(each for each in chain([wanted], numbered) if each not in taken)
        taken.add(name)
        rest += f", {arg.keyword.value}={name}" if arg.keyword is not None else f", {name}"
        parameters.append(name)
        passed.append(edit.text(arg.value))
    return Inputs(rest, tuple(parameters), tuple(passed))


def _name_of(node: cst.BaseExpression) -> str:
    """`mask` for `mask`, `self.mask` and `tf.constant(mask)`."""
    match node:
        case cst.Call(args=[cst.Arg(value=given), *_]):
            return _name_of(given)
    return last_name(node) or "value"


@dataclass(frozen=True, slots=True)
class ForwardFunction:
    """What the function is called and how its decorator is spelled; what puts it there, nothing where it is already.

    `model` is the code of the attribute that it is given ahead of the inputs, "" for a method and where it is given none.
    """

    name: str
    decorator: str
    edits: tuple[Edit, ...] = ()
    imports: tuple[Edit, ...] = ()
    model: str = ""

    def called(self, owner: str, given: Sequence[str], inputs: str) -> str:
        """A call of it where a method of `owner` would be, with what else it is `given` ahead of the inputs."""
        if self.model:
            owner, given = "", [self.model]
        return f"{f'{owner}.' if owner else ''}{self.name}({', '.join([*given, inputs])})"


def forward_function(
    edit: Editor, call: cst.CSTNode, home: cst.CSTNode, forward: Forward, wanted: str
) -> ForwardFunction:
    """The function that does what `forward` says, above the statement `home` or where an earlier call has it.

    The model of an attribute that may hold another one later is given to a function of the module: a method would keep to the one
    that it first met. Each attribute has its own: the first call may make the variables of a model, and no later one those of another.
    The fixes of several calls share what they insert, so that each can be made with the others and without them.
    """
    given = ""
    if (
        forward.owner
        and isinstance(forward.model, cst.Attribute)
        and forward.does == (_FORWARD,)
        and not _makes_its_own(edit, call, forward)
    ):
        given, home = edit.text(forward.model), edit.outermost(home)
        forward = replace(forward, owner="", is_given=True, given_as="model")
    spelled, imports = edit.spell("function", home)
    code = _code(edit, home, forward, spelled)
    at, origin = edit.model.walk.at.get(home), _origin(edit, forward)
    key = (at.block, code(""), origin) if at is not None and origin is not None else None
    known = at.block.statements if at is not None else []
    if there := _there_already(edit, known, home, forward, code):
        return ForwardFunction(there, spelled, model=given)
    shared = edit.shared.get(key)
    if isinstance(shared, ForwardFunction) and (
        forward.owner or shared.edits[0].start.offset <= edit.start(call)
    ):
        return replace(shared, model=given)
    fresh = edit.fresh_name(f"_{wanted}" if forward.owner else wanted)
    gap = "\n" if edit.indent(home) else "\n\n"
    before = gap[edit.blank_lines_above(home) :]
    above = edit.insert_above(home, f"{before}{code(fresh)}{gap}")
    made = ForwardFunction(fresh, spelled, (above,), tuple(imports), given)
    if key is not None:
        edit.shared[key] = made
    return made


def _makes_its_own(edit: Editor, call: cst.CSTNode, forward: Forward) -> bool:
    """Whether each object makes the model of an attribute in its constructor, and has no other one later. Then a method does,
    which TensorFlow calls in less time than a function that it has to compare models for."""
    node, model = forward.model, edit.model
    if not isinstance(node, cst.Attribute) or not is_name(node.value, forward.owner):
        return False
    match model.infer.classes.bindings_of(node):
        case [Binding(kind="assign", value=cst.Call()) as made]:
            maker = made.at.block.function
            return (
                maker is not None
                and maker.name == "__init__"
                and model.tracing.obstacle_to_keeping(node, model.function_at(call)) is None
            )
    return False


def _code(edit: Editor, home: cst.CSTNode, forward: Forward, spelled: str) -> Callable[[str], str]:
    """The lines of the function by its name."""
    model = forward.given_as or edit.text(forward.model)
    parameters = ", ".join(
        [*([forward.owner] if forward.owner else []), *([model] if forward.is_given else []), *forward.inputs]
    )
    one = edit.one_indent(edit.indent(home))
    lines = "".join(
        one * (1 + _depth(line)) + line.strip().format(model=model, rest=forward.rest) + "\n"
        for line in forward.does
    )
    options = f"({for_all_shapes(edit)})" if forward.varies else ""
    return lambda name: f"@{spelled}{options}\ndef {name}({parameters}):\n{lines}"


def _depth(line: str) -> int:
    """How many blocks inside its function a line of `Forward.does` stands, by its indentation."""
    return (len(line) - len(line.lstrip())) // 4


def _origin(edit: Editor, forward: Forward) -> Hashable | None:
    """What tells two models of one name apart: where the name got its value; None where that is not known."""
    root = _root(forward.model)
    if forward.given_as:
        return edit.text(forward.model), edit.outermost(forward.model)
    if root is None or is_name(root, forward.owner):
        return forward.owner or None
    found = edit.model.infer.bindings_reaching(root)
    return frozenset(found[1]) if found is not None else None


def _root(node: cst.BaseExpression) -> cst.Name | None:
    """`a` in `a.b.c`."""
    while isinstance(node, cst.Attribute):
        node = node.value
    return node if isinstance(node, cst.Name) else None


def _there_already(
    edit: Editor,
    statements: list[cst.CSTNode],
    home: cst.CSTNode,
    forward: Forward,
    code: Callable[[str], str],
) -> str:
    """The name of a function of the same code among statements, of an earlier fix perhaps; "" where there is none."""
    root = _root(forward.model)
    if not forward.given_as and (forward.is_given or root is None):
        return ""
    if root is not None and not forward.given_as and not is_name(root, forward.owner):
        found = edit.model.infer.bindings_reaching(root)
        if found is None or len(found[0].bindings[root.value]) > 1:
            return ""  # it may have been traced with another model
    for statement in statements:
        if not isinstance(statement, cst.FunctionDef):
            continue
        if forward.given_as and f"{statement.name.value}({edit.text(forward.model)}, " not in edit.text(home):
            continue  # it is given the models of another class, or another attribute's
        is_seen = bool(forward.owner) or edit.start(statement) < edit.start(home)
        if is_seen and _stripped(edit.text(statement)) == _stripped(code(statement.name.value)):
            return statement.name.value
    return ""


def _stripped(code: str) -> list[str]:
    return [line.strip() for line in code.strip().splitlines()]
