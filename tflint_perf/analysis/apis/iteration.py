"""Functions whose result is gone over for the sake of what they are given: progress bars, `enumerate`, `zip`, `list`; and
those that count."""

from __future__ import annotations

import re
from typing import Literal

from tflint_perf.analysis.apis.rows import has
from tflint_perf.records import dataclass


@dataclass(frozen=True, slots=True)
class Wrapping:
    """What going over the result of a function gives: the `elements` of what it is given first, pairs of a number and an element
    (`numbered`), or `tuples` with an element of each of its arguments.

    `lazily` says that it takes them one by one, as a loop asks for them, `all_once` that it gives each once. What `goes_on` is an
    iterator of its argument: a loop over one with a name takes what others have left of it.
    """

    gives: Literal["elements", "numbered", "tuples"]
    lazily: bool = True
    all_once: bool = True
    goes_on: bool = False


_ELEMENTS = Wrapping("elements")
_COPY = Wrapping("elements", lazily=False)
_TUPLES = Wrapping("tuples")
_WRAPPING = {
    "enumerate": Wrapping("numbered"),
    "zip": _TUPLES,
    "itertools.zip_longest": _TUPLES,
    "iter": Wrapping("elements", goes_on=True),
    "reversed": _ELEMENTS,
    "itertools.islice": Wrapping("elements", all_once=False),
    "itertools.cycle": Wrapping("elements", all_once=False),
    "list": _COPY,
    "tuple": _COPY,
    "sorted": _COPY,
}
# What libraries have is a row, `progress-bar` or `counts-up`. These are the names under which projects hand such functions on,
# from whichever module, or write wrappers of their own.
_PROGRESS_BAR = re.compile(
    r"(.*\.)?(tqdm(_notebook|_gui|_pandas)?|progress_?bar|master_bar|alive_it)|progress\.track|track"
)
_COUNTS = re.compile(r"xrange|count|(.*\.)?(trange|tnrange)")
# Methods of datasets that number elements, or give them as they are to a loop.
METHODS = {"enumerate": Wrapping("numbered"), "as_numpy_iterator": _ELEMENTS}


def wrapping(name: str) -> Wrapping | None:
    """What a function of a qualified name makes of what it is given to go over; None for all others."""
    known = _WRAPPING.get(name) or _WRAPPING.get(f"itertools.{name}")
    return known or (_ELEMENTS if is_progress_bar(name) or has(name, "as-arrays") else None)


def is_progress_bar(name: str) -> bool:
    """Whether a function of a qualified name shows how far a loop is, and hands on what that goes over."""
    return has(name, "progress-bar") or _PROGRESS_BAR.fullmatch(name) is not None


def counts(name: str) -> bool:
    """Whether a function of a qualified name gives one number after the other: `range`, `tqdm.trange`, `itertools.count`."""
    return has(name, "counts-up") or _COUNTS.fullmatch(name) is not None
