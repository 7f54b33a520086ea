"""A script with other values for the constants at its top."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any


def with_constants(tree: ast.Module, values: Mapping[str, Any]) -> ast.Module:
    """The script with these values; lines are where they were.

    Raises:
        ValueError: it has no such constant, or sets it more than once.
    """
    for name, value in values.items():
        places = [
            statement
            for statement in tree.body
            if isinstance(statement, ast.Assign)
            and len(statement.targets) == 1
            and isinstance(statement.targets[0], ast.Name)
            and statement.targets[0].id == name
        ]
        if len(places) != 1:
            raise ValueError(f"`{name} = …` stands at its top {len(places)} times, not once")
        (place,) = places
        old = place.value
        place.value = ast.copy_location(ast.parse(repr(_hashable(value)), mode="eval").body, old)
        ast.fix_missing_locations(place)
    return tree


def _hashable(value: Any) -> Any:
    """A list of TOML as the tuple that a constant is."""
    return tuple(map(_hashable, value)) if isinstance(value, list) else value
