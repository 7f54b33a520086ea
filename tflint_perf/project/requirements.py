"""What a project says that it needs, as text: whether Keras runs there on something else than TensorFlow."""

from __future__ import annotations

import re
from pathlib import Path

from tflint_perf.project.surroundings import Surroundings

# What people write dependencies into, of Python, of pipenv, of conda.
FILES = ("pyproject.toml", "setup.py", "setup.cfg", "Pipfile", "requirements.txt", "environment.yml")
_COMMENT = re.compile(rb"(?m)(?:^|(?<=\s))#.*$")
_PACKAGE = re.compile(rb"(?<![\w.-])(keras|jax|torch)(?=[\s\"'\[=<>~!,;]|$)", re.IGNORECASE)


def keras_runs_elsewhere(root: Path, around: Surroundings) -> bool:
    """Whether the files of a project name Keras and another framework that it runs on, and TensorFlow nowhere."""
    named: set[bytes] = set()
    for file in FILES:
        path = str(root / file)
        around.hear((path,))
        text = _COMMENT.sub(b"", around.read(path)).lower()
        if b"tensorflow" in text:
            return False
        named.update(_PACKAGE.findall(text))
    return b"keras" in named and len(named) > 1
