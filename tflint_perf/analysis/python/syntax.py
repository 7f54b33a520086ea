"""The tree as the model walks it: which fields hold code, and small questions about single nodes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

import libcst as cst

# Fields that hold white space, punctuation or names that are no expressions. Leaving them out is what makes
# our walk cost a twentieth of the parse.
_NO_CODE = frozenset(
    [
        "annotation",
        "as_of",
        "asynchronous",
        "attr",
        "bar",
        "colon",
        "comma",
        "default_indent",
        "default_newline",
        "dot",
        "encoding",
        "equal",
        "first_line",
        "footer",
        "from_",
        "has_trailing_newline",
        "header",
        "indent",
        "keyword",
        "lambda_",
        "lbrace",
        "lbracket",
        "leading_lines",
        "lines_after_decorators",
        "lpar",
        "newline",
        "operator",
        "posonly_ind",
        "rbrace",
        "rbracket",
        "relative",
        "returns",
        "rpar",
        "semicolon",
        "star",
        "separator",
        "leading_whitespace",
        "comment",
        "empty_lines",
        "last_line",
        "trailing_whitespace",
        "type_parameters",
        "async_",
        "default_semicolon",
        "second_colon",
        "first_colon",
        "prefix",
        "star_etc",
    ]
)

# Those of them that make a difference to what an expression is.
_TELLING = ("attr", "keyword", "operator", "star")

_fields: dict[type[cst.CSTNode], tuple[str, ...]] = {}
# Asked for by their class, since `isinstance` and `issubclass` take long to say no of an abstract one.
NODES: frozenset[Any] = frozenset(
    kind for kind in vars(cst).values() if isinstance(kind, type) and cst.CSTNode in kind.__mro__
)

COMPREHENSIONS = (cst.ListComp, cst.SetComp, cst.GeneratorExp, cst.DictComp)


def fields_of(kind: type[cst.CSTNode]) -> tuple[str, ...]:
    """The names of the fields of a node class that can hold code, in the order of the text."""
    known = _fields.get(kind)
    if known is None:
        known = tuple(
            field.name
            for field in dataclasses.fields(kind)
            if field.name not in _NO_CODE and not field.name.startswith("whitespace")
        )
        _fields[kind] = known
    return known


def children(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes directly below `node` that are code."""
    for name in fields_of(type(node)):
        value = getattr(node, name)
        kind = value.__class__
        if kind in NODES:
            yield value
        elif kind is list or kind is tuple:
            for item in value:
                if item.__class__ in NODES:
                    yield item


def descendants(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """`node` and all code below it, in the order of the text."""
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(list(children(node))))


