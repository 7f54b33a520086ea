"""What the walk finds: scopes, bindings, blocks, functions, classes and loops, and where each statement stands."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

import libcst as cst

from tflint_perf.records import dataclass

ScopeKind = Literal["module", "class", "function", "comprehension"]
BindingKind = Literal[
    "import",
    "assign",
    "augment",
    "for",
    "with",
    "def",
    "class",
    "param",
    "except",
    "delete",
    "pattern",
    "comprehension",
]


@dataclass(eq=False, slots=True)
class Scope:
    """Where names live: a module, class body, function or comprehension."""

    kind: ScopeKind
    node: cst.CSTNode
    parent: Scope | None
    function: Function | None = None
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    # Names declared `global` or `nonlocal`: they live in another scope.
    elsewhere: set[str] = field(default_factory=set)


@dataclass(eq=False, slots=True)
class Block:
    """A suite of statements. `owner` is the compound statement it belongs to, `branch` which part of that."""

    owner: cst.CSTNode
    branch: str
    parent: Block | None
    scope: Scope
    # The innermost loop of the same function of which this is (part of) the body.
    loop: Loop | None
    function: Function | None
    statements: list[cst.CSTNode] = field(default_factory=list)
    # The order of the first statement that leaves the block, behind which nothing of it runs.
    left_at: int | None = None


@dataclass(frozen=True, slots=True)
class At:
    """Where a statement stands: its place in the order of the text, and its block."""

    order: int
    block: Block


@dataclass(eq=False, slots=True)
class Binding:
    """One place where a name gets a value.

    `value` is the expression it comes from: the right side, the iterable of a loop, the context of a `with`.
    `path` says which part of an unpacked value it gets: `(1, 0)` for `b` in `a, (b, c) = value`; None when
    that is not known (a starred target).
    """

    name: str
    kind: BindingKind
    node: cst.CSTNode
    value: cst.BaseExpression | None
    at: At
    path: tuple[int, ...] | None = ()
    # The full dotted name that an import binds; ends in ".*" for a star import.
    imported: str = ""


@dataclass(eq=False, slots=True)
class Loop:
    """A `for`, `while` or one `for` of a comprehension. `parent` is the loop around it in the same function."""

    node: cst.For | cst.While | cst.CompFor
    parent: Loop | None
    function: Function | None
    at: At
    calls: list[cst.Call] = field(default_factory=list)
    inner: list[Loop] = field(default_factory=list)
    yields: bool = False

    @property
    def iterable(self) -> cst.BaseExpression | None:
        """What a `for` runs over; None for a `while`."""
        return None if isinstance(self.node, cst.While) else self.node.iter

    @property
    def all_calls(self) -> list[cst.Call]:
        """Its calls, and those of the loops inside."""
        return [*self.calls, *(call for loop in self.inner for call in loop.all_calls)]


@dataclass(eq=False, slots=True)
class Function:
    """A function, method or lambda. `owner` is the class whose method it is."""

    node: cst.FunctionDef | cst.Lambda
    name: str
    scope: Scope
    at: At
    outer: Function | None
    owner: Class | None
    calls: list[cst.Call] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    returns: list[cst.Return] = field(default_factory=list)
    yields: list[cst.Yield] = field(default_factory=list)

    @property
    def parameters(self) -> list[cst.Param]:
        """The parameters that a caller can give by position, then those by keyword only."""
        params = self.node.params
        return [*params.posonly_params, *params.params, *params.kwonly_params]

    @property
    def positional(self) -> list[str]:
        """The names of the parameters that a caller can give by position, `self` included."""
        params = self.node.params
        return [param.name.value for param in (*params.posonly_params, *params.params)]

    @property
    def is_returned(self) -> bool:
        """Whether the function around it returns it by its name, by itself or among others."""
        given = [statement.value for statement in self.outer.returns] if self.outer is not None else []
        return any(
            isinstance(node, cst.Name) and node.value == self.name
            for value in given
            for node in ([item.value for item in value.elements] if isinstance(value, cst.Tuple) else [value])
        )

    @property
    def is_bound(self) -> bool:
        """Whether it is a method that gets the object it is called on, or its class, as the first parameter."""
        return self.owner is not None and not self.has_decorator("staticmethod")

    @property
    def places(self) -> list[str]:
        """The names of the parameters in the order of a call's arguments: without `self`."""
        return self.positional[1:] if self.is_bound else self.positional

    def place_of(self, parameter: str) -> int:
        """The place of a parameter among a call's arguments; -1 for one that is given by keyword only."""
        return self.places.index(parameter) if parameter in self.places else -1

    @property
    def decorators(self) -> tuple[cst.Decorator, ...]:
        """The decorators, none for a lambda."""
        return tuple(self.node.decorators) if isinstance(self.node, cst.FunctionDef) else ()

    def has_decorator(self, *names: str) -> bool:
        """Whether one of the decorators is one of these plain names: `@property`."""
        return any(
            isinstance(decorator.decorator, cst.Name) and decorator.decorator.value in names
            for decorator in self.decorators
        )


@dataclass(eq=False, slots=True)
class Class:
    """A class with its methods and what its methods write to `self`."""

    node: cst.ClassDef
    name: str
    scope: Scope
    at: At
    function: Function | None
    methods: dict[str, Function] = field(default_factory=dict)
    attributes: dict[str, list[Binding]] = field(default_factory=dict)
