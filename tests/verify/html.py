"""HTML as a tree, for tests to ask."""

from __future__ import annotations

from html.parser import HTMLParser
from xml.etree.ElementTree import Element, TreeBuilder

_VOID = frozenset({"meta", "link", "br", "img", "input", "hr"})


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.builder = TreeBuilder()
        self.opened: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.builder.start(tag, {name: value or "" for name, value in attrs})
        if tag in _VOID:
            self.builder.end(tag)
        else:
            self.opened.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.opened.pop() == tag, f"</{tag}> closes nothing"
        self.builder.end(tag)

    def handle_data(self, data: str) -> None:
        if self.opened:
            self.builder.data(data)


def parse(page: str) -> Element:
    """The root of a page, all of whose elements are closed in order."""
    parser = _Parser()
    parser.feed(page)
    assert parser.opened == []
    return parser.builder.close()


def text_of(element: Element) -> str:
    """The text in an element, as one line."""
    return " ".join("".join(element.itertext()).split())


def of_class(root: Element, name: str) -> list[Element]:
    """The elements of a class."""
    return [element for element in root.iter() if name in element.get("class", "").split()]
