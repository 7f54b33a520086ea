"""Code actions: quick fixes, the suppression of a finding, all fixes of a rule, and all at once."""

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
# Not below `source.fixAll`, which editors can be told to do on saving.
ALL_OF_RULE = "quickfix.tflint-perf.rule"
ALL_UNSAFE = "quickfix.tflint-perf.unsafe"
# What editors put before a kind that they want for the whole of a notebook.
_NOTEBOOK = "notebook."

What = Literal["fix", "suppress", "all", "rule", "rule, unsafe too", "unsafe too", "nothing"]
_REFUSED = "no fix: "


@dataclass(frozen=True, slots=True)
class Offer:
    """An action that can be had: `index` is that of its finding, -1 for all of them.

    One with a `refusal` is shown with that reason, and can't be had.
    """

    what: What
    title: str
    kind: str
    index: int = -1
    preferred: bool = False
    refusal: str = ""


def offers(
    linted: Linted, uri: str, where: types.Range, only: Sequence[str] | None, disabled: bool = False
) -> Iterator[Offer]:
    """The actions for the rows of a range, of the kinds that are wanted; with `disabled`, also fixes that are refused."""
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
        if disabled:
            yield from _refused(linted, at)
    yield from (offer for offer in _many_fixes(linted, at) if _is_wanted(offer.kind, only))
    prefix = _NOTEBOOK if any(kind.startswith(_NOTEBOOK) for kind in only or ()) else ""
    if _is_wanted(prefix + FIX_ALL, only) and linted.has_fixes:
        yield Offer("all", "Apply all safe fixes of tflint-perf", prefix + FIX_ALL)


def _quick_fixes(linted: Linted, at: Sequence[tuple[int, Finding]]) -> Iterator[Offer]:
    assert linted.settings is not None
    for index, finding in at:
        match applicability(finding, linted.settings), finding.fix:
            case "safe", fix if fix:
                yield Offer("fix", f"{fix.message} ({finding.code})", KINDS[0], index, preferred=True)
            case "unsafe", fix if fix:
                yield Offer("fix", f"{fix.message} ({finding.code}, unsafe fix)", KINDS[0], index)


def _refused(linted: Linted, at: Sequence[tuple[int, Finding]]) -> Iterator[Offer]:
    """The fixes that can't be made, with the reason."""
    assert linted.settings is not None
    for index, finding in at:
        refusal = ""
        if finding.fix is None and (finding.note or "").startswith(_REFUSED):
            refusal = (finding.note or "").removeprefix(_REFUSED)
        elif finding.fix is not None and applicability(finding, linted.settings) is None:
            refusal = "the configuration turns off the fixes of this rule"
        if refusal:
            yield Offer("nothing", f"Fix {finding.code}", KINDS[0], index, refusal=refusal)


def _many_fixes(linted: Linted, at: Sequence[tuple[int, Finding]]) -> Iterator[Offer]:
    """All fixes of a rule that is found there more than once in the document, and all fixes, where some are unsafe."""
    settings = linted.settings
    assert settings is not None
    known = [(finding.code, applicability(finding, settings)) for finding in linted.findings]
    first: dict[str, int] = {}
    for index, finding in at:
        first.setdefault(finding.code, index)
    for code, index in first.items():
        safe, unsafe = known.count((code, "safe")), known.count((code, "unsafe"))
        if safe > 1:
            yield Offer("rule", f"Apply all safe fixes of {code} ({safe})", ALL_OF_RULE, index)
        if unsafe and safe + unsafe > 1:
            title = f"Apply all fixes of {code}, unsafe ones too ({safe + unsafe})"
            yield Offer("rule, unsafe too", title, ALL_OF_RULE, index)
    if any(known[index][1] is not None for index, _ in at) and any(how == "unsafe" for _, how in known):
        yield Offer("unsafe too", "Apply all fixes of tflint-perf, unsafe ones too", ALL_UNSAFE)


def action(linted: Linted, offer: Offer) -> types.CodeAction:
    """The action without its edit."""
    diagnostics = None
    if offer.index >= 0 and linted.settings is not None:
        diagnostics = [diagnostic(linted.snapshot, linted.findings[offer.index], linted.settings)]
    preferred = offer.preferred or None
    disabled = types.CodeActionDisabled(offer.refusal) if offer.refusal else None
    return types.CodeAction(
        offer.title, offer.kind, diagnostics=diagnostics, is_preferred=preferred, disabled=disabled
    )


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
        case "nothing":
            return None
        case "all":
            new = with_all_fixes(linted)
        case "unsafe too":
            new = with_all_fixes(linted, unsafe=True)
        case "rule" | "rule, unsafe too":
            new = with_all_fixes(linted, linted.findings[index].code, unsafe=what != "rule")
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
