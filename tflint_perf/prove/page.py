"""A proof as one page that needs no network, drawn as the reports of `verify` are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from tflint_perf.catalogue.figures import seconds
from tflint_perf.prove.telling import (
    HEADER,
    PLACES,
    effect_of,
    figures,
    headline,
    name_of,
    notes,
    places_of,
    so_far,
    told,
)
from tflint_perf.verify.chart import draw, draw_effect, heading_of
from tflint_perf.verify.markup import Content, as_page, element, prose, styles, table
from tflint_perf.verify.page import FILE
from tflint_perf.verify.series import SIDES, charts_of

_NAMES = dict(zip(SIDES, ("before", "after"), strict=True))
_NOTHING = "\N{EN DASH}"
_FIXES = ("fix", "at", "verdict", "before", "after", "times as fast (interval)", "", "learned")
# The colours of `verify` for what came of a fix.
_BADGES = {
    "pays": "confirmed",
    "no difference": "not-measurable",
    "slower": "refuted",
    "different": "refuted",
    "breaks": "failed",
    "unknown": "inconclusive",
    "not reached": "not-measurable",
    "needs a GPU": "not-measurable",
}
_LEARNED = {"same": "the same", "different": "something else", "unknown": "unknown"}
_RESULTS = {
    "proved": "confirmed",
    "nothing to fix": "not-measurable",
    "nothing pays": "inconclusive",
    "not confirmed": "refuted",
    "stopped": "inconclusive",
}

Document = Mapping[str, Any]


def write_page(document: Document, runs: Mapping[str, Any] | None, folder: Path) -> Path:
    """Write the page of a proof into a folder, which is made if need be; `runs` are those of the whole, for the charts.

    Returns:
        The page, `index.html`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / FILE
    page.write_text(page_text(document, runs), encoding="utf-8")
    return page


def page_text(document: Document, runs: Mapping[str, Any] | None) -> str:
    """The page as HTML."""
    program = " ".join(document["program"])
    title = f"What fixing {program} brings"
    main = element("main", *_whole(document, runs), *_fixes(document))
    footer = element(
        "footer",
        element(
            "p",
            "Each run is a process of its own in a copy of the project. Ratios above 1 are faster; they are medians over pairs "
            "of runs with their interval. Thick lines are the middle run of each version, thin ones the others.",
        ),
        element("p", "Made by ", element("code", "tflint-perf prove"), f" on {document['date']}."),
    )
    header = element(
        "header",
        element("h1", title),
        element("p", " ".join(notes(document)), class_="facts"),
        _tally(document),
    )
    return as_page(title, styles(), element("body", header, main, footer))


def _tally(document: Document) -> Element:
    result = document["result"]
    return element("ul", element("li", result, class_=f"verdict {_RESULTS[result]}"), class_="tally")


def _whole(document: Document, runs: Mapping[str, Any] | None) -> Iterator[Element]:
    said = headline(document)
    content = [element("h2", f"{said[0].upper()}{said[1:]}.")]
    whole = document["whole"]
    if whole is not None:
        content.append(table("Before and after", HEADER, list(figures(whole)), range(1, 3)))
    if runs is not None:
        content.append(
            element(
                "div",
                *(
                    element(
                        "figure", element("h3", heading_of(chart)), draw(chart, " ".join(document["program"]))
                    )
                    for chart in charts_of(runs, _NAMES)
                    if chart.is_time or chart.high > 0
                ),
                class_="charts",
            )
        )
    yield element("section", *content, class_="card")


def _fixes(document: Document) -> Iterator[Element]:
    fixes = told(document)
    if fixes:
        rows = [_row(fix) for fix in fixes]
        name = (
            "Each fix alone"
            if len(fixes) == len(document["fixes"])
            else "Each fix, with those that do the same"
        )
        yield element("div", table(name, _FIXES, rows, range(3, 6)), class_="card")
    for fix in fixes:
        messages = dict.fromkeys(place["message"] for place in fix["places"])
        yield element(
            "section",
            element("div", element("h2", *_name(fix)), _badge(fix["status"]), class_="head"),
            *(element("p", *prose(f"{said[0].upper()}{said[1:]}.")) for said in messages),
            *([element("p", f"At {places_of(fix)}.", class_="facts")] if len(fix["places"]) > 1 else []),
            element("p", *prose(f"Fix: {fix['fix']}{'' if fix['safe'] else ' (unsafe)'}."), class_="facts"),
            element("p", *prose(f"{_alone(fix, document['result'])}.")),
            *([table("Before and after", HEADER, list(figures(fix)), range(1, 3))] if fix["times"] else []),
            *([element("pre", fix["output"])] if fix.get("output") else []),
            class_="card",
        )


def _row(fix: Mapping[str, Any]) -> Sequence[Content]:
    timed = fix["times"]["stretch"] if fix["times"] is not None else None
    said = effect_of(timed) if timed is not None else _NOTHING
    return (
        element("span", *_name(fix)),
        places_of(fix, PLACES),
        _badge(fix["status"]),
        seconds(timed["before"]) if timed is not None else _NOTHING,
        seconds(timed["after"]) if timed is not None else _NOTHING,
        said,
        draw_effect(timed["effect"], 1.0, said) if timed is not None else _NOTHING,
        _LEARNED[fix["learned"]["verdict"]] if fix["learned"] is not None else _NOTHING,
    )


def _alone(fix: Mapping[str, Any], result: str) -> str:
    if result == "stopped":
        return f"So far: {so_far(fix)}"
    alone = "By itself it pays" if len(fix["places"]) == 1 else "Together they pay"
    return f"{alone}: {fix['why']}" if fix["status"] == "pays" else f"Left out: {fix['why']}"


def _name(fix: Mapping[str, Any]) -> Sequence[Content]:
    return element("span", fix["code"], class_="code"), f" {name_of(fix)}"


def _badge(status: str) -> Element:
    return element("span", status, class_=f"verdict {_BADGES[status]}")
