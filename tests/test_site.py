"""The site, built as `make docs` builds it and read as a browser reads it."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from urllib.parse import unquote, urldefrag, urlsplit

import pytest
from mkdocs.config import load_config

from tests.forked import linters
from tests.site_widths import CHROMIUM, cut_off
from tflint_perf.catalogue.addresses import page_address
from tflint_perf.catalogue.evidence import Evidence, read_evidence
from tflint_perf.catalogue.measured import effect_of
from tflint_perf.catalogue.rules import catalogue
from tflint_perf.catalogue.symptoms import SYMPTOMS, Symptom, codes_of
from tflint_perf.config.keys import KEYS
from tflint_perf.verify.series import charts_of, last_steps
from tflint_perf.version import __version__

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
RULES = sorted(code for code, rule in catalogue().items() if rule.plugin is None)
EVIDENCE = read_evidence(ROOT / "fixtures" / "evidence")
BELIEFS = read_evidence(ROOT / "fixtures" / "beliefs" / "evidence")
# What a browser loads by itself, and where it says what.
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "video": "src"}

each_rule = pytest.mark.parametrize("code", RULES)


@dataclass(slots=True)
class Html(HTMLParser):
    """What a page links, loads and says."""

    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    classes: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        HTMLParser.__init__(self)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.classes += given.get("class", "").split()
        if "id" in given:
            self.ids.add(given["id"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif LOADED.get(tag) in given:
            self.loads.append(given[LOADED[tag]])

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.texts).split())


@dataclass(frozen=True, slots=True)
class Site:
    """The folder of a site."""

    folder: Path

    def page(self, path: str) -> Html:
        return read(self.folder / path)

    def pages(self) -> dict[Path, Html]:
        """All pages but the one for what is not found: a server shows it anywhere, so it is linked from the root."""
        files = sorted(self.folder.rglob("*.html"))
        return {file: read(file) for file in files if file.name != "404.html"}


@cache
def read(file: Path) -> Html:
    html = Html()
    html.feed(file.read_text(encoding="utf-8"))
    return html


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return Site(folder)


@pytest.fixture(scope="module")
def hooks() -> ModuleType:
    """The module that MkDocs asks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(DOCS)
        return module_of(DOCS / "site_hooks.py")


