"""The report of a run as one page that needs no network: each experiment's figures, verdict and charts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from tflint_perf.catalogue.cost_over_sizes import SIZES_HEADER, cost_over_sizes, rows_of_sizes
from tflint_perf.catalogue.figures import change, count, ratio, seconds, size
from tflint_perf.catalogue.measured import effect_of, figure_of, worse_of
from tflint_perf.verify.about import About, about
from tflint_perf.verify.chart import draw, draw_effect, heading_of
from tflint_perf.verify.experiment import claim_of
from tflint_perf.verify.learning import share
from tflint_perf.verify.markup import Content, as_page, element, prose, styles, table
from tflint_perf.verify.series import SIDES, charts_of
from tflint_perf.verify.words import claimed

FILE = "index.html"
_TITLE = "What the experiments say"
_VERDICTS = ("confirmed", "refuted", "inconclusive", "too noisy", "agrees", "not measurable", "failed")
_JUDGED = frozenset({"confirmed", "refuted", "inconclusive"})
_NOTHING = "\N{EN DASH}"
_OVERVIEW = ("experiment", "verdict", "claim", "slow", "fast", "effect (interval)", "beside the claim")
_RUNS = ("pair", "script", "first step", "step", "growth", "memory", "live tensors", "traces", "graph ops")
# From this column on, a table of runs holds figures.
_FIRST_FIGURE = 2


def write_page(document: Mapping[str, Any], folder: Path) -> Path:
    """Write the report of one evidence document into a folder, which is made if need be.

    Returns:
        The page, `index.html`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / FILE
    page.write_text(page_text(document), encoding="utf-8")
    return page


def page_text(document: Mapping[str, Any]) -> str:
    """The page as HTML."""
    results = {about(key): result for key, result in document["results"].items()}
    sections = [_section(subject, result) for subject, result in results.items()]
    body = element(
        "body", _header(document), element("main", _overview(results), *sections), _footer(document)
    )
    return as_page(f"{_TITLE}, {document['device']['name']}", styles(), body)


def _header(document: Mapping[str, Any]) -> Element:
    device, versions = document["device"], document["versions"]
    driver = f", driver {device['driver']}" if device["driver"] else ""
    used = ", ".join(
        f"{name} {versions[key]}"
        for name, key in (("TensorFlow", "tensorflow"), ("Keras", "keras"), ("Python", "python"))
        if key in versions
    )
    tally = Counter(result["verdict"] for result in document["results"].values())
    return element(
        "header",
        element("h1", _TITLE),
        element("p", f"{device['name']}{driver}. {used}. {document['date']}.", class_="facts"),
        element(
            "ul",
            *(
                element("li", f"{tally[verdict]} {verdict}", class_=_badge(verdict))
                for verdict in _VERDICTS
                if tally[verdict]
            ),
            class_="tally",
        ),
    )


def _overview(results: Mapping[About, Mapping[str, Any]]) -> Element:
    rows = [_overview_row(subject, result) for subject, result in results.items()]
    return element("div", table("All experiments", _OVERVIEW, rows, figures=range(3, 6)), class_="card")


def _overview_row(subject: About, result: Mapping[str, Any]) -> Sequence[Content]:
    effect, least = result.get("effect"), result["claim"]["least"]
    said = effect_of(result) or _NOTHING
    return (
        element("a", *_name(subject), href=f"#{_anchor(subject)}"),
        element("span", result["verdict"], class_=_badge(result["verdict"])),
        claimed(claim_of(result["claim"])).replace("at least", "\N{GREATER-THAN OR EQUAL TO}"),
        figure_of(result, "slow") or _NOTHING,
        figure_of(result, "fast") or _NOTHING,
        said,
        draw_effect(effect, least, f"{said}; claimed: at least {least:g}×") if effect else _NOTHING,
    )


def _section(subject: About, result: Mapping[str, Any]) -> Element:
    verdict = result["verdict"]
    return element(
        "section",
        element(
            "div",
            element("h2", *_name(subject)),
            element("span", verdict, class_=_badge(verdict)),
            class_="head",
        ),
        *([element("p", *prose(f"{subject.summary.rstrip('.')}."))] if subject.summary else []),
        element("p", " ".join(_sentences(result)), class_="facts"),
        *_over_sizes(subject, result),
        *_figures(subject, result),
        *_details(subject, result),
        class_="card",
        id=_anchor(subject),
    )


