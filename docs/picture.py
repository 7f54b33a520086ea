"""Draw real terminal output as an SVG: `python docs/picture.py OUT.svg COMMAND…` runs the command and keeps its colours.

Needs rich, which the extra `verify` brings.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

WIDTH = 118


def main(target: str, *command: str) -> None:
    """Run the command and write the picture."""
    environment = os.environ | {"FORCE_COLOR": "1", "COLUMNS": str(WIDTH)}
    ran = subprocess.run(command, capture_output=True, text=True, env=environment)
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    console.print(Text.assemble(("$ ", "green"), (shlex.join(("tflint-perf", *command[1:])), "bold")))
    console.print(Text.from_ansi(ran.stdout + ran.stderr))
    svg = console.export_svg(title="tflint-perf")
    # The template asks for a font from the network; the viewer's own will do.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    Path(target).write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
