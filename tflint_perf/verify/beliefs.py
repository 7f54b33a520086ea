"""What people believe about slow training, as `fixtures/beliefs/<name>/belief.toml` tells it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tflint_perf.verify.experiment import BELIEF, fixtures

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = "beliefs"
_ARTICLES = "articles.toml"


@dataclass(frozen=True, slots=True)
class Belief:
    """A belief in words; its experiment stands beside it, `slow.py` and `fast.py`.

    `says` is what is believed, `articles` are the numbers of the articles that say so, `places` where in each, `why`
    explains what is measured, and `sources` are pages with their address. `on_gpu` is what a CPU cannot show of it.
    """

    name: str
    title: str
    says: str
    articles: tuple[str, ...]
    why: str
    sources: tuple[tuple[str, str], ...]
    places: Mapping[str, str]
    on_gpu: str = ""


@dataclass(frozen=True, slots=True)
class Articles:
    """The articles by number, and by rule what they say that a rule is about.

    `not_measured` is what else they say, where, and why nothing was measured; `snippets` are those that fail, and how.
    """

    titles: Mapping[str, str]
    rules: Mapping[str, str]
    not_measured: tuple[tuple[str, str, str], ...]
    snippets: Mapping[str, str]


@cache
def all_beliefs() -> Mapping[str, Belief]:
    """Every belief by the name of its folder."""
    return read_beliefs(fixtures() / FOLDER)


def read_beliefs(folder: Path) -> Mapping[str, Belief]:
    """The beliefs in a folder, by name."""
    return {file.parent.name: _belief(file) for file in sorted(folder.glob(f"*/{BELIEF}"))}


def read_articles(folder: Path) -> Articles:
    """The articles that the beliefs in a folder are from."""
    table = tomllib.loads((folder / _ARTICLES).read_text(encoding="utf-8"))
    left = tuple((one["said"], one["places"], one["why"]) for one in table["not_measured"])
    return Articles(table["titles"], table["rules"], left, table["snippets"])


def _belief(file: Path) -> Belief:
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    return Belief(
        file.parent.name,
        table["title"],
        " ".join(table["says"].split()),
        tuple(table["articles"]),
        " ".join(table["why"].split()),
        tuple(table["sources"].items()),
        table["places"],
        table.get("on_gpu", ""),
    )
