"""What a loop goes over, behind what wraps it: `dataset` of `enumerate(tqdm(dataset))`, and which part of it a target gets.

    source(infer, iterable)           # what is gone over in the end; a `zip` goes over several things
    taken_part(infer, iterable, (1, 0))  # of what, and which part of it, the target's part (1, 0) is
    with_targets(infer, iterable, target)

Wrappers are known by what rows say of their qualified names, progress bars of a project by their own, and behind a name that one stands for: `bar = tqdm(batches)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import libcst as cst

from tflint_perf.analysis.apis.facts import fact, has
from tflint_perf.analysis.conventions import names_a_counting_bar
from tflint_perf.analysis.python.names import canonical
from tflint_perf.analysis.python.scopes import Binding
from tflint_perf.analysis.python.syntax import (
    argument,
    bound_of_range,
    callee_name,
    integer,
    keyword_argument,
)
from tflint_perf.analysis.values.named_calls import builtin_or_qualified, is_progress_bar
from tflint_perf.records import dataclass

if TYPE_CHECKING:
    from tflint_perf.analysis.values.infer import Inference

Path = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Wrapping:
    """What going over the result of a function gives: the `elements` of what it is given first, pairs of a number and an element
    (`numbered`), or `tuples` with an element of each of its arguments.

    `lazily` says that it takes them one by one, as a loop asks for them, `all_once` that it gives each once. What `goes_on` is an
    iterator of its argument: a loop over one with a name takes what others have left of it.
    """

    gives: Literal["elements", "numbered", "tuples"]
    lazily: bool = True
    all_once: bool = True
    goes_on: bool = False


# By what rows say that a function hands on.
_WRAPPINGS = {
    "elements": Wrapping("elements"),
    "copy": Wrapping("elements", lazily=False),
    "iterator": Wrapping("elements", goes_on=True),
    "some": Wrapping("elements", all_once=False),
    "numbered": Wrapping("numbered"),
    "tuples": Wrapping("tuples"),
}
# Methods of datasets that number elements, or give them as they are to a loop.
_BY_METHOD = {"enumerate": "numbered", "as_numpy_iterator": "elements"}


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A call that a loop goes over for the sake of what it is `given`: one thing, or several to go over side by side."""

    call: cst.Call
    how: Wrapping
    given: tuple[cst.BaseExpression, ...]


def wrapper(infer: Inference, node: cst.BaseExpression) -> Wrapper | None:
    """The wrapper, such as `enumerate(…)`, that `node` is or stands for; None where it is none, or hides what it is
    given."""
    if isinstance(node, cst.Call):
        return _wrapper(infer, node)
    match infer.bindings(node):
        case [Binding(kind="assign", path=(), value=cst.Call() as made)]:
            named = _wrapper(infer, made)
            return named if named is not None and named.how.lazily and not named.how.goes_on else None
    return None


def _wrapper(infer: Inference, call: cst.Call) -> Wrapper | None:
    how = _wrapping(_callee(infer, call.func))
    if how is None:
        return _by_method(infer, call)
    if any(arg.star == "*" for arg in call.args):
        return None
    given = tuple(arg.value for arg in call.args if arg.keyword is None)
    if how.gives != "tuples":
        named = keyword_argument(call, "iterable") or keyword_argument(call, "sequence")
        given = given[:1] or ((named,) if named is not None else ())
    return Wrapper(call, how, given) if given else None


def _by_method(infer: Inference, call: cst.Call) -> Wrapper | None:
    """The wrapper that `call` is by its method: `dataset.enumerate()`, with the number to begin with at most."""
    method = _BY_METHOD.get(callee_name(call)) if isinstance(call.func, cst.Attribute) else None
    if method is None or infer.names.dotted(call.func):
        return None
    start = argument(call, 0, "start")
    begins = len(call.args) == 1 and (
        integer(start) is not None or keyword_argument(call, "start") is not None
    )
    assert isinstance(call.func, cst.Attribute)
    return Wrapper(call, _WRAPPINGS[method], (call.func.value,)) if begins or not call.args else None


def _wrapping(name: str) -> Wrapping | None:
    """What a function of a qualified name makes of what it is given to go over; None for all others."""
    return _WRAPPINGS.get("elements" if is_progress_bar(name) else fact(name, "hands-on"))


def _callee(infer: Inference, function: cst.BaseExpression) -> str:
    """The qualified name of what is called, or may be: a file may have its own `tqdm` for where there is none to import."""
    name = builtin_or_qualified(infer, function)
    if name or not isinstance(function, cst.Name):
        return name
    found = infer.names.lookup(function.value, infer.names.scope_of(function))
    imports = [b.imported for b in found[1] if b.kind == "import"] if found is not None else []
    return canonical(imports[0]) if imports else ""


def source(infer: Inference, iterable: cst.BaseExpression) -> cst.BaseExpression:
    """What a loop over `iterable` iterates over in the end: `batches` of `enumerate(tqdm(batches))`."""
    seen: set[cst.Call] = set()
    found = wrapper(infer, iterable)
    while found is not None and found.call not in seen:
        seen.add(found.call)
        if found.how.gives == "tuples":
            return found.call
        iterable = found.given[0]
        found = wrapper(infer, iterable)
    return iterable


