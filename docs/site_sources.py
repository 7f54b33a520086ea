"""Links from the documentation to the rest of the repository, which is not part of the site, and what they lead to there.

In the repository `[slow.py](../fixtures/TFP101/slow.py)` opens the file. On the site it opens a page that shows
it; a link to a rule opens the rule's page, and one to a section of the README what the site has in its stead.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

# A link's target, with its anchor; images have theirs likewise.
_LINK = re.compile(r"(\]\()([^()\s#]+)(#[^()\s]*)?(\))")
_RULE = re.compile(r"rules/(?:\w+/)?(tfp\d+)_\w+\.py")
_FENCED = re.compile(r"(?ms)^( *)(```.*?^\1```)$")
# Where the site says what a section of the README says.
_README = {
    "#what-it-finds": "rules/index.md",
    "#five-minutes": "start.md",
    "#configuration": "configuration.md",
    "#in-code-that-has-findings-already": "suppressing.md",
}
_LANGUAGES = {
    ".py": "python",
    ".toml": "toml",
    ".yml": "yaml",
    ".yaml": "yaml",
    ".json": "json",
    ".md": "markdown",
}


def as_on_site(markdown: str, page: str, docs: Path) -> str:
    """The text of a page with its links as they are on the site.

    Args:
        markdown: the text.
        page: the page's path in the folder `docs`.
        docs: the folder of the documentation.
    """

    def on_site(link: re.Match[str]) -> str:
        target = _outside(link[2], page, docs)
        if target is None:
            return link[0]
        if target == "README.md":
            path, anchor = _README[link[3] or "#five-minutes"], ""
        elif rule := _RULE.fullmatch(target):
            path, anchor = f"rules/{rule[1].upper()}.md", link[3] or ""
        else:
            path, anchor = _page_of(target), ""
        return f"{link[1]}{os.path.relpath(path, Path(page).parent)}{anchor}{link[4]}"

    return "".join(part if code else _LINK.sub(on_site, part) for part, code in _parts(markdown))


def source_pages(texts: Mapping[str, str], docs: Path) -> dict[str, str]:
    """A page for each file or folder of the repository that a page of the site leads to, by path.

    Args:
        texts: the pages by path.
        docs: the folder of the documentation.
    """
    targets = {
        target
        for page, text in texts.items()
        for part, code in _parts(text)
        if not code
        for link in _LINK.finditer(part)
        if (target := _outside(link[2], page, docs)) and target != "README.md" and not _RULE.fullmatch(target)
    }
    return {_page_of(target): _shown(docs.parent, target) for target in sorted(targets)}


def readme_section(readme: Path, title: str) -> str:
    """A section of the README, with its links as they are from the folder of the documentation.

    Raises:
        ValueError: there is none with this title.
    """
    text = readme.read_text(encoding="utf-8")
    found = re.search(rf"(?ms)^## {re.escape(title)}\n\n(.*?)(?=^## |\Z)", text)
    if found is None:
        raise ValueError(f"README.md has no section `{title}`")
    return found[1].replace("](docs/", "](").strip()


def _parts(markdown: str) -> Iterator[tuple[str, bool]]:
    """The text in parts, each with whether it is fenced code."""
    end = 0
    for fenced in _FENCED.finditer(markdown):
        yield markdown[end : fenced.start()], False
        yield fenced[0], True
        end = fenced.end()
    yield markdown[end:], False


def _outside(target: str, page: str, docs: Path) -> str | None:
    """The path in the repository of what a link leads to, if that is no page or picture of the site."""
    if ":" in target:
        return None
    path = Path(os.path.normpath(docs / Path(page).parent / target))
    within = path.is_relative_to(docs)
    if not path.exists() or (within and path.suffix in (".md", ".svg", ".png")):
        return None
    return path.relative_to(docs.parent).as_posix()


def _page_of(target: str) -> str:
    return f"source/{target}.md"


def _shown(root: Path, target: str) -> str:
    """A page that shows a file, or all files in a folder."""
    path = root / target
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if _is_source(file, path))
    lines = ["---", "search:", "  exclude: true", "hide:", "  - navigation", "---", f"# {target}", ""]
    for file in files:
        if file != path:
            lines += [f"## {file.relative_to(path).as_posix()}", ""]
        # Longer than any fence in the file.
        lines += [
            f"`````{_LANGUAGES.get(file.suffix, 'text')}",
            file.read_text(encoding="utf-8").rstrip(),
            "`````",
            "",
        ]
    return "\n".join(lines)


def _is_source(file: Path, folder: Path) -> bool:
    """Whether somebody wrote it: a build leaves folders of its own."""
    made = any(
        part.endswith(("__pycache__", ".egg-info", "build")) or part.startswith(".")
        for part in file.relative_to(folder).parts
    )
    return file.is_file() and file.suffix in _LANGUAGES and not made
