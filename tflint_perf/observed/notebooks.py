"""The code of a notebook, cell by cell, as it can be run without IPython."""

from __future__ import annotations

from collections.abc import Iterator

from tflint_perf.text.magics import mask


def code_cells(cells: tuple[tuple[int, str], ...]) -> Iterator[tuple[int, str]]:
    """The number and the code of each cell; magics do nothing, and cells of other languages are left out."""
    for number, text in cells:
        masked = mask(text)
        if masked is not None:
            yield number, masked[0]
