"""The page that sets each belief beside what was measured: `python -m tflint_perf.verify.beliefs_page` prints it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence

from tflint_perf.catalogue.evidence import Evidence, all_evidence, read_evidence
from tflint_perf.catalogue.measured import effect_of, figure_of
from tflint_perf.catalogue.rules import catalogue
from tflint_perf.verify.beliefs import FOLDER, Articles, Belief, all_beliefs, read_articles
from tflint_perf.verify.experiment import belief_experiments, fixtures
from tflint_perf.verify.words import claimed

_INTRODUCTION = """\
# What people believe, and what was measured

Articles about slow TensorFlow training give reasons. Each reason below is put in our own words and tried by two
small training scripts: `slow.py` does what is said to be slow or to fill the memory, `fast.py` is the same with the
remedy. Both must compute the same losses. A belief is *confirmed* when the interval of the effect lies beyond the least
effect that would make it true in practice, *refuted* when it lies short of it ([how that is
judged](experiments.md#a-verdict)). Where a growth is claimed, the effect is how much more the last quarter of the steps
takes than the first. Numbers such as 002 stand for [the articles](#the-articles) that say so.

Try them on your own machine:

    pip install 'tflint-perf[verify]'
    tflint-perf verify --beliefs                             # all of them
    tflint-perf verify --beliefs eager-loop-grows-graph      # one
    tflint-perf verify --beliefs --report beliefs/           # with a page of charts

This page is made from the evidence on record: `python -m tflint_perf.verify.beliefs_page > docs/beliefs.md`.
"""
_NOT_MEASURED = "not measured"

OnRecord = Mapping[str, Sequence[Evidence]]


def page(
    beliefs: Mapping[str, Belief], on_record: OnRecord, articles: Articles, rules: OnRecord
) -> Iterator[str]:
    """The lines of the page.

    Args:
        beliefs: every belief by name.
        on_record: what was measured of them.
        articles: what they are from.
        rules: the evidence of the rules, by code.
    """
    yield from _INTRODUCTION.splitlines()
    yield ""
    yield from _table(
        ("belief", "articles", "measured", "verdict"),
        [
            (
                f"[{belief.title}](#{name})",
                _numbers(belief),
                *_measured(on_record.get(name, ()), not_on_gpu=bool(belief.on_gpu)),
            )
            for name, belief in beliefs.items()
        ],
    )
    for name, belief in beliefs.items():
        yield ""
        yield from _section(belief, on_record.get(name, ()))
    yield ""
    yield from _rules(articles, rules)
    yield ""
    yield from _left_over(articles)
    yield ""
    yield "## The articles"
    yield ""
    for number, title in articles.titles.items():
        yield f"- {number}: *{title}*"


def _section(belief: Belief, evidence: Sequence[Evidence]) -> Iterator[str]:
    (experiment,) = belief_experiments([belief.name], fixtures() / FOLDER)
    folder = f"../fixtures/{FOLDER}/{belief.name}"
    yield f'<a id="{belief.name}"></a>'
    yield ""
    yield f"## {belief.title}"
    yield ""
    places = "; ".join(f"[{number}](#the-articles), {place}" for number, place in belief.places.items())
    yield f"**Said** ({places}): {belief.says}"
    yield ""
    where = ", on a GPU" if experiment.claim.needs_gpu else ""
    tried = f"**Tried**: {claimed(experiment.claim)}{where}; [slow.py]({folder}/slow.py), [fast.py]({folder}/fast.py)."
    yield f"{tried} `tflint-perf verify --beliefs {belief.name}`"
    yield ""
    for record in evidence:
        yield f"**Measured**: {_sentence(record)}"
        yield ""
    if not evidence:
        yield f"**Measured**: {_NOT_MEASURED} yet."
        yield ""
    if belief.on_gpu and not _on_gpu(evidence):
        yield f"**Not measured** on a GPU: {belief.on_gpu}"
        yield ""
    yield f"**Why**: {belief.why}"
    yield ""
    yield f"Sources: {', '.join(f'[{title}]({address})' for title, address in belief.sources)}."


def _numbers(belief: Belief) -> str:
    """The articles by their numbers, which lead to their titles."""
    return ", ".join(f"[{number}](#the-articles)" for number in belief.articles)


def _sentence(evidence: Evidence) -> str:
    where = f"on {evidence.device} with TensorFlow {evidence.versions['tensorflow']}, {evidence.date}"
    if (effect := effect_of(evidence.record)) is None:
        return f"{evidence.verdict} {where}: {evidence.record['reason'].rstrip('.')}."
    figures = f"slow {figure_of(evidence.record, 'slow')}, fast {figure_of(evidence.record, 'fast')}"
    return f"**{evidence.verdict}** {where}: {effect}; {figures}."


def _rules(articles: Articles, evidence: OnRecord) -> Iterator[str]:
    yield "## What a rule is about"
    yield ""
    yield "Some of what the articles say is the business of a rule, and measured as such: `tflint-perf rule CODE`."
    yield ""
    rules = catalogue()
    yield from _table(
        ("said", "rule", "what it costs", "the rule's claim is"),
        [
            (said, f"{code} {rules[code].name}", *_measured(evidence.get(code, ())))
            for code, said in articles.rules.items()
        ],
    )


def _left_over(articles: Articles) -> Iterator[str]:
    yield "## What was not measured"
    yield ""
    yield from _table(("said", "where", "not measured"), articles.not_measured)
    yield ""
    yield "## Snippets that fail"
    yield ""
    yield "With TensorFlow 2.16 and later, these end with an error as they stand:"
    yield ""
    for where, how in articles.snippets.items():
        yield f"- {where}: {how}"


def _on_gpu(evidence: Sequence[Evidence]) -> bool:
    return any(record.kind == "gpu" for record in evidence)


def _measured(evidence: Sequence[Evidence], *, not_on_gpu: bool = False) -> tuple[str, str]:
    """The effects and the verdicts, device by device; `not_on_gpu` says that a CPU does not show it all."""
    if not evidence:
        return _NOT_MEASURED, ""
    effects = [f"{effect_of(record.record) or _NOT_MEASURED} on {record.where}" for record in evidence]
    verdicts = [f"{record.verdict} on {record.where}" for record in evidence]
    if not_on_gpu and not _on_gpu(evidence):
        verdicts.append("not measured on a GPU")
    return "<br>".join(effects), "<br>".join(verdicts)


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    for row in (columns, ["---"] * len(columns), *rows):
        yield f"| {' | '.join(row)} |"


def main() -> None:
    """Print the page."""
    folder = fixtures() / FOLDER
    lines = page(all_beliefs(), read_evidence(folder / "evidence"), read_articles(folder), all_evidence())
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
