"""What pages show of the command line, brought up to date: `python docs/shown.py docs/start.md …`.

Each page is played from its beginning in an empty folder. A block of code with the title `train.py` writes that file, one
with the title `train.py, line 1` puts its line there, and the commands of `tflint-perf` in blocks of the language `console`
run one after the other; what they print takes the place of what stands below them. Other commands are left as they are, and
so is what prints a page of its own.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

_BLOCK = re.compile(r'(?ms)^```(?P<language>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```$')
_COMMAND = re.compile(r"(?m)^\$ (.*)\n((?:(?!\$ ).*\n)*)")
# Their output is too long to be shown, or is what the page is about.
_UNSHOWN = ("rule", "config", "verify", "server", "init")


def played(page: str, folder: Path) -> str:
    """The text of a page as it comes out when it is played in a folder."""

    def block(match: re.Match[str]) -> str:
        title, text = match["title"], match["text"]
        if title is not None:
            _write(folder, title, text)
        elif match["language"] == "console":
            return match[0].replace(text, _COMMAND.sub(lambda command: _run(command, folder), text))
        return match[0]

    return _BLOCK.sub(block, page)


def _write(folder: Path, title: str, text: str) -> None:
    name, _, line = title.partition(", line ")
    path = folder / name
    if line:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        lines[int(line) - 1] = text
        text = "".join(lines)
    path.write_text(text, encoding="utf-8")


def _run(command: re.Match[str], folder: Path) -> str:
    words = shlex.split(command[1], comments=True)
    if words[0] != "tflint-perf" or (words[1:2] and words[1] in _UNSHOWN) or {"<", ">"} & set(words):
        return command[0]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TFLINT_PERF_")}
    ran = subprocess.run(
        [sys.executable, "-m", "tflint_perf", *words[1:]],
        cwd=folder,
        env=environment | {"NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return f"$ {command[1]}\n{ran.stdout}{ran.stderr}"


def main(pages: list[str]) -> None:
    """Bring the pages up to date."""
    for page in map(Path, pages):
        with tempfile.TemporaryDirectory() as folder:
            text = played(page.read_text(encoding="utf-8"), Path(folder))
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
