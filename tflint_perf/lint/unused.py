"""What is wrong with suppressions: TFP001 for unused ones, with a fix, and TFP002 for unknown codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property

from tflint_perf.catalogue.own_rules import OWN_RULES
from tflint_perf.config.settings import Settings
from tflint_perf.finding import Edit, Finding, Fix
from tflint_perf.lint.comments import VERBS, Directive, Item, Mark
from tflint_perf.problems import LIKE_A_RULE, nearest
from tflint_perf.text.source import Source

_UNUSED, _UNKNOWN = "TFP001", "TFP002"


def about_suppressions(
    source: Source,
    directives: Sequence[Directive],
    used: AbstractSet[Mark],
    settings: Settings,
    known: Mapping[str, str],
    with_own: bool,
) -> list[tuple[Finding, frozenset[Mark]]]:
    """Findings about the suppressions that are not in `used`, of the codes that are enabled.

    Each comes with the suppressions that it is about.
    `with_own` says whether suppressions of these findings themselves can be unused.
    """
    findings: list[tuple[Finding, frozenset[Mark]]] = []
    if _UNKNOWN in settings.rules:
        for directive in directives:
            findings += ((finding, frozenset()) for finding in _unknown(source, directive, known))
    if _UNUSED in settings.rules:
        judged = _Judge(directives, used, settings, known, with_own)
        for directive in directives:
            unused = judged.unused(directive)
            if unused:
                subject = frozenset((directive, item) for item in unused)
                findings.append((_unused(source, directive, unused), subject))
    return findings


class _Judge:
    def __init__(
        self,
        directives: Sequence[Directive],
        used: AbstractSet[Mark],
        settings: Settings,
        known: Mapping[str, str],
        with_own: bool,
    ) -> None:
        self._directives, self._used, self._known = directives, used, known
        self._rules, self._with_own = settings.rules, with_own
        self._by_text: dict[str, frozenset[str]] = {}

    def unused(self, directive: Directive) -> list[Item | None]:
        """The items of the directive that do nothing, [None] if it has none and does nothing itself."""
        if directive.verb not in ("noqa", *VERBS) or (directive.is_noqa and directive.items is None):
            return []
        items: Iterable[Item | None] = directive.own if directive.items is not None else [None]
        return [item for item in items if self._is_unused(directive, item)]

    def _is_unused(self, directive: Directive, item: Item | None) -> bool:
        if (directive, item) in self._used:
            return False
        selected = self._selected(item)
        judged = selected - OWN_RULES.keys() or (selected if self._with_own else frozenset())
        if not judged or not judged <= self._rules:
            return False
        return directive.verb != "enable" or not self._ends_something(directive, selected)

    def _selected(self, item: Item | None) -> frozenset[str]:
        text = item.text if item is not None else ""
        known = self._by_text.get(text)
        if known is None:
            known = frozenset(self._known) if item is None else item.selects(self._known)
            self._by_text[text] = known
        return known

    def _ends_something(self, enable: Directive, selected: frozenset[str]) -> bool:
        return any(self._disabled_from.get(code, enable.start) < enable.start for code in selected)

    @cached_property
    def _disabled_from(self) -> dict[str, int]:
        """Where a code is first disabled to any effect."""
        first: dict[str, int] = {}
        for directive in self._directives:
            items = directive.items if directive.items is not None else [None]
            for item in items if directive.verb == "disable" else ():
                if not self._is_unused(directive, item):
                    for code in self._selected(item):
                        first.setdefault(code, directive.start)
        return first


def _unknown(source: Source, directive: Directive, known: Mapping[str, str]) -> list[Finding]:
    if directive.verb not in ("noqa", *VERBS):
        guess = nearest(directive.verb, VERBS)
        if not guess and not directive.bracket:  # a comment about this tool
            return []
        message = f"`{directive.verb}` is not a suppression{guess}; it does nothing"
        return [_finding(source, _UNKNOWN, message, directive.start, directive.end)]
    names = {name.lower() for name in known.values()}
    return [
        _finding(source, _UNKNOWN, f"no rule is called `{item.text}`{guess}", item.start, item.end)
        for item in directive.own
        if not item.selects(known)
        for guess in [nearest(item.text, [*known, *names], LIKE_A_RULE)]
    ]


def _unused(source: Source, directive: Directive, unused: list[Item | None]) -> Finding:
    items = [item for item in unused if item is not None]
    if len(items) < len(directive.items or ()):
        verb, them = ("suppresses", "it") if len(items) == 1 else ("suppress", "them")
        shown = ", ".join(f"`{item.text}`" for item in items)
        message, remove = f"{shown} {verb} nothing here; remove {them}", f"Remove {shown}"
        edit = _without_items(source, directive, items)
        start, end = items[0].start, items[-1].end
    else:
        shown = source.text[directive.start + 1 : directive.end].strip()
        message, remove = f"`{shown}` suppresses nothing; remove it", f"Remove `{shown}`"
        edit = _without_directive(source, directive)
        start, end = directive.start, directive.end
    return _finding(source, _UNUSED, message, start, end, Fix(remove, (edit,), safe=True))


def _without_items(source: Source, directive: Directive, items: list[Item]) -> Edit:
    all_items = directive.items or ()
    text = ""
    at = all_items[0].start
    for item in all_items:
        if item not in items:
            text += source.text[at : item.start] * bool(text) + item.text
        at = item.end
    return _edit(source, all_items[0].start, all_items[-1].end, text)


def _without_directive(source: Source, directive: Directive) -> Edit:
    """Take the directive out of its comment, and keep what else the comment says."""
    text, comment = source.text, directive.comment
    after = text[directive.end : comment.end].lstrip()
    if after:
        return _edit(source, directive.start, comment.end - len(after), "" if after.startswith("#") else "# ")
    if comment.start == directive.start and comment.alone:
        row_start = source.offset(comment.row, 1)
        is_last = comment.end == len(text)
        return _edit(source, row_start, comment.end if is_last else source.offset(comment.row + 1, 1), "")
    before = len(text[: directive.start].rstrip(" \t"))
    return _edit(source, before, comment.end, "")


def _edit(source: Source, start: int, end: int, content: str) -> Edit:
    return Edit(source.place(start), source.place(end), content)


def _finding(
    source: Source, code: str, message: str, start: int, end: int, fix: Fix | None = None
) -> Finding:
    place = source.place(start)
    lines = source.lines(source.row(start), source.row(start))
    return Finding(code, OWN_RULES[code].name, message, place, source.place(end), lines, place.row, fix)
