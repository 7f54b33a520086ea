"""HTML and SVG as trees, so that nothing is left unescaped or open."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from xml.etree.ElementTree import Element, SubElement, tostring

Content = str | Element


def element(tag: str, *children: Content, class_: str | None = None, **attributes: str) -> Element:
    """An element with text and elements in it; `aria_label` becomes `aria-label`."""
    made = Element(tag, {name.replace("_", "-"): value for name, value in attributes.items()})
    if class_ is not None:
        made.set("class", class_)
    for child in children:
        if isinstance(child, Element):
            made.append(child)
        elif len(made):
            made[-1].tail = (made[-1].tail or "") + child
        else:
            made.text = (made.text or "") + child
    return made


def prose(text: str) -> Sequence[Content]:
    """Text in which backticks set off code."""
    parts = text.split("`")
    return [element("code", part) if at % 2 else part for at, part in enumerate(parts)]


def table(name: str, columns: Sequence[str], rows: Sequence[Sequence[Content]], figures: range) -> Element:
    """A table that scrolls by itself where the screen is too narrow for it."""

    def cell(tag: str, at: int, content: Content, **attributes: str) -> Element:
        return element(tag, content, class_="number" if at in figures else None, **attributes)

    head = element("tr", *(cell("th", at, column, scope="col") for at, column in enumerate(columns)))
    body = [
        element(
            "tr",
            *(
                cell("td", at, content) if at else cell("th", at, content, scope="row")
                for at, content in enumerate(row)
            ),
        )
        for row in rows
    ]
    whole = element("table", element("thead", head), element("tbody", *body))
    return element("div", whole, class_="scroll", tabindex="0", role="region", aria_label=name)


def styles() -> str:
    """The style sheet of all pages, charts included."""
    sheets = (files(__package__).joinpath(name) for name in ("page.css", "chart.css"))
    return "".join(sheet.read_text(encoding="utf-8") for sheet in sheets)


def as_page(title: str, style: str, body: Element) -> str:
    """A whole HTML document that needs nothing beside itself."""
    html = Element("html", {"lang": "en"})
    head = SubElement(html, "head")
    head.append(Element("meta", {"charset": "utf-8"}))
    head.append(Element("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}))
    head.append(Element("meta", {"name": "color-scheme", "content": "light dark"}))
    head.append(element("title", title))
    head.append(element("style", style))
    html.append(body)
    return "<!DOCTYPE html>\n" + tostring(html, encoding="unicode", method="html") + "\n"
