"""Where findings lead to on the web: nowhere, unless a setting or the installed package names a site."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Iterator
from email.message import Message

import pytest
from junitparser import JUnitXml

from tests.commandline import SLOW, CommandLine
from tflint_perf.catalogue import addresses
from tflint_perf.catalogue.addresses import page_address

SITE = "https://docs.example.org/tflint-perf"
PAGE = f"{SITE}/rules/TFP406.html"
SETTING = f"--config=docs-url = '{SITE}'"
FORMATS = ("json", "json-lines", "sarif", "rdjson", "junit", "gitlab")


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch) -> Iterator[Message]:
    """The metadata of the installed package, to be filled in."""
    metadata = Message()
    monkeypatch.setattr(importlib.metadata, "metadata", lambda name: metadata)
    addresses._address_of_package.cache_clear()
    yield metadata
    addresses._address_of_package.cache_clear()


def reports(tflint_perf: CommandLine, *options: str) -> dict[str, str]:
    """A report of the one finding in each format that has room for an address."""
    tflint_perf.write("train.py", SLOW)
    return {
        format: tflint_perf("--select=TFP406", f"--output-format={format}", *options).out
        for format in FORMATS
    }


def addresses_in(report: dict[str, str]) -> dict[str, object]:
    (found,) = json.loads(report["json"])
    (rule,) = json.loads(report["sarif"])["runs"][0]["tool"]["driver"]["rules"]
    (diagnostic,) = json.loads(report["rdjson"])["diagnostics"]
    (issue,) = json.loads(report["gitlab"])
    ((case,),) = JUnitXml.fromstring(report["junit"].encode())
    return {
        "json": found["url"],
        "json-lines": json.loads(report["json-lines"])["url"],
        "sarif": rule.get("helpUri"),
        "rdjson": diagnostic["code"].get("url"),
        "junit": next((one.get("value") for one in case._elem.iter("property")), None),
        "gitlab": issue.get("content", {}).get("body"),
    }


def everywhere(address: str | None) -> dict[str, object]:
    of_gitlab = f"[TFP406 gc-in-loop]({address})\n" if address else None
    return dict.fromkeys(FORMATS, address) | {"gitlab": of_gitlab}


@pytest.mark.usefixtures("named")
def test_no_address_is_made_up(tflint_perf: CommandLine) -> None:
    assert addresses_in(reports(tflint_perf)) == everywhere(None)


@pytest.mark.usefixtures("named")
@pytest.mark.parametrize("given", [SITE, f"{SITE}/"])
def test_a_setting_names_the_site(tflint_perf: CommandLine, given: str) -> None:
    found = reports(tflint_perf, f"--config=docs-url = '{given}'")
    assert addresses_in(found) == everywhere(PAGE)


@pytest.mark.parametrize("label", ["Documentation", "documentation", "Docs"])
def test_the_installed_package_names_the_site(tflint_perf: CommandLine, named: Message, label: str) -> None:
    named["Project-URL"] = "Repository, https://example.org/repository"
    named["Project-URL"] = f"{label}, {SITE}/"
    assert addresses_in(reports(tflint_perf)) == everywhere(PAGE)
    (rule,) = (
        one
        for one in json.loads(tflint_perf("rule", "--all", "--output-format=json").out)
        if one["code"] == "TFP406"
    )
    assert rule["url"] == PAGE


def test_the_setting_goes_before_the_package(tflint_perf: CommandLine, named: Message) -> None:
    named["Project-URL"] = "Documentation, https://elsewhere.example.org"
    assert addresses_in(reports(tflint_perf, SETTING)) == everywhere(PAGE)


def test_other_addresses_of_the_package_are_none_of_its_pages(
    tflint_perf: CommandLine, named: Message
) -> None:
    named["Project-URL"] = "Homepage, https://example.org"
    named["Project-URL"] = "Documentation, see the README"
    assert addresses_in(reports(tflint_perf)) == everywhere(None)


def test_what_is_no_rule_of_this_project_has_no_page() -> None:
    assert page_address("invalid-syntax", SITE) is None
    assert page_address("TFP001", SITE) == f"{SITE}/rules/TFP001.html"


@pytest.mark.parametrize("text", ["docs.example.org", "https://", "https://a b", ""])
def test_what_is_no_address_is_refused(tflint_perf: CommandLine, text: str) -> None:
    tflint_perf.write("tflint-perf.toml", f'docs-url = "{text}"\n')
    ran = tflint_perf()
    assert ran.code == 2
    assert ran.err.startswith("tflint-perf: tflint-perf.toml:1: `docs-url` ")


def test_settings_show_the_address(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", SLOW)
    assert f'docs-url = "{SITE}"' in tflint_perf(SETTING, "--show-settings").out.splitlines()
