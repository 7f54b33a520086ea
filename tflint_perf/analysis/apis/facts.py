"""Reads the rows of `facts/`: what is known of a qualified name, by itself or by the name space that it stands in.

A row is a name and its facts: words (`pure`), words with a value (`gives=tensor`), and either of them taken back (`-pure`).

    tf.math.exp       elementwise
    tf.math.<function>   pure gives=tensor      # all functions right in `tf.math`, by the small letter of their names
    keras.layers.*<Class>  gives=layer          # all classes in `keras.layers` and in the modules below
    tf.random.*       draws                     # whatever begins so
    tf.train.*Optimizer  gives=optimizer        # and ends so
    Dataset.map       stage calls               # a method, by the class that has it

What is said of a longer beginning goes before what is said of a shorter one, and what is said of the name before both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from pathlib import Path

_FOLDER = Path(__file__).with_name("facts")
FILES = ("tensorflow", "tf_data", "keras", "numpy", "python", "others")
_FUNCTION, _CLASS = "<function>", "<Class>"

# What rows call the kinds of values.
_CLASSES = {
    "array": "ndarray",
    "dataset": "Dataset",
    "layer": "Layer",
    "loss": "Loss",
    "metric": "Metric",
    "model": "Model",
    "optimizer": "Optimizer",
    "source": "tf.data.Dataset",
    "variable": "Variable",
}


class WrongRowError(ValueError):
    """A line of a file of facts that cannot be read."""


def has(name: str, *words: str) -> bool:
    """Whether the API tables mark `name`, or its module, as `words` (one of them suffices)."""
    return not _facts(name).keys().isdisjoint(words)


def fact(name: str, word: str) -> str:
    """What the API tables say of `name` under `word`; "" where they say nothing."""
    return _facts(name).get(word, "")


def is_listed(name: str) -> bool:
    """Whether `name` has a row of its own."""
    return name in _read() and not _is_of_many(name)


def library(name: str) -> str:
    """The library that `name` belongs to, such as "tensorflow"; "" for those that are in no table."""
    return fact(name, "library")


@cache
def named(*words: str) -> frozenset[str]:
    """The names of which rows of their own say one of the words."""
    rows = _read()
    return frozenset(name for word in words for name in rows if word in _own(name) and not _is_of_many(name))


@cache
def methods(kinds: str, *words: str) -> frozenset[str]:
    """The methods of classes (`"list set"`) of which rows say one of the words, by their short names.

    A class may go by its kind as the analysis knows it: "model", "array".
    """
    classes = {_CLASSES.get(kind, kind) for kind in kinds.split()}
    qualified = (name.rpartition(".") for name in named(*words))
    return frozenset(last for of, _, last in qualified if of in classes)


@cache
def last_names(*words: str) -> frozenset[str]:
    """The last parts of the names of which rows of their own say one of the words."""
    return frozenset(name.rpartition(".")[2] for name in named(*words))


@cache
def by_last_name(word: str) -> dict[str, str]:
    """What a word with a value says, by the last parts of the names of which rows of their own say it."""
    return {name.rpartition(".")[2]: _own(name)[word] for name in named(word)}


@lru_cache(maxsize=16384)
def _facts(name: str) -> Mapping[str, str]:
    found: dict[str, str] = {}
    patterns = _patterns()
    for end in range(len(name) + 1):
        for pattern in patterns.get(name[:end], ()):
            if _matches(name, pattern):
                _add(found, _own(pattern))
    if name in _read():
        _add(found, _own(name))
    return found


def _add(found: dict[str, str], facts: Mapping[str, str]) -> None:
    for word, said in facts.items():
        if word.startswith("-"):
            found.pop(word[1:], None)
        else:
            found[word] = said


def _matches(name: str, pattern: str) -> bool:
    if pattern.count("*") > 1:
        return fnmatchcase(name, pattern)
    start, star, end = pattern.partition("*")
    if star:
        if not name.startswith(start):
            return False
        if end in (_FUNCTION, _CLASS):
            return _is_spelled(name.rpartition(".")[2], end)
        return name.endswith(end)
    start, _, end = pattern.partition("<")
    rest = name[len(start) :]
    return name.startswith(start) and "." not in rest and _is_spelled(rest, f"<{end}")


def _is_spelled(last: str, kind: str) -> bool:
    return last[:1].islower() if kind == _FUNCTION else last[:1].isupper()


@cache
def _own(name: str) -> dict[str, str]:
    return dict(_parsed(_read()[name]))


def _parsed(facts: str) -> Iterator[tuple[str, str]]:
    for fact in facts.split():
        word, _, said = fact.partition("=")
        yield word, said


@cache
def _read() -> dict[str, str]:
    """The facts of all rows, as text, by their names."""
    rows: dict[str, str] = {}
    for file in FILES:
        text = (_FOLDER / f"{file}.txt").read_text(encoding="utf-8")
        for number, line in enumerate(text.splitlines(), 1):
            name, _, facts = line.partition("#")[0].partition(" ")
            if name:
                if name in rows or not facts.strip():
                    raise WrongRowError(
                        f"{file}.txt:{number}: {name} {'stands here twice' if facts.strip() else 'says nothing'}"
                    )
                rows[name] = facts
    return rows


def _is_of_many(name: str) -> bool:
    return "*" in name or "<" in name


@cache
def _patterns() -> dict[str, list[str]]:
    """The names of the rows about more than one name by the text that they begin with, those of the widest reach first."""
    found: dict[str, list[str]] = {}
    for name in sorted(filter(_is_of_many, _read()), key=lambda name: "*" not in name):
        found.setdefault(re.split(r"[*<]", name)[0], []).append(name)
    return found