def descendants_here(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Like `descendants`, without the bodies of functions, lambdas and classes defined below `node`."""
    stack = [node]
    first = True
    while stack:
        node = stack.pop()
        yield node
        if first or not isinstance(node, (cst.FunctionDef, cst.Lambda, cst.ClassDef)):
            stack.extend(reversed(list(children(node))))
        first = False


def same_code(one: cst.CSTNode | None, other: cst.CSTNode | None) -> bool:
    """Whether two expressions are the same but for white space, brackets and comments."""
    if one is None or other is None or type(one) is not type(other):
        return one is other
    telling = (name for name in _TELLING if hasattr(type(one), name))
    return all(
        _same_value(getattr(one, name), getattr(other, name)) for name in (*fields_of(type(one)), *telling)
    )


def _same_value(one: object, other: object) -> bool:
    if isinstance(one, cst.CSTNode) and isinstance(other, cst.CSTNode):
        return same_code(one, other)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_same_value, one, other))
    return one == other


def calls_below(node: cst.CSTNode) -> Iterator[cst.Call]:
    """The calls in `node`, without those in functions defined below it."""
    return (below for below in descendants_here(node) if isinstance(below, cst.Call))


def target_names(target: cst.CSTNode) -> Iterator[cst.Name]:
    """The names that an assignment target binds: `a`, and `b` in `(a, *b)`, not those in `c.d` or `e[f]`."""
    match target:
        case cst.Name():
            yield target
        case cst.Tuple() | cst.List():
            for element in target.elements:
                yield from target_names(element.value)
        case cst.StarredElement():
            yield from target_names(target.value)


def is_of_names(target: cst.CSTNode) -> bool:
    """Whether an assignment to `target` binds names, and changes no object."""
    if isinstance(target, cst.Tuple | cst.List):
        return all(is_of_names(element.value) for element in target.elements)
    return isinstance(target, cst.Name)


def keyed_targets(target: cst.CSTNode) -> Iterator[tuple[str, tuple[str | int, ...]]]:
    """The names to which an assignment target gives something, each with the constant keys under which it gets that: none
    of those for `a`, and "b" and 0 for `a["b"][0]`."""
    keys: list[str | int] = []
    holder = target
    while isinstance(holder, cst.Subscript) and (key := key_of(holder)) is not None:
        keys.insert(0, key)
        holder = holder.value
    if not keys:
        yield from ((name.value, ()) for name in target_names(target))
    elif isinstance(holder, cst.Name):
        yield holder.value, tuple(keys)


def names_written(statements: Iterable[cst.CSTNode]) -> set[str]:
    """The names that statements bind, in blocks below them too."""
    written: set[str] = set()
    for statement in statements:
        for node in descendants_here(statement):
            match node:
                case cst.AssignTarget() | cst.AnnAssign() | cst.AugAssign() | cst.NamedExpr() | cst.For():
                    written |= {name.value for name in target_names(node.target)}
                case cst.AsName():
                    written |= {name.value for name in target_names(node.name)}
                case cst.FunctionDef() | cst.ClassDef():
                    written.add(node.name.value)
                case cst.ImportAlias(asname=None):
                    written.add(node.evaluated_name.partition(".")[0])
                case cst.MatchAs(name=cst.Name(value=name)) | cst.MatchStar(name=cst.Name(value=name)):
                    written.add(name)
                case cst.MatchMapping(rest=cst.Name(value=name)):
                    written.add(name)
    return written


def names_read(node: cst.CSTNode) -> Iterator[cst.Name]:
    """The names that an expression or statement mentions, also inside functions defined in it."""
    return (below for below in descendants(node) if isinstance(below, cst.Name))


def words_in(node: cst.CSTNode) -> Iterator[str]:
    """The names and the attributes in `node`, each by its last part."""
    for below in descendants(node):
        if isinstance(below, cst.Name | cst.Attribute):
            yield last_name(below)


def mentions(node: cst.CSTNode, names: set[str] | frozenset[str]) -> bool:
    """Whether a name of `names` stands anywhere in `node`."""
    return any(name.value in names for name in names_read(node))


def dotted_name(node: cst.CSTNode | None, other: str = "") -> str:
    """A name with attributes as it is spelled: `a.b.c`; `other` stands for what is no name."""
    if isinstance(node, cst.Attribute):
        return f"{dotted_name(node.value, other)}.{node.attr.value}"
    return node.value if isinstance(node, cst.Name) else other


def last_name(node: cst.CSTNode | None) -> str:
    """`batch_size` for `batch_size`, `self.batch_size` and `f().batch_size`; "" for anything without a name."""
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else ""


def is_super(node: cst.CSTNode | None) -> bool:
    """Whether it is `super()`, with arguments or without."""
    return isinstance(node, cst.Call) and is_name(node.func, "super")


def statements_of(suite: cst.BaseSuite) -> list[cst.CSTNode]:
    """The statements of a suite, each of those that share a line by itself."""
    return [
        statement
        for line in suite.body
        for statement in (line.body if isinstance(line, cst.SimpleStatementLine) else (line,))
    ]


def whole_of(node: cst.BaseExpression) -> cst.BaseExpression:
    """What `node` is an item of, however deep: `d` for `d[k][j]`; itself where it is none."""
    while isinstance(node, cst.Subscript):
        node = node.value
    return node


def last_statement(suite: cst.BaseSuite) -> cst.CSTNode | None:
    """The statement that a suite ends with; the last one of a shared line."""
    last = suite.body[-1] if suite.body else None
    return last.body[-1] if isinstance(last, cst.SimpleStatementLine) else last


def callee_name(call: cst.Call) -> str:
    """The last part of what is called: `map` in `dataset.map(f)`, "" where it has no name."""
    return last_name(call.func)


def argument(call: cst.Call, position: int | None, keyword: str | None = None) -> cst.BaseExpression | None:
    """The argument at `position` or given as `keyword`; None when it is absent or hidden in a star."""
    for index, arg in enumerate(call.args):
        if arg.star:
            return None if not keyword else keyword_argument(call, keyword)
        if arg.keyword is None:
            if index == position:
                return arg.value
        elif keyword is not None and arg.keyword.value == keyword:
            return arg.value
    return None


def keyword_argument(call: cst.Call, keyword: str) -> cst.BaseExpression | None:
    """The value given as `keyword=`."""
    for arg in call.args:
        if arg.keyword is not None and arg.keyword.value == keyword:
            return arg.value
    return None


def has_stars(call: cst.Call) -> bool:
    """Whether the call passes `*args` or `**kwargs`, so that its arguments are not all in sight."""
    return any(arg.star for arg in call.args)


def integer(node: cst.CSTNode | None) -> int | None:
    """The value of an integer literal, also of a negative one or a float without a fraction (`1e3`)."""
    match node:
        case cst.Integer():
            return int(node.evaluated_value)
        case cst.Float():
            value = float(node.evaluated_value)
            return int(value) if value.is_integer() else None
        case cst.UnaryOperation(operator=cst.Minus()):
            value_below = integer(node.expression)
            return None if value_below is None else -value_below
    return None


def bound_of_range(call: cst.Call) -> cst.BaseExpression:
    """What says how far a call of `range` counts: its end, or where it counts down its beginning."""
    if len(call.args) > 2 and (integer(call.args[2].value) or 0) < 0:
        return call.args[0].value
    return call.args[min(1, len(call.args) - 1)].value


def string(node: cst.CSTNode | None) -> str | None:
    """The value of a plain string literal."""
    if isinstance(node, cst.SimpleString):
        value = node.evaluated_value
        return value if isinstance(value, str) else None
    return None


def constant_key(node: cst.CSTNode | None) -> str | int | None:
    """The value of a literal by which containers are asked: a plain string or an integer."""
    return integer(node) if isinstance(node, cst.Integer) else string(node)


def key_of(node: cst.Subscript) -> str | int | None:
    """The constant key that stands between the brackets, by itself."""
    match node.slice:
        case [cst.SubscriptElement(slice=cst.Index(value=key))]:
            return constant_key(key)
    return None


def constant_entries(node: cst.Dict) -> list[tuple[str | int, cst.BaseExpression]] | None:
    """The entries of a dictionary that is written out with constant keys alone."""
    entries: list[tuple[str | int, cst.BaseExpression]] = []
    for part in node.elements:
        key = constant_key(part.key) if isinstance(part, cst.DictElement) else None
        if key is None:
            return None
        entries.append((key, part.value))
    return entries


def is_constant(node: cst.CSTNode) -> bool:
    """Whether `node` is a literal: a number, string, `None`, `True`, or a tuple of those."""
    match node:
        case cst.Integer() | cst.Float() | cst.SimpleString() | cst.Imaginary() | cst.ConcatenatedString():
            return True
        case cst.Name():
            return node.value in ("None", "True", "False")
        case cst.UnaryOperation():
            return is_constant(node.expression)
        case cst.Tuple() | cst.List():
            return all(is_constant(element.value) for element in node.elements)
    return False


def is_name(node: cst.CSTNode | None, value: str) -> bool:
    """Whether `node` is the plain name `value`."""
    return isinstance(node, cst.Name) and node.value == value


def part_at(value: cst.BaseExpression, path: tuple[int, ...] | None) -> cst.BaseExpression | None:
    """What a name gets of a value: all of it, or an item of what is written out: `rows, columns = 1, 4`."""
    for index in path or ():
        if not isinstance(value, cst.Tuple | cst.List) or index >= len(value.elements):
            return None
        element = value.elements[index]
        if not isinstance(element, cst.Element):
            return None
        value = element.value
    return value if path is not None else None


def imported_modules(node: cst.Import | cst.ImportFrom) -> list[str]:
    """The modules that an import statement runs, dotted; "" for the package of the file itself."""
    if isinstance(node, cst.ImportFrom):
        return [dotted_name(node.module)] if not node.relative else [f".{dotted_name(node.module)}"]
    return [dotted_name(alias.name) for alias in node.names]


def imported_names(node: cst.Import | cst.ImportFrom) -> list[str]:
    """The dotted names that an import statement binds, with the dots in front of those of the same package."""
    if isinstance(node, cst.Import):
        return imported_modules(node)
    module = "." * len(node.relative) + (dotted_name(node.module) if node.module is not None else "")
    if isinstance(node.names, cst.ImportStar):
        return [module]
    separator = "" if module.endswith(".") else "."
    return [f"{module}{separator}{dotted_name(alias.name)}" for alias in node.names]
