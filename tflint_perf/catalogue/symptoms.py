"""What people see of slow training, in their words, and which rules each of it leads to: the rows of `symptoms.toml`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from tflint_perf.records import dataclass

if sys.version_info >= (3, 11):
    import tomllib as toml
else:
    import tomli as toml

if TYPE_CHECKING:
    from tflint_perf.catalogue.rules import RuleInfo


@dataclass(frozen=True, slots=True)
class Cause:
    """Why it may come to a symptom, and the codes of the rules that find that."""

    why: str
    codes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Symptom:
    """What somebody sees; what its fields mean stands at the top of `symptoms.toml`."""

    name: str
    title: str
    says: str
    phrases: tuple[str, ...]
    claims: tuple[str, ...]
    causes: tuple[Cause, ...]
    beside: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """What somebody sees and no rule finds, and where to look instead."""

    title: str
    says: str
    phrases: tuple[str, ...]


_TABLE = toml.loads(files(__package__ or "").joinpath("symptoms.toml").read_text(encoding="utf-8"))


def _symptom(row: Mapping[str, Any]) -> Symptom:
    causes = tuple(Cause(cause["why"], tuple(cause["codes"])) for cause in row["cause"])
    phrases, claims, beside = (tuple(row[name]) for name in ("phrases", "claims", "beside"))
    return Symptom(row["name"], row["title"], row["says"], phrases, claims, causes, beside)


SYMPTOMS: tuple[Symptom, ...] = tuple(map(_symptom, _TABLE["symptom"]))
ELSEWHERE: tuple[Elsewhere, ...] = tuple(
    Elsewhere(row["title"], row["says"], tuple(row["phrases"])) for row in _TABLE["elsewhere"]
)
# Rules that no symptom leads to, and why.
UNREACHED: Mapping[str, str] = _TABLE["unreached"]
# Words that say nothing of what is seen.
_EMPTY = frozenset(_TABLE["empty"])
# How much of a word must be as it is known, so that a slip of the pen counts as it.
_NEAR = 0.8
_WORD = re.compile(r"[a-z0-9]+")
_ENDINGS = re.compile(r"(?<=[a-z]{3})(?:ing|ed|es|s|e)$")


def causes_of(symptom: Symptom, rules: Mapping[str, RuleInfo]) -> Sequence[Cause]:
    """Why it may come to this, each with the rules that are there; last those that only their claim leads here."""
    named = [Cause(cause.why, tuple(filter(rules.__contains__, cause.codes))) for cause in symptom.causes]
    sorted_in = {code for cause in named for code in cause.codes} | UNREACHED.keys()
    claimed = (code for code, rule in rules.items() if claims_it(rule, symptom))
    more = Cause("More that costs this.", tuple(code for code in claimed if code not in sorted_in))
    return [cause for cause in (*named, more) if cause.codes]


def codes_of(symptom: Symptom, rules: Mapping[str, RuleInfo]) -> Sequence[str]:
    """The codes of the rules that a symptom leads to, each once."""
    return tuple(dict.fromkeys(code for cause in causes_of(symptom, rules) for code in cause.codes))


def symptoms_of(code: str, rules: Mapping[str, RuleInfo]) -> Sequence[Symptom]:
    """The symptoms that lead to a rule."""
    return [symptom for symptom in SYMPTOMS if code in codes_of(symptom, rules)]


def symptoms_like(words: str) -> Sequence[Symptom]:
    """The symptoms that somebody means by these words, the likeliest alone or several alike, the narrower first; none for
    unknown words.

    A name or a title means its symptom. Else what counts is the phrase of most words that are all among the given ones,
    whatever their order, their endings and what stands between them; a mistyped word counts as the nearest one known.
    """
    wanted = words.strip().casefold()
    for symptom in SYMPTOMS:
        if wanted in (symptom.name, symptom.title.casefold()):
            return [symptom]
    given = _known(_stems(words))
    scores = {symptom.name: _score(symptom, given) for symptom in SYMPTOMS}
    best = max(scores.values())
    alike = [symptom for symptom in SYMPTOMS if best and scores[symptom.name] == best]
    return sorted(alike, key=lambda symptom: sum(len(cause.codes) for cause in symptom.causes))


def elsewhere_like(words: str) -> Sequence[Elsewhere]:
    """What somebody means by these words that is no matter of this tool."""
    given = _stems(words)
    return [one for one in ELSEWHERE if any(_stems(phrase) <= given for phrase in one.phrases)]


def claims_it(rule: RuleInfo, symptom: Symptom) -> bool:
    """Whether what a rule claims to cost is what somebody sees of a symptom."""
    return _claimed(rule) in symptom.claims


def _claimed(rule: RuleInfo) -> str:
    return "correctness" if rule.claim is None else f"{rule.claim.metric} {rule.claim.kind}"


def _score(symptom: Symptom, given: frozenset[str]) -> int:
    phrases = (_stems(phrase) for phrase in symptom.phrases)
    return max((len(phrase) for phrase in phrases if phrase <= given), default=0)


def _stems(text: str) -> frozenset[str]:
    """The words of a text that say something, without their endings."""
    return frozenset(_ENDINGS.sub("", word) for word in _WORD.findall(text.casefold()) if word not in _EMPTY)


def _known(given: Iterable[str]) -> frozenset[str]:
    """Words as the phrases have them, as far as they are near to one."""
    from difflib import get_close_matches  # only needed when a symptom is asked for

    known = {word for symptom in SYMPTOMS for phrase in symptom.phrases for word in _stems(phrase)}
    near = (get_close_matches(word, known, n=1, cutoff=_NEAR if len(word) > 3 else 1) for word in given)
    return frozenset(word for found in near for word in found)
