"""What a project says that it needs, as text: which releases, and whether Keras runs there on something else than TensorFlow."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tflint_perf.project.surroundings import Surroundings
from tflint_perf.records import dataclass

Release = tuple[int, ...]

# What people write dependencies into, of Python, of pipenv, of conda.
FILES = ("pyproject.toml", "setup.py", "setup.cfg", "Pipfile", "requirements.txt", "environment.yml")
_COMMENT = re.compile(r"(?m)(?:^|(?<=\s))#.*$")
_PACKAGE = re.compile(r"(?<![\w.-])(keras|jax|torch)(?=[\s\"'\[=<>~!,;]|$)")

_CLAUSE = r"(?:===|==|~=|>=|<=|!=|<|>|\^|~|=)\s*\d[\w.*]*"
# `tensorflow==2.3`, `tensorflow-gpu [x] >=2.3,<3`, `tensorflow=2.3`; `tensorflow = "2.3"`, `= {version = "^2.3"}`.
SPECIFIED = (
    rf"""(?P<clauses>{_CLAUSE}(?:\s*,\s*{_CLAUSE})*)"""
    rf"""|["']?\s*=\s*(?:\{{[^}}\n]*?\bversion\s*=\s*)?["'](?P<quoted>(?:{_CLAUSE}|\d[\w.*]*)(?:\s*,\s*{_CLAUSE})*)["']"""
)
TENSORFLOW = re.compile(
    rf"""(?<![\w.-])tensorflow(?:[-_](?:gpu|cpu|macos|intel|rocm))?(?:\s*\[[\w\s,-]*\])?\s*\(?(?:{SPECIFIED})""",
    re.IGNORECASE,
)
# The build that is named, "" for the usual one.
_BUILD = re.compile(
    r"(?<![\w.-])tensorflow(?:[-_](?P<build>gpu|cpu|macos|intel|rocm))?(?![\w-])", re.IGNORECASE
)
_KERAS = re.compile(rf"""(?<![\w.-])keras\s*\(?(?:{SPECIFIED})""", re.IGNORECASE)
# The first Keras that is TensorFlow's own; those before run models as graphs in a session, on whatever TensorFlow.
_TF_KERAS: Release = (2, 4)


@dataclass(frozen=True, slots=True)
class Named:
    """What a file asks for, as it stands there: `==2.3.1`, `>=2.12,<3`."""

    asked: str
    file: str

    def is_older_than(self, release: Release) -> bool:
        """Whether all that is asked for is older than this release; `<3` and `~=2.1` are not older than 2.9."""
        return any(_ends_before(clause, release) for clause in self.asked.split(","))


def _ends_before(clause: str, release: Release) -> bool:
    found = re.match(r"\s*([=~<>!^]*)\s*(\d+(?:\.\d+)*)", clause)
    if found is None:
        return False
    sign, newest = found[1], tuple(map(int, found[2].split(".")))
    match sign:
        case "<":
            return newest <= release
        case "~=":
            newest = newest[:-1]
        case "~":
            newest = newest[:2]
        case "^":
            newest = newest[:1]
        case ">" | ">=" | "!=":
            return False
    return newest < release[: len(newest)]


def named_in(package: re.Pattern[str], text: str, file: str) -> Iterator[Named]:
    """What `text`, of `file`, asks of the releases of `package`, each clause once; `package` names its groups `clauses` and
    `quoted`."""
    asked = ("".join((found["clauses"] or found["quoted"]).split()) for found in package.finditer(text))
    yield from (Named(clauses, file) for clauses in dict.fromkeys(asked))


def releases_named(root: Path, around: Surroundings) -> tuple[Named, ...]:
    """What the files of a project say of the releases of TensorFlow that they need.

    Where they name none, but a Keras that has an engine of its own, that is as good as a TensorFlow before 2.
    """
    texts = tuple(_texts(root, around))
    named = tuple(named for file, text in texts for named in named_in(TENSORFLOW, text, file))
    return named or tuple(
        Named("<2", file)
        for file, text in texts
        for keras in named_in(_KERAS, text, file)
        if keras.is_older_than(_TF_KERAS)
    )


def _texts(root: Path, around: Surroundings) -> Iterator[tuple[str, str]]:
    for file in FILES:
        path = str(root / file)
        around.hear((path,))
        yield file, without_comments(around.read(path))


def keras_has_own_engine(root: Path, around: Surroundings) -> bool:
    """Whether all that the files of a project say of Keras is that they need one before it became TensorFlow's own."""
    named = [keras for file, text in _texts(root, around) for keras in named_in(_KERAS, text, file)]
    return bool(named) and all(keras.is_older_than(_TF_KERAS) for keras in named)


def keras_runs_elsewhere(root: Path, around: Surroundings) -> bool:
    """Whether the files of a project name Keras and another framework that it runs on, and TensorFlow nowhere."""
    named: set[str] = set()
    for _, text in _texts(root, around):
        text = text.lower()
        if "tensorflow" in text:
            return False
        named.update(_PACKAGE.findall(text))
    return "keras" in named and len(named) > 1


def runs_on_cpus(root: Path, around: Surroundings) -> bool:
    """Whether the files of a project name a TensorFlow that is built for CPUs, and no other."""
    builds = {
        (found["build"] or "").lower() for _, text in _texts(root, around) for found in _BUILD.finditer(text)
    }
    return builds == {"cpu"}


def without_comments(data: bytes) -> str:
    """The text of such a file, but for comments: there a package is only named."""
    return _COMMENT.sub("", data.decode("utf-8", "replace"))
