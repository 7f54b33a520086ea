"""Which bindings of a name reach a place: assignments followed in the order of the code."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import islice

import libcst as cst

from tflint_perf.analysis.python.scopes import At, Binding, Block, Loop


def _flow_block(block: Block) -> Block:
    """The block that surely runs when `block` does: a `with` or `try` body counts as the text around it."""
    while block.parent is not None and (
        isinstance(block.owner, cst.With)
        or (isinstance(block.owner, cst.Try | cst.TryStar) and block.branch in ("body", "finally"))
    ):
        block = block.parent
    return block


def encloses(outer: Block, inner: Block) -> bool:
    """Whether `inner` is `outer` or lies in it."""
    current: Block | None = inner
    while current is not None:
        if current is outer:
            return True
        current = current.parent
    return False


def _branches(block: Block) -> dict[cst.CSTNode, str]:
    taken: dict[cst.CSTNode, str] = {}
    current: Block | None = block
    while current is not None:
        taken[current.owner] = current.branch
        current = current.parent
    return taken


def _exclusive(block: Block, taken: dict[cst.CSTNode, str]) -> bool:
    """Whether `block` lies in a branch that is not run when those in `taken` are."""
    current: Block | None = block
    while current is not None:
        branch = taken.get(current.owner)
        if branch is not None and branch != current.branch and isinstance(current.owner, cst.If | cst.Match):
            return True
        current = current.parent
    return False


def _leaves(block: Block, taken: dict[cst.CSTNode, str]) -> bool:
    """Whether whoever runs `block` leaves the function before what stands behind, in the branches `taken`: its branch ends in
    `return` or `raise`, and nothing around goes on from there."""
    current: Block | None = block
    while current is not None and taken.get(current.owner) != current.branch:
        if isinstance(current.owner, cst.If) and current.statements:
            last = current.statements[-1]
            if isinstance(last, cst.Return | cst.Raise):
                return not _goes_on_around(current, last, taken)
        current = current.parent
    return False


def _goes_on_around(block: Block, last: cst.Return | cst.Raise, taken: dict[cst.CSTNode, str]) -> bool:
    """Whether code around `block` may run behind its `last` statement: the handlers of a `try`, what stands behind a `with`, which
    may suppress what is raised, or a `finally` that is among the branches `taken`."""
    current = block.parent
    while current is not None:
        match current.owner:
            case cst.Try() | cst.TryStar() as around:
                if taken.get(around) == "finally":
                    return True
                if isinstance(last, cst.Raise) and current.branch == "body" and around.handlers:
                    return True
            case cst.With() if isinstance(last, cst.Raise):
                return True
        current = current.parent
    return False


def runs_beside(one: At, other: At) -> bool:
    """Whether a run of the function may pass both places: no branch that one takes keeps it from the other."""
    if _exclusive(one.block, _branches(other.block)):
        return False
    first, second = (one, other) if one.order <= other.order else (other, one)
    return not _leaves(first.block, _branches(second.block))


def loops_around(loop: Loop | None) -> list[Loop]:
    """`loop` and the loops around it in the same function, innermost first."""
    around = []
    while loop is not None:
        around.append(loop)
        loop = loop.parent
    return around


def reaching(bindings: list[Binding], use: At) -> list[Binding]:
    """Those of `bindings` (one name of one scope, in order) whose value a use at `use` may see."""
    taken = _branches(use.block)
    found: list[Binding] = []
    covered: set[int] = set()
    stopped_at: Binding | None = None
    behind = bisect_right(bindings, use.order, key=_order)
    for index in range(behind - 1, -1, -1):
        binding = bindings[index]
        if binding.at.order == use.order and binding.kind not in ("param", "for"):
            continue
        if (
            binding.kind == "for"
            and binding.at.order == use.order
            and not encloses(binding.at.block, use.block)
        ):
            continue
        if _exclusive(binding.at.block, taken) or _leaves(binding.at.block, taken):
            continue
        found.append(binding)
        if binding.kind == "augment":
            continue
        block = _flow_block(binding.at.block)
        # A loop's target has a value in its body; after the loop it may have none, but what it has is this.
        if encloses(block, use.block) or _covers(block, use.block, covered):
            stopped_at = binding
            break
    # In a loop, a later statement of the body reaches the next iteration.
    known: set[Binding] | None = None
    for loop in loops_around(use.block.loop):
        if stopped_at is not None and loop in loops_around(_flow_block(stopped_at.at.block).loop):
            break
        if stopped_at is not None and stopped_at.at is loop.at:
            break
        known = known if known is not None else set(found)
        later = [
            binding
            for binding in islice(bindings, bisect_left(bindings, use.order, key=_order), None)
            if binding not in known and loop in loops_around(binding.at.block.loop)
        ]
        known.update(later)
        found += later
    return found


def _order(binding: Binding) -> int:
    return binding.at.order


def _covers(block: Block, use: Block, covered: set[int]) -> bool:
    """Note that `block` binds the name; whether all branches around it now do, up to a block around `use`."""
    while block.parent is not None and isinstance(block.owner, cst.If):
        covered.add(hash((id(block.owner), block.branch)))
        branches = ("body", "orelse")
        if block.owner.orelse is None or not all(
            hash((id(block.owner), name)) in covered for name in branches
        ):
            return False
        block = _flow_block(block.parent)
        if encloses(block, use):
            return True
    return False