def _sentences(result: Mapping[str, Any]) -> Iterator[str]:
    yield f"Claim: {claimed(claim_of(result['claim']))}."
    slow, fast, effect = figure_of(result, "slow"), figure_of(result, "fast"), effect_of(result)
    if slow and fast and effect:
        yield f"Measured: slow {slow}, fast {fast}, effect {effect}."
    # A verdict's reason is its figure beside the claim, which has just been said.
    if (reason := result.get("reason")) and not (effect and result["verdict"] in _JUDGED):
        yield f"{reason[0].upper()}{reason[1:].rstrip('.')}."
    for worse in worse_of(result):
        yield f"The fast script does worse: {worse}."
    losses = result.get("losses")
    if losses and losses["difference"] is not None:
        agree = "agree" if losses["agree"] else "do not agree"
        yield f"The losses {agree}; their largest relative difference is {losses['difference']:.1g}."
    if losses and losses.get("steps") is not None:
        yield f"{_weights(losses)}."


def _weights(losses: Mapping[str, Any]) -> str:
    """What is known of the weights at the end of the steps that were compared."""
    compared = f"After {losses['steps']:,} steps of each script, trained weights"
    if losses["weights"] is None:
        return f"{compared} were not compared: {losses['not_compared']}"
    return f"{compared} differ by {share(losses['weights'])} of what training moved them"


def _over_sizes(subject: About, result: Mapping[str, Any]) -> Iterator[Element]:
    """What was measured at each size, where there are several, and what that says of the cost."""
    rows = list(rows_of_sizes(result))
    if len(rows) < 2:
        return
    said = cost_over_sizes(result)
    yield element("p", f"{said or f'At {len(rows)} sizes'}.", class_="facts")
    yield table(f"Sizes of {subject.name}", SIZES_HEADER, rows, figures=range(2, 5))


def _figures(subject: About, result: Mapping[str, Any]) -> Iterator[Element]:
    charts = [
        element("figure", element("h3", heading_of(chart)), draw(chart, subject.name))
        for chart in charts_of(result)
    ]
    if charts:
        yield element("div", *charts, class_="charts")


def _details(subject: About, result: Mapping[str, Any]) -> Iterator[Element]:
    if result.get("pairs"):
        shown = table(
            f"Runs of {subject.name}", _RUNS, list(_run_rows(result)), range(_FIRST_FIGURE, len(_RUNS))
        )
        yield element("details", element("summary", f"All {2 * len(result['pairs'])} runs"), shown)
    if output := result.get("output"):
        yield element("details", element("summary", "What the script wrote"), element("pre", output), open="")


def _run_rows(result: Mapping[str, Any]) -> Iterator[Sequence[Content]]:
    for number, pair in enumerate(result["pairs"], 1):
        for side in SIDES:
            run = pair[side]
            tensors = run["live_tensors_per_step"]
            yield (
                str(number),
                side,
                seconds(run["first_step"]),
                seconds(run["step"]),
                _NOTHING if run["growth"] is None else ratio(run["growth"]),
                f"{change(size(run['host_bytes_per_step']))} a step",
                _NOTHING if tensors is None else f"{change(count(tensors))} a step",
                f"{run['traces']:,}",
                _NOTHING if run["graph_ops"] is None else f"{run['graph_ops']:,}",
            )


def _footer(document: Mapping[str, Any]) -> Element:
    return element(
        "footer",
        element(
            "p",
            "Each experiment runs a slow and a fast script in turn, each run in a process of its own. Thick lines are "
            "the middle run of each script, thin ones the others. An effect is the median over the pairs with its "
            "interval, of five pairs from the least to the largest, which is 93.75%. It is confirmed when an "
            "interval twice as wide lies beyond the claim, and refuted when it lies short of it. Growth compares the last quarter of the steps with the first.",
        ),
        element("p", "Made by ", element("code", "tflint-perf verify"), f" on {document['date']}."),
    )


def _name(subject: About) -> Sequence[Content]:
    if not subject.code:
        return prose(subject.title)
    return element("span", subject.code, class_="code"), f" {subject.title}"


def _badge(verdict: str) -> str:
    return f"verdict {verdict.replace(' ', '-')}"


def _anchor(subject: About) -> str:
    return re.sub(r"[^a-z0-9]+", "-", (subject.code or subject.title).lower()).strip("-")
