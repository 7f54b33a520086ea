"""Patterns of `.gitignore`, moved from the folder that they were written in to the root that they are matched in."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path


def rebase(pattern: str, base: Path, root: Path) -> str | None:
    """Say in `root` what the pattern says in `base` (both absolute); None if it can match nothing there."""
    negation, body = ("!", pattern[1:]) if pattern.startswith("!") else ("", pattern)
    if Path(body).is_absolute() and Path(body).is_relative_to(base):
        body = f"/{Path(body).relative_to(base).as_posix()}" + ("/" if body.endswith("/") else "")
    anchored = "/" in body.rstrip("/")
    parts = [part for part in body.strip("/").split("/") if part not in ("", ".")]
    if not anchored or not parts or parts[0] == "**":
        return pattern
    while parts[0] == ".." and len(parts) > 1:
        base, parts = base.parent, parts[1:]
    moved = _moved(parts, base, root)
    if moved is None:
        return None
    return negation + "/" + "/".join(moved) + ("/" if body.endswith("/") else "")


def _moved(parts: list[str], base: Path, root: Path) -> list[str] | None:
    if base.is_relative_to(root):
        return [*(literal(name) for name in base.relative_to(root).parts), *parts]
    if not root.is_relative_to(base):
        return None
    for name in root.relative_to(base).parts:
        if not parts or parts[0] == "**":
            break
        if not fnmatchcase(name, parts[0]):
            return None
        parts = parts[1:]
    return parts or ["**"]  # the pattern matches the root itself, or a folder around it


def literal(name: str) -> str:
    """The pattern that fits this name alone."""
    return re.sub(r"([\\*?\[\]!#])", r"\\\1", name)
