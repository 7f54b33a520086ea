"""Making libcst's nodes by their code alone.

A node's own constructor sets every field and checks them; here only those that the model reads are set, which takes a
tenth of the time. Asking such a node for its white space or its brackets raises AttributeError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import libcst as cst

N = TypeVar("N", bound=cst.CSTNode)


def maker(kind: type[N], *fields: str) -> Callable[..., N]:
    """A function that makes a node of this class from the values of these fields, in their order.

    It is put together as text, as those of dataclasses are: a loop over the fields would take twice as long.
    """
    setters: dict[str, Any] = {f"set_{field}": getattr(kind, field).__set__ for field in fields}
    lines = [f"def make({', '.join(fields)}):", "    node = new(kind)"]
    lines += [f"    set_{field}(node, {field})" for field in fields]
    lines += ["    return node"]
    space: dict[str, Any] = {**setters, "new": object.__new__, "kind": kind}
    exec("\n".join(lines), space)
    make: Callable[..., N] = space["make"]
    return make


# Expressions
name = maker(cst.Name, "value")
attribute = maker(cst.Attribute, "value", "attr")
call = maker(cst.Call, "func", "args")
arg = maker(cst.Arg, "value", "keyword", "star")
subscript = maker(cst.Subscript, "value", "slice")
subscript_element = maker(cst.SubscriptElement, "slice")
index = maker(cst.Index, "value", "star")
slice_ = maker(cst.Slice, "lower", "upper", "step")
integer = maker(cst.Integer, "value")
float_ = maker(cst.Float, "value")
imaginary = maker(cst.Imaginary, "value")
string = maker(cst.SimpleString, "value")
ellipsis_ = maker(cst.Ellipsis)
tuple_ = maker(cst.Tuple, "elements")
list_ = maker(cst.List, "elements")
set_ = maker(cst.Set, "elements")
element = maker(cst.Element, "value")
starred_element = maker(cst.StarredElement, "value")
dict_ = maker(cst.Dict, "elements")
dict_element = maker(cst.DictElement, "key", "value")
starred_dict_element = maker(cst.StarredDictElement, "value")
list_comprehension = maker(cst.ListComp, "elt", "for_in")
set_comprehension = maker(cst.SetComp, "elt", "for_in")
generator = maker(cst.GeneratorExp, "elt", "for_in")
dict_comprehension = maker(cst.DictComp, "key", "value", "for_in")
comprehension_for = maker(cst.CompFor, "target", "iter", "ifs", "inner_for_in", "asynchronous")
comprehension_if = maker(cst.CompIf, "test")
binary = maker(cst.BinaryOperation, "left", "operator", "right")
unary = maker(cst.UnaryOperation, "operator", "expression")
boolean = maker(cst.BooleanOperation, "left", "operator", "right")
comparison = maker(cst.Comparison, "left", "comparisons")
comparison_target = maker(cst.ComparisonTarget, "operator", "comparator")
conditional = maker(cst.IfExp, "test", "body", "orelse")
lambda_ = maker(cst.Lambda, "params", "body")
await_ = maker(cst.Await, "expression")
yield_ = maker(cst.Yield, "value")
from_ = maker(cst.From, "item")
named = maker(cst.NamedExpr, "target", "value")

# Parameters
parameters = maker(
    cst.Parameters, "params", "star_arg", "kwonly_params", "star_kwarg", "posonly_params", "posonly_ind"
)
parameter = maker(cst.Param, "name", "annotation", "default", "star")
bare_star = maker(cst.ParamStar)
annotation = maker(cst.Annotation, "annotation")

# Small statements
line = maker(cst.SimpleStatementLine, "body", "leading_lines", "trailing_whitespace")
expression = maker(cst.Expr, "value")
assign = maker(cst.Assign, "targets", "value")
assign_target = maker(cst.AssignTarget, "target")
augmented_assign = maker(cst.AugAssign, "target", "operator", "value")
annotated_assign = maker(cst.AnnAssign, "target", "annotation", "value")
return_ = maker(cst.Return, "value")
delete = maker(cst.Del, "target")
pass_ = maker(cst.Pass)
break_ = maker(cst.Break)
continue_ = maker(cst.Continue)
import_ = maker(cst.Import, "names")
import_from = maker(cst.ImportFrom, "module", "names", "relative")
import_star = maker(cst.ImportStar)
import_alias = maker(cst.ImportAlias, "name", "asname")
as_name = maker(cst.AsName, "name")
dot = maker(cst.Dot)
global_ = maker(cst.Global, "names")
nonlocal_ = maker(cst.Nonlocal, "names")
name_item = maker(cst.NameItem, "name")
raise_ = maker(cst.Raise, "exc", "cause")
assert_ = maker(cst.Assert, "test", "msg")

# Compound statements
block = maker(cst.IndentedBlock, "body")
suite = maker(cst.SimpleStatementSuite, "body", "leading_whitespace", "trailing_whitespace")
if_ = maker(cst.If, "test", "body", "orelse")
else_ = maker(cst.Else, "body")
for_ = maker(cst.For, "target", "iter", "body", "orelse", "asynchronous")
while_ = maker(cst.While, "test", "body", "orelse")
with_ = maker(cst.With, "items", "body", "asynchronous")
with_item = maker(cst.WithItem, "item", "asname")
try_ = maker(cst.Try, "body", "handlers", "orelse", "finalbody")
try_star = maker(cst.TryStar, "body", "handlers", "orelse", "finalbody")
except_ = maker(cst.ExceptHandler, "body", "type", "name")
except_star = maker(cst.ExceptStarHandler, "body", "type", "name")
finally_ = maker(cst.Finally, "body")
function = maker(cst.FunctionDef, "name", "params", "body", "decorators", "returns", "asynchronous")
class_ = maker(cst.ClassDef, "name", "body", "bases", "keywords", "decorators")
decorator = maker(cst.Decorator, "decorator")
