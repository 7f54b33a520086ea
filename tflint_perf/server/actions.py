"""Code actions: quick fixes, the suppression of a finding, and all fixes at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lsprotocol import types

from tflint_perf.finding import Finding
from tflint_perf.lint.applicability import applicability
from tflint_perf.server.diagnostics import diagnostic
from tflint_perf.server.documents import Snapshot
from tflint_perf.server.linting import Linted, source_of, with_all_fixes, with_fix
from tflint_perf.server.suppressing import noqa
from tflint_perf.text.source import Source
from tflint_perf.text.syntax import CODE as INVALID_SYNTAX

FIX_ALL = "source.fixAll.tflint-perf"
KINDS = (types.CodeActionKind.QuickFix.value, FIX_ALL)
# What editors put before a kind that they want for the whole of a notebook.
_NOTEBOOK = "notebook."

What = Literal["fix", "suppress", "all"]


@dataclass(frozen=True, slots=True)
class Offer:
    """An action that can be had: `index` is that of its finding, -1 for all of them."""

    what: What
    title: str
    kind: str
    index: int = -1
    preferred: bool = False


def offers(linted: Linted, uri: str, where: types.Range, only: Sequence[str] | None) -> Iterator[Offer]:
    """The actions for the rows of a range, of the kinds that are wanted."""
    if linted.settings is None:
        return
    at = [
        (index, finding)
        for index, finding in enumerate(linted.findings)
        if linted.snapshot.part_of(finding.start).uri == uri and _on_rows(linted.snapshot, finding, where)
    ]
    if _is_wanted(KINDS[0], only):
        yield from sorted(_quick_fixes(linted, at), key=lambda offer: not offer.preferred)
        for index, finding in at:
            if finding.code != INVALID_SYNTAX:
                title = f"Suppress {finding.code} on this line (# noqa: {finding.code})"
                yield Offer("suppress", title, KINDS[0], index)
    prefix = _NOTEBOOK if any(kind.startswith(_NOTEBOOK) for kind in only or ()) else ""
    if _is_wanted(prefix + FIX_ALL, only) and linted.has_fixes:
        yield Offer("all", "Make all safe fixes of tflint-perf", prefix + FIX_ALL)


def _quick_fixes(linted: Linted, at: Sequence[tuple[int, Finding]]) -> Iterator[Offer]:
    assert linted.settings is not None
    for index, finding in at:
        match applicability(finding, linted.settings), finding.fix:
            case "safe", fix if fix:
                yield Offer("fix", f"{fix.message} ({finding.code})", KINDS[0], index, preferred=True)
            case "unsafe", fix if fix:
                yield Offer("fix", f"{fix.message} ({finding.code}, unsafe fix)", KINDS[0], index)


def action(linted: Linted, offer: Offer) -> types.CodeAction:
    """The action without its edit."""
    diagnostics = None
    if offer.index >= 0 and linted.settings is not None:
        diagnostics = [diagnostic(linted.snapshot, linted.findings[offer.index], linted.settings)]
    preferred = offer.preferred or None
    return types.CodeAction(offer.title, offer.kind, diagnostics=diagnostics, is_preferred=preferred)


def edit(linted: Linted, what: What, index: int, versioned: bool) -> types.WorkspaceEdit | None:
    """What an action does; None where the document can't be written back.

    With `versioned`, the edit says which version of a document it is for.

    Raises:
        EditError: the fix can't be made, or would do harm.
    """
    source = source_of(linted)
    if source is None:
        return None
    match what:
        case "all":
            new = with_all_fixes(linted)
        case "fix":
            new = with_fix(source, linted.findings[index])
        case "suppress":
            new = source.apply([noqa(source, linted.findings[index])])
    return _workspace_edit(linted.snapshot, source, new, versioned)


def _workspace_edit(snapshot: Snapshot, old: Source, new: Source, versioned: bool) -> types.WorkspaceEdit:
    if snapshot.is_notebook:
        written = dict(new.cells())  # a cell that a fix empties is none that has code
        changed = [(snapshot.parts[number - 1], written.get(number, "")) for number, _ in old.cells()]
    else:
        part = snapshot.parts[0]
        changed = [(part, part.text.mark + new.written)]
    edits = [(part, part.text.edits_to(written)) for part, written in changed if part.text.whole != written]
    if not versioned:
        return types.WorkspaceEdit(changes={part.uri: made for part, made in edits})
    return types.WorkspaceEdit(
        document_changes=[
            types.TextDocumentEdit(
                types.OptionalVersionedTextDocumentIdentifier(part.uri, part.version), made
            )
            for part, made in edits
        ]
    )


def _on_rows(snapshot: Snapshot, finding: Finding, where: types.Range) -> bool:
    place = snapshot.range_of(finding.start, finding.end)
    return place.start.line <= where.end.line and where.start.line <= place.end.line


def _is_wanted(kind: str, only: Sequence[str] | None) -> bool:
    """Whether the kind, or one that it is a part of, is among those that are wanted."""
    return only is None or any(f"{kind}.".startswith(f"{wanted}.") for wanted in only)


def packed(offer: Offer, uri: str, number: int) -> dict[str, Any]:
    """What comes back with the question for an action's edit; `number` is that of the linting it is from."""
    return {"uri": uri, "number": number, "what": offer.what, "index": offer.index}
