"""The Python code of a file, as far as words are looked for in it."""

from __future__ import annotations

import re
from pathlib import Path

_MAGIC = re.compile(r"(?m)^[ \t]*[%!?].*")


def code_of(file: Path | str, data: bytes) -> bytes:
    """The bytes of a script as they are; of a notebook, the code of its cells without magics. Nothing of what is none."""
    if not str(file).endswith(".ipynb"):
        return data
    import json  # scripts don't pay for it

    try:
        cells = json.loads(data)["cells"]
        written = ("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        return "\n\n".join(_MAGIC.sub("", text) for text in written).encode()
    except (ValueError, KeyError, TypeError, RecursionError):
        return b""
