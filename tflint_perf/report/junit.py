"""JUnit's XML, as CI servers read it: a suite a file, a failing case a finding; one passing case when clean."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from xml.etree import ElementTree

from tflint_perf.report import Entry, Outcome, costs
from tflint_perf.report.step_loop_paths import said
from tflint_perf.report.style import Style

_NAME = "tflint-perf"
# What XML 1.0 has no way to write, not even escaped.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(outcome: Outcome, style: Style) -> Iterator[str]:
    suites = [
        _suite(path, map(_failing, entries))
        for path, entries in groupby(outcome.findings, key=lambda entry: entry.path)
    ]
    if outcome.failures:
        suites.append(_suite(_NAME, map(_not_done, outcome.failures)))
    if not suites:
        suites.append(_suite(_NAME, [_case(_NAME, _NAME)]))
    root = ElementTree.Element("testsuites", {"name": _NAME, **_counts(suites)})
    root.extend(suites)
    ElementTree.indent(root)
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield ElementTree.tostring(root, encoding="unicode")


def _suite(name: str, cases: Iterable[ElementTree.Element]) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", {"name": _text(name)})
    suite.extend(cases)
    for attribute, count in _counts([suite]).items():
        suite.set(attribute, count)
    return suite


def _counts(suites: Iterable[ElementTree.Element]) -> dict[str, str]:
    cases = [case for suite in suites for case in suite.iter("testcase")]
    counts = {
        "tests": len(cases),
        "failures": sum(case.find("failure") is not None for case in cases),
        "errors": sum(case.find("error") is not None for case in cases),
    }
    return {name: str(count) for name, count in counts.items()}


def _case(name: str, of: str) -> ElementTree.Element:
    return ElementTree.Element("testcase", {"name": _text(name), "classname": _text(of), "time": "0"})


def _failing(entry: Entry) -> ElementTree.Element:
    finding = entry.finding
    name = finding.code if finding.code == finding.name else f"{finding.code} ({finding.name})"
    case = _case(name, entry.path)
    if finding.start.cell is None:
        case.set("line", str(finding.start.row))
        case.set("column", str(finding.start.column))
    measured = list(costs.in_words(finding))
    case.extend(_properties([*(("cost", line) for line in measured), ("url", entry.url or "")]))
    message = _text(finding.message)
    failure = ElementTree.SubElement(case, "failure", {"message": message, "type": entry.severity})
    lines = [f"{entry.place}: {finding.code} {finding.message}", *finding.lines]
    if finding.each_step:
        lines.append(said(entry.path, finding))
    lines += [f"measured: {line}" for line in measured]
    failure.text = _text("\n".join(lines))
    return case


def _properties(known: Iterable[tuple[str, str]]) -> Iterator[ElementTree.Element]:
    """The element that holds a case's properties, if there are any."""
    properties = ElementTree.Element("properties")
    for name, value in known:
        if value:
            ElementTree.SubElement(properties, "property", {"name": name, "value": _text(value)})
    if len(properties):
        yield properties


def _not_done(failure: str) -> ElementTree.Element:
    case = _case(failure.partition(": ")[0], _NAME)
    ElementTree.SubElement(case, "error", {"message": _text(failure), "type": "error"})
    return case


def _text(text: str) -> str:
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", text)
