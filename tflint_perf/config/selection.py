"""From what people write (`TFP1`, `unused-suppression`, `ALL`) to sets of codes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from tflint_perf.catalogue.evidence import Evidence
from tflint_perf.catalogue.judged import Judged, all_judged
from tflint_perf.catalogue.rules import RuleInfo, prefix_of
from tflint_perf.problems import LIKE_A_RULE, ConfigError, nearest
from tflint_perf.records import dataclass

T = TypeVar("T")
ALL = "ALL"
# A rule that cannot be selected or ignored: a file that does not parse has not been linted.
INVALID_SYNTAX = "invalid-syntax"
_UNTOUCHED = -1


@dataclass(frozen=True, slots=True)
class Layer:
    """One place that selects rules: a configuration file, or the command line.

    `where` tells for messages where a key stands.
    """

    where: Callable[[str], str]
    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    # What people call the keys: "fixable" and "unfixable" are resolved in the same way.
    select_key: str = "select"
    ignore_key: str = "ignore"


def default_rules(
    rules: Mapping[str, RuleInfo],
    evidence: Mapping[str, Sequence[Evidence]],
    judged: Mapping[str, Judged] | None = None,
) -> frozenset[str]:
    """The codes that are on when nothing is selected.

    A rule is on when a device on record has confirmed its claim, and nothing that its fix gains in the first step is lost in the
    steps after it. What a device refuted, left open or could
    not measure is not confirmed, and neither is what no device has tried yet. Rules without a claim need no
    confirmation. A rule is off, too, when less than half of what it found in programs that nobody here had seen was right:
    by what is on record, if `judged` is not given. Some are on whatever is said of them.

    Where there is no evidence at all, of any rule of a package on any device, there is nothing to judge by,
    and every rule of that package is on, except those that are opt-in: they are on only when they are selected.
    """
    tried = set(map(prefix_of, evidence))
    judged = all_judged() if judged is None else judged
    return frozenset(
        code
        for code, rule in rules.items()
        if not rule.opt_in
        and (
            prefix_of(code) not in tried
            or rule.always_on
            or (
                not judged.get(code, Judged()).is_seldom_right
                and (rule.claim is None or any(record.holds for record in evidence.get(code, ())))
            )
        )
    )


def resolve(
    layers: Iterable[Layer], default: frozenset[str], rules: Mapping[str, RuleInfo]
) -> frozenset[str]:
    """The codes that remain on when each layer has had its say on the one before.

    A layer with `select` starts anew; one without changes what it names. Within a layer the longest
    selector that fits a code decides, and `ignore` where both are equally long.
    """
    chosen = default
    for layer in layers:
        base = frozenset() if layer.select is not None else chosen
        wanted = _lengths(layer.select or (), rules, layer.where(layer.select_key))
        for code, length in _lengths(layer.extend_select, rules, layer.where("extend-select")).items():
            wanted[code] = max(length, wanted.get(code, _UNTOUCHED))
        unwanted = _lengths(layer.ignore, rules, layer.where(layer.ignore_key))
        chosen = frozenset(
            code
            for code in rules
            if _is_on(wanted.get(code, _UNTOUCHED), unwanted.get(code, _UNTOUCHED), code in base)
        )
    return chosen


def _is_on(wanted: int, unwanted: int, before: bool) -> bool:
    if wanted == unwanted == _UNTOUCHED:
        return before
    return wanted > unwanted


def _lengths(selectors: Iterable[str], rules: Mapping[str, RuleInfo], where: str) -> dict[str, int]:
    """By code, the length of the longest selector that fits it."""
    lengths: dict[str, int] = {}
    for selector in selectors:
        for code in codes_of(selector, rules, where):
            lengths[code] = max(_length(selector, code), lengths.get(code, _UNTOUCHED))
    return lengths


def _length(selector: str, code: str) -> int:
    if selector == ALL:
        return 0
    return len(selector if code.startswith(selector) else code)  # a name counts as much as the whole code


def by_code(table: Mapping[str, T], rules: Mapping[str, RuleInfo], where: str) -> dict[str, T]:
    """What a table says of each code: where several of its selectors fit, what stands at the longest.

    Raises:
        ConfigError: a selector fits no rule.
    """
    found: dict[str, tuple[int, T]] = {}
    for selector, value in table.items():
        for code in codes_of(selector, rules, where):
            length = _length(selector, code)
            if length > found.get(code, (_UNTOUCHED, value))[0]:
                found[code] = length, value
    return {code: value for code, (_, value) in sorted(found.items())}


def codes_of(selector: str, rules: Mapping[str, RuleInfo], where: str) -> frozenset[str]:
    """The codes that a selector fits: `ALL`, a rule's name, or the beginning of a code.

    Raises:
        ConfigError: it fits none.
    """
    if selector == ALL:
        return frozenset(rules)
    fitting = {
        code for code, rule in rules.items() if rule.name == selector or code.startswith(selector or " ")
    }
    if fitting:
        return frozenset(fitting)
    if selector == INVALID_SYNTAX:
        raise ConfigError(
            f"`{INVALID_SYNTAX}` is always on, an error, and cannot be selected or ignored", where
        )
    known = [*rules, *(rule.name for rule in rules.values()), ALL]
    raise ConfigError(f"unknown rule `{selector}`{nearest(selector, known, LIKE_A_RULE)}", where)


def all_codes_of(selectors: Iterable[str], rules: Mapping[str, RuleInfo], where: str) -> frozenset[str]:
    """The codes that any of the selectors fits."""
    return frozenset().union(*(codes_of(selector, rules, where) for selector in selectors))
