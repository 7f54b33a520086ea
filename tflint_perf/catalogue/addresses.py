"""Where the rules' pages stand on the web: under an address that somebody publishes the site at and tells, else nowhere."""

from __future__ import annotations

import re
from functools import cache

from tflint_perf.catalogue.rules import catalogue

_SCHEMES = ("https://", "http://", "file://")
# What `[project.urls]` of a package may call it, with all but letters and digits left out.
_LABELS = ("documentation", "docs")


def is_address(text: str) -> bool:
    """Whether a text is an address that links can begin with."""
    return text.startswith(_SCHEMES) and not text.endswith("://") and len(text.split()) == 1


def site_address(given: str | None) -> str | None:
    """The address of the site: the one that the settings give, or the one that the installed package names."""
    address = given or _address_of_package()
    return None if address is None else address.rstrip("/") + "/"


def page_address(code: str, given: str | None = None) -> str | None:
    """The address of a rule's page; None where nobody has told of a site, and of other packages' rules.

    Args:
        given: the address of the site by the settings, if they give one.
    """
    rule = catalogue().get(code)
    if rule is None or rule.plugin is not None:
        return None
    site = site_address(given)
    return None if site is None else f"{site}rules/{code}.html"


@cache
def _address_of_package() -> str | None:
    """What the package's metadata name as the place of its documentation: whoever builds it says so in `[project.urls]`."""
    # Imported where a report has room for addresses: it takes long.
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        entries = metadata("tflint-perf").get_all("Project-URL") or ()
    except PackageNotFoundError:
        return None
    for entry in entries:
        label, _, address = str(entry).partition(",")
        if re.sub(r"[^a-z0-9]", "", label.lower()) in _LABELS and is_address(address.strip()):
            return address.strip()
    return None