def sources(infer: Inference, iterable: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """What a loop goes over in the end, with all that a `zip` goes over side by side."""
    for found, _ in _taken(infer, iterable, None, frozenset(), lazily=False):
        yield found


def taken_part(
    infer: Inference, iterable: cst.BaseExpression, path: Path
) -> tuple[cst.BaseExpression, Path] | None:
    """Of which iterable a part of a loop's target is an element, and which part of that; None for the number that counts
    elements. `for i, (x, y) in enumerate(zip(xs, ys))` gives `y`, whose path is (1, 1), elements of `ys`."""
    found = _part_of(infer, iterable, path)
    return None if isinstance(found, Wrapper) else found


def counts_in_python(infer: Inference, iterable: cst.BaseExpression, path: Path) -> bool:
    """Whether a part of a loop's target is the number that Python's `enumerate` counts elements by. That of
    `Dataset.enumerate` is a tensor."""
    found = _part_of(infer, iterable, path)
    return isinstance(found, Wrapper) and bool(_wrapping(_callee(infer, found.call.func)))


def _part_of(
    infer: Inference, iterable: cst.BaseExpression, path: Path
) -> tuple[cst.BaseExpression, Path] | Wrapper:
    """What `taken_part` answers; for the number that counts elements, what numbers them."""
    seen: set[cst.Call] = set()
    found = wrapper(infer, iterable)
    while found is not None and found.call not in seen:
        seen.add(found.call)
        match found.how.gives:
            case "elements":
                iterable = found.given[0]
            case "numbered" if path:
                if path[0] == 0:
                    return found
                iterable, path = found.given[0], path[1:]
            case "tuples" if path and path[0] < len(found.given):
                iterable, path = found.given[path[0]], path[1:]
            case _:
                break
        found = wrapper(infer, iterable)
    return iterable, path


def with_targets(
    infer: Inference, iterable: cst.BaseExpression, target: cst.BaseExpression | None
) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression | None]]:
    """The iterables that a loop takes elements of one by one, each with the target that gets them; None where none does by
    itself."""
    return _taken(infer, iterable, target, frozenset(), lazily=True)


def _taken(
    infer: Inference,
    iterable: cst.BaseExpression,
    target: cst.BaseExpression | None,
    seen: frozenset[cst.Call],
    *,
    lazily: bool,
) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression | None]]:
    found = wrapper(infer, iterable)
    if found is None or found.call in seen or (lazily and not found.how.lazily):
        yield iterable, target
        return
    parts = [element.value for element in target.elements] if isinstance(target, cst.Tuple | cst.List) else []
    match found.how.gives:
        case "elements":
            targets: list[cst.BaseExpression | None] = [target]
        case "numbered":
            targets = [parts[1] if len(parts) == 2 else None]
        case _:
            targets = [*parts, *[None] * len(found.given)]
    for given, inner in zip(found.given, targets, strict=False):
        yield from _taken(infer, given, inner, seen | {found.call}, lazily=lazily)


# Numbers that loops count


def counting(infer: Inference, iterable: cst.BaseExpression | None) -> cst.Call | None:
    """The call of `range` or the like whose numbers a loop over `iterable` takes: `for step in tqdm(range(n))`."""
    inner = source(infer, iterable) if iterable is not None else None
    return inner if isinstance(inner, cst.Call) and is_counting(infer, inner) else None


def counts_to(infer: Inference, iterable: cst.BaseExpression | None) -> cst.BaseExpression | None:
    """The bound that a loop over `iterable` counts to: `n` of `range(n)` and `range(n, 0, -1)`; None where it does not
    count, or without end."""
    counted = counting(infer, iterable)
    ends = counted is not None and bool(counted.args) and callee_name(counted) != "count"
    return bound_of_range(counted) if counted is not None and ends else None


def is_numbered(infer: Inference, iterable: cst.BaseExpression) -> bool:
    """Whether a loop over `iterable` has the number of each iteration: it counts, or what it goes over is numbered."""
    found = wrapper(infer, iterable)
    seen: set[cst.Call] = set()
    while found is not None and found.how.gives == "elements" and found.call not in seen:
        seen.add(found.call)
        iterable = found.given[0]
        found = wrapper(infer, iterable)
    return counting(infer, iterable) is not None or (found is not None and found.how.gives == "numbered")


def is_counting(infer: Inference, call: cst.Call) -> bool:
    """Whether `call` gives one number after the other, as `range` does."""
    name = _callee(infer, call.func)
    return has(name, "counts-up") or bool(names_a_counting_bar(name.rpartition(".")[2]))


def is_count(infer: Inference, binding: Binding) -> bool:
    """Whether `binding` gives its name the number of the iteration: a number of `range`, or that of `enumerate`."""
    if binding.kind not in ("for", "comprehension") or binding.value is None or binding.path is None:
        return False
    found = taken_part(infer, binding.value, binding.path)
    if found is None:
        return True
    inner, path = found
    return not path and isinstance(inner, cst.Call) and is_counting(infer, inner)