def module_of(file: Path) -> ModuleType:
    """A module of the documentation, which is no package."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@each_rule
def test_a_rule_has_a_page_with_its_documentation(site: Site, code: str) -> None:
    assert page_address(code, "https://example.org/docs") == f"https://example.org/docs/rules/{code}.html"
    page, rule = site.page(f"rules/{code}.html"), catalogue()[code]
    assert f"{rule.name} ({code})" in page.text
    headings = re.findall(r"(?m)^## (.+)$", re.sub(r"(?ms)^```.*?^```", "", rule.explanation))
    assert headings
    assert all(heading in page.text for heading in headings)


@pytest.mark.parametrize("code", sorted(EVIDENCE))
def test_a_rule_s_page_shows_its_evidence_and_draws_it(site: Site, code: str) -> None:
    page = site.page(f"rules/{code}.html")
    for record in EVIDENCE[code]:
        assert says(record) in page.text
        assert record.date in page.text
    assert page.classes.count("chart") == sum(len(charts_of(record.record)) for record in EVIDENCE[code])


@pytest.mark.parametrize(
    "code", sorted(path.parent.name for path in (ROOT / "fixtures").glob("TFP*/slow.py"))
)
def test_a_rule_s_page_shows_both_of_its_scripts(site: Site, code: str) -> None:
    text = site.page(f"rules/{code}.html").text
    for script in ("slow.py", "fast.py"):
        source = (ROOT / "fixtures" / code / script).read_text(encoding="utf-8")
        assert " ".join(source.split()) in text


def test_the_overview_leads_to_every_rule(site: Site) -> None:
    overview = site.page("rules/index.html")
    assert {f"{code}.html" for code in RULES} <= set(overview.links)
    for code, records in EVIDENCE.items():
        shown = [record for record in records if record.record.get("effect")]
        assert all(effect_of(record.record) or "" in overview.text for record in shown), code


@pytest.mark.parametrize("name", sorted(BELIEFS))
def test_the_page_of_beliefs_draws_what_was_measured(site: Site, name: str) -> None:
    html = (site.folder / "beliefs.html").read_text(encoding="utf-8")
    section = html.split(f'<a id="{name}"')[1].split('<a id="')[0]
    drawn = len(re.findall(r'<svg [^>]*class="chart"', section))
    assert drawn == sum(len(charts_of(record.record)) for record in BELIEFS[name])


@pytest.mark.parametrize("name", KEYS)
def test_every_setting_is_told(site: Site, name: str) -> None:
    page = site.page("configuration.html")
    assert name in page.ids
    assert " ".join(KEYS[name].example.split()) in page.text


@pytest.mark.parametrize("symptom", SYMPTOMS, ids=lambda symptom: symptom.name)
def test_every_symptom_is_told_and_leads_to_its_rules(site: Site, symptom: Symptom) -> None:
    html = (site.folder / "symptoms.html").read_text(encoding="utf-8")
    section = Html()
    section.feed(html.split(f'<h2 id="{symptom.name}"')[1].split("<h2")[0])
    own = {code: rule for code, rule in catalogue().items() if rule.plugin is None}
    assert {f"rules/{code}.html" for code in codes_of(symptom, own)} <= set(section.links)
    assert all(phrase in section.text for phrase in symptom.phrases)


@pytest.mark.parametrize("word", ["leak", "oom", "utilization", "retracing", "starving", "hang"])
def test_search_finds_the_words_of_people(site: Site, word: str) -> None:
    index = json.loads((site.folder / "search" / "search_index.json").read_text(encoding="utf-8"))
    assert word in " ".join(e["text"] for e in index["docs"] if e["location"].startswith("symptoms.html#"))


def test_every_command_is_told(site: Site) -> None:
    from tflint_perf.commands import COMMANDS

    page = site.page("commands.html")
    assert set(COMMANDS) <= page.ids
    assert "--write-baseline FILE" in page.text


def test_a_chart_whose_lines_end_early_says_where(site: Site) -> None:
    record = EVIDENCE["TFP101"][0].record
    last = last_steps(record)
    assert last["slow"] < record["steps"] / 2
    text = site.page("rules/TFP101.html").text
    assert f"up to {record['steps']} steps a run" in text
    assert f"the slow script came to step {last['slow']}" in text


def test_a_rule_s_verdict_names_its_device(site: Site) -> None:
    assert "at least 2×; confirmed on CPU." in site.page("rules/TFP101.html").text
    assert "not measurable on CPU, confirmed on NVIDIA" in site.page("rules/TFP302.html").text


def test_each_page_says_its_version_and_has_an_icon(site: Site) -> None:
    for file, page in site.pages().items():
        assert f"tflint-perf {__version__}" in page.text, file
        assert any(load.endswith("icon.svg") for load in page.loads), file


@pytest.mark.parametrize("address", ["", "https://example.org/somebody/tflint-perf"])
def test_the_builder_says_where_the_repository_is(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPOSITORY_URL", address)
    monkeypatch.syspath_prepend(DOCS)
    assert load_config(str(ROOT / "mkdocs.yml")).repo_url == (address or None)


def test_numbers_of_articles_lead_to_their_titles(site: Site) -> None:
    page = site.page("beliefs.html")
    assert page.links.count("#the-articles") > len(BELIEFS)
    assert "the-articles" in page.ids


def test_every_link_leads_somewhere(site: Site) -> None:
    pages = site.pages()
    assert len(pages) > len(RULES)
    lost = []
    for file, page in pages.items():
        for link in (*page.links, *page.loads):
            if urlsplit(link).scheme:
                continue
            path, anchor = urldefrag(link)
            target = (file.parent / unquote(path)).resolve() if path else file
            if not target.exists() or (anchor and unquote(anchor) not in pages[target].ids):
                lost.append(f"{file.relative_to(site.folder)}: {link}")
    assert lost == []


def test_the_pages_need_nothing_from_elsewhere(site: Site) -> None:
    for file, page in site.pages().items():
        assert [load for load in page.loads if urlsplit(load).scheme or load.startswith("//")] == [], file
    for file in site.folder.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(?:https?:)?//|@import", file.read_text(encoding="utf-8")), file


@pytest.mark.skipif(CHROMIUM is None, reason="takes Chromium, which lays pages out")
def test_no_page_is_cut_off(site: Site, tmp_path: Path) -> None:
    pages = [f"/{file.relative_to(site.folder).as_posix()}" for file in site.pages()]
    assert cut_off(site.folder, pages, (390,), tmp_path / "narrow") == {}
    # Where there is room, pages of rules differ by their charts alone.
    kinds = [page for page in pages if not re.match(r"/rules/TFP\d+", page)] + ["/rules/TFP101.html"]
    assert cut_off(site.folder, kinds, (1280, 1920), tmp_path / "wide") == {}


def test_lists_and_tables_are_read_as_such(site: Site) -> None:
    for file in site.folder.rglob("*.html"):
        html = re.sub(r"(?s)<(pre|code|script|svg).*?</\1>", "", file.read_text(encoding="utf-8"))
        paragraphs = re.findall(r"(?s)<p>(.*?)</p>", html)
        assert [
            text for text in paragraphs if re.search(r"(?m)^\s*(?:[-*] |\d+\. |\|.*\|$|```)", text)
        ] == [], file


def test_search_finds_rules_and_no_figures_of_charts(site: Site) -> None:
    index = json.loads((site.folder / "search" / "search_index.json").read_text(encoding="utf-8"))
    texts = {entry["location"]: entry["text"] for entry in index["docs"]}
    assert "eager mode" in texts["rules/TFP101.html"]
    assert not any("<svg" in text or "logarithmic)" in text for text in texts.values())


def test_a_page_that_no_list_names_is_in_the_navigation_all_the_same(hooks: ModuleType) -> None:
    nav = ["index.md", {"Rules": ["rules/index.md"]}, {"Use": [{"Set up": "configuration.md"}]}]
    written = ["index.md", "configuration.md", "watching.md", "a/clusters.md"]
    whole = hooks.navigation(nav, written)
    assert whole[-1] == {"More": ["a/clusters.md", "watching.md"]}
    assert hooks.navigation(nav, written[:2])[-1] == nav[-1]


def test_every_page_of_the_documentation_is_in_the_navigation_once(site: Site) -> None:
    index = (site.folder / "index.html").read_text(encoding="utf-8")
    sidebar = index.split('<nav class="md-nav md-nav--primary', 1)[1]
    links = [link.removeprefix("./") for link in re.findall(r'href="([^"#]+)" class="md-nav__link', sidebar)]
    for page in DOCS.glob("*.md"):
        assert links.count(f"{page.stem}.html") == 1, page.name


@pytest.fixture(scope="module")
def shown() -> ModuleType:
    """What brings pages up to date."""
    return module_of(DOCS / "shown.py")


@pytest.mark.parametrize("name", ["start.md", "fixing.md", "notebooks.md"])
def test_what_a_page_shows_of_the_command_line_is_what_it_prints(
    name: str, shown: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forked(command: list[str], *, cwd: Path, env: dict[str, str], **_: Any) -> Any:
        """In a process of its own: here, tests see no evidence."""
        return linters().run(*command[1:], folder=cwd, variables=env)

    monkeypatch.setattr(shown, "subprocess", SimpleNamespace(run=forked))
    page = tmp_path / name
    page.write_bytes((DOCS / name).read_bytes())
    shown.main([str(page)])
    assert (DOCS / name).read_text(encoding="utf-8") == page.read_text(encoding="utf-8"), (
        f"run `python docs/shown.py docs/{name}`"
    )


def says(record: Evidence) -> str:
    """What a record comes to, as tables say it."""
    return effect_of(record.record) or record.verdict
