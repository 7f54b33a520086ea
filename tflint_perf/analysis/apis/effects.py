"""What functions of libraries do besides giving a value, as the rows tell: questions that no single word answers."""

from __future__ import annotations

from tflint_perf.analysis.apis.rows import fact, has, library


def computes(name: str) -> bool:
    """Whether a function of a library does nothing but compute: it gives the same for the same, and has no effect."""
    if has(name, "fresh", "copies"):
        return True
    # A name that speaks of chance is taken at its word, whatever library it is of.
    if has(name, "draws", "host") or ".random" in name or "sample" in name:
        return False
    return has(name, "pure", "decodes", "parses")


def writes_to_an_argument(name: str, given: int, keywords: set[str]) -> bool:
    """Whether a function of NumPy, called with so many arguments by place, may write to one, or give it back.

    Behind as many as it takes arrays stands the one that it writes to.
    """
    return given > int(fact(name, "arrays") or given) or not keywords.isdisjoint(("out", "copy"))


def makes_tensor(name: str) -> bool:
    """Whether a function gives a tensor, which nobody can change, whatever it draws or reads for that."""
    return has(name, "fresh") or (library(name) == "tensorflow" and has(name, "pure", "draws"))
