"""What MkDocs asks while it builds the site: pages that are made, the navigation, and links that leave `docs/`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from site_rules import belief_charts, chart_style, groups, rules_pages
from site_sources import as_on_site, source_pages

from tflint_perf.catalogue.evidence import all_evidence
from tflint_perf.version import __version__

BELIEFS = "beliefs.md"
SYMPTOMS = "symptoms.md"
# In the repository a heading can be given no anchor of its own.
_ANCHORED = re.compile(r'(?m)^<a id="([\w-]+)"></a>\n\n(## .+)$')
# What is found in no list of `nav`.
MORE = "More"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Say at the foot of each page which version it is about."""
    config.copyright = f"tflint-perf {__version__}"
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made: of rules, and of the sources that pages lead to."""
    written = [file for file in files if file.src_uri.endswith(".md")]
    texts = {file.src_uri: file.content_string for file in written}
    made = {"chart.css": chart_style(), **rules_pages(all_evidence())}
    made |= source_pages(texts, Path(config.docs_dir))
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    config.nav = navigation(config.nav or [], texts)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Draw what is drawn, and lead links to the repository's files to where they are on the site."""
    path = page.file.src_uri
    markdown = as_on_site(markdown, path, Path(config.docs_dir))
    if path == SYMPTOMS:
        markdown = _ANCHORED.sub(r"\2 { #\1 }", markdown)
    return belief_charts(markdown) if path == BELIEFS else markdown


def navigation(nav: list[Any], written: Iterable[str]) -> list[Any]:
    """`nav` with the rules by group, and at its end the pages that it does not name.

    Args:
        nav: as in the configuration: pages, titles of pages, and titles of lists of them.
        written: the pages of the documentation's folder.
    """
    named = set(_paths(nav))
    whole = [
        {"Rules": [*entry["Rules"], *groups()]} if isinstance(entry, dict) and "Rules" in entry else entry
        for entry in nav
    ]
    more = sorted(set(written) - named)
    return [*whole, {MORE: more}] if more else whole


def _paths(nav: object) -> Iterator[str]:
    match nav:
        case str():
            yield nav
        case dict():
            for entry in nav.values():
                yield from _paths(entry)
        case list():
            for entry in nav:
                yield from _paths(entry)
