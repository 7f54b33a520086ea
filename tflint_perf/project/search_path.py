"""The folders that a file adds to those in which Python looks for modules, as its text says."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

_ADDING = re.compile(rb"(?m)^[ \t]*(?:sys\.path\b|site\.addsitedir\b)([^\n#]*)")
_LITERAL = re.compile(rb"""(["'])([^"'\n]+)\1""")


def added_folders(file: Path, data: bytes, root: Path) -> tuple[Path, ...]:
    """The folders below `root` that `sys.path.append("utils")` and its kin add, in the order of the text.

    A relative one is relative to where the program is started: beside the file or at the root of the project.
    """
    return tuple(
        dict.fromkeys(
            folder
            for place in _places(data)
            for base in (file.parent, root)
            if (folder := Path(os.path.normpath(base / place))) == root or root in folder.parents
        )
    )


def _places(data: bytes) -> Iterator[str]:
    """The literals that such lines give, those of one `join` put together."""
    for (line,) in (match.groups() for match in _ADDING.finditer(data)):
        literals = [literal.decode("utf-8", "replace") for _, literal in _LITERAL.findall(line)]
        yield from ["/".join(literals)] if b"join(" in line else literals
