"""What a project says that it needs, as text: whether Keras runs there on something else than TensorFlow."""

from __future__ import annotations

import re
from pathlib import Path

from tflint_perf.project.surroundings import Surroundings

# What people write dependencies into, of Python, of pipenv, of conda.
FILES = ("pyproject.toml", "setup.py", "setup.cfg", "Pipfile", "requirements.txt", "environment.yml")
_COMMENT = re.compile(r"(?m)(?:^|(?<=\s))#.*$")
_PACKAGE = re.compile(r"(?<![\w.-])(keras|jax|torch)(?=[\s\"'\[=<>~!,;]|$)")


def keras_runs_elsewhere(root: Path, around: Surroundings) -> bool:
    """Whether the files of a project name Keras and another framework that it runs on, and TensorFlow nowhere."""
    named: set[str] = set()
    for file in FILES:
        path = str(root / file)
        around.hear((path,))
        text = without_comments(around.read(path)).lower()
        if "tensorflow" in text:
            return False
        named.update(_PACKAGE.findall(text))
    return "keras" in named and len(named) > 1


def without_comments(data: bytes) -> str:
    """The text of such a file, but for comments: there a package is only named."""
    return _COMMENT.sub("", data.decode("utf-8", "replace"))
